//! The graph of a run: its results on the graph of its pipeline, if the file has not changed since.

use std::path::Path;

use super::arguments::SharedOptions;
use crate::adapter::disk_files::DiskFiles;
use crate::check::check_file;
use crate::journal::Record;
use crate::report::graph;

/// Returns the graph of a run. `file`: its pipeline file, if it is recorded.
pub(super) fn of_run(record: &Record, file: Option<&str>, shared: &SharedOptions) -> graph::Graph {
    let Some(file) = file else { return alone(record, shared, "its file is not recorded") };
    let path = Path::new(file);
    if !path.exists() {
        return alone(record, shared, &format!("{file} no longer exists"));
    }
    let checked = check_file(path, &shared.project_of(path), &DiskFiles);
    let is_same = checked.loaded.program.pipelines.first().is_some_and(|pipeline| pipeline.hash == record.hash);
    match graph::graph(&checked.plan).filter(|_| is_same) {
        Some(mut graph) => {
            graph::ran(&mut graph, record);
            graph
        }
        None => alone(record, shared, &format!("{file} has changed since")),
    }
}

fn alone(record: &Record, shared: &SharedOptions, why: &str) -> graph::Graph {
    note!(shared, "drawn from the record only, in the order in which steps began: {why}");
    graph::ran_alone(record)
}
