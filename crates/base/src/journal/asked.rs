//! Questions to people in a run, and their answers.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, FormRequest, Happening, StepPath};

/// A question that a person must answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// The step.
    pub step: String,
    /// Identifies the question among those of its step: the number of the event that asked it.
    #[serde(default)]
    pub number: u64,
    /// It is not the first question of the step, so an answer must name the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_later: bool,
    /// The text of the question.
    pub question: String,
    /// Text that a form shows beside the question: a draft, or the request of an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
    /// The question is about a step that had started and may have acted. If false, it is about a call that was not made yet, or a form.
    pub in_doubt: bool,
    /// For an `approval` step: the names of the fields of its form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Vec<String>>,
    /// When the time to answer ends; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
    /// A server asks during a call, which ends with the process: only this process can take the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_live: bool,
}

/// An answer of a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The step.
    pub step: String,
    /// The question.
    pub question: String,
    /// Text that the form showed beside the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
    /// Yes; also true for a step in doubt that the person says has already happened.
    pub approved: bool,
    /// The filled-in fields with defaults; for a step in doubt that has happened, its output.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub fields: Value,
    /// The person's comment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// Who answered; empty: unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Nobody answered, which counts as a no; `comment` gives the reason, unless nobody could be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nobody: bool,
    /// When the answer was given.
    pub time: DateTime<Utc>,
}

impl AnswerRecord {
    /// Returns the answer in a word or two.
    pub fn word(&self) -> &'static str {
        match (self.approved, self.nobody) {
            (true, _) => "yes",
            (false, false) => "no",
            (false, true) => "no answer",
        }
    }
}

/// Returns when the time to answer a question ends. `None`: it has no time limit, or the event is not a question with a form.
pub fn answer_until(asked: &Event) -> Option<DateTime<Utc>> {
    let Happening::ApprovalRequested { form: Some(form), .. } = &asked.happening else { return None };
    let left = i64::try_from(form.until_ms?.saturating_sub(asked.at_ms)).unwrap_or(i64::MAX);
    asked.time.checked_add_signed(TimeDelta::try_milliseconds(left)?)
}

/// Returns whether the run is being cancelled after this event, given whether it was before.
pub fn is_ending_after(event: &Event, before: bool) -> bool {
    match event.happening {
        Happening::CancelRequested { .. } => true,
        Happening::RunResumed { .. } => false,
        _ => before,
    }
}

/// Whether an event closes an open question of a step. `is_call`: it is about a call not made yet; `is_ending`: see [`is_ending_after`].
pub fn ends_question(event: &Event, of: &str, is_call: bool, is_ending: bool) -> bool {
    match &event.happening {
        // Questions that a request to end the run cancels are asked again when the run resumes.
        Happening::StepCancelled { step, .. } => !is_ending && **step == *of,
        Happening::ApprovalRequested { step, .. }
        | Happening::ApprovalAnswered { step, .. }
        | Happening::StepFailed { step, .. }
        | Happening::StepSucceeded { step, .. } => **step == *of,
        // The next attempt asks again about its calls.
        Happening::AttemptFailed { step, .. } => is_call && **step == *of,
        _ => false,
    }
}

/// Questions asked so far.
#[derive(Default)]
pub(super) struct AskedQuestions {
    /// The last question of each step, with its form.
    last: HashMap<StepPath, (String, Option<FormRequest>)>,
    is_ending: bool,
}

impl AskedQuestions {
    /// Updates both lists of a record with an event.
    pub(super) fn take(&mut self, open: &mut Vec<QuestionRecord>, answers: &mut Vec<AnswerRecord>, event: &Event) {
        self.is_ending = is_ending_after(event, self.is_ending);
        if let Happening::StepCancelled { step, .. } = &event.happening
            && !self.is_ending
        {
            let taken_back = open.iter().filter(|asked| asked.step == **step).map(|asked| AnswerRecord {
                step: asked.step.clone(),
                question: asked.question.clone(),
                show: asked.show.clone(),
                approved: false,
                fields: Value::Null,
                comment: "taken back, since no step could use the answer".to_owned(),
                by: String::new(),
                nobody: true,
                time: event.time,
            });
            answers.extend(taken_back);
        }
        open.retain(|asked| !ends_question(event, &asked.step, asked.form.is_none() && !asked.in_doubt, self.is_ending));
        match &event.happening {
            Happening::ApprovalRequested { step, question, act, form } => {
                let earlier = self.last.insert(step.clone(), (question.clone(), form.as_deref().cloned()));
                open.push(QuestionRecord {
                    step: step.to_string(),
                    number: event.seq,
                    is_later: earlier.is_some(),
                    question: question.clone(),
                    show: form.as_ref().and_then(|form| form.show.clone()),
                    in_doubt: act.is_empty() && form.is_none(),
                    form: form.as_ref().map(|form| form.names().map(str::to_owned).collect()),
                    until: answer_until(event),
                    is_live: form.as_ref().is_some_and(|form| form.live.is_some()),
                });
            }
            Happening::ApprovalAnswered { step, approved, output, comment, by, nobody } => {
                let (question, form) = self.last.get(step).cloned().unwrap_or_default();
                answers.push(AnswerRecord {
                    step: step.to_string(),
                    question,
                    show: form.as_ref().and_then(|form| form.show.clone()),
                    approved: *approved || output.is_some(),
                    fields: filled(output.as_deref(), form.as_ref().filter(|_| *approved)),
                    comment: comment.clone(),
                    by: by.clone(),
                    nobody: *nobody,
                    time: event.time,
                });
            }
            _ => {}
        }
    }
}

/// Returns the filled-in fields with the defaults of the form.
fn filled(output: Option<&Value>, form: Option<&FormRequest>) -> Value {
    let mut output = output.cloned().unwrap_or_default();
    let fields = form.and_then(|form| form.fields["properties"].as_object()).filter(|fields| !fields.is_empty());
    let Some(fields) = fields else { return output };
    if output.is_null() {
        output = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(output) = &mut output {
        for (name, default) in fields.iter().filter_map(|(name, rules)| Some((name, rules.get("default")?))) {
            output.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(seq: u64, mut fields: Value) -> Event {
        fields["v"] = json!(crate::event::VERSION);
        fields["seq"] = json!(seq);
        fields["time"] = json!("2026-01-01T00:00:00Z");
        fields["at_ms"] = json!(5_000);
        fields["run"] = json!("r");
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn a_question_is_open_until_it_is_answered_and_then_its_answer_is_told() {
        let fields = json!({ "type": "object", "properties": { "n": { "default": 2 }, "t": {}, "u": {} } });
        let form = json!({ "fields": fields, "until_ms": 65_000 });
        let asked = json!({ "type": "approval_requested", "step": "ask", "question": "Go?", "act": "", "form": form });
        let answered = json!({ "type": "approval_answered", "step": "ask", "approved": true, "output": { "t": "x" }, "comment": "Fine.", "by": "ana" });
        let (mut all, mut open, mut answers) = (AskedQuestions::default(), vec![], vec![]);
        all.take(&mut open, &mut answers, &event(1, asked.clone()));
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].until.map(|until| until.to_rfc3339()).as_deref(), Some("2026-01-01T00:01:00+00:00"));
        all.take(&mut open, &mut answers, &event(2, answered));
        assert!(open.is_empty());
        let AnswerRecord { step, question, approved, fields, comment, by, .. } = &answers[0];
        assert_eq!((step.as_str(), question.as_str(), *approved, comment.as_str(), by.as_str()), ("ask", "Go?", true, "Fine.", "ana"));
        assert_eq!(*fields, json!({ "t": "x", "n": 2 }));
        // A question whose time ended is no longer open.
        all.take(&mut open, &mut answers, &event(3, asked));
        let failed = json!({ "type": "step_failed", "step": "ask", "failure": { "kind": "rejected", "message": "nobody" }, "attempts": 1 });
        all.take(&mut open, &mut answers, &event(4, failed));
        assert!(open.is_empty() && answers.len() == 1);
    }
}
