//! Batches: counts how the elements of a `for_each` ended. All output that counts elements uses this module.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StepRecord;
use crate::diagnostic::grouped;
use crate::event::{Event, Failure, FailureKind, Happening, SharedValue, StepDetails, StepPath, StepStatus};
use crate::model::step_path;

/// How the elements of a `for_each` ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct BatchRecord {
    /// The step.
    pub step: String,
    /// How many elements it has.
    pub elements: u64,
    /// How many succeeded.
    pub succeeded: u64,
    /// How many of the succeeded elements did so in an earlier run, which this one retries.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub kept: u64,
    /// How many of the succeeded elements sent something.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub sent: u64,
    /// How many sent something and did not succeed.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub sent_in_vain: u64,
    /// Why the others failed, the most frequent reason first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedElements>,
    /// How many were skipped because their `when` was false.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub skipped: u64,
    /// How many did not finish.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub unfinished: u64,
    /// Elements that failed, then those that did not finish, each in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenElement>,
}

/// An element that failed or did not finish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenElement {
    /// Its path.
    pub step: String,
    /// Its value.
    pub item: Value,
    /// How it ended.
    pub status: StepStatus,
    /// The kind of its failure; empty: it did not fail.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The step that failed: the element itself, or a step in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Elements that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedElements {
    /// The kind of the failure.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// The known state of one element.
#[derive(Debug, Clone, Default)]
struct ElementState {
    item: SharedValue,
    status: StepStatus,
    /// For a failed element: the kind, the step, and why.
    kind: String,
    failed_at: String,
    message: String,
    is_sent: bool,
    is_kept: bool,
}

/// The elements of the `for_each` steps in the pipeline's own list, updated from event to event.
#[derive(Debug, Default)]
pub(super) struct BatchesSoFar(Vec<(StepPath, Vec<ElementState>)>);

impl BatchesSoFar {
    pub(super) fn take(&mut self, event: &Event) {
        if let Some((step, status)) = event.happening.step_status()
            && let Some((element, "")) = self.element(step)
        {
            element.status = status;
        }
        match &event.happening {
            Happening::StepStarted { step, items: Some(items), .. } if step_path::outermost(step) == &**step => {
                self.0.retain(|(list, _)| list != step);
                self.0.push((step.clone(), items.iter().map(ElementState::from_item).collect()));
            }
            Happening::StepStarted { step, .. } => {
                if let Some((element, "")) = self.element(step) {
                    element.failed_at.clear();
                }
            }
            Happening::StepSucceeded { step, details, .. } => {
                let details = StepDetails::from_value(details);
                if let Some((element, "")) = self.element(step).filter(|_| details.is_kept()) {
                    (element.is_kept, element.is_sent) = (true, details.has_sent());
                }
            }
            Happening::StepFailed { step, failure, .. } => {
                if let Some((element, below)) = self.element(step) {
                    element.fails(step, failure, below.is_empty());
                }
            }
            Happening::OutputWritten { step, .. } => {
                if let Some((element, _)) = self.element(step) {
                    element.is_sent = true;
                }
            }
            _ => {}
        }
    }

    /// Returns the counts, in the order in which the steps started.
    pub(super) fn records(self) -> Vec<BatchRecord> {
        self.0.into_iter().map(|(list, elements)| BatchRecord::from_elements(&list, &elements)).collect()
    }

    /// Returns the element that contains a step or is the step, and the step's path below it.
    fn element<'p>(&mut self, step: &'p StepPath) -> Option<(&mut ElementState, &'p str)> {
        let (list, place, below) = step_path::outermost_element(step)?;
        let (_, elements) = self.0.iter_mut().find(|(known, _)| &**known == list)?;
        Some((elements.get_mut(place)?, below))
    }
}

impl ElementState {
    fn from_item(item: &SharedValue) -> ElementState {
        ElementState { item: item.clone(), ..ElementState::default() }
    }

    /// Applies a failure of the element or of a step in it. The first failed step is the cause.
    fn fails(&mut self, step: &StepPath, failure: &Failure, is_whole: bool) {
        if self.failed_at.is_empty() {
            step.as_ref().clone_into(&mut self.failed_at);
        }
        if is_whole {
            failure.kind.word().clone_into(&mut self.kind);
            self.message.clone_from(&failure.message);
        }
    }

    fn is_open(&self) -> bool {
        match self.status {
            StepStatus::Succeeded | StepStatus::Skipped => false,
            StepStatus::Pending
            | StepStatus::Running
            | StepStatus::Waiting
            | StepStatus::Failed
            | StepStatus::Blocked
            | StepStatus::Cancelled => true,
        }
    }

    fn opened(&self, list: &str, place: usize) -> OpenElement {
        OpenElement {
            step: step_path::element(list, place),
            item: (*self.item).clone(),
            status: self.status,
            kind: self.kind.clone(),
            at: self.failed_at.clone(),
            message: self.message.clone(),
        }
    }
}

impl BatchRecord {
    fn from_elements(step: &str, elements: &[ElementState]) -> BatchRecord {
        let count = |is: &dyn Fn(&ElementState) -> bool| elements.iter().filter(|element| is(element)).count() as u64;
        let mut kinds: HashMap<&str, u64> = HashMap::new();
        elements.iter().filter(|one| one.status == StepStatus::Failed).for_each(|one| *kinds.entry(&one.kind).or_default() += 1);
        let mut failed: Vec<FailedElements> =
            kinds.into_iter().map(|(kind, count)| FailedElements { kind: kind.to_owned(), count }).collect();
        failed.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kind.cmp(&b.kind)));
        let places = elements.iter().enumerate().filter(|(_, one)| one.is_open());
        let mut open: Vec<OpenElement> = places.map(|(place, one)| one.opened(step, place)).collect();
        open.sort_by_key(|one| one.status != StepStatus::Failed);
        BatchRecord {
            step: step.to_owned(),
            elements: elements.len() as u64,
            succeeded: count(&|one| one.status == StepStatus::Succeeded),
            kept: count(&|one| one.is_kept),
            sent: count(&|one| one.is_sent && one.status == StepStatus::Succeeded),
            sent_in_vain: count(&|one| one.is_sent && one.status != StepStatus::Succeeded),
            failed,
            skipped: count(&|one| one.status == StepStatus::Skipped),
            unfinished: count(&|one| one.is_open() && one.status != StepStatus::Failed),
            open,
        }
    }

    /// Counts runs of one step of the file: its elements, or its rounds.
    pub fn of_steps<'a>(step: &str, runs: impl IntoIterator<Item = &'a StepRecord>) -> BatchRecord {
        let of = |run: &StepRecord| ElementState {
            status: run.status.parse().unwrap_or_default(),
            kind: run.error.as_ref().and_then(|error| error["kind"].as_str()).unwrap_or_default().to_owned(),
            ..ElementState::default()
        };
        BatchRecord { open: vec![], ..BatchRecord::from_elements(step, &runs.into_iter().map(of).collect::<Vec<_>>()) }
    }

    /// Returns how many failed.
    pub fn failures(&self) -> u64 {
        self.failed.iter().map(|one| one.count).sum()
    }

    /// Returns text such as `87 of 100 sent, 13 failed: 11 unknown_outcome, 2 not met`.
    pub fn words(&self) -> String {
        let is_all_sent = self.succeeded > 0 && self.sent == self.succeeded;
        let mut words =
            format!("{} of {} {}", grouped(self.succeeded), grouped(self.elements), if is_all_sent { "sent" } else { "succeeded" });
        if self.kept > 0 {
            words.push_str(&format!(" ({} in an earlier run)", grouped(self.kept)));
        }
        match self.failed.as_slice() {
            [] => {}
            [alone] => words.push_str(&format!(", {} failed: {}", grouped(alone.count), reason(&alone.kind))),
            kinds => {
                let reasons: Vec<String> = kinds.iter().map(|one| format!("{} {}", grouped(one.count), reason(&one.kind))).collect();
                words.push_str(&format!(", {} failed: {}", grouped(self.failures()), reasons.join(", ")));
            }
        }
        let sent = if is_all_sent { 0 } else { self.sent };
        let others =
            [(self.skipped, "skipped"), (self.unfinished, "not finished"), (sent, "sent"), (self.sent_in_vain, "sent without success")];
        for (count, what) in others {
            if count > 0 {
                words.push_str(&format!(", {} {what}", grouped(count)));
            }
        }
        words
    }
}

/// Returns the name of a failure kind in a count: `not met` for a gate, the kind itself for all others.
pub fn reason(kind: &str) -> &str {
    if kind == FailureKind::Quality.word() { "not met" } else { kind }
}

/// Returns the count of a step of the pipeline's own list that has elements and has just ended; `None`: it has no elements.
pub(super) fn batch_that_ended(step: &str, events: &[Event]) -> Option<BatchRecord> {
    let begins = |event: &Event| match &event.happening {
        Happening::StepStarted { step: began, items, .. } if **began == *step => Some(items.is_some()),
        _ => None,
    };
    let (from, true) = events.iter().enumerate().rev().find_map(|(at, event)| Some((at, begins(event)?)))? else { return None };
    let mut so_far = BatchesSoFar::default();
    events[from..].iter().for_each(|event| so_far.take(event));
    so_far.records().into_iter().find(|batch| batch.step == step)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(happenings: Vec<Value>) -> Vec<BatchRecord> {
        let mut so_far = BatchesSoFar::default();
        for mut fields in happenings {
            for (key, value) in
                [("v", json!(1)), ("seq", json!(1)), ("time", json!("2026-01-01T00:00:00Z")), ("at_ms", json!(0)), ("run", json!("r"))]
            {
                fields[key] = value;
            }
            so_far.take(&serde_json::from_value(fields).unwrap());
        }
        so_far.records()
    }

    fn began(step: &str, items: usize) -> Value {
        json!({ "type": "step_started", "step": step, "attempt": 1, "round": 1, "items": vec![0; items] })
    }

    fn good(step: &str) -> Value {
        json!({ "type": "step_succeeded", "step": step, "output": null, "details": {} })
    }

    fn bad(step: &str, kind: &str) -> Value {
        json!({ "type": "step_failed", "step": step, "failure": { "kind": kind, "message": "m" }, "attempts": 1 })
    }

    fn sent(step: &str) -> Value {
        json!({ "type": "output_written", "step": step, "to": "hook", "part": 1, "id": "", "accepted": [], "rejected": [] })
    }

    #[test]
    fn the_most_frequent_reason_comes_first_and_a_gate_is_not_met() {
        let ends = vec![
            began("each", 6),
            sent("each[0]/out"),
            good("each[0]"),
            sent("each[1]/out"),
            good("each[1]"),
            bad("each[2]/check", "quality"),
            bad("each[2]", "quality"),
            bad("each[3]", "unknown_outcome"),
            bad("each[4]", "unknown_outcome"),
            bad("each[5]", "bad_request"),
            good("each"),
        ];
        let counted = of(ends);
        assert_eq!(counted[0].words(), "2 of 6 sent, 4 failed: 2 unknown_outcome, 1 bad_request, 1 not met");
        assert_eq!((counted.len(), counted[0].failures()), (1, 4));
        let open: Vec<(&str, &str, &str)> = counted[0].open.iter().map(|one| (&*one.step, &*one.kind, &*one.at)).collect();
        assert_eq!(open[..2], [("each[2]", "quality", "each[2]/check"), ("each[3]", "unknown_outcome", "each[3]")]);
    }

    #[test]
    fn elements_that_sent_nothing_or_sent_and_failed_are_told_apart() {
        let some = vec![began("each", 3), sent("each[0]"), good("each[0]"), good("each[1]"), sent("each[2]"), bad("each[2]", "timeout")];
        assert_eq!(of(some)[0].words(), "2 of 3 succeeded, 1 failed: timeout, 1 sent, 1 sent without success");
        let cut = vec![began("each", 4), good("each[0]"), json!({ "type": "step_skipped", "step": "each[1]" }), began("each[2]/inner", 2)];
        assert_eq!(of(cut)[0].words(), "1 of 4 succeeded, 1 skipped, 2 not finished");
    }

    #[test]
    fn a_list_that_begins_again_counts_once_and_lists_inside_it_do_not() {
        let again = vec![began("each", 2), bad("each[0]", "timeout"), began("each", 1_000), began("each[0]/in", 3), good("each[0]/in[0]")];
        assert_eq!(of(again).iter().map(BatchRecord::words).collect::<Vec<_>>(), ["0 of 1,000 succeeded, 1,000 not finished"]);
    }

    #[test]
    fn what_an_earlier_run_did_is_told() {
        let kept = json!({ "type": "step_succeeded", "step": "each[0]", "output": null, "details": { "kept": true, "sent": true } });
        assert_eq!(of(vec![began("each", 2), kept, sent("each[1]"), good("each[1]")])[0].words(), "2 of 2 sent (1 in an earlier run)");
    }
}
