//! The state of a run. Only `apply` changes it. Replaying any prefix of the events restores it, and it can be serialised after every event.

pub(crate) mod apply;
mod attempts;
mod cached;
mod call_events;
mod calls;
pub(crate) mod consents;
pub(crate) mod dialogues;
mod endings;
pub(crate) mod ends;
pub(crate) mod kept;
mod lists;
pub(crate) mod live;
pub(crate) mod made;
mod people;
pub(crate) mod plans;
pub(crate) mod questions;
pub(crate) mod rounds;
pub(crate) mod stop;
pub(crate) mod talk;
pub(crate) mod tally;
pub(crate) mod tasks;
pub(crate) mod timers;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use cached::{Cached, CachedNames};
use calls::CallsOut;
pub(crate) use dialogues::{HeldTurn, Talking};
use lists::StepLists;
use made::MadeValues;
use people::PeopleAsked;
pub(crate) use plans::{OnePlan, Planning};
use talk::{AskedStage, EndedTalk, EndedTalks, ModelTalk, RequestedCall};
pub(crate) use tasks::{TaskTry, Tasking};
pub(crate) use timers::Timer;
pub(crate) use tree::FrameGraph;

use crate::event::{
    Bound, Delivery, Failure, FailureKind, MailDelivery, PlainDelivery, RejectedRecipient, RunEnd, RunStart, ServerTool, SharedValue,
    Stage, StepDetails, StepError, StepFailure, StepPath, StepStatus, Usage, Verdict,
};
use crate::model::{PipelineId, Sample};
use crate::plan::{BlockIx, PipelinePlan, StepIx};
use crate::state::rounds::Repeating;
use crate::state::stop::Stopping;
use crate::state::tally::{Places, SetAside, Spending};

/// The complete state of a run, in its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// How the run was started; `None` before the first event.
    pub start: Option<RunStart>,
    /// Pipelines, lists of steps and steps, and what the scheduler looks at next.
    pub(crate) steps: StepLists,
    /// Calls.
    pub(crate) calls: CallsOut,
    /// What was used so far.
    pub spent: Spending,
    /// Questions to people, and their answers.
    pub(crate) people: PeopleAsked,
    /// Marks of values that `format` steps made.
    #[serde(default, skip_serializing_if = "MadeValues::is_empty")]
    pub(crate) made: MadeValues,
    /// Set while a run that was asked to end still waits for calls that may act or are paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopping: Option<Stopping>,
    /// Whether a gate passed only because its judge could not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) needs_review: bool,
    /// What an earlier run did that is not done again.
    #[serde(default, skip_serializing_if = "kept::KeptResults::is_empty")]
    pub(crate) kept: kept::KeptResults,
    /// How the run ended.
    pub finished: Option<RunEnd>,
    /// The state before a signal ended the run; the run resumes from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interrupted: Option<Box<RunState>>,
    /// Number of the last event.
    pub seq: u64,
    /// Time of the last event, in milliseconds since the run started.
    pub(crate) last_ms: u64,
}

/// A step in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct NodeRef {
    pub(crate) frame: u32,
    pub(crate) node: u32,
}

/// Order of starting: longest remaining path first, then frame, then place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ReadyKey {
    pub(crate) shortness: u32,
    pub(crate) at: NodeRef,
}

/// A running pipeline: the run's own, or a called one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) pipeline: PipelineId,
    pub(crate) parent: Option<NodeRef>,
    /// Path of the call and `/`; empty for the run's own pipeline.
    pub(crate) prefix: StepPath,
    pub(crate) inputs: SharedValue,
    pub(crate) channel: Option<String>,
    pub(crate) person: SharedValue,
    /// Tokens and cost of its calls, including those of the pipelines that it calls.
    pub(crate) usage: Usage,
    /// What its calls that reported no cost may have cost.
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(crate) untold: SetAside,
    pub(crate) stage: Stage,
    /// The frame of `steps`, which is kept to the end, and the frame of the current stage.
    pub(crate) main: u32,
    pub(crate) frame: u32,
    pub(crate) ending: Ending,
    pub(crate) stage_timer: Option<u64>,
    pub(crate) deadline: Option<u64>,
    /// Tools of the MCP servers that were listed, by the name of the server in the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) servers: BTreeMap<String, Vec<Arc<ServerTool>>>,
    /// Tools of those servers, as `server.tool`, that the file could use if they were pinned.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) unpinned: BTreeSet<String>,
    /// Optional servers that are not available, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) absent: BTreeMap<String, String>,
    /// Instructions that servers provide about themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) instructions: BTreeMap<String, String>,
    /// Frames of earlier stages besides `main`.
    pub(crate) past: Vec<u32>,
    #[serde(skip)]
    pub(crate) cached: CachedNames,
}

impl Instance {
    /// The path of the call; empty for the run's own pipeline.
    pub(crate) fn path(&self) -> StepPath {
        self.prefix.trim_end_matches('/').into()
    }

    /// A server was asked for its tools.
    fn tools_listed(&mut self, server: &str, tools: &[Arc<ServerTool>], instructions: &str, unpinned: &[String]) {
        self.servers.insert(server.to_owned(), tools.to_vec());
        self.unpinned.extend(unpinned.iter().map(|part| format!("{server}.{part}")));
        if !instructions.is_empty() {
            self.instructions.insert(server.to_owned(), instructions.to_owned());
        }
    }
}

/// What is known about how a pipeline ends. The status is a pure function of this.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) is_cancelled: bool,
    pub(crate) limit: Option<Bound>,
    pub(crate) failure: Option<StepFailure>,
    /// Set by a `stop` step: whether it ends the pipeline as `succeeded`.
    pub(crate) stop: Option<bool>,
    /// Where a gate was not met for good.
    pub(crate) unmet: Places,
    /// Where a gate without `otherwise` was not met.
    pub(crate) nothing_let_through: Places,
    /// Where a failure was allowed.
    pub(crate) partial: Places,
}

/// The refinement of a list of steps, once it has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RefinementRound {
    pub(crate) original: SharedValue,
    pub(crate) failed: Vec<Verdict>,
    pub(crate) feedback: String,
}

/// A running list of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub(crate) instance: u32,
    pub(crate) kind: FrameKind,
    /// The step that holds it; `None` for the lists of a pipeline itself.
    pub(crate) parent: Option<NodeRef>,
    pub(crate) nodes: Vec<StepNode>,
    /// Number of steps that have not ended.
    pub(crate) open: u32,
    pub(crate) mood: Mood,
    /// The first failure that stops it.
    pub(crate) failure: Option<StepFailure>,
    /// Its refinement, once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refinement: Option<Box<RefinementRound>>,
    /// What happened in it and counts for what holds it, by its own places: of a list that is not the pipeline's own and has a refinement, or whose
    /// holder has a `retry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ending: Option<Box<Ending>>,
}

/// Whether new steps start in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Mood {
    /// Yes.
    Going,
    /// No: a step failed; the rest is blocked.
    Stopping,
    /// No: a `stop` step; the rest is skipped.
    Skipping,
    /// No: running steps are cancelled too.
    Cancelling,
}

/// The kind of a frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum FrameKind {
    /// A list of steps, as a graph.
    Block(BlockIx),
    /// Elements of a `for_each`: the most that run at once, how many hold a place, and the next one without a place.
    Items { most: u32, active: u32, next: u32 },
    /// Steps of a plan that an agent wrote, as a graph of their own.
    Written(WrittenFrame),
}

/// Steps of a written plan: the most that run at once, how many hold a place, and those that only wait for a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WrittenFrame {
    pub(crate) most: u32,
    pub(crate) active: u32,
    pub(crate) waiting: BTreeSet<ReadyKey>,
    #[serde(skip)]
    pub(crate) planned: Cached<Arc<PipelinePlan>>,
}

/// A step before, during or after its run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepNode {
    pub(crate) step: StepIx,
    pub(crate) path: StepPath,
    pub(crate) status: StepStatus,
    /// 1, or 2 in the refinement of its list; inner steps have the round of the step that holds them.
    pub(crate) round: u32,
    pub(crate) attempt: u32,
    /// Number of edges whose other end has not ended.
    pub(crate) waits_for: u32,
    pub(crate) priority: u32,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub(crate) output: Option<SharedValue>,
    pub(crate) failure: Option<Failure>,
    pub(crate) details: Option<SharedValue>,
    /// The value of an element of a `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub(crate) item: Option<SharedValue>,
    pub(crate) started_ms: u64,
    /// When it may try again.
    pub(crate) retry_at: Option<u64>,
    /// When the time of the attempt, and of the whole step, is up.
    pub(crate) attempt_ends: Option<u64>,
    pub(crate) deadline: Option<u64>,
    /// For a gate, whether it let its value through, once that is final; for a step that holds others false, if a gate inside did not.
    /// A gate whose `when` is false has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) judged: Option<bool>,
    /// Parts that a `send` has delivered.
    pub(crate) delivered: Vec<SharedValue>,
    /// Stage of the lookup of a stored result.
    pub(crate) cache: CacheStage,
    /// Why a step that holds others is being ended.
    pub(crate) ended_by: Option<Failure>,
    /// For a `plan` step, its plans so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) planning: Option<Box<Planning>>,
    /// For a `task` step, its tries so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tasking: Option<Box<Tasking>>,
    /// For a `dialogue` step, its turns so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) talking: Option<Box<Talking>>,
    /// For a `repeat`, its rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repeating: Option<Box<Repeating>>,
    /// For steps that talk with models several times, the conversations that have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_talks: Option<Box<EndedTalks>>,
    pub(crate) work: StepWork,
    #[serde(skip)]
    pub(crate) cached: CachedValue,
    #[serde(skip)]
    pub(crate) cached_item: CachedValue,
}

impl StepNode {
    /// The details of the step.
    pub(crate) fn details(&self) -> StepDetails<'_> {
        StepDetails::from_value(self.details.as_deref().unwrap_or(&serde_json::Value::Null))
    }

    /// The `error` of a failed step.
    pub(crate) fn error(&self) -> Option<StepError> {
        let failure = self.failure.as_ref().filter(|_| self.status == StepStatus::Failed)?;
        Some(StepError { kind: failure.kind, message: failure.message.clone(), attempts: self.attempt })
    }

    /// For a `for_each` with `on_failure: continue`, the failure if every element that ran failed.
    pub(crate) fn nothing_done(&self) -> Option<StepFailure> {
        let failed = self.details().failed().filter(|failed| *failed > 0)?;
        let elements = self.output.as_deref()?.as_array()?;
        if elements.iter().any(|element| element["status"] != "failed" && element["status"] != "skipped") {
            return None;
        }
        let first = elements.iter().map(|element| &element["error"]).find(|error| error.is_object())?;
        let kind = serde_json::from_value(first["kind"].clone()).unwrap_or(FailureKind::Internal);
        let message = first["message"].as_str().unwrap_or_default();
        let message = match failed {
            1 => format!("the only element that ran failed: {message}"),
            failed => format!("all {failed} elements that ran failed; the first: {message}"),
        };
        Some(StepFailure { step: self.path.clone(), failure: Failure::new(kind, message) })
    }

    /// The conversation of a step that talks with a model.
    pub(crate) fn talk(&self) -> Option<&ModelTalk> {
        if let StepWork::Asking(talk) = &self.work { Some(talk) } else { None }
    }

    /// The conversations of a step that have ended.
    pub(crate) fn ended_talks(&self) -> &[EndedTalk] {
        self.ended_talks.as_ref().map(|ended| ended.talks.as_slice()).unwrap_or_default()
    }

    /// Number of tries so far, of a step or of its requests to models. An answer that calls tools does not count.
    pub(crate) fn attempts(&self) -> u32 {
        let retried = self.talking.as_ref().map_or(0, |talking| talking.retried);
        let now = self.talk().map_or(self.attempt, |talk| talk.attempts.saturating_sub(talk.turns as u32));
        retried.saturating_add(now.max(1))
    }

    /// Milliseconds left of the step's `deadline` and `timeout`.
    fn time_left(&self, now: u64) -> (Option<u64>, Option<u64>) {
        let left = |end: Option<u64>| end.map(|end| end.saturating_sub(now));
        (left(self.deadline), left(self.attempt_ends))
    }

    /// Waits for a person, unless calls of the step are out.
    fn wait_for_person(&mut self) {
        if self.work.calls().is_empty() {
            self.status = StepStatus::Waiting;
        }
    }

    /// Records a part that a `send` has delivered, and who of the recipients of a mail gets it.
    fn wrote(&mut self, part: PlainDelivery, accepted: &[String], rejected: &[RejectedRecipient]) {
        let of_mail = || MailDelivery { accepted: accepted.to_vec(), rejected: rejected.to_vec() };
        let delivery = Delivery { part, of_mail: (!accepted.is_empty()).then(of_mail) };
        self.delivered.push(delivery.into_value().into());
    }

    /// Ends the conversation and keeps its usage. The next conversation starts anew.
    fn end_conversation(&mut self) {
        if let StepWork::Asking(asking) = std::mem::take(&mut self.work) {
            self.ended_talks.get_or_insert_default().end(*asking);
        }
    }

    fn new(step: StepIx, path: StepPath, priority: u32) -> StepNode {
        StepNode { step, path, priority, round: 1, ..StepNode::default() }
    }
}

/// Stage of the lookup of a stored result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum CacheStage {
    /// Nothing was looked up.
    #[default]
    None,
    /// The lookup under this key is in progress.
    Looking(String),
    /// Nothing is stored; the step's own result will be stored under this key.
    Missed(String),
}

/// Reads a value that is present, though it may be null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SharedValue>, D::Error> {
    SharedValue::deserialize(deserializer).map(Some)
}

/// What a running step is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum StepWork {
    /// Nothing between two events.
    #[default]
    None,
    /// A call is open.
    Call(u64),
    /// The tools of MCP servers are being listed.
    Listing(BTreeSet<u64>),
    /// A conversation with a model; for a gate, with its judges.
    Asking(Box<ModelTalk>),
    /// Inner steps: a case, a group, a round or elements.
    Inner { frame: u32, case: Option<String> },
    /// A called pipeline.
    Called(u32),
    /// Waiting until this time.
    Paused(u64),
}

impl StepWork {
    /// Open calls of the step.
    pub(crate) fn calls(&self) -> Vec<u64> {
        match self {
            StepWork::Call(call) => vec![*call],
            StepWork::Listing(calls) => calls.iter().copied().collect(),
            StepWork::Asking(asking) => {
                let tools =
                    asking.asked().iter().filter_map(|asked| if let AskedStage::Out(call) = asked.stage { Some(call) } else { None });
                asking.call().into_iter().chain(tools).collect()
            }
            _ => vec![],
        }
    }

    /// Records the end of a call of a step that has no conversation.
    fn ends(&mut self, call: u64) {
        if let StepWork::Listing(calls) = self {
            calls.remove(&call);
            if !calls.is_empty() {
                return;
            }
        }
        *self = StepWork::None;
    }

    /// Pipelines that run for the step.
    pub(crate) fn pipelines(&self) -> Vec<u32> {
        match self {
            StepWork::Called(inner) => vec![*inner],
            StepWork::Asking(asking) => asking
                .asked()
                .iter()
                .filter_map(|asked| if let AskedStage::Inside(inner) = asked.stage { Some(inner) } else { None })
                .collect(),
            _ => vec![],
        }
    }

    /// Whether the step waits for nothing but pipelines that run for it.
    pub(crate) fn waits_inside(&self) -> bool {
        let is_open = |asked: &RequestedCall| matches!(asked.stage, AskedStage::Open | AskedStage::Out(_));
        let StepWork::Asking(asking) = self else { return false };
        !self.pipelines().is_empty() && !asking.asked().iter().any(is_open)
    }

    /// Whether other steps run for the step; it then ends after them.
    pub(crate) fn holds_steps(&self) -> bool {
        matches!(self, StepWork::Inner { .. }) || !self.pipelines().is_empty()
    }
}

/// A cached template value.
pub(crate) type CachedValue = Cached<crate::template::Value>;

impl RunState {
    /// Paths of the steps that wait for a person.
    pub fn undecided(&self) -> impl Iterator<Item = &StepPath> {
        self.people.undecided()
    }

    /// The open question of a step, as the number of the event that asked it.
    pub fn question(&self, step: &str) -> Option<u64> {
        self.people.question(step)
    }

    /// The open question of a step once the run is resumed, as the number of the event that asked it.
    pub fn question_when_resumed(&self, step: &str) -> Option<u64> {
        self.interrupted.as_deref().unwrap_or(self).question(step)
    }

    /// Milliseconds after the last event until the next answer of a person is due; `None` if there is no time limit.
    pub fn time_to_answer(&self) -> Option<u64> {
        self.people.answer_until().map(|until| until.saturating_sub(self.last_ms))
    }

    /// Steps that ask a person in a part of the run in which nothing new starts any more: no step could use the answer.
    pub(crate) fn questions_in_vain(&self) -> Vec<StepPath> {
        let is_ending = |step: &StepPath| {
            let at = self.steps.find(step);
            at.is_some_and(|at| self.steps.holders(at).any(|at| self.steps.frame(at.frame).mood != Mood::Going))
        };
        self.undecided().filter(|step| !self.people.doubts.contains_key(*step) && is_ending(step)).cloned().collect()
    }

    /// When the last event happened, in milliseconds since the run started.
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }
}
