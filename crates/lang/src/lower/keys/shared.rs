//! Keys that stand in several places.

use strum::VariantNames;

use super::Takes::{Boolean, Duration, Filled, Limit, Path, Positive, Word};
use super::{KeyTable, key, required};
use crate::model::Backoff;

/// `{ file: … }` where a text or a schema may stand.
pub static FILE: KeyTable = KeyTable { name: "file", keys: &[required!("file", Path, "the file that holds it")] };

/// `limits` of a run or an agent.
pub(crate) static LIMITS: KeyTable = KeyTable {
    name: "limits",
    keys: &[
        key!("deadline", Duration, "time for the whole of it"),
        key!("max_parallel", Limit, "most calls at once"),
        key!("max_tokens", Limit, "most tokens, in and out"),
        key!("max_cost_usd", Positive, "most money, in US dollars"),
        key!("max_steps", Limit, "most step runs in total"),
    ],
};

/// `retry`.
pub(crate) static RETRY: KeyTable = KeyTable {
    name: "retry",
    keys: &[
        key!("max_attempts", Limit, "all tries together"),
        key!("delay", Duration, "the first wait"),
        key!("backoff", Word(Backoff::VARIANTS), "how waits grow"),
        key!("max_delay", Duration, "the longest wait"),
        key!("jitter", Boolean, "whether waits are shortened by chance"),
        key!(
            "on",
            Filled(&Word(&["rate_limited", "server_error", "connection", "timeout", "bad_response", "unknown_outcome"])),
            "which failures are tried again",
        ),
    ],
};
