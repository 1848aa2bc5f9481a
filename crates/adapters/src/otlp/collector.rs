//! The connection to a collector, in a thread of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::metrics::Temporality;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::OtlpSettings;
use crate::clock::SystemClock;
use crate::http::{Http, HttpCall, HttpFault, HttpSettings};
use crate::lock;
use crate::port::{CallFacts, Secret};
use crate::scrub::Scrub;

/// Most time for a request, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says less.
const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);
/// How often a request is made again.
const RETRIES: usize = 2;

/// Sends to a collector. Its thread ends when it is dropped.
pub(super) struct Collector {
    client: CollectorClient,
    #[cfg(feature = "telemetry-grpc")]
    is_grpc: bool,
    _end: oneshot::Sender<()>,
}

/// What the SDK sends requests with.
#[derive(Clone)]
struct CollectorClient {
    http: Http,
    runtime: Handle,
    reason: Arc<Mutex<String>>,
}

impl std::fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CollectorClient")
    }
}

impl Collector {
    /// Starts the thread. Errors: the system gives none.
    pub(super) fn start(settings: &OtlpSettings) -> Result<Collector, String> {
        let cannot = |error: std::io::Error| format!("no thread for it can be started: {error}");
        let runtime = Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name("telemetry".into()).spawn(move || drop(runtime.block_on(ended))).map_err(cannot)?;
        // Whoever names a collector wants it to be reached, wherever it is.
        let hosts = [&settings.traces, &settings.metrics].into_iter().flatten().map(|endpoint| CallFacts::server_of(endpoint).0);
        let settings_of_http =
            HttpSettings { silence: Some(TIMEOUT), exchange: TIMEOUT, private_hosts: hosts.collect(), ..HttpSettings::default() };
        let http = Http::new(settings_of_http, Arc::new(SystemClock::new()));
        Ok(Collector {
            client: CollectorClient { http, runtime: handle, reason: Arc::default() },
            #[cfg(feature = "telemetry-grpc")]
            is_grpc: settings.grpc,
            _end: end,
        })
    }

    /// What the connection said last.
    pub(super) fn reason(&self) -> Arc<Mutex<String>> {
        Arc::clone(&self.client.reason)
    }

    pub(super) fn span_exporter(&self, endpoint: &str) -> Result<SpanExporter, String> {
        let _inside = self.client.runtime.enter();
        #[cfg(feature = "telemetry-grpc")]
        if self.is_grpc {
            return SpanExporter::builder().with_tonic().with_endpoint(endpoint).build().map_err(|error| error.to_string());
        }
        let exporter = SpanExporter::builder().with_http().with_http_client(self.client.clone()).with_endpoint(endpoint);
        exporter.with_retry_policy(policy()).build().map_err(|error| error.to_string())
    }

    pub(super) fn metric_exporter(&self, endpoint: &str) -> Result<MetricExporter, String> {
        let _inside = self.client.runtime.enter();
        let exporter = MetricExporter::builder().with_temporality(Temporality::default());
        #[cfg(feature = "telemetry-grpc")]
        if self.is_grpc {
            return exporter.with_tonic().with_endpoint(endpoint).build().map_err(|error| error.to_string());
        }
        let exporter = exporter.with_http().with_http_client(self.client.clone()).with_endpoint(endpoint);
        exporter.with_retry_policy(policy()).build().map_err(|error| error.to_string())
    }
}

fn policy() -> RetryPolicy {
    RetryPolicy::recommended().with_max_retries(RETRIES)
}

impl CollectorClient {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpFault> {
        let (head, body) = request.into_parts();
        let url = head.uri.to_string();
        let mut kind = String::new();
        let mut headers = vec![];
        for (name, value) in &head.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            if name.as_str() == "content-type" {
                kind = value;
            } else {
                headers.push((name.as_str().to_owned(), Secret::new(value)));
            }
        }
        let scrub = Scrub::new(&headers.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
        let call = HttpCall {
            method: "POST",
            url: &url,
            headers,
            body: Some((kind, body.to_vec())),
            is_repeatable: true,
            connect_timeout: CONNECT,
            scrub: &scrub,
        };
        let mut answer = self.http.send_any(call).await?;
        let mut response = Response::builder().status(answer.status());
        for name in ["content-type", "retry-after"] {
            if let Some(value) = answer.headers().get(name) {
                response = response.header(name, value.as_bytes());
            }
        }
        if answer.status() >= 400 {
            *lock(&self.reason) = format!("{} answered {}", answer.origin, answer.status());
        }
        let body = answer.bytes().await.unwrap_or_default();
        Ok(response.body(Bytes::from(body)).unwrap_or_default())
    }
}

impl HttpClient for CollectorClient {
    fn send_bytes<'client, 'sent>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'client: 'sent,
        Self: 'sent,
    {
        let client = self.clone();
        let sent = self.runtime.spawn(async move {
            let sent = tokio::time::timeout(TIMEOUT, client.send(request)).await;
            let sent = sent
                .map_err(|_| format!("no answer within {} s", TIMEOUT.as_secs()))
                .and_then(|sent| sent.map_err(|fault| fault.failure.message));
            sent.inspect_err(|why| lock(&client.reason).clone_from(why))
        });
        Box::pin(async move { Ok(sent.await??) })
    }
}
