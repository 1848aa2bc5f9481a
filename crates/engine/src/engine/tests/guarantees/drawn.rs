//! Pipelines that are drawn from bytes.

use std::collections::BTreeSet;
use std::fmt::Write;

/// A pipeline, the one that it calls, and the ids of the steps that are marked `pii: true`.
pub(super) struct Drawn {
    pub(super) main: String,
    pub(super) inner: String,
    pub(super) marked: BTreeSet<String>,
}

/// Most tokens of each part that has limits.
pub(super) const MOST_TOKENS: u64 = 2_500;

const HEAD: &str = "\
models: { default: { provider: openai, model: m, base_url: \"http://127.0.0.1:9/v1\", max_output_tokens: 50, price: { input: 1, output: 1 } } }
agents:
  w: { instructions: Write.LIMITS }
  s: { instructions: Write., output: { mode: { type: text, enum: [a, b] }, text: text, sure: boolean }LIMITS }
  j: { instructions: Judge.LIMITS }
  free: { instructions: Call., tools: [hook]LIMITS }
  choosing: { instructions: Call., tools: [pick]LIMITS }
  asking: { instructions: Call., tools: [hook], policy: prompting }
  some_free: { instructions: Call., tools: [hook], policy: half }
  kept: { instructions: Call., tools: [hook, pick], policy: closedLIMITS }
  careful: { instructions: Call., tools: [hook], policy: judged }
policies:
  prompting: { permission_mode: prompt, network_access: { hosts: [\"127.0.0.1:9\"] } }
  half: { permission_mode: prompt, allowed_tools: [hook] }
  closed: { permission_mode: auto, disallowed_tools: [hook] }
  judged: { permission_mode: auto, untrusted: { hook(x): ask } }
scorecards:
  strict: { judge: j, criteria: [{ id: good, description: The text is good enough., expected: Good., judge: true }] }
  clean: { criteria: [{ id: nobody, description: It has no personal data at all., check: { pii: none } }] }
  lenient: { judge: j, on_judge_error: pass, criteria: [{ id: good, description: The text is good enough., expected: Good., judge: true }] }
tools:
  hook: { http: POST https://example.com/hook, arguments: { x: text }, body: { x: \"{{ with.x }}\" } }
  pick: { http: POST https://example.com/pick, arguments: { m: { type: text, enum: [a, b] }, sure: boolean, list: { type: list, items: { type: text, enum: [a, b] } } }, body: { x: \"{{ with }}\" } }
";

/// A step that later steps may read.
#[derive(Clone)]
struct Known {
    id: String,
    /// The parts of its output that can be read.
    parts: &'static [&'static str],
}

struct Drawing<'c> {
    choices: std::slice::Iter<'c, u8>,
    known: Vec<Known>,
    marked: BTreeSet<String>,
    next: usize,
    prefix: &'static str,
    calls: bool,
}

impl Drawn {
    pub(super) fn from(choices: &[u8]) -> Drawn {
        let mut drawing = Drawing { choices: choices.iter(), known: vec![], marked: BTreeSet::new(), next: 0, prefix: "i", calls: false };
        let (limits, head) = drawing.head("");
        let mut inner = format!(
            "flow: 1\nname: inner\n{limits}inputs: {{ x: text, m: {{ type: text, enum: [a, b], default: a }}, phone: {{ type: text, pii: true, default: none }} }}\n{head}steps:\n"
        );
        let steps = 1 + drawing.below(3);
        for _ in 0..steps {
            drawing.step(&mut inner, 1);
        }
        let value = drawing.text();
        let _ = writeln!(inner, "outputs: {{ y: {value} }}");
        drawing = Drawing { known: vec![], prefix: "s", calls: true, next: 0, ..drawing };
        let (limits, head) = drawing.head("  inside: { pipeline: inner.yaml }\n");
        let mut main = format!(
            "flow: 1\nname: main\n{limits}inputs: {{ topic: text, mode: {{ type: text, enum: [a, b] }}, phone: {{ type: text, pii: true }}, chosen: {{ type: text, enum: [PHONEOFANN, other], pii: true }} }}\n{head}steps:\n"
        );
        let steps = 2 + drawing.below(5);
        for _ in 0..steps {
            drawing.step(&mut main, 1);
        }
        let (first, second) = (drawing.text(), drawing.text());
        let _ = writeln!(main, "outputs: {{ first: {first}, second: {second} }}");
        Drawn { main, inner, marked: drawing.marked }
    }
}

impl Drawing<'_> {
    fn below(&mut self, most: usize) -> usize {
        usize::from(self.choices.next().copied().unwrap_or_default()) % most
    }

    /// Limits of the file, and its definitions; with more tools, one of them an agent's.
    fn head(&mut self, more_tools: &str) -> (String, String) {
        let (of_file, of_agents) = match self.below(8) {
            0 => (format!("limits: {{ max_tokens: {MOST_TOKENS}, deadline: 1m }}\n"), String::new()),
            1 | 2 => (String::new(), format!(", limits: {{ max_tokens: {MOST_TOKENS}, deadline: 1m }}")),
            _ => (String::new(), String::new()),
        };
        let agents = if more_tools.is_empty() { "" } else { "agents:\n  nested: { instructions: Call., tools: [inside]LIMITS }\n" };
        let head = if agents.is_empty() { HEAD.to_owned() } else { HEAD.replace("agents:\n", agents) };
        (of_file, format!("{head}{more_tools}").replace("LIMITS", &of_agents))
    }

    /// A path that may be read here.
    fn path(&mut self) -> String {
        let inputs: &[&str] = if self.calls { &["topic", "mode", "phone", "chosen"] } else { &["x", "m", "phone"] };
        let place = self.below(self.known.len() * 3 + inputs.len());
        if place < inputs.len() {
            return format!("inputs.{}", inputs[place]);
        }
        let known = self.known[(place - inputs.len()) % self.known.len()].clone();
        let part = known.parts[self.below(known.parts.len())];
        format!("steps.{}.output{part}", known.id)
    }

    /// A text in quotes.
    fn text(&mut self) -> String {
        let (x, y) = (self.path(), self.path());
        let whole = self.known.first().map_or("inputs".to_owned(), |known| format!("steps.{}", known.id));
        let form = match self.below(22) {
            16 => format!("{{{{ {whole} | tojson }}}}"),
            17 => "{{ steps | tojson }}".to_owned(),
            18 => format!("{{{{ {whole}.error.message | default('none') }}}}"),
            19 => format!("{{{{ {whole}.details | default('none') | tojson }}}}"),
            20 => format!("{{% for k in ['output'] %}}{{{{ {whole}[k] | default('none') }}}}{{% endfor %}}"),
            21 => format!("{{{{ ({whole} or {{}}).output | default('none') }}}}"),
            0..=3 => format!("{{{{ {x} }}}}"),
            4 => format!("Say {{{{ {x} }}}} and {{{{ {y} }}}}"),
            5 => format!("{{{{ {x} | default('none') }}}}"),
            6 => format!("{{{{ 'yes' if {x} else 'no' }}}}"),
            7 => format!("{{% if {x} %}}{{{{ {y} }}}}{{% else %}}nothing{{% endif %}}"),
            8 => format!("{{{{ {x} | tojson | length }}}}"),
            9 => format!("{{% for one in [{x}, 'x'] %}}{{{{ one }}}}{{% endfor %}}"),
            10 => format!("{{{{ [{x}, {y}] | join(' ') }}}}"),
            11 => format!("{{{{ {{'k': {x}}}.k }}}}"),
            12 => format!("{{{{ {x} if {y} == 'a' else 'b' }}}}"),
            13 => format!("{{{{ {x} | tojson | upper }}}}"),
            14 => format!("{{{{ {x} or {y} }}}}"),
            _ => "Fixed words.".to_owned(),
        };
        format!("\"{form}\"")
    }

    fn new_id(&mut self) -> String {
        self.next += 1;
        format!("{}{}", self.prefix, self.next)
    }

    fn knows(&mut self, id: &str, parts: &'static [&'static str]) {
        self.known.push(Known { id: id.to_owned(), parts });
    }

    fn step(&mut self, out: &mut String, depth: usize) {
        let id = self.new_id();
        let pad = "  ".repeat(depth);
        let mark = if self.below(3) == 0 { ", pii: true" } else { "" };
        if !mark.is_empty() {
            self.marked.insert(id.clone());
        }
        let name = if self.below(16) == 0 { format!(", name: {}", self.text()) } else { String::new() };
        let more = format!("{mark}{name}");
        let kinds = if depth > 2 { 11 } else { 16 };
        match self.below(kinds) {
            10 => {
                let text = self.text();
                let agents = ["choosing", "asking", "kept", "free", "some_free", "careful", "choosing", "nested"];
                let agent = agents[self.below(if self.calls { agents.len() } else { agents.len() - 1 })];
                let time = if self.below(2) == 0 { ", deadline: 1m" } else { "" };
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, agent: {agent}, prompt: {text}{time} }}");
                self.knows(&id, &[""]);
            }
            0 | 1 => {
                let text = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, agent: w, prompt: {text} }}");
                self.knows(&id, &[""]);
            }
            2 => {
                let text = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, agent: s, prompt: {text} }}");
                self.knows(&id, &[".mode", ".text", ".sure"]);
            }
            3 => {
                let text = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, set: {text} }}");
                self.knows(&id, &[""]);
            }
            4 => {
                let (a, b) = (self.text(), self.text());
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, set: {{ a: {a}, b: {{ c: {b} }} }} }}");
                self.knows(&id, &[".a", ".b.c", ".b"]);
            }
            5 | 6 => {
                let of = self.path();
                let card = ["strict", "clean", "lenient", "[clean, strict]"][self.below(4)];
                let otherwise = match self.below(3) {
                    0 => format!(", otherwise: {}", self.text()),
                    1 => ", otherwise: Fixed words.".to_owned(),
                    _ => String::new(),
                };
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, gate: {card}, of: \"{of}\"{otherwise}, on_failure: continue }}");
                self.knows(&id, &[" | default('none')"]);
            }
            7 => {
                let text = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, http: POST https://example.com/x, body: {{ x: {text} }} }}");
                self.knows(&id, &[".body.x", ".status"]);
            }
            8 => {
                let text = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, tool: hook, with: {{ x: {text} }} }}");
                self.knows(&id, &[".x"]);
            }
            9 => {
                let path = self.path();
                let to = ["stdout", "hook"][self.below(2)];
                let with = if to == "hook" { ", with: { x: fixed }" } else { "" };
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, send: {to}, of: \"{path}\"{with} }}");
            }
            11 | 12 => {
                let subject = self.path();
                let _ = writeln!(out, "{pad}- id: {id}\n{pad}  route: \"{subject}\"\n{pad}  cases:");
                let before = self.known.clone();
                for case in ["one", "two"] {
                    let _ = writeln!(out, "{pad}    - id: {case}\n{pad}      phrases: [{case}]\n{pad}      steps:");
                    self.step(out, depth + 4);
                    self.known = before.clone();
                }
                let text = self.text();
                let _ = writeln!(out, "{pad}  otherwise: {{ set: {text} }}");
                self.knows(&id, &[""]);
            }
            13 => {
                let (x, y) = (self.text(), self.text());
                let inner = ["set: \"{{ item }}\"", "agent: w, prompt: \"About {{ item }}\""][self.below(2)];
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, for_each: [{x}, {y}], {inner} }}");
                self.knows(&id, &["", "[0]"]);
            }
            _ if self.calls => {
                let x = self.text();
                let phone = if self.below(2) == 0 { format!(", phone: {}", self.text()) } else { String::new() };
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, call: inner.yaml, with: {{ x: {x}{phone} }} }}");
                self.knows(&id, &[".y"]);
            }
            _ => {
                let (question, show) = (self.text(), self.text());
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, approval: {question}, show: {show} }}");
                self.knows(&id, &[".comment"]);
            }
        }
    }
}
