//! Keys that are in files are shown in no finding: not in the line it quotes, not in its words, not in what it proposes.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::redact::{Secrets, keys_in_source, parts_of_key};
use crate::source::{FileId, Sources};

/// Hides all that looks like a key in the files, and these texts of theirs, and takes them out of what was found. A fix that would write
/// one is dropped.
pub(crate) fn hide_keys<'a>(sources: &mut Sources, keys: &BTreeSet<String>, found: impl Iterator<Item = &'a mut Diagnostic>) {
    let mut texts = keys.clone();
    // As they are written, which may be with escapes.
    let written = Secrets::for_logs(keys.iter().map(String::as_str));
    let files: Vec<FileId> = sources.files().map(|(id, _)| id).collect();
    for id in files {
        let text = sources.file(id).text.clone();
        let plain = keys.iter().flat_map(|key| text.match_indices(key.as_str()).map(|(at, key)| at..at + key.len()));
        sources.hide(id, keys_in_source(&text).into_iter().chain(plain).chain(written.places(&text)));
        texts.extend(sources.file(id).hidden().iter().filter_map(|place| text.get(place.clone()).map(str::to_owned)));
    }
    if texts.is_empty() {
        return;
    }
    let parts = texts.iter().flat_map(|text| parts_of_key(text));
    let secrets = Secrets::for_logs(texts.iter().map(String::as_str).chain(parts));
    for diagnostic in found {
        let Diagnostic { message, help, related, fix, .. } = diagnostic;
        for text in std::iter::once(message).chain(help).chain(related.iter_mut().map(|(_, label)| label)) {
            *text = secrets.hide_cut(text);
        }
        if fix.as_ref().is_some_and(|fix| fix.edits.iter().any(|(_, text)| secrets.hide_cut(text) != *text)) {
            *fix = None;
        }
    }
}
