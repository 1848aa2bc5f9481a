//! Pictures and other content that tools and code returned, stored as files for models and for steps that read them.
//!
//! Files are named by their content, so that an event holds a name instead of megabytes. Their folder is readable only by this user and is removed
//! when the process ends. A run that is resumed later shows its model the text of the result, which names each picture.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::event::Failure;
use crate::kept_name::{KEPT_FOLDER, hash_of};
use crate::model::FailureKind;
use crate::{lock, os};

/// Maximum size of all pictures of a process, in bytes.
const MOST_BYTES: usize = 256 << 20;

/// The pictures of a process.
#[derive(Clone, Default)]
pub(crate) struct KeptFiles(Arc<Mutex<KeptFolder>>);

#[derive(Default)]
struct KeptFolder {
    place: Option<TempDir>,
    bytes: usize,
}

impl KeptFiles {
    /// Stores pictures and returns their paths. Pictures that exceed the limit are left out; the text of the result still names them.
    pub(crate) async fn keep(&self, pictures: Vec<(Vec<u8>, &'static str)>) -> Result<Vec<PathBuf>, Failure> {
        if pictures.is_empty() {
            return Ok(vec![]);
        }
        let folder = Arc::clone(&self.0);
        let kept = tokio::task::spawn_blocking(move || lock(&folder).keep(pictures)).await;
        let ends = |_| Failure::new(FailureKind::Unavailable, "flow ends");
        let cannot =
            |error| Failure::new(FailureKind::Unavailable, format!("a picture or other content cannot be stored as a file: {error}"));
        kept.map_err(ends)?.map_err(cannot)
    }
}

impl KeptFolder {
    fn keep(&mut self, pictures: Vec<(Vec<u8>, &'static str)>) -> std::io::Result<Vec<PathBuf>> {
        let place = match self.place.take() {
            Some(place) => place,
            None => tempfile::Builder::new().prefix(KEPT_FOLDER).permissions(os::permissions(0o700)).tempdir()?,
        };
        let place = self.place.insert(place).path().to_path_buf();
        let mut paths = vec![];
        for (bytes, ending) in pictures {
            let name = hash_of(&bytes);
            let path = place.join(if ending.is_empty() { name } else { format!("{name}.{ending}") });
            if !path.exists() {
                if self.bytes + bytes.len() > MOST_BYTES {
                    continue;
                }
                let mut file = tempfile::NamedTempFile::new_in(&place)?;
                file.write_all(&bytes)?;
                file.persist(&path).map_err(|error| error.error)?;
                self.bytes += bytes.len();
            }
            paths.push(path);
        }
        Ok(paths)
    }
}
