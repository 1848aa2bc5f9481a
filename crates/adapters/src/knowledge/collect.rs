//! Which files are the documents of a knowledge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::super::data::failure;
use super::super::files;
use super::super::folder::check_links;
use super::super::own::ManyReads;
use super::index::FileStamp;
use crate::diagnostic::visible;
use crate::event::Failure;
use crate::model::{FailureKind, FilePattern};
use crate::port::SearchRequest;

/// The most documents of a knowledge.
const MOST_DOCUMENTS: usize = 20_000;

/// A file that fits.
#[derive(Debug, Clone)]
pub(super) struct DocumentFile {
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
    pub(super) origin: DocumentOrigin,
}

/// Who named a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentOrigin {
    /// The author of the pipeline; it is in the project, and no link leads to it.
    Written,
    /// The run; its path is the place that links lead to.
    Given,
}

/// The documents, by their path from the project's folder. Links, hidden files and files that no step may read are left out; one that is named by
/// its path itself is then a failure. Of the files that a run fills in, the engine has decided like of those that a `read` step names.
pub(super) fn documents(request: &SearchRequest, own: &ManyReads) -> Result<BTreeMap<String, DocumentFile>, Failure> {
    let mut found = written(request, own)?;
    let given = request.given.as_deref().unwrap_or_default();
    if found.len() + given.len() > MOST_DOCUMENTS {
        let message = format!("knowledge {} has more than {MOST_DOCUMENTS} documents; give it fewer files", request.knowledge);
        return Err(failure(FailureKind::TooLarge, message));
    }
    let home = files::here(&request.project).canonicalize().unwrap_or_else(|_| request.project.clone());
    for path in given {
        own.may_read(path)?;
        let place = files::here(path).canonicalize().map_err(|_| missing(path))?;
        let stamp = stamp(&place).ok_or_else(|| missing(path))?;
        found.insert(from_project(&home, &place), DocumentFile { path: place, stamp, origin: DocumentOrigin::Given });
    }
    if found.is_empty() {
        let patterns: Vec<String> = request.files.iter().map(|pattern| from_project(&request.project, &pattern.whole())).collect();
        let why = match patterns.is_empty() {
            true => "the run gave it no files".to_owned(),
            false => {
                let given = if request.given.is_some() { ", and the run gave it no files" } else { "" };
                let (patterns, folder) = (patterns.join(" or "), files::shown_path(&home));
                format!("no file in {folder} fits {}{given}; hidden files and links do not count", visible(&patterns))
            }
        };
        return Err(failure(FailureKind::Unavailable, format!("knowledge {} has no documents: {why}", request.knowledge)));
    }
    Ok(found)
}

/// The documents that are written out.
fn written(request: &SearchRequest, own: &ManyReads) -> Result<BTreeMap<String, DocumentFile>, Failure> {
    let mut found = BTreeMap::new();
    let origin = DocumentOrigin::Written;
    for pattern in &request.files {
        match pattern.matcher() {
            None => {
                own.may_read(&pattern.root)?;
                let shown = from_project(&request.project, &pattern.root);
                check_links(&request.project, &pattern.root, &shown, false)?;
                let stamp = stamp(&pattern.root).ok_or_else(|| missing(&pattern.root))?;
                found.insert(shown, DocumentFile { path: pattern.root.clone(), stamp, origin });
            }
            Some(matcher) => {
                let inside = files::fitting(&pattern.root, &|path| matcher.fits(path), MOST_DOCUMENTS).ok_or_else(|| too_many(pattern))?;
                let is_linked =
                    check_links(&request.project, &pattern.root, &from_project(&request.project, &pattern.root), false).is_err();
                for path in inside.into_iter().filter(|_| !is_linked).map(|inside| pattern.root.join(inside)) {
                    if own.may_read(&path).is_ok()
                        && let Some(stamp) = stamp(&path)
                    {
                        found.insert(from_project(&request.project, &path), DocumentFile { path, stamp, origin });
                    }
                }
            }
        }
        if found.len() > MOST_DOCUMENTS {
            return Err(too_many(pattern));
        }
    }
    Ok(found)
}

/// Whether the file is still where its path says, and no link leads elsewhere.
pub(super) fn is_in_place(project: &Path, document: &DocumentFile, own: &ManyReads) -> bool {
    let path = &document.path;
    own.may_read(path).is_ok()
        && match document.origin {
            DocumentOrigin::Written => check_links(project, path, &from_project(project, path), false).is_ok(),
            DocumentOrigin::Given => path.canonicalize().is_ok_and(|place| place == *path),
        }
}

/// The stamp of a regular file.
pub(super) fn stamp(path: &Path) -> Option<FileStamp> {
    let data = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let modified = data.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    Some(FileStamp { size: i64::try_from(data.len()).unwrap_or(i64::MAX), modified: i64::try_from(modified).unwrap_or(i64::MAX) })
}

/// A path from the project's folder, with `/`; one outside stays whole.
fn from_project(project: &Path, path: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
}

fn missing(path: &Path) -> Failure {
    let shown = files::shown_path(path);
    let message = match path.is_dir() {
        true => format!("the document {shown} is a folder; name the files in it"),
        false => format!("the document {shown} does not exist{}, or is no file", files::looked_in(path)),
    };
    failure(FailureKind::Unavailable, message)
}

fn too_many(pattern: &FilePattern) -> Failure {
    let shown = pattern.whole().display().to_string();
    let message = format!("more than {MOST_DOCUMENTS} files fit {}; write a narrower pattern, or split the knowledge", visible(&shown));
    failure(FailureKind::TooLarge, message)
}
