//! What separates the cells of a text file, by what several lines of it say.

use crate::model::Separator;

/// How many lines are looked at.
const MOST_LINES: usize = 200;
/// A text of so many bytes is the beginning of a longer one.
const CUT: usize = 64 << 10;

/// What is seen of the bytes of a record.
#[derive(Default)]
pub(super) struct TableLines {
    /// Line ends.
    pub(super) ends: u64,
    /// Whether there is a quotation mark.
    pub(super) has_quote: bool,
}

impl TableLines {
    /// Takes more bytes into account.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        self.ends += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.has_quote |= bytes.contains(&b'"');
    }
}

/// The delimiter by which most lines have as many cells as the header; of several, the one that is most frequent in the header, and a comma last:
/// it also stands in numbers and names (`Menge, kg;Preis, EUR`), and other delimiters hardly in all lines. Where no header has
/// two cells, the one by which most lines have equally many.
pub(super) fn separator_of(text: &[u8]) -> u8 {
    let best = Separator::ALL.into_iter().map(Separator::byte).max_by_key(|delimiter| {
        let widths = widths(text, *delimiter);
        let header = widths.first().copied().unwrap_or(1);
        let of_header = widths.iter().filter(|width| **width == header).count();
        let most = (2..=widths.iter().copied().max().unwrap_or(1)).map(|width| widths.iter().filter(|w| **w == width).count()).max();
        let is_of_all = header > 1 && of_header == widths.len();
        (
            is_of_all,
            header > 1,
            is_of_all && *delimiter != b',',
            if header > 1 { if is_of_all { header } else { of_header } } else { most.unwrap_or(0) },
            header,
            std::cmp::Reverse(place(*delimiter)),
        )
    });
    best.unwrap_or(b',')
}

fn place(delimiter: u8) -> usize {
    Separator::ALL.iter().position(|separator| separator.byte() == delimiter).unwrap_or(0)
}

/// How many lines have so many cells.
pub(super) fn lines_of(text: &[u8], delimiter: u8, width: usize) -> usize {
    widths(text, delimiter).into_iter().filter(|found| *found == width).count()
}

/// The number of cells of each line; the last one may be cut, and does not count beside others. Empty: a quoted cell ends at another character, so it
/// is not this one that separates them.
fn widths(text: &[u8], delimiter: u8) -> Vec<usize> {
    let (mut widths, mut width) = (vec![], 1);
    let (mut is_quoted, mut is_at_start, mut is_closed, mut is_empty) = (false, true, false, true);
    for byte in text {
        match *byte {
            b'"' if is_quoted => (is_quoted, is_closed) = (false, true),
            _ if is_quoted => {}
            // Of a doubled one, the second opens again.
            b'"' if is_at_start || is_closed => (is_quoted, is_closed, is_at_start, is_empty) = (true, false, false, false),
            b'\r' | b'\n' => {
                if !is_empty {
                    widths.push(width);
                }
                (width, is_at_start, is_closed, is_empty) = (1, true, false, true);
                if widths.len() == MOST_LINES {
                    return widths;
                }
            }
            byte if byte == delimiter => (width, is_at_start, is_closed, is_empty) = (width + 1, true, false, false),
            _ if is_closed => return vec![],
            _ => (is_at_start, is_empty) = (false, false),
        }
    }
    if !is_empty && widths.is_empty() || text.len() < CUT {
        widths.extend((!is_empty).then_some(width));
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_say_what_separates_their_cells() {
        for (text, separator) in [
            ("a,b\n1;5,2\n", b','),
            ("a;b\n1,5;2\n", b';'),
            ("\"x;y;z\",b\n1,2\n", b','),
            ("a\tb\n1\tx, y\n", b'\t'),
            ("a|b\n1|x; y\n", b'|'),
            ("name, first, middle;hours\nAna;8\nBo;7,5\n", b';'),
            ("name;hours, planned\nAna;8\nBo;7,5\n", b';'),
            ("day;amount\n1;1,50\n2;2,50\n", b';'),
            ("id|note\n1|a, b\n2|c, d\n", b'|'),
            ("Menge, kg;Preis, EUR\n1,5;2,5\n", b';'),
            ("Datum;Betrag, EUR\n18.11.2026;12,50\n", b';'),
            ("Name, Vorname;Wohnort\nBauer, Ana;Bonn\n", b';'),
            ("x, m\ty, m, z\n1,5\t2,5,3\n", b'\t'),
            ("a,b\n1,2\n3,4,5\n", b','),
            ("room,view\n12,garden, quiet\n", b','),
            ("Report\n\na;b;c\n1;2;3\n", b';'),
            ("a\n1\n2\n", b','),
            ("a\n1,5\n", b','),
            ("", b','),
            ("note\n\"a, b; c\"\n", b','),
            ("\"x\",\";;x\"\n", b','),
            ("\"a \"\"b\"\"\";c\n1;2\n", b';'),
        ] {
            assert_eq!(char::from(separator_of(text.as_bytes())), char::from(separator), "{text}");
        }
    }
}
