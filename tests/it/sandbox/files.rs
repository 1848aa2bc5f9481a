//! What a program may read and write.

use std::path::Path;

use flow::port::{ProgramEnd, Secret};
use flow_adapters::sandbox::SandboxKind;
use flow_base::model::FailureKind;

use super::{answers, call, in_each, in_each_with_python, put, python, shell};

#[test]
fn a_program_runs_with_its_input_its_files_and_its_variables_alone() {
    in_each(|home| {
        let mut cat = shell("cat; cat a.csv; pwd; env | sort; echo told >&2; echo result > out/r.txt; exit 3");
        cat.input = b"input\n".to_vec();
        cat.files = vec![("a.csv".into(), b"1,2\n".to_vec())];
        cat.env = vec![("TOKEN".into(), Secret::new("t-1"))];
        cat.keeps_files = true;
        let reply = home.run(cat).unwrap();
        let out = String::from_utf8(reply.stdout).unwrap();
        assert_eq!((reply.end, reply.stderr.as_slice()), (ProgramEnd::Exited(3), b"told\n".as_slice()), "{out}");
        assert_eq!(reply.files, [("r.txt".to_owned(), b"result\n".to_vec())]);
        let lines: Vec<&str> = out.lines().collect();
        let work = lines[2];
        let names: Vec<&str> =
            lines[3..].iter().filter_map(|line| Some(line.split_once('=')?.0)).filter(|name| !["_", "OLDPWD"].contains(name)).collect();
        assert_eq!(
            (&lines[..2], names.as_slice()),
            (["input", "1,2"].as_slice(), ["HOME", "LANG", "PATH", "PWD", "TMPDIR", "TOKEN"].as_slice()),
            "{out}"
        );
        assert!(out.contains(&format!("HOME={work}\n")) && out.contains(&format!("TMPDIR={work}/tmp\n")), "{out}");
        assert!(!std::path::Path::new(work).exists());
        assert_eq!(home.printed(call(&["echo", "$HOME; *", ""])), "$HOME; * \n");
    });
}

#[test]
fn files_outside_cannot_be_read() {
    in_each_with_python(|home| {
        let secrets = [
            "home/.ssh/id_ed25519",
            "home/notes.txt",
            "user/settings.toml",
            "project/.flow/runs.db",
            "project/.env",
            "project/deep/.env.local",
            "project/other.txt",
        ];
        let mut paths: Vec<String> = secrets.iter().map(|name| home.at(name).display().to_string()).collect();
        paths.extend(
            ["/etc/passwd", "/etc/shadow", "/etc/group", "/proc/self/root/etc/passwd", "/proc/1/environ", "/root/.bashrc"]
                .map(str::to_owned),
        );
        let script = "for path in sys.argv[1:]:\n    try:\n        print(path, open(path, 'rb').read(9))\n    except OSError as e:\n        print('-', e.errno)\n";
        let mut reader = python(script, &paths.iter().map(String::as_str).collect::<Vec<_>>());
        reader.folder = Some(home.project());
        let out = home.printed(reader);
        for (line, path) in out.lines().zip(&paths) {
            let is_masked = line.ends_with("b''");
            assert!(line.starts_with('-') || is_masked, "{path}: {line}");
        }
        let mut reader = shell("cat data.csv deep/a.txt; ls");
        reader.folder = Some(home.project());
        assert_eq!(home.printed(reader), "id\np1\nplain\ndata.csv\ndeep\nother.txt\n");
    });
}

#[test]
fn nothing_outside_is_changed() {
    in_each_with_python(|home| {
        let script = "
def write(path):
    with open(path, 'w') as file:
        file.write('changed')
project, outside = sys.argv[1:]
csv = project + '/data.csv'
for name, what in {
    'new': lambda: write(project + '/new'),
    'over': lambda: write(csv),
    'append': lambda: open(csv, 'a').close(),
    'truncate': lambda: os.truncate(csv, 0),
    'empty': lambda: os.close(os.open(csv, os.O_RDONLY | os.O_TRUNC)),
    'remove': lambda: os.remove(csv),
    'rename': lambda: os.rename(csv, project + '/other'),
    'take': lambda: os.rename(csv, os.environ['HOME'] + '/data.csv'),
    'folder': lambda: os.mkdir(project + '/new'),
    'link': lambda: os.link(csv, os.environ['HOME'] + '/linked'),
    'symlink': lambda: os.symlink('/etc/passwd', project + '/passwd'),
    'fifo': lambda: os.mkfifo(project + '/fifo'),
    'outside': lambda: write(outside),
    'beside': lambda: write(outside + '.new'),
    'usr': lambda: write('/usr/flow-was-here'),
    'etc': lambda: write('/etc/flow-was-here'),
    'var': lambda: write('/var/tmp/flow-was-here'),
    'run': lambda: write('/run/flow-was-here'),
    'root': lambda: write('/flow-was-here'),
    'device': lambda: os.mknod(os.environ['HOME'] + '/memory', 0o600 | 0o020000, os.makedev(1, 1)),
}.items():
    print(name, tried(what))
# These need not fail, but must change nothing.
tried(write, '/tmp/flow-was-here')
tried(write, '/dev/shm/flow-was-here')
tried(os.chmod, csv, 0o777)
tried(os.utime, csv, (1, 1))
tried(os.chown, csv, 65534, 65534)
tried(os.setxattr, csv, 'user.flow', b'1')
fd = os.open(csv, os.O_RDONLY)
tried(os.fchmod, fd, 0o777)
tried(os.utime, fd, (1, 1))
";
        let (csv, outside) = (home.at("project/data.csv"), home.at("home/notes.txt"));
        let before = std::fs::metadata(&csv).unwrap();
        let mut writer = python(script, &[&home.project().display().to_string(), &outside.display().to_string()]);
        writer.folder = Some(home.project());
        let out = home.printed(writer);
        assert_eq!(answers(&out).len(), 20, "{out}");
        for (name, answer) in answers(&out) {
            assert_ne!(answer, "ok", "{name}");
        }
        for place in ["/usr", "/etc", "/var/tmp", "/run", "", "/tmp", "/dev/shm"] {
            assert!(!Path::new(place).join("flow-was-here").exists(), "{place}");
        }
        use std::os::unix::fs::MetadataExt;
        let after = std::fs::metadata(&csv).unwrap();
        let about = |what: &std::fs::Metadata| (what.mode(), what.mtime(), what.uid(), what.nlink(), what.size());
        assert_eq!(about(&before), about(&after));
        assert_eq!(std::fs::read_to_string(outside).unwrap(), "canary-home");
        assert_eq!(std::fs::read_dir(home.project()).unwrap().count(), 5);
    });
}

#[test]
fn what_is_named_can_be_read_and_changed_and_no_more() {
    in_each(|home| {
        let shared = home.at("shared");
        put(&shared.join("in/a.txt"), "a");
        put(&shared.join("out/b.txt"), "b");
        put(&shared.join("secret.txt"), "canary-shared");
        std::os::unix::fs::symlink(shared.join("in"), shared.join("named")).unwrap();
        let mut call = shell(
            "cat \"$1/in/a.txt\" \"$1/named/a.txt\"; echo new > \"$1/out/c.txt\"; rm \"$1/out/b.txt\"; ! cat \"$1/secret.txt\" 2> /dev/null; ! echo x > \"$1/in/a.txt\"",
        );
        call.command.extend(["sh".into(), shared.display().to_string()]);
        call.reads = vec![shared.join("named")];
        call.writes = vec![shared.join("out")];
        if home.kind == SandboxKind::Bubblewrap {
            // A link above a place is no way to it; its own place is.
            call.reads.push(shared.join("in"));
        }
        assert_eq!(home.printed(call), "aa");
        assert_eq!(
            (std::fs::read_to_string(shared.join("out/c.txt")).unwrap().as_str(), shared.join("out/b.txt").exists()),
            ("new\n", false)
        );
        assert_eq!(std::fs::read_to_string(shared.join("in/a.txt")).unwrap(), "a");
        std::fs::remove_dir_all(shared).unwrap();
    });
}

#[test]
fn a_folder_that_holds_files_of_flow_cannot_be_given_to_be_changed() {
    in_each(|home| {
        for (name, file, content) in [
            ("w/git", ".git/config", ""),
            ("w/settings", "sub/flow.toml", ""),
            ("w/pipeline", "a/b/p.yaml", "flow: 1\nname: x\n"),
            ("w/runs", "sub/.flow/runs.db", ""),
            ("w/secrets", ".env", ""),
        ] {
            put(&home.at(name).join(file), content);
            let mut call = shell("echo started > started");
            call.writes = vec![home.at(name)];
            call.folder = Some(home.at(name));
            let failure = home.run(call).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Denied, "{name}");
            assert!(failure.message.contains("name a folder below it"), "{}", failure.message);
            assert!(!home.at(name).join("started").exists());
        }
        for folder in [home.project(), home.at("project/.flow"), home.at("user"), home.at(""), "/".into(), "/proc".into(), "/sys/fs".into()]
        {
            let mut call = shell(":");
            call.writes = vec![folder.clone()];
            assert_eq!(home.run(call).unwrap_err().kind, FailureKind::Denied, "{}", folder.display());
        }
        for folder in [home.at("project/.flow"), home.at("user/settings.toml"), "/".into(), "/proc".into()] {
            let mut call = shell(":");
            call.reads = vec![folder.clone()];
            assert_eq!(home.run(call).unwrap_err().kind, FailureKind::Denied, "{}", folder.display());
        }
        put(&home.at("w/fine/data.yaml"), "rows: []\n");
        let mut call = shell("echo 1 > \"$1/new.txt\"");
        call.command.extend(["sh".into(), home.at("w/fine").display().to_string()]);
        call.writes = vec![home.at("w/fine")];
        home.printed(call);
        std::fs::remove_dir_all(home.at("w")).unwrap();
    });
}

#[test]
fn links_that_a_program_leaves_lead_to_nothing() {
    in_each_with_python(|home| {
        let mut call = python(
            "os.chdir('out')\nfor n in range(200):\n    os.symlink('/etc/passwd', f'l{n}')\nos.symlink('l1', 'chain')\nos.symlink('/proc/self/root/etc/passwd', 'root')\n\
             open('fine', 'w').write('fine')\nos.mkdir('folder')\nos.symlink('/etc', 'folder/etc')\nos.mkfifo('pipe')\n",
            &[],
        );
        call.keeps_files = true;
        let reply = home.run(call).unwrap();
        assert_eq!((reply.end, reply.files), (ProgramEnd::Exited(0), vec![("fine".to_owned(), b"fine".to_vec())]));
        let mut call = shell("rmdir out && ln -s /etc out");
        call.keeps_files = true;
        assert_eq!(home.run(call).unwrap().files, []);
    });
}

#[test]
fn a_program_sees_no_scratch_folder_but_its_own() {
    in_each(|home| {
        let folder = tempfile::Builder::new().prefix("flow-").tempdir().unwrap();
        put(&folder.path().join("work/secret"), "canary-other");
        let mut call = shell("! cat \"$1/work/secret\" 2> /dev/null; ! ls \"$1\" 2> /dev/null");
        call.command.extend(["sh".into(), folder.path().display().to_string()]);
        assert_eq!(home.printed(call), "");
    });
}
