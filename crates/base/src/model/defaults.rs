//! Defaults and fixed bounds that several rooms must agree on (docs/language.md, section 13).

use std::time::Duration;

use super::{Backoff, FailureKind, Retry};

/// How often an answer of the wrong shape is sent back.
pub const MOST_REPAIRS: u32 = 2;
/// Rounds of tool calls when `max_turns` is not written.
pub const MOST_TURNS: u64 = 10;
/// Steps that a run may start, and pipelines that it may call, when `limits.max_steps` is not written. Each takes memory and lines of the
/// journal, and calls in calls double soon.
pub const MOST_STEP_RUNS: u64 = 1_000_000;
/// See [`MOST_STEP_RUNS`].
pub const MOST_CALLED: u64 = 10_000;
/// Steps of a plan when `max_steps` is not written.
pub const MOST_PLAN_STEPS: u64 = 10;
/// Plans of a `plan` step when `rounds` is not written.
pub(crate) const MOST_PLANS: u64 = 1;
/// Equal failures of a `task` in a row after which it gives up, when `stop_on_identical_failures` is not written.
pub const IDENTICAL_FAILURES: u64 = 3;
/// The most tries that a `task` may have: each is kept in the record with its code and its verdicts.
pub const MOST_TRIES: u64 = 20;
/// How often a plan that was rejected is sent back.
pub const MOST_PLAN_REPAIRS: u32 = 1;
/// The model of an agent that names none; `FLOW_MODEL` can put another in its place.
pub const DEFAULT_MODEL: &str = "default";
/// Messages of a conversation that a run sees when `keep` is not written.
pub const KEPT_MESSAGES: u64 = 50;
/// Time for one try of a model call when neither `timeout` nor the step's `deadline` is written.
pub const MODEL_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest silence of a model when neither `timeout` nor the step's `deadline` is written: not one byte arrives, not even a ping.
pub const MODEL_SILENCE: Duration = Duration::from_secs(60);
/// Time for one call of a program that is an agent.
pub const AGENT_PROGRAM_TIMEOUT: Duration = Duration::from_secs(600);
/// Most tokens of an answer of a judge or a planner when the model has no `max_output_tokens`; one that thinks first needs most of them.
pub const ANSWER_TOKENS: u64 = 2_048;
/// Tokens that are set aside for an answer when nothing bounds it: no `max_output_tokens` of its model, and no kind of answer that has a bound of its own.
pub const UNBOUNDED_ANSWER: u64 = 4_096;
/// Fewest and most tokens that the length of a channel bounds a reply to, when the model has no `max_output_tokens`.
pub const REPLY_TOKENS: (u64, u64) = (1_024, 4_096);
/// Time for one call: an HTTP request, a tool, a sending.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for one query, and for reading files.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for one search in documents, with the reading of those that are new.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(300);
/// Pieces that a search gives when `top` is not written, and the most.
pub const FOUND_PIECES: u64 = 5;
/// See [`FOUND_PIECES`].
pub const MOST_FOUND: u64 = 50;
/// Time to connect when `connect_timeout` is not written.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Rows of a query when `max_rows` is not written.
pub const MOST_ROWS: u64 = 1_000;
/// Calls of a run, elements of a list and steps of a plan at once when `max_parallel` is not written.
pub const MOST_PARALLEL: u64 = 8;
/// Parts of a text when `most_parts` of a channel is not written.
pub const MOST_PARTS: u64 = 10;
/// The number of a part when `indicator` of a channel is not written.
pub const INDICATOR: &str = "({part}/{parts})";
/// What ends a text that was cut when `too_long` of a channel is not written.
pub const TOO_LONG: &str = "The rest was left out.";
/// The place of the person's name in a greeting of one's own.
pub const PERSON_NAME: &str = "{name}";
/// Fewest characters of a criterion's description.
pub const SHORTEST_DESCRIPTION: usize = 10;
/// Time that `on_failure` has, and `finally`.
pub const STAGE_TIME: Duration = Duration::from_secs(60);

impl Retry {
    /// `retry` of a request with a written `idempotency_key`, when nothing is written.
    pub fn of_keyed_requests() -> Retry {
        Retry { on: vec![FailureKind::RateLimited, FailureKind::ServerError, FailureKind::Connection], ..Retry::of_model_calls() }
    }

    /// `retry` of a model call, when nothing is written; also what a written `retry` leaves out.
    pub fn of_model_calls() -> Retry {
        Retry {
            max_attempts: 3,
            delay: Duration::from_secs(1),
            backoff: Backoff::Exponential,
            max_delay: Duration::from_secs(60),
            jitter: true,
            on: vec![
                FailureKind::RateLimited,
                FailureKind::ServerError,
                FailureKind::Connection,
                FailureKind::Timeout,
                FailureKind::BadResponse,
            ],
        }
    }
}
/// The statuses of an answer that leads elsewhere. They are not followed, so a request that gets one fails.
pub const REDIRECTS: [u64; 5] = [301, 302, 303, 307, 308];
