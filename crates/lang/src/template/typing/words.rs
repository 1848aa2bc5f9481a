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

pub(super) fn shown(expression: &Expr) -> String {
    match expression {
        Expr::Constant(value) => literal(value),
        Expr::Local(_) => "the element".to_owned(),
        Expr::Filter(filter, value, _) if shown_path(value).is_some() => format!("{} | {}", shown(value), filter.name),
        Expr::Attribute(base, name) if matches!(**base, Expr::Local(_)) => format!("its \"{name}\""),
        other => other.path().unwrap_or_else(|| "what stands there".to_owned()),
    }
}

pub(super) fn described(side: &Expr, kind: &Type) -> String {
    match (side, kind) {
        (Expr::Constant(value), kind) if kind.is_text() => format!("the text {}", literal(value)),
        (Expr::Constant(value), Type::Number) => format!("the number {}", literal(value)),
        (Expr::Constant(value), Type::Boolean) => literal(value),
        (Expr::Constant(_), kind) => kind.words().to_owned(),
        (side, kind) => format!("{} ({})", shown(side), kind.words()),
    }
}
