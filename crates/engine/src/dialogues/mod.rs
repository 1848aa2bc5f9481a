//! `dialogue` steps: agents talk in turns until they agree, until nobody says anything new, or until a limit is reached.
//!
//! The next action follows from the turns in the state; see `next_of_dialogue`. A turn is a conversation with a model of its own, so what it costs
//! does not grow with the number of turns: the turns before it are in its prompt, the older ones in short.

mod texts;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::Context;
use crate::event::{DialogueDetails, DialogueOutput, DialogueSaid, Failure, FailureKind, Happening, TurnOutput, Usage, UsageDetails};
use crate::model::{DIALOGUE_CUT, DialogueEnd, DialogueSignal, DialogueStep, DialogueTurn, Sample, StepKind, duration_words};
use crate::names::Extra;
use crate::parts::Dialogues;
use crate::policy::from_project;
use crate::questions::{Brief, JudgeAnswer, Question};
use crate::shape::joined;
use crate::state::talk::{AskedStage, TalkStage};
use crate::state::{FrameKind, HeldTurn, NodeRef};
use crate::steps::Kind;
use crate::steps::decision::{StepDecision, Then};
use crate::template;
use crate::words::ms;

/// The next action of a `dialogue` step.
enum NextOfDialogue<'s> {
    /// Let this agent have its turn: its place in the list.
    Turn(usize),
    /// Ask this judge whether the agents agree.
    Judge(&'s str),
    /// Take no more turns.
    Close(DialogueEnd, String),
    /// Ask this agent for the summary.
    SumUp(&'s str),
    /// End the step.
    End(DialogueEnd, String),
}

impl Kind for DialogueStep {
    /// Continues after the start, a reply, a backoff, or the wait for a permit.
    fn next(&self, context: &Context, at: NodeRef) -> Result<StepDecision, Failure> {
        if !context.state.steps.node(at).decides() {
            return Ok(Then::Wait.into());
        }
        let dialogue = context.dialogues();
        Ok(match dialogue.next_of_dialogue(at, self)? {
            NextOfDialogue::Turn(place) => {
                let nobody = || Failure::new(FailureKind::Internal, "a dialogue without agents");
                Then::Ask(self.agents.get(place).ok_or_else(nobody)?.value.clone()).into()
            }
            NextOfDialogue::Judge(judge) => {
                let turns = texts::last_turns(self, dialogue.turns(at));
                Then::Judge(Box::new(Question::about_agreement(judge, turns, context.fill_text(at, &self.topic)?))).into()
            }
            NextOfDialogue::Close(ended, reason) => dialogue.close(at, ended, reason),
            NextOfDialogue::SumUp(agent) => Then::Ask(agent.to_owned()).into(),
            NextOfDialogue::End(ended, reason) => dialogue.end(at, self, ended, &reason, None).into(),
        })
    }

    fn brief(&self, context: &Context, at: NodeRef, opens: bool) -> Result<Brief, Failure> {
        let dialogue = context.dialogues();
        match (&self.summary, dialogue.closed(at)) {
            (Some(agent), Some((ended, reason))) => dialogue.summary_brief(at, self, &agent.value, *ended, reason, opens),
            _ => dialogue.turn_brief(at, self, place_of_turn(self, dialogue.turns(at)), opens),
        }
    }

    fn heard(&self, context: &Context, at: NodeRef, text: &str) -> Result<StepDecision, Failure> {
        let dialogue = context.dialogues();
        if let Some((ended, reason)) = dialogue.closed(at) {
            return Ok(dialogue.end(at, self, *ended, reason, Some(text.trim().to_owned())).into());
        }
        let turns = dialogue.turns(at);
        let place = place_of_turn(self, turns);
        let agent = &self.agents[place].value;
        let project = &context.planned_of(at).pipeline.project;
        let talk = context.state.steps.node(at).talk();
        let files = talk.into_iter().flat_map(|talk| &talk.files);
        let turn = DialogueTurn {
            number: turns.len() as u32 + 1,
            from: agent.clone(),
            to: self.agents[(place + 1) % self.agents.len()].value.clone(),
            text: text.trim().to_owned(),
            attachments: files.map(|file| from_project(project, Path::new(file))).collect(),
            policies: context.policies(at, Some(agent)).into_iter().map(|(name, _)| name.to_owned()).collect(),
        };
        let signals = texts::signals(self, turns, &turn);
        let usage = talk.map_or_else(Usage::default, |talk| talk.all_usage());
        let since =
            context.state.steps.node(at).talking.as_deref().map_or(context.state.steps.node(at).started_ms, |talking| talking.since_ms);
        let duration_ms = context.now.ms.saturating_sub(since);
        Ok(StepDecision::after(Happening::DialogueTurned { step: context.path(at), turn, signals, duration_ms, usage }))
    }

    fn unanswered(&self, context: &Context, at: NodeRef, failure: Failure) -> StepDecision {
        let dialogue = context.dialogues();
        if dialogue.closed(at).is_some() {
            return dialogue.end_without_summary(at, self, &failure);
        }
        // Without time no turn can come well to its end, whatever it failed of.
        if dialogue.is_late(at) && !dialogue.turns(at).is_empty() {
            return dialogue.close(at, DialogueEnd::Limit, format!("limits.deadline: {}", failure.message));
        }
        let agent = &self.agents[place_of_turn(self, dialogue.turns(at))].value;
        Then::Fail(Failure { message: format!("agent \"{agent}\": {}", failure.message), ..failure }, None).into()
    }

    fn not_asked(&self, context: &Context, at: NodeRef, failure: Failure) -> Result<StepDecision, Failure> {
        let dialogue = context.dialogues();
        if dialogue.closed(at).is_some() {
            return Ok(dialogue.end_without_summary(at, self, &failure));
        }
        // Who has said something is summed up; who has not has failed.
        match failure.kind == FailureKind::Limit && !dialogue.turns(at).is_empty() {
            true => Ok(dialogue.close(at, DialogueEnd::Limit, failure.message)),
            false => Err(failure),
        }
    }

    fn judged(&self, context: &Context, at: NodeRef, question: Box<Question>, answers: &[JudgeAnswer]) -> Result<StepDecision, Failure> {
        question.all_answered(answers)?;
        let (agreed, reason) = question.agreement(answers);
        let turns = context.dialogues().turns(at).len() as u32;
        Ok(StepDecision::after(Happening::DialogueJudged { step: context.path(at), turns, agreed, reason }))
    }
}

impl<'c> Dialogues<'c> {
    fn next_of_dialogue<'s>(&self, at: NodeRef, own: &'s DialogueStep) -> Result<NextOfDialogue<'s>, Failure> {
        use NextOfDialogue::{Close, End, Judge, SumUp, Turn};
        let talking = self.state.steps.node(at).talking.as_deref();
        if let Some((ended, reason)) = talking.and_then(|talking| talking.closed.clone()) {
            return Ok(own.summary.as_ref().map_or(End(ended, reason), |agent| SumUp(&agent.value)));
        }
        let turns = self.turns(at);
        let next = place_of_turn(own, turns);
        if let Some(reason) = self.agreement(at, own, turns)? {
            return Ok(Close(DialogueEnd::Agreed, reason));
        }
        let judge = own.until.judge.as_ref().filter(|_| next == 0 && !turns.is_empty());
        match talking.and_then(|talking| talking.judged.as_ref()).filter(|(after, ..)| *after as usize == turns.len()) {
            Some((_, true, reason)) => {
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                return Ok(Close(DialogueEnd::Agreed, format!("the judge says that they agree{why}")));
            }
            Some((_, false, _)) => {}
            None => {
                if let Some(judge) = judge {
                    return Ok(Judge(&judge.value));
                }
            }
        }
        let says_nothing_new = |held: &&HeldTurn| held.signals.contains(&DialogueSignal::SaysNothingNew);
        if let Some(most) = own.until.repeats
            && turns.iter().rev().take_while(says_nothing_new).count() as u64 >= most
        {
            return Ok(Close(
                DialogueEnd::Stalled,
                format!("nobody said anything new in {}", crate::diagnostic::counted(most, "turn", "turns")),
            ));
        }
        if turns.len() as u64 >= own.most_turns() {
            return Ok(Close(DialogueEnd::Limit, format!("max_turns is {}", own.most_turns())));
        }
        if let Some(most) = own.limits.deadline.filter(|_| self.is_late(at) && !turns.is_empty() && !self.is_busy(at)) {
            return Ok(Close(DialogueEnd::Limit, format!("limits.deadline is {}", duration_words(most))));
        }
        Ok(Turn(next))
    }

    /// Why the agents agree, as far as that needs no judge.
    fn agreement(&self, at: NodeRef, own: &DialogueStep, turns: &[HeldTurn]) -> Result<Option<String>, Failure> {
        if let Some(word) = &own.until.all_say {
            let says = |agent: &str| texts::last_of(turns, agent).is_some_and(|held| held.signals.contains(&DialogueSignal::SaysWord));
            if own.agents.iter().all(|agent| says(&agent.value)) {
                return Ok(Some(format!("the last turn of each says {}", word.value)));
            }
        }
        let (Some(expression), Some(last)) = (&own.until.expression, turns.last()) else { return Ok(None) };
        let all: Value = turns.iter().map(|held| turn_output(held).into_value()).collect();
        let names: [(&str, template::Value); 2] =
            [("turns", template::from_json(&all)), ("turn", template::from_json(&turn_output(last).into_value()))];
        let names: Extra = &names;
        Ok(self.names().condition_with(at, expression, names)?.then(|| format!("the expression is true: {}", expression.source)))
    }

    /// How the dialogue came to its end, once no more turns are taken.
    fn closed(self, at: NodeRef) -> Option<&'c (DialogueEnd, String)> {
        self.0.state.steps.node(at).talking.as_deref()?.closed.as_ref()
    }

    fn close(&self, at: NodeRef, ended: DialogueEnd, reason: String) -> StepDecision {
        StepDecision::after(Happening::DialogueClosed { step: self.path(at), ended, reason })
    }

    fn end(&self, at: NodeRef, own: &DialogueStep, ended: DialogueEnd, reason: &str, summary: Option<String>) -> Then {
        let turns = self.turns(at);
        let summary = summary.unwrap_or_else(|| texts::summary(own, turns, ended, reason));
        let said = said_in(own, turns, summary);
        let output = DialogueOutput { ended: ended.word().to_owned(), reason: reason.to_owned(), said };
        Then::Succeed(output.into_value(), Some(self.conversations().model_details(at)))
    }

    /// Where nobody sums up, the positions take the place of the summary: a dialogue that was held is never lost.
    fn end_without_summary(&self, at: NodeRef, own: &DialogueStep, failure: &Failure) -> StepDecision {
        let (Some(agent), Some((ended, reason))) = (&own.summary, self.closed(at)) else { return Then::Wait.into() };
        let reason = format!("{reason}; agent \"{}\" did not sum up: {}", agent.value, failure.message);
        self.end(at, own, *ended, &reason, None).into()
    }

    /// The details of a `dialogue` step that failed, or was ended from outside: what was said until then, summed up.
    pub(crate) fn dialogue_details(&self, at: NodeRef, own: &DialogueStep, failure: Option<&Failure>) -> Value {
        let turns = self.turns(at);
        let details = self.conversations().model_details(at);
        let why = failure.map_or(DIALOGUE_CUT, |failure| &failure.message);
        let is_bound = failure.is_some_and(|failure| matches!(failure.kind, FailureKind::Timeout | FailureKind::Limit));
        let closed = self
            .state
            .steps
            .node(at)
            .talking
            .as_deref()
            .and_then(|talking| talking.closed.as_ref())
            .map(|(ended, reason)| (*ended, reason.as_str()));
        let over = closed.or_else(|| (is_bound && !turns.is_empty()).then_some((DialogueEnd::Limit, why)));
        let (status, summary) = match over {
            Some((DialogueEnd::Limit, reason)) => ("timeout", texts::summary(own, turns, DialogueEnd::Limit, reason)),
            Some((ended, reason)) => ("completed", texts::summary(own, turns, ended, reason)),
            None => ("failed", texts::summary_of_failed(own, turns, failure)),
        };
        let reason = over.map_or(why, |(_, reason)| reason).to_owned();
        joined(details, DialogueDetails { status: status.to_owned(), reason, said: said_in(own, turns, summary) }.into_value())
    }

    /// The turns of a `dialogue` step.
    fn turns(self, at: NodeRef) -> &'c [HeldTurn] {
        self.0.state.steps.node(at).talking.as_deref().map(|talking| talking.turns.as_slice()).unwrap_or_default()
    }

    /// The `dialogue` step that a step is.
    pub(crate) fn dialogue(self, at: NodeRef) -> Option<&'c DialogueStep> {
        // Steps of a plan hold none.
        let is_of_file = !matches!(self.state.steps.frame(at.frame).kind, FrameKind::Written(_));
        let step = is_of_file.then(|| &self.0.planned_of(at).step(self.state.steps.node(at).step).step)?;
        let is_whole = step.for_each.is_some() && !self.state.steps.is_element(at);
        if let StepKind::Dialogue(own) = &step.kind { Some(own).filter(|_| !is_whole) } else { None }
    }

    /// The time that a dialogue has left for its next call.
    pub(crate) fn time_of_dialogue(&self, at: NodeRef) -> Option<Duration> {
        let most = self.dialogue(at)?.limits.deadline?;
        let spent = self.now.ms.saturating_sub(self.state.steps.node(at).started_ms);
        // A summary is still asked for, in a time of its own.
        let is_closed = self.state.steps.node(at).talking.as_deref().is_some_and(|talking| talking.closed.is_some());
        (!is_closed).then(|| Duration::from_millis(ms(most).saturating_sub(spent).max(1)))
    }

    fn is_late(&self, at: NodeRef) -> bool {
        self.time_of_dialogue(at).is_some_and(|left| left <= Duration::from_millis(1))
    }

    fn is_busy(&self, at: NodeRef) -> bool {
        self.state.steps.node(at).talk().is_some_and(|talk| {
            // An answer that has come counts, too.
            matches!(talk.stage(), TalkStage::Said(_))
                || talk.call().is_some()
                || talk.asked().iter().any(|asked| matches!(asked.stage, AskedStage::Out(_) | AskedStage::Inside(_)))
        })
    }
}

/// Whose turn is next: the place in the list.
fn place_of_turn(own: &DialogueStep, turns: &[HeldTurn]) -> usize {
    turns.len() % own.agents.len().max(1)
}

/// A turn as outputs and expressions have it.
fn turn_output(held: &HeldTurn) -> TurnOutput {
    let DialogueTurn { number, from, to, text, attachments, policies: _ } = held.turn.clone();
    TurnOutput { number, from, to, text, attachments, usage: UsageDetails::new(&held.usage, false) }
}

/// What was said. Of an agent that had no turn the position is an empty text.
fn said_in(own: &DialogueStep, turns: &[HeldTurn], summary: String) -> DialogueSaid {
    let last = |agent: &str| texts::last_of(turns, agent).map_or("", |held| held.turn.text.as_str());
    let positions = own.agents.iter().map(|agent| (agent.value.clone(), last(&agent.value).into())).collect();
    DialogueSaid { summary, positions, turns: turns.iter().map(turn_output).collect() }
}
