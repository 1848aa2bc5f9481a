//! The state of a run. It changes only by `apply`; replaying any prefix of the events gives it again, and it serialises at every prefix.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::consent::Decision;
use super::stopping::Stopping;
use super::tally::{Places, SetAside};
use crate::event::{
    Answer, AskedCall, Bound, Failure, Note, RunEnd, RunStart, ServerTool, Shared, Stage, StepFailure, StepPath, StepStatus, Usage, Verdict,
};
use crate::model::{PipelineId, WrittenPlan};
use crate::plan::{BlockIx, PipelinePlan, StepIx};

/// Everything a run knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What it started with; `None` before the first event.
    pub start: Option<RunStart>,
    /// The run's own pipeline first, then called ones; ended ones are dropped.
    pub(super) instances: Vec<Option<Instance>>,
    /// Lists of steps that run; ended inner ones are dropped, and their numbers are not used again.
    pub(super) frames: Vec<Option<Box<Frame>>>,
    /// Where each step that is still kept stands.
    pub(super) paths: HashMap<StepPath, NodeRef>,
    /// Steps whose waits are over and that have not started, in the order they may start; those that only compute.
    pub(super) ready: BTreeSet<ReadyKey>,
    /// The same, for steps that call something as soon as they start.
    pub(super) ready_calls: BTreeSet<ReadyKey>,
    /// Frames whose steps are all over, not yet dealt with.
    pub(super) done: BTreeSet<u32>,
    /// Frames in which nothing new starts, with steps still to be blocked, skipped or cancelled.
    pub(super) ending: BTreeSet<u32>,
    /// Calls that are out.
    pub(super) calls: BTreeMap<u64, OpenCall>,
    /// Servers that are asked for their tools, by the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) listings: BTreeMap<u64, String>,
    /// Number of the last call.
    pub(super) last_call: u64,
    /// Timers, soonest first.
    pub(super) timers: BTreeSet<(u64, Timer)>,
    /// Tokens and money spent.
    pub usage: Usage,
    /// Step runs so far.
    pub steps_started: u64,
    /// Pipelines that began so far, the run's own among them.
    #[serde(default)]
    pub(super) pipelines_begun: u64,
    /// Scripted replies used, by step.
    pub replies_used: BTreeMap<String, u64>,
    /// Steps in doubt after a crash, each with what a person decided.
    pub(super) doubts: BTreeMap<StepPath, Option<Decision>>,
    /// Somebody asked the run to end, and calls that may act are still awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stopping: Option<Stopping>,
    /// Calls of tools that a person decides about, by the step that makes them; one at a time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) consents: BTreeMap<StepPath, Consent>,
    /// Marks of what `format` steps made.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) made: BTreeSet<[u8; 32]>,
    /// How it ended.
    pub finished: Option<RunEnd>,
    /// What it was before a signal ended it; a run goes on from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) interrupted: Option<Box<State>>,
    /// Number of the last event.
    pub seq: u64,
    /// Its time.
    pub(super) last_ms: u64,
}

/// A call that a person decides about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consent {
    /// What it is about: see [`Happening::ApprovalRequested`](crate::event::Happening).
    pub(super) act: String,
    /// `None`: not yet.
    pub(super) decided: Option<bool>,
    /// What the person says about it.
    pub(super) comment: String,
    /// What was left of the step's `deadline` and `timeout`: a person's time does not count.
    pub(super) deadline_left: Option<u64>,
    pub(super) attempt_left: Option<u64>,
}

/// A step in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeRef {
    pub(super) frame: u32,
    pub(super) node: u32,
}

/// Order of starting: longest remaining path first, then frame, then place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadyKey {
    pub(super) shortness: u32,
    pub(super) at: NodeRef,
}

/// A call that is out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    pub(super) node: NodeRef,
    pub(super) started_ms: u64,
    pub(super) timeout_at: u64,
    pub(super) reserved: SetAside,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Timer {
    /// A call's time is up.
    Call(u64),
    /// A step may try again.
    Backoff(NodeRef),
    /// A `wait` is over.
    Pause(NodeRef),
    /// One attempt's time is up.
    Attempt(NodeRef),
    /// A step's time is up.
    StepDeadline(NodeRef),
    /// A pipeline's `limits.deadline`.
    Deadline(u32),
    /// The 60 s of `on_failure` and `finally`.
    Stage(u32),
    /// A run that is asked to end waits no longer.
    Grace,
}

/// A pipeline that runs: the run's own, or a called one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    pub(super) pipeline: PipelineId,
    pub(super) parent: Option<NodeRef>,
    /// Path of the call and `/`; empty for the run's own.
    pub(super) prefix: StepPath,
    pub(super) inputs: Shared,
    pub(super) channel: Option<String>,
    pub(super) person: Shared,
    /// Tokens and money of its calls, those of the pipelines it calls among them.
    pub(super) usage: Usage,
    /// Of its calls that never told what they cost.
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(super) untold: SetAside,
    pub(super) stage: Stage,
    /// The frame of `steps`, kept to the end; and of the present stage.
    pub(super) main: u32,
    pub(super) frame: u32,
    pub(super) ending: Ending,
    pub(super) refinement: Option<RefinementRound>,
    pub(super) stage_timer: Option<u64>,
    pub(super) deadline: Option<u64>,
    /// Tools of MCP servers that were asked, by the name of the server in the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) servers: BTreeMap<String, Vec<Arc<ServerTool>>>,
    /// Tools of those servers, `server.tool`, that the file could use if they were pinned.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) unpinned: BTreeSet<String>,
    /// Frames of earlier stages besides `main`.
    pub(super) past: Vec<u32>,
    #[serde(skip)]
    pub(super) cached: CachedNames,
}

/// What is known about how a pipeline ends. The status is a pure function of this.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    pub(super) is_cancelled: bool,
    pub(super) limit: Option<Bound>,
    pub(super) failure: Option<StepFailure>,
    /// A `stop` step: whether it says `succeeded`.
    pub(super) stop: Option<bool>,
    /// A gate was not met for good.
    pub(super) unmet: Places,
    /// A gate was not met and had no `otherwise`.
    pub(super) nothing_let_through: Places,
    /// A failure was allowed.
    pub(super) partial: Places,
}

/// The one refinement, once it has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefinementRound {
    pub(super) original: Shared,
    pub(super) failed: Vec<Verdict>,
    pub(super) feedback: String,
}

/// A list of steps that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub(super) instance: u32,
    pub(super) kind: FrameKind,
    /// The step that holds it; `None` for the lists of a pipeline itself.
    pub(super) parent: Option<NodeRef>,
    pub(super) nodes: Vec<Node>,
    /// Steps that are not over.
    pub(super) open: u32,
    pub(super) mood: Mood,
    /// The first failure that stops it.
    pub(super) failure: Option<StepFailure>,
}

/// Whether new steps start in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mood {
    /// Yes.
    Going,
    /// No: a step failed; the rest is blocked.
    Stopping,
    /// No: a `stop` step; the rest is skipped.
    Skipping,
    /// No: what runs is ended too.
    Cancelling,
}

/// What a frame is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FrameKind {
    /// A list of steps, as a graph.
    Block(BlockIx),
    /// Elements of a `for_each`: how many at once, how many have a place now, and the next without one.
    Items { most: u32, active: u32, next: u32 },
    /// Steps of a plan that an agent wrote, as a graph of their own.
    Written(WrittenFrame),
}

/// Steps of a written plan: how many at once, how many have a place now, and those that could start if there were one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenFrame {
    pub(super) most: u32,
    pub(super) active: u32,
    pub(super) waiting: BTreeSet<ReadyKey>,
    #[serde(skip)]
    pub(super) planned: CachedPlan,
}

/// The graph of a written plan, made once from the plan; equal to every other, since it adds nothing.
#[derive(Clone, Default)]
pub struct CachedPlan(pub(super) OnceCell<Arc<PipelinePlan>>);

impl PartialEq for CachedPlan {
    fn eq(&self, _: &CachedPlan) -> bool {
        true
    }
}

impl std::fmt::Debug for CachedPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CachedPlan")
    }
}

/// The plans of a `plan` step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Planning {
    pub(super) plans: Vec<OnePlan>,
    /// What is wrong with the last plan, until that is sent back.
    pub(super) findings: Vec<String>,
    /// What was decided, in sentences.
    pub(super) log: Vec<String>,
    /// Conversations that are over, and their tries and last model.
    pub(super) talks: Vec<Talk>,
    pub(super) attempts: u32,
    pub(super) model: Option<String>,
}

/// A conversation of a `plan` step that is over: who was asked, what it cost, and the tool calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Talk {
    pub(super) agent: String,
    pub(super) usage: Usage,
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(super) untold: SetAside,
    pub(super) uses: Vec<Shared>,
}

/// One plan of a `plan` step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnePlan {
    pub(super) plan: Arc<WrittenPlan>,
    /// One a step, once all are over: as in the output.
    pub(super) results: Option<Vec<Shared>>,
    /// What the `check` agent said: whether the work is done, and how far it is.
    pub(super) check: Option<(bool, String)>,
}

/// A step that runs, ran or will run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub(super) step: StepIx,
    pub(super) path: StepPath,
    pub(super) status: StepStatus,
    /// 1, or 2 in the refinement of its own pipeline; inner steps have that of the step that holds them.
    pub(super) round: u32,
    pub(super) attempt: u32,
    /// Edges whose other end is not over.
    pub(super) waits_for: u32,
    pub(super) priority: u32,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub(super) output: Option<Shared>,
    pub(super) error: Option<Shared>,
    pub(super) failure: Option<Failure>,
    pub(super) details: Option<Shared>,
    /// The element, for elements of a `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub(super) item: Option<Shared>,
    pub(super) started_ms: u64,
    /// When it may try again.
    pub(super) retry_at: Option<u64>,
    /// When the attempt's, and the whole step's time is up.
    pub(super) attempt_ends: Option<u64>,
    pub(super) deadline: Option<u64>,
    /// Parts a `send` has delivered.
    pub(super) delivered: Vec<Shared>,
    /// How far the look for a kept result has come.
    pub(super) cache: CacheStage,
    /// Why a step that holds others is being ended.
    pub(super) ended_by: Option<Failure>,
    /// Of a `plan` step: its plans so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) planning: Option<Box<Planning>>,
    pub(super) work: Work,
    #[serde(skip)]
    pub(super) cached: CachedValue,
}

/// How far the look for a kept result has come.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum CacheStage {
    /// Nothing was looked for.
    #[default]
    None,
    /// It is looked for under this key.
    Looking(String),
    /// There is none; the step's own result will be kept under this key.
    Missed(String),
}

/// A value that is given, though it may be empty.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Shared>, D::Error> {
    Shared::deserialize(deserializer).map(Some)
}

/// What a running step is at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// Nothing between two events.
    #[default]
    None,
    /// A call is out.
    Call(u64),
    /// MCP servers are asked for their tools.
    Listing(BTreeSet<u64>),
    /// Talking with a model; for a gate, with its judges.
    Asking(Box<Asking>),
    /// Inner steps: a case or elements.
    Inner { frame: u32, case: Option<String> },
    /// A called pipeline.
    Called(u32),
    /// Waiting until then.
    Paused(u64),
}

/// A conversation with a model, from the first prompt to an answer of the right shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asking {
    pub(super) agent: String,
    /// Name of the model in the file.
    pub(super) model: String,
    /// How many of the model's `fallback` were given up.
    pub(super) fallbacks: usize,
    pub(super) messages: Vec<Note>,
    pub(super) call: Option<u64>,
    /// Tries of the present request.
    pub(super) attempt: u32,
    /// Tries of all requests.
    pub(super) attempts: u32,
    pub(super) repairs: u32,
    pub(super) last: Option<Answer>,
    pub(super) answered_by: Option<String>,
    pub(super) usage: Usage,
    /// Of its calls that never told what they cost.
    #[serde(default, skip_serializing_if = "SetAside::is_nothing")]
    pub(super) untold: SetAside,
    /// A gate's judges that are done with: the last thing each said.
    pub(super) heard: Vec<Option<Answer>>,
    /// Tool calls of the last answer.
    pub(super) asked: Vec<Asked>,
    /// Answers that asked for tools.
    pub(super) turns: u64,
    /// Tool calls of this conversation that are over: `details.tool_calls`.
    pub(super) uses: Vec<Shared>,
}

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub(super) asked: AskedCall,
    pub(super) stage: AskedStage,
    pub(super) started_ms: u64,
}

/// How far a tool call that a model asked for has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AskedStage {
    /// Not yet made.
    Open,
    /// It is out.
    Out(u64),
    /// It is a pipeline that runs.
    Inside(u32),
    /// It is over; what the model is shown.
    Over(String),
}

impl Work {
    /// Calls that are out.
    pub(super) fn calls(&self) -> Vec<u64> {
        match self {
            Work::Call(call) => vec![*call],
            Work::Listing(calls) => calls.iter().copied().collect(),
            Work::Asking(asking) => {
                let tools = asking.asked.iter().filter_map(|asked| if let AskedStage::Out(call) = asked.stage { Some(call) } else { None });
                asking.call.into_iter().chain(tools).collect()
            }
            _ => vec![],
        }
    }

    /// A call of a step that asks no model is over.
    pub(super) fn ends(&mut self, call: u64) {
        if let Work::Listing(calls) = self {
            calls.remove(&call);
            if !calls.is_empty() {
                return;
            }
        }
        *self = Work::None;
    }

    /// Pipelines that run for it.
    pub(super) fn pipelines(&self) -> Vec<u32> {
        match self {
            Work::Called(inner) => vec![*inner],
            Work::Asking(asking) => asking
                .asked
                .iter()
                .filter_map(|asked| if let AskedStage::Inside(inner) = asked.stage { Some(inner) } else { None })
                .collect(),
            _ => vec![],
        }
    }

    /// Whether pipelines that run for it are all that it waits for.
    pub(super) fn waits_inside(&self) -> bool {
        let is_open = |asked: &Asked| matches!(asked.stage, AskedStage::Open | AskedStage::Out(_));
        let Work::Asking(asking) = self else { return false };
        !self.pipelines().is_empty() && !asking.asked.iter().any(is_open)
    }

    /// Whether other steps run for it: it ends when they have ended.
    pub(super) fn holds_steps(&self) -> bool {
        matches!(self, Work::Inner { .. }) || !self.pipelines().is_empty()
    }
}

/// A template value made once from a shared one; equal to every other, since it adds nothing.
#[derive(Debug, Clone, Default)]
pub struct CachedValue(pub(super) OnceCell<crate::template::Value>);

impl PartialEq for CachedValue {
    fn eq(&self, _: &CachedValue) -> bool {
        true
    }
}

/// Names of an instance as template values, made once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CachedNames {
    pub(super) inputs: CachedValue,
    pub(super) person: CachedValue,
    pub(super) channel: CachedValue,
    pub(super) style: CachedValue,
    pub(super) run: CachedValue,
}

impl State {
    pub(super) fn node(&self, at: NodeRef) -> &Node {
        &self.frame(at.frame).nodes[at.node as usize]
    }

    pub(super) fn node_mut(&mut self, at: NodeRef) -> &mut Node {
        &mut self.frame_mut(at.frame).nodes[at.node as usize]
    }

    #[expect(clippy::expect_used, reason = "frames are dropped only after everything that names them")]
    pub(super) fn frame(&self, ix: u32) -> &Frame {
        self.frames[ix as usize].as_ref().expect("a frame in use")
    }

    #[expect(clippy::expect_used, reason = "frames are dropped only after everything that names them")]
    pub(super) fn frame_mut(&mut self, ix: u32) -> &mut Frame {
        self.frames[ix as usize].as_mut().expect("a frame in use")
    }

    #[expect(clippy::expect_used, reason = "instances are dropped only after everything that names them")]
    pub(super) fn instance(&self, ix: u32) -> &Instance {
        self.instances[ix as usize].as_ref().expect("an instance in use")
    }

    #[expect(clippy::expect_used, reason = "instances are dropped only after everything that names them")]
    pub(super) fn instance_mut(&mut self, ix: u32) -> &mut Instance {
        self.instances[ix as usize].as_mut().expect("an instance in use")
    }

    /// The pipeline that runs under a path: of the call, or empty for the run's own.
    pub(super) fn instance_at(&self, path: &str) -> Option<u32> {
        let fits = |i: &Option<Instance>| i.as_ref().is_some_and(|i| i.prefix.trim_end_matches('/') == path);
        self.instances.iter().rposition(fits).map(|ix| ix as u32)
    }

    /// The pipeline a step belongs to, then the ones around it, each with the step that called it.
    pub(super) fn chain(&self, at: NodeRef) -> impl Iterator<Item = (u32, Option<NodeRef>)> + '_ {
        let mut next = Some(self.instance_of(at));
        std::iter::from_fn(move || {
            let ix = next?;
            let parent = self.instance(ix).parent;
            next = parent.map(|parent| self.instance_of(parent));
            Some((ix, parent))
        })
    }

    /// The rounds that a step is in: of the run's own pipeline first, then of each called one, to its own.
    pub(super) fn rounds(&self, at: NodeRef) -> Vec<u32> {
        let callers = self.chain(at).filter_map(|(_, parent)| parent);
        let mut rounds: Vec<u32> = std::iter::once(at).chain(callers).map(|node| self.node(node).round).collect();
        rounds.reverse();
        rounds
    }

    pub(super) fn instance_of(&self, at: NodeRef) -> u32 {
        self.frame(at.frame).instance
    }

    /// The step of the pipeline's own list that a step is, or stands in; `None`: it stands in `on_failure` or `finally`.
    pub(super) fn own_place(&self, at: NodeRef) -> Option<u32> {
        let main = self.instance(self.instance_of(at)).main;
        let mut here = at;
        while here.frame != main {
            here = self.frame(here.frame).parent?;
        }
        Some(here.node)
    }

    pub(super) fn key(&self, at: NodeRef) -> ReadyKey {
        ReadyKey { shortness: u32::MAX - self.node(at).priority, at }
    }

    /// Whether a frame holds the elements of a `for_each`.
    pub(super) fn is_element(&self, at: NodeRef) -> bool {
        matches!(self.frame(at.frame).kind, FrameKind::Items { .. })
    }

    /// Status of a step by its path; `None`: not kept, or no such step.
    pub fn step_status(&self, path: &str) -> Option<StepStatus> {
        self.paths.get(path).map(|at| self.node(*at).status)
    }

    /// Steps that wait for a person, by path.
    pub fn undecided(&self) -> impl Iterator<Item = &StepPath> {
        let doubts = self.doubts.iter().filter(|(_, decided)| decided.is_none()).map(|(step, _)| step);
        doubts.chain(self.consents.iter().filter(|(_, consent)| consent.decided.is_none()).map(|(step, _)| step))
    }

    /// When the last event happened, in milliseconds since the run started.
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// The server that a call asks for its tools.
    pub(super) fn listing(&self, call: u64) -> Option<String> {
        self.listings.get(&call).cloned()
    }

    /// Calls that are out.
    pub fn calls_out(&self) -> usize {
        self.calls.len()
    }
}
