//! Carries out calls one at a time, each to its end, for runs in virtual time.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{CallResult, FoundPerson, PersonError, Ports, Runtime, carry_out, find_person};
use crate::CallRequest;
use crate::model::Pipeline;
use crate::port::Tape;

/// Access to the ports for one thread, one call at a time.
pub struct Blocking {
    runtime: Runtime,
    ports: Ports,
}

impl Blocking {
    /// Creates the access for the current thread.
    ///
    /// # Errors
    /// Fails if the system has no more threads or file descriptors.
    pub fn new(ports: Ports) -> std::io::Result<Blocking> {
        Ok(Blocking { runtime: Runtime::new()?, ports })
    }

    /// Carries out one request as the call of that number, through `tape` if there is one.
    pub fn carry_out(&self, call: u64, request: CallRequest, tape: Option<&Arc<dyn Tape>>) -> CallResult {
        let ports = Ports { tape: tape.cloned(), ..self.ports.clone() };
        self.runtime.block_on(carry_out(call, request, &ports))
    }

    /// Blocking version of [`find_person`].
    ///
    /// # Errors
    /// Same as [`find_person`].
    pub fn find_person(&self, pipeline: &Pipeline, inputs: &Map<String, Value>) -> Result<FoundPerson, PersonError> {
        self.runtime.block_on(find_person(pipeline, inputs, &*self.ports.database))
    }

    /// The reply, if it arrives in time.
    #[cfg(test)]
    pub(super) fn give_up_after(&self, time: std::time::Duration, request: CallRequest) -> Option<CallResult> {
        let answer = async { tokio::time::timeout(time, carry_out(1, request, &self.ports)).await.ok() };
        self.runtime.block_on(answer)
    }
}
