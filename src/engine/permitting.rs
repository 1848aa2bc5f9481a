//! Policies: every act of a step or of an agent is decided before it goes out, and the decision is an event.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Run;
use super::calling::{mentions, told_by_step};
use super::command::Request;
use super::state::{NodeRef, Work};
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{Policy, StepKind, ToolKind};
use crate::policy::{Act, Decision, decide, from_project};
use crate::port::{Server, ServerTransport};

/// What a request does, in the words of a policy.
enum Deed {
    Host(String, Option<u16>),
    Read(String),
    Write(String, u64),
}

impl Run {
    /// Whether a request may go out: of a step, or of the agent that asks for it. `tool` is its name and its arguments.
    ///
    /// # Errors
    /// A policy refuses it (`denied`), or its address cannot be read.
    pub(super) fn permit(
        &mut self,
        at: NodeRef,
        agent: Option<&str>,
        tool: Option<(&str, &Value)>,
        request: &Request,
    ) -> Result<(), Failure> {
        let policies = self.policies(at, agent);
        if policies.is_empty() && agent.is_none() {
            return Ok(());
        }
        let deeds = self.deeds(at, request)?;
        let of_tool = tool.map(|(name, arguments)| Act::Tool { name, arguments: Some(arguments) });
        let acts = of_tool.into_iter().chain(deeds.iter().map(|deed| match deed {
            Deed::Host(host, port) => Act::Host { host, port: *port },
            Deed::Read(path) => Act::Read(path),
            Deed::Write(path, size) => Act::Write(path, *size),
        }));
        let chosen_by_model = policies.is_empty() && tool.is_some_and(|(name, _)| self.leaves_host_open(at, name));
        let decided: Vec<(Happening, Option<Failure>)> = acts
            .map(|act| {
                let decision = match act {
                    Act::Host { .. } if chosen_by_model => {
                        Decision { allowed: false, rule: "no policy: a host that a model chooses needs network_access.hosts".to_string() }
                    }
                    act => decide(&policies, &act),
                };
                let target = act.target().to_string();
                let denied = || Failure::new(FailureKind::Denied, format!("{} \"{target}\" is not allowed: {}", act.word(), decision.rule));
                let failure = (!decision.allowed).then(denied);
                let happening = Happening::PolicyDecided {
                    step: self.state.node(at).path.clone(),
                    agent: agent.unwrap_or_default().to_string(),
                    act: act.word().to_string(),
                    target,
                    allowed: decision.allowed,
                    rule: decision.rule,
                };
                (happening, failure)
            })
            .collect();
        for (happening, failure) in decided {
            self.emit(happening);
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// The policies in force for a step, from the inside out: of the agent, of its file, of the files and agents that called it, and of the user.
    pub(super) fn policies(&self, at: NodeRef, agent: Option<&str>) -> Vec<(&str, &Policy)> {
        let mut found = vec![];
        let mut agent = agent.map(str::to_owned);
        let mut here = Some(at);
        for (ix, parent) in self.state.chain(at) {
            let pipeline = &self.planned(ix).pipeline;
            let planner = here.and_then(|here| self.planner_of(here)).filter(|planner| Some(planner) != agent.as_ref());
            let agents = [agent.take(), planner];
            let of_agents = agents.iter().flatten().filter_map(|name| pipeline.agents.get(name)?.policy.as_ref());
            for name in of_agents.chain(&pipeline.policy) {
                found.extend(pipeline.policies.get_key_value(&name.value).map(|(name, policy)| (name.as_str(), policy)));
            }
            agent = parent.and_then(|parent| match &self.state.node(parent).work {
                Work::Asking(asking) => Some(asking.agent.clone()),
                _ => None,
            });
            here = parent;
        }
        found.extend(self.options.user_policy.as_ref().map(|policy| ("user", policy)));
        found
    }

    /// The agent that planned a step, if one did: what it does is done for that agent.
    pub(super) fn planner_of(&self, at: NodeRef) -> Option<String> {
        match &self.step(self.state.planner(at)?).kind {
            StepKind::Plan(plan) => Some(plan.agent.value.clone()),
            _ => None,
        }
    }

    fn deeds(&self, at: NodeRef, request: &Request) -> Result<Vec<Deed>, Failure> {
        let pipeline = &self.planned_of(at).pipeline;
        let inside = |path: &Path| from_project(&pipeline.project, path);
        Ok(match request {
            Request::Http(request) => {
                let wrong = |e| Failure::new(FailureKind::BadRequest, format!("the address is none: {e}"));
                let url = url::Url::parse(&request.url).map_err(wrong)?;
                vec![Deed::Host(url.host_str().unwrap_or_default().to_string(), url.port_or_known_default())]
            }
            Request::Tools(server) => of_server(server)?,
            Request::Tool(call) => of_server(&call.server)?,
            Request::Mail(mail) => {
                let (host, port) = mail.server.rsplit_once(':').unwrap_or((&mail.server, ""));
                vec![Deed::Host(host.to_lowercase(), port.parse().ok())]
            }
            Request::Query(query) => {
                let used = query.tables.iter().filter(|table| mentions(&query.query, &table.name));
                used.map(|table| Deed::Read(inside(&table.file))).collect()
            }
            Request::Read(files) => files.iter().map(|file| Deed::Read(inside(&file.path))).collect(),
            // A list tells all names of the folder, so it needs what reading all of them does.
            Request::List { folder } => vec![Deed::Read(format!("{}/*", inside(folder)))],
            Request::Open { folder, name } => vec![Deed::Read(inside(&folder.join(name)))],
            Request::Write { folder, name, text } => vec![Deed::Write(inside(&folder.join(name)), text.len() as u64)],
            Request::Model(_) | Request::Scripted(_) | Request::Recall { .. } | Request::Print(_) | Request::Held { .. } => vec![],
        })
    }

    /// The request as it goes out: where a rule about paths let it through, its files must lie where their paths say.
    pub(super) fn bound_to_place(&self, at: NodeRef, agent: Option<&str>, request: Request) -> Request {
        let policies = self.policies(at, agent);
        let by_policy = match request {
            Request::Write { .. } => policies.iter().any(|(_, policy)| policy.write.is_some()),
            _ => policies.iter().any(|(_, policy)| policy.read.is_some()),
        };
        let told_by_step = matches!(&self.step(at).kind, StepKind::Read(read) if told_by_step(&self.step(at), read));
        let paths = if by_policy || told_by_step { touched(&request) } else { vec![] };
        if paths.is_empty() {
            return request;
        }
        let project = self.planned_of(at).pipeline.project.clone();
        let files = paths.into_iter().map(|path| (path.clone(), from_project(&project, &path))).collect();
        Request::Held { project, files, within: !by_policy, request: Box::new(request) }
    }

    /// Whether a path lies in the project, as its text says.
    pub(super) fn is_in_project(&self, at: NodeRef, path: &Path) -> bool {
        let inside = from_project(&self.planned_of(at).pipeline.project, path);
        !inside.starts_with('/') && !inside.split('/').any(|part| part == "..")
    }

    /// Whether the arguments of an `http` tool choose its host.
    fn leaves_host_open(&self, at: NodeRef, tool: &str) -> bool {
        let Ok(tool) = self.tool(at, tool) else { return true };
        let ToolKind::Http { url, .. } = &tool.kind else { return false };
        let rest = url.source.split_once("://").map_or(&*url.source, |(_, rest)| rest);
        // What stands in braces may hold any character, so the authority ends at the first `/`, `?` or `#` outside of them.
        let mut depth = 0i32;
        let end = rest.char_indices().find(|(_, c)| {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            depth == 0 && matches!(c, '/' | '?' | '#')
        });
        let authority = &rest[..end.map_or(rest.len(), |(at, _)| at)];
        let own_scheme = url.source.contains("://");
        authority.contains("with") && authority.contains("{{") || !own_scheme
    }
}

/// The host that a server is asked at; none for a program.
fn of_server(server: &Server) -> Result<Vec<Deed>, Failure> {
    let ServerTransport::Http { url, .. } = &server.transport else { return Ok(vec![]) };
    let url = url::Url::parse(url).map_err(|e| Failure::new(FailureKind::BadRequest, format!("the address is none: {e}")))?;
    Ok(vec![Deed::Host(url.host_str().unwrap_or_default().to_string(), url.port_or_known_default())])
}

/// The files and folders that a request opens.
fn touched(request: &Request) -> Vec<PathBuf> {
    match request {
        Request::Query(query) => {
            query.tables.iter().filter(|table| mentions(&query.query, &table.name)).map(|table| table.file.clone()).collect()
        }
        Request::Read(files) => files.iter().map(|file| file.path.clone()).collect(),
        Request::List { folder } => vec![folder.clone()],
        Request::Open { folder, name } | Request::Write { folder, name, .. } => vec![folder.join(name)],
        _ => vec![],
    }
}
