//! The program, as the tests run it: in a folder of its own, and with nothing that the surroundings of the tests have set.

use std::path::Path;
use std::process::Command;

/// What a call of the program gave.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A call of the program in a folder, without settings of a person.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flow"));
    command.current_dir(folder).args(arguments);
    clean(&mut command);
    // What a test trusts is its own affair.
    command.env("XDG_STATE_HOME", folder.canonicalize().unwrap().join(".state"));
    command
}

/// Takes away what the surroundings of the tests have set.
pub(crate) fn clean(command: &mut Command) {
    let others = ["CI", "CLICOLOR_FORCE", "GITHUB_ACTIONS", "NO_COLOR", "OTEL_EXPORTER_OTLP_ENDPOINT", "TRACEPARENT"];
    for name in others.iter().chain(&flow_base::model::VARIABLES) {
        command.env_remove(name);
    }
    command.env("FLOW_CONFIG", "").env("XDG_STATE_HOME", "/nonexistent");
}

/// From now on what is started hears SIGHUP, also where the tests themselves were started to ignore it (`nohup`).
pub(crate) fn hear_hangups() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    // A signal that is heard is no longer ignored, and a new program begins with its usual effect.
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).unwrap());
}

/// Waits until something is so that another process does, a minute at most.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let is_so = (0..6_000).any(|_| {
        let now = is_so();
        if !now {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        now
    });
    assert!(is_so, "{what}");
}

/// Calls the program in a folder.
pub(crate) fn flow(folder: &Path, arguments: &[&str]) -> Ran {
    ran(&mut command(folder, arguments))
}

/// What a call gives; it must end by itself.
pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}
