//! `task` steps: an agent makes something, it is run, and what it gives is judged; until it is accepted, or there is no sense in another try.
//!
//! The next action follows from the tries in the state; see `next`.

pub(crate) mod accept;
mod texts;

use serde_json::{Map, Value, json};

use crate::Context;
use crate::channel::Output;
use crate::command::{CallReply, CallRequest};
use crate::event::{
    AcceptedArtefact, Failure, FailureKind, Happening, StepPath, TaskDetails, TaskOutput, TaskRows, TryDetails, UnmetCriterion, Verdict,
};
use crate::gate::{self, ReadArtefact};
use crate::model::{
    ArtefactKind, CALL_TIMEOUT, JudgingStep, MOST_REPAIRS, PythonCode, QUERY_TIMEOUT, Sample, TaskStep, Text, WrittenArtefact,
};
use crate::parts::Tasks;
use crate::port::{PythonError, PythonReply, Rows, TableSource};
use crate::questions::{Brief, JudgeAnswer, Question};
use crate::shape::joined;
use crate::source::{Span, Spanned};
use crate::sql::mentions;
use crate::state::talk::MOST_PICTURES;
use crate::state::{NodeRef, TaskTry};
use crate::steps::Kind;
use crate::steps::decision::{StepCall, StepDecision, Then};
use crate::steps::wrong_answer;
use crate::words::{MOST_SHOWN, excerpt, ms};
use std::path::PathBuf;

/// The next action of a `task` step.
enum NextOfTask<'c> {
    /// Look at the columns of this table.
    Describe(TableSource),
    /// Ask the agent for a try.
    Try,
    /// Run what it wrote.
    Execute(&'c WrittenArtefact),
    /// Judge what that gave.
    Judge,
    /// End the step with the result.
    Accept,
    /// End the step without one, for this reason.
    GiveUp(String),
}

impl Kind for TaskStep {
    /// Continues after the start, a reply, a backoff, or the wait for a permit.
    fn next(&self, context: &Context, at: NodeRef) -> Result<StepDecision, Failure> {
        if !context.state.steps.node(at).decides() {
            return Ok(Then::Wait.into());
        }
        let tasks = context.tasks();
        Ok(match tasks.next_of_task(at, self)? {
            NextOfTask::Describe(table) => tasks.query(at, self, format!("select * from \"{}\" limit 1", table.name)),
            NextOfTask::Try => {
                if context.state.steps.node(at).talk().is_none() {
                    tasks.check_accept(at, self)?;
                }
                Then::Ask(self.agent.value.clone()).into()
            }
            NextOfTask::Execute(artefact) => match artefact.kind {
                ArtefactKind::Sql => tasks.query(at, self, artefact.code.clone()),
                ArtefactKind::Python => tasks.code(at, self, artefact)?,
                ArtefactKind::Text => return Err(Failure::new(FailureKind::Internal, "a text does not run")),
            },
            NextOfTask::Judge => Then::Judge(Box::new(tasks.task_question(at, self)?)).into(),
            NextOfTask::Accept => tasks.accept(at).into(),
            NextOfTask::GiveUp(why) => Then::Fail(Failure::new(FailureKind::NotAccepted, why), None).into(),
        })
    }

    fn brief(&self, context: &Context, at: NodeRef, opens: bool) -> Result<Brief, Failure> {
        context.tasks().task_brief(at, self, context.tasks().artefact_kind(at, self)?, opens)
    }

    fn heard(&self, context: &Context, at: NodeRef, text: &str) -> Result<StepDecision, Failure> {
        let kind = context.tasks().artefact_kind(at, self)?;
        let (step, number) = (context.path(at), context.tasks().tries(at).len() as u32 + 1);
        Ok(match gate::read_artefact(text, kind) {
            Ok(ReadArtefact { artefact, result, notes }) => {
                let error = unusable(&artefact);
                let result = result.filter(|_| error.is_none()).map(|result| Value::String(result).into());
                let tried = Happening::TaskTried { step, number, artefact: artefact.into(), result, error };
                let events = context.conversations().reading(at, notes).into_iter().chain([tried]).collect();
                StepDecision { events, then: Then::GoOn }
            }
            Err(problems) if context.state.steps.node(at).talk().is_some_and(|talk| talk.repairs < MOST_REPAIRS) => {
                Then::Repair(problems).into()
            }
            Err(problems) => {
                let message = format!("the answer has the wrong shape after {MOST_REPAIRS} repairs: {}", problems.join("; "));
                tried_nothing(step, number, kind, message)
            }
        })
    }

    fn unanswered(&self, context: &Context, at: NodeRef, failure: Failure) -> StepDecision {
        let tasks = context.tasks();
        match tasks.artefact_kind(at, self) {
            // A shorter answer may do.
            Ok(kind) if failure.kind == FailureKind::Truncated => {
                let error = format!("{}: {}\nThe answer did not end: write less.", failure.kind.word(), failure.message);
                tried_nothing(context.path(at), tasks.tries(at).len() as u32 + 1, kind, error)
            }
            _ => Then::Fail(failure, Some(context.conversations().model_details(at))).into(),
        }
    }

    /// Judges the result of the last try.
    fn judged(&self, context: &Context, at: NodeRef, question: Box<Question>, answers: &[JudgeAnswer]) -> Result<StepDecision, Failure> {
        // A judge that cannot answer says nothing about the work: another try would not help.
        question.all_answered(answers)?;
        let made_for = context.questions().made_for(at, Some(&question.output));
        let verdicts = context.questions().verdicts(at, &made_for, &question, answers)?;
        let number = context.tasks().tries(at).len() as u32;
        Ok(StepDecision::after(Happening::TaskJudged { step: context.path(at), number, verdicts }))
    }

    /// A table that may not be read is none for the agent; other code may keep to what is allowed.
    fn denied(&self, context: &Context, at: NodeRef, failure: Failure) -> Result<StepDecision, Failure> {
        Ok(match context.tasks().next_of_task(at, self)? {
            NextOfTask::Describe(table) => {
                StepDecision::after(Happening::TableDescribed { step: context.path(at), table: table.name, columns: vec![] })
            }
            _ => context.tasks().not_executed(at, &failure),
        })
    }

    fn take(&self, context: &Context, at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        Ok(StepDecision::after(match (context.tasks().next_of_task(at, self)?, reply) {
            (NextOfTask::Describe(table), CallReply::Rows(rows)) => {
                Happening::TableDescribed { step: context.path(at), table: table.name, columns: rows.columns }
            }
            (NextOfTask::Execute(_), CallReply::Rows(rows)) => {
                let Rows { rows, columns: _, personal, is_cut: cut } = rows;
                let result: Value = rows.into_iter().map(Value::Object).collect();
                context.tasks().executed(at, Ok(result), Ran { cut, personal, ..Ran::default() })
            }
            (NextOfTask::Execute(_), CallReply::Python(reply)) => context.tasks().code_replied(at, reply),
            _ => return Err(wrong_answer()),
        }))
    }

    /// What the agent wrote may be wrong, which the next try is told. What no other code mends ends the step.
    fn fails(&self, context: &Context, at: NodeRef, failure: Failure, told: Option<Value>) -> StepDecision {
        use FailureKind::{BadRequest, Denied, Limit, Program, Timeout, TooLarge, WrongType};
        let is_of_code = matches!(failure.kind, BadRequest | Denied | Limit | Program | Timeout | TooLarge | WrongType);
        if !is_of_code || !matches!(context.tasks().next_of_task(at, self), Ok(NextOfTask::Execute(_))) {
            return Then::FailAttempt(failure, told).into();
        }
        context.tasks().not_executed(at, &failure)
    }
}

/// A try in which the agent made nothing.
fn tried_nothing(step: StepPath, number: u32, kind: ArtefactKind, error: String) -> StepDecision {
    let artefact = WrittenArtefact { kind, ..WrittenArtefact::default() }.into();
    StepDecision::after(Happening::TaskTried { step, number, artefact, result: None, error: Some(error) })
}

/// What is recorded of code that ran, besides its result.
#[derive(Default)]
struct Ran {
    printed: String,
    cut: bool,
    personal: Vec<String>,
    files: Vec<PathBuf>,
}

impl<'c> Tasks<'c> {
    /// What the agent makes.
    fn artefact_kind(&self, at: NodeRef, own: &TaskStep) -> Result<ArtefactKind, Failure> {
        let word = self.fill_text(at, &own.artefact)?;
        let wrong = || Failure::new(FailureKind::BadRequest, format!("artefact is text, sql or python, found \"{}\"", word.trim()));
        word.trim().parse().map_err(|_| wrong())
    }

    fn next_of_task(self, at: NodeRef, own: &TaskStep) -> Result<NextOfTask<'c>, Failure> {
        let kind = self.artefact_kind(at, own)?;
        let tasking = self.0.state.steps.node(at).tasking.as_deref();
        let tries = tasking.map(|tasking| tasking.tries.as_slice()).unwrap_or_default();
        if let Some(last) = tries.last() {
            if last.is_accepted() {
                return Ok(NextOfTask::Accept);
            }
            match (&last.result, &last.error, &last.verdicts) {
                (None, None, _) => return Ok(NextOfTask::Execute(&last.artefact)),
                (Some(_), None, None) => return Ok(NextOfTask::Judge),
                _ => {}
            }
            let identical = tasking.map_or(0, |tasking| tasking.identical_failures());
            if let Some(why) = gives_up(own, tries, last, identical) {
                return Ok(NextOfTask::GiveUp(why));
            }
        }
        if kind == ArtefactKind::Text {
            return Ok(NextOfTask::Try);
        }
        let known = |table: &TableSource| tasking.is_some_and(|tasking| tasking.tables.iter().any(|(name, _)| *name == table.name));
        if let Some(table) = self.files().tables_here(at).into_iter().find(|table| !known(table)) {
            return Ok(NextOfTask::Describe(table));
        }
        if self.described(at).next().is_none() && kind == ArtefactKind::Sql {
            let unreadable = self.files().unreadable_here(at);
            let message = match unreadable.is_empty() {
                true => "there is no table that a query may read; add data, or a read step above, or use artefact: text".to_owned(),
                false => format!("there is no table that a query may read: {}", unreadable.join("; ")),
            };
            return Err(Failure::new(FailureKind::BadRequest, message));
        }
        Ok(NextOfTask::Try)
    }

    /// The tables that the agent of a task may read, with their columns.
    pub(super) fn described(self, at: NodeRef) -> impl Iterator<Item = &'c (String, Vec<(String, String)>)> {
        let tables = self.0.state.steps.node(at).tasking.as_deref().map(|tasking| tasking.tables.as_slice()).unwrap_or_default();
        tables.iter().filter(|(_, columns)| !columns.is_empty())
    }

    /// A query for the agent of a task, once the step may make a call.
    fn query(&self, at: NodeRef, own: &TaskStep, query: String) -> StepDecision {
        if self.schedule().needs_permit(at) {
            return Then::AwaitPermit.into();
        }
        let timeout = self.step(at).timeout.unwrap_or(QUERY_TIMEOUT);
        let request = CallRequest::Query(self.requests().query(at, None, query.clone(), Map::new(), None, timeout));
        let agent = Some(own.agent.value.clone());
        StepCall { agent, ..StepCall::new("sql", json!({ "query": query }), request, ms(timeout)) }.into()
    }

    /// Runs the code of an agent, which finds the tables that it names as variables.
    fn code(&self, at: NodeRef, own: &TaskStep, artefact: &WrittenArtefact) -> Result<StepDecision, Failure> {
        if self.schedule().needs_permit(at) {
            return Ok(Then::AwaitPermit.into());
        }
        let named = |name: &String| Spanned::new(name.clone(), Span::default());
        let returns = artefact.output_variables.iter().map(named).collect();
        let code = PythonCode { code: Text::plain(&artefact.code), file: None, returns, needs: own.needs.clone() };
        let timeout = self.step(at).timeout.unwrap_or(CALL_TIMEOUT);
        let name = format!("step \"{}\"", self.path(at));
        let mut call = self.requests().python_call(at, &code, name, self.arguments(at, &own.with)?, timeout);
        let can_read = |table: &TableSource| self.described(at).any(|(name, _)| *name == table.name);
        call.tables =
            self.files().tables_here(at).into_iter().filter(|table| can_read(table) && mentions(&artefact.code, &table.name)).collect();
        call.is_written_by_model = true;
        let request = CallRequest::Python(Box::new(call));
        let agent = Some(own.agent.value.clone());
        Ok(StepCall { agent, ..StepCall::new("python", json!({ "code": artefact.code }), request, ms(timeout)) }.into())
    }

    /// Takes what code gave. The agent is told the traceback, which its author would be spared.
    fn code_replied(&self, at: NodeRef, reply: PythonReply) -> Happening {
        let PythonReply { returns, printed, notes, files, error } = reply;
        let printed = notes.into_iter().fold(printed, |printed, note| format!("{printed}\n{note}")).trim().to_owned();
        let Some(PythonError { message, traceback, line: _, fault }) = error else {
            let mut result = Value::Object(returns);
            self.files().tell_back(at, &mut result);
            return self.executed(at, Ok(result), Ran { printed, files, ..Ran::default() });
        };
        // A traceback ends with the message.
        let traceback = traceback.trim_end().strip_suffix(message.as_str()).unwrap_or(&traceback);
        let error = format!("{}: {message}\n{traceback}", fault.kind().word());
        self.executed(at, Err(error.trim().to_owned()), Ran { printed, ..Ran::default() })
    }

    /// That what an agent wrote did not run.
    fn not_executed(&self, at: NodeRef, failure: &Failure) -> StepDecision {
        let error = format!("{}: {}", failure.kind.word(), failure.message);
        StepDecision::after(self.executed(at, Err(error), Ran::default()))
    }

    /// That what an agent wrote ran, and gave this result or error.
    fn executed(&self, at: NodeRef, result: Result<Value, String>, ran: Ran) -> Happening {
        let Ran { printed, cut, personal, files } = ran;
        let (result, error) = match result {
            Ok(result) => (Some(result.into()), None),
            Err(error) => (None, Some(error)),
        };
        let number = self.tries(at).len() as u32;
        Happening::TaskExecuted { step: self.path(at), number, result, error, printed, cut, personal, files }
    }

    fn accept(&self, at: NodeRef) -> Then {
        let tries = self.tries(at);
        let Some(last) = tries.last() else { return Then::Wait };
        let output = TaskOutput { result: last.result.clone(), artefact: AcceptedArtefact::new(&last.artefact), attempts: tries.len() };
        Then::Succeed(output.into_value(), Some(self.task_details(at)))
    }

    fn task_question(&self, at: NodeRef, own: &TaskStep) -> Result<Question, Failure> {
        let Some(last) = self.tries(at).last() else { return Err(Failure::new(FailureKind::Internal, "nothing was tried")) };
        let result = last.result.as_deref().cloned().unwrap_or_default();
        let asked = self.conversations().fill_for_agent(at, self.agent(at, &own.agent.value)?, &own.prompt)?;
        let with = json!({ "task": asked.trim(), "code": last.artefact.code, "printed": last.printed });
        let cards = self.accept_cards(at, own)?;
        let mut question = self.questions().question_by(at, JudgingStep::Task(own), cards, with, Output::Plain(result))?;
        question.excerpt = Some(excerpt(&question.text, last.cut, MOST_SHOWN));
        question.pictures = if own.pictures { last.files.iter().take(MOST_PICTURES).cloned().collect() } else { vec![] };
        Ok(question)
    }

    /// The tries of a `task` step.
    pub(crate) fn tries(self, at: NodeRef) -> &'c [TaskTry] {
        self.0.state.steps.node(at).tasking.as_deref().map(|tasking| tasking.tries.as_slice()).unwrap_or_default()
    }

    /// The details of a `task` step: its tries, what was wrong with the last of them, and those of all its conversations.
    pub(crate) fn task_details(&self, at: NodeRef) -> Value {
        let tasking = self.state.steps.node(at).tasking.as_deref();
        let tries = self.tries(at);
        let try_details = |one: &TaskTry| TryDetails {
            thought: one.artefact.thought.clone(),
            code: one.artefact.code.clone(),
            error: one.error.clone(),
            verdicts: one.verdicts.clone().unwrap_or_default(),
        };
        let unmet_criterion = |Verdict { id, description, feedback, .. }: &Verdict| UnmetCriterion {
            id: id.clone(),
            description: description.clone(),
            feedback: feedback.clone(),
        };
        let is_accepted = tries.last().is_some_and(TaskTry::is_accepted);
        let last = tries.last();
        let latest_failures = tries.iter().rev().filter_map(TaskTry::failure).take(texts::TOLD_TRIES).collect();
        let rows = last.filter(|last| is_accepted && (last.cut || !last.personal.is_empty()));
        let own = TaskDetails {
            state: if is_accepted { "completed" } else { "failed" }.to_owned(),
            tries: tries.iter().map(try_details).collect(),
            identical_failures: tasking.map_or(0, |tasking| tasking.identical_failures()),
            latest_failures,
            unmet_criteria: last.into_iter().flat_map(TaskTry::unmet).map(unmet_criterion).collect(),
            rows: rows.map(|last| TaskRows { cut: last.cut, personal: last.personal.clone() }),
            files: last.map(|last| last.files.clone()).unwrap_or_default(),
        };
        joined(own.into_value(), self.conversations().model_details(at))
    }
}

/// Why what an agent wrote is not run; `None`: it is.
fn unusable(artefact: &WrittenArtefact) -> Option<String> {
    if artefact.is_malicious {
        return Some("the agent says that its own code is malicious, so the code was not run".to_owned());
    }
    let reason = &artefact.reason_code_not_created;
    (artefact.kind == ArtefactKind::Sql && artefact.code.is_empty()).then(|| format!("the agent wrote no query: {reason}"))
}

/// Why there is no sense in another try; `None`: there is.
fn gives_up(own: &TaskStep, tries: &[TaskTry], last: &TaskTry, identical: u64) -> Option<String> {
    let failure = last.failure().unwrap_or_default();
    let failure = failure.replace('\n', "; ");
    let number = tries.len();
    if last.artefact.code.is_empty() && !last.artefact.reason_code_not_created.is_empty() {
        return Some(failure);
    }
    if identical >= own.most_identical() {
        let tries = if identical == 1 { "the try failed".to_owned() } else { format!("the same failure {identical} times in a row") };
        return Some(format!("{tries} (stop_on_identical_failures): {failure}"));
    }
    let tries = if number == 1 { "1 try".to_owned() } else { format!("{number} tries") };
    (number as u64 >= own.most_tries()).then(|| format!("not accepted after {tries} (max_attempts): {failure}"))
}
