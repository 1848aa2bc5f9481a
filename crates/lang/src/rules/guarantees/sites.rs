//! Where values leave a pipeline and all that it calls.

use std::collections::HashSet;

use super::{GuaranteeVerdict, WaysFound};
use crate::diagnostic::grouped;
use crate::labels::{Caller, ChainIx, Labels, Seat, Start};
use crate::model::{Agent, Filling, Outputs, Pipeline, PipelineId, ProgramCommand, STDOUT, Step, StepKind, Text, Tool, ToolKind};
use crate::plan::{Plan, StepIx};
use crate::source::Spanned;

/// Most chains of calls that are looked at.
const MOST_CHAINS: usize = 1_000;

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
}

impl<'p> Site<'p> {
    /// Its texts, to be followed.
    pub(super) fn starts(&self) -> Vec<Start<'p>> {
        let seat: Seat = self.step.map(|ix| (ix, true));
        self.texts.iter().map(|text| Start { chain: self.chain, seat, text, reader: self.what.clone() }).collect()
    }
}

/// The agents that a step may ask, those too that a plan may use.
pub(super) fn agents<'p>(pipeline: &'p Pipeline, kind: &'p StepKind) -> Vec<&'p Agent> {
    let planned = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
    kind.agents_with_tools().into_iter().chain(planned).filter_map(|name| pipeline.agents.get(&name.value)).collect()
}

/// The tools that models of a step may call: those of its agents, and of a plan those that it may use.
pub(super) fn tools_of_models<'p>(pipeline: &'p Pipeline, kind: &'p StepKind) -> Vec<&'p Spanned<String>> {
    let planned = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
    agents(pipeline, kind).into_iter().flat_map(|agent| &agent.tools).chain(planned).collect()
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
    let (list, is_whole) = chains(&mut labels, root);
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

/// The same, once for each pipeline: where it is called from changes nothing about what is looked for.
pub(super) fn look_once<'p>(
    plan: &'p Plan,
    pipeline: PipelineId,
    visit: &mut dyn FnMut(&mut Labels<'p>, ChainIx, &mut WaysFound),
) -> GuaranteeVerdict {
    let mut seen = HashSet::new();
    look(plan, pipeline, &mut |labels, chain, _, found| {
        if seen.insert(std::ptr::from_ref(labels.pipeline(chain))) {
            visit(labels, chain, found);
        }
    })
}

/// All chains of calls that begin with a pipeline; `false`: there are more.
fn chains(labels: &mut Labels, root: ChainIx) -> (Vec<ChainIx>, bool) {
    let (mut list, mut known) = (vec![root], HashSet::from([root]));
    let mut at = 0;
    while let Some(chain) = list.get(at).copied() {
        at += 1;
        let planned = labels.pipeline(chain);
        for (ix, step) in planned.numbered_steps() {
            let kind = &step.step.kind;
            let by_step = kind.called(&planned.pipeline).map(|id| (Caller::Step(ix), id));
            let tools = tools_of_models(&planned.pipeline, kind).into_iter();
            let by_model = tools.filter_map(|name| planned.pipeline.called_tool(&name.value)).map(|id| (Caller::Model(ix), id));
            for (caller, id) in by_step.into_iter().chain(by_model) {
                if let Some(next) = labels.called(chain, caller, id)
                    && known.insert(next)
                {
                    if list.len() >= MOST_CHAINS {
                        return (list, false);
                    }
                    list.push(next);
                }
            }
        }
    }
    (list, true)
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
        list.push(Site { chain, step: None, receiver: Receiver::Person, what, texts });
    }
    for (ix, step) in planned.numbered_steps() {
        let what = labels.step_words(chain, ix);
        if let Some((receiver, texts)) = of_step(&step.step, |name| planned.pipeline.tool(name).map(|(tool, _)| tool)) {
            list.push(Site { chain, step: Some(ix), receiver, what: what.clone(), texts });
        }
        // What the author wrote into the tools themselves goes with each call.
        let own = step.step.kind.facts().receiver.filter(|_| !matches!(step.step.kind, StepKind::Resource(_)));
        for name in own.into_iter().chain(tools_of_models(&planned.pipeline, &step.step.kind)) {
            let Some((tool, _)) = planned.pipeline.tool(&name.value) else { continue };
            let Some(receiver) = of_tool(tool, &name.value) else { continue };
            let mut texts: Vec<&Text> = vec![];
            tool.each_text(&mut |authored| texts.extend(authored.text()));
            list.push(Site { chain, step: Some(ix), receiver, what: format!("tool {} in {what}", name.value), texts });
        }
    }
    list
}

/// What a step sends by itself.
fn of_step<'p>(step: &'p Step, tool: impl Fn(&str) -> Option<&'p Tool>) -> Option<(Receiver, Vec<&'p Text>)> {
    let all = |pairs: &'p [(Spanned<String>, Filling)]| pairs.iter().flat_map(|(_, value)| value.texts());
    Some(match &step.kind {
        StepKind::Http(http) => {
            let headers = http.headers.iter().map(|(_, text)| text);
            let more = http.query.iter().map(|(_, value)| value).chain(&http.body).flat_map(Filling::texts);
            let key = http.idempotency_key.iter();
            (Receiver::Host("a web address".into()), std::iter::once(&http.url).chain(headers).chain(more).chain(key).collect())
        }
        StepKind::Program(run) => (of_program(run)?, run.texts().chain(run.env.iter().map(|(_, text)| text)).collect()),
        StepKind::Resource(read) => (Receiver::Host(format!("tool server {}", read.server.value)), vec![&read.uri]),
        StepKind::Tool(call) => {
            (of_tool(tool(&call.tool.value)?, &call.tool.value)?, all(&call.with).chain(&call.idempotency_key).collect())
        }
        StepKind::Send(send) => {
            let receiver = match tool(&send.to.value) {
                None if send.to.value == STDOUT => Receiver::Person,
                None => return None,
                Some(to) => of_tool(to, &send.to.value)?,
            };
            (receiver, std::iter::once(&send.of).chain(all(&send.with)).chain(&send.idempotency_key).collect())
        }
        StepKind::Stop(stop) => (Receiver::Person, stop.reason.iter().collect()),
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
pub(super) fn of_tool(tool: &Tool, name: &str) -> Option<Receiver> {
    match &tool.kind {
        ToolKind::Http { .. } => Some(Receiver::Host(format!("tool {name}"))),
        ToolKind::Smtp { .. } => Some(Receiver::Host(format!("mail server {name}"))),
        ToolKind::Server(_) => Some(Receiver::Host(format!("tool server {name}"))),
        ToolKind::File(_) => Some(Receiver::File(format!("files of {name}"))),
        ToolKind::Program { run, .. } => of_program(run),
        ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => None,
    }
}

fn of_program(run: &ProgramCommand) -> Option<Receiver> {
    match (run.network.is_none(), run.writes.is_empty()) {
        (false, _) => Some(Receiver::Host(format!("program {} with a network", run.program.value))),
        (true, false) => Some(Receiver::File(format!("files of program {}", run.program.value))),
        (true, true) => None,
    }
}
