//! promptfoo: prompts, providers and tests with assertions → a pipeline of one step, and its tests.

use serde_json::{Value, json};

use super::models::{ImportedModel, ImportedModels};
use super::words::MeantName;
use super::yaml::map;
use super::*;

const FORMAT: ImportFormat = ImportFormat::Promptfoo;

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, Refusal> {
    if child(root, "prompts").is_none() {
        return Err(other_kind(import, root, "it has no prompts", FORMAT));
    }
    import.lose_others(
        root,
        &["prompts", "providers", "targets", "tests", "defaultTest", "description", "$schema"],
        "",
        "has no counterpart",
    );
    let mut taken = BTreeSet::new();
    let default = child(root, "defaultTest").filter(|node| node.as_map().is_some());
    let tests = child(root, "tests");
    if let Some(file) = tests.filter(|tests| tests.as_list().is_none()) {
        import.lose(file.span, "tests", "tests of another file are not read");
    }
    let all: Vec<&Node> = items(tests).iter().filter(|test| test.as_map().is_some()).collect();
    for other in items(tests).iter().filter(|test| test.as_map().is_none()) {
        import.lose(other.span, "a test", "tests of another file are not read");
    }

    // Variables, in the order in which they are first written.
    let mut inputs: Vec<(String, String, Value)> = vec![];
    for (name, value) in default.into_iter().chain(all.iter().copied()).flat_map(|test| entries(child(test, "vars"))) {
        let value = value.to_value();
        match inputs.iter_mut().find(|(known, ..)| known == name) {
            None => inputs.push((name.to_owned(), id(name, &mut taken), value)),
            // Values of several types: anything.
            Some((.., known)) if std::mem::discriminant(known) != std::mem::discriminant(&value) => *known = Value::Array(vec![]),
            Some(_) => {}
        }
    }
    let prompt = prompts(root, import);
    let mut unset = BTreeSet::new();
    let texts = prompt.iter().flat_map(|(_, text)| words_in(text));
    for name in texts.filter(|name| !inputs.iter().any(|(known, ..)| known == name)) {
        unset.insert(name);
    }
    for name in unset {
        let id = id(&name, &mut taken);
        inputs.push((name, id, Value::String(String::new())));
    }
    let names = |path: &[&str]| match path {
        [name, rest @ ..] => {
            let found = inputs.iter().find(|(known, ..)| known == name).ok_or_else(|| format!("there is no variable {name}"))?;
            Ok(MeantName::value(rest.iter().fold(format!("inputs.{}", found.1), |path, part| format!("{path}.{part}"))))
        }
        [] => Err("a name is missing".to_owned()),
    };

    let span = child(root, "prompts").map_or(root.span, |node| node.span);
    let (system, user): (Vec<_>, Vec<_>) = prompt.iter().partition(|(role, _)| role == "system");
    let joined = |parts: &[&(String, String)]| parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n\n");
    let instructions =
        if system.is_empty() { "You answer.".into() } else { import.template_text(&joined(&system), span, false, "prompt", &names) };
    let asked = import.template_text(&joined(&user), span, false, "prompt", &names);
    let models = providers(root, import);

    let rubrics = rubrics(default, import);
    let gate = (!rubrics.is_empty()).then_some(("steps.check.output", rubrics));
    let mut steps = vec![map([("id", Some("answer".into())), ("agent", Some("writer".into())), ("prompt", Some(asked))])];
    let mut agents = vec![("writer", Some(map([("instructions", Some(instructions))])))];
    let mut scorecards = None;
    let mut result = "steps.answer.output";
    if let Some((output, criteria)) = gate {
        agents.push(("judge", Some(map([("instructions", Some("You judge whether a text meets a criterion.".into()))]))));
        scorecards = Some(map([("rubric", Some(map([("judge", Some("judge".into())), ("criteria", Some(Yaml::List(criteria)))])))]));
        steps.push(map([("id", Some("check".into())), ("gate", Some("rubric".into())), ("of", Some(result.into()))]));
        result = output;
    }
    let fields = inputs.iter().map(|(_, id, value)| (id.clone(), Some(field(value))));
    let mut cases = vec![];
    let mut ids = BTreeSet::new();
    for test in all {
        cases.push(case(test, default, &inputs, &mut ids, import));
    }
    let name = self::id(import.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("imported"), &mut BTreeSet::new());
    let description = child(root, "description").and_then(Node::as_scalar).map(|scalar| scalar.text.clone());
    let description = description.map(|text| import.fixed(&one_line(&text, 300), root.span, "description"));
    let pipeline = map([
        ("flow", Some(Yaml::Value(1.into()))),
        ("name", Some(name.clone().into())),
        ("description", description),
        ("inputs", (!inputs.is_empty()).then(|| map(fields))),
        ("models", models.section()),
        ("agents", Some(map(agents))),
        ("scorecards", scorecards),
        ("steps", Some(Yaml::List(steps))),
        ("outputs", Some(map([("answer", Some(Yaml::from(format!("{{{{ {result} }}}}"))))]))),
    ]);
    Ok(Imported { name, pipeline, cases })
}

/// The names that begin a path in the braces of a text.
fn words_in(text: &str) -> Vec<String> {
    let found = std::cell::RefCell::new(vec![]);
    words::template(text, &|path| {
        found.borrow_mut().extend(path.first().map(|name| (*name).to_owned()));
        Ok(MeantName::value("x"))
    });
    let mut found = found.into_inner();
    found.retain(|name| name != "env");
    found
}

/// The first prompt as messages: who, and what.
fn prompts(root: &Node, import: &mut Import) -> Vec<(String, String)> {
    let all = child(root, "prompts");
    let all: Vec<&Node> = all.and_then(Node::as_list).map_or_else(|| all.into_iter().collect(), |list| list.iter().collect());
    for other in all.iter().skip(1) {
        import.lose(other.span, "a further prompt", "a pipeline has one prompt a step; the first is taken");
    }
    let Some(first) = all.first() else { return vec![("user".into(), "-".into())] };
    let written = first.as_scalar().map(|scalar| scalar.text.clone());
    let written = written.or_else(|| text(first, "raw").or_else(|| text(first, "id")).map(str::to_owned)).unwrap_or_default();
    let path =
        written.strip_prefix("file://").or_else(|| written.lines().count().eq(&1).then_some(written.as_str()).filter(|name| is_file(name)));
    let read =
        path.map(|path| if is_text(path) { import.beside(path) } else { Err("a prompt that a program makes has no counterpart".into()) });
    let body = match read {
        None => written,
        Some(Ok(body)) => body,
        Some(Err(why)) => {
            import.lose(first.span, format!("prompt {written}"), why);
            written
        }
    };
    let messages = match serde_json::from_str::<Value>(&body) {
        Ok(Value::Array(messages)) => messages,
        _ => return vec![("user".into(), body)],
    };
    let text_of = |message: &Value| Some((message.get("role")?.as_str()?.to_owned(), message.get("content")?.as_str()?.to_owned()));
    let found: Vec<_> = messages.iter().filter_map(text_of).collect();
    if found.len() < messages.len() || found.is_empty() {
        import.lose(first.span, "messages of the prompt", "a message that is no text is not imported");
    }
    if found.iter().any(|(role, _)| role != "system") { found } else { vec![("user".into(), body)] }
}

fn is_file(name: &str) -> bool {
    name.len() < 200 && is_text(name) && !name.contains(char::is_whitespace)
}

fn is_text(name: &str) -> bool {
    [".txt", ".md", ".json", ".j2", ".jinja", ".jinja2"].iter().any(|ending| name.ends_with(ending))
}

fn providers(root: &Node, import: &mut Import) -> ImportedModels {
    let mut models = ImportedModels::default();
    let all = child(root, "providers").or_else(|| child(root, "targets"));
    let all: Vec<&Node> = all.and_then(Node::as_list).map_or_else(|| all.into_iter().collect(), |list| list.iter().collect());
    for node in all {
        let name = node.as_scalar().map(|scalar| scalar.text.as_str()).or_else(|| text(node, "id")).unwrap_or_default();
        let (program, rest) = name.split_once(':').unwrap_or((name, ""));
        let provider = match program {
            "openai" | "openrouter" | "mistral" | "groq" | "vllm" | "localai" => "openai",
            "anthropic" => "anthropic",
            "ollama" => "ollama",
            _ => {
                import.lose(node.span, format!("provider {name}"), "there is no such provider; the model called default is used");
                continue;
            }
        };
        if provider == "openai" && program != provider {
            import.lose(node.span, format!("provider {name}"), "imported as an endpoint like that of OpenAI: give it its base_url");
        }
        let kinds = ["chat:", "messages:", "completion:", "responses:", "embeddings:"];
        let model = kinds.iter().find_map(|kind| rest.strip_prefix(kind)).unwrap_or(rest);
        let config = child(node, "config");
        let setting = |key: &str| config.and_then(|config| number(config, key));
        if models.section().is_some() {
            import.lose(node.span, format!("provider {name}"), "a run uses one model; set FLOW_MODEL for another one");
            continue;
        }
        models.of(ImportedModel {
            provider,
            name: model.to_owned(),
            temperature: setting("temperature"),
            max_output_tokens: setting("max_tokens").or_else(|| setting("max_output_tokens")),
            price: None,
        });
        for (key, value) in entries(config).filter(|(key, _)| !["temperature", "max_tokens", "max_output_tokens"].contains(key)) {
            import.lose(value.span, format!("{key} of the provider {name}"), "has no counterpart");
        }
    }
    models
}

/// What a judge decides in every test.
fn rubrics(default: Option<&Node>, import: &mut Import) -> Vec<Yaml> {
    let mut found = vec![];
    for assert in items(default.and_then(|default| child(default, "assert"))) {
        let Some(rule) = text(assert, "type").filter(|kind| *kind == "llm-rubric").and_then(|_| text(assert, "value")) else { continue };
        if rule.contains("{{") || rule.contains("{%") {
            import.lose(assert.span, "llm-rubric", "the description of a criterion is a fixed text");
            continue;
        }
        let description = import.fixed(rule, assert.span, "llm-rubric");
        let expected = "The text meets this.".into();
        let id = format!("rubric_{}", found.len() + 1);
        found.push(map([
            ("id", Some(id.into())),
            ("description", Some(description)),
            ("expected", Some(expected)),
            ("judge", Some(Yaml::Value(true.into()))),
        ]));
    }
    found
}

/// The field of an input, from one of its values.
fn field(value: &Value) -> Yaml {
    let kind = match value {
        Value::Null | Value::String(_) => "text",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Array(_) | Value::Object(_) => "any",
    };
    map([("type", Some(kind.into())), ("required", Some(Yaml::Value(false.into())))])
}

fn case(test: &Node, default: Option<&Node>, inputs: &[(String, String, Value)], ids: &mut BTreeSet<String>, import: &mut Import) -> Yaml {
    import.lose_others(test, &["vars", "assert", "description", "metadata"], "of a test: ", "has no counterpart");
    let id = id(text(test, "description").unwrap_or("case"), ids);
    let mut given = vec![];
    for (name, input, _) in inputs {
        let of = |test: &Node| child(test, "vars").and_then(|vars| child(vars, name)).map(|node| (node.to_value(), node.span));
        let Some((value, span)) = of(test).or_else(|| default.and_then(of)) else { continue };
        if value.as_str().is_some_and(|text| text.starts_with("file://")) {
            import.lose(span, format!("variable {name}"), "a file in a variable is not read: its path is the value");
        }
        if value.is_array() {
            import.lose(span, format!("variable {name}"), "a list makes a test for each of its values there; here it is one value");
        }
        let value = match value {
            Value::String(text) => import.fixed(&text, span, name),
            other => Yaml::Value(other),
        };
        given.push((input.clone(), Some(value)));
    }
    let mut checks: Vec<(&str, Value)> = vec![];
    for assert in items(default.and_then(|default| child(default, "assert"))).iter().chain(items(child(test, "assert"))) {
        let kind = text(assert, "type").unwrap_or_default();
        let is_gate = kind == "llm-rubric"
            && default.is_some_and(|default| items(child(default, "assert")).iter().any(|own| own.span == assert.span));
        if is_gate {
            continue;
        }
        match check(kind, child(assert, "value").map(Node::to_value).unwrap_or_default()) {
            Ok((key, value)) => match checks.iter_mut().find(|(known, _)| *known == key) {
                None => checks.push((key, value)),
                Some((_, Value::Array(list))) if key.ends_with("contains") => list.extend(value.as_array().cloned().unwrap_or_default()),
                Some(_) => import.lose(assert.span, format!("assertion {kind}"), format!("a case has one {key}")),
            },
            Err(why) => import.lose(assert.span, format!("assertion {kind}"), why),
        }
    }
    let mut written = vec![];
    for (key, value) in checks {
        written.push((
            key,
            Some(match value {
                Value::String(text) => import.plain(&text, test.span, key),
                Value::Array(list) => {
                    Yaml::List(list.iter().map(|item| import.plain(item.as_str().unwrap_or_default(), test.span, key)).collect())
                }
                other => Yaml::Value(other),
            }),
        ));
    }
    let expect =
        if written.is_empty() { ("status", Some("succeeded".into())) } else { ("outputs", Some(map([("answer", Some(map(written)))]))) };
    map([("id", Some(id.into())), ("inputs", (!given.is_empty()).then(|| map(given))), ("expect", Some(map([expect])))])
}

/// An assertion as a check of ours.
fn check(kind: &str, value: Value) -> Result<(&'static str, Value), String> {
    let texts = |value: &Value| -> Vec<String> {
        let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        value.as_array().map_or_else(|| vec![one(value)], |list| list.iter().map(one).collect())
    };
    let all = texts(&value);
    if all.iter().any(|text| text.contains("{{") || text.contains("file://")) {
        return Err("a value with braces or of a file is not imported".into());
    }
    let escaped = || all.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|");
    match kind {
        "contains" | "contains-all" => Ok(("contains", json!(all))),
        "not-contains" => Ok(("not_contains", json!(all))),
        "icontains" | "icontains-any" => Ok(("regex", json!(format!("(?i)(?:{})", escaped())))),
        "contains-any" => Ok(("regex", json!(format!("(?:{})", escaped())))),
        "starts-with" => Ok(("regex", json!(format!("^(?:{})", escaped())))),
        "regex" => Ok(("regex", json!(all.concat()))),
        "equals" if value.is_object() || value.is_array() => Err("an answer is compared as text".into()),
        "equals" => Ok(("equals", json!(all.concat()))),
        "is-json" => Ok(("json_schema", if value.is_object() { value } else { json!({}) })),
        "llm-rubric" | "model-graded-closedqa" | "factuality" | "g-eval" => {
            Err("a judge decides in a gate of the pipeline, for every test: write a criterion of a scorecard".into())
        }
        "javascript" | "python" | "webhook" | "ruby" => Err("code of a test is not run: write an expression in a scorecard".into()),
        "latency" | "cost" | "perplexity" => Err("what a call takes is bounded by limits of the pipeline".into()),
        _ => Err("there is no such check".into()),
    }
}
