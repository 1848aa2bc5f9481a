//! What a kind of step decides. The run carries it out: no kind of step changes anything itself.

use serde_json::Value;

use super::{Kind, with_kind};
use crate::acts::CalledTool;
use crate::command::CallRequest;
use crate::event::{Failure, FailureKind, Happening, SendOutput, Verdict};
use crate::model::Sample;
use crate::parts::Steps;
use crate::questions::{CallOutcome, Question, TalkTurn};
use crate::run::Answerer;
use crate::state::NodeRef;
use crate::{Context, Run};

/// What happened, and what a step does next.
pub(crate) struct StepDecision {
    /// What is recorded first.
    pub(crate) events: Vec<Happening>,
    pub(crate) then: Then,
}

/// What a step does next.
pub(crate) enum Then {
    /// It waits for what is out.
    Wait,
    /// It waits until it may make a call.
    AwaitPermit,
    /// It decides anew, from the state.
    GoOn,
    /// It makes one more call, as after its start.
    StartAgain,
    /// It talks with this agent; see [`Kind::brief`] and [`Kind::heard`].
    Ask(String),
    /// Its agent gets its answer back with this text.
    SendBack(String),
    /// Its agent gets its answer back with these problems of its shape, or has had it back too often.
    Repair(Vec<String>),
    /// It has judges answer a question; see [`Kind::judged`].
    Judge(Box<Question>),
    /// It makes calls, in a test for several parts at once. One that cannot be made ends the others.
    Call(Vec<Result<StepCall, Failure>>),
    /// Its gate was not met: the verdicts, those that say what is wrong, and the cause in words.
    NotMet(Box<Question>, Vec<Verdict>, Vec<Verdict>, String),
    /// It succeeds.
    Succeed(Value, Option<Value>),
    /// It succeeds if its output has the shape that it declares.
    Give(Value, Option<Value>),
    /// It succeeds with what it has delivered.
    Delivered,
    /// It fails for good.
    Fail(Failure, Option<Value>),
    /// Its try fails.
    FailAttempt(Failure, Option<Value>),
}

/// A call of a step.
pub(crate) struct StepCall {
    /// What is called, as events name it.
    pub(crate) tool: String,
    /// What of it is recorded.
    pub(crate) recorded: Value,
    pub(crate) request: CallRequest,
    pub(crate) timeout_ms: u64,
    /// The agent that makes it.
    pub(crate) agent: Option<String>,
    pub(crate) check: CallCheck,
}

/// What decides whether a call is made.
pub(crate) enum CallCheck {
    /// Nothing.
    Nothing,
    /// Nothing, but the call is made in place of another one: that one is filled in and judged.
    Rehearsed,
    /// Rules and people, about the request alone.
    Request,
    /// The same about a tool with these arguments: of this call, and of all that a person decides about.
    Tool { arguments: Value, whole: Value },
    /// The same about the tool with what is recorded of the call; whether this repeats a call with a person's answers to its server.
    Shown { is_repeated: bool },
    /// The same about a program, by its name, with its arguments.
    Program(String, Value),
}

impl StepCall {
    /// A call that rules decide about by its request alone.
    pub(crate) fn new(tool: &str, recorded: Value, request: CallRequest, timeout_ms: u64) -> StepCall {
        StepCall { tool: tool.to_owned(), recorded, request, timeout_ms, agent: None, check: CallCheck::Request }
    }

    fn called(&self) -> Option<CalledTool<'_>> {
        let tool = CalledTool { name: &self.tool, arguments: &self.recorded, whole: &self.recorded, is_repeated: false, is_program: false };
        match &self.check {
            CallCheck::Nothing | CallCheck::Rehearsed | CallCheck::Request => None,
            CallCheck::Tool { arguments, whole } => Some(CalledTool { arguments, whole, ..tool }),
            CallCheck::Shown { is_repeated } => Some(CalledTool { is_repeated: *is_repeated, ..tool }),
            CallCheck::Program(name, arguments) => {
                Some(CalledTool { name, arguments, whole: arguments, is_repeated: false, is_program: true })
            }
        }
    }
}

impl From<Then> for StepDecision {
    fn from(then: Then) -> StepDecision {
        StepDecision { events: vec![], then }
    }
}

impl From<StepCall> for StepDecision {
    fn from(call: StepCall) -> StepDecision {
        Then::Call(vec![Ok(call)]).into()
    }
}

impl From<Happening> for StepDecision {
    fn from(happening: Happening) -> StepDecision {
        StepDecision { events: vec![happening], then: Then::Wait }
    }
}

impl StepDecision {
    /// That this happened, after which the step decides anew.
    pub(crate) fn after(happening: Happening) -> StepDecision {
        StepDecision { events: vec![happening], then: Then::GoOn }
    }
}

impl Steps<'_> {
    /// Has the kind of a step decide, and does that.
    ///
    /// # Errors
    /// As for a decision that is carried out.
    pub(crate) fn decide(
        &mut self,
        at: NodeRef,
        decide: impl FnOnce(&dyn Kind, &Context) -> Result<StepDecision, Failure>,
    ) -> Result<(), Failure> {
        let step = self.step(at);
        with_kind(&step.kind, |kind| {
            let decision = decide(kind, self)?;
            self.carry_out(at, kind, decision)
        })
    }

    /// Does what a step has decided.
    ///
    /// # Errors
    /// Fails if rules reject a call, if a bound is exceeded, or if a text cannot be filled in.
    fn carry_out(&mut self, at: NodeRef, kind: &dyn Kind, mut decision: StepDecision) -> Result<(), Failure> {
        loop {
            decision.events.into_iter().for_each(|happening| self.emit(happening));
            decision = match decision.then {
                Then::Ask(agent) => match self.talks().said_by(at, &agent, &|context, opens| kind.brief(context, at, opens)) {
                    Ok(CallOutcome::Waiting) => return Ok(()),
                    Ok(CallOutcome::Said(text)) => kind.heard(self, at, &text)?,
                    Ok(CallOutcome::Failed(failure)) => kind.unanswered(self, at, failure),
                    Err(failure) => kind.not_asked(self, at, failure)?,
                },
                Then::SendBack(_) if self.talks().waits_for_permit(at) => return Ok(()),
                Then::SendBack(text) => {
                    let brief = kind.brief(self, at, false)?;
                    return self.talks().send(at, brief, TalkTurn::Repair(text));
                }
                Then::Repair(problems) => {
                    let brief = kind.brief(self, at, false)?;
                    return self.talks().repair(at, brief, &problems);
                }
                Then::Judge(question) => match self.judges().ask_judges(at, &question)? {
                    Some(answers) => kind.judged(self, at, question, &answers)?,
                    None => return Ok(()),
                },
                Then::Call(calls) => match calls.into_iter().try_for_each(|call| self.call(at, call?)) {
                    Err(failure) if failure.kind == FailureKind::Denied => kind.denied(self, at, failure)?,
                    called => return called,
                },
                then => {
                    self.settle(at, then);
                    return Ok(());
                }
            };
        }
    }

    /// Ends a step, or lets it wait or decide anew.
    fn settle(&mut self, at: NodeRef, then: Then) {
        match then {
            Then::Wait | Then::Ask(_) | Then::SendBack(_) | Then::Repair(_) | Then::Judge(_) | Then::Call(_) => {}
            Then::AwaitPermit => self.wake(at),
            Then::GoOn => self.ask_on(at),
            Then::StartAgain if self.schedule().has_permit(at) => self.start_again(at),
            Then::StartAgain => self.wake(at),
            Then::NotMet(question, verdicts, wrong, cause) => self.judges().not_met(at, &question, verdicts, wrong, cause),
            Then::Succeed(output, details) => self.succeed(at, output, details),
            Then::Give(output, details) => self.give(at, output, details),
            Then::Delivered => {
                let output = SendOutput { delivered: self.state.steps.node(at).delivered.clone() };
                self.give(at, output.into_value(), None);
            }
            Then::Fail(failure, details) => self.fail(at, failure, details),
            Then::FailAttempt(failure, details) => self.fail_attempt_told(at, failure, details),
        }
    }

    /// Makes a call, if rules and people allow it.
    fn call(&mut self, at: NodeRef, call: StepCall) -> Result<(), Failure> {
        let is_let_out = match &call.check {
            CallCheck::Nothing => true,
            CallCheck::Rehearsed => {
                let step = self.step(at);
                self.gatekeeper().judged(at, &step, Answerer::Nobody)?;
                true
            }
            _ => self.gatekeeper().permit(at, call.agent.as_deref(), call.called(), &call.request)?,
        };
        if is_let_out {
            self.gatekeeper().call_out(at, &call.tool, call.recorded, call.request, call.timeout_ms);
        }
        Ok(())
    }
}

impl Run {
    /// Continues a step: after the start, a reply, a backoff, the end of what it holds, or the wait for a permit.
    pub(crate) fn ask_on(&mut self, at: NodeRef) {
        // A pipeline that the step called may end while a person still decides whether the step continues.
        if self.state.people.doubts.get(&self.state.steps.node(at).path) == Some(&None) {
            return;
        }
        let asked = self.steps().decide(at, |kind, context| kind.next(context, at));
        if let Err(failure) = asked {
            let details = self.state.steps.node(at).talk().is_some().then(|| self.conversations().model_details(at));
            self.fail(at, failure, details);
        }
    }
}
