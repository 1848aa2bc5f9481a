//! Files that grow in one direction each: correct ones, so that a check goes through every rule, and ones full of one mistake.

use std::fmt::Write as _;

/// A kind of file, and how it is made with about so many of what it has many of.
pub type Shape = (&'static str, fn(usize) -> String);

/// Correct files.
pub const SHAPES: &[Shape] = &[
    ("chain", chain),
    ("chain of agents", agents),
    ("layered", layered),
    ("star", star),
    ("gather", gather),
    ("route cases", cases),
    ("steps in cases", nested),
    ("stand-ins", stand_ins),
    ("wide for_each", wide),
    ("tools and calls", tools),
    ("inputs and outputs", inputs),
    ("criteria", criteria),
    ("gates", gates),
    ("remarks", remarks),
    ("prose", prose),
];

/// Files full of one mistake.
pub const MISTAKES: &[Shape] = &[
    ("one id", one_id),
    ("unknown needs", unknown_needs),
    ("unknown steps", unknown_steps),
    ("unknown inputs", unknown_inputs),
    ("reads of what is beside", beside),
    ("pairs in circles", circles),
    ("one circle", one_circle),
    ("a tangle", tangle),
    ("many refinements", refinements),
    ("refinements of nothing", refine_nothing),
    ("unused steps", unused),
    ("wrong keys", wrong_keys),
    ("wrong imports", imports),
    ("on one line", one_line),
    ("secrets not declared", secrets),
    ("personal data", personal),
    ("gates of one scorecard", one_scorecard),
    ("default of a list", default_list),
    ("tests of what is not there", tests),
    ("tests that share", shared),
    ("one file written", one_file),
    ("one output read", one_output),
];

/// Each step reads the one above.
pub fn chain(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: chain\nsteps:\n  - { id: s0, set: start }\n");
    for i in 1..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, set: \"{{{{ steps.s{}.output }}}}\" }}", i - 1);
    }
    let _ = writeln!(text, "outputs: {{ last: \"{{{{ steps.s{}.output }}}}\" }}", steps - 1);
    text
}

/// A chain whose steps each ask an agent of their own.
pub fn agents(steps: usize) -> String {
    let mut text = String::from(
        "flow: 1\nname: agents\nmodels: { default: { provider: openai, model: m, base_url: \"http://127.0.0.1:9/v1\" } }\nagents:\n",
    );
    for i in 0..steps {
        let _ = writeln!(text, "  a{i}: {{ instructions: \"You are number {i}.\" }}");
    }
    text.push_str("steps:\n  - { id: s0, agent: a0, prompt: Begin. }\n");
    for i in 1..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, agent: a{i}, prompt: \"Go on: {{{{ steps.s{}.output }}}}\" }}", i - 1);
    }
    let _ = writeln!(text, "outputs: {{ last: \"{{{{ steps.s{}.output }}}}\" }}", steps - 1);
    text
}

/// Layers of twenty steps; each step needs two of the layer before.
pub fn layered(steps: usize) -> String {
    let width = 20.min(steps);
    let mut text = String::from("flow: 1\nname: layered\nsteps:\n");
    for step in 0..steps {
        let (layer, place) = (step / width, step % width);
        if layer == 0 {
            let _ = writeln!(text, "  - {{ id: l0_{place}, needs: [], set: x }}");
            continue;
        }
        let (one, two) = (format!("l{}_{place}", layer - 1), format!("l{}_{}", layer - 1, (place + 1) % width));
        let _ = writeln!(
            text,
            "  - {{ id: l{layer}_{place}, needs: [{one}, {two}], set: [\"{{{{ steps.{one}.output }}}}\", \"{{{{ steps.{two}.output }}}}\"] }}"
        );
    }
    let last: Vec<String> = (steps - steps.min(width)..steps).map(|i| format!("l{}_{}", i / width, i % width)).collect();
    let _ = writeln!(text, "  - {{ id: end, needs: [{}], set: done }}", last.join(", "));
    text.push_str("outputs: { last: \"{{ steps.end.output }}\" }\n");
    text
}

/// One step that all others wait for and read.
pub fn star(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: star\nsteps:\n  - { id: first, set: start }\n");
    for i in 0..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, needs: [first], set: \"{{{{ steps.first.output }}}}\" }}");
    }
    text.push_str("outputs:\n");
    for i in 0..steps {
        let _ = writeln!(text, "  o{i}: \"{{{{ steps.s{i}.output }}}}\"");
    }
    text
}

/// One step that waits for all others and reads them.
pub fn gather(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: gather\nsteps:\n");
    for i in 0..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, needs: [], set: {i} }}");
    }
    let needs: Vec<String> = (0..steps).map(|i| format!("s{i}")).collect();
    let _ = writeln!(text, "  - id: last\n    needs: [{}]\n    set:", needs.join(", "));
    for i in 0..steps {
        let _ = writeln!(text, "      k{i}: \"{{{{ steps.s{i}.output }}}}\"");
    }
    text.push_str("outputs: { last: \"{{ steps.last.output }}\" }\n");
    text
}

/// A route of many cases.
pub fn cases(steps: usize) -> String {
    let mut text =
        String::from("flow: 1\nname: cases\ninputs: { message: text }\nsteps:\n  - id: answer\n    route: inputs.message\n    cases:\n");
    for i in 0..steps {
        let _ = writeln!(text, "      - {{ id: c{i}, phrases: [number {i}], set: {{ text: \"{i}\" }} }}");
    }
    text.push_str("    otherwise: { set: { text: none } }\noutputs: { text: \"{{ steps.answer.output.text }}\" }\n");
    text
}

/// A route in front of many steps, each case a list of ten.
pub fn nested(steps: usize) -> String {
    let mut text =
        String::from("flow: 1\nname: nested\ninputs: { message: text }\nsteps:\n  - id: answer\n    route: inputs.message\n    cases:\n");
    for case in 0..steps.div_ceil(10) {
        let _ = writeln!(text, "      - id: c{case}\n        phrases: [number {case}]\n        steps:\n          - {{ id: s0, set: x }}");
        for i in 1..10 {
            let _ = writeln!(text, "          - {{ id: s{i}, set: \"{{{{ steps.s{}.output }}}}\" }}", i - 1);
        }
    }
    text.push_str("    otherwise: { set: none }\noutputs: { text: \"{{ steps.answer.output }}\" }\n");
    text
}

/// Steps whose stand-ins run when they fail.
pub fn stand_ins(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: stand_ins\ntools: { web: { http: \"GET https://example.com/\" } }\nsteps:\n");
    for i in 0..steps.div_ceil(2) {
        let _ = writeln!(text, "  - {{ id: s{i}, tool: web, timeout: 5s, on_failure: t{i} }}\n  - {{ id: t{i}, set: none }}");
    }
    text.push_str("outputs:\n");
    for i in 0..steps.div_ceil(2) {
        let _ = writeln!(text, "  o{i}: \"{{{{ steps.s{i}.output | default(steps.t{i}.output) }}}}\"");
    }
    text
}

/// One step that is repeated for each element of a written list.
pub fn wide(elements: usize) -> String {
    let mut text = String::from("flow: 1\nname: wide\nsteps:\n  - id: each\n    for_each:\n");
    for i in 0..elements {
        let _ = writeln!(text, "      - {{ id: e{i}, text: \"number {i}\" }}");
    }
    text.push_str("    set: \"{{ item.text }}\"\noutputs: { all: \"{{ steps.each.output }}\" }\n");
    text
}

/// Tools, each used by one step.
pub fn tools(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: tools\ntools:\n");
    for i in 0..steps {
        let _ = writeln!(
            text,
            "  t{i}: {{ http: \"GET https://example.com/{i}\", query: {{ q: \"{{{{ with.q }}}}\" }}, arguments: {{ q: text }} }}"
        );
    }
    text.push_str("steps:\n");
    for i in 0..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, needs: [], tool: t{i}, timeout: 5s, with: {{ q: \"{i}\" }} }}");
    }
    text.push_str("outputs:\n");
    for i in 0..steps {
        let _ = writeln!(text, "  o{i}: \"{{{{ steps.s{i}.output }}}}\"");
    }
    text
}

/// Inputs, each given out again.
pub fn inputs(fields: usize) -> String {
    let mut text = String::from("flow: 1\nname: inputs\ninputs:\n");
    for i in 0..fields {
        let _ = writeln!(text, "  i{i}: {{ type: text, default: \"{i}\" }}");
    }
    text.push_str("steps:\n  - { id: one, set: 1 }\noutputs:\n  one: \"{{ steps.one.output }}\"\n");
    for i in 0..fields {
        let _ = writeln!(text, "  o{i}: \"{{{{ inputs.i{i} }}}}\"");
    }
    text
}

/// One scorecard of many criteria.
pub fn criteria(criteria: usize) -> String {
    let mut text = String::from("flow: 1\nname: criteria\nscorecards:\n  all:\n    criteria:\n");
    for i in 0..criteria {
        let _ = writeln!(text, "      - {{ id: c{i}, description: \"The text holds the word w{i}.\", check: {{ contains: w{i} }} }}");
    }
    text.push_str("steps:\n  - { id: draft, set: hello }\n  - { id: check, gate: all, of: steps.draft.output, otherwise: sorry }\noutputs: { text: \"{{ steps.check.output }}\" }\n");
    text
}

/// Drafts, each with its gate and scorecard.
pub fn gates(steps: usize) -> String {
    let pairs = steps.div_ceil(2);
    let mut text = String::from("flow: 1\nname: gates\nscorecards:\n");
    for i in 0..pairs {
        let _ =
            writeln!(text, "  k{i}: {{ criteria: [{{ id: c, description: \"The text holds a word.\", check: {{ contains: w{i} }} }}] }}");
    }
    text.push_str("steps:\n");
    for i in 0..pairs {
        let _ = writeln!(
            text,
            "  - {{ id: s{i}, needs: [], set: w{i} }}\n  - {{ id: g{i}, needs: [s{i}], gate: k{i}, of: steps.s{i}.output, otherwise: sorry }}"
        );
    }
    text.push_str("outputs:\n");
    for i in 0..pairs {
        let _ = writeln!(text, "  o{i}: \"{{{{ steps.g{i}.output }}}}\"");
    }
    text
}

/// A chain with a remark on each line, which hides a finding.
pub fn remarks(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: remarks\nsteps:\n");
    for i in 0..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, set: {i} }} # flow-ignore: F105 kept for later");
    }
    text.push_str("  - { id: last, set: 1 }\noutputs: { last: \"{{ steps.last.output }}\" }\n");
    text
}

/// Long texts.
pub fn prose(lines: usize) -> String {
    let mut text = String::from("flow: 1\nname: prose\ninputs: { who: text }\nsteps:\n");
    for i in 0..lines.div_ceil(500) {
        let _ = writeln!(text, "  - id: s{i}\n    set: |");
        for j in 0..500 {
            let _ = writeln!(text, "      Line {j} is for {{{{ inputs.who }}}}, who reads it.");
        }
    }
    let last = lines.div_ceil(500) - 1;
    let _ = writeln!(text, "outputs:");
    for i in 0..=last {
        let _ = writeln!(text, "  o{i}: \"{{{{ steps.s{i}.output }}}}\"");
    }
    text
}

fn steps(name: &str, head: &str, list: impl Iterator<Item = String>) -> String {
    let mut text = format!("flow: 1\nname: {name}\n{head}steps:\n");
    for step in list {
        let _ = writeln!(text, "  - {{ {step} }}");
    }
    text
}

fn one_id(n: usize) -> String {
    steps("one_id", "", (0..n).map(|_| "id: s, set: 1".to_owned()))
}

fn unknown_needs(n: usize) -> String {
    steps("unknown_needs", "", (0..n).map(|i| format!("id: step_number_{i}, needs: [step_nmuber_{i}], set: 1")))
}

fn unknown_steps(n: usize) -> String {
    steps("unknown_steps", "", (0..n).map(|i| format!("id: step_number_{i}, set: \"{{{{ steps.step_nmuber_{i}.output }}}}\"")))
}

fn unknown_inputs(n: usize) -> String {
    let mut head = "inputs:\n".to_owned();
    for i in 0..n {
        let _ = writeln!(head, "  name_{i}: text");
    }
    steps("unknown_inputs", &head, (0..n).map(|i| format!("id: s{i}, set: \"{{{{ inputs.nmae_{i} }}}}\"")))
}

fn beside(n: usize) -> String {
    let needs: Vec<String> = (0..n).map(|i| format!("a{i}")).collect();
    let mut text =
        steps("beside", "", (0..n).flat_map(|i| [format!("id: a{i}, needs: [], set: 1"), format!("id: b{i}, needs: [], set: 1")]));
    let _ = writeln!(text, "  - id: last\n    needs: [{}]\n    set:", needs.join(", "));
    for i in 0..n {
        let _ = writeln!(text, "      k{i}: \"{{{{ steps.b{i}.output }}}}\"");
    }
    text
}

fn circles(n: usize) -> String {
    steps("circles", "", (0..n).map(|i| format!("id: s{i}, needs: [s{}], set: 1", i ^ 1)))
}

fn one_circle(n: usize) -> String {
    steps("one_circle", "", (0..n).map(|i| format!("id: s{i}, needs: [s{}], set: 1", (i + 1) % n)))
}

fn tangle(n: usize) -> String {
    steps("tangle", "", (0..n).map(|i| format!("id: s{i}, needs: [s{}, s{}, s{}], set: 1", (i + 1) % n, (i * 7 + 3) % n, (i * 13 + 5) % n)))
}

const CARD: &str = "scorecards: { k: { criteria: [{ id: c, description: \"The text holds a word.\", check: { contains: w } }] } }\n";

fn refinements(n: usize) -> String {
    let list = (0..n / 2).flat_map(|i| {
        [format!("id: s{i}, needs: [], set: w"), format!("id: g{i}, needs: [s{i}], gate: k, of: steps.s{i}.output, refine: s{i}")]
    });
    steps("refinements", CARD, list)
}

fn refine_nothing(n: usize) -> String {
    let list = (0..n / 2).flat_map(|i| {
        [
            format!("id: step_{i}, needs: [], set: w"),
            format!("id: g{i}, needs: [step_{i}], gate: k, of: steps.step_{i}.output, refine: setp_{i}"),
        ]
    });
    steps("refine_nothing", CARD, list)
}

fn unused(n: usize) -> String {
    steps("unused", "", (0..n).map(|i| format!("id: s{i}, set: {i}")))
}

fn wrong_keys(n: usize) -> String {
    steps("wrong_keys", "", (0..n).map(|i| format!("id: s{i}, sett: {i}, nedes: []")))
}

fn imports(n: usize) -> String {
    let names: Vec<String> = (0..n).map(|i| format!("team_{i}.yaml")).collect();
    format!("flow: 1\nname: imports\nimports: [{}]\nsteps: [{{ id: one, set: 1 }}]\n", names.join(", "))
}

fn one_line(n: usize) -> String {
    let steps: Vec<String> = (0..n).map(|i| format!("{{id: s{i}, set: \"é\"}}")).collect();
    format!("{{flow: 1, name: one_line, steps: [{}]}}\n", steps.join(", "))
}

fn secrets(n: usize) -> String {
    let mut head = "secrets:\n".to_owned();
    for i in 0..n {
        let _ = writeln!(head, "  TOKEN_{i}: A token.");
    }
    steps(
        "secrets",
        &head,
        (0..n).map(|i| {
            format!("id: s{i}, timeout: 5s, http: \"GET https://example.com/\", headers: {{ X: \"{{{{ secrets.TKOEN_{i} }}}}\" }}")
        }),
    )
}

fn personal(n: usize) -> String {
    let mut head = "inputs:\n".to_owned();
    for i in 0..n {
        let _ = writeln!(head, "  name_{i}: {{ type: text, pii: true }}");
    }
    steps("personal", &head, (0..n).map(|i| format!("id: s{i}, set: \"{{{{ inputs.name_{i} }}}}\"")))
}

fn one_scorecard(n: usize) -> String {
    let mut head = "scorecards:\n  k:\n    criteria:\n".to_owned();
    for i in 0..n {
        let _ = writeln!(
            head,
            "      - {{ id: c{i}, description: \"The text holds the word.\", check: {{ contains: \"{{{{ with.w{i} }}}}\" }} }}"
        );
    }
    let list = std::iter::once("id: s, set: w".to_owned());
    steps("one_scorecard", &head, list.chain((0..n).map(|i| format!("id: g{i}, gate: k, of: steps.s.output, with: {{ w{i}: 1 }}"))))
}

fn default_list(n: usize) -> String {
    let words: Vec<String> = (0..n).map(|i| format!("w{i}")).collect();
    let other: Vec<String> = words.iter().rev().cloned().collect();
    let head = format!(
        "inputs:\n  words: {{ type: list, items: {{ type: text, enum: [{}] }}, default: [{}] }}\n",
        words.join(", "),
        other.join(", ")
    );
    steps("default_list", &head, std::iter::once("id: s, set: \"{{ inputs.words }}\"".to_owned()))
}

fn tests(n: usize) -> String {
    let mut text = steps("tests", "", (0..n).map(|i| format!("id: step_{i}, set: {i}")));
    text.push_str("tests:\n");
    for i in 0..n {
        let _ = writeln!(text, "  - {{ id: t{i}, replies: {{ setp_{i}: x }}, expect: {{ exit: 0 }} }}");
    }
    text
}

/// A test file of its own; it names no pipeline that is there.
fn shared(n: usize) -> String {
    let mut text = String::from("flow: 1\ntest: none.yaml\nreplies:\n");
    for i in 0..n {
        let _ = writeln!(text, "  step_{i}: A reply that is said to all.");
    }
    text.push_str("cases:\n");
    for i in 0..n {
        let _ = writeln!(text, "  - {{ id: t{i}, expect: {{ exit: 0 }} }}");
    }
    text
}

fn one_file(n: usize) -> String {
    steps(
        "one_file",
        "tools: { docs: { file: out, allow: [write] } }\n",
        (0..n).map(|i| format!("id: s{i}, needs: [], tool: docs.write, with: {{ name: a.txt, text: \"{i}\" }}")),
    )
}

fn one_output(n: usize) -> String {
    let fields: Vec<String> = (0..n).map(|i| format!("f{i}: {i}")).collect();
    let list = std::iter::once(format!("id: all, set: {{ {} }}", fields.join(", ")));
    steps("one_output", "", list.chain((0..n).map(|i| format!("id: s{i}, set: \"{{{{ steps.all.output.g{i} }}}}\""))))
}
