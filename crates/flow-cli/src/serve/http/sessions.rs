//! Sessions of clients with older versions, by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::super::calls::ClientSession;
use crate::adapter::{environment, lock};

/// Maximum number of sessions; then the longest idle one is removed.
const MOST: usize = 1_000;
/// How long a session may be idle.
const LONGEST_SILENCE: Duration = Duration::from_secs(30 * 60);

#[derive(Default)]
pub(super) struct Sessions {
    by_name: Mutex<HashMap<String, (Arc<ClientSession>, Instant)>>,
}

impl Sessions {
    /// Starts a session and removes expired ones.
    pub(super) fn begin(&self) -> (String, Arc<ClientSession>) {
        let now = Instant::now();
        let mut sessions = lock(&self.by_name);
        sessions.retain(|_, (session, used)| !session.is_idle() || now.duration_since(*used) < LONGEST_SILENCE);
        while sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, (session, used))| (!session.is_idle(), *used)).map(|(name, _)| name.clone());
            let Some((session, _)) = oldest.and_then(|name| sessions.remove(&name)) else { break };
            session.leave();
        }
        let name = environment::random_name();
        let session = Arc::new(ClientSession::default());
        sessions.insert(name.clone(), (Arc::clone(&session), now));
        (name, session)
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<ClientSession>> {
        let mut sessions = lock(&self.by_name);
        let (session, used) = sessions.get_mut(name)?;
        let now = Instant::now();
        if session.is_idle() && now.duration_since(*used) >= LONGEST_SILENCE {
            sessions.remove(name);
            return None;
        }
        *used = now;
        Some(Arc::clone(session))
    }

    pub(super) fn remove(&self, name: &str) -> Option<Arc<ClientSession>> {
        lock(&self.by_name).remove(name).map(|(session, _)| session)
    }
}
