//! `read` of a resource of an MCP server.

use serde_json::json;

use super::decision::{StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind};
use crate::model::{ResourceStep, Step, wrong_uri};
use crate::state::NodeRef;
use crate::words::ms;

impl Kind for ResourceStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let server = &self.server.value;
        let uri = context.fill_text(at, &self.uri)?;
        if let Some(why) = wrong_uri(&uri) {
            return Err(Failure::new(FailureKind::BadRequest, format!("the uri of a resource of server \"{server}\" {why}")));
        }
        let timeout = step.timeout.unwrap_or(context.tool(at, server)?.call_timeout());
        let call = context.requests().resource_request(at, server, uri.clone(), timeout)?;
        let whole = ms(timeout) + ms(call.server.connect_timeout);
        let request = CallRequest::Resource(call);
        Ok(StepCall::new("read", json!({ "server": server, "uri": uri }), request, whole).into())
    }

    fn take(&self, context: &Context, at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let CallReply::Files(mut files) = reply else { return wrong_answer_decision() };
        let Some((mut content, _)) = files.pop() else { return wrong_answer_decision() };
        // Content that is in no file has its URI as path.
        if content.path.is_empty() {
            content.path = context.fill_text(at, &self.uri)?;
        }
        let output = serde_json::to_value(content).map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        Ok(Then::Give(output, None).into())
    }

    fn is_single(&self, _context: &Context, _at: NodeRef) -> bool {
        true
    }
}
