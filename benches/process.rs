//! W1, W3, W5, W7, W8 and W12: whole runs beside a floor program that makes the same calls by hand. Prints figures and ratios; only results are
//! asserted.
//!
//! `cargo bench --bench process`
//!
//! The mock endpoint and every measured program are processes of their own, or threads of one that is not measured, so that a figure is
//! that of one program. They are this program again, called with a word.

#[path = "common/chat.rs"]
mod chat;
#[path = "common/conversation.rs"]
mod conversation;
#[path = "common/floor.rs"]
mod floor;
#[path = "common/measure.rs"]
mod measure;
#[path = "common/memory.rs"]
mod memory;
#[path = "common/mock.rs"]
mod mock;
#[path = "common/tools.rs"]
mod tools;
#[path = "common/turns.rs"]
mod turns;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use measure::{Cost, cost_of, median, ms, peak_mb, us_each};
use nix::sys::resource::UsageWho::RUSAGE_CHILDREN;

/// The program.
const FLOW: &str = env!("CARGO_BIN_EXE_flow");
/// How often a process is started for a median.
const STARTS: usize = 21;
/// Calls at once in W3.
const WIDE: usize = 500;
/// Calls of tools in W7, and those of a run whose start is taken off.
const CALLS: usize = 1_000;
const FEW_CALLS: usize = 10;

/// What goes wrong ends the bench.
type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["floor-start", file] => floor_start(Path::new(file)),
        ["floor-wide", url] => floor_wide(url),
        ["conversation", kind, url] => conversation::run_all(kind, url),
        ["floor-conversations", url] => conversation::count_by_hand(url),
        ["server"] => tools::serve(),
        ["floor-tools", calls] => tools::by_hand(calls.parse()?),
        // Only one of them; a name that `cargo bench` adds is none.
        ["tools", ..] => tool_calls(),
        ["chat", ..] => chat::turns(),
        ["floor-turns", url, turns] => turns::by_hand(url, turns.parse()?),
        ["turns", ..] => turns::all(),
        ["one-run", ..] => conversations_in_one_run(),
        _ => {
            starts()?;
            wide()?;
            conversations()?;
            conversations_in_one_run()?;
            tool_calls()?;
            chat::turns()?;
            turns::all()
        }
    }
}

/// W1: from the command line to the last byte.
fn starts() -> Done {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("one.yaml"), ONE)?;
    std::fs::write(folder.path().join("six.yaml"), six())?;
    std::fs::write(
        folder.path().join("replies.yaml"),
        "flow: 1\nreplies: { s0: Word 0, s1: Word 1, s2: Word 2, s3: Word 3, s4: Word 4, s5: Word 5 }\n",
    )?;
    let floor = || this(&["floor-start", "one.yaml"], folder.path());
    let flow = |words: &[&str]| {
        let mut command = Command::new(FLOW);
        command.args(words).arg("--quiet").current_dir(folder.path()).env_clear();
        command
    };
    let base = process("W1 floor: reads a file, prints a line", &floor, "Hello, Ana!", None)?;
    process("W1 flow run, one step", &|| Ok(flow(&["run", "one.yaml"])), "Hello, Ana!", Some(base))?;
    process("W1 flow run, six scripted model calls", &|| Ok(flow(&["run", "six.yaml"])), "Word 5", Some(base))?;
    process("W1 flow validate, one step", &|| Ok(flow(&["validate", "one.yaml"])), "", Some(base))?;
    Ok(())
}

const ONE: &str = "flow: 1\nname: one\ninputs: { who: { type: text, default: Ana } }\nsteps:\n  - { id: hello, set: \"Hello, {{ inputs.who }}!\" }\n\
                   outputs: { hello: \"{{ steps.hello.output }}\" }\n";

fn six() -> String {
    let mut text = String::from(
        "flow: 1\nname: six\nmodels: { default: { provider: scripted, replies: replies.yaml } }\n\
         agents: { writer: { instructions: You write one word. } }\nsteps:\n  - { id: s0, agent: writer, prompt: Begin. }\n",
    );
    for i in 1..6 {
        text.push_str(&format!("  - {{ id: s{i}, agent: writer, prompt: \"After {{{{ steps.s{}.output }}}}\" }}\n", i - 1));
    }
    text + "outputs: { last: \"{{ steps.s5.output }}\" }\n"
}

/// Starts a program a number of times, checks what it prints, and tells what it costs.
fn process(
    what: &str,
    make: &dyn Fn() -> std::io::Result<Command>,
    prints: &str,
    floor: Option<Cost>,
) -> Result<Cost, Box<dyn std::error::Error>> {
    let mut wrong = None;
    let cost = median(STARTS, || {
        let (output, cost) = cost_of(RUSAGE_CHILDREN, || make().and_then(|mut command| command.output()));
        match output {
            Ok(output) if output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == prints => {}
            other => wrong = Some(format!("{what}: {other:?}")),
        }
        cost
    });
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }
    let memory = peak_of(&mut make()?)?;
    let ratio = floor.map_or(String::new(), |floor| format!(", {:.1} x the floor", cost.wall.as_secs_f64() / floor.wall.as_secs_f64()));
    println!("{what:<38} {:>7.2} ms wall, {:>6.2} ms CPU, {memory:>5.1} MB{ratio}", ms(cost.wall), ms(cost.cpu));
    Ok(cost)
}

/// The most memory a process had, looked at until it ends.
fn peak_of(command: &mut Command) -> std::io::Result<f64> {
    let mut peak: f64 = 0.0;
    for _ in 0..5 {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        while child.try_wait()?.is_none() {
            peak = peak_mb(&child.id().to_string()).map_or(peak, |now| peak.max(now));
        }
    }
    Ok(peak)
}

/// This program again.
fn this(words: &[&str], folder: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).current_dir(folder);
    Ok(command)
}

/// The floor in Python, where `FLOW_BENCH_PYTHON` names one that has aiohttp.
fn in_python(kind: &str, url: &str) -> Option<Command> {
    let mut command = Command::new(std::env::var_os("FLOW_BENCH_PYTHON")?);
    command.args([concat!(env!("CARGO_MANIFEST_DIR"), "/benches/common/floor.py"), kind, url]);
    Some(command)
}

fn floor_start(file: &Path) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let text = runtime.block_on(async { std::fs::read_to_string(file) })?;
    assert_eq!(text, ONE);
    println!("Hello, Ana!");
    Ok(())
}

/// W3: one call, then 500 at once, then one, each after 50 ms.
fn wide() -> Done {
    let delay = Duration::from_millis(50);
    let url = format!("http://{}/v1", mock::serve(delay, |_| "fine".to_owned())?);
    let folder = tempfile::tempdir()?;
    let text = format!(
        "flow: 1\nname: wide\nlimits: {{ max_parallel: {WIDE} }}\nmodels: {{ default: {{ provider: openai, model: m, base_url: \"{url}\" }} }}\n\
         agents: {{ writer: {{ instructions: You write one word. }} }}\nsteps:\n\
         \x20 - {{ id: plan, agent: writer, prompt: Begin. }}\n\
         \x20 - {{ id: each, for_each: range({WIDE}), max_parallel: {WIDE}, agent: writer, prompt: \"Number {{{{ item }}}} of {{{{ steps.plan.output }}}}\" }}\n\
         \x20 - {{ id: end, agent: writer, prompt: \"Sum up {{{{ steps.each.output | length }}}}: {{{{ steps.each.output | join }}}}\" }}\n\
         outputs: {{ count: \"{{{{ steps.each.output | length }}}}\" }}\n"
    );
    std::fs::write(folder.path().join("wide.yaml"), text)?;
    let calls = WIDE + 2;
    let floor = once(7, WIDE, &mut this(&["floor-wide", &url], folder.path())?)?;
    let mut command = Command::new(FLOW);
    command.args(["run", "wide.yaml", "--trust", "--quiet"]).current_dir(folder.path()).env_clear();
    let flow = once(7, WIDE, &mut command)?;
    let python = in_python("wide", &url).map(|mut command| once(7, WIDE, &mut command)).transpose()?;
    for (what, cost) in [("floor", floor), ("flow", flow)].into_iter().chain(python.map(|cost| ("python", cost))) {
        println!(
            "W3 1 -> {WIDE} -> 1 calls of 50 ms, {what:<6} {:>7.1} ms wall, {:>6.1} us CPU a call, {:.2} x the floor (ideal 150 ms)",
            ms(cost.wall),
            us_each(cost.cpu, calls),
            cost.wall.as_secs_f64() / floor.wall.as_secs_f64()
        );
    }
    Ok(())
}

/// The median of a process that prints how many answers it got.
fn once(times: usize, answers: usize, command: &mut Command) -> Result<Cost, Box<dyn std::error::Error>> {
    let mut wrong = None;
    let cost = median(times, || {
        let (output, cost) = cost_of(RUSAGE_CHILDREN, || command.output());
        match output {
            Ok(output) if String::from_utf8_lossy(&output.stdout).trim() == answers.to_string() => {}
            other => wrong = Some(format!("{other:?}")),
        }
        cost
    });
    wrong.map_or(Ok(cost), |wrong| Err(wrong.into()))
}

fn floor_wide(url: &str) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answers = runtime.block_on(async {
        let client = floor::client()?;
        let plan = floor::ask(&client, url, "Begin.").await?;
        let prompts: Vec<String> = (0..WIDE).map(|number| format!("Number {number} of {plan}")).collect();
        let answers = futures_util::future::join_all(prompts.iter().map(|prompt| floor::ask(&client, url, prompt))).await;
        let answers = answers.into_iter().collect::<Result<Vec<String>, String>>()?;
        floor::ask(&client, url, &format!("Sum up {}: {}", answers.len(), answers.concat())).await?;
        Ok::<_, String>(answers)
    })?;
    println!("{}", answers.iter().filter(|answer| *answer == "fine").count());
    Ok(())
}

/// W5: many conversations at once, each variant a process of its own that reports itself.
fn conversations() -> Done {
    for delay in [0, 50] {
        let url = format!("http://{}/v1", mock::serve(Duration::from_millis(delay), conversation::says)?);
        for kind in ["floor", "flow", "durable"] {
            let folder = tempfile::tempdir()?;
            let output = this(&["conversation", kind, &url], folder.path())?.output()?;
            if !output.status.success() {
                return Err(format!("W5 {kind}: {output:?}").into());
            }
            print!("W5 {delay:>2} ms a call, {}", String::from_utf8_lossy(&output.stdout));
        }
    }
    Ok(())
}

/// W5 in one run: whole processes, the run in its journal.
fn conversations_in_one_run() -> Done {
    let url = format!("http://{}/v1", mock::serve(Duration::ZERO, conversation::says)?);
    let folder = tempfile::tempdir()?;
    conversation::write_as_one(folder.path(), &url)?;
    let floor = once(7, conversation::RUNS, &mut this(&["floor-conversations", &url], folder.path())?)?;
    let mut command = Command::new(FLOW);
    command.args(["run", "all.yaml", "--trust", "--quiet"]).current_dir(folder.path()).env_clear().env("KEY", "key-6f1d0c47a2b95e83");
    let flow = once(7, conversation::RUNS, &mut command)?;
    let python = in_python("conversations", &url).map(|mut command| once(7, conversation::RUNS, &mut command)).transpose()?;
    for (what, cost) in [("floor", floor), ("flow", flow)].into_iter().chain(python.map(|cost| ("python", cost))) {
        println!(
            "W5 in one run, {} calls, {what:<6} {:>7.1} ms wall, {:>6.1} us CPU a call, {:.1} x the floor",
            conversation::CALLS,
            ms(cost.wall),
            us_each(cost.cpu, conversation::CALLS),
            cost.wall.as_secs_f64() / floor.wall.as_secs_f64()
        );
    }
    Ok(())
}

/// W7: what one call of a tool costs, one after the other; what a run costs besides is taken off.
fn tool_calls() -> Done {
    let folder = tempfile::tempdir()?;
    tools::write(folder.path())?;
    let each = |make: &dyn Fn(usize) -> std::io::Result<Command>| -> Result<Cost, Box<dyn std::error::Error>> {
        let (many, few) = (once(7, CALLS, &mut make(CALLS)?)?, once(7, FEW_CALLS, &mut make(FEW_CALLS)?)?);
        Ok(Cost { wall: many.wall.saturating_sub(few.wall), cpu: many.cpu.saturating_sub(few.cpu) })
    };
    let run = |file: &'static str| {
        let folder = folder.path().to_path_buf();
        move |calls: usize| {
            let mut command = Command::new(FLOW);
            command.args(["run", file, "--trust", "--quiet", "--input"]).arg(format!("calls={calls}")).current_dir(&folder).env_clear();
            Ok(command)
        }
    };
    let by_hand = each(&|calls| this(&["floor-tools", &calls.to_string()], folder.path()))?;
    let set = each(&run("set.yaml"))?;
    let calls = CALLS - FEW_CALLS;
    for (what, cost, beside, base) in [
        ("tool that is a pipeline", each(&run("pipeline.yaml"))?, "a step that computes", set),
        ("tool of an MCP server", each(&run("server.yaml"))?, "the same lines by hand", by_hand),
    ] {
        println!(
            "W7 {what:<24} {:>7.1} us wall a call, {:>7.1} us CPU; {:.1} x and {:.1} x {beside} ({:.1} us, {:.1} us)",
            us_each(cost.wall, calls),
            us_each(cost.cpu, calls),
            cost.wall.as_secs_f64() / base.wall.as_secs_f64(),
            cost.cpu.as_secs_f64() / base.cpu.as_secs_f64(),
            us_each(base.wall, calls),
            us_each(base.cpu, calls)
        );
    }
    Ok(())
}
