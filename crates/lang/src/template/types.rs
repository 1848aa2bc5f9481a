//! Types of values, as far as they are known before a run. What is not known fits everywhere.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::model::{Field, FieldKind, Sample, Shape};

/// Deepest nesting that is looked at; below it nothing is known.
const DEEPEST: usize = 32;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Not known: no finding follows from it.
    Any,
    /// Always empty.
    Empty,
    /// A text.
    Text,
    /// One of these texts.
    OneOf(Arc<Vec<String>>),
    /// A text that is a day, such as `2026-11-18`.
    Date,
    /// A number.
    Number,
    /// A number that is not below one bound, nor above another.
    Within(NumberBounds),
    /// True or false.
    Boolean,
    /// A list and what its elements are.
    List(Arc<Type>),
    /// An object.
    Object(Arc<Object>),
}

/// The bounds of a number; none of them is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NumberBounds {
    /// The smallest that it can be.
    pub(crate) least: Option<f64>,
    /// The largest that it can be.
    pub(crate) most: Option<f64>,
}

impl Eq for NumberBounds {}

/// What is known of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    /// Its fields.
    pub fields: IndexMap<String, Member>,
    /// Whether it may have others.
    pub is_open: bool,
    /// Whether they are the columns of a data file, which may have others when a run reads it.
    pub(crate) is_of_file: bool,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its type.
    pub kind: Type,
    /// Whether it may be missing.
    pub(crate) is_optional: bool,
}

impl Member {
    /// A field that is always there.
    pub fn sure(kind: Type) -> Member {
        Member { kind, is_optional: false }
    }
}

impl Type {
    /// A list.
    pub fn list(of: Type) -> Type {
        Type::List(Arc::new(of))
    }

    /// One of these texts.
    pub fn one_of<'a>(values: impl IntoIterator<Item = &'a str>) -> Type {
        Type::OneOf(Arc::new(values.into_iter().map(str::to_owned).collect()))
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self, Type::Text | Type::OneOf(_) | Type::Date)
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Number | Type::Within(_))
    }

    /// A number with these bounds.
    pub(crate) fn within(least: Option<f64>, most: Option<f64>) -> Type {
        if least.is_none() && most.is_none() { Type::Number } else { Type::Within(NumberBounds { least, most }) }
    }

    /// Whether nothing follows from it: it is not known, or may be empty alone.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Type::Any | Type::Empty)
    }

    /// An object with exactly these fields.
    pub fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Type)>) -> Type {
        Type::of_members(fields.into_iter().map(|(name, kind)| (name.to_owned(), Member::sure(kind))), false)
    }

    /// An object with these fields and others.
    pub(crate) fn open_object<'a>(fields: impl IntoIterator<Item = (&'a str, Type)>) -> Type {
        Type::of_members(fields.into_iter().map(|(name, kind)| (name.to_owned(), Member::sure(kind))), true)
    }

    /// An object with these fields, and perhaps others.
    pub(crate) fn of_members(members: impl Iterator<Item = (String, Member)>, is_open: bool) -> Type {
        Type::Object(Arc::new(Object { fields: members.collect(), is_open, is_of_file: false }))
    }

    /// A row with these columns; `is_of_file`: they are those of a file.
    pub(crate) fn row(columns: &[String], is_of_file: bool) -> Type {
        let fields = columns.iter().map(|name| (name.clone(), Member::sure(Type::Any))).collect();
        Type::Object(Arc::new(Object { fields, is_open: false, is_of_file }))
    }

    /// The type in words: `text`, `a list`.
    pub fn words(&self) -> &'static str {
        match self {
            Type::Any => "anything",
            Type::Empty => "empty",
            Type::Text | Type::OneOf(_) | Type::Date => "text",
            Type::Number | Type::Within(_) => "a number",
            Type::Boolean => "true or false",
            Type::List(_) => "a list",
            Type::Object(_) => "an object",
        }
    }

    /// What a value that is written out is.
    pub(crate) fn of_value(value: &Value) -> Type {
        Type::of_value_at(value, 0)
    }

    fn of_value_at(value: &Value, depth: usize) -> Type {
        match value {
            _ if depth > DEEPEST => Type::Any,
            Value::Null => Type::Empty,
            Value::Bool(_) => Type::Boolean,
            Value::Number(_) => Type::Number,
            Value::String(_) => Type::Text,
            Value::Array(list) => {
                let kinds = list.iter().map(|value| Type::of_value_at(value, depth + 1));
                Type::list(kinds.reduce(Type::same).unwrap_or(Type::Any))
            }
            Value::Object(map) => Type::object(map.iter().map(|(name, value)| (name.as_str(), Type::of_value_at(value, depth + 1)))),
        }
    }

    /// What a result is that flow itself makes. Of an object without fields, such as those of names, nothing is known.
    pub(crate) fn of_sample<T: Sample + Serialize>() -> Type {
        Type::of_shape(&T::shape(false))
    }

    /// The same, by a sample.
    pub(crate) fn of_shape(shape: &Value) -> Type {
        match shape {
            Value::Null => Type::Any,
            Value::Array(list) => Type::list(list.first().map_or(Type::Any, Type::of_shape)),
            Value::Object(fields) if fields.is_empty() => Type::open_object([]),
            Value::Object(fields) => Type::object(fields.iter().map(|(name, shape)| (name.as_str(), Type::of_shape(shape)))),
            plain => Type::of_value(plain),
        }
    }

    /// An object with the fields of another, too; of those that both have the other's count.
    pub(crate) fn with(self, other: Type) -> Type {
        let (Type::Object(mut own), Type::Object(other)) = (self, other) else { return Type::Any };
        Arc::make_mut(&mut own).fields.extend(other.fields.clone());
        Type::Object(own)
    }

    /// The same without this field.
    pub(crate) fn without(self, name: &str) -> Type {
        let Type::Object(mut own) = self else { return self };
        Arc::make_mut(&mut own).fields.shift_remove(name);
        Type::Object(own)
    }

    /// The same where this field may be missing.
    pub(crate) fn perhaps(self, name: &str) -> Type {
        let Type::Object(mut own) = self else { return self };
        Arc::make_mut(&mut own).fields.get_mut(name).into_iter().for_each(|field| field.is_optional = true);
        Type::Object(own)
    }

    /// What an output of this shape is.
    pub(crate) fn of_output(shape: &Shape) -> Type {
        match shape {
            Shape::Fields(fields) => of_fields(fields),
            Shape::Schema(schema) => of_schema(schema, 0),
        }
    }

    /// What inputs of this shape are: one that need not be given is empty then, not missing.
    pub(crate) fn of_inputs(shape: &Shape) -> Type {
        match shape {
            Shape::Fields(fields) => Type::object(fields.iter().map(|field| (field.name.as_str(), of_field(field)))),
            Shape::Schema(schema) => of_schema(schema, 0),
        }
    }

    /// What is one of these, `None` if there are none: a field that only some objects have may be missing. All are looked at
    /// together, so that many of them are no more work than their size.
    pub fn either(kinds: Vec<Type>) -> Option<Type> {
        let is_empty = !kinds.is_empty();
        let mut known: Vec<Type> = kinds.into_iter().filter(|kind| *kind != Type::Empty).collect();
        let Some(first) = known.first() else { return is_empty.then_some(Type::Empty) };
        if known.iter().all(|kind| kind == first) {
            return known.pop();
        }
        if known.iter().all(Type::is_text) || known.iter().all(Type::is_number) {
            return known.into_iter().reduce(Type::same);
        }
        let mut lists = vec![];
        let mut objects = vec![];
        for kind in &known {
            match kind {
                Type::List(of) => lists.push((**of).clone()),
                Type::Object(object) => objects.push(object.as_ref()),
                _ => return Some(Type::Any),
            }
        }
        Some(match (lists.is_empty(), objects.is_empty()) {
            (false, true) => Type::list(Type::either(lists).unwrap_or(Type::Any)),
            (true, false) => Type::Object(Arc::new(Object::either(&objects))),
            _ => Type::Any,
        })
    }

    /// What both are, if they are the same: for elements of a list, of which an author knows which one has what.
    pub fn same(self, other: Type) -> Type {
        match (self, other) {
            (one, other) if one == other => one,
            (Type::OneOf(some), Type::OneOf(others)) => {
                let new = others.iter().filter(|value| !some.contains(value));
                Type::one_of(some.iter().chain(new).map(String::as_str))
            }
            (one, other) if one.is_text() && other.is_text() => Type::Text,
            (Type::Within(some), Type::Within(others)) => {
                let wider = |one: Option<f64>, other: Option<f64>, widen: fn(f64, f64) -> f64| Some(widen(one?, other?));
                Type::within(wider(some.least, others.least, f64::min), wider(some.most, others.most, f64::max))
            }
            (one, other) if one.is_number() && other.is_number() => Type::Number,
            _ => Type::Any,
        }
    }

    /// Whether it has at most so many parts. Parts that are shared count each time they occur.
    pub(crate) fn is_within(&self, most: usize) -> bool {
        self.count(most).is_some()
    }

    /// The same fields, of which nothing but their names is known, and which of them are texts: any of them may be empty.
    pub(crate) fn names_only(&self) -> Type {
        let Type::Object(object) = self else { return if self.is_text() { self.clone() } else { Type::Any } };
        let member = |(name, member): (&String, &Member)| (name.clone(), Member { kind: member.kind.names_only(), ..member.clone() });
        let fields = object.fields.iter().map(member).collect();
        Type::Object(Arc::new(Object { fields, ..(**object).clone() }))
    }

    /// How many parts are left of `most`.
    fn count(&self, most: usize) -> Option<usize> {
        let left = most.checked_sub(1)?;
        match self {
            Type::List(of) => of.count(left),
            Type::Object(object) => object.fields.values().try_fold(left, |left, member| member.kind.count(left)),
            _ => Some(left),
        }
    }

    /// Whether a value of this type may be used where `wanted` is asked for. Empty is left to the run.
    pub fn fits(&self, wanted: &Type) -> bool {
        match (self, wanted) {
            (Type::Any | Type::Empty, _) | (_, Type::Any) => true,
            (Type::List(_), Type::List(_)) | (Type::Object(_), Type::Object(_)) => true,
            (one, other) => one == other || one.is_text() && other.is_text() || one.is_number() && other.is_number(),
        }
    }
}

impl Object {
    fn either(objects: &[&Object]) -> Object {
        let is_open = objects.iter().any(|object| object.is_open);
        let mut members: IndexMap<&str, Vec<&Member>> = IndexMap::new();
        for (name, member) in objects.iter().flat_map(|object| &object.fields) {
            members.entry(name).or_default().push(member);
        }
        let fields = members.into_iter().map(|(name, members)| {
            let is_optional = members.len() < objects.len() || members.iter().any(|member| member.is_optional);
            let member = match is_optional && is_open {
                // What one of them may have besides is not known, so neither is its type.
                true => Member::sure(Type::Any),
                false => {
                    let kinds = members.iter().map(|member| member.kind.clone()).collect();
                    Member { kind: Type::either(kinds).unwrap_or(Type::Any), is_optional }
                }
            };
            (name.to_owned(), member)
        });
        Object { fields: fields.collect(), is_open, is_of_file: objects.iter().any(|object| object.is_of_file) }
    }
}

/// An object of these fields; one that need not be given may be missing.
fn of_fields(fields: &[Field]) -> Type {
    let members = fields.iter().map(|field| (field.name.clone(), Member { kind: of_field(field), is_optional: !field.is_required }));
    Type::of_members(members, false)
}

/// The type of a field.
pub fn of_field(field: &Field) -> Type {
    let texts: Option<Vec<&str>> = field.one_of.iter().map(Value::as_str).collect();
    match field.kind {
        FieldKind::Text => texts.filter(|values| !values.is_empty()).map_or(Type::Text, Type::one_of),
        FieldKind::Date => Type::Date,
        FieldKind::Datetime | FieldKind::File | FieldKind::Folder => Type::Text,
        FieldKind::Number | FieldKind::Integer => Type::within(field.minimum, field.maximum),
        FieldKind::Boolean => Type::Boolean,
        FieldKind::List => Type::list(field.items.as_ref().map_or(Type::Any, |items| of_field(items))),
        FieldKind::Object if field.fields.is_empty() => Type::open_object([]),
        FieldKind::Object => of_fields(&field.fields),
        FieldKind::Any => Type::Any,
        FieldKind::Plan => Type::open_object([("strategy", Type::Text), ("reasoning", Type::Text), ("steps", Type::list(Type::Any))]),
        FieldKind::Scorecard => Type::open_object([("criteria", Type::list(Type::Any))]),
    }
}

/// The type of a JSON Schema, as far as `type`, `properties`, `items` and `additionalProperties` tell it.
fn of_schema(schema: &Value, depth: usize) -> Type {
    if depth > DEEPEST {
        return Type::Any;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => match schema.get("enum").and_then(Value::as_array) {
            Some(values) if values.iter().all(Value::is_string) => Type::one_of(values.iter().filter_map(Value::as_str)),
            _ => Type::Text,
        },
        Some("number" | "integer") => {
            let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
            Type::within(bound("minimum"), bound("maximum"))
        }
        Some("boolean") => Type::Boolean,
        Some("null") => Type::Empty,
        Some("array") => match schema.get("items") {
            Some(items) if schema.get("prefixItems").is_none() => Type::list(of_schema(items, depth + 1)),
            _ => Type::list(Type::Any),
        },
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten().map(|(name, schema)| (name.clone(), Member::sure(of_schema(schema, depth + 1))));
            let others = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"];
            let is_closed =
                schema.get("additionalProperties") == Some(&Value::Bool(false)) && others.iter().all(|key| schema.get(key).is_none());
            Type::of_members(fields, !is_closed)
        }
        _ => Type::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_that_only_one_of_two_objects_has_may_be_missing() {
        let both = Type::either(vec![Type::of_value(&json!({ "a": 1, "b": "x" })), Type::of_value(&json!({ "a": null }))]);
        let Some(Type::Object(object)) = both else { panic!("{both:?}") };
        assert_eq!(object.fields["a"], Member::sure(Type::Number));
        assert_eq!(object.fields["b"], Member { kind: Type::Text, is_optional: true });
    }

    #[test]
    fn what_is_not_known_fits_everywhere() {
        assert!(Type::Any.fits(&Type::list(Type::Text)) && Type::Empty.fits(&Type::Number) && Type::Text.fits(&Type::Any));
        assert!(!Type::Text.fits(&Type::Number));
    }

    #[test]
    fn of_several_kinds_only_what_all_share_is_known() {
        let list = |of| Type::list(of);
        for (kinds, both) in [
            (vec![], None),
            (vec![Type::Empty], Some(Type::Empty)),
            (vec![Type::Empty, Type::Text], Some(Type::Text)),
            (vec![Type::Text, Type::Number], Some(Type::Any)),
            (vec![Type::Any, Type::Text], Some(Type::Any)),
            (vec![list(Type::Text), list(Type::Text)], Some(list(Type::Text))),
            (vec![list(Type::Text), list(Type::Empty)], Some(list(Type::Text))),
            (vec![list(Type::Text), list(Type::Number)], Some(list(Type::Any))),
            (vec![list(Type::Text), Type::object([])], Some(Type::Any)),
            (vec![Type::open_object([("a", Type::Text)]), Type::object([])], Some(Type::open_object([("a", Type::Any)]))),
            (
                vec![Type::open_object([("a", Type::Text)]), Type::object([("a", Type::Empty)])],
                Some(Type::open_object([("a", Type::Text)])),
            ),
        ] {
            assert_eq!(Type::either(kinds.clone()), both, "{kinds:?}");
        }
    }

    #[test]
    fn a_schema_is_closed_only_if_it_says_so() {
        let open = of_schema(&json!({ "type": "object", "properties": { "a": { "type": "string" } } }), 0);
        assert_eq!(open, Type::open_object([("a", Type::Text)]));
        let closed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": false });
        assert_eq!(of_schema(&closed, 0), Type::object([("a", Type::Text)]));
    }
}
