//! Long-running calls, as tasks of version 2025-11-25: the server answers at once with a task, which is polled until it ends.

use std::time::Duration;

use serde_json::{Value, json};

use super::inbox::Said;
use super::session::{ServerLink, ServerSession};
use crate::diagnostic::cut_words;
use crate::event::FailureKind;
use crate::http::HttpFault;
use crate::scrub::visible;

/// The wait between two polls of a task: the default, and the bounds for what the server requests.
const POLL_AFTER: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(200);
const LONGEST_POLL: Duration = Duration::from_secs(30);
/// Maximum length of a task's id in bytes, and of its status message in characters.
const LONGEST_ID: usize = 500;
const LONGEST_STATUS: usize = 200;

/// Whether a tool of a list can only be called as a task.
pub(super) fn are_required(item: &Value) -> bool {
    item.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
}

/// A task that the server works on. Dropping it cancels the task unless it has ended.
struct OpenTask<'a> {
    session: &'a ServerSession,
    id: String,
    has_ended: bool,
    /// Its last status message.
    status: Option<String>,
}

impl Drop for OpenTask<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let inbox = self.session.inbox();
        if let Some(status) = self.status.take() {
            inbox.tell_progress(&status);
        }
        // Nothing waits for the answer.
        let Ok((id, _)) = inbox.expect() else { return };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tasks/cancel", "params": { "taskId": self.id } });
        match &self.session.link {
            ServerLink::Program(program) => program.send_soon(&message),
            ServerLink::Web(web) => {
                inbox.forget(id);
                web.notify_soon(message);
            }
        }
    }
}

impl ServerSession {
    /// Returns the answer to a call. If that is a task, polls the task and returns its result.
    ///
    /// # Errors
    /// Fails if the task is cancelled, asks a person, has an unknown state, or can no longer be polled.
    pub(super) async fn ended(&self, said: Said) -> Result<Said, HttpFault> {
        let Ok(Some(mut task)) = said.as_ref().map(|result| result.get("task").filter(|task| task.is_object()).cloned()) else {
            return Ok(said);
        };
        let wrong = |what: String| HttpFault::after_sending(self.inbox().scrub.failure(FailureKind::BadResponse, what));
        let id = task.get("taskId").and_then(Value::as_str).filter(|id| !id.is_empty() && id.len() <= LONGEST_ID);
        let id = id.ok_or_else(|| wrong("its task has no name".to_owned()))?.to_owned();
        let mut open = OpenTask { session: self, id, has_ended: false, status: None };
        loop {
            open.status = status_message(&task);
            let more = open.status.as_ref().map(|status| format!(": {status}")).unwrap_or_default();
            match task.get("status").and_then(Value::as_str).unwrap_or("none") {
                "working" => {}
                "completed" | "failed" => {
                    open.has_ended = true;
                    return self.task("tasks/result", &open.id).await;
                }
                "cancelled" => {
                    open.has_ended = true;
                    let message = format!("it cancelled the call's task{more}");
                    return Err(HttpFault::after_sending(self.inbox().scrub.failure(FailureKind::Refused, message)));
                }
                "input_required" => {
                    let message = format!("its task asks a person; flow does not answer questions of tasks{more}");
                    return Err(self.fault(FailureKind::Refused, &message));
                }
                other => {
                    let other = cut_words(other, 40);
                    return Err(wrong(format!("its task is in an unknown state: \"{}\"", visible(&other))));
                }
            }
            let poll = task.get("pollInterval").and_then(Value::as_u64).map_or(POLL_AFTER, Duration::from_millis);
            tokio::time::sleep(poll.clamp(SHORTEST_POLL, LONGEST_POLL)).await;
            task = match self.task("tasks/get", &open.id).await? {
                Ok(state) => state,
                Err(error) => return Err(wrong(format!("it no longer knows the task ({}): {}", error.code.0, error.message))),
            };
        }
    }

    async fn task(&self, method: &str, id: &str) -> Result<Said, HttpFault> {
        self.ask(method, json!({ "taskId": id })).await.map_err(|fault| HttpFault { may_have_acted: true, ..fault })
    }
}

/// The status message of a task.
fn status_message(task: &Value) -> Option<String> {
    let text = task.get("statusMessage").and_then(Value::as_str)?;
    Some(cut_words(text, LONGEST_STATUS)).filter(|text| !text.trim().is_empty())
}
