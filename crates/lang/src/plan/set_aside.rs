//! The tokens that a call of a model sets aside for its answer before it begins, so that a budget holds whatever the answer is.

use super::{AgentPart, AgentUse, PipelinePlan};
use crate::model::{ANSWER_TOKENS, Channel, FormatStep, Model, REPLY_TOKENS, Reasoning, SUMMARY_STEP, Step, StepKind, UNBOUNDED_ANSWER};

/// The most tokens of a text that a `format` step fits to its channel, `None`: no such step reads the output of this one. In most languages a token has
/// more than two characters. `channel` is the one of the run.
pub fn reply_tokens(planned: &PipelinePlan, step: &Step, channel: Option<&Channel>) -> Option<u64> {
    let reads = |format: &&FormatStep| format.text.reads.iter().any(|read| read.path.get(1) == Some(&step.id.value));
    let mut formats =
        planned.steps.iter().filter_map(|step| if let StepKind::Format(format) = &step.step.kind { Some(format) } else { None });
    let channel = formats.find(reads)?.channel.as_deref().or(channel)?;
    let parts = channel.split.as_ref().map_or(1, |split| split.most_parts);
    let (least, most) = REPLY_TOKENS;
    Some((channel.max_length?.saturating_mul(parts) / 2).clamp(least, most))
}

/// What a call sets aside for its answer: the `max_output_tokens` of its model, with the tokens it may think, else what bounds answers of this kind
/// (`own`), else a fixed number. A program that is an agent is told no bound; a tool that answers as a model uses none.
pub fn answer_set_aside(model: Option<&Model>, own: Option<u64>) -> u64 {
    let Some(model) = model else { return own.unwrap_or(UNBOUNDED_ANSWER) };
    if model.provider.tool().is_some() {
        return 0;
    }
    if model.provider.program().is_some() {
        return UNBOUNDED_ANSWER;
    }
    let thoughts = if let Some(Reasoning::Budget(most)) = model.endpoint.reasoning { most } else { 0 };
    thoughts.saturating_add(model.max_output_tokens.or(own).unwrap_or(UNBOUNDED_ANSWER))
}

/// What each call of an agent sets aside for its answer at least, where its step, the channel and the model of the file say so. `None`: a model is not
/// in the file.
pub(crate) fn least_set_aside(planned: &PipelinePlan, step: &Step, asking: &AgentUse) -> Option<u64> {
    let channels = planned.pipeline.channels.iter().map(|channel| Some(&**channel)).chain([None]);
    let own = channels.map(|channel| own_bound(planned, step, asking, channel).unwrap_or(UNBOUNDED_ANSWER)).min();
    let models = asking.models.iter().map(|(name, _)| planned.pipeline.models.get(name).map(|model| answer_set_aside(Some(model), own)));
    models.collect::<Option<Vec<u64>>>()?.into_iter().min()
}

/// What each call of an agent sets aside for its answer at most. `model` gives the models that are asked.
pub fn most_set_aside<'m>(
    planned: &PipelinePlan,
    step: &Step,
    asking: &AgentUse,
    channel: Option<&Channel>,
    model: &dyn Fn(&str) -> Option<&'m Model>,
) -> u64 {
    let own = own_bound(planned, step, asking, channel);
    asking.models.iter().map(|(name, _)| answer_set_aside(model(name), own)).max().unwrap_or(UNBOUNDED_ANSWER)
}

/// What bounds an answer whose model has no bound.
fn own_bound(planned: &PipelinePlan, step: &Step, asking: &AgentUse, channel: Option<&Channel>) -> Option<u64> {
    let is_summary = step.id.value == SUMMARY_STEP;
    match asking.part {
        _ if asking.judges || is_summary => Some(ANSWER_TOKENS),
        AgentPart::Plans | AgentPart::Checks => Some(ANSWER_TOKENS),
        AgentPart::Planned => None,
        AgentPart::Own | AgentPart::Turns => {
            let asked = if let StepKind::Agent(asked) = &step.kind { Some(asked) } else { None };
            let of_agent = || planned.pipeline.agents.get(&asking.agent).is_some_and(|agent| agent.output.is_some());
            let has_shape = asked.is_some_and(|asked| asked.output.is_some() || of_agent());
            if has_shape { None } else { reply_tokens(planned, step, channel) }
        }
    }
}
