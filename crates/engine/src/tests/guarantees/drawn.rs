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
  telling: { instructions: Call., tools: [say] }
  reading: { instructions: Call., tools: [disk.read] }
data: { people: { file: people.csv, pii: [phone] }, hours: { file: hours.csv } }
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
  say: { program: [say, \"{{ inputs.phone }}\"], reads_only: true, arguments: { x: text } }
  disk: { file: out, allow: [write, read] }
";

/// How many of the queries give the personal column.
pub(super) const PERSONAL_QUERIES: usize = 6;

/// Queries, of which the first ones give the personal column. Where one fails, it quotes a cell of any of its tables.
pub(super) const QUERIES: [&str; 9] = [
    "select distinct * from people",
    "select phone from ((select phone from people) as z)",
    "select phone from hours, people",
    "select p.phone from main.people p",
    "select y as z from (select phone as y from people join hours on people.id = pid)",
    "select j.value from people, json_each(json_array(phone)) as j",
    "select people.id, count(phone) as n from people join hours on people.id = pid group by people.id",
    "select pid from hours",
    "select id from people where phone > 3",
];

/// A step that later steps may read.
#[derive(Clone)]
struct Known {
    id: String,
    /// What can be read of it, behind its id.
    parts: Vec<String>,
}

struct Drawing<'c> {
    choices: std::slice::Iter<'c, u8>,
    known: Vec<Known>,
    /// The steps of the loop around, which are read of the round before.
    rounds: Vec<String>,
    /// The steps of the same list so far, one of which a gate may send back.
    above: Vec<String>,
    /// A gate of the file has `refine`.
    is_refined: bool,
    /// There is an element of a list.
    in_each: bool,
    /// The fields of that element, if it is what steps of a group gave.
    fields: Vec<String>,
    marked: BTreeSet<String>,
    next: usize,
    prefix: &'static str,
    calls: bool,
}

impl Drawn {
    pub(super) fn from(choices: &[u8]) -> Drawn {
        let mut drawing = Drawing {
            choices: choices.iter(),
            known: vec![],
            rounds: vec![],
            above: vec![],
            is_refined: false,
            in_each: false,
            fields: vec![],
            marked: BTreeSet::new(),
            next: 0,
            prefix: "i",
            calls: false,
        };
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
        drawing = Drawing { known: vec![], above: vec![], is_refined: false, prefix: "s", calls: true, next: 0, ..drawing };
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
        if self.in_each && self.below(if self.fields.is_empty() { 4 } else { 2 }) == 0 {
            let place = self.below(self.fields.len() + 1);
            return self.fields.get(place).map_or_else(|| "item".to_owned(), |field| format!("item.{field}"));
        }
        if !self.rounds.is_empty() && self.below(3) == 0 {
            let at = self.below(self.rounds.len());
            let id = self.rounds[at].clone();
            return match self.below(8) {
                0 => "previous | tojson".to_owned(),
                1 => format!("previous.{id} | default('none') | tojson"),
                2 => format!("previous.{id}.error.message | default('none')"),
                3 => format!("previous.{id}.details | default('none') | tojson"),
                _ => format!("previous.{id}.output | default('none')"),
            };
        }
        if self.below(16) == 0 {
            return ["refinement.feedback", "refinement.original", "refinement | tojson"][self.below(3)].to_owned();
        }
        let place = self.below(self.known.len() * 3 + inputs.len());
        if place < inputs.len() {
            return format!("inputs.{}", inputs[place]);
        }
        let known = self.known[(place - inputs.len()) % self.known.len()].clone();
        let part = &known.parts[self.below(known.parts.len())];
        format!("steps.{}.{part}", known.id)
    }

    /// A text in quotes.
    fn text(&mut self) -> String {
        let (x, y) = (self.path(), self.path());
        let whole = self.known.first().map_or("inputs".to_owned(), |known| format!("steps.{}", known.id));
        let forms = if self.known.is_empty() { 16 } else { 22 };
        let form = match self.below(forms) {
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
            // One field of each element.
            _ if let Some((list, field)) = x.split_once("[0].").filter(|_| !x.contains('|')) => match self.below(10) {
                1 => format!("{{{{ ({list} | first).{field} | default('none') }}}}"),
                2 => format!("{{{{ {list}[-1].{field} | default('none') }}}}"),
                3 => format!("{{{{ {list}[:1] | map(attribute='{field}', default='none') | join(' ') }}}}"),
                4 => format!("{{{{ {list} | reverse | list | map(attribute='{field}', default='none') | list | last }}}}"),
                5 => format!("{{% for k, es in {list} | groupby('{field}', default='none') %}}{{{{ k }}}}{{% endfor %}}"),
                6 => format!(
                    "{{% for g in {list} | groupby('{field}', default='none') %}}{{{{ g.list | map(attribute='{field}', default='none') | join }}}}{{% endfor %}}"
                ),
                7 => format!("{{{{ ({list} | selectattr('{field}') | list + [{{}}])[0].{field} | default('none') }}}}"),
                8 => format!("{{{{ {list} | sort(attribute='{field}') | map(attribute='{field}') | join(' ') }}}}"),
                0 => format!("{{% for one in {list} %}}{{{{ one.{field} | default('none') }}}}{{% endfor %}}"),
                _ => format!("{{{{ {list} | map(attribute='{field}', default='none') | join(' ') }}}}"),
            },
            _ => "Fixed words.".to_owned(),
        };
        format!("\"{form}\"")
    }

    fn new_id(&mut self) -> String {
        self.next += 1;
        format!("{}{}", self.prefix, self.next)
    }

    fn knows(&mut self, id: &str, parts: &[&str]) {
        self.known.push(Known { id: id.to_owned(), parts: parts.iter().map(|part| format!("output{part}")).collect() });
    }

    /// A step that may have failed.
    fn knows_failure(&mut self, id: String) {
        let members = ["output", "error.message", "error.message", "details.stderr"];
        self.known.push(Known { id, parts: members.iter().map(|member| format!("{member} | default('none')")).collect() });
    }

    /// The steps of a group or a loop; a loop's ids are there before its steps are, for those that read the round before.
    fn list(&mut self, out: &mut String, depth: usize, in_order: bool, is_loop: bool) -> Vec<String> {
        let ids: Vec<String> = (0..1 + self.below(3)).map(|_| self.new_id()).collect();
        let around = if is_loop { std::mem::replace(&mut self.rounds, ids.clone()) } else { self.rounds.clone() };
        let above = std::mem::take(&mut self.above);
        let before = self.known.len();
        for id in &ids {
            let siblings = if in_order { vec![] } else { self.known.split_off(before) };
            self.named_step(out, depth, id.clone());
            self.known.extend(siblings);
            if in_order {
                self.above.push(id.clone());
            }
        }
        (self.rounds, self.above) = (around, above);
        ids
    }

    /// What steps of a list give, read from outside.
    fn parts_of(&self, ids: &[String], output: &str) -> Vec<String> {
        let inside = self.known.iter().filter(|known| ids.contains(&known.id));
        let parts = inside.flat_map(|known| known.parts.iter().map(|part| part.replacen("output", &format!("{output}.{}", known.id), 1)));
        std::iter::once("output".to_owned()).chain(parts).collect()
    }

    fn step(&mut self, out: &mut String, depth: usize) {
        let id = self.new_id();
        self.named_step(out, depth, id.clone());
        self.above.push(id);
    }

    #[expect(clippy::too_many_lines, reason = "one list of cases")]
    fn named_step(&mut self, out: &mut String, depth: usize, id: String) {
        let pad = "  ".repeat(depth);
        let mark = if self.below(3) == 0 { ", pii: true" } else { "" };
        if !mark.is_empty() {
            self.marked.insert(id.clone());
        }
        let name = if self.below(16) == 0 { format!(", name: {}", self.text()) } else { String::new() };
        let more = format!("{mark}{name}");
        let lines = format!("{}{}", mark.replace(", ", &format!("\n{pad}  ")), name.replacen(", ", &format!("\n{pad}  "), 1));
        let kinds = if depth > 3 { 11 } else { 34 };
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
                let refine = if self.is_refined || self.above.is_empty() || depth == 1 && self.below(3) > 0 {
                    String::new()
                } else {
                    self.is_refined = true;
                    let at = self.below(self.above.len());
                    format!(", refine: {}", self.above[at])
                };
                let (allowed, stand_in) = match otherwise.is_empty() && self.below(2) == 0 {
                    true => (format!(", on_failure: {id}_in"), Some(self.text())),
                    false => (String::new(), None),
                };
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, gate: {card}, of: \"{of}\"{refine}{otherwise}{allowed} }}");
                self.knows(&id, &[" | default('none')"]);
                if let Some(text) = stand_in {
                    let _ = writeln!(out, "{pad}- {{ id: {id}_in, set: {text} }}");
                    self.knows(&format!("{id}_in"), &[" | default('none')"]);
                }
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
                let _ = writeln!(out, "{pad}- id: {id}{lines}\n{pad}  route: \"{subject}\"\n{pad}  cases:");
                let before = self.known.clone();
                for case in ["one", "two"] {
                    let _ = writeln!(out, "{pad}    - id: {case}\n{pad}      phrases: [{case}]\n{pad}      steps:");
                    let above = std::mem::take(&mut self.above);
                    self.step(out, depth + 4);
                    (self.known, self.above) = (before.clone(), above);
                }
                let text = self.text();
                let _ = writeln!(out, "{pad}  otherwise: {{ set: {text} }}");
                self.knows(&id, &[""]);
            }
            13 if !self.in_each => {
                let (x, y) = (self.text(), self.text());
                let inner = ["set: \"{{ item }}\"", "agent: w, prompt: \"About {{ item }}\""][self.below(2)];
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, for_each: [{x}, {y}], {inner} }}");
                self.knows(&id, &["", "[0]"]);
            }
            16..=18 => {
                let before = self.known.clone();
                // The elements are texts, or what the steps of a group gave.
                let is_list = |known: &&Known| known.parts.iter().any(|part| part.starts_with("output[0]."));
                let lists: Vec<Known> = self.known.iter().filter(is_list).cloned().collect();
                let of_group = lists.get(self.below(lists.len() + 1)).cloned().filter(|_| !self.in_each);
                let list = match &of_group {
                    Some(known) => Some(format!("\n{pad}  for_each: steps.{}.output", known.id)),
                    None => (self.below(3) == 0 && !self.in_each).then(|| format!("\n{pad}  for_each: [{}, {}]", self.text(), self.text())),
                };
                let parts = of_group.into_iter().flat_map(|known| known.parts);
                let fields: Vec<String> = parts.filter_map(|part| Some(part.strip_prefix("output[0].")?.to_owned())).collect();
                let parallel = if self.below(3) == 0 { format!("\n{pad}  parallel: true") } else { String::new() };
                let _ = writeln!(out, "{pad}- id: {id}{lines}{}{parallel}\n{pad}  steps:", list.as_deref().unwrap_or_default());
                let around = self.in_each;
                self.in_each |= list.is_some();
                let outside = std::mem::replace(&mut self.fields, fields);
                let ids = self.list(out, depth + 2, parallel.is_empty(), false);
                (self.in_each, self.fields) = (around, outside);
                let parts = self.parts_of(&ids, if list.is_some() { "output[0]" } else { "output" });
                self.known = before;
                self.known.push(Known { id, parts });
            }
            19..=21 => {
                let before = self.known.clone();
                let mut steps = String::new();
                let ids = self.list(&mut steps, depth + 2, true, true);
                let around = std::mem::replace(&mut self.rounds, ids.clone());
                let until = match self.below(5) {
                    0 => "false".to_owned(),
                    1 => "true".to_owned(),
                    2 => format!("not {}", self.path()),
                    3 => format!("{} == 'a'", self.path()),
                    _ => format!("steps.{}.status == 'succeeded'", ids[0]),
                };
                self.rounds = around;
                let more = ["", ", unmet: keep", ", unmet: keep, stop_on_same: 1"][self.below(3)];
                let repeat = format!("repeat: {{ until: \"{until}\", at_most: {}{more} }}", 2 + self.below(3));
                let _ = write!(out, "{pad}- id: {id}{lines}\n{pad}  {repeat}\n{pad}  on_failure: continue\n{pad}  steps:\n{steps}");
                let parts = self.parts_of(&ids, "output").into_iter().map(|part| {
                    // The loop may have failed.
                    if part.contains('|') { part } else { format!("{part} | default('none')") }
                });
                let parts = parts.collect();
                self.known = before;
                self.known.push(Known { id, parts });
            }
            22 => {
                let query = QUERIES[self.below(QUERIES.len())];
                if self.below(2) == 0 {
                    let _ = writeln!(out, "{pad}- {{ id: {id}{more}, sql: \"{query}\" }}");
                    self.knows(&id, &[""]);
                } else {
                    let _ = writeln!(out, "{pad}- {{ id: {id}{more}, sql: \"{query}\", on_failure: continue }}");
                    self.knows_failure(id);
                }
            }
            // What is only tested may be quoted where it does not fit.
            27 | 28 => {
                let path = self.path();
                let how = match self.below(6) {
                    0 => format!("when: \"{path} | int > 3\", set: x"),
                    1 => format!("set: \"{{{{ 'a' if {path} | int > 3 else 'b' }}}}\""),
                    2 => format!("set: \"{{{{ {path} | tojson | fromjson | int == 1 }}}}\""),
                    3 => format!("set: \"{{{{ {{'a': 1}}[{path}] }}}}\""),
                    4 => format!("set: \"{{{{ range({path} | int) | length }}}}\""),
                    _ => format!("for_each: [1, 2], set: \"{{% if {path} | float > item %}}x{{% endif %}}\", fail_fast: true"),
                };
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, {how}, on_failure: continue }}");
                self.knows_failure(id);
            }
            29 => {
                let text = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, program: [fail, {text}], reads_only: true, on_failure: continue }}");
                self.knows_failure(id);
            }
            // A person sees a value, and it goes on.
            30 | 31 => {
                let (path, other) = (self.path(), self.path());
                let path = path.split(" | ").next().unwrap_or_default();
                let shown = if self.below(4) == 0 { &other } else { path };
                let _ = writeln!(out, "{pad}- {{ id: {id}_ask, approval: Is this right?, show: \"{{{{ {shown} }}}}\" }}");
                let body = format!("body: {{ x: \"{{{{ {path} }}}}\" }}");
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, http: POST https://example.com/x, {body}, needs: [{id}_ask] }}");
                self.knows(&id, &[".body.x"]);
            }
            32 => {
                let (prompt, feedback) = (self.text(), self.text());
                let path = self.path();
                let (check, judge) = match self.below(2) {
                    0 => (format!("check: {{ contains: zzz }}, feedback: {feedback}"), ""),
                    _ => ("judge: true, expected: Good.".to_owned(), "judge: j, "),
                };
                let accept = format!("accept: [{{ id: good, description: It is good enough., {check} }}]");
                let with = format!("with: {{ more: \"{path}\" }}, {judge}max_attempts: 2, on_failure: continue");
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, task: w, prompt: {prompt}, artefact: text, {accept}, {with} }}");
                self.knows_failure(id);
            }
            33 => {
                let topic = self.text();
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, dialogue: [w, careful], topic: {topic}, max_turns: 2 }}");
                self.knows(&id, &["", ".reason", ".turns", ".ended"]);
            }
            23 => {
                let text = self.text();
                let how = ["program: [say, VALUE], reads_only: true", "program: [say], input: VALUE, reads_only: true"][self.below(2)];
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, {} }}", how.replace("VALUE", &text));
                self.knows(&id, &[""]);
            }
            24 => {
                let text = self.text();
                let call =
                    ["tool: say, with: { x: VALUE }", "agent: telling, prompt: VALUE", "agent: reading, prompt: VALUE"][self.below(3)];
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, {} }}", call.replace("VALUE", &text));
                self.knows(&id, &[""]);
            }
            25 => {
                let text = self.text();
                let name = ["a.txt", "\"{{ inputs.phone }}\""][self.below(2)];
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, send: disk, of: {text}, with: {{ name: {name} }} }}");
                self.knows(&id, &[""]);
            }
            26 => {
                let _ = writeln!(out, "{pad}- {{ id: {id}{more}, tool: disk.read, with: {{ name: a.txt }} }}");
                self.knows(&id, &[""]);
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
