//! The files of tables that tools, tasks and programs open, and what a tool may give back of what its author wrote into it.

use std::path::Path;

use crate::model::{AgentProgram, ArtefactKind, Data, DataKind, Field, FilePattern, Knowledge, Pipeline, TaskStep, Text, Tool, ToolKind};
use crate::plan::Plan;
use crate::source::{Spanned, normalised};

/// A table and its first personal column.
type PersonalColumn<'p> = (&'p str, &'p Spanned<String>);

/// The first personal column of the tables that a tool opens, by itself or as files of its folder, whichever pipeline marks it.
pub fn opened_by<'p>(tool: &Tool, pipeline: &'p Pipeline, plan: &'p Plan) -> Option<PersonalColumn<'p>> {
    match &tool.kind {
        ToolKind::Sql(tables) => first_personal(pipeline.data.iter().filter(|(name, _)| tables.iter().any(|table| table.value == **name))),
        ToolKind::File(folder) => first_personal(tables_of_run(plan).filter(|(_, data)| is_in(&data.file.value, folder))),
        ToolKind::Knowledge(knowledge) => first_personal(tables_of_run(plan).filter(|(_, data)| is_searched(knowledge, &data.file.value))),
        ToolKind::Program { run, .. } => named_in(&run.args, plan),
        ToolKind::Http { .. }
        | ToolKind::Python { .. }
        | ToolKind::Pipeline { .. }
        | ToolKind::Smtp { .. }
        | ToolKind::Server(_)
        | ToolKind::Broken => None,
    }
}

/// The first personal column of the tables whose files the arguments of a program name.
pub fn named_in<'p>(args: &[Text], plan: &'p Plan) -> Option<PersonalColumn<'p>> {
    let is_named = |file: &Path| args.iter().any(|text| text.reads.is_empty() && file.ends_with(normalised(Path::new(&*text.source))));
    first_personal(tables_of_run(plan).filter(|(_, data)| is_named(&data.file.value)))
}

/// The tables of all pipelines.
pub fn tables_of_run(plan: &Plan) -> impl Iterator<Item = (&String, &Data)> {
    plan.pipelines.iter().flat_map(|planned| &planned.pipeline.data)
}

/// The first personal column of tables.
pub fn first_personal<'p>(mut tables: impl Iterator<Item = (&'p String, &'p Data)>) -> Option<PersonalColumn<'p>> {
    tables.find_map(|(name, data)| Some((name.as_str(), data.pii.first()?)))
}

pub(super) fn is_in(file: &Path, folder: &Path) -> bool {
    normalised(file).starts_with(normalised(folder))
}

/// Whether a file may be a document of a knowledge. What is filled in may name any.
fn is_searched(knowledge: &Knowledge, file: &Path) -> bool {
    let kind = file.extension().and_then(|ending| DataKind::of_ending(ending.to_str()?));
    let is_named = || knowledge.files.iter().any(|entry| covers(&entry.value, file));
    kind.is_none_or(DataKind::is_searched) && (!knowledge.given.is_empty() || is_named())
}

/// Whether an entry of the files of a knowledge may be a file.
fn covers(entry: &FilePattern, file: &Path) -> bool {
    let (file, root) = (normalised(file), normalised(&entry.root));
    file.strip_prefix(root).is_ok_and(|inside| match entry.matcher() {
        None => inside.as_os_str().is_empty(),
        Some(matcher) => matcher.fits(inside),
    })
}

/// The files that a tool opens without a name in the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedFiles {
    /// None.
    None,
    /// Those of its folder, its tables, or its documents.
    Named,
    /// Whatever lies in the project.
    Any,
}

/// Which files a tool opens.
pub fn opens(tool: &Tool) -> OpenedFiles {
    match &tool.kind {
        ToolKind::File(_) | ToolKind::Sql(_) | ToolKind::Knowledge(_) => OpenedFiles::Named,
        ToolKind::Program { .. } => OpenedFiles::Any,
        ToolKind::Http { .. }
        | ToolKind::Python { .. }
        | ToolKind::Pipeline { .. }
        | ToolKind::Smtp { .. }
        | ToolKind::Server(_)
        | ToolKind::Broken => OpenedFiles::None,
    }
}

/// What an author wrote into a tool.
pub(super) fn own_texts(tool: &Tool) -> Vec<&Text> {
    let mut list = vec![];
    tool.each_text(&mut |authored| list.extend(authored.text()));
    list
}

/// What an author wrote into a tool, and a model that calls it may get back. Where a tool reaches a host, that host is asked about first.
pub fn given_back(tool: &Tool) -> Vec<&Text> {
    match &tool.kind {
        ToolKind::Program { .. } | ToolKind::Python { .. } | ToolKind::Sql(_) | ToolKind::Knowledge(_) => own_texts(tool),
        ToolKind::Http { .. }
        | ToolKind::File(_)
        | ToolKind::Pipeline { .. }
        | ToolKind::Smtp { .. }
        | ToolKind::Server(_)
        | ToolKind::Broken => vec![],
    }
}

/// The first personal column of the tables whose files a program that is an agent may read.
pub fn readable_by<'p>(program: &AgentProgram, pipeline: &'p Pipeline, plan: &'p Plan) -> Option<PersonalColumn<'p>> {
    let folder = program.folder.as_ref().map_or(&pipeline.folder, |folder| &folder.value);
    let places = || std::iter::once(folder).chain(program.reads.iter().map(|place| &place.value));
    first_personal(tables_of_run(plan).filter(|(_, data)| places().any(|place| is_in(&data.file.value, place))))
}

/// The first personal column that the queries or the code of a task may read.
pub fn queried_by<'p>(task: &TaskStep, pipeline: &'p Pipeline) -> Option<PersonalColumn<'p>> {
    if task.fixed_artefact() == Some(ArtefactKind::Text) {
        return None;
    }
    first_personal(pipeline.data.iter())
}

/// The path of the first personal field that a field is or holds.
pub(super) fn of_field(field: &Field) -> Option<Vec<String>> {
    let below = || field.fields.iter().chain(field.items.as_deref()).find_map(of_field);
    let rest = if field.is_pii { Some(vec![]) } else { below() };
    rest.map(|rest| [vec![field.name.clone()], rest].concat())
}
