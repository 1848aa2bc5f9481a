//! Signs that are digits or numbers and not `0` to `9`.

/// Digits above the line, with their signs (Unicode: "Superscripts and Subscripts").
pub(super) fn is_raised(character: char) -> bool {
    matches!(character, '²' | '³' | '¹' | '\u{2070}'..='\u{207F}')
}

/// Digits below the line, with their signs.
pub(super) fn is_lowered(character: char) -> bool {
    matches!(character, '\u{2080}'..='\u{208E}')
}

/// What raised and lowered signs are as digits with a sign; others of them are left out.
pub(super) fn exponent(run: &str) -> String {
    run.chars()
        .filter_map(|character| match character {
            '¹' => Some('1'),
            '²' => Some('2'),
            '³' => Some('3'),
            '\u{207B}' | '\u{208B}' => Some('-'),
            '\u{2070}'..='\u{2079}' => char::from_digit(character as u32 - 0x2070, 10),
            '\u{2080}'..='\u{2089}' => char::from_digit(character as u32 - 0x2080, 10),
            _ => None,
        })
        .collect()
}

/// The value of a Roman digit that is a sign of its own (U+2160 to U+2188). The letters `XII` are letters.
pub(super) fn roman(character: char) -> Option<u64> {
    let at = (character as u32).checked_sub(0x2160)?;
    Some(match at {
        0..=11 | 16..=27 => u64::from(at % 16 + 1),
        12 | 28 | 38 => 50,
        13 | 29 => 100,
        14 | 30 => 500,
        15 | 31 | 32 => 1_000,
        33 => 5_000,
        34 => 10_000,
        37 => 6,
        39 => 50_000,
        40 => 100_000,
        _ => return None,
    })
}

/// The number in a filled or doubled ring, for which Unicode has no plain form.
pub(super) fn ringed(character: char) -> Option<u32> {
    let at = character as u32;
    match at {
        0x2776..=0x2793 => Some((at - 0x2776) % 10 + 1),
        0x24EB..=0x24F4 => Some(at - 0x24EB + 11),
        0x24F5..=0x24FE => Some(at - 0x24F5 + 1),
        0x24FF => Some(0),
        _ => None,
    }
}

/// The zero of the one script whose digits have other numbers before them (Brahmi).
const AFTER_NUMBERS: u32 = 0x11066;

/// A digit of another script as `0` to `9`. The ten digits of a script stand in a row that begins with its zero (Unicode, category Nd), and no
/// number is before it.
pub(super) fn plain_digit(character: char) -> Option<char> {
    if character.is_ascii() || !character.is_numeric() {
        return None;
    }
    let is_number = |at: u32| char::from_u32(at).is_some_and(char::is_numeric);
    let row = (1..=10).take_while(|back| (character as u32).checked_sub(*back).is_some_and(is_number)).count();
    let value = if row == 10 { (character as u32).checked_sub(AFTER_NUMBERS)? } else { u32::try_from(row).ok()? };
    (value < 10).then(|| char::from_digit(value, 10))?
}
