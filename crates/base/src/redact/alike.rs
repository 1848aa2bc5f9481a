//! One form for all the ways in which a name is written: letters of one width and case, without accents, one space between words, nothing
//! that nobody sees. Each byte knows the place that it came from.

use unicode_normalization::UnicodeNormalization;

use super::encoded::DecodedText;
use crate::source::is_unseen;

/// A text in that form; `None`: it is so already, but for the case of A to Z, which the search knows itself.
pub(super) fn alike(text: &str) -> Option<DecodedText> {
    let mut is_blank = true;
    let is_so = text.bytes().all(|byte| {
        let is_double = byte == b' ' && is_blank;
        is_blank = byte == b' ';
        (byte.is_ascii_graphic() || byte == b' ') && !is_double
    });
    if is_so {
        return None;
    }
    let mut alike = DecodedText { text: String::with_capacity(text.len()), places: Vec::with_capacity(text.len()) };
    for (start, c) in text.char_indices() {
        let place = start..start + c.len_utf8();
        if c.is_whitespace() {
            if !alike.text.ends_with(' ') {
                alike.push(' ', place);
            }
        } else if !is_unseen(c) {
            let before = alike.text.len();
            each_letter(c, |letter| {
                // A lone accent (U+00AF) is one on a blank.
                if letter != ' ' || !alike.text.ends_with(' ') {
                    alike.push(letter, place.clone());
                }
            });
            // An accent belongs to its letter.
            if let (true, Some(letter)) = (alike.text.len() == before, alike.places.last_mut()) {
                letter.end = place.end;
            }
        }
    }
    Some(alike)
}

/// A value in that form.
pub(super) fn alike_value(text: &str) -> String {
    alike(text).map_or_else(|| text.to_lowercase(), |alike| alike.text).trim().to_owned()
}

/// What is left of a character: NFKD, small, without the accents of Latin, Greek and Cyrillic letters. Signs of other scripts are letters
/// of their own.
fn each_letter(c: char, mut letter: impl FnMut(char)) {
    if c.is_ascii() {
        return letter(c.to_ascii_lowercase());
    }
    for c in c.nfkd().flat_map(char::to_lowercase).nfkd() {
        match c {
            '\u{300}'..='\u{36f}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}' => {}
            'ß' => "ss".chars().for_each(&mut letter),
            'æ' => "ae".chars().for_each(&mut letter),
            'œ' => "oe".chars().for_each(&mut letter),
            'ø' => letter('o'),
            'ł' => letter('l'),
            'đ' => letter('d'),
            'ı' => letter('i'),
            'ς' => letter('σ'),
            '’' | '‘' | 'ʼ' => letter('\''),
            '‐' | '‑' | '–' => letter('-'),
            c => letter(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ways_to_write_a_name_are_one() {
        let forms =
            ["Zoë Núñez", "ZOE NUNEZ", "Ｚｏｅ\u{3000}Ｎｕｎｅｚ", "Zoe\u{308}\u{a0}Nu\u{301}n\u{303}ez", "zo\u{ad}e \n nu\u{200b}nez"];
        for form in forms {
            assert_eq!(alike_value(form), "zoe nunez", "{form}");
        }
        assert_eq!(alike_value("Weiß-Møller"), "weiss-moller");
        assert_ne!(alike_value("がく"), alike_value("かく"), "a sign of another script is a letter of its own");
        assert_eq!(alike_value("\u{dca} \u{af}A"), "\u{dca} a", "a lone accent is one on a blank");
        assert!(alike("Ana Torres!").is_none() && alike("Ana  Torres").is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn each_byte_comes_from_a_character_of_the_text_in_order(text in any::<String>()) {
            let Some(read) = alike(&text) else { return Ok(()) };
            prop_assert_eq!(read.text.len(), read.places.len());
            let mut before = 0;
            for place in &read.places {
                prop_assert!(place.start >= before && text.get(place.clone()).is_some_and(|c| !c.is_empty()));
                before = place.start;
            }
            prop_assert_eq!(alike_value(&read.text), read.text.trim(), "twice is once");
        }
    }
}
