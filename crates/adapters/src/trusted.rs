//! The content that the user trusts: one small file for each content of a pipeline, named by its hash, in a folder of the user outside any project.
//!
//! Because each entry is a separate file, two processes can add entries at the same time, and a damaged entry does not affect the others.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::files::{self, FileError, cannot};

/// Version of an entry, and maximum size of an entry in bytes.
const VERSION: u64 = 1;
const LARGEST: u64 = 64 * 1024;

/// One trusted content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedEntry {
    flow: u64,
    /// The pipeline's file when it was trusted, for display.
    pub file: PathBuf,
    /// The hash of its content, in hex; also the name of the entry.
    pub sha256: String,
    /// When it was trusted.
    pub at: DateTime<Utc>,
}

/// Why the list, or one of its entries, cannot be used. An unusable list or entry trusts nothing.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum TrustError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the folder {} {why}, so its list of trusted files is ignored: make the folder private (chmod 700) and check its files", folder.display())]
    Shared { folder: PathBuf, why: &'static str },
    #[error("{0}; this entry is ignored, and you can remove it")]
    Entry(#[source] FileError),
}

/// The list of one user.
#[derive(Debug, Clone)]
pub struct Trusted {
    folder: PathBuf,
}

impl Trusted {
    /// Creates the list in this folder, which may be missing.
    pub fn new(folder: PathBuf) -> Trusted {
        Trusted { folder }
    }

    /// When a content was trusted; `None` if it is not trusted.
    ///
    /// # Errors
    /// Fails if the list cannot be read, or the entry is not valid. The content is then not trusted.
    pub fn since(&self, sha256: &str) -> Result<Option<DateTime<Utc>>, TrustError> {
        self.is_his_own()?;
        Ok(self.entry(&self.folder.join(sha256))?.map(|entry| entry.at))
    }

    /// Adds a content to the list.
    ///
    /// # Errors
    /// Fails if the entry cannot be written. The content is then not trusted.
    pub fn add(&self, file: &Path, sha256: &str, at: DateTime<Utc>) -> Result<(), TrustError> {
        self.is_his_own()?;
        let path = self.folder.join(sha256);
        let entry = TrustedEntry { flow: VERSION, file: file.to_path_buf(), sha256: sha256.to_owned(), at };
        Ok(files::write_private(&path, &entry).map_err(cannot("write", &path))?)
    }

    /// All entries, sorted by file and time, and a message for each entry that cannot be read.
    ///
    /// # Errors
    /// Fails if the list cannot be read.
    pub fn all(&self) -> Result<(Vec<TrustedEntry>, Vec<String>), TrustError> {
        self.is_his_own()?;
        let cannot = cannot("read", &self.folder);
        let found = match fs::read_dir(&self.folder) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((vec![], vec![])),
            Err(error) => return Err(cannot(error).into()),
        };
        let (mut entries, mut wrong) = (vec![], vec![]);
        for found in found {
            let path = found.map_err(cannot)?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
                continue;
            }
            match self.entry(&path) {
                Ok(entry) => entries.extend(entry),
                Err(why) => wrong.push(why.to_string()),
            }
        }
        entries.sort_by(|a, b| (&a.file, a.at, &a.sha256).cmp(&(&b.file, b.at, &b.sha256)));
        wrong.sort();
        Ok((entries, wrong))
    }

    /// Removes all entries of a file. Returns how many there were.
    ///
    /// # Errors
    /// Fails if the list cannot be read, or an entry cannot be removed.
    pub fn remove(&self, file: &Path) -> Result<usize, TrustError> {
        let (entries, _) = self.all()?;
        let of_file = entries.into_iter().filter(|entry| entry.file == file).map(|entry| self.folder.join(entry.sha256));
        let mut count = 0;
        for path in of_file {
            fs::remove_file(&path).map_err(cannot("remove", &path))?;
            count += 1;
        }
        Ok(count)
    }

    /// Checks that only the user can change or replace the folder: anyone else who can could add trusted content.
    fn is_his_own(&self) -> Result<(), TrustError> {
        for folder in [Some(self.folder.as_path()), self.folder.parent()].into_iter().flatten() {
            if let Some(why) = fs::metadata(folder).ok().and_then(|what| open_to(&what)) {
                return Err(TrustError::Shared { folder: folder.to_path_buf(), why });
            }
        }
        Ok(())
    }

    fn entry(&self, path: &Path) -> Result<Option<TrustedEntry>, TrustError> {
        let cannot = |why: Box<dyn std::error::Error + Send + Sync>| TrustError::Entry(cannot("read", path)(why));
        let read = files::open(path).and_then(|file| Ok((file.metadata()?, files::within(file, LARGEST)?)));
        let text = match read {
            Ok((what, _)) if let Some(why) = open_to(&what) => return Err(cannot(format!("it {why}").into())),
            Ok((_, text)) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(error.into())),
        };
        let entry: TrustedEntry = serde_json::from_slice(&text).map_err(|error| cannot(error.into()))?;
        let is_its_own = path.file_name().is_some_and(|name| name == entry.sha256.as_str());
        match (entry.flow, is_its_own) {
            (VERSION, true) => Ok(Some(entry)),
            (VERSION, false) => Err(cannot("its content does not match its name".into())),
            (other, _) => Err(cannot(format!("version {other} is not known").into())),
        }
    }
}

/// Who else could change a file or folder of the list.
fn open_to(what: &fs::Metadata) -> Option<&'static str> {
    files::is_anothers(what).or_else(|| files::open_to_others(what))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const HASH: &str = "00ff";

    fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn list() -> (tempfile::TempDir, Trusted) {
        let home = tempfile::tempdir().unwrap();
        let trusted = Trusted::new(home.path().join("state/flow/trusted"));
        (home, trusted)
    }

    #[test]
    fn what_was_trusted_is_trusted_until_it_is_removed_and_only_its_owner_can_read_it() {
        let (_home, trusted) = list();
        assert_eq!(trusted.since(HASH).unwrap(), None);
        assert_eq!(trusted.all().unwrap(), (vec![], vec![]));
        trusted.add(Path::new("/p/a.yaml"), HASH, at()).unwrap();
        trusted.add(Path::new("/p/a.yaml"), HASH, at()).unwrap();
        trusted.add(Path::new("/p/b.yaml"), "01", at()).unwrap();
        assert_eq!(trusted.since(HASH).unwrap(), Some(at()));
        assert_eq!(trusted.since("02").unwrap(), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&trusted.folder), mode(&trusted.folder.join(HASH))), (0o700, 0o600));
        let files: Vec<PathBuf> = trusted.all().unwrap().0.into_iter().map(|entry| entry.file).collect();
        assert_eq!(files, [Path::new("/p/a.yaml"), Path::new("/p/b.yaml")]);
        assert_eq!(trusted.remove(Path::new("/p/a.yaml")).unwrap(), 1);
        assert_eq!((trusted.since(HASH).unwrap(), trusted.remove(Path::new("/p/a.yaml")).unwrap()), (None, 0));
        assert_eq!(trusted.since("01").unwrap(), Some(at()));
    }

    #[test]
    fn an_entry_cut_or_changed_anywhere_is_told_and_trusts_nothing_and_the_others_stay() {
        let (_home, trusted) = list();
        trusted.add(Path::new("/p/a.yaml"), HASH, at()).unwrap();
        trusted.add(Path::new("/p/b.yaml"), "01", at()).unwrap();
        let path = trusted.folder.join(HASH);
        let whole = fs::read(&path).unwrap();
        // The last byte is the end of the line, and the one before closes the object.
        for end in 0..whole.len() - 1 {
            fs::write(&path, &whole[..end]).unwrap();
            let told = trusted.since(HASH).unwrap_err().to_string();
            assert!(told.contains("cannot read") && told.contains("this entry is ignored"), "{end}: {told}");
        }
        for (from, to) in [("\"flow\": 1", "\"flow\": 9"), ("00ff", "00fe"), ("\"at\"", "\"on\"")] {
            fs::write(&path, String::from_utf8(whole.clone()).unwrap().replace(from, to)).unwrap();
            assert!(trusted.since(HASH).is_err(), "{from}");
        }
        fs::copy(trusted.folder.join("01"), &path).unwrap();
        assert!(trusted.since(HASH).unwrap_err().to_string().contains("does not match its name"));
        let (entries, wrong) = trusted.all().unwrap();
        assert_eq!((entries.len(), wrong.len()), (1, 1));
        assert!(trusted.since("01").unwrap().is_some());
    }

    #[test]
    fn a_list_that_cannot_be_read_or_written_is_told() {
        let (home, trusted) = list();
        fs::write(home.path().join("state"), "in the way").unwrap();
        assert!(trusted.add(Path::new("/p/a.yaml"), HASH, at()).unwrap_err().to_string().contains("cannot write"));
        assert!(trusted.since(HASH).unwrap_err().to_string().contains("cannot read"));
        assert!(trusted.all().unwrap_err().to_string().contains("cannot read") && trusted.remove(Path::new("/p/a.yaml")).is_err());
        fs::remove_file(home.path().join("state")).unwrap();
        fs::create_dir_all(trusted.folder.join(HASH)).unwrap();
        assert!(trusted.since(HASH).unwrap_err().to_string().contains("cannot read"));
    }
}
