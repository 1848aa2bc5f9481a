//! The counterpart of a chat: a pipeline, or one agent of a file.

use std::sync::Arc;

use crate::adapter::disk_files::DiskFiles;
use crate::arguments::{ChatOptions, SharedOptions};
use crate::check::{MESSAGE, agent_alone, agents_of, check_file};
use crate::diagnostic::{did_you_mean, visible};
use crate::lower::FileKind;
use crate::model::{Field, FieldKind, Pipeline};
use crate::port::{Files, Overlay};
use crate::refusal::{self, Refusal};
use crate::runtime::{Workflow, shown_path};

/// The counterpart of a chat.
pub(super) struct Opened {
    pub(super) workflow: Workflow,
    /// The agent that answers directly; `None`: the pipeline answers.
    pub(super) agent: Option<String>,
    /// The input that receives the message.
    pub(super) message: String,
}

impl Opened {
    /// Whether the pipeline determines the conversation of a message.
    pub(super) fn has_own_conversation(&self) -> bool {
        self.agent.is_none() && self.workflow.pipeline.conversation.is_some()
    }

    /// Returns the name of the agent or pipeline.
    pub(super) fn name(&self) -> &str {
        self.agent.as_deref().unwrap_or_else(|| self.workflow.name())
    }
}

/// Checks the file and finds the agent or pipeline that answers. Errors: as for `flow run`; the agent does not exist; the agent or input is
/// ambiguous (exit 2).
pub(super) fn open(options: &ChatOptions, shared: &SharedOptions) -> Result<Opened, Refusal> {
    let checked = refusal::checked(&options.file, shared)?;
    let project = shared.project_of(&options.file);
    if checked.loaded.kind == FileKind::Pipeline && options.agent.is_none() {
        let workflow = Workflow::from_checked(checked, options.file.clone(), project).map_err(Refusal::usage)?;
        let message = message_input(&workflow.pipeline, &options.inputs)?;
        return Ok(Opened { workflow, agent: None, message });
    }
    let text = DiskFiles.read_text(&options.file).map_err(|error| refusal!(Usage, "{}: {error}", shown_path(&options.file)))?;
    let message = match checked.loaded.program.pipelines.first().filter(|pipeline| !pipeline.input_fields().is_empty()) {
        Some(pipeline) => message_input(pipeline, &options.inputs)?,
        None => MESSAGE.to_owned(),
    };
    let file = shown_path(&options.file);
    let alone = |agent: &str| {
        let own: Arc<str> = agent_alone(&text, agent, &message)?.into();
        let place = DiskFiles.real_path(&options.file).unwrap_or_else(|| options.file.clone());
        let files = Overlay { below: &DiskFiles, texts: [(place, own.clone()), (options.file.clone(), own)].into() };
        Some(check_file(&options.file, &project, &files))
    };
    let unreadable = || {
        refusal!(Usage, "{file}: to talk with one agent, write each key of the file at the beginning of a line, and no \"...\" at its end")
    };
    let own = agents_of(&text);
    let agent = match (&options.agent, &own[..]) {
        (Some(name), _) if own.contains(name) => name.clone(),
        (None, [only]) => only.clone(),
        // Imports may add agents. They are known only if the file is a pipeline.
        _ => {
            let all = alone("\"\"").ok_or_else(unreadable)?;
            let all = all.loaded.program.pipelines.first().map(|pipeline| pipeline.agents.keys().cloned().collect()).unwrap_or_default();
            chosen(all, options)?
        }
    };
    let alone = alone(&agent).ok_or_else(unreadable)?;
    refusal::report_findings(&alone, &file, &SharedOptions { quiet: true, ..shared.clone() })?;
    let workflow = Workflow::from_checked(alone, options.file.clone(), project).map_err(Refusal::usage)?;
    Ok(Opened { workflow, agent: Some(agent), message })
}

/// Returns the named agent, or else the only one. Errors: there is none, or the choice is ambiguous (exit 2).
fn chosen(agents: Vec<String>, options: &ChatOptions) -> Result<String, Refusal> {
    let file = shown_path(&options.file);
    match (&options.agent, &agents[..]) {
        (Some(name), _) if agents.contains(name) => Ok(name.clone()),
        (None, [only]) => Ok(only.clone()),
        (_, []) => Err(refusal!(Usage, "{file} has no agents and is no pipeline: there is nobody to talk with")),
        (Some(name), _) => {
            let near = did_you_mean(name, agents.iter().map(String::as_str));
            let near = near.or(&format!("; it has {}", agents.join(", ")));
            Err(refusal!(Usage, "{file} has no agent \"{}\"{near}", visible(name)))
        }
        (None, _) => Err(refusal!(Usage, "{file} has {} agents; choose one with --agent: {}", agents.len(), agents.join(", "))),
    }
}

/// Returns the input for the message: that of `conversation.message`, or else the only required text.
fn message_input(pipeline: &Pipeline, given: &[String]) -> Result<String, Refusal> {
    let fields = pipeline.input_fields();
    let given_value = |name: &str| given.iter().any(|pair| pair.split_once('=').is_some_and(|(given, _)| given == name));
    let named = pipeline.conversation.as_ref().and_then(|own| own.message.source.strip_prefix("inputs."));
    if let Some(field) = fields.iter().find(|field| Some(field.name.as_str()) == named) {
        if given_value(&field.name) {
            return Err(refusal!(Usage, "--input {}: this input is what you type in the chat; leave it out", field.name));
        }
        return Ok(field.name.clone());
    }
    let texts: Vec<&Field> = fields.iter().filter(|field| field.kind == FieldKind::Text && !given_value(&field.name)).collect();
    let required: Vec<&Field> = texts.iter().copied().filter(|field| field.is_required && field.default.is_none()).collect();
    let names = |fields: &[&Field]| fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
    match (&required[..], &texts[..]) {
        ([only], _) | ([], [only]) => Ok(only.name.clone()),
        ([], []) => {
            Err(Refusal::usage("no input could be the message; add inputs: { message: text } to the pipeline, and read inputs.message"))
        }
        ([], several) => {
            let what = format!("which input is the message? Each of {} has a default; write message: text for it", names(several));
            Err(refusal!(Usage, "{what}, without a default, or give all but one of them with --input name=value"))
        }
        (several, _) => Err(refusal!(Usage, "which input is the message? Give all but one of {} with --input name=value", names(several))),
    }
}
