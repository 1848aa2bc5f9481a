//! What `flow fix` makes of a file: its safe edits, again and again until there are none.

use std::path::{Path, PathBuf};

use super::edits::EditTrial;
use super::{Checked, check_file};
use crate::diagnostic::{Diagnostic, Edit, Fix};
use crate::port::{Files, Overlay, ReadFileError};
use crate::source::FileId;

/// Most rounds. Edits that touch wait for the next one, and each edit takes a finding away, so that few are ever needed.
const MOST_ROUNDS: usize = 20;

/// A file with its safe edits in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// The text that was read.
    pub before: String,
    /// The text with the edits; the same if there are none.
    pub text: String,
    /// The findings that were fixed: code and message, in the order of fixing.
    pub findings: Vec<(String, String)>,
}

/// Why a file is not fixed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFixed {
    /// It cannot be read.
    #[error("{problem}; {}", .problem.help())]
    Unreadable {
        /// Why.
        problem: ReadFileError,
    },
    /// Each edit brings the next one.
    #[error("its edits do not come to an end; correct it by hand")]
    Endless,
}

/// Applies the safe edits of a file's own findings until none is left that may be offered. `readers` are other files that read this one:
/// an edit that brings a finding there is not made; they are asked for only if there is something to edit.
///
/// # Errors
/// The file cannot be read, or its edits do not come to an end.
pub fn fix_file(path: &Path, project: &Path, files: &dyn Files, readers: &dyn Fn() -> Vec<PathBuf>) -> Result<Fixed, NotFixed> {
    let before = files.read_text(path).map_err(|problem| NotFixed::Unreadable { problem })?;
    let mut fixed = Fixed { text: before.clone(), before, findings: vec![] };
    let place = files.real_path(path).unwrap_or_else(|| path.to_path_buf());
    let mut others = None;
    for _ in 0..MOST_ROUNDS {
        let now = Overlay { below: files, texts: [(place.clone(), fixed.text.as_str().into())].into() };
        let checked = check_file(path, project, &now);
        let safe = safe(&checked);
        if safe.is_empty() {
            return Ok(fixed);
        }
        let others: &Vec<PathBuf> = others.get_or_insert_with(readers);
        let others: Vec<(&Path, Checked)> = others.iter().map(|other| (other.as_path(), check_file(other, project, &now))).collect();
        let round = Round {
            own: EditTrial { checked: &checked, path, project, files: &now },
            others: others.iter().map(|(path, checked)| EditTrial { checked, path, project, files: &now }).collect(),
        };
        let (mut taken, first) = (vec![], apart(&safe, &[]));
        round.take(&mut taken, &first);
        // Of two edits of one place the second may hold where the first does not.
        let is_second = |(_, fix): &&ProposedEdit| !first.iter().any(|(_, other)| std::ptr::eq(*fix, *other));
        let second: Vec<ProposedEdit> = safe.iter().filter(is_second).copied().collect();
        let second = apart(&second, &taken);
        round.take(&mut taken, &second);
        let Some((text, _)) = round.own.after(&taken) else { return Ok(fixed) };
        fixed.text = text;
        fixed.findings.extend(taken.iter().map(|(found, _)| (found.code.id().to_owned(), found.message.clone())));
    }
    Err(NotFixed::Endless)
}

/// A finding and its edit.
type ProposedEdit<'a> = (&'a Diagnostic, &'a Fix);

/// The safe edits of a file's own findings, those of errors first: what takes an error away often takes a warning with it.
fn safe(checked: &Checked) -> Vec<ProposedEdit<'_>> {
    let is_own = |fix: &&Fix| fix.safe && fix.edits.iter().all(|(span, _)| span.file == FileId(0));
    let mut safe: Vec<ProposedEdit> =
        checked.diagnostics.iter().filter_map(|found| Some((found, found.candidate.as_ref().filter(is_own)?))).collect();
    safe.sort_by_key(|(found, _)| found.severity());
    safe
}

/// Those that touch neither each other nor the ones that are taken.
fn apart<'a>(all: &[ProposedEdit<'a>], taken: &[ProposedEdit<'a>]) -> Vec<ProposedEdit<'a>> {
    let mut places: Vec<&Edit> = taken.iter().flat_map(|(_, fix)| &fix.edits).collect();
    let mut apart = vec![];
    for (found, fix) in all {
        let touches = |(span, _): &Edit| places.iter().any(|(other, _)| span.start <= other.end && other.start <= span.end);
        if !fix.edits.iter().any(touches) {
            places.extend(&fix.edits);
            apart.push((*found, *fix));
        }
    }
    apart
}

/// One state of the file and of those that read it.
struct Round<'a> {
    own: EditTrial<'a>,
    others: Vec<EditTrial<'a>>,
}

impl Round<'_> {
    /// Adds those of `group` that may be offered together with `taken`: all at once, else each half by itself.
    fn take<'f>(&self, taken: &mut Vec<ProposedEdit<'f>>, group: &[ProposedEdit<'f>]) {
        if group.is_empty() {
            return;
        }
        let all: Vec<_> = taken.iter().chain(group).copied().collect();
        if self.is_sound(&all) {
            *taken = all;
        } else if let [_, _, ..] = group {
            let (first, second) = group.split_at(group.len() / 2);
            self.take(taken, first);
            self.take(taken, second);
        }
    }

    fn is_sound(&self, fixes: &[ProposedEdit<'_>]) -> bool {
        let all = Fix { edits: fixes.iter().flat_map(|(_, fix)| fix.edits.clone()).collect(), safe: true };
        self.own.after(fixes).is_some() && self.others.iter().all(|other| self.own.is_allowed_by(other, &all))
    }
}
