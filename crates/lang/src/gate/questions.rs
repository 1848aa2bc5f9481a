//! A form that a step gave: a list of questions, each `{ id, question, type, choices }`. It is data, so all of it is checked when it comes. Pure.

use std::collections::HashSet;

use serde_json::{Map, Value};
use strum::VariantNames;

use super::schema_problems;
use super::shape::field_schema;
use crate::diagnostic::{counted, cut, did_you_mean, visible};
use crate::model::{ApprovalStep, Field, FieldKind, json_kind};

/// Most questions of a form.
pub const MOST_QUESTIONS: usize = 50;
/// Most characters of a question.
pub const LONGEST_QUESTION: usize = 1_000;
/// Most choices of a question.
pub const MOST_CHOICES: usize = 100;
/// Most characters of an id, and of a choice.
pub const LONGEST_CHOICE: usize = 100;

/// What a question has.
const KEYS: [&str; 4] = ["id", "question", "type", "choices"];

/// The fields of a form that a step gave.
///
/// # Errors
/// It is no list of questions: which of them, and which field of it, in a sentence.
pub fn fields_of(list: &Value) -> Result<Vec<Field>, String> {
    let Value::Array(list) = list else { return Err(format!("form needs a list of questions, found {}", json_kind(list))) };
    if list.len() > MOST_QUESTIONS {
        return Err(format!("form has {} questions, and {MOST_QUESTIONS} are the most", list.len()));
    }
    let mut ids = HashSet::new();
    let fields = list.iter().enumerate().map(|(place, entry)| {
        let field = field_of(entry).map_err(|why| format!("question {} of the form: {why}", place + 1))?;
        if !ids.insert(field.name.clone()) {
            return Err(format!("question {} of the form: id {} is taken by an earlier question", place + 1, excerpt(&field.name)));
        }
        Ok(field)
    });
    fields.collect()
}

fn field_of(entry: &Value) -> Result<Field, String> {
    let Value::Object(entry) = entry else { return Err(format!("needs id and question, found {}", json_kind(entry))) };
    if let Some(unknown) = entry.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let near = did_you_mean(unknown, KEYS);
        return Err(format!("{} is not known{near}; a question has {}", excerpt(unknown), KEYS.join(", ")));
    }
    let id = text(entry, "id")?;
    if !is_id(id) {
        let rule = format!("letters, digits, \"_\" and \"-\", a letter first, at most {LONGEST_CHOICE}");
        return Err(format!("id {} cannot be the name of a field: use {rule}", excerpt(id)));
    }
    if ApprovalStep::OWN.contains(&id) {
        return Err(format!("id {} is reserved, since each answer has it", excerpt(id)));
    }
    let question = text(entry, "question")?;
    if question.chars().count() > LONGEST_QUESTION {
        return Err(format!("question has more than {LONGEST_QUESTION} characters"));
    }
    let kind = match entry.get("type").filter(|kind| !kind.is_null()) {
        None => FieldKind::Text,
        Some(Value::String(word)) => word.parse().map_err(|_| {
            let near = did_you_mean(word, FieldKind::VARIANTS.iter().copied());
            format!("type {} is not known{near}; use one of: {}", excerpt(word), FieldKind::VARIANTS.join(", "))
        })?,
        Some(other) => return Err(format!("type must be a word such as text, found {}", json_kind(other))),
    };
    let mut field = Field { description: Some(question.to_owned()), ..Field::new(id, kind) };
    field.one_of = choices(entry, &field)?;
    Ok(field)
}

/// The only answers that a question takes; empty: it takes any.
fn choices(entry: &Map<String, Value>, field: &Field) -> Result<Vec<Value>, String> {
    let list = match entry.get("choices") {
        None | Some(Value::Null) => return Ok(vec![]),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(format!("choices must be a list, found {}", json_kind(other))),
    };
    if list.is_empty() || list.len() > MOST_CHOICES {
        return Err(format!("choices has {}; write 1 to {MOST_CHOICES}, or leave choices out", counted(list.len(), "choice", "choices")));
    }
    let schema = field_schema(field);
    for (place, choice) in list.iter().enumerate() {
        if !schema_problems(&schema, choice).is_empty() {
            return Err(format!("choice {} is {}, and type is {}", place + 1, json_kind(choice), field.kind.word()));
        }
        if choice.to_string().chars().count() > LONGEST_CHOICE {
            return Err(format!("choice {} has more than {LONGEST_CHOICE} characters", place + 1));
        }
        if list[..place].contains(choice) {
            return Err(format!("choice {} is there twice", place + 1));
        }
    }
    Ok(list.clone())
}

/// A text that a question must have.
fn text<'e>(entry: &'e Map<String, Value>, key: &str) -> Result<&'e str, String> {
    match entry.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        Some(Value::String(_)) => Err(format!("{key} is empty")),
        None | Some(Value::Null) => Err(format!("has no {key}")),
        Some(other) => Err(format!("{key} must be a text, found {}", json_kind(other))),
    }
}

fn is_id(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.len() <= LONGEST_CHOICE
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

fn excerpt(text: &str) -> String {
    format!("\"{}\"", visible(&cut(text, LONGEST_CHOICE)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(list: Value) -> String {
        fields_of(&list).unwrap_err()
    }

    #[test]
    fn a_question_becomes_a_field_of_the_form() {
        let list = json!([
            { "id": "room", "question": "Which room?", "type": "integer", "choices": [1, 7] },
            { "id": "note", "question": "Anything else?" },
            { "id": "late", "question": "Late?", "type": "boolean", "choices": null },
        ]);
        let fields = fields_of(&list).unwrap();
        let short: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.kind, field.one_of.len(), field.is_required)).collect();
        assert_eq!(
            short,
            [("room", FieldKind::Integer, 2, true), ("note", FieldKind::Text, 0, true), ("late", FieldKind::Boolean, 0, true)]
        );
        assert_eq!(fields[0].description.as_deref(), Some("Which room?"));
        assert_eq!(fields_of(&json!([])), Ok(vec![]));
    }

    #[test]
    fn a_bad_list_is_told_with_entry_and_field() {
        let one = |entry: Value| refusal(json!([{ "id": "ok", "question": "Fine?" }, entry]));
        assert_eq!(refusal(json!({ "id": "a" })), "form needs a list of questions, found an object");
        assert_eq!(refusal(Value::Null), "form needs a list of questions, found nothing");
        assert_eq!(one(json!("Which?")), "question 2 of the form: needs id and question, found a text");
        assert_eq!(one(json!({ "question": "Which?" })), "question 2 of the form: has no id");
        assert_eq!(one(json!({ "id": "a", "question": " " })), "question 2 of the form: question is empty");
        assert_eq!(one(json!({ "id": 5, "question": "x" })), "question 2 of the form: id must be a text, found a number");
        assert_eq!(one(json!({ "id": "ok", "question": "x" })), "question 2 of the form: id \"ok\" is taken by an earlier question");
        assert_eq!(one(json!({ "id": "by", "question": "x" })), "question 2 of the form: id \"by\" is reserved, since each answer has it");
        for id in ["a=b", "1a", "a b", "ä", "-a", "\u{1b}[2J", "a\u{202e}"] {
            assert!(one(json!({ "id": id, "question": "x" })).contains("cannot be the name of a field"), "{id:?}");
        }
        assert_eq!(
            one(json!({ "id": "a", "question": "x", "typ": "text" })),
            "question 2 of the form: \"typ\" is not known; did you mean \"type\"?; a question has id, question, type, choices"
        );
        assert!(
            one(json!({ "id": "a", "question": "x", "type": "colour" }))
                .starts_with("question 2 of the form: type \"colour\" is not known")
        );
        assert_eq!(
            one(json!({ "id": "a", "question": "x", "type": 5 })),
            "question 2 of the form: type must be a word such as text, found a number"
        );
        let with = |choices: Value, kind: &str| one(json!({ "id": "a", "question": "x", "type": kind, "choices": choices }));
        assert_eq!(with(json!("a"), "text"), "question 2 of the form: choices must be a list, found a text");
        assert_eq!(with(json!([]), "text"), "question 2 of the form: choices has 0 choices; write 1 to 100, or leave choices out");
        assert_eq!(with(json!(["a", 5]), "text"), "question 2 of the form: choice 2 is a number, and type is text");
        assert_eq!(with(json!([1.5]), "integer"), "question 2 of the form: choice 1 is a number, and type is integer");
        assert_eq!(with(json!(["a", "a"]), "text"), "question 2 of the form: choice 2 is there twice");
        assert_eq!(with(json!(["x".repeat(200)]), "text"), "question 2 of the form: choice 1 has more than 100 characters");
        assert_eq!(
            one(json!({ "id": "a", "question": "x".repeat(1_001) })),
            "question 2 of the form: question has more than 1000 characters"
        );
        let many: Vec<Value> = (0..51).map(|n| json!({ "id": format!("q{n}"), "question": "x" })).collect();
        assert_eq!(refusal(many[..].into()), "form has 51 questions, and 50 are the most");
        assert_eq!(fields_of(&many[..50].into()).unwrap().len(), 50);
    }
}
