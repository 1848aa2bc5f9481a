//! Mail, for `send` to an `smtp` tool.

use std::time::Duration;

use super::{Pending, Secret};
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
    /// Recipient address.
    pub to: String,
    /// Subject; a line break in it is rejected.
    pub subject: String,
    /// Text body.
    pub text: String,
    /// HTML body beside the text.
    pub html: Option<String>,
    /// Becomes the `Message-ID`, so that a repeated mail can be reported.
    pub key: String,
    /// Time for the whole attempt.
    pub timeout: Duration,
}

/// Sends mail.
pub trait MailSender: Send + Sync {
    /// Makes one attempt and gives the message id. A mail cut after its data was sent is `unknown_outcome`.
    fn send(&self, mail: Mail) -> Pending<String>;
}
