//! Servers that the runs of one process share. Each run has its own thread and runtime; the servers live on a separate runtime, so that they outlive
//! the run that started them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::McpServers;
use super::auth::LoginCommand;
use crate::agreed::Agreed;
use crate::event::Failure;
use crate::http::{Http, HttpSettings};
use crate::lock;
use crate::model::FailureKind;
use crate::port::{Clock, Pending, ResourceCall, ResourceFile, ResourceReply, ServerCall, ServerReply, ToolList, ToolServer, ToolServers};

/// The servers of a process.
pub struct SharedServers {
    servers: McpServers,
    on: Handle,
    clock: Arc<dyn Clock>,
    /// Connections, by the private hosts that may be reached.
    https: Mutex<BTreeMap<Vec<String>, Http>>,
}

/// The shared servers, as one run uses them. Dropping this value releases them for the run.
pub struct Lent {
    servers: McpServers,
    on: Handle,
    run: Arc<str>,
}

impl SharedServers {
    /// Creates servers that live on the runtime `on`. It must be driven as long as runs use the servers.
    pub fn new(on: Handle, clock: Arc<dyn Clock>) -> SharedServers {
        let http = connections(&[], &clock);
        SharedServers { servers: McpServers::new(http, Arc::clone(&clock)), on, clock, https: Mutex::default() }
    }

    /// Returns the same servers, with the logins that are stored in a folder.
    pub fn with_logins(self, logins: Option<PathBuf>) -> SharedServers {
        SharedServers { servers: self.servers.with_logins(logins), ..self }
    }

    /// Lends the servers to a run. The run may reach these hosts in private networks, only starts programs that were agreed to, and shows `command`
    /// as the way to log in.
    pub fn lend(&self, run: &str, private_hosts: &[String], agreed: Option<Arc<Agreed>>, command: LoginCommand) -> Lent {
        let mut https = lock(&self.https);
        let http = https.entry(private_hosts.to_vec()).or_insert_with(|| connections(private_hosts, &self.clock)).clone();
        let servers = McpServers { http, agreed, ..self.servers.clone() }.with_login_command(command);
        Lent { servers, on: self.on.clone(), run: run.into() }
    }

    /// Ends all servers. Their processes normally end within 5 s.
    pub async fn close(&self) {
        self.servers.end_all().await;
    }
}

fn connections(private_hosts: &[String], clock: &Arc<dyn Clock>) -> Http {
    Http::new(HttpSettings { private_hosts: private_hosts.to_vec(), ..HttpSettings::default() }, Arc::clone(clock))
}

/// A task on the other runtime. Dropping it aborts the task.
struct There<T>(JoinHandle<T>);

impl<T> Drop for There<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Lent {
    fn there<T: Send + 'static>(&self, work: impl Future<Output = Result<T, Failure>> + Send + 'static) -> Pending<T> {
        let on = self.on.clone();
        Box::pin(async move {
            let mut there = There(on.spawn(work));
            (&mut there.0).await.unwrap_or_else(|error| {
                Err(match error.is_panic() {
                    true => Failure::new(FailureKind::Internal, "an internal error of flow stopped this call; please report it"),
                    false => Failure::new(FailureKind::Unavailable, "flow and its servers are shutting down"),
                })
            })
        })
    }
}

impl ToolServers for Lent {
    fn start(&self, server: ToolServer) -> Pending<()> {
        self.there(self.servers.start(server))
    }

    fn list(&self, server: ToolServer) -> Pending<ToolList> {
        self.there(self.servers.list(server))
    }

    fn call(&self, call: ServerCall) -> Pending<ServerReply> {
        self.there(self.servers.call(call))
    }

    fn read(&self, call: ResourceCall) -> Pending<ResourceReply> {
        self.there(self.servers.read(call))
    }

    fn keep(&self, file: ResourceFile) -> Pending<PathBuf> {
        self.there(self.servers.keep(file))
    }

    fn has_ended(&self, call: &str) -> bool {
        self.servers.parked.has_ended(call)
    }

    /// Does nothing: other runs may use the servers, and the process ends them.
    fn close(&self) -> Pending<()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let (used, surplus) = self.servers.pool.leave(&self.run);
        let parked = self.servers.parked.leave(Some(&self.run));
        let run = Arc::clone(&self.run);
        self.on.spawn(async move {
            drop(parked);
            for entry in used {
                if let Some(session) = entry.session.lock().await.as_ref() {
                    session.inbox().leave(&run);
                }
            }
            for entry in surplus {
                entry.end().await;
            }
        });
    }
}
