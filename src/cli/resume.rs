//! `flow runs resume`.

use std::path::Path;

use super::arguments::{OutputOptions, SharedOptions};
use super::outcome::OutputTargets;
use super::refusal::Refusal;
use super::{Exit, run, runs, tell};
use crate::diagnostic::visible;
use crate::event::{Event, Happening};
use crate::runtime::{RunSession, StoredRun};

/// Goes on with a run whose process has ended.
pub(super) fn resume(id: &str, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (store, journal, id) = runs::open_run(Some(id), shared)?;
    let stored = StoredRun::open(store, journal, id)?;
    if stored.end().is_some() {
        // Its process ended before it could tell; whether its file is the same does not matter any more.
        let printed = OutputTargets::open(output)?;
        tell!("run {} has ended; this is its outcome", stored.id);
        let sends = stored.events.iter().any(has_printed);
        let played = stored.played();
        tell::hide_with(played.mask.redactor());
        return run::told(played, printed, sends, shared);
    }
    let failed = |why: String| Refusal::new(Exit::Failed, why);
    let taping = stored.taping()?;
    taping.open().map_err(|error| failed(format!("--{error}")))?;
    let file = stored.start()?.file.clone();
    if !Path::new(&file).exists() {
        return Err(failed(format!("run {} cannot go on: {} does not exist any more", stored.id, visible(&file))));
    }
    let on = run::prepared(Path::new(&file), output, is_allowed, shared, taping)?;
    run::play(RunSession::resume(on, stored)?, OutputTargets::open(output)?, shared)
}

/// Whether a step has written to standard output what the run has to say.
fn has_printed(event: &Event) -> bool {
    matches!(&event.happening, Happening::OutputWritten { to, .. } if to == "stdout")
}
