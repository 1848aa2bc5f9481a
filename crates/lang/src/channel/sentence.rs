//! Where sentences end.

use unicode_segmentation::UnicodeSegmentation;

use super::months::month;

/// Words before a full stop that does not end a sentence, in small letters and without stops inside. English, German, French,
/// Spanish and Italian.
const ABBREVIATIONS: &str = " adj al approx apr art aug ave bros bspw bzw ca cap cf ch cm col dec dept dez dh dipl dott dr dra eg engl esp est \
etc evtl exc feb ff fig fr frl gem gen ggf gov hr hrsg ie inc incl ing inkl int jan jr jul jun kg km lt lic ltd max mio mind min mlle mme \
mr mrs ms mt mwst nb nov nr no núm num oct okt op orig p pag para pp prof ref rep resp rev rd sat sec sen sep sept sr sra srta ss st str \
tel tsd ua univ usf usw uvm uw v vgl viz vol vs wed zb zt zzgl ";

/// The bytes at which a sentence of the text ends: each after the white space that follows it. The end of the text is not one.
/// Follows Unicode (UAX 29), but not after abbreviations, initials and the number of a list or a day. The end of a line counts
/// only after a sign that ends something or before one that begins something.
pub(crate) fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends = vec![];
    for (start, sentence) in text.split_sentence_bound_indices() {
        let end = start + sentence.len();
        let Some(next) = text.get(end..).filter(|next| !next.is_empty()) else { continue };
        let is_line_start = text.get(..start).is_none_or(|before| before.is_empty() || before.ends_with('\n'));
        if is_end(sentence, next, is_line_start) {
            ends.push(end);
        }
    }
    ends
}

fn is_end(said: &str, next: &str, is_line_start: bool) -> bool {
    let words = said.trim_end();
    let is_line = said[words.len()..].contains('\n');
    let is_paragraph = said[words.len()..].matches('\n').count() > 1;
    let closed = words.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '*', '_']);
    let Some(last) = closed.chars().next_back() else { return true };
    if last == '.' && !is_line && is_day(closed, next) {
        return false;
    }
    if last == '.' && !is_line {
        return !is_abbreviated(&closed[..closed.len() - 1], is_line_start);
    }
    let begins = next.chars().next().is_none_or(|c| c.is_uppercase() || !c.is_alphanumeric() || c.is_ascii_digit());
    let stops = matches!(last, '.' | '!' | '?' | ':' | ';' | '…' | '。' | '！' | '？');
    is_paragraph || !is_line || stops || begins
}

/// Whether a stop belongs to the number of a day: a number or a month follows.
fn is_day(words: &str, next: &str) -> bool {
    let day = words.trim_end_matches('.').rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_month = word.starts_with(char::is_uppercase) && month(word).is_some();
    (1..=2).contains(&day.len())
        && day.bytes().all(|byte| byte.is_ascii_digit())
        && (is_month
            || (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) && next[word.len()..].starts_with('.'))
}

/// Whether a full stop after these words belongs to the last of them.
fn is_abbreviated(words: &str, is_line_start: bool) -> bool {
    let word = words.rsplit(char::is_whitespace).next().unwrap_or(words);
    let is_alone = word.len() == words.len();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    if word.is_empty() || word.len() > 24 {
        return false;
    }
    let letters: String = word.chars().filter(|c| *c != '.').flat_map(char::to_lowercase).collect();
    // "e.g.", "z.B.", "U.S.", "J.": single letters with stops between them. "a.m." may end a sentence, and mostly does.
    let is_dotted = word.split('.').all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic));
    // "1. First": the number of a line. "3. Mai" cannot be told from "There are 3. Mine is …", so elsewhere a number ends a sentence.
    let is_number = is_alone && is_line_start && word.len() <= 3 && word.chars().all(|c| c.is_ascii_digit());
    let is_listed = letters.chars().all(char::is_alphabetic) && ABBREVIATIONS.split(' ').any(|known| known == letters);
    is_dotted && !matches!(letters.as_str(), "am" | "pm") || is_number || is_listed && !also_a_word(word)
}

/// Abbreviations that are also words, and end a sentence in small letters: "No.", "in", "max".
fn also_a_word(word: &str) -> bool {
    matches!(word, "no" | "art" | "sat" | "jun" | "min" | "str" | "hr" | "cap")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let mut start = 0;
        let mut found = vec![];
        for end in sentence_ends(text).into_iter().chain([text.len()]) {
            found.push(text[start..end].trim());
            start = end;
        }
        found
    }

    #[test]
    fn a_sentence_ends_at_its_stop() {
        assert_eq!(sentences("One. Two! Three? \"Four.\" Five"), ["One.", "Two!", "Three?", "\"Four.\"", "Five"]);
        assert_eq!(sentences("これは一つ。これは二つ。"), ["これは一つ。", "これは二つ。"]);
    }

    #[test]
    fn abbreviations_initials_and_decimals_do_not_end_it() {
        for text in [
            "Use a tool, e.g. Rust, today.",
            "Ask Dr. Who about No. 5.",
            "It took 3.5 hours at approx. 9 Uhr.",
            "Das gilt z. B. Montags bzw. Dienstags.",
            "J. R. Smith logged it.",
            "The U.S. Army and p. 4.",
            "1. First of all",
            "See https://a.example/x.y. for more",
        ] {
            assert_eq!(sentences(text), [text], "{text}");
        }
    }

    #[test]
    fn times_end_a_sentence_and_numbers_too() {
        assert_eq!(sentences("Done at 9:30 a.m. Today you rest."), ["Done at 9:30 a.m.", "Today you rest."]);
        assert_eq!(sentences("You logged 32. Next week more."), ["You logged 32.", "Next week more."]);
    }

    #[test]
    fn a_line_ends_it_only_where_something_ends_or_begins() {
        assert_eq!(sentences("You have\nlogged 32 hours.\nWell done"), ["You have\nlogged 32 hours.", "Well done"]);
        assert_eq!(sentences("Monday: 8\nTuesday: 7"), ["Monday: 8", "Tuesday: 7"]);
    }
}
