//! F301: a definition that nothing uses.

use std::collections::HashSet;

use crate::diagnostic::About;
use crate::model::{DEFAULT_MODEL, Form, STDOUT, ScorecardRef, StepKind, ToolName};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(names: &PipelineNames, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let own = file.name.span.file;
    let mut used = Used::default();
    for agent in file.agents.values() {
        used.models.insert(agent.model_name());
        used.tools.extend(agent.tools.iter().map(|tool| ToolName::parse(&tool.value).tool));
        used.policies.extend(agent.policy.iter().map(Spanned::as_str));
        used.agents.extend(agent.agents.iter().map(Spanned::as_str));
    }
    used.tools.extend(file.models.values().filter_map(|model| Some(ToolName::parse(&model.provider.tool()?.tool.value).tool)));
    let embedding = file.tools.values().filter_map(|tool| tool.knowledge()?.embed.as_ref());
    used.models.extend(embedding.map(Spanned::as_str));
    used.models.extend(file.models.values().flat_map(|model| &model.fallback).map(Spanned::as_str));
    used.agents.extend(file.scorecards.values().filter_map(|scorecard| scorecard.judge.as_ref()).map(Spanned::as_str));
    used.policies.extend(file.policy.iter().map(Spanned::as_str));
    for planned in &names.pipeline.steps {
        let kind = &planned.step.kind;
        used.agents.extend(kind.agents_with_tools().into_iter().chain(kind.facts().helpers.into_iter().flatten()).map(Spanned::as_str));
        if let StepKind::Dialogue(dialogue) = kind {
            used.policies.extend(dialogue.policy.iter().map(Spanned::as_str));
        }
        let fixed = kind.facts().model.filter(|model| model.form == Form::Plain);
        used.models.extend(fixed.map(|model| &*model.source));
        used.any_model |= kind.facts().model.is_some() && fixed.is_none();
        used.tools
            .extend(kind.facts().receiver.map(|name| if kind.facts().sends { &name.value } else { ToolName::parse(&name.value).tool }));
        used.tools.extend(kind.facts().knowledge.map(Spanned::as_str));
        if let StepKind::Plan(step) = kind {
            for name in &step.may_use {
                let server = ToolName::parse(&name.value).tool;
                let of = if file.tools.contains_key(server) { &mut used.tools } else { &mut used.agents };
                of.insert(server);
            }
        } else if let Some(judging) = kind.facts().judges {
            used.agents.extend(judging.judge().map(Spanned::as_str));
            used.scorecards.extend(judging.cards().iter().filter_map(ScorecardRef::name).map(Spanned::as_str));
        }
    }
    used.tools.remove(STDOUT);
    used.models.remove(DEFAULT_MODEL);
    let mut report = |what: &str, used: &HashSet<&str>, defined: Vec<(&str, Span)>| {
        // A name that nothing has was reported; it was meant for one of those that seem unused.
        let known: HashSet<&str> = defined.iter().map(|(name, _)| *name).collect();
        if !used.is_subset(&known) {
            return;
        }
        for (name, span) in defined.into_iter().filter(|(name, span)| span.file == own && !used.contains(name)) {
            let message = format!("{what} \"{name}\" is never used");
            let found = found(span, message);
            out.push(match what {
                "policy" => found
                    .help(format!("write policy: {name} in the head of the file, which puts it in force, or in an agent; or remove it"))
                    .related(file.name.span, "policy stands below this line"),
                "model" => found
                    .help("remove it, or use it: model in an agent or a step, models or judge_model in a test file")
                    .about(About::UnusedModel(name.to_owned())),
                "tool" => found.help(format!("write tools: [{name}] in an agent, or tool: {name} in a step; or remove it")),
                _ => found.help("remove it, or use it in a step"),
            });
        }
    };
    report("agent", &used.agents, file.agents.iter().map(|(name, agent)| (name.as_str(), agent.span)).collect());
    if !used.any_model {
        // The one called `default` serves whoever names none.
        let models = file.models.iter().filter(|(name, _)| *name != DEFAULT_MODEL);
        report("model", &used.models, models.map(|(name, model)| (name.as_str(), model.span)).collect());
    }
    let (knowledge, tools): (Vec<_>, Vec<_>) = file.tools.iter().partition(|(_, tool)| tool.knowledge().is_some());
    // Both are named in one list, so a name that is neither keeps both quiet.
    let known: HashSet<&str> = file.tools.keys().map(String::as_str).collect();
    if used.tools.is_subset(&known) {
        for (what, list) in [("tool", tools), ("knowledge", knowledge)] {
            let of_kind = list.iter().filter(|(name, _)| used.tools.contains(name.as_str())).map(|(name, _)| name.as_str()).collect();
            report(what, &of_kind, list.iter().map(|(name, tool)| (name.as_str(), tool.span)).collect());
        }
    }
    report("scorecard", &used.scorecards, file.scorecards.iter().map(|(name, scorecard)| (name.as_str(), scorecard.span)).collect());
    report("policy", &used.policies, file.policies.iter().map(|(name, policy)| (name.as_str(), policy.span)).collect());
}

pub(in crate::rules) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnusedDefinition, span, message)
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
