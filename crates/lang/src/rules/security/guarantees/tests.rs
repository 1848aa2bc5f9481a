//! What each guarantee says of small pipelines.

use super::*;
use crate::plan;
use crate::rules::testing::loaded;

mod attacked;
mod bounds_and_keys;
mod hidden_ways;
mod who_answers;

/// The verdict, and on lines below it the place and message of each exception and, deeper, its way.
fn says(guarantee: Guarantee, files: &[(&str, &str)]) -> String {
    let loaded = loaded(files);
    let plan = plan::plan(&loaded.program, &mut vec![]);
    let verdict = of(&plan, PipelineId(0), guarantee);
    let at = |span| loaded.sources.start(span).line;
    let mut out = verdict.words().to_owned();
    match verdict {
        GuaranteeVerdict::Holds(reasons) => reasons.iter().for_each(|reason| out.push_str(&format!("\n{reason}"))),
        GuaranteeVerdict::HoldsIf(exceptions) | GuaranteeVerdict::Broken(exceptions) => {
            for exception in exceptions {
                out.push_str(&format!("\n{}: {}", at(exception.span), exception.message));
                exception.way.iter().for_each(|(span, words)| out.push_str(&format!("\n  {}: {words}", at(*span))));
            }
        }
    }
    out
}

const HEAD: &str = "flow: 1\nname: a\ninputs: { phone: { type: text, pii: true }, topic: text, way: { type: text, enum: [a, b] } }\nagents: { w: {}, j: {}, s: { output: { mode: { type: text, enum: [up, down] }, text: text } } }\nscorecards:\n  card: { judge: j, criteria: [{ id: c, description: It is a kind text., expected: Kind., judge: true }] }\n  soft: { judge: j, on_judge_error: pass, criteria: [{ id: c, description: It is a kind text., expected: Kind., judge: true }] }\n  clean: { criteria: [{ id: nobody, description: Nobody is named., check: { pii: none } }] }\n";

fn of_steps(guarantee: Guarantee, rest: &str) -> String {
    says(guarantee, &[("a.yaml", &format!("{HEAD}{rest}"))])
}

#[test]
fn text_of_a_model_is_followed_to_whoever_gets_it() {
    let judged = |rest: &str| of_steps(Guarantee::ModelTextJudged, rest);
    let draft = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: f, set: { t: 'So: {{ steps.d.output }}' } }\n";
    assert_eq!(
        judged(&format!("{draft}outputs: {{ r: '{{{{ steps.f.output.t }}}}' }}\n")),
        "broken\n12: outputs.r gives a person what no gate judged: the answer of agent w in step d\n  \
         10: here is the answer of agent w in step d\n  11: step f reads steps.d.output\n  12: outputs.r reads steps.f.output.t"
    );
    assert_eq!(
        judged(&format!("{draft}  - {{ id: g, gate: card, of: steps.f.output.t }}\noutputs: {{ r: '{{{{ steps.g.output }}}}' }}\n")),
        "holds\nwhat outputs.r gives was judged, or no model wrote it"
    );
    assert_eq!(
        judged(&format!("{draft}  - {{ id: g, gate: soft, of: steps.f.output.t }}\noutputs: {{ r: '{{{{ steps.g.output }}}}' }}\n")),
        "holds if\n13: the judge of gate g answers\n  10: here is the answer of agent w in step d\n  11: step f reads steps.d.output\n  \
         12: step g reads steps.f.output.t\n  13: outputs.r reads steps.g.output"
    );
    // Words of the author that a model chose are no text of a model; neither is what is counted or tested.
    let chosen = "steps:\n  - { id: s, agent: s, prompt: x }\noutputs: { r: '{{ steps.s.output.mode }}', n: '{{ steps.s.output.text | length }}', o: \"{{ 'yes' if steps.s.output.text else 'no' }}\" }\n";
    assert!(judged(chosen).starts_with("holds\n"));
    let otherwise = "  - { id: g, gate: card, of: steps.f.output.t, otherwise: 'Not good: {{ steps.d.output }}' }\noutputs: { r: '{{ steps.g.output }}' }\n";
    assert!(judged(&format!("{draft}{otherwise}")).starts_with("broken\n13: outputs.r gives a person"));
}

#[test]
fn lists_cases_and_called_pipelines_are_followed() {
    let main = "flow: 1\nname: a\nagents: { w: {} }\nsteps:\n  - { id: d, agent: w, prompt: x }\n  - { id: c, call: b.yaml, with: { x: '{{ steps.d.output }}' } }\n  - { id: l, for_each: ['{{ steps.c.output.y }}'], set: 'About {{ item }}' }\n  - id: r\n    route: run.id\n    cases: [{ id: k, phrases: [k], set: '{{ steps.l.output }}' }]\n    otherwise: { set: nothing }\n  - { id: out, send: stdout, of: steps.r.output }\n";
    let called = "flow: 1\nname: b\ninputs: { x: text }\nsteps: [{ id: s, set: { in: '{{ inputs.x }}' } }]\noutputs: { y: '{{ steps.s.output.in }}', z: fixed }\n";
    assert_eq!(
        says(Guarantee::ModelTextJudged, &[("a.yaml", main), ("b.yaml", called)]),
        "broken\n12: step out gives a person what no gate judged: the answer of agent w in step d\n  5: here is the answer of agent w in step d\n  \
         6: step c reads steps.d.output\n  4: step s of pipeline b reads inputs.x\n  5: outputs.y of pipeline b reads steps.s.output.in\n  \
         7: the list of step l reads steps.c.output.y\n  7: step l reads item\n  10: step r/k reads steps.l.output\n  12: step out reads steps.r.output"
    );
    let fixed = main.replace("steps.c.output.y", "steps.c.output.z");
    assert!(says(Guarantee::ModelTextJudged, &[("a.yaml", &fixed), ("b.yaml", called)]).starts_with("holds\n"));
}

/// Each of these was said to hold once.
#[test]
fn a_step_is_followed_however_it_is_read() {
    let broken = |guarantee, rest: &str| {
        let said = of_steps(guarantee, rest);
        assert!(said.starts_with("broken"), "{rest}\n{said}");
    };
    let shown = |text: &str| {
        let text = text.replace('"', "\\\"");
        format!(
            "steps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: p, set: \"{text}\" }}\noutputs: {{ r: '{{{{ steps.p.output }}}}' }}\n"
        )
    };
    for text in [
        "{{ steps }}",
        "{{ steps.d }}",
        "{{ steps | tojson }}",
        "{{ (steps.d or {}).output }}",
        "{{ steps.d['out' ~ 'put'] }}",
        "{% for k in ['output'] %}{{ steps.d[k] }}{% endfor %}",
        "{{ [steps.d] | map(attribute='output') | join }}",
        "{{ steps.d.details | tojson }}",
        "{{ steps.d.error.message | default('') }}",
    ] {
        broken(Guarantee::ModelTextJudged, &shown(text));
    }
    let failing = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: num, set: '{{ steps.d.output | int }}', on_failure: continue }\noutputs: { r: \"{{ steps.num.error.message | default('') }}\" }\n";
    broken(Guarantee::ModelTextJudged, failing);
    let unmet = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: g, gate: card, of: steps.d.output, on_failure: continue }\noutputs: { r: '{{ steps.g.details.verdicts | tojson }}' }\n";
    broken(Guarantee::ModelTextJudged, unmet);
    let tool = "tools: { h: { http: POST https://a.example/, body: { n: '{{ inputs.phone }}' } } }\nsteps: [{ id: b, tool: h }]\n";
    broken(Guarantee::PersonalDeclared, tool);
    let planned =
        "tools: { h: { http: POST https://a.example/, arguments: { x: text } } }\nsteps: [{ id: pl, plan: j, prompt: x, may_use: [t] }]\n";
    let planned = format!("{}{planned}", HEAD.replace("j: {},", "j: {}, t: { tools: [h] },"));
    assert!(says(Guarantee::ModelTextJudged, &[("a.yaml", &planned)]).starts_with("broken"));
}

#[test]
fn files_that_a_run_writes_may_be_read_again() {
    let file = |steps: &str| {
        let tools = "tools: { o: { file: out, allow: [read, write] } }\n";
        of_steps(
            Guarantee::ModelTextJudged,
            &format!("{tools}steps:\n  - {{ id: d, agent: w, prompt: x }}\n{steps}outputs: {{ r: '{{{{ steps.f.output.text }}}}' }}\n"),
        )
    };
    let said = file("  - { id: t, tool: o.write, with: { name: a.txt, text: '{{ steps.d.output }}' } }\n  - { id: f, read: out/a.txt }\n");
    assert!(said.starts_with("holds if\n14: step f reads no file that the run itself has written"), "{said}");
    assert!(
        of_steps(Guarantee::ModelTextJudged, "steps: [{ id: f, read: a.txt }]\noutputs: { r: '{{ steps.f.output.text }}' }\n")
            .starts_with("holds\n")
    );
}

#[test]
fn what_a_model_gives_to_a_tool_reaches_its_host() {
    let tool = |more: &str| {
        let tools = format!("tools: {{ hook: {{ http: POST https://example.com/, arguments: {{ x: text }}{more} }} }}\n");
        let agents = "agents: { w: { tools: [hook] } }\nsteps: [{ id: d, agent: w, prompt: x }]\n";
        says(Guarantee::ModelTextJudged, &[("a.yaml", &format!("flow: 1\nname: a\n{tools}{agents}"))])
    };
    assert!(tool("").starts_with("broken\n4: the model of step d writes what is sent to tool hook"), "{}", tool(""));
    assert_eq!(tool(", approve: true"), "holds\na person reads each call that the model of step d makes of tool hook");
}

/// Each of these was said to be broken once.
#[test]
fn what_a_model_only_chooses_and_what_a_person_reads_is_not_broken() {
    let said = |tool: &str, policy: &str| {
        let tools = format!("tools: {{ hook: {{ http: POST https://example.com/, {tool} }} }}\n");
        let policies = format!("policies: {{ p: {{ {policy} }} }}\npolicy: p\n");
        let agents = "agents: { w: { tools: [hook] } }\nsteps: [{ id: d, agent: w, prompt: x }]\n";
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", &format!("flow: 1\nname: a\n{tools}{policies}{agents}"))]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    const FREE: &str = "arguments: { x: text }";
    for (tool, policy, verdict) in [
        (
            "arguments: { way: { type: text, enum: [a, b] }, sure: boolean, size: { type: integer, enum: [1, 2] } }",
            "permission_mode: auto",
            "holds",
        ),
        ("arguments: { ways: { type: list, items: { type: text, enum: [a, b] } } }", "permission_mode: auto", "holds"),
        ("arguments: { x: text }, with: { x: fixed }", "permission_mode: auto", "holds"),
        ("arguments: { size: integer }", "permission_mode: auto", "broken"),
        ("arguments: { ways: list }", "permission_mode: auto", "broken"),
        (FREE, "permission_mode: auto", "broken"),
        (FREE, "permission_mode: prompt", "holds"),
        (FREE, "permission_mode: prompt, allowed_tools: [hook]", "broken"),
        (FREE, "permission_mode: auto, approval_required: [hook]", "holds"),
        (FREE, "permission_mode: auto, approval_required: [hook(a*)]", "broken"),
        (FREE, "permission_mode: auto, disallowed_tools: [hook]", "holds"),
        (FREE, "permission_mode: deny", "holds"),
        (FREE, "permission_mode: auto, untrusted: { hook(x): ask }", "holds if"),
        (FREE, "permission_mode: auto, untrusted: { hook(y): ask }", "broken"),
        (FREE, "permission_mode: auto, untrusted: { hook: deny }", "holds if"),
        (FREE, "permission_mode: auto, untrusted: { otherwise: ask, recipients: allow }", "broken"),
        ("arguments: { x: text, y: text, z: boolean }", "permission_mode: auto, untrusted: { hook(x): ask }", "broken"),
        ("arguments: { x: text, y: text, z: boolean }", "permission_mode: auto, untrusted: { 'hook(x, y)': ask }", "holds if"),
    ] {
        assert_eq!(said(tool, policy), verdict, "{tool} {policy}");
    }
}

#[test]
fn what_a_step_gives_is_judged_by_the_entry_for_its_argument() {
    let said = |step: &str, policy: &str| {
        let tools = "tools: { hook: { http: POST https://example.com/, arguments: { x: text, y: text } } }\n";
        let policies = format!("policies: {{ p: {{ permission_mode: auto{policy} }} }}\npolicy: p\n");
        let file = format!(
            "flow: 1\nname: a\nagents: {{ w: {{}} }}\n{tools}{policies}steps: [{{ id: d, agent: w, prompt: x }}, {{ id: s, {step} }}]\n"
        );
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", &file)]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    let tool = "tool: hook, with: { x: '{{ steps.d.output }}', y: fixed }";
    assert_eq!(said(tool, ""), "broken");
    assert_eq!(said(tool, ", untrusted: { hook(x): deny }"), "holds if");
    assert_eq!(said(tool, ", untrusted: { hook(y): deny }"), "broken");
    assert_eq!(said(tool, ", untrusted: { hook(x): deny, hook: allow }"), "holds if");
    let http = "http: POST https://example.com/, body: '{{ steps.d.output }}'";
    assert_eq!(
        (said(http, ", untrusted: { http(body): ask }"), said(http, ", untrusted: { http(url): ask }")),
        ("holds if".to_owned(), "broken".to_owned())
    );
}

#[test]
fn what_is_one_of_the_author_s_words_in_a_plan_and_a_dialogue_is_no_model_s() {
    let said = |shown: &str| {
        let file = format!(
            "flow: 1\nname: a\nagents: {{ w: {{}}, v: {{}} }}\nsteps:\n  - {{ id: t, dialogue: [w, v], topic: x, max_turns: 4 }}\n  - {{ id: p, plan: w, prompt: x, may_use: [v] }}\n  - {{ id: l, for_each: steps.t.output.turns, set: '{{{{ item.from }}}}' }}\n  - {{ id: k, for_each: steps.t.output.turns, set: '{{{{ item.text }}}}' }}\noutputs: {{ r: '{{{{ {shown} }}}}' }}\n"
        );
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", &file)]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    for (shown, verdict) in [
        ("steps.t.output.turns[0].from", "holds"),
        ("steps.t.output.turns[0].number", "holds"),
        ("steps.t.output.turns[0].text", "broken"),
        ("steps.t.output.turns", "broken"),
        ("steps.l.output", "holds"),
        ("steps.k.output", "broken"),
        ("steps.p.output.steps[0].use", "holds"),
        ("steps.p.output.steps[0].status", "holds"),
        ("steps.p.output.steps[0].id", "broken"),
        ("steps.p.output.steps", "broken"),
    ] {
        assert_eq!(said(shown), verdict, "{shown}");
    }
}

#[test]
fn policies_of_agents_dialogues_and_callers_are_in_force_for_tools_of_models() {
    let head = "flow: 1\nname: a\ntools: { hook: { http: POST https://example.com/, arguments: { x: text } } }\npolicies: { p: { permission_mode: prompt }, shut: { permission_mode: auto, disallowed_tools: [hook] } }\n";
    let said = |rest: &str| {
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", &format!("{head}{rest}"))]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    let step = "steps: [{ id: d, agent: w, prompt: x }]\n";
    assert_eq!(said(&format!("agents: {{ w: {{ tools: [hook] }} }}\n{step}")), "broken");
    assert_eq!(said(&format!("agents: {{ w: {{ tools: [hook], policy: p }} }}\n{step}")), "holds");
    assert_eq!(said(&format!("agents: {{ w: {{ tools: [hook], policy: shut }} }}\n{step}")), "holds");
    let talk = |policy: &str| {
        format!("agents: {{ w: {{ tools: [hook] }}, v: {{}} }}\nsteps: [{{ id: d, dialogue: [w, v], topic: x, max_turns: 4{policy} }}]\n")
    };
    assert_eq!((said(&talk("")), said(&talk(", policy: shut"))), ("broken".to_owned(), "holds".to_owned()));
    let plan = "agents: { w: { policy: p }, v: { tools: [hook] } }\nsteps: [{ id: d, plan: w, prompt: x, may_use: [v, hook] }]\n";
    assert_eq!((said(plan), said(&plan.replace("policy: p", "instructions: x"))), ("holds".to_owned(), "broken".to_owned()));
    let inner = format!("{head}agents: {{ w: {{ tools: [hook] }} }}\n{step}").replace("name: a", "name: b");
    let calling = |policy: &str| {
        let main = format!(
            "flow: 1\nname: a\npolicies: {{ p: {{ permission_mode: auto, approval_required: [hook] }} }}\n{policy}steps: [{{ id: c, call: b.yaml }}]\n"
        );
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", &main), ("b.yaml", &inner)]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!((calling(""), calling("policy: p\n")), ("broken".to_owned(), "holds".to_owned()));
}

#[test]
fn what_a_model_gives_to_a_pipeline_is_closed_where_its_input_is() {
    let main =
        "flow: 1\nname: a\nagents: { w: { tools: [t] } }\ntools: { t: { pipeline: b.yaml } }\nsteps: [{ id: d, agent: w, prompt: x }]\n";
    let said = |input: &str| {
        let called = format!(
            "flow: 1\nname: b\ninputs: {{ x: {input} }}\nsteps: [{{ id: h, http: POST https://example.com/, body: {{ x: '{{{{ inputs.x }}}}' }} }}]\n"
        );
        let said = says(Guarantee::ModelTextJudged, &[("a.yaml", main), ("b.yaml", &called)]);
        said.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!((said("{ type: text, enum: [a, b] }"), said("text")), ("holds".to_owned(), "broken".to_owned()));
}

/// It was said to hold once: one of the author's words can be personal, too.
#[test]
fn a_personal_choice_is_personal() {
    let said = |mark: &str| {
        let file = format!(
            "flow: 1\nname: a\ninputs: {{ sick: {{ type: boolean{mark} }} }}\nagents: {{ w: {{}} }}\nsteps: [{{ id: d, agent: w, prompt: '{{{{ inputs.sick }}}}' }}]\n"
        );
        says(Guarantee::PersonalDeclared, &[("a.yaml", &file)])
    };
    assert!(said("").starts_with("holds") && said(", pii: true").starts_with("broken"), "{}", said(", pii: true"));
}

#[test]
fn personal_values_go_where_a_step_declares_it() {
    let personal = |rest: &str| of_steps(Guarantee::PersonalDeclared, rest);
    let asked = |mark: &str| {
        format!(
            "steps:\n  - {{ id: s, set: {{ p: '{{{{ inputs.phone }}}}' }} }}\n  - {{ id: d, agent: w, prompt: 'Call {{{{ steps.s.output.p }}}}'{mark} }}\n"
        )
    };
    assert_eq!(
        personal(&asked("")),
        "broken\n11: step d gives inputs.phone to the model of agent w, and is not marked pii: true\n  3: here is inputs.phone\n  \
         10: step s reads inputs.phone\n  11: step d reads steps.s.output.p"
    );
    assert_eq!(personal(&asked(", pii: true")), "holds\nstep d is marked pii: true, and gives inputs.phone to the model of agent w");
    assert!(personal("steps: [{ id: d, agent: w, prompt: 'On {{ inputs.topic }}' }]\n").starts_with("holds"));
    let table = "flow: 1\nname: a\ndata: { people: { file: p.csv, pii: [phone] } }\nagents: { w: {} }\nsteps:\n  - { id: q, sql: 'select PICK from people where phone = $p', with: { p: '1' } }\n  - { id: d, agent: w, prompt: '{{ steps.q.output }}' }\n";
    let rows = |pick: &str| says(Guarantee::PersonalDeclared, &[("a.yaml", &table.replace("PICK", pick)), ("p.csv", "id,phone\n")]);
    assert_eq!(
        rows("phone"),
        "broken\n7: step d gives people.phone to the model of agent w, and is not marked pii: true\n  6: here is people.phone\n  7: step d reads steps.q.output"
    );
    assert_eq!(rows("id"), "holds");
    let gate = "steps:\n  - { id: g, gate: clean, of: inputs.phone }\n  - { id: d, agent: w, prompt: '{{ steps.g.output }}' }\n";
    assert!(personal(gate).starts_with("holds if\n11: the check pii: none of gate g finds the value"));
}

#[test]
fn personal_values_are_followed_however_a_model_or_a_host_is_shown_them() {
    let head = "flow: 1\nname: a\ninputs: { message: { type: text, pii: true } }\nagents: { w: {}, t: { tools: [ask] }, f: { tools: [d] }, h: {}, p: { model: cli }, l: { tools: [rows.search] } }\ntools: { ask: { pipeline: b.yaml }, d: { file: ., allow: [read] } }\nmodels: { emb: { provider: openai, model: e }, cli: { provider: cli, program: [helper], folder: . } }\ndata: { people: { file: people.csv, pii: [name] }, lines: { file: people.jsonl, pii: [name] } }\nperson: { id: '1', from: people }\nstyle_guide: warm\nknowledge: { k: { files: [notes.md], search: meaning, embed: emb }, rows: { files: ['*.jsonl'] } }\nconversation: { id: '{{ person.id }}', message: inputs.message }\n";
    let personal = |steps: &str| {
        let main = format!("{head}steps:\n{steps}\n");
        let files = [
            ("a.yaml", main.as_str()),
            (
                "b.yaml",
                "flow: 1\nname: b\ndata: { people: { file: people.csv, pii: [name] } }\nsteps: [{ id: q, sql: select name from people }]\noutputs: { r: '{{ steps.q.output }}' }\n",
            ),
            ("style_guides/warm.yaml", "flow: 1\nstyle_guide: warm\nformatting: { greeting: true, use_user_name: true }\n"),
            ("people.csv", "id,name\n1,Ana\n"),
            ("people.jsonl", "{\"name\":\"Ana\"}\n"),
            ("notes.md", "Notes."),
        ];
        says(Guarantee::PersonalDeclared, &files)
    };
    let ways = [
        (
            "  - { id: f, format: Hi. }\n  - { id: z, agent: w, prompt: '{{ steps.f.output.text }}' }",
            "gives person.name to the model of agent w",
        ),
        (
            "  - { id: z, task: w, artefact: sql, prompt: x, accept: [It is right.], judge: h, max_attempts: 2 }",
            "lets its model read people.name",
        ),
        ("  - { id: z, agent: t, prompt: x }", "gives people.name to the model of agent t"),
        ("  - { id: z, agent: f, prompt: x }", "lets its model read people.name"),
        ("  - { id: z, search: k, for: '{{ person.name }}' }", "gives person.name to model emb"),
        ("  - { id: z, agent: h, history: true, prompt: x }", "gives inputs.message to the model of agent h"),
        ("  - { id: z, agent: h, prompt: '{{ conversation.text }}' }", "gives inputs.message to the model of agent h"),
        ("  - { id: z, agent: p, prompt: x }", "lets its model read people.name"),
        ("  - { id: z, agent: l, prompt: x }", "lets its model read lines.name"),
        (
            "  - { id: r, search: rows, for: x, pii: true }\n  - { id: z, agent: w, prompt: '{{ steps.r.output }}' }",
            "step z gives lines.name to the model of agent w",
        ),
        // What is declared may go on, and is followed.
        (
            "  - { id: z, agent: t, prompt: x, pii: true }\n  - { id: v, agent: w, prompt: '{{ steps.z.output }}' }",
            "step v gives people.name to the model of agent w",
        ),
    ];
    for (steps, way) in ways {
        let found = personal(steps);
        assert!(found.starts_with("broken\n") && found.contains(way), "{steps}: {found}");
        // A step that is marked is meant to have them.
        if !steps.contains("pii") {
            let marked = personal(&steps.replace("id: z,", "id: z, pii: true,"));
            assert!(marked.starts_with("holds"), "{steps}: {marked}");
        }
    }
    assert!(personal("  - { id: z, agent: w, prompt: x }").starts_with("holds"), "{}", personal("  - { id: z, agent: w, prompt: x }"));
}

#[test]
fn secrets_go_to_named_hosts() {
    let secrets = |tools: &str, steps: &str| {
        says(
            Guarantee::SecretsKept,
            &[("a.yaml", &format!("flow: 1\nname: a\nsecrets: {{ KEY: A key. }}\ninputs: {{ base: text }}\n{tools}steps: {steps}\n"))],
        )
    };
    let http = |url: &str| secrets("", &format!("[{{ id: h, http: 'GET {url}', headers: {{ a: '{{{{ secrets.KEY }}}}' }} }}]"));
    assert_eq!(http("https://a.example/x"), "holds\nsecrets.KEY goes to https://a.example/x alone");
    let hook = |url: &str| secrets("", &format!("[{{ id: h, http: 'POST {url}' }}]"));
    assert_eq!(hook("{{ secrets.KEY }}"), "holds\nsecrets.KEY goes to the host of secrets.KEY alone");
    assert_eq!(
        hook("https://a.example/bot{{ secrets.KEY }}/x"),
        "holds\nsecrets.KEY goes to https://a.example/bot{{ secrets.KEY }}/x alone"
    );
    assert!(hook("{{ inputs.base }}/{{ secrets.KEY }}").starts_with("broken\n5: secrets.KEY is sent to a host that inputs.base names"));
    assert!(http("{{ inputs.base }}/x").starts_with("broken\n5: secrets.KEY is sent to a host that inputs.base names"));
    let program =
        |network: &str| secrets("", &format!("[{{ id: p, program: [/usr/bin/curl, x], env: {{ K: '{{{{ secrets.KEY }}}}' }}{network} }}]"));
    assert_eq!(program(""), "holds\n/usr/bin/curl of step p has secrets.KEY and no network");
    assert_eq!(program(", network: [a.example]"), "holds\n/usr/bin/curl of step p has secrets.KEY and reaches a.example alone");
    assert!(program(", network: true").starts_with("broken\n"), "{}", program(", network: true"));
    // What it prints may have the secret turned round.
    let heard = secrets(
        "",
        "\n  - { id: p, program: [sh, -c, x], env: { K: '{{ secrets.KEY }}' } }\n  - { id: h, http: 'POST {{ inputs.base }}', body: '{{ steps.p.output }}' }",
    );
    assert!(heard.starts_with("holds if\n6: sh of step p keeps secrets.KEY to itself: what it prints"), "{heard}");
    let server = "tools: { s: { command: server, allow: [x], env: { K: '{{ secrets.KEY }}' } } }\n";
    let of_server = secrets(server, "[{ id: t, tool: s.x }]");
    assert!(
        of_server.starts_with("holds if\n5: server of ") && of_server.contains("which has secrets.KEY and is not shut in"),
        "{of_server}"
    );
}

#[test]
fn bounds_and_keys_are_told() {
    let agent = "steps: [{ id: d, agent: w, prompt: x }]\n";
    let bounded = |limits: &str| {
        of_steps(
            Guarantee::Bounded,
            &format!("{limits}models: {{ default: {{ provider: openai, model: m, price: {{ input: 1, output: 2 }} }} }}\n{agent}"),
        )
    };
    assert_eq!(
        bounded(""),
        "broken\n2: nothing bounds the tokens of a run\n2: nothing bounds the money of a run\n2: no limits.deadline bounds the time of a run"
    );
    assert!(bounded("limits: { max_tokens: 1000, max_cost_usd: 1, deadline: 1m }\n").starts_with("holds\nat most"));
    assert_eq!(of_steps(Guarantee::Bounded, "steps: [{ id: d, set: x }]\n"), "holds\nno model is asked");
    let parts = |agent: &str, model: &str, steps: &str| {
        let file = format!(
            "flow: 1\nname: a\nmodels: {{ default: {{ provider: openai, model: m{model} }} }}\nagents: {{ w: {{{agent}}}, v: {{{agent}}} }}\nsteps: [{steps}]\n"
        );
        says(
            Guarantee::Bounded,
            &[("a.yaml", &file), ("b.yaml", &file.replace("name: a", "name: b").replace(steps, "{ id: d, agent: w, prompt: x }"))],
        )
    };
    let (priced, limits) = (", price: { input: 1, output: 2 }", " limits: { max_tokens: 1000, deadline: 1m } ");
    let asked = "{ id: d, agent: w, prompt: x }";
    let trusting = "holds if\n2: the endpoint of w uses no more than it is asked for: limits of parts of a run do not end it after a call";
    assert_eq!(parts(limits, priced, asked), trusting);
    assert_eq!(parts(" limits: { max_tokens: 1000 } ", priced, asked), "broken\n2: no limits.deadline bounds the time of a run");
    assert!(parts(" limits: { max_cost_usd: 1, deadline: 1m } ", priced, asked).starts_with("broken\n2: nothing bounds the tokens"));
    assert!(parts(limits, "", asked).starts_with("broken\n2: model default has no price"));
    assert_eq!(parts(" limits: { max_tokens: 1000 } ", priced, "{ id: d, agent: w, prompt: x, deadline: 1m }"), trusting);
    let talk = "{ id: d, dialogue: [w, v], topic: x, max_turns: 4, limits: { max_tokens: 1000, deadline: 1m } }";
    assert!(parts("", priced, talk).starts_with("holds"), "{}", parts("", priced, talk));
    // Each agent has its turn's time, and its tokens in all turns.
    assert!(parts(limits, priced, "{ id: d, dialogue: [w, v], topic: x, max_turns: 4 }").starts_with("holds"));
    let called = "{ id: c, call: b.yaml }";
    assert!(parts(limits, priced, called).starts_with("holds"), "{}", parts(limits, priced, called));
    assert!(parts("", priced, called).starts_with("broken"));
    let keyed = |step: &str| of_steps(Guarantee::EffectsKeyed, &format!("steps: [{step}]\n"));
    assert_eq!(keyed("{ id: h, http: POST https://a.example/ }"), "holds\nstep h sends the header Idempotency-Key");
    assert_eq!(keyed("{ id: h, http: GET https://a.example/ }"), "holds");
    assert_eq!(
        keyed("{ id: p, program: [/usr/bin/touch, x] }"),
        "broken\n9: step p calls a program that gets no key, and may do so again after a crash"
    );
    assert_eq!(keyed("{ id: p, once: true, program: [/usr/bin/touch, x] }"), "holds\nstep p is once: after a crash a person decides");
}

#[test]
fn the_feedback_of_a_criterion_is_followed_to_the_text_of_the_second_round() {
    let card = "  told: { criteria: [{ id: c, description: It is a kind text., check: { contains: kind }, feedback: 'Write for {{ inputs.phone }}' }] }\n";
    let rest = "steps:\n  - { id: d, agent: w, prompt: 'About {{ inputs.topic }} {{ refinement.feedback }}' }\n  - { id: g, gate: told, of: steps.d.output, refine: d }\noutputs: { r: '{{ steps.g.output }}' }\n";
    let with = of_steps(Guarantee::PersonalDeclared, &format!("{card}{rest}"));
    let without =
        of_steps(Guarantee::PersonalDeclared, &format!("{}{rest}", card.replace(", feedback: 'Write for {{ inputs.phone }}'", "")));
    assert!(with.contains("inputs.phone"), "{with}");
    assert!(!without.contains("inputs.phone"), "{without}");
}

/// An agent that is sent back is told the first answer and what the judge says, who may quote all that it was shown.
#[test]
fn what_an_agent_is_told_when_it_tries_once_more_is_followed_though_no_text_reads_it() {
    let personal = |gate: &str| {
        let steps = "steps:\n  - { id: d, agent: w, prompt: 'About {{ inputs.topic }}' }\n";
        of_steps(
            Guarantee::PersonalDeclared,
            &format!("{steps}  - {{ id: g, pii: true, gate: card, {gate} }}\noutputs: {{ r: '{{{{ steps.g.output }}}}' }}\n"),
        )
    };
    let shown = "of: steps.d.output, with: { phone: '{{ inputs.phone }}' }";
    assert!(personal(shown).starts_with("holds"), "{}", personal(shown));
    let again = personal(&format!("{shown}, refine: d"));
    assert!(again.starts_with("broken\n11: step d gives inputs.phone to the model of agent w, and is not marked pii: true"), "{again}");
    assert!(again.ends_with(": step d reads refinement"), "{again}");
    let nothing = personal("of: steps.d.output, refine: d");
    assert!(nothing.starts_with("holds"), "{nothing}");
}

/// A field of each element is the field of the list that its author marked.
#[test]
fn a_personal_field_of_each_element_is_followed() {
    let personal = |field: &str| {
        let file = format!(
            "flow: 1\nname: a\ninputs: {{ people: {{ type: list, items: {{ type: object, fields: {{ name: {{ type: text, pii: true }}, city: text }} }} }} }}\n\
                 agents: {{ w: {{ instructions: Write. }} }}\nsteps:\n  - {{ id: s, for_each: inputs.people, agent: w, prompt: 'Write to {{{{ item.{field} }}}}' }}\n\
                 outputs: {{ r: '{{{{ steps.s.output | join }}}}' }}\n"
        );
        says(Guarantee::PersonalDeclared, &[("a.yaml", &file)])
    };
    assert!(personal("name").contains("gives inputs.people.*.name to the model"), "{}", personal("name"));
    assert!(personal("city").starts_with("holds"), "{}", personal("city"));
}

#[test]
fn what_a_gate_let_through_in_each_element_is_followed_however_it_is_chosen() {
    let group = "steps:\n  - id: g\n    for_each: ['a', 'b']\n    steps:\n      - { id: d, agent: w, prompt: x }\n      - { id: c, gate: card, of: steps.d.output, otherwise: none }\n";
    let outputs = |value: &str| of_steps(Guarantee::ModelTextJudged, &format!("{group}outputs: {{ r: \"{value}\" }}\n"));
    for value in [
        "{{ (steps.g.output | first).FIELD }}",
        "{{ steps.g.output[-1].FIELD }}",
        "{{ steps.g.output[:1] | map(attribute='FIELD') | join }}",
        "{{ steps.g.output | sort(attribute='FIELD') | map(attribute='FIELD') | list | last }}",
        "{% for e in steps.g.output | reverse %}{{ e.FIELD }}{% endfor %}",
        "{% for k, es in steps.g.output | groupby('FIELD') %}{{ k }}{% endfor %}",
        "{% for k in steps.g.output | groupby('c') %}{{ k.list | map(attribute='FIELD') | join }}{% endfor %}",
        "{{ [{ 'in': steps.g.output[0] }] | length }} {{ (steps.g.output | selectattr('c') | first).FIELD }}",
    ] {
        assert!(outputs(&value.replace("FIELD", "c")).starts_with("holds\n"), "{value}");
        assert!(outputs(&value.replace("FIELD", "d")).starts_with("broken\n"), "{value}");
    }
    let each = |field: &str| {
        let steps = format!("{group}  - {{ id: say, for_each: steps.g.output, send: stdout, of: item.{field} }}\n");
        of_steps(Guarantee::ModelTextJudged, &steps)
    };
    assert!(each("c").starts_with("holds\n"));
    assert!(each("d").starts_with("broken\n"));
    // A list in another order is not the list.
    let moved = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: l, set: ['fixed', '{{ steps.d.output }}'] }\n  - { id: m, set: '{{ steps.l.output | reverse }}' }\noutputs: { r: '{{ steps.m.output[0] }}' }\n";
    assert!(of_steps(Guarantee::ModelTextJudged, moved).starts_with("broken\n"));
}

#[test]
fn an_agent_that_others_ask_is_told_with_who_asks_it() {
    let text = "flow: 1\nname: a\nagents: { a: { agents: [b], instructions: Ask. }, b: { instructions: Answer., tools: [hook] } }\ntools: { hook: { http: POST https://example.com/hook, arguments: { x: text }, body: { x: '{{ with.x }}' } } }\nsteps: [{ id: d, agent: a, prompt: x }]\n";
    let told = says(Guarantee::ModelTextJudged, &[("a.yaml", text)]);
    assert!(told.contains("the model of agent b (asked by step d) writes what is sent to tool hook"), "{told}");
    assert!(!told.contains("ask-b"), "{told}");
}
