//! The kinds of steps: each reads its own keys. A kind whose necessary part cannot be read gives nothing, so that checks of
//! what it reads say nothing more about it; everything else in it is looked at all the same.

use super::agents::{channel, style_guide};
use super::approval::approval;
use super::checks::scorecard_ref;
use super::context::{Lower, quoted};
use super::history::history;
use super::keys::RESOURCE;
use super::reader::KeyReader;
use super::started::{command_line, python_code};
use super::task::task;
use super::tools::{called, headers, request};
use super::units::parse_duration;
use super::values::{bad_duration, wrong_type};
use crate::model::{
    AgentStep, CallStep, Filling, Form, FormatStep, GateStep, HttpStep, PlanStep, PythonStep, ReadStep, ResourceStep, SendStep, StepKind,
    StopStep, Text, ToolStep, wrong_uri,
};
use crate::syntax::Node;

/// Reads the keys of a kind but `route`, which holds steps. `None`: it cannot be read (reported), or is not yet available (reported too).
pub fn read(keys: &KeyReader, kind: &str) -> Option<StepKind> {
    match kind {
        "agent" => agent(keys).map(StepKind::Agent),
        "tool" => tool(keys).map(StepKind::Tool),
        "set" => keys.filling("set").map(StepKind::Set),
        "http" => http(keys).map(StepKind::Http),
        "sql" => super::sql::sql(keys).map(StepKind::Sql),
        "program" => command_line(keys).map(StepKind::Program),
        "python" => {
            let with = keys.pairs("with");
            python_code(keys).map(|run| StepKind::Python(PythonStep { run, with }))
        }
        "read" if keys.get("read").is_some_and(|node| node.as_map().is_some()) => resource(keys).map(StepKind::Resource),
        "read" => files(keys).map(StepKind::Read),
        "search" => super::knowledge::search(keys).map(StepKind::Search),
        "plan" => plan(keys).map(StepKind::Plan),
        "task" => task(keys).map(StepKind::Task),
        "dialogue" => super::dialogue::dialogue(keys).map(StepKind::Dialogue),
        "call" => call(keys).map(StepKind::Call),
        "format" => format_step(keys).map(StepKind::Format),
        "gate" => gate(keys).map(StepKind::Gate),
        "approval" => approval(keys).map(StepKind::Approval),
        "send" => send(keys).map(StepKind::Send),
        "wait" => wait(keys).map(StepKind::Wait),
        "stop" => stop(keys).map(StepKind::Stop),
        _ => None,
    }
}

fn agent(keys: &KeyReader) -> Option<AgentStep> {
    let (agent, prompt, model) = (keys.name("agent"), keys.text("prompt"), keys.text("model"));
    let output = keys.output();
    let attach = keys.read("attach", |lower, key, node| lower.texts().expressions(key, node));
    Some(AgentStep { agent: agent?, prompt: prompt?, model, output, attach, history: history(keys) })
}

fn tool(keys: &KeyReader) -> Option<ToolStep> {
    let (with, output, idempotency_key) = (keys.pairs("with"), keys.output(), keys.text("idempotency_key"));
    Some(ToolStep { tool: keys.name("tool")?, with, output, idempotency_key })
}

fn http(keys: &KeyReader) -> Option<HttpStep> {
    let headers = headers(keys);
    let query = keys.pairs("query").into_iter().map(|(name, value)| (name.value, value)).collect();
    let (body, output, idempotency_key) = (keys.filling("body"), keys.output(), keys.text("idempotency_key"));
    let (method, url) = request(keys)?;
    Some(HttpStep { method, url, headers, query, body, output, idempotency_key })
}

fn files(keys: &KeyReader) -> Option<ReadStep> {
    let kind = keys.word("type").and(keys.fixed("type"));
    let node = keys.get("read")?;
    for node in node.as_list().unwrap_or(std::slice::from_ref(node)) {
        let text = keys.lower.texts().text("read", node)?;
        if text.form == Form::Plain && text.source.contains('*') {
            let message = format!("read takes paths, and {} is a pattern, which is read as the name of one file", quoted(&text.source));
            let there = keys.lower.world().fitting(keys.lower.file, &text.source);
            let paths = if there.is_empty() { "../data/a.csv, ../data/b.csv".to_owned() } else { there.join(", ") };
            return keys.lower.reject(node.span, message, format!("write a list of paths: read: [{paths}]"));
        }
        stays_inside(keys.lower, node);
    }
    Some(ReadStep { paths: keys.lower.texts().filling(node), kind })
}

/// `read: { server, uri }`.
fn resource(keys: &KeyReader) -> Option<ResourceStep> {
    let node = keys.get("read")?;
    let own = KeyReader::of_key(keys.lower, "read", &keys.owner, &[&RESOURCE], node)?;
    if keys.has("type") {
        keys.does_not_fit("type", "has a \"type\", which is for files: a resource says itself what it is", "remove type");
    }
    let (server, uri) = (own.name("server"), own.text("uri"));
    if let Some(uri) = uri.as_ref().filter(|uri| uri.form == Form::Plain)
        && let Some(why) = wrong_uri(&uri.source)
    {
        let message = format!("\"uri\" {why}");
        let help = "write the URI as the server lists it, such as file:///notes/plan.md (flow doctor shows what it has)";
        keys.lower.report(wrong_type(own.get("uri")?, message).help(help));
        return None;
    }
    Some(ResourceStep { server: server?, uri: uri? })
}

/// F604, for a path that is written out. Whether there is a file shows in the run.
fn stays_inside(lower: &Lower, node: &Node) {
    let Some(scalar) = node.as_scalar().filter(|scalar| scalar.value.is_string() && !scalar.text.contains("{{")) else { return };
    let answer = lower.world().path(lower.file, &scalar.text);
    lower.found("file", &scalar.text, node.span, answer);
}

fn plan(keys: &KeyReader) -> Option<PlanStep> {
    let (agent, prompt, check) = (keys.name("plan"), keys.text("prompt"), keys.name("check"));
    let may_use = keys.get("may_use").map(|node| keys.lower.one_or_many("may_use", node)).unwrap_or_default();
    let may_use = may_use.iter().filter_map(|node| keys.lower.name("may_use", node)).collect();
    let attach = keys.read("attach", |lower, key, node| lower.texts().expressions(key, node));
    let (max_steps, max_parallel, rounds) = (keys.limit("max_steps"), keys.limit("max_parallel"), keys.limit("rounds"));
    if rounds.is_some_and(|rounds| rounds > 1) && !keys.has("check") {
        keys.missing("has rounds but no \"check\"", "add check: with the agent that decides whether the work is done, or remove rounds");
    }
    Some(PlanStep { agent: agent?, prompt: prompt?, may_use, attach, max_steps, max_parallel, rounds, check, history: history(keys) })
}

fn call(keys: &KeyReader) -> Option<CallStep> {
    let (with, channel) = (keys.pairs("with"), keys.get("channel").and_then(|node| channel_of_call(keys.lower, node)));
    let file = keys.name("call")?;
    let pipeline = called(keys.lower, &file);
    Some(CallStep { file, pipeline, with, channel })
}

/// The name of a channel, or a template that gives one.
fn channel_of_call(lower: &Lower, node: &Node) -> Option<Text> {
    match lower.texts().text("channel", node)? {
        text if text.source.trim().is_empty() => lower.reject(node.span, "\"channel\" is an empty text", "write a name, or remove the key"),
        text => Some(text),
    }
}

fn format_step(keys: &KeyReader) -> Option<FormatStep> {
    let channel = keys.name("channel").and_then(|name| channel(keys.lower, &name));
    let style_guide = keys.name("style_guide").and_then(|name| style_guide(keys.lower, &name));
    Some(FormatStep { text: keys.text("format")?, channel, style_guide })
}

fn gate(keys: &KeyReader) -> Option<GateStep> {
    let lower = keys.lower;
    let scorecards = keys.get("gate").map(|node| lower.one_or_many("gate", node)).unwrap_or_default();
    let scorecards = scorecards.iter().filter_map(|node| scorecard_ref(lower, "gate", node)).collect();
    let (of, with) = (keys.expression("of"), keys.pairs("with"));
    let (judge, refine, otherwise) = (keys.name("judge"), keys.name("refine"), keys.text("otherwise"));
    Some(GateStep { scorecards, of: of?, with, judge, refine, otherwise })
}

fn send(keys: &KeyReader) -> Option<SendStep> {
    let (of, with, idempotency_key) = (keys.expression("of"), keys.pairs("with"), keys.text("idempotency_key"));
    Some(SendStep { to: keys.name("send")?, of: of?, with, idempotency_key })
}

/// `5m`, or a time; what holds `{{ }}` is known only in the run.
fn wait(keys: &KeyReader) -> Option<Filling> {
    let node = keys.get("wait")?;
    let filling = keys.lower.texts().filling(node);
    if let Filling::Text(_) = filling {
        return Some(filling);
    }
    let text = node.as_scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let is_time = chrono::DateTime::parse_from_rfc3339(text).is_ok();
    if is_time || parse_duration(text).is_ok() {
        return Some(Filling::Constant(text.into()));
    }
    let looks_like_time = text.contains('-') && text.contains(':');
    if text.split_whitespace().count() == 5 && text.contains('*') {
        let message = format!("wait {} is a schedule of cron, and flow starts nothing by itself", quoted(text));
        let help = "write the time to wait for, such as \"2026-11-19T07:00:00Z\"; or let cron itself start flow run, without this step";
        keys.lower.report(bad_duration(node.span, message).help(help));
    } else if looks_like_time {
        let message = format!("wait {} is not a time with a time zone", quoted(text));
        keys.lower.report(bad_duration(node.span, message).help("write for example 2026-11-18T09:00:00Z"));
    } else {
        keys.lower.duration("wait", node);
    }
    None
}

fn stop(keys: &KeyReader) -> Option<StopStep> {
    let reason = keys.text("reason");
    Some(StopStep { succeeds: keys.word("stop")? == "succeeded", reason })
}
