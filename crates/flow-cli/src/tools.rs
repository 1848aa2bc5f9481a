//! `flow tools`: inspects the tools of MCP servers, and accepts them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arguments::SharedOptions;
use super::refusal::Refusal;
use super::validate::files;
use super::{Exit, tell, trust};
use crate::adapter::agreed::Agreed;
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::mcp::pins::{self, Pins};
use crate::adapter::mcp::{McpServers, ServerLook};
use crate::check::{Checked, check_file};
use crate::diagnostic::visible;
use crate::driver::Runtime;
use crate::engine::{secret_values, servers};
use crate::event::Failure;
use crate::journal::AuditAction;
use crate::lower::FileKind;
use crate::model::{Pipeline, Tool};
use crate::port::{INSTRUCTIONS, Secret, ToolServer, ToolServers};
use crate::runtime::{declared, inputs_of_file, kept, place_of, settings, world};

/// The result of inspecting a server.
pub(super) enum Seen {
    /// It answers.
    Is(Box<(ToolServer, ServerLook)>),
    /// It does not answer, with the reason.
    Fails(String),
    /// It is optional and does not answer, with the reason.
    IsAbsent(String),
    /// Its command reads inputs without a default.
    OnlyInARun(String),
}

/// Starts the servers of a pipeline, all at once, lists their tools, and ends them.
pub(super) fn look(pipeline: &Pipeline, env: &BTreeMap<String, Secret>, world: &McpServers) -> Vec<(String, Seen)> {
    let found = servers(pipeline, &inputs_of_file(pipeline), &declared([pipeline], env), env);
    if found.is_empty() {
        return vec![];
    }
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return found.into_iter().map(|(name, _)| (name, Seen::Fails(error.to_string()))).collect(),
    };
    runtime.block_on(async {
        let one = async |(name, server): (String, Result<ToolServer, Failure>)| match server {
            Ok(server) => match world.look(&server).await {
                Ok(ServerLook { absent: Some(failure), .. }) => (name, Seen::IsAbsent(failure.message)),
                Ok(look) => (name, Seen::Is(Box::new((server, look)))),
                Err(failure) => (name, Seen::Fails(failure.message)),
            },
            Err(failure) => (name, Seen::OnlyInARun(failure.message)),
        };
        let seen = futures_util::future::join_all(found.into_iter().map(one)).await;
        let _ = world.close().await;
        seen
    })
}

/// Creates the servers of a file for use outside a run.
pub(super) fn servers_of(file: &Path, agreed: Arc<Agreed>, env: &BTreeMap<String, Secret>, shared: &SharedOptions) -> McpServers {
    let project = shared.project_of(file);
    let hosts = settings::read(&project).unwrap_or_default().hosts_with(env);
    world::servers(hosts, agreed, world::login_command(file, &project, shared.env_file.as_deref()))
}

/// Returns the pipelines to inspect: the named ones, or else all of the project. Errors: a named path holds no pipeline (exit 4).
pub(super) fn pipelines(paths: &[PathBuf], shared: &SharedOptions) -> Result<Vec<(PathBuf, Checked)>, Refusal> {
    let mut all = vec![];
    // If several paths are named, each must hold a pipeline.
    for paths in if paths.is_empty() { vec![paths] } else { paths.chunks(1).collect() } {
        let before = all.len();
        for path in files(paths, shared)? {
            let checked = check_file(&path, &shared.project_of(&path), &DiskFiles);
            if checked.loaded.kind == FileKind::Pipeline {
                all.push((path, checked));
            }
        }
        if let Some(path) = paths.first().filter(|_| all.len() == before) {
            return Err(Refusal::new(Exit::NothingRan, visible(&format!("{} holds no pipeline", path.display()))));
        }
    }
    all.sort_by(|(path, _), (other, _)| path.cmp(other));
    let mut seen = BTreeSet::new();
    all.retain(|(path, _)| seen.insert(place_of(path)));
    Ok(all)
}

/// Shows how the tools of servers differ from the pinned ones, and accepts them.
pub(super) fn pin(paths: &[PathBuf], only_check: bool, is_allowed: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let env = shared.variables()?;
    let pipelines = pipelines(paths, shared)?;
    let programs = pipelines.iter().map(|(_, checked)| &checked.loaded.program);
    tell::hide_secrets(&programs.flat_map(|program| secret_values(program, &env)).collect::<Vec<_>>());
    // Consent for all files is requested before the first server starts.
    let mut all_agreed = vec![];
    for (path, checked) in &pipelines {
        let mut tools = checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.tools.values());
        all_agreed.push(match tools.any(Tool::is_server) {
            true => trust::consent(checked, path, is_allowed, shared)?,
            false => Arc::default(),
        });
    }
    let (mut faults, mut differences, mut count) = (0, 0, 0);
    for ((path, checked), agreed) in pipelines.iter().zip(&all_agreed) {
        let look = |pipeline| look(pipeline, &env, &servers_of(path, Arc::clone(agreed), &env, shared));
        let of_file = checked.loaded.program.pipelines.iter().flat_map(|pipeline| look(pipeline));
        for (name, seen) in of_file {
            count += 1;
            match seen {
                Seen::Fails(problem) => {
                    tell!("{name}: {}", visible(&problem));
                    faults += 1;
                }
                Seen::IsAbsent(why) => {
                    tell!("{name}: optional and not available, so its pins stay as they are: {}", visible(&why));
                }
                Seen::OnlyInARun(why) => {
                    let known = "its command is known only during a run";
                    tell!("{name}: {known} ({}); its tools are pinned by the first one", visible(&why));
                }
                Seen::Is(looked) => {
                    let (server, look) = *looked;
                    differences += tell_difference(&name, &look);
                    if only_check || look.difference.is_none() {
                        continue;
                    }
                    kept::audit(&shared.project_of(path), AuditAction::ToolsPinned, "", &name)?;
                    let kept = Pins::read(&server.project).and_then(|mut pins| {
                        pins.pin(&server.identity, &look.said);
                        pins.write(&server.project)
                    });
                    match kept {
                        Ok(()) => tell!("{name}: pinned in {}", pins::file(&server.project).display()),
                        Err(problem) => {
                            tell!("{problem}");
                            faults += 1;
                        }
                    }
                }
            }
        }
    }
    match count {
        0 => tell!("no MCP servers"),
        _ if differences == 0 && faults == 0 => tell!("all tools match their pins"),
        _ => {}
    }
    Ok(if faults > 0 || only_check && differences > 0 { Exit::Findings } else { Exit::Ok })
}

/// Prints how a server's tools differ; returns the number of differences.
fn tell_difference(name: &str, look: &ServerLook) -> usize {
    let difference = &look.difference;
    if difference.is_first {
        tell!("{name} (protocol {}): not pinned before", look.version);
        for (tool, about) in &look.tools {
            tell!("  {tool}: {}", about.chars().take(200).collect::<String>());
        }
        for (tool, why) in &look.left_out {
            tell!("  left out: {tool}: {why}");
        }
        if !look.instructions.is_empty() {
            tell!("  {INSTRUCTIONS}: {}", look.instructions.chars().take(200).collect::<String>());
        }
        return 1;
    }
    if difference.is_none() {
        return 0;
    }
    tell!("{name} (protocol {}):", look.version);
    difference.new.iter().for_each(|tool| tell!("  new: {}", visible(tool)));
    difference.gone.iter().for_each(|tool| tell!("  gone: {}", visible(tool)));
    for (tool, what) in &difference.changed {
        tell!("  changed: {}", visible(tool));
        what.lines().for_each(|line| tell!("    {}", visible(line)));
    }
    difference.new.len() + difference.gone.len() + difference.changed.len()
}
