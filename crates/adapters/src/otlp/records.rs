//! Spans as the SDK has them.

use std::str::FromStr;
use std::time::SystemTime;

use opentelemetry::trace::{Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::port::{AttributeValue, Attributes, SpanRecord};
use crate::telemetry::SCOPE;

/// A span; `None`: its ids are none.
pub(super) fn span(span: SpanRecord) -> Option<SpanData> {
    let SpanRecord { name, is_client, trace_id, span_id, parent, state, start, end, attributes: known, events, error } = span;
    let id = |id: &str| SpanId::from_hex(id).ok();
    let state = TraceState::from_str(&state).unwrap_or_default();
    let mut happened = SpanEvents::default();
    happened.events = events.into_iter().map(|event| Event::new(event.name, event.at.into(), attributes(event.attributes), 0)).collect();
    Some(SpanData {
        span_context: SpanContext::new(TraceId::from_hex(&trace_id).ok()?, id(&span_id)?, TraceFlags::SAMPLED, false, state),
        parent_span_id: parent.as_ref().and_then(|parent| id(&parent.span_id)).unwrap_or(SpanId::INVALID),
        parent_span_is_remote: parent.is_some_and(|parent| parent.is_remote),
        span_kind: if is_client { SpanKind::Client } else { SpanKind::Internal },
        name: name.into(),
        start_time: SystemTime::from(start),
        end_time: end.into(),
        attributes: attributes(known),
        dropped_attributes_count: 0,
        events: happened,
        links: SpanLinks::default(),
        status: error.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build(),
    })
}

/// Attributes; their names are those of the conventions already.
pub(super) fn attributes(attributes: Attributes) -> Vec<KeyValue> {
    let value = |value| match value {
        AttributeValue::Text(text) => Value::from(text),
        AttributeValue::Int(number) => Value::from(number),
        AttributeValue::Double(number) => Value::from(number),
        AttributeValue::Bool(is) => Value::from(is),
    };
    attributes.into_iter().map(|(name, of)| KeyValue::new(name, value(of))).collect()
}
