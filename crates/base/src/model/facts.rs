//! What follows from the kind of a step or a tool. Each is answered once, by a function that names every kind: of a step by `StepKind::facts`
//! beside its type, of a tool here.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use super::{
    Agent, AgentStep, CALL_TIMEOUT, Case, DEFAULT_MODEL, DialogueStep, FilePart, Filling, Form, History, JudgingStep, MODEL_TIMEOUT,
    Method, Pipeline, PipelineId, PlanStep, ProgramCommand, PythonCode, QUERY_TIMEOUT, Retry, SEARCH_TIMEOUT, Shape, SqlStep, Step,
    StepKind, TaskStep, Text, TextKey, Tool, ToolKind, work::ServerKind,
};
use crate::source::{Span, Spanned};

/// The receiver of `send` that is the program's own output.
pub const STDOUT: &str = "stdout";

/// How a tool is named: itself, or a part of it (`docs.read`, a tool of a server). The one place that reads `tool.part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolName<'n> {
    /// The tool, as it is under `tools`.
    pub tool: &'n str,
    /// The part: what a `file` tool does, or the tool of a server.
    pub part: Option<&'n str>,
}

impl<'n> ToolName<'n> {
    /// As it is written.
    pub fn parse(written: &'n str) -> ToolName<'n> {
        match written.split_once('.') {
            Some((tool, part)) => ToolName { tool, part: Some(part) },
            None => ToolName { tool: written, part: None },
        }
    }
}

/// The tool by which an agent is asked.
pub fn asking_tool(agent: &str) -> String {
    format!("ask-{agent}")
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
    pub(super) const NONE: Effects = Effects { changes: false, reaches_out: false, prints: false };
    const UNKNOWN: Effects = Effects { changes: true, reaches_out: true, prints: false };

    fn of_request(method: Method) -> Effects {
        Effects { changes: !method.is_safe(), reaches_out: true, prints: false }
    }

    fn of_program(run: &ProgramCommand) -> Effects {
        Effects { changes: !run.reads_only, reaches_out: !run.network.is_none(), prints: false }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallTime {
    /// As soon as it starts.
    Start,
    /// Later, if at all.
    Later,
    /// Never by itself.
    #[default]
    Never,
}

/// What follows from the kind of a step, but for what depends on its tools. Most kinds have few of these; the rest is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepFacts<'s> {
    /// When it needs a permit for a call.
    pub calls_when: CallTime,
    /// Whether it makes a value of what it reads and does nothing else.
    pub only_computes: bool,
    /// The method of its own request. A step that makes one may read `secrets` and `env`.
    pub method: Option<Method>,
    /// The program that it starts. Such a step may read `secrets` and `env`, too.
    pub starts: Option<&'s ProgramCommand>,
    /// Whether it sends to its receiver.
    pub sends: bool,
    /// Whether its result is rows or files, from which the driver's door has taken the secrets.
    pub is_hidden_at_door: bool,
    /// The pipeline that it calls by its file.
    pub called: Option<PipelineId>,
    /// What it judges by, which knows its judges.
    pub judges: Option<JudgingStep<'s>>,
    /// The model that it names itself.
    pub model: Option<&'s Text>,
    /// Time for its one call, where no tool says it.
    pub timeout: Option<Duration>,
    /// The agents it asks itself, without judges; the first does its work.
    pub agents: [Option<&'s Spanned<String>>; 2],
    /// What the first of them sees of the conversation.
    pub history: History,
    /// The agents that it asks in turns.
    pub talkers: &'s [Spanned<String>],
    /// The agents that it asks beside them, which have no tools.
    pub helpers: [Option<&'s Spanned<String>>; 2],
    /// What it names to be used, `tool` or `server.tool`: of a `plan` agents too. What is sent goes to its receiver.
    pub may_use: &'s [Spanned<String>],
    /// Its cases, and `otherwise`; of a group or a `repeat` the one list of its steps.
    pub cases: (&'s [Case], Option<&'s Case>),
    /// What it gives by name to what it calls, or to its checks.
    pub with: &'s [(Spanned<String>, Filling)],
    /// The shape that it says its result has.
    pub output: Option<&'s Shape>,
    /// The tool that its own call goes to; of `send` the receiver, which may be [`super::STDOUT`].
    pub receiver: Option<&'s Spanned<String>>,
    /// The knowledge that it searches.
    pub knowledge: Option<&'s Spanned<String>>,
    /// Whether what it runs is known only in the run, or not at all.
    pub is_open: bool,
    /// Whether it may act outside by what it does itself, without the tools of its agents.
    pub acts: bool,
    /// What it does beside its result, in words: a result that is used again would leave it out. Of agents and tools see those.
    pub work: Option<&'static str>,
    /// The work that it has an agent do.
    pub asks: AgentWork<'s>,
    /// What may be part of its output; of a program that it starts, all that this is given. Of a tool only if that is a pipeline.
    pub inflow: Inflow<'s>,
    /// What flow itself makes its result of.
    pub result: OwnResult<'s>,
}

/// The work that a step has an agent do.
#[derive(Debug, Clone, Copy, Default)]
#[expect(missing_docs, reason = "each is the kind of that name")]
pub enum AgentWork<'s> {
    /// None, but perhaps judgements.
    #[default]
    None,
    Agent(&'s AgentStep),
    Plan(&'s PlanStep),
    Task(&'s TaskStep),
    Dialogue(&'s DialogueStep),
}

impl<'s> AgentWork<'s> {
    /// What follows from it.
    pub(super) fn facts(self) -> StepFacts<'s> {
        let asked = |prompt, attach| StepFacts {
            calls_when: CallTime::Start,
            asks: self,
            inflow: Inflow { texts: [Some(prompt), None], value: attach, named: &[] },
            ..StepFacts::default()
        };
        match self {
            AgentWork::None => StepFacts::default(),
            AgentWork::Agent(step) => StepFacts {
                timeout: Some(MODEL_TIMEOUT),
                agents: [Some(&step.agent), None],
                history: step.history,
                model: step.model.as_ref(),
                output: step.output.as_ref(),
                ..asked(&step.prompt, step.attach.as_ref())
            },
            AgentWork::Plan(step) => StepFacts {
                agents: [Some(&step.agent), step.check.as_ref()],
                history: step.history,
                may_use: &step.may_use,
                work: Some("the steps inside"),
                is_open: true,
                acts: true,
                result: OwnResult::Planned,
                ..asked(&step.prompt, step.attach.as_ref())
            },
            AgentWork::Task(step) => {
                let asked = asked(&step.prompt, step.attach.as_ref());
                StepFacts {
                    agents: [Some(&step.agent), None],
                    history: step.history,
                    judges: Some(JudgingStep::Task(step)),
                    work: Some("the tries"),
                    inflow: Inflow { named: &step.with, ..asked.inflow },
                    ..asked
                }
            }
            AgentWork::Dialogue(step) => {
                let helpers = [step.until.judge.as_ref(), step.summary.as_ref()];
                let asked = asked(&step.topic, step.attach.as_ref());
                StepFacts { talkers: &step.agents, helpers, work: Some("the turns"), ..asked }
            }
        }
    }
}

/// What may be part of the output of a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inflow<'s> {
    /// Texts.
    pub texts: [Option<&'s Text>; 2],
    /// A value.
    pub value: Option<&'s Filling>,
    /// Values by name.
    pub named: &'s [(Spanned<String>, Filling)],
}

/// A result that flow itself makes, so that nothing but a mock can differ from it.
#[derive(Debug, Clone, Copy, Default)]
pub enum OwnResult<'s> {
    /// It does not: the result is checked as a whole, or may be anything.
    #[default]
    None,
    /// The rows of a query.
    Rows(&'s SqlStep),
    /// What its tool gives.
    OfTool,
    /// Files of these paths.
    Files(&'s Filling),
    /// One file.
    File,
    /// A text for a channel.
    Formatted,
    /// What was delivered.
    Sent,
    /// The steps of plans.
    Planned,
}

impl StepKind {
    /// What the step's own call does; what its agents and the steps inside it do is asked of those.
    pub fn effects(&self, pipeline: &Pipeline) -> Effects {
        // The protocol's own word for it only reads.
        if let StepKind::Resource(_) = self {
            return Effects { reaches_out: true, ..Effects::NONE };
        }
        let StepFacts { receiver, sends, method, starts, .. } = self.facts();
        if let Some(run) = starts {
            return Effects::of_program(run);
        }
        let Some(name) = receiver else { return method.map_or(Effects::NONE, Effects::of_request) };
        if sends && name.value == STDOUT {
            return Effects { prints: true, ..Effects::NONE };
        }
        match pipeline.tool(&name.value) {
            tool if sends => Effects { reaches_out: tool.is_none_or(|(tool, _)| tool.kind.folder().is_none()), ..Effects::UNKNOWN },
            tool => tool.map_or(Effects::NONE, |(tool, part)| tool.effects(part)),
        }
    }

    /// Time for one call when the step says none; of an agent when its model says none. `None`: it makes no call of its own, or several.
    pub fn default_timeout(&self, pipeline: &Pipeline) -> Option<Duration> {
        let StepFacts { receiver, timeout, .. } = self.facts();
        receiver.map(|name| pipeline.tool(&name.value).map_or(CALL_TIMEOUT, |(tool, _)| tool.call_timeout())).or(timeout)
    }

    /// The agents it asks itself, in the order of the file. Steps of a plan ask others: `may_use` of its facts.
    pub fn agents<'a>(&'a self, pipeline: &'a Pipeline) -> Vec<&'a Spanned<String>> {
        let mut agents = self.agents_with_tools();
        let judges = self.facts().judges.map(|judging| judging.judges(&pipeline.scorecards)).unwrap_or_default();
        agents.extend(judges);
        agents.extend(self.facts().helpers.into_iter().flatten());
        agents
    }

    /// Whether it asks for one thing outside, and asks no model itself.
    pub fn makes_one_request(&self) -> bool {
        let StepFacts { calls_when, judges, .. } = self.facts();
        calls_when != CallTime::Never && judges.is_none() && self.agents_with_tools().is_empty()
    }

    /// The same without judges, who have no tools.
    pub fn agents_with_tools(&self) -> Vec<&Spanned<String>> {
        let StepFacts { agents, talkers, .. } = self.facts();
        agents.into_iter().flatten().chain(talkers).collect()
    }

    /// The text under a key of which a step has one.
    fn text_under(&self, key: TextKey) -> Option<&Text> {
        let mut found = None;
        self.each_text(Span::default(), &mut |authored| found = found.or(authored.text().filter(|_| authored.key == key)));
        found
    }

    /// The web address that it calls itself.
    pub fn address(&self) -> Option<&Text> {
        self.text_under(TextKey::Url)
    }

    /// The method of the request that it makes itself.
    pub fn method(&self, pipeline: &Pipeline) -> Option<Method> {
        self.facts().method.or_else(|| pipeline.tool(&self.own_tool()?.value)?.0.kind.method())
    }

    /// The pipeline it runs as its work: of a `call`, or of a tool that is one.
    pub fn called(&self, pipeline: &Pipeline) -> Option<PipelineId> {
        self.facts().called.or_else(|| pipeline.called_tool(&self.own_tool()?.value))
    }

    /// The tool that a `tool` step calls.
    fn own_tool(&self) -> Option<&Spanned<String>> {
        self.facts().receiver.filter(|_| !self.facts().sends)
    }

    /// Its cases, each with steps inside, `otherwise` last.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        let (cases, otherwise) = self.facts().cases;
        cases.iter().chain(otherwise)
    }

    /// The key that its author wrote, by which a receiver knows a call again.
    pub fn idempotency_key(&self) -> Option<&Text> {
        self.text_under(TextKey::IdempotencyKey)
    }
}

impl Step {
    /// Whether a receiver knows its request again: the author wrote a key, which goes out with an HTTP request.
    pub fn is_keyed(&self, pipeline: &Pipeline) -> bool {
        let facts = self.kind.facts();
        let of_tool = || facts.receiver.and_then(|name| pipeline.tool(&name.value)?.0.kind.method());
        self.kind.idempotency_key().is_some() && facts.method.or_else(of_tool).is_some()
    }

    /// When it is tried again: what is written, else that of a request with a key; `None`: never.
    pub fn retries(&self, pipeline: &Pipeline) -> Option<Cow<'_, Retry>> {
        let default = || self.is_keyed(pipeline).then(|| Cow::Owned(Retry::of_keyed_requests()));
        self.retry.as_ref().map(Cow::Borrowed).or_else(default)
    }
}

/// Where the requests of a tool go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RequestAddress<'t> {
    /// A web address.
    Web(&'t Text),
    /// A mail server, `host:port`.
    Mail(&'t Text),
}

impl ToolKind {
    /// Where its requests go; `None`: to nobody outside.
    pub fn address(&self) -> Option<RequestAddress<'_>> {
        match self {
            ToolKind::Http { url, .. } | ToolKind::Server(ServerKind::Url { url, .. }) => Some(RequestAddress::Web(url)),
            ToolKind::Smtp { address, .. } => Some(RequestAddress::Mail(address)),
            ToolKind::Server(ServerKind::Program { .. })
            | ToolKind::Sql(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::File(_)
            | ToolKind::Knowledge(_)
            | ToolKind::Pipeline { .. }
            | ToolKind::Broken => None,
        }
    }

    /// The method of the request that a call makes.
    pub fn method(&self) -> Option<Method> {
        if let ToolKind::Http { method, .. } = self { Some(*method) } else { None }
    }

    /// The folder whose files it lists, reads and writes.
    pub fn folder(&self) -> Option<&Path> {
        if let ToolKind::File(folder) = self { Some(folder) } else { None }
    }

    /// The MCP server that it is.
    pub fn server(&self) -> Option<&ServerKind> {
        if let ToolKind::Server(server) = self { Some(server) } else { None }
    }

    /// The program that a call starts.
    pub fn starts(&self) -> Option<&ProgramCommand> {
        if let ToolKind::Program { run, .. } = self { Some(run) } else { None }
    }

    /// The code that a call runs.
    pub fn code(&self) -> Option<&PythonCode> {
        if let ToolKind::Python { run, .. } = self { Some(run) } else { None }
    }

    /// The pipeline that it is.
    pub fn pipeline(&self) -> Option<PipelineId> {
        if let ToolKind::Pipeline { pipeline, .. } = self { *pipeline } else { None }
    }
}

impl Tool {
    /// What a call does, of this part of it or of any. What a pipeline does is asked of its steps.
    pub fn effects(&self, part: Option<&str>) -> Effects {
        match &self.kind {
            ToolKind::Http { method, .. } => Effects::of_request(*method),
            ToolKind::Server(_) | ToolKind::Smtp { .. } => Effects::UNKNOWN,
            ToolKind::File(_) => {
                let used = part.map_or_else(|| self.parts(), |_| self.file_part(part).into_iter().collect());
                Effects { changes: used.into_iter().any(FilePart::changes), ..Effects::NONE }
            }
            ToolKind::Program { run, .. } => Effects::of_program(run),
            ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => {
                Effects::NONE
            }
        }
    }

    /// Whether a call may do something that is not undone by forgetting its result; what a pipeline does is not known.
    pub fn may_act(&self, part: Option<&str>) -> bool {
        self.effects(part).go_outside() || matches!(self.kind, ToolKind::Pipeline { .. } | ToolKind::Program { .. })
    }

    /// Time for one call: what it says, else that of its kind.
    pub fn call_timeout(&self) -> Duration {
        self.timeout.unwrap_or(match &self.kind {
            ToolKind::Sql(_) => QUERY_TIMEOUT,
            ToolKind::Knowledge(_) => SEARCH_TIMEOUT,
            ToolKind::Http { .. }
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
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

impl Pipeline {
    /// The model that a step asks first through this agent: its own, else the agent's. `None`: only a run knows.
    pub fn asked_model<'a>(&'a self, step: &'a StepKind, agent: &str) -> Option<&'a str> {
        if let Some(model) = step.facts().model {
            return (model.form == Form::Plain).then_some(&*model.source);
        }
        self.agents.get(agent).map(Agent::model_name)
    }

    /// The tool of `tool` or `tool.part`, and the part.
    pub fn tool<'n>(&self, name: &'n str) -> Option<(&Tool, Option<&'n str>)> {
        let ToolName { tool, part } = ToolName::parse(name);
        Some((self.tools.get(tool)?, part))
    }

    /// The pipeline that a tool runs, if it is one.
    pub fn called_tool(&self, tool: &str) -> Option<PipelineId> {
        self.tools.get(tool)?.kind.pipeline()
    }
}
