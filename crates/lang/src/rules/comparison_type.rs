//! F206: values of different types are compared, so they are never equal.

use super::names::PipelineNames;
use super::seat::{Seat, Texts};
use super::types::Type;
use super::{Code, Diagnostic, quoted};
use crate::template::{Side, comparisons};

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in texts.all.iter().filter(|placed| !placed.text.reads.is_empty()) {
        let seat = &texts.seats[placed.seat];
        for (left, right) in comparisons(placed.text) {
            let (one, other) = (kind(names, seat, &left), kind(names, seat, &right));
            let is_known = |kind: &Type| !matches!(kind, Type::Any | Type::Empty);
            if !is_known(&one) || !is_known(&other) || one.fits(&other) {
                continue;
            }
            let path = [&left, &right].into_iter().find_map(|side| if let Side::Path(path) = side { Some(path) } else { None });
            let read = placed.text.reads.iter().find(|read| Some(&read.path) == path);
            let span = read.map_or(placed.text.place.span, |read| read.span);
            let message = format!("this compares {} with {}", shown(&left, &one), shown(&right, &other));
            let help = match (&one, &other) {
                (Type::Number, Type::Text) | (Type::Text, Type::Number) => {
                    "write both as numbers (without quotes, or with | int), or both as texts"
                }
                (Type::Boolean, _) | (_, Type::Boolean) => "compare with true or false, without quotes",
                _ => "compare values of one type",
            };
            out.push(Diagnostic::new(Code::ComparisonType, span, message).help(help));
        }
    }
}

fn kind(names: &PipelineNames, seat: &Seat, side: &Side) -> Type {
    match side {
        Side::Path(path) => names.path(seat, path).unwrap_or(Type::Any),
        Side::Literal(value) => Type::of_value(value),
    }
}

fn shown(side: &Side, kind: &Type) -> String {
    match (side, kind) {
        (Side::Path(path), kind) => format!("{} ({})", path.join("."), kind.words()),
        (Side::Literal(value), Type::Text) => format!("the text {}", quoted(value.as_str().unwrap_or_default())),
        (Side::Literal(value), Type::Number) => format!("the number {value}"),
        (Side::Literal(value), Type::Boolean) => value.to_string(),
        (Side::Literal(_), kind) => kind.words().to_owned(),
    }
}
