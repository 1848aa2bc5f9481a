//! W10: what it costs to start a program in a sandbox, beside a bare start. `cargo bench --bench sandbox`.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a bench tells what it measured")]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flow::port::{ProgramCall, ProgramEnd, Programs};
use flow_adapters::sandbox::{FirstStage, Sandbox, SandboxTrial};
use flow_base::model::SandboxMode;

const RUNS: usize = 60;

/// The middle one of the times of a work that is done again and again.
fn middle(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

fn call(command: &[&str], sandbox: SandboxMode) -> ProgramCall {
    let command = command.iter().map(|part| (*part).to_owned()).collect();
    ProgramCall { sandbox, ..ProgramCall::closed("bench", command, Duration::from_secs(60)) }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sandbox = Sandbox::new(Arc::default(), FirstStage::from_program(env!("CARGO_BIN_EXE_flow")));
    let kinds: Vec<Sandbox> =
        sandbox.trials().into_iter().filter(|trial| trial.found.is_ok()).map(|SandboxTrial { kind, .. }| sandbox.of_kind(kind)).collect();
    for command in [&["/bin/true"][..], &["/usr/bin/python3", "-I", "-c", "pass"]] {
        let (program, arguments) = command.split_first().unwrap();
        let bare = middle(|| {
            let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
            assert!(status.unwrap().success());
        });
        println!("{:<14} {:<12} {:>7.1} ms", program.rsplit('/').next().unwrap(), "bare", bare.as_secs_f64() * 1e3);
        let run = |sandbox: &Sandbox, mode: SandboxMode| {
            let reply = runtime.block_on(sandbox.run(call(command, mode))).unwrap();
            assert_eq!(reply.end, ProgramEnd::Exited(0));
        };
        let told = |name: &str, time: Duration| {
            let more = time.saturating_sub(bare).as_secs_f64() * 1e3;
            println!("{:<14} {name:<12} {:>7.1} ms, {more:.1} ms more", "", time.as_secs_f64() * 1e3);
        };
        told("no sandbox", middle(|| run(&sandbox, SandboxMode::None)));
        for sandbox in &kinds {
            told(sandbox.kind().unwrap().name(), middle(|| run(sandbox, SandboxMode::Required)));
        }
    }
}
