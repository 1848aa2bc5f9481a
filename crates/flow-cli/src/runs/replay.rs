//! `flow runs replay`: replays a run against its own record.

use std::sync::Arc;

use serde_json::Value;

use crate::arguments::SharedOptions;
use crate::diagnostic::{counted, visible};
use crate::journal::PersonalMask;
use crate::port::{Secret, Store};
use crate::refusal::{Refusal, pipeline};
use crate::report::Diff;
use crate::runtime::{file_of, replay, start_of};
use crate::{Exit, run, stdout};

/// Replays a run and compares the results. No external call is made.
pub(super) fn run(wanted: &str, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (mut store, _, id) = super::open_run(Some(wanted), shared)?;
    let events = store.events(&id)?;
    let file = file_of(&events).map_err(|why| refusal!(Failed, "run {id} cannot be replayed: {why}"))?;
    let hash = start_of(&events).map(|start| start.hash.clone()).unwrap_or_default();
    let workflow = pipeline(&file, shared)?;
    let on = run::ready(&shared.runner(&workflow, Some(Arc::default())))?;
    if on.pipeline().hash != hash && !shared.quiet {
        tell!("the files of run {id} have changed since it began; they are run as they are now");
    }
    let replayed = replay(&on, &events)?;
    let mut mask = PersonalMask::new(on.hidden.iter().map(Secret::reveal));
    mask.take(&events);
    let redactor = mask.for_run(&events).redactor();
    if !replayed.missing.is_empty() {
        let mut lines = vec![format!("run {id} cannot be replayed: its record does not have all that is needed")];
        lines.extend(replayed.missing.iter().map(|line| format!("  {}", visible(&redactor.redact(line)))));
        return Err(Refusal(Exit::Failed, lines));
    }
    let given = match replayed.given.len() {
        0 => String::new(),
        count => format!("; {} taken from the record", counted(count, "step that calls something was", "steps that call something were")),
    };
    let Some((place, was, is)) = replayed.difference else {
        let [_, status] = replayed.status;
        let status = status.map_or("", |status| status.word());
        return Ok(stdout::print(&format!("{id}  equal ({status}){given}\n")));
    };
    let text = |value: &Value| match value {
        Value::String(text) => redactor.redact(text) + "\n",
        other => redactor.redact(&serde_json::to_string_pretty(other).unwrap_or_default()) + "\n",
    };
    let difference = Diff::between(&text(&was), &text(&is)).map(|diff| diff.draw(shared.look().is_coloured)).unwrap_or_default();
    let head = format!("{id}  different: the first difference is in {}, as it was and as it is{given}\n", visible(&place));
    Ok(stdout::print(&(head + &difference)).or(Exit::Findings))
}
