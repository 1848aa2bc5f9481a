//! Reads a person's answers at a terminal, line by line.

use std::io::{BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::signals::{forget_typed, has_typed};
use super::tell;
use crate::adapter::stdout::Stdout;
use crate::adapter::{environment, lock};
use crate::diagnostic::all_visible;
use crate::port::{PrintError, Printer};

/// Maximum length of a question that a terminal shows at once, in characters.
const MOST_SEEN: usize = 2_000;
/// Terminals silently cut a line after this many bytes.
pub(super) const CUT_BY_TERMINAL: usize = 4_095;
/// How often to check whether a question was closed.
const LOOK: Duration = Duration::from_millis(100);

/// Whether questions can be asked: input and standard error are terminals, and CI is not set.
pub(super) fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && shows_lines()
}

/// Whether standard error is a terminal that can redraw a line.
pub(super) fn shows_lines() -> bool {
    std::io::stderr().is_terminal() && !environment::is_set("CI") && !is_dumb()
}

/// Whether the terminal can only print lines.
pub(super) fn is_dumb() -> bool {
    environment::text("TERM").is_some_and(|term| term == "dumb")
}

/// A person's answer to a question.
pub(super) enum Said {
    /// Yes.
    Yes,
    /// No, with the reason; empty: no reason.
    No(String),
}

/// An answer that a person is typing. If the question is closed before the answer, nothing more is read.
#[derive(Clone, Default)]
pub(super) struct Typing(Arc<AtomicBool>);

impl Typing {
    /// Closes the question.
    pub(super) fn end(&self) {
        self.0.store(true, Ordering::Release);
        *lock(&PROMPT) = None;
    }

    /// Whether the question is closed.
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Asks a person to allow a call. All of it is shown, including personal values and invisible characters; for a long question the last
    /// line gives its length and the command that shows it.
    pub(super) fn allow(&self, question: &str, show: &str) -> Option<Said> {
        // Secrets are masked first: escapes between their characters would prevent matches.
        let shown = all_visible(&tell::without_secrets(question));
        let length = shown.chars().count();
        if length <= MOST_SEEN || !is_at_terminal() {
            return self.decide(&shown);
        }
        tell::as_written(&shown, "\n");
        self.decide(&format!("this question has {length} characters; show all of it: {show}"))
    }

    /// Asks a person yes or no; `None`: nobody can be asked or answers. The reason for a no is on the same line, so Enter decides.
    pub(super) fn decide(&self, question: &str) -> Option<Said> {
        if !is_at_terminal() {
            return None;
        }
        loop {
            match parse_answer(&self.fresh_line(&format!("{question} (yes/no) "))?) {
                Some(said) => return Some(said),
                None => tell!("please answer yes or no (a no may have its reason, as in: no, not before Monday)"),
            }
        }
    }

    /// Reads a new line; earlier input is dropped. `None`: as for [`Typing::line`].
    pub(super) fn fresh_line(&self, prompt: &str) -> Option<String> {
        // Dropped before the prompt is shown, so that an immediate answer is received.
        if forget_typed() {
            tell!("what was typed before this question is dropped");
        }
        self.line(prompt)
    }

    /// Reads a line after a prompt, without its end; `None`: the input has ended, or the question was closed. A line that was cut or is
    /// invalid is requested again.
    pub(super) fn line(&self, prompt: &str) -> Option<String> {
        loop {
            if self.is_over() {
                return None;
            }
            let open = OpenPrompt::show(prompt);
            while !has_typed(LOOK) && !self.is_over() {}
            if self.is_over() {
                // Input for this question must not reach the next reader.
                forget_typed();
                return None;
            }
            let line = typed_line();
            drop(open);
            let Some(line) = line else {
                tell!();
                return None;
            };
            if line.len() >= CUT_BY_TERMINAL {
                tell!("this terminal cuts a line after {CUT_BY_TERMINAL} bytes; type a shorter one, or answer with flow approve");
                continue;
            }
            match String::from_utf8(line) {
                Ok(line) => return Some(line.trim_end_matches('\r').to_owned()),
                Err(_) => tell!("that line is not UTF-8; type it again"),
            }
        }
    }
}

/// Reads one line from the terminal, without its end; `None`: the input has ended. Ctrl-D sends the input so far without a line end, which
/// is not an answer.
fn typed_line() -> Option<Vec<u8>> {
    let mut stdin = std::io::stdin().lock();
    let given = stdin.fill_buf().ok()?;
    let end = given.iter().position(|byte| *byte == b'\n');
    let line = end.map(|end| given[..end].to_vec());
    let used = end.map_or(given.len(), |end| end + 1);
    stdin.consume(used);
    line
}

/// Parses an answer: `yes`, `no`, `no, not before Monday`.
fn parse_answer(line: &str) -> Option<Said> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_alphanumeric()).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let reason = rest.trim_start_matches(|c: char| c.is_whitespace() || ",;:.-–".contains(c)).to_owned();
    match (word.to_lowercase().as_str(), reason.is_empty()) {
        ("yes" | "y", true) => Some(Said::Yes),
        ("no" | "n", _) => Some(Said::No(reason)),
        _ => None,
    }
}

/// The prompt that is shown on the terminal.
static PROMPT: Mutex<Option<String>> = Mutex::new(None);

/// Marks a prompt as shown, as long as it exists.
struct OpenPrompt;

impl OpenPrompt {
    fn show(prompt: &str) -> OpenPrompt {
        let mut open = lock(&PROMPT);
        tell::as_written(prompt, "");
        *open = Some(prompt.to_owned());
        OpenPrompt
    }
}

impl Drop for OpenPrompt {
    fn drop(&mut self) {
        *lock(&PROMPT) = None;
    }
}

/// Standard output for texts of a run. If it shares a terminal with a question, the question is shown again below the text, so that no text
/// can imitate a question.
#[derive(Default)]
pub(super) struct StdoutBesideQuestion(Stdout);

impl Printer for StdoutBesideQuestion {
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        let asked = lock(&PROMPT).clone().filter(|_| std::io::stdout().is_terminal());
        let Some(prompt) = asked else { return self.0.print(parts) };
        tell!();
        // No lock is held meanwhile: the reader of the output may be blocked.
        let printed = self.0.print(parts);
        // The event that closed the question may have caused this output.
        std::thread::sleep(LOOK);
        let open = lock(&PROMPT);
        if open.as_deref() == Some(&*prompt) {
            tell::gap();
            tell::as_written(&prompt, "");
        }
        printed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_has_its_reason_on_the_same_line_and_a_yes_has_none() {
        let read = |line: &str| match parse_answer(line) {
            Some(Said::Yes) => "yes".to_owned(),
            Some(Said::No(why)) => format!("no: {why}"),
            None => "?".to_owned(),
        };
        for (line, wanted) in [
            ("yes", "yes"),
            (" Y ", "yes"),
            ("yes.", "yes"),
            ("yes but later", "?"),
            ("no", "no: "),
            ("No, not before Monday", "no: not before Monday"),
            ("n - too dear", "no: too dear"),
            ("nope", "?"),
            ("not yet", "?"),
            ("", "?"),
        ] {
            assert_eq!(read(line), wanted, "{line:?}");
        }
    }
}
