//! A pipeline file: its head and its lists of steps.

use indexmap::IndexMap;

use super::agents::{channel, limits, style_guide};
use super::context::{Lower, quoted};
use super::data::{conversation, person, summary_step};
use super::definitions;
use super::fields::FieldRole;
use super::ids::{Ids, OuterIds};
use super::keys;
use super::queries;
use super::reader::KeyReader;
use super::reserved::check_reserved;
use super::steps::{StepScope, steps};
use super::testing;
use super::values::{NameLetters, value_of};
use super::world::{Definitions, Section, World};
use crate::diagnostic::Diagnostic;
use crate::model::{Channel, Check, Filling, Guarantee, Judging, Outputs, Pipeline, PlainCheck, Shape, TestCase};
use crate::source::{FileId, Spanned};
use crate::syntax::Node;
use std::path::PathBuf;
use std::sync::Arc;

use strum::VariantNames;

/// Reads a pipeline file with its imports. Its `hash` stays empty: `load` knows all files that were brought in.
pub fn pipeline(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Pipeline {
    let lower = Lower::new(file, world, diagnostics);
    let (name, folder, project) = (Spanned::new(String::new(), tree.span), lower.folder(), lower.world().project());
    let mut pipeline = Pipeline { name, folder, project, ..Pipeline::default() };
    let Some(keys) = lower.root(tree, &keys::PIPELINE, "this pipeline") else { return pipeline };
    if let Some(name) = keys.get("name").and_then(|node| lower.new_id("pipeline name", node)) {
        pipeline.name = name;
    }
    pipeline.description = keys.sentence("description");
    pipeline.inputs = inputs(&keys);
    pipeline.person = person(&keys);
    pipeline.conversation = conversation(&keys);
    let merged = definitions::import_all(&keys, definitions::read(&keys));
    pipeline.data = values(merged.data);
    pipeline.secrets = values(merged.secrets);
    pipeline.agents = values(merged.agents);
    pipeline.models = values(merged.models);
    give_tools_of_models(&mut pipeline);
    pipeline.tools = values(merged.tools);
    pipeline.scorecards = values(merged.scorecards);
    pipeline.policies = values(merged.policies);
    pipeline.channels = channels(&keys);
    pipeline.lists_channels = keys.get("channels").is_some();
    pipeline.style_guide_at = keys.get("style_guide").map(|node| node.span);
    pipeline.style_guide = keys.name("style_guide").and_then(|name| style_guide(&lower, &name));
    pipeline.policy = keys.name("policy");
    pipeline.limits = limits(&keys);
    pipeline.guarantees = guarantees(&keys);
    let mut around = OuterIds::default();
    for (key, list) in [("steps", &mut pipeline.steps), ("on_failure", &mut pipeline.on_failure), ("finally", &mut pipeline.finally)] {
        let nodes = keys.filled_list(key).unwrap_or_default();
        *list = steps(&lower, nodes, &StepScope { around: around.clone(), ..StepScope::default() });
        around = around.and(nodes);
    }
    if let Some(step) = pipeline.conversation.as_ref().and_then(|own| summary_step(&lower, own, pipeline.limits.deadline)) {
        pipeline.steps.insert(0, Arc::new(step));
    }
    pipeline.outputs = outputs(&keys);
    queries::prepare(&lower, &mut pipeline);
    if keys.get("style_guide").is_none() && asks_for_style(&pipeline) {
        pipeline.style_guides_there = lower.world().style_guides(lower.file);
    }
    pipeline
}

/// Whether something in a file reads `style`, or checks a style guide.
fn asks_for_style(pipeline: &Pipeline) -> bool {
    let mut asks = pipeline.scorecards.values().flat_map(|card| &card.criteria).any(|criterion| match &criterion.judging {
        Judging::Checks(checks) => checks.iter().any(|check| check.value == Check::Plain(PlainCheck::StyleGuide)),
        Judging::Judge | Judging::Neither => false,
    });
    pipeline.each_text(&mut |authored| {
        let reads = authored.text().map(|text| text.reads.as_slice()).unwrap_or_default();
        asks |= reads.iter().any(|read| read.path.first().is_some_and(|root| root == "style"));
    });
    asks
}

/// The words under `guarantees`, with their places.
fn guarantees(keys: &KeyReader) -> Vec<Spanned<Guarantee>> {
    let nodes = keys.filled_list("guarantees").unwrap_or_default();
    let read = |node: &Node| Some(Spanned::new(keys.lower.word("guarantees", node, Guarantee::VARIANTS)?.parse().ok()?, node.span));
    nodes.iter().filter_map(read).collect()
}

/// Definitions by themselves, as a pipeline without steps would have them.
pub fn definitions_alone(defined: &Definitions, folder: PathBuf, project: PathBuf) -> Pipeline {
    Pipeline {
        folder,
        project,
        models: values(defined.models.clone()),
        agents: values(defined.agents.clone()),
        tools: values(defined.tools.clone()),
        scorecards: values(defined.scorecards.clone()),
        policies: values(defined.policies.clone()),
        ..Pipeline::default()
    }
}

/// The cases under `tests` of a pipeline file. Its other keys are not looked at.
pub fn inline_tests(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Vec<TestCase> {
    let lower = Lower::new(file, world, diagnostics);
    let Some(node) = tree.as_map().and_then(|map| map.get("tests")) else { return vec![] };
    testing::cases(&lower, lower.filled_list("tests", node), &testing::SharedCases::default())
}

/// An agent whose model is a tool uses that tool.
fn give_tools_of_models(pipeline: &mut Pipeline) {
    for agent in pipeline.agents.values_mut() {
        if let Some(answers) = pipeline.models.get(agent.model_name()).and_then(|model| model.provider.tool()) {
            agent.tools.push(answers.tool.clone());
        }
    }
}

fn values<T>(section: Section<T>) -> IndexMap<String, T> {
    section.into_iter().map(|(name, value)| (name, value.value)).collect()
}

/// Fields, or `{ schema_file }` instead of them.
fn inputs(keys: &KeyReader) -> Shape {
    let schema = keys.get("inputs").filter(|node| node.as_map().is_some_and(|map| map.get("schema_file").is_some()));
    if let Some(node) = schema {
        let path = KeyReader::of(keys.lower, value_of("inputs"), "\"inputs\" with a schema_file", &[&keys::SCHEMA_INPUTS], node)
            .and_then(|keys| keys.name("schema_file"));
        let schema = path.and_then(|path| Some((keys.lower.texts().schema_file(&path.value, path.span)?, path.span)));
        let Some((schema, span)) = schema else { return Shape::Fields(vec![]) };
        for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()) {
            check_input_name(keys.lower, &Spanned::new(name, span));
        }
        return Shape::Schema(schema);
    }
    let fields = keys.fields("inputs", "input", FieldRole::Input);
    for field in &fields {
        let name = Spanned::new(field.name.clone(), field.span);
        NameLetters::Small.check(keys.lower, "input", &name.value, name.span);
        check_input_name(keys.lower, &name);
    }
    Shape::Fields(fields)
}

fn check_input_name(lower: &Lower, name: &Spanned<String>) {
    check_reserved(lower, "an input name", name, &["channel"], "it means the run's channel");
}

fn channels(keys: &KeyReader) -> Vec<Arc<Channel>> {
    let (mut channels, mut seen) = (vec![], Ids::default());
    for name in keys.filled_list("channels").unwrap_or_default().iter().filter_map(|node| keys.lower.name("channels", node)) {
        if let Some(first) = seen.take(&name) {
            let message = format!("channel {} is listed twice", quoted(&name.value));
            let diagnostic = Diagnostic::duplicate_id(name.span, message).related(first, "first here");
            keys.lower.report(diagnostic.help("remove one of the two"));
            continue;
        }
        channels.extend(channel(keys.lower, &name));
    }
    channels
}

fn outputs(keys: &KeyReader) -> Outputs {
    let Some(node) = keys.get("outputs") else { return Outputs::None };
    if node.as_map().is_some() {
        let pairs: Vec<(Spanned<String>, Filling)> = keys.pairs("outputs");
        return Outputs::Named(pairs);
    }
    match node.as_scalar().filter(|scalar| scalar.value.is_string()) {
        Some(_) => keys.text("outputs").map_or(Outputs::None, Outputs::Whole),
        None => {
            if !keys.lower.is_nothing("outputs", node) {
                keys.lower.wrong("outputs", node, "a group of keys, or one text");
            }
            Outputs::None
        }
    }
}
