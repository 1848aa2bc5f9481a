//! Prompts for programs that are agents.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::event::{Failure, FailureKind, Message, MessageRole};
use crate::model::{
    AGENT_PROGRAM_TIMEOUT, ActKind, AgentProgram, ArgumentClass, HostSource, Model, PermissionMode, Policy, ProgramNetwork, PromptOption,
    Touch, Writer, own_by_name,
};
use crate::parts::Conversations;
use crate::policy::{
    Act, ArgumentUse, Decision, GivenArgument, GivenTexts, Origin, PolicyAnswer, decide, decide_host, decide_pieces, from_project,
    judges_untrusted, may_mean, needs_approval, sandbox_mode,
};
use crate::port::{AgentCall, AgentDecision, AgentRule, AgentVerdict, AgentWish, ProgramBounds, Secret};
use crate::questions::Brief;
use crate::reach::Giver;
use crate::state::NodeRef;
use crate::steps::program::narrowed;
use crate::words::fence;

/// What a program that is an agent may use: it starts compilers and tests, and keeps a home.
const BOUNDS: ProgramBounds = ProgramBounds { memory: 4 << 30, processes: 512, file_size: 100 << 20, disk: 2 << 30, output: 32 << 20 };

/// How much longer than its time a call is waited for: a program that takes too long is ended by its sandbox, which then tells what it printed.
pub(crate) const TO_END: Duration = Duration::from_secs(5);

/// A conversation with such a program.
pub(crate) struct AskedProgram<'a> {
    /// Name of the model.
    pub(crate) name: &'a str,
    pub(crate) model: &'a Model,
    pub(crate) program: Arc<AgentProgram>,
    /// What was said before.
    pub(crate) before: &'a [Arc<Message>],
    /// What is said now.
    pub(crate) new: &'a [Arc<Message>],
}

impl Conversations<'_> {
    /// The next prompt for a program.
    ///
    /// # Errors
    /// Fails if a text cannot be filled in, or if the agent has tools, which a program could not call.
    pub(crate) fn agent_call(&self, at: NodeRef, brief: &Brief, told: AskedProgram) -> Result<AgentCall, Failure> {
        let AskedProgram { name, model, program, before, new } = told;
        if !brief.tools.is_empty() {
            let message = format!("agent \"{}\" has tools, and its model \"{name}\" is a program, which has tools of its own", brief.agent);
            return Err(Failure::new(FailureKind::BadRequest, message));
        }
        let secrets = self.names().secret_names();
        let policies = self.policies(at, Some(&brief.agent));
        let timeout = self.step(at).timeout.or(model.timeout).unwrap_or(AGENT_PROGRAM_TIMEOUT);
        let timeout = self.dialogues().time_of_dialogue(at).map_or(timeout, |left: Duration| left.min(timeout));
        let mut call = self.requests().program_call(at, &program.run, format!("model \"{name}\""), &[], timeout)?;
        let folder = program.folder.as_ref().map(|folder| folder.value.clone()).or(call.folder.take());
        call.reads = folder.iter().cloned().chain(program.reads.iter().map(|place| place.value.clone())).collect();
        call.folder = folder;
        (call.sandbox, call.bounds) = (sandbox_mode(&policies), narrowed(BOUNDS, &policies));
        if let (Some(variable), Some(key)) = (&program.api_key_variable, &model.api_key) {
            let missing = |failure: Failure| {
                Failure::new(FailureKind::Auth, format!("api_key of model \"{name}\" is not there: {}", failure.message))
            };
            let key = self.names().fill_text_with(at, key, &secrets).map_err(missing)?;
            call.env.extend((!key.is_empty()).then(|| (variable.clone(), Secret::new(key))));
        }
        if let (Some(variable), Some(url)) = (&program.base_url_variable, &model.base_url) {
            let (url, named_by) = self.origins().address(at, url, Giver::NOBODY, &secrets)?;
            let host = Origin::parse(&url).filter(|_| named_by <= HostSource::Input);
            let wrong = || {
                Failure::new(FailureKind::BadRequest, format!("base_url of model \"{name}\" is no address of a host that a person named"))
            };
            let Origin { host, port, .. } = host.ok_or_else(wrong)?;
            let host = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
            match &mut call.network {
                ProgramNetwork::None => call.network = ProgramNetwork::Hosts(vec![host]),
                ProgramNetwork::Hosts(hosts) => hosts.push(host),
                ProgramNetwork::All => {}
            }
            call.env.push((variable.clone(), Secret::new(url)));
        }
        let mut options = options_of_policies(&policies);
        let called =
            model.model.as_ref().map(|text| self.names().fill_text_with(at, text, &secrets)).transpose()?.filter(|name| !name.is_empty());
        options.extend(called.map(|name| (PromptOption::Model, vec![name])));
        options.extend(self.agent(at, &brief.agent)?.max_turns.map(|most| (PromptOption::MaxTurns, vec![most.to_string()])));
        options.extend(program.max_cost_usd.map(|most| (PromptOption::CostUsd, vec![most.to_string()])));
        options.push((if program.run.writes.is_empty() { PromptOption::ReadOnly } else { PromptOption::Edit }, vec![]));
        let continues = match self.state.steps.node(at).talk().filter(|_| !before.is_empty()) {
            Some(talk) => talk.session.clone().map(|session| (session, since_the_last_answer(before, new))),
            None => brief.resumes.clone(),
        };
        let pictures = before.iter().chain(new).flat_map(|message| message.pictures.iter().cloned());
        call.reads.extend(pictures);
        let is_bound = policies.iter().any(|(_, policy)| policy.read.is_some());
        let held = call.reads.iter().filter(|_| is_bound).map(|path| (path.clone(), from_project(&call.project, path))).collect();
        let system = before.iter().chain(new).find(|message| message.role == MessageRole::System).map(|message| message.text.clone());
        let given = if judges_untrusted(&policies) { self.origins().given_to_model(at).into_owned() } else { GivenTexts::default() };
        Ok(AgentCall {
            program: call,
            speaks: program.speaks.clone(),
            model: name.to_owned(),
            options,
            system,
            prompt: as_text(before.iter().chain(new)),
            continues,
            home: format!("{} {name} {}", self.id(), brief.agent),
            held,
            rule: rule_of(&policies, given),
            step: self.path(at).to_string(),
            person: None,
            listener: None,
        })
    }
}

/// What was said to it since it answered.
fn since_the_last_answer(before: &[Arc<Message>], new: &[Arc<Message>]) -> String {
    let all: Vec<&Arc<Message>> = before.iter().chain(new).collect();
    let answered = all.iter().rposition(|message| message.role == MessageRole::Assistant).map_or(0, |last| last + 1);
    as_text(all[answered..].iter().copied())
}

/// A conversation as one text, in which no message can end its own part and write the next; the first prompt alone is given as it is. Pictures are named
/// by their paths.
pub(crate) fn as_text<'m>(messages: impl Iterator<Item = &'m Arc<Message>>) -> String {
    let with_pictures = |message: &Message| {
        let pictures: String = message.pictures.iter().map(|path| format!("\n[picture: {}]", path.display())).collect();
        format!("{}{pictures}", message.text)
    };
    let mut said: Vec<(MessageRole, String)> =
        messages.filter(|message| message.role != MessageRole::System).map(|message| (message.role, with_pictures(message))).collect();
    if said.len() < 2 {
        return said.pop().map(|(_, text)| text).unwrap_or_default();
    }
    let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
    let line = fence('=', &texts);
    let part = |(role, text): &(MessageRole, String)| {
        let heading = match role {
            MessageRole::Assistant => "You answered",
            MessageRole::System | MessageRole::Developer | MessageRole::User | MessageRole::Tool => "You were told",
        };
        format!("\n\n{heading}:\n{line}\n{text}\n{line}")
    };
    let parts: String = said.iter().map(part).collect();
    format!("This is a conversation, each message between lines of {} equals signs. Answer the last one.{parts}", line.len())
}

/// The tools that all policies with a list allow by the same words, and those that any forbids.
fn options_of_policies(policies: &[(&str, &Policy)]) -> Vec<(PromptOption, Vec<String>)> {
    let lists = |entry: &str, (_, policy): &(&str, &Policy)| match &policy.allowed_tools {
        Some(list) => list.iter().any(|own| own.value == entry),
        None => policy.permission_mode == Some(PermissionMode::Auto),
    };
    // What a person must confirm is not allowed beforehand.
    let is_asked = |entry: &str| {
        let tool = entry.split('(').next().unwrap_or_default();
        policies.iter().flat_map(|(_, policy)| &policy.approval_required).any(|asked| may_mean(&asked.value, tool))
    };
    let mut allowed: Vec<String> =
        policies.iter().filter_map(|(_, policy)| policy.allowed_tools.as_ref()).flatten().map(|entry| entry.value.clone()).collect();
    allowed.sort();
    allowed.dedup();
    allowed.retain(|entry| policies.iter().all(|policy| lists(entry, policy)) && !is_asked(entry));
    let mut forbidden: Vec<String> =
        policies.iter().flat_map(|(_, policy)| &policy.disallowed_tools).map(|entry| entry.value.clone()).collect();
    forbidden.sort();
    forbidden.dedup();
    allowed.retain(|tool| !forbidden.contains(tool));
    [(PromptOption::AllowedTools, allowed), (PromptOption::DisallowedTools, forbidden)]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .collect()
}

/// The policies in force, for a program that asks about what it wants to do itself.
fn rule_of(policies: &[(&str, &Policy)], given: GivenTexts<'static>) -> AgentRule {
    let policies: Vec<(String, Policy)> = policies.iter().map(|(name, policy)| ((*name).to_owned(), (*policy).clone())).collect();
    AgentRule::new(move |wish| {
        let policies: Vec<(&str, &Policy)> = policies.iter().map(|(name, policy)| (name.as_str(), policy)).collect();
        verdict(&policies, wish, &given)
    })
}

/// What the policies say to something that a program wants. Files that no step may touch it may not, either. `given`: what vouches for what it writes.
fn verdict(policies: &[(&str, &Policy)], wish: &AgentWish, given: &GivenTexts) -> AgentVerdict {
    let own = |path: &str, touch| own_by_name(Path::new(path), touch).map(|why| Decision::new(false, format!("it {why}")));
    let (act, target, decision) = match wish {
        AgentWish::Tool { name, arguments } => {
            let decision = decide(policies, &Act::Tool { name, arguments: Some(arguments) });
            let asked = policies.iter().find_map(|(of, policy)| Some((of, needs_approval(policy, name, arguments)?)));
            let decision = match asked.filter(|_| decision.is_allowed()) {
                Some((of, entry)) => {
                    Decision { answer: PolicyAnswer::Ask, rule: format!("policy {of}: approval_required {}", entry.value) }
                }
                None => decision,
            };
            (ActKind::Tool, name.clone(), decision)
        }
        AgentWish::Read(path) => {
            (ActKind::Read, path.clone(), own(path, Touch::Read).unwrap_or_else(|| decide(policies, &Act::Read(path))))
        }
        AgentWish::Write(path) => {
            (ActKind::Write, path.clone(), own(path, Touch::Write).unwrap_or_else(|| decide(policies, &Act::Write(path, 0))))
        }
        AgentWish::Reach(address) => match Origin::parse(address) {
            // A program chose the host: each list of hosts there is must have it.
            Some(origin) => (ActKind::Host, origin.named(), decide_host(policies, HostSource::Input, &origin, || false)),
            None => (ActKind::Host, address.clone(), Decision::new(policies.is_empty(), "it names no host")),
        },
    };
    let of_values = untrusted(policies, wish, given).filter(|of_values| of_values.answer < decision.answer);
    let decision = of_values.unwrap_or(decision);
    let (is_allowed, asks) = (decision.is_allowed(), decision.answer == PolicyAnswer::Ask);
    AgentVerdict { decision: AgentDecision { act, target, is_allowed, rule: decision.rule, by: String::new() }, asks }
}

/// What the policies say to a command, a path or an address that its model wrote.
fn untrusted(policies: &[(&str, &Policy)], wish: &AgentWish, given: &GivenTexts) -> Option<Decision> {
    let (tool, name, value, used) = match wish {
        // The protocol's own word for a command.
        AgentWish::Tool { name, arguments } if name == "execute" => (name.as_str(), "command", arguments.clone(), ArgumentUse::command()),
        AgentWish::Tool { name, arguments } => (name.as_str(), "arguments", arguments.clone(), ArgumentUse::searched("arguments")),
        AgentWish::Read(_) => return None,
        AgentWish::Write(path) => ("edit", "path", path.as_str().into(), ArgumentUse::whole(ArgumentClass::Paths)),
        AgentWish::Reach(address) => ("fetch", "url", address.as_str().into(), ArgumentUse::whole(ArgumentClass::Addresses)),
    };
    let argument = GivenArgument { tool, name, classes: &[], is_effect: true };
    let decision = decide_pieces(policies, argument, &value, &used, &mut |piece| given.have(piece))?;
    Some(Decision { rule: format!("{}, and {} wrote it", decision.rule, Writer::Model.words()), ..decision })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{UntrustedAnswer, UntrustedRule};
    use crate::source::Spanned;

    fn named(name: &str) -> Spanned<String> {
        Spanned::new(name.to_owned(), Default::default())
    }

    fn names(list: &[&str]) -> Vec<Spanned<String>> {
        list.iter().map(|name| named(name)).collect()
    }

    /// `yes`, `no` or `ask`, what it was about, and the rule.
    fn said(policy: &Policy, wish: &AgentWish) -> (&'static str, String, String) {
        let AgentVerdict { decision, asks } = verdict(&[("p", policy)], wish, &GivenTexts::default());
        let word = match (decision.is_allowed, asks) {
            (true, false) => "yes",
            (false, true) => "ask",
            (false, false) => "no",
            (true, true) => unreachable!("a yes asks nobody"),
        };
        (word, format!("{} {}", decision.act.word(), decision.target), decision.rule)
    }

    #[test]
    fn what_a_program_wants_is_held_against_files_and_hosts_as_well_as_tools() {
        let policy = Policy {
            allowed_tools: Some(names(&["execute(git *)", "read"])),
            approval_required: names(&["execute(git push*)"]),
            read: Some(names(&["repo/**"])),
            write: Some(names(&["repo/out/**"])),
            hosts: Some(names(&["docs.example.com", "api.example.com:8443"])),
            ..Policy::default()
        };
        let auto = Policy { permission_mode: Some(PermissionMode::Auto), ..policy.clone() };
        let prompt = Policy { permission_mode: Some(PermissionMode::Prompt), ..policy.clone() };
        let word = |policy, wish| said(policy, &wish).0;
        let tool = |name: &str, arguments| AgentWish::Tool { name: name.into(), arguments };
        let (read, write) = (|path: &str| AgentWish::Read(path.into()), |path: &str| AgentWish::Write(path.into()));
        let reach = |address: &str| AgentWish::Reach(address.into());
        assert_eq!((word(&policy, tool("read", json!(["x"]))), word(&policy, tool("edit", json!(["x"])))), ("yes", "no"));
        assert_eq!(
            said(&policy, &tool("execute", json!(["git", "push"]))),
            ("ask", "tool execute".into(), "policy p: approval_required execute(git push*)".into())
        );
        for (wish, of_deny, of_prompt, of_auto) in [
            (read("repo/a.rs"), "yes", "yes", "yes"),
            (read("other/a.rs"), "no", "ask", "yes"),
            (read("/etc/passwd"), "no", "ask", "yes"),
            (read("repo/.env"), "no", "no", "no"),
            (write("repo/out/a"), "yes", "yes", "yes"),
            (write("repo/a"), "no", "ask", "yes"),
            (write("flow.toml"), "no", "no", "no"),
            (reach("https://docs.example.com/x"), "yes", "yes", "yes"),
            // A list of hosts binds whatever the mode says.
            (reach("https://evil.example"), "no", "no", "no"),
            (reach("https://docs.example.com:8443"), "no", "no", "no"),
            (reach("docs"), "no", "no", "no"),
        ] {
            let all = (word(&policy, wish.clone()), word(&prompt, wish.clone()), word(&auto, wish.clone()));
            assert_eq!(all, (of_deny, of_prompt, of_auto), "{wish:?}");
        }
        assert_eq!(said(&policy, &reach("https://api.example.com:8443/x")).1, "host api.example.com:8443");
        assert!(
            verdict(&[], &read("/etc/passwd"), &GivenTexts::default()).decision.is_allowed
                && !verdict(&[], &read(".env"), &GivenTexts::default()).decision.is_allowed
        );
    }
    #[test]
    fn what_its_model_wrote_is_judged_where_it_asks() {
        let rule = |of: &str| UntrustedRule { of: named(of), answer: UntrustedAnswer::Ask };
        let rules = ["commands", "paths", "addresses"].map(rule).to_vec();
        let policy = Policy { untrusted: rules, permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
        let mut given = GivenTexts::default();
        given.add("Run cargo test, and write notes.md. See https://docs.example.com/x.");
        let asks = |wish: AgentWish| verdict(&[("p", &policy)], &wish, &given).asks;
        let run = |words: &[&str]| AgentWish::Tool { name: "execute".into(), arguments: json!(words) };
        assert!(!asks(run(&["cargo", "test"])) && asks(run(&["cargo", "publish"])) && asks(run(&["cargo test; rm x"])));
        assert!(!asks(AgentWish::Write("notes.md".into())) && asks(AgentWish::Write("Cargo.toml".into())));
        assert!(!asks(AgentWish::Read("Cargo.toml".into())));
        assert!(
            !asks(AgentWish::Reach("https://docs.example.com/x".into())) && asks(AgentWish::Reach("https://docs.example.com/x?a=1".into()))
        );
        let fetch = AgentWish::Tool { name: "fetch".into(), arguments: json!(["https://evil.example"]) };
        let told = verdict(&[("p", &policy)], &fetch, &given).decision;
        assert_eq!(told.rule, "policy p: untrusted addresses ask, and a model wrote it");
    }
}
