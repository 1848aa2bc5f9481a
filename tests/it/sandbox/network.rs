//! What a program may reach.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use flow_base::model::ProgramNetwork;

use super::{answers, in_each_with_python, python};

const SCRIPT: &str = "
port, udp, path, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
def tcp():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(5)
        s.connect(('127.0.0.1', port))
        s.recv(5)
def tcp6():
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
        s.settimeout(5)
        s.connect(('::ffff:127.0.0.1', port))
        s.recv(5)
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b'canary', ('127.0.0.1', udp))
def listen():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.bind(('127.0.0.1', 0))
        s.listen()
def unix(address):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(address)
def packet():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
def pair():
    a, b = socket.socketpair()
    a.sendall(b'x')
    b.recv(1)
for what in [tcp, tcp6, send, listen, packet, pair]:
    print(what.__name__, tried(what))
print('path', tried(unix, path))
print('abstract', tried(unix, '\\0' + name))
print('vsock', call(41, 40, 1, 0))
print('alg', call(41, 38, 5, 0))
print('netlink', call(41, 16, 3, 0))
print('ring', call(425, 1, 0))
";

#[test]
fn without_a_network_there_is_no_socket_but_a_pair() {
    in_each_with_python(|home| {
        for network in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
            udp.set_nonblocking(true).unwrap();
            let path = home.at("project/socket");
            let by_path = UnixListener::bind(&path).unwrap();
            let name = format!("flow-test-{}-{network}-{}", std::process::id(), home.kind.name());
            let by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
            let ports = [listener.local_addr().unwrap().port().to_string(), udp.local_addr().unwrap().port().to_string()];
            let accepted = listener.try_clone().unwrap();
            let hosts = std::thread::spawn(move || {
                let mut count = 0;
                while let Ok((mut stream, from)) = accepted.accept() {
                    if from.port() == 0 || stream.write_all(b"hello").is_err() {
                        break;
                    }
                    count += 1;
                    if count == if network { 3 } else { 1 } {
                        break;
                    }
                }
                count
            });
            let mut call = python(SCRIPT, &[&ports[0], &ports[1], &path.display().to_string(), &name]);
            call.network = if network { ProgramNetwork::All } else { ProgramNetwork::None };
            call.folder = Some(home.project());
            let out = home.printed(call);
            let answers = answers(&out);
            let ok: Vec<&str> = answers.iter().filter(|(_, answer)| *answer == "ok").map(|(name, _)| *name).collect();
            let expected: &[&str] = if network { &["tcp", "tcp6", "send", "listen", "pair", "netlink"] } else { &["pair"] };
            assert_eq!((answers.len(), ok.as_slice()), (12, expected), "{out}");
            // The last connection is the test's own, so the others have been counted.
            let own = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            assert_eq!(hosts.join().unwrap(), if network { 3 } else { 1 });
            drop(own);
            let mut heard = [0; 16];
            assert_eq!(udp.recv(&mut heard).is_ok(), network);
            for listener in [by_path, by_name] {
                listener.set_nonblocking(true).unwrap();
                assert!(listener.accept().is_err(), "somebody connected");
            }
            std::fs::remove_file(path).unwrap();
        }
    });
}
