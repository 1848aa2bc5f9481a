//! Addresses that a pipeline calls, and the loops around its steps.

use super::{PipelinePlan, StepIx};
use crate::model::{ForEach, RequestAddress, Text};

impl PipelinePlan {
    /// All web addresses that are called: of models, tools and steps.
    pub fn addresses(&self) -> impl Iterator<Item = &Text> {
        let of_models = self.pipeline.models.values().filter_map(|model| model.base_url.as_ref());
        let of_tools = self.pipeline.tools.values().filter_map(|tool| match tool.kind.address()? {
            RequestAddress::Web(url) => Some(url),
            RequestAddress::Mail(_) => None,
        });
        let of_steps = self.steps.iter().filter_map(|planned| planned.step.kind.address());
        of_models.chain(of_tools).chain(of_steps)
    }

    /// All mail servers, `host:port`.
    pub fn mail_servers(&self) -> impl Iterator<Item = &Text> {
        self.pipeline.tools.values().filter_map(|tool| match tool.kind.address()? {
            RequestAddress::Mail(server) => Some(server),
            RequestAddress::Web(_) => None,
        })
    }

    /// The loop of which a name is the element, as seen from a step; `own`: the element of that step's own `for_each` is known there.
    pub(crate) fn element(&self, (ix, own): (StepIx, bool), name: &str) -> Option<(StepIx, &ForEach)> {
        let mut lists = self.around(ix).skip(usize::from(!own)).filter_map(|ix| Some((ix, self.step(ix).step.for_each.as_ref()?)));
        lists.find(|(_, each)| name == "item" || each.name.as_ref().is_some_and(|own| own.value == name))
    }
}
