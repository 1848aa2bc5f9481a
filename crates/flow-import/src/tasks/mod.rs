//! Conductor of conductor-oss: a tree of tasks → steps. `FORK_JOIN` becomes a parallel group, `DO_WHILE` a `repeat`, `SWITCH` a `route` with `equals`.

mod script;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use script::jinja_of;

use super::words::{expression, other_meanings};
use super::*;

/// Rounds of a loop that says no number.
const ROUNDS: u64 = 100;

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
enum TaskKind {
    ForkJoin,
    #[strum(serialize = "JOIN", serialize = "NOOP")]
    Nothing,
    DoWhile,
    #[strum(serialize = "SWITCH", serialize = "DECISION")]
    Switch,
    #[strum(serialize = "LLM_CHAT_COMPLETE", serialize = "LLM_TEXT_COMPLETE")]
    Ask,
    Http,
    SetVariable,
    Wait,
    Terminate,
    #[strum(serialize = "INLINE", serialize = "LAMBDA")]
    Inline,
    Human,
    #[strum(default)]
    Other(String),
}

impl TaskKind {
    fn from_task(task: &Node) -> TaskKind {
        let written = text(task, "type").unwrap_or("SIMPLE");
        written.parse().unwrap_or_else(|_| TaskKind::Other(written.to_owned()))
    }
}

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
    kind: TaskKind,
    around: Vec<Around>,
    at: usize,
    /// It may fail, and the run goes on.
    is_optional: bool,
}

impl TaskPlace {
    /// The place of its own lists of steps.
    fn inside(&self, list: usize, is_loop: bool) -> Vec<Around> {
        [self.around.as_slice(), &[Around { id: self.id.clone(), list, is_loop }]].concat()
    }

    /// That of a branch; one of several tasks is a group.
    fn branch(&self, number: usize, branch: &[Node]) -> Vec<Around> {
        let group = Around { id: branch_id(&self.id, number), list: 0, is_loop: false };
        self.inside(number, false).into_iter().chain((branch.len() > 1).then_some(group)).collect()
    }
}

/// A task with its name and where it stands.
struct NamedTask<'a> {
    node: &'a Node,
    name: &'a str,
    place: TaskPlace,
}

impl NamedTask<'_> {
    /// One of its parameters.
    fn parameter(&self, key: &str) -> Option<&Node> {
        child(child(self.node, "inputParameters")?, key).filter(|node| !node.to_value().is_null())
    }
}

#[derive(Default)]
struct TaskFile {
    text: String,
    places: BTreeMap<String, TaskPlace>,
    inputs: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    done: Imported,
}

pub(super) fn import(root: &Node, import: &mut Import) -> Imported {
    let known = "name description version tasks inputParameters inputTemplate outputParameters timeoutSeconds schemaVersion \
                     timeoutPolicy ownerEmail ownerApp createTime updateTime createdBy updatedBy restartable accessPolicy";
    import.lose_set(root, known, "", is_set);
    let tasks = items(child(root, "tasks"));
    let mut file = TaskFile { text: import.sources.file(import.file).text.to_string(), ..TaskFile::default() };
    file.place(tasks, &[], import);
    let inputs = file.fields(root, import);
    let mut steps = file.list(tasks, import);
    if steps.is_empty() {
        steps.push(map([pair("id", "nothing"), pair("set", "Nothing is done.")]));
    }
    let end = TaskPlace { id: String::new(), kind: TaskKind::Nothing, around: vec![], at: usize::MAX, is_optional: false };
    let mut taken = BTreeSet::new();
    let outputs = entries(child(root, "outputParameters"))
        .map(|(name, node)| pair(id(name, &mut taken), file.value(&node.to_value(), &end, node.span, &format!("output {name}"), import)));
    // Without outputs of its own, a workflow gives those of its last task.
    let gives = |task: &&Node| !matches!(TaskKind::from_task(task), TaskKind::Nothing | TaskKind::Terminate | TaskKind::Wait);
    let last = tasks.iter().rev().find(gives).and_then(|task| file.places.get(reference(task)));
    let last = last.map(|place| Yaml::from(format!("{{{{ steps.{}.output }}}}", place.id)));
    let outputs = map_of(outputs.collect::<Vec<_>>()).or(last);
    let seconds = child(root, "timeoutSeconds").filter(|_| number(root, "timeoutSeconds").is_some_and(|seconds| seconds != json!(0)));
    let ends = text(root, "timeoutPolicy") == Some("TIME_OUT_WF");
    if let Some(seconds) = seconds.filter(|_| !ends) {
        import.lose(seconds.span, "timeoutSeconds", LostWhy::OnlyAlerts);
    }
    let limits = vec![may("deadline", seconds.filter(|_| ends).and_then(duration))];
    let name = id(text(root, "name").unwrap_or("imported"), &mut BTreeSet::new());
    Imported { name, description: description(root), inputs, limits, steps, outputs, ..file.done }
}

fn reference(task: &Node) -> &str {
    text(task, "taskReferenceName").unwrap_or_default()
}

/// The lists of a `SWITCH`, each with the value that it is for; the last one is for all others.
fn cases(task: &Node) -> Vec<(Option<&str>, &[Node])> {
    let cases: BTreeMap<&str, &[Node]> = entries(child(task, "decisionCases")).map(|(value, tasks)| (value, items(Some(tasks)))).collect();
    cases.into_iter().map(|(value, tasks)| (Some(value), tasks)).chain([(None, items(child(task, "defaultCase")))]).collect()
}

/// The names behind a mark up to the next sign: `${a.output.` finds `b` in `${a.output.b.c}`.
fn named_behind(text: &str, mark: &str) -> BTreeSet<String> {
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    text.split(mark).skip(1).map(name).filter(|name| !name.is_empty()).collect()
}

impl TaskFile {
    fn place(&mut self, tasks: &[Node], around: &[Around], import: &mut Import) {
        for task in tasks {
            let (at, name) = (self.places.len(), reference(task));
            let id = id(name, &mut self.taken);
            let is_optional = child(task, "optional").is_some_and(|node| node.to_value() == json!(true));
            let place = TaskPlace { id, kind: TaskKind::from_task(task), around: around.to_vec(), at, is_optional };
            if self.places.insert(name.to_owned(), place.clone()).is_some() {
                import.lose(task.span, name, LostWhy::SameReference);
            }
            self.place(items(child(task, "loopOver")), &place.inside(0, child(task, "items").is_none()), import);
            for (number, branch) in items(child(task, "forkTasks")).iter().enumerate() {
                let branch = items(Some(branch));
                self.place(branch, &place.branch(number, branch), import);
            }
            for (number, (_, case)) in cases(task).into_iter().enumerate() {
                self.place(case, &place.inside(number, false), import);
            }
        }
    }

    /// The fields of the inputs: those of the file, and those that are only read.
    fn fields(&mut self, root: &Node, import: &mut Import) -> Vec<Entry> {
        let template = child(root, "inputTemplate");
        let mut names: Vec<String> = names_in(child(root, "inputParameters")).map(str::to_owned).collect();
        names.extend(entries(template).map(|(name, _)| name.to_owned()));
        names.extend(named_behind(&self.text, "${workflow.input."));
        let mut taken = BTreeSet::from(["channel".to_owned()]);
        let mut fields = vec![];
        for name in names {
            if self.inputs.contains_key(&name) {
                continue;
            }
            let id = id(&name, &mut taken);
            let default = template.and_then(|all| child(all, &name)).map(|node| (node.to_value(), node.span));
            let default = default.filter(|(value, _)| !value.is_null());
            let default = default.map(|(value, span)| import.value(value, span, &format!("default of {name}")));
            let required = may("required", default.is_none().then_some(false));
            fields.push(pair(&id, map([pair("type", "any"), required, may("default", default)])));
            self.inputs.insert(name, id);
        }
        fields
    }

    /// What `a.output.b` is for a task that reads it.
    fn resolve(&self, path: &[&str], reader: &TaskPlace) -> Result<String, LostWhy> {
        let unknown = || LostWhy::Unknown(path.join("."));
        let is_name = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '[' | ']'));
        if !path.iter().all(is_name) {
            return Err(LostWhy::OtherPath);
        }
        let (place, rest) = match path {
            ["workflow", "input", name, rest @ ..] => {
                let (name, place) = name.split_at(name.find('[').unwrap_or(name.len()));
                let id = self.inputs.get(name).ok_or_else(unknown)?;
                return Ok(with_fields(format!("inputs.{id}{place}"), rest));
            }
            ["workflow", "workflowId"] => return Ok("run.id".into()),
            [name, "output", rest @ ..] => (self.places.get(*name).ok_or_else(unknown)?, rest),
            _ => return Err(unknown()),
        };
        let counter = || TaskPlace { id: counter_id(&place.id), around: place.inside(0, true), ..place.clone() };
        let found = |place: &TaskPlace| Self::access(place, reader).ok_or(LostWhy::NotBefore);
        let ((found, is_sure), rest): (_, &[&str]) = match (&place.kind, rest) {
            (TaskKind::DoWhile, ["iteration"]) => (found(&counter())?, &[]),
            (TaskKind::DoWhile, ["loopItem", rest @ ..]) => return Ok(with_fields("item", rest)),
            (TaskKind::DoWhile, ["loopIndex"]) => return Ok("(item_number - 1)".into()),
            (TaskKind::Ask, ["result", rest @ ..]) => (found(place)?, rest),
            (TaskKind::Ask, [_, ..]) => return Err(unknown()),
            (TaskKind::Http, ["response", "statusCode"]) => (found(place)?, &["status"]),
            (TaskKind::Http, ["response", rest @ ..]) => (found(place)?, rest),
            (TaskKind::DoWhile | TaskKind::Switch | TaskKind::ForkJoin | TaskKind::Nothing | TaskKind::Terminate, _)
            | (TaskKind::Wait, _) => return Err(unknown()),
            (TaskKind::Ask | TaskKind::Http | TaskKind::SetVariable | TaskKind::Inline | TaskKind::Human | TaskKind::Other(_), rest) => {
                (found(place)?, rest)
            }
        };
        let value = with_fields(found, rest);
        Ok(if is_sure && !place.is_optional { value } else { format!("({value} | default(none))") })
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
            Value::Object(object) => {
                map(object.iter().map(|(key, value)| pair(key, self.value(value, reader, span, what, import))).collect::<Vec<_>>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Yaml::Value(value.clone()),
        }
    }

    fn template(&self, text: &str, reader: &TaskPlace, span: Span, what: &str, import: &mut Import) -> Yaml {
        let mut pieces = vec![];
        let mut rest = text;
        while let Some((before, (inner, after))) = rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
            pieces.push(TextPiece::Text(before.to_owned()));
            let was = format!("${{{inner}}}");
            match self.resolve(&inner.trim().split('.').collect::<Vec<_>>(), reader) {
                Ok(value) => pieces.push(TextPiece::Filled { out: format!("{{{{ {value} }}}}"), was, is_mark: false }),
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
    fn script(&self, script: &str, task: &NamedTask<'_>, reader: &TaskPlace, import: &mut Import) -> Result<String, LostWhy> {
        let names = |path: &[&str]| {
            let (path, is_length) = path.strip_suffix(&["length"]).map_or((path, false), |path| (path, true));
            let [_, name, rest @ ..] = path else { return Err(LostWhy::NameMissing) };
            let value = match task.parameter(name).map(Node::to_value) {
                Some(Value::String(text)) => {
                    let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).ok_or(LostWhy::NotWhole)?;
                    self.resolve(&inner.split('.').chain(rest.iter().copied()).collect::<Vec<_>>(), reader)?
                }
                Some(value @ (Value::Number(_) | Value::Bool(_))) if rest.is_empty() => value.to_string(),
                Some(_) => return Err(LostWhy::NoSingleValue((*name).to_owned())),
                None => self.resolve(&[&[*name, "output"], rest].concat(), reader)?,
            };
            Ok(MeantName::value(if is_length { format!("({value} | length)") } else { value }))
        };
        let condition = jinja_of(script)?;
        for why in other_meanings(&condition, TextDialect::JavaScript) {
            import.lose(task.node.span, format!("{}: {}", task.name, one_line(script, 80)), why);
        }
        expression(&condition, &names, &[])
    }

    fn list(&mut self, tasks: &[Node], import: &mut Import) -> Vec<Yaml> {
        for [fork, join] in tasks.array_windows() {
            // A branch whose last task the join does not name may go on there.
            let waited: Vec<&str> = names_in(child(join, "joinOn")).collect();
            let is_left = |branch: &Node| items(Some(branch)).last().is_some_and(|last| !waited.contains(&reference(last)));
            if text(join, "type") == Some("JOIN") && !waited.is_empty() && items(child(fork, "forkTasks")).iter().any(is_left) {
                import.lose(join.span, format!("{}: joinOn", reference(join)), LostWhy::WaitsForSome);
            }
        }
        tasks.iter().flat_map(|task| self.step(task, import)).collect()
    }

    fn step(&mut self, node: &Node, import: &mut Import) -> Vec<Yaml> {
        let (name, span) = (reference(node), node.span);
        let Some(place) = self.places.get(name).cloned() else { return vec![] };
        let task = NamedTask { node, name, place };
        let (place, given) = (&task.place, |key: &str| task.parameter(key));
        let known = "name taskReferenceName type description inputParameters optional startDelay loopCondition loopOver items \
                     decisionCases defaultCase evaluatorType expression caseValueParam caseExpression forkTasks joinOn joinStatus \
                     defaultExclusiveJoinTask metadata subWorkflowParam scriptExpression dynamicTaskNameParam dynamicForkTasksParam \
                     dynamicForkTasksInputParamName";
        import.lose_set(node, known, &format!("{name}: "), is_set);
        if number(node, "startDelay").is_some_and(|delay| delay.as_f64() > Some(0.0)) {
            import.lose(span, format!("{name}: startDelay"), LostWhy::Delay);
        }
        let mut above = vec![];
        let keys: Vec<Entry> = match &place.kind {
            TaskKind::Nothing => return vec![],
            TaskKind::ForkJoin => {
                let mut steps = vec![];
                for (number, branch) in items(child(node, "forkTasks")).iter().enumerate() {
                    let inner = self.list(items(Some(branch)), import);
                    match items(Some(branch)).len() {
                        0 | 1 => steps.extend(inner),
                        _ => steps.push(map([pair("id", branch_id(&place.id, number)), pair("steps", inner)])),
                    }
                }
                vec![pair("parallel", true), pair("steps", steps)]
            }
            TaskKind::DoWhile => self.repeat(&task, import),
            TaskKind::Switch => self.route(&task, &mut above, import),
            TaskKind::Ask => self.ask(&task, import),
            TaskKind::Http => self.http(&task, import),
            TaskKind::SetVariable => {
                let values = child(node, "inputParameters").map_or_else(|| json!({}), Node::to_value);
                vec![pair("set", self.value(&values, place, span, name, import))]
            }
            TaskKind::Wait if given("duration").is_some() => match given("duration").and_then(duration) {
                Some(time) => vec![pair("wait", time)],
                None => self.by_hand(&task, LostWhy::UnwrittenTime, import),
            },
            TaskKind::Terminate => {
                let is_done = given("terminationStatus").map(Node::to_value) == Some(json!("COMPLETED"));
                let reason = given("terminationReason").map(|reason| self.value(&reason.to_value(), place, span, name, import));
                if given("workflowOutput").is_some() {
                    import.lose(span, format!("{name}: workflowOutput"), LostWhy::OutputsOfStop);
                }
                vec![pair("stop", if is_done { "succeeded" } else { "failed" }), may("reason", reason)]
            }
            TaskKind::Inline => {
                let script = given("expression").or_else(|| given("scriptExpression")).and_then(Node::as_scalar);
                let script = script.map(|scalar| scalar.text.as_str()).unwrap_or_default();
                match self.script(script, &task, place, import) {
                    Ok(done) => vec![pair("set", map([pair("result", import.filled(&done, script, span, name))]))],
                    Err(why) => self.by_hand(&task, LostWhy::ScriptLost(Box::new(why)), import),
                }
            }
            TaskKind::Human | TaskKind::Wait => self.question(&task, &format!("What is the result of {name}?"), import),
            TaskKind::Other(kind) => self.by_hand(&task, LostWhy::StepKind(kind.clone()), import),
        };
        let ends = may("on_failure", place.is_optional.then_some("continue"));
        above.push(map(std::iter::once(pair("id", place.id.as_str())).chain(keys).chain([ends])));
        above
    }

    fn http(&self, task: &NamedTask<'_>, import: &mut Import) -> Vec<Entry> {
        let NamedTask { node, name, place } = task;
        let span = node.span;
        let request = task.parameter("http_request").or_else(|| child(node, "inputParameters"));
        let part = |key: &str| request.and_then(|request| child(request, key)).filter(|node| !node.to_value().is_null());
        if let Some(request) = request {
            let known = "method uri headers body readTimeOut accept contentType";
            import.lose_set(request, known, &format!("{name}: "), is_set);
        }
        let words = |key: &str| part(key).and_then(Node::as_scalar).map(|scalar| scalar.text.as_str());
        let address = format!("{} {}", words("method").unwrap_or("GET").to_ascii_uppercase(), words("uri").unwrap_or_default());
        let address = self.template(&address, place, span, name, import);
        let mut filled =
            |key: &str| may(key, part(key).map(|node| self.value(&node.to_value(), place, span, &format!("{name}: {key}"), import)));
        let (headers, body) = (filled("headers"), filled("body"));
        let timeout = part("readTimeOut").and_then(|node| node.to_value().as_u64()).filter(|time| *time > 0);
        if timeout.is_some() {
            import.lose(span, format!("{name}: readTimeOut"), LostWhy::WholeRequest);
        }
        vec![pair("http", address), headers, body, may("timeout", timeout.map(|time| format!("{time}ms")))]
    }

    fn repeat(&mut self, task: &NamedTask<'_>, import: &mut Import) -> Vec<Entry> {
        let NamedTask { node, name, place } = task;
        let span = node.span;
        let mut steps = self.list(items(child(node, "loopOver")), import);
        if let Some(list) = text(node, "items") {
            let inner = list.trim().strip_prefix("${").and_then(|text| text.strip_suffix('}')).unwrap_or(list);
            let meant = self.resolve(&inner.split('.').collect::<Vec<_>>(), place);
            let meant = meant.map_err(|why| import.lose(span, format!("{name}: items: {list}"), why)).ok();
            let each = meant.map(|list| import.expression(list, span, &format!("{name}: items")));
            return vec![may("max_parallel", each.is_some().then_some(1_u64)), may("for_each", each), pair("steps", steps)];
        }
        let condition = text(node, "loopCondition").unwrap_or_default();
        if condition.contains("iteration") || self.text.contains(&format!("${{{name}.output.iteration")) {
            let counter = counter_id(&place.id);
            let value = format!("{{{{ (previous.{counter}.output | default(0, true)) + 1 }}}}");
            steps.insert(0, map([pair("id", counter), pair("set", value)]));
        }
        let end = TaskPlace { around: place.inside(0, true), at: usize::MAX, ..place.clone() };
        let (until, is_lost) = match self.script(condition, task, &end, import) {
            Ok(again) if again == "false" => ("true".to_owned(), false),
            Ok(again) => (format!("not ({again})"), false),
            Err(why) => {
                let what = format!("{name}: loopCondition: {}", one_line(condition, 80));
                import.lose(span, what, LostWhy::OneRound(Box::new(why)));
                ("false".to_owned(), true)
            }
        };
        let said = condition.split("iteration").nth(1).and_then(|rest| rest.split('<').nth(1));
        let said = said.map(|rest| rest.trim_start_matches('=').trim_start().chars().take_while(char::is_ascii_digit).collect::<String>());
        // Beside another condition (`||`) the number is no end.
        let said = said.filter(|_| !condition.contains("||")).and_then(|most| most.parse::<u64>().ok());
        let said = said.filter(|most| (1..=ROUNDS).contains(most));
        if said.is_none() && !is_lost && until != "true" {
            import.lose(span, format!("{name}: rounds without an end"), LostWhy::NoEnd(ROUNDS));
        }
        // `<` and `<=` both end by then.
        let most = if is_lost { 1 } else { said.map_or(ROUNDS, |most| most + u64::from(condition.contains("<="))) };
        let until = import.expression(until, span, &format!("{name}: loopCondition"));
        vec![pair("repeat", map([pair("until", until), pair("at_most", most)])), pair("steps", steps)]
    }

    fn route(&mut self, task: &NamedTask<'_>, above: &mut Vec<Yaml>, import: &mut Import) -> Vec<Entry> {
        let NamedTask { node, name, place } = task;
        let span = node.span;
        let parameter = text(node, "caseValueParam");
        let parameter = parameter.or_else(|| text(node, "expression").filter(|_| text(node, "evaluatorType") == Some("value-param")));
        let written = text(node, "expression").or_else(|| text(node, "caseExpression")).unwrap_or_default();
        let script = parameter.map_or_else(|| written.to_owned(), |name| format!("$.{name}"));
        let value = self.script(&script, task, place, import).unwrap_or_else(|why| {
            import.lose(span, format!("{name}: {}", one_line(&script, 80)), LostWhy::CaseAsked(Box::new(why)));
            let question = import.plain(&format!("Which case of {name} is it? {}", one_line(&script, 200)), span, name);
            let values: Vec<&str> = cases(node).into_iter().map(|(value, _)| value.unwrap_or("otherwise")).collect();
            let form = map([pair("case", map([pair("type", "text"), pair("enum", json!(values))]))]);
            let own = id(&format!("{name}_case"), &mut self.taken);
            above.push(map([pair("id", own.as_str()), pair("approval", question), pair("form", form)]));
            format!("steps.{own}.output.case")
        });
        let (mut listed, mut otherwise) = (vec![], None);
        for (equals, tasks) in cases(node) {
            let steps = self.list(tasks, import);
            let own = id(&format!("{name}_{}", equals.unwrap_or("otherwise")), &mut self.taken);
            let group = id(&format!("{own}_all"), &mut self.taken);
            let work = if steps.is_empty() { pair("set", map([pair("done", "nothing")])) } else { pair("steps", steps) };
            let work = pair("steps", vec![map([pair("id", group), work])]);
            match equals {
                Some(value) => listed.push(map([pair("id", own), pair("equals", import.fixed(value, span, name)), work])),
                None => otherwise = Some(map([work])),
            }
        }
        let value = import.expression(format!("{value} | string"), span, &format!("{name}: expression"));
        vec![pair("route", value), pair("cases", listed), may("otherwise", otherwise)]
    }

    fn ask(&mut self, task: &NamedTask<'_>, import: &mut Import) -> Vec<Entry> {
        let NamedTask { node, name, place } = task;
        let span = node.span;
        let known = "llmProvider model messages instructions prompt userInput temperature maxTokens jsonOutput participants";
        if let Some(given) = child(node, "inputParameters") {
            import.lose_others(given, known, &format!("{name}: "));
        }
        let said = |key: &str| task.parameter(key).and_then(Node::as_scalar).map(|scalar| scalar.text.as_str());
        let provider = match said("llmProvider").unwrap_or_default() {
            "openai" => "openai",
            "anthropic" => "anthropic",
            "ollama" => "ollama",
            other => {
                import.lose(span, format!("{name}: provider {other}"), LostWhy::NeedsBaseUrl);
                "openai"
            }
        };
        let named = said("model").filter(|model| !model.is_empty() && !model.contains("${"));
        if named.is_none() {
            import.lose(span, format!("{name}: model"), LostWhy::FilledModel);
        }
        let setting = |key: &str| task.parameter(key).map(Node::to_value).filter(Value::is_number);
        let (temperature, max_output_tokens) = (setting("temperature"), setting("maxTokens"));
        let model = named.map(|name| ImportedModel { provider, name: name.to_owned(), temperature, max_output_tokens });
        let model = model.and_then(|model| self.done.models.id(model));
        let mut messages: Vec<(&str, &str)> = said("instructions").map(|text| ("system", text)).into_iter().collect();
        for message in items(task.parameter("messages")) {
            let part = |key: &str| text(message, key).filter(|text| !text.is_empty());
            messages.push((part("role").unwrap_or_default(), part("message").or_else(|| part("content")).unwrap_or_default()));
        }
        messages.extend(["prompt", "userInput"].into_iter().filter_map(said).map(|text| ("user", text)));
        let (system, user): (Vec<_>, Vec<_>) = messages.into_iter().partition(|(role, _)| *role == "system");
        if user.len() > 1 {
            import.lose(span, format!("{name}: messages"), LostWhy::SeveralMessages);
        }
        let mut joined = |parts: Vec<(&str, &str)>, otherwise: &str| {
            let text = parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n");
            if text.is_empty() { otherwise.into() } else { self.template(&text, place, span, name, import) }
        };
        let (instructions, prompt) = (joined(system, "You answer."), joined(user, "Do your work."));
        self.done.agents.push(pair(&place.id, map([may("model", model), pair("instructions", instructions)])));
        let fields = named_behind(&self.text, &format!("${{{name}.output.result."));
        let output = map_of(fields.into_iter().map(|field| pair(field, "any")));
        vec![pair("agent", place.id.as_str()), pair("prompt", prompt), may("output", output)]
    }

    /// A person is asked for the fields that others read.
    fn question(&mut self, task: &NamedTask<'_>, question: &str, import: &mut Import) -> Vec<Entry> {
        let NamedTask { node, name, place } = task;
        let mut fields = named_behind(&self.text, &format!("${{{name}.output."));
        if fields.is_empty() {
            fields.insert("result".into());
        }
        let question = import.plain(question, node.span, name);
        let given = entries(child(node, "inputParameters")).map(|(key, node)| (key, node.to_value()));
        let given = given.filter(|(_, value)| value.as_str().is_some_and(|text| text.contains("${")));
        let show = given.map(|(key, value)| pair(key, self.value(&value, place, node.span, &format!("{name}: {key}"), import)));
        let show = map_of(show.collect::<Vec<_>>());
        vec![pair("approval", question), may("show", show), pair("form", map(fields.into_iter().map(|field| pair(field, "any"))))]
    }

    /// A step that a person does, in the place of one that has no counterpart.
    fn by_hand(&mut self, task: &NamedTask<'_>, why: LostWhy, import: &mut Import) -> Vec<Entry> {
        import.lose(task.node.span, task.name, why.asked());
        self.question(task, &format!("What is the result of {}? It was not imported.", task.name), import)
    }
}

/// Whether a key says something: these files have all keys, most of them with nothing in them.
fn is_set(value: &Value) -> bool {
    !(matches!(value, Value::Null | Value::Bool(false)) || [json!(0), json!(""), json!([]), json!({})].contains(value))
}

fn branch_id(fork: &str, number: usize) -> String {
    format!("{fork}_branch_{}", number + 1)
}

fn counter_id(repeat: &str) -> String {
    format!("{repeat}_round")
}
