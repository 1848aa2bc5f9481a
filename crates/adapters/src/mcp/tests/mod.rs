//! The rows of the fault table, on programs and on web servers of our own.

mod auth;
mod faults;
mod live;
mod news;
mod program;
mod resources;
mod shared;
mod stand_in;
mod tasks;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::McpServers;
use crate::clock::SystemClock;
use crate::event::Failure;
use crate::http::{Http, HttpSettings};
use crate::port::{Secret, ServerAnswers, ServerCall, ServerReply, ServerTransport, ToolList, ToolServer, ToolServers};

/// Servers of a test, with a folder of their own.
struct World {
    servers: McpServers,
    home: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        World::with(HttpSettings::default())
    }

    fn with(settings: HttpSettings) -> World {
        let clock: Arc<SystemClock> = Arc::new(SystemClock::new());
        let http = Http::new(settings, clock.clone());
        World { servers: McpServers::new(http, clock), home: tempfile::tempdir().unwrap() }
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("heard.log")
    }

    /// What the stand-in heard, a line each.
    fn heard(&self) -> Vec<String> {
        std::fs::read_to_string(self.log()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The stand-in in a mode.
    fn program(&self, mode: &str) -> ToolServer {
        let log = self.log();
        let env = [(stand_in::MODE, mode), (stand_in::LOG, log.to_str().unwrap()), ("CANARY", "canary-5150")];
        let transport = ServerTransport::Program {
            command: std::env::current_exe().unwrap().display().to_string(),
            args: stand_in::args(),
            env: env.map(|(name, value)| (name.to_owned(), Secret::new(value))).to_vec(),
            folder: self.home.path().to_path_buf(),
        };
        self.server(mode, transport)
    }

    fn server(&self, name: &str, transport: ServerTransport) -> ToolServer {
        ToolServer {
            name: name.to_owned(),
            identity: name.to_owned(),
            project: self.home.path().to_path_buf(),
            transport,
            secrets: vec![],
            connect_timeout: Duration::from_secs(20),
            optional: false,
            pictures: false,
            questions: false,
            run: "r_1".into(),
        }
    }

    async fn list(&self, server: &ToolServer) -> Result<ToolList, Failure> {
        self.servers.list(server.clone()).await
    }

    /// Lists, then calls `echo`.
    async fn echo(&self, server: &ToolServer, text: &str, time: Duration) -> Result<ServerReply, Failure> {
        let list = self.list(server).await?;
        self.call(server, &list, text, time).await
    }

    async fn call(&self, server: &ToolServer, list: &ToolList, text: &str, time: Duration) -> Result<ServerReply, Failure> {
        self.servers.call(echo(server, list, text, time)).await
    }

    async fn close(&self) {
        self.servers.close().await.unwrap();
    }
}

/// A call of `echo`.
fn echo(server: &ToolServer, list: &ToolList, text: &str, time: Duration) -> ServerCall {
    let tool = list.tools.iter().find(|tool| tool.name == "echo").unwrap();
    let arguments = Map::from_iter([("text".to_owned(), Value::from(text))]);
    ServerCall {
        server: server.clone(),
        tool: "echo".to_owned(),
        hash: tool.hash.clone(),
        arguments,
        timeout: time,
        answers: None,
        trace: None,
    }
}

/// Enough for anything that is not to be awaited in vain.
const LONG: Duration = Duration::from_secs(20);
/// Enough for nothing.
const SHORT: Duration = Duration::from_millis(400);

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// Whether a process runs; one that has ended and was not waited for does not.
fn runs(id: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(id).join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).is_some_and(|state| state != 'Z')
}

fn text(value: &str) -> Value {
    json!(value)
}
