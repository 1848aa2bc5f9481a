//! `flow completions SHELL`.

use clap::CommandFactory;
use clap_complete::{generate, shells};

use super::arguments::Shell;
use super::stdout::print;
use super::{CommandLine, Exit};

/// Prints what a shell has to read so that it completes the commands and options of `flow`.
pub(super) fn run(shell: Shell) -> Exit {
    let (mut command, mut text) = (CommandLine::command(), vec![]);
    match shell {
        Shell::Bash => generate(shells::Bash, &mut command, "flow", &mut text),
        Shell::Zsh => generate(shells::Zsh, &mut command, "flow", &mut text),
        Shell::Fish => generate(shells::Fish, &mut command, "flow", &mut text),
        Shell::Powershell => generate(shells::PowerShell, &mut command, "flow", &mut text),
    }
    print(&String::from_utf8_lossy(&text))
}
