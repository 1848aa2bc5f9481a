//! Style guide files.

use super::channels::{as_it_stands, languages};
use super::context::{Lower, quoted};
use super::keys;
use super::other_shapes::truth;
use super::reader::KeyReader;
use super::world::World;
use crate::diagnostic::Diagnostic;
use crate::model::{Emojis, Formatting, Humor, PERSON_NAME, Phrase, StyleGuide, Tone, Words};
use crate::source::FileId;
use crate::syntax::Node;

/// Reads a style guide file; `None` if it has no name by which it could be called.
pub fn style_guide(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Option<StyleGuide> {
    let lower = Lower::new(file, world, diagnostics);
    let keys = lower.root(tree, &keys::STYLE_GUIDE, "this style guide")?;
    let name = keys.get("style_guide").and_then(|node| lower.new_id("style guide", node));
    let guide = StyleGuide {
        name: name.as_ref().map(|name| name.value.clone()).unwrap_or_default(),
        span: name.as_ref().map_or(keys.span, |name| name.span),
        version: keys.get("version").and_then(|node| lower.texts().loose_text("version", node)).map(|text| text.source.to_string()),
        emojis: emojis(&keys),
        ..said(&keys, &StyleGuide::default())
    };
    without_effect(&keys, &guide);
    let languages = languages(&keys, &keys::STYLE_IN_LANGUAGE, |keys| said(keys, &guide));
    name.map(|_| StyleGuide { languages, ..guide })
}

/// What a style guide says, or says otherwise in one language: a key that is left out is as in `base`.
fn said(keys: &KeyReader, base: &StyleGuide) -> StyleGuide {
    StyleGuide {
        brand_name: keys.sentence("brand_name").or_else(|| base.brand_name.clone()),
        personality: keys.sentence("personality").or_else(|| base.personality.clone()),
        tone: tone(keys, &base.tone),
        humor: humor(keys, &base.humor),
        formatting: formatting(keys, &base.formatting),
        words: words(keys, &base.words),
        ..base.clone()
    }
}

/// F423: what is switched on, and lacks what it needs.
fn without_effect(keys: &KeyReader, guide: &StyleGuide) {
    let report = |section: &str, key: &str, message: &str, help: &str| {
        let place = keys.get(section).and_then(|node| node.as_map()?.entries.iter().find(|(name, _)| name.text == key));
        if let Some((name, _)) = place {
            keys.lower.report(Diagnostic::no_effect(name.span, message).help(help));
        }
    };
    if guide.formatting.sign_off == Phrase::On && guide.brand_name.is_none() {
        let message = "sign_off: true adds nothing: it is the brand name, and the style guide has no brand_name";
        report("formatting", "sign_off", message, "add brand_name: and the name of the brand, or write a text of your own");
    }
    if guide.formatting.use_user_name && guide.formatting.greeting != Phrase::On {
        let (message, help) = match &guide.formatting.greeting {
            Phrase::Own(_) => (
                "use_user_name has no effect: a greeting of your own names the person where {name} stands in it",
                "write {name} in the greeting, or greeting: true; or remove use_user_name",
            ),
            Phrase::Off | Phrase::On => {
                ("use_user_name has no effect: the style guide has no greeting", "add greeting: true beside it, or remove use_user_name")
            }
        };
        report("formatting", "use_user_name", message, help);
    }
    // Who writes `enabled: false` knows that the rest is off.
    for (section, all) in [("emojis", ["success", "warning", "error", "info"].as_slice()), ("humor", &["style", "frequency"])] {
        let map = keys.get(section).and_then(Node::as_map);
        let has = |key: &str| map.is_some_and(|map| map.entries.iter().any(|(name, _)| name.text == key));
        if let Some(first) = all.iter().find(|key| has(key)).filter(|_| !has("enabled")) {
            let message = format!("{section} has no effect: without enabled: true there is none");
            report(section, first, &message, "add enabled: true beside it, or enabled: false to say that it is off");
        }
    }
}

fn tone(keys: &KeyReader, base: &Tone) -> Tone {
    let Some(tone) = keys.section("tone", &keys::TONE) else { return base.clone() };
    let said = |key, base: &Option<String>| tone.sentence(key).or_else(|| base.clone());
    Tone { default: said("default", &base.default), error: said("error", &base.error), success: said("success", &base.success) }
}

fn emojis(keys: &KeyReader) -> Emojis {
    let section = keys.section("emojis", &keys::EMOJIS);
    let emoji = |key| section.as_ref().and_then(|emojis| emojis.sentence(key));
    Emojis {
        enabled: section.as_ref().and_then(|emojis| emojis.boolean("enabled")).unwrap_or(false),
        success: emoji("success"),
        warning: emoji("warning"),
        error: emoji("error"),
        info: emoji("info"),
    }
}

fn humor(keys: &KeyReader, base: &Humor) -> Humor {
    let Some(humor) = keys.section("humor", &keys::HUMOR) else { return base.clone() };
    Humor {
        enabled: humor.boolean("enabled").unwrap_or(base.enabled),
        style: humor.sentence("style").or_else(|| base.style.clone()),
        frequency: humor.sentence("frequency").or_else(|| base.frequency.clone()),
    }
}

fn formatting(keys: &KeyReader, base: &Formatting) -> Formatting {
    let Some(section) = keys.section("formatting", &keys::FORMATTING) else { return base.clone() };
    Formatting {
        greeting: phrase(&section, "greeting", &base.greeting),
        sign_off: phrase(&section, "sign_off", &base.sign_off),
        use_user_name: section.boolean("use_user_name").unwrap_or(base.use_user_name),
    }
}

fn phrase(keys: &KeyReader, key: &str, base: &Phrase) -> Phrase {
    let Some(node) = keys.get(key) else { return base.clone() };
    match node.as_scalar().map(|scalar| &scalar.value) {
        Some(serde_json::Value::Bool(true)) => Phrase::On,
        Some(serde_json::Value::Bool(false)) => Phrase::Off,
        Some(serde_json::Value::String(text)) => {
            if let Some(word) = node.as_scalar().and_then(truth) {
                let message = format!("{key} {} is a text, which people would read", quoted(text));
                let found = Diagnostic::bad_value(node.span, message).help(format!("write {word}"));
                keys.lower.report(found.proposed_fix(vec![(node.span, word.to_owned())]));
                return Phrase::Off;
            }
            let (fixed, help) = match key {
                "greeting" => (text.replace(PERSON_NAME, ""), "write {name} for the person's name; nothing else is filled in"),
                _ => (text.clone(), "write sign_off: true for the name of the brand, or words without braces"),
            };
            as_it_stands(keys, key, &fixed, help);
            Phrase::Own(text.clone())
        }
        _ => {
            keys.lower.wrong(key, node, "true, false or your own text");
            Phrase::Off
        }
    }
}

fn words(keys: &KeyReader, base: &Words) -> Words {
    let Some(words) = keys.section("words", &keys::WORDS) else { return base.clone() };
    let list = |key, base: &[String]| {
        let one = words.get(key).filter(|node| node.as_list().is_none());
        if let Some((node, text)) = one.and_then(|node| Some((node, node.as_scalar()?.value.as_str()?)))
            && text.contains(',')
        {
            let message = format!("{key} {} is one text with commas in it", quoted(text));
            words.lower.report(Diagnostic::bad_value(node.span, message).help(format!("write a list: [{text}]")));
        }
        words.names(key).map_or_else(|| base.to_vec(), |words| words.into_iter().map(|word| word.value).collect())
    };
    let prefer = words.entries("prefer").filter_map(|(word, node)| Some((word.text.clone(), words.lower.sentence(&word.text, node)?)));
    Words {
        prefer: if words.get("prefer").is_some() { prefer.collect() } else { base.prefer.clone() },
        avoid: list("avoid", &base.avoid),
        banned: list("banned", &base.banned),
    }
}
