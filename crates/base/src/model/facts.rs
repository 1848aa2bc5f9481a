//! What follows from the kind of a step, a tool or a provider. Each fact is answered here once, by a function that names every kind.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Agent, CALL_TIMEOUT, Case, DEFAULT_MODEL, Filling, MODEL_TIMEOUT, Method, Pipeline, PipelineId, Provider, QUERY_TIMEOUT, Replies,
    Shape, StepKind, Text, TextKey, Tool, ToolKind, work::ServerKind,
};
use crate::source::Spanned;

/// The receiver of `send` that is the program's own output.
pub const STDOUT: &str = "stdout";

/// How a tool is named: itself, or a part of it (`docs.read`, a tool of a server). The one place that reads `tool.part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolName<'n> {
    /// The tool, as it stands under `tools`.
    pub tool: &'n str,
    /// The part: what a `file` tool does, or the tool of a server.
    pub part: Option<&'n str>,
}

impl<'n> ToolName<'n> {
    /// As it is written.
    pub fn of(written: &'n str) -> ToolName<'n> {
        match written.split_once('.') {
            Some((tool, part)) => ToolName { tool, part: Some(part) },
            None => ToolName { tool: written, part: None },
        }
    }
}

/// What a call does outside the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects {
    /// It may change something: it sends, writes, asks to change, or uses a server of which nobody can say what it does.
    pub changes: bool,
    /// It may speak with hosts or servers other than models.
    pub reaches_out: bool,
    /// It writes to standard output.
    pub prints: bool,
}

impl Effects {
    const NONE: Effects = Effects { changes: false, reaches_out: false, prints: false };
    const UNKNOWN: Effects = Effects { changes: true, reaches_out: true, prints: false };

    fn of_request(method: Method) -> Effects {
        Effects { changes: !method.is_safe(), reaches_out: true, prints: false }
    }

    /// What both do.
    pub fn and(self, other: Effects) -> Effects {
        Effects {
            changes: self.changes || other.changes,
            reaches_out: self.reaches_out || other.reaches_out,
            prints: self.prints || other.prints,
        }
    }

    /// Whether it is felt outside at all.
    pub fn go_outside(self) -> bool {
        self.changes || self.reaches_out
    }

    /// Whether a second call like the first may do something again.
    pub fn repeat(self) -> bool {
        self.changes || self.prints
    }
}

/// When a step calls models, tools, tables or files, for which it needs a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallTime {
    /// As soon as it starts.
    Start,
    /// Later, if at all.
    Later,
    /// Never by itself.
    Never,
}

impl StepKind {
    /// What the step's own call does; what its agents and the steps inside it do is asked of those.
    pub fn effects(&self, pipeline: &Pipeline) -> Effects {
        match self {
            StepKind::Http(http) => Effects::of_request(http.method),
            StepKind::Tool(tool) => pipeline.tool(&tool.tool.value).map_or(Effects::NONE, |(tool, part)| tool.effects(part)),
            StepKind::Send(send) if send.to.value == STDOUT => Effects { prints: true, ..Effects::NONE },
            StepKind::Send(send) => {
                let is_folder = pipeline.tool(&send.to.value).is_some_and(|(tool, _)| matches!(tool.kind, ToolKind::File(_)));
                Effects { reaches_out: !is_folder, ..Effects::UNKNOWN }
            }
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => Effects::NONE,
        }
    }

    /// When it needs a permit for a call.
    pub fn calls_when(&self) -> CallTime {
        match self {
            StepKind::Agent(_)
            | StepKind::Plan(_)
            | StepKind::Tool(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Send(_) => CallTime::Start,
            StepKind::Call(_) | StepKind::Gate(_) => CallTime::Later,
            StepKind::Set(_) | StepKind::Route(_) | StepKind::Format(_) | StepKind::Wait(_) | StepKind::Stop(_) | StepKind::Broken => {
                CallTime::Never
            }
        }
    }

    /// Time for one call when the step says none; of an agent when its model says none. `None`: it makes no call of its own, or several.
    pub fn default_timeout(&self, pipeline: &Pipeline) -> Option<Duration> {
        let of_tool = |name: &str| pipeline.tool(name).map_or(CALL_TIMEOUT, |(tool, _)| tool.call_timeout());
        match self {
            StepKind::Agent(_) => Some(MODEL_TIMEOUT),
            StepKind::Http(_) => Some(CALL_TIMEOUT),
            StepKind::Sql(_) | StepKind::Read(_) => Some(QUERY_TIMEOUT),
            StepKind::Tool(tool) => Some(of_tool(&tool.tool.value)),
            StepKind::Send(send) => Some(of_tool(&send.to.value)),
            StepKind::Set(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => None,
        }
    }

    /// The agents it asks itself, in the order of the file. Steps of a plan ask others: [`StepKind::may_use`].
    pub fn agents<'a>(&'a self, pipeline: &'a Pipeline) -> Vec<&'a Spanned<String>> {
        if let StepKind::Gate(gate) = self { gate.judges(&pipeline.scorecards) } else { self.agents_with_tools() }
    }

    /// The same without judges, who have no tools.
    pub fn agents_with_tools(&self) -> Vec<&Spanned<String>> {
        match self {
            StepKind::Agent(asked) => vec![&asked.agent],
            StepKind::Plan(plan) => std::iter::once(&plan.agent).chain(&plan.check).collect(),
            StepKind::Tool(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => vec![],
        }
    }

    /// The web address that it calls itself.
    pub fn address(&self) -> Option<&Text> {
        self.text_under(TextKey::Url)
    }

    /// What it names to be used, `tool` or `server.tool`: of a `plan` agents too. What is sent goes to the receiver of the `send` step.
    pub fn may_use(&self) -> &[Spanned<String>] {
        match self {
            StepKind::Tool(tool) => std::slice::from_ref(&tool.tool),
            StepKind::Plan(plan) => &plan.may_use,
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => &[],
        }
    }

    /// The method of the request that it makes itself.
    pub fn method(&self, pipeline: &Pipeline) -> Option<Method> {
        match self {
            StepKind::Http(http) => Some(http.method),
            StepKind::Tool(tool) => pipeline.tool(&tool.tool.value)?.0.kind.method(),
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => None,
        }
    }

    /// The pipeline it runs as its work: of a `call`, or of a tool that is one.
    pub fn called(&self, pipeline: &Pipeline) -> Option<PipelineId> {
        match self {
            StepKind::Call(call) => call.pipeline,
            StepKind::Tool(tool) => pipeline.called_tool(&tool.tool.value),
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => None,
        }
    }

    /// Its cases, each with steps inside, `otherwise` last.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        let (cases, otherwise): (&[Case], Option<&Case>) = match self {
            StepKind::Route(route) => (&route.cases, route.otherwise.as_ref()),
            StepKind::Agent(_)
            | StepKind::Tool(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => (&[], None),
        };
        cases.iter().chain(otherwise)
    }

    /// What it gives by name to what it calls, or to its checks.
    pub fn with(&self) -> &[(Spanned<String>, Filling)] {
        match self {
            StepKind::Tool(tool) => &tool.with,
            StepKind::Sql(sql) => &sql.with,
            StepKind::Call(call) => &call.with,
            StepKind::Gate(gate) => &gate.with,
            StepKind::Send(send) => &send.with,
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Format(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => &[],
        }
    }

    /// The tool that its own call goes to; of `send` the receiver, which may be [`STDOUT`].
    pub fn receiver(&self) -> Option<&Spanned<String>> {
        match self {
            StepKind::Tool(tool) => Some(&tool.tool),
            StepKind::Send(send) => Some(&send.to),
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => None,
        }
    }

    /// The shape that it says its result has.
    pub fn output(&self) -> Option<&Shape> {
        match self {
            StepKind::Agent(agent) => agent.output.as_ref(),
            StepKind::Tool(tool) => tool.output.as_ref(),
            StepKind::Http(http) => http.output.as_ref(),
            StepKind::Set(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => None,
        }
    }

    /// The key that its author wrote, by which a receiver knows a call again.
    pub fn idempotency_key(&self) -> Option<&Text> {
        self.text_under(TextKey::IdempotencyKey)
    }
}

/// Where the requests of a tool go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Address<'t> {
    /// A web address.
    Web(&'t Text),
    /// A mail server, `host:port`.
    Mail(&'t Text),
}

impl ToolKind {
    /// Where its requests go; `None`: to nobody outside.
    pub fn address(&self) -> Option<Address<'_>> {
        match self {
            ToolKind::Http { url, .. } | ToolKind::Server(ServerKind::Url { url, .. }) => Some(Address::Web(url)),
            ToolKind::Smtp { address, .. } => Some(Address::Mail(address)),
            ToolKind::Server(ServerKind::Program { .. })
            | ToolKind::Sql(_)
            | ToolKind::File(_)
            | ToolKind::Pipeline { .. }
            | ToolKind::Broken => None,
        }
    }

    /// The method of the request that a call makes.
    pub fn method(&self) -> Option<Method> {
        match self {
            ToolKind::Http { method, .. } => Some(*method),
            ToolKind::Sql(_)
            | ToolKind::File(_)
            | ToolKind::Pipeline { .. }
            | ToolKind::Smtp { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken => None,
        }
    }

    /// The pipeline that it is.
    pub fn pipeline(&self) -> Option<PipelineId> {
        match self {
            ToolKind::Pipeline { pipeline, .. } => *pipeline,
            ToolKind::Http { .. }
            | ToolKind::Sql(_)
            | ToolKind::File(_)
            | ToolKind::Smtp { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken => None,
        }
    }
}

impl Tool {
    /// What a call does, of this part of it or of any. What a pipeline does is asked of its steps.
    pub fn effects(&self, part: Option<&str>) -> Effects {
        match &self.kind {
            ToolKind::Http { method, .. } => Effects::of_request(*method),
            ToolKind::Server(_) | ToolKind::Smtp { .. } => Effects::UNKNOWN,
            ToolKind::File(_) => Effects { changes: part.map_or_else(|| self.opens("write"), |part| part == "write"), ..Effects::NONE },
            ToolKind::Sql(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => Effects::NONE,
        }
    }

    /// Time for one call: what it says, else that of its kind.
    pub fn call_timeout(&self) -> Duration {
        self.timeout.unwrap_or(match &self.kind {
            ToolKind::Sql(_) => QUERY_TIMEOUT,
            ToolKind::Http { .. }
            | ToolKind::File(_)
            | ToolKind::Pipeline { .. }
            | ToolKind::Smtp { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken => CALL_TIMEOUT,
        })
    }
}

impl Agent {
    /// The model that it asks unless its step names another.
    pub fn model_name(&self) -> &str {
        self.model.as_ref().map_or(DEFAULT_MODEL, |model| &model.value)
    }
}

impl Provider {
    /// The replies of a file that it gives.
    pub fn scripted(&self) -> Option<&Arc<Replies>> {
        match self {
            Provider::Scripted(replies) => Some(replies),
            Provider::OpenAi | Provider::Ollama | Provider::Anthropic | Provider::Replay(_) | Provider::Broken => None,
        }
    }

    /// The folder of recordings that it gives.
    pub fn recorded(&self) -> Option<&PathBuf> {
        match self {
            Provider::Replay(folder) => Some(folder),
            Provider::OpenAi | Provider::Ollama | Provider::Anthropic | Provider::Scripted(_) | Provider::Broken => None,
        }
    }
}

impl Pipeline {
    /// The tool of `tool` or `tool.part`, and the part.
    pub fn tool<'n>(&self, name: &'n str) -> Option<(&Tool, Option<&'n str>)> {
        let ToolName { tool, part } = ToolName::of(name);
        Some((self.tools.get(tool)?, part))
    }

    /// The pipeline that a tool runs, if it is one.
    pub fn called_tool(&self, tool: &str) -> Option<PipelineId> {
        self.tools.get(tool)?.kind.pipeline()
    }
}
