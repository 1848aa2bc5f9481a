//! `agents`, `limits`.

use super::context::{Lower, quoted};
use super::ids::Ids;
use super::keys;
use super::other_file::FileRole;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use crate::diagnostic::Diagnostic;
use crate::model::{Agent, Limits, StyleGuide};
use crate::source::{Span, Spanned};
use crate::syntax::Node;
use std::sync::Arc;

/// One agent; what could not be read is left out.
pub fn agent(lower: &Lower, owner: &KeyOwner, span: Span, node: &Node) -> Agent {
    let mut agent = Agent { span, ..Agent::default() };
    let Some(keys) = KeyReader::new(lower, owner, &[&keys::AGENT], node) else { return agent };
    agent.model = keys.name("model");
    agent.instructions = keys.get("instructions").and_then(|node| lower.texts().text_or_file("instructions", owner, node));
    agent.tools = once(&keys, "tools");
    agent.agents = once(&keys, "agents");
    agent.output = keys.output();
    agent.max_turns = keys.limit("max_turns");
    agent.limits = limits(&keys);
    agent.policy = keys.name("policy");
    agent.style_guide = keys.name("style_guide").and_then(|name| style_guide(lower, &name));
    agent
}

/// The names under a key, each once (F013).
fn once(keys: &KeyReader, key: &str) -> Vec<Spanned<String>> {
    let (mut names, mut seen) = (keys.names(key).unwrap_or_default(), Ids::default());
    names.retain(|name| {
        let first = seen.take(name);
        if let Some(first) = first {
            let found = Diagnostic::duplicate_id(name.span, format!("{} is listed twice in {key} of {}", quoted(&name.value), keys.owner));
            keys.lower.report(found.related(first, "first here").help("remove one of the two"));
        }
        first.is_none()
    });
    names
}

/// The section `limits` of what `keys` are of.
pub fn limits(keys: &KeyReader) -> Limits {
    let Some(limits) = keys.section("limits", &keys::LIMITS) else { return Limits::default() };
    Limits { max_parallel: limits.limit("max_parallel"), max_steps: limits.limit("max_steps"), ..spent(keys, &limits) }
}

/// The same of a dialogue.
pub fn limits_of_dialogue(keys: &KeyReader) -> Limits {
    keys.section("limits", &keys::DIALOGUE_LIMITS).map(|limits| spent(keys, &limits)).unwrap_or_default()
}

/// Bounds on time, tokens and money.
fn spent(keys: &KeyReader, limits: &KeyReader) -> Limits {
    Limits {
        deadline: limits.read("deadline", Lower::duration),
        max_tokens: limits.limit("max_tokens"),
        max_cost_usd: limits.read("max_cost_usd", Lower::positive),
        span: Some(keys.key_span("limits")),
        ..Limits::default()
    }
}

/// A style guide by name (F025).
pub fn style_guide(lower: &Lower, name: &Spanned<String>) -> Option<Arc<StyleGuide>> {
    let answer = lower.world().style_guide(lower.file, &name.value);
    lower.found(FileRole::StyleGuide, &name.value, name.span, answer)
}

/// A channel by name (F025).
pub fn channel(lower: &Lower, name: &Spanned<String>) -> Option<Arc<crate::model::Channel>> {
    let answer = lower.world().channel(lower.file, &name.value);
    lower.found(FileRole::Channel, &name.value, name.span, answer)
}
