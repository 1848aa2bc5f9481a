//! Filters and what is given to them. Which filter runs is settled here, once; at run time there is nothing to look up.

use minijinja::machinery::ast;

use crate::diagnostic::nearest;

use super::super::filters::{self, Filter};
use super::super::problem::TemplateProblem;
use super::super::tree::{Expr, FilterArguments, SourceRange, Test};
use super::TemplateBuilder;
use super::reads::reads_of_one;

impl<'s> TemplateBuilder<'s> {
    pub(super) fn filter(&mut self, filter: &ast::Filter<'s>, whole: &ast::Expr<'s>) -> Expr {
        let Some(value) = &filter.expr else {
            let at = self.span(whole);
            return self.wrong(TemplateProblem::syntax(at, "a filter comes after a value"));
        };
        let at = (self.span(value).1, self.span(whole).1);
        match filter.name {
            "default" => return self.default(filter, whole, false),
            "map" => return self.map(value, filter, at),
            "selectattr" | "rejectattr" => return self.select(value, filter, at),
            _ => {}
        }
        let value = self.boxed(value);
        let Some(known) = self.filter_named(filter.name, at) else { return *value };
        if known.needs_time_zone() {
            self.reads_time_zone(at);
        }
        match self.filter_arguments(known, at, &filter.args) {
            Some(arguments) => Expr::Filter(known, value, arguments),
            None => *value,
        }
    }

    pub(super) fn default(&mut self, filter: &ast::Filter<'s>, whole: &ast::Expr<'s>, is_guarded: bool) -> Expr {
        let Some(value) = &filter.expr else { return Expr::Constant(().into()) };
        let at = (self.span(value).1, self.span(whole).1);
        let value = Box::new(self.guarded(value));
        let absent = self.absent.len();
        // With a second argument it also stands in for what is there and empty.
        if filter.args.len() == 1 {
            self.absent.extend(reads_of_one(&value));
        }
        let built = if is_guarded && let [ast::CallArg::Pos(other)] = filter.args.as_slice() {
            let other = self.guarded(other);
            Expr::Default(value, vec![Some(other), None])
        } else {
            match self.arguments("the filter default", at, &["default_value", "boolean"], 0, &filter.args) {
                Some(arguments) => Expr::Default(value, arguments),
                None => *value,
            }
        };
        self.absent.truncate(absent);
        built
    }

    fn map(&mut self, list: &ast::Expr<'s>, filter: &ast::Filter<'s>, at: SourceRange) -> Expr {
        let list = self.boxed(list);
        match filter.args.split_first() {
            Some((ast::CallArg::Pos(name), rest)) => {
                let Some(name) = constant_text(name) else {
                    return self.wrong(TemplateProblem::syntax(at, "map takes the name of a filter in quotes, as in map(\"upper\")"));
                };
                let Some(known) = self.filter_named(&name, at) else { return *list };
                if known.needs_time_zone() {
                    self.reads_time_zone(at);
                }
                match self.filter_arguments(known, at, rest) {
                    Some(arguments) => Expr::MapFilter(known, list, arguments),
                    None => *list,
                }
            }
            Some((ast::CallArg::Kwarg(..), _)) => {
                let Some(mut arguments) = self.arguments("the filter map", at, &["attribute", "default"], 1, &filter.args) else {
                    return *list;
                };
                let default = arguments.pop().flatten().map(Box::new);
                match arguments.pop().flatten() {
                    Some(attribute) => Expr::MapAttribute(list, Box::new(attribute), default),
                    None => *list,
                }
            }
            _ => self
                .wrong(TemplateProblem::syntax(at, "map takes the name of a filter, map(\"upper\"), or a field, map(attribute=\"name\")")),
        }
    }

    fn select(&mut self, list: &ast::Expr<'s>, filter: &ast::Filter<'s>, at: SourceRange) -> Expr {
        let list = self.boxed(list);
        let keep = filter.name == "selectattr";
        let given: Option<Vec<&ast::Expr<'s>>> = filter.args.iter().map(positional).collect();
        let test = match given.as_deref() {
            Some([_]) => None,
            Some([_, test, ..]) if constant_text(test).is_some() => {
                let name = constant_text(test).unwrap_or_default();
                let Some(test) = self.test_named(&name, at) else { return *list };
                Some(test)
            }
            _ => {
                return self.wrong(TemplateProblem::syntax(
                    at,
                    format!("{} takes a field and a test in quotes: {}(\"status\", \"eq\", \"new\")", filter.name, filter.name),
                ));
            }
        };
        let Some([attribute, others @ ..]) = given.as_deref() else { return *list };
        let attribute = self.boxed(attribute);
        let compared = others.get(1).map(|other| self.boxed(other));
        let expected = 1 + usize::from(test.is_some()) + usize::from(test.is_some_and(Test::compares));
        if others.len() + 1 != expected {
            let problem = TemplateProblem::syntax(at, format!("{} is given too many or too few values here", filter.name));
            let example = match test {
                Some(test) if test.compares() => "(\"status\", \"eq\", \"new\")",
                Some(_) => "(\"status\", \"none\")",
                None => "(\"status\")",
            };
            return self.wrong(problem.help(format!("write {}{example}", filter.name)));
        }
        Expr::Select { keep, list, attribute, test: test.map(|test| (test, compared)) }
    }

    fn filter_named(&mut self, name: &str, at: SourceRange) -> Option<&'static Filter> {
        let found = filters::named(name);
        if found.is_none() {
            let known = filters::names();
            let call = self.source.get(at.0..at.1).unwrap_or_default();
            let is_field = call.trim_start_matches(['|', ' ']).starts_with("map") && nearest(name, known.iter().copied()).is_empty();
            if is_field && super::super::habits::filter(name, name).is_none() {
                let problem = TemplateProblem::unknown(at, format!("there is no filter \"{name}\"; a field is named with attribute="));
                self.problems.push(problem.help(format!("write map(attribute='{name}')")));
                return None;
            }
            let problem = self.unknown(at, "filter", name, &known);
            self.problems.push(problem);
        }
        found
    }

    fn filter_arguments(&mut self, filter: &'static Filter, at: SourceRange, given: &[ast::CallArg<'s>]) -> Option<FilterArguments> {
        let what = format!("the filter {}", filter.name);
        let arguments = self.arguments(&what, at, filter.parameters, filter.required, given)?;
        if let Some(Some(Expr::Constant(first))) = arguments.first()
            && let Err(stop) = (filter.check)(first)
        {
            let problem = TemplateProblem::syntax(at, stop.message);
            self.problems.push(match (stop.help, filter.example) {
                (help, _) if !help.is_empty() => problem.help(help),
                (_, "") => problem,
                (_, example) => problem.help(format!("write it as in: {example}")),
            });
        }
        Some(arguments)
    }

    /// Puts what is given in the order of the parameters.
    pub(super) fn arguments(
        &mut self,
        what: &str,
        at: SourceRange,
        parameters: &[&str],
        required: usize,
        given: &[ast::CallArg<'s>],
    ) -> Option<FilterArguments> {
        let mut arguments: FilterArguments = if given.is_empty() { vec![] } else { parameters.iter().map(|_| None).collect() };
        for (index, argument) in given.iter().enumerate() {
            let (index, value) = match argument {
                ast::CallArg::Pos(value) => (Some(index), value),
                ast::CallArg::Kwarg(name, value) => (parameters.iter().position(|known| known == name), value),
                ast::CallArg::PosSplat(_) | ast::CallArg::KwargSplat(_) => {
                    self.problems.push(TemplateProblem::syntax(at, format!("give {what} its values one by one, without \"*\"")));
                    return None;
                }
            };
            let value = self.expression(value);
            match index.and_then(|index| arguments.get_mut(index)) {
                Some(place @ None) => *place = Some(value),
                _ => {
                    let known = if parameters.is_empty() { "nothing".to_owned() } else { parameters.join(", ") };
                    self.problems
                        .push(TemplateProblem::syntax(at, format!("{what} is given something it does not take; it takes: {known}")));
                    return None;
                }
            }
        }
        if let Some(name) = parameters.iter().take(required).zip(0..).find(|(_, index)| !matches!(arguments.get(*index), Some(Some(_)))) {
            self.problems.push(TemplateProblem::syntax(at, format!("{what} needs its {}", name.0)));
            return None;
        }
        Some(arguments)
    }

    pub(super) fn plain_argument(&mut self, argument: &ast::CallArg<'s>, at: SourceRange) -> Option<Expr> {
        match positional(argument) {
            Some(value) => Some(self.expression(value)),
            None => {
                self.problems.push(TemplateProblem::syntax(at, "a test takes a value without a name"));
                None
            }
        }
    }
}

fn positional<'a, 's>(argument: &'a ast::CallArg<'s>) -> Option<&'a ast::Expr<'s>> {
    match argument {
        ast::CallArg::Pos(value) => Some(value),
        _ => None,
    }
}

fn constant_text(expression: &ast::Expr<'_>) -> Option<String> {
    match expression {
        ast::Expr::Const(constant) => constant.value.as_str().map(str::to_owned),
        _ => None,
    }
}
