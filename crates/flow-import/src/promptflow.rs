//! Microsoft Prompt flow: nodes and their references → steps. A file of Python code is kept as code of a `python` step.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlowNodeKind<'a> {
    Llm,
    Prompt,
    Python,
    Other(&'a str),
}

/// A node: its own keys, or those of its default variant.
struct FlowNode<'a> {
    name: &'a str,
    id: String,
    node: &'a Node,
    kind: FlowNodeKind<'a>,
    /// When it is done: also of a node with variants.
    activate: Option<&'a Node>,
    /// The nodes it reads.
    reads: BTreeSet<String>,
}

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, ImportError> {
    if child(root, "nodes").and_then(Node::as_list).is_none() {
        return Err(other_kind(import, root, "it has no list of nodes", ImportFormat::Promptflow));
    }
    let known = "$schema inputs outputs nodes node_variants environment name display_name description language id";
    import.lose_others(root, known, "");
    let nodes = in_order(nodes(root, import), import);
    let inputs = inputs(child(root, "inputs"), import);
    let nodes_by_name: BTreeMap<&str, &FlowNode<'_>> = nodes.iter().map(|node| (node.name, node)).collect();
    let scope = FlowScope { inputs: &inputs, nodes: &nodes_by_name };
    let mut done = Imported { description: description(root), ..Imported::default() };
    for node in &nodes {
        let step = step(node, &scope, &mut done, import);
        done.steps.push(step);
    }
    let mut outputs = vec![];
    let mut taken = BTreeSet::new();
    for (name, output) in entries(child(root, "outputs")) {
        let what = format!("output {name}");
        let written = text(output, "reference").unwrap_or_default();
        match scope.reference(written).unwrap_or(Err(LostWhy::NoReference)) {
            Ok(value) => outputs.push(pair(id(name, &mut taken), import.filled(&value, written, output.span, &what))),
            Err(why) => import.lose(output.span, what, why),
        }
    }
    done.outputs = map_of(outputs);
    let folder = import.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    done.name = id(text(root, "name").or(folder).unwrap_or("imported"), &mut BTreeSet::new());
    done.inputs = inputs.into_iter().map(|(_, id, field)| pair(id, field)).collect();
    Ok(done)
}

fn nodes<'a>(root: &'a Node, import: &mut Import) -> Vec<FlowNode<'a>> {
    let mut taken = BTreeSet::new();
    let mut found = vec![];
    for outer in items(child(root, "nodes")) {
        let Some(name) = text(outer, "name") else {
            import.lose(outer.span, "a node", LostWhy::NoName);
            continue;
        };
        let variants = child(root, "node_variants").and_then(|all| child(all, name));
        let chosen = variants.and_then(|variants| {
            let all = child(variants, "variants")?;
            let default = text(variants, "default_variant_id").unwrap_or_default();
            for (other, node) in entries(Some(all)).filter(|(other, _)| *other != default) {
                import.lose(node.span, format!("variant {other} of {name}"), LostWhy::OneVariant);
            }
            child(child(all, default)?, "node")
        });
        let node = chosen.unwrap_or(outer);
        let activate = child(node, "activate").or_else(|| child(outer, "activate"));
        let mut reads: BTreeSet<String> =
            entries(child(node, "inputs")).flat_map(|(_, value)| read_by(&value.to_value().to_string())).collect();
        reads.extend(activate.and_then(|activate| text(activate, "when")).into_iter().flat_map(read_by));
        let kind = match text(node, "type").unwrap_or("python") {
            "llm" => FlowNodeKind::Llm,
            "prompt" => FlowNodeKind::Prompt,
            "python" => FlowNodeKind::Python,
            other => FlowNodeKind::Other(other),
        };
        for all in [node, outer].into_iter().filter_map(|node| child(node, "aggregation")).filter(|all| all.to_value() == Value::Bool(true))
        {
            import.lose(all.span, format!("{name}: aggregation"), LostWhy::OneLine);
        }
        found.push(FlowNode { name, id: id(name, &mut taken), node, kind, activate, reads });
    }
    found
}

/// The nodes named in `${node.output}`.
fn read_by(text: &str) -> Vec<String> {
    let parts = text.split("${").skip(1).filter_map(|part| part.split('}').next());
    parts.filter_map(|path| path.split(['.', '[']).next()).map(|name| name.trim().to_owned()).filter(|name| name != "inputs").collect()
}

/// Each node below those that it reads. Of those that read each other in a circle one is taken first, which is reported.
fn in_order<'a>(mut nodes: Vec<FlowNode<'a>>, import: &mut Import) -> Vec<FlowNode<'a>> {
    let mut found: Vec<FlowNode<'a>> = vec![];
    while !nodes.is_empty() {
        let is_open = |name: &String| nodes.iter().any(|node| node.name == name.as_str());
        let at = nodes.iter().position(|node| !node.reads.iter().any(is_open)).unwrap_or_else(|| {
            let at = (0..nodes.len()).find(|at| is_in_circle(&nodes, *at)).unwrap_or_default();
            if let Some(node) = nodes.get(at) {
                import.lose(node.node.span, format!("node {}", node.name), LostWhy::Circle);
            }
            at
        });
        found.push(nodes.remove(at));
    }
    found
}

/// Whether a node reads itself, by way of others or not.
fn is_in_circle(nodes: &[FlowNode<'_>], at: usize) -> bool {
    let (mut open, mut seen) = (vec![at], BTreeSet::new());
    while let Some(node) = open.pop().and_then(|at| nodes.get(at)) {
        let read = (0..nodes.len()).filter(|other| nodes.get(*other).is_some_and(|other| node.reads.contains(other.name)));
        open.extend(read.filter(|other| seen.insert(*other)).collect::<Vec<_>>());
    }
    seen.contains(&at)
}

fn inputs(node: Option<&Node>, import: &mut Import) -> Vec<(String, String, Yaml)> {
    let mut taken = BTreeSet::from(["channel".to_owned()]);
    let mut found = vec![];
    for (name, input) in entries(node) {
        let kind = match text(input, "type").unwrap_or("string") {
            "string" | "secret" => "text",
            "int" => "integer",
            "double" => "number",
            "bool" => "boolean",
            "list" => "list",
            "image" => "file",
            _ => "any",
        };
        if kind == "file" {
            import.lose(input.span, format!("input {name}"), LostWhy::Picture);
        }
        let default = child(input, "default").map(Node::to_value).filter(|value| !value.is_null() && kind != "file");
        let default = default.map(|value| match value {
            Value::Number(_) | Value::Bool(_) if kind == "text" => value.to_string().into(),
            value => import.value(value, input.span, &format!("default of {name}")),
        });
        let description = text(input, "description").map(|text| import.fixed(text, input.span, &format!("description of {name}")));
        let field = map([pair("type", kind), may("description", description), may("default", default)]);
        found.push((name.to_owned(), id(name, &mut taken), field));
    }
    found
}

/// What a reference can name.
struct FlowScope<'a> {
    inputs: &'a [(String, String, Yaml)],
    nodes: &'a BTreeMap<&'a str, &'a FlowNode<'a>>,
}

impl FlowScope<'_> {
    /// `${node.output.field}` as an expression; `None`: it is no reference.
    fn reference(&self, written: &str) -> Option<Result<String, LostWhy>> {
        let path = written.trim().strip_prefix("${")?.strip_suffix('}')?;
        let (path, fields) = path.split_at(path.find('[').unwrap_or(path.len()));
        let parts: Vec<&str> = path.split('.').map(str::trim).collect();
        let unknown = |what: &str, name: &str| Some(Err(LostWhy::Unknown(format!("{what} {name}"))));
        let (found, rest, is_optional) = match parts.as_slice() {
            ["inputs", name, rest @ ..] => match self.inputs.iter().find(|(known, ..)| known == name) {
                Some((_, id, _)) => (format!("inputs.{id}"), rest, false),
                None => return unknown("input", name),
            },
            [name, rest @ ..] => match self.nodes.get(name) {
                Some(node) => {
                    let is_python = node.kind == FlowNodeKind::Python && code_of(node.node).is_some();
                    let output = if is_python { "output.result" } else { "output" };
                    (format!("steps.{}.{output}", node.id), rest.get(1..).unwrap_or_default(), node.activate.is_some())
                }
                None => return unknown("node", name),
            },
            [] => return unknown("node", ""),
        };
        let path = with_fields(found, rest) + fields;
        Some(Ok(if is_optional { format!("{path} | default(none)") } else { path }))
    }

    /// A value of `inputs` of a node as an expression.
    fn value(&self, node: &Node) -> Result<String, LostWhy> {
        let value = node.to_value();
        match value.as_str().and_then(|text| self.reference(text)) {
            Some(found) => found,
            None if value.as_str().is_some_and(|text| text.contains("${")) => Err(LostWhy::ReferenceInText),
            None if value.is_array() || value.is_object() => Err(LostWhy::ListInInputs),
            None if value.is_null() => Ok("none".into()),
            None => Ok(value.to_string()),
        }
    }
}

/// The file of the code of a Python node.
fn code_of(node: &Node) -> Option<&str> {
    text(child(node, "source")?, "path").filter(|path| path.ends_with(".py"))
}

fn step(node: &FlowNode<'_>, scope: &FlowScope<'_>, done: &mut Imported, import: &mut Import) -> Yaml {
    let FlowNode { name, id, node: own, kind, .. } = node;
    let known = "name type source inputs connection api activate provider module use_variants aggregation comment";
    import.lose_others(own, known, &format!("{name}: "));
    let mut keys = vec![pair("id", id.as_str())];
    keys.extend(node.activate.map(|activate| may("when", when(activate, name, scope, import))));
    let inputs = child(own, "inputs");
    let values: BTreeMap<&str, Result<String, LostWhy>> = entries(inputs).map(|(key, value)| (key, scope.value(value))).collect();
    let names = |path: &[&str]| {
        let (name, rest) = path.split_first().ok_or(LostWhy::NameMissing)?;
        let unknown = || Err(LostWhy::Unknown(format!("input {name} of this node")));
        values.get(name).cloned().unwrap_or_else(unknown).map(|value| MeantName::value(with_fields(value, rest)))
    };
    let source = child(own, "source").and_then(|source| text(source, "path"));
    let span = child(own, "source").map_or(own.span, |source| source.span);
    let kept = match (kind, source.map(|source| import.beside(source))) {
        (_, Some(Err(why))) => Err(why),
        (FlowNodeKind::Llm, Some(Ok(body))) => {
            let (system, user) = messages(&body);
            let instructions = import.instructions(&system, span, name, &names);
            let model = model(name, inputs, import).and_then(|model| done.models.id(model));
            done.agents.push(pair(id, map([may("model", model), pair("instructions", instructions)])));
            Ok(vec![pair("agent", id.as_str()), pair("prompt", import.template_text(&user, span, false, name, &names))])
        }
        (FlowNodeKind::Prompt, Some(Ok(body))) => Ok(vec![pair("set", import.template_text(&body, span, false, name, &names))]),
        (FlowNodeKind::Python, Some(Ok(body))) if code_of(own).is_some() => {
            called(&body, entries(inputs).map(|(key, _)| key)).map(|code| {
                if uses_network(&code) {
                    import.lose(span, format!("{name}: the network"), LostWhy::NoNetwork);
                }
                let code = import.fixed(&code, span, name);
                let given: Vec<Entry> = entries(inputs).map(|(key, value)| pair(key, argument(value, name, scope, import))).collect();
                vec![pair("python", code), may("with", map_of(given)), pair("returns", vec![Yaml::from("result")])]
            })
        }
        (FlowNodeKind::Llm, None) => Err(LostWhy::StepKind("llm without a file".into())),
        (FlowNodeKind::Prompt, None) => Err(LostWhy::StepKind("prompt without a file".into())),
        (FlowNodeKind::Python, None | Some(Ok(_))) => Err(LostWhy::StepKind("python without a file of its own".into())),
        (FlowNodeKind::Other(kind), None | Some(Ok(_))) => Err(LostWhy::StepKind((*kind).to_owned())),
    };
    keys.extend(kept.unwrap_or_else(|why| import.by_hand(name, span, why)));
    map(keys)
}

/// The model of a node, and the settings that are lost.
fn model(name: &str, inputs: Option<&Node>, import: &mut Import) -> Option<ImportedModel> {
    const LOST: [&str; 8] =
        ["top_p", "stop", "presence_penalty", "frequency_penalty", "logit_bias", "functions", "function_call", "response_format"];
    for (key, value) in entries(inputs).filter(|(key, _)| LOST.contains(key)) {
        if !value.as_scalar().is_none_or(|scalar| scalar.text.is_empty()) {
            import.lose(value.span, format!("{name}: {key}"), LostWhy::NoSetting);
        }
    }
    let inputs = inputs?;
    let named = text(inputs, "model").filter(|text| !text.is_empty()).or_else(|| text(inputs, "deployment_name"))?;
    let (temperature, max_output_tokens) = (number(inputs, "temperature"), number(inputs, "max_tokens"));
    Some(ImportedModel { provider: "openai", name: named.to_owned(), temperature, max_output_tokens })
}

fn uses_network(code: &str) -> bool {
    const OF_NETWORKS: [&str; 7] = ["requests", "urllib", "httpx", "aiohttp", "openai", "socket", "azure"];
    let imported =
        |line: &str| line.trim_start().strip_prefix("import ").or_else(|| line.trim_start().strip_prefix("from ")).map(str::to_owned);
    code.lines().filter_map(imported).any(|rest| OF_NETWORKS.iter().any(|module| rest.starts_with(module)))
}

fn when(activate: &Node, name: &str, scope: &FlowScope<'_>, import: &mut Import) -> Option<Yaml> {
    let what = format!("{name}: activate");
    let left = scope.reference(text(activate, "when")?).unwrap_or(Err(LostWhy::NoReference));
    let left = left.map_err(|why| import.lose(activate.span, what.as_str(), why)).ok()?;
    let condition = match child(activate, "is").map(Node::to_value).unwrap_or_default() {
        Value::Bool(true) => left,
        Value::Bool(false) => format!("not ({left})"),
        Value::Null => format!("{left} is none"),
        other => format!("{left} == {other}"),
    };
    Some(import.expression(condition, activate.span, &what))
}

/// The value of an argument of Python code.
fn argument(node: &Node, name: &str, scope: &FlowScope<'_>, import: &mut Import) -> Yaml {
    match node.to_value() {
        Value::String(text) => match scope.reference(&text) {
            Some(Ok(path)) => import.filled(&path, &text, node.span, name),
            Some(Err(why)) => {
                import.lose(node.span, format!("{name}: {text}"), why);
                import.plain(&text, node.span, name)
            }
            None => import.plain(&text, node.span, name),
        },
        value => Yaml::Value(value),
    }
}

/// The system's part of a prompt file, and the rest with the headings of who speaks.
fn messages(body: &str) -> (String, String) {
    let role_of = |line: &str| {
        let line = line.trim().trim_start_matches('#').trim().to_ascii_lowercase();
        ["system:", "user:", "assistant:", "function:"].into_iter().find(|role| line == *role)
    };
    let mut parts: Vec<(&str, Vec<&str>)> = vec![("", vec![])];
    for line in body.lines() {
        match role_of(line) {
            Some(role) => parts.push((role, vec![])),
            None => parts.last_mut().into_iter().for_each(|(_, lines)| lines.push(line)),
        }
    }
    parts.retain(|(_, lines)| lines.iter().any(|line| !line.trim().is_empty()));
    let is_whole = |lines: &[&str]| {
        let text = lines.join("\n");
        let opened = ["{% if", "{% for", "{%if", "{%for", "{%- if", "{%- for"].iter().map(|mark| text.matches(mark).count()).sum::<usize>();
        opened == ["endif", "endfor"].iter().map(|mark| text.matches(mark).count()).sum::<usize>()
    };
    let first = parts.first().filter(|(role, lines)| *role == "system:" && is_whole(lines) && parts.len() > 1);
    let (system, rest) = match first {
        Some((_, lines)) => (lines.join("\n").trim().to_owned(), parts.get(1..).unwrap_or_default()),
        None => (String::new(), parts.as_slice()),
    };
    match rest {
        [(_, lines)] => (system, lines.join("\n").trim().to_owned()),
        several => {
            let part = |(role, lines): &(&str, Vec<&str>)| format!("{role}\n{}", lines.join("\n")).trim().to_owned();
            (system, several.iter().map(part).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// The code of a file with a call of its tool at the end; what only the other program has is left out.
fn called<'a>(body: &str, arguments: impl Iterator<Item = &'a str>) -> Result<String, LostWhy> {
    if body.lines().any(|line| line.trim_start().starts_with("class ") && line.contains("ToolProvider")) {
        return Err(LostWhy::ToolClass);
    }
    let is_foreign = |line: &str| line.starts_with("from promptflow") || line.starts_with("import promptflow");
    let mut lines = body.lines().map(|line| if is_foreign(line) { "" } else { line }).collect::<Vec<_>>();
    let at = lines.iter().position(|line| *line == "@tool" || line.starts_with("@tool(")).ok_or(LostWhy::NoTool)?;
    let head = lines.get(at + 1..).unwrap_or_default().iter().find_map(|line| line.trim_start_matches("async ").strip_prefix("def "));
    let name = head.and_then(|head| head.split('(').next()).ok_or(LostWhy::NoTool)?.trim().to_owned();
    if let Some(mark) = lines.get_mut(at) {
        *mark = "";
    }
    let given: Vec<String> = arguments.map(|name| format!("{name}={name}")).collect();
    let mut code = lines.join("\n");
    while code.contains("\n\n\n\n") {
        code = code.replace("\n\n\n\n", "\n\n\n");
    }
    Ok(format!("{}\n\nresult = {name}({})\n", code.trim_matches('\n'), given.join(", ")))
}
