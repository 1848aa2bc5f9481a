//! Lines in, lines out: one client, one process.

use crate::event::Canceller;
use std::io::{BufRead, Write};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, channel};
use tokio::task::JoinSet;

use super::calls::{CallServer, ClientSession};
use super::messages::{self, ClientMessage};
use super::protocol::{self, Todo};
use super::{Bounds, LONGEST_MESSAGE, PipelineService};

/// Lines that wait to be handled, and answers that wait to be written; then reading waits.
const MOST_WAITING: usize = 256;

/// A line that came.
enum Came {
    Line(Vec<u8>),
    TooLong,
}

/// Serves until the input ends, nobody reads any more, or `stop` says so (then by whom). All calls have ended then.
///
/// # Errors
/// The machine makes no more threads; nothing was read then.
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
    // It ends with its stream, or with the process.
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
                Some(line) => take(line, &server, &session, &out, &mut calls).await,
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

async fn take(came: Came, server: &Arc<CallServer>, session: &Arc<ClientSession>, out: &Sender<Value>, calls: &mut JoinSet<()>) {
    let line = match came {
        Came::Line(line) => line,
        Came::TooLong => {
            let message = format!("a line has more than {LONGEST_MESSAGE} bytes");
            let error = rmcp::model::ErrorData::new(rmcp::model::ErrorCode::INVALID_REQUEST, message, None);
            let _ = out.send(messages::error(None, &error)).await;
            return;
        }
    };
    let request = match messages::read(&line) {
        Ok(ClientMessage::Request(request)) => request,
        Ok(ClientMessage::Notice { method, params }) => return session.notice(&method, &params),
        Ok(ClientMessage::Answer) => return,
        Err(answer) => {
            let _ = out.send(answer).await;
            return;
        }
    };
    let id = request.id.clone();
    let answer = match protocol::todo(server.tools(), request, session.version().as_ref()) {
        Ok(Todo::Answer(result)) => messages::result(&id, result),
        Ok(Todo::Agreed(version, result)) => {
            session.agree(version);
            messages::result(&id, result)
        }
        Ok(Todo::Call(call)) => {
            // It is on the lists before the next line is read, so that this can cancel it.
            match server.enter(session, call) {
                Ok(entered) => {
                    calls.spawn(entered.carry(out.clone(), false));
                    return;
                }
                Err(error) => messages::error(Some(&id), &error),
            }
        }
        Err(refused) => messages::error(Some(&id), &refused.error),
    };
    let _ = out.send(answer).await;
}

/// Reads lines up to their bound; what is longer is passed over.
fn read_lines(mut input: impl BufRead, lines: &Sender<Came>) {
    let mut line = vec![];
    let mut is_long = false;
    loop {
        let (used, is_whole) = match input.fill_buf() {
            Ok([]) => (0, true),
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let part = &bytes[..end.unwrap_or(bytes.len())];
                is_long |= line.len() + part.len() > LONGEST_MESSAGE;
                if is_long {
                    line.clear();
                } else {
                    line.extend_from_slice(part);
                }
                (part.len() + usize::from(end.is_some()), end.is_some())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        input.consume(used);
        if !is_whole {
            continue;
        }
        let came = match std::mem::take(&mut is_long) {
            true => Some(Came::TooLong),
            false => Some(std::mem::take(&mut line)).filter(|line| !line.trim_ascii().is_empty()).map(Came::Line),
        };
        if came.is_some_and(|came| lines.blocking_send(came).is_err()) || used == 0 {
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
