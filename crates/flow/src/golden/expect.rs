//! Compares a run with what its case expects.

use std::collections::BTreeMap;

use serde_json::Value;

use super::file::one_text;
use super::outcome::{Complaint, TrialEnding, wanted_status};
use super::play::Played;
use super::suite::{Suite, Trial};
use crate::channel::Output;
use crate::diagnostic::{did_you_mean, visible};
use crate::engine::{MissingReply, Noted};
use crate::event::{NOT_STARTED, RunEnd};
use crate::gate::{self, Fill, FilledCheck, JudgedText};
use crate::model::{CallPart, Check, Expect, Filling, Text, step_path};
use crate::report::Diff;
use crate::source::Spanned;
use crate::template::{self, FillError, Scope};

/// Returns the differences from what the case expects.
pub(super) fn compare(suite: &Suite, trial: &Trial, played: &Played) -> Vec<Complaint> {
    let case = &suite.test.cases[trial.case];
    let expect = case.expect.clone().unwrap_or_default();
    let mut complaints = noted(played);
    let end = match &played.ending {
        TrialEnding::Over(end) => end,
        TrialEnding::Endless(why) => {
            complaints.push(Complaint::new(why));
            return complaints;
        }
        TrialEnding::NotStarted(problems) => {
            if !played.ending.is_as_expected(Some(&expect)) {
                complaints.push(Complaint::new(format!("the run did not start (exit {NOT_STARTED}): {}", visible(&problems.join("; ")))));
            }
            return complaints;
        }
    };
    let mut comparing = Comparing { suite, trial, played, end, expect: &expect, complaints };
    comparing.status();
    comparing.exit();
    comparing.refined();
    comparing.steps();
    comparing.blocked();
    comparing.calls();
    comparing.outputs();
    comparing.result();
    comparing.spent();
    comparing.sent();
    comparing.judge();
    comparing.complaints
}

/// Reports missing replies and mocks.
fn noted(played: &Played) -> Vec<Complaint> {
    let missing = played.noted.missing_replies.iter().map(|MissingReply { step, agent, call, after }| {
        let what = format!("no reply for call {call} of step \"{step}\", which asks agent \"{agent}\"");
        Complaint::new(match after {
            None => format!("{what}; add one to replies"),
            Some(after) => format!("{what}, after {after}; correct that, or add a reply"),
        })
    });
    let refused =
        played.noted.refused.iter().map(|step| Complaint::new(format!("step \"{step}\" has side effects and no mock; add one to mocks")));
    let unanswered = played
        .noted
        .unanswered
        .iter()
        .map(|(step, tool)| match tool.as_str() {
            "" => format!("step \"{step}\" asks a person and has no mock; add one to mocks with the answer"),
            tool => format!("step \"{step}\" asks a person about tool \"{tool}\", which has no mock; add one to mocks"),
        })
        .map(Complaint::new);
    missing.chain(refused).chain(unanswered).collect()
}

struct Comparing<'a> {
    suite: &'a Suite,
    trial: &'a Trial,
    played: &'a Played,
    end: &'a RunEnd,
    expect: &'a Expect,
    complaints: Vec<Complaint>,
}

impl Comparing<'_> {
    fn complain<T>(&mut self, at: &Spanned<T>, message: impl Into<String>) {
        self.complaints.push(match self.suite.row(at.span) {
            Some(row) => Complaint::new(format!("{row}: {}", message.into())),
            None => Complaint { line: Some(self.suite.line(at.span)), ..Complaint::new(message) },
        });
    }

    fn status(&mut self) {
        let wanted = wanted_status(Some(self.expect));
        if self.end.status.word() == wanted {
            return;
        }
        let mut message = format!("status: expected {wanted}, found {}", self.end.status.word());
        if let Some(failure) = &self.end.failure {
            let at = if failure.step.is_empty() { String::new() } else { format!(" at \"{}\"", failure.step) };
            let Noted { refused, unanswered, .. } = &self.played.noted;
            // The cause is a missing mock; no rule denied it.
            let lacks_mock = refused.contains(&failure.step) || unanswered.iter().any(|(step, _)| *step == failure.step);
            let kind = if lacks_mock { String::new() } else { format!(" ({})", failure.failure.kind.word()) };
            message.push_str(&format!("{at}: {}{kind}", visible(&failure.failure.message)));
        }
        for failure in self.played.record.iter().flat_map(|record| &record.failures).filter(|failure| failure.counts()) {
            let feedback = failure.not_met().map(|verdict| format!("{}: {}", verdict.id, verdict.feedback));
            let told = shortened(&feedback.collect::<Vec<_>>().join("; "));
            message.push_str(&format!("; gate \"{}\" was not met: {}", failure.gate, told));
        }
        match &self.expect.status {
            Some(status) => self.complain(status, message),
            None => self.complaints.push(Complaint::new(message)),
        }
    }

    fn exit(&mut self) {
        let found = i64::from(self.end.status.exit_code());
        if let Some(exit) = self.expect.exit.as_ref().filter(|exit| exit.value != found) {
            self.complain(exit, format!("exit: expected {}, found {found}", exit.value));
        }
    }

    fn refined(&mut self) {
        let word = |refined: bool| if refined { "refined" } else { "not refined" };
        if let Some(refined) = self.expect.refined.as_ref().filter(|refined| refined.value != self.played.is_refined) {
            self.complain(refined, format!("expected the run to be {}, it was {}", word(refined.value), word(self.played.is_refined)));
        }
    }

    fn steps(&mut self) {
        for (path, wanted) in &self.expect.steps {
            let steps = || self.played.record.iter().flat_map(|record| &record.steps);
            let found = steps().find(|step| step.step == path.value);
            // A path without the number of a call, an element or a round matches several steps and selects none of their results.
            let is_meant = |step: &str| step_path::leaves_out_numbers(&path.value, step);
            if let (None, Some(other)) = (found, steps().find(|step| is_meant(&step.step))) {
                let what = format!("step \"{}\": it ran as {}; write that, or another one of its numbers", path.value, other.step);
                self.complain(path, what);
                continue;
            }
            // A step that never started was skipped, was blocked, or belongs to something that never started.
            let never_started = found.is_none_or(|step| matches!(step.status.as_str(), "skipped" | "blocked"));
            match found {
                _ if wanted.value == "not_run" && never_started => {}
                Some(step) if step.status == wanted.value => {}
                Some(step) => {
                    let why = step.error.as_ref().and_then(|error| error["message"].as_str());
                    let why = why.map(|why| format!(": {}", visible(why))).unwrap_or_default();
                    self.complain(wanted, format!("step \"{}\": expected {}, found {}{why}", path.value, wanted.value, step.status));
                }
                None => {
                    let what =
                        format!("step \"{}\": expected {}, it did not run; write not_run if it should not", path.value, wanted.value);
                    self.complain(path, what);
                }
            }
        }
    }

    /// Compares the denied targets: exactly those that are expected.
    fn blocked(&mut self) {
        let Some(wanted) = &self.expect.blocked else { return };
        let decisions = || self.played.record.iter().flat_map(|record| &record.decisions).filter(|decision| !decision.allowed);
        let mut denied: BTreeMap<String, String> = decisions().map(|decision| (decision.target.clone(), decision.rule.clone())).collect();
        // The record has no decision about acts that a step may never do.
        let Noted { refused, unanswered, .. } = &self.played.noted;
        let mut told: Vec<&str> = decisions().map(|decision| decision.step.as_str()).collect();
        told.extend(refused.iter().chain(unanswered.iter().map(|(step, _)| step)).map(|step| &**step));
        let steps = self.played.record.iter().flat_map(|record| &record.steps);
        let failed: Vec<_> = steps.filter(|step| step.error.as_ref().is_some_and(|error| error["kind"] == "denied")).collect();
        let inner: Vec<&str> = failed.iter().map(|step| step.step.as_str()).chain(told).collect();
        let is_told = |step: &str| {
            inner.iter().filter(|other| **other == step).count() > 1 || inner.iter().any(|other| step_path::leads_into(other, step))
        };
        for step in failed.iter().filter(|step| !is_told(&step.step)) {
            let why = step.error.as_ref().and_then(|error| error["message"].as_str()).unwrap_or_default();
            denied.insert(step.step.clone(), why.to_owned());
        }
        self.exactly("blocked", wanted, &denied, "denied");
    }

    /// Compares what steps sent, the agents that were called, and the maximum number of open calls.
    fn calls(&mut self) {
        let (expect, calls) = (self.expect, &self.played.calls);
        for (path, wanted) in &expect.calls {
            let step = format!("step \"{}\"", path.value);
            if let Some(agents) = &wanted.agent {
                self.exactly(&format!("{step}: agent"), agents, &calls.agents_of(&path.value), "asked");
            }
            if let Some(pictures) = &wanted.pictures {
                self.exactly(&format!("{step}: pictures"), pictures, &calls.pictures_of(&path.value), "shown");
            }
            for (part, checks) in &wanted.checks {
                match calls.part(&path.value, *part) {
                    Some(value) => self.checks(&format!("{step}: {}", part.key()), &value, checks),
                    None if *part == CallPart::Prompt => self.complain(path, format!("{step}: prompt: it called no model")),
                    None => {
                        let why = "no mock answered a request of it, or the request could not be filled in";
                        self.complain(path, format!("{step}: {}: {why}", part.key()));
                    }
                }
            }
        }
        if let Some(asked) = &expect.asked {
            self.exactly("asked", asked, &calls.agents(), "asked");
        }
        if let Some(most) = expect.max_parallel.as_ref().filter(|most| calls.at_once as u64 > most.value) {
            self.complain(most, format!("max_parallel: expected at most {}, found {} calls at once", most.value, calls.at_once));
        }
    }

    /// Compares names: exactly the expected ones, each found name with its reason.
    fn exactly(&mut self, what: &str, wanted: &Spanned<Vec<Spanned<String>>>, found: &BTreeMap<String, String>, done: &str) {
        for name in wanted.value.iter().filter(|name| !found.contains_key(name.as_str())) {
            let hint = did_you_mean(&name.value, found.keys().map(String::as_str));
            self.complain(name, format!("{what}: \"{}\" was not {done}{hint}", name.value));
        }
        for (name, why) in found.iter().filter(|(name, _)| !wanted.value.iter().any(|known| known.value == **name)) {
            self.complain(wanted, format!("{what}: \"{}\" was {done}, too: {}", visible(name), visible(why)));
        }
    }

    fn outputs(&mut self) {
        for (name, checks) in &self.expect.outputs {
            match self.end.outputs.get(&name.value) {
                Some(value) => self.checks(&format!("output \"{}\"", name.value), value, checks),
                None => {
                    let names = self.end.outputs.as_object().into_iter().flat_map(|outputs| outputs.keys().map(String::as_str));
                    let hint = did_you_mean(&name.value, names);
                    self.complain(name, format!("output \"{}\": the run gave none{hint}", name.value));
                }
            }
        }
    }

    fn result(&mut self) {
        self.checks("result", &self.end.outputs, &self.expect.result);
    }

    fn spent(&mut self) {
        let usage = self.end.usage;
        // The usage of unreported calls counts as the amount reserved for them.
        let tokens = usage.total_tokens().saturating_add(usage.unknown_tokens);
        if let Some(most) = self.expect.max_tokens.as_ref().filter(|most| tokens > most.value) {
            let told = format!("{} in, {} out", usage.input_tokens, usage.output_tokens);
            self.complain(most, format!("max_tokens: expected at most {}, found {tokens} ({told})", most.value));
        }
        if let Some(most) = &self.expect.max_cost_usd {
            match usage.cost_usd {
                Some(cost) if cost > most.value => {
                    self.complain(most, format!("max_cost_usd: expected at most {}, found {cost:.6}", most.value));
                }
                None if tokens > 0 => {
                    let what =
                        format!("max_cost_usd: the cost of {tokens} tokens is not known; give the model a price: {{ input, output }}");
                    self.complain(most, what);
                }
                // The cost is the sum of all known costs.
                Some(_) => {
                    let calls = self.played.record.iter().flat_map(|record| &record.interactions);
                    let mut unpriced = calls.filter(|call| call.usage.cost_usd.is_none() && call.usage.total_tokens() > 0);
                    if let Some(call) = unpriced.next() {
                        let model = &call.model;
                        self.complain(
                            most,
                            format!("max_cost_usd: the cost of model \"{model}\" is not known; give it a price: {{ input, output }}"),
                        );
                    }
                }
                None => {}
            }
        }
    }

    fn sent(&mut self) {
        let Some(first) = self.expect.sent.first() else { return };
        if self.played.sent.is_empty() {
            return self.complain(first, "sent: nothing was sent");
        }
        self.checks("sent", &Value::String(one_text(&self.played.sent)), &self.expect.sent);
    }

    fn judge(&mut self) {
        if let (Some(wanted), Some(why)) = (&self.expect.judge, &self.played.misjudged) {
            self.complain(wanted, format!("judge: {}", visible(why)));
        }
    }

    fn checks(&mut self, what: &str, value: &Value, checks: &[Spanned<Check>]) {
        let pipeline = self.suite.pipeline();
        // The output of a run is stored without its origin.
        let output = Output::formatted(value.clone());
        let text = output.text();
        let judged = JudgedText {
            value,
            text: &text,
            formatted: output.made(),
            channel: self.suite.channel(self.trial.channel.as_deref()),
            style: pipeline.style_guide.as_deref(),
            person_name: self.played.person.get("name").and_then(Value::as_str),
        };
        let names = ExpectFiller(self.scope(value, &text));
        let quoted = gate::fill_apart_from(checks.iter().map(|check| &check.value), &names);
        for check in checks {
            let filled = gate::fill_check(&check.value, None, &names);
            let (feedback, diff) = match filled.and_then(|filled| Ok((filled, quoted.as_ref().map_err(Clone::clone)?))) {
                Err(problem) => (problem.message, None),
                Ok((filled, quoted)) => match (gate::check_apart_from(&filled, &judged, quoted.as_ref()), &filled) {
                    (result, _) if result.passed => continue,
                    (result, FilledCheck::Equals(wanted)) => (result.feedback, Diff::between(&lines_of(wanted), &lines_of(value))),
                    (result, _) => (result.feedback, None),
                },
            };
            // A number and its text differ only in the quotes.
            let found = match value {
                _ if diff.is_some() => String::new(),
                Value::Null => "; found nothing (empty)".to_owned(),
                Value::String(_) => format!("; found {}", shortened(&text)),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => format!("; found {}", begun(&text)),
            };
            let feedback = visible(&feedback);
            let feedback = if found.is_empty() { &*feedback } else { feedback.trim_end_matches('.') };
            self.complain(check, format!("{what}: {feedback}{found}"));
            if let Some(last) = self.complaints.last_mut() {
                last.diff = diff.map(|diff| ("expected".to_string(), diff));
            }
        }
    }

    /// Returns the names that a check can use: `value`, `text`, and the run's `inputs`, `outputs`, `steps`.
    fn scope(&self, value: &Value, text: &str) -> Scope {
        let json = |value: &Value| template::from_json(value);
        let mut scope = Scope::new();
        scope.set("value", json(value));
        scope.set("text", json(&Value::from(text)));
        scope.set("inputs", json(&self.played.inputs));
        scope.set("outputs", json(&self.end.outputs));
        let steps = self.played.record.iter().flat_map(|record| &record.steps).filter(|step| !step.step.contains(['/', '[']));
        let steps = steps.map(|step| {
            let output = (step.status == "succeeded").then(|| json(&step.output));
            let error = json(step.error.as_ref().unwrap_or(&Value::Null));
            (step.step.as_str(), template::step_value(&step.step, &step.status, output, error, json(&step.details)))
        });
        scope.set("steps", template::object(steps.collect::<Vec<_>>()));
        scope
    }
}

/// Fills in the templates in a check of a test.
struct ExpectFiller(Scope);

impl Fill for ExpectFiller {
    type Error = FillError;

    fn text(&self, text: &Text) -> Result<Value, FillError> {
        template::compile(text)?.fill(&self.0).and_then(|value| template::to_json(&value))
    }

    fn filling(&self, filling: &Filling) -> Result<Value, FillError> {
        filling.filled(&|text| self.text(text))
    }

    fn condition(&self, text: &Text) -> Result<bool, FillError> {
        template::compile(text)?.fill_condition(&self.0)
    }
}

/// Formats a value as lines for a comparison.
fn lines_of(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        other => serde_json::to_string_pretty(other).unwrap_or_default() + "\n",
    }
}

/// Returns the start of a text in quotes, on one line.
fn shortened(text: &str) -> String {
    format!("\"{}\"", begun(text))
}

/// Returns the start of a text, on one line.
fn begun(text: &str) -> String {
    const MOST: usize = 200;
    let shown: String = text.chars().take(MOST).collect();
    let more = if shown.len() < text.len() { " …" } else { "" };
    format!("{}{more}", visible(&shown))
}
