//! Programs that are agents: asks them, and reads what they answer.

#[cfg(feature = "acp")]
mod acp;
mod answer;
mod command;
mod made;
#[cfg(feature = "acp")]
mod wishes;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::agreed::Agreed;
use super::environment::home;
use super::files;
use super::folder;
use super::lock;
use super::sandbox::{DropNotice, LockedFolder, Sandbox};
use crate::diagnostic::visible;
use crate::event::{Failure, Usage};
use crate::model::{AgentProtocol, FailureKind, PromptOption, SandboxMode};
use crate::port::{AgentCall, AgentPrograms, ModelReply, Pending, ProgramCall, Programs, Secret};

/// A part of the names of the folders in which homes lie.
const HOME_FOLDER: &str = "agent-";

/// Asks programs that are agents. Clones share the homes.
#[derive(Clone)]
pub struct AgentRuns {
    programs: Arc<dyn Programs>,
    /// Starts programs that are talked with; `None`: there are none here.
    talks: Option<AgreedTalks>,
    homes: Arc<Mutex<HashMap<String, AgentHome>>>,
}

/// What starts programs that are talked with.
#[derive(Clone)]
#[cfg_attr(not(feature = "acp"), expect(dead_code, reason = "nothing is talked with"))]
struct AgreedTalks {
    sandbox: Sandbox,
    agreed: Arc<Agreed>,
}

/// The folder in which the home of one agent of one run lies, and the sessions that its program began there, each with what it told of its usage. It is removed
/// when this process ends.
struct AgentHome {
    folder: LockedFolder,
    sessions: HashMap<String, Usage>,
}

impl AgentHome {
    /// Notes the session of an answer. What of its usage goes on through that session is counted from the answer before.
    fn note(&mut self, continued: Option<&str>, speaks: &AgentProtocol, reply: &mut ModelReply) {
        let Some(session) = reply.session.clone().or_else(|| continued.map(str::to_owned)) else { return };
        let before = self.sessions.get(&session).copied().unwrap_or_default();
        let told = reply.usage.unwrap_or(before);
        if matches!(speaks, AgentProtocol::Print(mode) if mode.answer.cumulative) {
            reply.usage = reply.usage.map(|usage| usage.since(&before));
        }
        self.sessions.insert(session, told);
    }
}

impl AgentRuns {
    /// Starts programs that print an answer by way of `programs`.
    pub fn new(programs: Arc<dyn Programs>) -> AgentRuns {
        AgentRuns { programs, talks: None, homes: Arc::default() }
    }

    /// Starts those that are talked with in this sandbox, as far as they were agreed to.
    #[must_use]
    pub fn with_talks(self, sandbox: Sandbox, agreed: Arc<Agreed>) -> AgentRuns {
        AgentRuns { talks: Some(AgreedTalks { sandbox, agreed }), ..self }
    }

    /// The home of a call, and whether the session that it continues began there.
    fn home_of(&self, call: &AgentCall) -> Result<(PathBuf, bool), Failure> {
        let mut homes = lock(&self.homes);
        if !homes.contains_key(&call.home) {
            let made = LockedFolder::new(HOME_FOLDER).and_then(|folder| std::fs::create_dir(folder.path().join("home")).map(|()| folder));
            let cannot =
                |error| Failure::new(FailureKind::Unavailable, format!("no home for the program of model \"{}\": {error}", call.model));
            homes.insert(call.home.clone(), AgentHome { folder: made.map_err(cannot)?, sessions: HashMap::new() });
        }
        let Some(home) = homes.get(&call.home) else { return Err(Failure::new(FailureKind::Internal, "a home is missing")) };
        let knows = call.continues.as_ref().is_some_and(|(session, _)| home.sessions.contains_key(session));
        Ok((home.folder.path().join("home"), knows))
    }

    /// Whether the sandbox of flow is around a program of this mode.
    fn is_shut_in(&self, mode: SandboxMode) -> bool {
        match mode {
            SandboxMode::None => false,
            SandboxMode::Preferred => self.talks.as_ref().is_some_and(|talks| matches!(talks.sandbox.kind_of(mode), Ok(Some(_)))),
            SandboxMode::Required => true,
        }
    }

    async fn asked(&self, mut call: AgentCall) -> Result<ModelReply, Failure> {
        for (path, told) in &call.held {
            folder::check_links(&call.program.project, path, told, false)?;
        }
        let (folder, knows_session) = self.home_of(&call)?;
        if !knows_session {
            call.continues = None;
        }
        // Without a sandbox a program is the user's own, with its logins.
        let shown = if call.program.sandbox == SandboxMode::None { home().unwrap_or_else(|| folder.clone()) } else { folder.clone() };
        call.program.env.insert(0, ("HOME".to_owned(), Secret::new(shown.to_string_lossy())));
        call.program.home = Some(folder);
        if self.is_shut_in(call.program.sandbox) {
            call.options.push((PromptOption::Sandboxed, vec![]));
        }
        let (writes, before) = (call.program.writes.clone(), made::SeenFiles::find(&call.program.writes));
        let reply = match call.speaks.clone() {
            AgentProtocol::Print(mode) => {
                let program = command::program_call(&call, &mode)?;
                self.programs.run(program).await.and_then(|reply| answer::read(&call.model, &mode, reply))
            }
            AgentProtocol::Acp(options) => self.talked(call.clone(), &options).await,
        };
        let hint = || unreadable_file(&call.program);
        let mut reply = reply.map_err(|failure| with_hint(failure, hint()))?;
        reply.failed = reply.failed.map(|failure| Box::new(with_hint(*failure, hint())));
        reply.files = before.changed(&writes);
        if let Some(home) = lock(&self.homes).get_mut(&call.home) {
            home.note(call.continues.as_ref().map(|(session, _)| session.as_str()), &call.speaks, &mut reply);
        }
        Ok(reply)
    }
}

fn with_hint(failure: Failure, hint: Option<String>) -> Failure {
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Failure { message: format!("{}{hint}", failure.message), ..failure }
}

/// A file of the project among the words of a program that it does not find, or may not read, and what to write.
fn unreadable_file(call: &ProgramCall) -> Option<String> {
    if call.sandbox == SandboxMode::None {
        return None;
    }
    let whole = |path: &Path| files::here(path).canonicalize().ok();
    let (folder, project) = (call.folder.as_deref().and_then(whole)?, whole(&call.project)?);
    let given: Vec<PathBuf> = call.reads.iter().chain(&call.writes).filter_map(|path| whole(path)).chain([folder.clone()]).collect();
    call.command.iter().skip(1).filter(|word| !word.starts_with('-')).find_map(|word| {
        let shown = visible(word);
        match (whole(&folder.join(word)), whole(&project.join(word))) {
            (Some(file), _) if file.starts_with(&project) && !given.iter().any(|place| file.starts_with(place)) => {
                Some(format!("{shown} lies in none of the folders that it may read; name it in reads of the model"))
            }
            (None, Some(file)) if file.is_file() => Some(format!(
                "{shown} is looked for in folder, where it is not; write its path from there, and name it in reads of the model"
            )),
            (Some(_) | None, _) => None,
        }
    })
}

impl AgentRuns {
    #[cfg(feature = "acp")]
    async fn talked(&self, mut call: AgentCall, options: &[(PromptOption, Vec<String>)]) -> Result<ModelReply, Failure> {
        let gone = |why: String| Failure::new(FailureKind::Internal, format!("the thread of a program: {why}"));
        let AgreedTalks { sandbox, agreed } = self.talks.clone().ok_or_else(|| gone("there is none".to_owned()))?;
        command::add_options(&mut call, options)?;
        agreed.check_call(&call.program).await?;
        let is_dropped = Arc::new(AtomicBool::new(false));
        let notice = DropNotice::new(&is_dropped);
        let (answer, waiting) = tokio::sync::oneshot::channel();
        let talk = sandbox.talk(call.program.clone()).map_err(|error| gone(error.to_string()))?;
        std::thread::Builder::new()
            .name("agent".to_owned())
            .spawn(move || {
                let _ = answer.send(acp::ask(talk, &call, &is_dropped));
            })
            .map_err(|error| gone(error.to_string()))?;
        let _until_answered = notice;
        waiting.await.unwrap_or_else(|_| Err(gone("it ended early".to_owned())))
    }

    #[cfg(not(feature = "acp"))]
    async fn talked(&self, call: AgentCall, _: &[(PromptOption, Vec<String>)]) -> Result<ModelReply, Failure> {
        let message = format!("model \"{}\": this build does not speak the Agent Client Protocol (feature acp)", call.model);
        Err(Failure::new(FailureKind::Unavailable, message))
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
