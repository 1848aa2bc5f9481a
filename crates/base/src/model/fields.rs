//! Field rules: the same in `inputs`, `output`, `form` and `arguments`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::source::Span;

/// The shape of inputs or of an output: fields, or a JSON Schema instead of them.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Field rules by name.
    Fields(Vec<Field>),
    /// A JSON Schema (2020-12), checked when it was read: only `#…` references, bounded size.
    Schema(Arc<Value>),
}

/// Whether only the author's own words can be what is at a path of names and places in a value that fits a JSON Schema, however they are chosen. What a
/// schema says of a value holds whatever else it says.
pub fn closes(schema: &Value, path: &[String]) -> bool {
    let is_of = |kind: &str| schema["type"] == kind;
    let is_named = schema.get("enum").is_some() || schema.get("const").is_some() || is_of("boolean") || is_of("null");
    let of_items = |rest: &[String]| schema.get("prefixItems").is_none() && schema.get("items").is_some_and(|items| closes(items, rest));
    let properties = schema["properties"].as_object();
    let of_parts = || match path.split_first() {
        None if is_of("object") => {
            let is_whole = schema["additionalProperties"] == false && schema.get("patternProperties").is_none();
            is_whole && properties.is_some_and(|own| !own.is_empty() && own.values().all(|field| closes(field, &[])))
        }
        None => is_of("array") && of_items(&[]),
        Some((name, rest)) => match properties.and_then(|own| own.get(name)) {
            Some(field) => closes(field, rest),
            None => (name == "*" || name.parse::<usize>().is_ok()) && is_of("array") && of_items(rest),
        },
    };
    is_named || of_parts()
}

impl Default for Shape {
    fn default() -> Shape {
        Shape::Fields(vec![])
    }
}

/// One field and its rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Its type.
    pub kind: FieldKind,
    /// Whether it must be given. `inputs`: unless `default` or `required: false`; `output`: unless `required: false`.
    pub is_required: bool,
    /// The value when it is not given.
    pub default: Option<Value>,
    /// The only values allowed; empty: all.
    pub one_of: Vec<Value>,
    /// A pattern (linear engine) that a text must contain a match of.
    pub pattern: Option<String>,
    /// Fewest characters or elements.
    pub min_length: Option<u64>,
    /// Most characters or elements.
    pub max_length: Option<u64>,
    /// Smallest number.
    pub minimum: Option<f64>,
    /// Largest number.
    pub maximum: Option<f64>,
    /// A JSON Schema format name (`email`, `uri`, …).
    pub format: Option<String>,
    /// A sentence for people and models.
    pub description: Option<String>,
    /// A sample value for people.
    pub example: Option<Value>,
    /// Holds personal data: masked in every log.
    pub is_pii: bool,
    /// Holds what a stranger wrote, whoever gives it.
    pub is_untrusted: bool,
    /// Rules of the elements of a list.
    pub items: Option<Box<Field>>,
    /// Fields of an object; empty: any.
    pub fields: Vec<Field>,
}

impl Field {
    /// A required field without further rules.
    pub fn new(name: impl Into<String>, kind: FieldKind) -> Field {
        Field { name: name.into(), kind, is_required: true, ..Field::default() }
    }

    /// Whether only the author's own words can be its value, however they are chosen: `enum` and truth values, and lists and objects of nothing else.
    pub fn is_closed(&self) -> bool {
        let of_parts = || match (self.kind, &self.items) {
            (FieldKind::List, items) => items.as_ref().is_some_and(|items| items.is_closed()),
            (FieldKind::Object, _) => !self.fields.is_empty() && self.fields.iter().all(Field::is_closed),
            (FieldKind::Boolean, _) => true,
            (FieldKind::Text | FieldKind::Number | FieldKind::Integer | FieldKind::Date | FieldKind::Datetime, _) => false,
            (FieldKind::File | FieldKind::Folder | FieldKind::Any | FieldKind::Plan | FieldKind::Scorecard, _) => false,
        };
        !self.one_of.is_empty() || of_parts()
    }

    /// Whether a stranger wrote the value at this path below it, or a part of that.
    pub fn is_untrusted_at(&self, path: &[String]) -> bool {
        let Some((part, rest)) = path.split_first() else { return self.has_untrusted() };
        let below = match &self.items {
            Some(items) => Some(&**items),
            None => self.fields.iter().find(|field| field.name == *part),
        };
        self.is_untrusted || below.map_or_else(|| self.has_untrusted(), |below| below.is_untrusted_at(rest))
    }

    fn has_untrusted(&self) -> bool {
        self.is_untrusted || self.items.as_ref().is_some_and(|items| items.has_untrusted()) || self.fields.iter().any(Field::has_untrusted)
    }

    /// A value of this field with each path of a `file` or `folder` in it told in another way.
    pub fn with_paths(&self, value: &Value, tell: &dyn Fn(&str) -> String) -> Value {
        match (self.kind, value) {
            (FieldKind::File | FieldKind::Folder, Value::String(path)) if !path.is_empty() => match tell(path) {
                // The folder itself: with nothing before it, `/x` would be read from the root of the disk.
                here if here.is_empty() => ".".into(),
                told => told.into(),
            },
            (FieldKind::List, Value::Array(list)) => match &self.items {
                Some(items) => list.iter().map(|value| items.with_paths(value, tell)).collect(),
                None => value.clone(),
            },
            (FieldKind::Object, Value::Object(fields)) => {
                let of = |name: &str| self.fields.iter().find(|field| field.name == name);
                let told = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), of(name).map_or_else(|| value.clone(), |field| field.with_paths(value, tell))));
                Value::Object(told.collect())
            }
            (
                FieldKind::File
                | FieldKind::Folder
                | FieldKind::List
                | FieldKind::Object
                | FieldKind::Text
                | FieldKind::Number
                | FieldKind::Integer
                | FieldKind::Boolean
                | FieldKind::Date
                | FieldKind::Datetime
                | FieldKind::Any
                | FieldKind::Plan
                | FieldKind::Scorecard,
                value,
            ) => value.clone(),
        }
    }
}

/// The types of fields.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::EnumString, strum::VariantNames, Default, Serialize, Deserialize,
)]
#[strum(serialize_all = "snake_case")]
pub enum FieldKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A date, `2026-11-18`.
    Date,
    /// A date and time, RFC 3339; an input may leave out its zone, its seconds or its time.
    Datetime,
    /// A list.
    List,
    /// An object.
    Object,
    /// A path of a file; relative to the project's folder. Who gives one at the command line tells it from the current folder.
    File,
    /// A path of a folder, like that of a file.
    Folder,
    /// Anything.
    #[default]
    Any,
    /// An execution plan: `strategy`, `reasoning`, `steps`.
    Plan,
    /// A scorecard: `criteria`, without `expression`.
    Scorecard,
}
