//! F611: a limit of a policy under which nothing can run.

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// F611: a limit under which nothing can run.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, policy) in &pipeline.pipeline.policies {
        let nothing = [
            ("time", policy.max_time.is_some_and(|time| time.is_zero())),
            ("cost_usd", policy.max_cost_usd.is_some_and(|cost| cost <= 0.0)),
            ("tokens", policy.max_tokens == Some(0)),
            ("memory", policy.max_memory == Some(0)),
            ("file_size", policy.max_file_size == Some(0)),
        ];
        for (key, _) in nothing.into_iter().filter(|(_, is_nothing)| *is_nothing) {
            let message = format!("resource_limits.{key} of policy {} must be above 0", quoted(name));
            out.push(finding(Code::PolicyLimit, policy.span, &message).help("write a number above 0, or remove the key"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_policy;

    #[test]
    fn limits_are_above_zero() {
        let found = "F611 5:3 resource_limits.cost_usd of policy \"office\" must be above 0\nF611 5:3 resource_limits.time of policy \"office\" must be above 0\n";
        assert_eq!(with_policy(check, "resource_limits: { time: 0s, cost_usd: 0, tokens: 5 }"), found);
    }
}
