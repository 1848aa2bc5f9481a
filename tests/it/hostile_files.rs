//! Files on which a library loops, takes all memory or ends its process: the run goes on, says so of the file, and reads the others.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use flow::port::{FileReader, QueryRequest, ReadRequest, SqlDatabase, TableSource};
use flow_adapters::data::DataFiles;
use flow_base::model::SqlEngine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran, until};

const PIPELINE: &str = "flow: 1
name: seen
description: Reads files.
inputs: { files: { type: list } }
steps: [{ id: seen, read: \"{{ inputs.files }}\", timeout: SECONDS }]
outputs: { seen: \"{{ steps.seen.output }}\" }
";

/// A PDF file of these objects; the first is the root.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let (mut bytes, mut places) = (b"%PDF-1.5\n".to_vec(), vec![]);
    for (number, object) in (1..).zip(objects) {
        places.push(bytes.len());
        bytes.extend(format!("{number} 0 obj\n").into_bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let (table, count) = (bytes.len(), objects.len() + 1);
    bytes.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").into_bytes());
    places.iter().for_each(|place| bytes.extend(format!("{place:010} 00000 n \n").into_bytes()));
    bytes.extend(format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").into_bytes());
    bytes
}

/// A document whose pages all have the same content, and one more object.
fn document(pages: usize, content: &[u8], further: &[u8]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", page + 6)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Count {pages} /Kids [{}] >>", kids.join(" ")).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>".to_vec(),
        [format!("<< /Length {} >>\nstream\n", content.len()).as_bytes(), content, b"\nendstream"].concat(),
        further.to_vec(),
    ];
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>";
    objects.extend((0..pages).map(|_| page.as_bytes().to_vec()));
    pdf(&objects)
}

fn plain(text: &str) -> Vec<u8> {
    document(1, format!("BT /F1 12 Tf ({text}) Tj ET").as_bytes(), b"null")
}

/// Takes minutes: each page draws as much as a page may.
fn slow() -> Vec<u8> {
    document(40, &b"1 0 0 1 0 0 cm ".repeat(400_000), b"null")
}

/// Small lists, each of which takes some hundred bytes in memory.
fn large() -> Vec<u8> {
    document(1, b"BT ET", &[&b"["[..], &b"[1]".repeat(1_900_000), b"]"].concat())
}

/// A project with these files, which a run reads in this order; and a folder for temporary files.
struct Project(TempDir);

impl Project {
    fn of(files: &[(&str, Vec<u8>)], timeout: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).unwrap());
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        std::fs::write(folder.path().join("seen.yaml"), PIPELINE.replace("SECONDS", timeout)).unwrap();
        std::fs::write(folder.path().join("in.json"), serde_json::json!({ "files": names }).to_string()).unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Project(folder)
    }

    fn temporary(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("tmp")
    }

    fn call(&self) -> std::process::Command {
        let mut call = command(self.0.path(), &["run", "seen.yaml", "--inputs", "in.json", "--output", "seen", "--json"]);
        call.env("TMPDIR", self.temporary());
        call
    }

    /// Nothing of a child is left: neither a process nor a folder.
    fn is_left_clean(&self) {
        let folder = self.temporary();
        until("the scratch folder goes", || std::fs::read_dir(&folder).unwrap().count() == 0);
        until("the process goes", || children(&folder).is_empty());
    }
}

/// The processes that read files and whose scratch folder is in this one.
fn children(folder: &Path) -> Vec<i32> {
    let ids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |id: i32, file: &str, text: &str| {
        std::fs::read(format!("/proc/{id}/{file}")).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    };
    let home = format!("HOME={}", folder.display());
    ids.filter(|id| has(*id, "cmdline", "\0reader\0") && !has(*id, "cmdline", "\0sandboxed\0") && has(*id, "environ", &home)).collect()
}

/// Of each file its type and its summary.
fn seen(ran: &Ran) -> Vec<(String, String)> {
    let all: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err));
    let list = all.as_array().or_else(|| all["outputs"]["seen"].as_array()).unwrap_or_else(|| panic!("{all}")).clone();
    list.iter().map(|file| (file["type"].as_str().unwrap().to_owned(), file["summary"].as_str().unwrap().to_owned())).collect()
}

/// What the library says, which parses in its own process since that is no `flow`.
fn here<T>(call: flow::port::Pending<T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(call).unwrap()
}

const GOOD: (&str, &str) = ("document", "PDF document of 1 page.");

fn is_told(seen: &[(String, String)], wanted: &[(&str, &str)]) {
    assert_eq!(seen.len(), wanted.len(), "{seen:?}");
    for ((kind, summary), (wanted_kind, begins)) in seen.iter().zip(wanted) {
        assert!(kind == wanted_kind && summary.starts_with(begins), "{seen:?}");
    }
}

#[test]
fn a_file_that_takes_too_much_memory_or_time_is_unreadable_and_the_others_are_read() {
    let files = [("a.pdf", plain("a")), ("large.pdf", large()), ("b.pdf", plain("b")), ("slow.pdf", slow()), ("c.pdf", plain("c"))];
    let project = Project::of(&files, "90s");
    let ran = ran(&mut project.call());
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let large = "large.pdf was not read: it breaks what reads it, or needs more than 1024 MB of memory.";
    let slow = "slow.pdf was not read: that took longer than 30.0s.";
    is_told(&seen(&ran), &[GOOD, ("unreadable", large), GOOD, ("unreadable", slow), GOOD]);
    project.is_left_clean();
}

#[test]
fn a_file_on_which_the_process_ends_is_unreadable_and_the_others_are_read() {
    // So ends a process whose stack overflows or that a library aborts, and one that the system ends for its memory.
    for signal in [Signal::SIGABRT, Signal::SIGKILL] {
        let project = Project::of(&[("slow.pdf", slow()), ("b.pdf", plain("b"))], "10m");
        let child = project.call().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let folder = project.temporary();
        // In the middle of the file: it has used the processor for a while.
        let used = |id: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(11)?.parse::<u64>().ok()).unwrap_or(0)
        };
        let mut reader = 0;
        until("a child reads", || children(&folder).first().is_some_and(|id| std::mem::replace(&mut reader, *id) == *id && used(*id) > 30));
        let status = std::fs::read_to_string(format!("/proc/{reader}/status")).unwrap();
        assert!(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"), "it is shut in: {status}");
        kill(Pid::from_raw(reader), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ran = Ran { exit: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) };
        assert_eq!(ran.exit, 0, "{}", ran.err);
        is_told(&seen(&ran), &[("unreadable", "slow.pdf was not read: it breaks what reads it,"), GOOD]);
        project.is_left_clean();
    }
}

#[test]
fn files_of_a_list_share_a_process() {
    let names: Vec<String> = (0..60).map(|number| format!("{number}.pdf")).collect();
    let files: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (name.as_str(), plain(name))).collect();
    let project = Project::of(&files, "60s");
    let child = project.call().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folder = project.temporary();
    let watched = std::thread::spawn(move || {
        let mut all = std::collections::BTreeSet::new();
        // The folder of the trial of a sandbox comes before that of the process.
        while Path::new(&format!("/proc/{}/exe", child.id())).read_link().is_ok() {
            all.extend(children(&folder));
            std::thread::sleep(Duration::from_millis(2));
        }
        (all, child.wait_with_output().unwrap())
    });
    let (all, output) = watched.join().unwrap();
    assert!(output.status.success() && all.len() <= 1, "{all:?}");
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(read.to_string().contains("59.pdf"));
    project.is_left_clean();
}

#[test]
fn a_damaged_file_and_a_file_of_a_kind_that_is_asked_for_fail_as_before() {
    let project = Project::of(&[("a.pdf", b"%PDF-1.5\nnothing".to_vec()), ("b.png", b"\x89PNG\r\n\x1a\n".to_vec())], "60s");
    let ran = ran(&mut project.call());
    is_told(&seen(&ran), &[("unreadable", "a.pdf cannot be read: it is damaged"), ("unreadable", "b.png is not a picture")]);
    let typed = PIPELINE.replace("SECONDS", "60s").replace("timeout", "type: document, timeout");
    std::fs::write(project.0.path().join("seen.yaml"), typed).unwrap();
    let refused = flow(project.0.path(), &["run", "seen.yaml", "--inputs", "in.json"]);
    assert!(refused.exit != 0 && refused.err.contains("a.pdf cannot be read: it is damaged"), "{}", refused.err);
}

#[test]
fn a_child_says_of_files_what_this_process_says() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/analyst/data");
    let names = ["targets.xlsx", "review.pdf", "chart.png"];
    let files: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (*name, std::fs::read(shipped.join(name)).unwrap())).collect();
    let project = Project::of(&files, "60s");
    let all: Value = serde_json::from_str(&ran(&mut project.call()).out).unwrap();
    let folder = project.0.path();
    for (at, name) in names.iter().enumerate() {
        let request = ReadRequest { path: folder.join(name), kind: None, timeout: Duration::from_secs(60) };
        let (mut content, tables) = here(DataFiles::default().read(request));
        content.path = (*name).to_owned();
        let child = all.as_array().or_else(|| all["outputs"]["seen"].as_array()).unwrap()[at].clone();
        assert_eq!(serde_json::to_value(&content).unwrap(), child);
        for table in tables {
            let data = format!("data: {{ t: {{ file: {name}, sheet: {} }} }}\n", table.table.clone().unwrap());
            let query = "select * from t";
            let steps = format!("steps: [{{ id: a, sql: {query} }}]\noutputs: {{ rows: \"{{{{ steps.a.output }}}}\" }}\n");
            let file = format!("flow: 1\nname: rows\ndescription: Reads a table.\n{data}{steps}");
            std::fs::write(folder.join("rows.yaml"), file).unwrap();
            let run = flow(folder, &["run", "rows.yaml", "--output", "rows", "--json"]);
            let request = QueryRequest {
                engine: SqlEngine::Sqlite,
                tables: vec![TableSource { name: "t".to_owned(), ..table }],
                query: query.to_owned(),
                with: Default::default(),
                max_rows: 1_000,
                timeout: Duration::from_secs(60),
            };
            let rows = serde_json::to_value(here(DataFiles::default().query(request)).rows).unwrap();
            let of_child: Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {} {}", run.out, run.err));
            assert!(rows.as_array().is_some_and(|rows| !rows.is_empty()));
            assert!([&of_child, &of_child["outputs"]["rows"]].contains(&&rows), "{of_child} {rows}");
        }
    }
}

#[test]
fn what_was_indexed_for_a_run_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = "flow: 1\nname: find\ndescription: Searches files.\ninputs: { files: { type: list } }\n\
        knowledge: { documents: { files: \"{{ inputs.files }}\", description: What the user brought. } }\n\
        steps: [{ id: look, search: documents, for: apples }]\noutputs: { found: \"{{ steps.look.output }}\" }\n";
    std::fs::write(at.join("find.yaml"), file).unwrap();
    for name in ["one", "two"] {
        std::fs::write(at.join(format!("{name}.md")), format!("apples {name}")).unwrap();
        std::fs::write(at.join(format!("{name}.json")), format!("{{\"files\":[\"{name}.md\"]}}")).unwrap();
    }
    let find = |name: &str| {
        let run = flow(at, &["run", "find.yaml", "--inputs", &format!("{name}.json")]);
        assert_eq!(run.exit, 0, "{}", run.err);
    };
    let indexes = || std::fs::read_dir(at.join(".flow/knowledge/runs")).unwrap().count() / 3;
    let newest = || {
        let list: Value = serde_json::from_str(&flow(at, &["runs", "list", "--json"]).out).unwrap();
        let list = list.as_array().or_else(|| list["runs"].as_array()).unwrap().clone();
        list[0]["run"].as_str().unwrap().to_owned()
    };
    find("one");
    find("two");
    assert_eq!(indexes(), 2);
    assert_eq!(flow(at, &["runs", "rm", &newest()]).exit, 0);
    assert_eq!(indexes(), 1);
    find("one");
    assert_eq!(flow(at, &["runs", "rm", &newest()]).exit, 0);
    assert_eq!(indexes(), 1, "another run used it, too");
    assert_eq!(flow(at, &["runs", "rm", "--all", "--yes"]).exit, 0);
    assert_eq!(indexes(), 0);
}
