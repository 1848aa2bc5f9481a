//! The output of `flow plan`: the order of steps, the maximum use of models, and the prompts as far as they are known.

use serde::Serialize;
use serde_json::Value;

use super::graph::words::time;
use crate::diagnostic::{counted, grouped, visible, visible_lines};
use crate::plan::{AgentPart, AgentUse, Cost, Tokens};

/// A run before it starts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedRun {
    /// The pipeline.
    pub pipeline: String,
    /// The inputs; no value: not known yet.
    #[serde(serialize_with = "as_object")]
    pub inputs: Vec<(String, Option<Value>)>,
    /// Its channel.
    pub channel: Option<String>,
    /// What it would include of its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Its clock.
    pub now: String,
    /// Its lists of steps.
    pub stages: Vec<PlannedStage>,
    /// The calls of models.
    pub asks: Vec<Ask>,
    /// Steps that run pipelines, as their work or as tools: their names, and all resulting calls.
    pub with_pipelines: Vec<(String, Vec<String>, u64)>,
    /// Maximum number of model calls in total.
    pub model_calls: u64,
    /// Additional calls: how many, and for each of what.
    pub open_calls: Vec<(u64, Vec<String>)>,
    /// Maximum tokens.
    pub tokens: Tokens,
    /// Maximum cost.
    pub cost: Cost,
    /// Time limit for `steps`, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// Time limit for the stages after them, in milliseconds.
    pub more_ms: u64,
    /// Longest attempt of one model call, in milliseconds.
    pub try_ms: u64,
}

/// A list of steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStage {
    /// `steps`, `on_failure`, `finally`; for a case its id.
    pub name: String,
    /// The condition in words; empty: it always runs.
    pub when: String,
    /// Steps that may start together, in order.
    pub waves: Vec<Vec<PlanEntry>>,
}

/// A step in the order of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanEntry {
    /// Its path.
    pub step: String,
    /// What it does.
    pub what: Vec<String>,
    /// Its conditions, as written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// The cases of a route, of which one runs; for a group or a `repeat` its steps, without a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<PlannedStage>,
}

/// The model calls of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ask {
    /// The step.
    pub step: String,
    /// The called pipeline that contains it: the calls are those of one run of that pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// The agent, and how often it is called.
    #[serde(flatten)]
    pub asking: AgentUse,
    /// 2 if the refinement may run it again.
    pub rounds: u64,
    /// Maximum number of rounds of the surrounding `repeat` steps.
    #[serde(skip_serializing_if = "is_one")]
    pub repeats: u64,
    /// How often `retry` may start it again.
    pub restarts: u64,
    /// Number of elements of its `for_each`, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
    /// The list of its `for_each` as written, if the number of elements is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_each: Option<String>,
    /// Maximum number of calls; per element if their number is unknown.
    pub calls: u64,
    /// Tokens that each call reserves for its answer; one token per sent byte is added.
    pub answer_tokens: u64,
    /// The system message.
    pub instructions: Option<String>,
    /// The prompt; `None` for a judge, whose prompt contains the judged text.
    pub prompt: Option<String>,
}

fn is_one(times: &u64) -> bool {
    *times == 1
}

/// Serializes pairs as an object, in order.
fn as_object<S: serde::Serializer>(pairs: &[(String, Option<Value>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Formats the plan for people.
pub fn planned(plan: &PlannedRun) -> String {
    let mut out = format!("{}: nothing is started, and no model is asked.\n", visible(&plan.pipeline));
    out.push_str("What stands between ⟨ and ⟩ is known only while it runs.\n\nGiven\n");
    for (name, value) in &plan.inputs {
        let value = value.as_ref().map_or_else(|| format!("⟨inputs.{name}⟩ (not given)"), Value::to_string);
        out.push_str(&format!("  {name}: {}\n", visible(&value)));
    }
    if let Some(channel) = &plan.channel {
        out.push_str(&format!("  channel: {}\n", visible(channel)));
    }
    if let Some(conversation) = &plan.conversation {
        out.push_str(&format!("  conversation: {}\n", visible(conversation)));
    }
    out.push_str(&format!("  clock: {}\n\nOrder\n", plan.now));
    for stage in &plan.stages {
        if !stage.when.is_empty() {
            out.push_str(&format!("  {}:\n", stage.when));
        }
        waves(&mut out, &stage.waves, if stage.when.is_empty() { 1 } else { 2 });
    }
    out.push_str("\nAt most\n");
    asks(&mut out, plan);
    out.push_str(&format!("  tokens: {}\n  cost: {}\n  time: {}\n", tokens(&plan.tokens), cost(&plan.cost), time_of(plan)));
    prompts(&mut out, plan);
    out
}

fn waves(out: &mut String, waves: &[Vec<PlanEntry>], depth: usize) {
    let indent = "  ".repeat(depth);
    for (wave, starts) in waves.iter().enumerate() {
        for start in starts {
            let number = format!("{}.", wave + 1);
            let what = start.what.iter().map(|what| visible(what).into_owned()).collect::<Vec<_>>().join("; ");
            let together = if starts.len() > 1 { " (together)" } else { "" };
            out.push_str(&format!("{indent}{number:<3} {}: {what}{together}\n", visible(&start.step)));
            for condition in &start.only_if {
                out.push_str(&format!("{indent}    {}\n", visible(condition)));
            }
            for case in &start.cases {
                if !case.name.is_empty() {
                    out.push_str(&format!("{indent}    {}: {}\n", visible(&case.name), visible(&case.when)));
                }
                self::waves(out, &case.waves, depth + if case.name.is_empty() { 2 } else { 3 });
            }
        }
    }
}

fn asks(out: &mut String, plan: &PlannedRun) {
    for ask in &plan.asks {
        let role = match ask.asking.part {
            _ if ask.asking.judges => "judge",
            AgentPart::Own | AgentPart::Turns => "agent",
            AgentPart::Plans => "plans by agent",
            AgentPart::Checks => "asks whether it is done, agent",
            AgentPart::Planned => "in its plans, agent",
        };
        let models: Vec<&str> = ask.asking.models.iter().map(|(name, _)| name.as_str()).collect();
        let per = ask.for_each.as_ref().map(|list| format!(" for each element of {}", visible(list))).unwrap_or_default();
        let per_run = ask.pipeline.as_ref().map(|name| format!(" each time pipeline {} runs", visible(name))).unwrap_or_default();
        let aside = match ask.answer_tokens {
            0 => String::new(),
            tokens => format!("; each sets aside {} tokens and one per byte sent", grouped(tokens)),
        };
        out.push_str(&format!(
            "  {}: {role} {} on {}: {}{per}{per_run} ({}){aside}\n",
            place(ask),
            visible(&ask.asking.agent),
            visible(&models.join(", then ")),
            counted(ask.calls, "call", "calls"),
            factors(ask)
        ));
    }
    for (step, pipelines, calls) in &plan.with_pipelines {
        out.push_str(&format!(
            "  {}: with pipeline {}: {} in all\n",
            visible(step),
            visible(&pipelines.join(", ")),
            counted(*calls, "call", "calls")
        ));
    }
    let calls = match (plan.model_calls, plan.open_calls.as_slice()) {
        (0, []) => "none".to_string(),
        (calls, []) => grouped(calls),
        (0, open) => open.iter().map(open_calls).collect::<Vec<_>>().join(", and "),
        (calls, open) => format!("{}, and {}", grouped(calls), open.iter().map(open_calls).collect::<Vec<_>>().join(", and ")),
    };
    let has_cases = plan.stages.iter().flat_map(|stage| stage.waves.iter().flatten()).any(|start| start.cases.len() > 1);
    let dearest = if has_cases { " (of a route's cases only the one with the most counts)" } else { "" };
    out.push_str(&format!("  calls of models in all: {calls}{dearest}\n"));
}

/// Formats a step with the called pipeline that contains it.
fn place(ask: &Ask) -> String {
    let step = visible(&ask.step);
    ask.pipeline.as_ref().map_or_else(|| step.to_string(), |pipeline| format!("{step} in {}", visible(pipeline)))
}

fn open_calls((calls, of): &(u64, Vec<String>)) -> String {
    let of: Vec<String> = of.iter().map(|of| format!("for each {}", visible(of))).collect();
    format!("{} {}", grouped(*calls), of.join(" "))
}

/// Formats the factors of calls: `3 tries × 3 answers (the first, 2 sent back for its shape) × 2 rounds`. A fallback model takes over for
/// good, so the models before it are tried only once.
fn factors(ask: &Ask) -> String {
    let tries: Vec<String> = ask.asking.models.iter().map(|(_, tries)| tries.to_string()).collect();
    let most = ask.asking.models.iter().map(|(_, tries)| *tries).max().unwrap_or(0);
    let more: Vec<String> = [(ask.asking.repairs, "sent back for its shape"), (ask.asking.turns, "after tools")]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let mut factors = match (tries.len(), more.is_empty()) {
        (0 | 1, true) => vec![counted(most, "try", "tries")],
        (0 | 1, false) => vec![counted(most, "try", "tries"), format!("{} answers (the first, {})", ask.asking.answers(), more.join(", "))],
        (_, true) => vec![format!("{} tries", tries.join(" + "))],
        (_, false) => vec![format!("({} tries for the first answer and {most} for each of {})", tries.join(" + "), more.join(" and "))],
    };
    let rounds = (ask.rounds, "rounds, the second to fix what a gate found");
    for (count, what) in [rounds, (ask.repeats, "rounds of repeat"), (ask.restarts, "starts of the step")] {
        if count > 1 {
            factors.push(format!("{count} {what}"));
        }
    }
    match ask.asking.part {
        AgentPart::Plans | AgentPart::Checks if ask.asking.times > 1 => factors.push(counted(ask.asking.times, "plan", "plans")),
        AgentPart::Planned => factors.push(counted(ask.asking.times, "step of a plan", "steps of plans")),
        AgentPart::Turns if ask.asking.judges => factors.push(counted(ask.asking.times, "judgement", "judgements")),
        AgentPart::Turns => factors.push(counted(ask.asking.times, "turn", "turns")),
        AgentPart::Own if ask.asking.times > 1 => factors.push(format!("{} of the task", counted(ask.asking.times, "attempt", "attempts"))),
        AgentPart::Own | AgentPart::Plans | AgentPart::Checks => {}
    }
    if let Some(count) = ask.elements {
        factors.push(counted(count, "element", "elements"));
    }
    factors.join(" × ")
}

/// Formats the maximum tokens in words.
pub(super) fn tokens(tokens: &Tokens) -> String {
    match tokens {
        Tokens::Nothing => "none, no model is asked".into(),
        Tokens::Limit { tokens } => format!("{} in and out (max_tokens)", grouped(*tokens)),
        Tokens::Answers { tokens } => format!("{} in answers (max_output_tokens); prompts come on top", grouped(*tokens)),
        Tokens::Programs { tokens: None } => "not known before: agent programs tell theirs after each call".into(),
        Tokens::Programs { tokens: Some(tokens) } => {
            format!("no call begins above {} in and out (max_tokens); agent programs tell theirs after each call", grouped(*tokens))
        }
        Tokens::Open => "not bounded; limits.max_tokens would bound them".into(),
    }
}

/// Formats the maximum cost in words.
pub(super) fn cost(cost: &Cost) -> String {
    let usd = |usd: f64| if usd < 0.01 { format!("{usd:.4} US dollars") } else { format!("{usd:.2} US dollars") };
    match cost {
        Cost::Nothing => "nothing, no model is asked".into(),
        Cost::Scripted => "nothing, the models are scripted".into(),
        Cost::Unpriced { models } => format!("unpriced: {} has no price", visible(&models.join(", "))),
        Cost::Limit { usd: most } => format!("{} (max_cost_usd)", usd(*most)),
        Cost::Tokens { usd: most } => format!("{} (max_tokens at the dearest price)", usd(*most)),
        Cost::Answers { usd: most, prompts } => {
            format!("{} for answers; prompts come on top, a million tokens at {}", usd(*most), usd(*prompts))
        }
        Cost::Open { prompts, answers } => {
            format!("not bounded; a million tokens of prompts cost {}, of answers {}", usd(*prompts), usd(*answers))
        }
    }
}

fn time_of(plan: &PlannedRun) -> String {
    let of = |ms: u64| time(std::time::Duration::from_millis(ms));
    let more = if plan.more_ms > 0 { format!(", and {} for what comes after the steps", of(plan.more_ms)) } else { String::new() };
    match plan.deadline_ms {
        Some(ms) => format!("{} (deadline){more}", of(ms)),
        None if plan.asks.is_empty() => "not bounded; limits.deadline would bound it".into(),
        None => format!("not bounded; limits.deadline would bound it (one try of a model may take {})", of(plan.try_ms)),
    }
}

fn prompts(out: &mut String, plan: &PlannedRun) {
    for ask in plan.asks.iter().filter(|ask| ask.prompt.is_some() || ask.instructions.is_some()) {
        for (what, text) in [("instructions", &ask.instructions), ("prompt", &ask.prompt)] {
            if let Some(text) = text {
                out.push_str(&format!("\n--- {}: {what} of {} ---\n", place(ask), visible(&ask.asking.agent)));
                out.push_str(visible_lines(text).trim_end());
                out.push('\n');
            }
        }
    }
}
