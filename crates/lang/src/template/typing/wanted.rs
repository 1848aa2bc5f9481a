//! What to write where a value of another type is wanted.

use super::super::filters::{FilterInput, FirstArgument};
use super::super::tree::{Expr, FilterArguments};
use super::super::types::Type;

/// How a text becomes a list.
pub fn split_help(path: &str) -> String {
    format!("write {path} | split(',') if commas separate its parts, or {path} | split if blanks do")
}

/// What an author most likely wanted where another type is.
#[derive(Clone, Copy)]
pub(super) enum WantedType {
    List,
    Number,
    Condition,
    Other,
}

impl WantedType {
    pub(super) fn from_input(takes: FilterInput) -> WantedType {
        match takes {
            FilterInput::Elements | FilterInput::Numbers | FilterInput::Rows => WantedType::List,
            FilterInput::Number => WantedType::Number,
            FilterInput::Anything
            | FilterInput::Printable
            | FilterInput::Text
            | FilterInput::Moment
            | FilterInput::Json
            | FilterInput::Sequence
            | FilterInput::Counted
            | FilterInput::Pairs
            | FilterInput::Numeral => WantedType::Other,
        }
    }

    pub(super) fn help(self, shown: &str, kind: &Type) -> String {
        match (self, kind) {
            (WantedType::Condition, kind) if kind.is_text() => format!("compare it, as in: {shown} != \"\""),
            (WantedType::Condition, kind) if kind.is_number() => format!("compare it, as in: {shown} > 0"),
            (WantedType::Condition, Type::List(_) | Type::Object(_)) => format!("ask how long it is, as in: {shown} | length > 0"),
            (WantedType::List, kind) if kind.is_text() => split_help(shown),
            (WantedType::Number, kind) if kind.is_text() => format!("turn it into a number: {shown} | float"),
            (_, Type::List(_)) => format!("write {shown} | join(', ') for one text of all, or {shown} | first for the first of them"),
            (_, Type::Object(_)) => "name one of its fields".to_owned(),
            _ => "name another value".to_owned(),
        }
    }
}

/// What the first argument of a filter is, as far as its text says.
pub(super) fn first_argument(arguments: &FilterArguments) -> FirstArgument<'_> {
    match arguments.first() {
        None | Some(None) => FirstArgument::Missing,
        Some(Some(Expr::Constant(value))) => FirstArgument::Written(value),
        Some(Some(_)) => FirstArgument::Computed,
    }
}
