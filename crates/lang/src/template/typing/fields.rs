//! Fields of values that no path names: of loop variables, of the elements of a list.

use std::sync::Arc;

use super::super::print::key_text;
use super::super::tree::{Expr, FilterArguments};
use super::super::types::Type;
use super::words::{display, shown_path};
use super::{FieldAsker, FieldOwner, PointlessFilter, TypeProblem, TypeProblemKind, TypingWalk};

impl TypingWalk<'_> {
    /// A field that a value which no path names need not have.
    pub(super) fn may_lack(&mut self, whole: &Expr, base: &Expr, kind: &Type, name: &str, is_guarded: bool) {
        let Type::Object(object) = kind else { return };
        if is_guarded || !object.fields.get(name).is_some_and(|member| member.is_optional) {
            return;
        }
        let own = whole.local_names();
        let is_asked =
            own.is_some_and(|(place, names)| self.defined.iter().any(|(local, asked)| *local == place && names.starts_with(asked)));
        if !is_asked {
            let owner = match base {
                Expr::Local(_) => "an element of the loop".to_owned(),
                base => format!("the value of {}", display(base)),
            };
            self.push(base, TypeProblemKind::MaybeMissing(owner, name.to_owned(), FieldAsker::Path));
        }
    }

    /// `row.phone | default("none")`: a cell of a row is always there, and empty at most.
    pub(super) fn default_of_cell(&mut self, value: &Expr, arguments: &FilterArguments) {
        let (Expr::Attribute(base, name), [Some(_)] | [Some(_), None]) = (value, arguments.as_slice()) else { return };
        let Expr::Local(index) = **base else { return };
        let Some(Type::Object(row)) = self.locals.get(index) else { return };
        if !row.is_open && row.fields.get(&**name).is_some_and(|cell| !cell.is_optional && cell.kind == Type::Any) {
            let message = format!("default never applies: each row has \"{name}\", which is empty at most");
            let other = arguments.first().and_then(Option::as_ref).map_or_else(|| "''".to_owned(), display);
            let help = format!("write default({other}, true) in place of default({other}): it also takes the place of an empty value");
            self.push(value, TypeProblemKind::Pointless(PointlessFilter::Default, message, help));
        }
    }

    /// The field of a value that no path names.
    pub(super) fn field(&mut self, base: &Expr, kind: Type, name: &str) -> Type {
        let known = match &kind {
            Type::Any | Type::Empty => return Type::Any,
            Type::Object(object) => match object.fields.get(name) {
                Some(member) => return member.kind.clone(),
                None if object.is_open => return Type::Any,
                None => FieldOwner::Object(Arc::clone(object)),
            },
            Type::Text | Type::OneOf(_) | Type::Date | Type::Number | Type::Within(_) | Type::Boolean | Type::List(_) => match base {
                Expr::Constant(value) if let Some(number) = value.as_usize() => FieldOwner::Number(number),
                _ => FieldOwner::Value,
            },
        };
        if let (Expr::Local(index), true) = (base, kind.is_text())
            && let Some((_, path)) = self.names_of.iter().find(|(local, _)| local == index)
        {
            let kind = TypeProblemKind::FieldOfName(path.clone(), name.to_owned());
            self.problems.push(TypeProblem { at: self.at, path: None, kind, takes_number: false });
            return Type::Any;
        }
        let owner = match base {
            Expr::Local(_) => "the element of the loop".to_owned(),
            base => display(base),
        };
        let owner = if matches!(known, FieldOwner::Object(_)) { owner } else { format!("{owner} is {} and", kind.words()) };
        self.push(base, TypeProblemKind::Field(owner, name.to_owned(), known));
        Type::Any
    }

    /// The field of each element, where it is written out.
    pub(super) fn named_field(&mut self, list: &Expr, element: Type, attribute: &Expr, asker: Option<FieldAsker>) -> Type {
        let Expr::Constant(name) = attribute else { return Type::Any };
        let Some(path) = name.as_str() else { return Type::Any };
        let mut kind = element;
        for name in path.split('.') {
            let Type::Object(object) = &kind else { return Type::Any };
            kind = match object.fields.get(name) {
                Some(member) => {
                    if let Some(asker) = asker.filter(|_| member.is_optional) {
                        let owner = format!("an element of {}", list_words(list));
                        self.push(list, TypeProblemKind::MaybeMissing(owner, path.to_owned(), asker));
                        return member.kind.clone();
                    }
                    member.kind.clone()
                }
                None if object.is_open => Type::Any,
                None => {
                    let owner = format!("each element of {}", display(list));
                    let rest = path.get(path.find(name).unwrap_or(0)..).unwrap_or(path);
                    self.push(list, TypeProblemKind::Field(owner, rest.to_owned(), FieldOwner::Object(Arc::clone(object))));
                    return Type::Any;
                }
            };
        }
        kind
    }
}

/// The list that others are a part of, as it is written.
fn list_words(list: &Expr) -> String {
    match list {
        Expr::Select { list, .. } | Expr::Filter(_, list, _) | Expr::Slice(list, _) | Expr::Default(list, _) => list_words(list),
        other => shown_path(other).unwrap_or_else(|| "the list".to_owned()),
    }
}

/// An object that has this field for sure.
pub(super) fn having(element: Type, attribute: &Expr) -> Type {
    let (Type::Object(object), Expr::Constant(name)) = (&element, attribute) else { return element };
    let mut object = (**object).clone();
    if let Some(member) = object.fields.get_mut(&key_text(name)) {
        member.is_optional = false;
    }
    Type::Object(Arc::new(object))
}
