//! `flow runs fork`: a new run that reuses the steps of another one up to a step.

use crate::arguments::{ForkOptions, SharedOptions};
use crate::diagnostic::counted;
use crate::outcome::OutputTargets;
use crate::port::Store;
use crate::refusal::Refusal;
use crate::runtime::{ForkFrom, RunSession, Taping, file_of};
use crate::{Exit, inputs, run};

/// Starts the new run and plays it to its end.
pub(super) fn run(options: &ForkOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let ForkOptions { run: wanted, from, inputs: pairs, printed, trust } = options;
    let (mut store, _, origin) = super::open_run(Some(wanted), shared)?;
    let failed = |why: String| refusal!(Failed, "run {origin} cannot be forked: {why}");
    let file = file_of(&store.events(&origin)?).map_err(failed)?;
    let on = run::prepared(&file, printed, trust.is_given, shared, Taping::None)?;
    let (given, _) = inputs::read(&on.pipeline().clone(), None, pairs)?;
    let targets = OutputTargets::open(printed, shared.reach(&shared.current_project()))?;
    let from = ForkFrom { run: &origin, store: &mut store, step: from, inputs: given };
    let (session, taken) = RunSession::fork(on, from).inspect_err(|error| super::resume::show_changes(error, shared))?;
    note!(shared, "run {} reuses {} of run {origin}", session.id, counted(taken.len(), "finished step", "finished steps"));
    run::play(session, targets, shared)
}
