//! Bounds on tokens and cost: checked before each call, with the worst case of the call reserved, and after it with what it used.

use std::sync::Arc;

use serde_json::Value;

use crate::event::{Bound, Failure, FailureKind, Happening, Limit, Message, StepPath, ToolCall, Usage};
use crate::model::{Limits, Model, Price, UNBOUNDED_ANSWER};
use crate::model_calls::programs::as_text;
use crate::parts::{Conversations, Talks};
use crate::plan::answer_set_aside;
use crate::questions::Brief;
use crate::state::NodeRef;
use crate::state::talk::Offered;
use crate::state::tally::SetAside;

/// Tokens reserved for a picture: more than the providers of either wire format count for the largest picture they accept.
const PICTURE: u64 = 5_000;

/// A bound that a call would exceed.
pub(crate) enum Over {
    /// Of the agent: the step fails.
    Agent(String),
    /// Of a pipeline, but open calls may turn out cheaper than what is reserved for them.
    Perhaps,
    /// Of a pipeline.
    Pipeline { step: StepPath, limit: Limit, message: String },
}

/// A bound on tokens or money, for people: `max_tokens is 50`, or of a policy `policy q: resource_limits.tokens is 50`.
fn words(bounds: &Limits, bound: Bound) -> String {
    let (policy, key, most) = if bound == Bound::MaxTokens {
        (&bounds.set_by.tokens, "tokens", bounds.max_tokens.unwrap_or_default().to_string())
    } else {
        (&bounds.set_by.cost_usd, "cost_usd", bounds.max_cost_usd.unwrap_or_default().to_string())
    };
    match policy {
        Some(policy) => format!("policy {policy}: resource_limits.{key} is {most}"),
        None => format!("max_{key} is {most}"),
    }
}

/// The same of a part of a file, with the section of the file that has it.
fn in_section(bounds: &Limits, bound: Bound, message: String) -> String {
    let is_of_policy = if bound == Bound::MaxTokens { &bounds.set_by.tokens } else { &bounds.set_by.cost_usd }.is_some();
    if is_of_policy { message } else { format!("limits.{}: {message}", bound.word()) }
}

/// The bound that a call would exceed: its key and a sentence. `aside` is reserved for other calls; `next` is the number of tokens of this call, and
/// `price` its highest cost in US dollars.
fn passed(bounds: &Limits, spent: &Usage, aside: &SetAside, next: u64, price: Option<f64>) -> Option<(Bound, String)> {
    let tokens = spent.total_tokens();
    let others = |kept: String| if aside.is_nothing() { String::new() } else { format!(", {kept} are reserved for other calls") };
    if let Some(most) = bounds.max_tokens
        && tokens.saturating_add(aside.tokens).saturating_add(next) > most
    {
        let others = others(aside.tokens.to_string());
        let bound = words(bounds, Bound::MaxTokens);
        return Some((Bound::MaxTokens, format!("{bound}; {tokens} are used{others} and the next call may need {next}")));
    }
    let (most, worst) = (bounds.max_cost_usd?, price?);
    let cost = spent.cost_usd.unwrap_or(0.0);
    let others = others(format!("{:.4}", aside.usd));
    (cost + aside.usd + worst > most).then(|| {
        let bound = words(bounds, Bound::MaxCostUsd);
        (Bound::MaxCostUsd, format!("{bound}; {cost:.4} are spent{others} and the next call may cost {worst:.4}"))
    })
}

impl Conversations<'_> {
    /// The bound that a call would exceed if it used all that is reserved for it: of its agent, of its pipeline or of one around it.
    pub(crate) fn over_budget(&self, at: NodeRef, brief: &Brief, fresh: bool, reserved: u64, price: Option<f64>) -> Option<Over> {
        let (mut spent, mut aside, _) = self.spent_before(at, &brief.agent);
        if let Some(talk) = self.state.steps.node(at).talk().filter(|_| !fresh) {
            spent.add(&talk.usage);
            aside.add(&talk.untold);
        }
        if let Some((limit, message)) = passed(&brief.bounds, &spent, &aside, reserved, price) {
            return Some(Over::Agent(format!("agent \"{}\": {}", brief.agent, in_section(&brief.bounds, limit, message))));
        }
        if let Some(own) = self.dialogues().dialogue(at) {
            let talks = || self.state.steps.node(at).ended_talks().iter().map(|talk| (&talk.usage, &talk.untold));
            let open = self.state.steps.node(at).talk();
            let (mut spent, mut aside) = (Usage::default(), SetAside::default());
            talks().chain(open.map(|talk| (&talk.usage, &talk.untold))).for_each(|(usage, untold)| {
                spent.add(usage);
                aside.add(untold);
            });
            if let Some((limit, message)) = passed(&own.limits, &spent, &aside, reserved, price) {
                return Some(Over::Agent(in_section(&own.limits, limit, message)));
            }
        }
        for (ix, parent) in self.state.steps.chain(at) {
            let bounds = self.spending_bounds(ix, parent.is_none());
            if bounds.max_tokens.is_none() && bounds.max_cost_usd.is_none() {
                continue;
            }
            let is_inside = |node| self.state.steps.chain(node).any(|(inner, _)| inner == ix);
            let mut out = SetAside::default();
            self.state.calls.values().filter(|c| is_inside(c.node)).for_each(|call| out.add(&call.reserved));
            let instance = self.state.steps.instance(ix);
            let mut aside = instance.untold;
            aside.add(&out);
            if let Some((bound, message)) = passed(&bounds, &instance.usage, &aside, reserved, price) {
                if !out.is_nothing() {
                    return Some(Over::Perhaps);
                }
                let limit = Limit { bound, of_called: parent.is_some() };
                return Some(Over::Pipeline { step: instance.path(), limit, message });
            }
        }
        None
    }

    /// The bound of a pipeline that has been passed, although each call was within it by what was reserved for it: an endpoint may use more.
    pub(crate) fn overspent(&self, at: NodeRef) -> Option<(StepPath, Limit, String)> {
        self.state.steps.chain(at).find_map(|(ix, parent)| {
            let (bounds, instance) = (self.spending_bounds(ix, parent.is_none()), self.state.steps.instance(ix));
            let tokens = instance.usage.total_tokens();
            let of_tokens = bounds.max_tokens.filter(|most| tokens > *most);
            let of_tokens = of_tokens.map(|_| (Bound::MaxTokens, format!("{}; {tokens} are used", words(&bounds, Bound::MaxTokens))));
            let cost = instance.usage.cost_usd.unwrap_or(0.0);
            let of_cost = || bounds.max_cost_usd.filter(|most| cost > *most);
            let of_cost = || of_cost().map(|_| (Bound::MaxCostUsd, format!("{}; {cost:.4} are spent", words(&bounds, Bound::MaxCostUsd))));
            let (bound, message) = of_tokens.or_else(of_cost)?;
            let message = format!("{message}: a model used more than was reserved for its call");
            Some((instance.path(), Limit { bound, of_called: parent.is_some() }, message))
        })
    }

    /// The limits of a running pipeline; for the first one those of the run, too.
    fn spending_bounds(&self, ix: u32, is_root: bool) -> Limits {
        let bounds = self.planned(ix).pipeline.bounds();
        if is_root { bounds.within(&self.options.limits) } else { bounds }
    }

    /// Adds the cost to the usage of a call that told none, if its model has a price. What it may have used at most costs as much as it can.
    pub(crate) fn priced(&self, at: NodeRef, usage: Usage) -> Usage {
        let Some(talk) = self.state.steps.node(at).talk() else { return usage };
        let price = self.model(at, &talk.model).and_then(|model| model.price);
        let unknown = |price: Price| usage.unknown_tokens as f64 * price.input.max(price.output);
        let known = |price: Price| usage.input_tokens as f64 * price.input + usage.output_tokens as f64 * price.output;
        let cost = |price: Price| (known(price) + unknown(price)) / 1e6;
        Usage { cost_usd: usage.cost_usd.or(price.filter(|_| usage.total_tokens() > 0 || usage.unknown_tokens == 0).map(cost)), ..usage }
    }
}

/// The highest cost of so many tokens of a model, in US dollars; `None` if it has no price.
pub(crate) fn worst_price(model: Option<&Model>, tokens: u64) -> Option<f64> {
    model.and_then(|m| m.price).map(|price| tokens as f64 * price.input.max(price.output) / 1e6)
}

/// What a call sends, as far as it takes tokens.
pub(crate) struct CallSize<'a> {
    /// Before and in this call.
    pub(crate) messages: &'a [&'a Arc<Message>],
    pub(crate) schema: Option<&'a Value>,
    /// What bounds the answer where its model does not.
    pub(crate) own_bound: Option<u64>,
}

impl Conversations<'_> {
    /// The most tokens that a call can use, whoever answers it: a scripted model sets aside as much as an endpoint would. No token is shorter than a
    /// byte, and an answer is bounded by its limit.
    pub(crate) fn set_aside_for(&self, at: NodeRef, brief: &Brief, model: Option<&Model>, size: &CallSize) -> u64 {
        let CallSize { messages, schema, own_bound } = size;
        if model.is_some_and(|model| model.provider.program().is_some()) && self.recordings().is_none() {
            return as_text(messages.iter().copied()).len() as u64 + UNBOUNDED_ANSWER;
        }
        let calls = |m: &Message| {
            m.calls.iter().map(|call| call.arguments.to_string().len() + wire_name(call, &brief.tools).len() + 16).sum::<usize>()
        };
        let state = |m: &Message| m.state.as_ref().map_or(0, |state| state.parts.to_string().len());
        let prompt: usize = messages.iter().map(|m| m.text.len() + calls(m) + state(m) + 16).sum();
        let schema = schema.map_or(0, |schema| schema.to_string().len());
        let shown = self.toolbox().shown_tools(at, &brief.agent, &brief.tools);
        let tools: usize = shown.iter().map(|tool| tool.parameters.to_string().len() + tool.description.len() + tool.name.len() + 16).sum();
        let pictures: usize = messages.iter().map(|m| m.pictures.len()).sum();
        (prompt + schema + tools) as u64 + pictures as u64 * PICTURE + answer_set_aside(model, *own_bound)
    }
}

impl Talks<'_> {
    /// Does what follows from a bound that a call would exceed: the call waits, its step fails, or its pipeline ends.
    ///
    /// # Errors
    /// The bound is one of the agent or the dialogue.
    pub(crate) fn hold_back(&mut self, at: NodeRef, over: Over) -> Result<(), Failure> {
        match over {
            Over::Perhaps => {
                self.0.woken.wait_for_budget(self.state.steps.key(at));
            }
            Over::Agent(message) => return Err(Failure::new(FailureKind::Limit, message)),
            Over::Pipeline { step, limit, message } => self.emit(Happening::LimitReached { step, limit, message }),
        }
        Ok(())
    }
}

/// What a tool that a model called is named to it.
pub(crate) fn wire_name<'a>(call: &'a ToolCall, tools: &'a [Offered]) -> &'a str {
    tools.iter().find(|tool| tool.name == call.tool).map_or(&call.tool, |tool| &tool.description.name)
}
