//! F513: a step that acts outside, once for each round of a `repeat`.

use crate::model::StepKind;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let step = &planned.step;
        let acts = step.kind.effects(&pipeline.pipeline).repeat() && step.kind.idempotency_key().is_none();
        let Some((_, repeat)) = pipeline.repeat_around(ix).filter(|_| acts) else { continue };
        let (id, most) = (quoted(&step.id.value), repeat.at_most);
        let message = format!("{id} acts outside in each round, up to {most} times");
        let below = "move it below the repeat, where it acts once with the last result";
        let help = if let StepKind::Tool(_) | StepKind::Http(_) | StepKind::Send(_) = &step.kind {
            format!("{below}, or add an idempotency_key if each round is to act")
        } else if step.kind.facts().starts.is_some() {
            format!("{below}, or write reads_only: true if it changes nothing")
        } else {
            below.to_owned()
        };
        out.push(finding(Code::EffectInRepeat, step.id.span, &message).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn what_acts_in_each_round_is_told() {
        let inner = |step: &str| {
            says(check, &format!("steps: [{{ id: r, repeat: {{ until: round == 2, at_most: 3 }}, steps: [{{ id: a, {step} }}] }}]\n"))
        };
        let found = "F513 3:75 \"a\" acts outside in each round, up to 3 times\n";
        assert_eq!(inner("http: POST https://example.com/"), found);
        assert_eq!(inner("send: stdout, of: \"'x'\""), found);
        assert_eq!(inner("steps: [{ id: b, http: POST https://example.com/ }]").matches("F513").count(), 1);
        assert_eq!(inner("http: POST https://example.com/, idempotency_key: '{{ run.id }}-{{ round }}'"), "");
        assert_eq!(inner("http: GET https://example.com/"), "");
    }
}
