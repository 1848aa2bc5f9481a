//! Style guide files.

use super::channels::as_it_stands;
use super::context::{Lower, quoted};
use super::keys;
use super::other_shapes::truth;
use super::reader::KeyReader;
use super::world::World;
use crate::diagnostic::Diagnostic;
use crate::model::{Emojis, Formatting, Humor, Phrase, StyleGuide, Tone, Words};
use crate::source::FileId;
use crate::syntax::Node;

/// Reads a style guide file; `None` if it has no name by which it could be called.
pub fn style_guide(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Option<StyleGuide> {
    let lower = Lower::new(file, world, diagnostics);
    let keys = lower.root(tree, &keys::STYLE_GUIDE, "this style guide")?;
    let name = keys.get("style_guide").and_then(|node| lower.new_id("style guide", node));
    let guide = StyleGuide {
        name: String::new(),
        span: keys.span,
        version: keys.get("version").and_then(|node| lower.loose_text("version", node)).map(|text| text.source.to_string()),
        brand_name: keys.sentence("brand_name"),
        personality: keys.sentence("personality"),
        tone: tone(&keys),
        emojis: emojis(&keys),
        humor: humor(&keys),
        formatting: formatting(&keys),
        words: words(&keys),
    };
    without_effect(&keys, &guide);
    name.map(|name| StyleGuide { name: name.value, span: name.span, ..guide })
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
                "use_user_name has no effect: a greeting of your own is sent as it is written",
                "write greeting: true, or remove use_user_name",
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

fn tone(keys: &KeyReader) -> Tone {
    let Some(tone) = keys.section("tone", &keys::TONE) else { return Tone::default() };
    Tone { default: tone.sentence("default"), error: tone.sentence("error"), success: tone.sentence("success") }
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

fn humor(keys: &KeyReader) -> Humor {
    let Some(humor) = keys.section("humor", &keys::HUMOR) else { return Humor::default() };
    Humor { enabled: humor.boolean("enabled").unwrap_or(false), style: humor.sentence("style"), frequency: humor.sentence("frequency") }
}

fn formatting(keys: &KeyReader) -> Formatting {
    let Some(section) = keys.section("formatting", &keys::FORMATTING) else { return Formatting::default() };
    Formatting {
        greeting: phrase(&section, "greeting"),
        sign_off: phrase(&section, "sign_off"),
        use_user_name: section.boolean("use_user_name").unwrap_or(false),
    }
}

fn phrase(keys: &KeyReader, key: &str) -> Phrase {
    let Some(node) = keys.get(key) else { return Phrase::Off };
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
            let help = match key {
                "greeting" => "write greeting: true and use_user_name: true for \"Hi\" and the person's name, or words without braces",
                _ => "write sign_off: true for the name of the brand, or words without braces",
            };
            as_it_stands(keys, key, text, help);
            Phrase::Own(text.clone())
        }
        _ => {
            keys.lower.wrong(key, node, "true, false or your own text");
            Phrase::Off
        }
    }
}

fn words(keys: &KeyReader) -> Words {
    let Some(words) = keys.section("words", &keys::WORDS) else { return Words::default() };
    let list = |key| {
        let one = words.get(key).filter(|node| node.as_list().is_none());
        if let Some((node, text)) = one.and_then(|node| Some((node, node.as_scalar()?.value.as_str()?)))
            && text.contains(',')
        {
            let message = format!("{key} {} is one text with commas in it", quoted(text));
            words.lower.report(Diagnostic::bad_value(node.span, message).help(format!("write a list: [{text}]")));
        }
        words.names(key).unwrap_or_default().into_iter().map(|word| word.value).collect()
    };
    Words {
        prefer: words
            .entries("prefer")
            .filter_map(|(word, node)| Some((word.text.clone(), words.lower.sentence(&word.text, node)?)))
            .collect(),
        avoid: list("avoid"),
        banned: list("banned"),
    }
}
