//! Programs that are agents: asks them, and reads what they answer.

mod answer;
mod command;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::environment::home;
use super::{held, os};
use crate::event::Failure;
use crate::model::{AgentProtocol, FailureKind, SandboxMode};
use crate::port::{AgentCall, AgentPrograms, ModelReply, Pending, Programs, Secret};

/// How the folders of homes begin.
const HOME_FOLDER: &str = "flow-agent-";

/// Asks programs that are agents. Clones share the homes.
#[derive(Clone)]
pub struct AgentRuns {
    programs: Arc<dyn Programs>,
    homes: Arc<Mutex<HashMap<String, AgentHome>>>,
}

/// The home of one agent of one run, and the sessions that its program began there. It is removed when this process ends.
struct AgentHome {
    folder: TempDir,
    sessions: HashSet<String>,
}

impl AgentRuns {
    /// Starts programs by way of `programs`.
    pub fn new(programs: Arc<dyn Programs>) -> AgentRuns {
        AgentRuns { programs, homes: Arc::default() }
    }

    /// The home of a call, and whether the session that it continues began there.
    fn home_of(&self, call: &AgentCall) -> Result<(PathBuf, bool), Failure> {
        let mut homes = held(&self.homes);
        if !homes.contains_key(&call.home) {
            let made = tempfile::Builder::new().prefix(HOME_FOLDER).permissions(os::permissions(0o700)).tempdir();
            let cannot =
                |error| Failure::new(FailureKind::Unavailable, format!("no home for the program of model \"{}\": {error}", call.model));
            homes.insert(call.home.clone(), AgentHome { folder: made.map_err(cannot)?, sessions: HashSet::new() });
        }
        let Some(home) = homes.get(&call.home) else { return Err(Failure::new(FailureKind::Internal, "a home is missing")) };
        let knows = call.continues.as_ref().is_some_and(|(session, _)| home.sessions.contains(session));
        Ok((home.folder.path().to_path_buf(), knows))
    }

    async fn asked(&self, mut call: AgentCall) -> Result<ModelReply, Failure> {
        let (folder, knows_session) = self.home_of(&call)?;
        if !knows_session {
            call.continues = None;
        }
        // Without a sandbox a program is the user's own, with its logins.
        let shown = if call.program.sandbox == SandboxMode::None { home().unwrap_or_else(|| folder.clone()) } else { folder.clone() };
        call.program.env.insert(0, ("HOME".to_owned(), Secret::new(shown.to_string_lossy())));
        call.program.home = Some(folder);
        let reply = match call.speaks.clone() {
            AgentProtocol::Print(mode) => {
                let (program, options) = (command::of(&call, &mode)?, call.model.clone());
                answer::read(&options, &mode, self.programs.run(program).await?)?
            }
            AgentProtocol::Acp => {
                return Err(Failure::new(FailureKind::Unavailable, "the Agent Client Protocol is not spoken by this build"));
            }
        };
        if let (Some(session), Some(home)) = (&reply.session, held(&self.homes).get_mut(&call.home)) {
            home.sessions.insert(session.clone());
        }
        Ok(reply)
    }
}

impl AgentPrograms for AgentRuns {
    fn ask(&self, call: AgentCall) -> Pending<ModelReply> {
        let runs = self.clone();
        Box::pin(async move { runs.asked(call).await })
    }
}

#[cfg(test)]
mod tests;
