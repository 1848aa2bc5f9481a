//! Nothing that a file wants of this machine and the world is given to it before somebody has agreed, whichever command would.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::golden::copy;
use crate::program::{self, Ran, ran};
use crate::reference_systems::project as shipped;
use crate::terminal;

/// It starts a program, asks hosts and reads secrets; each leaves a mark, so that a test sees whether it was done.
const WANTS: &str = "flow: 1
name: wants
description: Wants all that can be wanted.
imports: [team.yaml]
inputs: { host: { type: text, default: example.com } }
steps:
  - { id: talk, tool: helper.say, on_failure: continue }
  - { id: ask, http: \"GET http://127.0.0.1:9/x\", headers: { Authorization: \"{{ secrets.CRM_TOKEN }}\" }, on_failure: continue }
  - { id: where, http: \"GET https://{{ inputs.host }}/x\", when: false }
  - { id: below, call: sub.yaml }
outputs: { text: done }
";
const TEAM: &str = "flow: 1
secrets: { CRM_TOKEN: Token of the CRM. }
tools:
  helper: { command: sh, args: [servers/helper.sh, 'a b'], env: { MODE: \"{{ env.MODE }}\" }, connect_timeout: 1s }
  post: { smtp: mail.example:25, from: a@example.com }
";
const SUB: &str = "flow: 1
name: sub
description: Asks a model.
models: { default: { provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1' } }
agents: { writer: { instructions: You write. } }
steps: [{ id: write, agent: writer, prompt: Hello, on_failure: continue, retry: { max_attempts: 1 } }]
";
const WANTED: &str = "  starts a program: sh servers/helper.sh 'a b' with MODE='{{ env.MODE }}' (tool helper)
  connects to smtp://mail.example:25 (tool post)
  connects to http://127.0.0.1:9 (step ask, model default in pipeline sub)
  connects to an address that only a run knows: https://{{ inputs.host }}/x (step where)
  reads from the environment: CRM_TOKEN, Token of the CRM (step ask)
  reads from the environment: MODE, a variable that is not declared as a secret (tool helper)
";
const TEST: &str = "flow: 1\ntest: wants.yaml\nmocks: { helper.say: { a: 1 } }\ncases: [{ id: a, expect: { status: failed } }]\n";

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (name, text) in [
        ("flow.toml", ""),
        ("wants.yaml", WANTS),
        ("team.yaml", TEAM),
        ("sub.yaml", SUB),
        ("wants.test.yaml", TEST),
        ("servers/helper.sh", "echo started > started\n"),
    ] {
        write(name, text);
    }
    folder
}

/// What the pipeline reads from the environment.
const SET: [(&str, &str); 2] = [("MODE", "fast"), ("CRM_TOKEN", "canary-31-token")];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program::command(folder, arguments);
    command.envs(SET);
    command
}

fn flow(folder: &Path, arguments: &[&str]) -> Ran {
    ran(&mut command(folder, arguments))
}

fn at(folder: &Path, arguments: &[&str], typed: &str, variables: &[(&str, &str)]) -> (i32, String, String) {
    terminal::at(folder, arguments, typed, &[variables, &SET[..]].concat())
}

fn started(folder: &Path) -> bool {
    folder.join("started").exists()
}

/// The refusal of a file that was never trusted.
fn refusal(file: &str) -> String {
    format!(
        "{file} is not trusted yet. What it wants:\n{WANTED}nothing was started; review the file, then trust it until any of it changes:\n  flow trust {file}\nor add --trust to the command to allow it once\n"
    )
}

#[test]
fn nothing_starts_before_somebody_agreed_whichever_command_would_start_it() {
    let project = project();
    let folder = project.path();
    for call in ["run wants.yaml", "run wants.yaml -q --json", "mcp wants.yaml", "mcp wants.yaml --http 0", "tools pin", "test --live"] {
        let said = flow(folder, &call.split(' ').collect::<Vec<_>>());
        assert_eq!((said.exit, said.out.as_str(), said.err.ends_with(&refusal("wants.yaml"))), (6, "", true), "{call}: {}", said.err);
    }
    let said = flow(folder, &["doctor", "wants.yaml"]);
    assert_eq!((said.exit, said.out.contains("fault  wants.yaml is not trusted yet.")), (1, true), "{}{}", said.out, said.err);
    assert!(!said.out.contains("host 127.0.0.1:9") && !started(folder), "{}", said.out);
    assert!(!folder.join(".flow").exists(), "no run was begun");
    for call in
        ["validate", "plan wants.yaml", "graph wants.yaml", "run wants.yaml --dry-run", "test", "tools pin sub.yaml", "explain wants.yaml"]
    {
        let said = flow(folder, &call.split(' ').collect::<Vec<_>>());
        assert_ne!(said.exit, 6, "flow {call}: {}{}", said.out, said.err);
        assert!(!said.err.contains("trusted"), "flow {call}: {}", said.err);
    }
    let told = flow(folder, &["explain", "wants.yaml"]).out;
    let told = told.split_once("What a person must trust before its first run\n").unwrap().1;
    assert!(
        told.contains("- starts a program: sh servers/helper.sh 'a b' with") && told.contains("- connects to http://127.0.0.1:9"),
        "{told}"
    );
    assert!(!started(folder));
}

#[test]
fn once_is_once_and_what_was_trusted_runs_until_a_byte_of_it_changes() {
    let project = project();
    let folder = project.path();
    let once = flow(folder, &["run", "wants.yaml", "--trust"]);
    assert_eq!((once.exit, started(folder)), (0, true), "{}", once.err);
    std::fs::remove_file(folder.join("started")).unwrap();
    assert_eq!(flow(folder, &["run", "wants.yaml"]).exit, 6, "--trust is not kept");
    assert!(!started(folder) && !folder.join(".state").exists());

    let trusted = flow(folder, &["trust", "wants.yaml"]);
    assert_eq!((trusted.exit, trusted.out), (0, format!("wants.yaml wants:\n{WANTED}")), "{}", trusted.err);
    assert!(trusted.err.contains("wants.yaml is trusted until any of it changes"), "{}", trusted.err);
    let said = flow(folder, &["run", "wants.yaml"]);
    assert_eq!((said.exit, started(folder), said.err.contains("trust")), (0, true, false), "{}", said.err);
    let again = flow(folder, &["trust", "wants.yaml", "--json"]);
    let told: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(told[0]["wants"]["programs"][0]["by"][0], "tool helper");
    assert!(again.err.contains("is trusted already"), "{}", again.err);
    for (file, text) in [("wants.yaml", WANTS), ("team.yaml", TEAM), ("sub.yaml", SUB), ("servers/helper.sh", "echo started > started\n")] {
        std::fs::remove_file(folder.join("started")).unwrap();
        std::fs::write(folder.join(file), format!("{text}#")).unwrap();
        let said = flow(folder, &["run", "wants.yaml"]);
        assert_eq!((said.exit, started(folder)), (6, false), "{file}: {}", said.err);
        assert!(said.err.contains("wants.yaml is not what you trusted on 20"), "{file}: {}", said.err);
        std::fs::write(folder.join(file), text).unwrap();
        assert_eq!((flow(folder, &["run", "wants.yaml"]).exit, started(folder)), (0, true), "{file} is what it was");
    }
    // Another way to the same file, and from elsewhere.
    assert_eq!(flow(&folder.join("servers"), &["trust", "--list"]).out, "", "each test has a list of its own");
    let mut elsewhere = command(&folder.join("servers"), &["run", "../wants.yaml"]);
    let list = folder.canonicalize().unwrap().join(".state");
    assert_eq!(ran(elsewhere.env("XDG_STATE_HOME", &list)).exit, 0);

    let said = flow(folder, &["trust", "--list"]);
    let whole = folder.canonicalize().unwrap().join("wants.yaml").display().to_string();
    assert!(said.exit == 0 && said.out.ends_with(&format!("  {whole}\n")) && said.out.lines().count() == 1, "{}", said.out);
    let entries: Value = serde_json::from_str(&flow(folder, &["trust", "--list", "--json"]).out).unwrap();
    assert_eq!((entries[0]["file"].as_str(), entries[0]["sha256"].as_str().map(str::len)), (Some(whole.as_str()), Some(64)));
    assert_eq!(flow(folder, &["trust", "--remove", "wants.yaml"]).exit, 0);
    assert_eq!(flow(folder, &["trust", "--remove", "wants.yaml"]).exit, 4);
    assert_eq!(flow(folder, &["run", "wants.yaml"]).exit, 6);
}

#[test]
fn a_run_goes_on_and_a_server_serves_only_with_trust() {
    let project = project();
    let folder = project.path();
    let waits = WANTS.replace("  - { id: below", "  - { id: keep, tool: notes.write, with: { name: a.txt, text: Hi } }\n  - { id: below");
    std::fs::write(folder.join("wants.yaml"), waits).unwrap();
    std::fs::write(folder.join("team.yaml"), format!("{TEAM}  notes: {{ file: notes, allow: [write], approve: true }}\n")).unwrap();
    let paused = flow(folder, &["run", "wants.yaml", "--trust"]);
    let run = paused.err.split_whitespace().find(|word| word.starts_with("r_")).unwrap().to_string();
    assert_eq!(paused.exit, 8, "{}", paused.err);
    std::fs::remove_file(folder.join("started")).unwrap();
    assert_eq!(flow(folder, &["approve", &run, "keep"]).exit, 0, "an answer starts nothing");
    let refused = flow(folder, &["runs", "resume", &run]);
    assert_eq!((refused.exit, refused.err.contains("is not trusted yet")), (6, true), "{}", refused.err);
    assert!(!folder.join("notes/a.txt").exists() && !started(folder));
    let resumed = flow(folder, &["runs", "resume", &run, "--trust"]);
    assert_eq!((resumed.exit, folder.join("notes/a.txt").exists()), (0, true), "{}", resumed.err);
    // Standard input is at its end, so that a server that serves ends by itself.
    assert_eq!(ran(command(folder, &["mcp", "wants.yaml", "--trust"]).stdin(Stdio::null())).exit, 0);
}

#[test]
fn what_wants_nothing_is_never_asked_about_whatever_the_user_has_set() {
    let project = shipped();
    let asks = ["run", "pipelines/timesheet/pipeline.yaml", "--input", "message=Check my timesheet"];
    let said = flow(project.path(), &asks);
    assert_eq!((said.exit, said.err.contains("trust")), (0, false), "{}", said.err);
    assert!(flow(project.path(), &["trust", asks[1]]).out.contains("uses no program, host or secret"));
    // The user's own model is the user's wish; that nobody answers there is no question of trust.
    let (at_user, settings) = ("http://127.0.0.1:9/v1", project.path().join("user.toml"));
    std::fs::write(&settings, format!("[models.default]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"{at_user}\"\n")).unwrap();
    let variables =
        [("FLOW_MODEL_BASE_URL", at_user), ("FLOW_MODEL", "m"), ("FLOW_API_KEY", "k"), ("FLOW_CONFIG", settings.to_str().unwrap())];
    let said = ran(command(project.path(), &asks).envs(variables));
    assert!(!said.err.contains("trust"), "{}", said.err);
    let without = "flow: 1\nname: bare\ndescription: Has no model.\nagents: { a: { instructions: You write. } }\nsteps: [{ id: w, agent: a, prompt: Hi, retry: { max_attempts: 1 } }]\n";
    std::fs::write(project.path().join("bare.yaml"), without).unwrap();
    for variables in [&variables[..3], &variables[3..]] {
        let said = ran(command(project.path(), &["run", "bare.yaml"]).envs(variables.iter().copied()));
        assert_eq!((said.exit, said.err.contains("trust")), (6, false), "{}", said.err);
        assert!(said.err.contains("connection"), "{}", said.err);
    }
    // What the project's own settings name comes along with the project.
    std::fs::write(project.path().join("flow.toml"), std::fs::read_to_string(&settings).unwrap()).unwrap();
    let said = flow(project.path(), &["run", "bare.yaml"]);
    assert!(
        said.exit == 6 && said.err.contains("connects to http://127.0.0.1:9 (model default of the project's flow.toml)"),
        "{}",
        said.err
    );
    assert_eq!(flow(project.path(), &["trust", "bare.yaml"]).exit, 0);
    assert!(flow(project.path(), &["run", "bare.yaml"]).err.contains("connection"));
    let changed = std::fs::read_to_string(&settings).unwrap().replace(":9/", ":10/");
    std::fs::write(project.path().join("flow.toml"), changed).unwrap();
    assert!(flow(project.path(), &["run", "bare.yaml"]).err.contains("is not what you trusted on"));
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    let project = project();
    let folder = project.path();
    let run = ["run", "wants.yaml"];
    for (typed, variables) in [("no\n", &[][..]), ("\u{4}", &[]), ("yes\n", &[("CI", "1")]), ("yes\n", &[("TERM", "dumb")])] {
        let (exit, out, shown) = at(folder, &run, typed, variables);
        assert_eq!((exit, out.as_str(), started(folder)), (6, "", false), "{shown}");
        let is_asked = variables.is_empty();
        assert_eq!(shown.contains("Trust it until any of it changes? (yes/no)"), is_asked, "{shown}");
        assert_eq!(shown.contains("add --trust to the command"), !is_asked, "{shown}");
    }
    let (exit, shown) = terminal::interrupted_at(folder, &run, "(yes/no)");
    assert_eq!((exit, started(folder)), (Some(130), false), "{shown}");
    let (exit, _, shown) = at(folder, &run, "what?\ny\n", &[]);
    assert_eq!((exit, started(folder)), (0, true), "{shown}");
    let wanted = WANTED.replace('\n', "\r\n");
    assert!(shown.contains(&format!("wants.yaml is not trusted yet. What it wants:\r\n{wanted}")), "{shown}");
    assert!(shown.contains("please answer yes or no"), "{shown}");
    let (exit, _, shown) = at(folder, &run, "", &[]);
    assert_eq!((exit, shown.contains("Trust it")), (0, false), "{shown}");
    assert_eq!(flow(folder, &run).exit, 0, "nor is anybody asked elsewhere");
    std::fs::write(folder.join("servers/helper.sh"), "echo other > started\n").unwrap();
    let (exit, _, shown) = at(folder, &["trust", "wants.yaml"], "no\n", &[]);
    assert_eq!((exit, shown.contains("wants.yaml is not trusted; nothing was started")), (6, true), "{shown}");
    assert_eq!(flow(folder, &run).exit, 6);
}

#[test]
fn a_list_that_cannot_be_used_trusts_nothing_and_says_why() {
    let project = project();
    let folder = project.path();
    assert_eq!(flow(folder, &["trust", "wants.yaml"]).exit, 0);
    let list = folder.join(".state/flow/trusted");
    let entry = std::fs::read_dir(&list).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read_to_string(&entry).unwrap();
    for damage in ["", &whole[..whole.len() / 2], "{}", &whole.replace("\"flow\": 1", "\"flow\": 2")] {
        std::fs::write(&entry, damage).unwrap();
        let said = flow(folder, &["run", "wants.yaml"]);
        assert_eq!((said.exit, started(folder)), (6, false), "{damage:?}: {}", said.err);
        let told = "this entry is ignored, and you can remove it\nnothing was started; --trust allows it once";
        assert!(said.err.contains(told), "{}", said.err);
        let listed = flow(folder, &["trust", "--list"]);
        assert_eq!((listed.exit, listed.err.contains("this entry is ignored")), (6, true), "{}", listed.err);
    }
    for (name, value, told) in [
        ("XDG_STATE_HOME", "/dev/null", "cannot read /dev/null/flow/trusted"),
        // A relative place would be one that a project can bring along.
        ("XDG_STATE_HOME", ".state", "no folder to store what you trust"),
    ] {
        let said = ran(command(folder, &["run", "wants.yaml"]).env_remove("HOME").env(name, value));
        assert_eq!((said.exit, started(folder), said.err.contains(told)), (6, false, true), "{}", said.err);
        let said = ran(command(folder, &["trust", "wants.yaml"]).env_remove("HOME").env(name, value));
        assert_eq!((said.exit, said.err.contains(told)), (6, true), "{}", said.err);
    }
    std::fs::write(folder.join("file"), "in the way").unwrap();
    let full = ran(command(folder, &["trust", "wants.yaml"]).env("XDG_STATE_HOME", "/proc"));
    assert_eq!((full.exit, full.err.contains("cannot write /proc/flow/trusted/")), (6, true), "{}", full.err);
    let said = ran(command(folder, &["run", "wants.yaml", "--trust"]).env("XDG_STATE_HOME", "/dev/null"));
    assert_eq!((said.exit, started(folder)), (0, true), "{}", said.err);
}

#[test]
fn no_step_writes_the_list_the_journal_or_what_runs() {
    let folder = tempfile::tempdir().unwrap();
    copy(project().path(), folder.path());
    let folder = folder.path();
    let before = std::fs::read_to_string(folder.join("servers/helper.sh")).unwrap();
    let known_before = ["servers", ".flow", ".state/flow", ".state/flow/trusted"];
    for (inner, name, text) in [
        (".state/flow/trusted", "00ff", "{}"),
        (".state/flow", "trusted", "{}"),
        (".flow", "runs.db", "x"),
        (".flow", "cache.db", "x"),
        (".", "flow.toml", "x"),
        (".", "flow.lock", "x"),
        (".", "user.toml", "x"),
        (".", "wants.yaml", "x"),
        (".", "new.yaml", "flow: 1"),
        ("servers", "helper.sh", "x"),
    ] {
        let writes = format!(
            "flow: 1\nname: writes\ndescription: Writes a file.\nimports: [team.yaml]\ntools: {{ place: {{ file: {inner}, allow: [write] }} }}\nsteps: [{{ id: write, tool: place.write, with: {{ name: {name}, text: '{text}' }} }}]\n"
        );
        std::fs::write(folder.join("writes.yaml"), writes).unwrap();
        std::fs::write(folder.join("user.toml"), "").unwrap();
        let said = ran(command(folder, &["run", "writes.yaml", "--trust"]).env("FLOW_CONFIG", folder.join("user.toml")));
        let (exit, told) = if known_before.contains(&inner) { (1, "F616") } else { (6, "no step may write") };
        assert_eq!((said.exit, said.err.contains(told)), (exit, true), "{inner}/{name}: {}", said.err);
    }
    assert!(!folder.join(".state").exists() && !folder.join("new.yaml").exists());
    assert_eq!(std::fs::read_to_string(folder.join("servers/helper.sh")).unwrap(), before);
    let Ran { exit, err, .. } = flow(folder, &["runs", "list"]);
    assert_eq!(exit, 0, "the journal can be read: {err}");
}
