//! Acts that need a person's approval: tool calls (`approve` of a tool, `approval_required` of a policy), and acts that no list of a policy names
//! (`permission_mode: prompt`).
//!
//! An answer is valid only for the act in question: the tool with its arguments as they are sent. A step asks about one act at a time and its other
//! calls continue meanwhile. When nothing else is left to do, the run is paused.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::acts::{CalledTool, DecidedAct, PersonSays, shown_resource};
use crate::command::CallRequest;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{ActKind, Approve, Policy, ToolName};
use crate::parts::{Gatekeeper, Rules};
use crate::policy::{PolicyAnswer, may_mean, needs_approval, program_needs_approval};
use crate::state::NodeRef;
use crate::state::consents::{ConsentDecision, PendingConsent};
use crate::steps::mail::each_form;

impl Gatekeeper<'_> {
    /// A person's decision about a request. Asks the person if that is necessary, and returns `None` if it is not.
    ///
    /// # Errors
    /// Fails in a test, where nobody can be asked.
    pub(crate) fn person_says(
        &mut self,
        at: NodeRef,
        agent: Option<&str>,
        tool: Option<CalledTool>,
        request: &CallRequest,
        decided: &[DecidedAct],
    ) -> Result<Option<PersonSays>, Failure> {
        let asks: Vec<&DecidedAct> = decided.iter().filter(|one| one.decision.answer == PolicyAnswer::Ask).collect();
        let of_resource =
            if let CallRequest::Resource(call) = request { Some((&*call.server.name, json!({ "uri": call.uri }))) } else { None };
        let resource = of_resource.as_ref().map(|(server, arguments)| (*server, arguments));
        let called = tool.map(|tool| (tool.name, tool.whole)).or(resource);
        let of_program = |policy: &Policy| matches!(request, CallRequest::Program(call) if program_needs_approval(policy, &call.command));
        if asks.is_empty()
            && !self.policies(at, agent).iter().any(|(_, policy)| of_program(policy))
            && called.is_none_or(|(name, arguments)| {
                let named = (name, tool.is_some_and(|tool| tool.is_program));
                !each_form(request, arguments).iter().any(|form| self.rules().must_confirm(at, agent, named, form))
            })
        {
            return Ok(None);
        }
        if tool.is_some_and(|tool| tool.is_repeated) {
            return Ok(Some(PersonSays::Yes(String::new())));
        }
        let words = wish(tool, request, &asks);
        let step = self.path(at);
        if self.options.mocks.refuses_effects {
            let message = format!("\"{step}\" asks a person before it may {words}; give it a mock");
            let about = called.map(|(name, _)| name.to_owned()).unwrap_or_default();
            self.noted.borrow_mut().unanswered.push((step, about));
            return Err(Failure::new(FailureKind::Denied, message));
        }
        let act = act(called, &words, &asks);
        Ok(Some(match self.state.people.consents.get(&step) {
            Some(PendingConsent { decided: None, .. }) => PersonSays::Nothing,
            // A step has one open question at a time.
            _ if self.state.people.approvals.contains_key(&step) => PersonSays::Nothing,
            Some(PendingConsent { act: asked, decided: Some(true), by, .. }) if *asked == act => PersonSays::Yes(by.clone()),
            Some(PendingConsent { act: asked, decided: Some(false), is_nobody: true, .. }) if *asked == act => PersonSays::IsAway,
            Some(PendingConsent { act: asked, decided: Some(false), by, comment, .. }) if *asked == act => {
                PersonSays::No { by: by.clone(), comment: comment.clone() }
            }
            _ => {
                // Not shortened: the person decides about all of it.
                let question = format!("\"{step}\" wants to {words}{}; allow it?", because(&asks));
                self.emit(Happening::ApprovalRequested { step, question, act, form: None });
                PersonSays::Nothing
            }
        }))
    }

    /// Handles a person's decision while the run is in this process.
    pub(crate) fn person_decided(
        &mut self,
        step: &str,
        (approved, nobody): (bool, bool),
        comment: String,
        by: String,
        fields: Option<Value>,
    ) {
        let Some(at) = self.state.steps.find(step).filter(|_| self.state.undecided().any(|waiting| **waiting == *step)) else { return };
        let asks_form = self.state.people.approvals.contains_key(step);
        let output = fields.filter(|_| asks_form && approved);
        if asks_form && approved && !self.form_problems(step, output.as_ref()).is_empty() {
            return;
        }
        self.is_paused = false;
        let is_doubt = self.state.people.doubts.contains_key(step);
        self.emit(Happening::ApprovalAnswered { step: step.into(), approved, output: output.map(Arc::new), comment, by, nobody });
        if is_doubt { self.scheduler().follow(at, ConsentDecision::new(approved, None)) } else { self.wake(at) }
    }
}

impl Rules<'_> {
    /// Whether a tool, or a list of a policy, requires a person to confirm this call.
    fn must_confirm(&self, at: NodeRef, agent: Option<&str>, (tool, is_program): (&str, bool), arguments: &Value) -> bool {
        let part = ToolName::parse(tool).part.unwrap_or(tool);
        let by_tool = !is_program
            && self.tool(at, tool).is_ok_and(|found| match &found.approve {
                Approve::Never => false,
                Approve::Always => true,
                Approve::Names(names) => names.iter().any(|name| may_mean(name, part) || may_mean(name, tool)),
            });
        by_tool || self.policies(at, agent).iter().any(|(_, policy)| needs_approval(policy, tool, arguments).is_some())
    }
}

/// Describes a request that a person may have to allow, worded to follow "wants to". `asks`: the acts that policies ask about.
fn wish(tool: Option<CalledTool>, request: &CallRequest, asks: &[&DecidedAct]) -> String {
    // Acts that the description itself covers are not repeated.
    let (words, covers) = match (tool, request) {
        (Some(CalledTool { name, whole, is_program: true, .. }), _) => (format!("start {name} with {whole}"), Some(ActKind::Tool)),
        (Some(CalledTool { name, whole, .. }), _) => (format!("call {name} with {whole}"), Some(ActKind::Tool)),
        (None, CallRequest::Resource(call)) => {
            let shown = shown_resource(&call.server.name, &json!({ "uri": call.uri }));
            (format!("read the resource {shown}"), Some(ActKind::Resource))
        }
        (None, CallRequest::Http(request)) => {
            let body = request.body.as_ref().map(|(_, bytes)| format!(" with {}", String::from_utf8_lossy(bytes))).unwrap_or_default();
            (format!("send {} {}{body}", request.method.word(), request.recorded_url()), Some(ActKind::Host))
        }
        (None, CallRequest::Query(query)) => {
            let with = if query.with.is_empty() { String::new() } else { format!(" with {}", json!(query.with)) };
            (format!("run the query {}{with}", query.query.trim()), None)
        }
        (None, CallRequest::Tools(server)) => (format!("list the tools of server {}", server.name), None),
        (None, CallRequest::Search(search)) => (format!("search {} for {}", search.knowledge, json!(search.query)), None),
        (None, CallRequest::Read(_)) => ("read files".to_owned(), None),
        (None, CallRequest::Python(call)) if call.is_written_by_model => (format!("run this code: {}", call.code.trim()), None),
        (None, CallRequest::Python(_)) => ("run its code".to_owned(), None),
        (
            None,
            CallRequest::Model(_)
            | CallRequest::Agent(_)
            | CallRequest::Scripted(_)
            | CallRequest::Recall { .. }
            | CallRequest::Program(_)
            | CallRequest::Tool(_)
            | CallRequest::Mail(_)
            | CallRequest::Print(_)
            | CallRequest::List { .. }
            | CallRequest::Open { .. }
            | CallRequest::Write { .. }
            | CallRequest::Held { .. },
        ) => ("make a request".to_owned(), None),
    };
    let also: Vec<&str> = asks.iter().filter(|one| Some(one.act) != covers).map(|one| one.words.as_str()).collect();
    if also.is_empty() { words } else { format!("{words} ({})", also.join(", ")) }
}

/// The hash of an act, for which an answer is valid.
fn act(called: Option<(&str, &Value)>, words: &str, asks: &[&DecidedAct]) -> String {
    let mut hash = Sha256::new();
    match called {
        None => hash.update(words),
        Some((name, arguments)) => {
            hash.update(name);
            hash.update([0]);
            hash.update(arguments.to_string());
        }
    }
    for one in asks {
        hash.update([0]);
        hash.update(&one.words);
    }
    hex::encode(hash.finalize())
}

/// The rules that require the question, for the person who decides.
fn because(asks: &[&DecidedAct]) -> String {
    let mut rules: Vec<&str> = asks.iter().map(|one| one.decision.rule.as_str()).collect();
    rules.dedup();
    if rules.is_empty() { String::new() } else { format!(" ({})", rules.join("; ")) }
}

/// The failure of a call that a person rejected; `comment` is `None` if nobody could be asked.
pub(crate) fn not_allowed(tool: Option<CalledTool>, request: &CallRequest, comment: Option<&str>) -> Failure {
    let what = match (tool, request) {
        (Some(CalledTool { name, .. }), _) => format!("this call of \"{name}\""),
        (None, CallRequest::Resource(call)) => format!("this call of \"{}\"", call.server.name),
        (None, _) => "this".to_owned(),
    };
    let message = match comment {
        None => format!("nobody could be asked about {what}"),
        Some("") => format!("a person rejected {what}"),
        Some(comment) => format!("a person rejected {what}: {comment}"),
    };
    Failure::new(FailureKind::Rejected, message)
}

/// The failure of a `once` step in doubt after a person said no.
pub(crate) fn not_again() -> Failure {
    Failure::new(FailureKind::Rejected, "a person decided not to run it again")
}
