//! What somebody agreed to is started, and nothing else of the project.

use std::sync::Arc;

use super::files::shown_path;
use super::named_files::may_run;
use super::started::{MayRun, Prints, Started, is_code_file};
use crate::diagnostic::shell_path;
use crate::event::{Failure, FailureKind};
use crate::port::{Pending, ProgramCall, ProgramReply, Programs};

/// What was agreed to. A program that would run anything else of the project is not started.
#[derive(Debug, Clone, Default)]
pub struct Agreed {
    /// The file that was agreed to, for messages.
    pub file: String,
    /// The parts of the project that servers named at that time.
    pub named: MayRun,
    /// The hashes at that time; `None` if the limits were exceeded, which only `--trust` allows.
    pub prints: Option<Prints>,
    /// `--trust`: files that only an input of the run names may be started too.
    pub is_free: bool,
}

/// Programs that start only if what they may run is what was agreed to.
pub struct AgreedPrograms {
    agreed: Arc<Agreed>,
    programs: Arc<dyn Programs>,
}

impl AgreedPrograms {
    /// These programs, held to what was agreed.
    pub fn new(agreed: Arc<Agreed>, programs: Arc<dyn Programs>) -> AgreedPrograms {
        AgreedPrograms { agreed, programs }
    }
}

impl Programs for AgreedPrograms {
    fn run(&self, call: ProgramCall) -> Pending<ProgramReply> {
        let (agreed, programs) = (Arc::clone(&self.agreed), Arc::clone(&self.programs));
        Box::pin(async move {
            agreed.check_call(&call).await?;
            programs.run(call).await
        })
    }
}

impl Agreed {
    /// The same of a call.
    ///
    /// # Errors
    /// See [`Agreed::check`].
    pub async fn check_call(self: &Arc<Agreed>, call: &ProgramCall) -> Result<(), Failure> {
        // What flow itself starts names nothing.
        let Some(folder) = call.folder.clone().filter(|_| !call.named.is_empty()) else { return Ok(()) };
        let command = call.command.first().cloned().unwrap_or_default();
        let started = Started::of_program(call.name.clone(), command, call.named.clone(), folder, call.project.clone());
        let started = started.with_env(call.env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        let (agreed, ends) = (Arc::clone(self), |_| Failure::new(FailureKind::Unavailable, "flow ends"));
        tokio::task::spawn_blocking(move || agreed.check(&started)).await.map_err(ends)?
    }

    /// Checks that a program may be started now.
    ///
    /// # Errors
    /// Fails with `denied` if it would run something that was not agreed to.
    pub fn check(&self, started: &Started) -> Result<(), Failure> {
        let denied = |why: String| {
            let help = match self.file.as_str() {
                "" => String::new(),
                file => format!("; review it, run flow trust {}, then run it again", shell_path(file)),
            };
            Err(Failure::new(FailureKind::Denied, format!("{} was not started: {why}{help}", started.who)))
        };
        let started = &Started { written: self.named.written.iter().cloned().collect(), ..started.clone() };
        let prints = match (may_run(started).prints(), &self.prints) {
            (_, None) if self.is_free => return Ok(()),
            (Ok(prints), _) => prints,
            (Err(why), _) => return denied(why.to_string()),
        };
        // An interpreter runs any file in its arguments, whatever its name and wherever it is.
        if started.is_interpreted && !self.is_free {
            let new = started.words.iter().chain(&started.scripts).filter(|word| !self.named.words.contains(*word));
            if let Some(file) = new.map(|word| started.folder.join(word)).find(|path| path.is_file()) {
                return denied(format!("{} is named by a value of this run only, and was not trusted (add --trust)", shown_path(&file)));
            }
        }
        let before = self.prints.clone().unwrap_or_default();
        for (file, print) in &prints {
            match before.get(file) {
                Some(before) if before == print => {}
                Some(_) => return denied(format!("{} has changed since it was trusted", shown_path(file))),
                None if self.named.names(file) && is_code_file(file) => {
                    return denied(format!("{} did not exist when the pipeline was trusted", shown_path(file)));
                }
                None if self.is_free || !is_code_file(file) => {}
                None => {
                    return denied(format!("{} is named by a value of this run only, and was not trusted (add --trust)", shown_path(file)));
                }
            }
        }
        Ok(())
    }
}
