//! F305: a bound that nobody wrote.

use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{PipelinePlan, Plan};

/// Rounds of tool calls of an agent without `max_turns` (section 13 of the language page).
const DEFAULT_TURNS: u64 = 10;

pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, agent) in &pipeline.pipeline.agents {
        if !agent.tools.is_empty() && agent.max_turns.is_none() {
            let message = format!("agent \"{name}\" has tools but no max_turns; the default, {DEFAULT_TURNS}, applies");
            out.push(
                Diagnostic::new(Code::DefaultBound, agent.span, message).help(format!("write max_turns: {DEFAULT_TURNS}, or what fits")),
            );
        }
    }
}
