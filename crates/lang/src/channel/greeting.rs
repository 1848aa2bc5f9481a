//! The greeting and the sign-off of a style guide.

use unicode_segmentation::UnicodeSegmentation;

use super::clean::{clean, shows};
use super::document::{BlockKind, DocumentBlock, StyledRun, each_text, plain, replace};
use super::parse::parse;
use super::salutation::opening;
use crate::model::{PERSON_NAME, Phrase, StyleGuide};

/// Words that greet when `greeting` is simply `true`.
const GREETINGS: [&str; 3] = ["hello", "hi", "hey"];

/// The greeting of the style guide as it would be written; `None`: no greeting.
pub fn greeting(style: &StyleGuide, person_name: Option<&str>) -> Option<String> {
    match &style.formatting.greeting {
        Phrase::Off => None,
        Phrase::Own(text) => Some(named(text.trim(), person_name)),
        Phrase::On => Some(match greeted_name(person_name).filter(|_| style.formatting.use_user_name) {
            Some(name) => format!("Hi {name},"),
            None => "Hello,".to_owned(),
        }),
    }
    .filter(|text| !text.is_empty())
}

/// The sign-off of the style guide; `None`: no sign-off.
pub fn sign_off(style: &StyleGuide) -> Option<String> {
    match &style.formatting.sign_off {
        Phrase::Off => None,
        Phrase::Own(text) => Some(text.trim().to_owned()),
        Phrase::On => style.brand_name.as_ref().map(|brand| brand.trim().to_owned()),
    }
    .filter(|text| !text.is_empty())
}

/// A greeting with the person's name in its place; without a name, the place goes with the blank before it.
fn named(text: &str, person_name: Option<&str>) -> String {
    match greeted_name(person_name) {
        Some(name) => text.replace(PERSON_NAME, &name),
        None => {
            let without = text.replace(&format!(" {PERSON_NAME}"), "").replace(PERSON_NAME, "");
            without.trim_start_matches([',', ' ', '!', '.', ':']).to_owned()
        }
    }
}

fn greeted_name(person_name: Option<&str>) -> Option<String> {
    person_name.map(given_name).filter(|name| !name.is_empty())
}

/// How a person is greeted: by the first word of the name. By the whole name where the first word is only a letter or a title (`Dr.`),
/// or the family name: before a comma, and in Chinese, Japanese and Korean writing. One line, no hidden characters.
fn given_name(name: &str) -> String {
    let name = clean(name).0.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = name.split(' ').next().unwrap_or_default();
    let is_given = !first.ends_with(['.', ',']) && first.graphemes(true).count() > 1 && !name.chars().any(puts_family_first);
    if is_given { first.to_owned() } else { name }
}

/// Kana, Han and Hangul.
fn puts_family_first(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Whether a text already begins with the greeting, whatever its case and punctuation. With `greeting: true` any of `Hello`, `Hi`,
/// `Hey` as the first word will do.
pub(crate) fn is_greeted(text: &str, style: &StyleGuide, greeting: &str) -> bool {
    let said = words(greeting);
    let begins = words_within(text, said.len());
    let usual = style.formatting.greeting == Phrase::On && GREETINGS.iter().any(|word| begins_with_word(text, word));
    usual || !said.is_empty() && begins == said
}

/// Whether a text greets at all, as far as can be known: its first word is one of `Hello`, `Hi`, `Hey`, `Dear`, or it opens as letters do.
pub fn greets(text: &str) -> bool {
    GREETINGS.iter().chain(&["dear"]).any(|word| begins_with_word(text, word)) || opening(text).is_some()
}

/// A text without the greeting that it begins with.
pub(crate) fn without_greeting<'t>(text: &'t str, greeting: &str) -> &'t str {
    let said = words(greeting);
    if words_within(text, said.len()) != said {
        return text;
    }
    let last = text.split_word_bound_indices().filter(|(_, word)| is_word(word)).nth(said.len().saturating_sub(1));
    let rest = last.map_or(text, |(at, word)| &text[at + word.len()..]);
    rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '!' | '.' | ':' | ';'))
}

/// A text without the sign-off that it ends with.
pub(crate) fn without_sign_off<'t>(text: &'t str, sign_off: &str) -> &'t str {
    if !is_signed(text, sign_off) {
        return text;
    }
    let first = text.split_word_bound_indices().rev().filter(|(_, word)| is_word(word)).nth(words(sign_off).len().saturating_sub(1));
    first.map_or(text, |(at, _)| text[..at].trim_end())
}

/// Whether a text already ends with the sign-off, whatever its case and punctuation.
pub(crate) fn is_signed(text: &str, sign_off: &str) -> bool {
    let said = words(sign_off);
    let mut ends: Vec<String> =
        text.split_word_bounds().rev().filter(|word| is_word(word)).take(said.len()).map(str::to_lowercase).collect();
    ends.reverse();
    !said.is_empty() && ends == said
}

/// Adds greeting and sign-off to a document that is not empty, unless they are there.
pub(super) fn add(blocks: &mut Vec<DocumentBlock>, style: &StyleGuide, person_name: Option<&str>) {
    let shown = || blocks.iter().filter(|block| block.shows(shows)).map(|block| plain(&block.runs));
    let (Some(first), Some(last)) = (shown().next(), shown().next_back()) else { return };
    if let Some(sign_off) = sign_off(style).filter(|sign_off| !is_signed(&last, sign_off)) {
        blocks.extend(own(&sign_off, true, None));
    }
    if let Some(greeting) = greeting(style, person_name).filter(|greeting| !is_greeted(&first, style, greeting)) {
        let name = greeted_name(person_name);
        let mut made = match &style.formatting.greeting {
            Phrase::Own(text) if let Some(name) = &name => own(text.trim(), true, Some(name)),
            Phrase::Own(_) => own(&greeting, true, None),
            Phrase::On | Phrase::Off => own(&greeting, false, None),
        };
        if let Some(last) = made.last_mut() {
            last.keep = true;
        }
        if let Some(first) = blocks.first_mut() {
            first.tight = false;
        }
        blocks.splice(0..0, made);
    }
}

/// The blocks of a greeting or sign-off. The author's text may have Markdown; a name is only a name.
fn own(text: &str, is_markdown: bool, name: Option<&str>) -> Vec<DocumentBlock> {
    if is_markdown {
        // Ids of lists and tables do not matter: what an author greets with stands apart from the text.
        let mut blocks = parse(text).0;
        blocks.iter_mut().for_each(|block| {
            block.items.clear();
            if let BlockKind::Heading(_) = block.kind {
                block.kind = BlockKind::Paragraph;
            }
        });
        blocks.retain(|block| !matches!(block.kind, BlockKind::Row(_) | BlockKind::Rule));
        if let Some(name) = name {
            each_text(&mut blocks, true, |runs: &mut Vec<StyledRun>| {
                let text = plain(runs);
                let places = text.match_indices(PERSON_NAME).map(|(at, place)| (at..at + place.len(), name.to_owned()));
                let places: Vec<_> = places.collect();
                replace(runs, &places);
            });
        }
        blocks
    } else {
        vec![DocumentBlock::paragraph(vec![StyledRun::plain(text)])]
    }
}

fn is_word(part: &str) -> bool {
    part.chars().any(char::is_alphanumeric)
}

fn words(text: &str) -> Vec<String> {
    words_within(text, usize::MAX)
}

fn words_within(text: &str, most: usize) -> Vec<String> {
    text.split_word_bounds().filter(|word| is_word(word)).take(most).map(str::to_lowercase).collect()
}

/// The first word, followed by white space, punctuation or the end; `Hi-fi` does not begin with `hi`.
fn begins_with_word(text: &str, word: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let Some(head) = text.get(..word.len()) else { return false };
    let next = text[word.len()..].chars().next();
    head.eq_ignore_ascii_case(word) && next.is_none_or(|next| next.is_whitespace() || matches!(next, ',' | '!' | '.' | ':' | ';'))
}
