//! Starts MCP servers while the run does something else, so that the first call does not wait for a program to start.
//!
//! This emits no events: a server that does not start is reported by the step that needs it, as if it had not been tried before.

use std::collections::{BTreeSet, VecDeque};

use crate::command::Command;
use crate::event::{Failure, FailureKind};
use crate::model::{Form, HostSource, PipelineId, ServerKind, Text, ToolKind, ToolName};
use crate::parts::{Servers, Toolbox};
use crate::plan::PipelinePlan;
use crate::policy::{Act, decide, may_allow};
use crate::port::ToolServer;
use crate::template;
use crate::tools::servers::of_file;

/// The most servers that start early; the others start at their first call.
const MOST_EARLY: usize = 8;

impl Servers<'_> {
    /// Starts the servers that the steps of this run may use, in its own file and in those that it calls, if all their settings are known and no
    /// policy could reject them. Tests start none.
    pub(crate) fn start_servers_early(&mut self) {
        let mocks = &self.options.mocks;
        if mocks.refuses_effects || !mocks.by_name.is_empty() || self.state.finished.is_some() || self.state.stopping.is_some() {
            return;
        }
        // The first step has already requested the tools of its server.
        let asked: BTreeSet<String> = self.state.calls.keys().filter_map(|call| self.state.calls.listing(*call)).collect();
        let (mut open, mut seen) = (VecDeque::from([PipelineId(0)]), BTreeSet::from([0]));
        let mut early: Vec<ToolServer> = vec![];
        while let Some(id) = open.pop_front() {
            let planned = self.plan.pipeline(id);
            let of_steps = planned.steps.iter().filter_map(|planned| planned.step.kind.facts().called);
            let of_tools = named_tools(planned).into_iter().filter_map(|tool| planned.called_tool(ToolName::parse(tool).tool));
            open.extend(of_steps.chain(of_tools).filter(|called| seen.insert(called.0)));
            let servers = self.toolbox().servers_used(planned).into_iter().filter(|name| !asked.contains(*name));
            early.extend(servers.filter_map(|name| self.toolbox().known_server(id, name).ok()));
        }
        early.truncate(MOST_EARLY);
        early.into_iter().for_each(|server| self.outbox.push(Command::StartServer(Box::new(server))));
    }
}

impl Toolbox<'_> {
    /// The servers of a file that its steps and agents use through a tool or resource that every policy of this run may allow.
    fn servers_used<'p>(&self, planned: &'p PipelinePlan) -> BTreeSet<&'p str> {
        // Which policies are in force is known only when a step runs.
        let policies: Vec<_> = self.plan.pipelines.iter().flat_map(|planned| &planned.pipeline.policies).collect();
        let policies = policies.into_iter().map(|(name, policy)| (name.as_str(), policy));
        let policies: Vec<_> = policies.chain(self.options.user_policies.iter().map(|policy| ("user", policy))).collect();
        // A policy's decision about a host is recorded, which is left to the step that needs the server.
        let may_be_reached = |kind: &ToolKind| match kind {
            ToolKind::Server(ServerKind::Program { .. }) => true,
            ToolKind::Server(ServerKind::Url { .. }) => policies.is_empty(),
            ToolKind::Http { .. }
            | ToolKind::Sql(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::File(_)
            | ToolKind::Knowledge(_)
            | ToolKind::Smtp { .. }
            | ToolKind::Pipeline { .. }
            | ToolKind::Broken => false,
        };
        let reached = |name: &str| planned.pipeline.tool(name).map(|(tool, _)| tool).filter(|tool| may_be_reached(&tool.kind));
        let may_start = |name: &&str| {
            let ToolName { tool: name, part } = ToolName::parse(name);
            reached(name).is_some_and(|tool| match part {
                Some(part) => may_allow(&policies, name, part),
                None => tool.allowed_names().any(|part| may_allow(&policies, name, part)),
            })
        };
        let may_read = |name: &&str| reached(name).is_some() && !decide(&policies, &Act::Resource { server: name, uri: None }).is_denied();
        let resources = planned.steps.iter().filter_map(|planned| planned.step.kind.resource());
        let read = resources.map(|step| step.server.as_str()).filter(may_read);
        named_tools(planned).into_iter().filter(may_start).map(|name| ToolName::parse(name).tool).chain(read).collect()
    }

    /// A server whose texts read only `env`, `secrets` and, in the run's own file, `inputs`. Its address may read only `env`, since the step decides
    /// who named its host.
    fn known_server(&self, id: PipelineId, name: &str) -> Result<ToolServer, Failure> {
        let secrets = self.names().secret_names();
        let filled = |text: &Text, roots: &[&str]| {
            if text.form == Form::Plain {
                return Ok(text.source.to_string());
            }
            let is_known = |path: &[String]| path.first().is_some_and(|root| roots.contains(&root.as_str()));
            if !text.reads.iter().all(|read| is_known(&read.path)) {
                return Err(Failure::new(FailureKind::Unavailable, "it reads what is not known yet"));
            }
            let scope = self.names().scope(0, None, text, &secrets);
            let wrong = |error: template::FillError| Failure::new(FailureKind::BadRequest, error.message);
            template::compile(text).and_then(|compiled| compiled.fill_text(&scope)).map_err(wrong)
        };
        let roots: &[&str] = if id.0 == 0 { &["env", "secrets", "inputs"] } else { &["env", "secrets"] };
        let fill = |text: &Text| filled(text, roots);
        let address = |text: &Text| {
            let source = if text.form == Form::Plain { HostSource::File } else { HostSource::Environment };
            Ok((filled(text, &["env"])?, source))
        };
        of_file(&self.plan.pipeline(id).pipeline, name, self.id.clone(), &self.options.secrets, &fill, &address)
    }
}

/// The tool names in the steps of a file and in their agents: `server`, `server.tool`.
fn named_tools(planned: &PipelinePlan) -> Vec<&str> {
    let facts = || planned.steps.iter().map(|planned| planned.step.kind.facts());
    let agents: BTreeSet<&str> = facts()
        .flat_map(|facts| facts.agents.into_iter().flatten().chain(facts.talkers).chain(facts.may_use))
        .map(|name| name.value.as_str())
        .collect();
    let of_agents = planned.pipeline.agents.iter().filter(|(name, _)| agents.contains(name.as_str())).flat_map(|(_, agent)| &agent.tools);
    facts().flat_map(|facts| facts.may_use).chain(of_agents).map(|tool| tool.value.as_str()).collect()
}
