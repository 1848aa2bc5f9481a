//! `task`: what is made, what it must meet, and how often it is tried.

use strum::VariantNames;

use super::checks::{accept_items, scorecard_ref};
use super::context::Lower;
use super::history::history;
use super::reader::KeyReader;
use super::started::{check_variables, needs};
use super::texts::is_filled;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Accept, ArtefactKind, MOST_TRIES, TaskStep, Text};
use crate::syntax::Node;

pub(super) fn task(keys: &KeyReader) -> Option<TaskStep> {
    let (agent, prompt, judge) = (keys.name("task"), keys.text("prompt"), keys.name("judge"));
    let artefact = keys.get("artefact").and_then(|node| artefact(keys.lower, node));
    let accept = keys.get("accept").and_then(|node| accept(keys, node));
    let attach = keys.read("attach", |lower, key, node| lower.texts().expressions(key, node));
    let with = keys.pairs("with");
    check_variables(keys);
    let (max_attempts, identical) = (max_attempts(keys), keys.limit("stop_on_identical_failures"));
    Some(TaskStep {
        agent: agent?,
        prompt: prompt?,
        artefact: artefact?,
        accept: accept?,
        judge,
        attach,
        with,
        pictures: keys.boolean("pictures").unwrap_or(false),
        needs: needs(keys),
        max_attempts,
        stop_on_identical_failures: identical,
        history: history(keys),
    })
}

/// One of the words, or a text with `{{ … }}` that gives one.
fn artefact(lower: &Lower, node: &Node) -> Option<Text> {
    if !is_filled(node) {
        lower.word("artefact", node, ArtefactKind::VARIANTS)?;
    }
    lower.texts().text("artefact", node)
}

/// A list of texts and criteria; else the name of a scorecard, or an expression.
fn accept(keys: &KeyReader, node: &Node) -> Option<Accept> {
    let Some(list) = node.as_list() else {
        if node.as_map().is_some() {
            keys.lower.wrong("accept", node, "a list of texts or criteria, the name of a scorecard, or an expression");
            return None;
        }
        return scorecard_ref(keys.lower, "accept", node).map(Accept::Card);
    };
    if list.is_empty() {
        let message = format!("{} has nothing in accept, so no work could be accepted", keys.owner);
        let found = Diagnostic::new(Code::TaskUnmeasured, node.span, message);
        keys.lower.report(found.help("write what the work must meet, one text each, such as: The result names each city once."));
    }
    Some(Accept::Listed(accept_items(keys, list)))
}

fn max_attempts(keys: &KeyReader) -> Option<u64> {
    if !keys.has("max_attempts") {
        let message = format!("{} has no \"max_attempts\", so nothing says when it gives up", keys.owner);
        no_end(keys, "task", message, "add max_attempts: with the most tries, such as 5");
    }
    bounded(keys, "max_attempts", MOST_TRIES)
}

/// F310: work of a kind without a bound, which could go on for ever.
pub(super) fn no_end(keys: &KeyReader, kind: &str, message: String, help: &str) {
    keys.lower.report(Diagnostic::new(Code::NoEnd, keys.key_span(kind), message).help(help));
}

/// A number under a key, which is at most `most`.
pub(super) fn bounded(keys: &KeyReader, key: &str, most: u64) -> Option<u64> {
    let number = keys.limit(key)?;
    if number > most {
        let message = format!("\"{key}\" of {} is {number}; at most {most} are allowed", keys.owner);
        let span = keys.get(key).map_or(keys.key_span(key), |node| node.span);
        keys.lower.report(Diagnostic::too_large(span, message).help(format!("write {most} or less")));
    }
    Some(number)
}
