//! `plan`: see `plans`.

use super::Kind;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::Failure;
use crate::model::{PlanStep, Step};

impl Kind for PlanStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        run.ask_on(at);
        Ok(())
    }

    fn go_on(&self, run: &mut Run, at: NodeRef) -> Result<(), Failure> {
        run.plan_on(at, self)
    }
}
