//! What a conversation keeps of a run, and what agents are shown of earlier ones.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::places::{Back, Parts, ValuePlace};
use super::{Caller, ChainIx, Hop, Labels, Start, StartFrom};
use crate::model::{ArtefactKind, Filling, History, OnFailure, SUMMARY_STEP, StepKind, Text, Tool};
use crate::plan::{BlockIx, PipelinePlan, PlannedStep, StepIx};

/// What approvals show as it is: paths, each with the approvals that show it.
pub(super) type ShownPaths = HashMap<String, Vec<StepIx>>;

/// So many chains of calls are looked at.
pub const MOST_CHAINS: usize = 1_000;

impl<'p> Labels<'p> {
    /// All chains of calls that begin with one, itself first; `false`: there are more. `tools`: those that the models of a step may call.
    pub fn chains_below(&mut self, first: ChainIx, tools: &dyn Fn(&Self, ChainIx, StepIx) -> Vec<&'p Tool>) -> (Vec<ChainIx>, bool) {
        let (mut list, mut known) = (vec![first], HashSet::from([first]));
        let mut at = 0;
        while let Some(chain) = list.get(at).copied() {
            at += 1;
            let planned = self.pipeline(chain);
            for (ix, step) in planned.numbered_steps() {
                let by_step = step.step.kind.called(&planned.pipeline).map(|id| (Caller::Step(ix), id));
                let by_model = tools(self, chain, ix).into_iter().filter_map(|tool| tool.kind.pipeline()).map(|id| (Caller::Model(ix), id));
                for (caller, id) in by_step.into_iter().chain(by_model).collect::<Vec<_>>() {
                    if let Some(next) = self.called(chain, caller, id)
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

    fn shown_paths(&mut self, chain: ChainIx) -> Rc<ShownPaths> {
        let planned = self.pipeline(chain);
        self.shown.entry(self.id(chain)).or_insert_with(|| Rc::new(shown_paths(planned))).clone()
    }

    /// The pipeline that the run of a chain begins with.
    fn root_of(&self, mut chain: ChainIx) -> ChainIx {
        while let Some((above, _)) = self.caller(chain) {
            chain = above;
        }
        chain
    }

    /// What is one step back of where values are followed from.
    pub(super) fn begin(&mut self, start: Start<'p>) -> Vec<Back> {
        let Start { chain, seat, from, reader } = start;
        let planned = self.pipeline(chain);
        let mut parts = self.parts(chain, seat, &reader);
        match (from, seat.map(|(ix, _)| ix)) {
            (StartFrom::Text(text), _) => parts.whole([text]),
            (StartFrom::Unseen(text), Some(ix)) => {
                parts.whole([text]);
                let shown = parts.labels.shown_paths(chain);
                let is_shown = |hop: &Hop| is_shown(planned, &shown, ix, &hop.path);
                parts.list.retain(|back| !matches!(back, Back::Of(edge) if edge.hop.as_ref().is_some_and(is_shown)));
            }
            (StartFrom::Refinement, _) => parts.told_again(),
            (StartFrom::ReadTables, _) => parts.all_of(ValuePlace::ReadTables),
            (StartFrom::Files, Some(ix)) => parts.read_from_files(ix),
            (StartFrom::History, Some(ix)) => parts.history(ix),
            (StartFrom::Failures, Some(ix)) => parts.all_of(ValuePlace::ToldFailures(ix)),
            (StartFrom::Folder, Some(ix)) => parts.read_from_folder(ix),
            (StartFrom::Output, Some(ix)) => parts.answer(ix),
            (StartFrom::Unseen(_) | StartFrom::Files | StartFrom::Failures | StartFrom::Folder, None) => {}
            (StartFrom::Output | StartFrom::History, None) => {}
        }
        parts.list
    }
}

impl Parts<'_, '_> {
    /// What belongs to the run as a whole.
    pub(super) fn of_run(&mut self, place: ValuePlace) {
        let chain = self.labels.root_of(self.chain);
        let span = self.labels.pipeline(chain).pipeline.name.span;
        self.read(chain, place, "the conversation", span, None);
    }

    /// What a conversation keeps of a run, if it is part of one: what the person said, what any of its pipelines sends, the first output,
    /// and what sums them up.
    pub(super) fn kept_of_run(&mut self) {
        let chains = self.labels.chains_below(self.chain, &Labels::tools_of_models).0;
        if chains.iter().all(|chain| self.labels.pipeline(*chain).pipeline.conversation.is_none()) {
            return;
        }
        self.reader = "the conversation".into();
        for chain in chains {
            let planned = self.labels.pipeline(chain);
            self.chain = chain;
            for (ix, step) in planned.numbered_steps() {
                // Who continues is told the summary.
                if step.step.id.value == SUMMARY_STEP {
                    self.seat = Some((ix, true));
                    self.answer(ix);
                }
                if let StepKind::Send(send) = &step.step.kind {
                    self.seat = Some((ix, true));
                    self.whole([&send.of]);
                }
            }
            self.seat = None;
            if let Some(conversation) = &planned.pipeline.conversation {
                self.whole(std::iter::once(&conversation.message).chain(planned.pipeline.outputs.texts()));
            }
        }
    }

    /// What an agent of a step is shown of earlier runs of the conversation: what was filled in then.
    pub(super) fn history(&mut self, ix: StepIx) {
        let Some((history, agent)) = self.labels.pipeline(self.chain).step(ix).step.kind.history() else { return };
        self.reader = self.labels.step_words(self.chain, ix).into();
        match history {
            History::Nothing | History::Kept => {}
            History::Conversation => self.of_run(ValuePlace::Kept),
            History::Own => self.of_run(ValuePlace::Asked(agent.value.clone())),
        }
    }

    /// The output of a step, as somebody is shown it who reads no text for it.
    fn answer(&mut self, ix: StepIx) {
        let (words, span) = (self.labels.step_words(self.chain, ix), self.labels.span_of(self.chain, ix));
        self.read(self.chain, ValuePlace::Output(ix, vec![]), &words, span, None);
    }

    /// What an agent of this name was asked by any step of the run, and what it was shown and said then.
    pub(super) fn asked_in_run(&mut self, agent: &str) {
        for chain in self.labels.chains_below(self.chain, &Labels::tools_of_models).0 {
            let planned = self.labels.pipeline(chain);
            for (ix, step) in planned.numbered_steps() {
                let kind = &step.step.kind;
                let names = kind.agents(&planned.pipeline).into_iter().chain(kind.agents_with_tools()).chain(kind.facts().may_use);
                if names.into_iter().all(|name| name.value != agent) {
                    continue;
                }
                (self.chain, self.seat, self.reader) = (chain, Some((ix, true)), "the conversation".into());
                kind.each_text(step.step.span, &mut |authored| self.whole(authored.text()));
                self.answer(ix);
                self.all_of(ValuePlace::ToldFailures(ix));
                if matches!(kind, StepKind::Task(task) if task.fixed_artefact() != Some(ArtefactKind::Text)) {
                    self.all_of(ValuePlace::ReadTables);
                }
                if planned.is_told_again(ix) {
                    self.told_again();
                }
            }
        }
    }
}

fn shown_paths(planned: &PipelinePlan) -> ShownPaths {
    let mut shown = ShownPaths::new();
    for (ix, own) in planned.numbered_steps() {
        let step = &own.step;
        if let StepKind::Approval(approval) = &step.kind
            && step.when.is_none()
            && step.for_each.is_none()
            && step.on_failure == OnFailure::Stop
            && approval.on_timeout.is_none()
            && is_over(planned, own.block, own.place)
        {
            let texts = std::iter::once(&approval.question).chain(approval.show.iter().flat_map(Filling::texts));
            texts.flat_map(paths_shown_by).for_each(|path| shown.entry(path).or_default().push(ix));
        }
    }
    shown
}

/// Whether approvals, without whose yes a step does not run, show a person what is at a path.
fn is_shown(planned: &PipelinePlan, shown: &ShownPaths, ix: StepIx, path: &str) -> bool {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let approvals = ends.filter_map(|end| shown.get(path.get(..end)?)).flatten().map(|approval| planned.step(*approval));
    let holds_back = |approval: &PlannedStep, own: &PlannedStep| {
        approval.block == own.block && approval.place < own.place && planned.block(own.block).is_held_back_by(own.place, approval.place)
    };
    approvals.into_iter().any(|approval| planned.around(ix).any(|around| holds_back(approval, planned.step(around))))
}

/// Whether a step of a list runs behind the gate that may send others of the list back, so that it never runs twice, and neither does what it reads.
fn is_over(planned: &PipelinePlan, block: BlockIx, place: usize) -> bool {
    let refinement = planned.refinement.as_ref().filter(|refinement| refinement.block == block);
    refinement.is_none_or(|refinement| planned.block(block).is_held_back_by(place, planned.step(refinement.gate).place))
}

/// The paths whose values a text shows as they are: `steps.a.output`, or `{{ steps.a.output }}` among words that always stand there.
fn paths_shown_by(text: &Text) -> impl Iterator<Item = String> {
    let source: &str = &text.source;
    let pieces: Vec<&str> = source.split("{{").skip(1).map(|piece| piece.split("}}").next().unwrap_or_default()).collect();
    // What stands in a comment, a condition or quotes is not shown.
    let is_plain = !source.contains("{#") && !source.contains("{%") && pieces.iter().all(|piece| !piece.contains(['\'', '"']));
    let pieces: HashSet<&str> = pieces.into_iter().filter(|_| is_plain).chain([source]).map(str::trim).collect();
    text.reads.iter().map(|read| read.path.join(".")).filter(move |path| pieces.contains(path.as_str()))
}
