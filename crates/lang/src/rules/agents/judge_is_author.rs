//! F414: the agent that judges wrote the text.

use crate::labels::{OutputRead, Reads, passed_on, reads_of};
use crate::model::{JudgingStep, StepKind, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::scorecards::named_scorecards;
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let Some(judging) = planned.step.kind.facts().judges.filter(|judging| named_scorecards(pipeline, *judging).is_some()) else {
            continue;
        };
        let judges = judging.judges(&pipeline.pipeline.scorecards);
        let authors = match judging {
            JudgingStep::Gate(gate) => authors(pipeline, ix, &gate.of),
            JudgingStep::Task(task) => vec![(planned.step.id.value.as_str(), &task.agent)],
        };
        let both = authors.into_iter().find_map(|own| Some((own, *judges.iter().find(|judge| judge.value == own.1.value)?)));
        if let Some(((step, author), judge)) = both {
            let message = format!(
                "agent {} judges its own {} in {} {}",
                quoted(&author.value),
                work(judging),
                planned.step.kind.word(),
                quoted(&planned.step.id.value)
            );
            out.push(
                finding(Code::JudgeIsAuthor, judge.span, &message)
                    .related(author.span, format!("it writes in step {}", quoted(step)))
                    .help("name another agent as judge"),
            );
        }
    }
}

fn work(judging: JudgingStep) -> &'static str {
    match judging {
        JudgingStep::Gate(_) => "text",
        JudgingStep::Task(_) => "work",
    }
}

/// The agents that wrote what a gate judges, each with its step, followed back through steps that only pass on one text.
fn authors<'p>(pipeline: &'p PipelinePlan, gate: StepIx, text: &'p Text) -> Vec<(&'p str, &'p Spanned<String>)> {
    let is_one = |(text, _): &(&Text, Vec<String>)| text.reads.len() == 1;
    if text.reads.len() != 1 {
        return vec![];
    }
    let reads = reads_of(pipeline, Some((gate, true)), text, Reads::Shown, &mut |read| {
        let step = &pipeline.step(read.output.ix).step;
        let texts = match step.kind.facts().judges {
            Some(JudgingStep::Gate(gate)) => vec![(&gate.of, read.output.path.clone())],
            Some(JudgingStep::Task(_)) | None => passed_on(step, &read.output.path),
        };
        if texts.len() == 1 { texts.into_iter().filter(is_one).collect() } else { vec![] }
    });
    let author = |read: OutputRead| {
        let step = &pipeline.step(read.output.ix).step;
        let agent = if let StepKind::Agent(own) = &step.kind {
            &own.agent
        } else if let StepKind::Task(own) = &step.kind {
            &own.agent
        } else {
            return None;
        };
        read.output.is_named.then_some((step.id.value.as_str(), agent))
    };
    reads.into_iter().filter_map(author).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{judged_pipeline, says};

    #[test]
    fn nobody_judges_their_own_text() {
        assert_eq!(says(check, &judged_pipeline("judge: w\n    ", "")), "F414 6:12 agent \"w\" judges its own text in gate \"g\"\n");
        assert_eq!(says(check, &judged_pipeline("judge: q\n    ", ", judge: w")), "", "the scorecard's own judge counts");
        assert_eq!(says(check, &judged_pipeline("judge: q\n    ", "")), "");
    }
}
