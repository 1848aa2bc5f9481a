//! The author's files on the disk of this machine.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::port::{FileProblem, Files, TableSource};

/// Most bytes of a file that a person writes: pipelines, imports, channels, instructions.
const LARGEST: u64 = 1024 * 1024;
/// Most names of a folder that are looked at.
const MOST_NAMES: usize = 1_000;

/// How deep folders are searched.
const DEEPEST: usize = 16;

/// The YAML files in and below a folder, sorted. Hidden folders, `target`, `node_modules` and folders that are
/// projects of their own are left out; links are not followed.
pub fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    find(folder, &mut found, 0);
    found.sort();
    found
}

fn find(folder: &Path, found: &mut Vec<PathBuf>, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        if kind.is_dir() && path.join("flow.toml").is_file() {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            find(&path, found, depth + 1);
        } else if kind.is_file() && (name.ends_with(".yaml") || name.ends_with(".yml")) {
            found.push(path);
        }
    }
}

/// Puts a text in place of a file in one move: whole or not at all, also when the machine goes down. Where a link leads, that file is
/// replaced, and the file keeps who may read it.
///
/// # Errors
/// The folder cannot be written, or the disk is full; then the file is what it was.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    fs::File::open(folder)?.sync_all()
}

/// Files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read_text(&self, path: &Path) -> Result<String, FileProblem> {
        // Looked at before it is opened: opening a pipe would wait for a writer.
        let what = fs::metadata(path).map_err(problem)?;
        if !what.is_file() {
            return Err(FileProblem::NoFile);
        }
        if what.len() > LARGEST {
            return Err(FileProblem::TooLarge);
        }
        let mut bytes = Vec::new();
        fs::File::open(path).map_err(problem)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(problem)?;
        if bytes.len() as u64 > LARGEST {
            return Err(FileProblem::TooLarge);
        }
        String::from_utf8(bytes).map_err(|_| FileProblem::NotText)
    }

    fn exists(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|what| what.is_file())
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(here(folder)) else { return vec![] };
        let names = entries.take(MOST_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn columns(&self, table: &TableSource) -> Option<Vec<String>> {
        super::data::header(table)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(here(path)).ok()
    }
}

fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn problem(error: std::io::Error) -> FileProblem {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileProblem::Missing,
        ErrorKind::IsADirectory => FileProblem::NoFile,
        ErrorKind::PermissionDenied => FileProblem::Refused("it may not be read".to_owned()),
        _ => FileProblem::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_inside_a_project_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["flow.toml", "a.yaml", "inner/flow.toml", "inner/b.yaml", "plain/c.yaml"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names = |at: &Path| yaml_files(at).iter().map(|p| p.strip_prefix(at).unwrap().display().to_string()).collect::<Vec<_>>();
        assert_eq!(names(folder.path()), ["a.yaml", "plain/c.yaml"]);
        assert_eq!(names(&folder.path().join("inner")), ["b.yaml"]);
    }

    #[test]
    fn only_small_texts_of_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.yaml"), "flow: 1\n").unwrap();
        fs::write(at("big.yaml"), vec![b'x'; LARGEST as usize + 1]).unwrap();
        fs::write(at("bytes.yaml"), [0xff, 0xfe]).unwrap();
        assert_eq!(DiskFiles.read_text(&at("a.yaml")), Ok("flow: 1\n".to_owned()));
        assert_eq!(DiskFiles.read_text(&at("none.yaml")), Err(FileProblem::Missing));
        assert_eq!(DiskFiles.read_text(&at("a.yaml/b")), Err(FileProblem::Missing));
        assert_eq!(DiskFiles.read_text(&at("big.yaml")), Err(FileProblem::TooLarge));
        assert_eq!(DiskFiles.read_text(&at("bytes.yaml")), Err(FileProblem::NotText));
        assert_eq!(DiskFiles.read_text(folder.path()), Err(FileProblem::NoFile));
        assert_eq!(DiskFiles.names(folder.path()), ["a.yaml", "big.yaml", "bytes.yaml"]);
        assert!(DiskFiles.exists(&at("a.yaml")) && !DiskFiles.exists(folder.path()));
    }
}
