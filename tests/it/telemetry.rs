//! Traces and metrics, as a collector gets them.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Known;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

const SECRET: &str = "tok/81Q+Zw47xKd9";
const NAME: &str = "Quendolin Brackwater";
const MAIL: &str = "quendolin.brackwater@example.com";
const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// A request: its first line and headers, and its body.
type Seen = (String, Vec<u8>);

/// A server that answers each request with the same status and JSON, and keeps what it was sent.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    fn start(status: u16, answer: &'static str) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let kept = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = kept.clone();
                std::thread::spawn(move || answered(stream.unwrap(), status, answer, &kept));
            }
        });
        Server { url, seen }
    }

    fn heads(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|(head, _)| head.clone()).collect()
    }
}

fn answered(mut stream: TcpStream, status: u16, answer: &str, kept: &Mutex<Vec<Seen>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((_, value)) = line.to_lowercase().split_once("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    kept.lock().unwrap().push((head, body));
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}", answer.len());
    let _ = stream.write_all(format!("{head}\r\n\r\n{answer}").as_bytes());
}

/// What a collector was sent.
impl Server {
    fn collector() -> Server {
        Server::start(200, "")
    }

    fn spans(&self) -> Vec<Span> {
        let seen = self.seen.lock().unwrap();
        let traces = seen.iter().filter(|(head, _)| head.starts_with("POST /v1/traces "));
        let resources = traces.flat_map(|(_, body)| ExportTraceServiceRequest::decode(&**body).unwrap().resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    fn metrics(&self) -> BTreeSet<String> {
        let seen = self.seen.lock().unwrap();
        let metrics = seen.iter().filter(|(head, _)| head.starts_with("POST /v1/metrics "));
        let resources = metrics.flat_map(|(_, body)| ExportMetricsServiceRequest::decode(&**body).unwrap().resource_metrics);
        resources.flat_map(|resource| resource.scope_metrics).flat_map(|scope| scope.metrics).map(|metric| metric.name).collect()
    }

    /// All that it was sent, as text.
    fn text(&self) -> String {
        self.seen.lock().unwrap().iter().map(|(head, body)| head.clone() + &String::from_utf8_lossy(body)).collect()
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The spans are one tree of one trace: its root.
#[track_caller]
fn tree(spans: &[Span]) -> &Span {
    let ids: BTreeSet<&[u8]> = spans.iter().map(|span| &*span.span_id).collect();
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(ids.len(), spans.len(), "{names:?}");
    let roots: Vec<&Span> = spans.iter().filter(|span| !ids.contains(&*span.parent_span_id)).collect();
    assert_eq!(roots.len(), 1, "{names:?}");
    assert_eq!(spans.iter().map(|span| &span.trace_id).collect::<BTreeSet<_>>().len(), 1);
    roots[0]
}

#[track_caller]
fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
}

fn of(span: &Span, name: &str) -> Option<String> {
    match span.attributes.iter().find(|own| own.key == name)?.value.as_ref()?.value.as_ref()? {
        Known::StringValue(text) => Some(text.clone()),
        Known::IntValue(number) => Some(number.to_string()),
        other => Some(format!("{other:?}")),
    }
}

/// The trace ids of the last run's records in the audit.
fn audited(folder: &Path) -> BTreeSet<String> {
    let told = flow(folder, &["audit", "export"]).out;
    let records: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = records.last().unwrap()["session_id"].clone();
    records.iter().filter(|one| one["session_id"] == last).map(|one| one["trace_id"].as_str().unwrap().to_owned()).collect()
}

/// It asks a model, a service and a program, for each of two elements, and is judged.
fn project(service: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = format!(
        "flow: 1
name: shop
description: Answers.
secrets: {{ TOKEN: The key. }}
inputs: {{ who: {{ type: text, pii: true }}, mail: text }}
agents: {{ writer: {{ instructions: 'You write about canary-prompt-1.' }} }}
scorecards:
  polite: {{ criteria: [{{ id: says_so, description: It says so., check: {{ contains: canary }} }}] }}
steps:
  - {{ id: each, for_each: '[1, 2]', max_parallel: 2, http: 'GET {service}/{{{{ item }}}}', headers: {{ authorization: 'Bearer {{{{ secrets.TOKEN }}}}' }} }}
  - {{ id: own, needs: [], http: 'GET {service}/own', headers: {{ TraceParent: mine }} }}
  - {{ id: told, needs: [], program: [sh, -c, 'printf %s $TRACEPARENT'], reads_only: true }}
  - {{ id: gone, needs: [], http: 'GET http://127.0.0.1:1/', on_failure: continue }}
  - {{ id: answer, needs: [each], agent: writer, prompt: 'Write to {{{{ inputs.who }}}} at {{{{ inputs.mail }}}}.' }}
  - {{ id: check, gate: polite, of: steps.answer.output }}
outputs: {{ text: '{{{{ steps.check.output }}}}', told: '{{{{ steps.told.output }}}}' }}
"
    );
    for (name, text) in [("flow.toml", ""), ("p.yaml", &*pipeline), ("secrets.env", &*format!("TOKEN={SECRET}\n"))] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const ANSWER: &str = r#"{"model":"m-2","choices":[{"index":0,"message":{"role":"assistant","content":"canary-answer-2"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":11,"completion_tokens":5}}"#;

fn run(folder: &Path, model: &Server, collector: &str) -> Command {
    let mail = format!("mail={MAIL}");
    let arguments = ["run", "p.yaml", "--trust", "--json", "--env-file", "secrets.env", "--input", &mail, "--input"];
    let mut run = command(folder, &[&arguments[..], &[&format!("who={NAME}")]].concat());
    run.env("FLOW_MODEL_BASE_URL", &model.url).env("FLOW_MODEL", "m-1").env("FLOW_API_KEY", "sk-canary-key-77aa");
    run.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector).env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer canary-header");
    run
}

#[track_caller]
fn holds_none(text: &str, canaries: &[&str]) {
    for canary in canaries {
        assert!(!text.contains(canary), "{canary} was sent");
    }
}

#[test]
fn a_run_is_one_tree_whose_trace_is_that_of_the_audit_and_holds_no_content() {
    let (service, model, collector) = (Server::start(200, r#"{"x":"canary-body-3"}"#), Server::start(200, ANSWER), Server::collector());
    let folder = project(&service.url);
    let done = ran(&mut run(folder.path(), &model, &collector.url));
    assert_eq!(done.exit, 0, "{}", done.err);
    assert!(!done.err.contains("telemetry"), "{}", done.err);
    let spans = collector.spans();
    let root = tree(&spans);
    assert_eq!((root.name.as_str(), root.parent_span_id.len()), ("invoke_workflow shop", 0));
    assert_eq!(audited(folder.path()), BTreeSet::from([hex(&root.trace_id)]));

    let chat = named(&spans, "chat m-1");
    for (name, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "m-1"),
        ("gen_ai.response.model", "m-2"),
        ("gen_ai.usage.input_tokens", "11"),
        ("server.address", "127.0.0.1"),
    ] {
        assert_eq!(of(chat, name).as_deref(), Some(value), "{name}");
    }
    let (agent, check) = (named(&spans, "invoke_agent writer"), named(&spans, "step check"));
    assert_eq!((&chat.parent_span_id, &agent.parent_span_id), (&agent.span_id, &named(&spans, "step answer").span_id));
    assert_eq!(check.events[0].name, "gen_ai.evaluation.result");
    let gone = named(&spans, "step gone");
    assert_eq!((gone.status.as_ref().unwrap().code, of(gone, "error.type").as_deref()), (2, Some("connection")));
    assert_eq!(root.status.as_ref().map_or(0, |status| status.code), 0);

    // What others are told is the span of their call, unless the author says something else.
    let place = |span: &Span| format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id));
    let traced = |head: &str| head.lines().find_map(|line| Some(line.strip_prefix("traceparent: ")?.trim().to_owned()));
    let calls: BTreeSet<String> = spans.iter().filter(|span| span.name == "execute_tool http").map(place).collect();
    let told: BTreeSet<String> = service.heads().iter().filter_map(|head| traced(head)).filter(|told| told != "mine").collect();
    assert!(told.len() == 2 && told.is_subset(&calls), "{told:?} {calls:?}");
    assert_eq!(service.heads().iter().filter(|head| head.contains("traceparent: mine")).count(), 1);
    assert_eq!(traced(&model.heads()[0]), Some(place(chat)));
    let outputs: Value = serde_json::from_str(&done.out).unwrap();
    let program = spans.iter().find(|span| Some(place(span)).as_deref() == outputs["outputs"]["told"].as_str());
    assert!(program.is_some_and(|span| span.name.starts_with("execute_tool ")), "{outputs}");

    let metrics = collector.metrics();
    for name in ["client.operation.duration", "client.token.usage", "workflow.duration", "invoke_agent.duration", "execute_tool.duration"] {
        assert!(metrics.contains(&format!("gen_ai.{name}")), "{name}: {metrics:?}");
    }
    let text = collector.text();
    holds_none(&text.replace("Bearer canary-header", ""), &[SECRET, NAME, MAIL, "canary", "Brackwater", "sk-"]);
    assert!(text.contains("authorization: Bearer canary-header"));
}

#[test]
fn content_is_sent_if_it_is_asked_for_and_then_masked() {
    let (service, model, collector) = (Server::start(200, r#"{"x":"canary-body-3"}"#), Server::start(200, ANSWER), Server::collector());
    let folder = project(&service.url);
    assert_eq!(ran(run(folder.path(), &model, &collector.url).env(CONTENT, "true")).exit, 0);
    let text = collector.text();
    assert!(text.contains("canary-prompt-1") && text.contains("canary-answer-2"));
    holds_none(&text, &[SECRET, NAME, MAIL, "Brackwater", "sk-canary"]);
    let spans = collector.spans();
    let messages: Value = serde_json::from_str(&of(named(&spans, "chat m-1"), "gen_ai.input.messages").unwrap()).unwrap();
    assert_eq!(messages[0]["role"], json!("system"));
}

#[test]
fn nothing_is_sent_unless_the_user_names_a_collector() {
    let (service, model, collector) = (Server::start(200, "{}"), Server::start(200, ANSWER), Server::collector());
    let folder = project(&service.url);
    let own = folder.path().join("own.toml");
    // Variables that change; of one without a value it is taken away.
    let quiet = |variables: &[(&str, Option<&str>)]| {
        let mut run = run(folder.path(), &model, &collector.url);
        for (name, value) in variables {
            match value {
                Some(value) => run.env(name, value),
                None => run.env_remove(name),
            };
        }
        (ran(&mut run), std::mem::take(&mut *collector.seen.lock().unwrap()).len())
    };
    const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    for variables in [
        &[(ENDPOINT, None)][..],
        &[(ENDPOINT, Some(""))],
        &[("OTEL_SDK_DISABLED", Some("true"))],
        &[("OTEL_TRACES_EXPORTER", Some("none")), ("OTEL_METRICS_EXPORTER", Some("none"))],
    ] {
        let (done, sent) = quiet(variables);
        assert_eq!((done.exit, sent), (0, 0), "{}", done.err);
    }
    assert!(service.heads().iter().all(|head| !head.contains("traceparent: 0")), "a run that nobody observes tells nothing");
    // A setting that cannot be used stops no run.
    let (done, sent) = quiet(&[("OTEL_EXPORTER_OTLP_PROTOCOL", Some("http/json"))]);
    assert_eq!((done.exit, sent, done.err.matches("telemetry: nothing is sent: ").count()), (0, 0, 1), "{}", done.err);
    // One signal alone has an address of its own.
    let address = format!("{}/mine", collector.url);
    assert_eq!(quiet(&[(ENDPOINT, None), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Some(&address))]).1, 1);

    // The user's own settings may name one, the project's may not.
    let setting = format!("[telemetry]\nendpoint = \"{}\"\n", collector.url);
    let of_user = [(ENDPOINT, None), ("FLOW_CONFIG", own.to_str())];
    std::fs::write(&own, &setting).unwrap();
    assert_ne!(quiet(&of_user).1, 0);
    std::fs::write(&own, "[telemetry]\nendpoint = \"localhost:4318\"\n").unwrap();
    let (done, sent) = quiet(&of_user);
    assert_eq!((done.exit, sent), (1, 0), "{}", done.err);
    std::fs::write(folder.path().join("flow.toml"), &setting).unwrap();
    let (done, sent) = quiet(&[(ENDPOINT, None)]);
    assert_eq!((done.exit, sent), (1, 0), "{}", done.err);
}

const ASKS: &str = "flow: 1
name: asks
description: It asks a person.
steps:
  - { id: ask, approval: Go on? }
  - { id: say, set: Yes }
outputs: { text: '{{ steps.say.output }}' }
";

#[test]
fn a_caller_gives_its_trace_and_a_resumed_run_keeps_it() {
    let collector = Server::collector();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("p.yaml"), ASKS).unwrap();
    let observed = |arguments: &[&str]| -> Command {
        let mut run = command(folder.path(), arguments);
        run.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
        run
    };
    let waits = ran(observed(&["run", "p.yaml", "-q"]).env("TRACEPARENT", CALLER).env("TRACESTATE", "shop=1"));
    assert!(waits.exit != 0 && collector.spans().iter().all(|span| !span.name.starts_with("invoke_workflow")), "{}", waits.err);
    let listed: Value = serde_json::from_str(&flow(folder.path(), &["runs", "list", "--json"]).out).unwrap();
    let id = listed[0]["run"].as_str().unwrap().to_owned();
    let done: Vec<Ran> = [&["approve", &id, "ask"][..], &["runs", "resume", &id, "-q"]].map(|one| ran(&mut observed(one))).into();
    assert!(done.iter().any(|one| one.exit == 0 && one.out.contains("Yes")), "{} {}", done[0].err, done[1].err);
    let spans = collector.spans();
    let root = tree(&spans);
    assert_eq!((hex(&root.parent_span_id).as_str(), root.trace_state.as_str()), ("00f067aa0ba902b7", "shop=1"));
    assert_eq!(audited(folder.path()), BTreeSet::from([hex(&root.trace_id)]));
    assert_eq!(hex(&root.trace_id), CALLER[3..35]);

    // What is not valid is told and ignored; without a collector the caller's trace holds all the same.
    let wrong = ran(observed(&["run", "p.yaml"]).env("TRACEPARENT", "00-x\u{1b}[31m"));
    assert!(wrong.err.contains("TRACEPARENT is not valid and is ignored") && !wrong.err.contains('\u{1b}'), "{}", wrong.err);
    assert_ne!(audited(folder.path()), BTreeSet::from([CALLER[3..35].to_owned()]));
    ran(command(folder.path(), &["run", "p.yaml", "-q"]).env("TRACEPARENT", CALLER));
    assert_eq!(audited(folder.path()), BTreeSet::from([CALLER[3..35].to_owned()]));
    // A caller that does not record its trace gets no spans.
    collector.seen.lock().unwrap().clear();
    std::fs::write(folder.path().join("p.yaml"), ASKS.replace("approval: Go on?", "set: 1")).unwrap();
    assert_eq!(ran(observed(&["run", "p.yaml", "-q"]).env("TRACEPARENT", CALLER.replace("-01", "-00"))).exit, 0);
    assert_eq!((collector.spans().len(), collector.metrics().len()), (0, 1));
}

#[test]
fn a_collector_that_is_not_there_or_does_not_answer_changes_nothing_and_is_told_once() {
    let (service, model) = (Server::start(200, "{}"), Server::start(200, ANSWER));
    let folder = project(&service.url);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let rejects = Server::start(403, "{}");
    for collector in ["http://127.0.0.1:1".to_owned(), format!("http://{}", silent.local_addr().unwrap()), rejects.url.clone()] {
        let done = ran(&mut run(folder.path(), &model, &collector));
        assert_eq!((done.exit, done.err.matches("telemetry: ").count()), (0, 1), "{collector}: {}", done.err);
        assert!(done.out.contains("canary-answer-2"), "{}", done.out);
        let quiet = ran(run(folder.path(), &model, &collector).arg("-q"));
        assert_eq!((quiet.exit, quiet.err.as_str()), (0, ""), "{collector}");
    }
}

#[test]
fn a_client_of_flow_mcp_gives_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(
        folder.path().join("p.yaml"),
        "flow: 1\nname: one\nsteps: [{ id: a, set: 1 }]\noutputs: { n: '{{ steps.a.output }}' }\n",
    )
    .unwrap();
    let mut client = crate::mcp_server::start(folder.path(), &["p.yaml", "-q"]);
    for (parent, is_callers) in [(CALLER, true), ("00-zz", false)] {
        let meta = json!({ "traceparent": parent, "tracestate": "a=\r\nb" });
        client.send(1, "tools/call", json!({ "name": "one", "arguments": {}, "_meta": meta }));
        let answer = client.next();
        assert_eq!(answer["result"]["structuredContent"]["n"], json!(1), "{answer}");
        assert_eq!(audited(folder.path()) == BTreeSet::from([CALLER[3..35].to_owned()]), is_callers);
    }
}
