//! F430: a style guide that breaks its own rules.

use std::collections::HashMap;

use crate::channel::Phrases;
use crate::diagnostic::About;
use crate::model::{Filling, Multilingual, Phrase, ScorecardRef, StepKind, StyleGuide, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::without_places;
use crate::rules::support::scorecards::is_style;
use crate::rules::support::style_guides::style_guides;
use crate::rules::support::texts_past_gate::leaving;
use crate::source::{Span, Spanned};

/// F430, for every style guide a pipeline names.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    style_guides(pipeline).for_each(|style| conflict(style, out));
    fixed_texts(pipeline, out);
}

/// F430: a fixed text that people get holds a word that its style guide bans.
fn fixed_texts(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let mut banned: HashMap<*const StyleGuide, Vec<BannedWords>> = HashMap::new();
    for (text, style) in said_to_people(pipeline) {
        let fixed = without_places(&text.source);
        let guides = banned.entry(std::ptr::from_ref(style)).or_insert_with(|| style.in_each_language().map(banned_of).collect());
        for BannedWords { style, words, phrases } in guides {
            let Some((range, index)) = phrases.find(&fixed).into_iter().next() else { continue };
            let word = quoted(words.get(index).copied().unwrap_or_default());
            let message = format!("this text, which people get, holds {word}, which style guide {} bans", quoted(&style.name));
            let found = new_finding(text.place.inside(range.start, range.end), &message);
            out.push(found.related(style.span, "this style guide").help(format!("write another word, or take {word} out of banned")));
            break;
        }
    }
}

/// The banned words of a style guide that are sent where they stand: what `format` replaces is not.
struct BannedWords<'p> {
    style: &'p StyleGuide,
    words: Vec<&'p str>,
    phrases: Phrases,
}

fn banned_of(style: &StyleGuide) -> BannedWords<'_> {
    let replaced = |word: &str| style.words.prefer.iter().any(|(left, _)| left.eq_ignore_ascii_case(word));
    let words: Vec<&str> = style.words.banned.iter().map(String::as_str).filter(|word| !replaced(word)).collect();
    let phrases = Phrases::new(words.iter().copied());
    BannedWords { style, words, phrases }
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::StyleConflict, span, message)
}

/// The texts of a pipeline that people get as they are written, each with its style guide: what is formatted, sent or given, what a `set`
/// step puts there, and what replaces a text that a gate does not let through, where no criterion asks for the style guide (F413).
fn said_to_people(pipeline: &PipelinePlan) -> Vec<(&Text, &StyleGuide)> {
    let file = &pipeline.pipeline;
    let own = file.style_guide.as_deref();
    let mut said: Vec<(&Text, &StyleGuide)> = leaving(pipeline).into_iter().filter_map(|leaving| Some((leaving.text, own?))).collect();
    let formats =
        pipeline.steps.iter().filter_map(|planned| if let StepKind::Format(format) = &planned.step.kind { Some(format) } else { None });
    said.extend(formats.filter_map(|format| Some((&format.text, format.style_guide.as_deref().or(own)?))));
    let mut read: HashMap<&str, &StyleGuide> = HashMap::new();
    for (text, style) in &said {
        for found in text.reads.iter().filter(|read| read.path.len() == 3 && read.path[0] == "steps" && read.path[2] == "output") {
            read.entry(&found.path[1]).or_insert(style);
        }
    }
    let mut judged: HashMap<&str, bool> = HashMap::new();
    for planned in &pipeline.steps {
        if let StepKind::Set(Filling::Text(text)) = &planned.step.kind {
            said.extend(read.get(planned.step.id.value.as_str()).map(|style| (text, *style)));
        }
        if let StepKind::Gate(gate) = &planned.step.kind
            && let (Some(otherwise), Some(own)) = (&gate.otherwise, own)
        {
            let mut names = gate.scorecards.iter().filter_map(ScorecardRef::name);
            let asks = |name: &Spanned<String>| file.scorecards.get(&name.value).is_some_and(|card| card.criteria.iter().any(is_style));
            let is_judged = names.any(|name| *judged.entry(&name.value).or_insert_with(|| asks(name)));
            said.extend((!is_judged).then_some((otherwise, own)));
        }
    }
    said
}

/// F430: what the style guide itself puts in holds a banned word.
pub(in crate::rules) fn conflict(style: &StyleGuide, out: &mut Vec<Diagnostic>) {
    let banned = Phrases::new(style.words.banned.iter().map(String::as_str));
    let holds = |text: &str| banned.find(text).first().and_then(|(_, index)| style.words.banned.get(*index));
    let mut report = |message: String, word: &str| {
        out.push(
            new_finding(style.span, &message)
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
    use super::*;
    use crate::rules::testing::says_of;

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
