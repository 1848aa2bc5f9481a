//! MCP servers that live as long as the chat, so that a message finds them started. Also lists their tools.

use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Map;
use tokio::runtime::Handle;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;

use super::Chat;
use crate::adapter::clock::SystemClock;
use crate::adapter::mcp::{Lent, SharedServers};
use crate::driver::Runtime;
use crate::engine::servers;
use crate::event::Failure;
use crate::model::{Pipeline, Policy, Tool, ToolName, USER_POLICY};
use crate::policy::{may_call, opens};
use crate::port::{ToolList, ToolServers};
use crate::refusal::Refusal;
use crate::run::ready;
use crate::runtime::{Surroundings, declared, inputs_of_file, world};
use crate::signals::listen;
use crate::{Exit, tell};

/// A server's name and its tools.
type ListedServer = (String, Result<ToolList, Failure>);

/// The servers of a chat, on a separate thread.
pub(super) struct ChatServers {
    shared: Arc<SharedServers>,
    on: Handle,
    /// Dropping it ends the servers.
    over: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ChatServers {
    /// Starts the thread; a server starts with the first message that needs it. Errors: the system has no more threads or files (exit 6).
    pub(super) fn new() -> Result<ChatServers, Refusal> {
        let cannot = |error: std::io::Error| refusal!(Failed, "flow cannot start: {error}");
        let runtime = Runtime::new().map_err(cannot)?;
        let on = runtime.handle().clone();
        let shared = Arc::new(SharedServers::new(on.clone(), Arc::new(SystemClock::new())).with_logins(world::logins()));
        let (over, is_over) = oneshot::channel::<()>();
        let own = Arc::clone(&shared);
        let lives = move || {
            runtime.block_on(async {
                let _ = is_over.await;
                own.close().await;
            });
        };
        let thread = std::thread::Builder::new().name("servers".into()).spawn(lives).map_err(cannot)?;
        Ok(ChatServers { shared, on, over: Some(over), thread: Some(thread) })
    }

    /// Ends the servers; the next message starts those it needs. A server busy with an abandoned call would not receive that message.
    pub(super) fn restart(&self) {
        let shared = Arc::clone(&self.shared);
        self.on.spawn(async move { shared.close().await });
    }

    /// Returns the servers for one run.
    pub(super) fn lend(&self, run: &str, on: &Surroundings) -> Lent {
        let workflow = &on.runner.workflow;
        let command = world::login_command(&workflow.file, &workflow.project, on.runner.env_file.as_deref());
        self.shared.lend(run, &on.settled.hosts_with(&on.runner.env), on.runner.agreed.clone(), command)
    }
}

impl Drop for ChatServers {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Chat<'_> {
    /// Lists the offered tools, including the current tools of servers, without those that policies always reject. Errors: those of a
    /// message before its run starts.
    pub(super) fn tell_tools(&self) -> Result<(), Refusal> {
        let pipeline = &self.opened.workflow.pipeline;
        let agent = self.opened.agent.as_ref().and_then(|name| pipeline.agents.get(name));
        let names: Vec<&str> = match agent {
            Some(agent) => agent.tools.iter().map(|tool| tool.value.as_str()).collect(),
            None => pipeline.tools.keys().map(String::as_str).collect(),
        };
        if names.is_empty() {
            tell!("{} has no tools", self.opened.name());
            return Ok(());
        }
        let on = ready(&self.runner)?;
        let policies: Vec<(&str, &Policy)> =
            pipeline.policies_of(agent).chain(on.user_policies().map(|policy| (USER_POLICY, policy))).collect();
        let listed = match names.iter().any(|name| pipeline.tools.get(ToolName::parse(name).tool).is_some_and(Tool::is_server)) {
            true => self.listed(&names, &on)?,
            false => vec![],
        };
        let mut count = 0;
        for (tool, name, about) in names.iter().flat_map(|name| shown_of(pipeline, name, &listed)) {
            if may_call(&policies, tool, &name, &pipeline.project) {
                self.tell_tool(&name, &about);
                count += 1;
            }
        }
        if count == 0 {
            tell!("{} has no tools that its policies allow", self.opened.name());
        }
        Ok(())
    }

    fn tell_tool(&self, name: &str, about: &str) {
        let first = about.trim().lines().next().unwrap_or_default();
        let gap = if first.is_empty() { "" } else { "  " };
        tell::wrapped("", &format!("{name}{gap}{first}"), self.shared.look_of_stderr());
    }

    /// Requests the tools of these servers, all at once. Errors: Ctrl-C; see [`Chat::tell_tools`].
    fn listed(&self, names: &[&str], on: &Surroundings) -> Result<Vec<ListedServer>, Refusal> {
        let pipeline = on.pipeline();
        let mut inputs: Map<_, _> = inputs_of_file(pipeline);
        inputs.extend(self.given.clone());
        let all = servers(pipeline, &inputs, &declared([&**pipeline], &on.runner.env), &on.runner.env);
        let wanted = all.into_iter().filter(|(name, _)| names.iter().any(|named| ToolName::parse(named).tool == name.as_str()));
        let lent = self.servers.lend("look", on);
        let asked = wanted.map(async |(name, server)| match server {
            Ok(server) => (name, lent.list(server).await),
            Err(failure) => (name, Err(failure)),
        });
        let (sender, mut stop) = unbounded_channel();
        let _heard = listen(sender);
        let runtime = Runtime::new().map_err(|error| Refusal::new(Exit::Failed, error.to_string()))?;
        runtime.block_on(async {
            tokio::select! {
                listed = futures_util::future::join_all(asked) => Ok(listed),
                _ = stop.recv() => Err(Refusal::new(Exit::Interrupted, "stopped")),
            }
        })
    }
}

/// Returns the tools that a name in the file stands for, each with its name and description.
fn shown_of<'t>(pipeline: &'t Pipeline, written: &str, listed: &[ListedServer]) -> Vec<(&'t Tool, String, String)> {
    let ToolName { tool: name, part } = ToolName::parse(written);
    let Some(tool) = pipeline.tools.get(name) else { return vec![] };
    let about = tool.description.clone().unwrap_or_default();
    let one = |about: String| vec![(tool, written.to_owned(), about)];
    match listed.iter().find(|(server, _)| server == name) {
        Some((_, Ok(ToolList { absent: Some(failure), .. }))) | Some((_, Err(failure))) => {
            one(format!("cannot be used now: {}", failure.message))
        }
        Some((_, Ok(list))) => {
            let offered = |found: &str| part.map_or(tool.allow.is_some(), |part| part == found) && opens(tool, found, None).is_allowed();
            let offered = list.tools.iter().filter(|found| offered(&found.name));
            let all: Vec<_> = offered.map(|found| (tool, format!("{name}.{}", found.name), found.description.clone())).collect();
            if all.is_empty() { one("offers none of its tools: none that it lists is allowed".into()) } else { all }
        }
        None if part.is_none() && tool.kind.folder().is_some() && !tool.parts().is_empty() => {
            tool.parts().iter().map(|part| (tool, format!("{name}.{}", <&str>::from(*part)), about.clone())).collect()
        }
        None => one(about),
    }
}
