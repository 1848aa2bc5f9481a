//! Texts of which all that they can be is known, through what stands in for them and through filters.

use super::super::number::Number;
use super::super::tree::{Expr, FilterArguments};
use super::super::types::Type;

/// What stands in for another value: a text or a number that is written out is that one and no other.
pub(super) fn alternative(expression: &Expr, kind: Type) -> Type {
    match expression {
        Expr::Constant(value) => match (value.as_str(), Number::of(value).map(|number| number.float()).filter(|number| !number.is_nan())) {
            (Some(text), _) => Type::one_of([text]),
            (None, Some(number)) if kind.is_number() => Type::within(Some(number), Some(number)),
            _ => kind,
        },
        _ => kind,
    }
}

/// What a filter gives, where all texts that it can give are known.
pub(super) fn among_known(filter: &str, kind: &Type, arguments: &FilterArguments) -> Option<Type> {
    let first = arguments.first().and_then(Option::as_ref);
    if let ("date", Some(Expr::Constant(format))) = (filter, first) {
        return named_parts(format.as_str()?).map(|names| Type::one_of(names.iter().copied()));
    }
    if filter == "length" {
        return Some(Type::within(Some(0.0), None));
    }
    let Type::OneOf(values) = kind else { return None };
    let change: fn(&str) -> String = match (filter, first) {
        ("upper", _) => |value| value.to_uppercase(),
        ("lower", _) => |value| value.to_lowercase(),
        ("trim", None) => |value| value.trim().to_owned(),
        ("string", _) => |value| value.to_owned(),
        _ => return None,
    };
    let changed: Vec<String> = values.iter().map(|value| change(value)).collect();
    Some(Type::one_of(changed.iter().map(String::as_str)))
}

/// What a part of a date can be, where that is a name.
fn named_parts(format: &str) -> Option<&'static [&'static str]> {
    Some(match format {
        "%A" => &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        "%a" => &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        "%B" => &["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
        "%b" | "%h" => &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        "%m" => &["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"],
        _ => return None,
    })
}
