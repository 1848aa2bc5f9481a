//! Questions of an MCP server to a person during a call. They are asked one after the other, then the call is made again with the answers.

use serde_json::{Map, Value, json};

use crate::channel::clean;
use crate::event::{Failure, FailureKind, FormRequest, Happening, ServerQuestion, ServerQuestions};
use crate::gate::form;
use crate::model::ToolName;
use crate::parts::{Gatekeeper, Rules};
use crate::port::ServerAnswers;
use crate::state::NodeRef;
use crate::state::consents::ApprovalAnswer;

/// How often a server may ask during one call.
const MOST_ROUNDS: u32 = 8;

impl Gatekeeper<'_> {
    /// Records that a server asks before it continues with a call.
    ///
    /// # Errors
    /// Fails if it has asked too often.
    pub(crate) fn server_asked(
        &mut self,
        at: NodeRef,
        call: u64,
        tool: &str,
        asks: Box<ServerQuestions>,
        asked: Option<usize>,
    ) -> Result<(), Failure> {
        let step = self.path(at);
        let before = self.state.people.server_talk(&step, asked.unwrap_or_default()).map_or(0, |talk| talk.rounds);
        if before >= MOST_ROUNDS {
            let message = format!("tool \"{tool}\" has asked {MOST_ROUNDS} times during one call; it is not answered again");
            return Err(Failure::new(FailureKind::Limit, message));
        }
        self.emit(Happening::ServerAsked { step, call, tool: tool.to_owned(), asks, asked });
        Ok(())
    }

    /// Whether a call waits for a person's answer to its server. Asks the person now, unless the step has an open question.
    pub(crate) fn asks_for_server(&mut self, at: NodeRef, place: usize, tool: &str) -> bool {
        let step = self.path(at);
        let Some(talk) = self.state.people.server_talk(&step, place) else { return false };
        let Some(question) = talk.open() else { return false };
        if self.state.undecided().all(|waiting| *waiting != step) {
            let (question, form) = asked(tool, question, talk.asks.live.clone());
            self.emit(Happening::ApprovalRequested { step, question, act: String::new(), form: Some(Box::new(form)) });
        }
        true
    }
}

impl Rules<'_> {
    /// All answers of a person to a server; `None` if it asked nothing.
    ///
    /// # Errors
    /// Fails if an answer does not fit the question.
    pub(crate) fn server_answers(&self, at: NodeRef, place: usize) -> Result<Option<ServerAnswers>, Failure> {
        let Some(talk) = self.state.people.server_talk(&self.path(at), place) else { return Ok(None) };
        let answers = talk
            .asks
            .questions
            .iter()
            .zip(&talk.answers)
            .map(|(question, answer)| Ok((question.id.clone(), protocol_answer(question, answer)?)));
        let answers = answers.collect::<Result<Map<String, Value>, Failure>>()?;
        Ok(Some(ServerAnswers { answers, state: talk.asks.state.clone() }))
    }

    /// Adds to the failure of a call that a person said no to its server.
    pub(crate) fn after_questions(&self, at: NodeRef, place: usize, failure: Failure) -> Failure {
        let Some(talk) = self.state.people.server_talk(&self.path(at), place) else { return failure };
        let refused = talk.asks.questions.iter().zip(&talk.answers).find(|(_, answer)| !answer.approved);
        let Some((question, answer)) = refused else { return failure };
        let why = match (answer.is_nobody, answer.comment.as_str()) {
            (true, "") => "nobody could be asked".to_owned(),
            (true, why) => why.to_owned(),
            (false, "") => "a person said no".to_owned(),
            (false, comment) => format!("a person said no ({comment})"),
        };
        let asked: String = clean(&question.message).0.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
        Failure { message: format!("{}; it had asked \"{asked}\", and {why}", failure.message), ..failure }
    }
}

/// One answer in the form of the protocol.
fn protocol_answer(question: &ServerQuestion, answer: &ApprovalAnswer) -> Result<Value, Failure> {
    if !answer.approved {
        return Ok(json!({ "action": if answer.is_nobody { "cancel" } else { "decline" } }));
    }
    if question.url.is_some() {
        return Ok(json!({ "action": "accept" }));
    }
    let fields = answer.fields.as_ref().map(|fields| (**fields).clone()).unwrap_or_default();
    let wrong =
        |problems: Vec<String>| Failure::new(FailureKind::BadShape, format!("the answer does not match the form: {}", problems.join("; ")));
    Ok(json!({ "action": "accept", "content": form::answered(&shown_fields(&question.fields), fields).map_err(wrong)? }))
}

/// A question as a person sees it: who asks comes first, and each line of the server's own text is marked as such.
fn asked(tool: &str, question: &ServerQuestion, live: Option<String>) -> (String, FormRequest) {
    let ToolName { tool: server, part } = ToolName::parse(tool);
    let mut show = format!("server \"{server}\" asks, during a call of its tool \"{}\":", part.unwrap_or_default());
    clean(&question.message).0.lines().for_each(|line| show += &format!("\n  | {line}"));
    let ask = match &question.url {
        Some(url) => {
            let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
            show += &format!("\nThe page is of {host}; flow does not open it:\n  {url}");
            format!(
                "Server \"{server}\" wants you to open a page of {host}: open it only if you trust that host. Have you done what it asks there?"
            )
        }
        None => format!("Answer server \"{server}\"? What you type goes to it: never type passwords, keys or card numbers."),
    };
    (ask, FormRequest { show: Some(show), fields: shown_fields(&question.fields), until_ms: None, live })
}

/// The fields, without defaults that do not fit.
fn shown_fields(fields: &Value) -> Value {
    let mut shown = fields.clone();
    for (name, rules) in shown["properties"].as_object_mut().into_iter().flatten() {
        let is_wrong = rules.get("default").is_some_and(|default| form::misfit(fields, name, default).is_some());
        if let (true, Some(rules)) = (is_wrong, rules.as_object_mut()) {
            rules.shift_remove("default");
        }
    }
    shown
}
