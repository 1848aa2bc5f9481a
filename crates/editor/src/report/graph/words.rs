//! Describes steps in a few words.

use std::time::Duration;

use crate::diagnostic::counted;
use crate::model::{
    ArtefactKind, Case, DialogueStep, Filling, ForEach, Form, GateStep, Outputs, PlanStep, ScorecardRef, Step, StepKind, TaskStep, Text,
    Unmet,
};
use crate::plan::{PipelinePlan, Plan};
use crate::source::Spanned;
use crate::sql::ReadQuery;

/// Describes what a step does in a few words.
pub fn what(plan: &Plan, planned: &PipelinePlan, step: &Step) -> Vec<String> {
    let one = |line: String| vec![line];
    match &step.kind {
        StepKind::Agent(agent) => one(format!("asks agent {}", agent.agent.value)),
        StepKind::Tool(tool) => match planned.called_tool(&tool.tool.value) {
            Some(id) => one(format!("runs pipeline {}", plan.pipeline(id).pipeline.name.value)),
            None => one(format!("uses tool {}", tool.tool.value)),
        },
        StepKind::Set(value) => one(match value {
            Filling::Map(names) if !names.is_empty() => format!("sets {}", filling(value)),
            Filling::Constant(serde_json::Value::Object(names)) if !names.is_empty() => {
                format!("sets {}", names.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Filling::Map(_) | Filling::Constant(serde_json::Value::Object(_)) => "sets nothing".into(),
            _ => "sets a value".into(),
        }),
        StepKind::Http(http) => one(format!("{} {}", http.method, source(&http.url))),
        StepKind::Sql(sql) => match tables(planned, &sql.query.source).as_slice() {
            [] => one("works values out (SQL)".into()),
            names => one(format!("queries {}", names.join(", "))),
        },
        StepKind::Program(run) => one(format!(
            "starts {}",
            std::iter::once(run.program.value.clone()).chain(run.args.iter().map(source)).collect::<Vec<_>>().join(" ")
        )),
        StepKind::Python(step) => {
            let mut said = vec![match &step.run.file {
                Some(file) => format!("runs {} (Python)", file.value),
                None => "runs code (Python)".into(),
            }];
            let names: Vec<&str> = step.run.returns.iter().map(|name| name.as_str()).collect();
            said.push(format!("gives {}", names.join(", ")));
            said
        }
        StepKind::Read(read) => one(format!("reads {}", filling(&read.paths))),
        StepKind::Search(search) => one(format!("searches {}", search.knowledge.value)),
        StepKind::Resource(step) => one(format!("reads {} from server {}", source(&step.uri), step.server.value)),
        StepKind::Plan(own) => plans(own),
        StepKind::Task(task) => tries(task),
        StepKind::Dialogue(dialogue) => talks(dialogue),
        StepKind::Route(route) => one(format!("looks at {}, takes the first case that fits", source(&route.subject))),
        StepKind::Group(group) => one(match group.parallel {
            true => "does these steps at once".into(),
            false => "does these steps".into(),
        }),
        StepKind::Repeat(step) => {
            let mut said = vec![format!("repeats these steps until {}", source(&step.until))];
            said.push(format!("at most {}", counted(step.at_most, "round", "rounds")));
            said.extend(step.stop_on_same.map(|rounds| format!("ends after {} without a change", counted(rounds, "round", "rounds"))));
            said.extend((step.unmet == Unmet::Keep).then(|| "not met: the last round counts".into()));
            said
        }
        StepKind::Call(call) => {
            let channel = call.channel.as_ref().map(|channel| format!(" for channel {}", source(channel))).unwrap_or_default();
            one(match call.pipeline {
                Some(id) => format!("runs pipeline {}{channel}", plan.pipeline(id).pipeline.name.value),
                None => format!("runs {}{channel}", call.file.value),
            })
        }
        StepKind::Format(format) => one(match &format.channel {
            Some(channel) => format!("fits the text to channel {}", channel.name),
            None => "fits the text to the channel".into(),
        }),
        StepKind::Gate(gate) => checks(planned, gate),
        StepKind::Approval(approval) => {
            let fields: Vec<&str> = approval.form().iter().map(|field| field.name.as_str()).collect();
            let mut said = vec![format!("asks a person: {}", source(&approval.question))];
            said.extend((!fields.is_empty()).then(|| format!("the person fills in {}", fields.join(", "))));
            said.extend(approval.questions.as_ref().map(|list| format!("the person answers the questions of {}", source(list))));
            said
        }
        StepKind::Send(send) => one(format!("sends to {}", send.to.value)),
        StepKind::Wait(until) => one(format!("waits {}", filling(until))),
        StepKind::Stop(stop) => one(format!("ends the run: {}", if stop.succeeds { "succeeded" } else { "failed" })),
        StepKind::Broken => vec![],
    }
}

/// Describes a `plan` step.
fn plans(own: &PlanStep) -> Vec<String> {
    let names: Vec<&str> = own.may_use.iter().map(|name| name.as_str()).collect();
    let mut said = vec![
        format!("lets agent {} plan at most {}", own.agent.value, counted(own.most_steps(), "step", "steps")),
        format!("may use {}", names.join(", ")),
    ];
    if let Some(check) = &own.check {
        let plans = counted(own.most_plans(), "plan", "plans");
        said.push(format!("agent {} says whether it is done (at most {plans})", check.value));
    }
    said
}

fn tries(task: &TaskStep) -> Vec<String> {
    let what = match task.fixed_artefact() {
        Some(ArtefactKind::Text) => "a text".to_owned(),
        Some(ArtefactKind::Sql) => "a query, and runs it".to_owned(),
        Some(ArtefactKind::Python) => "code, and runs it in a sandbox".to_owned(),
        None => format!("what {} says", source(&task.artefact)),
    };
    let tries = counted(task.most_tries(), "try", "tries");
    vec![format!("lets agent {} write {what}", task.agent.value), format!("until it is accepted (at most {tries})")]
}

fn talks(dialogue: &DialogueStep) -> Vec<String> {
    let names: Vec<&str> = dialogue.agents.iter().map(|agent| agent.value.as_str()).collect();
    let mut said = vec![format!("lets agents {} talk in turns", names.join(", "))];
    said.push(format!("at most {}", counted(dialogue.most_turns(), "turn", "turns")));
    said.extend(dialogue.until.all_say.as_ref().map(|word| format!("until each says {}", word.value)));
    said.extend(dialogue.until.judge.as_ref().map(|judge| format!("until agent {} says that they agree", judge.value)));
    said.extend(dialogue.until.expression.as_ref().map(|text| format!("until {}", source(text))));
    said.extend(dialogue.until.repeats.map(|turns| format!("until {} say nothing new", counted(turns, "turn", "turns"))));
    said.extend(dialogue.summary.as_ref().map(|agent| format!("agent {} sums up", agent.value)));
    said
}

fn tables<'p>(planned: &'p PipelinePlan, query: &str) -> Vec<&'p str> {
    let query = ReadQuery::new(query);
    let is_read = |name: &&str| query.names().is_some_and(|names| names.tables.iter().any(|table| table.is(name)));
    planned.pipeline.data.keys().map(String::as_str).filter(is_read).collect()
}

fn checks(planned: &PipelinePlan, gate: &GateStep) -> Vec<String> {
    let name = |reference: &ScorecardRef| match reference {
        ScorecardRef::Named(name) => {
            let criteria = planned.pipeline.scorecards.get(&name.value).map_or(0, |card| card.criteria.len());
            format!("{} ({})", name.value, counted(criteria as u64, "criterion", "criteria"))
        }
        ScorecardRef::Written(text) => source(text),
    };
    let names: Vec<String> = gate.scorecards.iter().map(name).collect();
    let mut lines = vec![format!("checks with {}", names.join(" and "))];
    let named = gate.scorecards.iter().filter_map(|reference| planned.pipeline.scorecards.get(&reference.name()?.value));
    for criterion in named.flat_map(|card| &card.criteria) {
        lines.extend(criterion.when.as_ref().map(|when| format!("{} only if {}", criterion.id.value, source(when))));
    }
    if gate.otherwise.is_some() {
        lines.push("not met for good: gives a fixed text".into());
    }
    lines
}

/// Returns the condition of a case; empty for a group, which has no cases.
pub fn condition(kind: &StepKind, case: &Case) -> String {
    let (_, otherwise) = kind.facts().cases;
    if otherwise.is_some_and(|otherwise| std::ptr::eq(otherwise, case)) {
        return "when no other case fits".into();
    }
    if !matches!(kind, StepKind::Route(_)) {
        return String::new();
    }
    let some = |texts: &[Spanned<String>], what: &str| {
        let first: Vec<String> = texts.iter().take(2).map(|text| format!("“{}”", text.value)).collect();
        let more = if texts.len() > 2 { format!(", … ({} {what})", texts.len()) } else { String::new() };
        (!texts.is_empty()).then(|| format!("{}{more}", first.join(", ")))
    };
    let equals = some(&case.equals, "values").map(|values| format!("is {values}"));
    let phrases = some(&case.phrases, "phrases");
    let when = case.when.as_ref().map(|when| format!("when {}", source(when)));
    let fits = [equals, phrases, when].into_iter().flatten().collect::<Vec<_>>().join(", or ");
    some(&case.unless, "phrases").map_or(fits.clone(), |unless| format!("{fits}, unless {unless}"))
}

/// Describes the elements of a `for_each`.
pub fn elements(each: &ForEach) -> String {
    format!("for each of {}", filling(&each.list))
}

/// Returns the names of a pipeline's outputs.
pub(super) fn gives(outputs: &Outputs) -> String {
    match outputs {
        Outputs::None => String::new(),
        Outputs::Whole(_) => "one value".into(),
        Outputs::Named(named) => named.iter().map(|(name, _)| name.value.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// Returns a text as its author wrote it, on one line; if it is only `{{ … }}`, the content of the braces.
pub fn source(text: &Text) -> String {
    let whole = text.source.trim();
    let inner = whole.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).filter(|_| text.form == Form::Sole);
    inner.unwrap_or(whole).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a value as its author wrote it, on one line.
pub fn filling(value: &Filling) -> String {
    match value {
        Filling::Constant(serde_json::Value::String(text)) => text.clone(),
        Filling::Constant(serde_json::Value::Array(list)) => counted(list.len() as u64, "element", "elements"),
        Filling::Constant(value) => value.to_string(),
        Filling::Text(text) => source(text),
        Filling::List(list) => match list.as_slice() {
            [one] => filling(one),
            several => counted(several.len() as u64, "element", "elements"),
        },
        Filling::Map(map) => map.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// Formats a duration: `12 ms`, `3.4 s`, `2 min`.
pub(super) fn milliseconds(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=119_999 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => format!("{} min", ms / 60_000),
    }
}

/// Formats a duration in words: `90 seconds`, `2 minutes`, `1 hour`.
pub fn time(duration: Duration) -> String {
    let ms = duration.as_millis() as u64;
    for (unit, one, several) in
        [(86_400_000, "day", "days"), (3_600_000, "hour", "hours"), (60_000, "minute", "minutes"), (1_000, "second", "seconds")]
    {
        if ms >= unit && ms.is_multiple_of(unit) {
            return counted(ms / unit, one, several);
        }
    }
    counted(ms, "millisecond", "milliseconds")
}

/// Explains a box with adjacent boxes.
pub(super) const CHOICE: &str = "Of boxes beside each other under “takes the first case that fits” only one is done.";
