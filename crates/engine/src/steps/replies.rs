//! Handles replies from outside.

use serde_json::Value;

use crate::channel::clean;
use crate::command::CallReply;
use crate::event::{Failure, FailureKind, Happening};
use crate::gate::result::{self, ResultContext};
use crate::model::{StepKind, ToolKind};
use crate::parts::Steps;
use crate::parts::{Conversations, Schedule};
use crate::port::ModelReply;
use crate::state::{CacheStage, NodeRef};

impl Steps<'_> {
    /// Handles a reply. A reply to a call that has ended is recorded and ignored.
    pub(crate) fn replied(&mut self, call: u64, result: Result<CallReply, Failure>) {
        let Some(open) = self.state.calls.get(&call) else {
            self.emit(Happening::ReplyIgnored { call });
            return;
        };
        let at = open.node;
        let started = open.started_ms;
        let result =
            result.map(CallReply::cleaned).map_err(|failure| Failure { message: clean(&failure.message).0.into_owned(), ..failure });
        if let Some(place) = self.toolbox().asked_place(at, call) {
            return self.talks().asked_answered(at, call, place, result);
        }
        if self.state.calls.listing(call).is_some() {
            return self.servers().tools_listed(at, call, result);
        }
        if self.state.steps.node(at).talk().is_some() {
            let result = result.and_then(|reply| match reply {
                CallReply::Model(reply) if self.conversations().answers_by_program(at) => {
                    Ok(ModelReply { text: clean(&reply.text).0.into_owned(), ..reply })
                }
                CallReply::Model(reply) => Ok(reply),
                _ => Err(Failure::new(FailureKind::Internal, "an answer of the wrong kind arrived")),
            });
            return self.talks().model_replied(at, call, result);
        }
        if matches!(self.state.steps.node(at).cache, CacheStage::Looking(_)) {
            return self.scheduler().recalled(at, call, result);
        }
        let step = self.path(at);
        let result = match result {
            Ok(CallReply::Tool(reply)) if let StepKind::Tool(step) = &self.step(at).kind => {
                match self.servers().server_replied(at, call, &step.tool.value, reply, None) {
                    Ok(None) => return self.wake(at),
                    Ok(Some(value)) => Ok(CallReply::Value(value)),
                    Err(failure) => Err(failure),
                }
            }
            Ok(CallReply::Resource(reply, file)) if let StepKind::Resource(step) = &self.step(at).kind => {
                self.servers().resource_read(at, call, &step.server.value, reply, file)
            }
            result => result,
        };
        let result = result.map_err(|failure| self.rules().after_questions(at, 0, failure));
        let failure = result.as_ref().err().cloned();
        let duration_ms = self.now.ms.saturating_sub(started);
        self.emit(Happening::ToolReplied {
            step,
            call,
            failure,
            duration_ms,
            result: None,
            personal: vec![],
            pictures: vec![],
            asked: None,
        });
        // What a program or code told is worth most when it failed.
        let told = match &result {
            Ok(CallReply::Program(reply)) => Some(super::program::details(reply)),
            Ok(CallReply::Python(reply)) => Some(super::python::details(reply)),
            Ok(_) | Err(_) => None,
        };
        if let Ok(CallReply::Program(reply)) = &result {
            self.gatekeeper().record_refused(at, None, reply);
        }
        if let Err(failure) = result.and_then(|reply| self.take_reply(at, reply))
            && let Err(failure) = self.decide(at, |kind, context| Ok(kind.fails(context, at, failure, told)))
        {
            self.fail_attempt(at, failure);
        }
    }

    /// Ends a try of a step with a result, or with a mock in a test. The result must have the shape that the step declares.
    pub(crate) fn give(&mut self, at: NodeRef, output: Value, details: Option<Value>) {
        match self.schedule().fitted(at, output) {
            Ok(output) => self.succeed(at, output, details),
            Err(problems) => {
                let message = format!("the result does not match its schema: {}", problems.join("; "));
                self.fail_attempt(at, Failure::new(FailureKind::BadShape, message));
            }
        }
    }

    /// Handles a call whose time is up.
    pub(crate) fn call_timed_out(&mut self, call: u64) {
        let Some(open) = self.state.calls.get(&call) else { return };
        let seconds = crate::words::duration(std::time::Duration::from_millis(open.timeout_at.saturating_sub(open.started_ms)));
        let open_at = open.node;
        let has_gone_out = self.outbox.cancel(call);
        let acts = has_gone_out && self.schedule().call_acts(call);
        let message = match self.state.calls.listing(call).filter(|_| has_gone_out) {
            Some(server) => format!("server \"{server}\" did not start and list its tools within {seconds} (connect_timeout)"),
            None if has_gone_out => match self.schedule().code_at(open_at) {
                Some(code) => format!("{code} did not end within {seconds}, and was ended"),
                None => format!("no answer after {seconds}"),
            },
            None => format!("not sent, since the record of the run could not be written within {seconds}"),
        };
        let failure =
            if acts { Failure::unknown_outcome(FailureKind::Timeout, message) } else { Failure::new(FailureKind::Timeout, message) };
        self.replied(call, Err(failure));
    }

    /// Continues a step with the reply to its call.
    fn take_reply(&mut self, at: NodeRef, reply: CallReply) -> Result<(), Failure> {
        let step = self.step(at);
        let reply = match (self.planned_of(at).called(&step), reply) {
            (Some(called), CallReply::Rows(rows)) => return self.person_came(at, &step, called, rows),
            (_, reply) => reply,
        };
        self.decide(at, |kind, context| kind.take(context, at, reply))
    }
}

impl Conversations<'_> {
    /// Whether the open conversation of a step is with a program that is an agent.
    fn answers_by_program(&self, at: NodeRef) -> bool {
        let model = self.state.steps.node(at).talk().and_then(|talk| self.model(at, &talk.model));
        model.is_some_and(|model| model.provider.program().is_some())
    }
}

impl Schedule<'_> {
    pub(crate) fn fitted(&self, at: NodeRef, value: Value) -> Result<Value, Vec<String>> {
        let (step, planned) = (self.step(at), self.planned_of(at));
        let called = planned.called(&step).map(|id| &self.plan.pipeline(id).pipeline.outputs);
        let asked = if let StepKind::Agent(asked) = &step.kind { Some(asked) } else { None };
        if step.for_each.is_some() && !self.state.steps.is_element(at) {
            let agent = asked.and_then(|asked| planned.pipeline.agents.get(&asked.agent.value));
            return result::results(&step, ResultContext { agent, called }, value);
        }
        match asked {
            Some(asked) => Ok(self.conversations().read_answer(self.conversations().output_shape(at, asked).as_ref(), value)?.value),
            None => result::result(&step, ResultContext { agent: None, called }, value),
        }
    }

    /// What a step starts, as messages name it; `None`: it starts neither a program nor code.
    fn code_at(&self, at: NodeRef) -> Option<String> {
        let step = self.step(at);
        let of_tool = if let StepKind::Tool(used) = &step.kind { self.planned_of(at).pipeline.tools.get(&used.tool.value) } else { None };
        let program = step.kind.facts().starts.or_else(|| of_tool?.kind.starts());
        let is_code = matches!(step.kind, StepKind::Python(_)) || of_tool.is_some_and(|tool| matches!(tool.kind, ToolKind::Python { .. }));
        program.map(|run| format!("the program \"{}\"", run.short_name())).or_else(|| is_code.then(|| "the Python code".to_owned()))
    }
}
