//! Checks whether a host answers, by opening and closing a connection. Nothing is sent.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Why a host cannot be reached.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum ReachError {
    #[error("the name cannot be looked up: {0}")]
    Thread(#[source] std::io::Error),
    #[error("the name has no address")]
    NoAddress(#[source] Option<std::io::Error>),
    #[error("the name was not found within {}s", .0.as_secs())]
    SlowName(Duration),
    #[error("no answer within {}s", .0.as_secs())]
    NoAnswer(Duration),
    #[error(transparent)]
    Connection(std::io::Error),
}

/// Connects to a host.
///
/// # Errors
/// Fails if the host does not answer.
pub fn reach(host: &str, port: u16, within: Duration) -> Result<(), ReachError> {
    let (sender, found) = channel();
    let name = (host.to_owned(), port);
    // A name lookup has no timeout, so it runs on another thread.
    let look_up = move || sender.send(name.to_socket_addrs().map(Iterator::collect::<Vec<_>>));
    std::thread::Builder::new().name("names".into()).spawn(look_up).map_err(ReachError::Thread)?;
    let addresses = match found.recv_timeout(within) {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(ReachError::NoAddress(Some(error))),
        Err(_) => return Err(ReachError::SlowName(within)),
    };
    let mut problem = ReachError::NoAddress(None);
    for address in addresses {
        match TcpStream::connect_timeout(&address, within) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => problem = ReachError::NoAnswer(within),
            Err(error) => problem = ReachError::Connection(error),
        }
    }
    Err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_answers_or_says_why_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let second = Duration::from_secs(1);
        assert!(reach("127.0.0.1", port, second).is_ok());
        drop(listener);
        assert!(reach("127.0.0.1", port, second).unwrap_err().to_string().contains("refused"));
        assert!(reach("no-such-host.invalid", 1, second).is_err());
    }
}
