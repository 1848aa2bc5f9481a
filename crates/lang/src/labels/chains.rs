//! Pipelines and the calls that lead to them.

use std::collections::HashMap;

use crate::model::PipelineId;
use crate::plan::StepIx;

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

type Link = (PipelineId, Option<(ChainIx, Caller)>);

/// Chains of calls, each once.
#[derive(Debug, Default)]
pub(super) struct Chains {
    list: Vec<Link>,
    known: HashMap<Link, ChainIx>,
}

impl Chains {
    /// A pipeline that a run begins with, or that a step or a model calls.
    pub(super) fn number(&mut self, pipeline: PipelineId, caller: Option<(ChainIx, Caller)>) -> ChainIx {
        let link = (pipeline, caller);
        let next = ChainIx(self.list.len() as u32);
        let ix = *self.known.entry(link).or_insert(next);
        if ix == next {
            self.list.push(link);
        }
        ix
    }

    pub(super) fn get(&self, ix: ChainIx) -> Link {
        self.list.get(ix.0 as usize).copied().unwrap_or_default()
    }

    /// Whether a pipeline calls itself on the way to this one.
    pub(super) fn holds(&self, mut ix: ChainIx, pipeline: PipelineId) -> bool {
        loop {
            let (own, caller) = self.get(ix);
            match caller {
                _ if own == pipeline => return true,
                Some((above, _)) => ix = above,
                None => return false,
            }
        }
    }
}
