//! F600: a text of the file that looks like a key.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::roles::{self, Part};
use super::tell::finding;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Text;
use crate::plan::{PipelinePlan, Plan};

/// How keys of well-known services begin, and private keys; each as its service documents it.
static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \b(?: sk-[A-Za-z0-9_-]{20,}                        # OpenAI, Anthropic and those who follow them
            | gh[pousr]_[A-Za-z0-9]{36,} | github_pat_[A-Za-z0-9_]{40,}
            | glpat-[A-Za-z0-9_-]{20,}
            | A[KS]IA[A-Z0-9]{16}\b                        # AWS
            | AIza[A-Za-z0-9_-]{35}                        # Google
            | xox[abprs]-[A-Za-z0-9-]{20,}                 # Slack
            | hf_[A-Za-z0-9]{30,}
            | [sr]k_live_[A-Za-z0-9]{20,}                  # Stripe
          )
        | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----",
    )
    .ok()
});

/// What every key that [`KEYS`] knows holds; looking for these first spares most files the patterns.
const PARTS_OF_KEYS: [&str; 14] =
    ["sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "xox", "hf_", "k_live_"];

fn may_hold_key(text: &str) -> bool {
    PARTS_OF_KEYS.iter().any(|part| text.contains(part)) || text.contains("-----BEGIN ")
}

/// F600: a text of the file that looks like a key.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let mut look = |text: &Text| {
        if !may_hold_key(&text.source) {
            return;
        }
        let found = KEYS.iter().flat_map(|keys| keys.find_iter(&text.source)).find(|found| looks_random(found.as_str()));
        if let Some(found) = found {
            let start: String = found.as_str().chars().take(3).collect();
            let message = format!("\"{start}…\" looks like an API key; put it into a secret and write secrets.NAME");
            out.push(
                finding(Code::SecretInFile, text.place.inside(found.start(), found.end()), &message)
                    .help("declare it under secrets, remove it here, and have the old key replaced: it may have been seen"),
            );
        }
    };
    roles::parts(&pipeline.pipeline, &mut |_, part| match part {
        Part::Text(text) => look(text),
        Part::Constant(value, span) => strings(value, &mut |text| {
            let mut plain = Text::plain(text);
            plain.place.span = span;
            look(&plain);
        }),
    });
}

/// Keys have digits, letters of words alone do not.
fn looks_random(key: &str) -> bool {
    key.starts_with('-') || key.chars().any(|c| c.is_ascii_digit())
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
    use super::super::testing::says;
    use super::*;

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
        for harmless in ["sk-this-is-only-a-very-long-word", "task-0123456789012345678901", "sk-1", "{{ inputs.a }}"] {
            assert_eq!(says(check, &format!("inputs: {{ a: text }}\nsteps: [{{ id: a, set: '{harmless}' }}]\n")), "", "{harmless}");
        }
    }

    #[test]
    fn the_first_look_misses_no_kind_of_key() {
        let (few, many) = ("Ab3".repeat(7), "Ab3".repeat(16));
        let starts = ["sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"];
        let mut keys: Vec<String> = starts.iter().chain(&["hf_", "sk_live_", "rk_live_"]).map(|start| format!("{start}{many}")).collect();
        keys.extend([format!("AKIA{}", &few.to_uppercase()[..16]), format!("ASIA{}", &few.to_uppercase()[..16])]);
        keys.extend([
            format!("AIza{}", &many[..35]),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
            "-----BEGIN PRIVATE KEY-----".to_owned(),
        ]);
        for key in keys {
            assert!(KEYS.as_ref().unwrap().is_match(&key), "{key}");
            assert!(may_hold_key(&key), "{key}");
        }
    }
}
