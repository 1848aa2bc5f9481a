//! Bounds: wider inside than outside (F504), in money without a price (F506).

use std::collections::HashSet;

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Agent, Form, Pipeline, Provider, StepKind};
use crate::plan::{PipelinePlan, Plan};
use crate::source::Span;

/// `limits.max_parallel` where nothing is written (language, section 13).
const MAX_PARALLEL: u64 = 8;

/// F504: an inner bound that never holds, since an outer one is smaller.
pub(super) fn wider_inside(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let outer = &pipeline.pipeline.limits;
    let mut report = |span: Span, message: String| {
        let found = finding(Code::WiderInside, span, &message).help("lower it, or raise the bound of the whole file in limits");
        out.push(match outer.span {
            Some(limits) => found.related(limits, "the bounds of the whole file"),
            None => found,
        });
    };
    let at_once = outer.max_parallel.unwrap_or(MAX_PARALLEL);
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        if let Some(inner) = step.for_each.as_ref().and_then(|each| each.max_parallel).filter(|inner| *inner > at_once) {
            let id = quoted(&step.id.value);
            report(step.id.span, format!("max_parallel {inner} of {id} is above limits.max_parallel {at_once}; {at_once} is used"));
        } else if let StepKind::Plan(plan) = &step.kind
            && let Some(inner) = plan.max_parallel.filter(|inner| *inner > at_once)
        {
            let id = quoted(&step.id.value);
            report(step.id.span, format!("max_parallel {inner} of {id} is above limits.max_parallel {at_once}; {at_once} is used"));
        }
    }
    for (name, agent) in &pipeline.pipeline.agents {
        let (name, inner) = (quoted(name), &agent.limits);
        let span = inner.span.unwrap_or(agent.span);
        if let (Some(inner), Some(outer)) = (inner.max_tokens, outer.max_tokens)
            && inner > outer
        {
            report(span, format!("max_tokens {inner} of agent {name} is above limits.max_tokens {outer}; {outer} is used"));
        }
        if let (Some(inner), Some(outer)) = (inner.max_cost_usd, outer.max_cost_usd)
            && inner > outer
        {
            report(span, format!("max_cost_usd {inner} of agent {name} is above limits.max_cost_usd {outer}; {outer} is used"));
        }
    }
}

/// F506: what a model costs is bounded, but it has no price.
pub(super) fn unpriced(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let is_bounded = |agent: &Agent| file.limits.max_cost_usd.is_some() || agent.limits.max_cost_usd.is_some();
    let mut used: Vec<&str> = vec![];
    for planned in &pipeline.steps {
        let (names, own) = match &planned.step.kind {
            StepKind::Agent(step) => (vec![&step.agent], step.model.as_ref()),
            StepKind::Gate(gate) => (gate.judge.iter().collect(), None),
            StepKind::Plan(plan) => (std::iter::once(&plan.agent).chain(&plan.check).chain(&plan.may_use).collect(), None),
            _ => continue,
        };
        for agent in names.iter().filter_map(|name| file.agents.get(&name.value)).filter(|agent| is_bounded(agent)) {
            match own {
                Some(model) if model.form == Form::Plain => used.push(&model.source),
                Some(_) => {}
                None => used.push(model_of(agent)),
            }
        }
    }
    if file.limits.max_cost_usd.is_some() {
        let judges = file.scorecards.values().filter_map(|card| card.judge.as_ref());
        used.extend(judges.filter_map(|judge| file.agents.get(&judge.value)).map(model_of));
    }
    for name in with_fallbacks(file, used) {
        let Some(model) = file.models.get(name) else { continue };
        if model.price.is_none() && matches!(model.provider, Provider::OpenAi | Provider::Anthropic) {
            let message = format!("max_cost_usd is set, but model {} has no price; add price, 0 if it is free", quoted(name));
            out.push(
                finding(Code::UnpricedModel, model.span, &message)
                    .help("add price: { input: …, output: … }, in US dollars per million tokens"),
            );
        }
    }
}

fn model_of(agent: &Agent) -> &str {
    agent.model.as_ref().map_or("default", |model| &model.value)
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
    use super::super::testing::says;
    use super::*;

    #[test]
    fn an_inner_bound_is_not_wider_than_the_outer_one() {
        let each = |limits: &str| says(wider_inside, &format!("{limits}steps: [{{ id: a, for_each: [1], max_parallel: 9, set: 1 }}]\n"));
        assert_eq!(each("limits: { max_parallel: 2 }\n"), "F504 4:15 max_parallel 9 of \"a\" is above limits.max_parallel 2; 2 is used\n");
        assert_eq!(each(""), "F504 3:15 max_parallel 9 of \"a\" is above limits.max_parallel 8; 8 is used\n");
        assert_eq!(each("limits: { max_parallel: 9 }\n"), "");
        let agent = "limits: { max_tokens: 100, max_cost_usd: 1 }\nagents:\n  w: { limits: { max_tokens: 200, max_cost_usd: 0.5 } }\nsteps: [{ id: a, set: 1 }]\n";
        assert_eq!(says(wider_inside, agent), "F504 5:8 max_tokens 200 of agent \"w\" is above limits.max_tokens 100; 100 is used\n");
    }

    #[test]
    fn a_bound_in_money_needs_prices() {
        let models = |limits: &str, models: &str| {
            says(
                unpriced,
                &format!("{limits}models:\n{models}agents: {{ w: {{ model: big }} }}\nsteps: [{{ id: a, agent: w, prompt: x }}]\n"),
            )
        };
        let (money, openai) = ("limits: { max_cost_usd: 1 }\n", "  big: { provider: openai, model: m }\n");
        let found = "F506 5:3 max_cost_usd is set, but model \"big\" has no price; add price, 0 if it is free\n";
        assert_eq!(models(money, openai), found);
        assert_eq!(models("", openai), "");
        assert_eq!(models(money, "  big: { provider: ollama, model: m }\n"), "");
        assert_eq!(models(money, "  big: { provider: openai, model: m, price: { input: 0, output: 0 } }\n"), "");
        let fallback = "  big: { provider: ollama, model: m, fallback: [other] }\n  other: { provider: anthropic, model: m }\n  unused: { provider: openai, model: m }\n";
        assert_eq!(models(money, fallback), "F506 6:3 max_cost_usd is set, but model \"other\" has no price; add price, 0 if it is free\n");
    }
}
