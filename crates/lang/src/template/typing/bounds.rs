//! Numbers of which it is declared how small and how large they can be, and what they are compared with.

use minijinja::machinery::ast::CompareOpKind;

use super::super::number::Number;
use super::super::tree::Expr;
use super::super::types::{NumberBounds, Type};
use super::words::{display, literal, shown_path};
use super::{TypeProblemKind, TypingWalk};
use crate::diagnostic::Near;

impl TypingWalk<'_> {
    /// A number that is compared with one that it never reaches.
    pub(super) fn within(&mut self, side: &Expr, kind: &Type, comparison: CompareOpKind, other: &Expr) {
        let (Type::Within(bounds), Expr::Constant(value)) = (kind, other) else { return };
        let Some(number) = Number::from_value(value).map(|number| number.float()) else { return };
        let NumberBounds { least, most } = *bounds;
        let (below, above) = (least.is_some_and(|least| number < least), most.is_some_and(|most| number > most));
        let at = |bound: Option<f64>| bound == Some(number);
        let (never, always) = match comparison {
            CompareOpKind::Eq => (below || above, false),
            CompareOpKind::Ne => (false, below || above),
            CompareOpKind::Lt => (below || at(least), above),
            CompareOpKind::Lte => (below, above || at(most)),
            CompareOpKind::Gt => (above || at(most), below),
            CompareOpKind::Gte => (above, below || at(least)),
            CompareOpKind::In | CompareOpKind::NotIn => return,
        };
        let (written, sign, number) = (display(side), sign(comparison), literal(value));
        let range = match (least, most) {
            (Some(least), Some(most)) => format!("from {least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(most)) => format!("{most} or less"),
            (None, None) => return,
        };
        let equal = match comparison {
            CompareOpKind::Lt if at(least) => Some("<="),
            CompareOpKind::Gt if at(most) => Some(">="),
            _ => None,
        };
        if never {
            let help = match equal {
                Some(equal) if shown_path(side).is_some() => format!("write {written} {equal} {number}, or compare it with another number"),
                _ => format!("compare it with a number that it can be: {range}"),
            };
            let message = format!("{written} {sign} {number} never holds: it is {range}");
            self.push(side, TypeProblemKind::Comparison(message, help, Near::default()));
        } else if always {
            let message = format!("{written} {sign} {number} always holds: it is {range}");
            let help = match (comparison, least, most) {
                (CompareOpKind::Gt | CompareOpKind::Gte, Some(least), _) => format!("compare it with a number above {least}"),
                (CompareOpKind::Lt | CompareOpKind::Lte, _, Some(most)) => format!("compare it with a number below {most}"),
                _ => format!("compare it with a number that it can be: {range}"),
            };
            self.push(side, TypeProblemKind::Always(message, help));
        }
    }
}

/// How a comparison is written.
pub(super) fn sign(comparison: CompareOpKind) -> &'static str {
    match comparison {
        CompareOpKind::Eq => "==",
        CompareOpKind::Ne => "!=",
        CompareOpKind::Lt => "<",
        CompareOpKind::Lte => "<=",
        CompareOpKind::Gt => ">",
        CompareOpKind::Gte => ">=",
        CompareOpKind::In => "in",
        CompareOpKind::NotIn => "not in",
    }
}

/// The same comparison with its sides exchanged.
pub(super) fn mirrored(comparison: CompareOpKind) -> CompareOpKind {
    match comparison {
        CompareOpKind::Lt => CompareOpKind::Gt,
        CompareOpKind::Lte => CompareOpKind::Gte,
        CompareOpKind::Gt => CompareOpKind::Lt,
        CompareOpKind::Gte => CompareOpKind::Lte,
        same @ (CompareOpKind::Eq | CompareOpKind::Ne | CompareOpKind::In | CompareOpKind::NotIn) => same,
    }
}
