//! What the same work costs as it grows by ten and by a hundred: each figure is that of one unit, so what is in step with the work stays flat.
//! Every size is a process of its own. Prints figures; only results are asserted.
//!
//! `cargo bench --bench growth`; `cargo bench --bench growth -- picture FILE.svg` also draws them.

#[path = "common/conversation.rs"]
#[expect(dead_code, reason = "its other shapes are for the bench `process`")]
mod conversation;
#[path = "common/floor.rs"]
mod floor;
#[path = "common/measure.rs"]
#[expect(dead_code, reason = "nothing is done several times here")]
mod measure;
#[path = "common/memory.rs"]
mod memory;
#[path = "common/mock.rs"]
mod mock;

use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use flow::port::{MemoryFiles, ModelClient, ModelReply, ModelRequest, Pending};
use flow_lang::check::check_file;
use measure::{Cost, cost_of, ms, peak_mb};
use nix::sys::resource::UsageWho::{RUSAGE_CHILDREN, RUSAGE_SELF};
use plotters::prelude::*;
use tokio::sync::Barrier;

/// What goes wrong ends the bench.
type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The program.
const FLOW: &str = env!("CARGO_BIN_EXE_flow");
/// The largest of these was asked for; the others show what it grows from.
const SIZES: usize = 3;

/// Something that grows.
struct Shape {
    /// Its word on the command line.
    word: &'static str,
    /// What is counted.
    unit: &'static str,
    /// How many there are at most.
    most: usize,
}

const SHAPES: [Shape; 6] = [
    Shape { word: "steps", unit: "steps of a run, in its journal", most: 100_000 },
    Shape { word: "waiting", unit: "runs that wait for a model at once", most: 10_000 },
    Shape { word: "runs", unit: "conversations at once over HTTP", most: 1_000 },
    Shape { word: "format", unit: "MB of text through a channel", most: 100 },
    Shape { word: "guarantees", unit: "steps of a file whose guarantees are explained", most: 10_000 },
    Shape { word: "store", unit: "runs in one store: one more, listed, shown", most: 100_000 },
];

/// What one size cost.
struct Figure {
    size: usize,
    /// How many times the work was done that grows, or that is done in something that has grown.
    units: usize,
    cpu: Duration,
    wall: Duration,
    mb: f64,
}

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["waiting", size] => tell(at_once(0..size.parse()?, "", Some(AllAtOnce::of(size.parse()?)))?),
        ["runs", size, url] => tell(at_once(0..size.parse()?, url, None)?),
        ["format", size] => formatted(size.parse()?),
        ["fill", from, to] => fill(from.parse()?, to.parse()?),
        ["picture", file] => draw(Path::new(file), &all()?),
        ["only", word] => SHAPES.iter().filter(|shape| shape.word == *word).try_for_each(|shape| figures(shape).map(drop)),
        _ => all().map(drop),
    }
}

fn all() -> Done<Vec<(&'static Shape, Vec<Figure>)>> {
    SHAPES.iter().map(|shape| Ok((shape, figures(shape)?))).collect()
}

fn figures(shape: &Shape) -> Done<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let mut found: Vec<Figure> = vec![];
    for size in (0..SIZES).rev().map(|smaller| shape.most / 10_usize.pow(smaller as u32)) {
        let figure = match shape.word {
            "steps" => steps(size)?,
            "guarantees" => guarantees(size)?,
            "store" => store(size, folder.path(), found.last().map_or(0, |before| before.size))?,
            "runs" => {
                let url = format!("http://{}/v1", mock::serve(Duration::ZERO, conversation::says)?);
                by_this(&["runs", &size.to_string(), &url], size)?
            }
            word => by_this(&[word, &size.to_string()], size)?,
        };
        println!(
            "{:<44} {size:>7}: {:>9.1} us CPU each, {:>9.1} us wall, {:>6.1} MB in all",
            shape.unit,
            each(figure.cpu, figure.units),
            each(figure.wall, figure.units),
            figure.mb
        );
        found.push(figure);
    }
    Ok(found)
}

fn each(time: Duration, units: usize) -> f64 {
    ms(time) * 1e3 / units as f64
}

/// Runs this program for one size, which prints what it cost: microseconds of CPU and on the wall, and megabytes.
fn by_this(words: &[&str], size: usize) -> Done<Figure> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(std::env::current_exe()?).args(words).current_dir(folder.path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [cpu, wall, mb] if output.status.success() => {
            Ok(Figure { size, units: size, cpu: Duration::from_secs_f64(*cpu), wall: Duration::from_secs_f64(*wall), mb: *mb })
        }
        _ => Err(format!("{words:?}: {output:?}").into()),
    }
}

fn tell(cost: Cost) -> Done {
    println!("{} {} {}", cost.cpu.as_secs_f64(), cost.wall.as_secs_f64(), peak_mb("self").unwrap_or_default());
    Ok(())
}

/// `flow` in a folder; it must print this.
fn flow(folder: &Path, words: &[&str], prints: &str) -> Done {
    let output = Command::new(FLOW).args(words).current_dir(folder).env_clear().stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.contains(prints) { Ok(()) } else { Err(format!("{words:?}: {output:?}").into()) }
}

/// The same, with what it cost and the most memory it had.
fn flow_cost(folder: &Path, words: &[&str]) -> Done<(Cost, f64)> {
    let (peak, cost) = cost_of(RUSAGE_CHILDREN, || -> std::io::Result<f64> {
        let mut child = Command::new(FLOW).args(words).current_dir(folder).env_clear().stdout(Stdio::null()).spawn()?;
        let mut peak: f64 = 0.0;
        loop {
            match child.try_wait()? {
                Some(status) if status.success() => return Ok(peak),
                Some(status) => return Err(std::io::Error::other(format!("{words:?}: {status}"))),
                None => peak = peak_mb(&child.id().to_string()).map_or(peak, |now| peak.max(now)),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    Ok((cost, peak?))
}

/// Steps that compute, as elements of one list: no file may have as many.
fn steps(size: usize) -> Done<Figure> {
    let folder = tempfile::tempdir()?;
    let text = format!(
        "flow: 1\nname: many\nsteps:\n  - {{ id: each, for_each: range({size}), set: \"Number {{{{ item }}}}\" }}\n\
         outputs: {{ n: \"{{{{ steps.each.output | length }}}}\" }}\n"
    );
    std::fs::write(folder.path().join("many.yaml"), text)?;
    flow(folder.path(), &["run", "many.yaml", "--quiet"], &size.to_string())?;
    let (cost, mb) = flow_cost(folder.path(), &["run", "many.yaml", "--quiet"])?;
    Ok(Figure { size, units: size, cpu: cost.cpu, wall: cost.wall, mb })
}

/// A text of a model that steps pass on, one to the next, to an output.
fn guarantees(size: usize) -> Done<Figure> {
    let folder = tempfile::tempdir()?;
    let mut text =
        "flow: 1\nname: long\nagents: { w: { instructions: Write. } }\nsteps:\n  - { id: s0, agent: w, prompt: Say. }\n".to_owned();
    text.extend((1..size).map(|step| format!("  - {{ id: s{step}, set: \"{{{{ steps.s{}.output }}}} on\" }}\n", step - 1)));
    text.push_str(&format!("outputs: {{ last: \"{{{{ steps.s{}.output }}}}\" }}\n", size - 1));
    std::fs::write(folder.path().join("long.yaml"), text)?;
    flow(folder.path(), &["explain", "--guarantees", "long.yaml"], "broken")?;
    let (cost, mb) = flow_cost(folder.path(), &["explain", "--guarantees", "long.yaml"])?;
    Ok(Figure { size, units: size, cpu: cost.cpu, wall: cost.wall, mb })
}

/// Answers a first call of each run only when all runs have one out.
struct AllAtOnce {
    barrier: Arc<Barrier>,
}

impl ModelClient for AllAtOnce {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        let barrier = self.barrier.clone();
        Box::pin(async move {
            let text: String = request.messages.iter().map(|message| &*message.text).collect();
            if text.contains("You plan") {
                barrier.wait().await;
            }
            Ok(ModelReply { text: conversation::says(&text), ..ModelReply::default() })
        })
    }
}

impl AllAtOnce {
    fn of(runs: usize) -> Arc<dyn ModelClient> {
        Arc::new(AllAtOnce { barrier: Arc::new(Barrier::new(runs)) })
    }
}

/// Runs of these numbers in this process, in the store `runs.db`.
fn at_once(runs: Range<usize>, url: &str, model: Option<Arc<dyn ModelClient>>) -> Done<Cost> {
    let url = url.to_owned();
    let worker = std::thread::Builder::new().stack_size(64 * 1024 * 1024).spawn(move || -> Result<Cost, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let count = runs.len();
        let (times, cost) = cost_of(RUSAGE_SELF, || runtime.block_on(conversation::at_once(runs, &url, true, model)));
        assert_eq!(times?.len(), count);
        Ok(cost)
    })?;
    Ok(worker.join().map_err(|_| "the thread ended badly")??)
}

/// Puts runs of these numbers into the store, a thousand at once.
fn fill(from: usize, to: usize) -> Done {
    (from..to).step_by(1_000).try_for_each(|first| at_once(first..to.min(first + 1_000), "", Some(AllAtOnce::of(1))).map(drop))
}

/// A text of so many megabytes through a channel of parts.
fn formatted(size: usize) -> Done {
    let file = "flow: 1\nchannel: long\nmax_length: 4000\nlength_unit: characters\nmarkdown: [bold, italic, links, lists]\nemojis: true\n\
                split: { at: sentence, most_parts: 100000 }\nbody: text\n";
    let checked = check_file(Path::new("/f/long.yaml"), Path::new("/f"), &MemoryFiles::from_iter([("/f/long.yaml", file)]));
    let channel = checked.loaded.channel.as_ref().ok_or("the channel is one")?;
    let paragraph =
        "The **project** took [four hours](https://example.com/t) on *Monday*; on Tuesday it took eight.\n\n- one\n- two & three\n\n";
    let text = paragraph.repeat(size * 1_000_000 / paragraph.len());
    let (parts, cost) =
        cost_of(RUSAGE_SELF, || flow_lang::channel::format(&text, channel, None, None).map(|formatted| formatted.parts.len()));
    assert!(parts.map_err(|error| format!("{error:?}"))? * 4_000 >= text.len() / 2);
    tell(cost)
}

/// A store that has grown to so many runs: one more run, the list and a run that is shown, ten times each.
fn store(size: usize, folder: &Path, before: usize) -> Done<Figure> {
    const TIMES: usize = 10;
    std::fs::write(folder.join("one.yaml"), "flow: 1\nname: one\nsteps:\n  - { id: hello, set: Hello }\n")?;
    flow(folder, &["run", "one.yaml", "--quiet"], "")?;
    let (from, to) = (before.to_string(), size.to_string());
    let filled = Command::new(std::env::current_exe()?).args(["fill", &from, &to]).current_dir(folder.join(".flow")).output()?;
    if !filled.status.success() {
        return Err(format!("the store grew: {filled:?}").into());
    }
    let mut all = Figure { size, units: TIMES, cpu: Duration::ZERO, wall: Duration::ZERO, mb: 0.0 };
    for words in [&["run", "one.yaml", "--quiet"][..], &["runs", "list"], &["runs", "show", "r_000000"]] {
        let costs = (0..TIMES).map(|_| flow_cost(folder, words)).collect::<Done<Vec<_>>>()?;
        let mut walls: Vec<Duration> = costs.iter().map(|(cost, _)| cost.wall).collect();
        walls.sort();
        println!("  flow {:<24} {:>6.1} ms wall in the middle, among {size} runs", words.join(" "), ms(walls[TIMES / 2]));
        for (cost, mb) in costs {
            all = Figure { cpu: all.cpu + cost.cpu, wall: all.wall + cost.wall, mb: all.mb.max(mb), ..all };
        }
    }
    let bytes = std::fs::metadata(folder.join(".flow/runs.db"))?.len();
    println!("  the store has {:.1} MB, {} bytes a run", bytes as f64 / 1e6, bytes / size as u64);
    Ok(all)
}

/// The cost of a unit beside that at the smallest size, over how much more there is.
fn draw(file: &Path, all: &[(&Shape, Vec<Figure>)]) -> Done {
    let root = SVGBackend::new(file, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("CPU time of one unit as the work grows (1 = as at the smallest size)", ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d((1.0..100.0).log_scale(), (0.25..32.0).log_scale())?;
    chart.configure_mesh().x_desc("times as much work").y_desc("times the CPU for each unit").x_labels(3).draw()?;
    for (number, (shape, figures)) in all.iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        let Some(least) = figures.first() else { continue };
        let point =
            |figure: &Figure| (figure.size as f64 / least.size as f64, each(figure.cpu, figure.units) / each(least.cpu, least.units));
        let label = format!("{} {}", shape.most, shape.unit);
        chart
            .draw_series(LineSeries::new(figures.iter().map(point), color.stroke_width(2)))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).background_style(WHITE).border_style(BLACK).draw()?;
    Ok(root.present()?)
}
