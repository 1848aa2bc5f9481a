//! Values of a type that cannot stand where they stand, and slips of the finger.

use std::collections::BTreeSet;

use flow_lang::lower::keys::Takes;
use flow_lang::syntax::{Node, QuoteStyle};

use super::make::{Maker, range};

impl Maker<'_> {
    pub(super) fn wrong_types(&mut self) {
        for site in std::mem::take(&mut self.sites.values) {
            let mut at = range(site.node.span);
            let first = self.line(site.key.map_or(at.start, |key| key.span.start as usize));
            let is_block = site.node.as_scalar().is_some_and(|text| matches!(text.style, QuoteStyle::Literal | QuoteStyle::Folded));
            if let Some(key) = site.key.filter(|_| is_block) {
                at.start = key.span.end as usize + 1;
            }
            for (by, mend) in wrong_values(site.takes, site.node) {
                let by = if is_block { format!(" {by}") } else { by };
                if let Some(made) = self.add("wrong type", at.clone(), &by, first..=self.source.position(at.start as u32).line) {
                    made.names = site.key.map(|key| format!("\"{}\"", key.text)).into_iter().collect();
                    made.mend = mend;
                }
            }
            self.sites.values.push(site);
        }
    }
}

/// Names with one slip of the finger: a letter lost, doubled, swapped with its neighbour, replaced.
pub fn typos(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut found = BTreeSet::new();
    for at in 0..letters.len() {
        let mut lost = letters.clone();
        lost.remove(at);
        let mut doubled = letters.clone();
        doubled.insert(at, letters[at]);
        let mut swapped = letters.clone();
        swapped.swap(at, (at + 1).min(letters.len() - 1));
        let mut replaced = letters.clone();
        replaced[at] = if letters[at] == 'e' { 'r' } else { 'e' };
        found.extend([lost, doubled, swapped, replaced].map(|letters| letters.into_iter().collect::<String>()));
    }
    found.remove(name);
    found.remove("");
    found.into_iter().filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())).collect()
}

/// Values of a type that cannot be there, and words of the fix.
fn wrong_values(takes: &Takes, node: &Node) -> Vec<(String, Vec<String>)> {
    let with = |values: &[&str], mend: &[&str]| -> Vec<(String, Vec<String>)> {
        let mend: Vec<String> = mend.iter().map(|word| (*word).to_owned()).collect();
        values.iter().map(|value| ((*value).to_owned(), mend.clone())).collect()
    };
    let of_scalar = |mend: &[&str]| with(&["[a, b]", "{ a: b }"], mend);
    match takes {
        Takes::True => [with(&["maybe", "12"], &["true"]), of_scalar(&["true"])].concat(),
        Takes::Boolean => [with(&["maybe", "12", "\"true\"", "yes"], &["true"]), of_scalar(&["true"])].concat(),
        Takes::Duration => [with(&["60", "soon", "5 parsecs"], &["60s", "5s", "unit", "5m"]), of_scalar(&["time", "5s", "60s"])].concat(),
        Takes::Limit => [with(&["two", "-1", "0", "1.5", "true"], &["whole number", "1 or more"]), of_scalar(&["whole number"])].concat(),
        Takes::Whole => [with(&["two", "-1", "1.5", "true"], &["whole number", "1"]), of_scalar(&["whole number"])].concat(),
        Takes::Number | Takes::Positive => [with(&["much", "true"], &["number"]), of_scalar(&["number"])].concat(),
        Takes::Size => [with(&["10", "big"], &["MB"]), of_scalar(&["size", "MB"])].concat(),
        Takes::Word(words) => {
            let mut found = with(&["12", "[a, b]", "{ a: b }", "nonsense"], words);
            if let Some(scalar) = node.as_scalar() {
                let typos = typos(&scalar.text).into_iter().filter(|typo| !words.contains(&typo.as_str()));
                found.extend(typos.map(|typo| (typo, vec![scalar.text.clone()])));
            }
            found
        }
        Takes::Id | Takes::Name | Takes::Of(_) | Takes::Path | Takes::Program | Takes::Language => of_scalar(&["text", "name"]),
        Takes::Fixed | Takes::Sentence | Takes::Template | Takes::Loose | Takes::Request | Takes::Expression => {
            of_scalar(&["text", "expression"])
        }
        // One text may stand for a list with one text.
        Takes::Many(_) | Takes::List(Takes::Fixed | Takes::Sentence | Takes::Template) => with(&["{ a: b }"], &["list"]),
        Takes::Moment => of_scalar(&["time", "5s", "text"]),
        Takes::List(_) | Takes::Filled(_) | Takes::Steps => with(&["12", "{ a: b }", "some text"], &["list"]),
        Takes::Keys(_) | Takes::Named(_) | Takes::Defined(_) | Takes::Secrets | Takes::Environment | Takes::Fields | Takes::Schema => {
            with(&["12", "[a, b]", "some text"], &["keys", "name"])
        }
        Takes::Field => {
            let mut found = with(&["12", "[a, b]", "nonsense"], &["text", "type"]);
            if let Some(scalar) = node.as_scalar() {
                found.extend(typos(&scalar.text).into_iter().map(|typo| (typo, vec![scalar.text.clone()])));
            }
            found
        }
        Takes::Either(several) => {
            let all: Vec<Vec<(String, Vec<String>)>> = several.iter().map(|takes| wrong_values(takes, node)).collect();
            let Some((first, others)) = all.split_first() else { return vec![] };
            let wrong_for_all = |value: &&(String, Vec<String>)| others.iter().all(|other| other.iter().any(|(by, _)| *by == value.0));
            let mend = |value: &String| all.iter().flatten().filter(|(by, _)| by == value).flat_map(|(_, mend)| mend.clone()).collect();
            first.iter().filter(wrong_for_all).map(|(value, _)| (value.clone(), mend(value))).collect()
        }
        Takes::Value
        | Takes::Zone
        | Takes::Constant
        | Takes::Otherwise
        | Takes::Replies
        | Takes::Expected
        | Takes::Mock
        | Takes::Version => vec![],
    }
}
