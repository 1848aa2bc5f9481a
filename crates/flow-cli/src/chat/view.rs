//! Shows an answer while it arrives: tool calls, failures, and the streamed text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::streamed::{Rest, StreamedAnswer};
use crate::adapter::lock;
use crate::asking::AskedAtTerminal;
use crate::channel::{TerminalBlock, terminal_blocks};
use crate::check::ANSWER;
use crate::diagnostic::visible;
use crate::driver::AnswerListener;
use crate::event::{Event, Failure, Happening, ModelAnswer, RunStatus, ToolCall};
use crate::journal::RunMask;
use crate::progress::{self, ProgressDisplay};
use crate::redact::Redactor;
use crate::report::{Look, fit};
use crate::runtime::{Answer, Attend, Decide, Decided, RunOutcome, RunQuestion};
use crate::signals::Attended;
use crate::{run, stdout, tell};

/// Maximum width of the arguments of a tool call without `--verbose`, in columns.
const MOST_ARGUMENTS: usize = 60;

/// Prints a text as Markdown, wrapped to the window.
fn print(markdown: &str, look: Look, is_first: bool) {
    let drawn: String = terminal_blocks(&tell::without_secrets(markdown), look.is_coloured)
        .into_iter()
        .map(|TerminalBlock { is_apart, first, text, is_verbatim }| {
            let gap = if is_apart { "\n" } else { "" };
            let lines = if is_verbatim { format!("{first}{text}\n") } else { look.wrapped(&first, &text) };
            format!("{gap}{lines}")
        })
        .collect();
    stdout::print(&format!("{}{drawn}", if is_first { "" } else { "\n" }));
}

/// A call of a tool.
pub(super) struct ToolUse {
    name: String,
    arguments: Value,
    status: &'static str,
    duration_ms: Option<u64>,
    error: Option<String>,
}

impl ToolUse {
    /// Formats it for `--json`, masked like a log.
    pub(super) fn to_json(&self, redactor: &Redactor) -> Value {
        let arguments = redactor.redact(&self.arguments.to_string());
        let arguments = serde_json::from_str::<Value>(&arguments).unwrap_or(Value::String(arguments));
        let error = self.error.as_ref().map(|text| redactor.redact(text));
        json!({ "name": self.name, "arguments": arguments, "status": self.status, "duration_ms": self.duration_ms, "error": error })
    }
}

/// The view of one answer.
pub(super) struct View {
    pub(super) signals: Attended,
    pub(super) progress: Option<Arc<ProgressDisplay>>,
    stream: Option<Arc<Mutex<StreamedAnswer>>>,
    pub(super) tools: Vec<ToolUse>,
    /// The index of the tool use, by call.
    open: HashMap<u64, usize>,
    /// The calls that a step's model requested last, by step.
    wanted: HashMap<String, Vec<ToolCall>>,
    look: Look,
    /// The look of the answer itself.
    prints_as: Look,
    is_quiet: bool,
    is_verbose: bool,
    /// The step whose failure was printed last.
    failed: Option<String>,
}

impl View {
    /// Creates a view. `streams`: whether the agent's text is shown while it is written.
    pub(super) fn new(signals: Attended, progress: Option<ProgressDisplay>, streams: bool, seen: &super::Chat) -> View {
        View {
            signals,
            progress: progress.map(Arc::new),
            stream: streams.then(Arc::default),
            tools: vec![],
            open: HashMap::new(),
            wanted: HashMap::new(),
            look: seen.shared.look_of_stderr(),
            prints_as: seen.shared.look(),
            is_quiet: seen.shared.quiet,
            is_verbose: seen.shared.verbose,
            failed: None,
        }
    }

    /// Returns the listener for streamed answers.
    pub(super) fn heard(&self) -> Option<AnswerListener> {
        let live = self.progress.as_ref().and_then(|progress| progress.heard());
        let Some(stream) = self.stream.clone() else { return live };
        let (progress, look) = (self.progress.clone(), self.prints_as);
        Some(Arc::new(move |call, so_far| {
            live.iter().for_each(|live| live(call, so_far));
            let mut stream = lock(&stream);
            if stream.call == Some(call)
                && let Some(text) = stream.grows(so_far)
            {
                let is_first = !std::mem::replace(&mut stream.has_printed, true);
                beside(progress.as_deref(), || print(&text, look, is_first));
            }
        }))
    }

    /// Whether a call of a server is open.
    pub(super) fn waits_for_server(&self) -> bool {
        self.open.values().any(|at| self.tools.get(*at).is_some_and(|tool| tool.name.contains('.')))
    }

    /// Whether the failure that ended a run was already printed.
    pub(super) fn has_told(&self, outcome: &RunOutcome) -> bool {
        outcome.status() == Some(RunStatus::Failed)
            && outcome.failure.as_ref().is_some_and(|end| self.failed.as_deref() == Some(&*end.step))
    }

    /// Prints the rest of the answer, once it is complete.
    pub(super) fn prints(&self, answer: &str) {
        let stream = self.stream.clone().unwrap_or_default();
        let mut stream = lock(&stream);
        match stream.ends(answer) {
            Rest::Nothing => {}
            Rest::More(text) => self.print(&mut stream, &text),
            Rest::Whole => {
                self.line("the answer, as it is kept:", "2");
                self.print(&mut stream, answer);
            }
        }
    }

    /// Ends the text of a call, and prints the rest of it.
    fn end(&self, call: u64, text: Option<&str>) {
        let Some(stream) = self.stream.as_ref().filter(|stream| lock(stream).call.take_if(|own| *own == call).is_some()) else { return };
        if let Some(text) = text {
            return self.prints(text);
        }
        let mut stream = lock(stream);
        if let Some(text) = stream.breaks_off() {
            self.print(&mut stream, &text);
        }
    }

    fn print(&self, stream: &mut StreamedAnswer, text: &str) {
        let is_first = !std::mem::replace(&mut stream.has_printed, true);
        beside(self.progress.as_deref(), || print(text, self.prints_as, is_first));
    }

    fn line(&self, text: &str, code: &'static str) {
        match &self.progress {
            _ if self.is_quiet => {}
            Some(progress) => progress.tell(text.to_owned(), code),
            None => tell::in_colour(text, self.look, code),
        }
    }

    fn called(&mut self, call: u64, tool: &str, with: &Value, mask: RunMask<'_>) {
        let told = mask.redactor().redact(&arguments(with));
        let told = if self.is_verbose { told } else { fit(&told, MOST_ARGUMENTS) };
        self.line(&format!("  {}({}) running", visible(tool), visible(&told)), "2");
        self.open.insert(call, self.tools.len());
        self.tools.push(ToolUse { name: tool.to_owned(), arguments: with.clone(), status: "running", duration_ms: None, error: None });
    }

    /// Shows a call that is not made: of an unknown tool, or with invalid arguments.
    fn not_made(&mut self, wanted: &ToolCall, failure: &Failure, mask: RunMask<'_>) {
        let error = mask.redactor().redact(&failure.message);
        self.line(&format!("  {} not called ({}): {}", visible(&wanted.tool), failure.kind.word(), visible(&error)), "31");
        let (name, arguments) = (wanted.tool.clone(), wanted.arguments.clone());
        self.tools.push(ToolUse { name, arguments, status: "failed", duration_ms: Some(0), error: Some(error) });
    }

    fn replied(&mut self, call: u64, failure: Option<&Failure>, duration_ms: u64, result: Option<&Value>, mask: RunMask<'_>) {
        let Some(tool) = self.open.remove(&call).and_then(|at| self.tools.get_mut(at)) else { return };
        let name = tool.name.clone();
        let seconds = duration_ms as f64 / 1000.0;
        (tool.status, tool.duration_ms) = (if failure.is_some() { "failed" } else { "success" }, Some(duration_ms));
        let line = match failure {
            None => format!("  {} done ({seconds:.1}s)", visible(&name)),
            Some(failure) => {
                let error = mask.redactor().redact(&failure.message);
                tool.error = Some(error.clone());
                format!("  {} failed ({}, {seconds:.1}s): {}", visible(&name), failure.kind.word(), visible(&error))
            }
        };
        self.line(&line, if failure.is_some() { "31" } else { "2" });
        if let Some(result) = result.filter(|_| self.is_verbose) {
            let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
            self.line(&format!("  {}", visible(&mask.redactor().redact(&text))), "2");
        }
    }
}

/// Formats arguments as `city: "Boston", unit: "C"`.
fn arguments(with: &Value) -> String {
    match with {
        Value::Object(with) => with.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", "),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Writes while the live line is hidden.
fn beside(progress: Option<&ProgressDisplay>, write: impl FnOnce()) {
    match progress {
        Some(progress) => progress.suspended(write),
        None => write(),
    }
}

impl Attend for View {
    fn masks(&mut self, redactor: &Redactor) {
        tell::hide_with(redactor);
    }

    fn waits(&mut self, ahead: &str, process: &str) {
        run::waits(ahead, process, self.is_quiet);
    }

    fn see(&mut self, event: &Event, mask: RunMask<'_>) {
        self.signals.watch(event);
        self.progress.iter().for_each(|progress| progress.follow(event, mask));
        match &event.happening {
            Happening::ModelCalled { step, call, .. } if **step == *ANSWER => {
                self.stream.iter().for_each(|stream| lock(stream).begins(*call));
            }
            Happening::ModelReplied { step, call, reply, .. } => match reply {
                ModelAnswer::Said { text, calls, .. } => {
                    self.end(*call, Some(text));
                    self.wanted.insert(step.to_string(), calls.clone());
                }
                ModelAnswer::Failed(_) => self.end(*call, None),
            },
            // Calls of steps are shown only for servers; for other steps, the step's failure is sufficient.
            Happening::ToolCalled { call, tool, with, asked, .. } if asked.is_some() || tool.contains('.') || self.is_verbose => {
                self.called(*call, tool, with, mask);
            }
            Happening::ToolReplied { step, call, asked: Some(place), failure: Some(failure), .. } if !self.open.contains_key(call) => {
                let wanted = self.wanted.get(&**step).and_then(|calls| calls.get(*place)).cloned();
                wanted.iter().for_each(|wanted| self.not_made(wanted, failure, mask));
            }
            Happening::ToolReplied { call, failure, duration_ms, result, .. } => {
                self.replied(*call, failure.as_ref(), *duration_ms, result.as_ref(), mask);
            }
            // The received text is shown, and later text is not.
            Happening::CancelRequested { waits_until_ms, .. } => {
                let call = self.stream.as_ref().and_then(|stream| lock(stream).call);
                call.iter().for_each(|call| self.end(*call, None));
                if waits_until_ms.is_some() {
                    self.line("stopping: a call that may act has 4 seconds to answer; Ctrl-C again ends it at once", "33");
                }
            }
            Happening::StepFailed { step, .. } => {
                self.failed = (!self.is_quiet).then(|| step.to_string());
                progress::line(event, false, mask).iter().for_each(|line| self.line(line, "33"));
            }
            Happening::AttemptFailed { .. } | Happening::LimitReached { .. } | Happening::ToolsListed { .. } => {
                progress::line(event, false, mask).iter().for_each(|line| self.line(line, "33"));
            }
            _ if self.is_verbose => progress::line(event, true, mask).iter().for_each(|line| self.line(line, "2")),
            _ => {}
        }
    }
}

/// Asks the person at the terminal of an agent that answers directly; its run cannot be resumed later.
pub(super) struct AskedAboutAgent(pub(super) AskedAtTerminal);

impl Decide for AskedAboutAgent {
    fn decide(&mut self, asked: RunQuestion) -> Decided<'_> {
        let decided = self.0.decide(asked);
        Box::pin(async {
            let answer = decided.await;
            if answer.is_none() {
                tell!("nobody decides: the call is rejected");
            }
            answer.or_else(|| Some(Answer::of_nobody("")))
        })
    }

    fn decide_unrecorded(&mut self, asked: RunQuestion) -> Decided<'_> {
        self.0.decide_unrecorded(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_by_name() {
        assert_eq!(arguments(&json!({ "city": "Boston", "days": 2 })), "city: \"Boston\", days: 2");
    }
}
