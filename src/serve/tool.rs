//! A pipeline as a tool.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::engine::inputs_schema;
use crate::model::{Outputs, Pipeline, PipelineId};
use crate::plan::Plan;
use crate::rules::effects_of;

/// The tool that runs the first pipeline of a plan: its inputs and its channel as arguments, its outputs as the result.
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

/// An output of a step that did not end well is left out, so that none is promised.
fn output(pipeline: &Pipeline) -> Map<String, Value> {
    let names: Vec<&str> = match &pipeline.outputs {
        Outputs::None => vec![],
        Outputs::Named(named) => named.iter().map(|(name, _)| name.value.as_str()).collect(),
        Outputs::Whole(_) => vec!["output"],
    };
    let properties: Map<String, Value> = names.into_iter().map(|name| (name.to_owned(), json!({}))).collect();
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(properties))])
}
