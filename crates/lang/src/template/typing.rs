//! What an expression gives, and which of its parts cannot work, as far as types are known before a run. What [`super::eval`] would do with a
//! value decides: what it always stops at is a problem.

mod alternatives;
mod bounds;
mod fields;
mod joined;
mod letters;
mod operations;
mod presence;
mod wanted;
mod words;

use std::sync::Arc;

use crate::diagnostic::Near;
use crate::model::{Form, Text};

use super::fill::compile;
use super::filters::{Filter, FilterInput, Gives};
use super::print::key_text;
use super::ready::CompiledForm;
use super::tree::{Expr, FilterArguments, For, LoopField, SourceRange, Statement, Test};
use super::types::{Object, Type};
use super::value::to_json;
use alternatives::alternative;
pub(crate) use letters::folded_letters;
pub(crate) use presence::PresenceTest;
pub use wanted::split_help;
use wanted::{WantedType, first_argument};
use words::{display, joining, shown_path};

/// What a text gives, and what is wrong in it.
#[derive(Debug)]
pub(crate) struct TextTyping {
    /// What it gives.
    pub(crate) kind: Type,
    /// What cannot work.
    pub(crate) problems: Vec<TypeProblem>,
}

/// A part of an expression that cannot work.
#[derive(Debug)]
pub(crate) struct TypeProblem {
    /// The statement that it is in, in bytes of the source; `None`: the whole text.
    pub(crate) at: Option<SourceRange>,
    /// The path that it is about.
    pub(crate) path: Option<Vec<String>>,
    /// What is wrong.
    pub(crate) kind: TypeProblemKind,
    /// Whether a number is wanted where a text is.
    pub(crate) takes_number: bool,
}

/// What is wrong with a part of an expression.
#[derive(Debug)]
pub(crate) enum TypeProblemKind {
    /// A value of another type than a filter, an operator or a condition takes.
    Mismatch(String, String),
    /// Two sides that are never equal, or cannot be ordered.
    Comparison(String, String, Near),
    /// A comparison that every value meets: what it says, and what to write. Told where rounds end with it.
    Always(String, String),
    /// `default` behind what is always there, or a count of what is the same in each run: what is wrong, and what to write.
    Pointless(PointlessFilter, String, String),
    /// A field that the value of a loop or a filter does not have: what owns it, the field, and what that is.
    Field(String, String, FieldOwner),
    /// A field of an element of a loop through the names of an object: the path of the object, and the field.
    FieldOfName(Vec<String>, String),
    /// A field that may be missing: what owns it, the field, and what asks for it.
    MaybeMissing(String, String, FieldAsker),
    /// Whether the path is there is asked. It may be a name that is always there: types do not tell.
    Presence(PresenceTest),
    /// Whether an element of a `for_each` has this field, which all have: what to compare its status with.
    PresenceInElement(String, &'static str),
    /// Whether a field is there is asked of elements that all have it: what it says, and what to write.
    AlwaysThere(String, String),
}

/// What asks each element of a list for a field, and stops where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldAsker {
    /// A path below a loop variable or a filter.
    Path,
    /// `map(attribute=…)`.
    Map,
    /// Another filter that goes by a field.
    Filter(&'static str),
}

/// What has no field of some name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldOwner {
    /// A value with these fields.
    Object(Arc<Object>),
    /// A number that is written in the text.
    Number(usize),
    /// A value without fields.
    Value,
}

/// A filter that gives the same in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointlessFilter {
    /// `default` behind what is always there.
    Default,
    /// `length` of an object whose fields are known.
    Length,
}

/// Works out what a text gives. `of` says what a path is; [`Type::Any`] where that is not known. In a `condition` all that `and` and `or` join must be
/// true or false.
pub(crate) fn typed(text: &Text, condition: bool, of: &dyn Fn(&[String]) -> Type) -> TextTyping {
    let mut typing = TypingWalk {
        of,
        locals: vec![],
        loops: vec![],
        names_of: vec![],
        at: None,
        asked: vec![],
        defined: vec![],
        is_guarded: false,
        problems: vec![],
    };
    let Ok(compiled) = (match text.form {
        Form::Plain => return TextTyping { kind: Type::Text, problems: vec![] },
        Form::Bare | Form::Sole | Form::Template => compile(text),
    }) else {
        return TextTyping { kind: Type::Any, problems: vec![] };
    };
    let kind = match compiled.form() {
        CompiledForm::Plain(_) => Type::Text,
        CompiledForm::Template(nodes) => {
            typing.statements(nodes);
            Type::Text
        }
        CompiledForm::Expression(expression) if condition => typing.strict_condition(expression),
        CompiledForm::Expression(expression) => typing.expression(expression),
    };
    TextTyping { kind, problems: typing.problems }
}

struct TypingWalk<'a> {
    of: &'a dyn Fn(&[String]) -> Type,
    locals: Vec<Type>,
    /// What the elements of each loop around are.
    loops: Vec<Type>,
    /// Elements that are names of an object: which of `locals`, and the object.
    names_of: Vec<(usize, Vec<String>)>,
    at: Option<SourceRange>,
    /// Paths whose type a condition around has asked for: what is written below may be for another one.
    asked: Vec<Vec<String>>,
    /// Fields of loop variables of which a condition around has asked whether they are there.
    defined: Vec<(usize, Vec<String>)>,
    /// Whether a `default` stands behind the path that is looked at.
    is_guarded: bool,
    problems: Vec<TypeProblem>,
}

impl TypingWalk<'_> {
    fn statements(&mut self, nodes: &[Statement]) {
        for node in nodes {
            match node {
                Statement::Raw(_) => {}
                Statement::Print(expression, at) => {
                    self.at = Some(*at);
                    self.expression(expression);
                }
                Statement::If(branches, otherwise) => {
                    let asked = self.noted();
                    for branch in branches {
                        self.at = Some(branch.at);
                        self.condition(&branch.condition);
                        self.ask(&branch.condition);
                        self.statements(&branch.body);
                    }
                    self.statements(otherwise);
                    self.forget(asked);
                }
                Statement::For(repeat) => self.repeat(repeat),
            }
        }
    }

    fn repeat(&mut self, repeat: &For) {
        self.at = Some(repeat.at);
        let element = self.elements(&repeat.list, "for goes through a list");
        let before = self.locals.len();
        let names_of = match self.expression_of_names(&repeat.list) {
            Some(path) if repeat.names == 1 => Some((before, path)),
            _ => None,
        };
        self.names_of.extend(names_of);
        match (repeat.names, &element) {
            (1, element) => self.locals.push(element.clone()),
            (names, Type::List(of)) => self.locals.extend(std::iter::repeat_n((**of).clone(), names)),
            (names, _) => self.locals.extend(std::iter::repeat_n(Type::Any, names)),
        }
        let asked = self.noted();
        if let Some(condition) = &repeat.condition {
            self.condition(condition);
            self.ask(condition);
        }
        self.loops.push(element);
        self.statements(&repeat.body);
        self.loops.pop();
        self.forget(asked);
        self.locals.truncate(before);
        self.names_of.retain(|(index, _)| *index < before);
        self.statements(&repeat.otherwise);
    }

    /// The path of a list that is an object, whose names a loop goes through.
    fn expression_of_names(&self, list: &Expr) -> Option<Vec<String>> {
        let path = list.names()?;
        matches!((self.of)(&path), Type::Object(_)).then_some(path)
    }

    /// What conditions have asked for so far.
    fn noted(&self) -> (usize, usize) {
        (self.asked.len(), self.defined.len())
    }

    fn forget(&mut self, (asked, defined): (usize, usize)) {
        self.asked.truncate(asked);
        self.defined.truncate(defined);
    }

    /// Notes the paths whose type a condition asks for: `x is string`; and those of loop variables of which it asks whether they are there.
    fn ask(&mut self, condition: &Expr) {
        if let Expr::Defined(value) | Expr::Test(Test::Defined | Test::Undefined, value, _) = condition {
            self.defined.extend(value.local_names());
        }
        if let Expr::Test(Test::Number | Test::String | Test::Boolean | Test::Sequence | Test::Mapping, value, _) = condition {
            self.asked.extend(value.names());
        }
        condition.parts().into_iter().for_each(|part| self.ask(part));
    }

    /// What the elements of a list are; of an object its keys are meant.
    fn elements(&mut self, list: &Expr, takes: &str) -> Type {
        match self.expression(list) {
            Type::List(element) => (*element).clone(),
            Type::Object(_) => Type::Text,
            Type::Any | Type::Empty => Type::Any,
            kind @ (Type::Text | Type::OneOf(_) | Type::Date | Type::Number | Type::Within(_) | Type::Boolean) => {
                self.mismatch(list, takes, &kind, WantedType::List);
                Type::Any
            }
        }
    }

    /// A condition that must give true or false, and not only something that counts as true: both sides of `and` and `or` may be what it gives.
    fn strict_condition(&mut self, expression: &Expr) -> Type {
        match expression {
            Expr::And(left, right) | Expr::Or(left, right) => {
                let asked = self.noted();
                self.ask(left);
                for side in [left, right] {
                    let kind = self.strict_condition(side);
                    if !matches!(kind, Type::Any | Type::Empty | Type::Boolean) && !self.alone(side, expression) {
                        let what = format!("both sides of \"{}\" must be true or false", joining(expression));
                        self.mismatch(side, &what, &kind, WantedType::Condition);
                    }
                }
                self.forget(asked);
                self.joined(expression);
                Type::Boolean
            }
            other => self.expression(other),
        }
    }

    /// A condition for which each value counts as true or false.
    fn condition(&mut self, expression: &Expr) {
        match expression {
            Expr::And(left, right) | Expr::Or(left, right) => {
                let asked = self.noted();
                self.ask(left);
                for side in [left, right] {
                    self.condition(side);
                    self.alone(side, expression);
                }
                self.forget(asked);
                self.joined(expression);
            }
            Expr::Not(inner) if !presence::is_asked(inner) => self.condition(inner),
            other => drop(self.expression(other)),
        }
    }

    fn push(&mut self, about: &Expr, kind: TypeProblemKind) {
        self.push_for(false, about, kind);
    }

    fn push_for(&mut self, takes_number: bool, about: &Expr, kind: TypeProblemKind) {
        self.problems.push(TypeProblem { at: self.at, path: about.names(), kind, takes_number });
    }

    /// `what` takes another value than this.
    fn mismatch(&mut self, about: &Expr, what: &str, kind: &Type, wanted: WantedType) {
        let shown = display(about);
        let message = format!("{what}; {shown} is {}", kind.words());
        let help = wanted.help(&shown_path(about).unwrap_or_default(), kind);
        let takes_number = matches!(wanted, WantedType::Number) && kind.is_text();
        self.push_for(takes_number, about, TypeProblemKind::Mismatch(message, help));
    }

    fn expression(&mut self, expression: &Expr) -> Type {
        if let Some(names) = expression.names() {
            let is_asked = self.asked.iter().any(|asked| names.starts_with(asked));
            return if is_asked { Type::Any } else { (self.of)(&names) };
        }
        let is_guarded = std::mem::take(&mut self.is_guarded);
        match expression {
            Expr::Constant(value) => to_json(value).map_or(Type::Any, |value| Type::of_value(&value)),
            Expr::Global(_) | Expr::Missing => Type::Any,
            Expr::Local(index) => self.locals.get(*index).cloned().unwrap_or(Type::Any),
            Expr::Loop(index, field) => self.loop_field(*index, *field),
            Expr::Attribute(base, name) => {
                self.is_guarded = is_guarded;
                let kind = self.expression(base);
                self.may_lack(expression, base, &kind, name, is_guarded);
                self.field(base, kind, name)
            }
            Expr::Item(base, key) => self.item(expression, base, key, is_guarded),
            Expr::Slice(base, bounds) => self.slice(base, bounds),
            Expr::Not(inner) => {
                match presence::is_asked(inner) {
                    true => self.presence(inner, true),
                    false => self.condition(inner),
                }
                Type::Boolean
            }
            Expr::Negative(inner) => {
                let kind = self.expression(inner);
                if !(kind.is_open() || kind.is_number()) {
                    self.mismatch(inner, "\"-\" takes a number", &kind, WantedType::Number);
                }
                Type::Number
            }
            Expr::And(left, right) | Expr::Or(left, right) => self.one_side(expression, left, right),
            Expr::Arithmetic(operator, left, right) => self.calculation(*operator, left, right),
            Expr::Concatenate(left, right) => {
                drop([left, right].map(|side| self.expression(side)));
                Type::Text
            }
            Expr::Compare(first, rest) => {
                let mut left = (&**first, self.expression(first));
                for (comparison, right) in rest {
                    let right = (right, self.expression(right));
                    self.compare(*comparison, &left, &right);
                    left = right;
                }
                Type::Boolean
            }
            Expr::If(both, otherwise) => self.choice(both, otherwise.as_deref()),
            Expr::List(items) => {
                let kinds: Vec<Type> = items.iter().map(|item| self.expression(item)).collect();
                Type::list(kinds.into_iter().reduce(Type::same).unwrap_or(Type::Any))
            }
            Expr::Map(pairs) => self.object(pairs),
            Expr::Range(arguments) => {
                arguments.iter().flatten().for_each(|argument| drop(self.expression(argument)));
                Type::list(Type::Number)
            }
            Expr::Filter(filter, value, arguments) => {
                let kind = self.expression(value);
                self.filtered(filter, value, kind, arguments)
            }
            Expr::Default(value, arguments) => self.default(value, arguments),
            Expr::Defined(_) | Expr::Test(Test::None, ..) => {
                self.presence(expression, false);
                Type::Boolean
            }
            Expr::Test(test, value, other) => {
                let value = (&**value, self.expression(value));
                if let (Some(comparison), Some(other)) = (test.comparison(), other) {
                    let other = (&**other, self.expression(other));
                    self.compare(comparison, &value, &other);
                }
                Type::Boolean
            }
            Expr::MapFilter(filter, list, arguments) => self.each_filtered(filter, list, arguments),
            Expr::MapAttribute(list, attribute, default) => self.each_field(list, attribute, default.as_deref()),
            Expr::Select { keep, list, attribute, test } => self.select(*keep, list, attribute, test.as_ref()),
        }
    }

    fn loop_field(&self, index: usize, field: LoopField) -> Type {
        match field {
            LoopField::Index | LoopField::RevIndex | LoopField::Length => Type::within(Some(1.0), None),
            LoopField::Index0 | LoopField::RevIndex0 => Type::within(Some(0.0), None),
            LoopField::First | LoopField::Last => Type::Boolean,
            LoopField::PrevItem | LoopField::NextItem => self.loops.get(index).cloned().unwrap_or(Type::Any),
        }
    }

    fn item(&mut self, whole: &Expr, base: &Expr, key: &Expr, is_guarded: bool) -> Type {
        self.is_guarded = is_guarded;
        let kind = self.expression(base);
        self.expression(key);
        if let Expr::Constant(name) = key {
            self.may_lack(whole, base, &kind, &key_text(name), is_guarded);
        }
        match (&kind, key) {
            (Type::Object(_), Expr::Constant(name)) if name.as_str().is_some() => self.field(base, kind, &key_text(name)),
            (Type::List(element), Expr::Constant(place)) if place.is_integer() => (**element).clone(),
            _ => Type::Any,
        }
    }

    fn slice(&mut self, base: &Expr, bounds: &[Option<Box<Expr>>]) -> Type {
        bounds.iter().flatten().for_each(|bound| drop(self.expression(bound)));
        match self.expression(base) {
            Type::OneOf(_) | Type::Date => Type::Text,
            kind @ (Type::List(_) | Type::Text) => kind,
            Type::Any | Type::Empty => Type::Any,
            kind @ (Type::Number | Type::Within(_) | Type::Boolean | Type::Object(_)) => {
                self.mismatch(base, "[from:to] takes a part of a list or a text", &kind, WantedType::Other);
                Type::Any
            }
        }
    }

    fn object(&mut self, pairs: &[(Expr, Expr)]) -> Type {
        let mut fields = vec![];
        let mut is_whole = true;
        for (key, value) in pairs {
            let kind = self.expression(value);
            match key {
                Expr::Constant(name) => fields.push((key_text(name), kind)),
                _ => is_whole = false,
            }
        }
        let fields = fields.iter().map(|(name, kind)| (name.as_str(), kind.clone()));
        if is_whole { Type::object(fields) } else { Type::open_object(fields) }
    }

    fn default(&mut self, value: &Expr, arguments: &FilterArguments) -> Type {
        self.is_guarded = true;
        let kind = self.expression(value);
        self.is_guarded = false;
        self.default_of_cell(value, arguments);
        let other = arguments.first().and_then(Option::as_ref);
        let other = other.map_or_else(|| Type::one_of([""]), |other| alternative(other, self.expression(other)));
        either(vec![kind, other])
    }

    fn each_filtered(&mut self, filter: &'static Filter, list: &Expr, arguments: &FilterArguments) -> Type {
        let element = self.elements(list, "the filter map takes a list");
        self.given_to(filter, arguments);
        Type::list(match filter.gives.result_type(&element, first_argument(arguments)) {
            _ if !filter.takes.accepts(&element) => {
                let what = format!("the filter {} takes {}", filter.name, filter.takes.words());
                let message = format!("{what}; each element of {} is {}", display(list), element.words());
                self.push(list, TypeProblemKind::Mismatch(message, "name another list, or convert its elements".to_owned()));
                Type::Any
            }
            kind => kind,
        })
    }

    fn each_field(&mut self, list: &Expr, attribute: &Expr, default: Option<&Expr>) -> Type {
        let element = self.elements(list, "the filter map takes a list");
        let default = default.map(|default| self.expression(default));
        let asker = default.is_none().then_some(FieldAsker::Map);
        let kind = self.named_field(list, element, attribute, asker);
        Type::list(either([Some(kind), default].into_iter().flatten().collect()))
    }

    fn select(&mut self, keep: bool, list: &Expr, attribute: &Expr, test: Option<&(Test, Option<Box<Expr>>)>) -> Type {
        let takes = format!("the filter {} takes a list", if keep { "selectattr" } else { "rejectattr" });
        let element = self.elements(list, &takes);
        let asks_whether = test.is_none_or(|(test, _)| matches!(test, Test::Defined | Test::Undefined));
        let asker = (!asks_whether).then_some(FieldAsker::Filter(if keep { "selectattr" } else { "rejectattr" }));
        let field = self.named_field(list, element.clone(), attribute, asker);
        if let (Some((test, _)), true) = (test, asks_whether) {
            self.presence_in_each(list, &element, attribute, keep == (*test == Test::Defined));
        }
        if let Some((test, Some(other))) = test {
            let other = (&**other, self.expression(other));
            let name = if let Expr::Constant(name) = attribute { key_text(name) } else { String::new() };
            // What each element has under this name.
            let own = Expr::Attribute(Box::new(Expr::Local(usize::MAX)), name.into());
            if let Some(comparison) = test.comparison() {
                self.compare(comparison, &(&own, field), &other);
            }
        }
        let is_there = match test {
            None | Some((Test::Defined, _)) => keep,
            Some((Test::Undefined, _)) => !keep,
            Some(_) => false,
        };
        Type::list(if is_there { fields::having(element, attribute) } else { element })
    }

    fn one_side(&mut self, whole: &Expr, left: &Expr, right: &Expr) -> Type {
        let left_kind = self.expression(left);
        let asked = self.noted();
        self.ask(left);
        let kinds = vec![left_kind, self.expression(right)];
        self.forget(asked);
        self.joined(whole);
        either(kinds)
    }

    fn choice(&mut self, both: &[Expr; 2], otherwise: Option<&Expr>) -> Type {
        let [condition, yes] = both;
        self.condition(condition);
        let asked = self.noted();
        self.ask(condition);
        let yes = alternative(yes, self.expression(yes));
        let no = otherwise.map_or(Type::Empty, |no| alternative(no, self.expression(no)));
        self.forget(asked);
        either(vec![yes, no])
    }

    /// What a filter is given behind its name. What is written out was looked at when the text was read.
    fn given_to(&mut self, filter: &'static Filter, arguments: &FilterArguments) {
        for (index, argument) in arguments.iter().enumerate() {
            let Some(argument) = argument else { continue };
            let kind = self.expression(argument);
            if index == 0 && !filter.first.accepts(&kind) && !matches!(argument, Expr::Constant(_)) {
                let name = filter.parameters.first().copied().unwrap_or_default();
                let what = format!("{name} of the filter {} is {}", filter.name, filter.first.words());
                self.mismatch(argument, &what, &kind, WantedType::from_input(filter.first));
            }
        }
    }

    fn filtered(&mut self, filter: &'static Filter, value: &Expr, kind: Type, arguments: &FilterArguments) -> Type {
        self.given_to(filter, arguments);
        if !filter.takes.accepts(&kind) {
            let what = format!("the filter {} takes {}", filter.name, filter.takes.words());
            self.mismatch(value, &what, &kind, WantedType::from_input(filter.takes));
            return filter.gives.result_type(&Type::Any, first_argument(arguments));
        }
        if let (Type::Object(object), Gives::Count) = (&kind, filter.gives)
            && !object.is_open
            && !object.is_of_file
            && object.fields.values().all(|member| !member.is_optional)
        {
            let shown = display(value);
            let message = format!("length counts the fields of {shown}, of which there are always {}", object.fields.len());
            let help = match object.fields.contains_key("text") {
                true => format!("write {shown}.text | length"),
                false => "name the field that is meant".to_owned(),
            };
            self.push(value, TypeProblemKind::Pointless(PointlessFilter::Length, message, help));
        }
        let attribute = filter.argument(arguments, "attribute");
        if let (Type::List(element), true) = (&kind, filter.takes == FilterInput::Numbers || attribute.is_some()) {
            let judged = match attribute {
                Some(attribute) => {
                    let asker = filter.argument(arguments, "default").is_none().then_some(FieldAsker::Filter(filter.name));
                    self.named_field(value, (**element).clone(), attribute, asker)
                }
                None => (**element).clone(),
            };
            if filter.takes == FilterInput::Numbers && !(judged.is_open() || judged.is_number()) {
                let (what, shown) = (format!("the filter {} adds numbers", filter.name), display(value));
                let message = format!("{what}; each element of {shown} is {}", judged.words());
                let help = match (judged.is_text(), attribute) {
                    (true, None) => match shown_path(value) {
                        Some(path) => format!("write {path} | map(\"float\") | {}", filter.name),
                        None => format!("write | map(\"float\") before | {}", filter.name),
                    },
                    _ => match (&judged, shown_path(value)) {
                        (Type::Object(object), Some(path)) => {
                            let names: Vec<&str> = object.fields.keys().map(String::as_str).collect();
                            let first = object.fields.iter().find(|(_, member)| member.kind.is_number()).map(|(name, _)| name.as_str());
                            let name = first.or(names.last().copied()).unwrap_or("NAME");
                            format!(
                                "write {path} | map(attribute='{name}') | {}, with the name of a field: {}",
                                filter.name,
                                names.join(", ")
                            )
                        }
                        _ => "name a list of numbers, or a field that is one: sum(attribute='hours')".to_owned(),
                    },
                };
                self.push(value, TypeProblemKind::Mismatch(message, help));
            }
        }
        filter.gives.result_type(&kind, first_argument(arguments))
    }
}

fn either(kinds: Vec<Type>) -> Type {
    // What may be anything stays so.
    if kinds.contains(&Type::Any) { Type::Any } else { Type::either(kinds).unwrap_or(Type::Any) }
}
