//! `knowledge`, and the step that searches it.

use super::context::{Lower, quoted};
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::texts::is_filled;
use super::world::OtherFileError;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{FilePattern, Knowledge, MOST_FOUND, SearchMode, SearchStep, Text, Tool, ToolKind};
use crate::source::{Span, Spanned};
use crate::syntax::Node;

/// One entry, as the tool that it is for agents; one that cannot be read has the kind `Broken`.
pub(super) fn knowledge(lower: &Lower, owner: &KeyOwner, span: Span, node: &Node) -> Tool {
    let mut tool = Tool { span, ..Tool::default() };
    let Some(keys) = KeyReader::new(lower, owner, &[&keys::KNOWLEDGE], node) else { return tool };
    tool.description = keys.get("description").and_then(|node| lower.description("description", node, "write the text itself"));
    let search: Option<SearchMode> = if keys.has("search") { keys.choice("search") } else { Some(SearchMode::default()) };
    let embed = keys.name("embed");
    let written = keys.get("files").map(|node| lower.one_or_many("files", node)).unwrap_or_default();
    let (filled, written): (Vec<&Node>, Vec<&Node>) = written.iter().partition(|node| is_filled(node));
    let (files, unmatched): (Vec<_>, Vec<_>) =
        written.into_iter().filter_map(|node| pattern(lower, node)).partition(|(_, unfitting)| unfitting.is_none());
    let given: Vec<Text> = filled.into_iter().filter_map(|node| lower.texts().text("files", node)).collect();
    fits_none(lower, &unmatched, !files.is_empty() || !given.is_empty());
    let files: Vec<Spanned<FilePattern>> = files.into_iter().chain(unmatched).map(|(pattern, _)| pattern).collect();
    let Some(search) = search else { return tool };
    if search.needs_vectors() && !keys.has("embed") {
        let word: &str = search.into();
        keys.missing(
            &format!("searches by {} but has no embed", quoted(word)),
            "add embed: vectors, and models: { vectors: { provider: ollama, model: nomic-embed-text } } in the head; or write search: words, which needs none",
        );
    }
    if !search.needs_vectors() && embed.is_some() {
        let help = "remove embed, or write search: both";
        lower.report(
            Diagnostic::bad_value(keys.key_span("embed"), format!("embed of {} is never asked: it searches by words", keys.owner))
                .help(help),
        );
    }
    if !files.is_empty() || !given.is_empty() {
        tool.kind =
            ToolKind::Knowledge(Knowledge { files, given, search, embed, is_untrusted: keys.boolean("untrusted").unwrap_or(false) });
    }
    tool
}

/// A path or a pattern in the project (F604); with its text if no file fits it.
fn pattern(lower: &Lower, node: &Node) -> Option<(Spanned<FilePattern>, Option<String>)> {
    let written = lower.name("files", node)?;
    let (root, rest) = FilePattern::split(&written.value);
    let is_pattern = !rest.is_empty();
    let answer = if is_pattern { lower.world().path(lower.file, &root) } else { file(lower, &root) };
    let root = lower.found(if is_pattern { "folder of the pattern" } else { "document" }, &written.value, written.span, answer)?;
    let pattern = FilePattern { root, rest };
    if let Some(problem) = pattern.problem() {
        let help = "write * for a part of a name, ** for folders in folders: docs/**/*.md";
        return lower.reject(written.span, format!("{} is no pattern of files: {problem}", quoted(&written.value)), help);
    }
    let fits = !is_pattern || lower.world().has_fitting(&pattern);
    let span = written.span;
    Some((Spanned::new(pattern, span), Some(written.value).filter(|_| !fits)))
}

/// Patterns that fit no file: without any document nothing could be found (F025); beside others they may wait for theirs (F026).
fn fits_none(lower: &Lower, unmatched: &[(Spanned<FilePattern>, Option<String>)], has_others: bool) {
    for (pattern, written) in unmatched {
        let message = format!("no file fits {}", quoted(written.as_deref().unwrap_or_default()));
        let (found, help) = match has_others {
            true => (
                Diagnostic::new(Code::UnmatchedPattern, pattern.span, message),
                "correct the pattern, or remove it; only the other files are searched",
            ),
            false => (Diagnostic::missing_file(pattern.span, message), "correct the pattern; hidden files and links do not count"),
        };
        lower.report(found.help(help));
    }
}

fn file(lower: &Lower, path: &str) -> Result<std::path::PathBuf, OtherFileError> {
    let answer = lower.world().existing(lower.file, path);
    let is_folder = answer.is_err() && lower.world().existing_folder(lower.file, path).is_ok();
    if is_folder {
        Err(OtherFileError::Because("it is a folder".to_owned(), "write which files of it: docs/**/*.md".into()))
    } else {
        answer
    }
}

/// F013: one name for a tool and a knowledge.
pub(super) fn clash(name: &str, first: Span, second: Span) -> Diagnostic {
    let message = format!("there are a tool and a knowledge called {}", quoted(name));
    Diagnostic::duplicate_id(second, message).related(first, "the tool").help("rename one of the two; agents list both by name")
}

/// `search: handbook, for: …, top: 5`.
pub(super) fn search(keys: &KeyReader) -> Option<SearchStep> {
    let (knowledge, query, top) = (keys.name("search"), keys.text("for"), keys.limit("top"));
    if let Some(top) = top.filter(|top| *top > MOST_FOUND) {
        let message = format!("top {top} is more than {MOST_FOUND}");
        keys.lower.report(Diagnostic::bad_value(keys.value_span("top"), message).help(format!("write at most {MOST_FOUND}")));
    }
    Some(SearchStep { knowledge: knowledge?, query: query?, top: top.map(|top| top.min(MOST_FOUND)) })
}
