//! Programs that are agents: the providers `cli` and `acp`.

use std::path::PathBuf;

use serde_json::Value;
use strum::VariantNames;

use super::ProgramCommand;
use crate::source::Spanned;

/// A program that answers as an agent does, as a model or a preset describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentProgram {
    /// The program, what it always gets, its environment and what it may do. What it prints is read by [`AgentProgram::speaks`].
    pub run: ProgramCommand,
    /// The folder that it works in, joined to the folder of the file; `None`: the folder of the file.
    pub folder: Option<Spanned<PathBuf>>,
    /// Files and folders that it may read beside its folder, joined to the folder of the file.
    pub reads: Vec<Spanned<PathBuf>>,
    /// The variable of its environment that holds `api_key`.
    pub api_key_variable: Option<String>,
    /// The variable of its environment that holds `base_url`.
    pub base_url_variable: Option<String>,
    /// The argument with which it tells its version and ends; `None`: it is not said, and of a program `--version`.
    pub version: Option<String>,
    /// US dollars that one call may cost: set aside before it, and told to a program that takes such a bound.
    pub max_cost_usd: Option<f64>,
    /// How it is spoken to.
    pub speaks: AgentProtocol,
}

/// How a program that is an agent is spoken to.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentProtocol {
    /// It starts for each prompt, prints its answer and ends (`cli`).
    Print(Box<PrintMode>),
    /// The Agent Client Protocol on its standard input and output (`acp`, <https://agentclientprotocol.com>). The words before what it is told by its arguments.
    Acp(Vec<(PromptOption, Vec<String>)>),
}

/// How a program that ends after each answer is asked, and how its answer is read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrintMode {
    /// The words before the prompt, which is its last argument; `None`: the prompt is on its standard input.
    pub prompt: Option<Vec<String>>,
    /// The words before other things that it may be told.
    pub options: Vec<(PromptOption, Vec<String>)>,
    /// What it prints.
    pub output: AgentOutput,
    /// Where the parts of its answer stand in what it prints, unless that is a text.
    pub answer: AgentAnswer,
}

/// What a program in print mode may be told beside the prompt. The value follows the words; it belongs to the last of them if that ends with `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum PromptOption {
    /// `model` of the model.
    Model,
    /// The agent's instructions; without it they stand before the prompt.
    System,
    /// Each tool that all policies in force allow.
    AllowedTools,
    /// Each tool that a policy in force forbids.
    DisallowedTools,
    /// `max_turns` of the agent.
    MaxTurns,
    /// `max_cost_usd` of the model.
    CostUsd,
    /// No value: it may change nothing (its `writes` are empty).
    ReadOnly,
    /// No value: it may change files (its `writes` are not empty).
    Edit,
    /// No value: it is in flow's sandbox. In place of the two before.
    Sandboxed,
    /// The session that continues.
    Session,
}

impl PromptOption {
    /// The words, in the order in which they are given.
    pub const WORDS: &[&str] = PromptOption::VARIANTS;
}

/// What a program in print mode prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum AgentOutput {
    /// Its answer.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// A JSON object a line; other lines are ignored.
    Jsonl,
}

impl AgentOutput {
    /// The words.
    pub const WORDS: &[&str] = AgentOutput::VARIANTS;
}

/// Where the parts of an answer stand in JSON. Of several places the first that holds a text counts, and numbers are added.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentAnswer {
    /// Its text.
    pub text: Vec<AnswerPlace>,
    /// What it prints when its answer is over; none: nothing tells that.
    pub ended: Vec<AnswerPlace>,
    /// The id by which a later call continues.
    pub session: Vec<AnswerPlace>,
    /// Whether it failed: `true`, or anything that is not empty. It counts whatever the exit code says.
    pub failed: Vec<AnswerPlace>,
    /// Why it failed.
    pub error: Vec<AnswerPlace>,
    /// The model that answered.
    pub model: Vec<AnswerPlace>,
    /// Tokens read.
    pub input_tokens: Vec<AnswerPlace>,
    /// Tokens written.
    pub output_tokens: Vec<AnswerPlace>,
    /// US dollars.
    pub cost_usd: Vec<AnswerPlace>,
    /// Whether tokens and dollars are those of the whole session up to this answer.
    pub cumulative: bool,
    /// Tools that it was not allowed to use: a list of names, or of objects with a name in `tool_name`, `tool` or `name`.
    pub denied: Vec<AnswerPlace>,
}

/// A place in JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPlace {
    /// Names of fields, the outermost first.
    pub path: Vec<String>,
    /// Only of objects in which these places hold these values.
    pub only: Vec<(Vec<String>, Value)>,
    /// Whether all objects count, not the last alone: their texts are joined, their numbers added.
    pub takes_all: bool,
}
