//! Steps that call a pipeline: `call`, and `tool` where the tool is one.

use serde_json::{Map, Value, json};

use super::Kind;
use crate::engine::Run;
use crate::engine::command::CallRequest;
use crate::engine::opening::Opening;
use crate::engine::state::NodeRef;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{CallStep, PipelineId, Step, StepKind};
use crate::port::Rows;

impl Kind for CallStep {
    fn start(&self, _run: &mut Run, _at: NodeRef, _step: &Step) -> Result<(), Failure> {
        Err(Failure::new(FailureKind::Unavailable, format!("pipeline \"{}\" could not be read", self.file.value)))
    }
}

impl Run {
    /// Starts a `call`, or a tool that is a pipeline. A person of its own is looked up first.
    pub(crate) fn start_call(&mut self, at: NodeRef, step: &Step, called: PipelineId) -> Result<(), Failure> {
        let opening = self.opening_of(at, step, called)?;
        if let StepKind::Tool(tool) = &step.kind {
            let planner = self.planner_of(at);
            if !self.agreed(at, planner.as_deref(), &tool.tool.value, &opening.inputs)? {
                return Ok(());
            }
            self.permit(at, planner.as_deref(), Some((&tool.tool.value, &opening.inputs)), &CallRequest::Print(vec![]))?;
        }
        let Opening { inputs, channel, person } = opening;
        match person {
            Ok(person) => self.emit(Happening::CallOpened { step: self.path(at), asked: None, inputs, channel, person }),
            Err(_) if !self.has_permit(at) => self.wake(at),
            Err(query) => {
                let timeout = query.timeout.as_millis() as u64;
                let shown = json!({ "query": query.query, "with": query.with });
                let request = CallRequest::Query(query);
                let planner = self.planner_of(at);
                self.permit(at, planner.as_deref(), None, &request)?;
                self.call_out(at, "person", shown, request, timeout);
            }
        }
        Ok(())
    }

    /// The row of the person a called pipeline is for has come.
    pub(crate) fn person_came(&mut self, at: NodeRef, step: &Step, called: PipelineId, rows: Rows) -> Result<(), Failure> {
        let Opening { inputs, channel, .. } = self.opening_of(at, step, called)?;
        let person = self.person_found(called, rows)?;
        self.emit(Happening::CallOpened { step: self.path(at), asked: None, inputs, channel, person });
        Ok(())
    }

    fn opening_of(&self, at: NodeRef, step: &Step, called: PipelineId) -> Result<Opening, Failure> {
        let own_channel = if let StepKind::Call(call) = &step.kind { call.channel.as_ref() } else { None };
        let mut given: Map<String, Value> = self.previous(at, called).into_iter().collect();
        given.extend(self.arguments(at, step.kind.facts().with)?);
        if let StepKind::Tool(tool) = &step.kind {
            given = self.with_fixed(at, &tool.tool.value, given)?;
        }
        self.opening(at, called, given, own_channel)
    }
}
