//! `flow doctor`: what is not here is found before a run, and each setting has an origin.

use std::path::Path;

use flow_adapters::sandbox::SandboxKind;
use serde_json::Value;

use crate::extras::{Extra, has};
use crate::program::{Ran, command, ran};
use crate::sandbox::{has_sandbox, python_in, sandboxes};

const PIPELINE: &str = "flow: 1
name: asks
description: Asks a host.
secrets: { CRM_TOKEN: Token of the CRM }
data:
  people: { file: people.csv }
models:
  default: { provider: scripted, replies: replies.yaml }
agents:
  writer: { instructions: You write. }
steps:
  - { id: ask, http: \"GET http://127.0.0.1:PORT/x/{{ run.today }}\", headers: { Authorization: \"{{ secrets.CRM_TOKEN }}\" } }
  - { id: rows, sql: select * from people }
  - { id: compose, agent: writer, prompt: \"Say {{ steps.ask.output.status }} {{ steps.rows.output }}\" }
outputs: { text: \"{{ steps.compose.output }}\" }
";

fn doctor(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = command(folder, &[&["doctor", "--trust"], arguments].concat());
    let own = folder.join("user.toml");
    command.env("FLOW_CONFIG", if own.exists() { own.as_os_str() } else { "".as_ref() }).env_remove("CRM_TOKEN");
    let Ran { exit, out, err } = ran(command.envs(variables.iter().copied()));
    (exit, out, err)
}

#[test]
fn what_a_pipeline_needs_and_is_not_here_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::fs::write(folder.path().join("p.yaml"), PIPELINE.replace("PORT", &port.to_string())).unwrap();
    std::fs::write(folder.path().join("replies.yaml"), "flow: 1\nreplies: { compose: Hello. }\n").unwrap();
    let (exit, out, told) = doctor(folder.path(), &[], &[]);
    assert_eq!((exit, told.as_str()), (1, "2 to fix\n"), "{out}");
    for part in [
        "fault  secret CRM_TOKEN is not set (Token of the CRM)",
        "people.csv",
        &format!("ok     host 127.0.0.1:{port} answers"),
        "note   model default: scripted",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    std::fs::write(folder.path().join("people.csv"), "id\np1\n").unwrap();
    let (exit, out, told) = doctor(folder.path(), &["p.yaml"], &[("CRM_TOKEN", "canary-77")]);
    assert_eq!((exit, told.as_str()), (0, "all is well\n"), "{out}");
    assert!(!out.contains("canary"), "{out}");
    drop(listener);
    for blank in ["", " \t"] {
        let (_, out, _) = doctor(folder.path(), &["p.yaml"], &[("CRM_TOKEN", blank)]);
        assert!(out.contains("fault  secret CRM_TOKEN is not set (Token of the CRM)"), "{out}");
        let run = ran(command(folder.path(), &["run", "--trust", "p.yaml"]).env("CRM_TOKEN", blank));
        assert!(run.err.contains("secret CRM_TOKEN is not set (Token of the CRM), and is read by step ask"), "{}", run.err);
    }
    std::fs::create_dir_all(folder.path().join(".flow")).unwrap();
    std::fs::write(folder.path().join(".flow/runs.db"), "this is no database, and long enough to be looked at as one".repeat(20)).unwrap();
    std::fs::write(folder.path().join("user.toml"), "[polcy]\n").unwrap();
    let (exit, out, _) = doctor(folder.path(), &["--json"], &[("CRM_TOKEN", "x")]);
    let signs: Vec<Value> = serde_json::from_str(&out).unwrap();
    let faults: Vec<&str> = signs.iter().filter(|s| s["is"] == "fault").filter_map(|s| s["what"].as_str()).collect();
    assert_eq!((exit, faults.len()), (1, 3), "{faults:?}");
    assert!(faults[0].contains("user.toml:1:2") && faults[1].starts_with("runs: ") && faults[2].contains("refused"), "{faults:?}");
    assert_eq!(doctor(folder.path(), &["nowhere"], &[]).0, 4);
}

#[test]
fn each_setting_has_an_origin_and_keys_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("flow.toml"),
        "[models.default]\nprovider = \"ollama\"\nmodel = \"m\"\n[limits]\nmax_tokens = 5\n[lint]\ndeny = [\"F204\"]\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("user.toml"), "private_hosts = [\"llm.office\"]\n[limits]\nmax_tokens = 7\n").unwrap();
    let (exit, out, _) = doctor(folder.path(), &["--config"], &[("FLOW_MODEL", "big"), ("FLOW_API_KEY", "canary-12345")]);
    assert_eq!(exit, 0);
    for part in [
        "FLOW_MODEL = big  (variable)",
        "FLOW_API_KEY = ***  (variable)",
        "models.default = m (not used",
        "limits.max_tokens = 5  (",
        "limits.max_tokens = 7  (",
        "private_hosts = llm.office  (",
        "lint.deny = F204  (",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn the_key_of_the_journal_has_its_origin_and_the_file_that_it_replaces_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("user.toml"), "[journal]\nkey_file = \"k\"\n").unwrap();
    let (_, out, told) = doctor(folder.path(), &["--config"], &[]);
    assert!(out.contains("journal.key_file = k  ("), "{out}{told}");
    let (_, out, told) = doctor(folder.path(), &["--config"], &[("FLOW_JOURNAL_KEY", "canary-12345"), ("FLOW_MCP_TOKEN", "canary-67890")]);
    assert!(out.contains("FLOW_JOURNAL_KEY = ***  (variable)") && out.contains("FLOW_MCP_TOKEN = ***"), "{out}{told}");
    assert!(out.contains("journal.key_file = k (not used: FLOW_JOURNAL_KEY is set)") && !out.contains("canary"), "{out}{told}");
}

#[test]
fn servers_may_stand_where_the_variables_put_the_model_as_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = "flow: 1\nname: asks\ndescription: Asks a server.\ntools: { crm: { url: \"http://llm.invalid/mcp\", allow: [find] } }\n\
        steps: [{ id: a, tool: crm.find }]\noutputs: { a: \"{{ steps.a.output }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), text).unwrap();
    let variables = [("FLOW_MODEL", "m"), ("FLOW_MODEL_BASE_URL", "http://llm.invalid/v1")];
    let pinned = ran(command(folder.path(), &["tools", "pin", "--trust", "p.yaml"]).envs(variables));
    let (_, out, _) = doctor(folder.path(), &["p.yaml"], &variables);
    for shown in [pinned.err, out] {
        assert!(shown.contains("crm") && !shown.contains("must begin with https"), "{shown}");
    }
}

/// A program behind a version manager in a home: a shim that starts what lies in another folder there.
fn home_with_a_shim(home: &Path) {
    for (name, text) in [
        (".manager/shims/told", "#!/bin/sh\nexec \"${0%/shims/*}/versions/1.2/told\" \"$@\"\n"),
        (".manager/versions/1.2/told", "#!/bin/sh\necho told 1.2; cat \"${0%/*}\"/* \"${0%/versions/*}/credentials\" 2>&1; true\n"),
        (".manager/credentials", "canary-of-the-manager\n"),
        (".ssh/id", "canary-of-ssh\n"),
    ] {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_program_behind_a_version_manager_starts_once_its_folder_is_readable() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    home_with_a_shim(&home);
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "flow: 1\nname: p\nsteps: [{ id: a, program: [told], reads_only: true }]\noutputs: '{{ steps.a.output }}'\n";
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    let settings = folder.path().join("user.toml");
    let path = format!("{}:/usr/bin:/bin", home.join(".manager/shims").display());
    let call = |kind: &str, arguments: &[&str]| {
        let mut command = command(folder.path(), arguments);
        command.env("HOME", &home).env("PATH", &path).env("FLOW_SANDBOX", kind);
        ran(command.env("FLOW_CONFIG", if settings.exists() { settings.as_os_str() } else { "".as_ref() }))
    };
    let hint = "write readable = [\"~/.manager\"] under [sandbox] in your own settings";
    for kind in sandboxes().into_iter().map(SandboxKind::name) {
        let _ = std::fs::remove_file(&settings);
        let doctor = call(kind, &["doctor", "--trust", "p.yaml"]);
        assert_eq!(doctor.exit, 1, "{}", doctor.out);
        assert!(doctor.out.contains("fault  program told does not start in the sandbox") && doctor.out.contains(hint), "{}", doctor.out);
        let run = call(kind, &["run", "--trust", "p.yaml"]);
        assert!(run.err.contains("the program \"told\"") && run.err.contains(hint), "{}", run.err);
        std::fs::write(&settings, "[sandbox]\nreadable = [\"~/.manager\", \"~/none\"]\n").unwrap();
        let doctor = call(kind, &["doctor", "--trust", "p.yaml"]);
        assert_eq!(doctor.exit, 0, "{}", doctor.out);
        for part in [
            "ok     program told starts in the sandbox (step a): told 1.2",
            "ok     programs in the sandbox may read ~/.manager (",
            "note   programs in the sandbox cannot read ~/none",
        ] {
            assert!(doctor.out.contains(part), "{part}: {}", doctor.out);
        }
        let run = call(kind, &["run", "--trust", "p.yaml"]);
        assert!(run.exit == 0 && run.out.starts_with("told 1.2\n") && !run.out.contains("canary"), "{}{}", run.out, run.err);
    }
    if !has_sandbox("landlock") {
        return;
    }
    // What a link puts in the place of the folder is looked at, too.
    std::os::unix::fs::symlink(home.join(".ssh"), home.join("tools")).unwrap();
    std::fs::write(&settings, "[sandbox]\nreadable = [\"~/tools\"]\n").unwrap();
    let doctor = call("landlock", &["doctor", "--trust", "p.yaml"]);
    let told = "cannot read ~/tools, which your settings name: it leads to";
    assert!(doctor.out.contains(told), "{}", doctor.out);
    let run = call("landlock", &["run", "--trust", "p.yaml"]);
    assert_eq!(run.err.matches(told).count(), 1, "{}", run.err);
    std::fs::write(
        &settings,
        "[sandbox]\nreadable = [\"~\", \"~/.ssh\", \"~/.local/share\", \"/etc\", \"tools\", \"~/a/.env\", \"~/.config/gh\"]\n",
    )
    .unwrap();
    let refused = call("landlock", &["run", "--trust", "p.yaml"]);
    assert_eq!((refused.exit, refused.err.matches("cannot be made readable for programs").count()), (1, 7), "{}", refused.err);
    let origins = {
        std::fs::write(&settings, "[sandbox]\nreadable = [\"~/.manager\"]\n").unwrap();
        call("landlock", &["doctor", "--config"])
    };
    assert!(origins.out.contains("sandbox.readable = ~/.manager  ("), "{}", origins.out);
    std::fs::write(folder.path().join("flow.toml"), "[sandbox]\nreadable = [\"~/.manager\"]\n").unwrap();
    let of_project = call("landlock", &["run", "--trust", "p.yaml"]);
    assert!(of_project.exit == 1 && of_project.err.contains("unknown key \"sandbox\""), "{}", of_project.err);
}

#[test]
fn an_agent_program_that_does_not_tell_its_version_is_a_fault_and_the_folder_that_it_misses_is_named() {
    if !has(&[Extra::Python]) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    // As launchers of packages do: the cause comes first, then much else.
    let shim = "#!/bin/sh\nreal=\"${0%/bin/*}/lib/real\"\n\"$real\" \"$@\" 2>/dev/null && exit 0\necho \"Error: spawn $real EACCES\" >&2\n\
                for n in $(seq 99); do echo \"    at line $n of the launcher\" >&2; done\nexit 1\n";
    let real = "#!/bin/sh\n[ \"$1\" = --version ] && echo real 2.0 || echo Fine.\n";
    for (name, text) in [(".manager/bin/launched", shim), (".manager/lib/real", real)] {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let pipeline = |program: &str| {
        let model = format!("models: {{ default: {{ provider: cli, program: [{program}], retry: {{ max_attempts: 1 }} }} }}");
        let steps = "agents: { a: { instructions: Help. } }\nsteps: [{ id: ask, agent: a, prompt: Hi }]\noutputs: '{{ steps.ask.output }}'";
        std::fs::write(folder.path().join("p.yaml"), format!("flow: 1\nname: p\n{model}\n{steps}\n")).unwrap();
    };
    let settings = folder.path().join("user.toml");
    let path = format!("{}:/usr/bin:/bin", home.join(".manager/bin").display());
    let call = |kind: &str, arguments: &[&str]| {
        let mut command = command(folder.path(), arguments);
        command.env("HOME", &home).env("PATH", &path).env("FLOW_SANDBOX", kind);
        ran(command.env("FLOW_CONFIG", if settings.exists() { settings.as_os_str() } else { "".as_ref() }))
    };
    let hint = "write readable = [\"~/.manager\"] under [sandbox] in your own settings";
    for kind in ["bubblewrap", "landlock"] {
        pipeline("launched");
        let _ = std::fs::remove_file(&settings);
        let doctor = call(kind, &["doctor", "--trust", "p.yaml"]);
        assert!(
            doctor.exit == 1 && doctor.out.contains("fault  agent program launched failed") && doctor.out.contains(hint),
            "{}",
            doctor.out
        );
        let run = call(kind, &["run", "--trust", "p.yaml"]);
        assert!(run.exit == 6 && run.err.contains("lib/real EACCES") && run.err.contains(hint), "{}", run.err);
        std::fs::write(&settings, "[sandbox]\nreadable = [\"~/.manager\"]\n").unwrap();
        let doctor = call(kind, &["doctor", "--trust", "p.yaml"]);
        assert!(doctor.exit == 0 && doctor.out.contains("UTC): real 2.0"), "{}", doctor.out);
        let run = call(kind, &["run", "--trust", "p.yaml"]);
        assert_eq!((run.exit, run.out.trim()), (0, "Fine."), "{}", run.err);
        // Whatever else its exit code means, it does not work.
        pipeline("/usr/bin/false");
        let doctor = call(kind, &["doctor", "--trust", "p.yaml"]);
        let told = "fault  agent program /usr/bin/false failed (model default; looked at";
        assert!(doctor.exit == 1 && doctor.out.contains(told) && doctor.out.contains("--version ended with exit code 1"), "{}", doctor.out);
    }
}

#[test]
fn programs_code_and_variables_are_looked_at_before_a_run() {
    if python_in().is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "flow: 1
name: p
secrets: { TOKEN: A token. }
tools:
  lint: { description: Lints., program: [no-such-linter, x], reads_only: true }
steps:
  - { id: there, program: [sh, -c, 'echo $A $B'], env: { A: '{{ secrets.TOKEN }}', B: '{{ env.OTHER_NAME }}' }, reads_only: true }
  - { id: guarded, program: [sh, -c, 'echo $A'], env: { A: '{{ env.THIRD_NAME | default(1) }}' }, reads_only: true }
  - { id: data, program: [/etc/passwd], reads_only: true, on_failure: continue }
  - { id: script, program: [sh, scripts/none.sh], reads_only: true }
  - { id: plain, python: 'x = 1', returns: x }
  - { id: pip, python: { code: 'x = 1', requires: [no-such-package-anywhere] }, returns: x }
  - { id: venv, python: { code: 'x = 1', venv: .venv }, returns: x }
  - { id: use, tool: lint }
outputs: '{{ steps.there.output }}'
";
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    let (exit, out, _) = doctor(folder.path(), &["p.yaml"], &[]);
    assert_eq!(exit, 1);
    for part in [
        "fault  secret TOKEN is not set",
        "fault  variable OTHER_NAME is not set, and is read by step there",
        "fault  program no-such-linter was not found in PATH (tool lint)",
        "ok     program sh starts in the sandbox (step guarded, step script, step there)",
        "fault  program /etc/passwd is not executable (chmod +x makes a script so) (step data)",
        "fault  the script scripts/none.sh of step script does not exist",
        "starts in the sandbox (step plain)",
        "`no-such-package-anywhere` is not installed",
        "fault  there is no virtual environment in",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("THIRD_NAME"), "{out}");
    // Nothing of a file that nobody trusts is started.
    let untrusted = ran(&mut command(folder.path(), &["doctor", "p.yaml"]));
    assert!(untrusted.exit == 1 && !untrusted.out.contains("starts in the sandbox"), "{}", untrusted.out);
    let run = ran(command(folder.path(), &["run", "--trust", "p.yaml"]).env_remove("TOKEN"));
    let first = |text: &str| run.err.lines().position(|line| line.starts_with(text));
    assert!(first("secret TOKEN is not set (A token.), and is read by step there") < first("there: failed"), "{}", run.err);
    assert!(first("variable OTHER_NAME is not set").is_some(), "{}", run.err);
}

#[test]
fn packages_are_imported_and_not_only_found() {
    if python_in().is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // A virtual environment as `python3 -m venv` makes it, with one package that is well and one that is not.
    let venv = folder.path().join(".venv");
    assert!(std::process::Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap().success());
    let packages = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path().join("site-packages");
    for (name, code) in [("well", "x = 1\n"), ("broken", "import no_such_module\n")] {
        let told = packages.join(format!("{name}-1.0.dist-info"));
        std::fs::create_dir_all(&told).unwrap();
        std::fs::write(told.join("METADATA"), format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")).unwrap();
        std::fs::write(told.join("RECORD"), format!("{name}.py,,\n")).unwrap();
        std::fs::write(packages.join(format!("{name}.py")), code).unwrap();
    }
    let pipeline = "flow: 1\nname: p\nsteps:\n\
        \x20 - { id: a, python: { code: 'x = 1', venv: .venv, requires: [well] }, returns: x }\n\
        \x20 - { id: b, python: { code: 'x = 1', venv: .venv, requires: [broken] }, returns: x }\n\
        \x20 - { id: c, task: w, prompt: Go., artefact: python, accept: [It is a whole number.], judge: j, max_attempts: 2, venv: .venv, requires: [well] }\n\
        agents: { w: { instructions: You write code. }, j: { instructions: You judge. } }\n\
        outputs: { a: '{{ steps.a.output.x }}', b: '{{ steps.b.output.x }}', c: '{{ steps.c.output.result }}' }\n";
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    let (exit, out, _) = doctor(folder.path(), &["p.yaml"], &[]);
    assert_eq!(exit, 1, "{out}");
    assert!(out.contains("starts in the sandbox and imports well (step a, step c)"), "{out}");
    assert!(out.contains("broken: import broken: ModuleNotFoundError: No module named 'no_such_module' (step b)"), "{out}");
}
