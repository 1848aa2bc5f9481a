//! The tables as a JSON Schema (2020-12) for editors. It rejects nothing that a file may hold; what it cannot see (names that do not
//! exist, waits in a circle) `flow validate` and the editor's own server tell.
//!
//! How to add something a key may take: its arm in [`SchemaBuilder::takes`].

use serde_json::{Map, Value, json};

use super::{
    BODIES, KeyRule, KeyTable, OTHERWISE_STEPS, PIPELINE, PROVIDERS, REPLIES, REPLY, STEP, STYLE_GUIDE, TEST, TOOL, TOOL_KINDS, Tables,
    Takes,
};
use super::{CASE, CASE_STEPS, CHANNEL, CHECKS, CRITERION, DATA, DEFINITIONS, EVERY_STEP, FIELD, KINDS, MARKUP, MOCK_ERROR, MODEL};
use crate::lower::{FileKind, ROOT_KEYS};
use crate::model::Method;

/// A text without `{{` and `{%`, which is read before the run.
const WITHOUT_BRACES: &str = r"^(?:[^{]|\{[^{%])*\{?$";
/// The same, and not blank.
const NAME: &str = r"^(?:[^{]|\{[^{%])*[^{\s](?:[^{]|\{[^{%])*\{?$";
const ID: &str = "^[a-z][a-z0-9_]*$";
const SECRET: &str = "^[A-Z][A-Z0-9_]*$";
const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// A name without folders and blanks, or an absolute path.
const PROGRAM: &str = r"^(?:/(?:[^{]|\{[^{%])*|(?:[^{\s/]|\{[^{%\s/])+)\{?$";
const DURATION: &str = r"^\s*[0-9]+(?:ms|s|m|h|d)\s*$";
const SIZE: &str = r"^\s*[0-9]+(?:B|[kK]B|MB|GB|TB)\s*$";
/// The endings that are known, in small and capital letters.
const DATA_FILE: &str = r"\.(?:[cC][sS][vV]|[tT][sS][vV]|[xX][lL][sS][xXmMbB]?|[oO][dD][sS]|[sS][qQ][lL][iI][tT][eE]3?|[dD][bB]|[pP][aA][rR][qQ][uU][eE][tT]|[dD][uU][cC][kK][dD][bB])$";
const EXCEL_FILE: &str = r"\.(?:[xX][lL][sS][xXmMbB]?|[oO][dD][sS])$";
const DATABASE_FILE: &str = r"\.(?:[sS][qQ][lL][iI][tT][eE]3?|[dD][bB]|[dD][uU][cC][kK][dD][bB])$";
/// A duration, a date and time with a time zone, or anything with braces.
const MOMENT: &str = r"\{[{%]|^\s*[0-9]+(?:ms|s|m|h|d)\s*$|^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}.*$";

/// The schema of files of one kind, or of all kinds, told apart by their keys as `flow` does it.
pub fn json_schema(kind: Option<FileKind>) -> Value {
    let mut builder = SchemaBuilder::default();
    let body = match kind {
        Some(kind) => builder.object(&[kind.place()]),
        None => builder.every_root(),
    };
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), kind.map_or("a file of flow".to_owned(), |kind| format!("flow: {}", kind.words())).into());
    schema.extend(body);
    builder.parts.sort_keys();
    schema.insert("$defs".into(), builder.parts.into());
    Value::Object(schema)
}

impl FileKind {
    /// The keys of such a file.
    pub fn place(self) -> &'static KeyTable {
        match self {
            FileKind::Pipeline => &PIPELINE,
            FileKind::Channel => &CHANNEL,
            FileKind::Test => &TEST,
            FileKind::Replies => &REPLIES,
            FileKind::StyleGuide => &STYLE_GUIDE,
            FileKind::Definitions => &DEFINITIONS,
        }
    }
}

/// Parts that several places use, each made once.
#[derive(Default)]
struct SchemaBuilder {
    /// By name; empty while it is being made, since a field holds fields and a step holds steps.
    parts: Map<String, Value>,
}

impl SchemaBuilder {
    /// The kinds in the order in which a file is told apart, each as a part.
    fn every_root(&mut self) -> Map<String, Value> {
        let last = self.part("file of shared definitions", |builder| builder.object(&[FileKind::Definitions.place()]).into());
        let choice = ROOT_KEYS.iter().rev().fold(last, |other, (key, kind)| {
            let then = self.part(&format!("file {}", kind.place().name), |builder| builder.object(&[kind.place()]).into());
            json!({ "if": { "required": [key] }, "then": then, "else": other })
        });
        let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        schema.extend(choice.as_object().cloned().unwrap_or_default());
        schema
    }

    /// A reference to a part, which is made if it is not there yet.
    fn part(&mut self, name: &str, make: impl FnOnce(&mut SchemaBuilder) -> Value) -> Value {
        let name = name.replace(' ', "_");
        if !self.parts.contains_key(&name) {
            self.parts.insert(name.clone(), Value::Null);
            let made = make(self);
            self.parts.insert(name.clone(), made);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// A list of keys: those of `places`, and no other.
    fn object(&mut self, places: Tables) -> Map<String, Value> {
        let keys = || places.iter().flat_map(|place| place.keys);
        let properties: Map<String, Value> = keys().map(|key| (key.name.to_owned(), self.property(key))).collect();
        let required: Vec<&str> = keys().filter(|key| key.is_required || matches!(key.takes, Takes::Version)).map(|key| key.name).collect();
        let mut object = Map::new();
        object.insert("type".into(), "object".into());
        object.insert("properties".into(), properties.into());
        if !required.is_empty() {
            object.insert("required".into(), required.into());
        }
        object.insert("additionalProperties".into(), false.into());
        if places.iter().any(|place| std::ptr::eq(*place, &EVERY_STEP)) {
            object.insert("dependentRequired".into(), json!({ "as": ["for_each"], "fail_fast": ["for_each"] }));
            // A plan has one of its own.
            let has_owner = json!({ "anyOf": [{ "required": ["for_each"] }, { "required": ["plan"] }] });
            object.insert("dependentSchemas".into(), json!({ "max_parallel": has_owner }));
        }
        if places.iter().any(|place| std::ptr::eq(*place, &CHECKS)) {
            let has_texts = json!({ "anyOf": [{ "required": ["contains"] }, { "required": ["not_contains"] }] });
            object.insert("dependentSchemas".into(), json!({ "ignore_case": has_texts }));
        }
        if places.iter().any(|place| std::ptr::eq(*place, &TEST)) {
            object.insert("anyOf".into(), json!([{ "required": ["cases"] }, { "required": ["cases_from"] }]));
        }
        if places.iter().any(|place| place.name == "plan") {
            object.insert("anyOf".into(), json!([{ "required": ["check"] }, { "properties": { "rounds": { "const": 1 } } }]));
        }
        object
    }

    fn property(&mut self, key: &'static KeyRule) -> Value {
        let mut property = Map::from_iter([("description".to_owned(), Value::from(key.about))]);
        property.extend(self.takes(&key.takes).as_object().cloned().unwrap_or_default());
        property.into()
    }

    fn takes(&mut self, takes: &'static Takes) -> Value {
        let each = takes.each().map(|each| self.takes(each));
        match takes {
            Takes::Sentence | Takes::Template => json!({ "type": "string" }),
            Takes::Fixed => text(WITHOUT_BRACES, "this is read before the run, so it cannot hold {{ }}"),
            Takes::Name | Takes::Path | Takes::Of(_) => text(NAME, "a name that is read before the run; it cannot hold {{ }}"),
            Takes::Loose => json!({ "type": ["string", "number", "boolean"] }),
            Takes::Program => text(PROGRAM, "one program: a name without arguments, or an absolute path"),
            Takes::Request => {
                text(&format!("^(?:{})[ \\t]", Method::listed("|")), "a method and an address, such as GET https://example.com/")
            }
            Takes::Expression => json!({ "type": ["string", "number", "boolean"], "pattern": r"\S" }),
            Takes::Id => text(ID, "small letters, digits and \"_\", a letter first"),
            Takes::Whole => json!({ "type": "integer", "minimum": 0 }),
            Takes::Limit => json!({ "type": "integer", "minimum": 1 }),
            Takes::Number => json!({ "type": "number" }),
            Takes::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Takes::Boolean => json!({ "type": "boolean" }),
            Takes::True => json!({ "const": true }),
            Takes::Duration => text(DURATION, "a time with its unit, such as 500ms, 5s, 2m, 1h or 1d"),
            Takes::Size => text(SIZE, "a size with its unit, such as 10MB"),
            Takes::Moment => text(MOMENT, "a time such as 5m, or a date and time with a time zone"),
            Takes::Language => text("^[a-z]{2}$", "two small letters, such as en"),
            Takes::Zone => self.part("time_zone", |_| {
                let names: Vec<&str> = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()).collect();
                json!({ "anyOf": [{ "enum": names }, { "not": { "type": "string", "minLength": 1, "pattern": WITHOUT_BRACES } }] })
            }),
            Takes::Version => json!({ "const": 1 }),
            Takes::Word(words) => json!({ "enum": words }),
            Takes::Value | Takes::Constant => json!({}),
            Takes::Schema => json!({ "type": "object" }),
            Takes::Fields => {
                let field = self.takes(&Takes::Field);
                json!({ "type": "object", "additionalProperties": field })
            }
            Takes::Field => self.part("field", SchemaBuilder::field),
            Takes::Steps => {
                let step = self.part("step", |builder| builder.one_kind(&[&STEP, &EVERY_STEP], KINDS));
                json!({ "type": "array", "items": step, "minItems": 1 })
            }
            Takes::Otherwise => self.part("otherwise", |builder| {
                let step = builder.one_kind(&[&EVERY_STEP], KINDS);
                builder.with_steps(&OTHERWISE_STEPS, step)
            }),
            Takes::Replies => {
                let reply = self.part("reply", SchemaBuilder::reply);
                json!({ "anyOf": [reply, { "type": "array", "items": reply, "minItems": 1 }] })
            }
            Takes::Expected => {
                let any: Vec<Value> = CHECKS.keys.iter().map(|key| json!({ "required": [key.name] })).collect();
                let checks = self.place(&CHECKS);
                json!({ "if": { "type": "object", "anyOf": any }, "then": checks })
            }
            Takes::Mock => {
                let single = json!({ "type": ["string", "number", "boolean", "null"] });
                let is_error = json!({ "type": "object", "required": ["error"], "maxProperties": 1, "properties": { "error": single } });
                let error = self.place(&MOCK_ERROR);
                json!({ "if": is_error, "then": error })
            }
            Takes::Keys(place) => self.place(place),
            Takes::Named(_) => json!({ "type": "object", "additionalProperties": each }),
            Takes::Defined(_) => json!({ "type": "object", "propertyNames": { "pattern": ID }, "additionalProperties": each }),
            Takes::Secrets => {
                json!({ "type": "object", "propertyNames": { "pattern": SECRET }, "additionalProperties": { "type": "string" } })
            }
            Takes::Environment => {
                json!({ "type": "object", "propertyNames": { "pattern": VARIABLE }, "additionalProperties": { "type": ["string", "number", "boolean"] } })
            }
            Takes::List(_) => json!({ "type": "array", "items": each }),
            Takes::Filled(_) => json!({ "type": "array", "items": each, "minItems": 1 }),
            Takes::Many(_) => json!({ "anyOf": [each, { "type": "array", "items": each }] }),
            Takes::Either(several) => self.either(several),
        }
    }

    /// One of several forms.
    fn either(&mut self, several: &'static [Takes]) -> Value {
        // Beside words and paths, a template is only a text that fills something in.
        let has_words = several.iter().any(|takes| matches!(takes, Takes::Word(_) | Takes::Path));
        let has_fields = several.iter().any(|takes| matches!(takes, Takes::Fields));
        let each = several.iter().map(|takes| match takes {
            Takes::Template if has_words => {
                json!({ "type": "string", "not": { "type": "string", "minLength": 1, "pattern": WITHOUT_BRACES } })
            }
            // A number or a word for true is no expression where a map is the other way.
            Takes::Expression if has_fields => json!({ "type": "string", "pattern": r"\S" }),
            takes => self.takes(takes),
        });
        json!({ "anyOf": each.collect::<Vec<Value>>() })
    }

    /// The keys of a section. Those that hold more than their keys say have a form of their own.
    fn place(&mut self, place: &'static KeyTable) -> Value {
        let is = |other: &'static KeyTable| std::ptr::eq(place, other);
        self.part(place.name, |builder| {
            if is(&CASE) {
                return builder.case();
            }
            if is(&MODEL) {
                return builder.model();
            }
            if is(&TOOL) {
                return builder.one_kind(&[&TOOL], TOOL_KINDS);
            }
            let mut object = builder.object(&[place]);
            if is(&DATA) {
                let file = |pattern| json!({ "properties": { "file": text(pattern, "a file with one of these endings") } });
                let of = |key: &str, pattern| json!({ "if": { "required": [key] }, "then": file(pattern) });
                object.insert("allOf".into(), json!([file(DATA_FILE), of("sheet", EXCEL_FILE), of("table", DATABASE_FILE)]));
            }
            if is(&MARKUP) {
                object["properties"]["escape"]["propertyNames"] = json!({ "minLength": 1, "maxLength": 1 });
            }
            if is(&CRITERION) {
                let expected = json!({ "required": ["judge", "expected"], "properties": { "judge": { "const": true } } });
                object.insert("anyOf".into(), json!([{ "required": ["check"] }, expected]));
            }
            object.into()
        })
    }

    fn field(&mut self) -> Value {
        let object = self.object(&[&FIELD]);
        let words = FIELD.key("type").map(|key| self.takes(&key.takes));
        json!({ "if": { "type": "object" }, "then": object, "else": words })
    }

    fn reply(&mut self) -> Value {
        let mut object = self.object(&[&REPLY]);
        let bodies: Vec<Value> = BODIES.iter().map(|key| json!({ "required": [key] })).collect();
        object.insert("oneOf".into(), bodies.into());
        json!({ "if": { "type": "object" }, "then": object, "else": { "type": "string" } })
    }

    /// What has exactly one of several kinds: the keys of its kind decide what else may be there.
    fn one_kind(&mut self, common: Tables, kinds: Tables<'static>) -> Value {
        let any: Vec<Value> = kinds.iter().map(|kind| json!({ "required": [kind.name] })).collect();
        // A kind that is a key of another kind, too, is that other one where both are there.
        let mut object = self.by_kind(common, kinds, |kind| match kinds_with(kind.name) {
            others if others.is_empty() => json!({ "required": [kind.name] }),
            others => json!({ "required": [kind.name], "not": { "anyOf": others } }),
        });
        object.insert("anyOf".into(), any.into());
        object.into()
    }

    /// The keys of `common`, and besides those of the kind that `is_it` tells.
    fn by_kind(&mut self, common: Tables, kinds: Tables<'static>, is_it: fn(&KeyTable) -> Value) -> Map<String, Value> {
        let mut ways = vec![];
        for kind in kinds {
            let mut then = self.object(&[kind]);
            then.remove("type");
            if let Some(Value::Object(properties)) = then.get_mut("properties") {
                // What these take is above.
                let keys = common.iter().flat_map(|place| place.keys);
                for key in keys {
                    properties.entry(key.name).or_insert(Value::Bool(true));
                }
            }
            ways.push(json!({ "if": is_it(kind), "then": then }));
        }
        let mut object = self.object(common);
        object.remove("additionalProperties");
        object.insert("allOf".into(), ways.into());
        object
    }

    /// One of two forms: with `steps`, or the other.
    fn with_steps(&mut self, place: &'static KeyTable, other: Value) -> Value {
        let steps = self.object(&[place]);
        json!({ "if": { "required": ["steps"], "not": { "anyOf": kinds_with("steps") } }, "then": steps, "else": other })
    }

    fn case(&mut self) -> Value {
        let mut step = self.one_kind(&[&CASE, &EVERY_STEP], KINDS);
        step["not"] = json!({ "anyOf": [{ "required": ["route"] }, { "required": ["gate"] }] });
        let mut case = self.with_steps(&CASE_STEPS, step);
        case["anyOf"] = json!([{ "required": ["equals"] }, { "required": ["phrases"] }, { "required": ["when"] }]);
        case
    }

    fn model(&mut self) -> Value {
        let is_it = |own: &KeyTable| json!({ "required": ["provider"], "properties": { "provider": { "const": own.name } } });
        self.by_kind(&[&MODEL], PROVIDERS, is_it).into()
    }
}

fn text(pattern: &str, error: &str) -> Value {
    json!({ "type": "string", "pattern": pattern, "patternErrorMessage": error })
}

/// The kinds of steps that have a key of this name besides their own.
fn kinds_with(key: &str) -> Vec<Value> {
    let has = |kind: &&&KeyTable| kind.name != key && kind.key(key).is_some() && KINDS.iter().any(|other| other.name == key);
    KINDS.iter().filter(has).map(|kind| json!({ "required": [kind.name] })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::keys::places::places_from;

    /// Every place that is in a table, each once.
    fn places() -> Vec<&'static KeyTable> {
        let roots = [&PIPELINE, &CHANNEL, &TEST, &REPLIES, &STYLE_GUIDE, &DEFINITIONS, &EVERY_STEP, &STEP, &CASE_STEPS, &REPLY];
        let roots: Vec<&'static KeyTable> = roots.into_iter().chain([KINDS, TOOL_KINDS, PROVIDERS].concat()).collect();
        let all = places_from(roots.clone());
        all.into_iter().filter(|place| !roots.iter().any(|root| std::ptr::eq(*root, *place))).collect()
    }

    #[test]
    fn no_two_sections_share_a_part() {
        let mut names: Vec<&str> = places().iter().map(|place| place.name).collect();
        names.extend(["field", "step", "otherwise", "reply"]);
        let count = names.len();
        assert!(count > 20);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }

    #[test]
    fn the_schema_is_a_schema_and_every_reference_in_it_leads_somewhere() {
        let all = [FileKind::Pipeline, FileKind::Channel, FileKind::Test, FileKind::Replies, FileKind::StyleGuide, FileKind::Definitions];
        for kind in all.into_iter().map(Some).chain([None]) {
            let schema = json_schema(kind);
            assert!(jsonschema::meta::is_valid(&schema), "{kind:?}");
            let text = schema.to_string();
            let parts = schema["$defs"].as_object().unwrap();
            for name in text.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(parts.get(name).is_some_and(Value::is_object), "{kind:?} has no part {name}");
            }
            assert!(parts.keys().all(|name| text.contains(&format!("#/$defs/{name}\""))), "{kind:?}");
        }
    }

    #[test]
    fn every_key_brings_the_line_that_says_what_it_means() {
        let schema = json_schema(Some(FileKind::Pipeline)).to_string();
        for key in PIPELINE.keys.iter().chain(EVERY_STEP.keys).chain(CHECKS.keys) {
            assert!(schema.contains(key.about), "{}", key.name);
        }
    }

    #[test]
    fn texts_that_are_read_before_the_run_hold_no_braces() {
        let is_fixed = |text: &str| regex::Regex::new(WITHOUT_BRACES).unwrap().is_match(text);
        for fine in ["", "a", "{", "a{1}", "}}", "{ {", "a\nb", "1{"] {
            assert!(is_fixed(fine), "{fine:?}");
        }
        for braces in ["{{", "a {{ b }}", "{% if %}", "a\n{{b", "{a}{{"] {
            assert!(!is_fixed(braces), "{braces:?}");
        }
        let is_program = |text: &str| regex::Regex::new(PROGRAM).unwrap().is_match(text);
        for fine in ["python3", "/opt/my tools/server", "a{1}", "/"] {
            assert!(is_program(fine), "{fine:?}");
        }
        for wrong in
            ["", " ", "python3 server.py", "./server", "servers/weather", "{{ inputs.program }}", "/opt/{{ inputs.program }}", "{%a"]
        {
            assert!(!is_program(wrong), "{wrong:?}");
        }
        let is_name = |text: &str| regex::Regex::new(NAME).unwrap().is_match(text);
        for (text, expected) in [("a", true), ("a{1}", true), ("", false), (" ", false), ("{{a}}", false), (" a ", true)] {
            assert_eq!(is_name(text), expected, "{text:?}");
        }
    }
}
