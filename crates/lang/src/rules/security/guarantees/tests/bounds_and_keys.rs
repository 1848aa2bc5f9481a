//! What bounds a run, and what is done twice.

use super::*;

#[test]
fn a_wait_that_is_filled_in_is_bounded_by_nothing() {
    let wait = |time: &str, more: &str| {
        let file = format!("flow: 1\nname: a\ninputs: {{ t: text }}\n{more}steps: [{{ id: s, wait: '{time}' }}]\n");
        says(Guarantee::Bounded, &[("a.yaml", &file)])
    };
    assert!(wait("{{ inputs.t }}", "").contains("no limits.deadline bounds the time"), "{}", wait("{{ inputs.t }}", ""));
    assert!(wait("{{ inputs.t }}", "limits: { deadline: 5m }\n").starts_with("holds"));
    assert!(wait("2s", "").starts_with("holds"));
    // So is one that is made as often as a list is long.
    let each = |list: &str, more: &str| {
        let file = format!("flow: 1\nname: a\ninputs: {{ n: integer }}\n{more}steps: [{{ id: s, for_each: {list}, wait: 1h }}]\n");
        says(Guarantee::Bounded, &[("a.yaml", &file)])
    };
    assert!(each("range(inputs.n)", "").contains("no limits.deadline bounds the time"), "{}", each("range(inputs.n)", ""));
    assert!(each("range(inputs.n)", "limits: { deadline: 5m }\n").starts_with("holds"));
    assert!(each("range(3)", "").starts_with("holds") && each("[1, 2]", "").starts_with("holds"));
}

#[test]
fn vectors_that_a_tool_asks_for_are_not_in_the_bound() {
    let head = "flow: 1\nname: a\nlimits: { max_tokens: 100, max_cost_usd: 1, deadline: 1m }\nmodels: { e: { provider: openai, model: m, price: { input: 1, output: 1 } }, default: { provider: openai, model: m, price: { input: 1, output: 1 } } }\nknowledge: { k: { files: '*.md', search: meaning, embed: e } }\nagents: { w: { instructions: Write., tools: [k] } }\n";
    let of = |step: &str, head: &str| {
        let file = format!("{head}steps: [{step}]\n");
        let inner = "flow: 1\nname: b\nsteps: [{ id: x, set: 1 }]\n";
        says(Guarantee::Bounded, &[("a.yaml", &file), ("b.yaml", inner), ("a.md", "Words.\n")])
    };
    let unbounded = "holds if\n3: the documents of knowledge k stay as many as they are: each new piece is asked of its model";
    for step in ["{ id: d, search: k, for: hi }", "{ id: d, tool: k.search, with: { query: hi } }", "{ id: d, agent: w, prompt: x }"] {
        assert_eq!(of(step, head), unbounded, "{step}");
        let by_words = head.replace("search: meaning, embed: e", "search: words");
        assert!(of(step, &by_words).starts_with("holds\n"), "{step}");
    }
}

#[test]
fn what_is_once_runs_again_in_the_finally_of_a_run_that_a_signal_ended() {
    let keyed = |list: &str| says(Guarantee::EffectsKeyed, &[("a.yaml", &format!("flow: 1\nname: a\n{list}\n"))]);
    let step = "{ id: p, once: true, program: [/usr/bin/touch, x] }";
    assert!(keyed(&format!("steps: [{step}]")).starts_with("holds\n"));
    assert_eq!(
        keyed(&format!("steps: [{{ id: s, set: 1 }}]\nfinally: [{step}]")),
        "holds if\n4: no run that a signal ended is resumed: then its finally runs again, and step p with it"
    );
    let group = "steps: [{ id: g, once: true, steps: [{ id: p, program: [/usr/bin/touch, x] }] }]";
    assert!(keyed(group).starts_with("holds\n"), "{}", keyed(group));
    let called = "flow: 1\nname: b\nsteps: [{ id: p, program: [/usr/bin/touch, x] }]\n";
    let caller = |once: &str| {
        let file = format!("flow: 1\nname: a\nsteps: [{{ id: c, call: b.yaml{once} }}]\n");
        says(Guarantee::EffectsKeyed, &[("a.yaml", &file), ("b.yaml", called)])
    };
    assert!(caller(", once: true").starts_with("holds\n"), "{}", caller(", once: true"));
    assert!(caller("").starts_with("broken"), "{}", caller(""));
}

#[test]
fn a_program_that_changes_nothing_is_trusted_where_it_has_a_network() {
    let told = "holds if\n5: a program of step d with a network changes nothing outside (reads_only): it may run again";
    for (head, step) in [
        ("", "{ id: d, program: [curl, a.example], network: [a.example], reads_only: true }"),
        ("tools: { t: { program: [curl, a.example], network: [a.example], reads_only: true } }", "{ id: d, tool: t }"),
        ("tools: { t: { program: [curl, a.example], network: [a.example], reads_only: true } }", "{ id: d, agent: w, prompt: x }"),
    ] {
        let file = format!("flow: 1\nname: a\nagents: {{ w: {{ tools: [t] }} }} {head}\nsteps: [{step}]\n").replace(" tools:", "\ntools:");
        let lines = if head.is_empty() { "5" } else { "6" };
        let alone = says(Guarantee::EffectsKeyed, &[("a.yaml", &file.replace("network: [a.example], ", ""))]);
        assert!(alone.starts_with("holds"), "{alone}");
        assert_eq!(says(Guarantee::EffectsKeyed, &[("a.yaml", &file)]), told.replace('5', lines), "{step}");
    }
}

#[test]
fn limits_of_a_part_that_runs_an_unknown_number_of_times_bound_nothing() {
    let child = "flow: 1\nname: b\nlimits: { max_tokens: 1000, max_cost_usd: 1, deadline: 5s }\nmodels: { default: { provider: openai, model: m, price: { input: 1, output: 1 } } }\nagents: { w: { instructions: Write. } }\nsteps: [{ id: x, agent: w, prompt: x }]\nfinally: [{ id: end, set: 1 }]\n";
    let of = |steps: &str| {
        let head = "inputs: { l: { type: list, items: text } }\nmodels: { default: { provider: openai, model: m, price: { input: 1, output: 1 } } }\ntools: { b: { pipeline: b.yaml } }\nagents: { v: { instructions: Write., tools: [b], limits: { max_tokens: 100, deadline: 3s, max_cost_usd: 1MORE } } }\n";
        says(
            Guarantee::Bounded,
            &[("a.yaml", &format!("flow: 1\nname: a\n{}", format!("{head}{steps}").replace("MORE", ""))), ("b.yaml", child)],
        )
    };
    let told = of("steps: [{ id: c, call: b.yaml }]\n");
    assert!(told.starts_with("holds if\n") && told.contains("the endpoint of w uses no more than it is asked for"), "{told}");
    for open in ["steps: [{ id: c, for_each: inputs.l, call: b.yaml }]\n", "steps: [{ id: c, agent: v, prompt: x }]\n"] {
        let told = of(open);
        assert!(told.starts_with("broken\n") && told.contains("tokens"), "{told}");
    }
    let late =
        of("limits: { max_tokens: 1000, max_cost_usd: 1, deadline: 3s }\nsteps: [{ id: c, call: b.yaml }]\nfinally: [{ id: z, set: 1 }]\n");
    assert!(late.contains("at most 3s and 2m for on_failure and finally"), "{late}");
}

#[test]
fn what_is_once_runs_again_where_a_step_around_begins_anew() {
    let keyed = |list: &str| says(Guarantee::EffectsKeyed, &[("a.yaml", &format!("flow: 1\nname: a\n{list}\n"))]);
    let step = "{ id: p, once: true, program: [/usr/bin/touch, x] }";
    assert_eq!(
        keyed(&format!("steps: [{{ id: g, retry: {{ max_attempts: 2 }}, steps: [{step}] }}]")),
        "broken\n3: step g/p calls a program that gets no key, and retry of step g runs it again unasked"
    );
    let model = |more: &str, step: &str| {
        let head = format!(
            "models: {{ default: {{ provider: cli, program: [agent], network: [a.example]{more} }}, m: {{ provider: openai, model: m }} }}\nagents: {{ w: {{ instructions: Write. }}, j: {{ instructions: Judge., model: m }} }}\n"
        );
        says(Guarantee::EffectsKeyed, &[("a.yaml", &format!("flow: 1\nname: a\n{head}steps: [{step}]\n"))])
    };
    let asked = "{ id: d, agent: w, prompt: x }";
    assert_eq!(model("", asked), "holds if\n5: an agent program of step d changes nothing outside: it may be asked again");
    assert!(model(", writes: [out]", asked).starts_with("broken\n"));
    let once = "{ id: d, agent: w, prompt: x, once: true }";
    assert!(model(", writes: [out]", once).starts_with("holds if\n5: an agent program of step d that fails has changed nothing"));
    assert!(
        model(", writes: [out], retry: { max_attempts: 1 }", once).starts_with("holds"),
        "{}",
        model(", writes: [out], retry: { max_attempts: 1 }", once)
    );
    // A step names another model for its agent.
    assert!(model(", writes: [out]", "{ id: d, agent: j, prompt: x }").starts_with("holds"));
    assert!(model(", writes: [out]", "{ id: d, agent: j, prompt: x, model: default }").starts_with("broken\n"));
}
