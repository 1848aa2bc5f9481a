//! Where personal data comes from, worked out once for all texts of a pipeline, and its way through texts.
//!
//! It flows from inputs and columns with `pii: true`, and from `person` (but `id`, `language`, `time_zone`), through steps marked
//! `pii: true`. An unmarked reader is reported once and the flow ends there; a check `pii: none` ends it too.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::giving::{Disclosure, gives, output_of};
use super::scorecards::checks;
use crate::model::{
    Case, Check, Field, Filling, GateStep, PERSONAL, PersonSource, Pipeline, PlainCheck, Read, ScorecardRef, StepKind, Text,
};
use crate::plan::{PipelinePlan, PlannedStep};
use crate::source::Spanned;

/// What is personal in a pipeline.
pub(in crate::rules) struct PersonalSources<'p> {
    pipeline: &'p PipelinePlan,
    inputs: Fields<'p>,
    /// For each step, whether its output is known to hold personal data.
    marked: Vec<bool>,
    /// Scorecards that let no personal data through.
    removing: HashSet<&'p str>,
}

/// Fields by name, and whether any of them is personal.
struct Fields<'p> {
    by_name: HashMap<&'p str, Below<'p>>,
    takes_in: bool,
}

/// A field and what is below it.
struct Below<'p> {
    is_pii: bool,
    takes_in: bool,
    fields: Fields<'p>,
    items: Option<Box<Below<'p>>>,
}

/// A step with its `for_each`; the personal data that the element is of is looked for once.
struct Element<'p> {
    planned: &'p PlannedStep,
    name: OnceCell<Option<String>>,
}

impl<'p> PersonalSources<'p> {
    pub(in crate::rules) fn of(pipeline: &'p PipelinePlan) -> PersonalSources<'p> {
        let asks_for_none = |check: &Spanned<Check>| matches!(check.value, Check::Plain(PlainCheck::PiiNone));
        let cards = pipeline.pipeline.scorecards.iter().filter(|(_, card)| checks(card).any(|(_, check)| asks_for_none(check)));
        let removing = cards.map(|(name, _)| name.as_str()).collect();
        let inputs = Fields::of(pipeline.pipeline.input_fields());
        let mut sources = PersonalSources { pipeline, inputs, marked: vec![], removing };
        sources.marked = pipeline.steps.iter().map(|planned| sources.is_marked(planned)).collect();
        sources
    }

    /// Whether a text reads personal data at its source: a `pii` input or a field of `person`.
    pub(in crate::rules) fn is_direct(&self, read: &Read) -> bool {
        match read.path.as_slice() {
            [inputs, path @ ..] if inputs == "inputs" => self.inputs.is_personal(path),
            // A name that `person` does not have is reported as that, and holds nothing.
            [person, field, ..] if person == "person" => PERSONAL.contains(&field.as_str()) && has_field(&self.pipeline.pipeline, field),
            _ => false,
        }
    }

    /// Whether a gate lets nothing through that holds personal data.
    pub(in crate::rules) fn removes(&self, gate: &GateStep) -> bool {
        gate.scorecards.iter().filter_map(ScorecardRef::name).any(|name| self.removing.contains(name.as_str()))
    }

    /// Whether the output of a step is known to hold personal data: it is marked, and no gate has made sure that there is none.
    fn is_marked(&self, planned: &'p PlannedStep) -> bool {
        let removes = if let StepKind::Gate(gate) = &planned.step.kind { self.removes(gate) } else { false };
        let is_group = matches!(planned.step.kind, StepKind::Group(_) | StepKind::Repeat(_));
        let given = |case: &'p Case| case.steps.iter().skip(if is_group { 0 } else { case.steps.len().saturating_sub(1) });
        !removes && (planned.step.is_pii || planned.step.kind.cases().flat_map(given).any(|step| step.is_pii))
    }

    /// The step whose marked output a read is of.
    fn marked_step(&self, planned: &PlannedStep, read: &Read) -> Option<&'p str> {
        let ix = self.pipeline.seen_from(planned.block, output_of(read)?.0)?;
        let is_marked = self.marked.get(ix.0 as usize).copied().unwrap_or(false);
        is_marked.then(|| self.pipeline.step(ix).step.id.as_str())
    }

    /// The name of the personal data a read is of.
    fn named(&self, element: &Element, read: &Read) -> Option<String> {
        if self.is_direct(read) {
            return Some(read.path.join("."));
        }
        if output_of(read).is_some() {
            return self.marked_step(element.planned, read).map(|id| format!("steps.{id}.output"));
        }
        let each = element.planned.step.for_each.as_ref()?;
        let name = read.path.first()?;
        if name != "item" && each.name.as_ref().is_none_or(|own| own.value != *name) {
            return None;
        }
        element.name.get_or_init(|| self.list_of(element.planned)).clone()
    }

    /// The name of the personal data that the elements of a step's `for_each` are of.
    fn list_of(&self, planned: &PlannedStep) -> Option<String> {
        let texts = planned.step.for_each.as_ref()?.list.texts();
        texts.into_iter().flat_map(|text| &text.reads).find_map(|read| match self.is_direct(read) {
            true => Some(read.path.join(".")),
            false => self.marked_step(planned, read).map(|id| format!("steps.{id}.output")),
        })
    }
}

impl<'p> Fields<'p> {
    fn of(fields: &'p [Field]) -> Fields<'p> {
        let mut by_name = HashMap::with_capacity(fields.len());
        let mut takes_in = false;
        for field in fields {
            let below = Below::of(field);
            takes_in |= below.takes_in;
            by_name.entry(field.name.as_str()).or_insert(below);
        }
        Fields { by_name, takes_in }
    }

    /// Whether a path leads into, or takes in, a field with `pii: true`.
    fn is_personal(&self, path: &[String]) -> bool {
        let Some((name, rest)) = path.split_first() else { return self.takes_in };
        let Some(field) = self.by_name.get(name.as_str()) else { return false };
        if field.is_pii || rest.is_empty() {
            return field.takes_in;
        }
        match &field.items {
            Some(items) => items.is_pii || items.fields.is_personal(rest.get(1..).unwrap_or_default()),
            None => field.fields.is_personal(rest),
        }
    }
}

impl<'p> Below<'p> {
    fn of(field: &'p Field) -> Below<'p> {
        let fields = Fields::of(&field.fields);
        let items = field.items.as_deref().map(|items| Box::new(Below::of(items)));
        let takes_in = field.is_pii || fields.takes_in || items.as_ref().is_some_and(|items| items.takes_in);
        Below { is_pii: field.is_pii, takes_in, fields, items }
    }
}

fn has_field(pipeline: &Pipeline, name: &str) -> bool {
    match pipeline.person.as_ref().map(|person| &person.from) {
        Some(PersonSource::Table(_)) => true,
        Some(PersonSource::Fields(fields)) => fields.iter().any(|(field, _)| field.value == name),
        _ => false,
    }
}

/// The first read of these texts whose personal data ends up in what they give, and its name.
pub(in crate::rules) fn first<'p>(
    sources: &PersonalSources,
    planned: &PlannedStep,
    texts: &[&'p Text],
    least: Disclosure,
) -> Option<(&'p Read, String)> {
    let element = Element { planned, name: OnceCell::new() };
    for text in texts {
        let mut asked = HashSet::new();
        for read in text.reads.iter().filter(|read| asked.insert(&read.path)) {
            if let Some(name) = sources.named(&element, read).filter(|_| gives(text, read) >= least) {
                return Some((read, name));
            }
        }
    }
    None
}

/// The texts of values given by name.
pub(in crate::rules) fn all(pairs: &[(Spanned<String>, Filling)]) -> Vec<&Text> {
    pairs.iter().flat_map(|(_, value)| value.texts()).collect()
}
