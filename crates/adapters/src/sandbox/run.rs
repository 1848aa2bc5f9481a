//! One program from its start to its end, in a thread of its own: the system ends the program when that thread ends, also if flow is killed.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, waitid};
use tokio::time::Instant;

use super::bubblewrap;
use super::cgroup::ControlGroups;
use super::kind::SandboxKind;
use super::places::{GivenPlaces, is_of_system};
use super::proxy::HostProxy;
use super::readable::{help, help_after};
use super::scratch::Scratch;
use super::spec::{ENTERED, ENV_PREFIX, GO, STAGE, StageLimits, StageNetwork, StageSpec, spec_file, status_file};
use super::talk::TalkEnds;
use super::tree;
use super::{INSTALL, LIBRARIES, ProgramPlaces};
use crate::diagnostic::{cut_words, visible};
use crate::environment::{compiled_folder, program_path, text, user_id};
use crate::event::Failure;
use crate::files::here;
use crate::files::within;
use crate::lock;
use crate::model::{FailureKind, ProgramNetwork, SandboxMode};
use crate::os::ProcessGroup;
use crate::port::{ProgramBounds, ProgramCall, ProgramEnd, ProgramReply, RefusedHost};
use crate::program::{KeptEnd, NoProgramError, PYTHON_CACHE, TERM_TIME, becoming, require, watching};

/// How often the process is looked at. Looking at all processes of a machine takes time: at most a tenth of it.
const TICK: Duration = Duration::from_millis(10);
const SHARE: u32 = 10;
/// Processes of a user beyond those that are allowed.
const SLACK: u64 = 8;
/// How often the disk is measured even if the file system says that little was written.
const MEASURE: Duration = Duration::from_secs(1);
/// The most bytes that a program may write to its standard error, of which the end alone is kept: programs log much.
const MOST_LOGGED: u64 = 1 << 30;
/// A longer time is no time limit.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How long to wait for processes that were killed, and for the end of their output.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The exit codes with which shells say that a file may not be executed, or is not there.
const NOT_EXECUTED: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Joins control groups, then becomes the program: the number of files to write to, these files, the program and its arguments.
const JOIN: &str = "n=$1; shift; while [ \"$n\" -gt 0 ]; do echo $$ > \"$1\" || exit 125; shift; n=$((n - 1)); done; exec \"$@\"";

/// What a call is run with.
pub(super) struct ProgramRun<'a> {
    pub(super) call: &'a ProgramCall,
    /// What shuts it in; `None`: nothing does.
    pub(super) kind: Option<SandboxKind>,
    /// The program of the first stage.
    pub(super) stage: &'a Path,
    /// `bwrap`.
    pub(super) bwrap: Option<&'a Path>,
    pub(super) places: ProgramPlaces<'a>,
    /// Set when nobody waits for the answer any more.
    pub(super) is_dropped: &'a AtomicBool,
}

/// Why a program is ended before its own end.
enum Breach {
    Dropped,
    Timeout,
    Output,
    Log,
    Processes,
    Memory,
    Disk,
}

fn unavailable(message: String) -> Failure {
    Failure::new(FailureKind::Unavailable, message)
}

impl ProgramRun<'_> {
    /// Runs the program to its end. Afterwards no process of it is left, and its scratch folder is removed. `ends`: of the talk with it, if there is one.
    pub(super) fn run(&self, ends: Option<TalkEnds>) -> Result<ProgramReply, Failure> {
        let until = Instant::now() + self.call.timeout.min(LONGEST);
        let scratch = Scratch::new(&self.call.files)?;
        let name = self.program_name();
        if let Some(what) = self.impossible() {
            return Err(Failure::new(
                FailureKind::BadRequest,
                format!("the program \"{name}\" cannot be started: {what} contains a NUL character"),
            ));
        }
        let program = require(self.call.command.first().map_or("", String::as_str))
            .map_err(|why: NoProgramError| unavailable(format!("the program \"{name}\" {why}")))?;
        let places = match self.kind {
            Some(_) => GivenPlaces::for_call(self.call, &program, self.places)?,
            None => GivenPlaces::default(),
        };
        let groups = ControlGroups::new(&self.call.bounds);
        let proxy = self.proxy(&scratch)?;
        if let (Some(proxy), Some(ends)) = (&proxy, &ends) {
            let _ = ends.refused.set(Box::new(proxy.refused_so_far()));
        }
        let spec = self.spec(&places, &scratch, &groups, proxy.as_ref())?;
        let cannot = |e: std::io::Error| unavailable(format!("the program \"{name}\" cannot be started: {e}"));
        std::fs::write(spec_file(&scratch.stage()), serde_json::to_vec(&spec).map_err(|e| cannot(e.into()))?).map_err(cannot)?;
        // Opened before the program runs, so that it cannot put another file in its place.
        std::fs::write(status_file(&scratch.stage()), "").map_err(cannot)?;
        let status = std::fs::File::open(status_file(&scratch.stage())).map_err(cannot)?;
        let mut command = self.command(&places, &scratch, &groups, &program);
        self.variables(&mut command, &scratch.work(), proxy.as_ref());
        let mut pipes = Pipes::new(&mut command, &self.call.bounds, ends).map_err(cannot)?;
        let child = command.spawn().map_err(cannot)?;
        // Else the ends of the pipes that belong to the program would stay open here.
        drop(command);
        let started = RunningProgram::new(child, &scratch, groups, self).map_err(cannot)?;
        // Only now, when nothing is missing to end it, the stage goes on to the program.
        pipes.write(&self.call.input);
        let (breach, how) = started.attended(&scratch, &pipes, until);
        let (stdout, stderr) = pipes.taken();
        let refused = proxy.as_ref().map(HostProxy::refused).unwrap_or_default();
        let stage = within(&status, 64 << 10).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        if let Some(failure) = breach.map(|breach| self.failure(&breach, &refused)) {
            // What an agent used until then counts, and its answer may be whole.
            return match self.call.home {
                Some(_) => Ok(ProgramReply { stdout, stderr, refused, ended_for: Some(Box::new(failure)), ..ProgramReply::default() }),
                None => Err(failure),
            };
        }
        // Only what lies outside of all that the program may read can be missing for it.
        let is_given = |real: &Path| is_of_system(real) || places.has(real);
        let help = || if self.kind.is_none() || program.canonicalize().is_ok_and(|real| is_given(&real)) { None } else { help(&program) };
        let end = self.end(how, &stage, &stderr, &help)?;
        let help = match end {
            ProgramEnd::Exited(0) | ProgramEnd::Signaled(_) => None,
            ProgramEnd::Exited(NOT_EXECUTED | NOT_FOUND) => help(),
            ProgramEnd::Exited(_) => self.kind.and_then(|_| help_after(&program, &stderr, is_given)),
        };
        let files = if self.call.keeps_files { scratch.files()? } else { vec![] };
        let sandbox = self.kind.map(|kind| kind.name().to_owned());
        Ok(ProgramReply { end, stdout, json: None, stderr, files, sandbox, help, ended_for: None, refused })
    }

    /// What the system takes for no program, in words; it would say so without the place.
    fn impossible(&self) -> Option<String> {
        let arguments = self.call.command.iter().enumerate().map(|(at, word)| (format!("argument {at}"), word.as_str()));
        let variables = self.call.env.iter().map(|(name, value)| (format!("the variable {name}"), value.reveal()));
        arguments.chain(variables).find(|(_, text)| text.contains('\0')).map(|(what, _)| what)
    }

    /// The name of the program, for a message.
    fn program_name(&self) -> String {
        visible(self.call.command.first().map_or("", String::as_str)).into_owned()
    }

    /// The way to the hosts that it may reach, if it may reach no others. Who wants no sandbox at all is held to nothing. An agent program that may reach none gets a way to
    /// none, where that is its own network: so it is told which it wanted.
    fn proxy(&self, scratch: &Scratch) -> Result<Option<HostProxy>, Failure> {
        let hosts: &[String] = match &self.call.network {
            ProgramNetwork::Hosts(hosts) => hosts,
            ProgramNetwork::None if self.call.home.is_some() && self.kind == Some(SandboxKind::Bubblewrap) => &[],
            ProgramNetwork::None | ProgramNetwork::All => return Ok(None),
        };
        if self.call.sandbox == SandboxMode::None {
            return Ok(None);
        }
        let not_started = |why: String| unavailable(format!("the program \"{}\" was not started: {why}", self.program_name()));
        let missing =
            || not_started(format!("only a sandbox keeps it to the hosts of network; {INSTALL}, or let it reach all (network: true)"));
        let kind = self.kind.ok_or_else(missing)?;
        let opened = HostProxy::open(kind, hosts, self.places.private_hosts, &scratch.stage());
        opened.map(Some).map_err(|e| not_started(format!("its way to hosts cannot be opened: {e}")))
    }

    fn spec(
        &self,
        places: &GivenPlaces,
        scratch: &Scratch,
        groups: &ControlGroups,
        proxy: Option<&HostProxy>,
    ) -> Result<StageSpec, Failure> {
        let bounds = &self.call.bounds;
        let folder = match &self.call.folder {
            Some(folder) => {
                here(folder).canonicalize().map_err(|e| unavailable(format!("the folder {} cannot be used: {e}", folder.display())))?
            }
            None => scratch.work(),
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        // The system counts all processes of a user, but not those of root. A few more may start than are allowed, so that the watch sees that it is so.
        let user = user_id();
        let processes =
            (user != 0 && !groups.bounds_processes).then(|| tree::of_user(user).saturating_add(bounds.processes).saturating_add(SLACK));
        Ok(StageSpec {
            kind: self.kind,
            parent: std::process::id(),
            status: status_file(&scratch.stage()),
            folder,
            network: match (&self.call.network, proxy) {
                (ProgramNetwork::All, _) => StageNetwork::All,
                (ProgramNetwork::Hosts(_) | ProgramNetwork::None, Some(proxy)) => {
                    let handed = (self.kind == Some(SandboxKind::Bubblewrap)).then(|| scratch.stage());
                    StageNetwork::Hosts { addresses: proxy.addresses().to_vec(), handed }
                }
                (ProgramNetwork::None | ProgramNetwork::Hosts(_), None) => StageNetwork::None,
            },
            limits: StageLimits {
                memory: bounds.memory,
                cpu: self.call.timeout.as_secs().saturating_add(2).saturating_mul(cores),
                file_size: bounds.file_size,
                processes,
            },
            groups: if self.kind == Some(SandboxKind::Bubblewrap) { vec![] } else { groups.entrances() },
            rules: if self.kind == Some(SandboxKind::Landlock) { places.rules(scratch.work()) } else { Default::default() },
        })
    }

    fn command(&self, places: &GivenPlaces, scratch: &Scratch, groups: &ControlGroups, program: &Path) -> Command {
        let mut command = match (self.kind, self.bwrap) {
            (Some(SandboxKind::Bubblewrap), Some(bwrap)) => {
                let arguments = bubblewrap::arguments(places, scratch, self.stage, &self.call.network);
                let entrances = groups.entrances();
                let mut command = if entrances.is_empty() {
                    becoming(bwrap)
                } else {
                    let mut command = becoming("/bin/sh");
                    command.args(["-c", JOIN, "sh", &entrances.len().to_string()]).args(entrances).arg(bwrap);
                    command
                };
                ProcessGroup::led_by(&mut command).args(arguments).arg(self.stage);
                command
            }
            // The stage leads a session of its own.
            _ => Command::new(self.stage),
        };
        command.arg(STAGE).arg(spec_file(&scratch.stage())).arg(program).args(self.call.command.iter().skip(1));
        command
    }

    /// The variables of the program, under names that mean nothing to the programs before it.
    fn variables(&self, command: &mut Command, work: &Path, proxy: Option<&HostProxy>) {
        command.env_clear();
        let mut set = |name: &str, value: &std::ffi::OsStr| {
            command.env(format!("{ENV_PREFIX}{name}"), value);
        };
        set("PATH", &program_path());
        set("HOME", work.as_os_str());
        set("TMPDIR", work.join("tmp").as_os_str());
        if self.kind.is_none() {
            set(PYTHON_CACHE, compiled_folder().as_os_str());
        }
        set(
            "LANG",
            text("LC_ALL").or_else(|| text("LANG")).filter(|locale| !locale.is_empty()).unwrap_or_else(|| "C.UTF-8".to_owned()).as_ref(),
        );
        proxy.into_iter().flat_map(HostProxy::variables).for_each(|(name, value)| set(name, value.as_ref()));
        self.call.env.iter().for_each(|(name, value)| set(name, value.reveal().as_ref()));
        if cfg!(feature = "duckdb")
            && let Some(folders) = std::env::var_os(LIBRARIES)
        {
            command.env(LIBRARIES, folders);
        }
    }

    fn failure(&self, breach: &Breach, refused: &[RefusedHost]) -> Failure {
        let ProgramBounds { memory, processes, disk, output, .. } = self.call.bounds;
        let name = self.program_name();
        let (kind, what) = match breach {
            Breach::Dropped => (FailureKind::Timeout, "is not needed any more".to_owned()),
            Breach::Timeout => (FailureKind::Timeout, format!("did not end within {:?}", self.call.timeout)),
            Breach::Output => (FailureKind::TooLarge, format!("wrote more than {} to its standard output", size(output))),
            Breach::Log => (FailureKind::TooLarge, format!("wrote more than {} to its standard error", size(MOST_LOGGED))),
            Breach::Processes => (FailureKind::Limit, format!("started more than {processes} processes and threads")),
            Breach::Memory => (FailureKind::Limit, format!("used more than {} of memory", size(memory))),
            Breach::Disk => (FailureKind::Limit, format!("wrote more than {} into its scratch folder", size(disk))),
        };
        let kept = RefusedHost::in_words(refused).map(|told| format!("; {told}")).unwrap_or_default();
        Failure::new(kind, format!("the program \"{name}\" {what}, and was ended{kept}"))
    }

    /// How the program ended, from how its process did and what the first stage told.
    fn end(&self, how: Option<ProgramEnd>, stage: &str, stderr: &[u8], help: &dyn Fn() -> Option<String>) -> Result<ProgramEnd, Failure> {
        let name = self.program_name();
        if let Some(message) = stage.lines().find_map(|line| line.strip_prefix("failed ")) {
            let help = help().map(|help| format!("; {help}")).unwrap_or_default();
            return Err(unavailable(format!("the program \"{name}\" was not started: {}{help}", visible(message))));
        }
        let is_entered = stage.lines().any(|line| line == ENTERED);
        let told = stage.lines().find_map(|line| {
            let number = |what: &str| line.strip_prefix(what)?.parse().ok();
            number("exited ").map(ProgramEnd::Exited).or_else(|| number("signaled ").map(ProgramEnd::Signaled))
        });
        let end = match self.kind {
            Some(SandboxKind::Bubblewrap) => told,
            Some(SandboxKind::Landlock) | None => how,
        };
        match end.filter(|_| is_entered) {
            Some(ProgramEnd::Signaled(signal)) if signal == Signal::XFSZ.as_raw() => {
                let message =
                    format!("the program \"{name}\" wrote a file of more than {}, and was ended", size(self.call.bounds.file_size));
                Err(Failure::new(FailureKind::Limit, message))
            }
            Some(ProgramEnd::Signaled(signal)) if signal == Signal::XCPU.as_raw() => {
                Err(Failure::new(FailureKind::Limit, format!("the program \"{name}\" used up its time of the processor, and was ended")))
            }
            Some(end) => Ok(end),
            None => {
                let last = String::from_utf8_lossy(stderr).lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
                let said = last.map(|line| format!(": {}", visible(&cut_words(&line, 200)))).unwrap_or_default();
                let by = self.kind.map_or("its first stage", SandboxKind::name);
                Err(unavailable(format!("the program \"{name}\" was not started: {by} ended early{said}")))
            }
        }
    }
}

/// Bytes, for a person.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// The pipes of a program and the threads that serve them. They are there before the program is, so that a program that takes all there is of processes
/// cannot keep them from coming.
struct Pipes {
    input: std::sync::mpsc::Sender<Vec<u8>>,
    /// The standard output; the flag says that it was too much.
    stdout: Arc<(Mutex<Vec<u8>>, AtomicBool)>,
    /// The end of standard error; the flag says that all of it was too much.
    stderr: Arc<(Mutex<KeptEnd>, AtomicBool)>,
    /// Told by each of the two readers when it is done.
    read: Receiver<()>,
}

impl Pipes {
    fn new(command: &mut Command, bounds: &ProgramBounds, ends: Option<TalkEnds>) -> std::io::Result<Pipes> {
        let (stdin, mut to_stdin) = std::io::pipe()?;
        let (from_stdout, stdout) = std::io::pipe()?;
        let (from_stderr, stderr) = std::io::pipe()?;
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        let thread = || std::thread::Builder::new().name("pipe of a program".to_owned());
        let (input, inputs) = channel::<Vec<u8>>();
        // A program need not read its input.
        let (more, listener) = ends.map_or((None, None), |ends| (Some(ends.input), Some(ends.output)));
        thread().spawn(move || {
            let is_written = inputs.recv().is_ok_and(|input| to_stdin.write_all(&input).is_ok());
            let mut later = more.into_iter().flatten();
            is_written && later.all(|piece| to_stdin.write_all(&piece).is_ok())
        })?;
        let (done, read) = channel();
        let pipes = Pipes { input, stdout: Arc::default(), stderr: Arc::default(), read };
        let (to, told, most) = (Arc::clone(&pipes.stdout), done.clone(), bounds.output);
        thread().spawn(move || {
            drained(from_stdout, |piece| {
                if let Some(listener) = &listener {
                    // Who does not listen any more lets the program end.
                    let _ = listener.send(piece.to_vec());
                    return;
                }
                let mut bytes = lock(&to.0);
                match bytes.len() as u64 + piece.len() as u64 > most {
                    true => to.1.store(true, Ordering::Relaxed),
                    false => bytes.extend_from_slice(piece),
                }
            });
            let _ = told.send(());
        })?;
        let to = Arc::clone(&pipes.stderr);
        thread().spawn(move || {
            let mut logged = 0_u64;
            drained(from_stderr, |piece| {
                lock(&to.0).add(piece);
                logged += piece.len() as u64;
                if logged > MOST_LOGGED {
                    to.1.store(true, Ordering::Relaxed);
                }
            });
            let _ = done.send(());
        })?;
        Ok(pipes)
    }

    /// Lets the stage go on, and gives the program its input.
    fn write(&mut self, input: &[u8]) {
        let _ = self.input.send([GO, input].concat());
    }

    /// What it has written too much of.
    fn too_much(&self) -> Option<Breach> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        is_set(&self.stdout.1).then_some(Breach::Output).or_else(|| is_set(&self.stderr.1).then_some(Breach::Log))
    }

    /// Waits until both readers have read to the end.
    fn read_out(&self) {
        for _ in 0..2 {
            let _ = self.read.recv_timeout(LAST_WORDS);
        }
    }

    /// The standard output and the end of standard error.
    fn taken(self) -> (Vec<u8>, Vec<u8>) {
        (std::mem::take(&mut *lock(&self.stdout.0)), lock(&self.stderr.0).whole().to_vec())
    }
}

/// A program that runs.
struct RunningProgram<'a> {
    run: &'a ProgramRun<'a>,
    child: Child,
    leader: u32,
    group: ProcessGroup,
    groups: ControlGroups,
    watcher: Child,
    work: PathBuf,
}

impl<'a> RunningProgram<'a> {
    fn new(mut child: Child, scratch: &Scratch, groups: ControlGroups, run: &'a ProgramRun<'a>) -> std::io::Result<RunningProgram<'a>> {
        let leader = child.id();
        let group = ProcessGroup::with_leader(leader).ok_or_else(|| std::io::Error::other("the process has no id"));
        let watched = group.and_then(|group| Ok((group, watching(group, Some(scratch.folder().as_os_str()), groups.folders()).spawn()?)));
        match watched {
            Ok((group, watcher)) => Ok(RunningProgram { run, child, leader, group, groups, watcher, work: scratch.work() }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Waits for the end of the program, or ends it. Gives why and how it ended.
    fn attended(mut self, scratch: &Scratch, pipes: &Pipes, until: Instant) -> (Option<Breach>, Option<ProgramEnd>) {
        let breach = self.watched(scratch, pipes, until);
        match &breach {
            Some(Breach::Timeout | Breach::Dropped) => self.terminated(),
            Some(Breach::Output | Breach::Log | Breach::Processes | Breach::Memory | Breach::Disk) | None => {}
        }
        self.killed();
        let how = self.child.wait().ok().and_then(|status| {
            use std::os::unix::process::ExitStatusExt;
            status.code().map(ProgramEnd::Exited).or_else(|| status.signal().map(ProgramEnd::Signaled))
        });
        pipes.read_out();
        // Since the last look.
        let breach = breach.or_else(|| self.groups.ended_for_memory().then_some(Breach::Memory));
        let breach = breach.or_else(|| self.groups.refused_process().then_some(Breach::Processes));
        let breach = breach.or_else(|| pipes.too_much());
        let _ = self.watcher.stdin.take().map(|mut input| input.write_all(b"done\n"));
        let _ = self.watcher.wait();
        (breach, how)
    }

    /// Looks at the program until it ends by itself (`None`), or must be ended.
    fn watched(&self, scratch: &Scratch, pipes: &Pipes, until: Instant) -> Option<Breach> {
        let bounds = &self.run.call.bounds;
        let waits = Pid::from_raw(self.leader.cast_signed()).and_then(|id| pidfd_open(id, PidfdFlags::empty()).ok());
        let (mut look_at, mut measured_at) = (Instant::now(), Instant::now());
        let (mut free, mut used) = (scratch.free(), 0);
        loop {
            if self.is_over() {
                return None;
            }
            if self.run.is_dropped.load(Ordering::Relaxed) {
                return Some(Breach::Dropped);
            }
            if let Some(breach) = pipes.too_much() {
                return Some(breach);
            }
            if Instant::now() >= until {
                return Some(Breach::Timeout);
            }
            if self.groups.refused_process() {
                return Some(Breach::Processes);
            }
            if self.groups.ended_for_memory() {
                return Some(Breach::Memory);
            }
            let began = Instant::now();
            if began >= look_at && !(self.groups.bounds_processes && self.groups.bounds_memory) {
                let processes = self.processes();
                if tree::count(&processes) > bounds.processes {
                    return Some(Breach::Processes);
                }
                if tree::memory(&processes, bounds.memory) > bounds.memory {
                    return Some(Breach::Memory);
                }
                look_at = Instant::now() + began.elapsed() * SHARE;
            }
            // Others write to the same disk, too, so this is only a reason to measure.
            let now_free = scratch.free();
            let may_be_over = free.saturating_sub(now_free).saturating_add(used) > bounds.disk;
            let began = Instant::now();
            if began >= measured_at && (may_be_over || began >= measured_at + MEASURE) {
                let open = tree::nameless(&self.processes());
                used = scratch.used(bounds.disk).map_or(u64::MAX, |named| named.saturating_add(open));
                if used > bounds.disk {
                    return Some(Breach::Disk);
                }
                free = now_free;
                measured_at = Instant::now() + began.elapsed() * 2;
            }
            match &waits {
                Some(process) => {
                    let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
                    let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&tick));
                }
                None => std::thread::sleep(TICK),
            }
        }
    }

    /// Whether the process has ended. It stays in the table, so that its number belongs to nobody else.
    fn is_over(&self) -> bool {
        let Some(id) = Pid::from_raw(self.leader.cast_signed()) else { return true };
        waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT).is_ok_and(|status| status.is_some())
    }

    /// The living processes of the program, without those of the sandbox.
    fn processes(&self) -> Vec<tree::RunningProcess> {
        let mut processes = tree::of_leader(self.leader);
        if self.run.kind == Some(SandboxKind::Bubblewrap) {
            let first = tree::child_of(self.leader);
            processes.retain(|process| process.id != self.leader && Some(process.id) != first);
        }
        processes
    }

    /// Asks all processes to end, and waits for that.
    fn terminated(&self) {
        tree::signal(self.processes().into_iter().map(|process| process.id), Signal::TERM);
        let until = Instant::now() + TERM_TIME;
        while !self.is_over() && Instant::now() < until {
            std::thread::sleep(TICK);
        }
    }

    /// Ends what is left, and waits until it is gone.
    fn killed(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        if self.run.kind == Some(SandboxKind::Bubblewrap) {
            // With the first process of a space, the kernel ends all others before the process outside hears of it.
            tree::signal(tree::child_of(self.leader), Signal::KILL);
            let soon = Instant::now() + TERM_TIME / 3;
            while !self.is_over() && Instant::now() < soon {
                std::thread::sleep(TICK / 10);
            }
        }
        self.group.kill();
        let _ = self.child.kill();
        loop {
            let mut left: Vec<u32> = tree::of_leader(self.leader).into_iter().map(|process| process.id).collect();
            if self.run.kind.is_none() {
                // Without a sandbox a process may leave its group and its parent.
                left.extend(tree::with_variable(&self.work));
            }
            if left.is_empty() || Instant::now() >= until {
                return;
            }
            self.group.kill();
            tree::signal(left, Signal::KILL);
            std::thread::sleep(TICK / 10);
        }
    }
}

/// Reads to the end, so that the program never waits for a reader.
fn drained(mut from: impl Read, mut take: impl FnMut(&[u8])) {
    let mut piece = vec![0; 64 << 10];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => take(piece.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
