//! Whose values are part of what a text gives: the paths that it shows, and not those that it only tests, compares or counts.

use crate::model::{Form, Text};

use super::fill::compile;
use super::filters::{Filter, Gives};
use super::ready::CompiledForm;
use super::tree::{Expr, FilterArguments, For, LoopField, Statement};

/// A path whose value is part of what a text gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GivenPath {
    /// The names. It ends before the first part that is not written out.
    pub path: Vec<String>,
    /// How much of it.
    pub share: Share,
}

/// What a text gives of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Share {
    /// Something that is made of it.
    Part,
    /// A list, whose elements are what is at this path.
    Each,
    /// This very value: what is below it is below the path.
    Whole,
}

impl GivenPath {
    /// The path of what is below the value that the text gives.
    pub fn below(self, rest: &[String]) -> Vec<String> {
        match (self.share, rest.split_first()) {
            (Share::Whole, _) => [self.path, rest.to_vec()].concat(),
            (Share::Each, Some((place, rest))) if is_place(place) => [self.path, rest.to_vec()].concat(),
            (Share::Each | Share::Part, _) => self.path,
        }
    }

    fn part(self) -> GivenPath {
        GivenPath { share: Share::Part, ..self }
    }
}

/// In a path, any element of a list.
pub const EACH: &str = "*";

/// Whether a part of a path is a place in a list, or any place.
pub fn is_place(part: &str) -> bool {
    part == EACH || part.parse::<usize>().is_ok()
}

/// The paths whose values are part of what a text gives, each once. Numbers, texts and lists that are made of a value count; whether something is
/// there, equal, or how long it is, does not.
pub fn value_paths(text: &Text) -> Vec<GivenPath> {
    walked(text, false)
}

/// The paths that a text reads, also those that it only tests, compares or counts; with the fields of elements.
pub fn reached(text: &Text) -> Vec<GivenPath> {
    walked(text, true)
}

fn walked(text: &Text, tests: bool) -> Vec<GivenPath> {
    if text.form == Form::Plain {
        return vec![];
    }
    let Ok(compiled) = compile(text) else {
        // Reported; nothing follows from it, so everything it reads may be in it.
        return text.reads.iter().map(|read| GivenPath { path: read.path.clone(), share: Share::Part }).collect();
    };
    let mut walk = GivenWalk { tests, locals: vec![], loops: vec![], found: vec![] };
    match compiled.form() {
        CompiledForm::Plain(_) => {}
        CompiledForm::Template(nodes) => walk.statements(nodes),
        CompiledForm::Expression(expression) => {
            let value = walk.value(expression);
            walk.found.extend(value);
        }
    }
    walk.found.sort();
    walk.found.dedup();
    walk.found
}

/// What a loop variable is.
#[derive(Clone)]
enum LocalValue {
    Of(Vec<GivenPath>),
    /// A pair of `groupby`.
    Group {
        key: Vec<GivenPath>,
        list: Vec<GivenPath>,
    },
}

struct GivenWalk {
    /// Whether what is only tested counts, too.
    tests: bool,
    /// The loop variables from the outermost loop on.
    locals: Vec<LocalValue>,
    /// The elements of each loop around.
    loops: Vec<Vec<GivenPath>>,
    found: Vec<GivenPath>,
}

/// The elements of lists.
fn elements(lists: Vec<GivenPath>) -> Vec<GivenPath> {
    let each = |mut list: GivenPath| match list.share {
        Share::Whole => {
            list.path.push(EACH.to_owned());
            list
        }
        Share::Each => GivenPath { share: Share::Whole, ..list },
        Share::Part => list,
    };
    lists.into_iter().map(each).collect()
}

/// A list of such elements.
fn listed(elements: Vec<GivenPath>) -> Vec<GivenPath> {
    let list = |one: GivenPath| match one.share {
        Share::Whole => GivenPath { share: Share::Each, ..one },
        Share::Each | Share::Part => one.part(),
    };
    elements.into_iter().map(list).collect()
}

/// What is below values.
fn field(values: Vec<GivenPath>, name: &str) -> Vec<GivenPath> {
    let below = |value: GivenPath| match value.share {
        Share::Whole => GivenPath { path: [value.path, vec![name.to_owned()]].concat(), share: Share::Whole },
        Share::Each if is_place(name) => GivenPath { share: Share::Whole, ..value },
        Share::Each | Share::Part => value.part(),
    };
    values.into_iter().map(below).collect()
}

/// What is below values at a path of names with dots, as `attribute` has it.
fn fields(values: Vec<GivenPath>, names: &Expr) -> Option<Vec<GivenPath>> {
    let Expr::Constant(names) = names else { return None };
    Some(super::print::key_text(names).split('.').fold(values, field))
}

fn parts(values: Vec<GivenPath>) -> impl Iterator<Item = GivenPath> {
    values.into_iter().map(GivenPath::part)
}

impl GivenWalk {
    fn statements(&mut self, nodes: &[Statement]) {
        for node in nodes {
            match node {
                Statement::Raw(_) => {}
                Statement::Print(expression, _) => self.shows(expression),
                Statement::If(branches, otherwise) => {
                    for branch in branches {
                        self.tested(&branch.condition);
                        self.statements(&branch.body);
                    }
                    self.statements(otherwise);
                }
                Statement::For(repeat) => self.repeat(repeat),
            }
        }
    }

    fn repeat(&mut self, repeat: &For) {
        let (list, names) = self.loop_values(repeat);
        let before = self.locals.len();
        self.locals.extend(names);
        self.loops.push(list);
        repeat.condition.iter().for_each(|condition| self.tested(condition));
        self.statements(&repeat.body);
        self.loops.pop();
        self.locals.truncate(before);
        self.statements(&repeat.otherwise);
    }

    /// The elements of a loop's list, and what each of its names is.
    fn loop_values(&mut self, repeat: &For) -> (Vec<GivenPath>, Vec<LocalValue>) {
        if let Expr::Filter(filter, list, arguments) = &repeat.list
            && filter.gives == Gives::Groups
            && let Some((key, list)) = self.groups(filter, list, arguments)
        {
            let all = parts([key.clone(), list.clone()].concat()).collect();
            let names = match repeat.names {
                1 => vec![LocalValue::Group { key, list }],
                _ => vec![LocalValue::Of(key), LocalValue::Of(list)],
            };
            return (all, names);
        }
        let list = elements(self.value(&repeat.list));
        // Of pairs each name is a part.
        let own = if repeat.names == 1 { list.clone() } else { parts(list.clone()).collect() };
        (list, vec![LocalValue::Of(own); repeat.names])
    }

    /// What the keys and the lists of `groupby` are made of; `None`: its field is not written out.
    fn groups(&mut self, filter: &Filter, list: &Expr, arguments: &FilterArguments) -> Option<(Vec<GivenPath>, Vec<GivenPath>)> {
        let each = elements(self.value(list));
        let mut key = fields(each.clone(), filter.argument(arguments, "attribute")?)?;
        key.extend(filter.argument(arguments, "default").into_iter().flat_map(|default| self.value(default)));
        Some((key, listed(each)))
    }

    /// A value that is part of what the text gives.
    fn shows(&mut self, expression: &Expr) {
        let value = self.value(expression);
        self.found.extend(parts(value));
    }

    /// A value by which something is chosen.
    fn tested(&mut self, expression: &Expr) {
        if self.tests {
            self.shows(expression);
        }
    }

    /// A field of each element by which something is chosen.
    fn tested_field(&mut self, each: &[GivenPath], name: Option<&Expr>) {
        let Some(name) = name.filter(|_| self.tests) else { return };
        match fields(each.to_vec(), name) {
            Some(values) => self.found.extend(parts(values)),
            None => self.shows(name),
        }
    }

    /// What the value of an expression is made of.
    fn value(&mut self, expression: &Expr) -> Vec<GivenPath> {
        if let Some(path) = expression.names() {
            return vec![GivenPath { path, share: Share::Whole }];
        }
        match expression {
            Expr::Constant(_) | Expr::Missing | Expr::Global(_) => vec![],
            Expr::Local(place) => match self.locals.get(*place) {
                Some(LocalValue::Of(value)) => value.clone(),
                Some(LocalValue::Group { key, list }) => parts([key.clone(), list.clone()].concat()).collect(),
                None => vec![],
            },
            Expr::Loop(place, LoopField::PrevItem | LoopField::NextItem) => self.loops.get(*place).cloned().unwrap_or_default(),
            Expr::Loop(
                _,
                LoopField::Index
                | LoopField::Index0
                | LoopField::RevIndex
                | LoopField::RevIndex0
                | LoopField::First
                | LoopField::Last
                | LoopField::Length,
            ) => vec![],
            Expr::Not(inner) | Expr::Defined(inner) => self.chosen_by([&**inner]),
            Expr::Compare(..) | Expr::Test(..) => self.chosen_by(expression.parts()),
            Expr::If(both, otherwise) => {
                self.tested(&both[0]);
                let mut value = self.value(&both[1]);
                otherwise.iter().for_each(|other| value.extend(self.value(other)));
                value
            }
            Expr::And(one, other) | Expr::Or(one, other) => [self.value(one), self.value(other)].concat(),
            Expr::Default(value, arguments) => {
                let other = arguments.iter().flatten().take(1).flat_map(|other| self.value(other)).collect();
                [self.value(value), other].concat()
            }
            Expr::Attribute(base, name) => self.below(base, name),
            Expr::Item(base, item) => match &**item {
                Expr::Constant(key) => self.below(base, &super::print::key_text(key)),
                // Counted from the end: any of a list.
                Expr::Negative(_) => field(self.value(base), EACH),
                _ => {
                    let by = self.choosing(base, [&**item]);
                    parts(self.value(base)).chain(by).collect()
                }
            },
            Expr::Slice(base, bounds) => {
                let by = self.choosing(base, bounds.iter().flatten().map(|bound| &**bound));
                listed(elements(self.value(base))).into_iter().chain(by).collect()
            }
            Expr::Select { list, attribute, test, .. } => {
                let each = elements(self.value(list));
                self.tested_field(&each, Some(attribute));
                test.iter().filter_map(|(_, other)| other.as_deref()).for_each(|other| self.tested(other));
                listed(each)
            }
            Expr::MapAttribute(list, attribute, default) => {
                let list = self.value(list);
                let mut value = match fields(elements(list.clone()), attribute) {
                    Some(value) => listed(value),
                    None => {
                        self.tested(attribute);
                        parts(list).collect()
                    }
                };
                value.extend(default.iter().flat_map(|default| listed(self.value(default))));
                value
            }
            Expr::Filter(filter, value, arguments) => self.filtered(filter, value, arguments),
            Expr::MapFilter(filter, list, _) if filter.gives == Gives::Count => self.chosen_by([&**list]),
            Expr::List(items) => items.iter().flat_map(|item| listed(self.value(item))).collect(),
            Expr::Negative(_) | Expr::Arithmetic(..) | Expr::Concatenate(..) | Expr::Map(_) | Expr::Range(_) | Expr::MapFilter(..) => {
                self.made_of(expression.parts())
            }
        }
    }

    fn made_of<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) -> Vec<GivenPath> {
        list.into_iter().flat_map(|part| parts(self.value(part))).collect()
    }

    /// What values give that choose a place in something. With letters of the author's, one after the other, they could write anything.
    fn choosing<'e>(&mut self, base: &Expr, by: impl IntoIterator<Item = &'e Expr>) -> Vec<GivenPath> {
        match base {
            Expr::Map(_) => self.chosen_by(by),
            _ if base.names().is_some() => self.chosen_by(by),
            _ => self.made_of(by),
        }
    }

    /// One of the author's words, chosen by values.
    fn chosen_by<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) -> Vec<GivenPath> {
        list.into_iter().for_each(|part| self.tested(part));
        vec![]
    }

    fn below(&mut self, base: &Expr, name: &str) -> Vec<GivenPath> {
        if let Expr::Local(place) = base
            && let Some(LocalValue::Group { key, list }) = self.locals.get(*place)
        {
            match name {
                "grouper" | "0" => return key.clone(),
                "list" | "1" => return list.clone(),
                _ => {}
            }
        }
        field(self.value(base), name)
    }

    /// What filters give that only choose, order, count or group; of all others, what is made of what they are given.
    fn filtered(&mut self, filter: &Filter, value: &Expr, arguments: &FilterArguments) -> Vec<GivenPath> {
        let attribute = filter.argument(arguments, "attribute");
        match filter.gives {
            Gives::Count => self.chosen_by([value]),
            Gives::Element | Gives::Elements | Gives::Same => {
                let each = elements(self.value(value));
                self.tested_field(&each, attribute);
                if filter.gives == Gives::Element { each } else { listed(each) }
            }
            Gives::Groups => match self.groups(filter, value, arguments) {
                Some((key, list)) => parts([key, list].concat()).collect(),
                None => {
                    attribute.into_iter().for_each(|name| self.tested(name));
                    parts(self.value(value)).collect()
                }
            },
            Gives::Text | Gives::Spelled(_) | Gives::DateText | Gives::Number | Gives::Texts => self.made_by(value, attribute, arguments),
            Gives::Pairs | Gives::Moment | Gives::Anything => self.made_by(value, attribute, arguments),
        }
    }

    /// What is made of all that a filter is given: of each element this field, if one is named.
    fn made_by(&mut self, value: &Expr, attribute: Option<&Expr>, arguments: &FilterArguments) -> Vec<GivenPath> {
        let value = self.value(value);
        let shown = attribute.and_then(|attribute| fields(elements(value.clone()), attribute)).unwrap_or(value);
        let others = arguments.iter().flatten().filter(|argument| attribute.is_none_or(|attribute| !std::ptr::eq(attribute, *argument)));
        parts(shown).chain(self.made_of(others)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TextPlace;

    fn paths_of(source: &str) -> String {
        let mut found = vec![];
        let text = crate::template::text(source, TextPlace::default(), &mut found);
        assert!(found.is_empty(), "{source}: {found:?}");
        all(value_paths(&text))
    }

    fn all(paths: Vec<GivenPath>) -> String {
        let word = |share| match share {
            Share::Whole => "!",
            Share::Each => "[]",
            Share::Part => "",
        };
        paths.into_iter().map(|given| format!("{}{}", given.path.join("."), word(given.share))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_shown_is_given_and_what_is_tested_is_not() {
        for (source, paths) in [
            ("plain", ""),
            ("{{ inputs.a }}", "inputs.a!"),
            ("x{{ inputs.a }}", "inputs.a"),
            ("{{ inputs.a.b[0].c }}", "inputs.a.b.0.c!"),
            ("{{ inputs.a[inputs.b] }}", "inputs.a"),
            // Letters of the author's, one after the other, could write anything.
            ("{% for i in inputs.a %}{{ 'abc'[i] }}{% endfor %}{{ 'abc'[:inputs.b] }}", "inputs.a.* inputs.b"),
            ("{{ {'a': 'one'}[inputs.a] }}", ""),
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
                "inputs.a.*.name inputs.b",
            ),
            ("{{ (inputs.a | first).b }}", "inputs.a.*.b!"),
            ("{{ inputs.a[-1].b }}", "inputs.a.*.b!"),
            ("{{ inputs.a[:1] | map(attribute='b') }}", "inputs.a.*.b[]"),
            ("{{ (inputs.a | reverse)[0].b }}", "inputs.a.*.b!"),
            ("{{ inputs.a | sort(attribute='n') | map(attribute='b') | first }}", "inputs.a.*.b!"),
            ("{{ inputs.a | map(attribute='b') | map(attribute='c') | join }}", "inputs.a.*.b.c"),
            ("{{ (inputs.a | min(attribute='n')).b }}", "inputs.a.*.b!"),
            (
                "{% for k, es in inputs.a | groupby('k') %}{{ k }}{% for e in es %}{{ e.b }}{% endfor %}{% endfor %}",
                "inputs.a.*.b inputs.a.*.k",
            ),
            (
                "{% for g in inputs.a | groupby('k') %}{{ g.grouper }}{{ g.list | map(attribute='b') }}{% endfor %}",
                "inputs.a.*.b inputs.a.*.k",
            ),
            ("{{ inputs.a | groupby('k') }}", "inputs.a.* inputs.a.*.k"),
            ("{% for x in [inputs.a, inputs.b] %}{{ x.c }}{% endfor %}", "inputs.a.c inputs.b.c"),
            ("{{ inputs.a | reverse }}", "inputs.a.*[]"),
            ("{% for x in inputs.a %}{{ loop.index }}{% endfor %}", ""),
            ("{% for x in inputs.a %}{% for y in x.rows %}{{ y }}{% endfor %}{% endfor %}", "inputs.a.*.rows.*"),
            ("{{ [inputs.a, { 'k': inputs.b }] }}", "inputs.a[] inputs.b"),
            ("{{ inputs.a | map(attribute='x.y') | join(', ') }}", "inputs.a.*.x.y"),
            ("{{ inputs.a | map(attribute=inputs.b) | join(', ') }}", "inputs.a"),
            ("{{ inputs.a or inputs.b }}", "inputs.a! inputs.b!"),
        ] {
            assert_eq!(paths_of(source), paths, "{source}");
        }
    }

    #[test]
    fn what_is_tested_is_reached() {
        for (source, paths) in [
            ("{{ 'x' if inputs.a == inputs.b else inputs.c }}", "inputs.a inputs.b inputs.c!"),
            (
                "{% for x in inputs.a if x.ok %}{% if x.b %}{{ x.c | length }}{% endif %}{% endfor %}",
                "inputs.a.*.b inputs.a.*.c inputs.a.*.ok",
            ),
            ("{{ inputs.a | selectattr('ok') | list | length }}", "inputs.a.* inputs.a.*.ok"),
            ("{{ inputs.a | sort(attribute='n') | map(attribute='b') | list }}", "inputs.a.*.b[] inputs.a.*.n"),
        ] {
            let text = crate::template::text(source, TextPlace::default(), &mut vec![]);
            assert_eq!(all(reached(&text)), paths, "{source}");
        }
    }
}
