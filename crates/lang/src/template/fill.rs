//! A compiled text, the names it is filled with, and why that may fail.

use std::sync::Arc;

use crate::model::{Form, Place, Text};
use crate::source::Span;

use super::Value;
use super::address::{AddressRules, FilledAddress};
use super::build;
use super::eval::Filling;
use super::print::{Output, kind_and_value, printed};
use super::problem::Problem;
use super::ready;
use super::stop::Stop;
use super::tree::{Expr, Node};

/// Longest message, in bytes.
const MESSAGE_BYTES: usize = 2048;

/// Why a text could not be filled, in plain words of at most 2 KiB.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FillError {
    /// What people read.
    pub message: String,
    /// The expression that failed, where that is known.
    pub span: Option<Span>,
}

impl FillError {
    pub(super) fn new(stop: Stop, span: Option<Span>) -> FillError {
        let mut message = stop.message;
        if message.len() > MESSAGE_BYTES {
            let mut end = MESSAGE_BYTES - '…'.len_utf8();
            while !message.is_char_boundary(end) {
                end -= 1;
            }
            message.truncate(end);
            message.push('…');
        }
        FillError { message, span }
    }

    fn of(problem: Problem, place: &Place) -> FillError {
        let span = place.inside(problem.at.0, problem.at.1);
        FillError::new(Stop::failed(problem.message), Some(span))
    }
}

/// The names one filling knows. Values are shared, not copied.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    names: Vec<(Arc<str>, Value)>,
}

impl Scope {
    /// Knows no name.
    pub fn new() -> Scope {
        Scope::default()
    }

    /// Gives a name its value, in place of an older one.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.names.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => self.names.push((name.into(), value)),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.names.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// A text that is ready to be filled, as often as wanted.
#[derive(Debug, Clone)]
pub struct Compiled<'t> {
    form: Arc<CompiledForm>,
    place: &'t Place,
}

#[derive(Debug)]
pub(super) enum CompiledForm {
    Plain(Value),
    Template(Vec<Node>),
    Expression(Expr),
}

impl CompiledForm {
    /// Of the statements of a text with braces; `None`: they are not one `{{ … }}` though the form says so.
    pub(super) fn of(form: Form, nodes: Vec<Node>) -> Option<CompiledForm> {
        match form {
            Form::Sole => match nodes.into_iter().next() {
                Some(Node::Print(expression, _)) => Some(CompiledForm::Expression(expression)),
                _ => None,
            },
            _ => Some(CompiledForm::Template(nodes)),
        }
    }
}

/// Makes a text ready to be filled: once per text, since this is dear and filling is cheap. What [`super::text`] and
/// [`super::expression`] found sound is ready.
///
/// # Errors
/// Everything that [`super::text`] and [`super::expression`] report; so never for a text that was checked without findings.
pub fn compile(text: &Text) -> Result<Compiled<'_>, FillError> {
    if let Some(form) = ready::get(text) {
        return Ok(Compiled { form, place: &text.place });
    }
    let failed = |problem| FillError::of(problem, &text.place);
    let form = match text.form {
        Form::Plain => CompiledForm::Plain(Value::from(text.source.clone())),
        Form::Bare => CompiledForm::Expression(sound(build::expression(&text.source).map_err(failed)?, &text.place)?),
        Form::Template | Form::Sole => {
            let nodes = sound(build::template(&text.source).map_err(failed)?, &text.place)?;
            let not_one = || failed(Problem::syntax((0, text.source.len()), "this text is not one {{ … }}"));
            CompiledForm::of(text.form, nodes).ok_or_else(not_one)?
        }
    };
    Ok(Compiled { form: ready::keep(text, form), place: &text.place })
}

fn sound<T>(built: build::Built<T>, place: &Place) -> Result<T, FillError> {
    match built.problems.into_iter().next() {
        Some(problem) => Err(FillError::of(problem, place)),
        None => Ok(built.tree),
    }
}

impl Compiled<'_> {
    /// The filled value: the text itself without braces, a text for a template, and the value with its type for one
    /// `{{ … }}` alone and for a bare expression.
    ///
    /// # Errors
    /// Something is missing or of the wrong kind, or a limit is passed.
    pub fn fill(&self, scope: &Scope) -> Result<Value, FillError> {
        match &*self.form {
            CompiledForm::Plain(text) => Ok(text.clone()),
            CompiledForm::Template(nodes) => self.template(nodes, scope).map(Value::from),
            CompiledForm::Expression(expression) => {
                Filling::new(scope).value(expression).map_err(|stop| FillError::new(stop, Some(self.place.span)))
            }
        }
    }

    /// The filled value as it prints.
    ///
    /// # Errors
    /// As [`Compiled::fill`].
    pub fn fill_text(&self, scope: &Scope) -> Result<String, FillError> {
        match &*self.form {
            CompiledForm::Template(nodes) => self.template(nodes, scope),
            _ => {
                let value = self.fill(scope)?;
                printed(&value).map_err(|stop| FillError::new(stop, Some(self.place.span)))
            }
        }
    }

    /// The filled text of a web address: see [`FilledAddress`].
    ///
    /// # Errors
    /// As [`Compiled::fill`]; and when a value would lead to another path than the one that is written.
    pub fn fill_address(&self, scope: &Scope) -> Result<FilledAddress, FillError> {
        let mut filling = Filling::new(scope);
        let mut output = Output::address(AddressRules::default());
        let filled = match &*self.form {
            CompiledForm::Plain(text) => output.push(text.as_str().unwrap_or_default()),
            CompiledForm::Template(nodes) => filling.statements(nodes, &mut output),
            CompiledForm::Expression(expression) => filling.value(expression).and_then(|value| {
                output.comes_from(expression);
                output.print(&value)
            }),
        };
        filled.and_then(|()| output.into_address()).map_err(|stop| {
            let span = if filling.at == (0, 0) { self.place.span } else { self.place.inside(filling.at.0, filling.at.1) };
            FillError::new(stop, Some(span))
        })
    }

    /// The filled value of a condition.
    ///
    /// # Errors
    /// As [`Compiled::fill`]; and when the value is neither true nor false.
    pub fn fill_condition(&self, scope: &Scope) -> Result<bool, FillError> {
        let value = self.fill(scope)?;
        bool::try_from(value.clone()).map_err(|_| {
            let message = format!("a condition must give true or false; this gave {}", kind_and_value(&value));
            FillError::new(Stop::failed(message), Some(self.place.span))
        })
    }

    /// What was made of the text.
    pub(super) fn form(&self) -> &CompiledForm {
        &self.form
    }

    fn template(&self, nodes: &[Node], scope: &Scope) -> Result<String, FillError> {
        let (mut filling, mut output) = (Filling::new(scope), Output::default());
        match filling.statements(nodes, &mut output) {
            Ok(()) => Ok(output.into_text()),
            Err(stop) => Err(FillError::new(stop, Some(self.place.inside(filling.at.0, filling.at.1)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template;

    #[test]
    fn a_sound_text_is_read_once_and_every_copy_of_it_shares_what_was_read() {
        let mut found = vec![];
        for text in [
            template::text("{{ inputs.a }}", Place::default(), &mut found),
            template::text("Hi {{ inputs.a }}\n", Place::default(), &mut found),
            template::expression("inputs.a > 1", Place::default(), &mut found),
        ] {
            let (Some(kept), copy) = (ready::get(&text), text.clone()) else { panic!("{text:?}") };
            let (Ok(one), Ok(other)) = (compile(&text), compile(&copy)) else { panic!("{text:?}") };
            assert!(Arc::ptr_eq(&kept, &one.form) && Arc::ptr_eq(&one.form, &other.form), "{text:?}");
        }
        assert!(found.is_empty());
    }

    #[test]
    fn of_a_text_with_a_mistake_nothing_is_kept() {
        for source in ["{{ a | nope }}", "{{ a", "{% set a = 1 %}"] {
            let text = template::text(source, Place::default(), &mut vec![]);
            assert!(ready::get(&text).is_none() && compile(&text).is_err(), "{source}");
        }
    }
}
