//! Tests one client that sends lines.

use crate::event::Canceller;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

use super::super::calls::{CallServer, ClientSession};
use super::super::protocol::ServedCall;
use super::super::{Bounds, LONGEST_MESSAGE, PATIENCE, PipelineService, serve_stdio};
use super::{StandIn, alone, hello, request};

/// Standard input written by a test.
struct Input(std::sync::mpsc::Receiver<Vec<u8>>, Vec<u8>);

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            self.1 = self.0.recv().unwrap_or_default();
        }
        let count = self.1.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

/// Standard output read by a test, one message per line.
struct Output(UnboundedSender<Value>, Vec<u8>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1.extend_from_slice(bytes);
        while let Some(end) = self.1.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.1.drain(..=end).collect();
            let gone = self.0.send(serde_json::from_slice(&line).unwrap()).is_err();
            if gone {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Client {
    input: Option<std::sync::mpsc::Sender<Vec<u8>>>,
    output: UnboundedReceiver<Value>,
    stop: UnboundedSender<Canceller>,
    begun: UnboundedReceiver<()>,
    work: Arc<StandIn>,
    server: tokio::task::JoinHandle<Option<Canceller>>,
}

impl Client {
    fn start(bounds: Bounds) -> Client {
        let (input, lines) = std::sync::mpsc::channel();
        let (said, output) = unbounded_channel();
        let (stop, mut stopped) = unbounded_channel();
        let (began, begun) = unbounded_channel();
        let work = StandIn::new(Some(began));
        let server = tokio::spawn({
            let work = Arc::clone(&work);
            async move { serve_stdio(work, bounds, BufReader::new(Input(lines, vec![])), Output(said, vec![]), &mut stopped).await.unwrap() }
        });
        Client { input: Some(input), output, stop, begun, work, server }
    }

    fn send(&self, message: &Value) {
        self.write(format!("{message}\n"));
    }

    fn write(&self, text: impl Into<Vec<u8>>) {
        self.input.as_ref().unwrap().send(text.into()).unwrap();
    }

    async fn next(&mut self) -> Value {
        self.output.recv().await.unwrap()
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next().await
    }

    /// Ends the input; returns the remaining messages, and how the server ended.
    async fn end(mut self) -> (Vec<Value>, Option<Canceller>) {
        self.input = None;
        let by = self.server.await.unwrap();
        let mut rest = vec![];
        while let Some(message) = self.output.recv().await {
            rest.push(message);
        }
        (rest, by)
    }
}

fn client() -> Client {
    Client::start(Bounds { running: 2, waiting: 1, patience: PATIENCE })
}

fn call(id: impl Into<Value>, tool: &str) -> Value {
    alone(id, "tools/call", json!({ "name": tool, "arguments": { "text": "Hi" } }))
}

fn cancel(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id.into() } })
}

#[tokio::test]
async fn an_older_client_shakes_hands_lists_and_calls() {
    let mut client = client();
    assert_eq!(client.ask(&request(0, "ping", json!({}))).await, json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
    let agreed = client.ask(&hello("2025-06-18")).await;
    assert_eq!(agreed["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(agreed["result"]["serverInfo"]["name"], "flow");
    assert_eq!(agreed["result"]["capabilities"], json!({ "tools": {} }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let list = client.ask(&request(1, "tools/list", json!({}))).await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 5);
    assert!(list["result"].get("resultType").is_none(), "{list}");
    let called = client.ask(&request(2, "tools/call", json!({ "name": "echo", "arguments": { "text": "Hi" } }))).await;
    let expected = json!({ "content": [{ "type": "text", "text": "Hi" }], "isError": false, "structuredContent": { "said": "Hi" } });
    assert_eq!(called["result"], expected);
    assert_eq!(client.ask(&request(3, "logging/setLevel", json!({}))).await["error"]["code"], -32601);
    assert_eq!(client.end().await, (vec![], None));
}

#[tokio::test]
async fn a_client_of_the_newest_version_needs_no_handshake() {
    let mut client = client();
    let found = client.ask(&alone(1, "server/discover", json!({}))).await["result"].clone();
    assert_eq!(found["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "flow");
    let list = client.ask(&alone("l", "tools/list", json!({}))).await["result"].clone();
    assert_eq!((&list["resultType"], &list["cacheScope"], &list["ttlMs"]), (&json!("complete"), &json!("private"), &json!(0)));
    let called = client.ask(&call(2, "echo")).await;
    assert_eq!(called["result"]["structuredContent"]["said"], "Hi");
    assert_eq!(called["result"]["resultType"], "complete");
}

#[tokio::test]
async fn progress_comes_before_the_result_and_rises() {
    let mut client = client();
    client.send(&alone(1, "tools/call", json!({ "name": "steps", "_meta": { "progressToken": "p" } })));
    for (count, text) in [(1, "one: done"), (2, "two: done")] {
        let told = client.next().await;
        assert_eq!(told["method"], "notifications/progress");
        assert_eq!(told["params"], json!({ "progressToken": "p", "progress": count, "message": text }));
    }
    assert_eq!(client.next().await["id"], 1);
}

#[tokio::test]
async fn without_a_token_no_progress_is_told() {
    let mut client = client();
    assert_eq!(client.ask(&call(1, "steps")).await["id"], 1);
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said() {
    let mut client = client();
    let error = client.ask(&call(1, "refuse")).await["error"].clone();
    assert_eq!(error, json!({ "code": -32602, "message": "input \"text\" is missing" }));
    let error = client.ask(&call(2, "ekko")).await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().starts_with("unknown tool \"ekko\"; available: echo, wait"), "{error}");
    assert_eq!(client.ask(&call(3, "fault")).await["error"]["code"], -32603);
    let error = client.ask(&alone(4, "tools/call", json!({ "name": "echo", "arguments": [1] }))).await["error"].clone();
    assert_eq!(error, json!({ "code": -32602, "message": "arguments must be an object" }));
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer_and_its_id_is_free_again() {
    let mut client = client();
    client.send(&call("a", "wait"));
    client.begun.recv().await.unwrap();
    client.send(&cancel("b"));
    client.send(&cancel("a"));
    assert_eq!(client.ask(&call("a", "echo")).await["result"]["structuredContent"]["said"], "Hi");
    let work = Arc::clone(&client.work);
    assert_eq!(client.end().await, (vec![], None));
    assert!(work.log().contains(&"wait ends by client".to_owned()), "{:?}", work.log());
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_began_never_begins() {
    let (work, session) = (StandIn::new(None), Arc::new(ClientSession::default()));
    let server =
        Arc::new(CallServer::new(Arc::clone(&work) as Arc<dyn PipelineService>, Bounds { running: 1, waiting: 1, patience: PATIENCE }));
    let call = ServedCall { id: json!("a"), tool: "wait".into(), arguments: Map::new(), token: None, is_stateless: true, caller: None };
    let entered = server.enter(&session, call).unwrap();
    session.notice("notifications/cancelled", &Map::from_iter([("requestId".to_owned(), json!("a"))]));
    let (out, mut said) = channel(1);
    entered.carry(out, false).await;
    assert_eq!(said.recv().await, None);
    assert!(work.log().is_empty() && session.is_idle(), "{:?}", work.log());
}

#[tokio::test]
async fn calls_beyond_the_bound_wait_and_further_ones_are_refused() {
    let mut client = client();
    for id in 1..=2 {
        client.send(&call(id, "wait"));
        client.begun.recv().await.unwrap();
    }
    client.send(&call(3, "echo"));
    // The third waits, so the fourth is answered first.
    let refused = client.ask(&call(4, "echo")).await;
    assert_eq!(refused["id"], 4);
    assert_eq!(refused["error"]["message"], "2 calls are running and 1 are waiting; try again later");
    let taken = client.ask(&call(2, "echo")).await;
    assert_eq!((&taken["id"], &taken["error"]["code"]), (&json!(2), &json!(-32600)));
    client.work.go();
    let mut ids = vec![client.next().await["id"].clone(), client.next().await["id"].clone()];
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(1), json!(3)]);
    client.send(&cancel(2));
    assert_eq!(client.end().await, (vec![], None));
}

#[tokio::test]
async fn one_that_waits_can_be_cancelled() {
    let mut client = client();
    for id in 1..=2 {
        client.send(&call(id, "wait"));
        client.begun.recv().await.unwrap();
    }
    client.send(&call(3, "echo"));
    client.send(&cancel(3));
    // Its place in the queue is free again if this one is not rejected.
    client.send(&cancel(1));
    assert_eq!(client.ask(&call(5, "echo")).await["id"], 5);
    assert!(!client.work.log().iter().filter(|line| *line == "echo begins").count().gt(&1), "{:?}", client.work.log());
}

#[tokio::test]
async fn the_end_of_the_input_ends_what_runs() {
    let mut client = client();
    client.send(&call(1, "wait"));
    client.begun.recv().await.unwrap();
    let work = Arc::clone(&client.work);
    assert_eq!(client.end().await, (vec![], None));
    assert_eq!(work.log(), ["wait begins", "wait ends by client"]);
}

#[tokio::test]
async fn a_signal_ends_what_runs_and_those_who_wait_are_told() {
    let mut client = client();
    client.send(&call(1, "wait"));
    client.begun.recv().await.unwrap();
    client.stop.send(Canceller::Terminate).unwrap();
    assert_eq!(client.next().await["result"]["structuredContent"]["said"], "terminate");
    assert_eq!(client.server.await.unwrap(), Some(Canceller::Terminate));
}

#[tokio::test]
async fn broken_lines_are_answered_and_the_server_goes_on() {
    let mut client = client();
    for (line, code) in [
        ("{ oh".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        ("\"x\"".to_owned(), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), -32600),
        (format!("\"{}\"", "x".repeat(LONGEST_MESSAGE)), -32600),
        ("[".repeat(100_000), -32700),
    ] {
        client.write(format!("{line}\n"));
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], code, "{} {answer}", &line[..line.len().min(60)]);
    }
    // An unexpected answer, an empty line and bytes that are not text are ignored or answered with an error.
    client.write("\n   \n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}\n");
    client.write(b"\xff\xfe\n".as_slice());
    assert_eq!(client.next().await["error"]["code"], -32700);
    assert_eq!(client.ask(&request(9, "ping", json!({}))).await["id"], 9);
}
