//! Checking what an author wrote: a scalar becomes a [`Text`], mistakes become diagnostics.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Form, Read, Text, TextPlace};
use crate::source::Span;

use super::build::{self, PathRead};
use super::problem::{TemplateProblem, excerpt};
use super::ready::{self, CompiledForm};
use super::single;
use super::stray::{Stray, has_template};
use super::tree::{SourceRange, Statement};

/// A text that may hold templates: plain, a template, or one `{{ … }}` alone (line ends after it do not count, since YAML
/// adds one to every block text).
pub fn text(source: &str, place: TextPlace, diagnostics: &mut Vec<Diagnostic>) -> Text {
    if !has_template(source) {
        match Stray::default().look(source, (0, source.len()), false) {
            Ok(()) => single::look(source, &place, diagnostics),
            Err(problem) => diagnostics.push(problem.at(&place)),
        }
        return Text { place, ..Text::plain(source) };
    }
    match build::template(source) {
        Ok(built) => {
            let form = match built.tree.as_slice() {
                [Statement::Print(..)] => Form::Sole,
                [Statement::Print(..), Statement::Raw(rest)] if rest.chars().all(|c| matches!(c, '\n' | '\r')) => Form::Sole,
                _ => Form::Template,
            };
            let (is_sound, tree) = (built.problems.is_empty(), built.tree);
            single::look(source, &place, diagnostics);
            let text = finish(source, form, place, built.reads, built.problems, diagnostics);
            if let Some(compiled) = CompiledForm::from_nodes(form, tree).filter(|_| is_sound) {
                ready::keep(&text, compiled);
            }
            text
        }
        Err(problem) => finish(source, Form::Template, place, vec![], vec![problem], diagnostics),
    }
}

/// A bare expression, as `when` and `of` take it. Braces are F207; where they hold the whole value, what they hold is read,
/// and the finding fixes it.
pub fn expression(source: &str, place: TextPlace, diagnostics: &mut Vec<Diagnostic>) -> Text {
    if let Some(inner) = braced(source) {
        let (start, end) = inner;
        let bare = source.get(start..end).unwrap_or_default();
        let example = excerpt(source, inner);
        let mut found = braces_in_condition(place.span, format!("{{{{ }}}} around an expression that stands without them: {example}"))
            .help("remove {{ and }}");
        if !place.offsets.is_empty() {
            let edits = [(0, start), (end, source.len())].map(|(from, to)| (place.inside(from, to), String::new()));
            found = found.safe_fix(edits.to_vec());
        }
        diagnostics.push(found);
        return bare_expression(bare, place.from(start), diagnostics);
    }
    if let Some(inner) = source.trim().strip_prefix('$').filter(|inner| braced(inner).is_some()) {
        let bare = inner.trim_start_matches("{{").trim_end_matches("}}").trim();
        let message = format!("${{{{ }}}} around an expression that stands without them: {}", excerpt(bare, (0, bare.len())));
        let found = braces_in_condition(place.span, message).help(format!("write {bare}"));
        diagnostics.push(found.proposed_fix(vec![(place.span, bare.to_owned())]));
        return Text { form: Form::Bare, place, ..Text::plain(source) };
    }
    if let Some(at) = first_braces(source) {
        let problem = TemplateProblem {
            found: braces_in_condition,
            ..TemplateProblem::syntax(at, "{{ }} in an expression, where names stand without them")
        };
        diagnostics.push(problem.help("write names and operators without braces, as in: steps.score.output > 7").at(&place));
        return Text { form: Form::Bare, place, ..Text::plain(source) };
    }
    bare_expression(source, place, diagnostics)
}

/// F207.
fn braces_in_condition(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::BracesInCondition, span, message)
}

fn bare_expression(source: &str, place: TextPlace, diagnostics: &mut Vec<Diagnostic>) -> Text {
    match build::expression(source) {
        Ok(built) => {
            let is_sound = built.problems.is_empty();
            let text = finish(source, Form::Bare, place, built.reads, built.problems, diagnostics);
            if is_sound {
                ready::keep(&text, CompiledForm::Expression(built.tree));
            }
            text
        }
        Err(problem) => finish(source, Form::Bare, place, vec![], vec![problem], diagnostics),
    }
}

fn finish(
    source: &str,
    form: Form,
    place: TextPlace,
    reads: Vec<PathRead>,
    problems: Vec<TemplateProblem>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Text {
    diagnostics.extend(problems.into_iter().map(|problem| problem.at(&place)));
    let reads = reads.into_iter().map(|read| Read {
        path: read.path,
        span: place.inside(read.at.0, read.at.1),
        is_guarded: read.is_guarded,
        instead_of: read.instead_of,
    });
    Text { form, reads: reads.collect(), place, ..Text::plain(source) }
}

/// What stands between the braces, if one `{{ … }}` is the whole value.
fn braced(source: &str) -> Option<SourceRange> {
    let trimmed = source.trim();
    let inner = trimmed.strip_prefix("{{")?.strip_suffix("}}")?;
    let built = build::template(trimmed).ok()?;
    if !matches!(built.tree.as_slice(), [Statement::Print(..)]) {
        return None;
    }
    let is_edge = |c: char| c == '-' || c.is_whitespace();
    let before = source.len() - source.trim_start().len() + 2;
    let start = before + (inner.len() - inner.trim_start_matches(is_edge).len());
    let end = before + inner.trim_end_matches(is_edge).len();
    (start < end).then_some((start, end))
}

/// The first `{{` or `{%` outside of quotes.
fn first_braces(source: &str) -> Option<SourceRange> {
    let mut quote = None;
    let mut before = ' ';
    for (index, character) in source.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character && before != '\\' => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '{' | '%') if before == '{' => return Some((index - 1, index + 1)),
            _ => {}
        }
        before = character;
    }
    None
}
