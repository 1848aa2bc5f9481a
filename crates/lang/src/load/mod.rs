//! Path → files → model and diagnostics: brings together everything that one file names.
//!
//! How to add a kind of file that others may name: a method of `lower::World`, its answer in `world.rs`.

mod calls;
mod hash;
mod keyless;
mod paths;
mod world;
mod written;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diagnostic::{self, Diagnostic};
use crate::lower::{self, FileKind, World};
use crate::model::{Channel, Pipeline, Program, Settings, StyleGuide, TestFile};
use crate::port::{Files, ReadFileError};
use crate::source::{FileId, SourceFile, Sources, Span, Spanned};
use world::Loader;

pub(crate) use keyless::hide_keys;
pub use paths::{fits_pattern, has_own_parts, in_our_folder, normalised, project_of, real, says_flow};
pub use written::WrittenRules;

/// Everything one file brings in, as far as it could be read.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What the file is.
    pub kind: FileKind,
    /// All files that were read; the first is the one that was asked for.
    pub sources: Sources,
    /// The pipeline (of a test: the one under test) first, then those it calls; empty for other kinds of files.
    pub program: Program,
    /// The test file; of a pipeline, its own `tests`.
    pub tests: Option<TestFile>,
    /// The channel, if the file is one.
    pub channel: Option<Channel>,
    /// The style guide, if the file is one.
    pub style_guide: Option<StyleGuide>,
    /// The definitions, if the file holds nothing else: those of a pipeline without steps.
    pub definitions: Option<Pipeline>,
    /// What is wrong, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// Where each imported file is imported; see [`add_ways`].
    pub(crate) imported_at: BTreeMap<FileId, Span>,
    /// Files of which only the beginning could be read (F001, F022): what is missing in them is no finding.
    pub cut_off: Vec<FileId>,
    /// The beginning of the hash of each file's text, by its name from the project's folder.
    pub prints: BTreeMap<String, String>,
    /// The name of each file from the project's folder, in the order of `sources`.
    pub(crate) names: Vec<String>,
}

impl Loaded {
    /// The name of the file that was asked for, from the project's folder.
    pub fn root_name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// The file of tests that was asked for; a pipeline with tests of its own is none.
    pub fn test_file(&self) -> Option<&TestFile> {
        self.tests.as_ref().filter(|_| self.kind == FileKind::Test)
    }

    /// The text of each file, by its name from the project's folder, with stars where a key stands.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let shown = |file: &SourceFile| file.text.char_indices().map(|(at, c)| if file.is_hidden(at) { '*' } else { c }).collect();
        self.names.iter().zip(self.sources.files()).map(|(name, (_, file))| (name.clone(), shown(file))).collect()
    }
}

/// Loads a file and everything it names. `project` is the project's folder, see [`project_of`].
pub fn load(path: &Path, project: &Path, files: &dyn Files) -> Loaded {
    let mut loader = Loader::new(files, path, project);
    let path = paths::normalised(path);
    let root = match loader.read(&path) {
        Ok(file) => loader.load_root(file),
        Err(problem) => {
            let found = unreadable(&mut loader, &path, &problem);
            loader.diagnostics.push(found);
            RootFile::of(FileKind::Definitions)
        }
    };
    let program = loader.program();
    let prints = loader.prints();
    calls::check(&program, &loader.pipeline_files(), &loader.sources, &mut loader.diagnostics);
    add_ways(&loader.imported_at, &mut loader.diagnostics);
    diagnostic::sort(&mut loader.diagnostics);
    Loaded {
        kind: root.kind,
        program,
        tests: root.tests,
        channel: root.channel,
        style_guide: root.style_guide,
        definitions: root.definitions,
        diagnostics: loader.diagnostics,
        imported_at: loader.imported_at,
        cut_off: loader.cut_off,
        prints,
        names: loader.names,
        sources: loader.sources,
    }
}

/// The finding of a file that was asked for, which counts as an empty one.
fn unreadable(loader: &mut Loader, path: &Path, problem: &ReadFileError) -> Diagnostic {
    let file = loader.sources.add(paths::shown(path), "");
    let message = format!("cannot read \"{}\": {problem}", paths::shown(path));
    Diagnostic::missing_file(Span::file_start(file), message).help(problem.help())
}

/// A file of settings that was read.
#[derive(Debug, Clone, Default)]
pub struct LoadedSettings {
    /// What it says.
    pub settings: Settings,
    /// The file, and those it names.
    pub sources: Sources,
    /// What is wrong, sorted.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whose settings a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsOf {
    /// `flow.toml`.
    Project,
    /// The user's own file.
    User,
}

/// Reads a file of settings. `None`: there is none.
pub fn load_settings(path: &Path, of: SettingsOf, files: &dyn Files) -> Option<LoadedSettings> {
    if !files.is_there(path) {
        return None;
    }
    let mut loader = Loader::new(files, path, path.parent().unwrap_or(Path::new("")));
    let file = match loader.read(path) {
        Ok(file) => file,
        Err(problem) => {
            let found = unreadable(&mut loader, path, &problem);
            return Some(LoadedSettings { sources: loader.sources, diagnostics: vec![found], settings: Settings::default() });
        }
    };
    let settings = match of {
        SettingsOf::Project => loader.lowering(file, lower::project_settings),
        SettingsOf::User => loader.lowering(file, lower::user_settings),
    };
    crate::rules::check_settings(&settings, &mut loader.diagnostics);
    diagnostic::sort(&mut loader.diagnostics);
    let keys = crate::rules::keys_of(settings.default_model.as_ref());
    hide_keys(&mut loader.sources, &keys, loader.diagnostics.iter_mut());
    Some(LoadedSettings { settings, sources: loader.sources, diagnostics: loader.diagnostics })
}

/// The file that was asked for.
struct RootFile {
    kind: FileKind,
    tests: Option<TestFile>,
    channel: Option<Channel>,
    style_guide: Option<StyleGuide>,
    definitions: Option<Pipeline>,
}

impl RootFile {
    fn of(kind: FileKind) -> RootFile {
        RootFile { kind, tests: None, channel: None, style_guide: None, definitions: None }
    }
}

impl Loader<'_> {
    fn load_root(&mut self, file: FileId) -> RootFile {
        let tree = self.tree(file);
        let mut root = RootFile::of(lower::kind_of(&tree));
        match root.kind {
            FileKind::Pipeline => {
                self.add_pipeline(file);
                self.load_called();
                let cases = self.lowering(file, lower::inline_tests);
                let pipeline = Spanned::new(self.path_of(file).to_path_buf(), Span::file_start(file));
                root.tests = (!cases.is_empty()).then_some(TestFile { pipeline, cases, models: vec![], judge_model: None });
            }
            FileKind::Test => {
                root.tests = self.lowering(file, lower::test_file);
                if let Some(test) = &mut root.tests {
                    self.load_tested(&test.pipeline);
                    let (pipelines, diagnostics) = self.read_pipelines();
                    if let Some(pipeline) = pipelines.first().and_then(|(_, pipeline)| pipeline.as_ref()) {
                        lower::type_inputs(&mut test.cases, &pipeline.inputs, diagnostics);
                    }
                }
            }
            FileKind::Channel => root.channel = self.lowering(file, lower::channel),
            FileKind::StyleGuide => {
                root.style_guide = self.lowering(file, lower::style_guide);
            }
            FileKind::Replies => drop(self.lowering(file, lower::replies)),
            FileKind::Definitions => {
                let defined = self.load_definitions(file);
                root.definitions = Some(lower::definitions_alone(&defined, World::folder(self, file), World::project(self)));
            }
        }
        root
    }

    fn load_tested(&mut self, pipeline: &Spanned<PathBuf>) {
        let Err(problem) = self.request_pipeline(pipeline.span.file, &pipeline.value) else { return self.load_called() };
        let shown = paths::shown(&pipeline.value);
        let message = match problem {
            lower::OtherFileError::Reported => return,
            lower::OtherFileError::WrongKind(kind) => format!("\"{shown}\" is {}, not a pipeline", kind.words()),
            lower::OtherFileError::Because(why, _) => format!("cannot read pipeline \"{shown}\": {why}"),
            _ => format!("pipeline \"{shown}\" does not exist"),
        };
        self.diagnostics.push(Diagnostic::missing_file(pipeline.span, message).help("name the pipeline under test"));
    }
}

/// Adds to each finding in an imported file the way of imports that leads there. `load` has done it for its own findings; later stages do
/// it for theirs.
pub(crate) fn add_ways(imported_at: &BTreeMap<FileId, Span>, diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics {
        let mut file = diagnostic.span.file;
        // A way is as long as there are imports at most, so it ends even if they went in a circle.
        for _ in 0..imported_at.len() {
            let Some(span) = imported_at.get(&file) else { break };
            let label = (*span, "imported here".to_owned());
            if diagnostic.related.contains(&label) {
                break;
            }
            diagnostic.related.push(label);
            file = span.file;
        }
    }
}
