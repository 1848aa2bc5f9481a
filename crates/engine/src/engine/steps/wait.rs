//! `wait`: until a time, or for some time.

use super::Kind;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{Filling, Step};

pub(super) struct Wait<'s>(pub(super) &'s Filling);

impl Kind for Wait<'_> {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let until_ms = run.wait_until(at, self.0)?;
        let step = run.state.node(at).path.clone();
        run.emit(Happening::StepPaused { step, until_ms });
        Ok(())
    }
}

impl Run {
    fn wait_until(&self, at: NodeRef, filling: &Filling) -> Result<u64, Failure> {
        let value = self.filling(at, filling)?;
        let text = value.as_str().unwrap_or_default();
        if let Ok(duration) = crate::model::parse_duration(text) {
            return Ok(self.now.ms.saturating_add(duration.as_millis() as u64));
        }
        match chrono::DateTime::parse_from_rfc3339(text) {
            Ok(time) => {
                let wait = time.with_timezone(&chrono::Utc) - self.now.wall;
                Ok(self.now.ms.saturating_add(wait.num_milliseconds().max(0) as u64))
            }
            Err(_) => {
                Err(Failure::new(FailureKind::WrongType, format!("wait needs a time such as 5m or 2026-01-05T09:00:00Z, found \"{text}\"")))
            }
        }
    }
}
