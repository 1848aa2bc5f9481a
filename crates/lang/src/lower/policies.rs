//! `policies`. What they mean is decided elsewhere; here they are only read.

use super::context::Lower;
use super::keys;
use super::reader::KeyReader;
use crate::model::Policy;
use crate::source::Span;
use crate::syntax::Node;

/// One policy; what could not be read is left out.
pub fn policy(lower: &Lower, owner: &str, span: Span, node: &Node) -> Policy {
    let mut policy = Policy { span, ..Policy::default() };
    let Some(keys) = KeyReader::new(lower, owner, &[&keys::POLICY], node) else { return policy };
    policy.description = keys.sentence("description");
    policy.allowed_tools = keys.names("allowed_tools");
    policy.disallowed_tools = keys.names("disallowed_tools").unwrap_or_default();
    policy.permission_mode = keys.choice("permission_mode");
    policy.sandbox = keys.choice("sandbox");
    policy.approval_required = keys.names("approval_required").unwrap_or_default();
    if let Some(limits) = keys.section("resource_limits", &keys::RESOURCE_LIMITS) {
        policy.max_time = limits.read("time", Lower::duration_or_zero);
        policy.max_cost_usd = limits.read("cost_usd", Lower::number);
        policy.max_tokens = limits.read("tokens", Lower::whole);
        policy.max_memory = limits.read("memory", Lower::size);
        policy.max_file_size = limits.read("file_size", Lower::size);
    }
    if let Some(access) = keys.section("file_access", &keys::FILE_ACCESS) {
        policy.read = access.names("read");
        policy.write = access.names("write");
    }
    if let Some(access) = keys.section("network_access", &keys::NETWORK_ACCESS) {
        policy.hosts = access.names("hosts");
    }
    policy
}
