//! What is done with the text of every answer, whatever its wire format: thoughts and control marks are left out of it, tool calls that stand in it are
//! taken out, and what the endpoint wants back is kept.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::draft::{DraftAnswer, bad};
use super::{AnswerFault, in_words, state};
use crate::http::read_json;
use crate::model::ToolCalls;
use crate::port::{ModelReply, ModelRequest, ToolCall, ToolDescription};
use crate::said::{
    AnswerText, ThoughtsError, ThoughtsPlace, WrittenCall, WrittenCalls, answer_text, arguments_in, unfenced, written_calls,
};

/// What an author can do about calls that a server does not recognise.
const ADVICE: &str = "start the server of this model with the tool parser that fits it, or set tool_calls: schema";
/// What an author can do about thoughts that a server passes on as text.
const THOUGHTS_ADVICE: &str = "start the server of this model with the reasoning parser that fits it";
const CALLS_NOTE: &str = "tool calls that stood in its text were made";
const THOUGHTS_ALONE: &str = "sent thoughts and no answer; allow more max_output_tokens, or turn thinking off";
const MARKS_ALONE: &str = "sent control marks and no answer";

/// A reply, and whether the model began it with thoughts without saying so.
pub(super) struct Spoken {
    pub(super) reply: ModelReply,
    pub(super) thinks_first: bool,
}

/// The reply in an answer to a request.
pub(super) fn read(request: &ModelRequest, answered: DraftAnswer) -> Result<Spoken, AnswerFault> {
    let DraftAnswer { mut reply, state, announces_calls } = answered;
    let place = if state::has_thoughts(&state) { ThoughtsPlace::Apart } else { ThoughtsPlace::InText };
    let AnswerText { text, notes, calls, has_thoughts, begins_unmarked } = match answer_text(&reply.text, place) {
        Ok(said) => said,
        // Calls stand beside the text, so they are whole.
        Err(_) if !reply.calls.is_empty() => AnswerText::default(),
        Err(ThoughtsError::Unclosed) => return Err(bad(THOUGHTS_ALONE)),
        Err(error @ (ThoughtsError::EndTwice | ThoughtsError::Among | ThoughtsError::Spoken)) => {
            return Err(bad(format!("sent a text whose answer is not certain: {error}; {THOUGHTS_ADVICE}")));
        }
    };
    reply.text = text;
    reply.notes = notes.into_iter().map(str::to_owned).collect();
    if request.tool_calls == ToolCalls::Schema && !request.tools.is_empty() {
        reply = in_words::read(request, reply)?;
    } else if reply.calls.is_empty() && !request.tools.is_empty() {
        take_calls(request, &mut reply, calls)?;
    }
    if announces_calls && reply.calls.is_empty() {
        return Err(bad("ended with tool calls but sent none"));
    }
    if reply.text.is_empty() && reply.calls.is_empty() && !reply.notes.is_empty() {
        return Err(bad(if has_thoughts { THOUGHTS_ALONE } else { MARKS_ALONE }));
    }
    state::keep(request, &mut reply, state)?;
    Ok(Spoken { reply, thinks_first: begins_unmarked })
}

/// Takes the tool calls out of the text. `named`: those that a format of its own told apart.
fn take_calls(request: &ModelRequest, reply: &mut ModelReply, named: Vec<(String, String)>) -> Result<(), AnswerFault> {
    let tools: Vec<(&str, &Value)> = request.tools.iter().map(|tool| (tool.name.as_str(), &tool.parameters)).collect();
    let is_answer = || {
        request.schema.as_ref().is_some_and(|schema| read_json(unfenced(&reply.text).as_bytes()).is_ok_and(|value| fits(schema, &value)))
    };
    let WrittenCalls { before, form, calls } = match written_calls(&reply.text, &tools) {
        _ if !named.is_empty() => {
            let call = |(tool, arguments): (String, String)| {
                Some(WrittenCall { tool, arguments: if arguments.is_empty() { json!({}) } else { arguments_in(&arguments)? } })
            };
            WrittenCalls { before: &reply.text, form: "commentary", calls: named.into_iter().map(call).collect() }
        }
        Some(found) if !is_answer() => found,
        Some(_) | None => return Ok(()),
    };
    let refused = |why: String| Err(bad(format!("wrote a tool call as text ({form}), and {why}; {ADVICE}")));
    let Some(calls) = calls else { return refused("it cannot be read".to_owned()) };
    let offered: HashMap<&str, &Arc<ToolDescription>> = request.tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
    for WrittenCall { tool, arguments } in calls {
        let Some(found) = offered.get(tool.as_str()) else { return refused(format!("there is no tool {tool:?}")) };
        if !fits(&found.parameters, &arguments) {
            return refused(format!("its arguments do not fit the schema of {tool:?}"));
        }
        reply.calls.push(ToolCall { id: String::new(), tool, arguments });
    }
    reply.text = before.to_owned();
    reply.notes.push(CALLS_NOTE.to_owned());
    Ok(())
}

/// Whether a value fits a schema. A schema that is none is no bound here; the engine checks arguments and answers again.
fn fits(schema: &Value, value: &Value) -> bool {
    let patterns = jsonschema::PatternOptions::regex();
    jsonschema::options().with_pattern_options(patterns).build(schema).map_or(true, |schema| schema.is_valid(value))
}
