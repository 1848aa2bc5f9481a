//! Reading and writing outside.

use flow::port::{ProgramEnd, Secret};

use super::{call, in_each, python, shell};

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
    in_each(|home| {
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
        let script = "import sys, os\nfor path in sys.argv[1:]:\n    try:\n        print(path, open(path, 'rb').read(9))\n    except OSError as e:\n        print('-', type(e).__name__)\n";
        let mut reader = python(script);
        reader.command.extend(paths.iter().cloned());
        reader.folder = Some(home.project());
        let out = home.printed(reader);
        for (line, path) in out.lines().zip(&paths) {
            let is_masked = line.ends_with("b''");
            let is_own_first_process = path == "/proc/1/environ" && !line.contains("canary");
            assert!(line.starts_with('-') || is_masked || is_own_first_process, "{path}: {line}");
        }
        let mut reader = shell("cat data.csv deep/a.txt; ls");
        reader.folder = Some(home.project());
        assert_eq!(home.printed(reader), "id\np1\nplain\ndata.csv\ndeep\nother.txt\n");
    });
}
