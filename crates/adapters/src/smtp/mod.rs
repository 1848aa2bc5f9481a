//! Mail over SMTP: a single attempt, to all recipients at once.
//!
//! A recipient that the server rejects gets nothing, and the others get the mail; if it rejects all, nothing is sent.
//! Connections to other machines are always encrypted: TLS from the start on port 465, STARTTLS on other ports. A server that supports neither is
//! rejected. Connections to this machine are not encrypted. If the connection breaks after the data of a mail was sent, the outcome is unknown.

mod header;
mod message;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use chrono::{DateTime, Utc};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::{Error, commands};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use self::message::{WrittenMail, message_id, written};
use crate::event::{Failure, RejectedRecipient};
use crate::http::{HostLookup, SystemLookup, certificate_fault, in_words, is_loopback_host, is_refused, resolve};
use crate::model::FailureKind;
use crate::port::{Clock, Mail, MailReceipt, MailSender, Pending};
use crate::scrub::Scrub;

/// The port on which TLS starts immediately (RFC 8314).
const TLS_PORT: u16 = 465;
/// Maximum number of bytes that a server may send in one session, counted before lettre's own limits on lines apply. Connections with TLS from the
/// start are not counted.
const MOST_RECEIVED: usize = 256 << 10;

/// Sends mail over SMTP.
#[derive(Clone)]
pub struct SmtpMailSender {
    clock: Arc<dyn Clock>,
    lookup: Arc<dyn HostLookup>,
    private_hosts: Arc<[String]>,
}

impl SmtpMailSender {
    /// Creates a sender. For `private_hosts`, see `HttpSettings`.
    pub fn new(clock: Arc<dyn Clock>, private_hosts: Vec<String>) -> SmtpMailSender {
        SmtpMailSender { clock, lookup: Arc::new(SystemLookup), private_hosts: private_hosts.into() }
    }
}

impl MailSender for SmtpMailSender {
    fn send(&self, mail: Mail) -> Pending<MailReceipt> {
        let sender = self.clone();
        Box::pin(async move {
            let scrub = Scrub::new(mail.login.iter().map(|(_, password)| password));
            let session = SmtpAttempt { sender: &sender, mail: &mail, scrub, is_on_its_way: AtomicBool::new(false) };
            let too_slow = |_| session.lost(FailureKind::Timeout, format!("did not accept the mail within {}", in_words(mail.timeout)));
            tokio::time::timeout(mail.timeout, session.run()).await.map_err(too_slow).flatten()
        })
    }
}

/// Checks what must hold of a mail before anything of it leaves this machine.
///
/// # Errors
/// It would not be sent.
pub fn may_be_sent(mail: &Mail, now: DateTime<Utc>) -> Result<(), Failure> {
    written(mail, &message_id(mail), now).map(|_| ()).map_err(|what| Failure::new(FailureKind::BadRequest, what))
}

/// One attempt to send a mail.
struct SmtpAttempt<'a> {
    sender: &'a SmtpMailSender,
    mail: &'a Mail,
    scrub: Scrub,
    /// Whether sending the data has started.
    is_on_its_way: AtomicBool,
}

impl SmtpAttempt<'_> {
    async fn run(&self) -> Result<MailReceipt, Failure> {
        let id = message_id(self.mail);
        let written = written(self.mail, &id, self.sender.clock.now()).map_err(|what| self.scrub.failure(FailureKind::BadRequest, what))?;
        let (host, port) = self.server()?;
        let mut connection = self.connect(host, port).await?;
        if let Some((user, password)) = &self.mail.login {
            let credentials = Credentials::new(user.reveal().to_owned(), password.reveal().to_owned());
            connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await.map_err(|e| self.fault(&e))?;
        }
        let receipt = self.deliver(&mut connection, written, id).await?;
        // The mail was accepted, so a failure to close the session is ignored.
        let _ = connection.quit().await;
        Ok(receipt)
    }

    async fn deliver(&self, connection: &mut AsyncSmtpConnection, mail: WrittenMail, id: String) -> Result<MailReceipt, Failure> {
        let WrittenMail { data, from, recipients, has_plain_addresses } = mail;
        let mut options = Vec::new();
        for (is_needed, extension, option, name) in [
            (!has_plain_addresses, Extension::SmtpUtfEight, MailParameter::SmtpUtfEight, "addresses"),
            (!data.is_ascii(), Extension::EightBitMime, MailParameter::Body(MailBodyParameter::EightBitMime), "mails"),
        ] {
            if is_needed && !connection.server_info().supports_feature(extension) {
                return Err(self.failure(FailureKind::BadRequest, format!("does not accept {name} with non-ASCII characters")));
            }
            if is_needed {
                options.push(option);
            }
        }
        connection.command(commands::Mail::new(Some(from), options)).await.map_err(|e| self.fault(&e))?;
        let mut receipt = MailReceipt { id, ..MailReceipt::default() };
        let mut faults = vec![];
        for (given, to) in recipients {
            match connection.command(commands::Rcpt::new(to, Vec::new())).await {
                Ok(_) => receipt.accepted.push(given),
                Err(error) if is_about_recipient(&error) => {
                    let reason = self.scrub.quote(&error.to_string(), false);
                    receipt.rejected.push(RejectedRecipient { recipient: given, reason });
                    faults.push(error);
                }
                Err(error) => return Err(self.fault(&error)),
            }
        }
        if receipt.accepted.is_empty() {
            return Err(self.all_rejected(&receipt, &faults));
        }
        connection.command(commands::Data).await.map_err(|e| self.fault(&e))?;
        self.is_on_its_way.store(true, Ordering::Relaxed);
        connection.message(&data).await.map_err(|e| self.fault(&e))?;
        Ok(receipt)
    }

    /// The failure of a mail that no recipient was accepted of; one that the server may accept later decides what kind it is.
    fn all_rejected(&self, receipt: &MailReceipt, faults: &[Error]) -> Failure {
        let kinds = faults.iter().map(|error| self.fault(error));
        let mut failure = kinds.reduce(|one, other| if other.kind == FailureKind::ServerError { other } else { one });
        if let (Some(failure), [_, _, ..]) = (&mut failure, faults) {
            let each = receipt.rejected.iter().map(|one| format!("{}: {}", one.recipient, one.reason)).collect::<Vec<_>>().join("; ");
            failure.message = self.failure(failure.kind, format!("rejected all recipients: {each}")).message;
        }
        failure.unwrap_or_else(|| self.failure(FailureKind::BadRequest, "accepted no recipient"))
    }

    /// Connects to a checked address, and encrypts the connection unless it is to this machine.
    async fn connect(&self, host: &str, port: u16) -> Result<AsyncSmtpConnection, Failure> {
        let addresses = self.addresses(host, port).await?;
        let hello = ClientId::default();
        let is_plain = is_loopback_host(host);
        let tls = || TlsParameters::new(host.trim_matches(['[', ']']).to_owned()).map_err(|e| self.fault(&e));
        if port == TLS_PORT && !is_plain {
            let connection = AsyncSmtpConnection::connect_tokio1(addresses.as_slice(), None, &hello, Some(tls()?), None);
            return connection.await.map_err(|e| self.fault(&e));
        }
        let unreachable = |e| self.failure(FailureKind::Connection, format!("cannot be reached: {e}"));
        let stream = TcpStream::connect(addresses.as_slice()).await.map_err(unreachable)?;
        let stream = Box::new(BoundedStream { stream, left: MOST_RECEIVED });
        let mut connection = AsyncSmtpConnection::connect_with_transport(stream, &hello).await.map_err(|e| self.fault(&e))?;
        if !is_plain {
            if !connection.can_starttls() {
                return Err(self.failure(FailureKind::Blocked, "does not support encryption (STARTTLS); no mail was sent"));
            }
            connection.starttls(tls()?, &hello).await.map_err(|e| self.fault(&e))?;
        }
        Ok(connection)
    }

    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let addresses = resolve(self.sender.lookup.as_ref(), host, &self.sender.private_hosts).await.map_err(|error| {
            let kind = if is_refused(&error) { FailureKind::Blocked } else { FailureKind::Connection };
            self.failure(kind, format!("was not called: {error}"))
        })?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// The host and port of the server, from `host:port`.
    fn server(&self) -> Result<(&str, u16), Failure> {
        let server = &self.mail.server;
        let is_name = |host: &str| !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        let is_host = |host: &str| is_name(host) || host.starts_with('[') && host.ends_with(']');
        let parts = server.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        parts.filter(|(host, port)| is_host(host) && *port != 0).ok_or_else(|| {
            // Who puts more into it puts a log-in into it.
            let what = "the address of the mail server (smtp) is not HOST:PORT; write it so, and the log-in in user and password";
            self.scrub.failure(FailureKind::BadRequest, what)
        })
    }

    /// Converts an error of the session to a failure.
    fn fault(&self, error: &Error) -> Failure {
        if let Some(reason) = certificate_fault(error) {
            return self.failure(FailureKind::Blocked, format!("has a certificate that is not trusted: {reason}"));
        }
        let said = self.scrub.quote(&error.to_string(), false);
        match error.status().map(u16::from) {
            Some(530 | 534 | 535 | 538) => self.failure(FailureKind::Auth, format!("did not accept the login: {said}")),
            Some(552) => self.failure(FailureKind::TooLarge, format!("did not accept the mail: {said}")),
            Some(500..) => self.failure(FailureKind::BadRequest, format!("rejected the mail: {said}")),
            Some(_) => self.failure(FailureKind::ServerError, format!("cannot accept the mail now: {said}")),
            None if error.is_client() => self.failure(FailureKind::BadRequest, format!("cannot accept the mail: {said}")),
            None if error.is_response() => self.lost(FailureKind::BadResponse, format!("sent an answer that cannot be read: {said}")),
            None => self.lost(FailureKind::Connection, format!("closed the connection: {said}")),
        }
    }

    /// A failure without a verdict on the mail. After its data was sent, the outcome is unknown.
    fn lost(&self, kind: FailureKind, what: String) -> Failure {
        if self.is_on_its_way.load(Ordering::Relaxed) {
            return self.failure(FailureKind::UnknownOutcome, format!("{what}; it is unknown whether the mail was sent"));
        }
        self.failure(kind, what)
    }

    fn failure(&self, kind: FailureKind, what: impl AsRef<str>) -> Failure {
        self.scrub.failure(kind, format!("the mail server {} {}", self.mail.server, what.as_ref()))
    }
}

/// Whether an answer of the server is about one recipient, and not about the session.
fn is_about_recipient(error: &Error) -> bool {
    let code = error.status().map(u16::from);
    code.is_some_and(|code| !matches!(code, 421 | 530 | 534 | 535 | 538))
}

/// A connection that fails when the server sends too much.
#[derive(Debug)]
struct BoundedStream {
    stream: TcpStream,
    left: usize,
}

impl AsyncTokioStream for BoundedStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let received = buffer.filled().len().saturating_sub(before);
        match self.left.checked_sub(received) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Err(io::Error::other(format!("it sent more than {MOST_RECEIVED} bytes")))),
        }
        polled
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
