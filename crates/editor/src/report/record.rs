//! The record of a run for people.

use std::collections::BTreeSet;

use crate::diagnostic::{all_visible, visible, visible_lines};
use crate::journal::Record;

/// Most characters of a question in a line.
const MOST_ASKED: usize = 2_000;

/// A question in one line; of a long one how long it is.
fn in_a_line(question: &str) -> String {
    let shown = all_visible(question);
    match shown.char_indices().nth(MOST_ASKED) {
        Some((cut, _)) => format!("{}… (cut here: it has {} characters)", &shown[..cut], shown.chars().count()),
        None => shown,
    }
}

/// The command that prints all of what a person decides about.
pub fn show_command(run: &str, step: &str) -> String {
    format!("flow approve {run} {} --show", shell_word(step))
}

/// What a person must decide about a run, and the command for each answer; empty: nothing.
pub fn how_to_decide(record: &Record) -> Vec<String> {
    let mut lines = vec![];
    for asked in &record.questions {
        let approve = format!("flow approve {} {}", record.run, shell_word(&asked.step));
        let answers: &[(&str, &str)] = match asked.in_doubt {
            true => &[
                ("", "run it again"),
                (" --reject", "do not; it fails"),
                (" --happened OUTPUT", "it has happened; OUTPUT is JSON or @FILE"),
            ],
            false => &[(" --show", "shows the whole call, unmasked"), ("", "says yes"), (" --reject", "says no")],
        };
        lines.push(format!("a person decides: {}", in_a_line(&asked.question)));
        let width = answers.iter().map(|(option, _)| option.len()).max().unwrap_or(0);
        lines.extend(answers.iter().map(|(option, means)| format!("  {approve}{option:<width$}   {means}")));
    }
    if !lines.is_empty() {
        lines.push(format!("then: flow runs resume {}", record.run));
    }
    lines
}

/// A step's path as a shell takes it: elements have brackets.
fn shell_word(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    if is_plain { path.to_string() } else { format!("'{}'", visible(path)) }
}

/// Draws a record: what was asked, each step, gate failures, the cause.
pub fn record(record: &Record) -> String {
    let mut out = String::new();
    let status = record.status.map_or("not over", |s| s.word());
    let took = record.ended.map(|end| format!("  {} ms", (end - record.started).num_milliseconds())).unwrap_or_default();
    out.push_str(&format!("{}  {}  {status}{took}\n", record.run, visible(&record.pipeline)));
    if let Some(channel) = &record.channel {
        out.push_str(&format!("channel: {channel}\n"));
    }
    if let Some(style) = &record.style_guide {
        let version = style.version.as_ref().map(|version| format!(" {}", visible(version))).unwrap_or_default();
        out.push_str(&format!("style:   {}{version}\n", visible(&style.name)));
    }
    let phases: Vec<&str> = record.phases.iter().map(|p| p.name.as_str()).collect();
    out.push_str(&format!("phases:  {}\n\n", phases.join(" -> ")));
    let width = record.steps.iter().map(|s| s.step.chars().count()).max().unwrap_or(0);
    for step in &record.steps {
        let ms = step.details().duration_ms().map(|ms| format!("{ms} ms")).unwrap_or_default();
        let error = step.error.as_ref().and_then(|e| e["message"].as_str()).map(|m| format!("  {}", visible(m))).unwrap_or_default();
        out.push_str(&format!("  {:<width$}  {:<9}  {ms}{error}\n", visible(&step.step), step.status));
    }
    for plan in &record.plans {
        out.push_str(&format!("\nplan {} of {}: {}. {}\n", plan.round, visible(&plan.step), plan.strategy, visible(&plan.reasoning)));
        for step in &plan.steps {
            let after = if step.depends_on.is_empty() { String::new() } else { format!(" after {}", step.depends_on.join(", ")) };
            out.push_str(&format!("  {} with {}{}\n", visible(&step.step), visible(&step.uses), visible(&after)));
        }
    }
    if !record.decisions.is_empty() {
        out.push_str("\ndecisions:\n");
    }
    for decision in &record.decisions {
        let who = if decision.agent.is_empty() { &decision.step } else { &decision.agent };
        let answer = if decision.allowed { "allowed" } else { "blocked" };
        out.push_str(&format!(
            "  {}  {} {}  {answer}: {}\n",
            visible(who),
            decision.act.word(),
            visible(&decision.target),
            visible(&decision.rule)
        ));
    }
    for line in how_to_decide(record) {
        out.push_str(&format!("\n{line}"));
    }
    if !record.questions.is_empty() {
        out.push('\n');
    }
    for asked in record.interactions.iter().filter(|asked| !asked.readings.is_empty()) {
        let readings = visible(&asked.readings.join("; ")).to_string();
        out.push_str(&format!("\nanswer of {} ({}): {readings}\n", visible(&asked.agent), visible(&asked.action)));
    }
    for failure in &record.failures {
        out.push_str(&format!("\ngate \"{}\": {}\n", visible(&failure.gate), visible(&failure.cause)));
        for (round, verdicts) in failure.verdicts.iter().enumerate() {
            for verdict in verdicts.iter().filter(|v| !v.passed) {
                out.push_str(&format!("  round {}: {}: {}\n", round + 1, visible(&verdict.id), visible_lines(&verdict.feedback)));
            }
        }
    }
    let usage = &record.usage;
    if usage.total_tokens() > 0 || usage.unknown_tokens > 0 {
        let unknown = match usage.unknown_tokens {
            0 => String::new(),
            most => format!("; not all calls told theirs (at most {most} more)"),
        };
        let cost = match usage.cost_usd {
            None => "unpriced".to_string(),
            Some(usd) if usd > 0.0 && usd < 0.0001 => "less than 0.0001 USD".to_string(),
            Some(usd) => format!("{usd:.4} USD"),
        };
        out.push_str(&format!("\ntokens: {} in, {} out; {cost}{unknown}\n", usage.input_tokens, usage.output_tokens));
        let models: BTreeSet<&str> = record.steps.iter().filter_map(|step| step.details().model()).collect();
        let models: Vec<_> = models.into_iter().map(visible).collect();
        if !models.is_empty() {
            out.push_str(&format!("models: {}\n", models.join(", ")));
        }
    }
    if let Some(message) = record.failure.as_ref().and_then(|f| f["message"].as_str()) {
        out.push_str(&format!("\ncause: {}\n", visible(message)));
    }
    out
}
