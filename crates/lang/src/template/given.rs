//! Whose values are part of what a text gives: the paths that it shows, and not those that it only tests, compares or counts.

use crate::model::{Form, Text};

use super::fill::compile;
use super::ready::CompiledForm;
use super::tree::{Expr, For, LoopField, Statement};

/// A path whose value is part of what a text gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GivenPath {
    /// The names. It ends before the first part that is not written out.
    pub path: Vec<String>,
    /// Whether the text gives this very value: what is below it is below the path.
    pub is_whole: bool,
}

/// In a path, any element of a list.
pub const EACH: &str = "*";

/// Whether a part of a path is a place in a list, or any place.
pub fn is_place(part: &str) -> bool {
    part == EACH || part.parse::<usize>().is_ok()
}

/// The paths whose values are part of what a text gives, each once. Numbers, texts and lists that are made of a value count; whether something is
/// there, equal, or how long it is, does not.
pub fn given(text: &Text) -> Vec<GivenPath> {
    if text.form == Form::Plain {
        return vec![];
    }
    let Ok(compiled) = compile(text) else {
        // Reported; nothing follows from it, so everything it reads may be in it.
        return text.reads.iter().map(|read| GivenPath { path: read.path.clone(), is_whole: false }).collect();
    };
    let mut walk = GivenWalk { locals: vec![], loops: vec![], found: vec![] };
    match compiled.form() {
        CompiledForm::Plain(_) => {}
        CompiledForm::Template(nodes) => walk.statements(nodes),
        CompiledForm::Expression(expression) => walk.expression(expression, true),
    }
    walk.found.sort();
    walk.found.dedup();
    walk.found
}

struct GivenWalk {
    /// For each loop variable from the outermost loop on, the paths that its elements are of.
    locals: Vec<Vec<GivenPath>>,
    /// The same for each loop around.
    loops: Vec<Vec<GivenPath>>,
    found: Vec<GivenPath>,
}

impl GivenWalk {
    fn statements(&mut self, nodes: &[Statement]) {
        for node in nodes {
            match node {
                Statement::Raw(_) => {}
                Statement::Print(expression, _) => self.expression(expression, false),
                Statement::If(branches, otherwise) => {
                    branches.iter().for_each(|branch| self.statements(&branch.body));
                    self.statements(otherwise);
                }
                Statement::For(repeat) => self.repeat(repeat),
            }
        }
    }

    fn repeat(&mut self, repeat: &For) {
        let mut list = self.only(&repeat.list);
        // Of pairs each name is a part.
        list.iter_mut().for_each(|given| given.is_whole &= repeat.names == 1);
        let before = self.locals.len();
        self.locals.extend(std::iter::repeat_n(list.clone(), repeat.names));
        self.loops.push(list);
        self.statements(&repeat.body);
        self.loops.pop();
        self.locals.truncate(before);
        self.statements(&repeat.otherwise);
    }

    /// The paths that a list is made of; whole, if its elements are those of the path.
    fn only(&mut self, expression: &Expr) -> Vec<GivenPath> {
        let outside = std::mem::take(&mut self.found);
        // Some of the elements, each as it is.
        let mut list = expression;
        while let Expr::Select { list: inner, .. } = list {
            list = inner;
        }
        self.expression(list, true);
        std::mem::replace(&mut self.found, outside)
    }

    /// What is below each element of these lists. Of a value that is only made of a list, it may be anything in that.
    fn below_each(&mut self, lists: Vec<GivenPath>, names: &[String], is_whole: bool) {
        self.found.extend(lists.into_iter().map(|list| match list.is_whole {
            true => GivenPath { path: [list.path, vec![EACH.to_owned()], names.to_vec()].concat(), is_whole },
            false => list,
        }));
    }

    /// `is_whole`: the text gives what this expression gives.
    fn expression(&mut self, expression: &Expr, is_whole: bool) {
        if let Some(path) = expression.names() {
            self.found.push(GivenPath { path, is_whole });
            return;
        }
        if let Some((place, names)) = local_names(expression) {
            let lists = self.locals.get(place).cloned().unwrap_or_default();
            return self.below_each(lists, &names, is_whole);
        }
        match expression {
            Expr::Constant(_) | Expr::Missing | Expr::Global(_) | Expr::Local(_) => {}
            Expr::Loop(place, LoopField::PrevItem | LoopField::NextItem) => {
                let lists = self.loops.get(*place).cloned().unwrap_or_default();
                self.below_each(lists, &[], false);
            }
            Expr::Loop(
                _,
                LoopField::Index
                | LoopField::Index0
                | LoopField::RevIndex
                | LoopField::RevIndex0
                | LoopField::First
                | LoopField::Last
                | LoopField::Length,
            ) => {}
            Expr::Not(_) | Expr::Compare(..) | Expr::Test(..) | Expr::Defined(_) => {}
            Expr::If(both, otherwise) => {
                self.expression(&both[1], is_whole);
                otherwise.iter().for_each(|other| self.expression(other, is_whole));
            }
            Expr::And(one, other) | Expr::Or(one, other) => [one, other].into_iter().for_each(|side| self.expression(side, is_whole)),
            Expr::Default(value, arguments) => {
                self.expression(value, is_whole);
                arguments.iter().flatten().take(1).for_each(|other| self.expression(other, is_whole));
            }
            Expr::Attribute(base, _) | Expr::Item(base, _) | Expr::Slice(base, _) => self.expression(base, false),
            // A number that says how many there are shows none of them.
            Expr::Filter(filter, ..) if filter.name == "length" => {}
            Expr::Select { list, .. } => self.expression(list, false),
            Expr::MapAttribute(list, attribute, default) => {
                match &**attribute {
                    Expr::Constant(name) => {
                        let names: Vec<String> = super::print::key_text(name).split('.').map(str::to_owned).collect();
                        let lists = self.only(list);
                        self.below_each(lists, &names, false);
                    }
                    _ => self.expression(list, false),
                }
                default.iter().for_each(|default| self.expression(default, false));
            }
            Expr::Negative(_)
            | Expr::Arithmetic(..)
            | Expr::Concatenate(..)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Range(_)
            | Expr::Filter(..)
            | Expr::MapFilter(..) => expression.parts().into_iter().for_each(|part| self.expression(part, false)),
        }
    }
}

/// The loop variable that a path begins with, and the names below it.
fn local_names(expression: &Expr) -> Option<(usize, Vec<String>)> {
    let (place, mut names, last) = match expression {
        Expr::Local(place) => return Some((*place, vec![])),
        Expr::Attribute(base, name) => {
            let (place, names) = local_names(base)?;
            (place, names, name.to_string())
        }
        Expr::Item(base, item) => {
            let Expr::Constant(key) = &**item else { return None };
            let (place, names) = local_names(base)?;
            (place, names, super::print::key_text(key))
        }
        _ => return None,
    };
    names.push(last);
    Some((place, names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TextPlace;

    fn shown(source: &str) -> String {
        let mut found = vec![];
        let text = crate::template::text(source, TextPlace::default(), &mut found);
        assert!(found.is_empty(), "{source}: {found:?}");
        let paths = given(&text).into_iter().map(|given| format!("{}{}", given.path.join("."), if given.is_whole { "!" } else { "" }));
        paths.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_shown_is_given_and_what_is_tested_is_not() {
        for (source, paths) in [
            ("plain", ""),
            ("{{ inputs.a }}", "inputs.a!"),
            ("x{{ inputs.a }}", "inputs.a"),
            ("{{ inputs.a.b[0].c }}", "inputs.a.b.0.c!"),
            ("{{ inputs.a[inputs.b] }}", "inputs.a"),
            ("{{ inputs.a if inputs.b == 'x' else inputs.c }}", "inputs.a! inputs.c!"),
            ("{{ inputs.a | default(inputs.b) }}", "inputs.a! inputs.b!"),
            ("{{ inputs.a | upper }}", "inputs.a"),
            ("{{ inputs.a | length }} {{ inputs.b is defined }} {{ inputs.a in inputs.b }}", ""),
            ("{{ 'x' ~ inputs.a ~ inputs.b | length }}", "inputs.a"),
            ("{% if inputs.a %}{{ inputs.b }}{% elif inputs.c %}x{% else %}{{ inputs.d }}{% endif %}", "inputs.b inputs.d"),
            ("{% for x in inputs.a %}{{ x.name }}{{ inputs.b }}{% endfor %}", "inputs.a.*.name inputs.b"),
            ("{% for x in inputs.a | selectattr('n') %}{{ x['b'].c }}{{ loop.previtem }}{% endfor %}", "inputs.a.* inputs.a.*.b.c"),
            (
                "{% for x in inputs.a | sort %}{{ x.name }}{% endfor %}{% for k, v in inputs.b | items %}{{ v.x }}{% endfor %}",
                "inputs.a inputs.b",
            ),
            ("{% for x in inputs.a %}{{ loop.index }}{% endfor %}", ""),
            ("{% for x in inputs.a %}{% for y in x.rows %}{{ y }}{% endfor %}{% endfor %}", "inputs.a.*.rows.*"),
            ("{{ [inputs.a, { 'k': inputs.b }] }}", "inputs.a inputs.b"),
            ("{{ inputs.a | map(attribute='x.y') | join(', ') }}", "inputs.a.*.x.y"),
            ("{{ inputs.a | map(attribute=inputs.b) | join(', ') }}", "inputs.a"),
            ("{{ inputs.a or inputs.b }}", "inputs.a! inputs.b!"),
        ] {
            assert_eq!(shown(source), paths, "{source}");
        }
    }
}
