//! Which names a text reads, and which of these reads may meet something missing without harm.

use std::str::FromStr;

use minijinja::machinery::ast::{self, CompareOpKind};
use strum::VariantNames;

use super::super::Value;
use super::super::problem::TemplateProblem;
use super::super::tree::{Expr, LoopField, SourceRange};
use super::{PathRead, TemplateBuilder, place};

/// A look-up that was written after a name: `.x` or `[x]`.
enum Lookup<'a, 's> {
    Attribute(&'s str, SourceRange),
    Item(&'a ast::Expr<'s>, SourceRange),
}

impl<'s> TemplateBuilder<'s> {
    /// A condition; what it tests counts as tested until the caller forgets it.
    pub(super) fn tested_by(&mut self, condition: &ast::Expr<'s>) -> Expr {
        let before = self.reads.len();
        let built = self.expression(condition);
        for read in self.reads.get(before..).unwrap_or_default() {
            if read.is_guarded {
                self.tested.push(read.path.clone());
            } else if let [steps, step, field, ..] = read.path.as_slice()
                && steps == "steps"
                && (field == "status" || field == "error")
            {
                self.tested.push(vec![steps.clone(), step.clone()]);
            }
        }
        built
    }

    /// Notes a read of the run's time zone, which the filter `date` does on its own.
    pub(super) fn reads_time_zone(&mut self, at: SourceRange) {
        self.reads.push(PathRead { path: vec!["run".into(), "time_zone".into()], at, is_guarded: true, instead_of: vec![] });
    }

    /// A name, or look-ups below one.
    pub(super) fn path(&mut self, expression: &ast::Expr<'s>, is_guarded: bool) -> Expr {
        let mut parts = vec![];
        let mut root = expression;
        loop {
            let end = self.span(root).1;
            match root {
                ast::Expr::GetAttr(attribute) => {
                    parts.push(Lookup::Attribute(attribute.name, (end, end)));
                    root = &attribute.expr;
                }
                ast::Expr::GetItem(item) => {
                    parts.push(Lookup::Item(&item.subscript_expr, (end, end)));
                    root = &item.expr;
                }
                _ => break,
            }
        }
        parts.reverse();
        match root {
            ast::Expr::Var(name) => match self.locals.iter().rposition(|local| *local == name.id) {
                Some(local) => self.look_up(Expr::Local(local), parts),
                None if name.id == "loop" && self.loops > 0 => self.loop_field(name.span(), parts),
                None => {
                    self.note(name.id, place(name.span()), &parts, is_guarded);
                    self.look_up(Expr::Global(name.id.into()), parts)
                }
            },
            other if is_guarded => {
                let root = self.guarded(other);
                self.look_up(root, parts)
            }
            other => {
                let root = self.expression(other);
                self.look_up(root, parts)
            }
        }
    }

    fn look_up(&mut self, root: Expr, parts: Vec<Lookup<'_, 's>>) -> Expr {
        parts.into_iter().fold(root, |base, part| match part {
            Lookup::Attribute(name, _) => Expr::Attribute(Box::new(base), name.into()),
            Lookup::Item(key, _) => Expr::Item(Box::new(base), Box::new(self.expression(key))),
        })
    }

    fn note(&mut self, name: &str, (start, mut end): SourceRange, parts: &[Lookup<'_, 's>], is_guarded: bool) {
        let mut path = vec![name.to_owned()];
        for part in parts {
            let (text, at) = match part {
                Lookup::Attribute(name, at) => (Some((*name).to_owned()), at),
                Lookup::Item(ast::Expr::Const(key), at) => (written_out(&key.value), at),
                Lookup::Item(_, at) => (None, at),
            };
            let Some(text) = text else { break };
            path.push(text);
            end = at.1;
        }
        let is_guarded = is_guarded || self.tested.iter().any(|tested| path.starts_with(tested) || tested.starts_with(&path));
        self.reads.push(PathRead { path, at: (start, end), is_guarded, instead_of: self.absent.clone() });
    }

    fn loop_field(&mut self, span: minijinja::machinery::Span, parts: Vec<Lookup<'_, 's>>) -> Expr {
        let mut parts = parts.into_iter();
        let at = place(span);
        match parts.next() {
            Some(Lookup::Attribute(name, part)) => match LoopField::from_str(name) {
                Ok(field) => self.look_up(Expr::Loop(self.loops - 1, field), parts.collect()),
                Err(_) => {
                    let problem = self.unknown((at.0, part.1), "field of loop", name, LoopField::VARIANTS);
                    self.wrong(problem)
                }
            },
            _ => self.wrong(
                TemplateProblem::syntax(at, "loop is read with a field, such as loop.index")
                    .help(format!("use one of: {}", LoopField::VARIANTS.join(", "))),
            ),
        }
    }
}

/// A key as a part of a path.
fn written_out(key: &Value) -> Option<String> {
    match key.as_str() {
        Some(text) => Some(text.to_owned()),
        None if key.is_integer() => Some(key.to_string()),
        None => None,
    }
}

/// What is not there if a value is missing; none where that does not follow.
pub(super) fn reads_of_one(value: &Expr) -> Vec<Vec<String>> {
    if let Expr::Default(value, arguments) = value {
        let [Some(other), None] = arguments.as_slice() else { return vec![] };
        let (value, other) = (reads_of_one(value), reads_of_one(other));
        return if value.is_empty() || other.is_empty() { vec![] } else { [value, other].concat() };
    }
    written_path(value).into_iter().collect()
}

/// What is not there where a condition holds, or does not hold.
pub(super) fn missing_if(condition: &Expr, holds: bool) -> Vec<Vec<String>> {
    match (condition, holds) {
        (Expr::Defined(value), false) => reads_of_one(value),
        (Expr::Not(condition), _) => missing_if(condition, !holds),
        (Expr::And(left, right), true) | (Expr::Or(left, right), false) => [missing_if(left, holds), missing_if(right, holds)].concat(),
        (Expr::Compare(left, rest), _) => {
            let ([(operator, Expr::Constant(status))], Some(mut path)) = (rest.as_slice(), written_path(left)) else { return vec![] };
            let is_equal = match operator {
                CompareOpKind::Eq => holds,
                CompareOpKind::Ne => !holds,
                CompareOpKind::Lt
                | CompareOpKind::Lte
                | CompareOpKind::Gt
                | CompareOpKind::Gte
                | CompareOpKind::In
                | CompareOpKind::NotIn => {
                    return vec![];
                }
            };
            let is_of_step = matches!(path.as_slice(), [steps, _, field] if steps == "steps" && field == "status");
            let is_without = match status.as_str() {
                Some("succeeded") => !is_equal,
                Some("failed") => is_equal,
                _ => false,
            };
            if !is_of_step || !is_without {
                return vec![];
            }
            path[2] = "output".to_owned();
            vec![path]
        }
        _ => vec![],
    }
}

/// The path that an expression is, if it is one.
fn written_path(expression: &Expr) -> Option<Vec<String>> {
    match expression {
        Expr::Global(name) => Some(vec![name.to_string()]),
        Expr::Attribute(base, name) => Some([written_path(base)?, vec![name.to_string()]].concat()),
        Expr::Item(base, key) => {
            let Expr::Constant(key) = &**key else { return None };
            Some([written_path(base)?, vec![written_out(key)?]].concat())
        }
        _ => None,
    }
}
