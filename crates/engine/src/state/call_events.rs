//! How events begin and end the calls of steps.

use std::path::PathBuf;

use serde_json::Value;

use super::calls::OpenCall;
use super::talk::{AskedStage, RequestedCall};
use super::tally::SetAside;
use super::{CacheStage, Instance, NodeRef, RunState, StepWork};
use crate::event::{Event, Failure, FailureKind, Happening, ModelAnswer, Purpose, ToolUse, Usage};
use crate::model::{Sample, step_path};
use crate::plan::Plan;

impl RunState {
    /// Applies an event about a call; `step`: the step that it names.
    pub(super) fn call_changed(&mut self, plan: &Plan, event: &Event, step: Option<NodeRef>) -> Option<()> {
        let now = event.at_ms;
        match &event.happening {
            Happening::CacheAsked { call, key, timeout_at_ms, .. } => {
                let at = step?;
                self.calls.open(&mut self.steps, *call, OpenCall::free(at, now, *timeout_at_ms));
                let node = self.steps.tree.node_mut(at);
                node.work = StepWork::Call(*call);
                node.cache = CacheStage::Looking(key.clone());
            }
            Happening::CacheMissed { call, .. } => {
                let at = self.close_call(*call)?;
                let node = self.steps.tree.node_mut(at);
                node.work = StepWork::None;
                if let CacheStage::Looking(key) = &mut node.cache {
                    node.cache = CacheStage::Missed(std::mem::take(key));
                }
            }
            Happening::ToolsAsked { step: path, call, server, timeout_at_ms } => {
                let at = step?;
                self.people.consent_used(path, true, false);
                self.goes_on(plan, at, now);
                self.calls.open_listing(&mut self.steps, *call, server, OpenCall::free(at, now, *timeout_at_ms));
                match &mut self.steps.tree.node_mut(at).work {
                    StepWork::Listing(calls) => drop(calls.insert(*call)),
                    work => *work = StepWork::Listing([*call].into()),
                }
            }
            Happening::ToolsListed { call, server, tools, instructions, unpinned, absent, .. } => {
                let at = self.close_call(*call)?;
                self.steps.tree.node_mut(at).work.ends(*call);
                let instance = self.steps.instance_of(at);
                let instance = self.steps.tree.instance_mut(instance);
                instance.tools_listed(server, tools, instructions, unpinned);
                instance.absent.extend(absent.iter().map(|failure| (server.clone(), failure.message.clone())));
            }
            Happening::ModelCalled { .. } => self.model_called(plan, &event.happening, now)?,
            Happening::ModelReplied { call, reply, usage, .. } => self.model_replied(*call, reply, usage, now)?,
            Happening::ToolCalled { step: path, call, timeout_at_ms, asked, .. } => {
                let at = step?;
                self.people.consent_used(path, true, self.steps.step(plan, at).kind.facts().sends);
                self.goes_on(plan, at, now);
                self.calls.open(&mut self.steps, *call, OpenCall::free(at, now, *timeout_at_ms));
                match (*asked, &mut self.steps.tree.node_mut(at).work) {
                    (Some(place), StepWork::Asking(asking)) => asking.uses(place, *call, now),
                    (_, work) => *work = StepWork::Call(*call),
                }
            }
            Happening::ServerAsked { step, call, asks, asked, .. } => {
                let at = self.close_call(*call)?;
                match (asked, &mut self.steps.tree.node_mut(at).work) {
                    (Some(_), StepWork::Asking(asking)) => asking.loses(*call),
                    (_, work) => work.ends(*call),
                }
                self.people.server_asks(step, asked.unwrap_or_default(), asks);
            }
            Happening::ToolReplied { step: path, call, failure, duration_ms, result, pictures, asked, .. } => match asked {
                Some(place) => {
                    if failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Rejected) {
                        self.people.consent_used(path, false, false);
                    }
                    self.close_call(*call);
                    self.calls.count_to(*call);
                    self.people.server_answered(path, *place);
                    self.asked_over(step?, *place, failure.as_ref(), *duration_ms, (result.as_ref(), pictures))?;
                }
                None => {
                    self.people.server_answered(path, 0);
                    let at = self.close_call(*call)?;
                    self.steps.tree.node_mut(at).work.ends(*call);
                }
            },
            Happening::OutcomeUnknown { call, .. } => self.lose_call(*call),
            _ => {}
        }
        Some(())
    }

    pub(super) fn close_call(&mut self, call: u64) -> Option<NodeRef> {
        self.calls.close(&mut self.steps, call)
    }

    /// Opens the run's own pipeline, or a called one.
    pub(super) fn open_instance(&mut self, plan: &Plan, given: Instance, now: u64) -> u32 {
        self.spent.pipelines_begun += 1;
        let cannot_start = self.start.as_ref().filter(|_| given.parent.is_none()).and_then(|start| start.failure.clone());
        self.steps.open_instance(plan, given, cannot_start, now)
    }

    /// Opens the pipeline of a step, or of a tool that its agent called at the place `asked`. `given` is what the pipeline starts with.
    pub(super) fn call_opened(&mut self, plan: &Plan, at: NodeRef, asked: Option<usize>, given: Instance, now: u64) -> Option<()> {
        let path = self.steps.node(at).path.clone();
        self.people.doubts.remove(&path);
        self.people.consent_used(&path, true, false);
        let planned = self.steps.file(plan, at);
        let Some(place) = asked else {
            let pipeline = planned.called(&self.steps.step(plan, at))?;
            let inner = self.open_instance(plan, Instance { pipeline, prefix: format!("{path}/").into(), ..given }, now);
            self.steps.tree.node_mut(at).work = StepWork::Called(inner);
            return Some(());
        };
        let RequestedCall { asked, stage: AskedStage::Out(call), .. } = self.steps.node(at).talk()?.asked().get(place)? else {
            return None;
        };
        let (call, pipeline) = (*call, planned.called_tool(&asked.tool)?);
        let prefix = format!("{}/", step_path::element(&step_path::inside(&path, &asked.tool), call)).into();
        self.close_call(call);
        let inner = self.open_instance(plan, Instance { pipeline, prefix, ..given }, now);
        self.steps.tree.talk_mut(at)?.goes_inside(place, inner);
        Some(())
    }
    /// Records the end of a tool call that an agent requested, also of one that was not made.
    fn asked_over(
        &mut self,
        at: NodeRef,
        place: usize,
        failure: Option<&Failure>,
        duration_ms: u64,
        (result, pictures): (Option<&Value>, &[PathBuf]),
    ) -> Option<()> {
        let asked = self.steps.node(at).talk()?.asked().get(place)?;
        let used = ToolUse {
            tool: asked.asked.tool.clone(),
            with: asked.asked.arguments.clone(),
            result: result.cloned().unwrap_or_default(),
            status: if failure.is_none() { "succeeded" } else { "failed" }.to_owned(),
            error: failure.map(|f| format!("{}: {}", f.kind.word(), f.message)),
            duration_ms,
        };
        let used = used.into_value();
        let told = match (failure, result) {
            (Some(failure), _) => format!("This did not work ({}): {}", failure.kind.word(), failure.message),
            (None, Some(Value::String(text))) => text.clone(),
            (None, result) => result.unwrap_or(&Value::Null).to_string(),
        };
        if let AskedStage::Inside(inner) = asked.stage {
            self.steps.tree.inherit(at, inner);
            self.drop_instance(inner);
        }
        self.steps.tree.talk_mut(at)?.used(place, used, told, pictures, failure);
        Some(())
    }
    fn model_called(&mut self, plan: &Plan, happening: &Happening, now: u64) -> Option<()> {
        let Happening::ModelCalled {
            step,
            call,
            agent,
            model,
            purpose,
            attempt,
            fresh,
            fallback,
            timeout_at_ms,
            messages,
            scripted,
            reserved_tokens,
            reserved_usd,
        } = happening
        else {
            return None;
        };
        let at = self.steps.find(step)?;
        if *scripted {
            *self.spent.replies_used.entry(step.to_string()).or_default() += 1;
        }
        self.goes_on(plan, at, now);
        let node = self.steps.tree.node_mut(at);
        if let Some(planning) = &mut node.planning {
            planning.findings.clear();
        }
        if !matches!(node.work, StepWork::Asking(_)) {
            node.work = StepWork::Asking(Box::default());
        }
        let talk = self.steps.tree.talk_mut(at)?;
        talk.sends(*call, *fresh);
        talk.agent.clone_from(agent);
        talk.model.clone_from(model);
        talk.fallbacks = *fallback;
        talk.messages.extend(messages.iter().cloned());
        talk.attempt = *attempt;
        talk.attempts += 1;
        talk.repairs += u32::from(*purpose == Purpose::Repair && *attempt == 1);
        let reserved = SetAside { tokens: *reserved_tokens, usd: *reserved_usd };
        let open = OpenCall { reserved, scripted: *scripted, ..OpenCall::free(at, now, *timeout_at_ms) };
        self.calls.open(&mut self.steps, *call, open);
        Some(())
    }
    fn model_replied(&mut self, call: u64, reply: &ModelAnswer, usage: &Usage, now: u64) -> Option<()> {
        self.calls.reserve(call, |reserved| match (may_have_cost(reply, usage), usage.cost_usd) {
            (false, _) => SetAside::default(),
            (true, Some(_)) => SetAside { usd: 0.0, ..reserved },
            (true, None) => reserved,
        });
        let at = self.close_call(call)?;
        self.spent.usage.add(usage);
        self.steps.tree.each_around(at, |instance| instance.usage.add(usage));
        let talk = self.steps.tree.talk_mut(at)?;
        talk.usage.add(usage);
        talk.hears(reply, now);
        Some(())
    }
}

/// Whether a call without reported usage may have cost something: it reached the model, but the answer was lost or unusable.
fn may_have_cost(reply: &ModelAnswer, usage: &Usage) -> bool {
    use FailureKind::*;
    match reply {
        ModelAnswer::Failed(failure) if usage.total_tokens() == 0 => {
            matches!(failure.kind, Timeout | BadResponse | TooLarge | WrongType | Truncated | Refused)
        }
        ModelAnswer::Failed(_) | ModelAnswer::Said { .. } => usage.unknown_tokens > 0,
    }
}
