//! An endpoint on this machine that takes JSON and answers JSON, one request after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};

use serde_json::Value;

/// Serves for as long as the tests run. `answers` is given the head and the body of each request (null if it has none).
pub(crate) fn served(mut answers: impl FnMut(&str, &Value) -> Value + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = answers(&head, &serde_json::from_slice(&body).unwrap_or_default()).to_string();
            let length = answer.len();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            let _ = stream.write_all((head + &answer).as_bytes());
        }
    });
    address
}
