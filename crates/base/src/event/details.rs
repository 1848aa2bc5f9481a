//! What the details of a step say. In events, records and templates they are an object that each kind of step fills in its own way; here alone it is
//! read.

use serde_json::Value;

/// The details of a step that has ended.
#[derive(Debug, Clone, Copy)]
pub struct StepDetails<'d>(&'d Value);

impl<'d> StepDetails<'d> {
    /// A view of them; an empty one of anything but an object.
    pub fn of(details: &'d Value) -> StepDetails<'d> {
        StepDetails(details)
    }

    /// How long it took, in milliseconds.
    pub fn duration_ms(self) -> Option<u64> {
        self.0["duration_ms"].as_u64()
    }

    /// Tries of its call.
    pub fn attempts(self) -> Option<u64> {
        self.0["attempts"].as_u64()
    }

    /// Of a `for_each` that continues where elements fail: how many did.
    pub fn failed(self) -> Option<u64> {
        self.0["failed"].as_u64()
    }

    /// Of an element of a `for_each`, or a step in one: whether an earlier run did it, which this one retries.
    pub fn is_kept(self) -> bool {
        self.0["kept"] == true
    }

    /// Of an element that an earlier run did: whether it sent something.
    pub fn has_sent(self) -> bool {
        self.0["sent"] == true
    }

    /// Of an element that an earlier run did: whether a step in it failed and was allowed to.
    pub fn allowed_failure(self) -> bool {
        self.0["allowed_failure"] == true
    }

    /// Of an element that an earlier run did: whether a `format` step made its output.
    pub fn was_formatted(self) -> bool {
        self.0["formatted"] == true
    }

    /// The model that answered.
    pub fn model(self) -> Option<&'d str> {
        self.0["model"].as_str()
    }

    /// Of a gate: whether its value was met; `Some(false)`: `otherwise` took its place.
    pub fn passed(self) -> Option<bool> {
        self.0["passed"].as_bool()
    }

    /// Of a gate: whether it judged the second round.
    pub fn is_refined(self) -> bool {
        self.0["refined"] == true
    }

    /// Of a gate: each criterion, and whether it was met; `None`: it was skipped.
    pub fn verdicts(self) -> impl Iterator<Item = (&'d str, Option<bool>)> {
        let met = |verdict: &Value| (verdict["skipped"] != true).then_some(verdict["passed"] == true);
        self.list("verdicts").filter_map(move |verdict| Some((verdict["id"].as_str()?, met(verdict))))
    }

    /// Of a gate: the criteria that count as met only because their judge could not answer, and what was told of that.
    pub fn unjudged(self) -> impl Iterator<Item = (&'d str, &'d str)> {
        let open = self.list("verdicts").filter(|verdict| verdict["needs_review"] == true);
        open.filter_map(|verdict| Some((verdict["id"].as_str()?, verdict["feedback"].as_str()?)))
    }

    /// Of a route: the case it took.
    pub fn case(self) -> Option<&'d str> {
        self.0["case"].as_str()
    }

    /// Of a `repeat`: its rounds, and whether its `until` was true in the end.
    pub fn rounds(self) -> Option<(u64, bool)> {
        Some((self.0["rounds"].as_u64()?, self.0["met"].as_bool()?))
    }

    /// Of a `stop` step: what it told.
    pub fn reason(self) -> Option<&'d str> {
        self.0["reason"].as_str()
    }

    /// Of a `read` step: the tables that the files brought.
    pub fn tables(self) -> impl Iterator<Item = &'d Value> {
        self.list("tables")
    }

    /// Of code: the pictures that it made, by their paths.
    pub fn files(self) -> impl Iterator<Item = &'d str> {
        self.list("files").filter_map(Value::as_str)
    }

    /// Of a program: the sandbox that it ran in, or `none`.
    pub fn sandbox(self) -> Option<&'d str> {
        self.0["sandbox"].as_str()
    }

    /// Of a query: whether there were more rows.
    pub fn is_cut(self) -> bool {
        self.0["cut"].as_bool().unwrap_or(false)
    }

    /// Of a query: the columns whose values are personal.
    pub fn personal(self) -> impl Iterator<Item = &'d str> {
        self.list("personal").filter_map(Value::as_str)
    }

    fn list(self, name: &str) -> impl Iterator<Item = &'d Value> + use<'d> {
        self.0[name].as_array().into_iter().flatten()
    }
}
