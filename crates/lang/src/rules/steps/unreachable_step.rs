//! F104: steps behind a `stop` that always ends the run.

use crate::model::{FieldKind, Step, StepKind};
use crate::plan::{Edge, StepIx};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, listed};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for block in &pipeline.blocks {
        let step = |place: usize| &pipeline.step(StepIx(block.first.0 + place as u32)).step;
        let mut is_cut_off = vec![false; block.len()];
        for stop in 0..block.len() {
            let ends = matches!(step(stop).kind, StepKind::Stop(_)) && step(stop).when.is_none() && step(stop).for_each.is_none();
            let always = ends && !is_cut_off[stop] && !block.needs(stop).iter().any(|(_, edge)| *edge == Edge::Failure);
            if !always {
                continue;
            }
            let mut open = vec![stop];
            let mut below = vec![];
            while let Some(place) = open.pop() {
                for (next, edge) in block.readers(place) {
                    if *edge != Edge::Failure && !is_cut_off[*next] {
                        is_cut_off[*next] = true;
                        below.push(*next);
                        open.push(*next);
                    }
                }
            }
            below.sort_unstable();
            let Some(first) = below.first() else { continue };
            let message =
                format!("step \"{}\" can never run: \"{}\" always ends the run before it", step(*first).id.value, step(stop).id.value);
            let mut found = Diagnostic::new(Code::UnreachableStep, step(stop).id.span, message)
                .related(step(*first).id.span, "this never runs")
                .help(format!(
                    "write when: with a condition beside stop in \"{}\", such as when: {}, or remove the steps after it",
                    step(stop).id.value,
                    condition(pipeline, stop.checked_sub(1).map(|place| &**step(place)))
                ));
            let others: Vec<&str> = below.iter().skip(1).map(|place| step(*place).id.as_str()).collect();
            if !others.is_empty() {
                found = found.help(format!("check also: {}", listed(&others)));
            }
            out.push(found);
        }
    }
}
/// A condition on what the file knows where a step stops the run.
fn condition(pipeline: &PipelinePlan, above: Option<&Step>) -> String {
    let number = pipeline.pipeline.input_fields().iter().find(|field| matches!(field.kind, FieldKind::Number | FieldKind::Integer));
    match (above, number) {
        (Some(step), _) if matches!(&step.kind, StepKind::Sql(sql) if sql.one.is_none()) => {
            format!("steps.{}.output | length == 0", step.id.value)
        }
        (_, Some(input)) => format!("inputs.{} > 10000", input.name),
        _ => "inputs.NAME == \"…\"".to_owned(),
    }
}
