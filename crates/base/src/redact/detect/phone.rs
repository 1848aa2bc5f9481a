//! Phone numbers (E.164 and the ways people write them).

use super::{Group, before, byte, has_word, words_before};

/// Words that say a phone number follows, so that it needs no shape of its own.
const WORDS: &str = "phone, telephone, telefon, tel, mobile, mobil, móvil, teléfono, téléphone, cell, cellphone, fax, whatsapp, handy, \
call me, call us, ring me, text me, reach me, hotline, phonenumber";

/// The number that these groups begin with: where it starts (before a `+` or bracket) and ends, and how many groups it takes.
pub(super) fn find(text: &[u8], groups: &[Group], is_joined: bool) -> Option<(usize, usize, usize)> {
    let first = groups.first()?;
    let mut start = first.start;
    if before(text, start) == b'(' {
        start -= 1;
    }
    let has_plus = before(text, start) == b'+';
    if has_plus {
        start -= 1;
    }
    let left = before(text, start);
    if left.is_ascii_alphanumeric() || matches!(left, b'_' | b'#' | b'$') || is_joined && !has_plus && !matches!(first.gap, b" " | b" (") {
        return None;
    }
    let count = |used: usize| groups.iter().take(used).map(Group::len).sum::<usize>();
    let used = if has_plus {
        international(text, groups)?
    } else if is_date(groups) {
        return None;
    } else {
        american(text, groups, start).or_else(|| national(text, groups, is_joined)).or_else(|| named(text, groups, start))?
    };
    let end = groups.get(used - 1)?.end;
    let right = byte(text, end);
    let goes_on = right.is_ascii_alphanumeric() && right != b'x'
        || matches!(right, b'_' | b'%')
        || right == b':' && byte(text, end + 1).is_ascii_digit();
    ((7..=16).contains(&count(used)) && !goes_on).then_some((start, end, used))
}

fn is_mark(gap: &[u8]) -> bool {
    matches!(gap, b" " | b"-" | b"." | b"/" | b"(" | b")" | b" (" | b") " | b")-" | b"-(" | b")/" | b"")
}

/// How many groups belong together, and how many digits they have: as long as the next one joins, and up to `most` digits.
fn together(groups: &[Group], most: usize, joins: impl Fn(&Group) -> bool) -> (usize, usize) {
    let (mut used, mut digits) = (0, 0);
    for group in groups {
        if used > 0 && !joins(group) || digits + group.len() > most {
            break;
        }
        digits += group.len();
        used += 1;
    }
    (used, digits)
}

/// As many groups as make 8 to 15 digits after the `+`; 11 in North America.
fn international(text: &[u8], groups: &[Group]) -> Option<usize> {
    let most = if byte(text, groups.first()?.start) == b'1' { 11 } else { 15 };
    if byte(text, groups.first()?.start) == b'0' {
        return None;
    }
    let (used, digits) = together(groups, most, |group| is_mark(group.gap));
    (digits >= 8).then_some(used)
}

/// `(555) 123-4567`, `555-123-4567`, `1-555-123-4567`: three, three and four digits.
fn american(text: &[u8], groups: &[Group], start: usize) -> Option<usize> {
    let with_country = groups.first().is_some_and(|group| group.len() == 1 && text.get(group.start) == Some(&b'1'));
    let from = usize::from(with_country);
    let three = groups.get(from..from + 3)?;
    let gaps = (three[1].gap, three[2].gap);
    let in_brackets = before(text, three[0].start) == b'(' && gaps.0.starts_with(b")");
    let is_shaped = three[0].len() == 3 && three[1].len() == 3 && three[2].len() == 4;
    let same = gaps.0 == gaps.1 && matches!(gaps.0, b"-" | b"." | b" " | b"/");
    let area = text.get(three[0].start).copied().unwrap_or(0);
    let exchange = text.get(three[1].start).copied().unwrap_or(0);
    // Only spaces between: also three columns of a table, so both parts must begin as such numbers do.
    let is_plain = gaps.0 != b" " || exchange >= b'2' || in_brackets || has_word(&words_before(text, start), WORDS.split(", "));
    let next = groups.get(from + 3).is_some_and(|next| matches!(next.gap, b"-" | b"." | b"/"));
    (is_shaped && (same || in_brackets && matches!(gaps.1, b"-" | b"." | b" ")) && area >= b'2' && is_plain && !next).then_some(from + 3)
}

/// `030 12345678`, `0151/2345678`, `01 23 45 67 89`, `0049 151 23456789`: begins with 0 and has marks.
fn national(text: &[u8], groups: &[Group], is_joined: bool) -> Option<usize> {
    let first = groups.first()?;
    let digits = text.get(first.start..first.end)?;
    let is_pairs = groups.len() == 5 && groups.iter().all(|group| group.len() == 2);
    if is_pairs && !is_joined {
        let same = groups.iter().skip(2).all(|group| group.gap == groups[1].gap);
        return (same && digits[0] == b'0' && digits[1] != b'0' && matches!(groups[1].gap, b" " | b"." | b"-")).then_some(5);
    }
    let is_foreign = digits.starts_with(b"00") && digits.get(2).is_none_or(|digit| *digit != b'0') && digits.len() >= 3;
    let is_area = (3..=5).contains(&digits.len()) && digits.first() == Some(&b'0') && digits.get(1).is_some_and(|digit| *digit != b'0');
    if !(is_foreign || is_area) || is_joined {
        return None;
    }
    let joins = |group: &Group| group.len() >= 2 && matches!(group.gap, b" " | b"-" | b"/" | b") " | b")" | b")-" | b")/");
    let (used, count) = together(groups, if is_foreign { 16 } else { 12 }, joins);
    // A group of at least three digits follows: "020 7946 0958", not "012 10 11 12".
    let is_long = groups.get(1).is_some_and(|next| next.len() >= 3);
    (used >= 2 && is_long && (9..=16).contains(&count)).then_some(used)
}

/// Any 7 to 15 digits after a word that says so.
fn named(text: &[u8], groups: &[Group], start: usize) -> Option<usize> {
    let (used, digits) = together(groups, 15, |group| is_mark(group.gap));
    let is_long = groups.iter().take(used).any(|group| group.len() >= 3);
    (digits >= 7 && is_long && has_word(&words_before(text, start), WORDS.split(", "))).then_some(used)
}

/// `01.02.2024`, `2024-01-02`: a date, perhaps with a time behind it.
fn is_date(groups: &[Group]) -> bool {
    let sizes: Vec<usize> = groups.iter().take(3).map(Group::len).collect();
    let same = groups.len() >= 3 && groups[1].gap == groups[2].gap && matches!(groups[1].gap, b"-" | b"." | b"/");
    same && matches!(sizes.as_slice(), [1..=2, 1..=2, 4] | [4, 1..=2, 1..=2])
}
