//! Calls, tokens, money and time are bounded: by `limits` of the run, or those of each part that uses them: an agent, a dialogue, a called pipeline,
//! of time a step.

use std::collections::{HashMap, HashSet};

use super::{GuaranteeVerdict, WaysFound};
use crate::diagnostic::{counted, grouped};
use crate::labels::agents;
use crate::model::{
    CallTime, Filling, Limits, MOST_STEP_RUNS, Model, Pipeline, PipelineId, STAGE_TIME, Step, StepKind, Tool, ToolKind, ToolName,
    duration_words,
};
use crate::plan::{AgentUse, PipelineBounds, PipelinePlan, Plan, bounds};

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    let mut found = WaysFound::default();
    let planned = plan.pipeline(pipeline);
    let all = bounds(plan, None, &|_, _| None);
    let Some(own) = all.get(pipeline.0) else { return found.verdict() };
    let limits = planned.pipeline.bounds();
    let span = limits.span.unwrap_or(planned.pipeline.name.span);
    let mut open = OpenParts {
        plan,
        all: &all,
        seen: HashSet::new(),
        tokens: false,
        money: false,
        time: false,
        programs: false,
        unpriced: vec![],
        trusting: vec![],
        searched: vec![],
        outside: vec![],
        bounded: vec![],
    };
    let own_limits = planned.pipeline.bounds();
    let is_firm = (own_limits.max_tokens.is_some(), own_limits.max_cost_usd.is_some());
    open.pipeline(pipeline, Within { is_firm, ..Within::default() });
    let mut missing = |message: &str, help: &str| found.breaks(span, message.to_owned(), vec![], help.to_owned());
    if open.tokens {
        let message = match own.calls.answer_tokens {
            Some(tokens) if !open.programs => format!("answers have at most {} tokens, and nothing bounds the prompts", grouped(tokens)),
            Some(_) | None => "nothing bounds the tokens of a run".to_owned(),
        };
        missing(&message, "write limits: { max_tokens: 200000 }, or what a run may use");
    }
    if !open.unpriced.is_empty() {
        let message = format!("model {} has no price, so nothing bounds the money", open.unpriced.join(", "));
        missing(
            &message,
            "write its price at the model (price: { input: 0, output: 0 } for one of your own), and limits: { max_cost_usd: 1 }",
        );
    } else if open.money {
        missing("nothing bounds the money of a run", "write limits: { max_cost_usd: 1 }, or what a run may cost");
    }
    if open.time {
        missing("no limits.deadline bounds the time of a run", "write limits: { deadline: 5m }, or how long a run may take");
    }
    if open.programs && !open.tokens {
        let message = "the last call of an agent program stays within the tokens: it tells them only after the call";
        found.only_if(span, message.to_owned(), vec![], "make sure of it in the settings of the program".to_owned());
    }
    if !open.trusting.is_empty() {
        let names = open.trusting.join(", ");
        let message =
            format!("the endpoint of {names} uses no more than it is asked for: limits of parts of a run do not end it after a call");
        found.only_if(span, message, vec![], "write limits: { max_tokens: 200000 } in the file, which end the run then".to_owned());
    }
    for name in &open.outside {
        let message = format!("what model {name} uses behind its tool is bounded there: it is not known here, and counts for no limit");
        found.only_if(span, message, vec![], "make sure of it where the tool is, or let an agent with a model of the file answer".into());
    }
    for name in &open.searched {
        let message = format!("the documents of knowledge {name} stay as many as they are: each new piece is asked of its model");
        found.only_if(span, message, vec![], "make sure of it, or search by words".into());
    }
    let stages = stages(plan, &all, pipeline, &mut HashMap::new());
    let after =
        if stages == 0 { String::new() } else { format!(" and {} for on_failure and finally", duration_words(STAGE_TIME * stages)) };
    let steps = limits.max_steps.unwrap_or(MOST_STEP_RUNS);
    found.rests_on.push(match (own.calls.calls > 0 || !own.calls.open.is_empty(), own.calls.open.is_empty()) {
        (false, _) => "no model is asked".to_owned(),
        (true, true) => format!("at most {} of models", counted(own.calls.calls, "call", "calls")),
        (true, false) => format!("at most {} runs of steps (limits.max_steps), each with a bounded number of calls", grouped(steps)),
    });
    found.rests_on.extend(limits.max_tokens.map(|tokens| format!("at most {} tokens", grouped(tokens))));
    found.rests_on.extend(limits.max_cost_usd.map(|usd| format!("at most {usd} US dollars")));
    found.rests_on.extend(limits.deadline.map(|time| format!("at most {}{after}, without the time of persons", duration_words(time))));
    found.rests_on.append(&mut open.bounded);
    found.verdict()
}

/// How many later stages may follow each other when the time is over: those of a pipeline, behind those of one that it calls.
fn stages(plan: &Plan, all: &[PipelineBounds], id: PipelineId, known: &mut HashMap<PipelineId, u32>) -> u32 {
    if let Some(known) = known.get(&id) {
        return *known;
    }
    let planned = plan.pipeline(id);
    let own = [planned.on_failure, planned.finally].into_iter().flatten().count() as u32;
    // Of a circle, which is an error, this is what counts.
    known.insert(id, own);
    let called = all.get(id.0).into_iter().flat_map(|own| &own.steps).flat_map(|part| &part.called);
    let most = called.map(|called| stages(plan, all, *called, known)).max().unwrap_or_default();
    known.insert(id, own + most);
    own + most
}

/// The knowledge that a step or its models may search and that asks a model for each piece.
fn searched_by_meaning<'p>(pipeline: &'p Pipeline, step: &'p Step) -> impl Iterator<Item = &'p str> {
    let facts = step.kind.facts();
    let of_agents = agents(pipeline, &step.kind).into_iter().flat_map(|agent| &agent.tools);
    let names = facts.receiver.into_iter().chain(facts.may_use).chain(of_agents).map(|name| ToolName::parse(&name.value).tool);
    let asks = |name: &&str| pipeline.tools.get(*name).and_then(Tool::knowledge).is_some_and(|own| own.embed.is_some());
    names.chain(facts.knowledge.map(|name| name.value.as_str())).filter(asks)
}

/// What is bounded by something around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Within {
    tokens: bool,
    money: bool,
    time: bool,
    /// Whether limits of the file that the run begins with bound tokens, and money: a call that passes them ends the run.
    is_firm: (bool, bool),
    /// Whether values decide how often: a list of unknown length, or a model that calls a tool.
    is_repeated: bool,
}

impl Within {
    /// Limits of a part bound it each time. So many times an unknown number is no bound.
    fn and(self, limits: &Limits) -> Within {
        if self.is_repeated {
            return self;
        }
        Within {
            tokens: self.tokens || limits.max_tokens.is_some(),
            money: self.money || limits.max_cost_usd.is_some(),
            time: self.time || limits.deadline.is_some(),
            ..self
        }
    }
}

/// What no limit bounds, in a pipeline and all that it calls. How often a step runs is always bounded.
struct OpenParts<'p> {
    plan: &'p Plan,
    all: &'p [PipelineBounds],
    seen: HashSet<(PipelineId, Within)>,
    tokens: bool,
    money: bool,
    time: bool,
    /// Whether an agent program may be asked, which tells its tokens after a call.
    programs: bool,
    /// Models without a price.
    unpriced: Vec<String>,
    /// Agents of which only limits of their own, of a dialogue or of a called pipeline bound tokens or money.
    trusting: Vec<String>,
    /// Knowledge that asks a model for each piece.
    searched: Vec<&'p str>,
    /// Models that are tools of others, who may spend what they like.
    outside: Vec<String>,
    /// What limits of parts bound, one sentence each.
    bounded: Vec<String>,
}

impl<'p> OpenParts<'p> {
    fn pipeline(&mut self, id: PipelineId, around: Within) {
        let plan: &'p Plan = self.plan;
        let planned = plan.pipeline(id);
        let within = around.and(&planned.pipeline.bounds());
        let Some(own) = self.all.get(id.0).filter(|_| self.seen.insert((id, within))) else { return };
        for part in &own.steps {
            let step = &planned.step(part.step).step;
            let dialogue = if let StepKind::Dialogue(own) = &step.kind { Some(&own.limits) } else { None };
            let around: Vec<&Step> = planned.around(part.step).map(|around| &*planned.step(around).step).collect();
            let list = around.iter().rposition(|step| step.for_each.as_ref().is_some_and(|each| has_open_length(&each.list)));
            let is_repeated = within.is_repeated || list.is_some();
            // The time of one element bounds no list.
            let beyond = list.map_or(0, |at| at + 1);
            let is_timed = !within.is_repeated && around.iter().skip(beyond).any(|step| has_time(planned, step));
            let inside = Within { time: within.time || is_timed, is_repeated, ..within };
            let own = dialogue.map_or(inside, |limits| inside.and(limits));
            // How long a wait is may be filled in, and how often it is made.
            let waits = if let StepKind::Wait(time) = &step.kind { is_repeated || !time.texts().is_empty() } else { false };
            self.time |= !own.time && (waits || step.kind.facts().calls_when != CallTime::Never) && planned.called(step).is_none();
            part.askings.iter().for_each(|asking| self.asking(planned, asking, own));
            let searched = searched_by_meaning(&planned.pipeline, step).filter(|name| !self.searched.contains(name));
            let searched: Vec<&str> = searched.collect();
            self.searched.extend(searched);
            // Limits of an agent or a dialogue count its own calls, and not those of pipelines that are its tools.
            let own = planned.called(step);
            let is_counted =
                agents(&planned.pipeline, &step.kind).iter().all(|agent| planned.pipeline.bounds_of(agent).max_steps.is_some());
            for called in &part.called {
                let by_model = own != Some(*called) && !is_counted;
                self.pipeline(*called, Within { is_repeated: is_repeated || by_model, ..inside });
            }
        }
    }

    fn asking(&mut self, planned: &PipelinePlan, asking: &AgentUse, around: Within) {
        let limits = planned.pipeline.agents.get(&asking.agent).map(|agent| planned.pipeline.bounds_of(agent)).unwrap_or_default();
        let within = around.and(&limits);
        let models = || asking.models.iter().map(|(name, _)| (name, planned.pipeline.models.get(name)));
        let asks_program = models().any(|(_, model)| model.is_some_and(|model| model.provider.program().is_some()));
        self.programs |= asks_program;
        self.tokens |= !within.tokens;
        if (within.tokens && !within.is_firm.0 || within.money && !within.is_firm.1) && !self.trusting.contains(&asking.agent) {
            self.trusting.push(asking.agent.clone());
        }
        for (name, model) in models() {
            let is_outside =
                model.and_then(|model| model.provider.tool()).is_some_and(|own| reaches_others(&planned.pipeline, &own.tool.value));
            if is_outside && !self.outside.contains(name) {
                self.outside.push(name.clone());
            }
            let is_free = model.is_some_and(|model| model.provider.answers_from_a_file() || model.provider.tool().is_some());
            let is_priced = model.is_some_and(|model| model.price.is_some() || within.money && Model::is_priced(model));
            if !is_free && !is_priced && !self.unpriced.contains(name) {
                self.unpriced.push(name.clone());
            }
            // So many tokens cost at most so much.
            self.money |= !(is_free || within.money || within.tokens && !asks_program);
        }
        let own = [
            limits.max_tokens.filter(|_| !around.tokens).map(|tokens| format!("{} tokens", grouped(tokens))),
            limits.max_cost_usd.filter(|_| !around.money).map(|usd| format!("{usd} US dollars")),
        ];
        let own: Vec<String> = own.into_iter().flatten().collect();
        if !own.is_empty() {
            self.bounded.push(format!("agent {} has at most {} each time a step asks it", asking.agent, own.join(" and ")));
        }
    }
}

/// Whether who answers for a tool is outside the run. A pipeline counts as what it is.
fn reaches_others(pipeline: &Pipeline, tool: &str) -> bool {
    pipeline.tool(tool).is_none_or(|(tool, _)| match &tool.kind {
        ToolKind::Http { .. } | ToolKind::Server(_) | ToolKind::Broken => true,
        ToolKind::Program { run, .. } => !run.network.is_none(),
        ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::File(_) | ToolKind::Knowledge(_) => false,
        ToolKind::Pipeline { .. } | ToolKind::Smtp { .. } => false,
    })
}

/// Whether values decide how long a list is.
fn has_open_length(list: &Filling) -> bool {
    match list {
        Filling::Text(text) => !text.reads.is_empty(),
        Filling::Constant(_) | Filling::List(_) | Filling::Map(_) => false,
    }
}

/// Whether a step has a time of its own, or its agents have one.
fn has_time(planned: &PipelinePlan, step: &Step) -> bool {
    let time_of = |name: &str| planned.pipeline.agents.get(name).and_then(|agent| planned.pipeline.bounds_of(agent).deadline);
    let mut of_agents = step.kind.agents(&planned.pipeline).into_iter().map(|name| time_of(&name.value)).peekable();
    // In a dialogue each has the time of its turn, of which there are so many.
    let is_dialogue = matches!(step.kind, StepKind::Dialogue(_));
    let by_agents =
        if is_dialogue { of_agents.peek().is_some() && of_agents.all(|time| time.is_some()) } else { of_agents.any(|time| time.is_some()) };
    step.deadline.is_some() || step.timeout.is_some() || by_agents
}
