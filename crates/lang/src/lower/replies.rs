//! Scripted replies: in files of their own, and in tests.

use super::context::Lower;
use super::foreign::foreign;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::values::wrong_type;
use super::world::World;
use super::written_form::written_form;
use crate::diagnostic::{Diagnostic, nearest};
use crate::model::{JUDGE_CRITERION, JUDGE_REPLY, Replies, ReplyBody, ReplySet, ScriptedReply};
use crate::source::{FileId, Spanned};
use crate::syntax::{MapKey, Node};

/// Reads a file of scripted replies.
pub fn replies(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Replies {
    let lower = Lower::new(file, world, diagnostics);
    let Some(keys) = lower.root(tree, &keys::REPLIES, "this file of scripted replies") else { return Replies::default() };
    keys.sentence("description");
    let meanings = keys.list("meanings").unwrap_or_default();
    let meanings: Vec<Vec<String>> = meanings.iter().filter_map(|node| group(&lower, node)).collect();
    if !keys.has("replies") && !keys.has("meanings") {
        keys.missing("has no replies", "add replies: by step, or meanings: of a model that makes vectors");
    }
    Replies { meanings, ..by_step(&keys) }
}

/// Words that mean the same.
fn group(lower: &Lower, node: &Node) -> Option<Vec<String>> {
    let words = lower.filled_list("meanings", node)?.iter();
    Some(words.filter_map(|word| lower.name("meanings", word)).map(|word| word.value).collect())
}

/// The section `replies`.
pub fn by_step(keys: &KeyReader) -> Replies {
    let sets = keys.entries("replies").filter_map(|(step, node)| Some((step.text.clone(), reply_set(keys.lower, step, node)?)));
    Replies { by_step: sets.collect(), meanings: vec![] }
}

fn reply_set(lower: &Lower, step: &MapKey, node: &Node) -> Option<ReplySet> {
    let Some(list) = node.as_list() else { return reply(lower, step, node).map(ReplySet::Every) };
    if list.is_empty() {
        lower.empty(&format!("replies of {}", step.text), node.span);
        return None;
    }
    let replies: Vec<ScriptedReply> = list.iter().filter_map(|node| reply(lower, step, node)).collect();
    Some(match replies.iter().any(|reply| reply.when.is_some() || reply.action.is_some()) {
        true => ReplySet::Matching(replies),
        false => ReplySet::InTurn(replies),
    })
}

fn reply(lower: &Lower, step: &MapKey, node: &Node) -> Option<ScriptedReply> {
    let owner = KeyOwner::Quoted(step.text.clone()).part("the reply");
    if node.as_map().is_none() {
        let body = match node.as_scalar().is_some_and(|scalar| scalar.text == "passed") {
            true => ReplyBody::Passed,
            false => ReplyBody::Text(lower.texts().text(&format!("replies.{}", step.text), node)?),
        };
        return Some(ScriptedReply { span: step.span, when: None, action: None, body, usage: None });
    }
    let known = |key: &MapKey| keys::REPLY.key(&key.text).is_some() || foreign(&key.text, &[keys::REPLY.name]).is_some();
    if let Some(map) = node.as_map().filter(|map| !map.entries.is_empty() && !map.entries.iter().any(|(key, _)| known(key))) {
        let near = map.entries.iter().any(|(key, _)| !nearest(&key.text, keys::REPLY.keys.iter().map(|key| key.name)).is_empty());
        if !near {
            let value = written_form(&node.to_value()).unwrap_or_else(|| "{ … }".to_owned());
            let message = format!("{owner} has no key of a reply, only data of its own");
            let found = wrong_type(node, message);
            let step = &step.text;
            lower.report(match step == JUDGE_REPLY {
                true => found.help(format!("write {step}: passed, or {step}: {{ failed: {{ {JUDGE_CRITERION}: why }} }}")),
                false => found
                    .help(format!("write data: {value} for the answer of a model"))
                    .help(format!("write mocks: {{ {step}: {value} }} in place of replies, if that step asks no model")),
            });
            return None;
        }
    }
    let keys = KeyReader::new(lower, owner, &[&keys::REPLY], node)?;
    let (when, action, usage) = (keys.expression("when"), keys.choice("action"), usage(&keys));
    keys.check_one_of(&keys::BODIES);
    let bodies: Vec<ReplyBody> = keys::BODIES.iter().filter(|key| keys.get(key).is_some()).filter_map(|key| body(&keys, key)).collect();
    if !keys::BODIES.iter().any(|key| keys.has(key)) {
        keys.missing("says nothing", &format!("add one of: {}", keys::BODIES.join(", ")));
    }
    bodies.into_iter().next().map(|body| ScriptedReply { span: step.span, when, action, body, usage })
}

fn body(keys: &KeyReader, key: &str) -> Option<ReplyBody> {
    let lower = keys.lower;
    match key {
        "text" => keys.text("text").map(ReplyBody::Text),
        "data" => keys.get("data").map(|node| ReplyBody::Data(lower.texts().filling(node))),
        "calls" => {
            let calls = keys.filled_list("calls")?.iter().filter_map(|node| {
                let call = KeyReader::new(lower, "a call", &[&keys::REPLY_CALL], node)?;
                let with = call
                    .get("with")
                    .map(|node| lower.texts().filling(node))
                    .unwrap_or_else(|| crate::model::Filling::Constant(serde_json::json!({})));
                Some((call.name("tool")?, with))
            });
            Some(ReplyBody::Calls(calls.collect()))
        }
        "error" => keys.choice("error").map(ReplyBody::Error),
        "passed" => match keys.boolean("passed")? {
            true => Some(ReplyBody::Passed),
            false => {
                let message = "passed: false does not say which criteria fail";
                lower.reject(keys.key_span("passed"), message, "write failed: { criterion: feedback }")
            }
        },
        _ => {
            let criteria = keys.entries("failed").filter_map(|(criterion, node)| {
                Some((Spanned::new(criterion.text.clone(), criterion.span), lower.texts().loose_text(&criterion.text, node)?))
            });
            Some(ReplyBody::Failed(criteria.collect()))
        }
    }
}

fn usage(keys: &KeyReader) -> Option<(u64, u64)> {
    let usage = keys.section("usage", &keys::REPLY_USAGE)?;
    Some((usage.read("input_tokens", Lower::whole).unwrap_or(0), usage.read("output_tokens", Lower::whole).unwrap_or(0)))
}
