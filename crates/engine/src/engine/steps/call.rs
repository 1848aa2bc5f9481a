//! Called pipelines: of `call` steps and of tools that are pipelines.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Kind;
use crate::engine::Run;
use crate::engine::command::CallRequest;
use crate::engine::inputs::{PersonFrom, PersonTextError, check_inputs, person, person_fields};
use crate::engine::plans::texts::PREVIOUS;
use crate::engine::state::NodeRef;
use crate::event::{Failure, FailureKind, Happening, SharedValue};
use crate::model::{CallStep, PipelineId, Step, StepKind};
use crate::port::{QueryRequest, Rows};
use crate::source::Spanned;

/// What a called pipeline starts with.
pub(crate) struct Opening {
    pub(crate) inputs: SharedValue,
    pub(crate) channel: Option<String>,
    /// Who it is for, or the query that finds that out.
    pub(crate) person: Result<SharedValue, QueryRequest>,
}

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

    /// The fields of a person from the row that was found.
    pub(crate) fn person_found(&self, called: PipelineId, rows: Rows) -> Result<SharedValue, Failure> {
        let name = &self.plan.pipeline(called).pipeline.name.value;
        let missing = || Failure::new(FailureKind::BadRequest, format!("pipeline \"{name}\": its table of people has no such person"));
        let row = rows.rows.first().ok_or_else(missing)?;
        Ok(Arc::new(Value::Object(person_fields(row))))
    }

    fn opening_of(&self, at: NodeRef, step: &Step, called: PipelineId) -> Result<Opening, Failure> {
        let own_channel = if let StepKind::Call(call) = &step.kind { call.channel.as_ref() } else { None };
        let mut given: Map<String, Value> = self.previous(at, called).map(|value| (PREVIOUS.to_string(), value)).into_iter().collect();
        given.extend(self.arguments(at, step.kind.with())?);
        if let StepKind::Tool(tool) = &step.kind {
            given = self.with_fixed(at, &tool.tool.value, given)?;
        }
        self.opening(at, called, given, own_channel)
    }

    /// Checks what a pipeline is given, and works out its channel and who it is for: its own `person`, else the caller's.
    pub(crate) fn opening(
        &self,
        at: NodeRef,
        called: PipelineId,
        given: Map<String, Value>,
        own_channel: Option<&Spanned<String>>,
    ) -> Result<Opening, Failure> {
        let pipeline = &self.plan.pipeline(called).pipeline;
        let name = &pipeline.name.value;
        let inputs = check_inputs(pipeline, given)
            .map_err(|problems| Failure::new(FailureKind::BadRequest, format!("call of \"{name}\": {}", problems.join("; "))))?;
        let caller = self.state.instance_around(at);
        let wanted = own_channel.map(|c| c.value.clone()).or_else(|| caller.channel.clone());
        let listed = |name: &String| pipeline.channels.iter().any(|c| c.name == *name);
        let channel = match (wanted.filter(listed), own_channel) {
            (Some(name), _) => Some(name),
            (None, Some(channel)) => {
                let message = format!("pipeline \"{name}\" does not list channel \"{}\"", channel.value);
                return Err(Failure::new(FailureKind::BadRequest, message));
            }
            (None, None) => pipeline.channels.first().map(|c| c.name.clone()),
        };
        let person = match &pipeline.person {
            None => Ok(caller.person.clone()),
            Some(_) => {
                let wrong =
                    |problem: PersonTextError| Failure::new(FailureKind::BadRequest, format!("person of pipeline \"{name}\": {problem}"));
                match person(pipeline, &inputs).map_err(wrong)? {
                    PersonFrom::Known(person) => Ok(Arc::new(Value::Object(person))),
                    PersonFrom::Row { query, .. } => Err(query),
                }
            }
        };
        Ok(Opening { inputs: Arc::new(Value::Object(inputs)), channel, person })
    }
}
