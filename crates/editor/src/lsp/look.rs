//! Hover and "go to definition": the meaning of the name at the cursor, and where it is defined.

use std::path::{Path, PathBuf};

use super::expression::{open_expression, path_at, words};
use super::spot::{Spot, SpotPart, SpotTarget, find};
use super::things::{self, FileContext};
use crate::check::Checked;
use crate::diagnostic::Diagnostic;
use crate::lower::keys::{Takes, Thing};
use crate::model::{Pipeline, Shape};
use crate::rules::guarantees;
use crate::source::{FileId, SourceFile, Span};
use crate::syntax::{self, Node, Scalar};

/// The place of a definition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// In a file that the last check read.
    Span(Span),
    /// At the start of a file.
    File(PathBuf),
}

/// Returns the hover text for a byte of a file, in Markdown.
pub fn hover(source: &SourceFile, at: u32, last: Option<&Checked>, findings: &[&Diagnostic]) -> Option<String> {
    let mut parts: Vec<String> = findings.iter().map(|found| about_finding(found)).collect();
    let tree = parsed(source);
    if let Some(spot) = find(&tree, SpotTarget::Byte(at)) {
        parts.extend(about_spot(&spot, at, last));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n---\n\n"))
}

fn parsed(source: &SourceFile) -> Node {
    syntax::parse(FileId::default(), source, &mut vec![])
}

/// Returns the message of a finding and the start of its page.
fn about_finding(found: &Diagnostic) -> String {
    let lines: Vec<&str> =
        found.code.page().lines().skip(1).skip_while(|line| line.trim().is_empty()).take_while(|line| !line.starts_with("## ")).collect();
    format!("**{} {}**: {}\n\n{}", found.code.id(), found.code.name(), found.message, lines.join("\n").trim())
}

fn about_spot(spot: &Spot, at: u32, last: Option<&Checked>) -> Option<String> {
    let pipeline = last.and_then(|last| last.loaded.program.pipelines.first()).map(AsRef::as_ref);
    match &spot.part {
        SpotPart::Key { key, keys, .. } => match keys.rule(&key.text) {
            Some(rule) if rule.name == "guarantees" => {
                let said = last.map(|last| guarantees::lines(&last.plan)).unwrap_or_default();
                let list: Vec<String> = said.iter().map(|line| format!("- {line}")).collect();
                Some(format!("**{}**: {}\n\n{}", rule.name, rule.about, list.join("\n")))
            }
            Some(rule) => {
                let needed = if rule.is_required { "\n\nrequired" } else { "" };
                let words = match &rule.takes {
                    Takes::Word(words) => format!("\n\none of: {}", words.join(", ")),
                    _ => String::new(),
                };
                Some(format!("**{}**: {}{words}{needed}", rule.name, rule.about))
            }
            None => things::about(things::of_section(spot.way.last()?)?, &key.text, pipeline?),
        },
        SpotPart::Value { slot, scalar, .. } => {
            let takes = slot.map(|slot| slot.values()).unwrap_or_default();
            let thing = takes.iter().find_map(|takes| if let Takes::Of(thing) = takes { Some(*thing) } else { None });
            match thing {
                Some(Thing::Step) => step_of(&scalar.text, spot, last?),
                Some(thing) if !scalar.text.contains("{{") && !scalar.text.starts_with("steps.") => {
                    things::about(thing, &scalar.text, pipeline?)
                }
                _ if spot.way.last() == Some(&"id") => step_of(&scalar.text, spot, last?),
                _ => about_path(&path_in(scalar, at, &takes)?, spot, last?),
            }
        }
    }
}

fn step_of(id: &str, spot: &Spot, last: &Checked) -> Option<String> {
    things::step(id, &spot.ids, last.plan.pipelines.first()?).map(things::about_step)
}

fn about_path(path: &[String], spot: &Spot, last: &Checked) -> Option<String> {
    if let [root, id] = path
        && root == "steps"
    {
        return step_of(id, spot, last);
    }
    let kind = words(path, spot, last)?;
    Some(format!("**{}**: {kind}", path.join(".")))
}

/// Returns the path of names at a byte of the file, if it is in an expression.
fn path_in(scalar: &Scalar, at: u32, takes: &[&Takes]) -> Option<Vec<String>> {
    let place = scalar.offsets.partition_point(|(_, file)| *file <= at).checked_sub(1)?;
    let (text, file) = scalar.offsets.get(place)?;
    let inside = (text + (at - file)) as usize;
    let is_bare = takes.iter().any(|takes| matches!(takes, Takes::Expression | Takes::Of(Thing::Scorecard)));
    let is_open = || scalar.text.get(..inside).is_some_and(|head| open_expression(head).is_some());
    (is_bare || is_open()).then(|| path_at(&scalar.text, inside))?
}

/// Returns the definition of the name at a byte.
pub fn definition(source: &SourceFile, at: u32, last: Option<&Checked>, around: &FileContext) -> Option<Goal> {
    let tree = parsed(source);
    let spot = find(&tree, SpotTarget::Byte(at))?;
    let SpotPart::Value { slot, scalar, .. } = &spot.part else { return None };
    let takes = slot.map(|slot| slot.values()).unwrap_or_default();
    let plan = || last.and_then(|last| last.plan.pipelines.first());
    for takes in &takes {
        match takes {
            Takes::Of(thing @ (Thing::Channel | Thing::StyleGuide)) => return around.named_file(*thing, &scalar.text).map(Goal::File),
            Takes::Of(Thing::Step) => return things::step(&scalar.text, &spot.ids, plan()?).map(|step| Goal::Span(step.id.span)),
            Takes::Of(thing) if !scalar.text.starts_with("steps.") => {
                return things::span(*thing, &scalar.text, &plan()?.pipeline).map(Goal::Span);
            }
            Takes::Path => return file(around, &scalar.text).map(Goal::File),
            Takes::Template if spot.way.last() == Some(&"read") && !scalar.text.contains("{{") => {
                return file(around, &scalar.text).map(Goal::File);
            }
            _ => {}
        }
    }
    let path = path_in(scalar, at, &takes)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["steps", id, ..] => things::step(id, &spot.ids, plan()?).map(|step| Goal::Span(step.id.span)),
        ["inputs", name, ..] => input(&plan()?.pipeline, name).map(Goal::Span),
        ["secrets", name, ..] => plan()?.pipeline.secrets.get(*name).map(|secret| Goal::Span(secret.span)),
        _ => None,
    }
}

fn input(pipeline: &Pipeline, name: &str) -> Option<Span> {
    let Shape::Fields(fields) = &pipeline.inputs else { return None };
    fields.iter().find(|field| field.name == name).map(|field| field.span)
}

fn file(around: &FileContext, written: &str) -> Option<PathBuf> {
    let path = crate::load::normalised(&around.folder.join(Path::new(written)));
    around.files.exists(&path).then_some(path)
}
