//! `flow lsp`.

use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::Value;

use super::Exit;
use super::refusal::Refusal;
use crate::adapter::disk_files::DiskFiles;
use flow_editor::lsp::{EditorMessage, LanguageServer, parse_error, read, write};

/// How long the editor must be idle before changed files are checked.
const SILENCE: Duration = Duration::from_millis(150);
/// Maximum number of messages waiting to be handled; then reading pauses.
const MOST_WAITING: usize = 256;

/// Serves an editor over standard input and output until it sends `exit` or disconnects.
pub(super) fn run() -> Result<Exit, Refusal> {
    let root = std::env::current_dir().unwrap_or_default();
    let mut server = LanguageServer::new(&DiskFiles, &root);
    let (sender, receiver) = sync_channel(MOST_WAITING);
    // The thread ends with the stream, or with the process.
    let reading = std::thread::Builder::new().name("messages".into()).spawn(move || {
        let mut stream = BufReader::new(std::io::stdin());
        while let Ok(Some(incoming)) = read(&mut stream) {
            if sender.send(incoming).is_err() {
                return;
            }
        }
    });
    reading.map_err(|error| refusal!(Failed, "cannot serve: {error}"))?;
    let mut out = std::io::stdout().lock();
    let mut silence = SILENCE;
    loop {
        let incoming = match server.is_waiting() {
            true => receiver.recv_timeout(silence),
            false => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        // Once the editor is idle, all changed files are checked one after the other, unless a message arrives.
        silence = if matches!(incoming, Err(RecvTimeoutError::Timeout)) { Duration::ZERO } else { SILENCE };
        let answers = match incoming {
            Ok(EditorMessage::Message(message)) => guarded(&message, || server.handle(&message)),
            Ok(EditorMessage::Garbage(why)) => vec![parse_error(&why)],
            Err(RecvTimeoutError::Timeout) => guarded(&Value::Null, || server.idle()),
            Err(RecvTimeoutError::Disconnected) if server.is_new() || server.was_shut_down() => return Ok(Exit::Ok),
            Err(RecvTimeoutError::Disconnected) => return Err(Refusal::new(Exit::Failed, "the editor ended without a shutdown request")),
        };
        if server.has_ended() {
            // The protocol requires 1.
            return Ok(if server.was_shut_down() { Exit::Ok } else { Exit::Findings });
        }
        if !answers.iter().all(|answer| write(&mut out, answer).is_ok()) {
            return Err(Refusal::new(Exit::Failed, "the editor no longer reads"));
        }
    }
}

/// Catches a panic, so that it costs one reply and not the server.
fn guarded(message: &Value, work: impl FnOnce() -> Vec<Value>) -> Vec<Value> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| match message.get("id") {
        Some(id) => {
            vec![serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": "internal error of flow" } })]
        }
        None => vec![],
    })
}
