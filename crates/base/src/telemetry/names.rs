//! Names of the semantic conventions for generative AI (github.com/open-telemetry/semantic-conventions-genai, 2026, status "development"; what is not
//! about AI: github.com/open-telemetry/semantic-conventions 1.42), and flow's own. They stand here alone.

use strum::VariantArray;

use crate::model::{Purpose, WireFormat};
use crate::port::Metric;

/// Of the telemetry itself.
pub const SCOPE: &str = "flow";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const TEMPERATURE: &str = "gen_ai.request.temperature";
pub(super) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(super) const SEED: &str = "gen_ai.request.seed";
pub(super) const OUTPUT_TYPE: &str = "gen_ai.output.type";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(super) const EVALUATION: &str = "gen_ai.evaluation.result";
pub(super) const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
pub(super) const EVALUATION_LABEL: &str = "gen_ai.evaluation.score.label";
pub(super) const EVALUATION_VALUE: &str = "gen_ai.evaluation.score.value";
pub(super) const EVALUATION_WHY: &str = "gen_ai.evaluation.explanation";
pub(super) const SERVER_ADDRESS: &str = "server.address";
pub(super) const SERVER_PORT: &str = "server.port";
pub(super) const MCP_METHOD: &str = "mcp.method.name";
pub(super) const MCP_VERSION: &str = "mcp.protocol.version";
pub(super) const ERROR: &str = "error.type";

pub(super) const CHAT: &str = "chat";
pub(super) const INVOKE_WORKFLOW: &str = "invoke_workflow";
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
pub(super) const PLAN: &str = "plan";
pub(super) const LIST_TOOLS: &str = "tools/list";
/// What no model said but a file.
pub(super) const SCRIPTED: &str = "scripted";
/// The provider of a program that is an agent.
pub(super) const PROGRAM: &str = "program";

pub(super) const RUN: &str = "flow.run.id";
pub(super) const ORIGIN: &str = "flow.run.origin";
pub(super) const RUN_STATUS: &str = "flow.run.status";
pub(super) const STEP: &str = "flow.step.path";
pub(super) const STEP_STATUS: &str = "flow.step.status";
pub(super) const ATTEMPT: &str = "flow.attempt";
pub(super) const ROUND: &str = "flow.round";
pub(super) const PURPOSE: &str = "flow.model.purpose";
pub(super) const MODEL: &str = "flow.model.name";
pub(super) const COST: &str = "flow.usage.cost_usd";
pub(super) const SERVER: &str = "flow.server.name";
pub(super) const TRY_FAILED: &str = "flow.attempt.failed";
pub(super) const REFINED: &str = "flow.refinement.started";
pub(super) const RESUMED: &str = "flow.run.resumed";
pub(super) const SCORECARD: &str = "flow.scorecard.name";

/// Why a call has no end in the events: the process that made it ended.
pub(super) const LOST: &str = "lost";
/// Why planning has no plan: it did not pass its check.
pub(super) const PLAN_REJECTED: &str = "plan_rejected";

/// The operation of an agent that is asked for this.
pub(super) fn operation(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Plan => PLAN,
        Purpose::Turn | Purpose::Repair | Purpose::Judge | Purpose::Check => INVOKE_AGENT,
    }
}

/// The provider whose format an endpoint speaks.
pub(super) fn provider(wire: Option<WireFormat>, is_program: bool) -> &'static str {
    match wire {
        Some(WireFormat::OpenAiChat | WireFormat::OpenAiResponses) => "openai",
        Some(WireFormat::AnthropicMessages) => "anthropic",
        Some(WireFormat::Recorded) => "recorded",
        None if is_program => PROGRAM,
        None => SCRIPTED,
    }
}

/// All metrics.
pub fn metrics() -> impl Iterator<Item = Metric> {
    Metric::VARIANTS.iter().copied()
}

/// Name, unit, description and the bounds of the buckets of a metric.
pub fn instrument(metric: Metric) -> (&'static str, &'static str, &'static str, &'static [f64]) {
    const CALL: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
    const AGENT: &[f64] = &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
    const WORKFLOW: &[f64] = &[1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0];
    #[rustfmt::skip]
    const TOKENS: &[f64] = &[
        1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0, 16_777_216.0, 67_108_864.0,
    ];
    match metric {
        Metric::OperationDuration => ("gen_ai.client.operation.duration", "s", "GenAI operation duration.", CALL),
        Metric::TokenUsage => ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", TOKENS),
        Metric::WorkflowDuration => ("gen_ai.workflow.duration", "s", "GenAI workflow duration.", WORKFLOW),
        Metric::AgentDuration => ("gen_ai.invoke_agent.duration", "s", "The end-to-end duration of a single agent invocation.", AGENT),
        Metric::ToolDuration => ("gen_ai.execute_tool.duration", "s", "The duration of a single tool execution.", CALL),
    }
}
