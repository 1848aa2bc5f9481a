//! What looks like a call of an offered tool and can be read as none: the name of a tool in a place where a call has it. Such a text is no answer.
//!
//! The places are few and certain, so that prose about tools stays prose: lines of their own, JSON at the beginning or the end, elements. Code counts
//! only as the last thing of a text, where it begins with a call, or if its fence says that it is one.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::layout::{AnswerLine, LineKind, OpenFence, code_spans, lines};

/// Names of the collection that tools are in, before their own.
pub(super) const COLLECTIONS: [&str; 4] = ["functions.", "default_api.", "tools.", "multi_tool_use."];
/// What stands in the place of code and quotations.
const HIDDEN: char = '\u{fffc}';
/// Longest way back to the brace that begins an object, in bytes.
const MOST_BACK: usize = 4096;
/// Most names in JSON that are looked at.
const MOST_KEYS: usize = 64;
/// Words beside the name in elements of calls.
const BESIDE: [&str; 12] =
    ["name", "tool", "tool_name", "function", "type", "id", "call", "print", "server", "server_name", "json", "action"];

fn pattern(text: &str) -> Regex {
    Regex::new(&text.replace("NAME", r"([A-Za-z_][\w.\-]*)")).expect("a pattern of this file")
}

/// `Action: x` and `Action Input:` in the next line; `name: x` and `arguments:`.
static LINES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?im)^[ \t*_\-]*(action|tool|tool[ _]name|function|name|call)[*_]*[ \t]*:[ \t*_"'\[]*NAME["'*_\]()]*[ \t]*\r?\n\s*[*_\-]*(action[ _]input|tool[ _]input|arguments|parameters|args|input|kwargs|with)[*_]*[ \t]*:(\s*)(.?)"#,
    )
});
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"["'](?:name|tool|tool_name|function|function_name|recipient_name|action)["']\s*:\s*["'](?:functions\.)?NAME["']"#)
});
static ARGUMENTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"["'](?:arguments|parameters|args|input|tool_input|kwargs|with|action_input)["']\s*:"#));
/// What may stand behind JSON that is the last thing.
static CLOSING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[\s\]},;)]|</?[^<>\n]{1,60}>|\[/?[A-Za-z_]+\]|<[|｜][^<>]{1,60}>)*$"));
static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?m)^[ \t]*(?:\w+[ \t]*=[ \t]*)?\[?(?:print\()?(?:await )?NAME\([ \t]*(?:\w+[ \t]*=[^=\n]|[{"')\n]|$)[^\n]*"#)
});
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^[ \t]*<NAME(?:\s[^<>]*)?>\s*"));
/// An element or mark that says that it is a call.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?im)^[ \t]*(?:[<\[][|｜]?(?:[a-z]+[:_])?(?:tool|function)[_▁ -]?(?:calls?|uses?|requests?|code|name|invocation|sep)|<(?:tool|function|action|invoke))\b",
    )
});
/// A mark of the wire that is one of calls, whatever stands behind it.
static WIRE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?im)^[ \t]*(?:<[|｜]/?[a-z_▁]*(?:tool|function|action|plugin)[a-z_▁]*[|｜]?>|✿[a-z]+✿)[ \t]*:?[ \t]*(?:[\[{<:\r\n]|[\w.\-]+[ \t]*[\[{(<\r\n]|[\w.\-]+$)",
    )
});
/// A recipient in the format of `gpt-oss`.
static RECIPIENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)(?:(?:^|commentary|assistant|analysis|>)[ \t]*to=(?:functions\.)?|^[ \t]*functions\.)NAME(?::\d+)?[ \t]*(?:code|json|<[|｜]|[({\n]|$)",
    )
});
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w.\-]+"));

/// Names of tools in any of their spellings.
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(spelling).collect())
    }

    fn has(&self, name: &str) -> bool {
        let name = name.trim_matches('.');
        let bare = COLLECTIONS.iter().find_map(|collection| name.strip_prefix(collection));
        self.0.contains(&spelling(name)) || bare.is_some_and(|bare| self.0.contains(&spelling(bare)))
    }
}

/// A name in the one form of its spellings: models write `_` or `.` for `-`.
pub(super) fn spelling(name: &str) -> String {
    name.replace(['_', '.', '/'], "-").to_lowercase()
}

/// What a text looks like a call of an offered tool in; `None`: it does not.
pub(super) fn form(text: &str, names: &Names) -> Option<&'static str> {
    let text = &visible_part(text, names);
    let has = |pattern: &Regex, fits: &dyn Fn(&regex::Captures<'_>) -> bool| pattern.captures_iter(text).any(|found| fits(&found));
    let forms: [(&'static str, bool); 7] = [
        ("Action:", has(&LINES, &|found| names.has(&found[2]) && is_input(found))),
        (
            "JSON",
            KEY.captures_iter(text)
                .take(MOST_KEYS)
                .any(|found| names.has(&found[1]) && is_object(text, found.get(0).map_or(0, |key| key.start()))),
        ),
        ("tool_code", has(&PYTHON, &|found| names.has(&found[1]) && is_line_of_call(text, found))),
        ("an element", has(&ELEMENT, &|found| names.has(&found[1]) && is_element(text, found))),
        ("a mark of calls", !names.0.is_empty() && WIRE.is_match(text)),
        ("a mark of calls", has(&MARK, &|found| is_marked(text, found, names))),
        ("to=", has(&RECIPIENT, &|found| names.has(&found[1]))),
    ];
    forms.into_iter().find(|(_, is_so)| *is_so).map(|(form, _)| form)
}

/// A text in which only what is meant can be seen, and code that may be calls.
fn visible_part(text: &str, names: &Names) -> String {
    let lines = lines(text, OpenFence::Code);
    let last = lines
        .iter()
        .rfind(|line| !line.text.trim().is_empty())
        .filter(|line| line.kind != LineKind::Text)
        .and_then(|_| lines.iter().rev().find_map(|line| if let LineKind::Code(fence, _) = line.kind { Some(fence) } else { None }));
    // Code in another language than that of calls counts if it begins with one.
    let last = last.filter(|last| {
        let mut inside = lines.iter().filter(|line| matches!(line.kind, LineKind::Code(fence, _) if fence == *last));
        let first = inside.find_map(|line| Some(line.text.trim()).filter(|text| !text.is_empty())).unwrap_or_default();
        let word = first.trim_start_matches("print(").split('(').next().unwrap_or_default();
        let behind = first.split_once('=').map_or("", |(_, called)| called.trim());
        first.starts_with(['{', '[', '<'])
            || first.contains(':')
            || names.has(word)
            || names.has(behind.split('(').next().unwrap_or_default())
    });
    let mut shown = String::with_capacity(text.len());
    for AnswerLine { text, kind, .. } in &lines {
        let word = |word: &str| word.to_lowercase().starts_with("tool_");
        match *kind {
            LineKind::Code(fence, info) if word(info) || last == Some(fence) => shown.push_str(text),
            LineKind::Text => {
                let mut from = 0;
                for span in code_spans(text, 0) {
                    shown.push_str(&text[from..span.start]);
                    shown.push(HIDDEN);
                    from = span.end;
                }
                shown.push_str(&text[from..]);
            }
            LineKind::Fence => {}
            LineKind::Code(..) | LineKind::Quote => shown.extend([HIDDEN, '\n']),
        }
    }
    shown
}

/// Whether the second of two lines holds arguments, and does not describe them.
fn is_input(found: &regex::Captures<'_>) -> bool {
    let (behind, first) = (&found[4], &found[5]);
    let is_described = found[3].eq_ignore_ascii_case("parameters") || first == "-" || !(first.is_empty() || behind.contains('\n'));
    found[1].eq_ignore_ascii_case("action")
        || matches!(first, "{" | "[")
        || !is_described && (first.is_empty() || behind.ends_with([' ', '\t']))
}

/// Whether the object with a key at this place is a call, and the first or the last thing of the text, or cut.
fn is_object(text: &str, key: usize) -> bool {
    let mut depth = 0_usize;
    let start = text.as_bytes()[..key].iter().enumerate().rev().take(MOST_BACK).find(|(_, byte)| match byte {
        b'}' => {
            depth += 1;
            false
        }
        b'{' if depth > 0 => {
            depth -= 1;
            false
        }
        byte => **byte == b'{',
    });
    let Some((start, _)) = start else { return false };
    let is_first = !text[..start].contains(|c: char| c.is_alphanumeric() || c == HIDDEN);
    let rest = &text[start..];
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Map<String, serde_json::Value>>();
    match values.next() {
        Some(Ok(object)) => {
            let has_arguments = object.keys().any(|key| ARGUMENTS.is_match(&format!("\"{key}\":")));
            // What has a description describes a tool.
            has_arguments && !object.contains_key("description") && (is_first || CLOSING.is_match(&rest[values.byte_offset()..]))
        }
        Some(Err(error)) if error.is_eof() => true,
        _ => ARGUMENTS.is_match(rest) && (is_first || rest.trim_end().ends_with(['}', ']', '>'])),
    }
}

/// Whether the line of a call has nothing behind it, or the call goes on in the next line.
fn is_line_of_call(text: &str, found: &regex::Captures<'_>) -> bool {
    let Some(line) = found.get(0) else { return false };
    let is_last = text[line.end()..].trim().is_empty() && !line.as_str().contains(')');
    is_last || line.as_str().trim_end().ends_with([')', ']', '(', '{', '[', ',', ';'])
}

/// Whether an element is a call: the names of HTML elements are also names of tools.
fn is_element(text: &str, found: &regex::Captures<'_>) -> bool {
    let after = found.get(0).map_or("", |whole| &text[whole.end()..]);
    let is_empty = found[0].trim_end().ends_with("/>") || after.is_empty();
    is_empty || found[1].contains(['-', '_', '.']) || after.starts_with('{') || after.starts_with('<') && !after.starts_with("</")
}

/// Whether the first word behind a mark that says something is the name of a tool.
fn is_marked(text: &str, found: &regex::Captures<'_>, names: &Names) -> bool {
    let after = found.get(0).map_or("", |whole| &text[whole.end()..]);
    let first = WORD.find_iter(after).take(8).find(|word| names.has(word.as_str()) || !BESIDE.contains(&word.as_str()));
    first.is_some_and(|word| names.has(word.as_str()))
}
