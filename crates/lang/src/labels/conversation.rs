//! What a conversation keeps of a run, and what agents are shown of earlier ones.

use std::collections::HashSet;

use super::search::{Back, Judges, ReadValue};
use super::{Caller, ChainIx, Hop, Labels, Start, StartFrom};
use crate::model::{ArtefactKind, Filling, History, OnFailure, StepKind, Text, Tool};
use crate::plan::{BlockIx, PipelinePlan, StepIx};

/// The name under which is followed what a conversation keeps; no text can read it.
pub(super) const KEPT: &str = "<kept>";

/// The name under which is followed what an agent was asked, whose name is behind it; no text can read it.
pub(super) const ASKED: &str = "<asked>";

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

    /// The pipeline that the run of a chain begins with.
    fn root_of(&self, mut chain: ChainIx) -> ChainIx {
        while let Some((above, _)) = self.caller(chain) {
            chain = above;
        }
        chain
    }

    /// What a conversation keeps of the run, as one value.
    pub(super) fn kept(&self, chain: ChainIx, reader: &str) -> Back {
        self.of_run(chain, vec![KEPT.to_owned()], reader)
    }

    fn of_run(&self, chain: ChainIx, path: Vec<String>, reader: &str) -> Back {
        let chain = self.root_of(chain);
        let span = self.pipeline(chain).pipeline.name.span;
        let hop = Hop { reader: reader.to_owned(), path: "the conversation".to_owned(), span, doubt: None };
        Back::Of(ReadValue { chain, seat: None, path }, hop)
    }

    /// What a conversation keeps of a run, if it is part of one: what the person said, what any of its pipelines sends, the first output.
    pub(super) fn kept_of_run(&mut self, root: ChainIx) -> Vec<Start<'p>> {
        let chains = self.chains_below(root, &Labels::tools_of_models).0;
        if chains.iter().all(|chain| self.pipeline(*chain).pipeline.conversation.is_none()) {
            return vec![];
        }
        let mut found = vec![];
        for chain in chains {
            let planned = self.pipeline(chain);
            let mut add = |seat, text: &'p Text| {
                found.push(Start { chain, seat, from: StartFrom::Text(text), reader: "the conversation".to_owned() });
            };
            for (ix, step) in planned.numbered_steps() {
                if let StepKind::Send(send) = &step.step.kind {
                    add(Some((ix, true)), &send.of);
                }
            }
            if let Some(conversation) = &planned.pipeline.conversation {
                add(None, &conversation.message);
                planned.pipeline.outputs.texts().into_iter().for_each(|text| add(None, text));
            }
        }
        found
    }

    /// What an agent of a step is shown of earlier runs of the conversation: what was filled in then.
    pub(super) fn history(&self, chain: ChainIx, ix: StepIx) -> Option<Back> {
        let (history, agent) = self.pipeline(chain).step(ix).step.kind.history()?;
        let by = self.step_words(chain, ix);
        match history {
            History::Nothing | History::Kept => None,
            History::Conversation => Some(self.kept(chain, &by)),
            History::Own => Some(self.of_run(chain, vec![ASKED.to_owned(), agent.value.clone()], &by)),
        }
    }

    /// What an agent of this name was asked by any step of the run, and what it was shown and said then.
    pub(super) fn asked_in_run(&mut self, root: ChainIx, agent: &str) -> Vec<Start<'p>> {
        let mut found = vec![];
        for chain in self.chains_below(root, &Labels::tools_of_models).0 {
            let planned = self.pipeline(chain);
            for (ix, step) in planned.numbered_steps() {
                let kind = &step.step.kind;
                let names = kind.agents(&planned.pipeline).into_iter().chain(kind.agents_with_tools()).chain(kind.facts().may_use);
                if names.into_iter().all(|name| name.value != agent) {
                    continue;
                }
                let mut add = |from| {
                    found.push(Start { chain, seat: Some((ix, true)), from, reader: "the conversation".to_owned() });
                };
                kind.each_text(step.step.span, &mut |authored| authored.text().into_iter().for_each(|text| add(StartFrom::Text(text))));
                [StartFrom::Output, StartFrom::Failures].into_iter().for_each(&mut add);
                let queries = matches!(kind, StepKind::Task(task) if task.fixed_artefact() != Some(ArtefactKind::Text));
                queries.then_some(StartFrom::ReadTables).into_iter().for_each(&mut add);
                planned.is_told_again(ix).then_some(StartFrom::Refinement).into_iter().for_each(add);
            }
        }
        found
    }

    /// What is one step back of where values are followed from.
    pub(super) fn begin(&mut self, start: Start<'p>, judges: Judges, found: &mut Vec<Back>) {
        let Start { chain, seat, from, reader } = start;
        let step = seat.map(|(ix, _)| ix);
        match (from, step) {
            (StartFrom::Text(text), _) => super::search::texts(chain, seat, [(text, vec![])], &reader, None, found),
            (StartFrom::Unseen(text), Some(ix)) => {
                let shown = shown_before(self.pipeline(chain), ix);
                let mut all = vec![];
                super::search::texts(chain, seat, [(text, vec![])], &reader, None, &mut all);
                found.extend(all.into_iter().filter(|back| !matches!(back, Back::Of(_, hop) if is_shown(&shown, &hop.path))));
            }
            (StartFrom::Refinement, _) => found.extend(self.told_again(chain, seat, &reader)),
            (StartFrom::ReadTables, _) => self.tables_of_reads(chain, judges, found),
            (StartFrom::Files, Some(ix)) => self.read_from_files(chain, ix, found),
            (StartFrom::History, Some(ix)) => found.extend(self.history(chain, ix)),
            (StartFrom::Failures, Some(ix)) => self.failures_told(chain, ix, found),
            (StartFrom::Folder, Some(ix)) => self.read_from_folder(chain, ix, found),
            (StartFrom::Output, Some(ix)) => {
                let path = ["steps", &*self.pipeline(chain).step(ix).id, "output"].map(str::to_owned).to_vec();
                let hop = Hop { reader, path: self.step_words(chain, ix), span: self.span_of(chain, ix), doubt: None };
                found.push(Back::Of(ReadValue { chain, seat, path }, hop));
            }
            (StartFrom::Unseen(_) | StartFrom::Files | StartFrom::Failures | StartFrom::Folder, None) => {}
            (StartFrom::Output | StartFrom::History, None) => {}
        }
    }
}

/// The texts that approvals show a person, without whose yes a step does not run.
fn shown_before(planned: &PipelinePlan, ix: StepIx) -> Vec<&Text> {
    let mut shown = vec![];
    for around in planned.around(ix).map(|around| planned.step(around)) {
        let block = planned.block(around.block);
        for place in 0..block.len().min(around.place) {
            let other = &planned.step(StepIx(block.first.0 + place as u32)).step;
            let always = other.when.is_none() && other.for_each.is_none() && other.on_failure == OnFailure::Stop;
            if let StepKind::Approval(approval) = &other.kind
                && always
                && approval.on_timeout.is_none()
                && block.is_held_back_by(around.place, place)
                && is_over(planned, around.block, place)
            {
                shown.extend(std::iter::once(&approval.question).chain(approval.show.iter().flat_map(Filling::texts)));
            }
        }
    }
    shown
}

/// Whether a step of a list runs behind the gate that may send others of the list back, so that it never runs twice, and neither does what it reads.
fn is_over(planned: &PipelinePlan, block: BlockIx, place: usize) -> bool {
    let refinement = planned.refinement.as_ref().filter(|refinement| refinement.block == block);
    refinement.is_none_or(|refinement| planned.block(block).is_held_back_by(place, planned.step(refinement.gate).place))
}

/// Whether one of these texts shows a value as it is: `steps.a.output`, or `{{ steps.a.output }}` among words that always stand there.
fn is_shown(texts: &[&Text], path: &str) -> bool {
    texts.iter().any(|text| {
        let source: &str = &text.source;
        let pieces: Vec<&str> = source.split("{{").skip(1).map(|piece| piece.split("}}").next().unwrap_or_default()).collect();
        // What stands in a comment, a condition or quotes is not shown.
        let is_plain = !source.contains("{#") && !source.contains("{%") && pieces.iter().all(|piece| !piece.contains(['\'', '"']));
        let shows = |shown: &str| source.trim() == shown || is_plain && pieces.iter().any(|piece| piece.trim() == shown);
        text.reads.iter().map(|read| read.path.join(".")).any(|shown| {
            let rest = path.strip_prefix(shown.as_str());
            shows(&shown) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    })
}
