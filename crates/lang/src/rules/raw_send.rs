//! F422: a text of a model goes to a person without having been fitted to the channel.

use super::giving::output_of;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{StepKind, ToolKind};
use crate::plan::PlannedStep;

/// How many gates a text is followed back through.
const LONGEST_WAY: usize = 32;

/// F422, in a pipeline with channels.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.channels.is_empty() {
        return;
    }
    for planned in &pipeline.steps {
        let StepKind::Send(send) = &planned.step.kind else { continue };
        // A file is no channel.
        let tool = pipeline.pipeline.tool(&send.to.value).map(|(tool, _)| tool);
        if matches!(tool.map(|tool| &tool.kind), Some(ToolKind::File(_) | ToolKind::Broken)) {
            continue;
        }
        let (mut text, mut block, mut gates) = (&send.of, planned.block, None);
        for _ in 0..LONGEST_WAY {
            let [read] = text.reads.as_slice() else { break };
            let Some(source) = output_of(read).and_then(|(id, _)| pipeline.seen_from(block, id)).map(|ix| pipeline.step(ix)) else { break };
            if let StepKind::Gate(gate) = &source.step.kind {
                (text, block, gates) = (&gate.of, source.block, Some(&source.step.id));
                continue;
            }
            if matches!(source.step.kind, StepKind::Agent(_)) {
                let (id, source) = (quoted(&planned.step.id.value), &source.step.id);
                let formats = |step: &&PlannedStep| {
                    let StepKind::Format(format) = &step.step.kind else { return false };
                    format.text.reads.iter().any(|read| output_of(read).is_some_and(|(id, _)| id == source.value))
                };
                let format = pipeline.steps.iter().find(formats).map(|step| format!("steps.{}.output", step.step.id.value));
                let place = if format.is_some() { text.place.span } else { send.of.place.span };
                let message = match (gates, &format) {
                    (Some(gate), Some(formatted)) => format!(
                        "gate {} passes on the text of steps.{}.output and not {formatted}, so {id} sends it as no format step formatted it",
                        quoted(&gate.value),
                        source.value
                    ),
                    _ => format!("{id} sends steps.{}.output, which no format step has formatted for a channel", source.value),
                };
                let found = finding(Code::RawSend, place, &message);
                let found = match format {
                    Some(path) => found.help(format!("write {path}, which formats it")).proposed_fix(vec![(place, path)]),
                    None => found
                        .help(format!("add a step before it: format: \"{{{{ steps.{}.output }}}}\", and send its output", source.value)),
                };
                out.push(found.related(source.span, "written here"));
            }
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says_of;
    use super::*;

    fn with_channels(channels: &str, steps: &str) -> String {
        let text = format!(
            "flow: 1\nname: a\n{channels}\nagents: {{ w: {{}} }}\nscorecards:\n  s: {{ criteria: [{{ id: c, description: It is short., check: {{ max_length: 9 }} }}] }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n{steps}"
        );
        says_of(check, &[("a.yaml", &text), ("channels/sms.yaml", "flow: 1\nchannel: sms\n")])
    }

    #[test]
    fn a_text_is_fitted_before_it_is_sent() {
        let send = "  - { id: out, send: stdout, of: steps.d.output }\n";
        let found = "F422 9:34 \"out\" sends steps.d.output, which no format step has formatted for a channel\n";
        assert_eq!(with_channels("channels: [sms]", send), found);
        assert_eq!(with_channels("", send), "", "without channels there is nothing to fit it to");
        let judged = "  - { id: g, gate: s, of: steps.d.output }\n  - { id: out, send: stdout, of: steps.g.output }\n";
        assert_eq!(
            with_channels("channels: [sms]", judged),
            "F422 10:34 \"out\" sends steps.d.output, which no format step has formatted for a channel\n"
        );
        let fitted = "  - { id: f, format: '{{ steps.d.output }}' }\n  - { id: out, send: stdout, of: steps.f.output }\n";
        assert_eq!(with_channels("channels: [sms]", fitted), "");
    }
}
