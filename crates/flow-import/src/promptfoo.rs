//! promptfoo: prompts, providers and tests with assertions → a pipeline of one step, and its tests.

use serde_json::{Value, json};

use super::*;

/// A variable: its name there, its input here, and one of its values.
struct PromptVariable {
    name: String,
    input: String,
    value: Value,
}

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, ImportError> {
    let Some(span) = child(root, "prompts").map(|node| node.span) else {
        return Err(other_kind(import, root, "it has no prompts", ImportFormat::Promptfoo));
    };
    import.lose_others(root, "prompts providers targets tests defaultTest description $schema", "");
    let default = child(root, "defaultTest").filter(|node| node.as_map().is_some());
    if let Some(default) = default {
        import.lose_others(default, "vars assert description metadata", "of defaultTest: ");
    }
    let tests = child(root, "tests").map(several).unwrap_or_default();
    let (tests, others): (Vec<&Node>, Vec<&Node>) =
        tests.into_iter().partition(|test| test.as_map().is_some() && child(root, "tests").is_some_and(|all| all.as_list().is_some()));
    others.iter().for_each(|other| import.lose(other.span, "tests", LostWhy::TestsElsewhere));

    let prompt = prompts(root, import);
    let inputs = variables(default.into_iter().chain(tests.iter().copied()), &prompt);
    let names = |path: &[&str]| {
        let (name, rest) = path.split_first().ok_or(LostWhy::NameMissing)?;
        let found = inputs.iter().find(|known| known.name == *name).ok_or_else(|| LostWhy::Unknown(format!("variable {name}")))?;
        Ok(MeantName::value(with_fields(format!("inputs.{}", found.input), rest)))
    };
    let joined = |is_wanted: &dyn Fn(&str) -> bool| {
        let parts = prompt.iter().filter(|(role, _)| is_wanted(role)).map(|(_, text)| text.as_str());
        parts.collect::<Vec<_>>().join("\n\n")
    };
    let (system, user) = (joined(&|role| role == "system"), joined(&|role| role != "system"));
    let instructions = import.instructions(&system, span, "prompt", &names);
    let asked = import.template_text(&user, span, false, "prompt", &names);
    let mut done = Imported { models: providers(root, import), description: description(root), ..Imported::default() };
    done.name = id(import.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("imported"), &mut BTreeSet::new());
    done.steps.push(map([pair("id", "answer"), pair("agent", "writer"), pair("prompt", asked)]));
    done.agents.push(pair("writer", map([pair("instructions", instructions)])));
    let mut result = "steps.answer.output";
    let rubrics = rubrics(default, import);
    if !rubrics.is_empty() {
        done.agents.push(pair("judge", map([pair("instructions", "You judge whether a text meets a criterion.")])));
        done.scorecards.push(pair("rubric", map([pair("judge", "judge"), pair("criteria", rubrics)])));
        done.steps.push(map([pair("id", "check"), pair("gate", "rubric"), pair("of", result)]));
        result = "steps.check.output";
    }
    done.inputs = inputs.iter().map(|known| pair(&known.input, field(&known.value))).collect();
    let mut ids = BTreeSet::new();
    done.cases = tests.into_iter().map(|test| case(test, default, &inputs, &mut ids, import)).collect();
    done.outputs = Some(map([pair("answer", format!("{{{{ {result} }}}}"))]));
    Ok(done)
}

/// The elements of a list, or what stands there alone.
fn several(node: &Node) -> Vec<&Node> {
    node.as_list().map_or_else(|| vec![node], |list| list.iter().collect())
}

/// The variables of the tests in the order in which they are first written, and those that only the prompt names.
fn variables<'a>(tests: impl Iterator<Item = &'a Node>, prompt: &[(String, String)]) -> Vec<PromptVariable> {
    let mut taken = BTreeSet::new();
    let mut found: Vec<PromptVariable> = vec![];
    let unset = prompt.iter().flat_map(|(_, text)| words_in(text)).collect::<BTreeSet<String>>();
    let given = tests.flat_map(|test| entries(child(test, "vars"))).map(|(name, value)| (name.to_owned(), value.to_value()));
    for (name, value) in given.chain(unset.into_iter().map(|name| (name, Value::Null))) {
        match found.iter_mut().find(|known| known.name == name) {
            None => found.push(PromptVariable { input: id(&name, &mut taken), name, value }),
            // Values of several types: anything.
            Some(known) if !value.is_null() && std::mem::discriminant(&known.value) != std::mem::discriminant(&value) => {
                known.value = json!([]);
            }
            Some(_) => {}
        }
    }
    found
}

/// The names that begin a path in the braces of a text.
fn words_in(text: &str) -> Vec<String> {
    let found = std::cell::RefCell::new(vec![]);
    let note = |path: &[&str]| {
        found.borrow_mut().extend(path.first().map(|name| (*name).to_owned()));
        Ok(MeantName::value("x"))
    };
    words::template(text, &note, TextDialect::Nunjucks);
    let mut found = found.into_inner();
    found.retain(|name| name != "env");
    found
}

/// The first prompt as messages: who, and what.
fn prompts(root: &Node, import: &mut Import) -> Vec<(String, String)> {
    let all = child(root, "prompts").map(several).unwrap_or_default();
    all.iter().skip(1).for_each(|other| import.lose(other.span, "a further prompt", LostWhy::OnePrompt));
    let Some(first) = all.first() else { return vec![("user".into(), "-".into())] };
    let written = first.as_scalar().map(|scalar| scalar.text.as_str()).or_else(|| text(first, "raw")).or_else(|| text(first, "id"));
    let written = written.unwrap_or_default();
    let is_text = |name: &str| [".txt", ".md", ".json", ".j2", ".jinja", ".jinja2"].iter().any(|ending| name.ends_with(ending));
    let is_file = |name: &&str| name.len() < 200 && is_text(name) && !name.contains(char::is_whitespace);
    let path = written.strip_prefix("file://").or_else(|| Some(written).filter(is_file));
    let read = path.map(|path| if is_text(path) { import.beside(path) } else { Err(LostWhy::ProgramPrompt) });
    let body = match read {
        None => written.to_owned(),
        Some(Ok(body)) => {
            if body.trim_start().starts_with("file://") {
                import.lose(first.span, format!("prompt {written}"), LostWhy::FileInFile);
            }
            body
        }
        Some(Err(why)) => {
            import.lose(first.span, format!("prompt {written}"), why);
            written.to_owned()
        }
    };
    let Ok(Value::Array(messages)) = serde_json::from_str::<Value>(&body) else { return vec![("user".into(), body)] };
    let text_of = |message: &Value| Some((message.get("role")?.as_str()?.to_owned(), message.get("content")?.as_str()?.to_owned()));
    let found: Vec<_> = messages.iter().filter_map(text_of).collect();
    if found.len() < messages.len() || found.is_empty() {
        import.lose(first.span, "messages of the prompt", LostWhy::NoTextMessage);
    }
    if found.iter().any(|(role, _)| role != "system") { found } else { vec![("user".into(), body)] }
}

fn providers(root: &Node, import: &mut Import) -> ImportedModels {
    let mut models = ImportedModels::default();
    for node in child(root, "providers").or_else(|| child(root, "targets")).map(several).unwrap_or_default() {
        let name = node.as_scalar().map(|scalar| scalar.text.as_str()).or_else(|| text(node, "id")).unwrap_or_default();
        let (program, rest) = name.split_once(':').unwrap_or((name, ""));
        let what = format!("provider {name}");
        let provider = match program {
            "openai" | "openrouter" | "mistral" | "groq" | "vllm" | "localai" => "openai",
            "anthropic" => "anthropic",
            "ollama" => "ollama",
            _ => {
                import.lose(node.span, what, LostWhy::NoProvider);
                continue;
            }
        };
        if provider == "openai" && program != provider {
            import.lose(node.span, what.as_str(), LostWhy::NeedsBaseUrl);
        }
        if models.section().is_some() {
            import.lose(node.span, what, LostWhy::OneModel);
            continue;
        }
        let kinds = ["chat:", "messages:", "completion:", "responses:", "embeddings:"];
        let config = child(node, "config");
        let setting = |key: &str| config.and_then(|config| number(config, key));
        models.id(ImportedModel {
            provider,
            name: kinds.iter().find_map(|kind| rest.strip_prefix(kind)).unwrap_or(rest).to_owned(),
            temperature: setting("temperature"),
            max_output_tokens: setting("max_tokens").or_else(|| setting("max_output_tokens")),
        });
        for (key, value) in entries(config).filter(|(key, _)| !["temperature", "max_tokens", "max_output_tokens"].contains(key)) {
            import.lose(value.span, format!("{key} of the provider {name}"), LostWhy::NoCounterpart);
        }
    }
    models
}

/// The sentence of an assertion that a judge decides; `None`: it is of another kind, or lost.
fn sentence(assert: &Node, import: &mut Import) -> Option<String> {
    let kind = text(assert, "type").filter(|kind| matches!(*kind, "llm-rubric" | "model-graded-closedqa"))?;
    let rule = text(assert, "value")?;
    let is_fixed = !["{{", "{%", "file://"].iter().any(|mark| rule.contains(mark));
    if !is_fixed {
        import.lose(assert.span, kind, LostWhy::FixedSentence);
    }
    // A judge needs a sentence, not a word.
    let is_short = rule.trim().chars().count() < 10;
    is_fixed.then(|| if is_short { format!("The text meets this: {}", rule.trim()) } else { rule.trim().to_owned() })
}

/// What a judge decides in every test: criteria of a gate.
fn rubrics(default: Option<&Node>, import: &mut Import) -> Vec<Yaml> {
    let mut found: Vec<Yaml> = vec![];
    for assert in items(default.and_then(|default| child(default, "assert"))) {
        let Some(rule) = sentence(assert, import) else { continue };
        let description = import.fixed(&rule, assert.span, "llm-rubric");
        let id = format!("rubric_{}", found.len() + 1);
        found.push(map([pair("id", id), pair("description", description), pair("expected", "The text meets this."), pair("judge", true)]));
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
    map([pair("type", kind), pair("required", false)])
}

fn case(test: &Node, default: Option<&Node>, inputs: &[PromptVariable], ids: &mut BTreeSet<String>, import: &mut Import) -> Yaml {
    import.lose_others(test, "vars assert description metadata", "of a test: ");
    let mut given = vec![];
    for PromptVariable { name, input, .. } in inputs {
        let of = |test: &Node| child(test, "vars").and_then(|vars| child(vars, name)).map(|node| (node.to_value(), node.span));
        let Some((value, span)) = of(test).or_else(|| default.and_then(of)) else { continue };
        let why = match &value {
            Value::String(text) if text.starts_with("file://") => Some(LostWhy::FileAsValue),
            Value::String(text) if text.contains("{{") || text.contains("{%") => Some(LostWhy::FilledVariable),
            Value::Array(_) => Some(LostWhy::ListOfTests),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        };
        why.into_iter().for_each(|why| import.lose(span, format!("variable {name}"), why));
        given.push(pair(input, import.value(value, span, name)));
    }
    let mut expected = ExpectedAnswer::default();
    items(default.and_then(|default| child(default, "assert"))).iter().for_each(|assert| expected.add(assert, true, import));
    items(child(test, "assert")).iter().for_each(|assert| expected.add(assert, false, import));
    let id = id(text(test, "description").unwrap_or("case"), ids);
    map([pair("id", id), may("inputs", map_of(given)), pair("expect", expected.written(test.span, import))])
}

/// What a case expects.
#[derive(Default)]
struct ExpectedAnswer {
    checks: Vec<(&'static str, Value)>,
    sentences: Vec<(String, Span)>,
    cost: Option<f64>,
}

impl ExpectedAnswer {
    fn add(&mut self, assert: &Node, in_every_test: bool, import: &mut Import) {
        let kind = text(assert, "type").unwrap_or_default();
        let what = format!("assertion {kind}");
        let mut kept = |key: &str| import.lose_others(assert, &format!("type {key}"), &format!("{what}: "));
        if matches!(kind, "llm-rubric" | "model-graded-closedqa") {
            kept("value");
            // Those of every test are a gate.
            let own = if in_every_test { None } else { sentence(assert, import) };
            self.sentences.extend(own.map(|rule| (rule, assert.span)));
            return;
        }
        if let ("cost", Some(most)) = (kind, number(assert, "threshold").and_then(|most| most.as_f64())) {
            kept("threshold");
            import.lose(assert.span, what, LostWhy::NeedsPrice);
            self.cost = Some(self.cost.map_or(most, |known| known.min(most)));
            return;
        }
        match check(kind, assert) {
            Ok((key, value)) => {
                kept("value");
                match self.checks.iter_mut().find(|(known, _)| *known == key) {
                    None => self.checks.push((key, value)),
                    Some((_, Value::Array(list))) if key.ends_with("contains") => {
                        list.extend(value.as_array().cloned().unwrap_or_default())
                    }
                    Some(_) => import.lose(assert.span, what, LostWhy::OneCheck(key)),
                }
            }
            Err(why) => import.lose(assert.span, what, why),
        }
    }

    fn written(self, span: Span, import: &mut Import) -> Yaml {
        let mut checks = vec![];
        for (key, value) in self.checks {
            let text_of = |item: &Value| item.as_str().unwrap_or_default().to_owned();
            checks.push(match value {
                Value::String(text) => pair(key, import.plain(&text, span, key)),
                Value::Array(list) => pair(key, list.iter().map(|item| import.plain(&text_of(item), span, key)).collect::<Vec<_>>()),
                other => pair(key, other),
            });
        }
        let of_judge = self.sentences.first().map(|(_, span)| *span);
        let sentences: Vec<String> = self.sentences.into_iter().map(|(rule, _)| rule).collect();
        let judge = of_judge.map(|span| import.fixed(&sentences.join("\n"), span, "llm-rubric"));
        let (outputs, cost) = (map_of(checks), self.cost.map(|cost| Yaml::Value(json!(cost))));
        let status = (outputs.is_none() && cost.is_none()).then_some("succeeded");
        let outputs = outputs.map(|all| map([pair("answer", all)]));
        map([may("status", status), may("outputs", outputs), may("judge", judge), may("max_cost_usd", cost)])
    }
}

/// An assertion that no judge decides as a check of ours.
fn check(kind: &str, assert: &Node) -> Result<(&'static str, Value), LostWhy> {
    let value = child(assert, "value").map(Node::to_value).unwrap_or_default();
    let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all: Vec<String> = value.as_array().map_or_else(|| vec![one(&value)], |list| list.iter().map(one).collect());
    if all.iter().any(|text| text.contains("{{") || text.contains("file://")) {
        return Err(LostWhy::FilledValue);
    }
    let any_of = |before: &str| json!(format!("{before}(?:{})", all.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|")));
    Ok(match kind {
        "contains" | "contains-all" => ("contains", json!(all)),
        "not-contains" => ("not_contains", json!(all)),
        "icontains" | "icontains-any" => ("regex", any_of("(?i)")),
        "contains-any" => ("regex", any_of("")),
        "starts-with" => ("regex", any_of("^")),
        "regex" => ("regex", json!(all.concat())),
        "equals" if value.is_object() || value.is_array() => return Err(LostWhy::TextCompared),
        "equals" => ("equals", json!(all.concat())),
        "is-json" => ("json_schema", if value.is_object() { value } else { json!({}) }),
        "factuality" | "g-eval" | "answer-relevance" | "context-faithfulness" | "select-best" => return Err(LostWhy::OtherJudge),
        "javascript" | "python" | "webhook" | "ruby" => return Err(LostWhy::CodeOfTest),
        "latency" => return Err(LostWhy::BoundOfRun),
        _ => return Err(LostWhy::NoCheck),
    })
}
