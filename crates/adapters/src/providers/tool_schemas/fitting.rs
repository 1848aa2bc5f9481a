//! Rewrites a schema into a form.

use serde_json::{Map, Value, json};

use super::keywords::{
    SchemaForm, concerns, describe, every_type, implied, in_words, is_a, is_known_format, is_plain_pattern, says_nothing, type_of, types_of,
};

/// Maximum number of schemas inside one schema after its references are followed; what lies behind is left open.
const MOST_PARTS: usize = 1_000;
/// How deep they may lie inside each other.
const DEEPEST_PART: usize = 24;
/// The largest bound on a length that is sent: llama.cpp rejects grammars with more repetitions.
const MOST_REPETITIONS: u64 = 1_000;

/// A schema inside `root` in a form.
pub(super) fn fit(root: &Value, schema: &Value, form: SchemaForm) -> Value {
    Fitting { root, form, open: vec![], left: MOST_PARTS, depth: 0 }.part(schema)
}

/// One rewriting of a schema.
struct Fitting<'s> {
    root: &'s Value,
    form: SchemaForm,
    /// The references that are being followed.
    open: Vec<String>,
    /// How many schemas may still be written.
    left: usize,
    depth: usize,
}

impl Fitting<'_> {
    /// A schema in the form.
    fn part(&mut self, schema: &Value) -> Value {
        let before = self.open.len();
        self.left = self.left.saturating_sub(1);
        self.depth += 1;
        let mut words = vec![];
        let keys = match schema {
            Value::Object(keys) if self.left > 0 && self.depth < DEEPEST_PART => self.whole(keys.clone(), &mut words),
            _ => Map::new(),
        };
        let mut made = self.written(keys, &mut words);
        self.open.truncate(before);
        self.depth -= 1;
        describe(&mut made, &words, self.form);
        made
    }

    /// A schema without references, and with those that it must fit too (`allOf`) in one.
    fn whole(&mut self, mut keys: Map<String, Value>, words: &mut Vec<String>) -> Map<String, Value> {
        while let Some(Value::String(target)) = keys.shift_remove("$ref") {
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).and_then(Value::as_object);
            match found.filter(|_| !self.open.contains(&target)) {
                Some(found) => merge(&mut keys, found.clone(), words),
                None => {
                    words.push(format!("It has the form of {}.", target.rsplit('/').next().unwrap_or_default()));
                    if let (None, Some(kind)) = (keys.get("type"), found.and_then(|found| found.get("type"))) {
                        keys.insert("type".to_owned(), kind.clone());
                    }
                }
            }
            self.open.push(target);
        }
        if let Some(Value::Array(members)) = keys.shift_remove("allOf") {
            for member in self.each_whole(&members, words) {
                merge(&mut keys, member, words);
            }
        }
        if let Some(either) = keys.shift_remove("oneOf") {
            match keys.contains_key("anyOf") {
                true => words.push(in_words("oneOf", &either)),
                false => drop(keys.insert("anyOf".to_owned(), either)),
            }
        }
        keys
    }

    /// Each of several schemas as [`Fitting::whole`] gives it. What one of them refers to may be in another, too.
    fn each_whole(&mut self, schemas: &[Value], words: &mut Vec<String>) -> Vec<Map<String, Value>> {
        let (before, mut opened) = (self.open.len(), vec![]);
        let mut all = vec![];
        for schema in schemas.iter().filter_map(Value::as_object) {
            all.push(self.whole(schema.clone(), words));
            opened.extend(self.open.drain(before..));
        }
        self.open.extend(opened);
        all
    }

    /// A schema that refers to nothing, in the form.
    fn written(&mut self, mut keys: Map<String, Value>, words: &mut Vec<String>) -> Value {
        if let Some(only) = keys.shift_remove("const") {
            keys.insert("enum".to_owned(), json!([only]));
        }
        self.tuple(&mut keys, words);
        let is_object = keys.contains_key("properties") || types_of(&keys) == ["object"];
        match keys.shift_remove("anyOf") {
            Some(Value::Array(ways)) if is_object => self.unite(&mut keys, &ways, words),
            Some(ways) if keys.contains_key("type") || keys.contains_key("enum") => words.push(in_words("anyOf", &ways)),
            Some(Value::Array(ways)) => self.ways(&mut keys, ways, words),
            _ => {}
        }
        if keys.contains_key("anyOf") {
            return self.union(keys, words);
        }
        let types = match types_of(&keys) {
            none if none.is_empty() => implied(&keys),
            types => types,
        };
        let is_blank = keys.is_empty() && words.is_empty();
        let is_nullable = types.iter().any(|kind| kind == "null");
        let kinds: Vec<&String> = types.iter().filter(|kind| *kind != "null").collect();
        match (self.form, kinds.as_slice()) {
            (_, []) if is_nullable => self.of_types(&keys, &types, words),
            (SchemaForm::JsonSchema, []) if is_blank => json!({}),
            (_, []) => self.anything(&keys, words),
            (SchemaForm::JsonSchema, _) => self.of_types(&keys, &types, words),
            (SchemaForm::Gemini, [one]) => {
                let mut made = self.of_types(&keys, std::slice::from_ref(*one), words);
                if is_nullable {
                    made["nullable"] = json!(true);
                }
                made
            }
            (SchemaForm::Gemini, several) => {
                let mut each: Vec<Value> =
                    several.iter().map(|kind| self.of_types(&keys, std::slice::from_ref(*kind), &mut vec![])).collect();
                each.extend(is_nullable.then(|| json!({ "type": "null" })));
                self.union(Map::from_iter([("anyOf".to_owned(), Value::Array(each))]), words)
            }
        }
    }

    /// The keywords that concern some types, with the parts inside in the form.
    fn of_types(&mut self, keys: &Map<String, Value>, types: &[String], words: &mut Vec<String>) -> Value {
        let mut made = Map::new();
        made.insert("type".to_owned(), if let [one] = types { json!(one) } else { json!(types) });
        for (key, value) in keys.iter().filter(|(key, _)| *key != "type") {
            let is_about_one = |wanted: &str| types.iter().any(|kind| is_a(kind, wanted));
            match concerns(key, self.form) {
                Some(wanted) if is_about_one(wanted) => self.keyword(&mut made, key, value, types, words),
                Some(_) => {}
                None if says_nothing(key, value) => {}
                None => words.push(in_words(key, value)),
            }
        }
        if types.iter().any(|kind| kind == "object") {
            self.close_object(&mut made);
        }
        if types.iter().any(|kind| kind == "array") && !made.contains_key("items") {
            made.insert("items".to_owned(), self.part(&json!({})));
        }
        Value::Object(made)
    }

    fn keyword(&mut self, made: &mut Map<String, Value>, key: &str, value: &Value, types: &[String], words: &mut Vec<String>) {
        let sent = match (key, value) {
            ("properties", Value::Object(properties)) => {
                // `false` is a property that may not be there.
                let properties = properties.iter().filter(|(_, part)| **part != Value::Bool(false));
                let parts: Map<String, Value> = properties.map(|(name, part)| (name.clone(), self.part(part))).collect();
                Some(Value::Object(parts))
            }
            ("additionalProperties", Value::Object(part)) if part.is_empty() => Some(Value::Bool(true)),
            ("additionalProperties" | "items", Value::Object(_)) => Some(self.part(value)),
            ("items", _) => Some(self.part(&json!({}))),
            ("description" | "title", _) => Some(value.clone()).filter(Value::is_string),
            ("required", Value::Array(_)) | ("additionalProperties" | "uniqueItems", Value::Bool(_)) | ("default", _) => {
                Some(value.clone())
            }
            ("enum", Value::Array(values)) => self.listed(values, types, words),
            ("format", Value::String(format)) if is_known_format(format, self.form) => Some(value.clone()),
            ("pattern", Value::String(pattern)) if is_plain_pattern(pattern) => Some(value.clone()),
            ("format" | "pattern", Value::String(_)) => {
                words.push(in_words(key, value));
                None
            }
            ("minLength" | "maxLength" | "minItems" | "maxItems", Value::Number(number)) => {
                let fits = number.as_u64().is_some_and(|most| most <= MOST_REPETITIONS);
                if !fits {
                    words.push(in_words(key, value));
                }
                Some(value.clone()).filter(|_| fits)
            }
            (_, Value::Number(_)) => Some(value.clone()),
            _ => None,
        };
        if let Some(sent) = sent {
            made.insert(key.to_owned(), sent);
        }
    }

    /// The values of an `enum` that fit the types. Gemini takes texts only.
    fn listed(&self, values: &[Value], types: &[String], words: &mut Vec<String>) -> Option<Value> {
        let fits = |value: &&Value| types.iter().any(|kind| is_a(type_of(value), kind));
        let mut listed: Vec<&Value> = vec![];
        for value in values.iter().filter(fits) {
            if !listed.contains(&value) {
                listed.push(value);
            }
        }
        if self.form == SchemaForm::Gemini && !listed.iter().all(|value| value.is_string()) {
            words.push(in_words("enum", &json!(listed)));
            return None;
        }
        (!listed.is_empty()).then(|| json!(listed))
    }

    /// An object says which properties it has, and requires none that it does not have. Gemini takes no empty list of them.
    fn close_object(&mut self, made: &mut Map<String, Value>) {
        let mut properties = match made.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        let mut required: Vec<String> = vec![];
        let listed = made.shift_remove("required");
        if let Some(Value::Array(names)) = &listed {
            for name in names.iter().filter_map(Value::as_str) {
                if !properties.contains_key(name) {
                    properties.insert(name.to_owned(), self.part(&json!({})));
                }
                if !required.iter().any(|known| known == name) {
                    required.push(name.to_owned());
                }
            }
        }
        let is_told = !properties.is_empty() || self.form == SchemaForm::JsonSchema;
        if is_told {
            made.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() || is_told && listed.is_some_and(|listed| listed.is_array()) {
            made.insert("required".to_owned(), json!(required));
        }
    }

    /// A list of fixed length: each element may be any of those that the places name.
    fn tuple(&mut self, keys: &mut Map<String, Value>, words: &mut Vec<String>) {
        let places = match (keys.shift_remove("prefixItems"), keys.get("items")) {
            (Some(Value::Array(places)), _) => places,
            (_, Some(Value::Array(_))) => match keys.shift_remove("items") {
                Some(Value::Array(places)) => places,
                _ => return,
            },
            _ => return,
        };
        words.push(in_words("prefixItems", &json!(places)));
        let rest = keys.get("items").filter(|rest| rest.is_object()).cloned();
        let mut kinds: Vec<Value> = vec![];
        for place in places.into_iter().chain(rest) {
            if !kinds.contains(&place) {
                kinds.push(place);
            }
        }
        let items = if kinds.len() == 1 { kinds.remove(0) } else { json!({ "anyOf": kinds }) };
        keys.insert("items".to_owned(), items);
        keys.entry("type").or_insert_with(|| json!("array"));
    }

    /// The properties of all ways that an object may have are its own, and those that all of them require are required.
    fn unite(&mut self, keys: &mut Map<String, Value>, ways: &[Value], words: &mut Vec<String>) {
        words.push(in_words("anyOf", &json!(ways)));
        let mut common: Option<Vec<Value>> = None;
        let mut found: Map<String, Value> = Map::new();
        for way in self.each_whole(ways, &mut vec![]) {
            for (name, part) in way.get("properties").and_then(Value::as_object).into_iter().flatten() {
                match found.get_mut(name) {
                    None => drop(found.insert(name.clone(), part.clone())),
                    Some(known) if known == part => {}
                    Some(known) => match known.as_object_mut().and_then(|known| known.get_mut("anyOf")?.as_array_mut()) {
                        Some(list) if !list.contains(part) => list.push(part.clone()),
                        Some(_) => {}
                        None => *known = json!({ "anyOf": [known.clone(), part] }),
                    },
                }
            }
            let required = way.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            common = Some(match common {
                None => required,
                Some(common) => common.into_iter().filter(|name| required.contains(name)).collect(),
            });
        }
        let own = keys.entry("properties").or_insert_with(|| json!({}));
        if let Some(own) = own.as_object_mut() {
            for (name, part) in found {
                own.entry(name).or_insert(part);
            }
        }
        let required = keys.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            required.extend(common.unwrap_or_default());
        }
    }

    /// The ways of a union, without those that nothing fits and unions inside.
    fn ways(&mut self, keys: &mut Map<String, Value>, ways: Vec<Value>, words: &mut Vec<String>) {
        let is_open = |way: &Value| *way != Value::Bool(false) && way.get("not") != Some(&json!({}));
        let mut ways: Vec<Value> = ways.into_iter().filter(is_open).collect();
        if let [Value::Object(only)] = ways.as_mut_slice() {
            let only = self.whole(std::mem::take(only), words);
            merge(keys, only, words);
            if let Some(Value::Array(ways)) = keys.shift_remove("anyOf") {
                self.ways(keys, ways, words);
            }
            return;
        }
        let mut parts: Vec<Value> = vec![];
        for way in ways {
            let part = self.part(&way);
            match part.as_object().and_then(|part| part.get("anyOf").filter(|_| part.len() == 1)) {
                Some(Value::Array(inner)) => parts.extend(inner.iter().cloned()),
                _ => parts.push(part),
            }
        }
        if !parts.is_empty() {
            keys.insert("anyOf".to_owned(), Value::Array(parts));
        }
    }

    /// A union has nothing beside its ways but what describes it. In Gemini's form it has only the ways, and may be nothing.
    fn union(&mut self, keys: Map<String, Value>, words: &mut Vec<String>) -> Value {
        let mut made = Map::new();
        for (key, value) in keys {
            match key.as_str() {
                "anyOf" | "description" | "title" => drop(made.insert(key, value)),
                "default" if self.form == SchemaForm::JsonSchema => drop(made.insert(key, value)),
                key if says_nothing(key, &value) => {}
                key => words.push(in_words(key, &value)),
            }
        }
        if self.form == SchemaForm::JsonSchema {
            return Value::Object(made);
        }
        let Some(Value::Array(ways)) = made.shift_remove("anyOf") else { return Value::Object(made) };
        let (nothing, mut ways): (Vec<Value>, Vec<Value>) = ways.into_iter().partition(|way| way["type"] == "null");
        for (key, value) in &made {
            for way in ways.iter_mut().filter_map(Value::as_object_mut) {
                way.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        if !nothing.is_empty() {
            ways.iter_mut().for_each(|way| way["nullable"] = json!(true));
        }
        match ways.len() {
            0 => self.anything(&made, words),
            1 => ways.remove(0),
            _ => json!({ "anyOf": ways }),
        }
    }

    /// A schema that says no type, for endpoints that want one.
    fn anything(&mut self, keys: &Map<String, Value>, words: &mut Vec<String>) -> Value {
        let mut union: Map<String, Value> =
            keys.iter().filter(|(key, _)| *key != "type").map(|(key, value)| (key.clone(), value.clone())).collect();
        union.insert("anyOf".to_owned(), every_type(self.form));
        self.union(union, words)
    }
}

/// Adds to a schema what must hold too.
fn merge(keys: &mut Map<String, Value>, more: Map<String, Value>, words: &mut Vec<String>) {
    for (key, value) in more {
        match (key.as_str(), keys.get_mut(&key), value) {
            (_, None, value) => drop(keys.insert(key, value)),
            (_, Some(own), value) if *own == value => {}
            ("properties", Some(Value::Object(own)), Value::Object(found)) => {
                for (name, part) in found {
                    match own.get_mut(&name) {
                        None => drop(own.insert(name, part)),
                        Some(known) if *known == part => {}
                        Some(known) => *known = json!({ "allOf": [known.clone(), part] }),
                    }
                }
            }
            ("required" | "allOf", Some(Value::Array(own)), Value::Array(found)) => {
                let new: Vec<Value> = found.into_iter().filter(|name| !own.contains(name)).collect();
                own.extend(new);
            }
            ("enum", Some(Value::Array(own)), Value::Array(found)) => own.retain(|value| found.contains(value)),
            ("title" | "description" | "default" | "$defs" | "definitions" | "$schema" | "$id", Some(_), _) => {}
            (_, Some(_), value) => words.push(in_words(&key, &value)),
        }
    }
}
