//! Characters nobody can see (F023), and the text the parser gets to read in their place.

use std::borrow::Cow;

use super::findings;
use crate::diagnostic::{Diagnostic, escaped};
use crate::source::{FileId, SourceFile, Span};

/// Reports the first hidden character of each line.
pub(super) fn check(file: FileId, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) {
    for line in 1..=source.line_count() {
        let text = source.line(line);
        if text.bytes().all(|b| b.is_ascii_graphic() || b == b' ' || b == b'\t') {
            continue;
        }
        let start = source.line_start(line);
        let right_to_left = text.chars().any(is_right_to_left);
        let mut before = None;
        for (at, c) in text.char_indices() {
            let rest = text.get(at + c.len_utf8()..).unwrap_or("");
            let Some(what) = what_it_does(c, start + at, before.replace(c), rest, right_to_left) else { continue };
            let help = match c {
                // Nobody wants one: it stays behind where files or pieces of them were joined.
                '\u{feff}' => "delete the text around it and type it again; it came with pasted or joined text".to_owned(),
                _ => format!("remove it, or write it as {} in double quotes", escaped(c)),
            };
            let message = format!("line {line} holds an invisible character, {what} (U+{:04X})", c as u32);
            diagnostics.push(findings::hidden(Span::new(file, start + at, start + at + c.len_utf8()), message).help(help));
            break;
        }
    }
}

/// What a hidden character does, or nothing if it is one that belongs where it stands; `at` is its place in the file.
fn what_it_does(c: char, at: usize, before: Option<char>, rest: &str, right_to_left: bool) -> Option<&'static str> {
    const NO_WIDTH: Option<&str> = Some("which takes no room");
    let after = rest.chars().next();
    match c {
        '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some("which some programs read as a line end"),
        '\u{feff}' if at == 0 => None,
        '\u{feff}' => Some("which some programs put at the start of a file"),
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => Some("a control character"),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some("which reverses text"),
        '\u{200e}' | '\u{200f}' | '\u{61c}' if right_to_left => None,
        '\u{200d}' if before.is_some_and(is_pictograph) && after.is_some_and(is_pictograph) => None,
        '\u{200c}' | '\u{200d}' if before.is_some_and(is_joining) => None,
        '\u{200b}' if before.is_some_and(is_unspaced) => None,
        '\u{200b}'..='\u{200f}' | '\u{61c}' | '\u{180e}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{ffa0}' => {
            NO_WIDTH
        }
        '\u{e0020}'..='\u{e007f}' if is_in_flag(c, before, rest) => None,
        '\u{e0000}'..='\u{e007f}' => Some("which can carry hidden text"),
        '\u{fe00}'..='\u{fe0f}' if !before.is_some_and(is_selector) => None,
        '\u{e0100}'..='\u{e01ef}' if before.is_some_and(is_ideograph) => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Some("which can carry hidden text"),
        _ => None,
    }
}

/// Hebrew, Arabic and their neighbours, where direction marks have work to do.
fn is_right_to_left(c: char) -> bool {
    c != '\u{61c}' && matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Scripts whose letters join: Arabic, Syriac, NKo, Mandaic, the Indic scripts, Tibetan, Myanmar, Khmer, Mongolian.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{77f}' | '\u{7c0}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Scripts without spaces between words, where U+200B says where a line may break.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{20e3}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a tag character continues a flag: U+1F3F4, three to six tag letters or digits, U+E007F.
fn is_in_flag(c: char, before: Option<char>, rest: &str) -> bool {
    match before {
        // The whole flag is looked at from its first tag; the others follow one that was found right.
        Some('\u{1f3f4}') => {
            let mut tags = std::iter::once(c).chain(rest.chars());
            let letters = tags.by_ref().take(7).take_while(|t| matches!(t, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}')).count();
            let end = std::iter::once(c).chain(rest.chars()).nth(letters);
            (3..=6).contains(&letters) && end == Some('\u{e007f}')
        }
        Some('\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}') => true,
        _ => false,
    }
}

/// The text for the parser: characters it would stop at, all reported by [`check`], become others of the same length in
/// bytes, so that every place stays where it is.
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    let stops = |at: usize, c: char| match c {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\u{feff}' => at > 0,
        _ => matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'),
    };
    if !text.char_indices().any(|(at, c)| stops(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\u{feff}' if stops(at, c) => out.push('\u{200b}'),
            _ if stops(at, c) => out.extend(std::iter::repeat_n('_', c.len_utf8())),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}
