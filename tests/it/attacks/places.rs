//! A project with a shipped pipeline, and around it what no run may touch, and a host that nobody may reach.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tempfile::TempDir;

use crate::golden::copy;
use crate::leaks::forms;
use crate::program::{flow, until};

/// The key of the model, and a token in a variable: what nothing may show.
pub(super) const KEY: &str = "sk-canary-Zq81xKd947";
pub(super) const TOKEN: &str = "canary-token/81Q+w47";
/// What stands in files that no run may read.
const FILES: [&str; 5] = ["canary-outside", "canary-home", "canary-dotenv", "canary-private", "canary-record"];
/// An address in the data, of somebody else than who asks.
pub(super) const MAIL: &str = "ada.stranger@private.example";

/// A host that is in no list: it counts who comes.
#[derive(Clone)]
pub(super) struct Evil {
    pub(super) authority: String,
    visits: Arc<AtomicUsize>,
}

impl Evil {
    fn new() -> Evil {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let evil = Evil { authority: listener.local_addr().unwrap().to_string(), visits: Arc::default() };
        let visits = Arc::clone(&evil.visits);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                visits.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        evil
    }
}

pub(super) struct Places {
    folder: TempDir,
    pub(super) project: PathBuf,
    pub(super) outside: PathBuf,
    pub(super) home: PathBuf,
    pub(super) record: PathBuf,
    /// What must not be there afterwards.
    pub(super) mark: PathBuf,
    /// The seconds that a program which is left behind would sleep: no other sleeps as long.
    pub(super) sleep: String,
    pub(super) evil: Evil,
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl Places {
    /// A copy of the folders that a pipeline needs, below these names.
    pub(super) fn new(folders: &[(&str, &str)]) -> Places {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let project = at("project");
        for (from, to) in folders {
            copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(from), &project.join(to));
        }
        let earlier = "flow: 1\nname: earlier\ndescription: Ran before.\nsteps: [{ id: a, set: canary-record }]\noutputs: { a: '{{ steps.a.output }}' }\n";
        for (name, text) in [
            ("outside.txt", "canary-outside\n"),
            ("home/.ssh/id_ed25519", "canary-home\n"),
            ("project/flow.toml", ""),
            ("project/.env", "DOTENV=canary-dotenv\n"),
            ("project/private.txt", "canary-private\n"),
            ("project/earlier/earlier.yaml", earlier),
        ] {
            put(&at(name), text);
        }
        let before = flow(&project, &["run", "earlier/earlier.yaml", "-q"]);
        assert_eq!(before.exit, 0, "{}", before.err);
        Places {
            outside: at("outside.txt"),
            home: at("home/.ssh/id_ed25519"),
            record: at("project/.flow/runs.db"),
            mark: at("mark"),
            sleep: format!("98{}{number:03}", std::process::id()),
            evil: Evil::new(),
            project,
            folder,
        }
    }

    /// The program that tries everything, with these places, and what it is to do.
    pub(super) fn acts(&self, rules: &str, then: &str) -> String {
        let places = json!({
            "outside": self.outside, "home": self.home, "record": self.record, "mark": self.mark, "sleep": self.sleep,
            "dotenv": self.project.join(".env"), "other": self.project.join("private.txt"), "rules": self.project.join(rules),
            "evil": format!("http://{}", self.evil.authority),
        });
        include_str!("acts.py").replace("'''{}'''", &format!("'''{places}'''")) + then
    }

    /// All files but those that a run may write, and what they hold.
    pub(super) fn files(&self, writes: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        self.walk(self.folder.path(), &mut |path, bytes| {
            let name = path.strip_prefix(&self.project).unwrap_or(path).to_string_lossy().into_owned();
            let own = [".flow/", ".state/", "flow.lock"];
            if !own.iter().chain(writes).any(|start| name.starts_with(start)) {
                found.insert(path.to_owned(), bytes);
            }
        });
        found
    }

    fn walk(&self, folder: &Path, each: &mut impl FnMut(&Path, Vec<u8>)) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => self.walk(&entry.path(), each),
                kind if kind.is_symlink() => each(&entry.path(), vec![]),
                _ => each(&entry.path(), std::fs::read(entry.path()).unwrap()),
            }
        }
    }

    /// How often the host was reached.
    pub(super) fn visits(&self) -> usize {
        self.evil.visits.load(Ordering::SeqCst)
    }

    /// The processes that still sleep.
    pub(super) fn left_behind(&self) -> Vec<i32> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
        let sleeps = |id: &i32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == self.sleep.as_bytes())
        };
        ids.filter(sleeps).collect()
    }

    /// Fails if anything was touched, reached, told or left behind. `told` is all that left the run, by name.
    pub(super) fn are_untouched(&self, what: &str, told: &[(&str, String)]) {
        assert_eq!(self.visits(), 0, "{what}: the host was reached");
        until(&format!("{what}: a program was left behind"), || self.left_behind().is_empty());
        let secrets: Vec<String> = [KEY, TOKEN].iter().flat_map(|secret| forms(secret)).chain(FILES.map(str::to_owned)).collect();
        for (name, text) in told {
            if let Some(secret) = secrets.iter().find(|secret| text.contains(secret.as_str())) {
                panic!("{what}: {name} holds {secret}:\n{text}");
            }
        }
        let audit = self.project.join(".flow/audit.jsonl");
        assert!(!std::fs::read_to_string(audit).unwrap().contains(MAIL), "{what}: the audit holds the address");
        self.walk(&self.project.join(".flow"), &mut |path, bytes| {
            let text = String::from_utf8_lossy(&bytes);
            for secret in [KEY, TOKEN, "canary-outside", "canary-home", "canary-dotenv", "canary-private"] {
                assert!(!text.contains(secret), "{what}: {} holds {secret}", path.display());
            }
        });
        assert_eq!(flow(&self.project, &["audit", "verify"]).exit, 0, "{what}");
    }
}
