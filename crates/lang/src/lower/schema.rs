//! JSON Schemas: bounded, closed in themselves, with patterns of the linear engine (F019).

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;
use strum::VariantNames;

use super::aliases::type_alias;
use super::context::quoted;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::texts::TextReader;
use crate::diagnostic::{Code, Diagnostic, Near, nearest};
use crate::gate::{ExceededBound, MOST_WAYS, SchemaBounds, inner_schemas};
use crate::model::{FieldKind, read_json};
use crate::source::Span;
use crate::syntax::{Map, MapKey, Node};
use crate::template::patterns::Room;

const BOUNDS: SchemaBounds = SchemaBounds { bytes: 256 * 1024, levels: 64 };

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// F019: a JSON Schema that cannot be used.
fn schema_invalid(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::SchemaInvalid, span, message)
}

impl TextReader<'_, '_> {
    /// A JSON Schema that is here or in `{ file: … }`. `label` is its key, `owner` whose it is.
    pub fn schema(&self, label: &str, owner: &KeyOwner, node: &Node) -> Option<Arc<Value>> {
        let map = self.0.entries(label, node)?;
        if map.entries.len() == 1 && map.get("file").is_some() {
            let keys = KeyReader::new(self.0, owner.part(label), &[&keys::FILE], node)?;
            let path = keys.name("file")?;
            return self.schema_file(&path.value, path.span);
        }
        if let Some(output) = fields_of_ours(map) {
            let message = format!("{label} of {owner} has no word of a JSON Schema in it, so anything fits");
            let help = format!("write {}: {{ {output} }}, which takes the types of this language", label.trim_end_matches("_schema"));
            self.0.report(schema_invalid(node.span, message).help(help));
            return None;
        }
        self.checked(&|_| format!("{label} of {owner}"), node.to_value(), &|path| span_of(node, path))
    }

    /// A JSON Schema in a file; `span` is where the file is named.
    pub fn schema_file(&self, path: &str, span: Span) -> Option<Arc<Value>> {
        let answer = self.0.world().text(self.0.file, path);
        let (_, text) = self.0.found("schema file", path, span, answer)?;
        if !self.0.takes(&text, span) {
            return None;
        }
        let what = format!("schema file {}", quoted(path));
        match read_json(&text) {
            Ok(value) => {
                let way =
                    |fault: &SchemaFault| if fault.path.is_empty() { what.clone() } else { format!("{what} at {}", fault.path.join(".")) };
                self.checked(&way, value, &|_| span)
            }
            Err(error) => {
                let message = format!("{what} cannot be read: {error}");
                self.0.report(schema_invalid(span, message).help("correct the file"));
                None
            }
        }
    }

    fn checked(&self, what: &dyn Fn(&SchemaFault) -> String, schema: Value, span: &dyn Fn(&[String]) -> Span) -> Option<Arc<Value>> {
        match check(&schema, &self.0.room) {
            Ok(()) => Some(Arc::new(schema)),
            Err(fault) => {
                let message = format!("{}: {}", what(&fault), fault.message);
                self.0.report(schema_invalid(span(&fault.path), message).near(fault.near).help(fault.help));
                None
            }
        }
    }

    /// A pattern (F021). `owner` is whose it is: `input "zip"`.
    pub fn pattern(&self, owner: &KeyOwner, node: &Node) -> Option<Regex> {
        let text = self.0.sentence("pattern", node)?;
        match self.0.room.compile(&text) {
            Ok(regex) => Some(regex),
            Err(why) => {
                let message = format!("the pattern of {owner} {why}");
                self.0.report(Diagnostic::new(Code::BadPattern, node.span, message).help(format!("correct the pattern {}", quoted(&text))));
                None
            }
        }
    }
}

/// Fields with types of this language where a JSON Schema stands, as they would be written; `None`: it is none of those.
fn fields_of_ours(map: &Map) -> Option<String> {
    let field = |(key, node): &(MapKey, Node)| {
        let word = node.as_scalar().map(|scalar| scalar.text.as_str());
        let of_type = node.text_of("type");
        let kind = word.or(of_type).filter(|kind| FieldKind::VARIANTS.contains(kind))?;
        Some(format!("{}: {kind}", key.text))
    };
    let is_of_schema =
        |(key, _): &(MapKey, Node)| key.text.starts_with('$') || ["type", "properties", "items", "enum", "const"].contains(&&*key.text);
    if map.entries.is_empty() || map.entries.iter().any(is_of_schema) {
        return None;
    }
    map.entries.iter().map(field).collect::<Option<Vec<_>>>().map(|fields| fields.join(", "))
}

struct SchemaFault {
    path: Vec<String>,
    message: String,
    near: Near,
    help: String,
}

impl SchemaFault {
    fn new(path: &[String], message: impl Into<String>, help: impl Into<String>) -> SchemaFault {
        SchemaFault { path: path.to_vec(), message: message.into(), near: Near::default(), help: help.into() }
    }
}

fn check(schema: &Value, room: &Room) -> Result<(), SchemaFault> {
    check_words(schema, &mut vec![])?;
    match BOUNDS.exceeded(schema) {
        None => {}
        Some(ExceededBound::Bytes(size)) => {
            let message = format!("the schema has {size} bytes; at most {} are read", BOUNDS.bytes);
            return Err(SchemaFault::new(&[], message, "make it smaller"));
        }
        Some(ExceededBound::Levels) => {
            let message = format!("the schema is nested more than {} levels deep", BOUNDS.levels);
            return Err(SchemaFault::new(&[], message, "make it flatter"));
        }
        Some(ExceededBound::Ways) => {
            let message = format!("following its references gives more than {MOST_WAYS} ways through the schema");
            return Err(SchemaFault::new(&[], message, "remove references to the same part"));
        }
    }
    check_patterns(schema, room, &mut vec![])?;
    let options = jsonschema::PatternOptions::regex().size_limit(4 * 1024 * 1024);
    let Err(error) = jsonschema::options().with_pattern_options(options).build(schema) else { return Ok(()) };
    let path: Vec<String> =
        error.instance_path().to_string().split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let part = quoted(path.last().map_or("the schema", String::as_str));
    Err(SchemaFault::new(&path, error.masked_with(part).to_string().replace('\n', " "), "correct this part of the schema"))
}

/// Types and references, which deserve better words than the schema of schemas has for them.
fn check_words(schema: &Value, path: &mut Vec<String>) -> Result<(), SchemaFault> {
    let Some(map) = schema.as_object() else { return Ok(()) };
    let types = match map.get("type") {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => vec![],
    };
    if let Some(word) = types.into_iter().filter_map(Value::as_str).find(|word| !TYPES.contains(word)) {
        let ours = type_alias(word).or(["text", "list"].into_iter().find(|ours| ours.eq_ignore_ascii_case(word)));
        let alias = ours.map(|ours| {
            if ours == "text" {
                "string"
            } else if ours == "list" {
                "array"
            } else {
                ours
            }
        });
        let near = Near::new(word, alias.map_or_else(|| nearest(word, TYPES), |word| vec![word]));
        path.push("type".to_owned());
        let fault =
            SchemaFault::new(path, format!("type {} is not known{near}", quoted(word)), format!("write one of: {}", TYPES.join(", ")));
        return Err(SchemaFault { near, ..fault });
    }
    for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
        if let Some(target) = map.get(key).and_then(Value::as_str).filter(|target| !target.starts_with('#')) {
            path.push(key.to_owned());
            let message = format!("the reference {} leads out of the schema", quoted(target));
            return Err(SchemaFault::new(path, message, "write a reference that begins with # and put what it names into $defs"));
        }
    }
    if map.contains_key("pii") {
        path.push("pii".to_owned());
        let help = "write the fields in this language (output: { name: { type: text, pii: true } }), or pii: true on the step";
        return Err(SchemaFault::new(path, "a JSON Schema cannot mark personal data", help));
    }
    if map.contains_key("untrusted") {
        path.push("untrusted".to_owned());
        let help = "write the inputs in this language (inputs: { mail: { type: text, untrusted: true } })";
        return Err(SchemaFault::new(path, "a JSON Schema cannot mark what a stranger wrote", help));
    }
    for (way, value) in inner_schemas(map) {
        let before = path.len();
        path.extend(way);
        check_words(value, path)?;
        path.truncate(before);
    }
    Ok(())
}

/// Patterns, before the library compiles all of them at once.
fn check_patterns(schema: &Value, room: &Room, path: &mut Vec<String>) -> Result<(), SchemaFault> {
    let Some(map) = schema.as_object() else { return Ok(()) };
    let own = map.get("pattern").and_then(Value::as_str).map(|pattern| (pattern, "pattern"));
    let named = map.get("patternProperties").and_then(Value::as_object);
    let named = named.into_iter().flat_map(|named| named.keys().map(|pattern| (pattern.as_str(), "patternProperties")));
    for (pattern, key) in own.into_iter().chain(named) {
        if let Err(why) = room.compile(pattern) {
            path.push(key.to_owned());
            return Err(SchemaFault::new(path, format!("the pattern {why}"), "correct the pattern"));
        }
    }
    for (way, value) in inner_schemas(map) {
        let before = path.len();
        path.extend(way);
        check_patterns(value, room, path)?;
        path.truncate(before);
    }
    Ok(())
}

/// The place of a part of a schema; of the nearest part around it that has one.
fn span_of(node: &Node, path: &[String]) -> Span {
    let Some((first, rest)) = path.split_first() else { return node.span };
    let next = match node.as_list() {
        Some(list) => first.parse::<usize>().ok().and_then(|i| list.get(i)),
        None => node.as_map().and_then(|map| map.get(first)),
    };
    next.map_or(node.span, |next| span_of(next, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(schema: Value) -> String {
        check(&schema, &Room::default()).err().map_or_else(String::new, |fault| format!("{}: {}", fault.path.join("."), fault.message))
    }

    #[test]
    fn types_of_other_languages_are_named() {
        assert_eq!(
            fault(json!({"properties": {"n": {"type": "int"}}})),
            "properties.n.type: type \"int\" is not known; did you mean \"integer\"?"
        );
    }

    #[test]
    fn references_stay_inside_and_loops_end() {
        for target in ["http://x/y.json", "file:///etc/passwd", "other.json", "#/$defs/none"] {
            assert_ne!(fault(json!({"$ref": target})), "", "{target}");
        }
        assert_eq!(fault(json!({"$ref": "#"})), "");
        assert_eq!(fault(json!({"properties": {"next": {"$ref": "#"}}})), "");
        assert_eq!(fault(json!({"enum": [{"$ref": "http://x"}, {"type": "int"}]})), "");
    }

    #[test]
    fn a_schema_that_doubles_at_each_level_is_refused() {
        let mut defs = serde_json::Map::new();
        for level in 0..40 {
            let next = format!("#/$defs/d{}", level + 1);
            defs.insert(format!("d{level}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        }
        defs.insert("d40".to_owned(), json!({"type": "string"}));
        assert!(fault(json!({"$ref": "#/$defs/d0", "$defs": defs})).contains("10000 ways"));
    }

    #[test]
    fn patterns_use_the_linear_engine() {
        assert_eq!(
            fault(json!({"properties": {"a": {"pattern": "(?=a)(a+)+$"}}})),
            "properties.a.pattern: the pattern looks ahead or behind (such as \"(?=\"), which is not possible here"
        );
    }

    #[test]
    fn size_and_depth_have_bounds() {
        assert!(fault(json!({"description": "x".repeat(300_000)})).contains("300018 bytes"));
        let deep = (0..70).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
        assert!(fault(deep).contains("64 levels"));
    }

    #[test]
    fn a_key_of_the_wrong_shape_is_told_with_its_place() {
        assert!(fault(json!({"properties": {"a": {"required": true}}})).starts_with("properties.a.required: "));
    }
}
