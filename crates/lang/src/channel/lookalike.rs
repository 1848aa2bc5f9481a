//! Signs in the place of characters that a channel would read as marks, and that it has no way to escape.

use std::borrow::Cow;

use super::degrade::is_same_address;
use super::document::{BlockKind, DocumentBlock, RunStyle, StyledRun, each_text};
use crate::model::Markup;

/// Puts the lookalikes of a channel in place, wherever a character could begin or end a mark: not inside a word (`client_id`), not
/// between two blanks (`2 * 3`), never in an address. In code only its own mark means something.
pub(super) fn with_lookalikes<'b>(blocks: &'b [DocumentBlock], markup: &Markup) -> Cow<'b, [DocumentBlock]> {
    if markup.lookalike.is_empty() {
        return Cow::Borrowed(blocks);
    }
    let put = |runs: &mut Vec<StyledRun>, in_code: bool| {
        let count = |character: char| runs.iter().map(|run| run.text.matches(character).count()).sum::<usize>();
        // One alone has no partner; what begins a line needs none.
        let alone: Vec<char> = markup.lookalike.iter().filter_map(|(from, _)| from.chars().next()).filter(|c| count(*c) < 2).collect();
        let mut begins = true;
        for run in runs.iter_mut() {
            let is_first = std::mem::replace(&mut begins, run.text.ends_with('\n')) && run.style == RunStyle::default();
            if is_address(run) {
                continue;
            }
            run.text = replaced(&run.text, is_first, |character| {
                let is_code_mark = markup.code.as_deref().is_some_and(|mark| mark.contains(character));
                let found = markup.lookalike.iter().find(|(from, _)| from.starts_with(character));
                let is_code = run.style.code || in_code;
                let found = found.filter(|_| if is_code { is_code_mark } else { begins_line(character) || !alone.contains(&character) });
                found.map(|(_, sign)| (sign.as_str(), is_code))
            });
        }
    };
    let mut made = blocks.to_vec();
    each_text(&mut made, false, |runs: &mut Vec<StyledRun>| put(runs, false));
    made.iter_mut().filter(|block| matches!(block.kind, BlockKind::Code(_))).for_each(|block| put(&mut block.runs, true));
    Cow::Owned(made)
}

fn is_address(run: &StyledRun) -> bool {
    run.whole && run.link.as_deref().is_none_or(|link| is_same_address(&run.text, link))
}

/// Whether a sign means something at the start of a line only: of a list, or a quote.
fn begins_line(sign: char) -> bool {
    matches!(sign, '-' | '+' | '>')
}

/// A text, which may begin a line, with other signs for some characters; `true`: wherever they stand.
fn replaced<'a>(text: &str, starts: bool, sign: impl Fn(char) -> Option<(&'a str, bool)>) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let is_address = word.contains('@') && word.contains('.') || word.contains("://");
        let mut before = out.chars().next_back();
        let mut rest = word.chars();
        while let Some(now) = rest.next() {
            let next = rest.clone().next();
            let at_line_start = before.map_or(starts, |c| c == '\n');
            let is_in_word = before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
            let is_apart = before.is_some_and(char::is_whitespace) && next.is_none_or(char::is_whitespace) && !at_line_start;
            let is_mark = match begins_line(now) {
                true => at_line_start && next.is_none_or(char::is_whitespace),
                false => !is_in_word && !is_apart && !is_address,
            };
            match sign(now).filter(|(_, everywhere)| *everywhere || is_mark) {
                Some((sign, _)) => out.push_str(sign),
                None => out.push(now),
            }
            before = Some(now);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(source: &str) -> String {
        replaced(source, true, |character| match character {
            '*' => Some(("∗", false)),
            '_' => Some(("ˍ", false)),
            '-' => Some(("−", false)),
            '>' => Some(("›", false)),
            '`' => Some(("ˋ", true)),
            _ => None,
        })
    }

    #[test]
    fn a_mark_gives_way_only_where_it_could_be_one() {
        for (source, expected) in [
            ("_internal_ and *new*", "ˍinternalˍ and ∗new∗"),
            ("__init__ (_x_), _a b_c", "ˍˍinitˍˍ (ˍxˍ), ˍa b_c"),
            ("client_id_x, 7*7, 2 * 3 * 4", "client_id_x, 7*7, 2 * 3 * 4"),
            ("* a\n* b", "∗ a\n∗ b"),
            ("- 2 out - 3 in\n> 90: A, 5 > 3", "− 2 out - 3 in\n› 90: A, 5 > 3"),
            ("_ops_@a.example, https://a.example/_x_, x`y", "_ops_@a.example, https://a.example/_x_, xˋy"),
        ] {
            assert_eq!(sent(source), expected);
        }
    }
}
