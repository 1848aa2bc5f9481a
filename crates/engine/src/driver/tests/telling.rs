//! What is shown is on disk: nobody sees an event before the commit that holds it is done.

use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::world::{Disk, Log, Outside, Steps, block_on, planned, ports, run, start};
use crate::Input;
use crate::driver::{Ports, drive};
use crate::event::Event;
use crate::journal::Journal;
use crate::port::*;

/// A tape that hands all to the ports, and notes what it sees and which calls go out.
struct Noting {
    disk: Arc<Mutex<Disk>>,
    seen: Mutex<Vec<Event>>,
    /// Calls that went out before the tape had seen their event.
    unknown: Mutex<Vec<u64>>,
    early: Mutex<Vec<u64>>,
}

impl Tape for Noting {
    fn watch(&self, event: &Event) {
        if event.seq > self.disk.lock().unwrap().kept {
            self.early.lock().unwrap().push(event.seq);
        }
        self.seen.lock().unwrap().push(event.clone());
    }

    fn http(&self, call: u64, request: HttpRequest, live: &Arc<dyn HttpClient>) -> Pending<HttpReply> {
        let is_known = self
            .seen
            .lock()
            .unwrap()
            .iter()
            .any(|event| serde_json::to_value(event).is_ok_and(|event| event["type"] == "tool_called" && event["call"] == call));
        if !is_known {
            self.unknown.lock().unwrap().push(call);
        }
        live.send(request)
    }

    fn model(&self, call: u64, request: ModelRequest, live: &Arc<dyn ModelClient>) -> Pending<ModelReply> {
        NoTape.model(call, request, live)
    }

    fn agent(&self, call: u64, prompt: AgentCall, live: &Arc<dyn AgentPrograms>) -> Pending<ModelReply> {
        NoTape.agent(call, prompt, live)
    }

    fn tools(&self, call: u64, server: ToolServer, live: &Arc<dyn ToolServers>) -> Pending<ToolList> {
        NoTape.tools(call, server, live)
    }

    fn tool(&self, call: u64, request: ServerCall, live: &Arc<dyn ToolServers>) -> Pending<ServerReply> {
        NoTape.tool(call, request, live)
    }

    fn resource(&self, call: u64, request: ResourceCall, live: &Arc<dyn ToolServers>) -> Pending<ResourceReply> {
        NoTape.resource(call, request, live)
    }

    fn python(&self, call: u64, code: PythonCall, live: &Arc<dyn Python>) -> Pending<PythonReply> {
        NoTape.python(call, code, live)
    }

    fn program(&self, call: u64, program: ProgramCall, live: &Arc<dyn Programs>) -> Pending<ProgramReply> {
        NoTape.program(call, program, live)
    }

    fn mail(&self, call: u64, mail: Mail, live: &Arc<dyn MailSender>) -> Pending<MailReceipt> {
        NoTape.mail(call, mail, live)
    }
}

/// A step of a random graph: what it is, and which of those before it it needs.
type Drawn = (u8, Vec<usize>);

fn pipeline(steps: &[Drawn], parallel: u8) -> String {
    let mut text = format!(
        "flow: 1\nname: p\ndescription: Random.\nlimits: {{ max_parallel: {parallel} }}\ntools: {{ notes: {{ file: ., allow: [list, write] }} }}\nsteps:\n"
    );
    for (place, (kind, needs)) in steps.iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|need| format!("s{}", need % place.max(1))).filter(|_| place > 0).collect();
        let what = match kind % 6 {
            0 => "set: x".to_string(),
            1 => "http: GET https://example.com/x".to_string(),
            2 => "http: POST https://example.com/x".to_string(),
            3 => "tool: notes.list".to_string(),
            4 => "tool: notes.write, with: { name: a.txt, text: b }".to_string(),
            _ => "set: \"{{ item }}\", for_each: \"[1, 2, 3]\"".to_string(),
        };
        let _ = writeln!(text, "  - {{ id: s{place}, needs: [{}], {what} }}", needs.join(", "));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nobody_sees_an_event_that_a_killed_process_could_lose(
        steps in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<usize>(), 0..3)), 1..10),
        parallel in 1u8..6,
        answers in proptest::collection::vec(0u8..6, 1..12),
        commits in proptest::collection::vec(0u8..6, 1..6),
        fails in proptest::option::of(1usize..12),
        tick in prop_oneof![Just(0u64), Just(20), Just(60)],
    ) {
        let disk = Arc::new(Mutex::new(Disk::default()));
        let log = Log { disk: disk.clone(), turns: commits, fails };
        let tape = Arc::new(Noting { disk: disk.clone(), seen: Mutex::default(), unknown: Mutex::default(), early: Mutex::default() });
        let clock = Arc::new(Steps { now: AtomicU64::new(0), each: tick });
        let ports = Ports { tape: Some(tape.clone()), ..ports(&Outside::new(answers), clock) };
        let mut run = run(planned(&pipeline(&steps, parallel)));
        let (_sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
        let mut told: Vec<(Event, u64)> = vec![];
        let ended = block_on(drive(&mut run, Input::Start(start()), &ports, &mut Journal::new(Box::new(log)), &mut stop, &mut tokio::sync::mpsc::unbounded_channel().1, &mut |event| {
            told.push((event.clone(), disk.lock().unwrap().kept));
        }));
        let disk = disk.lock().unwrap();
        for (event, kept) in &told {
            prop_assert!(event.seq <= *kept, "event {} was shown when {kept} were on disk", event.seq);
        }
        prop_assert!(tape.early.lock().unwrap().is_empty());
        prop_assert!(tape.unknown.lock().unwrap().is_empty(), "a call went out before its event was seen");
        // In order, each once; of a run that came to its end all of them.
        let told: Vec<Event> = told.into_iter().map(|(event, _)| event).collect();
        prop_assert_eq!(&told, &*tape.seen.lock().unwrap());
        prop_assert_eq!(&told[..], &disk.taken[..told.len()]);
        match ended {
            Ok(end) => prop_assert!(end.is_some() && told.len() == disk.taken.len() && disk.kept == told.len() as u64),
            Err(_) => prop_assert!(fails.is_some()),
        }
    }
}

#[test]
fn replies_that_come_during_a_commit_share_the_next_one() {
    let chains: Vec<Drawn> = (0..30).map(|_| (2, vec![])).chain((0..30).map(|place| (2, vec![place]))).collect();
    let disk = Arc::new(Mutex::new(Disk::default()));
    let log = Log { disk: disk.clone(), turns: vec![20], fails: None };
    let ports = ports(&Outside::new((0..30).collect()), Arc::new(Steps { now: AtomicU64::new(0), each: 0 }));
    let mut run = run(planned(&pipeline(&chains, 60)));
    let (_sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
    let ended = block_on(drive(
        &mut run,
        Input::Start(start()),
        &ports,
        &mut Journal::new(Box::new(log)),
        &mut stop,
        &mut tokio::sync::mpsc::unbounded_channel().1,
        &mut |_| {},
    ));
    assert!(ended.unwrap().is_some());
    let disk = disk.lock().unwrap();
    let calls = disk.taken.iter().filter(|event| matches!(event.happening, crate::event::Happening::ToolCalled { .. })).count();
    assert_eq!(calls, 60);
    assert!(disk.syncs <= 8, "{} commits for {calls} calls", disk.syncs);
}
