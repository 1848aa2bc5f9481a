//! A loopback server for tests that simulates faults: it reads each request completely, then follows its script.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Makes an answer of a request.
pub(crate) type MakesReply = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// One action of the server.
#[derive(Clone)]
pub(crate) enum FaultAct {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends what this makes of the request.
    Reply(MakesReply),
    /// Sends bytes in separate pieces of this size.
    Trickle(Vec<u8>, usize),
    /// Sends bytes repeatedly, with a pause, until the client disconnects.
    Forever(Vec<u8>, Duration),
    /// Does nothing until the client disconnects.
    Stall,
    /// Resets the connection.
    Reset,
    /// Closes the connection.
    Close,
    /// Closes the connection once part of the next request has arrived.
    CloseOnNext,
}

/// The server. It ends with the test's runtime.
pub(crate) struct Faultd {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    gone: mpsc::UnboundedReceiver<()>,
}

impl Faultd {
    /// Starts a server that follows the script for each request of each connection.
    pub(crate) async fn start(script: Vec<FaultAct>) -> Faultd {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let (told, gone) = mpsc::unbounded_channel();
        let (seen, count) = (Arc::clone(&requests), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                tokio::spawn(serve(stream, script.clone(), Arc::clone(&seen), told.clone()));
            }
        });
        Faultd { address, requests, connections, gone }
    }

    /// Starts a server that sends one answer with a content type and a length, and keeps its connections open.
    pub(crate) async fn answering(status: &str, content_type: &str, body: impl AsRef<[u8]>) -> Faultd {
        Faultd::start(vec![FaultAct::Send(answer(status, &[("content-type", content_type)], body))]).await
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests received so far, head and body as text.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The number of connections.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// Waits until the client gives up a stalled or endless answer.
    pub(crate) async fn gone(&mut self) {
        tokio::time::timeout(Duration::from_secs(20), self.gone.recv()).await.expect("the connection was not closed").unwrap();
    }
}

/// An answer with its length.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.as_ref().len()).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.as_ref());
    bytes
}

/// A stream of events that ends with its connection.
pub(crate) fn stream(body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec();
    bytes.extend_from_slice(body.as_ref());
    bytes
}

async fn serve(mut stream: TcpStream, script: Vec<FaultAct>, seen: Arc<Mutex<Vec<String>>>, gone: mpsc::UnboundedSender<()>) {
    let _ = stream.set_nodelay(true);
    while let Some(request) = request(&mut stream).await {
        seen.lock().unwrap().push(request.clone());
        for act in &script {
            match act {
                FaultAct::Send(bytes) => {
                    if stream.write_all(bytes).await.is_err() {
                        let _ = gone.send(());
                        return;
                    }
                }
                FaultAct::Reply(make) => {
                    if stream.write_all(&make(&request)).await.is_err() {
                        return;
                    }
                }
                FaultAct::Trickle(bytes, size) => {
                    for piece in bytes.chunks(*size) {
                        if stream.write_all(piece).await.is_err() {
                            return;
                        }
                        tokio::task::yield_now().await;
                    }
                }
                FaultAct::Forever(bytes, pause) => {
                    while stream.write_all(bytes).await.is_ok() {
                        if !pause.is_zero() {
                            tokio::time::sleep(*pause).await;
                        }
                    }
                    let _ = gone.send(());
                    return;
                }
                FaultAct::Stall => {
                    let mut rest = [0; 64];
                    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                    let _ = gone.send(());
                    return;
                }
                FaultAct::Reset => {
                    let _ = stream.set_zero_linger();
                    return;
                }
                FaultAct::Close => return,
                FaultAct::CloseOnNext => {
                    let _ = stream.read(&mut [0; 1]).await;
                    return;
                }
            }
        }
    }
}

/// Reads one request; `None` if the connection ended.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text.into_owned());
        }
    }
}
