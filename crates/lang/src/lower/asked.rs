//! Agents that other agents ask. Each becomes a pipeline of one step and a tool of those that ask it, so that its calls, bounds, permissions and
//! record are those of any pipeline that is a tool.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::context::quoted;
use crate::diagnostic::Diagnostic;
use crate::model::{
    Agent, AgentStep, Field, FieldKind, Filling, History, Limits, Model, Outputs, Pipeline, PipelineId, Read, Shape, Step, StepKind, Text,
    TextPlace, Tool, ToolKind, ToolName, asking_tool,
};
use crate::source::{Span, Spanned};
use crate::template;

/// What an agent is asked with.
const REQUEST: &str = "request";

/// What the request is, for the agent that makes it.
const ABOUT_REQUEST: &str = "What it is asked, with all that it must know: it sees nothing else of this conversation.";

/// Time for one question, if the limits of the agent and of the file say none: it may call tools and ask others itself.
const ASK_TIMEOUT: Duration = Duration::from_secs(600);

/// Gives agents the tools by which they ask others, and returns the pipelines of those that are asked. The first of them will have the id `first`.
/// A name that no agent has is left to the rules.
pub(crate) fn asked_agents(pipeline: &mut Pipeline, first: usize, diagnostics: &mut Vec<Diagnostic>) -> Vec<Pipeline> {
    let mut asked: IndexMap<String, Span> = IndexMap::new();
    for name in pipeline.agents.values().flat_map(|agent| &agent.agents).filter(|name| pipeline.agents.contains_key(&name.value)) {
        asked.entry(name.value.clone()).or_insert(name.span);
    }
    for agent in pipeline.agents.values_mut() {
        let known = agent.agents.iter().filter(|name| asked.contains_key(&name.value));
        agent.tools.extend(known.map(|name| Spanned::new(asking_tool(&name.value), name.span)));
    }
    for (place, (name, span)) in asked.iter().enumerate() {
        let id = PipelineId(first + place);
        let reads = inputs_read(pipeline, name);
        // It is in the way of each of them, and told once.
        let is_in_the_way = |field: &&Field| field.name == REQUEST && diagnostics.iter().all(|told| told.span != field.span);
        if let Some(input) = reads.iter().find(is_in_the_way) {
            let message = format!("input {} is read by agent {}, whose own {REQUEST} is what agents ask it", quoted(REQUEST), quoted(name));
            diagnostics.push(Diagnostic::bad_value(input.span, message).help("rename the input").related(*span, "asked here"));
        }
        let kind = ToolKind::Pipeline { file: Spanned::new(name.clone(), *span), pipeline: Some(id) };
        let with = reads.iter().map(|field| (Spanned::new(field.name.clone(), *span), input(&field.name, *span))).collect();
        let timeout = pipeline.agents.get(name).and_then(|agent| agent.limits.deadline).or(pipeline.limits.deadline);
        let asking = Tool { span: *span, kind, with, timeout: Some(timeout.unwrap_or(ASK_TIMEOUT)), ..Tool::default() };
        // No tool of the file has this name: none may have a "-".
        pipeline.tools.insert(asking_tool(name), asking);
    }
    asked.iter().filter_map(|(name, span)| Some(asked_agent(pipeline, name, *span, pipeline.agents.get(name)?))).collect()
}

/// The pipeline that stands for one agent: what it needs of the file, and one step.
fn asked_agent(file: &Pipeline, name: &str, span: Span, agent: &Agent) -> Pipeline {
    let own = Spanned::new(name.to_owned(), span);
    let request = Field { span, description: Some(ABOUT_REQUEST.to_owned()), ..Field::new(REQUEST, FieldKind::Text) };
    let given = inputs_read(file, name).into_iter().filter(|field| field.name != REQUEST);
    let kind = AgentStep {
        agent: own.clone(),
        prompt: sole(&format!("inputs.{REQUEST}"), span),
        model: None,
        output: None,
        attach: None,
        history: History::Nothing,
    };
    // Which step asks is known in the run: what one of them marks is masked for all.
    let is_pii = file.all_steps().iter().any(|step| step.is_pii);
    let step = Step { id: own.clone(), span, kind_span: span, kind: StepKind::Agent(kind), is_pii, ..Step::default() };
    let used: BTreeSet<&str> = agent.tools.iter().map(|tool| ToolName::parse(&tool.value).tool).collect();
    Pipeline {
        name: Spanned::new(asking_tool(name), file.name.span),
        asked: Some(own),
        inputs: Shape::Fields(std::iter::once(request).chain(given).collect()),
        agents: IndexMap::from([(name.to_owned(), agent.clone())]),
        tools: file
            .tools
            .iter()
            .filter(|(name, _)| used.contains(name.as_str()))
            .map(|(name, tool)| (name.clone(), tool.clone()))
            .collect(),
        steps: vec![Arc::new(step)],
        outputs: Outputs::Whole(sole(&format!("steps.{name}.output"), span)),
        person: None,
        conversation: None,
        scorecards: IndexMap::new(),
        limits: Limits::default(),
        guarantees: vec![],
        on_failure: vec![],
        finally: vec![],
        ..file.clone()
    }
}

/// The inputs that the instructions of an agent read, or of one that it asks in turn. What they must be was checked when the run began.
fn inputs_read(file: &Pipeline, agent: &str) -> Vec<Field> {
    let (mut waiting, mut seen) = (vec![agent], BTreeSet::new());
    let mut read: Option<BTreeSet<&str>> = Some(BTreeSet::new());
    while let Some(name) = waiting.pop() {
        let Some(agent) = file.agents.get(name).filter(|_| seen.insert(name)) else { continue };
        waiting.extend(agent.agents.iter().map(Spanned::as_str));
        let of_tools = agent.tools.iter().filter_map(|tool| file.tools.get(ToolName::parse(&tool.value).tool));
        let mut reads: Vec<&Read> = agent.instructions.iter().flat_map(|text| &text.reads).collect();
        reads.extend(of_tools.flat_map(Tool::texts).flat_map(|text| &text.reads));
        reads.extend(file.models.values().flat_map(Model::texts).flat_map(|text| &text.reads));
        for path in reads.iter().map(|read| read.path.as_slice()) {
            match path {
                [root, name, ..] if root == "inputs" => {
                    if let Some(read) = &mut read {
                        read.insert(name.as_str());
                    }
                }
                // All of them at once.
                [root] if root == "inputs" => read = None,
                _ => {}
            }
        }
    }
    let is_read = |name: &str| read.as_ref().is_none_or(|read| read.contains(name));
    match &file.inputs {
        Shape::Fields(fields) => fields.iter().filter(|field| is_read(&field.name)).map(passed_on).collect(),
        Shape::Schema(schema) => {
            let names = schema["properties"].as_object().into_iter().flat_map(|own| own.keys());
            names.filter(|name| is_read(name)).map(|name| Field { is_required: false, ..Field::new(name, FieldKind::Any) }).collect()
        }
    }
}

/// An input as it is passed on: its type and marks, without rules that its value has kept already.
fn passed_on(field: &Field) -> Field {
    Field {
        name: field.name.clone(),
        span: field.span,
        kind: field.kind,
        is_required: field.is_required || field.default.is_some(),
        is_pii: field.is_pii,
        is_untrusted: field.is_untrusted,
        items: field.items.clone(),
        fields: field.fields.clone(),
        one_of: field.one_of.clone(),
        ..Field::default()
    }
}

fn input(name: &str, span: Span) -> Filling {
    Filling::Text(sole(&format!("inputs.{name}"), span))
}

/// `{{ path }}`, which the author did not write; it counts as standing at `span`. A name with letters that names have not is reported as that.
fn sole(path: &str, span: Span) -> Text {
    template::text(&format!("{{{{ {path} }}}}"), TextPlace { span, offsets: vec![] }, &mut vec![])
}
