//! Whether a program starts in the sandbox, for those who want to know before a run.

use std::time::Duration;

use super::Sandbox;
use crate::diagnostic::{cut_words, visible};
use crate::model::{ProgramNetwork, SandboxMode};
use crate::port::{Pending, ProgramBounds, ProgramCall, ProgramEnd, Programs};
use crate::program::require;

/// How long a program has to tell its version.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most characters of what it printed that are told.
const MOST_SAID: usize = 120;

/// What a trial of a program showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramTrial {
    /// It ran; the first line that it printed, if it told its version.
    Starts(Option<String>),
    /// It ran, and did not end well: how it ended, with what it said. Many a program has no such argument.
    EndsBadly(String),
    /// It is there, and was not started: it would have run without a sandbox.
    IsThere,
    /// It cannot be started, and why.
    Fails(String),
}

impl Sandbox {
    /// Starts a command by which a program tells its version, without a network and with nothing that it may change. `place` says where steps start it and what it may
    /// read there; the rest of it is not used.
    pub fn probe(&self, command: &[String], place: ProgramCall) -> Pending<ProgramTrial> {
        let program = command.first().map_or("", String::as_str);
        let shown = visible(program).into_owned();
        if let Err(why) = require(program) {
            return Box::pin(std::future::ready(Ok(ProgramTrial::Fails(format!("program {shown} {why}")))));
        }
        if place.sandbox != SandboxMode::Required {
            return Box::pin(std::future::ready(Ok(ProgramTrial::IsThere)));
        }
        let call = ProgramCall {
            command: command.to_vec(),
            named: vec![],
            input: vec![],
            env: vec![],
            writes: vec![],
            files: vec![],
            keeps_files: false,
            network: ProgramNetwork::None,
            bounds: ProgramBounds::default(),
            timeout: PATIENCE,
            ..place
        };
        let waiting = self.run(call);
        Box::pin(async move {
            Ok(match waiting.await {
                Err(failure) => ProgramTrial::Fails(failure.message),
                Ok(reply) => {
                    let first = |bytes: &[u8]| {
                        let text = String::from_utf8_lossy(bytes);
                        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
                        Some(visible(&cut_words(line, MOST_SAID)).into_owned())
                    };
                    // Warnings may stand above the version.
                    let version = |text: &str| text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).map(str::to_owned);
                    match (reply.end, reply.help) {
                        (ProgramEnd::Exited(_), Some(help)) => {
                            let said = first(&reply.stderr).map(|said| format!(" ({said})")).unwrap_or_default();
                            ProgramTrial::Fails(format!("program {shown} does not start in the sandbox{said}: {help}"))
                        }
                        (ProgramEnd::Exited(0), None) => {
                            ProgramTrial::Starts(version(&String::from_utf8_lossy(&reply.stdout)).and_then(|line| first(line.as_bytes())))
                        }
                        (end, _) => {
                            let how = match end {
                                ProgramEnd::Exited(code) => format!("ended with exit code {code}"),
                                ProgramEnd::Signaled(signal) => format!("was ended by signal {signal}"),
                            };
                            let said = first(&reply.stderr).or_else(|| first(&reply.stdout)).map(|said| format!(": {said}"));
                            ProgramTrial::EndsBadly(format!("{how}{}", said.unwrap_or_default()))
                        }
                    }
                }
            })
        })
    }
}
