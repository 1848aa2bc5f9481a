//! Files in memory, and what one rule says about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Rule;
use crate::diagnostic::{self, Code, Diagnostic};
use crate::load::{self, Loaded};
use crate::plan;
use crate::port::{FileProblem, Files};

/// A disk in memory; the first file is the one that is checked.
struct Memory(BTreeMap<PathBuf, String>);

impl Files for Memory {
    fn read_text(&self, path: &Path) -> Result<String, FileProblem> {
        self.0.get(path).cloned().ok_or(FileProblem::Missing)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
    fn names(&self, folder: &Path) -> Vec<String> {
        let inside = self.0.keys().filter(|path| path.parent() == Some(folder));
        inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect()
    }
    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        let is_there = path.as_os_str().is_empty() || self.0.keys().any(|file| file.starts_with(path));
        is_there.then(|| Path::new("/disk").join(path))
    }
}

/// Loads files; nothing may be wrong with how they are written, but that a key belongs to a later version.
pub(super) fn loaded(files: &[(&str, &str)]) -> Loaded {
    let disk = Memory(files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect());
    let loaded = load::load(Path::new(files[0].0), Path::new(""), &disk);
    let badly_written: Vec<Diagnostic> = loaded.diagnostics.iter().filter(|d| d.code != Code::NotYetAvailable).cloned().collect();
    assert_eq!(told(&loaded, &badly_written), "", "the files of a test are well written");
    loaded
}

/// Findings as lines: code, line:column (with the file's name if it is not the first one), message.
pub(super) fn told(loaded: &Loaded, found: &[Diagnostic]) -> String {
    let lines = found.iter().map(|d| {
        let at = loaded.sources.start(d.span);
        let file = if d.span.file.0 == 0 { String::new() } else { format!("{}:", loaded.sources.file(d.span.file).name) };
        assert!(d.message.chars().count() <= 160 && !d.help.is_empty(), "{d:?}");
        format!("{} {file}{}:{} {}\n", d.code.id(), at.line, at.column, d.message)
    });
    lines.collect()
}

/// What one rule says about files.
pub(super) fn says_of(rule: Rule, files: &[(&str, &str)]) -> String {
    let loaded = loaded(files);
    let mut found = vec![];
    let plan = plan::plan(&loaded.program, &mut found);
    assert_eq!(told(&loaded, &found), "", "the graph of a test is well drawn");
    for pipeline in &plan.pipelines {
        rule(pipeline, &plan, &mut found);
    }
    diagnostic::sort(&mut found);
    told(&loaded, &found)
}

/// What one rule says about a pipeline; `body` follows its head.
pub(super) fn says(rule: Rule, body: &str) -> String {
    says_of(rule, &[("a.yaml", &format!("flow: 1\nname: a\n{body}"))])
}
