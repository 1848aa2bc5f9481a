//! The inputs of a run, checked against the pipeline's rules before anything starts.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::diagnostic::{did_you_mean, did_you_mean_zone};
use crate::model::{Field, FieldKind, Filling, MessageRole, PastMessage, PersonSource, Pipeline, PlainMoment, QUERY_TIMEOUT, Shape};
use crate::port::{QueryRequest, TableSource};
use crate::shape;
use crate::template::{self, FillError, Scope};

/// The JSON Schema of a pipeline's inputs; [`check_inputs`] checks inputs against it.
pub fn inputs_schema(pipeline: &Pipeline) -> Value {
    let Shape::Fields(fields) = &pipeline.inputs else { return shape::schema(&pipeline.inputs) };
    let mut schema = shape::object_schema(fields);
    for field in fields {
        let Some(Value::Object(of_field)) = schema.pointer_mut("/properties").and_then(|all| all.get_mut(&field.name)) else { continue };
        of_field.extend(pipeline.default_of(field).map(|default| ("default".to_owned(), default)));
        of_field.extend(field.example.clone().map(|example| ("examples".to_owned(), Value::Array(vec![example]))));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !fields.iter().any(|field| *name == field.name && field.default.is_some()));
    }
    schema
}

/// Checks inputs and fills in defaults. Only declared inputs are allowed. Returns the problems as sentences; none contains the value of a `pii`
/// input.
pub fn check_inputs(pipeline: &Pipeline, given: Map<String, Value>) -> Result<Map<String, Value>, Vec<String>> {
    let fields = match &pipeline.inputs {
        Shape::Schema(schema) => {
            let given = Value::Object(given);
            let problems = shape::problems(schema, &given);
            return match given {
                Value::Object(given) if problems.is_empty() => Ok(given),
                _ => Err(problems),
            };
        }
        Shape::Fields(fields) => fields,
    };
    let mut problems = vec![];
    let known: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    for name in given.keys().filter(|name| !known.contains(&name.as_str())) {
        let hint = did_you_mean(name, known.iter().copied());
        let has = if known.is_empty() { "it has no inputs".to_string() } else { format!("it has: {}", known.join(", ")) };
        problems.push(format!("\"{name}\" is not an input of this pipeline; {has}{hint}"));
    }
    let mut checked = Map::new();
    let mut missing = vec![];
    for field in fields {
        let Some(value) = given.get(&field.name).cloned().or_else(|| pipeline.default_of(field)) else {
            if field.is_required {
                let example = field.example.as_ref().map(|e| format!(", for example {e}")).unwrap_or_default();
                missing.push(format!("input \"{}\" is missing{example}", field.name));
            }
            checked.insert(field.name.clone(), Value::Null);
            continue;
        };
        // A default was checked against its field when the file was checked.
        let is_checked = !given.contains_key(&field.name) || field.default.as_ref() == Some(&value);
        let found = if is_checked { vec![] } else { shape::problems(&shape::field_schema(field), &with_zones(field, value.clone())) };
        if !found.is_empty() {
            let what = if field.is_pii { "does not satisfy its rules".to_string() } else { found.join("; ") };
            problems.push(format!("input \"{}\": {what}", field.name));
        }
        checked.insert(field.name.clone(), value);
    }
    missing.extend(problems);
    if missing.is_empty() { Ok(checked) } else { Err(missing) }
}

/// A value whose times have a zone, as the schema of a field wants them: without one, the run's is meant.
fn with_zones(field: &Field, value: Value) -> Value {
    match (field.kind, value) {
        (FieldKind::Datetime, Value::String(text)) => {
            let time = PlainMoment::parse(&text).map(|moment| moment.in_zone(chrono_tz::UTC).to_rfc3339());
            Value::String(time.unwrap_or(text))
        }
        (FieldKind::List, Value::Array(elements)) if let Some(items) = &field.items => {
            elements.into_iter().map(|element| with_zones(items, element)).collect()
        }
        (FieldKind::Object, Value::Object(mut fields)) => {
            for inner in &field.fields {
                if let Some(value) = fields.get_mut(&inner.name) {
                    *value = with_zones(inner, value.take());
                }
            }
            Value::Object(fields)
        }
        (_, value) => value,
    }
}

/// Where the fields of a run's person come from.
pub enum PersonFrom {
    /// They are known.
    Known(Map<String, Value>),
    /// They are in the row that this query returns. Without a row, there is no such person.
    Row {
        /// The id of the person.
        id: String,
        /// The name of the table, for messages.
        table: String,
        /// The query.
        query: QueryRequest,
    },
}

/// Why the person of a run could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum PersonTextError {
    #[error(transparent)]
    Fill(#[from] FillError),
    #[error("table \"{0}\" not found in data")]
    NoTable(String),
    #[error("a field of person must be a single text")]
    NotOneText,
}

/// Determines the person of a run from its inputs.
///
/// # Errors
/// Fails if a text of `person` cannot be filled in, or if its table does not exist.
pub fn person(pipeline: &Pipeline, inputs: &Map<String, Value>) -> Result<PersonFrom, PersonTextError> {
    let Some(person) = &pipeline.person else { return Ok(PersonFrom::Known(Map::new())) };
    let mut scope = Scope::new();
    scope.set("inputs", template::from_json(&Value::Object(inputs.clone())));
    let fill = |filling: &Filling| fill(filling, &scope);
    let id = match fill(&person.id)? {
        Value::String(id) => id,
        other => other.to_string(),
    };
    let mut known = Map::from_iter([("id".to_string(), Value::String(id.clone()))]);
    match &person.from {
        PersonSource::Nothing => {}
        PersonSource::Fields(fields) => {
            for (name, value) in fields {
                known.insert(name.value.clone(), fill(value)?);
            }
        }
        PersonSource::Table(name) => {
            let data = pipeline.data.get(&name.value).ok_or_else(|| PersonTextError::NoTable(name.value.clone()))?;
            let query = QueryRequest {
                engine: data.engine(),
                tables: vec![TableSource::find(&name.value, data)],
                query: format!("select * from \"{}\" where cast(id as text) = $id", name.value),
                with: [("id".to_string(), Value::from(id.as_str()))].into(),
                max_rows: 1,
                timeout: QUERY_TIMEOUT,
            };
            return Ok(PersonFrom::Row { id, table: name.value.clone(), query });
        }
    }
    Ok(PersonFrom::Known(person_fields(&known)))
}

/// The conversation that a run is part of, and the person's message in it.
pub struct RunMessage {
    /// The id of the conversation.
    pub conversation: String,
    /// The message as it is stored.
    pub said: PastMessage,
}

/// Why the conversation of a run could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum ConversationError {
    #[error("conversation.{0}: {1}")]
    Fill(&'static str, FillError),
    #[error("conversation.id is empty: it identifies whom the conversation is with")]
    NoId,
    #[error("conversation.id is longer than {MOST_ID} bytes")]
    LongId,
    #[error("conversation.message is not a text: name the input that has the person's message")]
    NoText,
}

/// The most bytes of a conversation's id.
const MOST_ID: usize = 1_000;

/// Determines the conversation of a run from its inputs and its person; `None` if the pipeline has no conversation.
///
/// # Errors
/// Fails if the id or the message cannot be filled in, or is not valid.
pub fn run_message(
    pipeline: &Pipeline,
    inputs: &Map<String, Value>,
    person: &Map<String, Value>,
    channel: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Option<RunMessage>, ConversationError> {
    let Some(own) = &pipeline.conversation else { return Ok(None) };
    let mut scope = Scope::new();
    scope.set("inputs", template::from_json(&Value::Object(inputs.clone())));
    scope.set("person", template::from_json(&Value::Object(person.clone())));
    let id = match &own.id {
        Filling::Constant(value) => value.clone(),
        other => other
            .filled(&|text| template::to_json(&template::compile(text)?.fill(&scope)?))
            .map_err(|error| ConversationError::Fill("id", error))?,
    };
    let conversation = match id {
        Value::String(id) => id.trim().to_owned(),
        Value::Number(id) => id.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
    };
    match conversation.len() {
        0 => return Err(ConversationError::NoId),
        1..=MOST_ID => {}
        _ => return Err(ConversationError::LongId),
    }
    let message = template::compile(&own.message).and_then(|compiled| template::to_json(&compiled.fill(&scope)?));
    let Value::String(text) = message.map_err(|error| ConversationError::Fill("message", error))? else {
        return Err(ConversationError::NoText);
    };
    Ok(Some(run_inputs(pipeline, inputs, person, channel, now, conversation, text)))
}

/// The message of a run in a conversation that the caller names. `message` is the input that contains it.
///
/// # Errors
/// Fails if the input is not a text.
pub fn named_message(
    pipeline: &Pipeline,
    inputs: &Map<String, Value>,
    person: &Map<String, Value>,
    channel: Option<&str>,
    now: DateTime<Utc>,
    (conversation, message): (&str, &str),
) -> Result<RunMessage, ConversationError> {
    let Some(Value::String(text)) = inputs.get(message) else { return Err(ConversationError::NoText) };
    Ok(run_inputs(pipeline, inputs, person, channel, now, conversation.to_owned(), text.clone()))
}

fn run_inputs(
    pipeline: &Pipeline,
    inputs: &Map<String, Value>,
    person: &Map<String, Value>,
    channel: Option<&str>,
    now: DateTime<Utc>,
    conversation: String,
    text: String,
) -> RunMessage {
    let files = pipeline.input_fields().iter().filter(|field| field.kind == FieldKind::File && !field.is_pii);
    let files: Map<String, Value> = files.filter_map(|field| Some((field.name.clone(), inputs.get(&field.name)?.clone()))).collect();
    let said = PastMessage {
        role: MessageRole::User,
        text,
        agent: None,
        channel: channel.map(str::to_owned),
        person: person.get("id").and_then(Value::as_str).map(str::to_owned),
        time: Some(now),
        content: (!files.is_empty()).then(|| json!({ "files": files })),
    };
    RunMessage { conversation, said }
}

/// The known fields of a person in a fixed order; missing ones are null.
pub fn person_fields(given: &Map<String, Value>) -> Map<String, Value> {
    let known = ["id", "name", "email", "phone", "language", "time_zone"];
    known.iter().map(|name| (name.to_string(), given.get(*name).cloned().unwrap_or(Value::Null))).collect()
}

/// The problem of a person's time zone as a sentence: in another zone, it may be another day. An empty zone is valid and means UTC.
pub fn zone_problem(person: &Map<String, Value>) -> Option<String> {
    let zone = person.get("time_zone").filter(|zone| !zone.is_null() && *zone != "")?;
    let named = zone.as_str().map_or_else(|| zone.to_string(), str::to_owned);
    if named.parse::<chrono_tz::Tz>().is_ok() {
        return None;
    }
    let hint = did_you_mean_zone(&named).or("; write one such as Europe/Berlin");
    Some(format!("person: unknown time zone \"{named}\"{hint}"))
}

fn fill(filling: &Filling, scope: &Scope) -> Result<Value, PersonTextError> {
    match filling {
        Filling::Constant(value) => Ok(value.clone()),
        Filling::Text(text) => Ok(template::to_json(&template::compile(text)?.fill(scope)?)?),
        Filling::List(_) | Filling::Map(_) => Err(PersonTextError::NotOneText),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Field;

    #[test]
    fn a_time_may_be_given_as_tables_have_it() {
        let items = Some(Box::new(Field::new("one", FieldKind::Datetime)));
        let list = Field { items, ..Field::new("all", FieldKind::List) };
        let fields = vec![Field::new("at", FieldKind::Datetime), list];
        let pipeline = Pipeline { inputs: Shape::Fields(fields), ..Pipeline::default() };
        let checked = |at: &str| {
            let given = json!({ "at": at, "all": [at] });
            check_inputs(&pipeline, given.as_object().cloned().unwrap_or_default())
        };
        for at in ["2026-11-18", "2026-11-18 09:30", "2026-11-18T09:30:00", "2026-11-18 09:30:00+01:00", "2026-11-18T09:30:00Z"] {
            assert_eq!(checked(at).unwrap()["at"], json!(at));
        }
        for at in ["soon", "18.11.2026", "2026-11-18 25:00", ""] {
            assert_eq!(checked(at).unwrap_err().len(), 2, "{at}");
        }
    }
}
