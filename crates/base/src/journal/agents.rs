//! Agents in the record of a run: whether each is busy, waits for a retry or has failed.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::event::{Event, Happening, ModelAnswer, StepPath};

/// An agent whose model was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name.
    pub agent: String,
    /// Its status.
    pub status: AgentStatus,
    /// When it took on this status.
    pub since: DateTime<Utc>,
    /// How often its model was called.
    pub calls: usize,
    /// How many of these calls failed.
    pub failures: usize,
}

/// The status of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AgentStatus {
    /// It has answered, and no call is open.
    Available,
    /// A call of its model is open.
    Busy,
    /// Its last call failed and is not retried.
    Failed,
    /// Its last call failed and will be retried.
    Maintenance,
}

has_word!(AgentStatus);

/// The agents of a run after some of its events.
#[derive(Default)]
pub(super) struct AgentsAtWork {
    all: BTreeMap<String, AgentAtWork>,
}

struct AgentAtWork {
    record: AgentRecord,
    /// Open calls, each with its step.
    out: BTreeMap<u64, StepPath>,
    /// Steps in which it was the last agent called.
    asked_in: BTreeSet<StepPath>,
    /// Steps that wait for their next attempt.
    waits: BTreeSet<StepPath>,
    /// Whether its last reply was a failure.
    has_failed: bool,
}

impl AgentAtWork {
    fn status(&self) -> AgentStatus {
        match (self.out.is_empty(), self.waits.is_empty(), self.has_failed) {
            (false, _, _) => AgentStatus::Busy,
            (true, false, _) => AgentStatus::Maintenance,
            (true, true, true) => AgentStatus::Failed,
            (true, true, false) => AgentStatus::Available,
        }
    }

    /// Forgets a step that ended or starts again.
    fn leaves(&mut self, step: &StepPath) {
        self.out.retain(|_, of| of != step);
        self.waits.remove(step);
        self.asked_in.remove(step);
    }
}

impl AgentsAtWork {
    /// Returns all agents that were called, by name.
    pub(super) fn records(&self) -> Vec<AgentRecord> {
        self.all.values().map(|agent| agent.record.clone()).collect()
    }

    /// Applies an event.
    pub(super) fn take(&mut self, event: &Event) {
        self.follow(event);
        for agent in self.all.values_mut() {
            let status = agent.status();
            if agent.record.status != status {
                (agent.record.status, agent.record.since) = (status, event.time);
            }
        }
    }

    fn follow(&mut self, event: &Event) {
        if let Some((step, _)) = event.happening.step_status() {
            self.all.values_mut().for_each(|agent| agent.leaves(step));
        }
        match &event.happening {
            Happening::ModelCalled { step, call, agent, .. } => {
                // The same step may call another agent: a judge, or the next speaker of a dialogue.
                for other in self.all.values_mut() {
                    other.asked_in.remove(step);
                }
                let agent = self.all.entry(agent.clone()).or_insert_with(|| AgentAtWork::new(agent, event.time));
                agent.record.calls += 1;
                agent.waits.remove(step);
                agent.asked_in.insert(step.clone());
                agent.out.insert(*call, step.clone());
            }
            Happening::ModelReplied { call, reply, .. } => {
                let Some(agent) = self.all.values_mut().find(|agent| agent.out.contains_key(call)) else { return };
                agent.out.remove(call);
                agent.has_failed = match reply {
                    ModelAnswer::Said { .. } => false,
                    ModelAnswer::Failed(_) => true,
                };
                agent.record.failures += usize::from(agent.has_failed);
            }
            Happening::AttemptFailed { step, .. } => {
                for agent in self.all.values_mut().filter(|agent| agent.has_failed && agent.asked_in.contains(step)) {
                    agent.waits.insert(step.clone());
                }
            }
            // Open calls are lost when the process ends.
            Happening::RunResumed { .. } => self.all.values_mut().for_each(|agent| agent.out.clear()),
            Happening::RunFinished(_) => self.all.values_mut().for_each(|agent| {
                agent.out.clear();
                agent.waits.clear();
            }),
            _ => {}
        }
    }
}

impl AgentAtWork {
    fn new(name: &str, since: DateTime<Utc>) -> AgentAtWork {
        let record = AgentRecord { agent: name.to_owned(), status: AgentStatus::Available, since, calls: 0, failures: 0 };
        AgentAtWork { record, out: BTreeMap::new(), asked_in: BTreeSet::new(), waits: BTreeSet::new(), has_failed: false }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::event::Usage;

    /// Returns the agents after each event: name, status, the second it began, failures and calls.
    fn course(happenings: Vec<Value>) -> Vec<String> {
        let mut agents = AgentsAtWork::default();
        let told = |one: &AgentRecord| {
            format!("{} {} {} {}/{}", one.agent, one.status.word(), one.since.timestamp() % 60, one.failures, one.calls)
        };
        let after_each = happenings.into_iter().enumerate().map(|(at, mut fields)| {
            fields["v"] = json!(crate::event::VERSION);
            fields["seq"] = json!(at + 1);
            fields["time"] = json!(format!("2026-01-01T00:00:{at:02}Z"));
            fields["at_ms"] = json!(0);
            fields["run"] = json!("r");
            agents.take(&serde_json::from_value(fields).unwrap());
            agents.records().iter().map(told).collect::<Vec<_>>().join(", ")
        });
        after_each.collect()
    }

    fn called(step: &str, call: u64, agent: &str) -> Value {
        json!({
            "type": "model_called", "step": step, "call": call, "agent": agent, "model": "m", "purpose": "turn", "attempt": 1,
            "timeout_at_ms": 9, "messages": [], "reserved_tokens": 0,
        })
    }

    fn replied(step: &str, call: u64, is_well: bool) -> Value {
        let failure = json!({ "kind": "timeout", "message": "late" });
        let reply = if is_well {
            ModelAnswer::Said { text: "x".into(), calls: vec![], model: None, session: None, files: vec![], state: None, notes: vec![] }
        } else {
            ModelAnswer::Failed(serde_json::from_value(failure).unwrap())
        };
        json!({ "type": "model_replied", "step": step, "call": call, "reply": reply, "duration_ms": 1, "usage": Usage::default() })
    }

    fn retries(step: &str) -> Value {
        json!({ "type": "attempt_failed", "step": step, "attempt": 1, "failure": { "kind": "timeout", "message": "late" }, "retry_at_ms": 5 })
    }

    fn failed(step: &str) -> Value {
        json!({ "type": "step_failed", "step": step, "failure": { "kind": "timeout", "message": "late" }, "attempts": 2 })
    }

    #[test]
    fn an_agent_is_busy_waits_for_its_next_try_and_is_available_again() {
        let events = vec![called("a", 1, "w"), replied("a", 1, false), retries("a"), called("a", 2, "w"), replied("a", 2, true)];
        let expected = ["w busy 0 0/1", "w failed 1 1/1", "w maintenance 2 1/1", "w busy 3 1/2", "w available 4 1/2"];
        assert_eq!(course(events), expected);
    }

    #[test]
    fn an_agent_whose_last_try_failed_for_good_has_failed() {
        let events =
            vec![called("a", 1, "w"), replied("a", 1, false), retries("a"), failed("a"), called("b", 2, "w"), replied("b", 2, true)];
        let expected = ["w busy 0 0/1", "w failed 1 1/1", "w maintenance 2 1/1", "w failed 3 1/1", "w busy 4 1/2", "w available 5 1/2"];
        assert_eq!(course(events), expected);
    }

    #[test]
    fn each_agent_is_told_by_its_own_calls_and_one_that_works_somewhere_is_busy() {
        let events = vec![
            called("a", 1, "w"),
            called("b", 2, "w"),
            replied("a", 1, false),
            retries("a"),
            called("b2", 3, "judge"),
            replied("b", 2, true),
            json!({ "type": "step_cancelled", "step": "b2" }),
        ];
        let told = course(events);
        assert_eq!(told[3], "w busy 0 1/2");
        assert_eq!(told[4], "judge busy 4 0/1, w busy 0 1/2");
        assert_eq!(told[5], "judge busy 4 0/1, w maintenance 5 1/2", "its other step still waits");
        assert_eq!(told[6], "judge available 6 0/1, w maintenance 5 1/2");
    }

    #[test]
    fn a_try_of_a_step_in_which_another_agent_answered_is_nothing_of_this_one() {
        let events = vec![
            called("a", 1, "writer"),
            replied("a", 1, true),
            called("a", 2, "judge"),
            replied("a", 2, false),
            retries("a"),
            json!({ "type": "run_resumed", "away_ms": 0 }),
            json!({ "type": "run_finished", "status": "failed", "outputs": null, "usage": Usage::default() }),
        ];
        let told = course(events);
        assert_eq!(told[4], "judge maintenance 4 1/1, writer available 1 0/1");
        assert_eq!(told[6], "judge failed 6 1/1, writer available 1 0/1");
        let lost = course(vec![called("a", 1, "w"), json!({ "type": "run_resumed", "away_ms": 0 })]);
        assert_eq!(lost[1], "w available 1 0/1");
    }
}
