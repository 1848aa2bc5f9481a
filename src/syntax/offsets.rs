//! Where the characters of a scalar's text stand in the file.

use super::tree::Style;

/// The pairs of [`super::Scalar::offsets`]. `start..end` is the scalar's place in `source`, quotes included; `text` is what
/// was read there. Empty when the text was folded or when it cannot be followed.
pub(super) fn offsets(text: &str, style: Style, source: &str, start: usize, end: usize) -> Vec<(u32, u32)> {
    let Some(raw) = source.get(start..end) else { return vec![] };
    let pairs = match style {
        Style::Plain if raw == text => Some(vec![(0, start)]),
        Style::Single | Style::Double if !raw.contains(['\n', '\r']) => quoted(text, style, raw, start),
        Style::Literal => literal(text, source, start),
        _ => None,
    };
    pairs.unwrap_or_default().into_iter().map(|(text, file)| (text as u32, file as u32)).collect()
}

/// One pair at the start and one behind each escape.
fn quoted(text: &str, style: Style, raw: &str, start: usize) -> Option<Vec<(usize, usize)>> {
    let inner = raw.get(1..raw.len().checked_sub(1)?)?;
    let mut pairs = vec![(0, start + 1)];
    let (mut in_text, mut in_raw) = (0, 0);
    while let Some(rest) = inner.get(in_raw..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next()?;
        let meant = text.get(in_text..)?.chars().next()?;
        let written = match (style, first) {
            (Style::Single, '\'') => 2,
            (Style::Double, '\\') => escape_length(rest),
            _ => first.len_utf8(),
        };
        let is_escape = written != first.len_utf8();
        if !is_escape && first != meant {
            return None;
        }
        in_raw += written;
        in_text += meant.len_utf8();
        if is_escape {
            pairs.push((in_text, start + 1 + in_raw));
        }
    }
    (in_text == text.len()).then_some(pairs)
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
