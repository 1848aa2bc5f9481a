//! Expressions.

use std::str::FromStr;

use minijinja::machinery::ast::{self, CompareOpKind};
use strum::VariantNames;

use super::super::number::Arithmetic;
use super::super::problem::{TemplateProblem, excerpt};
use super::super::scan;
use super::super::tree::{Expr, SourceRange, Test};
use super::super::{filters, habits};
use super::TemplateBuilder;
use super::reads::missing_if;

/// Functions an expression may call.
const FUNCTIONS: &[&str] = &["range"];

impl<'s> TemplateBuilder<'s> {
    pub(super) fn expression(&mut self, expression: &ast::Expr<'s>) -> Expr {
        match expression {
            ast::Expr::Var(_) | ast::Expr::GetAttr(_) | ast::Expr::GetItem(_) => self.path(expression, false),
            ast::Expr::Const(constant) => Expr::Constant(constant.value.clone()),
            ast::Expr::Slice(slice) => {
                let list = self.boxed(&slice.expr);
                let bounds = [&slice.start, &slice.stop, &slice.step].map(|bound| bound.as_ref().map(|bound| self.boxed(bound)));
                Expr::Slice(list, bounds)
            }
            ast::Expr::UnaryOp(unary) => match unary.op {
                ast::UnaryOpKind::Not => Expr::Not(self.boxed(&unary.expr)),
                ast::UnaryOpKind::Neg => Expr::Negative(self.boxed(&unary.expr)),
            },
            ast::Expr::BinOp(binary) => self.binary(binary),
            ast::Expr::Compare(compare) => {
                let first = self.boxed(&compare.expr);
                let rest = compare.ops.iter().map(|next| (next.op, self.expression(&next.expr))).collect();
                Expr::Compare(first, rest)
            }
            ast::Expr::IfExpr(choice) => self.choice(choice, false),
            ast::Expr::Filter(filter) => self.filter(filter, expression),
            ast::Expr::Test(test) => self.test(test, expression),
            ast::Expr::Call(call) => self.call(call, expression),
            ast::Expr::List(list) => Expr::List(list.items.iter().map(|item| self.expression(item)).collect()),
            ast::Expr::Tuple(tuple) => Expr::List(tuple.items.iter().map(|item| self.expression(item)).collect()),
            ast::Expr::Map(map) => {
                let pairs = map.keys.iter().zip(&map.values);
                Expr::Map(pairs.map(|(key, value)| (self.expression(key), self.expression(value))).collect())
            }
        }
    }

    /// An expression of which any missing part is caught, by `default` or `is defined`.
    pub(super) fn guarded(&mut self, expression: &ast::Expr<'s>) -> Expr {
        match expression {
            ast::Expr::Var(_) | ast::Expr::GetAttr(_) | ast::Expr::GetItem(_) => self.path(expression, true),
            ast::Expr::IfExpr(choice) => self.choice(choice, true),
            ast::Expr::Filter(filter) if filter.name == "default" => self.default(filter, expression, true),
            other => self.expression(other),
        }
    }

    pub(super) fn boxed(&mut self, expression: &ast::Expr<'s>) -> Box<Expr> {
        Box::new(self.expression(expression))
    }

    fn binary(&mut self, binary: &ast::BinOp<'s>) -> Expr {
        use ast::BinOpKind as Kind;
        if matches!(binary.op, Kind::ScAnd | Kind::ScOr) {
            let tested = self.tested.len();
            let left = Box::new(self.tested_by(&binary.left));
            let right = self.boxed(&binary.right);
            self.tested.truncate(tested);
            return if matches!(binary.op, Kind::ScAnd) { Expr::And(left, right) } else { Expr::Or(left, right) };
        }
        self.filter_of_part(binary);
        let left = self.boxed(&binary.left);
        let right = self.boxed(&binary.right);
        let calculate = |operator, left, right| Expr::Arithmetic(operator, left, right);
        match binary.op {
            Kind::Add => calculate(Arithmetic::Add, left, right),
            Kind::Sub => calculate(Arithmetic::Subtract, left, right),
            Kind::Mul => calculate(Arithmetic::Multiply, left, right),
            Kind::Div => calculate(Arithmetic::Divide, left, right),
            Kind::FloorDiv => calculate(Arithmetic::FloorDivide, left, right),
            Kind::Rem => calculate(Arithmetic::Remainder, left, right),
            Kind::Pow => calculate(Arithmetic::Power, left, right),
            Kind::Concat => Expr::Concatenate(left, right),
            Kind::Eq => Expr::Compare(left, vec![(CompareOpKind::Eq, *right)]),
            Kind::Ne => Expr::Compare(left, vec![(CompareOpKind::Ne, *right)]),
            Kind::Lt => Expr::Compare(left, vec![(CompareOpKind::Lt, *right)]),
            Kind::Lte => Expr::Compare(left, vec![(CompareOpKind::Lte, *right)]),
            Kind::Gt => Expr::Compare(left, vec![(CompareOpKind::Gt, *right)]),
            Kind::Gte => Expr::Compare(left, vec![(CompareOpKind::Gte, *right)]),
            Kind::In => Expr::Compare(left, vec![(CompareOpKind::In, *right)]),
            Kind::ScAnd => Expr::And(left, right),
            Kind::ScOr => Expr::Or(left, right),
        }
    }

    /// `share * 100 | round(1)`: a filter is for the value before it alone, and one that makes whole or writes a number is seldom meant so.
    fn filter_of_part(&mut self, binary: &ast::BinOp<'s>) {
        use ast::BinOpKind as Kind;
        let ast::Expr::Filter(filter) = &binary.right else { return };
        let is_sum = matches!(binary.op, Kind::Add | Kind::Sub | Kind::Mul | Kind::Div | Kind::FloorDiv | Kind::Rem | Kind::Pow);
        let (Some(value), true) = (&filter.expr, is_sum && matches!(filter.name, "round" | "number" | "int")) else { return };
        let ((start, middle), (from, to)) = (self.span(&binary.left), (self.span(value).1, self.span(&binary.right).1));
        let (before, written) = (self.source.get(middle..from).unwrap_or_default(), self.source.get(from..to).unwrap_or_default());
        let (closed, rest) = written.split_at(written.find('|').unwrap_or(0));
        let operand = before.trim_start_matches(|c: char| c.is_whitespace() || c == ')');
        if opened(operand) + opened(closed) > 0 {
            return;
        }
        let part = self.source.get(start..from + closed.trim_end().len()).filter(|part| opened(part) == 0).unwrap_or("a * b");
        let help = format!("put brackets around all that it is for, as in ({part}) {rest}; or around this value and its filter");
        let message = format!("the filter {} is for the value before it alone, and not for what is calculated here", filter.name);
        self.problems.push(TemplateProblem::syntax((from, to), message).help(help));
    }

    fn choice(&mut self, choice: &ast::IfExpr<'s>, is_guarded: bool) -> Expr {
        let tested = self.tested.len();
        let condition = self.tested_by(&choice.test_expr);
        let mut branch = |expression, holds| {
            let absent = self.absent.len();
            self.absent.extend(missing_if(&condition, holds));
            let built = if is_guarded { self.guarded(expression) } else { self.expression(expression) };
            self.absent.truncate(absent);
            built
        };
        let yes = branch(&choice.true_expr, true);
        let no = match &choice.false_expr {
            Some(other) => Some(Box::new(branch(other, false))),
            None => is_guarded.then(|| Box::new(Expr::Missing)),
        };
        self.tested.truncate(tested);
        Expr::If(Box::new([condition, yes]), no)
    }

    fn test(&mut self, test: &ast::Test<'s>, whole: &ast::Expr<'s>) -> Expr {
        let at = (self.span(&test.expr).1, self.span(whole).1);
        let Some(known) = self.test_named(test.name, at) else {
            return self.expression(&test.expr);
        };
        let most = usize::from(known.compares());
        let arguments: Option<Vec<_>> = test.args.iter().map(|given| self.plain_argument(given, at)).collect();
        let Some(mut arguments) = arguments else { return Expr::Constant(().into()) };
        if arguments.len() != most {
            let wanted = match (known == Test::In, most) {
                (true, _) => "takes one list, as in: x is in [1, 2]",
                (false, 1) => "takes one value, as in: x is eq 1",
                (false, _) => "takes nothing after its name",
            };
            return self.wrong(TemplateProblem::syntax(at, format!("the test \"{}\" {wanted}", test.name)));
        }
        match known {
            Test::Defined => Expr::Defined(Box::new(self.guarded(&test.expr))),
            Test::Undefined => Expr::Not(Box::new(Expr::Defined(Box::new(self.guarded(&test.expr))))),
            other => Expr::Test(other, self.boxed(&test.expr), arguments.pop().map(Box::new)),
        }
    }

    /// The test of this name; a mistake is noted where there is none.
    pub(super) fn test_named(&mut self, name: &str, at: super::SourceRange) -> Option<Test> {
        let found = Test::from_str(name).ok();
        if found.is_none() {
            let problem = self.unknown(at, "test", name, Test::VARIANTS);
            self.problems.push(problem);
        }
        found
    }

    /// Where the value begins that a path goes down from.
    fn start(&self, expression: &ast::Expr<'s>) -> usize {
        match expression {
            ast::Expr::GetAttr(path) => self.start(&path.expr),
            ast::Expr::GetItem(path) => self.start(&path.expr),
            other => self.span(other).0,
        }
    }

    fn call(&mut self, call: &ast::Call<'s>, whole: &ast::Expr<'s>) -> Expr {
        match &call.expr {
            ast::Expr::Var(name) if name.id == "range" && !self.locals.contains(&"range") => {
                let at = (self.span(&call.expr).0, self.span(whole).1);
                match self.arguments("the function range", at, &["start", "stop", "step"], 1, &call.args) {
                    Some(arguments) => Expr::Range(arguments),
                    None => Expr::Constant(().into()),
                }
            }
            ast::Expr::Var(name) => {
                let at = self.span(&call.expr);
                let problem = match name.id {
                    "namespace" => scan::forbidden("namespace", at, scan::MADE_ELSEWHERE),
                    _ => self.unknown(at, "function", name.id, FUNCTIONS),
                };
                let call = self.source.get(at.0..self.span(whole).1).unwrap_or_default();
                let all = (at.0, self.span(whole).1);
                let habit = habits::function(self.source, name.id, call).map(CallHabit::Expression).or_else(|| habit(name.id));
                self.wrong(habit.map_or(problem, |habit| {
                    let help = habit.help("after the value");
                    let fix = if let CallHabit::Expression(write) = habit { Some(Box::new((all, write))) } else { None };
                    TemplateProblem { fix, ..TemplateProblem::unknown(all, no_function(name.id)).help(help) }
                }))
            }
            ast::Expr::GetAttr(method) => {
                let end = self.span(&call.expr).1;
                let at = (end.saturating_sub(method.name.len()), end);
                let mut problem = self.unknown(at, "function", method.name, FUNCTIONS);
                let start = self.source.get(..at.0).map_or(0, |before| before.rfind(['{', '%', '\n']).map_or(0, |start| start + 1));
                let call = self.source.get(start..self.span(whole).1).unwrap_or_default();
                let all = (self.start(&method.expr), self.span(whole).1);
                let named = |at: SourceRange, help: String| TemplateProblem::unknown(at, no_method(method.name)).help(help);
                if let Some(write) = habits::function(self.source, method.name, call.trim_start()) {
                    problem = named(all, format!("write {write}"));
                } else if let Some(habit) = habit(method.name) {
                    let written = self.source.get(at.0..all.1).unwrap_or(method.name);
                    problem = named((at.0, all.1), habit.help(&format!("in place of .{written}")));
                }
                self.wrong(problem)
            }
            other => {
                let at = self.span(other);
                self.wrong(TemplateProblem::unknown(at, "only a function can be called; the only one is range"))
            }
        }
    }
}

/// How many brackets are opened and not closed, outside of quotes.
fn opened(text: &str) -> i32 {
    let mut quote = None;
    text.chars().fold(0, |depth, c| match (quote, c) {
        (Some(mark), _) => {
            quote = Some(mark).filter(|mark| *mark != c);
            depth
        }
        (None, '"' | '\'') => {
            quote = Some(c);
            depth
        }
        (None, '(') => depth + 1,
        (None, ')') => depth - 1,
        (None, _) => depth,
    })
}

fn no_method(name: &str) -> String {
    let filter = if filters::is_known(&name.to_lowercase()) { "; what changes it is a filter, which stands behind \"|\"" } else { "" };
    format!("a value has no method \"{}\"{filter}", excerpt(name, (0, name.len())))
}

fn no_function(name: &str) -> String {
    format!("there is no function \"{}\"", excerpt(name, (0, name.len())))
}

/// What is written in place of a function or a method of other languages.
enum CallHabit {
    /// An expression.
    Expression(String),
    /// A filter behind the value.
    Filter(String),
    /// A line of help.
    Help(&'static str),
}

impl CallHabit {
    /// The line of help. `place`: where a filter stands.
    fn help(&self, place: &str) -> String {
        match self {
            CallHabit::Expression(write) => format!("write {write}"),
            CallHabit::Filter(filter) => format!("write | {filter} {place}"),
            CallHabit::Help(help) => (*help).to_owned(),
        }
    }
}

/// What to write in place of a function or a method of other languages.
fn habit(name: &str) -> Option<CallHabit> {
    let small = name.to_lowercase();
    let filter = |name: &str| CallHabit::Filter(name.to_owned());
    Some(match small.as_str() {
        "len" | "size" | "count" => filter("length"),
        "now" | "utcnow" | "datetime" => CallHabit::Expression("run.now".to_owned()),
        "today" => CallHabit::Expression("run.today".to_owned()),
        "contains" | "includes" | "indexof" => CallHabit::Help("write: \"part\" in whole"),
        "if" | "iif" | "ifelse" => CallHabit::Help("write: a if condition else b"),
        "isempty" | "empty" | "isnull" | "isblank" => {
            CallHabit::Help("write: value == \"\" for a text, value is none for what may be missing")
        }
        "concat" | "concatenate" => CallHabit::Help("join texts with ~, as in: a ~ \" \" ~ b"),
        "str" | "string" | "tostring" => filter("string"),
        "get" | "coalesce" | "ifnull" | "nvl" => filter("default(other, true)"),
        "success" | "succeeded" => CallHabit::Help("write: steps.ID.status == \"succeeded\""),
        "failure" | "failed" => CallHabit::Help("write: steps.ID.status == \"failed\""),
        "always" | "cancelled" => CallHabit::Help(
            "remove the condition: a step also runs after one with on_failure: continue; put it under finally if it is to run after every ending",
        ),
        "startswith" | "endswith" => CallHabit::Help("compare a part: value[:3] == \"abc\""),
        "json" | "stringify" | "dumps" => filter("tojson"),
        "touppercase" | "toupper" | "ucase" => filter("upper"),
        "tolowercase" | "tolower" | "lcase" => filter("lower"),
        "strip" => filter("trim"),
        known if filters::is_known(known) => filter(known),
        _ => return None,
    })
}
