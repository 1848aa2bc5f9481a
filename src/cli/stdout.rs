//! Text for standard output that may be cut short by its reader.

use std::io::{ErrorKind, Write};

use super::Exit;

/// Prints a value as JSON.
pub(super) fn print_json(value: &impl serde::Serialize) -> Exit {
    print(&(serde_json::to_string_pretty(value).unwrap_or_default() + "\n"))
}

/// Prints a text. A reader that has seen enough (`| head`) ends the printing, not the command; a full disk fails it.
pub(super) fn print(text: &str) -> Exit {
    let mut out = std::io::stdout().lock();
    told(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What printing means for the end of the program.
pub(super) fn told(printed: std::io::Result<()>) -> Exit {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell!("standard output cannot be written: {error}");
            Exit::Failed
        }
        _ => Exit::Ok,
    }
}

/// Prints a text and gives the exit code, unless it cannot be printed.
pub(super) fn print_then(text: &str, exit: Exit) -> Exit {
    match print(text) {
        Exit::Ok => exit,
        lost => lost,
    }
}
