//! Programs whose arguments say what runs: the one list of them.

use std::path::Path;

/// How a program takes what it runs from its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpreter {
    /// A shell: the first file is its script, and `-c` takes code.
    Shell,
    /// The first file is its script.
    Script,
    /// The first file, or the first word that is the name of a program, is what it starts.
    Starter,
    /// The first file is its script, and has code of a calculator.
    Calculator,
    /// The first plain argument is code.
    Code,
    /// Any plain argument is code or a command.
    Commands,
}

/// Without a version number at the end of the name.
const INTERPRETERS: [(Interpreter, &[&str]); 6] = [
    (Interpreter::Shell, &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"]),
    (
        Interpreter::Script,
        &[
            "bun", "bunx", "busybox", "cmd", "deno", "dotnet", "elixir", "escript", "expect", "gnuplot", "groovy", "guile", "java",
            "julia", "lua", "luajit", "node", "nodejs", "npx", "octave", "osascript", "perl", "php", "powershell", "pwsh", "pypy",
            "python", "racket", "rscript", "ruby", "tclsh", "ts-node", "tsx", "uv", "wish",
        ],
    ),
    (
        Interpreter::Starter,
        &[
            "chroot", "command", "doas", "env", "exec", "flock", "ionice", "nice", "nohup", "runuser", "setsid", "stdbuf", "sudo", "time",
            "timeout", "xargs",
        ],
    ),
    (Interpreter::Calculator, &["bc", "dc"]),
    (Interpreter::Code, &["awk", "ed", "gawk", "jshell", "mawk", "sed"]),
    (Interpreter::Commands, &["duckdb", "mariadb", "mysql", "psql", "sqlite", "ssh"]),
];

impl Interpreter {
    /// How this program takes what it runs; `None`: its arguments are data.
    pub fn parse(program: &str) -> Option<Interpreter> {
        let name = bare_name(program);
        Interpreter::all().find_map(|(interpreter, known)| (known == name).then_some(interpreter))
    }

    /// All, by name.
    pub fn all() -> impl Iterator<Item = (Interpreter, &'static str)> {
        INTERPRETERS.into_iter().flat_map(|(interpreter, names)| names.iter().map(move |name| (interpreter, *name)))
    }

    /// Whether it runs the first file, or the first program, among its arguments.
    pub const fn runs_files(self) -> bool {
        match self {
            Interpreter::Shell | Interpreter::Script | Interpreter::Starter | Interpreter::Calculator => true,
            Interpreter::Code | Interpreter::Commands => false,
        }
    }
}

/// The name of a program, without its folder and a version number at its end.
pub fn bare_name(program: &str) -> String {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.trim_end_matches(".exe").trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
}
