//! The token endpoint (RFC 6749): the request, how a client authenticates, and the response.

use std::time::Duration;

use base64::Engine;
use chrono::{DateTime, Utc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::assertion::assertion;
use super::challenge::is_scope;
use super::metadata::{Answered, Asker, auth_fault};
use crate::event::FailureKind;
use crate::http::HttpFault;
use crate::port::Secret;

/// Maximum length of a token, in bytes.
const LONGEST: usize = 64 << 10;

/// How a client authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Proof {
    None,
    Basic,
    Post,
    Jwt,
}

/// A client that is registered with an authorization server.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) key: Option<Secret>,
    pub(super) proof: Proof,
}

impl Client {
    /// A client that authenticates with a method that the server supports. If `methods` is empty, the server lists none, and a client with a secret
    /// uses `Basic`.
    pub(super) fn new(id: String, secret: Option<Secret>, key: Option<Secret>, methods: &[String]) -> Client {
        let takes = |method: &str| methods.iter().any(|taken| taken == method);
        let proof = match (&key, &secret) {
            (Some(_), _) => Proof::Jwt,
            (None, None) => Proof::None,
            (None, Some(_)) if methods.is_empty() || takes("client_secret_basic") => Proof::Basic,
            (None, Some(_)) if takes("client_secret_post") => Proof::Post,
            (None, Some(_)) if takes("none") => Proof::None,
            (None, Some(_)) => Proof::Basic,
        };
        Client { id, secret, key, proof }
    }
}

/// A token that was granted.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) scopes: Option<Vec<String>>,
}

/// Why no token was granted.
pub(super) enum TokenFault {
    /// The authorization server rejected the request: its error code, and a message to show.
    Refused {
        error: String,
        shown: String,
    },
    Fault(HttpFault),
}

impl From<HttpFault> for TokenFault {
    fn from(fault: HttpFault) -> TokenFault {
        TokenFault::Fault(fault)
    }
}

impl TokenFault {
    pub(super) fn into_fault(self) -> HttpFault {
        match self {
            TokenFault::Refused { shown, .. } => auth_fault(shown),
            TokenFault::Fault(fault) => fault,
        }
    }
}

/// Encodes a form, for a request body or a query string.
pub(super) fn encoded(form: &[(&str, &str)]) -> String {
    let mut url = Url::parse("http://localhost/").expect("an address");
    url.query_pairs_mut().extend_pairs(form);
    url.query().unwrap_or_default().to_owned()
}

/// Sends a form to an authorization server, authenticated as this client. `lacking`: what it did not do if it rejects the form.
pub(super) async fn post_form(
    asker: &Asker,
    url: &str,
    client: &Client,
    issuer: &str,
    form: &[(&str, &str)],
    lacking: &str,
) -> Result<Answered, TokenFault> {
    let mut form = form.to_vec();
    let mut headers = vec![];
    let signed;
    let secret = client.secret.as_ref().map(Secret::reveal).unwrap_or_default();
    match client.proof {
        Proof::Basic => {
            let part = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
            let both = base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", part(&client.id), part(secret)));
            asker.scrub.learn(&Secret::new(&both));
            headers.push(("Authorization".to_owned(), Secret::new(format!("Basic {both}"))));
        }
        Proof::Post => form.extend([("client_id", client.id.as_str()), ("client_secret", secret)]),
        Proof::None => form.push(("client_id", client.id.as_str())),
        Proof::Jwt => {
            let key = client.key.as_ref().ok_or_else(|| auth_fault("auth has no private_key"))?;
            signed = assertion(key, &client.id, issuer, asker.now()).map_err(auth_fault)?;
            asker.scrub.learn(&Secret::new(&signed));
            let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            form.extend([("client_id", client.id.as_str()), ("client_assertion_type", kind), ("client_assertion", signed.as_str())]);
        }
    }
    let body = ("application/x-www-form-urlencoded".to_owned(), encoded(&form).into_bytes());
    let mut answer = asker.send("POST", url, headers, Some(body)).await?;
    let status = answer.http.status();
    if status < 400 {
        return Ok(answer);
    }
    if status >= 500 || status == 429 {
        return Err(match answer.http.checked(asker.now()).await {
            Err(fault) => fault.into(),
            Ok(answer) => answer.fault(FailureKind::ServerError, lacking).into(),
        });
    }
    let said = asker.object(&mut answer).await.unwrap_or_default();
    let word = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default();
    let colon = if word("error_description").is_empty() { "" } else { ": " };
    let quoted = |key: &str| asker.scrub.short_quote(word(key));
    let why = if word("error").is_empty() { String::new() } else { format!(", {}{colon}{}", quoted("error"), quoted("error_description")) };
    let shown = answer.http.failure(FailureKind::Auth, format!("{lacking} ({status}{why})")).message;
    Err(TokenFault::Refused { error: word("error").to_owned(), shown })
}

/// The characters that RFC 3986 leaves unreserved.
const UNRESERVED: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Fetches a token. The scrub hides its values from then on.
pub(super) async fn token(asker: &Asker, url: &str, client: &Client, issuer: &str, form: &[(&str, &str)]) -> Result<Granted, TokenFault> {
    let now = asker.now();
    let said = asker.object(&mut post_form(asker, url, client, issuer, form, "returned no token").await?).await?;
    let bad = |what: &str| TokenFault::from(asker.fault(FailureKind::BadResponse, format!("the token endpoint {url} sent {what}")));
    let is_token = |token: &&str| !token.is_empty() && token.len() <= LONGEST && token.bytes().all(|byte| byte.is_ascii_graphic());
    let text = |key: &str| said.get(key).and_then(Value::as_str);
    for token in [text("access_token"), text("refresh_token")].into_iter().flatten() {
        asker.scrub.learn(&Secret::new(token));
    }
    let Some(access) = text("access_token").filter(is_token) else { return Err(bad("no access_token")) };
    if !text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(bad("a token that is not a bearer token"));
    }
    let seconds = said.get("expires_in").and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    let scopes = text("scope").map(|scope| scope.split(' ').filter(|scope| is_scope(scope)).map(str::to_owned).collect());
    Ok(Granted {
        access: Secret::new(access),
        refresh: text("refresh_token").filter(is_token).map(Secret::new),
        expires_at: seconds.map(|seconds| now + Duration::from_secs(seconds.min(10 * 365 * 86_400))),
        scopes,
    })
}
