//! Finds the parts of the project that a program may run: what its command names, and what the files that it runs name in their turn.
//!
//! How to add a way to name a file: add a separator to [`SEPARATORS`], a line in [`candidates`], or a word in [`BRINGS_IN`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::environment::program_path;
use super::files;
use super::launchers::{LOAD_FROM_START, bare_name, first_line, has_option, settings_of};
use super::started::{CACHE, Depth, MOST_NAMES, MayRun, PASSED, SEPARATORS, Started, is_code_file, real};
use crate::model::{is_code, is_table};

/// Maximum number of paths looked up for one command.
const MOST_CANDIDATES: usize = 4_000;
/// Maximum number of files of which the text is searched, and of bytes of each.
const MOST_FOLLOWED: usize = 200;
const MOST_TEXT: u64 = 64 << 10;

/// Words that begin a command of a script, of any language, and behind which a file stands that is run or loaded.
const BEGINS: [&str; 13] =
    ["-include", ".", "do", "dofile", "exec", "from", "import", "include", "include_once", "load", "sinclude", "source", "use"];
/// The same, anywhere in a line.
const BRINGS_IN: [&str; 4] = ["import", "require", "require_once", "require_relative"];

/// What a word of a command may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordRole {
    /// Something that the program runs or loads.
    Word,
    /// A value of its environment.
    Value,
    /// Data.
    Data,
}

/// Finds the parts of the project that a program may run.
pub fn may_run(started: &Started) -> MayRun {
    let mut finder = ProgramSearch { started, folder: real(&started.folder), project: real(&started.project), found: MayRun::default() };
    finder.named();
    finder.mentioned();
    finder.in_named_folders();
    finder.load();
    finder.follow();
    finder.found.words = started.words.iter().cloned().collect();
    finder.found
}

/// The search of one program.
struct ProgramSearch<'s> {
    started: &'s Started,
    folder: PathBuf,
    project: PathBuf,
    found: MayRun,
}

impl ProgramSearch<'_> {
    /// Takes a path, if it is one of the project.
    fn look(&mut self, from: &Path, path: &Path, role: WordRole) {
        let path = there(from, path);
        let is_ours = |place: &Path| place.starts_with(&self.folder) || place.starts_with(&self.project);
        match path.canonicalize() {
            // A link in the project counts as its target.
            Ok(place) if is_ours(&place) || path.parent().is_some_and(|above| is_ours(&real(above))) => match place.is_dir() {
                true => _ = self.found.folders.insert(place),
                false if is_table(&place) => {}
                false => match role {
                    WordRole::Word => _ = self.found.files.insert(place),
                    WordRole::Value | WordRole::Data if is_code_file(&place) => _ = self.found.files.insert(place),
                    WordRole::Value => _ = self.found.kept.insert(place),
                    WordRole::Data => {}
                },
            },
            Ok(_) => {}
            Err(_) if role == WordRole::Data => {}
            Err(_) => {
                let place = files::real(&path);
                if is_ours(&place) {
                    self.found.missing.insert(place);
                }
            }
        }
    }

    /// What the words of the command name, and programs that `PATH` finds in the project.
    fn named(&mut self) {
        let (started, folder) = (self.started, self.folder.clone());
        if Path::new(&started.command).is_absolute() {
            self.look(&folder, Path::new(&started.command), WordRole::Word);
        }
        let path = program_path();
        let by_path = std::env::split_paths(&path).map(|folder| folder.join(&started.command));
        if let Some(program) = by_path.filter(|_| !started.command.contains('/')).find(|path| path.is_file()) {
            self.look(&folder, &program, WordRole::Word);
        }
        let own: Vec<PathBuf> = std::env::split_paths(&path).filter(|place| place.starts_with(&self.project)).collect();
        for place in own {
            for token in started.tokens().filter(|token| !token.contains('/') && place.join(token).is_file()) {
                self.look(&place, Path::new(token), WordRole::Word);
            }
        }
        for (words, role) in [(&started.words, WordRole::Word), (&started.values, WordRole::Value), (&started.data, WordRole::Data)] {
            candidates(words, &folder).iter().for_each(|path| self.look(&folder, Path::new(path), role));
        }
    }

    /// Names of the project that occur in the words in any form.
    fn mentioned(&mut self) {
        for place in [self.folder.clone(), self.project.clone()] {
            let names = names_in(&place);
            for (words, role) in [(&self.started.words, WordRole::Word), (&self.started.values, WordRole::Value)] {
                for name in mentioned(&names, words) {
                    match place.join(name).canonicalize() {
                        Ok(inner) if inner.is_dir() && inner.starts_with(&place) => _ = self.found.loaded.insert(inner, Depth::All),
                        _ => self.look(&place, Path::new(name), role),
                    }
                }
            }
        }
    }

    /// `env -C servers python3 mcp.py`: other paths may be relative to a folder that is named.
    fn in_named_folders(&mut self) {
        let named = candidates(&self.started.words, &self.folder);
        let inner: Vec<PathBuf> = self.found.folders.iter().filter(|inner| **inner != self.folder).take(8).cloned().collect();
        for inner in inner {
            for path in named.iter().filter(|path| inner.join(path).is_file()) {
                if let Ok(place) = inner.join(path).canonicalize()
                    && !is_table(&place)
                {
                    self.found.files.insert(place);
                }
            }
        }
    }

    /// Folders from which modules are loaded, and settings of launchers.
    fn load(&mut self) {
        let (folder, project) = (&self.folder, &self.project);
        let scripts = self.found.files.iter().filter(|file| is_code_file(file)).filter_map(|file| file.parent());
        let is_work = |place: &Path| folder.starts_with(place) || project.starts_with(place);
        let depth = |place: &Path| if is_work(place) { Depth::Itself } else { Depth::All };
        let scripts: BTreeMap<PathBuf, Depth> =
            scripts.filter(|place| place.starts_with(project)).map(|place| (place.to_path_buf(), depth(place))).collect();
        self.found.loaded.extend(scripts);
        if let Some(depth) = from_start(self.started) {
            let loaded = self.found.loaded.entry(folder.clone()).or_insert(depth);
            *loaded = depth.max(*loaded);
        }
        self.found.settings = settings_of(self.started.tokens(), folder, project, self.found.loaded.keys().map(PathBuf::as_path));
        let words: Vec<&str> = self.started.tokens().collect();
        self.found.reads_caches = passes_by(&format!("python {}", words.join(" ")));
    }

    /// What the files that it runs bring in by a path, whatever it is called; and code that shell scripts, `package.json` and files of variables name.
    fn follow(&mut self) {
        let mut seen = BTreeSet::new();
        loop {
            let all = self.found.files.iter().chain(&self.found.settings);
            let next: Vec<PathBuf> = all.filter(|file| !seen.contains(*file)).take(MOST_FOLLOWED).cloned().collect();
            if next.is_empty() || seen.len() > MOST_FOLLOWED {
                return;
            }
            for file in next {
                let text = start_of(&file);
                self.found.reads_caches |= passes_by(&text);
                let lines: Vec<String> = text.lines().flat_map(brought_in).collect();
                self.bring_in(&file, &lines, WordRole::Word);
                if names_what_runs(&file) {
                    self.bring_in(&file, std::slice::from_ref(&text), WordRole::Data);
                }
                seen.insert(file);
            }
        }
    }

    /// Files of the project that these words of a file name, from its own folder, or from where the program starts.
    fn bring_in(&mut self, file: &Path, words: &[String], role: WordRole) {
        for from in [file.parent().unwrap_or(&self.folder).to_path_buf(), self.folder.clone()] {
            for path in candidates(words, &from).iter().filter(|path| from.join(path).is_file()) {
                self.look(&from, Path::new(path), role);
            }
        }
    }
}

/// Which modules may be loaded from the folder that a program starts in although no word names them: `python3 -m name`, `lua x.lua`.
fn from_start(started: &Started) -> Option<Depth> {
    let is_python = |token: &&str| matches!(&*bare_name(token), "python" | "pypy");
    let takes_module = |token: &str| token == "-" || has_option(token, &['m', 'c']);
    let is_given_module = started.tokens().skip_while(|token| !is_python(token)).any(takes_module);
    let mut names = started.tokens().map(bare_name);
    if is_given_module {
        return Some(Depth::Packages);
    }
    names.any(|name| LOAD_FROM_START.contains(&&*name)).then_some(Depth::Itself)
}

/// Whether these words may start a Python that does not hear where to keep compiled modules.
fn passes_by(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let is_part = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '(' | ')' | ';');
    let words = || text.split(is_part).filter(|word| !word.is_empty());
    let is_word = |wanted: &[&str]| words().any(|word| wanted.contains(&word));
    let without_variables = || is_word(&["env", "/usr/bin/env"]) && is_word(&["-", "-i", "-u", "--ignore-environment", "--unset"]);
    ["pycache_prefix", "pycacheprefix"].iter().any(|name| small.contains(name))
        || small.contains("python") && (words().any(|word| has_option(word, &['E', 'I'])) || without_variables())
}

/// What stands behind the words of a line that run or load another file.
fn brought_in(line: &str) -> Vec<String> {
    let is_part = |c: char| !c.is_whitespace() && !SEPARATORS.contains(&c);
    let behind = |command: &str| {
        let first = command.split(char::is_whitespace).find(|word| !word.is_empty()).unwrap_or_default();
        let begun = BEGINS.contains(&first).then(|| command.to_owned());
        let places = BRINGS_IN.iter().flat_map(|word| command.match_indices(word).map(move |(at, word)| (at, at + word.len())));
        let whole = |(at, end): &(usize, usize)| !command[..*at].ends_with(is_part) && !command[*end..].starts_with(is_part);
        begun.or_else(|| places.filter(whole).map(|(_, end)| command[end..].to_owned()).next())
    };
    line.split([';', '&', '|', '{', '}']).filter_map(behind).collect()
}

/// Whether the text of a file says in any form what runs.
fn names_what_runs(file: &Path) -> bool {
    let is_shell = || first_line(file).is_some_and(|line| line.split('/').any(|part| part.trim_end().ends_with("sh")));
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    file.ends_with("package.json") || matches!(ending, "sh" | "bash" | "zsh" | "env" | "mk") || is_shell()
}

/// The first part of a file as text.
fn start_of(file: &Path) -> String {
    let mut start = vec![];
    let read = files::open(file).and_then(|file| file.take(MOST_TEXT).read_to_end(&mut start));
    read.map(|_| String::from_utf8_lossy(&start).into_owned()).unwrap_or_default()
}

/// A path from a folder. The folder may be made later: then `..` is taken as it is written.
fn there(folder: &Path, path: &Path) -> PathBuf {
    let path = folder.join(path);
    if path.exists() { path } else { files::real(&path) }
}

/// The names in a folder, without hidden ones.
fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.') && !PASSED.contains(&&**name) && name != CACHE)
        .collect()
}

/// The names that occur in the words of a command, as they are, as a module, or as a possible match of a pattern. Quotes are ignored.
fn mentioned<'n>(names: &'n [String], words: &[String]) -> impl Iterator<Item = &'n String> {
    let text = words.join("\n").replace(['\'', '"', '\\'], "");
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let stands = move |name: &str, text: &str| {
        let mut places = text.match_indices(name);
        places.any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
    };
    let patterns: Vec<String> = text.split(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | ';' | ',')).filter_map(begun).collect();
    names.iter().filter(move |name| {
        let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).filter(|_| is_code(Path::new(name)) == Some(true));
        stands(name, &text) || stem.is_some_and(|stem| stands(stem, &text)) || patterns.iter().any(|pattern| name.starts_with(pattern))
    })
}

/// The literal prefix of a pattern's first name: `serv` for `serv*/x.py`; empty for `*/x.py` and `*.py`, which may match any name.
fn begun(token: &str) -> Option<String> {
    let at = token.find(['*', '?', '[', '{'])?;
    let before = token.get(..at)?.trim_start_matches("./");
    let is_path = token.get(at + 1..).is_some_and(|rest| rest.starts_with(['/', '.']));
    (!before.contains('/') && (!before.is_empty() || is_path)).then(|| before.to_owned())
}

/// Everything in the words of a command that may be a path, from the folder that it starts in.
fn candidates(words: &[String], folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut before = "";
    for word in words {
        found.insert(word.clone());
        for (at, _) in word.match_indices(|c: char| SEPARATORS.contains(&c) || c.is_whitespace()) {
            found.extend(word.get(at + 1..).map(ToOwned::to_owned));
        }
        for token in word.split(|c: char| SEPARATORS.contains(&c) || c.is_whitespace()).filter(|token| !token.is_empty()) {
            found.insert(token.to_owned());
            // `-ca.json`, `-Ipath`.
            let glued = token.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| {
                let first = rest.chars().next()?;
                rest.get(first.len_utf8()..)
            });
            found.extend(glued.map(ToOwned::to_owned));
            // `$PWD/servers/mcp.py`.
            if !there(folder, Path::new(token)).exists() {
                found.extend(token.match_indices('/').filter_map(|(at, _)| token.get(at + 1..)).map(ToOwned::to_owned));
            }
            let module = if before == "-m" { Some(token) } else { token.strip_prefix("-m") };
            for module in module.into_iter().filter(|module| !module.contains('/')) {
                let parts: Vec<&str> = module.split('.').collect();
                for end in 1..=parts.len() {
                    let path = parts.get(..end).unwrap_or_default().join("/");
                    found.extend([format!("{path}.py"), path]);
                }
            }
            // `node servers/mcp`.
            if token.contains('/') && Path::new(token).extension().is_none() {
                found.extend(["js", "py"].map(|ending| format!("{}.{ending}", token.trim_end_matches('/'))));
            }
            before = token;
        }
    }
    found.into_iter().filter(|path| !path.is_empty() && path.len() < 4_096 && !path.contains('\0')).take(MOST_CANDIDATES).collect()
}
