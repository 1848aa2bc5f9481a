//! The one door to standard output for what commands show; results of runs and `send: stdout` go through `adapter::stdout`.

use std::io::{ErrorKind, IsTerminal, Write};

use super::{Exit, tell};
use crate::diagnostic::{visible_drawn, visible_lines};
use crate::report::escape::json_visible;

/// Prints a value as JSON: no secrets, and characters that cannot be seen are escapes.
pub(super) fn print_json(value: &impl serde::Serialize) -> Exit {
    write(&json(value))
}

/// A value as JSON, as it is printed, with a line end.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).map(tell::without_secrets_in);
    json_visible(&serde_json::to_string_pretty(&value.unwrap_or_default()).unwrap_or_default()) + "\n"
}

/// Prints a text for people: no secrets, no control characters but those of colours. A reader that has seen enough (`| head`) ends the
/// printing, not the command; a full disk fails it.
pub(super) fn print(text: &str) -> Exit {
    write(&visible_drawn(&tell::without_secrets(text)))
}

/// Prints what is to be a file again, byte by byte; on a terminal without secrets and control characters.
pub(super) fn print_file(text: &str) -> Exit {
    if std::io::stdout().is_terminal() { write(&visible_lines(&tell::without_secrets(text))) } else { write(text) }
}

/// Tells a terminal how to behave; elsewhere nothing is written.
pub(super) fn control(sequence: &'static str) {
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        let _ = out.write_all(sequence.as_bytes()).and_then(|()| out.flush());
    }
}

fn write(text: &str) -> Exit {
    let mut out = std::io::stdout().lock();
    exit_after(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What printing means for the end of the program.
pub(super) fn exit_after(printed: std::io::Result<()>) -> Exit {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell!("cannot write to standard output: {error}");
            Exit::Failed
        }
        _ => Exit::Ok,
    }
}
