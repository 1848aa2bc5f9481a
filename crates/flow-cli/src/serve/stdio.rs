//! One message per line: one client, one process.

use std::io::{BufRead, Read, Write};
use std::sync::Arc;

use rmcp::model::ErrorCode;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, channel};
use tokio::task::JoinSet;

use super::calls::{CallServer, ClientSession};
use super::messages::{self, ClientMessage};
use super::protocol::{self, Todo};
use super::{Bounds, LONGEST_MESSAGE, PipelineService};
use crate::event::Canceller;

/// Maximum number of lines waiting to be handled, and of answers waiting to be written; then reading pauses.
const MOST_WAITING: usize = 256;

/// A received line; `None`: it is too long.
type Line = Option<Vec<u8>>;

/// Serves until the input ends, the reader disconnects, or `stop` requests it (then returns by whom). All calls have ended then.
///
/// # Errors
/// The system cannot create threads; nothing was read.
pub async fn serve_stdio(
    work: Arc<dyn PipelineService>,
    bounds: Bounds,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    stop: &mut UnboundedReceiver<Canceller>,
) -> std::io::Result<Option<Canceller>> {
    let (lines, mut came) = channel(MOST_WAITING);
    let (out, answers) = channel(MOST_WAITING);
    let (written, mut is_over) = tokio::sync::oneshot::channel::<()>();
    std::thread::Builder::new().name("answers".into()).spawn(move || {
        write_lines(output, answers);
        drop(written);
    })?;
    // The thread ends with its stream, or with the process.
    std::thread::Builder::new().name("messages".into()).spawn(move || read_lines(input, &lines))?;
    let (server, session) = (Arc::new(CallServer::new(work, bounds)), Arc::new(ClientSession::default()));
    let mut calls = JoinSet::new();
    let by = loop {
        tokio::select! {
            by = stop.recv() => break by,
            _ = &mut is_over => break None,
            Some(_) = calls.join_next() => {}
            line = came.recv() => match line {
                None => break None,
                Some(line) => if let Some(answer) = take(line, &server, &session, &out, &mut calls) {
                    let _ = out.send(answer).await;
                },
            },
        }
    };
    if by.is_none() {
        session.leave();
    }
    server.end(by.unwrap_or(Canceller::Client)).await;
    while calls.join_next().await.is_some() {}
    drop(out);
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), is_over).await;
    Ok(by)
}

/// Handles a line; returns an immediate answer.
fn take(line: Line, server: &Arc<CallServer>, session: &Arc<ClientSession>, out: &Sender<Value>, calls: &mut JoinSet<()>) -> Option<Value> {
    let Some(line) = line else {
        let message = format!("a line has more than {LONGEST_MESSAGE} bytes");
        return Some(messages::refusal(None, ErrorCode::INVALID_REQUEST, message));
    };
    let request = match messages::read(&line) {
        Ok(ClientMessage::Request(request)) => request,
        Ok(ClientMessage::Notice { method, params }) => {
            session.notice(&method, &params);
            return None;
        }
        Ok(ClientMessage::Answer) => return None,
        Err(answer) => return Some(answer),
    };
    let id = request.id.clone();
    Some(match protocol::todo(server.tools(), request, session.version().as_ref()) {
        Ok(Todo::Answer(result)) => messages::result(&id, result),
        Ok(Todo::Agreed(version, result)) => {
            session.agree(version);
            messages::result(&id, result)
        }
        // It is registered before the next line is read, so that this line can cancel it.
        Ok(Todo::Call(call)) => match server.enter(session, call) {
            Ok(entered) => {
                calls.spawn(entered.carry(out.clone(), false));
                return None;
            }
            Err(error) => messages::error(Some(&id), &error),
        },
        Err(refused) => messages::error(Some(&id), &refused.error),
    })
}

/// Reads lines up to their limit; longer ones are skipped.
fn read_lines(mut input: impl BufRead, lines: &Sender<Line>) {
    loop {
        let mut line = vec![];
        // One byte more than the limit, for the end of the line.
        let Ok(1..) = input.by_ref().take(LONGEST_MESSAGE as u64 + 1).read_until(b'\n', &mut line) else { return };
        let is_long = line.pop_if(|last| *last == b'\n').is_none() && line.len() > LONGEST_MESSAGE;
        if is_long && input.skip_until(b'\n').is_err() {
            return;
        }
        let is_something = !line.trim_ascii().is_empty();
        if (is_long || is_something) && lines.blocking_send((!is_long).then_some(line)).is_err() {
            return;
        }
    }
}

fn write_lines(mut output: impl Write, mut answers: Receiver<Value>) {
    while let Some(answer) = answers.blocking_recv() {
        let written = output.write_all(format!("{answer}\n").as_bytes()).and_then(|()| output.flush());
        if written.is_err() {
            return;
        }
    }
}
