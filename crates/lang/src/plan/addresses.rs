//! Where values come from, as far as one file tells.

use std::collections::BTreeSet;

use super::{PipelinePlan, StepIx};
use crate::model::{Filling, ForEach, RequestAddress, StepKind, Text};

/// What values are made of. What is in none of these is the author's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueSources {
    /// The environment.
    pub environment: bool,
    /// Inputs of the pipeline, by name.
    pub inputs: BTreeSet<String>,
    /// Inputs of the pipeline, and the text does not tell which.
    pub any_input: bool,
    /// Arguments of a tool, by name.
    pub with: BTreeSet<String>,
    /// Anything else that is known only in a run.
    pub data: bool,
}

/// A place in a pipeline: a step, and whether the element of its own `for_each` is known there.
type StepSeat = Option<(StepIx, bool)>;

impl PipelinePlan {
    /// What paths of names hold, read by a step; `None`: by something that belongs to no step. The value of a `set` step is what its texts
    /// read, an element what its list reads.
    pub fn sources(&self, at: Option<StepIx>, reads: impl IntoIterator<Item = Vec<String>>) -> ValueSources {
        let mut found = ValueSources::default();
        let mut seen = BTreeSet::new();
        let mut open: Vec<(StepSeat, Vec<String>)> = reads.into_iter().map(|path| (at.map(|ix| (ix, true)), path)).collect();
        while let Some((seat, path)) = open.pop() {
            if !seen.insert((seat, path.clone())) {
                continue;
            }
            let mut follow = |seat: StepSeat, filling: &Filling| {
                let reads = filling.texts().into_iter().flat_map(|text| &text.reads);
                open.extend(reads.map(|read| (seat, read.path.clone())));
            };
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            match names.as_slice() {
                ["env" | "secrets", ..] => found.environment = true,
                ["run" | "channel" | "style", ..] => {}
                ["inputs", name, ..] => {
                    found.inputs.insert((*name).to_owned());
                }
                ["inputs"] => found.any_input = true,
                ["with", name, ..] => {
                    found.with.insert((*name).to_owned());
                }
                ["steps", id, "output", ..] => match self.seen_from(seat.map_or(self.main, |(ix, _)| self.step(ix).block), id) {
                    Some(ix) if let StepKind::Set(value) = &self.step(ix).step.kind => follow(Some((ix, true)), value),
                    Some(_) | None => found.data = true,
                },
                [name, ..] => match seat.and_then(|at| self.element(at, name)) {
                    Some((ix, each)) => follow(Some((ix, false)), &each.list),
                    None => found.data = true,
                },
                [] => found.data = true,
            }
        }
        found
    }

    /// All web addresses that are called: of models, tools and steps.
    pub fn addresses(&self) -> impl Iterator<Item = &Text> {
        let of_models = self.pipeline.models.values().filter_map(|model| model.base_url.as_ref());
        let of_tools = self.pipeline.tools.values().filter_map(|tool| match tool.kind.address()? {
            RequestAddress::Web(url) => Some(url),
            RequestAddress::Mail(_) => None,
        });
        let of_steps = self.steps.iter().filter_map(|planned| planned.step.kind.address());
        of_models.chain(of_tools).chain(of_steps)
    }

    /// All mail servers, `host:port`.
    pub fn mail_servers(&self) -> impl Iterator<Item = &Text> {
        self.pipeline.tools.values().filter_map(|tool| match tool.kind.address()? {
            RequestAddress::Mail(server) => Some(server),
            RequestAddress::Web(_) => None,
        })
    }

    /// The loop of which a name is the element, as seen from a step; `own`: the element of that step's own `for_each` is known there.
    pub(crate) fn element(&self, (ix, own): (StepIx, bool), name: &str) -> Option<(StepIx, &ForEach)> {
        let mut lists = self.around(ix).skip(usize::from(!own)).filter_map(|ix| Some((ix, self.step(ix).step.for_each.as_ref()?)));
        lists.find(|(_, each)| name == "item" || each.name.as_ref().is_some_and(|own| own.value == name))
    }
}
