//! A line that slid to the left or right: its key is not known where it stands, and missing where it belongs. It stays a pass: two readers of keys find one
//! half of it each, and neither sees the other's place, so no value of the model could say it.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{About, Code, Diagnostic};
use crate::source::{FileId, Sources, Span};

/// Most places that lack a key of one name and are looked at for each that has it too much.
const MOST_OWNERS: usize = 64;

/// Takes out that a key is missing, where it is told as one that is not known: nearby, further to the left or right. There it says where it belongs.
pub(super) fn take_slid(found: &mut Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
    let mut missing: HashMap<(FileId, &str), Vec<usize>> = HashMap::new();
    for (ix, lost) in found.iter().enumerate() {
        if let About::Missing(key) = lost.about {
            missing.entry((lost.span.file, key)).or_default().push(ix);
        }
    }
    let mut taken = HashSet::new();
    for at in 0..found.len() {
        let span = found[at].span;
        let Some(owners) = missing.get(&(span.file, sources.text(span))).filter(|_| found[at].code == Code::UnknownKey) else { continue };
        let lacks = |ix: &usize| !taken.contains(ix) && is_near(found[*ix].span, span, sources);
        let lost = owners.iter().take(MOST_OWNERS).copied().filter(lacks).max_by_key(|ix| found[*ix].span.start);
        if let Some(lost) = lost {
            found[at].help = vec![format!("indent it as a key of what lacks it: {}", found[lost].message)];
            found[at].candidate = None;
            taken.insert(lost);
        }
    }
    let mut ix = 0..;
    found.extract_if(.., |_| ix.next().is_some_and(|ix| taken.contains(&ix))).collect()
}

/// Whether a key stands below a place and in its block of lines, or at the end of it.
fn is_near(owner: Span, key: Span, sources: &Sources) -> bool {
    if owner.file != key.file || owner.start >= key.start {
        return false;
    }
    let file = sources.file(key.file);
    let (first, last) = (sources.start(owner).line, sources.start(key).line);
    let indent = |line: usize, blanks: &[char]| file.line(line).len() - file.line(line).trim_start_matches(blanks).len();
    // The keys of an element of a list stand behind its "- ".
    let block = indent(first, &[' ', '-']);
    let is_inside = |line: usize| {
        let text = file.line(line).trim_start();
        text.is_empty() || text.starts_with('#') || indent(line, &[' ']) >= block
    };
    (first + 1..last).all(is_inside)
}
