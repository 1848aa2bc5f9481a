//! What a text reads of steps, and whether what it reads ends up in what it gives.

use crate::model::{Form, Read, Text};
use crate::plan::PipelinePlan;

/// Whether what a text reads is part of what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rules) enum Disclosure {
    /// It is only tested or counted.
    Nothing,
    /// It may be.
    Perhaps,
    /// It is, whenever the text is filled in.
    Surely,
}

/// Filters that give what they are given, as far as a reader is concerned.
const KEEPING: [&str; 7] = ["default", "upper", "lower", "trim", "title", "tojson", "join"];

/// The step whose output a read is of, and the path below `output`.
pub(in crate::rules) fn output_of(read: &Read) -> Option<(&str, &[String])> {
    match read.path.as_slice() {
        [steps, id, output, rest @ ..] if steps == "steps" && output == "output" => Some((id, rest)),
        _ => None,
    }
}

/// The one output a bare expression is: nothing but `steps.x.output` and what is below it.
pub(in crate::rules) fn sole_output(text: &Text) -> Option<(&str, &[String])> {
    match text.reads.as_slice() {
        [read] if gives(text, read) == Disclosure::Surely => output_of(read),
        _ => None,
    }
}

/// How sure it is that the value of a read is part of what the text gives. Goes by the words around each place where it is read.
pub(in crate::rules) fn gives(text: &Text, read: &Read) -> Disclosure {
    let path = read.path.join(".");
    let mut found = None;
    // The last `{{` or `{%` before a place, and how far it has been looked for.
    let (mut tag, mut seen) = (None, 0);
    for (start, _) in text.source.match_indices(&path) {
        let between = text.source.get(seen..start).unwrap_or_default();
        tag = between.rfind("{{").max(between.rfind("{%")).map(|at| seen + at).or(tag);
        seen = start;
        let (before, after) = (&text.source[..start], &text.source[start + path.len()..]);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        if before.ends_with(|c| is_part(c) || c == '.') || after.starts_with(is_part) {
            continue;
        }
        let here = match (text.form, tag) {
            (Form::Bare, _) => gives_here(before.trim(), after.trim()),
            (_, Some(tag)) => in_tag(text.source.get(tag..start).unwrap_or_default(), after),
            (_, None) => Disclosure::Perhaps,
        };
        if here == Disclosure::Surely {
            return here;
        }
        found = found.max(Some(here));
    }
    found.unwrap_or(Disclosure::Perhaps)
}

/// `before` begins with `{{` or `{%`.
fn in_tag(before: &str, after: &str) -> Disclosure {
    if let Some(statement) = before.strip_prefix("{%") {
        let words = statement.trim_start_matches(['-', ' ']);
        return if words.starts_with("if") || words.starts_with("elif") { Disclosure::Nothing } else { Disclosure::Perhaps };
    }
    let before = before.trim_start_matches(['{', '-']).trim();
    gives_here(before, after.split("}}").next().unwrap_or_default().trim_end_matches('-').trim())
}

/// `before` and `after` are the rest of the expression.
fn gives_here(before: &str, after: &str) -> Disclosure {
    let tested_before = ["if", "not"].iter().any(|word| before.ends_with(word));
    let tested_after = ["is ", "==", "!=", ">", "<", "in ", "not in "].iter().any(|word| after.starts_with(word));
    if tested_before || tested_after {
        return Disclosure::Nothing;
    }
    let Some(filter) = after.strip_prefix('|') else {
        return if before.is_empty() && after.is_empty() { Disclosure::Surely } else { Disclosure::Perhaps };
    };
    let name: String = filter.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    match name.as_str() {
        "length" => Disclosure::Nothing,
        name if before.is_empty() && KEEPING.contains(&name) => Disclosure::Surely,
        _ => Disclosure::Perhaps,
    }
}

/// How many places read anything of a step.
pub(in crate::rules) fn readers(pipeline: &PipelinePlan, id: &str) -> usize {
    let mut count = 0;
    pipeline.pipeline.each_text(&mut |authored| {
        let reads = authored.text().map_or(&[][..], |text| &text.reads);
        count += reads.iter().filter(|read| matches!(read.path.as_slice(), [steps, step, ..] if steps == "steps" && step == id)).count();
    });
    count
}

/// A text with blanks in place of all that is filled in.
pub(in crate::rules) fn without_places(source: &str) -> String {
    let mut fixed = source.to_owned();
    let mut from = 0;
    while let Some((start, close)) = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")]
        .into_iter()
        .filter_map(|(open, close)| Some((from + source.get(from..)?.find(open)?, close)))
        .min_by_key(|(start, _)| *start)
    {
        let end = source[start..].find(close).map_or(source.len(), |end| start + end + close.len());
        fixed.replace_range(start..end, &" ".repeat(end - start));
        from = end;
    }
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TextPlace;

    fn judged(source: &str) -> Disclosure {
        let text = crate::template::text(source, TextPlace::default(), &mut vec![]);
        gives(&text, text.reads.iter().find(|read| read.path[0] == "inputs").unwrap())
    }

    #[test]
    fn a_printed_name_is_given_a_tested_one_is_not() {
        for (source, expected) in [
            ("{{ inputs.a }}", Disclosure::Surely),
            ("Hello {{- inputs.a | default('x') -}}!", Disclosure::Surely),
            ("{% if inputs.a %}x{% endif %}", Disclosure::Nothing),
            ("{% if inputs.a %}{{ inputs.a }}{% endif %}", Disclosure::Surely),
            ("{{ inputs.a | length }}", Disclosure::Nothing),
            ("{{ 'yes' if inputs.a else 'no' }}", Disclosure::Nothing),
            ("{{ inputs.a == 3 }}", Disclosure::Nothing),
            ("{{ 'x' ~ inputs.a }}", Disclosure::Perhaps),
            ("{{ inputs.a if run.id else '' }}", Disclosure::Perhaps),
            ("{% for x in inputs.a %}{{ x }}{% endfor %}", Disclosure::Perhaps),
            ("{{ inputs['a'] }}", Disclosure::Perhaps),
        ] {
            assert_eq!(judged(source), expected, "{source}");
        }
    }
}
