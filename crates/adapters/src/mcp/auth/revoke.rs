//! Giving the tokens of a login back (RFC 7009) when it is forgotten.

use std::path::PathBuf;
use std::sync::Arc;

use super::exchange::{Proof, post_form};
use super::kept::{KeptLogin, LoginPlace};
use super::metadata::{Asker, auth_fault, issuer, origin};
use super::{TokenFault, on_disk};
use crate::event::FailureKind;
use crate::http::HttpFault;
use crate::port::{ServerSignIn, ToolServer};

/// What became of the tokens of a login that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokensAfter {
    /// The authorization server on this origin takes them no more.
    Revoked(String),
    /// They may be taken until they expire: why.
    Valid(String),
}

/// Revokes the tokens of a login and removes it, also if they cannot be revoked. `None`: there was no login.
pub(in crate::mcp) async fn log_out(asker: &Asker, server: &ToolServer, folder: PathBuf) -> Result<Option<TokensAfter>, HttpFault> {
    let Some(place) = LoginPlace::for_server(folder, server).map(Arc::new) else { return Ok(None) };
    let at = Arc::clone(&place);
    // The lock is held until the login is removed, so that no run refreshes it meanwhile.
    let (_lock, login) = on_disk(move || Ok((at.lock()?, at.read()))).await?;
    let after = match login {
        Ok(None) => return Ok(None),
        Ok(Some(login)) => revoked(asker, &login).await.unwrap_or_else(|fault| TokensAfter::Valid(fault.failure.message)),
        Err(error) => TokensAfter::Valid(error.to_string()),
    };
    Ok(on_disk(move || place.remove()).await?.then_some(after))
}

async fn revoked(asker: &Asker, login: &KeptLogin) -> Result<TokensAfter, HttpFault> {
    login.secrets().for_each(|secret| asker.scrub.learn(&secret));
    let Some(url) = issuer(asker, &login.issuer, false).await?.revoke else {
        return Ok(TokensAfter::Valid(format!("{} has no revocation_endpoint", origin(&login.issuer))));
    };
    let place = origin(&url);
    if place != origin(&login.token_url) && place != origin(&login.issuer) {
        let message = format!("it names {place} for it, which had no part in the login; nothing was sent there");
        return Err(asker.fault(FailureKind::Blocked, message));
    }
    // Nobody was asked whether the file, as it is now, may send its secrets.
    let client = login.client(&ServerSignIn::default());
    if client.proof != Proof::None && client.secret.is_none() {
        return Ok(TokensAfter::Valid("the client proves itself with a secret of the file, which logout sends nowhere".to_owned()));
    }
    // A server that revokes the second revokes the first with it, and need not do so the other way around.
    let tokens = [("access_token", Some(&login.access_token)), ("refresh_token", login.refresh_token.as_ref())];
    for (kind, token) in tokens.into_iter().filter_map(|(kind, token)| Some((kind, token?))) {
        let form = [("token", token.as_str()), ("token_type_hint", kind)];
        let done = post_form(asker, &url, &client, &login.issuer, &form, "revoked no token").await;
        match done {
            Ok(_) => {}
            Err(TokenFault::Refused { error, .. })
                if error == "unsupported_token_type" && kind == "access_token" && login.refresh_token.is_some() => {}
            Err(TokenFault::Refused { shown, .. }) => return Err(auth_fault(shown)),
            Err(TokenFault::Fault(fault)) => return Err(fault),
        }
    }
    Ok(TokensAfter::Revoked(place))
}
