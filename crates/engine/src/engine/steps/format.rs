//! `format`: a text for a channel.

use serde_json::Value;

use super::Kind;
use crate::channel::FormatError;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::{Failure, FailureKind};
use crate::model::{Channel, FormatStep, Step, StyleGuide};

impl Kind for FormatStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let text = run.fill_text(at, &self.text)?;
        let instance = run.state.instance_of(at);
        let channel = self.channel.as_deref().or_else(|| run.channel(instance)).cloned();
        let style = self.style_guide.as_deref().or(run.planned(instance).pipeline.style_guide.as_deref()).cloned();
        let output = run.format(instance, &text, channel.as_ref(), style.as_ref())?;
        run.succeed(at, output, None);
        Ok(())
    }
}

impl Run {
    /// Formats a text for a channel; without a channel it stays as it is.
    pub(crate) fn format(
        &self,
        instance: u32,
        text: &str,
        channel: Option<&Channel>,
        style: Option<&StyleGuide>,
    ) -> Result<Value, Failure> {
        let Some(channel) = channel else {
            return Err(Failure::new(
                FailureKind::BadRequest,
                "format needs a channel: list some in \"channels\", or name one in the step",
            ));
        };
        let name = self.state.instance(instance).person.get("name").and_then(Value::as_str);
        let formatted = crate::channel::format_without(text, channel, style, name, &|text| self.hidden.places(text));
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
