//! F610: a name in a list of what is allowed and in one of what is not.

use std::collections::HashMap;

use crate::policy::tool_refused;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::{Span, Spanned};

/// F610: a name in a list of what is allowed and in one of what is not; of a policy or a tool.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for policy in file.policies.values() {
        let allowed = policy.allowed_tools.as_deref().unwrap_or_default();
        overlap(("allowed_tools", allowed), ("disallowed_tools", &policy.disallowed_tools), out);
        for name in allowed {
            let tool = name.value.split('(').next().unwrap_or_default().trim();
            // Which tools a pattern means is not one answer.
            if tool.contains(['*', '?', '[', '{']) {
                continue;
            }
            let is_equal = |entry: &Spanned<String>| allowed.iter().any(|other| other.value == entry.value);
            let refusing = policy.disallowed_tools.iter().find(|entry| tool_refused(&entry.value, tool, None) && !is_equal(entry));
            out.extend(refusing.map(|entry| {
                let message = format!(
                    "{} in allowed_tools is always denied: {} in disallowed_tools means it, too",
                    quoted(&name.value),
                    quoted(&entry.value)
                );
                found(name.span, &message).related(entry.span, "this entry goes before").help("remove one of the two")
            }));
        }
    }
    for tool in file.tools.values() {
        overlap(("allow", tool.allow.as_deref().unwrap_or_default()), ("deny", &tool.deny), out);
    }
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::ListsOverlap, span, message)
}

fn overlap(first: (&str, &[Spanned<String>]), second: (&str, &[Spanned<String>]), out: &mut Vec<Diagnostic>) {
    let allowed: HashMap<&str, Span> = first.1.iter().map(|name| (name.value.as_str(), name.span)).collect();
    for name in second.1 {
        let Some(other) = allowed.get(name.value.as_str()) else { continue };
        let message = format!("{} is in {} and {}", quoted(&name.value), first.0, second.0);
        out.push(found(name.span, &message).related(*other, "allowed here").help("remove it from one of the two lists"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, with_policy};

    #[test]
    fn a_name_is_in_one_list_only() {
        assert_eq!(
            with_policy(check, "allowed_tools: ['shell(git *)'], disallowed_tools: ['shell(git *)']"),
            "F610 5:65 \"shell(git *)\" is in allowed_tools and disallowed_tools\n"
        );
        for (allowed, denied) in [("say", "s*"), ("say", "SAY"), ("git(log *)", "git"), ("docs.write", "'*.write'"), ("docs.write", "docs")]
        {
            let found = with_policy(check, &format!("allowed_tools: ['{allowed}'], disallowed_tools: [{denied}]"));
            assert!(
                found.starts_with(&format!("F610 5:29 \"{allowed}\" in allowed_tools is always denied: ")),
                "{allowed} {denied}: {found}"
            );
        }
        for (allowed, denied) in [("hook", "shell"), ("git(log *)", "'git(push *)'"), ("docs", "docs.write"), ("'*.write'", "docs.write")] {
            assert_eq!(with_policy(check, &format!("allowed_tools: [{allowed}], disallowed_tools: [{denied}]")), "", "{allowed} {denied}");
        }
        let tool = "tools: { docs: { file: notes, allow: [read], deny: [read] } }\nsteps: [{ id: a, set: 1 }]\n";
        assert_eq!(says(check, tool), "F610 3:53 \"read\" is in allow and deny\n");
    }
}
