//! Tests the server with a stand-in for the service.

mod http;
mod stdio;
mod words;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::{CallLine, InvalidArguments, PipelineService, ServedOutcome, Tool};

/// Tools for tests. `wait` ends when it is stopped; `go` lets the oldest one end by itself.
#[derive(Default)]
pub(super) struct StandIn {
    tools: Vec<Tool>,
    /// The calls that started, and who ended them, in order.
    pub(super) log: Arc<Mutex<Vec<String>>>,
    waiting: Arc<Mutex<Vec<oneshot::Sender<()>>>>,
    /// Signals that a call started.
    begun: Option<UnboundedSender<()>>,
}

impl StandIn {
    pub(super) fn new(begun: Option<UnboundedSender<()>>) -> Arc<StandIn> {
        let tool = |name: &'static str| Tool::new(name, "A stand-in.", Arc::new(Map::from_iter([("type".to_owned(), json!("object"))])));
        let tools = ["echo", "wait", "steps", "refuse", "fault"].map(tool).to_vec();
        Arc::new(StandIn { tools, begun, ..StandIn::default() })
    }

    pub(super) fn note(&self, what: &str) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn go(&self) {
        let _ = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(0).send(());
    }
}

fn said(text: &str) -> ServedOutcome {
    ServedOutcome { texts: vec![text.to_owned()], structured: Some(json!({ "said": text })), ..ServedOutcome::default() }
}

impl PipelineService for StandIn {
    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn begin(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        mut line: CallLine,
    ) -> oneshot::Receiver<Result<ServedOutcome, InvalidArguments>> {
        let (sender, receiver) = oneshot::channel();
        self.note(&format!("{tool} begins"));
        line.caller.iter().for_each(|caller| self.note(&format!("from {} {}", caller.parent(), caller.state)));
        if let Some(begun) = &self.begun {
            begun.send(()).unwrap();
        }
        match tool {
            "echo" => sender.send(Ok(said(arguments.get("text").and_then(Value::as_str).unwrap_or_default()))).unwrap(),
            "refuse" => sender.send(Err(InvalidArguments("input \"text\" is missing".into()))).unwrap(),
            "steps" => {
                for step in ["one: done", "two: done"] {
                    line.progress.send(step.to_owned()).unwrap();
                }
                sender.send(Ok(said("both"))).unwrap();
            }
            "wait" => {
                let (go, went) = oneshot::channel();
                self.waiting.lock().unwrap().push(go);
                let log = Arc::clone(&self.log);
                tokio::spawn(async move {
                    let by = tokio::select! {
                        by = line.stop.recv() => by.unwrap().word(),
                        _ = went => "itself",
                    };
                    log.lock().unwrap().push(format!("wait ends by {by}"));
                    let _ = sender.send(Ok(said(by)));
                });
            }
            _ => drop(sender),
        }
        receiver
    }
}

/// Returns the `_meta` of requests of the stateless version.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Returns a request of the stateless version.
pub(super) fn alone(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    let mut meta = meta();
    for (name, value) in params.get("_meta").and_then(Value::as_object).into_iter().flatten() {
        meta[name] = value.clone();
    }
    params["_meta"] = meta;
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// Returns a request of an older version.
pub(super) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub(super) fn hello(version: &str) -> Value {
    request("hello", "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }))
}
