//! The arguments of a call as Python writes them: `x(zone="UTC", hours=[1, 2])`. Only values, no expressions.

use serde_json::{Map, Number, Value};

/// Deepest nesting of lists and objects.
const DEEPEST: usize = 32;

/// The arguments behind an opening parenthesis, and the rest behind the closing one: one object, or values by name.
pub(super) fn arguments(text: &str) -> Option<(Value, &str)> {
    let mut rest = text.trim_start();
    if rest.starts_with('{') {
        let (value, after) = value(rest, 0)?;
        return Some((value, after.trim_start().strip_prefix(')')?));
    }
    let mut named = Map::new();
    loop {
        if let Some(after) = rest.strip_prefix(')') {
            return Some((Value::Object(named), after));
        }
        let (name, after) = rest.split_once('=')?;
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let (value, after) = value(after.trim_start(), 0)?;
        if named.insert(name.to_owned(), value).is_some() {
            return None;
        }
        rest = separated(after, ')')?;
    }
}

/// The value that a text is.
pub(super) fn whole(text: &str) -> Option<Value> {
    value(text, 0).filter(|(_, rest)| rest.trim().is_empty()).map(|(value, _)| value)
}

/// The rest behind a comma, or at the closing mark.
fn separated(text: &str, close: char) -> Option<&str> {
    let text = text.trim_start();
    if text.starts_with(close) {
        return Some(text);
    }
    text.strip_prefix(',').map(str::trim_start)
}

fn value(text: &str, depth: usize) -> Option<(Value, &str)> {
    if depth > DEEPEST {
        return None;
    }
    match text.chars().next()? {
        quote @ ('"' | '\'') => quoted(&text[1..], quote),
        '[' => {
            let (mut list, mut rest) = (vec![], text[1..].trim_start());
            while !rest.starts_with(']') {
                let (one, after) = value(rest, depth + 1)?;
                list.push(one);
                rest = separated(after, ']')?;
            }
            Some((Value::Array(list), &rest[1..]))
        }
        '{' => {
            let (mut object, mut rest) = (Map::new(), text[1..].trim_start());
            while !rest.starts_with('}') {
                let (Value::String(key), after) = value(rest, depth + 1)? else { return None };
                let (one, after) = value(after.trim_start().strip_prefix(':')?.trim_start(), depth + 1)?;
                if object.insert(key, one).is_some() {
                    return None;
                }
                rest = separated(after, '}')?;
            }
            Some((Value::Object(object), &rest[1..]))
        }
        _ => {
            let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'))).unwrap_or(text.len());
            let value = match &text[..end] {
                "True" | "true" => Value::Bool(true),
                "False" | "false" => Value::Bool(false),
                "None" | "null" => Value::Null,
                number => Value::Number(serde_json::from_str::<Number>(number).ok()?),
            };
            Some((value, &text[end..]))
        }
    }
}

/// The text behind its opening quotation mark, with the escapes that Python knows. Others keep their backslash, as there. `\N{…}` is not read.
fn quoted(text: &str, quote: char) -> Option<(Value, &str)> {
    let triple = &String::from(quote).repeat(3)[..];
    let (text, close) = text.strip_prefix(&triple[1..]).map_or((text, &triple[..1]), |inside| (inside, triple));
    let mut read = String::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix(close) {
            return Some((Value::String(read), after));
        }
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            read.push(c);
            continue;
        }
        let escaped = rest.chars().next()?;
        let code = match escaped {
            'x' => Some((1, 2, 16)),
            'u' => Some((1, 4, 16)),
            'U' => Some((1, 8, 16)),
            '0'..='7' => Some((0, rest.chars().take(3).take_while(|c| c.is_digit(8)).count(), 8)),
            _ => None,
        };
        if let Some((from, length, radix)) = code {
            let written = rest.get(from..from + length).filter(|written| written.chars().all(|c| c.is_digit(radix)))?;
            read.push(char::from_u32(u32::from_str_radix(written, radix).ok()?)?);
            rest = &rest[from + length..];
            continue;
        }
        rest = &rest[escaped.len_utf8()..];
        match escaped {
            'n' => read.push('\n'),
            't' => read.push('\t'),
            'r' => read.push('\r'),
            'a' => read.push('\u{7}'),
            'b' => read.push('\u{8}'),
            'f' => read.push('\u{c}'),
            'v' => read.push('\u{b}'),
            '\n' => {}
            '\\' | '\'' | '"' => read.push(escaped),
            'N' => return None,
            other => read.extend(['\\', other]),
        }
    }
}
