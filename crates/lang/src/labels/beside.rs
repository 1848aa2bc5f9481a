//! What a step tells beside its output: the message of a failure, details, and files that it writes.

use std::path::Path;

use super::files::{first_personal, is_in, of_field, own_texts, tables_of_run};
use super::search::{Back, Judges, ReadValue, below_list, texts, written};
use super::{Caller, ChainIx, Hop, Labels, Seat, Source, agents};
use crate::model::{Agent, Authored, Field, JudgingStep, Pipeline, SandboxMode, StepKind, Text, Tool, ToolKind, Writer};
use crate::plan::{PipelinePlan, Plan, StepIx};
use crate::sql;
use crate::template::reached;

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

impl<'p> Labels<'p> {
    /// The message of a failure quotes what a step was given, and may quote what it made, read or only tested.
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
        self.tested(chain, ix, found);
        let doubt = format!("no failure of {by} quotes what it reads or makes");
        found.push(self.own_output(chain, ix, Some(doubt.clone())));
        let is_personal = |query: &str| planned.pipeline.data.iter().any(|(name, data)| !data.pii.is_empty() && sql::mentions(query, name));
        if let StepKind::Sql(query) = &step.kind
            && is_personal(&query.query.source)
        {
            found.push(self.reading_of(chain, ix, TABLES, "a cell", doubt));
        }
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
    pub(super) fn details(&mut self, chain: ChainIx, ix: StepIx, path: &[String], found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let step = &planned.step(ix).step;
        let by = self.step_words(chain, ix);
        let is_counted = |name: &String| COUNTED.contains(&name.as_str());
        if path.first().is_some_and(is_counted) || matches!(below_list(path)[..], ["status"]) {
            return;
        }
        let told = |writer, what: String| written(writer, (chain, Some(ix)), what, step.id.span);
        if !step.kind.agents(&planned.pipeline).is_empty() {
            found.push(told(Writer::Model, format!("what the models of {by} say")));
            found.push(told(Writer::Tool, format!("what the tools of {by} give")));
            self.failures_told(chain, ix, found);
        }
        if step.kind.facts().starts.is_some() {
            found.push(told(Writer::Tool, format!("what the program of {by} says")));
        }
        self.given(chain, ix, found);
        // What a criterion says that could not be computed, or an agent that could not be asked.
        self.tested(chain, ix, found);
        // Results of tools, and what a program says beside what it prints, come from where the output does. Of inner steps only what is counted is told.
        if planned.step(ix).cases.is_empty() {
            found.push(self.own_output(chain, ix, None));
        }
    }

    /// What an agent is told of calls of its tools that failed, and of tries of a task that were not accepted.
    pub(super) fn failures_told(&mut self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        let (by, planned) = (self.step_words(chain, ix), self.pipeline(chain));
        let kind = &planned.step(ix).step.kind;
        if let StepKind::Task(_) = kind {
            self.given(chain, ix, found);
            self.tested(chain, ix, found);
            let judges = kind.agents(&planned.pipeline).into_iter().filter_map(|name| planned.pipeline.agents.get(&name.value));
            let instructions = judges.filter_map(|agent| agent.instructions.as_ref()).map(|text| (text, vec![]));
            texts(chain, Some((ix, true)), instructions, &by, None, found);
        }
        for tool in self.tools_of_models(chain, ix) {
            tested_in(chain, Some((ix, true)), &own_texts(tool), &format!("a tool in {by}"), found);
            if let Some(called) = tool.kind.pipeline().and_then(|id| self.called(chain, Caller::Model(ix), id)) {
                let hop = Hop { reader: by.clone(), path: "the failure of a tool".into(), span: self.span_of(chain, ix), doubt: None };
                found.push(Back::Of(ReadValue { chain: called, seat: None, path: vec!["failure".into()] }, hop));
            }
        }
    }

    /// The tools that models of a step may call, whatever policies say.
    pub(super) fn tools_of_models(&self, chain: ChainIx, ix: StepIx) -> Vec<&'p Tool> {
        let planned = self.pipeline(chain);
        let (kind, pipeline) = (&planned.step(ix).step.kind, &planned.pipeline);
        let agents = agents(pipeline, kind).into_iter();
        let of_plan = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
        let names = agents.flat_map(|agent| &agent.tools).chain(of_plan);
        names.filter_map(|name| Some(pipeline.tool(&name.value)?.0)).collect()
    }

    fn own_output(&self, chain: ChainIx, ix: StepIx, doubt: Option<String>) -> Back {
        let path = ["steps", &*self.pipeline(chain).step(ix).id, "output"].map(str::to_owned).to_vec();
        let hop = Hop { reader: self.step_words(chain, ix), path: "what it makes".to_owned(), span: self.span_of(chain, ix), doubt };
        Back::Of(ReadValue { chain, seat: Some((ix, true)), path }, hop)
    }

    /// What a failure of a step may quote though its output shows nothing of it: what stands in conditions and comparisons, in those of its
    /// scorecards, and of its agents, tools and models.
    pub(super) fn tested(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let (step, pipeline) = (&planned.step(ix).step, &planned.pipeline);
        let facts = step.kind.facts();
        let mut list: Vec<&Text> = vec![];
        let mut add = |authored: Authored<'p>| list.extend(authored.text());
        step.each_text(&mut add);
        let cards = facts.judges.into_iter().flat_map(JudgingStep::cards).filter_map(|card| pipeline.scorecards.get(&card.name()?.value));
        cards.for_each(|card| card.each_text(&mut add));
        let judges = step.kind.agents(pipeline).into_iter().filter_map(|name| pipeline.agents.get(&name.value));
        let agents: Vec<&Agent> = judges.chain(agents(pipeline, &step.kind)).collect();
        agents.iter().for_each(|agent| agent.each_text(&mut add));
        if !agents.is_empty() {
            pipeline.models.values().for_each(|model| model.each_text(&mut add));
        }
        let own = facts.receiver.and_then(|name| Some(pipeline.tool(&name.value)?.0));
        self.tools_of_models(chain, ix).into_iter().chain(own).for_each(|tool| tool.each_text(&mut add));
        let by = self.step_words(chain, ix);
        // `until` sees the steps of its round.
        let inner = step.kind.repeat().and_then(|_| planned.step(ix).cases.first()).map(|block| planned.block(*block));
        let inner = inner.filter(|block| !block.is_empty()).map(|block| (block.first, false));
        for seat in std::iter::once((ix, true)).chain(inner) {
            tested_in(chain, Some(seat), &list, &by, found);
        }
    }

    /// What a failure of a pipeline itself may quote.
    pub(super) fn tested_by_pipeline(&self, chain: ChainIx, found: &mut Vec<Back>) {
        let pipeline = &self.pipeline(chain).pipeline;
        let mut list: Vec<&Text> = vec![];
        let mut add = |authored: Authored<'p>| list.extend(authored.text());
        pipeline.outputs.each_text(&mut add);
        pipeline.person.iter().for_each(|person| person.each_text(pipeline.name.span, &mut add));
        pipeline.conversation.iter().for_each(|conversation| conversation.each_text(&mut add));
        tested_in(chain, None, &list, &format!("pipeline {}", pipeline.name.value), found);
    }

    /// What the run reads for a step without a name for it in a text.
    pub(super) fn reading_of(&self, chain: ChainIx, ix: StepIx, of: &str, what: &str, doubt: String) -> Back {
        let hop = Hop { reader: self.step_words(chain, ix), path: what.to_owned(), span: self.span_of(chain, ix), doubt: Some(doubt) };
        Back::Of(ReadValue { chain, seat: None, path: vec![of.to_owned()] }, hop)
    }

    /// All that a step is given.
    pub(super) fn given(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        let step = &self.pipeline(chain).step(ix).step;
        let mut list: Vec<&Text> = vec![];
        step.kind.each_text(step.span, &mut |authored| list.extend(authored.text()));
        list.extend(step.kind.facts().judges.into_iter().flat_map(|judging| judging.feedback(&self.pipeline(chain).pipeline.scorecards)));
        texts(chain, Some((ix, true)), list.into_iter().map(|text| (text, vec![])), &self.step_words(chain, ix), None, found);
    }

    /// What is read from files may have been written by the run itself, if one of its pipelines writes any.
    pub(super) fn read_from_files(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        if !self.plan.pipelines.iter().any(|planned| writes_files(planned, self.plan)) {
            return;
        }
        let doubt = format!("{} reads no file that the run itself has written", self.step_words(chain, ix));
        found.push(self.reading_of(chain, ix, FILES, "a file", doubt));
    }

    /// A program reads what it likes in the project, and so the files of tables with personal columns.
    pub(super) fn read_from_folder(&self, chain: ChainIx, ix: StepIx, found: &mut Vec<Back>) {
        if first_personal(tables_of_run(self.plan)).is_none() {
            return;
        }
        let doubt = format!("the program of {} opens no file of a table with personal columns", self.step_words(chain, ix));
        found.push(self.reading_of(chain, ix, TABLES, "a file", doubt));
    }

    /// The first personal column of tables, of the pipeline's own before others.
    pub(super) fn table_files(&self, chain: ChainIx) -> Option<Back> {
        let (table, column) = first_personal(self.pipeline(chain).pipeline.data.iter().chain(tables_of_run(self.plan)))?;
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
        self.plan.pipelines.iter().filter(|planned| writes_files(planned, self.plan)).any(|planned| {
            let of_tools = planned
                .pipeline
                .tools
                .values()
                .filter_map(|tool| if let ToolKind::File(folder) = &tool.kind { Some(folder) } else { None });
            of_tools.chain(planned.pipeline.written_folders()).any(|folder| is_in(file, folder))
        })
    }
}

/// All that texts read, whether their values show it or not.
fn tested_in(chain: ChainIx, seat: Seat, list: &[&Text], by: &str, found: &mut Vec<Back>) {
    for text in list {
        for reached in reached(text) {
            let doubt = Some(format!("no failure of {by} quotes what it only tests"));
            let hop = Hop { reader: by.to_owned(), path: reached.path.join("."), span: text.place.span, doubt };
            found.push(Back::Of(ReadValue { chain, seat, path: reached.path }, hop));
        }
    }
}

/// Whether any value of a pipeline is personal.
fn has_personal(pipeline: &Pipeline) -> bool {
    let is_marked = |field: &Field| of_field(field).is_some();
    pipeline.person.is_some() || pipeline.input_fields().iter().any(is_marked) || pipeline.data.values().any(|data| !data.pii.is_empty())
}

/// Whether a pipeline writes files itself: by a `file` tool, or by a program that has folders to write into. What tool servers do is not known.
fn writes_files(planned: &PipelinePlan, plan: &Plan) -> bool {
    let pipeline: &Pipeline = &planned.pipeline;
    // Without a sandbox a program writes where it likes, and a policy may come from a pipeline that calls this one.
    let is_loose = plan
        .pipelines
        .iter()
        .flat_map(|planned| planned.pipeline.policies.values())
        .any(|policy| policy.sandbox.is_some_and(|sandbox| sandbox != SandboxMode::Required));
    let by_tool = pipeline.tools.values().any(|tool| match &tool.kind {
        ToolKind::File(_) => tool.effects(None).changes || planned.steps.iter().any(|step| matches!(&step.step.kind, StepKind::Send(_))),
        ToolKind::Program { run, .. } => is_loose || !run.writes.is_empty(),
        ToolKind::Http { .. }
        | ToolKind::Sql(_)
        | ToolKind::Python { .. }
        | ToolKind::Knowledge(_)
        | ToolKind::Pipeline { .. }
        | ToolKind::Smtp { .. }
        | ToolKind::Server(_)
        | ToolKind::Broken => false,
    });
    let by_model =
        pipeline.models.values().filter_map(|model| model.provider.program()).any(|program| is_loose || !program.run.writes.is_empty());
    let by_step = planned.steps.iter().filter_map(|step| step.step.kind.facts().starts).any(|run| is_loose || !run.writes.is_empty());
    by_tool || by_model || by_step
}
