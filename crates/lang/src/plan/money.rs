//! The most tokens and money that a run can use, as far as its limits and prices bound them.

use super::{AgentUse, Calls, PipelineBounds, Plan};
use crate::model::{DEFAULT_MODEL, Limits, Model, Price};

/// Most money of a run, and what bounds it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "bound")]
pub enum Cost {
    /// No model is asked.
    Nothing,
    /// All models are scripted.
    Scripted,
    /// Models without a price may be asked.
    Unpriced {
        /// Their names.
        models: Vec<String>,
    },
    /// `max_cost_usd`.
    Limit {
        /// US dollars.
        usd: f64,
    },
    /// `max_tokens`, at the dearest price.
    Tokens {
        /// US dollars.
        usd: f64,
    },
    /// Answers at the dearest price; prompts come on top.
    Answers {
        /// US dollars.
        usd: f64,
        /// Dearest price of a million tokens of prompts, in US dollars.
        prompts: f64,
    },
    /// There are prices, and no bound on tokens.
    Open {
        /// Dearest prices of a million tokens, in US dollars.
        prompts: f64,
        /// The same for answers.
        answers: f64,
    },
}

/// Most tokens of a run, and what bounds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "bound")]
pub enum Tokens {
    /// No model is asked.
    Nothing,
    /// `max_tokens`, prompts and answers together.
    Limit {
        /// Tokens.
        tokens: u64,
    },
    /// `max_output_tokens` of the models; prompts come on top.
    Answers {
        /// Tokens.
        tokens: u64,
    },
    /// Agent programs tell theirs after each call, so no call of one is bounded.
    Programs {
        /// `max_tokens`, which no call begins above.
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
    },
    /// Nothing bounds them.
    Open,
}

/// Whether an agent program may be asked.
pub fn asks_programs(plan: &Plan, bounds: &[PipelineBounds], default_model: Option<&Model>) -> bool {
    let is_program = |model: &Model| model.provider.program().is_some();
    plan.pipelines.iter().zip(bounds).any(|(planned, bounds)| {
        let names = bounds.steps.iter().flat_map(|step| &step.askings).flat_map(|asking: &AgentUse| &asking.models);
        let model = |name: &String| default_model.filter(|_| name == DEFAULT_MODEL).or_else(|| planned.pipeline.models.get(name));
        names.filter_map(|(name, _)| model(name)).any(is_program)
    })
}

/// Most tokens. `limits` are those in force for the whole run; `asks_programs`: see [`asks_programs`].
pub fn tokens(calls: &Calls, limits: &Limits, asks_programs: bool) -> Tokens {
    match (limits.max_tokens, calls.answer_tokens) {
        _ if calls.calls == 0 && calls.open.is_empty() => Tokens::Nothing,
        (tokens, _) if asks_programs => Tokens::Programs { tokens },
        (Some(tokens), _) => Tokens::Limit { tokens },
        (None, Some(tokens)) => Tokens::Answers { tokens },
        (None, None) => Tokens::Open,
    }
}

/// Most money. `bounds` are those of every pipeline of the plan, `limits` those in force for the whole run.
pub fn cost(plan: &Plan, bounds: &[PipelineBounds], default_model: Option<&Model>, limits: &Limits) -> Cost {
    let mut unpriced: Vec<String> = vec![];
    let mut prices: Vec<Price> = vec![];
    let mut asks = false;
    for (planned, bounds) in plan.pipelines.iter().zip(bounds) {
        for (name, _) in bounds.steps.iter().flat_map(|step| &step.askings).flat_map(|asking: &AgentUse| &asking.models) {
            asks = true;
            let replaced = default_model.filter(|_| name == DEFAULT_MODEL);
            let model = replaced.or_else(|| planned.pipeline.models.get(name));
            match model.and_then(|model| model.price) {
                _ if model.is_some_and(|model| model.provider.answers_from_a_file()) => {}
                Some(price) => prices.push(price),
                // What a call of it may cost is set aside before the call.
                None if limits.max_cost_usd.is_some() && model.is_some_and(Model::is_priced) => {
                    prices.push(Price { input: 0.0, output: 0.0 })
                }
                None if unpriced.contains(name) => {}
                None => unpriced.push(name.clone()),
            }
        }
    }
    let prompts = prices.iter().map(|price| price.input).fold(0.0, f64::max);
    let answers = prices.iter().map(|price| price.output).fold(0.0, f64::max);
    let all = bounds.first().map(|first| &first.calls);
    let max_tokens = limits.max_tokens.filter(|_| !asks_programs(plan, bounds, default_model));
    match (limits.max_cost_usd, max_tokens, all.and_then(|calls| calls.answer_tokens)) {
        _ if !asks => Cost::Nothing,
        _ if !unpriced.is_empty() => Cost::Unpriced { models: unpriced },
        _ if prices.is_empty() => Cost::Scripted,
        (Some(usd), ..) => Cost::Limit { usd },
        (None, Some(tokens), _) => Cost::Tokens { usd: tokens as f64 * prompts.max(answers) / 1e6 },
        (None, None, Some(tokens)) => Cost::Answers { usd: tokens as f64 * answers / 1e6, prompts },
        (None, None, None) => Cost::Open { prompts, answers },
    }
}
