//! A run from its beginning to its end, or until a person must decide: the one way to do it, whoever asks for it.

use std::pin::Pin;

use super::surroundings::Surroundings;
use super::tape::Recorded;
use crate::adapter::run_lock::RunLock;
use crate::driver::{Begin, Stop, drive};
use crate::engine::Run;
use crate::event::{Event, Happening, RunEnd};
use crate::journal::{Journal, Mask};
use crate::port::{EventLog, StoreError};
use crate::redact::Redactor;

/// A run that has not begun, or that goes on.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    pub(crate) surroundings: Surroundings,
    pub(super) run: Run,
    pub(super) begin: Begin,
    /// The events so far.
    pub(super) before: Vec<Event>,
    pub(super) log: Box<dyn EventLog>,
    pub(super) lock: Option<RunLock>,
}

/// A step that waits for a person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// What is asked, with all that the call would do; secrets are hidden, personal values are not.
    pub text: String,
}

/// A decision, when it is there; `None`: nobody decides now.
pub(crate) type Decided<'a> = Pin<Box<dyn Future<Output = Option<bool>> + 'a>>;

/// Whoever attends a run.
pub(crate) trait Attend {
    /// More is known now that must not be shown.
    fn masks(&mut self, _: &Redactor) {}

    /// Sees each event once it is kept.
    fn see(&mut self, event: &Event, mask: &Mask);

    /// A person must decide, and until then there is nothing else to do. Without an answer the run is over for now.
    fn decide(&mut self, _: Question) -> Decided<'_> {
        Box::pin(std::future::ready(None))
    }
}

/// What became of a run.
pub(crate) struct Played {
    /// Its id.
    pub(crate) run: String,
    /// How it ended; `None`: it waits for a person. An error: its events could not be kept, and it has no end.
    pub(crate) end: Result<Option<RunEnd>, StoreError>,
    /// What became of its record.
    pub(crate) loss: Option<StoreError>,
    /// All its events.
    pub(crate) events: Vec<Event>,
    /// What must not be shown.
    pub(crate) mask: Mask,
    /// What was recorded of it; an error is a sentence.
    pub(crate) recorded: Result<Option<Recorded>, String>,
    /// Calls for which there was no recording.
    pub(crate) misses: Vec<String>,
    /// As long as this is kept, no other process goes on with it.
    _lock: Option<RunLock>,
}

impl Session {
    /// Runs on this thread, to the end or until nobody decides what must be decided. Whoever wants it to end says so through `stop`.
    pub(crate) fn play(self, stop: &mut Stop, attend: &mut dyn Attend) -> Played {
        let Session { id, surroundings, mut run, mut begin, before, log, lock } = self;
        let mut journal = Journal::new(log);
        let mut mask = surroundings.mask();
        for event in &before {
            mask.take(event);
            if let Some(tape) = &surroundings.ports.tape {
                tape.watch(event);
            }
        }
        attend.masks(mask.redactor());
        let mut events = before;
        let driven = surroundings.runtime.block_on(async {
            let driven = loop {
                let mut watch = |event: &Event| {
                    if mask.take(event) {
                        attend.masks(mask.redactor());
                    }
                    attend.see(event, &mask);
                    events.push(event.clone());
                };
                let driven = drive(&mut run, begin, &surroundings.ports, &mut journal, stop, &mut watch).await;
                let asked = if matches!(driven, Ok(None)) { run.state().undecided().next() } else { None };
                let Some(question) = asked.map(|step| Question {
                    run: id.clone(),
                    step: step.to_string(),
                    text: question(&events, step).unwrap_or_default(),
                }) else {
                    break driven;
                };
                let step = question.step.clone();
                let decided = tokio::select! {
                    decided = attend.decide(question) => decided,
                    Some(_) = stop.recv() => None,
                };
                let Some(approved) = decided else { break driven };
                begin = Begin::Decided { step, approved };
            };
            let _ = surroundings.ports.servers.close().await;
            driven
        });
        let head = surroundings.head(&events);
        let Surroundings { tape, taping, runtime, ports, .. } = surroundings;
        drop(ports);
        drop(runtime);
        // What was recorded, and what came out, is written whatever becomes of the other.
        let recorded = taping.finish(&tape, &head);
        let (end, loss) = match (driven, run.state().finished.clone()) {
            // Its end could not be kept; it is told all the same.
            (Err(error), Some(end)) => {
                events.extend(journal.unkept());
                (Ok(Some(end)), Some(error))
            }
            (driven, _) => (driven, journal.into_loss()),
        };
        Played { run: id, end, loss, events, mask, recorded, misses: tape.misses(), _lock: lock }
    }
}

/// What a person was asked about a step last.
pub(crate) fn question(events: &[Event], step: &str) -> Option<String> {
    events.iter().rev().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { step: asked, question, .. } if **asked == *step => Some(question.clone()),
        _ => None,
    })
}
