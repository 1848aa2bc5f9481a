//! F109: two steps that may run at the same time write one file.

use std::collections::HashMap;
use std::path::Path;

use crate::model::{FilePart, Filling, StepKind};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, PipelinePlan, Texts};

pub(in crate::rules) fn check(names: &PipelineNames, _texts: &Texts, out: &mut Vec<Diagnostic>) {
    let mut by_file: HashMap<(&Path, &str), Vec<StepIx>> = HashMap::new();
    let mut order = vec![];
    for (ix, _) in names.pipeline.numbered_steps() {
        let Some(file) = written(names, ix) else { continue };
        let writers = by_file.entry(file).or_default();
        if writers.is_empty() {
            order.push(file);
        }
        writers.push(ix);
    }
    for file in order {
        let Some(writers) = by_file.get_mut(&file) else { continue };
        // Of steps that are all in order, each is above the next one by how much is below it.
        writers.sort_by_key(|ix| std::cmp::Reverse(below(names.pipeline, *ix)));
        for pair in writers.windows(2) {
            let [one, other] = pair else { continue };
            let adds = |ix: StepIx| matches!(&names.step(ix).kind, StepKind::Send(send) if send.may_append());
            // Both texts stand in it then.
            if may_meet(names, *one, *other) && !(adds(*one) && adds(*other)) {
                let (first, second) = if one < other { (*one, *other) } else { (*other, *one) };
                let (a, b) = (names.pipeline.path(first), names.pipeline.path(second));
                let message = format!("\"{a}\" and \"{b}\" can run at the same time and both write \"{}\"", file.1);
                out.push(
                    Diagnostic::new(Code::SameFileWritten, names.step(second).id.span, message)
                        .related(names.step(first).id.span, "the other one")
                        .help("give each its own file, or add needs so that one waits for the other"),
                );
            }
        }
    }
}

/// Folder and name of the file a step writes, if the name is written out.
fn written<'a>(names: &PipelineNames<'a>, ix: StepIx) -> Option<(&'a Path, &'a str)> {
    let kind = &names.step(ix).kind;
    let (tool, part) = names.pipeline.pipeline.tool(&kind.facts().receiver?.value)?;
    // What is sent to a folder is written there.
    let writes = if kind.facts().sends { part.is_none() } else { tool.file_part(part).is_some_and(FilePart::changes) };
    let folder = tool.kind.folder().filter(|_| writes)?;
    let (_, name) = kind.facts().with.iter().find(|(name, _)| name.value == "name")?;
    match name {
        Filling::Constant(value) => Some((folder, value.as_str()?)),
        _ => None,
    }
}

fn below(pipeline: &PipelinePlan, ix: StepIx) -> u32 {
    let ix = pipeline.around(ix).last().unwrap_or(ix);
    let planned = pipeline.step(ix);
    pipeline.block(planned.block).longest.get(planned.place).copied().unwrap_or(0)
}

/// Whether neither of two steps waits for the other.
fn may_meet(names: &PipelineNames, one: StepIx, other: StepIx) -> bool {
    let pipeline = names.pipeline;
    let way = |ix: StepIx| pipeline.around(ix).collect::<Vec<StepIx>>();
    // The steps that hold both, or are them, and are in one list.
    let (ways, others) = (way(one), way(other));
    for a in &ways {
        for b in &others {
            let (first, second) = (pipeline.step(*a), pipeline.step(*b));
            if first.block == second.block {
                let block = pipeline.block(first.block);
                // The same route: its cases exclude each other.
                return a != b && !block.is_upstream(first.place, second.place) && !block.is_upstream(second.place, first.place);
            }
        }
    }
    // `steps`, `on_failure` and `finally` follow each other.
    false
}
