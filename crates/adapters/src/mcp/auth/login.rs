//! Logging in: in a browser (authorization code with PKCE, RFC 7636 and 8252), or with a code on another device (RFC 8628).

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::callback::Callback;
use super::exchange::{Client, Granted, TokenFault, encoded, post_form, token};
use super::kept::{KeptLogin, LoginOf, LoginPlace};
use super::metadata::{Asker, Issuer, auth_fault, origin};
use super::{Challenge, add, discovered, on_disk, wanted};
use crate::environment::random_name;
use crate::event::FailureKind;
use crate::http::HttpFault;
use crate::port::{Secret, ServerSignIn, ServerTransport, ToolServer};

/// How long a person has to log in.
const PATIENCE: Duration = Duration::from_secs(600);

/// The options of a login.
#[derive(Debug, Clone, Default)]
pub struct LoginWish {
    /// Scopes in addition to those that the server requests.
    pub scopes: Vec<String>,
    /// Hosts that may receive requests for tokens (`host`, `host:port` or an origin).
    pub hosts: Vec<String>,
    /// Whether to log in with a code on another device.
    pub by_device: bool,
}

/// Interaction with the person who logs in.
pub trait LoginTalk: Send + Sync {
    /// Whether these origins, which the server names, may receive requests for a token.
    fn may_use(&self, issuer: &str, origins: &[String]) -> bool;
    /// Sends the person to the address where they log in with a browser.
    fn go_to(&self, address: &str);
    /// Shows the person an address, and the code to enter there, on any device.
    fn go_to_with_code(&self, address: &str, code: &str);
}

/// A completed login.
#[derive(Debug, Clone)]
pub struct LoginDone {
    /// The authorization server.
    pub issuer: String,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// Whether the login can be refreshed without a person.
    pub is_refreshed: bool,
}

/// Logs in and stores the login.
pub(in crate::mcp) async fn log_in(
    asker: &Asker,
    server: &ToolServer,
    challenge: &Challenge,
    folder: PathBuf,
    wish: &LoginWish,
    talk: &dyn LoginTalk,
) -> Result<LoginDone, HttpFault> {
    let none = || asker.fault(FailureKind::BadRequest, "only a server with a url has a login");
    let ServerTransport::Http { url, auth, .. } = &server.transport else { return Err(none()) };
    let place = LoginPlace::for_server(folder, server).ok_or_else(none)?;
    let auth = auth.clone().unwrap_or_default();
    auth.client_secret.iter().for_each(|secret| asker.scrub.learn(secret));
    let reading = place.clone();
    // A stored login that cannot be read is replaced.
    let before = on_disk(move || Ok(reading.read().ok().flatten())).await?;
    let (found, issuer) = discovered(asker, url, challenge, &auth).await?;
    let login = Login { asker, server, url, auth: &auth, issuer: &issuer, resource: &found.name, talk };
    login.agree(before.as_ref(), &wish.hosts)?;
    let mut scopes = if auth.scopes.is_empty() { wanted(challenge, &found) } else { auth.scopes.clone() };
    // Keeps the scopes that the same authorization server granted before.
    before.iter().filter(|before| before.issuer == issuer.name).for_each(|before| add(&mut scopes, &before.scopes));
    add(&mut scopes, &wish.scopes);
    if !scopes.is_empty() && issuer.scopes.iter().any(|scope| scope == "offline_access") {
        add(&mut scopes, &["offline_access".to_owned()]);
    }
    let callback = if wish.by_device { None } else { Some(opened(asker).await?) };
    let (client, is_registered) = login.client(callback.as_ref().map(|callback| callback.address.as_str())).await?;
    let scope = scopes.join(" ");
    let granted = match &callback {
        Some(callback) => login.in_browser(&client, &scope, callback).await?,
        None => login.by_device(&client, &scope).await?,
    };
    let login = KeptLogin::new(
        LoginOf {
            server,
            url,
            issuer: &issuer.name,
            token_url: &issuer.token,
            client: &client,
            is_registered,
            resource: &found.name,
            scopes,
        },
        granted,
    );
    let done = LoginDone { issuer: login.issuer.clone(), scopes: login.scopes.clone(), is_refreshed: login.refresh_token.is_some() };
    on_disk(move || {
        let _lock = place.lock()?;
        place.write(&login)
    })
    .await?;
    Ok(done)
}

async fn opened(asker: &Asker) -> Result<Callback, HttpFault> {
    let fault =
        |error: std::io::Error| asker.fault(FailureKind::Unavailable, format!("no local page can be opened for the login: {error}"));
    Callback::open().await.map_err(fault)
}

/// A login in progress.
struct Login<'a> {
    asker: &'a Asker,
    server: &'a ToolServer,
    url: &'a str,
    auth: &'a ServerSignIn,
    issuer: &'a Issuer,
    resource: &'a str,
    talk: &'a dyn LoginTalk,
}

impl Login<'_> {
    /// Checks that a person allowed every host that receives a secret. Hosts that the file, the command (`hosts`) or an earlier login names, and the
    /// server's own host, need no confirmation.
    fn agree(&self, before: Option<&KeptLogin>, hosts: &[String]) -> Result<(), HttpFault> {
        let named = [Some(self.url), self.auth.issuer.as_deref(), self.auth.token_url.as_deref()].into_iter().flatten().map(origin);
        let mut known: Vec<String> = named.collect();
        let is_wished = |origin: &String| {
            let rest = origin.split_once("://").map_or("", |(_, rest)| rest);
            let host =
                rest.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit())).map_or(rest, |(host, _)| host);
            // A host without a port means the default port of its scheme.
            hosts.iter().any(|wished| wished == origin || wished == rest || wished == host && rest == host)
        };
        known.extend(self.issuer.origins().into_iter().filter(is_wished));
        known.extend(before.into_iter().flat_map(|before| [origin(&before.issuer), origin(&before.token_url)]));
        let new: Vec<String> = self.issuer.origins().into_iter().filter(|origin| !known.contains(origin)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let (name, shown) = (&self.server.name, new.join(", "));
        let origins = new.iter().filter_map(|origin| Some(origin.split_once("://")?.1));
        let command = self.asker.command.to(name, "--yes-host", origins);
        if let Some(before) = before.filter(|before| origin(&before.issuer) != origin(&self.issuer.name)) {
            let message = format!(
                "server \"{name}\" named {} for its logins before, and names {} now ({shown}); nothing was sent there. If its owner confirms \
                 this, run: {command}",
                before.issuer, self.issuer.name
            );
            return Err(self.asker.fault(FailureKind::Blocked, message));
        }
        if self.talk.may_use(&self.issuer.name, &new) {
            return Ok(());
        }
        let message = format!(
            "server \"{name}\" uses {shown} for logins, which the file does not name; nothing was sent there. If this is right, run: {command}"
        );
        Err(self.asker.fault(FailureKind::Blocked, message))
    }

    /// The client of a login, and whether it was registered for this login.
    async fn client(&self, redirect: Option<&str>) -> Result<(Client, bool), HttpFault> {
        let own =
            |id: &String| Client::new(id.clone(), self.auth.client_secret.clone(), self.auth.private_key.clone(), &self.issuer.proofs);
        match &self.auth.client_id {
            // A client id that is an address refers to the client's own metadata, for authorization servers that support this.
            Some(id) if !id.starts_with("https://") || self.issuer.takes_addresses => return Ok((own(id), false)),
            _ => {}
        }
        let name = &self.server.name;
        let Some(register) = &self.issuer.register else {
            let message = format!(
                "the authorization server {} has no client registration; register a client there yourself (redirect address http://127.0.0.1/callback) and \
                 write auth: {{ client_id: … }} for server \"{name}\"",
                self.issuer.name
            );
            return Err(auth_fault(message));
        };
        let proof = ["none", "client_secret_basic", "client_secret_post"]
            .into_iter()
            .find(|way| self.issuer.proofs.iter().any(|taken| taken == way));
        let grants = match redirect {
            Some(_) => json!(["authorization_code", "refresh_token"]),
            None => json!(["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]),
        };
        let mut wish = json!({
            "client_name": "flow",
            "application_type": "native",
            "redirect_uris": redirect.into_iter().collect::<Vec<_>>(),
            "grant_types": grants,
            "token_endpoint_auth_method": proof.unwrap_or("none"),
        });
        if redirect.is_some() {
            wish["response_types"] = json!(["code"]);
        }
        let mut answer =
            self.asker.send("POST", register, vec![], Some(("application/json".to_owned(), wish.to_string().into_bytes()))).await?;
        if answer.http.status() >= 400 {
            return Err(match answer.http.checked(self.asker.now()).await {
                Err(fault) => fault,
                Ok(answer) => answer.fault(FailureKind::BadResponse, "registered no client"),
            });
        }
        let said = self.asker.object(&mut answer).await?;
        let text = |key: &str| said.get(key).and_then(Value::as_str).filter(|text| !text.is_empty() && text.len() <= 4096);
        let Some(id) = text("client_id") else {
            return Err(answer.http.fault(FailureKind::BadResponse, "registered a client without a client_id"));
        };
        let secret = text("client_secret").map(Secret::new);
        secret.iter().for_each(|secret| self.asker.scrub.learn(secret));
        let methods = text("token_endpoint_auth_method").map_or_else(|| self.issuer.proofs.clone(), |method| vec![method.to_owned()]);
        Ok((Client::new(id.to_owned(), secret, None, &methods), true))
    }

    async fn token(&self, client: &Client, form: &[(&str, &str)]) -> Result<Granted, TokenFault> {
        token(self.asker, &self.issuer.token, client, &self.issuer.name, form).await
    }

    fn refused(&self, message: &str) -> HttpFault {
        self.asker.fault(FailureKind::Auth, message)
    }

    async fn in_browser(&self, client: &Client, scope: &str, callback: &Callback) -> Result<Granted, HttpFault> {
        let (Some(authorize), true) = (&self.issuer.authorize, self.issuer.has_pkce) else {
            let what = if self.issuer.has_pkce { "has no page to log in" } else { "does not declare PKCE with S256" };
            return Err(self.refused(&format!("the authorization server {} {what}; the login was not started", self.issuer.name)));
        };
        let (state, verifier) = (random_name(), format!("{}{}", random_name(), random_name()));
        self.asker.scrub.learn(&Secret::new(&verifier));
        let hashed = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let mut form = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", callback.address.as_str()),
            ("state", state.as_str()),
            ("code_challenge", hashed.as_str()),
            ("code_challenge_method", "S256"),
            ("resource", self.resource),
        ];
        form.extend((!scope.is_empty()).then_some(("scope", scope)));
        // Some servers only issue a refresh token if the person is asked for consent.
        form.extend(scope.split(' ').any(|scope| scope == "offline_access").then_some(("prompt", "consent")));
        let sign = if authorize.contains('?') { '&' } else { '?' };
        self.talk.go_to(&format!("{authorize}{sign}{}", encoded(&form)));
        let visit = tokio::time::timeout(PATIENCE, callback.visit(&state)).await;
        let came = match visit {
            Ok(came) => came.map_err(|error| self.refused(&format!("the browser cannot come back: {error}")))?,
            Err(_) => return Err(self.refused("no login within 10 minutes")),
        };
        // RFC 9207: the names must match exactly.
        let quoted = |text: &str| self.asker.scrub.short_quote(text);
        match &came.issuer {
            Some(issuer) if *issuer != self.issuer.name => {
                let message =
                    format!("the browser came back from \"{}\", not from {}; its code is not used", quoted(issuer), self.issuer.name);
                return Err(self.refused(&message));
            }
            None if self.issuer.says_issuer => {
                let message = format!(
                    "the browser came back without the name of {} (iss), which it promises; its code is not used",
                    self.issuer.name
                );
                return Err(self.refused(&message));
            }
            _ => {}
        }
        if let Some(error) = &came.error {
            let about = came.description.as_ref().map(|about| format!(": {}", quoted(about))).unwrap_or_default();
            return Err(self.refused(&format!("the login was not granted ({}{about})", quoted(error))));
        }
        let Some(code) = &came.code else { return Err(self.refused("the browser came back without a code")) };
        self.asker.scrub.learn(&Secret::new(code));
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", callback.address.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", self.resource),
        ];
        self.token(client, &form).await.map_err(TokenFault::into_fault)
    }

    async fn by_device(&self, client: &Client, scope: &str) -> Result<Granted, HttpFault> {
        let Some(device) = &self.issuer.device else {
            return Err(self.refused(&format!("the authorization server {} has no device login; omit --device", self.issuer.name)));
        };
        let mut form = vec![("resource", self.resource)];
        form.extend((!scope.is_empty()).then_some(("scope", scope)));
        let said = post_form(self.asker, device, client, &self.issuer.name, &form, "returned no code").await;
        let said = self.asker.object(&mut said.map_err(TokenFault::into_fault)?).await?;
        let text = |key: &str| said.get(key).and_then(Value::as_str);
        let number = |key: &str| said.get(key).and_then(Value::as_u64);
        let (Some(code), Some(shown), Some(page)) = (text("device_code"), text("user_code"), text("verification_uri")) else {
            return Err(self.refused("the authorization server returns no code for the device"));
        };
        if !self.asker.usable(page) || shown.len() > 64 || !shown.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
            return Err(self.refused("the authorization server returns no code, or no https:// address, that can be shown"));
        }
        self.asker.scrub.learn(&Secret::new(code));
        self.talk.go_to_with_code(page, shown);
        let form = [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code), ("resource", self.resource)];
        let mut wait = Duration::from_secs(number("interval").unwrap_or(5).clamp(1, 60));
        let until = tokio::time::Instant::now() + Duration::from_secs(number("expires_in").unwrap_or(600)).min(PATIENCE * 2);
        while tokio::time::Instant::now() < until {
            tokio::time::sleep(wait).await;
            match self.token(client, &form).await {
                Err(TokenFault::Refused { error, .. }) if error == "authorization_pending" => {}
                Err(TokenFault::Refused { error, .. }) if error == "slow_down" => wait += Duration::from_secs(5),
                Err(TokenFault::Fault(fault)) if matches!(fault.failure.kind, FailureKind::Connection | FailureKind::Timeout) => wait *= 2,
                granted => return granted.map_err(TokenFault::into_fault),
            }
        }
        Err(self.refused("the code was not entered in time"))
    }
}
