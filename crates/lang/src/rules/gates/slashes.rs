//! F416: a pattern between slashes, as in JavaScript: here the slashes are looked for, too.

use crate::model::{Check, Field, PlainCheck, Shape, TestFile};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::rules::support::scorecards::{checks, checks_of, expected};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let own =
        pipeline.steps.iter().filter_map(|planned| planned.step.kind.facts().judges).flat_map(|judging| checks_of(judging.own_criteria()));
    file.scorecards.values().flat_map(checks).chain(own).for_each(|(_, check)| of_check(check, out));
    let outputs = file.agents.values().filter_map(|agent| agent.output.as_ref());
    for shape in outputs.chain([&file.inputs]) {
        let Shape::Fields(fields) = shape else { continue };
        fields.iter().for_each(|field| of_field(field, out));
    }
}

/// The same, for what tests expect.
pub(in crate::rules) fn in_tests(tests: &TestFile, out: &mut Vec<Diagnostic>) {
    expected(tests).for_each(|(_, check)| of_check(check, out));
}

fn of_check(check: &Spanned<Check>, out: &mut Vec<Diagnostic>) {
    if let Check::Plain(PlainCheck::Regex(pattern)) = &check.value {
        out.extend(new_finding(pattern.as_str(), check.span));
    }
}

fn of_field(field: &Field, out: &mut Vec<Diagnostic>) {
    out.extend(field.pattern.as_deref().and_then(|pattern| new_finding(pattern, field.span)));
    field.items.iter().for_each(|items| of_field(items, out));
    field.fields.iter().for_each(|inner| of_field(inner, out));
}

/// `/…/` with its flags, and no other slash in it: a path has one.
fn new_finding(pattern: &str, span: Span) -> Option<Diagnostic> {
    let (inner, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    // Without an anchor or a flag the slashes may be those of a path.
    let is_anchored = inner.starts_with('^') || inner.ends_with('$');
    let is_meant = if flags.is_empty() { is_anchored } else { flags.chars().all(|flag| "gimsuy".contains(flag)) };
    if inner.is_empty() || inner.contains('/') || !is_meant {
        return None;
    }
    let kept: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
    let wanted = if kept.is_empty() { inner.to_owned() } else { format!("(?{kept}){inner}") };
    let message = format!("the pattern {pattern} looks for the slashes, too");
    Some(finding(Code::PatternSlashes, span, &message).help(format!("write the pattern without them: {wanted}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_go_to_the_front_and_paths_stay() {
        let help = |pattern: &str| new_finding(pattern, Span::default()).map(|found| found.help.concat());
        assert_eq!(help("/^a+$/i").as_deref(), Some("write the pattern without them: (?i)^a+$"));
        assert_eq!(help("/^a+$/").as_deref(), Some("write the pattern without them: ^a+$"));
        for path in ["/", "//", "/a/b/", "/usr/bin", "^/a/$", "/a/x/y", "/(etc|usr)/", r"/\*.*\*/"] {
            assert_eq!(help(path), None, "{path}");
        }
    }
}
