//! What the names of the language hold, and what each kind of step gives: sections 6 and 8 of the language page.

use strum::VariantNames;

use crate::channel::Formatted;
use crate::event::{Delivery, DialogueOutput, HttpOutput, PipelineFailure, PlainDelivery, RunStatus, SendOutput, StepError, TaskOutput};
use crate::labels::details_types;
use crate::model::{ArtefactKind, DialogueEnd, FailureKind, PERSONAL, Shape, Step, StepKind, StepStatus};
use crate::source::Spanned;
use crate::template::types::{Member, Type};

/// `channel`: the keys of its file, and `prompt`.
pub(in crate::rules) fn channel<'a>(names: impl Iterator<Item = &'a str>) -> Type {
    let marks = ["bold", "italic", "strike", "code", "bullet", "link", "heading", "table"].map(|name| (name, Type::Any));
    let markup = Type::object(marks.into_iter().chain(["escape", "lookalike"].map(|name| (name, Type::open_object([])))));
    Type::object([
        ("name", Type::one_of(names)),
        ("description", Type::Text),
        ("max_length", Type::Number),
        ("length_unit", Type::Text),
        ("markdown", Type::list(Type::Text)),
        ("emojis", Type::Boolean),
        ("split", Type::object([("at", Type::Text), ("most_parts", Type::Number), ("indicator", Type::Text)])),
        ("too_long", Type::Text),
        ("body", Type::Text),
        ("markup", markup),
        ("prompt", Type::Text),
    ])
}

/// `style`: the keys of its file, and `prompt`.
pub(in crate::rules) fn style() -> Type {
    let words = Type::list(Type::Text);
    let texts = |names: &[&'static str]| Type::object(names.iter().map(|name| (*name, Type::Any)));
    Type::object([
        ("name", Type::Text),
        ("version", Type::Text),
        ("brand_name", Type::Text),
        ("personality", Type::Text),
        ("tone", texts(&["default", "error", "success"])),
        ("emojis", texts(&["enabled", "success", "warning", "error", "info"])),
        ("humor", texts(&["enabled", "style", "frequency"])),
        ("formatting", Type::object([("greeting", Type::Any), ("sign_off", Type::Any), ("use_user_name", Type::Boolean)])),
        ("words", Type::object([("prefer", Type::open_object([])), ("avoid", words.clone()), ("banned", words)])),
        ("prompt", Type::Text),
    ])
}

/// Fields of `person` that are not personal.
pub(in crate::rules) const OPEN_OF_PERSON: [&str; 3] = ["id", "language", "time_zone"];

/// `person`.
pub(in crate::rules) fn person() -> Type {
    Type::object(OPEN_OF_PERSON.into_iter().chain(PERSONAL).map(|name| (name, Type::Any)))
}

/// `conversation`.
pub(in crate::rules) fn conversation() -> Type {
    let texts = ["text", "channel", "time"].map(|name| (name, Type::Text));
    let role = Type::one_of(["user", "assistant"]);
    let message = Type::object(texts.into_iter().chain([("role", role)]));
    let texts = ["id", "text", "summary", "older"].map(|name| (name, Type::Text));
    Type::object(texts.into_iter().chain([("messages", Type::list(message))]))
}

/// `refinement`. Empty in round one, and so is every field of it: reading one as a value is never a finding.
pub(in crate::rules) fn refinement() -> Type {
    let criterion = ["id", "description", "expected", "feedback", "evidence"].map(|name| (name, Type::Any));
    Type::object([("original", Type::Any), ("failed", Type::list(Type::object(criterion))), ("feedback", Type::Text)])
}

/// `previous`: the steps of the round before. Empty in the first round, and so is every field of it: only names are known.
/// A step without an id may have any.
pub(in crate::rules) fn previous<'s>(steps: impl Iterator<Item = (&'s Step, Member)>) -> Type {
    let steps: Vec<_> = steps.collect();
    let is_open = !steps.iter().all(|(step, _)| step.is_named());
    let step = |(step, output): (&'s Step, Member)| {
        let others = [("status", Type::Any), ("error", error().names_only()), ("details", details(step).names_only())];
        let others = others.map(|(name, kind)| (name.to_owned(), Member::sure(kind)));
        let output = ("output".to_owned(), Member { kind: output.kind.names_only(), ..output });
        (step.id.value.clone(), Member::sure(Type::of_members(others.into_iter().chain([output]), false)))
    };
    Type::of_members(steps.into_iter().filter(|(step, _)| step.is_named()).map(step), is_open)
}

/// `run`.
pub(in crate::rules) fn run() -> Type {
    let days = ["today", "week_start", "month_start"].map(|name| (name, Type::Date));
    Type::object(["id", "now", "time_zone"].map(|name| (name, Type::Text)).into_iter().chain(days))
}

/// `failure`, where something failed.
pub(in crate::rules) fn failure() -> Type {
    Type::of_sample::<PipelineFailure>().with(Type::object([("kind", failure_kind())]))
}

fn failure_kind() -> Type {
    Type::one_of(FailureKind::VARIANTS.iter().copied())
}

/// `status` of a step that ended.
pub(in crate::rules) fn status() -> Type {
    Type::one_of(StepStatus::ENDED.iter().copied())
}

/// `error` of a step.
pub(in crate::rules) fn error() -> Type {
    Type::of_sample::<StepError>().with(Type::object([("kind", failure_kind())]))
}

/// The output of `format`. `unlinked` is for gates alone: templates do not read it.
pub(in crate::rules) fn formatted() -> Type {
    Type::of_sample::<Formatted>().without("unlinked")
}

/// The output of `dialogue`.
pub(in crate::rules) fn dialogue(agents: &[Spanned<String>]) -> Type {
    let positions = Type::object(agents.iter().map(|agent| (agent.value.as_str(), Type::Text)));
    let ended = Type::one_of(DialogueEnd::ALL.map(DialogueEnd::word));
    Type::of_sample::<DialogueOutput>().with(Type::object([("ended", ended), ("positions", positions)]))
}

/// The output of `http`.
pub(in crate::rules) fn answered(shape: Option<&Shape>) -> Type {
    Type::of_sample::<HttpOutput>().with(Type::object([("body", shape.map_or(Type::Any, of_shape))]))
}

/// The output of `send`.
pub(in crate::rules) fn sent(is_mail: bool) -> Type {
    let part = if is_mail { Type::of_sample::<Delivery>() } else { Type::of_sample::<PlainDelivery>() };
    Type::of_sample::<SendOutput>().with(Type::object([("delivered", Type::list(part))]))
}

/// The output of `task`.
pub(in crate::rules) fn task(kind: Option<ArtefactKind>) -> Type {
    let result = match kind {
        Some(ArtefactKind::Text) => Type::Text,
        Some(ArtefactKind::Sql) => Type::list(Type::open_object([])),
        Some(ArtefactKind::Python) | None => Type::Any,
    };
    Type::of_sample::<TaskOutput>().with(Type::object([("result", result)]))
}

/// `with` in the criteria of a `task`.
pub(in crate::rules) fn with_of_task() -> Type {
    Type::object(["task", "code", "printed"].map(|name| (name, Type::Text)))
}

/// `details` of a step.
pub(in crate::rules) fn details(step: &Step) -> Type {
    let all = details_types(step).into_iter().fold(Type::object([]), |all, kind| all.with(Type::of_shape(&kind.sample())));
    let kind = &step.kind;
    if step.for_each.is_some() {
        all
    } else if let StepKind::Tool(_) | StepKind::Broken = kind {
        // What a tool tells besides is not known.
        Type::Any
    } else if let StepKind::Call(_) = kind {
        // Of one that ended otherwise there are no details.
        let ended = [RunStatus::Succeeded, RunStatus::Partial, RunStatus::QualityNotMet].map(RunStatus::word);
        all.with(Type::object([("status", Type::one_of(ended))]))
    } else if let StepKind::Gate(_) = kind {
        // Without a judge there is nothing of a model.
        all.with(Type::object(["model", "usage", "tool_calls"].map(|name| (name, Type::Any))))
    } else if let StepKind::Sql(_) = kind {
        all.perhaps("personal")
    } else if let StepKind::Python(_) = kind {
        all.perhaps("traceback")
    } else if let StepKind::Task(_) = kind {
        all.perhaps("files")
    } else {
        all
    }
}

/// A shape without fields is one that could not be read.
pub(in crate::rules) fn of_shape(shape: &Shape) -> Type {
    match shape {
        Shape::Fields(fields) if fields.is_empty() => Type::Any,
        shape => Type::of_output(shape),
    }
}
