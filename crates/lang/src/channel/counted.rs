//! Numbers before lines that are no numbers of a list: `18. November`, `3. Dezember`, `26. 6. 2019`. Markdown reads them as a list and counts it from
//! its first number on; what is not counted like that is text.

use std::collections::HashSet;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::clean::shows;
use super::definitions::Events;

/// A list that is being read.
struct OpenNumbers {
    /// The byte at which it begins.
    at: usize,
    /// Its numbers; `None`: it has none.
    numbers: Option<Vec<u64>>,
    /// An element begins with another number, or is empty.
    is_text: bool,
}

/// Where lists begin that are text. Numbered ones: whose numbers do not follow each other, of a single element but 0 and 1, and those with an element
/// that is empty, or begins with another number.
pub(super) fn uncounted(events: &Events<'_>, text: &str) -> HashSet<usize> {
    let (mut open, mut found) = (Vec::<OpenNumbers>::new(), HashSet::new());
    // Whether each open element shows something.
    let mut shown: Vec<bool> = vec![];
    let mut begins_item = false;
    for (event, range) in events {
        match event {
            Event::Start(Tag::List(first)) => {
                let is_text = begins_item && first.is_some() && open.last().is_some_and(|outer| outer.numbers.is_some());
                open.iter_mut().last().into_iter().for_each(|outer| outer.is_text |= is_text);
                open.push(OpenNumbers { at: range.start, numbers: first.map(|_| vec![]), is_text });
            }
            Event::Text(text) | Event::Code(text) if shows(text) => shown.iter_mut().for_each(|shown| *shown = true),
            // A quote stands by itself, without the number before it.
            Event::Start(Tag::BlockQuote(_)) => {
                open.iter_mut().rev().zip(shown.iter().rev()).filter(|(_, shown)| !**shown).for_each(|(list, _)| list.is_text = true);
            }
            Event::Start(Tag::Item) => {
                shown.push(false);
                let digits = marker(text, range.start).trim_end_matches(['.', ')']);
                if let Some(list) = open.last_mut()
                    && let Some(numbers) = &mut list.numbers
                {
                    let number = digits.parse().ok().filter(|number: &u64| number.to_string() == digits);
                    // `01.` is written as it is.
                    list.is_text |= number.is_none();
                    numbers.extend(number);
                }
            }
            Event::End(TagEnd::Item) => {
                let is_empty = shown.pop() == Some(false);
                open.iter_mut().last().into_iter().for_each(|list| list.is_text |= is_empty);
            }
            Event::End(TagEnd::List(_)) => {
                let list = open.pop();
                found.extend(list.filter(|list| list.numbers.as_ref().is_some_and(|all| list.is_text || !follow(all))).map(|list| list.at));
            }
            _ => {}
        }
        begins_item = matches!(event, Event::Start(Tag::Item));
    }
    found
}

fn follow(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
        && (numbers.len() > 1 || numbers.first().is_none_or(|first| *first <= 1))
}

/// What an element begins with, as it is written: `18.`, `3)`.
pub(super) fn marker(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..digits + 1).filter(|marker| digits > 0 && marker.ends_with(['.', ')'])).unwrap_or_default()
}
