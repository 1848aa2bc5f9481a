//! Telemetry over OTLP, with the SDK of OpenTelemetry: its queues are bounded, drop what does not fit, and are sent from threads of their own.
//!
//! Nothing is sent unless the environment, or whoever makes an [`Otlp`], names an endpoint.

mod collector;
mod records;
mod settings;

use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry::metrics::{Histogram, MeterProvider};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanProcessor};

use super::lock;
use crate::port::{Measurement, Metric, SpanRecord, Telemetry};
use crate::telemetry::{SCOPE, instrument, metrics};
use collector::Collector;
pub use settings::OtlpSettings;

/// Sends spans and measurements to a collector. Runs never wait for it.
pub struct Otlp {
    spans: Option<BatchSpanProcessor>,
    meters: Option<(SdkMeterProvider, HashMap<Metric, Histogram<f64>>)>,
    wants_content: bool,
    losses: Arc<Losses>,
    _collector: Collector,
}

/// What could not be sent.
#[derive(Debug, Default)]
struct Losses(Mutex<(usize, String)>);

impl Losses {
    fn add(&self, spans: usize, why: String) {
        let mut lost = lock(&self.0);
        lost.0 += spans;
        lost.1 = why;
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}

impl Otlp {
    /// Opens what sends to the endpoints of the settings. `None`: they name none.
    ///
    /// # Errors
    /// Fails if a setting cannot be used, or the system gives no thread: why, in a sentence without a full stop.
    pub fn open(settings: &OtlpSettings) -> Result<Option<Otlp>, String> {
        if settings.traces.is_none() && settings.metrics.is_none() {
            return Ok(None);
        }
        let losses = Arc::new(Losses::default());
        let collector = Collector::start(settings)?;
        let resource = settings::resource();
        let spans = settings.traces.as_deref().map(|endpoint| collector.span_exporter(endpoint)).transpose()?.map(|exporter| {
            let mut spans = BatchSpanProcessor::builder(Watched { exporter, losses: losses.clone(), reason: collector.reason() }).build();
            spans.set_resource(&resource);
            spans
        });
        let meters = settings.metrics.as_deref().map(|endpoint| collector.metric_exporter(endpoint)).transpose()?.map(|exporter| {
            let reader = PeriodicReader::builder(Watched { exporter, losses: losses.clone(), reason: collector.reason() }).build();
            let meters = SdkMeterProvider::builder().with_reader(reader).with_resource(resource.clone()).build();
            let meter = meters.meter(SCOPE);
            let histograms = metrics().map(|metric| {
                let (name, unit, description, bounds) = instrument(metric);
                let histogram = meter.f64_histogram(name).with_unit(unit).with_description(description).with_boundaries(bounds.to_vec());
                (metric, histogram.build())
            });
            let histograms = histograms.collect();
            (meters, histograms)
        });
        Ok(Some(Otlp { spans, meters, wants_content: settings.content, losses, _collector: collector }))
    }

    /// Sends what is left, for at most this time; nothing is sent after it. What could not be sent, in a sentence without a full stop.
    pub fn close(self: Arc<Self>, most: Duration) -> Option<String> {
        let (done, all) = channel();
        let here = Arc::clone(&self);
        let close = move || {
            let meters = here.meters.as_ref().map(|(meters, _)| meters.clone());
            let of_meters = std::thread::spawn(move || meters.map_or(Ok(()), |meters| meters.shutdown_with_timeout(most)));
            let spans = here.spans.as_ref().map_or(Ok(()), |spans| spans.shutdown_with_timeout(most));
            let _ = done.send(spans.and(of_meters.join().unwrap_or(Ok(()))));
        };
        let is_done = std::thread::Builder::new().name("telemetry end".into()).spawn(close).is_ok()
            && all.recv_timeout(most).is_ok_and(|closed| closed.is_ok());
        let (spans, why) = lock(&self.losses.0).clone();
        match (why.is_empty(), is_done) {
            (true, true) => None,
            (true, false) => Some(format!("the collector did not take everything within {} s", most.as_secs())),
            (false, _) => {
                let what = if spans == 0 { "metrics".to_owned() } else { format!("{spans} spans") };
                Some(format!("{what} could not be sent: {why}"))
            }
        }
    }
}

impl Telemetry for Otlp {
    fn wants_content(&self) -> bool {
        self.wants_content
    }

    fn span(&self, span: SpanRecord) {
        if let (Some(spans), Some(span)) = (&self.spans, records::span(span)) {
            spans.on_end(span);
        }
    }

    fn measured(&self, Measurement { metric, value, attributes }: Measurement) {
        if let Some(histogram) = self.meters.as_ref().and_then(|(_, histograms)| histograms.get(&metric)) {
            histogram.record(value, &records::attributes(attributes));
        }
    }
}

/// An exporter whose failures are remembered: the SDK tells nobody.
struct Watched<E> {
    exporter: E,
    losses: Arc<Losses>,
    /// What the connection said last, which the SDK does not pass on.
    reason: Arc<Mutex<String>>,
}

impl<E> Watched<E> {
    fn seen(&self, spans: usize, result: OTelSdkResult) -> OTelSdkResult {
        if let Err(error) = &result {
            let said = std::mem::take(&mut *lock(&self.reason));
            self.losses.add(spans, if said.is_empty() { error.to_string() } else { said });
        }
        result
    }
}

impl<E> fmt::Debug for Watched<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl opentelemetry_sdk::trace::SpanExporter for Watched<SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        self.seen(spans, result)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &opentelemetry_sdk::Resource) {
        self.exporter.set_resource(resource);
    }
}

impl PushMetricExporter for Watched<MetricExporter> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.exporter.export(metrics).await;
        self.seen(0, result)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
