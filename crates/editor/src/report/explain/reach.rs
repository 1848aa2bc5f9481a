//! Explains what a pipeline can reach (data, files, models, hosts, receivers, secrets), and what policies allow.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;

use super::{clause, listed, named, pipelines, with_asked};
use crate::model::{
    DEFAULT_MODEL, DataKind, FilePart, FilePattern, Grant, Model, PermissionMode, Pipeline, ProgramCommand, PythonCode, PythonNeeds,
    RECIPIENTS, STDOUT, SandboxMode, SearchMode, ServerKind, Step, StepKind, Text, Tool, ToolKind, UntrustedRule, asking_tool,
};
use crate::plan::{PipelineBounds, PipelinePlan, Plan, users};
use crate::report::graph::words::{filling, source};
use crate::source::{FileId, Spanned};

/// Returns all steps of a pipeline, including nested ones.
fn steps(planned: &PipelinePlan) -> impl Iterator<Item = &Step> {
    planned.steps.iter().map(|found| &*found.step)
}

/// Explains the tables, files and folders that are read.
pub(super) fn reads(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    let mut tables = BTreeSet::new();
    for (planned, pipeline, whose) in pipelines(plan) {
        // A table that several pipelines import is listed once.
        for (name, data) in pipeline.data.iter().filter(|(name, data)| tables.insert((*name, &data.file.value))) {
            let kind = match data.kind {
                DataKind::Csv | DataKind::Tsv => "a text file with columns",
                DataKind::JsonLines => "a file of JSON lines",
                DataKind::Excel => "an Excel file",
                DataKind::Sqlite => "an SQLite database",
                DataKind::Parquet => "a Parquet file",
                DataKind::DuckDb => "a DuckDB database",
            };
            let personal = if data.pii.is_empty() { String::new() } else { format!("; personal: {}", named(&data.pii)) };
            let file = data.file.value.strip_prefix(&pipeline.folder).unwrap_or(&data.file.value);
            said.push(format!("table {name}: {} ({kind}{personal}){whose}.", file.display()));
        }
        for step in steps(planned) {
            if let Some(resource) = step.kind.resource() {
                let uri = source(&resource.uri);
                said.push(format!("resource {uri} of server {} (step {}){whose}.", resource.server.value, step.id.value));
            }
            if step.kind.facts().starts.is_some() {
                said.push(format!(
                    "all files of the project, but for those of flow and of secrets (program of step {}){whose}.",
                    step.id.value
                ));
            }
            if let StepKind::Read(read) = &step.kind {
                said.push(format!("files: {} (step {}){whose}.", filling(&read.paths), step.id.value));
            }
        }
        for (name, tool) in &pipeline.tools {
            match &tool.kind {
                ToolKind::File(folder) if tool.opens(FilePart::Read) || tool.opens(FilePart::List) => {
                    said.push(format!("folder {} (tool {name}){whose}.", folder.display()));
                }
                ToolKind::Sql(tables) => {
                    said.push(format!("tables {} with queries that a model writes (tool {name}){whose}.", named(tables)));
                }
                ToolKind::Program { .. } => {
                    said.push(format!("all files of the project, but for those of flow and of secrets (program of tool {name}){whose}."));
                }
                ToolKind::Knowledge(knowledge) => {
                    let given = knowledge.given.iter().map(|text| text.source.to_string());
                    let files: Vec<String> = knowledge.files.iter().map(|file| shown_path(&file.value, pipeline)).chain(given).collect();
                    let by = match knowledge.search {
                        SearchMode::Words => "by words",
                        SearchMode::Meaning => "by meaning",
                        SearchMode::Both => "by words and meaning",
                    };
                    let sent = knowledge.embed.iter().map(|model| format!("; their text is sent to model {}", model.value));
                    said.push(format!(
                        "documents {} (knowledge {name}, searched {by}{}){whose}.",
                        files.join(", "),
                        sent.collect::<String>()
                    ));
                }
                ToolKind::Http { .. }
                | ToolKind::Python { .. }
                | ToolKind::File(_)
                | ToolKind::Pipeline { .. }
                | ToolKind::Smtp { .. }
                | ToolKind::Server(_)
                | ToolKind::Broken => {}
            }
        }
    }
    match said.is_empty() {
        true => vec!["Nothing but what it is given.".into()],
        false => [said, vec!["Nothing of this is changed by reading it.".into()]].concat(),
    }
}

/// Returns a file pattern as its author wrote it, relative to the folder of the file if possible.
fn shown_path(files: &FilePattern, pipeline: &Pipeline) -> String {
    let whole = files.whole();
    whole.strip_prefix(&pipeline.folder).unwrap_or(&whole).display().to_string()
}

/// The uses of an agent.
#[derive(Default)]
struct AgentTask {
    /// The models that may answer.
    models: IndexSet<String>,
    /// The steps, and the roles in them.
    places: Vec<String>,
}

/// Explains which model answers for each agent, and in which steps the agent is called.
pub(super) fn models(plan: &Plan, bounds: &[PipelineBounds]) -> Vec<String> {
    let mut said = vec![];
    let mut told: BTreeSet<(FileId, String)> = BTreeSet::new();
    for ((planned, pipeline, whose), bounds) in with_asked(plan).zip(bounds) {
        let mut asked: BTreeMap<(usize, &str), AgentTask> = BTreeMap::new();
        for step in &bounds.steps {
            for asking in &step.askings {
                let place = pipeline.agents.get_index_of(&asking.agent).unwrap_or(usize::MAX);
                let AgentTask { models, places } = asked.entry((place, &asking.agent)).or_default();
                places.push(match &pipeline.asked {
                    Some(_) => "answers what other agents ask it".to_owned(),
                    None if asking.judges => format!("judges in {}", planned.path(step.step)),
                    None => format!("answers in {}", planned.path(step.step)),
                });
                models.extend(asking.models.iter().map(|(name, _)| name.clone()));
            }
        }
        for ((_, agent), AgentTask { models, places }) in &asked {
            let own = pipeline.agents.get(*agent);
            let about = own.and_then(|agent| agent.instructions.as_ref()).map(first_sentence);
            let about = about.map(|about| format!(" It is told: “{about}”")).unwrap_or_default();
            let others: Vec<&Spanned<String>> = own.iter().flat_map(|agent| &agent.agents).collect();
            let is_asking = |tool: &Spanned<String>| others.iter().any(|other| asking_tool(&other.value) == tool.value);
            let tools: Vec<&Spanned<String>> = own.iter().flat_map(|agent| &agent.tools).filter(|tool| !is_asking(tool)).collect();
            let tools = if tools.is_empty() { String::new() } else { format!(" It may use the tools {}.", named(tools)) };
            let asks = if others.is_empty() { String::new() } else { format!(" It may ask the agents {}.", named(others)) };
            said.push(format!(
                "agent {agent} on {}{}: {}.{about}{tools}{asks}",
                listed(&models.iter().map(|name| format!("model {name}")).collect::<Vec<_>>()),
                if pipeline.asked.is_some() { "" } else { &whose },
                listed(places)
            ));
        }
        let names: BTreeSet<&String> = asked.values().flat_map(|asked| &asked.models).collect();
        // An agent that other agents call uses the models of its file.
        let new = names.into_iter().filter(|name| told.insert((pipeline.name.span.file, (*name).clone())));
        let whose = if pipeline.asked.is_some() { "" } else { &whose };
        said.extend(new.map(|name| format!("{}{}.", model(name, pipeline.models.get(name)), whose)));
    }
    if said.is_empty() { vec!["None.".into()] } else { said }
}

fn first_sentence(text: &Text) -> String {
    let whole = source(text);
    let end = whole.find(". ").map_or(whole.len(), |at| at + 1);
    whole[..end].chars().take(200).collect()
}

fn model(name: &str, model: Option<&Model>) -> String {
    let replaced = if name == DEFAULT_MODEL { "; FLOW_MODEL can put another in its place" } else { "" };
    let Some(model) = model else { return format!("model {name}: the file does not say which; FLOW_MODEL or the settings must") };
    let own = model.model.as_ref().map(|own| format!("{} ", source(own))).unwrap_or_default();
    if let Some(program) = model.provider.program() {
        let folder = program.folder.as_ref().map(|folder| format!(", which works in {}", folder.value.display())).unwrap_or_default();
        return format!("model {name}: {own}the program {}{folder}{replaced}", program.run.short_name());
    }
    if let Some(own) = model.provider.tool() {
        return format!("model {name}: the tool {}{replaced}", own.tool.value);
    }
    let who = endpoint(model).map_or_else(|| "answers come from a file, no model is asked".to_string(), |at| format!("{own}at {at}"));
    format!("model {name}: {who}{replaced}")
}

/// Returns the address of a model; `None`: it has none.
fn endpoint(model: &Model) -> Option<String> {
    let preset = model.provider.preset()?;
    Some(model.base_url.as_ref().map_or_else(|| preset.base_url.to_string(), source))
}

/// Explains the hosts, receivers and files that are written to.
pub(super) fn outside(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    for (planned, pipeline, whose) in pipelines(plan) {
        let sandbox = pipeline.least_sandbox();
        let mut endpoints: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, model) in &pipeline.models {
            if let Some(program) = model.provider.program() {
                endpoints.entry(format!("the program {}", program.run.short_name())).or_default().push(name);
            }
            if let Some(at) = endpoint(model) {
                endpoints.entry(at).or_default().push(name);
            }
        }
        for (at, names) in endpoints {
            let noun = if names.len() == 1 { "model" } else { "models" };
            said.push(format!("Prompts go to {at} ({noun} {}){whose}.", listed(&names)));
        }
        for step in steps(planned) {
            let id = &step.id.value;
            if let StepKind::Http(http) = &step.kind {
                let changes = if http.method.is_safe() { "asks" } else { "may change something at" };
                said.push(format!("Step {id} {changes} {} ({}){whose}.", source(&http.url), http.method));
            } else if let StepKind::Send(send) = &step.kind {
                let mut recipients = send.with.iter().filter(|(name, _)| RECIPIENTS.contains(&name.value.as_str()));
                let to = recipients.next().map(|(_, value)| {
                    let others = recipients.map(|(name, value)| format!(", {} {}", name.value, filling(value))).collect::<String>();
                    format!(", to {}{others}", filling(value))
                });
                said.push(match send.to.value.as_str() {
                    STDOUT => format!("Step {id} prints its text on standard output{whose}."),
                    tool => format!("Step {id} sends with tool {tool}{}{whose}.", to.unwrap_or_default()),
                });
            } else if let StepKind::Tool(used) = &step.kind
                && planned.called(step).is_none()
            {
                said.push(format!("Step {id} uses tool {}{whose}.", used.tool.value));
            } else if let StepKind::Program(run) = &step.kind {
                said.push(format!("Step {id} {}{whose}.", starts(run, sandbox)));
            } else if let StepKind::Python(own) = &step.kind {
                said.push(format!("Step {id} {}{whose}.", runs(&own.run)));
            } else if let StepKind::Task(task) = &step.kind
                && task.may_run_code()
            {
                let may = if task.fixed_artefact().is_some() { "runs" } else { "may run" };
                said.push(format!(
                    "Step {id} {may} code that agent {} writes{} in a sandbox, without a network{whose}.",
                    task.agent.value,
                    by(&task.needs)
                ));
            }
            if step.is_once {
                said.push(format!("After a crash a person decides whether step {id} runs again{whose}."));
            }
        }
        said.extend(
            pipeline.tools.iter().filter_map(|(name, found)| tool(name, found, sandbox)).map(|sentence| format!("{sentence}{whose}.")),
        );
    }
    if said.is_empty() { vec!["Nothing.".into()] } else { said }
}

fn tool(name: &str, tool: &Tool, sandbox: SandboxMode) -> Option<String> {
    let about = tool.description.as_ref().map(|text| format!(" ({})", clause(text))).unwrap_or_default();
    let does = match &tool.kind {
        ToolKind::Http { method, url, .. } => format!("{method} {}", source(url)),
        ToolKind::Smtp { address, from, .. } => format!("mail over {}, from {}", source(address), source(from)),
        ToolKind::Program { run, .. } => starts(run, sandbox),
        ToolKind::Python { run, .. } => runs(run),
        ToolKind::Server(server) => {
            let names: Vec<&str> = tool.allowed_names().collect();
            let may = if names.is_empty() { "a step or an agent names what is used" } else { &format!("allows {}", listed(&names)) };
            let denied = if tool.deny.is_empty() { String::new() } else { format!(", never {}", named(&tool.deny)) };
            let what = match server {
                ServerKind::Program { command, args, env } => format!("{}, an MCP server", command_line(&command.value, args, env)),
                ServerKind::Url { url, auth, headers: _ } => {
                    let by = match auth.as_ref().map(|auth| auth.grant) {
                        None => "",
                        Some(Grant::Login) => " with the login of a person",
                        Some(Grant::ClientCredentials) => " with a token that it fetches as a client",
                    };
                    format!("asks the MCP server {}{by}", source(url))
                }
            };
            format!("{what}; {may}{denied}")
        }
        ToolKind::File(folder) if tool.opens(FilePart::Write) => format!("writes files in {}", folder.display()),
        ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => return None,
    };
    Some(format!("Tool {name}{about}: {does}"))
}

/// Explains the command of a program, and what it may do besides reading the project.
fn starts(run: &ProgramCommand, sandbox: SandboxMode) -> String {
    let may = run.powers(sandbox);
    let may = if may.is_empty() { String::new() } else { format!("; {}", may.join(", ")) };
    command_line(&run.program.value, &run.args, &run.env) + &may
}

fn command_line(program: &str, args: &[Text], env: &[(Spanned<String>, Text)]) -> String {
    let args: String = args.iter().map(|text| format!(" {}", source(text))).collect();
    let names = || named(env.iter().map(|(name, _)| name));
    let env = if env.is_empty() { String::new() } else { format!(" (its environment: {})", names()) };
    format!("starts the program {program}{args}{env}")
}

/// Explains which code runs, and how.
fn runs(run: &PythonCode) -> String {
    let code = run.file.as_ref().map_or_else(|| "code of this file".to_owned(), |file| file.value.clone());
    format!("runs {code}{} in a sandbox, without a network", by(&run.needs))
}

/// Returns the interpreter, unless it is the one of `PATH`.
fn by(needs: &PythonNeeds) -> String {
    needs.venv.as_ref().map(|venv| format!(" with the Python of {}", venv.value.display())).unwrap_or_default()
}

/// Explains what policies allow and forbid.
pub(super) fn policies(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    for (_, pipeline, whose) in pipelines(plan) {
        let of_agents = pipeline.agents.iter().filter_map(|(name, agent)| Some((format!("agent {name}"), agent.policy.as_ref()?)));
        let of_file = pipeline.policy.iter().map(|policy| ("the whole pipeline".to_string(), policy));
        for (who, name) in of_file.chain(of_agents) {
            let about = pipeline.policies.get(&name.value).and_then(|policy| policy.description.as_deref());
            let about = about.map(|text| format!(": {}", clause(text))).unwrap_or_default();
            said.push(format!("Policy {} holds for {who}{whose}{about}.", name.value));
            let Some(policy) = pipeline.policies.get(&name.value) else { continue };
            let lists = [
                ("allowed tools", &policy.allowed_tools),
                ("hosts (without a port: https on 443)", &policy.hosts),
                ("may read", &policy.read),
                ("may write", &policy.write),
            ];
            for (what, list) in lists {
                said.extend(list.iter().map(|list| format!("\t{what}: {}.", named(list))));
            }
            if !policy.disallowed_tools.is_empty() {
                said.push(format!("\tforbidden tools: {}.", named(&policy.disallowed_tools)));
            }
            if !policy.untrusted.is_empty() {
                let told = |rule: &UntrustedRule| format!("{} {}", rule.of.value, <&str>::from(rule.answer));
                let rules: Vec<String> = policy.untrusted.iter().map(told).collect();
                said.push(format!("\tvalues that a model, a tool or a stranger wrote: {}.", rules.join(", ")));
            }
            match policy.permission_mode.unwrap_or_default() {
                PermissionMode::Auto => said.push("\twhatever no list names: allowed.".to_owned()),
                PermissionMode::Prompt => said.push("\twhatever no list names: a person is asked.".to_owned()),
                PermissionMode::Deny => {}
            }
        }
    }
    said
}

/// Lists declared secrets and variables with their users.
pub(super) fn secrets(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    for (planned, pipeline, whose) in pipelines(plan) {
        let users = users(planned);
        let by = |kind: &str, name: &str| {
            users.iter().filter(|(k, n, _)| *k == kind && n == name).map(|(.., who)| who.clone()).collect::<Vec<_>>()
        };
        for (name, sentence) in &pipeline.secrets {
            let used = by("secrets", name);
            let used = if used.is_empty() { "nothing uses it".into() } else { format!("used by {}", listed(&used)) };
            said.push(format!("{name}: {}. From the environment or --env-file; {used}{whose}.", clause(&sentence.value)));
        }
        let names: BTreeSet<&str> = users.iter().filter(|(kind, ..)| *kind == "env").map(|(_, name, _)| name.as_str()).collect();
        said.extend(
            names.iter().map(|name| format!("{name}: a variable of the environment, used by {}{whose}.", listed(&by("env", name)))),
        );
    }
    if said.is_empty() { vec!["None.".into()] } else { said }
}
