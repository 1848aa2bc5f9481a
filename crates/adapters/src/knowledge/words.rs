//! The words of a text, as the index and the scripted vectors see them.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most words of a question that are looked for.
const MOST_WORDS: usize = 64;
/// The longest word, in bytes.
const LONGEST_WORD: usize = 100;

/// The words of a question, each once. Everything else in it is left out, so nothing in a question is a sign of FTS5's query language.
pub(super) fn of_question(question: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for word in split(question) {
        if words.len() < MOST_WORDS && word.len() <= LONGEST_WORD && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The words of a text in order: runs of letters and digits, small, without accents.
pub(super) fn split(text: &str) -> Vec<String> {
    let plain: String = text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect();
    plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_words_and_nothing_else() {
        assert_eq!(
            of_question("\"Wie\" viele Urlaubstage? NEAR(a b, 2) OR text:* -x ^Réne' ; wie"),
            ["wie", "viele", "urlaubstage", "near", "a", "b", "2", "or", "text", "x", "rene"]
        );
        assert_eq!(of_question(" \" * ( "), Vec::<String>::new());
        assert_eq!(of_question(&"a1 a2 a3 a4 a5 a6 a7 a8 a9 ".repeat(3)).len(), 9);
        let many: Vec<String> = (0..200).map(|n| format!("w{n}")).collect();
        assert_eq!(of_question(&many.join(" ")).len(), MOST_WORDS);
    }
}
