//! How events change a `dialogue` step: its turns, what its judge said, and why it takes no more.

use serde::{Deserialize, Serialize};

use super::{NodeRef, RunState};
use crate::event::{Event, Happening, Usage};
use crate::model::{DialogueEnd, DialogueSignal, DialogueTurn};

/// The talk of a `dialogue` step so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Talking {
    pub(crate) turns: Vec<HeldTurn>,
    /// After how many turns the judge was asked last, and what it said then.
    pub(crate) judged: Option<(u32, bool, String)>,
    /// When the last turn or judgement ended.
    pub(crate) since_ms: u64,
    /// How the talking ended, and why.
    pub(crate) closed: Option<(DialogueEnd, String)>,
}

/// A turn that was held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldTurn {
    pub(crate) turn: DialogueTurn,
    pub(crate) signals: Vec<DialogueSignal>,
    pub(crate) usage: Usage,
}

impl RunState {
    /// The talk of a `dialogue` step.
    pub(crate) fn talking(&self, at: NodeRef) -> Option<&Talking> {
        self.node(at).talking.as_deref()
    }

    /// Applies an event about a `dialogue` step.
    pub(super) fn dialogue_changed(&mut self, event: &Event) -> Option<()> {
        match &event.happening {
            Happening::DialogueTurned { step, turn, signals, usage, .. } => {
                let at = self.find(step)?;
                self.end_conversation(at);
                let held = HeldTurn { turn: turn.clone(), signals: signals.clone(), usage: *usage };
                let talking = self.node_mut(at).talking.get_or_insert_default();
                talking.since_ms = event.at_ms;
                talking.turns.push(held);
            }
            Happening::DialogueJudged { step, turns, agreed, reason } => {
                let at = self.find(step)?;
                self.end_conversation(at);
                let talking = self.node_mut(at).talking.get_or_insert_default();
                talking.since_ms = event.at_ms;
                talking.judged = Some((*turns, *agreed, reason.clone()));
            }
            Happening::DialogueClosed { step, ended, reason } => {
                let at = self.find(step)?;
                self.end_conversation(at);
                self.node_mut(at).talking.get_or_insert_default().closed = Some((*ended, reason.clone()));
            }
            _ => {}
        }
        Some(())
    }
}
