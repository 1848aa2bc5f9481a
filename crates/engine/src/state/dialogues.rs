//! How events change a `dialogue` step: its turns, what its judge said, and why it takes no more.

use std::collections::BTreeMap;

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
    /// The session of each agent that is a program and can continue, as its last turn left it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) sessions: BTreeMap<String, String>,
    /// How often a request of a turn or judgement that is over was made again.
    #[serde(default)]
    pub(crate) retried: u32,
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

    /// The step that a step is in: one that holds others, or calls a pipeline.
    pub(crate) fn around(&self, at: NodeRef) -> Option<NodeRef> {
        let frame = self.frame(at.frame);
        frame.parent.or_else(|| self.instance(frame.instance).parent)
    }

    /// Number of tries so far, of a step or of its requests to models. An answer that calls tools does not count.
    pub(crate) fn attempts(&self, at: NodeRef) -> u32 {
        let retried = self.talking(at).map_or(0, |talking| talking.retried);
        let now = self.talk(at).map_or(self.node(at).attempt, |talk| talk.attempts.saturating_sub(talk.turns as u32));
        retried.saturating_add(now.max(1))
    }

    /// Ends the conversation of a turn or a judgement, and keeps how often its request was made again.
    fn end_request(&mut self, at: NodeRef) {
        if self.talk(at).is_some() {
            let retried = self.attempts(at) - 1;
            self.node_mut(at).talking.get_or_insert_default().retried = retried;
        }
        self.end_conversation(at);
    }

    /// Applies an event about a `dialogue` step.
    pub(super) fn dialogue_changed(&mut self, event: &Event) -> Option<()> {
        match &event.happening {
            Happening::DialogueTurned { step, turn, signals, usage, .. } => {
                let at = self.find(step)?;
                let session = self.talk(at).and_then(|talk| talk.session.clone());
                self.end_request(at);
                let held = HeldTurn { turn: turn.clone(), signals: signals.clone(), usage: *usage };
                let talking = self.node_mut(at).talking.get_or_insert_default();
                talking.since_ms = event.at_ms;
                match session {
                    Some(session) => drop(talking.sessions.insert(turn.from.clone(), session)),
                    None => drop(talking.sessions.remove(&turn.from)),
                }
                talking.turns.push(held);
            }
            Happening::DialogueJudged { step, turns, agreed, reason } => {
                let at = self.find(step)?;
                self.end_request(at);
                let talking = self.node_mut(at).talking.get_or_insert_default();
                talking.since_ms = event.at_ms;
                talking.judged = Some((*turns, *agreed, reason.clone()));
            }
            Happening::DialogueClosed { step, ended, reason } => {
                let at = self.find(step)?;
                self.end_request(at);
                self.node_mut(at).talking.get_or_insert_default().closed = Some((*ended, reason.clone()));
            }
            _ => {}
        }
        Some(())
    }
}
