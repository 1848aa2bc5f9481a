//! A text of small or of capital letters that is compared with a text which has others.

use minijinja::machinery::ast::CompareOpKind;

use super::super::fill::compile;
use super::super::filters::{Gives, Respelling};
use super::super::ready::CompiledForm;
use super::super::tree::Expr;
use super::{TypeProblemKind, TypingWalk};
use crate::diagnostic::{Near, quoted};
use crate::model::{Form, Text};

/// What a filter leaves of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldedLetters {
    /// `lower`.
    Small,
    /// `upper`.
    Capital,
}

impl FoldedLetters {
    /// What an expression gives, as far as its last filters say.
    fn from_expression(expression: &Expr) -> Option<FoldedLetters> {
        match expression {
            Expr::Filter(filter, value, _) | Expr::MapFilter(filter, value, _) => match filter.gives {
                Gives::Spelled(Respelling::Small) => Some(FoldedLetters::Small),
                Gives::Spelled(Respelling::Capital) => Some(FoldedLetters::Capital),
                Gives::Spelled(Respelling::Trimmed | Respelling::Kept) | Gives::Element | Gives::Elements | Gives::Same => {
                    FoldedLetters::from_expression(value)
                }
                Gives::Text | Gives::DateText | Gives::Number | Gives::Count | Gives::Texts => None,
                Gives::Pairs | Gives::Groups | Gives::Moment | Gives::Anything => None,
            },
            _ => None,
        }
    }

    /// The spelling in which a text may occur, if it is another one.
    pub(crate) fn other_spelling(self, text: &str) -> Option<String> {
        let folded = match self {
            FoldedLetters::Small => text.to_lowercase(),
            FoldedLetters::Capital => text.to_uppercase(),
        };
        (folded != text).then_some(folded)
    }

    /// Why a text with other letters is never there.
    pub(crate) fn why(self) -> &'static str {
        match self {
            FoldedLetters::Small => "after \"lower\" a text has no capital letters",
            FoldedLetters::Capital => "after \"upper\" a text has no small letters",
        }
    }
}

/// The letters of what a bare expression gives.
pub(crate) fn folded_letters(text: &Text) -> Option<FoldedLetters> {
    let compiled = (text.form != Form::Plain).then(|| compile(text).ok())??;
    match compiled.form() {
        CompiledForm::Expression(expression) => FoldedLetters::from_expression(expression),
        CompiledForm::Plain(_) | CompiledForm::Template(_) => None,
    }
}

impl TypingWalk<'_> {
    /// A text without capital letters, or without small ones, beside one that has them.
    pub(super) fn letters(&mut self, comparison: CompareOpKind, left: &Expr, right: &Expr) {
        use CompareOpKind::{Eq, Gt, Gte, In, Lt, Lte, Ne, NotIn};
        let is_negative = matches!(comparison, Ne | NotIn);
        let (folded, others): (&Expr, Vec<&Expr>) = match (comparison, left, right) {
            (Eq | Ne, folded, other @ Expr::Constant(_)) | (Eq | Ne | In | NotIn, other @ Expr::Constant(_), folded) => {
                (folded, vec![other])
            }
            (In | NotIn, folded, Expr::List(items)) => (folded, items.iter().collect()),
            (Eq | Ne | In | NotIn | Lt | Lte | Gt | Gte, ..) => return,
        };
        let Some(letters) = FoldedLetters::from_expression(folded) else { return };
        for other in others {
            let Expr::Constant(value) = other else { continue };
            let Some((value, spelling)) = value.as_str().and_then(|value| Some((value, letters.other_spelling(value)?))) else { continue };
            let so = if is_negative { ", so this is always true" } else { "" };
            let message = format!("{} never occurs here{so}: {}", quoted(value), letters.why());
            let help = format!("write {} in place of {}", quoted(&spelling), quoted(value));
            let mut about = folded;
            while let Expr::Filter(_, inner, _) | Expr::MapFilter(_, inner, _) = about {
                about = inner;
            }
            self.push(about, TypeProblemKind::Comparison(message, help, Near::default()));
        }
    }
}
