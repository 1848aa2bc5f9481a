//! What holds for every run of a pipeline, whatever models, tools and people say: each guarantee holds, holds on a condition, or is broken on a way
//! that can be shown. The rules about single texts (F411, F606, F607, F609 and others) find the plain cases where they stand; this follows values over
//! steps, routes, loops, called pipelines and tools.
//!
//! How to add a guarantee: its variant, its sentence and its arm in [`of`]; a file that works it out; a row in docs/guarantees.md.

mod bounded;
mod effects_keyed;
mod model_text_judged;
mod personal_declared;
mod secrets_kept;
mod sites;

use std::collections::HashSet;

use strum::VariantArray;

use crate::model::{Guarantee, PipelineId};
use crate::plan::Plan;
use crate::source::Span;

/// Whether a guarantee holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuaranteeVerdict {
    /// In every run. What it rests on, one sentence each.
    Holds(Vec<String>),
    /// In every run in which these hold, each with the way on which it is needed.
    HoldsIf(Vec<Exception>),
    /// Not in every run: the ways on which it is broken, one for each place where a value arrives.
    Broken(Vec<Exception>),
}

impl GuaranteeVerdict {
    /// In words that a reason may follow.
    pub fn words(&self) -> &'static str {
        match self {
            GuaranteeVerdict::Holds(_) => "holds",
            GuaranteeVerdict::HoldsIf(_) => "holds if",
            GuaranteeVerdict::Broken(_) => "broken",
        }
    }
}

/// A way on which a guarantee is broken, or rests on a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// What happens there; of a condition, what must hold.
    pub message: String,
    /// Where it happens.
    pub span: Span,
    /// The way to there, from its beginning: place and words.
    pub way: Vec<(Span, String)>,
    /// The change that makes it hold.
    pub help: String,
}

/// Whether a guarantee holds for a pipeline with all that it calls.
pub fn of(plan: &Plan, pipeline: PipelineId, guarantee: Guarantee) -> GuaranteeVerdict {
    match guarantee {
        Guarantee::ModelTextJudged => model_text_judged::verdict(plan, pipeline),
        Guarantee::SecretsKept => secrets_kept::verdict(plan, pipeline),
        Guarantee::PersonalDeclared => personal_declared::verdict(plan, pipeline),
        Guarantee::Bounded => bounded::verdict(plan, pipeline),
        Guarantee::EffectsKeyed => effects_keyed::verdict(plan, pipeline),
    }
}

/// One line for each guarantee of the first pipeline, for a drawing or an editor.
pub fn lines(plan: &Plan) -> Vec<String> {
    let line = |guarantee: &Guarantee| {
        let verdict = of(plan, PipelineId(0), *guarantee);
        let first = match &verdict {
            GuaranteeVerdict::Holds(_) => None,
            GuaranteeVerdict::HoldsIf(exceptions) | GuaranteeVerdict::Broken(exceptions) => exceptions.first(),
        };
        let first = first.map_or(String::new(), |first| format!(" {}", first.message));
        format!("{}: {}{first}", guarantee.word(), verdict.words())
    };
    if plan.pipelines.is_empty() { vec![] } else { Guarantee::VARIANTS.iter().map(line).collect() }
}

/// What was found on the ways of one guarantee.
#[derive(Default)]
struct WaysFound {
    broken: Vec<Exception>,
    conditions: Vec<Exception>,
    rests_on: Vec<String>,
    /// What is told already.
    known: HashSet<(Option<Span>, String)>,
}

impl WaysFound {
    fn verdict(mut self) -> GuaranteeVerdict {
        if !self.broken.is_empty() {
            return GuaranteeVerdict::Broken(self.broken);
        }
        if !self.conditions.is_empty() {
            return GuaranteeVerdict::HoldsIf(self.conditions);
        }
        self.rests_on.sort();
        self.rests_on.dedup();
        GuaranteeVerdict::Holds(self.rests_on)
    }

    /// What is broken at one place is told once, however often it is called.
    fn breaks(&mut self, span: Span, message: String, way: Vec<(Span, String)>, help: String) {
        if self.known.insert((Some(span), message.clone())) {
            self.broken.push(Exception { message, span, way, help });
        }
    }

    /// The same condition is told once.
    fn only_if(&mut self, span: Span, message: String, way: Vec<(Span, String)>, help: String) {
        if self.known.insert((None, message.clone())) {
            self.conditions.push(Exception { message, span, way, help });
        }
    }
}

#[cfg(test)]
mod tests;
