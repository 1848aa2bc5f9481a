//! Shows a `for_each` with many elements: failed elements first, one per line, and the counts of the others.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::Value;

use super::look::{Look, fit};
use crate::diagnostic::{counted, visible};
use crate::event::StepStatus;
use crate::journal::{BatchRecord, OpenElement, Record, SentRecord, StepRecord, reason};
use crate::model::step_path;

/// Maximum number of elements that are all shown; of longer lists only the failed ones are.
const MOST_LISTED: u64 = 10;
/// Maximum number of failed elements that are shown.
const MOST_FAILED: usize = 50;
/// Maximum length of an element's name, in characters.
const MOST_OF_ITEM: usize = 40;
/// Maximum length of a reason, in characters.
const MOST_OF_REASON: usize = 300;

/// The lists of a record with many elements.
pub(super) struct Batches<'a> {
    many: Vec<&'a BatchRecord>,
    /// Paths of the elements that failed or did not finish.
    open: HashSet<&'a str>,
}

impl<'a> Batches<'a> {
    /// Collects the long lists of a record; `is_whole`: none, because everything is shown.
    pub(super) fn from_record(record: &'a Record, is_whole: bool) -> Batches<'a> {
        let many: Vec<&BatchRecord> = record.batches.iter().filter(|batch| !is_whole && batch.elements > MOST_LISTED).collect();
        let open = many.iter().flat_map(|batch| &batch.open).map(|element| element.step.as_str()).collect();
        Batches { many, open }
    }

    /// Returns the count of a step with many elements.
    pub(super) fn count(&self, step: &str) -> Option<&'a BatchRecord> {
        self.many.iter().find(|batch| batch.step == step).copied()
    }

    /// Returns the lists with many elements.
    pub(super) fn many(&self) -> &[&'a BatchRecord] {
        &self.many
    }

    /// Whether a step is an element of such a list, or inside one.
    pub(super) fn holds(&self, step: &str) -> bool {
        step_path::outermost_element(step).is_some_and(|(list, ..)| self.count(list).is_some())
    }

    /// Whether a step is in an element that finished without a failure, and is therefore not listed.
    pub(super) fn went_well(&self, step: &str) -> bool {
        self.holds(step) && !self.open.contains(step.split('/').next().unwrap_or(step))
    }

    /// Returns the record without the details of succeeded elements, and without the steps of all elements.
    pub(super) fn shortened(&self, record: &Record) -> Record {
        let mut short = record.clone();
        short.steps.retain(|step| !self.holds(&step.step));
        short.sent.retain(|sent| !self.holds(&sent.step));
        short.decisions.retain(|decision| !self.went_well(&decision.step));
        short.interactions.retain(|call| !call.action.split_once(' ').is_some_and(|(_, step)| self.went_well(step)));
        short.failures.retain(|failure| !self.went_well(&failure.gate) || failure.counts());
        short
    }

    /// Returns what elements sent, grouped by equal messages: `87 × 1 part to hook (each/out)`.
    pub(super) fn sent<'r>(&self, record: &'r Record) -> Vec<(usize, &'r SentRecord)> {
        let mut groups = IndexMap::<_, (usize, &SentRecord)>::new();
        for (at, sent) in record.sent.iter().enumerate() {
            let is_alone = !self.holds(&sent.step) || !sent.rejected.is_empty() || !sent.texts.is_empty();
            let alike = (step_path::ids(&sent.step).collect::<Vec<_>>(), &*sent.to, sent.parts, is_alone.then_some(at));
            groups.entry(alike).or_insert((0, sent)).0 += 1;
        }
        groups.into_values().collect()
    }

    /// Returns the steps inside elements, each step of the file once, with a count of the results, in the order in which they started.
    pub(super) fn inside(&self, list: &str, record: &Record) -> Vec<BatchRecord> {
        let mut groups: IndexMap<Vec<&str>, Vec<&StepRecord>> = IndexMap::new();
        for step in &record.steps {
            let Some((of, _, below)) = step_path::outermost_element(&step.step).filter(|(_, _, below)| !below.is_empty()) else { continue };
            if of != list || below.contains(['/', '[']) {
                continue;
            }
            groups.entry(step_path::ids(&step.step).collect()).or_default().push(step);
        }
        groups.into_iter().map(|(ids, runs)| BatchRecord::of_steps(&ids.join("/"), runs)).collect()
    }

    /// Formats the elements that failed or did not finish, one per line.
    pub(super) fn failed(&self, record: &Record, look: Look, reach: &str) -> String {
        let mut out = String::new();
        for batch in self.many.iter().filter(|batch| !batch.open.is_empty()) {
            out.push_str(&format!("\n{}: {}\n", visible(&batch.step), batch.words()));
            for element in batch.open.iter().take(MOST_FAILED) {
                out.push_str(&look.wrapped("  ", &line(element)));
            }
            if let Some(more) = batch.open.len().checked_sub(MOST_FAILED).filter(|more| *more > 0) {
                out.push_str(&format!("  and {}: flow runs show {} --verbose{reach}\n", counted(more, "more", "more"), record.run));
            }
        }
        if record.ended.is_some() && !out.is_empty() {
            out.push_str(&format!("to run these again: flow runs retry {}{reach}\n", record.run));
        }
        out
    }
}

/// Formats an element: `each[12] ticket-12  unknown_outcome at out: no answer within 30 s`.
fn line(element: &OpenElement) -> String {
    let name = item_name(&element.item).map(|name| format!(" {name}")).unwrap_or_default();
    format!("{}{name}  {}", visible(&element.step), why(element))
}

/// Returns why an element failed, in one line.
pub(super) fn why(element: &OpenElement) -> String {
    if element.status != StepStatus::Failed {
        return "not finished".to_owned();
    }
    let below = element.at.strip_prefix(element.step.as_str()).map(|below| below.trim_start_matches('/')).filter(|below| !below.is_empty());
    let at = below.map(|below| format!(" at {}", visible(below))).unwrap_or_default();
    let message = element.message.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}{at}: {}", reason(&element.kind), visible(&fit(&message, MOST_OF_REASON)))
}

/// Returns a short name of an element: a text or a number as it is; for an object its id, key or name.
pub(super) fn item_name(item: &Value) -> Option<String> {
    let short = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then(|| visible(&fit(&text, MOST_OF_ITEM)).into_owned())
    };
    match item {
        Value::String(text) => short(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(map) => {
            let named = ["id", "key", "name", "number", "item"].iter().find_map(|key| map.get(*key).and_then(item_name));
            named.or_else(|| map.values().find(|value| !value.is_object() && !value.is_array()).and_then(item_name))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_element_is_named_by_its_id_key_or_name() {
        let name = |item: Value| item_name(&item).unwrap_or_default();
        assert_eq!(name(json!({ "subject": "Broken", "id": 17 })), "17");
        assert_eq!(name(json!({ "item": { "name": "Ana\u{1b}[2J" }, "status": "succeeded" })), "Ana\\x1B[2J");
        assert_eq!(name(json!("a\nb ".repeat(40))).chars().count(), MOST_OF_ITEM);
        assert_eq!((name(json!({ "zip": "01067" })), name(json!([1]))), ("01067".into(), String::new()));
    }
}
