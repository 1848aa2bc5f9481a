//! Policies: every act of a step or agent is allowed or rejected before it is done, by a person where a rule requires it, and the decision is an
//! event.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::acts::{CalledTool, DecidedAct, PersonSays, shown_resource};
use crate::command::CallRequest;
use crate::event::{Failure, FailureKind, Happening, StepPath};
use crate::model::{ActKind, HostSource, Policy, StepKind, Touch, USER_POLICY};
use crate::parts::{Files, Gatekeeper, Rules};
use crate::policy::{Act, Decision, Origin, PolicyAnswer, decide, decide_host, denies_program, from_project, may_reach, opens_call};
use crate::port::{Embedding, FileToWrite, ModelRequest, ProgramCall, SearchRequest, ServerTransport, ToolServer, new_name, plain_name};
use crate::run::Answerer;
use crate::secrets::{address_without_stand_ins, without_stand_ins};
use crate::sql::mentions;
use crate::state::NodeRef;
use crate::steps::mail::each_form;
use crate::steps::requests::IDEMPOTENCY_KEY;
use crate::tools::consent::not_allowed;
use crate::{Context, MockedRequest, PortRules};

/// An act of a request, as policies see it.
enum Deed {
    Host(Origin, HostSource),
    /// A server, and the URI of its resource as the only argument.
    Resource(String, Value),
    Read(String),
    /// All files that fit a pattern.
    ReadEach(String),
    Write(String, u64),
}

impl Gatekeeper<'_> {
    /// Whether a request of a step, or of its agent, may be sent. Returns `false` if a person has been asked and the step waits, or if it is not sent in a
    /// test.
    ///
    /// # Errors
    /// Fails if a policy, or the tool's own `allow` and `deny`, reject it (`denied`), if a person said no (`rejected`), or if its address cannot be
    /// read.
    pub(crate) fn permit(
        &mut self,
        at: NodeRef,
        agent: Option<&str>,
        tool: Option<CalledTool>,
        request: &CallRequest,
    ) -> Result<bool, Failure> {
        let is_unsent = self.answerer != Answerer::World;
        let permitted = self.permitted(at, agent, tool, request)?;
        if is_unsent {
            let unsent = mocked_request(self.path(at), tool, request);
            self.noted.borrow_mut().requests.push(unsent);
        }
        Ok(permitted && !is_unsent)
    }

    fn permitted(&mut self, at: NodeRef, agent: Option<&str>, tool: Option<CalledTool>, request: &CallRequest) -> Result<bool, Failure> {
        if let Some(CalledTool { name, whole, is_program: false, .. }) = tool {
            let opened = self.tool(at, name)?;
            let mut decisions = each_form(request, whole).into_iter().map(|whole| opens_call(opened, name, &whole));
            if let Some(denied) = decisions.find(Decision::is_denied) {
                self.record_decision(at, agent, (ActKind::Tool, name.to_owned()), denied, String::new())?;
            }
        }
        self.permit_model(at, agent, request)?;
        let decided = self.rules().decided(at, agent, tool, request)?;
        // A person is not asked about a request that is rejected anyway.
        let is_denied = decided.iter().any(|one| one.decision.is_denied());
        if !is_denied {
            self.rules().taken_by_ports(request)?;
        }
        let nobody_asks = is_denied || self.answerer == Answerer::Mock;
        let said = if nobody_asks { None } else { self.person_says(at, agent, tool, request, &decided)? };
        let (word, by) = match &said {
            Some(PersonSays::Nothing) => return Ok(false),
            Some(PersonSays::No { by, .. }) => (Some((false, "a person said no")), by.as_str()),
            Some(PersonSays::IsAway) => (Some((false, "nobody could be asked")), ""),
            Some(PersonSays::Yes(by)) => (Some((true, "a person said yes")), by.as_str()),
            None => (None, ""),
        };
        for DecidedAct { act, target, decision, .. } in decided {
            match (decision.answer, word) {
                // The request is not sent, so no allowed act is recorded.
                (PolicyAnswer::Allow, Some((false, _))) => {}
                (PolicyAnswer::Allow | PolicyAnswer::Deny, _) => self.record_decision(at, agent, (act, target), decision, String::new())?,
                (PolicyAnswer::Ask, Some((is_yes, word))) => {
                    let decision = Decision::new(is_yes, format!("{}, and {word}", decision.rule));
                    // A rejection by a person is returned as its own failure, below.
                    let _ = self.record_decision(at, agent, (act, target), decision, by.to_owned());
                }
                // Another act of the request is rejected, or a mock has the answer.
                (PolicyAnswer::Ask, None) => {}
            }
        }
        match said {
            Some(PersonSays::No { comment, .. }) => Err(not_allowed(tool, request, Some(&comment))),
            Some(PersonSays::IsAway) => Err(not_allowed(tool, request, None)),
            Some(PersonSays::Yes(_) | PersonSays::Nothing) | None => Ok(true),
        }
    }

    /// Checks whether a model may be called. Policies do not restrict the model, but a model must not have chosen its host.
    ///
    /// # Errors
    /// Fails if the run's data named a host that is not in the file, or if an input or the data named a host that is not in a list of hosts
    /// (`denied`); also if the address cannot be read.
    pub(crate) fn permit_model(&mut self, at: NodeRef, agent: Option<&str>, request: &CallRequest) -> Result<(), Failure> {
        if let CallRequest::Agent(_) = request {
            return self.permit_agent_program(at, agent, request);
        }
        let (base_url, host_from) = if let CallRequest::Model(ModelRequest { base_url, host_from, .. }) = request {
            (base_url, host_from)
        } else if let CallRequest::Search(SearchRequest { embed: Some(Embedding::Endpoint(endpoint)), .. }) = request {
            (&endpoint.base_url, &endpoint.host_from)
        } else {
            return Ok(());
        };
        if *host_from < HostSource::Input {
            return Ok(());
        }
        let (origin, policies) = (of_web(base_url)?, self.policies(at, agent));
        // A host that a person named needs no record if no policy is in force.
        if *host_from == HostSource::Input && policies.is_empty() {
            return Ok(());
        }
        let decision = may_reach(&policies, *host_from, &origin, || self.origins().knows(at, &origin));
        self.record_decision(at, agent, (ActKind::Host, origin.named()), decision, String::new())
    }

    /// Checks whether a program that is an agent may have the folders and the network that it is given. Nobody is asked: what it does there is not known before.
    fn permit_agent_program(&mut self, at: NodeRef, agent: Option<&str>, request: &CallRequest) -> Result<(), Failure> {
        for DecidedAct { act, target, decision, .. } in self.rules().decided(at, agent, None, request)? {
            let decision = match decision.answer {
                PolicyAnswer::Ask => Decision::new(false, format!("{}, and nobody is asked about a whole program", decision.rule)),
                PolicyAnswer::Allow | PolicyAnswer::Deny => decision,
            };
            self.record_decision(at, agent, (act, target), decision, String::new())?;
        }
        Ok(())
    }

    /// Checks, before its server starts, whether policies may allow a tool that a step names, perhaps after asking a person.
    ///
    /// # Errors
    /// Fails if they reject all its calls (`denied`).
    pub(crate) fn permit_tool(&mut self, at: NodeRef, name: &str) -> Result<(), Failure> {
        let decision = decide(&self.policies(at, None), &Act::Tool { name, arguments: None });
        if !decision.is_denied() {
            return Ok(());
        }
        self.record_decision(at, None, (ActKind::Tool, name.to_owned()), decision, String::new())
    }

    /// Records a decision. `by`: the person who decided.
    ///
    /// # Errors
    /// Fails if the act is not allowed.
    pub(crate) fn record_decision(
        &mut self,
        at: NodeRef,
        agent: Option<&str>,
        (act, target): (ActKind, String),
        decision: Decision,
        by: String,
    ) -> Result<(), Failure> {
        let message = format!("{} \"{target}\" is not allowed: {}", act.word(), decision.rule);
        let is_allowed = decision.is_allowed();
        self.0.emit(self.rules().decision(at, agent, (act, target), decision, by));
        if is_allowed { Ok(()) } else { Err(Failure::new(FailureKind::Denied, message)) }
    }
}

impl Rules<'_> {
    /// That a decision was made. `by`: the person who decided.
    pub(crate) fn decision(
        &self,
        at: NodeRef,
        agent: Option<&str>,
        (act, target): (ActKind, String),
        decision: Decision,
        by: String,
    ) -> Happening {
        let (step, agent) = (self.path(at), agent.unwrap_or_default().to_string());
        Happening::PolicyDecided { step, agent, act, target, allowed: decision.is_allowed(), rule: decision.rule, by }
    }

    /// That the ports would not reject a request before anything of it leaves this machine. Of one that is sent they say so themselves.
    fn taken_by_ports(&self, request: &CallRequest) -> Result<(), Failure> {
        let is_unsent = self.answerer != Answerer::World;
        let known = |name: &str| Some(name).filter(|_| is_unsent).and_then(without_stand_ins).unwrap_or_else(|| name.to_owned());
        if let CallRequest::Open { name, .. } = request {
            plain_name(&known(name))?;
        }
        if let CallRequest::Write { name, .. } = request {
            new_name(&known(name))?;
        }
        match &self.options.mocks.ports {
            Some(PortRules(rules)) if is_unsent => rules(request),
            _ => Ok(()),
        }
    }

    /// Whether rules reject a request that nothing answers in a test.
    pub(crate) fn is_rejected(&self, at: NodeRef, agent: &str, tool: CalledTool, request: &CallRequest) -> bool {
        let opened = self.tool(at, tool.name).map(|opened| opens_call(opened, tool.name, tool.whole));
        let decided = self.decided(at, Some(agent), Some(tool), request);
        opened.is_ok_and(|opened| opened.is_denied())
            || decided.map_or(true, |decided| decided.iter().any(|one| one.decision.is_denied()))
            || self.taken_by_ports(request).is_err()
    }

    /// The decision of the rules about each act of a request; empty if no rule applies.
    fn decided(
        &self,
        at: NodeRef,
        agent: Option<&str>,
        tool: Option<CalledTool>,
        request: &CallRequest,
    ) -> Result<Vec<DecidedAct>, Failure> {
        let policies = self.policies(at, agent);
        let deeds = self.deeds(at, request)?;
        let is_named_by_data = |deed: &Deed| matches!(deed, Deed::Host(_, HostSource::Data));
        if policies.is_empty() && agent.is_none() && !deeds.iter().any(is_named_by_data) {
            return Ok(vec![]);
        }
        let of_act = |act: Act, words: String| DecidedAct {
            act: act.kind(),
            target: act.target().to_string(),
            words,
            decision: decide(&policies, &act),
        };
        let of_tool = tool.and_then(|CalledTool { name, arguments, is_program, .. }| {
            let word = if is_program { "start" } else { "call" };
            let forms = each_form(request, arguments);
            let of_form = |form| of_act(Act::Tool { name, arguments: Some(form) }, format!("{word} {name}"));
            forms.iter().map(of_form).min_by_key(|one| one.decision.answer)
        });
        // A tool may have any name; what it starts is meant, too.
        let command: &[String] = if let CallRequest::Program(call) = request { &call.command } else { &[] };
        let of_program = denies_program(&policies, command).zip(command.first());
        let of_program = of_program.map(|(decision, program)| DecidedAct {
            act: ActKind::Tool,
            target: program.clone(),
            words: format!("start {program}"),
            decision,
        });
        let of_deeds = deeds.iter().map(|deed| match deed {
            Deed::Host(origin, source) => {
                let decision = decide_host(&policies, *source, origin, || self.origins().knows(at, origin));
                DecidedAct { act: ActKind::Host, target: origin.named(), words: format!("reach {origin}"), decision }
            }
            Deed::Resource(server, arguments) => {
                let shown = shown_resource(server, arguments);
                of_act(Act::Resource { server, uri: Some((arguments, &shown)) }, format!("read the resource {shown}"))
            }
            Deed::Read(path) => of_act(Act::Read(path), format!("read {path}")),
            Deed::ReadEach(pattern) => of_act(Act::ReadEach(pattern), format!("read the files {pattern}")),
            Deed::Write(path, size) => of_act(Act::Write(path, *size), format!("write {path}")),
        });
        let of_arguments = self.origins().untrusted_acts(at, &policies, tool, request);
        Ok(of_tool.into_iter().chain(of_program).chain(of_deeds).chain(of_arguments).collect())
    }

    /// The agent that planned a step, if any. The step acts for that agent.
    pub(crate) fn planner_of(&self, at: NodeRef) -> Option<String> {
        let step = self.step(self.state.steps.planner(at)?);
        if let StepKind::Plan(plan) = &step.kind { Some(plan.agent.value.clone()) } else { None }
    }

    fn deeds(&self, at: NodeRef, request: &CallRequest) -> Result<Vec<Deed>, Failure> {
        let pipeline = &self.planned_of(at).pipeline;
        let inside = |path: &Path| from_project(&pipeline.project, path);
        // What is in a folder; the project itself has no name.
        let below = |folder: &Path, what: &str| inside(&folder.join(what));
        Ok(match request {
            CallRequest::Http(request) => of_host(&request.url, request.host_from)?,
            CallRequest::Tools(server) => of_server(server)?,
            CallRequest::Tool(call) => of_server(&call.server)?,
            CallRequest::Resource(call) => {
                let mut deeds = vec![Deed::Resource(call.server.name.clone(), json!({ "uri": call.uri }))];
                deeds.extend(of_server(&call.server)?);
                deeds
            }
            CallRequest::Mail(mail) if self.answerer != Answerer::World && without_stand_ins(&mail.server).is_some() => vec![],
            CallRequest::Mail(mail) => {
                let missing = || Failure::new(FailureKind::BadRequest, "the mail server has no host");
                vec![Deed::Host(Origin::of_mail(&mail.server).ok_or_else(missing)?, mail.host_from)]
            }
            CallRequest::Query(_) | CallRequest::Read(_) | CallRequest::Python(_) | CallRequest::Open { .. } => {
                touched(request).1.iter().map(|path| Deed::Read(inside(path))).collect()
            }
            CallRequest::Program(call) => of_program(call, &below),
            CallRequest::Agent(call) => of_program(&call.program, &below),
            CallRequest::Search(search) => {
                let written = search.files.iter().map(|file| {
                    let whole = inside(&file.whole());
                    if file.rest.is_empty() { Deed::Read(whole) } else { Deed::ReadEach(whole) }
                });
                let given = search.given.iter().flatten().map(|path| Deed::Read(inside(path)));
                written.chain(given).collect()
            }
            // A list reveals all names in the folder, so it needs permission to read all of them.
            CallRequest::List { folder } => vec![Deed::Read(below(folder, "*"))],
            CallRequest::Write { folder, name, content } => {
                // The size of a picture is looked at when it is copied; that it may be read was decided when it was.
                let size = match content {
                    FileToWrite::Text(text) | FileToWrite::Added { text, most: _ } => text.len() as u64,
                    FileToWrite::Picture { .. } => 0,
                };
                vec![Deed::Write(inside(&folder.join(name)), size)]
            }
            CallRequest::Model(_)
            | CallRequest::Scripted(_)
            | CallRequest::Recall { .. }
            | CallRequest::Print(_)
            | CallRequest::Held { .. } => vec![],
        })
    }

    /// The request to send. If a rule about paths allowed it, its files must be where their paths say.
    pub(crate) fn bound_to_place(&self, at: NodeRef, agent: Option<&str>, request: CallRequest) -> CallRequest {
        let policies = self.policies(at, agent);
        let (touch, paths) = touched(&request);
        let by_policy = policies.iter().any(|(_, policy)| match touch {
            Touch::Write => policy.write.is_some(),
            Touch::Read => policy.read.is_some(),
        });
        let told_by_data = if let CallRequest::Search(search) = &request {
            self.files().documents_told_by_data(at, &search.knowledge)
        } else {
            matches!(&self.step(at).kind, StepKind::Read(read) if self.files().told_by_data(at, &self.step(at), read))
        };
        if paths.is_empty() || !(by_policy || told_by_data) {
            return request;
        }
        let project = self.planned_of(at).pipeline.project.clone();
        let files = paths.into_iter().map(|path| (path.clone(), from_project(&project, &path))).collect();
        CallRequest::Held { project, files, within: !by_policy, request: Box::new(request) }
    }
}

impl Context {
    /// The policies in force for a step, innermost first: of the agent, of its file, of the files and agents that called it, and of the user.
    pub(crate) fn policies(&self, at: NodeRef, agent: Option<&str>) -> Vec<(&str, &Policy)> {
        let mut found = vec![];
        let mut agent = agent.map(str::to_owned);
        let mut here = Some(at);
        for (ix, parent) in self.state.steps.chain(at) {
            let pipeline = &self.planned(ix).pipeline;
            let planner = here.and_then(|here| self.rules().planner_of(here)).filter(|planner| Some(planner) != agent.as_ref());
            let agents = [agent.take(), planner];
            let of_agents = agents.iter().flatten().filter_map(|name| pipeline.agents.get(name)?.policy.as_ref());
            let of_dialogue = here.and_then(|here| self.dialogues().dialogue(here)?.policy.as_ref());
            for name in of_agents.chain(of_dialogue).chain(&pipeline.policy) {
                found.extend(pipeline.policies.get_key_value(&name.value).map(|(name, policy)| (name.as_str(), policy)));
            }
            agent = parent.and_then(|parent| self.state.steps.node(parent).talk()).map(|talk| talk.agent.clone());
            here = parent;
        }
        found.extend(self.options.user_policies.iter().map(|policy| (USER_POLICY, policy)));
        found
    }
}

impl Files<'_> {
    /// Whether a path is in the project, judging by its text.
    pub(crate) fn is_in_project(&self, at: NodeRef, path: &Path) -> bool {
        let inside = from_project(&self.planned_of(at).pipeline.project, path);
        !inside.starts_with('/') && !inside.split('/').any(|part| part == "..")
    }
}

/// The hosts of a server: of its address and of its sign-in; none for a program.
fn of_server(server: &ToolServer) -> Result<Vec<Deed>, Failure> {
    match &server.transport {
        ServerTransport::Http { url, host_from, auth, headers: _ } => {
            let named = auth.iter().flat_map(|auth| auth.issuer.iter().chain(&auth.token_url));
            let named = named.map(|address| Ok(Deed::Host(of_web(address)?, HostSource::File)));
            of_host(url, *host_from)?.into_iter().map(Ok).chain(named).collect()
        }
        ServerTransport::Program { .. } => Ok(vec![]),
    }
}

/// A program may read all in the folders that it is given.
fn of_program(call: &ProgramCall, below: &dyn Fn(&Path, &str) -> String) -> Vec<Deed> {
    let reads = call.reads.iter().map(|folder| Deed::Read(below(folder, "**")));
    let writes = call.writes.iter().map(|folder| Deed::Write(below(folder, "**"), 0));
    let network = Origin::of_program(&call.network).into_iter().map(|origin| Deed::Host(origin, HostSource::Input));
    reads.chain(writes).chain(network).collect()
}

/// That an address is called. Of one that is not sent, the host may be that of a variable, which nobody knows.
fn of_host(address: &str, host_from: HostSource) -> Result<Vec<Deed>, Failure> {
    let stood_in = if Origin::parse(address).is_none() { address_without_stand_ins(address) } else { None };
    match stood_in {
        Some(made) => of_web(&made).map(|_| vec![]),
        None => Ok(vec![Deed::Host(of_web(address)?, host_from)]),
    }
}

fn of_web(address: &str) -> Result<Origin, Failure> {
    let wrong = || Failure::new(FailureKind::BadRequest, "the address is not a URL with a host, such as https://example.com/x");
    Origin::parse(address).ok_or_else(wrong)
}

/// The files and folders that a request opens, and whether it reads or writes them.
fn touched(request: &CallRequest) -> (Touch, Vec<PathBuf>) {
    let files = match request {
        CallRequest::Query(query) => {
            query.tables.iter().filter(|table| mentions(&query.query, &table.name)).map(|table| table.file.clone()).collect()
        }
        CallRequest::Read(files) => files.iter().map(|file| file.path.clone()).collect(),
        CallRequest::List { folder } => vec![folder.clone()],
        CallRequest::Open { folder, name } => vec![folder.join(name)],
        CallRequest::Write { folder, name, content: _ } => return (Touch::Write, vec![folder.join(name)]),
        // Where the files lie that fit a pattern is looked at when they are found; links among them are not followed.
        CallRequest::Search(search) => search.given.clone().unwrap_or_default(),
        CallRequest::Python(call) => call.reads.iter().chain(call.tables.iter().map(|table| &table.file)).cloned().collect(),
        CallRequest::Program(_) | CallRequest::Agent(_) | CallRequest::Http(_) | CallRequest::Mail(_) | CallRequest::Model(_) => vec![],
        CallRequest::Tools(_) | CallRequest::Tool(_) | CallRequest::Resource(_) => vec![],
        CallRequest::Scripted(_) | CallRequest::Recall { .. } | CallRequest::Print(_) | CallRequest::Held { .. } => vec![],
    };
    (Touch::Read, files)
}

/// What a test may expect of a request that is not sent.
fn mocked_request(step: StepPath, tool: Option<CalledTool>, request: &CallRequest) -> MockedRequest {
    let http = if let CallRequest::Http(http) = request { Some(http) } else { None };
    let as_value =
        |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()));
    let key = http.and_then(|http| http.headers.iter().find(|(name, _)| name == IDEMPOTENCY_KEY));
    MockedRequest {
        step,
        request: http.map(|http| format!("{} {}", http.method.word(), http.recorded_url())),
        body: http.and_then(|http| http.body.as_ref()).map_or(Value::Null, |(_, bytes)| as_value(bytes)),
        idempotency_key: key.map(|(_, key)| key.reveal().to_owned()),
        arguments: tool.map_or(Value::Null, |tool| tool.arguments.clone()),
    }
}
