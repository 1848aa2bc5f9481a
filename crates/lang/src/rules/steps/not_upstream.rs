//! F103: a step reads another that may not be over.

use crate::diagnostic::About;
use crate::model::{Read, StepKind};
use crate::plan::{Edge, StepIx};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames};

/// Most needs that are written out in a proposal.
const MOST_NEEDS: usize = 12;

pub(in crate::rules) fn report(names: &PipelineNames, read: &Read, step: StepIx, reader: StepIx) -> Diagnostic {
    let (read_id, reader_id) = (&names.step(step).id, names.pipeline.path(reader));
    let path = read.path.iter().take(3).cloned().collect::<Vec<_>>().join(".");
    // The reader may stand inside a route; what waits is the step of the same list.
    let list = names.pipeline.step(step).block;
    let beside = names.pipeline.around(reader).find(|ix| names.pipeline.step(*ix).block == list);
    let beside = beside.unwrap_or_else(|| names.root_of(reader).0);
    let found = |message: String, help: String| Diagnostic::new(Code::NotUpstream, read.span, message).help(help);
    if step == beside {
        let message = format!("\"{reader_id}\" reads {path}, its own output, which is not there yet");
        let kind = &names.step(step).kind;
        let again = format!("write previous.{}: that of the round before", read.path.iter().skip(1).cloned().collect::<Vec<_>>().join("."));
        // What was made, and what stands behind it.
        let behind: String = read.path.iter().skip(3).filter(|part| *part != "result").map(|part| format!(".{part}")).collect();
        let made = format!("write value{behind} in place of {}: in a check of a task that is what was made", read.path.join("."));
        let help = if names.pipeline.repeat_around(step).is_some() {
            &again
        } else if matches!(kind, StepKind::Task(_)) {
            &made
        } else if matches!(kind, StepKind::Dialogue(_)) {
            "write turn or turns: in a dialogue these are what was said"
        } else {
            "name a step that runs before it"
        };
        return found(message, help.to_owned());
    }
    let planned = names.pipeline.step(step);
    let waiting = &names.step(beside).id.value;
    let is_later = names.pipeline.block(planned.block).is_upstream(names.pipeline.step(beside).place, planned.place);
    let id = &read_id.value;
    let diagnostic = if is_later {
        let message = format!("\"{reader_id}\" reads {path}, but \"{id}\" runs after it");
        let refines =
            matches!(&names.step(step).kind, StepKind::Gate(gate) if gate.refine.as_ref().is_some_and(|name| name.value == *waiting));
        found(
            message,
            match refines {
                true => {
                    let written = read.path.join(".");
                    format!("write {{% if refinement %}}{{{{ refinement.feedback }}}}{{% endif %}} in place of {{{{ {written} }}}}")
                }
                false if names.pipeline.repeat_around(step).is_some() => {
                    let path = read.path.iter().skip(1).cloned().collect::<Vec<_>>().join(".");
                    format!("write previous.{path}, which is that of the round before, or move the step that reads it below \"{id}\"")
                }
                false => format!("move the step that reads it below \"{id}\""),
            },
        )
    } else {
        let message = format!("\"{reader_id}\" reads {path}, but \"{id}\" may not be finished; add \"{id}\" to its needs");
        let needs: Vec<&str> = match &names.step(beside).needs {
            Some(needs) => needs.iter().take(MOST_NEEDS).map(|need| need.value.as_str()).collect(),
            None => above(names, beside).into_iter().collect(),
        };
        let help = match needs.len() < MOST_NEEDS {
            true => format!("write needs: [{}] in \"{waiting}\"", needs.into_iter().chain([id.as_str()]).collect::<Vec<_>>().join(", ")),
            false => format!("add \"{id}\" to the needs of \"{waiting}\""),
        };
        found(message, help)
    };
    match names.step(beside).needs.as_deref().map(<[_]>::first).filter(|_| !is_later) {
        // The list itself is to be changed, and has nothing in it to point at.
        Some(None) => Diagnostic { span: names.step(beside).id.span, ..diagnostic }
            .about(About::Value("needs".to_owned()))
            .related(read.span, "read here"),
        Some(Some(need)) => diagnostic.related(need.span, format!("add {id} here")),
        None => diagnostic.related(read_id.span, "this step"),
    }
}

/// The step above, which a step without `needs` waits for.
fn above<'a>(names: &PipelineNames<'a>, ix: StepIx) -> Option<&'a str> {
    let planned = names.pipeline.step(ix);
    let waits = names.pipeline.block(planned.block).needs(planned.place).iter().any(|(_, edge)| *edge == Edge::Above);
    waits.then(|| names.step(StepIx(ix.0 - 1)).id.as_str())
}
