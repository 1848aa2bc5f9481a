//! No text that a model wrote reaches a person or a host unjudged.

use serde_json::json;

use super::sites::{Receiver, Site, chains, of_tool, sites};
use super::{GuaranteeVerdict, WaysFound, told};
use crate::labels::{ChainIx, GatePassage, Labels, judging};
use crate::model::{Approve, Pipeline, PipelineId, Policy, Step, StepKind, Tool, UntrustedAnswer, UntrustedRule, Writer};
use crate::plan::Plan;
use crate::policy::{may_mean, needs_approval};

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    let mut labels = Labels::new(plan);
    let root = labels.root(pipeline);
    let mut found = WaysFound::default();
    let (list, is_whole) = chains(&mut labels, root);
    for chain in list {
        for site in sites(&labels, chain, chain == root) {
            follow(&mut labels, &site, &mut found);
        }
        of_agents(&labels, chain, &mut found);
    }
    if !is_whole {
        let span = plan.pipeline(pipeline).pipeline.name.span;
        found.only_if(span, "the calls beyond the first 1,000 keep it".into(), vec![], "call fewer pipelines in each other".into());
    }
    found.verdict()
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
        if !site.texts.is_empty() {
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
        Some(_) => found.only_if(span, doubts.join(", or "), told(&way), "add a gate for it, and read the output of the gate".into()),
    }
}

/// Tools that a model calls with what it wrote.
fn of_agents(labels: &Labels, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    let pipeline = &planned.pipeline;
    for (ix, step) in planned.numbered_steps() {
        let kind = &step.step.kind;
        let agents = kind.agents_with_tools().into_iter().filter_map(|name| pipeline.agents.get(&name.value));
        let planned_with = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
        for name in agents.flat_map(|agent| &agent.tools).chain(planned_with) {
            let Some((tool, _)) = pipeline.tool(&name.value) else { continue };
            let Some(Receiver::Host(host)) = of_tool(tool, &name.value) else { continue };
            let by = labels.step_words(chain, ix);
            if is_approved(pipeline, tool, &name.value) {
                found.rests_on.push(format!("a person reads what the model of {by} writes for {host}"));
                continue;
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

/// Whether a person is asked before each call.
fn is_approved(pipeline: &Pipeline, tool: &Tool, name: &str) -> bool {
    let parts: Vec<&str> = tool.allowed_names().collect();
    let each = |part: &str| {
        let by_tool = match &tool.approve {
            Approve::Never => false,
            Approve::Always => true,
            Approve::Names(names) => names.iter().any(|own| own == part),
        };
        let policy = pipeline.policy.as_ref().and_then(|name| pipeline.policies.get(&name.value));
        let called = if part.is_empty() || name.contains('.') { name.to_owned() } else { format!("{name}.{part}") };
        by_tool || policy.is_some_and(|policy| needs_approval(policy, &called, &json!({})).is_some() || asks_about_others(policy, &called))
    };
    if parts.is_empty() { each("") } else { parts.into_iter().all(each) }
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
