//! Checks whether each program and each piece of Python code of a pipeline would start, in the sandbox that a run would use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::clock::SystemClock;
use crate::adapter::data::DataFiles;
use crate::adapter::own::OwnFiles;
use crate::adapter::python::{PythonRuns, interpreter};
use crate::adapter::sandbox::{FirstStage, ProgramTrial, ReadableFolder, Sandbox};
use crate::adapter::started::{runs_another, script_of};
use crate::diagnostic::visible;
use crate::driver::Runtime;
use crate::model::{Form, Pipeline, PythonNeeds, SandboxMode, StartedBy, StepKind, ToolKind};
use crate::port::{Clock, ProgramBounds, ProgramCall, Python, PythonCall};
use crate::source::normalised;

/// The argument with which most programs print their version.
const VERSION: &str = "--version";
/// Time limit for importing packages; large ones are slow.
const IMPORT_TIME: Duration = Duration::from_secs(120);
/// Imports the modules of packages, by the names of their folders and files.
const IMPORT: &str = "\
import importlib
from importlib import metadata

failed = []
for package in packages:
    names = set()
    for file in metadata.distribution(package).files or []:
        first, _, rest = str(file).replace('\\\\', '/').partition('/')
        name = first if rest == '__init__.py' else first[:-3] if first.endswith('.py') and not rest else ''
        if name.isidentifier() and not name.startswith('_'):
            names.add(name)
    for name in sorted(names):
        try:
            importlib.import_module(name)
        except BaseException as error:
            failed.append('%s: import %s: %s: %s' % (package, name, type(error).__name__, str(error)[:200]))
";

/// The result of a check (`ok`, `note`, `fault`), and the finding.
pub(super) type Found = (&'static str, String);

/// Checks the folders that the user made readable for programs.
pub(super) fn readable(written: &[String]) -> Vec<Found> {
    let told = |written: &String| match ReadableFolder::find(written) {
        ReadableFolder { place: Ok(place), .. } => ("ok", format!("programs in the sandbox may read {written} ({})", place.display())),
        ReadableFolder { place: Err(why), .. } => {
            ("note", format!("programs in the sandbox cannot read {written}, which your settings name: {why}"))
        }
    };
    written.iter().map(told).collect()
}

/// Checks all programs and all Python code of a pipeline. Nothing is installed; started programs may change nothing and have no network.
/// `mode`: the sandbox mode of the policies in force; `readable`: see [`readable`].
pub(super) fn look(pipeline: &Pipeline, own: Arc<OwnFiles>, mode: SandboxMode, readable: &[String]) -> Vec<Found> {
    let (programs, agents, codes) = (programs_of(pipeline), agents_of(pipeline), codes_of(pipeline));
    if programs.is_empty() && agents.is_empty() && codes.is_empty() {
        return vec![];
    }
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return vec![("fault", error.to_string())],
    };
    let sandbox = Sandbox::new(own.clone(), FirstStage::here()).with_readable(readable);
    let mut found = vec![];
    // Without a sandbox each would fail for this reason, which is reported for the project.
    let has_sandbox = sandbox.kind().is_ok();
    let is_tried = has_sandbox || mode == SandboxMode::None;
    let trial = |command: &[String], folder: Option<&PathBuf>| {
        let place = place(pipeline, folder, if is_tried { mode } else { SandboxMode::None });
        runtime.block_on(sandbox.probe(command, place))
    };
    for (program, who) in programs {
        let who = list(&who);
        found.push(match trial(&[program.to_owned(), VERSION.to_owned()], None) {
            Ok(ProgramTrial::EndsBadly(_)) => ("ok", format!("program {} starts in the sandbox ({who})", visible(program))),
            Ok(ProgramTrial::Starts(said)) => {
                let said = said.map(|said| format!(": {said}")).unwrap_or_default();
                ("ok", format!("program {} starts in the sandbox ({who}){said}", visible(program)))
            }
            Ok(ProgramTrial::IsThere) => ("ok", format!("program {} is there ({who}); it was not started", visible(program))),
            Ok(ProgramTrial::Fails(why)) => ("fault", format!("{why} ({who})")),
            Err(failure) => ("fault", format!("{} ({who})", failure.message)),
        });
    }
    let clock = SystemClock::new();
    for (AgentTrial { program, asked, is_asked_itself, folder }, models) in agents {
        let (shown, models) = (visible(&program), list(&models));
        let at = clock.now().format("%Y-%m-%d %H:%M:%S UTC");
        let failed = |why: String| ("fault", format!("agent program {shown} failed ({models}; looked at {at}): {why}"));
        let version = visible(asked.last().map_or(VERSION, String::as_str)).into_owned();
        let available = |said: &str| ("ok", format!("agent program {shown} is available ({models}; looked at {at}): {said}"));
        found.push(match trial(&asked, folder) {
            Ok(ProgramTrial::Starts(_) | ProgramTrial::EndsBadly(_)) if !is_asked_itself => available(&format!(
                "{} starts; what it runs was not asked for its version, since version: is not written",
                visible(&asked[0])
            )),
            Ok(ProgramTrial::Starts(Some(said))) => available(&said),
            Ok(ProgramTrial::Starts(None)) => available(&format!("it does not tell its version by {version}")),
            Ok(ProgramTrial::IsThere) => ("ok", format!("agent program {shown} is there ({models}; looked at {at}); it was not started")),
            Ok(ProgramTrial::Fails(why)) => failed(why),
            Ok(ProgramTrial::EndsBadly(how)) => failed(format!("{version} {how}")),
            Err(failure) => failed(failure.message),
        });
    }
    found.extend(scripts(pipeline));
    if has_sandbox {
        let python = PythonRuns::new(Arc::new(sandbox), Arc::new(DataFiles::keeping(own)));
        found.extend(codes.into_iter().map(|(code, who)| runtime.block_on(python_found(pipeline, &python, code, &list(&who)))));
    }
    found
}

fn list(who: &BTreeSet<String>) -> String {
    who.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the programs of steps and tools, each with its users.
fn programs_of(pipeline: &Pipeline) -> BTreeMap<&str, BTreeSet<String>> {
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for command in pipeline.commands().into_iter().filter(|command| matches!(command.by, StartedBy::Step | StartedBy::Tool)) {
        found.entry(&command.program.value).or_default().insert(format!("{} {}", command.by.section(), command.who));
    }
    found
}

/// How an agent program's version is determined.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct AgentTrial<'p> {
    /// The program for display, with the words after an interpreter.
    program: String,
    /// The command: the program first, the version argument last.
    asked: Vec<String>,
    /// Whether the command starts the agent, not only its interpreter or launcher. Without `version`, it could be read as a prompt.
    is_asked_itself: bool,
    folder: Option<&'p PathBuf>,
}

/// Returns the agent programs, each with its models.
fn agents_of(pipeline: &Pipeline) -> BTreeMap<AgentTrial<'_>, BTreeSet<String>> {
    let mut found: BTreeMap<AgentTrial, BTreeSet<String>> = BTreeMap::new();
    for (name, model) in &pipeline.models {
        let Some(agent) = model.provider.program() else { continue };
        let own = agent.run.program.value.clone();
        let words: Vec<String> = agent.run.args.iter().map(|text| text.source.to_string()).collect();
        let runs_another = runs_another(&own, &words);
        let is_written = agent.version.is_some() && agent.run.args.iter().all(|text| text.form == Form::Plain);
        let behind = if runs_another { words } else { vec![] };
        let program = [std::slice::from_ref(&own), &behind].concat().join(" ");
        let is_asked_itself = !runs_another || is_written;
        let version = agent.version.clone().filter(|_| is_asked_itself).unwrap_or_else(|| VERSION.to_owned());
        let asked = std::iter::once(own).chain(behind.into_iter().filter(|_| is_asked_itself)).chain([version]).collect();
        let folder = agent.folder.as_ref().map(|folder| &folder.value);
        found.entry(AgentTrial { program, asked, is_asked_itself, folder }).or_default().insert(format!("model {name}"));
    }
    found
}

/// Reports missing scripts of programs, if their paths are written literally.
fn scripts(pipeline: &Pipeline) -> Vec<Found> {
    let missing = pipeline.commands().into_iter().filter_map(|command| {
        let words: Vec<&str> = command.args.iter().map_while(|text| (text.form == Form::Plain).then_some(&*text.source)).collect();
        let script = script_of(&command.program.value, &words)?;
        let kind: &str = command.by.into();
        let path = normalised(&command.starts_in(pipeline).join(script));
        (!path.exists()).then(|| ("fault", format!("the script {} of {kind} {} does not exist", path.display(), command.who)))
    });
    missing.collect()
}

/// An interpreter and the required packages.
type CodeNeeds<'p> = (Option<&'p PathBuf>, BTreeSet<&'p str>);

/// Returns the requirements of the Python code of steps and tools, each with its users.
fn codes_of(pipeline: &Pipeline) -> BTreeMap<CodeNeeds<'_>, BTreeSet<String>> {
    let steps = pipeline.all_steps().into_iter().filter_map(|step| {
        let needs = if let StepKind::Python(python) = &step.kind {
            &python.run.needs
        } else if let StepKind::Task(task) = &step.kind
            && task.may_run_code()
        {
            &task.needs
        } else {
            return None;
        };
        Some((needs, format!("step {}", step.id.value)))
    });
    let tools = pipeline.tools.iter().filter_map(|(name, tool)| {
        let ToolKind::Python { run, .. } = &tool.kind else { return None };
        Some((&run.needs, format!("tool {name}")))
    });
    let mut found: BTreeMap<CodeNeeds, BTreeSet<String>> = BTreeMap::new();
    for (PythonNeeds { venv, requires }, who) in steps.chain(tools) {
        let needs = (venv.as_ref().map(|venv| &venv.value), requires.iter().map(|name| name.value.as_str()).collect());
        found.entry(needs).or_default().insert(who);
    }
    found
}

async fn python_found(pipeline: &Pipeline, python: &PythonRuns, (venv, requires): CodeNeeds<'_>, who: &str) -> Found {
    let fault = |why: String| ("fault", format!("{why} ({who})"));
    let what = match interpreter(venv.map(PathBuf::as_path)).await {
        Ok(found) => format!("Python {} ({})", found.version, found.program.display()),
        Err(failure) => return fault(failure.message),
    };
    let names: Vec<String> = requires.into_iter().map(str::to_owned).collect();
    let call = PythonCall {
        name: "flow doctor".to_owned(),
        project: pipeline.project.clone(),
        file: "flow doctor".to_owned(),
        code: IMPORT.to_owned(),
        variables: [("packages".to_owned(), serde_json::json!(names))].into_iter().collect(),
        returns: vec!["failed".to_owned()],
        tables: vec![],
        reads: vec![],
        is_written_by_model: false,
        venv: venv.cloned(),
        requires: names.clone(),
        bounds: ProgramBounds::default(),
        timeout: IMPORT_TIME,
    };
    let reply = match python.run(call).await {
        Ok(reply) => reply,
        Err(failure) => return fault(format!("{what}: {}", failure.message)),
    };
    if let Some(error) = reply.error {
        return fault(format!("{what}: {}", error.message));
    }
    let failed: Vec<String> =
        reply.returns.get("failed").and_then(|failed| serde_json::from_value(failed.clone()).ok()).unwrap_or_default();
    match (failed.first(), names.is_empty()) {
        (Some(_), _) => fault(format!("{what}: {}", visible(&failed.join("; ")))),
        (None, true) => ("ok", format!("{what} starts in the sandbox ({who})")),
        (None, false) => ("ok", format!("{what} starts in the sandbox and imports {} ({who})", names.join(", "))),
    }
}

/// Returns what a program of a step may use: it reads the project, and starts in the folder of the file or in its own.
fn place(pipeline: &Pipeline, folder: Option<&PathBuf>, sandbox: SandboxMode) -> ProgramCall {
    ProgramCall {
        project: pipeline.project.clone(),
        folder: Some(folder.unwrap_or(&pipeline.folder).clone()),
        reads: vec![pipeline.project.clone()],
        sandbox,
        ..ProgramCall::closed("flow doctor", vec![], Duration::ZERO)
    }
}
