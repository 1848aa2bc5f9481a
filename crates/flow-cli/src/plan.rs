//! `flow plan`, and `flow run --dry-run`: shows what would run, and its maximum use. Nothing is started and no socket is opened; only the
//! pipeline's own files and the table of its person are read.

use std::path::Path;

use serde_json::{Map, Value};

use super::arguments::{RunRequest, SharedOptions};
use super::refusal::{Refusal, pipeline};
use super::{Exit, inputs, stdout, tell};
use crate::adapter::clock::SystemClock;
use crate::adapter::data::DataFiles;
use crate::diagnostic::visible;
use crate::driver::{Runtime, find_person};
use crate::engine::{PreviewInputs, check_inputs, known_names, secret_values, with_style};
use crate::model::{
    AGENT_PROGRAM_TIMEOUT, DEFAULT_MODEL, Filling, Limits, MODEL_TIMEOUT, Model, Pipeline, PipelineId, STAGE_TIME, Shape, StepKind, Text,
};
use crate::port::Clock;
use crate::report::graph::words;
use crate::report::planned::{Ask, PlanEntry, PlannedRun, PlannedStage, planned};
use crate::runtime::{Workflow, channel, know_prices, lacking, own_files, settings, told_from_project, world};
use crate::template::{self, KnownNames};
use flow_lang::plan::{self, AgentPart, AgentUse, BlockIx, Elements, PipelineBounds, PipelinePlan, Plan, StepIx};

/// Shows what would run.
pub(super) fn run(wanted: &RunRequest, as_json: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let mut workflow = pipeline(&wanted.file, shared)?;
    let env = shared.variables()?;
    tell::hide_secrets(&secret_values(&workflow.checked.loaded.program, &env));
    let default_model = world::default_model(&env)?;
    let flags = inputs::limits(wanted.deadline.as_deref(), wanted.max_cost_usd)?;
    let settled = settings::read(&workflow.project)?;
    let flags = flags.within(&settled.limits);
    workflow.give_model(settled.model.as_ref());
    let Workflow { checked, pipeline, .. } = &workflow;
    let mut given = preview_inputs(pipeline, wanted)?;
    know_prices(checked, default_model.as_ref().map(|model| (model, "FLOW_MODEL")), &flags)?;
    given.person = person(pipeline, &given, shared)?;
    if let Some(failure) = lacking(checked).filter(|_| !shared.quiet) {
        tell!("a run would not start here: {}", visible(&failure.message));
    }
    let plan = work_out(&checked.plan, &given, default_model.as_ref(), &flags);
    Ok(match as_json {
        true => stdout::print_json(&plan),
        false => stdout::print(&planned(&plan)),
    })
}

/// Reads the inputs from the command line. Missing ones are unknown; invalid ones are rejected as in a run.
fn preview_inputs(pipeline: &Pipeline, wanted: &RunRequest) -> Result<PreviewInputs, Refusal> {
    let (read, beside) = inputs::read(pipeline, wanted.inputs_file.as_deref(), &wanted.inputs)?;
    let read = told_from_project(pipeline, Path::new(""), read);
    let channel = channel(pipeline, wanted.channel.as_deref().or(beside.as_deref()))?;
    let now = wanted.now.as_deref().map(inputs::time).transpose()?.unwrap_or_else(|| SystemClock::new().now());
    let mut lenient = pipeline.clone();
    let mut missing = vec![];
    let inputs = match &mut lenient.inputs {
        Shape::Schema(_) if read.is_empty() => None,
        Shape::Schema(_) => Some(check_inputs(pipeline, read)),
        Shape::Fields(fields) => {
            for field in fields.iter_mut().filter(|field| field.is_required && field.default.is_none() && !read.contains_key(&field.name)) {
                field.is_required = false;
                field.one_of.clear();
                missing.push(field.name.clone());
            }
            Some(check_inputs(&lenient, read))
        }
    };
    let inputs = inputs.transpose().map_err(|problems| Refusal(Exit::Usage, problems))?;
    Ok(PreviewInputs { inputs, missing, channel, person: None, now })
}

/// Returns the person of the run; `None`: it depends on a missing input, or the table cannot be read.
fn person(pipeline: &Pipeline, given: &PreviewInputs, shared: &SharedOptions) -> Result<Option<Map<String, Value>>, Refusal> {
    let (Some(person), Some(inputs)) = (&pipeline.person, &given.inputs) else {
        return Ok(pipeline.person.is_none().then(Map::new));
    };
    let known = known_names(pipeline, given);
    let is_open = |text: &Text| template::fill_known(text, &known).map_or(true, |(_, value)| value.is_none());
    let mut hangs = false;
    person.each_text(pipeline.name.span, &mut |authored| hangs |= authored.text().is_some_and(is_open));
    if hangs {
        return Ok(None);
    }
    let runtime = Runtime::new().map_err(|e| refusal!(Failed, "flow cannot start: {e}"))?;
    let data = DataFiles::keeping(own_files(&pipeline.project, None, shared.env_file.as_deref(), None)?);
    let found = runtime.block_on(find_person(pipeline, inputs, &data)).map_err(|error| Refusal::usage(visible(&error.to_string())))?;
    match found.failure {
        None => Ok(Some(found.fields)),
        Some(failure) => {
            note!(shared, "{}", visible(&failure.message));
            Ok(None)
        }
    }
}

fn work_out(plan: &Plan, given: &PreviewInputs, default_model: Option<&Model>, flags: &Limits) -> PlannedRun {
    let root = &plan.pipelines[0];
    let known = known_names(&root.pipeline, given);
    let length = |_: StepIx, list: &Filling| match list {
        Filling::Text(text) => {
            let (_, value) = template::fill_known(text, &known).ok()?;
            template::to_json(&value?).ok()?.as_array().map(|list| list.len() as u64)
        }
        _ => None,
    };
    let bounds = plan::bounds(plan, default_model, &length);
    let own = root.pipeline.bounds();
    let limits = own.within(flags);
    let calls = &bounds[0].calls;
    let after = [root.on_failure, root.finally].into_iter().flatten().count() as u64;
    let input = |name: &str| given.inputs.as_ref().and_then(|inputs| inputs.get(name)).filter(|_| !given.missing.iter().any(|m| m == name));
    let names: Vec<String> = match &root.pipeline.inputs {
        Shape::Fields(fields) => fields.iter().map(|field| field.name.clone()).collect(),
        Shape::Schema(_) => given.inputs.iter().flat_map(|inputs| inputs.keys().cloned()).collect(),
    };
    PlannedRun {
        pipeline: root.pipeline.name.value.clone(),
        inputs: names.into_iter().map(|name| (name.clone(), input(&name).cloned())).collect(),
        channel: given.channel.clone(),
        conversation: root.pipeline.conversation.as_ref().map(|own| {
            let bound = own.max_tokens.map(|most| format!(" and {most} tokens")).unwrap_or_default();
            format!("at most {} earlier messages{bound}", own.keep)
        }),
        now: given.now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        stages: stages(plan, root),
        asks: asks(plan, &bounds, given, default_model),
        with_pipelines: with_pipelines(plan, &bounds[0]),
        model_calls: calls.calls,
        open_calls: calls.open.iter().map(|open| (open.calls, open.of.clone())).collect(),
        tokens: plan::tokens(calls, &limits, plan::asks_programs(plan, &bounds, default_model)),
        cost: plan::cost(plan, &bounds, default_model, &limits),
        deadline_ms: limits.deadline.map(|deadline| deadline.as_millis() as u64),
        more_ms: after * STAGE_TIME.as_millis() as u64,
        try_ms: longest_try(plan, default_model),
    }
}

/// Returns the steps of the first pipeline that run other pipelines.
fn with_pipelines(plan: &Plan, bounds: &PipelineBounds) -> Vec<(String, Vec<String>, u64)> {
    let name = |id: &PipelineId| plan.pipeline(*id).pipeline.name.value.clone();
    let step = |step: &plan::StepBounds| (plan.pipelines[0].path(step.step), step.called.iter().map(name).collect(), step.calls.calls);
    bounds.steps.iter().filter(|step| !step.called.is_empty() && step.calls.open.is_empty()).map(step).collect()
}

fn longest_try(plan: &Plan, default_model: Option<&Model>) -> u64 {
    let models = plan.pipelines.iter().flat_map(|planned| planned.pipeline.models.values()).chain(default_model);
    let of_models = models.filter_map(|model| model.timeout.or(model.provider.program().map(|_| AGENT_PROGRAM_TIMEOUT)));
    of_models.chain([MODEL_TIMEOUT]).max().unwrap_or(MODEL_TIMEOUT).as_millis() as u64
}

fn stages(plan: &Plan, root: &PipelinePlan) -> Vec<PlannedStage> {
    let own = [
        Some(("steps", "", root.main)),
        root.on_failure.map(|block| ("on_failure", "if the run fails", block)),
        root.finally.map(|block| ("finally", "at the end, however the run ended", block)),
    ];
    let stage =
        |(name, when, block): (&str, &str, BlockIx)| PlannedStage { name: name.into(), when: when.into(), waves: waves(plan, root, block) };
    own.into_iter().flatten().map(stage).collect()
}

fn waves(plan: &Plan, planned: &PipelinePlan, block_ix: BlockIx) -> Vec<Vec<PlanEntry>> {
    let block = planned.block(block_ix);
    let start = |place: usize| {
        let ix = StepIx(block.first.0 + place as u32);
        let step = &planned.step(ix).step;
        let mut only_if: Vec<String> = vec![];
        only_if.extend(block.is_stand_in(place).then(|| "only if the step it stands in for fails".to_string()));
        only_if.extend(step.when.as_ref().map(|when| format!("only if {}", words::source(when))));
        only_if.extend(step.for_each.as_ref().map(words::elements));
        PlanEntry { what: words::what(plan, planned, step), only_if, cases: cases(plan, planned, ix), step: planned.path(ix) }
    };
    block.waves().into_iter().map(|wave| wave.into_iter().map(start).collect()).collect()
}

fn cases(plan: &Plan, planned: &PipelinePlan, ix: StepIx) -> Vec<PlannedStage> {
    let found = planned.step(ix);
    let stage = |(case, block): (&crate::model::Case, &BlockIx)| {
        let when = words::condition(&found.step.kind, case);
        PlannedStage { name: case.id.value.clone(), when, waves: waves(plan, planned, *block) }
    };
    found.step.kind.cases().zip(&found.cases).map(stage).collect()
}

/// Returns all model calls: those of the pipeline itself, then those of called pipelines.
fn asks(plan: &Plan, bounds: &[PipelineBounds], given: &PreviewInputs, default_model: Option<&Model>) -> Vec<Ask> {
    let mut found = vec![];
    for (at, (planned, bounds)) in plan.pipelines.iter().zip(bounds).enumerate() {
        let pipeline = &planned.pipeline;
        let known = match at {
            0 => known_names(pipeline, given),
            // Its inputs are known only during the run.
            _ => {
                let person = given.person.clone().filter(|_| pipeline.person.is_none());
                let first = pipeline.channels.first().map(|channel| channel.name.clone());
                let listed = given.channel.clone().filter(|name| pipeline.channels.iter().any(|channel| channel.name == *name));
                known_names(pipeline, &PreviewInputs { inputs: None, missing: vec![], channel: listed.or(first), person, now: given.now })
            }
        };
        let named = given.channel.as_ref().and_then(|name| pipeline.channels.iter().find(|channel| channel.name == *name));
        let channel = named.or(pipeline.channels.first());
        let called = (at > 0).then(|| pipeline.name.value.clone());
        for step in &bounds.steps {
            for asking in &step.askings {
                let path = planned.path(step.step);
                let model = |name: &str| default_model.filter(|_| name == DEFAULT_MODEL).or_else(|| pipeline.models.get(name));
                let answer_tokens =
                    plan::most_set_aside(planned, &planned.step(step.step).step, asking, channel.map(|channel| &**channel), &model);
                found.push(Ask { pipeline: called.clone(), answer_tokens, ..ask(planned, step, asking, path, &known) });
            }
        }
    }
    found
}

fn ask(planned: &PipelinePlan, bounds: &plan::StepBounds, asking: &AgentUse, step: String, known: &KnownNames) -> Ask {
    let agent = planned.pipeline.agents.get(&asking.agent);
    let own = agent.and_then(|agent| agent.style_guide.as_deref()).map(|style| with_style(known, style));
    let known = own.as_ref().unwrap_or(known);
    let fill = |text: &Text| template::fill_known(text, known).map_or_else(|error| format!("⟨{}⟩", error.message), |(text, _)| text);
    let kind = &planned.step(bounds.step).step.kind;
    let prompt = if let StepKind::Agent(asked) = kind {
        Some(fill(&asked.prompt))
    } else if let StepKind::Plan(plan) = kind
        && asking.part == AgentPart::Plans
    {
        Some(fill(&plan.prompt))
    } else if let StepKind::Task(task) = kind
        && !asking.judges
    {
        Some(fill(&task.prompt))
    } else if let StepKind::Dialogue(dialogue) = kind
        && !asking.judges
    {
        Some(fill(&dialogue.topic))
    } else {
        None
    };
    let (known, mut lists) = bounds.around.clone();
    let own = match &bounds.elements {
        Elements::One => None,
        Elements::Known(count) => Some(*count),
        Elements::Open(list) => {
            lists.push(list.clone());
            None
        }
    };
    let elements = own.map(|own| known.saturating_mul(own)).or((known > 1).then_some(known));
    let calls = [bounds.rounds, bounds.repeats, bounds.restarts, elements.unwrap_or(1)]
        .iter()
        .fold(asking.calls(), |calls, factor| calls.saturating_mul(*factor));
    Ask {
        step,
        pipeline: None,
        asking: asking.clone(),
        rounds: bounds.rounds,
        repeats: bounds.repeats,
        restarts: bounds.restarts,
        elements,
        for_each: (!lists.is_empty()).then(|| lists.join(", and of ")),
        calls,
        answer_tokens: 0,
        instructions: agent.and_then(|agent| agent.instructions.as_ref()).map(fill),
        prompt,
    }
}
