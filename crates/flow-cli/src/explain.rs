//! Explanations of files and of flow itself: `flow explain` (a pipeline in plain words, the page of a code, a key), `flow graph` (a picture
//! of a pipeline or of a run), `flow schema`, `flow completions`.

use std::path::Path;

use clap::CommandFactory;
use indexmap::{IndexMap, IndexSet};

use super::arguments::{CommandLine, ExplainOptions, GraphFormat, GraphOptions, SharedOptions};
use super::refusal::{Refusal, pipeline};
use super::{Exit, drawn, runs, stdout};
use crate::diagnostic::{Code, did_you_mean, listed, visible};
use crate::lower::FileKind;
use crate::lower::keys::{KeyRule, KeyTable, json_schema, key_names, keys_named};
use crate::report::{self, graph};
use crate::rules::guarantees;
use crate::runtime::CheckError;

/// Explains a file if one of that name exists, else a code, else a key.
pub(super) fn run(options: &ExplainOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let what = options.what.as_str();
    let path = Path::new(what);
    if path.exists() {
        let workflow = pipeline(path, shared)?;
        let (plan, sources) = (&workflow.checked.plan, &workflow.checked.loaded.sources);
        let text = match (options.guarantees, options.json) {
            (false, _) => report::explain::explain(plan),
            (true, _) if plan.pipelines.is_empty() => None,
            (true, false) => Some(report::guarantees(plan, sources)),
            (true, true) => Some(report::guarantees_json(plan, sources)),
        };
        return text.map(|text| stdout::print(&text)).ok_or_else(|| Refusal::usage(CheckError::NoPipeline(workflow.file)));
    }
    if options.guarantees {
        return Err(refusal!(NothingRan, "no pipeline file is called {}", visible(what)));
    }
    if let Some(found) = Code::find(what) {
        return Ok(stdout::print(found.page()));
    }
    if what.contains(['/', '\\']) || what.ends_with(".yaml") || what.ends_with(".yml") {
        return Err(refusal!(NothingRan, "no file found: {} does not exist", visible(what)));
    }
    let keys = keys_named(what);
    if !keys.is_empty() {
        return Ok(stdout::print(&about_keys(&keys)));
    }
    let names = Code::ALL.iter().flat_map(|c| [c.id(), c.name()]).chain(key_names());
    Err(refusal!(Usage, "no file, no code and no key is called \"{}\"{}", visible(what), did_you_mean(what, names)))
}

/// Describes the keys of one name, for each place where they are allowed.
fn about_keys(keys: &[(&'static KeyTable, &'static KeyRule)]) -> String {
    let mut told: IndexMap<String, IndexSet<&str>> = IndexMap::new();
    for (place, key) in keys {
        let needed = if key.is_required { " (required)" } else { "" };
        let text = format!("  {}{needed}\n  takes {}\n", key.about, key.takes.in_words());
        told.entry(text).or_default().insert(place.name);
    }
    let name = keys.first().map_or("", |(_, key)| key.name);
    let line =
        |(text, places): (String, IndexSet<&str>)| format!("{name}, in {}\n{text}", listed(&places.into_iter().collect::<Vec<_>>(), "and"));
    told.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Prints the JSON Schema of one kind of file, or of all.
pub(super) fn schema(kind: Option<FileKind>) -> Exit {
    stdout::print(&format!("{:#}\n", json_schema(kind)))
}

/// Prints the script with which a shell completes the commands and options of `flow`.
pub(super) fn completions(shell: clap_complete::Shell) -> Exit {
    let mut text = vec![];
    clap_complete::generate(shell, &mut CommandLine::command(), "flow", &mut text);
    stdout::print(&String::from_utf8_lossy(&text))
}

/// Draws a pipeline or a run.
pub(super) fn graph(options: &GraphOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let mut verdicts = vec![];
    let graph = match (&options.file, &options.run) {
        (Some(file), _) => {
            let workflow = pipeline(file, shared)?;
            let mut graph = graph::graph(&workflow.checked.plan).ok_or_else(|| Refusal::usage(CheckError::NoPipeline(workflow.file)))?;
            if options.guarantees {
                verdicts = guarantees::lines(&workflow.checked.plan);
                graph.notes.extend(verdicts.iter().cloned());
            }
            graph
        }
        (None, Some(id)) => {
            let (record, file) = runs::stored(Some(id), shared)?;
            drawn::of_run(&record, file.as_deref(), shared)
        }
        (None, None) => return Err(Refusal::usage("name a pipeline file, or a run with --run")),
    };
    let format = if options.json { GraphFormat::Json } else { options.format };
    Ok(stdout::print(&match format {
        GraphFormat::Mermaid => graph::mermaid(&graph, &verdicts),
        GraphFormat::Dot => graph::dot(&graph),
        GraphFormat::Svg => graph::svg(&graph),
        GraphFormat::Json => graph::json(&graph),
    }))
}
