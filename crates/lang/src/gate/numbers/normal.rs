//! A text as its figures are looked for: one form for each digit, and nothing hidden between them.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::scale::CODES;
use super::signs::{exponent, is_lowered, is_raised, plain_digit, ringed, roman};
use crate::channel::clean;

/// Takes out hidden characters, writes digits of any script and form as `0` to `9`, `7½` as `7.5`, `10²` as `10^2`, all spaces and minus signs as
/// one kind, the `T` between a date and a time as a space, and `EUR5` with one. One or two raised digits behind a word (`m²`) are a unit or a note and no figure, and so
/// are lowered ones (`CO₂`); others are.
pub(super) fn normal(text: &str) -> String {
    static DATE_AND_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})").ok());
    static PRICE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i)\b({CODES})([0-9])")).ok());
    let (text, _) = clean(text);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(character) = rest.chars().next() {
        let run = [is_raised as fn(char) -> bool, is_lowered, |c| roman(c).is_some()].into_iter().find_map(|is_of| {
            let end = rest.find(|c| !is_of(c)).unwrap_or(rest.len());
            rest.get(..end).filter(|run| !run.is_empty())
        });
        if let Some(run) = run {
            small(run, &mut plain);
            rest = rest.get(run.len()..).unwrap_or_default();
            continue;
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
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
            // Behind a dash of a list is a blank at which a line may end.
            '\u{A0}' | '\u{2007}' | '\u{2009}' | '\u{202F}' if starts_with_dash(&plain) => {}
            // A minus sign with a blank behind it is no dash.
            '\u{2212}' if rest.starts_with(char::is_whitespace) => plain.push('−'),
            '\u{2015}' => plain.push('–'),
            // Hyphen, hyphen that does not break, dash of figures, minus.
            '\u{2010}'..='\u{2012}' | '\u{2212}' => plain.push('-'),
            '\u{2019}' => plain.push('\''),
            '\u{66B}' => plain.push('.'),
            '\u{66C}' => plain.push('\''),
            // A digit and these two are drawn as a key.
            '\u{FE0F}' | '\u{20E3}' => {}
            _ if character.is_ascii() => plain.push(character),
            _ => match ringed(character) {
                Some(number) => plain.push_str(&number.to_string()),
                None => plain.extend(std::iter::once(character).nfkc().map(|c| plain_digit(c).unwrap_or(c))),
            },
        }
    }
    let plain: String = if plain.is_ascii() { plain } else { plain.nfc().collect() };
    let parted = |text: String, pattern: &Option<Regex>| match pattern {
        Some(pattern) => pattern.replace_all(&text, "$1 $2").into_owned(),
        None => text,
    };
    parted(parted(plain, &DATE_AND_TIME), &PRICE)
}

/// Whether the last line is nothing but a dash.
fn starts_with_dash(text: &str) -> bool {
    text.rsplit('\n').next().is_some_and(|line| matches!(line.trim_start(), "-" | "–"))
}

/// Writes raised or lowered digits, or Roman ones, behind what is there.
fn small(run: &str, plain: &mut String) {
    if let Some(number) = roman_number(run) {
        plain.push_str(&number.to_string());
        return;
    }
    let digits = exponent(run);
    let count = digits.chars().filter(char::is_ascii_digit).count();
    let mut before = plain.chars().rev();
    let is_note = match before.next() {
        None | Some('\n') => count == 1,
        Some('.' | ',') if before.next().is_some_and(|c| c.is_ascii_digit()) => false,
        Some(c) => count <= 2 && !c.is_ascii_digit() && !c.is_whitespace() && !"$€£¥+-^".contains(c),
    };
    if is_note || count == 0 {
        plain.extend(run.chars().map(|_| ' '));
    } else if plain.ends_with(|c: char| c.is_ascii_digit()) && run.starts_with(is_raised) {
        plain.push('^');
        plain.push_str(&digits);
    } else {
        plain.push_str(&digits);
    }
}

/// What Roman digits mean together. `None`: they are none.
fn roman_number(run: &str) -> Option<u64> {
    let values: Vec<u64> = run.chars().map(roman).collect::<Option<_>>()?;
    let is_less = |at: usize| values.get(at) < values.get(at + 1) && at + 1 < values.len();
    let (less, more): (Vec<usize>, Vec<usize>) = (0..values.len()).partition(|at| is_less(*at));
    let sum = |places: &[usize]| places.iter().filter_map(|at| values.get(*at)).sum::<u64>();
    Some(sum(&more).saturating_sub(sum(&less)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_any_script_are_read_and_nothing_hides_between_them() {
        for (text, plain) in [
            ("3\u{200B}5 h", "35 h"),
            ("３２ und ٣٢ und ३२ und ㉜", "32 und 32 und 32 und 32"),
            ("⁹⁹⁸⁷¹, ₉₉₈₇₁, x⁹⁹⁸⁷¹, 10¹⁰, 10⁻³, 10₁₀", "99871, 99871, x99871, 10^10, 10^-3, 1010"),
            ("¹ Note. Word¹² CO₂ 5 m⁻², done.³", "  Note. Word   CO  5 m  , done. "),
            ("Ⅻ, ⅩⅣ, ⅯⅭⅯ", "12, 14, 1900"),
            ("❾⑩⓫, 9\u{FE0F}\u{20E3}8\u{FE0F}\u{20E3}, ᮳᠑𑁧", "91011, 98, 311"),
            ("−\u{A0}5, -\u{A0}5\n-\u{A0}5, ―5, EUR5", "− 5, - 5\n-5, –5, EUR 5"),
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
