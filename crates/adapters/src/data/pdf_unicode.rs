//! The table with which a font of a PDF file says which letters its codes are (ISO 32000-1, 9.10.3).

use std::collections::BTreeMap;

/// By the first code of a range: its last one, and the letters of the first one in UTF-16.
pub(super) struct Table(BTreeMap<u32, (u32, Vec<u16>)>);

/// What a table consists of.
enum Part<'a> {
    /// Digits between `<` and `>`.
    Digits(&'a [u8]),
    Open,
    Close,
    Word(&'a [u8]),
}

impl Table {
    /// Reads a table. What is no entry is left out, and how many bytes a code has: the font says it.
    pub(super) fn of(content: &[u8]) -> Table {
        let mut table = Table(BTreeMap::new());
        // The codes of the current entry, and where in its list of letters it is.
        let (mut codes, mut listed): (Vec<u32>, Option<u32>) = (Vec::new(), None);
        let mut codes_of_entry = 0;
        let mut rest = content;
        while let Some((part, behind)) = part(rest) {
            rest = behind;
            match part {
                Part::Word(word) => {
                    codes.clear();
                    listed = None;
                    codes_of_entry = match word {
                        b"beginbfchar" => 1,
                        b"beginbfrange" => 2,
                        _ => 0,
                    };
                }
                Part::Digits(digits) if codes.len() < codes_of_entry => {
                    codes.push(units(digits).iter().fold(0, |code, unit| code << 16 | u32::from(*unit)))
                }
                Part::Digits(digits) => {
                    let (Some(first), Some(last)) = (codes.first().copied(), codes.last().copied()) else { continue };
                    if let Some(at) = &mut listed {
                        let code = first.saturating_add(*at);
                        *at += 1;
                        table.0.insert(code, (code, units(digits)));
                    } else {
                        table.0.insert(first, (last, units(digits)));
                        codes.clear();
                    }
                }
                Part::Open => listed = Some(0),
                Part::Close => {
                    codes.clear();
                    listed = None;
                }
            }
        }
        table
    }

    /// Whether it has no entry.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the letters of a code. `None`: it has none.
    pub(super) fn write(&self, code: u32, text: &mut String) -> Option<()> {
        let (first, (last, letters)) = self.0.range(..=code).next_back()?;
        let (end, start) = letters.split_last().filter(|_| code <= *last)?;
        let end = end.wrapping_add((code - first) as u16);
        let letters = char::decode_utf16(start.iter().copied().chain([end]));
        // Some list a code without letters so.
        text.extend(
            letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).filter(|letter| !matches!(letter, '\0' | '\u{FFFF}')),
        );
        Some(())
    }
}

/// Digits in units of four; what is shorter is a unit, too.
fn units(digits: &[u8]) -> Vec<u16> {
    let digits: Vec<u8> = digits.iter().filter_map(|digit| char::from(*digit).to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(4).map(|unit| unit.iter().fold(0, |value, digit| value << 4 | u16::from(*digit))).collect()
}

/// The next part of a table, and what is behind it.
fn part(content: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let content = content.trim_ascii_start();
    let (first, behind) = content.split_first()?;
    let until = |content: &[u8], ends: fn(&u8) -> bool| content.iter().position(ends).unwrap_or(content.len());
    match first {
        b'[' => Some((Part::Open, behind)),
        b']' => Some((Part::Close, behind)),
        b'<' if behind.first() != Some(&b'<') => {
            let (digits, behind) = behind.split_at(until(behind, |byte| *byte == b'>'));
            Some((Part::Digits(digits), behind.get(1..).unwrap_or_default()))
        }
        _ => {
            let length = 1 + until(behind, |byte| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'[' | b']'));
            let (word, behind) = content.split_at(length);
            Some((Part::Word(word), behind))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_all_kinds_are_read() {
        let table = Table::of(
            b"/CMapName //a/b def\r2 beginbfchar<01><0041>\r<0002> <D83D DE00>\rendbfchar 3 beginbfrange <10> <12> <0061> \
              <20><21>[<0031><0032 0033>] <00A0> <00FF> <00A0> endbfrange << /x <99> >> <77> <0041>",
        );
        let text = |codes: &[u32]| {
            let mut text = String::new();
            codes.iter().for_each(|code| table.write(*code, &mut text).unwrap_or_else(|| text.push('?')));
            text
        };
        assert_eq!(text(&[1, 2, 0x10, 0x12, 0x13, 0x20, 0x21, 0x22, 0xE4, 0x77, 0x99]), "A😀ac?123?ä??");
    }

    #[test]
    fn no_range_takes_more_than_its_bytes() {
        let table = Table::of("1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange [ ] < <".repeat(1000).as_bytes());
        assert_eq!(table.0.len(), 1);
        assert!(Table::of(b"<41").is_empty());
    }
}
