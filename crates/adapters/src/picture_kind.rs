//! What kind of picture bytes are, and its size, by the library `imagesize`: it reads headers that others made, so a panic in it means that they are damaged.

use std::io::{BufReader, Cursor};

use imagesize::{ImageSize, ImageType};

use super::guarded::guarded;

/// The kind of a picture. `None`: it is none.
pub(super) fn picture_kind(bytes: &[u8]) -> Option<ImageType> {
    guarded(|| imagesize::image_type(bytes).ok()).flatten()
}

/// Width and height in pixels. `None`: they cannot be read.
pub(super) fn picture_size(bytes: &[u8]) -> Option<ImageSize> {
    guarded(|| imagesize::reader_size(BufReader::new(Cursor::new(bytes))).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How pictures of each kind begin.
    const BEGINNINGS: [&[u8]; 10] = [
        b"\x89PNG\r\n\x1a\n", b"\xFF\xD8\xFF", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"BM", b"II\x2A\0", b"MM\0\x2A", b"\0\0\0\x18ftypheic",
        b"\xFF\x0A", b"8BPS",
    ];

    proptest! {
        #[test]
        fn no_bytes_end_the_process(beginning in 0..BEGINNINGS.len(), rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let bytes = [BEGINNINGS[beginning], &rest].concat();
            let _ = (picture_kind(&bytes), picture_size(&bytes));
        }
    }
}
