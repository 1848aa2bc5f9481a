//! No text that a model wrote reaches a person or a host unjudged.

use serde_json::json;

use super::sites::{Receiver, Site, look, of_tool, sites, tools_of_models};
use super::{GuaranteeVerdict, WaysFound, told};
use crate::labels::{ChainIx, GatePassage, Labels, judging};
use crate::model::{Approve, Pipeline, PipelineId, Policy, Step, StepKind, Tool, UntrustedAnswer, UntrustedRule, Writer};
use crate::plan::Plan;
use crate::policy::{may_mean, needs_approval};

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    look(plan, pipeline, &mut |labels, chain, is_root, found| {
        for site in sites(labels, chain, is_root) {
            follow(labels, &site, found);
        }
        of_agents(labels, chain, found);
    })
}

/// What judges a value on its way.
fn passage(step: &Step, pipeline: &Pipeline) -> GatePassage {
    if let StepKind::Gate(gate) = &step.kind {
        return judging(gate, pipeline, &format!("gate {}", step.id.value));
    }
    // A person reads the text and says yes.
    if let StepKind::Approval(_) = &step.kind { GatePassage::Shut } else { GatePassage::Open }
}

fn follow(labels: &mut Labels, site: &Site, found: &mut WaysFound) {
    if let Receiver::File(_) = site.receiver {
        return;
    }
    let Some(way) = labels.way(site.starts(), &passage, &mut |source| source.writer == Writer::Model) else {
        if site.texts.iter().any(|text| !text.reads.is_empty()) {
            found.rests_on.push(format!("what {} gives was judged, or no model wrote it", site.what));
        }
        return;
    };
    let span = way.hops.first().map_or(way.source.span, |hop| hop.span);
    let whom = match &site.receiver {
        Receiver::Person => "a person".to_owned(),
        Receiver::Host(host) | Receiver::File(host) => host.clone(),
    };
    let doubts: Vec<&str> = way.doubts().collect();
    match doubts.first() {
        None => {
            let message = format!("{} gives {whom} what no gate judged: {}", site.what, way.source.words);
            found.breaks(span, message, told(&way), "add a gate for it, and read the output of the gate".into());
        }
        Some(_) => {
            let help = "make sure of it, or add a gate that always judges it, and read the output of that gate";
            found.only_if(span, doubts.join(", or "), told(&way), help.into());
        }
    }
}

/// Tools that a model calls with what it wrote.
fn of_agents(labels: &Labels, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    let pipeline = &planned.pipeline;
    for (ix, step) in planned.numbered_steps() {
        let kind = &step.step.kind;
        for name in tools_of_models(pipeline, kind) {
            let Some((tool, _)) = pipeline.tool(&name.value) else { continue };
            let Some(Receiver::Host(host)) = of_tool(tool, &name.value) else { continue };
            let by = labels.step_words(chain, ix);
            match looked_at(pipeline, tool, &name.value) {
                LookedAt::ByPerson => {
                    found.rests_on.push(format!("a person reads each call that the model of {by} makes of {host}"));
                    continue;
                }
                // Words of the person and of the author pass, however a model puts them together.
                LookedAt::UnlessGiven => {
                    let message = format!("words of the person and the author, put together by the model of {by}, may go to {host}");
                    let way = vec![(step.step.id.span, format!("the model of {by} calls it"))];
                    found.only_if(name.span, message, way, "write approve: true at the tool: then a person reads each call".into());
                    continue;
                }
                LookedAt::ByNobody => {}
            }
            let message = format!("the model of {by} writes what is sent to {host}");
            let way = vec![(step.step.id.span, format!("the model of {by} calls it")), (name.span, "this tool".to_owned())];
            found.breaks(
                name.span,
                message,
                way,
                "write approve: true at the tool, or its name in approval_required of the policy; or call it in a step below a gate".into(),
            );
        }
    }
}

/// Who looks at what a model gives to a tool.
enum LookedAt {
    /// A person, before each call; or no call is made.
    ByPerson,
    /// A person, or nobody if the person or the author wrote the words.
    UnlessGiven,
    ByNobody,
}

fn looked_at(pipeline: &Pipeline, tool: &Tool, name: &str) -> LookedAt {
    let parts: Vec<&str> = tool.allowed_names().collect();
    let policy = pipeline.policy.as_ref().and_then(|name| pipeline.policies.get(&name.value));
    let called = |part: &str| if part.is_empty() || name.contains('.') { name.to_owned() } else { format!("{name}.{part}") };
    let by_person = |part: &str| {
        let by_tool = match &tool.approve {
            Approve::Never => false,
            Approve::Always => true,
            Approve::Names(names) => names.iter().any(|own| own == part),
        };
        by_tool || policy.is_some_and(|policy| needs_approval(policy, &called(part), &json!({})).is_some())
    };
    let parts = if parts.is_empty() { vec![""] } else { parts };
    if parts.iter().all(|part| by_person(part)) {
        return LookedAt::ByPerson;
    }
    let asks = |part: &&str| by_person(part) || policy.is_some_and(|policy| asks_about_others(policy, &called(part)));
    if parts.iter().all(asks) { LookedAt::UnlessGiven } else { LookedAt::ByNobody }
}

/// Whether a policy lets no argument of this tool through that a model wrote, unless a person said so or wrote it.
fn asks_about_others(policy: &Policy, tool: &str) -> bool {
    let is_open = |rule: &UntrustedRule| {
        let fits = rule.of.value == UntrustedRule::OTHERWISE || rule.class().is_some() || may_mean(&rule.of.value, tool);
        fits && rule.answer == UntrustedAnswer::Allow
    };
    let whole = policy.untrusted.iter().any(|rule| rule.of.value == UntrustedRule::OTHERWISE);
    whole && !policy.untrusted.iter().any(is_open)
}
