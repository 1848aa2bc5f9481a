//! The trace that the calls of a run are part of: what they tell others of it, and what is kept of them for their spans.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::CallRequest;
use crate::event::TraceContext;
use crate::model::HostSource;
use crate::port::{CallFacts, HttpClient, HttpReply, HttpRequest, ModelRequest, Pending, ProgramCall, ResourceCall, Secret, ServerCall};
use crate::telemetry::context_of_call;

/// The trace of one run.
#[derive(Debug)]
pub struct RunTrace {
    run: Arc<str>,
    of: TraceContext,
    is_observed: bool,
    /// Of calls whose spans have not been made.
    facts: Mutex<HashMap<u64, CallFacts>>,
}

impl RunTrace {
    /// Of a run. `is_observed`: each call is a span, and [`RunTrace::facts`] are asked for; if not, others are told the span in `of`.
    pub fn new(run: Arc<str>, of: TraceContext, is_observed: bool) -> RunTrace {
        RunTrace { run, of, is_observed, facts: Mutex::default() }
    }

    /// What is known of a call, once.
    pub fn facts(&self, call: u64) -> Option<CallFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).remove(&call)
    }

    /// The place that a call goes out from.
    fn context(&self, call: u64) -> TraceContext {
        if self.is_observed { context_of_call(&self.run, &self.of, call) } else { self.of.clone() }
    }

    /// Puts the trace into a request, where its author set none, and keeps what is known of the call. Requests over HTTP get it from [`TracedHttp`].
    pub(super) fn goes_with(&self, call: u64, request: &mut CallRequest) {
        let context = self.context(call);
        if let Some(facts) = facts(request).filter(|_| self.is_observed) {
            self.facts.lock().unwrap_or_else(PoisonError::into_inner).insert(call, facts);
        }
        put(context, request);
    }

    /// A client whose requests say their place in the trace.
    pub(super) fn http(&self, call: u64, client: Arc<dyn HttpClient>) -> Arc<dyn HttpClient> {
        Arc::new(TracedHttp { context: self.context(call), client })
    }
}

fn put(context: TraceContext, request: &mut CallRequest) {
    match request {
        CallRequest::Model(ModelRequest { trace, .. })
        | CallRequest::Tool(ServerCall { trace, .. })
        | CallRequest::Resource(ResourceCall { trace, .. }) => *trace = Some(context),
        CallRequest::Program(program) => in_environment(&context, program),
        CallRequest::Agent(agent) => in_environment(&context, &mut agent.program),
        CallRequest::Held { request, .. } => put(context, request),
        CallRequest::Http(_)
        | CallRequest::Scripted(_)
        | CallRequest::Recall { .. }
        | CallRequest::Query(_)
        | CallRequest::Read(_)
        | CallRequest::Python(_)
        | CallRequest::Search(_)
        | CallRequest::Tools(_)
        | CallRequest::Mail(_)
        | CallRequest::Print(_)
        | CallRequest::Write { .. }
        | CallRequest::List { .. }
        | CallRequest::Open { .. } => {}
    }
}

fn in_environment(context: &TraceContext, ProgramCall { env, .. }: &mut ProgramCall) {
    let names = context.fields().map(|(name, value)| (name.to_uppercase(), Secret::new(value)));
    if !env.iter().any(|(own, _)| own == "TRACEPARENT") {
        env.retain(|(own, _)| own != "TRACESTATE");
        env.extend(names);
    }
}

/// What a request says that events do not. A host that data named may be personal, and is left out.
fn facts(request: &CallRequest) -> Option<CallFacts> {
    let server = |url: &str, from: HostSource| if from == HostSource::File { CallFacts::server_of(url) } else { Default::default() };
    match request {
        CallRequest::Model(request) => Some(CallFacts {
            wire: Some(request.wire),
            is_program: false,
            model: request.model.clone(),
            server: server(&request.base_url, request.host_from),
            temperature: request.temperature,
            max_tokens: request.max_output_tokens,
            seed: request.seed,
            is_json: request.schema.is_some(),
            mcp_method: None,
        }),
        CallRequest::Agent(agent) => Some(CallFacts { is_program: true, model: agent.model.clone(), ..CallFacts::default() }),
        CallRequest::Http(request) => Some(CallFacts { server: server(&request.url, request.host_from), ..CallFacts::default() }),
        CallRequest::Tool(_) => Some(CallFacts { mcp_method: Some("tools/call"), ..CallFacts::default() }),
        CallRequest::Resource(_) => Some(CallFacts { mcp_method: Some("resources/read"), ..CallFacts::default() }),
        CallRequest::Held { request, .. } => facts(request),
        CallRequest::Scripted(_)
        | CallRequest::Recall { .. }
        | CallRequest::Query(_)
        | CallRequest::Read(_)
        | CallRequest::Program(_)
        | CallRequest::Python(_)
        | CallRequest::Search(_)
        | CallRequest::Tools(_)
        | CallRequest::Mail(_)
        | CallRequest::Print(_)
        | CallRequest::Write { .. }
        | CallRequest::List { .. }
        | CallRequest::Open { .. } => None,
    }
}

/// Adds `traceparent` to requests, below what records them: a recording holds for any trace.
struct TracedHttp {
    context: TraceContext,
    client: Arc<dyn HttpClient>,
}

impl HttpClient for TracedHttp {
    fn send(&self, mut request: HttpRequest) -> Pending<HttpReply> {
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("traceparent")) {
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("tracestate"));
            request.headers.extend(self.context.fields().map(|(name, value)| (name.to_owned(), Secret::new(value))));
        }
        self.client.send(request)
    }
}
