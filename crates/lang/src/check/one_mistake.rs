//! One mistake is told where it was made, and what only follows from it is not.

use std::path::Path;

use super::check_file;
use crate::diagnostic::Severity;
use crate::port::MemoryFiles;

/// What is more than a remark about a pipeline; `body` follows its head of two lines.
fn told(body: &str) -> String {
    let text = format!("flow: 1\nname: p\n{body}");
    let checked = check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter([("p.yaml", text.as_str())]));
    let graver = checked.diagnostics.iter().filter(|found| found.severity() != Severity::Info);
    let lines = graver.map(|found| {
        let at = checked.loaded.sources.start(found.span);
        format!("{} {}:{} {} = {}\n", found.code.id(), at.line, at.column, found.message, found.help.join(" | "))
    });
    lines.collect()
}

#[test]
fn a_key_that_slid_is_told_where_it_stands() {
    let body = "steps:\n  - id: r\n    repeat:\n      at_most: 3\n    until: round == 2\n    steps: [{ id: a, set: '{{ round }}' }]\noutputs: { r: '{{ steps.r.output.a }}' }\n";
    assert_eq!(
        told(body),
        "F002 7:5 unknown key \"until\" in step \"r\" = indent it as a key of what lacks it: repeat of \"r\" has no \"until\"\n"
    );
    let deeper = "agents: { w: { instructions: Hi. } }\nsteps:\n  - id: a\n    agent: w\n    cache: 1h\n    timeout: 1m\n    for_each: [1]\n    retry:\n      max_attempts: 2\n      prompt: Hi\noutputs: { r: '{{ steps.a.output }}' }\n";
    assert!(told(deeper).starts_with("F002 12:7 unknown key \"prompt\" in "), "{}", told(deeper));
    assert!(told(deeper).ends_with("= indent it as a key of what lacks it: step \"a\" has no \"prompt\"\n"), "{}", told(deeper));
}

#[test]
fn a_key_that_is_not_known_far_away_has_not_slid() {
    let body = "steps:\n  - id: r\n    repeat:\n      at_most: 3\n    steps: [{ id: a, set: '{{ round }}' }]\n  - id: b\n    until: 1\n    set: '{{ steps.r.output.a }}'\noutputs: { b: '{{ steps.b.output }}' }\n";
    let found = told(body);
    assert!(found.contains("F004 6:7 repeat of \"r\" has no \"until\""), "{found}");
    assert!(found.contains("F002 9:5 unknown key \"until\" in step \"b\""), "{found}");
    assert!(!found.contains("what lacks it"), "{found}");
}

#[test]
fn of_two_that_lack_a_key_one_has_lost_it() {
    let list = "scorecards:\n  s:\n    criteria:\n      - id: one\n        check: { max_length: 9 }\n      - id: two\n        check: { max_length: 9 }\n    description: It is short.\n";
    let steps = "steps: [{ id: t, set: hi }, { id: a, gate: s, of: steps.t.output }]\noutputs: { a: '{{ steps.a.output }}' }\n";
    let found = told(&format!("{list}{steps}"));
    assert!(found.contains("F004 6:9 criterion \"one\" has no \"description\""), "{found}");
    assert!(
        found.contains("F002 10:5 unknown key \"description\" in scorecard \"s\" = indent it as a key of what lacks it: criterion \"two\""),
        "{found}"
    );
    assert_eq!(found.lines().count(), 2, "{found}");
}

#[test]
fn a_step_without_an_id_may_be_any_that_is_read() {
    let group = "steps:\n  - id: g\n    steps:\n      - set: 1\n      - { id: b, set: '{{ steps.x.output }}' }\noutputs: { x: '{{ steps.g.output.x }}' }\n";
    let found = told(group);
    assert!(found.starts_with("F004 6:9 step 1 has no \"id\""), "{found}");
    assert!(!found.contains("step 1\",") && !found.contains("F114") && !found.contains("F202"), "{found}");
    let rounds = "steps:\n  - id: r\n    repeat: { until: steps.x.output > 1, at_most: 3 }\n    steps: [{ set: '{{ previous.x.output | default(0) }}' }]\noutputs: { x: '{{ steps.r.output.x }}' }\n";
    let found = told(rounds);
    assert_eq!(found.lines().filter(|line| line.starts_with("F004 6:15 ")).count(), 1, "{found}");
    assert!(!found.contains("F116") && !found.contains("F202"), "{found}");
}

#[test]
fn keys_beside_the_name_of_what_they_are_keys_of_are_told_once() {
    let steps = "steps: [{ id: a, agent: w, prompt: Hi }]\noutputs: { a: '{{ steps.a.output }}' }\n";
    let told_of = |agents: &str| told(&format!("agents:\n{agents}{steps}"));
    assert_eq!(
        told_of("  w:\n  output:\n    ok: boolean\n  instructions: Hi.\n"),
        "F002 5:3 \"output\" is beside agent \"w\", and belongs below it: its line is indented too little = indent output and instructions two spaces more than w\n"
    );
    assert!(told_of("  w:\n").contains("agent \"w\" is empty"));
    assert_eq!(told_of("  w: { instructions: Hi. }\n"), "");
    let model = "models:\n  default:\n  provider: ollama\n  model: x\nagents: { w: { instructions: Hi. } }\n";
    assert!(
        told(&format!("{model}{steps}")).starts_with("F002 5:3 \"provider\" is beside model \"default\""),
        "{}",
        told(&format!("{model}{steps}"))
    );
}

#[test]
fn what_is_wrong_with_the_first_of_two_values_follows_from_there_being_two() {
    let found = told(
        "inputs: { who: text }\nperson: { type: text, default: p7 }\nperson: { id: '{{ inputs.who }}' }\nsteps: [{ id: a, set: '{{ person.id }}' }]\noutputs: { a: '{{ steps.a.output }}' }\n",
    );
    assert_eq!(found.lines().map(|line| &line[..8]).collect::<Vec<_>>(), ["F003 5:1"], "{found}");
}

#[test]
fn a_list_of_channels_below_channel_stays_as_it_is() {
    let steps = "steps: [{ id: a, set: 1 }]\noutputs: { a: '{{ steps.a.output }}' }\n";
    let found = told(&format!("channel: [sms, email]\n{steps}"));
    assert!(
        found.starts_with("F002 3:1 unknown key \"channel\" in this pipeline; did you mean \"channels\"? = write channels\n"),
        "{found}"
    );
    let found = told(&format!("channel: sms\n{steps}"));
    assert!(found.contains("= write channels: [sms]\n"), "{found}");
}

#[test]
fn a_value_that_is_never_closed_is_told_on_its_own_line() {
    let body = "inputs: { x: text }\nsteps:\n  - id: a\n    set: |\n      {{ inputs.x\n      or {{ inputs.x }})\noutputs: { a: '{{ steps.a.output }}' }\n";
    let found = told(body);
    assert_eq!(found, "F200 7:7 \"{{ inputs.x\" is not closed = write }} where the value ends\n");
}
