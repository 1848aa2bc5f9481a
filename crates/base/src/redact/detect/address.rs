//! Web addresses with a user or token in them, and IPv6 addresses.

use std::net::Ipv6Addr;

use super::super::{Detection, PiiKind};
use super::{add, before};

/// Names of query fields that hold a token.
const FIELDS: &str = "token access_token refresh_token id_token auth_token api_key apikey api-key key secret client_secret password \
passwd pwd sig signature x-amz-signature x-amz-credential x-amz-security-token x-goog-signature auth authorization session sessionid sid \
jwt code hmac subscription-key";

pub(in super::super) fn find(text: &str, found: &mut Vec<Detection>) {
    for (at, _) in text.match_indices("://") {
        in_url(text, at + 3, found);
    }
    ipv6(text, found);
}

/// The user before the host, and the values of fields that hold a token.
fn in_url(text: &str, start: usize, found: &mut Vec<Detection>) {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\')).unwrap_or(rest.len());
    // A placeholder in the user part (`https://<token>@host`) is no secret; it ends the address.
    let url = &rest[..length];
    let host_end = url.find(['/', '?', '#']).unwrap_or(url.len());
    if let Some(user) = url[..host_end].rfind('@').or_else(|| after_odd_password(url, host_end)).and_then(|end| url.get(..end))
        && !user.is_empty()
        && user != "git"
        && !is_placeholder(user)
    {
        add(found, PiiKind::Url, start, start + user.len());
    }
    let fields = url.find(['?', '#']).map(|at| at + 1).unwrap_or(url.len());
    let mut at = fields;
    for field in url[fields..].split(['&', ';', '#', '?']) {
        if let Some((name, value)) = field.split_once('=') {
            let name_small = name.to_ascii_lowercase();
            let value = value.trim_end_matches(['.', ',', ')', ']']);
            let least = if matches!(name_small.as_str(), "key" | "code" | "auth" | "session" | "sid") { 10 } else { 6 };
            if FIELDS.split(' ').any(|field| field == name_small) && value.len() >= least && !is_placeholder(value) {
                let from = start + at + name.len() + 1;
                add(found, PiiKind::Url, from, from + value.len());
            }
        }
        at += field.len() + 1;
    }
}

/// Where the user part ends whose password holds a `/`, `?` or `#`: what is before these is no host with a port.
fn after_odd_password(url: &str, host_end: usize) -> Option<usize> {
    let (_, port) = url[..host_end].split_once(':').filter(|(host, _)| !host.starts_with('['))?;
    if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) { None } else { url.rfind('@') }
}

/// `${TOKEN}`, `{token}`, `%s`, `***`, `...`: stands for a value.
fn is_placeholder(text: &str) -> bool {
    text.starts_with(['$', '{', '%', '*', '<', '[', '.']) && !text.starts_with("%2")
        || text.contains(":${")
        || text.contains(":{")
        || text.chars().all(|c| c == 'x' || c == 'X')
}

fn ipv6(text: &str, found: &mut Vec<Detection>) {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let mut floor = 0;
    for (at, _) in text.match_indices(':') {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        if at < floor || !(next == b':' || next.is_ascii_hexdigit()) {
            continue;
        }
        let left = bytes[floor..at].iter().rev().take(45).take_while(|byte| is_part(byte)).count();
        let right = bytes[at..].iter().take(46).take_while(|byte| is_part(byte)).count();
        let (start, mut end) = (at - left, at + right);
        floor = end;
        while end > start && matches!(bytes[end - 1], b'.') {
            end -= 1;
        }
        if end - start > 39 + 6 || before(bytes, start).is_ascii_alphanumeric() || matches!(before(bytes, start), b'_' | b'.') {
            continue;
        }
        if bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            continue;
        }
        let token = text[start..end].trim_end_matches(':');
        let token = if text[start..end].ends_with("::") { &text[start..end] } else { token };
        let Ok(address) = token.parse::<Ipv6Addr>() else { continue };
        let groups = token.split(':').filter(|group| !group.is_empty()).count();
        let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
        // `a::b` is more often a path in code.
        let is_long = groups >= 3 || token.split(':').next().is_some_and(|first| first.len() >= 3);
        if has_digit && is_long && !address.is_loopback() && !address.is_unspecified() {
            add(found, PiiKind::Ip, start, start + token.len());
        }
    }
}
