//! Whether a host answers: a connection is opened and closed, nothing is sent.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Connects to a host.
///
/// # Errors
/// Why it does not answer, in a few words.
pub fn reach(host: &str, port: u16, within: Duration) -> Result<(), String> {
    let (sender, found) = channel();
    let name = (host.to_owned(), port);
    // Looking a name up cannot be given a time; whoever waits for it can.
    let look_up = move || sender.send(name.to_socket_addrs().map(Iterator::collect::<Vec<_>>));
    std::thread::Builder::new().name("names".into()).spawn(look_up).map_err(|error| format!("the name cannot be looked up: {error}"))?;
    let addresses = match found.recv_timeout(within) {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(_)) => return Err("the name has no address".to_string()),
        Err(_) => return Err(format!("the name was not found within {}s", within.as_secs())),
    };
    let mut problem = "the name has no address".to_string();
    for address in addresses {
        match TcpStream::connect_timeout(&address, within) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => problem = format!("no answer within {}s", within.as_secs()),
            Err(error) => problem = error.to_string(),
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
        assert_eq!(reach("127.0.0.1", port, second), Ok(()));
        drop(listener);
        assert!(reach("127.0.0.1", port, second).unwrap_err().contains("refused"));
        assert!(reach("no-such-host.invalid", 1, second).is_err());
    }
}
