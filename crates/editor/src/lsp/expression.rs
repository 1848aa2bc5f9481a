//! Names inside `{{ }}` and in bare expressions: proposals, and the name at the cursor.

use strum::VariantArray;

use super::spot::Spot;
use super::things;
use crate::check::Checked;
use crate::model::{Root, RootPlaces};
use crate::plan::{PipelinePlan, StepIx};
use crate::rules::names::PipelineNames;
use crate::rules::seat::{More, Seat, StepPart as SeatPart, Viewpoint};
use crate::template;
use crate::template::types::Type;

/// A proposed name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NameProposal {
    /// The name.
    pub name: String,
    /// Its kind or description.
    pub detail: String,
}

/// Returns the unclosed expression at the end of a text.
pub(crate) fn open_expression(text: &str) -> Option<&str> {
    let start = ["{{", "{%"].into_iter().filter_map(|open| text.rfind(open)).max()?;
    let inside = text.get(start + 2..)?;
    (!inside.contains("}}") && !inside.contains("%}")).then_some(inside)
}

/// Returns the names that may continue an expression.
pub(crate) fn proposals(expression: &str, spot: &Spot, last: Option<&Checked>) -> Vec<NameProposal> {
    let path_start = expression
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']')))
        .map_or(0, |at| at + expression.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    let (before, path) = expression.split_at(path_start);
    if path.is_empty() && before.trim_end().ends_with('|') {
        let filter =
            |(name, takes): (&str, &[&str])| NameProposal { name: name.to_owned(), detail: format!("filter({})", takes.join(", ")) };
        return template::filters().map(filter).collect();
    }
    let parts = parts(path.strip_suffix('.').unwrap_or(path));
    let Some((plan, names)) = last.and_then(|last| Some((last.plan.pipelines.first()?, &last.plan))) else { return roots(&parts) };
    let names = PipelineNames::new(plan, names);
    let seat = seat(spot, plan, &names);
    let of = |name: &str, detail: &str| NameProposal { name: name.to_owned(), detail: detail.to_owned() };
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => names.known(&seat).into_iter().map(|name| of(name, "")).collect(),
        ["steps"] => {
            let mut ids: Vec<&str> = names.ids().chain(spot.siblings.iter().copied()).filter(|id| spot.ids.last() != Some(id)).collect();
            ids.sort_unstable();
            ids.dedup();
            // Steps inside a route are visible only to steps beside them.
            let is_seen = |id: &str| names.path(&seat, &["steps".to_owned(), id.to_owned(), "status".to_owned()]).is_ok();
            ids.retain(|id| spot.siblings.contains(id) || is_seen(id));
            ids.into_iter().map(|id| of(id, things::step(id, &[], plan).map_or("step", |step| step.kind.word()))).collect()
        }
        ["secrets"] => plan.pipeline.secrets.iter().map(|(name, about)| of(name, &about.value)).collect(),
        ["steps", _] => ["output", "status", "error", "details"].map(|name| of(name, "")).into(),
        _ => match names.path(&seat, &parts) {
            Ok(Type::Object(object)) => object.fields.iter().map(|(name, member)| of(name, member.kind.words())).collect(),
            _ => vec![],
        },
    }
}

/// Returns the names that are valid everywhere, for use without a checked file.
fn roots(parts: &[String]) -> Vec<NameProposal> {
    if !parts.is_empty() {
        return vec![];
    }
    let roots = Root::VARIANTS.iter().filter(|root| root.places() == RootPlaces::Everywhere);
    roots.map(|root| NameProposal { name: root.word().to_owned(), detail: String::new() }).collect()
}

fn parts(path: &str) -> Vec<String> {
    path.split(['.', '[']).map(|part| part.trim_matches([']', '"', '\'']).to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Returns the path of names at a byte of a text, up to the part that contains the byte.
pub(crate) fn path_at(text: &str, at: usize) -> Option<Vec<String>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_path = |c: char| is_name(c) || matches!(c, '.' | '[' | ']');
    let (head, tail) = (text.get(..at)?, text.get(at..)?);
    let start = head.rfind(|c| !is_path(c)).map_or(0, |found| found + head[found..].chars().next().map_or(1, char::len_utf8));
    let end = tail.find(|c| !is_name(c)).map_or(text.len(), |found| at + found);
    let parts = parts(text.get(start..end)?);
    (!parts.is_empty()).then_some(parts)
}

/// Returns the type of a path's value at this place, in words.
pub fn words(path: &[String], spot: &Spot, last: &Checked) -> Option<&'static str> {
    let plan = last.plan.pipelines.first()?;
    let names = PipelineNames::new(plan, &last.plan);
    names.path(&seat(spot, plan, &names), path).ok().map(|kind| kind.words())
}

/// Returns the seat from which the names of a place are resolved.
fn seat(spot: &Spot, plan: &PipelinePlan, names: &PipelineNames) -> Seat {
    let first = spot.way.first().copied().unwrap_or_default();
    let part = match spot.way.last().copied() {
        Some("when") => SeatPart::When,
        Some("for_each") => SeatPart::List,
        _ => SeatPart::Work,
    };
    let path = spot.ids.join("/");
    let own = (0..plan.steps.len() as u32).map(StepIx).find(|ix| !path.is_empty() && plan.path(*ix) == path);
    let shared = |more: More| Seat { at: Viewpoint::Shared { users: vec![], is_imported: false }, more };
    match (own, first) {
        (Some(ix), _) => Seat { at: Viewpoint::Step(ix, part), ..names.seat(ix) },
        (None, "person") => Seat { at: Viewpoint::Person, more: More::default() },
        (None, "conversation") => Seat { at: Viewpoint::Conversation, more: More::default() },
        (None, "models" | "tools") => shared(More { secrets: true, ..More::default() }),
        (None, "scorecards") => shared(More { judged: true, ..More::default() }),
        (None, "agents") => shared(More::default()),
        (None, _) => Seat { at: Viewpoint::Outputs, more: More::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_open_until_its_braces_close() {
        assert_eq!(open_expression("a {{ inputs."), Some(" inputs."));
        assert_eq!(open_expression("{{ a }} b"), None);
        assert_eq!(open_expression("{{ a }} {% if steps."), Some(" if steps."));
        assert_eq!(open_expression("plain"), None);
    }

    #[test]
    fn the_path_at_a_byte_ends_with_the_part_it_lies_in() {
        let text = "x == steps.draft.output[0].é and";
        assert_eq!(path_at(text, 12).unwrap(), ["steps", "draft"]);
        assert_eq!(path_at(text, 27).unwrap(), ["steps", "draft", "output", "0", "é"]);
        assert_eq!(path_at(text, 3), None);
        assert_eq!(path_at(text, 999), None);
    }
}
