//! The safe edits of findings, applied: what `flow fix` writes.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Checked, check_file};
use crate::diagnostic::{Diagnostic, Severity};
use crate::port::{Files, Overlay};
use crate::source::{FileId, Span};

/// Edits that touch wait for the next round; more rounds than this are never needed by edits that end.
const MOST_ROUNDS: usize = 10;

/// A file with its safe edits in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The text with the edits.
    pub text: String,
    /// The findings that were mended: code and message, in the order of mending.
    pub mended: Vec<(String, String)>,
}

/// Why the safe edits of a file are not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its edits would bring another mistake: {0}")]
pub struct Refused(pub String);

/// Applies the safe edits of a file's own findings, again and again until there are none. `None`: there are none at all.
///
/// # Errors
/// An error would be there afterwards that was not there before; then nothing is to be written.
pub fn mend(path: &Path, project: &Path, files: &dyn Files) -> Result<Option<Mended>, Refused> {
    let Ok(written) = files.read_text(path) else { return Ok(None) };
    let mut mended = Mended { text: written, mended: vec![] };
    let mut checked = check_file(path, project, files);
    let before = errors(&checked);
    for _ in 0..MOST_ROUNDS {
        let (text, done) = round(&mended.text, &checked.diagnostics);
        if done.is_empty() {
            break;
        }
        mended.text = text;
        mended.mended.extend(done);
        let texts = [(files.real_path(path).unwrap_or_else(|| path.to_path_buf()), mended.text.as_str().into())].into();
        checked = check_file(path, project, &Overlay { below: files, texts });
    }
    if mended.mended.is_empty() {
        return Ok(None);
    }
    let new = errors(&checked).into_iter().find(|(found, count)| before.get(found).is_none_or(|earlier| earlier < count));
    match new {
        Some(((code, message), _)) => Err(Refused(format!("{code} {message}"))),
        None => Ok(Some(mended)),
    }
}

/// The text with all safe edits that do not touch each other, and what they mend.
fn round(text: &str, found: &[Diagnostic]) -> (String, Vec<(String, String)>) {
    let is_own = |edits: &[(Span, String)]| edits.iter().all(|(span, _)| span.file == FileId(0));
    let mut edits: Vec<&(Span, String)> = vec![];
    let mut done = vec![];
    for diagnostic in found {
        let Some(fix) = diagnostic.fix.as_ref().filter(|fix| fix.safe && is_own(&fix.edits)) else { continue };
        // Where an error stands too, the edit may be of the wrong reading: `required: no` is no text.
        let is_error = |other: &&Diagnostic| other.severity() == Severity::Error && other.code != diagnostic.code;
        let stands = |other: &Diagnostic| {
            other.span.file == diagnostic.span.file && other.span.start <= diagnostic.span.end && diagnostic.span.start <= other.span.end
        };
        if found.iter().filter(is_error).any(stands) {
            continue;
        }
        let touches = |(span, _): &(Span, String)| edits.iter().any(|(other, _)| span.start <= other.end && other.start <= span.end);
        if fix.edits.iter().any(touches) {
            continue;
        }
        edits.extend(&fix.edits);
        done.push((diagnostic.code.id().to_owned(), diagnostic.message.clone()));
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut edited = String::with_capacity(text.len());
    let mut from = 0;
    for (span, new) in edits {
        edited.push_str(text.get(from..span.start as usize).unwrap_or_default());
        edited.push_str(new);
        from = span.end as usize;
    }
    edited.push_str(text.get(from..).unwrap_or_default());
    (edited, done)
}

/// How often each error is there.
fn errors(checked: &Checked) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for found in checked.diagnostics.iter().filter(|found| found.severity() == Severity::Error) {
        *counts.entry((found.code.id().to_owned(), found.message.clone())).or_default() += 1;
    }
    counts
}
