//! `dialogue` steps: agents talk in turns until they agree, until nobody says anything new, or until a limit is reached.
//!
//! The next action follows from the turns in the state; see `next_of_dialogue`. A turn is a conversation with a model of its own, so what it costs
//! does not grow with the number of turns: the turns before it are in its prompt, the older ones in short.

mod texts;

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::Run;
use crate::event::{Failure, FailureKind, Happening, Usage};
use crate::gates::Question;
use crate::model::{DIALOGUE_CUT, DialogueEnd, DialogueSignal, DialogueStep, DialogueTurn, StepKind, duration_words};
use crate::model_calls::conversation::CallOutcome;
use crate::names::Extra;
use crate::parts::Dialogues;
use crate::policy::from_project;
use crate::state::talk::{AskedStage, TalkStage};
use crate::state::{FrameKind, HeldTurn, NodeRef, StepWork};
use crate::steps::Kind;
use crate::template;
use crate::words::ms;

/// The next action of a `dialogue` step.
enum NextOfDialogue {
    /// Let this agent have its turn: its place in the list.
    Turn(usize),
    /// Ask the judge whether the agents agree.
    Judge,
    /// Take no more turns.
    Close(DialogueEnd, String),
    /// Ask for the summary.
    SumUp,
    /// End the step.
    End(DialogueEnd, String),
}

impl Kind for DialogueStep {
    /// Continues after the start, a reply, a backoff, or the wait for a permit.
    fn go_on(&self, run: &mut Run, at: NodeRef) -> Result<(), Failure> {
        while run.state.node(at).ended_by.is_none()
            && !run.state.node(at).status.is_final()
            && !matches!(run.state.node(at).work, StepWork::Call(_))
        {
            let goes_on = match run.dialogues().next_of_dialogue(at, self)? {
                NextOfDialogue::Turn(place) => run.take_turn(at, self, place)?,
                NextOfDialogue::Judge => run.judge_dialogue(at, self)?,
                NextOfDialogue::Close(ended, reason) => run.close_dialogue(at, ended, reason),
                NextOfDialogue::SumUp => run.sum_up(at, self)?,
                NextOfDialogue::End(ended, reason) => run.end_dialogue(at, self, ended, reason, None),
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

impl<'c> Dialogues<'c> {
    fn next_of_dialogue(&self, at: NodeRef, own: &DialogueStep) -> Result<NextOfDialogue, Failure> {
        use NextOfDialogue::{Close, End, Judge, SumUp, Turn};
        let talking = self.state.talking(at);
        if let Some((ended, reason)) = talking.and_then(|talking| talking.closed.clone()) {
            return Ok(if own.summary.is_some() { SumUp } else { End(ended, reason) });
        }
        let turns = self.turns(at);
        let next = turns.len() % own.agents.len().max(1);
        if let Some(reason) = self.agreement(at, own, turns)? {
            return Ok(Close(DialogueEnd::Agreed, reason));
        }
        let has_round = next == 0 && !turns.is_empty() && own.until.judge.is_some();
        match talking.and_then(|talking| talking.judged.as_ref()).filter(|(after, ..)| *after as usize == turns.len()) {
            Some((_, true, reason)) => {
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                return Ok(Close(DialogueEnd::Agreed, format!("the judge says that they agree{why}")));
            }
            Some((_, false, _)) => {}
            None if has_round => return Ok(Judge),
            None => {}
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
        let all: Value = turns.iter().map(told).collect();
        let names: [(&str, template::Value); 2] = [("turns", template::from_json(&all)), ("turn", template::from_json(&told(last)))];
        let names: Extra = &names;
        Ok(self.names().condition_with(at, expression, names)?.then(|| format!("the expression is true: {}", expression.source)))
    }

    /// The details of a `dialogue` step that failed, or was ended from outside: what was said until then, summed up.
    pub(crate) fn dialogue_details(&self, at: NodeRef, own: &DialogueStep, failure: Option<&Failure>) -> Value {
        let turns = self.turns(at);
        let mut details = self.conversations().model_details(at);
        let why = failure.map_or(DIALOGUE_CUT, |failure| &failure.message);
        let is_bound = failure.is_some_and(|failure| matches!(failure.kind, FailureKind::Timeout | FailureKind::Limit));
        let closed = self.state.talking(at).and_then(|talking| talking.closed.as_ref()).map(|(ended, reason)| (*ended, reason.as_str()));
        let over = closed.or_else(|| (is_bound && !turns.is_empty()).then_some((DialogueEnd::Limit, why)));
        details["status"] = json!(match over {
            Some((DialogueEnd::Agreed | DialogueEnd::Stalled, _)) => "completed",
            Some((DialogueEnd::Limit, _)) => "timeout",
            None => "failed",
        });
        details["reason"] = json!(over.map_or(why, |(_, reason)| reason));
        details["summary"] = json!(match over {
            Some((ended, reason)) => texts::summary(own, turns, ended, reason),
            None => texts::summary_of_failed(own, turns, failure),
        });
        details["positions"] = json!(positions(own, turns));
        details["turns"] = turns.iter().map(told).collect();
        details
    }

    /// The turns of a `dialogue` step.
    fn turns(self, at: NodeRef) -> &'c [HeldTurn] {
        self.0.state.talking(at).map(|talking| talking.turns.as_slice()).unwrap_or_default()
    }

    /// The `dialogue` step that a step is.
    pub(crate) fn dialogue(self, at: NodeRef) -> Option<&'c DialogueStep> {
        // Steps of a plan hold none.
        let is_of_file = !matches!(self.state.frame(at.frame).kind, FrameKind::Written(_));
        let step = is_of_file.then(|| &self.0.planned_of(at).step(self.state.node(at).step).step)?;
        let is_whole = step.for_each.is_some() && !self.state.is_element(at);
        if let StepKind::Dialogue(own) = &step.kind { Some(own).filter(|_| !is_whole) } else { None }
    }

    /// The time that a dialogue has left for its next call.
    pub(crate) fn time_of_dialogue(&self, at: NodeRef) -> Option<Duration> {
        let most = self.dialogue(at)?.limits.deadline?;
        let spent = self.now.ms.saturating_sub(self.state.node(at).started_ms);
        // A summary is still asked for, in a time of its own.
        let is_closed = self.state.talking(at).is_some_and(|talking| talking.closed.is_some());
        (!is_closed).then(|| Duration::from_millis(ms(most).saturating_sub(spent).max(1)))
    }

    fn is_late(&self, at: NodeRef) -> bool {
        self.time_of_dialogue(at).is_some_and(|left| left <= Duration::from_millis(1))
    }

    fn is_busy(&self, at: NodeRef) -> bool {
        self.state.talk(at).is_some_and(|talk| {
            // An answer that has come counts, too.
            matches!(talk.stage(), TalkStage::Said(_))
                || talk.call().is_some()
                || talk.asked().iter().any(|asked| matches!(asked.stage, AskedStage::Out(_) | AskedStage::Inside(_)))
        })
    }
}

impl Run {
    /// Lets an agent have its turn; returns whether the step continues at once.
    fn take_turn(&mut self, at: NodeRef, own: &DialogueStep, place: usize) -> Result<bool, Failure> {
        let Some(agent) = own.agents.get(place).map(|agent| agent.value.as_str()) else {
            return Err(Failure::new(FailureKind::Internal, "a dialogue without agents"));
        };
        let said = match self.talks().said_by(at, agent, &|run, opens| run.dialogues().turn_brief(at, own, place, opens)) {
            // Who has said something is summed up; who has not has failed.
            Err(failure) if failure.kind == FailureKind::Limit && !self.dialogues().turns(at).is_empty() => {
                return Ok(self.close_dialogue(at, DialogueEnd::Limit, failure.message));
            }
            said => said?,
        };
        match said {
            CallOutcome::Waiting => Ok(false),
            CallOutcome::Said(text) => {
                let turns = self.dialogues().turns(at);
                let to = &own.agents[(place + 1) % own.agents.len()].value;
                let project = &self.planned_of(at).pipeline.project;
                let files = self.state.talk(at).into_iter().flat_map(|talk| &talk.files);
                let turn = DialogueTurn {
                    number: turns.len() as u32 + 1,
                    from: agent.to_owned(),
                    to: to.clone(),
                    text: text.trim().to_owned(),
                    attachments: files.map(|file| from_project(project, Path::new(file))).collect(),
                    policies: self.policies(at, Some(agent)).into_iter().map(|(name, _)| name.to_owned()).collect(),
                };
                let signals = texts::signals(own, turns, &turn);
                let usage = self.state.talk(at).map_or_else(Usage::default, |talk| talk.all_usage());
                let since = self.state.talking(at).map_or(self.state.node(at).started_ms, |talking| talking.since_ms);
                let duration_ms = self.now.ms.saturating_sub(since);
                self.emit(Happening::DialogueTurned { step: self.path(at), turn, signals, duration_ms, usage });
                Ok(true)
            }
            // Without time no turn can come well to its end, whatever it failed of.
            CallOutcome::Failed(failure) if self.dialogues().is_late(at) && !self.dialogues().turns(at).is_empty() => {
                Ok(self.close_dialogue(at, DialogueEnd::Limit, format!("limits.deadline: {}", failure.message)))
            }
            CallOutcome::Failed(failure) => {
                let failure = Failure { message: format!("agent \"{agent}\": {}", failure.message), ..failure };
                self.fail(at, failure, None);
                Ok(false)
            }
        }
    }

    /// Asks the judge; returns whether the step continues at once.
    fn judge_dialogue(&mut self, at: NodeRef, own: &DialogueStep) -> Result<bool, Failure> {
        let Some(judge) = &own.until.judge else { return Ok(false) };
        let question =
            Question::about_agreement(&judge.value, texts::last_turns(own, self.dialogues().turns(at)), self.fill_text(at, &own.topic)?);
        let Some(answers) = self.judges().ask_judges(at, &question)? else { return Ok(false) };
        if let Some(failure) = question.unanswered(&answers) {
            return Err(Failure { message: format!("the judge could not answer: {}", failure.message), ..failure });
        }
        let (agreed, reason) = question.agreement(&answers);
        self.emit(Happening::DialogueJudged { step: self.path(at), turns: self.dialogues().turns(at).len() as u32, agreed, reason });
        Ok(true)
    }

    fn close_dialogue(&mut self, at: NodeRef, ended: DialogueEnd, reason: String) -> bool {
        self.emit(Happening::DialogueClosed { step: self.path(at), ended, reason });
        true
    }

    /// Asks for the summary. Where there is none, the positions take its place: a dialogue that was held is never lost.
    fn sum_up(&mut self, at: NodeRef, own: &DialogueStep) -> Result<bool, Failure> {
        let (Some(summary), Some((ended, reason))) = (&own.summary, self.state.talking(at).and_then(|talking| talking.closed.clone()))
        else {
            return Err(Failure::new(FailureKind::Internal, "a summary of a dialogue that goes on"));
        };
        let said = self
            .talks()
            .said_by(at, &summary.value, &|run, opens| run.dialogues().summary_brief(at, own, &summary.value, ended, &reason, opens));
        match said {
            Ok(CallOutcome::Waiting) => Ok(false),
            Ok(CallOutcome::Said(text)) => Ok(self.end_dialogue(at, own, ended, reason, Some(text.trim().to_owned()))),
            Ok(CallOutcome::Failed(failure)) | Err(failure) => {
                let reason = format!("{reason}; agent \"{}\" did not sum up: {}", summary.value, failure.message);
                Ok(self.end_dialogue(at, own, ended, reason, None))
            }
        }
    }

    fn end_dialogue(&mut self, at: NodeRef, own: &DialogueStep, ended: DialogueEnd, reason: String, summary: Option<String>) -> bool {
        let turns = self.dialogues().turns(at);
        let summary = summary.unwrap_or_else(|| texts::summary(own, turns, ended, &reason));
        let output = json!({
            "ended": ended.word(),
            "reason": reason,
            "summary": summary,
            "positions": positions(own, turns),
            "turns": turns.iter().map(told).collect::<Value>(),
        });
        let details = self.conversations().model_details(at);
        self.succeed(at, output, Some(details));
        false
    }
}

/// A turn as outputs and expressions have it. When it was and how long it took is in the record: an output is the same when a run is repeated.
fn told(held: &HeldTurn) -> Value {
    let DialogueTurn { number, from, to, text, attachments, policies: _ } = &held.turn;
    let Usage { input_tokens, output_tokens, cost_usd, .. } = &held.usage;
    let total = held.usage.total_tokens();
    json!({
        "number": number, "from": from, "to": to, "text": text, "attachments": attachments,
        "usage": { "input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": total, "cost_usd": cost_usd },
    })
}

/// What each agent said last; of one that had no turn an empty text.
fn positions(own: &DialogueStep, turns: &[HeldTurn]) -> Map<String, Value> {
    let last = |agent: &str| texts::last_of(turns, agent).map_or("", |held| held.turn.text.as_str());
    own.agents.iter().map(|agent| (agent.value.clone(), json!(last(&agent.value)))).collect()
}
