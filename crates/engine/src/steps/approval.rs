//! `approval`: a question to a person. The run continues with their answer, in this process or a later one.

use serde_json::{Map, Value, json};

use super::Kind;
use super::decision::{StepDecision, Then};
use crate::Context;
use crate::event::{Failure, FailureKind, FormRequest, Happening};
use crate::gate::{form, questions};
use crate::model::{ApprovalStep, Step, StepKind};
use crate::parts::Rules;
use crate::parts::Steps;
use crate::state::NodeRef;
use crate::state::consents::ApprovalAnswer;
use crate::words::{duration, ms};

impl Kind for ApprovalStep {
    /// Asks the question; called again once somebody has answered.
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let path = context.path(at);
        if let Some(asked) = context.state.people.approvals.get(&path) {
            return asked.answer.as_ref().map_or(Ok(Then::Wait.into()), |answer| answered(&asked.form.fields, answer.clone()));
        }
        let (question, fields) = (context.fill_text(at, &self.question)?, context.rules().form_of(at, self)?);
        let show = self.show.as_ref().map(|show| context.filling(at, show)).transpose()?;
        let show = show.filter(|show| !show.is_null()).map(|show| match show {
            Value::String(text) => text,
            other => serde_json::to_string_pretty(&other).unwrap_or_default(),
        });
        let until_ms = step.timeout.map(|time| context.now.ms.saturating_add(ms(time)));
        let form = Some(Box::new(FormRequest { show, fields, until_ms, live: None }));
        Ok(Happening::ApprovalRequested { step: path, question, act: String::new(), form }.into())
    }
}

/// What follows from a person's answer to the form with these fields.
fn answered(fields: &Value, answer: ApprovalAnswer) -> Result<StepDecision, Failure> {
    let ApprovalAnswer { approved, fields: filled, comment, by, is_nobody } = answer;
    let rejected = |why: String| Ok(Then::Fail(Failure::new(FailureKind::Rejected, why), None).into());
    if is_nobody {
        return rejected(if comment.is_empty() { "nobody could be asked".to_owned() } else { comment });
    }
    if !approved {
        let who = if by.is_empty() { "a person" } else { &by };
        let why = if comment.is_empty() { String::new() } else { format!(": {comment}") };
        return rejected(format!("{who} said no{why}"));
    }
    let filled = filled.map(|filled| (*filled).clone()).unwrap_or_default();
    let mut output = json!({ "by": by, "comment": comment });
    if let Value::Object(output) = &mut output {
        output.extend(form::answered(fields, filled).map_err(misfit)?);
    }
    Ok(Then::Succeed(output, None).into())
}

fn misfit(problems: Vec<String>) -> Failure {
    Failure::new(FailureKind::BadShape, format!("the answer does not fit: {}", problems.join("; ")))
}

impl Rules<'_> {
    /// The form of the step, with its defaults filled in. Fails if a default does not fit its field, or if the value of `questions` is not a list of
    /// questions.
    fn form_of(&self, at: NodeRef, approval: &ApprovalStep) -> Result<Value, Failure> {
        if let Some(list) = &approval.questions {
            let fields = questions::fields_of(&self.fill(at, list)?).map_err(|why| Failure::new(FailureKind::BadShape, why))?;
            return Ok(form::form(&fields, &Map::new()));
        }
        let filled = approval.defaults.iter().map(|(name, value)| Ok((name.value.clone(), self.filling(at, value)?)));
        let filled: Map<String, Value> = filled.collect::<Result<_, Failure>>()?;
        let fields = form::form(approval.form(), &filled);
        for (name, value) in &filled {
            if let Some(why) = form::misfit(&fields, name, value) {
                return Err(Failure::new(FailureKind::BadShape, format!("the default of field \"{name}\" does not fit: {why}")));
            }
        }
        Ok(fields)
    }
}

impl Context {
    /// The problems of the fields that a person filled in for a step; empty if they are a valid answer.
    pub fn form_problems(&self, step: &str, fields: Option<&Value>) -> Vec<String> {
        let Some(asked) = self.state.people.approvals.get(step) else { return vec![] };
        form::answered(&asked.form.fields, fields.cloned().unwrap_or_default()).err().unwrap_or_default()
    }
}

impl Steps<'_> {
    /// Ends a step when the time for an answer is up. That counts as a no, unless `on_timeout` names a step that replaces the answer.
    pub(crate) fn nobody_answered(&mut self, at: NodeRef) {
        self.is_paused = false;
        let step = self.step(at);
        let stands_in = matches!(&step.kind, StepKind::Approval(ApprovalStep { on_timeout: Some(_), .. }));
        let kind = if stands_in { FailureKind::Timeout } else { FailureKind::Rejected };
        let within = duration(step.timeout.unwrap_or_default());
        self.fail(at, Failure::new(kind, format!("nobody answered within {within}")), None);
    }

    /// The mock of a step is its result; for an approval it is the answer, as a person would enter it.
    pub(super) fn give_mock(&mut self, at: NodeRef, step: &Step, mock: Value, recorded: Option<Value>) {
        let is_loop = step.kind.repeat().is_some() && (step.for_each.is_none() || self.state.steps.is_element(at));
        let mocked = || if is_loop { json!({ "mocked": true, "rounds": 1, "met": true }) } else { json!({ "mocked": true }) };
        let details = Some(recorded.unwrap_or_else(mocked));
        let StepKind::Approval(approval) = &step.kind else { return self.give(at, mock, details) };
        if step.for_each.is_some() && !self.state.steps.is_element(at) {
            return self.give(at, mock, details);
        }
        let answered = self.rules().form_of(at, approval).and_then(|fields| form::with_own_fields(&fields, mock).map_err(misfit));
        match answered {
            Ok(output) => self.succeed(at, output, details),
            Err(failure) => self.fail_attempt(at, failure),
        }
    }
}
