//! `flow mcp`: serves pipelines as tools of an MCP server. Each call is an ordinary run in a separate thread.

use std::io::BufReader;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::arguments::{McpOptions, SharedOptions};
use super::outcome::{line_of_end, rejected_keys};
use super::refusal::{Refusal, pipeline};
use super::run::{self, to_decide};
use super::signals::{Attended, listen};
use super::{Exit, inputs, progress, trust};
use crate::adapter::clock::SystemClock;
use crate::adapter::mcp::SharedServers;
use crate::adapter::shared_store::SharedStores;
use crate::adapter::{environment, lock};
use crate::diagnostic::visible;
use crate::driver::Runtime;
use crate::event::{Canceller, Event, RunStatus};
use crate::journal::RunMask;
use crate::model::Limits;
use crate::port::Secret;
use crate::redact::Redactor;
use crate::runtime::{Attend, Nobody, RunEnding, RunError, RunOutcome, RunSession, Runner, STACK, world};
use crate::serve::{
    Bounds, CallLine, Doors, InvalidArguments, PATIENCE, PipelineService, ServedOutcome, Tool, serve_http, serve_stdio, tool,
};

/// Maximum number of calls that wait for others to end.
const MOST_WAITING: usize = 64;
/// Minimum length of a token in characters: 128 random bits in Base64.
const SHORTEST_TOKEN: usize = 22;
/// The variable with the token that clients must send.
const TOKEN: &str = "FLOW_MCP_TOKEN";

/// Serves pipelines until the client disconnects or a signal arrives.
pub(super) fn serve(options: &McpOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let limits = inputs::limits(options.deadline.as_deref(), options.max_cost_usd)?;
    let mut served: Vec<Arc<ServedPipeline>> = vec![];
    for file in &options.files {
        let one = ServedPipeline::new(file, &limits, options.trust.is_given, shared)?;
        if served.iter().any(|other| other.tool.name == one.tool.name) {
            return Err(refusal!(Usage, "two pipelines are called {}; tool names must be unique", one.tool.name));
        }
        served.push(Arc::new(one));
    }
    let bounds = Bounds { running: options.max_calls as usize, waiting: MOST_WAITING, patience: PATIENCE };
    let cannot = |what: &str, error: std::io::Error| refusal!(Failed, "{what}: {error}");
    let runtime = Runtime::new().map_err(|error| cannot("flow cannot start", error))?;
    let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
    let signals = Arc::new(listen(sender));
    let by = runtime.block_on(async {
        let servers =
            Arc::new(SharedServers::new(tokio::runtime::Handle::current(), Arc::new(SystemClock::new())).with_logins(world::logins()));
        let tools = served.iter().map(|one| one.tool.clone()).collect();
        let common = Arc::new(Common { servers: Arc::clone(&servers), journals: Arc::default(), signals });
        let work = Arc::new(Pipelines { tools, served, common });
        let by = match options.http {
            None => serve_stdio(work, bounds, BufReader::new(std::io::stdin()), std::io::stdout(), &mut stop)
                .await
                .map_err(|e| cannot("cannot serve", e))?,
            Some(port) => {
                let address = SocketAddr::new(options.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), port);
                let token = token(shared, address.ip())?;
                let listener =
                    tokio::net::TcpListener::bind(address).await.map_err(|e| cannot(&format!("cannot serve at {address}"), e))?;
                let address = listener.local_addr().unwrap_or(address);
                if !shared.quiet {
                    tell_as_written!("serving at http://{address}/mcp");
                }
                serve_http(work, bounds, listener, Doors::new(address, &options.allow_hosts, token), &mut stop).await
            }
        };
        servers.close().await;
        Ok::<_, Refusal>(by)
    })?;
    Ok(match by {
        None => Exit::Ok,
        Some(Canceller::Terminate) => Exit::Terminated,
        Some(Canceller::Interrupt | Canceller::Client | Canceller::Person) => Exit::Interrupted,
    })
}

/// Returns the token that clients must send; it is optional unless `--address` sets another address.
fn token(shared: &SharedOptions, address: IpAddr) -> Result<Option<Secret>, Refusal> {
    let env = shared.variables()?;
    let token = env.get(TOKEN).cloned();
    if let (None, Some(file)) = (&token, &shared.env_file)
        && environment::of_file(file).map_err(Refusal::usage)?.contains_key(TOKEN)
    {
        return Err(refusal!(Usage, "{TOKEN} is set in {}, but is read from the environment only; set it there", file.display()));
    }
    match &token {
        Some(token) if token.reveal().len() < SHORTEST_TOKEN || !token.reveal().bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(refusal!(Usage, "{TOKEN}: write at least {SHORTEST_TOKEN} random letters and digits, without spaces"))
        }
        None if address != IpAddr::V4(Ipv4Addr::LOCALHOST) => Err(refusal!(
            Usage,
            "--address {address}: only 127.0.0.1 is served without a token; set {TOKEN} to the token that clients must send"
        )),
        _ => Ok(token),
    }
}

/// The tools, each with its pipeline.
struct Pipelines {
    tools: Vec<Tool>,
    served: Vec<Arc<ServedPipeline>>,
    common: Arc<Common>,
}

/// Resources shared by the runs of this process.
struct Common {
    servers: Arc<SharedServers>,
    journals: Arc<SharedStores>,
    signals: Arc<Attended>,
}

/// One pipeline, as it was when the server started.
struct ServedPipeline {
    runner: Runner,
    tool: Tool,
    is_quiet: bool,
    /// The options that a command needs to reach the project of its runs.
    reach: String,
    arrivals: Arrivals,
}

/// Keeps calls of conversations in the order of arrival. Holds the signal that the last arrived call has started.
#[derive(Default)]
struct Arrivals(Mutex<Option<Receiver<()>>>);

/// A call of a conversation; dropping it lets the next one start.
struct Arrival {
    before: Option<Receiver<()>>,
    _begun: Sender<()>,
}

impl Arrivals {
    fn arrive(&self) -> Arrival {
        let (begun, next) = channel();
        Arrival { before: lock(&self.0).replace(next), _begun: begun }
    }
}

/// A call that ends before it has started must not let the next one overtake earlier calls.
impl Drop for Arrival {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Arrival {
    /// Waits until the previous call has started.
    fn wait(&self) {
        let _ = self.before.as_ref().map(Receiver::recv);
    }
}

impl PipelineService for Pipelines {
    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn begin(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        line: CallLine,
    ) -> oneshot::Receiver<Result<ServedOutcome, InvalidArguments>> {
        let (sender, receiver) = oneshot::channel();
        if let Some(served) = self.served.iter().find(|served| served.tool.name == tool).cloned() {
            let common = Arc::clone(&self.common);
            let arrival = served.runner.workflow.pipeline.conversation.is_some().then(|| served.arrivals.arrive());
            // If the thread cannot be started, or panics, the sender is dropped.
            let _ = std::thread::Builder::new().name("call".into()).stack_size(STACK).spawn(move || {
                let _ = sender.send(match served.call(arguments, line, &common, arrival) {
                    Ok(given) => Ok(given),
                    Err(Refusal(Exit::Usage, lines)) => Err(InvalidArguments(lines.join("; "))),
                    Err(Refusal(_, lines)) => Ok(failed(lines.join("\n"), Map::new())),
                });
            });
        }
        receiver
    }
}

impl ServedPipeline {
    /// Checks a file, its trust, and whether its runs could start.
    fn new(file: &std::path::Path, flags: &Limits, is_allowed: bool, shared: &SharedOptions) -> Result<ServedPipeline, Refusal> {
        let workflow = pipeline(file, shared)?;
        let agreed = trust::consent(&workflow.checked, file, is_allowed, shared)?;
        let mut runner = shared.runner(&workflow, Some(agreed)).limits(flags.clone());
        runner.is_served = true;
        let on = run::ready(&runner)?;
        on.know_prices()?;
        let tool = tool(&workflow.checked.plan);
        let reach = shared.reach(&workflow.project);
        if !shared.quiet {
            on.unrecognised().iter().for_each(|line| tell!("{}: {line}", tool.name));
            on.unreadable_folders().iter().for_each(|line| tell!("{line}"));
        }
        if on.scripted && !shared.quiet {
            tell!("{}: {}", tool.name, run::SCRIPTED);
        }
        Ok(ServedPipeline { runner, tool, is_quiet: shared.quiet, reach, arrivals: Arrivals::default() })
    }

    /// Runs the pipeline to its end.
    fn call(
        &self,
        mut arguments: Map<String, Value>,
        mut line: CallLine,
        common: &Common,
        arrival: Option<Arrival>,
    ) -> Result<ServedOutcome, Refusal> {
        // A problem that arose after the server started is not the client's error.
        let mut on = run::ready(&self.runner).map_err(|Refusal(_, lines)| Refusal(Exit::Failed, lines))?;
        let private_hosts = on.settled.hosts_with(&on.runner.env);
        let channel = if on.pipeline().channels.is_empty() { None } else { arguments.remove("channel") };
        on.runner.channel = match channel {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return Err(Refusal::usage("channel is a text")),
        };
        on.runner.journals = Arc::clone(&common.journals);
        on.runner.caller = line.caller.take();
        arrival.iter().for_each(Arrival::wait);
        let mut session = match RunSession::begin(on, arguments) {
            Err(RunError::Lacking(failure)) => {
                return Ok(failed(line_of_end(&RunOutcome::lacking(failure), "").unwrap_or_default(), Map::new()));
            }
            begun => begun?,
        };
        drop(arrival);
        let workflow = &self.runner.workflow;
        let command = world::login_command_from_anywhere(&workflow.file, &workflow.project, self.runner.env_file.as_deref());
        session.on.ports.servers = Arc::new(common.servers.lend(&session.id, &private_hosts, self.runner.agreed.clone(), command));
        let played = session.play(&mut line.stop, &mut Called { signals: &common.signals, progress: &line.progress }, &mut Nobody);
        let outcome = &played.outcome;
        let mut given = match (&outcome.ending, &outcome.loss) {
            (RunEnding::Lost, Some(loss)) => return Err(Refusal::new(Exit::Failed, visible(&loss.to_string()))),
            (RunEnding::Over(status), _) => of_end(outcome, *status, played.redactor(), &self.reach),
            _ => {
                let mut given = failed(to_decide(&outcome.events, &self.reach).join("\n"), meta("waiting"));
                given.texts.splice(0..0, outcome.printed.iter().cloned());
                given
            }
        };
        given.meta.insert("run_id".into(), json!(outcome.run));
        if let (true, Some(last)) = (given.is_error, given.texts.last_mut()) {
            last.push_str(&format!("\nrun {}", outcome.run));
        }
        rejected_keys(outcome).iter().for_each(|line| tell!("{}: {line}", self.tool.name));
        if let Some(loss) = &outcome.loss {
            tell!("{}: {}", self.tool.name, visible(&loss.to_string()));
            given.meta.insert("kept".into(), json!(false));
        }
        if outcome.is_scripted {
            given.meta.insert("scripted".into(), json!(true));
        }
        if !self.is_quiet {
            let status = given.meta.get("status").and_then(Value::as_str).unwrap_or_default();
            tell!("{}: {} {status}", self.tool.name, outcome.run);
        }
        Ok(given)
    }
}

/// Attends a run that a client waits for.
struct Called<'a> {
    signals: &'a Attended,
    progress: &'a UnboundedSender<String>,
}

impl Attend for Called<'_> {
    fn see(&mut self, event: &Event, mask: RunMask<'_>) {
        self.signals.watch(event);
        if let Some(told) = progress::line(event, false, mask) {
            let _ = self.progress.send(visible(&told).into_owned());
        }
    }
}

fn failed(why: String, meta: Map<String, Value>) -> ServedOutcome {
    ServedOutcome { texts: vec![why], is_error: true, meta, ..ServedOutcome::default() }
}

fn meta(status: &str) -> Map<String, Value> {
    Map::from_iter([("status".to_owned(), json!(status))])
}

/// Returns the result of a run: what it printed, its outputs, and why it did not succeed.
fn of_end(outcome: &RunOutcome, status: RunStatus, redactor: &Redactor, reach: &str) -> ServedOutcome {
    let is_error = match status {
        RunStatus::Succeeded | RunStatus::Partial => false,
        RunStatus::QualityNotMet => {
            let record = crate::journal::record(&outcome.events);
            record.iter().flat_map(|record| &record.failures).any(|failure| failure.counts() && failure.sent.is_null())
        }
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::OverBudget | RunStatus::Cancelled => true,
    };
    let printed = &outcome.printed;
    let text = outcome.text().filter(|text| *text != printed.join("\n\n") && !printed.contains(text));
    let mut texts: Vec<String> = printed.iter().cloned().chain(text).collect();
    let why = line_of_end(outcome, reach).filter(|_| status != RunStatus::Succeeded);
    texts.extend(why.map(|why| visible(&redactor.redact(&why)).into_owned()));
    let structured = match &*outcome.outputs {
        Value::Object(named) if named.is_empty() && is_error => None,
        Value::Object(_) => Some((*outcome.outputs).clone()),
        Value::Null => (!is_error).then(|| json!({})),
        whole => Some(json!({ "output": whole })),
    };
    ServedOutcome { texts, structured, is_error, meta: meta(status.word()) }
}
