//! A mail as it is sent: its headers and its text, and whom the server is told of.

use chrono::{DateTime, Utc};
use lettre::message::header::ContentTransferEncoding;
use lettre::message::{Body, Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message};
use sha2::{Digest, Sha256};

use super::header::{LONGEST_LINE, grammar_header, has_grammar, text_header};
use crate::model::{header_fault, recipients};
use crate::port::{Mail, MailHead};

/// A header of addresses with more bytes has a line for each.
const LONGEST_ADDRESSES: usize = 76;
/// What tells programs that answer by themselves not to (RFC 3834).
const AUTO_SUBMITTED: (&str, &str) = ("Auto-Submitted", "auto-generated");

/// A mail as it is sent.
pub(super) struct WrittenMail {
    /// Its headers and its text.
    pub(super) data: Vec<u8>,
    pub(super) from: Address,
    /// Each recipient once: as given, and the address.
    pub(super) recipients: Vec<(String, Address)>,
    /// Whether all addresses, also those that stand in headers alone, are of ASCII characters.
    pub(super) has_plain_addresses: bool,
}

/// Writes a mail.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn written(mail: &Mail, id: &str, now: DateTime<Utc>) -> Result<WrittenMail, String> {
    let head = &mail.head;
    no_control_characters(mail)?;
    let mailbox = |name: &str, value: &str| {
        value.parse::<Mailbox>().map_err(|error| format!("the {name} {value:?} is not one mail address: {error}"))
    };
    let from = mailbox("sender", &mail.from)?;
    let mut builder = Message::builder().from(from.clone()).message_id(Some(id.to_owned())).date(now.into());
    let mut recipients: Vec<(String, Address)> = vec![];
    let mut has_plain_addresses = from.email.to_string().is_ascii();
    for (kind, list) in
        [(AddressUse::To, &head.to), (AddressUse::Cc, &head.cc), (AddressUse::Bcc, &head.bcc), (AddressUse::ReplyTo, &head.reply_to)]
    {
        for given in list {
            let one = mailbox(kind.words(), given)?;
            has_plain_addresses &= one.email.to_string().is_ascii();
            if kind != AddressUse::ReplyTo && !recipients.iter().any(|(_, known)| is_same(known, &one.email)) {
                recipients.push((given.clone(), one.email.clone()));
            }
            builder = match kind {
                AddressUse::To => builder.to(one),
                AddressUse::Cc => builder.cc(one),
                AddressUse::ReplyTo => builder.reply_to(one),
                // In no header: nobody is told of it.
                AddressUse::Bcc => builder,
            };
        }
    }
    if recipients.is_empty() {
        return Err("the mail has no recipient".to_owned());
    }
    for header in headers(head)? {
        builder = builder.raw_header(header);
    }
    let built = match &mail.html {
        None => builder.singlepart(SinglePart::plain(body(&mail.text)?)),
        Some(html) => builder.multipart(MultiPart::alternative_plain_html(body(&mail.text)?, body(html)?)),
    };
    let message = built.map_err(|error| format!("the mail cannot be written: {error}"))?;
    let data = with_folded_addresses(&message.formatted());
    let mut lines = data.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    if let Some(long) = lines.find(|line| line.len() > LONGEST_LINE) {
        let start = String::from_utf8_lossy(long).chars().take(30).collect::<String>();
        return Err(format!("the mail has a line of more than {LONGEST_LINE} bytes, which servers reject: {start}…"));
    }
    Ok(WrittenMail { data, from: from.email, recipients, has_plain_addresses })
}

/// Whether two addresses are of one mailbox: a domain has no capital letters, and one form in ASCII (RFC 5891).
fn is_same(one: &Address, other: &Address) -> bool {
    let domain =
        |address: &Address| url::Host::parse(address.domain()).map_or_else(|_| address.domain().to_lowercase(), |host| host.to_string());
    one.user() == other.user() && domain(one) == domain(other)
}

/// A text whose lines end as in every mail. Other control characters would end a line or a mail for some servers, so they are encoded.
fn body(text: &str) -> Result<Body, String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Body::new_with_encoding(text, ContentTransferEncoding::Base64).map_err(|_| "the mail cannot be encoded".to_owned());
    }
    Ok(Body::new(text))
}

/// The mail with a line for each address where a header has many: lines are bounded.
fn with_folded_addresses(data: &[u8]) -> Vec<u8> {
    let end = data.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
    let (head, rest) = data.split_at(end);
    let Ok(head) = std::str::from_utf8(head) else { return data.to_vec() };
    let folded = head.split("\r\n").map(|line| match line.split_once(": ") {
        Some((name @ ("To" | "Cc" | "Reply-To"), value)) if line.len() > LONGEST_ADDRESSES => {
            format!("{name}: {}", recipients(value).join(",\r\n "))
        }
        _ => line.to_owned(),
    });
    [folded.collect::<Vec<_>>().join("\r\n").as_bytes(), rest].concat()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AddressUse {
    To,
    Cc,
    Bcc,
    ReplyTo,
}

impl AddressUse {
    fn words(self) -> &'static str {
        match self {
            AddressUse::To => "recipient",
            AddressUse::Cc => "recipient (cc)",
            AddressUse::Bcc => "recipient (bcc)",
            AddressUse::ReplyTo => "address for answers (reply_to)",
        }
    }
}

/// The subject, the threads and the headers of the author's choice.
fn headers(head: &MailHead) -> Result<Vec<lettre::message::header::HeaderValue>, String> {
    let mut all = vec![text_header("Subject", &head.subject)?];
    if !head.in_reply_to.is_empty() {
        all.push(grammar_header("In-Reply-To", &head.in_reply_to)?);
    }
    // An answer names at least the message that it answers (RFC 5322, 3.6.4).
    let references = if head.references.is_empty() { head.in_reply_to.clone() } else { head.references.join(" ") };
    if !references.is_empty() {
        all.push(grammar_header("References", &references)?);
    }
    if !head.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTO_SUBMITTED.0)) {
        all.push(grammar_header(AUTO_SUBMITTED.0, AUTO_SUBMITTED.1)?);
    }
    for (name, value) in head.headers.iter().filter(|(_, value)| !value.trim().is_empty()) {
        if let Some(fault) = header_fault(name) {
            return Err(format!("header {name:?} of the mail: {fault}"));
        }
        all.push(if has_grammar(name) { grammar_header(name, value)? } else { text_header(name, value)? });
    }
    Ok(all)
}

/// A line break in a header would begin another.
fn no_control_characters(mail: &Mail) -> Result<(), String> {
    let MailHead { to, cc, bcc, reply_to, in_reply_to, references, headers, subject } = &mail.head;
    let each = |what: &str, list: &[String]| list.iter().map(|text| (what.to_owned(), text.clone())).collect::<Vec<_>>();
    let mut texts = [each("recipient", to), each("recipient", cc), each("recipient", bcc), each("address for answers", reply_to)].concat();
    texts.extend(each("list of references", references));
    texts.extend(headers.iter().map(|(name, value)| (format!("header {name:?}"), value.clone())));
    texts.push(("subject".to_owned(), subject.clone()));
    texts.push(("sender".to_owned(), mail.from.clone()));
    texts.push(("id of the message it answers".to_owned(), in_reply_to.clone()));
    match texts.iter().find(|(_, text)| text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))) {
        Some((what, _)) => Err(format!("the {what} of the mail contains a line break or another control character")),
        None => Ok(()),
    }
}

/// A message id that depends only on the mail's key and the sender's domain.
pub(super) fn message_id(mail: &Mail) -> String {
    let digest = Sha256::digest(mail.key.as_bytes());
    let name = hex::encode(&digest[..16]);
    let domain = mail.from.rsplit_once('@').map_or("", |(_, domain)| domain.trim_end_matches('>'));
    let mut domain = url::Host::parse(domain).map_or_else(|_| domain.to_owned(), |host| host.to_string());
    domain.retain(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    format!("<{name}@{}>", if domain.is_empty() { "localhost" } else { &domain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(to: &[&str], text: &str) -> Mail {
        Mail {
            server: "127.0.0.1:25".into(),
            host_from: Default::default(),
            login: None,
            from: "Me <me@bücher.example>".into(),
            head: MailHead { to: to.iter().map(|one| (*one).to_owned()).collect(), subject: "S".into(), ..MailHead::default() },
            text: text.into(),
            html: None,
            key: "k".into(),
            timeout: std::time::Duration::from_secs(1),
        }
    }

    #[test]
    fn many_recipients_stand_on_lines_of_their_own() {
        let all: Vec<String> = (0..200).map(|number| format!("person.{number}@example.org")).collect();
        let written =
            written(&mail(&all.iter().map(String::as_str).collect::<Vec<_>>(), "Hello"), "<1@example.org>", DateTime::UNIX_EPOCH).unwrap();
        let text = String::from_utf8(written.data).unwrap();
        assert!(text.contains("To: person.0@example.org,\r\n person.1@example.org,\r\n"), "{text}");
        assert_eq!(written.recipients.len(), 200);
    }

    #[test]
    fn one_mailbox_gets_one_mail() {
        let written = written(
            &mail(&["a@x.example", "a@X.Example", "b@bücher.example", "b@xn--bcher-kva.example"], "Hi"),
            "<1@x>",
            DateTime::UNIX_EPOCH,
        )
        .unwrap();
        assert_eq!(written.recipients.iter().map(|(given, _)| given.as_str()).collect::<Vec<_>>(), ["a@x.example", "b@bücher.example"]);
        assert!(!written.has_plain_addresses);
        assert!(message_id(&mail(&[], "")).ends_with("@xn--bcher-kva.example>"));
    }

    #[test]
    fn no_text_ends_a_mail_or_a_line_of_its_own() {
        for (text, is_encoded) in [("a\r.\r\nMAIL FROM:<x@y>\r\nb", false), ("a\0b\u{1b}[31m", true), ("a\tb\r\rc", false)] {
            let data = written(&mail(&["a@x.example"], text), "<1@x>", DateTime::UNIX_EPOCH).unwrap().data;
            let text = String::from_utf8(data).unwrap();
            assert_eq!(text.contains("base64"), is_encoded, "{text}");
            let rest = text.replace("\r\n", "");
            assert!(!rest.contains(['\r', '\n', '\0']), "{text:?}");
        }
    }
}
