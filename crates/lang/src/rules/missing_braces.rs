//! F218: a whole text that is the name of a value without braces around it: the name itself is used, and not the value.

use super::names::PipelineNames;
use super::problem::ReadProblem;
use super::seat::{Seat, Texts};
use super::{Code, Diagnostic};
use crate::model::{Form, Text};
use crate::template;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in &texts.all {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        out.extend(named(names, seat, placed.text).map(|name| report(placed.text, &name)));
    }
}

/// The expression that a plain text is, if it names a value that can be read there.
fn named(names: &PipelineNames, seat: &Seat, text: &Text) -> Option<String> {
    if text.form != Form::Plain || !template::is_like_a_name(text) {
        return None;
    }
    let source = text.source.trim();
    let source = source.strip_prefix(['$', '=']).unwrap_or(source);
    let root = source.split_once('.')?.0;
    // F600 reports those.
    let file = &names.pipeline.pipeline;
    // `style.css` is a file where there is no style guide.
    if root == "secrets" || root == "style" && file.style_guide.is_none() || root == "channel" && file.channels.is_empty() {
        return None;
    }
    if !root.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') || !names.known(seat).contains(&root) {
        return None;
    }
    let mut wrong = vec![];
    let read = template::expression(source, text.place.clone(), &mut wrong);
    let [path] = read.reads.as_slice() else { return None };
    let is_whole = wrong.is_empty() && source.starts_with(root) && path.path.len() > 1;
    let is_known = match names.path(seat, &path.path) {
        Ok(_) | Err(ReadProblem::MaybeMissing(_) | ReadProblem::NotUpstream { .. }) => true,
        Err(
            ReadProblem::UnknownName(_)
            | ReadProblem::UnknownStep(_)
            | ReadProblem::UnknownField { .. }
            | ReadProblem::WrongPlace(..)
            | ReadProblem::NoOutputFields(_)
            | ReadProblem::NoRounds(_),
        ) => false,
    };
    // A step alone is no value: its output is meant.
    let whole_step = path.path.len() == 2 && root == "steps" && !source.contains('|');
    (is_whole && is_known).then(|| if whole_step { format!("{source}.output") } else { source.to_owned() })
}

fn report(text: &Text, name: &str) -> Diagnostic {
    let span = text.place.span;
    let wanted = format!("{{{{ {name} }}}}");
    let message = format!("\"{}\" is only text here; a value is written in two braces", text.source.trim());
    // Within quotes and in block texts the name alone is replaced.
    let is_bare = text.place.offsets.first().is_some_and(|(_, file)| *file == span.start);
    let found = Diagnostic::new(Code::MissingBraces, span, message).help(format!("write \"{wanted}\""));
    match text.place.offsets.is_empty() {
        true => found,
        false if is_bare => found.proposed_fix(vec![(span, format!("\"{wanted}\""))]),
        false => {
            let (from, to) = (text.source.len() - text.source.trim_start().len(), text.source.trim_end().len());
            found.proposed_fix(vec![(text.place.inside(from, to), wanted)])
        }
    }
}
