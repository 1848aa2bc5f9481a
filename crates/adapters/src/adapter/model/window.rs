//! Whether a prompt fits into the window of its model. Endpoints such as Ollama cut one that does not, without a word.

use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::ModelRequest;

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
