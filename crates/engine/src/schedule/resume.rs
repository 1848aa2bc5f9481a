//! Resuming after a crash.
//!
//! The open calls of a step are lost with the process, so they are made again with the same idempotency key; a `once` step asks first.

use serde_json::{Value, json};

use crate::Run;
use crate::event::{Happening, StepPath, StepStatus};
use crate::parts::{Schedule, Scheduler};
use crate::state::consents::ConsentDecision;
use crate::state::{NodeRef, StepWork};
use crate::tools::consent::not_again;

impl Scheduler<'_> {
    /// Resumes the run: lost calls are made again, and steps in doubt wait for a person.
    pub(crate) fn go_on_after(&mut self, away_ms: u64) {
        self.emit(Happening::RunResumed { away_ms });
        let (again, in_doubt) = self.schedule().unfinished();
        again.into_iter().for_each(|at| self.wake(at));
        for (at, step) in in_doubt {
            match self.state.people.doubts.get(&step).cloned().flatten() {
                Some(decision) => self.follow(at, decision),
                None if self.state.people.doubts.contains_key(&step) => {}
                None => self.asks_again(step),
            }
        }
    }

    /// Asks a person about a step that may have acted.
    pub(crate) fn asks_again(&mut self, step: StepPath) {
        let question = format!("\"{step}\" was started and may have acted; run it again?");
        self.emit(Happening::ApprovalRequested { step, question, act: String::new(), form: None });
    }

    /// Carries out a person's decision about a step in doubt.
    pub(crate) fn follow(&mut self, at: NodeRef, decision: ConsentDecision) {
        match decision {
            ConsentDecision::Again => self.wake(at),
            ConsentDecision::Never => self.fail(at, not_again(), None),
            ConsentDecision::Happened(output) => self.steps().give(at, (*output).clone(), Some(json!({ "decided": true }))),
        }
    }

    /// Pauses the run, in which everything that is left waits for a person.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
        self.emit(Happening::RunPaused);
    }
}

impl Run {
    /// Checks the output that a person reports for a step in doubt, and returns it as the steps below read it.
    ///
    /// # Errors
    /// Returns the problems as sentences if the step cannot have this output.
    pub fn reported_output(mut self, step: &str, output: Value) -> Result<Value, Vec<String>> {
        self.context.state = self.context.state.before_its_end();
        let at = self.state.steps.find(step).ok_or_else(|| vec!["there is no such step".to_string()])?;
        self.schedule().fitted(at, output)
    }

    /// Whether nothing is left to do until a person has decided.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }
}

impl Schedule<'_> {
    /// Steps that had started and had not ended: those that continue by themselves, and `once` steps that may have acted.
    fn unfinished(&self) -> (Vec<NodeRef>, Vec<(NodeRef, StepPath)>) {
        let (mut again, mut in_doubt) = (vec![], vec![]);
        for (frame, nodes) in self.state.steps.frames.iter().enumerate().filter_map(|(ix, frame)| Some((ix, &frame.as_ref()?.nodes))) {
            for (node, found) in nodes.iter().enumerate() {
                let at = NodeRef { frame: frame as u32, node: node as u32 };
                let is_asked = self.state.people.doubts.get(&found.path).is_some_and(|decided| decided.is_none());
                let is_running = found.status == StepStatus::Running && !matches!(found.work, StepWork::Inner { .. } | StepWork::Called(_));
                let is_consent = self.state.people.consents.get(&found.path).is_some_and(|consent| !consent.is_used)
                    || self.state.people.approvals.contains_key(&found.path)
                    || self.state.people.server_talks.contains_key(&found.path);
                let consents = is_consent && found.work.calls().is_empty();
                let is_once = self.is_once(at);
                if is_asked || is_running && is_once && !consents && !found.work.waits_inside() {
                    in_doubt.push((at, found.path.clone()));
                } else if is_running {
                    again.push(at);
                }
            }
        }
        (again, in_doubt)
    }

    /// Whether a step is marked `once`, or is inside one that is: in its cases, its elements, or a pipeline that it calls.
    fn is_once(&self, at: NodeRef) -> bool {
        let around = |at: &NodeRef| self.state.steps.frame(at.frame).parent.or(self.state.steps.instance_around(*at).parent);
        std::iter::successors(Some(at), around).any(|at| self.step(at).is_once)
    }
}
