//! Expressions and values in messages, as their author wrote them.

use super::super::Value;
use super::super::print::shortened;
use super::super::tree::Expr;
use super::super::types::Type;
use crate::diagnostic::quoted;

pub(super) fn joining(whole: &Expr) -> &'static str {
    if matches!(whole, Expr::And(..)) { "and" } else { "or" }
}

pub(super) fn literal(value: &Value) -> String {
    match value.as_str() {
        Some(text) => quoted(text),
        None => shortened(&value.to_string()).to_string(),
    }
}

/// A path as it is written.
pub(super) fn shown_path(expression: &Expr) -> Option<String> {
    expression.names()?;
    expression.path()
}

pub(super) fn display(expression: &Expr) -> String {
    match expression {
        Expr::Constant(value) => literal(value),
        Expr::Local(_) => "the element".to_owned(),
        Expr::Loop(_, field) => format!("loop.{}", <&str>::from(field)),
        Expr::Attribute(base, name) if matches!(**base, Expr::Local(_)) => format!("its \"{name}\""),
        other => other.path().or_else(|| filtered(other)).unwrap_or_else(|| "what stands there".to_owned()),
    }
}

/// A path or a constant behind filters as it is written.
fn filtered(expression: &Expr) -> Option<String> {
    let (name, parameters, value, arguments) = match expression {
        Expr::Constant(value) => return Some(literal(value)),
        Expr::Filter(filter, value, arguments) => (filter.name, filter.parameters, value, arguments),
        Expr::Default(value, arguments) => ("default", &["default_value", "boolean"][..], value, arguments),
        other => return shown_path(other),
    };
    let mut given = vec![];
    let mut is_gap = false;
    for (argument, parameter) in arguments.iter().zip(parameters) {
        match argument {
            Some(argument) if is_gap => given.push(format!("{parameter}={}", filtered(argument)?)),
            Some(argument) => given.push(filtered(argument)?),
            None => is_gap = true,
        }
    }
    let given = if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) };
    Some(format!("{} | {name}{given}", filtered(value)?))
}

pub(super) fn described(side: &Expr, kind: &Type) -> String {
    match (side, kind) {
        (Expr::Constant(value), kind) if kind.is_text() => format!("the text {}", literal(value)),
        (Expr::Constant(value), kind) if kind.is_number() => format!("the number {}", literal(value)),
        (Expr::Constant(value), Type::Boolean) => literal(value),
        (Expr::Constant(_), kind) => kind.words().to_owned(),
        (side, kind) => format!("{} ({})", display(side), kind.words()),
    }
}
