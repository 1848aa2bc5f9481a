//! Finds files with tests; a checked test file, its trials, and options for running them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapter::disk_files::DiskFiles;
use crate::adapter::files::{FileError, cannot, open, stays_in};
use crate::driver::Ports;
use crate::engine::PortRules;
use crate::load::Loaded;
use crate::model::{Channel, Channels, Model, Pipeline, Policy, TestCase, TestFile, is_test_name, test_name};
use crate::plan::Plan;
use crate::port::{Files, Secret};
use crate::runtime::{each_once, has_keys, yaml_of_project};
use crate::source::{FileId, SourceFile, Sources, Span};

/// A test file without errors, and what it tests.
pub struct Suite {
    /// The file; goldens are beside it.
    pub path: PathBuf,
    /// The parsed test file.
    pub test: TestFile,
    /// The source texts of the files, for findings.
    pub sources: Sources,
    /// The plan of the file under test.
    pub plan: Arc<Plan>,
    /// Whether the settings supplied the model for a file without one called `default`.
    pub is_given_model: bool,
}

/// One case on one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) suite: usize,
    pub(super) case: usize,
    /// The channel; `None`: the pipeline has none.
    pub(super) channel: Option<String>,
    /// The model that replaces that of every agent; `None`: agents use their own.
    pub(super) model: Option<String>,
    /// `FILE/CASE/CHANNEL`, with `@MODEL` if there is one, for people and filters.
    pub(super) name: String,
}

impl Suite {
    /// Creates a suite from a loaded file without errors; `None`: it holds no tests.
    pub fn new(path: &Path, loaded: Loaded, plan: Arc<Plan>, is_given_model: bool) -> Option<Suite> {
        let test = loaded.tests?;
        let has_pipeline = !plan.program.pipelines.is_empty();
        has_pipeline.then(|| Suite { path: path.to_path_buf(), test, sources: loaded.sources, plan, is_given_model })
    }

    /// Returns the pipeline under test.
    pub(super) fn pipeline(&self) -> &Pipeline {
        &self.plan.program.pipelines[0]
    }

    /// Checks that a path is in the project, or at least beside the test file, and that no link leads out of it. Errors: it is outside.
    pub(super) fn may_hold(&self, path: &Path) -> std::io::Result<()> {
        stays_in(&self.pipeline().project, path).or_else(|_| stays_in(self.path.parent().unwrap_or(Path::new("")), path))
    }

    /// Returns each case on each of its channels and models, in the order of the file. `compares`: models are called live and compared.
    pub(super) fn trials(&self, suite: usize, compares: bool) -> Vec<Trial> {
        let mut trials = vec![];
        let models: Vec<Option<String>> = match self.test.models.as_slice() {
            named if compares && !named.is_empty() => {
                let again = |place: usize| named[..place].iter().any(|name| name.value == named[place].value);
                (0..named.len()).filter(|place| !again(*place)).map(|place| Some(named[place].value.clone())).collect()
            }
            _ => vec![None],
        };
        for (index, case) in self.test.cases.iter().enumerate() {
            for channel in self.channels(case) {
                let shown = channel.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
                let name = format!("{}/{}{shown}", self.path.display(), case.id.value);
                for model in &models {
                    let name = model.as_ref().map_or_else(|| name.clone(), |model| format!("{name}@{model}"));
                    trials.push(Trial { suite, case: index, channel: channel.clone(), model: model.clone(), name });
                }
            }
        }
        trials
    }

    /// Returns the channels that a case runs on.
    pub(super) fn channels(&self, case: &TestCase) -> Vec<Option<String>> {
        match &case.channels {
            Channels::Named(names) => names.iter().map(|name| Some(name.value.clone())).collect(),
            Channels::Default => vec![self.pipeline().channels.first().map(|channel| channel.name.clone())],
        }
    }

    /// Returns a channel of the pipeline by its name.
    pub(super) fn channel(&self, name: Option<&str>) -> Option<&Channel> {
        self.pipeline().channels.iter().find(|channel| Some(channel.name.as_str()) == name).map(|channel| &**channel)
    }

    /// Returns `FILE:LINE` of a span in a file other than the test file: a row of `cases_from`.
    pub(super) fn row(&self, span: Span) -> Option<String> {
        (span.file != self.test.pipeline.span.file).then(|| format!("{}:{}", self.sources.file(span.file).name, self.line(span)))
    }

    pub(super) fn line(&self, span: Span) -> usize {
        self.sources.start(span).line
    }
}

/// Options for running trials.
pub struct TrialOptions<'a> {
    /// Runs only trials whose `FILE/CASE/CHANNEL` contains this text.
    pub filter: Option<&'a str>,
    /// Writes goldens instead of comparing with them.
    pub update: bool,
    /// Access to tables and files, and to models that are called live.
    pub ports: Ports,
    /// Rules by which the ports would reject requests that are not sent.
    pub rules: PortRules,
    /// Number of plays per trial; 0 counts as 1.
    pub repeat: usize,
    /// Breaks what gates passed, and runs the gates again.
    pub mutate: bool,
    /// Calls models that have no scripted reply.
    pub live: Option<LiveModels>,
}

/// Options for models that are called live.
#[derive(Default)]
pub struct LiveModels {
    /// The environment variables of the runs.
    pub env: BTreeMap<String, Secret>,
    /// The model that `FLOW_MODEL…` sets in place of the one called `default`.
    pub default_model: Option<Model>,
    /// The user's policy.
    pub policy: Option<Policy>,
    /// The model of the settings, for files without one called `default`.
    pub settings_model: Option<Model>,
    /// Whether their answers are recorded. If false, existing recordings are ignored.
    pub keeps: bool,
}

impl TrialOptions<'_> {
    /// Whether models are called live without recordings, so that they can be compared.
    pub fn compares(&self) -> bool {
        self.live.as_ref().is_some_and(|live| !live.keeps)
    }
}

/// Why the tests in a path cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// A file or folder cannot be read.
    #[error("no test found: {0}")]
    Unreadable(#[from] FileError),
    /// There is nothing at this path.
    #[error("no test found: {} does not exist", .0.display())]
    Missing(PathBuf),
}

/// Returns the files with tests: those named, and in folders `*.test.yaml` and pipelines with their own `tests`. Sorted, each once. Errors:
/// a path does not exist.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<PathBuf>, DiscoverError> {
    let mut found = vec![];
    for path in paths {
        if path.is_dir() {
            found.extend(yaml_of_project(path).into_iter().filter(|file| holds_tests(file)));
        } else if path.is_file() {
            found.push(path.clone());
        } else if let Err(why) = open(path)
            && why.kind() != ErrorKind::NotFound
        {
            return Err(cannot("read", path)(why).into());
        } else {
            return Err(DiscoverError::Missing(path.clone()));
        }
    }
    Ok(each_once(found))
}

/// Returns files with test cases in these folders that [`discover`] skips because of their names, each with a correct name.
pub fn misnamed(folders: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let files = folders.iter().filter(|path| path.is_dir()).flat_map(|path| yaml_of_project(path));
    let others: Vec<PathBuf> = each_once(files.filter(|file| !is_test_name(file)).collect());
    let right = |file: &PathBuf| {
        let text = DiskFiles.read_text(file).ok().filter(|text| text.contains("test"))?;
        let tree = crate::syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![]);
        tree.as_map().filter(|map| ["cases", "cases_from"].iter().any(|key| map.get(key).is_some()))?;
        Some(test_name(file, Path::new(tree.text_of("test")?)))
    };
    others.into_iter().filter_map(|file| right(&file).map(|name| (file, name))).collect()
}

fn holds_tests(file: &Path) -> bool {
    is_test_name(file) || has_own_tests(file)
}

/// Whether a file has `name` and `tests` at its top level. Loading the file determines its actual kind.
fn has_own_tests(file: &Path) -> bool {
    DiskFiles.read_text(file).is_ok_and(|text| text.contains("tests") && has_keys(&text, &["flow", "name", "tests"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_and_pipelines_with_tests_are_found_wherever_they_stand() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let files = [
            ("a/hours.test.yaml", "flow: 1\ntest: hours.yaml\n"),
            ("a/hours.yaml", "flow: 1\nname: hours\n"),
            ("a/Days.Test.YML", "flow: 1\ntest: hours.yaml\n"),
            ("own.yaml", "flow: 1\nname: own\ntests:\n  - id: a\n"),
            ("channels/sms.yaml", "flow: 1\nchannel: sms\n"),
            ("target/x.test.yaml", "flow: 1\n"),
            ("node_modules/x.test.yaml", "flow: 1\n"),
            (".hidden/x.test.yaml", "flow: 1\n"),
            ("a/other.yaml", "services:\n  tests: 1\n"),
            ("flow_style.yaml", "{flow: 1, name: own, tests: [{id: a}]}\n"),
            ("quoted.yaml", "\"flow\": 1\n\"name\": own\n? \"tests\"\n: - id: a\n"),
        ];
        for (path, text) in files {
            crate::golden::file::write(&at(path), text).unwrap();
        }
        let wanted = ["a/Days.Test.YML", "a/hours.test.yaml", "flow_style.yaml", "own.yaml", "quoted.yaml"].map(at);
        assert_eq!(discover(&[home.path().to_path_buf(), at("own.yaml")]).unwrap(), wanted);
        assert_eq!(discover(&[at("a/hours.yaml")]).unwrap(), [at("a/hours.yaml")]);
        assert!(discover(&[at("gone")]).unwrap_err().to_string().contains("does not exist"));
    }
}
