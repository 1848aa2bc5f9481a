//! `python`: runs code in a sandbox, for a step or for a tool.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{CallCheck, StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, PythonDetails};
use crate::model::{CALL_TIMEOUT, PythonCode, PythonStep, Sample, Step};
use crate::parts::Requests;
use crate::port::{PythonCall, PythonReply};
use crate::state::NodeRef;
use crate::words::ms;

impl Kind for PythonStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let with = context.arguments(at, &self.with)?;
        let timeout = step.timeout.unwrap_or(CALL_TIMEOUT);
        let owner = format!("step \"{}\"", step.id.value);
        let shown = json!({ "with": with });
        let request = CallRequest::Python(Box::new(context.requests().python_call(at, &self.run, owner, with, timeout)));
        // A policy knows code as a tool of this name.
        let check = CallCheck::Program("python".to_owned(), json!({}));
        Ok(StepCall { check, ..StepCall::new("python", shown, request, ms(timeout)) }.into())
    }

    fn take(&self, context: &Context, at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let CallReply::Python(reply) = reply else { return wrong_answer_decision() };
        let details = details(&reply);
        Ok(Then::Give(context.requests().code_result(at, &self.run, reply)?, Some(details)).into())
    }
}

impl Requests<'_> {
    /// Code of an author with its variables.
    pub(crate) fn python_call(
        &self,
        at: NodeRef,
        run: &PythonCode,
        name: String,
        mut variables: Map<String, Value>,
        timeout: Duration,
    ) -> PythonCall {
        // Files of `read` steps among the variables are opened; other paths, whoever wrote them, are not.
        let mut reads = vec![];
        for value in variables.values_mut() {
            self.files().tell_files(value, &mut |told| {
                let path = self.files().opened_at(at, told);
                let shown = path.to_string_lossy().into_owned();
                reads.push(path);
                shown
            });
        }
        PythonCall {
            file: self.code_name(at, run),
            code: run.code.source.to_string(),
            returns: run.returns.iter().map(|name| name.value.clone()).collect(),
            reads,
            tables: vec![],
            is_written_by_model: false,
            project: self.planned_of(at).pipeline.project.clone(),
            venv: run.needs.venv.as_ref().map(|venv| venv.value.clone()),
            requires: run.needs.requires.iter().map(|name| name.value.clone()).collect(),
            bounds: self.program_bounds(at),
            name,
            variables,
            timeout,
        }
    }

    /// What a traceback calls the code: its file, or the step.
    fn code_name(&self, at: NodeRef, run: &PythonCode) -> String {
        run.file.as_ref().map_or_else(|| self.path(at).to_string(), |file| file.value.clone())
    }

    /// The result of a step or a tool that is code.
    pub(crate) fn code_result(&self, at: NodeRef, run: &PythonCode, reply: PythonReply) -> Result<Value, Failure> {
        let mut value = returned(run, &self.code_name(at, run), reply)?;
        self.files().tell_back(at, &mut value);
        Ok(value)
    }
}

/// What the code of an author gave.
///
/// # Errors
/// It did not end well (`program`), or was not run (`denied`). The message names the line of the code.
fn returned(run: &PythonCode, name: &str, reply: PythonReply) -> Result<Value, Failure> {
    let Some(error) = reply.error else { return Ok(Value::Object(reply.returns)) };
    let line = error.line.and_then(|line| Some((line, run.code.source.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?.trim())));
    let place = line.map(|(line, text)| format!(" (line {line} of {name}: {text})")).unwrap_or_default();
    Err(Failure::new(error.fault.kind(), format!("{}{place}", error.message)))
}

/// What is told of code beside its results, also when it failed.
pub(crate) fn details(reply: &PythonReply) -> Value {
    let PythonReply { returns: _, printed, notes, files, error } = reply.clone();
    PythonDetails { printed, notes, files, traceback: error.map(|error| error.traceback) }.into_value()
}
