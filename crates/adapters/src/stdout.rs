//! Standard output.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Mutex;

use super::lock;
use crate::diagnostic::visible_lines;
use crate::port::{PrintError, Printer};

/// Prints the parts of a `send`.
#[derive(Debug, Default)]
pub struct Stdout {
    state: Mutex<Printed>,
}

#[derive(Debug, Default)]
struct Printed {
    any: bool,
    is_closed: bool,
}

impl Printer for Stdout {
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        let mut state = lock(&self.state);
        let mut out = std::io::stdout().lock();
        let is_terminal = out.is_terminal();
        for part in parts {
            if state.is_closed {
                return Ok(());
            }
            let gap = if state.any { "\n" } else { "" };
            let part = if is_terminal { visible_lines(part) } else { part.clone() };
            state.any = true;
            match out.write_all(format!("{gap}{part}\n").as_bytes()).and_then(|()| out.flush()) {
                Ok(()) => {}
                // The reader has closed the pipe; the run continues.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => state.is_closed = true,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Prints nothing, for runs that use standard output for something else.
#[derive(Debug, Default)]
pub struct Silent;

impl Printer for Silent {
    fn print(&self, _: &[String]) -> Result<(), PrintError> {
        Ok(())
    }
}
