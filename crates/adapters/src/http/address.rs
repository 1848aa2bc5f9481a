//! Which addresses may be called: checks the text of a URL, and the IP addresses that its host resolves to.
//!
//! `policy` has already decided whether the host may be called at all. This module rejects texts that hide their host, and names that resolve to an
//! unexpected place (private networks, this machine, the metadata services of clouds).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// The scope of an IP address (registries of special-purpose addresses, RFC 6890 and its updates).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpScope {
    /// Reachable over the internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// Not a valid place for a service: link-local (cloud metadata), multicast, reserved, documentation, forms that hide another address.
    Never,
}

/// The scope of an address. An IPv6 address that carries an IPv4 address has the scope of that address; if that is loopback, it is `Never`.
pub(crate) fn place(address: IpAddr) -> IpScope {
    match address {
        IpAddr::V4(v4) => place_v4(v4),
        IpAddr::V6(v6) => place_v6(v6),
    }
}

fn place_v4(address: Ipv4Addr) -> IpScope {
    match address.octets() {
        [127, ..] => IpScope::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => IpScope::Private,
        [0, ..] | [169, 254, ..] | [224..=255, ..] => IpScope::Never,
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => IpScope::Never,
        _ => IpScope::Public,
    }
}

fn place_v6(address: Ipv6Addr) -> IpScope {
    let carried = |high: u16, low: u16| {
        let place = place_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
        if place == IpScope::Loopback { IpScope::Never } else { place }
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => IpScope::Loopback,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => carried(high, low),
        [0x2002, high, low, ..] => carried(high, low),
        [0xfc00..=0xfdff, ..] => IpScope::Private,
        [0x2001, 0 | 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => IpScope::Never,
        [0x2000..=0x3fff, ..] => IpScope::Public,
        _ => IpScope::Never,
    }
}

/// An address that may not be called, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct AddressRefusedError(pub(crate) &'static str);

/// Checks that a host, as written, may resolve to this address.
pub(crate) fn allowed(host: &str, address: IpAddr, private_hosts: &[String]) -> Result<(), AddressRefusedError> {
    let is_listed = || private_hosts.iter().any(|listed| listed.eq_ignore_ascii_case(host));
    match place(address) {
        IpScope::Public if !is_local_name(host) => Ok(()),
        IpScope::Public | IpScope::Private if is_local_name(host) => {
            Err(AddressRefusedError("the name of this machine resolves to another machine"))
        }
        IpScope::Loopback if is_loopback_host(host) || is_listed() => Ok(()),
        IpScope::Private if is_listed() => Ok(()),
        IpScope::Loopback => Err(AddressRefusedError("the name resolves to this machine")),
        IpScope::Private | IpScope::Public => {
            Err(AddressRefusedError("the address is in a private network; your own settings can allow it with private_hosts"))
        }
        IpScope::Never => Err(AddressRefusedError("the address is reserved (link-local, multicast or the like)")),
    }
}

/// Checks that data may be sent to an address unencrypted: it must stay on this machine or in a private network.
pub(crate) fn may_be_plain(address: IpAddr) -> Result<(), AddressRefusedError> {
    match place(address) {
        IpScope::Loopback | IpScope::Private => Ok(()),
        IpScope::Public | IpScope::Never => {
            Err(AddressRefusedError("the name resolves to the internet, where http:// is not allowed; write https://"))
        }
    }
}

/// `localhost` and names under it (RFC 6761).
fn is_local_name(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Whether a host, as written, is this machine: `localhost` or a loopback address.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    is_local_name(host) || literal(host).is_some_and(|address| place(address) == IpScope::Loopback)
}

/// The IP address of a host, if it is not a name.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Why an address is not called. In messages, the text follows the address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("it contains {0:?}; percent-encode such characters, and write the host in its xn-- form")]
    Character(char),
    #[error("it is not a web address: {0}")]
    Syntax(#[source] <Url as std::str::FromStr>::Err),
    #[error("it must begin with https:// (or http:// for this machine)")]
    Scheme,
    #[error("it has no host")]
    NoHost,
    #[error("it must not contain a user name or password")]
    LogIn,
    #[error("its host must be written plainly, as {0}")]
    NotPlain(String),
    #[error("port 0 cannot be called")]
    Port,
    #[error("it must begin with https://; http:// is for this machine, and for private_hosts of your own settings")]
    Unencrypted,
    #[error(transparent)]
    Refused(#[from] AddressRefusedError),
}

/// Parses and checks the address of a call.
pub(crate) fn checked(text: &str, private_hosts: &[String]) -> Result<Url, AddressError> {
    if let Some(character) = text.chars().find(|character| !character.is_ascii_graphic() || *character == '\\') {
        return Err(AddressError::Character(character));
    }
    let url = Url::parse(text).map_err(AddressError::Syntax)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme);
    }
    let Some(host) = url.host_str() else { return Err(AddressError::NoHost) };
    let Some(written) = written_host(text) else { return Err(AddressError::LogIn) };
    if !written.eq_ignore_ascii_case(host) || host.ends_with('.') {
        return Err(AddressError::NotPlain(host.trim_end_matches('.').to_owned()));
    }
    if url.port() == Some(0) {
        return Err(AddressError::Port);
    }
    let is_listed = private_hosts.iter().any(|listed| listed.eq_ignore_ascii_case(host));
    if url.scheme() == "http" && !is_loopback_host(host) && !is_listed {
        return Err(AddressError::Unencrypted);
    }
    if let Some(address) = literal(host) {
        allowed(host, address, private_hosts)?;
        if url.scheme() == "http" {
            may_be_plain(address)?;
        }
    }
    Ok(url)
}

/// The host as written in the text of an http address; `None` if there is user information, even if it is empty.
fn written_host(text: &str) -> Option<&str> {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    if authority.contains('@') {
        return None;
    }
    match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => authority.get(..colon),
        _ => Some(authority),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_addresses_are_accepted() {
        for text in [
            "https://api.openai.com/v1/chat/completions",
            "https://API.Example.com:8443/x?y=%20#z",
            "https://xn--bcher-kva.example",
            "http://127.0.0.1:18101/v1",
            "http://127.8.9.1",
            "http://[::1]:8080/",
            "http://localhost:11434",
            "http://model.localhost:1",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]/",
        ] {
            assert!(checked(text, &[]).is_ok(), "{text}: {:?}", checked(text, &[]));
        }
    }

    #[test]
    fn addresses_that_hide_their_host_or_leave_the_rules_are_refused() {
        for text in [
            "https://a@b",
            "https://a:b@c/",
            "https://@c/",
            "https://:@c/",
            "https://good.example@evil.example/",
            "https://good.example%40evil.example/",
            "https://good.example\\@evil.example/",
            "https:\\\\evil.example\\",
            "https:/evil.example",
            "https:evil.example",
            "https:///evil.example",
            "//evil.example",
            "/path",
            "",
            "evil.example",
            "localhost:11434/v1",
            "https://",
            "https://?x",
            "https://:443/",
            "https://a:0/",
            "https://a:99999/",
            "https://a b/",
            "https://a\tb/",
            "ht\ntps://a/",
            " https://a/",
            "https://a/\r\nx",
            "https://a/\u{0}",
            "https://a/ü",
            "https://bücher.example/",
            "https://ａ.example/",
            "https://a。example/",
            "https://exa\u{ad}mple.com/",
            "https://exa%6dple.com/",
            "https://example.com./",
            "https://127.1/",
            "https://0x7f.1/",
            "https://0x7f000001/",
            "https://2130706433/",
            "https://017700000001/",
            "https://0177.0.0.1/",
            "https://127.0.0.1./",
            "https://0/",
            "https://0.0.0.0/",
            "https://[::]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://[0:0:0:0:0:ffff:a9fe:a9fe]/",
            "https://[::127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[64:ff9b::a9fe:a9fe]/",
            "https://[2002:7f00:1::]/",
            "https://[2001:0:1::1]/",
            "https://[fe80::1]/",
            "https://[fe80::1%25eth0]/",
            "https://[fc00::1]/",
            "https://[ff02::1]/",
            "https://169.254.169.254/latest/meta-data",
            "https://10.0.0.1/",
            "https://172.31.255.255/",
            "https://192.168.1.1/",
            "https://100.64.0.1/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
            "http://example.com/",
            "http://8.8.8.8/",
            "http://localhost.evil.example/",
            "http://notlocalhost/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "data:text/plain,x",
            "javascript:alert(1)",
            "ws://127.0.0.1/",
            "unix:/run/x.sock",
        ] {
            assert!(checked(text, &[]).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn a_private_address_is_called_only_where_its_host_is_listed() {
        let listed = ["llm.office.example".to_owned(), "192.168.1.5".to_owned()];
        let private = IpAddr::from([192, 168, 1, 5]);
        assert!(checked("https://192.168.1.5/", &listed).is_ok());
        assert!(checked("http://192.168.1.5:8080/v1", &listed).is_ok());
        assert!(checked("http://192.168.1.6:8080/v1", &listed).is_err());
        assert!(checked("http://8.8.8.8/v1", &["8.8.8.8".to_owned()]).is_err(), "the internet is not private because somebody says so");
        assert!(allowed("llm.office.example", private, &listed).is_ok());
        assert!(allowed("other.example", private, &listed).is_err());
        assert!(allowed("llm.office.example", IpAddr::from([169, 254, 169, 254]), &listed).is_err());
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_refused_and_localhost_leads_nowhere_else() {
        assert!(allowed("evil.example", IpAddr::from([127, 0, 0, 1]), &[]).is_err());
        assert!(allowed("localhost", IpAddr::from([127, 0, 0, 1]), &[]).is_ok());
        assert!(allowed("localhost", IpAddr::from([8, 8, 8, 8]), &["localhost".to_owned()]).is_err());
        assert!(allowed("localhost", IpAddr::from([10, 0, 0, 1]), &["localhost".to_owned()]).is_err());
    }

    proptest! {
        #[test]
        fn an_accepted_address_reads_back_with_the_host_that_was_written(text in "https?://[a-z0-9.:@%\\[\\]x/?#-]{0,40}") {
            if let Ok(url) = checked(&text, &[]) {
                let host = url.host_str().unwrap().to_owned();
                prop_assert!(text.contains(&host));
                prop_assert!(url.username().is_empty() && url.password().is_none());
                prop_assert!(url.scheme() == "https" || is_loopback_host(&host));
            }
        }

        #[test]
        fn an_ipv4_address_inside_an_ipv6_address_is_never_more_open(bytes: [u8; 4]) {
            let v4 = Ipv4Addr::from(bytes);
            if place_v4(v4) != IpScope::Public {
                prop_assert_ne!(place(IpAddr::V6(v4.to_ipv6_mapped())), IpScope::Public);
                prop_assert_ne!(place(IpAddr::V6(v4.to_ipv6_compatible())), IpScope::Public);
            }
        }
    }
}
