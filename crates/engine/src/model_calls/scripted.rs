//! Scripted replies: templates of an author, chosen and filled in by the step that makes the call.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::MissingReply;
use crate::event::{Failure, FailureKind, ToolCall, Usage};
use crate::model::{Replies, ReplyBody, ReplySet, step_path};
use crate::parts::Conversations;
use crate::port::ModelReply;
use crate::questions::Brief;
use crate::state::NodeRef;

impl Conversations<'_> {
    /// How many of the replies under a key were used, by the step with that path or by all elements and rounds that it serves.
    pub(crate) fn replies_used(&self, replies: &Replies, key: &str) -> u64 {
        let used = &self.state.spent.replies_used;
        let first = step_path::outermost(key);
        let inside = ["/", "["].map(|next| format!("{first}{next}"));
        let elements =
            inside.iter().flat_map(|from| used.range(from.clone()..).take_while(move |(path, _)| path.starts_with(from.as_str())));
        let elements = elements.filter(|(path, _)| *path != key);
        let elements = elements.filter(|(path, _)| replies_of(replies, path).is_some_and(|(found, _)| found == key));
        used.get(key).copied().unwrap_or(0) + elements.map(|(_, used)| used).sum::<u64>()
    }

    /// Whether the last answer of a step's model was a scripted reply.
    pub(crate) fn is_scripted(&self, at: NodeRef, brief: &Brief) -> bool {
        let of_test = self.options.replies.as_ref().is_some_and(|replies| replies_of(replies, &self.state.steps.node(at).path).is_some());
        let fallback = self.state.steps.node(at).talk().map_or(0, |talk| talk.fallbacks);
        of_test || self.models(at, brief).get(fallback).is_some_and(|(_, model)| model.provider.scripted().is_some())
    }

    /// The scripted reply to a call: a template of an author, filled in with the names of its step.
    pub(crate) fn scripted_reply(
        &self,
        at: NodeRef,
        replies: &Arc<Replies>,
        brief: &Brief,
    ) -> Result<Result<ModelReply, Failure>, Failure> {
        let path = &*self.state.steps.node(at).path;
        let found = replies_of(replies, path);
        let used = self.replies_used(replies, found.map_or(path, |(key, _)| key));
        let none = || {
            let tries = self.tasks().tries(at);
            let after = tries.last().and_then(|last| last.failure()).map(|failure| format!("try {} failed: {failure}", tries.len()));
            let because = after.as_ref().map(|after| format!("; {after}")).unwrap_or_default();
            let missing = MissingReply { step: path.into(), agent: brief.agent.clone(), call: used + 1, after };
            self.noted.borrow_mut().missing_replies.push(missing);
            Failure::new(FailureKind::NoAnswer, format!("no scripted reply for call {} of step \"{path}\"{because}", used + 1))
        };
        let reply = match found.ok_or_else(none)?.1 {
            ReplySet::Every(reply) => reply,
            ReplySet::InTurn(list) => list.get(used as usize).ok_or_else(none)?,
            ReplySet::Matching(list) => {
                let mut fitting = None;
                for reply in list.iter().filter(|reply| reply.action.is_none_or(|action| action == brief.purpose)) {
                    if reply.when.as_ref().map_or(Ok(true), |when| self.condition(at, when))? {
                        fitting = Some(reply);
                        break;
                    }
                }
                fitting.ok_or_else(none)?
            }
        };
        let verdict =
            |id: &String, passed: bool, feedback: String| json!({ "id": id, "passed": passed, "feedback": feedback, "evidence": "" });
        let mut calls = vec![];
        let text = match &reply.body {
            ReplyBody::Text(text) => self.fill_text(at, text)?,
            ReplyBody::Data(data) => self.filling(at, data)?.to_string(),
            ReplyBody::Error(kind) => return Ok(Err(Failure::new(*kind, "scripted failure"))),
            ReplyBody::Passed => {
                let verdicts: Value = brief.criteria.iter().map(|id| verdict(id, true, String::new())).collect();
                json!({ "verdicts": verdicts }).to_string()
            }
            ReplyBody::Failed(failed) => {
                let mut verdicts = vec![];
                for id in &brief.criteria {
                    let feedback =
                        failed.iter().find(|(name, _)| name.value == *id).map(|(_, text)| self.fill_text(at, text)).transpose()?;
                    verdicts.push(verdict(id, feedback.is_none(), feedback.unwrap_or_default()));
                }
                json!({ "verdicts": verdicts }).to_string()
            }
            ReplyBody::Calls(wanted) => {
                for (place, (tool, with)) in wanted.iter().enumerate() {
                    let id = format!("call_{}_{}", used + 1, place + 1);
                    calls.push(ToolCall { id, tool: tool.value.clone(), arguments: self.filling(at, with)? });
                }
                String::new()
            }
        };
        let (input_tokens, output_tokens) = reply.usage.unwrap_or((0, 0));
        let usage = Some(Usage { input_tokens, output_tokens, ..Usage::default() });
        Ok(Ok(ModelReply { text, calls, usage, ..ModelReply::default() }))
    }
}

/// The replies for a step by its path, also by one that is written once for all elements and rounds.
pub(crate) fn replies_of<'r>(replies: &'r Replies, path: &str) -> Option<(&'r str, &'r ReplySet)> {
    let name = step_path::written_for(path, |name| replies.by_step.contains_key(name))?;
    let found = replies.by_step.get_key_value(&*name);
    found.map(|(key, set)| (key.as_str(), set))
}
