//! F222: a step is repeated for each element of a list and reads the whole list each time, never the element.

use super::same_key::reads_element;
use crate::model::{Filling, TextKey};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, sole_path};

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for planned in &names.pipeline.steps {
        let step = &planned.step;
        let Some(Filling::Text(list)) = step.for_each.as_ref().map(|for_each| &for_each.list) else { continue };
        let Some(list) = sole_path(list) else { continue };
        let (mut element, mut whole) = (false, None);
        step.each_text(&mut |authored| {
            let Some(text) = authored.text().filter(|_| authored.key != TextKey::ForEach) else { return };
            element |= reads_element(step, text);
            let same = text.reads.iter().find(|read| read.path == list.path);
            whole = whole.or(same.map(|read| read.span));
        });
        if let (false, Some(span)) = (element, whole) {
            let path = list.path.join(".");
            let message = format!("step \"{}\" is repeated for each element, and reads the whole list each time", step.id.value);
            out.push(
                Diagnostic::new(Code::ElementUnread, span, message)
                    .related(list.span, "repeated for each of these")
                    .help(format!("write item in place of {path}"))
                    .proposed_fix(vec![(span, "item".to_owned())]),
            );
        }
    }
}
