//! Tree → model: shape errors, names, defaults. Everything is collected, nothing stops: a broken part is reported once and
//! the rest is read on.
//!
//! How to add a key: a line in its table in [`keys`], its reading in the file of its place, a field in `model`.
//! How to add a step kind: see `model/step_kind.rs`.

mod agent_programs;
mod agents;
mod aliases;
mod approval;
mod asked;
mod case_rows;
mod channels;
mod checks;
mod columns;
mod context;
mod data;
mod definitions;
mod dialogue;
mod endpoint;
mod fields;
mod foreign;
mod history;
mod ids;
pub mod keys;
mod kinds;
mod knowledge;
mod misplaced;
mod models;
mod other_file;
mod other_shapes;
mod owner;
mod pipeline;
mod policies;
mod presets;
mod queries;
mod reader;
mod replies;
mod reserved;
mod root;
mod schema;
mod settings;
mod sql;
mod started;
mod steps;
mod style_guides;
mod task;
mod testing;
mod texts;
mod tools;
mod units;
mod unknown_keys;
mod values;
mod world;
mod written;
mod written_form;
mod written_plan;

#[cfg(test)]
mod tests;

pub(crate) use asked::asked_agents;
pub(crate) use case_rows::type_inputs;
pub use channels::channel;
pub use definitions::definitions;
pub use pipeline::{definitions_alone, inline_tests, pipeline};
pub use replies::replies;
pub(crate) use settings::project_settings;
pub use settings::user_settings;
pub use style_guides::style_guide;
pub use testing::test_file;
pub use units::parse_duration;
pub use world::{Definitions, OtherFileError, World};
pub(crate) use written::written_scorecard;
pub(crate) use written_plan::written_plan;

use crate::syntax::Node;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum FileKind {
    /// It has `name` (or `steps`, which only a pipeline can have).
    Pipeline,
    /// It has `channel`.
    Channel,
    /// It has `style_guide`.
    StyleGuide,
    /// It has `test`.
    Test,
    /// It has `replies`, or `meanings`.
    Replies,
    /// None of these: definitions for `imports`.
    Definitions,
}

impl FileKind {
    /// What people call it.
    pub fn words(self) -> &'static str {
        match self {
            FileKind::Pipeline => "a pipeline",
            FileKind::Channel => "a channel",
            FileKind::Test => "a test",
            FileKind::Replies => "a file of scripted replies",
            FileKind::StyleGuide => "a style guide",
            FileKind::Definitions => "a file of shared definitions",
        }
    }
}

/// What a file is: section 2 of the language page. A file with `steps` and no `name` counts as a pipeline that lacks its name; one with none
/// of the names is what most of its keys belong to, so that one slip in a name is one finding. Shared definitions come first among equals.
pub fn kind_of(tree: &Node) -> FileKind {
    let Some(map) = tree.as_map() else { return FileKind::Definitions };
    let count = |kind: FileKind| map.entries.iter().filter(|(key, _)| kind.place().key(&key.text).is_some()).count();
    if map.get("name").is_some() && !["steps", "inputs", "agents", "outputs"].iter().any(|key| map.get(key).is_some()) {
        // A channel or a style guide that says "name" in place of its own key.
        let other = [FileKind::Channel, FileKind::StyleGuide].into_iter().find(|kind| count(*kind) > count(FileKind::Pipeline));
        if let Some(kind) = other {
            return kind;
        }
    }
    if let Some((_, kind)) = ROOT_KEYS.iter().find(|(key, _)| map.get(key).is_some()) {
        return *kind;
    }
    let known = |kind: &FileKind| map.entries.iter().filter(|(key, _)| kind.place().key(&key.text).is_some()).count();
    // The last of equals counts.
    let kinds = [FileKind::StyleGuide, FileKind::Replies, FileKind::Test, FileKind::Channel, FileKind::Pipeline, FileKind::Definitions];
    kinds.into_iter().max_by_key(known).unwrap_or(FileKind::Definitions)
}

/// The keys that tell what a file is; the first that is there decides.
const ROOT_KEYS: [(&str, FileKind); 7] = [
    ("name", FileKind::Pipeline),
    ("channel", FileKind::Channel),
    ("test", FileKind::Test),
    ("replies", FileKind::Replies),
    ("meanings", FileKind::Replies),
    // A pipeline names its style guide too: without a name, its steps say what it is.
    ("steps", FileKind::Pipeline),
    ("style_guide", FileKind::StyleGuide),
];
