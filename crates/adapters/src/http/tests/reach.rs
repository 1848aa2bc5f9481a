//! Where calls go, and over which connections.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[tokio::test]
async fn a_redirect_is_blocked_and_never_followed() {
    let target = Faultd::answering("200 OK", "text/plain", "stolen").await;
    for status in ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"] {
        let server = Faultd::start(vec![FaultAct::Send(answer(status, &[("location", &target.url())], ""))]).await;
        for request in [get(&server.url()), post(&server.url())] {
            let failure = send(request).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Blocked);
            assert!(failure.message.contains(&target.url()), "{}", failure.message);
        }
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn refused_addresses_are_not_called() {
    let server = Faultd::answering("200 OK", "text/plain", "").await;
    let port = server.address.port();
    for url in [
        format!("http://user:sk-canary@127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("ftp://127.0.0.1:{port}/"),
        format!("http://127.0.0.1\t:{port}/"),
    ] {
        let failure = send(get(&url)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Blocked, "{url}");
        assert!(!failure.message.contains("sk-canary"), "{}", failure.message);
    }
    assert_eq!(server.connections(), 0);
}

/// Names that lead where the test says, and how often they were asked for.
#[derive(Clone)]
struct Names(Vec<IpAddr>, Arc<AtomicUsize>);

impl HostLookup for Names {
    fn lookup(&self, _host: String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        let addresses = if self.1.fetch_add(1, Ordering::Relaxed) == 0 { self.0.clone() } else { vec![IpAddr::from([127, 0, 0, 9])] };
        Box::pin(async move { Ok(addresses) })
    }
}

#[tokio::test]
async fn a_name_that_leads_to_a_closed_place_is_blocked_whatever_else_it_leads_to() {
    let server = Faultd::answering("200 OK", "text/plain", "").await;
    for addresses in [
        vec![IpAddr::from([127, 0, 0, 1])],
        vec![IpAddr::from([8, 8, 8, 8]), IpAddr::from([127, 0, 0, 1])],
        vec![IpAddr::from([169, 254, 169, 254])],
        vec!["::ffff:10.0.0.1".parse().unwrap()],
        vec!["fd00::1".parse().unwrap()],
    ] {
        let names = Names(addresses, Arc::default());
        let http = Http::with_lookup(small(), Arc::new(StoppedClock), Arc::new(names));
        let url = format!("https://name.example:{}/", server.address.port());
        let failure = StepHttpClient::new(http).send(post(&url)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Blocked, "{}", failure.message);
    }
    assert_eq!(server.connections(), 0);
}

/// Accepts TLS with a certificate nobody vouches for.
pub(crate) fn self_signed_acceptor() -> tokio_rustls::TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned(), "name.example".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tokio_rustls::TlsAcceptor::from(Arc::new(config))
}

/// Serves TLS with such a certificate; counts the connections that came.
async fn self_signed() -> (u16, Arc<AtomicUsize>) {
    let acceptor = self_signed_acceptor();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let came = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&came);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let _ = acceptor.accept(stream).await;
        }
    });
    (port, came)
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_blocked() {
    let (port, came) = self_signed().await;
    let failure = send(post(&format!("https://127.0.0.1:{port}/"))).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Blocked, "{}", failure.message);
    assert!(failure.message.contains("certificate"), "{}", failure.message);
    assert_eq!(came.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_connected_to() {
    let (port, came) = self_signed().await;
    let names = Names(vec![IpAddr::from([127, 0, 0, 1])], Arc::default());
    let settings = HttpSettings { private_hosts: vec!["name.example".to_owned()], ..small() };
    let http = Http::with_lookup(settings, Arc::new(StoppedClock), Arc::new(names.clone()));
    let failure = StepHttpClient::new(http).send(get(&format!("https://name.example:{port}/"))).await.unwrap_err();
    assert!(failure.message.contains("certificate"), "{}", failure.message);
    assert_eq!((names.1.load(Ordering::Relaxed), came.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn a_private_host_that_leads_to_the_internet_is_not_called_without_encryption() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let call = |addresses: Vec<IpAddr>| async move {
        let settings = HttpSettings { private_hosts: vec!["llm.office.example".to_owned()], ..small() };
        let http = Http::with_lookup(settings, Arc::new(StoppedClock), Arc::new(Names(addresses, Arc::default())));
        StepHttpClient::new(http).send(get(&format!("http://llm.office.example:{port}/"))).await.unwrap_err()
    };
    let public = IpAddr::from([8, 8, 8, 8]);
    for addresses in [vec![public], vec![IpAddr::from([127, 0, 0, 1]), public]] {
        let failure = call(addresses).await;
        assert_eq!(failure.kind, FailureKind::Blocked, "{}", failure.message);
        assert!(failure.message.contains("https://"), "{}", failure.message);
    }
    let failure = call(vec![IpAddr::from([127, 0, 0, 1])]).await;
    assert_eq!(failure.kind, FailureKind::Connection, "nobody listens there: {}", failure.message);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Faultd::answering("200 OK", "text/plain", "x").await;
    let client = StepHttpClient::new(Http::new(small(), Arc::new(StoppedClock)));
    for _ in 0..5 {
        client.send(get(&server.url())).await.unwrap();
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 5));
}

#[test]
fn proxy_variables_of_the_environment_are_not_used() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "http::tests::reach::connections_are_used_again"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        test.env(name, format!("http://{nobody}"));
    }
    let output = test.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let mut server = Faultd::start(vec![FaultAct::Stall]).await;
    let client = StepHttpClient::new(Http::new(HttpSettings::default(), Arc::new(StoppedClock)));
    let mut call = client.send(HttpRequest { timeout: Duration::from_secs(60), ..get(&server.url()) });
    while server.requests().is_empty() {
        let _ = tokio::time::timeout(Duration::from_millis(5), &mut call).await;
    }
    drop(call);
    server.gone().await;
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Speaks HTTP/2 as far as the test needs: settings, then frames, the last of them for ever if `is_flood`.
async fn http2(frames: Vec<Vec<u8>>, is_flood: bool) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (mut from, mut to) = stream.into_split();
        let mut begun = [0; 200];
        let _ = from.read(&mut begun).await;
        tokio::spawn(async move { while from.read(&mut begun).await.is_ok_and(|read| read > 0) {} });
        to.write_all(&frame(4, 0, 0, &[])).await.unwrap();
        to.write_all(&frame(4, 1, 0, &[])).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        for frame in &frames {
            let _ = to.write_all(frame).await;
        }
        let last = frames.last().unwrap().repeat(100);
        while is_flood && to.write_all(&last).await.is_ok() {}
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn goaway_is_a_lost_connection_and_a_flood_of_empty_frames_ends_at_the_cap() {
    let settings = || HttpSettings { is_http2: true, max_body: 64 << 10, ..HttpSettings::default() };
    let goaway = frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0]);
    let url = http2(vec![goaway], false).await;
    assert_eq!(send_with(settings(), get(&url)).await.unwrap_err().kind, FailureKind::Connection);

    let headers = frame(1, 4, 1, &[0x88]);
    let url = http2(vec![headers, frame(0, 0, 1, &[])], true).await;
    let failure = send_with(settings(), get(&url)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge, "{}", failure.message);
}
