//! Progress of a run on standard error: one line when a step ends, and a report of running steps. On a terminal that is a live line (with
//! the end of a streamed answer); elsewhere it is a plain line after ten seconds of silence.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{tell, typing};
use crate::adapter::clock::SystemClock;
use crate::adapter::lock;
use crate::diagnostic::{counted, visible};
use crate::driver::AnswerListener;
use crate::event::{Event, Happening, StepDetails};
use crate::journal::RunMask;
use crate::model::step_path;
use crate::port::{Clock, PrintError, Printer};
use crate::redact::Redactor;
use crate::report::Look;

/// Time between updates of the live line.
const REDRAW: Duration = Duration::from_millis(200);
/// Time without output after which a line reports the running steps.
const SILENCE: Duration = Duration::from_secs(10);
/// Maximum number of steps named in the live line.
const MOST_NAMED: usize = 3;

/// Maximum length of the shown end of a streamed answer, in characters.
const MOST_HEARD: usize = 60;

/// Shows the progress of a run; dropping it ends the display.
pub(super) struct ProgressDisplay {
    is_verbose: bool,
    look: Look,
    bar: ProgressBar,
    is_live: bool,
    /// Whether standard output is shown on the same terminal.
    is_shared: bool,
    clock: SystemClock,
    awaited: Arc<Mutex<Awaited>>,
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The work in progress.
#[derive(Default)]
struct Awaited {
    /// Running steps, each with its start time.
    running: Vec<(String, Duration)>,
    /// Open calls of models and searches, with their step and the end of the answer received so far.
    heard: HashMap<u64, (String, String)>,
    /// Masks the personal and secret values known so far.
    redactor: Redactor,
    /// Whether other code is writing to the terminal.
    is_aside: bool,
    /// Set while a person is asked: lines with their colours, to be printed after the answer.
    waiting: Option<Vec<(String, &'static str)>>,
    /// When something was printed last.
    told: Duration,
    /// Whether a line was printed.
    has_told: bool,
    /// Whether the reply is on the terminal: only failures are printed below it.
    is_answered: bool,
}

impl ProgressDisplay {
    /// Shows the ends of steps and the running ones; with `is_verbose`, every event.
    pub(super) fn new(is_verbose: bool, look: Look) -> ProgressDisplay {
        let clock = SystemClock::new();
        let is_live = typing::shows_lines();
        let target = if is_live { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        clear(&bar);
        let awaited = Arc::new(Mutex::new(Awaited { told: clock.elapsed(), ..Awaited::default() }));
        let (sender, ended) = channel::<()>();
        let shared = (bar.clone(), awaited.clone());
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            let (bar, awaited) = shared;
            while ended.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let mut awaited = lock(&awaited);
                let now = clock.elapsed();
                let text = awaited.text(now);
                if is_live && !text.is_empty() {
                    draw(&bar, text);
                } else if !is_live && !text.is_empty() && now.saturating_sub(awaited.told) >= SILENCE {
                    tell!("waiting for {text}");
                    awaited.told = now;
                }
            }
        });
        let is_shared = is_live && std::io::stdout().is_terminal();
        ProgressDisplay { is_verbose, look, bar, is_live, is_shared, clock, awaited, end: thread.ok().map(|thread| (sender, thread)) }
    }

    /// Returns a listener for streamed answers; only if there is a live line to show them.
    pub(super) fn heard(&self) -> Option<AnswerListener> {
        let awaited = self.awaited.clone();
        self.is_live.then(|| -> AnswerListener { Arc::new(move |call, so_far| lock(&awaited).hear(call, so_far)) })
    }

    /// Wraps a printer so that it hides the live line.
    pub(super) fn beside(&self, printer: Arc<dyn Printer>) -> Arc<dyn Printer> {
        Arc::new(PrinterBesideProgress { printer, bar: self.bar.clone(), awaited: self.awaited.clone(), is_shared: self.is_shared })
    }

    /// Whether a reply must be set apart from the lines above it.
    pub(super) fn is_above_reply(&self) -> bool {
        let awaited = lock(&self.awaited);
        self.is_shared && awaited.has_told && !awaited.is_answered
    }

    /// Leaves the terminal to a question: other lines are printed after it.
    pub(super) fn hold(self: &Arc<Self>) -> HeldProgress {
        lock(&self.awaited).waiting = Some(vec![]);
        clear(&self.bar);
        HeldProgress(Arc::clone(self))
    }

    /// Prints a line while the live line is hidden; after the current question, if there is one.
    pub(super) fn tell(&self, line: String, colour: &'static str) {
        let mut awaited = lock(&self.awaited);
        (awaited.told, awaited.has_told) = (self.clock.elapsed(), true);
        match &mut awaited.waiting {
            Some(waiting) => waiting.push((line, colour)),
            None => self.bar.suspend(|| tell::in_colour(&line, self.look, colour)),
        }
    }

    /// Writes while the live line is hidden.
    pub(super) fn suspended(&self, write: impl FnOnce()) {
        lock(&self.awaited).is_aside = true;
        clear(&self.bar);
        write();
        let mut awaited = lock(&self.awaited);
        (awaited.is_aside, awaited.told) = (false, self.clock.elapsed());
    }

    /// Updates only the live line with an event.
    pub(super) fn follow(&self, event: &Event, mask: RunMask<'_>) {
        let mut awaited = lock(&self.awaited);
        awaited.take(event, self.clock.elapsed());
        if self.is_live && matches!(event.happening, Happening::ModelCalled { .. }) {
            awaited.redactor = mask.redactor().clone();
        }
    }

    /// Prints the line of an event.
    pub(super) fn show(&self, event: &Event, mask: RunMask<'_>) {
        self.follow(event, mask);
        let colour = colour_of(event);
        if lock(&self.awaited).is_answered && colour == PALE && !self.is_verbose {
            return;
        }
        line(event, self.is_verbose, mask).into_iter().for_each(|line| self.tell(line, colour));
    }
}

/// Leaves the terminal to a question as long as it is held.
pub(super) struct HeldProgress(Arc<ProgressDisplay>);

impl Drop for HeldProgress {
    fn drop(&mut self) {
        let waiting = lock(&self.0.awaited).waiting.take().unwrap_or_default();
        waiting.into_iter().for_each(|(line, colour)| self.0.tell(line, colour));
    }
}

/// Draws the live line.
fn draw(bar: &ProgressBar, text: String) {
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message(text);
    bar.tick();
}

/// Hides the live line until it is drawn again, with the cursor at the start of an empty line.
fn clear(bar: &ProgressBar) {
    if let Ok(style) = ProgressStyle::with_template("") {
        bar.set_style(style);
    }
    bar.suspend(|| ());
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.end.take() {
            drop(sender);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

struct PrinterBesideProgress {
    printer: Arc<dyn Printer>,
    bar: ProgressBar,
    awaited: Arc<Mutex<Awaited>>,
    is_shared: bool,
}

impl Printer for PrinterBesideProgress {
    /// Holds no lock while it prints: the reader of the output may be blocked.
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        let is_first = {
            let mut awaited = lock(&self.awaited);
            awaited.is_aside = true;
            let is_first = self.is_shared && (awaited.waiting.is_some() || awaited.has_told && !awaited.is_answered);
            awaited.is_answered |= self.is_shared;
            is_first
        };
        clear(&self.bar);
        if is_first {
            tell::gap();
        }
        let printed = self.printer.print(parts);
        lock(&self.awaited).is_aside = false;
        printed
    }
}

impl Awaited {
    fn take(&mut self, event: &Event, now: Duration) {
        match &event.happening {
            Happening::StepStarted { step, .. } => {
                self.running.retain(|(path, _)| path != &**step);
                self.running.push((step.to_string(), now));
            }
            Happening::StepSucceeded { step, .. }
            | Happening::StepFailed { step, .. }
            | Happening::StepSkipped { step }
            | Happening::StepBlocked { step, .. }
            | Happening::StepCancelled { step, .. } => self.running.retain(|(path, _)| path != &**step),
            // A search reports the progress of its index.
            Happening::ModelCalled { step, call, .. } | Happening::ToolCalled { step, call, .. } => {
                self.heard.insert(*call, (step.to_string(), String::new()));
            }
            Happening::ModelReplied { call, .. } | Happening::ToolReplied { call, .. } => {
                self.heard.remove(call);
            }
            _ => {}
        }
    }

    /// Stores the end of a streamed answer. It is longer than what is shown, so that masked values are complete.
    fn hear(&mut self, call: u64, so_far: &str) {
        if let Some((_, end)) = self.heard.get_mut(&call) {
            let skipped = so_far.char_indices().rev().nth(4 * MOST_HEARD).map_or(0, |(at, _)| at);
            *end = so_far[skipped..].to_owned();
        }
    }

    /// Returns ` …the end of the answer`, if only one step is running.
    fn writing(&self, path: &str) -> String {
        let Some((_, end)) = self.heard.values().find(|(step, end)| step == path && !end.is_empty()) else { return String::new() };
        let words = self.redactor.redact(end).split_whitespace().collect::<Vec<_>>().join(" ");
        let skipped = words.char_indices().rev().nth(MOST_HEARD).map_or(0, |(at, _)| at);
        format!(" …{}", visible(&words[skipped..]))
    }

    /// Returns the innermost running steps: `compose (3s), check (1s)`. Empty: none is running.
    fn text(&self, now: Duration) -> String {
        if self.is_aside || self.waiting.is_some() {
            return String::new();
        }
        let holds_another = |path: &str| self.running.iter().any(|(other, _)| step_path::leads_into(other, path));
        let inner: Vec<&(String, Duration)> = self.running.iter().filter(|(path, _)| !holds_another(path)).collect();
        let named =
            inner.iter().take(MOST_NAMED).map(|(path, since)| format!("{} ({}s)", visible(path), now.saturating_sub(*since).as_secs()));
        let mut text = named.collect::<Vec<_>>().join(", ");
        if inner.len() > MOST_NAMED {
            text.push_str(&format!(" and {} more", inner.len() - MOST_NAMED));
        }
        if let [(path, _)] = inner[..] {
            text.push_str(&self.writing(path));
        }
        text
    }
}

/// The colour of regular progress.
const PALE: &str = "2";

/// Returns the colour of an event's line.
fn colour_of(event: &Event) -> &'static str {
    match &event.happening {
        Happening::StepFailed { .. } | Happening::StepBlocked { .. } | Happening::LimitReached { .. } => "31",
        Happening::AttemptFailed { .. }
        | Happening::PlanRefused { .. }
        | Happening::TaskTried { error: Some(_), .. }
        | Happening::TaskExecuted { error: Some(_), .. }
        | Happening::RefinementStarted { .. }
        | Happening::CancelRequested { .. }
        | Happening::OutcomeUnknown { .. }
        | Happening::StepCancelled { .. }
        | Happening::ToolsListed { absent: Some(_), .. } => "33",
        Happening::OutputWritten { rejected, .. } if !rejected.is_empty() => "33",
        _ => PALE,
    }
}

/// Returns the line of an event, if it has one; texts of people, models and tools in it are masked.
pub(super) fn line(event: &Event, is_verbose: bool, mask: RunMask<'_>) -> Option<String> {
    let masked = |text: &str| mask.redactor().redact(text);
    Some(match &event.happening {
        // An earlier run did it: the count of its list says so.
        Happening::StepSucceeded { details, .. } if StepDetails::from_value(details).is_kept() && !is_verbose => return None,
        Happening::StepSucceeded { step, details, .. } => {
            let details = StepDetails::from_value(details);
            let time = took(details.duration_ms().unwrap_or(0));
            if let Some(batch) = mask.batch(step).filter(|batch| batch.elements > 0) {
                return Some(format!("{step}: {}{time}", batch.words()));
            }
            let note = match (details.passed(), details.rounds(), details.is_cut()) {
                (Some(false), ..) => " (not met, otherwise used)".to_owned(),
                (_, Some((rounds, met)), _) => {
                    let rounds = counted(rounds, "round", "rounds");
                    if met { format!(" ({rounds})") } else { format!(" (not met after {rounds}, the last one counts)") }
                }
                (_, _, true) => " (cut: there were more rows)".to_owned(),
                (_, _, false) => String::new(),
            };
            format!("{step}: done{note}{time}")
        }
        Happening::StepFailed { step, failure, .. } => {
            let counts = mask.batch(step).filter(|batch| batch.elements > 0).map(|batch| format!("; {}", batch.words()));
            format!("{step}: failed ({}): {}{}", failure.kind.word(), masked(&failure.message), counts.unwrap_or_default())
        }
        Happening::StepBlocked { step, by } if !by.is_empty() => format!("{step}: blocked by {by}"),
        Happening::StepCancelled { step, .. } => format!("{step}: cancelled"),
        Happening::AttemptFailed { step, attempt, failure, .. } => {
            format!("{step}: try {attempt} failed ({}), retrying", failure.kind.word())
        }
        Happening::CaseChosen { step, case } => format!("{step}: {case}"),
        Happening::StepsOpened { step, round, .. } if *round > 1 => format!("{step}: round {round}"),
        Happening::PlanAccepted { step, plan, .. } => {
            format!("{step}: a plan of {}, {}", counted(plan.steps.len(), "step", "steps"), plan.strategy.word())
        }
        Happening::TaskTried { step, number, error: Some(error), .. }
        | Happening::TaskExecuted { step, number, error: Some(error), .. } => {
            format!("{step}: try {number} failed: {}", masked(error.lines().next().unwrap_or_default()))
        }
        Happening::TaskJudged { step, number, verdicts } => match verdicts.iter().filter(|verdict| !verdict.passed).count() {
            0 => format!("{step}: try {number} accepted"),
            unmet => format!("{step}: try {number} not accepted, {} not met", counted(unmet, "criterion", "criteria")),
        },
        Happening::DialogueTurned { step, turn, duration_ms, .. } => {
            format!("{step}: turn {}, {}{}", turn.number, turn.from, took(*duration_ms))
        }
        Happening::DialogueJudged { step, agreed, .. } => {
            format!("{step}: the judge says that they {}", if *agreed { "agree" } else { "do not agree" })
        }
        Happening::DialogueClosed { step, ended, reason } => format!("{step}: {} ({})", ended.word(), masked(reason)),
        Happening::PlanRefused { step, findings, .. } => format!("{step}: plan rejected: {}", masked(&findings.join("; "))),
        Happening::PlanChecked { step, fulfilled, .. } => {
            format!("{step}: {}", if *fulfilled { "the work is done" } else { "the work is not done" })
        }
        Happening::RefinementStarted { target, .. } => format!("{target}: running again with feedback"),
        Happening::LimitReached { message, .. } => masked(message),
        Happening::CancelRequested { waits_until_ms: Some(until), .. } => {
            format!("waiting up to {}s for the answers of open calls", until.saturating_sub(event.at_ms).div_ceil(1000))
        }
        Happening::OutputWritten { step, rejected, part: 1, .. } if !rejected.is_empty() => {
            let each: Vec<String> = rejected.iter().map(|one| format!("{} ({})", one.recipient, one.reason)).collect();
            masked(&format!("{step}: rejected by the mail server, and not sent to {}", each.join(", ")))
        }
        Happening::OutcomeUnknown { step, .. } => format!("{step}: no answer; it is unknown whether the call had an effect"),
        Happening::ToolsListed { step, server, absent: Some(failure), .. } => {
            format!("{step}: optional server {server} is not available; the run continues without its tools: {}", masked(&failure.message))
        }
        _ if is_verbose => serde_json::to_value(event).ok().and_then(|v| v["type"].as_str().map(str::to_string)).unwrap_or_default(),
        _ => return None,
    })
}

fn took(ms: u64) -> String {
    if ms < 100 { String::new() } else { format!(" ({:.1}s)", ms as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_steps_are_named_with_their_time() {
        let at = |path: &str, seconds| (path.to_string(), Duration::from_secs(seconds));
        let mut awaited =
            Awaited { running: vec![at("each", 0), at("each[0]", 2), at("facts", 1), at("facts/today", 4)], ..Awaited::default() };
        assert_eq!(awaited.text(Duration::from_secs(5)), "each[0] (3s), facts/today (1s)");
        awaited.running = (0..5).map(|n| at(&format!("s{n}"), 0)).collect();
        assert_eq!(awaited.text(Duration::from_secs(1)), "s0 (1s), s1 (1s), s2 (1s) and 2 more");
        assert_eq!(Awaited::default().text(Duration::ZERO), "");
    }

    #[test]
    fn the_end_of_an_answer_that_is_being_written_is_shown_masked_and_without_control_characters() {
        let mut awaited = Awaited { running: vec![("compose".to_string(), Duration::ZERO)], ..Awaited::default() };
        awaited.heard.insert(7, ("compose".into(), String::new()));
        awaited.hear(7, &format!("{}\n\u{1b}[2J write to ana@example.com", "words ".repeat(300)));
        let text = awaited.text(Duration::from_secs(2));
        assert!(text.starts_with("compose (2s) …") && text.ends_with("write to <EMAIL_1>"), "{text}");
        assert!(!text.contains('\u{1b}') && text.chars().count() < 100, "{text}");
        awaited.hear(8, "of a call that is not known");
        awaited.running.push(("other".into(), Duration::ZERO));
        assert_eq!(awaited.text(Duration::from_secs(2)), "compose (2s), other (2s)");
    }
}
