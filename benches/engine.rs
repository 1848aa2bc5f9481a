//! W2, W4, W6, W9, W11, W13 and W14: what a step, a graph, a check, a plan that an agent writes, spans, the audit and a look at who wrote the arguments cost, beside a floor that does the bare work by hand. Prints figures and ratios.
//!
//! `cargo bench --bench engine`

#[path = "common/measure.rs"]
mod measure;
#[path = "common/memory.rs"]
mod memory;
#[path = "common/shapes.rs"]
mod shapes;
#[path = "common/started.rs"]
mod started;

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::Arc;

use flow::event::{Event, RunStatus};
use flow::port::{ModelReply, ToolCall};
use flow_adapters::audit_file::AuditFile;
use flow_adapters::sqlite_store::SqliteStore;
use flow_base::journal::{AuditRecord, AuditTrail};
use flow_base::model::{Filling, Outputs, Pipeline, Program, Step, StepKind, TextPlace};
use flow_base::source::{FileId, SourceFile, Span, Spanned};
use flow_base::telemetry::RunSpans;
use flow_engine::{CallReply, CallRequest, Command, Input};
use flow_lang::plan::{Plan, plan};
use flow_lang::syntax::parse;
use measure::{Cost, cost_of, median, ms, peak_mb, us_each};
use memory::planned;
use nix::sys::resource::UsageWho::RUSAGE_SELF;
use started::{begun, moment};

/// Stack of the thread that holds the engine, as in the program itself.
const STACK: usize = 64 * 1024 * 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || match arguments.as_slice() {
        // A process of its own, so that its memory is only that of one graph.
        [word, steps] if word == "layered" => layered_alone(steps.parse().unwrap_or(2_000)),
        [word, ..] if word == "judged" => judged(),
        [word] if word == "plan" => run_planned(1_000, false),
        _ => all(),
    });
    if worker.map(std::thread::JoinHandle::join).is_err() {
        println!("the bench could not start its thread");
    }
}

fn all() {
    for steps in [200, 2_000, 10_000] {
        let plan = planned(&shapes::chain(steps));
        let (ours, bare) = (of(|| run(&plan, steps)), of(|| chain_by_hand(steps)));
        println!(
            "W2 chain of {steps:>6} steps:   {:>6.2} us a step, {:>5.1} x the floor ({:.2} us)",
            us_each(ours.cpu, steps),
            ours.cpu.as_secs_f64() / bare.cpu.as_secs_f64(),
            us_each(bare.cpu, steps)
        );
    }
    let plan = planned(&shapes::chain(2_000));
    let (on, off) = (of(|| run_observed(&plan, true)), of(|| run_observed(&plan, false)));
    println!(
        "W11 spans of a chain of 2000 steps: {:>5.2} us an event, {:>5.2} x the run without",
        us_each(on.cpu.saturating_sub(off.cpu), 4_002),
        on.cpu.as_secs_f64() / off.cpu.as_secs_f64()
    );
    audited(&plan);
    judged();
    for (shape, is_deep) in [("wide", false), ("deep", true)] {
        let ours = of(|| run_planned(1_000, is_deep));
        println!(
            "W9 plan of an agent, {shape}, 1000 steps: {:>6.2} us a step, its check and 1,001 calls of models among it",
            us_each(ours.cpu, 1_000)
        );
    }
    for steps in ["200", "2000", "10000", "100000"] {
        let program = std::env::current_exe().map(|path| std::process::Command::new(path).args(["layered", steps]).status());
        assert!(program.is_ok_and(|status| status.is_ok_and(|status| status.success())), "the layered graph ran");
    }
    for (name, make) in shapes::SHAPES.iter().chain(shapes::MISTAKES) {
        for size in [500, 2_000, 4_000] {
            let text = make(size);
            if text.len() > 1 << 20 {
                continue;
            }
            let (ours, bare) = (of(|| drop(black_box(memory::checked(&text)))), of(|| parse_alone(&text)));
            println!(
                "W6 check, {name:<26} {size:>5}: {:>7.2} ms, {:>6.2} us each, {:>4.1} x the parse alone ({:.2} ms)",
                ms(ours.cpu),
                us_each(ours.cpu, size),
                ours.cpu.as_secs_f64() / bare.cpu.as_secs_f64(),
                ms(bare.cpu)
            );
        }
    }
}

/// The bare work of a check: the file as a tree.
fn parse_alone(text: &str) {
    let file = SourceFile::new("pipeline.yaml", text);
    black_box(parse(FileId(0), &file, &mut vec![]));
}

fn of(mut work: impl FnMut()) -> Cost {
    median(7, || cost_of(RUSAGE_SELF, &mut work).1)
}

fn layered_alone(steps: usize) {
    let plan = layered_plan(steps);
    let (ours, bare) = (of(|| run(&plan, steps)), of(|| layered_by_hand(&plan)));
    println!(
        "W4 layered graph of {steps:>6}: {:>6.2} us a step, {:>5.1} x the floor ({:.2} us), {:.0} MB in all",
        us_each(ours.cpu, steps),
        ours.cpu.as_secs_f64() / bare.cpu.as_secs_f64(),
        us_each(bare.cpu, steps),
        peak_mb("self").unwrap_or_default()
    );
}

/// Runs a plan of steps that only compute.
fn run(plan: &Arc<Plan>, steps: usize) {
    let mut run = begun(plan);
    let events = std::iter::from_fn(|| run.next_event()).map(black_box).count();
    assert_eq!(run.state().finished.as_ref().map(|end| end.status), Some(RunStatus::Succeeded));
    assert!(events >= steps * 2, "each step starts and ends");
}

/// Runs a plan of steps that only compute; its events are made into spans or not.
fn run_observed(plan: &Arc<Plan>, is_observed: bool) {
    let (mut run, mut spans) = (begun(plan), RunSpans::default());
    let mut made = 0;
    while let Some(event) = run.next_event() {
        if is_observed {
            made += spans.take(&event, None, None).spans.len();
        }
        black_box(event);
    }
    assert_eq!(is_observed, made > 2_000);
}

/// W13: what the audit of a run costs beside the record of the same events, which is written to the disk as it is.
fn audited(plan: &Arc<Plan>) {
    for (shape, events) in [("a chain of 2000 steps", run_events(plan)), ("1,001 calls of models", planned_by_agent(1_000, false))] {
        let folder = tempfile::tempdir().expect("there is room");
        let mut count = 0;
        let mut file = |name: &str| {
            count += 1;
            folder.path().join(format!("{name}{count}/runs.db"))
        };
        let record = of(|| {
            let path = file("record");
            std::fs::create_dir(path.parent().unwrap_or(&path)).expect("a folder is made");
            SqliteStore::open(&path).and_then(|mut store| store.keep(&events)).expect("the events are kept");
        });
        let mut made = 0;
        let pure = of(|| {
            let mut trail = AuditTrail::default();
            made = events.iter().map(|event| black_box(trail.take(event)).len()).sum();
        });
        let audit = of(|| {
            let mut trail = AuditTrail::default();
            let records: Vec<AuditRecord> = events.iter().flat_map(|event| trail.take(event)).collect();
            AuditFile::beside(&file("audit")).append(&records, None).expect("the records are kept");
        });
        println!(
            "W13 audit of {shape}: {:>5.2} us an event, {:>4.2} x its record ({:.2} us); {made} records of {} events, {:.2} us an event to make them",
            us_each(audit.cpu, events.len()),
            audit.cpu.as_secs_f64() / record.cpu.as_secs_f64(),
            us_each(record.cpu, events.len()),
            events.len(),
            us_each(pure.cpu, events.len()),
        );
    }
}

fn run_events(plan: &Arc<Plan>) -> Vec<Event> {
    let mut run = begun(plan);
    std::iter::from_fn(|| run.next_event()).collect()
}

/// Runs a plan that an agent writes: all steps beside each other, or each after the one before.
fn run_planned(steps: usize, is_deep: bool) {
    black_box(planned_by_agent(steps, is_deep));
}

/// The run of such a plan, and its events.
fn planned_by_agent(steps: usize, is_deep: bool) -> Vec<Event> {
    let file = "flow: 1\nname: planned\nmodels: { default: { provider: openai, model: m } }\nagents: { w: {} }\nsteps:\n  - { id: work, plan: w, prompt: Go., may_use: [w], max_steps: 1000 }\noutputs: { n: \"{{ steps.work.output.fulfilled }}\" }\n";
    let step = |number: usize| {
        let above: Vec<String> = number.checked_sub(1).filter(|_| is_deep).map(|above| format!("s{above}")).into_iter().collect();
        serde_json::json!({ "id": format!("s{number}"), "use": "w", "prompt": "Do it.", "depends_on": above })
    };
    let list: Vec<serde_json::Value> = (0..steps).map(step).collect();
    let mut answer = serde_json::json!({ "strategy": "parallel", "reasoning": "So.", "steps": list }).to_string();
    let mut run = begun(&planned(file));
    let mut events = vec![];
    while run.state().finished.is_none() {
        events.extend(std::iter::from_fn(|| run.next_event()));
        let Some(command) = run.next_command() else { break };
        let Command::Call { call, .. } = command else { continue };
        let reply = ModelReply { text: std::mem::replace(&mut answer, "Done.".into()), ..ModelReply::default() };
        run.handle(Input::Reply { call, result: Ok(CallReply::Model(reply)) }, moment());
    }
    events.extend(std::iter::from_fn(|| run.next_event()));
    assert_eq!(run.state().finished.as_ref().map(|end| end.status), Some(RunStatus::Succeeded));
    events
}

/// W14: what it costs to look at who wrote each argument of an agent's calls.
fn judged() {
    let (turns, each) = (50, 20);
    let with = |untrusted: &str| {
        let file = format!(
            "flow: 1\nname: judged\nmodels: {{ default: {{ provider: openai, model: m }} }}\n\
             agents: {{ w: {{ instructions: \"Write to a@example.com only.\", tools: [post], max_turns: {turns} }} }}\n\
             tools: {{ post: {{ http: POST https://example.com/x, body: \"{{{{ with }}}}\", arguments: {{ to: text, text: text, number: integer }} }} }}\n\
             policies: {{ p: {{ allowed_tools: [post], network_access: {{ hosts: [example.com] }}{untrusted} }} }}\npolicy: p\n\
             steps:\n  - {{ id: work, agent: w, prompt: \"{}\" }}\noutputs: {{ said: \"{{{{ steps.work.output }}}}\" }}\n",
            "Tell them all about it. ".repeat(100)
        );
        planned(&file)
    };
    let without = with("");
    for (kind, entries) in [
        ("classes", "recipients: ask, addresses: ask, commands: ask, paths: ask"),
        ("names", "post(to): ask, \"post(text, number)\": allow, recipients: ask, addresses: ask, otherwise: deny"),
    ] {
        let with = with(&format!(", untrusted: {{ {entries} }}"));
        // In turns, so that what else runs meets both; of the pairs the one in the middle.
        let pair = || [&without, &with].map(|plan| cost_of(RUSAGE_SELF, || call_tools(plan, turns, each)).1.cpu);
        let mut pairs: Vec<_> = (0..41).map(|_| pair()).collect();
        pairs.sort_by(|one, other| {
            (one[1].as_secs_f64() / one[0].as_secs_f64()).total_cmp(&(other[1].as_secs_f64() / other[0].as_secs_f64()))
        });
        let [off, on] = pairs[pairs.len() / 2];
        println!(
            "W14 who wrote the arguments of {} calls of an agent, by {kind}: {:>5.2} us a call, {:>5.3} x the run without",
            (turns - 1) * each,
            us_each(on.saturating_sub(off), (turns - 1) * each),
            on.as_secs_f64() / off.as_secs_f64()
        );
    }
}

/// Runs an agent that calls its tool so many times in each turn, about which nobody is asked.
fn call_tools(plan: &Arc<Plan>, turns: usize, each: usize) {
    let mut run = begun(plan);
    let (mut turn, mut made) = (0, 0);
    while run.state().finished.is_none() {
        while run.next_event().map(black_box).is_some() {}
        let Some(command) = run.next_command() else { break };
        let Command::Call { call, request } = command else { continue };
        let reply = if let CallRequest::Model(_) = &*request {
            turn += 1;
            let ask = |place: usize| ToolCall {
                id: format!("c{turn}-{place}"),
                tool: "post".into(),
                arguments: serde_json::json!({ "to": "a@example.com", "text": format!("It is {turn} and {place}, as everybody knows."), "number": place }),
            };
            let calls = if turn < turns { (0..each).map(ask).collect() } else { vec![] };
            CallReply::Model(ModelReply { text: "So.".into(), calls, ..ModelReply::default() })
        } else {
            made += 1;
            CallReply::Value("sent".into())
        };
        run.handle(Input::Reply { call, result: Ok(reply) }, moment());
    }
    assert_eq!(run.state().finished.as_ref().map(|end| end.status), Some(RunStatus::Succeeded));
    assert_eq!(made, (turns - 1) * each);
}

/// The bare work of a chain: a name looked up and a text copied for each step.
fn chain_by_hand(steps: usize) {
    let mut outputs: BTreeMap<String, String> = BTreeMap::from([("s0".into(), "start".into())]);
    for i in 1..steps {
        let text = outputs.get(&format!("s{}", i - 1)).cloned().unwrap_or_default();
        outputs.insert(format!("s{i}"), text);
    }
    assert_eq!(black_box(outputs).len(), steps);
}

/// The bare work of a graph: a queue, the waits of each step counted down, texts copied.
fn layered_by_hand(plan: &Plan) {
    let pipeline = &plan.pipelines[0];
    let block = pipeline.block(pipeline.main);
    let mut waits: Vec<usize> = (0..block.len()).map(|place| block.needs(place).len()).collect();
    let mut ready: std::collections::VecDeque<usize> = (0..block.len()).filter(|place| waits[*place] == 0).collect();
    let mut outputs: HashMap<&str, String> = HashMap::with_capacity(block.len());
    while let Some(place) = ready.pop_front() {
        let text = block.needs(place).first().and_then(|(above, _)| outputs.get(&*pipeline.steps[*above].id).cloned());
        outputs.insert(&pipeline.steps[place].id, text.unwrap_or_else(|| "x".into()));
        for (below, _) in block.readers(place) {
            waits[*below] -= 1;
            if waits[*below] == 0 {
                ready.push_back(*below);
            }
        }
    }
    assert_eq!(black_box(outputs).len(), block.len());
}

/// Layers of a hundred steps, each of which needs two of the layer before. Made from the model: no file may be as large.
fn layered_plan(steps: usize) -> Arc<Plan> {
    let one = planned("flow: 1\nname: layered\nsteps:\n  - { id: one, set: x }\noutputs: { x: \"{{ steps.one.output }}\" }\n");
    let base: &Pipeline = &one.program.pipelines[0];
    let width = 100.min(steps);
    let id = |step: usize| format!("l{}_{}", step / width, step % width);
    let list = (0..steps).map(|number| {
        let mut step: Step = (*base.steps[0]).clone();
        step.id = Spanned::new(id(number), Span::default());
        let mut needs = vec![];
        if let Some(above) = number.checked_sub(width) {
            let layer = number / width - 1;
            needs = vec![id(above), id(layer * width + (number + 1) % width)];
            let read = format!("{{{{ steps.{}.output }}}}", needs[0]);
            step.kind = StepKind::Set(Filling::Text(flow_lang::template::text(&read, TextPlace::default(), &mut vec![])));
        }
        step.needs = Some(needs.into_iter().map(|need| Spanned::new(need, Span::default())).collect());
        Arc::new(step)
    });
    let pipeline = Pipeline { steps: list.collect(), outputs: Outputs::None, ..base.clone() };
    let mut found = vec![];
    let plan = plan(&Program { pipelines: vec![Arc::new(pipeline)] }, &mut found);
    assert!(found.is_empty(), "{:?}", found.first());
    Arc::new(plan)
}
