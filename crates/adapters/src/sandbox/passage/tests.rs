use std::net::IpAddr;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// Names of the test, and where they lead.
struct Names(Vec<(&'static str, IpAddr)>);

impl HostLookup for Names {
    fn lookup(&self, host: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let found = self.0.iter().filter(|(name, _)| *name == host).map(|(_, address)| *address).collect();
        Box::pin(async move { Ok(found) })
    }
}

/// A service on this machine that answers each request with what it got, and a proxy for a list that names it `PORT`.
struct Street {
    passage: Arc<Passage>,
    proxy: SocketAddr,
    service: SocketAddr,
}

impl Street {
    async fn of(hosts: &[&str]) -> Street {
        let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, proxy) = (service.local_addr().unwrap(), listener.local_addr().unwrap());
        let hosts = hosts.iter().map(|host| host.replace("PORT", &at.port().to_string())).collect();
        let mut passage = Passage::new(hosts, &[], "flow:token".to_owned());
        let private = [("inner.example", [192, 168, 0, 1]), ("rebound.example", [127, 0, 0, 1]), ("cloud.example", [169, 254, 169, 254])];
        passage.lookup = Arc::new(Names(private.map(|(name, address)| (name, IpAddr::from(address))).to_vec()));
        let passage = Arc::new(passage);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = service.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut got = vec![];
                    while !got.windows(4).any(|end| end == b"\r\n\r\n") && stream.read_buf(&mut got).await.unwrap_or(0) > 0 {}
                    let head = format!("HTTP/1.1 200 OK\r\nConnection: x-own, close\r\nX-Own: 1\r\nContent-Length: {}\r\n\r\n", got.len());
                    stream.write_all(&[head.as_bytes(), &got].concat()).await.unwrap();
                });
            }
        });
        let serving = Arc::clone(&passage);
        tokio::spawn(async move { serving.serve(&listener).await });
        Street { passage, proxy, service: at }
    }

    /// What comes back for bytes in which `PORT` is the service's, and `AUTH` shows the token.
    async fn asked(&self, request: &str) -> String {
        let auth = format!("Proxy-Authorization: Basic {}", BASE64_STANDARD.encode("flow:token"));
        let request = request.replace("PORT", &self.service.port().to_string()).replace("AUTH", &auth);
        let mut stream = TcpStream::connect(self.proxy).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut got = vec![];
        // A connection that is kept says no more.
        while let Ok(Ok(1..)) = timeout(Duration::from_millis(300), stream.read_buf(&mut got)).await {}
        String::from_utf8_lossy(&got).into_owned()
    }

    async fn status(&self, request: &str) -> String {
        self.asked(request).await.split(' ').nth(1).unwrap_or("closed").to_owned()
    }

    fn refused(&self) -> Vec<(String, String)> {
        self.passage.refused().into_iter().map(|one| (one.host, one.rule)).collect()
    }
}

#[tokio::test]
async fn hosts_of_the_list_are_reached_by_connect_and_by_plain_requests() {
    let street = Street::of(&["127.0.0.1:PORT"]).await;
    let plain = street.asked("POST http://127.0.0.1:PORT/a?b=1 HTTP/1.1\r\nHost: evil.example\r\nAUTH\r\nX-Hop: 1\r\nConnection: x-hop, host\r\nContent-Length: 2\r\n\r\nhi").await;
    assert!(plain.starts_with("HTTP/1.1 200") && plain.contains("POST /a?b=1 HTTP/1.1\r\n"), "{plain}");
    assert!(
        plain.to_lowercase().contains(&format!("host: 127.0.0.1:{}", street.service.port())) && !plain.contains("evil.example"),
        "{plain}"
    );
    assert!(!plain.to_lowercase().contains("x-hop") && !plain.to_lowercase().contains("proxy-authorization"), "{plain}");
    assert!(!plain.contains("X-Own"), "a header of one station goes no further back: {plain}");
    let tunnel = street.asked("CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: x\r\nAUTH\r\n\r\nGET /raw HTTP/1.1\r\n\r\n").await;
    assert!(tunnel.starts_with("HTTP/1.1 200 OK\r\n") && tunnel.contains("GET /raw HTTP/1.1"), "{tunnel}");
    assert_eq!(street.refused(), []);
}

#[tokio::test]
async fn nothing_else_is_reached_and_what_was_tried_is_known() {
    let street = Street::of(&["127.0.0.1:PORT", "inner.example:*", "rebound.example:*", "cloud.example:*", "*.wide.example"]).await;
    let unlisted = "network does not list it";
    for (target, rule) in [
        ("other.example:443", unlisted),
        ("127.0.0.1:1", unlisted),
        ("127.0.0.2:PORT", unlisted),
        ("localhost:PORT", unlisted),
        ("[::1]:PORT", unlisted),
        ("wide.example:443", unlisted),
        ("a.wide.example:8443", unlisted),
        ("evilwide.example:443", unlisted),
        ("a.wide.example.evil.example:443", unlisted),
        ("169.254.169.254:80", "the address is reserved (link-local, multicast or the like)"),
        ("cloud.example:80", "the address is reserved (link-local, multicast or the like)"),
        ("inner.example:443", "the address is in a private network; your own settings can allow it with private_hosts"),
        ("rebound.example:PORT", "the name resolves to this machine"),
        ("[::ffff:127.0.0.1]:PORT", "its host must be written plainly, as [::ffff:7f00:1]"),
        ("2130706433:PORT", "its host must be written plainly, as 127.0.0.1"),
        ("0x7f.1:PORT", "its host must be written plainly, as 127.0.0.1"),
        ("127.0.0.1.:PORT", "its host must be written plainly, as 127.0.0.1"),
        ("inner.example.:443", "its host must be written plainly, as inner.example"),
        ("127.0.0.1:0", "port 0 cannot be called"),
    ] {
        let street = Street { passage: Arc::clone(&street.passage), ..street };
        lock(&street.passage.refused).clear();
        let target = target.replace("PORT", &street.service.port().to_string());
        assert_eq!(street.status(&format!("CONNECT {target} HTTP/1.1\r\nAUTH\r\n\r\n")).await, "403", "{target}");
        assert_eq!(street.refused(), [(target, rule.to_owned())]);
    }
    // A name of the list that is not there is no refusal.
    lock(&street.passage.refused).clear();
    assert_eq!(street.status("CONNECT a.wide.example:443 HTTP/1.1\r\nAUTH\r\n\r\n").await, "502");
    assert_eq!(street.refused(), []);
}

#[tokio::test]
async fn requests_that_hide_what_they_mean_are_turned_away() {
    let street = Street::of(&["127.0.0.1:PORT"]).await;
    for (request, status) in [
        // Another program's token, none, and two.
        ("GET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n", "407"),
        ("CONNECT 127.0.0.1:PORT HTTP/1.1\r\nProxy-Authorization: Basic Zmxvdzp4\r\n\r\n", "407"),
        ("CONNECT 127.0.0.1:PORT HTTP/1.1\r\nAUTH\r\nProxy-Authorization: Basic x\r\n\r\n", "407"),
        // Whole addresses only.
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n", "400"),
        ("GET https://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n\r\n", "400"),
        ("GET ftp://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n\r\n", "400"),
        ("CONNECT 127.0.0.1 HTTP/1.1\r\nAUTH\r\n\r\n", "400"),
        ("CONNECT http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n\r\n", "400"),
        ("CONNECT 127.0.0.1:99999 HTTP/1.1\r\nAUTH\r\n\r\n", "400"),
        ("OPTIONS * HTTP/1.1\r\nAUTH\r\n\r\n", "400"),
        // User names.
        ("GET http://127.0.0.1:PORT@evil.example/ HTTP/1.1\r\nAUTH\r\n\r\n", "403"),
        ("GET http://evil.example@127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n\r\n", "403"),
        ("GET http://evil.example%23@127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n\r\n", "403"),
        // Two lengths, a header on two lines, a line end alone in a name, no HTTP.
        ("POST http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\nTransfer-Encoding: x\r\n\r\nab", "400"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n folded: 1\r\n\r\n", "400"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\nX : 1\r\n\r\n", "400"),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", "400"),
    ] {
        assert_eq!(street.status(request).await, status, "{request}");
    }
    let long = "x".repeat(70 << 10);
    let statuses = ["431", "closed", "414"];
    for request in [
        format!("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\nX: {long}\r\n\r\n"),
        format!("GET http://127.0.0.1:PORT/{long} HTTP/1.1\r\nAUTH\r\n\r\n"),
        format!("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\n{}\r\n", "X: 1\r\n".repeat(200)),
    ] {
        let status = street.status(&request).await;
        assert!(statuses.contains(&status.as_str()), "{status}");
    }
    // Both a length and chunks: what is sent on has one meaning.
    let both = street
        .asked(
            "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nAUTH\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        )
        .await;
    assert!(!both.contains("ontent-length: 99") && !both.contains("Content-Length: 99"), "{both}");
    let names: Vec<String> = street.refused().into_iter().map(|(host, _)| host).collect();
    assert!(names.iter().all(|name| name.contains('@')), "{names:?}");
}

#[tokio::test]
async fn what_is_kept_of_refusals_is_bounded_and_each_stands_there_once() {
    let street = Street::of(&[]).await;
    for number in 0..30 {
        for _ in 0..2 {
            let name = if number == 0 { "a".repeat(5_000) } else { format!("h{number}.example") };
            assert_eq!(street.status(&format!("CONNECT {name}:443 HTTP/1.1\r\nConnection: close\r\nAUTH\r\n\r\n")).await, "403");
        }
    }
    let refused = street.refused();
    assert_eq!(refused.len(), MOST_REFUSED);
    assert!(refused.iter().all(|(host, rule)| host.chars().count() <= LONGEST && rule.chars().count() <= LONGEST), "{refused:?}");
}

#[tokio::test]
async fn many_connections_at_once_and_a_large_body_pass() {
    let street = Street::of(&["127.0.0.1:PORT"]).await;
    let asked = (0..200).map(|_| street.status("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nConnection: close\r\nAUTH\r\n\r\n"));
    assert!(futures_util::future::join_all(asked).await.iter().all(|status| status == "200"));
    let (near, far) = (tokio::io::duplex(1 << 20), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let there = TcpStream::connect(far.local_addr().unwrap()).await.unwrap();
    let (mut far, _) = far.accept().await.unwrap();
    let (mut here, mut program) = near;
    let size = 100 << 20;
    let passed = tokio::join!(
        street.passage.tunnel(&mut here, there),
        async {
            let piece = vec![7; 1 << 20];
            for _ in 0..size / piece.len() {
                program.write_all(&piece).await.unwrap();
            }
            program.shutdown().await.unwrap();
            program.read_to_end(&mut vec![]).await.unwrap()
        },
        async {
            let got = tokio::io::copy(&mut far, &mut tokio::io::sink()).await.unwrap();
            far.write_all(b"thanks").await.unwrap();
            drop(far);
            got
        }
    );
    assert_eq!((passed.1, passed.2), (6, size as u64));
}
