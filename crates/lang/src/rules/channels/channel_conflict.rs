//! F421: parts of a channel contradict each other: its body cannot show what `markdown` allows, or its indicator has no place for a number.

use crate::diagnostic::About;
use crate::model::{Body, Channel, Features, Markup};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// F421, for the channels of a pipeline.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    pipeline.pipeline.channels.iter().for_each(|channel| conflict(channel, out));
}

/// F421: the body cannot show what `markdown` allows, or the indicator cannot number its parts.
pub(in crate::rules) fn conflict(channel: &Channel, out: &mut Vec<Diagnostic>) {
    let name = quoted(&channel.name);
    if let Some(indicator) = channel.split.as_ref().map(|split| &split.indicator)
        && !indicator.trim().is_empty()
        && (indicator.contains("{{") || !indicator.contains("{part}"))
    {
        let message = format!("channel {name}: the indicator {} has no {{part}} to number its parts with", quoted(indicator));
        let single = indicator.replace("{{ ", "{").replace(" }}", "}").replace("{{", "{").replace("}}", "}");
        let single = if single.contains("{part}") { single } else { "({part}/{parts})".to_owned() };
        let help = format!("write indicator: {}, with the numbers in single braces", quoted(&single));
        out.push(found(channel, "split.indicator", &message).help(help));
    }
    let (key, message, help) = match channel.body {
        Body::Text if channel.markdown != Features::NONE => {
            let words = channel.markdown.words();
            let message = format!("channel {name}: body is \"text\", but markdown allows {}", words.join(", "));
            ("markdown", message, "write markdown: none, or a body that can show it: markup, markdown, html")
        }
        Body::Markup if channel.markup == Markup::default() => {
            ("body", format!("channel {name}: body is \"markup\", but there is no markup"), "add markup: { … }, or write body: text")
        }
        Body::Text | Body::Markup | Body::Markdown | Body::Html | Body::AdaptiveCard => return,
    };
    out.push(found(channel, key, &message).help(help));
}

fn found(channel: &Channel, key: &str, message: &str) -> Diagnostic {
    finding(Code::ChannelConflict, channel.span, message).about(About::Value(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_channel;

    #[test]
    fn an_indicator_numbers_its_parts() {
        for indicator in ["({{part}}/{{parts}})", "(%d/%d)", "of {parts}"] {
            let said = with_channel(check, &format!("max_length: 99\nsplit: {{ most_parts: 3, indicator: \"{indicator}\" }}"), "");
            assert!(said.contains(" has no {part} to number its parts with"), "{indicator}: {said}");
        }
        assert_eq!(with_channel(check, "max_length: 99\nsplit: { most_parts: 3, indicator: \"{part} of {parts}\" }", ""), "");
        assert_eq!(with_channel(check, "max_length: 99\nsplit: { most_parts: 3, indicator: \"\" }", ""), "");
    }

    #[test]
    fn a_body_shows_what_markdown_allows() {
        assert_eq!(
            with_channel(check, "markdown: [bold, lists]", ""),
            "F421 channels/tiny.yaml:2:10 channel \"tiny\": body is \"text\", but markdown allows bold, lists\n"
        );
        assert_eq!(
            with_channel(check, "body: markup", ""),
            "F421 channels/tiny.yaml:2:10 channel \"tiny\": body is \"markup\", but there is no markup\n"
        );
        assert_eq!(with_channel(check, "markdown: [bold]\nbody: markup\nmarkup: { bold: '*' }", ""), "");
        assert_eq!(with_channel(check, "markdown: full\nbody: html", ""), "");
    }
}
