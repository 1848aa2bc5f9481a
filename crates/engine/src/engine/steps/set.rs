//! `set`: a value.

use super::Kind;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::Failure;
use crate::model::{Filling, Step};

pub(super) struct Set<'s>(pub(super) &'s Filling);

impl Kind for Set<'_> {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let value = run.filling(at, self.0)?;
        run.succeed(at, value, None);
        Ok(())
    }
}
