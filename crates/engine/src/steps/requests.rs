//! Requests of steps that make calls: queries, files, HTTP, tools.

use serde_json::{Map, Value};

use crate::Context;
use crate::event::{Failure, FailureKind};
use crate::model::{Filling, Text};
use crate::parts::Requests;
use crate::port::{HttpRequest, Secret};
use crate::source::Spanned;
use crate::state::NodeRef;

impl Requests<'_> {
    /// The idempotency key of a call, or of one of several parts.
    pub(crate) fn repeat_key(&self, at: NodeRef, written: Option<&Text>, part: u64) -> Result<RepeatKey, Failure> {
        let key = written.map_or_else(|| Ok(self.own_key(at)), |text| self.written_key(at, text))?;
        // Without a key nobody would know a repeated call, and all calls would have the same one.
        if key.trim().is_empty() {
            return Err(Failure::new(FailureKind::BadRequest, "idempotency_key is empty here"));
        }
        let first = u64::from(written.is_some());
        let text = if part > first { format!("{key}-{part}") } else { key };
        Ok(RepeatKey { text, is_written: written.is_some() })
    }

    /// The key that the author wrote. Where an earlier run used it first, `run` in it is that run.
    fn written_key(&self, at: NodeRef, text: &Text) -> Result<String, Failure> {
        match self.state.kept.key_of(&self.state.steps.node(at).path) {
            Some((run, _)) => self.names().fill_text_with(at, text, &[("run", self.names().run_named(run, at))]),
            None => self.fill_text(at, text),
        }
    }

    /// A key that no other step, element or round of this run has: the run and the path, of an element that an earlier run began those there, and the rounds of the pipelines around it, from the first one
    /// that is in its second round.
    pub(crate) fn own_key(&self, at: NodeRef) -> String {
        let mut rounds = self.state.steps.rounds(at);
        let first_again = rounds.iter().position(|round| *round > 1).unwrap_or(rounds.len() - 1);
        let rounds: Vec<String> = rounds.drain(first_again..).map(|round| round.to_string()).collect();
        let path = &*self.state.steps.node(at).path;
        let (run, path) = self.state.kept.key_of(path).unwrap_or((&self.id, path.to_owned()));
        format!("{run}-{path}-{}", rounds.join("."))
    }
}

impl Context {
    pub(crate) fn arguments(&self, at: NodeRef, with: &[(Spanned<String>, Filling)]) -> Result<Map<String, Value>, Failure> {
        let mut arguments = Map::new();
        for (name, value) in with {
            arguments.insert(name.value.clone(), self.filling(at, value)?);
        }
        Ok(arguments)
    }
}

/// A key by which a receiver can recognise a repeated call. It is equal for all tries of one call.
pub(crate) struct RepeatKey {
    pub(crate) text: String,
    /// Whether the author wrote it.
    pub(crate) is_written: bool,
}

/// The header that has it.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

impl RepeatKey {
    /// Adds the key to a request that would act again if repeated, or whose author wrote a key.
    pub(crate) fn add_to(self, request: &mut HttpRequest) {
        if self.is_written || !request.method.is_safe() {
            request.headers.push((IDEMPOTENCY_KEY.to_string(), Secret::new(self.text)));
        }
    }
}
