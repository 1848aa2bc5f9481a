//! Who wrote a value and whose it is, and the way it came, through texts, steps, loops, called pipelines and tools. Pure, and about what a plan tells; a
//! run asks the same about a call that it is about to make.
//!
//! Each place that holds a value is drawn once, with what it is made of, as far as somebody asks for it (`places.rs`). Then the answer spreads forward,
//! from those who wrote to all who read, over each edge once (`ways.rs`); so the work grows with the file.
//!
//! A way leads from a text to what its values are made of; what is only tested, compared or counted is not followed, since then only the author's
//! words are chosen by it. Where it is not clear, more is followed, never less.
//! How to add a kind of step: its arms in `steps.rs` and `results.rs`; a name that texts may read: its arm in `named_place`, and its `ValuePlace`.

mod beside;
mod chains;
mod conversation;
mod files;
mod names;
mod outputs;
mod places;
mod queries;
mod results;
mod source;
mod sources;
mod steps;
mod ways;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::model::{Agent, Pipeline, PipelineId, StepKind, Text, Writer};
use crate::plan::{Plan, StepIx};
use chains::Chains;
use places::{Back, ValueGraph};

pub use chains::{Caller, ChainIx, may_ask};
pub use conversation::MOST_CHAINS;
pub use files::{OpenedFiles, first_personal, given_back, named_in, opened_by, opens, queried_by, readable_by, tables_of_run};
pub use names::marked_result;
pub use outputs::{OutputRead, ReadHop, Reads, is_of_inputs, is_over_before, passed_on, readable_as, readable_beside, reads_of};
pub use queries::StepQuery;
pub use results::{ResultType, details_types, output_is_of_engine};
pub use source::{Hop, Source, Way};
pub use sources::ValueSources;
pub use steps::judging;
pub use ways::{GatePassage, ValueWays};

/// Where a text stands: a step, and whether the element of that step's own `for_each` is known there. `None`: in `outputs`.
pub type Seat = Option<(StepIx, bool)>;

/// A text from which values are followed.
#[derive(Debug, Clone)]
pub struct Start<'p> {
    /// The pipeline that it is in.
    pub chain: ChainIx,
    /// Where it stands.
    pub seat: Seat,
    /// What it is.
    pub from: StartFrom<'p>,
    /// Who reads it, in words.
    pub reader: String,
}

/// What values are followed from.
#[derive(Debug, Clone, Copy)]
pub enum StartFrom<'p> {
    /// A text.
    Text(&'p Text),
    /// What a text of a step reads that no approval showed a person before, without whose yes the step does not run.
    Unseen(&'p Text),
    /// What an agent is told of the refinement when it tries once more.
    Refinement,
    /// Files, of which the run may have written some.
    Files,
    /// The tables that `read` steps give to queries and tasks.
    ReadTables,
    /// What an agent is told of calls of its tools that failed, and of tries of a task.
    Failures,
    /// The output of a step.
    Output,
    /// What an agent is shown of earlier runs of a conversation.
    History,
    /// The folder of the project, in which the files of tables may lie.
    Folder,
}

/// The values of a plan's pipelines.
#[derive(Debug)]
pub struct Labels<'p> {
    /// The plan whose values are followed.
    pub plan: &'p Plan,
    chains: Chains,
    places: ValueGraph,
    writes_files: OnceCell<bool>,
    queries: HashMap<(PipelineId, StepIx), Rc<StepQuery<'p>>>,
    shown: HashMap<PipelineId, Rc<conversation::ShownPaths>>,
}

impl<'p> Labels<'p> {
    /// Of a plan.
    pub fn new(plan: &'p Plan) -> Labels<'p> {
        Labels {
            plan,
            chains: Chains::default(),
            places: ValueGraph::default(),
            writes_files: OnceCell::new(),
            queries: HashMap::new(),
            shown: HashMap::new(),
        }
    }

    /// The query of a step, read once.
    fn query(&mut self, chain: ChainIx, ix: StepIx, query: &'p str) -> Rc<StepQuery<'p>> {
        let (pipeline, id) = (&self.pipeline(chain).pipeline, self.id(chain));
        Rc::clone(self.queries.entry((id, ix)).or_insert_with(|| Rc::new(StepQuery::new(query, pipeline))))
    }

    /// Those from whom what a path gives may come, whoever judges it, each once with where that was; only what an author wrote has none.
    pub fn sources_at(&mut self, chain: ChainIx, seat: Seat, path: &[String], found: &mut dyn FnMut(&Source)) {
        let Some((chain, place)) = self.named(chain, seat, path) else { return };
        let first = self.places.number(chain, place);
        self.draw();
        let (mut open, mut seen) = (vec![first], HashSet::from([first]));
        while let Some(place) = open.pop() {
            for back in self.places.backs(place) {
                match back {
                    Back::From(source) if source.writer == Writer::Author => {}
                    Back::From(source) => found(source),
                    Back::Of(edge) => open.extend(seen.insert(edge.to).then_some(edge.to)),
                }
            }
        }
    }

    /// A step in words: with its pipeline, if that is called by another; an agent that others ask, with the step that asks it.
    pub fn step_words(&self, chain: ChainIx, ix: StepIx) -> String {
        let planned = self.pipeline(chain);
        if let Some(agent) = &planned.pipeline.asked {
            let asker = self.caller(chain).map(|(above, caller)| format!(" (asked by {})", self.step_words(above, caller.step())));
            return format!("agent {}{}", agent.value, asker.unwrap_or_default());
        }
        let own = format!("step {}", planned.path(ix));
        if self.caller(chain).is_some() { format!("{own} of pipeline {}", planned.pipeline.name.value) } else { own }
    }
}

/// The agents that a step may ask, those too that a plan may use.
pub fn agents<'p>(pipeline: &'p Pipeline, kind: &'p StepKind) -> Vec<&'p Agent> {
    let planned = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
    kind.agents_with_tools().into_iter().chain(planned).filter_map(|name| pipeline.agents.get(&name.value)).collect()
}
