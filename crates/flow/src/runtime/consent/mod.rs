//! Consent: what a file uses ([`Wishes`]), and whether that is allowed. Only this module decides about starting anything from a file; the
//! command-line program asks the person.
//!
//! How to add a kind of wish: a list in [`Wishes`]; if its effect depends on more than the files of the pipeline, also its part of [`content`].

mod content;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{RunError, Untrusted, kept, shown_path};
use crate::adapter::agreed::Agreed;
use crate::adapter::clock::SystemClock;
use crate::adapter::environment;
use crate::adapter::started::{Prints, PrintsError};
use crate::adapter::trusted::Trusted;
use crate::check::Checked;
use crate::journal::AuditAction;
use crate::model::{Model, Program};
use crate::plan::{Wishes, takes_given};
use crate::policy::from_project;
use crate::port::{Clock, Secret};

pub(crate) use content::{named, real};

/// Whether a run may start the programs, call the hosts and read the secrets that its file names.
#[derive(Clone, Default, strum::IntoStaticStr)]
#[non_exhaustive]
pub enum Consent {
    /// Runs only files that use none of these.
    #[default]
    Refused,
    /// Also runs files that the user trusts (`flow trust`), as long as they are unchanged.
    AsTrusted,
    /// The caller decides, from the wishes. A program is started only if the files that it would run have not changed since the decision.
    Decided(Arc<dyn Fn(&Wishes) -> bool + Send + Sync>),
    /// Everything is allowed: the files are trusted like the calling program.
    Given,
}

impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.into())
    }
}

/// The programs, hosts and secrets that a file uses, and the files of the project that its servers may run.
pub struct ConsentRequest<'a> {
    /// The pipeline file.
    pub file: &'a Path,
    program: &'a Program,
    given: Option<Model>,
    /// What the file uses.
    pub wishes: Wishes,
    agreed: Agreed,
    prints: Result<Prints, PrintsError>,
}

/// The entry of a file in the user's list.
pub struct Standing {
    /// The list of what the user allowed.
    pub list: Trusted,
    /// The hash of the trusted content.
    pub content: String,
    /// Whether the user has allowed this content.
    pub is_known: bool,
}

impl<'a> ConsentRequest<'a> {
    /// Creates a request for a checked file. `of_project`: the model that the project's settings supply.
    pub fn from_checked(
        checked: &'a Checked,
        file: &'a Path,
        of_project: Option<Model>,
        env: &BTreeMap<String, Secret>,
    ) -> ConsentRequest<'a> {
        let program = &checked.loaded.program;
        let given = of_project.filter(|_| program.pipelines.iter().any(|pipeline| takes_given(pipeline)));
        let wishes = Wishes::from_plan(&checked.plan, given.as_ref());
        let (agreed, prints) = agreed(program, file, env);
        ConsentRequest { file, program, given, wishes, agreed, prints }
    }

    /// Consents to exactly what was inspected, however long the question was open.
    pub fn agreed(self) -> Arc<Agreed> {
        Arc::new(self.agreed)
    }

    /// Looks it up in the user's list.
    pub fn look(&self) -> Result<Standing, RunError> {
        let list = trusted()?;
        let prints = self.prints.as_ref().map_err(|error| RunError::system(error.to_string()))?;
        let content = content::content(self.program, self.given.as_ref(), prints).map_err(RunError::system)?;
        let is_known = list.since(&content).map_err(RunError::system)?.is_some();
        Ok(Standing { list, content, is_known })
    }

    /// Adds the content to the user's list, for later runs too.
    pub fn keep(&self, standing: &Standing, project: &Path) -> Result<(), RunError> {
        kept::audit(project, AuditAction::FileTrusted, "", &place_in(project, self.file))?;
        standing.list.add(&place(self.file), &standing.content, SystemClock::new().now()).map_err(RunError::system)
    }

    /// Creates the error of a file without consent. An unreadable list is ignored.
    pub fn refused(&self, list: Option<&Trusted>) -> Untrusted {
        let entries = list.and_then(|list| list.all().ok()).map(|(entries, _)| entries).unwrap_or_default();
        let before = entries.into_iter().rfind(|entry| entry.file == place(self.file)).map(|entry| entry.at);
        Untrusted { file: self.file.to_path_buf(), wishes: self.wishes.clone(), before }
    }
}

/// Allows everything.
pub fn allowed(checked: &Checked, file: &Path, env: &BTreeMap<String, Secret>) -> Arc<Agreed> {
    Arc::new(Agreed { is_free: true, ..agreed(&checked.loaded.program, file, env).0 })
}

/// Applies an embedder's consent. Errors: it does not allow what the file uses, or the user's list cannot be read.
pub(super) fn consent(
    consent: &Consent,
    checked: &Checked,
    file: &Path,
    of_project: Option<Model>,
    env: &BTreeMap<String, Secret>,
) -> Result<Arc<Agreed>, RunError> {
    if matches!(consent, Consent::Given) {
        return Ok(allowed(checked, file, env));
    }
    let wanted = ConsentRequest::from_checked(checked, file, of_project, env);
    let agrees = wanted.wishes.is_empty()
        || match consent {
            Consent::Refused | Consent::Given => false,
            Consent::AsTrusted => wanted.look()?.is_known,
            Consent::Decided(decide) => decide(&wanted.wishes),
        };
    if agrees { Ok(wanted.agreed()) } else { Err(RunError::Untrusted(Box::new(wanted.refused(None)))) }
}

fn agreed(program: &Program, file: &Path, env: &BTreeMap<String, Secret>) -> (Agreed, Result<Prints, PrintsError>) {
    let named = named(program, env);
    let prints = named.prints();
    (Agreed { file: shown_path(file), named, prints: prints.as_ref().ok().cloned(), is_free: false }, prints)
}

/// Returns the user's list.
pub fn trusted() -> Result<Trusted, RunError> {
    environment::trusted_folder().map(Trusted::new).map_err(RunError::system)
}

/// Returns the path of a file relative to its project.
pub fn place_in(project: &Path, file: &Path) -> String {
    from_project(&real(project).unwrap_or_else(|_| project.to_path_buf()), &place(file))
}

/// Returns the canonical path of a file, which is its key in the list.
pub fn place(file: &Path) -> PathBuf {
    let folder = file.parent().and_then(|folder| real(folder).ok());
    let found = folder.and_then(|folder| Some(folder.join(file.file_name()?)));
    found.unwrap_or_else(|| std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()))
}
