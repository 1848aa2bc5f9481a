//! One call from a path to everything that can be said about the file: load, plan, rules, suppressions. `run`, `validate`, `test`, `fix`
//! and the editor all ask this; `edits` tries what may be offered as an edit, `fixed` applies the safe ones, and `several` puts what was
//! found in many files together for one report.
//!
//! How to add a stage: its call in [`check_file`], behind the ones whose results it needs.

mod agent;
mod edits;
mod fixed;
mod follow_ons;
mod goldens;
mod places;
mod same;
mod several;
mod slid;
mod unread_names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::diagnostic::{self, About, Code, Diagnostic, Severity, Suppressed, SuppressedBy, SuppressionResult};
use crate::load::{self, Loaded, SettingsOf};
use crate::model::Lint;
use crate::plan::{self, Plan};
use crate::port::Files;
use crate::rules;
use crate::source::{Sources, Spanned};
use crate::syntax;
pub use agent::{ANSWER, MESSAGE, agent_alone, agents_of};
pub use edits::{EditTrial, add_edits, check_with_edits, edited};
pub use fixed::{Fixed, NotFixed, fix_file};
pub use goldens::goldens_of;
pub use several::Several;

/// A file that was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Everything it brings in. Its own list of findings is empty: they are in `diagnostics`.
    pub loaded: Loaded,
    /// The graphs of its pipelines, as far as they could be drawn.
    pub plan: Plan,
    /// What was found, sorted, without what an author has hidden.
    pub diagnostics: Vec<Diagnostic>,
    /// What an author has hidden with `flow-ignore`.
    pub hidden: Vec<Suppressed>,
    /// What was found and is not told, since it may follow from what could not be read.
    pub held_back: Vec<Diagnostic>,
    /// F703, if the file is a pipeline without tests of its own: they may be in another file, so [`Several`] decides.
    pub(super) untested: Option<Diagnostic>,
}

impl Checked {
    /// Whether a finding is an error.
    pub fn has_errors(&self) -> bool {
        diagnostic::has_errors(&self.diagnostics)
    }

    /// The errors that keep the file from running: all but data files that are not there, or lack a column that is named. Whether data can be reached is the world's
    /// affair: the step that reads it fails, and what the pipeline does then is its author's.
    pub fn errors(&self) -> Vec<Diagnostic> {
        let errors = self.diagnostics.iter().filter(|found| found.severity() == Severity::Error);
        errors.filter(|found| !self.is_missing_data(found)).cloned().collect()
    }

    /// The data files that are not there, and columns that they lack.
    pub fn missing_data(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|found| self.is_missing_data(found))
    }

    /// What is said of what stands in data files (F229): with it a run starts, and may not give what was meant.
    pub fn odd_data(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|found| found.code == Code::TableContent)
    }

    fn is_missing_data(&self, found: &Diagnostic) -> bool {
        let mut data = self.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.data.values());
        found.about == About::Columns || found.code == Code::MissingFile && data.any(|data| data.file.span == found.span)
    }
}

/// Checks a file with everything it names. `project` is the project's folder, see [`load::project_of`]. Never fails: what is wrong
/// is in the answer. Nothing is opened but the project's own files, and nothing is started.
pub fn check_file(path: &Path, project: &Path, files: &dyn Files) -> Checked {
    let mut loaded = load::load(path, project, files);
    let mut found = std::mem::take(&mut loaded.diagnostics);
    let mut later = vec![];
    let plan = plan::plan(&loaded.program, &mut later);
    let of_plan = later.clone();
    rules::check(&plan, &mut later);
    if let Some(tests) = &loaded.tests {
        let recorded = path.with_file_name("cassettes").join(path.file_stem().unwrap_or_default());
        rules::check_tests(tests, &plan, &|case| !files.names(&recorded.join(case)).is_empty(), &mut later);
    }
    if let Some(tests) = loaded.test_file() {
        rules::check_test_name(path, tests, &mut later);
    }
    if let Some(defined) = &loaded.definitions {
        rules::check_definitions(defined, &mut later);
    }
    if let Some(channel) = &loaded.channel {
        rules::check_channel(channel, &mut later);
    }
    if let Some(style) = &loaded.style_guide {
        rules::check_style_guide(style, &mut later);
    }
    if let Some(tests) = loaded.tests.as_ref().filter(|_| !diagnostic::has_errors(&found)) {
        goldens::orphans(path, tests, loaded.program.pipelines.first().map(|pipeline| &**pipeline), files, &mut later);
    }
    later.extend(untested(&loaded));
    let own = loaded.program.pipelines.first().map(|pipeline| pipeline.name.span.file);
    let named: BTreeSet<&str> = loaded.tests.iter().flat_map(|tests| tests.named_models()).map(|name| name.value.as_str()).collect();
    later.retain(|found| !matches!(&found.about, About::UnusedModel(name) if Some(found.span.file) == own && named.contains(&**name)));
    places::settle(&mut later, &loaded.sources);
    let mut held_back = follow_ons::take_unknown(&mut found, &of_plan, &mut later, &loaded);
    load::add_ways(&loaded.imported_at, &mut later);
    found.append(&mut later);
    unread_names::settle(&mut found, &loaded.sources);
    held_back.extend(follow_ons::take_follow_ons(&mut found, &loaded.sources));
    let mut suppressions = vec![];
    for (id, file) in loaded.sources.files() {
        if id.0 == 0 || file.name.ends_with(".yaml") || file.name.ends_with(".yml") {
            suppressions.extend(syntax::suppressions(id, file, &mut found));
        }
    }
    let mut judged = diagnostic::suppress(&loaded.sources, &suppressions, found);
    follow_ons::tell_once(&mut judged.shown, &loaded.sources);
    if diagnostic::has_errors(&judged.shown) {
        // What an error kept from being looked at may be what it hides.
        judged.shown.retain(|found| found.code != Code::UnusedSuppression);
    }
    let of_project = load::load_settings(&project.join("flow.toml"), SettingsOf::Project, files);
    if let Some(lint) = of_project.map(|found| found.settings.lint).filter(|lint| *lint != Lint::default()) {
        apply(&lint, &mut judged, &loaded.sources, project, files);
    }
    if !judged.shown.is_empty() || !judged.hidden.is_empty() {
        let found = judged.shown.iter_mut().chain(judged.hidden.iter_mut().map(|hidden| &mut hidden.diagnostic));
        load::hide_keys(&mut loaded.sources, &rules::keys(&plan), found);
    }
    let (mut untested, shown) = judged.shown.into_iter().partition::<Vec<_>, _>(|found| found.code == Code::NoTests);
    Checked { loaded, plan, diagnostics: shown, hidden: judged.hidden, held_back, untested: untested.pop() }
}

/// F703, for a pipeline that has no tests in its own file.
fn untested(loaded: &Loaded) -> Option<Diagnostic> {
    let pipeline = loaded.program.pipelines.first().filter(|_| loaded.tests.is_none())?;
    let message = format!("pipeline {} has no tests", diagnostic::quoted(&pipeline.name.value));
    Some(Diagnostic::new(Code::NoTests, pipeline.name.span, message).help("write a case as in docs/testing.md, in a *.test.yaml file"))
}

/// Judges findings as the project wants it: `lint.paths` hides, `lint.deny` makes errors.
fn apply(lint: &Lint, judged: &mut SuppressionResult, sources: &Sources, project: &Path, files: &dyn Files) {
    let project = load::real(project, files);
    let patterns: Vec<_> = lint.paths.iter().filter_map(|path| Some((load::fits_pattern(&path.pattern.value)?, path))).collect();
    let place = |id| {
        let real = load::real(Path::new(&sources.file(id).name), files);
        real.strip_prefix(&project).map(Path::to_path_buf).unwrap_or(real)
    };
    let places: BTreeMap<_, _> = judged.shown.iter().map(|found| (found.span.file, place(found.span.file))).collect();
    let has = |codes: &[Spanned<String>], code: Code| codes.iter().any(|written| written.value == code.id());
    for mut found in std::mem::take(&mut judged.shown) {
        let path = places.get(&found.span.file);
        let hiding = patterns.iter().find(|(fits, path_lint)| {
            found.code.is_suppressible() && has(&path_lint.ignore, found.code) && path.is_some_and(|path| fits(path))
        });
        match hiding {
            Some((_, by)) => {
                let reason = format!("flow.toml leaves it out for {}", by.pattern.value);
                judged.hidden.push(Suppressed { diagnostic: found, by: SuppressedBy::Settings, reason });
            }
            None => {
                found.is_denied = has(&lint.deny, found.code);
                judged.shown.push(found);
            }
        }
    }
}

#[cfg(test)]
mod one_mistake;
#[cfg(test)]
mod tests;
