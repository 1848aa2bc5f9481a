//! `tools`.

use std::path::PathBuf;

use strum::VariantArray;

use super::context::{Lower, quoted};
use super::fields::FieldRole;
use super::keys::{self, KeyTable, Tables};
use super::other_file::FileRole;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::started::{command_line, environment, program, python_code};
use super::texts::place;
use crate::diagnostic::{Diagnostic, nearest};
use crate::model::{Approve, Grant, Method, PipelineId, ServerAuth, ServerKind, Text, Tool, ToolKind};
use crate::source::{Span, Spanned};
use crate::syntax::{MapKey, Node};

/// One tool; one that cannot be read or is not yet available has the kind `Broken`.
pub fn tool(lower: &Lower, owner: &KeyOwner, span: Span, node: &Node) -> Tool {
    let mut tool = Tool { span, ..Tool::default() };
    let (keys, kind) = one_kind(lower, owner, &[&keys::TOOL], keys::TOOL_KINDS, None, node);
    let Some(keys) = keys else { return tool };
    tool.kind = kind.and_then(|kind| read_kind(&keys, kind.name)).unwrap_or(ToolKind::Broken);
    tool.description = keys.get("description").and_then(|node| keys.lower.description("description", node, "write the text itself"));
    tool.with = keys.pairs("with");
    tool.allow = keys.names("allow");
    tool.deny = keys.names("deny").unwrap_or_default();
    tool.timeout = keys.read("timeout", Lower::duration);
    tool.connect_timeout = keys.read("connect_timeout", Lower::duration);
    tool.optional = tool.is_server() && keys.boolean("optional").unwrap_or_default();
    tool.pictures = tool.is_server() && keys.boolean("pictures").unwrap_or_default();
    tool.questions = tool.is_server() && keys.boolean("questions").unwrap_or_default();
    tool.without_instructions = tool.is_server() && !keys.boolean("instructions").unwrap_or(true);
    tool.approve = match keys.get("approve") {
        None => Approve::Never,
        Some(node) if node.as_list().is_some() => {
            Approve::Names(keys.names("approve").unwrap_or_default().into_iter().map(|name| name.value).collect())
        }
        Some(_) => match keys.boolean("approve") {
            Some(true) => Approve::Always,
            _ => Approve::Never,
        },
    };
    tool
}

/// The keys of something that has exactly one of several kinds (F004, F006), and its kind. The kind's key comes first in its
/// place; `common` are the places of every kind, the first of them with the keys that are required in any case; `instead` is what may
/// are there in place of any kind.
pub(crate) fn one_kind<'a, 'w>(
    lower: &'a Lower<'w>,
    owner: &KeyOwner,
    common: Tables,
    kinds: Tables<'static>,
    instead: Option<&'static KeyTable>,
    node: &'a Node,
) -> (Option<KeyReader<'a, 'w>>, Option<&'static KeyTable>) {
    let has = |key: &str| node.as_map().is_some_and(|map| map.get(key).is_some());
    let given: Vec<&'static KeyTable> = kinds.iter().copied().filter(|kind| has(kind.name)).collect();
    // What is a key of another kind that is there belongs to that: `steps` to `repeat`.
    let is_part = |kind: &KeyTable| given.iter().any(|other| other.name != kind.name && other.key(kind.name).is_some());
    let given: Vec<&'static KeyTable> = given.iter().copied().filter(|kind| !is_part(kind)).collect();
    if let [kind] = given.as_slice() {
        // A slip of the key of a kind that this one is a part of: `repaet` beside `steps`.
        let own = node.as_map().into_iter().flat_map(|map| &map.entries).map(|(key, _)| key);
        let wider = kinds.iter().copied().filter(|other| other.name != kind.name && other.key(kind.name).is_some());
        let is_known = |key: &MapKey| kind.key(&key.text).is_some() || common.iter().any(|place| place.key(&key.text).is_some());
        let slip = own
            .filter(|key| !is_known(key))
            .find_map(|key| wider.clone().find(|wider| nearest(&key.text, [wider.name]) == [wider.name]).map(|wider| (key, wider)));
        if let Some((key, wider)) = slip {
            let places: Vec<&'static KeyTable> = common.iter().copied().chain([wider]).collect();
            let keys = KeyReader::lenient(lower, owner, &places, node);
            if let Some(keys) = &keys {
                keys.report_slip(key, wider.name);
            }
            return (keys, None);
        }
        let places: Vec<&'static KeyTable> = common.iter().copied().chain([*kind]).collect();
        return (KeyReader::new(lower, owner, &places, node), Some(kind));
    }
    let possible = if given.is_empty() { kinds } else { given.as_slice() };
    let places: Vec<&'static KeyTable> = common.iter().copied().chain(possible.iter().copied()).chain(instead).collect();
    let Some(keys) = KeyReader::lenient(lower, owner, &places, node) else { return (None, None) };
    keys.report_missing(common);
    if !given.is_empty() {
        keys.check_one_of(&given.iter().map(|kind| kind.name).collect::<Vec<_>>());
    } else if !keys.meant().any(|meant| kinds.iter().any(|kind| kind.name == meant) || instead.is_some() && meant == "steps") {
        let own: Vec<&MapKey> = node.as_map().into_iter().flat_map(|map| &map.entries).map(|(key, _)| key).collect();
        let own: Vec<&MapKey> = own.into_iter().filter(|key| common.iter().all(|place| place.key(&key.text).is_none())).collect();
        let has_all = |kind: &KeyTable, without: Option<&MapKey>| {
            own.iter().all(|key| kind.key(&key.text).is_some() || without.is_some_and(|without| std::ptr::eq(*key, without)))
        };
        let fitting: Vec<&str> = kinds.iter().filter(|kind| has_all(kind, None)).map(|kind| kind.name).collect();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        // A slip of the key of a kind can be a key of another one: `top` of a search for `stop`.
        let slip = own.iter().find_map(|key| match nearest(&key.text, names.iter().copied()).as_slice() {
            [kind] if fitting.is_empty() && kinds.iter().any(|table| table.name == *kind && has_all(table, Some(key))) => {
                Some((*key, *kind))
            }
            _ => None,
        });
        if let Some((key, kind)) = slip {
            keys.report_slip(key, kind);
            return (Some(keys), None);
        }
        let now = names.join(", ");
        let help = match (own.first(), fitting.as_slice()) {
            (Some(key), [kind]) => format!("add {kind}: and its value; {} belongs to that kind", quoted(&key.text)),
            _ if instead.is_some() => format!("add steps: with several steps, or the key of a kind with its value: {now}"),
            _ => format!("add the key of a kind with its value: {now}"),
        };
        keys.missing("has no kind", &help);
    }
    (Some(keys), None)
}

fn read_kind(keys: &KeyReader, kind: &str) -> Option<ToolKind> {
    match kind {
        "http" => {
            let headers = headers(keys);
            let (query, body) = (keys.pairs("query"), keys.filling("body"));
            let arguments = keys.fields("arguments", "argument", FieldRole::Input);
            let (method, url) = request(keys)?;
            let query = query.into_iter().map(|(name, value)| (name.value, value)).collect();
            Some(ToolKind::Http { method, url, headers, query, body, arguments })
        }
        "sql" => keys.names("sql").map(ToolKind::Sql),
        "program" => {
            let arguments = keys.fields("arguments", "argument", FieldRole::Input);
            Some(ToolKind::Program { run: command_line(keys)?, arguments })
        }
        "python" => {
            let arguments = keys.fields("arguments", "argument", FieldRole::Input);
            Some(ToolKind::Python { run: python_code(keys)?, arguments })
        }
        "file" => path(keys, "file", "folder").map(ToolKind::File),
        "pipeline" => {
            let file = keys.name("pipeline")?;
            let pipeline = called(keys.lower, &file);
            Some(ToolKind::Pipeline { file, pipeline })
        }
        "smtp" => {
            let (address, from) = (keys.text("smtp"), keys.text("from"));
            let (user, password) = (keys.text("user"), keys.text("password"));
            Some(ToolKind::Smtp { address: address?, from: from?, user, password })
        }
        "command" => {
            let (args, env) = (args(keys), environment(keys));
            let command = program(keys, "command", &keys.name("command")?)?;
            Some(ToolKind::Server(ServerKind::Program { command, args, env }))
        }
        "url" => {
            let (headers, auth) = (headers(keys), sign_in(keys).map(Box::new));
            if let Some((name, _)) =
                keys.entries("headers").find(|(name, _)| auth.is_some() && name.text.eq_ignore_ascii_case("authorization"))
            {
                let message = "a server with auth has no Authorization header of its own";
                keys.lower.report(Diagnostic::bad_value(name.span, message).help("remove this header, or auth"));
            }
            let url = keys.text("url")?;
            Some(ToolKind::Server(ServerKind::Url { url, headers, auth }))
        }
        _ => None,
    }
}

fn args(keys: &KeyReader) -> Vec<Text> {
    keys.list("args").unwrap_or_default().iter().filter_map(|node| keys.lower.texts().loose_text("args", node)).collect()
}

/// `auth`: how a token is fetched.
fn sign_in(keys: &KeyReader) -> Option<ServerAuth> {
    let auth = keys.section("auth", &keys::SIGN_IN)?;
    let address = |key: &str| auth.fixed(key).filter(|written| is_address_of_tokens(&auth, key, written));
    let has_proof = auth.has("client_secret") || auth.has("private_key");
    let own = if has_proof { Grant::ClientCredentials } else { Grant::Login };
    let read = ServerAuth {
        grant: auth.choice("grant").unwrap_or(own),
        client_id: auth.text("client_id"),
        client_secret: auth.text("client_secret"),
        private_key: auth.text("private_key"),
        scopes: auth.names("scopes").unwrap_or_default(),
        issuer: address("issuer"),
        token_url: address("token_url"),
    };
    let wrong = |key: &str, message: &str, help: &str| {
        auth.lower.report(Diagnostic::bad_value(auth.key_span(key), message.to_owned()).help(help.to_owned()));
    };
    if auth.has("client_secret") && auth.has("private_key") {
        wrong("private_key", "auth has both a client_secret and a private_key", "keep the one that the authorization server asks for");
    }
    if has_proof && !auth.has("client_id") {
        let key = if auth.has("client_secret") { "client_secret" } else { "private_key" };
        wrong(key, "auth has no client_id", "add client_id: the client that this secret belongs to");
    }
    if read.grant == Grant::ClientCredentials && !has_proof {
        let help = "add client_id: … and client_secret: \"{{ secrets.NAME }}\", or private_key";
        wrong("grant", "client_credentials needs a client_secret or a private_key", help);
    }
    for scope in read.scopes.iter().filter(|scope| !is_scope(&scope.value)) {
        let message = format!("{} is not one scope", quoted(&scope.value));
        auth.lower.report(Diagnostic::bad_value(scope.span, message).help("write each scope as an item of its own: scopes: [read, write]"));
    }
    Some(read)
}

/// RFC 6749, appendix A.4.
fn is_scope(scope: &str) -> bool {
    !scope.is_empty() && scope.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'))
}

/// Secrets go there: only over TLS, or on this machine.
fn is_address_of_tokens(keys: &KeyReader, key: &str, written: &Spanned<String>) -> bool {
    let url = url::Url::parse(&written.value).ok();
    let is_local = |url: &url::Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_fine = |url: &url::Url| {
        (url.scheme() == "https" || url.scheme() == "http" && is_local(url)) && url.username().is_empty() && url.fragment().is_none()
    };
    if url.as_ref().is_some_and(is_fine) {
        return true;
    }
    let message = format!("{key} {} is not an address that begins with https://", quoted(&written.value));
    keys.lower.report(Diagnostic::bad_value(written.span, message).help(format!("write it out, as {key}: https://auth.example.com")));
    false
}

/// A pipeline that is called (F025).
pub fn called(lower: &Lower, file: &Spanned<String>) -> Option<PipelineId> {
    let answer = lower.world().pipeline(file.span, &file.value);
    lower.found(FileRole::Pipeline, &file.value, file.span, answer)
}

/// A path inside the project, joined to the folder of the file (F604).
fn path(keys: &KeyReader, key: &str, what: &str) -> Option<PathBuf> {
    let written = keys.name(key)?;
    let answer = keys.lower.world().path(keys.lower.file, &written.value);
    keys.lower.found(what, &written.value, written.span, answer)
}

/// `POST https://…`: method and address.
pub fn request(keys: &KeyReader) -> Option<(Method, Text)> {
    let node = keys.get("http")?;
    let text = keys.lower.sentence("http", node)?;
    let scalar = node.as_scalar()?;
    let method =
        Method::VARIANTS.iter().copied().find(|method| text.strip_prefix(method.word()).is_some_and(|rest| rest.starts_with([' ', '\t'])));
    let Some(method) = method else {
        let message = format!("http {} does not begin with a method and an address", quoted(&text));
        let methods = Method::listed(", ");
        let help = match text.starts_with("http") || text.starts_with("{{") {
            true => format!("write GET {text}, or another method (methods: {methods})"),
            false => format!("write for example GET https://example.com/ (methods: {methods})"),
        };
        return keys.lower.reject(node.span, message, help);
    };
    let rest = &text[method.word().len()..];
    let (address, start) = (rest.trim(), text.len() - rest.trim_start().len());
    Some((method, keys.lower.texts().template(address, place(scalar, node.span, start))))
}

/// `headers`: names and texts.
pub fn headers(keys: &KeyReader) -> Vec<(String, Text)> {
    keys.entries("headers").filter_map(|(name, node)| Some((name.text.clone(), keys.lower.texts().loose_text(&name.text, node)?))).collect()
}
