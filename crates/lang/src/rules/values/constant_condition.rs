//! F106: a condition that reads nothing. What it gives must be true or false (F205). Tests of what is always there are in `presence`.

use crate::model::{Form, Root, StepKind, Text, Unbraced};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, StepPart, TextRole, Texts, Viewpoint};
use crate::source::Span;
use crate::template::{self, Scope};

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let criteria = names.pipeline.pipeline.scorecards.values().flat_map(|card| &card.criteria);
    for (criterion, when) in criteria.filter_map(|criterion| Some((criterion, criterion.when.as_ref()?))) {
        let Some(value) = constant(when) else { continue };
        let (what, help) = match value {
            true => ("is always true".to_owned(), "leave it out"),
            false => (
                format!("is never true: criterion \"{}\" is never judged", criterion.id.value),
                "name a value that changes from run to run, or remove the criterion",
            ),
        };
        let message = format!("when: \"{}\" {what}", when.source.trim());
        out.push(found(when.place.span, message).help(help));
    }
    for placed in texts.all.iter().filter(|placed| placed.role == TextRole::Condition) {
        let Some(value) = constant(placed.text) else { continue };
        let Viewpoint::Step(ix, part) = &texts.seats[placed.seat].at else { continue };
        let source = placed.text.source.trim();
        let never = match part {
            StepPart::When => format!("step \"{}\" never runs", names.step(*ix).id.value),
            _ => "the case is never chosen by it".to_owned(),
        };
        if *part == StepPart::Until {
            let (what, help) = match value {
                true => ("always true: one round runs", "write when the rounds are to end, or a group of steps without repeat"),
                false => ("never true: all rounds run", "write when the rounds are to end: a condition on a step inside"),
            };
            out.push(found(placed.text.place.span, format!("until: \"{source}\" is {what}")).help(help));
            continue;
        }
        let case = *part != StepPart::When && matches!(names.step(*ix).kind, StepKind::Route(_));
        let message = match value {
            true => format!("when: \"{source}\" is always true"),
            false => format!("when: \"{source}\" is never true: {never}"),
        };
        let help = match (value, case) {
            (true, true) => "write otherwise for what is done in every other case",
            (true, false) => "leave it out",
            (false, _) => "name a value that changes from run to run, or remove the step",
        };
        let quoted = source.split(['\'', '"']).skip(1).step_by(2).find(|inner| {
            let root = inner.split_once('.').and_then(|(root, _)| Root::parse(root));
            root.is_some_and(|root| root.unbraced() == Unbraced::Anywhere)
        });
        out.push(match quoted {
            Some(name) => {
                let message = format!("when: \"{source}\" compares a text: in quotes {name} is no name");
                found(placed.text.place.span, message).help(format!("write {name} without quotes"))
            }
            None => found(placed.text.place.span, message).help(help),
        });
    }
}

pub(in crate::rules) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::ConstantCondition, span, message)
}

/// True or false for a condition that reads nothing; `None` also for one that gives something else.
pub(in crate::rules) fn constant(text: &Text) -> Option<bool> {
    if text.form != Form::Bare || !text.reads.is_empty() {
        return None;
    }
    template::compile(text).ok()?.fill_condition(&Scope::new()).ok()
}
