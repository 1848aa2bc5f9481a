//! Tokens for servers behind a web address (OAuth 2.1, as in the MCP specification of 2025-11-25 and later).
//!
//! A run never prompts a person: a token comes from a login that `flow tools login` stored, which is refreshed when necessary, or from the client's
//! own credentials. Secrets are only sent to addresses that the file names, to the server's own host, or to hosts that a person allowed at the login;
//! a server cannot redirect them elsewhere.
//!
//! How to add another grant: add a value to `Grant`, its request in `ServerTokens::fetched` or `login`, and the message for when there is no token.

mod assertion;
mod callback;
mod challenge;
mod command;
mod exchange;
mod kept;
mod login;
mod metadata;
mod revoke;

use std::path::PathBuf;
use std::sync::Mutex;

use chrono::{DateTime, Utc};

pub(super) use self::challenge::Challenge;
pub use self::command::LoginCommand;
pub(super) use self::command::Logins;
use self::exchange::{Client, Granted, TokenFault, token};
use self::kept::{KeptLogin, LoginPlace};
pub(super) use self::login::log_in;
pub use self::login::{LoginDone, LoginTalk, LoginWish};
pub(super) use self::metadata::Asker;
use self::metadata::{Issuer, Resource, auth_fault, issuer, origin, resource};
pub use self::revoke::TokensAfter;
pub(super) use self::revoke::log_out;
use crate::event::{Failure, FailureKind};
use crate::files::FileError;
use crate::http::HttpFault;
use crate::lock;
use crate::model::Grant;
use crate::port::{Secret, ServerSignIn, ServerTransport, ToolServer};

/// The tokens of one server.
pub(super) struct ServerTokens {
    asker: Asker,
    name: String,
    url: String,
    /// The `auth` section of the file; `None` if there is none, in which case a stored login may be used.
    sign_in: Option<ServerSignIn>,
    /// Where the login is stored; `None` if this process does not use logins.
    place: Option<LoginPlace>,
    current: Mutex<Option<Token>>,
    /// Only one task at a time fetches tokens.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Token {
    access: Secret,
    expires_at: Option<DateTime<Utc>>,
    scopes: Vec<String>,
}

impl ServerTokens {
    /// The tokens of a server; `None` if it is a program or sets its own `Authorization` header. `logins` is the folder of stored logins.
    pub(super) fn new(asker: Asker, server: &ToolServer, logins: Option<PathBuf>) -> Option<ServerTokens> {
        let ServerTransport::Http { url, auth, headers, .. } = &server.transport else { return None };
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        let place = logins.and_then(|folder| LoginPlace::for_server(folder, server));
        for secret in auth.iter().flat_map(|auth| auth.client_secret.iter().chain(&auth.private_key)) {
            asker.scrub.learn(secret);
        }
        Some(ServerTokens {
            asker,
            name: server.name.clone(),
            url: url.clone(),
            sign_in: auth.clone(),
            place,
            current: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// The token that requests currently carry.
    pub(super) fn current(&self) -> Option<Secret> {
        lock(&self.current).as_ref().map(|token| token.access.clone())
    }

    /// The host that a token is being requested from. After an abandoned wait, the host that was waited for.
    pub(super) fn awaited(&self) -> Option<String> {
        lock(&self.asker.awaited).clone()
    }

    /// Marks the tokens as ready: from now on only the server itself is waited for.
    pub(super) fn are_there(&self) {
        *lock(&self.asker.awaited) = None;
    }

    fn is_of_client(&self) -> bool {
        self.sign_in.as_ref().is_some_and(|auth| auth.grant == Grant::ClientCredentials)
    }

    fn use_login(&self, login: &KeptLogin) {
        login.secrets().for_each(|secret| self.asker.scrub.learn(&secret));
        let access = Secret::new(&login.access_token);
        *lock(&self.current) = Some(Token { access, expires_at: login.expires_at, scopes: login.scopes.clone() });
    }

    /// Fetches a token before a request, if one is known to be needed or the current one is about to expire.
    pub(super) async fn prepare(&self) -> Result<(), HttpFault> {
        let current = lock(&self.current).clone();
        let soon = self.asker.now() + std::time::Duration::from_secs(30);
        if current.as_ref().is_some_and(|token| token.expires_at.is_none_or(|at| at > soon)) {
            return Ok(());
        }
        let _alone = self.fetching.lock().await;
        if self.is_of_client() {
            let is_known = self.sign_in.as_ref().is_some_and(|auth| auth.token_url.is_some());
            return if current.is_some() || is_known { self.fetch(&Challenge::default()).await.map(drop) } else { Ok(()) };
        }
        if self.place.is_some() { self.take_login(current.as_ref().map(|token| &token.access), false).await.map(drop) } else { Ok(()) }
    }

    /// Fetches a new token after the server answered a request that `used` this token with 401, or with 403 because of its scopes. Returns whether
    /// there is a new token.
    pub(super) async fn renew(&self, used: Option<&Secret>, challenge: &Challenge, is_for_scopes: bool) -> Result<bool, HttpFault> {
        let _alone = self.fetching.lock().await;
        if self.current().as_ref() != used {
            return Ok(true);
        }
        if self.is_of_client() {
            let has = lock(&self.current).as_ref().map(|token| token.scopes.clone()).unwrap_or_default();
            let is_new = challenge.scopes.iter().any(|scope| !has.contains(scope));
            return if is_for_scopes && !is_new { Ok(false) } else { self.fetch(challenge).await };
        }
        match (is_for_scopes, used) {
            (false, Some(used)) => self.take_login(Some(used), true).await,
            // Only a person can grant more scopes. Without a login there is nothing to refresh.
            (true, _) | (false, None) => Ok(false),
        }
    }

    /// Uses the stored login, refreshed if it has expired or `is_rejected`. Returns false if there is none.
    async fn take_login(&self, used: Option<&Secret>, is_rejected: bool) -> Result<bool, HttpFault> {
        let Some(place) = self.place.clone() else { return Ok(false) };
        let is_needed = self.sign_in.is_some();
        let reading = place.clone();
        let Some(mut login) = on_disk(move || reading.read()).await? else {
            return if is_needed { Err(auth_fault(self.without_login())) } else { Ok(false) };
        };
        let is_fresh = |login: &KeptLogin| {
            let is_used = used.is_some_and(|used| used.reveal() == login.access_token);
            !(login.is_expired(self.asker.now()) || is_rejected && is_used)
        };
        if !is_fresh(&login) {
            // Another process may be refreshing it, so the login is read again under the lock.
            let locking = place.clone();
            let (lock, read) = on_disk(move || {
                let lock = locking.lock()?;
                Ok((lock, locking.read()?))
            })
            .await?;
            login = read.unwrap_or(login);
            if !is_fresh(&login) {
                login = self.refreshed(login).await?;
                let (writing, kept) = (place, login.clone());
                on_disk(move || writing.write(&kept)).await?;
            }
            drop(lock);
        }
        self.use_login(&login);
        Ok(true)
    }

    async fn refreshed(&self, login: KeptLogin) -> Result<KeptLogin, HttpFault> {
        login.secrets().for_each(|secret| self.asker.scrub.learn(&secret));
        let name = &self.name;
        let again = format!("log in again with: {}", self.command([]));
        let Some(refresh) = login.refresh_token.clone() else {
            return Err(auth_fault(format!("the login of server \"{name}\" has expired; {again}")));
        };
        let sign_in = self.sign_in.clone().unwrap_or_default();
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str()), ("resource", login.resource.as_str())];
        let client = login.client(&sign_in);
        match token(&self.asker, &login.token_url, &client, &login.issuer, &form).await {
            Ok(granted) => Ok(login.refreshed(granted)),
            Err(TokenFault::Refused { shown, .. }) => {
                Err(auth_fault(format!("the login of server \"{name}\" has ended ({shown}); {again}")))
            }
            Err(TokenFault::Fault(fault)) => Err(fault),
        }
    }

    /// Fetches a token with the client's own credentials.
    async fn fetch(&self, challenge: &Challenge) -> Result<bool, HttpFault> {
        let granted = self.fetched(challenge).await?;
        *lock(&self.current) =
            Some(Token { access: granted.access, expires_at: granted.expires_at, scopes: granted.scopes.unwrap_or_default() });
        Ok(true)
    }

    async fn fetched(&self, challenge: &Challenge) -> Result<Granted, HttpFault> {
        let auth = self.sign_in.clone().unwrap_or_default();
        let (found, given) = match (&auth.token_url, &auth.issuer) {
            // The file names the token endpoint, so no metadata is fetched.
            (Some(token), issuer) => {
                let name = issuer.clone().unwrap_or_else(|| origin(token));
                let resource = Resource { name: self.url.clone(), issuers: vec![], scopes: vec![], is_guess: true };
                (resource, Issuer { name, token: token.clone(), ..Issuer::default() })
            }
            (None, _) => discovered(&self.asker, &self.url, challenge, &auth).await?,
        };
        let named = [Some(&self.url), auth.issuer.as_ref(), auth.token_url.as_ref()];
        let is_named = named.into_iter().flatten().any(|address| origin(address) == origin(&given.token));
        if !is_named {
            let message = format!(
                "server \"{}\" names {} for its tokens, which the file does not name; nothing was sent there. If it is right, write \
                 token_url: {} (and issuer: {}) in its auth",
                self.name,
                origin(&given.token),
                given.token,
                given.name
            );
            return Err(self.asker.fault(FailureKind::Blocked, message));
        }
        let client =
            Client::new(auth.client_id.clone().unwrap_or_default(), auth.client_secret.clone(), auth.private_key.clone(), &given.proofs);
        let mut scopes = if auth.scopes.is_empty() { wanted(challenge, &found) } else { auth.scopes.clone() };
        let has = lock(&self.current).as_ref().map(|token| token.scopes.clone()).unwrap_or_default();
        add(&mut scopes, &has);
        add(&mut scopes, &challenge.scopes);
        let scope = scopes.join(" ");
        let mut form = vec![("grant_type", "client_credentials"), ("resource", found.name.as_str())];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let granted = token(&self.asker, &given.token, &client, &given.name, &form).await.map_err(TokenFault::into_fault)?;
        Ok(Granted { scopes: Some(granted.scopes.unwrap_or(scopes)), ..granted })
    }

    /// The command to log in, with additional scopes.
    fn command<'s>(&self, scopes: impl IntoIterator<Item = &'s str>) -> String {
        self.asker.command.to(&self.name, "--scope", scopes)
    }

    fn without_login(&self) -> String {
        format!("server \"{}\" needs a login; log in with: {}", self.name, self.command([]))
    }

    /// What to do after a 401 or 403 that a new token does not fix.
    pub(super) fn help(&self, challenge: &Challenge, is_for_scopes: bool) -> Option<String> {
        Some(match (self.is_of_client(), self.current().is_some()) {
            (true, _) if is_for_scopes => "the client may not have these scopes; ask whoever runs the authorization server".to_owned(),
            (true, _) => "the token of the authorization server is not accepted; see client_id and scopes in its auth".to_owned(),
            (false, true) if is_for_scopes => {
                format!("its login has too few scopes; log in with: {}", self.command(challenge.scopes.iter().map(String::as_str)))
            }
            (false, true) => format!("its login is no longer accepted; log in again with: {}", self.command([])),
            (false, false) if is_for_scopes || self.place.is_none() => return None,
            (false, false) => format!(
                "log in with: {}; or set auth: {{ client_id, client_secret }}, or headers: {{ Authorization: \"Bearer {{{{ secrets.NAME \
                 }}}}\" }} with a token of this server",
                self.command([])
            ),
        })
    }
}

/// The metadata of the server and of its authorization server: the one that the file names, otherwise the first one that the server names.
async fn discovered(asker: &Asker, url: &str, challenge: &Challenge, auth: &ServerSignIn) -> Result<(Resource, Issuer), HttpFault> {
    let found = resource(asker, url, challenge).await?;
    let chosen = match &auth.issuer {
        Some(named) if !found.is_guess && !found.issuers.contains(named) => {
            let shown = asker.scrub.short_quote(&found.issuers.join(", "));
            let message = format!("the file names the issuer {named}, and the server names {shown}; nothing was sent there");
            return Err(asker.fault(FailureKind::Blocked, message));
        }
        Some(named) => named.clone(),
        None => found.issuers.first().cloned().unwrap_or_default(),
    };
    let mut given = issuer(asker, &chosen, found.is_guess && auth.issuer.is_none()).await?;
    given.token = auth.token_url.clone().unwrap_or(given.token);
    Ok((found, given))
}

/// The scopes that a server requests.
fn wanted(challenge: &Challenge, found: &Resource) -> Vec<String> {
    if challenge.scopes.is_empty() { found.scopes.clone() } else { challenge.scopes.clone() }
}

fn add(scopes: &mut Vec<String>, more: &[String]) {
    for scope in more {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
}

/// Runs blocking work (reading a file, waiting for another process) on a separate thread.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, FileError> + Send + 'static) -> Result<T, HttpFault> {
    let done = tokio::task::spawn_blocking(work).await;
    let fault = |message: String| HttpFault::before_sending(Failure::new(FailureKind::Unavailable, message));
    done.map_err(|_| fault("flow ends".to_owned()))?.map_err(|error| fault(error.to_string()))
}

/// The state of a stored login, for display.
#[derive(Debug, Clone)]
pub struct LoginStanding {
    /// When its token expires; `None` if the authorization server did not say.
    pub until: Option<DateTime<Utc>>,
    /// Whether it is refreshed when it expires.
    pub is_refreshed: bool,
}

/// The state of a server's login; `None` if there is none.
///
/// # Errors
/// Fails if the login cannot be read.
pub fn standing(folder: PathBuf, server: &ToolServer) -> Result<Option<LoginStanding>, FileError> {
    let Some(place) = LoginPlace::for_server(folder, server) else { return Ok(None) };
    Ok(place.read()?.map(|login| LoginStanding { until: login.expires_at, is_refreshed: login.refresh_token.is_some() }))
}
