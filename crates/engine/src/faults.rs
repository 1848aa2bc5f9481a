//! Injects faults of our own code in tests: a panic while a chosen event is made.

use std::cell::Cell;

/// Where the panic happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPlace {
    /// In the work that makes the event.
    Work,
    /// Before the event is applied.
    Before,
    /// After the event has changed the state, and before it is emitted.
    After,
}

thread_local! {
    static FAULT: Cell<Option<(u64, FaultPlace)>> = const { Cell::new(None) };
}

/// Makes the event of this number panic, once.
pub(crate) fn set(seq: u64, place: FaultPlace) {
    FAULT.set(Some((seq, place)));
}

pub(crate) fn clear() {
    FAULT.set(None);
}

/// Panics if a fault is set for this event and place.
pub(crate) fn at(seq: u64, place: FaultPlace) {
    if FAULT.get() == Some((seq, place)) {
        clear();
        panic!("a fault that the test wants");
    }
}
