//! F218: a whole text that is the name of a value without braces around it: the name itself is used, and not the value.

use std::collections::HashSet;

use super::names::PipelineNames;
use super::problem::ReadProblem;
use super::seat::{Seat, Texts, unbraced};
use super::{Code, Diagnostic};
use crate::model::{Form, StepKind, Text};
use crate::plan::PlannedStep;
use crate::source::Span;
use crate::template;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let read = ["inputs", "steps"].map(|root| {
        let names = texts.reads(root).filter_map(|read| read.path.get(1).map(String::as_str));
        (root, names.collect::<HashSet<&str>>())
    });
    let own_code =
        |planned: &PlannedStep| if let StepKind::Python(step) = &planned.step.kind { Some(step.run.code.place.span) } else { None };
    let code: Vec<Span> = names.pipeline.steps.iter().filter_map(own_code).collect();
    for placed in &texts.all {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        out.extend(named(names, seat, placed.text).map(|name| report(placed.text, &name)));
        for (root, read) in &read {
            inside(names, placed.text, (root, read), &code, out);
        }
    }
}

/// The names of values in a longer text, which nothing reads: each was meant to be filled in.
fn inside(names: &PipelineNames, text: &Text, (root, read): (&str, &HashSet<&str>), code: &[Span], out: &mut Vec<Diagnostic>) {
    // Of what has braces the reading of templates has told.
    if template::is_like_a_name(text) || ["{{", "}}", "{%"].iter().any(|braces| text.source.contains(braces)) {
        return;
    }
    let file = &names.pipeline.pipeline;
    for (at, name) in unbraced(text, root) {
        let before = text.source[..at].trim_end_matches(['$', '=']);
        let is_known = match root {
            "inputs" => file.input_fields().iter().any(|field| field.name == name),
            _ => names.ids().any(|id| id == name),
        };
        // F214 tells those in single braces.
        if !is_known || before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '{' | '/' | '-')) || read.contains(name) {
            continue;
        }
        let rest = &text.source[at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(rest.len());
        let path = rest[..end].trim_end_matches('.');
        let wanted = format!("{{{{ {path}{} }}}}", if path.matches('.').count() == 1 && root == "steps" { ".output" } else { "" });
        let span = text.place.inside(before.len(), at + path.len());
        let named = &text.source[before.len()..at + path.len()];
        if code.contains(&text.place.span) {
            let message = format!("\"{named}\" is no name of the code, which knows only what with gives it");
            let help = format!("write {name} in its place, and add with: {{ {name}: \"{wanted}\" }} to the step");
            out.push(Diagnostic { message, ..found(span, named) }.help(help));
            continue;
        }
        let found = found(span, named);
        // Without quotes YAML may read the braces as its own, but not in a text of several lines.
        let begins_bare = text.place.offsets.first().is_some_and(|(_, file)| *file == text.place.span.start);
        let is_bare = begins_bare && !text.source.contains('\n');
        out.push(match text.place.offsets.is_empty() || is_bare {
            true => found.help(format!("write {wanted} in its place, and the whole text in quotes")),
            false => found.help(format!("write {wanted}")).proposed_fix(vec![(span, wanted)]),
        });
    }
}

/// The expression that a plain text is, if it names a value that can be read there.
fn named(names: &PipelineNames, seat: &Seat, text: &Text) -> Option<String> {
    if text.form != Form::Plain || !template::is_like_a_name(text) {
        return None;
    }
    let source = text.source.trim();
    let source = source.strip_prefix(['$', '=']).unwrap_or(source);
    let root = source.split_once('.')?.0;
    // F600 reports those.
    let file = &names.pipeline.pipeline;
    // `style.css` is a file where there is no style guide.
    if root == "secrets" || root == "style" && file.style_guide.is_none() || root == "channel" && file.channels.is_empty() {
        return None;
    }
    if !root.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') || !names.known(seat).contains(&root) {
        return None;
    }
    let mut wrong = vec![];
    let read = template::expression(source, text.place.clone(), &mut wrong);
    let [path] = read.reads.as_slice() else { return None };
    let is_whole = wrong.is_empty() && source.starts_with(root) && path.path.len() > 1;
    let is_known = match names.path(seat, &path.path) {
        Ok(_) | Err(ReadProblem::MaybeMissing(_) | ReadProblem::NotUpstream { .. }) => true,
        Err(
            ReadProblem::UnknownName(_)
            | ReadProblem::UnknownStep(_)
            | ReadProblem::UnknownField { .. }
            | ReadProblem::WrongPlace(..)
            | ReadProblem::BesideOutputs(..)
            | ReadProblem::NoOutputFields(_)
            | ReadProblem::NoRounds(_),
        ) => false,
    };
    // A step alone is no value: its output is meant.
    let whole_step = path.path.len() == 2 && root == "steps" && !source.contains('|');
    (is_whole && is_known).then(|| if whole_step { format!("{source}.output") } else { source.to_owned() })
}

fn found(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(Code::MissingBraces, span, format!("\"{name}\" is only text here; a value is written in two braces"))
}

fn report(text: &Text, name: &str) -> Diagnostic {
    let span = text.place.span;
    let wanted = format!("{{{{ {name} }}}}");
    // Within quotes and in block texts the name alone is replaced.
    let is_bare = text.place.offsets.first().is_some_and(|(_, file)| *file == span.start);
    let found = found(span, text.source.trim()).help(format!("write \"{wanted}\""));
    match text.place.offsets.is_empty() {
        true => found,
        false if is_bare => found.proposed_fix(vec![(span, format!("\"{wanted}\""))]),
        false => {
            let (from, to) = (text.source.len() - text.source.trim_start().len(), text.source.trim_end().len());
            found.proposed_fix(vec![(text.place.inside(from, to), wanted)])
        }
    }
}
