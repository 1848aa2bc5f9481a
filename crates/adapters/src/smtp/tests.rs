//! Mail to a server that plays faults.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::*;
use crate::http::tests::{StoppedClock, self_signed_acceptor};
use crate::port::{MailHead, Secret};

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

fn to(recipient: &str) -> MailHead {
    MailHead { to: vec![recipient.to_owned()], subject: "Grüße".to_owned(), ..MailHead::default() }
}

fn mail(server: &Smtpd) -> Mail {
    Mail {
        server: server.address.to_string(),
        host_from: Default::default(),
        login: None,
        from: "Flow <flow@sender.example>".to_owned(),
        head: to("ana@example.org"),
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
    let MailReceipt { id, accepted, rejected } = sender().send(mail(&server)).await.unwrap();
    assert_eq!((accepted, rejected), (vec!["ana@example.org".to_owned()], vec![]));
    let lines = server.lines();
    assert!(lines.contains(&"MAIL FROM:<flow@sender.example>".to_owned()) && lines.contains(&"RCPT TO:<ana@example.org>".to_owned()));
    assert!(lines.contains(&format!("Message-ID: {id}")) && id.ends_with("@sender.example>"), "{id}");
    assert!(lines.contains(&"Date: Sun, 08 Nov 2026 08:49:30 +0000".to_owned()), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| *line == ".").count(), 1, "a lone dot of the text does not end the mail");
    let again = sender().send(mail(&server)).await.unwrap().id;
    let other = sender().send(Mail { key: "run/step/2".to_owned(), ..mail(&server) }).await.unwrap().id;
    assert!(again == id && other != id);
}

#[tokio::test]
async fn a_mail_may_have_html_beside_its_text() {
    let server = Smtpd::start(&[]).await;
    sender().send(Mail { html: Some("<b>Hallo</b>".to_owned()), ..mail(&server) }).await.unwrap();
    let text = server.lines().join("\n");
    assert!(text.contains("multipart/alternative") && text.contains("text/plain") && text.contains("<b>Hallo</b>"), "{text}");
}

/// The header of a mail as the server read it, line by line, and the commands before it.
fn lines_of(server: &Smtpd) -> (Vec<String>, Vec<String>) {
    let lines = server.lines();
    let data = lines.iter().position(|line| line == "DATA").unwrap();
    let header = lines[data + 1..].iter().take_while(|line| !line.is_empty()).cloned().collect();
    (header, lines[..data].to_vec())
}

fn list(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

#[tokio::test]
async fn every_recipient_gets_the_mail_and_bcc_is_in_no_header() {
    let server = Smtpd::start(&[]).await;
    let head = MailHead {
        to: list(&["ana@example.org", "\"Miller, Bo\" <bo@example.org>"]),
        cc: list(&["Çem <cem@example.org>", "ana@example.org"]),
        bcc: list(&["archive@example.org"]),
        reply_to: list(&["help@example.com"]),
        in_reply_to: "<1@example.com>".to_owned(),
        references: list(&["<0@example.com>", "<1@example.com>"]),
        headers: [
            ("List-Unsubscribe", "<https://example.com/u/1>"),
            ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
            ("X-Ort", "Köln"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        subject: "Report".to_owned(),
    };
    let receipt = sender().send(Mail { head, ..mail(&server) }).await.unwrap();
    let accepted = ["ana@example.org", "\"Miller, Bo\" <bo@example.org>", "Çem <cem@example.org>", "archive@example.org"];
    assert_eq!(receipt.accepted, accepted);
    let (header, commands) = lines_of(&server);
    let told: Vec<&str> = commands.iter().filter_map(|line| line.strip_prefix("RCPT TO:")).collect();
    assert_eq!(told, ["<ana@example.org>", "<bo@example.org>", "<cem@example.org>", "<archive@example.org>"]);
    for line in [
        "To: ana@example.org, =?utf-8?b?TWlsbGVyLCBCbw==?= <bo@example.org>",
        "Reply-To: help@example.com",
        "In-Reply-To: <1@example.com>",
        "References: <0@example.com> <1@example.com>",
        "List-Unsubscribe: <https://example.com/u/1>",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
        "X-Ort: =?utf-8?b?S8O2bG4=?=",
        "Subject: Report",
        "Auto-Submitted: auto-generated",
    ] {
        assert!(header.iter().any(|own| own == line), "{line} in {header:#?}");
    }
    let cc = header.iter().find(|line| line.starts_with("Cc: ")).unwrap();
    assert!(cc.contains("<cem@example.org>") && cc.ends_with("ana@example.org"), "{cc}");
    assert!(!header.iter().any(|line| line.to_lowercase().contains("bcc") || line.contains("archive@")), "{header:#?}");
}

#[tokio::test]
async fn the_author_says_whether_programs_sent_it() {
    for (value, expected) in [("no", Some("Auto-Submitted: no")), ("", None)] {
        let server = Smtpd::start(&[]).await;
        let head = MailHead { headers: vec![("auto-submitted".to_owned(), value.to_owned())], ..to("ana@example.org") };
        sender().send(Mail { head, ..mail(&server) }).await.unwrap();
        let (header, _) = lines_of(&server);
        let own: Vec<&String> = header.iter().filter(|line| line.to_lowercase().starts_with("auto-submitted")).collect();
        assert_eq!(own.len(), usize::from(expected.is_some()), "{own:?}");
        assert!(expected.is_none_or(|expected| own[0].eq_ignore_ascii_case(expected)));
    }
}

#[tokio::test]
async fn an_answer_names_the_message_that_it_answers_in_its_references_too() {
    let server = Smtpd::start(&[]).await;
    let head = MailHead { in_reply_to: "<1@example.com>".to_owned(), ..to("ana@example.org") };
    sender().send(Mail { head, ..mail(&server) }).await.unwrap();
    assert!(lines_of(&server).0.contains(&"References: <1@example.com>".to_owned()));
}

#[tokio::test]
async fn a_recipient_that_the_server_rejects_is_told_and_the_others_get_the_mail() {
    let three = || MailHead { cc: list(&["Eve <eve@example.org>"]), bcc: list(&["bo@example.org"]), ..to("ana@example.org") };
    for answer in ["550 nobody here", "450 later"] {
        let server = Smtpd::start(Box::leak(Box::new([("RCPT TO:<eve", answer)]))).await;
        let receipt = sender().send(Mail { head: three(), ..mail(&server) }).await.unwrap();
        assert_eq!(receipt.accepted, ["ana@example.org", "bo@example.org"]);
        let [one] = receipt.rejected.as_slice() else { panic!("{receipt:?}") };
        assert!(one.recipient == "Eve <eve@example.org>" && one.reason.contains(answer.split_at(4).1), "{one:?}");
        assert!(server.lines().contains(&".".to_owned()));
    }
    for (answers, expected) in [
        (&[("RCPT", "550 nobody here")][..], FailureKind::BadRequest),
        (&[("RCPT TO:<eve", "450 later"), ("RCPT", "550 nobody here")], FailureKind::ServerError),
        (&[("RCPT TO:<eve", "421 closing")], FailureKind::ServerError),
        (&[("RCPT TO:<eve", "close")], FailureKind::BadResponse),
    ] {
        let server = Smtpd::start(answers).await;
        let failure = sender().send(Mail { head: three(), ..mail(&server) }).await.unwrap_err();
        assert_eq!(failure.kind, expected, "{}", failure.message);
        assert!(!server.lines().contains(&"DATA".to_owned()), "nothing is sent then");
        assert!(!failure.message.contains("all recipients") || failure.message.contains("Eve <eve@example.org>: "), "{}", failure.message);
    }
}

#[tokio::test]
async fn no_line_is_longer_than_servers_accept() {
    let server = Smtpd::start(&[]).await;
    let long = "a".repeat(1_386);
    let head = MailHead { subject: long.clone(), headers: vec![("X-Topic".to_owned(), long.clone())], ..to("ana@example.org") };
    sender().send(Mail { head, text: long.clone(), ..mail(&server) }).await.unwrap();
    assert!(server.lines().iter().all(|line| line.len() <= 998));
    let url = format!("<https://example.com/{long}>");
    for head in [
        MailHead { headers: vec![("List-Unsubscribe".to_owned(), url)], ..to("ana@example.org") },
        to(&format!("{long} <ana@example.org>")),
    ] {
        let outcome = sender().send(Mail { head, ..mail(&server) }).await;
        assert!(outcome.is_err_and(|failure| failure.kind == FailureKind::BadRequest && failure.message.contains("more than 998 bytes")));
    }
}

#[tokio::test]
async fn line_breaks_in_subject_and_addresses_are_refused_before_anything_is_sent() {
    let server = Smtpd::start(&[]).await;
    for bad in ["x\r\nBcc: eve@example.org", "x\ny", "x\ry", "x\0y", "x\u{85}y"] {
        let (one, ana) = (vec![format!("ana@example.org{bad}")], to("ana@example.org"));
        for head in [
            MailHead { subject: bad.to_owned(), ..ana.clone() },
            MailHead { to: one.clone(), ..ana.clone() },
            MailHead { cc: one.clone(), ..ana.clone() },
            MailHead { bcc: one.clone(), ..ana.clone() },
            MailHead { reply_to: one, ..ana.clone() },
            MailHead { in_reply_to: bad.to_owned(), ..ana.clone() },
            MailHead { references: vec![bad.to_owned()], ..ana.clone() },
            MailHead { headers: vec![("X-Topic".to_owned(), bad.to_owned())], ..ana.clone() },
            MailHead { headers: vec![(format!("X-{bad}"), "x".to_owned())], ..ana },
        ] {
            let failure = sender().send(Mail { head, ..mail(&server) }).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::BadRequest);
        }
        for from in [format!("{bad}@example.org"), format!("{bad} <a@example.org>")] {
            assert_eq!(sender().send(Mail { from, ..mail(&server) }).await.unwrap_err().kind, FailureKind::BadRequest);
        }
    }
    for recipient in ["", "ana", "ana@example.org, eve@example.org", "<ana@example.org> RCPT"] {
        let failure = sender().send(Mail { head: to(recipient), ..mail(&server) }).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadRequest, "{recipient}");
    }
    for name in ["Bcc", "subject", "Content-Type", "X Y", ""] {
        let head = MailHead { headers: vec![(name.to_owned(), "x".to_owned())], ..to("ana@example.org") };
        assert_eq!(sender().send(Mail { head, ..mail(&server) }).await.unwrap_err().kind, FailureKind::BadRequest, "{name}");
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
        kind(&[("EHLO", "250 here")], |mail| Mail { head: MailHead { subject: "x".to_owned(), ..to("ünsal@example.org") }, ..mail }).await,
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
