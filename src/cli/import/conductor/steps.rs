//! The steps of a workflow of Conductor: what each kind of part becomes.

use serde_json::Value;

use super::super::models::{ImportedModel, ImportedModels};
use super::super::words::{MeantName, NamesOf};
use super::super::yaml::map;
use super::super::*;
use super::graph::ArrangedPart;
use super::{FlowPart, OptionalParts, PartKind, PartPlace, RoutedWorkflow, WayOn, any_of};

pub(super) fn model(name: &str, settings: Option<&Node>, runtime: Option<&Node>) -> ImportedModel {
    let setting = |key: &str| settings.and_then(|node| number(node, key)).or_else(|| runtime.and_then(|node| number(node, key)));
    let provider = runtime.and_then(|node| text(node, "provider")).unwrap_or_default();
    ImportedModel {
        provider: if provider == "claude" || provider == "anthropic" { "anthropic" } else { "openai" },
        name: name.to_owned(),
        temperature: setting("temperature"),
        max_output_tokens: setting("max_tokens"),
        price: None,
    }
}

/// MCP servers as tools.
pub(super) fn tools(workflow: &Node, import: &mut Import) -> Vec<(String, Yaml)> {
    let mut taken = BTreeSet::new();
    let mut found = vec![];
    for (name, server) in entries(child(workflow, "runtime").and_then(|runtime| child(runtime, "mcp_servers"))) {
        let what = format!("server {name}");
        import.lose_others(
            server,
            &["type", "command", "args", "env", "url", "headers", "tools"],
            &format!("{what}: "),
            "has no counterpart",
        );
        let mut texts =
            |node: &Node| import.plain(&node.as_scalar().map(|scalar| scalar.text.clone()).unwrap_or_default(), node.span, &what);
        let mut list = |key: &str| child(server, key).and_then(Node::as_list).map(|list| Yaml::List(list.iter().map(&mut texts).collect()));
        let (args, allow) =
            (list("args"), list("tools").filter(|_| !items(child(server, "tools")).iter().any(|tool| tool.to_value() == "*")));
        let keyed = |key: &str, import: &mut Import| {
            let all = child(server, key)?.as_map()?;
            Some(map(all
                .entries
                .iter()
                .map(|(key, node)| {
                    (
                        key.text.clone(),
                        Some(import.plain(&node.as_scalar().map(|scalar| scalar.text.clone()).unwrap_or_default(), node.span, &what)),
                    )
                })
                .collect::<Vec<_>>()))
        };
        let (env, headers) = (keyed("env", import), keyed("headers", import));
        let one = |key: &str, import: &mut Import| {
            child(server, key).and_then(Node::as_scalar).map(|scalar| import.plain(&scalar.text, server.span, &what))
        };
        let (command, url) = (one("command", import), one("url", import));
        found.push((
            id(name, &mut taken),
            map([("command", command), ("args", args), ("env", env), ("url", url), ("headers", headers), ("allow", allow)]),
        ));
    }
    found
}

/// A field of inputs or of an output.
pub(super) fn field(node: &Node, name: &str, import: &mut Import) -> Yaml {
    let kind = match (text(node, "type").unwrap_or("string"), child(node, "properties")) {
        ("string", _) => "text",
        ("number", _) => "number",
        ("boolean", _) => "boolean",
        ("array", _) => "list",
        ("object", Some(_)) => "object",
        _ => "any",
    };
    let known = [
        "type", "description", "required", "default", "items", "properties", "enum", "pattern", "minimum", "maximum", "minLength",
        "maxLength", "nullable",
    ];
    import.lose_others(node, &known, &format!("{name}: "), "has no counterpart");
    let description = text(node, "description").map(|text| import.fixed(text, node.span, &format!("description of {name}")));
    let plain = |key: &str| child(node, key).map(Node::to_value).filter(|value| !value.is_null()).map(Yaml::Value);
    let items = child(node, "items").map(|items| field(items, name, import));
    let inner: Vec<_> = entries(child(node, "properties")).collect();
    let fields = (kind == "object")
        .then(|| map(inner.into_iter().map(|(name, node)| (name.to_owned(), Some(field(node, name, import)))).collect::<Vec<_>>()));
    let is_optional = child(node, "required").is_some_and(|node| node.to_value() == Value::Bool(false))
        || child(node, "nullable").is_some_and(|node| node.to_value() == Value::Bool(true));
    let default = plain("default");
    map([
        ("type", Some(kind.into())),
        ("description", description),
        ("required", (is_optional && default.is_none()).then_some(Yaml::Value(false.into()))),
        ("default", default),
        ("enum", plain("enum")),
        ("pattern", plain("pattern")),
        ("minimum", plain("minimum")),
        ("maximum", plain("maximum")),
        ("min_length", plain("minLength")),
        ("max_length", plain("maxLength")),
        ("items", items),
        ("fields", fields),
    ])
}

/// Writes the steps.
pub(super) struct StepWriter<'a> {
    pub(super) file: &'a RoutedWorkflow<'a>,
    pub(super) runtime: Option<&'a Node>,
    pub(super) models: ImportedModels,
    pub(super) agents: Vec<(String, Option<Yaml>)>,
    pub(super) tools: Vec<(String, Yaml)>,
    /// The most rounds of a loop.
    pub(super) rounds: u64,
    pub(super) optional: OptionalParts,
}

type StepKeys = Vec<(&'static str, Option<Yaml>)>;

impl StepWriter<'_> {
    pub(super) fn list(&mut self, arranged: &[ArrangedPart], scope: &[usize], entry: usize, import: &mut Import) -> Vec<Yaml> {
        arranged.iter().map(|unit| self.unit(unit, scope, entry, import)).collect()
    }

    fn unit(&mut self, unit: &ArrangedPart, scope: &[usize], entry: usize, import: &mut Import) -> Yaml {
        let file = self.file;
        let members = unit.members();
        let Some(part) = members.first().and_then(|first| file.part(*first)) else { return map::<&str>([]) };
        let at = members.first().and_then(|first| file.places.get(first)).map_or(0, |(_, at)| *at);
        let reader = (scope.to_vec(), at);
        let is_into = |edge: &&WayOn<'_>| edge.to.is_some_and(|to| members.contains(&to)) && !members.contains(&edge.from);
        let is_here = |edge: &&WayOn<'_>| file.places.get(&edge.from).is_some_and(|(loops, _)| loops.starts_with(scope));
        let ways: Vec<String> = file
            .edges
            .iter()
            .filter(is_into)
            .filter(is_here)
            .filter_map(|edge| file.way(edge, scope, &reader, &self.optional, import))
            .collect();
        let when = if members.contains(&entry) { String::new() } else { any_of(ways) };
        let (span, what) = (part.node.span, format!("{}: routes to it (without them it is not done)", part.name));
        let when = (!when.is_empty()).then(|| import.words(vec![TextPiece::Text(when)], Manner::Bare, span, &what));
        match unit {
            ArrangedPart::Step(number) => {
                if when.is_some() {
                    self.optional.parts.insert(*number);
                }
                self.step(part, &reader, when, import)
            }
            ArrangedPart::Loop { head, inner } => {
                if when.is_some() {
                    self.optional.loops.insert(*head);
                }
                let inside: Vec<usize> = scope.iter().copied().chain([*head]).collect();
                let steps = self.list(inner, &inside, *head, import);
                let is_back = |edge: &&WayOn<'_>| edge.to == Some(*head) && members.contains(&edge.from);
                let end = (inside.clone(), usize::MAX);
                let back =
                    file.edges.iter().filter(is_back).filter_map(|edge| file.way(edge, &inside, &end, &self.optional, import)).collect();
                let until = match any_of(back).as_str() {
                    "" => "false".to_owned(),
                    "false" => "true".to_owned(),
                    again => format!("not ({again})"),
                };
                let until = import.words(vec![TextPiece::Text(until)], Manner::Bare, span, &format!("{}: the end of the loop", part.name));
                let repeat = map([("until", Some(until)), ("at_most", Some(Yaml::Value(self.rounds.into())))]);
                map([
                    ("id", Some(file.loop_id(*head).into())),
                    ("when", when),
                    ("repeat", Some(repeat)),
                    ("steps", Some(Yaml::List(steps))),
                ])
            }
        }
    }

    fn step(&mut self, part: &FlowPart<'_>, reader: &PartPlace, when: Option<Yaml>, import: &mut Import) -> Yaml {
        let FlowPart { name, id, kind, node } = part;
        let file = self.file;
        let names = |path: &[&str]| file.meant(reader, path);
        let template =
            |key: &str, import: &mut Import| child(node, key).map(|node| import.template(node, &format!("{name}: {key}"), &names));
        let mut keys: StepKeys = vec![("id", Some(id.clone().into())), ("when", when)];
        match kind {
            PartKind::Agent => keys.extend(self.agent(name, id, node, &names, import)),
            PartKind::Parallel => {
                import.lose_others(
                    node,
                    &["name", "description", "agents", "routes", "failure_mode"],
                    &format!("{name}: "),
                    "has no counterpart",
                );
                let goes_on = text(node, "failure_mode") == Some("continue_on_error");
                let mut steps = vec![];
                for member in items(child(node, "agents")).iter().filter_map(|member| Some(member.as_scalar()?.text.as_str())) {
                    let Some((_, agent)) = file.members.get(member) else { continue };
                    let own = super::id(member, &mut BTreeSet::new());
                    let goes_on = goes_on.then(|| ("on_failure", Some(Yaml::from("continue"))));
                    let inner = std::iter::once(("id", Some(own.clone().into())))
                        .chain(self.agent(member, &own, agent, &names, import))
                        .chain(goes_on);
                    steps.push(map(inner));
                }
                keys.extend([("parallel", Some(Yaml::Value(true.into()))), ("steps", Some(Yaml::List(steps)))]);
            }
            PartKind::Each => {
                let known = ["name", "description", "type", "source", "as", "max_concurrent", "failure_mode", "agent", "routes"];
                import.lose_others(node, &known, &format!("{name}: "), "has no counterpart");
                let own = text(node, "as").unwrap_or("item");
                let list = text(node, "source").and_then(|source| import.bare(source, node.span, &format!("{name}: source"), &names));
                if text(node, "failure_mode") == Some("continue_on_error") {
                    import.lose(
                        node.span,
                        format!("{name}: failure_mode"),
                        "outputs of elements that may fail have another shape here; one that fails stops the run",
                    );
                }
                let inner = |path: &[&str]| match path {
                    ["_index"] => Ok(MeantName::value("(item_number - 1)")),
                    [first, ..] if *first == own => Ok(MeantName::value(path.join("."))),
                    _ => file.meant(reader, path),
                };
                let list = list.map(|list| import.words(vec![TextPiece::Text(list)], Manner::Bare, node.span, &format!("{name}: source")));
                let parallel = number(node, "max_concurrent").map(Yaml::Value);
                keys.extend([("for_each", list), ("as", (own != "item").then(|| own.into())), ("max_parallel", parallel)]);
                match child(node, "agent").filter(|agent| matches!(text(agent, "type"), None | Some("agent"))) {
                    Some(agent) => keys.extend(self.agent(name, id, agent, &inner, import)),
                    None => keys.extend(by_hand(name, "only an agent can be done for each element", node, import)),
                }
            }
            PartKind::Gate => {
                import.lose_others(
                    node,
                    &["name", "description", "type", "prompt", "options", "routes"],
                    &format!("{name}: "),
                    "has no counterpart",
                );
                let question =
                    template("prompt", import).or_else(|| template("description", import)).unwrap_or_else(|| "How to go on?".into());
                let values: Vec<Value> = items(child(node, "options"))
                    .iter()
                    .filter_map(|option| text(option, "value").or_else(|| text(option, "name")))
                    .map(Value::from)
                    .collect();
                let mut fields =
                    vec![("choice".to_owned(), Some(map([("type", Some("text".into())), ("enum", Some(Yaml::Value(values.into())))])))];
                for asked in items(child(node, "options")).iter().filter_map(|option| text(option, "prompt_for")) {
                    let field = map([("type", Some("text".into())), ("required", Some(Yaml::Value(false.into())))]);
                    if !fields.iter().any(|(known, _)| known == asked) {
                        fields.push((asked.to_owned(), Some(field)));
                    }
                }
                keys.extend([("approval", Some(question)), ("form", Some(map(fields)))]);
            }
            PartKind::Script => {
                let known = ["name", "description", "type", "command", "args", "env", "stdin", "timeout", "output", "routes", "input"];
                import.lose_others(node, &known, &format!("{name}: "), "has no counterpart");
                let words = child(node, "command").into_iter().chain(items(child(node, "args")));
                let words = words.map(|word| import.template(word, &format!("{name}: command"), &names)).collect();
                keys.push(("program", Some(Yaml::List(words))));
                let mut env = vec![];
                for (key, value) in entries(child(node, "env")) {
                    env.push((key.to_owned(), Some(import.template(value, &format!("{name}: env"), &names))));
                }
                keys.push(("env", (!env.is_empty()).then(|| map(env))));
                keys.push(("input", template("stdin", import)));
                keys.push(("timeout", child(node, "timeout").and_then(duration).map(Yaml::from)));
                let asks =
                    items(child(node, "routes")).iter().any(|route| text(route, "when").is_some_and(|when| when.contains("exit_code")));
                if asks {
                    import.lose(node.span, format!("{name}: exit codes"), "0, 1 and 2 are results here; any other code fails the step");
                    keys.push(("ok_exits", Some(Yaml::Value(serde_json::json!([0, 1, 2])))));
                }
                keys.push(("output", output(node, name, import).or_else(|| file.gives_json(part).then(|| "json".into()))));
            }
            PartKind::Set => {
                import.lose_others(
                    node,
                    &["name", "description", "type", "value", "values", "routes", "input"],
                    &format!("{name}: "),
                    "has no counterpart",
                );
                let mut values = vec![];
                for (key, value) in entries(child(node, "values")) {
                    values.push((key.to_owned(), Some(import.template(value, &format!("{name}: {key}"), &names))));
                }
                keys.push(("set", template("value", import).or(Some(map(values)))));
            }
            PartKind::Wait => {
                let seconds = child(node, "duration").and_then(duration).map(Yaml::from);
                keys.push(("wait", seconds.or_else(|| template("duration", import))));
            }
            PartKind::Terminate => {
                import.lose_others(node, &["name", "description", "type", "status", "reason"], &format!("{name}: "), "has no counterpart");
                let status = if text(node, "status") == Some("success") { "succeeded" } else { "failed" };
                keys.extend([("stop", Some(status.into())), ("reason", template("reason", import))]);
            }
            PartKind::Other => {
                let why = format!("a step of type {} has no counterpart", text(node, "type").unwrap_or_default());
                keys.extend(by_hand(name, &why, node, import));
            }
        }
        map(keys)
    }

    fn agent(&mut self, name: &str, id: &str, node: &Node, names: &NamesOf<'_>, import: &mut Import) -> StepKeys {
        let known = [
            "name", "description", "type", "model", "prompt", "system_prompt", "output", "routes", "input", "tools", "retry", "provider",
            "output_mode", "timeout_seconds",
        ];
        import.lose_others(node, &known, &format!("{name}: "), "has no counterpart");
        let named = text(node, "model").filter(|model| !model.contains("{{")).map(|name| model(name, Some(node), self.runtime));
        if let Some(model) = child(node, "model").filter(|_| named.is_none()) {
            import.lose(
                model.span,
                format!("{name}: model"),
                "a model that is filled in has no counterpart; the one called default is used",
            );
        }
        let model = named.and_then(|model| self.models.of(model));
        let instructions = child(node, "system_prompt").map(|node| import.template(node, &format!("{name}: system_prompt"), names));
        let described = || text(node, "description").map(|text| import.plain(text, node.span, &format!("{name}: description")));
        let instructions = instructions.or_else(described).unwrap_or_else(|| format!("You are {}.", id.replace('_', " ")).into());
        let wanted = child(node, "tools").and_then(Node::as_list);
        let is_wanted = |tool: &str| {
            wanted.is_none_or(|all| {
                all.iter().any(|node| {
                    node.as_scalar()
                        .is_some_and(|scalar| scalar.text.split(['.', '_']).next() == Some(tool) || scalar.text.starts_with(tool))
                })
            })
        };
        let tools: Vec<Yaml> = self
            .tools
            .iter()
            .filter(|(tool, definition)| is_wanted(tool) && has_allow(definition))
            .map(|(tool, _)| tool.clone().into())
            .collect();
        for tool in wanted.into_iter().flatten().filter_map(|node| Some((node.as_scalar()?.text.as_str(), node.span))) {
            if !self.tools.iter().any(|(known, _)| tool.0.starts_with(known)) {
                import.lose(tool.1, format!("{name}: tool {}", tool.0), "no server of this file has it");
            }
        }
        let agent = [("model", model), ("instructions", Some(instructions)), ("tools", (!tools.is_empty()).then_some(Yaml::List(tools)))];
        self.agents.push((id.to_owned(), Some(map(agent))));
        let prompt = child(node, "prompt").map(|node| import.template(node, &format!("{name}: prompt"), names));
        let retry = child(node, "retry").map(|retry| {
            let delay = child(retry, "delay_seconds").and_then(duration).map(Yaml::from);
            map([
                ("max_attempts", number(retry, "max_attempts").map(Yaml::Value)),
                ("delay", delay),
                ("backoff", text(retry, "backoff").map(Yaml::from)),
            ])
        });
        let timeout = child(node, "timeout_seconds").and_then(duration).map(Yaml::from);
        vec![
            ("agent", Some(id.into())),
            ("prompt", Some(prompt.unwrap_or_else(|| "Do your work.".into()))),
            ("output", output(node, name, import)),
            ("retry", retry),
            ("timeout", timeout),
        ]
    }
}

/// Whether a tool says what it allows.
fn has_allow(tool: &Yaml) -> bool {
    matches!(tool, Yaml::Map(entries) if entries.iter().any(|(key, _)| key == "allow"))
}

fn output(node: &Node, name: &str, import: &mut Import) -> Option<Yaml> {
    let all: Vec<_> = entries(child(node, "output")).collect();
    (!all.is_empty()).then(|| {
        map(all.into_iter().map(|(key, node)| (key.to_owned(), Some(field(node, &format!("{name}: {key}"), import)))).collect::<Vec<_>>())
    })
}

/// A step that a person does, in the place of one that has no counterpart: nothing goes on as if it had been done.
fn by_hand(name: &str, why: &str, node: &Node, import: &mut Import) -> StepKeys {
    import.lose(node.span, name, format!("{why}; a person is asked for its result"));
    let question = import.plain(&format!("What is the result of {name}? It was not imported."), node.span, name);
    vec![("approval", Some(question)), ("form", Some(map([("result", Some(Yaml::from("text")))])))]
}
