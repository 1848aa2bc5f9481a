//! What a step tells beside its output: the message of a failure, details, and files that it writes.

use std::path::Path;

use super::files::{is_in, of_field};
use super::search::{Back, Judges, ReadValue, texts, written};
use super::{Caller, ChainIx, Hop, Labels, Source};
use crate::model::{Field, Pipeline, StepKind, Text, ToolKind, Writer};
use crate::plan::{PipelinePlan, StepIx};

/// What can be read of a step that holds more than a word of the engine.
pub(super) const MEMBERS: [&str; 3] = ["output", "error", "details"];

/// The name under which files are followed that the run itself writes; no text can read it.
pub(super) const FILES: &str = "<files>";

/// The name under which tables are followed whose files a program may read; no text can read it.
pub(super) const TABLES: &str = "<tables>";

/// Fields of `details` that hold numbers and words of the engine.
const COUNTED: [&str; 19] = [
    "attempts", "duration_ms", "model", "usage", "cached", "passed", "refined", "used_otherwise", "state", "status", "identical_failures",
    "exit", "sandbox", "row_count", "cut", "columns", "run", "case", "pieces",
];

impl Labels<'_> {
    /// The message of a failure quotes what a step was given, and what it made.
    pub(super) fn error(&mut self, chain: ChainIx, ix: StepIx, judges: Judges, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let step = &planned.step(ix).step;
        let by = self.step_words(chain, ix);
        let told = |writer, words: String| written(writer, (chain, Some(ix)), words, step.id.span);
        found.push(told(Writer::Tool, format!("the message of a failure of {by}")));
        if !step.kind.agents(&planned.pipeline).is_empty() {
            found.push(told(Writer::Model, format!("what a failure of {by} quotes of its models")));
        }
        self.given(chain, ix, found);
        let called = planned.called(step).and_then(|id| self.called(chain, Caller::Step(ix), id));
        found.extend(called.map(|called| {
            let hop = Hop { reader: by.clone(), path: "the failure of the pipeline".into(), span: step.id.span, doubt: None };
            Back::Of(ReadValue { chain: called, seat: None, path: vec!["failure".into()] }, hop)
        }));
        for case in &planned.step(ix).cases {
            let block = planned.block(*case);
            (0..block.len() as u32).for_each(|place| self.step(chain, StepIx(block.first.0 + place), "error", &[], judges, found));
        }
    }

    /// Verdicts and turns are a model's, results of tools a tool's, and some quote what they are about; what is counted or one of the engine's words is
    /// nobody's.
    pub(super) fn details(&self, chain: ChainIx, ix: StepIx, path: &[String], found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let step = &planned.step(ix).step;
        let by = self.step_words(chain, ix);
        if path.first().is_some_and(|name| COUNTED.contains(&name.as_str())) {
            return;
        }
        let told = |writer, what: String| written(writer, (chain, Some(ix)), what, step.id.span);
        if !step.kind.agents(&planned.pipeline).is_empty() {
            found.push(told(Writer::Model, format!("what the models of {by} say")));
            found.push(told(Writer::Tool, format!("what the tools of {by} give")));
        }
        if step.kind.facts().starts.is_some() {
            found.push(told(Writer::Tool, format!("what the program of {by} says")));
        }
        self.given(chain, ix, found);
    }

    /// All that a step is given.
    pub(super) fn given(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        let step = &self.pipeline(chain).step(ix).step;
        let mut list: Vec<&Text> = vec![];
        step.kind.each_text(step.span, &mut |authored| list.extend(authored.text()));
        if let StepKind::Gate(gate) = &step.kind {
            list.extend(gate.feedback(&self.pipeline(chain).pipeline));
        }
        texts(chain, Some((ix, true)), list.into_iter().map(|text| (text, vec![])), &self.step_words(chain, ix), None, found);
    }

    /// What is read from files may have been written by the run itself, if one of its pipelines writes any.
    pub(super) fn read_from_files(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        if !self.plan.pipelines.iter().any(writes_files) {
            return;
        }
        let by = self.step_words(chain, ix);
        let doubt = Some(format!("{by} reads no file that the run itself has written"));
        let hop = Hop { reader: by, path: "a file".into(), span: self.span_of(chain, ix), doubt };
        found.push(Back::Of(ReadValue { chain, seat: None, path: vec![FILES.to_owned()] }, hop));
    }

    /// A program reads what it likes in the project, and so the files of tables with personal columns.
    pub(super) fn read_from_folder(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        if self.pipeline(chain).pipeline.data.values().all(|data| data.pii.is_empty()) {
            return;
        }
        let by = self.step_words(chain, ix);
        let doubt = Some(format!("the program of {by} opens no file of a table with personal columns"));
        let hop = Hop { reader: by, path: "a file".into(), span: self.span_of(chain, ix), doubt };
        found.push(Back::Of(ReadValue { chain, seat: None, path: vec![TABLES.to_owned()] }, hop));
    }

    /// The first personal column of a pipeline's tables.
    pub(super) fn table_files(&self, chain: ChainIx) -> Option<Back> {
        let mut tables = self.pipeline(chain).pipeline.data.iter();
        let (table, column) = tables.find_map(|(name, data)| Some((name, data.pii.first()?)))?;
        let (personal, words) = (Some(format!("{table}.{}", column.value)), format!("the file of table {table}"));
        Some(Back::From(Source { writer: Writer::File, personal, at: (chain, None), words, span: column.span }))
    }

    /// Who may have written what the run writes into files. It is personal where anything is.
    pub(super) fn written_files(&self, chain: ChainIx) -> Back {
        let words = "what the run wrote into a file".to_owned();
        let span = self.pipeline(chain).pipeline.name.span;
        let personal = self.plan.pipelines.iter().any(|planned| has_personal(&planned.pipeline)).then(|| words.clone());
        Back::From(Source { writer: Writer::Model, personal, at: (chain, None), words, span })
    }

    /// Whether a pipeline may write a file by a `file` tool or a program.
    pub(super) fn may_write(&self, file: &Path) -> bool {
        self.plan.pipelines.iter().filter(|planned| writes_files(planned)).any(|planned| {
            let of_tools = planned
                .pipeline
                .tools
                .values()
                .filter_map(|tool| if let ToolKind::File(folder) = &tool.kind { Some(folder) } else { None });
            of_tools.chain(planned.pipeline.written_folders()).any(|folder| is_in(file, folder))
        })
    }
}

/// Whether any value of a pipeline is personal.
fn has_personal(pipeline: &Pipeline) -> bool {
    let is_marked = |field: &Field| of_field(field).is_some();
    pipeline.person.is_some() || pipeline.input_fields().iter().any(is_marked) || pipeline.data.values().any(|data| !data.pii.is_empty())
}

/// Whether a pipeline writes files itself: by a `file` tool, or by a program that has folders to write into. What tool servers do is not known.
fn writes_files(planned: &PipelinePlan) -> bool {
    let pipeline: &Pipeline = &planned.pipeline;
    let by_tool = pipeline.tools.values().any(|tool| match &tool.kind {
        ToolKind::File(_) => tool.effects(None).changes || planned.steps.iter().any(|step| matches!(&step.step.kind, StepKind::Send(_))),
        ToolKind::Program { run, .. } => !run.writes.is_empty(),
        ToolKind::Http { .. }
        | ToolKind::Sql(_)
        | ToolKind::Python { .. }
        | ToolKind::Knowledge(_)
        | ToolKind::Pipeline { .. }
        | ToolKind::Smtp { .. }
        | ToolKind::Server(_)
        | ToolKind::Broken => false,
    });
    let by_model = pipeline.models.values().filter_map(|model| model.provider.program()).any(|program| !program.run.writes.is_empty());
    let by_step = planned.steps.iter().filter_map(|step| step.step.kind.facts().starts).any(|run| !run.writes.is_empty());
    by_tool || by_model || by_step
}
