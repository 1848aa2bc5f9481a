//! Who chose a value, as far as one file tells: the author, the environment, an input, or what is known only in a run.

use std::collections::{BTreeSet, HashSet};

use super::Seat;
use super::places::{ValuePlace, named_place};
use crate::model::{Filling, StepKind};
use crate::plan::{PipelinePlan, StepIx};

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

impl ValueSources {
    /// What paths of names hold, read by a step; `None`: by something that belongs to no step. The value of a `set` step is what its texts read, an
    /// element what its list reads.
    pub fn of_reads(planned: &PipelinePlan, at: Option<StepIx>, reads: impl IntoIterator<Item = Vec<String>>) -> ValueSources {
        let mut found = ValueSources::default();
        let mut seen = HashSet::new();
        let mut open: Vec<(Seat, Vec<String>)> = reads.into_iter().map(|path| (at.map(|ix| (ix, true)), path)).collect();
        while let Some((seat, path)) = open.pop() {
            if !seen.insert((seat, path.clone())) {
                continue;
            }
            let mut follow = |seat: Seat, filling: &Filling| {
                let reads = filling.texts().into_iter().flat_map(|text| &text.reads);
                open.extend(reads.map(|read| (seat, read.path.clone())));
            };
            match (path.first().map(String::as_str), path.get(1)) {
                (Some("env" | "secrets"), _) => found.environment = true,
                (Some("run" | "channel" | "style"), _) => {}
                (Some("inputs"), Some(name)) => drop(found.inputs.insert(name.clone())),
                (Some("inputs"), None) => found.any_input = true,
                (Some("with"), Some(name)) => drop(found.with.insert(name.clone())),
                (Some(_), _) | (None, _) => match named_place(planned, seat, &path) {
                    Some(ValuePlace::Element(ix, _)) if let Some(each) = &planned.step(ix).step.for_each => {
                        follow(Some((ix, false)), &each.list)
                    }
                    Some(ValuePlace::Output(ix, _)) if let StepKind::Set(value) = &planned.step(ix).step.kind => {
                        follow(Some((ix, true)), value)
                    }
                    Some(_) | None => found.data = true,
                },
            }
        }
        found
    }
}
