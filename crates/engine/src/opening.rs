//! How a called pipeline starts: its inputs, its channel, and its person.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::diagnostic::quoted;
use crate::event::{Failure, FailureKind, SharedValue};
use crate::inputs::{PersonFrom, PersonTextError, check_inputs, person, person_fields};
use crate::model::PipelineId;
use crate::parts::Toolbox;
use crate::port::{QueryRequest, Rows};
use crate::state::NodeRef;

/// The inputs, the channel and the person of a called pipeline.
pub(crate) struct Opening {
    pub(crate) inputs: SharedValue,
    pub(crate) channel: Option<String>,
    /// The person, or the query that finds the person.
    pub(crate) person: Result<SharedValue, QueryRequest>,
}

impl Toolbox<'_> {
    /// The fields of a person from the row that was found.
    pub(crate) fn person_found(&self, called: PipelineId, rows: Rows) -> Result<SharedValue, Failure> {
        let name = &self.plan.pipeline(called).pipeline.name.value;
        let missing = || Failure::new(FailureKind::BadRequest, format!("pipeline \"{name}\": no such person in its table of people"));
        let row = rows.rows.first().ok_or_else(missing)?;
        Ok(Arc::new(Value::Object(person_fields(row))))
    }

    /// Checks the inputs of a called pipeline, and determines its channel and its person: its own `person`, otherwise the caller's.
    pub(crate) fn opening(
        &self,
        at: NodeRef,
        called: PipelineId,
        given: Map<String, Value>,
        own_channel: Option<&str>,
    ) -> Result<Opening, Failure> {
        let pipeline = &self.plan.pipeline(called).pipeline;
        let name = &pipeline.name.value;
        let inputs = check_inputs(pipeline, given)
            .map_err(|problems| Failure::new(FailureKind::BadRequest, format!("call of \"{name}\": {}", problems.join("; "))))?;
        let caller = self.state.steps.instance_around(at);
        let wanted = own_channel.map(str::to_owned).or_else(|| caller.channel.clone());
        let listed = |name: &String| pipeline.channels.iter().any(|c| c.name == *name);
        let channel = match (wanted.filter(listed), own_channel) {
            (Some(name), _) => Some(name),
            (None, Some(channel)) => {
                let known: Vec<&str> = pipeline.channels.iter().map(|channel| channel.name.as_str()).collect();
                let lists = if known.is_empty() { "it lists none".to_owned() } else { format!("it lists: {}", known.join(", ")) };
                let message = format!("pipeline \"{name}\" does not list channel {}; {lists}", quoted(channel));
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
