//! `models`, and `retry` in them and in steps.

use std::path::PathBuf;
use std::sync::Arc;

use super::agent_programs;
use super::context::{Lower, quoted};
use super::endpoint;
use super::keys::{self, KeyTable};
use super::other_file::FileRole;
use super::owner::KeyOwner;
use super::presets::{ACP_PRESETS, PRESETS};
use super::reader::KeyReader;
use super::replies::by_step;
use crate::diagnostic::Diagnostic;
use crate::model::{FailureKind, Model, Price, Provider, Replies, Retry, ToolModel};
use crate::source::Span;
use crate::syntax::Node;

/// One model; one that cannot be read or is not yet available has the provider `Broken`.
pub fn model(lower: &Lower, owner: &KeyOwner, span: Span, node: &Node) -> Model {
    let mut model = Model { span, ..Model::new(Provider::Broken) };
    let own = keys::PROVIDERS.iter().find(|place| Some(place.name) == node.text_of("provider"));
    let keys = match own {
        Some(own) => KeyReader::new(lower, owner, &[&keys::MODEL, own], node),
        None => {
            let places: Vec<&'static KeyTable> = [&keys::MODEL].into_iter().chain(keys::PROVIDERS.iter().copied()).collect();
            KeyReader::lenient(lower, owner, &places, node).inspect(|keys| keys.report_missing(&[&keys::MODEL]))
        }
    };
    let Some(keys) = keys else { return model };
    model.provider = provider(&keys).unwrap_or(Provider::Broken);
    model.api = keys.choice("api").unwrap_or_default();
    model.tool_calls = keys.choice("tool_calls").unwrap_or_default();
    model.model = keys.text("model");
    model.base_url = keys.text("base_url");
    model.api_key = keys.text("api_key");
    if keys.allows("extra") {
        model.endpoint = endpoint::settings(&keys);
    }
    model.temperature = keys.read("temperature", Lower::number);
    model.max_output_tokens = keys.limit("max_output_tokens");
    model.seed = keys.read("seed", Lower::whole).and_then(|seed| i64::try_from(seed).ok());
    model.timeout = keys.read("timeout", Lower::duration);
    model.retry = retry(&keys);
    check_fit(&keys, &model.provider);
    model.fallback = keys.names("fallback").unwrap_or_default();
    // What is not read of it was reported, and counts as free.
    model.price = keys.has("price").then(|| {
        let price = keys.section("price", &keys::PRICE);
        let read = |key: &str| price.as_ref().and_then(|price| amount(price, key)).unwrap_or_default();
        Price { input: read("input"), output: read("output") }
    });
    model
}

/// Keys of every model that mean nothing for a program, or for a tool.
fn check_fit(keys: &KeyReader, provider: &Provider) {
    let (what, unfit): (&str, &[&str]) = match provider {
        Provider::Program(_) => ("a program", &["temperature", "max_output_tokens", "seed"]),
        Provider::Tool(_) => {
            ("a tool", &["model", "base_url", "api_key", "temperature", "max_output_tokens", "seed", "timeout", "price", "fallback"])
        }
        Provider::Service(_) | Provider::Scripted(_) | Provider::Replay(_) | Provider::Broken => return,
    };
    for key in unfit.iter().filter(|key| keys.has(key)) {
        let help = if *key == "timeout" { "remove it, and write timeout at the tool" } else { "remove it" };
        keys.does_not_fit(key, &format!("is {what}, which takes no {key}"), help);
    }
}

fn provider(keys: &KeyReader) -> Option<Provider> {
    let presets = PRESETS.iter().map(|(name, _)| ("cli", *name)).chain(ACP_PRESETS.iter().map(|(name, _)| ("acp", *name)));
    let written = keys.get("provider").and_then(|node| Some((node.span, &node.as_scalar()?.text)));
    if let Some((span, text)) = written
        && let Some((provider, preset)) = presets.into_iter().find(|(_, name)| name == text)
    {
        let message = format!("provider {} is a preset, not a provider", quoted(text));
        return keys.lower.reject(span, message, format!("write provider: {provider} and preset: {preset}"));
    }
    let word = keys.word("provider")?;
    match (word.parse(), word) {
        (Ok(service), _) => Some(Provider::Service(service)),
        (Err(_), "scripted") => Some(Provider::Scripted(scripted(keys)?)),
        (Err(_), "cli") => Some(Provider::Program(Arc::new(agent_programs::print_mode(keys)?))),
        (Err(_), "acp") => Some(Provider::Program(Arc::new(agent_programs::acp(keys)?))),
        (Err(_), "tool") => Some(Provider::Tool(Box::new(tool_model(keys)?))),
        (Err(_), "replay") => Some(Provider::Replay(replay(keys)?)),
        (Err(_), _) => None,
    }
}

fn tool_model(keys: &KeyReader) -> Option<ToolModel> {
    let word = |key: &str| keys.fixed(key).map(|word| word.value);
    let answer = word("answer").map(|path| path.split('.').map(str::to_owned).collect());
    let (prompt, system) = (word("prompt"), word("system"));
    Some(ToolModel {
        tool: keys.name("tool")?,
        prompt: prompt.unwrap_or_else(|| "prompt".to_owned()),
        system,
        answer: answer.unwrap_or_default(),
    })
}

/// Replies in a file of their own, or written here.
fn scripted(keys: &KeyReader) -> Option<Arc<Replies>> {
    if keys.get("replies")?.as_map().is_some() {
        return Some(Arc::new(by_step(keys)));
    }
    let path = keys.name("replies")?;
    let answer = keys.lower.world().replies(keys.lower.file, &path.value);
    keys.lower.found(FileRole::Replies, &path.value, path.span, answer)
}

fn replay(keys: &KeyReader) -> Option<PathBuf> {
    let folder = keys.name("folder")?;
    let answer = keys.lower.world().existing_folder(keys.lower.file, &folder.value);
    keys.lower.found("folder of recordings", &folder.value, folder.span, answer)
}

fn amount(price: &KeyReader, key: &str) -> Option<f64> {
    let amount = price.read(key, Lower::number)?;
    if amount < 0.0 {
        return price.lower.reject(price.value_span(key), format!("{key} {amount} is below 0"), "write a price, 0 if it is free");
    }
    Some(amount)
}

/// The section `retry` of what `keys` are of, with the defaults of section 13.
pub fn retry(keys: &KeyReader) -> Option<Retry> {
    let retry = keys.section("retry", &keys::RETRY)?;
    let on = retry
        .filled_list("on")
        .map(|nodes| nodes.iter().filter_map(|node| retry.lower.word("on", node, FailureKind::RETRYABLE)?.parse().ok()).collect());
    let default = Retry::of_model_calls();
    let idle: Vec<&str> = ["delay", "backoff", "max_delay", "jitter", "on"].into_iter().filter(|key| retry.has(key)).collect();
    if let (Some(first), Some(1)) = (idle.first(), retry.get("max_attempts").and_then(|node| node.as_scalar()?.value.as_u64())) {
        let message = format!("max_attempts: 1 counts the first try, so nothing is tried again and {first} has no effect");
        let help = "write max_attempts: 2 for one more try; or retry: { max_attempts: 1 } alone, for none";
        retry.lower.report(Diagnostic::bad_value(retry.value_span("max_attempts"), message).help(help));
    }
    Some(Retry {
        max_attempts: retry.limit("max_attempts").unwrap_or(default.max_attempts),
        delay: retry.read("delay", Lower::duration_or_zero).unwrap_or(default.delay),
        backoff: retry.choice("backoff").unwrap_or(default.backoff),
        max_delay: retry.read("max_delay", Lower::duration_or_zero).unwrap_or(default.max_delay),
        jitter: retry.boolean("jitter").unwrap_or(default.jitter),
        on: on.unwrap_or(default.on),
    })
}
