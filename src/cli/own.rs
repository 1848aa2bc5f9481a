//! What no step of a run reads or writes: the places that only the command line, the settings and the checked files tell.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arguments::Shared;
use super::refusal::Refusal;
use super::{settings, state, trust};
use crate::adapter::environment;
use crate::adapter::own::OwnFiles;
use crate::check::Checked;
use crate::model::{Pipeline, is_code, named_by_servers};
use crate::source::{FileId, SourceFile};
use crate::syntax;

/// The places of a project and, if there is one, of the program that runs.
///
/// # Errors
/// The user's settings have mistakes.
pub(super) fn own_files(project: &Path, checked: Option<&Checked>, shared: &Shared) -> Result<Arc<OwnFiles>, Refusal> {
    let of_user = [environment::user_settings().ok().flatten(), environment::trusted_folder().ok(), state::home()?, settings::key_file()?];
    let hidden =
        of_user.into_iter().flatten().chain(shared.env_file.clone()).chain([project.join(".flow"), project.join(".env")]).collect();
    let mut own = OwnFiles { project: project.to_path_buf(), hidden, is_program: Some(is_of_the_language), ..OwnFiles::default() };
    if let Some(checked) = checked {
        own.fixed.extend(checked.loaded.sources.files().map(|(_, file)| PathBuf::from(&file.name)));
        let program = &checked.loaded.program;
        for script in trust::scripts(program) {
            // Of one that is a link: what it leads to is started, and what lies beside that is loaded.
            let places = [Some(script.path.clone()), script.path.canonicalize().ok()];
            let is_run = is_code(&script.path) != Some(false);
            own.fixed.extend(places.iter().flatten().filter(|_| is_run).filter_map(|place| Some(place.parent()?.to_path_buf())));
            own.fixed.push(script.path);
        }
        program.pipelines.iter().for_each(|pipeline| of_servers(pipeline, &mut own));
    }
    Ok(Arc::new(own))
}

/// What servers would run if it were there.
fn of_servers(pipeline: &Pipeline, own: &mut OwnFiles) {
    let folder = &pipeline.folder;
    for named in named_by_servers(pipeline) {
        let path = folder.join(named.path);
        match (named.is_module, is_code(Path::new(named.path))) {
            (true, _) => own.fixed.extend([path.with_extension("py"), path]),
            (false, Some(true)) => {
                own.fixed.extend(path.parent().filter(|_| named.path.contains('/')).map(Path::to_path_buf));
                own.fixed.push(path);
            }
            (false, _) => {}
        }
    }
    if pipeline.tools.values().any(|tool| tool.is_program()) {
        own.starts.push(folder.clone());
    }
}

/// Whether a file with this text would be one of this language.
fn is_of_the_language(text: &str) -> bool {
    let tree = syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![]);
    tree.as_map().is_some_and(|map| map.get("flow").is_some())
}
