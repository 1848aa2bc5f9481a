//! The parts of this machine that a run uses: adapters, secrets, prices of models, SQL engines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use strum::VariantNames;

use super::RunError;
use super::settings::host;
use crate::adapter::agent::AgentRuns;
use crate::adapter::agreed::{Agreed, AgreedPrograms};
use crate::adapter::cassette::NoCache;
use crate::adapter::clock::SystemClock;
use crate::adapter::data::{DataFiles, check_engines, reader};
use crate::adapter::environment;
use crate::adapter::folder::DiskFolder;
use crate::adapter::http::{self, Http, HttpSettings, StepHttpClient};
use crate::adapter::knowledge::Documents;
use crate::adapter::mcp::McpServers;
use crate::adapter::mcp::auth::LoginCommand;
use crate::adapter::own::OwnFiles;
use crate::adapter::providers::HttpModelClient;
use crate::adapter::providers::embeddings::HttpEmbedder;
use crate::adapter::python::PythonRuns;
use crate::adapter::sandbox::{FirstStage, Sandbox, stage};
use crate::adapter::smtp::{self, SmtpMailSender};
use crate::check::Checked;
use crate::driver::{Door, Ports};
use crate::engine::{CallRequest, PortRules, address_without_stand_ins, without_stand_ins};
use crate::event::Failure;
use crate::model::{Api, DEFAULT_MODEL, Limits, Model, Pipeline, Program, Provider, Service, StepKind, Text, ToolCalls};
use crate::plan::{PipelinePlan, asks_default};
use crate::port::{Clock, FileToWrite, HttpRequest, Mail, MailHead, Printer, Programs, Secret};

/// Must be called first in `main` of each program that runs pipelines. `Some`: the process was started as the first stage of a sandbox, or
/// to read files there; `main` then returns this code. Otherwise this program is registered for such starts.
pub fn first_stage() -> Option<ExitCode> {
    stage().or_else(reader)
}

/// Creates real ports without a cache. `own`: files that no step may access; `private_hosts`: allowed hosts in private networks; `agreed`:
/// servers that may start; `logins`: their folder; `command`: makes a login; `readable`: folders that programs may read.
pub fn ports(
    printer: Arc<dyn Printer>,
    own: Arc<OwnFiles>,
    private_hosts: Vec<String>,
    agreed: Arc<Agreed>,
    logins: Option<PathBuf>,
    command: LoginCommand,
    readable: &[String],
) -> Ports {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let http = Http::new(HttpSettings { private_hosts: private_hosts.clone(), ..HttpSettings::default() }, clock.clone());
    let data = Arc::new(DataFiles::keeping(own.clone()));
    let sandbox = Sandbox::new(own.clone(), FirstStage::here()).with_readable(readable).with_private_hosts(private_hosts.clone());
    let programs: Arc<dyn Programs> = Arc::new(AgreedPrograms::new(agreed.clone(), Arc::new(sandbox.clone())));
    Ports {
        agents: Arc::new(AgentRuns::new(programs.clone()).with_talks(sandbox, agreed.clone())),
        python: Arc::new(PythonRuns::new(programs.clone(), data.clone())),
        programs,
        models: Arc::new(HttpModelClient::new(http.clone(), own.clone())),
        database: data.clone(),
        reader: data,
        documents: Arc::new(Documents::new(own.clone(), Arc::new(HttpEmbedder::new(http.clone())), clock.clone())),
        servers: Arc::new(McpServers::new(http.clone(), clock.clone()).as_agreed(agreed).with_logins(logins).with_login_command(command)),
        http: Arc::new(StepHttpClient::new(http)),
        mail: Arc::new(SmtpMailSender::new(clock.clone(), private_hosts)),
        folder: Arc::new(DiskFolder::keeping(own)),
        cache: Arc::new(NoCache),
        printer,
        clock,
        heard: None,
        person: None,
        tape: None,
        trace: None,
        door: Door::default(),
    }
}

/// Returns the rules by which ports reject requests that a test does not send. Placeholders for secrets and variables are accepted.
pub fn rules_of_ports(own: Arc<OwnFiles>) -> PortRules {
    let known = |text: &str| address_without_stand_ins(text).unwrap_or_else(|| text.to_owned());
    let one = |address: &String| without_stand_ins(address).map_or_else(|| address.clone(), |_| "somebody@example.com".to_owned());
    let all = move |list: &[String]| list.iter().map(one).collect();
    PortRules(Arc::new(move |request| match request {
        CallRequest::Http(http) => http::may_be_sent(&HttpRequest { url: known(&http.url), ..http.clone() }),
        CallRequest::Mail(mail) => {
            let head = &mail.head;
            let (to, cc, bcc, reply_to) = (all(&head.to), all(&head.cc), all(&head.bcc), all(&head.reply_to));
            let known = Mail { from: one(&mail.from), head: MailHead { to, cc, bcc, reply_to, ..head.clone() }, ..mail.clone() };
            smtp::may_be_sent(&known, SystemClock::new().now())
        }
        CallRequest::Read(files) => files.iter().try_for_each(|file| own.may_read(&file.path)),
        CallRequest::List { folder } => own.may_read(folder),
        CallRequest::Open { folder, name } => own.may_read(&folder.join(name)),
        CallRequest::Write { folder, name, content } => match content {
            FileToWrite::Text(text) | FileToWrite::Added { text, .. } => own.may_write(&folder.join(name), text),
            FileToWrite::Picture { .. } => own.may_write(&folder.join(name), ""),
        },
        CallRequest::Model(_)
        | CallRequest::Agent(_)
        | CallRequest::Scripted(_)
        | CallRequest::Recall { .. }
        | CallRequest::Query(_)
        | CallRequest::Program(_)
        | CallRequest::Python(_)
        | CallRequest::Search(_)
        | CallRequest::Tools(_)
        | CallRequest::Tool(_)
        | CallRequest::Resource(_)
        | CallRequest::Print(_)
        | CallRequest::Held { .. } => Ok(()),
    }))
}

/// Returns the folder of the user's logins, if there is one.
pub fn logins() -> Option<PathBuf> {
    environment::logins_folder().ok()
}

/// Returns the login command for the servers of a file, for the folder where this process was started, with its `--env-file`.
pub fn login_command(file: &Path, project: &Path, env_file: Option<&Path>) -> LoginCommand {
    let place =
        |folder: &Path| std::path::absolute(folder).and_then(|folder| folder.canonicalize()).unwrap_or_else(|_| folder.to_path_buf());
    let is_found = place(&super::project(file, None)) == place(project);
    LoginCommand::for_file(file, if is_found { None } else { Some(project) }, env_file)
}

/// Like [`login_command`], but valid in any folder, for readers of messages elsewhere.
pub fn login_command_from_anywhere(file: &Path, project: &Path, env_file: Option<&Path>) -> LoginCommand {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    login_command(&whole(file), &whole(project), env_file.map(whole).as_deref())
}

/// Creates the MCP servers of a file for use outside a run.
pub fn servers(private_hosts: Vec<String>, agreed: Arc<Agreed>, command: LoginCommand) -> McpServers {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    McpServers::new(Http::new(HttpSettings { private_hosts, ..HttpSettings::default() }, clock.clone()), clock)
        .as_agreed(agreed)
        .with_logins(logins())
        .with_login_command(command)
}

/// Returns the values of the declared secrets that are set.
pub fn declared<'a>(pipelines: impl IntoIterator<Item = &'a Pipeline>, env: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
    let names = pipelines.into_iter().flat_map(|pipeline| pipeline.secrets.keys());
    names.filter_map(|name| env.get(name).map(|value| (name.clone(), value.clone()))).collect()
}

/// Returns the model that the variables `FLOW_MODEL…` and `FLOW_API_KEY` set in place of `default`.
pub fn default_model(env: &BTreeMap<String, Secret>) -> Result<Option<Model>, RunError> {
    let get = |name: &str| env.get(name).map(Secret::reveal).filter(|value| !value.is_empty());
    if get("FLOW_MODEL").is_none() && get("FLOW_MODEL_BASE_URL").is_none() {
        return Ok(None);
    }
    let service = one_of("FLOW_MODEL_PROVIDER", get("FLOW_MODEL_PROVIDER"), Service::OpenAi)?;
    let tool_calls = one_of("FLOW_MODEL_TOOL_CALLS", get("FLOW_MODEL_TOOL_CALLS"), ToolCalls::default())?;
    let api = one_of("FLOW_MODEL_API", get("FLOW_MODEL_API"), Api::default())?;
    if api == Api::Responses && service.preset().responses.is_none() {
        return Err(RunError::usage("FLOW_MODEL_API is for the provider openai only"));
    }
    // The value may contain a login, so it is not shown.
    if get("FLOW_MODEL_BASE_URL").is_some_and(|url| host(url).is_none()) {
        let what = "FLOW_MODEL_BASE_URL is not a web address; write it with http:// or https://, as http://127.0.0.1:8080/v1";
        return Err(RunError::usage(what));
    }
    let max_output_tokens = get("FLOW_MODEL_MAX_OUTPUT_TOKENS").map(|value| {
        let wrong = || RunError::usage(format!("FLOW_MODEL_MAX_OUTPUT_TOKENS is \"{value}\"; write a whole number above 0"));
        value.parse().ok().filter(|most: &u64| *most > 0).ok_or_else(wrong)
    });
    Ok(Some(Model {
        api,
        max_output_tokens: max_output_tokens.transpose()?,
        tool_calls,
        model: Some(Text::plain(get("FLOW_MODEL").unwrap_or("default"))),
        base_url: get("FLOW_MODEL_BASE_URL").map(Text::plain),
        api_key: get("FLOW_API_KEY").map(Text::plain),
        ..Model::new(Provider::Service(service))
    }))
}

/// Parses a variable that accepts one of a few words.
fn one_of<T: FromStr + VariantNames>(name: &str, value: Option<&str>, default: T) -> Result<T, RunError> {
    let Some(value) = value else { return Ok(default) };
    value.parse().map_err(|_| {
        let (last, others) = T::VARIANTS.split_last().unwrap_or((&"", &[]));
        RunError::usage(format!("{name} is \"{value}\"; write {} or {last}", others.join(", ")))
    })
}

/// Checks that a cost limit has the price of every model that may be called, also in called pipelines. `default_model`: with its source.
pub fn know_prices(checked: &Checked, default_model: Option<(&Model, &str)>, limits: &Limits) -> Result<(), RunError> {
    let program = &checked.loaded.program;
    let has_bound = program.pipelines.iter().any(|pipeline| pipeline.bounds().max_cost_usd.is_some());
    if limits.max_cost_usd.is_none() && !has_bound {
        return Ok(());
    }
    let is_asked = program.pipelines.iter().any(|pipeline| asks_default(pipeline));
    let replaced = default_model.filter(|_| is_asked).map(|(model, from)| (format!("{DEFAULT_MODEL} (from {from})"), model));
    let mut all = models(program, default_model.is_some()).map(|(name, model)| (name.to_owned(), model)).chain(replaced);
    match all.find(|(_, model)| !model.is_priced() && costs(model)) {
        Some((name, _)) => Err(RunError::usage(format!("a bound on money cannot be held: model {name} has no price"))),
        None => Ok(()),
    }
}

/// Whether any model that may be called is scripted.
pub(crate) fn is_scripted(program: &Program, default_replaced: bool) -> bool {
    models(program, default_replaced).any(|(_, model)| model.provider.answers_from_a_file())
}

/// Returns the models of all files, without `default` if a variable replaces it.
fn models(program: &Program, default_replaced: bool) -> impl Iterator<Item = (&str, &Model)> {
    let all = program.pipelines.iter().flat_map(|pipeline| &pipeline.models);
    all.map(|(name, model)| (name.as_str(), model)).filter(move |(name, _)| !(default_replaced && *name == DEFAULT_MODEL))
}

/// Whether calls of the model may have a cost that is reported. The cost of a tool is never reported.
fn costs(model: &Model) -> bool {
    !model.provider.answers_from_a_file() && model.provider.tool().is_none()
}

/// Returns the failure of a run for which something is missing on this machine.
pub fn lacking(checked: &Checked) -> Option<Failure> {
    let of_one = |plan: &PipelinePlan| {
        let queries = plan.steps.iter().filter_map(|planned| {
            let StepKind::Sql(sql) = &planned.step.kind else { return None };
            Some(&*sql.query.source)
        });
        check_engines(&plan.pipeline.data, queries).err()
    };
    checked.plan.pipelines.iter().find_map(of_one)
}
