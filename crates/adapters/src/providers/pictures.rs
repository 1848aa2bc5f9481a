//! Pictures in a prompt: reads them and converts them to the form that wire formats require.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use imagesize::ImageType;

use super::super::files;
use super::super::http::HttpFault;
use super::super::kept_name::check_kept;
use super::super::own::OwnFiles;
use super::super::picture_kind::picture_kind;
use crate::event::Failure;
use crate::event::MessageRole;
use crate::model::FailureKind;
use crate::port::{Message, ModelRequest};

/// Maximum size of one picture that providers accept, in bytes (Anthropic, "Vision": 5 MB for one picture).
const MOST_BYTES: u64 = 5 * 1024 * 1024;

/// A picture in the form that is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) media_type: &'static str,
    pub(super) base64: String,
}

impl Picture {
    /// The content as a data URL.
    pub(super) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

/// The pictures of a request, by path.
#[derive(Debug, Default)]
pub(super) struct Pictures(BTreeMap<PathBuf, Picture>);

impl Pictures {
    /// The pictures of a message, in order.
    pub(super) fn in_message<'p>(&'p self, message: &'p Message) -> impl Iterator<Item = &'p Picture> {
        message.pictures.iter().filter_map(|path| self.0.get(path))
    }
}

/// Reads the pictures of a request. If one cannot be read, nothing is sent.
pub(super) async fn load(request: &ModelRequest, own: &Arc<OwnFiles>) -> Result<Pictures, HttpFault> {
    let mut paths: Vec<PathBuf> = request.messages.iter().flat_map(|message| message.pictures.clone()).collect();
    if paths.is_empty() {
        return Ok(Pictures::default());
    }
    paths.sort();
    paths.dedup();
    let own = Arc::clone(own);
    let of_tools: HashSet<PathBuf> =
        request.messages.iter().filter(|one| one.role == MessageRole::Tool).flat_map(|one| one.pictures.clone()).collect();
    // The text of a tool's result names its pictures; if the run was resumed in another process, the files no longer exist.
    let is_gone = move |path: &PathBuf| of_tools.contains(path) && !path.exists();
    let read = move || {
        let there = paths.into_iter().filter(|path| !is_gone(path));
        there.map(|path| read(&path, &own).map(|picture| (path, picture))).collect::<Result<_, _>>()
    };
    let pictures = tokio::task::spawn_blocking(read).await;
    let broken = |_| Failure::new(FailureKind::Internal, "an internal error of flow stopped the reading of a picture");
    pictures.map_err(broken).and_then(|pictures| pictures).map(Pictures).map_err(HttpFault::before_sending)
}

fn read(path: &Path, own: &OwnFiles) -> Result<Picture, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = own.open(path, files::open)?.and_then(|file| files::within(file, MOST_BYTES)).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => Failure::new(FailureKind::WrongType, format!("picture {name} is not a file")),
        ErrorKind::FileTooLarge => Failure::new(FailureKind::TooLarge, format!("picture {name} is larger than 5 MB")),
        _ => Failure::new(FailureKind::Unavailable, format!("picture {name} cannot be read: {error}")),
    })?;
    check_kept(path, &bytes)?;
    let media_type = match picture_kind(&bytes) {
        Some(ImageType::Png) => "image/png",
        Some(ImageType::Jpeg) => "image/jpeg",
        Some(ImageType::Gif) => "image/gif",
        Some(ImageType::Webp) => "image/webp",
        _ => {
            let message = format!("picture {name} is not a PNG, JPEG, GIF or WebP, the formats that models accept");
            return Err(Failure::new(FailureKind::WrongType, message));
        }
    };
    Ok(Picture { media_type, base64: base64::engine::general_purpose::STANDARD.encode(bytes) })
}
