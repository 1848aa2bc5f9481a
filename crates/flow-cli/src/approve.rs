//! `flow approve`: a person decides about a `once` step in doubt, or about a call that needs approval.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::arguments::{ApproveOptions, SharedOptions};
use super::refusal::{Refusal, pipeline};
use super::{Exit, form, run, runs, stdout, tell};
use crate::adapter::clock::SystemClock;
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::files;
use crate::adapter::run_lock::RunLock;
use crate::check::check_file;
use crate::diagnostic::{all_visible, did_you_mean, shell_word, visible};
use crate::driver::Door;
use crate::engine::secret_values;
use crate::event::{Event, Happening, VERSION};
use crate::gate::form::answered;
use crate::journal::{QuestionRecord, record};
use crate::model::{read_json, step_path};
use crate::port::{Clock, Secret, Store};
use crate::report::show_command;
use crate::runtime::{RunQuestion, changed_since, file_of, start_of};

/// Maximum size of an output that a person enters, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Shows a question, or writes the decision to the run's journal; `flow runs resume` then continues the run.
pub(super) fn run(options: &ApproveOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let ApproveOptions { run, step, question, show, reject, happened, answer, fields, comment } = options;
    let (mut store, file, run) = runs::open_run(Some(run), shared)?;
    let _lock = if *show { None } else { Some(RunLock::take(&file, &run)?) };
    let events = store.events(&run)?;
    let last = events.last().ok_or_else(|| refusal!(Usage, "run {run} has no beginning"))?;
    let reach = shared.reach(&shared.current_project());
    let (asked, question) = asked(&run, &events, step, *question, *show, &reach)?;
    if !show {
        in_time(&question, &reach)?;
        unchanged(&run, step, &events, &reach, shared)?;
    }
    let mut output = match happened {
        None if *show => None,
        None => filled(&question, answer.as_deref(), fields, *reject)?,
        Some(_) if asked.form.is_some() => {
            return Err(refusal!(Usage, "\"{}\" asks a person; answer with --answer or --field, without --happened", visible(step)));
        }
        Some(_) if !asked.in_doubt => {
            return Err(refusal!(Usage, "\"{}\" asks about a call that has not been made; answer without --happened", visible(step)));
        }
        Some(text) => Some(output_of(text, step, &events, shared)?),
    };
    // From here on, the secrets of the run's pipeline are masked.
    let door = door(&events, shared)?;
    if *show {
        // The person must see all of it.
        return Ok(stdout::print(&shown_question(&question)));
    }
    let mut comment = comment.clone();
    door.text(&mut comment);
    output.iter_mut().for_each(|output| door.value(output));
    let approved = !reject && (output.is_none() || asked.form.is_some());
    let (step, by) = (step.as_str().into(), form::user());
    let happening = Happening::ApprovalAnswered { step, approved, output: output.map(Arc::new), comment, by, nobody: false };
    let time = SystemClock::new().now();
    let event = Event { v: VERSION, seq: last.seq + 1, time, at_ms: last.at_ms, run: run.as_str().into(), happening };
    store.add(&events, &[event])?;
    note!(shared, "noted; go on with: flow runs resume {run}{reach}");
    Ok(Exit::Ok)
}

/// Returns a door that removes the secrets of the run's pipeline from the person's texts.
fn door(events: &[Event], shared: &SharedOptions) -> Result<Door, Refusal> {
    let file = start_of(events).map(|start| Path::new(&start.file));
    let Some(file) = file.filter(|file| file.is_file()) else { return Ok(Door::default()) };
    let env = shared.variables()?;
    let secrets = secret_values(&check_file(file, &shared.project_of(file), &DiskFiles).loaded.program, &env);
    tell::hide_secrets(&secrets);
    Ok(Door::new(secrets.iter().map(Secret::reveal)))
}

/// Formats the whole question for its person.
fn shown_question(question: &RunQuestion) -> String {
    let Some(asked) = &question.form else { return format!("{}\n", all_visible(&tell::without_secrets(&question.text))) };
    let mut lines: Vec<String> = asked.show.iter().flat_map(|text| form::lines(text)).collect();
    lines.extend(form::lines(&question.text));
    lines.extend(question.until.map(form::time_limit));
    lines.extend(form::described(&asked.fields));
    lines.join("\n") + "\n"
}

/// Errors: the time to answer has ended.
fn in_time(question: &RunQuestion, reach: &str) -> Result<(), Refusal> {
    if !question.is_late(SystemClock::new().now()) {
        return Ok(());
    }
    let (run, step) = (&question.run, visible(&question.step));
    Err(refusal!(Usage, "the time to answer \"{step}\" is up; flow runs resume {run}{reach} continues without an answer"))
}

/// Errors: the files of the run have changed, so an answer could not continue it.
fn unchanged(run: &str, step: &str, events: &[Event], reach: &str, shared: &SharedOptions) -> Result<(), Refusal> {
    let Some(file) = start_of(events).map(|start| Path::new(&start.file)).filter(|file| !file.as_os_str().is_empty()) else {
        let why = file_of(events).err().unwrap_or_default();
        return Err(refusal!(Failed, "run {run} cannot continue: {why}"));
    };
    let mut lines = if file.exists() {
        let now = check_file(file, &shared.project_of(file), &DiskFiles);
        let Some(changed) = changed_since(events, &now) else { return Ok(()) };
        changed.to_string().lines().map(str::to_owned).collect()
    } else {
        vec![format!("run {run} cannot go on: {} does not exist any more", visible(&file.display().to_string()))]
    };
    let from = shell_word(step_path::outermost(step));
    lines.push(format!(
        "nothing was decided, and the run waits as before: undo the change and answer again, or start a new run with its finished steps: flow runs fork {run} --from {from}{reach} (or from an earlier step that the change touches)"
    ));
    Err(Refusal(Exit::Failed, lines))
}

/// Returns the person's fields, with defaults for omitted ones. `None`: there is no form, or the answer is no. Errors: they do not match
/// the form, or there is no form.
fn filled(question: &RunQuestion, answer: Option<&str>, fields: &[String], is_no: bool) -> Result<Option<Value>, Refusal> {
    let Some(asked) = &question.form else {
        if answer.is_some() || !fields.is_empty() {
            return Err(refusal!(Usage, "\"{}\" has no form; answer without --answer and --field", visible(&question.step)));
        }
        return Ok(None);
    };
    if is_no {
        return Ok(None);
    }
    let mut values = match answer.map(|text| json_of("--answer", text)).transpose()? {
        None => Map::new(),
        Some(Value::Object(values)) => values,
        Some(_) => return Err(Refusal::usage("--answer: write one JSON object with the fields of the form")),
    };
    let mut named = BTreeSet::new();
    for pair in fields {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(refusal!(Usage, "--field {}: write --field name=value", visible(pair)));
        };
        if !named.insert(name) {
            return Err(refusal!(Usage, "--field {}: given twice", visible(name)));
        }
        let value = form::typed(&asked.fields, name, text).map_err(|why| refusal!(Usage, "--field {}: {why}", visible(name)))?;
        values.insert(name.to_owned(), value);
    }
    match answered(&asked.fields, Value::Object(values)) {
        Ok(values) => Ok(Some(Value::Object(values))),
        Err(problems) => Err(Refusal(
            Exit::Usage,
            problems.iter().map(|problem| format!("the answer does not fit the form: {}", visible(problem))).collect(),
        )),
    }
}

/// Parses JSON from an option, written there or in a file given as `@FILE`.
fn json_of(option: &str, text: &str) -> Result<Value, Refusal> {
    let wrong = |why: String| refusal!(Usage, "{option}: {why}");
    let read = match text.strip_prefix('@') {
        Some(file) => {
            files::read_named(Path::new(file), LARGEST).map_err(|error| wrong(format!("cannot read {}: {error}", visible(file))))?
        }
        None => text.to_string(),
    };
    read_json(&read).map_err(|error| wrong(format!("{error}; write JSON, a text as '\"text\"', or @FILE")))
}

/// Returns the open question of a step. `number`: the question that is meant. Errors: no question is open (not asked yet, already answered,
/// or the run has ended), or it is not certain which question is meant.
fn asked(
    run: &str,
    events: &[Event],
    step: &str,
    number: Option<u64>,
    is_shown: bool,
    reach: &str,
) -> Result<(QuestionRecord, RunQuestion), Refusal> {
    let shown = visible(step);
    let questions = record(events).map(|record| record.questions).unwrap_or_default();
    let waiting: Vec<String> = questions.iter().map(|asked| asked.step.clone()).collect();
    let open = RunQuestion::open(events).into_iter().find(|open| open.step == step);
    if let (Some(asked), Some(open)) = (questions.into_iter().find(|asked| asked.step == step), open) {
        if asked.is_live && !is_shown {
            let who = "a server asks it in the middle of a call, so only the process of the run can answer";
            return Err(refusal!(Usage, "\"{shown}\": {who}; without that process, flow runs resume {run}{reach} continues"));
        }
        let now = format!("look at it with: {}", show_command(run, step, reach));
        return match number {
            Some(number) if number != asked.number => {
                let now = format!("now it asks question {}; {now}", asked.number);
                Err(refusal!(Usage, "\"{shown}\" does not ask question {number} any more; nothing was decided; {now}"))
            }
            None if asked.is_later && !is_shown => {
                let which = format!("say which question you answer: --question {}", asked.number);
                Err(refusal!(Usage, "\"{shown}\" asks for the second time or later; {which}; {now}"))
            }
            _ => Ok((asked, open)),
        };
    }
    let has_ended = events.last().is_some_and(|event| matches!(event.happening, Happening::RunFinished(_)));
    let last = events.iter().rev().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { step: asked, .. } if **asked == *step && has_ended => {
            Some("is not decided any more: the run is over")
        }
        Happening::ApprovalRequested { step: asked, .. } if **asked == *step => {
            Some("is not decided any more: the step went on without an answer")
        }
        Happening::ApprovalAnswered { step: asked, .. } if **asked == *step => Some("has been decided already"),
        _ => None,
    });
    Err(Refusal::usage(match last {
        Some(why) => format!("\"{shown}\" {why}"),
        None if has_ended => format!("step \"{shown}\" of run {run} waits for no decision: the run has ended"),
        None => {
            let near = did_you_mean(step, waiting.iter().map(String::as_str));
            let others = if waiting.is_empty() {
                format!("; flow runs resume {run}{reach} asks what must be decided")
            } else {
                format!("; it waits at: {}", waiting.join(", "))
            };
            format!("step \"{shown}\" of run {run} waits for no decision{}", near.or(&visible(&others)))
        }
    }))
}

/// Parses the output that a person reports, as later steps read it.
fn output_of(text: &str, step: &str, events: &[Event], shared: &SharedOptions) -> Result<Value, Refusal> {
    let wrong = |why: String| refusal!(Usage, "--happened: {why}");
    let value = json_of("--happened", text)?;
    let workflow = pipeline(&file_of(events).map_err(wrong)?, shared)?;
    let on = run::ready(&shared.runner(&workflow, Some(Arc::default())))?;
    let run = on.as_its_events_tell(events)?;
    run.reported_output(step, value)
        .map_err(|problems| wrong(format!("this is not what \"{}\" gives: {}", visible(step), visible(&problems.join("; ")))))
}
