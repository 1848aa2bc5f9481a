//! What an expression compares with what, for checks of types before the run.

use minijinja::machinery::ast::CompareOpKind;

use crate::model::{Form, Text};

use super::build;
use super::tree::{Expr, Statement};
use super::value::to_json;

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Side {
    /// A path that the text reads, as in [`crate::model::Read`].
    Path(Vec<String>),
    /// A value that is written out.
    Literal(serde_json::Value),
}

/// The comparisons (`==`, `!=`, `<` and so on, not `in`) of a text between paths and values that are written out.
pub(crate) fn comparisons(text: &Text) -> Vec<(Side, Side)> {
    let mut found = vec![];
    if !text.source.contains(['=', '<', '>']) {
        return found;
    }
    match text.form {
        Form::Plain => {}
        Form::Bare => {
            if let Ok(built) = build::expression(&text.source) {
                expression(&built.tree, &mut found);
            }
        }
        Form::Template | Form::Sole => {
            if let Ok(built) = build::template(&text.source) {
                built.tree.iter().for_each(|node| statement(node, &mut found));
            }
        }
    }
    found
}

fn statement(node: &Statement, found: &mut Vec<(Side, Side)>) {
    match node {
        Statement::Raw(_) => {}
        Statement::Print(printed, _) => expression(printed, found),
        Statement::If(branches, otherwise) => {
            for branch in branches {
                expression(&branch.condition, found);
                branch.body.iter().for_each(|node| statement(node, found));
            }
            otherwise.iter().for_each(|node| statement(node, found));
        }
        Statement::For(repeat) => {
            expression(&repeat.list, found);
            repeat.condition.iter().for_each(|condition| expression(condition, found));
            repeat.body.iter().chain(&repeat.otherwise).for_each(|node| statement(node, found));
        }
    }
}

/// Comparisons are in what joins conditions; those inside arguments of filters are left aside.
fn expression(tree: &Expr, found: &mut Vec<(Side, Side)>) {
    match tree {
        Expr::Not(inner) => expression(inner, found),
        Expr::And(left, right) | Expr::Or(left, right) => {
            expression(left, found);
            expression(right, found);
        }
        Expr::If(choice, otherwise) => {
            choice.iter().for_each(|part| expression(part, found));
            otherwise.iter().for_each(|part| expression(part, found));
        }
        Expr::Compare(first, rest) => {
            let mut left = &**first;
            for (comparison, right) in rest {
                if !matches!(comparison, CompareOpKind::In | CompareOpKind::NotIn)
                    && let (Some(one), Some(other)) = (side(left), side(right))
                {
                    found.push((one, other));
                }
                left = right;
            }
        }
        _ => {}
    }
}

fn side(tree: &Expr) -> Option<Side> {
    match tree {
        Expr::Constant(value) => to_json(value).ok().map(Side::Literal),
        other => path(other).map(Side::Path),
    }
}

fn path(tree: &Expr) -> Option<Vec<String>> {
    match tree {
        Expr::Global(name) => Some(vec![name.to_string()]),
        Expr::Attribute(base, name) => path(base).map(|mut path| {
            path.push(name.to_string());
            path
        }),
        Expr::Item(base, key) => {
            let Expr::Constant(key) = &**key else { return None };
            let key = key.as_str().map(str::to_owned).or_else(|| key.is_integer().then(|| key.to_string()))?;
            let mut path = path(base)?;
            path.push(key);
            Some(path)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TextPlace;

    #[test]
    fn comparisons_are_found_wherever_conditions_stand() {
        let text = crate::template::text(
            "{% if steps.a.output[0].n == \"8\" and not x < 3 %}{{ 1 if y != none else 2 }}{% endif %}",
            TextPlace::default(),
            &mut vec![],
        );
        let path = |parts: &[&str]| Side::Path(parts.iter().map(|p| p.to_string()).collect());
        let expected = [
            (path(&["steps", "a", "output", "0", "n"]), Side::Literal("8".into())),
            (path(&["x"]), Side::Literal(3.into())),
            (path(&["y"]), Side::Literal(serde_json::Value::Null)),
        ];
        assert_eq!(comparisons(&text), expected);
    }
}
