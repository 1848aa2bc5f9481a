//! Writes the output of commands to standard output; results of runs and `send: stdout` go through `adapter::stdout`.

use std::io::{ErrorKind, IsTerminal, Write};

use super::{Exit, tell};
use crate::diagnostic::{visible_drawn, visible_lines};
use crate::report::escape::json_visible;

/// Prints a value as JSON, without secrets and with invisible characters escaped.
pub(super) fn print_json(value: &impl serde::Serialize) -> Exit {
    write(&json(value))
}

/// Formats a value as printed JSON, with a line end.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).map(tell::without_secrets_in);
    json_visible(&serde_json::to_string_pretty(&value.unwrap_or_default()).unwrap_or_default()) + "\n"
}

/// Prints a text for people, without secrets and without control characters other than colours. If the reader closes the pipe (`| head`),
/// printing stops without an error; a full disk is an error.
pub(super) fn print(text: &str) -> Exit {
    write(&visible_drawn(&tell::without_secrets(text)))
}

/// Prints the content of a file byte by byte; on a terminal without secrets and control characters.
pub(super) fn print_file(text: &str) -> Exit {
    if std::io::stdout().is_terminal() { write(&visible_lines(&tell::without_secrets(text))) } else { write(text) }
}

/// Sends a control sequence to a terminal; otherwise writes nothing.
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

/// Returns the exit code after printing.
pub(super) fn exit_after(printed: std::io::Result<()>) -> Exit {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell!("cannot write to standard output: {error}");
            Exit::Failed
        }
        _ => Exit::Ok,
    }
}
