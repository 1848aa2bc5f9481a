//! F221: a step, a channel or a style guide is read as a whole where a part of it is meant.

use crate::model::{Form, Read, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts};
use crate::source::Span;

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in &texts.all {
        for read in &placed.text.reads {
            let (message, part) = match read.path.as_slice() {
                [root, id] if (root == "steps" || root == "previous") && names.has_step(id) => {
                    (format!("this is the whole record of step \"{id}\": its status, its error and more"), "output")
                }
                [root] if root == "channel" => ("this is the whole channel file, as data".to_owned(), "prompt"),
                [root] if root == "style" => ("this is the whole style guide, as data".to_owned(), "prompt"),
                _ => continue,
            };
            if read.is_guarded || !is_printed(placed.text, read) {
                continue;
            }
            let end = Span::new(read.span.file, read.span.end as usize, read.span.end as usize);
            out.push(
                Diagnostic::new(Code::WholeStep, read.span, message)
                    .help(format!("write {}.{part}", read.path.join(".")))
                    .proposed_fix(vec![(end, format!(".{part}"))]),
            );
        }
    }
}

/// Whether a value is printed as it is: `{{ steps.x }}`, and nothing is done with it.
pub(in crate::rules) fn is_printed(text: &Text, read: &Read) -> bool {
    let path = read.path.join(".");
    matches!(text.form, Form::Sole | Form::Template)
        && text.source.match_indices(&path).any(|(at, _)| {
            let is_edge = |c: char| c == '-' || c == '+' || c.is_whitespace();
            let (before, after) = (text.source[..at].trim_end_matches(is_edge), text.source[at + path.len()..].trim_start_matches(is_edge));
            before.ends_with("{{") && after.starts_with("}}")
        })
}
