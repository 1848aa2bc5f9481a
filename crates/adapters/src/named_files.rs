//! Finds the parts of the project that a program may run: what its command names, and what the files that it runs name in their turn.
//!
//! How to add a way to name a file: add a separator to [`SEPARATORS`], a line in [`candidates`], or a word in [`super::code_text`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::code_text::{brought_in, literals, passes_by, scripts_in, starts_git};
use super::environment::program_path;
use super::files;
use super::launchers::{LOAD_FROM_START, SEPARATORS, git_settings, has_option, settings_of};
use super::started::{CACHE, Depth, MOST_NAMES, MayRun, PASSED, Started, is_code_file};
use crate::model::{bare_name, is_code, is_table};

/// Maximum number of paths looked up for one command.
const MOST_CANDIDATES: usize = 4_000;
/// Characters of patterns of names.
const PATTERN: [char; 2] = ['*', '?'];
/// Maximum number of files of which the text is searched, and of bytes of each.
const MOST_FOLLOWED: usize = 200;
const MOST_TEXT: u64 = 64 << 10;

/// What a word of a command may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordRole {
    /// The script of an interpreter, whatever it is called.
    Script,
    /// Something that the program runs or loads.
    Word,
    /// A value of its environment.
    Value,
    /// Data.
    Data,
}

/// Finds the parts of the project that a program may run.
pub fn may_run(started: &Started) -> MayRun {
    let (folder, project) = (files::resolved(&started.folder), files::resolved(&started.project));
    let mut finder = ProgramSearch { started, folder, project, found: MayRun::default(), scripts: BTreeSet::new(), names: BTreeMap::new() };
    finder.found.written = started.written.iter().map(|place| files::resolved(place)).collect();
    finder.named();
    finder.mentioned();
    finder.in_named_folders();
    finder.load();
    finder.follow();
    finder.found.words = started.words.iter().chain(&started.scripts).cloned().collect();
    finder.found
}

/// The search of one program.
struct ProgramSearch<'s> {
    started: &'s Started,
    folder: PathBuf,
    project: PathBuf,
    found: MayRun,
    /// Files that an interpreter runs.
    scripts: BTreeSet<PathBuf>,
    /// The names in folders that were looked at.
    names: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl ProgramSearch<'_> {
    /// Takes a path, if it is one of the project.
    fn look(&mut self, from: &Path, path: &Path, role: WordRole) {
        let path = there(from, path);
        let is_ours = |place: &Path| place.starts_with(&self.folder) || place.starts_with(&self.project);
        match path.canonicalize() {
            // A link in the project counts as its target.
            Ok(place) if is_ours(&place) || path.parent().is_some_and(|above| is_ours(&files::resolved(above))) => match place.is_dir() {
                // What a program in a sandbox is to look at may be written by another.
                true if role == WordRole::Data => self.loads_below(&place),
                true => _ = self.found.folders.insert(place),
                false if is_table(&place) && role != WordRole::Script => {}
                false => match role {
                    WordRole::Script => {
                        self.scripts.insert(place.clone());
                        self.found.files.insert(place);
                    }
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
                let is_option = place.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"-"));
                if is_ours(&place) && !is_option {
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
        for script in &started.scripts {
            self.look(&folder, Path::new(script), WordRole::Script);
        }
        for place in self.own_programs() {
            for token in started.tokens().filter(|token| !token.contains('/') && place.join(token).is_file()) {
                self.look(&place, Path::new(token), WordRole::Word);
            }
        }
        for (words, role) in [(&started.words, WordRole::Word), (&started.values, WordRole::Value), (&started.data, WordRole::Data)] {
            candidates(words, &folder).iter().for_each(|path| self.look(&folder, Path::new(path), role));
        }
    }

    /// The folders of the project in which programs are found by their names.
    fn own_programs(&self) -> Vec<PathBuf> {
        std::env::split_paths(&program_path()).filter(|place| files::resolved(place).starts_with(&self.project)).collect()
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
        let files = self.found.files.iter().filter(|file| self.scripts.contains(*file) || is_code_file(file));
        let places: BTreeSet<PathBuf> = files.filter_map(|file| file.parent()).map(Path::to_path_buf).collect();
        for place in places.into_iter().filter(|place| place.starts_with(project)) {
            let is_work = folder.starts_with(&place) || project.starts_with(&place);
            self.found.loads(place, if is_work { Depth::Itself } else { Depth::All });
        }
        if let Some(depth) = from_start(self.started) {
            self.found.loads(folder.clone(), depth);
        }
        self.found.settings.extend(settings_of(self.started.tokens(), folder, project, self.found.loaded.keys().map(PathBuf::as_path)));
        let words: Vec<&str> = self.started.tokens().collect();
        self.found.reads_caches |= passes_by(&format!("python {}", words.join(" ")));
        if words.iter().any(|word| starts_git(word)) {
            self.load_git();
        }
    }

    /// What decides what git runs, unless programs may write it.
    fn load_git(&mut self) {
        let settings: Vec<PathBuf> = git_settings(&self.folder).into_iter().filter(|path| !self.is_written(path)).collect();
        self.found.settings.extend(settings);
    }

    /// What the code that counts names in its turn, in any language.
    fn follow(&mut self) {
        let mut seen = BTreeSet::new();
        loop {
            let named = self.found.files.iter().chain(&self.found.settings).cloned();
            let all = named.chain(self.found.covered().unwrap_or_default());
            let next: Vec<PathBuf> = all.filter(|file| !seen.contains(file)).take(MOST_FOLLOWED).collect();
            if next.is_empty() || seen.len() > MOST_FOLLOWED {
                return;
            }
            for file in next {
                if seen.insert(file.clone()) {
                    self.read(&file, &start_of(&file));
                }
            }
            self.load();
        }
    }

    /// What the text of a file runs or brings in, and the literal paths in it: of these, only code counts.
    fn read(&mut self, file: &Path, text: &str) {
        self.found.reads_caches |= passes_by(text);
        if starts_git(text) {
            self.load_git();
        }
        let lines: Vec<String> = text.lines().flat_map(brought_in).collect();
        let beside = file.parent().unwrap_or(&self.folder).to_path_buf();
        // A word alone names nothing in a project that neither the code nor the program starts in.
        let far = Some(self.project.clone()).filter(|project| *project != self.folder && *project != beside);
        let places: BTreeSet<PathBuf> = [beside, self.folder.clone(), self.project.clone()].into();
        for from in &places {
            let is_read = |path: &&String| from.join(path).is_file() && !self.is_written(&from.join(path));
            let brought: Vec<String> = candidates(&lines, from).iter().filter(is_read).cloned().collect();
            let scripts: Vec<String> = scripts_in(text).iter().filter(is_read).cloned().collect();
            brought.iter().for_each(|path| self.look(from, Path::new(path), WordRole::Word));
            scripts.iter().for_each(|path| self.look(from, Path::new(path), WordRole::Script));
            for pattern in lines.iter().flat_map(|line| line.split_whitespace()) {
                self.matches(from, pattern).iter().for_each(|path| self.look(from, path, WordRole::Word));
            }
        }
        let own = self.own_programs();
        for (literal, may_be_folder) in literals(text, is_code(file) == Some(true)) {
            let near = places.iter().filter(|from| literal.contains('/') || far.as_ref() != Some(from));
            near.for_each(|from| self.literal(from, &literal, may_be_folder));
            for place in own.iter().filter(|place| !literal.contains('/') && place.join(&literal).is_file()) {
                self.look(place, Path::new(&literal), WordRole::Word);
            }
        }
    }

    /// A literal path in code: a file, a folder, a pattern, a module without its ending, or what begins with something that is computed.
    fn literal(&mut self, from: &Path, literal: &str, may_be_folder: bool) {
        let whole = literal.trim_start_matches("./");
        let ends = whole.match_indices('/').filter_map(|(at, _)| whole.get(at + 1..));
        for path in [whole].into_iter().chain(ends) {
            let first = path.split('/').next().unwrap_or_default();
            let is_known = path.starts_with('/') || first == ".." || first.contains(PATTERN) || self.names_of(from).contains(first);
            let at = from.join(path);
            if !is_known || path.is_empty() || self.is_written(&at) {
                continue;
            }
            let endings = ["js", "py"].map(|ending| PathBuf::from(format!("{}.{ending}", at.display())));
            let modules = endings.into_iter().filter(|at| path.contains('/') && at.is_file());
            let found: Vec<PathBuf> = self.matches(from, path).into_iter().chain(modules).collect();
            found.iter().for_each(|file| self.look(from, file, WordRole::Data));
            // `lib/*/x.sh`.
            if let Some((place, _)) = path.find(PATTERN).and_then(|pattern| path[..pattern].rsplit_once('/')) {
                self.loads_below(&from.join(place));
            }
            if at.is_file() {
                self.look(from, &at, WordRole::Data);
            } else if may_be_folder && at.is_dir() {
                self.loads_below(&at);
            }
            if at.exists() {
                return;
            }
        }
    }

    /// Whether programs may change this by their author's word: then what code names there is data.
    fn is_written(&self, path: &Path) -> bool {
        !self.found.written.is_empty() && {
            let place = files::real(path);
            self.found.written.iter().any(|folder| place.starts_with(folder))
        }
    }

    /// Takes the code in a folder of the project that other code names.
    fn loads_below(&mut self, folder: &Path) {
        let Ok(folder) = folder.canonicalize() else { return };
        let is_work = self.folder.starts_with(&folder) || self.project.starts_with(&folder);
        let is_passed = folder.iter().any(|part| PASSED.iter().any(|passed| part == *passed));
        if is_work
            || is_passed
            || self.is_written(&folder)
            || !folder.starts_with(&self.project)
            || self.found.loaded.get(&folder) == Some(&Depth::All)
            || self.found.in_text.contains(&folder)
        {
            return;
        }
        if self.found.is_too_large(&folder) {
            self.found.too_large.insert(folder);
        } else {
            self.found.in_text.insert(folder);
        }
    }

    /// The names in a folder. Each folder is read once.
    fn names_of(&mut self, folder: &Path) -> &BTreeSet<String> {
        self.names.entry(folder.to_path_buf()).or_insert_with(|| {
            let names = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        })
    }

    /// The files that the last part of a pattern may match: `lib/*.sh`.
    fn matches(&mut self, from: &Path, pattern: &str) -> Vec<PathBuf> {
        let pattern = pattern.trim_matches(['"', '\'', '(', ')']);
        let (place, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let (Some(at), Some(end)) = (last.find(PATTERN), last.rfind(PATTERN)) else { return vec![] };
        let (begin, end) = (&last[..at], &last[end + 1..]);
        if place.is_empty() && begin.is_empty() && end.is_empty() || place.contains(PATTERN) {
            return vec![];
        }
        let place = from.join(place);
        let names = self.names_of(&place).iter().filter(|name| name.starts_with(begin) && name.ends_with(end));
        names.map(|name| place.join(name)).filter(|path| path.is_file()).collect()
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
            found.extend(word.get(at + 1..).filter(|rest| rest.len() < 4_096).map(ToOwned::to_owned));
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

#[cfg(test)]
mod tests;
