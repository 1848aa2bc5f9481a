//! MCP servers as tools. A server starts when first needed or shortly before, is shared by steps and runs, and ends with the process.
//!
//! | module | content |
//! |---|---|
//! | `program` | a server that is a program: its process group, its output, its end |
//! | `web` | a server behind a web address |
//! | `headers` | headers that repeat arguments of a call to a web server |
//! | `news` | notifications that a web server sends unprompted |
//! | `inbox` | incoming messages of either transport, sorted and bounded |
//! | `session` | the handshake, and requests |
//! | `tools` | the list of tools, and calls |
//! | `questions` | questions that a server asks a person during a call |
//! | `parked` | calls that wait for a person's answer while they stay open (before 2026-07-28) |
//! | `tasks` | long-running calls |
//! | `protocol` | the content of messages; the types are rmcp's |
//! | `pool` | which run uses which server, and how many servers are kept |
//! | `shared` | servers that outlive a run and are reused by the next |
//! | `resources` | listing and reading the resources of a server |
//! | `pictures` | pictures and files that servers returned, stored for models and `read` steps |
//! | `pins` | the tool descriptions that were accepted |
//!
//! Only the protocol types of rmcp are used. Its service would drop a line that is too long and continue, and could not report whether a failed
//! request had been sent, which `unknown_outcome` depends on.
//!
//! How to add a request of the protocol: add its content to `protocol`, its bounds to `tools`, and a row to the fault table in `tests`.

pub mod auth;
mod headers;
mod inbox;
mod news;
mod parked;
pub mod pins;
mod pool;
mod program;
mod protocol;
mod questions;
mod resources;
mod session;
mod shared;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;
mod web;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use self::auth::{Challenge, LoginCommand, LoginDone, LoginTalk, LoginWish, Logins, TokensAfter, log_in, log_out};
use self::parked::ParkedCalls;
use self::pins::{Difference, Pins};
use self::pool::{OpenSession, PooledServer, ServerPool};
use self::program::ServerProgram;
use self::session::{ListedTools, ServerLink, ServerSession};
pub use self::shared::{Lent, SharedServers};
use self::tools::{CallEnd, patience};
use self::web::Web;
use super::agreed::Agreed;
use super::http::{Http, HttpFault, honest, in_words};
use super::kept_files::KeptFiles;
use super::lock;
use super::scrub::visible;
use super::started::Started;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{
    Clock, Pending, ResourceCall, ResourceFile, ResourceReply, Secret, ServerCall, ServerReply, ServerTransport, ToolList, ToolServer,
    ToolServers,
};
use crate::redact::Secrets;

/// How often a server is restarted in one run, and the wait before the first restart. The wait doubles each time.
const MOST_RESTARTS: u32 = 3;
const RESTART_AFTER: Duration = Duration::from_millis(250);

/// Time limit for ending all programs.
const LONGEST_END: Duration = Duration::from_secs(10);

/// A client for MCP servers. Clones share the servers.
#[derive(Clone)]
pub struct McpServers {
    http: Http,
    clock: Arc<dyn Clock>,
    pool: Arc<ServerPool>,
    /// The programs that may be started; `None` allows all.
    agreed: Option<Arc<Agreed>>,
    logins: Logins,
    /// Only one task at a time reads and writes pins.
    pinning: Arc<Mutex<()>>,
    pictures: KeptFiles,
    parked: Arc<ParkedCalls>,
}

/// The state of a server when it was examined, for display.
#[derive(Debug, Clone, Default)]
pub struct ServerLook {
    /// The protocol version in use.
    pub version: String,
    /// The names of its tools, each with its description.
    pub tools: Vec<(String, String)>,
    /// The names of tools that cannot be called, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// The server's description of itself.
    pub instructions: String,
    /// The URIs of its resources, and its resource templates.
    pub resources: Vec<String>,
    /// How the tools differ from the pinned ones.
    pub difference: Difference,
    /// The content that is pinned if this state is accepted.
    pub said: BTreeMap<String, serde_json::Value>,
    /// Why an optional server is not available; all other fields are then empty.
    pub absent: Option<Failure>,
}

/// The tool descriptions of a server with secrets removed, so that they can be stored in a file.
fn without_secrets(server: &ToolServer, listed: &ListedTools) -> BTreeMap<String, serde_json::Value> {
    let secrets = Secrets::new(server.secrets.iter().map(Secret::reveal));
    let hidden = |(name, said): (&String, &serde_json::Value)| {
        let mut said = said.clone();
        secrets.hide_in_value(&mut said);
        (secrets.hide(name).into_owned(), said)
    };
    listed.said.iter().map(hidden).collect()
}

impl McpServers {
    /// Creates a client that reaches web addresses over `http`.
    pub fn new(http: Http, clock: Arc<dyn Clock>) -> McpServers {
        McpServers {
            http,
            clock,
            pool: Arc::default(),
            agreed: None,
            logins: Logins::default(),
            pinning: Arc::default(),
            pictures: KeptFiles::default(),
            parked: Arc::default(),
        }
    }

    /// Returns the same client, which only starts programs that were agreed to.
    pub fn as_agreed(self, agreed: Arc<Agreed>) -> McpServers {
        McpServers { agreed: Some(agreed), ..self }
    }

    /// Returns the same client, with the logins that are stored in `folder`.
    pub fn with_logins(self, folder: Option<PathBuf>) -> McpServers {
        McpServers { logins: Logins { folder, ..self.logins }, ..self }
    }

    /// Returns the same client, whose messages show `command` as the way to log in.
    pub fn with_login_command(self, command: LoginCommand) -> McpServers {
        McpServers { logins: Logins { command, ..self.logins }, ..self }
    }

    fn web_without_tokens(&self, server: &ToolServer, url: &str, headers: &[(String, Secret)]) -> Web {
        let logins = Logins { folder: None, command: self.logins.command.clone() };
        Web::new(self.http.clone(), Arc::clone(&self.clock), server, url, headers, logins).without_tokens()
    }

    /// Revokes the tokens of a login, as far as its authorization server does that, and removes it. `None`: there was no login.
    ///
    /// # Errors
    /// Fails if the login cannot be removed.
    pub async fn log_out(&self, server: &ToolServer) -> Result<Option<TokensAfter>, Failure> {
        let (ServerTransport::Http { url, headers, .. }, Some(folder)) = (&server.transport, self.logins.folder.clone()) else {
            return Ok(None);
        };
        let asker = self.web_without_tokens(server, url, headers).endpoint.asker();
        log_out(&asker, server, folder).await.map_err(|fault| named(server, fault).failure)
    }

    /// Logs a person in at the authorization server of `server`, and stores the login.
    ///
    /// # Errors
    /// Fails if the server is a program, the login is not granted, a response is invalid, or the login cannot be stored.
    pub async fn log_in(&self, server: &ToolServer, wish: &LoginWish, talk: &dyn LoginTalk) -> Result<LoginDone, Failure> {
        let wrong = |what: &str| Failure::new(FailureKind::BadRequest, format!("server \"{}\" {what}", server.name));
        let ServerTransport::Http { url, headers, .. } = &server.transport else {
            return Err(wrong("is a program; programs have no login"));
        };
        let folder = self.logins.folder.clone().ok_or_else(|| wrong("has no folder for its login: HOME is not set"))?;
        let web = self.web_without_tokens(server, url, headers);
        let (asker, web) = (web.endpoint.asker(), Arc::new(web));
        // The challenge that the server sends to a client without a token states what it requires.
        let until = Instant::now() + patience(server.connect_timeout);
        let looked = async {
            let session = ServerSession::open(ServerLink::Web(Arc::clone(&web)), until, server.connect_timeout, server.questions).await?;
            let listed = timeout_at(until, session.list()).await.map(drop);
            session.link.end().await;
            Ok::<_, HttpFault>(listed)
        };
        let looked = looked.await;
        let wanted = match (web.wanted(), looked) {
            (Some(wanted), _) => wanted,
            (None, Ok(_)) => Challenge::default(),
            (None, Err(fault)) => return Err(named(server, fault).failure),
        };
        let done = log_in(&asker, server, &wanted, folder, wish, talk).await;
        done.map_err(|fault| named(server, fault).failure)
    }

    fn entry(&self, server: &ToolServer) -> Arc<PooledServer> {
        self.pool.entry(server, self.http.private_hosts())
    }

    /// The session of a server, started if it is not running. The flag is true if the session was running and this run had not used it before.
    async fn session(&self, server: &ToolServer) -> Result<(Arc<ServerSession>, bool), HttpFault> {
        let until = Instant::now() + patience(server.connect_timeout);
        let entry = self.entry(server);
        let is_starting = entry.session.try_lock().is_err();
        let open = timeout_at(until, Arc::clone(&entry.session).lock_owned()).await.map_err(|_| late(server))?;
        if let Some(session) = open.as_ref().filter(|session| session.link.is_open()) {
            let is_found = entry.is_new_to(&server.run);
            if is_found {
                entry.begins_for(&server.run);
                session.link.joined(entry.is_shared());
            }
            return Ok((Arc::clone(session), is_found));
        }
        // The wait was for this run's own early start.
        if let Some(failure) = entry.early_failure(&server.run).filter(|_| is_starting) {
            return Err(HttpFault::before_sending(failure));
        }
        Ok((self.opened(server, &entry, open, false).await?, false))
    }

    /// Starts a server that is needed later, unless it is running or being started.
    async fn started_early(&self, server: &ToolServer) {
        let entry = self.entry(server);
        let Ok(open) = Arc::clone(&entry.session).try_lock_owned() else { return };
        if open.as_ref().is_some_and(|session| session.link.is_open()) {
            return;
        }
        // A failure is stored in the entry, where a waiting task finds it.
        let _ = self.opened(server, &entry, open, true).await;
    }

    /// Starts a server that is not running.
    async fn opened(
        &self,
        server: &ToolServer,
        entry: &Arc<PooledServer>,
        mut open: OpenSession,
        is_early: bool,
    ) -> Result<Arc<ServerSession>, HttpFault> {
        let (early, own) = (is_early.then(|| Arc::clone(entry)), server.clone());
        // Called while the session's lock is still held, so that a waiting task finds the failure.
        let failed = move |fault: HttpFault| {
            early.iter().for_each(|entry| entry.failed_early(&own.run, fault.failure.clone()));
            fault
        };
        let own = server.clone();
        if let Some(before) = open.take() {
            before.link.give_up();
        }
        let begun = entry.begins_for(&server.run);
        if begun > MOST_RESTARTS {
            let message = format!("server \"{}\" has ended {begun} times in this run, and is not restarted", server.name);
            return Err(HttpFault::before_sending(Failure::new(FailureKind::Unavailable, message)));
        }
        if begun > 0 {
            tokio::time::sleep(RESTART_AFTER * 2u32.pow(begun - 1)).await;
        }
        let until = Instant::now() + patience(server.connect_timeout);
        self.is_agreed(server).await.map_err(&failed)?;
        let link = self.link(server).map_err(&failed)?;
        let (time, asks) = (server.connect_timeout, server.questions);
        // It continues if this run stops waiting, because another run may wait for it too.
        let opening = tokio::spawn(async move {
            let session = Arc::new(ServerSession::open(link, until, time, asks).await.map_err(|fault| failed(named(&own, fault)))?);
            *open = Some(Arc::clone(&session));
            Ok(session)
        });
        entry.opens(opening.abort_handle());
        let session = opening.await.unwrap_or_else(|_| Err(late(server)))?;
        session.link.joined(entry.is_shared());
        Ok(session)
    }

    /// Checks that the program about to be started is one that was agreed to. This is checked immediately before each start.
    async fn is_agreed(&self, server: &ToolServer) -> Result<(), HttpFault> {
        let (Some(agreed), ServerTransport::Program { command, args, env, folder }) = (self.agreed.clone(), &server.transport) else {
            return Ok(());
        };
        let who = format!("server \"{}\"", server.name);
        let started = Started::of_server(who, command.clone(), args.clone(), folder.clone(), server.project.clone());
        let started = started.with_env(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        let looked = tokio::task::spawn_blocking(move || agreed.check(&started)).await;
        let ends = |_| Err(Failure::new(FailureKind::Unavailable, "flow ends"));
        looked.unwrap_or_else(ends).map_err(HttpFault::before_sending)
    }

    fn link(&self, server: &ToolServer) -> Result<ServerLink, HttpFault> {
        Ok(match &server.transport {
            ServerTransport::Program { command, args, env, folder } => {
                let program = ServerProgram::start(server, command, args, env, folder).map_err(HttpFault::before_sending)?;
                self.pool.started(program.ended());
                ServerLink::Program(program)
            }
            ServerTransport::Http { url, headers, .. } => {
                ServerLink::Web(Arc::new(Web::new(self.http.clone(), Arc::clone(&self.clock), server, url, headers, self.logins.clone())))
            }
        })
    }

    /// Examines a server: what it offers now, and how that differs from what was pinned.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or the pins cannot be read.
    pub async fn look(&self, server: &ToolServer) -> Result<ServerLook, Failure> {
        let (session, listed) = match self.reached(server).await {
            Err(fault) if server.optional && is_absence(fault.failure.kind) => {
                return Ok(ServerLook { absent: Some(fault.failure), ..ServerLook::default() });
            }
            reached => reached?,
        };
        let until = Instant::now() + patience(server.connect_timeout);
        let resources = timeout_at(until, session.resources())
            .await
            .unwrap_or_else(|_| Err(session.fault(FailureKind::Timeout, "it did not list its resources in time (connect_timeout)")));
        let resources = resources.map_err(|fault| named(server, fault))?;
        let _alone = lock(&self.pinning);
        let pins = Pins::read(&server.project)?;
        Ok(ServerLook {
            version: session.version().to_string(),
            tools: listed.tools.iter().map(|tool| (visible(&tool.name), visible(&tool.description))).collect(),
            left_out: listed.left_out.iter().map(|(name, why)| (visible(name), why.clone())).collect(),
            instructions: visible(&session.instructions()),
            resources: resources.iter().map(|uri| visible(uri)).collect(),
            difference: pins.difference(&server.identity, &without_secrets(server, &listed)),
            said: without_secrets(server, &listed),
            absent: None,
        })
    }

    async fn listed(&self, server: &ToolServer) -> Result<ToolList, Failure> {
        let (session, listed) = match self.reached(server).await {
            Ok(reached) => reached,
            Err(fault) if server.optional && is_absence(fault.failure.kind) => {
                return Ok(ToolList { absent: Some(fault.failure), ..ToolList::default() });
            }
            Err(fault) => return Err(fault.into()),
        };
        let difference = self.compared(server, &listed).await?;
        let mut notes = session.inbox().notes(&server.run);
        if difference.is_first {
            notes.insert(0, format!("its tools are new and were pinned in {}", pins::FILE));
        }
        Ok(ToolList {
            version: session.version().to_string(),
            hash: listed.hash.clone(),
            tools: listed.tools.clone(),
            left_out: listed.left_out.clone(),
            instructions: session.instructions(),
            changed: difference.changed,
            unpinned: difference.new,
            notes,
            absent: None,
        })
    }

    /// The session of a server, and its tools.
    async fn reached(&self, server: &ToolServer) -> Result<(Arc<ServerSession>, Arc<ListedTools>), HttpFault> {
        let until = Instant::now() + patience(server.connect_timeout);
        let (mut session, is_found) = self.session(server).await?;
        let mut listed = self.list_tools(server, &session, until).await;
        // A session that an earlier run left behind may have failed since.
        if listed.is_err() && is_found {
            self.entry(server).forget(&Arc::downgrade(&session)).await;
            session = self.session(server).await?.0;
            listed = self.list_tools(server, &session, until).await;
        }
        Ok((session, listed.map_err(|fault| named(server, fault))?))
    }

    async fn list_tools(&self, server: &ToolServer, session: &Arc<ServerSession>, until: Instant) -> Result<Arc<ListedTools>, HttpFault> {
        let mut doubt = Doubt::new(self.entry(server), session);
        let listed = timeout_at(until, session.list()).await.unwrap_or_else(|_| {
            let (time, last) = (in_words(server.connect_timeout), session.link.last_line());
            let own = || session.fault(FailureKind::Timeout, &format!("it did not list its tools within {time} (connect_timeout){last}"));
            Err(session.without_token(server.connect_timeout).unwrap_or_else(own))
        });
        doubt.is_settled = !matches!(&listed, Err(fault) if fault.failure.kind == FailureKind::Timeout);
        listed
    }

    /// Compares the tools with the pinned ones. If the server has no pins yet, its tools are pinned.
    async fn compared(&self, server: &ToolServer, listed: &Arc<ListedTools>) -> Result<Difference, Failure> {
        let (pinning, said) = (Arc::clone(&self.pinning), without_secrets(server, listed));
        let (project, identity) = (server.project.clone(), server.identity.clone());
        // Blocking disk access must not delay communication with other servers.
        let compared = tokio::task::spawn_blocking(move || -> Result<Difference, Failure> {
            let _alone = lock(&pinning);
            let mut pins = Pins::read(&project)?;
            let difference = pins.difference(&identity, &said);
            if difference.is_first {
                pins.pin(&identity, &said);
                pins.write(&project)?;
            }
            Ok(difference)
        });
        compared.await.unwrap_or_else(|_| Err(Failure::new(FailureKind::Unavailable, "flow ends")))
    }

    async fn called(&self, call: &ServerCall) -> Result<ServerReply, Failure> {
        let parked = self.parked.continued(call).map_err(|fault| honest(named(&call.server, fault)))?;
        let session = match &parked {
            Some((open, _)) => Arc::clone(open.session()),
            None => self.session(&call.server).await?.0,
        };
        let mut doubt = Doubt::new(self.entry(&call.server), &session);
        let answer = session.call(call, parked).await;
        doubt.is_settled = !matches!(&answer, Err(fault) if fault.may_have_acted && fault.failure.kind == FailureKind::Timeout);
        let notes = session.inbox().notes(&call.server.run);
        match answer {
            Ok(CallEnd::Reply(reply, pictures)) => Ok(ServerReply { notes, pictures: self.pictures.keep(pictures).await?, ..*reply }),
            Ok(CallEnd::Asks(question, open)) => {
                let asks = self.parked.park(&call.server.run, question, open).map_err(|fault| honest(named(&call.server, fault)))?;
                Ok(ServerReply { notes, asks: Some(Box::new(asks)), ..ServerReply::default() })
            }
            Err(fault) => Err(honest(named(&call.server, fault))),
        }
    }

    async fn resource(&self, call: &ResourceCall) -> Result<ResourceReply, Failure> {
        let (session, _) = self.session(&call.server).await?;
        let mut doubt = Doubt::new(self.entry(&call.server), &session);
        let answer = session.read(call).await;
        doubt.is_settled = !matches!(&answer, Err(fault) if fault.may_have_acted && fault.failure.kind == FailureKind::Timeout);
        let notes = session.inbox().notes(&call.server.run);
        match answer {
            Ok(reply) => Ok(ResourceReply { notes, ..reply }),
            // A read has no side effects, so its outcome is never in doubt.
            Err(fault) => Err(named(&call.server, fault).into()),
        }
    }

    /// Stores the content of a resource as a file, with an extension for its kind.
    async fn store_resource(&self, file: &ResourceFile) -> Result<PathBuf, Failure> {
        let wrong = |why: &str| Failure::new(FailureKind::BadResponse, format!("the content of a resource {why}"));
        let content = protocol::resource_file(file).ok_or_else(|| wrong("is no base64"))?;
        self.pictures.keep(vec![content]).await?.pop().ok_or_else(|| wrong("finds no room among the files that servers gave"))
    }

    async fn end_all(&self) {
        drop(self.parked.leave(None));
        let (entries, programs) = self.pool.drain();
        futures_util::future::join_all(entries.iter().map(|entry| entry.end())).await;
        let all = async {
            for mut ended in programs {
                let _ = ended.wait_for(|ended| *ended).await;
            }
        };
        // Each server has its own time limit; this one applies if something goes wrong with them.
        let _ = tokio::time::timeout(LONGEST_END, all).await;
    }
}

/// A request whose answer was not awaited to the end. If the server does not respond to a ping either, its session is left to the requests that still
/// wait in it, each for its own time, and the next request starts a new session.
struct Doubt {
    entry: Arc<PooledServer>,
    session: Weak<ServerSession>,
    is_settled: bool,
}

impl Doubt {
    fn new(entry: Arc<PooledServer>, session: &Arc<ServerSession>) -> Doubt {
        Doubt { entry, session: Arc::downgrade(session), is_settled: false }
    }
}

impl Drop for Doubt {
    fn drop(&mut self) {
        let Some(proof) = self.session.upgrade().filter(|_| !self.is_settled).and_then(|session| session.proof_of_life()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (entry, session) = (Arc::clone(&self.entry), self.session.clone());
        runtime.spawn(async move {
            if !proof.await {
                entry.forget(&session).await;
            }
        });
    }
}

/// Whether a failure means that a server does not start or answer. A server that rejects a request or denies access is present.
fn is_absence(kind: FailureKind) -> bool {
    use FailureKind::{BadResponse, Connection, ServerError, Timeout, Unavailable};
    matches!(kind, Connection | Timeout | Unavailable | ServerError | BadResponse)
}

fn late(server: &ToolServer) -> HttpFault {
    let time = in_words(server.connect_timeout);
    let message = format!("server \"{}\" did not start within {time} (connect_timeout)", server.name);
    HttpFault::before_sending(Failure::new(FailureKind::Timeout, message))
}

/// Adds the name of the server to a fault's message.
fn named(server: &ToolServer, fault: HttpFault) -> HttpFault {
    let shown = format!("server \"{}\"", server.name);
    let message = match fault.failure.message.strip_prefix("the server ") {
        _ if fault.failure.message.contains(&shown) => fault.failure.message.clone(),
        Some(rest) => format!("{shown} {rest}"),
        None => format!("{shown}: {}", fault.failure.message),
    };
    HttpFault { failure: Failure { message, ..fault.failure }, ..fault }
}

impl ToolServers for McpServers {
    fn start(&self, server: ToolServer) -> Pending<()> {
        let own = self.clone();
        Box::pin(async move {
            own.started_early(&server).await;
            Ok(())
        })
    }

    fn list(&self, server: ToolServer) -> Pending<ToolList> {
        let own = self.clone();
        Box::pin(async move { own.listed(&server).await })
    }

    fn call(&self, call: ServerCall) -> Pending<ServerReply> {
        let own = self.clone();
        Box::pin(async move { own.called(&call).await })
    }

    fn read(&self, call: ResourceCall) -> Pending<ResourceReply> {
        let own = self.clone();
        Box::pin(async move { own.resource(&call).await })
    }

    fn keep(&self, file: ResourceFile) -> Pending<PathBuf> {
        let own = self.clone();
        Box::pin(async move { own.store_resource(&file).await })
    }

    fn has_ended(&self, call: &str) -> bool {
        self.parked.has_ended(call)
    }

    fn close(&self) -> Pending<()> {
        let own = self.clone();
        Box::pin(async move {
            own.end_all().await;
            Ok(())
        })
    }
}
