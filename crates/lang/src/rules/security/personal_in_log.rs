//! F606: personal data in what is logged as it is.

use crate::model::{Read, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::{Disclosure, output_of};
use crate::rules::support::personal_sources::{PersonalSources, first};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let sources = PersonalSources::of(pipeline);
    for planned in &pipeline.steps {
        let step = &planned.step;
        let key = step.kind.idempotency_key();
        let reason = if let StepKind::Stop(stop) = &step.kind { stop.reason.as_ref() } else { None };
        for (label, text) in [("name", step.name.as_ref()), ("idempotency_key", key), ("reason", reason)] {
            let Some((read, name)) = text.and_then(|text| first(&sources, planned, &[text], Disclosure::Surely)) else { continue };
            // Of a marked step or element, only the whole is sure to be personal: a part may be the id of an order, which makes a good key.
            // A sentence about it is for people, and what they are told of a marked step is personal.
            if label == "idempotency_key"
                && !sources.is_direct(read)
                && output_of(read).is_none_or(|(_, rest)| !rest.is_empty())
                && read.path.len() > 1
            {
                continue;
            }
            let message = format!("{name} (pii) would appear unmasked in the log through {}", quoted(label));
            out.push(new_finding(read, &message).help("use something else, such as person.id or run.id"));
        }
    }
}

fn new_finding(read: &Read, message: &str) -> Diagnostic {
    finding(Code::PiiInLog, read.span, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_personal_input;

    #[test]
    fn logs_hold_no_personal_data() {
        let named = |name: &str| with_personal_input(check, &format!("steps: [{{ id: a, name: '{name}', set: 1 }}]\n"));
        assert_eq!(named("Call {{ inputs.phone }}"), "F606 5:33 inputs.phone (pii) would appear unmasked in the log through \"name\"\n");
        assert_eq!(named("Call {{ inputs.topic }}"), "");
        assert_eq!(named("Has {{ inputs.phone | length }} digits"), "");
        let stop = "steps: [{ id: a, stop: failed, reason: 'No such {{ inputs.phone }}' }]\n";
        assert_eq!(with_personal_input(check, stop), "F606 5:52 inputs.phone (pii) would appear unmasked in the log through \"reason\"\n");
        let of_step = |stop: &str| {
            with_personal_input(check, &format!("steps: [{{ id: who, set: {{ mail: '{{{{ inputs.phone }}}}' }}, pii: true }}, {stop}]\n"))
        };
        for reason in ["steps.who.output.mail", "steps.who.output"] {
            let found = of_step(&format!("{{ id: a, stop: failed, reason: 'No such {{{{ {reason} }}}}' }}"));
            assert!(found.contains("steps.who.output (pii) would appear unmasked in the log through \"reason\""), "{found}");
        }
        assert_eq!(of_step("{ id: a, http: GET https://a.example, idempotency_key: '{{ steps.who.output.mail }}' }"), "");
    }
}
