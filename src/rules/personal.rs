//! Personal data on its way: unmarked (F605), in logs (F606), to others (F607).
//!
//! It flows from inputs and columns with `pii: true`, and from `person` (but `id`, `language`, `time_zone`), through steps marked
//! `pii: true`. An unmarked reader is reported once and the flow ends there; a check `pii: none` ends it too.

use std::collections::HashSet;

use super::giving::{Gives, gives, output_of};
use super::personal_columns;
use super::personal_sources::{Element, Sources};
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Filling, Outputs, Pipeline, Read, StepKind, Text, ToolKind};
use crate::plan::{PipelinePlan, Plan, PlannedStep};

/// The first read of these texts whose personal data ends up in what they give, and its name.
fn first<'p>(sources: &Sources, planned: &PlannedStep, texts: &[&'p Text], least: Gives) -> Option<(&'p Read, String)> {
    let element = Element::of(planned);
    for text in texts {
        let mut asked = HashSet::new();
        for read in text.reads.iter().filter(|read| asked.insert(&read.path)) {
            if let Some(name) = sources.named(&element, read).filter(|_| gives(text, read) >= least) {
                return Some((read, name));
            }
        }
    }
    None
}

fn all(pairs: &[(crate::source::Spanned<String>, Filling)]) -> Vec<&Text> {
    pairs.iter().flat_map(|(_, value)| value.texts()).collect()
}

/// The texts of a step whose values may be part of its output.
fn inflow<'p>(sources: &Sources, pipeline: &'p Pipeline, planned: &'p PlannedStep) -> Vec<&'p Text> {
    match &planned.step.kind {
        StepKind::Agent(step) => {
            let attached = step.attach.iter().flat_map(Filling::texts);
            std::iter::once(&step.prompt).chain(attached).collect()
        }
        StepKind::Plan(step) => {
            let attached = step.attach.iter().flat_map(Filling::texts);
            std::iter::once(&step.prompt).chain(attached).collect()
        }
        StepKind::Set(value) => value.texts(),
        StepKind::Format(step) => vec![&step.text],
        StepKind::Gate(step) if !sources.removes(step) => std::iter::once(&step.of).chain(&step.otherwise).collect(),
        StepKind::Call(step) => all(&step.with),
        StepKind::Tool(step) => match pipeline.tools.get(&step.tool.value).map(|tool| &tool.kind) {
            Some(ToolKind::Pipeline { .. }) => all(&step.with),
            _ => vec![],
        },
        _ => vec![],
    }
}

/// F605: a step whose output holds personal data, and which is not marked.
pub(super) fn unmarked(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let sources = Sources::of(pipeline);
    for planned in pipeline.steps.iter().filter(|planned| !planned.step.is_pii) {
        let id = quoted(&planned.step.id.value);
        let (span, name) = match &planned.step.kind {
            StepKind::Sql(step) => match personal_columns::given(&step.query.source, &pipeline.pipeline.data) {
                Some(column) => (step.query.place.inside(column.bytes.0, column.bytes.1), column.name),
                None => continue,
            },
            _ => match first(&sources, planned, &inflow(&sources, &pipeline.pipeline, planned), Gives::Perhaps) {
                Some((read, name)) => (read.span, name),
                None => continue,
            },
        };
        let message = format!("{id} reads {name} (pii); mark the step pii: true so that logs mask its output");
        out.push(
            finding(Code::PiiUnmarked, span, &message)
                .related(planned.step.id.span, "this step")
                .help("add pii: true to the step, or leave the personal data out"),
        );
    }
}

/// F606: personal data in what is logged as it is.
pub(super) fn in_log(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let sources = Sources::of(pipeline);
    for planned in &pipeline.steps {
        let step = &planned.step;
        let key = match &step.kind {
            StepKind::Http(http) => http.idempotency_key.as_ref(),
            StepKind::Tool(tool) => tool.idempotency_key.as_ref(),
            StepKind::Send(send) => send.idempotency_key.as_ref(),
            _ => None,
        };
        let reason = match &step.kind {
            StepKind::Stop(stop) => stop.reason.as_ref(),
            _ => None,
        };
        for (label, text) in [("name", step.name.as_ref()), ("idempotency_key", key), ("reason", reason)] {
            let Some((read, name)) = text.and_then(|text| first(&sources, planned, &[text], Gives::Surely)) else { continue };
            // Of a marked step or element, only the whole is sure to be personal.
            if !sources.is_direct(read) && output_of(read).is_none_or(|(_, rest)| !rest.is_empty()) && read.path.len() > 1 {
                continue;
            }
            let message = format!("{name} (pii) would stand unmasked in the log through {}", quoted(label));
            out.push(finding(Code::PiiInLog, read.span, &message).help("use something else, such as person.id or run.id"));
        }
    }
}

/// F607: personal data that leaves for a web service, a file or the result.
pub(super) fn leaves(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let sources = Sources::of(pipeline);
    for planned in &pipeline.steps {
        let receiver = |tool: &str| match file.tools.get(tool.split('.').next().unwrap_or_default()).map(|tool| &tool.kind) {
            Some(ToolKind::Http { .. }) => Some("an http tool"),
            Some(ToolKind::File(_)) => Some("a file"),
            Some(ToolKind::Server(_)) => Some("a tool server"),
            _ => None,
        };
        let (whereto, texts) = match &planned.step.kind {
            StepKind::Http(http) => {
                let mut texts = vec![&http.url];
                texts.extend(http.headers.iter().map(|(_, text)| text));
                texts.extend(http.query.iter().map(|(_, value)| value).chain(&http.body).flat_map(Filling::texts));
                ("a web address", texts)
            }
            StepKind::Tool(tool) => match receiver(&tool.tool.value) {
                Some(receiver) => (receiver, all(&tool.with)),
                None => continue,
            },
            StepKind::Send(send) => match receiver(&send.to.value) {
                Some(receiver) => (receiver, std::iter::once(&send.of).chain(all(&send.with)).collect()),
                None => continue,
            },
            _ => continue,
        };
        if let Some((read, name)) = first(&sources, planned, &texts, Gives::Perhaps) {
            let id = quoted(&planned.step.id.value);
            let message = format!("{id} sends {name} (pii) to {whereto} and no check pii: none stands before it");
            out.push(finding(Code::PiiLeaves, read.span, &message).help("leave it out, or put a gate with the check pii: none before it"));
        }
    }
    let outputs: Vec<(String, Vec<&Text>)> = match &file.outputs {
        Outputs::None => vec![],
        Outputs::Whole(text) => vec![("outputs".to_owned(), vec![text])],
        Outputs::Named(outputs) => outputs.iter().map(|(name, value)| (format!("outputs.{}", name.value), value.texts())).collect(),
    };
    for (what, texts) in outputs {
        let direct = texts.into_iter().find_map(|text| {
            let mut asked = HashSet::new();
            let reads = text.reads.iter().filter(|read| asked.insert(&read.path) && sources.is_direct(read));
            reads.into_iter().find(|read| gives(text, read) >= Gives::Perhaps)
        });
        if let Some(read) = direct {
            let message = format!("{what} gives {} (pii) and no check pii: none stands before it", read.path.join("."));
            out.push(finding(Code::PiiLeaves, read.span, &message).help("leave it out, or put a gate with the check pii: none before it"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{says, says_of};
    use super::*;

    const HEAD: &str = "inputs: { phone: { type: text, pii: true }, topic: text }\nagents: { w: {} }\n";

    fn steps(rule: super::super::Rule, steps: &str) -> String {
        says(rule, &format!("{HEAD}{steps}"))
    }

    #[test]
    fn a_reader_of_personal_data_is_marked() {
        let draft = |more: &str, prompt: &str| steps(unmarked, &format!("steps: [{{ id: draft, agent: w{more}, prompt: '{prompt}' }}]\n"));
        let found = "F605 5:44 \"draft\" reads inputs.phone (pii); mark the step pii: true so that logs mask its output\n";
        assert_eq!(draft("", "{{ inputs.phone }}"), found);
        assert_eq!(draft(", pii: true", "{{ inputs.phone }}"), "");
        assert_eq!(draft("", "{{ inputs.topic }}"), "");
        assert_eq!(draft("", "{% if inputs.phone %}Offer a call.{% endif %}"), "");
    }

    #[test]
    fn the_flow_ends_at_the_reader_that_is_reported() {
        let chain = |pii: &str| {
            steps(
                unmarked,
                &format!(
                    "steps:\n  - {{ id: a, set: '{{{{ inputs.phone }}}}'{pii} }}\n  - {{ id: b, format: '{{{{ steps.a.output }}}}' }}\n"
                ),
            )
        };
        assert!(chain("").starts_with("F605 6:") && chain("").lines().count() == 1);
        assert_eq!(
            chain(", pii: true"),
            "F605 7:26 \"b\" reads steps.a.output (pii); mark the step pii: true so that logs mask its output\n"
        );
    }

    #[test]
    fn a_check_ends_the_flow() {
        let body = "scorecards:\n  clean: { criteria: [{ id: c, description: Nobody is named., check: { pii: none } }] }\nsteps:\n  - { id: a, set: '{{ inputs.phone }}', pii: true }\n  - { id: g, gate: clean, of: steps.a.output }\n  - { id: b, set: '{{ steps.g.output }}' }\n";
        assert_eq!(steps(unmarked, body), "");
    }

    #[test]
    fn columns_and_persons_are_sources() {
        let text = "flow: 1\nname: a\ndata: { people: { file: p.csv, pii: [phone] } }\nperson: { id: p1, from: people }\nsteps:\n  - { id: q, sql: select phone from people }\n  - { id: s, set: '{{ person.name }}' }\n  - { id: t, set: '{{ person.id }}' }\n  - { id: u, sql: select id from people }\n";
        assert_eq!(
            says_of(unmarked, &[("a.yaml", text), ("p.csv", "")]),
            "F605 6:26 \"q\" reads people.phone (pii); mark the step pii: true so that logs mask its output\n\
             F605 7:23 \"s\" reads person.name (pii); mark the step pii: true so that logs mask its output\n"
        );
    }

    #[test]
    fn logs_hold_no_personal_data() {
        let named = |name: &str| steps(in_log, &format!("steps: [{{ id: a, name: '{name}', set: 1 }}]\n"));
        assert_eq!(named("Call {{ inputs.phone }}"), "F606 5:33 inputs.phone (pii) would stand unmasked in the log through \"name\"\n");
        assert_eq!(named("Call {{ inputs.topic }}"), "");
        assert_eq!(named("Has {{ inputs.phone | length }} digits"), "");
        let stop = "steps: [{ id: a, stop: failed, reason: 'No such {{ inputs.phone }}' }]\n";
        assert_eq!(steps(in_log, stop), "F606 5:52 inputs.phone (pii) would stand unmasked in the log through \"reason\"\n");
    }

    #[test]
    fn personal_data_leaves_only_after_a_check() {
        let tool = "tools: { hook: { http: POST https://example.com/ } }\n";
        let notify = |with: &str| {
            steps(
                leaves,
                &format!(
                    "{tool}steps:\n  - {{ id: a, set: '{{{{ inputs.phone }}}}', pii: true }}\n  - {{ id: notify, tool: hook, with: {{ x: '{with}' }} }}\n"
                ),
            )
        };
        assert_eq!(
            notify("{{ inputs.phone }}"),
            "F607 8:46 \"notify\" sends inputs.phone (pii) to an http tool and no check pii: none stands before it\n"
        );
        assert!(notify("{{ steps.a.output }}").contains("sends steps.a.output (pii)"));
        assert_eq!(notify("{{ inputs.topic }}"), "");
        let outputs = |value: &str| {
            steps(leaves, &format!("steps: [{{ id: a, set: '{{{{ inputs.phone }}}}', pii: true }}]\noutputs: {{ x: '{value}' }}\n"))
        };
        assert_eq!(outputs("{{ inputs.phone }}"), "F607 6:19 outputs.x gives inputs.phone (pii) and no check pii: none stands before it\n");
        assert_eq!(outputs("{{ steps.a.output }}"), "", "outputs count only where they read it directly");
    }
}
