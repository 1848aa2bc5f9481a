//! How pictures that tools and code made are named while they are kept.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::event::Failure;
use crate::model::FailureKind;

/// What the name of their folder begins with.
#[cfg(any(feature = "mcp", feature = "sandbox"))]
pub(crate) const KEPT_FOLDER: &str = "flow-pictures-";

/// The name of content.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Checks content that was kept under the name of its hash, in whatever folder. The folder goes when a process ends, and anybody on this machine could make
/// it again: a run that continues must not take what lies there then for its picture.
///
/// # Errors
/// It is not what was kept (`denied`).
pub(crate) fn check_kept(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_hash = name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hash || *name == hash_of(bytes) {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Denied,
        format!("{} is not the picture that was kept there; run the step that made it again", path.display()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_known_by_its_hash() {
        let kept = format!("/tmp/flow-pictures-x/{}.png", hash_of(b"a"));
        assert!(check_kept(Path::new(&kept), b"a").is_ok());
        assert!(
            check_kept(Path::new(&kept), b"b")
                .unwrap_err()
                .message
                .ends_with("is not the picture that was kept there; run the step that made it again")
        );
        assert!(check_kept(Path::new("data/chart.png"), b"b").is_ok(), "an author's own file has another name");
    }
}
