//! Programs and Python code, of steps and of tools.

use std::path::PathBuf;

use super::context::{found, quoted};
use super::keys;
use super::other_shapes::truth;
use super::reader::KeyReader;
use super::texts::{place, plain};
use super::values::wrong_type;
use super::written_form::word;
use crate::diagnostic::{Diagnostic, LONGEST_QUOTE, cut};
use crate::model::{Form, HostEntry, OutputWord, ProgramCommand, ProgramNetwork, ProgramOutput, PythonCode, PythonNeeds, Text};
use crate::source::{Span, Spanned};
use crate::syntax::Node;

/// `program` and the keys beside it.
pub fn command_line(keys: &KeyReader) -> Option<ProgramCommand> {
    let (input, env) = (keys.filling("input"), environment(keys));
    let gives = gives(keys);
    let ok_exits = ok_exits(keys);
    let (reads_only, network) = (keys.boolean("reads_only").unwrap_or_default(), network(keys));
    let writes = keys.names("writes").unwrap_or_default();
    let writes: Vec<_> = writes.iter().filter_map(|path| Some(Spanned::new(path_of(keys, "folder", path)?, path.span))).collect();
    if let (true, Some(first)) = (reads_only, writes.first()) {
        let found = Diagnostic::bad_value(first.span, format!("{} changes nothing (reads_only), but has writes", keys.owner));
        keys.lower.report(found.help("remove writes, or reads_only"));
    }
    let words = words(keys)?;
    let (first, args) = words.split_first()?;
    let span = first.place.span;
    if first.form != Form::Plain {
        let message = "the program itself must be written out: which one is started is not for a value to say";
        return keys.lower.reject(span, message.to_owned(), "write its name as the first item, and values as arguments behind it");
    }
    let program = program(keys, "program", &Spanned::new(first.source.to_string(), span))?;
    Some(ProgramCommand { program, args: args.to_vec(), input, env, gives, ok_exits, reads_only, network, writes })
}

/// `network`: hosts, or all of it.
pub(super) fn network(keys: &KeyReader) -> ProgramNetwork<Spanned<String>> {
    let Some(node) = keys.get("network") else { return ProgramNetwork::None };
    if let Some(scalar) = node.as_scalar().filter(|scalar| scalar.value.is_string() && truth(scalar).is_none()) {
        let wrong = wrong_type(node, format!("network must be true, false or a list of hosts, found {}", found(node)));
        keys.lower.report(wrong.help(format!("write network: [{}]", as_item(&scalar.text))));
        return ProgramNetwork::None;
    }
    if node.as_list().is_none() {
        return if keys.boolean("network").unwrap_or_default() { ProgramNetwork::All } else { ProgramNetwork::None };
    }
    let items = keys.filled_list("network").unwrap_or_default();
    let hosts = items.iter().filter_map(|item| keys.lower.name("network", item)).filter_map(|written| {
        let entry = HostEntry::parse(&written.value);
        let plain = entry.plain_name().map(|name| HostEntry { name: &name, ..entry }.to_string());
        let help = match &plain {
            Some(plain) if plain.eq_ignore_ascii_case(&written.value) => return Some(written),
            Some(plain) => format!("write {plain}"),
            None if entry.name == "*" => "write network: true for all hosts".to_owned(),
            None if let Some((_, rest)) = written.value.split_once("://") => {
                let host = rest.split('/').next().unwrap_or_default();
                format!("write {}", if rest.contains(':') { quoted(host) } else { cut(host, LONGEST_QUOTE) })
            }
            None => "write a name or an address, with a port where it is not that of https: api.example.com, \"127.0.0.1:8080\"".to_owned(),
        };
        let what = if plain.is_some() { "is not written plainly" } else { "is no host" };
        keys.lower.report(Diagnostic::bad_value(written.span, format!("{} in network {what}", quoted(&written.value))).help(help));
        None
    });
    ProgramNetwork::Hosts(hosts.collect())
}

/// The argument list, or F003 for a command line that is one text.
pub(super) fn words(keys: &KeyReader) -> Option<Vec<Text>> {
    let node = keys.get("program")?;
    if let Some(scalar) = node.as_scalar().filter(|scalar| scalar.value.is_string()) {
        let words: Vec<String> = words_of(&scalar.text).iter().map(|word| as_item(word)).collect();
        let message = format!("program {} is a text; it takes a list: the program, then each argument", quoted(&scalar.text));
        keys.lower.report(wrong_type(node, message).help(format!("write program: [{}]", words.join(", "))));
        return None;
    }
    let items = keys.list("program")?;
    if items.is_empty() {
        keys.lower.empty("program", node.span);
        return None;
    }
    let words: Vec<Text> = items.iter().filter_map(|item| keys.lower.texts().loose_text("program", item)).collect();
    (words.len() == items.len()).then_some(words)
}

/// A word as an item of a list in brackets.
/// The words of a command line: what stands in quotes or in a template is in one word.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut rest) = (vec![], None::<String>, line);
    while let Some(first) = rest.chars().next() {
        let template = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")].into_iter().find(|(open, _)| rest.starts_with(open));
        let end_of = |close: &str| rest.get(close.len()..).and_then(|inner| Some((inner.find(close)? + close.len(), close.len())));
        let quote = ["'", "\""].into_iter().find(|quote| rest.starts_with(quote));
        let taken = if let Some((end, length)) = template.and_then(|(_, close)| end_of(close)) {
            word.get_or_insert_default().push_str(rest.get(..end + length).unwrap_or_default());
            end + length
        } else if let Some((end, length)) = quote.and_then(end_of) {
            word.get_or_insert_default().push_str(rest.get(length..end).unwrap_or_default());
            end + length
        } else {
            match first.is_whitespace() {
                true => words.extend(word.take()),
                false => word.get_or_insert_default().push(first),
            }
            first.len_utf8()
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    words.extend(word);
    words
}

/// A word as an item of a list in YAML.
fn as_item(word: &str) -> String {
    // `-l`; without quotes `-3` is a number.
    let is_option = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = (is_option || word.starts_with(|c: char| c.is_ascii_alphanumeric() || "./_".contains(c)))
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "./_-=@%+~".contains(c));
    match word.contains(['"', '\\']) {
        _ if is_plain => word.to_owned(),
        false if word.contains("{{") || word.contains('\'') => format!("\"{word}\""),
        false | true => format!("'{}'", word.replace('\'', "''")),
    }
}

/// A program: a name, or an absolute path. One from the folder of the file would run whatever lies there.
pub fn program(keys: &KeyReader, key: &str, command: &Spanned<String>) -> Option<Spanned<String>> {
    let wrong = |message: String, help: &str| keys.lower.reject(command.span, message, help);
    let shown = quoted(&command.value);
    if command.value.contains(char::is_whitespace) && !command.value.starts_with('/') {
        let help = match key {
            "command" => {
                let mut words: Vec<String> = command.value.split_whitespace().map(word).collect();
                let first = words.remove(0);
                format!("write command: {first} and args: [{}]", words.join(", "))
            }
            _ => "write each argument as an item of its own".to_owned(),
        };
        return wrong(format!("{key} {shown} holds a space; it is one program, without its arguments"), &help);
    }
    if command.value.contains('/') && !command.value.starts_with('/') {
        let help = match key {
            "command" => {
                "write the name of a program in PATH, or its absolute path; a script can be an argument: command: python3, args: [server.py]"
            }
            _ => "write the name of a program in PATH, or its absolute path; a script can be an argument: [python3, report.py]",
        };
        return wrong(format!("{key} {shown} is a path relative to a folder; which program it is depends on where it is run"), help);
    }
    Some(command.clone())
}

/// Whether a variable of the environment can have this name.
pub(super) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `env`: names that a program's environment can have, and texts.
pub fn environment(keys: &KeyReader) -> Vec<(Spanned<String>, Text)> {
    let mut list = vec![];
    for (name, node) in keys.entries("env") {
        if !is_variable_name(&name.text) {
            let message = format!("{} cannot be the name of a variable of the environment", quoted(&name.text));
            keys.lower.report(Diagnostic::bad_value(name.span, message).help("use letters, digits and \"_\", a letter first"));
            continue;
        }
        if let Some(text) = keys.lower.texts().loose_text(&name.text, node) {
            list.push((Spanned::new(name.text.clone(), name.span), text));
        }
    }
    list
}

/// `output`: a word, or fields.
fn gives(keys: &KeyReader) -> ProgramOutput {
    let is_word = keys.get("output").is_some_and(|node| node.as_scalar().is_some_and(|scalar| !scalar.value.is_null()));
    if is_word {
        keys.check_one_of(&["output", "output_schema"]);
        let word = keys.get("output").and_then(|node| keys.lower.word("output", node, OutputWord::WORDS));
        return ProgramOutput::Word(word.and_then(|word| word.parse().ok()).unwrap_or_default());
    }
    keys.output().map_or_else(|| ProgramOutput::Word(OutputWord::default()), ProgramOutput::Fields)
}

/// Exit codes are a byte.
const MOST_EXIT: u64 = 255;

fn ok_exits(keys: &KeyReader) -> Vec<i32> {
    let Some(node) = keys.get("ok_exits") else { return vec![0] };
    let mut exits = vec![];
    if let Some(code) = node.as_scalar().and_then(|scalar| scalar.value.as_u64()).filter(|code| *code > 0) {
        let message = format!("ok_exits: {code} makes exit code 0 a failure");
        keys.lower
            .report(Diagnostic::bad_value(node.span, message).help(format!("write ok_exits: [0, {code}]; or [{code}] if 0 is to fail")));
    }
    for item in keys.lower.members("ok_exits", node) {
        let Some(code) = keys.lower.whole("ok_exits", item) else { continue };
        match i32::try_from(code).ok().filter(|_| code <= MOST_EXIT) {
            Some(code) => exits.push(code),
            None => {
                let found = Diagnostic::bad_value(item.span, format!("{code} is no exit code; they go from 0 to {MOST_EXIT}"));
                keys.lower.report(found.help("write for example ok_exits: [0, 1]"));
            }
        }
    }
    exits
}

/// The names that code finds its values by must be names of variables.
pub(super) fn check_variables(keys: &KeyReader) {
    for (name, _) in ["with", "arguments"].into_iter().filter(|key| keys.allows(key)).flat_map(|key| keys.entries(key)) {
        if !is_variable(&name.text) {
            let found = Diagnostic::bad_value(name.span, format!("{} cannot be the name of a variable", quoted(&name.text)));
            keys.lower.report(found.help(VARIABLE_HELP));
        }
    }
}

/// `venv` and `requires`.
pub(super) fn needs(keys: &KeyReader) -> PythonNeeds {
    let venv = keys.name("venv").and_then(|path| Some(Spanned::new(path_of(keys, "folder", &path)?, path.span)));
    PythonNeeds { venv, requires: keys.names("requires").unwrap_or_default() }
}

/// `python` and the keys beside it.
pub fn python_code(keys: &KeyReader) -> Option<PythonCode> {
    let returns = keys.get("returns").map(|node| keys.lower.members("returns", node)).unwrap_or_default();
    let mut returns: Vec<Spanned<String>> = returns.iter().filter_map(|node| variable(keys, node)).collect();
    let mut seen = std::collections::HashSet::new();
    returns.retain(|name| {
        let is_new = seen.insert(name.value.clone());
        if !is_new {
            let found = Diagnostic::bad_value(name.span, format!("{} is in returns twice", quoted(&name.value)));
            keys.lower.report(found.help("remove one of the two"));
        }
        is_new
    });
    check_variables(keys);
    let node = keys.get("python")?;
    if node.as_map().is_none() {
        return Some(PythonCode { code: code(keys, "python", node)?, file: None, returns, needs: PythonNeeds::default() });
    }
    let own = KeyReader::of_key(keys.lower, "python", &keys.owner, &[&keys::PYTHON_CODE], node)?;
    own.check_one_of(&["file", "code"]);
    let file = own.name("file");
    let code = match (&file, own.get("code")) {
        (Some(path), _) => {
            let answer = own.lower.world().text(own.lower.file, &path.value);
            let (file, text) = own.lower.found("python file", &path.value, path.span, answer)?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let place = crate::model::TextPlace { span: Span::new(file, 0, text.len()), offsets: vec![(0, 0)] };
            plain(text, place)
        }
        (None, Some(node)) => self::code(&own, "code", node)?,
        (None, None) => {
            own.missing("has neither \"code\" nor \"file\"", "add code: with the code, or file: with the file that holds it");
            return None;
        }
    };
    Some(PythonCode { code, file, returns, needs: needs(&own) })
}

/// Code is no template; where it has names in braces all the same, F603 tells.
fn code(keys: &KeyReader, key: &str, node: &Node) -> Option<Text> {
    let text = keys.lower.sentence(key, node)?;
    let scalar = node.as_scalar()?;
    if text.trim().is_empty() {
        keys.lower.empty(key, node.span);
        return None;
    }
    Some(plain(&text, place(scalar, node.span, 0)))
}

/// A name that a variable of Python may have: letters, digits, "_" (the ASCII part of <https://docs.python.org/3/reference/lexical_analysis.html#identifiers>).
fn variable(keys: &KeyReader, node: &Node) -> Option<Spanned<String>> {
    let name = keys.lower.name("returns", node)?;
    if is_variable(&name.value) {
        return Some(name);
    }
    let found = Diagnostic::bad_value(name.span, format!("{} cannot be the name of a variable", quoted(&name.value)));
    keys.lower.report(found.help(VARIABLE_HELP));
    None
}

const VARIABLE_HELP: &str = "use letters, digits and \"_\", a letter first, and no word that Python keeps for itself";

/// Words that Python keeps for itself (<https://docs.python.org/3/reference/lexical_analysis.html#keywords>).
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
    "while", "with", "yield",
];

/// Whether Python code can have a variable of this name.
pub fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.contains(&name)
}

pub(super) fn path_of(keys: &KeyReader, what: &str, written: &Spanned<String>) -> Option<PathBuf> {
    let answer = keys.lower.world().path(keys.lower.file, &written.value);
    keys.lower.found(what, &written.value, written.span, answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_told_as_a_list() {
        let list = |line: &str| words_of(line).iter().map(|word| as_item(word)).collect::<Vec<_>>().join(", ");
        for (line, told) in [
            ("wc -l {{ inputs.file }}", r#"wc, -l, "{{ inputs.file }}""#),
            ("sort --key={{ inputs.key | default('a b') }} x.txt", r#"sort, "--key={{ inputs.key | default('a b') }}", x.txt"#),
            (r#"grep {{ inputs.what | default("x y") }}"#, r#"grep, '{{ inputs.what | default("x y") }}'"#),
            ("grep  'two words' \"it's\" a.txt", r#"grep, 'two words', "it's", a.txt"#),
            ("echo {{ open it's --", r#"echo, "{{", open, "it's", '--'"#),
            ("cat < a.txt", "cat, '<', a.txt"),
        ] {
            assert_eq!(list(line), told, "{line}");
        }
    }
}
