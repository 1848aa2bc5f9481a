//! How events change a `dialogue` step: its turns, what its judge said, and why it takes no more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::StepNode;
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

impl StepNode {
    /// Ends the conversation of a turn or a judgement, and keeps how often its request was made again.
    fn end_request(&mut self) -> &mut Talking {
        let retried = self.talk().map(|_| self.attempts() - 1);
        self.end_conversation();
        let talking = self.talking.get_or_insert_default();
        talking.retried = retried.unwrap_or(talking.retried);
        talking
    }

    /// Applies an event about a `dialogue` step.
    pub(super) fn dialogue_changed(&mut self, event: &Event) {
        match &event.happening {
            Happening::DialogueTurned { turn, signals, usage, .. } => {
                let session = self.talk().and_then(|talk| talk.session.clone());
                let talking = self.end_request();
                talking.since_ms = event.at_ms;
                match session {
                    Some(session) => drop(talking.sessions.insert(turn.from.clone(), session)),
                    None => drop(talking.sessions.remove(&turn.from)),
                }
                talking.turns.push(HeldTurn { turn: turn.clone(), signals: signals.clone(), usage: *usage });
            }
            Happening::DialogueJudged { turns, agreed, reason, .. } => {
                let talking = self.end_request();
                talking.since_ms = event.at_ms;
                talking.judged = Some((*turns, *agreed, reason.clone()));
            }
            Happening::DialogueClosed { ended, reason, .. } => self.end_request().closed = Some((*ended, reason.clone())),
            _ => {}
        }
    }
}
