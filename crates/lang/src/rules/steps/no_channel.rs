//! F004: a `format` step that has no channel to format for.

use crate::model::StepKind;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};

/// F004: a `format` step names no channel, and its file lists none; a call hands down only a channel that the file lists.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.lists_channels {
        return;
    }
    for planned in &pipeline.steps {
        let step = &planned.step;
        if matches!(&step.kind, StepKind::Format(format) if format.channel.is_none()) {
            let message = format!("format step {} has no channel: it names none, and the file lists none", quoted(&step.id.value));
            out.push(
                Diagnostic::missing_key(step.kind_span, message).help("add channels: [NAME] to the file, or channel: NAME to the step"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, says_of};

    #[test]
    fn a_format_step_has_a_channel_of_its_own_or_of_the_file() {
        let steps = "steps:\n  - { id: a, format: x }\n  - { id: r, route: \"'x'\", cases: [{ id: c, phrases: [x], format: z }] }\n";
        let found = "F004 4:14 format step \"a\" has no channel: it names none, and the file lists none\n";
        let found = format!("{found}F004 5:59 format step \"c\" has no channel: it names none, and the file lists none\n");
        assert_eq!(says(check, steps), found);
        let channel = ("channels/sms.yaml", "flow: 1\nchannel: sms\n");
        let own = "flow: 1\nname: a\nsteps:\n  - { id: a, format: x, channel: sms }\n";
        let of_file = "flow: 1\nname: a\nchannels: [sms]\nsteps:\n  - { id: a, format: x }\n";
        for text in [own, of_file] {
            assert_eq!(says_of(check, &[("a.yaml", text), channel]), "");
        }
    }
}
