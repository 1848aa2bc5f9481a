//! What some tests need beside Rust and a C compiler. Where it is missing, a test says what it could not try and how to get that, and with a variable
//! that makes it required it fails. No test looks for such a thing by itself. The tests of `flow-adapters` have this file, too.

use std::io::Write;
use std::process::{Command, Stdio};

/// Programs that some tests start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each of two packages uses some")]
pub(crate) enum Extra {
    Bash,
    Curl,
    Git,
    Python,
}

impl Extra {
    /// A command that ends well where it is there, and how to get it.
    fn facts(self) -> (&'static [&'static str], &'static str) {
        match self {
            Extra::Bash => (&["bash", "-c", "true"], "install bash"),
            Extra::Curl => (&["curl", "--version"], "install curl"),
            Extra::Git => (&["git", "--version"], "install git"),
            // In the sandbox, other places of it need a setting.
            Extra::Python => (&["/usr/bin/python3", "-I", "-c", "import ensurepip, venv"], "install python3 and python3-venv in /usr"),
        }
    }

    fn is_here(self) -> bool {
        let (command, _) = self.facts();
        let (program, arguments) = command.split_first().expect("a command has a program");
        let ended = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        ended.is_ok_and(|status| status.success())
    }
}

/// Whether all of these are here; else the test has said so. Required by `FLOW_REQUIRE_EXTRAS=1`.
pub(crate) fn has(extras: &[Extra]) -> bool {
    let missing: Vec<&Extra> = extras.iter().filter(|extra| !extra.is_here()).collect();
    for (command, get) in missing.iter().map(|extra| extra.facts()) {
        not_tried("EXTRAS", command.first().copied().unwrap_or_default(), get);
    }
    missing.is_empty()
}

/// Says what the test that runs could not try, past the test runner, which keeps what a test that passes prints; or fails, where `FLOW_REQUIRE_…=1`.
#[expect(clippy::disallowed_methods, reason = "a test's own switch, not a setting of flow")]
pub(crate) fn not_tried(switch: &str, what: &str, get: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let required = format!("FLOW_REQUIRE_{switch}");
    assert!(!std::env::var(&required).is_ok_and(|value| value == "1"), "{required}=1, but {what} is not here: {get}");
    let _ = writeln!(std::io::stderr(), "NOT TRIED {test}: {what} is not here: {get}");
}
