//! `flow tools`: looking at the tools of MCP servers, and accepting them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::arguments::SharedOptions;
use super::refusal::told;
use super::{Exit, doctor, tell, trust};
use crate::adapter::environment;
use crate::adapter::mcp::ServerLook;
use crate::adapter::mcp::pins::{self, Pins};
use crate::adapter::started::Agreed;
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::driver::Runtime;
use crate::engine::{secret_values, servers};
use crate::model::{Pipeline, Tool};
use crate::port::{Secret, ToolServer, ToolServers};
use crate::runtime::{declared, inputs_of_file, settings, world};

/// What a look at a server brought.
pub(super) enum Seen {
    /// It answers.
    Is(Box<ServerLook>),
    /// It does not, and why.
    Fails(String),
    /// What it is started with reads inputs that have no default.
    OnlyInARun(String),
}

/// Starts the servers of a pipeline, all at once, asks for their tools, and ends them.
pub(super) fn look(
    pipeline: &Pipeline,
    env: &BTreeMap<String, Secret>,
    private_hosts: &[String],
    agreed: &Arc<Agreed>,
) -> Vec<(String, Seen)> {
    looks(pipeline, env, private_hosts, agreed).into_iter().map(|(name, _, seen)| (name, seen)).collect()
}

fn looks(
    pipeline: &Pipeline,
    env: &BTreeMap<String, Secret>,
    private_hosts: &[String],
    agreed: &Arc<Agreed>,
) -> Vec<(String, Option<ToolServer>, Seen)> {
    let found = servers(pipeline, &inputs_of_file(pipeline), &declared([pipeline], env), env);
    if found.is_empty() {
        return vec![];
    }
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return found.into_iter().map(|(name, _)| (name, None, Seen::Fails(error.to_string()))).collect(),
    };
    let world = world::servers(private_hosts.to_vec(), Arc::clone(agreed));
    runtime.block_on(async {
        let one = async |(name, server)| match server {
            Ok(server) => {
                let looked = world.look(&server).await;
                let what = looked.map_or_else(|failure| Seen::Fails(failure.message), |look| Seen::Is(Box::new(look)));
                (name, Some(server), what)
            }
            Err(why) => (name, None, Seen::OnlyInARun(why)),
        };
        let seen = futures_util::future::join_all(found.into_iter().map(one)).await;
        let _ = world.close().await;
        seen
    })
}

/// Shows how the tools of servers differ from what was pinned, and accepts them.
pub(super) fn pin(paths: &[PathBuf], only_check: bool, is_allowed: bool, shared: &SharedOptions) -> Exit {
    let env = match environment::variables(shared.env_file.as_deref()) {
        Ok(env) => env,
        Err(problem) => {
            tell!("{problem}");
            return Exit::Usage;
        }
    };
    let pipelines = match doctor::pipelines(paths, shared) {
        Ok(pipelines) => pipelines,
        Err(problem) => {
            tell!("{problem}");
            return Exit::NothingRan;
        }
    };
    let programs = pipelines.iter().map(|(_, checked)| &checked.loaded.program);
    tell::hide_secrets(&programs.flat_map(|program| secret_values(program, &env)).collect::<Vec<_>>());
    // All are asked about before the first server starts.
    let has_servers = |checked: &Checked| {
        let mut tools = checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.tools.values());
        tools.any(Tool::is_server)
    };
    let mut all_agreed = vec![];
    for (path, checked) in &pipelines {
        all_agreed.push(match has_servers(checked).then(|| trust::consent(checked, path, is_allowed, shared)).transpose() {
            Ok(agreed) => agreed.unwrap_or_default(),
            Err(refusal) => return told(Err(refusal)),
        });
    }
    let (mut faults, mut differences, mut count) = (0, 0, 0);
    for ((path, checked), agreed) in pipelines.iter().zip(&all_agreed) {
        let root = shared.project_of(path);
        let private_hosts = settings::read(&root).map(|settled| settled.private_hosts).unwrap_or_default();
        for pipeline in &checked.loaded.program.pipelines {
            for (name, server, seen) in looks(pipeline, &env, &private_hosts, agreed) {
                count += 1;
                let (server, look) = match (server, seen) {
                    (Some(server), Seen::Is(look)) => (server, look),
                    (_, Seen::Fails(problem)) => {
                        tell!("{name}: {}", visible(&problem));
                        faults += 1;
                        continue;
                    }
                    (_, Seen::OnlyInARun(why)) => {
                        tell!(
                            "{name}: what it is started with is known only in a run ({}); its tools are pinned by the first one",
                            visible(&why)
                        );
                        continue;
                    }
                    (None, Seen::Is(_)) => continue,
                };
                differences += tell_difference(&name, &look);
                if only_check || look.difference.is_none() {
                    continue;
                }
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
    match count {
        0 => tell!("no MCP servers"),
        _ if differences == 0 && faults == 0 => tell!("all tools are as they were pinned"),
        _ => {}
    }
    if faults > 0 || only_check && differences > 0 { Exit::Findings } else { Exit::Ok }
}

/// Prints how a server's tools differ; how many do.
fn tell_difference(name: &str, look: &ServerLook) -> usize {
    let difference = &look.difference;
    if difference.is_first {
        tell!("{name} (protocol {}): seen for the first time", look.version);
        for (tool, about) in &look.tools {
            tell!("  {tool}: {}", about.chars().take(200).collect::<String>());
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
