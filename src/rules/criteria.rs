//! Criteria that nothing can meet: against each other (F407), against the channel (F408).

use super::giving::{find, sole_output};
use super::tell::{finding, quoted};
use crate::channel::count_emojis;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Channel, Check, Criterion, Form, Judging, Scorecard, ScorecardRef, StepKind, Text};
use crate::plan::{PipelinePlan, Plan};
use crate::source::{Span, Spanned};

/// Every check of a scorecard with its criterion. All must pass, so they are looked at together.
fn checks(card: &Scorecard) -> impl Iterator<Item = (&Criterion, &Spanned<Check>)> {
    card.criteria.iter().flat_map(|criterion| {
        let checks: &[Spanned<Check>] = match &criterion.judging {
            Judging::Checks(checks) => checks,
            _ => &[],
        };
        checks.iter().map(move |check| (criterion, check))
    })
}

/// Texts of the author's without templates.
fn fixed(texts: &[Text]) -> impl Iterator<Item = &str> {
    texts.iter().filter(|text| text.form == Form::Plain).map(|text| &*text.source)
}

/// F407: two checks that no text can both pass.
pub(super) fn impossible(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for card in pipeline.pipeline.scorecards.values() {
        lengths(card, out);
        words(card, out);
    }
}

fn lengths(card: &Scorecard, out: &mut Vec<Diagnostic>) {
    let mut longest: Option<(&Criterion, Span, u64)> = None;
    let mut shortest: Option<(&Criterion, Span, u64)> = None;
    for (criterion, check) in checks(card) {
        match check.value {
            Check::MaxLength(most) if longest.is_none_or(|(_, _, other)| most < other) => longest = Some((criterion, check.span, most)),
            Check::MinLength(least) if shortest.is_none_or(|(_, _, other)| least > other) => {
                shortest = Some((criterion, check.span, least))
            }
            _ => {}
        }
    }
    let (Some((_, other, most)), Some((criterion, span, least))) = (longest, shortest) else { return };
    if least > most {
        let message = format!("criterion {}: min_length {least} is above max_length {most}", quoted(&criterion.id.value));
        out.push(
            finding(Code::CheckImpossible, span, &message)
                .related(other, format!("at most {most} here"))
                .help("lower min_length or raise max_length"),
        );
    }
}

fn words(card: &Scorecard, out: &mut Vec<Diagnostic>) {
    let mut forbidden = std::collections::HashMap::new();
    for (_, check) in checks(card) {
        let Check::NotContains(texts) = &check.value else { continue };
        fixed(texts).for_each(|text| {
            forbidden.entry(text).or_insert(check.span);
        });
    }
    for (criterion, check) in checks(card) {
        let Check::Contains(texts) = &check.value else { continue };
        for (text, other) in fixed(texts).filter_map(|text| Some((text, forbidden.get(text)?))) {
            let message = format!("criterion {}: {} must occur, and must not", quoted(&criterion.id.value), quoted(text));
            out.push(
                finding(Code::CheckImpossible, check.span, &message)
                    .related(*other, "forbidden here")
                    .help("remove the text from contains or from not_contains"),
            );
        }
    }
}

/// F408: what a criterion asks for never gets through the channel that the judged text was made for.
pub(super) fn against_channel(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        // With a condition it may be judged on other channels only.
        if planned.step.when.is_some() {
            continue;
        }
        let judged = sole_output(&gate.of).and_then(|(id, _)| find(pipeline, planned.block, id)).map(|ix| &pipeline.step(ix).step);
        let Some((StepKind::Format(format), None)) = judged.map(|step| (&step.kind, &step.when)) else { continue };
        let channels = match &format.channel {
            Some(own) => std::slice::from_ref(own),
            None => pipeline.pipeline.channels.as_slice(),
        };
        let cards = gate.scorecards.iter().filter_map(|reference| match reference {
            ScorecardRef::Named(name) => pipeline.pipeline.scorecards.get(&name.value),
            ScorecardRef::Written(_) => None,
        });
        for (criterion, check) in cards.flat_map(checks) {
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
    match check {
        Check::Contains(texts) if !channel.emojis && fixed(texts).any(|text| count_emojis(text) > 0) => {
            Some(format!("asks for an emoji (contains), but channel {name} has emojis: false"))
        }
        Check::MinLength(least) => {
            let most_parts = channel.split.as_ref().map_or(1, |split| split.most_parts);
            // What stands between two parts counts in the whole text, so one more a part may be.
            let most = channel.max_length?.saturating_add(1).saturating_mul(most_parts);
            (*least > most).then(|| format!("asks for {least} (min_length), but channel {name} sends at most {most}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{says, says_of};
    use super::*;

    fn card(checks: &str) -> String {
        let criteria: String = checks
            .split(';')
            .enumerate()
            .map(|(i, check)| format!("      - {{ id: c{i}, description: It is measured., check: {{ {check} }} }}\n"))
            .collect();
        format!("scorecards:\n  s:\n    criteria:\n{criteria}steps: [{{ id: a, set: 1 }}]\n")
    }

    #[test]
    fn lengths_that_exclude_each_other_are_found_across_criteria() {
        let found = "F407 6:58 criterion \"c0\": min_length 200 is above max_length 160\n";
        assert_eq!(says(impossible, &card("min_length: 200;max_length: 160")), found);
        assert_eq!(says(impossible, &card("min_length: 160, max_length: 160")), "");
    }

    #[test]
    fn a_text_cannot_occur_and_not_occur() {
        assert_eq!(
            says(impossible, &card("contains: hi, not_contains: [ho, hi]")),
            "F407 6:58 criterion \"c0\": \"hi\" must occur, and must not\n"
        );
        assert_eq!(says(impossible, &card("contains: '{{ inputs.a }}', not_contains: '{{ inputs.a }}'")), "");
    }

    #[test]
    fn a_channel_without_emojis_meets_no_criterion_that_asks_for_one() {
        let pipeline = |check: &str, gate: &str| {
            let text = format!(
                "flow: 1\nname: a\nchannels: [sms]\nscorecards:\n  s:\n    criteria:\n      - {{ id: smile, description: It smiles at the end., check: {{ {check} }} }}\nsteps:\n  - {{ id: f, format: Hello }}\n  - {{ id: g, gate: s, of: steps.f.output{gate} }}\n"
            );
            let sms = "flow: 1\nchannel: sms\nemojis: false\nmax_length: 100\nsplit: { most_parts: 2 }\n";
            says_of(against_channel, &[("a.yaml", &text), ("channels/sms.yaml", sms)])
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
