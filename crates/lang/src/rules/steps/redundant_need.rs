//! F102: a need that says nothing new.

use std::collections::HashMap;

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan};
use crate::source::{Span, Spanned};

/// Needs of one step that are compared with each other; a longer list is only looked through for repetitions.
const MOST_COMPARED: usize = 32;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let block = pipeline.block(planned.block);
        let Some(needs) = &planned.step.needs else { continue };
        let mut first: HashMap<&str, Span> = HashMap::new();
        for (index, need) in needs.iter().enumerate() {
            let id = &planned.step.id.value;
            if let Some(span) = first.get(need.value.as_str()) {
                let message = format!("\"{}\" is listed twice in the needs of \"{id}\"", need.value);
                out.push(found(message, needs, index).related(*span, "first here"));
                continue;
            }
            first.insert(&need.value, need.span);
            // In a circle each waits for each, and only the author knows which need is wrong.
            let is_known = needs.len() <= MOST_COMPARED && block.place(id).is_some_and(|own| block.is_certain(own));
            let Some(place) = block.place(&need.value).filter(|_| is_known) else { continue };
            let implied_by = needs
                .iter()
                .find(|other| block.place(&other.value).is_some_and(|other| other != place && block.is_held_back_by(other, place)));
            if let Some(other) = implied_by {
                let message = format!("\"{}\" in the needs of \"{id}\" is already implied by \"{}\"", need.value, other.value);
                out.push(found(message, needs, index).related(other.span, format!("\"{}\" waits for \"{}\"", other.value, need.value)));
            }
        }
    }
}

fn found(message: String, needs: &[Spanned<String>], index: usize) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::RedundantNeed, needs[index].span, message).help("remove it");
    match removal(needs, index) {
        Some(span) => diagnostic.safe_fix(vec![(span, String::new())]),
        None => diagnostic,
    }
}

/// What to delete: the name and the comma beside it, where nothing but that can stand between.
fn removal(needs: &[Spanned<String>], index: usize) -> Option<Span> {
    let own = needs[index].span;
    let is_comma = |from: u32, to: u32| to >= from && to - from <= 2;
    match index.checked_sub(1).map(|before| needs[before].span) {
        Some(before) if before.file == own.file && is_comma(before.end, own.start) => Some(Span { start: before.end, ..own }),
        Some(_) => None,
        None => {
            let next = needs.get(1)?.span;
            (next.file == own.file && is_comma(own.end, next.start)).then_some(Span { end: next.start, ..own })
        }
    }
}
