//! W8: what a turn of a chat costs beside the same model call in one run, and in a conversation of 1,000 messages beside one of 10.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::UsageWho::RUSAGE_CHILDREN;

use crate::measure::{Cost, cost_of, median, ms};
use crate::{Done, FLOW, mock};

/// Turns of a chat, and those of one whose start is taken off.
const TURNS: usize = 110;
const FEW_TURNS: usize = 10;
/// How often each is measured.
const TIMES: usize = 5;

/// The messages of a short and of a long conversation.
const LENGTHS: [usize; 2] = [10, 1_000];

/// Prints the cost of a turn.
///
/// # Errors
/// Something could not be started, or an answer was wrong.
pub fn turns() -> Done {
    let url = format!("http://{}/v1", mock::serve(Duration::ZERO, |_| "fine".to_owned())?);
    let folder = tempfile::tempdir()?;
    let model = format!("models: {{ default: {{ provider: openai, model: m, base_url: \"{url}\" }} }}\n");
    let agents = "agents: { writer: { instructions: You write one word. } }\n";
    let calls = "inputs: { calls: integer }\nsteps:\n  - { id: each, for_each: range(inputs.calls), max_parallel: 1, agent: writer, prompt: Go on. }\n\
                 outputs: { count: \"{{ steps.each.output | length }}\" }\n";
    // What a model sees of each conversation is the same, so only its length differs.
    let talk = "inputs: { who: text, message: text }\nconversation: { id: \"{{ inputs.who }}\", message: inputs.message, keep: 10 }\nsteps:\n  \
                - { id: say, agent: writer, prompt: \"{{ inputs.message }}\", history: true }\noutputs: { reply: \"{{ steps.say.output }}\" }\n";
    for (name, text) in [
        ("flow.toml", String::new()),
        ("agents.yaml", format!("flow: 1\n{model}{agents}")),
        ("calls.yaml", format!("flow: 1\nname: calls\n{model}{agents}{calls}")),
        ("talk.yaml", format!("flow: 1\nname: talk\n{model}{agents}{talk}")),
    ] {
        std::fs::write(folder.path().join(name), text)?;
    }
    let begun = LENGTHS.map(|length| begun(folder.path(), length));
    let call = each(&|calls| run_of(folder.path(), &["run", "calls.yaml", "--input", &format!("calls={calls}")], 0, &calls.to_string()))?;
    tell("a model call in one run", call, None);
    // A message with the newest 2 is the same call with no more to send.
    let alone = |most: &'static str| {
        let folder = folder.path().to_path_buf();
        move |turns: usize| run_of(&folder, &["chat", "agents.yaml", "--no-tty", "--max-messages", most], turns, &answers(turns))
    };
    tell("a turn of a chat with an agent", each(&alone("2"))?, Some(("the call", call)));
    tell("the same, 50 earlier messages sent", each(&alone("50"))?, Some(("the call", call)));
    let mut shorter = None;
    for (length, begun) in LENGTHS.into_iter().zip(begun) {
        let begun = begun?;
        let cost = each(&|turns| {
            let again = copied(begun.path())?;
            run_of(again.path(), &["chat", "talk.yaml", "--no-tty", "--input", "who=maria"], turns, &answers(turns))
        })?;
        tell(&format!("a turn after {length} messages"), cost, shorter.map(|shorter| ("the short one", shorter)));
        shorter = Some(cost);
    }
    Ok(())
}

fn answers(turns: usize) -> String {
    vec!["fine"; turns].join("\n")
}

fn each(cost: &dyn Fn(usize) -> Done<Cost>) -> Done<Cost> {
    each_of(TURNS, FEW_TURNS, cost)
}

/// What one of many costs, without the start of the process: the difference between many and few of them.
///
/// # Errors
/// The work failed.
pub fn each_of(many: usize, few: usize, cost: &dyn Fn(usize) -> Done<Cost>) -> Done<Cost> {
    let mut wrong = None;
    let all = median(TIMES, || {
        let one = cost(many).and_then(|many| Ok((many, cost(few)?)));
        match one {
            Ok((many, few)) => Cost { wall: many.wall.saturating_sub(few.wall), cpu: many.cpu.saturating_sub(few.cpu) },
            Err(error) => {
                wrong = Some(error);
                Cost::default()
            }
        }
    });
    let turns = (many - few) as u32;
    wrong.map_or(Ok(Cost { wall: all.wall / turns, cpu: all.cpu / turns }), Err)
}

/// One process, with so many messages on its standard input; it must print this.
fn run_of(folder: &Path, words: &[&str], messages: usize, prints: &str) -> Done<Cost> {
    let (output, cost) = cost_of(RUSAGE_CHILDREN, || {
        let mut command = Command::new(FLOW);
        command.args(words).args(["--trust", "--quiet"]).current_dir(folder).env_clear();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all("Go on.\n".repeat(messages).as_bytes())?;
        }
        child.wait_with_output()
    });
    let output = output?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.trim() == prints { Ok(cost) } else { Err(format!("{words:?}: {output:?}").into()) }
}

/// A project whose conversation has so many messages.
fn begun(folder: &Path, length: usize) -> Done<tempfile::TempDir> {
    let new = copied(folder)?;
    let lines: String = (0..length)
        .map(|number| {
            let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
            format!("{{\"role\": \"{role}\", \"text\": \"Message {number}, as long as people write them.\"}}\n")
        })
        .collect();
    std::fs::write(new.path().join("earlier.jsonl"), lines)?;
    let output = Command::new(FLOW)
        .args(["conversations", "add", "maria", "earlier.jsonl", "--quiet"])
        .current_dir(new.path())
        .env_clear()
        .output()?;
    if output.status.success() { Ok(new) } else { Err(format!("the conversation was not made: {output:?}").into()) }
}

/// A folder with the same files, and those of its `.flow`.
fn copied(from: &Path) -> Done<tempfile::TempDir> {
    let new = tempfile::tempdir()?;
    std::fs::create_dir(new.path().join(".flow"))?;
    for inside in ["", ".flow"] {
        let Ok(entries) = std::fs::read_dir(from.join(inside)) else { continue };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), new.path().join(inside).join(entry.file_name()))?;
            }
        }
    }
    Ok(new)
}

fn tell(what: &str, cost: Cost, beside: Option<(&str, Cost)>) {
    let beside = beside.map_or(String::new(), |(name, other)| {
        let more = ms(cost.cpu) - ms(other.cpu);
        format!("; {more:.2} ms CPU more than {name}, {:.2} x", cost.cpu.as_secs_f64() / other.cpu.as_secs_f64())
    });
    println!("W8 {what:<38} {:>6.2} ms wall, {:>6.2} ms CPU{beside}", ms(cost.wall), ms(cost.cpu));
}
