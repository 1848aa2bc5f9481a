//! The most that a run can ask of models: each factor on its own, so that a person can see where a number comes from.
//!
//! Calls of a model are tries × answers × rounds × restarts × elements. *Answers* are the first one, those sent back because of their
//! shape, and one a round of tool calls. Of a `plan` step there are as many askings as plans, and each step of a plan may be the dearest; of a `task` step as many as tries. The bounds hold for a run that is not resumed after a crash: what was out is then asked again.

use std::collections::HashMap;

use serde::Serialize;

use super::{BlockIx, PipelinePlan, Plan, StepIx};
use crate::model::{
    Agent, AgentStep, AgentWork, DEFAULT_MODEL, FailureKind, Filling, Form, History, JudgingStep, MOST_PLAN_REPAIRS, MOST_REPAIRS,
    MOST_TURNS, Model, Pipeline, PipelineId, PlanStep, Retry, Step, StepFacts, StepKind, Text,
};
use crate::source::Spanned;

/// How often a list may be gone through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elements {
    /// There is no `for_each`.
    One,
    /// So many elements.
    Known(u64),
    /// Not known before the run: the list as written.
    Open(String),
}

/// One agent that a step asks, as its work or as a judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentUse {
    /// The agent.
    pub agent: String,
    /// Whether it judges.
    pub judges: bool,
    /// The models that may answer, one after the other, with the tries of each.
    pub models: Vec<(String, u64)>,
    /// How often an answer of the wrong shape is sent back.
    pub repairs: u64,
    /// Rounds of tool calls.
    pub turns: u64,
    /// What it is asked for.
    #[serde(skip_serializing_if = "AgentPart::is_own")]
    pub part: AgentPart,
    /// How often: of a `plan` step, plans, and steps of all plans; of a `task` step, tries; of a `dialogue` step, turns.
    #[serde(skip_serializing_if = "is_one")]
    pub times: u64,
}

fn is_one(times: &u64) -> bool {
    *times == 1
}

/// What an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentPart {
    /// The work of its step, or a judgement.
    Own,
    /// A plan.
    Plans,
    /// Whether the work of a plan is done.
    Checks,
    /// A step of a plan.
    Planned,
    /// A turn of a dialogue, or a judgement of one.
    Turns,
}

impl AgentPart {
    fn is_own(&self) -> bool {
        *self == AgentPart::Own
    }
}

impl AgentUse {
    /// Answers: the first, repaired ones, and one a round of tool calls.
    pub fn answers(&self) -> u64 {
        1 + self.repairs + self.turns
    }

    /// Most calls of models for one round of refinement. The next model takes over for good, so each is met once, and the one with the most tries again
    /// and again.
    pub fn calls(&self) -> u64 {
        let all: u64 = self.models.iter().map(|(_, tries)| *tries).sum();
        let most = self.models.iter().map(|(_, tries)| *tries).max().unwrap_or(0);
        all.saturating_add((self.answers() - 1).saturating_mul(most)).saturating_mul(self.times)
    }
}

/// Chains of lists that are told apart; calls for all others are one number.
const MOST_CHAINS: usize = 64;
/// What stands for them.
const OTHER_LISTS: &str = "element of other lists";

/// Calls of models, as far as they are bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// Those that are bounded.
    pub calls: u64,
    /// Most tokens of their answers; `None`: a model has no `max_output_tokens`.
    pub answer_tokens: Option<u64>,
    /// Those that come on top.
    pub open: Vec<OpenCalls>,
}

/// Calls whose number is not known before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCalls {
    /// So many…
    pub calls: u64,
    /// …for each of these.
    pub of: Vec<String>,
}

impl Calls {
    /// None at all.
    pub fn none() -> Calls {
        Calls { calls: 0, answer_tokens: Some(0), open: vec![] }
    }

    /// Both.
    pub fn and(mut self, other: Calls) -> Calls {
        self.calls = self.calls.saturating_add(other.calls);
        self.answer_tokens = self.answer_tokens.zip(other.answer_tokens).map(|(one, other)| one.saturating_add(other));
        self.adds(other.open);
        self
    }

    /// What is open on top; equal ones are one, and so is all that is beyond [`MOST_CHAINS`].
    fn adds(&mut self, open: Vec<OpenCalls>) {
        for one in open {
            let same = self.open.iter().position(|known| known.of == one.of);
            match same.or((self.open.len() == MOST_CHAINS).then_some(MOST_CHAINS - 1)).and_then(|at| self.open.get_mut(at)) {
                None => self.open.push(one),
                Some(known) => {
                    known.calls = known.calls.saturating_add(one.calls);
                    if same.is_none() {
                        known.of = vec![OTHER_LISTS.to_owned()];
                    }
                }
            }
        }
    }

    /// One or the other. What is open of either stays open.
    fn or(mut self, other: Calls) -> Calls {
        self.calls = self.calls.max(other.calls);
        self.answer_tokens = self.answer_tokens.zip(other.answer_tokens).map(|(one, other)| one.max(other));
        self.adds(other.open);
        self
    }

    fn times(mut self, factor: u64) -> Calls {
        self.calls = self.calls.saturating_mul(factor);
        self.answer_tokens = self.answer_tokens.map(|tokens| tokens.saturating_mul(factor));
        self.open.iter_mut().for_each(|open| open.calls = open.calls.saturating_mul(factor));
        self
    }

    /// So many for each of something whose number is not known.
    fn each(self, of: &str) -> Calls {
        let own = (self.calls > 0).then(|| OpenCalls { calls: self.calls, of: vec![] });
        let open = own.into_iter().chain(self.open).map(|open| OpenCalls { of: [vec![of.to_string()], open.of].concat(), ..open });
        let open: Vec<OpenCalls> = open.collect();
        Calls { calls: 0, answer_tokens: if open.is_empty() { Some(0) } else { None }, open }
    }
}

/// What one step may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepBounds {
    /// The step.
    pub step: StepIx,
    /// The agents it asks itself.
    pub askings: Vec<AgentUse>,
    /// The pipelines it may run, as its work or as tools of its agent.
    pub called: Vec<PipelineId>,
    /// 2 where the refinement may run it again.
    pub rounds: u64,
    /// Most rounds of the `repeat` steps around it.
    pub repeats: u64,
    /// How often the `for_each` of steps around it may run it: as far as that is known, and the lists as written where it is not.
    pub around: (u64, Vec<String>),
    /// How often its `retry`, or that of a step around it, may start it anew.
    pub restarts: u64,
    /// Its `for_each`.
    pub elements: Elements,
    /// All its calls of models in a whole run, those inside it too.
    pub calls: Calls,
}

/// What one pipeline may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineBounds {
    /// Its steps, in their order; those inside a step are before it.
    pub steps: Vec<StepBounds>,
    /// All of them: of `steps`, `on_failure` and `finally`.
    pub calls: Calls,
}

/// The number of elements of a list that the plan alone does not know, for a step of the first pipeline.
pub type Lengths<'a> = &'a dyn Fn(StepIx, &Filling) -> Option<u64>;

/// Bounds of each pipeline of a program, in its order. `default_model` is in place of the model called `default`.
pub fn bounds(plan: &Plan, default_model: Option<&Model>, lengths: Lengths) -> Vec<PipelineBounds> {
    let mut counter = Counter { plan, default_model, lengths, done: HashMap::new(), open: vec![] };
    (0..plan.pipelines.len()).map(|id| counter.pipeline(PipelineId(id))).collect()
}

struct Counter<'a> {
    plan: &'a Plan,
    default_model: Option<&'a Model>,
    lengths: Lengths<'a>,
    done: HashMap<PipelineId, PipelineBounds>,
    /// The pipelines being counted, to stop at a circle; the check reports those.
    open: Vec<PipelineId>,
}

/// How often what is inside a step may run.
#[derive(Clone)]
struct Factors {
    rounds: u64,
    repeats: u64,
    restarts: u64,
    around: (u64, Vec<String>),
}

impl Counter<'_> {
    fn pipeline(&mut self, id: PipelineId) -> PipelineBounds {
        if let Some(done) = self.done.get(&id) {
            return done.clone();
        }
        if self.open.contains(&id) {
            return PipelineBounds { steps: vec![], calls: Calls::none() };
        }
        self.open.push(id);
        let planned = self.plan.pipeline(id);
        let mut steps = vec![];
        let own = [Some(planned.main), planned.on_failure, planned.finally];
        let once = Factors { rounds: 1, repeats: 1, restarts: 1, around: (1, vec![]) };
        let calls = own.into_iter().flatten().fold(Calls::none(), |all, block| all.and(self.block(id, block, &once, &mut steps)));
        self.open.pop();
        let bounds = PipelineBounds { steps, calls };
        self.done.insert(id, bounds.clone());
        bounds
    }

    fn block(&mut self, id: PipelineId, block_ix: BlockIx, factors: &Factors, steps: &mut Vec<StepBounds>) -> Calls {
        let planned = self.plan.pipeline(id);
        let block = planned.block(block_ix);
        let mut all = Calls::none();
        for place in 0..block.len() {
            let again = planned.refinement.as_ref().filter(|r| r.block == block_ix).is_some_and(|r| r.stretch.contains(&place));
            let factors = Factors { rounds: factors.rounds * if again { 2 } else { 1 }, ..factors.clone() };
            all = all.and(self.step(id, StepIx(block.first.0 + place as u32), factors, steps));
        }
        all
    }

    fn step(&mut self, id: PipelineId, ix: StepIx, around: Factors, steps: &mut Vec<StepBounds>) -> Calls {
        let planned = self.plan.pipeline(id);
        let step = planned.step(ix).step.clone();
        let factors = Factors { restarts: around.restarts.saturating_mul(restarts(&planned.pipeline, &step)), ..around };
        let (askings, called, own) = self.own(planned, &step);
        let elements = match &step.for_each {
            None => Elements::One,
            Some(each) => {
                let known = length(&each.list).or_else(|| (self.lengths)(ix, &each.list).filter(|_| id.0 == 0));
                known.map_or_else(|| Elements::Open(written(&each.list)), Elements::Known)
            }
        };
        // What stands in a `repeat` runs once a round.
        let repeated = step.kind.repeat().map_or(1, |repeat| repeat.at_most);
        let (mut known, mut lists) = factors.around.clone();
        match &elements {
            Elements::One => {}
            Elements::Known(count) => known = known.saturating_mul(*count),
            Elements::Open(list) => lists.push(list.clone()),
        }
        let inside = Factors { repeats: factors.repeats.saturating_mul(repeated), around: (known, lists), ..factors.clone() };
        let cases = planned.step(ix).cases.iter().map(|case| self.block(id, *case, &inside, steps));
        let inner = cases.reduce(Calls::or).unwrap_or_else(Calls::none);
        let Factors { rounds, repeats, restarts, around } = factors;
        let calls = own.times(rounds).times(repeats).times(restarts).and(inner);
        let calls = match &elements {
            Elements::One => calls,
            Elements::Known(count) => calls.times(*count),
            Elements::Open(list) => calls.each(&format!("element of {list}")),
        };
        steps.push(StepBounds { step: ix, askings, called, rounds, repeats, around, restarts, elements, calls: calls.clone() });
        calls
    }

    /// What a step asks itself, once.
    fn own(&mut self, planned: &PipelinePlan, step: &Step) -> (Vec<AgentUse>, Vec<PipelineId>, Calls) {
        let StepFacts { asks, judges, .. } = step.kind.facts();
        match asks {
            AgentWork::Plan(plan) => self.plan(planned, step, plan),
            AgentWork::Agent(asked) => {
                let asking = self.agent(planned, step, asked);
                let (called, of_tools) = self.tools(planned, &asked.agent.value);
                let calls = self.asked(planned, &asking).and(of_tools);
                (vec![asking], called, calls)
            }
            AgentWork::Task(task) => {
                let own = self.one_answer(planned, step, &task.agent.value);
                let own = AgentUse { repairs: MOST_REPAIRS.into(), turns: turns(planned, &own.agent), ..own };
                let judges = self.judges(planned, step, JudgingStep::Task(task));
                let askings: Vec<AgentUse> =
                    std::iter::once(own).chain(judges).map(|asking| AgentUse { times: task.most_tries(), ..asking }).collect();
                let (called, of_tools) = self.tools(planned, &task.agent.value);
                let calls = self.asked_all(planned, &askings).and(of_tools.times(task.most_tries()));
                (askings, called, calls)
            }
            AgentWork::Dialogue(dialogue) => {
                let (mut askings, mut called, mut of_tools) = (vec![], vec![], Calls::none());
                for (place, agent) in (0..).zip(&dialogue.agents) {
                    // Those that come first have the odd turn.
                    let times = dialogue.most_turns().saturating_sub(place).div_ceil(dialogue.agents.len() as u64);
                    let own = self.one_answer(planned, step, &agent.value);
                    askings.push(AgentUse { turns: turns(planned, &agent.value), times, part: AgentPart::Turns, ..own });
                    let (pipelines, calls) = self.tools(planned, &agent.value);
                    called.extend(pipelines);
                    of_tools = of_tools.and(calls.times(times));
                }
                let helper = |agent: &Spanned<String>, times, judges| AgentUse {
                    repairs: if judges { MOST_REPAIRS.into() } else { 0 },
                    times,
                    judges,
                    part: if judges { AgentPart::Turns } else { AgentPart::Own },
                    ..self.one_answer(planned, step, &agent.value)
                };
                askings.extend(dialogue.until.judge.iter().map(|judge| helper(judge, dialogue.most_judgements(), true)));
                askings.extend(dialogue.summary.iter().map(|summary| helper(summary, 1, false)));
                let calls = self.asked_all(planned, &askings).and(of_tools);
                (askings, called, calls)
            }
            AgentWork::None => {
                let askings = judges.map_or(vec![], |judging| self.judges(planned, step, judging));
                let called = planned.called(step);
                let inside = called.map_or_else(Calls::none, |id| self.pipeline(id).calls);
                let calls = self.asked_all(planned, &askings).and(inside);
                (askings, called.into_iter().collect(), calls)
            }
        }
    }

    /// Plans, each with its steps, and the answers to whether the work is done. Each step may be the dearest.
    fn plan(&mut self, planned: &PipelinePlan, step: &Step, plan: &PlanStep) -> (Vec<AgentUse>, Vec<PipelineId>, Calls) {
        let plans = plan.most_plans();
        let steps = plan.most_steps().saturating_mul(plans);
        let own = |agent: &str, repairs: u32, part: AgentPart| AgentUse {
            repairs: repairs.into(),
            turns: turns(planned, agent),
            part,
            times: plans,
            ..self.one_answer(planned, step, agent)
        };
        let mut askings = vec![own(&plan.agent.value, MOST_PLAN_REPAIRS, AgentPart::Plans)];
        askings.extend(plan.check.iter().map(|check| own(&check.value, MOST_REPAIRS, AgentPart::Checks)));
        let mut calls = self.asked_all(planned, &askings);
        let mut called = vec![];
        for agent in std::iter::once(&plan.agent).chain(&plan.check) {
            let (own, of_tools) = self.tools(planned, &agent.value);
            called.extend(own);
            calls = calls.and(of_tools);
        }
        let mut dearest = Calls::none();
        for name in &plan.may_use {
            if planned.pipeline.agents.contains_key(&name.value) {
                let asked = AgentStep {
                    agent: name.clone(),
                    prompt: Text::plain(""),
                    model: None,
                    output: None,
                    attach: None,
                    history: History::Nothing,
                };
                let inner = Step { retry: None, timeout: None, kind: StepKind::Agent(asked), ..step.clone() };
                let (inner, pipelines, of_agent) = self.own(planned, &inner);
                askings.extend(inner.into_iter().map(|asking| AgentUse { part: AgentPart::Planned, times: steps, ..asking }));
                called.extend(pipelines);
                dearest = dearest.or(of_agent);
            } else if let Some(id) = planned.called_tool(&name.value) {
                called.push(id);
                dearest = dearest.or(self.pipeline(id).calls);
            }
        }
        calls = calls.and(dearest.times(steps));
        (askings, called, calls)
    }

    fn asked_all(&self, planned: &PipelinePlan, askings: &[AgentUse]) -> Calls {
        askings.iter().fold(Calls::none(), |all, asking| all.and(self.asked(planned, asking)))
    }

    fn asked(&self, planned: &PipelinePlan, asking: &AgentUse) -> Calls {
        let most = |(name, _): &(String, u64)| {
            self.model(planned, name).filter(|model| model.provider.program().is_none()).and_then(|model| model.max_output_tokens)
        };
        let tokens = asking.models.iter().map(most).collect::<Option<Vec<u64>>>();
        let tokens = tokens.map(|tokens| tokens.into_iter().max().unwrap_or(0).saturating_mul(asking.calls()));
        Calls { calls: asking.calls(), answer_tokens: tokens, open: vec![] }
    }

    fn agent(&self, planned: &PipelinePlan, step: &Step, asked: &AgentStep) -> AgentUse {
        let own = self.one_answer(planned, step, &asked.agent.value);
        let has_shape = asked.output.is_some() || planned.pipeline.agents.get(&own.agent).is_some_and(|agent| agent.output.is_some());
        let models = match &asked.model {
            // Which model a template names is not known: any of them.
            Some(model) if model.form != Form::Plain => self.any_model(planned, step),
            Some(model) => self.models(planned, step, &model.source),
            None => own.models,
        };
        let repairs = if has_shape { u64::from(MOST_REPAIRS) } else { 0 };
        AgentUse { models, repairs, turns: turns(planned, &own.agent), ..own }
    }

    /// One answer of an agent, with the model that it names itself.
    fn one_answer(&self, planned: &PipelinePlan, step: &Step, agent: &str) -> AgentUse {
        let model = planned.pipeline.agents.get(agent).map_or(DEFAULT_MODEL, Agent::model_name);
        let models = self.models(planned, step, model);
        AgentUse { agent: agent.to_string(), judges: false, models, repairs: 0, turns: 0, part: AgentPart::Own, times: 1 }
    }

    /// The pipelines among the tools of an agent, and what they may ask in one step.
    fn tools(&mut self, planned: &PipelinePlan, name: &str) -> (Vec<PipelineId>, Calls) {
        let Some(agent) = planned.pipeline.agents.get(name) else { return (vec![], Calls::none()) };
        let tools = agent.tools.iter().filter_map(|tool| Some((tool.value.as_str(), planned.called_tool(&tool.value)?)));
        let (names, called): (Vec<&str>, Vec<PipelineId>) = tools.unzip();
        let of_tools: Vec<Calls> = called.iter().map(|id| self.pipeline(*id).calls).collect();
        let calls = match planned.pipeline.bounds_of(agent).max_steps {
            Some(most) => of_tools.into_iter().fold(Calls::none(), Calls::or).times(most),
            None => {
                names.iter().zip(of_tools).fold(Calls::none(), |all, (tool, one)| all.and(one.each(&format!("use of {tool} by {name}"))))
            }
        };
        (called, calls)
    }

    /// The judges of a gate or a task: as the engine finds them, for every scorecard that may ask one.
    fn judges(&self, planned: &PipelinePlan, step: &Step, judging: JudgingStep) -> Vec<AgentUse> {
        let asking =
            |name: &Spanned<String>| AgentUse { judges: true, repairs: MOST_REPAIRS.into(), ..self.one_answer(planned, step, &name.value) };
        judging.judges(&planned.pipeline.scorecards).into_iter().map(asking).collect()
    }

    fn model<'p>(&'p self, planned: &'p PipelinePlan, name: &str) -> Option<&'p Model> {
        self.default_model.filter(|_| name == DEFAULT_MODEL).or_else(|| planned.pipeline.models.get(name))
    }

    /// A model and those tried after it.
    fn models(&self, planned: &PipelinePlan, step: &Step, name: &str) -> Vec<(String, u64)> {
        let first = self.model(planned, name);
        let fallback = first.map(|model| model.fallback.as_slice()).unwrap_or_default();
        let names = std::iter::once(name).chain(fallback.iter().map(|name| name.as_str()));
        names.map(|name| (name.to_string(), self.tries(planned, step, name))).collect()
    }

    fn any_model(&self, planned: &PipelinePlan, step: &Step) -> Vec<(String, u64)> {
        let chains = planned.pipeline.models.keys().map(|name| self.models(planned, step, name));
        let longest = chains.max_by_key(|chain| chain.iter().map(|(_, tries)| tries).sum::<u64>());
        longest.unwrap_or_else(|| self.models(planned, step, DEFAULT_MODEL))
    }

    fn tries(&self, planned: &PipelinePlan, step: &Step, model: &str) -> u64 {
        let of_model = || self.model(planned, model).and_then(|model| model.retry.as_ref());
        step.retry.as_ref().or_else(of_model).map_or_else(|| Retry::of_model_calls().max_attempts, |retry| retry.max_attempts).max(1)
    }
}

/// Rounds of tool calls of an agent in one conversation.
fn turns(planned: &PipelinePlan, name: &str) -> u64 {
    let is_tool = |model: &str| planned.pipeline.models.get(model).is_some_and(|model| model.provider.tool().is_some());
    // A model that is a tool is asked once for each call of it.
    let agent = planned.pipeline.agents.get(name).filter(|agent| !agent.tools.is_empty() && !is_tool(agent.model_name()));
    agent.map_or(0, |agent| {
        let most = agent.max_turns.unwrap_or(MOST_TURNS);
        planned.pipeline.bounds_of(agent).max_steps.map_or(most, |steps| steps.min(most))
    })
}

/// How often `retry` may start a whole step: one that holds others at every failure, one that asks models when its `timeout` has ended.
fn restarts(pipeline: &Pipeline, step: &Step) -> u64 {
    let Some(retry) = step.retries(pipeline) else { return 1 };
    let StepFacts { asks, judges, .. } = step.kind.facts();
    let may = matches!(asks, AgentWork::Plan(_) | AgentWork::None) && judges.is_none()
        || (step.timeout.is_some() && retry.on.contains(&FailureKind::Timeout));
    if may { retry.max_attempts.max(1) } else { 1 }
}

/// The length of a list that is written out.
pub(super) fn length(list: &Filling) -> Option<u64> {
    match list {
        Filling::List(list) => Some(list.len() as u64),
        Filling::Constant(value) => value.as_array().map(|list| list.len() as u64),
        _ => None,
    }
}

fn written(list: &Filling) -> String {
    match list {
        Filling::Text(text) => text.source.trim().to_string(),
        _ => "the list".into(),
    }
}

#[cfg(test)]
mod tests;
