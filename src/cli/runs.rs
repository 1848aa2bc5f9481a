//! `flow runs …`: the record of past runs.

use super::arguments::{RunsCommand, Shared};
use super::{Exit, project, world};
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::visible;
use crate::journal::{Record, masked, record};
use crate::port::{RunSummary, Store};

/// Lists, shows, writes out or removes runs.
pub(super) fn run(command: &RunsCommand, shared: &Shared) -> Exit {
    let project = project::project(std::path::Path::new("./x"), shared);
    let file = world::journal_file(&project);
    if !file.exists() {
        eprintln!("there are no runs yet: {} does not exist", file.display());
        return Exit::NothingRan;
    }
    let mut store = match SqliteStore::open(&file) {
        Ok(store) => store,
        Err(error) => {
            eprintln!("{error}");
            return Exit::Failed;
        }
    };
    match answer(command, &mut store) {
        Ok(exit) => exit,
        Err(problem) => {
            eprintln!("{problem}");
            Exit::Failed
        }
    }
}

fn answer(command: &RunsCommand, store: &mut dyn Store) -> Result<Exit, String> {
    let runs = store.runs().map_err(|e| e.to_string())?;
    match command {
        RunsCommand::List { json } => {
            if *json {
                println!("{}", serde_json::to_string_pretty(&runs).unwrap_or_default());
            } else {
                for run in &runs {
                    println!(
                        "{}  {}  {:<16}  {}",
                        run.run,
                        &run.started[..19.min(run.started.len())],
                        run.status.as_deref().unwrap_or("not over"),
                        visible(&run.pipeline)
                    );
                }
            }
            Ok(if runs.is_empty() { Exit::NothingRan } else { Exit::Ok })
        }
        RunsCommand::Resume { .. } => Err("runs are gone on with elsewhere".to_string()),
        RunsCommand::Rm { run } => {
            let found = find(&runs, Some(run))?;
            store.remove(&found.run).map_err(|e| e.to_string())?;
            Ok(Exit::Ok)
        }
        RunsCommand::Show { run, json } => {
            let record = read(store, find(&runs, run.as_deref())?)?;
            if *json {
                print_json(&record)
            } else {
                print!("{}", crate::report::record(&record))
            }
            Ok(Exit::Ok)
        }
        RunsCommand::Export { run } => {
            print_json(&read(store, find(&runs, run.as_deref())?)?);
            Ok(Exit::Ok)
        }
    }
}

pub(super) fn find<'a>(runs: &'a [RunSummary], wanted: Option<&str>) -> Result<&'a RunSummary, String> {
    let Some(wanted) = wanted else { return runs.first().ok_or_else(|| "there are no runs yet".to_string()) };
    let fitting: Vec<&RunSummary> = runs.iter().filter(|r| r.run.starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no run \"{}\"; see flow runs list", visible(wanted))),
        several => Err(format!("{} runs begin with \"{}\"; write more of the id", several.len(), visible(wanted))),
    }
}

fn read(store: &mut dyn Store, run: &RunSummary) -> Result<Record, String> {
    let events = store.events(&run.run).map_err(|e| e.to_string())?;
    let record = record(&events).ok_or_else(|| format!("run {} has no beginning", run.run))?;
    Ok(masked(record, &events))
}

fn print_json(record: &Record) {
    println!("{}", serde_json::to_string_pretty(record).unwrap_or_default());
}
