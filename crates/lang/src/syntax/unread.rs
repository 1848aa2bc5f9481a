//! What of a text YAML does not read as it is written: what follows " #", a value that begins with "&", and "\t" in a path.

use std::ops::Range;

/// What is wrong with a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnreadPart {
    /// Where, in the text.
    pub(super) place: Range<usize>,
    /// What is wrong.
    pub(super) message: String,
    /// What to write.
    pub(super) help: Vec<String>,
    /// What to propose, and in which place.
    pub(super) instead: (Range<usize>, String),
}

/// A comment behind a value that ends at `value.end`, if it seems to be a part of the value: no blank is behind its "#". `in_brackets`: in `[]` or `{}`.
pub(super) fn comment(text: &str, value: Range<usize>, in_brackets: bool) -> Option<UnreadPart> {
    let rest = text.get(value.end..)?.lines().next()?;
    let hash = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let comment = rest.get(hash..)?.strip_prefix('#').filter(|_| hash > 0)?;
    let begins = comment.chars().next()?;
    let is_remark =
        begins.is_whitespace() || begins == '#' || comment.starts_with("flow-ignore") || !comment.contains(char::is_alphanumeric);
    if is_remark {
        return None;
    }
    let ends: &[char] = if in_brackets { &[',', '}', ']'] } else { &[] };
    let end = end_of(comment, ends);
    let place = value.end + hash..value.end + hash + 1 + end;
    let whole = value.start..place.end;
    // A plain text of several lines has blanks in their place.
    let meant = match text.get(whole.clone())?.trim() {
        lines if lines.contains(['\n', '\r']) => super::quoted(&lines.split_whitespace().collect::<Vec<_>>().join(" ")),
        line => super::quoted(line),
    };
    let help = vec![
        format!("write {}: a text with \" #\" stands in quotes", super::to_write(&meant)),
        "write a blank behind \"#\" if it is a comment".to_owned(),
    ];
    let message = "\" #\" begins a comment here, so what follows it is not read".to_owned();
    Some(UnreadPart { place, message, help, instead: (whole, meant) })
}

/// Where a text that was to be read ends: at a remark behind it, at a bracket that a template has not, or with the line.
fn end_of(comment: &str, ends: &[char]) -> usize {
    let mut depth = 0_usize;
    for (at, sign) in comment.char_indices() {
        match sign {
            _ if comment[at..].starts_with("{{") => depth += 1,
            _ if comment[..at].ends_with("}}") && depth > 0 => depth -= 1,
            _ => {}
        }
        if depth == 0 && (ends.contains(&sign) || comment[at..].starts_with(" # ")) {
            return comment[..at].trim_end().len();
        }
    }
    comment.trim_end().len()
}

/// A value of which nothing is read but an anchor: `owner: &ops`. `value`: the place of the empty value behind it.
pub(super) fn anchor(text: &str, value: usize) -> Option<UnreadPart> {
    let before = text.get(..value)?.trim_end();
    let start = before.rfind(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | '{')).map_or(0, |at| at + 1);
    let name = before.get(start..)?.strip_prefix('&').filter(|name| !name.is_empty())?;
    let meant = format!("\"&{name}\"");
    let message = format!("\"&{name}\" names a value for \"*{name}\", and there is none behind it: nothing is read here");
    let help = vec![format!("write {} if it is text", super::to_write(&meant))];
    Some(UnreadPart { place: start..before.len(), message, help, instead: (start..before.len(), meant) })
}

/// Signs that stand behind a backslash in double quotes, and what they become.
const ESCAPES: [(char, &str); 11] = [
    ('t', "a tab"),
    ('n', "a line end"),
    ('r', "a line end"),
    ('b', "a backspace"),
    ('f', "a form feed"),
    ('v', "a vertical tab"),
    ('a', "a bell"),
    ('e', "an escape character"),
    ('0', "a NUL character"),
    ('N', "a line end"),
    ('L', "a line end"),
];

/// A path of Windows in double quotes, with the places of its quotes, in which a backslash begins another character.
pub(super) fn path(text: &str, value: Range<usize>) -> Option<UnreadPart> {
    let inner = text.get(value.clone())?.strip_prefix('"')?.strip_suffix('"')?;
    let drive = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.get(1..3) == Some(":\\");
    let of_variable = inner.strip_prefix('%').and_then(|rest| rest.split_once('%')).is_some_and(|(_, rest)| rest.starts_with('\\'));
    let of_server = inner.strip_prefix("\\\\").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
    let is_path = drive(inner) || of_variable || of_server || [".\\", "..\\", "~\\"].iter().any(|start| inner.starts_with(start));
    if !is_path || inner.contains("{{") || inner.contains(['\n', '\r']) {
        return None;
    }
    let (mut found, mut signs): (Vec<&(char, &str)>, _) = (vec![], inner.chars());
    while let Some(sign) = signs.next() {
        let escaped = if sign == '\\' { signs.next() } else { None };
        let known = escaped.and_then(|escaped| ESCAPES.iter().find(|(known, _)| *known == escaped));
        found.extend(known.filter(|known| !found.contains(known)));
    }
    if found.is_empty() {
        return None;
    }
    let told: Vec<String> = found.iter().map(|(sign, what)| format!("\"\\{sign}\" is {what}")).collect();
    let meant = format!("'{}'", inner.replace('\'', "''"));
    let message = format!("in double quotes {}, so this is not the path that it looks like", told.join(" and "));
    let help = vec![format!("write {}: in single quotes a backslash is a backslash", super::to_write(&meant))];
    Some(UnreadPart { place: value.clone(), message, help, instead: (value, meant) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(found: Option<UnreadPart>) -> String {
        found.map_or_else(|| "-".to_owned(), |found| found.instead.1)
    }

    #[test]
    fn a_comment_without_a_blank_behind_its_sign_seems_to_be_text() {
        let behind = |text: &str, in_brackets: bool| {
            let end = text.find(" #").unwrap_or(text.len());
            meant(comment(text, 0..text[..end].trim_end().len(), in_brackets))
        };
        for (text, expected) in [
            ("Ticket #12 is open", "\"Ticket #12 is open\""),
            ("Ticket  #12 is open # a remark", "\"Ticket  #12 is open\""),
            ("Ticket #{{ inputs.number }}, now.\nnext: x", "\"Ticket #{{ inputs.number }}, now.\""),
            ("team # general", "-"),
            ("team #", "-"),
            ("team ## general", "-"),
            ("team #----", "-"),
            ("team #flow-ignore: F105 x", "-"),
            ("team#general", "-"),
        ] {
            assert_eq!(behind(text, false), expected, "{text}");
        }
        assert_eq!(behind("team #general, colour: dark }", true), "\"team #general\"");
        assert_eq!(behind("team #{{ inputs.x }}, colour: dark }", true), "\"team #{{ inputs.x }}\"");
    }

    #[test]
    fn a_text_of_several_lines_is_written_in_one() {
        let text = "Tells\n  the team #ops now";
        assert_eq!(meant(comment(text, 0..16, false)), "\"Tells the team #ops now\"");
    }

    #[test]
    fn an_anchor_without_a_value_seems_to_be_text() {
        assert_eq!(meant(anchor("owner: &ops", 11)), "\"&ops\"");
        assert_eq!(meant(anchor("{ owner: &ops }", 14)), "\"&ops\"");
        assert_eq!(meant(anchor("owner: ", 7)), "-");
    }

    #[test]
    fn a_path_in_double_quotes_loses_its_backslashes() {
        let read = |text: &str| meant(path(text, 0..text.len()));
        for (text, expected) in [
            (r#""C:\temp\new""#, r"'C:\temp\new'"),
            (r#""..\new""#, r"'..\new'"),
            (r#""%TEMP%\new""#, r"'%TEMP%\new'"),
            (r#""\\server\new""#, r"'\\server\new'"),
            (r#""C:\\temp\\new""#, "-"),
            (r#""Hello\nWorld""#, "-"),
            (r#""a: b\nc""#, "-"),
            (r#""C:/temp/new""#, "-"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
