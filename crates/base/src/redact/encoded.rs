//! Texts inside texts: what a value looks like in a web address, in JSON, HTML, Markdown or a mail, in base64, base32 and hex, as a list of numbers, and
//! in letters of another width. A text is read back, and each byte of what was read knows the place that it came from.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::model::{LONGEST_REFERENCE, html_character};
use crate::source::is_unseen;

/// A text inside a longer one that is no encoded value by chance has at least so many bytes, or is all there is.
const SHORTEST: usize = 6;
/// One encoding inside another, at most.
const DEEPEST: usize = 3;

/// A text that was read back.
#[derive(Debug)]
pub(super) struct DecodedText<P = Vec<Range<usize>>> {
    pub text: String,
    /// Of each byte: where it stood.
    pub places: P,
}

/// Where the bytes of a text stood, or `()`: nobody asks. Most texts hold nothing, and places take sixteen times as much memory as a text.
pub(super) trait BytePlaces: Default {
    /// Adds those of the next bytes.
    fn add(&mut self, places: impl Iterator<Item = Range<usize>>);
    /// The same, when the text was read out of another with these places.
    fn within(self, outer: &Self) -> Option<Self>;
}

impl BytePlaces for () {
    fn add(&mut self, _: impl Iterator<Item = Range<usize>>) {}

    fn within(self, _: &()) -> Option<()> {
        Some(())
    }
}

impl BytePlaces for Vec<Range<usize>> {
    fn add(&mut self, places: impl Iterator<Item = Range<usize>>) {
        self.extend(places);
    }

    fn within(self, outer: &Self) -> Option<Self> {
        self.iter().map(|range| as_one(outer, range)).collect()
    }
}

/// The place of the bytes `range`.
fn as_one(places: &[Range<usize>], range: &Range<usize>) -> Option<Range<usize>> {
    Some(places.get(range.start)?.start..places.get(range.end.checked_sub(1)?)?.end)
}

impl DecodedText {
    /// Adds a character that came from there.
    pub fn push(&mut self, c: char, place: Range<usize>) {
        self.text.push(c);
        self.places.extend(std::iter::repeat_n(place, c.len_utf8()));
    }

    /// Where the bytes `range` stood, as one place.
    pub fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        as_one(&self.places, range)
    }
}

impl<P: BytePlaces> DecodedText<P> {
    /// The same, when it was read out of a text that was itself read out of another.
    pub fn within(self, outer: &DecodedText<P>) -> Option<DecodedText<P>> {
        Some(DecodedText { text: self.text, places: self.places.within(&outer.places)? })
    }
}

/// All texts inside a text.
pub(super) fn inside<P: BytePlaces>(text: &str) -> Vec<DecodedText<P>> {
    let mut found = unescaped(text);
    for blob in blobs(text).into_iter().chain(numbers(text)) {
        // What was encoded may itself hold escapes: JSON in base64.
        for inner in unescaped(&blob.text) {
            found.extend(inner.within(&blob));
        }
        found.push(blob);
    }
    found
}

/// The text without its white space, if it has some between characters of base64 or hex: encoded lines are broken, bytes written apart.
pub(super) fn joined<P: BytePlaces>(text: &str) -> Option<DecodedText<P>> {
    let is_code = |byte: Option<&u8>| byte.is_some_and(|byte| six_bits(*byte).is_some());
    let bytes = text.as_bytes();
    let is_broken = |at: usize| {
        let goes_on = || is_code(bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace()));
        bytes[at].is_ascii_whitespace() && is_code(bytes.get(at.wrapping_sub(1))) && goes_on()
    };
    if !(0..bytes.len()).any(|at| bytes[at] == b'\n' || is_broken(at)) {
        return None;
    }
    let kept: Vec<usize> = (0..bytes.len()).filter(|at| !bytes[*at].is_ascii_whitespace()).collect();
    let text = readable(kept.iter().map(|at| bytes[*at]).collect());
    let mut places = P::default();
    places.add(kept.into_iter().map(|at| at..at + 1));
    Some(DecodedText { text, places })
}

/// What a terminal takes as a command (ECMA-48, 5.3 to 5.6): a control sequence, a control string to its end, or one sign behind ESC.
static COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let sequence = r"(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]";
    let string = r"(?:\x1b[PX\]^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})";
    Regex::new(&format!(r"{sequence}|{string}|\x1b[ -/]*[0-~]")).ok()
});

/// The text without the characters that nobody sees, if it has some, and without the commands to a terminal that such a character begins:
/// what it goes through later may take them out.
pub(super) fn seen<P: BytePlaces>(text: &str) -> Vec<DecodedText<P>> {
    if !text.contains(is_unseen) {
        return vec![];
    }
    let without = |commands: &[Range<usize>]| {
        let mut commands = commands.iter().peekable();
        let mut seen = DecodedText { text: String::with_capacity(text.len()), places: P::default() };
        for (at, c) in text.char_indices() {
            while commands.next_if(|command| command.end <= at).is_some() {}
            if !is_unseen(c) && commands.peek().is_none_or(|command| at < command.start) {
                seen.text.push(c);
                seen.places.add((at..at + c.len_utf8()).map(|byte| byte..byte + 1));
            }
        }
        seen
    };
    let commands: Vec<Range<usize>> = COMMANDS.iter().flat_map(|commands| commands.find_iter(text)).map(|found| found.range()).collect();
    let is_needed = !commands.is_empty();
    std::iter::once(without(&[])).chain(is_needed.then(|| without(&commands))).collect()
}

/// A sign by which a shell, a database or a build tool keeps another from being read: beside it, or twice for once.
pub(super) fn quotes(c: char) -> bool {
    matches!(c, '\'' | '"' | '\\' | '^' | '`' | '$' | '%')
}

/// The text without the signs that quote (`'it'\''s'`, `it\'s`, `it''s`, `it^&s`), and `$$` and `%%` once; `None`: it has none. Of a secret that is read
/// so, too, the same is left however it was quoted.
pub(super) fn bare<P: BytePlaces>(text: &str) -> Option<DecodedText<P>> {
    text.contains(quotes).then_some(())?;
    let mut bare = DecodedText { text: String::with_capacity(text.len()), places: P::default() };
    let mut before = None;
    for (at, c) in text.char_indices() {
        if !quotes(c) || matches!(c, '$' | '%') && before != Some(c) {
            bare.text.push(c);
            bare.places.add((at..at + c.len_utf8()).map(|byte| byte..byte + 1));
        }
        before = Some(c);
    }
    Some(bare)
}

/// The text with its escapes read, then with those that were inside them.
fn unescaped<P: BytePlaces>(text: &str) -> Vec<DecodedText<P>> {
    let mut found: Vec<DecodedText<P>> = vec![];
    for _ in 0..DEEPEST {
        let (now, outer) = found.last().map_or((text, None), |last| (last.text.as_str(), Some(last)));
        let Some(mut read) = unescape(now, b"%\\&+") else { break };
        if let Some(outer) = outer {
            let Some(within) = read.within(outer) else { break };
            read = within;
        }
        found.push(read);
    }
    found
}

/// The text with the escapes of one kind read, once for each kind: what looks like one of another kind may belong to a secret.
pub(super) fn of_each_kind<P: BytePlaces>(text: &str) -> impl Iterator<Item = DecodedText<P>> {
    [&b"%"[..], b"%+", b"\\", b"&", b"="].into_iter().filter_map(|marks| unescape(text, marks)).chain(narrow(text))
}

/// The text with its percent-encoded bytes read, if it has some.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    unescape::<()>(text, b"%").map(|read| read.text)
}

/// Reads `%C3%AB`, `\u00eb`, `\n`, `\*`, `&#39;` and `+` between words, as far as they begin with these marks; `None`: there is nothing of it.
fn unescape<P: BytePlaces>(text: &str, marks: &[u8]) -> Option<DecodedText<P>> {
    let is_mark = |byte: &u8| marks.contains(byte);
    let mut next = text.bytes().position(|byte| is_mark(&byte))?;
    let (mut bytes, mut places, mut has_changed, mut at) = (Vec::with_capacity(text.len()), P::default(), false, 0);
    loop {
        bytes.extend_from_slice(&text.as_bytes()[at..next]);
        places.add((at..next).map(|byte| byte..byte + 1));
        at = next;
        let Some(mark) = text.as_bytes().get(at) else { break };
        let rest = &text[at..];
        let read = match mark {
            b'%' if rest[1..].starts_with('u') => units(rest),
            b'%' => percent(rest).map(|byte| (vec![byte], 3)),
            b'\\' => backslash(rest),
            b'&' => reference(rest),
            b'=' => quoted_printable(rest),
            _ => bytes.last().is_some_and(|byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii()).then(|| (vec![b' '], 1)),
        };
        let from = if let Some((new, length)) = read {
            has_changed = true;
            places.add(std::iter::repeat_n(at..at + length, new.len()));
            bytes.extend(new);
            at += length;
            at
        } else {
            at + 1
        };
        next = text.as_bytes()[from..].iter().position(is_mark).map_or(text.len(), |mark| from + mark);
    }
    has_changed.then(|| DecodedText { text: readable(bytes), places })
}

/// The bytes as text, of the same length: what is no UTF-8 becomes spaces.
fn readable(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::with_capacity(error.as_bytes().len());
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| ' '));
        }
        text
    })
}

fn percent(rest: &str) -> Option<u8> {
    u8::from_str_radix(rest.get(1..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?, 16).ok()
}

/// An escape of a mail (RFC 2045, 6.7): its bytes and its length. `=` at the end of a line is none: the line goes on.
fn quoted_printable(rest: &str) -> Option<(Vec<u8>, usize)> {
    let line_end = ["=\r\n", "=\n"].into_iter().find(|end| rest.starts_with(end));
    line_end.map(|end| (vec![], end.len())).or_else(|| percent(rest).map(|byte| (vec![byte], 3)))
}

/// The text with the letters and digits of other widths and faces as those of ASCII that they look like; `None`: it has none.
fn narrow<P: BytePlaces>(text: &str) -> Option<DecodedText<P>> {
    let plain = |c: char| {
        Some(c).filter(|c| !c.is_ascii()).and_then(|c| c.nfkc().next().filter(|plain| plain.is_ascii_graphic() && c.nfkc().count() == 1))
    };
    if text.is_ascii() || !text.chars().any(|c| plain(c).is_some()) {
        return None;
    }
    let mut narrow = DecodedText { text: String::with_capacity(text.len()), places: P::default() };
    for (at, c) in text.char_indices() {
        let place = at..at + c.len_utf8();
        match plain(c) {
            Some(plain) => {
                narrow.text.push(plain);
                narrow.places.add(std::iter::once(place));
            }
            None => {
                narrow.text.push(c);
                narrow.places.add(place.map(|byte| byte..byte + 1));
            }
        }
    }
    Some(narrow)
}

/// An escape of JSON, of a shell or of Markdown: its bytes and its length.
fn backslash(rest: &str) -> Option<(Vec<u8>, usize)> {
    let next = *rest.as_bytes().get(1)?;
    let one = |byte: u8| Some((vec![byte], 2));
    match next {
        b'n' | b'r' | b't' | b'b' | b'f' => one(b' '),
        b'u' => units(rest),
        // The line goes on.
        b'\n' => Some((vec![], 2)),
        b'\r' => rest[2..].starts_with('\n').then(|| (vec![], 3)),
        // As CSS writes characters; in octal, a zero byte and three digits behind it.
        b'0' if rest.get(1..7).is_some_and(|digits| digits.starts_with("00") && digits.bytes().all(|byte| byte.is_ascii_hexdigit())) => {
            let read = char::from_u32(u32::from_str_radix(&rest[1..7], 16).ok()?)?;
            Some((read.to_string().into_bytes(), 7))
        }
        // As YAML writes characters, too.
        b'x' | b'U' => {
            let length = if next == b'x' { 4 } else { 10 };
            let digits = rest.get(2..length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            let read = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            Some((read.to_string().into_bytes(), length))
        }
        b'0'..=b'3' => {
            let digits = rest.get(1..4).filter(|digits| digits.bytes().all(|digit| matches!(digit, b'0'..=b'7')))?;
            Some((vec![u8::from_str_radix(digits, 8).ok()?], 4))
        }
        _ if next.is_ascii_punctuation() || next == b' ' => one(next),
        _ => None,
    }
}

/// `\u00eb`, `%u00eb` or `\u{eb}`: the bytes of the character and the length, of both halves if it has two.
fn units(rest: &str) -> Option<(Vec<u8>, usize)> {
    let (lead, digits) = rest.split_at_checked(2)?;
    let (read, length) = if let Some(inner) = digits.strip_prefix('{') {
        let end = inner.bytes().take(7).position(|byte| byte == b'}')?;
        (char::from_u32(u32::from_str_radix(&inner[..end], 16).ok()?)?, end + 4)
    } else {
        let unit = |from: usize| u16::from_str_radix(rest.get(from..from + 4)?, 16).ok();
        let first = unit(2)?;
        let second = rest.get(6..8).filter(|next| *next == lead).and_then(|_| unit(8));
        let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok()).filter(|c| u32::from(*c) > 0xFFFF);
        pair.map(|read| (read, 12)).or_else(|| Some((char::from_u32(u32::from(first))?, 6)))?
    };
    Some((read.to_string().into_bytes(), length))
}

/// A character reference of HTML: its bytes and its length.
fn reference(rest: &str) -> Option<(Vec<u8>, usize)> {
    let end = rest.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';')?;
    let read = html_character(rest.get(1..end)?)?;
    let read = if read == '\u{A0}' { ' ' } else { read };
    Some((read.to_string().into_bytes(), end + 1))
}

/// The texts in runs that look like base64 or hex.
fn blobs<P: BytePlaces>(text: &str) -> Vec<DecodedText<P>> {
    let bytes = text.as_bytes();
    let mut found = vec![];
    for run in runs(bytes, 4, |byte| six_bits(byte).is_some()) {
        let run_bytes = &bytes[run.clone()];
        // Base64 of a text has capitals or digits; a word of running text mostly has not.
        if !run_bytes.iter().skip(1).any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
            continue;
        }
        for skip in 0..4 {
            blob(run.start + skip..run.end, skip == 0, 6, &|at| six_bits(bytes[at]), &mut found);
        }
    }
    for run in runs(bytes, 8, |byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')) {
        for skip in 0..8 {
            blob(run.start + skip..run.end, skip == 0, 5, &|at| five_bits(bytes[at]), &mut found);
        }
    }
    for run in runs(bytes, 6, |byte| byte.is_ascii_hexdigit()) {
        for skip in 0..2 {
            blob(run.start + skip..run.end, skip == 0, 4, &|at| char::from(bytes[at]).to_digit(16), &mut found);
        }
    }
    found
}

/// Stretches of at least `least` bytes of one alphabet.
fn runs(bytes: &[u8], least: usize, is_of: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| is_of(**byte)).count();
        if length >= least {
            found.push(at..at + length);
        }
        at += length.max(1);
    }
    found
}

fn five_bits(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'2'..=b'7' => u32::from(byte - b'2') + 26,
        _ => return None,
    })
}

/// The texts in lists of numbers, one a byte: `73:6b:2d`, `0x73, 0x6b`, `[115, 107]`.
fn numbers<P: BytePlaces>(text: &str) -> Vec<DecodedText<P>> {
    // Each character of ASCII has a digit in each of these forms.
    if text.bytes().filter(u8::is_ascii_digit).count() < SHORTEST {
        return vec![];
    }
    let hex = |word: &str| {
        let digits = word.strip_prefix("0x").or(word.strip_prefix("0X")).or(word.strip_prefix('x')).unwrap_or(word);
        u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2)
    };
    let decimal = |word: &str| word.parse::<u8>().ok().filter(|_| word.len() <= 3);
    let octal = |word: &str| {
        let digits = word.strip_prefix("0o").unwrap_or(word);
        u8::from_str_radix(digits, 8).ok().filter(|_| digits.len() == 3 || digits.len() < word.len())
    };
    [&hex as &dyn Fn(&str) -> Option<u8>, &decimal, &octal].into_iter().flat_map(|read| listed(text, read)).collect()
}

/// The texts in lists of words that are a byte each.
fn listed<P: BytePlaces>(text: &str, read: &dyn Fn(&str) -> Option<u8>) -> Vec<DecodedText<P>> {
    let joins = |between: &str| between.len() <= 8 && !between.contains(|c: char| c.is_alphanumeric() || !c.is_ascii());
    let (mut found, mut bytes, mut places, mut end) = (vec![], vec![], vec![], 0);
    let mut close = |bytes: &mut Vec<u8>, places: &mut Vec<Range<usize>>| {
        if bytes.len() >= SHORTEST {
            found.extend(texts_in(bytes, &|byte| places[byte].clone(), true));
        }
        bytes.clear();
        places.clear();
    };
    for run in runs(text.as_bytes(), 1, |byte| byte.is_ascii_alphanumeric()) {
        if !joins(&text[end..run.start]) {
            close(&mut bytes, &mut places);
        }
        end = run.end;
        match read(&text[run.clone()]) {
            Some(byte) => {
                bytes.push(byte);
                places.push(run);
            }
            None => close(&mut bytes, &mut places),
        }
    }
    close(&mut bytes, &mut places);
    found
}

fn six_bits(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Reads characters of so many bits each as bytes, and keeps what can be read as text.
fn blob<P: BytePlaces>(
    run: Range<usize>,
    from_its_start: bool,
    bits: usize,
    value: &dyn Fn(usize) -> Option<u32>,
    found: &mut Vec<DecodedText<P>>,
) {
    let (start, end) = (run.start, run.end);
    let mut bytes: Vec<u8> = Vec::with_capacity(run.len() * bits / 8 + 1);
    let (mut held, mut count) = (0_u32, 0);
    for at in run {
        held = (held << bits | value(at).unwrap_or_default()) & 0xFFFF;
        count += bits;
        if count >= 8 {
            count -= 8;
            bytes.push((held >> count & 0xFF) as u8);
        }
    }
    let place = |byte: usize| start + byte * 8 / bits..(start + (byte * 8 + 7) / bits + 1).min(end);
    found.extend(texts_in(&bytes, &place, from_its_start));
}

/// The bytes from one on as UTF-16.
fn utf_16<P: BytePlaces>(bytes: &[u8], from: usize, order: fn([u8; 2]) -> u16, place: &dyn Fn(usize) -> Range<usize>) -> DecodedText<P> {
    let mut read = DecodedText { text: String::new(), places: P::default() };
    let (pairs, _) = bytes.get(from..).unwrap_or_default().as_chunks::<2>();
    let mut at = from;
    for unit in char::decode_utf16(pairs.iter().map(|pair| order(*pair))) {
        let c = unit.unwrap_or(' ');
        let end = at + 2 * c.len_utf16();
        let whole = place(at).start..place(end - 1).end;
        read.text.push(c);
        read.places.add(std::iter::repeat_n(whole, c.len_utf8()));
        at = end;
    }
    read
}

/// What can be read as text in bytes whose places are known: in UTF-8, and in UTF-16, which has a zero beside each character of ASCII.
fn texts_in<P: BytePlaces>(bytes: &[u8], place: &dyn Fn(usize) -> Range<usize>, is_all: bool) -> Vec<DecodedText<P>> {
    let mut found = vec![];
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        let mut from = at;
        for piece in chunk.valid().split_inclusive(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            let text = piece.trim_end_matches(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
            let is_all = is_all && text.len() == bytes.len();
            if text.len() >= SHORTEST || is_all && !text.is_empty() {
                let mut places = P::default();
                places.add((from..from + text.len()).map(place));
                found.push(DecodedText { text: text.to_owned(), places });
            }
            from += piece.len();
        }
        at += chunk.valid().len() + chunk.invalid().len();
    }
    if 3 * bytes.iter().filter(|byte| **byte == 0).count() >= bytes.len() && bytes.len() >= 2 * SHORTEST {
        let orders: [fn([u8; 2]) -> u16; 2] = [u16::from_le_bytes, u16::from_be_bytes];
        found.extend(orders.into_iter().flat_map(|order| [0, 1].map(|from| utf_16(bytes, from, order, place))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        inside::<()>(text).into_iter().map(|inside| inside.text).collect()
    }

    #[test]
    fn escapes_are_read_also_inside_each_other() {
        assert_eq!(texts(r"Zo\u00eb\nN\u00FA\*"), ["Zoë NÚ*".replace('Ú', "ú")]);
        assert_eq!(texts("q=Zo%C3%AB+N%c3%ba&x=1"), ["q=Zoë Nú&x=1"]);
        assert_eq!(texts("D&#39;Arcy &amp;#x4F;"), ["D'Arcy &#x4F;", "D'Arcy O"]);
        assert_eq!(texts("100% of \\x and 5 & 6"), [""; 0]);
    }

    #[test]
    fn a_place_is_that_of_the_whole_escape() {
        let text = "a%20Zo%C3%ABx";
        let read: &DecodedText = &inside(text)[0];
        let at = read.text.find("Zoë").unwrap();
        assert_eq!(read.place(&(at..at + 4)).map(|range| &text[range]), Some("Zo%C3%AB"));
    }

    #[test]
    fn base64_and_hex_are_read_wherever_they_begin() {
        for text in ["SGkgQW5hLCBoaQ==", "x/SGkgQW5hLCBoaQ", "486920416e612c206869"] {
            assert!(texts(text).iter().any(|text| text.contains("Hi Ana, hi")), "{text}: {:?}", texts(text));
        }
        assert_eq!(texts("Notwithstanding extraordinary circumstances"), [""; 0]);
    }
}
