//! Each effect has a key by which its receiver knows a repetition.

use super::sites::{look, run_by, tools_of_models};
use super::{GuaranteeVerdict, WaysFound};
use crate::labels::{ChainIx, Labels, agents};
use crate::model::{PipelineId, StepKind, Tool, ToolKind};
use crate::plan::{Plan, StepIx};
use crate::source::Span;

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    look(plan, pipeline, &mut |labels, chain, _, found| {
        let planned = labels.pipeline(chain);
        for (ix, step) in planned.numbered_steps() {
            let (step, pipeline) = (&step.step, &planned.pipeline);
            let by = labels.step_words(chain, ix);
            // What runs in both tries cannot be `once` (F402).
            let runs_again =
                planned.around(ix).any(|around| planned.refined().any(|again| again.step.id.span == planned.step(around).step.id.span));
            let (asks_first, is_at_the_end) = around(labels, chain, ix);
            if asks_first && is_at_the_end {
                let message = format!("no run that a signal ended is resumed: then its finally runs again, and {by} with it");
                found.only_if(step.kind_span, message, vec![], "move the step out of finally, or make sure of it".into());
            }
            let kind = &step.kind;
            let own = kind.facts().receiver.map(|name| name.value.as_str());
            let used = tools_of_models(labels, chain, ix);
            let tools = own.and_then(|name| pipeline.tool(name)).map(|(tool, _)| tool).into_iter().chain(used.iter().map(|used| used.tool));
            let mut started = kind.facts().starts.into_iter().chain(tools.filter_map(run_by));
            if started.any(|run| run.reads_only && !run.network.is_none()) {
                let message = format!("a program of {by} with a network changes nothing outside (reads_only): it may run again");
                found.only_if(step.kind_span, message, vec![], "make sure of it".into());
            }
            if kind.effects(pipeline).changes {
                let tool = own.and_then(|name| pipeline.tool(name)).map(|(tool, _)| tool);
                keyed(&by, tool, kind, (asks_first, runs_again), step.kind_span, found);
            }
            for agent in agents(pipeline, kind) {
                let program = pipeline.models.get(agent.model_name()).and_then(|model| model.provider.program());
                if program.is_some_and(|program| !program.run.reads_only && !program.run.writes.is_empty()) && !asks_first {
                    let message = format!("{by} asks an agent program that changes files, and may ask it again after a crash");
                    let help = if runs_again {
                        "move it below the gate, and write once: true at the step: after a crash a person decides"
                    } else {
                        "write once: true at the step: after a crash a person decides"
                    };
                    found.breaks(step.kind_span, message, vec![], help.into());
                }
            }
            for used in used {
                if used.tool.effects(used.part).changes {
                    keyed(&format!("the agent of {by}"), Some(used.tool), kind, (asks_first, runs_again), used.name.span, found);
                }
            }
        }
    })
}

/// Whether a step is `once`, and whether it is in `finally`: itself, or one around it, here or in a pipeline that calls this one.
fn around(labels: &Labels, chain: ChainIx, ix: StepIx) -> (bool, bool) {
    let planned = labels.pipeline(chain);
    let list = || planned.around(ix).map(|around| planned.step(around));
    let own = (list().any(|around| around.step.is_once), list().any(|around| Some(around.block) == planned.finally));
    let above = labels.caller(chain).map(|(above, caller)| around(labels, above, caller.step())).unwrap_or_default();
    (own.0 || above.0, own.1 || above.1)
}

/// How a call is known again when it is made twice.
fn keyed(by: &str, tool: Option<&Tool>, kind: &StepKind, (asks_first, runs_again): (bool, bool), span: Span, found: &mut WaysFound) {
    let without = match (tool.map(|tool| &tool.kind), kind) {
        (Some(ToolKind::Http { .. }), _) | (None, StepKind::Http(_)) => {
            let written = kind.idempotency_key().map(|key| key.place.span).or_else(|| own_header(tool, kind));
            return match written {
                None => found.rests_on.push(format!("{by} sends the header Idempotency-Key")),
                Some(at) => {
                    let message = format!("the key that the author wrote for {by} is never empty, and another one for each effect");
                    found.only_if(at, message, vec![], "leave it out: then each effect has a key of its own".into());
                }
            };
        }
        (Some(ToolKind::Smtp { .. }), _) => return found.rests_on.push(format!("{by} sends a Message-ID that is the same for each try")),
        (Some(ToolKind::File(_)), _) => return found.rests_on.push(format!("{by} writes the whole file again, with the same content")),
        (Some(ToolKind::Server(_)), _) => "tool server",
        (Some(ToolKind::Program { .. }), _) | (None, StepKind::Program(_)) => "program",
        (
            Some(ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken) | None,
            _,
        ) => {
            return;
        }
    };
    if asks_first {
        return found.rests_on.push(format!("{by} is once: after a crash a person decides"));
    }
    let message = format!("{by} calls a {without} that gets no key, and may do so again after a crash");
    let help = match (kind.facts().starts, runs_again) {
        (Some(_), false) => "write reads_only: true if it changes nothing, or once: true at the step",
        (Some(_), true) => "write reads_only: true if it changes nothing, or move it below the gate and write once: true at the step",
        (None, false) => "write once: true at the step: after a crash a person decides",
        (None, true) => "move it below the gate, and write once: true at the step: after a crash a person decides",
    };
    found.breaks(span, message, vec![], help.into());
}

/// Where an author wrote the header of the key.
fn own_header(tool: Option<&Tool>, kind: &StepKind) -> Option<Span> {
    let of_tool = tool.and_then(|tool| if let ToolKind::Http { headers, .. } = &tool.kind { Some(headers) } else { None });
    let of_step = if let StepKind::Http(http) = kind { Some(&http.headers) } else { None };
    of_tool
        .into_iter()
        .chain(of_step)
        .flatten()
        .find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"))
        .map(|(_, text)| text.place.span)
}
