//! Whether a value fits a JSON Schema.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use super::verdict::CheckResult;
use crate::diagnostic::ends;

/// Most problems told.
const MOST: usize = 10;
/// Longest message of the schema library that is told whole, in characters; it quotes the value.
const LONGEST: usize = 240;

/// Schemas kept ready in a thread. A run holds few; the bound is for one whose schemas are written as it goes.
const MOST_READY: usize = 64;

thread_local! {
    /// A schema costs far more to prepare than a value to check, and a judge's is used for every answer.
    static READY: RefCell<HashMap<Value, Rc<Validator>>> = RefCell::default();
}

/// Formats of texts that are checked (JSON Schema 2020-12, "Vocabularies for Semantic Content With format", 7.3; JSON pointers and patterns are left out). Another one would check nothing.
pub const FORMATS: [&str; 14] = [
    "email", "uri", "uuid", "date", "date-time", "time", "duration", "hostname", "ipv4", "ipv6", "iri", "iri-reference", "uri-reference",
    "uri-template",
];

/// What is wrong with a value, one sentence each, at most ten; empty: it fits. Patterns need time in step with the text they are
/// held against, and formats (`date`, `email`, …) are checked.
pub fn schema_problems(schema: &Value, value: &Value) -> Vec<String> {
    match ready(schema) {
        Err(error) => vec![format!("the schema itself cannot be used: {error}")],
        Ok(validator) => validator
            .iter_errors(value)
            .take(MOST)
            .map(|error| {
                let place = error.instance_path().to_string();
                let message = shorten(&describe(&error));
                if place.is_empty() { message } else { format!("{}: {message}", place.trim_start_matches('/').replace('/', ".")) }
            })
            .collect(),
    }
}

/// Whether values can be held to a schema.
pub(super) fn is_usable(schema: &Value) -> bool {
    ready(schema).is_ok()
}

fn ready(schema: &Value) -> Result<Rc<Validator>, Box<ValidationError<'static>>> {
    if let Some(validator) = READY.with_borrow(|ready| ready.get(schema).cloned()) {
        return Ok(validator);
    }
    let patterns = jsonschema::PatternOptions::regex();
    let validator = jsonschema::options().with_pattern_options(patterns).should_validate_formats(true).build(schema);
    let validator = Rc::new(validator.map_err(Box::new)?);
    READY.with_borrow_mut(|ready| {
        if ready.len() >= MOST_READY {
            ready.clear();
        }
        ready.insert(schema.clone(), Rc::clone(&validator));
    });
    Ok(validator)
}

/// What is wrong. `null`, which is in a schema for what may be left out, is nothing that an author or a model would write instead.
fn describe(error: &ValidationError) -> String {
    let types: Vec<String> = match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Multiple(types) } => {
            types.iter().filter(|one| *one != JsonType::Null).map(|one| format!("\"{one}\"")).collect()
        }
        _ => vec![],
    };
    match types.as_slice() {
        [] => error.to_string(),
        types => format!("{} is not of type {}", error.instance(), types.join(" or ")),
    }
}

/// Start and end of a message: what is said is behind the value that is quoted.
fn shorten(text: &str) -> String {
    ends(text, LONGEST, LONGEST / 3, LONGEST * 2 / 3).map_or_else(|| text.to_owned(), |(start, end)| format!("{start} … {end}"))
}

pub(super) fn fits(schema: &Value, value: &Value) -> CheckResult {
    match schema_problems(schema, value).first() {
        None => CheckResult::passed(),
        Some(problem) => CheckResult::failed(format!("The value does not have the right shape: {problem}."), ""),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_known_format_is_checked_and_no_other() {
        let fits = |format: &str, text: &str| schema_problems(&json!({ "type": "string", "format": format }), &json!(text)).is_empty();
        for format in FORMATS {
            assert!(["(", "~", " ", "%zz", "{", "\\"].iter().any(|text| !fits(format, text)), "{format} lets everything through");
        }
        assert!(fits("phone", "(") && !fits("email", "nope") && fits("email", "a@example.com"));
    }

    #[test]
    fn a_schema_that_was_used_before_is_not_taken_for_another() {
        for round in 0..3 {
            for most in 0..100 {
                let schema = json!({ "type": "array", "maxItems": most });
                let value = json!(vec![round; most]);
                assert_eq!(schema_problems(&schema, &value), [""; 0]);
                let value = json!(vec![round; most + 1]);
                assert_eq!(schema_problems(&schema, &value).len(), 1, "more than {most}");
            }
        }
    }
}
