//! F221: a step, a channel or a style guide is read as a whole where a part of it is meant.

use super::names::PipelineNames;
use super::seat::Texts;
use super::{Code, Diagnostic};
use crate::source::Span;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    for placed in &texts.all {
        for read in &placed.text.reads {
            let (message, part) = match read.path.as_slice() {
                [root, id] if root == "steps" && names.has_step(id) => {
                    (format!("this is the whole record of step \"{id}\": its status, its error and more"), "output")
                }
                [root] if root == "channel" => ("this is the whole channel file, as data".to_owned(), "prompt"),
                [root] if root == "style" => ("this is the whole style guide, as data".to_owned(), "prompt"),
                _ => continue,
            };
            if read.is_guarded {
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
