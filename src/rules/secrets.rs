//! Secrets: not in the file (F600), not where others read (F601, F602), and declared (F608).

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::roles::{self, Part, Role};
use super::tell::finding;
use crate::diagnostic::{Code, Diagnostic, Hints};
use crate::model::{Read, Text};
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
pub(super) fn in_file(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
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

/// Each read of a secret, with what the text is for.
fn reads<'p>(pipeline: &'p PipelinePlan) -> Vec<(Role, &'p Read)> {
    let mut list = vec![];
    roles::texts(&pipeline.pipeline, &mut |role, text: &'p Text| {
        let of_secrets = text.reads.iter().filter(|read| read.path.first().is_some_and(|name| name == "secrets"));
        list.extend(of_secrets.map(|read| (role, read)));
    });
    list
}

/// F601: a secret where people, models or the record would see it.
pub(super) fn in_text(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (role, read) in reads(pipeline) {
        let whereto = match role {
            Role::Sealed | Role::Address | Role::Code => continue,
            Role::Prompt => "reach a model",
            Role::Condition => "stand in a condition",
            Role::Log => "stand in a log",
            Role::Output => "stand in a text that goes out",
            Role::Record => "stand in the record of the run",
            Role::CommandLine => "stand on a command line, where every program of this machine can read it",
        };
        let message = format!("{} would {whereto}", read.path.join("."));
        out.push(
            finding(Code::SecretInText, read.span, &message)
                .help("remove it: secrets may stand only in models, in tools, and in headers and bodies of http steps"),
        );
    }
}

/// F602: a secret in a web address.
pub(super) fn in_address(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (_, read) in reads(pipeline).into_iter().filter(|(role, _)| *role == Role::Address) {
        let message = format!("{} in a web address ends up in logs; use a header", read.path.join("."));
        out.push(
            finding(Code::SecretInAddress, read.span, &message)
                .help("write headers: { Authorization: \"Bearer {{ secrets.NAME }}\" }, or the header the service asks for"),
        );
    }
}

/// F608: a secret that the file does not declare; each once.
pub(super) fn undeclared(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let declared = &pipeline.pipeline.secrets;
    let (mut told, hints) = (HashSet::new(), Hints::default());
    for (_, read) in reads(pipeline) {
        let Some(name) = read.path.get(1).filter(|name| !declared.contains_key(*name)) else { continue };
        if told.insert(name) {
            let hint = hints.did_you_mean(name, declared.keys().map(String::as_str));
            let message = format!("secrets.{name} is not declared; add it to \"secrets\" with a sentence that says what it is{hint}");
            out.push(
                finding(Code::UndeclaredSecret, read.span, &message)
                    .help(format!("write secrets: {{ {name}: What it is, and where to get it. }}")),
            );
        }
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
            in_file,
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
            assert_eq!(says(in_file, &format!("inputs: {{ a: text }}\nsteps: [{{ id: a, set: '{harmless}' }}]\n")), "", "{harmless}");
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

    #[test]
    fn a_secret_goes_only_where_nobody_reads() {
        let step =
            |step: &str| says(in_text, &format!("secrets: {{ KEY: A key. }}\nagents: {{ w: {{}} }}\nsteps: [{{ id: a, {step} }}]\n"));
        assert_eq!(step("agent: w, prompt: 'Use {{ secrets.KEY }}'"), "F601 5:44 secrets.KEY would reach a model\n");
        assert_eq!(step("set: '{{ secrets.KEY }}'"), "F601 5:27 secrets.KEY would stand in the record of the run\n");
        assert_eq!(step("when: secrets.KEY == 'x', set: 1"), "F601 5:24 secrets.KEY would stand in a condition\n");
        assert_eq!(step("http: GET https://example.com/, headers: { X-Key: '{{ secrets.KEY }}' }"), "");
        let tool = "secrets: { KEY: A key. }\ntools: { t: { http: GET https://example.com/, headers: { X-Key: '{{ secrets.KEY }}' } } }\nsteps: [{ id: a, tool: t }]\n";
        assert_eq!(says(in_text, tool), "");
    }

    #[test]
    fn a_secret_is_no_part_of_an_address() {
        let step = |step: &str| says(in_address, &format!("secrets: {{ KEY: A key. }}\nsteps: [{{ id: a, {step} }}]\n"));
        assert_eq!(
            step("http: 'GET https://example.com/{{ secrets.KEY }}'"),
            "F602 4:52 secrets.KEY in a web address ends up in logs; use a header\n"
        );
        assert!(step("http: GET https://example.com/, query: { key: '{{ secrets.KEY }}' }").starts_with("F602 "));
        assert_eq!(step("http: GET https://example.com/, body: { key: '{{ secrets.KEY }}' }"), "");
    }

    #[test]
    fn a_secret_is_declared() {
        let declared = |names: &str| {
            says(
                undeclared,
                &format!(
                    "secrets: {{ {names}: A key. }}\nmodels: {{ default: {{ provider: openai, model: m, api_key: '{{{{ secrets.CRM_TOKEN }}}}' }} }}\nsteps: [{{ id: a, set: 1 }}]\n"
                ),
            )
        };
        assert_eq!(declared("CRM_TOKEN"), "");
        assert_eq!(
            declared("CRM_TOKN"),
            "F608 4:63 secrets.CRM_TOKEN is not declared; add it to \"secrets\" with a sentence that says what it is; did you mean \"CRM_TOKN\"?\n"
        );
    }
}
