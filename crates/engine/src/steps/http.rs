//! `http`: sends a request.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, HttpOutput};
use crate::model::{CALL_TIMEOUT, CONNECT_TIMEOUT, Filling, HttpStep, Method, Sample, Step, Text};
use crate::parts::Requests;
use crate::policy::Origin;
use crate::port::{HttpRequest, Secret};
use crate::reach::Giver;
use crate::state::NodeRef;
use crate::template::percent;
use crate::words::{ms, plain};

impl Kind for HttpStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let timeout = step.timeout.unwrap_or(CALL_TIMEOUT);
        let parts = HttpParts { method: self.method, url: &self.url, headers: &self.headers, query: &self.query, body: self.body.as_ref() };
        let mut request = context.requests().http_request(at, &parts, (Giver::NOBODY, &[]), timeout, CONNECT_TIMEOUT)?;
        context.requests().repeat_key(at, self.idempotency_key.as_ref(), 0)?.add_to(&mut request);
        let shown = json!({ "method": request.method.word(), "url": shown_url(request.recorded_url()) });
        let request = CallRequest::Http(request);
        Ok(StepCall::new("http", shown, request, ms(timeout)).into())
    }

    fn take(&self, _context: &Context, _at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let CallReply::Http(reply) = reply else { return wrong_answer_decision() };
        let headers: Map<String, Value> = reply.headers.into_iter().map(|(n, v)| (n, Value::String(v))).collect();
        Ok(Then::Give(HttpOutput { status: reply.status, headers, body: reply.body }.into_value(), None).into())
    }
}

impl Requests<'_> {
    pub(crate) fn http_request(
        &self,
        at: NodeRef,
        parts: &HttpParts,
        (giver, extra): (Giver, crate::names::Extra),
        timeout: Duration,
        connect_timeout: Duration,
    ) -> Result<HttpRequest, Failure> {
        let secrets = self.names().secret_names();
        let all: Vec<(&str, crate::template::Value)> = extra.iter().cloned().chain(secrets).collect();
        let (mut url, host_from) = self.origins().address(at, parts.url, giver, &all)?;
        // Who knows such an address may post to it: not even its folders are told.
        let mut told =
            parts.url.reads.iter().any(|read| read.path.first().is_some_and(|root| root == "secrets")).then(|| origin_alone(&url));
        let pairs = self.query_pairs(at, parts.query, &all)?;
        if !pairs.is_empty() {
            for address in told.iter_mut().chain([&mut url]) {
                address.push(if address.contains('?') { '&' } else { '?' });
                address.push_str(&pairs.join("&"));
            }
        }
        let mut headers = vec![];
        for (name, text) in parts.headers {
            headers.push((name.clone(), Secret::new(self.names().fill_text_with(at, text, &all)?)));
        }
        let body = match parts.body.map(|b| self.names().filling_with(at, b, &all)).transpose()? {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(("text/plain; charset=utf-8".to_string(), text.into_bytes())),
            Some(value) => Some(("application/json".to_string(), value.to_string().into_bytes())),
        };
        Ok(HttpRequest { method: parts.method, url, told, host_from, headers, body, timeout, connect_timeout })
    }
}

impl Requests<'_> {
    /// The values behind an address, percent-encoded; those that are null are left out.
    pub(crate) fn query_pairs(&self, at: NodeRef, query: &[(String, Filling)], names: crate::names::Extra) -> Result<Vec<String>, Failure> {
        let mut pairs = vec![];
        for (name, value) in query {
            let value = self.names().filling_with(at, value, names)?;
            if !value.is_null() {
                pairs.push(format!("{}={}", percent(name), percent(&plain(&value))));
            }
        }
        Ok(pairs)
    }
}

/// The parts of a request as a file writes them.
pub(crate) struct HttpParts<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Text,
    pub(crate) headers: &'a [(String, Text)],
    pub(crate) query: &'a [(String, Filling)],
    pub(crate) body: Option<&'a Filling>,
}

/// Scheme, host and port of an address, and stars for the rest.
fn origin_alone(url: &str) -> String {
    Origin::parse(url).map_or_else(|| "***".to_owned(), |origin| format!("{origin}/***"))
}

/// A URL without its query, for the record.
fn shown_url(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}
