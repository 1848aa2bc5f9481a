//! F205: a value of another type than the place asks for.

use crate::model::{Field, Read, Root, Shape, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, TextRole, Texts, sole_path};
use crate::rules::support::meant;
use crate::source::Span;
use crate::template::split_help;
use crate::template::types::Type;

pub(in crate::rules) fn new_finding(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::TypeMismatch, span, message)
}

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in &texts.all {
        let (needs, fits): (&str, fn(&Type) -> bool) = match placed.role {
            TextRole::Value => continue,
            TextRole::Condition => ("a condition must be true or false", |kind| matches!(kind, Type::Boolean)),
            TextRole::List => ("for_each needs a list", |kind| matches!(kind, Type::List(_))),
            TextRole::Questions => ("form needs a list of questions, each with id and question", lists_objects),
            TextRole::Scorecard => ("gate needs a scorecard", |kind| matches!(kind, Type::Object(_))),
            TextRole::Message => ("message of conversation must be a text", Type::is_text),
            TextRole::Paths => ("files needs a path or a list of paths", names_files),
            TextRole::Time => ("wait needs a text such as 5m", |kind| matches!(kind, Type::Text | Type::OneOf(_))),
        };
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        let (kind, path) = match sole_path(placed.text) {
            Some(read) => (names.text(seat, placed.text), read.path.join(".")),
            None => (names.text(seat, placed.text), placed.text.source.trim().to_owned()),
        };
        let is_earlier_round = || sole_path(placed.text).is_some_and(is_earlier_round);
        if matches!(kind, Type::Any | Type::Empty) || fits(&kind) || matches!(placed.role, TextRole::Condition) && is_earlier_round() {
            continue;
        }
        let help = match (placed.role, &kind) {
            (TextRole::Condition, Type::Text) if path.starts_with("refinement.") => SECOND_TRY.to_owned(),
            (TextRole::Condition, _) if path == "failure" || path.starts_with("failure.") => "write failure is not none".to_owned(),
            (TextRole::Condition, Type::Text) => format!("compare it, as in: {path} == \"yes\""),
            (TextRole::Condition, kind) if kind.is_number() => compare_number(&path),
            (TextRole::Condition, Type::List(_)) => format!("ask how long it is, as in: {path} | length > 0"),
            (TextRole::List, Type::Text) => split_help(&path),
            (TextRole::List, Type::Object(_)) => format!("take its pairs, as in: {path} | items"),
            (TextRole::Questions, _) => "name a list that a step gives, such as steps.design.output.questions".to_owned(),
            (TextRole::Message, _) => "name the input that holds what the person typed".to_owned(),
            (TextRole::Paths, _) => "name an input of type file, or a list with items: file".to_owned(),
            (TextRole::Time, _) => "write a text with a unit".to_owned(),
            _ => "name another value".to_owned(),
        };
        let of_what = if let (TextRole::Questions | TextRole::Paths, Type::List(of)) = (placed.role, &kind) {
            format!(" of {}", of.words())
        } else {
            String::new()
        };
        let message = format!("{needs}; {path} is {}{of_what}", kind.words());
        let found = new_finding(placed.text.place.span, message);
        let read = sole_path(placed.text).map(|read| read.path.as_slice()).unwrap_or_default();
        let meant = match placed.role {
            TextRole::List => meant::list(names, read, &kind),
            TextRole::Condition => meant::condition(names, read),
            TextRole::Value | TextRole::Questions | TextRole::Scorecard | TextRole::Message | TextRole::Paths | TextRole::Time => None,
        };
        out.push(match meant {
            Some(meant) => {
                let mut found = found.help(meant.help);
                found.related.extend(meant.at);
                found
            }
            None => {
                let mut found = found.help(help);
                let field = declared(names, read).filter(|_| placed.role == TextRole::List && kind == Type::Text);
                found.related.extend(field.map(|field| (field.span, "or write type: list, items: text here".to_owned())));
                found
            }
        });
    }
}

/// The input that a path is.
pub(in crate::rules) fn declared<'a>(names: &PipelineNames<'a>, path: &[String]) -> Option<&'a Field> {
    match (path, &names.pipeline.pipeline.inputs) {
        ([root, name], Shape::Fields(fields)) if root == "inputs" => fields.iter().find(|field| field.name == *name),
        _ => None,
    }
}

/// What a condition on the fields of `refinement` means.
const SECOND_TRY: &str = "write refinement, which is false in the first try and true in the second";

/// Whether a path is the name of what an earlier round gave: it counts as false in the first one, and later as true.
fn is_earlier_round(read: &Read) -> bool {
    read.path.len() == 1 && read.root().is_some_and(Root::is_earlier)
}

/// `when` of a scripted reply that is a text of `refinement`: wrong whatever pipeline the reply serves.
pub(in crate::rules) fn of_reply(when: &Text, out: &mut Vec<Diagnostic>) {
    if sole_path(when)
        .is_some_and(|read| matches!(read.path.as_slice(), [name, feedback] if name == "refinement" && feedback == "feedback"))
    {
        let message = "a condition must be true or false; refinement.feedback is text".to_owned();
        out.push(new_finding(when.place.span, message).help(SECOND_TRY));
    }
}

/// How a number becomes a condition.
fn compare_number(path: &str) -> String {
    let path = if path.contains(' ') { format!("({path})") } else { path.to_owned() };
    format!("write {path} > 0 if each number above 0 fits, or {path} == 3 if only that one does, with your number")
}

/// A list whose elements are objects, as far as is known.
fn lists_objects(kind: &Type) -> bool {
    matches!(kind, Type::List(of) if matches!(&**of, Type::Object(_) | Type::Any | Type::Empty))
}

/// A text or a list of texts, as far as is known.
fn names_files(kind: &Type) -> bool {
    let is_path = |kind: &Type| matches!(kind, Type::Text | Type::OneOf(_));
    is_path(kind) || matches!(kind, Type::List(of) if is_path(of) || matches!(&**of, Type::Any | Type::Empty))
}
