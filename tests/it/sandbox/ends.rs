//! How a program ends, and what is left of it: nothing.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use flow::port::{ProgramEnd, Programs};
use flow_adapters::environment::text;
use flow_base::model::{FailureKind, SandboxMode};

use super::{Home, call, in_each, in_each_with_python, python, shell};

/// The processes whose command line holds a text.
fn with_text(text: &str) -> Vec<u32> {
    let ids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))).collect()
}

/// Waits until a condition holds. The test fails by its time limit, not by a clock of its own.
fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} did not happen");
}

fn scratch_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("work").exists() && path.join("stage").exists()).collect()
}

/// A number of seconds that no other test sleeps.
fn mark(home: &Home, name: &str) -> String {
    let number: u32 = name.bytes().chain(home.kind.name().bytes()).map(u32::from).sum();
    format!("{}.{}", 7_000 + number, std::process::id())
}

#[test]
fn an_exit_code_and_a_signal_are_told_apart() {
    in_each(|home| {
        for (script, end) in [
            ("exit 0", ProgramEnd::Exited(0)),
            ("exit 3", ProgramEnd::Exited(3)),
            ("exit 125", ProgramEnd::Exited(125)),
            ("exit 137", ProgramEnd::Exited(137)),
            ("kill -9 $$", ProgramEnd::Signaled(9)),
            ("kill -15 $$", ProgramEnd::Signaled(15)),
            ("sh -c 'kill -9 $$'; exit $?", ProgramEnd::Exited(137)),
            ("sleep 1000 & exit 5", ProgramEnd::Exited(5)),
        ] {
            assert_eq!(home.run(shell(script)).unwrap().end, end, "{script}");
        }
        let missing = home.run(call(&["no-such-program"])).unwrap_err();
        assert_eq!(
            (missing.kind, missing.message.as_str()),
            (FailureKind::Unavailable, "the program \"no-such-program\" was not found in PATH")
        );
        let relative = home.run(call(&["./x"])).unwrap_err();
        assert_eq!(relative.message, "the program \"./x\" was not found; write a name, or a whole path");
        super::put(&home.at("w/needs"), "#!/nowhere/none/of/this\n");
        std::fs::set_permissions(home.at("w/needs"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let failure = home.run(call(&[&home.at("w/needs").display().to_string()])).unwrap_err();
        assert!(failure.message.contains("must be among the files that it may read"), "{}", failure.message);
        super::put(&home.at("w/tool"), "#!/bin/sh\necho tool\n");
        std::fs::set_permissions(home.at("w/tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(home.printed(call(&[&home.at("w/tool").display().to_string()])), "tool\n");
        std::fs::remove_dir_all(home.at("w")).unwrap();
    });
}

#[test]
fn no_process_and_no_file_is_left_after_the_end() {
    in_each_with_python(|home| {
        let mark = mark(home, "left");
        let daemon = format!(
            "import subprocess\nfor _ in range(3):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            signal.signal(signal.SIGTERM, signal.SIG_IGN)\n            \
             subprocess.run(['sleep', '{mark}'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)\n        os._exit(0)\ntime.sleep(0.3)\nprint(os.getcwd())\n"
        );
        let folder = home.printed(python(&daemon, &[]));
        assert_eq!((with_text(&mark), PathBuf::from(folder.trim()).exists()), (vec![], false));
        // Without a sandbox, too.
        let mut call = python(&daemon, &[]);
        call.sandbox = SandboxMode::None;
        let reply = home.run(call).unwrap();
        assert_eq!((reply.end, reply.sandbox, with_text(&mark)), (ProgramEnd::Exited(0), None, vec![]));
        // The time is up, and it hears no SIGTERM.
        let mut deaf = python(
            &format!(
                "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nimport subprocess\nsubprocess.run(['sleep', '{mark}'])\ntime.sleep(60)\n"
            ),
            &[],
        );
        deaf.timeout = Duration::from_millis(500);
        assert_eq!((home.run(deaf).unwrap_err().kind, with_text(&mark)), (FailureKind::Timeout, vec![]));
    });
}

#[test]
fn a_program_that_hears_of_its_end_may_still_write() {
    in_each(|home| {
        let kept = home.at("kept");
        std::fs::create_dir(&kept).unwrap();
        let mut call = shell("trap 'echo over > \"$0/over.txt\"; exit' TERM; while :; do sleep 0.05; done");
        call.command.push(kept.display().to_string());
        call.writes = vec![kept.clone()];
        call.timeout = Duration::from_millis(700);
        assert_eq!(home.run(call).unwrap_err().kind, FailureKind::Timeout);
        assert_eq!(std::fs::read_to_string(kept.join("over.txt")).unwrap(), "over\n");
        std::fs::remove_dir_all(kept).unwrap();
    });
}

#[test]
fn a_call_that_nobody_waits_for_ends() {
    in_each(|home| {
        let mark = mark(home, "dropped");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pending = home.sandbox.run(call(&["sleep", &mark]));
            let started = tokio::task::spawn_blocking({
                let mark = mark.clone();
                move || {
                    until("the start", || {
                        with_text(&mark).iter().any(|id| {
                            std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| {
                                line.starts_with(b"sleep\0") || line.starts_with(b"/usr/bin/sleep\0") || line.starts_with(b"/bin/sleep\0")
                            })
                        })
                    })
                }
            });
            tokio::select! {
                reply = pending => panic!("{reply:?}"),
                started = started => started.unwrap(),
            }
        });
        until("the end", || with_text(&mark).is_empty());
    });
}

/// Not a test of its own: the process that [`a_program_does_not_outlive_flow`] kills.
#[test]
fn acts_as_a_flow_that_is_killed() {
    let Some(mark) = text("SANDBOX_MARK") else { return };
    in_each_with_python(|home| {
        if text("SANDBOX_KIND").is_some_and(|kind| kind == home.kind.name()) {
            let script = "if os.fork() == 0:\n    os.setsid()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nimport subprocess\nsubprocess.run(['sleep', sys.argv[1]])\n";
            let mut call = python(script, &[&mark]);
            call.timeout = Duration::from_secs(600);
            let _ = home.run(call);
        }
    });
}

#[test]
fn a_program_does_not_outlive_flow() {
    in_each_with_python(|home| {
        let (mark, before) = (mark(home, "killed"), scratch_folders());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "sandbox::ends::acts_as_a_flow_that_is_killed", "--test-threads=1"]).stdout(Stdio::null());
        let temporary = tempfile::tempdir().unwrap();
        let mut flow =
            command.env("SANDBOX_MARK", &mark).env("SANDBOX_KIND", home.kind.name()).env("TMPDIR", temporary.path()).spawn().unwrap();
        // Two children sleep.
        until("the start", || with_text(&mark).len() >= 4);
        flow.kill().unwrap();
        flow.wait().unwrap();
        until("the end", || with_text(&mark).is_empty());
        let left = || {
            std::fs::read_dir(temporary.path())
                .unwrap()
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("flow-"))
                .count()
        };
        until("the removal of the scratch folder", || left() == 0);
        assert!(scratch_folders().len() <= before.len() + 8);
    });
}
