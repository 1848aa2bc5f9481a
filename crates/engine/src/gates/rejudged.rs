//! Judges another value with the gates of a run, to test the gates themselves.

use std::collections::HashMap;

use serde_json::Value;

use super::MadeFor;
use crate::channel::Output;
use crate::event::{Event, Happening, SharedValue, StepPath, StepStatus};
use crate::model::{Channel, GateStep, Judging, StepKind, StyleGuide};
use crate::parts::Questions;
use crate::state::NodeRef;
use crate::state::made::mark;
use crate::{Context, Run};

/// A gate that let its value through.
pub struct PassedGate {
    at: NodeRef,
    /// The value that it judged.
    pub output: Output,
    /// The value as a text.
    pub text: String,
    /// The values that checks read as `with`.
    pub with: Value,
    /// The text that was formatted into the value; `None` if the value is not the output of a `format` step.
    pub draft: Option<String>,
    /// The channel the value was made for.
    pub channel: Option<Channel>,
    /// The style guide it was made with.
    pub style: Option<StyleGuide>,
    /// The person that the value is for.
    pub person: SharedValue,
}

/// What a `format` step made its output of.
struct FormattedDraft {
    text: String,
    made_for: MadeFor,
}

/// The drafts of the outputs of `format` steps, by their marks: a gate may read such an output through groups, copies, routes and loops.
type Drafts = HashMap<[u8; 32], FormattedDraft>;

/// What is done with each gate of a run: the run as it was when the gate ended, its path, and the gate; or why there is nothing to judge again.
pub type GateVisit<'v> = dyn FnMut(&Run, &StepPath, Result<PassedGate, &'static str>) + 'v;

impl Run {
    /// Takes the events of a run that has ended, and visits each gate right after it ended: later the steps beside it may be gone.
    pub fn revisit_gates(&mut self, events: &[Event], each: &mut GateVisit<'_>) {
        let mut drafts = Drafts::new();
        for event in events {
            self.context.apply(event);
            if let Happening::StepSucceeded { step, output, .. } = &event.happening {
                self.questions().note_draft(step, output, &mut drafts);
            }
            let (Happening::StepSucceeded { step, .. } | Happening::StepFailed { step, .. }) = &event.happening else { continue };
            let Some(at) = self.state.steps.find(step) else { continue };
            let ended = self.step(at);
            // A gate with `for_each` judges in its elements.
            let StepKind::Gate(gate) = &ended.kind else { continue };
            if ended.for_each.is_none() || self.state.steps.is_element(at) {
                let node = self.state.steps.node(at);
                match node.judged {
                    Some(true) if node.status == StepStatus::Succeeded => each(self, step, self.questions().passed_gate(at, gate, &drafts)),
                    Some(_) => each(self, step, Err("the gate let nothing through")),
                    None => {}
                }
            }
        }
    }
}

impl Questions<'_> {
    fn passed_gate(&self, at: NodeRef, gate: &GateStep, drafts: &Drafts) -> Result<PassedGate, &'static str> {
        let question = self.question(at, gate).map_err(|_| "the gate cannot judge again")?;
        let known = drafts.get(&mark(question.output.value())).filter(|_| question.output.made().is_some());
        let (channel, style) = known.map_or_else(|| self.judged_for(at, gate, Some(&question.output)), |draft| draft.made_for.clone());
        // What `otherwise` of another gate put in its place was never the input of a `format` step.
        let as_read = question.output.made().map(|_| question.text.clone());
        Ok(PassedGate {
            at,
            draft: known.map(|draft| draft.text.clone()).or(as_read),
            channel,
            style,
            person: self.state.steps.instance_around(at).person.clone(),
            text: question.text,
            with: question.with,
            output: question.output,
        })
    }

    /// Keeps the input of a `format` step that has ended.
    fn note_draft(&self, path: &StepPath, output: &Value, drafts: &mut Drafts) {
        let Some(at) = self.state.steps.find(path) else { return };
        let step = self.step(at);
        let StepKind::Format(format) = &step.kind else { return };
        if step.for_each.is_some() && !self.state.steps.is_element(at) {
            return;
        }
        if let Ok(text) = self.fill_text(at, &format.text) {
            drafts.insert(mark(output), FormattedDraft { text, made_for: self.format_made_for(at, format) });
        }
    }
}

impl Context {
    /// The value that the gate would judge if this had been the text to format.
    pub fn formatted_again(&self, gate: &PassedGate, draft: &str) -> Option<Output> {
        self.names()
            .format(self.state.steps.instance_of(gate.at), draft, gate.channel.as_ref(), gate.style.as_ref())
            .ok()
            .map(Output::formatted)
    }

    /// The ids of the criteria with checks that another value does not meet; judges are not called.
    pub fn unmet(&self, passed: &PassedGate, output: Output) -> Vec<String> {
        let step = self.step(passed.at);
        let StepKind::Gate(gate) = &step.kind else { return vec![] };
        let Ok(mut question) = self.questions().question_about(passed.at, gate, output) else { return vec![] };
        question.criteria.retain(|asked| matches!(asked.criterion.judging, Judging::Checks(_)));
        let made_for = self.questions().judged_for(passed.at, gate, Some(&question.output));
        let verdicts = self.questions().verdicts(passed.at, &made_for, &question, &[]).unwrap_or_default();
        verdicts.into_iter().filter(|verdict| !verdict.passed).map(|verdict| verdict.id).collect()
    }
}
