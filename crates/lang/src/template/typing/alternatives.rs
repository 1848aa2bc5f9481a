//! Texts and numbers of which all that they can be is known, through what stands in for them.

use super::super::number::Number;
use super::super::tree::Expr;
use super::super::types::Type;

/// What stands in for another value: a text or a number that is written out is that one and no other.
pub(super) fn alternative(expression: &Expr, kind: Type) -> Type {
    match expression {
        Expr::Constant(value) => {
            match (value.as_str(), Number::from_value(value).map(|number| number.float()).filter(|number| !number.is_nan())) {
                (Some(text), _) => Type::one_of([text]),
                (None, Some(number)) if kind.is_number() => Type::within(Some(number), Some(number)),
                _ => kind,
            }
        }
        _ => kind,
    }
}
