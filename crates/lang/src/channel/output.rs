use serde_json::Value;

use super::Formatted;

/// A value that is judged or sent: a plain one, or what a `format` step made for a channel. Which of them it is follows from where it came
/// from, never from the names of its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Any value.
    Plain(Value),
    /// The output of a `format` step: the value, and what it says.
    Formatted(Value, Box<Formatted>),
}

impl Output {
    /// What a `format` step made. A value of another shape is a plain one.
    pub fn formatted(value: Value) -> Output {
        match serde_json::from_value::<Formatted>(value.clone()) {
            Ok(formatted) => Output::Formatted(value, Box::new(formatted)),
            Err(_) => Output::Plain(value),
        }
    }

    /// The value as templates see it.
    pub fn value(&self) -> &Value {
        match self {
            Output::Plain(value) | Output::Formatted(value, _) => value,
        }
    }

    /// The same.
    pub fn into_value(self) -> Value {
        match self {
            Output::Plain(value) | Output::Formatted(value, _) => value,
        }
    }

    /// What the `format` step made, if one did.
    pub fn made(&self) -> Option<&Formatted> {
        match self {
            Output::Plain(_) => None,
            Output::Formatted(_, made) => Some(made),
        }
    }

    /// Its readable text: a text as it is, what was made for a channel without its parts, any other value as JSON.
    pub fn text(&self) -> String {
        match self {
            Output::Plain(Value::String(text)) => text.clone(),
            Output::Plain(other) => other.to_string(),
            Output::Formatted(_, made) => made.text.clone(),
        }
    }
}
