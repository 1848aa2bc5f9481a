//! `flow runs export --events` and `flow runs import`: all events of a run as JSON lines, to resume it elsewhere.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_store::SqliteStore;
use crate::arguments::SharedOptions;
use crate::diagnostic::{counted, cut, visible};
use crate::event::{Event, Happening, VERSION};
use crate::journal::AuditAction;
use crate::port::{RunMatch, Store};
use crate::refusal::Refusal;
use crate::runtime::consent::place_in;
use crate::runtime::{kept, settings};
use crate::{Exit, stdout};

/// Maximum size of a line of a log; events are far smaller.
const LONGEST_LINE: u64 = 256 << 20;
/// Maximum number of a call or a time; no run reaches it.
const MOST_NUMBER: u64 = 1 << 53;
/// Number of bytes printed at once.
const AT_ONCE: usize = 1 << 16;

/// Prints the events of a run as recorded.
pub(super) fn export(run: Option<&str>, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (mut store, file, id) = super::open_run(run, shared)?;
    if RunLock::held_beside(&file).contains(&id) {
        tell!("run {id} is being executed: elsewhere it would do again what it does from now on");
    }
    let (mut text, mut printed) = (String::new(), Exit::Ok);
    for event in store.events(&id)? {
        let line = serde_json::to_string(&event).map_err(|error| Refusal::new(Exit::Failed, error.to_string()))?;
        text = text + &line + "\n";
        if text.len() >= AT_ONCE {
            printed = printed.or(stdout::print_file(&text));
            text.clear();
        }
        if printed != Exit::Ok {
            return Ok(printed);
        }
    }
    Ok(printed.or(stdout::print_file(&text)))
}

/// Imports the events of a run. Nothing is stored unless all of them can be.
pub(super) fn import(log: &Path, file: Option<&Path>, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let name = visible(&log.display().to_string()).into_owned();
    let failed = |why: String| refusal!(Failed, "{name} cannot be imported: {why}");
    let input: Box<dyn Read> = match log == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(log).map_err(|error| failed(error.to_string()))?),
    };
    let mut events = read(BufReader::new(input)).map_err(failed)?;
    let Some(Event { happening: Happening::RunStarted(start), run, .. }) = events.first_mut() else {
        return Err(failed("it does not begin with the start of a run".to_owned()));
    };
    let run = run.to_string();
    if let Some(file) = file {
        let place = std::path::absolute(file).map_err(|error| failed(error.to_string()))?;
        if !place.is_file() {
            return Err(refusal!(Usage, "--file {}: there is no such file", visible(&file.display().to_string())));
        }
        start.file = place.to_string_lossy().into_owned();
    }
    let project = shared.current_project();
    let place = place_in(&project, Path::new(&start.file));
    let (lies_at, is_there) = (visible(&start.file).into_owned(), Path::new(&start.file).is_file());
    // The log determines the file, so it must not start a file outside this project.
    if is_there && Path::new(&place).is_absolute() {
        return Err(failed(format!("its file {lies_at} is not in this project; say with --file where it is here")));
    }
    let (pipeline, hash) = (start.pipeline.clone(), start.hash.clone());
    let is_over = matches!(events.last().map(|event| &event.happening), Some(Happening::RunFinished(_)));
    let journal = kept::journal_file(&project)?;
    let sealing = kept::of_new_runs(&settings::read(&project)?)?;
    let mut store = SqliteStore::open_sealed(&journal, &sealing).map_err(|error| kept::with_help(error, &project))?;
    if store.named(&run)? == RunMatch::One(run.clone()) {
        return Err(failed(format!("run {run} is here already")));
    }
    kept::audit(&project, AuditAction::RunImported, &run, &format!("{pipeline} {hash}"))?;
    store.keep(&events)?;
    if !shared.quiet {
        tell!("run {run} imported: {}", counted(events.len(), "event", "events"));
        let reach = shared.reach(&project);
        match (is_over, is_there) {
            (true, _) => tell!("it has ended; see flow runs show{reach} {run}"),
            (false, true) => tell!("continue it with: flow runs resume{reach} {run}"),
            (false, false) => tell!("its file {lies_at} is not here: to continue it, remove it and import it with --file PATH"),
        }
    }
    Ok(Exit::Ok)
}

/// Reads the events of a log: all of one run, in order.
fn read(mut log: impl BufRead) -> Result<Vec<Event>, String> {
    let mut events: Vec<Event> = vec![];
    for number in 1.. {
        let mut line = vec![];
        let length = log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if length == 0 {
            break;
        }
        if length as u64 == LONGEST_LINE {
            return Err(format!("line {number} is longer than {} MiB", LONGEST_LINE >> 20));
        }
        let here = |why: String| format!("line {number}: {why}");
        let torn = if line.ends_with(b"\n") { "" } else { "; it is the last line, and may have been cut off" };
        let no_event = |error: serde_json::Error| {
            let why = cut(&visible(&error.to_string()), 200);
            here(format!("no event of a run as flow runs export --events prints it ({why}){torn}"))
        };
        let value: Value = serde_json::from_slice(&line).map_err(no_event)?;
        if ["call", "at_ms", "timeout_at_ms"].iter().any(|key| value[*key].as_u64().is_some_and(|number| number > MOST_NUMBER)) {
            return Err(here("a number that is too large".to_owned()));
        }
        let event: Event = serde_json::from_value(value).map_err(no_event)?;
        if event.v != VERSION {
            return Err(here(format!("version {} of events; this flow knows {VERSION}", event.v)));
        }
        let follows = events.last().map_or(1, |last| last.seq + 1);
        if event.seq != follows {
            return Err(here(format!("event {} where event {follows} was expected", event.seq)));
        }
        match events.first() {
            Some(first) if first.run != event.run => return Err(here("an event of another run".to_owned())),
            Some(_) if matches!(event.happening, Happening::RunStarted(_)) => return Err(here("the run starts a second time".to_owned())),
            None if !is_id(&event.run) => return Err(here("the id of its run is not one of flow".to_owned())),
            Some(_) | None => events.push(event),
        }
    }
    Ok(events)
}

/// Whether a text may be the id of a run; ids are also used as names of locks and folders.
fn is_id(run: &str) -> bool {
    run.strip_prefix("r_").is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|sign| matches!(sign, b'0'..=b'9' | b'a'..=b'f')))
}
