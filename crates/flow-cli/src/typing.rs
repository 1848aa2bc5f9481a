//! A person at a terminal types answers, line by line.

use std::io::{BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::signals::{forget_typed, has_typed};
use super::tell;
use crate::adapter::stdout::Stdout;
use crate::adapter::{environment, held};
use crate::diagnostic::all_visible;
use crate::port::{PrintError, Printer};

/// Most characters of a question that a terminal shows at once.
const MOST_SEEN: usize = 2_000;
/// Terminals cut a line after so many bytes, without a word.
pub(super) const CUT_BY_TERMINAL: usize = 4_095;
/// How often to check whether a question is over.
const LOOK: Duration = Duration::from_millis(100);

/// Whether questions can be asked: both ends are a terminal, and it is no build server.
pub(super) fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && shows_lines()
}

/// Whether a person sees standard error on a terminal that can draw a line again.
pub(super) fn shows_lines() -> bool {
    std::io::stderr().is_terminal() && !environment::is_set("CI") && !is_dumb()
}

/// Whether the terminal draws nothing but lines.
pub(super) fn is_dumb() -> bool {
    environment::text("TERM").is_some_and(|term| term == "dumb")
}

/// What a person says to a question.
pub(super) enum Said {
    /// Yes.
    Yes,
    /// No, and why; empty: no reason.
    No(String),
}

/// A person who types an answer. The question may be over before they have answered; then nothing more is read.
#[derive(Clone, Default)]
pub(super) struct Typing(Arc<AtomicBool>);

impl Typing {
    /// Ends the question.
    pub(super) fn end(&self) {
        self.0.store(true, Ordering::Release);
        *held(&PROMPT) = None;
    }

    /// Whether the question is over.
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Asks a person to allow a call. They see all of it, with personal values, and nothing in it is out of sight; of a long question the last
    /// line says how long it is and which command prints it.
    pub(super) fn allow(&self, question: &str, show: &str) -> Option<Said> {
        // Secrets go first: escapes between their characters would hide them from the search.
        let shown = all_visible(&tell::without_secrets(question));
        let length = shown.chars().count();
        if length <= MOST_SEEN || !is_at_terminal() {
            return self.decide(&shown);
        }
        tell::as_written(&shown, "\n");
        self.decide(&format!("this question has {length} characters; show all of it: {show}"))
    }

    /// Asks a person yes or no; `None`: nobody can be asked, or nobody answers. The reason of a no is on the same line, so that Enter decides.
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

    /// What a person types from now on; what was typed before is dropped. `None`: as for [`Typing::line`].
    pub(super) fn fresh_line(&self, prompt: &str) -> Option<String> {
        // Before it is shown, so that whoever answers at once is heard.
        if forget_typed() {
            tell!("what was typed before this question is dropped");
        }
        self.line(prompt)
    }

    /// The line that a person types after a prompt, without its end; `None`: the input has ended, or the question is over. A line that did not
    /// arrive as it was typed is asked for again.
    pub(super) fn line(&self, prompt: &str) -> Option<String> {
        loop {
            if self.is_over() {
                return None;
            }
            let open = OpenPrompt::show(prompt);
            while !has_typed(LOOK) && !self.is_over() {}
            if self.is_over() {
                // Nothing of what was typed at it reaches what reads next.
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

/// One line as the terminal hands it over, without its end; `None`: the input has ended. Ctrl-D hands over what was typed so far, without an end of
/// the line: that is no answer.
fn typed_line() -> Option<Vec<u8>> {
    let mut stdin = std::io::stdin().lock();
    let given = stdin.fill_buf().ok()?;
    let end = given.iter().position(|byte| *byte == b'\n');
    let line = end.map(|end| given[..end].to_vec());
    let used = end.map_or(given.len(), |end| end + 1);
    stdin.consume(used);
    line
}

/// Reads an answer: `yes`, `no`, `no, not before Monday`.
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

/// The prompt that stands on the terminal now.
static PROMPT: Mutex<Option<String>> = Mutex::new(None);

/// As long as it exists, a prompt stands on the terminal.
struct OpenPrompt;

impl OpenPrompt {
    fn show(prompt: &str) -> OpenPrompt {
        let mut open = held(&PROMPT);
        tell::as_written(prompt, "");
        *open = Some(prompt.to_owned());
        OpenPrompt
    }
}

impl Drop for OpenPrompt {
    fn drop(&mut self) {
        *held(&PROMPT) = None;
    }
}

/// Standard output, for text of a run. Where that and a question share a terminal, the question is shown again below the text, so that no text can
/// pass for what is asked.
#[derive(Default)]
pub(super) struct StdoutBesideQuestion(Stdout);

impl Printer for StdoutBesideQuestion {
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        let asked = held(&PROMPT).clone().filter(|_| std::io::stdout().is_terminal());
        let Some(prompt) = asked else { return self.0.print(parts) };
        tell!();
        // Nothing is held meanwhile: whoever should read this may not.
        let printed = self.0.print(parts);
        // What ended the question may have let this text be printed.
        std::thread::sleep(LOOK);
        let open = held(&PROMPT);
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
