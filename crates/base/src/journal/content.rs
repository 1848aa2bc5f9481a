//! Which fields of an event hold what people, models and tools said. All else is flow's own and its author's: ids, kinds, names. And events as
//! others may read them, without any of it.

use serde_json::Value;

use super::RunMask;
use crate::event::{Event, Happening};

/// How a field is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Values: everything in it.
    Values,
    /// The same, of the person or as inputs: what is marked is masked as a whole.
    Given,
    /// The output of a step, which may be marked.
    Output,
    /// Texts of people, models and tools beside names and ids that are no texts: verdicts, messages, a plan.
    Texts,
    /// A sentence, or a failure with one: events without content have it too.
    Sentence,
    /// A hash of what a step sends: who can guess that could confirm it, so it is left out.
    Hash,
}

/// The fields of an event that hold content, by their names in JSON.
pub(super) fn content(happening: &Happening) -> &'static [(&'static str, Holds)] {
    use Holds::{Given, Hash, Output, Sentence, Texts, Values};
    match happening {
        Happening::RunStarted(_) => &[("inputs", Given), ("person", Given), ("conversation", Texts), ("failure", Sentence)],
        Happening::StepStarted { .. } => &[("items", Values)],
        Happening::CacheAsked { .. } => &[("key", Hash)],
        Happening::CallOpened { .. } => &[("inputs", Given), ("person", Given)],
        Happening::AttemptFailed { .. } => &[("failure", Sentence)],
        Happening::StepSucceeded { .. } => &[("output", Output), ("details", Texts)],
        Happening::ResultKept { .. } => &[("item", Values), ("output", Output), ("details", Texts)],
        Happening::StepFailed { .. } => &[("failure", Sentence), ("details", Texts)],
        Happening::StepCancelled { .. } => &[("details", Texts)],
        Happening::PlanAccepted { .. } => &[("plan", Texts)],
        Happening::PlanRefused { .. } => &[("findings", Texts)],
        Happening::PlanChecked { .. } => &[("progress", Texts)],
        Happening::TableDescribed { .. } => &[("columns", Texts)],
        Happening::TaskTried { .. } => &[("artefact", Texts), ("result", Output), ("error", Sentence)],
        Happening::TaskExecuted { .. } => &[("result", Output), ("error", Sentence), ("printed", Texts)],
        Happening::TaskJudged { .. } => &[("verdicts", Texts)],
        Happening::DialogueTurned { .. } => &[("turn", Texts)],
        Happening::DialogueJudged { .. } | Happening::DialogueClosed { .. } => &[("reason", Sentence)],
        Happening::ModelCalled { .. } => &[("messages", Texts)],
        Happening::ModelReplied { .. } => &[("reply", Texts)],
        Happening::ToolCalled { .. } => &[("with", Values)],
        Happening::ToolReplied { .. } => &[("failure", Sentence), ("result", Output)],
        Happening::ToolsListed { .. } => &[("tools", Sentence), ("instructions", Sentence), ("absent", Sentence)],
        Happening::ServerNoted { .. } => &[("what", Sentence)],
        Happening::ServerAsked { .. } => &[("asks", Values)],
        Happening::PolicyDecided { .. } => &[("target", Sentence), ("by", Texts)],
        Happening::GatePassed { .. } => &[("verdicts", Texts)],
        Happening::GateFailed { .. } => &[("verdicts", Texts), ("question", Values), ("judged", Values), ("cause", Sentence)],
        Happening::RefinementStarted { .. } => &[("original", Values), ("failed", Texts), ("feedback", Texts)],
        Happening::StageStarted { .. } => &[("failure", Sentence)],
        Happening::LimitReached { .. } => &[("message", Sentence)],
        Happening::ApprovalRequested { .. } => &[("question", Texts), ("act", Hash), ("form", Values)],
        Happening::ApprovalAnswered { .. } => &[("comment", Texts), ("by", Texts), ("output", Values)],
        Happening::OutputWritten { .. } => &[("id", Sentence), ("text", Texts), ("accepted", Texts), ("rejected", Texts)],
        Happening::RunFinished(_) => &[("outputs", Given), ("failure", Sentence)],
        Happening::AnswerRead { .. }
        | Happening::StepPaused { .. }
        | Happening::StepSkipped { .. }
        | Happening::StepBlocked { .. }
        | Happening::CacheMissed { .. }
        | Happening::CaseChosen { .. }
        | Happening::StepsOpened { .. }
        | Happening::PlanEnded { .. }
        | Happening::ToolsAsked { .. }
        | Happening::CancelRequested { .. }
        | Happening::RunResumed { .. }
        | Happening::RunPaused
        | Happening::ReplyIgnored { .. }
        | Happening::OutcomeUnknown { .. }
        | Happening::GraceEnded => &[],
    }
}

/// Keys beside texts whose values are names and words of flow and its author: no texts.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 19] = [
    "agent", "call_id", "case", "columns", "depends_on", "hash", "id", "kind", "model", "name", "personal", "role", "run", "scorecard",
    "status", "step", "strategy", "tool", "use",
];

/// Keys beside texts that hold values: arguments of tools.
pub(super) const VALUES: [&str; 2] = ["arguments", "with"];

/// One event as a JSON object on one line; what is told of a failure is masked. Texts of people, models and tools are left out, or
/// `with_content`, masked. What names the event, its step and its author's things stays as it is.
pub fn public_line(event: &Event, mask: RunMask<'_>, with_content: bool) -> String {
    public_value(event, mask, with_content).to_string()
}

/// The same as a value.
pub fn public_value(event: &Event, mask: RunMask<'_>, with_content: bool) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    let Value::Object(fields) = &mut value else { return value };
    // What an endpoint wants back is for it alone.
    if let Some(Value::Object(said)) = fields.get_mut("reply").and_then(|reply| reply.get_mut("said")) {
        said.shift_remove("state");
    }
    for (name, holds) in content(&event.happening) {
        let Some(field) = fields.get_mut(*name) else { continue };
        // What earlier runs of the conversation know to be personal is for masking alone.
        if let ("conversation", Value::Object(conversation)) = (*name, &mut *field) {
            conversation.shift_remove("personal");
        }
        match (*name, holds) {
            (_, Holds::Hash) => {
                fields.remove(*name);
            }
            _ if with_content || *holds == Holds::Sentence => mask.mask().hide(event, name, *holds, field),
            ("details", _) => {
                if let Value::Object(details) = field {
                    for told in ["verdicts", "plan", "tries", "latest_failures", "unmet_criteria"] {
                        details.remove(told);
                    }
                }
                mask.mask().hide(event, name, *holds, field);
            }
            ("plan", _) => {
                if let Value::Object(plan) = field {
                    plan.remove("reasoning");
                    for step in plan.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
                        step.remove("with");
                        step.remove("prompt");
                    }
                }
            }
            ("conversation", _) => {
                let earlier = field["messages"].as_array().map_or(0, Vec::len);
                let older = field["older"].as_array().map_or(0, Vec::len);
                *field = serde_json::json!({ "earlier": earlier, "left_out": field["left_out"].as_u64().unwrap_or(0) });
                if older > 0 {
                    field["summed_up"] = older.into();
                }
            }
            ("failed", _) => field.as_array_mut().into_iter().flatten().for_each(|verdict| *verdict = verdict["id"].take()),
            _ => {
                fields.remove(*name);
            }
        }
    }
    value
}
