//! `read` of a resource of an MCP server.

use serde_json::json;

use super::{Kind, Taken, other};
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind};
use crate::model::{ResourceStep, Step, wrong_uri};
use crate::state::NodeRef;
use crate::words::ms;
use crate::{Context, Run};

impl Kind for ResourceStep {
    fn start(&self, run: &mut Run, at: NodeRef, step: &Step) -> Result<(), Failure> {
        let server = &self.server.value;
        let uri = run.fill_text(at, &self.uri)?;
        if let Some(why) = wrong_uri(&uri) {
            return Err(Failure::new(FailureKind::BadRequest, format!("the uri of a resource of server \"{server}\" {why}")));
        }
        let timeout = step.timeout.unwrap_or(run.tool(at, server)?.call_timeout());
        let call = run.requests().resource_request(at, server, uri.clone(), timeout)?;
        let whole = ms(timeout) + ms(call.server.connect_timeout);
        let request = CallRequest::Resource(call);
        if !run.gatekeeper().permit(at, None, None, &request)? {
            return Ok(());
        }
        run.gatekeeper().call_out(at, "read", json!({ "server": server, "uri": uri }), request, whole);
        Ok(())
    }

    fn take(&self, run: &mut Run, at: NodeRef, reply: CallReply) -> Taken {
        let CallReply::Files(mut files) = reply else { return other() };
        let Some((mut content, _)) = files.pop() else { return other() };
        // Content that is in no file has its URI as path.
        if content.path.is_empty() {
            content.path = run.fill_text(at, &self.uri)?;
        }
        let output = serde_json::to_value(content).map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        Ok(Some((output, None)))
    }

    fn is_single(&self, _context: &Context, _at: NodeRef) -> bool {
        true
    }
}
