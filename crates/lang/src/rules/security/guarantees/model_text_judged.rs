//! No text that a model wrote reaches a person or a host unjudged.

use super::sites::{ModelTool, Receiver, Site, look, of_tool, sites, tools_of_models};
use super::{GuaranteeVerdict, WaysFound};
use crate::labels::{ChainIx, GatePassage, Labels, Start, StartFrom, ValueWays, judging};
use crate::model::{Field, Pipeline, PipelineId, Step, StepKind, Tool, ToolKind, ToolName, Writer};
use crate::plan::Plan;
use crate::policy::{always_asks, passes_unasked};

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    let mut ways = ValueWays::new(passage, |source| source.writer == Writer::Model);
    look(plan, pipeline, &mut |labels, chain, is_root, found| {
        for site in sites(labels, chain, is_root) {
            follow(labels, &mut ways, &site, found);
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

fn follow<'p>(labels: &mut Labels<'p>, ways: &mut ValueWays, site: &Site<'p>, found: &mut WaysFound) {
    if let Receiver::File(_) = site.receiver {
        return;
    }
    if site.is_shown {
        return found.rests_on.push(format!("a person reads what {} gives before it goes", site.what));
    }
    // A person was shown it, and said yes.
    let unseen = |start: Start<'p>| match start.from {
        StartFrom::Text(text) if site.step.is_some() => Start { from: StartFrom::Unseen(text), ..start },
        _ => start,
    };
    let starts = site.starts().into_iter().map(unseen).chain(site.opened()).collect();
    let Some(way) = ways.find(labels, starts) else {
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
    match way.doubts.first() {
        None if site.is_judged => {
            let message = format!("words of the person and the author, put together by a model, may go from {} to {whom}", site.what);
            found.only_if(span, message, way.words(), "make sure of it, or add a gate for it, and read the output of the gate".into());
        }
        None => {
            let message = format!("{} gives {whom} what no gate judged: {}", site.what, way.source.words);
            found.breaks(span, message, way.words(), "add a gate for it, and read the output of the gate".into());
        }
        Some(_) => {
            let help = "make sure of it, or add a gate that always judges it, and read the output of that gate";
            found.only_if(span, way.doubts.join(", or "), way.words(), help.into());
        }
    }
}

/// Tools that a model calls with what it wrote.
fn of_agents(labels: &Labels, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    for (ix, step) in planned.numbered_steps() {
        for used in tools_of_models(labels, chain, ix) {
            let Some(Receiver::Host(host)) = of_tool(used.tool, &used.name.value, &used.policies) else { continue };
            let by = labels.step_words(chain, ix);
            let span = used.name.span;
            let way = || vec![(step.step.id.span, format!("the model of {by} calls it"))];
            match looked_at(&used) {
                LookedAt::NoText => found.rests_on.push(format!("the model of {by} only chooses among the author's words for {host}")),
                LookedAt::ByPerson => found.rests_on.push(format!("a person reads each call that the model of {by} makes of {host}")),
                // Words of the person and of the author pass, however a model puts them together.
                LookedAt::UnlessGiven => {
                    let message = format!("words of the person and the author, put together by the model of {by}, may go to {host}");
                    let help = "write approve: true at the tool: then a person reads each call";
                    found.only_if(span, message, way(), help.into());
                }
                LookedAt::ByNobody => {
                    let message = format!("the model of {by} writes what is sent to {host}");
                    let way = [way(), vec![(span, "this tool".to_owned())]].concat();
                    let help = "write approve: true at the tool, or its name in approval_required of the policy; or call it in a step below a gate";
                    found.breaks(span, message, way, help.into());
                }
            }
        }
    }
}

/// Who looks at what a model gives to a tool.
enum LookedAt {
    /// Nobody needs to: a model gives it no text.
    NoText,
    /// A person, before each call.
    ByPerson,
    /// A person, or nobody if the person or the author wrote the words.
    UnlessGiven,
    ByNobody,
}

fn looked_at(used: &ModelTool) -> LookedAt {
    let ModelTool { tool, part, policies, calls, .. } = used;
    let open = open_arguments(tool);
    if open.as_ref().is_some_and(Vec::is_empty) {
        return LookedAt::NoText;
    }
    let by_person = |call: &String| tool.approve.asks(ToolName::parse(call).part) || always_asks(policies, call);
    if calls.iter().all(by_person) {
        return LookedAt::ByPerson;
    }
    let is_effect = tool.may_act(*part);
    let passes = |call: &String| match &open {
        Some(names) => names.iter().any(|name| passes_unasked(policies, call, Some(name), is_effect)),
        None => passes_unasked(policies, call, None, is_effect),
    };
    if calls.iter().all(|call| by_person(call) || !passes(call)) { LookedAt::UnlessGiven } else { LookedAt::ByNobody }
}

/// The arguments that a model gives to a tool which may hold any text; `None`: they are not known before the run.
fn open_arguments(tool: &Tool) -> Option<Vec<&str>> {
    match &tool.kind {
        ToolKind::Http { arguments, .. } | ToolKind::Program { arguments, .. } | ToolKind::Python { arguments, .. } => {
            let is_fixed = |field: &Field| tool.with.iter().any(|(name, _)| name.value == field.name);
            Some(arguments.iter().filter(|field| !field.is_closed() && !is_fixed(field)).map(|field| field.name.as_str()).collect())
        }
        // They reach nobody by themselves, or are not offered to models.
        ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Smtp { .. } => None,
        ToolKind::Server(_) | ToolKind::Broken => None,
    }
}
