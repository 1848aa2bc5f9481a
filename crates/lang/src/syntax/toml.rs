//! TOML text → the same tree as YAML text gives, for files of settings. The parser is `toml_edit`, which nothing else names.

use serde_json::Value as Json;
use toml_edit::{Document, Item, Key as TomlKey, TableLike, Value};

use super::findings;
use super::{Map, MapKey, Node, NodeKind, QuoteStyle, Scalar, limits};
use crate::diagnostic::{Diagnostic, LONGEST_MESSAGE, cut, visible};
use crate::source::{FileId, SourceFile, Span};

/// Reads a file of settings. A text that is no TOML is one finding (F001) and an empty tree.
pub(crate) fn parse_toml(file: FileId, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Node {
    let whole = Span::new(file, 0, source.text.len());
    let place = |range: Option<std::ops::Range<usize>>| range.map_or(whole, |range| Span::new(file, range.start, range.end));
    if source.text.len() > limits::FILE_BYTES {
        diagnostics.push(Diagnostic::too_large(Span::file_start(file), "this file is larger than 1 MiB").help("shorten it"));
        return Node::broken(whole);
    }
    match Document::parse(&*source.text) {
        Ok(document) => Node { span: whole, kind: NodeKind::Map(map(document.as_table(), &place)) },
        Err(error) => {
            let span = place(error.span());
            let why = error.message().lines().next().unwrap_or_default().to_lowercase();
            let line = source.position(span.start).line;
            let message = cut(&format!("line {line} cannot be read as TOML: {}", visible(&why)), LONGEST_MESSAGE);
            diagnostics.push(findings::unreadable(span, message).help("correct the line"));
            Node::broken(whole)
        }
    }
}

/// Where something stands; the whole file, if that is not known.
type TomlPlace<'p> = &'p dyn Fn(Option<std::ops::Range<usize>>) -> Span;

fn map(table: &dyn TableLike, place: TomlPlace) -> Map {
    let keys: Vec<&str> = table.iter().map(|(key, _)| key).collect();
    let entry = |name: &str| {
        let (key, item) = table.get_key_value(name)?;
        let span = place(TomlKey::span(key));
        let node = node(item, span, place)?;
        Some((MapKey { text: name.to_owned(), span }, node))
    };
    Map { entries: keys.into_iter().filter_map(entry).collect(), is_cut: false }
}

fn node(item: &Item, of_key: Span, place: TomlPlace) -> Option<Node> {
    // A table that only is in a longer heading (`[models.default]`) has no place of its own.
    let span = item.span().map_or(of_key, |range| place(Some(range)));
    let kind = match item {
        Item::None => return None,
        Item::Value(value) => return Some(of_value(value, span, place)),
        Item::Table(table) => NodeKind::Map(map(table, place)),
        Item::ArrayOfTables(tables) => {
            NodeKind::List(tables.iter().map(|table| Node { span: place(table.span()), kind: NodeKind::Map(map(table, place)) }).collect())
        }
    };
    Some(Node { span, kind })
}

fn of_value(value: &Value, span: Span, place: TomlPlace) -> Node {
    let scalar = |value: Json, text: String, style| NodeKind::Scalar(Scalar::new(text, style, value));
    let kind = match value {
        Value::String(text) => scalar(Json::from(text.value().as_str()), text.value().clone(), QuoteStyle::Double),
        Value::Integer(number) => scalar(Json::from(*number.value()), number.value().to_string(), QuoteStyle::Plain),
        Value::Float(number) => scalar(Json::from(*number.value()), number.value().to_string(), QuoteStyle::Plain),
        Value::Boolean(truth) => scalar(Json::from(*truth.value()), truth.value().to_string(), QuoteStyle::Plain),
        Value::Datetime(time) => scalar(Json::from(time.value().to_string()), time.value().to_string(), QuoteStyle::Double),
        Value::Array(list) => NodeKind::List(list.iter().map(|value| of_value(value, place(value.span()), place)).collect()),
        Value::InlineTable(table) => NodeKind::Map(map(table, place)),
    };
    Node { span, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> (Node, Vec<Diagnostic>) {
        let mut found = vec![];
        let node = parse_toml(FileId(0), &SourceFile::new("flow.toml", text), &mut found);
        (node, found)
    }

    #[test]
    fn a_file_of_settings_becomes_a_tree_with_places() {
        let text = "[models.default]\nprovider = \"ollama\"\nseed = 7\n[lint]\ndeny = [\"F204\"]\n[[x]]\na = { b = true }\n";
        let (tree, found) = read(text);
        assert_eq!(found, []);
        let expected = json!({
            "models": { "default": { "provider": "ollama", "seed": 7 } },
            "lint": { "deny": ["F204"] },
            "x": [{ "a": { "b": true } }],
        });
        assert_eq!(tree.to_value(), expected);
        let models = tree.as_map().unwrap().get("models").unwrap();
        let (key, value) = models.as_map().unwrap().get("default").unwrap().as_map().unwrap().entry("provider").unwrap();
        let part = |span: Span| &text[span.start as usize..span.end as usize];
        assert_eq!((part(key.span), part(value.span)), ("provider", "\"ollama\""));
    }

    #[test]
    fn a_text_that_is_no_toml_is_one_finding_at_its_place() {
        let (tree, found) = read("[limits]\ndeadline = 5s\n");
        assert_eq!((tree.kind, found.len()), (NodeKind::Broken, 1));
        let source = SourceFile::new("flow.toml", "[limits]\ndeadline = 5s\n");
        assert_eq!(source.position(found[0].span.start).line, 2);
        assert!(found[0].message.starts_with("line 2 cannot be read as TOML: "), "{}", found[0].message);
    }
}
