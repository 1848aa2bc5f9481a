//! What multiplies the number before it: `thousand`, `Mio.`, `crore`, `万`, `dozen`.

use std::sync::LazyLock;

use regex::Regex;

/// Words that stand behind a number, parted by `|`, with what they may multiply it by: a factor, and how many tens. English, German,
/// French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish, Russian, Hindi and Turkish. `mil` is a thousand in Spanish and short for
/// a million in English.
const WORDS: [(&str, &[(u128, usize)]); 15] = [
    ("hundred|hundreds|hundert", &[(1, 2)]),
    ("thousand|thousands|tausend|tsd|mille|mila|duizend|tusen|tysięcy|tys|тысяч|тысячи|тысяча|тыс|हज़ार|हजार", &[(1, 3)]),
    ("lakh|lakhs|lac|lacs|लाख", &[(1, 5)]),
    ("mil", &[(1, 3), (1, 6)]),
    (
        "million|millions|millionen|mio|millones|millón|milioni|milione|milhão|milhões|miljoen|miljoner|milionów|miliony|milyon|\
         миллион|миллиона|миллионов|млн|mln|mill|mn",
        &[(1, 6)],
    ),
    ("crore|crores|करोड़|करोड", &[(1, 7)]),
    (
        "billion|billions|bn|milliarde|milliarden|milliard|milliards|mrd|mlrd|mld|mds|miliardi|miliardo|bilhão|bilhões|miljard|\
         miliardów|milyar|миллиард|миллиарда|миллиардов|млрд",
        &[(1, 9)],
    ),
    ("billionen|billones|billón|bilioni|bilione|biljoen|trillion|trillions|trilhão|trilhões|трлн|trn|tn", &[(1, 12)]),
    ("quadrillion|quadrillions|billiarde|billiarden|billiard|billiards", &[(1, 15)]),
    ("quintillion|quintillions|trillionen|trillones", &[(1, 18)]),
    ("sextillion|sextillions", &[(1, 21)]),
    ("septillion|septillions", &[(1, 24)]),
    ("octillion|octillions", &[(1, 27)]),
    ("dozen|dozens|dutzend|douzaine|douzaines|docena|docenas|dozzina|dozzine", &[(12, 0)]),
    ("gazillion|zillion", &[]),
];

/// Letters that multiply where they cannot be a unit.
const LETTERS: [(&str, usize); 7] = [("k", 3), ("m", 6), ("mm", 6), ("kk", 6), ("b", 9), ("t", 12), ("bio", 12)];

macro_rules! codes {
    () => {
        "eur|usd|chf|gbp|jpy|sek|nok|dkk|pln|czk|cad|aud|inr|brl|cny|zł|kr|euros?|dollars?|pounds?|franken|francs?"
    };
}

/// The names of currencies, as the alternatives of a pattern in which case does not count.
pub(super) const CODES: &str = codes!();

/// A currency, as such a pattern.
pub(super) const MONEY: &str = concat!(r"(?:(?:us|hk|nz|mx|[acrs])?\$|[€£¥₹₽₩]|(?:", codes!(), r")\b)");

/// The same in scripts without spaces, where nothing ends a word.
const SIGNS: [(char, usize); 14] = [
    ('百', 2),
    ('千', 3),
    ('仟', 3),
    ('万', 4),
    ('萬', 4),
    ('億', 8),
    ('亿', 8),
    ('兆', 12),
    ('京', 16),
    ('백', 2),
    ('천', 3),
    ('만', 4),
    ('억', 8),
    ('조', 12),
];

/// The words, as the alternatives of a pattern.
pub(super) fn words() -> String {
    WORDS.map(|(words, _)| words).join("|")
}

/// The signs, as the inside of a class of characters.
pub(super) fn signs() -> String {
    SIGNS.iter().map(|(sign, _)| sign).collect()
}

/// All that words, letters or signs one after the other (`thousand million`, `千万`) may multiply by: a factor, and how many tens.
pub(super) fn multipliers(written: &str) -> Vec<(u128, usize)> {
    let written = written.to_lowercase();
    let mut all = vec![(1_u128, 0)];
    for word in written.split(|c: char| c.is_whitespace() || "-._*~`".contains(c)).filter(|word| !word.is_empty()) {
        let each = of_word(word);
        let times = |(factor, zeros): &(u128, usize)| {
            each.iter().map(|(more, tens)| (factor.saturating_mul(*more), zeros + tens)).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(times).collect();
    }
    all
}

/// What the name of a field says that its numbers are multiplied by: `revenue_teur`, `Gewinn (Mio. EUR)`, `users in thousands`.
pub(super) fn of_name(name: &str) -> Option<(u128, usize)> {
    static IN_MONEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("^(t|k|m|mio|mrd){MONEY}$")).ok());
    let name = name.to_lowercase();
    let words = || {
        name.split(|c: char| !c.is_alphanumeric() && !"$€£¥".contains(c))
            .filter(|word| word.len() > 2 || matches!(*word, "k" | "t€" | "k€" | "m€"))
    };
    let in_money = |word| Some(IN_MONEY.as_ref()?.captures(word)?.get(1)?.as_str()).map(|unit| if unit == "t" { "k" } else { unit });
    // `mil` and `bio` may be other words.
    words()
        .filter(|word| !matches!(*word, "mil" | "mill" | "bio"))
        .find_map(|word| of_word(in_money(word).unwrap_or(word)).first().copied())
}

fn of_word(word: &str) -> Vec<(u128, usize)> {
    if let Some((_, by)) = WORDS.iter().find(|(words, _)| words.split('|').any(|known| known == word)) {
        return by.to_vec();
    }
    if let Some((_, zeros)) = LETTERS.iter().find(|(letter, _)| *letter == word) {
        return vec![(1, *zeros)];
    }
    let tens = |c: char| SIGNS.iter().find(|(sign, _)| *sign == c).map(|(_, tens)| *tens);
    word.chars().map(tens).sum::<Option<usize>>().map(|zeros| (1, zeros)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_one_after_the_other_multiply() {
        for (written, by) in [
            ("k", &[(1, 3)][..]),
            (" Mio", &[(1, 6)]),
            ("mil", &[(1, 3), (1, 6)]),
            (" mil millones", &[(1, 9), (1, 12)]),
            ("-million", &[(1, 6)]),
            ("千万", &[(1, 7)]),
            (" dozen million", &[(12, 6)]),
            (" zillion", &[]),
        ] {
            assert_eq!(multipliers(written), by, "{written}");
        }
    }
}
