//! `task` steps: an agent makes something, it is run, and what it gives is judged; until it is accepted, or there is no sense in another try.
//!
//! The next action follows from the tries in the state; see `next`.

pub(crate) mod accept;
mod texts;

use serde_json::{Map, Value, json};

use crate::Run;
use crate::channel::Output;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind, Happening};
use crate::gate::{self, ReadArtefact};
use crate::gates::Question;
use crate::model::{ArtefactKind, CALL_TIMEOUT, JudgingStep, MOST_REPAIRS, PythonCode, QUERY_TIMEOUT, TaskStep, Text, WrittenArtefact};
use crate::model_calls::conversation::CallOutcome;
use crate::parts::Tasks;
use crate::port::{PythonError, PythonReply, Rows, TableSource};
use crate::source::{Span, Spanned};
use crate::sql::mentions;
use crate::state::talk::MOST_PICTURES;
use crate::state::{NodeRef, StepWork, TaskTry};
use crate::steps::{Kind, Taken};
use crate::words::{MOST_SHOWN, ms, shown};

/// The next action of a `task` step.
enum NextOfTask {
    /// Look at the columns of this table.
    Describe(TableSource),
    /// Ask the agent for a try.
    Try,
    /// Run what it wrote.
    Execute,
    /// Judge what that gave.
    Judge,
    /// End the step with the result.
    Accept,
    /// End the step without one, for this reason.
    GiveUp(String),
}

impl Kind for TaskStep {
    /// Continues after the start, a reply, a backoff, or the wait for a permit.
    fn go_on(&self, run: &mut Run, at: NodeRef) -> Result<(), Failure> {
        while run.state.node(at).ended_by.is_none()
            && !run.state.node(at).status.is_final()
            && !matches!(run.state.node(at).work, StepWork::Call(_))
        {
            let kind = run.tasks().artefact_kind(at, self)?;
            let goes_on = match run.tasks().next_of_task(at, self, kind)? {
                NextOfTask::Describe(table) => run.describe(at, self, &table)?,
                NextOfTask::Try => run.ask_for_try(at, self, kind)?,
                NextOfTask::Execute => run.execute(at, self)?,
                NextOfTask::Judge => run.judge_try(at, self)?,
                NextOfTask::Accept => run.accept(at),
                NextOfTask::GiveUp(why) => {
                    run.fail(at, Failure::new(FailureKind::NotAccepted, why), None);
                    false
                }
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    fn take(&self, run: &mut Run, at: NodeRef, reply: CallReply) -> Taken {
        let kind = run.tasks().artefact_kind(at, self)?;
        match (run.tasks().next_of_task(at, self, kind)?, reply) {
            (NextOfTask::Describe(table), CallReply::Rows(rows)) => {
                run.emit(Happening::TableDescribed { step: run.path(at), table: table.name, columns: rows.columns });
            }
            (NextOfTask::Execute, CallReply::Rows(rows)) => run.executed(at, rows),
            (NextOfTask::Execute, CallReply::Python(reply)) => run.code_replied(at, reply),
            _ => return Err(Failure::new(FailureKind::Internal, "an answer of the wrong kind arrived")),
        }
        run.ask_on(at);
        Ok(None)
    }

    /// What the agent wrote may be wrong, which the next try is told. What no other code mends ends the step.
    fn fails(&self, run: &mut Run, at: NodeRef, failure: Failure, told: Option<Value>) {
        use FailureKind::{BadRequest, Denied, Limit, Program, Timeout, TooLarge, WrongType};
        let is_of_code = matches!(failure.kind, BadRequest | Denied | Limit | Program | Timeout | TooLarge | WrongType);
        let next = run.tasks().artefact_kind(at, self).and_then(|kind| run.tasks().next_of_task(at, self, kind));
        if !is_of_code || !matches!(next, Ok(NextOfTask::Execute)) {
            return run.fail_attempt_told(at, failure, told);
        }
        run.not_executed(at, format!("{}: {}", failure.kind.word(), failure.message), String::new());
        run.ask_on(at);
    }
}

impl<'c> Tasks<'c> {
    /// What the agent makes.
    fn artefact_kind(&self, at: NodeRef, own: &TaskStep) -> Result<ArtefactKind, Failure> {
        let word = self.fill_text(at, &own.artefact)?;
        let wrong = || Failure::new(FailureKind::BadRequest, format!("artefact is text, sql or python, found \"{}\"", word.trim()));
        word.trim().parse().map_err(|_| wrong())
    }

    fn next_of_task(&self, at: NodeRef, own: &TaskStep, kind: ArtefactKind) -> Result<NextOfTask, Failure> {
        let tasking = self.state.tasking(at);
        let tries = tasking.map(|tasking| tasking.tries.as_slice()).unwrap_or_default();
        if let Some(last) = tries.last() {
            if last.is_accepted() {
                return Ok(NextOfTask::Accept);
            }
            match (&last.result, &last.error, &last.verdicts) {
                (None, None, _) => return Ok(NextOfTask::Execute),
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
        let tables = self.0.state.tasking(at).map(|tasking| tasking.tables.as_slice()).unwrap_or_default();
        tables.iter().filter(|(_, columns)| !columns.is_empty())
    }

    fn task_question(&self, at: NodeRef, own: &TaskStep) -> Result<Question, Failure> {
        let Some(last) = self.tries(at).last() else { return Err(Failure::new(FailureKind::Internal, "nothing was tried")) };
        let result = last.result.as_deref().cloned().unwrap_or_default();
        let asked = self.conversations().fill_for_agent(at, self.agent(at, &own.agent.value)?, &own.prompt)?;
        let with = json!({ "task": asked.trim(), "code": last.artefact.code, "printed": last.printed });
        let cards = self.accept_cards(at, own)?;
        let mut question = self.questions().question_by(at, JudgingStep::Task(own), cards, with, Output::Plain(result))?;
        question.shown = Some(shown(&question.text, last.cut, MOST_SHOWN));
        question.pictures = if own.pictures { last.files.iter().take(MOST_PICTURES).cloned().collect() } else { vec![] };
        Ok(question)
    }

    /// The tries of a `task` step.
    pub(crate) fn tries(self, at: NodeRef) -> &'c [TaskTry] {
        self.0.state.tasking(at).map(|tasking| tasking.tries.as_slice()).unwrap_or_default()
    }

    /// The details of a `task` step: its tries, what was wrong with the last of them, and those of all its conversations.
    pub(crate) fn task_details(&self, at: NodeRef) -> Value {
        let tasking = self.state.tasking(at);
        let tries = self.tries(at);
        let told = |one: &TaskTry| {
            json!({
                "thought": one.artefact.thought,
                "code": one.artefact.code,
                "error": one.error,
                "verdicts": one.verdicts.as_deref().unwrap_or_default(),
            })
        };
        let is_accepted = tries.last().is_some_and(TaskTry::is_accepted);
        let latest: Vec<String> = tries.iter().rev().filter_map(TaskTry::failure).take(texts::TOLD_TRIES).collect();
        let unmet: Vec<Value> = tries
            .last()
            .into_iter()
            .flat_map(TaskTry::unmet)
            .map(|verdict| json!({ "id": verdict.id, "description": verdict.description, "feedback": verdict.feedback }))
            .collect();
        let mut details = json!({
            "state": if is_accepted { "completed" } else { "failed" },
            "tries": tries.iter().map(told).collect::<Value>(),
            "identical_failures": tasking.map_or(0, |tasking| tasking.identical_failures()),
            "latest_failures": latest,
            "unmet_criteria": unmet,
        });
        if let Some(last) = tries.last().filter(|last| is_accepted && (last.cut || !last.personal.is_empty())) {
            details["cut"] = last.cut.into();
            details["personal"] = json!(last.personal);
        }
        if let Some(last) = tries.last().filter(|last| !last.files.is_empty()) {
            details["files"] = json!(last.files);
        }
        if let (Value::Object(own), Value::Object(model)) = (&mut details, self.conversations().model_details(at)) {
            own.extend(model);
        }
        details
    }
}

impl Run {
    fn describe(&mut self, at: NodeRef, own: &TaskStep, table: &TableSource) -> Result<bool, Failure> {
        match self.send_query(at, own, format!("select * from \"{}\" limit 1", table.name)) {
            // A table that may not be read is none for the agent.
            Err(failure) if failure.kind == FailureKind::Denied => {
                self.emit(Happening::TableDescribed { step: self.path(at), table: table.name.clone(), columns: vec![] });
                Ok(true)
            }
            sent => sent.map(|()| false),
        }
    }

    /// Sends a query for the agent of a task, or lets the step wait for a permit, or for a person who decides.
    fn send_query(&mut self, at: NodeRef, own: &TaskStep, query: String) -> Result<(), Failure> {
        if self.talks().waits_for_permit(at) {
            return Ok(());
        }
        let timeout = self.step(at).timeout.unwrap_or(QUERY_TIMEOUT);
        let request = CallRequest::Query(self.requests().query(at, None, query.clone(), Map::new(), None, timeout));
        if self.gatekeeper().permit(at, Some(&own.agent.value), None, &request)? {
            self.gatekeeper().call_out(at, "sql", json!({ "query": query }), request, ms(timeout));
        }
        Ok(())
    }

    /// Asks the agent for a try; returns whether the step continues at once.
    fn ask_for_try(&mut self, at: NodeRef, own: &TaskStep, kind: ArtefactKind) -> Result<bool, Failure> {
        if self.state.talk(at).is_none() {
            self.tasks().check_accept(at, own)?;
        }
        let nothing = || WrittenArtefact { kind, ..WrittenArtefact::default() };
        let number = self.tasks().tries(at).len() as u32 + 1;
        let text = match self.talks().said_by(at, &own.agent.value, &|run, opens| run.tasks().task_brief(at, own, kind, opens))? {
            CallOutcome::Said(text) => text,
            CallOutcome::Waiting => return Ok(false),
            // A shorter answer may do.
            CallOutcome::Failed(failure) if failure.kind == FailureKind::Truncated => {
                let error = Some(format!("{}: {}\nThe answer did not end: write less.", failure.kind.word(), failure.message));
                self.emit(Happening::TaskTried { step: self.path(at), number, artefact: nothing().into(), result: None, error });
                return Ok(true);
            }
            CallOutcome::Failed(failure) => {
                self.talks().fail_asking(at, failure);
                return Ok(false);
            }
        };
        let (artefact, result, error) = match gate::read_artefact(&text, kind) {
            Ok(ReadArtefact { artefact, result, notes }) => {
                self.talks().note_reading(at, notes);
                let error = unusable(&artefact);
                (artefact, result.filter(|_| error.is_none()).map(|result| Value::String(result).into()), error)
            }
            Err(problems) if self.state.talk(at).is_some_and(|talk| talk.repairs < MOST_REPAIRS) => {
                if !self.talks().waits_for_permit(at) {
                    let brief = self.tasks().task_brief(at, own, kind, false)?;
                    self.talks().repair(at, brief, &problems)?;
                }
                return Ok(false);
            }
            Err(problems) => {
                let message = format!("the answer has the wrong shape after {MOST_REPAIRS} repairs: {}", problems.join("; "));
                (nothing(), None, Some(message))
            }
        };
        self.emit(Happening::TaskTried { step: self.path(at), number, artefact: artefact.into(), result, error });
        Ok(true)
    }

    /// Runs what the agent wrote; returns whether the step continues at once.
    fn execute(&mut self, at: NodeRef, own: &TaskStep) -> Result<bool, Failure> {
        let Some(artefact) = self.tasks().tries(at).last().map(|last| last.artefact.clone()) else { return Ok(false) };
        let sent = match artefact.kind {
            ArtefactKind::Sql => self.send_query(at, own, artefact.code.clone()),
            ArtefactKind::Python => self.send_code(at, own, &artefact),
            ArtefactKind::Text => Err(Failure::new(FailureKind::Internal, "a text does not run")),
        };
        match sent {
            // Other code may keep to what is allowed.
            Err(failure) if failure.kind == FailureKind::Denied => {
                self.not_executed(at, format!("{}: {}", failure.kind.word(), failure.message), String::new());
                Ok(true)
            }
            sent => sent.map(|()| false),
        }
    }

    /// Runs the code of an agent, which finds the tables that it names as variables.
    fn send_code(&mut self, at: NodeRef, own: &TaskStep, artefact: &WrittenArtefact) -> Result<(), Failure> {
        if self.talks().waits_for_permit(at) {
            return Ok(());
        }
        let named = |name: &String| Spanned::new(name.clone(), Span::default());
        let returns = artefact.output_variables.iter().map(named).collect();
        let code = PythonCode { code: Text::plain(&artefact.code), file: None, returns, needs: own.needs.clone() };
        let timeout = self.step(at).timeout.unwrap_or(CALL_TIMEOUT);
        let name = format!("step \"{}\"", self.path(at));
        let mut call = self.requests().python_call(at, &code, name, self.arguments(at, &own.with)?, timeout);
        let can_read = |table: &TableSource| self.tasks().described(at).any(|(name, _)| *name == table.name);
        call.tables =
            self.files().tables_here(at).into_iter().filter(|table| can_read(table) && mentions(&artefact.code, &table.name)).collect();
        call.is_written_by_model = true;
        let request = CallRequest::Python(Box::new(call));
        if self.gatekeeper().permit(at, Some(&own.agent.value), None, &request)? {
            self.gatekeeper().call_out(at, "python", json!({ "code": artefact.code }), request, ms(timeout));
        }
        Ok(())
    }

    /// Takes what code gave. The agent is told the traceback, which its author would be spared.
    fn code_replied(&mut self, at: NodeRef, reply: PythonReply) {
        let PythonReply { returns, printed, notes, files, error } = reply;
        let printed = notes.into_iter().fold(printed, |printed, note| format!("{printed}\n{note}")).trim().to_owned();
        let Some(PythonError { message, traceback, line: _, fault }) = error else {
            let mut result = Value::Object(returns);
            self.files().tell_back(at, &mut result);
            let (step, number, result) = (self.path(at), self.tasks().tries(at).len() as u32, Some(result.into()));
            return self.emit(Happening::TaskExecuted { step, number, result, error: None, printed, cut: false, personal: vec![], files });
        };
        // A traceback ends with the message.
        let traceback = traceback.trim_end().strip_suffix(message.as_str()).unwrap_or(&traceback);
        let error = format!("{}: {message}\n{traceback}", fault.kind().word());
        self.not_executed(at, error.trim().to_owned(), printed);
    }

    fn executed(&mut self, at: NodeRef, rows: Rows) {
        let Rows { rows, columns: _, personal, is_cut: cut } = rows;
        let result: Value = rows.into_iter().map(Value::Object).collect();
        let number = self.tasks().tries(at).len() as u32;
        let (step, result, printed) = (self.path(at), Some(result.into()), String::new());
        self.emit(Happening::TaskExecuted { step, number, result, error: None, printed, cut, personal, files: vec![] });
    }

    fn not_executed(&mut self, at: NodeRef, error: String, printed: String) {
        let number = self.tasks().tries(at).len() as u32;
        let (step, error) = (self.path(at), Some(error));
        self.emit(Happening::TaskExecuted { step, number, result: None, error, printed, cut: false, personal: vec![], files: vec![] });
    }

    /// Judges the result of the last try; returns whether the step continues at once.
    fn judge_try(&mut self, at: NodeRef, own: &TaskStep) -> Result<bool, Failure> {
        let question = self.tasks().task_question(at, own)?;
        let Some(answers) = self.judges().ask_judges(at, &question)? else { return Ok(false) };
        // A judge that cannot answer says nothing about the work: another try would not help.
        if let Some(failure) = question.unanswered(&answers) {
            return Err(Failure { message: format!("the judge could not answer: {}", failure.message), ..failure });
        }
        let made_for = self.questions().made_for(at, Some(&question.output));
        let verdicts = self.questions().verdicts(at, &made_for, &question, &answers)?;
        self.emit(Happening::TaskJudged { step: self.path(at), number: self.tasks().tries(at).len() as u32, verdicts });
        Ok(true)
    }

    fn accept(&mut self, at: NodeRef) -> bool {
        let tries = self.tasks().tries(at);
        let Some(last) = tries.last() else { return false };
        let WrittenArtefact { thought, code, output_variables, is_malicious, .. } = &*last.artefact;
        let output = json!({
            "result": last.result,
            "artefact": { "thought": thought, "code": code, "output_variables": output_variables, "is_malicious": is_malicious },
            "attempts": tries.len(),
        });
        let details = self.tasks().task_details(at);
        self.succeed(at, output, Some(details));
        false
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
