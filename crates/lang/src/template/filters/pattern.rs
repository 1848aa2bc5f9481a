//! The filter `regex_replace`: an engine that needs time in step with the length of the text, whatever the pattern.

use std::cell::RefCell;

use regex::Regex;

use super::super::Value;
use super::super::patterns;
use super::super::print::{kind_and_value, shortened};
use super::super::stop::FillStop;
use super::call::FilterCall;

/// What compiling a pattern counts for, in bytes of work.
const COMPILING: usize = 64 * 1024;

fn compiled(pattern: &str) -> Result<Regex, FillStop> {
    patterns::compile(pattern).map_err(|why| FillStop::failed(format!("the pattern \"{}\" {why}", shortened(pattern))))
}

/// Whether a pattern that is written out can be used.
pub(super) fn check_pattern(pattern: &Value) -> Result<(), FillStop> {
    match pattern.as_str() {
        Some(text) => compiled(text).map(drop),
        None => Err(FillStop::failed(format!("the pattern of this filter is a text, not {}", kind_and_value(pattern)))),
    }
}

/// Puts a text in place of each part that fits; `$1` or `${name}` in it is what a group of the pattern found.
pub(super) fn regex_replace(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    thread_local! {
        /// The last pattern: it is the same for all elements of a list.
        static LAST: RefCell<Option<Regex>> = const { RefCell::new(None) };
    }
    let text = call.text()?;
    let pattern = call.text_argument(0)?.unwrap_or_default();
    let replacement = call.text_argument(1)?.unwrap_or_default();
    let known = LAST.take().filter(|last| last.as_str() == pattern);
    let regex = match known {
        Some(regex) => regex,
        None => {
            call.budget.bytes(COMPILING)?;
            compiled(pattern)?
        }
    };
    let (mut replaced, mut end) = (String::new(), 0);
    for found in regex.captures_iter(&text) {
        let Some(whole) = found.get(0) else { continue };
        let before = replaced.len();
        replaced.push_str(&text[end..whole.start()]);
        found.expand(replacement, &mut replaced);
        call.budget.bytes(replaced.len() - before)?;
        call.budget.within(replaced.len())?;
        end = whole.end();
    }
    replaced.push_str(&text[end..]);
    LAST.set(Some(regex));
    call.give(replaced)
}
