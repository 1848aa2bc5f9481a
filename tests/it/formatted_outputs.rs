//! What a `format` step made is sent and judged as that, wherever it was handed on. A value that only looks like it is a value.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use crate::program::{Ran, flow};
use crate::send::mailbox;

const CHANNEL: &str = "flow: 1\nchannel: sms\nbody: text\nmax_length: 20\nlength_unit: characters\nsplit: { at: sentence, most_parts: 3, indicator: \"({part}/{parts})\" }\n";
const LOOKS_LIKE_IT: &str = "{ channel: sms, text: fine, parts: [{ number: 1, text: evil, indicator: \"\", content: evil }], is_split: false, \
     shortened: false, emojis_used: [], markdown_removed: false }";

fn ran(files: &[(&str, &str)]) -> Ran {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path: &Path = &place.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("flow.toml", "");
    write("channels/sms.yaml", CHANNEL);
    files.iter().for_each(|(name, text)| write(name, text));
    flow(place.path(), &["run", "p.yaml", "--trust"])
}

fn sent(steps: &str) -> String {
    let pipeline = format!("flow: 1\nname: p\nchannels: [sms]\nsteps:\n{steps}\noutputs: {{}}\n");
    let ran = ran(&[("p.yaml", &pipeline)]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran.out
}

#[test]
fn a_value_with_parts_of_its_own_is_sent_as_it_is() {
    let whole = sent("  - { id: a, set: { parts: [a, b], total: 2 } }\n  - { id: s, send: stdout, of: steps.a.output }");
    assert_eq!(whole, "{\"parts\":[\"a\",\"b\"],\"total\":2}\n");
    let looks = sent(&format!("  - {{ id: a, set: {LOOKS_LIKE_IT} }}\n  - {{ id: s, send: stdout, of: steps.a.output }}"));
    assert!(looks.starts_with("{\"channel\":\"sms\",\"text\":\"fine\"") && looks.contains("\"content\":\"evil\""), "{looks}");
}

#[test]
fn what_a_format_step_made_is_sent_in_parts_however_it_was_handed_on() {
    let made = "  - { id: f, format: \"Hello you there. This is more.\" }\n";
    let direct = sent(&format!("{made}  - {{ id: s, send: stdout, of: steps.f.output }}"));
    assert_eq!(direct, "Hello you (1/3)\n\nthere. (2/3)\n\nThis is more. (3/3)\n");
    for handed in [
        "  - { id: a, set: \"{{ steps.f.output }}\" }\n  - { id: s, send: stdout, of: steps.a.output }",
        "  - { id: a, set: { reply: \"{{ steps.f.output }}\" } }\n  - { id: s, send: stdout, of: steps.a.output.reply }",
        "  - { id: a, set: [\"{{ steps.f.output }}\"] }\n  - { id: s, for_each: steps.a.output, send: stdout, of: item }",
    ] {
        assert_eq!(sent(&format!("{made}{handed}")), direct, "{handed}");
    }
    let inner = "flow: 1\nname: inner\nchannels: [sms]\nsteps:\n  - { id: f, format: \"Hello you there. This is more.\" }\noutputs:\n  reply: \"{{ steps.f.output }}\"\n";
    let outer = "flow: 1\nname: p\nchannels: [sms]\nsteps:\n  - { id: c, call: inner.yaml }\n  - { id: s, send: stdout, of: steps.c.output.reply }\noutputs: {}\n";
    let called = ran(&[("p.yaml", outer), ("inner.yaml", inner)]);
    assert_eq!((called.exit, called.out.as_str()), (0, direct.as_str()), "{}", called.err);
}

#[test]
fn html_is_mailed_as_html_beside_its_text() {
    let (address, taken) = mailbox();
    let pipeline = format!(
        "flow: 1\nname: p\nchannels: [mail]\ntools: {{ post: {{ smtp: \"{address}\", from: flow@sender.example }} }}\nsteps:\n  \
         - {{ id: f, format: \"Hello **you**.\" }}\n  \
         - {{ id: s, send: post, of: steps.f.output, with: {{ to: ana@example.org, subject: Hello }} }}\noutputs: {{}}\n"
    );
    let channel = "flow: 1\nchannel: mail\nbody: html\nmarkdown: [bold]\n";
    let ran = ran(&[("p.yaml", &pipeline), ("channels/mail.yaml", channel)]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let mail = taken.join().unwrap().join("\n");
    assert!(mail.contains("multipart/alternative") && mail.contains("Hello you.") && mail.contains("<strong>you</strong>"), "{mail}");
}

#[test]
fn a_gate_judges_all_of_a_value_that_only_looks_formatted() {
    let pipeline = format!(
        "flow: 1\nname: p\nchannels: [sms]\nscorecards:\n  card:\n    criteria:\n      - {{ id: clean, description: Nothing in it is evil, check: {{ not_contains: [evil] }} }}\n\
         steps:\n  - {{ id: a, set: {LOOKS_LIKE_IT} }}\n  - {{ id: g, gate: card, of: steps.a.output, otherwise: Sorry. }}\n\
         \x20 - {{ id: s, send: stdout, of: steps.g.output }}\noutputs: {{}}\n"
    );
    let ran = ran(&[("p.yaml", &pipeline)]);
    assert_eq!((ran.exit, ran.out.as_str()), (5, "Sorry.\n"), "{}", ran.err);
}

#[test]
fn a_formatted_text_is_broken_as_one_that_is_judged_beside_its_step_however_it_reaches_the_gate() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::create_dir(folder.path().join("channels")).unwrap();
    std::fs::write(folder.path().join("channels/sms.yaml"), "flow: 1\nchannel: sms\nmax_length: 60\nemojis: false\n").unwrap();
    std::fs::write(folder.path().join("formatted.yaml"), FORMATTED_EVERYWHERE).unwrap();
    let ran = flow(folder.path(), &["test", "formatted.yaml", "--mutate", "--json"]);
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let mutants = report["tests"][0]["mutations"].as_array().unwrap();
    let of = |gate: &str| -> Vec<String> {
        let own = mutants.iter().filter(|mutant| mutant["gate"] == gate);
        own.map(|mutant| format!("{} {} {}", mutant["mutation"], mutant["result"], mutant["by"])).collect()
    };
    let beside = of("beside");
    assert!(beside.iter().filter(|line| line.contains("survived")).count() >= 5, "{beside:#?}");
    for gate in ["of_group", "of_copy", "of_route", "of_loop", "of_list[0]"] {
        assert_eq!(of(gate), beside, "{gate}");
    }
}

const FORMATTED_EVERYWHERE: &str = r#"
flow: 1
name: formatted
channels: [sms]
agents: { writer: { instructions: You write. } }
scorecards: { ok: { criteria: [ { id: good, description: The text says Good in it., check: { contains: Good } } ] } }
steps:
  - { id: draft, agent: writer, prompt: Hi }
  - { id: made, format: "{{ steps.draft.output }}", channel: sms }
  - { id: beside, gate: ok, of: steps.made.output }
  - { id: group, steps: [ { id: inner, format: "{{ steps.draft.output }}", channel: sms } ] }
  - { id: of_group, gate: ok, of: steps.group.output.inner }
  - { id: copy, set: "{{ steps.group.output.inner }}" }
  - { id: of_copy, gate: ok, of: steps.copy.output }
  - { id: way, route: "'a'", cases: [ { id: a, equals: a, format: "{{ steps.draft.output }}", channel: sms } ], otherwise: { set: none } }
  - { id: of_route, gate: ok, of: steps.way.output }
  - { id: loop, repeat: { until: round == 1, at_most: 1 }, steps: [ { id: inner, format: "{{ steps.draft.output }}", channel: sms } ] }
  - { id: of_loop, gate: ok, of: steps.loop.output.inner }
  - { id: list, for_each: "[steps.draft.output]", format: "{{ item }}", channel: sms }
  - { id: of_list, for_each: steps.list.output, gate: ok, of: item }
outputs: { all: "{{ steps | length }}" }
tests:
  - { id: t, replies: { draft: Good text with 41 hours for the team. }, expect: { status: succeeded } }
"#;

/// One file for each thing that speaks: the style guide and the channel choose by the person's language, fixed texts by a condition.
#[test]
fn a_person_is_written_to_in_the_language_of_the_table() {
    let people = "id,name,language,hours\np1,Ana Moreira,de,12.5\np2,*Bo*,en,12.5\np3,Chi,,12.5\np4,Dé,de-AT,12.5\n";
    let style = "flow: 1\nstyle_guide: acme\nformatting: { greeting: \"Hi {name},\" }\nlanguages:\n  de: { formatting: { greeting: \"Hallo {name},\", sign_off: Dein Team } }\n";
    let channel =
        "flow: 1\nchannel: sms\nbody: text\nmax_length: 40\ntoo_long: More online.\nlanguages: { de: { too_long: Mehr online. } }\n";
    let pipeline = "flow: 1\nname: p\nchannels: [sms]\nstyle_guide: acme\ndata: { people: { file: people.csv } }\ninputs: { who: text }\n\
        person: { id: \"{{ inputs.who }}\", from: people }\nsteps:\n  \
        - { id: own, sql: \"select hours from people where id = {{ person.id }}\", one: true }\n  \
        - id: fit\n    format: >-\n      {% if (person.language | string)[:2] == 'de' %}Es sind {{ steps.own.output.hours | number(2, 'de') }} Stunden.\n      \
        {%- else %}{{ steps.own.output.hours | number(2, 'en') }} hours, {{ style.formatting.greeting }} {{ channel.too_long }} and so on and on.{% endif %}\n  \
        - { id: s, send: stdout, of: steps.fit.output }\noutputs: {}\n";
    let place = tempfile::tempdir().unwrap();
    for (name, text) in
        [("flow.toml", ""), ("channels/sms.yaml", channel), ("style_guides/acme.yaml", style), ("people.csv", people), ("p.yaml", pipeline)]
    {
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let validated = flow(place.path(), &["validate", "p.yaml", "--deny-warnings"]);
    assert_eq!(validated.exit, 0, "{}{}", validated.out, validated.err);
    for (who, sent) in [
        ("p1", "Hallo Ana,\n\nEs sind... Mehr online.\n"),
        ("p2", "Hi *Bo*,\n\n12.50 hours,... More online.\n"),
        ("p3", "Hi Chi,\n\n12.50 hours, Hi... More online.\n"),
        ("p4", "Hallo Dé,\n\nEs sind... Mehr online.\n"),
    ] {
        let ran = flow(place.path(), &["run", "p.yaml", "--input", &format!("who={who}")]);
        assert_eq!((ran.exit, ran.out.as_str()), (0, sent), "{who}: {}", ran.err);
    }
}
