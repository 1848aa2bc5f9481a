//! A conversation with a model: its tools, retries, fallback models, and repairs of answers of the wrong shape.

use std::sync::Arc;

use crate::Run;
use crate::event::{Failure, FailureKind, Happening, Purpose};
use crate::model::{MOST_REPAIRS, Retry};
use crate::parts::{Conversations, Talks};
use crate::questions::{Brief, CallOutcome, TalkTurn};
use crate::state::NodeRef;
use crate::state::talk::{Offered, TalkStage};

/// Makes a brief; with the first messages if it opens a conversation.
pub(crate) type BriefMaker<'b> = &'b dyn Fn(&Run, bool) -> Result<Brief, Failure>;

impl Talks<'_> {
    /// Continues the conversation with an agent: sends the first prompt, makes the tool calls that it requests, or tries again.
    ///
    /// # Errors
    /// Fails if a bound is exceeded, or if a text cannot be filled in.
    pub(crate) fn said_by(&mut self, at: NodeRef, agent: &str, brief: BriefMaker) -> Result<CallOutcome, Failure> {
        let talk = self.state.steps.node(at).talk();
        let is_asking = talk.is_some();
        if talk.is_some_and(|talk| !talk.asked().is_empty()) {
            let agent = self.agent(at, agent)?.clone();
            let Some(results) = self.use_tools(at, &agent)? else { return Ok(CallOutcome::Waiting) };
            if !self.waits_for_permit(at) {
                self.send(at, brief(self, false)?, TalkTurn::Results(results))?;
            }
            return Ok(CallOutcome::Waiting);
        }
        if self.waits_for_permit(at) {
            return Ok(CallOutcome::Waiting);
        }
        if !is_asking {
            let mut listed = self.agent(at, agent)?.tools.clone();
            listed.extend_from_slice(self.step(at).kind.facts().may_use);
            let servers = self.toolbox().servers_among(at, Some(agent), &listed);
            if !self.servers().lists_tools(at, &servers)? {
                self.send(at, brief(self, true)?, TalkTurn::First)?;
            }
            return Ok(CallOutcome::Waiting);
        }
        self.hear(at, brief)
    }

    /// Whether a step must wait until it may make a call; it is woken then. In a run that is to end, an answer that has arrived is still handled.
    pub(crate) fn waits_for_permit(&mut self, at: NodeRef) -> bool {
        let waits = self.schedule().needs_permit(at);
        if waits {
            self.wake(at);
        }
        waits
    }

    /// Handles the reply to the last call. A failure is retried, then the next model is tried.
    pub(crate) fn hear(&mut self, at: NodeRef, brief: BriefMaker) -> Result<CallOutcome, Failure> {
        let Some(talk) = self.state.steps.node(at).talk() else { return Ok(CallOutcome::Waiting) };
        let (attempt, fallback) = (talk.attempt, talk.fallbacks);
        match talk.stage() {
            TalkStage::Out(_) => Ok(CallOutcome::Waiting),
            TalkStage::Said(message) | TalkStage::Using { message, .. } => Ok(CallOutcome::Said(message.text.clone())),
            TalkStage::Unanswered => {
                self.send(at, brief(self, false)?, TalkTurn::Again { attempt: attempt + 1, fallback })?;
                Ok(CallOutcome::Waiting)
            }
            TalkStage::Failed(failure) => {
                let failure = failure.clone();
                let brief = brief(self, false)?;
                let chain = self.models(at, &brief);
                let own = chain.get(fallback).and_then(|(_, model)| model.retry.clone());
                let mut policy = self.step(at).retry.clone().or(own).unwrap_or_else(Retry::of_model_calls);
                // Another judgement may be shorter, and without one a good text would not be sent.
                if brief.purpose == Purpose::Judge && policy.max_attempts > 1 {
                    policy.on.push(FailureKind::Truncated);
                }
                let has_another = fallback + 1 < chain.len();
                if let Some(retry_at_ms) = self.schedule().retry_at(at, &policy, attempt, &failure) {
                    self.0.emit(Happening::AttemptFailed { step: self.path(at), attempt, failure, retry_at_ms });
                    return Ok(CallOutcome::Waiting);
                }
                if policy.on.contains(&failure.kind) && has_another {
                    self.send(at, brief, TalkTurn::Again { attempt: 1, fallback: fallback + 1 })?;
                    return Ok(CallOutcome::Waiting);
                }
                Ok(CallOutcome::Failed(failure))
            }
        }
    }

    /// Sends an answer of the wrong shape back, or fails after too many repairs.
    pub(crate) fn repair(&mut self, at: NodeRef, brief: Brief, problems: &[String]) -> Result<(), Failure> {
        if self.state.steps.node(at).talk().is_none_or(|talk| talk.repairs >= MOST_REPAIRS) {
            let message = format!("the answer has the wrong shape after {MOST_REPAIRS} repairs: {}", problems.join("; "));
            return Err(Failure::new(FailureKind::BadShape, message));
        }
        let list: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
        let text = format!("Your answer does not fit:\n{list}Answer again with the whole JSON object, and nothing else.");
        self.send(at, brief, TalkTurn::Repair(text))
    }
}

impl Conversations<'_> {
    /// The tools of an agent that a step calls, computed once in a conversation; a judge has none.
    pub(crate) fn tools_of(&self, at: NodeRef, agent: &str) -> Arc<[Offered]> {
        let kind = &self.step(at).kind;
        // In a dialogue its judge and the agent that sums up have none.
        let helps = kind.facts().helpers.iter().flatten().any(|helper| helper.value == agent)
            && !kind.facts().talkers.iter().any(|talker| talker.value == agent);
        let has_tools = !kind.agents_with_tools().is_empty() && !helps && !self.state.steps.node(at).judges_task();
        let work_out = || match self.agent(at, agent) {
            Ok(agent) if has_tools => self.toolbox().offered(at, &agent.tools).into(),
            _ => Arc::default(),
        };
        match self.state.steps.node(at).talk().filter(|talk| talk.agent == agent) {
            Some(talk) => talk.tools.get(work_out),
            None => work_out(),
        }
    }
}
