//! Which edits may be offered. A rule only proposes ([`Diagnostic::candidate`]); an edit is shown, written or sent to an editor when it was
//! applied in memory, the file was checked again with all that it reads, and
//! - its own finding is gone, and no finding is there that was not there before,
//! - no error is at the place that was written,
//! - every other value of the file is what it was ([`super::same`]).
//!
//! How to add a condition: a line in [`EditTrial::holds`].

use std::collections::BTreeMap;
use std::path::Path;

use super::same::{self, Growth};
use super::{Checked, check_file};
use crate::diagnostic::{Diagnostic, Edit, Fix, Severity};
use crate::port::{Files, Overlay};
use crate::source::{FileId, SourceFile};

/// Most bytes that are checked to try the edits of one check: 500 edits of a pipeline of 8 KB, 40 where 100 KB are read.
/// A finding whose edit was not tried has none.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// One check, from which edits are tried.
#[derive(Clone, Copy)]
pub struct EditTrial<'a> {
    /// What was found.
    pub checked: &'a Checked,
    /// The file that was checked.
    pub path: &'a Path,
    /// The project's folder.
    pub project: &'a Path,
    /// The files it was checked among.
    pub files: &'a dyn Files,
}

/// [`check_file`], and the edits of its findings that may be offered as their [`Diagnostic::fix`].
pub fn check_with_edits(path: &Path, project: &Path, files: &dyn Files) -> Checked {
    let mut checked = check_file(path, project, files);
    add_edits(&mut checked, path, project, files);
    checked
}

/// Tries the edits of a check that is to be shown.
pub fn add_edits(checked: &mut Checked, path: &Path, project: &Path, files: &dyn Files) {
    let trial = EditTrial { checked, path, project, files };
    let size: usize = checked.loaded.sources.files().map(|(_, file)| file.text.len()).sum();
    let tried = checked.diagnostics.iter().filter_map(|found| found.candidate.as_ref().map(|fix| (found, fix)));
    let held: Vec<bool> = tried.take(MOST_BYTES / size.max(1)).map(|(found, fix)| trial.allows(found, fix)).collect();
    let mut held = held.into_iter();
    for found in checked.diagnostics.iter_mut().filter(|found| found.candidate.is_some()) {
        found.fix = found.candidate.take().filter(|_| held.next() == Some(true));
    }
}

impl EditTrial<'_> {
    /// Whether an edit may be offered for a finding.
    pub fn allows(&self, found: &Diagnostic, fix: &Fix) -> bool {
        self.after(&[(found, fix)]).is_some()
    }

    /// Whether the check of another file that reads the edited one allows an edit that this one allows.
    pub fn is_allowed_by(&self, other: &EditTrial, fix: &Fix) -> bool {
        let Some(file) = fix.edits.first().map(|(span, _)| self.checked.loaded.sources.file(span.file)) else { return false };
        let place = self.real(&file.name);
        let same = other.checked.loaded.sources.files().find(|(_, read)| other.real(&read.name) == place && read.text == file.text);
        let Some((id, _)) = same else { return true };
        other.holds(id, &fix.edits.iter().collect::<Vec<_>>(), &[], Growth::OfLists).is_some()
    }

    /// The text and the check with these edits, each of the finding beside it, if all of them may be offered together.
    pub fn after(&self, fixes: &[(&Diagnostic, &Fix)]) -> Option<(String, Checked)> {
        let edits: Vec<&Edit> = fixes.iter().flat_map(|(_, fix)| &fix.edits).collect();
        let file = edits.first()?.0.file;
        let own: Vec<&Diagnostic> = fixes.iter().map(|(found, _)| *found).collect();
        self.holds(file, &edits, &own, Growth::None)
    }

    /// The text with edits that write several entries in place of one, if they take these findings away and do nothing else.
    pub fn after_growth(&self, own: &[&Diagnostic], fix: &Fix) -> Option<String> {
        let file = fix.edits.first()?.0.file;
        Some(self.holds(file, &fix.edits.iter().collect::<Vec<_>>(), own, Growth::OfLists)?.0)
    }

    fn holds(&self, file: FileId, edits: &[&Edit], own: &[&Diagnostic], growth: Growth) -> Option<(String, Checked)> {
        let sources = &self.checked.loaded.sources;
        let before = sources.file(file);
        let text = edited(&before.text, edits)?;
        // A value over several lines is the author's to write anew.
        let joins = |(span, new): &&Edit| {
            let old = before.text.get(span.start as usize..span.end as usize).unwrap_or_default();
            old.contains('\n') && !new.is_empty() && !new.contains('\n')
        };
        if edits.iter().any(joins) {
            return None;
        }
        if text == *before.text || !same::is_same_but_for(&before.text, &text, edits, growth) {
            return None;
        }
        let texts = [(self.real(&before.name), text.as_str().into())].into();
        let after = check_file(self.path, self.project, &Overlay { below: self.files, texts });
        let source = SourceFile::new(before.name.as_str(), text.as_str());
        let moved = |found: &Diagnostic| match found.span.file == file {
            true => source.position(moved(found.span.start, edits)).line,
            false => sources.start(found.span).line,
        };
        let mut known: BTreeMap<FindingKey, isize> = BTreeMap::new();
        for found in self.checked.diagnostics.iter().chain(&self.checked.held_back) {
            *known.entry(key(&sources.file(found.span.file).name, found, moved(found))).or_default() += 1;
        }
        for found in own {
            *known.entry(key(&before.name, found, moved(found))).or_default() -= 1;
        }
        let sources = &after.loaded.sources;
        for found in &after.diagnostics {
            let name = &sources.file(found.span.file).name;
            let left = known.entry(key(name, found, sources.start(found.span).line)).or_default();
            *left -= 1;
            if *left < 0 {
                return None;
            }
            let stands =
                |(start, end): (u32, u32)| start < end && found.span.start < end && start < found.span.end.max(found.span.start + 1);
            if found.severity() == Severity::Error && *name == before.name && places(edits).any(stands) {
                return None;
            }
        }
        Some((text, after))
    }

    fn real(&self, name: &str) -> std::path::PathBuf {
        self.files.real_path(Path::new(name)).unwrap_or_else(|| Path::new(name).to_path_buf())
    }
}

/// What makes two findings the same one before and after an edit: file, code, message without the places in it, and line.
type FindingKey = (String, &'static str, String, usize);

fn key(file: &str, found: &Diagnostic, line: usize) -> FindingKey {
    (file.to_owned(), found.code.id(), found.message.chars().filter(|c| !c.is_ascii_digit()).collect(), line)
}

/// The text with the edits. `None`: two of them overlap, or one is outside of the text.
pub fn edited(text: &str, edits: &[&Edit]) -> Option<String> {
    let mut sorted = edits.to_vec();
    sorted.sort_by_key(|(span, _)| (span.start, span.end));
    let mut edited = String::with_capacity(text.len());
    let mut from = 0;
    for (span, new) in sorted {
        edited.push_str(text.get(from..span.start as usize)?);
        edited.push_str(new);
        from = span.end as usize;
    }
    edited.push_str(text.get(from..)?);
    Some(edited)
}

/// Where a byte of the text is after the edits; of one that was replaced, where its place begins.
fn moved(offset: u32, edits: &[&Edit]) -> u32 {
    let mut at = i64::from(offset);
    for (span, new) in edits {
        if span.end <= offset {
            at += new.len() as i64 - i64::from(span.end - span.start);
        } else if span.start < offset {
            at -= i64::from(offset - span.start);
        }
    }
    u32::try_from(at).unwrap_or_default()
}

/// Where the new texts are after all edits.
fn places(edits: &[&Edit]) -> impl Iterator<Item = (u32, u32)> {
    edits.iter().map(|(span, new)| {
        let shift: i64 = edits
            .iter()
            .filter(|(other, _)| other.start < span.start)
            .map(|(other, new)| new.len() as i64 - i64::from(other.end - other.start))
            .sum();
        let start = u32::try_from(i64::from(span.start) + shift).unwrap_or_default();
        (start, start + new.len() as u32)
    })
}
