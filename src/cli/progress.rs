//! Progress of a run on standard error: one plain line when a step ends, and what is awaited meanwhile: on a terminal in a line of its own
//! that is drawn again and again, elsewhere in a plain line after ten seconds of silence.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::adapter::environment;
use crate::diagnostic::visible;
use crate::event::{Event, Happening};
use crate::port::{Clock, Printer};
use crate::redact::Redactor;

/// How often the live line is drawn again.
const REDRAW: Duration = Duration::from_millis(200);
/// How long nothing is told before a line says what is awaited.
const SILENCE: Duration = Duration::from_secs(10);
/// Most steps that the live line names.
const MOST_NAMED: usize = 3;

/// Shows how a run goes; what it shows ends with it.
pub(super) struct Progress {
    is_verbose: bool,
    live: Option<Live>,
}

struct Live {
    bar: ProgressBar,
    clock: Arc<dyn Clock>,
    awaited: Arc<Mutex<Awaited>>,
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What is under way.
#[derive(Default)]
struct Awaited {
    /// Steps that run, each with when it started.
    running: Vec<(String, Duration)>,
    /// When something was told last.
    told: Duration,
}

impl Progress {
    /// Shows nothing.
    pub(super) fn off() -> Progress {
        Progress { is_verbose: false, live: None }
    }

    /// Shows the ends of steps and what is awaited; `is_verbose`, every event.
    pub(super) fn on(is_verbose: bool, clock: Arc<dyn Clock>) -> Progress {
        let is_live = std::io::stderr().is_terminal() && !environment::is_set("CI") && environment::text("TERM").as_deref() != Some("dumb");
        let target = if is_live { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let awaited = Arc::new(Mutex::new(Awaited { told: clock.elapsed(), ..Awaited::default() }));
        let (sender, ended) = channel::<()>();
        let shared = (bar.clone(), clock.clone(), awaited.clone());
        let thread = std::thread::spawn(move || {
            let (bar, clock, awaited) = shared;
            while ended.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let mut awaited = held(&awaited);
                let now = clock.elapsed();
                let text = awaited.text(now);
                if is_live && !text.is_empty() {
                    bar.set_message(text);
                    bar.tick();
                } else if !is_live && !text.is_empty() && now.saturating_sub(awaited.told) >= SILENCE {
                    tell!("waiting for {text}");
                    awaited.told = now;
                }
            }
        });
        Progress { is_verbose, live: Some(Live { bar, clock, awaited, end: Some((sender, thread)) }) }
    }

    /// A printer that leaves the live line alone.
    pub(super) fn beside(&self, printer: Arc<dyn Printer>) -> Arc<dyn Printer> {
        match &self.live {
            Some(live) => Arc::new(Beside { printer, bar: live.bar.clone() }),
            None => printer,
        }
    }

    /// Shows what an event means to people.
    pub(super) fn show(&self, event: &Event, redactor: &Redactor) {
        let Some(live) = &self.live else { return };
        let mut awaited = held(&live.awaited);
        let now = live.clock.elapsed();
        awaited.take(event, now);
        let Some(line) = line(event, self.is_verbose) else { return };
        awaited.told = now;
        live.bar.suspend(|| tell!("{}", visible(&redactor.redact(&line))));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(mut live) = self.live.take() else { return };
        if let Some((sender, thread)) = live.end.take() {
            drop(sender);
            let _ = thread.join();
        }
        live.bar.finish_and_clear();
    }
}

struct Beside {
    printer: Arc<dyn Printer>,
    bar: ProgressBar,
}

impl Printer for Beside {
    fn print(&self, parts: &[String]) -> Result<(), String> {
        self.bar.suspend(|| self.printer.print(parts))
    }
}

fn held(awaited: &Mutex<Awaited>) -> MutexGuard<'_, Awaited> {
    awaited.lock().unwrap_or_else(PoisonError::into_inner)
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
            | Happening::StepCancelled { step } => self.running.retain(|(path, _)| path != &**step),
            _ => {}
        }
    }

    /// `compose (3s), check (1s)`: the innermost steps that run. Empty: nothing does.
    fn text(&self, now: Duration) -> String {
        let holds_another = |path: &str| {
            let inside = |other: &str| other.strip_prefix(path).is_some_and(|rest| rest.starts_with(['/', '[']));
            self.running.iter().any(|(other, _)| inside(other))
        };
        let inner: Vec<&(String, Duration)> = self.running.iter().filter(|(path, _)| !holds_another(path)).collect();
        let named =
            inner.iter().take(MOST_NAMED).map(|(path, since)| format!("{} ({}s)", visible(path), now.saturating_sub(*since).as_secs()));
        let mut text = named.collect::<Vec<_>>().join(", ");
        if inner.len() > MOST_NAMED {
            text.push_str(&format!(" and {} more", inner.len() - MOST_NAMED));
        }
        text
    }
}

/// The line of an event, if it has one.
fn line(event: &Event, is_verbose: bool) -> Option<String> {
    Some(match &event.happening {
        Happening::StepSucceeded { step, details, .. } => {
            let ms = details.get("duration_ms").and_then(serde_json::Value::as_u64).unwrap_or(0);
            let note = if details.get("passed") == Some(&serde_json::Value::Bool(false)) { " (not met, otherwise used)" } else { "" };
            format!("{step}: done{note}{}", took(ms))
        }
        Happening::StepFailed { step, failure, .. } => format!("{step}: failed ({}): {}", failure.kind.word(), failure.message),
        Happening::StepBlocked { step, by } if !by.is_empty() => format!("{step}: blocked by {by}"),
        Happening::StepCancelled { step } => format!("{step}: cancelled"),
        Happening::AttemptFailed { step, attempt, failure, .. } => {
            format!("{step}: try {attempt} failed ({}), trying again", failure.kind.word())
        }
        Happening::CaseChosen { step, case } => format!("{step}: {case}"),
        Happening::PlanAccepted { step, plan, .. } => {
            let steps = match plan.steps.len() {
                1 => "1 step".to_string(),
                count => format!("{count} steps"),
            };
            format!("{step}: a plan of {steps}, {}", plan.strategy.word())
        }
        Happening::PlanRefused { step, findings, .. } => format!("{step}: plan refused: {}", findings.join("; ")),
        Happening::PlanChecked { step, fulfilled, .. } => {
            format!("{step}: {}", if *fulfilled { "the work is done" } else { "the work is not done" })
        }
        Happening::RefinementStarted { target, .. } => format!("{target}: once more, with feedback"),
        Happening::LimitReached { message, .. } => message.clone(),
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
            Awaited { running: vec![at("each", 0), at("each[0]", 2), at("facts", 1), at("facts/today", 4)], told: Duration::ZERO };
        assert_eq!(awaited.text(Duration::from_secs(5)), "each[0] (3s), facts/today (1s)");
        awaited.running = (0..5).map(|n| at(&format!("s{n}"), 0)).collect();
        assert_eq!(awaited.text(Duration::from_secs(1)), "s0 (1s), s1 (1s), s2 (1s) and 2 more");
        assert_eq!(Awaited::default().text(Duration::ZERO), "");
    }
}
