//! What was made of texts, kept so that each is made once however many steps and runs use it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::model::{Form, Text};

use super::fill::CompiledForm;

/// Most bytes of sources that are kept; when there are more, all are let go, and made again when they are used.
const MOST_BYTES: usize = 8 << 20;
/// What an entry counts beside its source.
const ENTRY_BYTES: usize = 256;

#[derive(Default)]
struct Kept {
    /// By the address of a source, which nothing else can have while the source is held here. Copies of a text share it.
    forms: HashMap<(usize, Form), (Arc<str>, Arc<CompiledForm>)>,
    bytes: usize,
}

fn kept() -> MutexGuard<'static, Kept> {
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(text: &Text) -> (usize, Form) {
    (Arc::as_ptr(&text.source).cast::<u8>().addr(), text.form)
}

/// What was made of a text before.
pub(super) fn get(text: &Text) -> Option<Arc<CompiledForm>> {
    kept().forms.get(&key(text)).map(|(_, form)| Arc::clone(form))
}

/// Keeps what was made of a text.
pub(super) fn keep(text: &Text, form: CompiledForm) -> Arc<CompiledForm> {
    let (form, mut kept) = (Arc::new(form), kept());
    if kept.bytes > MOST_BYTES {
        *kept = Kept::default();
    }
    kept.bytes += text.source.len() + ENTRY_BYTES;
    kept.forms.insert(key(text), (Arc::clone(&text.source), Arc::clone(&form)));
    form
}
