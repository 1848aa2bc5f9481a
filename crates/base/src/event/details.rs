//! Typed access to the details of a step. In events, records and templates they are an object that each kind of step fills differently;
//! only this module reads it.

use serde_json::Value;

/// The details of a step that has ended.
#[derive(Debug, Clone, Copy)]
pub struct StepDetails<'d>(&'d Value);

impl<'d> StepDetails<'d> {
    /// A view of them; an empty one of anything but an object.
    pub fn from_value(details: &'d Value) -> StepDetails<'d> {
        StepDetails(details)
    }

    /// Returns the duration in milliseconds.
    pub fn duration_ms(self) -> Option<u64> {
        self.0["duration_ms"].as_u64()
    }

    /// Returns the number of attempts.
    pub fn attempts(self) -> Option<u64> {
        self.0["attempts"].as_u64()
    }

    /// For a `for_each` that continues when elements fail: returns how many failed.
    pub fn failed(self) -> Option<u64> {
        self.0["failed"].as_u64()
    }

    /// For an element of a `for_each`, or a step in one: whether its result comes from an earlier run, which this one retries.
    pub fn is_kept(self) -> bool {
        self.0["kept"] == true
    }

    /// For an element with a result from an earlier run: whether it sent something.
    pub fn has_sent(self) -> bool {
        self.0["sent"] == true
    }

    /// For an element with a result from an earlier run: whether a step in it failed and was allowed to.
    pub fn allowed_failure(self) -> bool {
        self.0["allowed_failure"] == true
    }

    /// For an element with a result from an earlier run: whether a `format` step made its output.
    pub fn was_formatted(self) -> bool {
        self.0["formatted"] == true
    }

    /// Returns the model that answered.
    pub fn model(self) -> Option<&'d str> {
        self.0["model"].as_str()
    }

    /// For a gate: whether it passed; `Some(false)`: its `otherwise` value was used.
    pub fn passed(self) -> Option<bool> {
        self.0["passed"].as_bool()
    }

    /// For a gate: whether it judged the second round.
    pub fn is_refined(self) -> bool {
        self.0["refined"] == true
    }

    /// For a gate: returns each criterion and whether it was met; `None`: it was skipped.
    pub fn verdicts(self) -> impl Iterator<Item = (&'d str, Option<bool>)> {
        let met = |verdict: &Value| (verdict["skipped"] != true).then_some(verdict["passed"] == true);
        self.list("verdicts").filter_map(move |verdict| Some((verdict["id"].as_str()?, met(verdict))))
    }

    /// For a gate: returns the criteria that count as met only because their judge could not answer, with the feedback.
    pub fn unjudged(self) -> impl Iterator<Item = (&'d str, &'d str)> {
        let open = self.list("verdicts").filter(|verdict| verdict["needs_review"] == true);
        open.filter_map(|verdict| Some((verdict["id"].as_str()?, verdict["feedback"].as_str()?)))
    }

    /// For a route: returns the chosen case.
    pub fn case(self) -> Option<&'d str> {
        self.0["case"].as_str()
    }

    /// For a `repeat`: returns the number of rounds, and whether `until` was true in the end.
    pub fn rounds(self) -> Option<(u64, bool)> {
        Some((self.0["rounds"].as_u64()?, self.0["met"].as_bool()?))
    }

    /// For a `stop` step: returns its reason.
    pub fn reason(self) -> Option<&'d str> {
        self.0["reason"].as_str()
    }

    /// For a `read` step: returns the tables of the files.
    pub fn tables(self) -> impl Iterator<Item = &'d Value> {
        self.list("tables")
    }

    /// For code: returns the paths of the pictures that it made.
    pub fn files(self) -> impl Iterator<Item = &'d str> {
        self.list("files").filter_map(Value::as_str)
    }

    /// For a program: returns the sandbox that it ran in, or `none`.
    pub fn sandbox(self) -> Option<&'d str> {
        self.0["sandbox"].as_str()
    }

    /// For a query: whether there were more rows.
    pub fn is_cut(self) -> bool {
        self.0["cut"].as_bool().unwrap_or(false)
    }

    /// For a query: returns the columns whose values are personal.
    pub fn personal(self) -> impl Iterator<Item = &'d str> {
        self.list("personal").filter_map(Value::as_str)
    }

    fn list(self, name: &str) -> impl Iterator<Item = &'d Value> + use<'d> {
        self.0[name].as_array().into_iter().flatten()
    }
}
