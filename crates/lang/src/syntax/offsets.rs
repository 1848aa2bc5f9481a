//! Where the characters of a scalar's text are in the file.

use super::tree::QuoteStyle;

/// The pairs of [`super::Scalar::offsets`]. `start..end` is the scalar's place in `source`, quotes included; `text` is what
/// was read there. Empty when it cannot be followed.
pub(super) fn offsets(text: &str, style: QuoteStyle, source: &str, start: usize, end: usize) -> Vec<(u32, u32)> {
    let Some(raw) = source.get(start..end) else { return vec![] };
    let pairs = match style {
        QuoteStyle::Plain if raw == text => Some(vec![(0, start)]),
        QuoteStyle::Plain | QuoteStyle::Folded => Follower::new(text, style, raw, start).follow(),
        QuoteStyle::Single | QuoteStyle::Double => {
            let inner = raw.get(1..raw.len().saturating_sub(1));
            inner.and_then(|inner| Follower::new(text, style, inner, start + 1).follow())
        }
        QuoteStyle::Literal => literal(text, source, start),
    };
    pairs.unwrap_or_default().into_iter().map(|(text, file)| (text as u32, file as u32)).collect()
}

/// Follows a text through what is written: a pair at the start, behind each escape, and where each folded line continues.
struct Follower<'a> {
    text: &'a str,
    style: QuoteStyle,
    raw: &'a str,
    start: usize,
    in_text: usize,
    in_raw: usize,
    pairs: Vec<(usize, usize)>,
}

/// What a reader of YAML may fold at the end of a line.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

impl<'a> Follower<'a> {
    fn new(text: &'a str, style: QuoteStyle, raw: &'a str, start: usize) -> Follower<'a> {
        Follower { text, style, raw, start, in_text: 0, in_raw: 0, pairs: vec![] }
    }

    fn follow(mut self) -> Option<Vec<(usize, usize)>> {
        if self.style == QuoteStyle::Folded {
            self.fold(self.raw.len() - self.raw.trim_start_matches(BLANKS).len())?;
        } else {
            self.pair();
        }
        while let Some(first) = self.raw.get(self.in_raw..)?.chars().next() {
            let rest = self.raw.get(self.in_raw..)?;
            let blanks = rest.len() - rest.trim_start_matches(BLANKS).len();
            if rest.get(..blanks)?.contains('\n') {
                self.fold(blanks)?;
                continue;
            }
            let is_escape = match self.style {
                QuoteStyle::Single => first == '\'',
                QuoteStyle::Double => first == '\\',
                _ => false,
            };
            if is_escape && rest.get(1..)?.trim_start_matches([' ', '\t']).starts_with(['\r', '\n']) {
                // A line end behind "\\" is none.
                let blanks = rest.get(1..)?.len() - rest.get(1..)?.trim_start_matches(BLANKS).len();
                self.in_raw += 1 + blanks;
                self.pair();
                continue;
            }
            let meant = self.text.get(self.in_text..)?.chars().next()?;
            if !is_escape && first != meant {
                return None;
            }
            self.in_raw += match (is_escape, self.style) {
                (false, _) => first.len_utf8(),
                (true, QuoteStyle::Single) => 2,
                (true, _) => escape_length(rest),
            };
            self.in_text += meant.len_utf8();
            if is_escape {
                self.pair();
            }
        }
        let rest = self.text.get(self.in_text..)?;
        // The last line ends of a block text belong to it, but not to its place.
        (rest.is_empty() || self.style == QuoteStyle::Folded && rest.trim_matches('\n').is_empty()).then_some(self.pairs)
    }

    /// Line ends and indentation, which became a space, line ends, or nothing.
    fn fold(&mut self, blanks: usize) -> Option<()> {
        let rest = self.text.get(self.in_text..)?;
        self.in_raw += blanks;
        self.in_text += rest.len() - rest.trim_start_matches(BLANKS).len();
        self.pair();
        Some(())
    }

    /// A new pair; nothing of the text lies before one that begins at the same place.
    fn pair(&mut self) {
        self.pairs.pop_if(|(text, _)| *text == self.in_text);
        self.pairs.push((self.in_text, self.start + self.in_raw));
    }
}

/// Where the `|` or `>` of a block stands whose text begins at `start`: on the last line above with anything but remarks.
pub(super) fn header(source: &str, start: usize) -> Option<u32> {
    let above = source.get(..start)?;
    let is_content = |line: &&str| !matches!(line.trim_start().chars().next(), None | Some('#'));
    let line = above.split_inclusive('\n').rev().find(is_content)?;
    let line_start = line.as_ptr() as usize - source.as_ptr() as usize;
    let ends = |mark: char| line.match_indices(mark).filter(|(at, _)| line[..*at].ends_with([' ', '\t'])).map(|(at, _)| at).next_back();
    ends('|').max(ends('>')).map(|at| (line_start + at) as u32)
}

/// Length of the escape at the start of `rest` as written (YAML 1.2, section 5.7; a pair of `\u` surrogates is one).
fn escape_length(rest: &str) -> usize {
    match rest.as_bytes().get(1) {
        Some(b'x') => 4,
        Some(b'u') => {
            let is_high = rest.get(2..6).and_then(|hex| u32::from_str_radix(hex, 16).ok()).is_some_and(|c| (0xd800..0xdc00).contains(&c));
            if is_high { 12 } else { 6 }
        }
        Some(b'U') => 10,
        _ => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
    }
}

/// One pair for each line. `start` lies on the line of the first character that is not a line end.
fn literal(text: &str, source: &str, start: usize) -> Option<Vec<(usize, usize)>> {
    let mut line_start = source.get(..start)?.rfind('\n').map_or(0, |i| i + 1);
    for _ in 0..text.len() - text.trim_start_matches('\n').len() {
        line_start = source.get(..line_start.checked_sub(1)?)?.rfind('\n').map_or(0, |i| i + 1);
    }
    let mut pairs = vec![];
    let mut in_text = 0;
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        let rest = source.get(line_start..)?;
        let length = rest.find('\n').unwrap_or(rest.len());
        let written = rest.get(..length)?;
        let written = written.strip_suffix('\r').unwrap_or(written);
        if !written.ends_with(line) {
            return None;
        }
        pairs.push((in_text, line_start + written.len() - line.len()));
        in_text += line.len() + 1;
        line_start += length + 1;
    }
    Some(pairs)
}
