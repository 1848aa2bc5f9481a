//! `flow explain CODE`.

use super::Exit;
use crate::diagnostic::{Code, did_you_mean};

/// Shows the page of a code.
pub(super) fn run(code: &str) -> Exit {
    let Some(found) = Code::find(code) else {
        let names = Code::ALL.iter().flat_map(|c| [c.id(), c.name()]);
        eprintln!("there is no code \"{}\"{}", crate::diagnostic::visible(code), did_you_mean(code, names));
        return Exit::Usage;
    };
    match crate::report::page(found) {
        "" => println!(
            "# {} {}\n\nAn {} of a part of the language that is not yet available.",
            found.id(),
            found.name(),
            found.severity().word()
        ),
        page => print!("{page}"),
    }
    Exit::Ok
}
