//! Keys: unknown, missing, doubled, reserved; and what is said about each.

use insta::assert_snapshot;

use super::*;

#[test]
fn the_first_key_is_the_version() {
    assert_snapshot!(findings("name: a\nflow: 1\nsteps: [{ id: one, set: 1 }]\n"), @"F014 1:1 the first key must be flow: 1 = write flow: 1 on the first line");
    assert_snapshot!(findings("flow: 3\nname: a\nsteps: [{ id: one, set: 1 }]\n"), @"F014 1:7 this file is written in version 3 of the language; this program reads version 1 only = install a newer flow, which can read this file; write flow: 1 only if the file was made for that version");
    assert_snapshot!(findings("- 1\n"), @"F014 1:1 a file must be a group of keys that begins with flow: 1, found a list = write flow: 1 on the first line");
}

#[test]
fn unknown_keys_are_named_with_what_was_meant_and_cause_nothing_else() {
    assert_snapshot!(with_steps("  - { id: a, agent: w, promt: Hi }\n  - { id: b, depends_on: [a], if: x, tool: t, params: 1 }\n  - { id: c, switch: x }"), @r#"
    F002 4:24 unknown key "promt" in step "a"; did you mean "prompt"? = write prompt
    F002 5:14 unknown key "depends_on" in step "b"; did you mean "needs"? = write needs
    F002 5:31 unknown key "if" in step "b"; did you mean "when"? = write when
    F002 5:47 unknown key "params" in step "b" = use one of: with, output, output_schema, idempotency_key (of "tool"); id, needs, when, name, for_each, as, max_parallel, fail_fast, timeout, deadline, retry, on_failure, cache, phase, pii, once (of every step)
    F002 6:14 unknown key "switch" in step "c"; did you mean "route"? = write route
    "#);
    assert_snapshot!(with_steps("  - { id: a, run: ls }\n  - { id: b, set: 1, prompt: Hi }\n  - { id: c, agnt: w, prompt: Hi }"), @r#"
    F002 4:14 unknown key "run" in step "a" = write program: [ls], which no shell reads; add ok_exits: [0, 1] if it exits with 1 and that is no failure
    F002 5:22 unknown key "prompt" in step "b" = remove it; only these kinds of steps have it: agent, plan, task
    F002 6:14 unknown key "agnt" in step "c"; did you mean "agent"? = write agent
    "#);
    assert_snapshot!(head("agents: { w: { system: Hi, llm: big } }\nmodels: { m: { provider: openai, max_tokens: 5, temp: 1 } }"), @r#"
    F002 3:16 unknown key "system" in agent "w"; did you mean "instructions"? = write instructions
    F002 3:28 unknown key "llm" in agent "w"; did you mean "model"? = write model
    F002 4:34 unknown key "max_tokens" in model "m"; did you mean "max_output_tokens"? = write max_output_tokens
    F002 4:49 unknown key "temp" in model "m"; did you mean "temperature"? = write temperature
    "#);
    assert_snapshot!(head("inputs: { n: { type: number, min: 1, choices: [1] } }\nzzz: 1"), @r#"
    F002 3:30 unknown key "min" in input "n"; did you mean "minimum"? = write minimum
    F002 3:38 unknown key "choices" in input "n"; did you mean "enum"? = write enum
    F002 4:1 unknown key "zzz" in this pipeline = use one of: flow, name, description, inputs, imports, data, knowledge, person, secrets, agents, models, tools, scorecards, channels, style_guide, policies, policy, limits, guarantees, conversation, steps, outputs, on_failure, finally, tests
    "#);
}

#[test]
fn every_alias_of_the_table_leads_to_its_key() {
    let meant = |place: &str, key: &str| {
        let text = match place {
            "step" => format!("flow: 1\nname: a\nsteps: [{{ id: one, set: 1, {key}: x }}]\n"),
            "kind" => format!("flow: 1\nname: a\nsteps: [{{ id: one, {key}: x }}]\n"),
            "agent" => format!("flow: 1\nname: a\nagents: {{ w: {{ {key}: x }} }}\nsteps: [{{ id: one, set: 1 }}]\n"),
            "model" => format!("flow: 1\nname: a\nmodels: {{ w: {{ provider: openai, {key}: x }} }}\nsteps: [{{ id: one, set: 1 }}]\n"),
            "field" => format!("flow: 1\nname: a\ninputs: {{ w: {{ type: text, {key}: x }} }}\nsteps: [{{ id: one, set: 1 }}]\n"),
            "number" => format!("flow: 1\nname: a\ninputs: {{ w: {{ type: integer, {key}: x }} }}\nsteps: [{{ id: one, set: 1 }}]\n"),
            "task" => format!("flow: 1\nname: a\nsteps: [{{ id: one, task: w, {key}: x }}]\n"),
            "route" => format!("flow: 1\nname: a\nsteps: [{{ id: one, route: x, cases: [{{ id: c, when: x, set: 1 }}], {key}: x }}]\n"),
            "gate" => format!("flow: 1\nname: a\nsteps: [{{ id: one, gate: x, of: x, {key}: x }}]\n"),
            _ => format!("flow: 1\nname: a\n{key}: x\nsteps: [{{ id: one, set: 1 }}]\n"),
        };
        let found = findings(&text);
        let message = found.lines().find(|line| line.starts_with("F002")).unwrap_or_default();
        message.split("did you mean \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("").to_owned()
    };
    for (place, keys, key) in [
        ("step", "depends_on depends after", "needs"),
        ("step", "if condition run_if", "when"),
        ("step", "foreach loop with_items matrix", "for_each"),
        ("kind", "uses workflow subflow", "call"),
        ("kind", "switch choose branch", "route"),
        ("step", "retries attempts max_retries", "retry: { max_attempts: 3 }"),
        ("step", "timeout_sec timeout-minutes", "timeout"),
        ("step", "continue_on_error allow_failure", "on_failure: continue"),
        ("route", "else default", "otherwise"),
        ("gate", "else default", "otherwise"),
        ("agent", "system system_prompt role", "instructions"),
        ("agent", "model_name llm", "model"),
        ("model", "temp", "temperature"),
        ("model", "max_tokens", "max_output_tokens"),
        ("head", "params", "inputs"),
        ("head", "tasks jobs nodes", "steps"),
        ("field", "options choices", "enum"),
        ("number", "min", "minimum"),
        ("number", "max", "maximum"),
        ("number", "max_chars limit", "maximum"),
        ("field", "min", "min_length"),
        ("field", "max", "max_length"),
        ("field", "regex", "pattern"),
        ("field", "max_chars limit", "max_length"),
        ("kind", "validator guardrail", "gate"),
        ("kind", "human pause", "approval"),
        ("kind", "sleep", "wait"),
        ("head", "tables datasets", "data"),
        ("head", "user recipient", "person"),
        ("kind", "participants", "dialogue"),
        ("task", "criteria", "accept"),
        ("field", "values allowed", "enum"),
        ("number", "ge", "minimum"),
        ("number", "le", "maximum"),
        ("step", "concurrency parallelism", "max_parallel"),
    ] {
        for written in keys.split(' ') {
            assert_eq!(meant(place, written), key, "{written} in {place}");
        }
    }
}

#[test]
fn missing_keys_are_told_at_the_first_key_of_their_owner() {
    assert_snapshot!(findings("flow: 1\nsteps: [{ set: 1 }]\n"), @r#"
    F004 1:1 this pipeline has no "name" = add name: id of the pipeline
    F004 2:11 step 1 has no "id" = add id: its id; others read its output as steps.ID.output
    "#);
    // A slip of one kind's key that is a key of another kind.
    assert_snapshot!(with_steps("  - { id: a, top: failed, reason: No. }\n  - { id: b, top: 5 }"), @r#"
    F002 4:14 unknown key "top" in step "a"; did you mean "stop"? = write stop
    F004 5:7 step "b" has no kind = add search: and its value; "top" belongs to that kind
    "#);
    assert_snapshot!(with_steps("  - { id: a, agent: w }\n  - { id: b, needs: [a] }\n  - { id: c, set: 1, as: x }\n  - { id: d, route: inputs.x, cases: [{ id: e, set: 1 }] }"), @r#"
    F004 4:7 step "a" has no "prompt" = add prompt: what it is asked
    F004 5:7 step "b" has no kind = add the key of a kind with its value: agent, tool, set, http, sql, program, python, read, search, plan, task, dialogue, route, steps, repeat, call, format, gate, approval, send, wait, stop
    F004 6:22 step "c" has "as" but no "for_each" = add for_each, or remove as
    F004 7:41 case "d/e" has neither equals, phrases nor when = add equals: the value, phrases: [words that occur in the text], or when: an expression
    "#);
    assert_snapshot!(head("scorecards: { s: { criteria: [{ id: a, description: It is good enough., judge: true }] } }"), @r#"F004 3:33 criterion "a" has judge: true but no "expected" = add expected: what a good answer looks like"#);
}

#[test]
fn every_type_of_other_languages_leads_to_one_of_ours() {
    for (written, ours) in [
        ("string str String", "text"),
        ("int", "integer"),
        ("float double", "number"),
        ("bool", "boolean"),
        ("array", "list"),
        ("dict map", "object"),
    ] {
        for written in written.split(' ') {
            let found = head(&format!("inputs: {{ a: {written} }}"));
            assert!(found.contains(&format!("type \"{written}\" of input \"a\" is not known; did you mean \"{ours}\"?")), "{found}");
        }
    }
}
