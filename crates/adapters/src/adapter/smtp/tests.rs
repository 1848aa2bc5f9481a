//! Mail to a server that plays faults.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::*;
use crate::adapter::http::tests::{StoppedClock, self_signed_acceptor};
use crate::port::Secret;

/// What the server answers to a command that begins with a word; all others get `250 ok`. Special answers: `close`, `stall`, `flood`.
type Answers = &'static [(&'static str, &'static str)];

/// A mail server. It tells what it read, line by line.
struct Smtpd {
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Smtpd {
    async fn start(answers: Answers) -> Smtpd {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&lines);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answers, Arc::clone(&seen)));
            }
        });
        Smtpd { address, lines }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, answers: Answers, seen: Arc<Mutex<Vec<String>>>) {
    let (from, mut to) = stream.split();
    let mut from = BufReader::new(from).lines();
    let mut is_data = false;
    let mut line = "HELLO".to_owned();
    loop {
        let default = match line.as_str() {
            "HELLO" => "220 here",
            "DATA" => "354 go on",
            text if text.starts_with("EHLO") => "250-here\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN",
            _ => "250 ok",
        };
        let said = answers.iter().find(|(word, _)| line.starts_with(word)).map_or(default, |(_, answer)| answer);
        match said {
            "close" => return,
            "stall" => return std::future::pending().await,
            "flood" => while to.write_all(&[b'x'; 4096]).await.is_ok() {},
            said => drop(to.write_all(format!("{said}\r\n").as_bytes()).await),
        }
        is_data |= line == "DATA";
        loop {
            let Ok(Some(next)) = from.next_line().await else { return };
            seen.lock().unwrap().push(next.clone());
            line = next;
            if !is_data || line == "." {
                break;
            }
        }
        is_data = false;
    }
}

fn mail(server: &Smtpd) -> Mail {
    Mail {
        server: server.address.to_string(),
        host_from: Default::default(),
        login: None,
        from: "Flow <flow@sender.example>".to_owned(),
        to: "ana@example.org".to_owned(),
        subject: "Grüße".to_owned(),
        text: "Hallo\n.\nTschüss".to_owned(),
        html: None,
        key: "run/step/1".to_owned(),
        timeout: Duration::from_secs(10),
    }
}

fn sender() -> SmtpMailSender {
    SmtpMailSender::new(Arc::new(StoppedClock), Vec::new())
}

async fn kind(answers: Answers, change: impl FnOnce(Mail) -> Mail) -> FailureKind {
    let server = Smtpd::start(answers).await;
    let failure = sender().send(change(mail(&server))).await.expect_err("the mail was sent");
    assert!(!failure.message.contains("canary"), "{}", failure.message);
    failure.kind
}

fn with_login(mail: Mail) -> Mail {
    Mail { login: Some((Secret::new("flow"), Secret::new("pw-canary-1"))), ..mail }
}

#[tokio::test]
async fn a_mail_has_its_key_as_message_id_and_the_clocks_date() {
    let server = Smtpd::start(&[]).await;
    let id = sender().send(mail(&server)).await.unwrap();
    let lines = server.lines();
    assert!(lines.contains(&"MAIL FROM:<flow@sender.example>".to_owned()) && lines.contains(&"RCPT TO:<ana@example.org>".to_owned()));
    assert!(lines.contains(&format!("Message-ID: {id}")) && id.ends_with("@sender.example>"), "{id}");
    assert!(lines.contains(&"Date: Sun, 08 Nov 2026 08:49:30 +0000".to_owned()), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| *line == ".").count(), 1, "a lone dot of the text does not end the mail");
    let again = sender().send(mail(&server)).await.unwrap();
    let other = sender().send(Mail { key: "run/step/2".to_owned(), ..mail(&server) }).await.unwrap();
    assert!(again == id && other != id);
}

#[tokio::test]
async fn a_mail_may_have_html_beside_its_text() {
    let server = Smtpd::start(&[]).await;
    sender().send(Mail { html: Some("<b>Hallo</b>".to_owned()), ..mail(&server) }).await.unwrap();
    let text = server.lines().join("\n");
    assert!(text.contains("multipart/alternative") && text.contains("text/plain") && text.contains("<b>Hallo</b>"), "{text}");
}

#[tokio::test]
async fn line_breaks_in_subject_and_addresses_are_refused_before_anything_is_sent() {
    let server = Smtpd::start(&[]).await;
    for bad in ["x\r\nBcc: eve@example.org", "x\ny", "x\ry", "x\0y", "x\u{85}y"] {
        for wrong in [
            Mail { subject: bad.to_owned(), ..mail(&server) },
            Mail { from: format!("{bad}@example.org"), ..mail(&server) },
            Mail { from: format!("{bad} <a@example.org>"), ..mail(&server) },
            Mail { to: format!("ana@example.org{bad}"), ..mail(&server) },
        ] {
            assert_eq!(sender().send(wrong).await.unwrap_err().kind, FailureKind::BadRequest);
        }
    }
    for to in ["", "ana", "ana@example.org, eve@example.org", "<ana@example.org> RCPT"] {
        assert_eq!(sender().send(Mail { to: to.to_owned(), ..mail(&server) }).await.unwrap_err().kind, FailureKind::BadRequest, "{to}");
    }
    assert!(server.lines().is_empty());
}

#[tokio::test]
async fn answers_of_the_server_have_their_class() {
    let same = |mail: Mail| mail;
    assert_eq!(kind(&[("HELLO", "421 busy")], same).await, FailureKind::ServerError);
    assert_eq!(kind(&[("MAIL", "451 later")], same).await, FailureKind::ServerError);
    assert_eq!(kind(&[("RCPT", "550 nobody here")], same).await, FailureKind::BadRequest);
    assert_eq!(kind(&[("MAIL", "530 log in")], same).await, FailureKind::Auth);
    assert_eq!(kind(&[("AUTH", "535 pw-canary-1 is wrong")], with_login).await, FailureKind::Auth);
    assert_eq!(kind(&[(".", "552 too big")], same).await, FailureKind::TooLarge);
    assert_eq!(kind(&[(".", "451 later")], same).await, FailureKind::ServerError);
    assert_eq!(kind(&[("HELLO", "what?")], same).await, FailureKind::BadResponse);
    assert_eq!(
        kind(&[("EHLO", "250 here")], |mail| Mail { subject: "x".to_owned(), to: "ünsal@example.org".to_owned(), ..mail }).await,
        FailureKind::BadRequest
    );
}

#[tokio::test]
async fn once_its_data_is_on_the_way_nobody_knows_about_a_mail_that_was_cut() {
    let hasty = |mail: Mail| Mail { timeout: Duration::from_millis(200), ..mail };
    assert_eq!(kind(&[("DATA", "close")], |mail| mail).await, FailureKind::BadResponse);
    assert_eq!(kind(&[("RCPT", "stall")], hasty).await, FailureKind::Timeout);
    assert_eq!(kind(&[(".", "close")], |mail| mail).await, FailureKind::UnknownOutcome);
    assert_eq!(kind(&[(".", "stall")], hasty).await, FailureKind::UnknownOutcome);
    assert_eq!(kind(&[(".", "what?")], |mail| mail).await, FailureKind::UnknownOutcome);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(kind(&[], |mail| Mail { server: closed.to_string(), ..mail }).await, FailureKind::Connection);
}

#[tokio::test]
async fn a_server_that_never_stops_talking_is_left() {
    assert_eq!(kind(&[("EHLO", "flood")], |mail| mail).await, FailureKind::Connection);
}

/// Every name leads to this machine.
struct Home;

impl HostLookup for Home {
    fn lookup(&self, _host: String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

#[tokio::test]
async fn another_machine_gets_no_mail_without_encryption_and_a_name_must_not_lead_here() {
    let server = Smtpd::start(&[]).await;
    let elsewhere = || Mail { server: format!("mail.example:{}", server.address.port()), ..with_login(mail(&server)) };
    let with = |private: &[&str]| SmtpMailSender {
        lookup: Arc::new(Home),
        ..SmtpMailSender::new(Arc::new(StoppedClock), private.iter().map(|host| (*host).to_owned()).collect())
    };
    assert_eq!(with(&[]).send(elsewhere()).await.unwrap_err().kind, FailureKind::Blocked);
    assert!(server.lines().is_empty());
    let failure = with(&["mail.example"]).send(elsewhere()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Blocked);
    assert!(failure.message.contains("STARTTLS"), "{}", failure.message);
    assert!(!server.lines().iter().any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")));
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_blocked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("name.example:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        for answer in ["220 here\r\n", "250-here\r\n250 STARTTLS\r\n", "220 go on\r\n"] {
            stream.write_all(answer.as_bytes()).await.unwrap();
            if !answer.starts_with("220 go") {
                stream.read_line(&mut String::new()).await.unwrap();
            }
        }
        let _ = self_signed_acceptor().accept(stream).await;
    });
    let sender = SmtpMailSender { lookup: Arc::new(Home), ..SmtpMailSender::new(Arc::new(StoppedClock), vec!["name.example".to_owned()]) };
    let elsewhere = Mail { server, ..mail(&Smtpd::start(&[]).await) };
    let failure = sender.send(elsewhere).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Blocked, "{}", failure.message);
    assert!(failure.message.contains("certificate"), "{}", failure.message);
}

#[tokio::test]
async fn a_server_is_a_host_and_a_port() {
    for server in ["", "mail.example", "mail.example:", "mail.example:0", "mail.example:70000", "a@b:25", "a b:25", "http://a:25", ":25"] {
        let with = |mail: Mail| Mail { server: server.to_owned(), ..mail };
        assert_eq!(kind(&[], with).await, FailureKind::BadRequest, "{server}");
    }
}
