//! A model endpoint of the bench's own: OpenAI's chat format, streamed, on loopback, after a fixed time.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serves on a free port until the process ends. `says` gives the text of an answer from the body of its request.
///
/// # Errors
/// No port, or no thread, is to be had.
pub fn serve(delay: Duration, says: fn(&str) -> String) -> std::io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    std::thread::Builder::new().name("mock".into()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(answer_all(connection, delay, says));
            }
        });
    })?;
    Ok(address)
}

/// Answers the requests of one connection, one after the other.
async fn answer_all(mut connection: TcpStream, delay: Duration, says: fn(&str) -> String) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut read: Vec<u8> = vec![];
    loop {
        let (head, length) = loop {
            if let Some(head) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                break (head + 4, content_length(&read[..head]));
            }
            if connection.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        };
        while read.len() < head + length {
            if connection.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        }
        let answer = streamed(&says(&String::from_utf8_lossy(&read[head..head + length])));
        read.drain(..head + length);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        connection.write_all(answer.as_bytes()).await?;
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)
}

/// A whole answer as a stream of events, a few words each.
fn streamed(text: &str) -> String {
    let mut events = String::new();
    let mut event = |delta: serde_json::Value, finish: Option<&str>| {
        let chunk = serde_json::json!({
            "id": "c", "object": "chat.completion.chunk", "model": "mock",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        events.push_str(&format!("data: {chunk}\n\n"));
    };
    event(serde_json::json!({ "role": "assistant" }), None);
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    for words in words.chunks(4) {
        event(serde_json::json!({ "content": words.concat() }), None);
    }
    event(serde_json::json!({}), Some("stop"));
    events.push_str("data: {\"model\":\"mock\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n");
    events.push_str("data: [DONE]\n\n");
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}", events.len())
}
