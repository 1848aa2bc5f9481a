//! What a run would reject, a test rejects too: a mock answers only a call that a run would make, and a rule denies the same in both.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::fmt::Write;

use crate::program::{Ran, flow};

const HEAD: &str = "flow: 1
name: desk
secrets: { TOKEN: The key of the desk. }
inputs: { list: { type: list, default: [1, 2] }, any: { type: any, default: many }, hi: { type: text, default: Hello }, none: { type: text, required: false }, at: { type: text, default: '7' }, host: { type: text, default: 'https://desk.example' } }
tools:
  notes: { file: notes, allow: [write, read] }
  hook: { http: 'POST https://hook.example/{{ with.place }}', arguments: { place: { type: text, required: false } }, with: { key: '{{ env.KEY }}' } }
  asks: { http: POST https://asks.example/, approve: true }
  post: { smtp: 'mail.example:587', from: '{{ env.SENDER }}' }
";

/// Plays one step in a case; `expect` is the case's.
fn tested(more: &str, step: &str, mocks: &str, expect: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let mut file = HEAD.to_owned();
    write!(file, "{more}\nsteps:\n  - {{ id: a, {step} }}\ntests:\n  - {{ id: one, {mocks}expect: {{ {expect} }} }}\n").unwrap();
    std::fs::write(folder.path().join("p.yaml"), file).unwrap();
    std::fs::write(folder.path().join("called.yaml"), "flow: 1\nname: called\ninputs: { n: number }\nsteps: [{ id: s, set: 1 }]\n")
        .unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    flow(folder.path(), &["test", "p.yaml"])
}

const OK: &str = "mocks: { a: { status: 200, headers: {}, body: null } }, ";
const FAILED: &str = "status: failed, steps: { a: failed }";

#[test]
fn a_send_is_judged_by_the_rules_as_in_a_run() {
    let only =
        |names: &str| format!("policies: {{ p: {{ allowed_tools: [notes], file_access: {{ write: ['notes/{names}'] }} }} }}\npolicy: p");
    let file = "send: notes, of: inputs.hi, with: { name: b.txt }";
    let denied = tested(&only("a*"), file, "", &format!("{FAILED}, blocked: [notes/b.txt]"));
    assert_eq!(denied.exit, 0, "{}", denied.out);
    let allowed = tested(&only("b*"), file, "", "sent: Hello, blocked: []");
    assert_eq!(allowed.exit, 0, "{}", allowed.out);
    let asked = tested("", "send: asks, of: inputs.hi", "", "status: succeeded");
    assert!(asked.out.contains("step \"a\" asks a person about tool \"asks\", which has no mock"), "{}", asked.out);
    let answered = tested(
        "",
        "send: asks, of: inputs.hi",
        "mocks: { a: { delivered: [] } }, ",
        "calls: { a: { body: { part: 1, parts: 1, content: Hello } } }",
    );
    assert_eq!(answered.exit, 0, "{}", answered.out);
}

#[test]
fn a_mock_answers_no_call_that_a_run_would_not_make() {
    let at = |value: &str| format!("inputs: {{ at: '{value}' }}, ");
    let get = "http: 'POST https://desk.example/orders/{{ inputs.at }}'";
    let mut refused: Vec<(&str, String, &str)> = ["a/b", "..", ""].map(|value| (get, at(value), OK)).into_iter().collect();
    let line = "inputs: { at: \"a\\nb\" }, ".to_owned();
    for step in [
        get,
        "http: POST https://desk.example/, headers: { X-At: '{{ inputs.at }}' }",
        "http: POST https://desk.example/, idempotency_key: '{{ inputs.at }}'",
        "http: 'POST {{ env.BASE }}/orders/{{ inputs.at }}'",
        "http: POST https://desk.example/, headers: { Authorization: '{{ secrets.TOKEN }}{{ inputs.at }}' }",
    ] {
        refused.push((step, line.clone(), OK));
    }
    for host in ["not a url", "ftp://desk.example", "", "https://127.1"] {
        refused.push(("http: 'GET {{ inputs.host }}'", format!("inputs: {{ host: '{host}' }}, "), OK));
    }
    refused.push(("http: POST https://desk.example/, idempotency_key: '{{ inputs.at }}'", at(" "), OK));
    let any = "mocks: { a: { any: thing } }, ";
    refused.push(("tool: hook, with: { place: '{{ inputs.at }}' }", at("a/b"), any));
    refused.push(("send: hook, of: inputs.hi, with: { place: '{{ inputs.at }}' }", at("a/b"), ""));
    for name in ["../x.txt", "a*b.txt", ".env", ""] {
        refused.push(("send: notes, of: inputs.hi, with: { name: '{{ inputs.at }}' }", at(name), ""));
        refused.push(("tool: notes.write, with: { name: '{{ inputs.at }}', text: Hi }", at(name), any));
    }
    refused.push((
        "send: post, of: inputs.hi, with: { to: ana@desk.example, subject: '{{ inputs.at }}' }",
        "inputs: { at: \"a\\r\\nb\" }, ".to_owned(),
        "",
    ));
    refused.push(("call: called.yaml, with: { n: '{{ inputs.any }}' }", String::new(), "mocks: { a: {} }, "));
    refused.push(("read: '{{ inputs.at }}'", at(".env"), any));
    for (step, inputs, mocks) in refused {
        let ran = tested("", step, &format!("{inputs}{mocks}"), FAILED);
        // The mock of a call that is not made is not used.
        let left = format!("{} failed", u8::from(!mocks.is_empty()));
        assert!(ran.err.contains(&left), "{step} {inputs}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("the mock of \"a\" is left over"), !mocks.is_empty(), "{step} {inputs}: {}", ran.out);
        assert!(!ran.out.contains("expected failed"), "{step} {inputs}: {}", ran.out);
    }
}

#[test]
fn what_a_test_does_not_know_is_no_fault_of_a_request() {
    for step in [
        "http: 'POST {{ env.BASE }}/orders/{{ inputs.at }}', headers: { Authorization: 'Bearer {{ secrets.TOKEN }}', N: '{{ env.N * 2 }}' }",
        "http: 'POST https://{{ env.HOST }}/bot{{ secrets.TOKEN }}/x', idempotency_key: 'k{{ inputs.at }}'",
    ] {
        let ran = tested("", step, OK, "blocked: []");
        assert_eq!(ran.exit, 0, "{step}: {}", ran.out);
    }
    for (step, sent) in [
        ("send: hook, of: inputs.hi, with: { place: here }", "calls: { a: { request: POST https://hook.example/here } }"),
        ("send: post, of: inputs.hi, with: { to: ana@desk.example, subject: Hours }", "sent: Hello"),
    ] {
        let ran = tested("", step, "", sent);
        assert_eq!(ran.exit, 0, "{step}: {}", ran.out);
    }
}

#[test]
fn what_rules_deny_needs_no_mock() {
    let policy = "policies: { p: { allowed_tools: ['notes.*'], file_access: { write: ['notes/a*'] } } }\npolicy: p";
    let write = |name: &str| format!("tool: notes.write, with: {{ name: {name}, text: Hi }}");
    let expect = format!("{FAILED}, blocked: [notes/b.txt]");
    let ran = tested(policy, &write("b.txt"), "", &expect);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    let ran = tested(policy, &write("b.txt"), "mocks: { a: 1 }, ", &expect);
    assert!(ran.out.contains("the mock of \"a\" is left over"), "{}", ran.out);
    let lacks = tested(policy, &write("a.txt"), "", FAILED);
    assert!(lacks.out.contains("step \"a\" has side effects and no mock"), "{}", lacks.out);
}

#[test]
fn the_mock_of_a_list_answers_each_of_its_elements() {
    let step = "for_each: inputs.list, http: 'POST https://desk.example/{{ item }}'";
    let ok = "{ status: 200, headers: {}, body: null }";
    let expect = |extra: &str| format!("calls: {{ a: {{ request: {{ contains: desk.example/2 }} }} }}{extra}");
    let ran = tested("", step, &format!("mocks: {{ a: [{ok}, {ok}] }}, "), &expect(""));
    assert_eq!(ran.exit, 0, "{}", ran.out);
    for list in ["[]".to_owned(), format!("[{ok}]"), format!("[{ok}, {ok}, {ok}]")] {
        let ran = tested("", step, &format!("mocks: {{ a: {list} }}, "), "status: succeeded");
        assert!(ran.out.contains("the list has 2 elements, and its mock "), "{list}: {}", ran.out);
    }
    let continues = format!("{step}, on_failure: continue");
    let gives = "status: partial, steps: { 'a[0]': succeeded, 'a[1]': failed }";
    for failed in ["{ error: timeout }", "{ item: 2, status: failed, output: null, error: { kind: timeout } }"] {
        let ran = tested("", &continues, &format!("mocks: {{ a: [{ok}, {failed}] }}, "), gives);
        assert_eq!(ran.exit, 0, "{failed}: {}", ran.out);
    }
}

#[test]
fn what_no_step_may_do_is_blocked_without_a_rule() {
    for (step, id) in
        [("set: /etc/passwd }\n  - { id: b, read: '{{ steps.a.output }}'", "b"), ("send: notes, of: inputs.hi, with: { name: .env }", "a")]
    {
        let ran = tested("", step, "", &format!("status: failed, blocked: [{id}]"));
        assert_eq!(ran.exit, 0, "{step}: {}", ran.out);
        let ran = tested("", step, "", "status: failed, blocked: []");
        assert!(ran.out.contains(&format!("blocked: \"{id}\" was denied, too")), "{step}: {}", ran.out);
    }
}

#[test]
fn what_is_empty_is_not_the_text_null() {
    for check in ["{ min_length: 1 }", "{ regex: '.+' }", "{ contains: 'null' }", "'null'"] {
        let ran = tested("outputs: { o: '{{ inputs.none }}' }", "set: 1", "", &format!("outputs: {{ o: {check} }}"));
        assert!(ran.out.contains("; found nothing (empty)"), "{check}: {}{}", ran.out, ran.err);
    }
    let ran = tested("outputs: { o: 3 }", "set: 1", "", "outputs: { o: { contains: '4' } }");
    assert!(ran.out.contains("; found 3\n"), "{}{}", ran.out, ran.err);
}
