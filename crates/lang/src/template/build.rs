//! From minijinja's parser to our own tree: statements, and what a whole text comes to. [`TemplateBuilder`] keeps what must be
//! known on the way: the names of loops, what the text reads, and what is wrong in it.

mod arguments;
mod expression;
mod reads;

use minijinja::machinery::{ast, parse, parse_expr};

use crate::diagnostic::{akin, did_you_mean};

use super::habits;
use super::problem::{TemplateProblem, excerpt};
use super::scan;
use super::tree::{Branch, Expr, For, SourceRange, Statement};
use reads::missing_if;

/// A name path that a text reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathRead {
    pub(super) path: Vec<String>,
    pub(super) at: SourceRange,
    pub(super) is_guarded: bool,
    pub(super) instead_of: Vec<Vec<String>>,
}

/// A text that could be read, with what it reads and the mistakes in it.
#[derive(Debug)]
pub(super) struct Built<T> {
    pub(super) tree: T,
    pub(super) reads: Vec<PathRead>,
    pub(super) problems: Vec<TemplateProblem>,
}

/// Reads a template.
pub(super) fn template(source: &str) -> Result<Built<Vec<Statement>>, TemplateProblem> {
    scan::template(source)?;
    let parsed = parse(source, "text", scan::syntax()).map_err(|error| unread(source, &error))?;
    let mut builder = TemplateBuilder::new(source);
    let tree = match &parsed {
        ast::Stmt::Template(template) => builder.statements(&template.children),
        _ => vec![],
    };
    Ok(Built { tree, reads: builder.reads, problems: builder.problems })
}

/// Reads a bare expression.
pub(super) fn expression(source: &str) -> Result<Built<Expr>, TemplateProblem> {
    scan::expression(source)?;
    let parsed = parse_expr(source).map_err(|error| unread(source, &error))?;
    let mut builder = TemplateBuilder::new(source);
    let tree = builder.expression(&parsed);
    Ok(Built { tree, reads: builder.reads, problems: builder.problems })
}

/// What the parser could not read, in plain words.
fn unread(source: &str, error: &minijinja::Error) -> TemplateProblem {
    let detail = error.detail().unwrap_or_default();
    let range = error.range().unwrap_or(0..source.len());
    let at = (range.start.min(source.len()), range.end.min(source.len()));
    let token = excerpt(source, at);
    if let Some(problem) = habits::sign(source, at) {
        return problem;
    }
    if detail.starts_with("unexpected end of input") || at.0 == at.1 {
        return TemplateProblem::syntax(at, "something is missing at the end of this expression");
    }
    if matches!(token.trim_matches(['-', '+']), "}}" | "%}") {
        return TemplateProblem::syntax(at, format!("something is missing before \"{token}\""));
    }
    if detail.contains("reserved variable name") {
        return TemplateProblem::syntax(at, format!("\"{token}\" cannot be the name of a loop's element"));
    }
    if detail.contains("non-keyword arg") {
        return TemplateProblem::syntax(at, "a value without a name comes after one with a name; put it first");
    }
    TemplateProblem::syntax(at, format!("\"{token}\" does not belong here"))
        .help("check whether an operator, a \"|\", a comma or a quote is missing before it")
}

/// What is known while a text is read.
struct TemplateBuilder<'s> {
    source: &'s str,
    /// The names of the loops around, from the outermost.
    locals: Vec<&'s str>,
    /// For each loop around, how many names stood in `locals` before it.
    loops: usize,
    reads: Vec<PathRead>,
    problems: Vec<TemplateProblem>,
    /// Paths that a condition around has tested.
    tested: Vec<Vec<String>>,
    /// Paths that were not there, or what stands here is not read.
    absent: Vec<Vec<String>>,
}

impl<'s> TemplateBuilder<'s> {
    fn new(source: &'s str) -> TemplateBuilder<'s> {
        TemplateBuilder { source, locals: vec![], loops: 0, reads: vec![], problems: vec![], tested: vec![], absent: vec![] }
    }

    /// Notes a mistake; what it is in counts as empty.
    fn wrong(&mut self, problem: TemplateProblem) -> Expr {
        self.problems.push(problem);
        Expr::Constant(().into())
    }

    fn statements(&mut self, statements: &[ast::Stmt<'s>]) -> Vec<Statement> {
        let mut nodes = Vec::with_capacity(statements.len());
        for statement in statements {
            match statement {
                ast::Stmt::EmitRaw(raw) => nodes.push(Statement::Raw(raw.raw.into())),
                ast::Stmt::EmitExpr(print) => {
                    let at = within_braces(self.source, place(print.span()));
                    nodes.push(Statement::Print(self.expression(&print.expr), at));
                }
                ast::Stmt::IfCond(condition) => nodes.push(self.condition(condition)),
                ast::Stmt::ForLoop(repeat) => {
                    let node = self.repeat(repeat);
                    nodes.push(node);
                }
                _ => self.problems.push(scan::forbidden("this statement", (0, self.source.len()), scan::MADE_ELSEWHERE)),
            }
        }
        nodes
    }

    /// `if` and its `elif`s; minijinja nests each `elif` in the one before, here they lie side by side.
    fn condition(&mut self, first: &ast::IfCond<'s>) -> Statement {
        let (tested, absent) = (self.tested.len(), self.absent.len());
        let mut branches = vec![];
        let mut current = first;
        let otherwise = loop {
            let at = self.span(&current.expr);
            let condition = self.tested_by(&current.expr);
            let not_met = missing_if(&condition, false);
            let outside = self.absent.len();
            self.absent.extend(missing_if(&condition, true));
            branches.push(Branch { condition, at, body: self.statements(&current.true_body) });
            self.absent.truncate(outside);
            self.absent.extend(not_met);
            match current.false_body.as_slice() {
                [ast::Stmt::IfCond(next)] => current = next,
                other => break self.statements(other),
            }
        };
        self.tested.truncate(tested);
        self.absent.truncate(absent);
        Statement::If(branches, otherwise)
    }

    fn repeat(&mut self, repeat: &ast::ForLoop<'s>) -> Statement {
        let at = self.span(&repeat.iter);
        if repeat.recursive {
            self.problems.push(TemplateProblem::syntax(at, "a loop here cannot be \"recursive\""));
        }
        let list = self.expression(&repeat.iter);
        let before = self.locals.len();
        self.loop_names(&repeat.target);
        let names = self.locals.len() - before;
        let tested = self.tested.len();
        let condition = repeat.filter_expr.as_ref().map(|condition| self.tested_by(condition));
        self.loops += 1;
        let body = self.statements(&repeat.body);
        self.loops -= 1;
        self.tested.truncate(tested);
        self.locals.truncate(before);
        let otherwise = self.statements(&repeat.else_body);
        Statement::For(Box::new(For { names, list, at, condition, body, otherwise }))
    }

    fn loop_names(&mut self, target: &ast::Expr<'s>) {
        match target {
            ast::Expr::Var(name) => self.locals.push(name.id),
            ast::Expr::List(list) if list.items.iter().all(|item| matches!(item, ast::Expr::Var(_))) => {
                list.items.iter().for_each(|item| self.loop_names(item));
            }
            other => {
                let at = self.span(other);
                self.problems.push(TemplateProblem::syntax(at, "a loop gives its elements one name, or names with commas between them"));
            }
        }
    }

    fn span(&self, expression: &ast::Expr<'s>) -> SourceRange {
        place(expression.span())
    }

    /// A mistake about a name that is none of the known ones.
    fn unknown(&mut self, at: SourceRange, what: &str, name: &str, known: &[&'static str]) -> TemplateProblem {
        let near = did_you_mean(name, known.iter().copied());
        let shown = excerpt(name, (0, name.len()));
        let problem = TemplateProblem::unknown(at, format!("there is no {what} \"{shown}\"{near}")).near(near);
        let habit = match what {
            "test" => habits::test(name).map(str::to_owned),
            "filter" => habits::filter(name, self.source.get(at.0..).and_then(|rest| rest.get(rest.find(name)?..)).unwrap_or(name)),
            _ => None,
        };
        match habit {
            Some(help) => problem.help(help),
            None if problem.near.is_empty() && what == "function" => {
                problem.help("remove it: the only function is range(n); everything else is a filter behind the value, as in value | length")
            }
            None => match akin(name, known.iter().copied()).filter(|_| problem.near.is_empty()) {
                Some(akin) => {
                    let call = self.source.get(at.0..at.1).and_then(|call| call.get(call.find(name)? + name.len()..)).unwrap_or_default();
                    let bar = if what == "filter" { "| " } else { "" };
                    problem.help(format!("write {bar}{akin}{}", excerpt(call, (0, call.len()))))
                }
                None => match problem.near.names.first().cloned() {
                    Some(near) if what == "test" => problem.help(format!("write is {near}")),
                    _ => problem.help(format!("use one of: {}", known.join(", "))),
                },
            },
        }
    }
}

fn place(span: minijinja::machinery::Span) -> SourceRange {
    (span.start_offset as usize, span.end_offset as usize)
}

/// The expression between the braces of a `{{ … }}`; `span` begins at the braces.
fn within_braces(source: &str, (start, end): SourceRange) -> SourceRange {
    let text = source.get(start..end).unwrap_or_default();
    let inner = text.trim_start_matches("{{").trim_start_matches(['-', '+']);
    let from = start + (text.len() - inner.trim_start().len());
    (from, (start + text.trim_end().len()).max(from))
}
