//! Work of a library on a file that others made, in which a panic means that the file is damaged.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does such work. `None`: it panicked. What it was given by reference may then be half changed; use none of it again.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(before);
    done.ok()
}

/// Whether the current thread does such work. A panic hook says nothing then, because the failure of the file tells it.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_guarded_work_alone() {
        assert_eq!(guarded(|| guarded(|| "x".parse::<u8>().expect("no number"))), Some(None));
        assert_eq!((guarded(is_guarded), is_guarded()), (Some(true), false));
    }
}
