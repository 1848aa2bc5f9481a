//! Conductor of conductor-oss: a tree of tasks → steps. `FORK_JOIN` becomes a parallel group, `DO_WHILE` a `repeat`, `SWITCH` a `route` with `equals`.

mod task;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use task::{ImportedTask, jinja_of, waited};

use super::models::{ImportedModel, ImportedModels};
use super::words::{MeantName, expression};
use super::yaml::map;
use super::*;

/// Rounds of a loop that says no number.
const ROUNDS: u64 = 100;

/// A list of steps around a task: what its output is read from, and which list of that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Around {
    id: String,
    list: usize,
    is_loop: bool,
}

/// Where a task stands.
#[derive(Debug, Clone)]
struct TaskPlace {
    id: String,
    kind: String,
    around: Vec<Around>,
    at: usize,
    /// It may fail, and the run goes on.
    is_optional: bool,
}

struct TaskFile {
    text: String,
    places: BTreeMap<String, TaskPlace>,
    spans: BTreeMap<String, Span>,
    inputs: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    models: ImportedModels,
    agents: Vec<(String, Option<Yaml>)>,
}

type StepKeys = Vec<(&'static str, Option<Yaml>)>;

pub(super) fn import(root: &Node, import: &mut Import) -> Result<Imported, Refusal> {
    let known = [
        "name", "description", "version", "tasks", "inputParameters", "inputTemplate", "outputParameters", "timeoutSeconds",
        "schemaVersion", "timeoutPolicy", "ownerEmail", "ownerApp", "createTime", "updateTime", "createdBy", "updatedBy", "restartable",
        "accessPolicy",
    ];
    import.lose_others(root, &known, "", "has no counterpart");
    let of_tasks = child(root, "tasks").map(Node::to_value).unwrap_or_default();
    let tasks: Vec<ImportedTask> = serde_json::from_value(of_tasks)
        .map_err(|problem| other_kind(import, root, &format!("its tasks: {problem}"), ImportFormat::Conductor))?;
    let mut file = TaskFile {
        text: import.sources.file(import.file).text.to_string(),
        places: BTreeMap::new(),
        spans: BTreeMap::new(),
        inputs: BTreeMap::new(),
        taken: BTreeSet::new(),
        models: ImportedModels::default(),
        agents: vec![],
    };
    file.find_spans(root);
    file.place(&tasks, &[], import);
    let fields = file.fields(root, import);
    let mut steps = file.list(&tasks, &[], import);
    // Without outputs of its own, a workflow gives those of its last task.
    let is_last = |task: &&ImportedTask| !matches!(task.kind.as_str(), "JOIN" | "NOOP" | "TERMINATE" | "WAIT");
    let last = tasks.iter().rev().find(is_last).and_then(|task| file.places.get(&task.task_reference_name));
    let last = last.map(|place| Yaml::from(format!("{{{{ steps.{}.output }}}}", place.id)));
    if steps.is_empty() {
        steps.push(map([("id", Some("nothing".into())), ("set", Some("Nothing is done.".into()))]));
    }
    let end = TaskPlace { id: String::new(), kind: String::new(), around: vec![], at: usize::MAX, is_optional: false };
    let mut outputs = vec![];
    let mut taken = BTreeSet::new();
    for (name, node) in entries(child(root, "outputParameters")) {
        let value = file.value(&node.to_value(), &end, node.span, &format!("output {name}"), import);
        outputs.push((id(name, &mut taken), Some(value)));
    }
    let deadline = number(root, "timeoutSeconds").and_then(|seconds| seconds.as_u64()).filter(|seconds| *seconds > 0);
    let name = id(text(root, "name").unwrap_or("imported"), &mut BTreeSet::new());
    let description = text(root, "description").map(|text| import.fixed(&one_line(text, 300), root.span, "description"));
    let pipeline = map([
        ("flow", Some(Yaml::Value(1.into()))),
        ("name", Some(name.clone().into())),
        ("description", description),
        ("inputs", (!fields.is_empty()).then(|| map(fields))),
        ("models", file.models.section()),
        ("agents", (!file.agents.is_empty()).then(|| map(file.agents))),
        ("limits", deadline.map(|seconds| map([("deadline", Some(Yaml::from(format!("{seconds}s"))))]))),
        ("steps", Some(Yaml::List(steps))),
        ("outputs", if outputs.is_empty() { last } else { Some(map(outputs)) }),
    ]);
    Ok(Imported { name, pipeline, cases: vec![] })
}

/// The names behind a mark up to the next sign: `${a.output.` finds `b` in `${a.output.b.c}`.
fn named_behind(text: &str, mark: &str) -> BTreeSet<String> {
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    text.split(mark).skip(1).map(name).filter(|name| !name.is_empty()).collect()
}

impl TaskFile {
    fn find_spans(&mut self, node: &Node) {
        if let Some(name) = node.text_of("taskReferenceName") {
            self.spans.entry(name.to_owned()).or_insert(node.span);
        }
        for (_, inner) in node.as_map().into_iter().flat_map(|map| &map.entries) {
            self.find_spans(inner);
        }
        items(Some(node)).iter().for_each(|inner| self.find_spans(inner));
    }

    fn span(&self, task: &ImportedTask) -> Span {
        self.spans.get(&task.task_reference_name).copied().unwrap_or_default()
    }

    fn place(&mut self, tasks: &[ImportedTask], around: &[Around], import: &mut Import) {
        for task in tasks {
            let at = self.places.len();
            let id = id(&task.task_reference_name, &mut self.taken);
            let inside = |list: usize, is_loop: bool| [around, &[Around { id: id.clone(), list, is_loop }]].concat();
            let place = TaskPlace { id: id.clone(), kind: task.kind.clone(), around: around.to_vec(), at, is_optional: task.optional };
            if self.places.insert(task.task_reference_name.clone(), place).is_some() {
                import.lose(self.span(task), &task.task_reference_name, "several tasks have this reference; the last one is read");
            }
            self.place(&task.loop_over, &inside(0, task.items.is_none()), import);
            for (number, branch) in task.fork_tasks.iter().enumerate() {
                let within = inside(number, false);
                let group = Around { id: branch_id(&id, number), list: 0, is_loop: false };
                self.place(branch, &if branch.len() == 1 { within } else { [within, vec![group]].concat() }, import);
            }
            for (number, case) in task.decision_cases.values().chain([&task.default_case]).enumerate() {
                self.place(case, &inside(number, false), import);
            }
        }
    }

    /// The fields of the inputs: those of the file, and those that are only read.
    fn fields(&mut self, root: &Node, import: &mut Import) -> Vec<(String, Option<Yaml>)> {
        let mut names: Vec<String> =
            items(child(root, "inputParameters")).iter().filter_map(|node| Some(node.as_scalar()?.text.clone())).collect();
        names.extend(entries(child(root, "inputTemplate")).map(|(name, _)| name.to_owned()));
        names.extend(named_behind(&self.text, "${workflow.input."));
        let mut taken = BTreeSet::from(["channel".to_owned()]);
        let mut fields = vec![];
        for name in names {
            if self.inputs.contains_key(&name) {
                continue;
            }
            let id = id(&name, &mut taken);
            let default = child(root, "inputTemplate").and_then(|all| child(all, &name)).map(|node| (node.to_value(), node.span));
            let default = default.filter(|(value, _)| !value.is_null()).map(|(value, span)| match value {
                Value::String(text) => import.fixed(&text, span, &format!("default of {name}")),
                value => Yaml::Value(value),
            });
            let optional = default.is_none().then(|| Yaml::Value(false.into()));
            fields.push((id.clone(), Some(map([("type", Some("any".into())), ("required", optional), ("default", default)]))));
            self.inputs.insert(name, id);
        }
        fields
    }

    /// What `a.output.b` is for a task that reads it.
    fn meant(&self, path: &[&str], reader: &TaskPlace) -> Result<String, String> {
        let unknown = || Err(format!("there is no {}", path.join(".")));
        let is_name = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '[' | ']'));
        if !path.iter().all(is_name) {
            return Err("this path has no counterpart".into());
        }
        let fields = |path: String, rest: &[&str]| rest.iter().fold(path, |path, field| format!("{path}.{field}"));
        match path {
            ["workflow", "input", name, rest @ ..] => {
                let (name, place) = name.split_at(name.find('[').unwrap_or(name.len()));
                self.inputs.get(name).map_or_else(unknown, |id| Ok(fields(format!("inputs.{id}{place}"), rest)))
            }
            ["workflow", "workflowId"] => Ok("run.id".into()),
            [name, "output", rest @ ..] => {
                let Some(place) = self.places.get(*name) else { return unknown() };
                let (found, is_sure) = match (place.kind.as_str(), rest) {
                    ("DO_WHILE", ["iteration"]) => {
                        let counter = TaskPlace {
                            id: counter_id(&place.id),
                            around: [place.around.as_slice(), &[Around { id: place.id.clone(), list: 0, is_loop: true }]].concat(),
                            ..place.clone()
                        };
                        Self::access(&counter, reader).ok_or("it is not done before")?
                    }
                    ("DO_WHILE", ["loopItem", rest @ ..]) => return Ok(fields("item".into(), rest)),
                    ("DO_WHILE", ["loopIndex"]) => return Ok("(item_number - 1)".into()),
                    ("DO_WHILE" | "SWITCH" | "DECISION" | "FORK_JOIN" | "JOIN" | "TERMINATE" | "WAIT" | "NOOP", _) => return unknown(),
                    _ => Self::access(place, reader).ok_or("it is not done before")?,
                };
                let rest: Vec<&str> = match (place.kind.as_str(), rest) {
                    ("LLM_CHAT_COMPLETE" | "LLM_TEXT_COMPLETE", ["result", rest @ ..]) => rest.to_vec(),
                    ("LLM_CHAT_COMPLETE" | "LLM_TEXT_COMPLETE", [_, ..]) => return unknown(),
                    ("HTTP", ["response", "statusCode"]) => vec!["status"],
                    ("HTTP", ["response", rest @ ..]) => rest.to_vec(),
                    ("DO_WHILE", _) => vec![],
                    (_, rest) => rest.to_vec(),
                };
                let value = fields(found, &rest);
                Ok(if is_sure && !place.is_optional { value } else { format!("({value} | default(none))") })
            }
            _ => unknown(),
        }
    }

    /// The path to an output, and whether it is sure to be there; `None`: it comes later.
    fn access(place: &TaskPlace, reader: &TaskPlace) -> Option<(String, bool)> {
        let shared = place.around.iter().zip(&reader.around).take_while(|(own, other)| own == other).count();
        let is_later = place.at >= reader.at;
        let in_loop = place.around.iter().take(shared).any(|around| around.is_loop);
        match place.around.get(shared..).unwrap_or_default() {
            _ if is_later && !in_loop => None,
            [] if is_later => Some((format!("previous.{}.output", place.id), false)),
            [] => Some((format!("steps.{}.output", place.id), true)),
            [first, inner @ ..] => {
                let start = if is_later { "previous" } else { "steps" };
                let path = inner.iter().fold(format!("{start}.{}.output", first.id), |path, around| format!("{path}.{}", around.id));
                Some((format!("{path}.{}", place.id), false))
            }
        }
    }

    /// A value with `${…}` in its texts.
    fn value(&self, value: &Value, reader: &TaskPlace, span: Span, what: &str, import: &mut Import) -> Yaml {
        match value {
            Value::String(text) => self.template(text, reader, span, what, import),
            Value::Array(list) => Yaml::List(list.iter().map(|item| self.value(item, reader, span, what, import)).collect()),
            Value::Object(object) => map(object
                .iter()
                .map(|(key, value)| (key.clone(), Some(self.value(value, reader, span, what, import))))
                .collect::<Vec<_>>()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Yaml::Value(value.clone()),
        }
    }

    fn template(&self, text: &str, reader: &TaskPlace, span: Span, what: &str, import: &mut Import) -> Yaml {
        let mut pieces = vec![];
        let mut rest = text;
        while let Some((before, (inner, after))) = rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
            pieces.push(TextPiece::Text(before.to_owned()));
            let was = format!("${{{inner}}}");
            match self.meant(&inner.trim().split('.').collect::<Vec<_>>(), reader) {
                Ok(value) => pieces.push(TextPiece::Filled { out: format!("{{{{ {value} }}}}"), was }),
                Err(why) => {
                    import.lose(span, format!("{what}: {was}"), why);
                    pieces.push(TextPiece::Text(was));
                }
            }
            rest = after;
        }
        pieces.push(TextPiece::Text(rest.to_owned()));
        pieces.retain(|piece| !matches!(piece, TextPiece::Text(text) if text.is_empty()));
        import.words(pieces, Manner::Template, span, what)
    }

    /// A JavaScript condition whose words are parameters of its task (`$.a`), or tasks of a loop (`$.task['field']`).
    fn script(&self, script: &str, task: &ImportedTask, reader: &TaskPlace) -> Result<String, String> {
        let names = |path: &[&str]| {
            let (path, is_length) = path.strip_suffix(&["length"]).map_or((path, false), |path| (path, true));
            let [_, name, rest @ ..] = path else { return Err("a name is missing".to_owned()) };
            let value = match task.input_parameters.get(*name) {
                Some(Value::String(text)) => {
                    let inner =
                        text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).ok_or("only a whole ${…} is read in a script");
                    self.meant(&inner?.split('.').chain(rest.iter().copied()).collect::<Vec<_>>(), reader)?
                }
                Some(value @ (Value::Number(_) | Value::Bool(_))) if rest.is_empty() => value.to_string(),
                Some(_) => return Err(format!("{name} is no single value")),
                None => self.meant(&[name, "output"].into_iter().chain(rest.iter().copied()).collect::<Vec<_>>(), reader)?,
            };
            Ok(MeantName::value(if is_length { format!("({value} | length)") } else { value }))
        };
        expression(&jinja_of(script)?, &names, &[])
    }

    fn list(&mut self, tasks: &[ImportedTask], around: &[Around], import: &mut Import) -> Vec<Yaml> {
        tasks
            .iter()
            .filter(|task| !matches!(task.kind.as_str(), "JOIN" | "NOOP"))
            .flat_map(|task| self.step(task, around, import))
            .collect()
    }

    fn step(&mut self, task: &ImportedTask, around: &[Around], import: &mut Import) -> Vec<Yaml> {
        let mut above = vec![];
        let (name, span) = (&task.task_reference_name, self.span(task));
        let Some(place) = self.places.get(name).cloned() else { return vec![] };
        let inside = |list: usize, is_loop: bool| [around, &[Around { id: place.id.clone(), list, is_loop }]].concat();
        if task.start_delay > 0.0 {
            import.lose(span, format!("{name}: startDelay"), "has no counterpart; write a step wait above it");
        }
        let given = |key: &str| task.input_parameters.get(key).filter(|value| !value.is_null());
        let mut keys: StepKeys = vec![("id", Some(place.id.clone().into()))];
        match task.kind.as_str() {
            "FORK_JOIN" => {
                let mut steps = vec![];
                for (number, branch) in task.fork_tasks.iter().enumerate().filter(|(_, branch)| !branch.is_empty()) {
                    if branch.len() == 1 {
                        steps.extend(self.list(branch, &inside(number, false), import));
                        continue;
                    }
                    let own = branch_id(&place.id, number);
                    let group = Around { id: own.clone(), list: 0, is_loop: false };
                    let within = [inside(number, false), vec![group]].concat();
                    let inner = self.list(branch, &within, import);
                    steps.push(map([("id", Some(own.into())), ("steps", Some(Yaml::List(inner)))]));
                }
                keys.extend([("parallel", Some(Yaml::Value(true.into()))), ("steps", Some(Yaml::List(steps)))]);
            }
            "DO_WHILE" => self.repeat(task, &place, &inside(0, task.items.is_none()), &mut keys, import),
            "SWITCH" | "DECISION" => above.extend(self.route(task, &place, &inside, &mut keys, import)),
            "LLM_CHAT_COMPLETE" | "LLM_TEXT_COMPLETE" => self.ask(task, &place, &mut keys, import),
            "HTTP" => {
                let request = given("http_request").cloned().unwrap_or_else(|| Value::Object(task.input_parameters.clone()));
                let part = |key: &str| request.get(key).filter(|value| !value.is_null());
                let method = part("method").and_then(Value::as_str).unwrap_or("GET").to_ascii_uppercase();
                let address = format!("{method} {}", part("uri").and_then(Value::as_str).unwrap_or_default());
                keys.push(("http", Some(self.template(&address, &place, span, name, import))));
                for key in ["headers", "body"] {
                    let given = part(key).map(|value| self.value(value, &place, span, &format!("{name}: {key}"), import));
                    keys.push((key, given));
                }
                let timeout = part("readTimeOut").and_then(Value::as_u64).filter(|time| *time > 0);
                keys.push(("timeout", timeout.map(|time| format!("{time}ms").into())));
            }
            "SET_VARIABLE" => {
                let values = Value::Object(task.input_parameters.clone());
                keys.push(("set", Some(self.value(&values, &place, span, name, import))));
            }
            "WAIT" if given("duration").is_some() => {
                let time = given("duration").and_then(Value::as_str).and_then(waited);
                match time {
                    Some(time) => keys.push(("wait", Some(time.into()))),
                    None => keys.extend(self.by_hand(task, &place, "its time is not written out", import)),
                }
            }
            "TERMINATE" => {
                let is_done = given("terminationStatus").and_then(Value::as_str) == Some("COMPLETED");
                let reason = given("terminationReason").map(|reason| self.value(reason, &place, span, name, import));
                keys.extend([("stop", Some((if is_done { "succeeded" } else { "failed" }).into())), ("reason", reason)]);
                if given("workflowOutput").is_some() {
                    import.lose(span, format!("{name}: workflowOutput"), "the outputs of a run that stops are those of the pipeline");
                }
            }
            "INLINE" | "LAMBDA" => {
                let script = given("expression").or_else(|| given("scriptExpression")).and_then(Value::as_str).unwrap_or_default();
                match self.script(script, task, &place) {
                    Ok(done) => {
                        let piece = TextPiece::Filled { out: format!("{{{{ {done} }}}}"), was: script.to_owned() };
                        keys.push(("set", Some(map([("result", Some(import.words(vec![piece], Manner::Template, span, name)))]))));
                    }
                    Err(why) => keys.extend(self.by_hand(task, &place, &format!("its script is not imported ({why})"), import)),
                }
            }
            "HUMAN" | "WAIT" => keys.extend(self.question(task, &place, &format!("What is the result of {name}?"), import)),
            kind => keys.extend(self.by_hand(task, &place, &format!("a task of type {kind} has no counterpart"), import)),
        }
        keys.push(("on_failure", task.optional.then(|| "continue".into())));
        above.push(map(keys));
        above
    }

    fn repeat(&mut self, task: &ImportedTask, place: &TaskPlace, within: &[Around], keys: &mut StepKeys, import: &mut Import) {
        let (name, span) = (&task.task_reference_name, self.span(task));
        let mut steps = self.list(&task.loop_over, within, import);
        if let Some(list) = &task.items {
            let inner = list.trim().strip_prefix("${").and_then(|text| text.strip_suffix('}')).unwrap_or(list);
            match self.meant(&inner.split('.').collect::<Vec<_>>(), place) {
                Ok(list) => {
                    let list = import.words(vec![TextPiece::Text(list)], Manner::Bare, span, &format!("{name}: items"));
                    keys.extend([("for_each", Some(list)), ("max_parallel", Some(Yaml::Value(1.into())))]);
                }
                Err(why) => import.lose(span, format!("{name}: items: {list}"), why),
            }
            keys.push(("steps", Some(Yaml::List(steps))));
            return;
        }
        let condition = task.loop_condition.clone().unwrap_or_default();
        let counter = counter_id(&place.id);
        let is_counted = |text: &str| text.contains("iteration");
        if is_counted(&condition) || self.text.contains(&format!("${{{name}.output.iteration")) {
            let value = format!("{{{{ (previous.{counter}.output | default(0, true)) + 1 }}}}");
            steps.insert(0, map([("id", Some(counter.into())), ("set", Some(value.into()))]));
        }
        let end = TaskPlace { around: within.to_vec(), at: usize::MAX, ..place.clone() };
        let (until, is_lost) = match self.script(&condition, task, &end) {
            Ok(again) if again == "false" => ("true".to_owned(), false),
            Ok(again) => (format!("not ({again})"), false),
            Err(why) => {
                import.lose(
                    span,
                    format!("{name}: loopCondition: {}", one_line(&condition, 80)),
                    format!("{why}; the loop ends in a failure after one round"),
                );
                ("false".to_owned(), true)
            }
        };
        let said =
            condition.split("iteration").nth(1).and_then(|rest| rest.split('<').nth(1)).map(|rest| rest.trim_start_matches('=').trim());
        // Beside another condition (`||`) the number is no end.
        let said = said
            .filter(|_| !condition.contains("||"))
            .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok())
            .filter(|most| (1..=ROUNDS).contains(most));
        if said.is_none() && !is_lost && until != "true" {
            import.lose(
                span,
                format!("{name}: rounds without an end"),
                format!("a loop ends after {ROUNDS} rounds at the latest, and fails"),
            );
        }
        // `<` and `<=` both end by then.
        let most = if is_lost { 1 } else { said.map_or(ROUNDS, |most| most + u64::from(condition.contains("<="))) };
        let until = import.words(vec![TextPiece::Text(until)], Manner::Bare, span, &format!("{name}: loopCondition"));
        let repeat = map([("until", Some(until)), ("at_most", Some(Yaml::Value(most.into())))]);
        keys.extend([("repeat", Some(repeat)), ("steps", Some(Yaml::List(steps)))]);
    }

    fn route(
        &mut self,
        task: &ImportedTask,
        place: &TaskPlace,
        inside: &dyn Fn(usize, bool) -> Vec<Around>,
        keys: &mut StepKeys,
        import: &mut Import,
    ) -> Option<Yaml> {
        let (name, span) = (&task.task_reference_name, self.span(task));
        let is_parameter = task.evaluator_type.as_deref() == Some("value-param") || task.case_value_param.is_some();
        let written =
            task.case_value_param.as_ref().filter(|_| is_parameter).or(task.expression.as_ref()).or(task.case_expression.as_ref());
        let script = written.map(|text| if is_parameter { format!("$.{text}") } else { text.clone() }).unwrap_or_default();
        let mut asked = None;
        let value = self.script(&script, task, place).unwrap_or_else(|why| {
            import.lose(span, format!("{name}: {}", one_line(&script, 80)), format!("{why}; a person is asked which case it is"));
            let question = import.plain(&format!("Which case of {name} is it? {}", one_line(&script, 200)), span, name);
            let cases: Vec<&str> = task.decision_cases.keys().map(String::as_str).chain(["otherwise"]).collect();
            let field = map([("type", Some("text".into())), ("enum", Some(Yaml::Value(json!(cases))))]);
            let own = id(&format!("{name}_case"), &mut self.taken);
            let value = format!("steps.{own}.output.case");
            asked = Some(map([("id", Some(own.into())), ("approval", Some(question)), ("form", Some(map([("case", Some(field))])))]));
            value
        });
        let mut cases = vec![];
        let all = task.decision_cases.iter().map(|(value, tasks)| (Some(value), tasks)).chain([(None, &task.default_case)]);
        let mut otherwise = None;
        for (number, (equals, tasks)) in all.enumerate() {
            let steps = self.list(tasks, &inside(number, false), import);
            let own = id(&format!("{name}_{}", equals.map_or("otherwise", String::as_str)), &mut self.taken);
            let group = id(&format!("{own}_all"), &mut self.taken);
            let work = if steps.is_empty() {
                vec![map([("id", Some(group.into())), ("set", Some(map([("done", Some("nothing".into()))])))])]
            } else {
                vec![map([("id", Some(group.into())), ("steps", Some(Yaml::List(steps)))])]
            };
            match equals {
                Some(value) => {
                    let value = import.fixed(value, span, name);
                    cases.push(map([("id", Some(own.into())), ("equals", Some(value)), ("steps", Some(Yaml::List(work)))]));
                }
                None => otherwise = Some(map([("steps", Some(Yaml::List(work)))])),
            }
        }
        let value = import.words(vec![TextPiece::Text(format!("{value} | string"))], Manner::Bare, span, &format!("{name}: expression"));
        keys.extend([("route", Some(value)), ("cases", Some(Yaml::List(cases))), ("otherwise", otherwise)]);
        asked
    }

    fn ask(&mut self, task: &ImportedTask, place: &TaskPlace, keys: &mut StepKeys, import: &mut Import) {
        let (name, span) = (&task.task_reference_name, self.span(task));
        let given = |key: &str| task.input_parameters.get(key).filter(|value| !value.is_null());
        let known = [
            "llmProvider", "model", "messages", "instructions", "prompt", "userInput", "temperature", "maxTokens", "jsonOutput",
            "participants",
        ];
        for key in task.input_parameters.keys().filter(|key| !known.contains(&key.as_str())) {
            import.lose(span, format!("{name}: {key}"), "has no counterpart");
        }
        let provider = given("llmProvider").and_then(Value::as_str).unwrap_or_default();
        if !matches!(provider, "openai" | "anthropic" | "ollama") {
            import.lose(span, format!("{name}: provider {provider}"), "imported as an endpoint like that of OpenAI: give it its base_url");
        }
        let model_name = given("model").and_then(Value::as_str).unwrap_or_default();
        let model = if model_name.is_empty() || model_name.contains("${") {
            import.lose(span, format!("{name}: model"), "a model that is filled in has no counterpart; the one called default is used");
            None
        } else {
            let provider = match provider {
                "anthropic" => "anthropic",
                "ollama" => "ollama",
                _ => "openai",
            };
            let setting = |key: &str| given(key).filter(|value| value.is_number()).cloned();
            let name = model_name.to_owned();
            self.models.of(ImportedModel {
                provider,
                name,
                temperature: setting("temperature"),
                max_output_tokens: setting("maxTokens"),
                price: None,
            })
        };
        let mut messages: Vec<(String, String)> =
            given("instructions").and_then(Value::as_str).map(|text| ("system".into(), text.into())).into_iter().collect();
        for message in given("messages").and_then(Value::as_array).into_iter().flatten() {
            let part = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let said = if part("message").is_empty() { part("content") } else { part("message") };
            messages.push((part("role"), said));
        }
        for key in ["prompt", "userInput"] {
            messages.extend(given(key).and_then(Value::as_str).map(|text| ("user".to_owned(), text.to_owned())));
        }
        let (system, user): (Vec<_>, Vec<_>) = messages.into_iter().partition(|(role, _)| role == "system");
        if user.len() > 1 {
            import.lose(span, format!("{name}: messages"), "several messages are one prompt here");
        }
        let joined = |parts: Vec<(String, String)>| parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n");
        let (system, user) = (joined(system), joined(user));
        let text_of = |text: &str, otherwise: &str, import: &mut Import| {
            if text.is_empty() { otherwise.into() } else { self.template(text, place, span, name, import) }
        };
        let (instructions, prompt) = (text_of(&system, "You answer.", import), text_of(&user, "Do your work.", import));
        self.agents.push((place.id.clone(), Some(map([("model", model), ("instructions", Some(instructions))]))));
        let fields = named_behind(&self.text, &format!("${{{name}.output.result."));
        let output = (!fields.is_empty()).then(|| map(fields.into_iter().map(|field| (field, Some(Yaml::from("any"))))));
        keys.extend([("agent", Some(place.id.clone().into())), ("prompt", Some(prompt)), ("output", output)]);
    }

    /// A person is asked for the fields that others read.
    fn question(&mut self, task: &ImportedTask, place: &TaskPlace, question: &str, import: &mut Import) -> StepKeys {
        let (name, span) = (&task.task_reference_name, self.span(task));
        let mut fields = named_behind(&self.text, &format!("${{{name}.output."));
        if fields.is_empty() {
            fields.insert("result".into());
        }
        let question = import.plain(question, span, name);
        let given: Vec<_> =
            task.input_parameters.iter().filter(|(_, value)| value.as_str().is_some_and(|text| text.contains("${"))).collect();
        let show = given
            .iter()
            .map(|(key, value)| ((*key).clone(), Some(self.value(value, place, span, &format!("{name}: {key}"), import))))
            .collect::<Vec<_>>();
        let form = map(fields.into_iter().map(|field| (field, Some(Yaml::from("any")))));
        vec![("approval", Some(question)), ("show", (!show.is_empty()).then(|| map(show))), ("form", Some(form))]
    }

    /// A step that a person does, in the place of one that has no counterpart.
    fn by_hand(&mut self, task: &ImportedTask, place: &TaskPlace, why: &str, import: &mut Import) -> StepKeys {
        let name = &task.task_reference_name;
        import.lose(self.span(task), name, format!("{why}; a person is asked for its result"));
        self.question(task, place, &format!("What is the result of {name}? It was not imported."), import)
    }
}

fn branch_id(fork: &str, number: usize) -> String {
    format!("{fork}_branch_{}", number + 1)
}

fn counter_id(repeat: &str) -> String {
    format!("{repeat}_round")
}
