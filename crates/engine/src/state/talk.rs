//! The stage of a conversation with a model. Each transition is a method here; no other code can change the stage.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Cached;
use super::tally::SetAside;
use crate::event::{Failure, Message, MessageRole, ModelAnswer, SharedValue, ToolCall, Usage};
use crate::policy::GivenTexts;
use crate::port::ToolDescription;

/// A conversation with a model, from the first prompt to an answer of the right shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelTalk {
    pub(crate) agent: String,
    /// Name of the model in the file.
    pub(crate) model: String,
    /// How many models of the chain were given up: 0 for the model itself, then its `fallback` in order.
    pub(crate) fallbacks: usize,
    pub(crate) messages: Vec<Arc<Message>>,
    stage: TalkStage,
    /// Tries of the current request.
    pub(crate) attempt: u32,
    /// Tries of all requests.
    pub(crate) attempts: u32,
    pub(crate) repairs: u32,
    /// Whether it is recorded that the last answer was not read literally.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) noted: bool,
    pub(crate) answered_by: Option<String>,
    /// The session by which its program can continue after the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// Files that its program made or changed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) files: BTreeSet<String>,
    pub(crate) usage: Usage,
    /// The conversations with the judges that were called before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<EndedTalk>,
    /// What its calls that reported no cost may have cost.
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(crate) untold: SetAside,
    /// For a gate, how the conversation with each earlier judge ended.
    pub(crate) heard: Vec<TalkStage>,
    /// Number of answers that called tools.
    pub(crate) turns: u64,
    /// Tool calls of this conversation, for `details.tool_calls`; null until the call has ended.
    pub(crate) uses: Vec<SharedValue>,
    /// The tools that the model is offered.
    #[serde(skip)]
    pub(crate) tools: Cached<Arc<[Offered]>>,
    /// What the author and the person wrote, which vouches for arguments of the model.
    #[serde(skip)]
    pub(crate) given: Cached<Arc<GivenTexts<'static>>>,
}

/// A conversation that has ended: the agent, the usage, and the tool calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndedTalk {
    pub(crate) agent: String,
    pub(crate) usage: Usage,
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(crate) untold: SetAside,
    pub(crate) uses: Vec<SharedValue>,
}

/// Conversations of a step that have ended, one after the other, the number of their tries, and their last model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndedTalks {
    pub(crate) talks: Vec<EndedTalk>,
    pub(crate) attempts: u32,
    pub(crate) model: Option<String>,
}

impl EndedTalks {
    /// Adds a conversation, and those with the judges before it.
    pub(super) fn end(&mut self, talk: ModelTalk) {
        self.attempts += talk.attempts;
        self.model = Some(talk.answered_by.clone().unwrap_or_else(|| talk.model.clone()));
        let (before, last) = talk.into_ended();
        self.talks.extend(before);
        self.talks.push(last);
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    /// `tool` or `tool.part`, as in the file.
    pub(crate) name: String,
    /// The description that is sent to the model.
    pub(crate) description: Arc<ToolDescription>,
}

/// The stage of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum TalkStage {
    /// No request is open, and there is no answer: the request must be sent, or sent again.
    #[default]
    Unanswered,
    /// A request is open.
    Out(u64),
    /// The request failed.
    Failed(Failure),
    /// An answer that calls no tools.
    Said(Arc<Message>),
    /// An answer that calls tools.
    Using { message: Arc<Message>, asked: Vec<RequestedCall> },
}

/// The most pictures in one prompt, and in a conversation including the results of its tools.
pub(crate) const MOST_PICTURES: usize = 20;

/// A tool call that a model requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestedCall {
    pub(crate) asked: ToolCall,
    pub(crate) stage: AskedStage,
    pub(crate) started_ms: u64,
    /// Pictures that the model is shown with the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pictures: Vec<PathBuf>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Box<Failure>>,
}

/// The stage of a tool call that a model requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum AskedStage {
    /// Not yet made.
    Open,
    /// The call is open.
    Out(u64),
    /// The call runs as a pipeline.
    Inside(u32),
    /// The call has ended, with this text for the model.
    Over(String),
}

impl TalkStage {
    /// The text of an answer.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            TalkStage::Said(message) | TalkStage::Using { message, .. } => Some(&message.text),
            TalkStage::Unanswered | TalkStage::Out(_) | TalkStage::Failed(_) => None,
        }
    }
}

impl ModelTalk {
    /// Number of pictures so far.
    pub(crate) fn pictures(&self) -> usize {
        let of_messages: usize = self.messages.iter().map(|message| message.pictures.len()).sum();
        of_messages + self.asked().iter().map(|asked| asked.pictures.len()).sum::<usize>()
    }

    /// The stage.
    pub(crate) fn stage(&self) -> &TalkStage {
        &self.stage
    }

    /// The open request.
    pub(crate) fn call(&self) -> Option<u64> {
        if let TalkStage::Out(call) = self.stage { Some(call) } else { None }
    }

    /// Tool calls of the last answer.
    pub(crate) fn asked(&self) -> &[RequestedCall] {
        if let TalkStage::Using { asked, .. } = &self.stage { asked } else { &[] }
    }

    /// The usage of this conversation and of the judges before it.
    pub(crate) fn all_usage(&self) -> Usage {
        let mut usage = Usage::default();
        self.before.iter().map(|talk| &talk.usage).chain([&self.usage]).for_each(|one| usage.add(one));
        usage
    }

    /// The conversations with the judges before this one, and this one.
    fn into_ended(self) -> (Vec<EndedTalk>, EndedTalk) {
        (self.before, EndedTalk { agent: self.agent, usage: self.usage, untold: self.untold, uses: self.uses })
    }

    fn asked_mut(&mut self) -> &mut [RequestedCall] {
        if let TalkStage::Using { asked, .. } = &mut self.stage { asked } else { &mut [] }
    }

    /// Records that a request is sent. The first request of another conversation resets this one.
    pub(super) fn sends(&mut self, call: u64, is_fresh: bool) {
        if is_fresh && !self.messages.is_empty() {
            let mut heard = std::mem::take(&mut self.heard);
            heard.push(std::mem::take(&mut self.stage));
            let attempts = self.attempts;
            let (mut before, last) = std::mem::take(self).into_ended();
            before.push(last);
            *self = ModelTalk { heard, before, attempts, ..ModelTalk::default() };
        }
        self.stage = TalkStage::Out(call);
        self.noted = false;
    }

    /// Records the end of the open request.
    pub(super) fn hears(&mut self, reply: &ModelAnswer, now: u64) {
        self.stage = match reply {
            ModelAnswer::Failed(failure) => TalkStage::Failed(failure.clone()),
            ModelAnswer::Said { text, calls, model, session, files, state, notes: _ } => {
                self.session.clone_from(session);
                self.files.extend(files.iter().cloned());
                let message = Arc::new(Message {
                    role: MessageRole::Assistant,
                    text: text.clone(),
                    calls: calls.clone(),
                    state: state.clone(),
                    ..Message::default()
                });
                self.messages.push(Arc::clone(&message));
                self.answered_by.clone_from(model);
                let open = |asked: &ToolCall| RequestedCall {
                    asked: asked.clone(),
                    stage: AskedStage::Open,
                    started_ms: now,
                    pictures: vec![],
                    failure: None,
                };
                let asked: Vec<RequestedCall> = calls.iter().map(open).collect();
                self.turns += u64::from(!asked.is_empty());
                self.uses.extend(asked.iter().map(|_| SharedValue::default()));
                if asked.is_empty() { TalkStage::Said(message) } else { TalkStage::Using { message, asked } }
            }
        };
    }

    /// Records that a tool call is sent.
    pub(super) fn uses(&mut self, place: usize, call: u64, now: u64) {
        if let Some(asked) = self.asked_mut().get_mut(place) {
            (asked.stage, asked.started_ms) = (AskedStage::Out(call), now);
        }
    }

    /// Records that a tool call runs as a pipeline.
    pub(super) fn goes_inside(&mut self, place: usize, inner: u32) {
        if let Some(asked) = self.asked_mut().get_mut(place) {
            asked.stage = AskedStage::Inside(inner);
        }
    }

    /// Records the end of a tool call: the entry for `details.tool_calls`, and the text for the model.
    pub(super) fn used(&mut self, place: usize, used: Value, shown: String, pictures: &[PathBuf], failure: Option<&Failure>) {
        let first = self.uses.len() - self.asked().len();
        if let Some(asked) = self.asked_mut().get_mut(place) {
            asked.stage = AskedStage::Over(shown);
            asked.pictures = pictures.to_vec();
            asked.failure = failure.cloned().map(Box::new);
            self.uses[first + place] = Arc::new(used);
        }
    }

    /// Loses an open call, which must be made again.
    pub(super) fn loses(&mut self, call: u64) {
        if self.stage == TalkStage::Out(call) {
            self.stage = TalkStage::Unanswered;
        }
        let out = self.asked_mut().iter_mut().find(|asked| asked.stage == AskedStage::Out(call));
        out.into_iter().for_each(|asked| asked.stage = AskedStage::Open);
    }

    /// Records a failed attempt. If the last answer called tools, its unfinished calls are made again; otherwise the request is sent again.
    pub(super) fn fails(&mut self) {
        if let TalkStage::Using { .. } = self.stage {
            let unfinished = self.asked_mut().iter_mut().filter(|a| matches!(a.stage, AskedStage::Out(_) | AskedStage::Inside(_)));
            unfinished.for_each(|asked| asked.stage = AskedStage::Open);
        } else {
            self.stage = TalkStage::Unanswered;
        }
    }
}
