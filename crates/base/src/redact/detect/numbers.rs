//! Everything made of digits: cards, social security numbers, bank accounts, IPv4 addresses, phone numbers.

use std::net::Ipv4Addr;

use super::super::{Detection, PiiKind};
use super::{Group, add, before, byte, has_word, iban, phone, words_before};

/// More groups than this are data, not a number someone has.
const LONGEST_CHAIN: usize = 64;

pub(super) fn find(text: &str, found: &mut Vec<Detection>) {
    let bytes = text.as_bytes();
    let mut chain = vec![];
    let mut at = 0;
    while let Some(start) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)).map(|offset| at + offset) {
        read_chain(bytes, start, &mut chain);
        at = chain.last().map_or(start + 1, |group| group.end);
        let count: usize = chain.iter().map(Group::len).sum();
        // The shortest are `1.2.3.4` and a phone number of seven digits; an account number begins with letters and two digits.
        if count >= 7 || chain.len() >= 4 || count >= 2 && before(bytes, start).is_ascii_alphabetic() {
            in_chain(bytes, &chain, found);
        }
    }
}

/// Groups of digits with at most a few marks between them.
fn read_chain<'t>(text: &'t [u8], start: usize, groups: &mut Vec<Group<'t>>) {
    groups.clear();
    let (mut start, mut gap) = (start, &b""[..]);
    loop {
        let end = start + text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        groups.push(Group { start, end, gap });
        let rest = &text[end..];
        let (next, marks): (usize, &[u8]) = match rest {
            // A hard space or hyphen is a space or hyphen.
            [0xC2, 0xA0, ..] => (end + 2, b" "),
            [0xE2, 0x80, 0x91, ..] => (end + 3, b"-"),
            _ => {
                let marks = rest.iter().take(4).take_while(|byte| matches!(byte, b' ' | b'-' | b'.' | b'/' | b'(' | b')')).count();
                (end + marks, &rest[..marks])
            }
        };
        if !(1..=3).contains(&marks.len()) || !byte(text, next).is_ascii_digit() || groups.len() >= LONGEST_CHAIN {
            return;
        }
        (start, gap) = (next, marks);
    }
}

fn in_chain(text: &[u8], chain: &[Group], found: &mut Vec<Detection>) {
    let mut rest = chain;
    while let Some(first) = rest.first() {
        let is_joined = rest.len() < chain.len();
        let hit = iban_at(text, rest)
            .or_else(|| card(text, rest).map(|(end, used)| (PiiKind::Card, first.start, end, used)))
            .or_else(|| ipv4(text, rest, is_joined).map(|(end, used)| (PiiKind::Ip, first.start, end, used)))
            .or_else(|| ssn(text, rest, is_joined).map(|(end, used)| (PiiKind::Ssn, first.start, end, used)))
            .or_else(|| bot_token(text, first).map(|end| (PiiKind::Key, first.start, end, 1)))
            .or_else(|| phone::find(text, rest, is_joined).map(|(start, end, used)| (PiiKind::Phone, start, end, used)));
        match hit {
            Some((kind, start, end, used)) => {
                add(found, kind, start, end);
                rest = rest.get(used.max(1)..).unwrap_or_default();
            }
            None => rest = &rest[1..],
        }
    }
}

/// `DE89 3704…`: the digits are behind two letters.
fn iban_at(text: &[u8], groups: &[Group]) -> Option<(PiiKind, usize, usize, usize)> {
    let first = groups.first()?;
    let start = first.start.checked_sub(2)?;
    let letters = text.get(start..first.start)?.iter().all(u8::is_ascii_alphabetic);
    if !letters || first.len() < 2 || before(text, start).is_ascii_alphanumeric() {
        return None;
    }
    let end = iban::end(text, start)?;
    Some((PiiKind::Iban, start, end, groups.iter().take_while(|group| group.start < end).count()))
}

/// 13 to 19 digits with the prefix and length of a card network and the right check digit (ISO/IEC 7812), in one piece or in the
/// groups printed on cards.
fn card(text: &[u8], groups: &[Group]) -> Option<(usize, usize)> {
    let first = groups.first()?;
    if !matches!(first.len(), 4 | 13..=19) {
        return None;
    }
    let sizes: Vec<usize> = groups.iter().take(5).map(Group::len).collect();
    let same_gap = |count: usize| {
        let gap = groups.get(1).map(|group| group.gap).unwrap_or_default();
        matches!(gap, b" " | b"-") && groups.iter().take(count).skip(1).all(|group| group.gap == gap)
    };
    let used = match sizes.as_slice() {
        [13..=19, ..] => 1,
        [4, 4, 4, 4, 1..=3, ..] if same_gap(5) && is_card(&digits(text, &groups[..5])) => 5,
        [4, 4, 4, 4, ..] if same_gap(4) => 4,
        [4, 6, 4..=5, ..] if same_gap(3) => 3,
        [4, 3, 3, 3, ..] if same_gap(4) => 4,
        _ => return None,
    };
    let end = groups.get(used - 1)?.end;
    (is_free(text, first.start, end) && is_card(&digits(text, &groups[..used]))).then_some((end, used))
}

fn digits(text: &[u8], groups: &[Group]) -> Vec<u32> {
    groups.iter().flat_map(|group| &text[group.start..group.end]).map(|byte| u32::from(byte - b'0')).collect()
}

fn number(digits: &[u32]) -> u32 {
    digits.iter().fold(0, |number, digit| number * 10 + digit)
}

/// Not part of a word, an id or a decimal number.
fn is_free(text: &[u8], start: usize, end: usize) -> bool {
    let (left, right) = (before(text, start), byte(text, end));
    let is_decimal = left == b'.' && before(text, start - 1).is_ascii_digit() || right == b'.' && byte(text, end + 1).is_ascii_digit();
    let is_id = matches!(left, b'-' | b'_') && before(text, start - 1).is_ascii_alphanumeric();
    !left.is_ascii_alphanumeric() && !right.is_ascii_alphanumeric() && !matches!(right, b'_') && !is_decimal && !is_id
}

fn is_card(digits: &[u32]) -> bool {
    let prefix = |count: usize| number(&digits[..count.min(digits.len())]);
    let of_network = match (prefix(1), prefix(2), prefix(3), prefix(4), digits.len()) {
        (4, .., 13 | 16 | 19) => true,                                                             // Visa
        (_, 51..=55, _, _, 16) | (_, _, _, 2221..=2720, 16) => true,                               // Mastercard
        (_, 34 | 37, _, _, 15) => true,                                                            // American Express
        (_, 65, _, _, 16..=19) | (_, _, 644..=649, _, 16..=19) | (_, _, _, 6011, 16..=19) => true, // Discover
        (_, 36 | 38 | 39, _, _, 14..=19) | (_, _, 300..=305, _, 14..=19) => true,                  // Diners Club
        (_, _, _, 3528..=3589, 16..=19) => true,                                                   // JCB
        (_, 62 | 81, _, _, 16..=19) => true,                                                       // UnionPay
        (_, _, _, 2200..=2204, 16..=19) => true,                                                   // Mir
        (_, 50 | 56..=59 | 60 | 61 | 63..=69, _, _, 13..=19) => true,                              // Maestro, RuPay
        _ => false,
    };
    of_network && luhn(digits)
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match index % 2 {
            0 => *digit,
            _ if *digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != 0)
}

/// Four numbers below 256 that are neither a loopback address, a mask, "any address", nor a version.
fn ipv4(text: &[u8], groups: &[Group], is_joined: bool) -> Option<(usize, usize)> {
    let four = groups.get(..4)?;
    let (start, end) = (four[0].start, four[3].end);
    let address: Ipv4Addr = std::str::from_utf8(&text[start..end]).ok()?.parse().ok()?;
    let goes_on = groups.get(4).is_some_and(|next| next.gap == b".") || byte(text, end).is_ascii_alphabetic() || byte(text, end) == b'_';
    let is_joined = is_joined && matches!(four[0].gap, b"." | b"-" | b"/");
    let left = before(text, start);
    let is_part =
        left.is_ascii_alphanumeric() || matches!(left, b'.' | b'_') || left == b'/' && before(text, start - 1).is_ascii_alphanumeric();
    if goes_on || is_joined || is_part || matches!(address.octets(), [0 | 127 | 255, ..]) {
        return None;
    }
    let near = words_before(text, start);
    let near = near.trim_end_matches([' ', ':', '=', '"', '(', 'v', '.']);
    let versions =
        ["version", "ver", "release", "build", "rev", "section", "chapter", "clause", "article", "firmware", "sw", "fw", "update", "§"];
    let is_version = versions.iter().any(|word| near.ends_with(word));
    (!is_version && before(text, start) != b'v').then_some((end, 4))
}

/// `123-45-6789`, or with the words "SSN" or "social security" before it also with spaces or in one piece. Numbers that were never
/// given out are none (Social Security Administration, since 2011: area 000, 666, 900–999, group 00, serial 0000).
fn ssn(text: &[u8], groups: &[Group], is_joined: bool) -> Option<(usize, usize)> {
    let first = groups.first()?;
    if !matches!(first.len(), 3 | 9) {
        return None;
    }
    let sizes: Vec<usize> = groups.iter().take(3).map(Group::len).collect();
    let gaps: Vec<&[u8]> = groups.iter().take(3).skip(1).map(|group| group.gap).collect();
    let named = || has_word(&words_before(text, first.start), ["ssn", "social security"]);
    let used = match (sizes.as_slice(), gaps.as_slice()) {
        ([3, 2, 4], [b"-", b"-"]) => 3,
        ([3, 2, 4], [b" ", b" "] | [b".", b"."]) if named() => 3,
        ([9, ..], _) if named() => 1,
        _ => return None,
    };
    let end = groups.get(used - 1)?.end;
    let joined = |gap: &[u8]| matches!(gap, b"-" | b"." | b"/");
    if is_joined && joined(first.gap) || groups.get(used).is_some_and(|next| joined(next.gap)) || !is_free(text, first.start, end) {
        return None;
    }
    let digits = digits(text, &groups[..used]);
    let (area, group, serial) = (number(&digits[..3]), number(&digits[3..5]), number(&digits[5..]));
    (!matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0).then_some((end, used))
}

/// The token of a chat bot: its number, a colon, 35 characters.
fn bot_token(text: &[u8], first: &Group) -> Option<usize> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let tail = text.get(first.end + 1..)?;
    let length = tail.iter().take(36).take_while(|byte| is_token(byte)).count();
    let fits = (8..=10).contains(&first.len())
        && byte(text, first.end) == b':'
        && length == 35
        && !before(text, first.start).is_ascii_alphanumeric();
    fits.then_some(first.end + 36)
}
