//! Files of variables, as the widely used dotenv libraries read them: comments, quotes, values of several lines. What these libraries read in different
//! ways is an error with its line, since a value that is read wrongly is a key that fails somewhere else.
//!
//! `dotenvy` was considered: it replaces `$NAME` in every value and this cannot be turned off, so a password with `$` is another one without a word; it
//! rejects a value with a blank; and its errors quote the line, which holds a secret.

use std::collections::BTreeMap;

use crate::port::Secret;

/// Why a line cannot be read. It never quotes the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvLineError {
    /// No `=`, or no name before it.
    #[error("write NAME=value")]
    NoValue,
    /// A quote that begins a value is never closed.
    #[error("the quote before the value is not closed: close it, or put the whole value in quotes of the other kind")]
    Unclosed,
    /// Text behind the closing quote that is no comment.
    #[error("text follows the closing quote; put the whole value in quotes of the other kind, and write a comment after a blank and #")]
    AfterQuote,
    /// A value in backticks.
    #[error("a value in backticks is not read; use ' or \"")]
    Backticks,
    /// `${NAME}`, which some programs fill in.
    #[error("${{NAME}} is not filled in; write the value itself, or put it in ' if it contains these characters")]
    Filled,
    /// `#` without a blank before it, which begins a comment for some programs only.
    #[error("# is a part of the value for some programs and begins a comment for others: put the value in quotes, or a blank before #")]
    Hash,
    /// A backslash in quotes that some programs read as an escape and others as it is.
    #[error("\\{0} between such quotes is read in different ways: write the character itself, or a value with backslashes without quotes")]
    Escape(char),
}

/// The variables in the text of a file. Of equal names the last one counts.
///
/// # Errors
/// Fails with the number of the line that cannot be read.
pub(super) fn variables_in(text: &str) -> Result<BTreeMap<String, Secret>, (usize, EnvLineError)> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let (mut variables, mut rest, mut line) = (BTreeMap::new(), text.as_str(), 1);
    while !rest.is_empty() {
        let (first, below) = rest.split_once('\n').unwrap_or((rest, ""));
        let entry = first.trim();
        if entry.is_empty() || entry.starts_with('#') {
            (rest, line) = (below, line + 1);
            continue;
        }
        let fails = |why| (line, why);
        let entry = entry.strip_prefix("export").filter(|entry| entry.starts_with(char::is_whitespace)).unwrap_or(entry).trim_start();
        let (name, _) = entry.split_once('=').ok_or_else(|| fails(EnvLineError::NoValue))?;
        let name = name.trim_end();
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || matches!(c, '#' | '\'' | '"' | '`')) {
            return Err(fails(EnvLineError::NoValue));
        }
        // A value in quotes goes on over lines, so it is read from the whole text.
        let written = rest.split_once('=').map_or("", |(_, written)| written);
        let start = written.trim_start_matches([' ', '\t']);
        let (value, end) = match start.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(start, quote).map_err(fails)?,
            _ => {
                let value = start.split('\n').next().unwrap_or_default();
                (bare(value, written.len() > start.len()).map_err(fails)?.to_owned(), value.len())
            }
        };
        variables.insert(name.to_owned(), Secret::new(value));
        let after = &start[end..];
        let read = &rest[..rest.len() - after.len()];
        line += read.matches('\n').count() + 1;
        rest = after.split_once('\n').map_or("", |(_, below)| below);
    }
    Ok(variables)
}

/// A value in quotes, and where it ends with all that belongs to its line.
fn quoted(start: &str, quote: char) -> Result<(String, usize), EnvLineError> {
    let inner = &start[1..];
    let (mut value, mut characters) = (String::new(), inner.char_indices());
    let end = loop {
        match characters.next() {
            None => return Err(EnvLineError::Unclosed),
            Some((at, c)) if c == quote => break at + 2,
            Some((_, '\\')) => {
                let (_, next) = characters.next().ok_or(EnvLineError::Unclosed)?;
                match escape(next, quote)? {
                    Some(c) => value.push(c),
                    None => value.extend(['\\', next]),
                }
            }
            Some((_, c)) => value.push(c),
        }
    };
    let after = start[end..].split('\n').next().unwrap_or_default();
    let is_comment = after.trim().is_empty() || after.trim_start().starts_with('#');
    match is_comment {
        false => Err(EnvLineError::AfterQuote),
        true if quote == '"' => whole(&value).map(|_| (value.clone(), end + after.len())),
        true => Ok((value, end + after.len())),
    }
}

/// What a backslash and this character stand for between such quotes; `None`: both themselves.
fn escape(next: char, quote: char) -> Result<Option<char>, EnvLineError> {
    match (quote, next) {
        _ if next == quote => Ok(Some(next)),
        ('\'', '\\') | ('"', 'a' | 'b' | 'f' | 't' | 'v') => Err(EnvLineError::Escape(next)),
        ('"', '\'' | '\\') => Ok(Some(next)),
        ('"', 'n') => Ok(Some('\n')),
        ('"', 'r') => Ok(Some('\r')),
        _ => Ok(None),
    }
}

/// A value without quotes: up to a comment, which begins with a blank and `#`. JSON is whole, whatever its texts contain.
fn bare(value: &str, follows_blank: bool) -> Result<&str, EnvLineError> {
    let starts = value
        .char_indices()
        .filter(|(at, c)| *c == '#' && if *at == 0 { follows_blank } else { value[..*at].ends_with(char::is_whitespace) });
    let ends: Vec<usize> = starts.map(|(at, _)| at).chain([value.len()]).collect();
    let is_json = |end: &&usize| serde_json::from_str::<serde::de::IgnoredAny>(&value[..**end]).is_ok();
    let end = match value.starts_with(['{', '[']) {
        true => ends.iter().rev().find(is_json).or(ends.first()),
        false => ends.first(),
    };
    let value = value[..end.copied().unwrap_or(value.len())].trim_end();
    if value.contains('#') && serde_json::from_str::<serde::de::IgnoredAny>(value).is_err() {
        return Err(EnvLineError::Hash);
    }
    if value.len() > 1 && value.starts_with('`') && value.ends_with('`') {
        return Err(EnvLineError::Backticks);
    }
    whole(value)
}

/// The value, if no program would fill in a part of it.
fn whole(value: &str) -> Result<&str, EnvLineError> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let filled = |rest: &str| rest.find(['}', ':', '-']).is_some_and(|end| is_name(&rest[..end]) && rest.contains('}'));
    match value.match_indices("${").any(|(at, mark)| filled(&value[at + mark.len()..])) {
        true => Err(EnvLineError::Filled),
        false => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, (usize, EnvLineError)> {
        let variables = variables_in(text)?;
        Ok(variables.into_iter().map(|(name, value)| (name, value.reveal().to_owned())).collect())
    }

    #[test]
    fn lines_are_read_as_dotenv_libraries_read_them() {
        for (text, value) in [
            ("A=abc\n", "abc"),
            ("A=abc", "abc"),
            ("  A = abc  \r\n", "abc"),
            ("export A=abc\n", "abc"),
            ("export\tA=abc\n", "abc"),
            ("\u{FEFF}A=abc\n", "abc"),
            ("\u{FEFF}# note\n\nA=abc\n", "abc"),
            ("A=\n", ""),
            ("A=''\n", ""),
            ("A=   # only for the cloud\n", ""),
            ("A=abc # note\n", "abc"),
            ("A=abc\t#note\n", "abc"),
            ("A=\"ab#cd\"\n", "ab#cd"),
            ("A='#abcd'\n", "#abcd"),
            ("A=\"ab #cd\"\n", "ab #cd"),
            ("A=\"abc\" # it's a note\n", "abc"),
            ("A='abc'# note\n", "abc"),
            ("A=two words\n", "two words"),
            ("A=a=b==\n", "a=b=="),
            ("A=\"a\\nb\\r\\\"c\\\" \\q \\\\ \\$x\"\n", "a\nb\r\"c\" \\q \\ \\$x"),
            ("A='a\\nb \\'c\\' \\t'\n", "a\\nb 'c' \\t"),
            ("A=a\\tb\n", "a\\tb"),
            ("A=\"{\\\"a\\\": \\\"b#c\\\"}\"\n", "{\"a\": \"b#c\"}"),
            ("A='{\"a\": \"${x}\"}'\n", "{\"a\": \"${x}\"}"),
            ("A=$HOME/x\n", "$HOME/x"),
            ("A=it's \"so\"\n", "it's \"so\""),
            ("A=C:\\new\\temp\n", "C:\\new\\temp"),
            ("A=\"-----BEGIN\nx # y\n-----END\" # key\n", "-----BEGIN\nx # y\n-----END"),
            ("A='one\r\ntwo'\r\n", "one\ntwo"),
            ("A=pa$$word$HOME\n", "pa$$word$HOME"),
            ("A='${HOME}'\n", "${HOME}"),
            ("A={\"a\": \"b # c\"}\n", "{\"a\": \"b # c\"}"),
            ("A={\"a\": \"b#c\"}\n", "{\"a\": \"b#c\"}"),
            ("A={\"a\": \"b # c\"} # note\n", "{\"a\": \"b # c\"}"),
            ("A=[x] # note\n", "[x]"),
            ("A=don't\n", "don't"),
            ("A=one\nA=two\n", "two"),
        ] {
            let after = format!("{}\nB=1\n", text.trim_end_matches('\n'));
            assert_eq!(read(text), Ok(vec![("A".to_owned(), value.to_owned())]), "{text:?}");
            assert_eq!(read(&after).map(|all| all.len()), Ok(2), "{after:?}");
        }
    }

    #[test]
    fn what_has_no_sure_meaning_is_an_error_with_its_line() {
        for (text, line, why) in [
            ("\n# note\nA\n", 3, EnvLineError::NoValue),
            ("A: abc\n", 1, EnvLineError::NoValue),
            ("=abc\n", 1, EnvLineError::NoValue),
            ("export\n", 1, EnvLineError::NoValue),
            ("set A=abc\n", 1, EnvLineError::NoValue),
            ("'A'=abc\n", 1, EnvLineError::NoValue),
            ("B='1\n2'\nA=\"abc\nC=1\n", 3, EnvLineError::Unclosed),
            ("A=\"abc\\\"\n", 1, EnvLineError::Unclosed),
            ("A=\"abc\\", 1, EnvLineError::Unclosed),
            ("A=\"abc\"def\n", 1, EnvLineError::AfterQuote),
            ("A='it's'\n", 1, EnvLineError::AfterQuote),
            ("A=`abc`\n", 1, EnvLineError::Backticks),
            ("A=${B}/x\n", 1, EnvLineError::Filled),
            ("A=\"x${B:-y}\"\n", 1, EnvLineError::Filled),
            ("A={\"a\": \"${x}\"}\n", 1, EnvLineError::Filled),
            ("B=1\r\nA=ab#cd\r\n", 2, EnvLineError::Hash),
            ("A=#abcd\n", 1, EnvLineError::Hash),
            ("A=ab#cd # note\n", 1, EnvLineError::Hash),
            ("A=[x#y]\n", 1, EnvLineError::Hash),
            ("A=\"C:\\temp\"\n", 1, EnvLineError::Escape('t')),
            ("A=\"a\\bc\"\n", 1, EnvLineError::Escape('b')),
            ("A='C:\\\\temp'\n", 1, EnvLineError::Escape('\\')),
        ] {
            assert_eq!(read(text), Err((line, why)), "{text:?}");
        }
    }
}
