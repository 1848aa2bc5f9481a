//! Requests of steps that call something: queries, files, HTTP, tools.

use serde_json::{Map, Value};

use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::Failure;
use crate::model::{Filling, Text};
use crate::port::{HttpRequest, Secret};
use crate::source::Spanned;

impl Run {
    /// The key a receiver may know a repeated call by: equal for all tries of one call.
    pub(crate) fn idempotency_key(&self, at: NodeRef, own: Option<&Text>, part: u64) -> Result<Option<String>, Failure> {
        match own {
            Some(text) => {
                let key = self.fill_text(at, text)?;
                Ok(Some(if part > 1 { format!("{key}-{part}") } else { key }))
            }
            None if part > 0 => Ok(Some(format!("{}-{part}", self.own_key(at)))),
            None => Ok(Some(self.own_key(at))),
        }
    }

    /// What no other step, element or round of this run has: run, path, and the rounds of the pipelines around it, from the first that
    /// is in its second one.
    pub(crate) fn own_key(&self, at: NodeRef) -> String {
        let mut rounds = self.state.rounds(at);
        let first_again = rounds.iter().position(|round| *round > 1).unwrap_or(rounds.len() - 1);
        let rounds: Vec<String> = rounds.drain(first_again..).map(|round| round.to_string()).collect();
        format!("{}-{}-{}", self.id, self.state.node(at).path, rounds.join("."))
    }

    pub(crate) fn arguments(&self, at: NodeRef, with: &[(Spanned<String>, Filling)]) -> Result<Map<String, Value>, Failure> {
        let mut arguments = Map::new();
        for (name, value) in with {
            arguments.insert(name.value.clone(), self.filling(at, value)?);
        }
        Ok(arguments)
    }
}

pub(crate) fn add_key(request: &mut HttpRequest, key: Option<String>) {
    if let Some(key) = key {
        request.headers.push(("Idempotency-Key".to_string(), Secret::new(key)));
    }
}
