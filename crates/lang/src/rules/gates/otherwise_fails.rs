//! F413: the text a person gets when a gate is not met, which the gate itself would reject, or the channel cannot show whole.

use serde_json::Value;

use crate::channel::{self, FormatError, Formatted};
use crate::gate::{self, FilledCheck, JudgedText};
use crate::model::{
    Channel, Check, Form, FormatStep, GateStep, Judging, PlainCheck, Scorecard, StepKind, StyleGuide, Text, spoken_together,
};
use crate::plan::PlannedStep;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::sole_output;
use crate::rules::support::scorecards::{is_style, known_scorecards};
use crate::rules::support::style_guides::style_guide_help;
use crate::rules::support::texts_past_gate::is_delivered;
use crate::source::Span;

/// Most checks that are asked in one file: gates that share a scorecard each ask all of it.
const MOST_CHECKS: usize = 50_000;

/// F413. An apology need not answer the question, so what a text must hold (`contains`, `min_length` and the like) is not asked of
/// it; what no text may hold is. Nothing is asked where the style guide cannot be read.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.style_guide.is_none() && pipeline.pipeline.style_guide_at.is_some() {
        return;
    }
    let mut left = MOST_CHECKS;
    for (ix, planned) in pipeline.numbered_steps().filter(|(_, planned)| planned.step.when.is_none()) {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(otherwise) = gate.otherwise.as_ref().filter(|text| text.form == Form::Plain) else { continue };
        let broken = || {
            let cards: Vec<&Scorecard> = known_scorecards(pipeline, gate).collect();
            sent(pipeline, planned, gate, &otherwise.source).into_iter().find_map(|sent| {
                let broken = cards.iter().find_map(|card| broken(card, &sent, &mut left))?;
                let on = sent.channel.map_or(String::new(), |channel| format!(" on channel {}", quoted(&channel.name)));
                let (gate, criterion) = (quoted(&planned.step.id.value), quoted(&broken.value));
                Some((format!("otherwise breaks criterion {criterion} of its own gate {gate}{on}"), Some(broken.span)))
            })
        };
        let empty = || {
            let is_empty = otherwise.source.trim().is_empty() && planned.step.for_each.is_none() && is_delivered(pipeline, ix);
            let message = format!(
                "otherwise of gate {} is empty, and it is what a person gets if the gate is not met",
                quoted(&planned.step.id.value)
            );
            is_empty.then(|| (message, Some("write a text that may be sent, such as: Please call us.".to_owned())))
        };
        let unsent = unsent(pipeline, planned, gate, &otherwise.source).or_else(empty);
        let shorter = unsent.as_ref().and_then(|(_, help)| help.clone());
        if let Some((message, criterion)) = unsent.map(|(message, _)| (message, None)).or_else(broken) {
            let found = new_finding(otherwise.place.span, &message);
            let of_style = criterion.filter(|_| pipeline.pipeline.style_guide.is_none()).and_then(|span| {
                let mut criteria = known_scorecards(pipeline, gate).flat_map(|card| &card.criteria);
                criteria.find(|criterion| criterion.id.span == span && is_style(criterion))
            });
            out.push(match criterion {
                Some(span) if let Some(criterion) = of_style => {
                    let message = format!("criterion {} asks for a style guide, and the file names none", quoted(&criterion.id.value));
                    Diagnostic { span, message, ..found }
                        .related(pipeline.pipeline.name.span, "style_guide stands below this line")
                        .help(style_guide_help(&pipeline.pipeline))
                }
                Some(span) => found.related(span, "this criterion").help("change the text of otherwise, or the criterion"),
                None => found.help(shorter.unwrap_or_else(|| "change the text of otherwise, or the channel".to_owned())),
            });
        }
    }
}

pub(in crate::rules) fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::OtherwiseFails, span, message)
}

/// What a person would get, as the gate would see it.
struct SentOtherwise<'p> {
    channel: Option<&'p Channel>,
    style: Option<&'p StyleGuide>,
    value: Value,
    text: String,
    formatted: Option<Formatted>,
}

/// Why a channel cannot show the text, or not all of it: that of the format step which is judged, or which takes nothing but what the
/// gate let through. A channel that has no room for any text is told by F420.
fn unsent(pipeline: &PipelinePlan, planned: &PlannedStep, gate: &GateStep, text: &str) -> Option<(String, Option<String>)> {
    let name = quoted(&planned.step.id.value);
    let after = pipeline.steps.iter().filter_map(|later| {
        let StepKind::Format(format) = &later.step.kind else { return None };
        takes_only(pipeline, later, &format.text, planned).then_some(format)
    });
    judged(pipeline, planned, gate).into_iter().chain(after).find_map(|format| {
        formatted(pipeline, format, text).find_map(|(channel, _, formatted)| {
            let most = shorter(channel);
            let channel = quoted(&channel.name);
            match formatted {
                Err(FormatError::Nothing { .. }) => Some((format!("otherwise of gate {name} shows nothing on channel {channel}"), None)),
                Err(FormatError::NoRoom(why)) => Some((format!("otherwise of gate {name} cannot be sent: {why}"), None)),
                Ok(formatted) if formatted.shortened => Some((
                    format!("otherwise of gate {name} is longer than the parts of channel {channel}: its end would be left out"),
                    most,
                )),
                Ok(_) => None,
            }
        })
    })
}

/// How long a text may be for a channel.
fn shorter(channel: &Channel) -> Option<String> {
    let most = channel.max_length?;
    let unit = <&str>::from(channel.length_unit).replace('_', " ");
    let parts = match channel.split.as_ref().map(|split| split.most_parts) {
        None | Some(1) => String::new(),
        Some(parts) => format!(" in each of {parts} parts"),
    };
    Some(format!("write at most {most} {unit}{parts} in otherwise, the max_length of channel {}", quoted(&channel.name)))
}

/// Whether a text is `{{ steps.gate.output }}` of this gate and no more.
fn takes_only(pipeline: &PipelinePlan, step: &PlannedStep, text: &Text, gate: &PlannedStep) -> bool {
    let Some((id, [])) = sole_output(text) else { return false };
    let inside = text.source.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inside.is_some_and(|inside| inside.trim_matches(['-', ' ']) == format!("steps.{id}.output"))
        && pipeline.seen_from(step.block, id).is_some_and(|found| std::ptr::eq(pipeline.step(found), gate))
}

/// The format step whose output a gate judges.
fn judged<'p>(pipeline: &'p PipelinePlan, planned: &PlannedStep, gate: &GateStep) -> Option<&'p FormatStep> {
    let found = sole_output(&gate.of).and_then(|(id, _)| pipeline.seen_from(planned.block, id))?;
    if let StepKind::Format(format) = &pipeline.step(found).step.kind { Some(format) } else { None }
}

/// A text as a format step would send it on each of its channels that can send any.
fn formatted<'p>(
    pipeline: &'p PipelinePlan,
    format: &'p FormatStep,
    text: &str,
) -> impl Iterator<Item = (&'p Channel, Option<&'p StyleGuide>, Result<Formatted, FormatError>)> {
    let file = &pipeline.pipeline;
    let channels = match &format.channel {
        Some(own) => std::slice::from_ref(own),
        None => file.channels.as_slice(),
    };
    let style = format.style_guide.as_deref().or(file.style_guide.as_deref());
    let able = channels.iter().filter(|channel| channel::format("x", channel, None, None).is_ok());
    able.flat_map(move |channel| spoken_together(channel, style))
        .map(move |(channel, style)| (channel, style, channel::format(text, channel, style, None)))
}

/// Once for each channel the text may be sent on.
fn sent<'p>(pipeline: &'p PipelinePlan, planned: &PlannedStep, gate: &'p GateStep, text: &str) -> Vec<SentOtherwise<'p>> {
    let file = &pipeline.pipeline;
    let Some(format) = judged(pipeline, planned, gate) else {
        let style = file.style_guide.as_deref();
        let plain = |channel| SentOtherwise { channel, style, value: text.into(), text: text.to_owned(), formatted: None };
        return match file.channels.as_slice() {
            [] => vec![plain(None)],
            channels => channels.iter().map(|channel| plain(Some(&**channel))).collect(),
        };
    };
    let sent = formatted(pipeline, format, text).filter_map(|(channel, style, formatted)| {
        let formatted = formatted.ok()?;
        let value = serde_json::to_value(&formatted).ok()?;
        Some(SentOtherwise { channel: Some(channel), style, value, text: formatted.plain.clone(), formatted: Some(formatted) })
    });
    sent.collect()
}

/// The first criterion that what is sent does not meet.
fn broken<'p>(card: &'p Scorecard, sent: &SentOtherwise, left: &mut usize) -> Option<&'p crate::source::Spanned<String>> {
    let judged = JudgedText {
        value: &sent.value,
        text: &sent.text,
        formatted: sent.formatted.as_ref(),
        channel: sent.channel,
        style: sent.style,
        person_name: None,
    };
    if *left == 0 {
        return None;
    }
    let mut fails = |check: &Check| {
        *left = left.saturating_sub(1);
        *left > 0 && forbids(check).is_some_and(|check| !gate::check(&check, &judged).passed)
    };
    // One with a condition may be meant for other texts.
    card.criteria.iter().filter(|criterion| criterion.when.is_none()).find_map(|criterion| match &criterion.judging {
        Judging::Checks(checks) => checks.iter().any(|check| fails(&check.value)).then_some(&criterion.id),
        _ => None,
    })
}

/// A check that says what no text may hold, if nothing in it is left to the run.
fn forbids(check: &Check) -> Option<FilledCheck> {
    Some(match check {
        Check::NotContains(texts, case) => {
            let fixed = texts.iter().filter(|text| text.form == Form::Plain);
            FilledCheck::NotContains(fixed.map(|text| text.source.to_string()).collect(), *case)
        }
        Check::Plain(PlainCheck::Regex(_) | PlainCheck::JsonSchema(_) | PlainCheck::MinLength(_)) => return None,
        Check::Plain(PlainCheck::Language(_) | PlainCheck::Readability(_)) => return None,
        Check::Plain(check) => FilledCheck::Plain(check.clone()),
        Check::Contains(..) | Check::Equals(_) | Check::NumbersFrom(_) | Check::StatesNumbers(_) => return None,
        Check::ApartFrom(_) | Check::Expression(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::says_of;

    fn gate(check: &str, of: &str, otherwise: &str) -> String {
        let text = format!(
            "flow: 1\nname: a\nchannels: [sms]\nscorecards:\n  s: {{ criteria: [{{ id: plain_text, description: It is plain., check: {{ {check} }} }}] }}\nsteps:\n  - {{ id: d, set: Hello }}\n  - {{ id: f, format: '{{{{ steps.d.output }}}}' }}\n  - {{ id: g, gate: s, of: steps.{of}.output, otherwise: '{otherwise}' }}\n"
        );
        says_of(super::check, &[("a.yaml", &text), ("channels/sms.yaml", "flow: 1\nchannel: sms\n")])
    }

    #[test]
    fn a_gate_would_let_its_own_otherwise_through() {
        let found = "F413 9:54 otherwise breaks criterion \"plain_text\" of its own gate \"g\" on channel \"sms\"\n";
        assert_eq!(gate("markdown: none", "d", "**Sorry**"), found);
        assert_eq!(gate("markdown: none", "f", "**Sorry**"), "", "format takes the marks out");
        assert_eq!(gate("max_length: 5", "f", "Sorry."), found);
        assert_eq!(gate("max_length: 6", "f", "Sorry."), "");
        assert_eq!(gate("not_contains: sorry", "d", "sorry"), found);
    }

    #[test]
    fn a_channel_shows_all_of_otherwise() {
        let on = |channel: &str, of: &str, format: &str, otherwise: &str| {
            let text = format!(
                "flow: 1\nname: a\nchannels: [sms]\nscorecards:\n  s: {{ criteria: [{{ id: c, description: It names the hours., check: {{ contains: hours }} }}] }}\nsteps:\n  - {{ id: d, set: Hello }}\n  - {{ id: f, format: '{{{{ steps.d.output }}}}' }}\n  - {{ id: g, gate: s, of: steps.{of}.output, otherwise: \"{otherwise}\" }}\n  - {{ id: h, format: '{format}' }}\n"
            );
            says_of(super::check, &[("a.yaml", &text), ("channels/sms.yaml", &format!("flow: 1\nchannel: sms\n{channel}"))])
        };
        let after = "{{ steps.g.output }}";
        let nothing = "otherwise of gate \"g\" shows nothing on channel \"sms\"";
        for (of, format) in [("f", "x"), ("d", after)] {
            for text in ["", " ", "\u{3000}", "---", "![]()"] {
                assert!(on("", of, format, text).contains(nothing), "{of} {text:?}: {}", on("", of, format, text));
            }
            assert!(on("emojis: false\n", of, format, "🎉").contains(nothing));
            assert_eq!(on("emojis: true\n", of, format, "🎉"), "");
            let long = on("max_length: 30\ntoo_long: More.\n", of, format, "Sorry, that could not be answered today.");
            assert!(long.contains("is longer than the parts of channel \"sms\": its end would be left out"), "{long}");
            assert_eq!(on("max_length: 60\ntoo_long: More.\n", of, format, "Sorry, that could not be answered today."), "");
            let wide = on("max_length: 3\ntoo_long: M\n", of, format, "👩‍👩‍👧‍👦");
            assert!(wide.contains("otherwise of gate \"g\" cannot be sent: a part of channel"), "{wide}");
        }
        assert_eq!(on("", "d", "Re: {{ steps.g.output }}", "---"), "", "more is sent than otherwise");
        assert_eq!(on("", "d", "x", "---"), "", "it is not formatted");
    }

    #[test]
    fn an_apology_need_not_answer() {
        assert_eq!(gate("contains: hours", "f", "Sorry."), "");
        assert_eq!(gate("min_length: 100", "f", "Sorry."), "");
        assert_eq!(gate("max_length: 5", "f", "Sorry, {{ run.id }}"), "", "what is filled in is not known");
    }
}
