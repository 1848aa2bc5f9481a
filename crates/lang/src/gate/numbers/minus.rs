//! The sign of a number: before it, around it as brackets, behind it, or in words.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::key::FigureMeaning;
use super::scale::MONEY;

/// So far before a number its minus is looked for, in characters.
const NEAR: usize = 79;

/// Words behind which a number stands for itself.
const IS: &str = r"\b(?:is|was|are|were|of|by|at|to|ist|sind|war|von|um|auf|bei|beträgt)\s";

/// The meaning with the sign of the number in this place, if there is one; the place then holds the sign, too.
pub(super) fn signed(text: &str, range: &mut Range<usize>, meaning: FigureMeaning) -> FigureMeaning {
    let before = sign(text, range.start);
    if let Some((start, '+')) = before {
        range.start = start;
        return meaning.positive();
    }
    let words = || in_words(text, range.start).map(|start| start..range.end);
    let around = || in_brackets(text, range).or_else(|| behind(text, range));
    match before.map(|(start, _)| start..range.end).or_else(words).or_else(around) {
        Some(all) => {
            *range = all;
            meaning.negative()
        }
        None => meaning,
    }
}

/// Where a minus in words begins that is before this place. After a figure and at most one word it takes away from that: "30 minus 10", "30 hours
/// minus 10".
fn in_words(text: &str, at: usize) -> Option<usize> {
    static MINUS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)([0-9][^\s]*\s+(?:[^\s.;:!?]+\s+)?)?\b(minus|negative)\s{1,3}$").ok());
    let (before, start) = near(text.get(..at)?);
    let found = MINUS.as_ref()?.captures(without_money(before))?;
    let minus = found.get(2)?;
    (found.get(1).is_none() || minus.as_str().eq_ignore_ascii_case("negative")).then_some(start + minus.start())
}

/// A minus or plus before this place and where it begins, if it is no dash between two things.
fn sign(text: &str, at: usize) -> Option<(usize, char)> {
    let rest = without_money(text.get(..at)?);
    let near = rest.trim_end_matches([' ', '\t']);
    let (start, sign) = near.char_indices().next_back().filter(|(_, sign)| matches!(sign, '-' | '–' | '−' | '+'))?;
    let head = near.get(..start)?;
    let is_sign = if near.len() == rest.len() { is_beside(head, sign) } else { is_apart(head, sign, text.get(at..)?) };
    is_sign.then_some((start, sign))
}

/// Whether what is right before a number behind this text is its sign: `-5`, `-$5`, `$-5`, `–5`, `+5`. At the start of a line it is one, too: a dash
/// of a list has a space behind it.
fn is_beside(head: &str, sign: char) -> bool {
    let money = without_money(head);
    if money.len() < head.len() {
        return !ends_in_digit(money);
    }
    head.chars()
        .next_back()
        .is_none_or(|c| if c.is_whitespace() { sign == '-' || !ends_in_digit(head) } else { "([{:=\"'|,;*_>~≈<`\\".contains(c) })
}

/// Whether what has a blank between it and the number is its sign. A minus sign (`− 5`) is, but in a sum (`30 − 10 = 20`); a dash or plus only where a
/// number is due (`: - 5`, `| - 5 |`, `EUR - 5`, `is - 5`), not in a list, a range or a sentence.
fn is_apart(head: &str, sign: char, tail: &str) -> bool {
    static BEHIND_WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i){IS}[ \t]*$")).ok());
    let line = head.rsplit('\n').next().unwrap_or_default().trim_end();
    let is_quote = line.trim_start_matches([' ', '\t', '>']).is_empty();
    let money = without_money(line);
    let is_price = is_short_money(line, money) && !ends_in_digit(money);
    if !is_quote && (line.ends_with([':', '=', '(', '[', '|', '>', '~', '≈', '\\']) || is_price) {
        return true;
    }
    match sign {
        '−' => {
            !(line.contains(|c: char| c.is_ascii_digit())
                && (line.contains('=') || tail.lines().next().is_some_and(|tail| tail.contains('='))))
        }
        _ => BEHIND_WORD.as_ref().is_some_and(|word| word.is_match(near(head).0)),
    }
}

fn ends_in_digit(text: &str) -> bool {
    text.trim_end_matches([' ', '\t']).ends_with(|c: char| c.is_ascii_digit())
}

/// Whether a text without the currency at its end has lost a sign or a code: "EUR (5.00)"; but "five euros (5.00)".
fn is_short_money(text: &str, without: &str) -> bool {
    text.get(without.len()..).is_some_and(|money| (1..=3).contains(&money.trim_end().chars().count()))
}

/// Whether a currency or percent sign is beside this place.
pub(super) fn is_amount(text: &str, range: &Range<usize>) -> bool {
    let (Some(before), Some(after)) = (text.get(..range.start), text.get(range.end..)) else { return false };
    without_money(before).len() < before.len() || after_unit(after).len() < after.len()
}

/// `(5.00)`, as accounts write a negative: a number with a fraction, thousands, a currency or `%`, in brackets that are all of a line, of a cell or of what
/// follows `:`, `=`, a currency or a word such as `is`. In other brackets a number only says something again: "the mean of North (5.25)".
fn in_brackets(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    static STANDS_FOR_ITSELF: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i)(?:^|\n|[|:=]|{IS})[ \t]*$")).ok());
    static CLOSED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[ \t]*(?:$|\n|\||[.;,!?](?:\s|$))").ok());
    let before = text.get(..range.start)?;
    let inside = without_money(before);
    let head = inside.strip_suffix('(')?;
    let tail = text.get(range.end..)?;
    let past = after_unit(tail);
    let after = past.strip_prefix(')')?;
    let is_money = inside.len() < before.len() || past.len() < tail.len();
    let outside = without_money(head);
    let is_other = outside.trim_end().ends_with(|c: char| c.is_ascii_digit());
    let has_money_outside = is_short_money(head, outside) && !is_other || after_money(after).len() < after.len();
    let stands_alone = || {
        STANDS_FOR_ITSELF.as_ref().is_some_and(|before| before.is_match(near(head).0))
            && CLOSED.as_ref().is_some_and(|end| end.is_match(after))
    };
    let is_negative = has_money_outside || (is_money || has_marks(text, range)) && stands_alone();
    is_negative.then(|| head.len()..text.len() - after.len())
}

/// `5,00-`, as business software writes a negative: a number with a fraction, thousands or a currency, and no first half of "2,5- bis 3-fach" or
/// "5-euro note".
fn behind(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    static GOES_ON: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)^(?:[^\s|.;:,!?)]|\s+(?:[0-9]|(?:and|or|to|bis|und|oder|et|ou|à|y|o|e|a)\b))").ok());
    let after = text.get(range.end..)?.strip_prefix('-').filter(|after| !after.starts_with(char::is_alphabetic))?;
    let has_money_behind = after_money(after).len() < after.len();
    let has_money = has_money_behind || text.get(..range.start).is_some_and(|before| without_money(before).len() < before.len());
    let goes_on = || GOES_ON.as_ref().is_none_or(|on| on.is_match(after));
    (has_money_behind || (has_money || has_marks(text, range)) && !goes_on()).then_some(range.start..range.end + 1)
}

/// Whether a number has a fraction or thousands that are parted.
fn has_marks(text: &str, range: &Range<usize>) -> bool {
    text.get(range.clone()).is_some_and(|number| number.contains(|c: char| ".,' ".contains(c)))
}

/// The text without the currency at its end.
fn without_money(text: &str) -> &str {
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i)\b{{start-half}}{MONEY}\x20?$")).ok());
    let (end, start) = near(text);
    END.as_ref().and_then(|money| money.find(end)).and_then(|found| text.get(..start + found.start())).unwrap_or(text)
}

/// The text without the currency at its start.
fn after_money(text: &str) -> &str {
    static START: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i)^\x20?{MONEY}")).ok());
    START.as_ref().and_then(|money| money.find(text)).and_then(|found| text.get(found.end()..)).unwrap_or(text)
}

/// The text without the currency or percent sign at its start.
fn after_unit(text: &str) -> &str {
    text.trim_start_matches(' ').strip_prefix('%').unwrap_or_else(|| after_money(text))
}

/// The end of a text and where it begins: what counts is close by, and a bounded part keeps a long text cheap.
fn near(text: &str) -> (&str, usize) {
    let start = text.char_indices().rev().nth(NEAR).map_or(0, |(start, _)| start);
    (&text[start..], start)
}
