//! Sends the messages of a conversation, and takes the answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::message;
use crate::Unscripted;
use crate::command::CallRequest;
use crate::event::{Failure, FailureKind, Happening, Message, MessageRole, ModelAnswer, Purpose, ToolCall, Usage};
use crate::model::{LONGEST_SUMMARY, MODEL_TIMEOUT, Model, Provider, Replies, SUMMARY_STEP};
use crate::model_calls::budget::{CallSize, Over, worst_price};
use crate::model_calls::programs::{AskedProgram, TO_END};
use crate::model_calls::relay::relayed;
use crate::model_calls::scripted::replies_of;
use crate::parts::{Conversations, Talks};
use crate::port::{AgentDecision, ModelReply};
use crate::questions::{Brief, TalkTurn};
use crate::state::NodeRef;
use crate::tools::{known_name, with_own_ids};

/// The model that is asked, and how.
struct ModelToAsk<'a> {
    name: &'a str,
    model: Option<&'a Model>,
    scripted: Option<&'a Arc<Replies>>,
    schema: Option<Value>,
    own_bound: Option<(u64, &'static str)>,
    is_again: bool,
    /// All messages of the conversation, those that were sent before, and the new ones.
    all: Vec<&'a Arc<Message>>,
    before: &'a [Arc<Message>],
    new: &'a [Arc<Message>],
}

impl Talks<'_> {
    pub(crate) fn send(&mut self, at: NodeRef, mut brief: Brief, turn: TalkTurn) -> Result<(), Failure> {
        if self.state.stopping.is_some() {
            // The message follows from the state, so a resumed run sends it.
            self.wake(at);
            return Ok(());
        }
        let (first, schema) = (std::mem::take(&mut brief.first), brief.schema.take());
        let chain = self.models(at, &brief);
        let last_fallback = self.state.steps.node(at).talk().map_or(0, |talk| talk.fallbacks);
        let (fresh, is_again) = (matches!(turn, TalkTurn::First), matches!(turn, TalkTurn::Again { .. }));
        let by_tool = |fallback: usize| chain.get(fallback).and_then(|(_, model)| model.provider.tool());
        // The result of a model's own tool belongs to the same attempt.
        let of_results = self.state.steps.node(at).talk().filter(|_| by_tool(last_fallback).is_some()).map_or(1, |talk| talk.attempt);
        let (attempt, fallback, purpose, mut messages) = match turn {
            TalkTurn::First => (1, 0, brief.purpose, first),
            TalkTurn::Again { attempt, fallback } => (attempt, fallback, brief.purpose, vec![]),
            TalkTurn::Repair(text) => (1, last_fallback, Purpose::Repair, vec![message(MessageRole::User, text)]),
            TalkTurn::Results(results) => (of_results, last_fallback, brief.purpose, results),
        };
        self.rules().hide_in_messages(&mut messages);
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let (name, model) = chain.get(fallback).map_or((brief.model_name(), None), |(name, model)| (*name, Some(*model)));
        let relay = by_tool(fallback);
        let scripted = self.conversations().replies_for(at, model);
        let before = self.state.steps.node(at).talk().filter(|_| !fresh).map(|talk| talk.messages.as_slice()).unwrap_or_default();
        let all: Vec<&Arc<Message>> = before.iter().chain(&messages).collect();
        let own_bound = self.conversations().own_bound(at, &brief, schema.is_some());
        let size = CallSize { messages: &all, schema: schema.as_ref(), own_bound: own_bound.map(|(most, _)| most) };
        let reserved_tokens = if relay.is_some() { 0 } else { self.conversations().set_aside_for(at, &brief, model, &size) };
        let reserved_usd = model.and_then(|model| model.provider.program()?.max_cost_usd).or_else(|| worst_price(model, reserved_tokens));
        let over = match self.conversations().over_budget(at, &brief, fresh, reserved_tokens, reserved_usd) {
            Some(Over::Perhaps) => return self.hold_back(at, Over::Perhaps),
            // A call that is not made takes no scripted reply.
            Some(over) if scripted.is_some() => return self.hold_back(at, over),
            over => over,
        };
        let scripted_by = scripted.as_ref();
        let asked = ModelToAsk { name, model, scripted: scripted_by, schema, own_bound, is_again, all, before, new: &messages };
        let (request, timeout) = self.conversations().request(at, &brief, asked)?;
        let model = name.to_string();
        let answering = relay.filter(|_| scripted.is_none()).cloned();
        if let Some(tool) = answering {
            self.gatekeeper().permit_tool_of_model(at, &brief, &tool)?;
        }
        self.gatekeeper().permit_model(at, Some(&brief.agent), &request)?;
        if fresh && brief.purpose == Purpose::Turn && self.scheduler().recalls(at, &request) {
            return Ok(());
        }
        if let Some(over) = over {
            return self.hold_back(at, over);
        }
        let call = self.state.calls.last() + 1;
        self.0.emit(Happening::ModelCalled {
            step: self.path(at),
            call,
            agent: brief.agent,
            model,
            purpose,
            attempt,
            fresh,
            fallback,
            timeout_at_ms: self.now.ms + timeout.as_millis() as u64,
            messages,
            scripted: scripted.is_some(),
            reserved_tokens,
            reserved_usd: reserved_usd.unwrap_or(0.0),
        });
        // The tools stay the same until the end of the conversation.
        if let Some(talk) = self.state.steps.node(at).talk() {
            talk.tools.get(|| brief.tools);
        }
        self.gatekeeper().send_out(at, "", call, request);
        Ok(())
    }

    /// Handles the answer of a model.
    pub(crate) fn model_replied(&mut self, at: NodeRef, call: u64, result: Result<ModelReply, Failure>) {
        let open = self.state.calls.get(&call).cloned();
        let is_scripted = open.as_ref().is_some_and(|open| open.scripted);
        let (reserved, started) = open.map_or((0, self.now.ms), |o| (o.reserved.tokens, o.started_ms));
        let has_endpoint = reserved > 0 && !is_scripted;
        let dearest = self.conversations().dearest_call(at).filter(|_| has_endpoint);
        let (result, decisions, told) = match result {
            Ok(ModelReply { failed: Some(failure), decisions, usage, .. }) => (Err(*failure), decisions, usage),
            Ok(mut reply) => {
                let (decisions, usage) = (std::mem::take(&mut reply.decisions), reply.usage);
                (Ok(reply), decisions, usage)
            }
            Err(failure) => {
                let usage = |(input_tokens, output_tokens)| Usage { input_tokens, output_tokens, ..Usage::default() };
                let told = failure.tokens.map(usage);
                (Err(failure), vec![], told)
            }
        };
        let usage = match told {
            Some(usage) if usage.unknown_tokens == Usage::PART => {
                self.conversations().priced(at, Usage { unknown_tokens: reserved, ..usage })
            }
            Some(usage) => self.conversations().priced(at, usage),
            None if result.is_ok() || dearest.is_some() => Usage { unknown_tokens: reserved, ..Usage::default() },
            None => Usage::default(),
        };
        let is_dear = usage.cost_usd.zip(dearest).filter(|(cost, most)| cost > most);
        let dear = is_dear.map(|(cost, most)| format!("the call cost {cost:.4} USD, and max_cost_usd is {most}"));
        // A call of a program that tells no cost, or a wrong one, counts as the most that it may cost.
        let usage = Usage { cost_usd: usage.cost_usd.or(dearest), ..usage };
        for AgentDecision { act, target, is_allowed: allowed, rule, by } in decisions {
            let agent = self.state.steps.node(at).talk().map(|talk| talk.agent.clone()).unwrap_or_default();
            self.0.emit(Happening::PolicyDecided { step: self.path(at), agent, act, target, allowed, rule, by });
        }
        let result = result.map_err(|failure| if has_endpoint { self.conversations().with_key(at, failure) } else { failure });
        let is_asking = result.as_ref().is_ok_and(|reply| !reply.calls.is_empty());
        let talk = self.state.steps.node(at).talk().filter(|_| is_asking);
        let tools = talk.map(|talk| self.conversations().tools_of(at, &talk.agent)).unwrap_or_default();
        let failed = |message: &str| ModelAnswer::Failed(Failure::new(FailureKind::BadResponse, message));
        let reply = match result {
            Ok(reply) if reply.text.trim().is_empty() && reply.calls.is_empty() => failed("the answer is empty"),
            Ok(reply) if !reply.calls.is_empty() && tools.is_empty() => failed("the answer calls a tool, but no tool was offered"),
            Ok(reply) if reply.text.len() > LONGEST_SUMMARY && self.step(at).id.value == SUMMARY_STEP => {
                let message = format!("the summary has {} bytes, {LONGEST_SUMMARY} are allowed", reply.text.len());
                ModelAnswer::Failed(Failure::new(FailureKind::TooLarge, message))
            }
            Ok(ModelReply { text, calls, model, session, files, state, mut notes, .. }) => {
                notes.extend(dear);
                let before = self.state.steps.node(at).talk().map(|talk| talk.messages.as_slice()).unwrap_or_default();
                let named = |call: ToolCall| ToolCall { tool: known_name(&tools, &call.tool), ..call };
                let calls = with_own_ids(calls, before).into_iter().map(named).collect();
                ModelAnswer::Said { text, calls, model, session, files, state, notes }
            }
            Err(failure) => ModelAnswer::Failed(failure),
        };
        let duration_ms = self.now.ms.saturating_sub(started);
        self.0.emit(Happening::ModelReplied { step: self.path(at), call, reply, duration_ms, usage });
        match self.conversations().overspent(at) {
            Some((step, limit, message)) => self.emit(Happening::LimitReached { step, limit, message }),
            None => self.ask_on(at),
        }
    }
}

impl Conversations<'_> {
    /// The scripted replies that answer in place of a model, if any.
    fn replies_for(&self, at: NodeRef, model: Option<&Model>) -> Option<Arc<Replies>> {
        let (of_test, provider) = (&self.options.replies, model.map(|model| &model.provider));
        let of_step = of_test.as_ref().filter(|replies| replies_of(replies, &self.state.steps.node(at).path).is_some());
        let of_model = || provider.and_then(Provider::scripted);
        let answers_itself = provider.is_some_and(|provider| provider.recorded().is_some() || provider.tool().is_some());
        let or_nobody = || of_test.as_ref().filter(|_| self.options.unscripted == Unscripted::Nobody && !answers_itself);
        of_step.or_else(of_model).or_else(or_nobody).cloned()
    }

    /// The request for a message, and the time that it has.
    fn request(&self, at: NodeRef, brief: &Brief, asked: ModelToAsk) -> Result<(CallRequest, Duration), Failure> {
        let ModelToAsk { name, model, scripted, schema, own_bound, is_again, all, before, new } = asked;
        if let Some(replies) = scripted {
            return Ok((CallRequest::Scripted(self.scripted_reply(at, replies, brief)?), MODEL_TIMEOUT));
        }
        let Some(model) = model else {
            let message = format!("model \"{name}\" not found; add it to models, or set FLOW_MODEL and FLOW_MODEL_BASE_URL");
            return Err(Failure::new(FailureKind::Unavailable, message));
        };
        if let Some(tool) = model.provider.tool() {
            return Ok((CallRequest::Scripted(relayed(tool, is_again, &all)), MODEL_TIMEOUT));
        }
        if let Some(program) = model.provider.program().filter(|_| self.recordings().is_none()) {
            let call = self.agent_call(at, brief, AskedProgram { name, model, program: Arc::clone(program), before, new })?;
            let timeout = call.program.timeout + TO_END;
            return Ok((CallRequest::Agent(Box::new(call)), timeout));
        }
        let mut request = self.model_request(at, model, &brief.tools, schema, own_bound, all.into_iter())?;
        request.tools = self.toolbox().shown_tools(at, &brief.agent, &brief.tools);
        let timeout = request.timeout;
        Ok((CallRequest::Model(request), timeout))
    }
}
