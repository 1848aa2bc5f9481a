//! Phrases of a route's cases: when one fits (section 7 of the language page).

/// Words of a text in small letters without accents and punctuation, for phrases.
pub fn phrase_words(text: &str) -> Vec<String> {
    use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
    let plain: String =
        text.nfkd().filter(|c| !is_combining_mark(*c)).filter(|c| !matches!(c, '\'' | '’')).collect::<String>().to_lowercase();
    plain.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_string).collect()
}

/// Whether a phrase's words occur in a text's words, in that order, next to each other.
pub fn contains_phrase(text: &[String], phrase: &str) -> bool {
    let phrase = phrase_words(phrase);
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_fits_whatever_its_case_accents_punctuation_and_spacing() {
        let text = phrase_words("Hey, CHECK   my time-sheet — s'il te plaît!");
        assert!(contains_phrase(&text, "check my time sheet"));
        assert!(contains_phrase(&text, "te plait"));
        assert!(!contains_phrase(&text, "my check"));
        assert!(!contains_phrase(&text, ""));
    }
}
