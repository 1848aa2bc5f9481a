//! A server that is a program: started in its own process group, addressed line by line, and ended in all cases.
//!
//! Four tasks serve a program, so that it never blocks: one writes to its input, one reads its output, one drains its standard error, and one owns
//! the process. In addition, a small watcher process ends the group when this process is gone, even if it was killed.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::timeout;

use super::inbox::Inbox;
use crate::environment::program_path;
use crate::event::Failure;
use crate::lock;
use crate::model::FailureKind;
use crate::os::ProcessGroup;
use crate::port::{Secret, ToolServer};
use crate::program::{KeptEnd, TERM_TIME, becoming, find, watching};
use crate::scrub::Scrub;

/// Maximum length of one line from a server, and of one message to it, in bytes.
pub(super) const LONGEST_LINE: usize = 1 << 20;
/// Maximum number of messages that wait to be written.
const MOST_WAITING: usize = 64;
/// How long a program has to end after its standard input is closed.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long to wait for the end of a program that has closed its output.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// A running program.
pub(super) struct ServerProgram {
    pub(super) inbox: Arc<Inbox>,
    lines: mpsc::Sender<Vec<u8>>,
    end: Arc<Notify>,
    ended: watch::Receiver<bool>,
    tail: Arc<Mutex<Tail>>,
}

/// The end of the program's standard error.
#[derive(Default)]
struct Tail {
    end: KeptEnd,
    /// Several runs use the program, so its output may belong to any of them.
    is_mixed: bool,
}

impl ServerProgram {
    /// Starts the program of a server.
    ///
    /// # Errors
    /// Fails if the program is not found or cannot be started.
    pub(super) fn start(
        server: &ToolServer,
        command: &str,
        args: &[String],
        env: &[(String, Secret)],
        folder: &Path,
    ) -> Result<ServerProgram, Failure> {
        let unavailable = |message: String| Failure::new(FailureKind::Unavailable, message);
        let name = &server.name;
        let missing = || unavailable(format!("the program \"{command}\" of server \"{name}\" was not found in PATH"));
        let program = find(command).ok_or_else(missing)?;
        let mut command = becoming(&program);
        command.args(args);
        command.env_clear().env("PATH", program_path());
        command.envs(env.iter().map(|(name, value)| (name, value.reveal())));
        if folder.is_dir() {
            command.current_dir(folder);
        }
        ProcessGroup::led_by(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |e: std::io::Error| unavailable(format!("server \"{name}\" cannot be started: {e}"));
        let mut child = Command::from(command).kill_on_drop(true).spawn().map_err(cannot)?;
        let group = child.id().and_then(ProcessGroup::with_leader).ok_or_else(|| unavailable("the process has no id".into()))?;
        let watcher = Command::from(watching(group, None, &[])).spawn().inspect_err(|_| group.kill()).map_err(cannot)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
            return Err(unavailable("the process has no standard input or output".into()));
        };
        let inbox = Arc::new(Inbox::new(Scrub::new(env.iter().map(|(_, value)| value).chain(&server.secrets))));
        let (lines, to_write) = mpsc::channel(MOST_WAITING);
        let (end, tail) = (Arc::new(Notify::new()), Arc::new(Mutex::new(Tail::default())));
        let (told, ended) = watch::channel(false);
        let writer = tokio::spawn(write(stdin, to_write));
        tokio::spawn(drain(stderr, Arc::clone(&tail)));
        tokio::spawn(read(stdout, Arc::clone(&inbox), lines.clone(), Arc::clone(&end)));
        let keeper = Keeper { child, group, watcher, writer, tail: Arc::clone(&tail), inbox: Arc::clone(&inbox) };
        let wanted = Arc::clone(&end);
        tokio::spawn(async move {
            keeper.keep(&wanted).await;
            let _ = told.send(true);
        });
        Ok(ServerProgram { inbox, lines, end, ended, tail })
    }

    /// Queues a message for the program's input. Waits only while the queue is full.
    pub(super) async fn send(&self, message: &Value) -> Result<(), Failure> {
        let mut line = message.to_string().into_bytes();
        if line.len() > LONGEST_LINE {
            return Err(Failure::new(FailureKind::TooLarge, format!("a message of more than {LONGEST_LINE} bytes is not sent")));
        }
        line.push(b'\n');
        let gone = || Failure::new(FailureKind::Connection, "the server has ended");
        self.lines.send(line).await.map_err(|_| self.inbox.closed().unwrap_or_else(gone))
    }

    /// Like [`ServerProgram::send`], but never waits: a message that does not fit in the queue is dropped.
    pub(super) fn send_soon(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let _ = self.lines.try_send(line);
    }

    /// Ends the program: closes its input, then sends SIGTERM and, after 3 s, SIGKILL to the whole group.
    pub(super) async fn end(&self) {
        self.give_up();
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// A run starts to use the program, alone or together with others. Output that was written for earlier runs is not shown.
    pub(super) fn joined(&self, is_shared: bool) {
        let mut tail = lock(&self.tail);
        tail.is_mixed = is_shared;
        if !is_shared {
            tail.end.forget();
        }
    }

    /// The last line of standard error, for a message; empty if there is none, or if it may belong to another run.
    pub(super) fn last_line(&self) -> String {
        let tail = lock(&self.tail);
        let text = self.inbox.scrub.hidden(&String::from_utf8_lossy(tail.end.whole())).into_owned();
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).filter(|_| !tail.is_mixed);
        last.map(|line| format!("; its last output: {}", self.inbox.scrub.quote(line, tail.end.is_cut()))).unwrap_or_default()
    }

    /// A receiver that becomes true when no process of the program is left.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }

    /// Starts to end the program, without waiting.
    pub(super) fn give_up(&self) {
        self.end.notify_one();
    }
}

impl Drop for ServerProgram {
    /// The task that starts the program may be cancelled during the handshake.
    fn drop(&mut self) {
        self.give_up();
    }
}

/// The task that owns the process.
struct Keeper {
    child: Child,
    group: ProcessGroup,
    watcher: Child,
    writer: tokio::task::JoinHandle<()>,
    tail: Arc<Mutex<Tail>>,
    inbox: Arc<Inbox>,
}

impl Keeper {
    /// Waits until the program ends or is asked to end. Afterwards no process of its group is left.
    async fn keep(mut self, wanted: &Notify) {
        let by_itself = tokio::select! {
            status = self.child.wait() => Some(status),
            () = wanted.notified() => None,
        };
        // Stopping the writer closes the program's input.
        self.writer.abort();
        let status = match by_itself {
            Some(status) => Some(status),
            None => match timeout(PATIENCE, self.child.wait()).await {
                Ok(status) => Some(status),
                Err(_) => {
                    self.group.terminate();
                    timeout(TERM_TIME, self.child.wait()).await.ok()
                }
            },
        };
        if status.is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Processes that the program started may outlive it.
        self.group.kill();
        let status = match status {
            Some(status) => status,
            None => self.child.wait().await,
        };
        let how = status.map_or_else(|e| e.to_string(), |status| status.to_string());
        self.inbox.close(self.failure(&how));
        if let Some(mut input) = self.watcher.stdin.take() {
            let _ = input.write_all(b"done\n").await;
        }
        if timeout(TERM_TIME, self.watcher.wait()).await.is_err() {
            let _ = self.watcher.kill().await;
        }
    }

    fn failure(&self, how: &str) -> Failure {
        let tail = lock(&self.tail);
        // Secrets are hidden before lines are joined and characters escaped, because a secret may span lines.
        let text = String::from_utf8_lossy(tail.end.whole());
        let text = self.inbox.scrub.hidden(&text);
        let last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let quoted = self.inbox.scrub.quote(&last.join(" | "), tail.end.is_cut());
        let said = match quoted.is_empty() {
            true => String::new(),
            false if tail.is_mixed => "; its last output is not shown, since several runs use it".to_owned(),
            false => format!("; its last output: {quoted}"),
        };
        self.inbox.scrub.failure(FailureKind::Connection, format!("the server ended ({how}){said}"))
    }
}

async fn write(mut stdin: tokio::process::ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Drains standard error so that the program never blocks on it, and keeps the end.
async fn drain(mut stderr: impl AsyncRead + Unpin, tail: Arc<Mutex<Tail>>) {
    let mut piece = vec![0; 8 << 10];
    while let Ok(read) = stderr.read(&mut piece).await {
        if read == 0 {
            return;
        }
        let mut tail = lock(&tail);
        tail.end.add(&piece[..read]);
    }
}

/// Reads lines until the output ends or the server is given up.
async fn read(stdout: impl AsyncRead + Unpin, inbox: Arc<Inbox>, answers: mpsc::Sender<Vec<u8>>, end: Arc<Notify>) {
    let (mut stdout, mut line) = (BufReader::with_capacity(64 << 10, stdout), vec![]);
    let fault = loop {
        line.clear();
        // The limit plus one byte for the line break.
        let Ok(1..) = (&mut stdout).take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line).await else { break None };
        let Some(line) = line.strip_suffix(b"\n") else {
            let too_long = || Failure::new(FailureKind::TooLarge, format!("wrote a line of more than {LONGEST_LINE} bytes"));
            break (line.len() > LONGEST_LINE).then(too_long);
        };
        match inbox.take(line) {
            // An answer is dropped if the queue is full: a program that does not read its input must not block this task.
            Ok(back) => back.into_iter().for_each(|message| {
                let _ = answers.try_send(format!("{message}\n").into_bytes());
            }),
            Err(failure) => break Some(failure),
        }
    };
    match fault {
        Some(failure) => inbox.close(Failure { message: format!("the server {}", failure.message), ..failure }),
        // If the program has ended, the keeper reports why; otherwise it has only closed its output.
        None => tokio::time::sleep(LAST_WORDS).await,
    }
    inbox.close(Failure::new(FailureKind::Connection, "the server closed its output"));
    end.notify_one();
    // Reads the rest of the output, so that the program never blocks on it.
    let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
}
