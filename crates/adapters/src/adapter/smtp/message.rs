//! A mail as it is sent: its headers and its text, and whom the server is told of.

use chrono::{DateTime, Utc};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message};
use sha2::{Digest, Sha256};

use super::header::{LONGEST_LINE, grammar_header, has_grammar, text_header};
use crate::model::header_fault;
use crate::port::{Mail, MailHead};

/// What tells programs that answer by themselves not to (RFC 3834).
const AUTO_SUBMITTED: (&str, &str) = ("Auto-Submitted", "auto-generated");

/// A mail as it is sent.
pub(super) struct WrittenMail {
    /// Its headers and its text.
    pub(super) data: Vec<u8>,
    pub(super) from: Address,
    /// Each recipient once: as given, and the address.
    pub(super) recipients: Vec<(String, Address)>,
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
    for (kind, list) in
        [(AddressUse::To, &head.to), (AddressUse::Cc, &head.cc), (AddressUse::Bcc, &head.bcc), (AddressUse::ReplyTo, &head.reply_to)]
    {
        for given in list {
            let one = mailbox(kind.words(), given)?;
            if kind != AddressUse::ReplyTo && !recipients.iter().any(|(_, known)| *known == one.email) {
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
        None => builder.singlepart(SinglePart::plain(mail.text.clone())),
        Some(html) => builder.multipart(MultiPart::alternative_plain_html(mail.text.clone(), html.clone())),
    };
    let message = built.map_err(|error| format!("the mail cannot be written: {error}"))?;
    let data = message.formatted();
    let mut lines = data.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    if let Some(long) = lines.find(|line| line.len() > LONGEST_LINE) {
        let start = String::from_utf8_lossy(long).chars().take(30).collect::<String>();
        return Err(format!("the mail has a line of more than {LONGEST_LINE} bytes, which servers reject: {start}…"));
    }
    Ok(WrittenMail { data, from: from.email, recipients })
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
    let mut domain = mail.from.rsplit_once('@').map_or("", |(_, domain)| domain).to_owned();
    domain.retain(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    format!("<{name}@{}>", if domain.is_empty() { "localhost" } else { &domain })
}
