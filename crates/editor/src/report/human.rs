//! Output for people, in a terminal.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::look::columns;
use super::picture::{Excerpt, ExcerptMark, excerpts, gutter};
use super::{Findings, Look};
use crate::diagnostic::{Diagnostic, Severity, visible};

/// Formats every finding with its excerpt, followed by an empty line. The text is the same with and without colour; colours are its only
/// ANSI escapes. In a window, lines are cut and texts are wrapped, but never a place (`file:line:column`).
pub fn human(findings: &Findings<'_>, look: Look) -> String {
    let renderer = if look.is_coloured { Renderer::styled() } else { Renderer::plain() };
    // Lines are cut before drawing, where columns can be kept correct.
    let renderer = renderer.term_width(1000);
    findings.shown.iter().map(|diagnostic| one(findings, diagnostic, &renderer, look)).collect()
}

fn one(findings: &Findings<'_>, diagnostic: &Diagnostic, renderer: &Renderer, look: Look) -> String {
    let (level, name) = match diagnostic.severity() {
        Severity::Error => (Level::ERROR, "error"),
        Severity::Warning => (Level::WARNING, "warning"),
        Severity::Info => (Level::INFO, "info"),
    };
    let mut excerpts = excerpts(findings.sources, diagnostic.span, &diagnostic.related, look.room(0));
    let last = excerpts.iter().map(|excerpt| excerpt.first_line + excerpt.text.matches('\n').count()).max();
    let gutter = gutter(last.unwrap_or_default());
    let note = |level: Level<'static>, name: &str, text: &str| {
        let text = look.behind(gutter + name.len() + 3, &visible(text));
        level.with_name(name.to_owned()).message(text)
    };
    let title = look.behind(name.len() + diagnostic.code.id().len() + 4, &visible(&diagnostic.message));
    let mut group = Group::with_title(level.primary_title(title).id(diagnostic.code.id()));
    let labels: Vec<Vec<(usize, String)>> = excerpts.iter_mut().map(|excerpt| without_room(excerpt, look.room(gutter))).collect();
    for (excerpt, labels) in excerpts.iter().zip(labels) {
        group = group.element(drawn(excerpt));
        for (line, label) in labels {
            group = group.element(note(Level::NOTE, &format!("line {line}"), &label));
        }
    }
    for line in &diagnostic.help {
        group = group.element(note(Level::HELP, "help", line));
    }
    if diagnostic.fix.as_ref().is_some_and(|fix| fix.safe) {
        group = group.element(note(Level::HELP, "fix", "flow fix can write this"));
    }
    group = group.element(note(Level::NOTE, "more", &format!("flow explain {}", diagnostic.code.id())));
    let mut text = renderer.render(&[group]);
    for excerpt in &excerpts {
        text = true_column(text, excerpt);
    }
    text + "\n\n"
}

/// Removes labels without room beside their marks from an excerpt, and returns them with their lines. This includes a label with wide
/// characters and a mark to its right: `annotate-snippets` would draw that mark too far to the right.
fn without_room(excerpt: &mut Excerpt, room: Option<usize>) -> Vec<(usize, String)> {
    let last = |line| excerpt.marks.iter().filter(|mark| mark.line == line).map(|mark| mark.place.start).max();
    let has_no_room = |mark: &ExcerptMark| {
        let Some(label) = &mark.label else { return false };
        let is_over = room.is_some_and(|room| mark.reach + 1 + columns(label) > room);
        is_over || columns(label) != label.chars().count() && last(mark.line) > Some(mark.place.start)
    };
    let moved: Vec<bool> = excerpt.marks.iter().map(has_no_room).collect();
    let moved = excerpt.marks.iter_mut().zip(moved).filter(|(_, is_moved)| *is_moved).map(|(mark, _)| mark);
    moved.filter_map(|mark| mark.label.take().map(|label| (mark.line, label))).collect()
}

fn drawn(excerpt: &Excerpt) -> Snippet<'_, Annotation<'_>> {
    let marks = excerpt.marks.iter().map(|mark| {
        let kind = if mark.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        kind.span(mark.place.clone()).label(mark.label.as_deref())
    });
    Snippet::source(excerpt.text.as_str()).line_start(excerpt.first_line).path(excerpt.file.as_str()).annotations(marks)
}

/// Corrects the column: for a line that was cut or has escapes, the library counts columns of the drawn line, not of the file.
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
