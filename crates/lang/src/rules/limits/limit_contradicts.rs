//! F510: a bound that contradicts what it bounds: a dialogue with fewer turns than participants, a way to end it that needs more turns than there are, a wait
//! that is longer than the run may take, an agent with tools and one turn,
//! a budget of tokens that lets no call begin.

use std::time::Duration;

use crate::diagnostic::{About, counted, grouped};
use crate::model::{DialogueStep, Filling, Step, StepKind, duration_words, parse_duration};
use crate::plan;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    budgets(pipeline, plan, out);
    let whole = pipeline.pipeline.bounds().deadline;
    for (name, agent) in pipeline.pipeline.agents.iter().filter(|(_, agent)| !agent.tools.is_empty() && agent.max_turns == Some(1)) {
        let message = format!("agent {} has one turn: when it calls a tool, it has none left to answer with", quoted(name));
        out.push(
            new_finding(agent.span, "max_turns", &message)
                .help("write max_turns: 2 or more, one for each call of a tool and one for the answer"),
        );
    }
    for planned in &pipeline.steps {
        let step = &planned.step;
        if let StepKind::Dialogue(dialogue) = &step.kind {
            turns(step, dialogue, out);
        } else if let StepKind::Wait(time) = &step.kind {
            wait(step, time, (whole, pipeline.pipeline.limits.span), out);
        }
    }
}

/// At the key of the step or agent at this place.
fn new_finding(span: Span, key: &str, message: &str) -> Diagnostic {
    finding(Code::LimitContradicts, span, message).about(About::Value(key.to_owned()))
}

/// A budget of tokens that is smaller than what a call sets aside for its answer alone: no such call ever begins.
fn budgets(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let Some(place) = plan.pipelines.iter().position(|planned| std::ptr::eq(planned, pipeline)) else { return };
    let bounds = plan::bounds(plan, None, &|_, _| None);
    let mut reported: Vec<Span> = vec![];
    for used in bounds.get(place).into_iter().flat_map(|bounds| &bounds.steps) {
        let step = &pipeline.step(used.step).step;
        let of_step = if let StepKind::Dialogue(dialogue) = &step.kind { Some(&dialogue.limits) } else { None };
        for asking in &used.askings {
            let Some(least) = plan::least_set_aside(pipeline, step, asking) else { continue };
            let of_agent = file.agents.get(&asking.agent).map(|agent| &agent.limits);
            for limits in of_agent.into_iter().chain(of_step).chain([&file.limits]) {
                let (Some(most), Some(span)) = (limits.max_tokens.filter(|most| *most < least), limits.span) else { continue };
                if reported.contains(&span) {
                    continue;
                }
                reported.push(span);
                let message = format!(
                    "agent {} of step {} is never asked: a call sets aside {} tokens for its answer, and max_tokens is {}",
                    quoted(&asking.agent),
                    quoted(&step.id.value),
                    grouped(least),
                    grouped(most)
                );
                let model = asking.models.first().map_or("default", |(name, _)| name.as_str());
                let help = format!(
                    "write max_tokens: {} or more: each byte of a prompt is set aside, too; or write a smaller max_output_tokens in model {model}",
                    least * 2
                );
                out.push(new_finding(span, "max_tokens", &message).help(help));
            }
        }
    }
}

fn turns(step: &Step, dialogue: &DialogueStep, out: &mut Vec<Diagnostic>) {
    let (id, most, agents) = (quoted(&step.id.value), dialogue.most_turns(), dialogue.agents.len() as u64);
    if most < agents {
        let message = format!("dialogue {id} has {} for {agents} participants, so not each of them speaks", counted(most, "turn", "turns"));
        out.push(
            new_finding(step.id.span, "max_turns", &message)
                .help(format!("write max_turns: {} or more; it counts the turns of all together", agents * 2)),
        );
    }
    if let Some(repeats) = dialogue.until.repeats.filter(|repeats| *repeats >= most) {
        let message = format!("dialogue {id} ends after {}, so until.repeats {repeats} never ends it", counted(most, "turn", "turns"));
        out.push(
            new_finding(step.id.span, "until.repeats", &message).help(format!("write repeats: 2, or max_turns: {} or more", repeats + 1)),
        );
    }
}

fn wait(step: &Step, time: &Filling, (whole, limits): (Option<Duration>, Option<Span>), out: &mut Vec<Diagnostic>) {
    let Filling::Constant(serde_json::Value::String(written)) = time else { return };
    let (Ok(time), Some(deadline)) = (parse_duration(written), step.deadline.into_iter().chain(whole).min()) else { return };
    if time > deadline {
        let id = quoted(&step.id.value);
        let message = format!("{id} waits for {}, and the deadline is {}", duration_words(time), duration_words(deadline));
        let longer = duration_words(time + deadline);
        let found = new_finding(step.id.span, "wait", &message);
        out.push(match limits.filter(|_| step.deadline.is_none()) {
            Some(limits) => found.related(limits, format!("write deadline: {longer} or more here")),
            None => found,
        });
        if let Some(found) = out.last_mut() {
            found.help.push(format!("write deadline: {longer} or more, or wait for a shorter time"));
        }
    }
}
