//! Streamable HTTP: each message is a POST to `/mcp`, answered with JSON, or with a stream of events for a tool call.

mod answer;
mod doors;
mod seats;
mod sessions;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming as Coming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, channel};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::answer::AnswerBody;
pub use self::doors::Doors;
pub(super) use self::seats::Impatient;
use self::seats::{Held, RequestSeat, Seats};
use self::sessions::Sessions;
use super::calls::{CallServer, ClientSession};
use super::messages::{self, ClientMessage};
use super::protocol::{self, Refused, Todo};
use super::{Bounds, LONGEST_MESSAGE, PipelineService};
use crate::event::{Canceller, TraceContext};

/// Maximum size of all headers in bytes.
const LARGEST_HEAD: usize = 64 << 10;
/// Time to send remaining answers when the server ends.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum number of messages waiting for a slow reader.
const MOST_WAITING: usize = 256;

/// Data shared by all connections.
struct House {
    server: Arc<CallServer>,
    sessions: Sessions,
    doors: Doors,
    patience: Duration,
}

/// Serves until `stop` receives a request to end, and returns who sent it. All calls have ended then.
pub async fn serve_http(
    work: Arc<dyn PipelineService>,
    bounds: Bounds,
    listener: TcpListener,
    doors: Doors,
    stop: &mut UnboundedReceiver<Canceller>,
) -> Option<Canceller> {
    let server = Arc::new(CallServer::new(work, bounds));
    let house = Arc::new(House { server, sessions: Sessions::default(), doors, patience: bounds.patience });
    let seats = Arc::new(Seats::default());
    let (close, closing) = watch::channel(false);
    let mut connections = JoinSet::new();
    let by = loop {
        tokio::select! {
            by = stop.recv() => break by,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => match seats.take() {
                    Some(seat) => drop(connections.spawn(connection(Arc::clone(&house), stream, seat, closing.clone()))),
                    None => turn_away(stream),
                },
                // The system has no more file handles; retry once a connection has ended.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
        }
    };
    drop(listener);
    house.server.end(by.unwrap_or(Canceller::Client)).await;
    let _ = close.send(true);
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    by
}

/// Rejects a connection because all seats are in use.
fn turn_away(stream: TcpStream) {
    let Ok(mut stream) = stream.into_std() else { return };
    let _ = stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    // Unread data would cause a reset that discards the answer.
    let _ = stream.read(&mut [0; 16 << 10]);
}

async fn connection(house: Arc<House>, stream: TcpStream, seat: RequestSeat, mut closing: watch::Receiver<bool>) {
    let patience = house.patience;
    let service = hyper::service::service_fn(|request| {
        let (house, served) = (Arc::clone(&house), seat.serve());
        async move {
            let answer = house.answer(request).await.unwrap_or_else(|refused| refused);
            Ok::<_, Infallible>(answer.map(|body| Held { body, _served: served }))
        }
    });
    let mut settings = hyper::server::conn::http1::Builder::new();
    // The timeout also applies to an idle connection, before its first request and between requests.
    settings.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(LARGEST_HEAD);
    let mut connection = pin!(settings.serve_connection(TokioIo::new(Impatient::new(stream, patience)), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = seat.left() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

type Answered = Response<AnswerBody>;

/// The session is unknown, or has ended.
struct Gone;

impl From<Gone> for Answered {
    fn from(_: Gone) -> Answered {
        answer::text(404, "unknown session; send initialize")
    }
}

impl House {
    /// `Err` is also an answer: a rejection.
    async fn answer(&self, request: Request<Coming>) -> Result<Answered, Answered> {
        // The buffer's limit applies only if the headers arrive in pieces.
        if request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() > LARGEST_HEAD {
            return Err(answer::text(431, "the headers are longer than 64 KiB"));
        }
        self.doors.check(&request).map_err(|(status, why)| answer::text(status, why))?;
        if request.uri().path() != "/mcp" {
            return Err(answer::text(404, "the tools are at /mcp"));
        }
        match *request.method() {
            Method::POST => {}
            Method::DELETE => return Ok(self.end_session(request.headers())),
            _ => return Err(answer::not_allowed()),
        }
        let (head, body) = request.into_parts();
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
            return Err(answer::text(415, "send application/json"));
        }
        let bytes = tokio::time::timeout(self.patience, whole(body)).await.map_err(|_| answer::text(408, "the body took too long"))?;
        let message = match messages::read(&bytes.map_err(|(status, why)| answer::text(status, why))?) {
            Ok(message) => message,
            Err(error) => return Err(answer::json(400, &error)),
        };
        match message {
            ClientMessage::Request(request) => self.request(&head.headers, request).await,
            ClientMessage::Notice { method, params } => {
                if let Some(session) = self.session(&head.headers)? {
                    session.notice(&method, &params);
                }
                Ok(answer::accepted())
            }
            ClientMessage::Answer => Ok(answer::accepted()),
        }
    }

    /// Returns the session named by the client.
    fn session(&self, headers: &HeaderMap) -> Result<Option<Arc<ClientSession>>, Gone> {
        let Some(id) = headers.get("mcp-session-id") else { return Ok(None) };
        id.to_str().ok().and_then(|id| self.sessions.get(id)).map(Some).ok_or(Gone)
    }

    fn end_session(&self, headers: &HeaderMap) -> Answered {
        let Some(id) = headers.get("mcp-session-id") else { return answer::not_allowed() };
        match id.to_str().ok().and_then(|id| self.sessions.remove(id)) {
            Some(session) => {
                session.leave();
                answer::empty(204)
            }
            None => Gone.into(),
        }
    }

    async fn request(&self, headers: &HeaderMap, request: messages::ClientRequest) -> Result<Answered, Answered> {
        let id = request.id.clone();
        let refuse = |refused: Refused| answer::json(refused.status, &messages::error(Some(&id), &refused.error));
        let alone = protocol::version_of(&request.params).is_some();
        let session = if alone || request.method == "initialize" { None } else { self.session(headers)? };
        doors::check_headers(headers, &request).map_err(refuse)?;
        let version = session.as_ref().and_then(|session| session.version());
        match protocol::todo(self.server.tools(), request, version.as_ref()).map_err(refuse)? {
            Todo::Answer(result) => Ok(answer::json(200, &messages::result(&id, result))),
            Todo::Agreed(version, result) => {
                let (name, session) = self.sessions.begin();
                session.agree(version);
                Ok(answer::with_session(answer::json(200, &messages::result(&id, result)), &name))
            }
            Todo::Call(mut call) => {
                call.caller = call.caller.or_else(|| caller(headers).map(Box::new));
                let (out, mut messages) = channel(MOST_WAITING);
                let is_stateless = call.is_stateless;
                let entered = self.server.enter(&session.unwrap_or_default(), call);
                let entered = entered.map_err(|error| answer::json(200, &messages::error(Some(&id), &error)))?;
                // In older versions a lost connection cancels nothing; in this version it cancels the call.
                tokio::spawn(entered.carry(out, is_stateless));
                if takes_stream(headers) {
                    return Ok(answer::stream(messages));
                }
                while let Some(message) = messages.recv().await {
                    if message.get("id").is_some() {
                        return Ok(answer::json(200, &message));
                    }
                }
                Ok(answer::accepted())
            }
        }
    }
}

/// Reads the trace context from the headers, for calls without their own.
fn caller(headers: &HeaderMap) -> Option<TraceContext> {
    let said = |name: &str| headers.get(name)?.to_str().ok();
    TraceContext::read(said("traceparent")?, said("tracestate"))
}

fn takes_stream(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.split(',').any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream"))
}

/// Reads the body, up to its size limit.
async fn whole(mut body: Coming) -> Result<Vec<u8>, (u16, &'static str)> {
    const TOO_LARGE: (u16, &str) = (413, "a message has at most 1 MiB");
    if body.size_hint().lower() > LONGEST_MESSAGE as u64 {
        return Err(TOO_LARGE);
    }
    let mut bytes = vec![];
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| (400, "the body broke off"))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > LONGEST_MESSAGE {
            return Err(TOO_LARGE);
        }
    }
    Ok(bytes)
}
