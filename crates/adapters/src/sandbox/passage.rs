//! What the proxy of a program lets through: `CONNECT host:port`, and requests for plain http with the whole address, to hosts of the list and to
//! nothing else. Names are looked up here, and each address is checked that is connected to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::metered::{Meter, Metered};
use crate::diagnostic::{cut_words, visible};
use crate::http::{HostLookup, SystemLookup, checked, is_refused, literal, resolve};
use crate::lock;
use crate::model::HostEntry;
use crate::port::{MOST_REFUSED, RefusedHost};

/// Connections of a program at once; further ones wait.
const MOST_CONNECTIONS: usize = 256;
/// Bytes of all headers of a request.
const LARGEST_HEAD: usize = 64 << 10;
/// Time for the headers of a request, also between two requests on one connection.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Time to connect to one address.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Most characters of a host, and of a reason, that are kept.
const LONGEST: usize = 260;
/// Headers that are for the next station alone (RFC 9110, 7.6.1), and those that frame a message, which hyper makes anew.
const OF_ONE_STATION: [&str; 10] = [
    "connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
];

type Answer = Response<Either<Incoming, Full<Bytes>>>;

/// Which hosts a program reaches, and what it was kept from.
pub(super) struct Passage {
    hosts: Vec<String>,
    /// Hosts that may be in a private network: those of the user's settings, and addresses that the list writes out.
    private_hosts: Vec<String>,
    lookup: Arc<dyn HostLookup>,
    credentials: String,
    refused: Mutex<Vec<RefusedHost>>,
    seats: Arc<Semaphore>,
    /// Bytes that went through.
    moved: Arc<AtomicU64>,
}

/// Why a request gets no further.
enum NoWay {
    /// The program may not go there.
    Refused(RefusedHost),
    /// Nobody answers there.
    Unreachable(String),
}

impl Passage {
    /// The way to `hosts`. `credentials`: `user:password`, which each request must show.
    pub(super) fn new(hosts: Vec<String>, private_hosts: &[String], credentials: String) -> Passage {
        let addresses = hosts.iter().map(|entry| HostEntry::parse(entry).name).filter(|name| literal(name).is_some()).map(str::to_owned);
        Passage {
            private_hosts: private_hosts.iter().cloned().chain(addresses).collect(),
            hosts,
            lookup: Arc::new(SystemLookup),
            credentials,
            refused: Mutex::default(),
            seats: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            moved: Arc::default(),
        }
    }

    pub(super) fn credentials(&self) -> &str {
        &self.credentials
    }

    pub(super) fn refused(&self) -> Vec<RefusedHost> {
        lock(&self.refused).clone()
    }

    /// Takes the connections for the proxy, until it is dropped.
    pub(super) async fn serve(self: &Arc<Passage>, listener: &TcpListener) {
        loop {
            let (stream, seat) = self.next(listener).await;
            let passage = Arc::clone(self);
            tokio::spawn(async move { passage.connection(stream, Arc::new(seat)).await });
        }
    }

    /// Leads the connections straight to an address of this machine, until it is dropped.
    pub(super) async fn lead(self: &Arc<Passage>, listener: &TcpListener, address: SocketAddr) {
        loop {
            let (mut stream, seat) = self.next(listener).await;
            let passage = Arc::clone(self);
            tokio::spawn(async move {
                let _seat = seat;
                if let Ok(Ok(other)) = timeout(CONNECT_TIME, TcpStream::connect(address)).await {
                    passage.tunnel(&mut stream, other).await;
                }
            });
        }
    }

    /// The next connection, once there is room for it.
    async fn next(&self, listener: &TcpListener) -> (TcpStream, Option<OwnedSemaphorePermit>) {
        let seat = Arc::clone(&self.seats).acquire_owned().await.ok();
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                return (stream, seat);
            }
            // As long as this process has no file left to open.
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn connection(self: Arc<Passage>, stream: TcpStream, seat: Arc<Option<OwnedSemaphorePermit>>) {
        let service = hyper::service::service_fn(move |request| {
            let (passage, seat) = (Arc::clone(&self), Arc::clone(&seat));
            async move { Ok::<_, Infallible>(passage.answer(request, seat).await.unwrap_or_else(|refused| refused)) }
        });
        let mut settings = hyper::server::conn::http1::Builder::new();
        settings.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(LARGEST_HEAD);
        let _ = settings.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    }

    /// `Err` is an answer too: a refusal.
    async fn answer(
        self: &Arc<Passage>,
        mut request: Request<Incoming>,
        seat: Arc<Option<OwnedSemaphorePermit>>,
    ) -> Result<Answer, Answer> {
        if request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() > LARGEST_HEAD {
            return Err(error_answer(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are longer than 64 KiB"));
        }
        self.authorize(request.headers()).map_err(|answer| *answer)?;
        let is_tunnel = request.method() == Method::CONNECT;
        let (authority, scheme) = target(request.uri(), is_tunnel).map_err(|answer| *answer)?;
        let stream = self.way(&authority, scheme).await.map_err(|why| self.no_way(why))?;
        if !is_tunnel {
            return self.forward(request, &authority, stream, seat).await;
        }
        let passage = Arc::clone(self);
        tokio::spawn(async move {
            let _seat = seat;
            if let Ok(upgraded) = hyper::upgrade::on(&mut request).await {
                passage.tunnel(&mut TokioIo::new(upgraded), stream).await;
            }
        });
        Ok(Response::new(Either::Right(Full::default())))
    }

    fn authorize(&self, headers: &HeaderMap) -> Result<(), Box<Answer>> {
        let wanted = format!("Basic {}", BASE64_STANDARD.encode(&self.credentials));
        let mut given = headers.get_all(PROXY_AUTHORIZATION).iter();
        if given.next().is_some_and(|value| value.as_bytes() == wanted.as_bytes()) && given.next().is_none() {
            return Ok(());
        }
        let mut answer = error_answer(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "this is the proxy of another program");
        answer.headers_mut().insert(PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"flow\""));
        Err(Box::new(answer))
    }

    /// A connection to `host:port`, if the program may have one.
    async fn way(&self, authority: &str, scheme: &str) -> Result<TcpStream, NoWay> {
        let shown = |text: &str| cut_words(&visible(text), LONGEST);
        let refused = |rule: &str| NoWay::Refused(RefusedHost { host: shown(authority), rule: shown(rule) });
        let url = checked(&format!("https://{authority}/"), &self.private_hosts).map_err(|why| refused(&why.to_string()))?;
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        if !self.hosts.iter().any(|entry| HostEntry::parse(entry).fits(scheme, host, Some(port))) {
            return Err(refused("network does not list it"));
        }
        let unreachable = |why: &dyn std::fmt::Display| NoWay::Unreachable(format!("{} cannot be reached: {why}", shown(authority)));
        let addresses = resolve(self.lookup.as_ref(), host, &self.private_hosts).await;
        let addresses = addresses.map_err(|e| if is_refused(&e) { refused(&e.to_string()) } else { unreachable(&e) })?;
        let mut last = unreachable(&"it has no address");
        for address in addresses {
            match timeout(CONNECT_TIME, TcpStream::connect((address, port))).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = unreachable(&error),
                Err(_) => last = unreachable(&"it does not answer"),
            }
        }
        Err(last)
    }

    /// Notes a host that the program was kept from, and tells it.
    fn no_way(&self, why: NoWay) -> Answer {
        match why {
            NoWay::Refused(one) => {
                let answer = error_answer(StatusCode::FORBIDDEN, &format!("this program is kept from {}: {}", one.host, one.rule));
                let mut refused = lock(&self.refused);
                if refused.len() < MOST_REFUSED && refused.iter().all(|known| known.host != one.host) {
                    refused.push(one);
                }
                answer
            }
            NoWay::Unreachable(why) => error_answer(StatusCode::BAD_GATEWAY, &why),
        }
    }

    /// Sends a request for plain http on, framed anew.
    async fn forward(
        &self,
        request: Request<Incoming>,
        authority: &str,
        stream: TcpStream,
        seat: Arc<Option<OwnedSemaphorePermit>>,
    ) -> Result<Answer, Answer> {
        let unreachable = |why: &dyn std::fmt::Display| error_answer(StatusCode::BAD_GATEWAY, &format!("no answer came: {why}"));
        let meter = self.meter();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(Metered::new(stream, meter.clone()))).await.map_err(|e| unreachable(&e))?;
        tokio::spawn(async move {
            let _seat = seat;
            tokio::select! {
                _ = connection => {}
                () = meter.idle() => {}
            }
        });
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        head.uri = path.parse().map_err(|e: hyper::http::uri::InvalidUri| error_answer(StatusCode::BAD_REQUEST, &e.to_string()))?;
        head.version = Version::HTTP_11;
        for_next_station(&mut head.headers);
        head.headers.remove(CONTENT_LENGTH);
        let host = authority.strip_suffix(":80").unwrap_or(authority);
        head.headers.insert(HOST, HeaderValue::from_str(host).map_err(|e| error_answer(StatusCode::BAD_REQUEST, &e.to_string()))?);
        let (mut head, body) = sender.send_request(Request::from_parts(head, body)).await.map_err(|e| unreachable(&e))?.into_parts();
        for_next_station(&mut head.headers);
        Ok(Response::from_parts(head, Either::Left(body)))
    }

    /// Carries bytes both ways until both sides are done, or nothing moves.
    async fn tunnel<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(&self, here: &mut S, there: TcpStream) {
        let meter = self.meter();
        let mut there = Metered::new(there, meter.clone());
        tokio::select! {
            _ = copy_bidirectional_with_sizes(here, &mut there, PIECE, PIECE) => {}
            () = meter.idle() => {}
        }
    }

    fn meter(&self) -> Meter {
        Meter::new(Arc::clone(&self.moved))
    }
}

/// `host:port` of a request, and whether it is for https or http.
fn target(uri: &Uri, is_tunnel: bool) -> Result<(String, &'static str), Box<Answer>> {
    let wrong = |what: &str| Box::new(error_answer(StatusCode::BAD_REQUEST, what));
    let authority = uri.authority().ok_or_else(|| wrong("a proxy is asked with the whole address"))?;
    match (is_tunnel, uri.scheme_str(), authority.port_u16()) {
        (true, None, Some(_)) => Ok((authority.to_string(), "https")),
        (true, ..) => Err(wrong("CONNECT takes host:port")),
        (false, Some("http"), Some(_)) => Ok((authority.to_string(), "http")),
        (false, Some("http"), None) => Ok((format!("{authority}:80"), "http")),
        (false, ..) => Err(wrong("https goes by CONNECT")),
    }
}

/// Takes away what is for this station alone, and what the message itself names so.
fn for_next_station(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| ![HOST, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name))
        .collect();
    named.iter().for_each(|name| drop(headers.remove(name)));
    OF_ONE_STATION.iter().for_each(|name| drop(headers.remove(*name)));
}

fn error_answer(status: StatusCode, why: &str) -> Answer {
    let mut answer = Response::new(Either::Right(Full::from(format!("flow: {why}\n"))));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests;
