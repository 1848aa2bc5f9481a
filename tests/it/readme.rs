//! What README and the manual show runs as it is shown: pipelines, and the commands of their console blocks.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::extras::{Extra, has};
use crate::golden::copy;
use crate::reference_systems::project;
use crate::sandbox::python_in;

/// Commands of the README that are not run here, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo test", "it is what runs this"),
    ("cargo install --path .", "it builds everything once more, optimised; .ci/run does it"),
    ("cargo run --example run", "it builds the library once more; .ci/run does it, with the other examples"),
    ("cargo doc --open", "it opens a browser; .ci/run makes the pages"),
    ("mdbook build", "it is no part of the project; .ci/run installs and runs it"),
    ("bash tests/real/mcp/install.sh", "it installs what others publish; .ci/run does it"),
    ("pipelines/city_facts/pipeline.yaml", "it needs what that installs; .ci/run does it (tests/real/mcp/city_facts.sh)"),
    ("--input files=sales.csv", "it needs a real model; .ci/run asks one about files (tests/real/analyst.sh)"),
    ("flow chat pipelines/timesheet/pipeline.yaml", "a person talks with it; chat.rs does, at a terminal"),
    ("flow chat", "only its name stands there"),
    ("flow graph", "only its name stands there"),
    ("flow plan", "only its name stands there"),
];

/// Whether a command stands for itself in [`NOT_RUN`], or has a part that does.
fn is_not_run(command: &str, not_run: &str) -> bool {
    command == not_run || not_run.contains(['/', '=']) && command.contains(not_run)
}

/// Pipelines that start programs, which need Python and a sandbox.
const WITH_PROGRAMS: [&str; 2] = ["pipelines/analyst/", "pipelines/twin_review/"];

pub(crate) fn page(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The blocks of a page in one notation.
pub(crate) fn blocks<'p>(page: &'p str, notation: &str) -> Vec<&'p str> {
    let starts = page.split(&format!("```{notation}\n") as &str).skip(1).collect::<Vec<_>>();
    starts.into_iter().map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// A command of a block, and the output that is shown below it.
pub(crate) struct Shown {
    pub(crate) command: String,
    output: String,
}

pub(crate) fn commands(block: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = vec![];
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                let command = command.split("  #").next().unwrap_or_default().trim().replace("cargo run -- ", "flow ");
                found.push(Shown { command, output: String::new() });
            }
            None => found.last_mut().expect("a block begins with a command").output += &format!("{line}\n"),
        }
    }
    found
}

/// A copy of the project with some of its tests, as somebody who reads the page has it.
fn reader() -> tempfile::TempDir {
    let project = project();
    let tests = Path::new("tests/golden/timesheet");
    let (from, to) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(tests), project.path().join(tests));
    for kept in ["questions", "week_start"] {
        let goldens = Path::new("goldens").join(format!("{kept}.test"));
        copy(&from.join(&goldens), &to.join(&goldens));
        std::fs::copy(from.join(format!("{kept}.test.yaml")), to.join(format!("{kept}.test.yaml"))).unwrap();
    }
    project
}

/// A copy of the project as somebody who cloned it has it.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap().flatten() {
        let (name, to) = (entry.file_name(), folder.path().join(entry.file_name()));
        let is_made = ["target", ".git", ".real", ".flow"].iter().any(|made| name == *made);
        if entry.path().is_dir() && !is_made {
            copy(&entry.path(), &to);
        } else if entry.path().is_file() {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
    folder
}

/// Every command of a page: the lines of its blocks that are commands, and what stands in a sentence or a table.
fn all_commands(page: &str) -> Vec<String> {
    let mut found = vec![];
    let shown = |command: &str| command.split("  #").next().unwrap_or_default().trim().replace("cargo run -- ", "flow ");
    for (place, part) in page.split("```").enumerate() {
        if place % 2 == 0 {
            let spans = part.split('`').skip(1).step_by(2).filter(|span| !span.contains('\n'));
            let is_command = |span: &&str| ["flow ", "cargo ", "mdbook ", "bash "].iter().any(|program| span.starts_with(program));
            found.extend(spans.filter(is_command).map(shown));
            continue;
        }
        let (notation, lines) = part.split_once('\n').unwrap();
        match notation {
            "sh" => found.extend(lines.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()).map(shown)),
            _ => found.extend(lines.lines().filter_map(|line| line.strip_prefix("$ ")).map(shown)),
        }
    }
    found
}

/// Runs a command line in a shell that finds `flow`: exit code, standard output and standard error.
pub(crate) fn shell(folder: &Path, line: &str) -> (Option<i32>, String, String) {
    let flow = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
    let mut command = Command::new("sh");
    command.current_dir(folder).args(["-euc", &format!("PATH={}:$PATH; {line}", flow.display())]);
    for name in ["CI", "FLOW_MODEL", "FLOW_MODEL_BASE_URL", "FLOW_MODEL_PROVIDER", "FLOW_API_KEY"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs the commands of a block one after the other; what one sets holds for those below it. Gives what they print.
fn run(folder: &Path, shown: &[Shown]) -> String {
    let mut set = String::new();
    let mut printed = String::new();
    let is_run = |shown: &&Shown| NOT_RUN.iter().all(|(not_run, _)| !is_not_run(&shown.command, not_run));
    for Shown { command, output } in shown.iter().filter(is_run) {
        if command.starts_with("export ") {
            set += &format!("{command}; ");
            continue;
        }
        let (exit, out, err) = shell(folder, &format!("{set}{command}"));
        assert_eq!(exit, Some(0), "{command}\n{out}{err}");
        assert!(output.is_empty() || *output == out, "{command} prints\n{out}and the page shows\n{output}");
        printed += &out;
    }
    printed
}

#[test]
fn the_pipeline_of_the_readme_runs_and_refines_once() {
    let readme = page("README.md");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greeting.yaml"), blocks(&readme, "yaml")[0]).unwrap();
    let (exit, out, _) = shell(folder.path(), "flow validate --deny-warnings greeting.yaml");
    assert_eq!(exit, Some(0), "{out}");
    let (exit, out, err) = shell(folder.path(), "flow run greeting.yaml");
    assert_eq!((exit, out.as_str()), (Some(0), "Welcome, Ana!\n"), "{err}");
    let (_, out, _) = shell(folder.path(), "flow runs show");
    assert!(out.contains("refining"), "{out}");
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let readme = page("README.md");
    let project = checkout();
    let can_start_programs = !python_in().is_empty();
    let starts_programs = |block: &[Shown]| block.iter().any(|shown| WITH_PROGRAMS.iter().any(|pipeline| shown.command.contains(pipeline)));
    let all: Vec<Vec<Shown>> = blocks(&readme, "console").into_iter().map(commands).collect();
    let (own_model, scripted): (Vec<_>, Vec<_>) = all.into_iter().partition(|block| block.iter().any(|c| c.command.starts_with("export ")));
    assert_eq!((own_model.len(), scripted.len()), (1, 6), "every block is known here");
    let tried = scripted.iter().filter(|block| can_start_programs || !starts_programs(block));
    let printed: Vec<String> = tried.map(|block| run(project.path(), block)).collect();
    assert!(printed[0].starts_with("Hi Ana,") && printed[0].contains("hours this week"), "{}", printed[0]);
    for answer in ["\"ended\": \"agreed\"", "| East | 217343.87 | 12 | 243425.13 |"] {
        assert!(!can_start_programs || printed.iter().any(|printed| printed.contains(answer)), "{printed:?}");
    }

    let (url, seen) = model();
    let own_model = own_model
        .into_iter()
        .flatten()
        .map(|shown| Shown { command: shown.command.replace("http://127.0.0.1:8080", &url).replace('…', "key-1"), output: shown.output });
    let printed = run(project.path(), &own_model.collect::<Vec<_>>());
    assert!(printed.starts_with("Hi Ana,\n\nYou've logged "), "{printed}");
    let asked: Vec<Asked> = seen.try_iter().collect();
    assert_eq!(asked.len(), 2, "the writer and the judge");
    assert!(asked.iter().all(|asked| asked.key == "Bearer key-1" && asked.body["model"] == "my-model"), "{:?}", asked[0].key);
}

/// All that the test above does not run: a command that is added to the README runs as it stands there, or is in a list that says why not.
#[test]
fn every_command_of_the_readme_runs_in_the_project_or_is_classed() {
    let readme = page("README.md");
    let all = all_commands(&readme);
    for (not_run, _) in NOT_RUN {
        assert!(all.iter().any(|command| is_not_run(command, not_run)), "the README has no {not_run}");
    }
    let project = checkout();
    let run_above: Vec<String> = blocks(&readme, "console").into_iter().flat_map(commands).map(|shown| shown.command).collect();
    let is_left = |command: &&String| !run_above.contains(command) && NOT_RUN.iter().all(|(not_run, _)| !is_not_run(command, not_run));
    let left: BTreeSet<&String> = all.iter().filter(is_left).collect();
    assert!(left.len() > 6, "{left:?}");
    // Runs come first: what shows one of them needs it.
    let (runs, others): (Vec<&String>, Vec<&String>) = left.into_iter().partition(|command| command.starts_with("flow run "));
    // A case of the analyst runs code.
    let is_possible = has(&[Extra::Python]);
    for command in runs.into_iter().chain(others).filter(|command| is_possible || *command != "flow test") {
        let (exit, out, err) = shell(project.path(), command);
        assert_eq!(exit, Some(0), "{command}\n{out}{err}");
        let has_table = readme.lines().any(|line| line.starts_with(&format!("| `{command}` ")) && line.contains("with a table"));
        assert!(!has_table || out.contains("| --- |"), "{command}\n{out}");
    }
}

#[test]
fn the_commands_and_the_test_file_of_the_page_about_testing_run() {
    let page = page("docs/testing.md");
    let project = reader();
    let test = blocks(&page, "yaml").into_iter().find(|yaml| yaml.contains("\ntest: hours.yaml")).unwrap();
    let test = test.replace("test: hours.yaml ", "test: ../pipelines/timesheet/pipeline.yaml ");
    std::fs::write(project.path().join("tests/hours.test.yaml"), test).unwrap();
    let (exit, out, err) = shell(project.path(), "flow test --update tests/hours.test.yaml");
    assert_eq!((exit, err.as_str()), (Some(0), "2 passed, 0 failed, 2 goldens written\n"), "{out}");
    for golden in ["sms.txt", "email.md"] {
        assert!(project.path().join("tests/goldens/hours.test/hours_this_week").join(golden).exists(), "the page names {golden}");
    }
    let console = blocks(&page, "console");
    assert_eq!(console.len(), 1);
    let printed = run(project.path(), &commands(console[0]));
    assert!(printed.lines().all(|line| line.starts_with("ok ")) && printed.lines().count() > 50, "{printed}");
}

/// The two pictures of the README: what `flow` prints today. `FLOW_UPDATE_PICTURES=1` writes them.
#[test]
fn the_pictures_of_the_readme_are_what_the_program_makes() {
    let project = reader();
    let pipeline = project.path().join("pipelines/timesheet/pipeline.yaml");
    let made = |line: &str, code| {
        let (exit, out, err) = shell(project.path(), line);
        assert_eq!(exit, Some(code), "{line}\n{err}");
        out
    };
    let graph = made("flow graph pipelines/timesheet/pipeline.yaml --format svg", 0);
    let text = std::fs::read_to_string(&pipeline).unwrap();
    let broken = text.replacen("route: steps.plan.output.period", "route: steps.plan.output.periode", 1);
    assert_ne!(broken, text);
    std::fs::write(&pipeline, broken).unwrap();
    let command = "flow validate pipelines/timesheet/pipeline.yaml";
    let finding = format!("$ {command}\n{}", made(&format!("{command} --color always"), 1).trim_end());
    let finding = anstyle_svg::Term::new().render_svg(&finding);
    for (name, picture) in [("timesheet.svg", graph), ("finding.svg", finding)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
        if std::env::var_os("FLOW_UPDATE_PICTURES").is_some() {
            std::fs::write(&path, &picture).unwrap();
        }
        assert!(std::fs::read_to_string(&path).is_ok_and(|kept| kept == picture), "docs/{name} is old: FLOW_UPDATE_PICTURES=1 writes it");
        assert!(page("README.md").contains(&format!("](docs/{name})")), "README shows docs/{name}");
    }
}

#[test]
fn a_question_is_added_as_the_page_says() {
    let page = page("docs/add_a_question.md");
    let project = reader();
    let (case, test) = (blocks(&page, "yaml")[0], blocks(&page, "yaml")[1]);
    let console: Vec<Vec<Shown>> = blocks(&page, "console").into_iter().map(commands).collect();
    let pipeline = project.path().join("pipelines/timesheet/pipeline.yaml");
    let asked = |way: &str| {
        let (exit, out, err) = shell(project.path(), &console[1][0].command);
        assert!(exit == Some(0) && out.starts_with("Hi Ana,") && err.contains(way), "{out}{err}");
    };
    asked("plan: otherwise");
    let text = std::fs::read_to_string(&pipeline).unwrap();
    let (before, after) = text.split_once("    otherwise:\n      agent: planner").unwrap();
    std::fs::write(&pipeline, format!("{before}{case}\n    otherwise:\n      agent: planner{after}")).unwrap();
    run(project.path(), &console[0]);
    asked("plan: last_week");
    std::fs::write(project.path().join("tests/golden/timesheet/last_week.test.yaml"), test).unwrap();
    let (update, rest) = console[2].split_first().unwrap();
    let (exit, out, err) = shell(project.path(), &update.command);
    assert_eq!(exit, Some(0), "{out}{err}");
    let shown: Vec<Shown> = rest.iter().map(|shown| Shown { command: shown.command.clone(), output: shown.output.clone() }).collect();
    assert!(run(project.path(), &shown).contains("ok   tests/golden/timesheet/last_week.test.yaml/last_week/sms"));
    // The mistake that the page speaks of.
    std::fs::write(&pipeline, format!("{before}{}\n    otherwise:\n      agent: planner{after}", case.replace("phrases:", "phrase:")))
        .unwrap();
    let (exit, out, _) = shell(project.path(), &console[0][0].command);
    assert!(exit == Some(1) && out.contains("unknown key \"phrase\"") && out.contains("phrases"), "{out}");
}

#[test]
fn the_batch_job_of_the_manual_is_the_shipped_one_and_posts_each_ticket() {
    let page = page("docs/batch_job.md");
    let project = reader();
    for folder in ["pipelines/examples/tickets", "tests/golden/tickets"] {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &project.path().join(folder));
    }
    let shipped = std::fs::read_to_string(project.path().join("pipelines/examples/tickets/pipeline.yaml")).unwrap();
    for line in blocks(&page, "yaml")[0].lines() {
        let shown = line.split("  #").next().unwrap_or(line).trim_end();
        assert!(shipped.lines().any(|line| line.starts_with(shown)), "the shipped file has no line {shown}");
    }
    run(project.path(), &commands(blocks(&page, "console")[0]));
    let (url, seen) = model();
    let job = format!("HELPDESK_URL={url} flow run pipelines/examples/tickets/pipeline.yaml --trust");
    let (exit, out, err) = shell(project.path(), &job);
    assert_eq!(exit, Some(0), "{out}{err}");
    let outputs: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(outputs, json!({ "tickets": 3, "sorted": 3, "reported": 3 }));
    let teams: Vec<Value> = seen.try_iter().map(|asked| asked.body["team"].clone()).collect();
    assert!(teams.len() == 3 && ["billing", "technical", "sales"].iter().all(|team| teams.contains(&json!(team))), "{teams:?}");
}

/// What a model was asked.
struct Asked {
    key: String,
    body: Value,
}

/// A model on this machine: it says what the data in its prompt say, and judges that all is well. It is a webhook, too.
fn model() -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || answer(stream, &sender));
        }
    });
    (url, seen)
}

/// Answers the requests of one connection, one after the other.
fn answer(stream: TcpStream, seen: &Sender<Asked>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut key) = (0, String::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some((name, value)) = line.split_once(':') else {
                if line.trim().is_empty() {
                    break;
                }
                continue;
            };
            match name.to_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => key = value.trim().to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let prompt = body["messages"].as_array().map(|messages| messages.last().unwrap()["content"].as_str().unwrap());
        let said = match prompt {
            Some(prompt) if prompt.contains("Criteria:") => verdicts(prompt),
            Some(prompt) => reply(prompt),
            None => "taken".to_owned(),
        };
        let message = json!({ "choices": [{ "message": { "role": "assistant", "content": said }, "finish_reason": "stop" }] }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", message.len());
        if seen.send(Asked { key, body }).is_err() || reader.get_mut().write_all((head + &message).as_bytes()).is_err() {
            return;
        }
    }
}

fn verdicts(prompt: &str) -> String {
    let criteria = prompt.split("Criteria:\n").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let criteria: Vec<Value> = serde_json::from_str(criteria).unwrap();
    let passed = |criterion: &Value| json!({ "id": criterion["id"], "passed": true, "feedback": "", "evidence": "" });
    let verdicts: Vec<Value> = criteria.iter().map(passed).collect();
    json!({ "verdicts": verdicts }).to_string()
}

fn reply(prompt: &str) -> String {
    let data = prompt.split("Data: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    format!("You've logged {} of {} hours this week.", data["logged"], data["target"])
}
