//! Microsoft Prompt flow: nodes and their references → steps. A file of Python code is kept as code of a `python` step.

use std::collections::BTreeMap;

use serde_json::Value;

use super::models::{ImportedModel, ImportedModels};
use super::words::MeantName;
use super::yaml::map;
use super::*;

const FORMAT: ImportFormat = ImportFormat::Promptflow;

/// A node: its own keys, or those of its default variant.
struct FlowNode<'a> {
    name: String,
    id: String,
    node: &'a Node,
    /// Keys that only the node in the list has.
    outer: &'a Node,
    kind: String,
    /// The nodes it reads.
    reads: BTreeSet<String>,
}

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, Refusal> {
    if child(root, "nodes").and_then(Node::as_list).is_none() {
        return Err(other_kind(import, root, "it has no list of nodes", FORMAT));
    }
    let known =
        ["$schema", "inputs", "outputs", "nodes", "node_variants", "environment", "name", "display_name", "description", "language", "id"];
    import.lose_others(root, &known, "", "has no counterpart");
    let nodes = in_order(nodes(root, import), import);
    let inputs = inputs(child(root, "inputs"), import);
    let ids: BTreeMap<&str, &FlowNode<'_>> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let mut models = ImportedModels::default();
    let mut agents = vec![];
    let mut steps = vec![];
    let scope = FlowScope { inputs: &inputs, nodes: &ids };
    for node in &nodes {
        steps.push(step(node, &scope, &mut models, &mut agents, import));
    }
    let mut outputs = vec![];
    let mut taken = BTreeSet::new();
    for (name, output) in entries(child(root, "outputs")) {
        match text(output, "reference").and_then(|written| scope.reference(written)) {
            Some(Ok(value)) => {
                let piece =
                    TextPiece::Filled { out: format!("{{{{ {value} }}}}"), was: text(output, "reference").unwrap_or_default().to_owned() };
                let words = import.words(vec![piece], Manner::Template, output.span, &format!("output {name}"));
                outputs.push((id(name, &mut taken), Some(words)));
            }
            Some(Err(why)) => import.lose(output.span, format!("output {name}"), why),
            None => import.lose(output.span, format!("output {name}"), "it has no reference"),
        }
    }
    let folder = import.path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned);
    let name = text(root, "name").map(str::to_owned).or(folder).unwrap_or_else(|| "imported".into());
    let name = id(&name, &mut BTreeSet::new());
    let description = text(root, "description").map(|text| import.fixed(&one_line(text, 300), root.span, "description"));
    let pipeline = map([
        ("flow", Some(Yaml::Value(1.into()))),
        ("name", Some(name.clone().into())),
        ("description", description),
        ("inputs", (!inputs.is_empty()).then(|| map(inputs.iter().map(|(_, id, field)| (id.clone(), Some(field.clone())))))),
        ("models", models.section()),
        ("agents", (!agents.is_empty()).then(|| map(agents))),
        ("steps", Some(Yaml::List(steps))),
        ("outputs", (!outputs.is_empty()).then(|| map(outputs))),
    ]);
    Ok(Imported { name, pipeline, cases: vec![] })
}

fn nodes<'a>(root: &'a Node, import: &mut Import) -> Vec<FlowNode<'a>> {
    let mut taken = BTreeSet::new();
    let mut found = vec![];
    for outer in items(child(root, "nodes")) {
        let Some(name) = text(outer, "name") else {
            import.lose(outer.span, "a node", "it has no name");
            continue;
        };
        let variants = child(root, "node_variants").and_then(|all| child(all, name));
        let chosen = variants.and_then(|variants| {
            let all = child(variants, "variants")?;
            let default = text(variants, "default_variant_id").unwrap_or_default();
            for (other, node) in entries(Some(all)).filter(|(other, _)| *other != default) {
                import.lose(node.span, format!("variant {other} of {name}"), "a step has one form; the default variant is taken");
            }
            child(child(all, default)?, "node")
        });
        let node = chosen.unwrap_or(outer);
        let mut reads = BTreeSet::new();
        for (_, value) in entries(child(node, "inputs")) {
            reads.extend(read_by(&value.to_value().to_string()));
        }
        for activate in [child(node, "activate"), child(outer, "activate")].into_iter().flatten() {
            reads.extend(text(activate, "when").into_iter().flat_map(read_by));
        }
        let kind = text(node, "type").unwrap_or("python").to_owned();
        found.push(FlowNode { name: name.to_owned(), id: id(name, &mut taken), node, outer, kind, reads });
    }
    found
}

/// The nodes named in `${node.output}`.
fn read_by(text: &str) -> Vec<String> {
    let parts = text.split("${").skip(1).filter_map(|part| part.split('}').next());
    parts.filter_map(|path| path.split(['.', '[']).next()).map(|name| name.trim().to_owned()).filter(|name| name != "inputs").collect()
}

/// Each node below those that it reads.
fn in_order<'a>(mut nodes: Vec<FlowNode<'a>>, import: &mut Import) -> Vec<FlowNode<'a>> {
    let all: BTreeSet<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let mut placed = BTreeSet::new();
    let mut found = vec![];
    while !nodes.is_empty() {
        let is_ready = |node: &FlowNode<'_>| node.reads.iter().all(|name| placed.contains(name) || !all.contains(name));
        let at = nodes.iter().position(is_ready).unwrap_or_else(|| {
            import.lose(
                nodes.first().map_or_else(Span::default, |node| node.outer.span),
                "the order of nodes",
                "they read each other in a circle",
            );
            0
        });
        let node = nodes.remove(at);
        placed.insert(node.name.clone());
        found.push(node);
    }
    found
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
            "image" => {
                import.lose(input.span, format!("input {name}"), "a picture is a file here: read it with a read step and attach it");
                "file"
            }
            _ => "any",
        };
        let default = child(input, "default").map(Node::to_value).filter(|value| !value.is_null() && kind != "file");
        let default = default.map(|value| match (value, kind) {
            (Value::String(text), _) => import.fixed(&text, input.span, &format!("default of {name}")),
            (value @ (Value::Number(_) | Value::Bool(_)), "text") => Yaml::Text(value.to_string()),
            (value, _) => Yaml::Value(value),
        });
        let description = text(input, "description").map(|text| import.fixed(text, input.span, &format!("description of {name}")));
        let field = map([("type", Some(kind.into())), ("description", description), ("default", default)]);
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
    fn reference(&self, written: &str) -> Option<Result<String, String>> {
        let path = written.trim().strip_prefix("${")?.strip_suffix('}')?;
        let (path, fields) = path.split_at(path.find('[').unwrap_or(path.len()));
        let mut parts = path.split('.').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        if first == "inputs" {
            let found = rest.first().and_then(|name| self.inputs.iter().find(|(known, ..)| known == name));
            let path = found.map(|(_, id, _)| format!("inputs.{id}")).ok_or_else(|| format!("there is no input {}", rest.join(".")));
            return Some(path.map(|path| with_fields(path, rest.get(1..).unwrap_or_default()) + fields));
        }
        let Some(node) = self.nodes.get(first) else { return Some(Err(format!("there is no node {first}"))) };
        let output = if node.kind == "python" && code_of(node.node).is_some() { "output.result" } else { "output" };
        let path = with_fields(format!("steps.{}.{output}", node.id), rest.get(1..).unwrap_or_default()) + fields;
        Some(Ok(if activation(node).is_some() { format!("{path} | default(none)") } else { path }))
    }

    /// A value of `inputs` of a node as an expression.
    fn value(&self, node: &Node) -> Result<String, String> {
        let value = node.to_value();
        match value.as_str().and_then(|text| self.reference(text)) {
            Some(found) => found,
            None if value.as_str().is_some_and(|text| text.contains("${")) => Err("a reference inside a longer text".into()),
            None if value.is_array() || value.is_object() => Err("a list or an object in inputs".into()),
            None if value.is_null() => Ok("none".into()),
            None => Ok(value.to_string()),
        }
    }
}

fn with_fields(path: String, fields: &[&str]) -> String {
    fields.iter().fold(path, |path, field| format!("{path}.{field}"))
}

fn activation<'a>(node: &FlowNode<'a>) -> Option<&'a Node> {
    child(node.node, "activate").or_else(|| child(node.outer, "activate"))
}

/// The file of the code of a Python node.
fn code_of(node: &Node) -> Option<&str> {
    let source = child(node, "source")?;
    text(source, "path").filter(|path| path.ends_with(".py"))
}

fn step(
    node: &FlowNode<'_>,
    scope: &FlowScope<'_>,
    models: &mut ImportedModels,
    agents: &mut Vec<(String, Option<Yaml>)>,
    import: &mut Import,
) -> Yaml {
    let FlowNode { name, id, node: own, outer, kind, .. } = node;
    let known = [
        "name", "type", "source", "inputs", "connection", "api", "activate", "provider", "module", "use_variants", "aggregation", "comment",
    ];
    import.lose_others(own, &known, &format!("{name}: "), "has no counterpart");
    for (key, why) in [("aggregation", "a run has one line of data; a step over all of them has no counterpart")] {
        if let Some(value) = child(own, key).or_else(|| child(outer, key)).filter(|value| value.to_value() == Value::Bool(true)) {
            import.lose(value.span, format!("{name}: {key}"), why);
        }
    }
    let mut head = vec![("id", Some(id.clone().into()))];
    if let Some(activate) = activation(node) {
        head.push(("when", when(activate, name, scope, import)));
    }
    let settings = ["deployment_name", "model", "max_tokens", "temperature"];
    let values: BTreeMap<&str, Result<String, String>> =
        entries(child(own, "inputs")).map(|(key, value)| (key, scope.value(value))).collect();
    let names = |path: &[&str]| match path {
        [name, rest @ ..] => match values.get(name) {
            Some(Ok(value)) if rest.is_empty() => Ok(MeantName::value(value.clone())),
            Some(Ok(value)) => Ok(MeantName::value(with_fields(value.clone(), rest))),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("there is no input {name} of this node")),
        },
        [] => Err("a name is missing".to_owned()),
    };
    let source = child(own, "source").and_then(|source| text(source, "path"));
    let span = child(own, "source").map_or(own.span, |source| source.span);
    let read = source.map(|source| import.beside(source));
    let lost = |import: &mut Import, why: String| by_hand(name, &why, span, import);
    match (kind.as_str(), read) {
        ("llm", Some(Ok(body))) => {
            for (key, value) in entries(child(own, "inputs")).filter(|(key, _)| is_setting(key) && !settings.contains(key)) {
                if !value.as_scalar().is_none_or(|scalar| scalar.text.is_empty()) {
                    import.lose(value.span, format!("{name}: {key}"), "there is no such setting of a model");
                }
            }
            let (system, user) = messages(&body);
            let instructions =
                if system.is_empty() { "You answer.".into() } else { import.template_text(&system, span, false, name, &names) };
            let inputs = child(own, "inputs");
            let setting = |key: &str| inputs.and_then(|inputs| number(inputs, key));
            let model_name =
                inputs.and_then(|inputs| text(inputs, "model").filter(|text| !text.is_empty()).or_else(|| text(inputs, "deployment_name")));
            let model = model_name.and_then(|model| {
                models.of(ImportedModel {
                    provider: "openai",
                    name: model.to_owned(),
                    temperature: setting("temperature"),
                    max_output_tokens: setting("max_tokens"),
                    price: None,
                })
            });
            agents.push((id.clone(), Some(map([("model", model), ("instructions", Some(instructions))]))));
            head.push(("agent", Some(id.clone().into())));
            head.push(("prompt", Some(import.template_text(&user, span, false, name, &names))));
        }
        ("prompt", Some(Ok(body))) => head.push(("set", Some(import.template_text(&body, span, false, name, &names)))),
        ("python", Some(Ok(body))) if code_of(own).is_some() => match called(&body, entries(child(own, "inputs")).map(|(key, _)| key)) {
            Ok(code) => {
                const OF_NETWORKS: [&str; 7] = ["requests", "urllib", "httpx", "aiohttp", "openai", "socket", "azure"];
                let is_import = |line: &str| {
                    OF_NETWORKS.iter().any(|module| {
                        [format!("import {module}"), format!("from {module}")].iter().any(|start| line.trim_start().starts_with(start))
                    })
                };
                if code.lines().any(is_import) {
                    import.lose(span, format!("{name}: the network"), "code of a python step has none: use an http step");
                }
                head.push(("python", Some(import.fixed(&code, span, name))));
                let given: Vec<_> = entries(child(own, "inputs"))
                    .map(|(key, value)| (key.to_owned(), Some(argument(value, name, scope, import))))
                    .collect();
                if !given.is_empty() {
                    head.push(("with", Some(map(given))));
                }
                head.push(("returns", Some(Yaml::List(vec!["result".into()]))));
            }
            Err(why) => head.extend(lost(import, why)),
        },
        (_, Some(Err(why))) => head.extend(lost(import, why)),
        (kind, _) => head.extend(lost(import, format!("a node of type {kind} without a file of its own has no counterpart"))),
    }
    map(head)
}

/// A step that a person does, in the place of one that has no counterpart: nothing goes on as if it had been done.
fn by_hand(name: &str, why: &str, span: Span, import: &mut Import) -> [(&'static str, Option<Yaml>); 2] {
    import.lose(span, format!("node {name}"), format!("{why}; a person is asked for its result"));
    let question = import.plain(&format!("What is the result of {name}? It was not imported."), span, name);
    [("approval", Some(question)), ("form", Some(map([("result", Some(Yaml::from("text")))])))]
}

fn is_setting(key: &str) -> bool {
    const SETTINGS: [&str; 12] = [
        "deployment_name", "model", "max_tokens", "temperature", "top_p", "stop", "presence_penalty", "frequency_penalty", "logit_bias",
        "functions", "function_call", "response_format",
    ];
    SETTINGS.contains(&key)
}

fn when(activate: &Node, name: &str, scope: &FlowScope<'_>, import: &mut Import) -> Option<Yaml> {
    let what = format!("{name}: activate");
    let left = scope.reference(text(activate, "when")?).unwrap_or_else(|| Err("it is no reference".into()));
    let left = left.map_err(|why| import.lose(activate.span, what.as_str(), why)).ok()?;
    let right = child(activate, "is").map(Node::to_value).unwrap_or_default();
    let condition = match right {
        Value::Bool(true) => left,
        Value::Bool(false) => format!("not ({left})"),
        Value::Null => format!("{left} is none"),
        other => format!("{left} == {other}"),
    };
    Some(import.words(vec![TextPiece::Text(condition)], Manner::Bare, activate.span, &what))
}

/// The value of an argument of Python code.
fn argument(node: &Node, name: &str, scope: &FlowScope<'_>, import: &mut Import) -> Yaml {
    match (node.to_value(), node.as_scalar().and_then(|scalar| scope.reference(&scalar.text))) {
        (_, Some(Ok(path))) => {
            let was = node.as_scalar().map(|scalar| scalar.text.clone()).unwrap_or_default();
            import.words(vec![TextPiece::Filled { out: format!("{{{{ {path} }}}}"), was }], Manner::Template, node.span, name)
        }
        (Value::String(text), reference) => {
            if let Some(Err(why)) = reference {
                import.lose(node.span, format!("{name}: {text}"), why);
            }
            import.plain(&text, node.span, name)
        }
        (value, _) => Yaml::Value(value),
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
fn called<'a>(body: &str, arguments: impl Iterator<Item = &'a str>) -> Result<String, String> {
    if body.lines().any(|line| line.trim_start().starts_with("class ") && line.contains("ToolProvider")) {
        return Err("a tool that is a class has no counterpart".into());
    }
    let is_foreign = |line: &str| line.starts_with("from promptflow") || line.starts_with("import promptflow");
    let mut lines = body.lines().map(|line| if is_foreign(line) { "" } else { line }).collect::<Vec<_>>();
    let at = lines.iter().position(|line| *line == "@tool" || line.starts_with("@tool(")).ok_or("its file has no function marked @tool")?;
    let head = lines.get(at + 1..).unwrap_or_default().iter().find_map(|line| line.trim_start_matches("async ").strip_prefix("def "));
    let name = head.and_then(|head| head.split('(').next()).ok_or("its file has no function marked @tool")?.trim().to_owned();
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
