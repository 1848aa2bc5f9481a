//! The servers of a process: which run uses which server, and how many idle servers are kept.
//!
//! Two servers are the same if everything they are started or called with is equal: project, command, arguments, environment, folder or address,
//! headers, sign-in, whether they may ask a person, hosts that may be reached, and the secrets in their fixed arguments. A server that holds a
//! pipeline's secrets is therefore never used by a run without them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::session::ServerSession;
use crate::event::Failure;
use crate::lock;
use crate::port::{Secret, ServerSignIn, ServerTransport, ToolServer};

/// Maximum number of servers kept while no run uses them.
pub(super) const MOST_IDLE: usize = 8;

/// All servers that were started and not ended.
#[derive(Default)]
pub(super) struct ServerPool {
    inner: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    servers: HashMap<Vec<String>, Arc<PooledServer>>,
    /// Programs that were started. Each receiver becomes true when no process of the program is left.
    programs: Vec<watch::Receiver<bool>>,
    /// How many times a run has left.
    left: u64,
}

/// One server.
#[derive(Default)]
pub(super) struct PooledServer {
    pub(super) session: Arc<tokio::sync::Mutex<Option<Arc<ServerSession>>>>,
    uses: Mutex<Uses>,
}

/// The guard of a session, held by the task that opens it.
pub(super) type OpenSession = tokio::sync::OwnedMutexGuard<Option<Arc<ServerSession>>>;

/// Which runs use a server.
#[derive(Default)]
struct Uses {
    /// How often each run has started the server; 0 if not yet.
    runs: HashMap<Arc<str>, u32>,
    /// Why an early start failed for a run.
    failed_early: HashMap<Arc<str>, Failure>,
    /// The task that starts the server.
    opening: Option<AbortHandle>,
    /// When the last run left, as a count of [`PoolState::left`].
    left: u64,
}

impl Uses {
    fn stop_opening(&mut self) {
        if let Some(task) = self.opening.take() {
            task.abort();
        }
    }
}

impl ServerPool {
    /// The entry of a server. Registers the server's run as one of its users.
    pub(super) fn entry(&self, server: &ToolServer, private_hosts: &[String]) -> Arc<PooledServer> {
        let mut inner = lock(&self.inner);
        let entry = Arc::clone(inner.servers.entry(key(server, private_hosts)).or_default());
        lock(&entry.uses).runs.entry(Arc::clone(&server.run)).or_default();
        entry
    }

    /// Registers a program that was started.
    pub(super) fn started(&self, ended: watch::Receiver<bool>) {
        let mut inner = lock(&self.inner);
        inner.programs.retain(|ended| !*ended.borrow());
        inner.programs.push(ended);
    }

    /// Removes a run. Returns the servers that it used, and the idle servers that exceed the limit.
    pub(super) fn leave(&self, run: &str) -> (Vec<Arc<PooledServer>>, Vec<Arc<PooledServer>>) {
        let mut inner = lock(&self.inner);
        inner.left += 1;
        let now = inner.left;
        let used = inner.servers.values().filter(|entry| entry.leave(run, now)).cloned().collect();
        inner.servers.retain(|_, entry| !entry.is_empty());
        let mut idle: Vec<_> = inner.servers.iter().filter_map(|(key, entry)| Some((entry.idle_since()?, key.clone()))).collect();
        idle.sort_by_key(|(since, _)| *since);
        let surplus = idle.len().saturating_sub(MOST_IDLE);
        let surplus = idle.into_iter().take(surplus).filter_map(|(_, key)| inner.servers.remove(&key)).collect();
        (used, surplus)
    }

    /// Removes all servers and programs, so that they can be ended.
    pub(super) fn drain(&self) -> (Vec<Arc<PooledServer>>, Vec<watch::Receiver<bool>>) {
        let mut inner = lock(&self.inner);
        let entries: Vec<Arc<PooledServer>> = inner.servers.drain().map(|(_, entry)| entry).collect();
        entries.iter().for_each(|entry| lock(&entry.uses).stop_opening());
        (entries, std::mem::take(&mut inner.programs))
    }
}

impl PooledServer {
    /// Counts a start of the server for a run. Returns the count before.
    pub(super) fn begins_for(&self, run: &Arc<str>) -> u32 {
        let mut uses = lock(&self.uses);
        let begun = uses.runs.entry(Arc::clone(run)).or_default();
        *begun += 1;
        *begun - 1
    }

    /// Records that an early start failed. It does not count as a start for the run.
    pub(super) fn failed_early(&self, run: &Arc<str>, why: Failure) {
        let mut uses = lock(&self.uses);
        uses.runs.insert(Arc::clone(run), 0);
        uses.failed_early.insert(Arc::clone(run), why);
    }

    /// Takes the failure of an early start for a run.
    pub(super) fn early_failure(&self, run: &str) -> Option<Failure> {
        lock(&self.uses).failed_early.remove(run)
    }

    /// Whether a run has not used the server yet.
    pub(super) fn is_new_to(&self, run: &str) -> bool {
        lock(&self.uses).runs.get(run).is_none_or(|begun| *begun == 0)
    }

    /// Whether several runs use it.
    pub(super) fn is_shared(&self) -> bool {
        lock(&self.uses).runs.len() > 1
    }

    /// Records the task that starts the server, whichever run waits for it.
    pub(super) fn opens(&self, task: AbortHandle) {
        lock(&self.uses).opening = Some(task);
    }

    fn leave(&self, run: &str, now: u64) -> bool {
        let mut uses = lock(&self.uses);
        let has_used = uses.runs.remove(run).is_some();
        uses.failed_early.remove(run);
        if has_used && uses.runs.is_empty() {
            uses.left = now;
            uses.stop_opening();
        }
        has_used
    }

    /// Whether no run uses it and it is not running.
    fn is_empty(&self) -> bool {
        lock(&self.uses).runs.is_empty()
            && self.session.try_lock().is_ok_and(|open| open.as_ref().is_none_or(|session| !session.link.is_open()))
    }

    fn idle_since(&self) -> Option<u64> {
        let uses = lock(&self.uses);
        uses.runs.is_empty().then_some(uses.left)
    }

    /// Removes a session from the entry. Requests that wait in it continue to wait; the next request starts a new session.
    pub(super) async fn forget(&self, session: &Weak<ServerSession>) {
        let mut open = self.session.lock().await;
        if open.as_ref().is_some_and(|open| std::ptr::eq(Arc::as_ptr(open), session.as_ptr())) {
            *open = None;
        }
    }

    /// Ends the session.
    pub(super) async fn end(&self) {
        let open = self.session.lock().await.take();
        if let Some(session) = open {
            session.link.end().await;
        }
    }
}

fn sign_in(auth: &ServerSignIn) -> Vec<String> {
    let ServerSignIn { grant, client_id, client_secret, private_key, scopes, issuer, token_url } = auth;
    let revealed = |secret: &Option<Secret>| format!("{:?}", secret.as_ref().map(Secret::reveal));
    vec![format!("{grant:?} {client_id:?} {scopes:?} {issuer:?} {token_url:?}"), revealed(client_secret), revealed(private_key)]
}

/// The values that identify a server: two servers are the same if these are equal.
fn key(server: &ToolServer, private_hosts: &[String]) -> Vec<String> {
    let mut parts = vec![server.project.display().to_string(), server.secrets.len().to_string(), server.questions.to_string()];
    parts.extend(server.secrets.iter().map(|secret| secret.reveal().to_owned()));
    let named = |values: &[(String, Secret)]| -> Vec<String> {
        values.iter().flat_map(|(name, value)| [name.clone(), value.reveal().to_owned()]).collect()
    };
    match &server.transport {
        ServerTransport::Program { command, args, env, folder } => {
            parts.extend(["program".to_owned(), command.clone(), folder.display().to_string(), args.len().to_string()]);
            parts.extend(args.iter().cloned());
            parts.extend(named(env));
        }
        ServerTransport::Http { url, headers, auth, host_from: _ } => {
            parts.extend(["url".to_owned(), url.clone(), private_hosts.len().to_string()]);
            parts.extend(private_hosts.iter().cloned());
            parts.extend(named(headers));
            parts.extend(auth.iter().flat_map(sign_in));
        }
    }
    parts
}
