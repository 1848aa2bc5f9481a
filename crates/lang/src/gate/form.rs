//! Forms that people fill in: the JSON Schema of an object, whose fields may have a `default`. Pure.

use serde_json::{Map, Value, json};

use super::schema_problems;
use super::shape::object_schema;
use crate::diagnostic::did_you_mean;
use crate::model::{ApprovalStep, Field};

/// The form of these fields. `filled`: defaults that follow from the run.
pub fn form(fields: &[Field], filled: &Map<String, Value>) -> Value {
    let mut form = object_schema(fields);
    for field in fields {
        let default = filled.get(&field.name).or(field.default.as_ref());
        let Some(rules) = form["properties"][&field.name].as_object_mut() else { continue };
        rules.extend(default.map(|default| ("default".to_owned(), default.clone())));
    }
    form
}

/// What a person filled in, with the defaults of what they left out.
///
/// # Errors
/// It does not fit; in sentences, all of them.
pub fn answered(form: &Value, values: Value) -> Result<Map<String, Value>, Vec<String>> {
    let mut values = match values {
        Value::Object(values) => values,
        Value::Null => Map::new(),
        _ => return Err(vec!["an answer is an object with the fields of the form".to_owned()]),
    };
    for (name, rules) in form["properties"].as_object().into_iter().flatten() {
        if let (false, Some(default)) = (values.contains_key(name), rules.get("default")) {
            values.insert(name.clone(), default.clone());
        }
    }
    let problems = problems(form, &values);
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

/// Why values do not fit a form, in its reader's words: unknown fields, missing ones, and values that do not match their rules.
fn problems(form: &Value, values: &Map<String, Value>) -> Vec<String> {
    let of_whole = schema_problems(form, &Value::Object(values.clone()));
    let Some(fields) = form["properties"].as_object().filter(|_| !of_whole.is_empty()) else { return of_whole };
    let unknown = values.keys().filter(|name| !fields.contains_key(*name)).map(|name| {
        let near = did_you_mean(name, fields.keys().map(String::as_str));
        let known = if fields.is_empty() {
            "; it has none".to_owned()
        } else {
            format!("; it has: {}", fields.keys().cloned().collect::<Vec<_>>().join(", "))
        };
        format!("the form has no field \"{name}\"{}", near.or(&known))
    });
    let required = form["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|name| !values.contains_key(*name)).map(|name| format!("\"{name}\" is missing"));
    let wrong = values.iter().filter(|(name, _)| fields.contains_key(*name));
    let wrong = wrong.filter_map(|(name, value)| misfit(form, name, value).map(|why| format!("{name}: {why}")));
    let said: Vec<String> = unknown.chain(missing).chain(wrong).collect();
    // What only the whole says: the number of fields, and rules about several of them.
    if said.is_empty() { of_whole } else { said }
}

/// Why one value is none of a field of a form; `None`: it is.
pub fn misfit(form: &Value, name: &str, value: &Value) -> Option<String> {
    schema_problems(&form["properties"][name], value).into_iter().next()
}

/// What an approval gives, from what a mock says: `by` and `comment` may be left out, and so may what has a default.
///
/// # Errors
/// It does not fit.
pub fn mocked(step: &ApprovalStep, value: Value) -> Result<Value, Vec<String>> {
    if step.questions.is_some() {
        // Which fields there are is known when the questions are there.
        return with_own_fields(&json!({ "type": "object" }), value);
    }
    let mut form = form(step.form(), &Map::new());
    if let Some(required) = form["required"].as_array_mut() {
        required.retain(|name| !step.defaults.iter().any(|(filled, _)| *name == filled.value));
    }
    with_own_fields(&form, value)
}

/// The same, of a form as it is shown.
///
/// # Errors
/// It does not fit.
pub fn with_own_fields(form: &Value, mut value: Value) -> Result<Value, Vec<String>> {
    let mut own = Map::new();
    for name in ApprovalStep::OWN {
        let text = value.as_object_mut().and_then(|values| values.shift_remove(name)).unwrap_or_else(|| Value::from(""));
        if !text.is_string() {
            return Err(vec![format!("{name}: {text} is not of type \"string\"")]);
        }
        own.insert(name.to_owned(), text);
    }
    own.extend(answered(form, value)?);
    Ok(Value::Object(own))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::FieldKind;

    #[test]
    fn what_is_left_out_is_the_default_and_what_does_not_fit_is_told() {
        let hours = Field { minimum: Some(1.0), ..Field::new("hours", FieldKind::Integer) };
        let city = Field { default: Some(json!("Rome")), ..Field::new("city", FieldKind::Text) };
        let note = Field { is_required: false, ..Field::new("note", FieldKind::Text) };
        let filled = json!({ "hours": 8 });
        let form = form(&[hours.clone(), city.clone(), note.clone()], filled.as_object().unwrap());
        assert_eq!(answered(&form, Value::Null).unwrap(), *json!({ "hours": 8, "city": "Rome" }).as_object().unwrap());
        assert_eq!(answered(&form, json!({ "hours": 0 })).unwrap_err(), ["hours: 0 is less than the minimum of 1"]);
        assert_eq!(answered(&form, json!([])).unwrap_err(), ["an answer is an object with the fields of the form"]);
        assert!(answered(&form, json!({ "other": 1 })).is_err());
        let form = super::form(&[hours, city, note], &Map::new());
        assert_eq!(answered(&form, json!({})).unwrap_err(), ["\"hours\" is missing"]);
        assert!(misfit(&form, "hours", &json!("x")).is_some() && misfit(&form, "hours", &json!(2)).is_none());
        assert_eq!(
            with_own_fields(&form, json!({ "hours": 2, "by": "Ana" })).unwrap(),
            json!({ "by": "Ana", "comment": "", "hours": 2, "city": "Rome" })
        );
        assert!(with_own_fields(&form, json!({ "hours": 2, "by": 5 })).is_err());
    }
}
