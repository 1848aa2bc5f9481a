//! F219: `${{ … }}` and `={{ … }}`, as other tools write them: here the sign stays in the text.

use crate::model::{Form, TextPlace};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts};
use crate::template;

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in texts.all.iter().filter(|placed| matches!(placed.text.form, Form::Sole | Form::Template)) {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        let text = placed.text;
        // In a sentence the sign may be one of money, and before a number it is.
        let source = text.source.trim();
        let Some(sign) = source.chars().next().filter(|sign| matches!(sign, '$' | '=')) else { continue };
        let Some(inner) = source[1..].strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).filter(|rest| !rest.contains("{{"))
        else {
            continue;
        };
        let inner = template::expression(inner.trim_matches(['-', '+', ' ']), TextPlace::default(), &mut vec![]);
        if names.text(seat, &inner).is_number() {
            continue;
        }
        let at = text.source.len() - text.source.trim_start().len();
        let span = text.place.inside(at, at + 1);
        let found = Diagnostic::new(Code::DollarBraces, span, format!("the \"{sign}\" before \"{{{{\" stays in the text"));
        let found = found.help(format!("write {{{{ … }}}} without the \"{sign}\""));
        out.push(if text.place.offsets.is_empty() { found } else { found.proposed_fix(vec![(span, String::new())]) });
    }
}
