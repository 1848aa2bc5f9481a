//! "Did you mean": the nearest of the names allowed at a place.

use std::fmt;

use super::quoted;

/// The nearest names to `written`, best first, at most three. At most 1 edit for names up to 4 letters, 2 up to 8, 3 above;
/// a swap of neighbours is one edit. Empty rather than wrong.
pub fn nearest<'a>(written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let length = written.chars().count();
    let most = if length <= 4 {
        1
    } else if length <= 8 {
        2
    } else {
        3
    };
    let lower: Vec<char> = written.to_lowercase().chars().collect();
    let mut other: Vec<char> = vec![];
    let mut found: Vec<(usize, &str)> = vec![];
    for name in allowed {
        // Most names are too long or too short; that is seen at once.
        if name == written || (name.is_ascii() && name.len().abs_diff(lower.len()) > most) {
            continue;
        }
        other.clear();
        other.extend(name.chars().flat_map(char::to_lowercase));
        let edits = distance(&lower, &other, most);
        // Two edits and another beginning are another word: `version` is not `person`.
        let begins_alike = edits < 2 || lower.iter().take(2).any(|c| other.first() == Some(c)) || lower.first() == other.get(1);
        if edits <= most && edits < name.chars().count() && begins_alike {
            found.push((edits, name));
        }
    }
    found.sort();
    found.dedup();
    let best = found.first().map(|(edits, _)| *edits);
    found.into_iter().filter(|(edits, _)| Some(*edits) == best).map(|(_, name)| name).take(3).collect()
}

/// Words of other tools, and those that say the same here.
const SAME: &[(&[&str], &[&str])] = &[
    (&["ok", "success", "successful", "passed", "done", "completed", "complete", "approved"], &["succeeded"]),
    (&["error", "errored", "failure", "fail"], &["failed"]),
    (&["not_chosen", "pending", "none"], &["not_run"]),
    (&["true", "yes", "on", "always"], &["required", "full"]),
    (&["false", "no", "off", "never", "disabled"], &["none"]),
    (&["ask", "confirm"], &["prompt"]),
    (&["allow"], &["auto"]),
    (&["human"], &["user"]),
    (&["bot", "ai", "model"], &["assistant"]),
    (&["postgres", "postgresql", "mysql", "mssql", "bigquery"], &["sqlite"]),
    (&["query"], &["sql"]),
    (&["max_turns", "max_rounds", "turns"], &["limit"]),
    (&["deal", "done", "agree", "consensus", "yes"], &["agreed"]),
    (&["429"], &["rate_limited"]),
    (&["408", "504", "timed out"], &["timeout"]),
    (&["runner_system_failure", "system_failure", "api_failure"], &["server_error"]),
    (&["500", "502", "503"], &["unavailable", "server_error"]),
    (&["content", "page_content", "body", "chunk", "message"], &["text"]),
    (&["source", "metadata", "path"], &["file"]),
    (&["messages", "result", "last_message"], &["summary"]),
    (&["data", "json", "content"], &["body"]),
    (&["content", "result", "text", "value"], &["output"]),
    (&["conclusion", "state", "outcome"], &["status"]),
    (&["type", "code", "class"], &["kind"]),
    (&["error", "reason", "text"], &["message"]),
    (&["prompt_tokens"], &["input_tokens"]),
    (&["completion_tokens"], &["output_tokens"]),
    (&["mobile", "telephone", "cell"], &["phone"]),
    (&["mail", "e_mail"], &["email"]),
    (&["2", "1.5", "exp"], &["exponential"]),
];

/// The one of these names that says the same as a word of another tool, or is written with the same words: `succeeded` for `ok`, `brand_name`
/// for `brand`, `production` for `prod`. For where no name is near.
pub fn akin<'a>(written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed: Vec<&str> = allowed.into_iter().collect();
    let small = written.to_lowercase();
    let ours = SAME.iter().filter(|(words, _)| words.contains(&small.as_str())).flat_map(|(_, ours)| *ours);
    if let Some(same) = ours.filter_map(|ours| allowed.iter().find(|name| *name == ours)).next() {
        return Some(same);
    }
    let (words, plain) = (words(written), plain(written));
    let mut alike = allowed.iter().copied().filter(|name| {
        let other = self::plain(name);
        let begins = plain.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let shorter = plain.len().min(other.len());
        begins >= 3 && (begins == shorter || begins >= 6) || self::words(name).iter().any(|word| word.len() > 1 && words.contains(word))
    });
    alike.next().filter(|_| alike.next().is_none()).or_else(|| moment(&words, &allowed))
}

/// The only one of these names that is a moment, for a word that is one: `opened_on` for `created_at`.
fn moment<'a>(written: &[String], allowed: &[&'a str]) -> Option<&'a str> {
    let is_moment = |words: &[String]| words.len() > 1 && words.last().is_some_and(|last| ["at", "on", "date", "time"].contains(&&**last));
    let mut moments = allowed.iter().filter(|name| is_moment(&words(name)));
    moments.next().copied().filter(|_| is_moment(written) && moments.next().is_none())
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn words(name: &str) -> Vec<String> {
    name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).filter(|word| !word.is_empty()).collect()
}

/// Names that may be meant by another one. In a message it is its end, `; did you mean "a" or "b"?`, or nothing when none is near; a
/// finding keeps it as data, too ([`super::Diagnostic::near`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Near {
    /// What is written.
    pub written: String,
    /// What may be meant, best first.
    pub names: Vec<String>,
}

impl Near {
    /// These names for what is written.
    pub fn new<N: Into<String>>(written: &str, names: impl IntoIterator<Item = N>) -> Near {
        Near { written: written.to_owned(), names: names.into_iter().map(Into::into).collect() }
    }

    /// The end of a message; this one when no name is near.
    pub fn or(&self, other: &str) -> String {
        if self.is_empty() { other.to_owned() } else { self.to_string() }
    }

    /// Whether no name is near.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.iter().map(|name| quoted(name)).collect();
        if names.is_empty() { Ok(()) } else { write!(f, "; did you mean {}?", names.join(" or ")) }
    }
}

/// The nearest names, for the end of a message.
pub fn did_you_mean<'a>(written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Near {
    Near::new(written, nearest(written, allowed))
}

/// As [`did_you_mean`], of a time zone that does not exist: by its city, or by its letters.
pub fn did_you_mean_zone(written: &str) -> Near {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
    let wanted = plain(written.trim());
    let zones = || chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
    let is_so = |zone: &&str| plain(zone) == wanted || zone.rsplit('/').next().is_some_and(|city| plain(city) == wanted);
    let so: Vec<&str> = zones().filter(is_so).take(3).collect();
    if so.is_empty() { did_you_mean(written, zones()) } else { Near::new(written, so) }
}

/// Most names that one [`Hints`] compares.
const MOST_COMPARISONS: usize = 25_000;

/// "Did you mean" for checks of large files: looks through long lists only so often, so that many mistakes do not make the
/// check slow. The same file always gets the same hints.
#[derive(Debug)]
pub struct Hints {
    left: std::cell::Cell<usize>,
}

impl Default for Hints {
    fn default() -> Hints {
        Hints { left: std::cell::Cell::new(MOST_COMPARISONS) }
    }
}

impl Hints {
    /// As [`nearest`]; empty when too many names were compared before.
    pub fn nearest<'a>(&self, written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let left = self.left.get();
        let allowed: Vec<&str> = allowed.into_iter().take(left).collect();
        self.left.set(left - allowed.len());
        nearest(written, allowed)
    }

    /// As [`akin`]; `None` when too many names were compared before.
    pub fn akin<'a>(&self, written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let left = self.left.get();
        let allowed: Vec<&str> = allowed.into_iter().take(left).collect();
        self.left.set(left - allowed.len());
        akin(written, allowed)
    }

    /// As [`did_you_mean`]; empty when too many names were compared before.
    pub fn did_you_mean<'a>(&self, written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Near {
        Near::new(written, self.nearest(written, allowed))
    }
}

/// Edits between two texts (insert, delete, change, swap of neighbours); gives up above `most`.
fn distance(a: &[char], b: &[char], most: usize) -> usize {
    // What both begin and end with needs no edit.
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut before_last: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        // A swap may still fix what stands one row above.
        if row.iter().chain(&last).all(|edits| *edits > most) {
            return most + 1;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giving_up_early_changes_no_answer() {
        let names = ["ab", "ba", "abc", "acb", "xabc", "bacd", "abdc", "abcd", "dabc", "a", "", "abcdefgh", "bacdfegh", "ABCD", "äbcd"];
        for a in names {
            for b in names {
                let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
                let full = distance(&a, &b, 99);
                for most in 0..4 {
                    assert_eq!(distance(&a, &b, most).min(most + 1), full.min(most + 1), "{a:?} {b:?} {most}");
                }
            }
        }
    }

    #[test]
    fn a_time_zone_is_found_by_its_city_and_by_its_letters() {
        for written in ["Berlin", "berlin", "europe/berlin", "Europe/Berlni"] {
            assert_eq!(did_you_mean_zone(written).to_string(), "; did you mean \"Europe/Berlin\"?", "{written}");
        }
        assert_eq!(did_you_mean_zone("New York").to_string(), "; did you mean \"America/New_York\"?");
        assert!(did_you_mean_zone("somewhere else").is_empty());
    }

    #[test]
    fn a_swap_is_one_edit_and_short_names_allow_one() {
        assert_eq!(nearest("promt", ["prompt", "needs"]), ["prompt"]);
        assert_eq!(nearest("wehn", ["when", "then"]), ["when"]);
        assert_eq!(Near::new("c", ["a", "b"]).to_string(), "; did you mean \"a\" or \"b\"?");
        assert_eq!(Near::default().to_string(), "");
        assert!(nearest("on", ["id", "when"]).is_empty());
        assert!(nearest("version", ["person", "inputs"]).is_empty());
        assert_eq!(nearest("pesron", ["person"]), ["person"]);
        assert_eq!(nearest("nistructons", ["instructions"]), ["instructions"]);
        assert_eq!(akin("ok", ["failed", "succeeded"]), Some("succeeded"));
        assert_eq!(akin("first_name", ["id", "name", "email"]), Some("name"));
        assert_eq!(akin("RateLimitError", ["rate_limited", "timeout"]), Some("rate_limited"));
        assert_eq!(akin("tokens", ["input_tokens", "output_tokens"]), None);
        assert_eq!(did_you_mean("reviw", ["review", "draft"]).to_string(), "; did you mean \"review\"?");
    }
}
