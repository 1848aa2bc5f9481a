//! `gate`: see `gates`.

use super::Kind;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::Failure;
use crate::model::{GateStep, Step};

impl Kind for GateStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        run.judge(at);
        Ok(())
    }

    fn go_on(&self, run: &mut Run, at: NodeRef) -> Result<(), Failure> {
        run.try_judge(at, self)
    }
}
