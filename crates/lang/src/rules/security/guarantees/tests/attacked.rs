//! Each of these ways was once said to keep a guarantee that it breaks, and each of the values at the end was said to be a way though it is none.

use super::*;

const TABLES: [(&str, &str); 6] = [
    ("people.csv", "id,name,city\n1,Ana,Basel\n"),
    ("people.jsonl", "{\"name\":\"Ana\",\"city\":\"Basel\"}\n"),
    ("notes/people.md", "A note.\n"),
    ("channels/sms.yaml", "flow: 1\nchannel: sms\nmax_length: 400\n"),
    ("style_guides/house.yaml", "flow: 1\nstyle_guide: house\nformatting: { greeting: \"Hi {name},\" }\n"),
    ("inner.yaml", INNER),
];

const INNER: &str = "flow: 1\nname: inner\ndata: { people: { file: people.csv, pii: [name] } }\nsteps:\n  - { id: q, sql: select name from people }\noutputs: { rows: '{{ steps.q.output }}' }\n";

const HEAD: &str = "flow: 1\nname: a\ninputs: { phone: { type: text, pii: true }, who: text, m: text, files: { type: list, items: file } }\ndata: { people: { file: people.csv, pii: [name] }, rows: { file: people.jsonl, pii: [name] } }\n";

fn said(guarantee: Guarantee, file: &str) -> String {
    says(guarantee, &[&[("a.yaml", format!("{HEAD}{file}").as_str())], &TABLES[..]].concat())
}

fn personal(file: &str) -> String {
    said(Guarantee::PersonalDeclared, file)
}

fn judged(file: &str) -> String {
    said(Guarantee::ModelTextJudged, file)
}

#[track_caller]
fn broken(said: &str, file: &str) {
    assert!(said.starts_with("broken\n"), "{file}\n{said}");
}

/// What the models of a step may be shown: agents and tools, more sections, and keys of the step.
const SHOWN: [(&str, &str, &str); 7] = [
    ("instructions: 'For {{ inputs.phone }}'", "", ""),
    ("instructions: Go., tools: [db]", "tools: { db: { sql: [people] } }\n", ""),
    ("instructions: Go., tools: [box]", "tools: { box: { file: '.' } }\n", ""),
    (
        "instructions: Go., tools: [calc]",
        "tools: { calc: { python: 'r = q', with: { q: '{{ inputs.phone }}' }, arguments: { q: text }, returns: [r] } }\n",
        "",
    ),
    ("instructions: Go., tools: [inner]", "tools: { inner: { pipeline: inner.yaml } }\n", ""),
    ("instructions: Go., agents: [asked]", "", ""),
    ("instructions: Go.", "conversation: { id: '{{ inputs.who }}', message: inputs.phone }\n", ", history: true"),
];

#[test]
fn what_a_model_saw_is_in_all_that_a_step_tells_beside_a_closed_answer() {
    for (agent, sections, keys) in SHOWN {
        let head = format!(
            "agents: {{ w: {{ {agent}, output: {{ ok: boolean }} }}, v: {{ instructions: Read. }}, asked: {{ instructions: 'For {{{{ inputs.phone }}}}' }} }}\n{sections}"
        );
        let step = format!("{{ id: d, agent: w, prompt: Go, pii: true{keys}, on_failure: continue }}");
        for read in [
            "steps.d.details.tool_calls[0].result | tojson",
            "steps.d.details.tool_calls[0].with | tojson",
            "steps.d.details.tool_calls[0].error",
            "steps.d.details | tojson",
            "steps.d.error.message | default('')",
            "steps.d.error | tojson",
        ] {
            let file = format!("{head}steps:\n  - {step}\n  - {{ id: e, agent: v, prompt: \"{{{{ {read} }}}}\" }}\n");
            broken(&personal(&file), &file);
        }
        // Around it: the failure of a group, of an element, of the pipeline.
        let inside = step.replace(", on_failure: continue", "");
        for (steps, read) in [
            (format!("{{ id: g, on_failure: continue, steps: [{inside}] }}"), "steps.g.error.message"),
            (inside.replace("id: d,", "id: d, on_failure: continue, for_each: ['a', 'b'],"), "steps.d.output[0].error.message"),
        ] {
            let file = format!("{head}steps:\n  - {steps}\n  - {{ id: e, agent: v, prompt: \"{{{{ {read} | default('') }}}}\" }}\n");
            broken(&personal(&file), &file);
        }
        let file = format!("{head}steps:\n  - {inside}\nfinally:\n  - {{ id: e, agent: v, prompt: '{{{{ failure.message }}}}' }}\n");
        broken(&personal(&file), &file);
        // What it answers, and what is counted of it, says nothing.
        for read in ["steps.d.output.ok", "steps.d.details.usage.total_tokens", "steps.d.details.attempts", "steps.d.error.kind"] {
            let file = format!("{head}steps:\n  - {step}\n  - {{ id: e, agent: v, prompt: \"{{{{ {read} }}}}\" }}\n");
            assert!(!personal(&file).starts_with("broken"), "{file}\n{}", personal(&file));
        }
    }
}

#[test]
fn a_greeting_names_the_person_however_it_is_written() {
    let greeting = |formatting: &str| {
        let file = format!(
            "{HEAD}style_guide: own\nchannels: [sms]\nperson: {{ id: '{{{{ inputs.who }}}}', name: '{{{{ inputs.who }}}}' }}\nagents: {{ v: {{ instructions: Read. }} }}\nsteps:\n  - {{ id: f, format: Your order is there. }}\n  - {{ id: e, agent: v, prompt: '{{{{ steps.f.output.text }}}}' }}\n"
        );
        let style = format!("flow: 1\nstyle_guide: own\n{formatting}\n");
        says(Guarantee::PersonalDeclared, &[&[("a.yaml", file.as_str()), ("style_guides/own.yaml", style.as_str())], &TABLES[..]].concat())
    };
    for by_name in [
        "formatting: { greeting: true, use_user_name: true }",
        "formatting: { greeting: \"Hi {name},\" }",
        "formatting: { greeting: false }\nlanguages: { de: { formatting: { greeting: \"Hallo {name},\" } } }",
        "formatting: { greeting: true }\nlanguages: { de: { formatting: { use_user_name: true } } }",
    ] {
        broken(&greeting(by_name), by_name);
    }
    for plain in ["formatting: { greeting: true }", "formatting: { greeting: \"Hello,\" }", "formatting: { greeting: false }"] {
        assert!(greeting(plain).starts_with("holds"), "{plain}\n{}", greeting(plain));
    }
}

#[test]
fn what_a_check_of_the_style_guide_says_has_the_greeting() {
    let head = "style_guide: house\nchannels: [sms]\nperson: { id: '{{ inputs.who }}', name: '{{ inputs.who }}' }\nagents: { w: { instructions: Write. }, v: { instructions: Read. } }\nscorecards: { s: { criteria: [{ id: c, description: It keeps to the style guide., check: { style_guide: true } }] } }\n";
    let draft = "{ id: d, agent: w, prompt: Go }";
    for steps in [
        format!("  - {draft}\n  - {{ id: g, gate: s, of: steps.d.output, refine: d }}\n"),
        format!("  - {draft}\n  - {{ id: g, gate: s, of: steps.d.output, otherwise: nothing }}\n  - {{ id: e, agent: v, prompt: '{{{{ steps.g.details.feedback }}}}' }}\n"),
        format!("  - {{ id: l, for_each: ['a', 'b'], steps: [{draft}, {{ id: g, gate: s, of: steps.d.output, refine: d }}] }}\n"),
        "  - { id: t, task: w, prompt: Go, artefact: text, accept: [{ id: c, description: It keeps to the style guide., check: { style_guide: true } }], max_attempts: 2 }\n".to_owned(),
        "  - { id: f, format: Your order is there. }\n  - { id: g, gate: s, of: steps.f.output, otherwise: Please call. }\n  - { id: e, agent: v, prompt: '{{ steps.g.output }}' }\n".to_owned(),
    ] {
        let file = format!("{head}steps:\n{steps}");
        broken(&personal(&file), &file);
    }
    let file = format!("{head}steps:\n  - {draft}\n  - {{ id: g, gate: s, of: steps.d.output, refine: d }}\n")
        .replace("style_guide: true", "max_length: 300");
    assert!(personal(&file).starts_with("holds"), "{}", personal(&file));
}

#[test]
fn files_that_only_a_run_knows_may_be_those_of_a_table() {
    for files in ["\"{{ inputs.files }}\"", "['notes/*.md', \"{{ inputs.files }}\"]", "'*.jsonl'"] {
        let head = format!(
            "knowledge: {{ k: {{ files: {files} }} }}\nagents: {{ w: {{ instructions: Write. }}, v: {{ instructions: Read., tools: [k] }} }}\n"
        );
        for steps in [
            "  - { id: s, search: k, for: Ana }\n  - { id: e, agent: w, prompt: '{{ steps.s.output | tojson }}' }\n",
            "  - { id: e, agent: v, prompt: Go }\n",
        ] {
            let file = format!("{head}steps:\n{steps}");
            broken(&personal(&file), &file);
        }
    }
    // Of a table of this form a knowledge reads nothing.
    let head = "knowledge: { k: { files: ['*.csv', 'notes/*.md'] } }\nagents: { v: { instructions: Read., tools: [k] } }\n";
    let file = format!("{head}steps:\n  - {{ id: e, agent: v, prompt: Go }}\n");
    assert!(personal(&file).starts_with("holds"), "{}", personal(&file));
}

#[test]
fn a_summary_has_what_its_writer_read() {
    let conversation = |agent: &str, sections: &str, step: &str| {
        format!(
            "conversation: {{ id: '{{{{ inputs.who }}}}', message: inputs.m, keep: 2, summary: o }}\n{sections}agents: {{ w: {{ instructions: Go. }}, v: {{ instructions: Read. }}, o: {{ {agent} }} }}\nsteps:\n  - {step}\n  - {{ id: c, agent: w, prompt: Hi, history: true, pii: true }}\n"
        )
    };
    for (agent, sections) in [
        ("instructions: 'Sum up for {{ inputs.phone }}'", ""),
        ("instructions: Sum up., tools: [db]", "tools: { db: { sql: [people] } }\n"),
    ] {
        for step in [
            "{ id: a, agent: v, prompt: 'So far: {{ conversation.summary }}' }",
            "{ id: a, agent: v, prompt: Go, history: true }",
            "{ id: a, http: POST https://example.com/n, body: '{{ conversation.summary }}' }",
        ] {
            let file = conversation(agent, sections, step);
            broken(&personal(&file), &file);
        }
    }
    let file = conversation("instructions: Sum up.", "", "{ id: a, agent: v, prompt: '{{ conversation.summary }}' }");
    assert!(personal(&file).starts_with("holds"), "{}", personal(&file));
    let head = "agents: { w: { instructions: Go. }, v: { instructions: Go. }, o: { instructions: 'Sum up for {{ inputs.phone }}' } }\n";
    for (keys, read) in [
        ("summary: o", "output.summary"),
        ("summary: o", "output | tojson"),
        ("summary: o", "details.summary"),
        ("until: { judge: o }", "output.reason"),
        ("until: { judge: o }", "details.reason"),
    ] {
        let file = format!(
            "{head}steps:\n  - {{ id: d, dialogue: [w, v], topic: Go, max_turns: 2, {keys}, pii: true }}\n  - {{ id: e, agent: v, prompt: '{{{{ steps.d.{read} }}}}' }}\n"
        );
        broken(&personal(&file), &file);
    }
}

#[test]
fn what_a_judge_read_is_in_what_it_says() {
    let head = "agents: { w: { instructions: Go. }, o: { instructions: 'Judge for {{ inputs.phone }}' } }\nscorecards: { s: { judge: o, criteria: [{ id: c, description: It is polite enough., expected: polite, judge: true }] } }\n";
    for read in ["details.feedback", "details.verdicts | tojson", "details | tojson", "error.message"] {
        let file = format!(
            "{head}steps:\n  - {{ id: d, agent: w, prompt: Go }}\n  - {{ id: g, gate: s, of: steps.d.output, otherwise: no thanks, pii: true }}\n  - {{ id: e, agent: w, prompt: \"{{{{ steps.g.{read} }}}}\" }}\n"
        );
        broken(&personal(&file), &file);
    }
}

#[test]
fn an_exit_code_is_a_number_that_its_program_chose() {
    let head = "agents: { w: { instructions: Go. } }\n";
    let program = "program: [sh, ex.sh], input: 'GIVEN', reads_only: true, on_failure: continue";
    let model = format!("{head}steps:\n  - {{ id: d, agent: w, prompt: Go }}\n  - {{ id: p, {program} }}\noutputs: {{ r: '{{{{ steps.p.details.exit }}}}' }}\n")
        .replace("GIVEN", "{{ steps.d.output }}");
    assert!(!judged(&model).starts_with("holds\n"), "{}", judged(&model));
    let own = format!("{head}steps:\n  - {{ id: p, {program} }}\n  - {{ id: e, agent: w, prompt: '{{{{ steps.p.details.exit }}}}' }}\n")
        .replace("GIVEN", "{{ inputs.phone }}");
    assert!(!personal(&own).starts_with("holds\n"), "{}", personal(&own));
}

#[test]
fn what_a_model_uses_behind_its_tool_is_not_known() {
    let file = |tool: &str| {
        format!(
            "limits: {{ deadline: 5m, max_tokens: 100000, max_cost_usd: 1 }}\nmodels: {{ m: {{ provider: tool, tool: t{tool}\nagents: {{ w: {{ instructions: Go., model: m }} }}\nsteps: [{{ id: d, agent: w, prompt: Go }}]\n"
        )
    };
    for tool in [
        " } }\ntools: { t: { http: POST https://example.com/a, arguments: { prompt: text } } }",
        ".ask } }\ntools: { t: { command: srv, allow: [ask] } }",
    ] {
        let told = said(Guarantee::Bounded, &file(tool));
        assert!(told.starts_with("holds if\n") && told.contains("what model m uses behind its tool is bounded there"), "{told}");
    }
    let told = said(Guarantee::Bounded, &file(" } }\ntools: { t: { python: 'r = prompt', arguments: { prompt: text }, returns: [r] } }"));
    assert!(told.starts_with("holds\n"), "{told}");
}

#[test]
fn a_key_that_is_the_same_for_each_element_tells_no_effects_apart() {
    let keyed = |steps: &str| said(Guarantee::EffectsKeyed, &format!("steps:\n  - {steps}\n"));
    let send = |key: &str| format!("http: POST https://example.com/n, body: x, idempotency_key: \"{key}\"");
    for key in ["same", "{{ run.id }}", "{{ inputs.who }}"] {
        for steps in [
            format!("{{ id: h, for_each: ['a', 'b'], {} }}", send(key)),
            format!("{{ id: g, for_each: inputs.files, steps: [{{ id: h, {} }}] }}", send(key)),
            format!("{{ id: g, repeat: {{ at_most: 3, until: steps.h.output.status == 200 }}, steps: [{{ id: h, {} }}] }}", send(key)),
        ] {
            broken(&keyed(&steps), &steps);
        }
    }
    for steps in [
        format!("{{ id: h, for_each: ['a', 'b'], {} }}", send("k-{{ item }}")),
        format!("{{ id: h, for_each: ['a', 'b'], {} }}", send("k-{{ item_number }}")),
        format!(
            "{{ id: g, for_each: inputs.files, steps: [{{ id: s, set: '{{{{ item }}}}' }}, {{ id: h, {} }}] }}",
            send("{{ steps.s.output }}")
        ),
        format!("{{ id: h, {} }}", send("same")),
    ] {
        assert!(keyed(&steps).starts_with("holds if\n"), "{steps}\n{}", keyed(&steps));
    }
}

/// As many agents as may ask all later ones were as many ways as there are sets of them.
#[test]
fn agents_that_ask_each_other_are_looked_at_once_each() {
    let agents = |count: usize| {
        let own = (0..count).map(|at| {
            let later: Vec<String> = (at + 1..count).map(|later| format!("a{later}")).collect();
            let instructions = if at + 1 == count { "For {{ inputs.phone }}" } else { "Go." };
            format!("a{at}: {{ instructions: '{instructions}', agents: [{}] }}", later.join(", "))
        });
        format!("agents: {{ {} }}\n", own.collect::<Vec<_>>().join(", "))
    };
    let file = format!("{}steps: [{{ id: d, agent: a0, prompt: Go }}]\n", agents(40));
    broken(&personal(&file), "the last of many agents is told the phone");
    let judged = judged(&format!("{file}outputs: {{ r: '{{{{ steps.d.output }}}}' }}\n"));
    assert!(judged.starts_with("broken\n") && !judged.contains("beyond the first"), "{judged}");
    // Whoever asks gives what it was asked itself.
    let file = "agents: { a: { instructions: Go., agents: [b] }, b: { instructions: Go., agents: [c] }, c: { instructions: Go., tools: [h] } }\ntools: { h: { http: POST https://example.com/n, arguments: { x: text }, body: '{{ with.x }}' } }\n";
    let given = format!("{file}steps: [{{ id: d, agent: a, prompt: 'Ask for {{{{ inputs.phone }}}}' }}]\n");
    assert!(personal(&given).contains("agent c (asked by step d) gives inputs.phone to the model of agent c"), "{}", personal(&given));
}

#[test]
fn the_policies_of_all_who_ask_are_in_force() {
    let file = |first: &str, second: &str| {
        format!(
            "policies: {{ p: {{ permission_mode: auto, approval_required: [h] }} }}\nagents: {{ a: {{ instructions: Go., agents: [b]{first} }}, b: {{ instructions: Go., agents: [c]{second} }}, c: {{ instructions: Go., tools: [h] }} }}\ntools: {{ h: {{ http: POST https://example.com/n, arguments: {{ x: text }} }} }}\nsteps: [{{ id: d, agent: a, prompt: Go }}]\n"
        )
    };
    assert!(judged(&file("", "")).starts_with("broken\n"));
    for (first, second) in [(", policy: p", ""), ("", ", policy: p")] {
        assert!(judged(&file(first, second)).starts_with("holds\n"), "{first}{second} {}", judged(&file(first, second)));
    }
    // Another way leads past the policy.
    let past = file("", ", policy: p").replace("agents: [b]", "agents: [b, c]");
    assert!(judged(&past).starts_with("broken\n"), "{}", judged(&past));
}

#[test]
fn who_gets_a_value_is_named_as_the_one_who_gets_it() {
    let head = "agents: { w: { instructions: Go. }, v: { instructions: Go. }, o: { instructions: 'Sum up for {{ inputs.phone }}' } }\n";
    let file = format!("{head}steps:\n  - {{ id: d, dialogue: [w, v], topic: Go, max_turns: 2, summary: o }}\n");
    assert!(personal(&file).contains("step d gives inputs.phone to the model of agent o, and"), "{}", personal(&file));
}

/// Words of the author, counts and truths are no text, wherever they stand.
#[test]
fn what_is_of_a_closed_set_is_nobodys_text() {
    let head = "agents: { w: { instructions: Go., output: { way: { type: text, enum: [up, down] }, texts: { type: list, items: text }, t: text } }, o: { instructions: Judge. } }\nscorecards: { s: { judge: o, criteria: [{ id: c, description: It is polite enough., expected: polite, judge: true }] } }\n";
    let step = "  - { id: d, agent: w, prompt: Go }\n  - { id: g, gate: s, of: steps.d.output.t, otherwise: nothing }\n  - { id: t, task: o, prompt: Go, artefact: text, accept: [{ id: c, description: It is polite enough., check: { max_length: 9 } }], max_attempts: 2, on_failure: continue }\n";
    for value in [
        "steps.d.output.texts | map('length') | join(',')",
        "steps.d.output.way[:1]",
        "steps.d.output.way | list | join('-')",
        "steps.g.details.verdicts[0].passed",
        "steps.g.details.verdicts | map(attribute='passed') | list",
        "steps.g.details.verdicts[0].id",
        "steps.t.details.unmet_criteria[0].id",
        "steps.t.details.unmet_criteria[0].description",
        "steps.t.output.artefact.is_malicious",
    ] {
        let file = format!("{head}steps:\n{step}outputs: {{ r: \"{{{{ {value} }}}}\" }}\n");
        assert!(judged(&file).starts_with("holds"), "{value}\n{}", judged(&file));
    }
    for value in [
        "steps.g.details.verdicts[0].feedback",
        "steps.g.details.verdicts[0]",
        "steps.t.details.unmet_criteria[0].feedback",
        "steps.d.output.texts[:1]",
    ] {
        let file = format!("{head}steps:\n{step}outputs: {{ r: \"{{{{ {value} }}}}\" }}\n");
        broken(&judged(&file), value);
    }
}

#[test]
fn a_schema_may_close_an_answer_too() {
    let schema = "output_schema: { type: object, properties: { way: { enum: [up, down] }, one: { const: 1 }, sure: { type: boolean }, ways: { type: array, items: { enum: [up] } }, t: { type: string } } }";
    for (field, is_closed) in [("way", true), ("one", true), ("sure", true), ("ways[0]", true), ("t", false), ("other", false)] {
        let file = format!(
            "agents: {{ w: {{ instructions: Go. }} }}\nsteps: [{{ id: d, agent: w, prompt: Go, {schema} }}]\noutputs: {{ r: '{{{{ steps.d.output.{field} }}}}' }}\n"
        );
        assert_eq!(judged(&file).starts_with("holds"), is_closed, "{field}\n{}", judged(&file));
    }
}

/// Where no list names the host, the question has the address and the body.
#[test]
fn a_person_who_is_asked_about_a_host_reads_what_goes_there() {
    let said = |policy: &str, request: &str| {
        judged(&format!(
            "policies: {{ p: {{ {policy} }} }}\npolicy: p\nagents: {{ w: {{ instructions: Go. }} }}\nsteps:\n  - {{ id: d, agent: w, prompt: Go }}\n  - {{ id: h, http: {request} }}\n"
        ))
    };
    let body = "POST https://example.com/n, body: '{{ steps.d.output }}'";
    for policy in ["permission_mode: prompt", "permission_mode: prompt, network_access: { hosts: [example.org] }"] {
        assert!(said(policy, body).starts_with("holds\n"), "{policy} {}", said(policy, body));
    }
    broken(&said("permission_mode: auto", body), body);
    broken(&said("permission_mode: prompt, network_access: { hosts: [example.com] }", body), body);
    broken(&said("permission_mode: prompt", "POST https://example.com/n, headers: { X: '{{ steps.d.output }}' }"), "a header");
}

#[test]
fn how_a_call_of_a_tool_ended_is_a_word_of_the_engine() {
    let of = |shown: &str| {
        let file = format!(
            "flow: 1\nname: a\ntools: {{ e: {{ program: [echo, x] }} }}\nagents: {{ w: {{ instructions: Write., tools: [e] }} }}\nsteps: [{{ id: d, agent: w, prompt: x }}]\noutputs: \"{{% for one in steps.d.details.tool_calls %}}{{{{ one.{shown} }}}}{{% endfor %}}\"\n"
        );
        says(Guarantee::ModelTextJudged, &[("a.yaml", &file)])
    };
    assert!(of("status").starts_with("holds"), "{}", of("status"));
    // A model may call a tool that there is not.
    assert!(of("tool").starts_with("broken") && of("result").starts_with("broken"));
}
