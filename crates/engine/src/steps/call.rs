//! Steps that call a pipeline: `call`, and `tool` if the tool is a pipeline.

use serde_json::{Map, Value, json};

use super::Kind;
use super::decision::StepDecision;
use crate::Context;
use crate::acts::CalledTool;
use crate::command::CallRequest;
use crate::event::{Failure, FailureKind, Happening, SharedValue};
use crate::model::{CallStep, PipelineId, Step, StepKind};
use crate::opening::Opening;
use crate::parts::Steps;
use crate::parts::Toolbox;
use crate::port::Rows;
use crate::run::Answerer;
use crate::state::NodeRef;

impl Kind for CallStep {
    fn start(&self, _context: &Context, _at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        Err(Failure::new(FailureKind::Unavailable, format!("pipeline \"{}\" could not be read", self.file.value)))
    }
}

impl Steps<'_> {
    /// Starts a `call`, or a tool that is a pipeline. If the pipeline has a person of its own, the person is looked up first.
    pub(crate) fn start_call(&mut self, at: NodeRef, step: &Step, called: PipelineId) -> Result<(), Failure> {
        let Opening { inputs, channel, person } = self.toolbox().opening_of(at, step, called)?;
        let is_unsent = self.answerer != Answerer::World;
        if person.is_err() && !is_unsent && !self.schedule().has_permit(at) {
            self.wake(at);
            return Ok(());
        }
        let tool = if let StepKind::Tool(tool) = &step.kind { Some(tool.tool.value.as_str()) } else { None };
        let used = tool.map(|name| CalledTool { name, arguments: &inputs, whole: &inputs, is_repeated: false, is_program: false });
        // Without a person to look up, no request is sent, so only the tool itself is decided on.
        let request = person.as_ref().map_or_else(|query| CallRequest::Query(query.clone()), |_| CallRequest::Print(vec![]));
        let planner = self.rules().planner_of(at);
        if (used.is_some() || person.is_err()) && !self.gatekeeper().permit(at, planner.as_deref(), used, &request)? {
            return Ok(());
        }
        if is_unsent {
            return Ok(());
        }
        match person {
            Ok(person) => self.0.emit(self.toolbox().call_opens(at, called, None, inputs, channel, person)),
            Err(query) => {
                let shown = json!({ "query": query.query, "with": query.with });
                self.gatekeeper().call_out(at, "person", shown, request, query.timeout.as_millis() as u64);
            }
        }
        Ok(())
    }

    /// Handles the row of the person that a called pipeline is for.
    pub(crate) fn person_came(&mut self, at: NodeRef, step: &Step, called: PipelineId, rows: Rows) -> Result<(), Failure> {
        let Opening { inputs, channel, .. } = self.toolbox().opening_of(at, step, called)?;
        let person = self.toolbox().person_found(called, rows)?;
        self.0.emit(self.toolbox().call_opens(at, called, None, inputs, channel, person));
        Ok(())
    }
}

impl Toolbox<'_> {
    /// That a called pipeline began.
    pub(crate) fn call_opens(
        &self,
        at: NodeRef,
        called: PipelineId,
        asked: Option<usize>,
        inputs: SharedValue,
        channel: Option<String>,
        person: SharedValue,
    ) -> Happening {
        let pipeline = self.plan.pipeline(called).pipeline.name.value.clone();
        Happening::CallOpened { step: self.path(at), asked, pipeline, inputs, channel, person }
    }

    fn opening_of(&self, at: NodeRef, step: &Step, called: PipelineId) -> Result<Opening, Failure> {
        let own_channel = if let StepKind::Call(call) = &step.kind { call.channel.as_ref() } else { None };
        let own_channel = own_channel.map(|channel| self.fill_text(at, channel)).transpose()?;
        let mut given: Map<String, Value> = self.plans().previous(at, called).into_iter().collect();
        given.extend(self.arguments(at, step.kind.facts().with)?);
        if let StepKind::Tool(tool) = &step.kind {
            given = self.requests().with_fixed(at, &tool.tool.value, given)?;
        }
        self.opening(at, called, given, own_channel.as_deref())
    }
}
