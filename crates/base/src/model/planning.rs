//! `plan`: what an author lets an agent plan, and what the agent wrote.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Filling, History, MOST_PLAN_STEPS, MOST_PLANS, Pipeline, Step, Text};
use crate::source::Spanned;

/// `plan`: an agent writes steps, and they are run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanStep {
    /// Who plans.
    pub agent: Spanned<String>,
    /// What it is asked.
    pub prompt: Text,
    /// Agents and tools (`tool`, or `server.tool`) that a plan may use.
    pub may_use: Vec<Spanned<String>>,
    /// Files beside the prompt.
    pub attach: Option<Filling>,
    /// Most steps of one plan (10).
    pub max_steps: Option<u64>,
    /// Most of them at once.
    pub max_parallel: Option<u64>,
    /// Most plans (1).
    pub rounds: Option<u64>,
    /// The agent that says after each plan whether the work is done.
    pub check: Option<Spanned<String>>,
    /// What who plans sees of the conversation.
    pub history: History,
}

impl PlanStep {
    /// Most steps of one plan.
    pub fn most_steps(&self) -> u64 {
        self.max_steps.unwrap_or(MOST_PLAN_STEPS)
    }

    /// Most plans.
    pub fn most_plans(&self) -> u64 {
        self.rounds.unwrap_or(MOST_PLANS)
    }
}

/// A plan as a model wrote it, after its check. Its texts are data, never templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenPlan {
    /// How its steps are run.
    pub strategy: PlanStrategy,
    /// Why, in the model's words.
    pub reasoning: String,
    /// The steps, at least one.
    pub steps: Vec<WrittenStep>,
}

/// How the steps of a plan are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum PlanStrategy {
    /// Each as soon as what it depends on has ended.
    Parallel,
    /// One after the other, in the order of the plan as far as what they depend on allows.
    Sequential,
}

/// One step of a written plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenStep {
    /// Its id.
    pub id: String,
    /// The agent or tool.
    #[serde(rename = "use")]
    pub uses: String,
    /// Arguments of a tool.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// What an agent is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Ids of steps whose outputs it gets: of this plan, or of an earlier one of the same `plan` step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// What a plan may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Usable {
    /// The agent, `tool`, or `server.tool`.
    pub name: String,
    /// What it is for, in a sentence.
    pub about: String,
    /// Of a tool: what it takes. `None`: it is an agent and takes a prompt.
    pub takes: Option<ToolParameters>,
}

/// What a tool takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolParameters {
    /// The JSON Schema of what a plan gives, without what is given otherwise.
    pub schema: Value,
    /// Whether it cannot do without the outputs of other steps (the required input `previous` of a pipeline).
    pub needs_previous: bool,
}

/// What a plan is held to.
#[derive(Debug, Clone, Copy)]
pub struct PlanRules<'a> {
    /// The file it belongs to.
    pub pipeline: &'a Arc<Pipeline>,
    /// The `plan` step.
    pub holder: &'a Step,
    /// What it may use.
    pub usable: &'a [Usable],
    /// Most steps.
    pub most_steps: u64,
    /// Ids of the steps of earlier plans: they may be depended on, and are taken.
    pub earlier: &'a [String],
}
