//! Comparisons of one value that are joined by `and` and never hold together, or by `or` and of which one always holds.

use minijinja::machinery::ast::CompareOpKind;
use minijinja::value::Value;

use super::super::number::Number;
use super::super::tree::Expr;
use super::bounds::{mirrored, sign};
use super::words::{literal, shown_path};
use super::{TypeProblemKind, TypingWalk};
use crate::diagnostic::Near;

/// A value that is compared with one that is written.
struct ComparedName<'e> {
    path: String,
    comparison: CompareOpKind,
    value: &'e Value,
}

impl TypingWalk<'_> {
    /// Looks at the last part of `and` or `or` beside each before it.
    pub(super) fn joined(&mut self, whole: &Expr) {
        let (Expr::And(left, right) | Expr::Or(left, right)) = whole else { return };
        let is_and = matches!(whole, Expr::And(..));
        let Some(last) = compared(right) else { return };
        let mut before = &**left;
        loop {
            let (rest, part) = match (before, is_and) {
                (Expr::And(rest, part), true) | (Expr::Or(rest, part), false) => (Some(&**rest), &**part),
                (only, _) => (None, only),
            };
            if let Some(first) = compared(part).filter(|first| first.path == last.path) {
                self.beside(is_and, right, &first, &last);
            }
            match rest {
                Some(rest) => before = rest,
                None => break,
            }
        }
    }

    fn beside(&mut self, is_and: bool, about: &Expr, first: &ComparedName, last: &ComparedName) {
        let written = |one: &ComparedName| format!("{} {} {}", one.path, sign(one.comparison), literal(one.value));
        let (word, other) = if is_and { ("and", "or") } else { ("or", "and") };
        let pair = format!("{} {word} {}", written(first), written(last));
        let is_of_numbers = Number::from_value(first.value).is_some();
        let more = if is_of_numbers { ", or other numbers" } else { "" };
        let help = format!("write \"{other}\" in place of \"{word}\"{more}");
        if is_and && excludes(first, last) {
            self.push(about, TypeProblemKind::Comparison(format!("{pair} never holds: no value meets both"), help, Near::default()));
        } else if !is_and && excludes(&first.negated(), &last.negated()) {
            self.push(
                about,
                TypeProblemKind::Comparison(format!("{pair} always holds: every value meets one of them"), help, Near::default()),
            );
        }
    }
}

impl ComparedName<'_> {
    fn negated(&self) -> ComparedName<'_> {
        let comparison = match self.comparison {
            CompareOpKind::Eq => CompareOpKind::Ne,
            CompareOpKind::Ne => CompareOpKind::Eq,
            CompareOpKind::Lt => CompareOpKind::Gte,
            CompareOpKind::Lte => CompareOpKind::Gt,
            CompareOpKind::Gt => CompareOpKind::Lte,
            CompareOpKind::Gte => CompareOpKind::Lt,
            CompareOpKind::In => CompareOpKind::NotIn,
            CompareOpKind::NotIn => CompareOpKind::In,
        };
        ComparedName { path: self.path.clone(), comparison, value: self.value }
    }
}

/// A comparison of a name with what is written.
fn compared(part: &Expr) -> Option<ComparedName<'_>> {
    let Expr::Compare(first, rest) = part else { return None };
    let [(comparison, second)] = rest.as_slice() else { return None };
    match (&**first, second) {
        (Expr::Constant(value), name) => Some(ComparedName { path: shown_path(name)?, comparison: mirrored(*comparison), value }),
        (name, Expr::Constant(value)) => Some(ComparedName { path: shown_path(name)?, comparison: *comparison, value }),
        _ => None,
    }
}

/// Whether two comparisons of one value never hold together.
fn excludes(first: &ComparedName, last: &ComparedName) -> bool {
    use CompareOpKind::{Eq, Ne};
    let numbers = Number::from_value(first.value).zip(Number::from_value(last.value)).map(|(first, last)| (first.float(), last.float()));
    let same = match (first.value.as_str(), last.value.as_str(), numbers) {
        (Some(first), Some(last), _) => first == last,
        (None, None, Some((first, last))) => first == last,
        // Values of different types are told as such.
        _ => return false,
    };
    match (first.comparison, last.comparison, numbers) {
        (Eq, Ne, _) | (Ne, Eq, _) => same,
        (Eq, Eq, _) => !same,
        (one, other, Some((first, last))) => range(one, first).zip(range(other, last)).is_some_and(|(one, other)| one.is_apart(other)),
        _ => false,
    }
}

/// The numbers for which a comparison holds: each bound, and whether it belongs to them.
struct NumberRange {
    least: (f64, bool),
    most: (f64, bool),
}

fn range(comparison: CompareOpKind, number: f64) -> Option<NumberRange> {
    let open = f64::INFINITY;
    let (least, most) = match comparison {
        CompareOpKind::Eq => ((number, true), (number, true)),
        CompareOpKind::Lt => ((-open, false), (number, false)),
        CompareOpKind::Lte => ((-open, false), (number, true)),
        CompareOpKind::Gt => ((number, false), (open, false)),
        CompareOpKind::Gte => ((number, true), (open, false)),
        CompareOpKind::Ne | CompareOpKind::In | CompareOpKind::NotIn => return None,
    };
    Some(NumberRange { least, most })
}

impl NumberRange {
    fn is_apart(&self, other: NumberRange) -> bool {
        let is_below = |most: (f64, bool), least: (f64, bool)| most.0 < least.0 || most.0 == least.0 && !(most.1 && least.1);
        is_below(self.most, other.least) || is_below(other.most, self.least)
    }
}
