//! Clients of older versions, by the number that each was given.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::super::calls::ClientSession;
use crate::adapter::{environment, held};

/// Most sessions; then the one that was silent longest is forgotten.
const MOST: usize = 1_000;
/// How long a session may be silent.
const LONGEST_SILENCE: Duration = Duration::from_secs(30 * 60);

#[derive(Default)]
pub(super) struct Sessions {
    by_name: Mutex<HashMap<String, (Arc<ClientSession>, Instant)>>,
}

impl Sessions {
    /// A new one; silent ones are forgotten.
    pub(super) fn begin(&self) -> (String, Arc<ClientSession>) {
        let now = Instant::now();
        let mut sessions = held(&self.by_name);
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
        let mut sessions = held(&self.by_name);
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
        held(&self.by_name).remove(name).map(|(session, _)| session)
    }
}
