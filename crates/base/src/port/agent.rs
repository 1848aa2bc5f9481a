//! Calls of programs that are agents.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Listener, ModelReply, Pending, ProgramCall};
use crate::model::{ActKind, AgentProtocol, PromptOption};

/// One prompt for a program that is an agent.
#[derive(Debug, Clone)]
pub struct AgentCall {
    /// The program with the arguments that it always gets. Its input is empty.
    pub program: ProgramCall,
    /// How it is spoken to.
    pub speaks: AgentProtocol,
    /// The name of the model, for messages.
    pub model: String,
    /// What it is told beside the prompt, each with its values; one without a value has none.
    pub options: Vec<(PromptOption, Vec<String>)>,
    /// The agent's instructions.
    pub system: Option<String>,
    /// The whole conversation, as one text.
    pub prompt: String,
    /// What is new since the session, and the session that it continues. Used only where the program still knows that session.
    pub continues: Option<(String, String)>,
    /// Whose home it works in. Programs of one home find the sessions of each other.
    pub home: String,
    /// What of its folders a policy has allowed by name, each with its path from the project: it must lie there, and behind no link.
    pub held: Vec<(PathBuf, String)>,
    /// What the policies in force say to what it wants to do itself.
    pub rule: AgentRule,
    /// The step, for a person who is asked.
    pub step: String,
    /// Who asks a person about what it wants; `None`: nobody is there.
    pub person: Option<AskPerson>,
    /// Who is told the text of the answer while it comes.
    pub listener: Option<Listener>,
}

/// Something that a program wants to do itself.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentWish {
    /// To use a tool with these arguments.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// To read a file: its path from the project's folder with `/`, or its whole path if it lies elsewhere. With `**` at its end: all in a folder.
    Read(String),
    /// To change a file or all in a folder, by its path as in [`AgentWish::Read`].
    Write(String),
    /// To reach the host of an address.
    Reach(String),
}

/// What the policies in force say to a wish of the program.
#[derive(Clone)]
pub struct AgentRule(Arc<DecideWish>);

type DecideWish = dyn Fn(&AgentWish) -> AgentVerdict + Send + Sync;

impl AgentRule {
    /// One that calls this.
    pub fn new(decide: impl Fn(&AgentWish) -> AgentVerdict + Send + Sync + 'static) -> AgentRule {
        AgentRule(Arc::new(decide))
    }

    /// Decides about one wish.
    pub fn decide(&self, wish: &AgentWish) -> AgentVerdict {
        (self.0)(wish)
    }
}

impl std::fmt::Debug for AgentRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentRule")
    }
}

/// What the policies say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentVerdict {
    /// What counts where nobody is asked.
    pub decision: AgentDecision,
    /// Whether a person may say yes.
    pub asks: bool,
}

/// What a person said in the middle of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonAnswer {
    /// Whether it is allowed, this once.
    pub approved: bool,
    /// Who said so; empty: unknown.
    pub by: String,
    /// Why; empty: no reason.
    pub comment: String,
}

/// Asks a person in the middle of a call.
#[derive(Clone)]
pub struct AskPerson(Arc<AskForAnswer>);

type AskForAnswer = dyn Fn(&str, String) -> Pending<Option<PersonAnswer>> + Send + Sync;

impl AskPerson {
    /// One that calls this.
    pub fn new(ask: impl Fn(&str, String) -> Pending<Option<PersonAnswer>> + Send + Sync + 'static) -> AskPerson {
        AskPerson(Arc::new(ask))
    }

    /// Asks a question of a step. `None`: nobody is there. Who drops the answer takes the question back.
    pub fn ask(&self, step: &str, question: String) -> Pending<Option<PersonAnswer>> {
        (self.0)(step, question)
    }
}

impl std::fmt::Debug for AskPerson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AskPerson")
    }
}

/// What was decided about something that a program wanted to do itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDecision {
    /// What it wanted.
    pub act: ActKind,
    /// The tool, the host or the path, as policies name it.
    pub target: String,
    /// Whether it might.
    pub is_allowed: bool,
    /// Which rule said so.
    pub rule: String,
    /// The person who decided; empty: none did, or who is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// Starts programs that are agents.
pub trait AgentPrograms: Send + Sync {
    /// Makes one attempt. Retries, repair and fallback are the engine's. Failures are those of [`Programs::run`](super::Programs::run), and `bad_response` for what is no
    /// answer, `server_error` for a program that says that it failed, or ends with another exit code than 0.
    fn ask(&self, call: AgentCall) -> Pending<ModelReply>;
}
