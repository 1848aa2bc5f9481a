//! F614: code that a model writes, under a policy that lets programs run without a sandbox.

use crate::model::{ArtefactKind, SandboxMode, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Task(task) = &step.kind else { continue };
        // What a template gives may be another word.
        if task.fixed_artefact() != Some(ArtefactKind::Python) {
            continue;
        }
        let of_agent = file.agents.get(&task.agent.value).and_then(|agent| agent.policy.as_ref());
        let in_force = of_agent.into_iter().chain(&file.policy).filter_map(|name| file.policies.get_key_value(&name.value));
        for (name, policy) in in_force {
            let word = match policy.sandbox {
                Some(SandboxMode::None) => "none",
                Some(SandboxMode::Preferred) => "preferred",
                Some(SandboxMode::Required) | None => continue,
            };
            let (id, policy_name) = (quoted(&step.id.value), quoted(name));
            let message = format!("task {id} runs code of a model, and policy {policy_name} says sandbox: {word}");
            out.push(
                finding(Code::NoSandbox, task.artefact.place.span, &message)
                    .related(policy.span, "write sandbox: required in this policy")
                    .help("write sandbox: required in the policy, or give the agent of the task a policy of its own"),
            );
        }
    }
}
