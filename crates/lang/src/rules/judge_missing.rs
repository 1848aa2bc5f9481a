//! F405: a criterion asks for a judge, and nobody names one.

use std::collections::HashSet;

use super::scorecards::{asks_judge, gate_scorecards};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::StepKind;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(cards) = gate_scorecards(pipeline, gate).filter(|_| gate.judge.is_none()) else { continue };
        if cards.iter().any(|(_, card)| card.judge.is_some()) {
            continue;
        }
        for (name, card) in cards.into_iter().filter(|(name, _)| told.insert(name.to_string())) {
            for criterion in card.criteria.iter().filter(asks_judge) {
                let message = format!(
                    "criterion {} asks for a judge, but neither scorecard {} nor gate {} names one",
                    quoted(&criterion.id.value),
                    quoted(name),
                    quoted(&planned.step.id.value)
                );
                out.push(
                    finding(Code::JudgeMissing, criterion.id.span, &message)
                        .related(planned.step.id.span, "judged here")
                        .help("add judge: with the name of an agent to the scorecard or to the gate"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{judged_pipeline, says};
    use super::*;

    #[test]
    fn a_criterion_with_a_judge_needs_one() {
        let found = "F405 7:15 criterion \"tone\" asks for a judge, but neither scorecard \"s\" nor gate \"g\" names one\n";
        assert_eq!(says(check, &judged_pipeline("", "")), found);
        assert_eq!(says(check, &judged_pipeline("judge: q\n    ", "")), "");
        assert_eq!(says(check, &judged_pipeline("", ", judge: q")), "");
    }
}
