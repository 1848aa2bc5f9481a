//! Files in memory, and what one rule says about them.

use std::path::Path;

use super::prelude::Rule;
use crate::diagnostic::{self, Diagnostic};
use crate::load::{self, Loaded};
use crate::plan;
use crate::port::MemoryFiles;

/// Loads files; nothing may be wrong with how they are written.
pub(super) fn loaded(files: &[(&str, &str)]) -> Loaded {
    let loaded = load::load(Path::new(files[0].0), Path::new(""), &files.iter().copied().collect::<MemoryFiles>());
    assert_eq!(told(&loaded, &loaded.diagnostics), "", "the files of a test are well written");
    loaded
}

/// Findings as lines: code, line:column (with the file's name if it is not the first one), message.
pub(super) fn told(loaded: &Loaded, found: &[Diagnostic]) -> String {
    let lines = found.iter().map(|d| {
        let at = loaded.sources.start(d.span);
        let file = if d.span.file.0 == 0 { String::new() } else { format!("{}:", loaded.sources.file(d.span.file).name) };
        assert!(d.message.chars().count() <= 160 && !d.help.is_empty(), "{d:?}");
        format!("{} {file}{}:{} {}\n", d.code.id(), at.line, at.column, d.message)
    });
    lines.collect()
}

/// What one rule says about files.
pub(super) fn says_of(rule: Rule, files: &[(&str, &str)]) -> String {
    let loaded = loaded(files);
    let mut found = vec![];
    let plan = plan::plan(&loaded.program, &mut found);
    assert_eq!(told(&loaded, &found), "", "the graph of a test is well drawn");
    for pipeline in &plan.pipelines {
        rule(pipeline, &plan, &mut found);
    }
    diagnostic::sort(&mut found);
    told(&loaded, &found)
}

/// What one rule says about a pipeline; `body` follows its head.
pub(super) fn says(rule: Rule, body: &str) -> String {
    says_of(rule, &[("a.yaml", &format!("flow: 1\nname: a\n{body}"))])
}

/// What one rule says about a pipeline under a policy with these keys, and with a tool and a request.
pub(super) fn with_policy(rule: Rule, keys: &str) -> String {
    says(
        rule,
        &format!(
            "tools: {{ hook: {{ http: POST https://example.com/ }} }}\npolicies:\n  office: {{ {keys} }}\npolicy: office\nsteps:\n  - {{ id: run, tool: hook }}\n  - {{ id: get, http: GET https://example.org/x }}\n"
        ),
    )
}

/// What one rule says about a pipeline with the agent `w` and the scorecard `s`.
pub(super) fn with_scorecard(rule: Rule, body: &str) -> String {
    let card = "scorecards:\n  s: { criteria: [{ id: c, description: It is short., check: { max_length: 9 } }] }\n";
    says(rule, &format!("agents: {{ w: {{}} }}\n{card}{body}"))
}

/// The same, with a draft `d` that is formatted in `f`; `steps` follow.
pub(super) fn with_draft(rule: Rule, steps: &str) -> String {
    let draft = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: f, format: '{{ steps.d.output }}' }\n";
    with_scorecard(rule, &format!("{draft}{steps}"))
}

/// A pipeline whose gate `g` judges by a scorecard that asks for a judge.
pub(super) fn judged_pipeline(card: &str, gate: &str) -> String {
    format!(
        "agents: {{ w: {{}}, q: {{}} }}\nscorecards:\n  s:\n    {card}criteria:\n      - {{ id: tone, description: It is kind., expected: kind, judge: true }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: f, format: '{{{{ steps.d.output }}}}' }}\n  - {{ id: g, gate: s, of: steps.f.output{gate} }}\n"
    )
}

/// What one rule says about a pipeline with the MCP server `files`; `more` is above the steps.
pub(super) fn with_server(rule: Rule, keys: &str, more: &str) -> String {
    says(rule, &format!("inputs: {{ dir: text }}\ntools: {{ files: {{ {keys} }} }}\n{more}\nsteps:\n  - {{ id: a, tool: files.read }}\n"))
}

/// What one rule says about a pipeline with the personal input `phone`.
pub(super) fn with_personal_input(rule: Rule, steps: &str) -> String {
    says(rule, &format!("inputs: {{ phone: {{ type: text, pii: true }}, topic: text }}\nagents: {{ w: {{}} }}\n{steps}"))
}

/// What one rule says about a channel and a style guide with these keys.
pub(super) fn with_channel(rule: Rule, keys: &str, style: &str) -> String {
    let pipeline = "flow: 1\nname: a\nchannels: [tiny]\nstyle_guide: acme\nsteps: [{ id: s, set: 1 }]\n";
    says_of(
        rule,
        &[
            ("a.yaml", pipeline),
            ("channels/tiny.yaml", &format!("flow: 1\nchannel: tiny\n{keys}\n")),
            ("style_guides/acme.yaml", &format!("flow: 1\nstyle_guide: acme\n{style}\n")),
        ],
    )
}

/// What is said about a test case with these keys.
pub(super) fn case(keys: &str) -> String {
    let text = format!(
        "flow: 1\nname: a\ninputs: {{ topic: text }}\nagents: {{ w: {{}} }}\nchannels: [sms]\ntools: {{ hook: {{ http: GET https://example.com/ }} }}\nsteps:\n  - id: r\n    route: inputs.topic\n    cases:\n      - {{ id: one, phrases: [x], set: 1 }}\n    otherwise: {{ steps: [{{ id: review, agent: w, prompt: x }}] }}\n  - {{ id: draft, agent: w, prompt: x }}\noutputs: {{ reply: '{{{{ steps.draft.output }}}}' }}\ntests:\n  - {{ id: late, inputs: {{ topic: x }}, {keys} }}\n"
    );
    let loaded = loaded(&[("a.yaml", &text), ("channels/sms.yaml", "flow: 1\nchannel: sms\n")]);
    let mut found = vec![];
    let plan = plan::plan(&loaded.program, &mut found);
    super::test_files::cases::check(loaded.tests.as_ref().unwrap(), &plan, &|_| true, &mut found);
    diagnostic::sort(&mut found);
    told(&loaded, &found)
}
