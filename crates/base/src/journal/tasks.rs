//! Tasks in the record of a run, each with its tries.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Happening, StepPath, Verdict};
use crate::model::ArtefactKind;

/// A task, in one round of a refinement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The `task` step.
    pub step: String,
    /// Its state.
    pub state: TaskState,
    /// Its tries, in order.
    pub tries: Vec<TaskTryRecord>,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TaskState {
    /// No try was accepted yet.
    New,
    /// A try was accepted.
    Completed,
    /// The step failed.
    Failed,
    /// A try was accepted, and the run that contains the result has ended.
    Recorded,
}

has_word!(TaskState);

/// One try of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskTryRecord {
    /// Number of the try, from 1.
    pub number: u32,
    /// The kind of artefact that the agent made.
    pub artefact: ArtefactKind,
    /// The reasoning of the agent.
    pub thought: String,
    /// The query or the code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Why it gave no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The verdicts on its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
}

impl TaskTryRecord {
    /// Returns the criteria that its result did not meet.
    pub fn unmet(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| !verdict.passed)
    }
}

/// Applies an event of a task.
pub(super) fn take(tasks: &mut Vec<TaskRecord>, event: &Event) {
    let last = |tasks: &'_ mut Vec<TaskRecord>, step: &StepPath| tasks.iter_mut().rposition(|task| *task.step == **step);
    match &event.happening {
        Happening::TaskTried { step, number, artefact, error, result: _ } => {
            let one = TaskTryRecord {
                number: *number,
                artefact: artefact.kind,
                thought: artefact.thought.clone(),
                code: artefact.code.clone(),
                error: error.clone(),
                verdicts: vec![],
            };
            // The first try of another round starts a new record.
            match last(tasks, step).filter(|_| *number > 1) {
                Some(place) => tasks[place].tries.push(one),
                None => tasks.push(TaskRecord { step: step.to_string(), state: TaskState::New, tries: vec![one] }),
            }
        }
        Happening::TaskExecuted { step, error, .. } => {
            if let Some(one) = last(tasks, step).and_then(|place| tasks[place].tries.last_mut()) {
                one.error.clone_from(error);
            }
        }
        Happening::TaskJudged { step, verdicts, .. } => {
            if let Some(place) = last(tasks, step) {
                if verdicts.iter().all(|verdict| verdict.passed) {
                    tasks[place].state = TaskState::Completed;
                }
                tasks[place].tries.last_mut().into_iter().for_each(|one| one.verdicts.clone_from(verdicts));
            }
        }
        Happening::StepFailed { step, .. } => {
            if let Some(place) = last(tasks, step) {
                tasks[place].state = TaskState::Failed;
            }
        }
        Happening::RunFinished(_) => change(tasks, TaskState::Completed, TaskState::Recorded),
        Happening::RunResumed { .. } => change(tasks, TaskState::Recorded, TaskState::Completed),
        _ => {}
    }
}

fn change(tasks: &mut [TaskRecord], from: TaskState, to: TaskState) {
    tasks.iter_mut().filter(|task| task.state == from).for_each(|task| task.state = to);
}
