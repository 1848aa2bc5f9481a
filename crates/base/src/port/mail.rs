//! Mail, for `send` to an `smtp` tool.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Pending, Secret};
use crate::event::RejectedRecipient;
use crate::model::HostSource;

/// One mail.
#[derive(Debug, Clone)]
pub struct Mail {
    /// `host:port` of the server.
    pub server: String,
    /// Who named it.
    pub host_from: HostSource,
    /// User and password.
    pub login: Option<(Secret, Secret)>,
    /// Sender address.
    pub from: String,
    /// Whom it is for, and what it is about.
    pub head: MailHead,
    /// Text body.
    pub text: String,
    /// HTML body beside the text.
    pub html: Option<String>,
    /// Becomes the `Message-ID`, so that a repeated mail can be reported.
    pub key: String,
    /// Time for the whole attempt.
    pub timeout: Duration,
}

/// Whom a mail is for, and what stands above its text. A line break in any of these is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MailHead {
    /// Recipients, each as an address or with a name: `Ana <ana@example.com>`.
    pub to: Vec<String>,
    /// Recipients of a copy.
    pub cc: Vec<String>,
    /// Recipients of whom the others are not told.
    pub bcc: Vec<String>,
    /// Who gets the answers.
    pub reply_to: Vec<String>,
    /// The id of the message that it answers; empty: of none.
    pub in_reply_to: String,
    /// Ids of the messages before it.
    pub references: Vec<String>,
    /// Headers of the author's choice. An empty one is left out.
    pub headers: Vec<(String, String)>,
    /// Subject.
    pub subject: String,
}

impl MailHead {
    /// All texts in it but names of headers.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let MailHead { to, cc, bcc, reply_to, in_reply_to, references, headers, subject } = self;
        let lists = [to, cc, bcc, reply_to, references].into_iter().flatten();
        lists.chain(headers.iter_mut().map(|(_, value)| value)).chain([in_reply_to, subject])
    }
}

/// What became of a mail that a server accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MailReceipt {
    /// Its message id.
    pub id: String,
    /// The recipients that the server accepted, as they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Those that it rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedRecipient>,
}

/// Sends mail.
pub trait MailSender: Send + Sync {
    /// Makes one attempt. It fails if no recipient is accepted. A mail cut after its data was sent is `unknown_outcome`.
    fn send(&self, mail: Mail) -> Pending<MailReceipt>;
}
