//! What a run asks of its driver, and which of its steps continue when they may.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::command::{CallRequest, Command};
use crate::state::ReadyKey;

/// Commands that the driver has not taken yet.
#[derive(Default)]
pub(crate) struct Outbox {
    commands: VecDeque<Command>,
    /// Calls that act outside.
    unsent: BTreeMap<u64, Box<CallRequest>>,
}

impl Outbox {
    pub(crate) fn push(&mut self, command: Command) {
        self.commands.push_back(command);
    }

    /// Adds a call. One that acts outside waits until its events are durable.
    pub(crate) fn call(&mut self, call: u64, request: CallRequest) {
        let request = Box::new(request);
        if request.acts_outside() {
            self.unsent.insert(call, request);
        } else {
            self.push(Command::Call { call, request });
        }
    }

    /// Cancels a call; whether the driver has taken it.
    pub(crate) fn cancel(&mut self, call: u64) -> bool {
        let has_gone_out = self.unsent.remove(&call).is_none();
        self.push(Command::Cancel { call });
        has_gone_out
    }

    /// Whether the driver has taken a call.
    pub(crate) fn has_gone_out(&self, call: u64) -> bool {
        !self.unsent.contains_key(&call)
    }

    /// The next command. Of the calls that act outside only one up to the number `kept`.
    pub(crate) fn next(&mut self, kept: u64) -> Option<Command> {
        self.commands.pop_front().or_else(|| {
            let call = self.unsent.first_entry().filter(|call| *call.key() <= kept)?;
            let (call, request) = call.remove_entry();
            Some(Command::Call { call, request })
        })
    }

    /// The last call that acts outside.
    pub(crate) fn last_unsent(&self) -> Option<u64> {
        self.unsent.last_key_value().map(|(call, _)| *call)
    }
}

/// Steps that continue when they may.
#[derive(Default)]
pub(crate) struct WokenSteps {
    /// As soon as they may: for example, their backoff has ended, or they wait for a permit to make a call.
    woken: BTreeSet<ReadyKey>,
    /// Steps whose call does not fit the budget while other calls are open; they try again at the next input.
    for_budget: BTreeSet<ReadyKey>,
}

impl WokenSteps {
    pub(crate) fn wake(&mut self, key: ReadyKey) {
        self.woken.insert(key);
    }

    pub(crate) fn wait_for_budget(&mut self, key: ReadyKey) {
        self.for_budget.insert(key);
    }

    /// An input has come: those that wait for the budget try again.
    pub(crate) fn try_again(&mut self) {
        self.woken.append(&mut self.for_budget);
    }

    pub(crate) fn contains(&self, key: &ReadyKey) -> bool {
        self.woken.contains(key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.woken.is_empty() && self.for_budget.is_empty()
    }

    /// The first that fits.
    pub(crate) fn find(&self, fits: impl Fn(&ReadyKey) -> bool) -> Option<ReadyKey> {
        self.woken.iter().copied().find(fits)
    }

    pub(crate) fn remove(&mut self, key: &ReadyKey) {
        self.woken.remove(key);
    }
}
