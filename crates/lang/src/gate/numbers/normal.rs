//! A text as its figures are looked for: one form for each digit, and nothing hidden between them.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::channel::clean;

/// The zeros of the decimal digits of other scripts (Unicode, category Nd), each followed by its one to nine.
const ZEROS: [char; 18] = [
    '\u{660}', '\u{6F0}', '\u{7C0}', '\u{966}', '\u{9E6}', '\u{A66}', '\u{AE6}', '\u{B66}', '\u{BE6}', '\u{C66}', '\u{CE6}', '\u{D66}',
    '\u{E50}', '\u{ED0}', '\u{F20}', '\u{1040}', '\u{17E0}', '\u{1810}',
];

/// Takes out hidden characters, writes digits of any script and form as `0` to `9`, `7½` as `7.5`, all spaces and minus signs as one
/// kind, and the `T` between a date and a time as a space. Raised and lowered digits (`m²`) are units or notes, not figures.
pub(super) fn normal(text: &str) -> String {
    static DATE_AND_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})").ok());
    let (text, _) = clean(text);
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '½' | '¼' | '¾' => {
                let follows_digit = plain.ends_with(|c: char| c.is_ascii_digit());
                plain.push_str(match (character, follows_digit) {
                    ('½', true) => ".5",
                    ('½', false) => "0.5",
                    ('¼', true) => ".25",
                    ('¼', false) => "0.25",
                    (_, true) => ".75",
                    (_, false) => "0.75",
                });
            }
            '²' | '³' | '¹' | '\u{2070}'..='\u{2089}' => plain.push(' '),
            '\u{2212}' => plain.push('-'),
            '\u{2019}' => plain.push('\''),
            '\u{66B}' => plain.push('.'),
            '\u{66C}' => plain.push('\''),
            _ if character.is_ascii() => plain.push(character),
            _ => plain.extend(std::iter::once(character).nfkc().map(|c| digit(c).unwrap_or(c))),
        }
    }
    let plain: String = if plain.is_ascii() { plain } else { plain.nfc().collect() };
    match DATE_AND_TIME.as_ref() {
        Some(pattern) => pattern.replace_all(&plain, "$1 $2").into_owned(),
        None => plain,
    }
}

fn digit(character: char) -> Option<char> {
    let value = ZEROS.iter().find_map(|zero| (character as u32).checked_sub(*zero as u32).filter(|value| *value < 10))?;
    char::from_digit(value, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_any_script_are_read_and_nothing_hides_between_them() {
        for (text, plain) in [
            ("3\u{200B}5 h", "35 h"),
            ("３２ und ٣٢ und ३२ und ㉜", "32 und 32 und 32 und 32"),
            ("7½ h, ½ h", "7.5 h, 0.5 h"),
            ("12 m² (−5 °C)", "12 m  (-5 °C)"),
            ("1\u{202F}250", "1 250"),
            ("2026-11-18T09:00:00Z", "2026-11-18 09:00:00Z"),
            ("fe\u{301}v", "fév"),
        ] {
            assert_eq!(normal(text), plain, "{text}");
        }
    }
}
