//! The size of pictures. The picture itself is passed to a model as a file.

use std::path::Path;

use imagesize::ImageType;

use super::super::picture_kind::{picture_kind, picture_size};
use super::sentence::{file_name, wrong_type};
use crate::event::Failure;

/// Returns the kind, and the width and height in pixels.
pub(super) fn size(path: &Path, bytes: &[u8]) -> Result<(&'static str, u64, u64), Failure> {
    let wrong = || wrong_type(format!("{} is not a picture that can be read. Save it as PNG or JPEG.", file_name(path)));
    let kind = match picture_kind(bytes).ok_or_else(wrong)? {
        ImageType::Png => "PNG",
        ImageType::Jpeg => "JPEG",
        ImageType::Gif => "GIF",
        ImageType::Webp => "WebP",
        ImageType::Bmp => "BMP",
        ImageType::Tiff => "TIFF",
        _ => return Err(wrong()),
    };
    let size = picture_size(bytes).ok_or_else(wrong)?;
    Ok((kind, size.width as u64, size.height as u64))
}

#[cfg(test)]
mod tests {
    use super::super::testing::png_of;
    use super::*;

    #[test]
    fn a_picture_tells_its_size() {
        assert_eq!(size(Path::new("a.png"), &png_of(640, 480)).unwrap(), ("PNG", 640, 480));
    }

    #[test]
    fn a_cut_or_other_file_is_a_sentence() {
        let failure = size(Path::new("data/a.png"), &png_of(1, 1)[..12]).unwrap_err();
        assert_eq!(failure.message, "a.png is not a picture that can be read. Save it as PNG or JPEG.");
        assert!(size(Path::new("a.png"), b"hello").is_err());
    }
}
