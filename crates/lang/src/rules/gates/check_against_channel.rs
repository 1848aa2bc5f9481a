//! F408: what a criterion asks for never gets through the channel that the judged text was made for.

use crate::channel::count_emojis;
use crate::model::{Channel, Check, PlainCheck, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::sole_output;
use crate::rules::support::scorecards::{checks, fixed, known_scorecards};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    // With a condition it may be judged on other channels only.
    for planned in pipeline.steps.iter().filter(|planned| planned.step.when.is_none()) {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let judged = sole_output(&gate.of).and_then(|(id, _)| pipeline.seen_from(planned.block, id)).map(|ix| &pipeline.step(ix).step);
        let Some((StepKind::Format(format), None)) = judged.map(|step| (&step.kind, &step.when)) else { continue };
        let channels = match &format.channel {
            Some(own) => std::slice::from_ref(own),
            None => pipeline.pipeline.channels.as_slice(),
        };
        for (criterion, check) in known_scorecards(pipeline, gate).flat_map(checks) {
            if let Some((channel, why)) = channels.iter().find_map(|channel| Some((channel, refused(&check.value, channel)?))) {
                let message = format!("criterion {} {why}", quoted(&criterion.id.value));
                out.push(
                    finding(Code::CheckAgainstChannel, check.span, &message)
                        .related(channel.span, "this channel")
                        .related(planned.step.id.span, "judged here")
                        .help("change the criterion, or what the channel allows"),
                );
            }
        }
    }
}

fn refused(check: &Check, channel: &Channel) -> Option<String> {
    let name = quoted(&channel.name);
    if let Check::Contains(texts, _) = check
        && !channel.emojis
        && fixed(texts).any(|text| count_emojis(text) > 0)
    {
        return Some(format!("asks for an emoji (contains), but channel {name} has emojis: false"));
    }
    let Check::Plain(PlainCheck::MinLength(least)) = check else { return None };
    let most_parts = channel.split.as_ref().map_or(1, |split| split.most_parts);
    // What stands between two parts counts in the whole text, so one more a part may be.
    let most = channel.max_length?.saturating_add(1).saturating_mul(most_parts);
    (*least > most).then(|| format!("asks for {least} (min_length), but channel {name} sends at most {most}"))
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::says_of;

    #[test]
    fn a_channel_without_emojis_meets_no_criterion_that_asks_for_one() {
        let pipeline = |check: &str, gate: &str| {
            let text = format!(
                "flow: 1\nname: a\nchannels: [sms]\nscorecards:\n  s:\n    criteria:\n      - {{ id: smile, description: It smiles at the end., check: {{ {check} }} }}\nsteps:\n  - {{ id: f, format: Hello }}\n  - {{ id: g, gate: s, of: steps.f.output{gate} }}\n"
            );
            let sms = "flow: 1\nchannel: sms\nemojis: false\nmax_length: 100\nsplit: { most_parts: 2 }\n";
            says_of(super::check, &[("a.yaml", &text), ("channels/sms.yaml", sms)])
        };
        let found = "F408 7:67 criterion \"smile\" asks for an emoji (contains), but channel \"sms\" has emojis: false\n";
        assert_eq!(pipeline("contains: 😀", ""), found);
        assert_eq!(pipeline("contains: hello", ""), "");
        assert_eq!(pipeline("contains: 😀", ", when: channel.name == 'email'"), "");
        assert_eq!(
            pipeline("min_length: 203", ""),
            "F408 7:67 criterion \"smile\" asks for 203 (min_length), but channel \"sms\" sends at most 202\n"
        );
        assert_eq!(pipeline("min_length: 200", ""), "");
    }
}
