//! Each effect has a key by which its receiver knows a repetition.

use std::collections::HashMap;

use super::sites::{look, run_by, tools_of_models};
use super::{GuaranteeVerdict, WaysFound};
use crate::labels::{ChainIx, Labels};
use crate::model::{AgentProgram, Form, PipelineId, StepKind, Text, Tool, ToolKind};
use crate::plan::{PipelinePlan, Plan, PlannedStep, StepBounds, StepIx, bounds};
use crate::rules::steps::same_key::loops_with_one_key;
use crate::rules::support::effects::has_retry;
use crate::source::Span;

/// What decides whether a step runs again: itself, or a step around it, here or in a pipeline that calls this one.
struct AroundStep {
    /// After a crash a person is asked, and nothing else starts it again.
    asks_first: bool,
    /// The step that is `once` is in a `finally`.
    is_at_the_end: bool,
    /// A step around begins all that is in it anew when it fails.
    retried_by: Option<String>,
    /// It is `once`.
    is_once: bool,
    /// The refinement runs it again.
    is_refined: bool,
    /// A loop that it is in gives each element or round the key that the author wrote.
    shares_key: Option<String>,
}

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    let bounds = bounds(plan, None, &|_, _| None);
    look(plan, pipeline, &mut |labels, chain, _, found| {
        let planned = labels.pipeline(chain);
        let parts = bounds.get(labels.id(chain).0).map(|own| own.steps.as_slice()).unwrap_or_default();
        let parts: HashMap<StepIx, &StepBounds> = parts.iter().map(|part| (part.step, part)).collect();
        for (ix, step) in planned.numbered_steps() {
            let (step, pipeline) = (&step.step, &planned.pipeline);
            let by = labels.step_words(chain, ix);
            let mut around = around(labels, chain, ix);
            let kind = &step.kind;
            let own = kind.facts().receiver.map(|name| name.value.as_str());
            let tool = own.and_then(|name| pipeline.tool(name)).map(|(tool, _)| tool);
            let shared = own_key(tool, kind).and_then(|key| loops_with_one_key(planned, ix, key).next());
            around.shares_key = shared.map(|holder| format!("step {}", planned.path(holder)));
            if around.asks_first && around.is_at_the_end {
                let message = format!("no run that a signal ended is resumed: then its finally runs again, and {by} with it");
                found.only_if(step.kind_span, message, vec![], "move the step out of finally, or make sure of it".into());
            }
            let used = tools_of_models(labels, chain, ix);
            let tools = tool.into_iter().chain(used.iter().map(|used| used.tool));
            let mut started = kind.facts().starts.into_iter().chain(tools.filter_map(run_by));
            if started.any(|run| run.reads_only && !run.network.is_none()) {
                let message = format!("a program of {by} with a network changes nothing outside (reads_only): it may run again");
                found.only_if(step.kind_span, message, vec![], "make sure of it".into());
            }
            if kind.effects(pipeline).changes {
                keyed(&by, tool, kind, &around, step.kind_span, found);
            }
            let programs = agent_programs(planned, &step.kind, parts.get(&ix).copied());
            let tries = programs.iter().map(|(_, tries)| *tries).sum();
            for (program, _) in programs {
                asked(&by, (program, tries), &around, step.kind_span, found);
            }
            for used in used {
                if used.tool.effects(used.part).changes {
                    keyed(&format!("the agent of {by}"), Some(used.tool), kind, &around, used.name.span, found);
                }
            }
        }
    })
}

/// The programs that models of a step are, of its agents and judges, and those tried after them; each with how often it is asked when it fails.
fn agent_programs<'p>(planned: &'p PipelinePlan, kind: &StepKind, bounds: Option<&StepBounds>) -> Vec<(&'p AgentProgram, u64)> {
    let askings = bounds.into_iter().flat_map(|part| &part.askings);
    let mut names: Vec<(&str, u64)> = askings.flat_map(|asking| &asking.models).map(|(name, tries)| (name.as_str(), *tries)).collect();
    // A text that is filled in may name any.
    if kind.facts().model.is_some_and(|text| text.form != Form::Plain) {
        let most = names.iter().map(|(_, tries)| *tries).max().unwrap_or(1);
        names.extend(planned.pipeline.models.keys().map(|name| (name.as_str(), most)));
    }
    let mut found: Vec<(&str, (&AgentProgram, u64))> = vec![];
    for (name, tries) in names {
        let known = planned.pipeline.models.get_key_value(name);
        let Some((name, program)) = known.and_then(|(name, model)| Some((name.as_str(), model.provider.program()?))) else { continue };
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.1 = known.1.max(tries),
            None => found.push((name, (program, tries))),
        }
    }
    found.into_iter().map(|(_, program)| program).collect()
}

/// A program that is an agent gets no key.
fn asked(by: &str, (program, tries): (&AgentProgram, u64), around: &AroundStep, span: Span, found: &mut WaysFound) {
    if program.run.writes.is_empty() {
        let message = format!("an agent program of {by} changes nothing outside: it may be asked again");
        return found.only_if(span, message, vec![], "make sure of it in the settings of the program".into());
    }
    if !around.asks_first {
        let message = format!("{by} asks an agent program that changes files, and may ask it again after a crash");
        return found.breaks(span, message, vec![], around.help("write once: true at the step: after a crash a person decides"));
    }
    if tries > 1 {
        let message = format!("an agent program of {by} that fails has changed nothing: up to {tries} are started");
        found.only_if(span, message, vec![], "write retry: { max_attempts: 1 } at the step or at its model, and no fallback".into());
    }
}

/// What decides whether a step runs again.
fn around(labels: &Labels, chain: ChainIx, ix: StepIx) -> AroundStep {
    let planned = labels.pipeline(chain);
    let list = || planned.around(ix).map(|around| planned.step(around));
    let above = labels.caller(chain).map(|(above, caller)| self::around(labels, above, caller.step()));
    let is_once = list().any(|around| around.step.is_once) || above.as_ref().is_some_and(|above| above.is_once);
    let is_at_the_end =
        list().any(|around| Some(around.block) == planned.finally) || above.as_ref().is_some_and(|above| above.is_at_the_end);
    // The retry of a step itself is told by F502, but for one that calls a pipeline, which begins anew.
    let retried = list().skip(1).find(|around| has_retry(&around.step).is_some()).map(|around| format!("step {}", around.step.id.value));
    let of_caller = || {
        let (above, caller) = labels.caller(chain)?;
        let step = &labels.pipeline(above).step(caller.step()).step;
        has_retry(step).map(|_| format!("step {}", step.id.value))
    };
    let retried_by = retried.or_else(of_caller).or_else(|| above.and_then(|above| above.retried_by));
    // What runs in both tries cannot be `once` (F402).
    let runs_again = |step: &PlannedStep| {
        let refinement = planned.refinement.as_ref().filter(|refinement| refinement.block == step.block);
        refinement.is_some_and(|refinement| refinement.stretch.binary_search(&step.place).is_ok())
    };
    let is_refined = list().any(runs_again);
    AroundStep { asks_first: is_once && retried_by.is_none(), is_at_the_end, retried_by, is_once, is_refined, shares_key: None }
}

impl AroundStep {
    /// What to do so that nothing runs twice, where `once: true` at the step does not do it.
    fn help(&self, otherwise: &str) -> String {
        match (&self.retried_by, self.is_refined) {
            (Some(by), _) => format!("remove retry from {by}, and write it at the steps that may fail; and {otherwise}"),
            (None, true) => format!("move it below the gate, and {otherwise}"),
            (None, false) => otherwise.to_owned(),
        }
    }
}

/// How a call is known again when it is made twice.
fn keyed(by: &str, tool: Option<&Tool>, kind: &StepKind, around: &AroundStep, span: Span, found: &mut WaysFound) {
    if let Some(holder) = &around.retried_by {
        let message = format!("{by} does the same each time that retry of {holder} begins it anew: its key stays the same");
        found.only_if(span, message, vec![], format!("make sure of it, or remove retry from {holder}"));
    }
    let without = match (tool.map(|tool| &tool.kind), kind) {
        (Some(ToolKind::Http { .. }), _) | (None, StepKind::Http(_)) => {
            let help = "leave it out: then each effect has a key of its own".to_owned();
            return match (own_key(tool, kind).map(|key| key.place.span), &around.shares_key) {
                (None, _) => found.rests_on.push(format!("{by} sends the header Idempotency-Key")),
                (Some(at), Some(holder)) => {
                    let message = format!("the key that the author wrote for {by} is the same each time in {holder}");
                    found.breaks(at, message, vec![], help);
                }
                (Some(at), None) => {
                    let message = format!("the key that the author wrote for {by} is never empty, and another one for each effect");
                    found.only_if(at, message, vec![], help);
                }
            };
        }
        (Some(ToolKind::Smtp { .. }), _) => return found.rests_on.push(format!("{by} sends a Message-ID that is the same for each try")),
        (Some(ToolKind::File(_)), StepKind::Send(send)) if send.may_append() => "adds to a file that knows no key",
        (Some(ToolKind::File(_)), _) => return found.rests_on.push(format!("{by} writes the whole file again, with the same content")),
        (Some(ToolKind::Server(_)), _) => "calls a tool server that gets no key",
        (Some(ToolKind::Program { .. }), _) | (None, StepKind::Program(_)) => "calls a program that gets no key",
        (
            Some(ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken) | None,
            _,
        ) => {
            return;
        }
    };
    if around.asks_first {
        return found.rests_on.push(format!("{by} is once: after a crash a person decides"));
    }
    let message = match &around.retried_by {
        Some(holder) if around.is_once => format!("{by} {without}, and retry of {holder} runs it again unasked"),
        Some(_) | None => format!("{by} {without}, and may do so again after a crash"),
    };
    let help = match kind.facts().starts {
        Some(_) if around.is_once => around.help("write reads_only: true if it changes nothing"),
        Some(_) => around.help("write reads_only: true if it changes nothing, or once: true at the step"),
        None => around.help("write once: true at the step: after a crash a person decides"),
    };
    found.breaks(span, message, vec![], help);
}

/// The key that an author wrote, as such or as its header.
fn own_key<'p>(tool: Option<&'p Tool>, kind: &'p StepKind) -> Option<&'p Text> {
    let of_tool = tool.and_then(|tool| if let ToolKind::Http { headers, .. } = &tool.kind { Some(headers) } else { None });
    let of_step = if let StepKind::Http(http) = kind { Some(&http.headers) } else { None };
    let mut headers = of_tool.into_iter().chain(of_step).flatten();
    kind.idempotency_key().or_else(|| headers.find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key")).map(|(_, text)| text))
}
