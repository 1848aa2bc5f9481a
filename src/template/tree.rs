//! A text ready to be filled: every name, filter and test is resolved, nothing borrows from the source.

use super::Value;
use super::filters::Filter;
use super::number::Arithmetic;

/// A stretch of the source, in bytes.
pub(super) type At = (usize, usize);

/// A statement.
#[derive(Debug)]
pub(super) enum Node {
    /// Text as it stands.
    Raw(Box<str>),
    /// `{{ … }}`.
    Print(Expr, At),
    /// `if` with its `elif`s, and what `else` holds.
    If(Vec<Branch>, Vec<Node>),
    /// `for`.
    For(Box<For>),
}

/// One `if` or `elif`.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) condition: Expr,
    pub(super) at: At,
    pub(super) body: Vec<Node>,
}

/// A loop.
#[derive(Debug)]
pub(super) struct For {
    /// How many names each element is spread over; 1 takes it whole.
    pub(super) names: usize,
    pub(super) list: Expr,
    pub(super) at: At,
    /// Elements for which this is not true are passed over.
    pub(super) condition: Option<Expr>,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
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
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    /// `a if condition else b`.
    If(Box<[Expr; 2]>, Option<Box<Expr>>),
    /// What a guarded `a if condition` gives without `else`.
    Missing,
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Range(Arguments),
    Filter(&'static Filter, Box<Expr>, Arguments),
    /// `default(other, also_empty)`.
    Default(Box<Expr>, Arguments),
    /// `is defined`.
    Defined(Box<Expr>),
    Test(Test, Box<Expr>, Option<Box<Expr>>),
    /// `map("filter", …)`.
    MapFilter(&'static Filter, Box<Expr>, Arguments),
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
pub(super) type Arguments = Vec<Option<Expr>>;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// What `is …` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

impl Test {
    /// Every test with the name authors write.
    pub(super) const ALL: &'static [(&'static str, Test)] = &[
        ("defined", Test::Defined),
        ("undefined", Test::Undefined),
        ("none", Test::None),
        ("number", Test::Number),
        ("string", Test::String),
        ("boolean", Test::Boolean),
        ("sequence", Test::Sequence),
        ("mapping", Test::Mapping),
        ("in", Test::In),
    ];

    /// The test of this name.
    pub(super) fn named(name: &str) -> Option<Test> {
        Test::ALL.iter().find(|(known, _)| *known == name).map(|(_, test)| *test)
    }
}

/// What `loop.` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopField {
    Index,
    Index0,
    RevIndex,
    RevIndex0,
    First,
    Last,
    Length,
    Previous,
    Next,
}

impl LoopField {
    /// Every field with the name authors write.
    pub(super) const ALL: &'static [(&'static str, LoopField)] = &[
        ("index", LoopField::Index),
        ("index0", LoopField::Index0),
        ("revindex", LoopField::RevIndex),
        ("revindex0", LoopField::RevIndex0),
        ("first", LoopField::First),
        ("last", LoopField::Last),
        ("length", LoopField::Length),
        ("previtem", LoopField::Previous),
        ("nextitem", LoopField::Next),
    ];
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
}
