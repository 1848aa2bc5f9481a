use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::started::Prints;

/// A project with files, by name and text.
struct Place(TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| place.write(name, text));
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn started(&self, command: &[&str], is_server: bool) -> Started {
        let words = command[1..].iter().map(|word| (*word).to_owned()).collect();
        let folder = self.0.path().to_path_buf();
        let make = if is_server { Started::of_server } else { Started::of_program };
        make(String::new(), command[0].to_owned(), words, folder.clone(), folder)
    }

    fn prints(&self, command: &[&str], is_server: bool) -> Prints {
        may_run(&self.started(command, is_server)).prints().unwrap()
    }

    /// Whether a change of this file, or the file itself if it is new, is asked about.
    fn asks(&self, command: &[&str], is_server: bool, file: &str) -> bool {
        let before = self.prints(command, is_server);
        self.write(file, "changed");
        self.prints(command, is_server) != before
    }
}

#[test]
fn a_file_behind_an_interpreter_is_code_whatever_it_is_called_and_wherever_the_interpreter_stands() {
    let names = ["prog", "prog.txt", "prog.csv", "prog.log", "prog.md", "lib/prog"];
    let launchers: [&[&str]; 8] = [
        &[],
        &["env"],
        &["timeout", "5"],
        &["timeout", "-k", "3", "5"],
        &["stdbuf", "-o0"],
        &["setsid", "-w"],
        &["nice", "-n", "5"],
        &["unknown", "--fast"],
    ];
    let programs: [&[&str]; 11] = [
        &["python3"],
        // A word that is the name of a program, too.
        &["python3", "-X", "test"],
        &["/usr/bin/python3", "-u"],
        &["sh"],
        &["bash", "-eu"],
        &["bash", "-e"],
        &["bash", "-o", "pipefail"],
        &["perl", "-w"],
        &["bc", "-q"],
        &["sh", "-c", "sh \"$1\"", "x"],
        &["python3", "-c", "import sys; exec(open(sys.argv[1]).read())"],
    ];
    let all = launchers.iter().flat_map(|launcher| programs.iter().map(move |program| (*launcher, *program)));
    for (at, (launcher, program)) in all.enumerate() {
        // Each with another name, and the simplest with all.
        let some = if at == 0 { &names[..] } else { &names[at % names.len()..][..1] };
        for (name, is_server) in some.iter().flat_map(|name| [(*name, true), (*name, false)]) {
            let command = [launcher, program, &[name], &["in.csv"]].concat();
            let place = Place::new(&[(name, "x"), ("in.csv", "x")]);
            assert!(place.asks(&command, is_server, name), "{command:?}");
            assert!(!place.asks(&command, is_server, "in.csv"), "{command:?}");
        }
    }
}

#[test]
fn a_file_from_anywhere_is_known_to_be_given_to_an_interpreter() {
    let elsewhere = Place::new(&[("x.txt", "x")]);
    let file = elsewhere.0.path().join("x.txt").display().to_string();
    let place = Place::new(&[]);
    for (command, is_run) in [
        (&["python3", &*file][..], true),
        (&["timeout", "5", "sh", &*file], true),
        (&["env", &*file], true),
        (&["timeout", "5", "sort", &*file], false),
        (&["timeout", "5", "unknown-program", "-s", &*file], true),
        (&["sort", "-r", &*file], false),
    ] {
        let started = place.started(command, false);
        let is_given = started.is_interpreted && started.scripts.contains(&file);
        assert_eq!(is_given, is_run, "{command:?}");
    }
}

#[test]
fn the_value_of_an_option_may_say_what_any_program_runs() {
    let ways: [(&[&str], &str); 11] = [
        (&["awk", "-f", "prog"], "prog"),
        (&["awk", "-f", "prog.txt", "in.csv"], "prog.txt"),
        (&["awk", "-f", "prog.csv", "in.csv"], "prog.csv"),
        (&["sed", "-n", "-f", "prog.txt", "in.csv"], "prog.txt"),
        (&["make", "-s", "-f", "rules"], "rules"),
        (&["make", "-s", "-f", "build.txt"], "build.txt"),
        (&["sqlite3", "-init", "q.txt", ":memory:", ".quit"], "q.txt"),
        (&["sqlite3", ":memory:", ".read q.txt"], "q.txt"),
        (&["xargs", "-a", "list", "sh", "-c"], "list"),
        (&["sh", "-c", "cd . && bash prog.log"], "prog.log"),
        (&["env", "awk", "-f", "prog"], "prog"),
    ];
    for (command, name) in ways {
        for is_server in [true, false] {
            let place = Place::new(&[(name, "x"), ("in.csv", "x")]);
            assert!(place.asks(command, is_server, name), "{command:?}");
        }
    }
}

#[test]
fn data_that_a_program_reads_is_not_asked_about() {
    for name in ["in.csv", "in.txt", "in", "in.json"] {
        let ways: [&[&str]; 19] = [
            &["sort", name],
            &["wc", "-l", name],
            &["grep", "-c", "x", name],
            &["timeout", "5", "sort", "-r", name],
            &["env", "LC_ALL=C", "/usr/bin/sort", name],
            &["python3", "tool.py", name],
            &["python3", "tool.py", "--in", name],
            &["env", "python3", "-u", "tool.py", "-v", name],
            &["python3", "-m", "json.tool", name],
            &["python3", "-c", "print(1)", name],
            &["perl", "-ne", "print if /a/", name],
            &["sh", "-c", "sort \"$1\"", "sh", name],
            &["sh", "-c", "wc -l \"$0\"", name],
            &["awk", "-F", ",", "{print $1}", name],
            &["sed", "-n", "1p", name],
            &["ruff", "check", "--output-format=json", "--", name],
            &["git", "log", "--oneline", "-20", "--", name],
            &["pandoc", name],
            &["jq", ".x", name],
        ];
        for command in ways {
            let place = Place::new(&[(name, "x"), ("tool.py", "x")]);
            assert!(!place.asks(command, false, name), "{command:?}");
        }
    }
}

#[test]
fn what_covered_code_names_by_a_literal_path_is_covered_in_any_language() {
    // The command, its file and text, and what that runs.
    let ways: [(&[&str], &str, &str, &str); 33] = [
        (&["python3", "s/a.py"], "s/a.py", "subprocess.run(['bin/tool.sh'])", "bin/tool.sh"),
        (&["python3", "s/a.py"], "s/a.py", "subprocess.run(['sh', 'bin/tool'])", "bin/tool"),
        (&["python3", "s/a.py"], "s/a.py", "subprocess.run(['sh', '-e', 'bin/tool.txt'])", "bin/tool.txt"),
        (&["python3", "s/a.py"], "s/a.py", "subprocess.run([sys.executable, 'o/tool.txt'])", "o/tool.txt"),
        (&["python3", "s/a.py"], "s/a.py", "runpy.run_path('lib/o.py')", "lib/o.py"),
        (&["python3", "s/a.py"], "s/a.py", "runpy.run_path('lib/o.txt')", "lib/o.txt"),
        (&["python3", "s/a.py"], "s/a.py", "sys.path.insert(0,'lib'); import zz", "lib/zz.py"),
        (&["python3", "s/a.py"], "s/a.py", "sys.path.insert(0,'lib'); import zz", "lib/zz/deep.py"),
        (&["python3", "s/a.py"], "s/a.py", "exec(open('lib/o.py').read())", "lib/o.py"),
        (&["python3", "s/a.py"], "s/a.py", "exec(open('lib/o').read())", "lib/o"),
        (&["python3", "s/a.py"], "s/a.py", "os.execvp('python3',['python3','lib/o.py'])", "lib/o.py"),
        (&["python3", "s/a.py"], "s/a.py", "os.system('sh my\\ lib/o'); f('my lib/o.py')", "my lib/o.py"),
        (&["python3", "s/a.py"], "s/a.py", "os.path.join(HERE, 'inner', name)", "s/inner/more.py"),
        (&["make"], "Makefile", "all:\n\t@sh tools/x.sh", "tools/x.sh"),
        (&["make"], "Makefile", "all:\n\t@sh tools/x", "tools/x"),
        (&["make"], "Makefile", "all:\n\t@python3 tools/a.py", "tools/a.py"),
        (&["make"], "Makefile", "all:\n\t$(MAKE) -C sub", "sub/Makefile"),
        (&["make"], "Makefile", "include lib/*.inc", "lib/a.inc"),
        (&["make"], "Makefile", "include lib/*.txt", "lib/a.txt"),
        (&["perl", "s/a.pl"], "s/a.pl", "use lib 'lib'; use X;", "lib/X.pm"),
        (&["sh", "a.sh"], "a.sh", "for f in lib/*.sh; do . ./$f; done", "lib/a.sh"),
        (&["sh", "a.sh"], "a.sh", "eval \"$(cat conf.env)\"", "conf.env"),
        (&["sh", "a.sh"], "a.sh", "cd lib && make", "lib/Makefile"),
        (&["sh", "a.sh"], "a.sh", "exec \"$HERE/lib/x.py\"", "lib/x.py"),
        (&["sh", "a.sh"], "a.sh", "python3 -m tools.a", "tools/a.py"),
        (&["sh", "a.sh"], "a.sh", "perl -Ilib -MX -e 1", "lib/X.pm"),
        (&["node", "s/a.js"], "s/a.js", "spawn('sh', ['bin/tool'])", "bin/tool"),
        (&["node", "s/a.js"], "s/a.js", "fork('./work')", "s/work.js"),
        (&["node", "s/a.js"], "s/a.js", "const lib = path.join('..', 'lib')", "lib/x.js"),
        (&["sh", "prog"], "prog", "sh lib/other", "lib/other"),
        (&["sh", "a.sh"], "a.sh", "bash < lib/other.txt", "lib/other.txt"),
        (&["sh", "a.sh"], "a.sh", "for f in lib/*/x.sh; do . $f; done", "lib/deep/x.sh"),
        (&["sh", "a.sh"], "a.sh", "for f in *.sh; do . $f; done", "b.sh"),
    ];
    for (command, file, text, inner) in ways {
        for is_server in [true, false] {
            let place = Place::new(&[(file, text), (inner, "x")]);
            assert!(place.asks(command, is_server, inner), "{command:?}, {text}, {inner}");
            // One more step: what a covered file beside the script names.
            if file.starts_with("s/") {
                let place = Place::new(&[(file, ""), (file.replace("a.", "b.").as_str(), text), (inner, "x")]);
                assert!(place.asks(command, is_server, inner), "{command:?}, beside: {text}, {inner}");
            }
        }
    }
}

#[test]
fn what_code_names_where_programs_may_write_is_data() {
    for text in ["open('out/gen.py')", "sys.path.insert(0, 'out')", "run(['sh', 'out/gen.py'])", "exec(open('out/gen.py').read())"] {
        let place = Place::new(&[("s/a.py", text), ("out/gen.py", "x")]);
        let written = vec![place.0.path().join("out")];
        let prints = || may_run(&Started { written: written.clone(), ..place.started(&["python3", "s/a.py"], false) }).prints().unwrap();
        let before = prints();
        place.write("out/gen.py", "changed");
        place.write("out/new.py", "new");
        assert_eq!(prints(), before, "{text}");
        assert!(place.asks(&["python3", "s/a.py"], false, "out/gen.py") || place.prints(&["python3", "s/a.py"], false) != before, "{text}");
    }
}

#[test]
fn data_that_covered_code_names_is_not_asked_about() {
    for (command, file, text, inner) in [
        (["python3", "s/a.py"], "s/a.py", "open('data/in.csv'); open('notes.txt')", "data/in.csv"),
        (["python3", "s/a.py"], "s/a.py", "open('data/in.csv'); open('notes.txt')", "notes.txt"),
        (["python3", "s/a.py"], "s/a.py", "env = json.load(open('data.json'))\nnode = read('data.json')", "data.json"),
        (["python3", "s/a.py"], "s/a.py", "DATA = 'data'", "data/new.txt"),
        (["python3", "s/a.py"], "s/a.py", "print('from data.txt')", "data.txt"),
        (["python3", "s/a.py"], "s/a.py", "data = other(docs)", "docs/conf.py"),
        (["sh", "a.sh"], "a.sh", "sort in.txt > out.txt; cat lib/notes.md", "in.txt"),
    ] {
        let place = Place::new(&[(file, text), (inner, "x")]);
        assert!(!place.asks(&command, false, inner), "{text}, {inner}");
    }
}

#[test]
fn what_decides_what_git_runs_is_asked_about() {
    let ways: [(&[&str], &str); 3] =
        [(&["git", "log"], ""), (&["sh", "a.sh"], "git status"), (&["python3", "a.sh"], "run(['git', 'log'])")];
    for (command, text) in ways {
        for name in [".git/config", ".git/hooks/post-checkout"] {
            let place = Place::new(&[(".git/HEAD", ""), ("a.sh", text)]);
            assert!(place.asks(command, false, name), "{command:?}, {name}");
        }
        let place = Place::new(&[(".git/HEAD", ""), (".git/config", "[core]\n\tfsmonitor = tools/x\n\thooksPath = hooks"), ("a.sh", text)]);
        place.write("tools/x.sh", "");
        assert!(place.asks(command, false, "hooks/pre-commit.sh"), "{command:?}");
        let place = Place::new(&[(".git/HEAD", ""), ("a.sh", text)]);
        assert!(!place.asks(command, false, ".git/index"), "{command:?}");
    }
    assert!(!Place::new(&[(".git/HEAD", "")]).asks(&["ls"], false, ".git/config"));
}

#[test]
fn compiled_modules_beside_what_a_script_starts_count_where_python_may_read_them() {
    let cache = "s/__pycache__/b.cpython-311.pyc";
    let ways: [(&[&str], &str, &str, bool); 9] = [
        (&["sh", "go.sh"], "go.sh", "env -u PYTHONPYCACHEPREFIX python3 s/a.py", true),
        (&["sh", "go.sh"], "go.sh", "unset PYTHONPYCACHEPREFIX\npython3 s/a.py", true),
        (&["sh", "go.sh"], "go.sh", "env -i python3 s/a.py", true),
        (&["python3", "go.py"], "go.py", "subprocess.run([sys.executable,'s/a.py'],env={'PATH':'/usr/bin'})", true),
        (&["make"], "Makefile", "all:\n\tpython3 -I -c 'import sys; sys.path.insert(0, \"s\"); import a'", true),
        (&["perl", "go.pl"], "go.pl", "%ENV=(PATH=>'/usr/bin'); system('python3 s/a.py')", true),
        (&["sh", "go.sh"], "go.sh", "python3 s/a.py", false),
        (&["python3", "go.py"], "go.py", "subprocess.run(['python3', 's/a.py'])", false),
        (&["python3", "s/a.py"], "go.py", "", false),
    ];
    for (command, file, text, asks) in ways {
        let place = Place::new(&[(file, text), ("s/a.py", "import b"), ("s/b.py", "")]);
        assert_eq!(place.asks(command, false, cache), asks, "{text}");
        assert!(place.asks(command, false, "s/b.py"), "what lies beside the script, {text}");
    }
}

#[test]
fn a_folder_of_data_that_is_too_large_does_not_stop_the_program_that_names_it() {
    let place = Place::new(&[("s/a.py", "open('data/' + name)")]);
    fs::create_dir(place.0.path().join("data")).unwrap();
    for at in 0..=MOST_NAMES {
        fs::File::create(place.0.path().join(format!("data/{at}"))).unwrap();
    }
    let prints = place.prints(&["python3", "s/a.py"], false);
    assert!(prints.keys().any(|path| path.ends_with(Path::new("data"))), "{prints:?}");
}
