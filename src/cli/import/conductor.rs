//! Microsoft Conductor: agents with routes → steps, with `when` where a route decides and `repeat` where one leads back.

use std::collections::BTreeMap;

use serde_json::Value;

use super::conductor_graph::{Arranged, arrange, in_use};
use super::models::{Model, Models};
use super::words::Meant;
use super::yaml::map;
use super::*;

const FORMAT: ImportFormat = ImportFormat::Conductor;
/// Agents of a file that are put in order.
const MOST: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agent,
    Parallel,
    Each,
    Gate,
    Script,
    Set,
    Wait,
    Terminate,
    /// What has no counterpart; a person does it.
    Other,
}

/// What has routes.
struct Part<'a> {
    name: String,
    id: String,
    kind: Kind,
    node: &'a Node,
}

/// A way from a part to the next one; `None`: to the end.
struct Edge<'a> {
    from: usize,
    to: Option<usize>,
    when: Option<(&'a str, Span)>,
}

/// The loops around a part by their heads, outer ones first, and its place among all parts.
type Place = (Vec<usize>, usize);

/// Parts, and loops by their heads, that may not be done.
#[derive(Default)]
struct Optional {
    parts: BTreeSet<usize>,
    loops: BTreeSet<usize>,
}

struct Workflow<'a> {
    parts: Vec<Part<'a>>,
    edges: Vec<Edge<'a>>,
    inputs: Vec<(String, String)>,
    /// The agents in groups: the number of the group, and the agent.
    members: BTreeMap<String, (usize, &'a Node)>,
    /// The loops around each part, outer ones first, and its place among all.
    places: BTreeMap<usize, Place>,
}

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, Refusal> {
    let Some(workflow) = child(root, "workflow").filter(|node| node.as_map().is_some()) else {
        return Err(other_kind(import, root, "it has no workflow", FORMAT));
    };
    import.lose_others(root, &["workflow", "agents", "parallel", "for_each", "output", "tools"], "", "has no counterpart");
    let known = ["name", "description", "version", "entry_point", "runtime", "input", "limits", "metadata", "context"];
    import.lose_others(workflow, &known, "workflow.", "has no counterpart");
    let mut file = Workflow::read(root, workflow, import);
    if file.parts.is_empty() || file.parts.len() > MOST {
        return Err(other_kind(import, root, &format!("it has no agents, or more than {MOST}"), FORMAT));
    }
    let entry = text(workflow, "entry_point").and_then(|name| file.parts.iter().position(|part| part.name == name));
    let entry = entry.unwrap_or_else(|| {
        import.lose(workflow.span, "entry_point", "it names no agent; the first one is the first step");
        0
    });
    let ways: Vec<(usize, usize)> = file.edges.iter().filter_map(|edge| Some((edge.from, edge.to?))).collect();
    let used = in_use(entry, &ways);
    for part in file.parts.iter().enumerate().filter(|(number, _)| !used.contains(number)).map(|(_, part)| part) {
        import.lose(part.node.span, part.name.as_str(), "no route leads to it");
    }
    let arranged = arrange(&used, &ways, entry);
    // A loop that begins with the entry is found in its own list.
    let begins_again = ways.iter().any(|(from, to)| *to == entry && used.contains(from));
    let arranged = if begins_again { whole_loop(&arranged, entry, &ways) } else { arranged };
    file.place(&arranged, &mut vec![]);

    let runtime = child(workflow, "runtime");
    let rounds = child(workflow, "limits").and_then(|limits| number(limits, "max_iterations")?.as_u64()).unwrap_or(10).clamp(1, 100);
    let tools = tools(workflow, import);
    let mut writer =
        Writer { file: &file, runtime, models: Models::default(), agents: vec![], tools, rounds, optional: Optional::default() };
    if let Some(name) = runtime.and_then(|runtime| text(runtime, "default_model")) {
        writer.models.of(model(name, runtime, runtime));
    }
    if let Some(provider) = runtime.and_then(|runtime| child(runtime, "provider")) {
        let name = provider.as_scalar().map(|scalar| scalar.text.as_str()).or_else(|| text(provider, "name")).unwrap_or_default();
        if !matches!(name, "claude" | "openai" | "anthropic") {
            import.lose(
                provider.span,
                format!("provider {name}"),
                "there is no such provider; models are those of an endpoint like that of OpenAI",
            );
        }
    }
    if let Some(runtime) = runtime {
        let known = ["provider", "default_model", "temperature", "max_tokens", "mcp_servers"];
        import.lose_others(runtime, &known, "runtime.", "has no counterpart");
    }
    let steps = writer.list(&arranged, &[], entry, import);
    let mut taken = BTreeSet::new();
    let mut outputs = vec![];
    for (name, node) in entries(child(root, "output")) {
        let words = import.template(node, &format!("output {name}"), &|path| file.meant(&(vec![], usize::MAX), path));
        outputs.push((id(name, &mut taken), Some(words)));
    }
    let mut fields = vec![];
    for ((_, id), (name, node)) in file.inputs.iter().zip(entries(child(workflow, "input"))) {
        fields.push((id.clone(), Some(field(node, name, true, import))));
    }
    let seconds = child(workflow, "limits").and_then(|limits| number(limits, "timeout_seconds"));
    let limits = child(workflow, "limits");
    let money = limits.and_then(|limits| number(limits, "budget_usd"));
    let name = id(text(workflow, "name").unwrap_or("imported"), &mut BTreeSet::new());
    let description = child(workflow, "description").and_then(|node| Some((node.as_scalar()?.text.clone(), node.span)));
    let pipeline = map([
        ("flow", Some(Yaml::Value(1.into()))),
        ("name", Some(name.clone().into())),
        ("description", description.map(|(text, span)| import.fixed(&one_line(&text, 300), span, "description"))),
        ("inputs", (!fields.is_empty()).then(|| map(fields))),
        ("models", writer.models.section()),
        ("tools", (!writer.tools.is_empty()).then(|| map(writer.tools.clone().into_iter().map(|(name, tool)| (name, Some(tool)))))),
        ("agents", (!writer.agents.is_empty()).then(|| map(writer.agents))),
        (
            "limits",
            (seconds.is_some() || money.is_some()).then(|| {
                map([("deadline", seconds.map(|seconds| format!("{seconds}s").into())), ("max_cost_usd", money.map(Yaml::Value))])
            }),
        ),
        ("steps", Some(Yaml::List(steps))),
        ("outputs", (!outputs.is_empty()).then(|| map(outputs))),
    ]);
    Ok(Imported { name, pipeline, cases: vec![] })
}

/// The parts up to the last one that leads back to the first, as a loop; the rest stays below it.
fn whole_loop(arranged: &[Arranged], entry: usize, ways: &[(usize, usize)]) -> Vec<Arranged> {
    let returns = |node: usize| in_use(node, ways).contains(&entry);
    let (inner, rest): (Vec<Arranged>, Vec<Arranged>) = arranged.iter().cloned().partition(|part| part.members().into_iter().any(returns));
    std::iter::once(Arranged::Loop { head: entry, inner }).chain(rest).collect()
}

impl<'a> Workflow<'a> {
    fn read(root: &'a Node, workflow: &'a Node, import: &mut Import) -> Workflow<'a> {
        let mut taken = BTreeSet::new();
        let mut file = Workflow { parts: vec![], edges: vec![], inputs: vec![], members: BTreeMap::new(), places: BTreeMap::new() };
        let mut names = BTreeSet::from(["channel".to_owned()]);
        file.inputs = entries(child(workflow, "input")).map(|(name, _)| (name.to_owned(), id(name, &mut names))).collect();
        let grouped: BTreeSet<&str> = items(child(root, "parallel"))
            .iter()
            .flat_map(|group| items(child(group, "agents")))
            .filter_map(|agent| Some(agent.as_scalar()?.text.as_str()))
            .collect();
        let lists = [("parallel", Some(Kind::Parallel)), ("for_each", Some(Kind::Each)), ("agents", None)];
        for (key, kind) in lists.into_iter().rev() {
            for node in items(child(root, key)) {
                let Some(name) = text(node, "name") else {
                    import.lose(node.span, format!("one of {key}"), "it has no name");
                    continue;
                };
                if kind.is_none() && grouped.contains(name) {
                    continue;
                }
                let kind = kind.unwrap_or_else(|| match text(node, "type").unwrap_or("agent") {
                    "agent" => Kind::Agent,
                    "human_gate" => Kind::Gate,
                    "script" => Kind::Script,
                    "set" => Kind::Set,
                    "wait" => Kind::Wait,
                    "terminate" => Kind::Terminate,
                    _ => Kind::Other,
                });
                file.parts.push(Part { name: name.to_owned(), id: id(name, &mut taken), kind, node });
            }
        }
        for group in 0..file.parts.len() {
            let Some(part) = file.parts.get(group).filter(|part| part.kind == Kind::Parallel) else { continue };
            for name in items(child(part.node, "agents")).iter().filter_map(|agent| Some(agent.as_scalar()?.text.as_str())) {
                match items(child(root, "agents")).iter().find(|agent| text(agent, "name") == Some(name)) {
                    Some(agent) => drop(file.members.insert(name.to_owned(), (group, agent))),
                    None => import.lose(part.node.span, format!("{}: {name}", part.name), "there is no such agent"),
                }
            }
        }
        for from in 0..file.parts.len() {
            let Some(part) = file.parts.get(from) else { continue };
            let routes: Vec<(Option<&str>, Option<(&str, Span)>, Span)> = if part.kind == Kind::Gate {
                let option =
                    |option: &'a Node| (text(option, "route"), text(option, "value").map(|value| (value, option.span)), option.span);
                items(child(part.node, "options"))
                    .iter()
                    .map(option)
                    .chain(
                        items(child(part.node, "routes"))
                            .iter()
                            .map(|route| (text(route, "to"), text(route, "when").map(|when| (when, route.span)), route.span)),
                    )
                    .collect()
            } else {
                items(child(part.node, "routes"))
                    .iter()
                    .map(|route| (text(route, "to"), text(route, "when").map(|when| (when, route.span)), route.span))
                    .collect()
            };
            for (to, when, span) in routes {
                let Some(to) = to else { continue };
                let target = file.parts.iter().position(|part| part.name == to);
                if target.is_none() && to != "$end" {
                    import.lose(span, format!("{}: route to {to}", part.name), "there is no such agent");
                    continue;
                }
                file.edges.push(Edge { from, to: target, when });
            }
        }
        file
    }

    fn place(&mut self, arranged: &[Arranged], loops: &mut Vec<usize>) {
        for part in arranged {
            match part {
                Arranged::Step(number) => {
                    let at = self.places.len();
                    self.places.insert(*number, (loops.clone(), at));
                }
                Arranged::Loop { head, inner } => {
                    loops.push(*head);
                    self.place(inner, loops);
                    loops.pop();
                }
            }
        }
    }

    fn part(&self, number: usize) -> Option<&Part<'a>> {
        self.parts.get(number)
    }

    fn loop_id(&self, head: usize) -> String {
        self.part(head).map(|part| format!("{}_rounds", part.id)).unwrap_or_default()
    }

    /// What holds a part for a reader: its path, whether it is a step there, and how to ask if it is there.
    fn access(&self, reader: &Place, number: usize) -> Option<(String, bool, String)> {
        let id = &self.part(number)?.id;
        let (own, at) = self.places.get(&number)?;
        let (around, reads_at) = reader;
        let shared = own.iter().zip(around).take_while(|(a, b)| a == b).count();
        let inner = own.get(shared..).unwrap_or_default();
        if shared > 0 && at >= reads_at {
            let path = inner.iter().map(|head| format!("{}.output.", self.loop_id(*head))).collect::<String>();
            return Some((format!("previous.{path}{id}"), inner.is_empty(), "previous".into()));
        }
        if inner.is_empty() {
            return Some((format!("steps.{id}"), true, format!("(steps.{id}.status == \"succeeded\")")));
        }
        let path: Vec<String> = inner.iter().map(|head| self.loop_id(*head)).collect();
        let path = format!("steps.{}.output{}.{id}", path.first()?, path.iter().skip(1).map(|id| format!(".{id}")).collect::<String>());
        Some((path.clone(), false, format!("({path} is defined)")))
    }

    /// What a path means for a part that reads it.
    fn meant(&self, reader: &Place, path: &[&str]) -> Result<Meant, String> {
        let fields = |path: String, rest: &[&str]| rest.iter().fold(path, |path, field| format!("{path}.{field}"));
        let unknown = || Err(format!("there is no {}", path.join(".")));
        match path {
            ["workflow", "input", name, rest @ ..] => {
                let Some((_, id)) = self.inputs.iter().find(|(known, _)| known == name) else { return unknown() };
                Ok(Meant { value: fields(format!("inputs.{id}"), rest), there: None })
            }
            [name, rest @ ..] => {
                if let Some((group, node)) = self.members.get(*name) {
                    let Some((path, is_step, there)) = self.access(reader, *group) else { return unknown() };
                    let path = if is_step { format!("{path}.output.{name}") } else { format!("{path}.{name}") };
                    return match rest {
                        ["output", rest @ ..] => Ok(Meant { value: fields(path, without_result(node, rest)), there: Some(there) }),
                        _ => unknown(),
                    };
                }
                let Some(number) = self.parts.iter().position(|part| part.name == *name) else { return unknown() };
                let (Some(part), Some((path, is_step, there))) = (self.part(number), self.access(reader, number)) else {
                    return Err(format!("{name} is no step"));
                };
                let output = if is_step { format!("{path}.output") } else { path.clone() };
                let value = match (part.kind, rest) {
                    (_, []) => there.clone(),
                    (Kind::Parallel, ["outputs", member, rest @ ..]) => {
                        let rest = self.members.get(*member).map_or(rest, |(_, node)| without_result(node, rest));
                        fields(format!("{output}.{member}"), rest)
                    }
                    (Kind::Each, ["outputs", rest @ ..]) => fields(output, rest),
                    (Kind::Gate, ["choice"] | ["output", "choice" | "selected"]) => format!("{output}.choice"),
                    (Kind::Gate, ["output", "additional_input", rest @ ..]) => fields(output, rest),
                    (Kind::Script, ["output", "exit_code"]) if is_step => format!("{path}.details.exit"),
                    (Kind::Script, ["output", "stderr"]) if is_step => format!("{path}.details.stderr"),
                    (Kind::Script, ["output", "stdout"]) if child(part.node, "output").is_none() => output,
                    (Kind::Script, ["output", "exit_code" | "stderr" | "stdout"]) => return unknown(),
                    (Kind::Agent | Kind::Script | Kind::Set | Kind::Other, ["output", rest @ ..]) => {
                        fields(output, without_result(part.node, rest))
                    }
                    _ => return unknown(),
                };
                Ok(Meant { value, there: Some(there) })
            }
            [] => unknown(),
        }
    }

    /// What must hold for a way to be taken, as its end sees it; empty: it always is. `None`: it never is.
    fn taken(&self, edge: &Edge<'_>, reader: &Place, import: &mut Import) -> Option<String> {
        let part = self.part(edge.from)?;
        let mut holds = vec![];
        let condition = |import: &mut Import, when: (&str, Span)| {
            let own = |path: &[&str]| {
                let with: Vec<&str> = match path {
                    ["output", ..] => std::iter::once(part.name.as_str()).chain(path.iter().copied()).collect(),
                    [first, ..]
                        if *first != "workflow"
                            && !self.parts.iter().any(|part| part.name == *first)
                            && !self.members.contains_key(*first) =>
                    {
                        [part.name.as_str(), "output"].into_iter().chain(path.iter().copied()).collect()
                    }
                    _ => path.to_vec(),
                };
                self.meant(reader, &with)
            };
            if part.kind == Kind::Gate && !when.0.contains("{{") {
                return self.meant(reader, &[&part.name, "choice"]).ok().map(|meant| format!("{} == {}", meant.value, Value::from(when.0)));
            }
            import.bare(when.0, when.1, &format!("{}: route", part.name), &own)
        };
        for earlier in self.edges.iter().filter(|earlier| earlier.from == edge.from).take_while(|earlier| !std::ptr::eq(*earlier, edge)) {
            match earlier.when {
                None => return None,
                // Options of a gate exclude each other.
                Some(_) if earlier.to == edge.to || part.kind == Kind::Gate => {}
                Some(when) => holds.extend(condition(import, when).map(|text| format!("not ({text})"))),
            }
        }
        match edge.when {
            None => {}
            Some(when) => holds.push(enclosed(condition(import, when)?)),
        }
        Some(holds.join(" and "))
    }

    /// When a way is taken, with that its beginning was done at all.
    fn way(&self, edge: &Edge<'_>, scope: &[usize], reader: &Place, optional: &Optional, import: &mut Import) -> Option<String> {
        let (own, _) = self.places.get(&edge.from)?;
        let taken = self.taken(edge, reader, import)?;
        let is_done = match own.get(scope.len()) {
            None if optional.parts.contains(&edge.from) => self.access(reader, edge.from).map(|(.., there)| there),
            None => None,
            Some(head) => {
                let is_inside = |number: &usize| self.places.get(number).is_some_and(|(loops, _)| loops.get(scope.len()) == Some(head));
                let exits = self.edges.iter().filter(|edge| is_inside(&edge.from) && edge.to.is_none_or(|to| !is_inside(&to)));
                let targets: BTreeSet<Option<usize>> = exits.map(|edge| edge.to).collect();
                let id = self.loop_id(*head);
                let is_done = optional.loops.contains(head).then(|| format!("steps.{id}.status == \"succeeded\""));
                if targets.len() == 1 {
                    return Some(is_done.unwrap_or_default());
                }
                self.access(reader, edge.from).map(|(.., there)| there).filter(|_| optional.parts.contains(&edge.from)).or(is_done)
            }
        };
        let parts: Vec<String> = is_done.into_iter().chain(Some(taken).filter(|taken| !taken.is_empty())).collect();
        Some(parts.join(" and "))
    }
}

/// An output without fields is a text here, and a field `result` there.
fn without_result<'p>(node: &Node, rest: &'p [&'p str]) -> &'p [&'p str] {
    match rest {
        ["result", rest @ ..] if child(node, "output").is_none() => rest,
        rest => rest,
    }
}

fn enclosed(text: String) -> String {
    if text.contains(" or ") || text.contains(" if ") { format!("({text})") } else { text }
}

/// Conditions of which one is enough; empty: it always holds.
fn any_of(ways: Vec<String>) -> String {
    let mut ways = ways;
    ways.dedup();
    if ways.iter().any(String::is_empty) {
        return String::new();
    }
    match ways.as_slice() {
        [way] => way.clone(),
        ways => ways.iter().map(|way| format!("({way})")).collect::<Vec<_>>().join(" or "),
    }
}

fn model(name: &str, settings: Option<&Node>, runtime: Option<&Node>) -> Model {
    let setting = |key: &str| settings.and_then(|node| number(node, key)).or_else(|| runtime.and_then(|node| number(node, key)));
    let provider = runtime.and_then(|node| text(node, "provider")).unwrap_or_default();
    Model {
        provider: if provider == "claude" || provider == "anthropic" { "anthropic" } else { "openai" },
        name: name.to_owned(),
        temperature: setting("temperature"),
        max_output_tokens: setting("max_tokens"),
        price: None,
    }
}

/// MCP servers as tools.
fn tools(workflow: &Node, import: &mut Import) -> Vec<(String, Yaml)> {
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
fn field(node: &Node, name: &str, is_input: bool, import: &mut Import) -> Yaml {
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
    let plain = |key: &str| child(node, key).map(|node| Yaml::Value(node.to_value())).filter(|_| !is_empty(child(node, key)));
    let items = child(node, "items").map(|items| field(items, name, is_input, import));
    let inner: Vec<_> = entries(child(node, "properties")).collect();
    let fields = (kind == "object").then(|| {
        map(inner.into_iter().map(|(name, node)| (name.to_owned(), Some(field(node, name, is_input, import)))).collect::<Vec<_>>())
    });
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
struct Writer<'a> {
    file: &'a Workflow<'a>,
    runtime: Option<&'a Node>,
    models: Models,
    agents: Vec<(String, Option<Yaml>)>,
    tools: Vec<(String, Yaml)>,
    /// The most rounds of a loop.
    rounds: u64,
    optional: Optional,
}

type Keys = Vec<(&'static str, Option<Yaml>)>;

impl Writer<'_> {
    fn list(&mut self, arranged: &[Arranged], scope: &[usize], entry: usize, import: &mut Import) -> Vec<Yaml> {
        arranged.iter().map(|unit| self.unit(unit, scope, entry, import)).collect()
    }

    fn unit(&mut self, unit: &Arranged, scope: &[usize], entry: usize, import: &mut Import) -> Yaml {
        let file = self.file;
        let members = unit.members();
        let Some(part) = members.first().and_then(|first| file.part(*first)) else { return map::<&str>([]) };
        let at = members.first().and_then(|first| file.places.get(first)).map_or(0, |(_, at)| *at);
        let reader = (scope.to_vec(), at);
        let is_into = |edge: &&Edge<'_>| edge.to.is_some_and(|to| members.contains(&to)) && !members.contains(&edge.from);
        let is_here = |edge: &&Edge<'_>| file.places.get(&edge.from).is_some_and(|(loops, _)| loops.starts_with(scope));
        let ways: Vec<String> = file
            .edges
            .iter()
            .filter(is_into)
            .filter(is_here)
            .filter_map(|edge| file.way(edge, scope, &reader, &self.optional, import))
            .collect();
        let when = if members.contains(&entry) { String::new() } else { any_of(ways) };
        let (span, what) = (part.node.span, format!("{}: routes to it", part.name));
        let when = (!when.is_empty()).then(|| import.words(vec![Piece::Text(when)], Manner::Bare, span, &what));
        match unit {
            Arranged::Step(number) => {
                if when.is_some() {
                    self.optional.parts.insert(*number);
                }
                self.step(part, &reader, when, import)
            }
            Arranged::Loop { head, inner } => {
                if when.is_some() {
                    self.optional.loops.insert(*head);
                }
                let inside: Vec<usize> = scope.iter().copied().chain([*head]).collect();
                let steps = self.list(inner, &inside, *head, import);
                let is_back = |edge: &&Edge<'_>| edge.to == Some(*head) && members.contains(&edge.from);
                let end = (inside.clone(), usize::MAX);
                let back =
                    file.edges.iter().filter(is_back).filter_map(|edge| file.way(edge, &inside, &end, &self.optional, import)).collect();
                let until = Some(any_of(back))
                    .filter(|again| !again.is_empty())
                    .map_or_else(|| "false".to_owned(), |again| format!("not ({again})"));
                let until = import.words(vec![Piece::Text(until)], Manner::Bare, span, &format!("{}: the end of the loop", part.name));
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

    fn step(&mut self, part: &Part<'_>, reader: &Place, when: Option<Yaml>, import: &mut Import) -> Yaml {
        let Part { name, id, kind, node } = part;
        let file = self.file;
        let names = |path: &[&str]| file.meant(reader, path);
        let template =
            |key: &str, import: &mut Import| child(node, key).map(|node| import.template(node, &format!("{name}: {key}"), &names));
        let mut keys: Keys = vec![("id", Some(id.clone().into())), ("when", when)];
        match kind {
            Kind::Agent => keys.extend(self.agent(name, id, node, &names, import)),
            Kind::Parallel => {
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
            Kind::Each => {
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
                    ["_index"] => Ok(Meant::value("(item_number - 1)")),
                    [first, ..] if *first == own => Ok(Meant::value(path.join("."))),
                    _ => file.meant(reader, path),
                };
                let list = list.map(|list| import.words(vec![Piece::Text(list)], Manner::Bare, node.span, &format!("{name}: source")));
                let parallel = number(node, "max_concurrent").map(Yaml::Value);
                keys.extend([("for_each", list), ("as", (own != "item").then(|| own.into())), ("max_parallel", parallel)]);
                match child(node, "agent").filter(|agent| matches!(text(agent, "type"), None | Some("agent"))) {
                    Some(agent) => keys.extend(self.agent(name, id, agent, &inner, import)),
                    None => keys.extend(by_hand(name, "only an agent can be done for each element", node, import)),
                }
            }
            Kind::Gate => {
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
            Kind::Script => {
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
                keys.push(("timeout", number(node, "timeout").map(|seconds| format!("{seconds}s").into())));
                let asks =
                    items(child(node, "routes")).iter().any(|route| text(route, "when").is_some_and(|when| when.contains("exit_code")));
                if asks {
                    import.lose(node.span, format!("{name}: exit codes"), "0, 1 and 2 are results here; any other code fails the step");
                    keys.push(("ok_exits", Some(Yaml::Value(serde_json::json!([0, 1, 2])))));
                }
                keys.push(("output", output(node, name, import)));
            }
            Kind::Set => {
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
            Kind::Wait => {
                let seconds = number(node, "duration").map(|seconds| Yaml::from(format!("{seconds}s")));
                keys.push(("wait", seconds.or_else(|| template("duration", import))));
            }
            Kind::Terminate => {
                import.lose_others(node, &["name", "description", "type", "status", "reason"], &format!("{name}: "), "has no counterpart");
                let status = if text(node, "status") == Some("success") { "succeeded" } else { "failed" };
                keys.extend([("stop", Some(status.into())), ("reason", template("reason", import))]);
            }
            Kind::Other => {
                let why = format!("a step of type {} has no counterpart", text(node, "type").unwrap_or_default());
                keys.extend(by_hand(name, &why, node, import));
            }
        }
        map(keys)
    }

    fn agent(&mut self, name: &str, id: &str, node: &Node, names: &Names<'_>, import: &mut Import) -> Keys {
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
        let tools: Vec<Yaml> = self.tools.iter().filter(|(tool, _)| is_wanted(tool)).map(|(tool, _)| tool.clone().into()).collect();
        for tool in wanted.into_iter().flatten().filter_map(|node| Some((node.as_scalar()?.text.as_str(), node.span))) {
            if !self.tools.iter().any(|(known, _)| tool.0.starts_with(known)) {
                import.lose(tool.1, format!("{name}: tool {}", tool.0), "no server of this file has it");
            }
        }
        let agent = [("model", model), ("instructions", Some(instructions)), ("tools", (!tools.is_empty()).then_some(Yaml::List(tools)))];
        self.agents.push((id.to_owned(), Some(map(agent))));
        let prompt = child(node, "prompt").map(|node| import.template(node, &format!("{name}: prompt"), names));
        let retry = child(node, "retry").map(|retry| {
            let delay = number(retry, "delay_seconds").map(|seconds| format!("{seconds}s").into());
            map([
                ("max_attempts", number(retry, "max_attempts").map(Yaml::Value)),
                ("delay", delay),
                ("backoff", text(retry, "backoff").map(Yaml::from)),
            ])
        });
        let timeout = number(node, "timeout_seconds").map(|seconds| format!("{seconds}s").into());
        vec![
            ("agent", Some(id.into())),
            ("prompt", Some(prompt.unwrap_or_else(|| "Do your work.".into()))),
            ("output", output(node, name, import)),
            ("retry", retry),
            ("timeout", timeout),
        ]
    }
}

fn output(node: &Node, name: &str, import: &mut Import) -> Option<Yaml> {
    let all: Vec<_> = entries(child(node, "output")).collect();
    (!all.is_empty()).then(|| {
        map(all
            .into_iter()
            .map(|(key, node)| (key.to_owned(), Some(field(node, &format!("{name}: {key}"), false, import))))
            .collect::<Vec<_>>())
    })
}

/// A step that a person does, in the place of one that has no counterpart: nothing goes on as if it had been done.
fn by_hand(name: &str, why: &str, node: &Node, import: &mut Import) -> Keys {
    import.lose(node.span, name, format!("{why}; a person is asked for its result"));
    let question = import.plain(&format!("What is the result of {name}? It was not imported."), node.span, name);
    vec![("approval", Some(question)), ("form", Some(map([("result", Some(Yaml::from("text")))])))]
}
