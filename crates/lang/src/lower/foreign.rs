//! Keys of other tools that have another form here, or no counterpart: what is written instead, or why they must go.
//! A key that only has another name is in [`super::aliases`].
//!
//! How to add one: a line in the table of its place.

use serde_json::{Map as Object, Value, json};

use super::aliases::{PROGRAM_STEPS, type_alias};
use super::written_form::written_form;
use crate::diagnostic::listed;
use crate::syntax::{Map, Node, NodeKind};

/// How a help begins by which the keys go.
const KEYS_THAT_GO: &str = "remove {keys}";

/// Keys of other tools that say one thing together.
pub(super) struct ForeignKey {
    /// Where they stand: the first table of the place, and one more that must be among its tables, or nothing.
    place: (&'static str, &'static str),
    /// Lower case, `_` for `-`.
    written: &'static [&'static str],
    /// The key here that says it: it is then not missing, and what depends on it is not known.
    pub(super) instead: Option<&'static str>,
    /// What to do.
    help: &'static str,
    /// The same with the author's own words, where they tell enough.
    own_words: Option<fn(&Map, &Node) -> Option<String>>,
}

const fn gone(place: (&'static str, &'static str), written: &'static [&'static str], help: &'static str) -> ForeignKey {
    ForeignKey { place, written, instead: None, help, own_words: None }
}

const fn said(
    place: (&'static str, &'static str),
    written: &'static [&'static str],
    instead: &'static str,
    help: &'static str,
    own_words: Option<fn(&Map, &Node) -> Option<String>>,
) -> ForeignKey {
    ForeignKey { place, written, instead: Some(instead), help, own_words }
}

const AGENT: (&str, &str) = ("agent", "");
const MODEL: (&str, &str) = ("model", "");
const PIPELINE: (&str, &str) = ("pipeline", "");
const STEP: (&str, &str) = ("step", "");
const SEND: (&str, &str) = ("step", "send");
const TOOL: (&str, &str) = ("tool", "");

static KEYS: &[ForeignKey] = &[
    // Steps.
    said(
        ("case", ""),
        &["next", "goto", "then"],
        "steps",
        "write in the case itself what it does: agent: with its prompt, set: …, or steps: [ … ]",
        Some(|own, node| {
            let step = &node.as_scalar()?.text;
            let (key, _) = own.entries.iter().find(|(_, value)| std::ptr::eq(value, node))?;
            Some(format!("write the keys of step {step} other than id here, in place of {}: {step}, and remove step {step}", key.text))
        }),
    ),
    gone(
        STEP,
        &["next", "goto", "then", "transition"],
        "remove {keys}: the steps run from top to bottom, and needs names others that a step waits for",
    ),
    ForeignKey {
        own_words: Some(edges),
        ..gone(
            STEP,
            &["conditional_edges", "edges", "edge", "transitions"],
            "remove {keys}, and write when: with a condition in the step that runs only then, such as when: steps.ID.output.NAME",
        )
    },
    said(STEP, &["strategy"], "for_each", "write for_each: with the list, and as: with a name for each element", Some(matrix)),
    gone(
        STEP,
        &["image", "container", "runs_on", "services"],
        "remove {keys}: a program runs on this machine, in a sandbox; flow starts no containers",
    ),
    ForeignKey {
        own_words: Some(|own, node| {
            let folder = node.as_scalar()?.text.trim_end_matches('/');
            let why = "a program starts in the folder of this file";
            let program = own.get("program").and_then(|program| program.as_list()?.first()?.as_scalar());
            Some(match program.and_then(|program| Some((&program.text, starts_in(&program.text, folder)?))) {
                Some((program, option)) => format!("remove {{keys}}, and write {option} behind {program} in program: {why}"),
                None => format!("remove {{keys}}, and write the files in program as {folder}/NAME: {why}"),
            })
        }),
        ..gone(
            STEP,
            &["working_directory", "cwd", "workdir", "chdir"],
            "remove {keys}: a program starts in the folder of this file; give it another folder as an argument",
        )
    },
    gone(("step", "agent"), &["expected_output"], "remove {keys}, and write at the end of prompt what the answer is to be"),
    said(
        ("step", "agent"),
        &["messages"],
        "prompt",
        "write prompt: with what the user says; what the system says is instructions: of the agent",
        Some(chat),
    ),
    said(
        STEP,
        &["response_format", "output_format", "response_model"],
        "output",
        "write output: with the fields of the answer and their types, such as output: { tags: { type: list, items: text } }",
        Some(|own, _| {
            let id = &own.get("id")?.as_scalar()?.text;
            Some(format!(
                "write output: {{ tags: {{ type: list, items: text }} }} in its place, with your fields and their types; read one as steps.{id}.output.tags"
            ))
        }),
    ),
    gone(("step", "agent"), &["agents"], "move it to the agent: it stands beside its instructions, in the head of the file"),
    ForeignKey {
        own_words: Some(|own, node| {
            let agent = &own.get("agent")?.as_scalar()?.text;
            Some(format!(
                "move it to agent {agent}: write tools: {}, max_turns: 4 beside its instructions",
                written_form(&node.to_value())?
            ))
        }),
        ..gone(("step", "agent"), &["tools", "functions"], "move it to the agent: it stands beside instructions, with max_turns")
    },
    said(
        ("step", "agent"),
        &["scorecard", "scorecards", "criteria"],
        "gate",
        "write gate: with the name of the scorecard in place of agent, of: with what is judged, and otherwise:",
        Some(gate),
    ),
    gone(
        ("step", "gate"),
        &["max_retries", "retries", "max_rounds", "max_attempts", "attempts"],
        "remove {keys}: a gate refines once, and then gives otherwise; for more tries use a task step, which has max_attempts",
    ),
    ForeignKey {
        own_words: Some(stand_in),
        ..gone(
            ("step", "agent"),
            &["otherwise", "fallback", "default", "else"],
            "write it into a set step below, and on_failure: with the id of that step, which then stands in",
        )
    },
    ForeignKey {
        own_words: Some(|own, node| {
            let step = node.as_list()?.first()?;
            // A text alone needs no step.
            if let (1, Some(text)) = (node.as_list()?.len(), step.text_of("set").filter(|text| !text.contains(['{', '"', '\'']))) {
                let id = own.get("id").and_then(Node::as_scalar).map_or("ID", |id| &*id.text);
                return Some(format!(
                    "write on_failure: continue in its place, and | default('{text}') where a text reads steps.{id}.output without it"
                ));
            }
            Some(format!("write on_failure: {}, and this step below: - {}", step.text_of("id")?, written_form(&step.to_value())?))
        }),
        ..gone(
            STEP,
            &["rescue", "catch", "except", "on_error"],
            "write on_failure: continue, or on_failure: with the id of a step below, which then stands in",
        )
    },
    ForeignKey {
        own_words: Some(|_, node| {
            let line = node.as_scalar()?.text.trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_plain = !line.contains(['\n', '|', '&', ';', '$', '>', '<', '*', '"', '\'']);
            is_plain.then(|| {
                let program = written_form(&json!(words)).unwrap_or_default();
                format!("write program: {program}, which no shell reads; add ok_exits: [0, 1] if it exits with 1 and that is no failure")
            })
        }),
        ..said(STEP, &PROGRAM_STEPS, "program", "write program: [name, argument, …], which no shell reads; or python: with code", None)
    },
    said(
        ("step", "set"),
        &["else", "otherwise"],
        "set",
        "write both in one value: \"{{ A if CONDITION else B }}\"; or use a route, which has otherwise",
        Some(choice),
    ),
    said(
        SEND,
        &["to", "subject", "recipient", "cc", "bcc", "channel_id"],
        "with",
        "write it below with: { to: …, subject: … }",
        Some(below_with),
    ),
    said(
        SEND,
        &["text", "body", "message", "content"],
        "of",
        "write of: with the expression that gives the text, without braces",
        Some(of),
    ),
    // The head of a file.
    gone(
        PIPELINE,
        &["on", "trigger", "triggers", "schedule", "cron"],
        "remove {keys}: flow starts nothing by itself; let cron or another scheduler start flow run",
    ),
    gone(
        PIPELINE,
        &["process", "manager_llm", "entrypoint", "entry_point", "start_at", "edges"],
        "remove {keys}: the steps run from top to bottom, and needs names what a step waits for",
    ),
    said(
        PIPELINE,
        &["env", "environment", "variables"],
        "env",
        "write each value as an input with a default, and read it as inputs.NAME",
        Some(as_inputs),
    ),
    ForeignKey {
        own_words: Some(|own, _| {
            let name = own.entries.iter().find_map(|(_, node)| variable_read(node))?;
            Some(format!(
                "write secrets: {{ {name}: What it is. }} in its place, and secrets.{name} for env.{name}; flow run --env-file gives the file"
            ))
        }),
        ..gone(
            PIPELINE,
            &["env_file", "dotenv"],
            "write secrets: { NAME: What it is. } for each value, and read it as secrets.NAME; flow run --env-file gives the file",
        )
    },
    // Agents and models.
    said(AGENT, &["goal", "backstory", "role"], "instructions", "write instructions: one text with all that these keys say", Some(person)),
    gone(
        AGENT,
        &["memory"],
        "remove {keys}; write conversation: { id: …, message: inputs.NAME } in the head of the file, and history: true in the step",
    ),
    said(
        AGENT,
        &["response_format", "output_format", "response_model"],
        "output",
        "write output: with the fields of the answer and their types, such as output: { tags: { type: list, items: text } }",
        None,
    ),
    ForeignKey {
        own_words: Some(|own, node| {
            let other = &node.as_scalar()?.text;
            Some(match own.get("instructions") {
                Some(_) => {
                    format!(
                        "remove {{keys}}, and write out here what of agent {other} is wanted: an agent takes over nothing from another one"
                    )
                }
                None => format!("write instructions: with a text of its own in place of it: an agent takes over nothing from {other}"),
            })
        }),
        ..gone(
            AGENT,
            &["extends", "inherits", "base"],
            "remove {keys}, and write the instructions out: an agent takes over nothing from another one",
        )
    },
    gone(
        AGENT,
        &["temperature", "max_tokens", "top_p", "provider", "api_key", "base_url"],
        "remove {keys}, or move it to an entry of models, NAME: { provider: …, model: … }, and write model: NAME here",
    ),
    gone(AGENT, &["verbose", "allow_delegation"], "remove {keys}: it says nothing here; flow runs show tells what an agent did"),
    gone(
        MODEL,
        &["top_p", "top_k", "stop", "stream", "presence_penalty", "frequency_penalty", "n", "logprobs"],
        "remove {keys}: a model has only temperature, max_output_tokens and seed",
    ),
    said(("model", "cli"), &["command", "args"], "program", "write program: [NAME, ARGUMENT, …], one list", Some(program)),
    said(("model", "acp"), &["command", "args"], "program", "write program: [NAME, ARGUMENT, …], one list", Some(program)),
    // Tools, tables and documents.
    gone(TOOL, &["type", "transport"], "remove {keys}: command says that the server is started here, and url that it is somewhere else"),
    said(
        TOOL,
        &["parameters", "input_schema", "inputschema", "params", "schema"],
        "arguments",
        "write arguments: { NAME: text }, each with its type",
        Some(arguments),
    ),
    said(
        ("data", ""),
        &["url", "dsn", "connection", "connection_string"],
        "file",
        "write file: with the path of a file, such as ../data/NAME.csv; a table is a file, and no server is asked",
        Some(|own, _| {
            let keys: Vec<&str> = own.entries.iter().map(|(key, _)| &*key.text).filter(|key| *key != "file" && *key != "pii").collect();
            let name = own.get("table").and_then(Node::as_scalar).map_or("NAME", |table| &*table.text);
            Some(format!("write file: ../data/{name}.csv in place of {}: a table is a file, and no server is asked", keys.join(" and ")))
        }),
    ),
    gone(
        ("knowledge", ""),
        &["chunk_size", "chunk_overlap", "chunking", "splitter", "top_k", "vector_store"],
        "remove {keys}: pieces follow headings and paragraphs, and top of a search step says how many are given",
    ),
    // Policies.
    said(
        ("policy", ""),
        &["rules", "statement", "statements"],
        "allowed_tools",
        "write allowed_tools: [ … ] for what may be used, and disallowed_tools: [ … ] for what may not",
        Some(iam),
    ),
    gone(
        ("resource_limits", ""),
        &["cpu", "cpus", "processes"],
        "remove {keys}: what a policy bounds is time, cost_usd, tokens, memory and file_size",
    ),
    // What judges and tests.
    gone(
        ("scorecard", ""),
        &["threshold", "min_score", "pass_score", "weights"],
        "remove {keys}: all criteria must be met, and none has a weight",
    ),
    gone(("criterion", ""), &["weight", "score", "threshold"], "remove {keys}: all criteria must be met, and none has a weight"),
    said(
        ("check", ""),
        &["max_words", "word_count", "min_words"],
        "expression",
        "write expression: text | split | length <= 80",
        Some(|_, node| Some(format!("write expression: text | split | length <= {}", node.to_value().as_u64()?))),
    ),
    said(
        ("test case", ""),
        &["assert", "asserts", "assertions"],
        "expect",
        "write expect: { outputs: { NAME: { contains: TEXT } } }",
        Some(expectation),
    ),
    said(
        ("reply", ""),
        &["role", "content"],
        "text",
        "write the text itself",
        Some(|map, _| Some(format!("write the text itself, without keys: {}", written_form(&map.get("content")?.to_value())?))),
    ),
    // Fields.
    said(
        ("field", ""),
        &["anyof", "oneof", "nullable"],
        "type",
        "write type: with one type, and required: false where it may be missing",
        Some(one_type),
    ),
];

/// What other tools' keys of this place mean here.
pub(super) fn foreign(written: &str, places: &[&str]) -> Option<&'static ForeignKey> {
    let written = plain(written);
    let is_here = |foreign: &&ForeignKey| {
        let (first, other) = foreign.place;
        places.first() == Some(&first) && (other.is_empty() || places.contains(&other))
    };
    KEYS.iter().filter(is_here).find(|foreign| foreign.written.contains(&written.as_str()))
}

impl ForeignKey {
    /// Whether a key is one of these.
    pub(super) fn has(&self, written: &str) -> bool {
        self.written.contains(&plain(written).as_str())
    }

    /// Whether nothing more is to be said of a key than that it is called `name` here.
    pub(super) fn is_only_named(&self, name: &str, map: &Map, node: &Node) -> bool {
        let is_alone = map.entries.iter().filter(|(key, _)| self.has(&key.text)).count() == 1;
        self.instead == Some(name) && is_alone || self.own_words.is_some_and(|own| own(map, node).is_none())
    }

    /// What to do about these keys, the first of them with this value in this map; and whether they go.
    pub(super) fn help(&self, map: &Map, node: &Node, keys: &str) -> (String, bool) {
        let help = self.own_words.and_then(|own| own(map, node)).unwrap_or_else(|| self.help.to_owned());
        match help.strip_prefix(KEYS_THAT_GO) {
            Some(why) => (format!("remove {keys}{why}"), true),
            None => (help, false),
        }
    }
}

fn plain(written: &str) -> String {
    written.to_lowercase().replace('-', "_")
}

/// `strategy: { matrix: { language: [pt, pl] } }`.
fn matrix(_: &Map, node: &Node) -> Option<String> {
    match node.as_map()?.get("matrix")?.as_map()?.entries.as_slice() {
        [(name, list)] => Some(format!("write for_each: {} and as: {}", written_form(&list.to_value())?, name.text)),
        _ => None,
    }
}

/// A text that another tool gives where a step fails.
fn stand_in(map: &Map, node: &Node) -> Option<String> {
    let id = format!("{}_failed", map.get("id")?.as_scalar()?.text);
    let text = written_form(&node.as_scalar()?.value)?;
    let own = &map.get("id")?.as_scalar()?.text;
    Some(format!(
        "write on_failure: {id} in its place, and below this step: - {{ id: {id}, set: {text} }}; read both as steps.{own}.output | default(steps.{id}.output)"
    ))
}

/// Rules with `effect` and `actions`.
fn iam(_: &Map, node: &Node) -> Option<String> {
    let mut lists = (Vec::new(), Vec::new());
    for rule in node.as_list()? {
        let effect = rule.text_of("effect")?.to_lowercase();
        let actions = ["actions", "action"].iter().find_map(|key| rule.as_map()?.get(key))?;
        let list = if effect == "allow" { &mut lists.0 } else { &mut lists.1 };
        list.extend(actions.as_list().unwrap_or(std::slice::from_ref(actions)).iter().map(Node::to_value));
    }
    let keys = [("allowed_tools", lists.0), ("disallowed_tools", lists.1)];
    let keys = keys.into_iter().filter(|(_, list)| !list.is_empty());
    let keys: Option<Vec<String>> = keys.map(|(key, list)| Some(format!("{key}: {}", written_form(&Value::Array(list))?))).collect();
    Some(format!("write {}", keys?.join(" and ")))
}

/// The text of the user among messages of a chat.
fn chat(_: &Map, node: &Node) -> Option<String> {
    let of = |role: &str| node.as_list()?.iter().find(|message| message.text_of("role") == Some(role))?.text_of("content");
    let prompt = written_form(&json!(of("user")?))?;
    Some(match of("system") {
        Some(system) => {
            format!("write prompt: {prompt} here, and instructions: {} in the agent", written_form(&json!(system))?)
        }
        None => format!("write prompt: {prompt}"),
    })
}

/// The arguments by which a program that has them starts its work in another folder, as its manual says.
fn starts_in(program: &str, folder: &str) -> Option<String> {
    Some(match program.rsplit('/').next()? {
        "terraform" | "tofu" => format!("-chdir={folder}"),
        "git" | "make" | "ninja" | "tar" | "pnpm" => format!("-C, {folder}"),
        "npm" => format!("--prefix, {folder}"),
        "yarn" => format!("--cwd, {folder}"),
        _ => return None,
    })
}

/// `when`, `set` and `else` in one value.
fn choice(map: &Map, node: &Node) -> Option<String> {
    let (when, then, other) = (map.get("when")?.as_scalar()?, map.get("set")?.as_scalar()?, node.as_scalar()?);
    let is_plain = [&when.text, &then.text, &other.text].iter().all(|text| !text.contains(['\'', '"', '{', '\n']));
    is_plain.then(|| format!("write set: \"{{{{ '{}' if {} else '{}' }}}}\" without when and else", then.text, when.text, other.text))
}

/// What several keys say of an agent, as one text.
fn person(map: &Map, _: &Node) -> Option<String> {
    let texts: Vec<&str> = ["role", "goal", "backstory"].iter().filter_map(|key| Some(map.get(key)?.as_scalar()?.text.trim())).collect();
    let text = texts.iter().map(|text| text.trim_end_matches('.')).collect::<Vec<_>>().join(". ");
    if texts.len() < 2 { None } else { Some(format!("write instructions: {}", written_form(&json!(text + "."))?)) }
}

fn gate(map: &Map, node: &Node) -> Option<String> {
    let scorecard = written_form(&node.to_value())?;
    let of = map.get("prompt").and_then(|node| only_expression(&node.as_scalar()?.text)).unwrap_or("steps.ID.output");
    let own = map
        .entries
        .iter()
        .map(|(key, _)| &*key.text)
        .filter(|key| ["scorecard", "scorecards", "criteria", "agent", "prompt"].contains(key));
    let own = listed(&own.collect::<Vec<_>>(), "and");
    Some(format!("write gate: {scorecard}, of: {of} and otherwise: with a safe text, in place of {own}"))
}

/// The keys of a message that belong below `with`.
fn below_with(map: &Map, _: &Node) -> Option<String> {
    let is_one = |name: &str| ["to", "subject", "cc", "bcc"].contains(&name);
    let own: Object<String, Value> =
        map.entries.iter().filter(|(key, _)| is_one(&key.text)).map(|(key, node)| (key.text.clone(), node.to_value())).collect();
    if own.is_empty() { None } else { Some(format!("write with: {}", written_form(&Value::Object(own))?)) }
}

fn of(_: &Map, node: &Node) -> Option<String> {
    let path = only_expression(&node.as_scalar()?.text)?;
    Some(match path.strip_suffix(".text").filter(|step| step.ends_with(".output")) {
        Some(step) => format!("write of: {step}"),
        None => format!("write of: {path}"),
    })
}

/// Edges that say which step follows when: `{ risky: rewrite, fine: END }`.
fn edges(own: &Map, node: &Node) -> Option<String> {
    let id = &own.get("id")?.as_scalar()?.text;
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let conditions = node.as_map()?.entries.iter().filter_map(|(key, node)| {
        let step = &node.as_scalar()?.text;
        let is_step = plain(&key.text) && plain(step) && !step.eq_ignore_ascii_case("end");
        is_step.then(|| format!("when: steps.{id}.output.{} in step {step}", key.text))
    });
    let conditions: Vec<String> = conditions.collect();
    (!conditions.is_empty()).then(|| format!("remove {{keys}}, and write {}", conditions.join(", and ")))
}

/// The first variable of the environment that a part of a file reads.
fn variable_read(node: &Node) -> Option<String> {
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            let (_, rest) = scalar.text.split_once("{{")?.1.split_once("env.")?;
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            (!name.is_empty()).then_some(name)
        }
        NodeKind::List(list) => list.iter().find_map(variable_read),
        NodeKind::Map(map) => map.entries.iter().find_map(|(_, node)| variable_read(node)),
        NodeKind::Broken => None,
    }
}

/// What stands in the braces of a text that is nothing else.
fn only_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    (!inner.contains("{{")).then_some(inner)
}

fn as_inputs(_: &Map, node: &Node) -> Option<String> {
    let mut inputs = Object::new();
    for (key, node) in &node.as_map()?.entries {
        inputs.insert(key.text.to_lowercase(), json!({ "type": "text", "default": node.to_value() }));
    }
    let (first, inputs) = (inputs.keys().next()?.clone(), Value::Object(inputs));
    Some(format!("write inputs: {}, and {{{{ inputs.{first} }}}} where it is read", written_form(&inputs)?))
}

fn program(map: &Map, _: &Node) -> Option<String> {
    let mut words = match map.get("command")?.to_value() {
        Value::Array(words) => words,
        word => vec![word],
    };
    words.extend(map.get("args").and_then(Node::as_list).unwrap_or_default().iter().map(Node::to_value));
    Some(format!("write program: {}", written_form(&Value::Array(words))?))
}

/// The properties of a JSON Schema as arguments.
fn arguments(_: &Map, node: &Node) -> Option<String> {
    let mut arguments = Object::new();
    for (name, rules) in &node.as_map()?.get("properties")?.as_map()?.entries {
        let kind = rules.text_of("type")?;
        arguments.insert(name.text.clone(), json!(type_alias(kind).unwrap_or(kind)));
    }
    Some(format!("write arguments: {}", written_form(&Value::Object(arguments))?))
}

/// The first assertion of promptfoo.
fn expectation(_: &Map, node: &Node) -> Option<String> {
    let value = node.as_list()?.first()?.as_map()?.get("value")?.to_value();
    Some(format!("write expect: {{ outputs: {{ NAME: {} }} }} with the name of the output", written_form(&json!({ "contains": value }))?))
}

/// The type of `anyOf: [{ type: integer }, { type: "null" }]`.
fn one_type(_: &Map, node: &Node) -> Option<String> {
    let types: Vec<&str> = node.as_list()?.iter().filter_map(|one| one.text_of("type")).collect();
    match types.iter().filter(|word| **word != "null").collect::<Vec<_>>().as_slice() {
        [word] if types.contains(&"null") => Some(format!("write type: {}, required: false", type_alias(word).unwrap_or(word))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_another_tool_stands_once_at_its_place_and_its_help_says_what_to_do() {
        for (number, foreign) in KEYS.iter().enumerate() {
            for written in foreign.written {
                assert_eq!(plain(written), *written);
                let places = [foreign.place.0, foreign.place.1];
                let first = KEYS.iter().position(|other| {
                    let (first, more) = other.place;
                    first == places[0] && (more.is_empty() || more == places[1]) && other.written.contains(written)
                });
                assert_eq!(first, Some(number), "{written} of {places:?}");
            }
            assert!(["write ", "remove ", "move "].iter().any(|verb| foreign.help.starts_with(verb)), "{}", foreign.help);
        }
    }
}
