//! The local page to which the browser is redirected after a login. It serves one login.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Maximum size of a request in bytes, and the time allowed for reading one or writing its answer.
const LARGEST: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(5);

/// Parameters that an authorization server sends back with the browser.
#[derive(Debug, Default, Clone)]
pub(super) struct CameBack {
    pub(super) code: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) error: Option<String>,
    pub(super) description: Option<String>,
}

/// A local page that listens for the redirect.
pub(super) struct Callback {
    listener: TcpListener,
    pub(super) address: String,
}

impl Callback {
    pub(super) async fn open() -> std::io::Result<Callback> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = format!("http://127.0.0.1:{}/callback", listener.local_addr()?.port());
        Ok(Callback { listener, address })
    }

    /// Waits for a request with this `state`. Other requests receive a 404 answer and are ignored.
    pub(super) async fn visit(&self, state: &str) -> std::io::Result<CameBack> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            let Ok(Some(target)) = tokio::time::timeout(PATIENCE, request(&mut stream)).await else { continue };
            let found = came_back(&target, state);
            let (status, text) = match &found {
                Some(CameBack { error: None, code: Some(_), .. }) => {
                    ("200 OK", "Signed in as far as the browser knows. Close this page and look at the terminal.")
                }
                Some(_) => ("200 OK", "The login was not granted. Close this page and look at the terminal."),
                None => ("404 Not Found", "This page is not the end of a login."),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: \
                 no-referrer\r\nConnection: close\r\n\r\n{text}",
                text.len()
            );
            let _ = tokio::time::timeout(PATIENCE, stream.write_all(answer.as_bytes())).await;
            let _ = stream.shutdown().await;
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }
}

/// Reads a GET request and returns its target.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = vec![];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 2048];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        if bytes.len() > LARGEST {
            return None;
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    Some(text.lines().next()?.strip_prefix("GET ")?.split(' ').next()?.to_owned())
}

fn came_back(target: &str, state: &str) -> Option<CameBack> {
    let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok().filter(|url| url.path() == "/callback")?;
    let (mut found, mut is_ours) = (CameBack::default(), false);
    for (name, value) in url.query_pairs() {
        let value = value.into_owned();
        match &*name {
            "state" => is_ours = value == state,
            "code" => found.code = Some(value).filter(|code| !code.is_empty()),
            "iss" => found.issuer = Some(value),
            "error" => found.error = Some(value),
            "error_description" => found.description = Some(value),
            _ => {}
        }
    }
    is_ours.then_some(found)
}
