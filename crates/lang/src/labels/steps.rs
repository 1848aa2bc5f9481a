//! What the outputs of steps are made of.

use std::path::Path;

use indexmap::IndexMap;

use super::beside::TABLES;
use super::files::{OpenedFiles, given_back, named_in, opened_by, opens, own_texts, queried_by, tables_of_run};
use super::names::{gives_closed, is_closed_answer, marked_result, of_tables, personal_part};
use super::outputs::{OutputPart, StepOutput, format_shows_text, output_parts, passed_on};
use super::search::{Back, GatePassage, Judges, ReadValue, below, below_list, is_word_of_failure, texts, written};
use super::{Caller, ChainIx, Hop, Labels, Source, agents};
use crate::model::{
    AgentStep, Data, DialogueStep, Filling, GateStep, JudgingStep, Outputs, Phrase, Pipeline, PipelineId, PlanStep, Step, StepKind,
    TaskStep, Text, Tool, ToolKind, ToolName, Writer,
};
use crate::plan::{Plan, StepIx};
use crate::source::{Spanned, normalised};
use crate::sql::{self, Name};
use crate::template::is_place;

/// A step whose output is followed.
#[derive(Clone, Copy)]
struct AskedOutput<'a> {
    chain: ChainIx,
    ix: StepIx,
    step: &'a Step,
    pipeline: &'a Pipeline,
    /// What is asked for below its output.
    path: &'a [String],
    judges: Judges<'a>,
}

impl<'p> Labels<'p> {
    /// What `steps.<id>.<member>` and what is below it are made of.
    pub(super) fn step(&mut self, chain: ChainIx, ix: StepIx, member: &str, path: &[String], judges: Judges, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        match member {
            "output" => {}
            "error" if is_word_of_failure(path) => return,
            "error" => return self.error(chain, ix, judges, found),
            "details" => return self.details(chain, ix, path, found),
            _ => return,
        }
        for part in output_parts(planned, ix, path) {
            match part {
                OutputPart::Made(StepOutput { ix, path, .. }) => {
                    let step = &planned.step(ix).step;
                    self.output(AskedOutput { chain, ix, step, pipeline: &planned.pipeline, path: &path, judges }, found);
                }
                OutputPart::Failure(ix) => self.error(chain, ix, judges, found),
                OutputPart::Element(ix, each) => {
                    let reader = format!("the list of {}", self.step_words(chain, ix));
                    texts(chain, Some((ix, false)), below(&each.list, &[]), &reader, None, found);
                }
            }
        }
    }

    fn output(&mut self, asked: AskedOutput, found: &mut Vec<Back>) {
        let AskedOutput { chain, ix, step, pipeline, path, .. } = asked;
        let by = self.step_words(chain, ix);
        let at = (chain, Some(ix));
        let here = Some((ix, true));
        let span = self.span_of(chain, ix);
        let own = |writer, what: &str| written(writer, at, format!("{what} of {by}"), span);
        // A tool or a program may give back what it was given.
        let echo = format!("{by} does not give back what it was given");
        // A field of the result that its author marks.
        let inside = if let StepKind::Http(_) = &step.kind { path.get(1..).unwrap_or_default() } else { path };
        let of_agent = || step.kind.agents_with_tools().into_iter().find_map(|name| pipeline.agents.get(&name.value)?.output.as_ref());
        let mut marked = step.kind.facts().output.or_else(of_agent).and_then(|shape| personal_part(shape, inside));
        let receiver = step.kind.facts().receiver.and_then(|name| Some(pipeline.tool(&name.value)?.0));
        marked = marked.or_else(|| receiver.and_then(marked_result).filter(|part| path.is_empty() || part.first() == path.first()));
        // Of a plan any step may have given it, and so may the tools of a model.
        let used = if let StepKind::Plan(_) = &step.kind { agents(pipeline, &step.kind) } else { vec![] };
        let of_used = || used.iter().filter_map(|agent| agent.output.as_ref()).find_map(|shape| personal_part(shape, &[]));
        marked = marked.or_else(of_used).or_else(|| self.tools_of_models(chain, ix).into_iter().find_map(marked_result));
        if let Some(part) = marked {
            let personal = Some(format!("steps.{}.output.{}", step.id.value, part.join(".")));
            found.push(Back::From(Source { writer: Writer::Author, personal, at, words: format!("what is asked for in {by}"), span }));
        }
        match &step.kind {
            StepKind::Set(_) => texts(chain, here, passed_on(step, path), &by, None, found),
            StepKind::Format(format) => {
                texts(chain, here, passed_on(step, path), &by, None, found);
                let style = format.style_guide.as_ref().or(pipeline.style_guide.as_ref());
                // `Hi Ana,`
                let greets = style.is_some_and(|style| style.formatting.greeting == Phrase::On && style.formatting.use_user_name);
                if greets && format_shows_text(path) {
                    let hop = Hop { reader: by, path: "the greeting".to_owned(), span, doubt: None };
                    found.push(Back::Of(ReadValue { chain, seat: here, path: vec!["person".to_owned(), "name".to_owned()] }, hop));
                }
            }
            StepKind::Gate(gate) => self.gate(asked, gate, found),
            StepKind::Agent(AgentStep { agent, prompt, attach, output, .. }) => {
                let shape = output.as_ref().or_else(|| pipeline.agents.get(&agent.value)?.output.as_ref());
                if shape.is_some_and(|shape| is_closed_answer(shape, path)) {
                    return;
                }
                let who = if pipeline.asked.is_some() { by } else { format!("agent {} in {by}", agent.value) };
                found.push(written(Writer::Model, at, format!("the answer of {who}"), span));
                self.read_by_models(asked, prompt, attach.as_ref(), &[], found);
            }
            StepKind::Plan(PlanStep { agent, prompt, attach, may_use, .. }) => match (path.first().map(String::as_str), path.get(1)) {
                (Some("fulfilled" | "strategy" | "invoked"), _) => {}
                (Some("steps"), _) if matches!(below_list(path)[..], ["use" | "status"]) => {}
                (Some("by_use"), Some(name)) if may_use.iter().any(|used| used.value == *name) && !pipeline.agents.contains_key(name) => {
                    match pipeline.called_tool(name) {
                        Some(id) => {
                            let below = AskedOutput { path: path.get(2..).unwrap_or_default(), ..asked };
                            self.result(below, Caller::Model(ix), id, found);
                        }
                        None => found.push(own(of_tool(pipeline.tool(name).map(|(tool, _)| tool), &pipeline.data), "the results of tools")),
                    }
                }
                _ => {
                    found.push(written(Writer::Model, at, format!("the plan of agent {} in {by}", agent.value), span));
                    found.push(own(Writer::Tool, "the results of the plan"));
                    self.read_by_models(asked, prompt, attach.as_ref(), &[], found);
                }
            },
            StepKind::Task(_) if path.first().is_some_and(|name| name == "attempts") => {}
            StepKind::Dialogue(_) if path.first().is_some_and(|name| name == "ended") => {}
            StepKind::Dialogue(_)
                if path.first().is_some_and(|name| name == "turns")
                    && matches!(below_list(path)[..], ["number" | "from" | "to" | "usage", ..]) => {}
            StepKind::Task(task) => {
                let TaskStep { agent, prompt, attach, with, .. } = task;
                found.push(written(Writer::Model, at, format!("the work of agent {} in {by}", agent.value), span));
                found.extend(queried_by(task, pipeline).map(|column| personal(column, at, &by)));
                self.read_by_models(asked, prompt, attach.as_ref(), with, found);
            }
            StepKind::Dialogue(DialogueStep { topic, attach, .. }) => {
                found.push(own(Writer::Model, "the turns"));
                self.read_by_models(asked, topic, attach.as_ref(), &[], found);
            }
            StepKind::Tool(tool) => {
                let given: Vec<&Text> = tool.with.iter().flat_map(|(_, value)| value.texts()).collect();
                if let Some(id) = pipeline.called_tool(&tool.tool.value) {
                    return self.result(asked, Caller::Step(ix), id, found);
                }
                if tool.output.as_ref().is_some_and(|shape| gives_closed(shape, path)) {
                    return;
                }
                let used = pipeline.tool(&tool.tool.value).map(|(tool, _)| tool);
                found.push(own(of_tool(used, &pipeline.data), "the result"));
                let reads_files = ToolName::of(&tool.tool.value).part != Some("write");
                found.extend(
                    used.filter(|_| reads_files)
                        .and_then(|tool| opened_by(tool, pipeline, self.plan))
                        .map(|column| personal(column, at, &by)),
                );
                texts(chain, here, whole(given), &by, Some(&echo), found);
                if let Some(tool) = used {
                    texts(chain, here, whole(own_texts(tool)), &by, Some(&echo), found);
                    if reads_files {
                        self.opened_files(chain, ix, tool, found);
                    }
                }
            }
            StepKind::Call(call) => {
                if let Some(id) = call.pipeline {
                    self.result(asked, Caller::Step(ix), id, found);
                }
            }
            StepKind::Http(http) => {
                if path.first().is_some_and(|field| field == "status")
                    || http.output.as_ref().is_some_and(|shape| gives_closed(shape, path.get(1..).unwrap_or_default()))
                {
                    return;
                }
                found.push(own(Writer::Tool, "the answer to the request"));
                let sent = std::iter::once(&http.url).chain(http.headers.iter().map(|(_, text)| text));
                let more = http.query.iter().map(|(_, value)| value).chain(&http.body).flat_map(Filling::texts);
                texts(chain, here, whole(sent.chain(more).collect()), &by, Some(&echo), found);
            }
            StepKind::Program(run) => {
                if run.shape().is_some_and(|shape| gives_closed(shape, path)) {
                    return;
                }
                found.push(own(Writer::Tool, "what the program prints"));
                let env = run.env.iter().map(|(_, text)| text);
                texts(chain, here, whole(run.texts().chain(env).collect()), &by, Some(&echo), found);
                found.extend(named_in(&run.args, self.plan).map(|column| personal(column, at, &by)));
                self.read_from_files(chain, ix, found);
                self.read_from_folder(chain, ix, found);
            }
            StepKind::Python(python) => {
                found.push(own(Writer::Author, "what the code makes"));
                texts(chain, here, whole(python.with.iter().flat_map(|(_, value)| value.texts()).collect()), &by, None, found);
            }
            StepKind::Sql(query) => {
                let column = path.iter().find(|part| !is_place(part));
                let asked_for = column.map(String::as_str);
                let personal = personal_column(&query.query.source, &pipeline.data, asked_for).map(|(_, name)| name);
                if personal.is_none()
                    && let Some(name) = perhaps_personal(&query.query.source, &pipeline.data, self.plan, asked_for)
                {
                    found.push(self.reading_of(chain, ix, TABLES, "a cell", format!("the query of {by} gives nothing of {name}")));
                }
                let writer = of_tables(&pipeline.data, |name| sql::mentions(&query.query.source, name));
                found.push(Back::From(Source { writer, personal, at, words: format!("the rows of {by}"), span }));
                let shown = sql::read(&query.query.source).map(|query| query.given_places);
                let is_shown = |name: &str| {
                    shown.as_ref().is_none_or(|shown| shown.iter().any(|place| place.text.trim_start_matches(['$', ':', '@']) == name))
                };
                let given = query.with.iter().filter(|(name, _)| is_shown(&name.value)).flat_map(|(_, value)| value.texts());
                texts(chain, here, whole(given.collect()), &by, None, found);
                self.read_from_files(chain, ix, found);
                self.read_tables(asked, &query.query.source, found);
            }
            StepKind::Read(read) => {
                // However a path is written, its last part is the file.
                let is_table = |data: &Data| match &read.paths {
                    Filling::Constant(path) => path.as_str().is_none_or(|path| Path::new(path).file_name() == data.file.value.file_name()),
                    Filling::Text(_) | Filling::List(_) | Filling::Map(_) => true,
                };
                let plan = self.plan;
                let tables = || tables_of_run(plan).map(|(_, data)| data).filter(|data| is_table(data));
                let is_untrusted = tables().any(|data| data.is_untrusted)
                    || pipeline.tools.values().filter_map(Tool::knowledge).any(|own| own.is_untrusted);
                let writer = if is_untrusted { Writer::Stranger } else { Writer::File };
                let personal = tables().any(|data| !data.pii.is_empty()).then(|| "a table with pii columns".to_owned());
                found.push(Back::From(Source { writer, personal, at, words: format!("the files of {by}"), span }));
                texts(chain, here, below(&read.paths, &[]), &by, None, found);
                self.read_from_files(chain, ix, found);
            }
            StepKind::Search(search) => {
                let knowledge = pipeline.tools.get(&search.knowledge.value).and_then(Tool::knowledge);
                let is_untrusted = knowledge.is_some_and(|knowledge| knowledge.is_untrusted);
                found.push(own(if is_untrusted { Writer::Stranger } else { Writer::File }, "the pieces"));
                let opened = pipeline.tools.get(&search.knowledge.value).and_then(|tool| opened_by(tool, pipeline, self.plan));
                found.extend(opened.map(|column| personal(column, at, &by)));
                let given = knowledge.into_iter().flat_map(|knowledge| &knowledge.given).map(|text| (text, vec![]));
                texts(chain, here, given, &by, None, found);
                self.read_from_files(chain, ix, found);
            }
            StepKind::Resource(_) => found.push(own(Writer::Tool, "the resource")),
            // What is in them is their output.
            StepKind::Route(_) | StepKind::Group(_) | StepKind::Repeat(_) => {}
            StepKind::Approval(approval) => {
                found.push(own(Writer::Person, "the answer"));
                // Its fields are called as whoever wrote the questions says.
                if path.is_empty() {
                    texts(chain, here, whole(approval.questions.iter().collect()), &by, None, found);
                }
                if (asked.judges)(step, pipeline) == GatePassage::Open {
                    let defaults = approval.defaults.iter().flat_map(|(_, value)| value.texts());
                    texts(chain, here, whole(defaults.collect()), &by, None, found);
                }
            }
            // Of a file it is the path, of a mail its recipients.
            StepKind::Send(send) => {
                let fixed = pipeline.tool(&send.to.value).into_iter().flat_map(|(tool, _)| &tool.with);
                texts(chain, here, whole(send.with.iter().chain(fixed).flat_map(|(_, value)| value.texts()).collect()), &by, None, found)
            }
            StepKind::Wait(_) | StepKind::Stop(_) | StepKind::Broken => {}
        }
    }

    /// What a tool finds in files that the author names nowhere.
    fn opened_files(&self, chain: ChainIx, ix: StepIx, tool: &Tool, found: &mut Vec<Back>) {
        match opens(tool) {
            OpenedFiles::None => {}
            OpenedFiles::Named => self.read_from_files(chain, ix, found),
            OpenedFiles::Any => {
                self.read_from_files(chain, ix, found);
                self.read_from_folder(chain, ix, found);
            }
        }
    }

    /// What a model is shown it may say again.
    fn read_by_models(
        &mut self,
        asked: AskedOutput,
        prompt: &Text,
        attach: Option<&Filling>,
        with: &[(crate::source::Spanned<String>, Filling)],
        found: &mut Vec<Back>,
    ) {
        let by = self.step_words(asked.chain, asked.ix);
        let more = attach.into_iter().chain(with.iter().map(|(_, value)| value)).flat_map(Filling::texts);
        let list = std::iter::once(prompt).chain(more).map(|text| (text, vec![]));
        texts(asked.chain, Some((asked.ix, true)), list, &by, None, found);
        self.told_to_models(asked.chain, asked.ix, asked.judges, found);
    }

    /// What the models of a step are shown beside what the step itself gives them.
    pub(super) fn told_to_models(&mut self, chain: ChainIx, ix: StepIx, judges: Judges, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let (by, kind) = (self.step_words(chain, ix), &planned.step(ix).step.kind);
        let of_agents = agents(&planned.pipeline, kind).into_iter();
        let instructions = of_agents.filter_map(|agent| agent.instructions.as_ref());
        texts(chain, Some((ix, true)), instructions.map(|text| (text, vec![])), &by, None, found);
        found.extend(self.history(chain, ix));
        self.personal_of_tools(chain, ix, judges, found);
        self.failures_told(chain, ix, found);
        if planned.is_told_again(ix) {
            found.extend(self.told_again(chain, Some((ix, true)), &by));
        }
    }

    /// The personal values that tools give to a model, which may say them again.
    fn personal_of_tools(&mut self, chain: ChainIx, ix: StepIx, judges: Judges, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let (by, step, pipeline) = (self.step_words(chain, ix), &planned.step(ix).step, &planned.pipeline);
        for tool in self.tools_of_models(chain, ix) {
            found.extend(opened_by(tool, pipeline, self.plan).map(|column| personal(column, (chain, Some(ix)), &by)));
            texts(chain, Some((ix, true)), whole(given_back(tool)), &by, None, found);
            self.opened_files(chain, ix, tool, found);
            if let Some(id) = tool.kind.pipeline() {
                let asked = AskedOutput { chain, ix, step, pipeline, path: &[], judges };
                self.result(asked, Caller::Model(ix), id, found);
            }
        }
    }

    fn gate(&self, asked: AskedOutput, gate: &GateStep, found: &mut Vec<Back>) {
        let by = self.step_words(asked.chain, asked.ix);
        let here = Some((asked.ix, true));
        let rest = asked.path.to_vec();
        let doubt = match (asked.judges)(asked.step, asked.pipeline) {
            GatePassage::Open => None,
            GatePassage::Doubt(doubt) => Some(doubt),
            GatePassage::Shut => {
                return texts(asked.chain, here, gate.otherwise.iter().map(|text| (text, rest.clone())), &by, None, found);
            }
        };
        texts(asked.chain, here, [(&gate.of, rest.clone())], &by, doubt.as_deref(), found);
        texts(asked.chain, here, gate.otherwise.iter().map(|text| (text, rest.clone())), &by, None, found);
    }

    /// A query that names a table which `data` does not have sees the files of `read` steps.
    fn read_tables(&mut self, asked: AskedOutput, query: &str, found: &mut Vec<Back>) {
        let is_known = |table: &Name| asked.pipeline.data.keys().any(|name| name.eq_ignore_ascii_case(table.text));
        if sql::read(query).is_some_and(|query| query.tables.iter().all(is_known)) {
            return;
        }
        self.tables_of_reads(asked.chain, asked.judges, found);
    }

    /// What `read` steps give.
    pub(super) fn tables_of_reads(&mut self, chain: ChainIx, judges: Judges, found: &mut Vec<Back>) {
        for (ix, step) in self.pipeline(chain).numbered_steps() {
            if let StepKind::Read(_) = &step.step.kind {
                self.step(chain, ix, "output", &[], judges, found);
            }
        }
    }

    /// What a called pipeline gives.
    fn result(&mut self, asked: AskedOutput, caller: Caller, called: PipelineId, found: &mut Vec<Back>) {
        let Some(chain) = self.called(asked.chain, caller, called) else { return };
        let planned = self.pipeline(chain);
        let name = &planned.pipeline.name.value;
        match &planned.pipeline.outputs {
            Outputs::None => {}
            Outputs::Whole(text) => {
                let reader = match &planned.pipeline.asked {
                    Some(_) => self.step_words(asked.chain, asked.ix),
                    None => format!("outputs of pipeline {name}"),
                };
                texts(chain, None, [(text, asked.path.to_vec())], &reader, None, found);
            }
            Outputs::Named(outputs) => {
                let name_of = asked.path.first().filter(|name| !is_place(name));
                for (own, value) in outputs.iter().filter(|(own, _)| name_of.is_none_or(|asked| *asked == own.value)) {
                    let rest = asked.path.get(1..).unwrap_or_default();
                    texts(chain, None, below(value, rest), &format!("outputs.{} of pipeline {name}", own.value), None, found);
                }
            }
        }
    }
}

/// A personal column that a model may see, or that is in a result.
fn personal((table, column): (&str, &Spanned<String>), at: (ChainIx, Option<StepIx>), by: &str) -> Back {
    let personal = Some(format!("{table}.{}", column.value));
    Back::From(Source { writer: Writer::File, personal, at, words: format!("the tables of {by}"), span: column.span })
}

/// Texts whose whole values are asked for.
fn whole(list: Vec<&Text>) -> Vec<(&Text, Vec<String>)> {
    list.into_iter().map(|text| (text, vec![])).collect()
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

/// The first personal column that a query gives: its place, and `table.column`. `only`: where a column of its rows of another name is none.
pub fn personal_column<'q>(query: &'q str, data: &IndexMap<String, Data>, only: Option<&str>) -> Option<(Name<'q>, String)> {
    let Some(read) = sql::read(query) else {
        // What cannot be taken apart may give all that it mentions.
        let mut marked = data.iter().filter_map(|(table, data)| Some((table, data.pii.first()?)));
        let (table, column) = marked.find(|(table, _)| sql::mentions(query, table))?;
        return Some((Name { text: query, start: 0 }, format!("{table}.{}", column.value)));
    };
    let is_plain = sql::is_plain(query);
    read.gives.into_iter().find_map(|given| {
        let (table, data) = data.iter().find(|(name, _)| name.eq_ignore_ascii_case(given.table))?;
        let column = data.pii.iter().find(|column| given.column == "*" || column.value.eq_ignore_ascii_case(given.column))?;
        // A column may have another name in the rows, so only one that is no personal one of its table is left out.
        let is_other = match given.column {
            "*" => given.keeps_names() && is_open_column(data, only),
            _ => only.is_some_and(|only| given.is_called_otherwise(only)),
        };
        (!(is_plain && is_other)).then(|| (given.place, format!("{table}.{}", column.value)))
    })
}

/// A personal column of a table that a query mentions and that it may give, as far as its words tell: `table.column`. What is marked in one table of a
/// database may be in another, or in a view.
fn perhaps_personal(query: &str, data: &IndexMap<String, Data>, plan: &Plan, only: Option<&str>) -> Option<String> {
    let is_understood = sql::read(query).is_some_and(|read| {
        only.is_some()
            && sql::is_plain(query)
            && !read.gives.is_empty()
            && read.gives.iter().all(|given| given.column != "*" && given.is_named())
    });
    if is_understood {
        return None;
    }
    let is_plain = sql::is_plain(query);
    let mut named = data.iter().filter(|(table, data)| sql::mentions(query, table) && !(is_plain && is_open_column(data, only)));
    named.find_map(|(table, data)| {
        let of_file = |other: &Data| normalised(&other.file.value) == normalised(&data.file.value);
        let mut marked = tables_of_run(plan).filter(|(_, other)| of_file(other)).flat_map(|(_, other)| &other.pii);
        let column = marked.find(|column| sql::may_give(query, table, &column.value))?;
        Some(format!("{table}.{}", column.value))
    })
}

/// Whether a table has this column, and it is not personal.
fn is_open_column(data: &Data, only: Option<&str>) -> bool {
    only.is_some_and(|only| {
        data.header.as_ref().is_some_and(|header| header.iter().any(|name| name == only))
            && !data.pii.iter().any(|column| column.value.eq_ignore_ascii_case(only))
    })
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
