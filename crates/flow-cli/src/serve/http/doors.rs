//! Access control: host name, origin and token of a request; and whether headers match the message.

use std::net::{IpAddr, SocketAddr};

use base64::Engine;
use hyper::Request;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::messages;
use super::super::protocol::{Refused, STATELESS, version_of};
use crate::port::Secret;

/// The requests that are accepted.
#[derive(Debug, Clone)]
pub struct Doors {
    /// Accepted host names with ports, in lowercase.
    hosts: Vec<String>,
    /// The required token.
    token: Option<Secret>,
}

impl Doors {
    /// Creates the rules for a server at this address, with further names (`host` or `host:port`).
    pub fn new(address: SocketAddr, names: &[String], token: Option<Secret>) -> Doors {
        let port = address.port();
        let own = match address.ip() {
            ip if ip.is_unspecified() || ip.is_loopback() => None,
            IpAddr::V4(ip) => Some(ip.to_string()),
            IpAddr::V6(ip) => Some(format!("[{ip}]")),
        };
        let local = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        let mut hosts = vec![];
        for name in local.into_iter().chain(own).chain(names.iter().map(|name| name.to_lowercase())) {
            let has_port = name.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
            if has_port {
                hosts.push(name);
                continue;
            }
            hosts.push(format!("{name}:{port}"));
            hosts.extend((port == 80).then_some(name));
        }
        Doors { hosts, token }
    }

    /// Checks whether a request is accepted.
    ///
    /// # Errors
    /// The status and the reason of the rejection.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Result<(), (u16, &'static str)> {
        let headers = request.headers();
        let is_known = |host: &str| self.hosts.iter().any(|known| *known == host.to_lowercase());
        // Prevents DNS rebinding: a foreign host name must not let a browser in.
        let mut named = headers.get_all(HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok());
        let is_named_right = host.is_some_and(is_known) && named.next().is_none();
        if !is_named_right || request.uri().authority().is_some_and(|authority| !is_known(authority.as_str())) {
            return Err((403, "this host name is not allowed"));
        }
        let is_own =
            |origin: &hyper::header::HeaderValue| origin.to_str().ok().and_then(|o| o.strip_prefix("http://")).is_some_and(is_known);
        // A browser sends `none` for an address that a person typed. A page on another port (`same-site`) belongs to another program.
        let is_foreign = !headers.get_all("sec-fetch-site").iter().all(|site| site == "none" || site == "same-origin");
        if is_foreign || !headers.get_all(ORIGIN).iter().all(is_own) {
            return Err((403, "requests from pages of other sites are not allowed"));
        }
        if let Some(token) = &self.token {
            let shown = headers.get(AUTHORIZATION).and_then(|shown| shown.to_str().ok()).and_then(|shown| shown.split_once(' '));
            let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
            // Hashes are compared, so that the timing reveals nothing about the token.
            if shown.map(Sha256::digest) != Some(Sha256::digest(token.reveal())) {
                return Err((401, "send the token: Authorization: Bearer …"));
            }
        }
        Ok(())
    }
}

/// Checks that the headers that repeat parts of a request match it.
///
/// # Errors
/// They do not match, or one is missing.
pub(super) fn check_headers(headers: &HeaderMap, request: &messages::ClientRequest) -> Result<(), Refused> {
    let mismatch = |what: String| Refused::new(400, ErrorCode::HEADER_MISMATCH, what);
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => value.to_str().map(Some).map_err(|_| mismatch(format!("{name} is not plain text"))),
            (Some(_), Some(_)) => Err(mismatch(format!("{name} is there twice"))),
        }
    };
    let version = one("mcp-protocol-version")?;
    let Some(said) = version_of(&request.params) else {
        return match version {
            Some(version) if !ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version) => {
                Err(Refused::new(400, ErrorCode::INVALID_REQUEST, "the header MCP-Protocol-Version has an unsupported version"))
            }
            Some(version) if version == STATELESS.as_str() && request.method != "initialize" => {
                let message = format!("a request of {STATELESS} needs its version and clientCapabilities in _meta, too");
                Err(Refused::new(400, ErrorCode::INVALID_PARAMS, message))
            }
            _ => Ok(()),
        };
    };
    let agree = |header: &str, found: Option<&str>, said: &str| match found {
        Some(found) if found == said => Ok(()),
        Some(_) => Err(mismatch(format!("the header {header} does not match the message"))),
        None => Err(mismatch(format!("the header {header} is missing"))),
    };
    agree("MCP-Protocol-Version", version, said.as_str().unwrap_or_default())?;
    agree("Mcp-Method", one("mcp-method")?, &request.method)?;
    if request.method == "tools/call"
        && let Some(name) = request.params.get("name").and_then(Value::as_str)
    {
        let found = one("mcp-name")?.map(decoded).transpose().map_err(|()| mismatch("the header Mcp-Name is not valid Base64".into()))?;
        agree("Mcp-Name", found.as_deref(), name)?;
    }
    Ok(())
}

/// Decodes a value that is in Base64 because a header could not contain it.
fn decoded(value: &str) -> Result<String, ()> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else { return Ok(value.to_owned()) };
    let bytes = base64::engine::general_purpose::STANDARD.decode(inner).map_err(|_| ())?;
    String::from_utf8(bytes).map_err(|_| ())
}
