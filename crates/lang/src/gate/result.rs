//! What a step gives, held to what it says it gives: its `output`, and what every step of its kind gives. The same for a result from
//! outside, for a mock in a test, and for the check of a mock before a test runs.

use serde_json::{Map, Value, json};

use super::form::mocked;
use super::reading::{self, Reading};
use super::schema_problems;
use super::shape::{accept_tasks, schema};
use crate::model::{
    Agent, Case, DialogueEnd, DialogueStep, FailureKind, FieldKind, GroupStep, Mock, OnFailure, OutputWord, Outputs, ProgramOutput,
    REDIRECTS, RepeatStep, Shape, Step, StepKind,
};
use crate::source::Spanned;

/// Told of what is no reply.
const WANTED_REPLY: &str = "an http step returns { status, headers, body }";

/// What a step's result is held to besides what the step itself says.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultContext<'a> {
    /// The agent it asks.
    pub agent: Option<&'a Agent>,
    /// The outputs of the pipeline it calls.
    pub called: Option<&'a Outputs>,
}

/// The result of a step: as it is read by the steps below.
///
/// # Errors
/// It does not fit; in sentences, all of them.
pub fn result(step: &Step, around: ResultContext, value: Value) -> Result<Value, Vec<String>> {
    match &step.kind {
        StepKind::Agent(asked) => Ok(answer(asked.output.as_ref().or(around.agent.and_then(|agent| agent.output.as_ref())), value)?.value),
        StepKind::Http(http) => reply(http.output.as_ref(), value),
        StepKind::Sql(sql) => rows(sql.one.is_some(), value),
        StepKind::Program(run) => printed(&run.gives, value),
        StepKind::Python(step) => variables(&step.run.returns, value),
        StepKind::Search(_) => pieces(value),
        StepKind::Tool(_) | StepKind::Call(_) => fitted(step.kind.facts().output, outputs(around.called, value)?),
        StepKind::Set(_) | StepKind::Read(_) | StepKind::Resource(_) | StepKind::Plan(_) | StepKind::Route(_) | StepKind::Format(_) => {
            Ok(value)
        }
        StepKind::Group(GroupStep { inner, .. }) | StepKind::Repeat(RepeatStep { inner, .. }) => members(inner, value),
        StepKind::Task(_) => task(value),
        StepKind::Dialogue(dialogue) => talked(dialogue, value),
        StepKind::Approval(approval) => mocked(approval, value),
        StepKind::Gate(_) | StepKind::Send(_) | StepKind::Wait(_) | StepKind::Stop(_) | StepKind::Broken => Ok(value),
    }
}

/// The outputs of the steps of a group or of a round, by their ids; one that was skipped is left out.
fn members(inner: &Case, value: Value) -> Result<Value, Vec<String>> {
    let Value::Object(outputs) = &value else { return Err(vec!["it returns an object: the outputs of its steps by their ids".to_owned()]) };
    let unknown = outputs.keys().filter(|name| inner.steps.iter().all(|step| step.id.value != **name));
    let problems: Vec<String> = unknown.map(|name| format!("no step inside is called \"{name}\"")).collect();
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

/// The mock of one element of a `for_each`, of the entry of the list for all: its output, or how it fails. Under `on_failure: continue` it may be
/// written as the list is read, `{ item, status, output, error }`.
pub fn of_element(step: &Step, entry: Value) -> Mock {
    let Value::Object(own) = &entry else { return Mock::Output(entry) };
    let kind = |value: Option<&Value>| value?.as_str()?.parse::<FailureKind>().ok();
    if let (1, Some(kind)) = (own.len(), kind(own.get("error"))) {
        return Mock::Error(kind);
    }
    let is_key = |key: &String| ["item", "status", "output", "error"].contains(&key.as_str());
    let status = own.get("status").and_then(Value::as_str).filter(|_| step.on_failure == OnFailure::Continue && own.keys().all(is_key));
    match status {
        Some("succeeded") => Mock::Output(own.get("output").cloned().unwrap_or_default()),
        Some("failed") => Mock::Error(kind(own.get("error").and_then(|error| error.get("kind"))).unwrap_or(FailureKind::Internal)),
        _ => Mock::Output(entry),
    }
}

/// The result of a whole `for_each`: a list of results of its step; under `on_failure: continue` each with its element and status.
///
/// # Errors
/// It does not fit.
pub fn results(step: &Step, around: ResultContext, value: Value) -> Result<Value, Vec<String>> {
    let Value::Array(list) = value else { return Err(vec!["a step with for_each returns a list".to_owned()]) };
    let one = |(place, value): (usize, Value)| {
        let fit = |value| result(step, around, value).map_err(|problems| problems.into_iter().map(|p| format!("{place}: {p}")).collect());
        match value {
            Value::Object(mut element) if step.on_failure == OnFailure::Continue => {
                let output = element.remove("output").unwrap_or_default();
                let output = if output.is_null() { output } else { fit(output)? };
                element.insert("output".to_owned(), output);
                Ok(Value::Object(element))
            }
            value => fit(value),
        }
    };
    list.into_iter().enumerate().map(one).collect()
}

/// An answer of an agent: text, or with a shape the object it is JSON of.
///
/// # Errors
/// It does not fit.
pub fn answer(shape: Option<&Shape>, value: Value) -> Result<Reading, Vec<String>> {
    let Some(shape) = shape else {
        let told = "an agent without output returns text";
        return if value.is_string() { Ok(Reading { value, notes: vec![] }) } else { Err(vec![told.to_owned()]) };
    };
    let schema = schema(shape);
    let Value::String(text) = value else {
        // A mock, which is held to what its author wrote.
        let mut value = value;
        accept_tasks(shape, &mut value);
        return Ok(Reading { value: fits(shape, value)?, notes: vec![] });
    };
    let mut read = reading::json_in(&text, &schema).map_err(|error| vec![error.to_string()])?;
    accept_tasks(shape, &mut read.value);
    read.fit(&schema);
    let Shape::Fields(fields) = shape else { return none(schema_problems(&schema, &read.value), read) };
    for field in fields {
        match (field.kind, read.value.get_mut(&field.name)) {
            (FieldKind::Scorecard, Some(card)) => reading::with_criteria(card, &mut read.notes),
            (FieldKind::Plan, Some(plan)) => reading::with_steps(plan, &mut read.notes),
            _ => {}
        }
    }
    none(schema_problems(&schema, &read.value), read)
}

/// What the outputs of a called pipeline are: one a name.
///
/// # Errors
/// A name is missing, or is none of them.
pub fn outputs(outputs: Option<&Outputs>, value: Value) -> Result<Value, Vec<String>> {
    let Some(Outputs::Named(named)) = outputs else { return Ok(value) };
    exactly(&named.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), value)
}

/// An object with these names.
fn exactly(names: &[&str], value: Value) -> Result<Value, Vec<String>> {
    let properties: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let wanted = json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false });
    none(schema_problems(&wanted, &value), value)
}

/// What a program printed, as its `output` says.
///
/// # Errors
/// It is not that.
pub fn printed(gives: &ProgramOutput, value: Value) -> Result<Value, Vec<String>> {
    let is_lines = |list: &Vec<Value>| list.iter().all(Value::is_string);
    match gives {
        ProgramOutput::Fields(shape) => fits(shape, value),
        ProgramOutput::Word(OutputWord::Text) if !value.is_string() => Err(vec!["a program with output: text returns text".to_owned()]),
        ProgramOutput::Word(OutputWord::Lines) if !value.as_array().is_some_and(is_lines) => {
            Err(vec!["a program with output: lines returns a list of texts".to_owned()])
        }
        ProgramOutput::Word(OutputWord::Text | OutputWord::Json | OutputWord::Lines) => Ok(value),
    }
}

/// What code gives: the names that it says, and no other.
///
/// # Errors
/// A name is missing, or is none of them.
pub fn variables(returns: &[Spanned<String>], value: Value) -> Result<Value, Vec<String>> {
    exactly(&returns.iter().map(|name| name.as_str()).collect::<Vec<_>>(), value)
}

/// What a search gives.
fn pieces(value: Value) -> Result<Value, Vec<String>> {
    let piece = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "file": { "type": "string" },
            "page": { "type": ["integer", "null"] },
            "heading": { "type": "string" },
            "score": { "type": "number" },
        },
        "required": ["text", "file"],
        "additionalProperties": false,
    });
    none(schema_problems(&json!({ "type": "array", "items": piece }), &value), value)
}

/// A result with the step's `output`; a text is read as JSON first.
fn fitted(output: Option<&Shape>, value: Value) -> Result<Value, Vec<String>> {
    match output {
        None => Ok(value),
        Some(output) => fits(output, read(value)?),
    }
}

/// What an `http` step gives. Redirects are not followed, and 400 and above are failures.
fn reply(output: Option<&Shape>, value: Value) -> Result<Value, Vec<String>> {
    let wrong = |told: &str| Err(vec![told.to_owned()]);
    let Value::Object(mut reply) = value else { return wrong(WANTED_REPLY) };
    let has_all = ["status", "headers", "body"].iter().all(|key| reply.contains_key(*key));
    if !has_all || reply.len() > 3 || !reply["headers"].is_object() {
        return wrong(WANTED_REPLY);
    }
    if !reply["status"].as_u64().is_some_and(|status| (200..400).contains(&status) && !REDIRECTS.contains(&status)) {
        return wrong("status must be a whole number from 200 to 399 and no redirect; a request that fails has an error, and no result");
    }
    let told = |problems: Vec<String>| problems.into_iter().map(|problem| format!("body: {problem}")).collect::<Vec<_>>();
    let body = fitted(output, reply["body"].take()).map_err(told)?;
    reply["body"] = body;
    Ok(Value::Object(reply))
}

/// What a query gives: rows, or the first.
fn rows(one: bool, value: Value) -> Result<Value, Vec<String>> {
    let (fits, wanted) = match &value {
        Value::Object(_) | Value::Null => (one, "a query returns a list of rows"),
        Value::Array(rows) => (!one && rows.iter().all(Value::is_object), "a query with one: true returns one row, or nothing"),
        _ => (false, "a query returns rows, each with its columns"),
    };
    if fits { Ok(value) } else { Err(vec![wanted.to_owned()]) }
}

/// What a dialogue gives. Of a mock the summary is enough.
fn talked(own: &DialogueStep, value: Value) -> Result<Value, Vec<String>> {
    let wanted = || vec!["a dialogue returns { ended, reason, summary, positions, turns }; ended is agreed, stalled or limit".to_owned()];
    let Value::Object(mut given) = value else { return Err(wanted()) };
    let mut positions: Map<String, Value> = own.agents.iter().map(|agent| (agent.value.clone(), json!(""))).collect();
    if let Some(told) = given.remove("positions") {
        let Value::Object(told) = told else { return Err(wanted()) };
        for (name, text) in told {
            match positions.get_mut(&name) {
                Some(place) if text.is_string() => *place = text,
                _ => return Err(wanted()),
            }
        }
    }
    let ended = given.remove("ended").unwrap_or(json!(DialogueEnd::Agreed.word()));
    let (reason, turns) = (given.remove("reason").unwrap_or(json!("")), given.remove("turns").unwrap_or(json!([])));
    let is_end = serde_json::from_value::<DialogueEnd>(ended.clone()).is_ok();
    match given.remove("summary") {
        Some(summary) if summary.is_string() && reason.is_string() && turns.is_array() && is_end && given.is_empty() => {
            Ok(json!({ "ended": ended, "reason": reason, "summary": summary, "positions": positions, "turns": turns }))
        }
        _ => Err(wanted()),
    }
}

/// What a task gives. Of a mock the result is enough.
fn task(value: Value) -> Result<Value, Vec<String>> {
    let wanted = || vec!["a task returns { result, artefact { thought, code, output_variables, is_malicious }, attempts }".to_owned()];
    let Value::Object(mut given) = value else { return Err(wanted()) };
    let mut artefact = json!({ "thought": "", "code": "", "output_variables": [], "is_malicious": false });
    match given.remove("artefact") {
        None => {}
        Some(Value::Object(own)) => {
            for (name, value) in own {
                match artefact.get_mut(&name) {
                    Some(place) if place.is_string() == value.is_string() && place.is_array() == value.is_array() => *place = value,
                    _ => return Err(wanted()),
                }
            }
        }
        Some(_) => return Err(wanted()),
    }
    let attempts = given.remove("attempts").unwrap_or(json!(1));
    match (given.remove("result"), attempts.as_u64()) {
        (Some(result), Some(1..)) if given.is_empty() => Ok(json!({ "result": result, "artefact": artefact, "attempts": attempts })),
        _ => Err(wanted()),
    }
}

fn read(value: Value) -> Result<Value, Vec<String>> {
    match value {
        Value::String(text) => reading::json_of_tool(&text).map_err(|error| vec![error.to_string()]),
        value => Ok(value),
    }
}

fn fits(shape: &Shape, value: Value) -> Result<Value, Vec<String>> {
    none(schema_problems(&schema(shape), &value), value)
}

fn none<T>(problems: Vec<String>, value: T) -> Result<T, Vec<String>> {
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}
