//! The observer of this program's runs: an OpenTelemetry collector, if an endpoint is set.

use crate::adapter::environment::text;
use crate::event::TraceContext;
use crate::model::TelemetrySettings;
use crate::port::SharedTelemetry;

/// How long the program waits for the collector at its end.
#[cfg(feature = "telemetry")]
const TO_END: std::time::Duration = std::time::Duration::from_secs(3);

#[cfg(feature = "telemetry")]
static OBSERVER: std::sync::OnceLock<Option<std::sync::Arc<crate::runtime::Otlp>>> = std::sync::OnceLock::new();

/// Returns the observer of runs, opened once; an invalid setting is reported and ignored.
#[cfg(feature = "telemetry")]
pub(super) fn observer(settings: &TelemetrySettings) -> Option<SharedTelemetry> {
    use crate::runtime::{Otlp, OtlpSettings};
    let open = || {
        let endpoint = settings.endpoint.as_ref().map(|endpoint| endpoint.value.as_str());
        let opened = OtlpSettings::of_environment(endpoint, settings.content).and_then(|settings| Otlp::open(&settings));
        opened.unwrap_or_else(|why| {
            tell!("telemetry: nothing is sent: {why}");
            None
        })
    };
    OBSERVER.get_or_init(|| open().map(std::sync::Arc::new)).clone().map(|observer| observer as SharedTelemetry)
}

#[cfg(not(feature = "telemetry"))]
pub(super) fn observer(_: &TelemetrySettings) -> Option<SharedTelemetry> {
    None
}

/// Sends the remaining data at the end of the program, and reports data that could not be sent.
pub(super) fn close(is_quiet: bool) {
    #[cfg(feature = "telemetry")]
    if let Some(lost) = OBSERVER.get().cloned().flatten().and_then(|observer| observer.close(TO_END)).filter(|_| !is_quiet) {
        tell!("telemetry: {lost}");
    }
    #[cfg(not(feature = "telemetry"))]
    let _ = is_quiet;
}

/// Reads the trace context from `TRACEPARENT` and `TRACESTATE`.
pub(super) fn caller(is_quiet: bool) -> Option<TraceContext> {
    let parent = text("TRACEPARENT").filter(|parent| !parent.is_empty())?;
    let caller = TraceContext::read(&parent, text("TRACESTATE").as_deref());
    if caller.is_none() && !is_quiet {
        tell!("TRACEPARENT is not valid and is ignored; the run begins a trace of its own");
    }
    caller
}
