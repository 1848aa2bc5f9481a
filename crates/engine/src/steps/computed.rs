//! Steps that make no calls: `set`, `format`, `route`, `wait`, `stop`.

use serde_json::Value;

use super::Kind;
use super::decision::{StepDecision, Then};
use crate::Context;
use crate::channel::FormatError;
use crate::event::{Failure, FailureKind, Happening, StopDetails};
use crate::model::{Channel, Filling, FormatStep, Multilingual, RouteStep, Sample, Step, StopStep, StyleGuide, phrase_words};
use crate::parts::Names;
use crate::state::NodeRef;

pub(super) struct Set<'s>(pub(super) &'s Filling);

impl Kind for Set<'_> {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        let value = context.filling(at, self.0)?;
        Ok(Then::Succeed(value, None).into())
    }
}

impl Kind for FormatStep {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        let text = context.fill_text(at, &self.text)?;
        let instance = context.state.steps.instance_of(at);
        let channel = self.channel.as_deref().map(|own| context.spoken(instance, own)).or_else(|| context.channel(instance)).cloned();
        let style = context.names().style(instance, self.style_guide.as_deref()).cloned();
        let output = context.names().format(instance, &text, channel.as_ref(), style.as_ref())?;
        Ok(Then::Succeed(output, None).into())
    }
}

impl Kind for RouteStep {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        let subject = context.fill_text(at, &self.subject)?;
        let words = phrase_words(&subject);
        let mut chosen = self.otherwise.as_ref();
        for case in &self.cases {
            let Some(by_text) = case.fits(&subject, &words) else { continue };
            let by_condition = || case.when.as_ref().map_or(Ok(false), |when| context.condition(at, when));
            if by_text || by_condition()? {
                chosen = Some(case);
                break;
            }
        }
        let step = context.path(at);
        let none = || {
            let shown: String = subject.chars().take(80).collect();
            Failure::new(FailureKind::NoCase, format!("no case of \"{step}\" fits \"{shown}\", and there is no otherwise"))
        };
        let case = chosen.ok_or_else(none)?.id.value.clone();
        Ok(Happening::CaseChosen { step, case }.into())
    }
}

pub(super) struct Wait<'s>(pub(super) &'s Filling);

impl Kind for Wait<'_> {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        let value = context.filling(at, self.0)?;
        let text = value.as_str().unwrap_or_default();
        let wrong =
            |_| Failure::new(FailureKind::WrongType, format!("wait needs a time such as 5m or 2026-01-05T09:00:00Z, found \"{text}\""));
        let wait_ms = match crate::model::parse_duration(text) {
            Ok(duration) => duration.as_millis() as u64,
            Err(_) => {
                (chrono::DateTime::parse_from_rfc3339(text).map_err(wrong)?.to_utc() - context.now.wall).num_milliseconds().max(0) as u64
            }
        };
        Ok(Happening::StepPaused { step: context.path(at), until_ms: context.now.ms.saturating_add(wait_ms) }.into())
    }
}

impl Kind for StopStep {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        let reason = match &self.reason {
            Some(reason) => context.fill_text(at, reason)?,
            None => "the pipeline stopped".to_string(),
        };
        Ok(Then::Succeed(Value::Null, Some(StopDetails { reason }.into_value())).into())
    }
}

impl Context {
    /// A channel or style guide as the person of an instance gets it.
    pub(crate) fn spoken<'s, T: Multilingual>(&self, instance: u32, own: &'s T) -> &'s T {
        own.in_language(self.state.steps.instance(instance).person.get("language").and_then(Value::as_str))
    }
}

impl Names<'_> {
    /// The style guide of an instance, or the one that a step or an agent has of its own, in the language of the person.
    pub(crate) fn style<'s>(&'s self, instance: u32, own: Option<&'s StyleGuide>) -> Option<&'s StyleGuide> {
        let style = own.or(self.planned(instance).pipeline.style_guide.as_deref())?;
        Some(self.spoken(instance, style))
    }

    /// Formats a text for a channel.
    ///
    /// # Errors
    /// Fails if there is no channel, if the formatted text is empty, or if the text has no room in the channel.
    pub(crate) fn format(
        &self,
        instance: u32,
        text: &str,
        channel: Option<&Channel>,
        style: Option<&StyleGuide>,
    ) -> Result<Value, Failure> {
        let none = || Failure::new(FailureKind::BadRequest, "format needs a channel: list some in \"channels\", or name one in the step");
        let name = self.state.steps.instance(instance).person.get("name").and_then(Value::as_str);
        let formatted = crate::channel::format_without(text, channel.ok_or_else(none)?, style, name, &|text| self.hidden.places(text));
        let formatted = formatted.map_err(|error| {
            let kind = match error {
                FormatError::Nothing { .. } => FailureKind::BadRequest,
                FormatError::NoRoom(_) => FailureKind::TooLarge,
            };
            Failure::new(kind, error.to_string())
        })?;
        serde_json::to_value(formatted).map_err(|e| Failure::new(FailureKind::Internal, e.to_string()))
    }
}
