//! `dialogue`: who talks, about what, and what ends it.

use super::agents::limits_of_dialogue;
use super::keys;
use super::reader::KeyReader;
use super::task::{bounded, no_end};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{DialogueStep, Form, MOST_DIALOGUE_TURNS, Text, Until};
use crate::source::Spanned;

pub(super) fn dialogue(keys: &KeyReader) -> Option<DialogueStep> {
    let name = |node| keys.lower.name("dialogue", node);
    let agents = keys.list("dialogue").map(|nodes| nodes.iter().filter_map(name).collect());
    let topic = keys.text("topic").filter(|topic| !is_blank(keys, topic));
    let attach = keys.read("attach", |lower, key, node| lower.texts().expressions(key, node));
    let (limits, summary) = (limits_of_dialogue(keys), keys.name("summary"));
    let max_turns = max_turns(keys, limits.span.is_some());
    let until = until(keys);
    let own = DialogueStep { agents: agents?, topic: topic?, attach, max_turns, until, limits, summary, policy: keys.name("policy") };
    check_participants(keys, &own);
    Some(own)
}

/// A topic that says nothing: there would be nothing to talk about.
fn is_blank(keys: &KeyReader, topic: &Text) -> bool {
    let is_blank = topic.form == Form::Plain && topic.source.trim().is_empty();
    if is_blank {
        let help = "write what they are to talk about, such as topic: Is this change right?";
        keys.lower.reject::<()>(keys.value_span("topic"), format!("\"topic\" of {} is empty", keys.owner), help);
    }
    is_blank
}

fn until(keys: &KeyReader) -> Until {
    let Some(until) = keys.section("until", &keys::UNTIL) else { return Until::default() };
    Until {
        all_say: until.name("all_say"),
        judge: until.name("judge"),
        repeats: until.limit("repeats"),
        expression: until.expression("expression"),
    }
}

fn max_turns(keys: &KeyReader, has_limits: bool) -> Option<u64> {
    if !keys.has("max_turns") && !has_limits {
        let message = format!("{} has neither \"max_turns\" nor \"limits\", so nothing says when it ends", keys.owner);
        no_end(keys, "dialogue", message, "add max_turns: with the most turns, such as 6");
    }
    bounded(keys, "max_turns", MOST_DIALOGUE_TURNS)
}

/// F311: fewer than two agents, one of them twice, or a judge that judges itself.
fn check_participants(keys: &KeyReader, own: &DialogueStep) {
    let found = |span, message: String| Diagnostic::new(Code::DialogueParticipants, span, message);
    if own.agents.len() < 2 {
        let message = format!("{} has {} agent; a dialogue needs two or more", keys.owner, own.agents.len());
        keys.lower.report(found(keys.value_span("dialogue"), message).help("name another agent"));
    }
    let is_in = |name: &Spanned<String>, agents: &[Spanned<String>]| agents.iter().any(|agent| agent.value == name.value);
    for (place, agent) in own.agents.iter().enumerate() {
        if is_in(agent, &own.agents[..place]) {
            let name = &agent.value;
            let message = format!("agent \"{name}\" is in the dialogue twice");
            let help =
                format!("write {name}_2 here, and add {name}_2: {{ instructions: … }} below agents, with what the second one is to say");
            keys.lower.report(found(agent.span, message).help(help));
        }
    }
    if let Some(judge) = own.until.judge.as_ref().filter(|judge| is_in(judge, &own.agents)) {
        let message = format!("agent \"{}\" talks in the dialogue and judges whether it agrees with the others", judge.value);
        let found =
            found(judge.span, message).help(format!("remove {} from dialogue, or name a judge that does not talk in it", judge.value));
        let talks = own.agents.iter().find(|agent| agent.value == judge.value);
        keys.lower.report(talks.into_iter().fold(found, |found, agent| found.related(agent.span, "talks here")));
    }
}
