//! Asks people for decisions, one question after the other, while the other steps of the run continue.

use std::collections::HashMap;
use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};

use crate::engine::{Input, RunState};
use crate::event::{Canceller, Event, FormRequest, Happening};
use crate::gate::form::answered;
use crate::journal::{answer_until, ends_question, is_ending_after};
use crate::port::{AskPerson, PersonAnswer};

/// A step that waits for a person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunQuestion {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// Identifies the question among those of its step: the number of the event that asked it.
    pub number: u64,
    /// The question, with everything that the call would do; secrets are masked, personal values are not.
    pub text: String,
    /// For an `approval` step: its form, and what it shows.
    pub form: Option<FormRequest>,
    /// When the time to answer ends; `None`: never.
    pub until: Option<DateTime<Utc>>,
    /// It is about a call that was not made yet.
    is_call: bool,
    /// The run is cancelled for good, so no other process can continue it with an answer.
    is_last: bool,
    /// How often its answer was rejected.
    round: u32,
    /// It is asked during a call that only this process knows; there is no event for it.
    pub is_unrecorded: bool,
}

impl RunQuestion {
    /// Returns the question of an event, if it asks one.
    pub(crate) fn from_event(event: &Event) -> Option<RunQuestion> {
        let Happening::ApprovalRequested { step, question, act, form } = &event.happening else { return None };
        Some(RunQuestion {
            run: event.run.to_string(),
            step: step.to_string(),
            number: event.seq,
            text: question.clone(),
            form: form.as_deref().cloned(),
            until: answer_until(event),
            is_call: form.is_none() && !act.is_empty(),
            ..RunQuestion::default()
        })
    }

    /// Creates the question that an agent program asks during its call.
    fn of_program(run: &str, asked: &ProgramQuestion) -> RunQuestion {
        RunQuestion {
            run: run.to_owned(),
            step: asked.step.clone(),
            text: asked.text.clone(),
            is_call: true,
            is_last: true,
            is_unrecorded: true,
            ..RunQuestion::default()
        }
    }

    /// Returns the questions that events asked and nobody has answered yet.
    pub fn open(events: &[Event]) -> Vec<RunQuestion> {
        let (mut open, mut is_ending) = (vec![], false);
        for event in events {
            is_ending = is_ending_after(event, is_ending);
            follow(&mut open, event, is_ending);
        }
        open
    }

    /// Whether a server asks during a call, which ends with the process.
    fn is_live(&self) -> bool {
        self.live().is_some()
    }

    /// Returns the name of that call.
    fn live(&self) -> Option<&str> {
        self.form.as_ref().and_then(|form| form.live.as_deref())
    }

    /// Whether only this process can take the answer.
    fn is_now_or_never(&self) -> bool {
        self.is_live() || self.is_last
    }

    /// Whether the time to answer has ended.
    pub fn is_late(&self, now: DateTime<Utc>) -> bool {
        self.until.is_some_and(|until| now >= until)
    }

    /// Whether an answer matches the form; a no needs no fields.
    fn takes(&self, answer: &Answer) -> bool {
        let filled = answer.fields.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        !answer.approved || self.form.as_ref().is_none_or(|form| answered(&form.fields, filled).is_ok())
    }
}

/// A person's decision about a waiting step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Whether the step continues; otherwise it fails.
    pub approved: bool,
    /// A comment for the record.
    pub comment: String,
    /// Who decided, for the record; empty: unknown.
    pub by: String,
    /// For an `approval` step: the values of the form's fields, as an object. Omitted fields have their defaults. An answer that does not match
    /// the form is rejected, and the run still waits.
    pub fields: Option<Value>,
    /// Nobody could be asked, which counts as a no.
    pub nobody: bool,
}

impl Answer {
    /// Creates an answer for a question that nobody answered; empty: nobody could be asked.
    pub fn of_nobody(why: &str) -> Answer {
        Answer { nobody: true, comment: why.to_owned(), ..Answer::default() }
    }

    pub(super) fn input(self, question: RunQuestion) -> Input {
        let (Answer { approved, comment, by, fields, nobody }, RunQuestion { step, number, .. }) = (self, question);
        Input::Decided { step, question: number, approved: approved && !nobody, comment, by, nobody, fields }
    }
}

impl From<bool> for Answer {
    fn from(approved: bool) -> Answer {
        Answer { approved, ..Answer::default() }
    }
}

/// A future decision; `None`: nobody decides now.
pub type Decided<'a> = Pin<Box<dyn Future<Output = Option<Answer>> + 'a>>;

/// Decides in place of a person.
pub trait Decide {
    /// Asks for a decision while other steps may continue. The future is dropped when the question is closed. After `None` nobody is asked
    /// again: the run pauses when nothing else is left to do, and a server that asks during a call is informed at once.
    fn decide(&mut self, question: RunQuestion) -> Decided<'_>;

    /// Like [`Decide::decide`], for a question without an event: only whoever receives it here can answer.
    fn decide_unrecorded(&mut self, _: RunQuestion) -> Decided<'_> {
        Box::pin(ready(None))
    }
}

/// A question that an agent program asks a person during its call.
pub(super) struct ProgramQuestion {
    step: String,
    text: String,
    answer: oneshot::Sender<PersonAnswer>,
}

/// Creates the port through which programs ask a person, and the receiver of their questions.
pub(super) fn asker() -> (AskPerson, UnboundedReceiver<ProgramQuestion>) {
    let (ask, asked) = unbounded_channel();
    let asker = AskPerson::new(move |step, text| {
        let (answer, said) = oneshot::channel();
        let _ = ask.send(ProgramQuestion { step: step.to_owned(), text, answer });
        Box::pin(async move { Ok(said.await.ok()) })
    });
    (asker, asked)
}

/// Answers no question.
pub struct Nobody;

impl Decide for Nobody {
    fn decide(&mut self, _: RunQuestion) -> Decided<'_> {
        Box::pin(ready(None))
    }
}

/// The open questions, sent to whoever asks them.
pub(super) struct OpenQuestions {
    questions: Vec<RunQuestion>,
    is_cancelled: bool,
    told: watch::Sender<Vec<RunQuestion>>,
}

impl OpenQuestions {
    /// Collects the open questions of a resumed run, except those whose time has ended. `state`: the run before it resumes.
    pub(super) fn new(before: &[Event], state: &RunState, now: DateTime<Utc>) -> (OpenQuestions, watch::Receiver<Vec<RunQuestion>>) {
        let mut questions = RunQuestion::open(before);
        questions.retain(|question| !question.is_late(now) && state.question_when_resumed(&question.step) == Some(question.number));
        let (told, heard) = watch::channel(questions.clone());
        (OpenQuestions { questions, is_cancelled: false, told }, heard)
    }

    /// Updates the questions with an event.
    pub(super) fn take(&mut self, event: &Event) {
        // Questions that are cancelled with the run need no answer here.
        self.is_cancelled |= matches!(event.happening, Happening::CancelRequested { by: Canceller::Person, .. });
        if follow(&mut self.questions, event, false) {
            self.questions.iter_mut().for_each(|question| question.is_last = self.is_cancelled);
            let _ = self.told.send(self.questions.clone());
        }
    }

    /// Asks all questions again when only they are left: an answer was rejected, or a question was not received yet.
    pub(super) fn ask_again(&mut self) {
        self.questions.iter_mut().for_each(|question| question.round += 1);
        let _ = self.told.send(self.questions.clone());
    }

    /// Whether no question is open.
    pub(super) fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// Whether every question can be answered in another process.
    pub(super) fn can_wait(&self) -> bool {
        !self.questions.iter().any(RunQuestion::is_now_or_never)
    }
}

/// Updates the open questions with an event; returns whether they changed.
fn follow(questions: &mut Vec<RunQuestion>, event: &Event, is_ending: bool) -> bool {
    let before = questions.len();
    questions.retain(|question| !ends_question(event, &question.step, question.is_call, is_ending));
    let asked = RunQuestion::from_event(event);
    let has_changed = before != questions.len() || asked.is_some();
    questions.extend(asked);
    has_changed
}

/// The run as the asker of its questions knows it.
pub(super) trait AskingRun {
    /// Returns its id.
    fn id(&self) -> &str;
    /// Whether somebody else has requested the end of the run.
    fn is_ending(&self) -> bool;
    /// Whether the call during which a server asks has ended.
    fn has_ended(&self, call: &str) -> bool;
    /// Sets whether the asker waits, since it has no question to ask.
    fn waits(&self, waits: bool);
}

/// How often to check whether the call during which a server asks has ended.
const LOOK: Duration = Duration::from_millis(200);

/// The result of a question.
enum QuestionEnd {
    Answered(Answer),
    /// Nobody decides now.
    Alone,
    /// It is no longer open.
    Over,
    /// The call during which it was asked has ended.
    CallEnded,
}

/// Asks each open question as long as somebody decides. Questions from before the process started are in `open` from the start.
pub(super) async fn ask_each(
    mut open: watch::Receiver<Vec<RunQuestion>>,
    mut programs: UnboundedReceiver<ProgramQuestion>,
    decide: &mut dyn Decide,
    decisions: UnboundedSender<Input>,
    nobody: watch::Sender<bool>,
    run: &dyn AskingRun,
) {
    // Calls of an earlier process ended with it.
    for question in open.borrow().iter().filter(|question| question.is_live()) {
        let _ = decisions.send(Answer::of_nobody("its process ended before an answer").input(question.clone()));
    }
    run.waits(false);
    while open.borrow_and_update().iter().any(RunQuestion::is_live) {
        if open.changed().await.is_err() {
            return;
        }
    }
    // For each question, the round in which it was answered.
    let mut answered = HashMap::new();
    loop {
        // An answered question stays open until its answer is stored.
        let is_answered = |question: &RunQuestion| answered.get(&question.number).is_some_and(|round| question.round <= *round);
        let is_next = |question: &&RunQuestion| !is_answered(question) && (question.is_now_or_never() || !*nobody.borrow());
        let next = open.borrow_and_update().iter().find(is_next).cloned();
        run.waits(next.is_none());
        let Some(question) = next else {
            tokio::select! {
                changed = open.changed() => if changed.is_err() {
                    return;
                },
                Some(asked) = programs.recv() => ask_for_program(asked, decide, run).await,
            }
            continue;
        };
        let can_wait = !question.is_now_or_never();
        let answer = match if *nobody.borrow() { QuestionEnd::Alone } else { ask(&question, &mut open, decide, run).await } {
            QuestionEnd::Over => continue,
            QuestionEnd::Answered(answer) if !question.takes(&answer) => continue,
            // The request to end the run came first.
            QuestionEnd::Answered(_) if run.is_ending() => {
                while run.is_ending() {
                    tokio::time::sleep(LOOK).await;
                }
                continue;
            }
            QuestionEnd::Answered(answer) => answer,
            QuestionEnd::CallEnded => Answer::of_nobody("its call ended before an answer"),
            QuestionEnd::Alone => {
                let _ = nobody.send(true);
                if can_wait {
                    continue;
                }
                Answer::of_nobody("")
            }
        };
        answered.insert(question.number, question.round);
        let _ = decisions.send(answer.input(question));
    }
}

/// Asks the question of a program while its call waits. Without an answer, the program is informed that nobody is there.
async fn ask_for_program(mut asked: ProgramQuestion, decide: &mut dyn Decide, run: &dyn AskingRun) {
    let mut decided = decide.decide_unrecorded(RunQuestion::of_program(run.id(), &asked));
    let said = tokio::select! {
        said = &mut decided => said,
        () = asked.answer.closed() => None,
    };
    if let Some(Answer { approved, comment, by, nobody: false, fields: _ }) = said {
        let _ = asked.answer.send(PersonAnswer { approved, by, comment });
    }
}

/// Asks one question.
async fn ask(
    question: &RunQuestion,
    open: &mut watch::Receiver<Vec<RunQuestion>>,
    decide: &mut dyn Decide,
    run: &dyn AskingRun,
) -> QuestionEnd {
    let mut decided = decide.decide(question.clone());
    loop {
        tokio::select! {
            answer = &mut decided => return answer.map_or(QuestionEnd::Alone, QuestionEnd::Answered),
            changed = open.changed() => {
                if changed.is_err() || !open.borrow_and_update().iter().any(|other| other.number == question.number) {
                    return QuestionEnd::Over;
                }
            }
            () = tokio::time::sleep(LOOK) => {
                if question.live().is_some_and(|call| run.has_ended(call)) {
                    return QuestionEnd::CallEnded;
                }
            }
        }
    }
}
