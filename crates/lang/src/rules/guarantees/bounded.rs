//! Calls, tokens, money and time are bounded.

use super::{GuaranteeVerdict, WaysFound};
use crate::diagnostic::{counted, grouped};
use crate::model::{CallTime, MOST_STEP_RUNS, PipelineId, STAGE_TIME, StepKind, Tool, duration_words};
use crate::plan::{Cost, Plan, Tokens, asks_programs, bounds, cost, tokens};

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    let mut found = WaysFound::default();
    let planned = plan.pipeline(pipeline);
    let all = bounds(plan, None, &|_, _| None);
    let Some(own) = all.get(pipeline.0) else { return found.verdict() };
    let limits = planned.pipeline.bounds();
    let span = limits.span.unwrap_or(planned.pipeline.name.span);
    let mut programs = None;
    let mut missing = |message: &str, help: &str| found.breaks(span, message.to_owned(), vec![], help.to_owned());
    let asks = own.calls.calls > 0 || !own.calls.open.is_empty();
    match tokens(&own.calls, &limits, asks_programs(plan, &all, None)) {
        Tokens::Nothing | Tokens::Limit { .. } => {}
        Tokens::Answers { tokens } => {
            missing(
                &format!("answers have at most {} tokens, and nothing bounds the prompts", grouped(tokens)),
                "write limits: { max_tokens: 200000 }, or what a run may use",
            );
        }
        Tokens::Programs { tokens: Some(_) } => {
            let message = "the last call of an agent program stays within the tokens: it tells them only after the call";
            programs = Some((message, "make sure of it in the settings of the program"));
        }
        Tokens::Programs { tokens: None } | Tokens::Open => {
            missing("nothing bounds the tokens of a run", "write limits: { max_tokens: 200000 }, or what a run may use")
        }
    }
    match cost(plan, &all, None, &limits) {
        Cost::Nothing | Cost::Scripted | Cost::Limit { .. } | Cost::Tokens { .. } => {}
        Cost::Unpriced { models } => missing(
            &format!("model {} has no price, so nothing bounds the money", models.join(", ")),
            "write price at the model, and limits: { max_cost_usd: 1 }",
        ),
        Cost::Answers { .. } | Cost::Open { .. } => {
            missing("nothing bounds the money of a run", "write limits: { max_cost_usd: 1 }, or what a run may cost")
        }
    }
    let searching: Vec<&str> = planned
        .steps
        .iter()
        .filter_map(|step| if let StepKind::Search(search) = &step.step.kind { Some(search.knowledge.value.as_str()) } else { None })
        .filter(|name| planned.pipeline.tools.get(*name).and_then(Tool::knowledge).is_some_and(|own| own.embed.is_some()))
        .collect();
    let calls_out = planned.steps.iter().any(|step| step.step.kind.facts().calls_when != CallTime::Never);
    if calls_out && limits.deadline.is_none() {
        missing("no limits.deadline bounds the time of a run", "write limits: { deadline: 5m }, or how long a run may take");
    }
    if let Some((message, help)) = programs {
        found.only_if(span, message.to_owned(), vec![], help.to_owned());
    }
    for name in searching {
        let message = format!("the documents of knowledge {name} stay as many as they are: each new piece is asked of its model");
        found.only_if(span, message, vec![], "make sure of it, or search by words".into());
    }
    let stages = [planned.on_failure, planned.finally].into_iter().flatten().count() as u32;
    let after =
        if stages == 0 { String::new() } else { format!(" and {} for on_failure and finally", duration_words(STAGE_TIME * stages)) };
    let steps = limits.max_steps.unwrap_or(MOST_STEP_RUNS);
    found.rests_on.push(match (asks, own.calls.open.is_empty()) {
        (false, _) => "no model is asked".to_owned(),
        (true, true) => format!("at most {} of models", counted(own.calls.calls, "call", "calls")),
        (true, false) => format!("at most {} runs of steps (limits.max_steps), each with a bounded number of calls", grouped(steps)),
    });
    found.rests_on.extend(limits.max_tokens.map(|tokens| format!("at most {} tokens", grouped(tokens))));
    found.rests_on.extend(limits.max_cost_usd.map(|usd| format!("at most {usd} US dollars")));
    found.rests_on.extend(limits.deadline.map(|time| format!("at most {}{after}, without the time of persons", duration_words(time))));
    found.verdict()
}
