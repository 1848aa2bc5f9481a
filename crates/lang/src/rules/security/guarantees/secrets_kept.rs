//! No secret reaches a host that the file does not name.

use std::collections::HashSet;

use super::super::secret_to_open_host::{carried, is_secret, named_by, outgoing};
use super::sites::{LoosePrograms, look};
use super::{GuaranteeVerdict, WaysFound};
use crate::labels::{ChainIx, Labels};
use crate::model::{HostSource, Model, PipelineId, ProgramNetwork, Read, StartedBy, Text, ToolKind};
use crate::plan::{PipelinePlan, Plan, StepIx};
use crate::policy::may_carry_secret;

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    look(plan, pipeline, &mut |labels, chain, _, found| {
        let planned = labels.pipeline(chain);
        to_hosts(planned, found);
        to_programs(labels, chain, found);
        to_tools(planned, found);
    })
}

fn to_hosts(planned: &PipelinePlan, found: &mut WaysFound) {
    let file = &planned.pipeline;
    let policy = file.policy.as_ref().and_then(|name| file.policies.get(&name.value));
    for outgoing in outgoing(planned) {
        for secret in carried(&outgoing) {
            let name = secret.path.join(".");
            let address = &outgoing.address.source;
            match named_by(planned, &outgoing) {
                None => found.rests_on.push(format!("{name} goes to {address} alone")),
                Some((HostSource::File | HostSource::Environment, by)) => {
                    found.rests_on.push(format!("{name} goes to the host of {by} alone"))
                }
                Some((source, by)) if may_carry_secret(policy, source) => {
                    found.rests_on.push(format!("{name} goes to the host of {by} alone, which the policy must list"));
                }
                Some((HostSource::Input | HostSource::Data, by)) => {
                    let way = vec![(outgoing.address.place.span, format!("{by} names the host"))];
                    let message = format!("{name} is sent to a host that {by} names");
                    found.breaks(
                        secret.span,
                        message,
                        way,
                        "write the host in the address, or list the hosts in network_access.hosts of the file's policy".into(),
                    );
                }
            }
        }
    }
}

/// Programs that hold a secret: what is not shut in may send it anywhere.
fn to_programs(labels: &Labels, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    let (mut loose, mut heard) = (None, None);
    for command in planned.pipeline.commands() {
        let given = command.args.iter().chain(command.env.iter().map(|(_, text)| text));
        let of_run = command.run.into_iter().flat_map(|run| run.texts());
        // The key and the address of a model go into its environment.
        let of_model = match command.by {
            StartedBy::Model => planned.pipeline.models.get(command.who).map(Model::texts).unwrap_or_default(),
            StartedBy::Step | StartedBy::Tool | StartedBy::Server => vec![],
        };
        let secrets: Vec<&Read> =
            given.chain(of_run).chain(of_model).flat_map(|text: &Text| &text.reads).filter(|read| is_secret(read)).collect();
        let Some(secret) = secrets.first() else { continue };
        let (name, program) = (secret.path.join("."), &command.program.value);
        let by = format!("{} {}", command.by.section(), command.who);
        if command.run.is_some() && loose.get_or_insert_with(|| LoosePrograms::new(labels, chain)).has(&command) {
            let message = format!("{program} of {by} has {name}, and may run without a sandbox, which lets it reach every host");
            let help = "write sandbox: required in the policy, or give the secret in a header of a request";
            found.breaks(secret.span, message, vec![], help.into());
            continue;
        }
        // What it prints or writes may have the secret in another form, which nothing would mask.
        let is_heard = match command.by {
            StartedBy::Step => {
                let is_called = labels.caller(chain).is_some();
                is_called
                    || command.run.is_some_and(|run| !run.writes.is_empty())
                    || heard.get_or_insert_with(|| heard_steps(planned)).contains(command.who)
            }
            StartedBy::Tool | StartedBy::Server | StartedBy::Model => command.run.is_some(),
        };
        if is_heard && command.run.is_some_and(|run| run.network != ProgramNetwork::All) {
            let message = format!("{program} of {by} keeps {name} to itself: what it prints or writes has it in no other form");
            found.only_if(secret.span, message, vec![], "make sure of it, or give the secret in a header of a request".into());
        }
        match command.run.map(|run| &run.network) {
            Some(ProgramNetwork::None) => found.rests_on.push(format!("{program} of {by} has {name} and no network")),
            Some(ProgramNetwork::Hosts(hosts)) => {
                let hosts: Vec<&str> = hosts.iter().map(|host| host.value.as_str()).collect();
                found.rests_on.push(format!("{program} of {by} has {name} and reaches {} alone", hosts.join(", ")));
            }
            Some(ProgramNetwork::All) => {
                let message = format!("{program} of {by} has {name} and reaches every host");
                found.breaks(secret.span, message, vec![], "list the hosts that it needs in network".into());
            }
            None => {
                let message = format!("{program} of {by}, which has {name} and is not shut in, sends it nowhere else");
                found.only_if(
                    secret.span,
                    message,
                    vec![],
                    "run it as a program with network: [hosts], or reach the server by its url".into(),
                );
            }
        }
    }
}

/// The ids of steps of which a text reads more than the status, or of one around them, or what a failure says, of whichever step.
fn heard_steps(planned: &PipelinePlan) -> HashSet<&str> {
    let (mut named, mut is_any) = (HashSet::new(), false);
    planned.pipeline.each_text(&mut |authored| {
        for read in authored.text().map_or(&[][..], |text| &text.reads) {
            match read.path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["steps", _, "status", ..] | ["failure", "step" | "kind", ..] | [] => {}
                ["steps", id, ..] => {
                    named.insert(id);
                }
                [name, ..] => is_any |= matches!(name, "steps" | "failure" | "previous"),
            }
        }
    });
    let is_heard = |ix: StepIx| is_any || planned.around(ix).any(|around| named.contains(planned.step(around).step.id.as_str()));
    planned.numbered_steps().filter(|(ix, _)| is_heard(*ix)).map(|(_, step)| step.step.id.as_str()).collect()
}

/// Tools that get a secret as an argument, or run with one, and can give it back in another form, which nothing would mask.
fn to_tools(planned: &PipelinePlan, found: &mut WaysFound) {
    for (name, tool) in &planned.pipeline.tools {
        let may_give_back = match &tool.kind {
            ToolKind::Python { .. } | ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Program { .. } | ToolKind::Server(_) => true,
            // Who gets it in a request has it; what it answers is masked where it has the secret as it is.
            ToolKind::Http { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Smtp { .. } | ToolKind::Broken => false,
        };
        let fixed = tool.with.iter().flat_map(|(_, value)| value.texts()).flat_map(|text| &text.reads);
        let secret = fixed.into_iter().find(|read| is_secret(read)).filter(|_| may_give_back);
        if let Some(secret) = secret {
            let message =
                format!("tool {name} keeps {} to itself: neither its result nor a file has it in another form", secret.path.join("."));
            found.only_if(secret.span, message, vec![], "make sure of it, or give the secret in a header of a request".into());
        }
    }
}
