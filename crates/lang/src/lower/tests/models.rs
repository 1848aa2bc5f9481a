//! What correct files become.

use super::*;

fn pipeline_of(text: &str) -> Pipeline {
    let (pipeline, found) = read(text, pipeline);
    assert_eq!(found, "");
    pipeline
}

#[test]
fn findings_in_one_part_leave_the_others_readable() {
    let (pipeline, _) = read("flow: 1\nname: a\nsteps:\n  - { id: a-b, set: 1, needs: [z] }\n  - 5\n  - { id: c, agent: w }\n", pipeline);
    let ids: Vec<&str> = pipeline.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["a-b", "step 2", "c"]);
    assert_eq!(pipeline.steps[2].kind, StepKind::Broken);
}

#[test]
fn a_misspelt_key_is_read_as_what_was_meant() {
    let (pipeline, _) = read("flow: 1\nname: a\nsteps: [{ id: a, set: 1, depends_on: [z], timeot: 5s }]\n", pipeline);
    assert_eq!(pipeline.steps[0].needs.as_ref().unwrap()[0].value, "z");
    assert_eq!(pipeline.steps[0].timeout, Some(std::time::Duration::from_secs(5)));
}

#[test]
fn a_whole_number_that_is_too_large_to_keep_is_reported() {
    let (_, found) = read(
        "flow: 1\nname: a\nmodels: { m: { provider: ollama, model: x, seed: 18446744073709551615 } }\nsteps: [{ id: a, set: 1 }]\n",
        pipeline,
    );
    assert_eq!(
        found,
        "F005 3:50 \"seed\" must be a whole number up to 9223372036854775807, found the number 18446744073709551615 = write a whole number up to 9223372036854775807\n"
    );
}

/// What the table of keys names, the reader of kinds knows.
#[test]
fn every_kind_of_the_tables_is_read_or_reported() {
    let silent = |name: &&str| {
        let step = read(&format!("flow: 1\nname: a\nsteps: [{{ id: a, {name}: {{}} }}]\n"), pipeline);
        let tool = read(&format!("flow: 1\nname: a\ntools: {{ t: {{ {name}: {{}} }} }}\nsteps: [{{ id: a, set: 1 }}]\n"), pipeline);
        [step, tool].iter().any(|(pipeline, found)| {
            found.is_empty()
                && (pipeline.steps[0].kind == StepKind::Broken || pipeline.tools.values().any(|tool| tool.kind == ToolKind::Broken))
        })
    };
    let kinds = keys::KINDS.iter().chain(keys::TOOL_KINDS).map(|kind| kind.name);
    assert_eq!(kinds.collect::<Vec<_>>().iter().filter(|name| silent(name)).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn defaults_are_those_of_the_language_page() {
    let pipeline = pipeline_of("flow: 1\nname: a\nsteps: [{ id: a, set: 1, retry: {} }]\n");
    let retry = pipeline.steps[0].retry.clone().unwrap();
    assert_eq!((retry.max_attempts, retry.delay.as_secs(), retry.max_delay.as_secs()), (3, 1, 60));
    assert_eq!((retry.backoff, retry.jitter, retry.on.len()), (Backoff::Exponential, true, 5));
    assert!(!retry.on.contains(&FailureKind::UnknownOutcome));
    let channel = read("flow: 1\nchannel: sms\nsplit: {}\n", channel).0.unwrap();
    assert_eq!((channel.length_unit, channel.emojis, channel.body), (LengthUnit::Characters, true, Body::Text));
    assert_eq!((channel.markdown, channel.too_long.as_str()), (Features::NONE, "The rest was left out."));
    let split = channel.split.unwrap();
    assert_eq!((split.at, split.most_parts, split.indicator.as_str()), (SplitAt::Sentence, 10, "({part}/{parts})"));
}

#[test]
fn required_follows_from_the_place_of_a_field() {
    let pipeline = pipeline_of(
        "flow: 1\nname: a\ninputs: { a: text, b: { type: text, default: x }, c: { type: text, required: false } }\nsteps: [{ id: s, agent: w, prompt: Hi, output: { a: text, b: { type: text, default: x }, c: { type: text, required: false } } }]\n",
    );
    let required = |fields: &[Field]| fields.iter().map(|field| field.is_required).collect::<Vec<_>>();
    assert_eq!(required(pipeline.input_fields()), [true, false, false]);
    let StepKind::Agent(agent) = &pipeline.steps[0].kind else { panic!() };
    let Some(Shape::Fields(fields)) = &agent.output else { panic!() };
    assert_eq!(required(fields), [true, true, false]);
}

#[test]
fn texts_lists_and_numbers_become_fillings() {
    let pipeline = pipeline_of("flow: 1\nname: a\nsteps: [{ id: s, set: { a: 1, b: [x, \"{{ inputs.y }}\"], c: [1, null] } }]\n");
    let StepKind::Set(Filling::Map(map)) = &pipeline.steps[0].kind else { panic!() };
    assert_eq!(map[0], ("a".to_owned(), Filling::Constant(1.into())));
    assert!(matches!(&map[1].1, Filling::List(list) if matches!(list[1], Filling::Text(_))));
    assert_eq!(map[2].1, Filling::Constant(serde_json::json!([1, null])));
}

#[test]
fn the_address_of_a_request_keeps_its_place() {
    let text = "flow: 1\nname: a\nsteps:\n  - { id: s, http: \"POST https://x.org/{{ inputs.y }}\" }\n";
    let StepKind::Http(http) = &pipeline_of(text).steps[0].kind.clone() else { panic!() };
    assert_eq!((http.method.word(), &*http.url.source), ("POST", "https://x.org/{{ inputs.y }}"));
    let read = &http.url.reads.iter().find(|read| read.path[0] == "inputs").unwrap();
    assert_eq!(&text[read.span.start as usize..read.span.end as usize], "inputs.y");
}

#[test]
fn a_route_takes_steps_of_any_kind_and_lists_of_steps() {
    let pipeline = pipeline_of(
        "flow: 1\nname: a\nsteps:\n  - id: r\n    route: inputs.x\n    cases:\n      - { id: one, phrases: hours today, sql: select 1, with: { a: 1 } }\n      - { id: two, when: x, steps: [{ id: rows, set: 1 }, { id: text, set: 2 }] }\n    otherwise: { set: [] }\n",
    );
    let StepKind::Route(route) = &pipeline.steps[0].kind else { panic!() };
    assert_eq!(route.cases[0].phrases[0].value, "hours today");
    assert!(!route.cases[0].has_steps && route.cases[0].steps[0].id.value == "one");
    assert!(route.cases[1].has_steps && route.cases[1].steps.len() == 2);
    assert_eq!(route.otherwise.as_ref().unwrap().id.value, "otherwise");
}

#[test]
fn gates_name_scorecards_or_read_them() {
    let pipeline = pipeline_of(
        "flow: 1\nname: a\nsteps:\n  - { id: g, gate: [always, steps.p.output.card], of: steps.f.output, otherwise: Sorry. }\n",
    );
    let StepKind::Gate(gate) = &pipeline.steps[0].kind else { panic!() };
    assert!(matches!(&gate.scorecards[0], ScorecardRef::Named(name) if name.value == "always"));
    assert!(matches!(&gate.scorecards[1], ScorecardRef::Written(text) if text.form == Form::Bare));
    assert_eq!(gate.of.form, Form::Bare);
}

#[test]
fn replies_are_used_in_turn_unless_one_has_a_condition() {
    let text = "flow: 1\nreplies:\n  a: Hello\n  b: [x, { failed: { c: why } }, passed]\n  c: [{ when: inputs.x, text: y }, z]\n";
    let (replies, found) = read(text, replies);
    assert_eq!(found, "");
    assert!(matches!(&replies.by_step["a"], ReplySet::Every(reply) if matches!(reply.body, ReplyBody::Text(_))));
    assert!(matches!(&replies.by_step["b"], ReplySet::InTurn(list) if list.len() == 3 && list[2].body == ReplyBody::Passed));
    assert!(matches!(&replies.by_step["c"], ReplySet::Matching(list) if list[0].when.is_some()));
}

#[test]
fn a_cases_own_mocks_and_replies_replace_those_of_all_cases() {
    let text = "flow: 1\ntest: a.yaml\nmocks: { x: 1, y: { error: timeout } }\nreplies: { p: all, q: all }\ncases:\n  - { id: one, mocks: { x: 2 }, replies: { q: own }, expect: { outputs: { a: { contains: b }, c: { d: 1 } } } }\n";
    let (test, found) = read(text, test_file);
    assert_eq!(found, "");
    let case = &test.unwrap().cases[0];
    assert_eq!(case.mocks.get("x").unwrap().value, Mock::Output(2.into()));
    assert_eq!(case.mocks.get("y").unwrap().value, Mock::Error(FailureKind::Timeout));
    let own = |step: &str| matches!(case.replies.get(step).unwrap(), ReplySet::Every(ScriptedReply { body: ReplyBody::Text(text), .. }) if &*text.source == "own");
    assert!(own("q") && !own("p"));
    let expect = case.expect.as_ref().unwrap();
    assert!(matches!(expect.outputs[0].1[0].value, Check::Contains(..)));
    assert!(matches!(expect.outputs[1].1[0].value, Check::Equals(_)));
}
