//! W2, W4 and W6: what a step, a graph and a check cost, beside a floor that does the bare work by hand. Prints figures and ratios.
//!
//! `cargo bench --bench engine`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use flow::engine::{Input, Mocks, Moment, Options, Run};
use flow::event::{RunStart, RunStatus};
use flow::load::{WrittenRules, load};
use flow::model::Limits;
use flow::plan::{Plan, plan};
use flow::port::{FileProblem, Files};

/// One file in memory.
struct Memory(String);

impl Files for Memory {
    fn read_text(&self, _: &Path) -> Result<String, FileProblem> {
        Ok(self.0.clone())
    }
    fn exists(&self, _: &Path) -> bool {
        false
    }
    fn names(&self, _: &Path) -> Vec<String> {
        vec![]
    }
    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_path_buf())
    }
}

fn chain(steps: usize) -> String {
    let mut text = String::from("flow: 1\nname: chain\nsteps:\n  - { id: s0, set: start }\n");
    for i in 1..steps {
        let _ = writeln!(text, "  - {{ id: s{i}, set: \"{{{{ steps.s{}.output }}}}\" }}", i - 1);
    }
    let _ = writeln!(text, "outputs: {{ last: \"{{{{ steps.s{}.output }}}}\" }}", steps - 1);
    text
}

/// `layers` of `width` steps; each step needs two of the layer before.
fn layered(layers: usize, width: usize) -> String {
    let mut text = String::from("flow: 1\nname: layered\nsteps:\n");
    for layer in 0..layers {
        for place in 0..width {
            let needs = if layer == 0 { String::new() } else { format!("l{}_{place}, l{}_{}", layer - 1, layer - 1, (place + 1) % width) };
            let reads = if layer == 0 { "x".to_string() } else { format!("{{{{ steps.l{}_{place}.output }}}}", layer - 1) };
            let _ = writeln!(text, "  - {{ id: l{layer}_{place}, needs: [{needs}], set: \"{reads}\" }}");
        }
    }
    text
}

fn planned(text: &str) -> Arc<Plan> {
    let loaded = load(Path::new("/bench/p.yaml"), Path::new("/bench"), &Memory(text.to_string()));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics.first());
    let mut found = vec![];
    let plan = plan(&loaded.program, &mut found);
    assert!(found.is_empty(), "{:?}", found.first());
    Arc::new(plan)
}

fn run(plan: &Arc<Plan>) -> usize {
    let now = Moment { wall: chrono::DateTime::from_timestamp(0, 0).unwrap_or_default(), ms: 0 };
    let options = Options {
        secrets: BTreeMap::new(),
        env: BTreeMap::new(),
        default_model: None,
        replies: None,
        mocks: Mocks::default(),
        written: Box::new(WrittenRules),
        limits: Limits::default(),
    };
    let mut run = Run::new("r_bench", plan.clone(), options, now);
    let empty = Arc::new(serde_json::json!({}));
    let start = RunStart {
        pipeline: "bench".into(),
        hash: String::new(),
        file: String::new(),
        inputs: empty.clone(),
        channel: None,
        person: empty,
        failure: None,
        now: now.wall,
        scripted: false,
        seed: 1,
        marks: flow::event::Marks::default(),
    };
    run.handle(Input::Start(Box::new(start)), now);
    let mut events = 0;
    while let Some(event) = run.next_event() {
        black_box(&event);
        events += 1;
    }
    let status = run.state().finished.as_ref().map(|end| end.status);
    assert_eq!(status, Some(RunStatus::Succeeded));
    events
}

/// The bare work of a chain: a name looked up and a text copied, per step.
fn floor(steps: usize) -> usize {
    let mut outputs: BTreeMap<String, String> = BTreeMap::from([("s0".into(), "start".into())]);
    for i in 1..steps {
        let text = outputs[&format!("s{}", i - 1)].clone();
        outputs.insert(format!("s{i}"), text);
    }
    black_box(outputs).len()
}

/// Median nanoseconds of a few runs.
fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let before = clock();
            work();
            before.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn clock() -> Instant {
    Instant::now()
}

fn main() {
    let work = || {
        for steps in [200, 2_000, 10_000] {
            let plan = planned(&chain(steps));
            let ours = median(|| {
                black_box(run(&plan));
            }) / steps as f64;
            let bare = median(|| {
                black_box(floor(steps));
            }) / steps as f64;
            println!(
                "W2 chain of {steps:>6} template steps: {:>7.2} us a step, {:>5.1} x the floor ({:.2} us)",
                ours / 1e3,
                ours / bare,
                bare / 1e3
            );
        }
        for (layers, width) in [(20, 100), (100, 100)] {
            let steps = layers * width;
            let plan = planned(&layered(layers, width));
            let ours = median(|| {
                black_box(run(&plan));
            }) / steps as f64;
            println!("W4 layered graph of {steps:>6} steps:   {:>7.2} us a step", ours / 1e3);
        }
        for steps in [200, 2_000, 8_000] {
            let text = chain(steps);
            let ours = median(|| {
                black_box(planned(&text));
            });
            println!("W6 read and plan {steps:>6} steps:      {:>7.2} ms, {:.2} us a step", ours / 1e6, ours / 1e3 / steps as f64);
        }
    };
    let worker = std::thread::Builder::new().stack_size(64 * 1024 * 1024).spawn(work);
    if let Ok(worker) = worker {
        let _ = worker.join();
    }
}
