//! F226: an object or a list where a part of it is meant: printed into a text for people or code, looked through for phrases, or counted.

use super::whole_step::is_printed;
use crate::model::{Filling, Form, StepKind, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, listed, quoted, sole_path};
use crate::source::Span;
use crate::template::types::Type;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in names.pipeline.numbered_steps() {
        if let StepKind::Format(format) = &planned.step.kind {
            printed(names, ix, &format.text, "people would read it", out);
        } else if let StepKind::Python(python) = &planned.step.kind {
            let texts = python.with.iter().filter_map(|(_, value)| if let Filling::Text(text) = value { Some(text) } else { None });
            texts.for_each(|text| printed(names, ix, text, "the code gets one text", out));
        } else if let StepKind::Route(route) = &planned.step.kind {
            let phrases = route.cases.iter().find(|case| !case.phrases.is_empty() || !case.equals.is_empty());
            let Type::Object(object) = names.text(&names.seat(ix), &route.subject) else { continue };
            let (Some(case), Some(read)) = (phrases, sole_path(&route.subject)) else { continue };
            let path = read.path.join(".");
            let wanted = if case.phrases.is_empty() { "the values of" } else { "the phrases of" };
            let message = format!("{path} is an object, and {wanted} case {} are looked for in a text", quoted(&case.id.value));
            let texts = object.fields.iter().filter(|(_, member)| member.kind.is_text()).map(|(name, _)| format!("{path}.{name}"));
            let texts: Vec<String> = texts.collect();
            let help = if texts.is_empty() { "name a text".to_owned() } else { format!("name one of its texts: {}", listed(&texts)) };
            out.push(found(route.subject.place.span, &message).help(help));
        }
    }
}

pub(in crate::rules) fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::WholeValue, span, message)
}

/// A list or an object that becomes JSON in the middle of a text.
fn printed(names: &PipelineNames, ix: StepIx, text: &Text, effect: &str, out: &mut Vec<Diagnostic>) {
    if text.form != Form::Template {
        return;
    }
    for read in text.reads.iter().filter(|read| is_printed(text, read)) {
        let kind = names.read(&names.seat(ix), read).kind;
        let path = read.path.join(".");
        let is_python = effect.ends_with("text");
        let help = match &kind {
            Type::List(_) | Type::Object(_) if is_python => {
                format!("remove all text around {{{{ {path} }}}}: alone it stays the value itself")
            }
            Type::List(element) if matches!(**element, Type::Object(_)) => format!("write {path} | table"),
            Type::List(element) if element.is_text() => format!("write {path} | bullets"),
            Type::Object(object) if !object.is_open && object.fields.contains_key("text") => format!("write {path}.text"),
            _ => continue,
        };
        let message = format!("{path} is {} and becomes JSON in this text: {effect}", kind.words());
        out.push(found(read.span, &message).help(help));
    }
}
