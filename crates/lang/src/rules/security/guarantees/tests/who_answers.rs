//! Models, programs that are agents, and tools: whatever answers a step.

use super::*;

const TABLE: (&str, &str) = ("people.csv", "id,name,city\n1,Ana,Basel\n");

fn of(guarantee: Guarantee, head: &str, steps: &str) -> String {
    let file = format!("flow: 1\nname: a\ninputs: {{ who: {{ type: text, pii: true }} }}\n{head}steps:\n{steps}");
    says(guarantee, &[("a.yaml", &file), TABLE])
}

#[test]
fn models_that_are_tried_after_others_and_those_of_a_plan_are_asked_too() {
    let models = "models: { default: { provider: openai, model: m, fallback: [b] }, b: { provider: openai, model: 'M {{ inputs.who }}' }, c: { provider: openai, model: 'M {{ inputs.who }}' } }\nagents: { w: { instructions: Write. }, v: { instructions: Read., model: c }, u: { instructions: Plan., model: d } }\n".replace("default: {", "d: { provider: openai, model: m }, default: {");
    for step in
        ["{ id: d, agent: w, prompt: x }", "{ id: d, plan: u, prompt: x, may_use: [v] }", "{ id: d, agent: u, prompt: x, model: c }"]
    {
        let told = of(Guarantee::PersonalDeclared, &models, &format!("  - {step}\n"));
        assert!(told.starts_with("broken\n") && told.contains("step d gives inputs.who to the model"), "{step}: {told}");
    }
    let told = of(Guarantee::PersonalDeclared, &models, "  - { id: d, agent: u, prompt: x }\n");
    assert!(told.starts_with("holds"), "{told}");
}

#[test]
fn a_program_that_is_an_agent_opens_files_and_has_its_key() {
    let head = |more: &str| {
        format!(
            "secrets: {{ TOK: A token. }}\ndata: {{ people: {{ file: people.csv, pii: [name] }} }}\nmodels: {{ default: {{ provider: cli, program: [agent], folder: bin, network: [a.example], api_key: '{{{{ secrets.TOK }}}}', api_key_variable: KEY }} }}\nagents: {{ w: {{ instructions: Write. }} }}\n{more}"
        )
    };
    let step = "  - { id: d, agent: w, prompt: x }\n";
    let loose = head("policies: { p: { sandbox: none, allowed_tools: [agent] } }\npolicy: p\n");
    assert!(of(Guarantee::PersonalDeclared, &head(""), step).starts_with("holds"), "{}", of(Guarantee::PersonalDeclared, &head(""), step));
    assert!(of(Guarantee::PersonalDeclared, &loose, step).starts_with("broken\n"));
    assert!(
        of(Guarantee::SecretsKept, &head(""), step).contains("keeps secrets.TOK to itself"),
        "{}",
        of(Guarantee::SecretsKept, &head(""), step)
    );
    assert!(of(Guarantee::SecretsKept, &loose, step).starts_with("broken\n"));
}

#[test]
fn what_a_tool_gives_is_marked_in_its_output() {
    let head = "tools: { t: { program: [say], reads_only: true, output: { a: { type: text, pii: true }, b: text } } }\nagents: { w: { instructions: Write., tools: [t] }, v: { instructions: Read. } }\n";
    let step = |steps: &str| of(Guarantee::PersonalDeclared, head, steps);
    let direct =
        |field: &str| step(&format!("  - {{ id: q, tool: t }}\n  - {{ id: d, agent: v, prompt: '{{{{ steps.q.output.{field} }}}}' }}\n"));
    assert!(direct("a").starts_with("broken\n") && !direct("b").starts_with("broken\n"), "{} {}", direct("a"), direct("b"));
    let told = step("  - { id: d, agent: w, prompt: x }\n");
    assert!(told.contains("step d gives a of tool t to the model of agent w"), "{told}");
}

#[test]
fn the_policy_of_an_agent_decides_about_the_sandbox_of_its_program() {
    let head = |own: &str| {
        format!(
            "data: {{ people: {{ file: people.csv, pii: [name] }} }}\nmodels: {{ default: {{ provider: cli, program: [agent], folder: bin, network: [a.example] }} }}\npolicies: {{ open: {{ sandbox: none, allowed_tools: [agent] }} }}\nagents: {{ w: {{ instructions: Write.{own} }} }}\n"
        )
    };
    let step = "  - { id: d, agent: w, prompt: x }\n";
    assert!(of(Guarantee::PersonalDeclared, &head(", policy: open"), step).starts_with("broken\n"));
    assert!(!of(Guarantee::PersonalDeclared, &head(""), step).starts_with("broken\n"));
}
