//! Which characters are emojis, and taking them out.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Whether a grapheme is shown as an emoji: it is one of Unicode's, or lies in a block made for them. Signs such as `©`, `™`
/// and arrows count only with the emoji variation selector.
pub(crate) fn is_emoji(grapheme: &str) -> bool {
    let Some(first) = grapheme.chars().next() else { return false };
    if first < '\u{A9}' && grapheme.len() == 1 {
        return false;
    }
    let pictures = matches!(first, '\u{2600}'..='\u{27BF}' | '\u{1F000}'..='\u{1FAFF}');
    let shown = grapheme.contains(['\u{FE0F}', '\u{20E3}'])
        || matches!(first, '\u{231A}'..='\u{23FF}' | '\u{2B50}' | '\u{2B55}' | '\u{2B1B}' | '\u{2B1C}');
    !grapheme.contains('\u{FE0E}')
        && (matches!(first, '\u{1F1E6}'..='\u{1F1FF}' | '\u{1F300}'..='\u{1FAFF}')
            || (pictures || shown) && emojis::get(grapheme).is_some())
}

/// The different emojis of a text, in the order of their first places.
pub(crate) fn emojis_of(text: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for grapheme in text.graphemes(true).filter(|grapheme| is_emoji(grapheme)) {
        if !found.iter().any(|known| known == grapheme) {
            found.push(grapheme.to_owned());
        }
    }
    found
}

/// How many emojis a text has.
pub fn count_emojis(text: &str) -> u64 {
    text.graphemes(true).filter(|grapheme| is_emoji(grapheme)).count() as u64
}

fn is_keycap(emoji: &str) -> bool {
    emoji.starts_with(|first: char| first.is_ascii())
}

/// What a sign that is drawn as an emoji says as a character: it may not be left out.
const SIGNS: [(char, &str); 29] = [
    ('➕', "+"),
    ('➖', "-"),
    ('✖', "×"),
    ('➗', "÷"),
    ('🟰', "="),
    ('➡', "->"),
    ('⬅', "<-"),
    ('↔', "<->"),
    ('⬆', "↑"),
    ('⬇', "↓"),
    ('❗', "!"),
    ('❓', "?"),
    ('🔟', "10"),
    ('🅰', "A"),
    ('🅱', "B"),
    ('🅾', "O"),
    ('🅿', "P"),
    ('🔺', "▲"),
    ('🔻', "▼"),
    ('‼', "!!"),
    ('⁉', "!?"),
    ('↗', "↗"),
    ('↘', "↘"),
    ('↙', "↙"),
    ('↖', "↖"),
    // "✅ Breakfast, ❌ parking": without the second sign both would be there.
    ('❌', "✗"),
    ('©', "©"),
    ('®', "®"),
    ('™', "™"),
];

fn sign(emoji: &str) -> Option<&'static str> {
    SIGNS.iter().find(|(sign, _)| emoji.starts_with(*sign)).map(|(_, text)| *text)
}

/// What to put in place so that no emoji is left: nothing, and the space that only parted it from its neighbours goes with it; a blank where
/// its neighbours would touch; the sign that it is (`5 ✖️ 3`).
pub(super) fn without_emojis(text: &str) -> Vec<(Range<usize>, String)> {
    let mut ranges: Vec<(Range<usize>, String)> = vec![];
    let graphemes: Vec<(usize, &str)> = text.grapheme_indices(true).collect();
    let mut at = 0;
    while let Some((start, grapheme)) = graphemes.get(at).copied() {
        at += 1;
        if !is_emoji(grapheme) {
            continue;
        }
        // A digit in a key says something: only the key goes.
        if is_keycap(grapheme) {
            ranges.push((start + 1..start + grapheme.len(), String::new()));
            continue;
        }
        if let Some(sign) = sign(grapheme) {
            let end = start + grapheme.len();
            let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit()) && sign.starts_with(|c: char| c.is_ascii_digit());
            let before = if is_digit(text[..start].chars().next_back()) { " " } else { "" };
            let after = if is_digit(text[end..].chars().next()) { " " } else { "" };
            ranges.push((start..end, format!("{before}{sign}{after}")));
            continue;
        }
        let mut end = start + grapheme.len();
        while let Some((next, grapheme)) = graphemes.get(at).filter(|(_, next)| is_emoji(next) && !is_keycap(next) && sign(next).is_none())
        {
            end = next + grapheme.len();
            at += 1;
        }
        let mut start = start;
        let floor = ranges.last().map_or(0, |(range, _)| range.end);
        let before = &text[floor..start];
        let at_line_start = (floor == 0 && before.is_empty()) || before.ends_with('\n') || (before.is_empty() && floor > 0);
        let next = text[end..].chars().next();
        if at_line_start {
            if next == Some(' ') && graphemes.get(at).is_some_and(|(_, grapheme)| *grapheme == " ") {
                end += 1;
                at += 1;
            }
        } else if before.ends_with(' ')
            && next.is_none_or(|next| next.is_whitespace() || matches!(next, '.' | ',' | '!' | '?' | ';' | ':' | ')'))
        {
            start -= 1;
        }
        // `3🎉,5` is no 3,5.
        let touches = |mut sides: [Option<char>; 2]| {
            if sides[0].is_some_and(|c| ".,:@/".contains(c)) {
                sides.swap(0, 1);
            }
            sides[0].is_some_and(|c| c.is_alphanumeric() || "+-−$€£%°".contains(c))
        };
        let (mut back, mut on) = (text[..start].chars().rev(), text[end..].chars());
        let parts = touches([back.next(), back.next()]) && touches([on.next(), on.next()]);
        ranges.push((start..end, if parts { " ".to_owned() } else { String::new() }));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(text: &str) -> String {
        let mut text = text.to_owned();
        for (range, sign) in without_emojis(&text).into_iter().rev() {
            text.replace_range(range, &sign);
        }
        text
    }

    #[test]
    fn pictures_flags_and_sequences_are_emojis_and_signs_are_not() {
        for emoji in ["✅", "⚠️", "🇩🇪", "👩‍💻", "1️⃣", "❤", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👍🏽", "⏰", "™️"]
        {
            assert!(is_emoji(emoji), "{emoji}");
        }
        for sign in ["a", "1", "#", "©", "™", "→", "é", "漢", "½", "€", "☃\u{FE0E}"] {
            assert!(!is_emoji(sign), "{sign}");
        }
    }

    #[test]
    fn taking_emojis_out_leaves_no_double_space() {
        assert_eq!(removed("Well done ✅ today"), "Well done today");
        assert_eq!(removed("✅ Done"), "Done");
        assert_eq!(removed("Done 🎉."), "Done.");
        assert_eq!(removed("a\n🎉🎉 b 🎉"), "a\nb");
        assert_eq!(removed("👩‍💻"), "");
        assert_eq!(removed("You logged 3️⃣2 hours, 1️⃣ 🎉 2️⃣."), "You logged 32 hours, 1 2.");
        assert_eq!(removed("🎉 🎉 x"), "x");
    }

    #[test]
    fn taking_emojis_out_joins_no_figures_and_leaves_out_no_sign() {
        for (text, left) in [
            ("40➡️32", "40->32"),
            ("08:00➡️17:00", "08:00->17:00"),
            ("Done 3✅5 open", "Done 3 5 open"),
            ("5🕐30", "5 30"),
            ("5✖️3, 10➗2=5, ➖5 °C, ➕5 %", "5×3, 10÷2=5, -5 °C, +5 %"),
            ("syn😀ergy", "syn ergy"),
            ("Room 🔟 at 5️⃣", "Room 10 at 5"),
            ("Acme™️ 5", "Acme™ 5"),
            ("Group 🅰️ or 🅱️, loss 🔻3%, ✅ bed ❌ bath ↗️", "Group A or B, loss ▼3%, bed ✗ bath ↗"),
            ("(✅5)", "(5)"),
        ] {
            assert_eq!(removed(text), left);
        }
    }
}
