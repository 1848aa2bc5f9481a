//! What a step tells beside its output: the message of a failure, details, and files that it writes.

use std::path::Path;

use super::files::{first_personal, is_in, of_field, own_texts, tables_of_run};
use super::places::{Parts, ValuePlace};
use super::results::details_are_of_engine;
use super::steps::style_of;
use super::{Caller, ChainIx, Hop, Labels, agents};
use crate::model::{Agent, Authored, Field, JudgingStep, Pipeline, SandboxMode, StepKind, StyleGuide, Text, Tool, ToolKind, Writer};
use crate::plan::{PipelinePlan, Plan, StepIx};
use crate::sql;
use crate::template::{is_place, reached};

impl<'p> Parts<'_, 'p> {
    /// The message of a failure quotes what a step was given, and may quote what it made, read or only tested.
    pub(super) fn error(&mut self, ix: StepIx) {
        let planned = self.labels.pipeline(self.chain);
        let step = &planned.step(ix).step;
        let by = self.reader.clone();
        self.written(Writer::Tool, format!("the message of a failure of {by}"), step.id.span);
        if !step.kind.agents(&planned.pipeline).is_empty() {
            self.written(Writer::Model, format!("what a failure of {by} quotes of its models"), step.id.span);
            self.seen_by_models(ix);
        }
        self.all_of(ValuePlace::Given(ix));
        self.all_of(ValuePlace::Tested(ix));
        let doubt = format!("no failure of {by} quotes what it reads or makes");
        self.own_output(ix, Some(doubt.clone()));
        let is_personal = |query: &str| planned.pipeline.data.iter().any(|(name, data)| !data.pii.is_empty() && sql::mentions(query, name));
        if let StepKind::Sql(query) = &step.kind
            && is_personal(&query.query.source)
        {
            self.reading_of(ix, ValuePlace::Tables, "a cell", doubt);
        }
        if let Some(called) = planned.called(step).and_then(|id| self.labels.called(self.chain, Caller::Step(ix), id)) {
            self.read(called, ValuePlace::Failure, "the failure of the pipeline", step.id.span, None);
        }
        let inner = planned.step(ix).cases.iter().flat_map(|case| planned.block(*case).steps());
        inner.for_each(|inner| self.all_of(ValuePlace::Error(inner)));
    }

    /// Verdicts and turns are a model's, results of tools a tool's, and some quote what they are about; what is counted or one of the engine's words is
    /// nobody's.
    pub(super) fn details(&mut self, ix: StepIx, path: &[String]) {
        let planned = self.labels.pipeline(self.chain);
        let step = &planned.step(ix).step;
        let by = self.reader.clone();
        if details_are_of_engine(step, path) {
            return;
        }
        // What the author called criteria, unless a model wrote them.
        let is_named = step.kind.facts().judges.is_some_and(|judging| judging.cards().iter().all(|card| card.name().is_some()));
        let names: Vec<&str> = path.iter().map(String::as_str).filter(|name| !is_place(name)).collect();
        if is_named && matches!(names[..], ["verdicts" | "unmet_criteria", "id" | "scorecard" | "description" | "expected"]) {
            return;
        }
        if !step.kind.agents(&planned.pipeline).is_empty() {
            self.written(Writer::Model, format!("what the models of {by} say"), step.id.span);
            self.written(Writer::Tool, format!("what the tools of {by} give"), step.id.span);
            self.seen_by_models(ix);
        }
        if step.kind.facts().starts.is_some() {
            self.written(Writer::Tool, format!("what the program of {by} says"), step.id.span);
        }
        self.all_of(ValuePlace::Given(ix));
        // What a criterion says that could not be computed, or an agent that could not be asked.
        self.all_of(ValuePlace::Tested(ix));
        // Results of tools, and what a program says beside what it prints, come from where the output does. Of inner steps only what is counted is told.
        if planned.step(ix).cases.is_empty() {
            self.own_output(ix, None);
        }
    }

    /// What an agent is told of calls of its tools that failed, and of tries of a task that were not accepted.
    pub(super) fn told_failures(&mut self, ix: StepIx) {
        let kind = &self.labels.pipeline(self.chain).step(ix).step.kind;
        let by = self.reader.clone();
        if let StepKind::Task(_) = kind {
            self.all_of(ValuePlace::Given(ix));
            self.all_of(ValuePlace::Tested(ix));
            self.instructions_of_judges(kind);
        }
        for tool in self.labels.tools_of_models(self.chain, ix) {
            self.reader = format!("a tool in {by}").into();
            self.tests(&own_texts(tool));
            if let Some(called) = tool.kind.pipeline().and_then(|id| self.labels.called(self.chain, Caller::Model(ix), id)) {
                let span = self.labels.span_of(self.chain, ix);
                self.reader = by.clone();
                self.read(called, ValuePlace::Failure, "the failure of a tool", span, None);
            }
        }
    }

    /// What the models of a step saw beside what the step gives them: they may say it again in whatever they write, and not only in the output.
    pub(super) fn seen_by_models(&mut self, ix: StepIx) {
        let kind = &self.labels.pipeline(self.chain).step(ix).step.kind;
        self.all_of(ValuePlace::ShownToModels(ix));
        self.instructions_of_judges(kind);
    }

    /// What the agents that judge, or do the work of a step, are told in any case.
    pub(super) fn instructions_of_judges(&mut self, kind: &StepKind) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let agents = kind.agents(pipeline).into_iter().filter_map(|name| pipeline.agents.get(&name.value));
        self.whole(agents.filter_map(|agent| agent.instructions.as_ref()));
    }

    fn own_output(&mut self, ix: StepIx, doubt: Option<String>) {
        self.read(self.chain, ValuePlace::Output(ix, vec![]), "what it makes", self.labels.span_of(self.chain, ix), doubt);
    }

    /// What a failure of a step may quote though its output shows nothing of it: what stands in conditions and comparisons, in those of its
    /// scorecards, and of its agents, tools and models.
    pub(super) fn tested(&mut self, ix: StepIx) {
        let planned = self.labels.pipeline(self.chain);
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
        self.labels.tools_of_models(self.chain, ix).into_iter().chain(own).for_each(|tool| tool.each_text(&mut add));
        // `until` sees the steps of its round.
        let inner = step.kind.repeat().and_then(|_| planned.block(*planned.step(ix).cases.first()?).steps().next());
        for seat in [Some((ix, true)), inner.map(|first| (first, false))].into_iter().flatten() {
            self.seat = Some(seat);
            self.tests(&list);
        }
    }

    /// What a failure of a pipeline itself may quote.
    pub(super) fn tested_by_pipeline(&mut self) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let mut list: Vec<&Text> = vec![];
        let mut add = |authored: Authored<'p>| list.extend(authored.text());
        pipeline.outputs.each_text(&mut add);
        pipeline.person.iter().for_each(|person| person.each_text(pipeline.name.span, &mut add));
        pipeline.conversation.iter().for_each(|conversation| conversation.each_text(&mut add));
        self.reader = format!("pipeline {}", pipeline.name.value).into();
        self.tests(&list);
    }

    /// All that texts read, whether their values show it or not.
    fn tests(&mut self, list: &[&Text]) {
        let doubt = format!("no failure of {} quotes what it only tests", self.reader);
        for text in list {
            for reached in reached(text) {
                let hop =
                    Hop { reader: self.reader.clone(), path: reached.path.join("."), span: text.place.span, doubt: Some(doubt.clone()) };
                self.named(&reached.path, hop, None);
            }
        }
    }

    /// What the run reads for a step without a name for it in a text.
    pub(super) fn reading_of(&mut self, ix: StepIx, place: ValuePlace, what: &str, doubt: String) {
        let (reader, span) = (self.labels.step_words(self.chain, ix), self.labels.span_of(self.chain, ix));
        let before = std::mem::replace(&mut self.reader, reader.into());
        self.read(self.chain, place, what, span, Some(doubt));
        self.reader = before;
    }

    /// All that a step is given.
    pub(super) fn arguments(&mut self, ix: StepIx) {
        let planned = self.labels.pipeline(self.chain);
        let step = &planned.step(ix).step;
        let mut list: Vec<&Text> = vec![];
        step.kind.each_text(step.span, &mut |authored| list.extend(authored.text()));
        let (judges, pipeline) = (step.kind.facts().judges, &planned.pipeline);
        list.extend(judges.into_iter().flat_map(|judging| judging.feedback(&pipeline.scorecards)));
        self.whole(list);
        // A check of the style guide says how the text should begin.
        if judges.is_some_and(|judging| judging.checks_style(&pipeline.scorecards)) {
            let of_formats = planned.steps.iter().filter_map(|step| style_of(planned, &step.step.kind));
            of_formats.chain(pipeline.style_guide.as_deref()).for_each(|style| self.greeting(ix, Some(style)));
        }
    }

    /// The name of the person in the greeting of a style guide: `Hi Ana,`.
    pub(super) fn greeting(&mut self, ix: StepIx, style: Option<&StyleGuide>) {
        if style.is_some_and(StyleGuide::greets_by_name) {
            let (reader, span) = (self.reader.clone(), self.labels.span_of(self.chain, ix));
            let hop = Hop { reader, path: "the greeting".to_owned(), span, doubt: None };
            self.named(&["person".to_owned(), "name".to_owned()], hop, None);
        }
    }

    /// What is read from files may have been written by the run itself, if one of its pipelines writes any.
    pub(super) fn read_from_files(&mut self, ix: StepIx) {
        if self.labels.writes_files() {
            let doubt = format!("{} reads no file that the run itself has written", self.labels.step_words(self.chain, ix));
            self.reading_of(ix, ValuePlace::Files, "a file", doubt);
        }
    }

    /// A program reads what it likes in the project, and so the files of tables with personal columns.
    pub(super) fn read_from_folder(&mut self, ix: StepIx) {
        if first_personal(tables_of_run(self.labels.plan)).is_some() {
            let by = self.labels.step_words(self.chain, ix);
            let doubt = format!("the program of {by} opens no file of a table with personal columns");
            self.reading_of(ix, ValuePlace::Tables, "a file", doubt);
        }
    }

    /// The first personal column of tables, of the pipeline's own before others.
    pub(super) fn table_files(&mut self) {
        let own = self.labels.pipeline(self.chain).pipeline.data.iter();
        if let Some((table, column)) = first_personal(own.chain(tables_of_run(self.labels.plan))) {
            let personal = format!("{table}.{}", column.value);
            self.personal(Writer::File, Some(personal), format!("the file of table {table}"), column.span);
        }
    }

    /// Who may have written what the run writes into files. It is personal where anything is.
    pub(super) fn written_files(&mut self) {
        let words = "what the run wrote into a file".to_owned();
        let personal = self.labels.plan.pipelines.iter().any(|planned| has_personal(&planned.pipeline)).then(|| words.clone());
        self.personal(Writer::Model, personal, words, self.labels.pipeline(self.chain).pipeline.name.span);
    }
}

impl<'p> Labels<'p> {
    /// The tools that models of a step may call, whatever policies say.
    pub(super) fn tools_of_models(&self, chain: ChainIx, ix: StepIx) -> Vec<&'p Tool> {
        let planned = self.pipeline(chain);
        let (kind, pipeline) = (&planned.step(ix).step.kind, &planned.pipeline);
        let agents = agents(pipeline, kind).into_iter();
        let of_plan = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
        let names = agents.flat_map(|agent| &agent.tools).chain(of_plan);
        names.filter_map(|name| Some(pipeline.tool(&name.value)?.0)).collect()
    }

    /// Whether any pipeline of the run writes files itself.
    fn writes_files(&self) -> bool {
        *self.writes_files.get_or_init(|| self.plan.pipelines.iter().any(|planned| writes_files(planned, self.plan)))
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
