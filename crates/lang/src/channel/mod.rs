//! Text → parts for one channel, by the channel file's own limits and markup. Pure.
//!
//! The way of a text: [`fn@clean`] → `parse` (Markdown → a flat document) → `words`, `emoji`, `greeting` → `degrade` (what the channel
//! cannot show becomes plain text) → `split` at the places that `breaks` found → `body` (document → what is sent).
//!
//! How to add a Markdown feature: a field of `model::Features`, its reading in `parse`, its plain text in `degrade`, its writing in
//! each file of `body`. How to add a length unit: a variant of `model::LengthUnit` and its arm in `measure`.

mod address;
mod body;
mod breaks;
mod clean;
mod counted;
mod definitions;
mod degrade;
mod document;
mod emoji;
mod emphasis;
mod escape;
mod format;
mod greeting;
mod lookalike;
mod measure;
mod months;
mod output;
mod parse;
mod prompt;
mod salutation;
mod sentence;
mod split;
mod stand_ins;
mod tags;
mod terminal;
mod words;

pub use clean::{clean, cleaned, shows};
pub use emoji::count_emojis;
pub(crate) use emoji::is_emoji;
pub(crate) use emphasis::marked_events;
pub(crate) use escape::escape_cell;
pub use escape::escape_markdown;
pub(crate) use format::read_without_marks;
pub use format::{MisfitError, fits, format, format_without};
pub use greeting::{greeting, greets, sign_off};
pub(crate) use greeting::{is_greeted, is_signed, without_greeting, without_sign_off};
pub use measure::measure;
pub(crate) use months::{month, months};
pub use output::{FormatError, Formatted, MessagePart, Output};
pub use prompt::{prompt, style_prompt};
pub(crate) use salutation::{closing, opening};
pub(crate) use sentence::sentence_ends;
pub use terminal::{TerminalBlock, terminal_blocks};
pub use words::Phrases;

#[cfg(test)]
mod tests;
