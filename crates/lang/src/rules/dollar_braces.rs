//! F219: `${{ … }}` and `={{ … }}`, as other tools write them: here the sign stays in the text.

use super::names::PipelineNames;
use super::seat::{Seat, Texts};
use super::{Code, Diagnostic};
use crate::model::{Form, Text};
use crate::template::types::Type;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in texts.all.iter().filter(|placed| matches!(placed.text.form, Form::Sole | Form::Template)) {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        let text = placed.text;
        let source = text.source.trim();
        let is_whole = source.starts_with(['$', '=']) && source.ends_with("}}") && source.matches("{{").count() == 1;
        let signs =
            text.source.match_indices("{{").filter_map(|(at, _)| Some((at.checked_sub(1)?, text.source[..at].chars().next_back()?)));
        for (at, sign) in signs.filter(|(_, sign)| *sign == '$' || *sign == '=' && is_whole) {
            if sign == '=' || !is_price(names, seat, text, at, is_whole) {
                let span = text.place.inside(at, at + 1);
                let found = Diagnostic::new(Code::DollarBraces, span, format!("the \"{sign}\" before \"{{{{\" stays in the text"));
                let found = found.help(format!("write {{{{ … }}}} without the \"{sign}\""));
                out.push(if text.place.offsets.is_empty() { found } else { found.proposed_fix(vec![(span, String::new())]) });
            }
        }
    }
}

/// Whether the sign may be one of money: before a number, or in a sentence before a value of which nothing is known.
fn is_price(names: &PipelineNames, seat: &Seat, text: &Text, at: usize, is_whole: bool) -> bool {
    let begin = text.place.inside(at, at + 1).start;
    let read = text.reads.iter().filter(|read| read.span.start > begin).min_by_key(|read| read.span.start);
    match read.map_or(Type::Any, |read| names.known_type(seat, &read.path)) {
        Type::Number => true,
        Type::Any | Type::Empty => !is_whole,
        // An amount may be a text in a sentence; one that is the whole text is a value.
        Type::Text | Type::OneOf(_) | Type::Date => !is_whole,
        Type::Boolean | Type::List(_) | Type::Object(_) => false,
    }
}
