//! What is known of a run: its plan, its settings, its state and the time. All may read it; events alone change it.

use std::cell::RefCell;
use std::sync::Arc;

use crate::event::{Event, StepPath};
use crate::model::{Pipeline, Step};
use crate::plan::{PipelinePlan, Plan};
use crate::port::Secret;
use crate::redact::Secrets;
use crate::run::{Answerer, Moment, Noted, RunSettings};
use crate::state::FrameGraph;
use crate::state::live::Live;
use crate::state::{NodeRef, RunState};

/// What decisions are made from: a view of a run that changes nothing.
pub struct Context {
    pub(crate) id: Arc<str>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: RunSettings,
    /// The `hidden` values, prepared for finding them in texts.
    pub(crate) hidden: Secrets,
    pub(crate) state: Live,
    pub(crate) now: Moment,
    pub(crate) noted: RefCell<Noted>,
    pub(crate) answerer: Answerer,
}

impl Context {
    /// What is known of a run that has not started.
    pub(crate) fn new(id: Arc<str>, plan: Arc<Plan>, options: RunSettings, now: Moment) -> Context {
        let hidden = Secrets::new(options.hidden.iter().map(Secret::reveal));
        Context { id, plan, hidden, options, state: Live::default(), now, answerer: Answerer::World, noted: RefCell::default() }
    }

    /// See [`RunState::apply`].
    pub(crate) fn apply(&mut self, event: &Event) {
        self.state.apply(&self.plan, event);
    }

    /// The state of the run.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Facts that a test needs besides the events.
    pub fn noted(&self) -> Noted {
        let replies = self.options.replies.iter().flat_map(|replies| replies.by_step.keys().map(move |key| (key, replies)));
        let replies_used = replies.map(|(key, replies)| (key.clone(), self.conversations().replies_used(replies, key))).collect();
        Noted { replies_used, ..self.noted.borrow().clone() }
    }

    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    pub(crate) fn path(&self, at: NodeRef) -> StepPath {
        self.state.steps.node(at).path.clone()
    }

    /// The pipeline that the run began with.
    pub(crate) fn own_pipeline(&self) -> Option<&Pipeline> {
        let own = self.state.steps.instances.first()?.as_ref()?;
        Some(&self.plan.pipeline(own.pipeline).pipeline)
    }

    pub(crate) fn planned(&self, instance: u32) -> &PipelinePlan {
        self.plan.pipeline(self.state.steps.instance(instance).pipeline)
    }

    /// The pipeline of a step. For a step of a written plan, the pipeline of its `plan` step.
    pub(crate) fn planned_of(&self, at: NodeRef) -> &PipelinePlan {
        self.state.steps.file(&self.plan, at)
    }

    pub(crate) fn step(&self, at: NodeRef) -> Arc<Step> {
        self.state.steps.step(&self.plan, at)
    }

    /// The graph that a step belongs to: of its pipeline, or of a plan that an agent wrote.
    pub(crate) fn own_plan(&self, at: NodeRef) -> FrameGraph<'_> {
        self.state.steps.planned(&self.plan, at.frame)
    }
}
