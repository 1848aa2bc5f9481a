//! The state of a run. Only `apply` changes it. Replaying any prefix of the events restores it, and it can be serialised after every event.

pub(crate) mod apply;
pub(crate) mod births;
mod cached;
pub(crate) mod consents;
pub(crate) mod dialogues;
pub(crate) mod ends;
pub(crate) mod kept;
pub(crate) mod live;
pub(crate) mod made;
pub(crate) mod plans;
pub(crate) mod questions;
pub(crate) mod rounds;
pub(crate) mod stop;
pub(crate) mod talk;
pub(crate) mod tally;
pub(crate) mod tasks;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use cached::{Cached, CachedNames};
pub(crate) use dialogues::{HeldTurn, Talking};
pub(crate) use plans::{OnePlan, Planning};
use talk::{AskedStage, EndedTalks, ModelTalk, RequestedCall};
pub(crate) use tasks::{TaskTry, Tasking};

use crate::event::{
    Bound, Failure, FailureKind, RunEnd, RunStart, ServerTool, SharedValue, Stage, StepDetails, StepError, StepFailure, StepPath,
    StepStatus, Usage, Verdict,
};
use crate::model::PipelineId;
use crate::plan::{BlockIx, PipelinePlan, StepIx};
use crate::state::consents::{ConsentDecision, PendingApproval, PendingConsent};
use crate::state::questions::ServerTalk;
use crate::state::rounds::Repeating;
use crate::state::stop::Stopping;
use crate::state::tally::{Places, SetAside};

/// The complete state of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// How the run was started; `None` before the first event.
    pub start: Option<RunStart>,
    /// The run's own pipeline first, then called ones; called ones are dropped when they end.
    pub(crate) instances: Vec<Option<Instance>>,
    /// Running lists of steps; inner ones are dropped when they end, and their numbers are not used again.
    pub(crate) frames: Vec<Option<Box<Frame>>>,
    /// Where each step is, by path, as long as it is kept.
    pub(crate) paths: HashMap<StepPath, NodeRef>,
    /// Steps that wait for no other and have not started, in the order in which they may start; those that make no call at the start.
    pub(crate) ready: BTreeSet<ReadyKey>,
    /// The same for steps that make a call as soon as they start.
    pub(crate) ready_calls: BTreeSet<ReadyKey>,
    /// Frames whose steps have all ended and that have not been handled yet.
    pub(crate) done: BTreeSet<u32>,
    /// Frames in which nothing new starts and whose remaining steps must still be blocked, skipped or cancelled.
    pub(crate) ending: BTreeSet<u32>,
    /// Open calls.
    pub(crate) calls: BTreeMap<u64, OpenCall>,
    /// Servers whose tools are being listed, by call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) listings: BTreeMap<u64, String>,
    /// Number of the last call.
    pub(crate) last_call: u64,
    /// Timers, soonest first.
    pub(crate) timers: BTreeSet<(u64, Timer)>,
    /// Tokens and cost so far.
    pub usage: Usage,
    /// Number of step starts so far.
    pub(crate) steps_started: u64,
    /// Number of pipelines started so far, including the run's own.
    #[serde(default)]
    pub(crate) pipelines_begun: u64,
    /// Scripted replies used, by step; the reply to a call that was lost is used again.
    pub replies_used: BTreeMap<String, u64>,
    /// Steps in doubt after a crash, each with the decision of a person.
    pub(crate) doubts: BTreeMap<StepPath, Option<ConsentDecision>>,
    /// Set while a run that was asked to end still waits for calls that may act or are paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopping: Option<Stopping>,
    /// Acts that wait for a person's approval, by the step that does them; one per step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) consents: BTreeMap<StepPath, PendingConsent>,
    /// The last question of each step, as the number of its event.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked: BTreeMap<StepPath, u64>,
    /// Forms for people, by step: of `approval` steps, and of questions that MCP servers ask.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) approvals: BTreeMap<StepPath, PendingApproval>,
    /// Questions of MCP servers during calls, by step and by the place of the call among those that its agent requested (0 for a `tool` step).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) server_talks: BTreeMap<StepPath, BTreeMap<usize, ServerTalk>>,
    /// Marks of values that `format` steps made.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) made: BTreeSet<[u8; 32]>,
    /// Those of them that are HTML.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) made_as_html: BTreeSet<[u8; 32]>,
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

/// An open call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) node: NodeRef,
    pub(crate) started_ms: u64,
    pub(crate) timeout_at: u64,
    pub(crate) reserved: SetAside,
    /// Whether a scripted reply answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) scripted: bool,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Timer {
    /// The time of a call is up.
    Call(u64),
    /// A step may try again.
    Backoff(NodeRef),
    /// A `wait` has ended.
    Pause(NodeRef),
    /// The time for a person's answer is up.
    Answer(NodeRef),
    /// The time of one attempt is up.
    Attempt(NodeRef),
    /// The time of a step is up.
    StepDeadline(NodeRef),
    /// The `limits.deadline` of a pipeline has passed.
    Deadline(u32),
    /// The 60 s of `on_failure` or `finally` are up.
    Stage(u32),
    /// A run that was asked to end stops waiting for answers.
    Grace,
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
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub(crate) output: Option<SharedValue>,
    pub(crate) failure: Option<Failure>,
    pub(crate) details: Option<SharedValue>,
    /// The value of an element of a `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
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
        StepDetails::of(self.details.as_deref().unwrap_or(&serde_json::Value::Null))
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
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SharedValue>, D::Error> {
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
    pub(crate) fn node(&self, at: NodeRef) -> &StepNode {
        &self.frame(at.frame).nodes[at.node as usize]
    }

    fn node_mut(&mut self, at: NodeRef) -> &mut StepNode {
        &mut self.frame_mut(at.frame).nodes[at.node as usize]
    }

    #[expect(clippy::expect_used, reason = "frames are dropped only after everything that names them")]
    pub(crate) fn frame(&self, ix: u32) -> &Frame {
        self.frames[ix as usize].as_ref().expect("a frame in use")
    }

    #[expect(clippy::expect_used, reason = "frames are dropped only after everything that names them")]
    fn frame_mut(&mut self, ix: u32) -> &mut Frame {
        self.frames[ix as usize].as_mut().expect("a frame in use")
    }

    #[expect(clippy::expect_used, reason = "instances are dropped only after everything that names them")]
    pub(crate) fn instance(&self, ix: u32) -> &Instance {
        self.instances[ix as usize].as_ref().expect("an instance in use")
    }

    #[expect(clippy::expect_used, reason = "instances are dropped only after everything that names them")]
    fn instance_mut(&mut self, ix: u32) -> &mut Instance {
        self.instances[ix as usize].as_mut().expect("an instance in use")
    }

    /// The pipeline of a call, by path; an empty path is the run's own pipeline.
    pub(crate) fn instance_at(&self, path: &str) -> Option<u32> {
        let fits = |i: &Option<Instance>| i.as_ref().is_some_and(|i| *i.path() == *path);
        self.instances.iter().rposition(fits).map(|ix| ix as u32)
    }

    /// The pipeline of a step, then the ones around it, each with the step that called it.
    pub(crate) fn chain(&self, at: NodeRef) -> impl Iterator<Item = (u32, Option<NodeRef>)> + '_ {
        let with_caller = |ix: u32| (ix, self.instance(ix).parent);
        std::iter::successors(Some(with_caller(self.instance_of(at))), move |(_, parent)| Some(with_caller(self.instance_of((*parent)?))))
    }

    /// The rounds of a step: that of the run's own pipeline first, then of each called one, down to the step's own.
    pub(crate) fn rounds(&self, at: NodeRef) -> Vec<u32> {
        let callers = self.chain(at).filter_map(|(_, parent)| parent);
        let mut rounds: Vec<u32> = std::iter::once(at).chain(callers).map(|node| self.node(node).round).collect();
        rounds.reverse();
        rounds
    }

    pub(crate) fn instance_of(&self, at: NodeRef) -> u32 {
        self.frame(at.frame).instance
    }

    pub(crate) fn instance_around(&self, at: NodeRef) -> &Instance {
        self.instance(self.instance_of(at))
    }

    /// The conversation of a step that talks with a model.
    pub(crate) fn talk(&self, at: NodeRef) -> Option<&ModelTalk> {
        if let StepWork::Asking(talk) = &self.node(at).work { Some(talk) } else { None }
    }

    fn talk_mut(&mut self, at: NodeRef) -> Option<&mut ModelTalk> {
        if let StepWork::Asking(talk) = &mut self.node_mut(at).work { Some(talk) } else { None }
    }

    /// The step of the pipeline's own list that is or holds this step; `None` if it is in `on_failure` or `finally`.
    pub(crate) fn own_place(&self, at: NodeRef) -> Option<u32> {
        let main = self.instance_around(at).main;
        self.holders(at).find(|at| at.frame == main).map(|at| at.node)
    }

    /// A step and the steps of its pipeline that hold it, innermost first.
    pub(crate) fn holders(&self, at: NodeRef) -> impl Iterator<Item = NodeRef> + '_ {
        std::iter::successors(Some(at), |at| self.frame(at.frame).parent)
    }

    pub(crate) fn key(&self, at: NodeRef) -> ReadyKey {
        ReadyKey { shortness: u32::MAX - self.node(at).priority, at }
    }

    /// The refinement that a step may be part of: that of its list, or of one around it.
    pub(crate) fn refinement_around(&self, at: NodeRef) -> Option<&RefinementRound> {
        self.holders(at).find_map(|at| self.frame(at.frame).refinement.as_deref())
    }

    /// Whether a step is an element of a `for_each`.
    pub(crate) fn is_element(&self, at: NodeRef) -> bool {
        matches!(self.frame(at.frame).kind, FrameKind::Items { .. })
    }

    /// Paths of the steps that wait for a person.
    pub fn undecided(&self) -> impl Iterator<Item = &StepPath> {
        let doubts = self.doubts.iter().filter(|(_, decided)| decided.is_none()).map(|(step, _)| step);
        let approvals = self.approvals.iter().filter(|(_, asked)| asked.answer.is_none()).map(|(step, _)| step);
        doubts.chain(approvals).chain(self.consents.iter().filter(|(_, consent)| consent.decided.is_none()).map(|(step, _)| step))
    }

    /// The open question of a step, as the number of the event that asked it.
    pub fn question(&self, step: &str) -> Option<u64> {
        self.undecided().find(|waiting| ***waiting == *step).and_then(|waiting| self.asked.get(waiting)).copied()
    }

    /// When the last event happened, in milliseconds since the run started.
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// The server whose tools a call lists.
    pub(crate) fn listing(&self, call: u64) -> Option<String> {
        self.listings.get(&call).cloned()
    }
}
