//! The places of a pipeline where keys and passwords belong.

use super::names_a_secret;
use crate::model::{Authored, Leaf, Pipeline, Text, TextKey};
use crate::source::Span;

/// Calls `visit` with the name of each place, whether it is a password whatever it looks like, and its text.
pub fn each_seat(pipeline: &Pipeline, visit: &mut dyn FnMut(&str, bool, &Text)) {
    // A sentence for people is no value.
    for (name, about) in &pipeline.secrets {
        visit(name, false, &placed(&about.value, about.span));
    }
    for command in pipeline.commands() {
        arguments(command.args, visit);
    }
    pipeline.each_text(&mut |Authored { key, name, owner, leaf, is_whole: _ }| {
        use TextKey::*;
        let (name, is_password) = match key {
            ApiKey => ("api_key", false),
            Password => ("password", true),
            ClientSecret => ("client_secret", true),
            Header | Env | Query | Body | Fixed | FixedInput | Argument => (name, false),
            ModelName | BaseUrl | Reply | Instructions | Url | MailServer | Sender | User | ProgramArgument | Documents | CriterionWhen
            | Feedback | Check | CheckExpression | PersonId | PersonField | ConversationId | ConversationMessage | Name | When
            | ForEach | Prompt | StepModel | Attach | IdempotencyKey | Value | Wait | Sql | Code | Route | CaseWhen | RoundUntil
            | Format | Gate | WrittenScorecard | Accept | Until | Questions | GateValue | Otherwise | Send | SendValue | StopReason
            | Output => {
                return;
            }
        };
        match leaf {
            Leaf::Text(text) if is_password || names_a_secret(name) => visit(name, is_password, text),
            Leaf::Text(_) => {}
            Leaf::Constant(value) => constant(name, owner, value, visit),
        }
    });
}

/// Values below a name that stands for a secret.
fn constant(name: &str, owner: Span, value: &serde_json::Value, visit: &mut dyn FnMut(&str, bool, &Text)) {
    match value {
        serde_json::Value::String(text) if names_a_secret(name) => visit(name, false, &placed(text, owner)),
        serde_json::Value::Array(list) => list.iter().for_each(|value| constant(name, owner, value, visit)),
        serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| constant(name, owner, value, visit)),
        _ => {}
    }
}

/// `--api-key=VALUE`, and `--token`, `VALUE`.
fn arguments(args: &[Text], visit: &mut dyn FnMut(&str, bool, &Text)) {
    let mut before = "";
    for text in args {
        let (name, value) = match text.source.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value)),
            _ => (before, None),
        };
        let option = name.trim_start_matches('-');
        if name.starts_with('-') && names_a_secret(option) {
            match value {
                Some(value) => visit(option, false, &placed(value, text.place.span)),
                None => visit(option, false, text),
            }
        }
        // `--header`, `Authorization: Bearer VALUE`.
        if let Some((name, value)) = text.source.split_once(": ").filter(|(name, _)| !name.contains(char::is_whitespace)) {
            constant(name, text.place.span, &value.trim().into(), visit);
        }
        before = &text.source;
    }
}

/// A text that is only known to stand somewhere in a place.
pub fn placed(text: &str, span: Span) -> Text {
    let mut plain = Text::plain(text);
    plain.place.span = span;
    plain
}
