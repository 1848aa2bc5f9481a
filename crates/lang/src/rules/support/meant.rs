//! What a path that leads nowhere most likely means: by the steps, the inputs and the words of the file itself.
//!
//! How to add one: a line in [`field`] or [`name`].

use super::names::PipelineNames;
use super::problem::Owner;
use super::seat::Seat;
use crate::model::{Filling, OnFailure, Read, Shape, Step, StepKind};
use crate::source::Span;
use crate::sql;
use crate::template::types::Type;

/// Most steps whose outputs are searched for a word.
const MOST_STEPS: usize = 64;

/// What to do, what may stand in place of the path, and where else to look.
#[derive(Default)]
pub(in crate::rules) struct MeantPath {
    /// A line of help.
    pub(in crate::rules) help: String,
    /// The path that is meant.
    pub(in crate::rules) path: Option<String>,
    /// Why, for the end of the message.
    pub(in crate::rules) why: &'static str,
    /// Another place that has to change, with what it is.
    pub(in crate::rules) at: Option<(Span, String)>,
}

fn path(path: String) -> MeantPath {
    MeantPath { help: format!("write {path}"), path: Some(path), ..MeantPath::default() }
}

fn help(help: String) -> MeantPath {
    MeantPath { help, ..MeantPath::default() }
}

/// The step that a path below `steps` reads.
pub(in crate::rules) fn step_of<'a>(names: &PipelineNames<'a>, path: &[String]) -> Option<&'a Step> {
    let (root, rest) = path.split_first()?;
    let ix = names.steps.get(rest.first().filter(|_| root == "steps")?.as_str())?.first()?;
    Some(names.step(*ix))
}

/// What a field is that its owner does not have.
pub(in crate::rules) fn field(names: &PipelineNames, read: &Read, owner: &Owner, field: &str, known: &[&str]) -> Option<MeantPath> {
    let place = read.path.iter().rposition(|part| part == field).filter(|place| *place > 0)?;
    let (base, rest) = (read.path.get(..place)?.join("."), read.path.get(place + 1..)?);
    let is_last = rest.is_empty();
    if let (Owner::Value(value), "history" | "log" | "transcript" | "memory") = (owner, field)
        && value == "conversation"
    {
        return Some(path("conversation.text".to_owned()));
    }
    if let (Owner::Value(value), "first_name" | "firstname" | "given_name" | "forename" | "last_name" | "surname", true) =
        (owner, field, is_last)
        && value == "person"
    {
        let end = if field.starts_with("last") || field == "surname" { "last" } else { "first" };
        return Some(path(format!("person.name | split(' ') | {end}")));
    }
    if let Owner::Plain(_, Type::List(_)) = owner {
        match field {
            "length" | "size" | "count" if is_last => return Some(path(format!("{base} | length"))),
            "rows" | "items" | "data" | "results" | "records" | "list" | "values" if is_last => return Some(path(base)),
            "first" | "last" if is_last => return Some(path(format!("{base} | {field}"))),
            _ => {}
        }
    }
    let step = step_of(names, &read.path)?;
    let meant = of_step(names, step, owner, (&base, field), known)?;
    Some(match meant.path {
        Some(path) if !is_last => MeantPath { path: None, help: format!("write {path}"), ..meant },
        path => MeantPath { path, ..meant },
    })
}

/// What a field below a step is; `base`: the path before it.
fn of_step(names: &PipelineNames, step: &Step, owner: &Owner, (base, field): (&str, &str), known: &[&str]) -> Option<MeantPath> {
    let id = &step.id.value;
    let here = |add: &str| Some((step.id.span, format!("add {add} to this step")));
    let details = |name: &str| path(format!("steps.{id}.details.{name}"));
    let kind = &step.kind;
    let is_text = matches!(owner, Owner::Plain(_, Type::Text));
    Some(if matches!(kind, StepKind::Route(_)) && ["case", "chosen", "branch", "route"].contains(&field) {
        details("case")
    } else if matches!(kind, StepKind::Gate(_)) && ["passed", "ok", "pass", "success"].contains(&field) {
        details("passed")
    } else if matches!(kind, StepKind::Program(_)) && ["exit_code", "exit", "code", "returncode", "rc", "exitcode"].contains(&field) {
        details("exit")
    } else if matches!(kind, StepKind::Program(_)) && field == "stdout" {
        path(base.to_owned())
    } else if matches!(kind, StepKind::Program(_)) && is_text {
        MeantPath {
            help: format!(
                "add output: json to step \"{id}\", which then gives what it prints as data; or its fields: output: {{ {field}: … }}"
            ),
            at: here("output: json"),
            ..MeantPath::default()
        }
    } else if matches!(kind, StepKind::Dialogue(_)) && ["messages", "history", "transcript", "chat_history"].contains(&field) {
        help(format!(
            "write steps.{id}.output.summary in place of all of it, with what stands behind {field}; each turn is steps.{id}.output.turns[0].text"
        ))
    } else if matches!(kind, StepKind::Send(_)) && ["message_id", "id", "time"].contains(&field) {
        path(format!("steps.{id}.output.delivered[0].{}", if field == "time" { "time" } else { "id" }))
    } else if matches!(kind, StepKind::Approval(_)) && ["approved", "answer", "decision", "ok", "accepted", "status"].contains(&field) {
        help(match step.on_failure == OnFailure::Continue {
            true => format!("write steps.{id}.status == \"succeeded\": after a no the step has failed"),
            false => "remove the condition: after a no the step fails, and what is below it does not run".to_owned(),
        })
    } else if let StepKind::Sql(sql) = kind {
        if sql.one.is_some() || !matches!(owner, Owner::Plain(_, Type::List(_))) {
            return unnamed(step, field, known)
                .or_else(|| renamed(&sql.query.source, field, known).map(|name| path(format!("{base}.{name}"))));
        }
        MeantPath {
            help: format!(
                "add one: true to step \"{id}\" if one row is meant; of a list write {base}[0].{field}, or go through it with for"
            ),
            at: here("one: true"),
            ..MeantPath::default()
        }
    } else if let StepKind::Agent(agent) = kind {
        let own = agent.output.as_ref().and_then(first_field)?;
        let Shape::Fields(fields) = names.pipeline.pipeline.agents.get(&agent.agent.value)?.output.as_ref()? else { return None };
        fields.iter().find(|of_agent| of_agent.name == field)?;
        let has = |name: &str| known.contains(&name);
        let lost = fields.iter().filter(|of_agent| !has(&of_agent.name));
        let lost: Vec<String> = lost.map(|of_agent| format!("{}: {}", of_agent.name, <&str>::from(of_agent.kind))).collect();
        let lost = lost.join(", ");
        MeantPath {
            help: format!("add {lost} to output of step \"{id}\""),
            why: ": the output of a step replaces that of its agent",
            at: Some((own, format!("add {lost} here"))),
            ..MeantPath::default()
        }
    } else {
        return None;
    })
}

/// A column of a query that has no name of its own: `count(*)`.
pub(in crate::rules) fn unnamed(step: &Step, field: &str, known: &[&str]) -> Option<MeantPath> {
    let unnamed: Vec<&&str> = known.iter().filter(|name| name.contains('(')).collect();
    let small = field.to_lowercase();
    let called = unnamed.iter().find(|name| name.to_lowercase().starts_with(&small)).or(unnamed.first())?;
    Some(MeantPath {
        help: format!("write {called} as {field} in the query of step \"{}\": a column without a name cannot be read", step.id.value),
        why: ": what its query counts or adds up has no name",
        at: Some((step.kind_span, format!("write {called} as {field} in this query"))),
        ..MeantPath::default()
    })
}

/// The name that a query gives to what it makes of this column: `sum(amount) as revenue`.
fn renamed(query: &str, column: &str, known: &[&str]) -> Option<String> {
    let small = query.to_lowercase();
    let list = small.strip_prefix("select ").and_then(|rest| rest.split(" from ").next())?;
    let mut made = list.split(',').filter_map(|part| part.rsplit_once(" as ")).filter(|(made_of, _)| sql::mentions(made_of, column));
    let (_, name) = made.next().filter(|_| made.next().is_none())?;
    known.iter().find(|known| known.eq_ignore_ascii_case(name.trim())).map(|name| (*name).to_owned())
}

fn first_field(shape: &Shape) -> Option<Span> {
    match shape {
        Shape::Fields(fields) => fields.first().map(|field| field.span),
        Shape::Schema(_) => None,
    }
}

/// What a name is that nothing has.
pub(in crate::rules) fn name(names: &PipelineNames, seat: &Seat, read: &Read, name: &str) -> Option<MeantPath> {
    let rest = read.path.get(1..)?;
    let behind = |rest: &[String]| rest.iter().map(|part| format!(".{part}")).collect::<String>();
    if matches!(name, "forloop" | "loop_index") && !rest.is_empty() {
        return Some(path(format!("loop{}", behind(rest))));
    }
    if rest.is_empty()
        && let Some(owner) = one_of(names, seat, name)
    {
        return Some(MeantPath {
            why: " as a name; a text stands in quotes, behind == and what it is compared with",
            ..help(format!("write {owner} == \"{name}\""))
        });
    }
    if names.has_step(name) {
        let is_member = rest.first().is_none_or(|part| ["output", "status", "error", "details"].contains(&part.as_str()));
        let member = if is_member && !rest.is_empty() { "" } else { ".output" };
        return Some(MeantPath { why: ": what a step gives is read below steps", ..path(format!("steps.{name}{member}{}", behind(rest))) });
    }
    let last = read.path.last()?;
    let has = |root: &str, name: &str| match names.known_type(seat, &[root.to_owned()]) {
        Type::Object(object) => object.fields.contains_key(name),
        _ => false,
    };
    if let Some(Type::Object(with)) = &seat.more.with {
        let (found, rest) = if with.fields.contains_key(name) { (name, rest) } else { (last.as_str(), [].as_slice()) };
        if with.fields.contains_key(found) {
            return Some(path(format!("with.{found}{}", behind(rest))));
        }
    }
    for (found, rest) in [(name, rest), (last.as_str(), [].as_slice())] {
        if has("inputs", found) {
            return Some(path(format!("inputs.{found}{}", behind(rest))));
        }
    }
    if names.known(seat).contains(&"item") {
        let element = names.known_type(seat, &["item".to_owned()]);
        if !rest.is_empty() && (element.is_text() || element.is_number()) {
            return Some(path("item".to_owned()));
        }
        return Some(help(format!("write item{}, or add as: {name} beside for_each", behind(rest))));
    }
    rest.is_empty()
        .then(|| help(format!("write \"{name}\" with quotes if it is a text; inputs are read as inputs.NAME, steps as steps.ID.output")))
}

/// The input or the field of an output that may be this word.
pub(in crate::rules) fn one_of(names: &PipelineNames, seat: &Seat, word: &str) -> Option<String> {
    let roots = [vec!["inputs".to_owned()]]
        .into_iter()
        .chain(names.ids().take(MOST_STEPS).map(|id| vec!["steps".to_owned(), id.to_owned(), "output".to_owned()]));
    roots.into_iter().find_map(|root| match names.known_type(seat, &root) {
        Type::Object(object) => {
            let is_it = |kind: &Type| matches!(kind, Type::OneOf(words) if words.iter().any(|known| known == word));
            let (field, _) = object.fields.iter().find(|(_, member)| is_it(&member.kind))?;
            Some(format!("{}.{field}", root.join(".")))
        }
        Type::OneOf(words) if words.iter().any(|known| known == word) => Some(root.join(".")),
        _ => None,
    })
}

/// Where a list is wanted and a step gives something else.
pub(in crate::rules) fn list(names: &PipelineNames, path: &[String], kind: &Type) -> Option<MeantPath> {
    if kind.is_number() {
        return Some(self::path(format!("range({})", path.join("."))));
    }
    let step = step_of(names, path)?;
    let id = &step.id.value;
    let (help, at, label) = if let StepKind::Sql(sql) = &step.kind {
        let help = format!("remove one: true from step \"{id}\": it then gives all rows, as a list");
        (help, sql.one?, "remove this".to_owned())
    } else if !kind.is_text() {
        return None;
    } else if matches!(step.kind, StepKind::Agent(_)) {
        let add = "add output: { items: { type: list, items: text } } to";
        (format!("{add} \"{id}\", and write steps.{id}.output.items"), step.kind_span, format!("{add} this step"))
    } else if matches!(step.kind, StepKind::Program(_)) {
        let help = format!("add output: lines to step \"{id}\", which then gives a list of its lines");
        (help, step.kind_span, "add output: lines to this step".to_owned())
    } else if let StepKind::Set(Filling::Text(filled)) = &step.kind {
        let inner = filled.source.trim().trim_end_matches("}}").trim_end();
        let filter = inner.rsplit_once('|').map(|(_, filter)| filter.trim());
        let filter = filter.filter(|filter| filter.starts_with("tojson") || filter.starts_with("join"))?;
        let help = format!("remove | {filter} from step \"{id}\": it makes a text of the list");
        (help, step.kind_span, format!("remove | {filter} here"))
    } else {
        return None;
    };
    Some(MeantPath { help, at: Some((at, label)), ..MeantPath::default() })
}

/// Where a condition is wanted and a step builds the words true and false as a text.
pub(in crate::rules) fn condition(names: &PipelineNames, path: &[String]) -> Option<MeantPath> {
    let step = step_of(names, path)?;
    let StepKind::Set(Filling::Text(text)) = &step.kind else { return None };
    let source = text.source.trim();
    let (condition, rest) = source.strip_prefix("{%")?.trim_start_matches('-').trim().strip_prefix("if ")?.split_once("%}")?;
    let is_flag = rest.trim_start().to_lowercase().starts_with("true") && rest.to_lowercase().contains("false");
    let condition = condition.trim().trim_end_matches('-').trim();
    is_flag.then(|| MeantPath {
        help: format!("write set: \"{{{{ {condition} }}}}\" in step \"{}\": a condition is true or false itself", step.id.value),
        at: Some((step.kind_span, format!("write set: \"{{{{ {condition} }}}}\" here"))),
        ..MeantPath::default()
    })
}
