//! Signing in to an MCP server from the command line: a server of our own wants a token, and gives it to whoever follows the address.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::program::command;

/// One request: its first line, its head in small letters, its body.
fn request(stream: &mut TcpStream) -> Option<(String, String, String)> {
    let mut bytes = vec![];
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let small = head.to_lowercase();
        let length = small.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
        if body.len() >= length {
            return Some((head.lines().next()?.to_owned(), small, body.to_owned()));
        }
    }
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}", body.len())
}

fn document(value: &Value) -> String {
    http("200 OK", "Content-Type: application/json\r\n", &value.to_string())
}

/// The server and its authorization server; the tokens that were given, of which the last is taken.
fn serve() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = format!("http://{}", listener.local_addr().unwrap());
    let given: Arc<Mutex<Vec<String>>> = Arc::default();
    let (at, tokens) = (own.clone(), Arc::clone(&given));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some((line, head, body)) = request(&mut stream) else { continue };
            let mut given = tokens.lock().unwrap();
            let _ = stream.write_all(answer(&at, &line, &head, &body, &mut given).as_bytes());
        }
    });
    (own, given)
}

fn answer(own: &str, line: &str, head: &str, body: &str, given: &mut Vec<String>) -> String {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let part = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap_or_default().to_owned();
    match path {
        "/mcp" => {
            let is_known = given.last().is_some_and(|token| head.contains(&format!("authorization: bearer {token}")));
            if !is_known {
                let wants = format!("WWW-Authenticate: Bearer resource_metadata=\"{own}/prm\"\r\n");
                return http("401 Unauthorized", &wants, "");
            }
            let message: Value = serde_json::from_str(body).unwrap_or_default();
            let result = match message["method"].as_str() {
                Some("server/discover") => json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }),
                Some("tools/list") => json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }),
                _ => json!({ "content": [{ "type": "text", "text": format!("Hello, {}", given.last().unwrap()) }] }),
            };
            document(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
        }
        "/prm" => document(&json!({ "resource": format!("{own}/mcp"), "authorization_servers": [own], "scopes_supported": ["read"] })),
        "/.well-known/oauth-authorization-server" => document(&json!({
            "issuer": own,
            "authorization_endpoint": format!("{own}/authorize"),
            "token_endpoint": format!("{own}/token"),
            "registration_endpoint": format!("{own}/register"),
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => document(&json!({ "client_id": "registered" })),
        "/authorize" => {
            let back = part("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            http("302 Found", &format!("Location: {back}?code=canary-code&state={}\r\n", part("state")), "")
        }
        "/token" => {
            given.push(format!("canary-token-{}", given.len() + 1));
            let refresh = format!("canary-refresh-{}", given.len());
            document(&json!({ "access_token": given.last(), "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh }))
        }
        _ => http("404 Not Found", "", ""),
    }
}

/// What a browser does with an address: it follows where it is sent.
fn browse(address: &str) {
    let mut next = Some(address.to_owned());
    while let Some(address) = next.take() {
        let (host, path) = address.trim_start_matches("http://").split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        next = text.lines().find_map(|line| Some(line.strip_prefix("Location: ")?.to_owned()));
    }
}

fn write(folder: &Path, own: &str) {
    let text = format!(
        "flow: 1\nname: asks\ndescription: Asks a server.\ntools: {{ tracker: {{ url: \"{own}/mcp\", allow: [echo] }} }}\n\
         steps: [{{ id: said, tool: tracker.echo }}]\noutputs: {{ said: \"{{{{ steps.said.output }}}}\" }}\n"
    );
    std::fs::write(folder.join("p.yaml"), text).unwrap();
    std::fs::write(folder.join("flow.toml"), "").unwrap();
}

fn flow(folder: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = command(folder, arguments);
    command.env("XDG_STATE_HOME", folder.join("state"));
    command
}

fn done(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = flow(folder, arguments).output().unwrap();
    (output.status.code(), format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// Signs in as a person does; everything that was said.
fn log_in(folder: &Path) -> String {
    let arguments = ["tools", "login", "tracker", "--trust", "--no-browser"];
    let mut child = flow(folder, &arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        said.push_str(&format!("{line}\n"));
        if line.starts_with("http://") {
            browse(&line);
        }
    }
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

fn holds(folder: &Path, word: &str) -> Vec<String> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(holds(&entry, word));
        } else if String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).contains(word) {
            found.push(entry.display().to_string());
        }
    }
    found
}

#[test]
fn a_person_logs_in_once_and_runs_use_the_login() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let (own, given) = serve();
    write(folder, &own);
    let run = ["run", "p.yaml", "--trust", "--events", "e.jsonl", "--events-content"];
    let (exit, said) = done(folder, &run);
    assert!(exit == Some(6) && said.contains("log in with: flow tools login tracker p.yaml; or"), "{exit:?} {said}");
    std::fs::write(folder.join("my vars.env"), "REGION=eu\n").unwrap();
    let with_file = [&run[..], &["--env-file", "my vars.env"]].concat();
    let (exit, said) = done(folder, &with_file);
    assert!(
        exit == Some(6) && said.contains("log in with: flow tools login tracker p.yaml --env-file 'my vars.env'; or"),
        "{exit:?} {said}"
    );
    let said = log_in(folder);
    assert!(said.contains("tracker: logged in at http://127.0.0.1") && said.contains("scopes read; it is refreshed"), "{said}");
    let (exit, said) = done(folder, &run);
    assert!(exit == Some(0) && said.contains("Hello, ***"), "{exit:?} {said}");
    let (_, said) = done(folder, &["doctor", "p.yaml", "--trust"]);
    assert!(said.contains("server tracker has a login: a token until 20") && said.contains("refreshed then"), "{said}");
    // The login is this project's, from wherever it is named, and no other's.
    let other = folder.join("other");
    std::fs::create_dir(&other).unwrap();
    write(&other, &own);
    for (file, exit) in [("../p.yaml", Some(0)), ("p.yaml", Some(6))] {
        let output = flow(&other, &["run", file, "--trust"]).env("XDG_STATE_HOME", folder.join("state")).output().unwrap();
        assert_eq!(output.status.code(), exit, "{file}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // The server takes the token no more: the run fetches another one.
    given.lock().unwrap().push("canary-token-x".to_owned());
    let (exit, said) = done(folder, &run);
    assert!(exit == Some(0) && given.lock().unwrap().len() == 3, "{exit:?} {said}");
    let kept = holds(folder, "canary");
    assert!(kept.len() == 1 && kept[0].contains("state/flow/logins/"), "{kept:?}");
    let mode = |path: &str| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&kept[0]), mode(&folder.join("state/flow/logins").display().to_string())), (0o600, 0o700));
    for (open, told) in [(0o644, "it can be read by other users"), (0o606, "it can be changed by every user")] {
        std::fs::set_permissions(&kept[0], std::fs::Permissions::from_mode(open)).unwrap();
        let (exit, said) = done(folder, &run);
        assert!(exit == Some(6) && said.contains(told) && said.contains("log in again"), "{exit:?} {said}");
    }
    let (exit, said) = done(folder, &["tools", "logout", "tracker"]);
    assert!(exit == Some(0) && said.contains("logged out") && holds(folder, "canary").is_empty(), "{said}");
    let (_, said) = done(folder, &["tools", "logout", "tracker"]);
    assert!(said.contains("there was no login"), "{said}");
}

#[test]
fn a_login_of_what_takes_none_says_so() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "http://127.0.0.1:9");
    let more = "tools: { local: { command: local-server, allow: [x] }, ";
    let text = std::fs::read_to_string(home.path().join("p.yaml")).unwrap().replace("tools: { ", more);
    std::fs::write(home.path().join("p.yaml"), text).unwrap();
    for (name, part) in [("local", "local is a program"), ("none", "no pipeline has a server none; available: local, tracker")] {
        let (exit, said) = done(home.path(), &["tools", "login", name]);
        assert!(exit == Some(4) && said.contains(part), "{exit:?} {said}");
    }
    let (exit, said) = done(home.path(), &["tools", "login", "tracker"]);
    assert!(exit == Some(6) && said.contains("flow trust"), "{exit:?} {said}");
}
