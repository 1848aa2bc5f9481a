//! `tool`: calls a tool.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{CallCheck, StepCall, StepDecision, Then};
use super::http::HttpParts;
use super::requests::RepeatKey;
use super::search::search_output;
use super::sql::sql_output;
use super::{Kind, program, wrong_answer, wrong_answer_decision};
use crate::Context;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind};
use crate::model::{CONNECT_TIMEOUT, FilePart, Knowledge, Step, Tool, ToolKind, ToolName, ToolStep};
use crate::parts::Requests;
use crate::port::FileToWrite;
use crate::state::NodeRef;
use crate::template;
use crate::words::{HIDDEN, ms, plain};

/// Most bytes of a picture that a `file` tool writes.
const MOST_PICTURE: u64 = 32 << 20;

/// The arguments of a call.
pub(crate) struct FilledArguments {
    pub(crate) with: Map<String, Value>,
    /// As they are recorded, without secrets.
    pub(crate) shown: Map<String, Value>,
}

impl Kind for ToolStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let name = &self.tool.value;
        let answers = context.rules().server_answers(at, 0)?;
        let given = context.arguments(at, &self.with)?;
        let timeout = step.timeout.unwrap_or(context.tool(at, name)?.call_timeout());
        let key = context.requests().repeat_key(at, self.idempotency_key.as_ref(), 0)?;
        let (request, shown) = context.requests().tool_request(at, name, given, key, timeout)?;
        let check = CallCheck::Shown { is_repeated: answers.is_some() };
        let call = StepCall::new(name, shown, request.with_answers(answers), ms(timeout));
        Ok(StepCall { agent: context.rules().planner_of(at), check, ..call }.into())
    }

    fn take(&self, context: &Context, at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let (output, details) = match reply {
            CallReply::Http(reply) => (reply.body, None),
            CallReply::Program(_) | CallReply::Python(_) => (context.requests().started_result(at, &self.tool.value, reply)?, None),
            CallReply::Value(value) => (value, None),
            CallReply::Rows(rows) => sql_output(rows, false),
            CallReply::Found(found) => search_output(found)?,
            CallReply::Sent(id) => (json!({ "written": id }), None),
            _ => return wrong_answer_decision(),
        };
        Ok(Then::Give(output, details).into())
    }
}

impl Requests<'_> {
    /// The arguments of a call with those that the author fixed in the tool, which take precedence.
    pub(crate) fn with_shown(&self, at: NodeRef, tool: &Tool, given: Map<String, Value>) -> Result<FilledArguments, Failure> {
        let (mut with, mut shown) = (given.clone(), given);
        let secrets = self.names().secret_names();
        for (name, value) in &tool.with {
            let is_secret = value.texts().iter().flat_map(|text| &text.reads).any(reads_secret);
            let value = self.names().filling_with(at, value, &secrets)?;
            shown.insert(name.value.clone(), if is_secret { Value::from(HIDDEN) } else { value.clone() });
            with.insert(name.value.clone(), value);
        }
        Ok(FilledArguments { with, shown })
    }

    /// The request for a call of a tool (`tool` or `tool.part`), and its arguments as they are recorded, without secrets.
    pub(crate) fn tool_request(
        &self,
        at: NodeRef,
        name: &str,
        given: Map<String, Value>,
        key: RepeatKey,
        timeout: Duration,
    ) -> Result<(CallRequest, Value), Failure> {
        let part = ToolName::parse(name).part;
        let tool = self.tool(at, name)?;
        let FilledArguments { mut with, shown } = self.with_shown(at, tool, given)?;
        let request = match &tool.kind {
            ToolKind::Http { method, url, headers, query, body, .. } => {
                let extra = [("with", template::from_json(&Value::Object(with)))];
                let parts = HttpParts { method: *method, url, headers, query, body: body.as_ref() };
                let step = self.step(at);
                let origins = self.origins();
                let giver = origins.giver(at, name, &step.kind);
                let connect_timeout = tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
                let mut request = self.http_request(at, &parts, (giver, &extra), timeout, connect_timeout)?;
                key.add_to(&mut request);
                CallRequest::Http(request)
            }
            ToolKind::Sql(tables) => {
                let query = with.get("query").and_then(Value::as_str).unwrap_or_default().to_string();
                with.remove("query");
                CallRequest::Query(self.query(at, Some(tables), query, with, None, timeout))
            }
            ToolKind::Program { run, .. } => {
                let call = self.program_call(at, run, format!("tool \"{name}\""), &program::with(with), timeout)?;
                CallRequest::Program(Box::new(call))
            }
            ToolKind::Python { run, .. } => {
                CallRequest::Python(Box::new(self.python_call(at, run, format!("tool \"{name}\""), with, timeout)))
            }
            ToolKind::Knowledge(_) if part != Some(Knowledge::PART) => {
                let message = format!("tool \"{name}\" does not exist: a knowledge can only {}", Knowledge::PART);
                return Err(Failure::new(FailureKind::BadRequest, message));
            }
            ToolKind::Knowledge(_) => CallRequest::Search(self.search_of_tool(at, ToolName::parse(name).tool, &with, timeout)?),
            ToolKind::File(folder) => {
                let text = |key: &str| with.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
                match tool.file_part(part).filter(|part| tool.opens(*part)) {
                    None => {
                        let parts = tool.parts().into_iter().map(<&str>::from).collect::<Vec<_>>().join(", ");
                        let message = format!("tool \"{name}\" is not allowed: it allows {parts}");
                        return Err(Failure::new(FailureKind::Denied, message));
                    }
                    Some(FilePart::List) => CallRequest::List { folder: folder.clone() },
                    Some(FilePart::Read) => CallRequest::Open { folder: folder.clone(), name: text("name") },
                    Some(FilePart::Write) => {
                        let content = self.file_to_write(at, &with["text"])?;
                        CallRequest::Write { folder: folder.clone(), name: text("name"), content }
                    }
                }
            }
            ToolKind::Smtp { .. } => {
                return Err(Failure::new(FailureKind::BadRequest, format!("tool \"{name}\" can only be used with send")));
            }
            ToolKind::Server(_) => self.server_request(at, ToolName::parse(name), with, timeout)?,
            ToolKind::Broken => return Err(Failure::new(FailureKind::Internal, format!("tool \"{name}\" could not be read"))),
            ToolKind::Pipeline { file, .. } => {
                return Err(Failure::new(FailureKind::Unavailable, format!("pipeline \"{}\" could not be read", file.value)));
            }
        };
        Ok((request, Value::Object(shown)))
    }

    /// What a `file` tool writes: a text, or a picture of the run.
    fn file_to_write(&self, at: NodeRef, value: &Value) -> Result<FileToWrite, Failure> {
        let path = value.get("path").and_then(Value::as_str).filter(|_| value["type"] == "image");
        let Some(path) = path else { return Ok(FileToWrite::Text(plain(value))) };
        if !self.files().was_read(path) {
            let message = format!("\"{path}\" is no picture that a step of this run read or made, so it is not copied");
            return Err(Failure::new(FailureKind::Denied, message));
        }
        Ok(FileToWrite::Picture { path: self.files().opened_at(at, path), most: self.program_bounds(at).file_size.min(MOST_PICTURE) })
    }

    /// The result of a tool that is a program or code.
    pub(crate) fn started_result(&self, at: NodeRef, name: &str, reply: CallReply) -> Result<Value, Failure> {
        let kind = &self.tool(at, name)?.kind;
        match (kind.starts(), kind.code(), reply) {
            (Some(run), None, CallReply::Program(reply)) => program::printed(run, reply),
            (None, Some(run), CallReply::Python(reply)) => self.code_result(at, run, reply),
            _ => Err(wrong_answer()),
        }
    }
}

impl Context {
    /// The tool with the name `tool` or `tool.part`.
    pub(crate) fn tool(&self, at: NodeRef, name: &str) -> Result<&Tool, Failure> {
        let missing = || Failure::new(FailureKind::Internal, format!("tool \"{name}\" not found"));
        self.planned_of(at).pipeline.tool(name).map(|(tool, _)| tool).ok_or_else(missing)
    }
}

/// Whether a text reads `secrets` or `env`.
fn reads_secret(read: &crate::model::Read) -> bool {
    read.path.first().is_some_and(|root| root == "secrets" || root == "env")
}
