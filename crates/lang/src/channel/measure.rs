//! How long a text is, in each unit.

use crate::model::LengthUnit;

/// The basic alphabet of GSM 03.38 (3GPP TS 23.038, section 6.2.1), in its order, without the escape.
const BASIC: &str =
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
/// Its extension table (section 6.2.1.1): each takes two places, an escape and the character, which stay in one segment.
const EXTENSION: &str = "\u{c}^{}\\[~]|€";

/// The length of a text as the channel counts it.
pub fn measure(text: &str, unit: LengthUnit) -> u64 {
    match unit {
        LengthUnit::Characters => text.chars().count() as u64,
        LengthUnit::Utf16 => text.encode_utf16().count() as u64,
        LengthUnit::Bytes => text.len() as u64,
        LengthUnit::SmsSegments => segments(text),
    }
}

/// One message holds 160 places of 7 bits or 70 of 16; several hold 153 or 67 each, the rest is their common header
/// (3GPP TS 23.040, section 9.2.3.24.1). A character of two places is not parted.
fn segments(text: &str) -> u64 {
    let seven: Option<Vec<u64>> = text.chars().map(places).collect();
    match seven {
        Some(widths) => fill(&widths, 160, 153),
        None => fill(&text.chars().map(|c| c.len_utf16() as u64).collect::<Vec<_>>(), 70, 67),
    }
}

/// The 7-bit places a character takes; `None`: the alphabet does not have it.
fn places(character: char) -> Option<u64> {
    match character {
        ' ' | 'a'..='z' | 'A'..='Z' | '0'..='9' => Some(1),
        _ if BASIC.contains(character) => Some(1),
        _ if EXTENSION.contains(character) => Some(2),
        _ => None,
    }
}

fn fill(widths: &[u64], alone: u64, each: u64) -> u64 {
    let total: u64 = widths.iter().sum();
    if total <= alone {
        return u64::from(total > 0);
    }
    let (mut count, mut used) = (1, 0);
    for width in widths {
        if used + width > each {
            count += 1;
            used = 0;
        }
        used += width;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> u64 {
        measure(text, LengthUnit::SmsSegments)
    }

    #[test]
    fn segments_are_160_or_153_in_the_gsm_alphabet() {
        assert_eq!(count(""), 0);
        assert_eq!(count(&"a".repeat(160)), 1);
        assert_eq!(count(&"a".repeat(161)), 2);
        assert_eq!(count(&"a".repeat(306)), 2);
        assert_eq!(count(&"a".repeat(307)), 3);
        assert_eq!(count("Grüße von Ängström, 5 £"), 1);
    }

    #[test]
    fn the_extension_table_takes_two_places_that_stay_together() {
        assert_eq!(count(&"€".repeat(80)), 1);
        assert_eq!(count(&"€".repeat(81)), 2);
        // 152 places, then two that no longer fit into 153; so the second segment gets 2 + 152 and the last one starts a third.
        assert_eq!(count(&format!("{}€{}", "a".repeat(152), "a".repeat(152))), 3);
    }

    #[test]
    fn segments_are_70_or_67_for_all_else_and_pairs_stay_together() {
        assert_eq!(count(&"ш".repeat(70)), 1);
        assert_eq!(count(&"ш".repeat(71)), 2);
        assert_eq!(count(&"ш".repeat(135)), 3);
        assert_eq!(count(&"🎉".repeat(35)), 1);
        assert_eq!(count(&"🎉".repeat(66)), 2);
        assert_eq!(count(&"🎉".repeat(67)), 3);
        assert_eq!(count("it’s"), 1);
        assert_eq!(count(&format!("{}’", "a".repeat(70))), 2);
    }

    #[test]
    fn other_units_count_what_they_say() {
        assert_eq!(measure("é🎉", LengthUnit::Characters), 2);
        assert_eq!(measure("é🎉", LengthUnit::Utf16), 3);
        assert_eq!(measure("é🎉", LengthUnit::Bytes), 6);
    }
}
