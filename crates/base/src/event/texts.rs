//! Which fields of an event hold what people, models and tools said, which step an event is about, and what status it gives that: one table. All other fields are flow's own and
//! its author's: ids, kinds, names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    ConversationSoFar, Failure, FormRequest, Happening, Message, ModelAnswer, RejectedRecipient, ServerQuestion, ServerQuestions,
    ServerTool, SharedValue, StepFailure, StepPath, StepStatus, ToolCall, Verdict,
};
use crate::model::{DialogueTurn, PastMessage, WrittenArtefact, WrittenPlan, WrittenStep};

/// The content of a field of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextHolds {
    /// Values, all of which may be texts.
    Values,
    /// The inputs, the person or the outputs of a pipeline; some may be marked.
    Given,
    /// The output of a step, which may be marked.
    Output,
    /// Arguments, which a called pipeline may use as its inputs.
    Arguments,
    /// The answer of a model in a step, which may be marked.
    Reply,
    /// Texts of people, models and tools beside names and ids, which are not texts: verdicts, messages, a plan.
    Texts,
    /// A sentence, or a failure with one; also included in events without content.
    Sentence,
    /// A hash of what a step sends. It is not a text, but could confirm a guess of the content.
    Hash,
}

/// A text of an event, or a value that contains texts.
#[derive(Debug)]
pub enum TextMut<'t> {
    /// A text.
    Text(&'t mut String),
    /// The message of a failure, which may have been cut.
    Cut(&'t mut String),
    /// A value.
    Value(&'t mut Value),
    /// A shared value.
    Shared(&'t mut SharedValue),
}

/// A type that contains texts of people, models and tools.
pub trait HasTexts {
    /// Visits each of its texts in order.
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>));

    /// Visits the texts of a shared value.
    fn each_shared(shared: &mut Arc<Self>, visit: &mut dyn FnMut(TextMut<'_>))
    where
        Self: Clone,
    {
        Arc::make_mut(shared).each_text_mut(visit);
    }
}

/// The events of steps and of runs, each with the status that its step then has (`=>`) and its fields that hold such texts. Of a called pipeline, `step` is the step that calls it; if it is empty,
/// the event is about the run.
macro_rules! event_texts {
    (
        of_step { $($of_step:ident $(=> $status:ident)? { $($field:ident: $holds:ident),* })* }
        of_run { $($of_run:ident)* }
        boxed { $($boxed:ident { $($inner:ident: $inner_holds:ident),* })* }
    ) => {
        impl Happening {
            /// Returns the step that the event is about; `None` for events of the whole run.
            pub fn step(&self) -> Option<&StepPath> {
                match self {
                    $(Happening::$of_step { step, .. })|* => Some(step).filter(|step| !step.is_empty()),
                    $(Happening::$of_run { .. })|* $(| Happening::$boxed { .. })* => None,
                }
            }

            /// The step whose status it changes, and its status then.
            pub fn step_status(&self) -> Option<(&StepPath, StepStatus)> {
                let status: &[StepStatus] = match self {
                    $(Happening::$of_step { .. } => &[$(StepStatus::$status)?],)*
                    $(Happening::$of_run { .. })|* $(| Happening::$boxed { .. })* => &[],
                };
                self.step().zip(status.first().copied())
            }

            /// Its fields that hold what people, models and tools said, by their names in JSON.
            pub fn text_fields(&self) -> &'static [(&'static str, TextHolds)] {
                match self {
                    $(Happening::$of_step { .. } => &[$((stringify!($field), TextHolds::$holds)),*],)*
                    $(Happening::$boxed { .. } => &[$((stringify!($inner), TextHolds::$inner_holds)),*],)*
                    $(Happening::$of_run { .. })|* => &[],
                }
            }

            /// Visits each text in these fields.
            pub fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextHolds, TextMut<'_>)) {
                match self {
                    $(Happening::$of_step { $($field,)* .. } => {
                        $($field.each_text_mut(&mut |text| visit(TextHolds::$holds, text));)*
                    })*
                    $(Happening::$boxed(inner) => {
                        $(inner.$inner.each_text_mut(&mut |text| visit(TextHolds::$inner_holds, text));)*
                    })*
                    $(Happening::$of_run { .. })|* => {}
                }
            }
        }
    };
}

event_texts! {
    of_step {
        StepStarted => Running { items: Values }
        CallOpened { inputs: Given, person: Given }
        AttemptFailed { failure: Sentence }
        StepSucceeded => Succeeded { output: Output, details: Texts }
        StepFailed => Failed { failure: Sentence, details: Texts }
        ResultKept { item: Values, output: Output, details: Texts }
        StepCancelled => Cancelled { details: Texts }
        CacheAsked { key: Hash }
        PlanAccepted { plan: Texts }
        PlanRefused { findings: Texts }
        PlanChecked { progress: Texts }
        TableDescribed { columns: Texts }
        TaskTried { artefact: Texts, result: Output, error: Sentence }
        TaskExecuted { result: Output, error: Sentence, printed: Texts }
        TaskJudged { verdicts: Texts }
        DialogueTurned { turn: Texts }
        DialogueJudged { reason: Sentence }
        DialogueClosed { reason: Sentence }
        ModelCalled { messages: Texts }
        ModelReplied { reply: Reply }
        AnswerRead { notes: Sentence }
        ToolCalled { with: Arguments }
        ToolReplied { failure: Sentence, result: Output }
        ToolsListed { tools: Sentence, instructions: Sentence, absent: Sentence }
        ServerNoted { what: Sentence }
        ServerAsked { asks: Values }
        PolicyDecided { target: Sentence, by: Texts }
        GatePassed { verdicts: Texts }
        GateFailed { verdicts: Texts, question: Values, judged: Values, cause: Sentence }
        RefinementStarted { original: Values, failed: Texts, feedback: Texts }
        StageStarted { failure: Sentence }
        LimitReached { message: Sentence }
        ApprovalRequested { question: Texts, act: Hash, form: Values }
        ApprovalAnswered { comment: Texts, by: Texts, output: Values }
        OutputWritten { id: Sentence, text: Texts, accepted: Texts, rejected: Texts }
        StepSkipped => Skipped {}
        StepBlocked => Blocked {}
        StepPaused {} CacheMissed {} CaseChosen {} StepsOpened {} PlanEnded {} ToolsAsked {} OutcomeUnknown {}
    }
    of_run { CancelRequested GraceEnded RunResumed RunPaused ReplyIgnored }
    boxed {
        RunStarted { inputs: Given, person: Given, conversation: Texts, failure: Sentence }
        RunFinished { outputs: Given, failure: Sentence }
    }
}

/// Lists types with their fields that hold texts; all other fields follow `not`.
macro_rules! texts_in {
    ($($kind:ident { $($text:ident),* not $($other:ident),* })*) => {
        $(impl HasTexts for $kind {
            fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
                let $kind { $($text,)* $($other: _,)* } = self;
                $($text.each_text_mut(visit);)*
            }
        })*
    };
}

texts_in! {
    Verdict { description, expected, feedback, evidence not id, scorecard, passed, skipped, needs_review }
    Message { text, calls, failure not role, pictures, call_id, state }
    ToolCall { arguments not id, tool }
    FormRequest { show, fields not until_ms, live }
    RejectedRecipient { recipient, reason not }
    ServerQuestions { questions, state not live }
    ServerQuestion { message, fields, url not id }
    ServerTool { description, input, output not name, hash }
    StepFailure { failure not step }
    WrittenPlan { reasoning, steps not strategy }
    WrittenStep { with, prompt not id, uses, depends_on }
    WrittenArtefact {
        summary_of_previous_failures, thought, code, output_variables, reason_code_not_created not kind, is_malicious
    }
    DialogueTurn { text, attachments not number, from, to, policies }
    ConversationSoFar { of, message, messages, older, summary, agents, personal not left_out, older_until, store }
    PastMessage { text, content not role, agent, channel, person, time }
}

impl HasTexts for String {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        visit(TextMut::Text(self));
    }
}

impl HasTexts for Failure {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        visit(TextMut::Cut(&mut self.message));
    }
}

impl HasTexts for Value {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        visit(TextMut::Value(self));
    }

    fn each_shared(shared: &mut Arc<Value>, visit: &mut dyn FnMut(TextMut<'_>)) {
        visit(TextMut::Shared(shared));
    }
}

impl HasTexts for ModelAnswer {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        match self {
            ModelAnswer::Said { text, calls, notes, model: _, session: _, files: _, state: _ } => {
                text.each_text_mut(visit);
                calls.each_text_mut(visit);
                notes.each_text_mut(visit);
            }
            ModelAnswer::Failed(failure) => failure.each_text_mut(visit),
        }
    }
}

impl<T: HasTexts + Clone> HasTexts for Arc<T> {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        T::each_shared(self, visit);
    }
}

impl<T: HasTexts> HasTexts for Box<T> {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        (**self).each_text_mut(visit);
    }
}

impl<A: HasTexts, B: HasTexts> HasTexts for (A, B) {
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
        self.0.each_text_mut(visit);
        self.1.each_text_mut(visit);
    }
}

/// Implements [`HasTexts`] for lists by visiting each element.
macro_rules! texts_in_each {
    ($(($($kind:tt)*) $elements:ident;)*) => {
        $(impl $($kind)* {
            fn each_text_mut(&mut self, visit: &mut dyn FnMut(TextMut<'_>)) {
                self.$elements().for_each(|one| one.each_text_mut(visit));
            }
        })*
    };
}

texts_in_each! {
    (<T: HasTexts> HasTexts for Option<T>) iter_mut;
    (<T: HasTexts> HasTexts for Vec<T>) iter_mut;
    (<T: HasTexts> HasTexts for BTreeMap<String, T>) values_mut;
    (HasTexts for Map<String, Value>) values_mut;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_text_of_an_event_is_visited_and_no_name() {
        let verdict = json!({ "id": "name", "scorecard": "name", "description": "text", "expected": "text", "passed": false, "feedback": "text",
            "evidence": "text" });
        let failure = json!({ "kind": "timeout", "message": "text" });
        let call = json!({ "id": "name", "tool": "name", "arguments": { "name": "text" } });
        let plan = json!({ "strategy": "parallel", "reasoning": "text",
            "steps": [{ "id": "name", "use": "name", "with": { "name": "text" }, "prompt": "text", "depends_on": ["name"] }] });
        let turn = json!({ "number": 1, "from": "name", "to": "name", "text": "text", "attachments": ["text"], "policies": ["name"] });
        let artefact = json!({ "kind": "sql", "summary_of_previous_failures": "text", "thought": "text", "code": "text",
            "output_variables": ["text"], "reason_code_not_created": "text" });
        let message =
            json!({ "role": "user", "text": "text", "pictures": ["name"], "calls": [call], "call_id": "name", "failure": failure });
        let past = json!({ "role": "user", "text": "text", "agent": "name", "channel": "name", "content": "text" });
        let asks = json!({ "questions": [{ "id": "name", "message": "text", "fields": "text", "url": "text" }], "state": "text" });
        let usage = json!({ "input_tokens": 0, "output_tokens": 0 });
        for mut event in [
            json!({ "type": "run_started", "pipeline": "name", "hash": "name", "inputs": { "name": "text" }, "channel": "name",
                "person": { "name": "text" }, "now": "2026-01-01T00:00:00Z", "seed": 0, "failure": failure,
                "conversation": { "of": "text", "message": past, "messages": [past], "agents": { "name": [past] }, "personal": ["text"] } }),
            json!({ "type": "gate_failed", "round": 1, "verdicts": [verdict], "for_good": true, "question": "text", "judged": ["text"],
                "cause": "text" }),
            json!({ "type": "plan_accepted", "round": 1, "plan": plan }),
            json!({ "type": "table_described", "table": "name", "columns": [["text", "text"]] }),
            json!({ "type": "task_tried", "number": 1, "artefact": artefact, "result": "text", "error": "text" }),
            json!({ "type": "dialogue_turned", "turn": turn, "duration_ms": 1, "usage": usage }),
            json!({ "type": "model_called", "call": 1, "agent": "name", "model": "name", "purpose": "turn", "attempt": 1, "timeout_at_ms": 1,
                "messages": [message], "reserved_tokens": 0 }),
            json!({ "type": "model_replied", "call": 1, "duration_ms": 1, "usage": usage,
                "reply": { "said": { "text": "text", "calls": [call], "model": "name", "notes": ["text"] } } }),
            json!({ "type": "tools_listed", "call": 1, "server": "name", "version": "name", "hash": "name", "duration_ms": 1,
                "tools": [{ "name": "name", "description": "text", "input": "text", "output": "text", "hash": "name" }] }),
            json!({ "type": "server_asked", "call": 1, "tool": "name", "asks": asks }),
            json!({ "type": "approval_requested", "question": "text", "form": { "show": "text", "fields": { "name": "text" } } }),
            json!({ "type": "output_written", "to": "name", "part": 1, "id": "text", "text": "text", "accepted": ["text"],
                "rejected": [{ "recipient": "text", "reason": "text" }] }),
            json!({ "type": "run_finished", "status": "failed", "outputs": { "name": "text" }, "failure": { "step": "name", "kind": "timeout",
                "message": "text" }, "usage": usage }),
        ] {
            if !["run_started", "run_finished"].contains(&event["type"].as_str().unwrap()) {
                event["step"] = json!("name");
            }
            let mut happening: Happening = serde_json::from_value(event.clone()).unwrap();
            let mut seen = 0;
            let happening_fields = happening.text_fields();
            let count = |text: &str| text.matches("\"text\"").count() - text.matches("\"text\":").count();
            happening.each_text_mut(&mut |holds, text| {
                assert!(happening_fields.iter().any(|(_, of)| *of == holds), "{event}");
                seen += match text {
                    TextMut::Text(text) | TextMut::Cut(text) => count(&format!("\"{text}\"")),
                    TextMut::Value(value) => count(&value.to_string()),
                    TextMut::Shared(value) => count(&value.to_string()),
                }
            });
            assert_eq!(seen, count(&event.to_string()), "{event}");
        }
    }
}
