//! F422: a text of a model goes to a person without having been fitted to the channel, or a text that was cut for it as one piece.

use std::sync::Arc;

use crate::model::{Channel, Filling, StepKind, Text, ToolKind};
use crate::plan::PlannedStep;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted, sole_path};
use crate::rules::support::giving::{Disclosure, gives, output_of};
use crate::rules::support::names::is_place;
use crate::source::Span;

/// How many gates a text is followed back through.
const LONGEST_WAY: usize = 32;

/// F422, in a pipeline with channels.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
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
        if let Some(found) = whole(pipeline, planned, &send.of) {
            out.push(found);
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
                let found = raw(place, &message);
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

fn raw(span: Span, message: &str) -> Diagnostic {
    finding(Code::RawSend, span, message)
}

/// A text that `format` cut into parts, and that is sent in one piece, or of which one part is sent.
fn whole(pipeline: &PipelinePlan, sender: &PlannedStep, of: &Text) -> Option<Diagnostic> {
    let asks_channel = |when: &Text| when.reads.iter().any(|read| read.path.first().is_some_and(|root| root == "channel"));
    if sender.step.when.as_ref().is_some_and(asks_channel) {
        return None;
    }
    let (mut text, mut block, mut copied, mut below) = (of, sender.block, None, vec![]);
    for _ in 0..LONGEST_WAY {
        let [read] = text.reads.as_slice() else { return None };
        let (id, rest) = output_of(read).filter(|_| gives(text, read) == Disclosure::Surely || sole_path(text).is_some())?;
        let source = pipeline.step(pipeline.seen_from(block, id)?);
        below = [rest, &below].concat();
        block = source.block;
        if let StepKind::Gate(gate) = &source.step.kind {
            text = &gate.of;
        } else if let (StepKind::Set(Filling::Text(set)), None) = (&source.step.kind, copied) {
            (text, copied) = (set, Some(source));
        } else if let StepKind::Format(format) = &source.step.kind {
            let own = format.channel.as_ref();
            let cuts =
                |channel: &&Arc<Channel>| channel.max_length.is_some() && channel.split.as_ref().is_some_and(|split| split.most_parts > 1);
            let mut channels = own.into_iter().chain(pipeline.pipeline.channels.iter().filter(|_| own.is_none()));
            let channel = channels.find(cuts)?;
            let (id, name, path) = (quoted(&sender.step.id.value), quoted(&channel.name), format!("steps.{}.output", source.step.id.value));
            let message = match below.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                [field @ ("text" | "plain")] => {
                    format!("{id} sends {path}.{field} in one piece, but channel {name} splits long texts")
                }
                ["parts", place, ..] if is_place(place) => {
                    format!("{id} sends one part of {path}, but channel {name} splits long texts into several")
                }
                _ => return None,
            };
            let found = raw(of.place.span, &message).related(channel.span, "this channel");
            let own = sole_path(of).and_then(output_of).filter(|(_, rest)| **rest == below);
            return Some(match (own, copied) {
                (Some((id, _)), _) => {
                    let all = format!("steps.{id}.output");
                    found.help(format!("write {all}, which sends each part")).proposed_fix(vec![(of.place.span, all)])
                }
                (None, Some(set)) => {
                    let (set, format) = (quoted(&set.step.id.value), quoted(&source.step.id.value));
                    found.help(format!("put what {set} adds into the text of {format}, and send {path}"))
                }
                (None, None) => found.help(format!("send {path} as it is, with all its parts")),
            });
        } else {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    fn with_channels(channels: &str, steps: &str) -> String {
        let text = format!(
            "flow: 1\nname: a\n{channels}\nagents: {{ w: {{}} }}\nscorecards:\n  s: {{ criteria: [{{ id: c, description: It is short., check: {{ max_length: 9 }} }}] }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n{steps}"
        );
        says_of(check, &[("a.yaml", &text), ("channels/sms.yaml", "flow: 1\nchannel: sms\n")])
    }

    #[test]
    fn a_text_that_was_cut_is_sent_in_its_parts() {
        let sends = |steps: &str, of: &str| {
            let text = format!(
                "flow: 1\nname: a\nchannels: [sms]\nsteps:\n  - {{ id: f, format: x }}\n{steps}  - {{ id: out, send: stdout, of: {of} }}\n"
            );
            says_of(check, &[("a.yaml", &text), ("channels/sms.yaml", "flow: 1\nchannel: sms\nmax_length: 99\nsplit: { most_parts: 2 }\n")])
        };
        let whole = "\"out\" sends steps.f.output.text in one piece, but channel \"sms\" splits long texts\n";
        assert_eq!(sends("", "steps.f.output.text"), format!("F422 6:34 {whole}"));
        assert_eq!(sends("  - { id: s, set: 'Hi! {{ steps.f.output.text }}' }\n", "steps.s.output"), format!("F422 7:34 {whole}"));
        let part = "F422 6:34 \"out\" sends one part of steps.f.output, but channel \"sms\" splits long texts into several\n";
        assert_eq!(sends("", "'steps.f.output.parts[0].text'"), part);
        for right in ["steps.f.output", "steps.f.output.parts", "steps.f.output.channel"] {
            assert_eq!(sends("", right), "", "{right}");
        }
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
