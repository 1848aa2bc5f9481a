//! Questions that a server asks a person during a call (`elicitation/create`, `input_required`). They are bounded, and only the parts of a schema
//! that a form supports are kept.

use rmcp::model::{ElicitationCapability, FormElicitationCapability, UrlElicitationCapability};
use serde_json::{Map, Value, json};

use crate::diagnostic::cut_words;
use crate::event::{Failure, FailureKind, ServerQuestion, ServerQuestions};
use crate::scrub::visible;

/// Maximum number of questions at once, fields of a question, and choices of a field.
const MOST_QUESTIONS: usize = 8;
const MOST_FIELDS: usize = 30;
const MOST_CHOICES: usize = 100;
/// Maximum number of characters of a question, of the name of a field, and of a text in a schema.
const LONGEST_MESSAGE: usize = 4_000;
const LONGEST_NAME: usize = 100;
const LONGEST_TEXT: usize = 500;
/// Maximum size of the state that a server wants back, in bytes.
const LARGEST_STATE: usize = 64 * 1024;

/// The capability to answer questions.
pub(super) fn capability() -> ElicitationCapability {
    ElicitationCapability::new().with_form(FormElicitationCapability::default()).with_url(UrlElicitationCapability::default())
}

/// Reads the questions that a result asks before the call continues; `None` if it asks none.
///
/// # Errors
/// Fails if the request is not supported, exceeds a limit, or the server may not ask.
pub(super) fn read(result: &Value, may_ask: bool) -> Result<Option<ServerQuestions>, Failure> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => return Ok(None),
        Some("input_required") => {}
        Some(other) => {
            let message = format!("its result has an unknown type: \"{}\"", short(other, 40));
            return Err(Failure::new(FailureKind::Refused, message));
        }
    }
    let requests = result.get("inputRequests").and_then(Value::as_object);
    let state = result.get("requestState").filter(|state| !state.is_null()).cloned();
    if requests.is_none_or(Map::is_empty) && state.is_none() {
        return Err(Failure::new(FailureKind::BadResponse, "it requests input, but has no question"));
    }
    if requests.is_some_and(|requests| requests.len() > MOST_QUESTIONS) {
        return Err(too_much(&format!("more than {MOST_QUESTIONS} questions at once")));
    }
    if state.as_ref().is_some_and(|state| state.to_string().len() > LARGEST_STATE) {
        return Err(too_much(&format!("more than {LARGEST_STATE} bytes of state back")));
    }
    let one = |(id, request): (&String, &Value)| {
        let method = request.get("method").and_then(Value::as_str).unwrap_or("nothing");
        if method != "elicitation/create" {
            let message = format!("it requests {}, which flow does not support", short(method, 80));
            return Err(Failure::new(FailureKind::Refused, message));
        }
        if id.chars().count() > LONGEST_NAME {
            return Err(too_much(&format!("a question with a name of more than {LONGEST_NAME} characters")));
        }
        question(id.clone(), &request["params"])
    };
    let questions = requests.into_iter().flatten().map(one).collect::<Result<Vec<_>, _>>()?;
    match questions.first() {
        Some(first) if !may_ask => Err(Failure::new(FailureKind::Refused, not_allowed(&first.message))),
        _ => Ok(Some(ServerQuestions { questions, state, live: None })),
    }
}

fn not_allowed(message: &str) -> String {
    let asked = short(message, 200);
    format!("it asks a person before it continues; set questions: true on the server to allow this. It asks: {asked}")
}

/// Reads one question from the parameters of `elicitation/create`.
///
/// # Errors
/// Fails if the question cannot be shown to a person.
pub(super) fn question(id: String, params: &Value) -> Result<ServerQuestion, Failure> {
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default().trim();
    if message.is_empty() {
        return Err(Failure::new(FailureKind::BadResponse, "it asks a question without a text"));
    }
    if message.chars().count() > LONGEST_MESSAGE {
        return Err(too_much(&format!("a question of more than {LONGEST_MESSAGE} characters")));
    }
    let message = message.to_owned();
    let nothing = || json!({ "type": "object", "properties": {}, "additionalProperties": false });
    match params.get("mode").and_then(Value::as_str) {
        None | Some("form") => Ok(ServerQuestion { id, message, fields: form(&params["requestedSchema"])?, url: None }),
        Some("url") => {
            let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
            let is_web = reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http") && url.host().is_some());
            let is_plain = url.len() <= 2_000 && url.chars().all(|c| c.is_ascii_graphic()) && !url.contains(['\\', '@']);
            if !is_web || !is_plain {
                return Err(Failure::new(
                    FailureKind::Refused,
                    format!("it wants a person to open an address that is not a web page: {}", short(url, 200)),
                ));
            }
            Ok(ServerQuestion { id, message, fields: nothing(), url: Some(url.to_owned()) })
        }
        Some(other) => Err(Failure::new(FailureKind::Refused, format!("it asks in an unknown mode: \"{}\"", short(other, 40)))),
    }
}

/// Reads a flat form. The returned schema is what a person is shown and what an answer must match.
fn form(schema: &Value) -> Result<Value, Failure> {
    let none = Map::new();
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) => properties,
        None if schema.is_null() || schema["type"] == "object" => &none,
        _ => return Err(wrong("its fields are not an object")),
    };
    if properties.len() > MOST_FIELDS {
        return Err(too_much(&format!("a form of more than {MOST_FIELDS} fields")));
    }
    let mut fields = Map::new();
    for (name, rules) in properties {
        // The name is shown next to flow's own text.
        let is_part = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
        let is_name = !name.is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(is_part);
        if !is_name {
            let message =
                format!("the name of a field has more than {LONGEST_NAME} characters, or others than letters, digits, _, - and .");
            return Err(wrong(&message));
        }
        fields.insert(name.clone(), field(name, rules)?);
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&Value> = required.filter(|name| name.as_str().is_some_and(|name| fields.contains_key(name))).collect();
    Ok(json!({ "type": "object", "properties": fields, "required": required, "additionalProperties": false }))
}

fn field(name: &str, rules: &Value) -> Result<Value, Failure> {
    let kind = rules.get("type").and_then(Value::as_str).unwrap_or_default();
    let kept: &[&str] = match kind {
        "string" => &["minLength", "maxLength"],
        "number" | "integer" => &["minimum", "maximum"],
        "boolean" => &[],
        "array" => &["minItems", "maxItems"],
        other => return Err(wrong(&format!("field \"{}\" is of type \"{}\"", short(name, 100), short(other, 40)))),
    };
    let mut told = Map::from_iter([("type".to_owned(), json!(kind))]);
    let bounds = kept.iter().filter_map(|key| Some(((*key).to_owned(), rules.get(*key).filter(|bound| bound.is_number())?.clone())));
    told.extend(bounds);
    let formats = ["email", "uri", "date", "date-time"];
    let format = rules.get("format").filter(|format| kind == "string" && formats.iter().any(|known| *format == known));
    told.extend(format.map(|format| ("format".to_owned(), format.clone())));
    told.extend(
        rules.get("default").filter(|value| value.to_string().len() <= LONGEST_TEXT * 4).map(|value| ("default".to_owned(), value.clone())),
    );
    let list = if kind == "array" { &rules["items"] } else { rules };
    let (choices, titles) = choices(list)?;
    if kind == "array" && choices.is_empty() {
        return Err(wrong(&format!("field \"{}\" is a list without choices", short(name, 100))));
    }
    let title = rules.get("title").and_then(Value::as_str).filter(|title| *title != name);
    let about = [title, rules.get("description").and_then(Value::as_str)].into_iter().flatten().map(|text| cut_words(text, LONGEST_TEXT));
    let mut about: Vec<String> = about.collect();
    about.extend(Some(titles.join(", ")).filter(|titles| !titles.is_empty()));
    if kind == "array" {
        about.push(format!("a list of: {}", choices.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")));
        told.insert("items".to_owned(), json!({ "type": "string", "enum": choices }));
        told.insert("uniqueItems".to_owned(), json!(true));
    } else if !choices.is_empty() {
        told.insert("enum".to_owned(), json!(choices));
    }
    if !about.is_empty() {
        told.insert("description".to_owned(), json!(about.join("; ")));
    }
    Ok(Value::Object(told))
}

/// The choices of a field, and descriptions of those that have a title.
fn choices(rules: &Value) -> Result<(Vec<Value>, Vec<String>), Failure> {
    let list = |key: &str| rules.get(key).and_then(Value::as_array);
    let (mut values, mut titles) = (vec![], vec![]);
    for (place, choice) in list("enum").or(list("oneOf")).or(list("anyOf")).into_iter().flatten().enumerate() {
        let value = choice.get("const").unwrap_or(choice);
        let Some(text) = value.as_str().filter(|text| text.chars().count() <= LONGEST_TEXT) else {
            return Err(wrong("a choice is not a short text"));
        };
        let title = choice.get("title").or_else(|| list("enumNames")?.get(place)).and_then(Value::as_str);
        titles.extend(title.filter(|title| *title != text).map(|title| format!("{text} = {}", cut_words(title, 100))));
        values.push(value.clone());
    }
    if values.len() > MOST_CHOICES {
        return Err(too_much(&format!("a field with more than {MOST_CHOICES} choices")));
    }
    Ok((values, titles))
}

fn too_much(what: &str) -> Failure {
    Failure::new(FailureKind::TooLarge, format!("it asks a person for {what}").replace("for a question", "a question"))
}

fn wrong(what: &str) -> Failure {
    Failure::new(FailureKind::BadResponse, format!("it asks a person with a form that cannot be shown: {what}"))
}

fn short(text: &str, most: usize) -> String {
    visible(&cut_words(text, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(params: Value) -> Result<Option<ServerQuestions>, Failure> {
        read(
            &json!({ "resultType": "input_required", "requestState": "s", "inputRequests": { "q": { "method": "elicitation/create", "params": params } } }),
            true,
        )
    }

    #[test]
    fn a_form_keeps_what_a_person_is_shown_and_an_answer_is_held_to() {
        let params = json!({ "message": " Which? ", "requestedSchema": { "type": "object", "required": ["n", "none"], "properties": {
            "n": { "type": "integer", "minimum": 1, "title": "Nights", "description": "How many", "pattern": "x", "default": 2 },
            "c": { "type": "string", "oneOf": [{ "const": "a", "title": "A town" }, { "const": "b" }] },
            "old": { "type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "y"] },
            "many": { "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["p", "q"] } },
        } } });
        let asked = asks(params).unwrap().unwrap();
        assert_eq!(asked.state, Some(json!("s")));
        let question = &asked.questions[0];
        assert_eq!((question.id.as_str(), question.message.as_str(), &question.url), ("q", "Which?", &None));
        let expected = json!({ "type": "object", "additionalProperties": false, "required": ["n"], "properties": {
            "n": { "type": "integer", "minimum": 1, "default": 2, "description": "Nights; How many" },
            "c": { "type": "string", "enum": ["a", "b"], "description": "a = A town" },
            "old": { "type": "string", "enum": ["x", "y"], "description": "x = Ex" },
            "many": { "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["p", "q"] }, "uniqueItems": true, "description": "a list of: p, q" },
        } });
        assert_eq!(question.fields, expected);
    }

    #[test]
    fn what_no_person_can_be_asked_is_refused_with_its_reason() {
        let schema = |properties: Value| json!({ "message": "m", "requestedSchema": { "type": "object", "properties": properties } });
        let many: Map<String, Value> = (0..31).map(|n| (format!("f{n}"), json!({ "type": "string" }))).collect();
        let of = |params: Value| asks(params).unwrap_err().message;
        for (params, why) in [
            (json!({}), "without a text"),
            (json!({ "message": "x".repeat(4_001) }), "a question of more than 4000 characters"),
            (schema(json!({ "o": { "type": "object" } })), "field \"o\" is of type \"object\""),
            (schema(json!({ "l": { "type": "array", "items": { "type": "string" } } })), "a list without choices"),
            (schema(json!({ "\u{1b}[2J": { "type": "string" } })), "others than letters"),
            (schema(json!({ "Answer flow? (yes/no)": { "type": "string" } })), "others than letters"),
            (schema(json!(many)), "a form of more than 30 fields"),
            (json!({ "message": "m", "mode": "url", "url": "javascript:alert(1)" }), "not a web page"),
            (json!({ "message": "m", "mode": "url", "url": "https://bank.example@evil.example/" }), "not a web page"),
            (json!({ "message": "m", "mode": "voice" }), "unknown mode: \"voice\""),
        ] {
            let message = of(params);
            assert!(message.contains(why), "{message}");
        }
        let result =
            json!({ "resultType": "input_required", "inputRequests": { "s": { "method": "sampling/createMessage", "params": {} } } });
        assert_eq!(read(&result, true).unwrap_err().message, "it requests sampling/createMessage, which flow does not support");
        assert!(read(&json!({ "resultType": "input_required" }), true).is_err());
        assert!(read(&json!({ "resultType": "dance" }), true).is_err());
        assert_eq!(read(&json!({ "content": [] }), true), Ok(None));
        let big = json!({ "resultType": "input_required", "requestState": "x".repeat(LARGEST_STATE) });
        assert_eq!(read(&big, true).unwrap_err().kind, FailureKind::TooLarge);
        let page = asks(json!({ "message": "Pay", "mode": "url", "url": "https://pay.example/1" })).unwrap().unwrap();
        assert_eq!(page.questions[0].url.as_deref(), Some("https://pay.example/1"));
    }
}
