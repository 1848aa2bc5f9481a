//! Which words of a command say what runs, and which name data.
//!
//! One rule for all: the first file behind an interpreter, anywhere in the command, is its script, whatever it is called. The value of an option
//! counts behind any program but those that only read and write ([`PLAIN`]). All other words name data.

use std::path::Path;

use super::code_text::{asks_for_script, scripts_in};
use super::environment::program_path;
use super::files::resolved;
use super::launchers::runs_files;
use crate::model::{Interpreter, bare_name};

/// Programs that run no file, whatever their options are.
#[rustfmt::skip]
const PLAIN: [&str; 52] = [
    "b2sum", "base", "basename", "cat", "chmod", "cksum", "cmp", "comm", "cp", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep",
    "expand", "fgrep", "file", "fmt", "fold", "grep", "gunzip", "gzip", "head", "hexdump", "iconv", "join", "ln", "ls", "md5sum", "mkdir",
    "mv", "nl", "od", "paste", "readlink", "realpath", "rm", "sha1sum", "sha256sum", "sha512sum", "sort", "stat", "strings", "tac", "tail",
    "tee", "touch", "tr", "wc",
];
/// Options behind which code or a module stands, so that no file follows that is a script.
const TAKE_CODE: [&str; 4] = ["--command", "--eval", "--exec", "--print"];

/// What a program takes from the words behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakenWords {
    /// The first file, or the first word that is the name of a program, is what it starts.
    Program,
    /// The first file is its script.
    Script,
    /// Its options may name what it runs.
    Options,
    /// Data alone.
    Data,
}

/// The words of a command, by what they may be.
#[derive(Debug, Default)]
pub(super) struct SortedWords {
    /// Files that an interpreter runs.
    pub(super) scripts: Vec<String>,
    /// Words that may say what runs.
    pub(super) options: Vec<String>,
    /// The others.
    pub(super) data: Vec<String>,
    /// The program that runs in the end is an interpreter.
    pub(super) is_interpreted: bool,
}

/// Sorts the words of a command that starts in a folder.
pub(super) fn sorted(command: &str, words: &[String], folder: &Path, project: &Path) -> SortedWords {
    let mut takes = takes_of(command);
    let mut found = SortedWords { is_interpreted: runs_files(command), ..SortedWords::default() };
    let mut option: Option<&str> = None;
    for word in words {
        let before = option.take();
        let path = folder.join(word);
        let is_text = word.contains(char::is_whitespace) && !path.exists();
        if is_text {
            found.scripts.extend(scripts_in(word));
        }
        if word.starts_with('-') {
            option = takes_value(word).then_some(word);
            found.options.push(word.clone());
        } else if runs_files(word) && !names_itself(word, before, &found.options) {
            (takes, found.is_interpreted) = (takes_of(word), true);
            found.options.push(word.clone());
        } else if matches!(takes, TakenWords::Program | TakenWords::Script) && path.exists() {
            // A program of the system is no script, but what is behind it may be one.
            let is_ours = [folder, project].iter().any(|place| path.starts_with(place) || resolved(&path).starts_with(resolved(place)));
            takes = if is_ours { TakenWords::Data } else { takes_of(word) };
            found.scripts.push(word.clone());
        } else if matches!(takes, TakenWords::Program | TakenWords::Script) {
            let is_program = takes == TakenWords::Program
                && !word.contains('/')
                && std::env::split_paths(&program_path()).any(|place| place.join(word).is_file());
            if is_program {
                (takes, found.is_interpreted) = (takes_of(word), false);
            } else if before.is_some_and(takes_code) {
                takes = if asks_for_script(word) { TakenWords::Script } else { TakenWords::Data };
            }
            found.options.push(word.clone());
        } else if before.is_some() && takes == TakenWords::Options {
            let is_file = path.is_file() && before.is_some_and(|option| option.ends_with(['f', 'e']));
            if is_file { found.scripts.push(word.clone()) } else { found.options.push(word.clone()) }
        } else {
            found.data.push(word.clone());
        }
    }
    found
}

fn takes_of(program: &str) -> TakenWords {
    if Interpreter::parse(program) == Some(Interpreter::Starter) {
        TakenWords::Program
    } else if runs_files(program) {
        TakenWords::Script
    } else if PLAIN.contains(&&*bare_name(program)) {
        TakenWords::Data
    } else {
        TakenWords::Options
    }
}

/// `sh -c 'sort "$1"' sh x.txt`: behind its code, a shell is told its own name.
fn names_itself(word: &str, before: Option<&str>, options: &[String]) -> bool {
    let [.., option, code] = options else { return false };
    word.ends_with("sh") && before.is_none() && takes_code(option) && !code.starts_with('-') && !asks_for_script(code)
}

fn takes_value(option: &str) -> bool {
    !option.contains('=') && !matches!(option, "-" | "--") && !option[1..].starts_with(|c: char| c.is_ascii_digit())
}

fn takes_code(option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|rest| rest.chars().all(|c| c.is_ascii_alphabetic()));
    TAKE_CODE.contains(&option) || letters.is_some_and(|letters| letters.ends_with(['c', 'e', 'm', 'E']))
}
