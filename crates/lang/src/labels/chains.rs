//! Pipelines and the calls that lead to them.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Labels;
use crate::model::{PipelineId, Tool};
use crate::plan::{PipelinePlan, Plan, StepIx};

/// A pipeline with the calls that lead to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainIx(u32);

/// What calls a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    /// A step, with what its author gives.
    Step(StepIx),
    /// A model, as a tool, in a step: the model wrote what is given.
    Model(StepIx),
}

impl Caller {
    /// The step.
    pub fn step(self) -> StepIx {
        match self {
            Caller::Step(ix) | Caller::Model(ix) => ix,
        }
    }
}

/// A pipeline, what called it, and the policies of the agents that stand between: those that were asked before one of them asked it.
type Link = (PipelineId, Option<(ChainIx, Caller)>, BTreeSet<String>);

/// Chains of calls, each once.
#[derive(Debug, Default)]
pub(super) struct Chains {
    list: Vec<Link>,
    known: HashMap<Link, ChainIx>,
}

impl Chains {
    /// A pipeline that a run begins with, or that a step or a model calls.
    pub(super) fn number(&mut self, pipeline: PipelineId, caller: Option<(ChainIx, Caller)>, between: BTreeSet<String>) -> ChainIx {
        let link = (pipeline, caller, between);
        let next = ChainIx(self.list.len() as u32);
        let ix = *self.known.entry(link.clone()).or_insert(next);
        if ix == next {
            self.list.push(link);
        }
        ix
    }

    pub(super) fn pipeline(&self, ix: ChainIx) -> PipelineId {
        self.list.get(ix.0 as usize).map(|link| link.0).unwrap_or_default()
    }

    pub(super) fn caller(&self, ix: ChainIx) -> Option<(ChainIx, Caller)> {
        self.list.get(ix.0 as usize)?.1
    }

    pub(super) fn between(&self, ix: ChainIx) -> impl Iterator<Item = &str> {
        self.list.get(ix.0 as usize).into_iter().flat_map(|link| &link.2).map(String::as_str)
    }

    /// Whether a pipeline calls itself on the way to this one.
    pub(super) fn holds(&self, ix: ChainIx, pipeline: PipelineId) -> bool {
        std::iter::successors(Some(ix), |ix| self.caller(*ix).map(|(above, _)| above)).any(|ix| self.pipeline(ix) == pipeline)
    }
}

impl<'p> Labels<'p> {
    /// A pipeline with which a run begins.
    pub fn root(&mut self, pipeline: PipelineId) -> ChainIx {
        self.chains.number(pipeline, None, BTreeSet::new())
    }

    /// A pipeline that another one calls; `None`: it would call itself, which is reported. An agent that others ask, who were asked themselves, is one
    /// for the step with which the asking began, whichever of them asks: there are as many ways to ask as there are paths through all agents.
    pub fn called(&mut self, from: ChainIx, caller: Caller, pipeline: PipelineId) -> Option<ChainIx> {
        if self.chains.holds(from, pipeline) {
            return None;
        }
        let mut between = BTreeSet::new();
        let asker = &self.pipeline(from).pipeline;
        if let (Some(agent), Some(began)) = (&asker.asked, self.caller(from))
            && self.plan.pipeline(pipeline).pipeline.asked.is_some()
        {
            let policy = asker.agents.get(&agent.value).and_then(|agent| agent.policy.as_ref());
            between.extend(self.chains.between(from).map(str::to_owned).chain(policy.map(|policy| policy.value.clone())));
            return Some(self.chains.number(pipeline, Some(began), between));
        }
        Some(self.chains.number(pipeline, Some((from, caller)), between))
    }

    /// What called the pipeline at the end of a chain, and where.
    pub fn caller(&self, chain: ChainIx) -> Option<(ChainIx, Caller)> {
        self.chains.caller(chain)
    }

    /// The policies of the agents that were asked before one of them asked the agent at the end of a chain, by name.
    pub fn policies_between(&self, chain: ChainIx) -> impl Iterator<Item = &str> {
        self.chains.between(chain)
    }

    /// The number of the pipeline at the end of a chain.
    pub fn id(&self, chain: ChainIx) -> PipelineId {
        self.chains.pipeline(chain)
    }

    /// The pipeline at the end of a chain.
    pub fn pipeline(&self, chain: ChainIx) -> &'p PipelinePlan {
        self.plan.pipeline(self.id(chain))
    }

    /// The agents that are asked where an agent at the end of a chain is, and that may ask it, each with the chain that leads to it.
    pub(super) fn askers(&mut self, chain: ChainIx) -> Vec<ChainIx> {
        let (Some(_), Some(began)) = (&self.pipeline(chain).pipeline.asked, self.caller(chain)) else { return vec![] };
        let mut open: Vec<PipelineId> = asked_by(self.plan, self.tools_of_models(began.0, began.1.step())).collect();
        let mut seen = HashSet::new();
        let mut found = vec![];
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let asked: Vec<PipelineId> = asked_by(self.plan, self.plan.pipeline(id).pipeline.tools.values()).collect();
                if asked.contains(&self.id(chain)) {
                    found.push(self.chains.number(id, Some(began), BTreeSet::new()));
                }
                open.extend(asked);
            }
        }
        found
    }
}

/// Whether an agent that is asked may ask another one, itself or by others; each may ask itself.
pub fn may_ask(plan: &Plan, asker: PipelineId, asked: PipelineId) -> bool {
    let (mut open, mut seen) = (vec![asker], HashSet::new());
    while let Some(id) = open.pop() {
        if id == asked {
            return true;
        }
        if seen.insert(id) {
            open.extend(asked_by(plan, plan.pipeline(id).pipeline.tools.values()));
        }
    }
    false
}

/// The agents that tools ask.
fn asked_by<'p>(plan: &'p Plan, tools: impl IntoIterator<Item = &'p Tool>) -> impl Iterator<Item = PipelineId> {
    tools.into_iter().filter_map(|tool| tool.kind.pipeline()).filter(|id| plan.pipeline(*id).pipeline.asked.is_some())
}
