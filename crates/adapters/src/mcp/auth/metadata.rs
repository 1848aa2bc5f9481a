//! Which authorization server issues tokens for a server: the server's metadata (RFC 9728) and that of its authorization server (RFC 8414, OpenID
//! Connect Discovery).
//!
//! All of it is untrusted: addresses must be `https` (or on this machine or an allowed private host), the names in a document must match the request,
//! and sizes are bounded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::Url;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::challenge::{Challenge, is_scope};
use super::command::LoginCommand;
use crate::event::{Failure, FailureKind};
use crate::http::{Http, HttpAnswer, HttpCall, HttpFault, in_words, is_loopback_host, read_json};
use crate::lock;
use crate::port::{Clock, Secret};
use crate::scrub::Scrub;

/// Maximum size of a document, and maximum length of an address in it, in bytes.
const LARGEST: usize = 256 << 10;
const LONGEST: usize = 2048;
/// Maximum number of scopes read from a document.
const MOST_SCOPES: usize = 100;

/// Requests documents and tokens. Each exchange is bounded in time, from connecting to the last byte, and in bytes.
#[derive(Clone)]
pub(in crate::mcp) struct Asker {
    pub(in crate::mcp) http: Http,
    pub(in crate::mcp) connect_timeout: Duration,
    pub(in crate::mcp) scrub: Scrub,
    pub(in crate::mcp) clock: Arc<dyn Clock>,
    /// The origin of the current request, so that a timeout can report which host it waited for.
    pub(in crate::mcp) awaited: Arc<Mutex<Option<String>>>,
    /// The command with which a person logs in.
    pub(in crate::mcp) command: LoginCommand,
}

/// An answer whose body must be read before its exchange times out.
pub(super) struct Answered {
    pub(super) http: HttpAnswer,
    until: Instant,
}

impl Asker {
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    pub(super) fn fault(&self, kind: FailureKind, message: impl AsRef<str>) -> HttpFault {
        HttpFault::before_sending(self.scrub.failure(kind, message))
    }

    pub(super) async fn send(
        &self,
        method: &'static str,
        url: &str,
        mut headers: Vec<(String, Secret)>,
        body: Option<(String, Vec<u8>)>,
    ) -> Result<Answered, HttpFault> {
        headers.push(("Accept".to_owned(), Secret::new("application/json")));
        let until = Instant::now() + self.http.exchange_time();
        *lock(&self.awaited) = Some(origin(url));
        let call = HttpCall { method, url, headers, body, is_repeatable: false, connect_timeout: self.connect_timeout, scrub: &self.scrub };
        let sent = timeout_at(until, self.http.send_any(call)).await;
        *lock(&self.awaited) = None;
        let http = sent.unwrap_or_else(|_| Err(self.late(&origin(url))))?;
        Ok(Answered { http, until })
    }

    fn late(&self, origin: &str) -> HttpFault {
        let time = in_words(self.http.exchange_time());
        self.fault(FailureKind::Timeout, format!("{} gave no whole answer within {time}", self.scrub.short_quote(origin)))
    }

    /// Reads the JSON object of an answer.
    pub(super) async fn object(&self, answer: &mut Answered) -> Result<Value, HttpFault> {
        let Answered { http, until } = answer;
        *lock(&self.awaited) = Some(http.origin.clone());
        let read = timeout_at(*until, http.bytes_within(LARGEST)).await;
        *lock(&self.awaited) = None;
        match read_json(&read.unwrap_or_else(|_| Err(self.late(&http.origin)))?) {
            Ok(object @ Value::Object(_)) => Ok(object),
            _ => Err(http.fault(FailureKind::BadResponse, "sent no JSON object")),
        }
    }

    /// Fetches a document; `None` if there is none.
    async fn document(&self, url: &str) -> Result<Option<Value>, HttpFault> {
        let mut answer = self.send("GET", url, vec![], None).await?;
        match answer.http.status() {
            200..300 => Ok(Some(self.object(&mut answer).await?)),
            300..500 => Ok(None),
            status => Err(answer.http.fault(FailureKind::ServerError, format!("answered {status} to the request for its metadata"))),
        }
    }

    /// An address from a document.
    fn address(&self, document: &Value, key: &str) -> Result<Option<String>, HttpFault> {
        let Some(value) = document.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        let text = value.as_str().unwrap_or_default();
        match self.usable(text) {
            true => Ok(Some(text.to_owned())),
            false => {
                let shown = self.scrub.short_quote(&value.to_string());
                let message = format!("{key} is {shown}, which is not an https:// address; it is not used");
                Err(self.fault(FailureKind::Blocked, message))
            }
        }
    }

    /// Whether an address is valid for fetching tokens, or for sending a person there.
    pub(super) fn usable(&self, text: &str) -> bool {
        let is_plain = text.len() <= LONGEST && text.chars().all(|c| c.is_ascii_graphic());
        let Some(url) = Url::parse(text).ok().filter(|_| is_plain) else { return false };
        let host = url.host_str().unwrap_or_default();
        let may_be_plain = || is_loopback_host(host) || self.http.private_hosts().iter().any(|listed| listed.eq_ignore_ascii_case(host));
        let is_web = url.scheme() == "https" || url.scheme() == "http" && may_be_plain();
        is_web && !host.is_empty() && url.username().is_empty() && url.password().is_none() && url.fragment().is_none()
    }
}

/// Scheme, host and port of an address.
pub(in crate::mcp) fn origin(address: &str) -> String {
    Url::parse(address).map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
}

/// The metadata of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// The name of the resource that tokens are issued for, exactly as the server writes it.
    pub(super) name: String,
    /// Its authorization servers.
    pub(super) issuers: Vec<String>,
    pub(super) scopes: Vec<String>,
    /// No metadata was found: as in protocol version 2025-03-26, the server's own host issues the tokens.
    pub(super) is_guess: bool,
}

/// Fetches the metadata of a server.
pub(super) async fn resource(asker: &Asker, server: &str, challenge: &Challenge) -> Result<Resource, HttpFault> {
    let wrong = |message: String| asker.fault(FailureKind::Blocked, message);
    let url = Url::parse(server).map_err(|_| wrong("the address of the server is not valid".to_owned()))?;
    let own = url.origin().ascii_serialization();
    let path = url.path().trim_end_matches('/');
    let known = |path: &str| format!("{own}/.well-known/oauth-protected-resource{path}");
    let places = match &challenge.resource_metadata {
        Some(named) if origin(named) != own => {
            let shown = asker.scrub.short_quote(named);
            return Err(wrong(format!("the server names {shown} for its metadata, which is not on its own host; it is not called")));
        }
        Some(named) => vec![named.clone()],
        None if path.is_empty() => vec![known("")],
        None => vec![known(path), known("")],
    };
    let mut found = None;
    for place in &places {
        found = asker.document(place).await?;
        if found.is_some() {
            break;
        }
    }
    let Some(found) = found else {
        return Ok(Resource { name: server.to_owned(), issuers: vec![own], scopes: vec![], is_guess: true });
    };
    let Some(name) = asker.address(&found, "resource")? else { return Err(wrong("the metadata of the server has no resource".to_owned())) };
    if !covers(&name, &url) {
        let shown = asker.scrub.short_quote(&name);
        return Err(wrong(format!("the metadata of the server is for {shown}, not for {server}; nothing is fetched with it")));
    }
    let listed = found.get("authorization_servers").and_then(Value::as_array).cloned().unwrap_or_default();
    let issuers: Vec<String> = listed.iter().filter_map(Value::as_str).filter(|issuer| asker.usable(issuer)).map(str::to_owned).collect();
    if issuers.is_empty() {
        let message = "the metadata of the server names no authorization server with an https:// address";
        return Err(wrong(message.to_owned()));
    }
    Ok(Resource { name, issuers, scopes: scopes(&found), is_guess: false })
}

/// Whether tokens for `resource` are meant for `server`: both have the same origin, and the path of `resource` contains that of `server`.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let folder = |url: &Url| format!("{}/", url.path().trim_end_matches('/'));
    resource.origin() == server.origin() && folder(server).starts_with(&folder(&resource))
}

fn scopes(document: &Value) -> Vec<String> {
    let listed = document.get("scopes_supported").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    listed.filter(|scope| is_scope(scope)).take(MOST_SCOPES).map(str::to_owned).collect()
}

/// The metadata of an authorization server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Issuer {
    /// Its exact name.
    pub(super) name: String,
    pub(super) authorize: Option<String>,
    pub(super) token: String,
    pub(super) register: Option<String>,
    pub(super) device: Option<String>,
    /// Where tokens are given back; no login needs it.
    pub(super) revoke: Option<String>,
    /// Supported client authentication methods; empty if the server lists none.
    pub(super) proofs: Vec<String>,
    pub(super) scopes: Vec<String>,
    /// Whether it adds `iss` to the redirect after a login (RFC 9207).
    pub(super) says_issuer: bool,
    /// Whether a client id may be the address of the client's own metadata.
    pub(super) takes_addresses: bool,
    /// Whether it supports PKCE with S256.
    pub(super) has_pkce: bool,
}

impl Issuer {
    /// The origins that receive requests or are shown to a person.
    pub(super) fn origins(&self) -> Vec<String> {
        let all = [Some(&self.name), self.authorize.as_ref(), Some(&self.token), self.register.as_ref(), self.device.as_ref()];
        let mut origins: Vec<String> = all.into_iter().flatten().map(|address| origin(address)).collect();
        origins.sort();
        origins.dedup();
        origins
    }
}

/// Fetches the metadata of an authorization server. If `is_guess`, no document named it, so it may have none.
pub(super) async fn issuer(asker: &Asker, name: &str, is_guess: bool) -> Result<Issuer, HttpFault> {
    let own = origin(name);
    let path = Url::parse(name).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let mut places =
        vec![format!("{own}/.well-known/oauth-authorization-server{path}"), format!("{own}/.well-known/openid-configuration{path}")];
    if !path.is_empty() {
        places.push(format!("{own}{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let Some(found) = asker.document(&place).await? else { continue };
        let said = found.get("issuer").and_then(Value::as_str).unwrap_or_default();
        if said != name {
            let said = asker.scrub.short_quote(said);
            return Err(
                asker.fault(FailureKind::Blocked, format!("the metadata at {place} is that of \"{said}\", not of {name}; it is not used"))
            );
        }
        let Some(token) = asker.address(&found, "token_endpoint")? else {
            return Err(asker.fault(FailureKind::BadResponse, format!("the metadata of {name} has no token_endpoint")));
        };
        let words = |key: &str| -> Vec<String> {
            let listed = found.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            listed.map(str::to_owned).collect()
        };
        let is = |key: &str| found.get(key).and_then(Value::as_bool).unwrap_or_default();
        return Ok(Issuer {
            name: name.to_owned(),
            authorize: asker.address(&found, "authorization_endpoint")?,
            token,
            register: asker.address(&found, "registration_endpoint")?,
            device: asker.address(&found, "device_authorization_endpoint")?,
            revoke: asker.address(&found, "revocation_endpoint").unwrap_or_default(),
            proofs: words("token_endpoint_auth_methods_supported"),
            scopes: scopes(&found),
            says_issuer: is("authorization_response_iss_parameter_supported"),
            takes_addresses: is("client_id_metadata_document_supported"),
            has_pkce: words("code_challenge_methods_supported").iter().any(|method| method == "S256"),
        });
    }
    if !is_guess {
        return Err(asker.fault(FailureKind::BadResponse, format!("the authorization server {name} has no metadata")));
    }
    // Fixed paths of protocol version 2025-03-26.
    Ok(Issuer {
        name: name.to_owned(),
        authorize: Some(format!("{own}/authorize")),
        token: format!("{own}/token"),
        register: Some(format!("{own}/register")),
        has_pkce: true,
        ..Issuer::default()
    })
}

/// An `auth` failure whose message says what a person has to do. The message is not scrubbed.
pub(super) fn auth_fault(message: impl Into<String>) -> HttpFault {
    HttpFault::before_sending(Failure::new(FailureKind::Auth, message.into()))
}
