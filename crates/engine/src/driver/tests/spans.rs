//! What a subscriber of an embedder sees: run > step > call, and nothing of what they carry.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::fmt::format::FmtSpan;

use super::world::{Disk, Log, Outside, Steps, block_on, planned, ports, run, start};
use crate::Input;
use crate::driver::{Ports, drive};
use crate::event::{FailureKind, Usage};
use crate::journal::Journal;
use crate::port::*;

const CANARY: &str = "canary-7f3a9c51";

/// Says the canary.
struct Canary;

impl ModelClient for Canary {
    fn call(&self, _: ModelRequest) -> Pending<ModelReply> {
        let usage = Some(Usage { input_tokens: 12, output_tokens: 34, ..Usage::default() });
        Box::pin(std::future::ready(Ok(ModelReply { text: CANARY.into(), usage, ..ModelReply::default() })))
    }
}

impl HttpClient for Canary {
    fn send(&self, request: HttpRequest) -> Pending<HttpReply> {
        Box::pin(std::future::ready(match request.url.contains("fail") {
            true => Err(crate::event::Failure::new(FailureKind::Auth, CANARY)),
            false => Ok(HttpReply { status: 200, headers: vec![], body: json!(CANARY) }),
        }))
    }
}

fn pipeline() -> String {
    format!(
        "flow: 1\nname: p\ndescription: It watches.\nmodels: {{ default: {{ provider: openai, model: m, base_url: \"https://example.com/v1\" }} }}\n\
         agents: {{ a: {{ instructions: You write. }} }}\nsteps:\n\
         - {{ id: ask, agent: a, prompt: \"Say {CANARY}.\" }}\n\
         - {{ id: each, for_each: \"['{CANARY}', 'x']\", http: \"GET https://example.com/{{{{ item }}}}\" }}\n\
         - {{ id: fails, http: \"GET https://example.com/fail\", on_failure: continue }}\n"
    )
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines of the spans that were closed.
fn closed() -> Vec<String> {
    let kept = Kept::default();
    let writer = kept.clone();
    let watches = tracing_subscriber::fmt().without_time().with_span_events(FmtSpan::CLOSE).with_writer(move || writer.clone()).finish();
    let log = Log { disk: Arc::new(Mutex::new(Disk::default())), turns: vec![], fails: None };
    let clock = Arc::new(Steps { now: AtomicU64::new(0), each: 1 });
    let ports = Ports { models: Arc::new(Canary), http: Arc::new(Canary), ..ports(&Outside::new(vec![]), clock) };
    let mut run = run(planned(&pipeline()));
    let (_sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
    let mut journal = Journal::new(Box::new(log));
    let ended = tracing::subscriber::with_default(watches, || {
        block_on(drive(
            &mut run,
            Input::Start(start()),
            &ports,
            &mut journal,
            &mut stop,
            &mut tokio::sync::mpsc::unbounded_channel().1,
            &mut |_| (),
        ))
    });
    assert!(ended.unwrap().is_some());
    String::from_utf8(kept.0.lock().unwrap().clone()).unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_subscriber_sees_run_step_and_call_and_nothing_that_they_carry() {
    let lines = closed();
    let find = |part: &str| lines.iter().find(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part}: {lines:#?}"));
    assert!(!lines.iter().any(|line| line.contains(CANARY) || line.contains("example.com")), "{lines:#?}");
    let run = "INFO run{run=\"r_test\" pipeline=\"p\"}:";
    for (step, call) in [
        ("step{step=\"ask\" attempt=1 round=1}:call{call=1 kind=\"model\"", "input_tokens=12 output_tokens=34}: flow: close"),
        ("step{step=\"each\" attempt=1 round=1}:step{step=\"each[0]\" attempt=1 round=1}:call{call=2 kind=\"http\"", "}: flow: close"),
        ("step{step=\"fails\" attempt=1 round=1}:call{call=4 kind=\"http\"", "failure=\"auth\"}: flow: close"),
    ] {
        let line = find(&format!("{run}{step}"));
        assert!(line.ends_with(call), "{line}");
    }
    for step in
        ["step{step=\"ask\" attempt=1 round=1 status=\"succeeded\" ms=", "step{step=\"fails\" attempt=1 round=1 status=\"failed\" ms="]
    {
        assert!(find(&format!("{run}{step}")).ends_with(": flow: close"));
    }
    assert!(find("run{run=\"r_test\" pipeline=\"p\" status=").ends_with(": flow: close"));
    assert_eq!(lines.len(), 10, "one span each: {lines:#?}");
}
