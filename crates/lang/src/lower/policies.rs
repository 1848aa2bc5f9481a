//! `policies`. What they mean is decided elsewhere; here they are only read.

use super::context::Lower;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use crate::model::{Policy, UntrustedAnswer, UntrustedRule};
use crate::source::{Span, Spanned};
use crate::syntax::Node;
use strum::VariantNames;

/// One policy; what could not be read is left out.
pub fn policy(lower: &Lower, owner: &KeyOwner, span: Span, node: &Node) -> Policy {
    let mut policy = Policy { span, ..Policy::default() };
    let Some(keys) = KeyReader::new(lower, owner, &[&keys::POLICY], node) else { return policy };
    policy.description = keys.sentence("description");
    policy.allowed_tools = keys.names("allowed_tools");
    policy.disallowed_tools = keys.names("disallowed_tools").unwrap_or_default();
    policy.permission_mode = keys.choice("permission_mode");
    policy.sandbox = keys.choice("sandbox");
    policy.approval_required = keys.names("approval_required").unwrap_or_default();
    policy.untrusted = keys.get("untrusted").map(|node| untrusted(&keys, node)).unwrap_or_default();
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

/// `untrusted`: one word for all, or one for each class, tool or argument.
fn untrusted(keys: &KeyReader, node: &Node) -> Vec<UntrustedRule> {
    let read = |label: &str, of: Spanned<String>, node: &Node| {
        let answer = keys.lower.word(label, node, UntrustedAnswer::VARIANTS)?.parse().ok()?;
        Some(UntrustedRule { of, answer })
    };
    if node.as_map().is_none() {
        let of = Spanned::new(UntrustedRule::OTHERWISE.to_owned(), keys.key_span("untrusted"));
        return read("untrusted", of, node).into_iter().collect();
    }
    let entries = keys.entries("untrusted");
    entries.filter_map(|(name, node)| read(&name.text, Spanned::new(name.text.clone(), name.span), node)).collect()
}
