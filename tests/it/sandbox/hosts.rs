//! A program that may reach hosts of a list reaches those, and no others, by whatever way it tries.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use flow::port::{ProgramCall, ProgramEnd};
use flow_adapters::sandbox::SandboxKind;
use flow_base::model::{FailureKind, ProgramNetwork};

use super::{answers, in_each, in_each_with_python, python, shell};

/// A service on this machine: it answers each request with `answer`, and counts the connections.
fn service(answer: Arc<Vec<u8>>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            counted.fetch_add(1, Ordering::SeqCst);
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let (mut got, mut piece) = (vec![], [0; 4_096]);
                while !got.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut piece) {
                        Ok(1..) => got.extend_from_slice(&piece),
                        Ok(0) | Err(_) => return,
                    }
                }
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer));
            });
        }
    });
    (address, count)
}

fn of_hosts(call: ProgramCall, hosts: &[String]) -> ProgramCall {
    ProgramCall { network: ProgramNetwork::Hosts(hosts.to_vec()), ..call }
}

const TRIES: &str = "
import base64, urllib.error, urllib.parse, urllib.request
listed, other, udp = sys.argv[1], sys.argv[2], int(sys.argv[3])
port, outside = int(listed.split(':')[1]), int(other.split(':')[1])
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
by_proxy = urllib.request.build_opener()
def get(opener, address):
    try:
        return opener.open('http://' + address + '/', timeout=10).read().decode()
    except urllib.error.HTTPError as e:
        return str(e.code)
    except urllib.error.URLError as e:
        return 'shut' if isinstance(e.reason, OSError) and e.reason.errno in (errno.EACCES, errno.ECONNREFUSED, errno.EPERM, errno.ENETUNREACH) else str(e.reason)
def connect(target, token=None):
    proxy = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])
    with socket.create_connection((proxy.hostname, proxy.port), 10) as s:
        auth = base64.b64encode((token or proxy.username + ':' + proxy.password).encode()).decode()
        s.sendall(('CONNECT %s HTTP/1.1\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\n' % (target, auth)).encode())
        return s.recv(100).decode().split(' ')[1]
def reached(family, kind, address, flags=0):
    s = socket.socket(family, kind)
    s.settimeout(None if flags else 3)
    try:
        if flags or kind == socket.SOCK_DGRAM:
            s.sendto(b'canary', flags, address)
        else:
            s.connect(address)
    finally:
        s.close()
def shut(what, *arguments):
    answer = tried(what, *arguments)
    return 'shut' if answer in ('EPERM', 'EACCES', 'ECONNREFUSED', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL') else answer
print('proxied', get(by_proxy, listed))
print('direct', get(direct, listed))
print('named', get(by_proxy, 'localhost:%d' % port))
print('other', get(by_proxy, other))
print('other_direct', get(direct, other))
print('tunnel', connect(listed))
print('tunnel_other', connect(other))
print('metadata', connect('169.254.169.254:80'))
print('token', connect(listed, 'flow:guess'))
print('tcp', shut(reached, socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', outside)))
print('tcp6', shut(reached, socket.AF_INET6, socket.SOCK_STREAM, ('::ffff:127.0.0.1', outside)))
print('fast', shut(reached, socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', outside), 0x20000000))
print('away', shut(reached, socket.AF_INET, socket.SOCK_STREAM, ('1.1.1.1', 443)))
try:
    reached(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', udp))
except OSError:
    pass
print('unix', tried(socket.socket, socket.AF_UNIX))
print('packet', tried(socket.socket, socket.AF_PACKET, socket.SOCK_RAW))
print('vsock', call(41, 40, 1, 0))
print('multi', 'shut' if call(41, 2, 1, 262) != 'ok' or not os.path.exists('/proc/sys/net/mptcp') else 'open')
print('node', os.environ['NODE_USE_ENV_PROXY'], repr(os.environ['NO_PROXY']))
";

#[test]
fn a_program_reaches_the_hosts_of_its_list_and_nothing_else() {
    in_each_with_python(|home| {
        let ((listed, hits), (other, others)) = (service(Arc::new(b"hello".to_vec())), service(Arc::default()));
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let call = python(TRIES, &[&listed.to_string(), &other.to_string(), &udp.local_addr().unwrap().port().to_string()]);
        let reply = home.run(of_hosts(call, &[listed.to_string()])).unwrap();
        let (out, told) = (String::from_utf8(reply.stdout).unwrap(), String::from_utf8_lossy(&reply.stderr).into_owned());
        assert_eq!((reply.end, reply.sandbox.as_deref()), (ProgramEnd::Exited(0), Some(home.kind.name())), "{out}{told}");
        let expected = [
            ("proxied", "hello"),
            ("direct", "hello"),
            ("named", "403"),
            ("other", "403"),
            ("other_direct", "shut"),
            ("tunnel", "200"),
            ("tunnel_other", "403"),
            ("metadata", "403"),
            ("token", "407"),
            ("tcp", "shut"),
            ("tcp6", "shut"),
            ("fast", "shut"),
            ("away", "shut"),
            ("unix", "EPERM"),
            ("packet", "EPERM"),
            ("vsock", "EPERM"),
            ("multi", if home.kind == SandboxKind::Landlock { "shut" } else { "open" }),
            ("node", "1 ''"),
        ];
        let found = answers(&out);
        let is = |name: &str, value: &str| found.contains(&(name, value)) || name == "multi" && home.kind == SandboxKind::Bubblewrap;
        assert!(found.len() == expected.len() && expected.iter().all(|(name, value)| is(name, value)), "{:?} {out}", home.kind);
        let refused: Vec<&str> = reply.refused.iter().map(|one| one.host.as_str()).collect();
        assert_eq!(refused, [format!("localhost:{}", listed.port()), other.to_string(), "169.254.169.254:80".to_owned()]);
        assert_eq!((hits.load(Ordering::SeqCst), others.load(Ordering::SeqCst)), (3, 0));
        assert!(udp.recv(&mut [0; 16]).is_err(), "{:?}: a packet got out", home.kind);
    });
}

#[test]
fn a_program_cannot_use_the_way_of_another() {
    in_each_with_python(|home| {
        let (listed, hits) = service(Arc::new(b"hello".to_vec()));
        // The first waits until the second has tried the port of its proxy.
        let folder = home.at("project");
        let first = "printf %s \"$HTTPS_PROXY\" > proxy; while [ ! -e done ]; do sleep 0.05; done";
        let second = "
import urllib.parse
while True:
    try:
        proxy = urllib.parse.urlsplit(open('proxy').read())
        if proxy.port:
            break
    except (FileNotFoundError, ValueError):
        pass
    time.sleep(0.05)
own = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])
try:
    with socket.create_connection((proxy.hostname, proxy.port), 5) as s:
        s.sendall(('CONNECT %s HTTP/1.1\\r\\n\\r\\n' % sys.argv[1]).encode())
        print('way', 'own' if proxy.port == own.port else 'other', s.recv(100).decode().split(' ')[1])
except OSError as e:
    print('way shut', errno.errorcode[e.errno])
open('done', 'w').close()
print('token', proxy.password != own.password)
";
        let place = |call: ProgramCall| ProgramCall { folder: Some(folder.clone()), writes: vec![folder.join("shared")], ..call };
        let first = shell(&format!("cd shared; {first}"));
        let second = python(&format!("os.chdir('shared')\n{second}"), &[&listed.to_string()]);
        let told = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| home.run(place(of_hosts(first, &[listed.to_string()]))));
            let told = home.printed(place(of_hosts(second, &["unused.example".to_owned()])));
            assert_eq!(waiting.join().unwrap().unwrap().end, ProgramEnd::Exited(0));
            told
        });
        for name in ["proxy", "done"] {
            std::fs::remove_file(folder.join("shared").join(name)).unwrap();
        }
        let expected = match home.kind {
            // Both have the same port, in networks of their own.
            SandboxKind::Bubblewrap => "way own 407",
            SandboxKind::Landlock => "way shut EACCES",
        };
        assert!(told.contains(expected) && told.contains("token True"), "{told}");
        assert_eq!(hits.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn many_connections_and_a_large_answer_come_through_soon() {
    let large = Arc::new(vec![b'x'; 100 << 20]);
    in_each_with_python(|home| {
        let ((small, hits), (big, _)) = (service(Arc::new(b"hello".to_vec())), service(Arc::clone(&large)));
        let script = "
import concurrent.futures, urllib.request
def get(_):
    return urllib.request.urlopen('http://%s/' % sys.argv[1], timeout=30).read()
with concurrent.futures.ThreadPoolExecutor(40) as pool:
    print('small', sum(answer == b'hello' for answer in pool.map(get, range(200))))
size = 0
with urllib.request.urlopen('http://%s/' % sys.argv[2], timeout=30) as answer:
    while piece := answer.read(1 << 16):
        size += len(piece)
print('large', size)
";
        let call = python(script, &[&small.to_string(), &big.to_string()]);
        #[expect(clippy::disallowed_methods, reason = "a bound on time is measured")]
        let began = Instant::now();
        let out = home.printed(of_hosts(call, &[small.to_string(), big.to_string()]));
        assert_eq!(answers(&out), [("small", "200"), ("large", "104857600")]);
        assert_eq!(hits.load(Ordering::SeqCst), 200);
        println!("{}: {:?}", home.kind.name(), began.elapsed());
    });
}

#[test]
fn the_way_is_shut_when_the_program_has_ended() {
    in_each(|home| {
        let (listed, _) = service(Arc::default());
        let proxy = home.printed(of_hosts(shell("echo $HTTPS_PROXY"), &[listed.to_string()]));
        let (_, address) = proxy.trim().rsplit_once('@').unwrap();
        assert!(TcpStream::connect(address).is_err(), "{address} is open");
    });
}

#[test]
fn who_ends_a_program_is_told_what_it_was_kept_from() {
    in_each_with_python(|home| {
        let script = "
import urllib.request
try:
    urllib.request.urlopen('http://blocked.example/', timeout=10)
except OSError:
    pass
time.sleep(60)
";
        let call = ProgramCall { timeout: std::time::Duration::from_secs(3), ..python(script, &[]) };
        let failure = home.run(of_hosts(call, &["a.example".to_owned()])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.message.ends_with("it was kept from blocked.example:80 (network does not list it)"), "{}", failure.message);
    });
}
