//! Carries out one request with the ports.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;

use super::{CallResult, Door, RunTrace};
use crate::event::{Failure, FailureKind};
use crate::port::{
    AgentCall, AgentPrograms, AskPerson, Cache, Clock, DocumentSearch, FileReader, FileToWrite, Folder, HttpClient, Listener, MailSender,
    ModelClient, ModelRequest, NoTape, Pending, Printer, Programs, Python, ReadRequest, ResourceReply, SearchRequest, SqlDatabase, Tape,
    TextMask, ToolServer, ToolServers,
};
use crate::{CallReply, CallRequest};

/// Receives answers of models as they stream.
pub type AnswerListener = Arc<dyn Fn(u64, &str) + Send + Sync>;

/// The outside world of a run.
#[derive(Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Models.
    pub models: Arc<dyn ModelClient>,
    /// Programs that are agents.
    pub agents: Arc<dyn AgentPrograms>,
    /// Queries.
    pub database: Arc<dyn SqlDatabase>,
    /// Reading files.
    pub reader: Arc<dyn FileReader>,
    /// Programs.
    pub programs: Arc<dyn Programs>,
    /// Python code.
    pub python: Arc<dyn Python>,
    /// Search in documents.
    pub documents: Arc<dyn DocumentSearch>,
    /// HTTP requests.
    pub http: Arc<dyn HttpClient>,
    /// Mail.
    pub mail: Arc<dyn MailSender>,
    /// MCP servers.
    pub servers: Arc<dyn ToolServers>,
    /// Folders of `file` tools.
    pub folder: Arc<dyn Folder>,
    /// Stored step results.
    pub cache: Arc<dyn Cache>,
    /// Standard output.
    pub printer: Arc<dyn Printer>,
    /// Receives answers of models as they stream: the number of the call, and the end of the text so far.
    pub heard: Option<AnswerListener>,
    /// Asks a person in the middle of a call. With `None`, nobody is there.
    pub person: Option<AskPerson>,
    /// Records or replays the traffic of one run. With `None`, every call goes directly to its port.
    pub tape: Option<Arc<dyn Tape>>,
    /// The trace that calls are part of, and tell others. With `None`, they tell nothing.
    pub trace: Option<Arc<RunTrace>>,
    /// Hides secrets in everything that comes in.
    pub door: Door,
}

/// Carries out one request as the call of that number. If a port panics, only that call fails.
pub fn carry_out(call: u64, request: CallRequest, ports: &Ports) -> impl Future<Output = CallResult> + use<> {
    let mut ports = ports.clone();
    let mut request = request;
    if let Some(trace) = &ports.trace {
        trace.goes_with(call, &mut request);
        ports.http = trace.http(call, ports.http);
    }
    AssertUnwindSafe(async move { ask(call, request, &ports).await }).catch_unwind().map(|answer| answer.unwrap_or_else(|_| Err(fault())))
}

/// Starts a server that is needed later. A failure is not reported here but by the step that needs the server. With a tape nothing starts early: a
/// replay starts no server, and a recording starts each one at the call that a replay would answer.
pub(super) fn start_early(server: ToolServer, ports: &Ports) -> impl Future<Output = ()> + use<> {
    let servers = ports.tape.is_none().then(|| Arc::clone(&ports.servers));
    let start = async move {
        if let Some(servers) = servers {
            let _ = servers.start(server).await;
        }
    };
    AssertUnwindSafe(start).catch_unwind().map(|_| ())
}

/// Tells those who listen the text of an answer while it comes.
fn listener(call: u64, ports: &Ports) -> Option<Listener> {
    let (heard, door) = (ports.heard.clone()?, ports.door.clone());
    Some(Listener::new(move |so_far| heard(call, &door.so_far(so_far))))
}

async fn ask(call: u64, request: CallRequest, ports: &Ports) -> CallResult {
    let tape = ports.tape.as_deref().unwrap_or(&NoTape);
    match request {
        CallRequest::Model(request) => {
            let request = ModelRequest { listener: listener(call, ports), ..request };
            tape.model(call, request, &ports.models).await.map(CallReply::Model)
        }
        CallRequest::Agent(prompt) => {
            let prompt = AgentCall { listener: listener(call, ports), person: ports.person.clone(), ..*prompt };
            tape.agent(call, prompt, &ports.agents).await.map(CallReply::Model)
        }
        CallRequest::Scripted(reply) => reply.map(CallReply::Model),
        CallRequest::Recall { key, now } => ports.cache.recall(key, now).await.map(|kept| CallReply::Value(kept.unwrap_or_default())),
        CallRequest::Query(request) => ports.database.query(request).await.map(CallReply::Rows),
        CallRequest::Read(requests) => {
            let mut files = vec![];
            for request in requests {
                files.push(ports.reader.read(request).await?);
            }
            Ok(CallReply::Files(files))
        }
        CallRequest::Program(program) => tape.program(call, *program, &ports.programs).await.map(CallReply::Program),
        CallRequest::Python(code) => tape.python(call, *code, &ports.python).await.map(CallReply::Python),
        CallRequest::Search(request) => {
            let listener = ports.heard.clone().map(|heard| Listener::new(move |so_far| heard(call, so_far)));
            let door = ports.door.clone();
            let mask = TextMask::new(move |text| door.text(text));
            ports.documents.search(SearchRequest { listener, mask: Some(mask), ..request }).await.map(CallReply::Found)
        }
        CallRequest::Http(request) => tape.http(call, request, &ports.http).await.map(CallReply::Http),
        CallRequest::Mail(mail) => tape.mail(call, mail, &ports.mail).await.map(CallReply::Mailed),
        CallRequest::Tools(server) => tape.tools(call, server, &ports.servers).await.map(CallReply::Tools),
        CallRequest::Tool(request) => tape.tool(call, request, &ports.servers).await.map(CallReply::Tool),
        CallRequest::Resource(request) => {
            let timeout = request.timeout;
            let reply = tape.resource(call, request, &ports.servers).await?;
            read_resource(reply, timeout, ports).await
        }
        CallRequest::Print(parts) => {
            let printer = ports.printer.clone();
            let print = move || {
                let printed = printer.print(&parts).map_err(|error| Failure::new(FailureKind::Unavailable, error.to_string()));
                Box::pin(std::future::ready(printed)) as Pending<()>
            };
            aside(print).await.map(|()| CallReply::Sent(String::new()))
        }
        CallRequest::Write { folder, name, content } => {
            let port = ports.folder.clone();
            let write = move || match content {
                FileToWrite::Text(text) => port.write(&folder, &name, &text),
                FileToWrite::Added { text, most } => port.append(&folder, &name, &text, most),
                FileToWrite::Picture { path, most } => port.copy(&path, most, &folder, &name),
            };
            aside(write).await.map(CallReply::Sent)
        }
        CallRequest::List { folder } => {
            let port = ports.folder.clone();
            let names = aside(move || port.list(&folder)).await?;
            Ok(CallReply::Value(names.into_iter().map(Value::from).collect()))
        }
        CallRequest::Held { project, files, within, request } => {
            for (path, told) in files {
                let (port, project) = (ports.folder.clone(), project.clone());
                aside(move || port.check_links(&project, &path, &told, within)).await?;
            }
            Box::pin(ask(call, *request, ports)).await
        }
        CallRequest::Open { folder, name } => {
            let port = ports.folder.clone();
            aside(move || port.read(&folder, &name)).await.map(|text| CallReply::Value(Value::from(text)))
        }
    }
}

/// Reads the file of a resource that has one.
async fn read_resource(reply: ResourceReply, timeout: Duration, ports: &Ports) -> CallResult {
    let Some(file) = reply.file.clone() else { return Ok(CallReply::Resource(reply, None)) };
    let path = ports.servers.keep(file).await?;
    let read = ports.reader.read(ReadRequest { path, kind: None, timeout }).await?;
    Ok(CallReply::Resource(reply, Some(Box::new(read.0))))
}

/// Runs work that may block, for example on a disk that does not respond or a pipe that nobody reads, in a thread of its own, so that the loop
/// continues.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Pending<T> + Send + 'static) -> Result<T, Failure> {
    let runtime = tokio::runtime::Handle::current();
    match tokio::task::spawn_blocking(move || runtime.block_on(work())).await {
        Ok(answer) => answer,
        Err(_panicked) => Err(fault()),
    }
}

fn fault() -> Failure {
    Failure::new(FailureKind::Internal, "an internal error of flow stopped this call; please report it")
}
