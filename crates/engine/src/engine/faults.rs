//! Faults of our own code, for tests: a panic while a chosen event is made.

use std::cell::Cell;

/// Where it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPlace {
    /// In the work that makes the event.
    Work,
    /// Before the event is applied.
    Before,
    /// When it has changed the state, and nobody has it yet.
    After,
}

thread_local! {
    static FAULT: Cell<Option<(u64, FaultPlace)>> = const { Cell::new(None) };
}

/// The next event of this number brings a panic, once.
pub(crate) fn set(seq: u64, place: FaultPlace) {
    FAULT.set(Some((seq, place)));
}

pub(crate) fn clear() {
    FAULT.set(None);
}

/// Panics where it was asked for.
pub(crate) fn at(seq: u64, place: FaultPlace) {
    if FAULT.get() == Some((seq, place)) {
        clear();
        panic!("a fault that the test wants");
    }
}
