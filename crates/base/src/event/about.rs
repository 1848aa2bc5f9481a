//! Which step an event is about.

use super::{Happening, StepPath};

impl Happening {
    /// The step that it is about; of what happens to the whole run, or to a pipeline that it calls, none.
    pub fn step(&self) -> Option<&StepPath> {
        match self {
            Happening::StepStarted { step, .. }
            | Happening::CallOpened { step, .. }
            | Happening::AttemptFailed { step, .. }
            | Happening::StepPaused { step, .. }
            | Happening::StepSucceeded { step, .. }
            | Happening::StepFailed { step, .. }
            | Happening::ResultKept { step, .. }
            | Happening::StepSkipped { step }
            | Happening::StepBlocked { step, .. }
            | Happening::StepCancelled { step, .. }
            | Happening::CacheAsked { step, .. }
            | Happening::CacheMissed { step, .. }
            | Happening::CaseChosen { step, .. }
            | Happening::StepsOpened { step, .. }
            | Happening::PlanAccepted { step, .. }
            | Happening::PlanRefused { step, .. }
            | Happening::PlanEnded { step, .. }
            | Happening::PlanChecked { step, .. }
            | Happening::TableDescribed { step, .. }
            | Happening::TaskTried { step, .. }
            | Happening::TaskExecuted { step, .. }
            | Happening::TaskJudged { step, .. }
            | Happening::DialogueTurned { step, .. }
            | Happening::DialogueJudged { step, .. }
            | Happening::DialogueClosed { step, .. }
            | Happening::ModelCalled { step, .. }
            | Happening::ModelReplied { step, .. }
            | Happening::AnswerRead { step, .. }
            | Happening::ToolCalled { step, .. }
            | Happening::ToolReplied { step, .. }
            | Happening::ToolsAsked { step, .. }
            | Happening::ToolsListed { step, .. }
            | Happening::ServerNoted { step, .. }
            | Happening::ServerAsked { step, .. }
            | Happening::PolicyDecided { step, .. }
            | Happening::GatePassed { step, .. }
            | Happening::GateFailed { step, .. }
            | Happening::RefinementStarted { step, .. }
            | Happening::OutcomeUnknown { step, .. }
            | Happening::ApprovalRequested { step, .. }
            | Happening::ApprovalAnswered { step, .. }
            | Happening::OutputWritten { step, .. } => Some(step),
            // Of a called pipeline the step that calls it; empty: the run.
            Happening::StageStarted { step, .. } | Happening::LimitReached { step, .. } => Some(step).filter(|step| !step.is_empty()),
            Happening::RunStarted(_)
            | Happening::CancelRequested { .. }
            | Happening::GraceEnded
            | Happening::RunResumed { .. }
            | Happening::RunPaused
            | Happening::ReplyIgnored { .. }
            | Happening::RunFinished(_) => None,
        }
    }
}
