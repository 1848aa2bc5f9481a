//! F106, F202, F205, F206 of what stands inside expressions: filters, operators, loops, comparisons. Each text is typed once.

use super::{comparison_type, constant_condition, default_unused, maybe_missing, presence, type_mismatch, unknown_field, whole_value};
use crate::model::{FieldKind, Text};
use crate::rules::prelude::{Diagnostic, PipelineNames, Seat, StepPart, TextRole, Texts, Viewpoint};
use crate::rules::support::meant;
use crate::source::Span;
use crate::template::types::Type;
use crate::template::{PointlessFilter, TypeProblem, TypeProblemKind, typed};

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in &texts.all {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        problems(names, seat, placed.text, placed.role == TextRole::Condition, out);
    }
}

fn problems(names: &PipelineNames, seat: &Seat, text: &Text, condition: bool, out: &mut Vec<Diagnostic>) {
    for problem in typed(text, condition, &|path| names.known_type(seat, path)).problems {
        let span = place(text, &problem);
        let declared = problem.path.as_deref().and_then(|path| type_mismatch::declared(names, path));
        let mut found = match problem.kind {
            TypeProblemKind::Mismatch(message, help) => type_mismatch::new_finding(span, message).help(help),
            TypeProblemKind::Always(..) if !matches!(seat.at, Viewpoint::Step(_, StepPart::Until)) => continue,
            TypeProblemKind::Always(message, help) => comparison_type::found(span, message).help(help),
            TypeProblemKind::Comparison(message, help, near) => comparison_type::found(span, message).near(near).help(help),
            TypeProblemKind::Pointless(PointlessFilter::Default, message, help) => default_unused::new_finding(span, &message).help(help),
            TypeProblemKind::Pointless(PointlessFilter::Length, message, help) => whole_value::found(span, &message).help(help),
            TypeProblemKind::Presence(test) => {
                let path = problem.path.as_deref().unwrap_or_default();
                let Some((message, help)) = presence::constant(names, seat, path, test) else { continue };
                constant_condition::found(span, message).help(help)
            }
            TypeProblemKind::PresenceInElement(field, status) => {
                let at = problem.at.and_then(|(start, end)| text.source.get(start..end)).unwrap_or(&text.source);
                let (message, help) = presence::of_element(&field, status, &maybe_missing::path_to(&field, at, &text.source));
                constant_condition::found(span, message).help(help)
            }
            TypeProblemKind::AlwaysThere(message, help) => constant_condition::found(span, message).help(help),
            TypeProblemKind::FieldOfName(path, field) => {
                let message = format!("{} is one object, and the loop goes through its names, which have no \"{field}\"", path.join("."));
                let found = unknown_field::new_finding(span, message);
                match meant::list(names, &path, &Type::Empty) {
                    Some(meant) => Diagnostic { related: meant.at.into_iter().collect(), ..found.help(meant.help) },
                    None => found.help(format!("read {}.{field} without the loop", path.join("."))),
                }
            }
            TypeProblemKind::Field(owner, field, known) => {
                let written = problem.at.and_then(|(start, end)| text.source.get(start..end)).unwrap_or_default();
                unknown_field::of_value(names, (span, written), &owner, &field, &known)
            }
            TypeProblemKind::MaybeMissing(owner, field, asker) => {
                let at = problem.at.and_then(|(start, end)| text.source.get(start..end)).unwrap_or(&text.source);
                maybe_missing::of_element(span, &owner, &field, asker, at, &text.source)
            }
        };
        if let Some(field) = declared.filter(|field| problem.takes_number && field.kind == FieldKind::Text) {
            found.related.push((field.span, "write number in place of text here".to_owned()));
            found.help.insert(0, format!("write {}: number in inputs, if it is always a number", field.name));
        }
        out.push(found);
    }
}

/// The path that a problem is about, else the statement that it is in.
fn place(text: &Text, problem: &TypeProblem) -> Span {
    let inside = |span: &Span| problem.at.is_none_or(|(start, end)| within(text.place.inside(start, end), *span));
    let mut reads = text.reads.iter().filter(|read| Some(&read.path) == problem.path.as_ref()).map(|read| read.span);
    let whole = problem.at.map_or(text.place.span, |(start, end)| text.place.inside(start, end));
    // Of `x is defined` the parser tells where the test stands, and not its path.
    let before = |span: &Span| matches!(problem.kind, TypeProblemKind::Presence(_)) && span.start <= whole.start;
    let nearest = reads.clone().filter(before).max_by_key(|span| span.start);
    reads.find(|span| inside(span)).or(nearest).unwrap_or(whole)
}

fn within(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
