//! Where telemetry goes, as the variables of OpenTelemetry say. Headers, timeouts, sizes and intervals are read by its SDK.

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};

use crate::environment::text;

/// What is sent where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtlpSettings {
    /// The address that takes spans; `None`: none are sent.
    pub traces: Option<String>,
    /// The address that takes metrics; `None`: none are sent.
    pub metrics: Option<String>,
    /// OTLP over gRPC, not over HTTP.
    pub grpc: bool,
    /// Spans have what people, models and tools said, masked.
    pub content: bool,
}

impl OtlpSettings {
    /// As the environment of this process says; `endpoint` and `content` hold where it says nothing.
    ///
    /// # Errors
    /// Fails if a variable names what is not supported: why, in a sentence without a full stop.
    pub fn of_environment(endpoint: Option<&str>, content: bool) -> Result<OtlpSettings, String> {
        let given = |name: &str| text(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let is_true = |value: String| value.eq_ignore_ascii_case("true");
        if given("OTEL_SDK_DISABLED").is_some_and(is_true) {
            return Ok(OtlpSettings::default());
        }
        let protocol = given("OTEL_EXPORTER_OTLP_PROTOCOL");
        let grpc = match protocol.as_deref() {
            None | Some("http/protobuf") => false,
            Some("grpc") if cfg!(feature = "telemetry-grpc") => true,
            Some("grpc") => {
                return Err("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and this flow was built without telemetry-grpc; use http/protobuf".into());
            }
            Some(_) => return Err("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc".into()),
        };
        let general = given("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| endpoint.map(str::to_owned));
        let of = |signal: &str, path: &str| {
            let is_off = given(&format!("OTEL_{signal}_EXPORTER")).is_some_and(|value| value == "none");
            let below = |general: &String| if grpc { general.clone() } else { format!("{}/v1/{path}", general.trim_end_matches('/')) };
            let own = given(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"));
            own.or_else(|| general.as_ref().map(below)).filter(|_| !is_off)
        };
        let content = given("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").map_or(content, is_true);
        Ok(OtlpSettings { traces: of("TRACES", "traces"), metrics: of("METRICS", "metrics"), grpc, content })
    }
}

/// What is said of this program: what the variables say, else its name and version.
pub(super) fn resource() -> Resource {
    let own = [KeyValue::new("service.name", "flow"), KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    let known = Resource::builder_empty()
        .with_attributes(own)
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
    match text("OTEL_SERVICE_NAME").filter(|name| !name.is_empty()) {
        Some(name) => known.with_service_name(name).build(),
        None => known.build(),
    }
}
