//! A compiled text, and filling it.

use std::sync::Arc;

use crate::model::{Form, Read, Root, Text, TextPlace};

use super::Value;
use super::build;
use super::eval::{Evaluation, Sink};
use super::filled_address::{AddressOutput, FilledAddress};
use super::print::{PrintedText, kind_and_value, printed};
use super::problem::TemplateProblem;
use super::ready::{self, CompiledForm};
use super::scope::Scope;
use super::stop::{FillError, FillStop};
use super::tree::{Expr, Statement};
use super::value::is_nothing;

/// A text that is ready to be filled, as often as wanted.
#[derive(Debug, Clone)]
pub struct Compiled<'t> {
    form: Arc<CompiledForm>,
    text: &'t Text,
}

/// Makes a text ready to be filled: once per text, since this is dear and filling is cheap. What [`super::text`] and
/// [`super::expression`] found sound is ready.
///
/// # Errors
/// Everything that [`super::text`] and [`super::expression`] report; so never for a text that was checked without findings.
pub fn compile(text: &Text) -> Result<Compiled<'_>, FillError> {
    if let Some(form) = ready::get(text) {
        return Ok(Compiled { form, text });
    }
    let failed = |problem: TemplateProblem| problem.stops(&text.place);
    let form = match text.form {
        Form::Plain => CompiledForm::Plain(Value::from(text.source.clone())),
        Form::Bare => CompiledForm::Expression(sound(build::expression(&text.source).map_err(failed)?, &text.place)?),
        Form::Template | Form::Sole => {
            let nodes = sound(build::template(&text.source).map_err(failed)?, &text.place)?;
            let not_one = || failed(TemplateProblem::syntax((0, text.source.len()), "this text is not one {{ … }}"));
            CompiledForm::from_nodes(text.form, nodes).ok_or_else(not_one)?
        }
    };
    Ok(Compiled { form: ready::keep(text, form), text })
}

fn sound<T>(built: build::Built<T>, place: &TextPlace) -> Result<T, FillError> {
    match built.problems.into_iter().next() {
        Some(problem) => Err(problem.stops(place)),
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
            CompiledForm::Expression(expression) => Evaluation::new(scope).value(expression).map_err(|stop| self.stopped(stop, scope)),
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
                printed(&value).map_err(|stop| self.stopped(stop, scope))
            }
        }
    }

    /// The filled text of a web address: see [`FilledAddress`].
    ///
    /// # Errors
    /// As [`Compiled::fill`]; and when a value would lead to another path than the one that is written.
    pub fn fill_address(&self, scope: &Scope) -> Result<FilledAddress, FillError> {
        let mut filling = Evaluation::new(scope);
        let mut output = AddressOutput::default();
        let filled = match &*self.form {
            CompiledForm::Plain(text) => output.push(text.as_str().unwrap_or_default()),
            CompiledForm::Template(nodes) => filling.statements(nodes, &mut output),
            CompiledForm::Expression(expression) => filling.print(expression, &mut output),
        };
        filled
            .and_then(|()| output.into_address())
            .map_err(|stop| if filling.at == (0, 0) { self.stopped(stop, scope) } else { self.stopped_at(filling.at, stop, scope) })
    }

    /// The filled value of a condition. A name that holds nothing yet, such as `refinement` in the first round, counts as false; later it counts
    /// as true.
    ///
    /// # Errors
    /// As [`Compiled::fill`]; and when the value is neither true nor false.
    pub fn fill_condition(&self, scope: &Scope) -> Result<bool, FillError> {
        let value = self.fill(scope)?;
        let is_earlier = |name: &str| Root::parse(name).is_some_and(Root::is_earlier);
        let is_round = matches!(&*self.form, CompiledForm::Expression(Expr::Global(name)) if is_earlier(name));
        if is_round || is_nothing(&value) {
            return Ok(value.is_true());
        }
        bool::try_from(value.clone()).map_err(|_| {
            let message = format!("a condition must give true or false; this gave {}", kind_and_value(&value));
            self.stopped(FillStop::failed(message), scope)
        })
    }

    fn stopped_at(&self, (from, to): (usize, usize), stop: FillStop, scope: &Scope) -> FillError {
        FillError { span: Some(self.text.place.inside(from, to)), ..self.stopped(stop, scope) }
    }

    /// A reason quotes values, in whatever form they have by then, so beside a secret or a variable of the environment none is told, but that it is not set.
    fn stopped(&self, stop: FillStop, scope: &Scope) -> FillError {
        let is_kept = |read: &&Read| read.path.first().is_some_and(|root| root == "secrets" || root == "env");
        let kept = || self.text.reads.iter().filter(is_kept);
        let unset = kept().filter(|read| !read.is_guarded).find_map(|read| unset(read, scope));
        let told = match (kept().next(), unset) {
            (None, _) => stop,
            (Some(_), Some(what)) => FillStop::failed(what).help("set the variable, or name a file with --env-file".to_owned()),
            (Some(read), None) => {
                let message = "cannot be filled in; the reason may quote the value, so it is not shown";
                let told = FillStop::failed(format!("the text that reads {} {message}", read.path.join(".")));
                FillStop { is_too_large: stop.is_too_large, ..told }
            }
        };
        FillError::new(told, Some(self.text.place.span))
    }

    /// What was made of the text.
    pub(super) fn form(&self) -> &CompiledForm {
        &self.form
    }

    fn template(&self, nodes: &[Statement], scope: &Scope) -> Result<String, FillError> {
        let (mut filling, mut output) = (Evaluation::new(scope), PrintedText::default());
        match filling.statements(nodes, &mut output) {
            Ok(()) => Ok(output.into_text()),
            Err(stop) => Err(self.stopped_at(filling.at, stop, scope)),
        }
    }
}

/// What is not set of what a text reads: `secret KEY is not set`. Where nothing is known of secrets, it is another mistake.
fn unset(read: &Read, scope: &Scope) -> Option<String> {
    let [root, name, ..] = read.path.as_slice() else { return None };
    let is_unset = scope.value(root)?.get_attr(name).is_ok_and(|value| value.is_undefined());
    let kind = if root == "secrets" { "secret" } else { "variable" };
    is_unset.then(|| format!("{kind} {name} is not set"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template;

    #[test]
    fn a_sound_text_is_read_once_and_every_copy_of_it_shares_what_was_read() {
        let mut found = vec![];
        for text in [
            template::text("{{ inputs.a }}", TextPlace::default(), &mut found),
            template::text("Hi {{ inputs.a }}\n", TextPlace::default(), &mut found),
            template::expression("inputs.a > 1", TextPlace::default(), &mut found),
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
            let text = template::text(source, TextPlace::default(), &mut vec![]);
            assert!(ready::get(&text).is_none() && compile(&text).is_err(), "{source}");
        }
    }
}
