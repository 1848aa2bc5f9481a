//! The way of a program to the hosts of its list: a proxy for HTTP that flow runs in a thread of its own as long as the program runs.
//!
//! With bubblewrap the program's network has nothing but the listeners of the first stage, which flow holds (`handing`). With Landlock the proxy
//! listens on this machine, and the rules let the program connect to its port.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::handing::{MOST_HANDED, taken, waiting};
use super::kind::SandboxKind;
use super::passage::Passage;
use crate::environment::random_name;
use crate::http::literal;
use crate::model::{HostEntry, HostPort};
use crate::port::RefusedHost;

/// Where the proxy listens in a network of its own, or the next port that no listed address has.
const PORT: u16 = 8118;
/// The first port that needs no rights of root.
const LEAST_PORT: u16 = 1024;
/// The user name that goes with the token.
const USER: &str = "flow";

/// The way of one program to its hosts. It is shut when it is dropped.
pub(super) struct HostProxy {
    addresses: Vec<SocketAddr>,
    passage: Arc<Passage>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Where the program's connections come from.
enum Entrance {
    Listener(TcpListener),
    /// Listeners that the first stage hands over.
    Handed(UnixListener),
}

impl HostProxy {
    /// Opens the way to these hosts for a program in this kind of sandbox. `folder`: where flow and the first stage talk.
    ///
    /// # Errors
    /// Fails if the system gives no socket or no thread.
    pub(super) fn open(kind: SandboxKind, hosts: &[String], private_hosts: &[String], folder: &Path) -> std::io::Result<HostProxy> {
        let local = local_addresses(hosts);
        let (proxy, entrance) = match kind {
            SandboxKind::Landlock => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                listener.set_nonblocking(true)?;
                (listener.local_addr()?, Entrance::Listener(listener))
            }
            SandboxKind::Bubblewrap => {
                let port = (PORT..).find(|port| local.iter().all(|address| address.port() != *port)).unwrap_or(PORT);
                (SocketAddr::from((Ipv4Addr::LOCALHOST, port)), Entrance::Handed(waiting(folder)?))
            }
        };
        let credentials = format!("{USER}:{}", random_name());
        let passage = Arc::new(Passage::new(hosts.to_vec(), private_hosts, credentials));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let opened = Arc::clone(&passage);
        let thread = std::thread::Builder::new().name("proxy of a program".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = served(&opened, entrance) => {}
                }
            });
            // A name that is still looked up is not waited for.
            runtime.shutdown_background();
        })?;
        let addresses = std::iter::once(proxy).chain(local).collect();
        Ok(HostProxy { addresses, passage, stop: Some(stop), thread: Some(thread) })
    }

    /// What the program may connect to: the proxy, then the addresses of this machine that its list names.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The variables by which programs find a proxy.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let proxy = self.addresses.first().map(|address| format!("http://{}@{address}", self.passage.credentials())).unwrap_or_default();
        let proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];
        // Node looks at them only where this is set.
        let others = [("NO_PROXY", ""), ("no_proxy", ""), ("NODE_USE_ENV_PROXY", "1")];
        proxies.into_iter().map(move |name| (name, proxy.clone())).chain(others.map(|(name, value)| (name, value.to_owned())))
    }

    /// What the program was kept from so far.
    pub(super) fn refused(&self) -> Vec<RefusedHost> {
        self.passage.refused()
    }

    /// The same, for whoever asks while the program runs.
    pub(super) fn refused_so_far(&self) -> impl Fn() -> Vec<RefusedHost> + Send + Sync + use<> {
        let passage = Arc::clone(&self.passage);
        move || passage.refused()
    }
}

impl Drop for HostProxy {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The addresses of this machine that a list names with their port: a program may ask for them without a proxy. A lower port is one of services
/// everywhere, and Landlock knows no hosts.
fn local_addresses(hosts: &[String]) -> Vec<SocketAddr> {
    let of = |entry: &String| {
        let HostEntry { name, port: HostPort::Only(port) } = HostEntry::parse(entry) else { return None };
        let address = if name.eq_ignore_ascii_case("localhost") { Ipv4Addr::LOCALHOST.into() } else { literal(name)? };
        (address.is_loopback() && port >= LEAST_PORT).then(|| SocketAddr::new(address, port))
    };
    let mut found: Vec<SocketAddr> = hosts.iter().filter_map(of).collect();
    found.sort();
    found.dedup();
    found.truncate(MOST_HANDED - 1);
    found
}

async fn served(passage: &Arc<Passage>, entrance: Entrance) -> std::io::Result<()> {
    let mut listeners = match entrance {
        Entrance::Listener(listener) => vec![listener],
        Entrance::Handed(waiting) => {
            let waiting = tokio::net::UnixListener::from_std(waiting)?;
            taken(&waiting.accept().await?.0.into_std()?)?
        }
    };
    if listeners.is_empty() {
        return Err(std::io::Error::other("no listener was handed over"));
    }
    let proxy = tokio::net::TcpListener::from_std(listeners.remove(0))?;
    for listener in listeners {
        let (passage, address) = (Arc::clone(passage), listener.local_addr()?);
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::spawn(async move { passage.lead(&listener, address).await });
    }
    passage.serve(&proxy).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_those_with_a_port() {
        let hosts = [
            "localhost:9000", "127.0.0.1:8000", "127.0.0.1:8000", "[::1]:7000", "127.0.0.1:443", "127.0.0.1", "127.0.0.1:*",
            "10.0.0.1:6000", "b:4000",
        ];
        let found = local_addresses(&hosts.map(str::to_owned));
        assert_eq!(found.iter().map(SocketAddr::to_string).collect::<Vec<_>>(), ["127.0.0.1:8000", "127.0.0.1:9000", "[::1]:7000"]);
    }
}
