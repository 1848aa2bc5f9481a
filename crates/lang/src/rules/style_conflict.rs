//! F430: a style guide that breaks its own rules.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::channel::Phrases;
use crate::diagnostic::About;
use crate::model::{Phrase, StepKind, StyleGuide};

/// F430, for every style guide a pipeline names.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    style_guides(pipeline).for_each(|style| conflict(style, out));
}

/// Every style guide that a pipeline names, once.
pub(super) fn style_guides(pipeline: &PipelinePlan) -> impl Iterator<Item = &StyleGuide> {
    let of_steps = pipeline.steps.iter().filter_map(|planned| {
        let StepKind::Format(format) = &planned.step.kind else { return None };
        format.style_guide.as_ref()
    });
    let of_agents = pipeline.pipeline.agents.values().filter_map(|agent| agent.style_guide.as_ref());
    let mut seen = HashSet::new();
    let all = pipeline.pipeline.style_guide.iter().chain(of_steps).chain(of_agents);
    all.filter(move |style| seen.insert(Arc::as_ptr(style))).map(|style| &**style)
}

/// F430: what the style guide itself puts in holds a banned word.
pub(super) fn conflict(style: &StyleGuide, out: &mut Vec<Diagnostic>) {
    let banned = Phrases::new(style.words.banned.iter().map(String::as_str));
    let holds = |text: &str| banned.find(text).first().and_then(|(_, index)| style.words.banned.get(*index));
    let mut report = |message: String, word: &str| {
        out.push(
            finding(Code::StyleConflict, style.span, &message)
                .about(About::Value("words.banned".to_owned()))
                .help(format!("take {} out of banned, or write another word there", quoted(word))),
        );
    };
    for (_, preferred) in &style.words.prefer {
        if let Some(word) = holds(preferred) {
            report(format!("style guide {}: {} is in both prefer and banned", quoted(&style.name), quoted(word)), word);
        }
    }
    let brand = style.brand_name.clone().unwrap_or_default();
    for (key, phrase) in [("greeting", &style.formatting.greeting), ("sign_off", &style.formatting.sign_off)] {
        let text = match phrase {
            Phrase::Own(text) => text,
            Phrase::On if key == "sign_off" => &brand,
            _ => continue,
        };
        if let Some(word) = holds(text) {
            report(format!("style guide {}: the text of {key} holds the banned word {}", quoted(&style.name), quoted(word)), word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says_of;
    use super::*;

    fn guide(keys: &str) -> String {
        let pipeline = "flow: 1\nname: a\nstyle_guide: acme\nsteps: [{ id: s, set: 1 }]\n";
        says_of(check, &[("a.yaml", pipeline), ("style_guides/acme.yaml", &format!("flow: 1\nstyle_guide: acme\n{keys}\n"))])
    }

    #[test]
    fn what_is_put_in_is_not_banned() {
        let place = "F430 style_guides/acme.yaml:2:14 style guide \"acme\": ";
        assert_eq!(
            guide("words: { prefer: { low-priced: Cheap }, banned: [cheap] }"),
            format!("{place}\"cheap\" is in both prefer and banned\n")
        );
        assert_eq!(
            guide("formatting: { sign_off: Cheap  thrills! }\nwords: { banned: [cheap thrills] }"),
            format!("{place}the text of sign_off holds the banned word \"cheap thrills\"\n")
        );
        assert_eq!(
            guide("brand_name: Cheap Ltd\nformatting: { sign_off: true }\nwords: { banned: [cheap] }"),
            format!("{place}the text of sign_off holds the banned word \"cheap\"\n")
        );
    }

    #[test]
    fn a_word_that_is_replaced_may_be_banned_and_parts_of_words_are_free() {
        assert_eq!(guide("words: { prefer: { cheap: low-priced }, banned: [cheap] }"), "");
        assert_eq!(guide("formatting: { greeting: Dear cheapskates }\nwords: { banned: [cheap] }"), "");
        assert_eq!(guide("brand_name: Cheap Ltd\nwords: { banned: [cheap] }"), "");
    }
}
