//! How events change a `task` step: the tables it knows, and its tries.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{StepNode, StepWork};
use crate::event::{Happening, SharedValue, Verdict};
use crate::gate;
use crate::model::WrittenArtefact;

/// The tries of a `task` step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tasking {
    /// Tables that were looked at, each with its columns and their types.
    pub(crate) tables: Vec<(String, Vec<(String, String)>)>,
    pub(crate) tries: Vec<TaskTry>,
}

/// One try of a `task` step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskTry {
    pub(crate) artefact: Arc<WrittenArtefact>,
    /// What it gave, once it ran.
    pub(crate) result: Option<SharedValue>,
    /// Why it gave nothing.
    pub(crate) error: Option<String>,
    pub(crate) printed: String,
    pub(crate) cut: bool,
    pub(crate) personal: Vec<String>,
    /// Pictures that its code made.
    pub(crate) files: Vec<PathBuf>,
    /// One per criterion, once it was judged.
    pub(crate) verdicts: Option<Vec<Verdict>>,
}

impl TaskTry {
    /// Whether the result met all criteria.
    pub(crate) fn is_accepted(&self) -> bool {
        self.verdicts.as_ref().is_some_and(|verdicts| verdicts.iter().all(|verdict| verdict.passed))
    }

    /// The criteria that the result did not meet.
    pub(crate) fn unmet(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().flatten().filter(|verdict| !verdict.passed)
    }

    /// Why the try failed, in a text; `None`: it did not, or it is not over.
    pub(crate) fn failure(&self) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(error.clone());
        }
        let unmet: Vec<String> = self.unmet().map(unmet).collect();
        (!unmet.is_empty()).then(|| unmet.join("\n"))
    }
}

impl Tasking {
    /// How many tries in a row failed in the same way, up to the last one.
    pub(crate) fn identical_failures(&self) -> u64 {
        let mut failures = self.tries.iter().rev().map(|one| one.failure().map(|failure| gate::lasting(&failure)));
        let Some(Some(last)) = failures.next() else { return 0 };
        1 + failures.take_while(|one| one.as_ref() == Some(&last)).count() as u64
    }
}

impl StepNode {
    /// Whether a step that talks with models decides what to do next: it has not ended, is not being ended, and has no call out.
    pub(crate) fn decides(&self) -> bool {
        self.ended_by.is_none() && !self.status.is_final() && !matches!(self.work, StepWork::Call(_))
    }
    /// Whether the judges of a `task` step are asked, and not its agent.
    pub(crate) fn judges_task(&self) -> bool {
        let last = self.tasking.as_ref().and_then(|tasking| tasking.tries.last());
        last.is_some_and(|last| last.result.is_some() && last.verdicts.is_none())
    }

    /// Applies an event about a `task` step.
    pub(super) fn task_changed(&mut self, happening: &Happening) -> Option<()> {
        match happening {
            Happening::TableDescribed { table, columns, .. } => {
                self.tasking.get_or_insert_default().tables.push((table.clone(), columns.clone()));
            }
            Happening::TaskTried { artefact, result, error, .. } => {
                self.end_conversation();
                let (artefact, result, error) = (artefact.clone(), result.clone(), error.clone());
                self.tasking.get_or_insert_default().tries.push(TaskTry { artefact, result, error, ..TaskTry::default() });
            }
            Happening::TaskExecuted { result, error, printed, cut, personal, files, .. } => {
                let last = self.tasking.as_mut()?.tries.last_mut()?;
                (last.result, last.error) = (result.clone(), error.clone());
                (last.printed, last.cut, last.personal) = (printed.clone(), *cut, personal.clone());
                last.files.clone_from(files);
            }
            Happening::TaskJudged { verdicts, .. } => {
                self.end_conversation();
                self.tasking.as_mut()?.tries.last_mut()?.verdicts = Some(verdicts.clone());
            }
            _ => {}
        }
        Some(())
    }
}

/// A criterion that was not met, in a line.
fn unmet(verdict: &Verdict) -> String {
    let feedback = if verdict.feedback.is_empty() { &verdict.description } else { &verdict.feedback };
    format!("{}: {feedback}", verdict.id)
}
