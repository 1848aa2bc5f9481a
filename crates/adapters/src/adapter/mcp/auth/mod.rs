//! ServerTokens of servers behind a web address (OAuth 2.1, as the MCP specification of 2025-11-25 and later has it).
//!
//! In a run no person is asked for anything: a token comes from a login that `flow tools login` kept, and is refreshed, or the client
//! itself has the right (client credentials). Secrets go to addresses that the file names, to the server's own host, or where a person
//! agreed to at the login; a server cannot send them anywhere else.
//!
//! How to add another grant: a value of `Grant`, its request in `ServerTokens::fetched` or `login`, and what is said when there is no token.

mod assertion;
mod callback;
mod challenge;
mod command;
mod exchange;
mod kept;
mod login;
mod metadata;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

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
use crate::adapter::files::FileError;
use crate::adapter::held;
use crate::adapter::http::HttpFault;
use crate::event::{Failure, FailureKind};
use crate::model::Grant;
use crate::port::{Clock, Secret, ServerSignIn, ServerTransport, ToolServer};

/// The tokens of one server.
pub(super) struct ServerTokens {
    asker: Asker,
    clock: Arc<dyn Clock>,
    name: String,
    url: String,
    /// What the file says; `None`: nothing, so there may be a login.
    sign_in: Option<ServerSignIn>,
    /// Where its login is kept; `None`: this process uses none.
    place: Option<LoginPlace>,
    current: Mutex<Option<Token>>,
    /// ServerTokens are fetched by one at a time.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Token {
    access: Secret,
    expires_at: Option<DateTime<Utc>>,
    scopes: Vec<String>,
}

impl ServerTokens {
    /// Of a server; `logins`: the folder in which logins are kept.
    pub(super) fn new(asker: Asker, clock: Arc<dyn Clock>, server: &ToolServer, logins: Option<PathBuf>) -> Option<ServerTokens> {
        let ServerTransport::Http { url, auth, headers, .. } = &server.transport else { return None };
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        let place = logins.and_then(|folder| LoginPlace::of(folder, server));
        for secret in auth.iter().flat_map(|auth| auth.client_secret.iter().chain(&auth.private_key)) {
            asker.scrub.learn(secret);
        }
        Some(ServerTokens {
            asker,
            clock,
            name: server.name.clone(),
            url: url.clone(),
            sign_in: auth.clone(),
            place,
            current: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// The token that requests carry now.
    pub(super) fn current(&self) -> Option<Secret> {
        held(&self.current).as_ref().map(|token| token.access.clone())
    }

    /// Who is being asked for a token; after a wait that was given up, who was.
    pub(super) fn awaited(&self) -> Option<String> {
        held(&self.asker.awaited).clone()
    }

    /// From now on the server itself is waited for.
    pub(super) fn are_there(&self) {
        *held(&self.asker.awaited) = None;
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    fn is_of_client(&self) -> bool {
        self.sign_in.as_ref().is_some_and(|auth| auth.grant == Grant::ClientCredentials)
    }

    fn use_login(&self, login: &KeptLogin) {
        login.secrets().for_each(|secret| self.asker.scrub.learn(&secret));
        let access = Secret::new(&login.access_token);
        *held(&self.current) = Some(Token { access, expires_at: login.expires_at, scopes: login.scopes.clone() });
    }

    /// Before a request: a token that is known to be needed, or about to expire, is fetched.
    pub(super) async fn prepare(&self) -> Result<(), HttpFault> {
        let current = held(&self.current).clone();
        let soon = self.now() + std::time::Duration::from_secs(30);
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

    /// After a request that `used` this token was answered with 401, or with 403 because of its scopes: true, if there is another now.
    pub(super) async fn renew(&self, used: Option<&Secret>, challenge: &Challenge, is_for_scopes: bool) -> Result<bool, HttpFault> {
        let _alone = self.fetching.lock().await;
        if self.current().as_ref() != used {
            return Ok(true);
        }
        if self.is_of_client() {
            let has = held(&self.current).as_ref().map(|token| token.scopes.clone()).unwrap_or_default();
            let is_new = challenge.scopes.iter().any(|scope| !has.contains(scope));
            return if is_for_scopes && !is_new { Ok(false) } else { self.fetch(challenge).await };
        }
        match (is_for_scopes, used) {
            (false, Some(used)) => self.take_login(Some(used), true).await,
            // More scopes are a person's to give; without a login there is nothing to renew.
            (true, _) | (false, None) => Ok(false),
        }
    }

    /// Takes the login that is kept, refreshed if it has expired or `is_rejected`. False: there is none other than `used`.
    async fn take_login(&self, used: Option<&Secret>, is_rejected: bool) -> Result<bool, HttpFault> {
        let Some(place) = self.place.clone() else { return Ok(false) };
        let is_needed = self.sign_in.is_some();
        let reading = place.clone();
        let Some(mut login) = on_disk(move || reading.read()).await? else {
            return if is_needed { Err(auth_fault(self.without_login())) } else { Ok(false) };
        };
        let is_fresh = |login: &KeptLogin| {
            let is_used = used.is_some_and(|used| used.reveal() == login.access_token);
            !(login.is_expired(self.now()) || is_rejected && is_used)
        };
        if !is_fresh(&login) {
            // Another process may be refreshing it: whoever comes second takes what the first one brought.
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
        match token(&self.asker, &login.token_url, &client, &login.issuer, &form, self.now()).await {
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
        *held(&self.current) =
            Some(Token { access: granted.access, expires_at: granted.expires_at, scopes: granted.scopes.unwrap_or_default() });
        Ok(true)
    }

    async fn fetched(&self, challenge: &Challenge) -> Result<Granted, HttpFault> {
        let auth = self.sign_in.clone().unwrap_or_default();
        let (found, given) = match (&auth.token_url, &auth.issuer) {
            // All is known, so nobody else is asked.
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
            Client::of(auth.client_id.clone().unwrap_or_default(), auth.client_secret.clone(), auth.private_key.clone(), &given.proofs);
        let mut scopes = if auth.scopes.is_empty() { wanted(challenge, &found) } else { auth.scopes.clone() };
        let has = held(&self.current).as_ref().map(|token| token.scopes.clone()).unwrap_or_default();
        add(&mut scopes, &has);
        add(&mut scopes, &challenge.scopes);
        let scope = scopes.join(" ");
        let mut form = vec![("grant_type", "client_credentials"), ("resource", found.name.as_str())];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let granted = token(&self.asker, &given.token, &client, &given.name, &form, self.now()).await.map_err(TokenFault::into_fault)?;
        Ok(Granted { scopes: Some(granted.scopes.unwrap_or(scopes)), ..granted })
    }

    /// What a person types to log in, with these scopes besides.
    fn command<'s>(&self, scopes: impl IntoIterator<Item = &'s str>) -> String {
        self.asker.command.to(&self.name, "--scope", scopes)
    }

    fn without_login(&self) -> String {
        format!("server \"{}\" needs a login; log in with: {}", self.name, self.command([]))
    }

    /// What to do after a 401 or a 403 that no new token helps against.
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

/// The server's own metadata, and that of the authorization server: the one that the file names, else the first that the server names.
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

/// The scopes that a server asks for.
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

/// What waits for the disk, or for another process, where it does not hold others up.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, FileError> + Send + 'static) -> Result<T, HttpFault> {
    let done = tokio::task::spawn_blocking(work).await;
    let fault = |message: String| HttpFault::before_sending(Failure::new(FailureKind::Unavailable, message));
    done.map_err(|_| fault("flow ends".to_owned()))?.map_err(|error| fault(error.to_string()))
}

/// Forgets the login of a server; whether there was one.
///
/// # Errors
/// It cannot be removed.
pub fn log_out(folder: PathBuf, server: &ToolServer) -> Result<bool, FileError> {
    LoginPlace::of(folder, server).map_or(Ok(false), |place| place.remove())
}

/// What is kept of a server's login, for people.
#[derive(Debug, Clone)]
pub struct LoginStanding {
    /// Until when its token is good; `None`: the authorization server did not say.
    pub until: Option<DateTime<Utc>>,
    /// Whether it is refreshed then.
    pub is_refreshed: bool,
}

/// The login of a server; `None`: there is none.
///
/// # Errors
/// It cannot be read.
pub fn standing(folder: PathBuf, server: &ToolServer) -> Result<Option<LoginStanding>, FileError> {
    let Some(place) = LoginPlace::of(folder, server) else { return Ok(None) };
    Ok(place.read()?.map(|login| LoginStanding { until: login.expires_at, is_refreshed: login.refresh_token.is_some() }))
}
