//! Negates one sentence of an English text. Only clear sentences are changed: those with a condition, a question or several negations are
//! not.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::reworded::{Tongue, has_english_words, tongue};

/// Verbs that `not` may follow in a statement; not `may` and `might`, whose negation does not contradict them.
const STATING: &[&str] =
    &["am", "are", "is", "was", "were", "has", "have", "had", "can", "could", "will", "would", "shall", "should", "must"];
/// Verbs from which a following `not` can be removed.
const NEGATED: &[&str] = &[
    "am", "are", "is", "was", "were", "has", "have", "had", "can", "could", "will", "would", "shall", "should", "must", "may", "might",
    "do", "does", "did",
];
/// Contracted forms of these verbs.
const SHORT: &[&str] = &["'ve", "'re", "'ll", "'m"];
const SHORT_IS: &[&str] = &["it's", "that's", "there's", "he's", "she's"];
/// Words that are negations by themselves.
const DENYING: &[&str] =
    &["not", "no", "never", "nothing", "none", "nobody", "neither", "nor", "cannot", "without", "hardly", "barely", "rarely"];
/// Words that start a clause without its own statement.
const SUBORDINATE: &[&str] = &[
    "if", "when", "whenever", "whether", "which", "who", "whom", "whose", "that", "what", "how", "why", "where", "because", "since",
    "while", "as", "until", "unless", "before", "after", "although", "though", "than",
];
/// After these, a word of [`STATING`] is a noun or an infinitive, or introduces something.
const NOT_BEHIND: &[&str] = &["to", "a", "an", "the", "my", "your", "his", "her", "its", "our", "their", "here", "or"];
/// Before these, `not` has another meaning, or the sentence is inverted.
const NOT_BEFORE: &[&str] = &[
    "only", "just", "merely", "even", "exactly", "least", "necessarily", "better", "because", "until", "i", "you", "he", "she", "it", "we",
    "they", "also", "longer",
];
/// Before these, `have` is a main verb.
const HAD: &[&str] = &["a", "an", "the", "my", "your", "his", "her", "our", "their", "some"];
/// Words after a negation, and their replacements without it.
const POLAR: [(&str, &str); 5] =
    [("any", "some"), ("anything", "something"), ("anybody", "somebody"), ("anyone", "someone"), ("yet", "already")];
/// After `no`, these form set phrases.
const PHRASES: &[&str] = &["longer", "one", "later", "sooner", "earlier", "doubt", "matter", "more", "less", "fewer", "way", "wonder"];

static SENTENCE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)\S[^\n]*?(?:[.!?;:](?:\s|$)|$)").ok());
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\S+").ok());

/// Returns the text with one sentence negated, preferably one with a figure.
pub(super) fn negated(text: &str) -> Option<String> {
    if tongue(text) != Tongue::English {
        return None;
    }
    let is_english = whatlang::detect_lang(text) == Some(whatlang::Lang::Eng);
    let mut sentences: Vec<Range<usize>> = SENTENCE.as_ref()?.find_iter(text).map(|found| found.range()).collect();
    let written = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    sentences.sort_by_key(|range| !written(range).contains(|c: char| c.is_ascii_digit()));
    sentences.into_iter().find_map(|range| {
        let sentence = written(&range);
        let opposite = (is_english || has_english_words(sentence)).then(|| opposite(sentence)).flatten()?;
        let mut out = text.to_owned();
        out.replace_range(range, &opposite);
        Some(out)
    })
}

/// A word of a sentence.
struct Word {
    at: Range<usize>,
    /// Lowercase, without punctuation, with straight apostrophes.
    core: String,
    /// Whether it has no capital letter and no punctuation.
    is_plain: bool,
}

fn words(sentence: &str) -> Vec<Word> {
    let read = |found: regex::Match<'_>| {
        let core = found.as_str().trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
        Word { at: found.range(), is_plain: found.as_str().replace('’', "'") == core, core }
    };
    WORD.as_ref().map(|pattern| pattern.find_iter(sentence).map(read).collect()).unwrap_or_default()
}

fn opposite(sentence: &str) -> Option<String> {
    let is_statement = !sentence.trim_end().ends_with('?') && !sentence.starts_with(['#', '|', '>', '`']);
    // Quoted text is not part of the statement.
    let said = sentence.split(['"', '“', '”', '„', '«', '»', '`']).next().filter(|_| is_statement)?;
    let all = words(sentence);
    let denying: Vec<usize> = all.iter().enumerate().filter(|(_, word)| denies(&word.core)).map(|(at, _)| at).collect();
    let own = words(said);
    let stated =
        own.iter().enumerate().position(|(at, word)| SUBORDINATE.contains(&word.core.as_str()) && !(at == 0 && word.core == "that"));
    let own = own.get(..stated.unwrap_or(own.len()))?;
    match denying.as_slice() {
        [] => denied(sentence, own, &all),
        [at] if *at < own.len() => affirmed(sentence, &all, *at),
        _ => None,
    }
}

fn denies(core: &str) -> bool {
    DENYING.contains(&core) || core.ends_with("n't")
}

/// Adds a `not` to a statement. `own`: the words before any quotation or subordinate clause.
fn denied(sentence: &str, own: &[Word], all: &[Word]) -> Option<String> {
    own.iter().enumerate().find_map(|(at, word)| {
        let (before, after) = (at.checked_sub(1).and_then(|at| all.get(at)), all.get(at + 1)?.core.as_str());
        let core = word.core.as_str();
        let is_short = SHORT_IS.contains(&core) || SHORT.iter().any(|end| core.ends_with(end));
        let is_stating = STATING.contains(&core) && word.is_plain && before.is_some_and(|word| !NOT_BEHIND.contains(&word.core.as_str()));
        let is_duty = core.starts_with("ha") && after == "to";
        if !(is_short || is_stating) || is_duty || NOT_BEFORE.contains(&after) {
            return None;
        }
        let is_verb = HAD.contains(&after) || after.starts_with(|c: char| c.is_ascii_digit());
        let said = match core {
            "have" if is_verb => "do not have",
            "has" if is_verb => "does not have",
            "had" if is_verb => "did not have",
            "can" => "cannot",
            _ => &format!("{} not", sentence.get(word.at.clone())?),
        };
        Some(replaced(sentence, word.at.clone(), said))
    })
}

/// Removes the only negation of a statement, the word at this index.
fn affirmed(sentence: &str, all: &[Word], at: usize) -> Option<String> {
    let word = all.get(at)?;
    let before = at.checked_sub(1).and_then(|at| all.get(at)).map_or("", |word| &word.core);
    let after = all.get(at + 1).map_or("", |word| &word.core);
    let written = sentence.get(word.at.clone())?;
    let follows = NEGATED.contains(&before) || SHORT.iter().any(|end| before.ends_with(end)) || SHORT_IS.contains(&before);
    let said = match word.core.as_str() {
        "not" if follows && word.is_plain && !NOT_BEFORE.contains(&after) => String::new(),
        "no" if follows && word.is_plain && !after.is_empty() && !PHRASES.contains(&after) => "some".to_owned(),
        "cannot" if word.is_plain => "can".to_owned(),
        core if !NOT_BEFORE.contains(&after) => match core.strip_suffix("n't").filter(|_| at > 0)? {
            "ca" => "can".to_owned(),
            "wo" => "will".to_owned(),
            "sha" => "shall".to_owned(),
            stem if NEGATED.contains(&stem) => written.get(..stem.len())?.to_owned(),
            _ => return None,
        },
        _ => return None,
    };
    let mut out = sentence.get(..word.at.start)?.to_owned();
    let rest = sentence.get(word.at.end..)?;
    out.push_str(&said);
    out.push_str(if said.is_empty() { rest.trim_start() } else { rest });
    let polar = words(&out).into_iter().skip(at).find_map(|word| {
        let (_, other) = POLAR.iter().find(|(polar, _)| *polar == word.core)?;
        let marks = out.get(word.at.clone())?.strip_prefix(word.core.as_str())?;
        Some((word.at.clone(), format!("{other}{marks}")))
    });
    Some(polar.map_or(out.clone(), |(at, other)| replaced(&out, at, &other)))
}

fn replaced(text: &str, at: Range<usize>, new: &str) -> String {
    let mut out = text.to_owned();
    out.replace_range(at, new);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_says_the_opposite() {
        for (text, wanted) in [
            ("You have logged 32 of 40 hours this week.", "You have not logged 32 of 40 hours this week."),
            ("You've logged 32 of 40 hours.", "You've not logged 32 of 40 hours."),
            ("You’re done for this week.", "You’re not done for this week."),
            ("You have 28 days of holidays.", "You do not have 28 days of holidays."),
            ("The shop has a door. We are open.", "The shop does not have a door. We are open."),
            ("Your target is 40 hours.", "Your target is not 40 hours."),
            ("We are happy. The target is 40.5 hours.", "We are happy. The target is not 40.5 hours."),
            ("You have not logged any hours this week.", "You have logged some hours this week."),
            ("You have not logged the hours yet.", "You have logged the hours already."),
            ("We can't do that.", "We can do that."),
            ("You don't have a target.", "You do have a target."),
            ("There are no hours in your timesheet.", "There are some hours in your timesheet."),
            ("I cannot say, and you know it.", "I can say, and you know it."),
            ("I can tell you about the hours.", "I cannot tell you about the hours."),
            ("You will get what you ask for.", "You will not get what you ask for."),
            ("Here is your week.\n- You have been paid.", "Here is your week.\n- You have not been paid."),
            ("Your project is called \"What is it\".", "Your project is not called \"What is it\"."),
        ] {
            assert_eq!(negated(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_would_be_uncertain_is_left_alone() {
        for text in [
            "",
            "You logged 32 of 40 hours.",
            "Is this all? Have you logged them?",
            "If you have questions, we are here.",
            "Not only you, your team too.",
            "This is not only about you, but also about your team.",
            "You have nothing to do.",
            "They do not say that there is no target.",
            "You have to log the hours.",
            "The shop is no longer there.",
            "It may rain from Monday on.",
            "Open the can with your key.",
            "In May the Will Is Read.",
            "# What is new from us",
            "Das ist alles, was die Firma am Montag hat.",
            "Het is nu vier uur en dat was het.",
            "Esta semana ya has registrado todas las horas.",
            "Call the project \"all is well\".",
        ] {
            assert_eq!(negated(text), None, "{text}");
        }
    }
}
