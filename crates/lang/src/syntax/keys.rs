//! What may be a key, and that none comes twice.

use super::findings;
use super::frames::{CollectionContent, PendingKey};
use super::tree::{MapKey, Node, NodeKind, QuoteStyle};
use super::tree_builder::TreeBuilder;
use crate::diagnostic::{About, Code, Diagnostic};
use crate::source::Span;

/// Takes `node` as the next key of the innermost list of keys.
pub(super) fn add(builder: &mut TreeBuilder<'_>, node: Node) {
    let key = accepted(builder, node);
    if let Some(CollectionContent::Map { places, pending, .. }) = builder.stack.last_mut().map(|frame| &mut frame.inside) {
        *pending = match key {
            Some(key) => {
                places.insert(key.text.clone(), key.span);
                PendingKey::Key(key)
            }
            None => PendingKey::Dropped,
        };
    }
}

fn accepted(builder: &mut TreeBuilder<'_>, node: Node) -> Option<MapKey> {
    let span = node.span;
    let scalar = match node.kind {
        NodeKind::Scalar(scalar) => scalar,
        NodeKind::Broken => return None,
        NodeKind::List(_) | NodeKind::Map(_) => {
            let found = findings::unsupported(span, "a list cannot be a key; a key is a text");
            return reject(builder, found.help("write a text before the \":\""));
        }
    };
    let is_block = builder.stack.last().is_some_and(|frame| !frame.open.in_brackets);
    if scalar.style == QuoteStyle::Plain {
        if scalar.text == "<<" {
            let found = findings::unsupported(span, "\"<<\" is not allowed");
            return reject(builder, found.help("write out the keys it would bring, or use \"*name\" as a value"));
        }
        if is_block && looks_glued(&scalar.text) {
            let line = builder.source.position(span.start).line;
            let gap = Span { start: span.start + 1, end: span.start + 1, ..span };
            break_map(builder);
            let found = findings::unreadable(span, format!("a space is missing after the \"-\" on line {line}"))
                .help(format!("write \"- {}\"", super::short(scalar.text.trim_start_matches('-'))));
            return reject(builder, found.proposed_fix(vec![(gap, " ".to_owned())]));
        }
        if is_block
            && scalar.text.contains(' ')
            && let Some((key, above)) = empty_block_text(builder)
        {
            break_map(builder);
            let found = findings::unreadable(span, format!("the text of \"{key}\" must be indented further than \"{key}\""));
            return reject(builder, found.related(above, "begins here").help("indent its lines by two spaces more"));
        }
        if let Some(space) = scalar.text.chars().next().filter(|c| c.is_whitespace()) {
            let line = builder.source.position(span.start).line;
            break_map(builder);
            let message = format!("line {line} is indented with a character that looks like a space and is none (U+{:04X})", space as u32);
            let blanks = &scalar.text[..scalar.text.len() - scalar.text.trim_start().len()];
            let (at, count) = (Span { end: span.start + blanks.len() as u32, ..span }, blanks.chars().count());
            let help = match count {
                1 => "write a space in its place".to_owned(),
                count => format!("write {count} spaces in place of these {count} characters"),
            };
            return reject(builder, findings::hidden(at, message).help(help).proposed_fix(vec![(at, " ".repeat(count))]));
        }
    }
    if let Some(first) = first_place(builder, &scalar.text) {
        let at = builder.source.position(first.start);
        let message = format!("\"{}\" is set twice{} (first at {}:{})", super::short(&scalar.text), owner(builder), at.line, at.column);
        let found = Diagnostic::new(Code::DuplicateKey, span, message).about(About::Value(scalar.text));
        let key = super::short(builder.source.text.get(span.start as usize..span.end as usize).unwrap_or("…"));
        let help = match key.as_str() {
            "prompt" | "instructions" | "description" => {
                format!(
                    "keep one of the two; to keep both texts, write {key}: | and below it each without its quotes, on a line of its own, two spaces further in"
                )
            }
            _ => "keep one of the two".to_owned(),
        };
        return reject(builder, found.related(first, "first set here").help(help));
    }
    Some(MapKey { text: scalar.text, span })
}

/// Reports a key that is left out.
fn reject(builder: &mut TreeBuilder<'_>, found: Diagnostic) -> Option<MapKey> {
    builder.report(found);
    None
}

/// `-id`: a list item whose space is missing.
fn looks_glued(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('-') && chars.next().is_some_and(char::is_alphabetic)
}

/// The last key so far, if its value is a block text (`|`, `>`) without a line.
fn empty_block_text(builder: &TreeBuilder<'_>) -> Option<(String, Span)> {
    let CollectionContent::Map { map, .. } = &builder.stack.last()?.inside else { return None };
    let (key, node) = map.entries.last()?;
    let is_empty = node.as_scalar().is_some_and(|s| s.text.is_empty() && matches!(s.style, QuoteStyle::Literal | QuoteStyle::Folded));
    is_empty.then(|| (super::short(&key.text), key.span))
}

fn break_map(builder: &mut TreeBuilder<'_>) {
    if let Some(frame) = builder.stack.last_mut() {
        frame.is_broken = true;
    }
}

fn first_place(builder: &TreeBuilder<'_>, text: &str) -> Option<Span> {
    match builder.stack.last().map(|frame| &frame.inside) {
        Some(CollectionContent::Map { places, .. }) => places.get(text).copied(),
        _ => None,
    }
}

/// ` in "writer"`: the `id` of the innermost list of keys, or else the key above it; empty at the top of the file.
fn owner(builder: &TreeBuilder<'_>) -> String {
    let id = match builder.stack.last().map(|frame| &frame.inside) {
        Some(CollectionContent::Map { map, .. }) => map.get("id").and_then(Node::as_scalar).map(|id| id.text.as_str()),
        _ => None,
    };
    let above = || {
        builder.stack.iter().rev().skip(1).find_map(|frame| match &frame.inside {
            CollectionContent::Map { pending: PendingKey::Key(key), .. } => Some(key.text.as_str()),
            _ => None,
        })
    };
    id.or_else(above).map_or_else(String::new, |name| format!(" in \"{}\"", super::short(name)))
}
