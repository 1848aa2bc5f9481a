//! `flow tools login` and `logout`: signing in at the authorization server of an MCP server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::arguments::{LoginOptions, SharedOptions};
use super::refusal::Refusal;
use super::signals::at_question;
use super::tools::{pipelines, servers_of};
use super::typing::{Said, Typing, is_at_terminal};
use super::{Exit, tell, trust};
use crate::adapter::mcp::auth::{LoginTalk, LoginWish, TokensAfter};
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::driver::Runtime;
use crate::engine::{secret_values, servers};
use crate::event::Failure;
use crate::journal::AuditAction;
use crate::model::Pipeline;
use crate::port::{Secret, ServerTransport, ToolServer};
use crate::runtime::{declared, inputs_of_file, kept};

/// A server with this name, and its pipeline.
struct Found {
    server: ToolServer,
    url: String,
    file: PathBuf,
    checked: Arc<Checked>,
}

/// Finds the server with this name. Errors: there is none, or several have different addresses (exit 4).
fn find_server(name: &str, paths: &[PathBuf], env: &BTreeMap<String, Secret>, shared: &SharedOptions) -> Result<Found, Refusal> {
    let nothing = |message: String| Refusal::new(Exit::NothingRan, visible(&message));
    let mut all: Vec<Found> = vec![];
    let (mut others, mut why) = (vec![], None);
    for (file, checked) in pipelines(paths, shared)? {
        let checked = Arc::new(checked);
        let program = &checked.loaded.program;
        tell::hide_secrets(&secret_values(program, env));
        let of_one = |pipeline: &Arc<Pipeline>| servers(pipeline, &inputs_of_file(pipeline), &declared([&**pipeline], env), env);
        let of_file = program.pipelines.iter().flat_map(of_one);
        for (own, server) in of_file {
            match server {
                Ok(server) if own == name => match &server.transport {
                    ServerTransport::Http { url, .. } => {
                        let url = url.clone();
                        all.push(Found { server, url, file: file.clone(), checked: Arc::clone(&checked) });
                    }
                    ServerTransport::Program { .. } => {
                        why = Some(format!("server {name} is a program; only a server with a url has a login"))
                    }
                },
                Err(failure) if own == name => {
                    why = Some(format!("the address of server {name} is known only during a run ({})", failure.message))
                }
                _ => others.push(own),
            }
        }
    }
    others.sort();
    others.dedup();
    let mut same: Vec<Found> = vec![];
    for one in all {
        if same.iter().all(|other| (&other.url, sign_in(other)) != (&one.url, sign_in(&one))) {
            same.push(one);
        }
    }
    match (same.len(), why) {
        (1, _) => Ok(same.remove(0)),
        (0, Some(why)) => Err(nothing(why)),
        (0, None) if others.is_empty() => Err(nothing(format!("no pipeline has a server {name}"))),
        (0, None) => Err(nothing(format!("no pipeline has a server {name}; available: {}", others.join(", ")))),
        _ => {
            let files: Vec<String> = same.iter().map(|one| one.file.display().to_string()).collect();
            Err(nothing(format!("several servers are called {name}; add the file of one: {}", files.join(", "))))
        }
    }
}

fn sign_in(found: &Found) -> Option<&crate::port::ServerSignIn> {
    match &found.server.transport {
        ServerTransport::Http { auth, .. } => auth.as_ref(),
        ServerTransport::Program { .. } => None,
    }
}

/// The dialogue at the terminal.
struct Terminal {
    name: String,
    opens_browser: bool,
}

impl LoginTalk for Terminal {
    fn may_use(&self, issuer: &str, origins: &[String]) -> bool {
        if !is_at_terminal() {
            return false;
        }
        tell!("server {} uses {} for its login, on these hosts:", self.name, visible(issuer));
        origins.iter().for_each(|origin| tell!("  {}", visible(origin)));
        let at_question = at_question();
        let answer = Typing::default()
            .decide("The file does not name these hosts. Request a token from them?")
            .map(|said| matches!(said, Said::Yes));
        drop(at_question);
        answer == Some(true)
    }

    fn go_to(&self, address: &str) {
        tell!("To log in to {}, open this address in a browser on this machine:", self.name);
        tell_as_written!("{}", visible(address));
        if self.opens_browser && is_at_terminal() {
            open_browser(address);
        }
    }

    fn go_to_with_code(&self, address: &str, code: &str) {
        tell!("To log in to {}, open {} on any device and type this code:", self.name, visible(address));
        tell_as_written!("{}", visible(code));
    }
}

/// Opens an address in a browser, if possible; the address was printed as well.
fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    command.arg(address).stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let _ = command.spawn();
}

fn failed(failure: Failure) -> Refusal {
    Refusal::new(Exit::Failed, visible(&failure.message))
}

/// Signs in.
pub(super) fn login(options: &LoginOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let env = shared.variables()?;
    let found = find_server(&options.server, &options.paths, &env, shared)?;
    let agreed = trust::consent(&found.checked, &found.file, options.trust.is_given, shared)?;
    let wish = LoginWish { scopes: options.scopes.clone(), hosts: options.hosts.clone(), by_device: options.device };
    let talk = Terminal { name: found.server.name.clone(), opens_browser: !options.no_browser };
    let runtime = Runtime::new().map_err(|error| refusal!(Failed, "flow cannot start: {error}"))?;
    let done = runtime.block_on(servers_of(&found.file, agreed, &env, shared).log_in(&found.server, &wish, &talk));
    let done = done.map_err(failed)?;
    kept::audit(&shared.project_of(&found.file), AuditAction::LoggedIn, "", &options.server)?;
    let scopes = if done.scopes.is_empty() { String::new() } else { format!(", scopes {}", visible(&done.scopes.join(" "))) };
    let long = if done.is_refreshed { "it is refreshed automatically" } else { "it is not refreshed; log in again when it has expired" };
    tell!("{}: logged in at {}{scopes}; {long}", options.server, visible(&done.issuer));
    Ok(Exit::Ok)
}

/// Revokes a login and removes it.
pub(super) fn logout(server: &str, paths: &[PathBuf], shared: &SharedOptions) -> Result<Exit, Refusal> {
    let env = shared.variables()?;
    let found = find_server(server, paths, &env, shared)?;
    let runtime = Runtime::new().map_err(|error| refusal!(Failed, "flow cannot start: {error}"))?;
    let done = runtime.block_on(servers_of(&found.file, Arc::default(), &env, shared).log_out(&found.server));
    let Some(after) = done.map_err(failed)? else {
        tell!("{server}: there was no login");
        return Ok(Exit::Ok);
    };
    kept::audit(&shared.project_of(&found.file), AuditAction::LoggedOut, "", server)?;
    match after {
        TokensAfter::Revoked(place) => tell!("{server}: logged out, and its tokens are revoked at {}", visible(&place)),
        TokensAfter::Valid(why) => {
            tell!("{server}: logged out; its tokens could not be revoked, and may be accepted until they expire: {}", visible(&why));
        }
    }
    Ok(Exit::Ok)
}
