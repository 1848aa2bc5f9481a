//! F414: the agent that judges wrote the text.

use super::giving::output_of;
use super::scorecards::named_scorecards;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{JudgingStep, StepKind, Text};
use crate::plan::BlockIx;
use crate::source::Spanned;

/// How many steps a text is followed back.
const LONGEST_WAY: usize = 32;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let Some(judging) = planned.step.kind.facts().judges.filter(|judging| named_scorecards(pipeline, *judging).is_some()) else {
            continue;
        };
        let judges = judging.judges(&pipeline.pipeline.scorecards);
        let author = match judging {
            JudgingStep::Gate(gate) => author(pipeline, planned.block, &gate.of),
            JudgingStep::Task(task) => Some((planned.step.id.value.as_str(), &task.agent)),
        };
        let Some((step, author)) = author else { continue };
        if let Some(judge) = judges.into_iter().find(|judge| judge.value == author.value) {
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

/// The agent that wrote what a text reads, followed back through steps that only pass it on.
fn author<'p>(pipeline: &'p PipelinePlan, from: BlockIx, text: &'p Text) -> Option<(&'p str, &'p Spanned<String>)> {
    let (mut text, mut from) = (text, from);
    for _ in 0..LONGEST_WAY {
        let [read] = text.reads.as_slice() else { return None };
        let step = pipeline.step(pipeline.seen_from(from, output_of(read)?.0)?);
        if let StepKind::Agent(agent) = &step.step.kind {
            return Some((&step.step.id.value, &agent.agent));
        } else if let StepKind::Task(task) = &step.step.kind {
            return Some((&step.step.id.value, &task.agent));
        } else if let StepKind::Format(format) = &step.step.kind {
            text = &format.text;
        } else if let StepKind::Gate(gate) = &step.step.kind {
            text = &gate.of;
        } else {
            return None;
        }
        from = step.block;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{judged_pipeline, says};
    use super::*;

    #[test]
    fn nobody_judges_their_own_text() {
        assert_eq!(says(check, &judged_pipeline("judge: w\n    ", "")), "F414 6:12 agent \"w\" judges its own text in gate \"g\"\n");
        assert_eq!(says(check, &judged_pipeline("judge: q\n    ", ", judge: w")), "", "the scorecard's own judge counts");
        assert_eq!(says(check, &judged_pipeline("judge: q\n    ", "")), "");
    }
}
