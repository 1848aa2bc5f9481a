//! Files of settings: the project's `flow.toml` and the user's own file.

use super::agents;
use super::context::{Lower, quoted};
use super::keys::{self, KeyTable};
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::world::World;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{JournalSettings, Lint, LintPath, Settings, TelemetrySettings, unreadable};
use crate::source::{FileId, Spanned};
use crate::syntax::Node;

/// Reads the project's `flow.toml`.
pub(crate) fn project_settings(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Settings {
    settings(tree, file, world, diagnostics, &keys::PROJECT_SETTINGS, "flow.toml")
}

/// Reads the user's own file of settings.
pub fn user_settings(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Settings {
    settings(tree, file, world, diagnostics, &keys::USER_SETTINGS, "the user's settings")
}

fn settings(
    tree: &Node,
    file: FileId,
    world: &mut dyn World,
    diagnostics: &mut Vec<Diagnostic>,
    place: &'static KeyTable,
    owner: &'static str,
) -> Settings {
    let lower = Lower::new(file, world, diagnostics);
    let Some(keys) = KeyReader::new(&lower, owner, &[place], tree) else { return Settings::default() };
    let default_model = keys.section("models", &keys::SETTINGS_MODELS).and_then(|models| {
        let node = models.get("default")?;
        Some(super::models::model(&lower, &KeyOwner::Named("model", "default".to_owned()), models.key_span("default"), node))
    });
    let private_hosts = if place.key("private_hosts").is_some() { keys.names("private_hosts").unwrap_or_default() } else { vec![] };
    let state_dir = if place.key("state_dir").is_some() { keys.name("state_dir") } else { None };
    let has = |key: &str| place.key(key).is_some();
    let policy = if has("policy") { keys.get("policy") } else { None };
    let policy = policy.map(|node| super::policies::policy(&lower, &KeyOwner::Place("policy of the user"), keys.key_span("policy"), node));
    let exclude = if has("exclude") { keys.names("exclude").unwrap_or_default() } else { vec![] };
    let exclude = exclude.into_iter().filter(|pattern| is_readable(&lower, pattern)).collect();
    let lint = if has("lint") { keys.section("lint", &keys::LINT) } else { None };
    let lint = lint.map(|lint| read_lint(&lower, &lint)).unwrap_or_default();
    let of_journal = if has("lint") { &keys::PROJECT_JOURNAL } else { &keys::USER_JOURNAL };
    let journal = keys.section("journal", of_journal).map(|journal| JournalSettings {
        encrypt: journal.boolean("encrypt").unwrap_or_default(),
        key_file: if journal.allows("key_file") { journal.fixed("key_file") } else { None },
    });
    let sandbox = if has("sandbox") { keys.section("sandbox", &keys::USER_SANDBOX) } else { None };
    let readable = sandbox.map(|sandbox| readable_folders(&lower, &sandbox)).unwrap_or_default();
    let journal = journal.unwrap_or_default();
    let telemetry = if has("telemetry") { keys.section("telemetry", &keys::USER_TELEMETRY) } else { None };
    let telemetry = telemetry.map(|telemetry| TelemetrySettings {
        endpoint: telemetry.fixed("endpoint").filter(|endpoint| is_address(&lower, endpoint)),
        content: telemetry.boolean("content").unwrap_or_default(),
    });
    let telemetry = telemetry.unwrap_or_default();
    Settings { default_model, limits: agents::limits(&keys), policy, private_hosts, state_dir, readable, exclude, lint, journal, telemetry }
}

/// Whether a text is an address over HTTP; if not, it is reported.
fn is_address(lower: &Lower, text: &Spanned<String>) -> bool {
    let is_http = url::Url::parse(&text.value).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if !is_http {
        let message = format!("{} is not the address of a collector", quoted(&text.value));
        lower.report(Diagnostic::bad_value(text.span, message).help("write it as http://127.0.0.1:4318"));
    }
    is_http
}

/// Folders that programs may read: those that no sandbox gives, whoever asks, are reported here; where links lead is looked at when a program starts.
fn readable_folders(lower: &Lower, keys: &KeyReader) -> Vec<Spanned<String>> {
    let mut kept = vec![];
    for folder in keys.names("readable").unwrap_or_default() {
        match unreadable(&folder.value) {
            None => kept.push(folder),
            Some(why) => {
                let message = format!("{} cannot be made readable for programs: {why}", quoted(&folder.value));
                let help = "name the folder that the program is installed in, such as ~/.pyenv";
                lower.report(Diagnostic::bad_value(folder.span, message).help(help));
            }
        }
    }
    kept
}

fn read_lint(lower: &Lower, keys: &KeyReader) -> Lint {
    let deny = codes(lower, keys, "deny", |code| code.severity() != crate::diagnostic::Severity::Error);
    let mut paths = vec![];
    for (pattern, node) in keys.get("paths").and_then(Node::as_map).into_iter().flat_map(|map| &map.entries) {
        let pattern = Spanned::new(pattern.text.clone(), pattern.span);
        if !is_readable(lower, &pattern) {
            continue;
        }
        let owner = KeyOwner::Named("paths", pattern.value.clone());
        let Some(keys) = KeyReader::new(lower, owner, &[&keys::LINT_PATH], node) else { continue };
        let ignore = codes(lower, &keys, "ignore", Code::is_suppressible);
        paths.push(LintPath { pattern, ignore });
    }
    Lint { deny, paths }
}

/// Whether a pattern of paths can be read; if not, it is reported.
fn is_readable(lower: &Lower, pattern: &Spanned<String>) -> bool {
    let problem = readable(&pattern.value).err();
    if let Some(problem) = &problem {
        let message = format!("the pattern {} cannot be read: {problem}", quoted(&pattern.value));
        lower.report(Diagnostic::bad_value(pattern.span, message).help("write a path with * or **"));
    }
    problem.is_none()
}

/// Most bytes of a pattern, and most alternatives in it: each opens a level of the reader of patterns.
const MOST_PATTERN: (usize, usize) = (512, 16);

/// Why a pattern of paths cannot be read.
#[derive(Debug, thiserror::Error)]
enum GlobError {
    #[error("it is longer than {} bytes, or has more than {} alternatives", MOST_PATTERN.0, MOST_PATTERN.1)]
    TooLarge,
    #[error("{}", .0.kind())]
    Syntax(#[from] globset::Error),
}

/// Whether a pattern of paths can be read, and without a deep stack.
fn readable(pattern: &str) -> Result<(), GlobError> {
    if pattern.len() > MOST_PATTERN.0 || pattern.matches('{').count() > MOST_PATTERN.1 {
        return Err(GlobError::TooLarge);
    }
    globset::GlobSet::builder().add(globset::Glob::new(pattern)?).build()?;
    Ok(())
}

/// Codes that `fits`; others are reported (F901).
fn codes(lower: &Lower, keys: &KeyReader, key: &str, fits: impl Fn(Code) -> bool) -> Vec<Spanned<String>> {
    let mut kept = vec![];
    for written in keys.names(key).unwrap_or_default() {
        let what = quoted(&written.value);
        let message = match Code::find(&written.value) {
            Some(code) if fits(code) => {
                kept.push(Spanned::new(code.id().to_owned(), written.span));
                continue;
            }
            Some(_) if key == "deny" => format!("{what} is an error already"),
            Some(_) => format!("{what} is an error and cannot be ignored"),
            None => format!("there is no code {what}"),
        };
        lower.report(Diagnostic::bad_suppression(written.span, message).help("remove it, or write a code such as F105"));
    }
    kept
}
