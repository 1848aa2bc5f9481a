//! What the endpoint of a model wants beside its address and its key.

use super::context::quoted;
use super::keys;
use super::reader::KeyReader;
use super::tools::headers;
use crate::diagnostic::Diagnostic;
use crate::model::{EndpointSettings, Reasoning};
use crate::syntax::Node;

/// Keys of a body that are written as keys of the model, and those.
const OF_MODEL: [(&str, &str); 9] = [
    ("model", "model"),
    ("temperature", "temperature"),
    ("max_tokens", "max_output_tokens"),
    ("max_completion_tokens", "max_output_tokens"),
    ("max_output_tokens", "max_output_tokens"),
    ("seed", "seed"),
    ("reasoning_effort", "reasoning"),
    ("reasoning", "reasoning"),
    ("thinking", "reasoning"),
];

/// Keys of a body that follow from the steps: the conversation, the tools and the shape of the answer.
const OF_STEPS: [&str; 10] =
    ["messages", "input", "system", "instructions", "tools", "tool_choice", "response_format", "text", "stream", "n"];

pub(super) fn settings(keys: &KeyReader) -> EndpointSettings {
    let extra = keys.entries("extra").filter_map(|(name, node)| {
        let help = match OF_MODEL.iter().find(|(body, _)| *body == name.text) {
            Some((_, own)) => format!("write {own}: as a key of the model"),
            None if OF_STEPS.contains(&name.text.as_str()) => {
                "remove it; it follows from the steps and agents that ask the model".to_owned()
            }
            None => return Some((name.text.clone(), node.to_value())),
        };
        let message = format!("extra sets {}, which flow sets itself", quoted(&name.text));
        keys.lower.report(Diagnostic::bad_value(name.span, message).help(help));
        None
    });
    EndpointSettings {
        headers: headers(keys),
        query: keys.pairs("query").into_iter().map(|(name, value)| (name.value, value)).collect(),
        reasoning: keys.get("reasoning").and_then(|node| reasoning(keys, node)),
        context: keys.limit("context"),
        extra: extra.collect(),
        omit: keys.list("omit").map(|nodes| {
            let words = nodes.iter().filter_map(|node| keys.lower.word("omit", node, keys::OMITTED));
            words.filter_map(|word| word.parse().ok()).collect()
        }),
    }
}

fn reasoning(keys: &KeyReader, node: &Node) -> Option<Reasoning> {
    let number = node.as_scalar().and_then(|scalar| scalar.value.as_u64()).filter(|most| *most > 0);
    match number {
        Some(most) => Some(Reasoning::Budget(most)),
        None => match keys.lower.word("reasoning", node, &Reasoning::WORDS)? {
            "off" => Some(Reasoning::Off),
            word => word.parse().ok().map(Reasoning::Effort),
        },
    }
}
