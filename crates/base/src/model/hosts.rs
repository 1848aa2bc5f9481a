//! Hosts as lists name them: of a policy, and of a program.

use std::fmt;

use url::{Host, Url};

/// An entry of a list of hosts: `host`, `host:port` or `host:*`, each also with `*.host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostEntry<'a> {
    /// The name or the address, as written, perhaps with `*.` before it.
    pub name: &'a str,
    /// Its port.
    pub port: HostPort,
}

/// The port of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPort {
    /// None is written: https on 443, or the ports of a mail server.
    Usual,
    /// Every port.
    Any,
    /// This one.
    Only(u16),
}

/// Ports of mail servers.
const MAIL: [u16; 3] = [25, 465, 587];
/// The port of https.
const HTTPS: u16 = 443;

impl<'a> HostEntry<'a> {
    /// Reads an entry; any text is one.
    pub fn parse(entry: &'a str) -> HostEntry<'a> {
        let entry = entry.trim();
        let port = |text: &str| if text == "*" { Some(HostPort::Any) } else { text.parse().ok().map(HostPort::Only) };
        match entry.rsplit_once(':').and_then(|(name, text)| Some((name, port(text)?))) {
            Some((name, port)) => HostEntry { name, port },
            None => HostEntry { name: entry, port: HostPort::Usual },
        }
    }

    /// The port of https requests that it names; `None`: all of them.
    pub fn port(&self) -> Option<u16> {
        match self.port {
            HostPort::Usual => Some(HTTPS),
            HostPort::Any => None,
            HostPort::Only(port) => Some(port),
        }
    }

    /// Whether it names a host. Without a port it means https on 443, and the ports of a mail server; another port, and plain http, must be written out.
    pub fn fits(&self, scheme: &str, host: &str, port: Option<u16>) -> bool {
        let fits = match self.name.strip_prefix("*.") {
            Some(parent) => host.len() > parent.len() + 1 && host.to_lowercase().ends_with(&format!(".{}", parent.to_lowercase())),
            None => self.name.eq_ignore_ascii_case(host),
        };
        fits && match (self.port, scheme) {
            (HostPort::Any, _) => true,
            (HostPort::Only(wanted), _) => port == Some(wanted),
            (HostPort::Usual, "smtp") => port.is_none_or(|port| MAIL.contains(&port)),
            (HostPort::Usual, scheme) => scheme == "https" && port == Some(HTTPS),
        }
    }

    /// How its host must be written to be found: in small letters, its `xn--` form, an address plainly. `None`: it is no host, or names all of them.
    pub fn plain_name(&self) -> Option<String> {
        let (star, name) = self.name.strip_prefix("*.").map_or(("", self.name), |name| ("*.", name));
        let host = Host::parse(name.trim_end_matches('.')).ok().filter(|_| !name.contains('*'))?;
        let is_name = matches!(host, Host::Domain(_));
        (is_name || star.is_empty()).then(|| format!("{star}{host}"))
    }
}

impl fmt::Display for HostEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.port {
            HostPort::Usual => write!(f, "{name}"),
            HostPort::Any => write!(f, "{name}:*"),
            HostPort::Only(port) => write!(f, "{name}:{port}"),
        }
    }
}

/// An address as far as it is written out, if its host is; else `None`: only a run knows it. What a variable holds is never looked up, it
/// may be a secret. Of `https://a@b/c` the host is `b`, as for the client that calls it.
pub fn known_address(text: &str) -> Option<Url> {
    let authority = text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default())?;
    let is_whole = !authority.contains("{{") && !authority.contains("{%");
    Url::parse(text.split("{{").next().unwrap_or_default()).ok().filter(|url| is_whole && url.has_host())
}

/// What of the network a program may reach. `H`: a [`HostEntry`] as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProgramNetwork<H = String> {
    /// Nothing, not even this machine.
    #[default]
    None,
    /// These hosts.
    Hosts(Vec<H>),
    /// The internet and this machine.
    All,
}

impl<H> ProgramNetwork<H> {
    /// Whether it reaches nothing.
    pub fn is_none(&self) -> bool {
        match self {
            ProgramNetwork::None => true,
            ProgramNetwork::Hosts(_) | ProgramNetwork::All => false,
        }
    }

    /// The same with entries of another type.
    pub fn map<'a, T>(&'a self, of: impl FnMut(&'a H) -> T) -> ProgramNetwork<T> {
        match self {
            ProgramNetwork::None => ProgramNetwork::None,
            ProgramNetwork::Hosts(hosts) => ProgramNetwork::Hosts(hosts.iter().map(of).collect()),
            ProgramNetwork::All => ProgramNetwork::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_host_written_plainly() {
        let plain = |text| HostEntry::parse(text).plain_name();
        for fine in ["api.example.com", "127.0.0.1:8080", "[::1]:8080", "*.example.com:*", "localhost:1"] {
            assert_eq!(plain(fine).as_deref(), Some(HostEntry::parse(fine).name), "{fine}");
        }
        for (text, meant) in [("API.example.", "api.example"), ("0x7f.1:80", "127.0.0.1"), ("bücher.example", "xn--bcher-kva.example")] {
            assert_eq!(plain(text).as_deref(), Some(meant), "{text}");
        }
        for wrong in ["", "*", "*:443", "*.*.example", "a*.example", "*.10.0.0.1", "https://a", "a/b", "a@b", "a b", "a:99999", ":443"] {
            assert_eq!(plain(wrong), None, "{wrong}");
        }
    }
}
