//! Signs that mean something in Markdown and nothing to the person who wrote them: each gets a stand-in that Markdown does not know, and is
//! itself again once the text is read. Bold, italic and struck text are read by [`emphasis`](super::emphasis), so their signs all get one.
//!
//! No other sign of the text changes, so nothing can be lost here: what is not certainly a mark is text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::tags::{self, Pairs, TagEnds};

/// The signs, and the first of their stand-ins: noncharacters of Unicode (U+FDD0 to U+FDEF), which no text that is sent may hold.
const SIGNS: [char; 11] = ['*', '_', '~', '\\', '>', '-', '+', '=', ']', '|', '<'];
const FIRST: char = '\u{FDD0}';
/// In place of such a noncharacter in the text itself.
const FOREIGN: char = '\u{FFFD}';

fn stand_in(sign: char) -> char {
    let place = SIGNS.iter().position(|known| *known == sign).and_then(|place| u32::try_from(place).ok());
    place.and_then(|place| char::from_u32(FIRST as u32 + place)).unwrap_or(sign)
}

/// The sign that a character stands for.
pub(super) fn sign_of(character: char) -> Option<char> {
    (character as u32).checked_sub(FIRST as u32).and_then(|place| SIGNS.get(place as usize)).copied()
}

/// A text with its own signs again.
pub(super) fn restored(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| sign_of(c).is_some()) {
        Cow::Owned(text.chars().map(|c| sign_of(c).unwrap_or(c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A text whose signs have stand-ins, and where these are.
pub(super) struct Guarded {
    pub(super) text: String,
    /// The bytes of the guarded text behind which it is longer than the source, and by how much.
    longer: Vec<(usize, usize)>,
}

impl Guarded {
    /// Of a text, as it was written.
    pub(super) fn from_text(text: &str) -> Guarded {
        let source: Cow<'_, str> = match text.chars().any(|c| sign_of(c).is_some()) {
            true => text.chars().map(|c| if sign_of(c).is_some() { FOREIGN } else { c }).collect::<String>().into(),
            false => text.into(),
        };
        let guard = SignReader {
            text: &source,
            pairs: Pairs::from_text(&source),
            ends: TagEnds::from_html(&source),
            at: vec![],
            footnote: footnote(&source),
        };
        let at = guard.places();
        let mut guarded = Guarded { text: String::with_capacity(source.len() + 2 * at.len()), longer: Vec::with_capacity(at.len()) };
        let mut from = 0;
        for place in at {
            let sign = source[place..].chars().next().unwrap_or_default();
            guarded.text.push_str(&source[from..place]);
            guarded.text.push(stand_in(sign));
            from = place + sign.len_utf8();
            guarded.longer.push((guarded.text.len(), guarded.text.len() - from));
        }
        guarded.text.push_str(&source[from..]);
        guarded
    }

    /// The byte of the source for one of the guarded text.
    pub(super) fn in_source(&self, at: usize) -> usize {
        let before = self.longer.partition_point(|(end, _)| *end <= at);
        at - before.checked_sub(1).and_then(|index| self.longer.get(index)).map_or(0, |(_, by)| *by)
    }
}

struct SignReader<'t> {
    text: &'t str,
    pairs: Pairs,
    ends: TagEnds,
    /// The bytes at which signs get a stand-in.
    at: Vec<usize>,
    /// A `*` behind a word waits for its note.
    footnote: bool,
}

/// A line of a block: what stands before and behind it decides what its first sign is.
struct BlockLine<'t> {
    at: usize,
    text: &'t str,
    before: &'t str,
    after: &'t str,
    /// Signs at the start of the lines around it, up to an empty one, add and take away.
    in_sum: bool,
    /// It goes on with a quote.
    in_quote: bool,
}

impl SignReader<'_> {
    fn places(mut self) -> Vec<usize> {
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let sums = sums(&lines);
        let mut start = 0;
        let mut in_quote = false;
        for (index, text) in lines.iter().enumerate() {
            let line = |index: Option<usize>| index.and_then(|index| lines.get(index)).copied().unwrap_or_default();
            let (before, after) = (line(index.checked_sub(1)), line(index.checked_add(1)));
            let in_sum = sums.get(index).is_some_and(|is| *is);
            let from = self.line_start(&BlockLine { at: start, text, before, after, in_sum, in_quote });
            in_quote = text.trim_start().starts_with('>') && !self.at.contains(&(start + text.len() - text.trim_start().len()));
            self.inside(from.unwrap_or(start + text.len()), start + text.len());
            start += text.len();
        }
        self.at.sort_unstable();
        self.at.dedup();
        self.at
    }

    /// Signs that begin a block. Gives where the text of the line begins; `None`: it has none.
    fn line_start(&mut self, line: &BlockLine<'_>) -> Option<usize> {
        let whole = line.text.trim();
        if is_rule(whole) {
            return None;
        }
        // One or two signs between lines are no underline of a heading, and begin no list.
        let is_between = [line.before, line.after].iter().any(|other| other.contains(char::is_alphanumeric));
        if is_between && matches!(whole, "=" | "==" | "-" | "--" | "+" | "*") {
            let from = line.at + line.text.len() - line.text.trim_start().len();
            self.at.extend(from..from + whole.len());
            return None;
        }
        let mut rest = line.text;
        loop {
            rest = rest.trim_start_matches([' ', '\t']);
            let at = line.at + line.text.len() - rest.len();
            let Some(sign) = rest.chars().next() else { return Some(at) };
            let inner = &rest[sign.len_utf8()..];
            match sign {
                '>' if is_comparison(inner) && !line.in_quote => self.at.push(at),
                '>' => {
                    rest = inner;
                    continue;
                }
                '*' | '-' | '+' if inner.starts_with([' ', '\t']) && !inner.trim().is_empty() => {
                    let is_text = match sign {
                        '*' => is_of_signs(inner) || self.footnote && is_alone(line),
                        '-' => line.in_sum,
                        _ => line.in_sum || begins_with_figure(inner),
                    };
                    if !is_text {
                        rest = inner;
                        continue;
                    }
                    self.at.push(at);
                    return Some(at + 1);
                }
                '~' if rest.starts_with("~~~") => return Some(at + rest.len() - rest.trim_start_matches('~').len()),
                _ => {
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                    let inner = rest.get(digits + 1..).filter(|inner| {
                        (1..=9).contains(&digits) && rest[digits..].starts_with(['.', ')']) && inner.starts_with([' ', '\t'])
                    });
                    match inner {
                        Some(inner) => {
                            rest = inner;
                            continue;
                        }
                        None => return Some(at),
                    }
                }
            }
            return Some(at + sign.len_utf8());
        }
    }

    /// Signs within a line.
    fn inside(&mut self, from: usize, to: usize) {
        let mut at = from;
        let mut is_in_code = None;
        while at < to {
            let rest = &self.text[at..];
            let Some(sign) = rest.chars().next() else { return };
            let mut length = sign.len_utf8();
            match sign {
                '`' => {
                    length = rest.len() - rest.trim_start_matches('`').len();
                    is_in_code = match is_in_code {
                        None => has_run(&self.text[at + length..to], length).then_some(length),
                        Some(open) if open == length => None,
                        open => open,
                    };
                }
                '\\' if is_in_code.is_some() || self.is_backslash(at) => self.at.push(at),
                // What it escapes stays as it is.
                '\\' => length += rest[1..].chars().next().filter(char::is_ascii_punctuation).map_or(0, char::len_utf8),
                '*' | '_' | '~' => self.at.push(at),
                ']' if !leads_somewhere(&rest[1..]) => self.at.push(at),
                '|' if is_in_code.is_some() => self.at.push(at),
                '<' if is_in_code.is_none() => match self.tag(at) {
                    Some(tag) => length = tag,
                    None if self.is_named_tag(at) => self.at.push(at),
                    None => {}
                },
                _ => {}
            }
            at += length;
        }
    }

    /// How long a tag or an address between `<` and `>` is.
    fn tag(&self, at: usize) -> Option<usize> {
        static ADDRESS: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"^<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>").ok());
        let rest = &self.text[at..];
        let address = || ADDRESS.as_ref().and_then(|pattern| pattern.find(rest)).map(|found| found.len());
        if self.is_named_tag(at) { None } else { tags::length(self.text, at, &self.pairs, &self.ends).or_else(address) }
    }

    /// Whether a sentence names a tag whose content would be left out: `between <script> and </script>`.
    fn is_named_tag(&self, at: usize) -> bool {
        let is_blank = |c: Option<char>| c.is_some_and(|c| c == ' ' || c == '\u{A0}');
        let rest = &self.text[at + 1..];
        let end = rest.bytes().take(12).position(|byte| byte == b'>');
        let Some((name, after)) = end.and_then(|end| Some((rest.get(..end)?, rest.get(end + 1..)?))) else { return false };
        let is_closed = |c: char| c.is_whitespace() || ".,;:!?)".contains(c);
        tags::hides(&name.trim_start_matches('/').to_ascii_lowercase())
            && is_blank(self.text[..at].chars().next_back())
            && after.chars().next().is_none_or(is_closed)
            && !after.starts_with('\n')
    }

    /// Whether a backslash is one itself, and escapes nothing: in paths of Windows, before a sign that means nothing here.
    fn is_backslash(&self, at: usize) -> bool {
        let (before, after) = (&self.text[..at], &self.text[at + 1..]);
        let Some(next) = after.chars().next() else { return true };
        if next == '\n' || next == '\r' {
            return is_in_path(self.text, at);
        }
        let is_escape = "\\`*_{}[]()#+-.!|~<>&$=\"':".contains(next);
        // `ACME\$pc1`: only what is escaped within words.
        let is_in_word = before.ends_with(char::is_alphanumeric) && "${}=\"'".contains(next);
        !is_escape || is_in_word || is_in_path(self.text, at)
    }
}

/// Whether so many backticks close a code.
fn has_run(text: &str, length: usize) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let run = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        if run == length {
            return true;
        }
        rest = &rest[at + run..];
    }
    false
}

/// Whether two `*` and more stand alone behind a first one, as in a line of cron or a product of many.
fn is_of_signs(rest: &str) -> bool {
    rest.split_whitespace().any(|word| word == "*")
        && rest.split_whitespace().next().is_some_and(|first| first == "*" || !first.starts_with(char::is_alphabetic))
}

/// Whether no line beside it begins with a `*`, too.
fn is_alone(line: &BlockLine<'_>) -> bool {
    ![line.before, line.after].iter().any(|other| other.trim_start().starts_with("* "))
}

/// Whether some word has a `*` behind it that closes nothing: `Price 5 €*`.
fn footnote(text: &str) -> bool {
    static NOTE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[^\s*(\[]\*(?:[\s.,;:)|]|$)").ok());
    let is_noted = |line: &str| NOTE.as_ref().is_some_and(|note| note.is_match(line)) && line.matches('*').count() % 2 == 1;
    text.contains('*') && text.lines().filter(|line| !line.trim_start().starts_with("* ")).any(is_noted)
}

/// Which lines stand in a sum or a comparison: of those around them, up to an empty line, one begins with `=` and a figure, or some with `+` and
/// others with `-`.
fn sums(lines: &[&str]) -> Vec<bool> {
    let mut found = Vec::with_capacity(lines.len());
    for block in lines.split_inclusive(|line| line.trim().is_empty()) {
        let begins = |sign: &str| block.iter().any(|line| line.trim_start().starts_with(sign));
        let has_result = block.iter().any(|line| line.trim_start().strip_prefix('=').is_some_and(begins_with_figure));
        let is_sum = has_result || begins("+ ") && begins("- ");
        found.extend(std::iter::repeat_n(is_sum, block.len()));
    }
    found
}

fn begins_with_figure(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.trim_start_matches(|c: char| "$€£¥".contains(c) || c.is_whitespace()).starts_with(|c: char| c.is_ascii_digit())
}

/// A line that parts what stands around it. Five stars apart are five fields of cron.
fn is_rule(line: &str) -> bool {
    let Some(sign) = line.chars().next().filter(|sign| "*-_".contains(*sign)) else { return false };
    let count = line.matches(sign).count();
    count >= 3 && line.chars().all(|c| c == sign || c.is_whitespace()) && !(count == 5 && line.split_whitespace().count() == 5)
}

/// Whether a `>` compares: a figure follows it, but no ordinal number (`> 3. Dezember`), or `=`.
fn is_comparison(rest: &str) -> bool {
    let figure = rest.trim_start_matches([' ', '\t', '~', '$', '€', '£']);
    let end = figure.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with('=') || end.len() < figure.len() && !end.starts_with(". ") && !end.starts_with(") ")
}

/// Whether what stands behind the `]` of a text makes a link of it: an address between brackets, another name, or behind a colon.
fn leads_somewhere(rest: &str) -> bool {
    if let Some(inside) = rest.strip_prefix('(') {
        let address = inside.trim_start();
        let end = address.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(address.len());
        return address.starts_with('<') || is_address(&address[..end]);
    }
    match rest.strip_prefix(':') {
        Some(definition) => is_address(definition.split_whitespace().next().unwrap_or("text")),
        None => true,
    }
}

/// Whether a text may be an address, such as of a page or a file; `b` of `2[a](b)` is none.
fn is_address(text: &str) -> bool {
    static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:$|<|[/#?]|\.{1,2}/|www\.|[a-z][a-z0-9+.-]+\s*:\s*\S|&#|[^\s@:]*[\w%-][/][\w%-]|[^\s:]*[\w%-]\.[a-z]\w*(?:[/?#]|$)|[^\s:@]+@[^\s:@]+\.)").ok()
    });
    ADDRESS.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// A word is looked at so far around a sign, in bytes.
const WORD: usize = 400;

/// The characters without blanks around a byte.
fn word_around(text: &str, at: usize) -> &str {
    let blank = |c: char| c.is_whitespace();
    let from = text.floor_char_boundary(at.saturating_sub(WORD));
    let start =
        text[from..at].rfind(blank).map_or(from, |found| from + found + text[from + found..].chars().next().map_or(0, char::len_utf8));
    let to = text.floor_char_boundary((at + WORD).min(text.len()));
    text[start..to].split(blank).next().unwrap_or_default()
}

/// Whether a backslash stands in a path of Windows whose backslashes stand alone: `C:\x`, `\\server\share`, `..\src`, `%TEMP%\a`, `HKCU\Software`.
/// Where each is doubled, Markdown was escaped; and `a:\_` with nothing else is an escaped `a:_`, as `escape_markdown` writes it.
fn is_in_path(text: &str, at: usize) -> bool {
    static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let other = r"[^\[\]`~*_<&|\\]";
        let start = format!(r"[A-Za-z]:\\{other}|\.{{1,2}}\\[A-Za-z0-9.]|~\\[A-Za-z0-9]|%\w+%\\{other}|\\\\[\w.-]+\\[A-Za-z0-9$]");
        Regex::new(&format!(r"^(?:{start})|[\w%.)]\\[A-Za-z0-9]")).ok()
    });
    let word = word_around(text, at);
    let path = word.trim_start_matches(['"', '\'', '(', '*', '_', '„', '“', '[']);
    let share = path.strip_prefix("\\\\").filter(|rest| !rest.starts_with('\\'));
    PATH.as_ref().is_some_and(|pattern| pattern.is_match(path)) && !share.unwrap_or(path).contains("\\\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_text_is_the_source_again_with_its_places() {
        for source in ["a *b* \\_c_ C:\\x_y\\", "> 5 kg\n* * * * * x\n[a](b) `x|y` <b>", "\u{FDD0}x *"] {
            let guarded = Guarded::from_text(source);
            assert_eq!(restored(&guarded.text), source.replace('\u{FDD0}', "\u{FFFD}"));
            let found = guarded.text.char_indices().map(|(at, _)| guarded.in_source(at)).collect::<Vec<_>>();
            assert_eq!(found, source.char_indices().map(|(at, _)| at).collect::<Vec<_>>(), "{source}");
        }
    }
}
