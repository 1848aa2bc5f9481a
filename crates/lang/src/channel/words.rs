//! Whole words and phrases of an author's list, in any case: found, and put in place of others.

use std::collections::HashMap;
use std::ops::Range;

use super::document::{DocumentBlock, StyledRun, each_text, plain, replace};

/// Words and phrases to look for: whole words, in any case, with any white space between them. The longest counts where several
/// fit. Made anew for each text, so it costs no more than the list is long.
pub struct Phrases {
    /// In small letters, one space between words, the longest first; with the place in the author's list.
    list: Vec<(Vec<char>, usize)>,
    /// By first character.
    begins: HashMap<char, Vec<usize>>,
}

impl Phrases {
    /// Of an author's list; empty texts in it are passed over.
    pub fn new<'a>(list: impl IntoIterator<Item = &'a str>) -> Phrases {
        let normal = list.into_iter().enumerate().map(|(index, phrase)| (normal(phrase).chars().collect::<Vec<char>>(), index));
        let mut list: Vec<_> = normal.filter(|(phrase, _)| !phrase.is_empty()).collect();
        list.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
        let mut begins: HashMap<char, Vec<usize>> = HashMap::new();
        for (at, (phrase, _)) in list.iter().enumerate() {
            begins.entry(phrase.first().copied().unwrap_or_default()).or_default().push(at);
        }
        Phrases { list, begins }
    }

    /// Where they stand, in order and apart, each with its place in the list.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut found = vec![];
        let mut before = None;
        let mut next = 0;
        for (at, now) in text.char_indices() {
            if at >= next
                && let Some(first) = now.to_lowercase().next()
                && let Some((length, index)) = self.begins.get(&first).and_then(|list| self.at(&text[at..], before, list))
            {
                found.push((at..at + length, index));
                next = at + length;
            }
            before = Some(now);
        }
        found
    }

    fn at(&self, text: &str, before: Option<char>, candidates: &[usize]) -> Option<(usize, usize)> {
        let phrases = candidates.iter().filter_map(|at| self.list.get(*at));
        for (phrase, index) in phrases {
            let starts = !(before.is_some_and(is_word) && phrase.first().copied().is_some_and(is_word));
            if let Some(length) = length_of(phrase, text).filter(|_| starts) {
                let after = text[length..].chars().next();
                if !(after.is_some_and(is_word) && phrase.last().copied().is_some_and(is_word)) {
                    return Some((length, *index));
                }
            }
        }
        None
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The bytes at the start of the text that are this phrase.
fn length_of(phrase: &[char], text: &str) -> Option<usize> {
    let mut wanted = phrase.iter().peekable();
    let mut length = 0;
    for now in text.chars() {
        if wanted.peek().is_none() {
            break;
        }
        if now.is_whitespace() {
            let was_blank = text[..length].ends_with(char::is_whitespace);
            if wanted.next_if(|wanted| **wanted == ' ').is_none() && !was_blank {
                return None;
            }
        } else if now.to_lowercase().any(|small| wanted.next() != Some(&small)) {
            return None;
        }
        length += now.len_utf8();
    }
    wanted.peek().is_none().then_some(length)
}

/// `words.prefer`: instead of the left, the right.
pub(super) struct Preferred<'a> {
    /// The right sides, in the order of `find`.
    to: Vec<&'a str>,
    find: Phrases,
    /// The right sides: what stands inside one of them is left alone, so that doing it twice changes nothing.
    settled: Phrases,
}

impl<'a> Preferred<'a> {
    /// Of a style guide's list; `None`: there is nothing to prefer.
    pub fn new(list: &'a [(String, String)]) -> Option<Preferred<'a>> {
        let direct: HashMap<String, &str> = list.iter().map(|(from, to)| (normal(from), to.as_str())).collect();
        // A list that leads from word to word is followed to its end; one that leads in a circle has none and is left out.
        let follow = |(from, _): &'a (String, String)| {
            let mut to = *direct.get(&normal(from))?;
            for _ in 0..list.len() {
                match direct.get(&normal(to)) {
                    Some(next) if normal(next) != normal(to) => to = next,
                    _ => return Some((from.as_str(), to)),
                }
            }
            None
        };
        let (from, to): (Vec<&str>, Vec<&str>) = list.iter().filter_map(follow).unzip();
        let settled = Phrases::new(to.iter().copied());
        (!from.is_empty()).then(|| Preferred { find: Phrases::new(from), to, settled })
    }

    /// Puts the words in place: in text, not in code and addresses; again as long as new words are beside old ones.
    pub fn apply(&self, blocks: &mut [DocumentBlock]) {
        each_text(blocks, false, |runs| {
            for _ in 0..4 {
                let text = plain(runs);
                let changes = self.changes(&text, &fixed(runs));
                if changes.is_empty() {
                    break;
                }
                replace(runs, &changes);
            }
        });
    }

    fn changes(&self, text: &str, fixed: &[Range<usize>]) -> Vec<(Range<usize>, String)> {
        let found = self.find.find(text);
        if found.is_empty() {
            return vec![];
        }
        let settled: Vec<Range<usize>> = self.settled.find(text).into_iter().map(|(range, _)| range).collect();
        // Both lists are in order and their ranges apart, so the first range that ends behind a place is the only one to ask.
        let first = |ranges: &[Range<usize>], after: usize| ranges.get(ranges.partition_point(|range| range.end <= after)).cloned();
        let mut changes = vec![];
        for (range, index) in found {
            let (Some(to), Some(old)) = (self.to.get(index), text.get(range.clone())) else { continue };
            let is_settled = first(&settled, range.start).is_some_and(|known| known.start <= range.start && range.end <= known.end);
            let is_fixed = first(fixed, range.start).is_some_and(|fixed| fixed.start < range.end);
            let new = as_written(old, to);
            if new != old && !is_settled && !is_fixed && !is_in_name(text, &range) {
                changes.push((range, new));
            }
        }
        changes
    }
}

/// Whether words stand in a name that must stay as it is: of an address, a host, a path, a file, a handle, an option, a number of an order.
fn is_in_name(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].chars().next_back();
    let mut after = text[range.end..].chars();
    let (first, second) = (after.next(), after.next());
    let goes_on = second.is_some_and(|c| c.is_alphanumeric() || c == '_');
    // Placeholders and code: `{{client}}`, `<client>`, `client()`, `client[0]`, `client->x`.
    let is_code = before == Some('{')
        || before == Some('<') && first == Some('>')
        || ["()", "[", "->", "::"].iter().any(|sign| text[range.end..].starts_with(sign));
    is_code
        || before.is_some_and(|c| "@#$%&/\\+=~-.:".contains(c))
        || first.is_some_and(|c| "@/\\+=~".contains(c) || "-.:#$%&".contains(c) && goes_on)
}

/// Small letters and single spaces, to compare by.
fn normal(phrase: &str) -> String {
    phrase.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The bytes of code and addresses.
fn fixed(runs: &[StyledRun]) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut ranges = vec![];
    for run in runs {
        let range = at..at + run.text.len();
        at = range.end;
        let is_address = run.whole && (run.link.is_none() || run.link.as_deref().is_some_and(|link| link.ends_with(run.text.as_str())));
        if run.style.code || is_address {
            ranges.push(range);
        }
    }
    ranges
}

/// The new words with the capitals of the old ones: `Time units` becomes `Hours`, `TIME UNITS` `HOURS`. New words that have
/// capitals of their own stay as they are.
fn as_written(old: &str, new: &str) -> String {
    if new.chars().any(char::is_uppercase) {
        return new.to_owned();
    }
    let letters = old.chars().filter(|c| c.is_alphabetic());
    if letters.clone().count() > 1 && letters.clone().all(char::is_uppercase) {
        return new.to_uppercase();
    }
    let mut rest = new.chars();
    match (old.chars().next().is_some_and(char::is_uppercase), rest.next()) {
        (true, Some(first)) => first.to_uppercase().chain(rest).collect(),
        _ => new.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(list: &[(&str, &str)], text: &str) -> String {
        let list: Vec<(String, String)> = list.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        let mut blocks = vec![DocumentBlock::paragraph(vec![StyledRun::plain(text)])];
        Preferred::new(&list).expect("a list").apply(&mut blocks);
        plain(&blocks[0].runs)
    }

    #[test]
    fn whole_words_change_in_any_case_and_keep_their_capitals() {
        let list = [("time units", "hours"), ("utilise", "use")];
        assert_eq!(
            apply(&list, "Time units: 3 time\nunits, TIME UNITS. We utilised, I Utilise."),
            "Hours: 3 hours, HOURS. We utilised, I Use."
        );
    }

    #[test]
    fn a_word_inside_its_own_replacement_is_left_alone() {
        let list = [("hours", "working hours")];
        let once = apply(&list, "32 hours");
        assert_eq!(once, "32 working hours");
        assert_eq!(apply(&list, &once), once);
    }

    #[test]
    fn chains_lead_to_their_end_and_circles_stop() {
        assert_eq!(apply(&[("a1", "b1"), ("b1", "c1")], "a1 b1 c1"), "c1 c1 c1");
        assert_eq!(apply(&[("a1", "b1"), ("b1", "a1"), ("x1", "y1")], "a1 b1 x1"), "a1 b1 y1");
    }

    #[test]
    fn names_stay_as_they_are() {
        let list = [("client", "customer")];
        for name in [
            "client@client.example", "{{client}}", "${client}", "<client>", "client()", "client[0]", "client->x", "client::x",
            "first.client@x.example", "client+tag@x.example", "client.example/client", "//client.example", "@client", "#client", "$client",
            "/srv/client/data", "C:\\client\\x", "--client", "--for=client", "client/ID-client-7", "sub-client", "client-facing",
            "client.pdf", "client:8080", "client_1",
        ] {
            assert_eq!(apply(&list, &format!("The client: {name}, client.")), format!("The customer: {name}, customer."));
        }
        assert_eq!(
            apply(&list, "Client's \"client\" (client), clients- and client- or client… client? A client.\nClient:"),
            "Customer's \"customer\" (customer), clients- and customer- or customer… customer? A customer.\nCustomer:"
        );
    }

    #[test]
    fn signs_at_the_edge_need_no_word_border() {
        assert_eq!(apply(&[("C++", "Rust"), ("e-mail", "email")], "C++, e-mail and E-Mails"), "Rust, email and E-Mails");
    }
}
