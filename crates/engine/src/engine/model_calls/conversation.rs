//! A conversation with a model: its tools, retries, fallback, repair of answers of the wrong shape.

use crate::engine::Run;
use crate::engine::model_calls::{Brief, TalkTurn};
use crate::engine::state::talk::TalkStage;
use crate::engine::state::{NodeRef, StepWork};
use crate::engine::tools::Offered;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{MOST_REPAIRS, Retry, StepKind};

/// What became of the last call.
pub(crate) enum CallOutcome {
    /// A call is out or a retry is planned.
    Waiting,
    /// The text of an answer.
    Said(String),
    /// No answer, for good.
    Failed(Failure),
}

impl Run {
    /// Goes on talking with an agent: the first prompt, the tools that it asks for, another try. `None`: there is no answer yet, or the
    /// step has failed.
    ///
    /// # Errors
    /// A bound is passed, or a text cannot be filled in; the step fails.
    pub(crate) fn converse(
        &mut self,
        at: NodeRef,
        agent: &str,
        brief: &dyn Fn(&Run) -> Result<Brief, Failure>,
    ) -> Result<Option<String>, Failure> {
        let (is_asking, is_using) = match &self.state.node(at).work {
            StepWork::Asking(asking) => (true, !asking.asked().is_empty()),
            _ => (false, false),
        };
        if is_using {
            let agent = self.agent(at, agent)?.clone();
            let Some(results) = self.use_tools(at, &agent)? else { return Ok(None) };
            if !self.waits_for_permit(at) {
                let brief = brief(self)?;
                self.send(at, &brief, TalkTurn::Results(results))?;
            }
            return Ok(None);
        }
        if self.waits_for_permit(at) {
            return Ok(None);
        }
        if !is_asking {
            let mut listed = self.agent(at, agent)?.tools.clone();
            listed.extend_from_slice(self.step(at).kind.may_use());
            if !self.lists_tools(at, &self.servers_among(at, Some(agent), &listed))? {
                let brief = brief(self)?;
                self.send(at, &brief, TalkTurn::First)?;
            }
            return Ok(None);
        }
        Ok(match self.hear(at, brief)? {
            CallOutcome::Waiting => None,
            CallOutcome::Said(text) => Some(text),
            CallOutcome::Failed(failure) => {
                self.fail_asking(at, failure);
                None
            }
        })
    }

    /// Ends a step that asked a model badly, with what the conversation came to.
    pub(crate) fn fail_asking(&mut self, at: NodeRef, failure: Failure) {
        let is_plan = matches!(self.step(at).kind, StepKind::Plan(_));
        let details = if is_plan { self.plan_details(at) } else { self.model_details(at) };
        self.fail(at, failure, Some(details));
    }

    /// Whether a step must wait until a call may go out; it is woken then. In a run that is to end, an answer that has come is still heard.
    pub(crate) fn waits_for_permit(&mut self, at: NodeRef) -> bool {
        let (is_out, has_answer) = match &self.state.node(at).work {
            StepWork::Asking(asking) => (asking.call().is_some(), asking.stage().said().is_some()),
            _ => (false, false),
        };
        if is_out || has_answer && self.state.stopping.is_some() || self.has_permit(at) {
            return false;
        }
        self.woken.insert(self.state.key(at));
        true
    }

    /// What the last call gave. A failure is tried again, then with the next model.
    pub(crate) fn hear(&mut self, at: NodeRef, brief: &dyn Fn(&Run) -> Result<Brief, Failure>) -> Result<CallOutcome, Failure> {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(CallOutcome::Waiting) };
        let (attempt, fallback) = (asking.attempt, asking.fallbacks);
        match asking.stage() {
            TalkStage::Out(_) => Ok(CallOutcome::Waiting),
            TalkStage::Said(text) | TalkStage::Using { text, .. } => Ok(CallOutcome::Said(text.clone())),
            TalkStage::Unanswered => {
                let brief = brief(self)?;
                self.send(at, &brief, TalkTurn::Again { attempt: attempt + 1, fallback })?;
                Ok(CallOutcome::Waiting)
            }
            TalkStage::Failed(failure) => {
                let failure = failure.clone();
                let brief = brief(self)?;
                let chain = self.models(at, &brief);
                let own = chain.get(fallback).and_then(|(_, model)| model.retry.clone());
                let policy = self.step(at).retry.clone().or(own).unwrap_or_else(Retry::of_model_calls);
                if let Some(retry_at_ms) = self.retry_at(at, &policy, attempt, &failure) {
                    let step = self.state.node(at).path.clone();
                    self.emit(Happening::AttemptFailed { step, attempt, failure, retry_at_ms });
                    return Ok(CallOutcome::Waiting);
                }
                if policy.on.contains(&failure.kind) && fallback + 1 < chain.len() {
                    self.send(at, &brief, TalkTurn::Again { attempt: 1, fallback: fallback + 1 })?;
                    return Ok(CallOutcome::Waiting);
                }
                Ok(CallOutcome::Failed(failure))
            }
        }
    }

    /// Sends an answer of the wrong shape back, or gives up.
    pub(crate) fn repair(&mut self, at: NodeRef, brief: &Brief, problems: &[String]) -> Result<(), Failure> {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(()) };
        if asking.repairs >= MOST_REPAIRS {
            let message = format!("the answer has the wrong shape after {MOST_REPAIRS} repairs: {}", problems.join("; "));
            return Err(Failure::new(FailureKind::BadShape, message));
        }
        let list: Vec<String> = problems.iter().map(|p| format!("- {p}")).collect();
        let text = format!("Your answer does not fit:\n{}\nAnswer again with the whole JSON object, and nothing else.", list.join("\n"));
        self.send(at, brief, TalkTurn::Repair(text))
    }

    /// The tools of the agent that a step asks; a judge has none.
    pub(crate) fn tools_of(&self, at: NodeRef) -> Vec<Offered> {
        match &self.state.node(at).work {
            StepWork::Asking(asking) if !self.step(at).kind.agents_with_tools().is_empty() => {
                self.agent(at, &asking.agent).map(|agent| self.offered(at, agent)).unwrap_or_default()
            }
            _ => vec![],
        }
    }
}
