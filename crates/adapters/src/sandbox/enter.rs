//! The first stage of every program: flow itself, started as `flow sandboxed SPEC PROGRAM ARGUMENT…`. It gives up all that the program must not have,
//! and then becomes the program; in a root folder of its own it stays as the first process, and tells how the program ended.
//!
//! A process can only be restricted by itself, between its start and the program's; a library would need unsafe code for that.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, WaitOptions, getpid, getppid, nice, set_dumpable_behavior, set_parent_process_death_signal,
    setrlimit, setsid, umask, wait,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use super::filter::{FilterNeeds, Sockets, programs};
use super::handing::hand_over;
use super::kind::{SandboxKind, note_ready};
use super::rules::{LandlockSupport, restrict, support};
use super::spec::{ENTERED, ENV_PREFIX, GO, STAGE, StageNetwork, StageSpec};

/// The exit code of a stage that could not do its work. What went wrong is in the file of its status.
const FAILED: u8 = 125;
/// Files that a process may have open at once.
const MOST_OPEN: u64 = 512;
/// How much later it gets a processor than flow, which watches it.
const NICE: i32 = 5;

/// Must be the first thing that `main` calls in each program that runs programs in a sandbox: `Some` if the process was started as the first stage of
/// one, and then `main` returns this code. Otherwise it notes that this program can be started so.
pub fn stage() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != STAGE) {
        note_ready();
        return None;
    }
    let (Some(spec), Some(program)) = (arguments.next(), arguments.next()) else { return Some(ExitCode::from(FAILED)) };
    Some(ExitCode::from(entered(Path::new(&spec), Path::new(&program), &arguments.collect::<Vec<_>>())))
}

fn entered(spec: &Path, program: &Path, arguments: &[OsString]) -> u8 {
    let text = fs::read(spec);
    let _ = fs::remove_file(spec);
    let Some(spec) = text.ok().and_then(|text| serde_json::from_slice::<StageSpec>(&text).ok()) else { return FAILED };
    // Its place is writable for the program only until the file has no name any more.
    let Ok(mut status) = OpenOptions::new().append(true).open(&spec.status) else { return FAILED };
    let _ = fs::remove_file(&spec.status);
    match started(&spec, program, arguments, &mut status) {
        Ok(code) => code,
        Err(message) => {
            let _ = writeln!(status, "failed {}", message.replace('\n', " "));
            FAILED
        }
    }
}

fn started(spec: &StageSpec, program: &Path, arguments: &[OsString], status: &mut File) -> Result<u8, String> {
    let to = |what: &'static str| move |e: Errno| format!("{what}: {e}");
    // What another program left open must not reach this one.
    close_fds::set_fds_cloexec(3, &[]);
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(variables());
    for group in &spec.groups {
        fs::write(group, "0").map_err(|e| format!("cannot enter the control group {}: {e}", group.display()))?;
    }
    umask(Mode::RWXG | Mode::RWXO);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(to("cannot be tied to its parent"))?;
    let is_first = spec.kind == Some(SandboxKind::Bubblewrap);
    if !is_first {
        // The parent may have ended before. In a space of its own, its parent has no number.
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get().cast_unsigned() != spec.parent) {
            return Err("the program that started it has ended".to_owned());
        }
        setsid().map_err(to("cannot lead its own session"))?;
    }
    std::env::set_current_dir(&spec.folder).map_err(|e| format!("cannot start in {}: {e}", spec.folder.display()))?;
    let _ = nice(NICE);
    limited(spec)?;
    if let StageNetwork::Hosts { addresses, handed: Some(folder) } = &spec.network {
        hand_over(folder, addresses).map_err(|e| format!("its way to hosts cannot be opened: {e}"))?;
    }
    if let Some(kind) = spec.kind {
        shut_in(spec, kind)?;
    }
    // Read by itself, not through a buffer that would take some of the program's input.
    let mut go = [0; GO.len()];
    let is_told = rustix::io::read(rustix::stdio::stdin(), &mut go).is_ok_and(|count| go.get(..count) == Some(GO));
    if !is_told {
        return Err("flow has ended".to_owned());
    }
    writeln!(status, "{ENTERED}").map_err(|e| e.to_string())?;
    let cannot = |e: std::io::Error| {
        let help = match (e.kind(), spec.kind) {
            (std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::NotFound, Some(_)) => {
                "; what it needs outside the system's folders must be among the files that it may read"
            }
            _ => "",
        };
        format!("{} cannot be started: {e}{help}", program.display())
    };
    if !is_first {
        return Err(cannot(command.exec()));
    }
    // The first process of a space is not ended by signals from within. Its memory must not be open to the program either.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let child = command.spawn().map_err(cannot)?;
    told_end(child.id(), status)
}

/// Waits for the program, and for all that loses its parent meanwhile.
fn told_end(program: u32, status: &mut File) -> Result<u8, String> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((process, how))) if process.as_raw_nonzero().get().cast_unsigned() == program => {
                let line = match (how.exit_status(), how.terminating_signal()) {
                    (Some(code), _) => format!("exited {code}"),
                    (None, Some(signal)) => format!("signaled {signal}"),
                    (None, None) => continue,
                };
                writeln!(status, "{line}").map_err(|e| e.to_string())?;
                return Ok(0);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(format!("cannot wait for the program: {error}")),
        }
    }
}

/// The program's own variables.
fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.as_bytes().strip_prefix(ENV_PREFIX.as_bytes())?.to_vec();
        Some((OsString::from_vec(name), value))
    })
}

fn limited(spec: &StageSpec) -> Result<(), String> {
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::Data, Some(spec.limits.memory)),
        (Resource::Cpu, Some(spec.limits.cpu)),
        (Resource::Fsize, Some(spec.limits.file_size)),
        (Resource::Nofile, Some(MOST_OPEN)),
        (Resource::Memlock, Some(64 << 10)),
        (Resource::Nproc, spec.limits.processes),
    ];
    for (resource, most) in limits {
        let Some(most) = most else { continue };
        // A limit that is lower already stays.
        let now = rustix::process::getrlimit(resource);
        let most = now.maximum.map_or(most, |maximum| maximum.min(most));
        // A process that uses up its time is first told so by SIGXCPU.
        let current = if resource == Resource::Cpu { most.saturating_sub(1).max(1) } else { most };
        let limit = Rlimit { current: Some(current), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|e| format!("the limit {resource:?} cannot be set: {e}"))?;
    }
    Ok(())
}

fn shut_in(spec: &StageSpec, kind: SandboxKind) -> Result<(), String> {
    set_no_new_privs(true).map_err(|e| format!("new rights cannot be ruled out: {e}"))?;
    without_capabilities()?;
    let (mut shares_system, mut signals_of) = (false, None);
    if kind == SandboxKind::Landlock {
        shares_system = true;
        match support() {
            LandlockSupport::TooOld => return Err("the kernel does not support Landlock as it is needed (Linux 6.2)".to_owned()),
            LandlockSupport::Files => signals_of = Some(getpid().as_raw_nonzero().get().cast_unsigned()),
            LandlockSupport::Signals => {}
        }
        restrict(&spec.rules, &spec.network)?;
    }
    let sockets = match (&spec.network, kind) {
        (StageNetwork::None, _) => Sockets::None,
        (StageNetwork::Hosts { .. }, SandboxKind::Landlock) => Sockets::Outgoing,
        // Its network holds nothing else.
        (StageNetwork::Hosts { .. }, SandboxKind::Bubblewrap) | (StageNetwork::All, _) => Sockets::Internet,
    };
    for program in programs(FilterNeeds { sockets, shares_system, signals_of })? {
        seccompiler::apply_filter(&program).map_err(|e| format!("the filter of system calls cannot be set: {e}"))?;
    }
    Ok(())
}

/// Gives up what root may do beyond its own files, also for programs that are started later.
fn without_capabilities() -> Result<(), String> {
    let to = |e: Errno| format!("the rights of root cannot be given up: {e}");
    let held = rustix::thread::capabilities(None).map_err(to)?;
    if held.permitted.is_empty() && held.inheritable.is_empty() {
        return Ok(());
    }
    clear_ambient_capability_set().map_err(to)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..u64::BITS {
            match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
                // The kernel knows no more of them.
                Err(Errno::INVAL) => break,
                result => result.map_err(to)?,
            }
        }
        let bits = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
        set_capabilities_secure_bits(bits).map_err(to)?;
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).map_err(to)
}
