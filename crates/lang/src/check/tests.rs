//! What follows from the kinds of steps and tools of a file (`model/facts.rs`).

use std::path::Path;

use super::check_file;
use crate::model::{CALL_TIMEOUT, CallTime, Pipeline, Step};
use crate::port::MemoryFiles;
use crate::source::Spanned;

const FILE: &str = "flow: 1
name: p
tools:
  look: { http: GET https://a.example/ }
  order: { http: POST https://a.example/, timeout: 5s }
  rows: { sql: [t] }
  docs: { file: notes, allow: [read, write] }
  mail: { smtp: 'm.example:25', from: a@a.example }
  server: { command: server, allow: [x] }
data: { t: { file: t.csv } }
agents: { a: { instructions: Hi., tools: [look] }, b: { instructions: Hi. } }
steps:
  - { id: set, set: 1 }
  - { id: ask, agent: a, prompt: Hi }
  - { id: get, http: GET https://a.example/ }
  - { id: delete, http: DELETE https://a.example/, idempotency_key: k }
  - { id: look, tool: look }
  - { id: order, tool: order }
  - { id: rows, tool: rows, with: { query: select 1 } }
  - { id: read, tool: docs.read, with: { name: x } }
  - { id: write, tool: docs.write, with: { name: x, text: y } }
  - { id: server, tool: server.x }
  - { id: sql, sql: select 1 }
  - { id: plan, plan: a, prompt: Hi, may_use: [b, look], check: b }
  - id: route
    route: hi
    cases: [{ id: one, phrases: [hi], steps: [{ id: inner, set: 1 }] }]
    otherwise: { id: other, set: 2 }
  - { id: print, send: stdout, of: hi }
  - { id: file, send: docs, of: hi, with: { name: x } }
  - { id: mail, send: mail, of: hi, with: { to: a, subject: b } }
";

fn each<T>(fact: impl Fn(&Step, &Pipeline) -> Option<T>) -> Vec<(String, T)> {
    let files = MemoryFiles::from_iter([("p.yaml", FILE), ("t.csv", "a\n1\n"), ("notes/x", "")]);
    let checked = check_file(Path::new("p.yaml"), Path::new(""), &files);
    let pipeline = &checked.plan.pipelines[0].pipeline;
    pipeline.all_steps().into_iter().filter_map(|step| Some((step.id.value.clone(), fact(step, pipeline)?))).collect()
}

fn ids(fact: impl Fn(&Step, &Pipeline) -> bool) -> String {
    each(|step, pipeline| fact(step, pipeline).then_some(())).into_iter().map(|(id, ())| id).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_step_does_follows_from_its_kind_and_its_tool() {
    assert_eq!(ids(|step, pipeline| step.kind.effects(pipeline).changes), "delete order write server file mail");
    assert_eq!(ids(|step, pipeline| step.kind.effects(pipeline).reaches_out), "get delete look order server mail");
    assert_eq!(ids(|step, pipeline| step.kind.effects(pipeline).repeat()), "delete order write server print file mail");
    assert_eq!(ids(|step, _| step.kind.calls_when() == CallTime::Never), "set route inner otherwise");
    assert_eq!(ids(|step, _| step.kind.idempotency_key().is_some()), "delete");
    assert_eq!(ids(|step, _| step.kind.address().is_some()), "get delete");
}

#[test]
fn who_is_asked_and_used_stands_in_the_step() {
    let names = |names: Vec<&Spanned<String>>| names.into_iter().map(|name| name.value.clone()).collect::<Vec<_>>().join(" ");
    let agents = each(|step, pipeline| Some(names(step.kind.agents(pipeline))).filter(|names| !names.is_empty()));
    assert_eq!(agents, [("ask".to_owned(), "a".to_owned()), ("plan".to_owned(), "a b".to_owned())]);
    let used = each(|step, _| Some(names(step.kind.may_use().iter().collect())).filter(|names| names.contains(' ')));
    assert_eq!(used, [("plan".to_owned(), "b look".to_owned())]);
}

#[test]
fn a_call_has_the_time_of_its_tool_or_of_its_kind() {
    let times = each(|step, pipeline| step.kind.default_timeout(pipeline).filter(|time| *time != CALL_TIMEOUT));
    let seconds: Vec<(&str, u64)> = times.iter().map(|(id, time)| (id.as_str(), time.as_secs())).collect();
    assert_eq!(seconds, [("order", 5), ("rows", 30), ("sql", 30)]);
}
