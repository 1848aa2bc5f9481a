//! F506: what a model costs is bounded, but it has no price.

use std::collections::HashSet;

use crate::model::{Agent, Pipeline, Provider};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let is_bounded = |agent: &Agent| file.bounds().max_cost_usd.is_some() || file.bounds_of(agent).max_cost_usd.is_some();
    let mut limits = std::iter::once(&file.limits).chain(file.agents.values().map(|agent| &agent.limits));
    let key = if limits.any(|limits| limits.max_cost_usd.is_some()) { "max_cost_usd" } else { "resource_limits.cost_usd" };
    let mut used: Vec<&str> = vec![];
    for planned in &pipeline.steps {
        let kind = &planned.step.kind;
        let names = kind.agents(file).into_iter().chain(kind.facts().may_use).map(Spanned::as_str);
        let bounded = names.filter(|name| file.agents.get(*name).is_some_and(is_bounded));
        used.extend(bounded.filter_map(|name| file.asked_model(kind, name)));
    }
    for name in with_fallbacks(file, used) {
        let Some(model) = file.models.get(name) else { continue };
        let (what, help) = match &model.provider {
            _ if model.is_priced() => continue,
            Provider::Service(service) if service.preset().is_paid => (
                "has no price; add price, 0 if it is free",
                "add price: { input: 1.0, output: 4.0 } with what it costs, in US dollars per million tokens",
            ),
            Provider::Program(_) => (
                "is a program of which nothing says what a call may cost",
                "add max_cost_usd: with the most US dollars of one call, or price: { input: 0, output: 0 } if it is free",
            ),
            Provider::Service(_) | Provider::Scripted(_) | Provider::Replay(_) | Provider::Tool(_) | Provider::Broken => continue,
        };
        let message = format!("{key} is set, but model {} {what}", quoted(name));
        out.push(finding(Code::UnpricedModel, model.span, &message).help(help));
    }
}

/// These models and those that stand in for them, each once.
fn with_fallbacks<'p>(file: &'p Pipeline, mut open: Vec<&'p str>) -> Vec<&'p str> {
    let mut seen = HashSet::new();
    let mut all = vec![];
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            all.push(name);
            open.extend(file.models.get(name).into_iter().flat_map(|model| &model.fallback).map(|other| other.value.as_str()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_bound_in_money_needs_prices() {
        let models = |limits: &str, models: &str| {
            says(check, &format!("{limits}models:\n{models}agents: {{ w: {{ model: big }} }}\nsteps: [{{ id: a, agent: w, prompt: x }}]\n"))
        };
        let (money, openai) = ("limits: { max_cost_usd: 1 }\n", "  big: { provider: openai, model: m }\n");
        let found = "F506 5:3 max_cost_usd is set, but model \"big\" has no price; add price, 0 if it is free\n";
        assert_eq!(models(money, openai), found);
        assert_eq!(models("", openai), "");
        let policy = "policies: { p: { resource_limits: { cost_usd: 1 } } }\npolicy: p\n";
        assert_eq!(
            models(policy, openai),
            "F506 6:3 resource_limits.cost_usd is set, but model \"big\" has no price; add price, 0 if it is free\n"
        );
        assert_eq!(models(money, "  big: { provider: ollama, model: m }\n"), "");
        assert_eq!(models(money, "  big: { provider: openai, model: m, price: { input: 0, output: 0 } }\n"), "");
        let program = "F506 5:3 max_cost_usd is set, but model \"big\" is a program of which nothing says what a call may cost\n";
        assert_eq!(models(money, "  big: { provider: cli, preset: codex }\n"), program);
        assert_eq!(models(money, "  big: { provider: cli, preset: codex, max_cost_usd: 0.5 }\n"), "");
        let fallback = "  big: { provider: ollama, model: m, fallback: [other] }\n  other: { provider: anthropic, model: m }\n  unused: { provider: openai, model: m }\n";
        assert_eq!(models(money, fallback), "F506 6:3 max_cost_usd is set, but model \"other\" has no price; add price, 0 if it is free\n");
    }
}
