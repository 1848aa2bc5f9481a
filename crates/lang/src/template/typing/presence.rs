//! Tests of whether something is there.

use super::super::print::key_text;
use super::super::tree::{Expr, Test};
use super::super::types::{Object, Type};
use super::{TypeProblemKind, TypingWalk};

/// `x is defined` or `x is none`, and whether `not` stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PresenceTest {
    /// Whether it asks for empty, and not for missing.
    pub(crate) is_for_empty: bool,
    /// Whether it is turned into its opposite.
    pub(crate) is_negated: bool,
}

impl PresenceTest {
    /// The test as it is written behind a path.
    pub(crate) fn words(self) -> &'static str {
        match (self.is_for_empty, self.is_negated) {
            (false, false) => "is defined",
            (false, true) => "is not defined",
            (true, false) => "is none",
            (true, true) => "is not none",
        }
    }

    /// What it gives for a value that is there and not empty.
    pub(crate) fn holds(self) -> bool {
        self.is_for_empty == self.is_negated
    }
}

/// Whether an expression is such a test.
pub(super) fn is_asked(expression: &Expr) -> bool {
    matches!(expression, Expr::Defined(_) | Expr::Test(Test::None, ..))
}

impl TypingWalk<'_> {
    /// A test of whether something is there.
    pub(super) fn presence(&mut self, test: &Expr, is_negated: bool) {
        let (value, is_for_empty) = match test {
            Expr::Defined(value) => (value, false),
            Expr::Test(_, value, _) => (value, true),
            _ => return,
        };
        let is_path = value.names().is_some();
        if is_for_empty {
            self.expression(value);
        }
        if is_path {
            return self.push(value, TypeProblemKind::Presence(PresenceTest { is_for_empty, is_negated }));
        }
        let Expr::Attribute(base, name) = &**value else { return };
        let Expr::Local(index) = **base else { return };
        let Some(Type::Object(object)) = self.locals.get(index) else { return };
        if is_for_empty || !matches!(&**name, "error" | "output") || !is_outcome(object) {
            return;
        }
        let status = if (&**name == "output") == is_negated { "failed" } else { "succeeded" };
        let status = if &**name == "error" && !is_negated { "failed" } else { status };
        self.push(value, TypeProblemKind::PresenceInElement(name.to_string(), status));
    }

    /// `selectattr` and `rejectattr` with `defined` or `undefined`, for a field that each element has. `keeps`: those that have it.
    pub(super) fn presence_in_each(&mut self, list: &Expr, element: &Type, attribute: &Expr, keeps: bool) {
        let (Type::Object(object), Expr::Constant(name)) = (element, attribute) else { return };
        let name = key_text(name);
        if !has_always(object, &name) {
            return;
        }
        let all = if keeps { "every element is kept" } else { "no element is kept" };
        let message = format!("{all}: each has \"{name}\", which may be empty");
        let help = match is_outcome(object) {
            true if name == "error" || name == "output" => {
                let status = if (name == "error") == keeps { "failed" } else { "succeeded" };
                format!("write selectattr('status', 'eq', '{status}')")
            }
            _ if keeps => format!("write selectattr('{name}'), which leaves out those where it is empty"),
            _ => format!("write rejectattr('{name}'), which keeps those where it is empty"),
        };
        self.push(list, TypeProblemKind::AlwaysThere(message, help));
    }
}

/// Whether an object has a field in every run. A file may have other columns when a run reads it.
fn has_always(object: &Object, name: &str) -> bool {
    !object.is_of_file && object.fields.get(name).is_some_and(|member| !member.is_optional)
}

/// Whether it tells how one element of a `for_each` ended.
fn is_outcome(object: &Object) -> bool {
    ["item", "status", "output", "error"].iter().all(|name| object.fields.contains_key(*name)) && object.fields.len() == 4
}
