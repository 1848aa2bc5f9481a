//! The HTTP clients behind all calls, and the resolution of host names to checked addresses.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustls_platform_verifier::BuilderVerifierExt;

use super::address::AddressRefusedError;
use super::{HttpSettings, address};
use crate::lock;

/// Maximum number of clients kept. There is one for each connect timeout and scheme in use; in practice there are only a few.
const MOST_CLIENTS: usize = 16;
/// How long an idle connection is kept open.
const KEPT_IDLE: Duration = Duration::from_secs(90);

/// Resolves host names.
pub(crate) trait HostLookup: Send + Sync + 'static {
    /// Returns all addresses of a name, in the order in which to try them.
    fn lookup(&self, host: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>>;
}

/// The name resolution of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemLookup;

impl HostLookup for SystemLookup {
    fn lookup(&self, host: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// Whether a name was not resolved because its address is not allowed.
pub(crate) fn is_refused(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<AddressRefusedError>())
}

/// Resolves a host and checks each address. One rejected address rejects the whole name, because an attacker's answer may mix both kinds.
pub(crate) async fn resolve(lookup: &dyn HostLookup, host: &str, private_hosts: &[String]) -> std::io::Result<Vec<IpAddr>> {
    let addresses = match address::literal(host) {
        Some(address) => vec![address],
        None => lookup.lookup(host.to_owned()).await?,
    };
    for address in &addresses {
        address::allowed(host, *address, private_hosts).map_err(std::io::Error::other)?;
    }
    if addresses.is_empty() {
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(addresses)
}

/// Why a client cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error("{}", super::fault::last_cause(.0))]
    Client(#[from] reqwest::Error),
}

/// The HTTP clients. Each keeps its own idle connections.
pub(crate) struct Connections {
    settings: Arc<HttpSettings>,
    lookup: Arc<dyn HostLookup>,
    open: Mutex<OpenConnections>,
}

/// The clients created so far.
#[derive(Default)]
struct OpenConnections {
    /// By whether they use TLS, and their connect timeout.
    clients: HashMap<(bool, Duration), reqwest::Client>,
    /// The TLS configuration with the root certificates of this machine, once it was needed.
    tls: Option<rustls::ClientConfig>,
}

impl OpenConnections {
    fn tls(&mut self, is_tls: bool) -> Result<rustls::ClientConfig, ClientError> {
        Ok(match &self.tls {
            Some(tls) if is_tls => tls.clone(),
            _ if is_tls => self.tls.insert(machine_roots()?).clone(),
            _ => no_roots()?,
        })
    }
}

impl Connections {
    pub(crate) fn new(settings: Arc<HttpSettings>, lookup: Arc<dyn HostLookup>) -> Connections {
        Connections { settings, lookup, open: Mutex::default() }
    }

    /// Returns a client for `https` or plain `http`, with a connect timeout. Root certificates are loaded once, for the first `https` client.
    pub(crate) fn client(&self, is_tls: bool, connect_timeout: Duration) -> Result<reqwest::Client, ClientError> {
        let mut open = lock(&self.open);
        if let Some(client) = open.clients.get(&(is_tls, connect_timeout)) {
            return Ok(client.clone());
        }
        let client = self.build(open.tls(is_tls)?, is_tls, connect_timeout)?;
        if open.clients.len() >= MOST_CLIENTS {
            open.clients.clear();
        }
        open.clients.insert((is_tls, connect_timeout), client.clone());
        Ok(client)
    }

    /// Creates a separate client that has no idle connections.
    pub(crate) fn unshared(&self, is_tls: bool, connect_timeout: Duration) -> Result<reqwest::Client, ClientError> {
        let tls = lock(&self.open).tls(is_tls)?;
        Ok(self.build(tls, is_tls, connect_timeout)?)
    }

    fn build(&self, tls: rustls::ClientConfig, is_tls: bool, connect_timeout: Duration) -> reqwest::Result<reqwest::Client> {
        let resolver = CheckedResolver { settings: Arc::clone(&self.settings), lookup: Arc::clone(&self.lookup), is_plain: !is_tls };
        let builder = reqwest::Client::builder()
            .user_agent(concat!("flow/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(connect_timeout)
            .pool_max_idle_per_host(usize::MAX)
            .pool_idle_timeout(KEPT_IDLE)
            .http2_max_header_list_size(u32::try_from(self.settings.max_headers).unwrap_or(u32::MAX))
            .dns_resolver(Arc::new(resolver))
            .tls_backend_preconfigured(tls);
        #[cfg(test)]
        let builder = if self.settings.is_http2 { builder.http2_prior_knowledge() } else { builder };
        builder.build()
    }
}

fn tls_builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider())).with_safe_default_protocol_versions()
}

/// A TLS configuration with the root certificates of this machine, which are read from disk.
fn machine_roots() -> Result<rustls::ClientConfig, rustls::Error> {
    let mut tls = tls_builder()?.with_platform_verifier()?.with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

/// A TLS configuration that trusts no certificate, for clients that never use TLS. Nothing is read from disk.
fn no_roots() -> Result<rustls::ClientConfig, rustls::Error> {
    Ok(tls_builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// The connect timeout within an attempt that has limited time: `asked`, or else a power of two of milliseconds. Rounding keeps the number of
/// different values small, so that attempts share their connections.
pub(crate) fn connect_time(asked: Duration, attempt: Duration) -> Duration {
    if asked < attempt {
        return asked;
    }
    let millis = u64::try_from(attempt.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis.checked_ilog2().map_or(1, |power| 1 << power))
}

/// A resolver whose checked addresses are the ones connected to, so that they cannot change after the check.
struct CheckedResolver {
    settings: Arc<HttpSettings>,
    lookup: Arc<dyn HostLookup>,
    /// Whether the data is sent unencrypted.
    is_plain: bool,
}

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let (settings, lookup, is_plain) = (Arc::clone(&self.settings), Arc::clone(&self.lookup), self.is_plain);
        Box::pin(async move {
            let addresses = resolve(lookup.as_ref(), name.as_str(), &settings.private_hosts).await?;
            for address in addresses.iter().filter(|_| is_plain) {
                address::may_be_plain(*address).map_err(std::io::Error::other)?;
            }
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as reqwest::dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_connect_is_inside_the_attempt_and_one_of_few() {
        let [second, minute] = [Duration::from_secs(1), Duration::from_secs(60)];
        assert_eq!(connect_time(second, minute), second);
        assert_eq!(connect_time(minute, second), Duration::from_millis(512));
        assert_eq!(connect_time(minute, Duration::from_micros(5)), Duration::from_millis(1));
        let all: std::collections::HashSet<Duration> =
            (1..60_000).map(|millis| connect_time(minute, Duration::from_millis(millis))).collect();
        assert!(all.len() <= MOST_CLIENTS);
    }
}
