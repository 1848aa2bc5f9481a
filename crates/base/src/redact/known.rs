//! The values that are known to be secret or personal, and the forms in which they turn up.

use std::collections::HashSet;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::PiiKind;
use super::alike::alike_value;
use super::common::is_common;
use super::encoded::{bare, quotes, seen};

/// A secret shorter than this would mask half of every text; it is not looked for.
const SHORTEST_SECRET: usize = 4;
/// Encoded forms shorter than this are found by chance.
const SHORTEST_FORM: usize = 6;
/// A text longer than this is no address, in bytes.
const LONGEST_ADDRESS: usize = 160;
/// Bytes of patterns up to which the fast form of the automaton is made; it takes some hundred times as much memory.
const MOST_FAST: usize = 1 << 15;

/// A personal value as it was made known.
#[derive(Debug, Clone)]
pub(super) struct PersonalValue {
    pub kind: PiiKind,
    pub text: String,
    /// Its words count by themselves.
    pub is_name: bool,
}

/// Values to find, as one automaton.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownValues {
    finder: Option<AhoCorasick>,
    /// Of each pattern: whose it is.
    owners: Arc<Vec<usize>>,
    /// The patterns themselves, where their beginnings are looked for, too.
    patterns: Vec<String>,
    /// Whether one has a sign that quotes, or before which a shell writes one that does.
    pub has_quotes: bool,
    /// Bytes of the longest pattern.
    pub longest: usize,
}

impl KnownValues {
    /// Secrets, in all the forms of [`secret_forms`].
    pub fn secrets(secrets: impl Iterator<Item = String>) -> KnownValues {
        let forms = |(owner, secret): (usize, String)| secret_forms(&secret).into_iter().map(move |form| (form, owner));
        let mut has_quotes = false;
        let seen = secrets.inspect(|secret| has_quotes |= secret.contains(|c| quotes(c) || "&|<>()!".contains(c)));
        let forms: Vec<_> = seen.enumerate().flat_map(forms).collect();
        let patterns = forms.iter().map(|(form, _)| form.clone()).collect();
        KnownValues { patterns, has_quotes, ..KnownValues::build(forms.into_iter(), false) }
    }

    /// Whether a secret begins with this text and continues.
    pub fn begins(&self, text: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.len() > text.len() && pattern.starts_with(text))
    }

    /// How much of the beginning of a text is the end of a secret, in bytes: the words that are left of it behind a cut.
    pub fn ended(&self, text: &str) -> usize {
        let ends = self
            .patterns
            .iter()
            .flat_map(|pattern| pattern.match_indices(char::is_whitespace).map(|(at, blank)| &pattern[at + blank.len()..]));
        ends.filter(|end| text.starts_with(end)).map(str::len).max().unwrap_or(0)
    }

    /// Personal values, whose owners are their places.
    pub fn personal(values: &[PersonalValue]) -> KnownValues {
        let forms = |(owner, value): (usize, &PersonalValue)| spellings(value).into_iter().map(move |form| (form, owner));
        KnownValues::build(values.iter().enumerate().flat_map(forms), true)
    }

    /// Words of names that are common words too, as they are written and in capitals.
    pub fn exact(values: &[PersonalValue]) -> KnownValues {
        let forms = |(owner, value): (usize, &PersonalValue)| {
            let words = words_of_name(value).filter(|word| is_common(word) && word.starts_with(char::is_uppercase));
            let forms: Vec<String> = words.flat_map(|word| [word.to_owned(), word.to_uppercase()]).collect();
            forms.into_iter().map(move |form| (form, owner))
        };
        KnownValues::build(values.iter().enumerate().flat_map(forms), false)
    }

    fn build(patterns: impl Iterator<Item = (String, usize)>, any_case: bool) -> KnownValues {
        let mut seen = HashSet::new();
        let (patterns, owners): (Vec<String>, Vec<usize>) = patterns.filter(|(pattern, _)| seen.insert(pattern.clone())).unzip();
        let longest = patterns.iter().map(String::len).max().unwrap_or(0);
        let finder = match patterns.is_empty() {
            true => None,
            // Cannot fail for patterns that fit into memory: the only error is one of size.
            false => {
                let bytes: usize = patterns.iter().map(String::len).sum();
                let kind = (bytes <= MOST_FAST).then_some(AhoCorasickKind::DFA);
                AhoCorasickBuilder::new().ascii_case_insensitive(any_case).kind(kind).build(&patterns).ok()
            }
        };
        KnownValues { finder, owners: Arc::new(owners), patterns: vec![], has_quotes: false, longest }
    }

    /// Where the values stand, with their owners; places may overlap.
    pub fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (std::ops::Range<usize>, usize)> + 'a {
        let found = self.finder.iter().flat_map(move |finder| finder.find_overlapping_iter(text));
        found.filter_map(|found| Some((found.range(), *self.owners.get(found.pattern().as_usize())?)))
    }
}

/// A secret as it is, and as it looks in a web address, in JSON, in HTML, in hex and inside base64. None of one that is too short to be
/// looked for.
pub(crate) fn secret_forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    if secret.len() < SHORTEST_SECRET {
        return vec![];
    }
    let mut forms = vec![secret.to_owned()];
    // As it is read where unseen characters or signs that quote are left out, its own too.
    let read = seen::<()>(secret).into_iter().chain(bare(secret)).map(|read| read.text);
    forms.extend(read.filter(|read| super::is_recognised(read)));
    // Letters with their accents as one character, and as two.
    if !secret.is_ascii() {
        forms.extend([secret.nfc().collect::<String>(), secret.nfd().collect()]);
        forms.extend(misread(secret));
    }
    let json = Value::String(secret.to_owned()).to_string();
    forms.push(json[1..json.len() - 1].to_owned());
    forms.push(json[1..json.len() - 1].replace('/', "\\/"));
    forms.push(
        secret
            .chars()
            .map(|c| {
                if c.is_ascii() { c.to_string() } else { c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect() }
            })
            .collect(),
    );
    let percent = |keep: &dyn Fn(u8) -> bool, upper: bool| -> String {
        let escape = |byte: u8| if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
        secret
            .bytes()
            .map(|byte| if byte.is_ascii_alphanumeric() || keep(byte) { char::from(byte).to_string() } else { escape(byte) })
            .collect()
    };
    for upper in [true, false] {
        forms.push(percent(&|byte| matches!(byte, b'-' | b'.' | b'_' | b'~'), upper));
        // In a path a slash stays.
        forms.push(percent(&|byte| matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/'), upper));
        forms.push(percent(&|byte| matches!(byte, b'-' | b'.' | b'_' | b'~' | b'!' | b'*' | b'\'' | b'(' | b')'), upper));
        forms.push(percent(&|byte| matches!(byte, b'-' | b'.' | b'_' | b'*'), upper).replace("%20", "+"));
    }
    forms.push(secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;"));
    let hex = hex::encode(secret);
    forms.push(hex.to_uppercase());
    forms.push(hex);
    for offset in 0..3 {
        forms.extend(inside_base64(secret, offset));
    }
    forms.retain(|form| form == secret || form.len() >= SHORTEST_FORM);
    forms
}

/// What becomes of letters beyond ASCII in a program that takes UTF-8 for Latin-1 or Windows-1252, or that has no sign for them and writes `?`, U+FFFD,
/// nothing, or (as a text is read here) a blank, for each letter or each byte.
fn misread(secret: &str) -> Vec<String> {
    let by_byte =
        |other: &dyn Fn(u8) -> char| secret.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { other(byte) }).collect();
    let mut forms: Vec<String> = vec![by_byte(&char::from), by_byte(&windows_1252)];
    let left: String = secret.chars().filter(char::is_ascii).collect();
    if super::is_recognised(&left) {
        for sign in ['?', '\u{FFFD}', ' '] {
            forms.extend([by_byte(&|_| sign), secret.chars().map(|c| if c.is_ascii() { c } else { sign }).collect()]);
        }
        forms.push(left);
    }
    forms
}

/// A byte beyond ASCII in Windows-1252 (WHATWG Encoding); those without a sign stay what they are in Latin-1.
fn windows_1252(byte: u8) -> char {
    const SIGNS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•',
        '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    SIGNS.get(usize::from(byte).wrapping_sub(0x80)).copied().unwrap_or(char::from(byte))
}

/// The letters that a secret always gives inside base64 when so many bytes (mod 3) are before it: those that depend on its
/// neighbours are left out. In the usual and the web alphabet.
fn inside_base64(secret: &str, offset: usize) -> [String; 2] {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret.as_bytes());
    let skip = [0, 2, 3][offset];
    let sure = bytes.len() * 8 / 6;
    [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)].map(|form| form.get(skip..sure).unwrap_or_default().to_owned())
}

/// A personal value and what of it counts by itself, in the cases and normal forms that occur.
fn spellings(value: &PersonalValue) -> Vec<String> {
    let whole: String = value.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut texts: Vec<&str> = if is_searched(&whole) { vec![value.text.trim(), &whole] } else { vec![] };
    texts.extend(words_of_name(value).filter(|word| !is_common(word)));
    match value.kind {
        PiiKind::Person => texts.extend(parts(&value.text)),
        // Not the domain, which is everybody's.
        PiiKind::Email => {
            let local = whole.split_once('@').map(|(local, _)| local);
            texts.extend(local.filter(|local| is_telling_word(local) && !is_common(local)));
        }
        _ => {}
    }
    let mut forms = vec![];
    for text in texts.into_iter().filter(|text| is_telling(text)) {
        for text in [text.nfc().collect::<String>(), text.nfd().collect()] {
            // The search itself knows the case of A to Z.
            if text.is_ascii() { forms.push(text.to_lowercase()) } else { forms.extend([text.to_lowercase(), text.to_uppercase(), text]) }
        }
        // As it is in a text that is read in one form.
        forms.extend(Some(alike_value(text)).filter(|text| is_telling(text) && (text.contains(' ') || !is_common(text))));
    }
    forms
}

/// The words of a name, of two letters and more.
fn words_of_name(value: &PersonalValue) -> impl Iterator<Item = &str> {
    let words = value.text.unicode_words().filter(|word| is_telling_word(word) || is_short_name(word));
    words.filter(|_| value.is_name)
}

/// A word of two letters: `Bo`, `Li`.
fn is_short_name(word: &str) -> bool {
    word.chars().count() == 2 && word.chars().all(char::is_alphabetic)
}

/// What of a value counts by itself though it is no name: the parts of an address, long numbers.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_address = |part: &&str| part.contains(' ') && part.contains(|c: char| c.is_ascii_digit()) && part.contains(char::is_alphabetic);
    let parts = text.split([',', '\n']).map(str::trim).filter(|_| text.len() <= LONGEST_ADDRESS).filter(is_address);
    let numbers = text.unicode_words().filter(|word| word.bytes().filter(u8::is_ascii_digit).count() >= 5);
    parts.chain(numbers)
}

/// Whether a value is looked for in texts, beside its own place: it has two letters or three digits, and is not one common word. Masking
/// every `no`, `7` and `male` would leave no text readable. (The common words of a name are found where they stand as one.)
fn is_searched(text: &str) -> bool {
    is_telling(text) && (text.contains(' ') || !is_common(text))
}

/// Two letters, or three digits.
fn is_telling(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 2 || text.chars().any(is_wide) || text.chars().filter(char::is_ascii_digit).count() >= 3
}

/// A word of a name that is masked by itself: three letters, or five digits; one sign in scripts that write words so.
fn is_telling_word(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 3 || word.chars().filter(char::is_ascii_digit).count() >= 5 || word.chars().filter(|c| is_wide(*c)).count() >= 2
}

/// Written without spaces between words.
pub(super) fn is_wide(character: char) -> bool {
    matches!(character, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}
