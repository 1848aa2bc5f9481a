//! How hard an English text is to read.

use super::links::without_links;
use super::verdict::{CheckResult, place};
use crate::channel::sentence_ends;

/// Words a sentence above which shorter sentences help most.
const LONG_SENTENCES: f64 = 14.0;

/// At most this school grade.
pub(super) fn readability(highest: f64, text: &str) -> CheckResult {
    let reading = ReadingScore::from_text(text);
    let grade = reading.grade();
    if grade <= highest {
        return CheckResult::passed();
    }
    let length = reading.words / reading.sentences;
    let hint = if length > LONG_SENTENCES {
        format!("use shorter sentences ({length:.0} words each now) and shorter words")
    } else {
        "use shorter words".to_owned()
    };
    let feedback = format!("The text needs school grade {grade:.1}; at most {highest} is allowed: {hint}.");
    CheckResult::failed(feedback, reading.longest)
}

struct ReadingScore {
    sentences: f64,
    words: f64,
    syllables: f64,
    /// The sentence with the most words, as evidence.
    longest: String,
}

impl ReadingScore {
    /// Counts a text without its links. A word is a run of letters, with apostrophes and hyphens inside; figures are no words.
    fn from_text(text: &str) -> ReadingScore {
        let text = without_links(text);
        let mut reading = ReadingScore { sentences: 0.0, words: 0.0, syllables: 0.0, longest: String::new() };
        let (mut start, mut most) = (0, 0);
        for end in sentence_ends(&text).into_iter().chain([text.len()]) {
            let sentence = text.get(start..end).unwrap_or_default();
            let is_inside = |c: char| c.is_alphabetic() || matches!(c, '\'' | '’' | '-');
            let words: Vec<&str> = sentence.split(|c| !is_inside(c)).filter(|word| word.contains(char::is_alphabetic)).collect();
            if !words.is_empty() {
                reading.sentences += 1.0;
                reading.words += words.len() as f64;
                reading.syllables += words.iter().map(|word| f64::from(syllables(word))).sum::<f64>();
            }
            if words.len() > most {
                most = words.len();
                reading.longest = place(sentence.trim(), 0..0);
            }
            start = end;
        }
        reading
    }

    /// The Flesch-Kincaid grade: 0.39 × words a sentence + 11.8 × syllables a word − 15.59 (Kincaid, Fishburne, Rogers and Chissom,
    /// "Derivation of New Readability Formulas", 1975). A text without words needs no school.
    fn grade(&self) -> f64 {
        if self.words == 0.0 {
            return 0.0;
        }
        0.39 * self.words / self.sentences + 11.8 * self.syllables / self.words - 15.59
    }
}

/// The syllables of an English word, by its spelling: one for each run of vowels (`y` is one), none for a silent `e` at the end (but
/// `-le` after a consonant is one) and in `-es` and `-ed` after other letters than those that need it. At least one.
fn syllables(word: &str) -> u32 {
    let word = word.to_lowercase();
    let letters: Vec<char> = word.chars().filter(|c| c.is_alphabetic()).collect();
    let is_vowel = |c: &char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | 'à'..='æ' | 'è'..='ï' | 'ò'..='ö' | 'ù'..='ý');
    let (mut runs, mut before) = (0, false);
    for letter in &letters {
        let now = is_vowel(letter);
        runs += u32::from(now && !before);
        before = now;
    }
    let silent = match letters.as_slice() {
        [.., before, 'l', 'e'] => is_vowel(before),
        [.., before, 'e'] => !is_vowel(before),
        [.., before, 'e', 's'] => !is_vowel(before) && !matches!(before, 's' | 'x' | 'z' | 'c' | 'g' | 'h'),
        [.., before, 'e', 'd'] => !is_vowel(before) && !matches!(before, 't' | 'd'),
        _ => false,
    };
    runs.saturating_sub(u32::from(silent)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syllables_are_counted_by_spelling() {
        for (word, count) in [
            ("the", 1),
            ("time", 1),
            ("hours", 1),
            ("table", 2),
            ("logged", 1),
            ("needed", 2),
            ("makes", 1),
            ("boxes", 2),
            ("yesterday", 3),
            ("information", 4),
            ("don't", 1),
            ("rhythm", 1),
            ("naïve", 1),
            ("why", 1),
        ] {
            assert_eq!(syllables(word), count, "{word}");
        }
    }

    #[test]
    fn the_grade_is_that_of_the_formula() {
        // 6 words, 1 sentence, 6 syllables.
        let grade = ReadingScore::from_text("The cat sat on the mat.").grade();
        assert!((grade - (0.39 * 6.0 + 11.8 - 15.59)).abs() < 1e-9, "{grade}");
        assert_eq!(ReadingScore::from_text("42!").grade(), 0.0);
    }
}
