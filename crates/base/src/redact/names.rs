//! Which personal values are names, and the names inside a longer text.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::common::is_common;
use super::known::is_wide;

/// A name has at most so many words.
const MOST_WORDS: usize = 5;
/// Small words inside names.
const PARTICLES: &[&str] = &[
    "al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el", "ibn", "la", "le", "ten", "ter", "van",
    "von", "y", "zu", "zum", "zur",
];
/// Words before a name.
static TITLES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "caballero caro cara cher chère dear doctor don doña dottor dr estimada estimado frau hallo hello herr herrn hi hola liebe lieber \
madame mademoiselle miss mme monsieur mr mrs ms prof professor querida querido señor señora signor signora sr sra"
        .split(' ')
        .collect()
});
/// Keys of fields and columns that hold names, beside those that end in `name`.
const KEYS: &[&str] = &["apellido", "apellidos", "cognome", "nachname", "nom", "nombre", "nome", "prenom", "prénom", "vorname"];

/// Whether the key of a field, or the name of a column, says that it holds names.
pub(super) fn is_name_key(key: &str) -> bool {
    let key = key.to_lowercase();
    key.ends_with("name") || KEYS.contains(&key.as_str())
}

/// Whether a value is as short as a name is.
pub(super) fn is_short(value: &str) -> bool {
    value.split_whitespace().count() <= MOST_WORDS
}

/// Whether a value is written as a name is: a few words of letters, each with a capital first.
pub(super) fn looks_like_name(value: &str) -> bool {
    let is_part = |word: &str| {
        let letters = word.trim_end_matches(['.', ',']);
        let is_name = letters.chars().next().is_some_and(|first| first.is_uppercase() || first.is_alphabetic() && is_wide(first));
        let is_plain = letters.chars().all(|c| c.is_alphabetic() || is_mark(c) || matches!(c, '\'' | '’' | '-' | '.'));
        is_plain && (is_name || PARTICLES.contains(&letters))
    };
    is_short(value) && value.split_whitespace().all(is_part)
}

/// An accent that is a character of its own.
fn is_mark(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character)
}

/// The names in a text: two or more words in a row with a capital first, that are no common words; or one such word behind a title.
pub(super) fn names_in(text: &str) -> Vec<&str> {
    let words: Vec<(usize, &str)> = text.unicode_word_indices().collect();
    let end = |at: usize| words.get(at).map_or(0, |(start, word)| start + word.len());
    let joins = |at: usize| {
        let gap = words.get(at + 1).and_then(|(next, _)| text.get(end(at)..*next)).unwrap_or("\n");
        let is_initial = words.get(at).is_some_and(|(_, word)| word.chars().count() == 1);
        matches!(gap, " " | "-" | "’" | "'") || gap == ". " && is_initial
    };
    let is_title = |word: &str| TITLES.contains(word.to_lowercase().as_str());
    let mut names = vec![];
    let mut at = 0;
    while let Some((start, word)) = words.get(at) {
        let is_titled =
            at.checked_sub(1).is_some_and(|before| is_title(words[before].1) && matches!(text.get(end(before)..*start), Some(" " | ". ")));
        if !is_capitalised(word) || is_common(word) || is_title(word) {
            at += 1;
            continue;
        }
        let (mut last, mut count, mut next) = (at, 1, at);
        while joins(next) {
            next += 1;
            let word = words[next].1;
            if is_capitalised(word) || word.chars().count() == 1 && word.chars().all(char::is_uppercase) {
                (last, count) = (next, count + 1);
            } else if !PARTICLES.contains(&word) {
                break;
            }
        }
        if (is_titled || count > 1) && count <= MOST_WORDS {
            names.extend(text.get(*start..end(last)));
        }
        at = last + 1;
    }
    names
}

/// `Ana`, not `ANA` and not `A1`.
fn is_capitalised(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.clone().any(char::is_lowercase) && letters.all(|c| !c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_by_its_key_or_by_how_it_is_written() {
        for key in ["name", "Name", "first_name", "lastname", "Vorname", "nom"] {
            assert!(is_name_key(key), "{key}");
        }
        assert!(!is_name_key("names_of_things") && !is_name_key("note"));
        for name in
            ["Ana", "Will Power", "Ludwig van der Rohe", "J. R. Smith", "D'Arcy O'Brien", "Zoe\u{308} Núñez", "王小明", "Anne-Marie"]
        {
            assert!(looks_like_name(name), "{name}");
        }
        for text in ["the report", "Connection lost", "12 Rue Neuve", "Will you come? Yes.", "One Two Three Four Five Six", "ana"] {
            assert!(!looks_like_name(text), "{text}");
        }
    }

    #[test]
    fn names_are_found_in_texts_and_common_words_are_not() {
        let text = "Yesterday the Connection dropped while Ana Lopez spoke with Mr. Okafor and Zoë van Dyke. The Weekly Report is late, API Key too.";
        assert_eq!(names_in(text), ["Ana Lopez", "Okafor", "Zoë van Dyke"]);
        assert_eq!(names_in("Sehr geehrte Frau Müller-Lüdenscheidt, Ihre Rechnung liegt bei."), ["Müller-Lüdenscheidt"]);
        assert_eq!(names_in("Dear Anna,\nThank you. Hi Bob"), ["Anna", "Bob"]);
        for plain in ["", "the report of the connection", "Hello World is no", "Dear customer"] {
            assert!(names_in(plain).iter().all(|name| *name == "World"), "{plain}");
        }
    }
}
