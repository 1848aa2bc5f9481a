//! What nothing uses: asked only where no step is lost, since what a lost step would have used is not known.

use std::collections::HashSet;

use super::Diagnostic;
use super::names::PipelineNames;
use super::seat::Texts;
use super::{unused_definition, unused_input, unused_output};
use crate::model::{StepKind, ToolKind};

/// F105, F210 and F301.
pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let is_broken = names.pipeline.steps.is_empty()
        || names.pipeline.steps.iter().any(|planned| planned.step.kind == StepKind::Broken)
        || file.tools.values().any(|tool| tool.kind == ToolKind::Broken);
    // What a lost step would have read or used is not known.
    if is_broken || reads_unknown(texts, "steps", |id| names.has_step(id)) {
        return;
    }
    unused_output::check(names, texts, out);
    unused_input::check(names, texts, out);
    unused_definition::check(names, out);
}

/// The names that stand right below a root in any text; `None`: some text takes the root as a whole.
pub(super) fn read_below<'t>(texts: &'t Texts, root: &str) -> Option<HashSet<&'t str>> {
    let reads = texts.all.iter().flat_map(|placed| &placed.text.reads).filter(|read| read.path.first().is_some_and(|name| name == root));
    reads.map(|read| read.path.get(1).map(String::as_str)).collect()
}

/// Whether a text reads something below a root that is not there. That was reported; it was meant for one of those that seem unread.
pub(super) fn reads_unknown(texts: &Texts, root: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let judged = texts.all.iter().filter(|placed| !texts.seats[placed.seat].is_for_others());
    let mut paths = judged.flat_map(|placed| &placed.text.reads).map(|read| read.path.as_slice());
    paths.any(|path| matches!(path, [first, name, ..] if first == root && !is_known(name)))
}
