//! For people, in a terminal.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::picture::{Excerpt, excerpts};
use super::{Findings, Look};
use crate::diagnostic::{Diagnostic, Severity, visible};

/// Every finding with its picture and an empty line behind it. The text is the same with and without colour; colours are
/// ANSI escapes, and nothing else in it is one.
pub fn human(findings: &Findings<'_>, look: Look) -> String {
    let renderer = if look.is_coloured { Renderer::styled() } else { Renderer::plain() };
    // Lines are cut before they are drawn, where columns can be kept right.
    let renderer = renderer.term_width(1000);
    findings.shown.iter().map(|diagnostic| one(findings, diagnostic, &renderer)).collect()
}

fn one(findings: &Findings<'_>, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let excerpts = excerpts(findings.sources, diagnostic.span, &diagnostic.related);
    let mut group = Group::with_title(level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.id()));
    for excerpt in &excerpts {
        group = group.element(drawn(excerpt));
    }
    for line in &diagnostic.help {
        group = group.element(Level::HELP.message(visible(line)));
    }
    if diagnostic.fix.as_ref().is_some_and(|fix| fix.safe) {
        group = group.element(Level::HELP.with_name("fix").message("flow fix can write this"));
    }
    group = group.element(Level::NOTE.with_name("more").message(format!("flow explain {}", diagnostic.code.id())));
    let mut text = renderer.render(&[group]);
    for excerpt in &excerpts {
        text = true_column(text, excerpt);
    }
    text + "\n\n"
}

fn drawn(excerpt: &Excerpt) -> Snippet<'_, Annotation<'_>> {
    let marks = excerpt.marks.iter().map(|mark| {
        let kind = if mark.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        kind.span(mark.place.clone()).label(mark.label.as_deref())
    });
    Snippet::source(excerpt.text.as_str()).line_start(excerpt.first_line).path(excerpt.file.as_str()).annotations(marks)
}

/// In a line that was cut or holds escapes the library counts columns of what it draws; people need those of the file.
fn true_column(text: String, excerpt: &Excerpt) -> String {
    let main = excerpt.marks.iter().find(|mark| mark.is_primary).or(excerpt.marks.first());
    match main {
        Some(mark) if mark.column != mark.shown_column => {
            let place = |column: usize| format!("{}:{}:{column}", excerpt.file, mark.line);
            text.replacen(&place(mark.shown_column), &place(mark.column), 1)
        }
        _ => text,
    }
}
