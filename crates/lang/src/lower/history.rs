//! `history`: what the agent that does the work of a step sees of the conversation.

use super::keys::{KEPT_HISTORY, OWN_HISTORY};
use super::reader::KeyReader;
use crate::model::History;

/// True, false, `own` or `kept`.
pub(super) fn history(keys: &KeyReader) -> History {
    let Some(node) = keys.get("history") else { return History::Nothing };
    match node.as_scalar().filter(|scalar| scalar.value.is_string()) {
        Some(scalar) if *scalar.text == *OWN_HISTORY => History::Own,
        Some(scalar) if *scalar.text == *KEPT_HISTORY => History::Kept,
        Some(_) => {
            keys.lower.wrong("history", node, "true, false, own, or kept");
            History::Nothing
        }
        None if keys.boolean("history") == Some(true) => History::Conversation,
        None => History::Nothing,
    }
}
