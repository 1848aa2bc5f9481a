//! The Agent Client Protocol, version 1, on the standard input and output of a program (<https://agentclientprotocol.com/protocol/v1/overview>): a session,
//! one prompt, and what the program asks meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AuthenticateRequest, ContentBlock, Error, ErrorCode, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    NewSessionRequest, NewSessionResponse, PermissionOption, PermissionOptionKind, PromptRequest, PromptResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, SessionUpdate, StopReason,
    ToolCallUpdateFields,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{is_session, plain, told};
use crate::adapter::files::here;
use crate::adapter::sandbox::ProgramTalk;
use crate::diagnostic::{cut, visible};
use crate::event::{Failure, Usage};
use crate::model::FailureKind;
use crate::port::{AgentCall, AgentDecision, ModelReply, ProgramEnd};

/// How long a piece of output is waited for before it is looked whether anybody still waits for the answer.
const TICK: Duration = Duration::from_millis(50);
/// The longest message, in bytes.
const LONGEST_MESSAGE: usize = 8 << 20;
/// The most lines that are no message.
const MOST_NOISE: usize = 100;
/// The most requests that are answered in a prompt.
const MOST_ASKED: usize = 1_000;
/// The longest text of a decision, in characters.
const LONGEST_TARGET: usize = 200;

/// A program that is spoken to.
pub(super) struct AcpTalk<'c> {
    talk: ProgramTalk,
    call: &'c AgentCall,
    /// The folder that it works in, whole and without links.
    folder: PathBuf,
    is_dropped: &'c AtomicBool,
    until: Instant,
    waiting: Vec<u8>,
    heard: u64,
    next_id: u64,
    noise: usize,
    asked: usize,
    said: SaidSoFar,
}

/// What the program has said in its turn.
#[derive(Default)]
struct SaidSoFar {
    text: String,
    cost_usd: Option<f64>,
    decisions: Vec<AgentDecision>,
}

/// Why no answer came to a request.
enum NoAnswer {
    /// The program closed its output, or was ended.
    Closed,
    /// It answered with an error.
    Refused(Error),
    Failed(Failure),
}

/// Asks a program once. It is ended afterwards. `talk`: the program, which has just been started; `is_dropped`: set when nobody waits for the answer.
///
/// # Errors
/// Those of [`AgentPrograms::ask`](crate::port::AgentPrograms::ask).
pub(super) fn ask(talk: ProgramTalk, call: &AgentCall, is_dropped: &AtomicBool) -> Result<ModelReply, Failure> {
    let folder = call.program.folder.as_deref().unwrap_or(Path::new(""));
    let folder = real(folder).unwrap_or_else(|| folder.to_path_buf());
    let until = Instant::now() + call.program.timeout;
    let talk = AcpTalk {
        talk,
        call,
        folder,
        is_dropped,
        until,
        waiting: vec![],
        heard: 0,
        next_id: 0,
        noise: 0,
        asked: 0,
        said: SaidSoFar::default(),
    };
    talk.whole_turn()
}

impl AcpTalk<'_> {
    fn whole_turn(mut self) -> Result<ModelReply, Failure> {
        match self.turn() {
            Ok(reply) => Ok(reply),
            Err(NoAnswer::Failed(failure)) => Err(failure),
            Err(NoAnswer::Refused(error)) => {
                let kind = if error.code == ErrorCode::AuthRequired { FailureKind::Auth } else { FailureKind::ServerError };
                let data = error.data.as_ref().map(|data| format!(" ({})", cut(&data.to_string(), LONGEST_TARGET))).unwrap_or_default();
                Err(self.failure(kind, format!("says that it failed{}", told(&format!("{}{data}", error.message)))))
            }
            Err(NoAnswer::Closed) => Err(self.ended()),
        }
    }

    /// How the program ended that closed its output.
    fn ended(self) -> Failure {
        let model = self.call.model.clone();
        let failed = |kind, what: String| Failure::new(kind, format!("the program of model \"{model}\" {what}"));
        match self.talk.end() {
            Some(Ok(reply)) => {
                let help = reply.help.map(|help| format!("; {help}")).unwrap_or_default();
                let stderr = told(&String::from_utf8_lossy(&reply.stderr));
                let (kind, how) = match reply.end {
                    ProgramEnd::Exited(code @ (126 | 127)) => (FailureKind::Unavailable, format!("ended with exit code {code}")),
                    ProgramEnd::Exited(code) => (FailureKind::ServerError, format!("ended with exit code {code} before it had answered")),
                    ProgramEnd::Signaled(signal) => (FailureKind::ServerError, format!("was ended by signal {signal}")),
                };
                failed(kind, format!("{how}{stderr}{help}"))
            }
            Some(Err(failure)) => failure,
            None => failed(FailureKind::ServerError, "ended before it had answered".to_owned()),
        }
    }

    fn turn(&mut self) -> Result<ModelReply, NoAnswer> {
        let info = Implementation::new("flow", env!("CARGO_PKG_VERSION"));
        let known: InitializeResponse = self.request("initialize", &InitializeRequest::new(ProtocolVersion::V1).client_info(info))?;
        if known.protocol_version != ProtocolVersion::V1 {
            let message = format!("speaks version {} of the Agent Client Protocol, and flow version 1", known.protocol_version);
            return Err(NoAnswer::Failed(self.failure(FailureKind::Unavailable, message)));
        }
        let folder =
            self.call.program.folder.as_deref().map_or_else(PathBuf::new, |folder| crate::adapter::files::here(folder).to_path_buf());
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let continues = self.call.continues.clone().filter(|_| known.agent_capabilities.load_session);
        let (session, prompt) = match continues {
            Some((session, new)) => {
                let _: Value = self.request("session/load", &LoadSessionRequest::new(session.clone(), folder))?;
                // What it tells of the past is no part of this answer.
                self.said = SaidSoFar::default();
                (session, new)
            }
            None => (self.new_session(&known, folder)?, self.call.prompt.clone()),
        };
        let prompt = match &self.call.system {
            Some(system) => format!("{system}\n\n{prompt}"),
            None => prompt,
        };
        let ended: PromptResponse =
            self.request("session/prompt", &PromptRequest::new(session.clone(), vec![ContentBlock::from(prompt)]))?;
        let said = std::mem::take(&mut self.said);
        let wrong = |kind, what: &str| Err(NoAnswer::Failed(self.failure(kind, what.to_owned())));
        match ended.stop_reason {
            StopReason::EndTurn => {}
            StopReason::MaxTokens => return wrong(FailureKind::Truncated, "stopped at the end of its tokens"),
            StopReason::MaxTurnRequests => return wrong(FailureKind::Limit, "stopped at its most requests of a turn"),
            StopReason::Refusal => return wrong(FailureKind::Refused, "refused to answer"),
            _ => return wrong(FailureKind::ServerError, "stopped before it had answered"),
        }
        let usage = ended.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
        let cost_usd = said.cost_usd.filter(|cost| *cost >= 0.0);
        Ok(ModelReply {
            text: plain(&said.text),
            usage: (usage.is_some() || cost_usd.is_some()).then(|| {
                let (input_tokens, output_tokens) = usage.unwrap_or_default();
                Usage { input_tokens, output_tokens, cost_usd, ..Usage::default() }
            }),
            session: Some(session).filter(|session| known.agent_capabilities.load_session && is_session(session)),
            decisions: said.decisions,
            ..ModelReply::default()
        })
    }

    /// A new session. A program that wants to be signed in first is told to take the key that its environment has.
    fn new_session(&mut self, known: &InitializeResponse, folder: PathBuf) -> Result<String, NoAnswer> {
        let request = NewSessionRequest::new(folder);
        let made: Result<NewSessionResponse, NoAnswer> = self.request("session/new", &request);
        let made = match made {
            Err(NoAnswer::Refused(error)) if error.code == ErrorCode::AuthRequired => {
                let methods = known.auth_methods.iter().map(|method| method.id().to_string());
                let Some(method) = methods.into_iter().find(|id| id.contains("api") && id.contains("key")) else {
                    return Err(NoAnswer::Refused(error));
                };
                let _: Value = self.request("authenticate", &AuthenticateRequest::new(method))?;
                self.request("session/new", &request)?
            }
            made => made?,
        };
        Ok(made.session_id.to_string())
    }

    /// Sends a request, and answers what is asked until its own answer comes.
    fn request<T: DeserializeOwned>(&mut self, method: &str, params: &impl Serialize) -> Result<T, NoAnswer> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.message()?;
            let is_answer = message.get("method").is_none() && message.get("id").and_then(Value::as_u64) == Some(id);
            if is_answer {
                if let Some(error) = message.get("error") {
                    let error =
                        serde_json::from_value(error.clone()).unwrap_or_else(|_| Error::new(0, cut(&error.to_string(), LONGEST_TARGET)));
                    return Err(NoAnswer::Refused(error));
                }
                let result = message.get("result").cloned().unwrap_or_default();
                return serde_json::from_value(result).map_err(|error| {
                    let message = format!("gave an answer to {method} that is none: {error}");
                    NoAnswer::Failed(self.failure(FailureKind::BadResponse, message))
                });
            }
            self.asked(&message)?;
        }
    }

    /// Handles what the program says or asks unasked. An answer to no request is ignored.
    fn asked(&mut self, message: &Value) -> Result<(), NoAnswer> {
        let Some(method) = message.get("method").and_then(Value::as_str) else { return Ok(()) };
        let params = message.get("params").cloned().unwrap_or_default();
        let Some(id) = message.get("id").filter(|id| !id.is_null()) else {
            if let (true, Ok(notice)) = (method == "session/update", serde_json::from_value::<SessionNotification>(params)) {
                self.updated(notice.update);
            }
            return Ok(());
        };
        self.asked += 1;
        if self.asked > MOST_ASKED {
            return Err(NoAnswer::Failed(
                self.failure(FailureKind::BadResponse, format!("asked more than {MOST_ASKED} times in one turn")),
            ));
        }
        let answer = match (method, serde_json::from_value::<RequestPermissionRequest>(params)) {
            ("session/request_permission", Ok(request)) => json!({ "result": self.permitted(&request) }),
            ("session/request_permission", Err(error)) => {
                json!({ "error": { "code": -32602, "message": format!("no request for a permission: {error}") } })
            }
            // Files and terminals are not offered: a program does that itself, in its sandbox.
            _ => json!({ "error": { "code": -32601, "message": "flow offers no such method" } }),
        };
        let mut whole = json!({ "jsonrpc": "2.0", "id": id });
        if let (Value::Object(whole), Value::Object(answer)) = (&mut whole, answer) {
            whole.extend(answer);
        }
        self.send(&whole);
        Ok(())
    }

    fn updated(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = chunk.content {
                    self.said.text.push_str(&text.text);
                    self.call.listener.iter().for_each(|listener| listener.hear(&self.said.text));
                }
            }
            // What was said before it used a tool was no answer yet.
            SessionUpdate::ToolCall(_) if !self.said.text.is_empty() && !self.said.text.ends_with("\n\n") => {
                self.said.text.push_str("\n\n")
            }
            SessionUpdate::UsageUpdate(usage) => {
                self.said.cost_usd = usage.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount).or(self.said.cost_usd);
            }
            _ => {}
        }
    }

    /// Answers by the policies in force, for this once only.
    fn permitted(&mut self, request: &RequestPermissionRequest) -> RequestPermissionResponse {
        let fields = &request.tool_call.fields;
        let tool = tool_of(fields);
        let all = words_of(fields, &self.folder);
        // All that it wants must be allowed.
        let decisions: Vec<AgentDecision> = all.iter().map(|words| self.call.rule.decide(&tool, words)).collect();
        let first_no = decisions.iter().position(|decision| !decision.is_allowed).unwrap_or(0);
        let mut decision = decisions.into_iter().nth(first_no).unwrap_or_else(|| self.call.rule.decide(&tool, &json!([])));
        let words = all.into_iter().nth(first_no).unwrap_or_default();
        let is_of = |kind: PermissionOptionKind| request.options.iter().find(|option| option.kind == kind);
        let (once, always) = match decision.is_allowed {
            true => (PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways),
            false => (PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways),
        };
        // A no that is for ever is a no; a yes is never for ever.
        let chosen: Option<&PermissionOption> = is_of(once).or_else(|| is_of(always).filter(|_| !decision.is_allowed));
        if decision.is_allowed && chosen.is_none() {
            decision.is_allowed = false;
            decision.rule.push_str(", but the program can be allowed it for ever only");
        }
        let words = words.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
        decision.target = cut(&visible(format!("{tool} {words}").trim()), LONGEST_TARGET);
        self.said.decisions.push(decision);
        RequestPermissionResponse::new(match chosen {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone())),
            None => RequestPermissionOutcome::Cancelled,
        })
    }

    fn send(&self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.talk.send(Arc::new(line.into_bytes()));
    }

    /// The next message.
    fn message(&mut self) -> Result<Value, NoAnswer> {
        loop {
            if let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.waiting.drain(..=end).collect();
                match serde_json::from_slice::<Value>(&line) {
                    Ok(message) if message.is_object() => return Ok(message),
                    _ => {
                        self.noise += 1;
                        if self.noise > MOST_NOISE {
                            let message = format!("printed more than {MOST_NOISE} lines that are no message");
                            return Err(NoAnswer::Failed(self.failure(FailureKind::BadResponse, message)));
                        }
                        continue;
                    }
                }
            }
            let gone = || Failure::new(FailureKind::Internal, "nobody waits for the answer");
            if self.is_dropped.load(Ordering::Relaxed) {
                return Err(NoAnswer::Failed(gone()));
            }
            if Instant::now() >= self.until {
                let message = format!("did not answer within {} s", self.call.program.timeout.as_secs());
                return Err(NoAnswer::Failed(self.failure(FailureKind::Timeout, message)));
            }
            match self.talk.hear(TICK) {
                Ok(piece) => {
                    self.heard += piece.len() as u64;
                    self.waiting.extend(piece);
                    if self.waiting.len() > LONGEST_MESSAGE || self.heard > self.call.program.bounds.output {
                        let message = "sent a message, or a whole answer, that is too long".to_owned();
                        return Err(NoAnswer::Failed(self.failure(FailureKind::TooLarge, message)));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(NoAnswer::Closed),
            }
        }
    }

    fn failure(&self, kind: FailureKind, what: String) -> Failure {
        Failure::new(kind, format!("the program of model \"{}\" {}", self.call.model, visible(&what)))
    }
}

fn real(folder: &Path) -> Option<PathBuf> {
    here(folder).canonicalize().ok()
}

/// The name of a tool for policies: its kind, which the protocol fixes; what a program calls it itself is its own word.
fn tool_of(fields: &ToolCallUpdateFields) -> String {
    let kind = serde_json::to_value(fields.kind.unwrap_or_default()).unwrap_or_default();
    kind.as_str().unwrap_or("other").to_owned()
}

/// What a policy's patterns are held against, each by itself: the words of a command; every path from the program's folder, `..` taken as it is written; the address. A command
/// that a shell would take apart, or that comes with more than its line, is one word.
fn words_of(fields: &ToolCallUpdateFields, folder: &Path) -> Vec<Value> {
    let input = fields.raw_input.as_ref().and_then(Value::as_object);
    let given = |name: &str| input.and_then(|input| input.get(name)).cloned();
    if let Some(command) = given("command").or_else(|| given("cmd")) {
        let is_alone = input.is_none_or(|input| input.keys().all(|key| PLAIN_KEYS.contains(&key.as_str())));
        let is_plain = |line: &str| !line.contains(|c: char| ";|&`$()<>\\\n\r\"'*?[]{}~!#".contains(c));
        return vec![match command {
            Value::String(line) if is_alone && is_plain(&line) => json!(line.split_whitespace().collect::<Vec<_>>()),
            Value::String(line) if is_alone => json!([line]),
            Value::Array(words) if is_alone => Value::Array(words),
            _ => json!([fields.raw_input.as_ref().map(Value::to_string).unwrap_or_default()]),
        }];
    }
    let from_folder = |path: &Path| {
        let whole = crate::adapter::files::real(&folder.join(path));
        json!([whole.strip_prefix(folder).unwrap_or(&whole).display().to_string()])
    };
    let named = ["file_path", "path", "old_path", "new_path"].into_iter().filter_map(given);
    let named: Vec<Value> = named.filter_map(|path| Some(from_folder(Path::new(path.as_str()?)))).collect();
    let mut all: Vec<Value> = fields.locations.iter().flatten().map(|place| from_folder(&place.path)).chain(named).collect();
    all.extend(["url", "query", "pattern"].into_iter().filter_map(given).map(|value| json!([value])));
    all.dedup();
    if all.is_empty() { vec![json!([])] } else { all }
}

/// What may stand beside a command without changing what it does.
const PLAIN_KEYS: [&str; 5] = ["command", "cmd", "description", "timeout", "run_in_background"];
