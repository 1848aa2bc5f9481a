//! Dialogues in the record of a run: each with its turns.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, Happening, StepPath, Usage};
use crate::model::{DIALOGUE_CUT, DialogueEnd, DialogueSignal, DialogueTurn};

/// A dialogue, in one round of a refinement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DialogueRecord {
    /// The `dialogue` step.
    pub step: String,
    /// The status of the session.
    pub status: DialogueStatus,
    /// The current phase; the last one once the dialogue has ended.
    pub flow: DialogueFlow,
    /// Its turns, in their order.
    pub turns: Vec<TurnRecord>,
    /// How the dialogue ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<DialogueEnd>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The status of the session of a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DialogueStatus {
    /// It is running.
    Active,
    /// Its agents agree, or have nothing new to say.
    Completed,
    /// An agent could not continue.
    Failed,
    /// A limit ended it.
    Timeout,
}

/// The phase of a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DialogueFlow {
    /// The next turn has not started.
    Waiting,
    /// An agent works on its turn.
    Processing,
    /// The last turn contains a signal to end.
    Converging,
    /// No more turns are taken.
    Completed,
}

has_word!(DialogueStatus, DialogueFlow);

/// One turn of a dialogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The text, the speaker and the addressee.
    #[serde(flatten)]
    pub turn: DialogueTurn,
    /// Signals to end the dialogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<DialogueSignal>,
    /// When it ended.
    pub time: DateTime<Utc>,
    /// Duration of the turn.
    pub duration_ms: u64,
    /// Its usage.
    pub usage: Usage,
}

/// Applies an event of a dialogue.
pub(super) fn take(dialogues: &mut Vec<DialogueRecord>, event: &Event) {
    let of = |dialogues: &'_ mut Vec<DialogueRecord>, step: &StepPath| dialogues.iter_mut().rposition(|one| *one.step == **step);
    match &event.happening {
        Happening::DialogueTurned { step, turn, signals, duration_ms, usage } => {
            // The first turn of another round starts a new record.
            let place = of(dialogues, step).filter(|place| turn.number > 1 || dialogues[*place].turns.is_empty()).unwrap_or_else(|| {
                dialogues.push(begun(step));
                dialogues.len() - 1
            });
            dialogues[place].flow = if signals.is_empty() { DialogueFlow::Waiting } else { DialogueFlow::Converging };
            dialogues[place].turns.push(TurnRecord {
                turn: turn.clone(),
                signals: signals.clone(),
                time: event.time,
                duration_ms: *duration_ms,
                usage: *usage,
            });
        }
        Happening::ModelCalled { step, .. } => {
            if let Some(place) = of(dialogues, step).filter(|place| dialogues[*place].status == DialogueStatus::Active) {
                dialogues[place].flow = DialogueFlow::Processing;
            }
        }
        Happening::DialogueJudged { step, agreed, .. } => {
            if let Some(place) = of(dialogues, step) {
                dialogues[place].flow = if *agreed { DialogueFlow::Converging } else { DialogueFlow::Waiting };
            }
        }
        // A dialogue that was cut off continues.
        Happening::RunResumed { .. } => {
            for one in dialogues.iter_mut().filter(|one| one.reason == DIALOGUE_CUT && one.ended.is_none()) {
                (one.status, one.reason) = (DialogueStatus::Active, String::new());
            }
        }
        Happening::DialogueClosed { step, ended, reason } => {
            let place = of(dialogues, step).unwrap_or_else(|| {
                dialogues.push(begun(step));
                dialogues.len() - 1
            });
            let one = &mut dialogues[place];
            (one.ended, one.reason) = (Some(*ended), reason.clone());
            (one.flow, one.status) = match ended {
                DialogueEnd::Agreed | DialogueEnd::Stalled => (DialogueFlow::Completed, DialogueStatus::Completed),
                DialogueEnd::Limit => (DialogueFlow::Completed, DialogueStatus::Timeout),
            };
        }
        Happening::StepFailed { step, details, failure, .. } => {
            let place = of(dialogues, step);
            end(dialogues, place, step, details.as_deref(), &failure.message);
        }
        Happening::StepCancelled { step, details } => {
            let place = of(dialogues, step);
            end(dialogues, place, step, details.as_deref(), DIALOGUE_CUT);
        }
        _ => {}
    }
}

/// Applies the end of a step that did not succeed. `place`: the dialogue of this step, if it is one and had a turn; `why`: the reason,
/// unless the details give another.
fn end(dialogues: &mut Vec<DialogueRecord>, place: Option<usize>, step: &StepPath, details: Option<&Value>, why: &str) {
    let told = |key: &str| details.and_then(|details| details.get(key)?.as_str());
    let turns = details.filter(|details| details.get("positions").is_some()).and_then(|details| details.get("turns")?.as_array());
    let place = match place.filter(|place| dialogues[*place].status == DialogueStatus::Active) {
        Some(place) => place,
        // A dialogue that ended before its first turn.
        None if turns.is_some_and(Vec::is_empty) => {
            dialogues.push(begun(step));
            dialogues.len() - 1
        }
        None => return,
    };
    let one = &mut dialogues[place];
    (one.status, one.reason) = (DialogueStatus::Failed, told("reason").unwrap_or(why).to_owned());
    if told("status") == Some(DialogueStatus::Timeout.word()) {
        (one.status, one.flow, one.ended) = (DialogueStatus::Timeout, DialogueFlow::Completed, Some(DialogueEnd::Limit));
    }
}

fn begun(step: &StepPath) -> DialogueRecord {
    let (status, flow) = (DialogueStatus::Active, DialogueFlow::Waiting);
    DialogueRecord { step: step.to_string(), status, flow, turns: vec![], ended: None, reason: String::new() }
}
