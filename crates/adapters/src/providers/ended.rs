//! How answers end: the words with which endpoints say so, and the errors that they send in place of an answer or in the middle of it.

use serde_json::Value;

use super::AnswerFault;
use super::draft::{bad, cut_at_limit, foreign};
use crate::http::{error_sentence, status_class};
use crate::model::FailureKind;

/// What a whole answer ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// Its text.
    Said,
    /// Tool calls.
    Calls,
}

/// How an answer ended, in the word of its endpoint. Servers pass on the words of what they run, so each wire format knows all of them.
pub(super) fn answer_end(reason: &str) -> Result<AnswerEnd, AnswerFault> {
    let word = reason.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    match word.strip_prefix("finish_reason_").unwrap_or(&word) {
        "stop" | "stop_sequence" | "stop_token" | "stopped" | "stopping" | "eos" | "eos_token" | "eos_token_id" | "end" | "end_turn"
        | "end_of_turn" | "endoftext" | "complete" | "completed" | "done" | "finish" | "finished" | "success" => Ok(AnswerEnd::Said),
        "tool_calls" | "tool_call" | "tool_use" | "function_call" | "function_calls" => Ok(AnswerEnd::Calls),
        "length" | "max_tokens" | "max_output_tokens" | "max_new_tokens" | "max_length" | "model_length" | "token_limit" | "limit" => {
            Err(cut_at_limit())
        }
        "model_context_window_exceeded" | "context_length_exceeded" => {
            Err((FailureKind::Truncated, "cut the answer where the model's context was full".to_owned()))
        }
        "content_filter"
        | "content_filtered"
        | "safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "sensitive"
        | "guardrail_intervened"
        | "guardrails" => Err((FailureKind::Refused, "withheld the answer: content filter".to_owned())),
        "refusal" | "refused" => Err((FailureKind::Refused, "refused to answer".to_owned())),
        "error" | "network_error" | "insufficient_system_resource" | "abort" | "aborted" | "cancelled" | "timeout" => {
            Err((FailureKind::ServerError, format!("broke off its answer: {reason}")))
        }
        "malformed_function_call" | "unexpected_tool_call" => {
            Err(bad(format!("wrote a tool call that its server could not read: {reason}")))
        }
        _ => Err(foreign(format!("ended its answer for an unknown reason: {reason}"))),
    }
}

/// The error in an answer or a part of it, if there is one.
pub(super) fn error_in(value: &Value) -> Option<&Value> {
    let is_error = |error: &&Value| match error {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::Number(_) | Value::Array(_) => true,
    };
    let of_choice = || value.pointer("/choices/0/error").filter(is_error);
    let has_one = value.get("error").is_some_and(|error| is_error(&error)) || value.get("object").is_some_and(|object| object == "error");
    if has_one { Some(value) } else { of_choice() }
}

/// The fault of an error that came in place of an answer or in the middle of it, with the class that an answer with such a status would have.
pub(super) fn error_complaint(value: &Value, has_begun: bool) -> AnswerFault {
    let sentence = error_sentence(value).unwrap_or("no reason given");
    let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
    let keys = || [error, value].into_iter().flat_map(|place| ["code", "status", "status_code", "type"].map(|key| place.get(key)));
    let number = |key: &Value| key.as_u64().or_else(|| key.as_str()?.trim().parse().ok());
    let numbered = keys().flatten().filter_map(number).filter_map(|code| u16::try_from(code).ok()).find(|code| (400..=599).contains(code));
    let named = || keys().flatten().filter_map(Value::as_str).find_map(named_class);
    let kind = numbered.map(status_class).or_else(named).unwrap_or(FailureKind::ServerError);
    let what = if has_begun { "stopped its answer with an error" } else { "answered with an error" };
    (kind, format!("{what}: {sentence}"))
}

/// The failure kind of an error by its name, in the words of OpenAI, Anthropic, Google, and the servers that pass them on.
fn named_class(name: &str) -> Option<FailureKind> {
    let name = name.to_ascii_lowercase().replace(['_', '-', ' '], "");
    match name.strip_suffix("error").unwrap_or(&name) {
        "ratelimit" | "ratelimitexceeded" | "toomanyrequests" | "requests" | "tokens" | "resourceexhausted" | "insufficientquota" => {
            Some(FailureKind::RateLimited)
        }
        "overloaded" | "api" | "server" | "internalserver" | "internal" | "timeout" | "unavailable" | "serviceunavailable"
        | "deadlineexceeded" => Some(FailureKind::ServerError),
        "authentication" | "permission" | "permissiondenied" | "unauthenticated" | "unauthorized" | "forbidden" | "invalidapikey"
        | "billing" => Some(FailureKind::Auth),
        "invalidrequest"
        | "badrequest"
        | "notfound"
        | "modelnotfound"
        | "requesttoolarge"
        | "invalidargument"
        | "failedprecondition"
        | "unprocessableentity"
        | "contextlengthexceeded"
        | "contextwindowexceeded"
        | "exceedcontextsize"
        | "invalidprompt"
        | "validation" => Some(FailureKind::BadRequest),
        "contentfilter" | "contentpolicyviolation" => Some(FailureKind::Refused),
        _ => None,
    }
}
