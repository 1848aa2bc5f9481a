//! The messages of a run for its conversation.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{PersonalMask, RunMask};
use crate::event::{ConversationSoFar, Event, Happening, ModelAnswer, Purpose, RunStart, RunStatus, StepPath};
use crate::model::{MessageRole, PastMessage, SUMMARY_STEP};
use crate::port::{KeptMessage, MessageThread};
use crate::redact::Redactor;

/// Returns the messages of an ended run: the person's message, what was sent (or else the first output), the exchanges of agents with their
/// own history, and the run's summary. Empty: the run has no conversation, or has not ended.
pub fn spoken(run: &str, events: &[Event]) -> Vec<KeptMessage> {
    let Some(Happening::RunStarted(start)) = events.first().map(|event| &event.happening) else { return vec![] };
    let end = events
        .iter()
        .rev()
        .find_map(|event| if let Happening::RunFinished(end) = &event.happening { Some((end, own_time(event, events))) } else { None });
    let (Some(own), Some((end, ended))) = (&start.conversation, end) else { return vec![] };
    let mut mask = PersonalMask::default();
    mask.take(events);
    let mask = mask.for_run(events);
    let answers = answers(start, events);
    let is_unanswered = answers.is_empty() && !matches!(end.status, RunStatus::Succeeded | RunStatus::Partial);
    let thread = if is_unanswered { MessageThread::Unanswered } else { MessageThread::Talk };
    let keep = |said: PastMessage, is_marked| masked_message(run, said, is_marked, &mask, thread);
    let is_marked = |text: &str| start.marks.inputs.iter().any(|name| start.inputs.get(name).is_some_and(|value| *value == text));
    let mut spoken = vec![keep(own.message.clone(), is_marked(&own.message.text))];
    if answers.is_empty() {
        let (name, output) = match end.outputs.as_object() {
            Some(outputs) if start.names_outputs => outputs.iter().next().map_or(("", None), |(name, value)| (name.as_str(), Some(value))),
            _ => ("", Some(&*end.outputs)),
        };
        let shown = output.filter(|output| !output.is_null()).map(|output| match output.as_str() {
            Some(text) => PastMessage { text: text.to_owned(), ..answer(start) },
            None => PastMessage { text: output.to_string(), content: Some(json!({ "output": output })), ..answer(start) },
        });
        let is_marked = start.marks.whole_output || start.marks.outputs.iter().any(|marked| marked == name);
        let shown = shown.filter(|message| !message.text.trim().is_empty());
        spoken.extend(shown.map(|message| keep(PastMessage { time: Some(ended), ..message }, is_marked)));
    }
    spoken.extend(answers.into_iter().map(|message| keep(message, false)));
    if !is_unanswered {
        spoken.extend(
            exchanges(own, start, events)
                .into_iter()
                .map(|(said, is_marked)| masked_message(run, said, is_marked, &mask, MessageThread::Agent)),
        );
    }
    spoken.extend(summary(own, events).map(|(said, until)| masked_message(run, said, false, &mask, MessageThread::Summary { until })));
    spoken
}

/// Returns a message that somebody adds by hand, with text that looks personal masked.
pub fn added(run: &str, said: PastMessage, thread: MessageThread) -> KeptMessage {
    masked_message(run, said, false, &PersonalMask::default().for_run(&[]), thread)
}

fn masked_message(run: &str, said: PastMessage, is_marked: bool, mask: &RunMask<'_>, thread: MessageThread) -> KeptMessage {
    let redactor: &Redactor = mask.redactor();
    let masked = if is_marked { redactor.redact_whole(&said.text) } else { redactor.redact(&said.text) };
    let content = said.content.as_ref().filter(|_| !is_marked).map(|content| redactor.redact_value(content));
    KeptMessage { run: run.to_owned(), said, masked, content, thread }
}

/// Returns the time of an event by the clock of the run, which `--now` may have set.
fn own_time(event: &Event, events: &[Event]) -> DateTime<Utc> {
    match events.first().map(|first| (&first.happening, first.time)) {
        Some((Happening::RunStarted(start), begun)) => start.now.checked_add_signed(event.time - begun).unwrap_or(event.time),
        _ => event.time,
    }
}

fn answer(start: &RunStart) -> PastMessage {
    let person = start.person.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    PastMessage { role: MessageRole::Assistant, channel: start.channel.clone(), person, ..PastMessage::default() }
}

/// Returns what was sent, one message per sending step.
fn answers(start: &RunStart, events: &[Event]) -> Vec<PastMessage> {
    let mut found: Vec<(StepPath, Vec<&str>, PastMessage)> = vec![];
    for event in events {
        let Happening::OutputWritten { step, text: Some(text), part, .. } = &event.happening else { continue };
        let place = found.iter().position(|(of, parts, _)| of == step && (parts.len() as u64) < *part);
        let (_, parts, message) = match place {
            Some(place) => &mut found[place],
            None => found.push_mut((step.clone(), vec![], answer(start))),
        };
        parts.push(text);
        message.time = Some(own_time(event, events));
    }
    let whole = |(_, parts, message): (StepPath, Vec<&str>, PastMessage)| {
        let content = (parts.len() > 1).then(|| json!({ "parts": parts }));
        PastMessage { text: parts.join("\n\n"), content, ..message }
    };
    found.into_iter().map(whole).filter(|message| !message.text.trim().is_empty()).collect()
}

/// The prompts to an agent in a step, and its answers.
struct Asking<'e> {
    step: &'e StepPath,
    /// Each prompt, and each correction sent back, with the last answer to it.
    turns: Vec<(PastMessage, Option<PastMessage>)>,
    /// Its last call, unless a judge was asked after it.
    call: Option<u64>,
    /// Whether each attempt was checked: a plan, or the work of a task.
    is_tried: bool,
    /// The final output of the step.
    output: Option<PastMessage>,
}

impl Asking<'_> {
    /// Applies an event of the step.
    fn take(&mut self, happening: &Happening, said: impl Fn(&str) -> PastMessage) {
        match happening {
            // Tool results and repeated requests are not new prompts.
            Happening::ModelCalled { call, purpose, fresh, messages, .. } => {
                self.call = Some(*call).filter(|_| if *fresh { is_work(*purpose) } else { self.call.is_some() });
                let asked = messages.last().filter(|asked| *fresh || asked.role == MessageRole::User).filter(|_| self.call.is_some());
                let asked = asked.map(|asked| PastMessage { role: MessageRole::User, ..said(&asked.text) });
                self.turns.extend(asked.map(|asked| (asked, None)));
            }
            Happening::ModelReplied { call, reply: ModelAnswer::Said { text, .. }, .. } if self.call == Some(*call) => {
                self.turns.last_mut().into_iter().for_each(|(_, answered)| *answered = Some(said(text)));
            }
            Happening::PlanAccepted { .. } | Happening::PlanRefused { .. } | Happening::TaskTried { .. } => self.is_tried = true,
            Happening::StepSucceeded { output, .. } => self.output = Some(said(&plain(output))),
            _ => {}
        }
    }

    /// Returns every attempt of a plan or a task; for other steps the first prompt and the final output.
    fn exchanges(mut self, agent: &str) -> impl Iterator<Item = [PastMessage; 2]> {
        if !self.is_tried {
            self.turns.truncate(1);
            self.turns.iter_mut().for_each(|(_, said)| *said = self.output.take());
        }
        let of = |message: PastMessage| PastMessage { agent: Some(agent.to_owned()), ..message };
        self.turns.into_iter().filter_map(move |(asked, said)| {
            let said = said.filter(|said| !said.text.trim().is_empty())?;
            Some([of(asked), of(said)])
        })
    }
}

/// Whether a call is made for the work of its step.
fn is_work(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Turn | Purpose::Plan)
}

/// Returns the prompts and answers of agents with their own history, and whether each answer is marked as personal.
fn exchanges(own: &ConversationSoFar, start: &RunStart, events: &[Event]) -> Vec<(PastMessage, bool)> {
    let mut found: Vec<(&String, Asking)> = vec![];
    for event in events.iter().filter(|_| !own.agents.is_empty()) {
        let Some(step) = event.happening.step().filter(|step| ***step != *SUMMARY_STEP) else { continue };
        let place = found.iter().position(|(_, known)| known.step == step);
        let place = match (&event.happening, place) {
            (Happening::ModelCalled { agent, purpose, fresh: true, .. }, None) if own.agents.contains_key(agent) && is_work(*purpose) => {
                found.push((agent, Asking { step, turns: vec![], call: None, is_tried: false, output: None }));
                found.len() - 1
            }
            (_, Some(place)) => place,
            (_, None) => continue,
        };
        let time = Some(own_time(event, events));
        found[place].1.take(&event.happening, |text| PastMessage { text: text.to_owned(), time, ..answer(start) });
    }
    let is_marked = |step: &StepPath| start.marks.steps.iter().any(|marked| **step == **marked);
    let marked = found.into_iter().flat_map(|(agent, asking)| {
        let marked = is_marked(asking.step);
        asking.exchanges(agent).flat_map(move |[asked, said]| [(asked, false), (said, marked)])
    });
    marked.collect()
}

/// Returns the summary of the older messages, and the place of the last message that it covers.
fn summary(own: &ConversationSoFar, events: &[Event]) -> Option<(PastMessage, u64)> {
    let until = own.older_until?;
    events.iter().rev().find_map(|event| match &event.happening {
        Happening::StepSucceeded { step, output, .. } if **step == *SUMMARY_STEP => {
            let said = PastMessage {
                role: MessageRole::Assistant,
                text: plain(output),
                time: Some(own_time(event, events)),
                ..PastMessage::default()
            };
            Some((said, until)).filter(|(said, _)| !said.text.trim().is_empty())
        }
        _ => None,
    })
}

fn plain(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}
