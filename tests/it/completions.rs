//! `flow completions SHELL` and `flow explain KEY`: what flow knows of itself.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::extras::{Extra, has};
use crate::program::flow;

fn completions(shell: &str) -> String {
    let output = assert_cmd::Command::cargo_bin("flow").unwrap().args(["completions", shell]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_shell_is_told_the_commands_and_their_options() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let text = completions(shell);
        for word in ["validate", "explain", "deny-warnings", "schema", "approve", "resume", "mcp", "allow-host", "trust"] {
            assert!(text.contains(word), "{shell} is not told {word}");
        }
    }
}

#[test]
fn bash_can_read_its_completions_and_use_them() {
    if !has(&[Extra::Bash]) {
        return;
    }
    let text = completions("bash");
    let asked = format!("{text}\nCOMP_WORDS=(flow sch); COMP_CWORD=1; _flow flow sch flow; echo \"${{COMPREPLY[*]}}\"\n");
    for (arguments, input, expected) in [(["-n"], &text, ""), (["-s"], &asked, "schema\n")] {
        let mut bash =
            Command::new("bash").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        bash.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = bash.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn explain_says_what_a_key_means_and_takes() {
    let home = tempfile::tempdir().unwrap();
    let said = |what: &str| flow(home.path(), &["explain", what]);
    let delay = said("retry.delay");
    assert_eq!(delay.exit, 0, "{}", delay.err);
    assert!(delay.out.starts_with("delay, in retry\n") && delay.out.contains("takes a time with its unit"), "{}", delay.out);
    let timeout = said("timeout").out;
    assert!(timeout.contains("timeout, in") && timeout.lines().count() > 3, "{timeout}");
    let unknown = said("retyr");
    assert!(
        unknown.exit == 2 && unknown.err.contains("no file, no code and no key is called \"retyr\"") && unknown.err.contains("retry"),
        "{}",
        unknown.err
    );
}
