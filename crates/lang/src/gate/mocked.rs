//! What a mock of a test may be, beyond what a result is held to: what its step or tool can give at all. Of a result from outside this needs no
//! check, since our own code makes it. The same for the check of a mock before a test runs and for the run.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::result::{self, ResultContext};
use super::schema_problems;
use crate::channel::Formatted;
use crate::diagnostic::{counted, one_line};
use crate::event::{Delivery, PlanOutput, SendOutput};
use crate::model::{Filling, MOST_ROWS, Mock, OwnResult, Pipeline, PreparedQuery, Sample, Step, StepFacts, ToolKind};
use crate::port::FileContent;

/// Told of what is no file.
const A_FILE: &str = "a read returns a file: { path, type, text, tables, … }";

/// Why a step, or one element of its `for_each`, cannot give this.
pub fn problems(step: &Step, pipeline: &Pipeline, value: &Value) -> Vec<String> {
    let StepFacts { receiver, result, .. } = step.kind.facts();
    let problems = match result {
        OwnResult::Rows(sql) => rows(value, sql.max_rows.unwrap_or(MOST_ROWS), columns(pipeline, &sql.query.source)),
        OwnResult::OfTool => receiver.and_then(|name| pipeline.tool(&name.value)).map_or(vec![], |(tool, _)| of_tool(&tool.kind, value)),
        OwnResult::Files(paths) => files(paths, value),
        OwnResult::File => fields(&file(), A_FILE, value),
        OwnResult::Formatted => fields(&formatted(), "a format step returns { channel, text, plain, parts, … }", value),
        OwnResult::Sent => fields(&sent(), "a send returns { delivered }", value),
        OwnResult::Planned => fields(&schema::<PlanOutput>(), "a plan returns { strategy, steps, by_use, … }", value),
        // Their mocks are held to all that they give by `result`, or they may give anything.
        OwnResult::None => vec![],
    };
    problems.into_iter().map(|problem| one_line(&problem, 200)).collect()
}

/// Holds the mock of a step, or of one element of its `for_each`, to all that the step gives.
///
/// # Errors
/// It does not fit; in sentences, all of them.
pub fn held(step: &Step, pipeline: &Pipeline, around: ResultContext, value: &Value) -> Result<(), Vec<String>> {
    result::result(step, around, value.clone())?;
    let problems = problems(step, pipeline, value);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Holds the mocks of a whole `for_each` to it.
///
/// # Errors
/// They do not fit.
pub fn elements_held(step: &Step, pipeline: &Pipeline, around: ResultContext, value: &Value) -> Result<(), Vec<String>> {
    let Value::Array(list) = value else { return Err(vec!["a step with for_each returns a list".to_owned()]) };
    let mut problems = vec![];
    for (place, entry) in list.iter().enumerate() {
        if let Mock::Output(value) = result::of_element(step, entry.clone()) {
            let own = held(step, pipeline, around, &value).err().unwrap_or_default();
            problems.extend(own.into_iter().map(|problem| format!("{place}: {problem}")));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Why a tool cannot give this, whoever calls it.
pub fn of_tool(kind: &ToolKind, value: &Value) -> Vec<String> {
    match kind {
        ToolKind::Sql(_) if !value.is_array() => vec!["a query returns a list of rows".to_owned()],
        ToolKind::Sql(_) => rows(value, MOST_ROWS, None),
        ToolKind::Http { .. }
        | ToolKind::Program { .. }
        | ToolKind::Python { .. }
        | ToolKind::File(_)
        | ToolKind::Knowledge(_)
        | ToolKind::Pipeline { .. }
        | ToolKind::Smtp { .. }
        | ToolKind::Server(_)
        | ToolKind::Broken => vec![],
    }
}

/// The columns of a query's rows, where they are sure: the query was compiled, and each of them is written in it.
fn columns<'p>(pipeline: &'p Pipeline, query: &str) -> Option<&'p [String]> {
    let Some(PreparedQuery::Gives(compiled)) = pipeline.prepared.get(query) else { return None };
    compiled.names_its_columns.then_some(&compiled.columns)
}

/// Rows that no query gives: too many, or with columns of their own. Anything else that is no rows is said by `result`.
fn rows(value: &Value, most: u64, columns: Option<&[String]>) -> Vec<String> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let rows: Vec<&Map<String, Value>> = list.iter().filter_map(Value::as_object).collect();
    if value.is_array() && rows.len() < list.len() {
        return vec!["a query returns rows, each with its columns".to_owned()];
    }
    let mut problems = vec![];
    if rows.len() as u64 > most {
        problems.push(format!("the query returns at most {}, and this is {}", counted(most as usize, "row", "rows"), rows.len()));
    }
    let named = |row: &Map<String, Value>| row.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let wrong = |row: &&Map<String, Value>| match columns {
        Some(columns) => row.len() != columns.len() || !columns.iter().all(|column| row.contains_key(column)),
        None => row.len() != rows[0].len() || !rows[0].keys().all(|column| row.contains_key(column)),
    };
    if let Some(place) = rows.iter().position(wrong) {
        let own = named(rows[place]);
        let own = if own.is_empty() { "none" } else { &own };
        problems.push(match columns {
            Some(columns) => format!("row {}: its columns are {own}; the query gives {}", place + 1, columns.join(", ")),
            None => format!("row {}: its columns are {own}; row 1 has {}", place + 1, named(rows[0])),
        });
    }
    problems
}

/// An object with fields of a schema. `whole`: told of what is no object.
fn fields(schema: &Value, whole: &str, value: &Value) -> Vec<String> {
    if value.is_object() { schema_problems(schema, value) } else { vec![whole.to_owned()] }
}

/// What a `read` gives: a file, or a list of them.
fn files(paths: &Filling, value: &Value) -> Vec<String> {
    let (is_list, is_one) = match paths {
        Filling::List(_) => (true, false),
        Filling::Constant(paths) => (paths.is_array(), !paths.is_array()),
        Filling::Map(_) => (false, true),
        // A value that is filled in may be either.
        Filling::Text(_) => (true, true),
    };
    match value {
        Value::Array(files) if is_list => files.iter().flat_map(|value| fields(&file(), A_FILE, value)).collect(),
        Value::Array(_) => vec!["a read of one path returns one file, and no list".to_owned()],
        value if is_one => fields(&file(), A_FILE, value),
        _ => vec!["a read of a list returns a list of files".to_owned()],
    }
}

/// The schema of a result that flow itself makes. Of a mock what is read of it is enough, so nothing is required.
fn schema<T: Sample + Serialize>() -> Value {
    schema_of(&T::shape(false), Some(&T::shape(true)))
}

/// `bare`: the same where all that may be null is.
fn schema_of(shape: &Value, bare: Option<&Value>) -> Value {
    let word = match shape {
        Value::Null => return json!({}),
        Value::Array(list) => {
            return json!({ "type": "array", "items": list.first().map_or(json!({}), |item| schema_of(item, bare.and_then(|bare| bare.get(0)))) });
        }
        Value::Object(fields) if fields.is_empty() => return json!({ "type": "object" }),
        Value::Object(fields) => {
            let field = |(name, shape): (&String, &Value)| (name.clone(), schema_of(shape, bare.and_then(|bare| bare.get(name))));
            let fields: Map<String, Value> = fields.iter().map(field).collect();
            return json!({ "type": "object", "properties": fields, "additionalProperties": false });
        }
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    if bare.is_some_and(Value::is_null) { json!({ "type": [word, "null"] }) } else { json!({ "type": word }) }
}

/// A file as a `read` gives it.
fn file() -> Value {
    let mut file = schema::<FileContent>();
    file["properties"]["type"] = json!({ "enum": FileContent::KINDS });
    file
}

/// What was delivered.
fn sent() -> Value {
    let mut sent = schema::<SendOutput>();
    sent["properties"]["delivered"]["items"] = schema::<Delivery>();
    sent
}

/// A text in the format of a channel.
fn formatted() -> Value {
    let mut formatted = schema::<Formatted>();
    formatted["required"] = json!(["text"]);
    formatted
}
