//! Who judges: somebody (F405), and not the author (F414).

use std::collections::HashSet;

use super::giving::{find, output_of};
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Criterion, GateStep, Judging, Scorecard, ScorecardRef, StepKind, Text};
use crate::plan::{BlockIx, PipelinePlan, Plan};
use crate::source::Spanned;

/// How many steps a text is followed back.
const LONGEST_WAY: usize = 32;

/// The scorecards of a gate that the file has; `None`: a name that is not known, so nothing can be said.
fn named<'p>(pipeline: &'p PipelinePlan, gate: &'p GateStep) -> Option<Vec<(&'p str, &'p Scorecard)>> {
    let names = gate.scorecards.iter().filter_map(|reference| match reference {
        ScorecardRef::Named(name) => Some(name.value.as_str()),
        ScorecardRef::Written(_) => None,
    });
    names.map(|name| Some((name, pipeline.pipeline.scorecards.get(name)?))).collect()
}

fn asks_judge(criterion: &&Criterion) -> bool {
    matches!(criterion.judging, Judging::Judge)
}

/// F405: a criterion asks for a judge, and nobody names one.
pub(super) fn missing(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(cards) = named(pipeline, gate).filter(|_| gate.judge.is_none()) else { continue };
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

/// F414: the agent that judges wrote the text.
pub(super) fn is_author(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(cards) = named(pipeline, gate) else { continue };
        let fallback = gate.judge.as_ref().or_else(|| cards.iter().find_map(|(_, card)| card.judge.as_ref()));
        let asking = cards.iter().filter(|(_, card)| card.criteria.iter().any(|c| asks_judge(&c)));
        let judges: Vec<&Spanned<String>> = asking.filter_map(|(_, card)| card.judge.as_ref().or(fallback)).collect();
        let Some((step, author)) = author(pipeline, planned.block, &gate.of) else { continue };
        if let Some(judge) = judges.into_iter().find(|judge| judge.value == author.value) {
            let message = format!("agent {} judges its own text in gate {}", quoted(&author.value), quoted(&planned.step.id.value));
            out.push(
                finding(Code::JudgeIsAuthor, judge.span, &message)
                    .related(author.span, format!("it writes in step {}", quoted(step)))
                    .help("name another agent as judge"),
            );
        }
    }
}

/// The agent that wrote what a text reads, followed back through steps that only pass it on.
fn author<'p>(pipeline: &'p PipelinePlan, from: BlockIx, text: &'p Text) -> Option<(&'p str, &'p Spanned<String>)> {
    let (mut text, mut from) = (text, from);
    for _ in 0..LONGEST_WAY {
        let [read] = text.reads.as_slice() else { return None };
        let step = pipeline.step(find(pipeline, from, output_of(read)?.0)?);
        match &step.step.kind {
            StepKind::Agent(agent) => return Some((&step.step.id.value, &agent.agent)),
            StepKind::Format(format) => text = &format.text,
            StepKind::Gate(gate) => text = &gate.of,
            _ => return None,
        }
        from = step.block;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    fn pipeline(card: &str, gate: &str) -> String {
        format!(
            "agents: {{ w: {{}}, q: {{}} }}\nscorecards:\n  s:\n    {card}criteria:\n      - {{ id: tone, description: It is kind., expected: kind, judge: true }}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: f, format: '{{{{ steps.d.output }}}}' }}\n  - {{ id: g, gate: s, of: steps.f.output{gate} }}\n"
        )
    }

    #[test]
    fn a_criterion_with_a_judge_needs_one() {
        let found = "F405 7:15 criterion \"tone\" asks for a judge, but neither scorecard \"s\" nor gate \"g\" names one\n";
        assert_eq!(says(missing, &pipeline("", "")), found);
        assert_eq!(says(missing, &pipeline("judge: q\n    ", "")), "");
        assert_eq!(says(missing, &pipeline("", ", judge: q")), "");
    }

    #[test]
    fn nobody_judges_their_own_text() {
        assert_eq!(says(is_author, &pipeline("judge: w\n    ", "")), "F414 6:12 agent \"w\" judges its own text in gate \"g\"\n");
        assert_eq!(says(is_author, &pipeline("judge: q\n    ", ", judge: w")), "", "the scorecard's own judge counts");
        assert_eq!(says(is_author, &pipeline("judge: q\n    ", "")), "");
    }
}
