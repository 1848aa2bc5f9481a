//! `flow schema`.

use super::Exit;
use super::arguments::SchemaKind;
use super::stdout::print;
use crate::lower::FileKind;
use crate::lower::keys::json_schema;

/// Prints the JSON Schema of a kind of file, or of all.
pub(super) fn run(kind: Option<SchemaKind>) -> Exit {
    let kind = kind.map(|kind| match kind {
        SchemaKind::Pipeline => FileKind::Pipeline,
        SchemaKind::Channel => FileKind::Channel,
        SchemaKind::StyleGuide => FileKind::StyleGuide,
        SchemaKind::Test => FileKind::Test,
        SchemaKind::Replies => FileKind::Replies,
        SchemaKind::Definitions => FileKind::Definitions,
    });
    print(&format!("{:#}\n", json_schema(kind)))
}
