//! F613: hosts that a program which is an agent reaches, and a policy in force for it does not list: its first prompt fails.

use std::collections::HashSet;
use std::path::PathBuf;

use super::outside_policy::{host_help, need_help, new_finding, refused_host};
use crate::policy::CallNeed;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let mut seen = HashSet::new();
    for name in pipeline.steps.iter().flat_map(|planned| planned.step.kind.agents(file)) {
        let Some(agent) = file.agents.get(&name.value).filter(|_| seen.insert(name.value.as_str())) else { continue };
        let Some(model) = file.models.get(agent.model_name()) else { continue };
        let Some(program) = model.provider.program() else { continue };
        let folder = program.folder.as_ref().map_or(&file.folder, |folder| &folder.value);
        let reads = [folder].into_iter().chain(program.reads.iter().map(|place| &place.value)).map(PathBuf::as_path);
        let needs = CallNeed::of_folders(&program.run, reads, &file.project);
        let denying = |policy| Some((policy, needs.iter().find(|need| need.is_denied(&[policy]))?));
        let denied = file.policies_of(Some(agent)).find_map(denying);
        if let Some(((of, policy), need)) = denied {
            let message = format!("the program of agent {} is {need}, which policy {} does not allow", quoted(&name.value), quoted(of));
            let (entry, place) = need_help(need, policy);
            let help = format!("write {entry} in the policy, or name another folder in the model");
            out.push(new_finding(model.span, &message).related(place, "this policy is to allow it").help(help));
        }
        let refusing = |policy| Some((policy, refused_host(&program.run.network, model.span, policy)?));
        let Some(((of, policy), (span, what))) = file.policies_of(Some(agent)).find_map(refusing) else { continue };
        let message = format!("the program of agent {} reaches {what}, which policy {} does not allow", quoted(&name.value), quoted(of));
        out.push(new_finding(span, &message).related(policy.span, "this policy is to allow it").help(host_help(&what, policy)));
    }
}
