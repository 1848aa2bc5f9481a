//! Resources of a server: listed for people, and read by `read` steps.

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::program::LONGEST_LINE;
use super::protocol;
use super::session::ServerSession;
use super::tools::{patience, put_trace};
use crate::event::{Failure, FailureKind};
use crate::http::{HttpFault, in_words};
use crate::port::{ResourceCall, ResourceReply};

impl ServerSession {
    /// The URIs of the server's resources, and its resource templates. Empty if the server has no resources.
    ///
    /// # Errors
    /// Fails if the server returns no valid list, or one that exceeds a limit.
    pub(super) async fn resources(&self) -> Result<Vec<String>, HttpFault> {
        if !self.gives().resources {
            return Ok(vec![]);
        }
        let named = |items: Vec<Value>, key: &str| -> Vec<String> {
            items.iter().filter_map(|item| item.get(key)?.as_str().map(str::to_owned)).collect()
        };
        let mut found = named(self.pages("resources/list", "resources", "resources").await?, "uri");
        // Many servers that have resources do not support templates.
        match self.pages("resources/templates/list", "resourceTemplates", "templates of resources").await {
            Ok(items) => found.extend(named(items, "uriTemplate")),
            Err(fault) if matches!(fault.failure.kind, FailureKind::BadRequest) => {}
            Err(fault) => return Err(fault),
        }
        Ok(found)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// Fails if the server has no resources, does not know the URI, does not answer in time, or its answer is not valid or too large.
    pub(super) async fn read(&self, call: &ResourceCall) -> Result<ResourceReply, HttpFault> {
        if !self.gives().resources {
            return Err(self.fault(FailureKind::BadRequest, "it gives no resources"));
        }
        let time = call.timeout;
        let until = Instant::now() + patience(time);
        let late = |_| {
            let message = format!("no answer within {}{}", in_words(time), self.link.last_line());
            let own = || HttpFault::after_sending(self.inbox().scrub.failure(FailureKind::Timeout, message));
            Err(self.without_token(time).unwrap_or_else(own))
        };
        let mut params = json!({ "uri": call.uri });
        put_trace(&mut params, call.trace.as_ref());
        let result = match timeout_at(until, self.ask("resources/read", params)).await.unwrap_or_else(late)? {
            Ok(result) => result,
            Err(error) => return Err(self.refused("resources/read", &error)),
        };
        if result.to_string().len() > LONGEST_LINE {
            let message = format!("the resource has more than {LONGEST_LINE} bytes");
            return Err(HttpFault::before_sending(Failure::new(FailureKind::TooLarge, message)));
        }
        protocol::resource(&result).map_err(HttpFault::before_sending)
    }
}
