//! A checked file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{STACK, project, settings, shown_path};
use crate::adapter::disk_files::DiskFiles;
use crate::check::{Checked, check_file};
use crate::diagnostic::Diagnostic;
use crate::lower::FileKind;
use crate::model::{Model, Pipeline};
use crate::plan::Wishes;
use crate::port::Files;
use crate::report::{self, Findings};

/// A pipeline without errors, with all files that it imports, as they were when it was checked. Cheap to clone.
#[derive(Clone)]
pub struct Workflow {
    /// The findings of the check, and the loaded files.
    pub checked: Arc<Checked>,
    /// The pipeline of the file.
    pub pipeline: Arc<Pipeline>,
    /// The file.
    pub file: PathBuf,
    /// The project that the file belongs to.
    pub project: PathBuf,
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow").field("name", &self.name()).field("file", &self.file).finish_non_exhaustive()
    }
}

/// Why a file is not a valid [`Workflow`].
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It has errors, or cannot be read; `Display` prints them like `flow validate`.
    #[error("{}", report::human(&Findings::new(&.0.loaded.sources, &.0.errors()), report::Look::default()).trim_end())]
    Findings(Box<Checked>),
    /// It is a file of another kind.
    #[error("{} is not a pipeline: a pipeline has name and steps", shown_path(.0))]
    NoPipeline(PathBuf),
    /// The system could not create a thread.
    #[error("flow cannot start: {0}")]
    System(#[source] std::io::Error),
}

/// Uses `Display`, because a checked file with its imports is long.
impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl CheckError {
    /// Returns the errors, each with its code, place and help.
    pub fn findings(&self) -> Vec<Diagnostic> {
        match self {
            CheckError::Findings(checked) => checked.errors(),
            CheckError::NoPipeline(_) | CheckError::System(_) => vec![],
        }
    }

    /// Returns the place of a finding: `FILE:LINE:COLUMN`, from 1, columns in characters.
    pub fn place(&self, finding: &Diagnostic) -> String {
        match self {
            CheckError::Findings(checked) => checked.loaded.sources.place(finding.span),
            CheckError::NoPipeline(_) | CheckError::System(_) => String::new(),
        }
    }
}

impl Workflow {
    /// Checks a file in its project: the nearest parent folder with a `flow.toml`, else the current folder. It only reads files and
    /// starts nothing. It blocks while it reads; in a server, call it once and keep the workflow.
    ///
    /// # Errors
    /// The file has errors, or is not a pipeline.
    pub fn check(file: impl AsRef<Path>) -> Result<Workflow, CheckError> {
        let file = file.as_ref();
        Workflow::check_in(file, project(file, None))
    }

    /// Like [`Workflow::check`], for a file of this project.
    ///
    /// # Errors
    /// As [`Workflow::check`].
    pub fn check_in(file: impl AsRef<Path>, project: impl AsRef<Path>) -> Result<Workflow, CheckError> {
        Workflow::check_with(file, project, &DiskFiles)
    }

    /// Like [`Workflow::check_in`], for texts that are not on disk, such as [`MemoryFiles`](crate::port::MemoryFiles). A run still reads
    /// and writes the disk: everything that its tools, programs and data need must be there.
    ///
    /// # Errors
    /// As [`Workflow::check`].
    pub fn check_with(file: impl AsRef<Path>, project: impl AsRef<Path>, files: &(dyn Files + Sync)) -> Result<Workflow, CheckError> {
        let (file, project) = (file.as_ref().to_path_buf(), project.as_ref().to_path_buf());
        let work = || check_file(&file, &project, files);
        let checked = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("flow check".into()).stack_size(STACK).spawn_scoped(scope, work)?;
            thread.join().map_err(|_| std::io::Error::other("internal error of flow"))
        });
        let checked = checked.map_err(CheckError::System)?;
        if !checked.errors().is_empty() {
            return Err(CheckError::Findings(Box::new(checked)));
        }
        Workflow::from_checked(checked, file, project)
    }

    /// Creates a workflow from a checked file without errors. Errors: it is not a pipeline.
    pub fn from_checked(checked: Checked, file: PathBuf, project: PathBuf) -> Result<Workflow, CheckError> {
        let is_pipeline = checked.loaded.kind == FileKind::Pipeline;
        match checked.loaded.program.pipelines.first().filter(|_| is_pipeline).cloned() {
            Some(pipeline) => Ok(Workflow { checked: Arc::new(checked), pipeline, file, project }),
            None => Err(CheckError::NoPipeline(file)),
        }
    }

    /// Adds the model of the settings to every file without one called `default`; returns whether there was such a file.
    pub fn give_model(&mut self, model: Option<&Model>) -> bool {
        let Some(model) = model else { return false };
        let checked = Arc::make_mut(&mut self.checked);
        let is_given = give_model(checked, model);
        self.pipeline.clone_from(&checked.loaded.program.pipelines[0]);
        is_given
    }

    /// Returns the pipeline's name.
    pub fn name(&self) -> &str {
        &self.pipeline.name.value
    }

    /// Returns warnings, remarks and missing data files: findings that do not prevent a run.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.checked.diagnostics
    }

    /// Returns the place of a finding: `FILE:LINE:COLUMN`, from 1, columns in characters.
    pub fn place(&self, finding: &Diagnostic) -> String {
        self.checked.loaded.sources.place(finding.span)
    }

    /// Returns the JSON Schema of its inputs.
    pub fn inputs_schema(&self) -> Value {
        crate::engine::inputs_schema(&self.pipeline)
    }

    /// Returns the names of its channels; the first is the default.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.pipeline.channels.iter().map(|channel| channel.name.as_str())
    }

    /// Returns the programs, hosts and secrets that its runs would use, as far as the files and the project's settings name them;
    /// [`Consent`](super::Consent) decides about these.
    pub fn wishes(&self) -> Wishes {
        let of_project = settings::of_project(&self.project).ok().and_then(|settled| settled.model_of_project);
        Wishes::from_plan(&self.checked.plan, of_project.as_ref())
    }
}
/// Adds a model to every file without one called `default`; returns whether there was such a file.
pub fn give_model(checked: &mut Checked, model: &Model) -> bool {
    let mut is_given = false;
    let Checked { loaded, plan, .. } = checked;
    let of_plan = plan.pipelines.iter_mut().map(|planned| &mut planned.pipeline);
    let all = [&mut loaded.program, &mut plan.program].into_iter().flat_map(|program| &mut program.pipelines).chain(of_plan);
    for pipeline in all.filter(|pipeline| !pipeline.models.contains_key("default")) {
        Arc::make_mut(pipeline).models.insert("default".into(), model.clone());
        is_given = true;
    }
    is_given
}
