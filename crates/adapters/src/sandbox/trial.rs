//! Whether a kind of sandbox works here: a program in it tries to get out.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::ProgramPlaces;
use super::kind::{FirstStage, SandboxKind};
use super::rules::{LandlockSupport, support};
use super::run::ProgramRun;
use super::scratch::Scratch;
use super::talk::TalkEnds;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::own::OwnFiles;
use crate::port::{ProgramCall, ProgramEnd, ProgramReply};
use crate::program::find;

/// What a trial may take.
const TRIAL_TIME: Duration = Duration::from_secs(20);
/// Fails to read the file, as it should, and writes one of its own.
const SCRIPT: &str = "if read -r line < \"$1\"; then exit 3; fi 2> /dev/null; : > \"$HOME/own\" || exit 4";

/// Runs a program that tries to read a file outside. Gives the version of the sandbox.
///
/// # Errors
/// Says why it cannot be used.
pub(super) fn tried(stage: &FirstStage, kind: SandboxKind) -> Result<String, String> {
    let version = match kind {
        SandboxKind::Bubblewrap => {
            let bwrap = find("bwrap").ok_or("the program bwrap was not found in PATH")?;
            let told = std::process::Command::new(bwrap).arg("--version").env_clear().output().map_err(|e| e.to_string())?;
            String::from_utf8_lossy(&told.stdout).trim().to_owned()
        }
        SandboxKind::Landlock => match support() {
            LandlockSupport::TooOld => return Err("this kernel does not have it, or not enough of it (Linux 6.2)".to_owned()),
            LandlockSupport::Files => "landlock without signals, which the filter of system calls keeps in".to_owned(),
            LandlockSupport::Signals => "landlock".to_owned(),
        },
    };
    // In the scratch folder of another program: what is left of it if flow is killed goes with it.
    let other = Scratch::new(&[("outside".to_owned(), b"outside".to_vec())]).map_err(|failure| failure.message)?;
    let outside = other.work().join("outside");
    let command = ["/bin/sh", "-c", SCRIPT, "sh"].map(str::to_owned).into_iter().chain([outside.display().to_string()]).collect();
    let call = ProgramCall::closed("the trial of the sandbox", command, TRIAL_TIME);
    let own = OwnFiles::default();
    let places = ProgramPlaces { own: &own, readable: &[], private_hosts: &[] };
    let reply = run_in(places, stage, &call, Some(kind), &AtomicBool::new(false), None).map_err(|failure| failure.message)?;
    match reply.end {
        ProgramEnd::Exited(0) => Ok(version),
        ProgramEnd::Exited(3) => Err("a program in it could read a file outside".to_owned()),
        ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) => {
            Err(format!("a program in it failed: {}", String::from_utf8_lossy(&reply.stderr).trim()))
        }
    }
}

/// Runs a program in this kind of sandbox, or in none. `ends`: of the talk with it, if there is one.
///
/// # Errors
/// See [`crate::port::Programs::run`].
pub(super) fn run_in(
    places: ProgramPlaces<'_>,
    stage: &FirstStage,
    call: &ProgramCall,
    kind: Option<SandboxKind>,
    is_dropped: &AtomicBool,
    ends: Option<TalkEnds>,
) -> Result<ProgramReply, Failure> {
    let unavailable = |message: &str| Failure::new(FailureKind::Unavailable, message);
    let missing = "programs cannot be started: the main function of this program does not call flow's `sandbox::stage` first";
    let stage = stage.program().ok_or_else(|| unavailable(missing))?;
    let bwrap = find("bwrap");
    if kind == Some(SandboxKind::Bubblewrap) && bwrap.is_none() {
        return Err(unavailable("the program bwrap was not found in PATH"));
    }
    ProgramRun { call, kind, stage, bwrap: bwrap.as_deref(), places, is_dropped }.run(ends)
}
