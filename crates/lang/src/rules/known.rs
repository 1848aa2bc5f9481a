//! What the names of the language hold, and what each kind of step gives: sections 6 and 8 of the language page.

use strum::VariantNames;

use crate::event::RunStatus;
use crate::model::{ArtefactKind, DialogueEnd, FailureKind, PERSONAL, Shape, Step, StepKind, StepStatus};
use crate::source::Spanned;
use crate::template::types::{Member, Type};

/// `channel`: the keys of its file, and `prompt`.
pub(super) fn channel<'a>(names: impl Iterator<Item = &'a str>) -> Type {
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
pub(super) fn style() -> Type {
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
pub(super) const OPEN_OF_PERSON: [&str; 3] = ["id", "language", "time_zone"];

/// `person`.
pub(super) fn person() -> Type {
    Type::object(OPEN_OF_PERSON.into_iter().chain(PERSONAL).map(|name| (name, Type::Any)))
}

/// `conversation`.
pub(super) fn conversation() -> Type {
    let texts = ["text", "channel", "time"].map(|name| (name, Type::Text));
    let role = Type::one_of(["user", "assistant"]);
    let message = Type::object(texts.into_iter().chain([("role", role)]));
    let texts = ["id", "text", "summary", "older"].map(|name| (name, Type::Text));
    Type::object(texts.into_iter().chain([("messages", Type::list(message))]))
}

/// A piece that a `search` step found.
pub(super) fn piece() -> Type {
    let texts = ["text", "file", "heading"].map(|name| (name, Type::Text));
    Type::object(texts.into_iter().chain([("page", Type::Any), ("score", Type::Number)]))
}

/// `refinement`. Empty in round one, and so is every field of it: reading one as a value is never a finding.
pub(super) fn refinement() -> Type {
    let criterion = ["id", "description", "expected", "feedback", "evidence"].map(|name| (name, Type::Any));
    Type::object([("original", Type::Any), ("failed", Type::list(Type::object(criterion))), ("feedback", Type::Text)])
}

/// `previous`: the steps of the round before. Empty in the first round, and so is every field of it: only names are known.
/// A step without an id may have any.
pub(super) fn previous<'s>(steps: impl Iterator<Item = (&'s Step, Member)>) -> Type {
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
pub(super) fn run() -> Type {
    let days = ["today", "week_start", "month_start"].map(|name| (name, Type::Date));
    Type::object(["id", "now", "time_zone"].map(|name| (name, Type::Text)).into_iter().chain(days))
}

/// `failure`, where something failed.
pub(super) fn failure() -> Type {
    Type::object([("step", Type::Text), ("kind", failure_kind()), ("message", Type::Text)])
}

fn failure_kind() -> Type {
    Type::one_of(FailureKind::VARIANTS.iter().copied())
}

/// `status` of a step that ended.
pub(super) fn status() -> Type {
    Type::one_of(StepStatus::ENDED.iter().copied())
}

/// `error` of a step.
pub(super) fn error() -> Type {
    Type::object([("kind", failure_kind()), ("message", Type::Text), ("attempts", Type::Number)])
}

/// A verdict.
fn verdict() -> Type {
    Type::open_object([
        ("id", Type::Text),
        ("passed", Type::Boolean),
        ("skipped", Type::Boolean),
        ("needs_review", Type::Boolean),
        ("feedback", Type::Text),
        ("evidence", Type::Text),
    ])
}

/// The output of `dialogue`.
pub(super) fn dialogue(agents: &[Spanned<String>]) -> Type {
    let positions = Type::object(agents.iter().map(|agent| (agent.value.as_str(), Type::Text)));
    Type::object([
        ("ended", Type::one_of(DialogueEnd::ALL.map(DialogueEnd::word))),
        ("reason", Type::Text),
        ("summary", Type::Text),
        ("positions", positions),
        ("turns", Type::list(turn())),
    ])
}

/// A turn of a dialogue.
pub(super) fn turn() -> Type {
    let texts = ["from", "to", "text"].map(|name| (name, Type::Text));
    let others = [("number", Type::Number), ("attachments", Type::list(Type::Text)), ("usage", usage())];
    Type::object(texts.into_iter().chain(others))
}

/// A part that was delivered.
pub(super) fn delivered(is_mail: bool) -> Type {
    let part = [("part", Type::Number), ("id", Type::Text), ("time", Type::Text)];
    let rejected = Type::object(["recipient", "reason"].map(|name| (name, Type::Text)));
    let of_mail = [("accepted", Type::list(Type::Text)), ("rejected", Type::list(rejected))];
    Type::object(part.into_iter().chain(of_mail.into_iter().filter(|_| is_mail)))
}

/// What calls of models cost.
fn usage() -> Type {
    let numbers = ["input_tokens", "output_tokens", "total_tokens", "cost_usd", "unknown_tokens"];
    Type::object(numbers.map(|name| (name, Type::Number)))
}

/// The output of `task`.
pub(super) fn task(kind: Option<ArtefactKind>) -> Type {
    let result = match kind {
        Some(ArtefactKind::Text) => Type::Text,
        Some(ArtefactKind::Sql) => Type::list(Type::open_object([])),
        Some(ArtefactKind::Python) | None => Type::Any,
    };
    let artefact = Type::object([
        ("thought", Type::Text),
        ("code", Type::Text),
        ("output_variables", Type::list(Type::Text)),
        ("is_malicious", Type::Boolean),
    ]);
    Type::object([("result", result), ("artefact", artefact), ("attempts", Type::Number)])
}

/// `with` in the criteria of a `task`.
pub(super) fn with_of_task() -> Type {
    Type::object(["task", "code", "printed"].map(|name| (name, Type::Text)))
}

/// `details` of a step.
pub(super) fn details(step: &Step) -> Type {
    let mut fields = vec![("attempts", Type::Number), ("duration_ms", Type::Number), ("mocked", Type::Boolean), ("cached", Type::Boolean)];
    if step.for_each.is_some() {
        fields.push(("failed", Type::Number));
        return Type::object(fields);
    }
    match &step.kind {
        StepKind::Agent(_) | StepKind::Plan(_) => {
            fields.extend([("model", Type::Text), ("usage", usage()), ("tool_calls", Type::list(Type::Any))]);
            // Of one that failed.
            fields.extend(matches!(step.kind, StepKind::Plan(_)).then_some(("plan", Type::Any)));
        }
        StepKind::Sql(_) => fields.extend([("columns", Type::list(Type::Any)), ("row_count", Type::Number), ("cut", Type::Boolean)]),
        StepKind::Program(_) => {
            let refused = Type::object([("host", Type::Text), ("rule", Type::Text)]);
            fields.extend([("exit", Type::Number), ("stderr", Type::Text), ("sandbox", Type::Text), ("refused", Type::list(refused))]);
        }
        StepKind::Python(_) => {
            fields.extend([("printed", Type::Text), ("notes", Type::list(Type::Text)), ("files", Type::list(Type::Text))])
        }
        StepKind::Read(_) | StepKind::Resource(_) => fields.push(("tables", Type::list(Type::Any))),
        StepKind::Search(_) => {
            fields.extend(["files", "pieces", "read", "tokens"].map(|name| (name, Type::Number)));
            fields.extend([("rebuilt", Type::Text), ("left_out", Type::list(Type::Text))]);
        }
        StepKind::Route(_) => fields.push(("case", Type::Text)),
        StepKind::Repeat(_) => fields.extend([("rounds", Type::Number), ("met", Type::Boolean)]),
        StepKind::Call(_) => {
            // Of one that ended otherwise there are no details.
            let ended = [RunStatus::Succeeded, RunStatus::Partial, RunStatus::QualityNotMet].map(RunStatus::word);
            fields.extend([("run", Type::Text), ("status", Type::one_of(ended))]);
        }
        StepKind::Gate(_) => {
            fields.extend([
                ("passed", Type::Boolean),
                ("refined", Type::Boolean),
                ("used_otherwise", Type::Boolean),
                ("feedback", Type::Text),
                ("verdicts", Type::list(verdict())),
                ("model", Type::Any),
                ("usage", Type::Any),
                ("tool_calls", Type::Any),
            ]);
        }
        StepKind::Task(_) => {
            let one =
                Type::object([("thought", Type::Text), ("code", Type::Text), ("error", Type::Any), ("verdicts", Type::list(verdict()))]);
            let unmet = Type::object([("id", Type::Text), ("description", Type::Text), ("feedback", Type::Text)]);
            fields.extend([
                ("state", Type::Text),
                ("tries", Type::list(one)),
                ("identical_failures", Type::Number),
                ("latest_failures", Type::list(Type::Text)),
                ("unmet_criteria", Type::list(unmet)),
                ("cut", Type::Boolean),
                ("personal", Type::Any),
                ("model", Type::Any),
                ("usage", usage()),
                ("tool_calls", Type::Any),
            ]);
        }
        StepKind::Dialogue(_) => fields.extend([
            ("status", Type::Text),
            ("summary", Type::Text),
            ("positions", Type::open_object([])),
            ("turns", Type::list(turn())),
            ("usage", usage()),
            ("model", Type::Any),
            ("tool_calls", Type::Any),
        ]),
        StepKind::Stop(_) => fields.push(("reason", Type::Text)),
        // What a tool tells besides is not known.
        StepKind::Tool(_) | StepKind::Broken => return Type::Any,
        StepKind::Set(_) | StepKind::Http(_) | StepKind::Format(_) | StepKind::Approval(_) | StepKind::Group(_) => {}
        StepKind::Send(_) | StepKind::Wait(_) => {}
    }
    Type::object(fields)
}

/// A shape without fields is one that could not be read.
pub(super) fn of_shape(shape: &Shape) -> Type {
    match shape {
        Shape::Fields(fields) if fields.is_empty() => Type::Any,
        shape => Type::of_output(shape),
    }
}

/// A file of a `read` step.
pub(super) fn file() -> Type {
    let frequent = Type::open_object([("value", Type::Any), ("count", Type::Number)]);
    let column =
        [("name", Type::Text), ("pct_distinct", Type::Number), ("min", Type::Any), ("max", Type::Any), ("top_3", Type::list(frequent))];
    let table = Type::open_object([
        ("name", Type::Text),
        ("row_count", Type::Number),
        ("sample_markdown", Type::Text),
        ("columns", Type::list(Type::open_object(column))),
    ]);
    let page = Type::open_object([("number", Type::Number), ("text", Type::Text), ("images", Type::Any)]);
    Type::object([
        ("path", Type::Text),
        ("type", Type::Text),
        ("text", Type::Text),
        ("tables", Type::list(table)),
        ("pages", Type::list(page)),
        ("width", Type::Number),
        ("height", Type::Number),
        ("page_count", Type::Number),
        ("image_count", Type::Number),
        ("text_length", Type::Number),
        ("longest_page", Type::Number),
        ("median_page", Type::Number),
        ("summary", Type::Text),
    ])
}

/// The output of `format`.
pub(super) fn formatted() -> Type {
    let part = Type::object([
        ("number", Type::Number),
        ("text", Type::Text),
        ("plain", Type::Text),
        ("indicator", Type::Text),
        ("content", Type::Any),
    ]);
    Type::object([
        ("channel", Type::Text),
        ("text", Type::Text),
        ("plain", Type::Text),
        ("parts", Type::list(part)),
        ("is_split", Type::Boolean),
        ("shortened", Type::Boolean),
        ("emojis_used", Type::list(Type::Text)),
        ("markdown_removed", Type::Boolean),
    ])
}
