//! `flow schema`.

use super::Exit;
use super::arguments::Kind;
use super::stdout::print;
use crate::lower::FileKind;
use crate::lower::keys::json_schema;

/// Prints the JSON Schema of a kind of file, or of all.
pub(super) fn run(kind: Option<Kind>) -> Exit {
    let kind = kind.map(|kind| match kind {
        Kind::Pipeline => FileKind::Pipeline,
        Kind::Channel => FileKind::Channel,
        Kind::StyleGuide => FileKind::StyleGuide,
        Kind::Test => FileKind::Test,
        Kind::Replies => FileKind::Replies,
        Kind::Definitions => FileKind::Definitions,
    });
    print(&format!("{:#}\n", json_schema(kind)))
}
