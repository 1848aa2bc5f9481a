//! F105, F210, F301: outputs, inputs and definitions that nothing uses.

use std::collections::HashSet;

use super::names::Names;
use super::seat::Texts;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Form, Provider, ScorecardRef, Shape, StepKind, ToolKind};
use crate::plan::{Edge, StepIx};
use crate::source::{Span, Spanned};

pub(super) fn check(names: &Names, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let is_broken = names.pipeline.steps.is_empty()
        || names.pipeline.steps.iter().any(|planned| planned.step.kind == StepKind::Broken)
        || file.tools.values().any(|tool| tool.kind == ToolKind::Broken);
    // What a lost step would have read or used is not known.
    if is_broken || reads_unknown(texts, "steps", |id| names.ids().any(|known| known == id)) {
        return;
    }
    outputs(names, texts, out);
    inputs(names, texts, out);
    definitions(names, out);
}

/// The names that stand right below a root in any text; `None`: some text takes the root as a whole.
fn read_below<'t>(texts: &'t Texts, root: &str) -> Option<HashSet<&'t str>> {
    let reads = texts.all.iter().flat_map(|placed| &placed.text.reads).filter(|read| read.path.first().is_some_and(|name| name == root));
    reads.map(|read| read.path.get(1).map(String::as_str)).collect()
}

/// Whether a text reads something below a root that is not there. That was reported; it was meant for one of those that seem unread.
fn reads_unknown(texts: &Texts, root: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let judged = texts.all.iter().filter(|placed| !texts.seats[placed.seat].is_for_others());
    let mut paths = judged.flat_map(|placed| &placed.text.reads).map(|read| read.path.as_slice());
    paths.any(|path| matches!(path, [first, name, ..] if first == root && !is_known(name)))
}

fn outputs(names: &Names, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let Some(read) = read_below(texts, "steps") else { return };
    if reads_unknown(texts, "steps", |id| names.has_step(id)) {
        return;
    }
    let has_sql = names.pipeline.steps.iter().any(|planned| matches!(planned.step.kind, StepKind::Sql(_)));
    for planned in &names.pipeline.steps {
        let step = &planned.step;
        let block = names.pipeline.block(planned.block);
        let is_last = planned.place + 1 == block.len();
        let stands_in = block.needs(planned.place).iter().any(|(_, edge)| *edge == Edge::Failure);
        let only_computes = match &step.kind {
            StepKind::Agent(agent) => only_answers(names, &agent.agent.value),
            StepKind::Set(_) | StepKind::Sql(_) | StepKind::Format(_) => true,
            StepKind::Read(_) => !has_sql,
            _ => false,
        };
        if only_computes && !is_last && !stands_in && !read.contains(step.id.value.as_str()) {
            let message = format!("no one reads the output of \"{}\"", step.id.value);
            out.push(
                Diagnostic::new(Code::UnusedOutput, step.id.span, message)
                    .help(format!("read steps.{}.output in a later step or in outputs, or remove the step", step.id.value)),
            );
        }
    }
}

/// Whether an agent does nothing but answer: no tools, and no program behind it.
fn only_answers(names: &Names, agent: &str) -> bool {
    let file = &names.pipeline.pipeline;
    let Some(agent) = file.agents.get(agent) else { return false };
    let model = agent.model.as_ref().map_or("default", |model| model.value.as_str());
    agent.tools.is_empty() && file.models.get(model).is_none_or(|model| model.provider != Provider::Broken)
}

fn inputs(names: &Names, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let Shape::Fields(fields) = &names.pipeline.pipeline.inputs else { return };
    let Some(read) = read_below(texts, "inputs") else { return };
    let known: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    if reads_unknown(texts, "inputs", |name| known.contains(name)) {
        return;
    }
    for field in fields.iter().filter(|field| !read.contains(field.name.as_str())) {
        out.push(
            Diagnostic::new(Code::UnusedInput, field.span, format!("input \"{}\" is never used", field.name))
                .help(format!("read it as inputs.{}, or remove it", field.name)),
        );
    }
}

fn definitions(names: &Names, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let own = file.name.span.file;
    let mut used = Used::default();
    for agent in file.agents.values() {
        used.models.insert(agent.model.as_ref().map_or("default", Spanned::as_str));
        used.tools.extend(agent.tools.iter().filter_map(|tool| tool.value.split('.').next()));
        used.policies.extend(agent.policy.iter().map(Spanned::as_str));
    }
    used.models.extend(file.models.values().flat_map(|model| &model.fallback).map(Spanned::as_str));
    used.agents.extend(file.scorecards.values().filter_map(|scorecard| scorecard.judge.as_ref()).map(Spanned::as_str));
    used.policies.extend(file.policy.iter().map(Spanned::as_str));
    for index in 0..names.pipeline.steps.len() {
        match &names.step(StepIx(index as u32)).kind {
            StepKind::Agent(step) => {
                used.agents.insert(&step.agent.value);
                match &step.model {
                    Some(model) if model.form == Form::Plain => drop(used.models.insert(&model.source)),
                    Some(_) => used.any_model = true,
                    None => {}
                }
            }
            StepKind::Tool(step) => used.tools.extend(step.tool.value.split('.').next()),
            StepKind::Plan(step) => {
                used.agents.extend([Some(&step.agent), step.check.as_ref()].into_iter().flatten().map(Spanned::as_str));
                for name in &step.may_use {
                    let server = name.value.split('.').next().unwrap_or_default();
                    let of = if file.tools.contains_key(server) { &mut used.tools } else { &mut used.agents };
                    of.insert(server);
                }
            }
            StepKind::Send(step) => drop(used.tools.insert(&step.to.value)),
            StepKind::Gate(step) => {
                used.agents.extend(step.judge.iter().map(Spanned::as_str));
                used.scorecards.extend(step.scorecards.iter().filter_map(|scorecard| match scorecard {
                    ScorecardRef::Named(name) => Some(name.value.as_str()),
                    ScorecardRef::Written(_) => None,
                }));
            }
            _ => {}
        }
    }
    used.tools.remove("stdout");
    used.models.remove("default");
    let mut report = |what: &str, used: &HashSet<&str>, defined: Vec<(&str, Span)>| {
        // A name that nothing has was reported; it was meant for one of those that seem unused.
        let known: HashSet<&str> = defined.iter().map(|(name, _)| *name).collect();
        if !used.is_subset(&known) {
            return;
        }
        for (name, span) in defined.into_iter().filter(|(name, span)| span.file == own && !used.contains(name)) {
            let message = format!("{what} \"{name}\" is never used");
            out.push(Diagnostic::new(Code::UnusedDefinition, span, message).help("remove it, or use it in a step"));
        }
    };
    report("agent", &used.agents, file.agents.iter().map(|(name, agent)| (name.as_str(), agent.span)).collect());
    if !used.any_model {
        // The one called `default` serves whoever names none.
        let models = file.models.iter().filter(|(name, _)| *name != "default");
        report("model", &used.models, models.map(|(name, model)| (name.as_str(), model.span)).collect());
    }
    report("tool", &used.tools, file.tools.iter().map(|(name, tool)| (name.as_str(), tool.span)).collect());
    report("scorecard", &used.scorecards, file.scorecards.iter().map(|(name, scorecard)| (name.as_str(), scorecard.span)).collect());
    report("policy", &used.policies, file.policies.iter().map(|(name, policy)| (name.as_str(), policy.span)).collect());
}

#[derive(Default)]
struct Used<'a> {
    agents: HashSet<&'a str>,
    models: HashSet<&'a str>,
    /// A step names its model by a template.
    any_model: bool,
    tools: HashSet<&'a str>,
    scorecards: HashSet<&'a str>,
    policies: HashSet<&'a str>,
}
