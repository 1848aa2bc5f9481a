//! The calls of a run that are out.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::NodeRef;
use super::lists::StepLists;
use super::tally::SetAside;
use super::timers::Timer;

/// An open call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) node: NodeRef,
    pub(crate) started_ms: u64,
    pub(crate) timeout_at: u64,
    pub(crate) reserved: SetAside,
    /// Whether a scripted reply answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) scripted: bool,
}

impl OpenCall {
    /// A call that costs nothing.
    pub(super) fn free(node: NodeRef, started_ms: u64, timeout_at: u64) -> OpenCall {
        OpenCall { node, started_ms, timeout_at, reserved: SetAside::default(), scripted: false }
    }
}

/// The open calls, by number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallsOut {
    open: BTreeMap<u64, OpenCall>,
    /// Servers whose tools are being listed, by call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    listings: BTreeMap<u64, String>,
    last: u64,
}

impl Deref for CallsOut {
    type Target = BTreeMap<u64, OpenCall>;

    fn deref(&self) -> &BTreeMap<u64, OpenCall> {
        &self.open
    }
}

impl CallsOut {
    /// Number of the last call.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The server whose tools a call lists.
    pub(crate) fn listing(&self, call: u64) -> Option<String> {
        self.listings.get(&call).cloned()
    }

    /// Counts calls up to this one, also one that was not made.
    pub(super) fn count_to(&mut self, call: u64) {
        self.last = self.last.max(call);
    }

    /// Opens a call with its timer.
    pub(super) fn open(&mut self, steps: &mut StepLists, call: u64, open: OpenCall) {
        self.last = call;
        steps.timers.start(open.timeout_at, Timer::Call(call));
        self.open.insert(call, open);
    }

    /// Opens a call that lists the tools of a server.
    pub(super) fn open_listing(&mut self, steps: &mut StepLists, call: u64, server: &str, open: OpenCall) {
        self.listings.insert(call, server.to_owned());
        self.open(steps, call, open);
    }

    /// Reserves no more for a call than it may have cost.
    pub(super) fn reserve(&mut self, call: u64, reserved: impl FnOnce(SetAside) -> SetAside) {
        if let Some(open) = self.open.get_mut(&call) {
            open.reserved = reserved(open.reserved);
        }
    }

    /// Ends a call. Its reserved cost is kept if it ended without reporting its cost: it may have cost that much.
    pub(super) fn close(&mut self, steps: &mut StepLists, call: u64) -> Option<NodeRef> {
        let open = self.open.remove(&call)?;
        self.listings.remove(&call);
        steps.timers.stop(open.timeout_at, Timer::Call(call));
        if !open.reserved.is_nothing() {
            steps.tree.each_around(open.node, |instance| instance.untold.add(&open.reserved));
            if let Some(talk) = steps.tree.talk_mut(open.node) {
                talk.untold.add(&open.reserved);
            }
        }
        Some(open.node)
    }
}
