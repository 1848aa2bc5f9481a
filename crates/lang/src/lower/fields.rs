//! Field rules: `inputs`, `output`, `form`, `arguments`.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::str::FromStr;

use regex::Regex;
use serde_json::{Number, Value, json};
use strum::VariantNames;

use super::aliases::{GROUPS, type_alias};
use super::context::{Lower, quoted};
use super::keys;
use super::other_shapes::truth;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::values::{value_of, wrong_type};
use super::written_form::written_form;
use crate::diagnostic::{Code, Diagnostic, LONGEST_QUOTE, Near, cut, listed, nearest};
use crate::gate::schema_problems;
use crate::model::{Field, FieldKind, PlainMoment, Shape};
use crate::source::Span;
use crate::syntax::{MapKey, Node, NodeKind, quoted as in_quotes};
use crate::template::holds_a_name;

/// Where fields stand, which decides whether one must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldRole {
    /// Given unless it has a default or says otherwise.
    Input,
    /// Given unless it says otherwise.
    Output,
    /// The same; its default may be a template, which is filled in when a person is asked.
    Form,
}

impl<'a> KeyReader<'a, '_> {
    /// `output`, or `output_schema` instead.
    pub fn output(&self) -> Option<Shape> {
        self.check_one_of(&["output", "output_schema"]);
        if let Some(node) = self.get("output").filter(|node| is_json_schema(node)) {
            let message = format!("\"output\" of {} is a JSON Schema; here stand fields by name", self.owner);
            let found = wrong_type(node, message).about(value_of("output")).help("write output_schema");
            let key = self.key_span("output");
            self.lower.report(Diagnostic { span: key, ..found }.proposed_fix(vec![(key, "output_schema".to_owned())]));
            return None;
        }
        let schema = self.get("output_schema").and_then(|node| self.lower.texts().schema("output_schema", &self.owner, node));
        let fields = self.get("output").map(|_| self.fields("output", "field", FieldRole::Output));
        match (fields, schema) {
            (Some(fields), _) => Some(Shape::Fields(fields)),
            (None, Some(schema)) => Some(Shape::Schema(schema)),
            (None, None) => None,
        }
    }

    /// Field rules by name.
    pub fn fields(&self, key: &str, what: &'static str, role: FieldRole) -> Vec<Field> {
        self.entries(key).map(|(name, node)| field(self.lower, what, name, node, role)).collect()
    }
}

/// One field: its type alone, or its rules.
pub fn field(lower: &Lower, what: &'static str, name: &MapKey, node: &Node, role: FieldRole) -> Field {
    let owner = KeyOwner::Named(what, name.text.clone());
    let mut field = Field { span: name.span, is_required: role != FieldRole::Input, ..Field::new(&name.text, FieldKind::Any) };
    if node.as_map().is_none() {
        field.is_required = true;
        if name.text == "required" && node.as_list().is_some() {
            let message = format!("{owner} must be a type such as text, found a list of names");
            lower.report(wrong_type(node, message).help("remove it: a field must be given unless it has required: false"));
            return field;
        }
        field.kind = kind_of(lower, &owner, node, FieldKind::VARIANTS).unwrap_or(FieldKind::Any);
        return field;
    }
    if let Some(instead) = inner_fields(node) {
        let message = format!("{owner} must be a type or rules, found fields");
        let help = format!("write {instead}");
        lower.report(wrong_type(node, message).about(value_of("items")).help(help).proposed_fix(vec![(node.span, instead)]));
        return field;
    }
    if let Some(found) = chosen(&owner, node) {
        lower.report(found);
        return field;
    }
    if let Some((found, kind)) = by_format(&owner, node) {
        lower.report(found);
        field.kind = kind;
        return field;
    }
    let Some(keys) = KeyReader::new(lower, owner.clone(), &[&keys::FIELD], node) else { return field };
    field.kind = keys.read("type", |lower, _, node| kind_of(lower, &owner, node, FieldKind::VARIANTS)).unwrap_or(FieldKind::Any);
    let default = keys.get("default").filter(|node| role != FieldRole::Form || !is_template(node));
    let by_role = role != FieldRole::Input || default.is_none();
    field.is_required = keys.boolean("required").unwrap_or(by_role);
    let one_of: Vec<(Value, &Node)> = keys.filled_list("enum").unwrap_or_default().iter().map(|node| (node.to_value(), node)).collect();
    field.pattern = keys.get("pattern").and_then(|node| lower.texts().pattern(&owner, node)).map(|regex| regex.as_str().to_owned());
    field.min_length = keys.read("min_length", Lower::whole);
    field.max_length = keys.read("max_length", Lower::whole);
    field.minimum = keys.read("minimum", Lower::number);
    field.maximum = keys.read("maximum", Lower::number);
    field.format = keys.word("format").map(str::to_owned);
    field.description = keys.sentence("description");
    field.example = keys.get("example").map(Node::to_value);
    field.is_pii = keys.boolean("pii").unwrap_or(keys.has("pii"));
    field.is_untrusted = keys.boolean("untrusted").unwrap_or(false);
    field.items = keys.get("items").map(|node| {
        let name = MapKey { text: name.text.clone(), span: keys.key_span("items") };
        Box::new(self::field(lower, "items of", &name, node, role))
    });
    field.fields = keys.fields("fields", "field", role);
    check_rules(&keys, &field);
    let rules = Rules::of(&field);
    for (value, node) in &one_of {
        if let Some(why) = rules.misfit(value) {
            rules.report(lower, node, &format!("the enum value {} of {owner} {why}", shown(value)));
        }
    }
    field.one_of = one_of.into_iter().map(|(value, _)| value).collect();
    if let Some(node) = default {
        let value = node.to_value();
        let rules = Rules::of(&field);
        if let Some(found) = filled_nowhere(&owner, &field, node).filter(|_| role == FieldRole::Input) {
            lower.report(found);
        } else if let Some(why) = rules.misfit(&value) {
            rules.report(lower, node, &format!("default {} of {owner} {why}", shown(&value)));
        }
        field.default = Some(value);
    }
    field
}

/// F007 about a default that its author takes for a template.
fn filled_nowhere(owner: &KeyOwner, field: &Field, node: &Node) -> Option<Diagnostic> {
    let text = node.as_scalar().filter(|scalar| scalar.value.is_string())?.text.trim();
    let inside = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}")).map(str::trim).filter(|inside| !inside.contains("{{"));
    let is_path = |text: &str| holds_a_name(text) && !text.contains(char::is_whitespace);
    let of_shell = text.match_indices("${").any(|(at, _)| text[at..].contains('}'));
    let in_braces = text.split("{{").skip(1).any(|part| part.split_once("}}").is_some_and(|(inside, _)| holds_a_name(inside)));
    if !(of_shell || in_braces || is_path(text)) {
        return None;
    }
    let name = &field.name;
    let help = match inside.or(Some(text)).filter(|inside| is_path(inside)) {
        Some(path) => {
            format!("write required: false in place of default, and {{{{ inputs.{name} | default({path}, true) }}}} where it is read")
        }
        None => "write a value without braces".to_owned(),
    };
    Some(Diagnostic::bad_value(node.span, format!("the default of {owner} is taken as it is written: nothing is filled in")).help(help))
}

/// Whether a value is a text that is filled in.
pub fn is_template(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.value.is_string() && scalar.text.contains("{{"))
}

/// Whether this is a JSON Schema of an object, and not fields with these names.
fn is_json_schema(node: &Node) -> bool {
    let properties = node.as_map().and_then(|map| map.get("properties")).and_then(Node::as_map);
    node.text_of("type") == Some("object") && properties.is_some_and(|map| map.entries.iter().all(|(_, rules)| rules.as_map().is_some()))
}

/// Fields that stand where the rules of one field do: `items: { article: text }`, as an object with them.
fn inner_fields(node: &Node) -> Option<String> {
    let map = node.as_map().filter(|map| !map.entries.is_empty())?;
    let is_field = |(key, node): &(MapKey, Node)| {
        let word = node.as_scalar().map(|scalar| scalar.text.as_str());
        // `typ: integer` is a misspelt rule.
        let is_rule = keys::FIELD.key(&key.text).is_some() || !nearest(&key.text, ["type"]).is_empty();
        !is_rule && word.is_some_and(|word| FieldKind::VARIANTS.contains(&word) || type_alias(word).is_some())
    };
    if !map.entries.iter().all(is_field) {
        return None;
    }
    Some(format!("{{ type: object, fields: {} }}", written_form(&node.to_value())?))
}

/// F007 for `type: enum` or `type: choice` with its words beside it, as one finding.
fn chosen(owner: &KeyOwner, node: &Node) -> Option<Diagnostic> {
    let map = node.as_map()?;
    let (_, kind) = map.entry("type")?;
    let word = kind.as_scalar().map(|scalar| scalar.text.to_lowercase())?;
    let (key, words) = ["enum", "values", "options", "choices", "allowed"].iter().find_map(|key| map.entry(key))?;
    if !["enum", "choice", "select", "literal"].contains(&word.as_str()) || words.as_list().is_none() {
        return None;
    }
    let message = format!("type {} of {owner} is not known: a choice is a type with enum", quoted(&word));
    let mut edits = vec![(kind.span, "text".to_owned())];
    edits.extend((key.text != "enum").then(|| (key.span, "enum".to_owned())));
    let shown = written_form(&words.to_value()).unwrap_or_else(|| "[…]".to_owned());
    Some(
        Diagnostic::bad_value(kind.span, message)
            .help(format!("write text here, and enum: {shown} in place of {}", key.text))
            .proposed_fix(edits),
    )
}

/// F007 for `type: string, format: date` of JSON Schema, which is one word here, and the type.
fn by_format(owner: &KeyOwner, node: &Node) -> Option<(Diagnostic, FieldKind)> {
    let map = node.as_map()?;
    let (_, kind) = map.entry("type")?;
    let kind_word = kind.as_scalar().filter(|scalar| type_alias(&scalar.text) == Some("text"))?;
    let (_, format) = map.entry("format")?;
    let (word, meant) = match format.as_scalar()?.text.as_str() {
        "date" => ("date", FieldKind::Date),
        "date-time" | "datetime" => ("datetime", FieldKind::Datetime),
        _ => return None,
    };
    let message = format!("type {} of {owner} is not known: a {word} is a type of its own", quoted(&kind_word.text));
    let found = Diagnostic::bad_value(kind.span, message).related(format.span, "format goes, too");
    let found = found.help(format!("write type: {word} in place of type and format"));
    Some((if map.entries.len() == 2 { found.proposed_fix(vec![(node.span, word.to_owned())]) } else { found }, meant))
}

/// What a type of another language is here, with its parts: `list[str]`, `Optional[int]`, `Literal["a", "b"]`, `int | None`.
fn composed_type(written: &str) -> Option<String> {
    let simple = |word: &str| {
        let word = word.trim();
        type_alias(word).or_else(|| FieldKind::VARIANTS.iter().find(|kind| **kind == word).copied())
    };
    let text = written.trim();
    if let Some(items) = text.strip_suffix("[]") {
        return Some(format!("{{ type: list, items: {} }}", simple(items)?));
    }
    let optional = text.strip_suffix('?').or_else(|| text.strip_suffix("| None").or_else(|| text.strip_suffix("| null")));
    if let Some(kind) = optional {
        return Some(format!("{{ type: {}, required: false }}", simple(kind)?));
    }
    let (outer, inner) = text.strip_suffix([']', '>'])?.split_once(['[', '<'])?;
    match outer.trim().to_lowercase().as_str() {
        "list" | "array" | "sequence" | "set" => Some(format!("{{ type: list, items: {} }}", simple(inner)?)),
        "optional" => Some(format!("{{ type: {}, required: false }}", simple(inner)?)),
        "literal" | "enum" => {
            let words = inner.split(',').map(|word| word.trim().trim_matches(['"', '\'']).to_owned()).map(Value::String);
            Some(format!("{{ type: text, enum: {} }}", written_form(&words.collect())?))
        }
        _ => None,
    }
}

/// A type of the language, one of these.
pub fn kind_of<K: FromStr>(lower: &Lower, owner: &KeyOwner, node: &Node, words: &[&'static str]) -> Option<K> {
    let Some(scalar) = node.as_scalar().filter(|scalar| scalar.value.is_string()) else {
        lower.wrong_thing(owner, node, "a type such as text");
        return None;
    };
    let is_known = words.contains(&&*scalar.text);
    if !is_known && node.kind != NodeKind::Broken {
        if let Some(ours) = composed_type(&scalar.text) {
            let message = format!("type {} of {owner} is of another language", quoted(&scalar.text));
            let found = Diagnostic::bad_value(node.span, message).help(format!("write {ours}"));
            lower.report(found.proposed_fix(vec![(node.span, ours)]));
            return None;
        }
        let near = type_alias(&scalar.text).map_or_else(|| nearest(&scalar.text, words.iter().copied()), |word| vec![word]);
        let near = Near::new(&scalar.text, near);
        let message = format!("type {} of {owner} is not known{}", quoted(&scalar.text), near);
        let diagnostic = Diagnostic::bad_value(node.span, message).near(near.clone());
        lower.report(match near.names.first() {
            Some(word) => diagnostic.help(format!("write {word}")).proposed_fix(vec![(node.span, word.clone())]),
            None => diagnostic.help(format!("use one of: {}", words.join(", "))),
        });
    }
    scalar.text.parse().ok().filter(|_| is_known)
}

/// F020: rules that contradict each other or do not go with the type.
fn check_rules(keys: &KeyReader, field: &Field) {
    let owner = &keys.owner;
    for (names, kinds, words) in GROUPS {
        for name in names.iter().filter(|name| keys.get(name).is_some()) {
            if field.kind != FieldKind::Any && !kinds.contains(&field.kind) {
                let message = format!("{name} of {owner} goes with {words} only, and its type is {}", field.kind.word());
                input_rules(keys.lower, keys.key_span(name), &message);
            }
        }
    }
    if let (Some(least), Some(most)) = (field.min_length, field.max_length)
        && least > most
    {
        input_rules(keys.lower, keys.value_span("min_length"), &format!("min_length {least} of {owner} is above max_length {most}"));
    }
    if let (Some(least), Some(most)) = (field.minimum, field.maximum)
        && least > most
    {
        input_rules(keys.lower, keys.value_span("minimum"), &format!("minimum {least} of {owner} is above maximum {most}"));
    }
}

fn input_rules(lower: &Lower, span: Span, message: &str) {
    lower.report(contradiction(span, message).help("change one of the two so that they match"));
}

/// F020.
fn contradiction(span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(Code::InputRules, span, message)
}

/// Most values of `enum` that a help lists.
const MOST_CHOICES: usize = 4;

/// The rules of a field, ready for many values: of a list, all elements have the same.
struct Rules<'f> {
    field: &'f Field,
    one_of: HashSet<&'f Value>,
    /// Compiled when the first text asks for it.
    pattern: OnceCell<Option<Regex>>,
    items: Option<Box<Rules<'f>>>,
}

impl<'f> Rules<'f> {
    fn of(field: &'f Field) -> Rules<'f> {
        Rules {
            field,
            one_of: field.one_of.iter().collect(),
            pattern: OnceCell::new(),
            items: field.items.as_deref().map(|items| Box::new(Rules::of(items))),
        }
    }

    /// F020 about a value that does not fit, with what to write where that is plain.
    fn report(&self, lower: &Lower, node: &Node, message: &str) {
        match self.fitting(node) {
            Some(text) => {
                lower.report(contradiction(node.span, message).help(format!("write {text}")).safe_fix(vec![(node.span, text)]));
            }
            None => match self.choices(node) {
                Some(help) => lower.report(contradiction(node.span, message).help(help)),
                None => input_rules(lower, node.span, message),
            },
        }
    }

    /// What to write where the value is none of the choices.
    fn choices(&self, node: &Node) -> Option<String> {
        let (scalar, field) = (node.as_scalar()?, self.field);
        let is_choice = !field.one_of.is_empty() && is_of_kind(field.kind, &scalar.value) && !self.one_of.contains(&scalar.value);
        let all = || field.one_of.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect::<Vec<_>>();
        let which = if field.one_of.len() > MOST_CHOICES { "one of these".to_owned() } else { listed(&all(), "or") };
        is_choice.then(|| format!("write {which} here, or add {} to enum", scalar.text))
    }

    /// A value of another type that can only be meant as one of this type, as it must be written.
    fn fitting(&self, node: &Node) -> Option<String> {
        let scalar = node.as_scalar()?;
        let (text, value) = match self.field.kind {
            FieldKind::Boolean => truth(scalar).map(|word| (word.to_owned(), Value::Bool(word == "true")))?,
            FieldKind::Text if scalar.value.is_number() || scalar.value.is_boolean() => {
                (in_quotes(&scalar.text), Value::String(scalar.text.clone()))
            }
            FieldKind::Number | FieldKind::Integer => {
                let number: Number = serde_json::from_str(scalar.value.as_str()?).ok()?;
                (number.to_string(), Value::Number(number))
            }
            FieldKind::Date => {
                let text = scalar.text.trim();
                let date =
                    ["%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d"].iter().find_map(|form| chrono::NaiveDate::parse_from_str(text, form).ok())?;
                let date = date.format("%Y-%m-%d").to_string();
                (in_quotes(&date), Value::String(date))
            }
            _ => return None,
        };
        self.misfit(&value).is_none().then_some(text)
    }

    /// Why a value does not fit; `None`: it does, or it is empty.
    fn misfit(&self, value: &Value) -> Option<String> {
        let field = self.field;
        if value.is_null() {
            return None;
        }
        if !is_of_kind(field.kind, value) {
            return Some(format!("is not of type {}", quoted(field.kind.word())));
        }
        if !field.one_of.is_empty() && !self.one_of.contains(value) {
            let all = field.one_of.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            return Some(format!("is not one of: {}", all.collect::<Vec<_>>().join(", ")));
        }
        let length = match value {
            Value::String(text) => Some(text.chars().count() as u64),
            Value::Array(list) => Some(list.len() as u64),
            _ => None,
        };
        if let Some(least) = field.min_length.filter(|least| length.is_some_and(|length| length < *least)) {
            return Some(format!("is shorter than min_length {least}"));
        }
        if let Some(most) = field.max_length.filter(|most| length.is_some_and(|length| length > *most)) {
            return Some(format!("is longer than max_length {most}"));
        }
        if let Some(least) = field.minimum.filter(|least| value.as_f64().is_some_and(|number| number < *least)) {
            return Some(format!("is below minimum {least}"));
        }
        if let Some(most) = field.maximum.filter(|most| value.as_f64().is_some_and(|number| number > *most)) {
            return Some(format!("is above maximum {most}"));
        }
        let pattern = || self.pattern.get_or_init(|| crate::template::patterns::compile(field.pattern.as_deref()?).ok()).as_ref();
        if let Some(text) = value.as_str()
            && let Some(pattern) = pattern()
            && !pattern.is_match(text)
        {
            return Some("does not match its pattern".to_owned());
        }
        let is_of_format = |format: &String| schema_problems(&json!({ "type": "string", "format": format }), value).is_empty();
        if let Some(format) = field.format.as_ref().filter(|format| value.is_string() && !is_of_format(format)) {
            return Some(format!("is not of the format {format}"));
        }
        let mut elements = value.as_array().into_iter().flatten();
        let why = self.items.as_ref().and_then(|items| elements.find_map(|value| items.misfit(value)));
        why.map(|why| format!("has an element that {why}"))
    }
}

fn is_of_kind(kind: FieldKind, value: &Value) -> bool {
    match kind {
        FieldKind::Text | FieldKind::File | FieldKind::Folder => value.is_string(),
        FieldKind::Number => value.is_number(),
        FieldKind::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        FieldKind::Boolean => value.is_boolean(),
        FieldKind::Date => value.as_str().is_some_and(|text| chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()),
        FieldKind::Datetime => value.as_str().is_some_and(|text| PlainMoment::parse(text).is_some()),
        FieldKind::List => value.is_array(),
        FieldKind::Object => value.is_object(),
        FieldKind::Any | FieldKind::Plan | FieldKind::Scorecard => true,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => cut(&other.to_string(), LONGEST_QUOTE),
    }
}
