//! A run in virtual time: its clock jumps from timer to timer, and the player answers each request at once.

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::driver::{CallResult, Door};
use crate::engine::{CallRequest, Command, Input, Moment, Run, RunSettings};
use crate::event::{Event, RunEnd, RunStart};
use crate::plan::Plan;
use crate::port::Tape;

/// Maximum number of answers and timers of one run.
const MOST_TURNS: usize = 200_000;

/// Ranks an open call for the order of answers, from the events so far and its number.
pub(crate) type Rank<'r> = dyn FnMut(&[Event], u64) -> u64 + 'r;

/// Why a run does not end.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum EndlessRunError {
    #[error("the run does not end: nothing is awaited, and no timer is set")]
    NothingAwaited,
    #[error("the run does not end: {MOST_TURNS} answers and timers were not enough")]
    TooManyTurns,
}

/// A run in virtual time.
pub(crate) struct VirtualRun {
    pub(crate) run: Run,
    pub(crate) events: Vec<Event>,
    now: DateTime<Utc>,
    ms: u64,
    /// Open calls, oldest first.
    out: VecDeque<(u64, CallRequest)>,
    tape: Arc<dyn Tape>,
    door: Door,
    /// Which open call is answered next: 0 the oldest, otherwise by a pseudo-random sequence that starts here.
    order: u64,
}

impl VirtualRun {
    /// Creates a run that has not started.
    pub(crate) fn new(
        id: &str,
        plan: Arc<Plan>,
        options: RunSettings,
        now: DateTime<Utc>,
        tape: Arc<dyn Tape>,
        door: Door,
        order: u64,
    ) -> VirtualRun {
        let run = Run::new(id, plan, options, Moment { wall: now, ms: 0 });
        VirtualRun { run, events: vec![], now, ms: 0, out: VecDeque::new(), tape, door, order }
    }

    /// Runs to the end. `answer` receives the events so far, and a request with the number of its call.
    pub(crate) fn play(
        &mut self,
        start: RunStart,
        answer: &mut dyn FnMut(&[Event], u64, CallRequest) -> CallResult,
    ) -> Result<RunEnd, EndlessRunError> {
        self.play_in_order(start, None, answer)
    }

    /// Like [`VirtualRun::play`], but answers the call with the lowest `rank` first; among equals the oldest.
    pub(crate) fn play_in_order(
        &mut self,
        start: RunStart,
        mut rank: Option<&mut Rank<'_>>,
        answer: &mut dyn FnMut(&[Event], u64, CallRequest) -> CallResult,
    ) -> Result<RunEnd, EndlessRunError> {
        self.take(Input::Start(Box::new(start)));
        for _ in 0..MOST_TURNS {
            if let Some(end) = self.run.state().finished.clone() {
                return Ok(end);
            }
            if let Some((call, request)) = self.next_out(rank.as_deref_mut()) {
                let result = answer(&self.events, call, request);
                self.take(Input::Reply { call, result });
            } else if let Some(at) = self.run.next_timeout() {
                self.ms = self.ms.max(at);
                self.take(Input::Tick);
            } else {
                return Err(EndlessRunError::NothingAwaited);
            }
        }
        Err(EndlessRunError::TooManyTurns)
    }

    fn next_out(&mut self, rank: Option<&mut Rank<'_>>) -> Option<(u64, CallRequest)> {
        if self.order > 0 {
            // Knuth's MMIX generator: sufficient to shuffle, and reproducible.
            self.order = self.order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) | 1;
            let place = (self.order >> 33) as usize % self.out.len().max(1);
            return self.out.remove(place);
        }
        let Some(rank) = rank else { return self.out.pop_front() };
        let first = self.out.iter().enumerate().min_by_key(|(_, (call, _))| rank(&self.events, *call)).map(|(place, _)| place)?;
        self.out.remove(first)
    }

    fn take(&mut self, input: Input) {
        let wall = TimeDelta::try_milliseconds(self.ms as i64).and_then(|ms| self.now.checked_add_signed(ms)).unwrap_or(self.now);
        self.run.handle(self.door.pass(input), Moment { wall, ms: self.ms });
        while let Some(event) = self.run.next_event() {
            self.tape.watch(&event);
            self.events.push(event);
        }
        while let Some(command) = self.run.next_command() {
            match command {
                Command::Call { call, request } => self.out.push_back((call, *request)),
                Command::Keep { .. } | Command::StartServer(_) => {}
                Command::Cancel { call } => self.out.retain(|(out, _)| *out != call),
            }
        }
    }
}
