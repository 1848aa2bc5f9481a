//! A project of one file that is in memory, checked and planned.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flow::port::{Files, ReadFileError};
use flow_lang::check::{Checked, check_file};
use flow_lang::plan::Plan;

struct Memory<'t>(&'t str);

const FILE: &str = "/bench/pipeline.yaml";

impl Files for Memory<'_> {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        if path == Path::new(FILE) { Ok(self.0.to_owned()) } else { Err(ReadFileError::Missing) }
    }
    fn exists(&self, _: &Path) -> bool {
        false
    }
    fn names(&self, _: &Path) -> Vec<String> {
        vec![]
    }
    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_path_buf())
    }
}

/// Checks a file with every rule.
pub fn checked(text: &str) -> Checked {
    check_file(Path::new(FILE), Path::new("/bench"), &Memory(text))
}

/// Checks a pipeline and plans it. It must have no error.
pub fn planned(text: &str) -> Arc<Plan> {
    let checked = checked(text);
    assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
    Arc::new(checked.plan)
}
