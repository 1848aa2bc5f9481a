//! Steps that make no calls: `set`, `format`, `route`, `wait`, `stop`.

use serde_json::{Value, json};

use super::Kind;
use crate::channel::FormatError;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{Channel, Filling, FormatStep, Multilingual, RouteStep, Step, StopStep, StyleGuide, phrase_words};
use crate::parts::Names;
use crate::state::NodeRef;
use crate::{Context, Run};

pub(super) struct Set<'s>(pub(super) &'s Filling);

impl Kind for Set<'_> {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let value = run.filling(at, self.0)?;
        run.succeed(at, value, None);
        Ok(())
    }
}

impl Kind for FormatStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let text = run.fill_text(at, &self.text)?;
        let instance = run.state.instance_of(at);
        let channel = self.channel.as_deref().map(|own| run.spoken(instance, own)).or_else(|| run.channel(instance)).cloned();
        let style = run.names().style(instance, self.style_guide.as_deref()).cloned();
        let output = run.names().format(instance, &text, channel.as_ref(), style.as_ref())?;
        run.succeed(at, output, None);
        Ok(())
    }
}

impl Kind for RouteStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let subject = run.fill_text(at, &self.subject)?;
        let words = phrase_words(&subject);
        let mut chosen = self.otherwise.as_ref();
        for case in &self.cases {
            let Some(by_text) = case.fits(&subject, &words) else { continue };
            let by_condition = || case.when.as_ref().map_or(Ok(false), |when| run.condition(at, when));
            if by_text || by_condition()? {
                chosen = Some(case);
                break;
            }
        }
        let step = run.path(at);
        let none = || {
            let shown: String = subject.chars().take(80).collect();
            Failure::new(FailureKind::NoCase, format!("no case of \"{step}\" fits \"{shown}\", and there is no otherwise"))
        };
        let case = chosen.ok_or_else(none)?.id.value.clone();
        run.emit(Happening::CaseChosen { step, case });
        Ok(())
    }
}

pub(super) struct Wait<'s>(pub(super) &'s Filling);

impl Kind for Wait<'_> {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let value = run.filling(at, self.0)?;
        let text = value.as_str().unwrap_or_default();
        let wrong =
            |_| Failure::new(FailureKind::WrongType, format!("wait needs a time such as 5m or 2026-01-05T09:00:00Z, found \"{text}\""));
        let wait_ms = match crate::model::parse_duration(text) {
            Ok(duration) => duration.as_millis() as u64,
            Err(_) => (chrono::DateTime::parse_from_rfc3339(text).map_err(wrong)?.to_utc() - run.now.wall).num_milliseconds().max(0) as u64,
        };
        run.emit(Happening::StepPaused { step: run.path(at), until_ms: run.now.ms.saturating_add(wait_ms) });
        Ok(())
    }
}

impl Kind for StopStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let reason = match &self.reason {
            Some(reason) => run.fill_text(at, reason)?,
            None => "the pipeline stopped".to_string(),
        };
        run.succeed(at, Value::Null, Some(json!({ "reason": reason })));
        Ok(())
    }
}

impl Context {
    /// A channel or style guide as the person of an instance gets it.
    pub(crate) fn spoken<'s, T: Multilingual>(&self, instance: u32, own: &'s T) -> &'s T {
        own.in_language(self.state.instance(instance).person.get("language").and_then(Value::as_str))
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
        let name = self.state.instance(instance).person.get("name").and_then(Value::as_str);
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
