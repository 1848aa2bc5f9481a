//! A port whose thread never comes back: the run ends all the same, and so does who waits for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};

use super::world::{Disk, Log, Outside, planned, ports, run, start};
use crate::driver::{Blocking, Ports, Runtime, drive};
use crate::event::{Canceller, Happening, RunStatus};
use crate::journal::Journal;
use crate::port::{Clock, Folder, Pending, PrintError, Printer};
use crate::{CallRequest, Input};

/// Time as it goes by.
struct Real(Instant);

impl Clock for Real {
    #[expect(clippy::disallowed_methods, reason = "this test waits in real time")]
    fn now(&self) -> DateTime<Utc> {
        SystemTime::now().into()
    }
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A disk that does not answer, and a pipe that nobody reads.
struct Hangs;

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

impl Folder for Hangs {
    fn list(&self, _: &Path) -> Pending<Vec<String>> {
        hang()
    }
    fn read(&self, _: &Path, _: &str) -> Pending<String> {
        Box::pin(async { hang() })
    }
    fn write(&self, _: &Path, _: &str, _: &str) -> Pending<String> {
        Box::pin(async { hang() })
    }
    fn append(&self, _: &Path, _: &str, _: &str, _: u64) -> Pending<String> {
        Box::pin(async { hang() })
    }
    fn copy(&self, _: &Path, _: u64, _: &Path, _: &str) -> Pending<String> {
        Box::pin(async { hang() })
    }
    fn check_links(&self, _: &Path, _: &Path, _: &str, _: bool) -> Pending<()> {
        hang()
    }
}

impl Printer for Hangs {
    fn print(&self, _: &[String]) -> Result<(), PrintError> {
        hang()
    }
}

#[expect(clippy::disallowed_methods, reason = "this test waits in real time")]
fn hanging() -> Ports {
    let ports = ports(&Outside::new(vec![0]), Arc::new(Real(Instant::now())));
    Ports { folder: Arc::new(Hangs), printer: Arc::new(Hangs), ..ports }
}

/// Fails when it does not come back, instead of hanging, too.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(move || {
            let _ = sender.send(work());
        })
        .unwrap();
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(RecvTimeoutError::Disconnected) => panic!("it failed"),
    }
}

/// How a run of one step ends, and how often a call of it is reported as unknown.
fn ended(step: &'static str, deadline: &'static str, stop_by: Option<Canceller>) -> (RunStatus, usize) {
    in_time(move || {
        let head = "flow: 1\nname: p\ndescription: Hangs.\ntools: { notes: { file: ., allow: [list, read, write] } }";
        let plan = planned(&format!("{head}\nlimits: {{ deadline: {deadline} }}\nsteps:\n  - {{ id: a, {step} }}\n"));
        let disk = Arc::new(std::sync::Mutex::new(Disk::default()));
        let mut journal = Journal::new(Box::new(Log { disk: disk.clone(), turns: vec![0], fails: None }));
        let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
        let runtime = Runtime::new().unwrap();
        let (mut run, ports) = (run(plan), hanging());
        let mut watch = |event: crate::event::Event| {
            if let (Happening::ToolCalled { .. }, Some(by)) = (&event.happening, stop_by) {
                sender.send(by).unwrap();
            }
        };
        let end = runtime.block_on(drive(
            &mut run,
            Input::Start(start()),
            &ports,
            &mut journal,
            &mut stop,
            &mut tokio::sync::mpsc::unbounded_channel().1,
            &mut watch,
        ));
        drop(runtime);
        let is_unknown = |event: &&crate::event::Event| matches!(event.happening, Happening::OutcomeUnknown { .. });
        let unknown = disk.lock().unwrap().taken.iter().filter(is_unknown).count();
        (end.unwrap().unwrap().status, unknown)
    })
}

#[test]
fn a_run_whose_port_hangs_ends_by_its_deadline() {
    for step in ["tool: notes.list", "tool: notes.read, with: { name: a.txt }"] {
        assert_eq!(ended(step, "200ms", None), (RunStatus::TimedOut, 0), "{step}");
    }
    for step in ["tool: notes.write, with: { name: a.txt, text: b }", "send: stdout, of: \"'Hello'\""] {
        assert_eq!(ended(step, "200ms", None), (RunStatus::TimedOut, 1), "{step}");
    }
}

#[test]
fn a_run_whose_port_hangs_ends_when_somebody_wants_it() {
    for by in [Canceller::Interrupt, Canceller::Terminate, Canceller::Client] {
        assert_eq!(ended("tool: notes.list", "1h", Some(by)), (RunStatus::Cancelled, 0), "{by:?}");
    }
    assert_eq!(ended("send: stdout, of: \"'Hello'\"", "1h", Some(Canceller::Interrupt)), (RunStatus::Cancelled, 1));
}

#[test]
fn who_carries_calls_out_one_by_one_is_left_though_one_hangs() {
    in_time(|| {
        let blocking = Blocking::new(hanging()).unwrap();
        let request = CallRequest::List { folder: ".".into() };
        let late = blocking.give_up_after(Duration::from_millis(50), request);
        assert!(late.is_none());
        drop(blocking);
    });
}
