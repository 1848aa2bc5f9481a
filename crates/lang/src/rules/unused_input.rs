//! F210: an input that nothing reads.

use std::collections::HashSet;

use super::names::PipelineNames;
use super::seat::Texts;
use super::{Code, Diagnostic};
use crate::model::Shape;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let Shape::Fields(fields) = &names.pipeline.pipeline.inputs else { return };
    let Some(read) = texts.read_below("inputs") else { return };
    let known: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    if texts.reads_unknown("inputs", |name| known.contains(name)) {
        return;
    }
    for field in fields.iter().filter(|field| !read.contains(field.name.as_str())) {
        out.push(
            Diagnostic::new(Code::UnusedInput, field.span, format!("input \"{}\" is never used", field.name))
                .help(format!("read it as inputs.{}, or remove it", field.name)),
        );
    }
}
