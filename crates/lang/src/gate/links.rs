//! Which links a text has, and where they lead.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, LinkType, Tag};
use regex::Regex;
use url::{Host, Url};

use super::verdict::{CheckResult, JudgedText, listed, place, quoted};
use crate::channel::{clean, marked_events};

/// Only links to these hosts; none at all if the list is empty. A link is a Markdown link or picture, an address with `://` or `www.`,
/// and a bare name that programs for reading mail or messages make a link of (`acme.com`, `bit.ly/x`). A host of the list is that host
/// only; `*.acme.com` is every host under it. A link whose host cannot be told leads to none of the list.
///
/// Of a formatted text both what is sent and what is read count: links in its marks, and addresses that marks part (`acme.**com**`).
pub(super) fn links(hosts: &[String], judged: &JudgedText) -> CheckResult {
    let ((marked, _), (text, _)) = (clean(judged.marked()), clean(judged.text));
    let allowed: Vec<Allowed> = hosts.iter().map(|host| Allowed::new(host)).collect();
    let is_wrong = |link: &TextLink| {
        let host = host(&link.address);
        !host.is_some_and(|host| allowed.iter().any(|allowed| allowed.has(&host)))
    };
    let in_marks = find_links(&marked).into_iter().find(is_wrong).map(|link| (link, &marked));
    let Some((link, text)) = in_marks.or_else(|| addresses(&text).find(is_wrong).map(|link| (link, &text))) else {
        return CheckResult::passed();
    };
    let feedback = if hosts.is_empty() {
        format!("The text has the link {}; none is allowed.", quoted(&link.address))
    } else {
        let hosts: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
        format!("The text has the link {}; allowed are only links to {}.", quoted(&link.address), listed(&hosts))
    };
    CheckResult::failed(feedback, place(text, link.range))
}

/// The text without its addresses: for those who count or read words.
pub(super) fn without_links(text: &str) -> Cow<'_, str> {
    match ADDRESS.as_ref() {
        Some(pattern) => pattern.replace_all(text, " "),
        None => text.into(),
    }
}

struct TextLink {
    address: String,
    range: Range<usize>,
}

/// Addresses in running text: with a scheme, with `www.`, or a name under one of the domains that make a link by themselves, or under
/// any domain with a path behind it.
static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?ix) \b[a-z][a-z0-9+.-]{1,30}:[/\\]{2}[^\s<>"`]+
        | \b(?:mailto|tel|sms|javascript|data):[^\s<>"`]+
        | \bwww\.[^\s<>"`]+
        | (?-i:[\p{L}\p{M}\p{N}_-]+(?:[.\u{3002}\u{ff0e}\u{ff61}][\p{L}\p{M}\p{N}_-]+)*[.\u{3002}\u{ff0e}\u{ff61}](?:
            (?:xn--[a-z0-9-]+|[\p{L}\p{M}]{2,})(?::[0-9]+)?/[^\s<>"`]*
            | xn--[a-z0-9-]+ | (?:рф|укр|бел|срб|中国|中國|网址|公司|한국|भारत)\b
            | (?:com|net|org|info|biz|xyz|app|dev|io|co|me|ai|top|online|site|shop|store|link|click|live|example)\b))"#,
    )
    .ok()
});

/// All links: those of Markdown first, then the addresses in the text.
fn find_links(text: &str) -> Vec<TextLink> {
    let mut found = vec![];
    for (event, range) in marked_events(text) {
        if let Event::Start(Tag::Link { dest_url, link_type, .. } | Tag::Image { dest_url, link_type, .. }) = event {
            let address = if link_type == LinkType::Email { format!("mailto:{dest_url}") } else { dest_url.to_string() };
            found.push(TextLink { address, range });
        }
    }
    found.extend(addresses(text));
    found
}

/// The addresses in a text.
fn addresses(text: &str) -> impl Iterator<Item = TextLink> {
    ADDRESS.as_ref().map(|pattern| pattern.find_iter(text)).into_iter().flatten().filter_map(|address| {
        // The part of a mail address behind its sign, and of a name before it, is no link of its own.
        let is_mail = text[..address.start()].ends_with('@') || text[address.end()..].starts_with('@');
        let shown = address.as_str().trim_end_matches(|c: char| ".,;:!?'*_~)]}”’".contains(c));
        let is_link = !is_mail || address.as_str().contains("//");
        is_link.then(|| TextLink { address: shown.to_owned(), range: address.range() })
    })
}

/// The host an address leads to, as browsers read it (WHATWG URL): in small letters, names of other scripts in Punycode.
fn host(address: &str) -> Option<String> {
    let address = address.trim();
    if let Some(mail) = address.get(..7).filter(|start| start.eq_ignore_ascii_case("mailto:")).and(address.get(7..)) {
        let to = mail.split('?').next().unwrap_or_default();
        // Several receivers: that is no single host.
        return to.split_once('@').filter(|(_, host)| !host.contains([',', '@', '%'])).and_then(|(_, host)| normal(host));
    }
    let url = match Url::parse(address) {
        Ok(url) if url.has_host() => url,
        _ if address.starts_with("//") => Url::parse(&format!("https:{address}")).ok()?,
        _ if address.contains("://") || address.contains('\\') || !address.contains('.') => return None,
        _ => Url::parse(&format!("https://{address}")).ok()?,
    };
    matches!(url.scheme(), "http" | "https").then_some(())?;
    url.host_str().and_then(normal)
}

fn normal(host: &str) -> Option<String> {
    let host = Host::parse(host.trim().trim_end_matches('.')).ok()?;
    Some(host.to_string())
}

/// A host of the author's list.
struct Allowed {
    host: Option<String>,
    with_all_under_it: bool,
}

impl Allowed {
    fn new(written: &str) -> Allowed {
        let under = written.trim().strip_prefix("*.");
        Allowed { host: normal(under.unwrap_or(written)), with_all_under_it: under.is_some() }
    }

    fn has(&self, host: &str) -> bool {
        let Some(own) = self.host.as_deref() else { return false };
        if self.with_all_under_it { host.strip_suffix(own).is_some_and(|rest| rest.ends_with('.')) } else { host == own }
    }
}
