//! Gates, scorecards, criteria and checks.

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::{Features, Filling, Text};
use crate::source::{Span, Spanned};

/// `gate`: a judgement of one value.
#[derive(Debug, Clone, PartialEq)]
pub struct GateStep {
    /// The scorecards, in order.
    pub scorecards: Vec<ScorecardRef>,
    /// What is judged.
    pub of: Text,
    /// Names for checks and the judge.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// The agent asked about criteria whose scorecard names none.
    pub judge: Option<Spanned<String>>,
    /// The upstream step that tries once more.
    pub refine: Option<Spanned<String>>,
    /// What the person gets when the gate is not met.
    pub otherwise: Option<Text>,
}

/// A scorecard of the file by name, or one that a step wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum ScorecardRef {
    /// Of the file.
    Named(Spanned<String>),
    /// An expression that gives a scorecard (or empty).
    Written(Text),
}

impl ScorecardRef {
    /// Its name, of one of the file.
    pub fn name(&self) -> Option<&Spanned<String>> {
        match self {
            ScorecardRef::Named(name) => Some(name),
            ScorecardRef::Written(_) => None,
        }
    }
}

/// A scorecard.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorecard {
    /// Where its name stands.
    pub span: Span,
    /// The agent that judges.
    pub judge: Option<Spanned<String>>,
    /// What a judge that cannot answer means.
    pub on_judge_error: OnJudgeError,
    /// The criteria; all must pass.
    pub criteria: Vec<Criterion>,
}

/// What a judge that cannot answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum OnJudgeError {
    /// The criterion counts as failed.
    #[default]
    Fail,
    /// It counts as passed, logged and flagged for review.
    Pass,
}

/// One measurable yes/no question.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// Its id.
    pub id: Spanned<String>,
    /// It is judged only if this is true.
    pub when: Option<Text>,
    /// At least 10 characters.
    pub description: String,
    /// What a good answer looks like.
    pub expected: Option<String>,
    /// What the writer is told when its checks fail, in place of what they say.
    pub feedback: Option<Text>,
    /// How it is answered.
    pub judging: Judging,
}

/// How a criterion is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Judging {
    /// By a judge.
    Judge,
    /// By checks; all must pass.
    Checks(Vec<Spanned<Check>>),
    /// Neither was given; reported.
    Neither,
}

/// Whether `a` is `A` where a text is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterCase {
    /// It is not.
    Exact,
    /// It is.
    Ignored,
}

/// A check that needs no model.
#[derive(Debug, Clone)]
pub enum Check {
    /// One in which nothing is filled in.
    Plain(PlainCheck),
    /// All of these texts occur.
    Contains(Vec<Text>, LetterCase),
    /// None of these texts occurs.
    NotContains(Vec<Text>, LetterCase),
    /// The value equals.
    Equals(Filling),
    /// Every figure in the text occurs in this value.
    NumbersFrom(Text),
    /// Every number of this value but 0 occurs in the text.
    StatesNumbers(Text),
    /// No check: what the text quotes from this value is left out of what the other checks look at.
    ApartFrom(Text),
    /// True means passed.
    Expression(Text),
}

impl Check {
    /// The texts of which its message quotes what is missing, or too much.
    pub fn quoted(&self) -> Vec<&Text> {
        match self {
            Check::Contains(texts, _) | Check::NotContains(texts, _) => texts.iter().collect(),
            Check::Equals(value) => value.texts(),
            Check::NumbersFrom(text) | Check::StatesNumbers(text) => vec![text],
            Check::Plain(_) | Check::ApartFrom(_) | Check::Expression(_) => vec![],
        }
    }
}

/// A check that is the same in each run.
#[derive(Debug, Clone)]
pub enum PlainCheck {
    /// The pattern matches somewhere in the text.
    Regex(Regex),
    /// The value fits the schema.
    JsonSchema(Arc<Value>),
    /// The text is no longer, in the channel's unit.
    MaxLength(u64),
    /// The text is no shorter, in the channel's unit.
    MinLength(u64),
    /// What is sent fits the channel's own limits.
    FitsChannel,
    /// Keeps to the style guide.
    StyleGuide,
    /// Uses no other Markdown.
    Markdown(Features),
    /// Has at most so many emojis.
    Emojis(u64),
    /// Is not in another language (ISO 639-1).
    Language(String),
    /// Has no personal data.
    PiiNone,
    /// Has links to these hosts only; empty: no links.
    Links(Vec<String>),
    /// Needs no more than this school grade (Flesch-Kincaid).
    Readability(f64),
}

impl PartialEq for Check {
    fn eq(&self, other: &Check) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}
