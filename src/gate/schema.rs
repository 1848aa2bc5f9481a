//! Whether a value fits a JSON Schema.

use serde_json::Value;

use super::judge::CheckResult;

/// Most problems told.
const MOST: usize = 10;
/// Longest message of the schema library that is told whole, in characters; it quotes the value.
const LONGEST: usize = 240;

/// What is wrong with a value, one sentence each, at most ten; empty: it fits. Patterns need time in step with the text they are
/// held against, and formats (`date`, `email`, …) are checked.
pub fn schema_problems(schema: &Value, value: &Value) -> Vec<String> {
    let patterns = jsonschema::PatternOptions::regex();
    let validator = jsonschema::options().with_pattern_options(patterns).should_validate_formats(true).build(schema);
    match validator {
        Err(error) => vec![format!("the schema itself cannot be used: {error}")],
        Ok(validator) => validator
            .iter_errors(value)
            .take(MOST)
            .map(|error| {
                let place = error.instance_path().to_string();
                let message = shorten(&error.to_string());
                if place.is_empty() { message } else { format!("{}: {message}", place.trim_start_matches('/').replace('/', ".")) }
            })
            .collect(),
    }
}

/// Start and end of a message: what is said stands behind the value that is quoted.
fn shorten(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONGEST / 3).collect();
    let end: Vec<char> = text.chars().rev().take(LONGEST * 2 / 3).collect();
    format!("{start} … {}", end.into_iter().rev().collect::<String>())
}

pub(super) fn fits(schema: &Value, value: &Value) -> CheckResult {
    match schema_problems(schema, value).first() {
        None => CheckResult::passed(),
        Some(problem) => CheckResult::failed(format!("The value does not have the right shape: {problem}."), ""),
    }
}
