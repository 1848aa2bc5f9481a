//! What is said when a time is up, and who set it.

use std::time::Duration;

use crate::event::Bound;
use crate::parts::Schedule;
use crate::state::NodeRef;
use crate::state::apply::step_limits;
use crate::words::duration;

impl Schedule<'_> {
    /// The time of the run, or of a called pipeline, is up.
    pub(crate) fn deadline_passed(&self, ix: u32) -> String {
        let of_run = self.state.start.as_ref().filter(|_| ix == 0).and_then(|start| start.deadline_ms).map(Duration::from_millis);
        let of_file = self.planned(ix).pipeline.bounds();
        let most = [of_run, of_file.deadline].into_iter().flatten().min().unwrap_or_default();
        // The start of a run does not say who set its time; where the options still have the same, they do.
        let by = [&of_file, &self.options.limits].into_iter().find(|limits| limits.deadline == Some(most));
        match by.and_then(|limits| limits.set_by.time.as_ref()) {
            Some(policy) => format!("policy {policy}: resource_limits.time is {}, and it has passed", duration(most)),
            None => format!("the deadline of {} has passed", duration(most)),
        }
    }

    /// The time of a step, or of an attempt of it, is up.
    pub(crate) fn time_passed(&self, at: NodeRef, bound: Bound) -> String {
        let step = self.step(at);
        if bound == Bound::Timeout {
            return format!("no end after {}", duration(step.timeout.unwrap_or_default()));
        }
        let limits = step_limits(&self.planned_of(at).pipeline, &step);
        let most = duration(limits.deadline.unwrap_or_default());
        let by = limits.set_by.time.map(|policy| format!(": policy {policy}: resource_limits.time is {most}"));
        format!("no end after {most}{}", by.unwrap_or_default())
    }
}
