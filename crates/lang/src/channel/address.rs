//! Where links lead, and addresses that are in the text.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::clean::{clean, shows};
use super::document::{StyledRun, push};
use super::emphasis::is_cjk;

/// The address a link may lead to: `http`, `https`, `mailto` and `tel`, without white space and control characters. All else
/// (scripts, data, places relative to nothing) is no link.
pub(super) fn target(address: &str) -> Option<Arc<str>> {
    let address: String = clean(address.trim()).0.chars().filter(|c| !matches!(c, '\n' | '\t')).collect();
    // What no address may hold (RFC 3986); and an emoji in it is not one to see, and a channel without emojis would break it.
    let is_foreign = |c: char| is_picture(c) || matches!(c, ' ' | '\\' | '<' | '>' | '"' | '`' | '{' | '}' | '|' | '^');
    let address: String = address.chars().map(|c| if is_foreign(c) { in_percent(c) } else { c.to_string() }).collect();
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto" | "tel")).then(|| Arc::from(address))
}

/// Where a link or an image leads.
pub(super) enum LinkTarget {
    /// An address that a link may have.
    Link(Arc<str>),
    /// Any other address, such as that of a file: it stands after the text.
    Shown(String),
    /// The number of a footnote.
    Footnote,
    /// Nowhere, or to code (`javascript:`, `vbscript:`, `data:`).
    Nothing,
}

impl LinkTarget {
    pub fn from_address(address: &str) -> LinkTarget {
        if let Some(address) = target(address) {
            return LinkTarget::Link(address);
        }
        let address: String = clean(address.trim()).0.chars().filter(|c| !matches!(c, '\n' | '\t')).collect();
        let scheme = address.split_once(':').map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
        match scheme.as_deref() {
            Some("javascript" | "vbscript" | "data") => LinkTarget::Nothing,
            _ if !shows(&address) => LinkTarget::Nothing,
            _ => LinkTarget::Shown(address),
        }
    }
}

fn in_percent(character: char) -> String {
    character.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A character that makes an emoji by itself, or joins one.
fn is_picture(character: char) -> bool {
    matches!(character, '\u{200D}' | '\u{20E3}' | '\u{FE0F}' | '\u{2300}'..='\u{23FF}' | '\u{2600}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Bare addresses in the text are never cut, and links where links are allowed.
pub(super) fn mark_addresses(runs: &mut Vec<StyledRun>) {
    static ADDRESS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)(?:https?://|www\.)[^\s<>"`、。，；：！？（）「」『』【】《》〈〉“”„‘’«»…؛،]+"#).ok());
    let Some(pattern) = ADDRESS.as_ref() else { return };
    if !runs.iter().any(|run| run.link.is_none() && pattern.is_match(&run.text)) {
        return;
    }
    let mut made = vec![];
    for run in runs.drain(..) {
        if run.link.is_some() {
            push(&mut made, run);
            continue;
        }
        let mut at = 0;
        // Inside a word there is none, but in a sentence that is written without blanks.
        let is_apart = |start: usize| run.text[..start].chars().next_back().is_none_or(|c| is_cjk(c) || !c.is_alphanumeric() && c != '_');
        for found in pattern.find_iter(&run.text).filter(|found| is_apart(found.start())) {
            let address = without_closing(without_last_pictures(found.as_str()));
            push(&mut made, StyledRun { text: run.text[at..found.start()].to_owned(), ..run.clone() });
            let link = if run.style.code { None } else { target(address) };
            // An emoji inside is written as addresses write it: a channel without emojis would break it.
            let text: String = match link {
                Some(_) => address.chars().map(|c| if is_picture(c) { in_percent(c) } else { c.to_string() }).collect(),
                None => address.to_owned(),
            };
            push(&mut made, StyledRun { text, link, whole: true, style: run.style });
            at = found.start() + address.len();
        }
        push(&mut made, StyledRun { text: run.text[at..].to_owned(), ..run });
    }
    *runs = made;
}

/// An address without the emojis at its end, which belong to the sentence.
fn without_last_pictures(address: &str) -> &str {
    match address.find(is_picture) {
        Some(first) if !address[first..].contains(|c: char| c.is_ascii_alphanumeric()) => &address[..first],
        _ => address,
    }
}

/// An address in running text without the punctuation that belongs to the sentence.
fn without_closing(address: &str) -> &str {
    let mut address = address;
    while let Some(last) = address.chars().next_back() {
        let sentence = matches!(last, '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '"' | '*' | '_' | '~' | ']' | '}' | '–' | '—');
        let unpaired = last == ')' && address.matches(')').count() > address.matches('(').count();
        if !sentence && !unpaired {
            break;
        }
        address = &address[..address.len() - last.len_utf8()];
    }
    address
}
