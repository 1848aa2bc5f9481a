//! Ways on which values travel that no text of a step shows: tools, files, conversations, programs that are not shut in.

use super::*;

const PEOPLE: &str = "flow: 1\nname: a\ninputs: { who: { type: text, pii: true }, m: text }\nagents: { w: { instructions: Write. }, v: { instructions: Read., tools: [TOOL] } }\ndata: { people: { file: people.csv, pii: [name] }, hours: { file: hours.csv }, lines: { file: lines.jsonl, pii: [name] } }\n";

const TABLES: [(&str, &str); 4] = [
    ("out/a.md", "An old note.\n"),
    ("people.csv", "id,name,city\n1,Ana,Basel\n"),
    ("hours.csv", "pid,hours\n1,8\n"),
    ("lines.jsonl", "{\"name\":\"Ana\"}\n"),
];

fn personal(rest: &str) -> String {
    let file = format!("{}{rest}", PEOPLE.replace(", tools: [TOOL]", ""));
    says(Guarantee::PersonalDeclared, &[&[("a.yaml", file.as_str())], &TABLES[..]].concat())
}

/// The same with an agent `v` that has a tool.
fn personal_with(tool: &str, rest: &str) -> String {
    let file = format!("{}{rest}", PEOPLE.replace("TOOL", tool));
    says(Guarantee::PersonalDeclared, &[&[("a.yaml", file.as_str())], &TABLES[..]].concat())
}

#[test]
fn a_column_without_its_table_may_be_that_of_each() {
    for query in [
        "select name from hours join people on id = pid",
        "select name from people, hours",
        "select value from json_each((select json_group_array(name) from people))",
        "select j.value from people, json_each(json_array(name)) as j",
        "select column1 from (values ((select name from people)))",
        "with x as (select * from people) select name from hours left join x on x.id = pid",
    ] {
        let steps = format!("steps:\n  - {{ id: q, sql: \"{query}\" }}\n  - {{ id: d, agent: w, prompt: '{{{{ steps.q.output }}}}' }}\n");
        assert!(personal(&steps).starts_with("broken\n8: step d gives people.name to the model"), "{query}: {}", personal(&steps));
    }
    let other = "steps:\n  - { id: q, sql: 'select pid from hours join people on id = pid' }\n  - { id: d, agent: w, prompt: '{{ steps.q.output }}' }\n";
    assert!(!personal(other).contains("people.name"), "{}", personal(other));
}

#[test]
fn a_program_that_may_run_without_a_sandbox_reaches_hosts() {
    let head = |sandbox: &str| {
        format!(
            "flow: 1\nname: a\ninputs: {{ who: {{ type: text, pii: true }} }}\nsecrets: {{ TOK: A token. }}\nagents: {{ w: {{ instructions: Write. }} }}\npolicies: {{ p: {{ allowed_tools: [sh]{sandbox} }} }}\npolicy: p\n"
        )
    };
    let of = |guarantee, sandbox: &str, env: &str| {
        let steps = format!(
            "steps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: t, program: [sh, x.sh], env: {{ Q: '{{{{ {env} }}}}' }}, once: true }}\n"
        );
        says(guarantee, &[("a.yaml", &format!("{}{steps}", head(sandbox)))])
    };
    for (guarantee, env) in [
        (Guarantee::SecretsKept, "secrets.TOK"),
        (Guarantee::ModelTextJudged, "steps.d.output"),
        (Guarantee::PersonalDeclared, "inputs.who"),
    ] {
        for sandbox in ["none", "preferred"] {
            let told = of(guarantee, &format!(", sandbox: {sandbox}"), env);
            assert!(told.starts_with("broken\n") && told.contains("may run without a sandbox"), "{sandbox} {told}");
        }
        assert!(of(guarantee, "", env).starts_with("holds"), "{}", of(guarantee, "", env));
    }
    let agent = "flow: 1\nname: a\nsecrets: { TOK: A token. }\nagents: { w: { instructions: Write., tools: [h], policy: p } }\npolicies: { p: { allowed_tools: [h, sh], sandbox: none } }\ntools: { h: { program: [sh, x.sh], env: { Q: '{{ secrets.TOK }}' } } }\nsteps: [{ id: d, agent: w, prompt: x }]\n";
    assert!(says(Guarantee::SecretsKept, &[("a.yaml", agent)]).starts_with("broken\n"));
}

#[test]
fn what_an_author_wrote_into_a_tool_may_be_in_its_result() {
    for (tool, given) in [
        ("program: [echo, '{{ inputs.x }}'], reads_only: true", ""),
        ("program: [cat], input: '{{ inputs.x }}', reads_only: true", ""),
        ("program: [env], env: { X: '{{ inputs.x }}' }, reads_only: true", ""),
        ("python: 'x = y', with: { y: '{{ inputs.x }}' }, arguments: { y: text }, returns: [x]", ""),
    ] {
        let called = format!(
            "flow: 1\nname: b\ninputs: {{ x: text }}\ntools: {{ h: {{ {tool} }} }}\nsteps: [{{ id: s, tool: h{given} }}]\noutputs: {{ o: '{{{{ steps.s.output }}}}' }}\n"
        );
        let main = "flow: 1\nname: a\nagents: { w: { instructions: Write. } }\nsteps:\n  - { id: d, agent: w, prompt: x }\n  - { id: c, call: b.yaml, with: { x: '{{ steps.d.output }}' } }\noutputs: '{{ steps.c.output.o }}'\n";
        let told = says(Guarantee::ModelTextJudged, &[("a.yaml", main), ("b.yaml", &called)]);
        assert!(told.starts_with("holds if\n"), "{tool} {told}");
        let own = tool.replace("inputs.x", "inputs.who");
        let told = personal_with("h", &format!("tools: {{ h: {{ {own} }} }}\nsteps: [{{ id: d, agent: v, prompt: x }}]\n"));
        assert!(told.starts_with("broken\n") && told.contains("step d gives inputs.who to the model of agent v"), "{tool} {told}");
    }
}

#[test]
fn what_a_conversation_keeps_is_followed() {
    let talk = "conversation: { id: '{{ inputs.m }}', message: inputs.m, store: c.db }\n";
    let told = personal(&format!(
        "{talk}steps:\n  - {{ id: s, send: stdout, of: inputs.who }}\n  - {{ id: d, agent: w, prompt: hi, history: true }}\n"
    ));
    assert!(told.starts_with("broken\n") && told.contains("step d gives inputs.who to the model"), "{told}");
    let told = personal(&format!("{talk}steps:\n  - {{ id: d, agent: w, prompt: hi, history: true }}\noutputs: '{{{{ inputs.who }}}}'\n"));
    assert!(told.contains("step d gives inputs.who to the model"), "{told}");
    let own = format!(
        "{talk}steps:\n  - {{ id: d, agent: w, prompt: '{{{{ inputs.who }}}}', pii: true }}\n  - {{ id: e, agent: w, prompt: hi, history: own }}\n"
    );
    assert!(personal(&own).contains("step e gives inputs.who to the model"), "{}", personal(&own));
    let other = own.replace("agent: w, prompt: hi", "agent: v, prompt: hi");
    assert!(personal(&other).starts_with("holds"), "{}", personal(&other));
    let id = "conversation: { id: '{{ inputs.who }}', message: inputs.m, store: c.db }\nsteps:\n  - { id: d, agent: w, prompt: 'id {{ conversation.id }}' }\n";
    assert!(personal(id).contains("step d gives inputs.who to the model"), "{}", personal(id));
}

#[test]
fn files_that_a_tool_reads_are_followed() {
    let write = "  - { id: d, tool: o.write, with: { name: a.txt, text: '{{ inputs.who }}' }, pii: true }\n";
    for (name, tool) in [
        ("o.read", ""),
        ("k.search", " }\nknowledge: { k: { files: ['out/*.md'] }"),
        ("q", ", q: { sql: [hours] }"),
        ("c", ", c: { program: [cat], reads_only: true, arguments: { f: text } }"),
    ] {
        let told = personal_with(
            name,
            &format!("tools: {{ o: {{ file: out, allow: [write, read] }}{tool} }}\nsteps:\n{write}  - {{ id: e, agent: v, prompt: x }}\n"),
        );
        assert!(told.starts_with("holds if\n") && told.contains("step e reads no file that the run itself has written"), "{name} {told}");
    }
    let plain = personal_with("o.read", "tools: { o: { file: out, allow: [read] } }\nsteps: [{ id: e, agent: v, prompt: x }]\n");
    assert_eq!(plain.lines().next(), Some("holds"), "{plain}");
    let cat = |file: &str| {
        personal(&format!(
            "steps:\n  - {{ id: p, program: [cat, {file}], reads_only: true }}\n  - {{ id: d, agent: w, prompt: '{{{{ steps.p.output }}}}' }}\n"
        ))
    };
    assert!(cat("people.csv").starts_with("broken\n8: step d gives people.name"), "{}", cat("people.csv"));
    assert!(cat("notes.txt").starts_with("holds if\n"), "{}", cat("notes.txt"));
}

#[test]
fn a_file_is_followed_by_its_name_and_a_table_by_its_file() {
    let name = "flow: 1\nname: a\nagents: { w: { instructions: Write. } }\ntools: { o: { file: out, allow: [write] } }\nsteps:\n  - { id: d, agent: w, prompt: x }\n  - { id: h, send: o, of: \"'f'\", with: { name: '{{ steps.d.output }}' } }\noutputs: '{{ steps.h.output }}'\n";
    assert!(says(Guarantee::ModelTextJudged, &[("a.yaml", name)]).starts_with("broken\n"));
    let table = "flow: 1\nname: a\nagents: { w: { instructions: Write., tools: [o.write] } }\ntools: { o: { file: out, allow: [write] } }\ndata: { e: { file: out/e.csv } }\nperson: { id: '1', from: e }\nsteps:\n  - { id: d, agent: w, prompt: x }\noutputs: 'Hello {{ person.name }}'\n";
    let told = says(Guarantee::ModelTextJudged, &[("a.yaml", table), ("out/e.csv", "id,name\n1,Ana\n")]);
    assert!(told.starts_with("holds if\n") && told.contains("is no file that the run itself has written"), "{told}");
}

#[test]
fn what_a_marked_agent_gives_to_a_pipeline_is_followed_into_it() {
    let inner = "flow: 1\nname: g\ninputs: { x: text }\nsteps: [{ id: s, http: POST https://example.com/z, body: '{{ inputs.x }}' }]\noutputs: done\n";
    let main = "flow: 1\nname: a\ninputs: { who: { type: text, pii: true } }\ntools: { h: { pipeline: g.yaml } }\nagents: { w: { instructions: x, tools: [h] } }\nsteps: [{ id: d, agent: w, prompt: '{{ inputs.who }}', pii: true }]\n";
    let told = says(Guarantee::PersonalDeclared, &[("a.yaml", main), ("g.yaml", inner)]);
    assert!(told.contains("step s of pipeline g gives inputs.who to a web address"), "{told}");
    let marked = inner.replace("body:", "pii: true, body:");
    let told = says(Guarantee::PersonalDeclared, &[("a.yaml", main), ("g.yaml", &marked)]);
    assert!(told.starts_with("holds\n"), "{told}");
}

#[test]
fn a_failure_may_quote_what_a_step_only_tests() {
    let judged = |step: &str, reads: &str| {
        let file = format!(
            "flow: 1\nname: a\nagents: {{ w: {{ instructions: Write. }} }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: q, {step}, on_failure: continue }}\noutputs: \"{{{{ {reads} | default('') }}}}\"\n"
        );
        says(Guarantee::ModelTextJudged, &[("a.yaml", &file)])
    };
    let number = "steps.d.output | int > 3";
    for step in [
        format!("set: \"{{{{ 1 if {number} else 2 }}}}\""),
        format!("when: {number}, set: x"),
        format!("for_each: '[1] if {number} else [2]', set: x"),
        format!(
            "route: \"'a' if {number} else 'b'\", cases: [{{ id: k, equals: a, steps: [{{ id: i, set: x }}] }}], otherwise: {{ steps: [{{ id: o, set: z }}] }}"
        ),
        format!("steps: [{{ id: i, when: {number}, set: x }}]"),
        format!("repeat: {{ until: {number}, at_most: 2 }}, steps: [{{ id: i, set: x }}]"),
        "set: \"{{ steps.d.output | fromjson | length }}\"".to_owned(),
        "set: \"{{ [{'a': 1}] | groupby(steps.d.output) | length }}\"".to_owned(),
    ] {
        let told = judged(&step, "steps.q.error.message");
        assert!(told.starts_with("holds if\n") && told.contains("quotes what it only tests"), "{step}: {told}");
        assert!(judged(&step, "steps.q.status").starts_with("holds\n"), "{step}");
    }
    for reads in ["steps.q.error.kind", "failure.kind"] {
        let told = judged("set: '{{ steps.d.output | int }}'", reads);
        assert!(told.starts_with("holds\n") || told == "holds", "{reads}: {told}");
    }
    let query = |shown: &str| {
        let steps = format!(
            "steps:\n  - {{ id: q, sql: \"select city from people where json(name) = 1\", on_failure: continue }}\n  - {{ id: d, agent: w, prompt: \"{{{{ steps.q.{shown} | default('') }}}}\" }}\n"
        );
        personal(&steps)
    };
    assert!(query("error.message").starts_with("holds if\n"), "{}", query("error.message"));
    assert!(query("output") == "holds", "{}", query("output"));
}

#[test]
fn an_agent_is_told_why_its_tools_failed() {
    let tests = "'{{ 1 if inputs.who | int > 2 else 3 }}'";
    let step = "steps: [{ id: d, agent: v, prompt: x }]\n";
    for tool in [format!("http: POST https://example.com/x, body: {tests}"), format!("program: [say, {tests}], reads_only: true")] {
        let told = personal_with("t", &format!("tools: {{ t: {{ {tool} }} }}\n{step}"));
        assert!(told.contains("quotes what it only tests"), "{tool}: {told}");
    }
    let inner =
        "flow: 1\nname: g\ninputs: { n: { type: text, pii: true } }\nsteps: [{ id: f, set: \"{{ inputs.n | int }}\" }]\noutputs: x\n";
    let main = "flow: 1\nname: a\ntools: { g: { pipeline: g.yaml } }\nagents: { v: { instructions: x, tools: [g] } }\nsteps: [{ id: d, agent: v, prompt: x }]\n";
    let told = says(Guarantee::PersonalDeclared, &[("a.yaml", main), ("g.yaml", inner)]);
    assert!(told.starts_with("broken\n") || told.starts_with("holds if\n"), "{told}");
}

#[test]
fn a_criterion_that_cannot_be_computed_may_quote_what_it_tests() {
    let file = |shown: &str| {
        format!(
            "flow: 1\nname: a\nagents: {{ w: {{ instructions: Write. }} }}\nscorecards: {{ c: {{ criteria: [{{ id: k, description: It is more., check: {{ expression: steps.d.output | int > 3 }} }}] }} }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: g, gate: c, of: \"'fixed'\", otherwise: none }}\noutputs: \"{{{{ steps.g.{shown} }}}}\"\n"
        )
    };
    let told = |shown: &str| says(Guarantee::ModelTextJudged, &[("a.yaml", &file(shown))]);
    assert!(told("details.feedback").contains("quotes what it only tests"), "{}", told("details.feedback"));
    assert!(told("details.passed") == "holds" || told("details.passed").starts_with("holds\n"), "{}", told("details.passed"));
}

#[test]
fn what_an_author_fills_into_a_server_a_model_or_a_knowledge_goes_there() {
    let read = |name: &str| {
        personal(&format!(
            "tools: {{ m: {{ url: 'https://m.example', headers: {{ X: '{{{{ inputs.{name} }}}}' }} }} }}\nsteps: [{{ id: r, read: {{ server: m, uri: 'a:b' }} }}]\n"
        ))
    };
    assert!(read("who").contains("inputs.who to tool server m"), "{}", read("who"));
    assert!(!read("m").contains("inputs."), "{}", read("m"));
    let search =
        "models: { emb: { provider: openai, model: e } }\nknowledge: { k: { files: ['out/*.md'], search: meaning, embed: emb } }\n";
    let told = personal(&format!("{search}steps: [{{ id: s, tool: k.search, with: {{ query: '{{{{ inputs.who }}}}' }} }}]\n"));
    assert!(told.contains("inputs.who to model emb"), "{told}");
    let model = "flow: 1\nname: a\ninputs: { b: text }\nsecrets: { TOK: A token. }\nmodels: { default: { provider: openai, model: '{{ secrets.TOK }}', base_url: '{{ inputs.b }}' } }\nagents: { w: { instructions: Write. } }\nsteps: [{ id: d, agent: w, prompt: x }]\n";
    let told = says(Guarantee::SecretsKept, &[("a.yaml", model)]);
    assert!(told.contains("secrets.TOK is sent to a host that inputs.b names"), "{told}");
}

#[test]
fn a_count_of_one_kind_of_step_is_none_in_the_details_of_another() {
    let tool = |shown: &str| {
        let steps = format!(
            "tools: {{ e: {{ program: [echo, '{{{{ with.x }}}}'], with: {{ x: text }} }} }}\nsteps:\n  - {{ id: t, tool: e, with: {{ x: '{{{{ inputs.who }}}}' }} }}\n  - {{ id: d, agent: w, prompt: \"{{{{ steps.t.details.{shown} }}}}\" }}\n"
        );
        personal(&steps)
    };
    for shown in ["columns", "case", "pieces", "exit"] {
        assert!(tool(shown).contains("inputs.who"), "{shown}: {}", tool(shown));
    }
    assert!(!tool("sandbox").contains("inputs.who"), "{}", tool("sandbox"));
}

#[test]
fn what_a_program_opens_may_be_in_all_that_it_says() {
    let program = |shown: &str| {
        let steps = format!(
            "steps:\n  - {{ id: r, program: [sh, -c, 'cat x >&2'], reads_only: true, on_failure: continue }}\n  - {{ id: d, agent: w, prompt: \"{{{{ steps.r.{shown} | default('') }}}}\" }}\n"
        );
        personal(&steps)
    };
    for shown in ["output", "details.stderr", "details.exit", "error.message"] {
        assert!(program(shown).contains("opens no file of a table with personal columns"), "{shown}: {}", program(shown));
    }
}

#[test]
fn a_table_is_the_same_under_each_of_its_names() {
    let read =
        |step: &str| personal(&format!("steps:\n  - {{ id: q, {step} }}\n  - {{ id: d, agent: w, prompt: '{{{{ steps.q.output }}}}' }}\n"));
    for step in ["sql: select name from main.people", "sql: 'select p.name from \"main\".\"people\" p'", "read: ./x/../people.csv"] {
        assert!(read(step).starts_with("broken\n"), "{step}: {}", read(step));
    }
    let second = PEOPLE.replace(", tools: [TOOL]", "").replace("hours: {", "staff: { file: ./x/../people.csv }, hours: {");
    let file = format!(
        "{second}steps:\n  - {{ id: q, sql: select name from staff }}\n  - {{ id: d, agent: w, prompt: '{{{{ steps.q.output }}}}' }}\n"
    );
    let told = says(Guarantee::PersonalDeclared, &[&[("a.yaml", file.as_str())], &TABLES[..]].concat());
    assert!(told.contains("gives staff.name to the model"), "{told}");
}

#[test]
fn the_policy_of_an_agent_is_in_force_in_the_pipelines_that_are_its_tools() {
    let inner = "flow: 1\nname: g\nsecrets: { TOK: A token. }\nsteps: [{ id: a, program: [sh, x.sh], env: { Q: '{{ secrets.TOK }}' } }]\noutputs: x\n";
    let of = |step: &str, sandbox: &str| {
        let main = format!(
            "flow: 1\nname: a\npolicies: {{ p: {{ allowed_tools: [sh, g]{sandbox} }} }}\ntools: {{ g: {{ pipeline: g.yaml }} }}\nagents: {{ w: {{ instructions: Write., policy: p, tools: [g] }}, v: {{ instructions: Ask., tools: [g] }} }}\nsteps: [{{ id: d, {step}, prompt: x }}]\n"
        );
        says(Guarantee::SecretsKept, &[("a.yaml", &main), ("g.yaml", inner)])
    };
    for step in ["agent: w", "plan: w, may_use: [g]"] {
        let told = of(step, ", sandbox: none");
        assert!(told.starts_with("broken\n") && told.contains("may run without a sandbox"), "{step}: {told}");
        assert!(of(step, "").starts_with("holds if\n4: sh of step a keeps secrets.TOK to itself"), "{step}: {}", of(step, ""));
    }
    assert!(of("agent: v", ", sandbox: none").starts_with("holds if\n"));
}

#[test]
fn a_person_who_is_asked_by_the_tool_reads_what_a_step_gives() {
    let step = |approve: &str| {
        let file = format!(
            "flow: 1\nname: a\nagents: {{ w: {{ instructions: Write. }} }}\ntools: {{ h: {{ http: POST https://example.com/x, arguments: {{ x: text }}, body: '{{{{ with.x }}}}'{approve} }} }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: t, tool: h, with: {{ x: '{{{{ steps.d.output }}}}' }} }}\n"
        );
        says(Guarantee::ModelTextJudged, &[("a.yaml", &file)])
    };
    assert!(step("").starts_with("broken\n"));
    assert!(step(", approve: true").starts_with("holds\n"), "{}", step(", approve: true"));
}

#[test]
fn what_a_model_is_called_by_and_what_is_searched_by_meaning_goes_to_it() {
    let search = |mark: &str| {
        let more = format!(
            "models: {{ emb: {{ provider: openai, model: e }} }}\nknowledge: {{ k: {{ files: ['*.jsonl'], search: meaning, embed: emb }} }}\nsteps: [{{ id: s, search: k, for: fixed words{mark} }}]\n"
        );
        personal(&more)
    };
    assert!(search("").contains("step s gives lines.name to model emb"), "{}", search(""));
    assert!(search(", pii: true").starts_with("holds"), "{}", search(", pii: true"));
    let model = |key: &str| {
        let keys = "model: m, base_url: 'https://m.example'".replacen(key, "'https://m.example/{{ inputs.who }}'", 1);
        personal(&format!("models: {{ default: {{ provider: openai, {keys} }} }}\nsteps: [{{ id: d, agent: w, prompt: hi }}]\n"))
    };
    assert!(model("'https://m.example'").contains("step d gives inputs.who to the model of agent w"), "{}", model("'https://m.example'"));
    assert!(!model("nothing").contains("inputs.who"));
}

#[test]
fn a_field_of_a_result_that_is_marked_is_personal() {
    let of = |mark: &str, field: &str| {
        let steps = format!(
            "steps:\n  - {{ id: a, agent: w, prompt: x, output: {{ n: {{ type: text{mark} }}, m: text }} }}\n  - {{ id: d, agent: w, prompt: '{{{{ steps.a.output{field} }}}}' }}\n"
        );
        personal(&steps)
    };
    for field in [".n", "", " | tojson"] {
        assert!(of(", pii: true", field).contains("step d gives steps.a.output.n to the model of agent w"), "{}", of(", pii: true", field));
    }
    assert!(!of(", pii: true", ".m").contains("step d gives"), "{}", of(", pii: true", ".m"));
    assert!(!of("", ".n").contains("step d gives"));
}

#[test]
fn the_time_zone_of_a_run_is_that_of_the_person() {
    let steps = |column: &str| {
        format!("person: {{ id: Ana, from: {column} }}\nsteps:\n  - {{ id: d, agent: w, prompt: 'Here {{{{ run.time_zone }}}}' }}\n")
    };
    assert!(!personal(&steps("people")).starts_with("broken"));
    let file = format!("{}{}", PEOPLE.replace(", tools: [TOOL]", "").replace("pii: [name]", "pii: [time_zone]"), steps("people"));
    let zones = ("people.csv", "id,name,time_zone\n1,Ana,Europe/Zurich\n");
    let told = says(Guarantee::PersonalDeclared, &[("a.yaml", file.as_str()), zones, TABLES[2], TABLES[3]]);
    assert!(told.starts_with("broken"), "{told}");
}

#[test]
fn queries_of_duckdb_give_what_they_show() {
    for query in ["from people", "summarize people", "select #1 from people", "select $$x$$, city from people"] {
        let steps = format!("steps:\n  - {{ id: q, sql: \"{query}\" }}\n  - {{ id: d, agent: w, prompt: '{{{{ steps.q.output }}}}' }}\n");
        assert!(personal(&steps).contains("step d gives people.name to the model"), "{query}: {}", personal(&steps));
    }
}

#[test]
fn an_agent_is_told_why_its_work_was_not_accepted() {
    let of = |accept: &str| {
        let cards = "scorecards: { sc: { criteria: [{ id: c, description: It is good., check: { contains: zz }, feedback: 'Name {{ inputs.who }}.' }] } }\n";
        personal(&format!("{cards}steps:\n  - {{ id: d, task: w, prompt: hi, artefact: text, accept: {accept}, max_attempts: 2 }}\n"))
    };
    assert!(of("sc").starts_with("broken\n6: step d gives inputs.who to the model of agent w"), "{}", of("sc"));
    let own = |check: &str| of(&format!("[{{ id: c, description: It is good., check: {check} }}]"));
    let failing = own("{ expression: 'value == (inputs.who | int | string)' }");
    assert!(failing.starts_with("holds if\n") && failing.contains("no failure of step d quotes what it only tests"), "{failing}");
    assert!(own("{ contains: GOOD }").starts_with("holds\n") || own("{ contains: GOOD }") == "holds", "{}", own("{ contains: GOOD }"));
}

#[test]
fn a_whole_answer_of_the_author_s_words_is_closed() {
    let of = |output: &str| {
        let file = format!(
            "flow: 1\nname: a\nagents: {{ w: {{ instructions: Write., output: {output} }} }}\nsteps: [{{ id: d, agent: w, prompt: x }}]\noutputs: '{{{{ steps.d.output }}}}'\n"
        );
        says(Guarantee::ModelTextJudged, &[("a.yaml", &file)])
    };
    assert!(
        of("{ a: { type: text, enum: [up, down] }, b: boolean, c: { type: list, items: { type: text, enum: [z] } } }")
            .starts_with("holds\n")
    );
    assert!(of("{ a: { type: text, enum: [up, down] }, b: integer }").starts_with("broken\n"));
}

#[test]
fn a_program_with_a_network_may_send_files() {
    let head = "flow: 1\nname: a\ninputs: { who: { type: text, pii: true } }\ndata: { people: { file: people.csv, pii: [name] } }\nagents: { w: { instructions: Write. } }\ntools: { t: { file: keep, allow: [write] } }\n";
    let of = |guarantee, steps: &str| says(guarantee, &[&[("a.yaml", format!("{head}{steps}").as_str())], &TABLES[..]].concat());
    let named = "steps: [{ id: s, program: [curl, -T, people.csv, 'http://a.example'], network: [a.example] }]\n";
    let told = of(Guarantee::PersonalDeclared, named);
    assert!(told.starts_with("broken\n7: step s gives people.name to program curl with a network"), "{told}");
    let opened = of(Guarantee::PersonalDeclared, "steps: [{ id: s, program: [sh, x.sh], network: [a.example] }]\n");
    assert!(opened.starts_with("holds if\n") && opened.contains("opens no file of a table with personal columns"), "{opened}");
    let written = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: v, tool: t.write, with: { name: f.txt, text: '{{ steps.d.output }}' } }\n  - { id: s, program: [sh, x.sh], network: [a.example] }\n";
    assert_eq!(
        of(Guarantee::ModelTextJudged, written).lines().take(2).collect::<Vec<_>>(),
        ["holds if", "10: step s reads no file that the run itself has written"]
    );
}

#[test]
fn a_conversation_keeps_what_called_pipelines_send_and_what_agents_were_asked_anywhere() {
    let child = "flow: 1\nname: b\ninputs: { who: { type: text, pii: true } }\nsteps: [{ id: t, send: stdout, of: inputs.who }]\n";
    let head = "flow: 1\nname: a\ninputs: { who: { type: text, pii: true }, m: text }\nconversation: { id: c1, message: inputs.m }\nagents: { w: { instructions: Write. }, v: { instructions: Read. } }\n";
    let of =
        |steps: &str| says(Guarantee::PersonalDeclared, &[("a.yaml", &format!("{head}steps:\n{steps}outputs: x\n")), ("b.yaml", child)]);
    let call = "  - { id: c, call: b.yaml, with: { who: '{{ inputs.who }}' } }\n";
    let told = of(&format!("  - {{ id: d, agent: w, prompt: x, history: true }}\n{call}"));
    assert!(told.starts_with("broken\n") && told.contains("step d gives"), "{told}");
    for marked in [
        "{ id: k, task: w, prompt: 'For {{ inputs.who }}', artefact: text, accept: [It is kind.], judge: v, max_attempts: 2, pii: true }",
        "{ id: k, dialogue: [w, v], topic: 'On {{ inputs.who }}', max_turns: 2, pii: true }",
        "{ id: k, plan: v, prompt: 'For {{ inputs.who }}', may_use: [w], pii: true }",
    ] {
        let told = of(&format!("  - {{ id: d, agent: w, prompt: x, history: own }}\n  - {marked}\n"));
        assert!(told.starts_with("broken\n") && told.contains("step d gives"), "{marked}: {told}");
        let other = of(&format!("  - {{ id: d, agent: w, prompt: x }}\n  - {marked}\n"));
        assert!(!other.contains("step d gives"), "{marked}: {other}");
    }
    // So is a planner, and who works on a task; what is only kept is shown to nobody.
    let asked = "  - { id: k, agent: w, prompt: 'For {{ inputs.who }}', pii: true }\n";
    for reader in [
        "{ id: d, plan: w, prompt: x, may_use: [v], history: HISTORY }",
        "{ id: d, task: w, prompt: x, artefact: text, accept: [It is kind.], judge: v, max_attempts: 2, history: HISTORY }",
    ] {
        let told = |history: &str| of(&format!("  - {}\n{asked}", reader.replace("HISTORY", history)));
        assert!(told("own").contains("step d gives inputs.who"), "{reader}: {}", told("own"));
        assert!(!told("kept").contains("step d gives"), "{reader}: {}", told("kept"));
    }
}

#[test]
fn a_mark_holds_in_all_pipelines_of_a_run() {
    let child = "flow: 1\nname: b\ndata: { p: { file: people.csv } }\nagents: { w: { instructions: Write. } }\nsteps:\n  - { id: q, sql: select name from p }\n  - { id: d, agent: w, prompt: '{{ steps.q.output }}' }\n  - { id: r, read: people.csv }\n  - { id: e, agent: w, prompt: '{{ steps.r.output }}' }\n";
    let parent = "flow: 1\nname: a\ndata: { people: { file: people.csv, pii: [name] } }\nsteps: [{ id: c, call: b.yaml }, { id: q, sql: select city from people }]\n";
    let told = says(Guarantee::PersonalDeclared, &[&[("a.yaml", parent), ("b.yaml", child)], &TABLES[..]].concat());
    assert!(told.contains("step d of pipeline b gives p.name") && told.contains("step e of pipeline b gives"), "{told}");
    let database = "flow: 1\nname: a\ndata: { p: { file: x.db, table: people, pii: [name] }, v: { file: x.db, table: people }, o: { file: x.db, table: other } }\nagents: { w: { instructions: Write. } }\nsteps:\n  - { id: q, sql: select name from TABLE }\n  - { id: d, agent: w, prompt: '{{ steps.q.output }}' }\n";
    let of = |table: &str| says(Guarantee::PersonalDeclared, &[("a.yaml", &database.replace("TABLE", table)), ("x.db", "x")]);
    assert!(of("v").starts_with("broken\n"), "{}", of("v"));
    assert!(of("o").starts_with("holds if\n"), "{}", of("o"));
}

#[test]
fn a_failure_tells_of_a_program_that_has_a_secret_wherever_it_is_read() {
    let of = |rest: &str| {
        let program = "program: [sh, x.sh], env: { Q: '{{ secrets.TOK }}' }";
        says(
            Guarantee::SecretsKept,
            &[("a.yaml", &format!("flow: 1\nname: a\nsecrets: {{ TOK: A token. }}\n{}", rest.replace("PROGRAM", program)))],
        )
    };
    let alone = "steps: [{ id: a, PROGRAM }]\n";
    assert!(of(alone).starts_with("holds\n"), "{}", of(alone));
    for heard in [
        "steps: [{ id: a, PROGRAM }]\non_failure: [{ id: z, send: stdout, of: failure.message }]\n",
        "steps: [{ id: g, steps: [{ id: a, PROGRAM }], on_failure: continue }, { id: z, send: stdout, of: steps.g.error.message }]\n",
    ] {
        assert!(of(heard).starts_with("holds if\n"), "{heard}: {}", of(heard));
    }
}

#[test]
fn what_a_person_was_shown_and_allowed_is_judged() {
    let of = |approval: &str, send: &str| {
        let file = format!(
            "flow: 1\nname: a\nagents: {{ w: {{ instructions: Write. }} }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: e, agent: w, prompt: z }}\n  - {{ id: ask, approval: Send this?, {approval} }}\n  - {{ id: s, http: POST https://a.example, body: {send}, needs: [ask] }}\n"
        );
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", &file)]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    let text = "'{{ steps.d.output }}'";
    assert_eq!(of("show: '{{ steps.d.output }}'", text), "holds");
    assert_eq!(of("show: 'It says: {{ steps.d.output }}.'", text), "holds");
    for (approval, send) in [
        ("show: '{{ steps.d.output[:10] }}'", text),
        ("show: '{{ steps.d.output }}'", "'{{ steps.d.output }} {{ steps.e.output }}'"),
        ("show: \"{% if 1 > 2 %}{{ steps.d.output }}{% endif %}\"", text),
        ("show: \"{# {{ steps.d.output }} #}{{ steps.d.output | length }}\"", text),
        ("show: '{{ steps.d.output }}', on_failure: continue", text),
        ("show: '{{ steps.d.output }}', when: 1 > 2", text),
    ] {
        assert_eq!(of(approval, send), "broken", "{approval} {send}");
    }
}

#[test]
fn a_text_that_a_gate_may_send_back_was_not_shown() {
    let of = |approval: &str, gate: &str, after: &str| {
        let card = "scorecards: { sc: { criteria: [{ id: c, description: It has a zz., check: { contains: zz } }] } }\n";
        let steps = format!(
            "steps:\n  - {{ id: d, agent: w, prompt: x }}\n{approval}  - {{ id: g, gate: sc, of: steps.d.output, refine: d, otherwise: no text{gate} }}\n{after}  - {{ id: s, http: POST https://a.example, body: '{{{{ steps.d.output }}}}', needs: [g, ask] }}\n"
        );
        let file = format!("flow: 1\nname: a\nagents: {{ w: {{ instructions: Write. }} }}\n{card}{steps}");
        says(Guarantee::ModelTextJudged, &[("a.yaml", &file)]).lines().next().unwrap_or_default().to_owned()
    };
    let ask = |needs: &str| format!("  - {{ id: ask, approval: Send it?, show: '{{{{ steps.d.output }}}}'{needs} }}\n");
    assert_eq!(of(&ask(""), ", needs: [ask]", ""), "broken");
    assert_eq!(of("", "", &ask(", needs: [g]")), "holds");
}

#[test]
fn the_summary_of_a_conversation_is_declared_where_its_messages_are_read() {
    let of = |mark: &str| {
        let file = format!(
            "flow: 1\nname: a\ninputs: {{ m: {{ type: text, pii: true }}, c: text }}\nconversation: {{ id: inputs.c, message: inputs.m, summary: v }}\nagents: {{ w: {{ instructions: Write. }}, v: {{ instructions: Sum. }} }}\nsteps: [{{ id: d, agent: w, prompt: '{{{{ inputs.m }}}}', history: true{mark} }}]\n"
        );
        says(Guarantee::PersonalDeclared, &[("a.yaml", &file)])
    };
    assert!(of("").starts_with("broken\n"));
    assert!(of(", pii: true").starts_with("holds\n"), "{}", of(", pii: true"));
}

#[test]
fn a_union_gives_columns_by_their_place() {
    let of = |query: &str| {
        let steps = format!(
            "steps:\n  - {{ id: q, sql: \"{query}\" }}\n  - {{ id: d, agent: w, prompt: \"{{{{ steps.q.output | map(attribute='city') | join }}}}\" }}\n"
        );
        personal(&steps).lines().next().unwrap_or_default().to_owned()
    };
    for holds in ["select * from people", "select id, city, name from people", "select distinct city, name from people"] {
        assert_eq!(of(holds), "holds", "{holds}");
    }
    for query in [
        "select pid as id, hours as city, pid as x from hours union all select * from people",
        "with t(id, city, name) as (select * from people) select id, city, name from t",
        "with recursive t(id, city, name) as (select id, city, name from people union all select id, name, city from t) select city from t",
    ] {
        assert_ne!(of(query), "holds", "{query}");
    }
}

#[test]
fn a_loop_without_steps_is_looked_at() {
    let text = "flow: 1\nname: a\nsteps:\n  - { id: r, repeat: { until: round > 1, at_most: 2 } }\noutputs: '{{ steps.r.details }}'\n";
    let files = crate::port::MemoryFiles::from_iter([("a.yaml", text)]);
    let checked = crate::check::check_file(std::path::Path::new("a.yaml"), std::path::Path::new(""), &files);
    of(&checked.plan, PipelineId(0), Guarantee::ModelTextJudged);
}

/// Its query may read each file that a step has read, and another pipeline of the run may have marked one.
#[test]
fn a_task_sees_the_files_that_steps_read() {
    let head =
        "flow: 1\nname: a\nagents: { w: { instructions: Write. }, j: { instructions: Judge. } }\nsteps:\n  - { id: c, call: b.yaml }\n";
    let task = "  - { id: t, task: w, artefact: sql, prompt: Count them., accept: [It is right.], judge: j, max_attempts: 2 }\n";
    let marked = "flow: 1\nname: b\ndata: { people: { file: people.csv, pii: [name] } }\nsteps: [{ id: q, sql: select count(*) as n from people }]\n";
    let of = |steps: &str| {
        let file = format!("{head}{steps}{task}");
        says(Guarantee::PersonalDeclared, &[("a.yaml", &file), ("b.yaml", marked), ("people.csv", "id,name\n1,Ana\n")])
    };
    assert!(of("").starts_with("holds"), "{}", of(""));
    let said = of("  - { id: r, read: people.csv }\n");
    assert_eq!(
        said.lines().take(2).collect::<Vec<_>>().join("\n"),
        "broken\n6: step t gives a table with pii columns to the model of agent w and j, and is not marked pii: true"
    );
}

#[test]
fn of_a_long_way_both_ends_are_told() {
    let steps: String = (1..2_000)
        .map(|n| match n % 2 {
            0 => format!("  - {{ id: s{n}, gate: soft, of: steps.s{}.output }}\n", n - 1),
            _ => format!("  - {{ id: s{n}, set: 'So: {{{{ steps.s{}.output }}}}' }}\n", n - 1),
        })
        .collect();
    let last = "outputs: { r: '{{ steps.s1999.output }}' }\n";
    let said = of_steps(Guarantee::ModelTextJudged, &format!("steps:\n  - {{ id: s0, agent: w, prompt: x }}\n{steps}{last}"));
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 2 + 1 + 10 + 1 + 10, "{said}");
    assert!(lines[1].contains("the judge of gate s1998 answers, or the judge of gate s1996 answers, or "), "{said}");
    assert!(lines[1].ends_with(", or one of 989 more on this way"), "{said}");
    assert!(lines[2].ends_with("here is the answer of agent w in step s0"), "{said}");
    assert!(lines[3].ends_with("step s1 reads steps.s0.output") && lines[12].ends_with("step s10 reads steps.s9.output"), "{said}");
    assert!(lines[13].ends_with("1980 more texts pass it on"), "{said}");
    assert!(
        lines[14].ends_with("step s1991 reads steps.s1990.output") && lines[23].ends_with("outputs.r reads steps.s1999.output"),
        "{said}"
    );
}

/// What is asked for grows in each round, in two ways.
#[test]
fn a_loop_that_asks_for_more_in_each_round_is_followed_to_its_end() {
    let round = "[{ id: a, set: { x: '{{ previous.a.output.x.l if round > 1 else steps.d.output }}', l: '{{ previous.a.output.l.x }}' } }]";
    let steps = format!(
        "steps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: r, repeat: {{ until: round > 2, at_most: 3 }}, steps: {round} }}\n"
    );
    let of = |end: &str| of_steps(Guarantee::ModelTextJudged, &format!("{steps}outputs: {{ r: '{{{{ steps.r.output.a.{end} }}}}' }}\n"));
    assert!(of("x").starts_with("broken\n"), "{}", of("x"));
}
