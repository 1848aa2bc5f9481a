//! What is made of texts, kept so that each is made once however many steps and runs use it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::model::{Form, Text};

use super::Value;
use super::tree::{Expr, Statement};

/// Most texts that are kept, and most bytes of their sources; when there are more, all are let go, and made again when they are used.
const MOST: usize = 14_000;
const MOST_BYTES: usize = 8 << 20;

/// What is made of a text.
#[derive(Debug)]
pub(super) enum CompiledForm {
    Plain(Value),
    Template(Vec<Statement>),
    Expression(Expr),
}

impl CompiledForm {
    /// Of the statements of a text with braces; `None`: they are not one `{{ … }}` though the form says so.
    pub(super) fn from_nodes(form: Form, nodes: Vec<Statement>) -> Option<CompiledForm> {
        match form {
            Form::Sole => match nodes.into_iter().next() {
                Some(Statement::Print(expression, _)) => Some(CompiledForm::Expression(expression)),
                _ => None,
            },
            _ => Some(CompiledForm::Template(nodes)),
        }
    }
}

struct CompiledTexts {
    /// By the address of a source, which nothing else can have while the source is held here. Copies of a text share it.
    forms: HashMap<(usize, Form), (Arc<str>, Arc<CompiledForm>)>,
    bytes: usize,
}

/// With room for all from the start: what a file costs does not depend on those before it.
fn kept() -> MutexGuard<'static, CompiledTexts> {
    static KEPT: LazyLock<Mutex<CompiledTexts>> =
        LazyLock::new(|| Mutex::new(CompiledTexts { forms: HashMap::with_capacity(MOST), bytes: 0 }));
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
    if kept.bytes > MOST_BYTES || kept.forms.len() >= MOST {
        kept.forms.clear();
        kept.bytes = 0;
    }
    kept.bytes += text.source.len();
    kept.forms.insert(key(text), (Arc::clone(&text.source), Arc::clone(&form)));
    form
}
