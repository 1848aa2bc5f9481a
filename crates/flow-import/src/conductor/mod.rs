//! Microsoft Conductor: agents with routes → steps, with `when` where a route decides and `repeat` where one leads back.

mod graph;
mod steps;

use std::collections::BTreeMap;

use graph::{ArrangedPart, arrange, in_use};
use serde_json::Value;
use steps::{StepWriter, field, model, tools};

use super::*;

/// Agents of a file that are put in order.
const MOST: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
enum PartKind {
    Agent,
    #[strum(disabled)]
    Parallel,
    #[strum(disabled)]
    Each,
    #[strum(serialize = "human_gate")]
    Gate,
    Script,
    Set,
    Wait,
    Terminate,
    /// What has no counterpart; a person does it.
    #[strum(disabled)]
    Other,
}

/// What has routes.
struct FlowPart<'a> {
    name: String,
    id: String,
    kind: PartKind,
    node: &'a Node,
}

/// A way from a part to the next one; `None`: to the end.
struct WayOn<'a> {
    from: usize,
    to: Option<usize>,
    when: Option<(&'a str, Span)>,
}

/// The loops around a part by their heads, outer ones first, and its place among all parts.
type PartPlace = (Vec<usize>, usize);

/// Parts, and loops by their heads, that may not be done.
#[derive(Default)]
struct OptionalParts {
    parts: BTreeSet<usize>,
    loops: BTreeSet<usize>,
}

#[derive(Default)]
struct RoutedWorkflow<'a> {
    parts: Vec<FlowPart<'a>>,
    edges: Vec<WayOn<'a>>,
    inputs: Vec<(String, String)>,
    /// The whole file.
    text: String,
    /// The agents in groups: the number of the group, and the agent.
    members: BTreeMap<String, (usize, &'a Node)>,
    /// The loops around each part, outer ones first, and its place among all.
    places: BTreeMap<usize, PartPlace>,
}

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, ImportError> {
    let Some(workflow) = child(root, "workflow").filter(|node| node.as_map().is_some()) else {
        return Err(other_kind(import, root, "it has no workflow", ImportFormat::Conductor));
    };
    import.lose_others(root, "workflow agents parallel for_each output tools", "");
    let known = "name description version entry_point runtime input limits metadata context";
    import.lose_others(workflow, known, "workflow.");
    let mut file = RoutedWorkflow::read(root, workflow, import);
    if file.parts.is_empty() || file.parts.len() > MOST {
        return Err(other_kind(import, root, &format!("it has no agents, or more than {MOST}"), ImportFormat::Conductor));
    }
    let entry = text(workflow, "entry_point").and_then(|name| file.number_of(name)).unwrap_or_else(|| {
        import.lose(workflow.span, "entry_point", LostWhy::NoEntry);
        0
    });
    let ways: Vec<(usize, usize)> = file.edges.iter().filter_map(|edge| Some((edge.from, edge.to?))).collect();
    let used = in_use(entry, &ways);
    for part in file.parts.iter().enumerate().filter(|(number, _)| !used.contains(number)).map(|(_, part)| part) {
        import.lose(part.node.span, part.name.as_str(), LostWhy::NoRouteTo);
    }
    let arranged = arrange(&used, &ways, entry);
    // A loop that begins with the entry is found in its own list.
    let begins_again = ways.iter().any(|(from, to)| *to == entry && used.contains(from));
    let arranged = if begins_again { whole_loop(&arranged, entry, &ways) } else { arranged };
    file.place(&arranged, &mut vec![]);

    let (runtime, limits) = (child(workflow, "runtime"), child(workflow, "limits"));
    let rounds = limits.and_then(|limits| number(limits, "max_iterations")?.as_u64());
    if let (Some(limits), true) = (limits.filter(|_| rounds.is_some()), arranged.iter().any(ArrangedPart::is_loop)) {
        import.lose(limits.span, "limits.max_iterations", LostWhy::RoundsCounted);
    }
    let mut done = Imported { tools: tools(workflow, import), description: description(workflow), ..Imported::default() };
    if let Some(runtime) = runtime {
        if let Some(name) = text(runtime, "default_model") {
            done.models.id(model(name, Some(runtime), Some(runtime)));
        }
        if let Some(provider) = child(runtime, "provider") {
            let name = provider.as_scalar().map(|scalar| scalar.text.as_str()).or_else(|| text(provider, "name")).unwrap_or_default();
            if !matches!(name, "claude" | "openai" | "anthropic") {
                import.lose(provider.span, format!("provider {name}"), LostWhy::NeedsBaseUrl);
            }
        }
        let known = "provider default_model temperature max_tokens mcp_servers";
        import.lose_others(runtime, known, "runtime.");
    }
    let rounds = rounds.unwrap_or(10).clamp(1, 100);
    let mut writer = StepWriter { file: &file, runtime, done, rounds, optional: OptionalParts::default() };
    let steps = writer.list(&arranged, &[], entry, import);
    let mut done = Imported { steps, ..writer.done };
    let mut taken = BTreeSet::new();
    let end = (vec![], usize::MAX);
    let outputs = entries(child(root, "output"));
    let output = |(name, node): (&str, &Node)| {
        pair(id(name, &mut taken), import.template(node, &format!("output {name}"), &|path| file.resolve(&end, path)))
    };
    done.outputs = map_of(outputs.map(output).collect::<Vec<_>>());
    let inputs = file.inputs.iter().zip(entries(child(workflow, "input")));
    done.inputs = inputs.map(|((_, id), (name, node))| pair(id, field(node, name, import))).collect();
    let seconds = limits.and_then(|limits| child(limits, "timeout_seconds")).and_then(duration);
    done.limits = vec![may("deadline", seconds), may("max_cost_usd", limits.and_then(|limits| number(limits, "budget_usd")))];
    done.name = id(text(workflow, "name").unwrap_or("imported"), &mut BTreeSet::new());
    Ok(done)
}

/// The parts up to the last one that leads back to the first, as a loop; the rest stays below it.
fn whole_loop(arranged: &[ArrangedPart], entry: usize, ways: &[(usize, usize)]) -> Vec<ArrangedPart> {
    let returns = |node: usize| in_use(node, ways).contains(&entry);
    let (inner, rest): (Vec<ArrangedPart>, Vec<ArrangedPart>) =
        arranged.iter().cloned().partition(|part| part.members().into_iter().any(returns));
    std::iter::once(ArrangedPart::Loop { head: entry, inner }).chain(rest).collect()
}

impl<'a> RoutedWorkflow<'a> {
    fn read(root: &'a Node, workflow: &'a Node, import: &mut Import) -> RoutedWorkflow<'a> {
        let text_of_file = import.sources.file(import.file).text.to_string();
        let mut file = RoutedWorkflow { text: text_of_file, ..RoutedWorkflow::default() };
        let (mut taken, mut names) = (BTreeSet::new(), BTreeSet::from(["channel".to_owned()]));
        file.inputs = entries(child(workflow, "input")).map(|(name, _)| (name.to_owned(), id(name, &mut names))).collect();
        let grouped: BTreeSet<&str> = items(child(root, "parallel")).iter().flat_map(|group| names_in(child(group, "agents"))).collect();
        for (key, kind) in [("agents", None), ("for_each", Some(PartKind::Each)), ("parallel", Some(PartKind::Parallel))] {
            for node in items(child(root, key)) {
                let Some(name) = text(node, "name") else {
                    import.lose(node.span, format!("one of {key}"), LostWhy::NoName);
                    continue;
                };
                if kind.is_none() && grouped.contains(name) {
                    continue;
                }
                let kind = kind.unwrap_or_else(|| text(node, "type").unwrap_or("agent").parse().unwrap_or(PartKind::Other));
                file.parts.push(FlowPart { name: name.to_owned(), id: id(name, &mut taken), kind, node });
            }
        }
        for (group, part) in file.parts.iter().enumerate().filter(|(_, part)| part.kind == PartKind::Parallel) {
            for name in names_in(child(part.node, "agents")) {
                match items(child(root, "agents")).iter().find(|agent| text(agent, "name") == Some(name)) {
                    Some(agent) => drop(file.members.insert(name.to_owned(), (group, agent))),
                    None => import.lose(part.node.span, format!("{}: {name}", part.name), LostWhy::NoSuchAgent),
                }
            }
        }
        for (from, part) in file.parts.iter().enumerate() {
            let all = |list: &str, to: &'static str, when: &'static str| {
                let way = move |node: &'a Node| Some((text(node, to)?, text(node, when).map(|when| (when, node.span)), node.span));
                items(child(part.node, list)).iter().filter_map(way).collect::<Vec<_>>()
            };
            let options = if part.kind == PartKind::Gate { all("options", "route", "value") } else { vec![] };
            for (to, when, span) in options.into_iter().chain(all("routes", "to", "when")) {
                match file.number_of(to) {
                    None if to != "$end" => import.lose(span, format!("{}: route to {to}", part.name), LostWhy::NoSuchAgent),
                    to => file.edges.push(WayOn { from, to, when }),
                }
            }
        }
        file
    }

    fn number_of(&self, name: &str) -> Option<usize> {
        self.parts.iter().position(|part| part.name == name)
    }

    fn place(&mut self, arranged: &[ArrangedPart], loops: &mut Vec<usize>) {
        for part in arranged {
            match part {
                ArrangedPart::Step(number) => {
                    let at = self.places.len();
                    self.places.insert(*number, (loops.clone(), at));
                }
                ArrangedPart::Loop { head, inner } => {
                    loops.push(*head);
                    self.place(inner, loops);
                    loops.pop();
                }
            }
        }
    }

    fn part(&self, number: usize) -> Option<&FlowPart<'a>> {
        self.parts.get(number)
    }

    /// Whether fields of what a script prints are read somewhere.
    fn gives_json(&self, part: &FlowPart<'_>) -> bool {
        const OWN: [&str; 3] = ["stdout", "stderr", "exit_code"];
        let is_field = |text: &str, mark: &str| text.split(mark).skip(1).any(|rest| !OWN.iter().any(|own| rest.starts_with(own)));
        let routes =
            self.edges.iter().filter(|edge| self.part(edge.from).is_some_and(|from| from.id == part.id)).filter_map(|edge| edge.when);
        let by_routes = routes.filter(|(when, _)| !when.contains("output.")).any(|(when, _)| !OWN.iter().any(|own| when.contains(own)));
        child(part.node, "output").is_none() && (by_routes || is_field(&self.text, &format!("{}.output.", part.name)))
    }

    fn loop_id(&self, head: usize) -> String {
        self.part(head).map(|part| format!("{}_rounds", part.id)).unwrap_or_default()
    }

    /// What holds a part for a reader: its path, whether it is a step there, and how to ask if it is there.
    fn access(&self, reader: &PartPlace, number: usize) -> Option<(String, bool, String)> {
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
    fn resolve(&self, reader: &PartPlace, path: &[&str]) -> Result<MeantName, LostWhy> {
        let unknown = || LostWhy::Unknown(path.join("."));
        let (name, rest) = path.split_first().ok_or_else(unknown)?;
        if let ("workflow", ["input", name, rest @ ..]) = (*name, rest) {
            let (_, id) = self.inputs.iter().find(|(known, _)| known == name).ok_or_else(unknown)?;
            return Ok(MeantName::value(with_fields(format!("inputs.{id}"), rest)));
        }
        if let Some((group, node)) = self.members.get(*name) {
            let ["output", rest @ ..] = rest else { return Err(unknown()) };
            let (path, is_step, there) = self.access(reader, *group).ok_or_else(unknown)?;
            let path = if is_step { format!("{path}.output.{name}") } else { format!("{path}.{name}") };
            return Ok(MeantName { value: with_fields(path, without_result(node, rest)), there: Some(there) });
        }
        let number = self.number_of(name).ok_or_else(unknown)?;
        let part = self.part(number).ok_or_else(unknown)?;
        let (path, is_step, there) = self.access(reader, number).ok_or_else(unknown)?;
        let output = if is_step { format!("{path}.output") } else { path.clone() };
        let value = match (part.kind, rest) {
            (_, []) => there.clone(),
            (PartKind::Parallel, ["outputs", member, rest @ ..]) => {
                let rest = self.members.get(*member).map_or(rest, |(_, node)| without_result(node, rest));
                with_fields(format!("{output}.{member}"), rest)
            }
            (PartKind::Each, ["outputs", rest @ ..]) => with_fields(output, rest),
            (PartKind::Gate, ["choice"] | ["output", "choice" | "selected"]) => format!("{output}.choice"),
            (PartKind::Gate, ["output", "additional_input", rest @ ..]) => with_fields(output, rest),
            (PartKind::Script, ["output", "exit_code"]) if is_step => format!("{path}.details.exit"),
            (PartKind::Script, ["output", "stderr"]) if is_step => format!("{path}.details.stderr"),
            (PartKind::Script, ["output", "stdout"]) if child(part.node, "output").is_none() && !self.gives_json(part) => output,
            (PartKind::Script, ["output", "exit_code" | "stderr" | "stdout"]) => return Err(unknown()),
            (PartKind::Agent | PartKind::Script | PartKind::Set | PartKind::Other, ["output", rest @ ..]) => {
                with_fields(output, without_result(part.node, rest))
            }
            (PartKind::Agent | PartKind::Script | PartKind::Set | PartKind::Other | PartKind::Parallel | PartKind::Each, _)
            | (PartKind::Gate | PartKind::Wait | PartKind::Terminate, _) => return Err(unknown()),
        };
        Ok(MeantName { value, there: Some(there) })
    }

    /// What must hold for a way to be taken, as its end sees it; empty: it always is. `None`: it never is.
    fn taken(&self, edge: &WayOn<'_>, reader: &PartPlace, import: &mut Import) -> Option<String> {
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
                self.resolve(reader, &with)
            };
            if part.kind == PartKind::Gate && !when.0.contains("{{") {
                return self
                    .resolve(reader, &[&part.name, "choice"])
                    .ok()
                    .map(|meant| format!("{} == {}", meant.value, Value::from(when.0)));
            }
            // It counts agents of the whole run; a loop here ends by its own bound.
            if when.0.contains("context.iteration") {
                import.lose(when.1, format!("{}: route: {}", part.name, one_line(when.0, 80)), LostWhy::AgentsCounted);
                return Some("true".to_owned());
            }
            import.bare(when.0, when.1, &format!("{}: route", part.name), &own)
        };
        for earlier in self.edges.iter().filter(|earlier| earlier.from == edge.from).take_while(|earlier| !std::ptr::eq(*earlier, edge)) {
            match earlier.when {
                None => return None,
                // Options of a gate exclude each other.
                Some(_) if earlier.to == edge.to || part.kind == PartKind::Gate => {}
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
    fn way(&self, edge: &WayOn<'_>, scope: &[usize], reader: &PartPlace, optional: &OptionalParts, import: &mut Import) -> Option<String> {
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
fn any_of(mut ways: Vec<String>) -> String {
    ways.dedup();
    match ways.as_slice() {
        [] => "false".to_owned(),
        ways if ways.iter().any(String::is_empty) => String::new(),
        [way] => way.clone(),
        ways => ways.iter().map(|way| format!("({way})")).collect::<Vec<_>>().join(" or "),
    }
}
