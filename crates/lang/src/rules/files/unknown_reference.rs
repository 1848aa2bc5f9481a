//! F300: a name of an agent, model, tool, scorecard, policy or table that nothing has.

use indexmap::IndexMap;
use strum::VariantNames;

use crate::diagnostic::{Hints, nearest};
use crate::model::{
    Agent, ArgumentClass, DEFAULT_MODEL, FilePart, Form, Knowledge, Model, PersonSource, Pipeline, Policy, STDOUT, ScorecardRef, Step,
    StepKind, Thing, ToolKind, ToolName, UntrustedAnswer, UntrustedRule, asking_tool,
};
use crate::policy::may_mean;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, listed};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let mut look = ReferenceLook { out, hints: Hints::default() };
    for (name, agent) in &file.agents {
        look.in_agent(name, agent, file);
    }
    for (name, model) in &file.models {
        let others = model.fallback.iter().filter(|other| other.value != DEFAULT_MODEL);
        others.for_each(|other| look.fallback(name, other, &file.models));
    }
    for (name, tool) in &file.tools {
        if let Some(embed) = tool.knowledge().and_then(|knowledge| knowledge.embed.as_ref()) {
            look.up(Thing::Model, &format!("knowledge \"{name}\" is embedded by"), embed, &file.models);
        }
        if let ToolKind::Sql(tables) = &tool.kind {
            tables.iter().for_each(|table| look.up(Thing::Table, &format!("tool \"{name}\" opens"), table, &file.data));
        }
    }
    for (name, scorecard) in &file.scorecards {
        let owner = format!("scorecard \"{name}\" asks");
        scorecard.judge.iter().for_each(|judge| look.up(Thing::Agent, &owner, judge, &file.agents));
    }
    // One of another file is for the tools of many files.
    for (name, policy) in file.policies.iter().filter(|(_, policy)| policy.span.file == file.name.span.file) {
        look.in_policy(name, policy, file);
    }
    file.policy.iter().for_each(|policy| look.up(Thing::Policy, "the pipeline is under", policy, &file.policies));
    if let Some(PersonSource::Table(table)) = file.person.as_ref().map(|person| &person.from) {
        look.up(Thing::Table, "person comes from", table, &file.data);
    }
    for planned in &pipeline.steps {
        look.in_step(&planned.step, file, plan);
    }
}

/// F300; for names of a plan that a model wrote, too.
pub(in crate::rules) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownReference, span, message)
}

/// A query or a file where the name of a table belongs.
fn not_a_table<T>(owner: &str, name: &Spanned<String>, known: &IndexMap<String, T>) -> Option<Diagnostic> {
    let written = name.value.trim();
    if written.to_lowercase().starts_with("select ") {
        let message = format!("{owner} a query, and names of tables belong here");
        let help = format!("write [{}]: an agent writes its queries itself", listed(known.keys()));
        return Some(found(name.span, message).help(help));
    }
    let file = written.rsplit('/').next().filter(|_| written.contains('/') || written.ends_with(".csv"))?;
    let table = file.split('.').next().unwrap_or(file);
    let message = format!("{owner} file \"{written}\", and the name of a table belongs here");
    let help = match known.contains_key(table) {
        true => format!("write {table}"),
        false => {
            let file = format!("{table}: {{ file: {written}, pii: [name, email, phone] }}");
            format!("write {table} here, and add data: {{ {file} }} to the head of the file, with its personal columns as pii")
        }
    };
    Some(found(name.span, message).help(help))
}

struct ReferenceLook<'o> {
    out: &'o mut Vec<Diagnostic>,
    hints: Hints,
}

impl ReferenceLook<'_> {
    /// What an agent names.
    fn in_agent(&mut self, name: &str, agent: &Agent, file: &Pipeline) {
        let owner = format!("agent \"{name}\" uses");
        if let Some(model) = agent.model.as_ref().filter(|model| model.value != DEFAULT_MODEL) {
            self.up(Thing::Model, &owner, model, &file.models);
        }
        // Each agent that it may ask is among its tools, at the place of its name.
        let written = |tool: &&Spanned<String>| agent.agents.iter().all(|other| other.span != tool.span);
        let listed: Vec<&str> = agent.tools.iter().map(|tool| ToolName::parse(&tool.value).tool).collect();
        let is_agent = |tool: &&Spanned<String>| file.agents.contains_key(&tool.value) && !file.tools.contains_key(&tool.value);
        for other in agent.tools.iter().filter(written).filter(is_agent) {
            let message = format!("{owner} tool \"{}\", which is an agent", other.value);
            self.out.push(found(other.span, message).help(format!("write agents: [{}] for it, beside tools", other.value)));
        }
        let tools = agent.tools.iter().filter(written).filter(|tool| !is_agent(tool));
        tools.for_each(|tool| self.tool_of_list(&owner, tool, &file.tools, &listed));
        agent.policy.iter().for_each(|policy| self.up(Thing::Policy, &owner, policy, &file.policies));
        agent.agents.iter().for_each(|other| self.up(Thing::Agent, &format!("agent \"{name}\" asks"), other, &file.agents));
    }

    /// What a policy names.
    fn in_policy(&mut self, name: &str, policy: &Policy, file: &Pipeline) {
        let allowed = policy.allowed_tools.as_deref().unwrap_or_default();
        let lists =
            [("allowed_tools", allowed), ("disallowed_tools", &policy.disallowed_tools), ("approval_required", &policy.approval_required)];
        for (key, entry) in lists.into_iter().flat_map(|(key, list)| list.iter().map(move |entry| (key, entry))) {
            self.listed_tool(&format!("{key} of policy \"{name}\" names"), entry, key != "allowed_tools", file);
        }
        for rule in policy.untrusted.iter().filter(|rule| rule.class().is_none() && rule.of.value != UntrustedRule::OTHERWISE) {
            self.untrusted(&format!("untrusted of policy \"{name}\" names"), rule, file);
        }
    }

    /// What a step names.
    fn in_step(&mut self, own: &Step, file: &Pipeline, plan: &Plan) {
        let owner = format!("step \"{}\" uses", own.id.value);
        let kind = &own.kind;
        let asked = kind.agents_with_tools().into_iter().chain(kind.facts().helpers.into_iter().flatten());
        asked.for_each(|agent| self.up(Thing::Agent, &owner, agent, &file.agents));
        if let Some(model) = kind.facts().model.filter(|model| model.form == Form::Plain && &*model.source != DEFAULT_MODEL) {
            self.up(Thing::Model, &owner, &Spanned::new(model.source.to_string(), model.place.span), &file.models);
        }
        if let StepKind::Dialogue(dialogue) = kind {
            dialogue.policy.iter().for_each(|policy| self.up(Thing::Policy, &owner, policy, &file.policies));
        } else if let StepKind::Tool(step) = kind {
            self.tool(&owner, &step.tool, &file.tools);
        } else if let Some(knowledge) = kind.facts().knowledge {
            let all = file.tools.iter().filter(|(_, tool)| tool.knowledge().is_some() || tool.kind == ToolKind::Broken);
            let known: IndexMap<String, ()> = all.map(|(name, _)| (name.clone(), ())).collect();
            self.up(Thing::Knowledge, &format!("step \"{}\" searches", own.id.value), knowledge, &known);
        } else if let StepKind::Resource(step) = kind {
            self.up(Thing::Tool, &owner, &step.server, &file.tools);
        } else if let StepKind::Plan(step) = kind {
            let owner = format!("may_use of step \"{}\" lists", own.id.value);
            step.may_use.iter().for_each(|name| self.agent_or_tool(&owner, name, file));
        } else if let StepKind::Send(step) = kind
            && step.to.value != STDOUT
        {
            let owner = format!("step \"{}\" sends to", own.id.value);
            let known: IndexMap<String, ()> = file.tools.keys().cloned().chain([STDOUT.to_owned()]).map(|name| (name, ())).collect();
            self.up(Thing::Tool, &owner, &step.to, &known);
        } else if let Some(judging) = kind.facts().judges {
            let named = judging.cards().iter().filter_map(ScorecardRef::name);
            named.for_each(|name| self.up(Thing::Scorecard, &owner, name, &file.scorecards));
            judging.judge().into_iter().for_each(|judge| self.up(Thing::Agent, &owner, judge, &file.agents));
        } else if let StepKind::Call(step) = kind
            && let (Some(called), Some(channel)) = (step.pipeline.map(|id| &plan.pipeline(id).pipeline), &step.channel)
            && channel.form == Form::Plain
        {
            let channel = &Spanned::new(channel.source.to_string(), channel.place.span);
            let listed: IndexMap<String, ()> = called.channels.iter().map(|channel| (channel.name.clone(), ())).collect();
            self.up(Thing::Channel, &format!("pipeline \"{}\" is called for", called.name.value), channel, &listed);
        }
    }

    fn up<T>(&mut self, what: Thing, owner: &str, name: &Spanned<String>, known: &IndexMap<String, T>) {
        if known.contains_key(&name.value) {
            return;
        }
        if what == Thing::Table
            && let Some(found) = not_a_table(owner, name, known)
        {
            return self.out.push(found);
        }
        let near = self.hints.did_you_mean(&name.value, known.keys().map(String::as_str));
        let word = <&str>::from(what);
        let is_there = !known.is_empty();
        let help = match what {
            _ if known.contains_key(STDOUT) => format!("use one of: {}; or add it under tools", listed(known.keys())),
            _ if is_there => format!("use one of: {}", listed(known.keys())),
            Thing::Table => "add it under data".to_owned(),
            Thing::Knowledge => "add it under knowledge".to_owned(),
            Thing::Channel => "add it to the channels of that pipeline".to_owned(),
            Thing::Policy => "add it under policies".to_owned(),
            Thing::Model => {
                format!(
                    "write main here; add models: {{ main: {{ provider: openai, model: {}, api_key: \"{{{{ secrets.KEY }}}}\" }} }} and secrets: {{ KEY: Key of the model }} to the file",
                    name.value
                )
            }
            Thing::Step | Thing::Agent | Thing::Tool | Thing::Scorecard | Thing::StyleGuide => format!("add it under {word}s"),
        };
        let may_be_imported = matches!(what, Thing::Policy | Thing::Agent | Thing::Tool | Thing::Scorecard);
        let (problem, mut help) = match what {
            _ if may_be_imported && near.is_empty() && !known.contains_key(STDOUT) => {
                let name = &name.value;
                let help = match is_there {
                    true => format!(
                        "{help}; or add the file that has {name} to imports: [FILE.yaml]: what an imported file imports itself is not passed on"
                    ),
                    false => format!(
                        "add the file that has {name} to imports: [FILE.yaml]; what an imported file imports itself is not passed on; or {help}"
                    ),
                };
                ("which stands neither in this file nor in one of its imports", help)
            }
            Thing::Channel => ("which it does not list", help),
            Thing::Model => ("and models has no entry of this name", help),
            _ => ("which does not exist", help),
        };
        let mut message = format!("{owner} {word} \"{}\", {problem}{near}", name.value);
        if what == Thing::Policy && name.value.contains('/') {
            let stem = name.value.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or_default();
            message += ": policy takes a name, not a path";
            help = format!("write policy: {stem}, the name of one, and imports: [{}] for its file", name.value);
        }
        self.unknown((word, owner, name), known, found(name.span, message).near(near).help(help));
    }

    /// Reports a name that is not known; several in one are a list.
    fn unknown<T>(&mut self, (what, owner, name): (&str, &str, &Spanned<String>), known: &IndexMap<String, T>, unknown: Diagnostic) {
        let parts: Vec<&str> = name.value.split([',', ' ']).filter(|part| !part.is_empty()).collect();
        self.out.push(match parts.as_slice() {
            [_, _, ..] if parts.iter().all(|part| known.contains_key(*part)) => {
                let list = format!("[{}]", parts.join(", "));
                let message = format!("{owner} {what} \"{}\": several names are a list", name.value);
                found(name.span, message).help(format!("write {list}")).proposed_fix(vec![(name.span, list)])
            }
            _ => unknown,
        });
    }

    /// `fallback` of a model.
    fn fallback(&mut self, model: &str, name: &Spanned<String>, known: &IndexMap<String, Model>) {
        if known.contains_key(&name.value) {
            return;
        }
        let near = self.hints.did_you_mean(&name.value, known.keys().map(String::as_str));
        let message = format!("model \"{model}\" falls back to model \"{}\", which does not exist{near}", name.value);
        let help = match near.is_empty() {
            true => format!(
                "add {0} below models, written like {model} without its fallback and with model: {0}: fallback names an entry",
                name.value
            ),
            false => format!("use one of: {}", listed(known.keys())),
        };
        self.out.push(found(name.span, message).near(near).help(help));
    }

    /// What a plan may use; one name for both would leave open which is meant.
    fn agent_or_tool(&mut self, owner: &str, name: &Spanned<String>, file: &Pipeline) {
        let server = ToolName::parse(&name.value).tool;
        if server.starts_with(&asking_tool("")) {
            return self.tool(owner, name, &file.tools);
        }
        match (file.agents.contains_key(&name.value), file.tools.contains_key(server)) {
            (true, true) => {
                let message = format!("{owner} \"{}\", and there are an agent and a tool of that name", name.value);
                self.out.push(found(name.span, message).help("rename one of the two"));
            }
            (false, false) => {
                let known: IndexMap<String, ()> = file.agents.keys().chain(file.tools.keys()).map(|name| (name.clone(), ())).collect();
                let near = self.hints.did_you_mean(server, known.keys().map(String::as_str));
                let message = format!("{owner} agent or tool \"{server}\", which does not exist{near}");
                let help = match known.is_empty() {
                    true => "add it under agents or tools".to_owned(),
                    false => format!("use one of: {}", listed(known.keys())),
                };
                let name = Spanned::new(server.to_owned(), name.span);
                self.unknown(("agent or tool", owner, &name), &known, found(name.span, message).near(near).help(help));
            }
            _ => {}
        }
    }

    /// An entry of `untrusted` that names a tool: what is nearly a class is meant as one.
    fn untrusted(&mut self, owner: &str, rule: &UntrustedRule, file: &Pipeline) {
        let words: Vec<&str> = ArgumentClass::VARIANTS.iter().copied().chain([UntrustedRule::OTHERWISE]).collect();
        let name = &rule.of.value;
        if !file.tools.contains_key(name) && !nearest(name, words.iter().copied()).is_empty() {
            let near = self.hints.did_you_mean(name, words.iter().copied());
            let message = format!("{owner} \"{name}\", which is no tool of the file{near}");
            self.out.push(found(rule.of.span, message).near(near).help(format!("use one of: {}; or the name of a tool", words.join(", "))));
            return;
        }
        if let (false, ToolName { tool, .. }) =
            (name.contains(['*', '?', '[', '{']), ToolName::parse(name.split('(').next().unwrap_or_default().trim()))
            && !file.tools.contains_key(tool)
            && !nearest(tool, file.tools.keys().map(String::as_str)).is_empty()
        {
            return self.up(Thing::Tool, owner, &Spanned::new(tool.to_owned(), rule.of.span), &file.tools);
        }
        self.listed_tool(owner, &rule.of, rule.answer != UntrustedAnswer::Allow, file);
    }

    /// An entry in a list of a policy that names a part that its tool does not have: it would do nothing. Any other name may be a program, or a tool of a
    /// program or of another file (F617 tells of those that are nearly a tool).
    fn listed_tool(&mut self, owner: &str, entry: &Spanned<String>, is_generous: bool, file: &Pipeline) {
        let name = entry.value.split('(').next().unwrap_or_default().trim();
        let ToolName { tool: server, part } = ToolName::parse(name);
        let is_meant = |tool: &String| tool == server || is_generous && may_mean(server, tool);
        if name.contains(['*', '?', '[', '{']) {
            return;
        }
        let known = file.tools.iter().find(|(known, _)| is_meant(known));
        let (Some((known, tool)), Some(part)) = (known, part) else { return };
        let parts: &[&str] = match &tool.kind {
            ToolKind::Server(_) | ToolKind::Broken => return,
            ToolKind::File(_) => FilePart::VARIANTS,
            ToolKind::Knowledge(_) => &[Knowledge::PART],
            ToolKind::Http { .. } | ToolKind::Sql(_) | ToolKind::Program { .. } | ToolKind::Python { .. } => &[],
            ToolKind::Smtp { .. } | ToolKind::Pipeline { .. } => &[],
        };
        if !parts.iter().any(|own| *own == part || is_generous && may_mean(part, own)) {
            let near = self.hints.did_you_mean(part, parts.iter().copied());
            let message = format!("{owner} \"{name}\", but tool \"{known}\" has no \"{part}\"{near}");
            let help = if parts.is_empty() {
                format!("write {known}")
            } else {
                format!("write {known}, or one of its parts: {}", parts.join(", "))
            };
            self.out.push(found(entry.span, message).near(near).help(help));
        }
    }

    /// The same in a list, where the tools that stand in it already are no answer.
    fn tool_of_list<T>(&mut self, owner: &str, name: &Spanned<String>, known: &IndexMap<String, T>, listed: &[&str]) {
        let first = self.out.len();
        self.tool(owner, name, known);
        let has_all = !known.is_empty() && known.keys().all(|known| listed.contains(&known.as_str()));
        if let Some(found) = self.out.get_mut(first).filter(|found| has_all && found.near.is_empty() && found.fix.is_none()) {
            found.help = vec![format!("remove {0}, or add it under tools, or the file that has it to imports: [FILE.yaml]", name.value)];
        }
    }

    /// `tool`, or `server.tool`. The tool that asks an agent is no name of a file.
    fn tool<T>(&mut self, owner: &str, name: &Spanned<String>, known: &IndexMap<String, T>) {
        if let Some(agent) = name.value.strip_prefix(asking_tool("").as_str()) {
            let message = format!("{owner} tool \"{}\", which is no tool of the file: agents lists whom an agent asks", name.value);
            return self
                .out
                .push(found(name.span, message).help(format!("write agents: [{agent}] in the agent that asks, and no tool for it")));
        }
        let server = ToolName::parse(&name.value).tool;
        self.up(Thing::Tool, owner, &Spanned::new(server.to_owned(), name.span), known);
    }
}
