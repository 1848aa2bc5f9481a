//! Calls carried out one at a time, each to its end: for runs in virtual time.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{CallResult, FoundPerson, PersonError, Ports, Runtime, carry_out, find_person};
use crate::engine::CallRequest;
use crate::model::Pipeline;
use crate::port::Tape;

/// A thread's own way to the ports.
pub struct Blocking {
    runtime: Runtime,
    ports: Ports,
}

impl Blocking {
    /// For the thread that makes it.
    ///
    /// # Errors
    /// The system has no more threads or files to give.
    pub fn new(ports: Ports) -> std::io::Result<Blocking> {
        Ok(Blocking { runtime: Runtime::new()?, ports })
    }

    /// Carries one request out, the call of that number; past this tape, if there is one.
    pub fn carry_out(&self, call: u64, request: CallRequest, tape: Option<&Arc<dyn Tape>>) -> CallResult {
        let ports = Ports { tape: tape.cloned(), ..self.ports.clone() };
        self.runtime.block_on(carry_out(call, request, &ports))
    }

    /// As [`find_person`].
    ///
    /// # Errors
    /// As [`find_person`].
    pub fn find_person(&self, pipeline: &Pipeline, inputs: &Map<String, Value>) -> Result<FoundPerson, PersonError> {
        self.runtime.block_on(find_person(pipeline, inputs, &*self.ports.database))
    }

    /// The answer, if it comes in time.
    #[cfg(test)]
    pub(super) fn give_up_after(&self, time: std::time::Duration, request: CallRequest) -> Option<CallResult> {
        let answer = async { tokio::time::timeout(time, carry_out(1, request, &self.ports)).await.ok() };
        self.runtime.block_on(answer)
    }
}
