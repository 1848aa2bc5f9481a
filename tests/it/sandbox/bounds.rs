//! What a program may use.

use std::time::Duration;

use flow::port::{ProgramBounds, ProgramEnd};
use flow_base::model::FailureKind;

use super::{in_each, in_each_with_python, python, shell};

#[test]
fn a_program_that_forks_without_end_is_ended() {
    in_each_with_python(|home| {
        // Not quite without end, should the sandbox fail: 2^9 processes.
        let mut bomb = python("for _ in range(9):\n    tried(os.fork)\ntime.sleep(60)\n", &[]);
        bomb.bounds = ProgramBounds { processes: 24, ..bomb.bounds };
        let failure = home.run(bomb).unwrap_err();
        let message = "the program \"/usr/bin/python3\" started more than 24 processes and threads, and was ended";
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Limit, message));
        let mut threads = python(
            "import threading\nfor _ in range(200):\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(60)\n",
            &[],
        );
        threads.bounds = ProgramBounds { processes: 24, ..threads.bounds };
        match home.run(threads) {
            Err(failure) => assert_eq!(failure.kind, FailureKind::Limit),
            // Where the system counts the processes of a user, it refuses before anybody sees that there are too many.
            Ok(reply) => assert!(String::from_utf8_lossy(&reply.stderr).contains("can't start new thread"), "{reply:?}"),
        }
        let mut some = python("children = [os.fork() for _ in range(3)]\n", &[]);
        some.bounds = ProgramBounds { processes: 24, ..some.bounds };
        assert_eq!(home.run(some).unwrap().end, ProgramEnd::Exited(0));
    });
}

#[test]
fn memory_is_bounded_for_one_process_and_for_all_together() {
    in_each_with_python(|home| {
        let bounds = ProgramBounds { memory: 256 << 20, ..ProgramBounds::default() };
        let mut large = python("try:\n    bytearray(4 << 30)\nexcept MemoryError:\n    print('refused')\n", &[]);
        large.bounds = bounds;
        assert_eq!(home.printed(large), "refused\n");
        // At most 4 GB, if the sandbox should fail.
        let shared = "m = mmap.mmap(-1, 4 << 30)\nfor at in range(0, 4 << 30, 4096):\n    m[at] = 1\n";
        let together =
            "held = bytearray(1)\nfor _ in range(4):\n    os.fork()\nheld = bytearray(os.urandom(1 << 20)) * 100\ntime.sleep(60)\n";
        for script in [shared, together] {
            let mut large = python(script, &[]);
            large.bounds = bounds;
            let failure = home.run(large).unwrap_err();
            let message = "the program \"/usr/bin/python3\" used more than 256 MiB of memory, and was ended";
            assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Limit, message), "{script}");
        }
        // What is shared after a fork is counted once.
        let mut copied = python("held = bytearray(os.urandom(1 << 20)) * 100\nfor _ in range(2):\n    os.fork()\ntime.sleep(0.5)\n", &[]);
        copied.bounds = bounds;
        assert_eq!(home.run(copied).unwrap().end, ProgramEnd::Exited(0));
    });
}

#[test]
fn one_file_and_all_files_together_are_bounded() {
    in_each_with_python(|home| {
        let bounds = ProgramBounds { file_size: 8 << 20, disk: 32 << 20, ..ProgramBounds::default() };
        let mut large = python(
            "def fill(path):\n    with open(path, 'wb') as file:\n        for _ in range(1024):\n            file.write(bytes(1 << 20))\nprint(tried(fill, 'large'), tried(os.truncate, 'large', 1 << 30))\n",
            &[],
        );
        large.bounds = bounds;
        assert_eq!(home.printed(large), "EFBIG EFBIG\n");
        let mut signaled = shell("head -c 1000000000 /dev/zero > large");
        signaled.bounds = bounds;
        // A shell says by 153 that its child was ended by signal 25.
        assert_eq!(home.run(signaled).unwrap().end, ProgramEnd::Exited(153));
        let mut signaled = shell("exec head -c 1000000000 /dev/zero > large");
        signaled.bounds = bounds;
        let failure = home.run(signaled).unwrap_err();
        assert_eq!(
            (failure.kind, failure.message.contains("wrote a file of more than 8 MiB")),
            (FailureKind::Limit, true),
            "{}",
            failure.message
        );
        let many = "for n in range(20_000):\n    open(f'f{n}', 'w').write('x')\ntime.sleep(60)\n";
        let empty = "for n in range(20_000):\n    open(f'f{n}', 'w').close()\ntime.sleep(60)\n";
        let deep = "for n in range(1_000):\n    os.mkdir('d')\n    os.chdir('d')\ntime.sleep(60)\n";
        let nameless = "held = []\nfor n in range(20):\n    file = open('f', 'wb')\n    os.remove('f')\n    file.write(bytes(4 << 20))\n    file.flush()\n    held.append(file)\ntime.sleep(60)\n";
        for script in [many, empty, deep, nameless] {
            let mut filled = python(script, &[]);
            filled.bounds = bounds;
            let failure = home.run(filled).unwrap_err();
            let message = "the program \"/usr/bin/python3\" wrote more than 32 MiB into its scratch folder, and was ended";
            assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Limit, message), "{script}");
        }
    });
}

#[test]
fn a_program_that_computes_without_end_is_ended_when_its_time_is_up() {
    in_each_with_python(|home| {
        let mut endless =
            python("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0:\n    os.setsid()\nwhile True: pass\n", &[]);
        endless.timeout = Duration::from_millis(700);
        let failure = home.run(endless).unwrap_err();
        let message = "the program \"/usr/bin/python3\" did not end within 700ms, and was ended";
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Timeout, message));
    });
}

#[test]
fn output_is_bounded_and_never_blocks() {
    in_each(|home| {
        let mut endless = shell("head -c 10000000000 /dev/zero");
        endless.bounds = ProgramBounds { output: 1 << 20, ..endless.bounds };
        let failure = home.run(endless).unwrap_err();
        let message = "the program \"/bin/sh\" wrote more than 1 MiB to its standard output, and was ended";
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::TooLarge, message));
        let reply = home.run(shell("head -c 100000000 /dev/zero | tr '\\0' '\\n' >&2; echo last >&2; echo said")).unwrap();
        assert_eq!((reply.end, reply.stdout.as_slice()), (ProgramEnd::Exited(0), b"said\n".as_slice()));
        assert!((8_000..=8 << 10).contains(&reply.stderr.len()), "{}", reply.stderr.len());
        assert!(reply.stderr.ends_with(b"last\n"));
        // It reads while it writes, and more than a pipe holds; another one reads nothing.
        let mut cat = shell("cat");
        cat.input = vec![b'x'; 4 << 20];
        assert_eq!(home.run(cat.clone()).unwrap().stdout.len(), 4 << 20);
        cat.command = vec!["/bin/echo".into(), "unread".into()];
        assert_eq!(home.printed(cat), "unread\n");
    });
}
