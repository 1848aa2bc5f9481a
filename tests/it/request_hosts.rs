//! Where requests go: a host that a model, a table, a file or an answer names gets no request and no secret.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::mcp_server::Client;
use crate::program::{Ran, command, ran};

/// A service that says what it is told to, and remembers what came.
struct Service {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<String>>,
}

impl Service {
    fn saying(body: String) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Service { address: listener.local_addr().unwrap(), connections: Arc::default(), heads: Arc::default() };
        let body = body.replace("SELF", &service.url());
        let (connections, heads) = (service.connections.clone(), service.heads.clone());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap_or(0) > 2 {
                    heads.lock().unwrap().push_str(&line);
                    line.clear();
                }
                let head = format!("content-type: application/json\r\nconnection: close\r\ncontent-length: {}", body.len());
                let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes());
            }
        });
        service
    }

    fn count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn heads(&self) -> String {
        self.heads.lock().unwrap().clone()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

const SCOUT: &str =
    "agents: { scout: { instructions: Name it., tools: [TOOLS] } }\nmodels: { default: { provider: scripted, replies: r.yaml } }\n";
const API: &str = "  api: { http: \"GET {{ with.base }}/echo\" HEADERS, arguments: { base: text } }\n";
const SUB_GET: &str = "flow: 1\nname: sub\ninputs: { base: text }\nPOLICYsteps:\n  - { id: get, http: \"GET {{ inputs.base }}/echo\" HEADERS }\noutputs: { x: \"{{ steps.get.status }}\" }\n";

/// What is in the main file below its head, in `sub.yaml`, and what the model says. `FIRST` asks the service that the file names.
struct Case {
    name: &'static str,
    main: String,
    sub: &'static str,
    says: &'static str,
}

fn case(name: &'static str, main: &str, sub: &'static str, says: &'static str) -> Case {
    Case { name, main: main.to_owned(), sub, says }
}

#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn cases() -> Vec<Case> {
    let scout = SCOUT.replace("tools: [TOOLS]", "output: { at: text }");
    let ask = "steps:\n  - { id: first, http: GET GOOD/first }\n  - { id: m, agent: scout, prompt: Where? }\n";
    let asked = |steps: &str| format!("{scout}{ask}{steps}");
    let m = "m: { data: { at: EVIL } }";
    let called = "  - { id: c, call: sub.yaml, with: { base: \"{{ steps.m.output.at }}\" } }\n";
    let with_tools = |tools: &str, uses: &str| format!("tools:\n{tools}{}", SCOUT.replace("TOOLS", uses));
    vec![
        case("a model", &asked("  - { id: g, http: \"GET {{ steps.m.output.at }}/echo\" HEADERS }\n"), "", m),
        case(
            "a model, after the name of a good host",
            &asked("  - { id: g, http: \"GET {{ steps.m.output.at }}/echo\" HEADERS }\n"),
            "",
            "m: { data: { at: \"http://GOODHOST@EVILHOST\" } }",
        ),
        case(
            "a model, behind a backslash",
            &asked("  - { id: g, http: \"GET {{ steps.m.output.at }}/echo\" HEADERS }\n"),
            "",
            "m: { data: { at: 'http://EVILHOST\\@GOODHOST' } }",
        ),
        case(
            "the rest of an address",
            &asked("  - { id: g, http: \"GET http://127.0.0.1:{{ steps.m.output.at }}/echo\" HEADERS }\n"),
            "",
            "m: { data: { at: 'EVILPORT' } }",
        ),
        case(
            "joined texts",
            &asked("  - { id: g, http: \"GET {{ 'http://' ~ steps.m.output.at ~ '/echo' }}\" HEADERS }\n"),
            "",
            "m: { data: { at: EVILHOST } }",
        ),
        case(
            "a set step",
            &asked(
                "  - { id: s, set: { base: \"{{ steps.m.output.at }}\" } }\n  - { id: g, http: \"GET {{ steps.s.output.base }}/echo\" HEADERS }\n",
            ),
            "",
            m,
        ),
        case(
            "an element",
            &asked("  - { id: g, for_each: [\"{{ steps.m.output.at }}\"], http: \"GET {{ item }}/echo\" HEADERS }\n"),
            "",
            m,
        ),
        case("an input of a called pipeline", &asked(called), SUB_GET, m),
        case(
            "an argument of a tool",
            &format!("tools:\n{API}{}", asked("  - { id: g, tool: api, with: { base: \"{{ steps.m.output.at }}\" } }\n")),
            "",
            m,
        ),
        case(
            "an argument of send",
            &format!(
                "tools:\n{API}{}",
                asked("  - { id: g, send: api, of: steps.m.output.at, with: { base: \"{{ steps.m.output.at }}\" } }\n")
            ),
            "",
            m,
        ),
        case(
            "an address of a server",
            &asked(called),
            "flow: 1\nname: sub\ninputs: { base: text }\nPOLICYtools: { s: { url: \"{{ inputs.base }}/mcp\" HEADERS } }\nsteps:\n  - { id: get, tool: s.look }\n",
            m,
        ),
        case(
            "an address of a model",
            &asked(called),
            "flow: 1\nname: sub\ninputs: { base: text }\nPOLICYmodels: { default: { provider: openai, model: m, base_url: \"{{ inputs.base }}/v1\" KEY } }\nagents: { a: {} }\nsteps:\n  - { id: get, agent: a, prompt: Hi }\n",
            m,
        ),
        case(
            "a mail server",
            &asked(called),
            "flow: 1\nname: sub\ninputs: { base: text }\nPOLICYtools: { mail: { smtp: \"{{ inputs.base }}\", from: a@a.example LOGIN } }\nsteps:\n  - { id: get, send: mail, of: inputs.base, with: { to: b@a.example, subject: Hi } }\n",
            "m: { data: { at: EVILHOST } }",
        ),
        case(
            "a table",
            "data: { hosts: { file: hosts.csv } }\nsteps:\n  - { id: r, sql: select url from hosts, one: true }\n  - { id: g, http: \"GET {{ steps.r.output.url }}/echo\" HEADERS }\n",
            "",
            "",
        ),
        case(
            "rows of a table",
            "data: { hosts: { file: hosts.csv } }\nsteps:\n  - { id: r, sql: select url from hosts }\n  - { id: g, for_each: steps.r.output, as: row, http: \"GET {{ row.url }}/echo\" HEADERS }\n",
            "",
            "",
        ),
        case(
            "a file",
            "steps:\n  - { id: r, read: note.txt }\n  - { id: g, http: \"GET {{ steps.r.output.text | trim }}/echo\" HEADERS }\n",
            "",
            "",
        ),
        case(
            "an answer",
            "steps:\n  - { id: first, http: GET GOOD/first }\n  - { id: g, http: \"GET {{ steps.first.output.body.next }}\" HEADERS }\n",
            "",
            "",
        ),
        case(
            "a tool call of an agent",
            &format!("{}steps:\n  - {{ id: g, agent: scout, prompt: Go }}\n", with_tools(API, "api")),
            "",
            "g: [{ calls: [{ tool: api, with: { base: EVIL } }] }, done]",
        ),
        case(
            "an agent's input of a pipeline",
            &format!("{}steps:\n  - {{ id: g, agent: scout, prompt: Go }}\n", with_tools("  sub: { pipeline: sub.yaml }\n", "sub")),
            SUB_GET,
            "g: [{ calls: [{ tool: sub, with: { base: EVIL } }] }, done]",
        ),
        case(
            "a plan",
            &format!("{}steps:\n  - {{ id: g, plan: scout, prompt: Go, may_use: [api] }}\n", with_tools(API, "")),
            "",
            "g: [{ data: { strategy: parallel, reasoning: So., steps: [{ id: a, use: api, with: { base: EVIL } }] } }]",
        ),
        case(
            "a plan's input of a pipeline",
            &format!(
                "{}steps:\n  - {{ id: g, plan: scout, prompt: Go, may_use: [sub] }}\n",
                with_tools("  sub: { pipeline: sub.yaml }\n", "")
            ),
            SUB_GET,
            "g: [{ data: { strategy: parallel, reasoning: So., steps: [{ id: a, use: sub, with: { base: EVIL } }] } }]",
        ),
    ]
}

fn services() -> (Service, Service) {
    let evil = Service::saying("{}".to_owned());
    let links = json!({ "next": format!("{}/next", evil.url()), "same": "SELF/second" }).to_string();
    (Service::saying(links), evil)
}

/// Runs files in which the places of both services are filled in. `secret`: a token goes with each request; `policy`: of both files.
fn run(main: &str, sub: &str, says: &str, good: &Service, evil: &Service, (secret, policy): (bool, &str)) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let told = |text: &str| {
        let with = |keys: &'static str| if secret { keys } else { "" };
        text.replace("HEADERS", with(", headers: { authorization: \"Bearer {{ secrets.TOKEN }}\" }"))
            .replace("KEY }", &format!("{} }}", with(", api_key: \"{{ secrets.TOKEN }}\"")))
            .replace("LOGIN", with(", user: u, password: \"{{ secrets.TOKEN }}\""))
            .replace("POLICY", &format!("{policy}{}", with("secrets: { TOKEN: A token. }\n")))
            .replace("GOODHOST", &good.address.to_string())
            .replace("EVILHOST", &evil.address.to_string())
            .replace("EVILPORT", &evil.address.port().to_string())
            .replace("GOOD", &good.url())
            .replace("EVIL", &evil.url())
    };
    let write = |name: &str, text: &str| std::fs::write(Path::new(folder.path()).join(name), told(text)).unwrap();
    write("flow.toml", "");
    write("p.yaml", &format!("flow: 1\nname: p\nPOLICY{main}"));
    write("sub.yaml", if sub.is_empty() { "flow: 1\nname: sub\nsteps: [{ id: a, set: 1 }]\n" } else { sub });
    write("r.yaml", &format!("flow: 1\nreplies:\n  {says}\n"));
    write("hosts.csv", "url\nEVIL\n");
    write("note.txt", "EVIL\n");
    ran(command(folder.path(), &["run", "p.yaml", "--trust", "--events", "-"]).env("TOKEN", "canary-token").env("BASE", good.url()))
}

#[test]
fn no_request_goes_to_a_host_that_the_data_of_a_run_names() {
    let auto = "policies: { p: { permission_mode: auto, allowed_tools: [api, sub, s, mail] } }\npolicy: p\n";
    for Case { name, main, sub, says } in cases() {
        let (good, evil) = services();
        for policy in ["", auto] {
            let ran = run(&main, sub, says, &good, &evil, (false, policy));
            let shown = format!("{name}: {}{}", ran.out, ran.err);
            assert!(shown.contains("is not allowed: a step or a model named the host"), "{shown}");
            assert!(shown.contains("\"policy_decided\"") && shown.contains("\"allowed\":false"), "{shown}");
        }
        assert_eq!(evil.count(), 0, "{name}");
    }
}

#[test]
fn no_secret_goes_to_a_host_that_the_data_of_a_run_names() {
    for Case { name, main, sub, says } in cases() {
        let (good, evil) = services();
        let ran = run(&main, sub, says, &good, &evil, (true, ""));
        assert!(ran.err.contains("error[F609]: secrets.TOKEN is sent to a host that"), "{name}: {}{}", ran.out, ran.err);
        let listed = format!(
            "policies: {{ p: {{ permission_mode: auto, allowed_tools: [api, sub, s, mail], network_access: {{ hosts: ['{}'] }} }} }}\npolicy: p\n",
            good.address
        );
        let ran = run(&main, sub, says, &good, &evil, (true, &listed));
        let shown = format!("{name}: {}{}", ran.out, ran.err);
        assert!(shown.contains("is not allowed: ") && !shown.contains("F609"), "{shown}");
        assert!(evil.count() == 0 && !good.heads().contains("canary-token"), "{name}: {}", good.heads());
    }
}

#[test]
fn hosts_of_the_file_the_environment_and_the_inputs_are_called_and_so_are_links_to_them() {
    let steps = "steps:\n  - { id: first, http: \"GET ADDRESS/first\" }\n  - { id: g, http: \"GET {{ steps.first.output.body.same }}\" }\n";
    let inputs = "inputs: { base: { type: text, default: GOOD } }\n";
    for (address, head) in [("GOOD", ""), ("{{ env.BASE }}", ""), ("{{ inputs.base }}", inputs)] {
        let (good, evil) = services();
        let ran = run(&format!("{head}{}", steps.replace("ADDRESS", address)), "", "", &good, &evil, (false, ""));
        assert_eq!((ran.exit, good.count()), (0, 2), "{address}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("it is a host of the file"), "{}", ran.out);
    }
}

#[test]
fn an_input_that_a_client_of_flow_mcp_gives_names_no_host() {
    let (good, evil) = services();
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "flow: 1\nname: fetch\ndescription: Fetches.\ninputs: { base: text }\nsteps:\n  - { id: known, http: GET GOOD/x }\n  - { id: get, http: \"GET {{ inputs.base }}/echo\" }\noutputs: { status: \"{{ steps.get.output.status }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), pipeline.replace("GOOD", &good.url())).unwrap();
    let mut command = command(folder.path(), &["mcp", "p.yaml", "--trust"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut client = Client::of(child);
    let told = client.call("fetch", json!({ "base": evil.url() })).to_string();
    assert!(told.contains("a step or a model named the host") && evil.count() == 0, "{told}");
    let told = client.call("fetch", json!({ "base": good.url() })).to_string();
    assert!(told.contains("200") && good.count() == 3, "{told}");
    client.end();
}

#[test]
fn a_value_that_climbs_out_of_its_path_sends_nothing() {
    let step = "  - { id: g, http: \"DELETE GOOD/shops/{{ steps.m.output.at }}/items/{{ steps.m.output.at }}/draft\" }\n";
    let main =
        format!("{}steps:\n  - {{ id: m, agent: scout, prompt: Where? }}\n{step}", SCOUT.replace("tools: [TOOLS]", "output: { at: text }"));
    for value in ["..", "", "a/b", "%2e%2E", "..\\"] {
        let (good, evil) = services();
        let ran = run(&main, "", &format!("m: {{ data: {{ at: '{value}' }} }}"), &good, &evil, (false, ""));
        assert!(ran.err.contains("g: failed (bad_request): steps.m.output.at is ") && good.count() == 0, "{value}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_default_of_the_file_names_a_host_for_clients_of_flow_mcp_too() {
    let (good, evil) = services();
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "flow: 1\nname: fetch\ndescription: Fetches.\ninputs: { base: { type: text, default: GOOD } }\nsteps:\n  - { id: get, http: \"GET {{ inputs.base }}/echo\" }\noutputs: { status: \"{{ steps.get.output.status }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), pipeline.replace("GOOD", &good.url())).unwrap();
    let mut command = command(folder.path(), &["mcp", "p.yaml", "--trust"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut client = Client::of(child);
    let told = client.call("fetch", json!({})).to_string();
    assert!(told.contains("200") && good.count() == 1, "{told}");
    let told = client.call("fetch", json!({ "base": evil.url() })).to_string();
    assert!(told.contains("a step or a model named the host") && evil.count() == 0, "{told}");
    client.end();
}

#[test]
fn a_secret_beside_a_host_that_an_input_names_goes_to_hosts_of_the_list_only() {
    let key = "'{{ secrets.TOKEN }}'";
    for body in [
        format!("steps:\n  - {{ id: g, http: \"GET {{{{ inputs.base }}}}/x\", headers: {{ X-Key: {key} }} }}\n"),
        format!(
            "tools: {{ t: {{ http: \"GET {{{{ inputs.base }}}}/x\", headers: {{ X-Key: {key} }} }} }}\nsteps:\n  - {{ id: g, tool: t }}\n"
        ),
        format!(
            "tools: {{ s: {{ url: \"{{{{ inputs.base }}}}/mcp\", headers: {{ X-Key: {key} }}, allow: [a] }} }}\nsteps:\n  - {{ id: g, tool: s.a }}\n"
        ),
        format!(
            "models: {{ default: {{ provider: openai, model: m, base_url: \"{{{{ inputs.base }}}}/v1\", api_key: {key} }} }}\nagents: {{ w: {{ instructions: Answer. }} }}\nsteps:\n  - {{ id: g, agent: w, prompt: Hello. }}\n"
        ),
    ] {
        // The list names the service; without its port it means port 443.
        for (entry, reaches) in [("ADDRESS", true), ("127.0.0.1:*", true), ("127.0.0.1", false), ("other.example", false)] {
            let (service, folder) = (Service::saying("{}".to_owned()), tempfile::tempdir().unwrap());
            let entry = entry.replace("ADDRESS", &service.address.to_string());
            let head = "flow: 1\nname: p\ndescription: Sends.\ninputs: { base: text }\nsecrets: { TOKEN: A token. }\npolicy: p\n";
            let policy = format!("policies: {{ p: {{ permission_mode: auto, network_access: {{ hosts: ['{entry}'] }} }} }}\n");
            std::fs::write(folder.path().join("p.yaml"), format!("{head}{policy}{body}")).unwrap();
            let arguments = ["run", "p.yaml", "--trust", "--input", &format!("base={}", service.url())];
            let Ran { err, .. } = ran(command(folder.path(), &arguments).env("TOKEN", "canary-token-8f2k1"));
            assert!(!err.contains("F609"), "{body}: {err}");
            assert_eq!(service.heads().contains("canary-token-8f2k1"), reaches, "{entry}: {body}: {err}");
            assert!(reaches || service.count() == 0 && err.contains("network_access.hosts does not list it"), "{entry}: {body}: {err}");
        }
    }
}
