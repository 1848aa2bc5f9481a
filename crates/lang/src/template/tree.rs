//! A text ready to be filled: every name, filter and test is resolved, nothing borrows from the source.

use minijinja::machinery::ast::CompareOpKind;
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::Value;
use super::filters::Filter;
use super::number::Arithmetic;

/// A stretch of the source, in bytes.
pub(super) type SourceRange = (usize, usize);

/// A statement.
#[derive(Debug)]
pub(super) enum Statement {
    /// Text as it stands.
    Raw(Box<str>),
    /// `{{ … }}`.
    Print(Expr, SourceRange),
    /// `if` with its `elif`s, and what `else` holds.
    If(Vec<Branch>, Vec<Statement>),
    /// `for`.
    For(Box<For>),
}

/// One `if` or `elif`.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) condition: Expr,
    pub(super) at: SourceRange,
    pub(super) body: Vec<Statement>,
}

/// A loop.
#[derive(Debug)]
pub(super) struct For {
    /// How many names each element is spread over; 1 takes it whole.
    pub(super) names: usize,
    pub(super) list: Expr,
    pub(super) at: SourceRange,
    /// Elements for which this is not true are passed over.
    pub(super) condition: Option<Expr>,
    pub(super) body: Vec<Statement>,
    pub(super) otherwise: Vec<Statement>,
}

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Constant(Value),
    /// A name of the scope.
    Global(Box<str>),
    /// A loop variable, counted from the outermost loop.
    Local(usize),
    /// A field of `loop`; the number counts loops from the outermost.
    Loop(usize, LoopField),
    Attribute(Box<Expr>, Box<str>),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, [Option<Box<Expr>>; 3]),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    Concatenate(Box<Expr>, Box<Expr>),
    /// `a < b < c`: true when every pair is.
    Compare(Box<Expr>, Vec<(CompareOpKind, Expr)>),
    /// `a if condition else b`.
    If(Box<[Expr; 2]>, Option<Box<Expr>>),
    /// What a guarded `a if condition` gives without `else`.
    Missing,
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Range(FilterArguments),
    Filter(&'static Filter, Box<Expr>, FilterArguments),
    /// `default(other, also_empty)`.
    Default(Box<Expr>, FilterArguments),
    /// `is defined`.
    Defined(Box<Expr>),
    Test(Test, Box<Expr>, Option<Box<Expr>>),
    /// `map("filter", …)`.
    MapFilter(&'static Filter, Box<Expr>, FilterArguments),
    /// `map(attribute=…, default=…)`.
    MapAttribute(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    /// `selectattr` (keep: true) and `rejectattr`, with the name of the field, a test, and what the test compares with.
    Select {
        keep: bool,
        list: Box<Expr>,
        attribute: Box<Expr>,
        test: Option<(Test, Option<Box<Expr>>)>,
    },
}

/// The values given to a filter, in the order of its parameters; what was left out is `None`.
pub(super) type FilterArguments = Vec<Option<Expr>>;

/// What `is …` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Test {
    Defined,
    Undefined,
    None,
    Number,
    String,
    Boolean,
    Sequence,
    Mapping,
    In,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Test {
    /// The comparison that it is, with what stands behind it.
    pub(super) fn comparison(self) -> Option<CompareOpKind> {
        Some(match self {
            Test::In => CompareOpKind::In,
            Test::Eq => CompareOpKind::Eq,
            Test::Ne => CompareOpKind::Ne,
            Test::Lt => CompareOpKind::Lt,
            Test::Le => CompareOpKind::Lte,
            Test::Gt => CompareOpKind::Gt,
            Test::Ge => CompareOpKind::Gte,
            Test::Defined | Test::Undefined | Test::None | Test::Number | Test::String | Test::Boolean | Test::Sequence | Test::Mapping => {
                return None;
            }
        })
    }

    /// Whether it compares with a value behind it.
    pub(super) fn compares(self) -> bool {
        self.comparison().is_some()
    }
}

/// What `loop.` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum LoopField {
    Index,
    Index0,
    RevIndex,
    RevIndex0,
    First,
    Last,
    Length,
    PrevItem,
    NextItem,
}

impl Expr {
    /// The path as an author writes it, if this is one.
    pub(super) fn path(&self) -> Option<String> {
        match self {
            Expr::Global(name) => Some(name.to_string()),
            Expr::Attribute(base, name) => Some(format!("{}.{name}", base.path()?)),
            Expr::Item(base, item) => match &**item {
                Expr::Constant(key) if key.as_str().is_some() => Some(format!("{}[\"{}\"]", base.path()?, key.as_str()?)),
                Expr::Constant(key) => Some(format!("{}[{key}]", base.path()?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The expressions it is made of, one level down.
    pub(super) fn parts(&self) -> Vec<&Expr> {
        fn present(arguments: &FilterArguments) -> impl Iterator<Item = &Expr> {
            arguments.iter().flatten()
        }
        match self {
            Expr::Constant(_) | Expr::Missing | Expr::Global(_) | Expr::Local(_) | Expr::Loop(..) => vec![],
            Expr::Attribute(one, _) | Expr::Not(one) | Expr::Negative(one) | Expr::Defined(one) => vec![one],
            Expr::Item(one, other)
            | Expr::And(one, other)
            | Expr::Or(one, other)
            | Expr::Concatenate(one, other)
            | Expr::Arithmetic(_, one, other) => vec![one, other],
            Expr::Slice(base, bounds) => std::iter::once(&**base).chain(bounds.iter().flatten().map(|bound| &**bound)).collect(),
            Expr::Compare(first, rest) => std::iter::once(&**first).chain(rest.iter().map(|(_, other)| other)).collect(),
            Expr::If(both, otherwise) => both.iter().chain(otherwise.as_deref()).collect(),
            Expr::List(items) => items.iter().collect(),
            Expr::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
            Expr::Range(arguments) => present(arguments).collect(),
            Expr::Filter(_, value, arguments) | Expr::MapFilter(_, value, arguments) | Expr::Default(value, arguments) => {
                std::iter::once(&**value).chain(present(arguments)).collect()
            }
            Expr::Test(_, value, other) => std::iter::once(&**value).chain(other.as_deref()).collect(),
            Expr::MapAttribute(list, attribute, default) => [&**list, attribute].into_iter().chain(default.as_deref()).collect(),
            Expr::Select { list, attribute, test, .. } => {
                let other = test.as_ref().and_then(|(_, other)| other.as_deref());
                [&**list, attribute].into_iter().chain(other).collect()
            }
        }
    }

    /// The parts of a path of names that is written out.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        match self {
            Expr::Global(name) => Some(vec![name.to_string()]),
            Expr::Attribute(base, name) => Some([base.names()?, vec![name.to_string()]].concat()),
            Expr::Item(base, item) => match &**item {
                Expr::Constant(key) => Some([base.names()?, vec![super::print::key_text(key)]].concat()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The loop variable that a path begins with, and the names below it.
    pub(super) fn local_names(&self) -> Option<(usize, Vec<String>)> {
        let (base, name) = match self {
            Expr::Local(place) => return Some((*place, vec![])),
            Expr::Attribute(base, name) => (base, name.to_string()),
            Expr::Item(base, item) => match &**item {
                Expr::Constant(key) => (base, super::print::key_text(key)),
                _ => return None,
            },
            _ => return None,
        };
        let (place, names) = base.local_names()?;
        Some((place, [names, vec![name]].concat()))
    }

    /// Adds every path of names that it reads.
    pub(super) fn add_reads(&self, reads: &mut Vec<Vec<String>>) {
        match self.names() {
            Some(names) => reads.push(names),
            None => self.parts().into_iter().for_each(|part| part.add_reads(reads)),
        }
    }
}
