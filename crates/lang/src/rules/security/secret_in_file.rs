//! F600: a text of the file that looks like a key.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use crate::model::{Form, Leaf, Model, Pipeline, Text};
use crate::redact::{each_seat, keys_in, looks_like_key, placed, private_keys_in};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::roles::{self, SinkRole};
use crate::source::{Span, Spanned};

/// What is wrong with a text that should be a secret.
enum SecretFault {
    /// It is a key: this part of the text.
    Key(Range<usize>),
    /// It names a secret (`$NAME`, `${NAME}`, `secrets.NAME`), and is sent as it is.
    Name(String),
}

/// A text that lets somebody in: its name, and whether it does so whatever it looks like.
struct SecretSeat<'p> {
    name: &'p str,
    is_password: bool,
}

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    each(&pipeline.pipeline, &mut |seat, text, wrong| out.push(found(seat, text, wrong)));
}

/// The same for the model that settings name.
pub(in crate::rules) fn in_settings(model: Option<&Model>, out: &mut Vec<Diagnostic>) {
    out.extend(in_model(model).map(|(text, wrong)| found(Some(&API_KEY), text, wrong)));
}

/// All keys that are in the files of a plan, as they are written: no finding shows them.
pub fn keys(plan: &Plan) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for pipeline in &plan.pipelines {
        each(&pipeline.pipeline, &mut |_, text, wrong| keys.extend(key(text, wrong)));
    }
    keys
}

/// The key of the model that settings name, if it is there.
pub fn keys_of(model: Option<&Model>) -> BTreeSet<String> {
    in_model(model).and_then(|(text, wrong)| key(text, wrong)).into_iter().collect()
}

fn in_model(model: Option<&Model>) -> Option<(&Text, SecretFault)> {
    let text = model?.api_key.as_ref()?;
    Some((text, sealed(&API_KEY, text).or_else(|| shaped(text))?))
}

fn key(text: &Text, wrong: SecretFault) -> Option<String> {
    match wrong {
        SecretFault::Key(range) => text.source.get(range).map(str::to_owned),
        SecretFault::Name(_) => None,
    }
}

const API_KEY: SecretSeat = SecretSeat { name: "api_key", is_password: false };

fn found(seat: Option<&SecretSeat>, text: &Text, wrong: SecretFault) -> Diagnostic {
    let (message, span, help) = match wrong {
        SecretFault::Key(range) => {
            let start: String = text.source[range.clone()].chars().take(3).collect();
            let has_shape = shaped(text).is_some();
            let what = match seat {
                Some(seat) if seat.is_password => "the password is in the file".to_owned(),
                Some(seat) if !has_shape => format!("{} holds what looks like a key", quoted(seat.name)),
                None if !has_shape => "the address holds a log-in or a token".to_owned(),
                _ => format!("\"{start}…\" looks like an API key"),
            };
            let help = "declare it under secrets, remove it here, and replace the old key: it may have been exposed";
            let message = format!("{what}; put it into a secret and write secrets.NAME");
            (message, text.place.inside(range.start, range.end), help.to_owned())
        }
        SecretFault::Name(secret) => (
            format!("{} is sent as it is written; write \"{{{{ secrets.{secret} }}}}\"", quoted(&text.source)),
            text.place.span,
            format!(
                "write \"{{{{ secrets.{secret} }}}}\", with {secret} under secrets and a sentence for people; the environment has its value"
            ),
        ),
    };
    told(span, &message).help(help)
}

fn told(span: Span, message: &str) -> Diagnostic {
    finding(Code::SecretInFile, span, message)
}

/// F600: the key itself where the file of the key should be named.
pub(in crate::rules) fn in_key_file(key_file: Option<&Spanned<String>>, out: &mut Vec<Diagnostic>) {
    if let Some(named) = key_file.filter(|named| is_bare_key(&named.value)) {
        let message = "\"key_file\" names a file, and this looks like the key itself; put it into a file of its own";
        out.push(told(named.span, message).help("write the path of the file, and replace the key: it may have been exposed"));
    }
}

/// Whether a path is 16 bytes or more in base64 or hex.
fn is_bare_key(path: &str) -> bool {
    let is_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    path.len() >= 32 && !path.starts_with('/') && path.chars().all(is_code) && looks_like_key(path)
}

/// Calls `visit` for each text of a pipeline that is a key or names one.
fn each(pipeline: &Pipeline, visit: &mut dyn FnMut(Option<&SecretSeat>, &Text, SecretFault)) {
    let mut seen: Vec<(Span, usize)> = vec![];
    let mut once = |seat: Option<&SecretSeat>, text: &Text, wrong: SecretFault| {
        let place = (text.place.span, if let SecretFault::Key(range) = &wrong { range.start } else { 0 });
        if !seen.contains(&place) {
            seen.push(place);
            visit(seat, text, wrong);
        }
    };
    each_seat(pipeline, &mut |name, is_password, text| {
        let seat = SecretSeat { name, is_password };
        if let Some(wrong) = sealed(&seat, text) {
            once(Some(&seat), text, wrong);
        }
    });
    roles::parts(pipeline, &mut |role, authored| {
        let mut look = |text: &Text| {
            let wrong = shaped(text).or_else(|| log_in(role, text));
            wrong.into_iter().for_each(|wrong| once(None, text, wrong));
        };
        match authored.leaf {
            Leaf::Text(text) => look(text),
            Leaf::Constant(value) => strings(value, &mut |text| look(&placed(text, authored.owner))),
        }
    });
}

/// A key in a text of any kind, by its shape.
fn shaped(text: &Text) -> Option<SecretFault> {
    private_keys_in(&text.source).into_iter().next().map(SecretFault::Key)
}

/// A user and password, or a token, in a web address; in what others are given, where an address may be part of a longer text, the former.
fn log_in(role: SinkRole, text: &Text) -> Option<SecretFault> {
    let source = &text.source;
    let is_log_in = |range: &Range<usize>| source[range.end..].starts_with('@') && source[range.clone()].contains(':');
    let counts = |range: &Range<usize>| match role {
        SinkRole::Address => true,
        SinkRole::Sealed | SinkRole::CommandLine => is_log_in(range),
        SinkRole::Prompt | SinkRole::Condition | SinkRole::Log | SinkRole::Output | SinkRole::Record | SinkRole::Code => false,
    };
    keys_in(source).into_iter().find(|range| !source[range.clone()].contains("{{") && counts(range)).map(SecretFault::Key)
}

/// What stands where a key does.
fn sealed(seat: &SecretSeat, text: &Text) -> Option<SecretFault> {
    let written = text.source.trim();
    if text.form != Form::Plain {
        return None;
    }
    let bare = written.strip_prefix("Bearer ").unwrap_or(written).trim();
    let secret = bare
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .or_else(|| bare.strip_prefix('$'))
        .or_else(|| bare.strip_prefix("secrets."));
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if let Some(secret) = secret.filter(is_name) {
        return Some(SecretFault::Name(secret.to_owned()));
    }
    let start = text.source.len() - text.source.trim_start().len();
    let is_key = seat.is_password && !written.is_empty() || looks_like_key(written) && !is_place(written);
    is_key.then(|| SecretFault::Key(start..start + written.len()))
}

/// Whether a text names a file or an address, where a key may be fetched (`/run/secrets/db_pw1`): keys are not written in small letters and
/// slashes only. A log-in in an address is found by [`log_in`].
fn is_place(text: &str) -> bool {
    text.contains('/')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '/' | '.' | '_' | '-' | '~' | ':'))
}

fn strings(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(list) => list.iter().for_each(|value| strings(value, visit)),
        Value::Object(map) => map.values().for_each(|value| strings(value, visit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_key_in_the_file_is_found_and_not_shown() {
        let key = format!("sk-{}", "Ab3".repeat(8));
        let found = says(
            check,
            &format!(
                "models: {{ default: {{ provider: openai, model: m, api_key: {key} }} }}\nsteps: [{{ id: a, set: [{{ x: '{key}' }}] }}]\n"
            ),
        );
        assert_eq!(
            found,
            "F600 3:59 \"sk-…\" looks like an API key; put it into a secret and write secrets.NAME\n\
             F600 4:15 \"sk-…\" looks like an API key; put it into a secret and write secrets.NAME\n"
        );
        let seat = SecretSeat { name: "PASSWORD_FILE", is_password: false };
        for place in ["/run/secrets/db_pw1", "secrets/pw1.txt", "https://login.example.com/v2/token", "~/.keys/key2"] {
            assert!(sealed(&seat, &placed(place, Span::default())).is_none(), "{place}");
        }
        for key in ["aB3/dE5fG7hJ9kL1mN3", "0f1e2d3c4b5a69788796", "hunter2-pa55word"] {
            assert!(sealed(&seat, &placed(key, Span::default())).is_some(), "{key}");
        }
        for harmless in ["sk-this-is-only-a-very-long-word", "task-0123456789012345678901", "sk-1", "{{ inputs.a }}"] {
            assert_eq!(says(check, &format!("inputs: {{ a: text }}\nsteps: [{{ id: a, set: '{harmless}' }}]\n")), "", "{harmless}");
        }
    }

    #[test]
    fn a_key_of_every_service_that_is_masked_is_found() {
        let prompt = |text: &str| says(check, &format!("steps: [{{ id: a, set: 'Use {text} here.' }}]\n"));
        for start in ["gsk_", "xai-", "sk_test_", "npm_", "pypi-", "AIza"] {
            let key = format!("{start}{}", &"aB3dE5fG7".repeat(8)[..if start == "AIza" { 35 } else { 64 }]);
            assert_eq!(
                prompt(&key),
                format!("F600 3:15 \"{}…\" looks like an API key; put it into a secret and write secrets.NAME\n", &start[..3]),
                "{key}"
            );
        }
        // Both are made to be public.
        let certificate = format!("-----BEGIN CERTIFICATE-----\\n{}\\n-----END CERTIFICATE-----", "aB3d".repeat(16));
        for public in [format!("pk_live_{}", "aB3".repeat(10)), certificate] {
            assert_eq!(prompt(&public), "", "{public}");
        }
    }
}
