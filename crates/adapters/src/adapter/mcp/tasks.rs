//! Calls that take long, as tasks of 2025-11-25: the server answers at once with a task, which is asked about until it has ended.

use std::time::Duration;

use serde_json::{Value, json};

use super::inbox::Said;
use super::session::{ServerLink, ServerSession};
use crate::adapter::http::HttpFault;
use crate::adapter::scrub::visible;
use crate::event::FailureKind;

/// How long is waited between two questions about a task: where the server says nothing, and whatever it says.
const POLL_AFTER: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(200);
const LONGEST_POLL: Duration = Duration::from_secs(30);
/// Most bytes of the name of a task, and characters of what it says of itself.
const LONGEST_ID: usize = 500;
const LONGEST_STATUS: usize = 200;

/// Whether a tool of a list can be called as a task alone.
pub(super) fn are_required(item: &Value) -> bool {
    item.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
}

/// A task that the server works on. When nobody waits for it any more, it is cancelled.
struct OpenTask<'a> {
    session: &'a ServerSession,
    id: String,
    has_ended: bool,
    /// What it said of itself last.
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
        // Nobody waits for its answer.
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
    /// The answer to a call; if it is a task, what the task gives in the end. It is asked about as long as somebody waits.
    ///
    /// # Errors
    /// The task ended without a result, or nothing is known of it.
    pub(super) async fn ended(&self, said: Said) -> Result<Said, HttpFault> {
        let Ok(Some(mut task)) = said.as_ref().map(|result| result.get("task").filter(|task| task.is_object()).cloned()) else {
            return Ok(said);
        };
        let wrong = |what: String| HttpFault::after_sending(self.inbox().scrub.failure(FailureKind::BadResponse, what));
        let id = task.get("taskId").and_then(Value::as_str).filter(|id| !id.is_empty() && id.len() <= LONGEST_ID);
        let id = id.ok_or_else(|| wrong("its task has no name".to_owned()))?.to_owned();
        let mut open = OpenTask { session: self, id, has_ended: false, status: None };
        loop {
            open.status = told(&task);
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
                    return Err(HttpFault::before_sending(self.inbox().scrub.failure(FailureKind::Refused, message)));
                }
                other => {
                    let other: String = other.chars().take(40).collect();
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

/// What a task says of itself.
fn told(task: &Value) -> Option<String> {
    let text = task.get("statusMessage").and_then(Value::as_str)?;
    Some(text.chars().take(LONGEST_STATUS).collect::<String>()).filter(|text| !text.trim().is_empty())
}
