//! Where a conversation with a model stands. Each step from one stage to the next is a method here; no other can be written.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Cached;
use super::tally::SetAside;
use crate::event::{Failure, Message, MessageRole, ModelAnswer, SharedValue, ToolCall, Usage};
use crate::port::ToolDescription;

/// A conversation with a model, from the first prompt to an answer of the right shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelTalk {
    pub(crate) agent: String,
    /// Name of the model in the file.
    pub(crate) model: String,
    /// How many of the model's `fallback` were given up.
    pub(crate) fallbacks: usize,
    pub(crate) messages: Vec<Arc<Message>>,
    stage: TalkStage,
    /// Tries of the present request.
    pub(crate) attempt: u32,
    /// Tries of all requests.
    pub(crate) attempts: u32,
    pub(crate) repairs: u32,
    /// That the last answer was not read to the letter is recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) noted: bool,
    pub(crate) answered_by: Option<String>,
    pub(crate) usage: Usage,
    /// Of the judges that were asked before this one.
    #[serde(default)]
    pub(crate) usage_before: Usage,
    /// Of its calls that never told what they cost.
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(crate) untold: SetAside,
    /// A gate's judges that are done with: how it ended with each.
    pub(crate) heard: Vec<TalkStage>,
    /// Answers that asked for tools.
    pub(crate) turns: u64,
    /// Tool calls of this conversation that have ended: `details.tool_calls`.
    pub(crate) uses: Vec<SharedValue>,
    /// What the model is offered.
    #[serde(skip)]
    pub(crate) tools: Cached<Arc<[Offered]>>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    /// `tool` or `tool.part`, as in the file.
    pub(crate) name: String,
    /// What goes to the model.
    pub(crate) description: Arc<ToolDescription>,
}

/// Where a conversation stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum TalkStage {
    /// Nothing is out, and there is no answer: the request is to be made, or made again.
    #[default]
    Unanswered,
    /// A request is out.
    Out(u64),
    /// The request failed.
    Failed(Failure),
    /// An answer.
    Said(Arc<Message>),
    /// An answer that asks for tools.
    Using { message: Arc<Message>, asked: Vec<RequestedCall> },
}

/// Most pictures of one prompt, and of a conversation with what its tools gave.
pub(crate) const MOST_PICTURES: usize = 20;

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestedCall {
    pub(crate) asked: ToolCall,
    pub(crate) stage: AskedStage,
    pub(crate) started_ms: u64,
    /// Pictures that the model is shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pictures: Vec<PathBuf>,
}

/// How far a tool call that a model asked for has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum AskedStage {
    /// Not yet made.
    Open,
    /// It is out.
    Out(u64),
    /// It is a pipeline that runs.
    Inside(u32),
    /// It has ended; what the model is shown.
    Over(String),
}

impl TalkStage {
    /// The text of an answer.
    pub(crate) fn said(&self) -> Option<&str> {
        match self {
            TalkStage::Said(message) | TalkStage::Using { message, .. } => Some(&message.text),
            TalkStage::Unanswered | TalkStage::Out(_) | TalkStage::Failed(_) => None,
        }
    }
}

impl ModelTalk {
    /// Pictures in it so far.
    pub(crate) fn pictures(&self) -> usize {
        let of_messages: usize = self.messages.iter().map(|message| message.pictures.len()).sum();
        of_messages + self.asked().iter().map(|asked| asked.pictures.len()).sum::<usize>()
    }

    /// Where it stands.
    pub(crate) fn stage(&self) -> &TalkStage {
        &self.stage
    }

    /// The request that is out.
    pub(crate) fn call(&self) -> Option<u64> {
        if let TalkStage::Out(call) = self.stage { Some(call) } else { None }
    }

    /// Tool calls of the last answer.
    pub(crate) fn asked(&self) -> &[RequestedCall] {
        if let TalkStage::Using { asked, .. } = &self.stage { asked } else { &[] }
    }

    /// With the judges that were asked before.
    pub(crate) fn all_usage(&self) -> Usage {
        let mut usage = self.usage_before;
        usage.add(&self.usage);
        usage
    }

    fn asked_mut(&mut self) -> &mut [RequestedCall] {
        if let TalkStage::Using { asked, .. } = &mut self.stage { asked } else { &mut [] }
    }

    /// A request goes out; the first of a conversation with somebody else begins anew.
    pub(super) fn sends(&mut self, call: u64, is_fresh: bool) {
        if is_fresh && !self.messages.is_empty() {
            let mut heard = std::mem::take(&mut self.heard);
            heard.push(std::mem::take(&mut self.stage));
            *self = ModelTalk { heard, usage_before: self.all_usage(), attempts: self.attempts, ..ModelTalk::default() };
        }
        self.stage = TalkStage::Out(call);
        self.noted = false;
    }

    /// The request that was out has ended.
    pub(super) fn hears(&mut self, reply: &ModelAnswer, now: u64) {
        self.stage = match reply {
            ModelAnswer::Failed(failure) => TalkStage::Failed(failure.clone()),
            ModelAnswer::Said { text, calls, model } => {
                let message = Message { role: MessageRole::Assistant, text: text.clone(), calls: calls.clone(), ..Message::default() };
                let message = Arc::new(message);
                self.messages.push(Arc::clone(&message));
                self.answered_by.clone_from(model);
                let open =
                    |asked: &ToolCall| RequestedCall { asked: asked.clone(), stage: AskedStage::Open, started_ms: now, pictures: vec![] };
                let asked: Vec<RequestedCall> = calls.iter().map(open).collect();
                self.turns += u64::from(!asked.is_empty());
                self.uses.extend(asked.iter().map(|_| SharedValue::default()));
                if asked.is_empty() { TalkStage::Said(message) } else { TalkStage::Using { message, asked } }
            }
        };
    }

    /// The call of a tool goes out.
    pub(super) fn uses(&mut self, place: usize, call: u64, now: u64) {
        if let Some(asked) = self.asked_mut().get_mut(place) {
            (asked.stage, asked.started_ms) = (AskedStage::Out(call), now);
        }
    }

    /// The call of a tool is a pipeline, which begins.
    pub(super) fn goes_inside(&mut self, place: usize, inner: u32) {
        if let Some(asked) = self.asked_mut().get_mut(place) {
            asked.stage = AskedStage::Inside(inner);
        }
    }

    /// The call of a tool has ended: what is told of it, and what the model is shown.
    pub(super) fn used(&mut self, place: usize, used: Value, shown: String, pictures: &[PathBuf]) {
        let first = self.uses.len() - self.asked().len();
        if let Some(asked) = self.asked_mut().get_mut(place) {
            asked.stage = AskedStage::Over(shown);
            asked.pictures = pictures.to_vec();
            self.uses[first + place] = Arc::new(used);
        }
    }

    /// A call that was out has no answer: it is to be made again.
    pub(super) fn loses(&mut self, call: u64) {
        if self.stage == TalkStage::Out(call) {
            self.stage = TalkStage::Unanswered;
        }
        let out = self.asked_mut().iter_mut().find(|asked| asked.stage == AskedStage::Out(call));
        out.into_iter().for_each(|asked| asked.stage = AskedStage::Open);
    }

    /// The attempt has failed. What the last answer asked for and is not over is to be made again, and without that the request.
    pub(super) fn fails(&mut self) {
        if let TalkStage::Using { .. } = self.stage {
            let unfinished = self.asked_mut().iter_mut().filter(|a| matches!(a.stage, AskedStage::Out(_) | AskedStage::Inside(_)));
            unfinished.for_each(|asked| asked.stage = AskedStage::Open);
        } else {
            self.stage = TalkStage::Unanswered;
        }
    }
}
