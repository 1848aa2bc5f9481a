//! `policies`. What they mean is decided elsewhere; here they are only read.

use super::context::Lower;
use super::keys;
use super::reader::KeyReader;
use crate::model::{PermissionMode, Policy};
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
    if policy.permission_mode == Some(PermissionMode::Prompt) {
        let place = keys.get("permission_mode").map_or(span, |node| node.span);
        keys.lower.not_yet("permission_mode \"prompt\"", place);
    }
    policy.sandbox = keys.word("sandbox").map(str::to_owned);
    policy.approval_required = keys.names("approval_required").unwrap_or_default();
    if let Some(limits) = keys.section("resource_limits", &keys::RESOURCE_LIMITS) {
        policy.max_time = limits.get("time").and_then(|node| lower.duration_or_zero("time", node));
        policy.max_cost_usd = limits.number("cost_usd");
        policy.max_tokens = limits.whole("tokens");
        policy.max_memory = limits.size("memory");
        policy.max_file_size = limits.size("file_size");
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
