//! What the outputs of steps are made of.

use std::path::Path;

use indexmap::IndexMap;

use super::files::{OpenedFiles, given_back, named_in, opened_by, opens, own_texts, queried_by, tables_of_run};
use super::names::{gives_closed, is_closed_answer, marked_result, of_tables, personal_part};
use super::outputs::{OutputPart, OutputRead, Reads, output_parts, passed_on, reads_of};
use super::places::{Parts, ValuePlace, below};
use super::results::output_is_of_engine;
use super::{Caller, GatePassage, agents};
use crate::model::{
    AgentStep, ApprovalStep, Data, DialogueStep, Filling, GateStep, JudgingStep, Outputs, Pipeline, PipelineId, PlanStep, ProgramCommand,
    ReadStep, SearchStep, SqlStep, Step, StepKind, StyleGuide, TaskStep, Text, Tool, ToolKind, ToolName, ToolStep, Writer,
};
use crate::plan::{PipelinePlan, StepIx};
use crate::source::Spanned;
use crate::sql::Name;
use crate::template::is_place;

impl<'p> Parts<'_, 'p> {
    /// What is in the output of a step, as texts read it.
    pub(super) fn output(&mut self, ix: StepIx, path: &[String]) {
        for part in output_parts(self.labels.pipeline(self.chain), ix, path) {
            match part {
                OutputPart::Made(made) => self.all_of(ValuePlace::Made(made.ix, made.path)),
                OutputPart::Failure(ix) => self.all_of(ValuePlace::Error(ix)),
                OutputPart::Element(ix) => self.all_of(ValuePlace::List(ix)),
            }
        }
    }

    /// What a step makes itself.
    pub(super) fn made(&mut self, ix: StepIx, path: &[String]) {
        let planned = self.labels.pipeline(self.chain);
        let (step, pipeline) = (&planned.step(ix).step, &planned.pipeline);
        let by = self.reader.clone();
        let span = self.labels.span_of(self.chain, ix);
        // A tool or a program may give back what it was given.
        let echo = format!("{by} does not give back what it was given");
        self.marked(ix, step, pipeline, path);
        if output_is_of_engine(&step.kind, path) {
            return;
        }
        match &step.kind {
            StepKind::Set(_) => self.texts(passed_on(step, path)),
            StepKind::Format(_) => {
                self.texts(passed_on(step, path));
                self.greeting(ix, style_of(planned, &step.kind));
            }
            StepKind::Gate(gate) => {
                self.judged([(&gate.of, path.to_vec())], ix);
                self.texts(gate.otherwise.iter().map(|text| (text, path.to_vec())));
                // In place of a formatted text it is formatted, too.
                gate.otherwise.iter().flat_map(|_| styles_of(planned, ix, gate)).for_each(|style| self.greeting(ix, Some(style)));
            }
            StepKind::Agent(AgentStep { agent, prompt, attach, output, .. }) => {
                let shape = output.as_ref().or_else(|| pipeline.agents.get(&agent.value)?.output.as_ref());
                if shape.is_some_and(|shape| is_closed_answer(shape, path)) {
                    return;
                }
                let who = if pipeline.asked.is_some() { by.to_string() } else { format!("agent {} in {by}", agent.value) };
                self.written(Writer::Model, format!("the answer of {who}"), span);
                self.read_by_models(ix, prompt, attach.as_ref(), &[]);
            }
            StepKind::Plan(own) => self.planned_by_model(ix, own, path),
            StepKind::Task(task) => {
                let TaskStep { agent, prompt, attach, with, .. } = task;
                self.written(Writer::Model, format!("the work of agent {} in {by}", agent.value), span);
                self.opened(queried_by(task, pipeline));
                self.read_by_models(ix, prompt, attach.as_ref(), with);
            }
            StepKind::Dialogue(DialogueStep { topic, attach, .. }) => {
                self.written(Writer::Model, format!("the turns of {by}"), span);
                self.read_by_models(ix, topic, attach.as_ref(), &[]);
                // Who judges and sums up comes after the turns.
                if path.first().is_none_or(|name| name != "turns" && name != "positions") {
                    self.instructions_of_judges(&step.kind);
                }
            }
            StepKind::Tool(tool) => self.tool_result(ix, tool, path),
            StepKind::Call(call) => call.pipeline.into_iter().for_each(|id| self.called(Caller::Step(ix), id, path)),
            StepKind::Http(http) => {
                if http.output.as_ref().is_some_and(|shape| gives_closed(shape, path.get(1..).unwrap_or_default())) {
                    return;
                }
                self.written(Writer::Tool, format!("the answer to the request of {by}"), span);
                let sent = std::iter::once(&http.url).chain(http.headers.iter().map(|(_, text)| text));
                let more = http.query.iter().map(|(_, value)| value).chain(&http.body).flat_map(Filling::texts);
                self.whole_unless(sent.chain(more), &echo);
            }
            StepKind::Program(run) => self.printed(ix, run, path, &echo),
            StepKind::Python(python) => {
                self.written(Writer::Author, format!("what the code makes of {by}"), span);
                self.whole(python.with.iter().flat_map(|(_, value)| value.texts()));
            }
            StepKind::Sql(query) => self.rows(ix, query, path),
            StepKind::Read(read) => self.contents(ix, read),
            StepKind::Search(search) => self.pieces(ix, search),
            StepKind::Resource(_) => self.written(Writer::Tool, format!("the resource of {by}"), span),
            // What is in them is their output.
            StepKind::Route(_) | StepKind::Group(_) | StepKind::Repeat(_) => {}
            StepKind::Approval(approval) => self.answered(ix, approval, path),
            // Of a file it is the path, of a mail its recipients.
            StepKind::Send(send) => {
                let fixed = pipeline.tool(&send.to.value).into_iter().flat_map(|(tool, _)| &tool.with);
                self.whole(send.with.iter().chain(fixed).flat_map(|(_, value)| value.texts()));
            }
            StepKind::Wait(_) | StepKind::Stop(_) | StepKind::Broken => {}
        }
    }

    /// A field of the result that its author marks as personal.
    fn marked(&mut self, ix: StepIx, step: &'p Step, pipeline: &'p Pipeline, path: &[String]) {
        let inside = if let StepKind::Http(_) = &step.kind { path.get(1..).unwrap_or_default() } else { path };
        let of_agent = || step.kind.agents_with_tools().into_iter().find_map(|name| pipeline.agents.get(&name.value)?.output.as_ref());
        let receiver = || step.kind.facts().receiver.and_then(|name| Some(pipeline.tool(&name.value)?.0));
        let of_tool = || receiver().and_then(marked_result).filter(|part| path.is_empty() || part.first() == path.first());
        // Of a plan any step may have given it, and so may the tools of a model.
        let used = if let StepKind::Plan(_) = &step.kind { agents(pipeline, &step.kind) } else { vec![] };
        let of_used = || used.iter().filter_map(|agent| agent.output.as_ref()).find_map(|shape| personal_part(shape, &[]));
        let of_models = || self.labels.tools_of_models(self.chain, ix).into_iter().find_map(marked_result);
        let own = step.kind.facts().output.or_else(of_agent).and_then(|shape| personal_part(shape, inside));
        if let Some(part) = own.or_else(of_tool).or_else(of_used).or_else(of_models) {
            let personal = format!("steps.{}.output.{}", step.id.value, part.join("."));
            let span = self.labels.span_of(self.chain, ix);
            self.personal(Writer::Author, Some(personal), format!("what is asked for in {}", self.reader), span);
        }
    }

    fn planned_by_model(&mut self, ix: StepIx, own: &PlanStep, path: &[String]) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let (by, span) = (self.reader.clone(), self.labels.span_of(self.chain, ix));
        match (path.first().map(String::as_str), path.get(1)) {
            (Some("by_use"), Some(name)) if own.may_use.iter().any(|used| used.value == *name) && !pipeline.agents.contains_key(name) => {
                match pipeline.called_tool(name) {
                    Some(id) => self.called(Caller::Model(ix), id, path.get(2..).unwrap_or_default()),
                    None => {
                        let writer = of_tool(pipeline.tool(name).map(|(tool, _)| tool), &pipeline.data);
                        self.written(writer, format!("the results of tools of {by}"), span);
                    }
                }
            }
            _ => {
                self.written(Writer::Model, format!("the plan of agent {} in {by}", own.agent.value), span);
                self.written(Writer::Tool, format!("the results of the plan of {by}"), span);
                self.read_by_models(ix, &own.prompt, own.attach.as_ref(), &[]);
            }
        }
    }

    fn pieces(&mut self, ix: StepIx, search: &SearchStep) {
        let (pipeline, by) = (&self.labels.pipeline(self.chain).pipeline, self.reader.clone());
        let tool = pipeline.tools.get(&search.knowledge.value);
        let knowledge = tool.and_then(Tool::knowledge);
        let is_untrusted = knowledge.is_some_and(|knowledge| knowledge.is_untrusted);
        let writer = if is_untrusted { Writer::Stranger } else { Writer::File };
        self.written(writer, format!("the pieces of {by}"), self.labels.span_of(self.chain, ix));
        self.opened(tool.and_then(|tool| opened_by(tool, pipeline, self.labels.plan)));
        self.whole(knowledge.into_iter().flat_map(|knowledge| &knowledge.given));
        self.read_from_files(ix);
    }

    fn answered(&mut self, ix: StepIx, approval: &ApprovalStep, path: &[String]) {
        let span = self.labels.span_of(self.chain, ix);
        self.written(Writer::Person, format!("the answer of {}", self.reader), span);
        // Its fields are called as whoever wrote the questions says.
        self.whole(approval.questions.iter().filter(|_| path.is_empty()));
        let defaults = approval.defaults.iter().flat_map(|(_, value)| value.texts());
        self.judged(defaults.map(|text| (text, vec![])), ix);
    }

    fn printed(&mut self, ix: StepIx, run: &ProgramCommand, path: &[String], echo: &str) {
        let span = self.labels.span_of(self.chain, ix);
        if run.shape().is_some_and(|shape| gives_closed(shape, path)) {
            return;
        }
        self.written(Writer::Tool, format!("what the program prints of {}", self.reader), span);
        self.whole_unless(run.texts().chain(run.env.iter().map(|(_, text)| text)), echo);
        self.opened(named_in(&run.args, self.labels.plan));
        self.read_from_files(ix);
        self.read_from_folder(ix);
    }

    fn tool_result(&mut self, ix: StepIx, call: &'p ToolStep, path: &[String]) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        if let Some(id) = pipeline.called_tool(&call.tool.value) {
            return self.called(Caller::Step(ix), id, path);
        }
        if call.output.as_ref().is_some_and(|shape| gives_closed(shape, path)) {
            return;
        }
        let tool = pipeline.tool(&call.tool.value).map(|(tool, _)| tool);
        let span = self.labels.span_of(self.chain, ix);
        self.written(of_tool(tool, &pipeline.data), format!("the result of {}", self.reader), span);
        let reads_files = ToolName::parse(&call.tool.value).part != Some("write");
        let echo = format!("{} does not give back what it was given", self.reader);
        self.opened(tool.filter(|_| reads_files).and_then(|tool| opened_by(tool, pipeline, self.labels.plan)));
        self.whole_unless(call.with.iter().flat_map(|(_, value)| value.texts()), &echo);
        self.whole_unless(tool.map(own_texts).unwrap_or_default(), &echo);
        tool.filter(|_| reads_files).into_iter().for_each(|tool| self.opened_files(ix, tool));
    }

    fn rows(&mut self, ix: StepIx, own: &'p SqlStep, path: &[String]) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let query = self.labels.query(self.chain, ix, &own.query.source);
        let by = self.reader.clone();
        let asked_for = path.iter().find(|part| !is_place(part)).map(String::as_str);
        let personal = query.personal(asked_for).map(|(_, name)| name);
        if personal.is_none()
            && let Some(name) = query.perhaps_personal(self.labels.plan, asked_for)
        {
            self.reading_of(ix, ValuePlace::Tables, "a cell", format!("the query of {by} gives nothing of {name}"));
        }
        let writer = of_tables(&pipeline.data, |name| query.read.mentions(name));
        self.personal(writer, personal, format!("the rows of {by}"), self.labels.span_of(self.chain, ix));
        let names = query.read.names();
        let is_shown = |name: &str| {
            let is_meant = |place: &Name| place.text.trim_start_matches(['$', ':', '@']) == name;
            names.is_none_or(|names| names.given_places.iter().any(is_meant))
        };
        self.whole(own.with.iter().filter(|(name, _)| is_shown(&name.value)).flat_map(|(_, value)| value.texts()));
        self.read_from_files(ix);
        // A query that names a table which `data` does not have sees the files of `read` steps.
        let is_known = |table: &Name| pipeline.data.keys().any(|name| name.eq_ignore_ascii_case(table.text));
        if !names.is_some_and(|names| names.tables.iter().all(is_known)) {
            self.all_of(ValuePlace::ReadTables);
        }
    }

    fn contents(&mut self, ix: StepIx, read: &ReadStep) {
        // However a path is written, its last part is the file.
        let is_table = |data: &Data| match &read.paths {
            Filling::Constant(path) => path.as_str().is_none_or(|path| Path::new(path).file_name() == data.file.value.file_name()),
            Filling::Text(_) | Filling::List(_) | Filling::Map(_) => true,
        };
        let plan = self.labels.plan;
        let tables = || tables_of_run(plan).map(|(_, data)| data).filter(|data| is_table(data));
        let mut knowledge = self.labels.pipeline(self.chain).pipeline.tools.values().filter_map(Tool::knowledge);
        let is_untrusted = tables().any(|data| data.is_untrusted) || knowledge.any(|own| own.is_untrusted);
        let writer = if is_untrusted { Writer::Stranger } else { Writer::File };
        let personal = tables().any(|data| !data.pii.is_empty()).then(|| "a table with pii columns".to_owned());
        self.personal(writer, personal, format!("the files of {}", self.reader), self.labels.span_of(self.chain, ix));
        self.texts(below(&read.paths, &[]));
        self.read_from_files(ix);
    }

    /// A personal column that a model may see, or that is in a result.
    fn opened(&mut self, column: Option<(&str, &Spanned<String>)>) {
        if let Some((table, column)) = column {
            let personal = format!("{table}.{}", column.value);
            self.personal(Writer::File, Some(personal), format!("the tables of {}", self.reader), column.span);
        }
    }

    /// What a tool finds in files that the author names nowhere.
    fn opened_files(&mut self, ix: StepIx, tool: &Tool) {
        match opens(tool) {
            OpenedFiles::None => {}
            OpenedFiles::Named => self.read_from_files(ix),
            OpenedFiles::Any => {
                self.read_from_files(ix);
                self.read_from_folder(ix);
            }
        }
    }

    /// What a model is shown it may say again.
    fn read_by_models(&mut self, ix: StepIx, prompt: &Text, attach: Option<&Filling>, with: &[(Spanned<String>, Filling)]) {
        let more = attach.into_iter().chain(with.iter().map(|(_, value)| value)).flat_map(Filling::texts);
        self.whole(std::iter::once(prompt).chain(more));
        self.all_of(ValuePlace::ShownToModels(ix));
    }

    /// What the models of a step are shown beside what the step itself gives them.
    pub(super) fn shown_to_models(&mut self, ix: StepIx) {
        let planned = self.labels.pipeline(self.chain);
        let (kind, pipeline) = (&planned.step(ix).step.kind, &planned.pipeline);
        self.whole(agents(pipeline, kind).into_iter().filter_map(|agent| agent.instructions.as_ref()));
        self.history(ix);
        // The personal values that tools give to a model, which may say them again.
        for tool in self.labels.tools_of_models(self.chain, ix) {
            self.opened(opened_by(tool, pipeline, self.labels.plan));
            self.whole(given_back(tool));
            self.opened_files(ix, tool);
            tool.kind.pipeline().into_iter().for_each(|id| self.called(Caller::Model(ix), id, &[]));
        }
        self.all_of(ValuePlace::ToldFailures(ix));
        if planned.is_told_again(ix) {
            self.told_again();
        }
    }

    /// What a pipeline gives that is called in a step.
    fn called(&mut self, caller: Caller, id: PipelineId, path: &[String]) {
        let Some(chain) = self.labels.called(self.chain, caller, id) else { return };
        self.at(chain, ValuePlace::Result(path.to_vec()));
    }

    /// What is in the outputs of a called pipeline.
    pub(super) fn result(&mut self, path: &[String]) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let name = &pipeline.name.value;
        match (&pipeline.outputs, self.labels.caller(self.chain)) {
            (Outputs::None, _) => {}
            (Outputs::Whole(text), caller) => {
                let asker = caller.filter(|_| pipeline.asked.is_some());
                let words = asker.map(|(above, caller)| self.labels.step_words(above, caller.step()));
                self.reader = words.unwrap_or_else(|| format!("outputs of pipeline {name}")).into();
                self.texts([(text, path.to_vec())]);
            }
            (Outputs::Named(outputs), _) => {
                let asked = path.first().filter(|name| !is_place(name));
                for (own, value) in outputs.iter().filter(|(own, _)| asked.is_none_or(|asked| *asked == own.value)) {
                    self.reader = format!("outputs.{} of pipeline {name}", own.value).into();
                    self.texts(below(value, path.get(1..).unwrap_or_default()));
                }
            }
        }
    }
}

/// Who writes what a tool gives.
fn of_tool(tool: Option<&Tool>, data: &IndexMap<String, Data>) -> Writer {
    match tool.map(|tool| &tool.kind) {
        Some(ToolKind::Sql(names)) => of_tables(data, |table| names.iter().any(|name| name.value == table)),
        Some(ToolKind::Knowledge(knowledge)) if knowledge.is_untrusted => Writer::Stranger,
        Some(ToolKind::File(_) | ToolKind::Knowledge(_)) => Writer::File,
        Some(ToolKind::Python { .. }) => Writer::Author,
        Some(
            ToolKind::Http { .. }
            | ToolKind::Program { .. }
            | ToolKind::Pipeline { .. }
            | ToolKind::Smtp { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken,
        )
        | None => Writer::Tool,
    }
}

/// The style guide with which a `format` step makes its text.
pub(super) fn style_of<'p>(planned: &'p PipelinePlan, kind: &'p StepKind) -> Option<&'p StyleGuide> {
    let StepKind::Format(format) = kind else { return None };
    format.style_guide.as_deref().or(planned.pipeline.style_guide.as_deref())
}

/// The style guides of the `format` steps whose texts a gate judges.
fn styles_of<'p>(planned: &'p PipelinePlan, ix: StepIx, gate: &'p GateStep) -> Vec<&'p StyleGuide> {
    let mut into = |read: &OutputRead<'p>| {
        let step = &planned.step(read.output.ix).step;
        if let StepKind::Gate(gate) = &step.kind { vec![(&gate.of, vec![])] } else { passed_on(step, &read.output.path) }
    };
    let read = reads_of(planned, Some((ix, true)), &gate.of, Reads::Shown, &mut into);
    read.iter().filter_map(|read| style_of(planned, &planned.step(read.output.ix).step.kind)).collect()
}

/// What a gate does with a value: `Shut` if it judges it in every run.
pub fn judging(gate: &GateStep, pipeline: &Pipeline, by: &str) -> GatePassage {
    let cards: Vec<_> = gate.scorecards.iter().filter_map(|card| pipeline.scorecards.get(&card.name()?.value)).collect();
    let criteria = || cards.iter().flat_map(|card| &card.criteria);
    let asks_judge = !JudgingStep::Gate(gate).judges(&pipeline.scorecards).is_empty();
    let is_lenient = cards.iter().any(|card| card.on_judge_error == crate::model::OnJudgeError::Pass);
    if criteria().all(|criterion| criterion.when.is_some()) {
        return GatePassage::Doubt(format!("a criterion of {by} applies"));
    }
    let is_fixed = |criterion: &crate::model::Criterion| criterion.when.is_none() && criterion.judging != crate::model::Judging::Judge;
    if asks_judge && is_lenient && !criteria().any(is_fixed) {
        return GatePassage::Doubt(format!("the judge of {by} answers"));
    }
    GatePassage::Shut
}
