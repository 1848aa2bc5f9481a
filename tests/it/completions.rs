//! `flow completions SHELL`.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::extras::{Extra, has};

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
