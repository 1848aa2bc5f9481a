//! F420: what every text of a channel must hold does not fit.

use crate::channel::{format, measure};
use crate::diagnostic::About;
use crate::model::{Channel, LengthUnit, Phrase, StyleGuide, TOO_LONG, spoken_together};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// Characters of one SMS segment, at most (3GPP TS 23.038).
const SEGMENT: u64 = 160;

/// F420, for the channels of a pipeline together with its style guide.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let style = pipeline.pipeline.style_guide.as_deref();
    for channel in &pipeline.pipeline.channels {
        spoken_together(channel, style).into_iter().for_each(|(channel, style)| no_room(channel, style, out));
    }
}

/// F420: what every text must hold does not fit.
pub(in crate::rules) fn no_room(channel: &Channel, style: Option<&StyleGuide>, out: &mut Vec<Diagnostic>) {
    let Some(most) = channel.max_length else { return };
    let name = quoted(&channel.name);
    let mut report = |what: String| {
        let message = format!("channel {name}: max_length {most} has no room for {what}");
        out.push(
            finding(Code::ChannelImpossible, channel.span, &message)
                .about(About::Value("max_length".to_owned()))
                .help(format!("write max_length: {} or more, or shorten the text", (most * 3).max(100))),
        );
    };
    if format("x", channel, None, None).is_err() {
        return report("a single character in this body".into());
    }
    if let Some(split) = channel.split.as_ref().filter(|split| split.most_parts > 1) {
        let parts = split.most_parts.to_string();
        let indicator = split.indicator.replace("{parts}", &parts).replace("{part}", &parts);
        // A space and one character are before it.
        if !indicator.trim().is_empty() && characters_at_most(channel, most) < least(channel, &indicator) + 2 {
            report(format!("the indicator {}", quoted(&indicator)));
        }
    }
    if channel.too_long != TOO_LONG && characters_at_most(channel, most) < least(channel, &channel.too_long) {
        report(format!("too_long {}", quoted(&channel.too_long)));
    }
    let Some(style) = style else { return };
    let parts = channel.split.as_ref().map_or(1, |split| split.most_parts);
    let room = characters_at_most(channel, most).saturating_mul(parts);
    let own = |phrase: &Phrase| match phrase {
        Phrase::Own(text) => least(channel, text),
        _ => 0,
    };
    let (greeting, sign_off) = (own(&style.formatting.greeting), own(&style.formatting.sign_off));
    if greeting + sign_off > 0 && greeting + sign_off >= room {
        let what = match (greeting, sign_off) {
            (_, 0) => "greeting",
            (0, _) => "sign_off",
            _ => "greeting and sign_off",
        };
        report(format!("the {what} of style guide {}", quoted(&style.name)));
    }
}

/// The most characters a part can have: every unit counts a character at least once, a segment 160 of them.
fn characters_at_most(channel: &Channel, most: u64) -> u64 {
    if channel.length_unit == LengthUnit::SmsSegments { most.saturating_mul(SEGMENT) } else { most }
}

/// How long a text is at least, in the channel's unit (in characters for segments).
fn least(channel: &Channel, text: &str) -> u64 {
    let unit = if channel.length_unit == LengthUnit::SmsSegments { LengthUnit::Characters } else { channel.length_unit };
    measure(text.trim(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_channel;

    #[test]
    fn a_part_has_room_for_its_indicator() {
        let found = "F420 channels/tiny.yaml:2:10 channel \"tiny\": max_length 8 has no room for the indicator \"(10/10)\"\n";
        assert_eq!(with_channel(check, "max_length: 8\nsplit: { most_parts: 10 }", ""), found);
        assert_eq!(with_channel(check, "max_length: 9\nsplit: { most_parts: 10 }", ""), "");
        assert_eq!(with_channel(check, "max_length: 1\nlength_unit: sms_segments\nsplit: { most_parts: 10 }", ""), "");
        assert_eq!(with_channel(check, "max_length: 5", ""), "");
        // A card is measured with all that is around its text.
        let found = "F420 channels/tiny.yaml:2:10 channel \"tiny\": max_length 90 has no room for a single character in this body\n";
        assert_eq!(with_channel(check, "max_length: 90\nbody: adaptive_card\nmarkdown: full", ""), found);
        assert_eq!(with_channel(check, "max_length: 300\nbody: adaptive_card\nmarkdown: full", ""), "");
    }

    #[test]
    fn a_text_has_room_for_what_is_always_added() {
        assert_eq!(
            with_channel(check, "max_length: 9\ntoo_long: Call us now.", ""),
            "F420 channels/tiny.yaml:2:10 channel \"tiny\": max_length 9 has no room for too_long \"Call us now.\"\n"
        );
        let guide = "formatting: { greeting: Good morning, sign_off: Yours }";
        assert_eq!(
            with_channel(check, "max_length: 17", guide),
            "F420 channels/tiny.yaml:2:10 channel \"tiny\": max_length 17 has no room for the greeting and sign_off of style guide \"acme\"\n"
        );
        assert_eq!(with_channel(check, "max_length: 18", guide), "");
    }
}
