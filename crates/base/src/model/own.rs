//! Files that no step may touch, whatever a file or a model says: what can be told from a path alone. The one list of names; places that only a run
//! knows (the settings of the user, the scripts of servers) are added where files are opened (`adapters/own.rs`).

use std::path::{Component, Path, PathBuf};

use super::{Form, Pipeline, StartedCommand};

/// What a step wants of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// To know what it holds.
    Read,
    /// To make or replace it.
    Write,
}

/// Folders of version control and of installed packages: programs run what they hold.
const RUN_FROM: [&str; 6] = [".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"];

/// Endings of files that are run when they are named, and files that launchers take their commands from.
const CODE: [&str; 94] = [
    "al", "awk", "bash", "bat", "beam", "c", "cc", "cjs", "class", "clj", "cljs", "cmake", "cmd", "cpp", "cr", "cs", "csproj", "csx",
    "cts", "cxx", "dart", "dll", "dylib", "edn", "erl", "ex", "exe", "exs", "fish", "fs", "fsproj", "fsx", "gemspec", "go", "gradle",
    "groovy", "h", "hpp", "hs", "inc", "jar", "java", "jl", "js", "jsx", "kt", "kts", "ksh", "lua", "mjs", "mk", "ml", "mli", "mts", "nim",
    "node", "nu", "phar", "php", "pl", "pm", "pmc", "pro", "props", "ps1", "psm1", "pth", "py", "pyc", "pyd", "pyw", "pyx", "pyz", "r",
    "rb", "rkt", "rs", "ru", "sbt", "scala", "sh", "sln", "so", "swift", "targets", "tcl", "ts", "tsx", "vb", "vbproj", "wasm", "whl",
    "zig", "zsh",
];
const LAUNCHED: [&str; 81] = [
    ".babelrc",
    ".node-version",
    ".npmrc",
    ".nvmrc",
    ".python-version",
    ".renviron",
    ".rprofile",
    ".ruby-version",
    ".swcrc",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "build.bazel",
    "build.xml",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "cargo.lock",
    "cargo.toml",
    "cmakelists.txt",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "composer.lock",
    "constraints.txt",
    "deno.json",
    "deno.jsonc",
    "deno.lock",
    "directory.build.props",
    "directory.packages.props",
    "docker-compose.yaml",
    "docker-compose.yml",
    "dockerfile",
    "flake.nix",
    "gemfile",
    "gemfile.lock",
    "global.json",
    "gnumakefile",
    "go.mod",
    "go.sum",
    "go.work",
    "gradle.properties",
    "import_map.json",
    "jsconfig.json",
    "justfile",
    "makefile",
    "meson.build",
    "mise.toml",
    "module.bazel",
    "node.config.json",
    "npm-shrinkwrap.json",
    "nuget.config",
    "package-lock.json",
    "package.json",
    "pdm.lock",
    "php.ini",
    "pip.conf",
    "pipfile",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "poetry.lock",
    "poetry.toml",
    "pom.xml",
    "procfile",
    "pyproject.toml",
    "pyvenv.cfg",
    "rakefile",
    "pytest.ini",
    "renv.lock",
    "requirements.txt",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "taskfile.yaml",
    "taskfile.yml",
    "tox.ini",
    "tsconfig.json",
    "uv.lock",
    "uv.toml",
    "yarn.lock",
];

/// Endings of files that a program reads, and does not run.
const PLAIN: [&str; 14] = ["cfg", "conf", "crt", "html", "ini", "json", "md", "pdf", "pem", "toml", "txt", "xml", "yaml", "yml"];

/// Endings of files that a server changes as it works: tables, databases, logs.
const TABLES: [&str; 15] =
    ["csv", "db", "duckdb", "jsonl", "log", "ndjson", "ods", "parquet", "sqlite", "sqlite3", "tsv", "xls", "xlsb", "xlsm", "xlsx"];

/// Endings of texts, pictures, sounds and archives.
const MEDIA: [&str; 43] = [
    "adoc", "avif", "bib", "bmp", "diff", "doc", "docx", "eml", "epub", "geojson", "gif", "gz", "heic", "htm", "ics", "jpeg", "jpg", "kml",
    "m4a", "markdown", "mbox", "mp3", "mp4", "odp", "odt", "ogg", "patch", "png", "po", "ppt", "pptx", "rst", "rtf", "srt", "svg", "tex",
    "tif", "tiff", "vcf", "vtt", "wav", "webp", "zip",
];

/// Whether a word is the ending of a file that people keep.
pub fn is_file_ending(word: &str) -> bool {
    PLAIN.contains(&word) || TABLES.contains(&word) || MEDIA.contains(&word)
}

/// Why no step may touch this path, in words that follow "it"; `None`: nothing in its names is against it. Links must have been followed. A path in
/// the project is relative to it, another one is whole.
pub fn own_by_name(path: &Path, touch: Touch) -> Option<&'static str> {
    let names: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().to_ascii_lowercase()),
            _ => None,
        })
        .collect();
    let last = names.last().map_or("", String::as_str);
    if names.iter().any(|name| name == ".flow") {
        return Some("is part of the record of runs");
    }
    if last == ".env" || last.starts_with(".env.") {
        return Some("holds secrets");
    }
    if touch == Touch::Read {
        return None;
    }
    let is_run_from = |name: &String| RUN_FROM.contains(&name.as_str()) || path.is_relative() && name.starts_with('.');
    match last {
        "flow.toml" | "flow.lock" => Some("decides what flow runs and allows"),
        _ if names.iter().any(is_run_from) => Some("is in a folder that programs run files from"),
        _ => None,
    }
}

/// Folders and files in a home that hold keys, logins and mail.
const PRIVATE: [&str; 21] = [
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".password-store", "password-store", ".mozilla", ".thunderbird",
    ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".vault-token", "keyrings", "Keychains", ".flow",
];
/// Places in a home in which programs keep logins, keys of wallets, mail and what browsers know.
const LOGINS: [&str; 59] = [
    ".aws-sam", ".bitcoin", ".config/1Password", ".config/Bitwarden", ".config/chromium", ".config/containers", ".config/discord",
    ".config/doctl", ".config/Element", ".config/evolution", ".config/flow", ".config/gcloud", ".config/gh", ".config/git",
    ".config/github-copilot", ".config/glab-cli", ".config/google-chrome", ".config/helm", ".config/hub", ".config/keepassxc",
    ".config/kwalletd", ".config/microsoft-edge", ".config/op", ".config/opera", ".config/pulumi", ".config/rclone", ".config/Signal",
    ".config/Slack", ".config/sops", ".config/stripe", ".config/vivaldi", ".databricks", ".electrum", ".ethereum", ".fly/config.yml",
    ".helm", ".heroku", ".ibmcloud", ".local/share/evolution", ".local/share/gnupg", ".local/share/gopass", ".local/share/kwalletd",
    ".local/state/gh", ".minikube", ".monero", ".oci", ".snowflake", ".solana", ".terraform.d", ".var/app", ".wallet", ".wallets",
    "BraveSoftware", "Firefox/Profiles", "Google/Chrome", "Library/Cookies", "Library/Mail", "snap/chromium", "snap/firefox",
];
/// Folders in a home that hold what many programs keep: too wide to be named as a whole.
const SHARED: [&str; 9] = [".config", ".local", ".local/share", ".local/state", ".cache", ".var", "Library", "Documents", "Desktop"];
/// Folders of the system that hold settings, keys, devices or what other programs work with.
const OF_SYSTEM: [&str; 7] = ["/etc", "/proc", "/sys", "/dev", "/run", "/var", "/boot"];
/// Files in the folder of an installation that hold keys of their owner.
const KEYS: [&str; 9] =
    [".netrc", ".npmrc", ".pypirc", ".git-credentials", "credentials", "credentials.toml", "credentials.json", "auth.json", "auth.toml"];

/// Why the user cannot make a folder readable for programs in the sandbox, as far as its name tells: it begins with `/` or, in the home, with `~/`. In
/// words that follow a colon; `None`: nothing is against it.
pub fn unreadable(folder: &str) -> Option<String> {
    let in_home = folder.strip_prefix("~/").map(|inner| inner.trim_matches('/'));
    if folder == "~" || in_home.is_some_and(|inner| inner.is_empty() || inner == ".") {
        return Some("it is the home, with all that is in it".to_owned());
    }
    if in_home.is_none() && !folder.starts_with('/') {
        return Some("it begins neither with / nor with ~/".to_owned());
    }
    let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Some("it has .. in it".to_owned());
    }
    if in_home.is_some_and(|inner| SHARED.contains(&inner)) {
        return Some("it holds what many programs keep; name a folder below it".to_owned());
    }
    if in_home.is_none() && (parts.len() < 2 || OF_SYSTEM.iter().any(|system| Path::new(folder).starts_with(system))) {
        return Some("it is a folder of the system, or of everybody".to_owned());
    }
    let within = |login: &&&str| {
        let login: Vec<&str> = login.split('/').collect();
        parts.windows(login.len()).any(|window| window.iter().zip(&login).all(|(part, name)| part.eq_ignore_ascii_case(name)))
    };
    let is_login = LOGINS.iter().find(within).map(|login| format!("{login} holds logins, wallets or what a browser knows"));
    let held = in_home.and_then(|inner| LOGINS.iter().find(|login| Path::new(login).starts_with(inner)));
    let is_login = is_login.or_else(|| held.map(|login| format!("it holds {login}, with logins; name a folder beside that")));
    parts.iter().find(|part| is_private(part)).map(|part| format!("{part} holds secrets")).or(is_login)
}

/// Where logins are in a home, below its root: a folder that has one of these places is like a home.
pub fn logins() -> impl Iterator<Item = &'static str> {
    LOGINS.into_iter()
}

fn is_private(name: &str) -> bool {
    PRIVATE.iter().any(|private| name.eq_ignore_ascii_case(private)) || own_by_name(Path::new(name), Touch::Read).is_some()
}

/// Whether a file or folder of this name, in a folder that the user made readable, stays hidden all the same.
pub fn stays_hidden(name: &str) -> bool {
    is_private(name) || KEYS.iter().any(|keys| name.eq_ignore_ascii_case(keys))
}

fn lower(part: Option<&std::ffi::OsStr>) -> String {
    part.map(|part| part.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Whether a file of this name is run by those who name or find it. `None`: its name does not tell.
pub fn is_code(path: &Path) -> Option<bool> {
    let (name, ending) = (lower(path.file_name()), lower(path.extension()));
    match ending.as_str() {
        // `libx.so.6` is a library, too.
        _ if LAUNCHED.contains(&name.as_str()) || name.contains(".so.") => Some(true),
        code if CODE.contains(&code) => Some(true),
        plain if PLAIN.contains(&plain) => Some(false),
        _ => None,
    }
}

/// Whether launchers and interpreters take their commands from a file of this name.
pub fn is_launched(path: &Path) -> bool {
    LAUNCHED.contains(&lower(path.file_name()).as_str())
}

/// Whether a file of this name is a table, a database or a log, whatever it holds.
pub fn is_table(path: &Path) -> bool {
    TABLES.contains(&lower(path.extension()).as_str())
}

/// Whether a file of this name is surely data: what has an ending that nobody here knows may be code. A name without one does not tell.
pub fn is_data(path: &Path) -> Option<bool> {
    let ending = lower(path.extension());
    let is_known = is_table(path) || MEDIA.contains(&ending.as_str());
    is_code(path).map_or_else(|| (is_known || !ending.is_empty()).then_some(is_known), |is_code| Some(!is_code))
}

/// Variables whose values are loaded as code by the program that gets them, or say where it finds code.
#[rustfmt::skip]
const LOADED: [&str; 33] = [
    "BUNDLE_GEMFILE", "CLASSPATH", "CORECLR_PROFILER_PATH", "DOTNET_ADDITIONAL_DEPS", "ENV", "GCONV_PATH", "GEM_HOME", "GEM_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "JULIA_LOAD_PATH", "JULIA_PROJECT", "LD_AUDIT", "LUA_CPATH", "LUA_PATH", "NODE_COMPILE_CACHE",
    "NODE_PATH", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "PERL5DB", "PERL5LIB", "PHPRC", "PYTHONBREAKPOINT", "PYTHONHOME",
    "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE", "RUBYLIB", "R_ENVIRON", "R_PROFILE", "R_PROFILE_USER", "ZDOTDIR",
];
/// How the names of others end.
#[rustfmt::skip]
const LOADED_ENDS: [&str; 16] = [
    "_ENV", "_PRELOAD", "_INIT", "_STARTUP", "STARTUP", "_OPTIONS", "_OPTS", "OPT", "FLAGS", "LIBRARY_PATH", "LIBRARIES", "_LIBS", "_HOOKS",
    "_SCAN_DIR", "_ENVIRON_USER", "_COMMAND",
];

/// Whether the value of a variable of this name is loaded as code by the program that gets it. `npm` reads each of its settings from a variable, too.
pub fn loads_code(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    LOADED.contains(&&*name) || name.starts_with("NPM_CONFIG_") || LOADED_ENDS.into_iter().any(|ending| name.ends_with(ending))
}

/// A file or module that a command may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<'p> {
    /// The tool or step.
    pub who: &'p str,
    /// As it is named.
    pub path: &'p str,
    /// The folder from which it is named: that of the pipeline, or the one that a program starts in.
    pub starts_in: PathBuf,
    /// It is the name of a module (`-m name`): the folder of that name holds it, or a file beside.
    pub is_module: bool,
}

/// What may be files among the words of a pipeline's commands: whole arguments, what options are set to, modules.
pub fn named_by_commands(pipeline: &Pipeline) -> Vec<Named<'_>> {
    let mut found = vec![];
    for started in pipeline.commands() {
        let starts_in = started.starts_in(pipeline);
        let StartedCommand { who, program: command, args, .. } = started;
        let mut named = |path, is_module| found.push(Named { who, path, is_module, starts_in: starts_in.clone() });
        named(if command.value.contains('/') { &command.value } else { "" }, false);
        // `env -C servers python3 mcp.py`: where a bare name counts from is known only where files can be looked at.
        let is_moved =
            args.iter().any(|text| *text.source == *"-C" || ["--chdir", "--directory"].iter().any(|to| text.source.starts_with(to)));
        let mut before = "";
        for word in args.iter().map(|text| if text.form == Form::Plain { &*text.source } else { "" }) {
            // What a shell is told is no path, but may hold some.
            match word.contains(char::is_whitespace) {
                true => word.split_whitespace().filter(|part| part.contains('/')).for_each(|part| named(part, false)),
                false => named(if is_moved && !word.contains('/') { "" } else { word }, false),
            }
            named(word.split_once('=').map_or("", |(_, value)| value), false);
            named(if before == "-m" { word.split('.').next().unwrap_or_default() } else { "" }, true);
            before = word;
        }
    }
    found.retain(|named| !named.path.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_no_step_reads_or_writes() {
        let of = |path: &str| [Touch::Read, Touch::Write].map(|touch| own_by_name(Path::new(path), touch).is_some());
        for path in
            [".flow", ".flow/runs.db", "a/.FLOW/x", ".env", "deep/.env", ".env.local", ".Env", "/elsewhere/.flow/runs.db", "/home/.env"]
        {
            assert_eq!(of(path), [true, true], "{path}");
        }
        for path in
            [".git/config", "a/.vscode/tasks.json", "/elsewhere/.git/hooks/x", "node_modules/x/index.js", "flow.toml", "a/Flow.Lock", ".x"]
        {
            assert_eq!(of(path), [false, true], "{path}");
        }
        for path in ["a.md", "env", "flow/x", "a.env", "/home/.config/notes/a.md", "x.flow"] {
            assert_eq!(of(path), [false, false], "{path}");
        }
    }
}
