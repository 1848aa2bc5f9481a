//! The folder of a `file` tool. Names are plain names: no path, no leading dot; links are not followed.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::event::{Failure, FailureKind};
use crate::port::{Folder, Pending};

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// `O_NOFOLLOW` on Linux.
const NO_FOLLOW: i32 = 0o400_000;

/// Folders on disk.
#[derive(Debug, Default, Clone)]
pub struct DiskFolder;

impl Folder for DiskFolder {
    fn list(&self, folder: &Path) -> Pending<Vec<String>> {
        let folder = folder.to_path_buf();
        Box::pin(async move { list(&folder) })
    }

    fn read(&self, folder: &Path, name: &str) -> Pending<String> {
        let path = inside(folder, name);
        Box::pin(async move { read(&path?) })
    }

    fn write(&self, folder: &Path, name: &str, text: &str) -> Pending<String> {
        let (folder, path, text) = (folder.to_path_buf(), inside(folder, name), text.to_string());
        Box::pin(async move {
            let path = path?;
            write(&folder, &path, &text).map_err(|e| failed("write", &path, &e))?;
            Ok(path.display().to_string())
        })
    }
}

/// A name in a folder: 1 to 80 of letters, digits, `.`, `_`, `-`, no leading dot.
fn inside(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let is_plain =
        (1..=80).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if is_plain {
        return Ok(folder.join(name));
    }
    let shown: String = name.chars().take(80).collect();
    let message =
        format!("\"{}\" is no plain file name: letters, digits, \".\", \"_\" and \"-\", at most 80", crate::diagnostic::visible(&shown));
    Err(Failure::new(FailureKind::Denied, message))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(FailureKind::Unavailable, format!("cannot {what} {}: {error}", path.display()))
}

/// A folder as it can be opened: the current one has an empty path.
fn opened(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn list(folder: &Path) -> Result<Vec<String>, Failure> {
    let folder = opened(folder);
    let entries = std::fs::read_dir(folder).map_err(|e| failed("list", folder, &e))?;
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|t| t.is_file());
    let mut names: Vec<String> = entries.flatten().filter(is_file).filter_map(|e| e.file_name().into_string().ok()).collect();
    names.retain(|name| inside(folder, name).is_ok());
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String, Failure> {
    let file = std::fs::OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path).map_err(|e| failed("read", path, &e))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|e| failed("read", path, &e))?;
    if read as u64 > MOST_BYTES {
        return Err(Failure::new(FailureKind::TooLarge, format!("{} is larger than 8 MiB", path.display())));
    }
    Ok(text)
}

/// Whole or not at all: a new file beside it, on disk, then moved over it.
fn write(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let folder = opened(folder);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_denied() {
        for name in ["../x", "/etc/passwd", "a/b", ".hidden", "", "a\0b", "x\n", &"a".repeat(81)] {
            assert_eq!(inside(Path::new("f"), name).unwrap_err().kind, FailureKind::Denied, "{name:?}");
        }
    }

    #[test]
    fn a_planted_link_is_not_followed_and_is_replaced_by_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        let inner = folder.path().join("tool");
        std::fs::create_dir(&inner).unwrap();
        std::os::unix::fs::symlink(&outside, inner.join("link")).unwrap();
        assert!(read(&inner.join("link")).is_err());
        write(&inner, &inner.join("link"), "new").unwrap();
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(read(&inner.join("link")).unwrap(), "new");
        assert_eq!(list(&inner).unwrap(), ["link"]);
    }
}
