//! Stored logins: one file per server, user and project, readable only by the user.
//!
//! A login belongs to one project: a file of another project that names the same server cannot use it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::exchange::{Client, Granted, Proof};
use crate::files::{self, FileError, cannot};
use crate::os;
use crate::port::{Secret, ServerSignIn, ServerTransport, ToolServer};

/// Version of the file format, and maximum size of a file in bytes.
const VERSION: u64 = 1;
const LARGEST: u64 = 512 * 1024;

/// A login.
// It contains secrets, so it has no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptLogin {
    flow: u64,
    /// The address of the server.
    pub(super) server: String,
    pub(super) project: PathBuf,
    pub(super) issuer: String,
    pub(super) token_url: String,
    pub(super) client_id: String,
    /// The secret of a client that was registered for this login. A secret from the author's file is not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    proof: Proof,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
    pub(super) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<DateTime<Utc>>,
}

/// The properties of a new login.
pub(super) struct LoginOf<'a> {
    pub(super) server: &'a ToolServer,
    pub(super) url: &'a str,
    pub(super) issuer: &'a str,
    pub(super) token_url: &'a str,
    pub(super) client: &'a Client,
    pub(super) is_registered: bool,
    pub(super) resource: &'a str,
    pub(super) scopes: Vec<String>,
}

impl KeptLogin {
    pub(super) fn new(of: LoginOf, granted: Granted) -> KeptLogin {
        KeptLogin {
            flow: VERSION,
            server: of.url.to_owned(),
            project: whole(&of.server.project),
            issuer: of.issuer.to_owned(),
            token_url: of.token_url.to_owned(),
            client_id: of.client.id.clone(),
            client_secret: of.client.secret.as_ref().filter(|_| of.is_registered).map(plain),
            proof: of.client.proof,
            resource: of.resource.to_owned(),
            scopes: granted.scopes.unwrap_or(of.scopes),
            access_token: plain(&granted.access),
            refresh_token: granted.refresh.as_ref().map(plain),
            expires_at: granted.expires_at,
        }
    }

    /// Returns the login with the tokens of a refresh.
    pub(super) fn refreshed(self, granted: Granted) -> KeptLogin {
        KeptLogin {
            scopes: granted.scopes.unwrap_or(self.scopes),
            access_token: plain(&granted.access),
            refresh_token: granted.refresh.as_ref().map(plain).or(self.refresh_token),
            expires_at: granted.expires_at,
            ..self
        }
    }

    /// Whether the token has expired or expires within 30 seconds.
    pub(super) fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|at| at <= now + std::time::Duration::from_secs(30))
    }

    /// The client that refreshes this login.
    pub(super) fn client(&self, sign_in: &ServerSignIn) -> Client {
        Client {
            id: self.client_id.clone(),
            secret: self.client_secret.as_ref().map(Secret::new).or_else(|| sign_in.client_secret.clone()),
            key: sign_in.private_key.clone(),
            proof: self.proof,
        }
    }

    pub(super) fn secrets(&self) -> impl Iterator<Item = Secret> {
        std::iter::once(&self.access_token).chain(&self.refresh_token).chain(&self.client_secret).map(Secret::new)
    }
}

/// Whether users other than the owner may read a file, as words that follow "it".
fn shown_to_others(what: &std::fs::Metadata) -> Option<&'static str> {
    let (mode, (user, group)) = (os::mode(what), os::owner(what));
    let is_shown = mode & 0o004 != 0 || mode & 0o040 != 0 && group != user;
    is_shown.then_some("can be read by other users of this machine, who may have its tokens")
}

fn plain(secret: &Secret) -> String {
    secret.reveal().to_owned()
}

/// The absolute path of a project's folder, the same for every way to name it.
fn whole(project: &Path) -> PathBuf {
    let named = if project.as_os_str().is_empty() { Path::new(".") } else { project };
    named.canonicalize().or_else(|_| std::path::absolute(named)).unwrap_or_else(|_| named.to_owned())
}

/// The file of one login.
#[derive(Debug, Clone)]
pub(super) struct LoginPlace {
    path: PathBuf,
    server: String,
    project: PathBuf,
}

/// A lock that lets one process at a time change a login. The operating system releases it when the process ends.
pub(super) struct LoginLock(#[expect(dead_code, reason = "closing it ends the lock")] File);

impl LoginPlace {
    /// The place of a server's login; `None` if the server has no address.
    pub(super) fn for_server(folder: PathBuf, server: &ToolServer) -> Option<LoginPlace> {
        let ServerTransport::Http { url, auth, .. } = &server.transport else { return None };
        let of = |word: Option<&String>| word.cloned().unwrap_or_default();
        let auth = auth.as_ref();
        let client = of(auth.and_then(|auth| auth.client_id.as_ref()));
        let issuer = of(auth.and_then(|auth| auth.issuer.as_ref()));
        let project = whole(&server.project);
        let key = serde_json::json!([project.display().to_string(), url, client, issuer]).to_string();
        let path = folder.join(hex::encode(Sha256::digest(key)));
        Some(LoginPlace { path, server: url.clone(), project })
    }

    /// Locks the login. Waits until no other process holds the lock.
    pub(super) fn lock(&self) -> Result<LoginLock, FileError> {
        let path = self.path.with_extension("lock");
        let take = || {
            if let Some(folder) = path.parent() {
                files::private_folder(folder)?;
            }
            let file = files::open_private(&path)?;
            file.lock()?;
            Ok(LoginLock(file))
        };
        take().map_err(|error: std::io::Error| cannot("lock", &path)(error))
    }

    /// Reads the login; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a login for this server, belongs to another user, or can be read or changed by other users.
    pub(super) fn read(&self) -> Result<Option<KeptLogin>, FileError> {
        let cannot = cannot("read", &self.path);
        let text = match files::open(&self.path).and_then(|file| Ok((file.metadata()?, files::within(file, LARGEST)?))) {
            Ok((what, text)) => match files::is_anothers(&what).or_else(|| files::open_to_others(&what)).or_else(|| shown_to_others(&what))
            {
                Some(why) => return Err(cannot(format!("it {why}; log in again with flow tools login").into())),
                None => text,
            },
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(Box::<dyn std::error::Error + Send + Sync>::from(error))),
        };
        // Messages of serde may quote the file, so they are not shown.
        let login = serde_json::from_slice::<KeptLogin>(&text).ok();
        let is_its_own = |login: &KeptLogin| login.flow == VERSION && login.server == self.server && login.project == self.project;
        match login.filter(is_its_own) {
            Some(login) => Ok(Some(login)),
            None => Err(cannot("it is not a login for this server; remove it with flow tools logout".into())),
        }
    }

    /// Writes the login atomically.
    pub(super) fn write(&self, login: &KeptLogin) -> Result<(), FileError> {
        files::write_private(&self.path, login).map_err(cannot("write", &self.path))
    }

    /// Removes the login. Returns whether there was one.
    pub(super) fn remove(&self) -> Result<bool, FileError> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(cannot("remove", &self.path)(error)),
        }
    }
}
