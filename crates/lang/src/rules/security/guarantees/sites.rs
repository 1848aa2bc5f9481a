//! Where values leave a pipeline and all that it calls.

use std::collections::HashSet;

use super::{GuaranteeVerdict, WaysFound};
use crate::diagnostic::grouped;
use crate::labels::{Caller, ChainIx, Labels, MOST_CHAINS, Seat, Start, StartFrom, agents, may_ask};
use crate::model::{
    Agent, Filling, Form, Model, Outputs, PermissionMode, Pipeline, PipelineId, Policy, ProgramCommand, STDOUT, SandboxMode, StartedBy,
    StartedCommand, Step, StepKind, Text, Tool, ToolKind, ToolName,
};
use crate::plan::{Plan, StepIx};
use crate::policy::{Act, Origin, always_asks, decide, opened, passes_unasked, sandbox_mode};
use crate::source::Spanned;

/// To whom a value goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Receiver {
    /// Whoever called the run, or reads what it prints.
    Person,
    /// A web service, a mail server, a tool server, or a program with a network.
    Host(String),
    /// A file.
    File(String),
}

/// A place where values leave.
pub(super) struct Site<'p> {
    pub(super) chain: ChainIx,
    pub(super) step: Option<StepIx>,
    pub(super) receiver: Receiver,
    /// What leaves, in words: `outputs.reply`, `step notify`.
    pub(super) what: String,
    pub(super) texts: Vec<&'p Text>,
    /// A program, which opens what it likes in the project.
    pub(super) program: Option<&'p ProgramCommand>,
    /// Whether `untrusted` of a policy lets nothing through there that a model wrote, unless a person says so, or wrote it as the author may.
    pub(super) is_judged: bool,
    /// Whether a person is asked about it before, who sees it.
    pub(super) is_shown: bool,
}

impl<'p> Site<'p> {
    /// Its texts, to be followed.
    pub(super) fn starts(&self) -> Vec<Start<'p>> {
        let seat: Seat = self.step.map(|ix| (ix, true));
        let start = |from| Start { chain: self.chain, seat, from, reader: self.what.clone() };
        self.texts.iter().copied().map(StartFrom::Text).map(start).collect()
    }

    /// Files that it opens and no text names, each kind to be followed by itself.
    pub(super) fn opened(&self) -> Vec<Start<'p>> {
        let kinds = [StartFrom::Files, StartFrom::Folder].into_iter().filter(|_| self.program.is_some());
        let seat: Seat = self.step.map(|ix| (ix, true));
        kinds.map(|from| Start { chain: self.chain, seat, from, reader: self.what.clone() }).collect()
    }
}

/// Policies that are in force together, each with its name.
type Policies<'p> = Vec<(&'p str, &'p Policy)>;

/// A tool that models of a step may call.
pub(super) struct ModelTool<'p> {
    pub(super) name: &'p Spanned<String>,
    pub(super) tool: &'p Tool,
    pub(super) part: Option<&'p str>,
    /// The policies in force for its calls.
    pub(super) policies: Vec<(&'p str, &'p Policy)>,
    /// What it opens, as policies name it; without what they are sure to deny.
    pub(super) calls: Vec<String>,
}

/// The tools that models of a step may call: those of its agents, and of a plan those that it may use; none of which policies are sure to deny all calls.
pub(super) fn tools_of_models<'p>(labels: &Labels<'p>, chain: ChainIx, ix: StepIx) -> Vec<ModelTool<'p>> {
    let pipeline = &labels.pipeline(chain).pipeline;
    let kind = &labels.pipeline(chain).step(ix).step.kind;
    let planner = kind.agents_with_tools().into_iter().filter_map(|name| pipeline.agents.get(&name.value)).next();
    let is_plan = matches!(kind, StepKind::Plan(_));
    let of_planner = planner.filter(|_| is_plan);
    let in_force = |agent: Option<&'p Agent>, around: &Policies<'p>| -> Policies<'p> {
        let own = agent.into_iter().chain(of_planner).filter_map(|agent| agent.policy.as_ref());
        own.filter_map(|name| known_policy(pipeline, &name.value)).chain(around.iter().copied()).collect()
    };
    let of_agents = agents(pipeline, kind).into_iter().flat_map(|agent| agent.tools.iter().map(move |name| (Some(agent), name)));
    let of_plan = kind.facts().may_use.iter().filter(|_| is_plan).map(|name| (None, name));
    let around = policies_around(labels, chain, ix);
    let used = of_agents.chain(of_plan).flat_map(|used| around.iter().map(move |around| (used, around)));
    let found = used.filter_map(|((agent, name), around)| {
        let (tool, part) = pipeline.tool(&name.value)?;
        let policies = in_force(agent, around);
        let opened = opened(&policies, tool, &name.value);
        let calls: Vec<String> = opened.into_iter().filter(|(_, may_be_called)| *may_be_called).map(|(name, _)| name).collect();
        (!calls.is_empty()).then_some(ModelTool { name, tool, part, policies, calls })
    });
    found.collect()
}

/// The programs that a pipeline starts and that may run without a sandbox, as the policies say that are in force wherever they are used: steps by their
/// id, tools and servers by their name; of models either all or none.
#[derive(Default)]
pub(super) struct LoosePrograms<'p> {
    steps: HashSet<&'p str>,
    tools: HashSet<&'p str>,
    models: bool,
}

impl<'p> LoosePrograms<'p> {
    pub(super) fn new(labels: &Labels<'p>, chain: ChainIx) -> LoosePrograms<'p> {
        let planned = labels.pipeline(chain);
        let mut loose = LoosePrograms::default();
        for (ix, step) in planned.numbered_steps() {
            let kind = &step.step.kind;
            let around = policies_around(labels, chain, ix);
            if around.iter().any(|around| is_loose(around)) {
                loose.steps.insert(&step.step.id.value);
                loose.tools.extend(kind.facts().receiver.map(|name| ToolName::parse(&name.value).tool));
            }
            let used = tools_of_models(labels, chain, ix).into_iter().filter(|used| is_loose(&used.policies));
            loose.tools.extend(used.map(|used| ToolName::parse(&used.name.value).tool));
            loose.models |= kind.agents(&planned.pipeline).into_iter().any(|name| {
                let own = planned.pipeline.agents.get(&name.value).and_then(|agent| agent.policy.as_ref());
                may_be_loose(own.and_then(|name| known_policy(&planned.pipeline, &name.value)), &around)
            });
        }
        loose
    }

    pub(super) fn has(&self, command: &StartedCommand) -> bool {
        match command.by {
            StartedBy::Step => self.steps.contains(command.who),
            StartedBy::Tool | StartedBy::Server => self.tools.contains(command.who),
            StartedBy::Model => self.models,
        }
    }
}

fn is_loose(policies: &[(&str, &Policy)]) -> bool {
    sandbox_mode(policies) != SandboxMode::Required
}

/// Whether a program may run without a sandbox under its own policy and any of these lists.
fn may_be_loose<'p>(own: Option<(&'p str, &'p Policy)>, around: &[Policies<'p>]) -> bool {
    around.iter().any(|around| is_loose(&own.into_iter().chain(around.iter().copied()).collect::<Vec<_>>()))
}

/// Whether a program that an agent of a step is may run without a sandbox.
pub(super) fn may_start_loose(labels: &Labels, chain: ChainIx, ix: StepIx) -> bool {
    let planned = labels.pipeline(chain);
    let (pipeline, kind) = (&planned.pipeline, &planned.step(ix).step.kind);
    let judges = kind.agents(pipeline).into_iter().filter_map(|name| pipeline.agents.get(&name.value));
    let own = agents(pipeline, kind)
        .into_iter()
        .chain(judges)
        .map(|agent| agent.policy.as_ref().and_then(|name| known_policy(pipeline, &name.value)));
    let around = policies_around(labels, chain, ix);
    own.into_iter().any(|own| may_be_loose(own, &around))
}

/// The policies that are in force for whatever a step does, whoever does it: of its dialogue, of its file, and of the files and agents that call
/// it. One list for each agent that may be the one that calls.
fn policies_around<'p>(labels: &Labels<'p>, chain: ChainIx, ix: StepIx) -> Vec<Policies<'p>> {
    let planned = labels.pipeline(chain);
    let mut above = match labels.caller(chain) {
        None => vec![],
        Some((above, Caller::Step(ix))) => policies_around(labels, above, ix),
        Some((above, Caller::Model(ix))) => {
            let id = labels.id(chain);
            let leads_here = |tool: &Tool| tool.kind.pipeline().is_some_and(|called| called == id || may_ask(labels.plan, called, id));
            let used = tools_of_models(labels, above, ix).into_iter().filter(|used| leads_here(used.tool));
            let between = || labels.policies_between(chain).filter_map(|name| known_policy(&labels.pipeline(above).pipeline, name));
            let mut found: Vec<Policies> = vec![];
            for policies in used.map(|used| between().chain(used.policies).collect()) {
                if !found.contains(&policies) {
                    found.push(policies)
                }
            }
            found
        }
    };
    if above.is_empty() {
        above.push(vec![]);
    }
    let of_dialogue = if let StepKind::Dialogue(own) = &planned.step(ix).step.kind { own.policy.as_ref() } else { None };
    let own = of_dialogue.into_iter().chain(&planned.pipeline.policy).filter_map(|name| known_policy(&planned.pipeline, &name.value));
    let own: Policies = own.collect();
    above.into_iter().map(|above| own.iter().copied().chain(above).collect()).collect()
}

fn known_policy<'p>(pipeline: &'p Pipeline, name: &str) -> Option<(&'p str, &'p Policy)> {
    pipeline.policies.get_key_value(name).map(|(name, policy)| (name.as_str(), policy))
}

/// Looks at a pipeline and at all that it calls, once for each chain of calls; the verdict on what was found. Where there are more chains than are
/// looked at, nothing holds without a condition. `visit` is told whether the run begins there.
pub(super) fn look<'p>(
    plan: &'p Plan,
    pipeline: PipelineId,
    visit: &mut dyn FnMut(&mut Labels<'p>, ChainIx, bool, &mut WaysFound),
) -> GuaranteeVerdict {
    let mut labels = Labels::new(plan);
    let root = labels.root(pipeline);
    let mut found = WaysFound::default();
    let tools = |labels: &Labels<'p>, chain, ix| tools_of_models(labels, chain, ix).into_iter().map(|used| used.tool).collect();
    let (list, is_whole) = labels.chains_below(root, &tools);
    for chain in list {
        visit(&mut labels, chain, chain == root, &mut found);
    }
    if !is_whole {
        let span = plan.pipeline(pipeline).pipeline.name.span;
        let message = format!("the calls beyond the first {} keep it", grouped(MOST_CHAINS as u64));
        found.only_if(span, message, vec![], "call fewer pipelines in each other".into());
    }
    found.verdict()
}

/// The places where values leave a pipeline at the end of a chain. Its outputs leave only where a run begins with it.
pub(super) fn sites<'p>(labels: &Labels<'p>, chain: ChainIx, is_root: bool) -> Vec<Site<'p>> {
    let planned = labels.pipeline(chain);
    let mut list = vec![];
    let outputs: Vec<(String, Vec<&Text>)> = match &planned.pipeline.outputs {
        Outputs::None => vec![],
        Outputs::Whole(text) => vec![("outputs".to_owned(), vec![text])],
        Outputs::Named(outputs) => outputs.iter().map(|(name, value)| (format!("outputs.{}", name.value), value.texts())).collect(),
    };
    for (what, texts) in outputs.into_iter().filter(|_| is_root) {
        list.push(Site { chain, step: None, receiver: Receiver::Person, what, texts, program: None, is_judged: false, is_shown: false });
    }
    for (ix, step) in planned.numbered_steps() {
        let what = labels.step_words(chain, ix);
        let around = policies_around(labels, chain, ix);
        for policies in &around {
            let Some((receiver, called, given)) = of_step(&step.step, &planned.pipeline, policies) else { continue };
            let is_shown = is_asked_about(&step.step.kind, &planned.pipeline, policies);
            let own = step.step.kind.facts().receiver.and_then(|name| Some(planned.pipeline.tool(&name.value)?.0));
            let program = if let StepKind::Program(run) = &step.step.kind { Some(run) } else { own.and_then(run_by) };
            let is_judged = |name: &str| !passes_unasked(policies, called.0, Some(name), called.1);
            let (judged, others): (Vec<Given>, Vec<Given>) = given.into_iter().partition(|(name, _)| is_judged(name));
            for (given, is_judged) in [(others, false), (judged, true)] {
                let texts: Vec<&Text> = given.into_iter().flat_map(|(_, texts)| texts).collect();
                let program = program.filter(|_| !is_judged);
                if !texts.is_empty() || program.is_some() {
                    let (what, receiver) = (what.clone(), receiver.clone());
                    list.push(Site { chain, step: Some(ix), receiver, what, texts, program, is_judged, is_shown });
                }
            }
        }
        // What the author wrote into the tools themselves goes with each call.
        let own = step.step.kind.facts().receiver;
        let own = own.and_then(|name| Some((name, planned.pipeline.tool(&name.value)?.0)));
        let own = own.into_iter().flat_map(|(name, tool)| around.iter().map(move |policies| (name, tool, policies.clone())));
        let of_models = tools_of_models(labels, chain, ix).into_iter().map(|used| (used.name, used.tool, used.policies));
        for (name, tool, policies) in own.chain(of_models) {
            let Some(receiver) = of_tool(tool, &name.value, &policies) else { continue };
            let mut texts: Vec<&Text> = vec![];
            tool.each_text(&mut |authored| texts.extend(authored.text()));
            list.push(Site {
                chain,
                step: Some(ix),
                receiver,
                what: format!("tool {} in {what}", name.value),
                texts,
                program: run_by(tool),
                is_judged: false,
                is_shown: false,
            });
        }
    }
    list
}

/// Whether a person is asked about what a step does before each call, by the tool itself or by policies.
fn is_asked_about(kind: &StepKind, pipeline: &Pipeline, policies: &[(&str, &Policy)]) -> bool {
    if let StepKind::Http(http) = kind {
        // The question has the address and the body.
        let beside = http.headers.iter().map(|(_, text)| text).chain(&http.idempotency_key);
        return beside.into_iter().all(|text| text.reads.is_empty()) && asks_about_host(&http.url, policies);
    }
    let tool = kind.facts().receiver.and_then(|name| Some((name, pipeline.tool(&name.value)?.0)));
    tool.is_some_and(|(name, tool)| tool.approve.asks(ToolName::parse(&name.value).part) || always_asks(policies, &name.value))
}

/// Whether a person is asked before a request goes to an address, or it does not go there. Of a host that is filled in no list may say anything.
fn asks_about_host(url: &Text, policies: &[(&str, &Policy)]) -> bool {
    match Origin::parse(&url.source).filter(|_| url.reads.is_empty()) {
        Some(Origin { scheme, host, port }) => !decide(policies, &Act::Host { scheme: &scheme, host: &host, port }).is_allowed(),
        None => policies.iter().any(|(_, policy)| policy.permission_mode == Some(PermissionMode::Prompt) && policy.hosts.is_none()),
    }
}

/// An argument as `untrusted` of a policy names it, and its texts.
type Given<'p> = (&'p str, Vec<&'p Text>);

/// What a step sends by itself: to whom, the tool as policies name it and whether it does something, and each argument.
fn of_step<'p>(
    step: &'p Step,
    pipeline: &'p Pipeline,
    policies: &[(&str, &Policy)],
) -> Option<(Receiver, (&'p str, bool), Vec<Given<'p>>)> {
    let each = |pairs: &'p [(Spanned<String>, Filling)]| pairs.iter().map(|(name, value)| (name.value.as_str(), value.texts()));
    let of_tool = |name: &'p Spanned<String>| {
        let (tool, part) = pipeline.tool(&name.value)?;
        Some((of_tool(tool, &name.value, policies)?, (name.value.as_str(), tool.may_act(part)), tool))
    };
    // Of a request it is a header.
    let key = |tool: Option<&Tool>, key: &'p Option<Text>| {
        let is_request = tool.is_none_or(|tool| matches!(tool.kind, ToolKind::Http { .. }));
        (if is_request { "headers" } else { "idempotency_key" }, key.iter().collect::<Vec<&Text>>())
    };
    Some(match &step.kind {
        StepKind::Http(http) => {
            let query = http.query.iter().flat_map(|(_, value)| value.texts());
            let given = vec![
                ("url", std::iter::once(&http.url).chain(query).collect()),
                ("body", http.body.iter().flat_map(Filling::texts).collect()),
                ("headers", http.headers.iter().map(|(_, text)| text).collect()),
                key(None, &http.idempotency_key),
            ];
            (Receiver::Host("a web address".into()), ("http", true), given)
        }
        StepKind::Program(run) => {
            let given = vec![("args", run.texts().chain(run.env.iter().map(|(_, text)| text)).collect())];
            // What is run may be fed in more ways than its arguments.
            (of_program(run, policies)?, ("", false), given)
        }
        StepKind::Resource(read) => {
            let server = &read.server.value;
            (Receiver::Host(format!("tool server {server}")), (server, true), vec![("uri", vec![&read.uri])])
        }
        StepKind::Tool(call) => {
            let (receiver, called, tool) = of_tool(&call.tool)?;
            (receiver, called, each(&call.with).chain([key(Some(tool), &call.idempotency_key)]).collect())
        }
        StepKind::Send(send) if send.to.value == STDOUT => (Receiver::Person, ("", false), vec![("content", vec![&send.of])]),
        StepKind::Send(send) => {
            let (receiver, called, tool) = of_tool(&send.to)?;
            let more = [("content", vec![&send.of]), key(Some(tool), &send.idempotency_key)];
            (receiver, called, each(&send.with).chain(more).collect())
        }
        StepKind::Stop(stop) => (Receiver::Person, ("", false), vec![("reason", stop.reason.iter().collect())]),
        // Questions and what is shown beside them go to the person who judges it.
        StepKind::Approval(_) => return None,
        StepKind::Agent(_) | StepKind::Plan(_) | StepKind::Task(_) | StepKind::Dialogue(_) | StepKind::Gate(_) => return None,
        StepKind::Set(_) | StepKind::Sql(_) | StepKind::Python(_) | StepKind::Read(_) | StepKind::Search(_) | StepKind::Route(_) => {
            return None;
        }
        StepKind::Group(_) | StepKind::Repeat(_) => return None,
        StepKind::Call(_) | StepKind::Format(_) | StepKind::Wait(_) | StepKind::Broken => return None,
    })
}

/// To whom a tool gives what it is given; `None`: it keeps it in the run.
pub(super) fn of_tool(tool: &Tool, name: &str, policies: &[(&str, &Policy)]) -> Option<Receiver> {
    match &tool.kind {
        ToolKind::Http { .. } => Some(Receiver::Host(format!("tool {name}"))),
        ToolKind::Smtp { .. } => Some(Receiver::Host(format!("mail server {name}"))),
        ToolKind::Server(_) => Some(Receiver::Host(format!("tool server {name}"))),
        ToolKind::File(_) => Some(Receiver::File(format!("files of {name}"))),
        ToolKind::Program { run, .. } => of_program(run, policies),
        ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => None,
    }
}

fn of_program(run: &ProgramCommand, policies: &[(&str, &Policy)]) -> Option<Receiver> {
    if sandbox_mode(policies) != SandboxMode::Required {
        return Some(Receiver::Host(format!("program {}, which may run without a sandbox", run.program.value)));
    }
    match (run.network.is_none(), run.writes.is_empty()) {
        (false, _) => Some(Receiver::Host(format!("program {} with a network", run.program.value))),
        (true, false) => Some(Receiver::File(format!("files of program {}", run.program.value))),
        (true, true) => None,
    }
}

/// What a tool that is a program runs.
pub(super) fn run_by(tool: &Tool) -> Option<&ProgramCommand> {
    if let ToolKind::Program { run, .. } = &tool.kind { Some(run) } else { None }
}

/// The models that may answer for an agent of a step, those tried after them too. A text of the step that is filled in may name any.
pub(super) fn models_of<'p>(pipeline: &'p Pipeline, kind: &StepKind, agent: &'p Agent) -> Vec<(&'p str, &'p Model)> {
    let named = match kind.facts().model {
        Some(text) if text.form != Form::Plain => None,
        Some(text) => Some(text.source.trim()),
        None => Some(agent.model_name()),
    };
    let first = pipeline.models.iter().filter(|(name, _)| named.is_none_or(|named| named == *name));
    let tried_after = first.clone().flat_map(|(_, model)| &model.fallback).filter_map(|name| pipeline.models.get_key_value(&name.value));
    first.chain(tried_after).map(|(name, model)| (name.as_str(), model)).collect()
}
