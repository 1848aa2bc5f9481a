//! What follows from the kinds of steps and tools of a file (`model/facts.rs`).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::check_file;
use strum::VariantArray;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{CALL_TIMEOUT, CallTime, Pipeline, PreparedQuery, Root, RootPlaces, Step, TextKey, Unbraced};
use crate::port::{Files, MemoryFiles, ReadFileError, TableSource};
use crate::source::Spanned;

const FILE: &str = "flow: 1
name: p
tools:
  look: { http: GET https://a.example/ }
  order: { http: POST https://a.example/, timeout: 5s }
  rows: { sql: [t] }
  docs: { file: notes, allow: [read, write] }
  mail: { smtp: 'm.example:25', from: a@a.example }
  server: { command: server, allow: [x] }
data: { t: { file: t.csv } }
agents: { a: { instructions: Hi., tools: [look] }, b: { instructions: Hi. } }
steps:
  - { id: set, set: 1 }
  - { id: ask, agent: a, prompt: Hi }
  - { id: get, http: GET https://a.example/ }
  - { id: delete, http: DELETE https://a.example/, idempotency_key: k }
  - { id: look, tool: look }
  - { id: order, tool: order }
  - { id: rows, tool: rows, with: { query: select 1 } }
  - { id: read, tool: docs.read, with: { name: x } }
  - { id: write, tool: docs.write, with: { name: x, text: y } }
  - { id: server, tool: server.x }
  - { id: sql, sql: select 1 }
  - { id: plan, plan: a, prompt: Hi, may_use: [b, look], check: b }
  - { id: task, task: b, prompt: Hi, artefact: text, accept: [It is good enough.], judge: a, max_attempts: 2 }
  - id: route
    route: hi
    cases: [{ id: one, phrases: [hi], steps: [{ id: inner, set: 1 }] }]
    otherwise: { id: other, set: 2 }
  - { id: print, send: stdout, of: hi }
  - { id: file, send: docs, of: hi, with: { name: x } }
  - { id: mail, send: mail, of: hi, with: { to: a, subject: b } }
";

fn each<T>(fact: impl Fn(&Step, &Pipeline) -> Option<T>) -> Vec<(String, T)> {
    let files = MemoryFiles::from_iter([("p.yaml", FILE), ("t.csv", "a\n1\n"), ("notes/x", "")]);
    let checked = check_file(Path::new("p.yaml"), Path::new(""), &files);
    let pipeline = &checked.plan.pipelines[0].pipeline;
    pipeline.all_steps().into_iter().filter_map(|step| Some((step.id.value.clone(), fact(step, pipeline)?))).collect()
}

fn ids(fact: impl Fn(&Step, &Pipeline) -> bool) -> String {
    each(|step, pipeline| fact(step, pipeline).then_some(())).into_iter().map(|(id, ())| id).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_step_does_follows_from_its_kind_and_its_tool() {
    assert_eq!(ids(|step, pipeline| step.kind.effects(pipeline).changes), "delete order write server file mail");
    assert_eq!(ids(|step, pipeline| step.kind.effects(pipeline).reaches_out), "get delete look order server mail");
    assert_eq!(ids(|step, pipeline| step.kind.effects(pipeline).repeat()), "delete order write server print file mail");
    assert_eq!(ids(|step, _| step.kind.facts().calls_when == CallTime::Never), "set route inner otherwise");
    assert_eq!(ids(|step, _| step.kind.idempotency_key().is_some()), "delete");
    assert_eq!(ids(|step, _| step.kind.address().is_some()), "get delete");
}

#[test]
fn who_is_asked_and_used_stands_in_the_step() {
    let names = |names: Vec<&Spanned<String>>| names.into_iter().map(|name| name.value.clone()).collect::<Vec<_>>().join(" ");
    let agents = each(|step, pipeline| Some(names(step.kind.agents(pipeline))).filter(|names| !names.is_empty()));
    assert_eq!(agents, [("ask".to_owned(), "a".to_owned()), ("plan".to_owned(), "a b".to_owned()), ("task".to_owned(), "b a".to_owned())]);
    let used = each(|step, _| Some(names(step.kind.facts().may_use.iter().collect())).filter(|names| names.contains(' ')));
    assert_eq!(used, [("plan".to_owned(), "b look".to_owned())]);
}

#[test]
fn a_call_has_the_time_of_its_tool_or_of_its_kind() {
    let times = each(|step, pipeline| step.kind.default_timeout(pipeline).filter(|time| *time != CALL_TIMEOUT));
    let seconds: Vec<(&str, u64)> = times.iter().map(|(id, time)| (id.as_str(), time.as_secs())).collect();
    assert_eq!(seconds, [("ask", 600), ("order", 5), ("rows", 30), ("sql", 30)]);
}

/// A file in which something is written under every key that may hold a text.
const EVERYTHING: &str = "flow: 1
name: p
inputs: { a: text, l: { type: list } }
channels: [plain]
data: { t: { file: t.csv } }
person: { id: '{{ inputs.a }}', language: en, name: '{{ inputs.a }}' }
conversation: { id: '{{ inputs.a }}', message: inputs.a }
models:
  default: { provider: openai, model: '{{ env.M }}', base_url: 'https://{{ env.H }}/', api_key: '{{ secrets.K }}' }
  other: { provider: scripted, replies: r.yaml }
secrets: { K: A key. }
agents: { a: { instructions: 'Hi {{ inputs.a }}.' }, b: { instructions: Hi. } }
tools:
  post: { http: 'POST https://a.example/{{ with.x }}', headers: { H: '{{ with.x }}' }, query: { q: '{{ with.x }}' }, body: { b: ['{{ with.x }}', 1] }, with: { y: '{{ inputs.a }}' }, arguments: { x: text } }
  mail: { smtp: '{{ env.H }}:25', from: '{{ env.F }}', user: '{{ env.U }}', password: '{{ secrets.K }}' }
  program: { command: server, args: ['{{ inputs.a }}'], env: { E: '{{ secrets.K }}' }, allow: [x] }
  web: { url: 'https://a.example/{{ inputs.a }}', headers: { H: '{{ secrets.K }}' }, auth: { client_id: me, client_secret: '{{ secrets.K }}' }, allow: [x] }
  lint: { program: [lint, '{{ with.x }}'], arguments: { x: text }, input: '{{ with.x }}', env: { E: '{{ secrets.K }}' } }
  price: { python: p = x, arguments: { x: text }, returns: [p] }
  inner: { pipeline: q.yaml, with: { a: '{{ inputs.a }}' } }
knowledge: { docs: { files: '{{ inputs.l }}' } }
scorecards:
  card:
    criteria:
      - { id: words, description: It has the words., feedback: 'Say {{ inputs.a }}', check: { contains: ['{{ inputs.a }}'], not_contains: ['b {{ inputs.a }}'], equals: { v: '{{ inputs.a }}' } } }
      - { id: numbers, description: It has the numbers., when: inputs.a == 'x', check: { numbers_from: inputs.l, states_numbers: inputs.l, apart_from: inputs.a, expression: value == 1 } }
steps:
  - { id: set, name: 'Sets {{ inputs.a }}', when: inputs.a == 'x', for_each: inputs.l, set: { x: ['{{ item }}', { y: 1 }] } }
  - { id: ask, agent: a, prompt: 'Hi {{ inputs.a }}', model: '{{ inputs.a }}', attach: ['{{ inputs.a }}'] }
  - { id: call, tool: post, with: { x: '{{ inputs.a }}' }, idempotency_key: '{{ inputs.a }}' }
  - { id: get, http: 'POST https://a.example/{{ inputs.a }}', headers: { H: '{{ inputs.a }}' }, query: { q: '{{ inputs.a }}' }, body: '{{ inputs.a }}', idempotency_key: '{{ inputs.a }}' }
  - { id: rows, sql: select 1, with: { a: '{{ inputs.a }}' } }
  - { id: build, program: [make, '{{ inputs.a }}'], input: { v: '{{ inputs.a }}' }, env: { E: '{{ inputs.a }}' } }
  - { id: sums, python: { code: 'b = a' }, with: { a: '{{ inputs.a }}' }, returns: b }
  - { id: read, read: ['{{ inputs.a }}', x.txt] }
  - { id: plan, plan: a, prompt: 'Plan {{ inputs.a }}', may_use: [a], attach: '{{ inputs.a }}' }
  - { id: job, task: a, prompt: 'Do {{ inputs.a }}', artefact: '{{ inputs.a }}', accept: ['It is {{ inputs.a }}.', { id: own, description: It is measured., when: inputs.a == 'z', check: { contains: ['{{ inputs.a }}!'] } }], judge: a, attach: '{{ inputs.a }}', max_attempts: 2 }
  - { id: work, task: a, prompt: Do it., artefact: text, accept: inputs.l, judge: a, max_attempts: 2 }
  - { id: talk, dialogue: [a, b], topic: 'About {{ inputs.a }}', attach: inputs.l, max_turns: 4, until: { expression: turns | length > 3 } }
  - id: route
    route: '{{ inputs.a }}'
    cases:
      - { id: one, phrases: [hi], steps: [{ id: deep, route: inputs.a, cases: [{ id: two, when: inputs.a == 'y', set: '{{ inputs.a }}' }] }] }
    otherwise: { set: '{{ inputs.a }}' }
  - { id: rounds, repeat: { until: steps.tried.output == inputs.a, at_most: 2 }, steps: [{ id: tried, set: '{{ inputs.a }}' }] }
  - { id: called, call: q.yaml, with: { a: '{{ inputs.a }}' }, channel: '{{ inputs.a }}' }
  - { id: written, set: { criteria: [] } }
  - { id: shown, format: 'Hi {{ inputs.a }}' }
  - { id: judged, gate: [card, steps.written.output], of: steps.shown.output, with: { x: '{{ inputs.a }}' }, otherwise: 'No {{ inputs.a }}' }
  - { id: design, set: [] }
  - { id: asked, approval: 'Is it {{ inputs.a }}?', show: '{{ inputs.a }}', form: steps.design.output }
  - { id: filled, approval: Well?, form: { f: { type: text, default: '{{ inputs.a }}' } } }
  - { id: wait, wait: '{{ inputs.a }}' }
  - { id: mail, send: mail, of: steps.shown.output, with: { to: '{{ inputs.a }}' }, idempotency_key: '{{ inputs.a }}' }
on_failure:
  - { id: sorry, set: 'Sorry, {{ inputs.a }}' }
finally:
  - { id: end, stop: failed, reason: 'It ends, {{ inputs.a }}' }
outputs: { o: '{{ inputs.a }}', p: { q: ['{{ inputs.a }}'] } }
";

/// A reply of each kind.
const REPLIES: &str = "flow: 1
replies:
  ask:
    - { when: inputs.a == 'x', text: 'Hi {{ inputs.a }}' }
    - { data: { x: ['{{ inputs.a }}'] } }
    - { tool_calls: [{ tool: t, with: { x: '{{ inputs.a }}' } }] }
  judged: { failed: { words: 'No {{ inputs.a }}' } }
";

#[test]
fn every_text_of_a_pipeline_is_visited_once() {
    let inner = "flow: 1\nname: q\ninputs: { a: text }\nsteps:\n  - { id: s, set: 1 }\noutputs: '{{ inputs.a }}'\n";
    let channel = "flow: 1\nchannel: plain\nmax_length: 100\nbody: text\n";
    let files = MemoryFiles::from_iter([
        ("p.yaml", EVERYTHING),
        ("q.yaml", inner),
        ("r.yaml", REPLIES),
        ("t.csv", "a\n1\n"),
        ("channels/plain.yaml", channel),
    ]);
    let checked = check_file(Path::new("p.yaml"), Path::new(""), &files);
    let mut keys = BTreeSet::new();
    for planned in &checked.plan.pipelines {
        let mut visited = vec![];
        planned.pipeline.each_text(&mut |authored| {
            keys.insert(format!("{:?}", authored.key));
            visited.extend(authored.text().map(|text| format!("{:?}, form: {:?}, place: {:?}", text.source, text.form, text.place)));
        });
        // Whatever holds a text shows it.
        let shown = format!("{:?}", planned.pipeline);
        let mut held: Vec<String> =
            shown.split("Text { source: ").skip(1).map(|rest| rest.split(", reads: ").next().unwrap_or_default().to_owned()).collect();
        visited.sort();
        held.sort();
        assert_eq!(visited, held, "{}", planned.pipeline.name.value);
    }
    // The last key of the list stands for all.
    assert_eq!(keys.len(), TextKey::Output as usize + 1, "{keys:?} {:?}", checked.diagnostics);
}

/// What a check says of a pipeline with one step and of its test file, as codes and messages.
fn of_tests(test: &str, csv: &str) -> Vec<(String, Vec<String>)> {
    let model = "models: { default: { provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1' } }";
    let pipeline = format!(
        "flow: 1\nname: a\n{model}\nagents: {{ w: {{ instructions: Write. }} }}\nsteps: [{{ id: s, agent: w, prompt: Write. }}]\noutputs: '{{{{ steps.s.output }}}}'\n"
    );
    let files: crate::port::MemoryFiles = [("a.yaml", pipeline.as_str()), ("a.test.yaml", test), ("c.csv", csv)].into_iter().collect();
    let found = check_file(Path::new("a.test.yaml"), Path::new(""), &files).diagnostics;
    found.into_iter().map(|found| (format!("{} {}", found.code.id(), found.message), found.help)).collect()
}

#[test]
fn a_column_that_is_not_known_is_told_once_and_not_at_each_row() {
    let test = "flow: 1\ntest: a.yaml\nreplies: { s: Hi. }\ncases_from: { file: c.csv }\n";
    let told = |csv: &str| of_tests(test, csv).into_iter().map(|(told, _)| told).collect::<Vec<_>>();
    let unknown = "F002 unknown column \"expekt.result\"; did you mean \"expect.result\"?";
    assert_eq!(told("id,expekt.result\na,Hi.\nb,Hi.\n"), [unknown]);
    assert_eq!(told("id,description\na,One.\n"), ["F701 test \"a\" has neither expect nor golden; write what it expects"]);
}

#[test]
fn a_reply_of_the_judge_is_no_mock() {
    let test = |reply: &str| {
        format!(
            "flow: 1\ntest: a.yaml\ncases: [{{ id: a, replies: {{ s: Hi., {reply} }}, expect: {{ judge: It greets somebody kindly. }} }}]\n"
        )
    };
    let helps = |reply: &str| of_tests(&test(reply), "").into_iter().flat_map(|(_, help)| help).collect::<Vec<_>>();
    assert_eq!(helps("expect.judge: { good: true }"), ["write expect.judge: passed, or expect.judge: { failed: { judge: why } }"]);
    assert!(helps("s: { good: true }").is_empty() || helps("t: { good: true }").iter().any(|help| help.contains("mocks")));
}

/// A path that begins with a root and can be read in the step `here` of a file that has everything.
fn path(root: Root) -> String {
    let rest = match root {
        Root::Inputs => "a",
        Root::Steps | Root::Previous => "one.output",
        Root::Channel | Root::Style | Root::Person => "name",
        Root::Conversation => "text",
        Root::Run => "id",
        Root::Refinement => "feedback",
        Root::Failure => "message",
        Root::Secrets | Root::Env => "KEY",
        Root::With | Root::Value | Root::Text | Root::Turns | Root::Turn => "x",
        Root::Item | Root::ItemNumber | Root::ItemCount | Root::Round => "x",
    };
    format!("{}.{rest}", root.word())
}

/// The codes that a file has more with this step `here` in a `repeat` of a `for_each`, or in `finally`, than without it.
fn codes_with(step: &str, is_after: bool) -> Vec<Code> {
    let codes = |step: &str| -> Vec<Code> {
        let head = "flow: 1\nname: p\ninputs: { a: text, rows: { type: list, items: { type: object, fields: { x: text } } } }\nchannels: [tiny]\nstyle_guide: acme\n\
             person: { id: '{{ inputs.a }}' }\nconversation: { id: '{{ inputs.a }}', message: '{{ inputs.a }}' }\nsecrets: { KEY: A key. }\nagents: { w: { instructions: Hi. } }\n";
        let inside = if is_after { "" } else { step };
        let after = if is_after { step } else { "" };
        let text = format!(
            "{head}steps:\n  - id: g\n    for_each: inputs.rows\n    steps:\n      - id: r\n        repeat: {{ until: round > 2, at_most: 3 }}\n        \
             steps:\n          - {{ id: one, set: 1 }}\n{inside}finally:\n          - {{ id: last, set: 1 }}\n{after}"
        );
        let files = [
            ("p.yaml", text.as_str()),
            ("channels/tiny.yaml", "flow: 1\nchannel: tiny\n"),
            ("style_guides/acme.yaml", "flow: 1\nstyle_guide: acme\n"),
        ];
        let checked = check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter(files));
        checked.diagnostics.iter().map(|found| found.code).collect()
    };
    let mut with = codes(step);
    for code in codes("") {
        if let Some(at) = with.iter().position(|own| *own == code) {
            with.remove(at);
        }
    }
    with
}

#[test]
fn each_root_without_braces_is_found_in_each_place() {
    let here = |keys: &str| format!("          - {{ id: here, {keys} }}\n");
    for root in Root::VARIANTS.iter().copied() {
        let path = path(root);
        let is_after = root == Root::Failure;
        let found = |keys: String| codes_with(&here(&keys), is_after);
        let is_here = match root.places() {
            RootPlaces::Everywhere | RootPlaces::AfterFailure | RootPlaces::Elements | RootPlaces::Rounds => true,
            RootPlaces::Outside | RootPlaces::Judged | RootPlaces::Dialogue => false,
        };
        let slip = root.unbraced();
        let alone = [
            format!("agent: w, prompt: {path}"),
            format!("set: {path}"),
            format!("set: {{ a: [{path}] }}"),
            format!("http: POST https://a.example/, body: {path}"),
        ];
        for keys in alone {
            let is_slip = is_here && slip != Unbraced::Nowhere;
            assert_eq!(
                found(keys.clone()).contains(&Code::MissingBraces),
                is_slip || root == Root::Env && keys.starts_with("http"),
                "{keys}"
            );
        }
        for keys in [format!("agent: w, prompt: 'Answer {path} now.'"), format!("set: 'Answer {path} now.'")] {
            let is_slip = is_here && slip == Unbraced::Anywhere;
            assert_eq!(found(keys.clone()).contains(&Code::MissingBraces), is_slip, "{keys}");
        }
        let single = found(format!("agent: w, prompt: 'Answer {{ {path} }} now.'"));
        assert_eq!(single.contains(&Code::SingleBraces), slip != Unbraced::Nowhere, "{{ {path} }}");
        let end = found(format!("agent: w, prompt: 'Answer {path} }} now.'").replace(" }", " }}"));
        assert_eq!(end.contains(&Code::TemplateSyntax), slip != Unbraced::Nowhere, "{path} }}}}");
        let code = found(format!("python: 'x = {{{{ {path} }}}}', returns: x"));
        assert_eq!(code.contains(&Code::TextAsCode), slip != Unbraced::Nowhere, "{{{{ {path} }}}} in code");
        let quoted = found(format!("set: 1, when: \"'{path}' == 'x'\""));
        assert!(quoted.contains(&Code::ConstantCondition), "{path}");
    }
}

/// A list of steps at the same place: of the pipeline, of a group, of the rounds of a `repeat`, of a case, and of what is done for each element.
fn surroundings(steps: &[&str]) -> Vec<String> {
    let own: String = steps.iter().map(|step| format!("          {step}\n")).collect();
    let inside = |head: &str| {
        format!(
            "flow: 1\nname: p\ninputs: {{ who: text, word: text, doc: file, rows: {{ type: list, items: text }} }}\nagents: {{ w: {{ instructions: Hi. }} }}\n\
             scorecards: {{ s: {{ criteria: [{{ id: c, description: It is short., check: {{ max_length: 90 }} }}] }} }}\nsteps:\n{head}{own}"
        )
    };
    let group = "  - id: g\n    steps:\n";
    let case = "  - id: r\n    route: inputs.word\n    otherwise: { set: 1 }\n    cases:\n      - id: one\n        phrases: [hi]\n        steps:\n";
    let each = "  - id: e\n    for_each: inputs.rows\n    steps:\n";
    let rounds = "  - id: l\n    repeat: { until: round > 1, at_most: 2 }\n    steps:\n";
    ["", group, rounds, case, each].map(inside).into()
}

/// What a help says to write: a step of its own, or the values of a step.
fn proposed(help: &str) -> &str {
    let Some(start) = ["- {", "with: {"].iter().find_map(|begin| help.find(begin)) else { return "" };
    let mut depth = 0;
    let end = help[start..].find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == '}' && depth == 0
    });
    end.map_or("", |end| &help[start..=start + end])
}

#[test]
fn what_a_help_proposes_can_be_written_where_the_mistake_is() {
    let found = |text: &str| {
        check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter([("p.yaml", text)]))
            .diagnostics
            .into_iter()
            .collect::<Vec<_>>()
    };
    let asks = "- { id: draft, agent: w, prompt: x }";
    let falls = ["- { id: draft, agent: w, prompt: x, on_failure: draft_failed }", "HELP"];
    let mut wrong_helps = vec![];
    for (code, wrong, right) in [
        (Code::TwoKinds, "- { id: draft, agent: w, prompt: x, gate: s, otherwise: Sorry. }", [asks, "HELP"]),
        (Code::TwoKinds, "- { id: draft, agent: w, prompt: x, send: stdout }", [asks, "HELP"]),
        (Code::TwoKinds, "- { id: draft, set: Hi., send: stdout, of: inputs.who }", ["- { id: draft, set: Hi. }", "HELP"]),
        (Code::UnknownStep, "- { id: draft, agent: w, prompt: x, on_failure: 'He said \"no\", it''s late.' }", falls),
        (Code::UnknownKey, "- { id: draft, agent: w, prompt: x, fallback: 'He said \"no\": late.' }", falls),
        (
            Code::PathForFile,
            "- { id: draft, agent: w, prompt: '{{ inputs.doc }}' }",
            ["HELP", "- { id: draft, agent: w, prompt: '{{ steps.file.output.text }}' }"],
        ),
        (
            Code::TemplateSyntax,
            "- { id: draft, agent: w, prompt: '{% set x = inputs.who ~ \"!\" %}Hi {{ x }}' }",
            ["HELP", "- { id: draft, agent: w, prompt: 'Hi {{ steps.x.output }}' }"],
        ),
        (
            Code::TextAsCode,
            "- { id: draft, python: 'x = \"{{ inputs.who }}\"', returns: [x] }",
            ["- { id: draft, python: 'x = who', returns: [x], HELP }", ""],
        ),
        (
            Code::MissingBraces,
            "- { id: draft, python: 'x = inputs.who', returns: [x] }",
            ["- { id: draft, python: 'x = who', returns: [x], HELP }", ""],
        ),
        (Code::QueryValues, "- { id: draft, sql: 'select $who as a' }", ["- { id: draft, sql: 'select $who as a', HELP }", ""]),
    ] {
        for (text, place) in surroundings(&[wrong]).iter().zip(0..) {
            let all = found(text);
            let help = all.iter().find(|found| found.code == code).map(|found| found.help.concat()).unwrap_or_default();
            let right = right.map(|step| step.replace("HELP", proposed(&help)));
            let right = &surroundings(&[&right[0], &right[1]])[place];
            let is_left = |found: &Diagnostic| found.code == code || found.code.severity() == Severity::Error;
            let left: Vec<_> = found(right).into_iter().filter(is_left).collect();
            wrong_helps.extend((proposed(&help).is_empty() || !left.is_empty()).then(|| format!("{right}{left:?}{all:?}")));
        }
    }
    assert!(wrong_helps.is_empty(), "{}", wrong_helps.join("\n\n"));
}

#[test]
fn a_step_that_a_help_proposes_runs_when_and_as_often_as_the_mistake_would() {
    let help = |step: &str| {
        let text = format!(
            "flow: 1\nname: p\ninputs: {{ n: text, l: list }}\nagents: {{ w: {{ instructions: Hi. }} }}\nsteps: [{{ id: s, {step} }}]\n"
        );
        let checked = check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter([("p.yaml", &*text)]));
        checked.diagnostics.into_iter().find(|found| found.code == Code::TwoKinds).map(|found| found.help.concat()).unwrap_or_default()
    };
    let sent = help("when: inputs.n == 'a', format: Hi, send: stdout");
    assert!(sent.ends_with(r#"- { id: send_s, when: "inputs.n == 'a'", send: stdout, of: steps.s.output }"#), "{sent}");
    let asked = help("for_each: inputs.l, as: job, agent: w, prompt: '{{ job }}', http: 'GET https://a.example/{{ job }}'");
    assert!(asked.contains("- { id: http_s, for_each: inputs.l, as: job, http: "), "{asked}");
}

#[test]
fn each_step_that_a_help_proposes_has_an_id_that_is_free() {
    let steps = ["file, set: 1", "a, agent: w, prompt: '{{ inputs.one }}'", "b, agent: w, prompt: '{{ inputs.two }}'"];
    let steps: String = steps.iter().map(|step| format!("  - {{ id: {step} }}\n")).collect();
    let text = format!("flow: 1\nname: p\ninputs: {{ one: file, two: file }}\nagents: {{ w: {{ instructions: Hi. }} }}\nsteps:\n{steps}");
    let checked = check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter([("p.yaml", &*text)]));
    let helps: Vec<String> =
        checked.diagnostics.into_iter().filter(|found| found.code == Code::PathForFile).map(|found| found.help.concat()).collect();
    assert_eq!(helps.len(), 2, "{helps:?}");
    for (help, id) in helps.iter().zip(["file_2", "file_3"]) {
        assert!(help.contains(&format!("- {{ id: {id}, read: ")) && help.contains(&format!("steps.{id}.output.text")), "{help}");
    }
}

/// Files, and the queries that an engine was asked to compile.
struct CompilingFiles {
    below: MemoryFiles,
    compiled: RefCell<Vec<String>>,
}

impl Files for CompilingFiles {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        self.below.read_text(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.below.exists(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        self.below.names(folder)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.below.real_path(path)
    }

    fn columns(&self, table: &TableSource) -> Option<Vec<String>> {
        self.below.columns(table)
    }

    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        let tables: Vec<&str> = tables.keys().copied().collect();
        self.compiled.borrow_mut().extend(queries.iter().map(|query| format!("{}: {query}", tables.join(" "))));
        vec![None; queries.len()]
    }
}

#[test]
fn a_check_has_each_query_compiled_once() {
    let parent = "flow: 1
name: a
data: { t: { file: t.csv, pii: [name] }, d: { file: d.parquet } }
guarantees: { personal_declared: required }
agents: { w: { instructions: Write. } }
tools: { rows: { sql: [t] } }
steps:
  - { id: one, sql: select name from t }
  - { id: two, sql: select name from t }
  - { id: duck, sql: select name from d }
  - { id: tool, tool: rows, with: { query: select 1 } }
  - { id: child, call: b.yaml }
  - { id: again, call: b.yaml }
  - { id: note, agent: w, prompt: '{{ steps.one.output }} {{ steps.two.output[0].name }} {{ steps.tool.output }}' }
outputs: { note: '{{ steps.note.output }}' }
";
    let child =
        "flow: 1\nname: b\ndata: { u: { file: t.csv } }\nsteps: [{ id: q, sql: select name from u }]\noutputs: '{{ steps.q.output }}'\n";
    let below = [("a.yaml", parent), ("b.yaml", child), ("t.csv", "id,name\n1,Ana\n")].into_iter().collect();
    let files = CompilingFiles { below, compiled: RefCell::default() };
    check_file(Path::new("a.yaml"), Path::new(""), &files);
    let mut compiled = files.compiled.into_inner();
    compiled.sort();
    assert_eq!(compiled, ["t: select 1", "t: select name from t", "u: select name from u"]);
}
