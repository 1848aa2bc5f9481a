//! The steps of a workflow of Conductor: what each kind of part becomes.

use serde_json::Value;

use super::graph::ArrangedPart;
use super::{FlowPart, OptionalParts, PartKind, PartPlace, RoutedWorkflow, WayOn, any_of};
use crate::*;

pub(super) fn model(name: &str, settings: Option<&Node>, runtime: Option<&Node>) -> ImportedModel {
    let setting = |key: &str| settings.and_then(|node| number(node, key)).or_else(|| runtime.and_then(|node| number(node, key)));
    let provider = runtime.and_then(|node| text(node, "provider")).unwrap_or_default();
    ImportedModel {
        provider: if provider == "claude" || provider == "anthropic" { "anthropic" } else { "openai" },
        name: name.to_owned(),
        temperature: setting("temperature"),
        max_output_tokens: setting("max_tokens"),
    }
}

/// MCP servers as tools.
pub(super) fn tools(workflow: &Node, import: &mut Import) -> Vec<Entry> {
    let mut taken = BTreeSet::new();
    let mut found = vec![];
    for (name, server) in entries(child(workflow, "runtime").and_then(|runtime| child(runtime, "mcp_servers"))) {
        let what = format!("server {name}");
        import.lose_others(server, "type command args env url headers tools", &format!("{what}: "));
        let opens_all = names_in(child(server, "tools")).any(|tool| tool == "*");
        let allow = child(server, "tools").filter(|_| !opens_all);
        let keys = ["command", "args", "env", "url", "headers"].map(|key| (key, child(server, key)));
        let keys = keys.into_iter().chain([("allow", allow)]);
        let keys: Vec<Entry> = keys.map(|(key, node)| may(key, node.map(|node| plain_tree(node, &what, import)))).collect();
        found.push(pair(id(name, &mut taken), map(keys)));
    }
    found
}

impl FlowPart<'_> {
    /// A key of it, for messages.
    fn place(&self, key: &str) -> String {
        format!("{}: {key}", self.name)
    }

    /// Reports keys that nothing reads.
    fn lose_others(&self, known: &str, import: &mut Import) {
        import.lose_others(self.node, &format!("name description type routes {known}"), &self.place(""));
    }

    fn template(&self, key: &str, names: &NamesOf<'_>, import: &mut Import) -> Option<Yaml> {
        child(self.node, key).map(|node| import.template(node, &self.place(key), names))
    }

    /// The templates under a key, by their names.
    fn templates(&self, key: &str, names: &NamesOf<'_>, import: &mut Import) -> Vec<Entry> {
        entries(child(self.node, key))
            .map(|(name, value)| pair(name, import.template(value, &self.place(&format!("{key}.{name}")), names)))
            .collect()
    }
}

/// The fields of a gate's form: which option, and what some options ask for.
fn form(node: &Node) -> Yaml {
    let options = items(child(node, "options"));
    let value = |option: &Node| text(option, "value").or_else(|| text(option, "name")).map(Value::from);
    let values: Vec<Value> = options.iter().filter_map(value).collect();
    let mut fields = vec![pair("choice", map([pair("type", "text"), pair("enum", Value::from(values))]))];
    for asked in options.iter().filter_map(|option| text(option, "prompt_for")) {
        if !fields.iter().any(|(known, _)| known == asked) {
            fields.push(pair(asked, map([pair("type", "text"), pair("required", false)])));
        }
    }
    map(fields)
}

/// The texts of a value as they are.
fn plain_tree(node: &Node, what: &str, import: &mut Import) -> Yaml {
    if let Some(list) = node.as_list() {
        return Yaml::List(list.iter().map(|node| plain_tree(node, what, import)).collect());
    }
    match node.as_scalar() {
        Some(scalar) => import.plain(&scalar.text, node.span, what),
        None => map(entries(Some(node)).map(|(key, node)| pair(key, plain_tree(node, what, import))).collect::<Vec<_>>()),
    }
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
    let known = "type description required default items properties enum pattern minimum maximum minLength maxLength nullable";
    import.lose_others(node, known, &format!("{name}: "));
    let description = text(node, "description").map(|text| import.fixed(text, node.span, &format!("description of {name}")));
    let value = |key: &str| child(node, key).map(Node::to_value).filter(|value| !value.is_null());
    let is_optional = value("required") == Some(false.into()) || value("nullable") == Some(true.into());
    let items = child(node, "items").map(|items| field(items, name, import));
    let fields = (kind == "object").then(|| fields(child(node, "properties"), "", import));
    map([
        pair("type", kind),
        may("description", description),
        may("required", (is_optional && value("default").is_none()).then_some(false)),
        may("default", value("default")),
        may("enum", value("enum")),
        may("pattern", value("pattern")),
        may("minimum", value("minimum")),
        may("maximum", value("maximum")),
        may("min_length", value("minLength")),
        may("max_length", value("maxLength")),
        may("items", items),
        may("fields", fields.map(map)),
    ])
}

fn fields(node: Option<&Node>, before: &str, import: &mut Import) -> Vec<Entry> {
    entries(node).map(|(name, node)| pair(name, field(node, &format!("{before}{name}"), import))).collect()
}

/// Writes the steps.
pub(super) struct StepWriter<'a> {
    pub(super) file: &'a RoutedWorkflow<'a>,
    pub(super) runtime: Option<&'a Node>,
    pub(super) done: Imported,
    /// The most rounds of a loop.
    pub(super) rounds: u64,
    pub(super) optional: OptionalParts,
}

impl StepWriter<'_> {
    pub(super) fn list(&mut self, arranged: &[ArrangedPart], scope: &[usize], entry: usize, import: &mut Import) -> Vec<Yaml> {
        arranged.iter().filter_map(|unit| self.unit(unit, scope, entry, import)).collect()
    }

    fn unit(&mut self, unit: &ArrangedPart, scope: &[usize], entry: usize, import: &mut Import) -> Option<Yaml> {
        let file = self.file;
        let members = unit.members();
        let first = members.first()?;
        let part = file.part(*first)?;
        let reader = (scope.to_vec(), file.places.get(first).map_or(0, |(_, at)| *at));
        let is_into = |edge: &&WayOn<'_>| edge.to.is_some_and(|to| members.contains(&to)) && !members.contains(&edge.from);
        let is_here = |edge: &&WayOn<'_>| file.places.get(&edge.from).is_some_and(|(loops, _)| loops.starts_with(scope));
        let into = file.edges.iter().filter(is_into).filter(is_here);
        let ways: Vec<String> = into.filter_map(|edge| file.way(edge, scope, &reader, &self.optional, import)).collect();
        let when = if members.contains(&entry) { String::new() } else { any_of(ways) };
        let (span, what) = (part.node.span, format!("{}: routes to it (without them it is not done)", part.name));
        let when = (!when.is_empty()).then(|| import.expression(when, span, &what));
        Some(match unit {
            ArrangedPart::Step(number) => {
                self.optional.parts.extend(when.is_some().then_some(*number));
                map([pair("id", part.id.as_str()), may("when", when)].into_iter().chain(self.step(part, &reader, import)))
            }
            ArrangedPart::Loop { head, inner } => {
                self.optional.loops.extend(when.is_some().then_some(*head));
                let inside: Vec<usize> = scope.iter().copied().chain([*head]).collect();
                let steps = self.list(inner, &inside, *head, import);
                let is_back = |edge: &&WayOn<'_>| edge.to == Some(*head) && members.contains(&edge.from);
                let end = (inside.clone(), usize::MAX);
                let back = file.edges.iter().filter(is_back);
                let until = match any_of(back.filter_map(|edge| file.way(edge, &inside, &end, &self.optional, import)).collect()).as_str() {
                    "" => "false".to_owned(),
                    "false" => "true".to_owned(),
                    again => format!("not ({again})"),
                };
                let until = import.expression(until, span, &format!("{}: the end of the loop", part.name));
                let repeat = map([pair("until", until), pair("at_most", self.rounds)]);
                map([pair("id", file.loop_id(*head)), may("when", when), pair("repeat", repeat), pair("steps", steps)])
            }
        })
    }

    fn step(&mut self, part: &FlowPart<'_>, reader: &PartPlace, import: &mut Import) -> Vec<Entry> {
        let FlowPart { name, id, kind, node } = part;
        let names = |path: &[&str]| self.file.resolve(reader, path);
        let template = |key: &str, import: &mut Import| part.template(key, &names, import);
        match kind {
            PartKind::Agent => self.agent(name, id, node, &names, import),
            PartKind::Parallel => self.parallel(part, reader, import),
            PartKind::Each => self.each(part, reader, import),
            PartKind::Gate => {
                part.lose_others("prompt options", import);
                let question = template("prompt", import).or_else(|| template("description", import));
                vec![pair("approval", question.unwrap_or_else(|| "How to go on?".into())), pair("form", form(node))]
            }
            PartKind::Script => self.script(part, reader, import),
            PartKind::Set => {
                part.lose_others("value values input", import);
                let values = part.templates("values", &names, import);
                vec![pair("set", template("value", import).unwrap_or_else(|| map(values)))]
            }
            PartKind::Wait => {
                part.lose_others("duration", import);
                let seconds = child(node, "duration").and_then(duration).map(Yaml::from);
                vec![may("wait", seconds.or_else(|| template("duration", import)))]
            }
            PartKind::Terminate => {
                part.lose_others("status reason", import);
                let status = if text(node, "status") == Some("success") { "succeeded" } else { "failed" };
                vec![pair("stop", status), may("reason", template("reason", import))]
            }
            PartKind::Other => import.by_hand(name, node.span, LostWhy::StepKind(text(node, "type").unwrap_or_default().to_owned())),
        }
    }

    fn parallel(&mut self, part: &FlowPart<'_>, reader: &PartPlace, import: &mut Import) -> Vec<Entry> {
        part.lose_others("agents failure_mode", import);
        let names = |path: &[&str]| self.file.resolve(reader, path);
        let goes_on = text(part.node, "failure_mode") == Some("continue_on_error");
        let mut steps = vec![];
        for member in names_in(child(part.node, "agents")) {
            let Some((_, agent)) = self.file.members.get(member) else { continue };
            let own = super::id(member, &mut BTreeSet::new());
            let keys = self.agent(member, &own, agent, &names, import);
            let goes_on = may("on_failure", goes_on.then_some("continue"));
            steps.push(map(std::iter::once(pair("id", own)).chain(keys).chain([goes_on])));
        }
        vec![pair("parallel", true), pair("steps", steps)]
    }

    fn each(&mut self, part: &FlowPart<'_>, reader: &PartPlace, import: &mut Import) -> Vec<Entry> {
        let FlowPart { name, id, node, .. } = part;
        part.lose_others("source as max_concurrent failure_mode agent", import);
        let own = text(node, "as").unwrap_or("item");
        if text(node, "failure_mode") == Some("continue_on_error") {
            import.lose(node.span, part.place("failure_mode"), LostWhy::ElementsFail);
        }
        let names = |path: &[&str]| self.file.resolve(reader, path);
        let inner = |path: &[&str]| match path {
            ["_index"] => Ok(MeantName::value("(item_number - 1)")),
            [first, ..] if *first == own => Ok(MeantName::value(path.join("."))),
            _ => names(path),
        };
        let source = part.place("source");
        let list = text(node, "source").and_then(|list| import.bare(list, node.span, &source, &names));
        let list = list.map(|list| import.expression(list, node.span, &source));
        let keys = match child(node, "agent").filter(|agent| matches!(text(agent, "type"), None | Some("agent"))) {
            Some(agent) => self.agent(name, id, agent, &inner, import),
            None => import.by_hand(name, node.span, LostWhy::OnlyAgents),
        };
        let own = (own != "item").then_some(own);
        [may("for_each", list), may("as", own), may("max_parallel", number(node, "max_concurrent"))].into_iter().chain(keys).collect()
    }

    fn script(&mut self, part: &FlowPart<'_>, reader: &PartPlace, import: &mut Import) -> Vec<Entry> {
        let FlowPart { name, node, .. } = part;
        part.lose_others("command args env stdin timeout output input", import);
        let names = |path: &[&str]| self.file.resolve(reader, path);
        let words = child(node, "command").into_iter().chain(items(child(node, "args")));
        let words: Vec<Yaml> = words.map(|word| import.template(word, &part.place("command"), &names)).collect();
        let env = part.templates("env", &names, import);
        let input = part.template("stdin", &names, import);
        let reads_exit = |route: &Node| text(route, "when").is_some_and(|when| when.contains("exit_code"));
        let asks = items(child(node, "routes")).iter().any(reads_exit);
        if asks {
            import.lose(node.span, part.place("exit codes"), LostWhy::ExitCodes);
        }
        let output = output(node, name, import).or_else(|| self.file.gives_json(part).then(|| "json".into()));
        vec![
            pair("program", words),
            may("env", map_of(env)),
            may("input", input),
            may("timeout", child(node, "timeout").and_then(duration)),
            may("ok_exits", asks.then(|| serde_json::json!([0, 1, 2]))),
            may("output", output),
        ]
    }

    fn agent(&mut self, name: &str, id: &str, node: &Node, names: &NamesOf<'_>, import: &mut Import) -> Vec<Entry> {
        let known = "name description type model prompt system_prompt output routes input tools retry provider output_mode \
                     timeout_seconds";
        let what = |key: &str| format!("{name}: {key}");
        import.lose_others(node, known, &what(""));
        let named = text(node, "model").filter(|model| !model.contains("{{")).map(|name| model(name, Some(node), self.runtime));
        if let Some(model) = child(node, "model").filter(|_| named.is_none()) {
            import.lose(model.span, what("model"), LostWhy::FilledModel);
        }
        let model = named.and_then(|model| self.done.models.id(model));
        let instructions = child(node, "system_prompt").map(|node| import.template(node, &what("system_prompt"), names));
        let described = || text(node, "description").map(|text| import.plain(text, node.span, &what("description")));
        let instructions = instructions.or_else(described).unwrap_or_else(|| format!("You are {}.", id.replace('_', " ")).into());
        let tools = self.tools(node, &what("tool"), import);
        self.done.agents.push(pair(id, map([may("model", model), pair("instructions", instructions), may("tools", list_of(tools))])));
        let prompt = child(node, "prompt").map(|node| import.template(node, &what("prompt"), names));
        let retry = child(node, "retry").map(|retry| {
            import.lose_others(retry, "max_attempts delay_seconds backoff retry_on", &what("retry: "));
            // What is not written there is another default here.
            let delay = child(retry, "delay_seconds").and_then(duration).unwrap_or_else(|| "2s".into());
            let on = |kind: &str| child(retry, "retry_on").is_none() || names_in(child(retry, "retry_on")).any(|on| on == kind);
            let of_provider = on("provider_error").then_some(["rate_limited", "server_error", "connection"]).into_iter().flatten();
            let on: Vec<&str> = of_provider.chain(on("timeout").then_some("timeout")).collect();
            map([
                may("max_attempts", number(retry, "max_attempts")),
                pair("delay", delay),
                pair("backoff", text(retry, "backoff").unwrap_or("exponential")),
                pair("on", serde_json::json!(on)),
            ])
        });
        vec![
            pair("agent", id),
            pair("prompt", prompt.unwrap_or_else(|| "Do your work.".into())),
            may("output", output(node, name, import)),
            may("retry", retry),
            // All tries together.
            may("deadline", child(node, "timeout_seconds").and_then(duration)),
        ]
    }

    /// The tools of an agent: all servers that say what they allow, unless it names some.
    fn tools(&self, node: &Node, what: &str, import: &mut Import) -> Vec<Yaml> {
        let wanted = child(node, "tools").and_then(Node::as_list);
        for tool in wanted.into_iter().flatten().filter_map(Node::as_scalar) {
            if !self.done.tools.iter().any(|(known, _)| tool.text.starts_with(known.as_str())) {
                import.lose(node.span, format!("{what} {}", tool.text), LostWhy::NoServer);
            }
        }
        let is_wanted = |server: &str| wanted.is_none() || names_in(child(node, "tools")).any(|tool| tool.starts_with(server));
        let says_allow = |tool: &Yaml| matches!(tool, Yaml::Map(entries) if entries.iter().any(|(key, _)| key == "allow"));
        let known = self.done.tools.iter().filter(|(name, tool)| is_wanted(name) && tool.as_ref().is_some_and(says_allow));
        known.map(|(name, _)| name.as_str().into()).collect()
    }
}

fn output(node: &Node, name: &str, import: &mut Import) -> Option<Yaml> {
    map_of(fields(child(node, "output"), &format!("{name}: "), import))
}
