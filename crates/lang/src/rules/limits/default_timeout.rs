//! F500: a call over the network that is bounded by the default only.

use crate::model::CALL_TIMEOUT;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let is_bounded = step.timeout.is_some() || step.deadline.is_some();
        let tool = step.kind.facts().receiver.and_then(|name| pipeline.pipeline.tool(&name.value));
        let is_bounded_by_tool = tool.is_some_and(|(tool, _)| tool.timeout.is_some());
        if step.kind.method(&pipeline.pipeline).is_some() && !is_bounded && !is_bounded_by_tool {
            let message = format!(
                "step {} makes a network call and has no timeout; the default, {}s, applies",
                quoted(&step.id.value),
                CALL_TIMEOUT.as_secs()
            );
            out.push(finding(Code::DefaultTimeout, step.id.span, &message).help("add timeout: with the longest time to wait"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn the_default_timeout_is_said() {
        let step =
            |keys: &str| says(check, &format!("tools: {{ t: {{ http: GET https://example.com/ }} }}\nsteps: [{{ id: a, {keys} }}]\n"));
        let found = "F500 4:15 step \"a\" makes a network call and has no timeout; the default, 60s, applies\n";
        assert_eq!(step("http: GET https://example.com/"), found);
        assert_eq!(step("tool: t"), found);
        assert_eq!(step("tool: t, timeout: 5s"), "");
        assert_eq!(step("set: 1"), "");
    }
}
