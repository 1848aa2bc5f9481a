//! MCP servers as a file defines them, with their texts filled in.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::event::{Failure, FailureKind};
use crate::model::{CONNECT_TIMEOUT, Form, HostSource, Pipeline, ServerAuth, ServerKind, Text, Tool, ToolKind};
use crate::port::{Secret, ServerSignIn, ServerTransport, ToolServer};
use crate::secrets::named_by;
use crate::template::{self, Scope};

type FillText<'f> = &'f dyn Fn(&Text) -> Result<String, Failure>;
type FillAddress<'f> = &'f dyn Fn(&Text) -> Result<(String, HostSource), Failure>;

/// The servers of a pipeline outside of a run, for inspection. A server is an `Err` if its settings are known only in a run.
pub fn servers(
    pipeline: &Pipeline,
    inputs: &Map<String, Value>,
    secrets: &BTreeMap<String, Secret>,
    env: &BTreeMap<String, Secret>,
) -> Vec<(String, Result<ToolServer, Failure>)> {
    let inputs = template::from_json(&Value::Object(inputs.clone()));
    let scope = |text: &Text| {
        let mut scope = Scope::new();
        scope.set("inputs", inputs.clone());
        for (root, values) in [("secrets", secrets), ("env", env)] {
            scope.set(root, named_by(root, values, &text.reads, false));
        }
        scope
    };
    let wrong = |error: template::FillError| Failure::new(FailureKind::BadRequest, error.message);
    let plain = |text: &Text| (text.form == Form::Plain).then(|| text.source.to_string());
    let fill = |text: &Text| plain(text).map_or_else(|| template::compile(text).and_then(|c| c.fill_text(&scope(text))).map_err(wrong), Ok);
    let address = |text: &Text| {
        let filled = template::compile(text).and_then(|compiled| compiled.fill_address(&scope(text))).map_err(wrong)?;
        Ok((filled.text, HostSource::Input))
    };
    let names = pipeline.tools.iter().filter(|(_, tool)| tool.is_server()).map(|(name, _)| name);
    names.map(|name| (name.clone(), of_file(pipeline, name, "look".into(), secrets, &fill, &address))).collect()
}

/// A server as the file defines it.
pub(crate) fn of_file(
    pipeline: &Pipeline,
    name: &str,
    run: Arc<str>,
    secrets: &BTreeMap<String, Secret>,
    fill: FillText,
    address: FillAddress,
) -> Result<ToolServer, Failure> {
    let missing = || Failure::new(FailureKind::Internal, format!("tool \"{name}\" is not a server"));
    let tool = pipeline.tools.get(name).ok_or_else(missing)?;
    let ToolKind::Server(kind) = &tool.kind else { return Err(missing()) };
    let (identity, transport) = match kind {
        ServerKind::Program { command, args, env } => {
            let filled = env.iter().map(|(name, text)| Ok((name.value.clone(), Secret::new(fill(text)?))));
            let transport = ServerTransport::Program {
                command: command.value.clone(),
                args: arguments(name, args, fill)?,
                env: filled.collect::<Result<_, Failure>>()?,
                folder: pipeline.folder.clone(),
            };
            let words = std::iter::once(command.value.clone()).chain(args.iter().map(|text| text.source.to_string()));
            (words.collect::<Vec<_>>().join(" "), transport)
        }
        ServerKind::Url { url, headers, auth } => {
            let auth = auth.as_deref().map(|auth| sign_in(auth, fill)).transpose()?;
            let filled = headers.iter().map(|(name, text)| Ok((name.clone(), Secret::new(fill(text)?))));
            let identity = url.source.to_string();
            let (url, host_from) = address(url)?;
            (identity, ServerTransport::Http { url, host_from, headers: filled.collect::<Result<_, Failure>>()?, auth })
        }
    };
    let connect_timeout = tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
    let secrets = secrets_in(tool, secrets);
    Ok(ToolServer {
        name: name.to_string(),
        identity,
        project: pipeline.project.clone(),
        transport,
        secrets,
        connect_timeout,
        optional: tool.optional,
        pictures: tool.pictures,
        questions: tool.questions,
        run,
    })
}

fn sign_in(auth: &ServerAuth, fill: FillText) -> Result<ServerSignIn, Failure> {
    let secret = |text: &Option<Text>| text.as_ref().map(|text| fill(text).map(Secret::new)).transpose();
    Ok(ServerSignIn {
        grant: auth.grant,
        client_id: auth.client_id.as_ref().map(fill).transpose()?,
        client_secret: secret(&auth.client_secret)?,
        private_key: secret(&auth.private_key)?,
        scopes: auth.scopes.iter().map(|scope| scope.value.clone()).collect(),
        issuer: auth.issuer.as_ref().map(|issuer| issuer.value.clone()),
        token_url: auth.token_url.as_ref().map(|url| url.value.clone()),
    })
}

/// The secrets that a server receives: in the arguments that the file fixes for its tools, in its environment and in its headers.
fn secrets_in(tool: &Tool, secrets: &BTreeMap<String, Secret>) -> Vec<Secret> {
    let texts = tool.texts();
    secrets.iter().filter(|(name, _)| reads(&texts, "secrets", name)).map(|(_, secret)| secret.clone()).collect()
}

/// Whether one of the texts reads `root.name`, or all of `root`.
pub(crate) fn reads(texts: &[&Text], root: &str, name: &str) -> bool {
    let mut paths = texts.iter().flat_map(|text| &text.reads).map(|read| read.path.as_slice());
    paths.any(|path| path.first().is_some_and(|first| first == root) && path.get(1).is_none_or(|part| part == name))
}

/// The arguments of a program. A filled-in value cannot be an option, unless `--` precedes it.
fn arguments(name: &str, args: &[Text], fill: FillText) -> Result<Vec<String>, Failure> {
    let mut filled = vec![];
    let mut only_values = false;
    for text in args {
        let value = fill(text)?;
        let wrong = |what: &str| Err(Failure::new(FailureKind::BadRequest, format!("args of server \"{name}\": {what}")));
        if text.form != Form::Plain {
            if value.starts_with('-') && !only_values && !text.source.trim_start().starts_with('-') {
                return wrong("a value that begins with \"-\" is read as an option; write \"--\" before it in args");
            }
            if value.contains('\0') {
                return wrong("a value contains a NUL character");
            }
        }
        only_values |= text.form == Form::Plain && value == "--";
        filled.push(value);
    }
    Ok(filled)
}
