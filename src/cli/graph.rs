//! `flow graph`: a pipeline as a picture, or what really ran.

use std::path::Path;

use super::arguments::{GraphFormat, GraphOptions, SharedOptions};
use super::refusal::Refusal;
use super::{Exit, checked, runs, stdout};
use crate::adapter::files::DiskFiles;
use crate::check::check_file;
use crate::journal::Record;
use crate::report::graph;
use crate::runtime::CheckError;

/// Draws a pipeline.
pub(super) fn run(options: &GraphOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let graph = match (&options.file, &options.run) {
        (Some(file), _) => {
            let workflow = checked::pipeline(file, shared)?;
            graph::graph(&workflow.checked.plan).ok_or_else(|| Refusal::usage(CheckError::NoPipeline(workflow.file)))?
        }
        (None, Some(id)) => of_run(id, shared)?,
        (None, None) => return Err(Refusal::usage("name a pipeline file, or a run with --run")),
    };
    let format = if options.json { GraphFormat::Json } else { options.format };
    Ok(stdout::print(&match format {
        GraphFormat::Mermaid => graph::mermaid(&graph),
        GraphFormat::Dot => graph::dot(&graph),
        GraphFormat::Svg => graph::svg(&graph),
        GraphFormat::Json => graph::json(&graph),
    }))
}

/// What really ran, on the graph of its pipeline if that is still the file that ran.
fn of_run(id: &str, shared: &SharedOptions) -> Result<graph::Graph, Refusal> {
    let (record, file) = runs::stored(Some(id), shared)?;
    let Some(file) = file else { return Ok(alone(&record, shared, "it does not say which file it ran")) };
    let path = Path::new(&file);
    if !path.exists() {
        return Ok(alone(&record, shared, &format!("{file} does not exist any more")));
    }
    let checked = check_file(path, &shared.project_of(path), &DiskFiles);
    let is_same = checked.loaded.program.pipelines.first().is_some_and(|pipeline| pipeline.hash == record.hash);
    match graph::graph(&checked.plan).filter(|_| is_same) {
        Some(mut graph) => {
            graph::ran(&mut graph, &record);
            Ok(graph)
        }
        None => Ok(alone(&record, shared, &format!("{file} has changed since"))),
    }
}

fn alone(record: &Record, shared: &SharedOptions, why: &str) -> graph::Graph {
    if !shared.quiet {
        tell!("drawn from the record alone, in the order in which steps began: {why}");
    }
    graph::ran_alone(record)
}
