//! What the text of a program names, in any language: scripts behind the name of an interpreter, files that a command brings in, and literal paths.

use std::collections::BTreeMap;

use super::launchers::{SEPARATORS, has_option, runs_files};
use crate::model::bare_name;

/// Words that begin a command of a script, of any language, and behind which a file stands that is run or loaded.
const BEGINS: [&str; 13] =
    ["-include", ".", "do", "dofile", "exec", "from", "import", "include", "include_once", "load", "sinclude", "source", "use"];
/// The same, anywhere in a line.
const BRINGS_IN: [&str; 9] =
    ["eval", "exec", "execfile", "import", "require", "require_once", "require_relative", "run_path", "runpy.run_path"];
/// How code gives a program other variables than its own, in small letters.
#[rustfmt::skip]
const OTHER_VARIABLES: [&str; 13] = [
    "%env", "clearenv", "env.clear", "env.delete", "env:", "env=", "env =", "environ", "execle", "execve", "spawnle", "spawnve", "unset",
];

/// The words of a text with where they are.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_between = |c: char| SEPARATORS.contains(&c) || c.is_whitespace();
    let words = text.split(is_between).map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word));
    words.filter(|(_, word)| !word.is_empty())
}

/// What stands directly behind each interpreter that a text names, except options: `sh -e x`, `["sh", "x"]`.
fn behind_interpreters(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| matches!(c, ' ' | '\t' | '"' | '\'' | '`' | ',' | '[' | '<');
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ')' | ']' | ';' | '|' | '&' | '<' | '>');
    words(text).filter(|(_, word)| runs_files(word)).filter_map(move |(at, word)| {
        let mut rest = text.get(at + word.len()..)?.trim_start_matches(is_between);
        while rest.starts_with('-') {
            rest = rest.trim_start_matches(|c| !ends(c)).trim_start_matches(is_between);
        }
        rest.split(ends).next().filter(|word| !word.is_empty())
    })
}

/// The files that a text gives to interpreters, as it names them.
pub(super) fn scripts_in(text: &str) -> Vec<String> {
    behind_interpreters(text).map(ToOwned::to_owned).collect()
}

/// Whether the text of a command runs what it is given: `sh "$1"`, `"$@"`, `exec(open(sys.argv[1]).read())`.
pub(super) fn asks_for_script(code: &str) -> bool {
    let is_given = |word: &str| word.starts_with('$');
    let runs = ["exec", "import", "load", "run", "spawn", "system"];
    is_given(code.trim_start_matches(['"', ' ']))
        || code.split([';', '&', '|']).any(|command| {
            let command = command.trim_start();
            let first = [". ", "source ", "eval ", "exec "].iter().find_map(|first| command.strip_prefix(first));
            first.is_some_and(|rest| is_given(rest.trim_start_matches(['"', ' '])))
        })
        || behind_interpreters(code).any(is_given)
        || code.to_ascii_lowercase().contains("argv") && runs.iter().any(|word| code.contains(word))
}

/// What stands behind the words of a line that run or load another file.
pub(super) fn brought_in(line: &str) -> Vec<String> {
    let is_part = |c: char| !c.is_whitespace() && !SEPARATORS.contains(&c);
    let behind = |command: &str| {
        let first = command.split(char::is_whitespace).find(|word| !word.is_empty()).unwrap_or_default();
        let begun = BEGINS.contains(&first).then(|| command.to_owned());
        let places = BRINGS_IN.iter().flat_map(|word| command.match_indices(word).map(move |(at, word)| (at, at + word.len())));
        let whole = |(at, end): &(usize, usize)| !command[..*at].ends_with(is_part) && !command[*end..].starts_with(is_part);
        begun.or_else(|| places.filter(whole).map(|(_, end)| command[end..].to_owned()).next())
    };
    line.split([';', '&', '|', '{', '}']).filter_map(behind).collect()
}

/// What may be paths in a text, each with whether it may be a folder: a bare word of code is seldom one. `is_code`: the text is in a language that
/// has other words than names.
pub(super) fn literals(text: &str, is_code: bool) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    let mut put = |literal: &str, may_be_folder: bool| {
        let literal = literal.trim().trim_end_matches('/');
        if !literal.is_empty() && literal.len() < 1_024 && !literal.contains('\0') {
            *found.entry(literal.to_owned()).or_default() |= may_be_folder;
        }
    };
    for line in text.lines() {
        for quote in ['"', '\'', '`'].into_iter().filter(|quote| line.contains(*quote)) {
            line.split(quote).for_each(|piece| put(piece, true));
        }
        let mut before = "";
        for word in line.split(|c: char| c.is_whitespace() || SEPARATORS.contains(&c)).filter(|word| !word.is_empty()) {
            let is_named = before.starts_with('-') || before == "cd" || runs_files(before);
            put(word, !is_code || is_named || word.contains('/'));
            if before == "-m" {
                put(&format!("{}.py", word.replace('.', "/")), false);
                put(word.split('.').next().unwrap_or_default(), true);
            }
            // `-Ilib`, `-Csub`.
            if let Some(glued) = word.strip_prefix('-').and_then(|rest| rest.char_indices().nth(1).and_then(|(at, _)| rest.get(at..))) {
                put(glued, true);
            }
            before = word;
        }
    }
    found
}

/// Whether a text may start git.
pub(super) fn starts_git(text: &str) -> bool {
    words(text).any(|(_, word)| bare_name(word) == "git")
}

/// Whether these words may start a Python that does not hear where to keep compiled modules.
pub(super) fn passes_by(text: &str) -> bool {
    // The line that names the interpreter of the text itself.
    let text = if text.starts_with("#!") { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
    let small = text.to_ascii_lowercase();
    let is_part = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '(' | ')' | ';');
    let words = || text.split(is_part).filter(|word| !word.is_empty());
    let is_word = |wanted: &[&str]| words().any(|word| wanted.contains(&word));
    let without_variables = || is_word(&["env", "/usr/bin/env"]) && is_word(&["-", "-i", "-u", "--ignore-environment", "--unset"]);
    let with_others = || OTHER_VARIABLES.iter().any(|sign| small.contains(sign));
    let is_python = small.contains("python") || small.contains("sys.executable");
    ["pycache_prefix", "pycacheprefix"].iter().any(|name| small.contains(name))
        || is_python && (words().any(|word| has_option(word, &['E', 'I'])) || without_variables() || with_others())
}
