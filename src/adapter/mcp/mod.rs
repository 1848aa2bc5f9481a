//! MCP servers as tools: started when first needed, shared by steps and runs, ended with the process.
//!
//! | file | what |
//! |---|---|
//! | `program` | a server that is a program: its group, its lines, its end |
//! | `web` | a server behind a web address |
//! | `inbox` | what comes, sorted and bounded, whichever way it comes |
//! | `session` | the first words, the list of tools, calls |
//! | `protocol` | what is said; the types are rmcp's |
//! | `pins` | what servers said of their tools when they were accepted |
//!
//! rmcp gives the types of the protocol and no more: its service would read lines without a bound, and could not say whether a request
//! had gone out when it failed, on which `unknown_outcome` rests.
//!
//! How to add a request of the protocol: its words in `protocol`, its bounds in `session`, a row of the fault table in `tests`.

mod inbox;
pub mod pins;
mod program;
mod protocol;
mod session;
#[cfg(test)]
mod tests;
mod web;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use self::pins::Pins;
use self::program::{Program, Start};
use self::session::{Link, Session};
use self::web::Web;
use super::http::{Fault, Http, honest};
use super::wording::visible;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{Clock, Pending, Server, ServerCall, ServerReply, ServerTransport, ToolList, ToolServers};

/// How often a server is started again in one run, and how long is waited before the first time; then twice as long each time.
const MOST_RESTARTS: u32 = 3;
const RESTART_AFTER: Duration = Duration::from_millis(250);

/// How long the end of all programs may take.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Speaks with MCP servers. Clones share them.
#[derive(Clone)]
pub struct McpServers {
    http: Http,
    clock: Arc<dyn Clock>,
    servers: Arc<Mutex<HashMap<Key, Arc<Entry>>>>,
    /// Programs that were started; each becomes true when nothing of it is left.
    programs: Arc<Mutex<Vec<watch::Receiver<bool>>>>,
    /// Pins are read and written by one at a time.
    pinning: Arc<Mutex<()>>,
}

/// What makes two servers the same: everything they are started or asked with.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key(Vec<String>);

/// One server.
#[derive(Default)]
struct Entry {
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    /// How often it was started, by run.
    starts: Mutex<HashMap<Arc<str>, u32>>,
}

/// What a server looked like when it was asked, for people.
#[derive(Debug, Clone)]
pub struct Look {
    /// The protocol that is spoken.
    pub version: String,
    /// The names of its tools, each with what it says of it.
    pub tools: Vec<(String, String)>,
    /// How they differ from what was pinned.
    pub difference: pins::Difference,
    /// What is pinned if this is accepted.
    pub said: BTreeMap<String, serde_json::Value>,
}

impl McpServers {
    /// Reaches web addresses over these connections.
    pub fn new(http: Http, clock: Arc<dyn Clock>) -> McpServers {
        McpServers { http, clock, servers: Arc::default(), programs: Arc::default(), pinning: Arc::default() }
    }

    fn entry(&self, server: &Server) -> Arc<Entry> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(servers.entry(key(server)).or_default())
    }

    /// The server, started if it does not run.
    async fn session(&self, server: &Server) -> Result<Arc<Session>, Fault> {
        let until = Instant::now() + server.connect_timeout;
        let late = || {
            let message = format!(
                "server \"{}\" did not start within {} (connect_timeout)",
                server.name,
                super::http::in_words(server.connect_timeout)
            );
            Fault::before_sending(Failure::new(FailureKind::Timeout, message))
        };
        let entry = self.entry(server);
        let mut open = tokio::time::timeout_at(until, entry.session.lock()).await.map_err(|_| late())?;
        if let Some(session) = open.as_ref().filter(|session| session.is_open()) {
            return Ok(Arc::clone(session));
        }
        if let Some(before) = open.take() {
            before.give_up();
        }
        let started = {
            let mut starts = entry.starts.lock().unwrap_or_else(PoisonError::into_inner);
            let started = starts.entry(Arc::clone(&server.run)).or_default();
            *started += 1;
            *started - 1
        };
        if started > MOST_RESTARTS {
            let message = format!("server \"{}\" has ended {started} times in this run, and is not started again", server.name);
            return Err(Fault::before_sending(Failure::new(FailureKind::Unavailable, message)));
        }
        if started > 0 {
            tokio::time::sleep(RESTART_AFTER * 2u32.pow(started - 1)).await;
        }
        let until = Instant::now() + server.connect_timeout;
        let session = Session::open(self.link(server)?, until).await.map_err(|fault| named(server, fault))?;
        let session = Arc::new(session);
        *open = Some(Arc::clone(&session));
        Ok(session)
    }

    fn link(&self, server: &Server) -> Result<Link, Fault> {
        Ok(match &server.transport {
            ServerTransport::Program { command, args, env, folder } => {
                let start = Start { name: &server.name, command, args, env, folder };
                let program = Program::start(&start).map_err(Fault::before_sending)?;
                let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
                programs.retain(|ended| !*ended.borrow());
                programs.push(program.ended());
                Link::Program(program)
            }
            ServerTransport::Http { url, headers } => {
                Link::Web(Arc::new(Web::new(self.http.clone(), Arc::clone(&self.clock), url, headers, server.connect_timeout)))
            }
        })
    }

    /// Looks at a server: what it says now, and what was pinned.
    ///
    /// # Errors
    /// It cannot be reached, or the pins cannot be read.
    pub async fn look(&self, server: &Server) -> Result<Look, Failure> {
        let session = self.session(server).await?;
        let listed = tokio::time::timeout(server.connect_timeout, session.list()).await;
        let late = || Failure::new(FailureKind::Timeout, format!("server \"{}\" did not tell its tools in time", server.name));
        let listed = listed.map_err(|_| late())?.map_err(|fault| named(server, fault))?;
        let _alone = self.pinning.lock().unwrap_or_else(PoisonError::into_inner);
        let pins = Pins::read(&server.project).map_err(|problem| Failure::new(FailureKind::Unavailable, problem))?;
        Ok(Look {
            version: session.version().to_string(),
            tools: listed.tools.iter().map(|tool| (visible(&tool.name), visible(&tool.description))).collect(),
            difference: pins.difference(&server.identity, &listed.said),
            said: listed.said.clone(),
        })
    }

    async fn listed(&self, server: &Server) -> Result<ToolList, Failure> {
        let session = self.session(server).await?;
        let listed = session.list().await.map_err(|fault| named(server, fault))?;
        let changed = {
            let _alone = self.pinning.lock().unwrap_or_else(PoisonError::into_inner);
            let unavailable = |problem| Failure::new(FailureKind::Unavailable, problem);
            let mut pins = Pins::read(&server.project).map_err(unavailable)?;
            let difference = pins.difference(&server.identity, &listed.said);
            if difference.is_first {
                pins.pin(&server.identity, &listed.said);
                pins.write(&server.project).map_err(unavailable)?;
                session.inbox().note(format!("its tools were seen for the first time, and are pinned in {}", pins::FILE));
            }
            difference.changed
        };
        Ok(ToolList {
            version: session.version().to_string(),
            hash: listed.hash.clone(),
            tools: listed.tools.clone(),
            changed,
            notes: session.inbox().notes(),
        })
    }

    async fn called(&self, call: &ServerCall) -> Result<ServerReply, Failure> {
        let session = self.session(&call.server).await?;
        let answer = session.call(&call.tool, &call.hash, &call.arguments, call.timeout).await;
        let notes = session.inbox().notes();
        match answer {
            Ok(reply) => Ok(ServerReply { notes, ..reply }),
            Err(fault) => Err(honest(named(&call.server, fault))),
        }
    }

    async fn end_all(&self) {
        let entries: Vec<Arc<Entry>> = {
            let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            servers.drain().map(|(_, entry)| entry).collect()
        };
        let mut ends = vec![];
        for entry in entries {
            if let Some(session) = entry.session.lock().await.take() {
                ends.push(async move { session.end().await });
            }
        }
        futures_util::future::join_all(ends).await;
        let programs = std::mem::take(&mut *self.programs.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async {
            for mut ended in programs {
                let _ = ended.wait_for(|ended| *ended).await;
            }
        };
        // Each has its own bound; this one holds whatever goes wrong with them.
        let _ = tokio::time::timeout(LONGEST_END, all).await;
    }
}

/// A fault that says whose it is.
fn named(server: &Server, fault: Fault) -> Fault {
    let shown = format!("server \"{}\"", server.name);
    let message = match fault.failure.message.strip_prefix("the server ") {
        _ if fault.failure.message.contains(&shown) => fault.failure.message.clone(),
        Some(rest) => format!("{shown} {rest}"),
        None => format!("{shown}: {}", fault.failure.message),
    };
    Fault { failure: Failure { message, ..fault.failure }, ..fault }
}

fn key(server: &Server) -> Key {
    let mut parts = vec![server.project.display().to_string()];
    match &server.transport {
        ServerTransport::Program { command, args, env, folder } => {
            parts.extend(["program".to_owned(), command.clone(), folder.display().to_string(), args.len().to_string()]);
            parts.extend(args.iter().cloned());
            parts.extend(env.iter().flat_map(|(name, value)| [name.clone(), value.reveal().to_owned()]));
        }
        ServerTransport::Http { url, headers } => {
            parts.extend(["url".to_owned(), url.clone()]);
            parts.extend(headers.iter().flat_map(|(name, value)| [name.clone(), value.reveal().to_owned()]));
        }
    }
    Key(parts)
}

impl ToolServers for McpServers {
    fn list(&self, server: Server) -> Pending<ToolList> {
        let own = self.clone();
        Box::pin(async move { own.listed(&server).await })
    }

    fn call(&self, call: ServerCall) -> Pending<ServerReply> {
        let own = self.clone();
        Box::pin(async move { own.called(&call).await })
    }

    fn close(&self) -> Pending<()> {
        let own = self.clone();
        Box::pin(async move {
            own.end_all().await;
            Ok(())
        })
    }
}
