//! Whether a text has personal data.

use super::judge::CheckResult;
use crate::channel::clean;
use crate::redact::find_pii;

/// No personal data. The evidence shows only how it begins, as it is kept in the record of the run.
pub(super) fn none(text: &str) -> CheckResult {
    let (text, _) = clean(text);
    match find_pii(&text).into_iter().next() {
        None => CheckResult::passed(),
        Some(found) => {
            let start: String = text.get(found.range).unwrap_or_default().chars().take(2).collect();
            CheckResult::failed(format!("The text has personal data: {}.", found.kind.described()), format!("{start}…"))
        }
    }
}
