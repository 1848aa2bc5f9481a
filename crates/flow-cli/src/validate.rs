//! `flow validate`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::arguments::{Format, SharedOptions, ValidateOptions};
use super::changed::{Changes, asked_of_settings, file_of};
use super::refusal::Refusal;
use super::{Exit, stdout};
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::environment::is_set;
use crate::check::{Several, add_edits, check_file};
use crate::diagnostic::{Severity, Suppressed, counted, visible};
use crate::load::{SettingsOf, load_settings};
use crate::model::PipelineId;
use crate::port::{AskedFiles, Overlay};
use crate::report::{self, Findings};
use crate::rules::unmet;
use crate::runtime::{SkippedFile, each_once, find, find_all, place_of, skipped};

/// Checks files.
pub(super) fn run(options: &ValidateOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let format = if options.json { Format::Json } else { options.format.unwrap_or_else(default_format) };
    let paths = files(&options.paths, shared)?;
    let input = with_input(&paths)?;
    let changes = Changes::from_option(&options.changed, shared)?;
    let mut several = Several::named(match format {
        Format::Human | Format::Json | Format::Jsonl | Format::Junit => from_here,
        Format::Sarif | Format::Github | Format::Gitlab => from_repository,
    });
    let mut seen = BTreeSet::new();
    let mut add_settings = |path: &Path, of: SettingsOf, several: &mut Several| {
        let is_new = seen.insert(path.to_path_buf());
        let is_touched = is_new && changes.as_ref().is_none_or(|changes| changes.touch(&asked_of_settings(path, of)));
        if let Some(found) = is_touched.then(|| load_settings(path, of, &DiskFiles)).flatten() {
            several.add_found(&found.sources, &found.diagnostics, &[]);
        }
        is_touched
    };
    let mut touched = 0;
    let mut untouched = vec![];
    let mut read = BTreeSet::new();
    for path in &paths {
        if let Some(of) = settings_of(path) {
            touched += usize::from(add_settings(path, of, &mut several));
            continue;
        }
        let project = shared.project_of(path);
        add_settings(&relative(vec![project.join("flow.toml")]).remove(0), SettingsOf::Project, &mut several);
        let asked = AskedFiles::over(&input);
        let mut checked = check_file(path, &project, &asked);
        read.extend(checked.loaded.sources.files().map(|(_, file)| place_of(Path::new(&file.name))));
        if !checked.plan.pipelines.is_empty() && !options.require.is_empty() {
            checked.diagnostics.extend(unmet(&checked.plan, PipelineId(0), &options.require));
            crate::diagnostic::sort(&mut checked.diagnostics);
            checked.diagnostics.dedup();
        }
        if changes.as_ref().is_none_or(|changes| is_input(path) || changes.touch_file(path, &checked, asked)) {
            touched += 1;
            add_edits(&mut checked, path, &project, &input);
            several.add(&checked);
        } else {
            several.add_tested(&checked);
            untouched.push(checked);
        }
    }
    if options.paths.is_empty() {
        let tested_before = changes.as_ref().map(|changes| changes.tested_before(shared)).unwrap_or_default();
        untouched.retain(|checked| several.untested(checked).is_some_and(|found| tested_before.contains(&file_of(checked, found.span))));
        touched += untouched.len();
        untouched.iter().for_each(|checked| several.add(checked));
        several.tell_untested();
    }
    let mut shown = std::mem::take(&mut several.diagnostics);
    if options.no_ignore {
        shown.extend(several.hidden.iter().map(|h| h.diagnostic.clone()));
        crate::diagnostic::sort(&mut shown);
    }
    if !shared.verbose && format == Format::Human {
        shown.retain(|d| d.severity() != Severity::Info);
    }
    // GitHub code scanning ignores suppressions: hidden findings would appear as open.
    let hidden: &[Suppressed] = if options.suppressed && format == Format::Sarif && !options.no_ignore { &several.hidden } else { &[] };
    let findings = Findings { hidden, ..Findings::new(&several.sources, &shown) };
    let counts = findings.counts();
    let printed = stdout::print(&drawn(&findings, format, shared));
    if !shared.quiet {
        changes.iter().for_each(|changes| tell!("{}", changes.summary(touched, paths.len())));
        tell_skipped(&options.paths, &read, shared);
        tell!("{}", report::summary(&findings));
    }
    let is_bad = counts.errors > 0 || (options.deny_warnings && counts.warnings > 0);
    Ok(if is_bad { printed.or(Exit::Findings) } else { printed })
}

fn drawn(findings: &Findings, format: Format, shared: &SharedOptions) -> String {
    match format {
        Format::Human => report::human(findings, shared.look()),
        Format::Json => report::json(findings),
        Format::Jsonl => report::jsonl(findings),
        Format::Sarif => report::sarif(findings),
        Format::Github => report::github(findings),
        Format::Gitlab => report::gitlab(findings),
        Format::Junit => report::junit(findings),
    }
}

/// Reports the YAML files in the folders that were not checked, and why. Files that look like ours are named, the others counted; files
/// that a checked file names are omitted.
fn tell_skipped(paths: &[PathBuf], read: &BTreeSet<PathBuf>, shared: &SharedOptions) {
    let mut all = vec![];
    if paths.is_empty() {
        skipped(&shared.current_project(), &mut all);
    }
    paths.iter().filter(|path| path.is_dir()).for_each(|path| skipped(path, &mut all));
    all.retain(|file| !read.contains(&place_of(&file.path)));
    let (ours, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|file| file.has_own_parts);
    let named = |files: Vec<SkippedFile>| each_once(files.into_iter().map(|file| file.path).collect());
    for path in relative(named(ours)) {
        tell!(
            "not checked: {}: it does not begin with flow: 1; add that line, or list the file under exclude in flow.toml",
            path.display()
        );
    }
    let others = relative(named(others));
    if shared.verbose {
        others.iter().for_each(|path| tell!("not checked: {}: it has no flow: 1", path.display()));
    } else if !others.is_empty() {
        tell!("not checked: {} without flow: 1 (-v lists them)", counted(others.len(), "other YAML file", "other YAML files"));
    }
}

/// Returns whose settings a file holds, if it is a settings file.
fn settings_of(path: &Path) -> Option<SettingsOf> {
    match path.file_name()?.to_str()? {
        "flow.toml" => Some(SettingsOf::Project),
        "config.toml" => Some(SettingsOf::User),
        _ => None,
    }
}

fn default_format() -> Format {
    if is_set("GITHUB_ACTIONS") { Format::Github } else { Format::Human }
}

/// Returns why no file was found in a folder with YAML files: the project excludes them, or they are not marked.
fn why_none(folder: &Path) -> Option<String> {
    let (mut all, mut others) = (vec![], vec![]);
    find_all(folder, &mut all);
    if !all.is_empty() {
        return Some(": exclude in flow.toml leaves out all there are".to_owned());
    }
    skipped(folder, &mut others);
    let ours = others.into_iter().find(|file| file.has_own_parts)?;
    Some(format!(": {} does not begin with flow: 1", relative(vec![ours.path]).remove(0).display()))
}

/// Returns the files to check: those named; for a folder, all files of this language. Errors: there is none (exit 4).
pub(super) fn files(paths: &[PathBuf], shared: &SharedOptions) -> Result<Vec<PathBuf>, Refusal> {
    let none = |why: &str| Refusal::new(Exit::NothingRan, visible(&format!("no file found{why}")));
    let mut found = vec![];
    if paths.is_empty() {
        let project = shared.current_project();
        find(&project, &mut found);
        let why = why_none(&project).unwrap_or_else(|| ": this project has no YAML file with the key flow".to_owned());
        return if found.is_empty() { Err(none(&why)) } else { Ok(relative(found)) };
    }
    for path in paths {
        if is_input(path) {
            found.push(path.clone());
        } else if path.is_dir() {
            let before = found.len();
            find(path, &mut found);
            if found.len() == before {
                return Err(none(&format!(" in {}{}", path.display(), why_none(path).unwrap_or_default())));
            }
        } else if path.exists() {
            found.push(path.clone());
        } else {
            return Err(none(&format!(": {} does not exist", path.display())));
        }
    }
    Ok(each_once(found))
}

/// Returns the files on disk, with standard input as the file `-` if it is among the paths. Errors: it cannot be read (exit 2).
pub(super) fn with_input(paths: &[PathBuf]) -> Result<Overlay<'static>, Refusal> {
    let mut files = Overlay { below: &DiskFiles, texts: BTreeMap::new() };
    if let Some(path) = paths.iter().find(|path| is_input(path)) {
        let mut bytes = vec![];
        let cannot = |error: &dyn Display| refusal!(Usage, "cannot read standard input: {error}");
        std::io::stdin().take(MOST_INPUT).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
        // A text that is too long may be cut within a character.
        let is_cut = bytes.len() as u64 == MOST_INPUT;
        let text = if is_cut { Ok(String::from_utf8_lossy(&bytes).into_owned()) } else { String::from_utf8(bytes) };
        files.texts.insert(path.clone(), text.map_err(|error| cannot(&error))?.into());
    }
    Ok(files)
}

pub(super) fn is_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of a file relative to the current folder.
fn from_here(name: &str) -> String {
    let path = Path::new(name);
    let (Ok(here), real) = (Path::new(".").canonicalize(), place_of(path)) else { return name.to_owned() };
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        return name.to_owned();
    }
    let shared = here.components().zip(real.components()).take_while(|(one, other)| one == other).count();
    if shared < 2 {
        return name.to_owned();
    }
    let up = here.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(real.components().skip(shared)).collect::<PathBuf>().display().to_string()
}

/// Returns the name of a file relative to the root of its repository, as services show it; outside a repository, to the current folder.
fn from_repository(name: &str) -> String {
    let place = place_of(Path::new(name));
    let root = Path::new(".")
        .canonicalize()
        .ok()
        .and_then(|here| here.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf));
    match root.as_ref().and_then(|root| place.strip_prefix(root).ok()) {
        Some(inside) => inside.display().to_string(),
        None => from_here(name),
    }
}

pub(super) fn relative(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let current = std::env::current_dir().unwrap_or_default();
    paths.into_iter().map(|p| p.strip_prefix(&current).or_else(|_| p.strip_prefix(".")).map(Path::to_path_buf).unwrap_or(p)).collect()
}

/// Maximum number of bytes read from standard input: one more than a file may have.
const MOST_INPUT: u64 = 1024 * 1024 + 1;
