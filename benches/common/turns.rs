//! W12: what a turn of a dialogue costs beside the bare call of its model, and an agent program in a sandbox beside a bare start of the same program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::UsageWho::RUSAGE_CHILDREN;

use crate::chat::each_of;
use crate::measure::{Cost, cost_of, ms};
use crate::{Done, FLOW, floor, mock, this};

/// Turns of a dialogue, at most so many as it may have, and of one whose start is taken off.
const TURNS: usize = 100;
const FEW_TURNS: usize = 10;
/// Calls of a program, and those of a run whose start is taken off.
const CALLS: usize = 45;
const FEW_CALLS: usize = 5;

/// Prints the cost of a turn, and of a call of an agent program.
///
/// # Errors
/// Something could not be started, or an answer was wrong.
pub fn all() -> Done {
    dialogue()?;
    for (name, program) in [("cat", "[/bin/cat]"), ("python3", "[/usr/bin/python3, -I, -c, 'import sys; print(sys.stdin.read())']")] {
        programs(name, program)?;
    }
    Ok(())
}

fn dialogue() -> Done {
    // Each turn says something new, or the dialogue would end.
    let says = |body: &str| body.rsplit_once("This is turn ").map_or("fine".to_owned(), |(_, rest)| rest.chars().take(3).collect());
    let url = format!("http://{}/v1", mock::serve(Duration::ZERO, says)?);
    let folder = tempfile::tempdir()?;
    let head = format!(
        "models: {{ default: {{ provider: openai, model: m, base_url: \"{url}\" }} }}\nagents: {{ one: {{ instructions: You talk. }}, two: {{ instructions: You talk. }} }}\n"
    );
    for turns in [TURNS, FEW_TURNS] {
        let text = format!(
            "flow: 1\nname: talk\n{head}steps: [{{ id: talk, dialogue: [one, two], topic: Go on., max_turns: {turns} }}]\n\
             outputs: {{ count: \"{{{{ steps.talk.output.turns | length }}}}\" }}\n"
        );
        std::fs::write(folder.path().join(format!("{turns}.yaml")), text)?;
    }
    let calls = "inputs: { calls: integer }\nsteps:\n  - { id: each, for_each: range(inputs.calls), max_parallel: 1, agent: one, prompt: Go on. }\n\
                 outputs: { count: \"{{ steps.each.output | length }}\" }\n";
    let head = head.replace(", two: { instructions: You talk. }", "");
    std::fs::write(folder.path().join("calls.yaml"), format!("flow: 1\nname: calls\n{head}{calls}"))?;
    let bare =
        each_of(TURNS, FEW_TURNS, &|turns| ran(this(&["floor-turns", &url, &turns.to_string()], folder.path())?, &turns.to_string()))?;
    tell("the bare call, by hand", bare, None);
    let call = each_of(TURNS, FEW_TURNS, &|calls| {
        ran(flow(folder.path(), &["run", "calls.yaml", "--input", &format!("calls={calls}")]), &calls.to_string())
    })?;
    tell("a call in a list, one after the other", call, Some(bare));
    let turn = each_of(TURNS, FEW_TURNS, &|turns| ran(flow(folder.path(), &["run", &format!("{turns}.yaml")]), &turns.to_string()))?;
    tell("a turn of a dialogue", turn, Some(bare));
    Ok(())
}

/// The floor of a dialogue: so many calls, one after the other.
///
/// # Errors
/// A call failed.
pub fn by_hand(url: &str, turns: usize) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = floor::client()?;
    for turn in 0..turns {
        runtime.block_on(floor::ask(&client, url, &format!("This is turn {turn} of {turns}.")))?;
    }
    println!("{turns}");
    Ok(())
}

fn programs(name: &str, program: &str) -> Done {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("repo"))?;
    let text = format!(
        "flow: 1\nname: calls\ninputs: {{ calls: integer }}\nmodels: {{ default: {{ provider: cli, program: {program}, folder: repo }} }}\n\
         agents: {{ one: {{ instructions: You talk. }} }}\nsteps:\n  - {{ id: each, for_each: range(inputs.calls), max_parallel: 1, agent: one, prompt: Go on. }}\n\
         outputs: {{ count: \"{{{{ steps.each.output | length }}}}\" }}\n"
    );
    std::fs::write(folder.path().join("calls.yaml"), text)?;
    let words: Vec<String> = program.trim_matches(['[', ']']).splitn(4, ", ").map(|word| word.trim_matches('\'').to_owned()).collect();
    let bare = each_of(CALLS, FEW_CALLS, &|calls| {
        let (wrong, cost) = cost_of(RUSAGE_CHILDREN, || (0..calls).find_map(|_| started(&words).err()));
        wrong.map_or(Ok(cost), Err)
    })?;
    tell(&format!("{name}, a bare start"), bare, None);
    for kind in ["landlock", "bubblewrap"] {
        let call = each_of(CALLS, FEW_CALLS, &|calls| {
            let mut run = flow(folder.path(), &["run", "calls.yaml", "--input", &format!("calls={calls}")]);
            run.env("FLOW_SANDBOX", kind).env("PATH", "/usr/bin:/bin");
            ran(run, &calls.to_string())
        })?;
        tell(&format!("{name}, an agent program, {kind}"), call, Some(bare));
    }
    Ok(())
}

fn started(words: &[String]) -> Done {
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let mut child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(b"You talk.\n\nGo on.")?;
    let output = child.wait_with_output()?;
    if output.stdout.starts_with(b"You talk.") { Ok(()) } else { Err(format!("{output:?}").into()) }
}

fn flow(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(FLOW);
    command.args(words).args(["--trust", "--quiet"]).current_dir(folder).env_clear();
    command
}

/// One process, which must print this.
fn ran(mut command: Command, prints: &str) -> Done<Cost> {
    let (output, cost) = cost_of(RUSAGE_CHILDREN, || command.output());
    let output = output?;
    let is_right = output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == prints;
    if is_right { Ok(cost) } else { Err(format!("{command:?}: {output:?}").into()) }
}

fn tell(what: &str, cost: Cost, beside: Option<Cost>) {
    let beside = beside.map_or(String::new(), |bare| {
        let more = |figure: fn(&Cost) -> Duration| {
            (ms(figure(&cost)) - ms(figure(&bare)), figure(&cost).as_secs_f64() / figure(&bare).as_secs_f64())
        };
        let ((wall, times), (cpu, cpu_times)) = (more(|cost| cost.wall), more(|cost| cost.cpu));
        format!("; {wall:.2} ms wall more, {times:.1} x; {cpu:.2} ms CPU more, {cpu_times:.1} x")
    });
    println!("W12 {what:<38} {:>6.2} ms wall, {:>6.2} ms CPU{beside}", ms(cost.wall), ms(cost.cpu));
}
