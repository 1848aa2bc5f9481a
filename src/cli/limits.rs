//! Bounds that the command line gives.

use super::refusal::Refusal;
use crate::model::Limits;

/// Limits of flags.
pub(super) fn limits(deadline: Option<&str>, max_cost_usd: Option<f64>) -> Result<Limits, Refusal> {
    let deadline = deadline.map(crate::model::parse_duration).transpose().map_err(|what| Refusal::usage(format!("--deadline {what}")))?;
    if deadline.is_some_and(|time| time.is_zero()) {
        return Err(Refusal::usage("--deadline must be above 0; write a time such as 30s"));
    }
    Ok(Limits { deadline, max_cost_usd, ..Limits::default() })
}
