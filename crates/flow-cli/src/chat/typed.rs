//! The person's input: from a line editor at a terminal, or one line per message from standard input.

use std::io::{BufRead, Read};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Cmd, Config, Context, Editor, Helper, KeyEvent, Modifiers};
use strum::{IntoEnumIterator, VariantNames};

use crate::diagnostic::{nearest, visible};
use crate::refusal::Refusal;
use crate::{signals, typing};

/// Maximum length of a message, in characters.
const MOST: usize = 10_000;

/// Maximum size of a line of a script, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A command, typed in place of a message with `/` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames, strum::EnumIter)]
#[strum(serialize_all = "snake_case")]
pub(super) enum CommandWord {
    Help,
    Save,
    Resume,
    Clear,
    Tools,
    Usage,
    Channel,
}

impl CommandWord {
    /// Returns its arguments, and what it does.
    pub(super) fn about(self) -> (&'static str, &'static str) {
        match self {
            CommandWord::Help => ("", "shows this list"),
            CommandWord::Save => (" [FILE]", "says how to continue this session later, or writes it to a file, one JSON object per line"),
            CommandWord::Resume => (" [ID]", "lists the sessions that are kept, or continues with one"),
            CommandWord::Clear => ("", "begins a new session; the earlier one is kept"),
            CommandWord::Tools => ("", "lists the tools"),
            CommandWord::Usage => ("", "shows messages, tokens and cost of the session"),
            CommandWord::Channel => (" [NAME]", "lists the channels, or writes answers for this one from now on"),
        }
    }

    /// Returns all commands.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, CommandWord)> {
        CommandWord::iter().map(|word| (word.into(), word))
    }
}

/// The meaning of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Nothing,
    Over,
    /// A command and its argument.
    Command(CommandWord, Option<String>),
    /// A message, and the number of control characters removed from it.
    Message {
        text: String,
        stripped: usize,
    },
}

impl Typed {
    /// Parses a line. Errors: an unknown command, or a message that is too long; as a sentence.
    fn parse(line: &str) -> Result<Typed, String> {
        // Line breaks and tabs stay: they may be part of a pasted text.
        let kept: String = line.chars().filter(|sign| !is_control(*sign)).collect();
        let stripped = line.chars().filter(|sign| is_control(*sign) && *sign != '\r').count();
        let text = kept.trim();
        match text {
            "" if stripped > 0 => return Err("the message has nothing but control characters; it was not sent".into()),
            "" => return Ok(Typed::Nothing),
            "exit" | "quit" | "/exit" | "/quit" => return Ok(Typed::Over),
            _ => {}
        }
        // A path, or text with two slashes, is a message.
        if let Some(command) = text.strip_prefix('/')
            && !text[1..].split(char::is_whitespace).next().unwrap_or_default().contains('/')
        {
            return command_of(command);
        }
        let length = text.chars().count();
        if length > MOST {
            return Err(format!("the message has {length} characters, at most {MOST} can be sent; it was not sent"));
        }
        Ok(Typed::Message { text: text.to_owned(), stripped })
    }
}

fn is_control(sign: char) -> bool {
    sign.is_control() && !matches!(sign, '\n' | '\t')
}

fn command_of(text: &str) -> Result<Typed, String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let word = &*word.to_ascii_lowercase();
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty());
    let known: CommandWord = word.parse().map_err(|_| {
        let near = nearest(word, CommandWord::VARIANTS.iter().copied()).first().map(|near| format!("; did you mean /{near}?"));
        format!("there is no command /{}{}", visible(word), near.unwrap_or_else(|| "; /help lists the commands".into()))
    })?;
    if rest.is_some() && known.about().0.is_empty() {
        return Err(format!("/{word} takes nothing after it"));
    }
    Ok(Typed::Command(known, rest.map(str::to_owned)))
}

/// Input from the person.
pub(super) enum Line {
    Typed(Typed),
    /// The input is neither a message nor a command, with the reason.
    Refused(String),
    /// Ctrl-C at the prompt.
    Interrupted,
}

/// The source of lines.
pub(super) enum ChatLines {
    Editor(Box<ChatEditor>),
    Script { number: usize },
}

type ChatEditor = Editor<ChatHelper, MemHistory>;

fn new_editor() -> Result<ChatEditor, Refusal> {
    let config = Config::builder().auto_add_history(true).bracketed_paste(true).build();
    let mut editor = Editor::with_history(config, MemHistory::new()).map_err(|error| Refusal::usage(error.to_string()))?;
    editor.set_helper(Some(ChatHelper));
    Ok(editor)
}

impl ChatLines {
    /// Creates the source of lines. Errors: there is no terminal (exit 2).
    pub(super) fn new(is_script: bool) -> Result<ChatLines, Refusal> {
        if is_script {
            return Ok(ChatLines::Script { number: 0 });
        }
        if !typing::is_at_terminal() {
            return Err(Refusal::usage("flow chat needs a terminal; --no-tty reads a message per line from standard input instead"));
        }
        Ok(ChatLines::Editor(Box::new(new_editor()?)))
    }

    pub(super) fn is_script(&self) -> bool {
        matches!(self, ChatLines::Script { .. })
    }

    /// Returns the next line; `None`: there are no more. A signal ends the program after `parting`. Errors: reading fails.
    pub(super) fn next(&mut self, parting: impl FnOnce() + Send + 'static) -> Result<Option<Line>, Refusal> {
        match self {
            ChatLines::Editor(editor) => Self::edited(editor, parting),
            ChatLines::Script { number } => Self::of_script(number),
        }
    }

    fn edited(editor: &mut ChatEditor, parting: impl FnOnce() + Send + 'static) -> Result<Option<Line>, Refusal> {
        let waiting = signals::typed_ahead();
        if waiting.as_ref().is_some_and(|ahead| ahead.goes_on) {
            // Ctrl-D was typed during an answer: it ends the chat at its place among the lines.
            editor.bind_sequence(KeyEvent::new('\0', Modifiers::NONE), Cmd::EndOfFile);
        }
        let edited = {
            let _signals = signals::at_edited_line(parting);
            editor.readline("> ")
        };
        let is_full = waiting.is_some_and(|ahead| ahead.bytes >= typing::CUT_BY_TERMINAL as u64);
        match edited {
            Ok(line) if is_cut(&line, is_full) => Ok(Some(Line::Refused(CUT.into()))),
            Ok(line) => Ok(Some(read(&unfolded(&line)))),
            Err(ReadlineError::Interrupted) => Ok(Some(Line::Interrupted)),
            Err(ReadlineError::Eof) => Ok(None),
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                // The rest of the line is in the editor's buffer.
                let said = std::mem::take(editor.history_mut());
                *editor = new_editor()?;
                *editor.history_mut() = said;
                signals::forget_typed();
                // The terminal may have cut within a character.
                Ok(Some(Line::Refused(if is_full { CUT } else { "it is not UTF-8; it was not sent" }.into())))
            }
            Err(error) => Err(refusal!(Usage, "the terminal cannot be read: {error}")),
        }
    }

    fn of_script(number: &mut usize) -> Result<Option<Line>, Refusal> {
        *number += 1;
        let _signals = signals::at_question();
        let mut bytes = vec![];
        let got = std::io::stdin().lock().take(MOST_BYTES).read_until(b'\n', &mut bytes);
        let got = got.map_err(|error| refusal!(Usage, "standard input cannot be read: {error}"))?;
        if got == 0 {
            return Ok(None);
        }
        if got as u64 == MOST_BYTES && bytes.last() != Some(&b'\n') {
            return Err(refusal!(Usage, "line {number} is longer than {MOST_BYTES} bytes"));
        }
        let mut line = match String::from_utf8(bytes) {
            Ok(line) => read(&line),
            Err(_) => Line::Refused("it is not UTF-8; it was not sent".into()),
        };
        if let Line::Refused(why) = &mut line {
            *why = format!("line {number}: {why}");
        }
        Ok(Some(line))
    }

    /// Clears the history of the arrow keys.
    pub(super) fn forget(&mut self) {
        if let ChatLines::Editor(editor) = self {
            let _ = editor.clear_history();
        }
    }

    /// Adds texts to the history of the arrow keys.
    pub(super) fn remember<'s>(&mut self, said: impl Iterator<Item = &'s str>) {
        if let ChatLines::Editor(editor) = self {
            said.for_each(|text| drop(editor.add_history_entry(text)));
        }
    }
}

/// The message about a line that the terminal cut.
const CUT: &str = "the line that was typed during the answer is too long: this terminal cuts one after 4095 bytes; it was not sent";

/// Whether the terminal cut a line that was typed before editing started. `is_full`: its buffer was full when editing started.
fn is_cut(line: &str, is_full: bool) -> bool {
    line.split('\n').any(|line| line.len() == typing::CUT_BY_TERMINAL || is_full && line.len() > typing::CUT_BY_TERMINAL)
}

fn read(line: &str) -> Line {
    Typed::parse(line).map_or_else(Line::Refused, Line::Typed)
}

/// Joins a line that ends in `\` with the next one.
fn unfolded(line: &str) -> String {
    line.replace("\\\n", "\n")
}

/// Completes commands and joins lines.
pub(super) struct ChatHelper;

impl Completer for ChatHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).and_then(|typed| typed.strip_prefix('/')).unwrap_or(" ");
        let fitting = CommandWord::VARIANTS.iter().filter(|word| word.starts_with(typed)).map(|word| format!("/{word}"));
        Ok((0, fitting.collect()))
    }
}

impl Validator for ChatHelper {
    fn validate(&self, typed: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        Ok(if typed.input().ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for ChatHelper {
    type Hint = String;
}

impl Highlighter for ChatHelper {}

impl Helper for ChatHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_a_command_or_the_end() {
        let message = |text: &str, stripped| Ok(Typed::Message { text: text.into(), stripped });
        assert_eq!(Typed::parse("  hello \n"), message("hello", 0));
        assert_eq!(Typed::parse("a\u{1b}[31mb\u{7}\u{9b}\r\n"), message("a[31mb", 3));
        assert_eq!(Typed::parse("two\nlines\tx"), message("two\nlines\tx", 0));
        assert_eq!(Typed::parse("/etc/hosts is a file"), message("/etc/hosts is a file", 0));
        assert_eq!(Typed::parse(" \t "), Ok(Typed::Nothing));
        assert!(Typed::parse("\u{1b}\u{7}").is_err());
        assert_eq!(
            (Typed::parse("exit"), Typed::parse("quit\n"), Typed::parse("/quit")),
            (Ok(Typed::Over), Ok(Typed::Over), Ok(Typed::Over))
        );
        assert_eq!(Typed::parse("/resume r1"), Ok(Typed::Command(CommandWord::Resume, Some("r1".into()))));
        assert_eq!(Typed::parse("/clear"), Ok(Typed::Command(CommandWord::Clear, None)));
        assert_eq!(Typed::parse("/CLEAR"), Ok(Typed::Command(CommandWord::Clear, None)));
        assert!(
            Typed::parse("/clear all").is_err() && Typed::parse("/halp").unwrap_err().contains("/help") && Typed::parse("/ help").is_err()
        );
    }

    #[test]
    fn a_message_has_at_most_ten_thousand_characters() {
        assert!(matches!(Typed::parse(&"ä".repeat(10_000)), Ok(Typed::Message { .. })));
        assert!(Typed::parse(&"ä".repeat(10_001)).unwrap_err().contains("10001 characters"));
    }

    #[test]
    fn a_backslash_at_the_end_continues_the_line() {
        assert_eq!(unfolded("one\\\ntwo"), "one\ntwo");
    }
}
