//! Ports that answer as the test says, and a journal whose disk the test holds.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::check::check_file;
use crate::driver::{Door, Ports};
use crate::event::{Event, Failure, FailureKind, Marks, RunStart};
use crate::load::WrittenRules;
use crate::model::Limits;
use crate::plan::Plan;
use crate::port::*;
use crate::{Mocks, Moment, Run, RunSettings, Unscripted};

/// A clock that continues whenever somebody looks at it.
pub(super) struct Steps {
    pub(super) now: AtomicU64,
    /// Milliseconds a look.
    pub(super) each: u64,
}

impl Clock for Steps {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now.fetch_add(self.each, Ordering::Relaxed))
    }
}

/// Answers everything after a number of turns of the loop, in turn from a list.
pub(super) struct Outside {
    pub(super) turns: Vec<u8>,
    asked: AtomicU64,
}

impl Outside {
    pub(super) fn new(turns: Vec<u8>) -> Arc<Outside> {
        Arc::new(Outside { turns, asked: AtomicU64::new(0) })
    }

    fn later<T: Send + 'static>(&self, answer: Result<T, Failure>) -> Pending<T> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) as usize;
        let turns = self.turns.get(asked % self.turns.len().max(1)).copied().unwrap_or(0);
        Box::pin(async move {
            idle(turns).await;
            answer
        })
    }
}

pub(super) async fn idle(turns: u8) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

fn none<T>() -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Internal, "the test has none"))
}

impl HttpClient for Outside {
    fn send(&self, _: HttpRequest) -> Pending<HttpReply> {
        self.later(Ok(HttpReply { status: 200, headers: vec![], body: Value::from("yes") }))
    }
}

impl FileReader for Outside {
    fn read(&self, _: ReadRequest) -> Pending<(FileContent, Vec<TableSource>)> {
        self.later(none())
    }
}

impl ModelClient for Outside {
    fn call(&self, _: ModelRequest) -> Pending<ModelReply> {
        self.later(none())
    }
}

impl SqlDatabase for Outside {
    fn query(&self, _: QueryRequest) -> Pending<Rows> {
        self.later(none())
    }
}

impl Programs for Outside {
    fn run(&self, _: ProgramCall) -> Pending<ProgramReply> {
        self.later(Ok(ProgramReply::default()))
    }
}

impl Python for Outside {
    fn run(&self, _: PythonCall) -> Pending<PythonReply> {
        self.later(none())
    }
}

impl MailSender for Outside {
    fn send(&self, _: Mail) -> Pending<MailReceipt> {
        self.later(Ok(MailReceipt { id: "id".into(), ..MailReceipt::default() }))
    }
}

impl ToolServers for Outside {
    fn start(&self, _: ToolServer) -> Pending<()> {
        self.later(Ok(()))
    }
    fn list(&self, _: ToolServer) -> Pending<ToolList> {
        self.later(none())
    }
    fn call(&self, _: ServerCall) -> Pending<ServerReply> {
        self.later(none())
    }
    fn read(&self, _: ResourceCall) -> Pending<ResourceReply> {
        self.later(none())
    }
    fn keep(&self, _: ResourceFile) -> Pending<PathBuf> {
        self.later(none())
    }
    fn has_ended(&self, _: &str) -> bool {
        false
    }
    fn close(&self) -> Pending<()> {
        self.later(Ok(()))
    }
}

impl DocumentSearch for Outside {
    fn search(&self, _: SearchRequest) -> Pending<FoundPieces> {
        self.later(Ok(FoundPieces::default()))
    }
}

impl Folder for Outside {
    fn list(&self, _: &Path) -> Pending<Vec<String>> {
        self.later(Ok(vec!["note.txt".into()]))
    }
    fn read(&self, _: &Path, _: &str) -> Pending<String> {
        self.later(Ok("text".into()))
    }
    fn write(&self, _: &Path, name: &str, _: &str) -> Pending<String> {
        self.later(Ok(name.into()))
    }
    fn append(&self, _: &Path, name: &str, _: &str, _: u64) -> Pending<String> {
        self.later(Ok(name.into()))
    }
    fn copy(&self, _: &Path, _: u64, _: &Path, name: &str) -> Pending<String> {
        self.later(Ok(name.into()))
    }
    fn check_links(&self, _: &Path, _: &Path, _: &str, _: bool) -> Pending<()> {
        self.later(Ok(()))
    }
}

impl Cache for Outside {
    fn recall(&self, _: String, _: DateTime<Utc>) -> Pending<Option<Value>> {
        self.later(Ok(None))
    }
    fn keep(&self, _: String, _: DateTime<Utc>, _: Value) -> Pending<()> {
        self.later(Ok(()))
    }
}

impl AgentPrograms for Outside {
    fn ask(&self, _: AgentCall) -> Pending<ModelReply> {
        self.later(Ok(ModelReply::default()))
    }
}

impl Printer for Outside {
    fn print(&self, _: &[String]) -> Result<(), PrintError> {
        Ok(())
    }
}

pub(super) fn ports(outside: &Arc<Outside>, clock: Arc<dyn Clock>) -> Ports {
    Ports {
        clock,
        models: outside.clone(),
        database: outside.clone(),
        reader: outside.clone(),
        documents: outside.clone(),
        http: outside.clone(),
        agents: outside.clone(),
        programs: outside.clone(),
        python: outside.clone(),
        mail: outside.clone(),
        servers: outside.clone(),
        folder: outside.clone(),
        cache: outside.clone(),
        printer: outside.clone(),
        heard: None,
        person: None,
        tape: None,
        trace: None,
        door: Door::default(),
    }
}

/// A journal's file: what was taken, and how much of it is on disk.
#[derive(Default)]
pub(super) struct Disk {
    pub(super) taken: Vec<Event>,
    /// Number of the last event that is on disk.
    pub(super) kept: u64,
    pub(super) syncs: usize,
}

/// A journal on such a disk. Each commit takes some turns; the one of number `fails` fails.
pub(super) struct Log {
    pub(super) disk: Arc<Mutex<Disk>>,
    pub(super) turns: Vec<u8>,
    pub(super) fails: Option<usize>,
}

impl EventLog for Log {
    fn append(&mut self, events: &[Event]) -> Result<(), StoreError> {
        self.disk.lock().unwrap().taken.extend(events.iter().cloned());
        Ok(())
    }

    fn sync(&mut self) -> Synced {
        let (number, last) = {
            let mut disk = self.disk.lock().unwrap();
            disk.syncs += 1;
            (disk.syncs, disk.taken.last().map_or(0, |event| event.seq))
        };
        let (disk, fails) = (self.disk.clone(), self.fails == Some(number));
        let turns = self.turns.get(number % self.turns.len().max(1)).copied().unwrap_or(0);
        Box::pin(async move {
            idle(turns).await;
            if fails {
                return Err(StoreError::Unusable { file: "runs.db".into(), message: "the disk is full".into() });
            }
            disk.lock().unwrap().kept = last;
            Ok(())
        })
    }
}

const FILE: &str = "/test/p.yaml";

pub(super) fn planned(pipeline: &str) -> Arc<Plan> {
    let checked = check_file(Path::new(FILE), Path::new("/test"), &MemoryFiles::from_iter([(FILE, pipeline)]));
    assert!(!checked.has_errors(), "{pipeline}\n{:?}", checked.diagnostics);
    Arc::new(checked.plan)
}

pub(super) fn run(plan: Arc<Plan>) -> Run {
    let options = RunSettings {
        secrets: Default::default(),
        hidden: vec![],
        env: Default::default(),
        default_model: None,
        every_model: None,
        user_policies: vec![],
        unscripted: Unscripted::Nobody,
        replies: None,
        mocks: Mocks::default(),
        written: Box::new(WrittenRules),
        limits: Limits::default(),
        most_calls: u64::MAX,
        is_chat: false,
    };
    Run::new("r_test", plan, options, Moment { wall: DateTime::from_timestamp(1_800_000_000, 0).unwrap(), ms: 0 })
}

pub(super) fn start() -> Box<RunStart> {
    Box::new(RunStart {
        conversation: None,
        origin: None,
        names_outputs: false,
        pipeline: "p".into(),
        hash: String::new(),
        files: Default::default(),
        tape: None,
        trace: None,
        served: false,
        file: String::new(),
        inputs: Arc::new(Value::Object(Default::default())),
        channel: None,
        style_guide: None,
        person: Arc::new(Value::Object(Default::default())),
        failure: None,
        now: DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
        scripted: false,
        seed: 1,
        deadline_ms: None,
        max_cost_usd: None,
        marks: Marks::default(),
    })
}

pub(super) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
