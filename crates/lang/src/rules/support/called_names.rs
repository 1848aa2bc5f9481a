//! What the calls of a file, and of the pipelines that it calls, are known by in the lists of a policy.

use serde_json::Value;

use super::program_words::base_name;
use crate::model::{Filling, Form, Pipeline, Policy, ProgramCommand, Provider, Step, Tool, ToolName};
use crate::plan::{PipelinePlan, Plan};
use crate::policy::may_mean;
use crate::source::Spanned;

/// Tools and programs by name.
pub(in crate::rules) struct CalledNames<'p> {
    /// The tools of all files.
    pub(in crate::rules) tools: Vec<(&'p str, &'p Tool)>,
    /// The programs that steps start, each with its step.
    pub(in crate::rules) started: Vec<(&'p Step, &'p ProgramCommand)>,
    /// The programs that steps and tools start.
    pub(in crate::rules) programs: Vec<&'p str>,
    /// All steps.
    pub(in crate::rules) steps: Vec<&'p Step>,
    /// Names of tools that agents, models and plans may call.
    offered: Vec<&'p str>,
    /// Whether nothing else calls tools: programs that are models have their own.
    pub(in crate::rules) is_closed: bool,
}

impl<'p> CalledNames<'p> {
    pub(in crate::rules) fn of(plan: &'p Plan) -> CalledNames<'p> {
        let files = || plan.pipelines.iter().map(|pipeline| &pipeline.pipeline);
        let tools: Vec<(&str, &Tool)> = files().flat_map(|file| &file.tools).map(|(name, tool)| (name.as_str(), tool)).collect();
        let steps: Vec<&Step> = plan.pipelines.iter().flat_map(|pipeline| &pipeline.steps).map(|planned| &*planned.step).collect();
        let started: Vec<(&Step, &ProgramCommand)> = steps.iter().filter_map(|step| Some((*step, step.kind.facts().starts?))).collect();
        let of_steps = started.iter().map(|(_, run)| *run);
        let programs =
            of_steps.chain(tools.iter().filter_map(|(_, tool)| tool.kind.starts())).map(|run| run.program.value.as_str()).collect();
        let models = || files().flat_map(|file| file.models.values());
        let of_agents = files().flat_map(|file| file.agents.values()).flat_map(|agent| &agent.tools);
        let of_plans = steps.iter().flat_map(|step| step.kind.facts().may_use);
        let of_models = models().filter_map(|model| model.provider.tool()).map(|own| &own.tool);
        let offered = of_agents.chain(of_plans).chain(of_models).map(|name| name.value.as_str()).collect();
        let is_closed = !models().any(|model| matches!(model.provider, Provider::Program(_)));
        CalledNames { tools, started, programs, steps, offered, is_closed }
    }

    /// Whether a policy is this file's own, so that all calls below it are known: what another file has for which this one offers a policy is not.
    pub(in crate::rules) fn are_of(&self, policy: &Policy, pipeline: &PipelinePlan) -> bool {
        self.is_closed && policy.span.file == pipeline.pipeline.name.span.file && !pipeline.steps.is_empty()
    }

    /// Whether a name may mean a tool or a program.
    pub(in crate::rules) fn may_know(&self, name: &str) -> bool {
        let programs = self.programs.iter().flat_map(|program| [*program, base_name(program)]);
        self.tools.iter().map(|(tool, _)| *tool).chain(programs).any(|known| may_mean(name, known))
    }

    /// The tool that a name means, by itself or by a part of it.
    pub(in crate::rules) fn tool(&self, name: &str) -> Option<(&'p str, &'p Tool)> {
        self.tools.iter().find(|(tool, _)| may_mean(ToolName::parse(name).tool, tool)).copied()
    }

    /// The parts of a tool that are known: what it opens, and what anything here calls.
    pub(in crate::rules) fn parts(&self, tool: &'p str, kind: &'p Tool) -> Vec<&'p str> {
        let called =
            self.steps.iter().filter_map(|step| Some(step.kind.facts().receiver?.value.as_str())).chain(self.offered.iter().copied());
        let of_calls = called.map(ToolName::parse).filter(|name| name.tool == tool).filter_map(|name| name.part);
        let is_plain = |part: &&str| !part.is_empty() && !part.contains(['*', '?', '[', '{', '(']);
        let opened = kind.parts().into_iter().filter(|_| kind.kind.folder().is_some()).map(|part| -> &'p str { part.into() });
        let listed = kind.allowed_names().filter(|_| kind.is_server());
        opened.chain(listed).chain(of_calls).filter(is_plain).collect()
    }

    /// The arguments that steps give a tool, as far as they are written out; each `None` is filled in.
    pub(in crate::rules) fn given(&self, tool: &str) -> impl Iterator<Item = (&'p Step, &'p str, Option<Value>)> {
        self.steps.iter().filter_map(move |step| {
            let receiver = step.kind.facts().receiver.filter(|receiver| ToolName::parse(&receiver.value).tool == tool)?;
            Some((*step, receiver.value.as_str(), fixed_values(step.kind.facts().with)))
        })
    }
}

/// Values that are all written out, as one object.
fn fixed_values(with: &[(Spanned<String>, Filling)]) -> Option<Value> {
    let fixed = |value: &Filling| value.filled(&|text| if text.form == Form::Plain { Ok(Value::from(&*text.source)) } else { Err(()) });
    with.iter()
        .map(|(name, value)| Some((name.value.clone(), fixed(value).ok()?)))
        .collect::<Option<serde_json::Map<_, _>>>()
        .map(Value::Object)
}

/// The folder of a tool as its entries are often begun with: from the project, and from the file.
pub(in crate::rules) fn folder_names(file: &Pipeline, tool: &Tool) -> Vec<String> {
    let Some(folder) = tool.kind.folder() else { return vec![] };
    let names = [&file.project, &file.folder].map(|from| crate::policy::from_project(from, folder));
    names.into_iter().filter(|name| !name.is_empty() && !name.starts_with(['.', '/'])).collect()
}
