//! Calls of programs that are agents.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
    /// What the policies in force say to a tool that it asks for.
    pub rule: AgentRule,
    /// Who is told the text of the answer while it comes.
    pub listener: Option<Listener>,
}

/// What the policies in force say to a tool of the program: its name, and its arguments.
#[derive(Clone)]
pub struct AgentRule(Arc<DecideTool>);

type DecideTool = dyn Fn(&str, &serde_json::Value) -> AgentDecision + Send + Sync;

impl AgentRule {
    /// One that calls this.
    pub fn new(decide: impl Fn(&str, &serde_json::Value) -> AgentDecision + Send + Sync + 'static) -> AgentRule {
        AgentRule(Arc::new(decide))
    }

    /// Decides about one use of a tool.
    pub fn decide(&self, tool: &str, arguments: &serde_json::Value) -> AgentDecision {
        (self.0)(tool, arguments)
    }
}

impl std::fmt::Debug for AgentRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentRule")
    }
}

/// What was decided about something that a program wanted to do itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDecision {
    /// What it wanted: to use a tool, to reach a host.
    pub act: ActKind,
    /// The tool or the host, as the program names it.
    pub target: String,
    /// Whether it might.
    pub is_allowed: bool,
    /// Which rule said so.
    pub rule: String,
}

/// Starts programs that are agents.
pub trait AgentPrograms: Send + Sync {
    /// Makes one attempt. Retries, repair and fallback are the engine's. Failures are those of [`Programs::run`](super::Programs::run), and `bad_response` for what is no
    /// answer, `server_error` for a program that says that it failed, or ends with another exit code than 0.
    fn ask(&self, call: AgentCall) -> Pending<ModelReply>;
}
