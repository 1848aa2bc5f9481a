//! Signs in the place of characters that a channel would read as marks, and that it has no way to escape.

use std::borrow::Cow;

use super::degrade::is_same_address;
use super::document::{BlockKind, DocumentBlock, StyledRun, each_text};
use crate::model::Markup;

/// Puts the lookalikes of a channel in place, wherever a character could begin or end a mark: not inside a word (`client_id`), not
/// between two blanks (`2 * 3`), never in an address. In code only its own mark means something.
pub(super) fn with_lookalikes<'b>(blocks: &'b [DocumentBlock], markup: &Markup) -> Cow<'b, [DocumentBlock]> {
    if markup.lookalike.is_empty() {
        return Cow::Borrowed(blocks);
    }
    let put = |runs: &mut Vec<StyledRun>, in_code: bool| {
        for run in runs.iter_mut().filter(|run| !is_address(run)) {
            run.text = replaced(&run.text, |character| {
                let is_code_mark = markup.code.as_deref().is_some_and(|mark| mark.contains(character));
                let found = markup.lookalike.iter().find(|(from, _)| from.starts_with(character));
                found.filter(|_| !(run.style.code || in_code) || is_code_mark).map(|(_, sign)| sign.as_str())
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

fn replaced<'a>(text: &str, sign: impl Fn(char) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before: Option<char> = None;
    let mut rest = text.chars();
    while let Some(now) = rest.next() {
        let next = rest.clone().next();
        let is_in_word = before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        let is_alone = before.is_some_and(char::is_whitespace) && next.is_some_and(char::is_whitespace) && before != Some('\n');
        match sign(now).filter(|_| !is_in_word && !is_alone) {
            Some(sign) => out.push_str(sign),
            None => out.push(now),
        }
        before = Some(now);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(source: &str) -> String {
        replaced(source, |character| match character {
            '*' => Some("∗"),
            '_' => Some("ˍ"),
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
        ] {
            assert_eq!(sent(source), expected);
        }
    }
}
