//! Files that no step of a run may read or write, as far as only the caller, the settings and the checked files determine them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::consent::{named, real as real_folder};
use super::{RunError, conversations_file, find_all, has_keys, kept, settings};
use crate::adapter::audit_file::AuditFile;
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::environment;
use crate::adapter::files;
use crate::adapter::own::OwnFiles;
use crate::adapter::started::{Depth, MayRun, holds_code};
use crate::adapter::trusted::Trusted;
use crate::check::Checked;
use crate::load::load;
use crate::model::{Program, StartedBy, is_code, is_data, is_table};
use crate::port::Secret;

/// Returns the protected files of a project and, with `checked`, of the program that runs with this environment. `env_file`: a file with
/// variables; `journal`: the journal of the run, if it is outside flow's own folders.
/// Errors: the user's settings have errors.
pub fn own_files(
    project: &Path,
    checked: Option<(&Checked, &BTreeMap<String, Secret>)>,
    env_file: Option<&Path>,
    journal: Option<&Path>,
) -> Result<Arc<OwnFiles>, RunError> {
    let of_user = [
        environment::user_settings().ok().flatten(),
        environment::trusted_folder().ok(),
        environment::logins_folder().ok(),
        Some(environment::compiled_folder()),
        kept::home()?,
        settings::of_user()?.key_file,
    ];
    let env_file = env_file.map(Path::to_path_buf);
    let hidden = of_user.into_iter().flatten().chain(env_file).chain([project.join(".flow"), project.join(".env")]).collect();
    let mut own = OwnFiles { project: project.to_path_buf(), hidden, is_program: Some(is_of_the_language), ..OwnFiles::default() };
    if let Some(file) = journal {
        own.hidden.extend([file.to_path_buf(), kept::cache_file(file), conversations_file(file)].iter().flat_map(|file| parts(file)));
        own.hidden.push(AuditFile::beside(file).path().to_path_buf());
    }
    if let Some((checked, env)) = checked {
        own.fixed.extend(checked.loaded.sources.files().map(|(_, file)| PathBuf::from(&file.name)));
        let program = &checked.loaded.program;
        let stores = program.pipelines.iter().filter_map(|pipeline| pipeline.conversation.as_ref()?.store.as_ref());
        own.hidden.extend(stores.flat_map(|file| parts(file)));
        of_servers(named(program, env), program, &mut own);
        own.others = Some(of_others);
    }
    Ok(Arc::new(own))
}

/// Returns a SQLite file and the files that SQLite keeps beside it.
fn parts(file: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", file.display())))
}

/// Returns the files that servers of all pipelines of a project run.
fn of_others(project: &Path) -> OwnFiles {
    let mut own = OwnFiles { project: project.to_path_buf(), ..OwnFiles::default() };
    let env = environment::variables(None).unwrap_or_default();
    let mut files = vec![];
    // Servers of a pipeline that the project excludes can run all the same.
    find_all(project, &mut files);
    // Includes trusted files that the search does not find: in a hidden folder, with another name, in a nested project.
    let trusted = environment::trusted_folder().ok().and_then(|folder| Trusted::new(folder).all().ok()).map(|(entries, _)| entries);
    let home = real(project);
    files.extend(trusted.unwrap_or_default().into_iter().map(|entry| entry.file).filter(|file| file.starts_with(&home)));
    for file in files.into_iter().collect::<BTreeSet<_>>() {
        let program = load(&file, project, &DiskFiles).program;
        of_servers(named(&program, &env), &program, &mut own);
    }
    // A folder that contains the project is not protected here, only the script in it: its own pipeline protects the whole folder.
    let project = real(project);
    own.fixed.retain(|place| !project.starts_with(real(place)));
    own
}

/// Adds the files that servers run, or would run if they existed.
fn of_servers(named: MayRun, program: &Program, own: &mut OwnFiles) {
    let works: Vec<PathBuf> =
        program.pipelines.iter().flat_map(|pipeline| [&pipeline.folder, &pipeline.project]).map(|place| real(place)).collect();
    // A script loads files beside it, so its folder is protected, as is that of a missing one. A data file is protected alone.
    let is_above = |folder: &Path| works.iter().any(|work| work.starts_with(folder));
    let is_run = |path: &Path| is_code(path) != Some(false);
    let beside = |path: &Path| path.parent().map(Path::to_path_buf);
    own.fixed.extend(named.files.iter().filter(|path| is_run(path)).filter_map(|path| beside(path)));
    let missing = named.missing.iter().filter(|path| is_code(path) == Some(true));
    own.fixed.extend(missing.filter_map(|path| beside(path)).filter(|folder| !is_above(folder)));
    own.fixed.extend(named.folders.iter().filter(|folder| !is_above(folder) && holds_code(folder)).cloned());
    own.code_in.extend(named.packages());
    own.fixed.extend(named.files);
    own.fixed.extend(named.kept);
    own.fixed.extend(named.settings);
    // A name with an extension would be a file and is protected itself. A name without one may become a folder of data.
    own.fixed.extend(named.missing.iter().filter(|path| is_data(path).is_some() && !is_table(path)).cloned());
    let loaded = named.loaded.into_iter().filter(|(folder, depth)| *depth == Depth::All && !is_above(folder)).map(|(folder, _)| folder);
    let loaded: Vec<PathBuf> = loaded.collect();
    own.fixed.extend(loaded.iter().filter(|folder| holds_code(folder)).cloned());
    own.code_in.extend(loaded);
    own.code_in.extend(named.folders);
    own.code_in.extend(named.missing);
    // Folders that the author lets a program write are data, unless the file is already code.
    let written: Vec<PathBuf> =
        program.pipelines.iter().flat_map(|pipeline| pipeline.written_folders()).map(|folder| real(folder)).collect();
    let is_written = |place: &PathBuf| written.iter().any(|folder| real(place).starts_with(folder));
    own.fixed.retain(|place| place.is_file() && is_code(place) != Some(false) || !is_written(place));
    own.code_in.retain(|place| !is_written(place));
    // The working folder of an agent program is data.
    let starts = program.pipelines.iter().filter(|pipeline| pipeline.commands().iter().any(|command| command.by != StartedBy::Model));
    own.starts.extend(starts.map(|pipeline| pipeline.folder.clone()));
}

/// Returns the canonical path of a folder, whether or not it exists.
fn real(folder: &Path) -> PathBuf {
    real_folder(folder).unwrap_or_else(|_| files::real(folder))
}

/// Whether a file with this text is one of this language.
fn is_of_the_language(text: &str) -> bool {
    has_keys(text, &["flow"])
}
