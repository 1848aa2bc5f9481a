//! `read`: reads files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::decision::{StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind, ReadDetails};
use crate::model::{Filling, HostSource, QUERY_TIMEOUT, ReadStep, Sample, Step};
use crate::parts::Files;
use crate::port::{FileContent, ReadRequest, TableSource};
use crate::reach::Giver;
use crate::source::{from_folder, normalised};
use crate::state::NodeRef;
use crate::words::ms;

impl Kind for ReadStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let paths = match context.filling(at, &self.paths)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        let timeout = step.timeout.unwrap_or(QUERY_TIMEOUT);
        let is_written = |paths: &Filling| paths.texts().iter().all(|text| text.reads.is_empty());
        let told_by_data = context.files().told_by_data(at, step, self);
        let mut requests = vec![];
        for (ix, path) in paths.iter().enumerate() {
            let from_file = is_written(match &self.paths {
                Filling::List(list) => &list[ix],
                one => one,
            });
            let Some(path) = path.as_str() else {
                return Err(Failure::new(FailureKind::WrongType, "read needs a path or a list of paths"));
            };
            let path = context.files().told_path(at, "read", path, from_file, told_by_data)?;
            requests.push(ReadRequest { path, kind: self.kind.as_ref().map(|k| k.value.clone()), timeout });
        }
        let request = CallRequest::Read(requests);
        Ok(StepCall::new("read", json!({ "paths": paths }), request, ms(timeout)).into())
    }

    fn take(&self, context: &Context, at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let CallReply::Files(mut files) = reply else { return wrong_answer_decision() };
        name_once(&mut files);
        let tables: Vec<Value> = files
            .iter()
            .flat_map(|(_, tables)| tables)
            .map(|t| json!({ "name": t.name, "file": context.files().told_from_project(at, &t.file), "table": t.table }))
            .collect();
        let mut contents = vec![];
        for (mut content, _) in files {
            content.path = context.files().told_from_project(at, Path::new(&content.path));
            contents.push(serde_json::to_value(content).map_err(|e| Failure::new(FailureKind::Internal, e.to_string()))?);
        }
        let is_list = matches!(context.filling(at, &self.paths)?, Value::Array(_));
        let output = if is_list { Value::Array(contents) } else { contents.pop().unwrap_or(Value::Null) };
        Ok(Then::Give(output, Some(ReadDetails { tables }.into_value())).into())
    }

    fn is_single(&self, context: &Context, at: NodeRef) -> bool {
        !matches!(context.filling(at, &self.paths), Ok(Value::Array(_)))
    }
}

impl Files<'_> {
    /// The file at a path that the file gives, or the run. `word`: what is done with it.
    ///
    /// # Errors
    /// Fails with `denied` if data named a file outside the project.
    pub(super) fn told_path(&self, at: NodeRef, word: &str, path: &str, from_file: bool, by_data: bool) -> Result<PathBuf, Failure> {
        let pipeline = &self.planned_of(at).pipeline;
        // A path in the file is relative to that file, every other one to the project: the inputs of a run are told from there.
        let path = if from_file { pipeline.folder.join(path) } else { normalised(&pipeline.project).join(path) };
        if by_data && !self.is_in_project(at, &path) {
            let shown = path.display();
            let message = format!("{word} \"{shown}\" is not allowed: a path from a step, a model or a client must be in the project");
            return Err(Failure::new(FailureKind::Denied, message));
        }
        Ok(path)
    }

    /// A path as outputs and the record tell it: from the project, so that it means the same file wherever the run goes on. One outside is whole
    /// where it was.
    fn told_from_project(&self, at: NodeRef, path: &Path) -> String {
        from_folder(&self.planned_of(at).pipeline.project, path).to_string_lossy().into_owned()
    }

    /// Where a path that outputs or the record tell is opened.
    pub(crate) fn opened_at(&self, at: NodeRef, told: &str) -> PathBuf {
        normalised(&self.planned_of(at).pipeline.project).join(told)
    }

    /// Tells the files that code was given and gave back as outputs tell them.
    pub(crate) fn tell_back(&self, at: NodeRef, value: &mut Value) {
        tell_anew(value, &mut |path| Some(self.told_from_project(at, Path::new(path))).filter(|told| self.was_read(told)));
    }

    /// Tells the paths of the files in a value in another way: those that `read` steps returned, and pictures of code. Other paths, whoever wrote them,
    /// stay.
    pub(super) fn tell_files(&self, value: &mut Value, tell: &mut dyn FnMut(&str) -> String) {
        tell_anew(value, &mut |path| self.was_read(path).then(|| tell(path)));
    }

    /// Whether data chose the path of a `read` step: a step of its pipeline, or the inputs of a called or served pipeline.
    pub(crate) fn told_by_data(&self, at: NodeRef, step: &Step, read: &ReadStep) -> bool {
        let is_data = |text| self.origins().text_named_by(at, text, Giver::NOBODY) == HostSource::Data;
        told_by_step(step, read) || read.paths.texts().into_iter().any(is_data)
    }
}

/// Gives the files in a value, which have a `type` beside their `path`, the path that `tell` has for them, if any.
fn tell_anew(value: &mut Value, tell: &mut dyn FnMut(&str) -> Option<String>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| tell_anew(value, tell)),
        Value::Object(map) => {
            let is_file = map.contains_key("type");
            if let Some(Value::String(path)) = map.get_mut("path").filter(|_| is_file)
                && let Some(told) = tell(path)
            {
                *path = told;
            }
            map.values_mut().for_each(|value| tell_anew(value, tell));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Gives each table of a list of files a name of its own: of two files `sales.csv` the second is `sales_2`, and its summary says so. Case is ignored,
/// as in SQLite.
fn name_once(files: &mut [(FileContent, Vec<TableSource>)]) {
    let mut taken: Vec<String> = vec![];
    // A file's own name goes before one that another file is given.
    let named: HashSet<String> = files.iter().flat_map(|(_, tables)| tables).map(|table| table.name.to_lowercase()).collect();
    for (content, tables) in files {
        for (table, told) in tables.iter_mut().zip(&mut content.tables) {
            let own = table.name.to_lowercase();
            if taken.contains(&own) {
                let mut numbered = (2..).map(|number| format!("{}_{number}", table.name));
                let is_free = |name: &String| !taken.contains(&name.to_lowercase()) && !named.contains(&name.to_lowercase());
                let name = numbered.find(is_free).unwrap_or_default();
                content.summary.push_str(&format!(
                    " Its table \"{}\" is called \"{name}\" here, since another file has one of that name.",
                    table.name
                ));
                told.name.clone_from(&name);
                table.name = name;
            }
            taken.push(table.name.to_lowercase());
        }
    }
}

/// Whether an earlier step returned a path of this one, or the elements that it is made from.
fn told_by_step(step: &Step, read: &ReadStep) -> bool {
    let gives = |read: &crate::model::Read| read.path.first().is_some_and(|root| root == "steps");
    let elements = step.for_each.iter().flat_map(|for_each| for_each.list.texts());
    read.paths.texts().into_iter().chain(elements).flat_map(|text| &text.reads).any(gives)
}
