//! An observed run: its spans and measurements, and the trace of its calls.

use std::sync::Arc;

use crate::driver::RunTrace;
use crate::event::{Event, Happening, RunStart, TraceContext, span_id, trace_id};
use crate::journal::RunMask;
use crate::port::{Secret, SharedTelemetry};
use crate::telemetry::RunSpans;

/// The observer of one run.
pub(super) struct ObservedRun {
    to: SharedTelemetry,
    spans: RunSpans,
    trace: Arc<RunTrace>,
    /// Whether the caller wants its trace to be recorded.
    is_sampled: bool,
}

/// Returns the trace for the calls of a run, and its observer. Both are `None` if nobody observes it and its caller has no trace.
pub(super) fn observed(
    id: &str,
    start: Option<&RunStart>,
    before: &[Event],
    to: Option<&SharedTelemetry>,
    hidden: &[Secret],
) -> (Option<Arc<RunTrace>>, Option<ObservedRun>) {
    let caller = start.and_then(|start| start.trace.as_ref());
    let own = || {
        let trace_id = start.map(|start| trace_id(id, start)).unwrap_or_default();
        TraceContext { trace_id, span_id: span_id(id, "run"), sampled: true, ..TraceContext::default() }
    };
    if caller.is_none() && to.is_none() {
        return (None, None);
    }
    let of = caller.cloned().unwrap_or_else(own);
    let is_sampled = of.sampled;
    let trace = Arc::new(RunTrace::new(id.into(), of, to.is_some()));
    let observed = to.map(|to| {
        let spans = RunSpans::new(hidden.iter().map(Secret::reveal)).after(before);
        ObservedRun { to: to.clone(), spans, trace: trace.clone(), is_sampled }
    });
    (Some(trace), observed)
}

impl ObservedRun {
    /// Reports the spans that the next event completes.
    pub(super) fn see(&mut self, event: &Event, mask: RunMask<'_>) {
        let facts = match &event.happening {
            Happening::ModelReplied { call, .. } | Happening::ToolReplied { call, .. } | Happening::ServerAsked { call, .. } => {
                self.trace.facts(*call)
            }
            _ => None,
        };
        let content = self.to.wants_content().then_some(mask);
        let done = self.spans.take(event, facts.as_ref(), content);
        done.spans.into_iter().filter(|_| self.is_sampled).for_each(|span| self.to.span(span));
        done.measured.into_iter().for_each(|measured| self.to.measured(measured));
    }
}
