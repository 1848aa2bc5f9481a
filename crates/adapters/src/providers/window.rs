//! Whether a prompt fits into the window of its model. Endpoints such as Ollama cut one that does not, without a word.

use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{ModelReply, ModelRequest};

/// Counts of small prompts say nothing: a server may count only what it has not cached.
const LEAST_WORDS: u64 = 200;

/// The fewest tokens that a prompt can have: no tokenizer in use joins words that blanks separate.
fn words(request: &ModelRequest) -> u64 {
    request.messages.iter().map(|message| message.text.split_whitespace().count() as u64).sum()
}

/// Fails where a prompt cannot fit into the window that the file states.
pub(super) fn fits(request: &ModelRequest) -> Result<(), Failure> {
    let Some(context) = request.endpoint.context.filter(|context| words(request) > *context) else { return Ok(()) };
    let message = format!("the prompt has {} words, more than the {context} tokens of the model's window (context)", words(request));
    Err(Failure::new(FailureKind::TooLarge, message))
}

/// What the token counts of an answer tell of a prompt that was cut.
pub(super) fn cut(request: &ModelRequest, reply: &ModelReply) -> Option<String> {
    let used = reply.usage?.input_tokens;
    let words = words(request);
    let is_full = request.endpoint.context.is_some_and(|context| used >= context);
    let is_less = words >= LEAST_WORDS && used > 0 && words > used + used / 4;
    let advice = if request.endpoint.context.is_some() {
        "raise context, or shorten the prompt"
    } else {
        "set context of the model, or shorten the prompt"
    };
    (is_full || is_less).then(|| format!("the endpoint read {used} tokens of a prompt of {words} words, so it cut the prompt; {advice}"))
}
