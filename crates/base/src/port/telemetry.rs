//! Spans and measurements of runs, for whoever observes a program. What they are called is in the room `telemetry`.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::model::WireFormat;

/// Receives what runs did. None of its methods may wait: a run calls them.
pub trait Telemetry: Send + Sync {
    /// Whether spans have what people, models and tools said, masked as in the record for others.
    fn wants_content(&self) -> bool {
        false
    }

    /// Takes a span that has ended.
    fn span(&self, span: SpanRecord);

    /// Takes a measurement.
    fn measured(&self, measured: Measurement);
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the types say it")]
pub enum AttributeValue {
    Text(String),
    Int(i64),
    Double(f64),
    Bool(bool),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> AttributeValue {
        AttributeValue::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> AttributeValue {
        AttributeValue::Text(text)
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> AttributeValue {
        AttributeValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for AttributeValue {
    fn from(number: u32) -> AttributeValue {
        AttributeValue::Int(number.into())
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> AttributeValue {
        AttributeValue::Int(number)
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> AttributeValue {
        AttributeValue::Double(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(is: bool) -> AttributeValue {
        AttributeValue::Bool(is)
    }
}

/// Names with their values.
pub type Attributes = Vec<(&'static str, AttributeValue)>;

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanRecord {
    /// Of few different values.
    pub name: String,
    /// Whether it is a call of another system.
    pub is_client: bool,
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// The span that it is in; `None`: it is the first of its trace.
    pub parent: Option<SpanParent>,
    /// `tracestate` of its trace.
    pub state: String,
    /// When it began.
    pub start: DateTime<Utc>,
    /// When it ended; not before it began.
    pub end: DateTime<Utc>,
    /// What is known of it.
    pub attributes: Attributes,
    /// What happened meanwhile.
    pub events: Vec<SpanEvent>,
    /// Why it failed, as one of few words; `None`: it did not.
    pub error: Option<&'static str>,
}

/// The span that another one is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanParent {
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// Whether another program made it.
    pub is_remote: bool,
}

/// Something that happened during a span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    /// What.
    pub name: &'static str,
    /// When.
    pub at: DateTime<Utc>,
    /// What is known of it.
    pub attributes: Attributes,
}

/// What is counted or timed: a histogram each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::VariantArray)]
pub enum Metric {
    /// Seconds of a call of a model.
    OperationDuration,
    /// Tokens of a call of a model, read or written.
    TokenUsage,
    /// Seconds of a run, or of a called pipeline.
    WorkflowDuration,
    /// Seconds of the work of an agent.
    AgentDuration,
    /// Seconds of a call of a tool.
    ToolDuration,
}

/// One value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Of what.
    pub metric: Metric,
    /// Seconds or tokens.
    pub value: f64,
    /// What tells it from others; of few different values.
    pub attributes: Attributes,
}

/// What a request says that its events do not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallFacts {
    /// How the endpoint of a model is spoken to.
    pub wire: Option<WireFormat>,
    /// Whether a program is asked, and no endpoint.
    pub is_program: bool,
    /// The provider's name of the model; empty: it is not known.
    pub model: String,
    /// The host that is called, and its port; empty: none.
    pub server: (String, u16),
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// Seed.
    pub seed: Option<i64>,
    /// Whether the answer must be JSON.
    pub is_json: bool,
    /// The method of the Model Context Protocol.
    pub mcp_method: Option<&'static str>,
}

impl CallFacts {
    /// Host and port of an address; empty and 0: it has none.
    pub fn server_of(url: &str) -> (String, u16) {
        let Ok(url) = url::Url::parse(url) else { return Default::default() };
        (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default().unwrap_or_default())
    }
}

/// Shared by a run and its calls.
pub type SharedTelemetry = Arc<dyn Telemetry>;
