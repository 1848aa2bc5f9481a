//! Calls of tools that a person must allow (`approve` of a tool, `approval_required` of a policy).
//!
//! The answer is bound to the act: the tool's name and its arguments as they go out. A step asks about one call at a time; its other calls go
//! on meanwhile, and when nothing else is left to do the run is paused.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::engine::Run;
use crate::engine::state::consents::ConsentDecision;
use crate::engine::state::{NodeRef, PendingConsent};
use crate::engine::tools::permissions::shown_resource;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{ActKind, Approve, ToolName};
use crate::policy::{Act, decide, may_mean, needs_approval, opens_call};

impl Run {
    /// Whether a call may go out as far as people are concerned; `false`: a person has been asked, and the step waits.
    ///
    /// # Errors
    /// A person said no (`rejected`), or the tool's own `allow` and `deny` do (`denied`).
    pub(crate) fn agreed(&mut self, at: NodeRef, agent: Option<&str>, tool: &str, arguments: &Value) -> Result<bool, Failure> {
        let decision = opens_call(self.tool(at, tool)?, tool, arguments);
        if !decision.allowed {
            self.record_decision(at, agent, ActKind::Tool, tool.to_owned(), decision)?;
        }
        let wanted = Wanted { act: Act::Tool { name: tool, arguments: Some(arguments) }, tool, arguments };
        self.person_agrees(at, agent, &wanted, || format!("call {tool} with {arguments}"))
    }

    /// The same for a resource of a server; `allow` and `deny` of a server are about its tools.
    ///
    /// # Errors
    /// A person said no (`rejected`).
    pub(crate) fn agreed_to_read(&mut self, at: NodeRef, server: &str, arguments: &Value) -> Result<bool, Failure> {
        let shown = shown_resource(server, arguments);
        let wanted = Wanted { act: Act::Resource { server, uri: Some((arguments, &shown)) }, tool: server, arguments };
        self.person_agrees(at, None, &wanted, || format!("read the resource {shown}"))
    }

    fn person_agrees(&mut self, at: NodeRef, agent: Option<&str>, wanted: &Wanted, in_words: impl Fn() -> String) -> Result<bool, Failure> {
        if !self.must_be_asked(at, agent, wanted) {
            return Ok(true);
        }
        let Wanted { act: _, tool, arguments } = *wanted;
        let act = act(tool, arguments);
        let step = self.path(at);
        match self.state.consents.get(&step) {
            Some(PendingConsent { decided: None, .. }) => Ok(false),
            // One question of a step at a time.
            _ if self.state.approvals.contains_key(&step) => Ok(false),
            Some(PendingConsent { act: asked, decided: Some(true), .. }) if *asked == act => Ok(true),
            Some(PendingConsent { act: asked, decided: Some(false), comment, .. }) if *asked == act => {
                let why = if comment.is_empty() { String::new() } else { format!(": {comment}") };
                Err(Failure::new(FailureKind::Rejected, format!("a person rejected this call of \"{tool}\"{why}")))
            }
            _ => {
                // Whole: a person decides about all of it.
                let question = format!("\"{step}\" wants to {}; allow it?", in_words());
                self.emit(Happening::ApprovalRequested { step, question, act, form: None });
                Ok(false)
            }
        }
    }

    fn must_be_asked(&self, at: NodeRef, agent: Option<&str>, Wanted { act, tool, arguments }: &Wanted) -> bool {
        let policies = self.policies(at, agent);
        // Nobody is asked about what is rejected anyway.
        if !policies.is_empty() && !decide(&policies, act).allowed {
            return false;
        }
        let part = ToolName::of(tool).part.unwrap_or(tool);
        let by_tool = self.tool(at, tool).is_ok_and(|found| match &found.approve {
            Approve::Never => false,
            Approve::Always => true,
            Approve::Names(names) => names.iter().any(|name| may_mean(name, part) || may_mean(name, tool)),
        });
        by_tool || policies.iter().any(|(_, policy)| needs_approval(policy, tool, arguments))
    }

    /// A person has decided while the run is in this process.
    pub(crate) fn person_decided(&mut self, step: &str, approved: bool, comment: String, by: String, fields: Option<Value>) {
        let Some(at) = self.state.find(step).filter(|_| self.state.undecided().any(|waiting| **waiting == *step)) else { return };
        let asks_form = self.state.approvals.contains_key(step);
        let output = fields.filter(|_| asks_form && approved);
        if asks_form && approved && !self.form_problems(step, output.as_ref()).is_empty() {
            return;
        }
        self.is_paused = false;
        let is_doubt = self.state.doubts.contains_key(step);
        self.emit(Happening::ApprovalAnswered { step: step.into(), approved, output: output.map(Arc::new), comment, by });
        if is_doubt { self.follow(at, ConsentDecision::new(approved, None)) } else { self.wake(at) }
    }
}

/// What a person may have to allow.
struct Wanted<'a> {
    act: Act<'a>,
    tool: &'a str,
    arguments: &'a Value,
}

/// A `once` step in doubt, and a person who said no.
pub(crate) fn not_again() -> Failure {
    Failure::new(FailureKind::Rejected, "a person decided not to run it again")
}

/// What an answer is bound to.
fn act(tool: &str, arguments: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash.update(arguments.to_string().as_bytes());
    hex::encode(hash.finalize())
}
