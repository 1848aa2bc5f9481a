//! Which values are the output of a `format` step: those that one of this run made, wherever they were handed on. A value from outside that
//! looks like one is none.

use serde_json::Value;

use crate::channel::Output;
use crate::engine::Run;

impl Run {
    /// A value, and whether a `format` step of this run made it.
    pub(crate) fn output(&self, value: Value) -> Output {
        if self.state.is_made(&value) { Output::formatted(value) } else { Output::Plain(value) }
    }
}
