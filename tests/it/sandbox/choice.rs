//! Which sandbox is in force, and what happens where there is none.

use std::process::Command;
use std::sync::Arc;

use flow::port::Programs;
use flow_adapters::environment::text;
use flow_adapters::own::OwnFiles;
use flow_adapters::sandbox::{FirstStage, Sandbox};
use flow_base::model::{FailureKind, ProgramNetwork, SandboxMode};

use super::{in_each, shell};

/// Not a test of its own: a process with other variables, which runs a program and tells what shut it in.
#[test]
fn acts_as_a_flow_elsewhere() {
    let Some(mode) = text("SANDBOX_MODE") else { return };
    let mut call = shell("echo started > \"$0\"");
    call.command.push(text("SANDBOX_FILE").unwrap());
    call.writes = vec![std::path::Path::new(&text("SANDBOX_FILE").unwrap()).parent().unwrap().to_path_buf()];
    call.sandbox = match mode.as_str() {
        "required" => SandboxMode::Required,
        "preferred" => SandboxMode::Preferred,
        _ => SandboxMode::None,
    };
    call.network = text("SANDBOX_HOSTS").map_or(ProgramNetwork::None, |host| ProgramNetwork::Hosts(vec![host]));
    let stage = text("SANDBOX_STAGE").unwrap_or_else(|| env!("CARGO_BIN_EXE_flow").to_owned());
    let sandbox = Sandbox::new(Arc::new(OwnFiles::default()), FirstStage::from_program(stage));
    let reply = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(sandbox.run(call));
    match reply {
        Ok(reply) => println!("told: {}", reply.sandbox.as_deref().unwrap_or("none")),
        Err(failure) => println!("told: {}: {}", <&str>::from(failure.kind), failure.message),
    }
}

/// What a process with these variables tells, and whether the program ran.
fn elsewhere(mode: &str, variables: &[(&str, &str)]) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("started");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sandbox::choice::acts_as_a_flow_elsewhere", "--nocapture", "--test-threads=1"]);
    command.env("SANDBOX_MODE", mode).env("SANDBOX_FILE", &file).env_remove("FLOW_SANDBOX").envs(variables.iter().copied());
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let told = out.lines().find_map(|line| line.split_once("told: ")).map(|(_, told)| told.to_owned());
    (told.unwrap_or_else(|| panic!("{out}")), file.exists())
}

#[test]
fn where_bubblewrap_is_missing_or_does_not_work_landlock_takes_its_place() {
    let mut kinds = vec![];
    let broken = tempfile::tempdir().unwrap();
    super::put(&broken.path().join("bwrap"), "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n");
    std::fs::set_permissions(broken.path().join("bwrap"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let none = tempfile::tempdir().unwrap();
    in_each(|home| kinds.push(home.kind.name()));
    let best = kinds.first().copied().unwrap_or("none");
    assert_eq!(elsewhere("required", &[]), (best.to_owned(), best != "none"));
    for path in [none.path(), broken.path()] {
        let path = path.to_str().unwrap();
        if kinds.contains(&"landlock") {
            assert_eq!(elsewhere("required", &[("PATH", path)]), ("landlock".to_owned(), true));
            assert_eq!(elsewhere("preferred", &[("PATH", path)]), ("landlock".to_owned(), true));
        }
        // As on a kernel without Landlock: nothing runs, and nothing weaker takes its place.
        let (told, is_run) = elsewhere("required", &[("PATH", path), ("FLOW_SANDBOX", "bubblewrap")]);
        assert!(
            told.starts_with("unavailable: there is no sandbox here (bubblewrap: ") && told.contains("apt install bubblewrap"),
            "{told}"
        );
        assert!(!is_run);
        assert_eq!(told.contains("No permissions to create new namespace"), path == broken.path().to_str().unwrap(), "{told}");
        if kinds.contains(&"landlock") {
            assert_eq!(elsewhere("preferred", &[("PATH", path), ("FLOW_SANDBOX", "bubblewrap")]), ("landlock".to_owned(), true));
        }
    }
    // A kernel without Landlock: the first stage cannot enter it.
    let stage = none.path().join("stage");
    let script =
        format!("#!/bin/sh\nif /bin/grep -q '\"kind\":\"landlock\"' \"$2\"; then exit 1; fi\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_flow"));
    super::put(&stage, &script);
    std::fs::set_permissions(&stage, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let variables = [("PATH", none.path().to_str().unwrap()), ("SANDBOX_STAGE", stage.to_str().unwrap())];
    let (told, is_run) = elsewhere("required", &variables);
    assert!(told.starts_with("unavailable: there is no sandbox here (bubblewrap: ") && told.contains("landlock: ") && !is_run, "{told}");
    assert_eq!(elsewhere("preferred", &variables), ("none".to_owned(), true));
    assert_eq!(elsewhere("none", &[]), ("none".to_owned(), true));
    // A list of hosts is held to, or nothing is started; who wants no sandbox is held to nothing.
    let hosts = [variables[0], variables[1], ("SANDBOX_HOSTS", "a.example")];
    let (told, is_run) = elsewhere("preferred", &hosts);
    assert!(told.contains("only a sandbox keeps it to the hosts of network; install bubblewrap") && !is_run, "{told}");
    assert_eq!(elsewhere("none", &hosts), ("none".to_owned(), true));
    for kind in kinds {
        assert_eq!(elsewhere("required", &[("FLOW_SANDBOX", kind)]), (kind.to_owned(), true));
    }
}

#[test]
fn a_variable_chooses_a_sandbox_and_never_takes_it_away() {
    for value in ["none", "off", "0", "docker"] {
        let (told, is_run) = elsewhere("required", &[("FLOW_SANDBOX", value)]);
        assert_eq!((told, is_run), (format!("unavailable: FLOW_SANDBOX is \"{value}\"; it can be bubblewrap or landlock"), false));
        assert_eq!(elsewhere("preferred", &[("FLOW_SANDBOX", value)]), elsewhere("preferred", &[]));
    }
}

#[test]
fn a_program_that_cannot_be_a_first_stage_starts_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for mode in [SandboxMode::None, SandboxMode::Required] {
        let mut call = shell(":");
        call.sandbox = mode;
        let failure = runtime.block_on(Sandbox::new(Arc::default(), FirstStage::here()).run(call)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unavailable);
    }
}
