//! A pipeline as a tool.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::engine::inputs_schema;
use crate::model::{AgentStep, Field, FieldKind, Filling, Form, Outputs, Pipeline, PipelineId, Shape, Step, StepKind, Text};
use crate::rules::effects_of;
use flow_lang::plan::Plan;

/// Returns the tool that runs the first pipeline of a plan: its inputs and its channel as arguments, its outputs as the result.
pub fn tool(plan: &Plan) -> Tool {
    let pipeline = &plan.pipeline(PipelineId(0)).pipeline;
    let name = pipeline.name.value.clone();
    let description = pipeline.description.clone().unwrap_or_else(|| format!("Runs the pipeline {name}."));
    let effects = effects_of(plan);
    let mut tool = Tool::new(name, description, Arc::new(input(pipeline)));
    tool.output_schema = Some(Arc::new(output(pipeline)));
    tool.annotations = Some(ToolAnnotations::new().read_only(!effects.changes).open_world(effects.reaches_out));
    tool
}

fn input(pipeline: &Pipeline) -> Map<String, Value> {
    let Value::Object(mut schema) = inputs_schema(pipeline) else { return Map::new() };
    schema.insert("type".into(), json!("object"));
    if let (Shape::Fields(_), Some(Value::Object(properties))) = (&pipeline.inputs, schema.get_mut("properties")) {
        properties.values_mut().for_each(without_null);
    }
    if !pipeline.channels.is_empty()
        && let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({}))
    {
        let names: Vec<&str> = pipeline.channels.iter().map(|channel| channel.name.as_str()).collect();
        let first = names.first().copied().unwrap_or_default();
        let about = format!("Where the answer is read; without one, {first}");
        properties.insert("channel".into(), json!({ "type": "string", "enum": names, "default": first, "description": about }));
    }
    schema
}

/// Removes null from the types of optional arguments, because clients read a single type more easily.
fn without_null(property: &mut Value) {
    if let Some(Value::Object(fields)) = property.get_mut("properties") {
        fields.values_mut().for_each(without_null);
    }
    property.get_mut("items").into_iter().for_each(without_null);
    match property.get("type").and_then(Value::as_array).map(Vec::as_slice) {
        Some([kind, Value::Null | Value::String(_)]) if property["type"][1] == "null" => property["type"] = kind.clone(),
        _ => return,
    }
    if let Some(values) = property.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
}

/// Returns the schema of the outputs. None is required, since an unsuccessful step has none. A type is set if every run has it.
fn output(pipeline: &Pipeline) -> Map<String, Value> {
    let properties: Map<String, Value> = match &pipeline.outputs {
        Outputs::None => Map::new(),
        Outputs::Named(named) => named.iter().map(|(name, filling)| (name.value.clone(), filling_schema(pipeline, filling))).collect(),
        Outputs::Whole(text) => Map::from_iter([("output".to_owned(), of_text(pipeline, text))]),
    };
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(properties))])
}

fn filling_schema(pipeline: &Pipeline, filling: &Filling) -> Value {
    match filling {
        Filling::Text(text) => of_text(pipeline, text),
        Filling::List(_) | Filling::Constant(Value::Array(_)) => json!({ "type": "array" }),
        Filling::Map(_) | Filling::Constant(Value::Object(_)) => json!({ "type": "object" }),
        Filling::Constant(Value::String(_)) => json!({ "type": "string" }),
        Filling::Constant(Value::Bool(_)) => json!({ "type": "boolean" }),
        Filling::Constant(Value::Number(_)) => json!({ "type": "number" }),
        Filling::Constant(Value::Null) => json!({}),
    }
}

/// Returns the schema of a text: a string, or the type of the value if it only reads an input that every run has, or an output.
fn of_text(pipeline: &Pipeline, text: &Text) -> Value {
    match text.form {
        Form::Plain | Form::Template => return json!({ "type": "string" }),
        Form::Sole | Form::Bare => {}
    }
    let inner = text.source.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
    let path: Vec<&str> = inner.split('.').collect();
    match path.as_slice() {
        ["inputs", name] => of_field(pipeline.input_fields(), name),
        ["steps", id, "output", rest @ ..] => {
            pipeline.steps.iter().find(|step| step.id.value == *id).map(|step| of_step(pipeline, step, rest))
        }
        _ => None,
    }
    .unwrap_or_else(|| json!({}))
}

fn of_field(fields: &[Field], name: &str) -> Option<Value> {
    let field = fields.iter().find(|field| field.name == name && (field.is_required || field.default.is_some()))?;
    field_type(field.kind).map(|kind| json!({ "type": kind }))
}

/// Returns the schema of a step's output, if it is certain; an unsuccessful step has no output.
fn of_step(pipeline: &Pipeline, step: &Step, path: &[&str]) -> Value {
    if step.for_each.is_some() {
        return if path.is_empty() { json!({ "type": "array" }) } else { json!({}) };
    }
    let of_agent = |agent: &AgentStep| pipeline.agents.get(&agent.agent.value).map(|agent| agent.output.as_ref());
    if let StepKind::Set(filling) = &step.kind
        && path.is_empty()
    {
        return filling_schema(pipeline, filling);
    }
    let agent = if let StepKind::Agent(agent) = &step.kind { Some(agent) } else { None };
    let shape = match agent.map(|agent| agent.output.as_ref().map(Some).or_else(|| of_agent(agent))) {
        Some(Some(shape)) => shape,
        Some(None) => return json!({}),
        None => step.kind.facts().output,
    };
    let is_agent = agent.is_some();
    match (shape, path) {
        (None, []) if is_agent => json!({ "type": "string" }),
        (Some(Shape::Fields(_)), []) => json!({ "type": "object" }),
        (Some(Shape::Fields(fields)), [name]) => of_field(fields, name).unwrap_or_else(|| json!({})),
        (Some(_) | None, _) => json!({}),
    }
}

/// Returns the JSON Schema type of a field; `None`: it has no single type.
fn field_type(kind: FieldKind) -> Option<&'static str> {
    Some(match kind {
        FieldKind::Text | FieldKind::File | FieldKind::Folder | FieldKind::Date | FieldKind::Datetime => "string",
        FieldKind::Number => "number",
        FieldKind::Integer => "integer",
        FieldKind::Boolean => "boolean",
        FieldKind::List => "array",
        FieldKind::Object | FieldKind::Plan | FieldKind::Scorecard => "object",
        FieldKind::Any => return None,
    })
}
