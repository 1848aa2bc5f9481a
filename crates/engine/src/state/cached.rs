//! Values that are made from the state once, and again after a resume; no part of it.

use std::cell::OnceCell;

use super::CachedValue;

/// A value computed once from the rest of the state. It adds nothing to the state, so all cached values are equal.
#[derive(Debug, Clone)]
pub(crate) struct Cached<T>(pub(crate) OnceCell<T>);

impl<T: Clone> Cached<T> {
    pub(crate) fn get(&self, make: impl FnOnce() -> T) -> T {
        self.0.get_or_init(make).clone()
    }
}

impl<T> Default for Cached<T> {
    fn default() -> Cached<T> {
        Cached(OnceCell::new())
    }
}

impl<T> PartialEq for Cached<T> {
    fn eq(&self, _: &Cached<T>) -> bool {
        true
    }
}

/// The names of an instance as template values, each made once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CachedNames {
    pub(crate) inputs: CachedValue,
    pub(crate) person: CachedValue,
    pub(crate) channel: CachedValue,
    pub(crate) style: CachedValue,
    pub(crate) conversation: CachedValue,
    pub(crate) run: CachedValue,
}
