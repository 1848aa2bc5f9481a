//! Other processes, and the kernel.

use std::process::{Command, Stdio};

use flow_adapters::sandbox::SandboxKind;

use super::{answers, in_each_with_python, python};

/// A process of the test's own, outside of the sandbox.
struct Victim(std::process::Child);

impl Victim {
    fn new() -> Victim {
        let mut command = Command::new("sleep");
        Victim(command.arg("300").env("CANARY", "canary-victim").stdin(Stdio::null()).spawn().unwrap())
    }

    /// Whether it sleeps, and its priority.
    fn state(&self) -> [String; 2] {
        loop {
            let line = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
            let fields: Vec<&str> = line.rsplit_once(") ").unwrap().1.split(' ').collect();
            // It may just have been started: then it runs, or waits for the disk.
            if line.contains("(sleep)") && !matches!(fields[0], "R" | "D") {
                return [fields[0].to_owned(), fields[16].to_owned()];
            }
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_outside_is_neither_read_nor_changed_nor_ended() {
    in_each_with_python(|home| {
        let mut victim = Victim::new();
        let before = victim.state();
        let script = "
outside = int(sys.argv[1])
def read(name):
    with open(f'/proc/{outside}/{name}', 'rb') as file:
        file.read(100)
def over_pidfd():
    signal.pidfd_send_signal(os.pidfd_open(outside), signal.SIGKILL)
def limited():
    import resource
    resource.prlimit(outside, resource.RLIMIT_CPU, (0, 0))
buffer = ctypes.create_string_buffer(64)
for name, answer in {
    'kill': tried(os.kill, outside, signal.SIGKILL),
    'stop': tried(os.kill, outside, signal.SIGSTOP),
    'group': tried(os.killpg, os.getpgid(outside) if tried(os.getpgid, outside) == 'ok' else outside, signal.SIGTERM),
    'tkill': call(200, outside, 9),
    'tgkill': call(234, outside, outside, 9),
    'queue': call(129, outside, 9, buffer),
    'pidfd': tried(over_pidfd),
    'attach': call(101, 16, outside, 0, 0),
    'seize': call(101, 0x4206, outside, 0, 0),
    'readv': call(310, outside, buffer, 1, buffer, 1, 0),
    'writev': call(311, outside, buffer, 1, buffer, 1, 0),
    'mem': tried(read, 'mem'),
    'environ': tried(read, 'environ'),
    'cmdline': tried(read, 'cmdline'),
    'maps': tried(read, 'maps'),
    'prlimit': tried(limited),
    'affinity': tried(os.sched_setaffinity, outside, {0}),
    'priority': tried(os.setpriority, os.PRIO_PROCESS, outside, 19),
    'user': tried(os.setpriority, os.PRIO_USER, 0, 19),
    'kcmp': call(312, outside, os.getpid(), 0, 0, 0),
}.items():
    print(name, answer)
# Its own memory is its own business.
with open('/proc/self/mem', 'rb') as own:
    own.seek(id(buffer))
    print('own', 'ok' if len(own.read(8)) == 8 else 'short')
child = os.fork()
if child == 0:
    time.sleep(60)
os.kill(child, signal.SIGKILL)
print('child', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";
        let out = home.printed(python(script, &[&victim.0.id().to_string()]));
        let answers = answers(&out);
        assert_eq!(answers.len(), 22, "{out}");
        for (name, answer) in &answers {
            match *name {
                "own" => assert_eq!(*answer, "ok"),
                "child" => assert_eq!(*answer, "-9"),
                // In a space of processes of its own, it has no other user's processes.
                "user" if home.kind == SandboxKind::Bubblewrap => {}
                _ => assert_ne!(*answer, "ok", "{name}"),
            }
        }
        assert_eq!((victim.0.try_wait().unwrap(), victim.state()), (None, before));
    });
}

#[test]
fn the_kernel_answers_only_what_a_program_needs() {
    in_each_with_python(|home| {
        let script = "
buffer = ctypes.create_string_buffer(256)
for name, answer in {
    'io_uring_setup': call(425, 1, buffer),
    'io_uring_enter': call(426, 0, 0, 0, 0, 0),
    'io_uring_register': call(427, 0, 0, 0, 0),
    'bpf': call(321, 0, buffer, 64),
    'perf_event_open': call(298, buffer, 0, -1, -1, 0),
    'userfaultfd': call(323, 0),
    'keyctl': call(250, 0, -3, 0),
    'add_key': call(248, b'user', b'name', b'x', 1, -3),
    'request_key': call(249, b'user', b'name', 0, -3),
    'unshare_user': call(272, 0x10000000),
    'unshare_mount': call(272, 0x20000),
    'setns': call(308, 0, 0),
    'clone_user': call(56, 0x10000000 | 17, 0, 0, 0, 0),
    'clone_pid': call(56, 0x20000000 | 17, 0, 0, 0, 0),
    'clone3': call(435, buffer, 88),
    'mount': call(165, b'none', b'/tmp', b'tmpfs', 0, 0),
    'umount': call(166, b'/tmp', 2),
    'pivot_root': call(155, b'/', b'/'),
    'chroot': call(161, b'/'),
    'open_tree': call(428, -100, b'/', 1),
    'fsopen': call(430, b'tmpfs', 0),
    'mount_setattr': call(442, -100, b'/', 0, buffer, 32),
    'open_by_handle_at': call(304, -100, buffer, 0),
    'kexec_load': call(246, 0, 0, 0, 0),
    'init_module': call(175, buffer, 0, b''),
    'delete_module': call(176, b'none', 0),
    'personality': call(135, 0x0040000),
    'quotactl': call(179, 0, 0, 0, 0),
    'reboot': call(169, 1, 2, 3, 0),
    'swapon': call(167, b'/none', 0),
    'acct': call(163, 0),
    'syslog': call(103, 3, buffer, 10),
    'sethostname': call(170, b'x', 1),
    'iopl': call(172, 3),
    'modify_ldt': call(154, 0, buffer, 16),
    'process_madvise': call(440, 0, buffer, 0, 0, 0),
    'pidfd_getfd': call(438, 0, 0, 0),
    'fanotify_init': call(300, 0, 0),
    'newer': call(467, 0, 0, 0, 0),
    'x32': call(39 | 0x40000000),
    'tiocsti': call(16, 0, 0x5412, b'x'),
    'tiocsti_high': call(16, 0, 0x100005412, b'x'),
    'tioclinux': call(16, 0, 0x541C, buffer),
    'terminal': tried(open, '/dev/tty'),
    'setuid': tried(os.setuid, 65534) if os.getuid() != 65534 else 'EPERM',
    'ptrace_me': call(101, 0, 0, 0, 0),
}.items():
    print(name, answer)
";
        let out = home.printed(python(script, &[]));
        let answers = answers(&out);
        assert_eq!(answers.len(), 46, "{out}");
        for (name, answer) in &answers {
            let expected: &[&str] = match *name {
                "clone3" | "newer" | "x32" => &["ENOSYS"],
                "terminal" => &["EACCES", "ENOENT", "ENXIO"],
                // In a space of users of its own, there is no such user.
                "setuid" => &["EPERM", "EINVAL"],
                _ => &["EPERM"],
            };
            assert!(expected.contains(answer), "{name}: {answer}");
        }
    });
}

#[test]
fn a_setuid_program_gives_no_rights() {
    in_each_with_python(|home| {
        let script = "
import subprocess
print(subprocess.run(['/bin/cat', '/proc/self/status'] if sys.argv[1] == 'bubblewrap' else ['/bin/sh', '-c', ':'], capture_output=True, text=True).stdout)
print(open('/proc/self/status').read())
for program in ['/bin/su', '/usr/bin/su', '/bin/mount', '/usr/bin/passwd']:
    if os.path.exists(program):
        answer = subprocess.run([program, '-h'] if 'mount' not in program else [program, '-t', 'tmpfs', 'x', '/tmp'], capture_output=True, stdin=subprocess.DEVNULL)
        print('ran', program, answer.returncode if 'mount' in program else '')
try:
    os.setuid(0)
    open('/etc/shadow').read()
    print('root')
except OSError:
    print('kept')
";
        let out = home.printed(python(script, &[home.kind.name()]));
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapInh:\t0000000000000000"]
        {
            assert!(out.contains(line), "{line}: {out}");
        }
        assert!(
            out.ends_with("kept\n") && !out.lines().any(|line| line.starts_with("ran") && line.contains("mount") && line.ends_with(" 0")),
            "{out}"
        );
    });
}

#[test]
fn what_flow_has_open_does_not_reach_the_program() {
    in_each_with_python(|home| {
        use std::os::fd::AsRawFd;
        let secret = std::fs::File::open(home.at("home/notes.txt")).unwrap();
        // As if another program had started flow with an open file.
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
        let out = home.printed(python(
            "print(sorted(int(n) for n in os.listdir('/proc/self/fd')))\nprint(tried(os.fstat, int(sys.argv[1])))",
            &[&secret.as_raw_fd().to_string()],
        ));
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::CLOEXEC).unwrap();
        assert_eq!(out, "[0, 1, 2, 3]\nEBADF\n");
    });
}
