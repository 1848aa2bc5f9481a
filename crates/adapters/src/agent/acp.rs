//! The Agent Client Protocol, version 1, on the standard input and output of a program (<https://agentclientprotocol.com/protocol/v1/overview>): a session,
//! one prompt, and what the program asks meanwhile.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AuthenticateRequest, ContentBlock, Error, ErrorCode, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    NewSessionRequest, NewSessionResponse, PermissionOption, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, SessionUpdate, StopReason,
    ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use futures_util::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{after_name, is_amount, is_cost, is_session, kept_from, plain, refused_hosts_text};
use super::wishes::{WishFolders, counted, names_something, tool_of, wishes};
use crate::diagnostic::{cut_words, visible};
use crate::event::{Failure, Usage};
use crate::files::here;
use crate::model::{ActKind, FailureKind};
use crate::port::{AgentCall, AgentDecision, AgentVerdict, AgentWish, ModelReply, PersonAnswer, ProgramEnd, ProgramReply};
use crate::sandbox::ProgramTalk;

/// How long a piece of output is waited for before it is looked whether anybody still waits for the answer.
const TICK: Duration = Duration::from_millis(50);
/// The most lines that are no message.
const MOST_NOISE: usize = 100;
/// The most parts of calls that are kept until these have ended.
const MOST_TOLD: usize = 1_000;
/// The most requests that are answered in a prompt.
const MOST_ASKED: usize = 1_000;
/// The longest text of a decision, in characters.
const LONGEST_TARGET: usize = 200;
/// The longest question that a person is asked, in bytes.
const LONGEST_QUESTION: usize = 20_000;

/// A program that is spoken to.
pub(super) struct AcpTalk<'c> {
    talk: ProgramTalk,
    call: &'c AgentCall,
    folders: WishFolders,
    /// The session that it answers in, once that is known.
    session: Option<String>,
    is_dropped: &'c AtomicBool,
    until: Instant,
    waiting: Vec<u8>,
    /// How much of that has no end of a line.
    searched: usize,
    heard: u64,
    next_id: u64,
    noise: usize,
    asked: usize,
    /// What the program told of its calls, by their ids.
    told: Vec<(ToolCallId, ToolCallUpdateFields)>,
    /// Whether it has sent any message.
    has_spoken: bool,
    said: SaidSoFar,
}

/// What the program has said in its turn.
#[derive(Default)]
struct SaidSoFar {
    text: String,
    /// Whether there was a part of its answer that is no text, or of a kind that is not known.
    is_left_out: bool,
    /// US dollars of the session so far, and those of it before the prompt. `None` before the prompt: it was not sent yet.
    cost_usd: Option<f64>,
    before: Option<Option<f64>>,
    /// Tokens of the prompt, read and written.
    tokens: Option<(u64, u64)>,
    decisions: Vec<AgentDecision>,
}

impl SaidSoFar {
    /// What the prompt used, as far as it was told.
    fn spent(&self) -> Option<Usage> {
        let before = self.before?;
        let cost_usd = self.cost_usd.filter(|cost| is_cost(*cost));
        let cost_usd = cost_usd.map(|cost| before.filter(|before| *before <= cost).map_or(cost, |before| cost - before));
        let (input_tokens, output_tokens) = self.tokens.unwrap_or_default();
        let unknown_tokens = if self.tokens.is_none() { Usage::PART } else { 0 };
        (self.tokens.is_some() || cost_usd.is_some()).then_some(Usage { input_tokens, output_tokens, cost_usd, unknown_tokens })
    }
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
    let folders =
        WishFolders { folder: real(call.program.folder.as_deref().unwrap_or(Path::new(""))), project: real(&call.program.project) };
    let until = Instant::now() + call.program.timeout;
    let talk = AcpTalk {
        talk,
        call,
        folders,
        session: None,
        is_dropped,
        until,
        waiting: vec![],
        searched: 0,
        heard: 0,
        next_id: 0,
        noise: 0,
        asked: 0,
        told: vec![],
        has_spoken: false,
        said: SaidSoFar::default(),
    };
    talk.whole_turn()
}

impl AcpTalk<'_> {
    fn whole_turn(mut self) -> Result<ModelReply, Failure> {
        let turn = self.turn();
        let refused = self.talk.refused();
        let mut beside = ModelReply { usage: self.said.spent(), ..ModelReply::default() };
        beside.decisions = std::mem::take(&mut self.said.decisions);
        beside.decisions.extend(kept_from(&refused));
        let hint = (!self.has_spoken).then_some("; one that prints its answer and ends is provider: cli");
        let more: String = refused_hosts_text(&refused).as_deref().into_iter().chain(hint).collect();
        match self.answer(turn) {
            Ok(reply) => Ok(ModelReply { usage: beside.usage, decisions: beside.decisions, ..reply }),
            Err(failure) => ModelReply::failing(Failure { message: format!("{}{more}", failure.message), ..failure }, beside),
        }
    }

    fn answer(self, turn: Result<ModelReply, NoAnswer>) -> Result<ModelReply, Failure> {
        match turn {
            Ok(reply) => Ok(reply),
            Err(NoAnswer::Failed(failure)) => Err(failure),
            Err(NoAnswer::Refused(error)) => {
                let kind = if error.code == ErrorCode::AuthRequired { FailureKind::Auth } else { FailureKind::ServerError };
                let data =
                    error.data.as_ref().map(|data| format!(" ({})", cut_words(&data.to_string(), LONGEST_TARGET))).unwrap_or_default();
                Err(self.failure(kind, format!("says that it failed{}", after_name(&format!("{}{data}", error.message)))))
            }
            Err(NoAnswer::Closed) => Err(self.ended()),
        }
    }

    /// How the program ended that closed its output.
    fn ended(self) -> Failure {
        let model = self.call.model.clone();
        let failed = |kind, what: String| Failure::new(kind, format!("the program of model \"{model}\" {what}"));
        match self.talk.end() {
            Some(Ok(ProgramReply { ended_for: Some(failure), .. })) => *failure,
            Some(Ok(reply)) => {
                let help = reply.help.map(|help| format!("; {help}")).unwrap_or_default();
                let stderr = after_name(&String::from_utf8_lossy(&reply.stderr));
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
        let folder = self.call.program.folder.as_deref().map_or_else(PathBuf::new, |folder| crate::files::here(folder).to_path_buf());
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let continues = self.call.continues.clone().filter(|_| known.agent_capabilities.load_session);
        let (session, prompt) = match continues {
            Some((session, new)) => {
                self.session = Some(session.clone());
                let _: Value = self.request("session/load", &LoadSessionRequest::new(session.clone(), folder))?;
                // What it tells of the past is no part of this answer. The dollars are those of the session so far, if it knows them.
                (self.said.text, self.said.is_left_out) = (String::new(), false);
                (session, new)
            }
            None => (self.new_session(&known, folder)?, self.call.prompt.clone()),
        };
        self.session = Some(session.clone());
        let prompt = match &self.call.system {
            Some(system) => format!("{system}\n\n{prompt}"),
            None => prompt,
        };
        self.said.before = Some(self.said.cost_usd.take());
        let ended: Value = self.request("session/prompt", &PromptRequest::new(session.clone(), vec![ContentBlock::from(prompt)]))?;
        let usage = ended.get("usage").and_then(|usage| serde_json::from_value(usage.clone()).ok());
        self.said.tokens = usage.as_ref().map(tokens).filter(|(input, output)| is_amount(*input as f64) && is_amount(*output as f64));
        self.stopped(ended.get("stopReason"))?;
        let note = self.said.is_left_out.then(|| "a part of the answer that is no text is left out".to_owned());
        Ok(ModelReply {
            text: plain(&self.said.text),
            session: Some(session).filter(|session| known.agent_capabilities.load_session && is_session(session)),
            notes: note.into_iter().collect(),
            ..ModelReply::default()
        })
    }

    /// Fails unless it said that its turn ended by itself: any other reason, or none, may mean that its text is cut.
    fn stopped(&self, told: Option<&Value>) -> Result<(), NoAnswer> {
        let reason = told.and_then(|told| serde_json::from_value::<StopReason>(told.clone()).ok());
        let (kind, what) = match (reason, told.and_then(Value::as_str)) {
            (Some(StopReason::EndTurn), _) => return Ok(()),
            (Some(StopReason::MaxTokens), _) => (FailureKind::Truncated, "stopped at the end of its tokens".to_owned()),
            (Some(StopReason::MaxTurnRequests), _) => (FailureKind::Limit, "stopped at its most requests of a turn".to_owned()),
            (Some(StopReason::Refusal), _) => (FailureKind::Refused, "refused to answer".to_owned()),
            (Some(_), _) => (FailureKind::ServerError, "stopped before it had answered".to_owned()),
            (None, Some(word)) => {
                let message = format!("stopped for a reason that flow does not know: \"{}\"", cut_words(word, LONGEST_TARGET));
                (FailureKind::BadResponse, message)
            }
            (None, None) => (FailureKind::BadResponse, "did not say why it stopped (stopReason)".to_owned()),
        };
        Err(NoAnswer::Failed(self.failure(kind, what)))
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
                    let error = serde_json::from_value(error.clone())
                        .unwrap_or_else(|_| Error::new(0, cut_words(&error.to_string(), LONGEST_TARGET)));
                    return Err(NoAnswer::Refused(error));
                }
                let result = message.get("result").cloned().unwrap_or_default();
                return serde_json::from_value(result).map_err(|error| {
                    let message = format!("gave an answer to {method} that is none{}", lacking(&error));
                    NoAnswer::Failed(self.failure(FailureKind::BadResponse, message))
                });
            }
            self.asked(&message)?;
        }
    }

    /// Handles what the program says or asks unasked. An answer to no request is ignored.
    fn asked(&mut self, message: &Value) -> Result<(), NoAnswer> {
        let Some(method) = message.get("method").and_then(Value::as_str) else { return Ok(()) };
        let mut params = message.get("params").cloned().unwrap_or_default();
        let Some(id) = message.get("id").filter(|id| !id.is_null()) else {
            if method == "session/update" && params.get("sessionId").and_then(Value::as_str).is_some_and(|of| self.is_of_session(of)) {
                let is_text = params.pointer("/update/sessionUpdate").is_some_and(|kind| kind == "agent_message_chunk");
                match serde_json::from_value::<SessionNotification>(params) {
                    Ok(notice) => self.updated(notice.update),
                    Err(_) => self.said.is_left_out |= is_text,
                }
            }
            return Ok(());
        };
        self.asked += 1;
        if self.asked > MOST_ASKED {
            return Err(NoAnswer::Failed(
                self.failure(FailureKind::BadResponse, format!("asked more than {MOST_ASKED} times in one turn")),
            ));
        }
        // An option of a kind that is not known is not chosen.
        if let Some(options) = params.get_mut("options").and_then(Value::as_array_mut) {
            options.retain(|option| serde_json::from_value::<PermissionOption>(option.clone()).is_ok());
        }
        let answer = match (method, serde_json::from_value::<RequestPermissionRequest>(params)) {
            ("session/request_permission", Ok(request)) if self.is_of_session(&request.session_id.to_string()) => {
                json!({ "result": self.permitted(&request)? })
            }
            ("session/request_permission", Ok(_)) => json!({ "error": { "code": -32602, "message": "flow knows no such session" } }),
            ("session/request_permission", Err(error)) => {
                json!({ "error": { "code": -32602, "message": format!("no request for a permission{}", lacking(&error)) } })
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

    /// Whether something belongs to the session that answers; a program may have others of its own.
    fn is_of_session(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }

    fn updated(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                let ContentBlock::Text(text) = chunk.content else { return self.said.is_left_out = true };
                self.said.text.push_str(&text.text);
                let so_far = &self.said.text;
                let shown = if so_far.contains('\u{1b}') { Cow::Owned(plain(so_far)) } else { Cow::Borrowed(&**so_far) };
                self.call.listener.iter().for_each(|listener| listener.hear(&shown));
            }
            SessionUpdate::ToolCall(call) => {
                // What was said before it used a tool was no answer yet.
                if !self.said.text.is_empty() && !self.said.text.ends_with("\n\n") {
                    self.said.text.push_str("\n\n");
                }
                self.tells(call.into());
            }
            SessionUpdate::ToolCallUpdate(update) => self.tells(update),
            SessionUpdate::UsageUpdate(usage) => {
                self.said.cost_usd = usage.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount).or(self.said.cost_usd);
            }
            _ => {}
        }
    }

    /// Keeps what is told of a call until it has ended.
    fn tells(&mut self, call: ToolCallUpdate) {
        if let Some(ToolCallStatus::Completed | ToolCallStatus::Failed) = call.fields.status {
            return self.told.retain(|(id, _)| *id != call.tool_call_id);
        }
        let part = (call.tool_call_id, counted(call.fields));
        let says = part.1.kind.is_some() || names_something(&part.1);
        // One more than are compared tells that there were more.
        if says && self.told.len() <= MOST_TOLD && !self.told.contains(&part) {
            self.told.push(part);
        }
    }

    /// Answers by the policies in force, and by a person where they ask one, for this once only.
    fn permitted(&mut self, request: &RequestPermissionRequest) -> Result<RequestPermissionResponse, NoAnswer> {
        let ToolCallUpdate { tool_call_id, fields, .. } = &request.tool_call;
        let told = self.told.iter().filter(|(id, _)| id == tool_call_id).map(|(_, fields)| fields);
        let told: Vec<ToolCallUpdateFields> = told.chain([fields]).cloned().collect();
        let mut decisions = if self.told.len() > MOST_TOLD { vec![too_much(&told)] } else { self.decisions(&told)? };
        let is_allowed = decisions.iter().all(|decision| decision.is_allowed);
        let yes = option_of(request, true).filter(|_| is_allowed);
        if let (true, None, Some(decision)) = (is_allowed, yes, decisions.first_mut()) {
            decision.is_allowed = false;
            decision.rule.push_str(", but the program offers no yes for this once");
            decisions.truncate(1);
        }
        self.said.decisions.extend(decisions);
        Ok(RequestPermissionResponse::new(match yes.or_else(|| option_of(request, false)) {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone())),
            None => RequestPermissionOutcome::Cancelled,
        }))
    }

    /// What is decided about all that a tool call names. A no is told by what it is about alone: the rest was not done.
    fn decisions(&mut self, told: &[ToolCallUpdateFields]) -> Result<Vec<AgentDecision>, NoAnswer> {
        let Some(wishes) = wishes(told, &self.folders) else { return Ok(vec![too_much(told)]) };
        let fields = &whole_call(told);
        let told = |wish: &AgentWish| {
            let AgentVerdict { mut decision, asks } = self.call.rule.decide(wish);
            if let AgentWish::Tool { name, arguments } = wish {
                let words: Vec<&str> = arguments.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                decision.target = format!("{name} {}", words.join(" ")).trim().to_owned();
            }
            decision.target = cut_words(&visible(&decision.target), LONGEST_TARGET);
            AgentVerdict { decision, asks }
        };
        let verdicts: Vec<AgentVerdict> = wishes.iter().map(told).collect();
        if let Some(no) = verdicts.iter().find(|verdict| !verdict.decision.is_allowed && !verdict.asks) {
            return Ok(vec![no.decision.clone()]);
        }
        let mut rules: Vec<&str> = verdicts.iter().filter(|verdict| verdict.asks).map(|verdict| verdict.decision.rule.as_str()).collect();
        rules.dedup();
        if rules.is_empty() {
            return Ok(verdicts.into_iter().map(|verdict| verdict.decision).collect());
        }
        let (is_yes, word, by) = match self.person(question(self.call, fields, &wishes, &rules.join("; ")))? {
            Ok(PersonAnswer { approved: true, by, comment: _ }) => (true, "a person said yes", by),
            Ok(PersonAnswer { approved: false, by, comment: _ }) => (false, "a person said no", by),
            Err(why) => (false, why, String::new()),
        };
        let answered = |AgentVerdict { decision, asks }| match asks {
            true => Some(AgentDecision { is_allowed: is_yes, rule: format!("{}, and {word}", decision.rule), by: by.clone(), ..decision }),
            false => is_yes.then_some(decision),
        };
        Ok(verdicts.into_iter().filter_map(answered).collect())
    }

    /// What a person says, while the program waits; or why nobody could be asked.
    fn person(&mut self, question: String) -> Result<Result<PersonAnswer, &'static str>, NoAnswer> {
        if question.len() > LONGEST_QUESTION {
            return Ok(Err("it is too long for a person to be asked"));
        }
        let Some(person) = &self.call.person else { return Ok(Err("nobody is there to be asked")) };
        let mut answer = person.ask(&self.call.step, question);
        loop {
            if let Some(said) = (&mut answer).now_or_never() {
                return Ok(said.ok().flatten().ok_or("nobody is there to be asked"));
            }
            self.is_waited_for("got no answer of a person, or gave none itself,")?;
            self.listen()?;
            if self.has_answered() {
                return Ok(Err("its program did not wait for an answer"));
            }
        }
    }

    /// Fails if the time is up, or nobody waits for the answer any more. `what`: what it did not do within its time.
    fn is_waited_for(&self, what: &str) -> Result<(), NoAnswer> {
        if self.is_dropped.load(Ordering::Relaxed) {
            return Err(NoAnswer::Failed(Failure::new(FailureKind::Internal, "nobody waits for the answer")));
        }
        if Instant::now() >= self.until {
            let message = format!("{what} within {} s", self.call.program.timeout.as_secs());
            return Err(NoAnswer::Failed(self.failure(FailureKind::Timeout, message)));
        }
        Ok(())
    }

    fn send(&self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.talk.send(Arc::new(line.into_bytes()));
    }

    /// The next message.
    fn message(&mut self) -> Result<Value, NoAnswer> {
        loop {
            let end = self.waiting.iter().skip(self.searched).position(|byte| *byte == b'\n').map(|end| end + self.searched);
            self.searched = if end.is_some() { 0 } else { self.waiting.len() };
            if let Some(end) = end {
                let line: Vec<u8> = self.waiting.drain(..=end).collect();
                match serde_json::from_slice::<Value>(&line) {
                    Ok(message) if message.is_object() => {
                        self.has_spoken = true;
                        return Ok(message);
                    }
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
            self.is_waited_for("did not answer")?;
            self.listen()?;
        }
    }

    /// Takes in what comes next, for a while.
    fn listen(&mut self) -> Result<(), NoAnswer> {
        match self.talk.hear(TICK) {
            Ok(piece) => {
                self.heard += piece.len() as u64;
                self.waiting.extend(piece);
                let most = self.call.program.bounds.output;
                if self.heard > most {
                    let message = format!("sent more than {} MiB", most >> 20);
                    return Err(NoAnswer::Failed(self.failure(FailureKind::TooLarge, message)));
                }
                Ok(())
            }
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => Err(NoAnswer::Closed),
        }
    }

    /// Whether it has answered what it was asked, and so waits for nobody.
    fn has_answered(&self) -> bool {
        let whole = self.waiting.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.waiting[..whole].split(|byte| *byte == b'\n').any(|line| {
            serde_json::from_slice::<Value>(line).is_ok_and(|message| message.get("method").is_none() && message.get("id").is_some())
        })
    }

    fn failure(&self, kind: FailureKind, what: String) -> Failure {
        Failure::new(kind, format!("the program of model \"{}\" {}", self.call.model, visible(&what)))
    }
}

/// The field that a message lacks, behind a sentence. What else the reader of messages says names its own types.
fn lacking(error: &serde_json::Error) -> String {
    let error = error.to_string();
    let field = error.strip_prefix("missing field `").and_then(|rest| Some(rest.split_once('`')?.0.to_owned()));
    field.map(|field| format!(": it has no {field}")).unwrap_or_default()
}

/// Tokens read and written. Those of a cache and of thoughts are added where the sum of all shows that they are no part of the others.
fn tokens(usage: &agent_client_protocol_schema::v1::Usage) -> (u64, u64) {
    let cached = usage.cached_read_tokens.unwrap_or_default().saturating_add(usage.cached_write_tokens.unwrap_or_default());
    let (mut input, mut output) = (usage.input_tokens, usage.output_tokens);
    let is_beside = |more: u64, input: u64, output: u64| usage.total_tokens >= input.saturating_add(output).saturating_add(more);
    if is_beside(cached, input, output) {
        input = input.saturating_add(cached);
    }
    let thoughts = usage.thought_tokens.unwrap_or_default();
    if is_beside(thoughts, input, output) {
        output = output.saturating_add(thoughts);
    }
    (input, output)
}

fn real(folder: &Path) -> PathBuf {
    here(folder).canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// What a person decides about: all of it.
fn question(call: &AgentCall, fields: &ToolCallUpdateFields, wishes: &[AgentWish], rules: &str) -> String {
    let given = fields.raw_input.as_ref().map(|input| format!(" with {input}")).unwrap_or_default();
    let also = wishes.iter().filter_map(|wish| match wish {
        AgentWish::Tool { .. } => None,
        AgentWish::Read(path) => Some(format!("read {path}")),
        AgentWish::Write(path) => Some(format!("write {path}")),
        AgentWish::Reach(address) => Some(format!("reach {address}")),
    });
    let also: Vec<String> = also.collect();
    let also = if also.is_empty() { String::new() } else { format!(" ({})", also.join(", ")) };
    let tool = tool_of(fields.kind.unwrap_or_default());
    format!("the program of \"{}\" wants to use {tool}{given}{also} ({rules}); allow it?", call.step)
}

/// A no to what names too much.
fn too_much(told: &[ToolCallUpdateFields]) -> AgentDecision {
    let target = tool_of(whole_call(told).kind.unwrap_or_default());
    let rule = "it names more than flow compares".to_owned();
    AgentDecision { act: ActKind::Tool, target, is_allowed: false, rule, by: String::new() }
}

/// The kind and input of a call as they were told last: what a part leaves out is as an earlier one says.
fn whole_call(told: &[ToolCallUpdateFields]) -> ToolCallUpdateFields {
    let mut whole = ToolCallUpdateFields::default();
    for part in told.iter().cloned() {
        whole.kind = part.kind.or(whole.kind);
        whole.raw_input = part.raw_input.or(whole.raw_input);
    }
    whole
}

/// The option that says yes for once, or no. Options of one id mean the boldest of them: nobody knows which the program takes.
fn option_of(request: &RequestPermissionRequest, is_allowed: bool) -> Option<&PermissionOption> {
    let means_only = |option: &PermissionOption, kinds: &[PermissionOptionKind]| {
        request.options.iter().filter(|other| other.option_id == option.option_id).all(|other| kinds.contains(&other.kind))
    };
    let no = [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways];
    // A no that is for ever is a no; a yes is never for ever.
    let kinds = if is_allowed { &[PermissionOptionKind::AllowOnce][..] } else { &no[..] };
    kinds.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind && means_only(option, kinds)))
}
