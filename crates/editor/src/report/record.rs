//! The record of a run for people.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::batches::Batches;
use super::look::{Look, columns};
use crate::diagnostic::{all_visible, counted, ends, grouped, shell_word, visible};
use crate::journal::{AgentRecord, AgentStatus, BatchRecord, Record, SentRecord};
use crate::model::{DialogueTurn, step_path};

/// Maximum length of a question in a line, in characters.
const MOST_ASKED: usize = 2_000;

/// Formats a question in one line; for a long one, adds its length.
fn in_a_line(question: &str) -> String {
    let shown = all_visible(question);
    match shown.char_indices().nth(MOST_ASKED) {
        Some((cut, _)) => format!("{}… (cut here: it has {} characters)", &shown[..cut], shown.chars().count()),
        None => shown,
    }
}

/// Returns the command that shows everything for a decision. `reach`: options to reach the project, ` --project DIR` or empty.
pub fn show_command(run: &str, step: &str, reach: &str) -> String {
    format!("flow approve {run} {} --show{reach}", shell_word(step))
}

/// Returns the questions that people must answer, with the command for each answer; empty: none. `reach`: as for [`show_command`].
pub fn how_to_decide(record: &Record, reach: &str) -> Vec<String> {
    let mut lines = vec![];
    for asked in &record.questions {
        let which = if asked.is_later { format!(" --question {}", asked.number) } else { String::new() };
        let approve = format!("flow approve {} {}{which}", record.run, shell_word(&asked.step));
        let fills =
            format!("says yes, and fills in {}; what is left out is its default", asked.form.as_deref().unwrap_or_default().join(", "));
        let answers: &[(&str, &str)] = match &asked.form {
            _ if asked.is_live => &[(" --show", "shows the question; only the process of the run can answer, in the middle of a call")],
            Some(fields) => &[
                (" --show", "shows the question and its form, unmasked"),
                if fields.is_empty() { ("", "says yes") } else { (" --field NAME=VALUE …", &fills) },
                (" --reject --comment WHY", "says no: the step fails, or the server receives a decline"),
            ],
            None if asked.in_doubt => &[
                ("", "run it again"),
                (" --reject", "do not; it fails"),
                (" --happened OUTPUT", "it has happened; OUTPUT is JSON or @FILE"),
            ],
            None => &[(" --show", "shows the whole call, unmasked"), ("", "says yes"), (" --reject", "says no")],
        };
        lines.push(format!("a person decides: {}", in_a_line(&asked.question)));
        lines.extend(asked.show.as_ref().map(|show| format!("  it shows: {}", in_short(show))));
        lines.extend(asked.until.map(|until| format!("  an answer counts until {}", utc(until))));
        let width = answers.iter().map(|(option, _)| option.len()).max().unwrap_or(0);
        lines.extend(answers.iter().map(|(option, means)| format!("  {approve}{reach}{option:<width$}   {means}")));
    }
    if !lines.is_empty() {
        lines.push(format!("then: flow runs resume {}{reach}", record.run));
    }
    lines
}

/// Maximum length of a prompt or reply, in characters.
const SHORT: usize = 300;
/// Maximum number of model calls that are shown.
const MOST_CALLS: usize = 20;

/// Shortens a text to its start and end, on one line.
fn in_short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short =
        ends(&line, SHORT, SHORT * 2 / 3, SHORT / 3).map(|(beginning, end)| format!("{} … {}", beginning.trim_end(), end.trim_start()));
    visible(&short.unwrap_or(line)).into_owned()
}

/// Shortens a value: a text as it is, also if it is the only value of an object.
fn value_in_short(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => in_short(text),
        Value::Object(map) => match map.values().collect::<Vec<_>>().as_slice() {
            [Value::String(text)] => in_short(text),
            _ => in_short(&value.to_string()),
        },
        _ => in_short(&value.to_string()),
    }
}

/// Formats a duration.
pub(super) fn lasted(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// Formats the cost of models; `None`: none was used. It distinguishes a model without a price from one that does not report its usage.
pub(super) fn cost(tokens: u64, unknown_tokens: u64, usd: Option<f64>) -> Option<String> {
    match usd {
        Some(usd) if usd > 0.0 && usd < 0.0001 => Some("less than 0.0001 USD".to_string()),
        // Some models report the cost of a call, but no tokens.
        Some(usd) if usd > 0.0 => Some(format!("{usd:.4} USD")),
        _ if tokens == 0 && unknown_tokens == 0 => None,
        _ if tokens == 0 => Some("cost unknown".to_string()),
        None => Some("unpriced".to_string()),
        Some(usd) => Some(format!("{usd:.4} USD")),
    }
}

/// Formats a record: questions and answers, each step, model calls, verdicts, the cause. `is_whole`: includes each element of a `for_each`,
/// even if many succeeded.
pub fn record(record: &Record, look: Look, reach: &str, is_whole: bool) -> String {
    let batches = Batches::from_record(record, is_whole);
    let mut page = RecordPage { look, reach, out: String::new() };
    page.head(record, &batches);
    page.out.push_str(&batches.failed(record, look, reach));
    page.out.push('\n');
    page.steps(record, &batches);
    page.rest(&batches.shortened(record));
    page.end(record);
    page.out
}

/// A record that is being formatted.
struct RecordPage<'a> {
    look: Look,
    reach: &'a str,
    out: String,
}

/// Maximum number of lines of code that are shown for one try.
const MOST_CODE: usize = 30;

impl RecordPage<'_> {
    /// Adds a text after the start of its first line.
    fn line(&mut self, first: &str, text: &str) {
        self.out.push_str(&self.look.wrapped(first, text));
    }

    /// Like [`RecordPage::line`], if the text is not empty.
    fn some(&mut self, first: &str, text: &str) {
        if !text.is_empty() {
            self.line(first, text);
        }
    }

    /// Like [`RecordPage::line`], after an empty line.
    fn apart(&mut self, first: &str, text: &str) {
        self.out.push('\n');
        self.line(first, text);
    }

    /// Adds everything below the steps.
    fn rest(&mut self, record: &Record) {
        for plan in &record.plans {
            let head = format!("\nplan {} of {}: {}. {}\n", plan.round, visible(&plan.step), plan.strategy, visible(&plan.reasoning));
            self.out.push_str(&head);
            for step in &plan.steps {
                let after = if step.depends_on.is_empty() { String::new() } else { format!(" after {}", step.depends_on.join(", ")) };
                self.line("  ", &format!("{} with {}{}", visible(&step.step), visible(&step.uses), visible(&after)));
            }
        }
        self.tasks(record);
        self.dialogues(record);
        self.calls(record);
        self.agents(record);
        self.out.push_str(if record.decisions.is_empty() { "" } else { "\ndecisions:\n" });
        for decision in &record.decisions {
            let who = if decision.agent.is_empty() { &decision.step } else { &decision.agent };
            let answer = if decision.allowed { "allowed" } else { "blocked" };
            let (act, target) = (decision.act.word(), visible(&decision.target));
            let by = if decision.by.is_empty() { String::new() } else { format!(" ({})", visible(&decision.by)) };
            self.line("  ", &format!("{}  {act} {target}  {answer}: {}{by}", visible(who), visible(&decision.rule)));
        }
        self.answers(record);
        // Commands stay on one line so that they can be copied.
        self.out.extend(how_to_decide(record, self.reach).iter().map(|line| format!("\n{line}")));
        self.out.push_str(if record.questions.is_empty() { "" } else { "\n" });
        for asked in record.interactions.iter().filter(|asked| !asked.readings.is_empty()) {
            let first = format!("answer of {} ({}): ", visible(&asked.agent), visible(&asked.action));
            self.apart(&first, &visible(&asked.readings.join("; ")));
        }
        self.verdicts(record);
    }

    /// Adds the usage of models, and why a run failed.
    fn end(&mut self, record: &Record) {
        let usage = &record.usage;
        if let Some(cost) = cost(usage.total_tokens(), usage.unknown_tokens, usage.cost_usd) {
            let unknown = match usage.unknown_tokens {
                0 => String::new(),
                most => format!("; not all calls reported theirs (at most {most} more)"),
            };
            self.out.push_str(&format!("\ntokens: {} in, {} out; {cost}{unknown}\n", usage.input_tokens, usage.output_tokens));
            let models: BTreeSet<&str> = record.steps.iter().filter_map(|step| step.details().model()).collect();
            self.some("models: ", &models.into_iter().map(visible).collect::<Vec<_>>().join(", "));
        }
        if let Some(message) = record.failure.as_ref().and_then(|f| f["message"].as_str()) {
            self.apart(&self.look.paint("cause: ", "1"), &visible(message));
        }
    }

    /// Adds tasks with their tries: the reasoning, the code, and why it was not accepted.
    fn tasks(&mut self, record: &Record) {
        for task in &record.tasks {
            let tries = counted(task.tries.len(), "try", "tries");
            self.out.push_str(&format!("\ntask {}: {}, {tries}\n", visible(&task.step), task.state.word()));
            for one in &task.tries {
                self.line(&format!("  {}. ", one.number), &in_short(&one.thought));
                let lines: Vec<&str> = one.code.lines().collect();
                self.out.extend(lines.iter().take(MOST_CODE).map(|line| format!("     | {}\n", visible(line))));
                if lines.len() > MOST_CODE {
                    self.out.push_str(&format!("     | … ({} more)\n", counted(lines.len() - MOST_CODE, "line", "lines")));
                }
                one.error.iter().for_each(|error| self.line("     failed: ", &in_short(error)));
                for verdict in one.unmet() {
                    self.line(&format!("     not met, {}: ", visible(&verdict.id)), &in_short(&verdict.feedback));
                }
                if !one.verdicts.is_empty() && one.unmet().next().is_none() {
                    self.out.push_str("     accepted\n");
                }
            }
        }
    }

    /// Adds dialogues with their turns, and how they ended.
    fn dialogues(&mut self, record: &Record) {
        for dialogue in &record.dialogues {
            let (status, turns) = (dialogue.status.word(), counted(dialogue.turns.len(), "turn", "turns"));
            self.out.push_str(&format!("\ndialogue {}: {status} ({}), {turns}\n", visible(&dialogue.step), dialogue.flow.word()));
            for one in &dialogue.turns {
                let DialogueTurn { number, from, to, text, attachments, policies: _ } = &one.turn;
                self.line(&format!("  {number}. {} to {}: ", visible(from), visible(to)), &in_short(text));
                self.some("     files: ", &visible(&attachments.join(", ")));
            }
            self.some("  ended: ", &in_short(&dialogue.reason));
        }
    }

    /// Adds people's answers with the filled-in fields.
    fn answers(&mut self, record: &Record) {
        self.out.push_str(if record.answers.is_empty() { "" } else { "\nanswers:\n" });
        for answer in &record.answers {
            let by = if answer.by.is_empty() { String::new() } else { format!(" by {}", visible(&answer.by)) };
            let first = format!("  {}  {}{by}, {}: ", visible(&answer.step), answer.word(), utc(answer.time));
            self.line(&first, &in_short(&answer.question));
            answer.show.iter().for_each(|show| self.line("    it showed: ", &in_short(show)));
            match &answer.fields {
                Value::Object(fields) => {
                    fields.iter().for_each(|(name, value)| self.line("    ", &format!("{}: {}", visible(name), value_in_short(value))));
                }
                Value::Null => {}
                other => self.line("    ", &value_in_short(other)),
            }
            self.some("    comment: ", &in_short(&answer.comment));
        }
    }

    /// Adds the status of agents, if the run has not ended or an agent is not available.
    fn agents(&mut self, record: &Record) {
        let is_well = record.ended.is_some() && record.agents.iter().all(|agent| agent.status == AgentStatus::Available);
        if is_well || record.agents.is_empty() {
            return;
        }
        self.out.push_str("\nagents:\n");
        for AgentRecord { agent, status, since, calls, failures } in &record.agents {
            let failed = if *failures == 0 { String::new() } else { format!(", {failures} failed") };
            let calls = counted(*calls, "call", "calls");
            self.line("  ", &format!("{}  {} since {} ({calls}{failed})", visible(agent), status.word(), utc(*since)));
        }
    }

    /// Adds shortened prompts and answers of models.
    fn calls(&mut self, record: &Record) {
        for call in record.interactions.iter().take(MOST_CALLS) {
            let asked = call.input.as_array().and_then(|messages| messages.iter().rev().find(|message| message["role"] == "user"));
            let prompt = asked.and_then(|message| message["text"].as_str()).map(in_short).unwrap_or_default();
            let reply = call.error.as_deref().map_or_else(|| value_in_short(&call.output), in_short);
            let (action, agent, model) = (visible(&call.action), visible(&call.agent), visible(&call.model));
            self.apart("", &format!("{action}: {agent}, {model}, {}", lasted(call.duration_ms)));
            self.some("  prompt: ", &prompt);
            self.line(if call.success { "  reply:  " } else { "  failed: " }, &reply);
        }
        if let Some(more) = record.interactions.len().checked_sub(MOST_CALLS).filter(|more| *more > 0) {
            let more = counted(more, "more call", "more calls");
            self.out.push_str(&format!("\nand {more}: flow runs export {}{}\n", record.run, self.reach));
        }
    }

    /// Adds the verdicts of gates.
    fn verdicts(&mut self, record: &Record) {
        let gate = |id: &str| format!("gate \"{}\": ", visible(id));
        let is_told = |step: &str| record.failures.iter().any(|failure| failure.gate == step);
        for step in record.steps.iter().filter(|step| !is_told(&step.step)) {
            let all: Vec<(&str, bool)> = step.details().verdicts().filter_map(|(id, met)| Some((id, met?))).collect();
            let met: Vec<_> = all.iter().filter(|(_, passed)| *passed).map(|(id, _)| visible(id)).collect();
            if !all.is_empty() {
                self.apart(&gate(&step.step), &format!("{} of {} met: {}", met.len(), all.len(), met.join(", ")));
            }
        }
        for failure in &record.failures {
            let cause = visible(&failure.cause);
            let told = match (failure.superseded, failure.is_mended()) {
                (true, _) => format!("{cause} (does not count: a later round or try followed)"),
                (false, true) => format!("met once the text was written again; before: {cause}"),
                (false, false) => cause.into_owned(),
            };
            self.apart(&gate(&failure.gate), &told);
            for (round, verdicts) in failure.verdicts.iter().enumerate() {
                for verdict in verdicts.iter().filter(|v| !v.passed) {
                    let mut lines = verdict.feedback.lines();
                    let first = visible(lines.next().unwrap_or_default());
                    self.line(&format!("  round {}: {}: ", round + 1, visible(&verdict.id)), &first);
                    lines.for_each(|line| self.line("    ", &visible(line)));
                }
            }
            if !failure.superseded {
                self.some("  sent: ", &value_in_short(&failure.sent));
            }
        }
        for step in &record.steps {
            let skipped: Vec<_> = step.details().verdicts().filter(|(_, met)| met.is_none()).map(|(id, _)| visible(id)).collect();
            if !skipped.is_empty() {
                let none = if skipped.len() == step.details().verdicts().count() { "; no criterion was judged" } else { "" };
                self.apart(&gate(&step.step), &format!("skipped, since their when was false: {}{none}", skipped.join(", ")));
            }
        }
        for review in &record.needs_review {
            self.out.push_str(&format!("\nneeds review: gate \"{}\" passed without its judge\n", visible(&review.gate)));
            self.line(&format!("  {}: ", visible(&review.criterion)), &visible(&review.cause));
        }
        for key in &record.rejected_keys {
            self.out.push_str(&format!("\nkey rejected: agent \"{}\", model \"{}\"\n", visible(&key.agent), visible(&key.model)));
            self.line("  ", &visible(&key.message));
        }
    }

    /// Adds the inputs, the status, and what was answered and sent.
    fn head(&mut self, record: &Record, batches: &Batches<'_>) {
        let status = record.status.map_or("not over", |s| s.word());
        let took = record.duration_ms().map(|ms| format!("  {}", lasted(ms))).unwrap_or_default();
        let status = self.look.status(status);
        self.line(&format!("{}  ", record.run), &format!("{}  {status}{took}", visible(&record.pipeline)));
        let style = record.style_guide.as_ref().map(|style| {
            let version = style.version.as_ref().map(|version| format!(" {}", visible(version))).unwrap_or_default();
            format!("{}{version}", visible(&style.name))
        });
        let sent = |(count, sent): (usize, &SentRecord)| {
            let (times, step) = match count {
                1 => (String::new(), sent.step.clone()),
                _ => (format!("{} × ", grouped(count as u64)), step_path::ids(&sent.step).collect::<Vec<_>>().join("/")),
            };
            let rejected: String =
                sent.rejected.iter().map(|one| format!(", not to {}: {}", visible(&one.recipient), visible(&one.reason))).collect();
            format!("{times}{} to {} ({}){rejected}", counted(sent.parts, "part", "parts"), visible(&sent.to), visible(&step))
        };
        let phases: Vec<&str> = record.phases.iter().map(|p| p.name.as_str()).collect();
        let history = record.conversation.as_ref().map(|own| {
            let left_out = if own.left_out == 0 { String::new() } else { format!(", {} older left out", own.left_out) };
            let summary = if own.has_summary { ", with a summary of older ones" } else { "" };
            let summed_up = if own.summed_up == 0 { String::new() } else { format!(", {} of them summed up now", own.summed_up) };
            let agents: String = own
                .agents
                .iter()
                .map(|(name, count)| format!(", {} of {}", counted(*count, "message", "messages"), visible(name)))
                .collect();
            let earlier = counted(own.earlier, "earlier message", "earlier messages");
            format!("{earlier} of {}{left_out}{summed_up}{summary}{agents}", visible(&own.of))
        });
        let origin = record.origin.as_ref().map(|origin| match origin.elements {
            Some(count) => {
                format!(
                    "{} of {} again that did not succeed in {}",
                    counted(count, "element", "elements"),
                    visible(&origin.from),
                    origin.run
                )
            }
            None => format!("forked from {} at {}", origin.run, visible(&origin.from)),
        });
        let counted = record.batches.iter().filter(|batch| batch.elements > 0);
        let counted: Vec<String> = counted.map(|batch| format!("{}: {}", visible(&batch.step), batch.words())).collect();
        for (label, text) in [
            ("elements", counted.join("; ")),
            ("origin", origin.unwrap_or_default()),
            ("channel", record.channel.clone().unwrap_or_default()),
            ("history", history.unwrap_or_default()),
            ("style", style.unwrap_or_default()),
            ("phases", phases.join(" -> ")),
            ("question", record.question().map(in_short).unwrap_or_default()),
            ("reply", if record.outputs.as_object().is_some_and(Map::is_empty) { String::new() } else { value_in_short(&record.outputs) }),
            ("sent", batches.sent(record).into_iter().map(sent).collect::<Vec<_>>().join(", ")),
        ] {
            self.some(&format!("{:<10}", format!("{label}:")), &text);
        }
    }

    fn steps(&mut self, record: &Record, batches: &Batches<'_>) {
        let rows = rows(record, batches);
        let ms = |row: &StepRow| row.ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
        let of_time = rows.iter().map(|row| ms(row).len()).max().unwrap_or(0);
        let room = self.look.room(15 + of_time).unwrap_or_default();
        let paths: Vec<String> = rows.iter().map(|row| self.look.path(&visible(&row.path), room)).collect();
        let width = paths.iter().map(|path| columns(path)).max().unwrap_or(0);
        for (row, path) in rows.iter().zip(&paths) {
            let blanks = " ".repeat(width - columns(path));
            let text = if row.text.is_empty() { String::new() } else { format!("  {}", visible(&row.text)) };
            let first = format!("  {path}{blanks}  {}  {}", self.look.status(&format!("{:<9}", row.status)), ms(row));
            self.line(&first, &text);
        }
    }
}

/// Formats a time for people.
pub fn utc(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A line in the list of steps.
struct StepRow {
    path: String,
    status: String,
    ms: Option<u64>,
    text: String,
}

/// Returns the lines of the steps; steps in long `for_each` lists are only counted.
fn rows(record: &Record, batches: &Batches<'_>) -> Vec<StepRow> {
    let mut rows = vec![];
    for step in record.steps.iter().filter(|step| !batches.holds(&step.step)) {
        let error = step.error.as_ref().and_then(|error| error["message"].as_str());
        let count = batches.count(&step.step).map(BatchRecord::words);
        let text = [error.map(str::to_owned), count].into_iter().flatten().collect::<Vec<_>>().join("; ");
        rows.push(StepRow { path: step.step.clone(), status: step.status.clone(), ms: step.details().duration_ms(), text });
        if batches.count(&step.step).is_some() {
            let inside = batches.inside(&step.step, record).into_iter();
            rows.extend(inside.map(|of| StepRow { text: of.words(), path: of.step, status: String::new(), ms: None }));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::cost;

    #[test]
    fn a_cost_is_nothing_unknown_unpriced_or_an_amount() {
        let of = |tokens, unknown, usd| cost(tokens, unknown, usd);
        assert_eq!(of(0, 0, None), None);
        assert_eq!(of(0, 300, None).as_deref(), Some("cost unknown"));
        // This includes a model with a price that never reported its usage.
        assert_eq!(of(0, 300, Some(0.0)).as_deref(), Some("cost unknown"));
        assert_eq!(of(0, 300, Some(0.02)).as_deref(), Some("0.0200 USD"));
        assert_eq!(of(10, 0, None).as_deref(), Some("unpriced"));
        assert_eq!(of(10, 300, Some(0.5)).as_deref(), Some("0.5000 USD"));
        assert_eq!(of(10, 0, Some(0.00001)).as_deref(), Some("less than 0.0001 USD"));
    }
}
