//! Which files of the project a program may run when it is started. All checks use this one function: trust hashes these files, no step may write
//! them, and immediately before each start they are compared with what was agreed to.
//!
//! It errs on the side of more: any existing path that a word of the command may contain counts. Files are compared by content. Of a folder only the
//! code in it counts, at any depth, and the rest is data: so a file server keeps its folder, and a change in the folder of `python3 servers` is
//! detected.
//!
//! If a path is written in an unforeseen way (`'my servers/mcp.py'`, `-um servers.mcp`, `serv*/mcp.py`, `import servers`), the words are searched for
//! the names in the project instead.
//!
//! How to add a way to name a file: see [`super::named_files`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::command_words::{SortedWords, sorted};
use super::environment::compiled_folder;
use super::files::{self, FileError, cannot, shown_path};
use super::launchers::{SEPARATORS, is_launcher, runs_files};
use super::os;
use crate::model::{is_code, is_launched, is_table, loads_code};

/// Maximum number of names below one folder that a command names, and maximum size of all files that count, in bytes.
pub(super) const MOST_NAMES: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;
/// Folders that are skipped: those of version control and flow.
pub(super) const PASSED: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".flow"];
/// Where Python keeps compiled modules. Programs are started so that they do not read it (`PYTHONPYCACHEPREFIX`), except where a command
/// tells Python to ignore its variables.
pub(super) const CACHE: &str = "__pycache__";

/// A program to be started, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Started {
    /// Who starts it, as a person reads it: `server "docs"`.
    pub who: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub words: Vec<String>,
    /// The values of its environment variables, except those that the program loads as code ([`crate::model::loads_code`]), which are in `words`. Of
    /// the plain files that these values name, only code counts: a server keeps its data in others.
    pub values: Vec<String>,
    /// Words of a program in a sandbox that name its data: of what they name, only code counts.
    pub data: Vec<String>,
    /// Files that an interpreter among the words runs: they count whatever they are called.
    pub scripts: Vec<String>,
    /// The program that runs in the end is an interpreter.
    pub is_interpreted: bool,
    /// Folders that programs of the pipeline may change: what code names there is data.
    pub written: Vec<PathBuf>,
    /// The folder in which it is started.
    pub folder: PathBuf,
    /// The project's folder. Files outside of both folders are ignored.
    pub project: PathBuf,
}

impl Started {
    /// The words of the command, and those inside them, the program first.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &str> {
        let words = [&self.command].into_iter().chain(&self.words).chain(&self.scripts).chain(&self.data);
        words.flat_map(|word| word.split(|c: char| SEPARATORS.contains(&c) || c.is_whitespace())).filter(|token| !token.is_empty())
    }

    /// A program of a step or tool, which runs in a sandbox. Some of its words may say what runs, and the others name its data.
    pub fn of_program(who: String, command: String, words: Vec<String>, folder: PathBuf, project: PathBuf) -> Started {
        let SortedWords { scripts, options, data, is_interpreted } = sorted(&command, &words, &folder, &project);
        Started { who, command, words: options, data, scripts, is_interpreted, folder, project, ..Started::default() }
    }

    /// A program of a server: any of its words may say what runs.
    pub fn of_server(who: String, command: String, words: Vec<String>, folder: PathBuf, project: PathBuf) -> Started {
        let SortedWords { scripts, is_interpreted, options: _, data: _ } = sorted(&command, &words, &folder, &project);
        Started { who, command, words, scripts, is_interpreted, folder, project, ..Started::default() }
    }

    /// Adds environment variables. The values of variables that are loaded as code are added to `words`.
    #[must_use]
    pub fn with_env(mut self, env: impl IntoIterator<Item = (String, String)>) -> Started {
        for (variable, value) in env {
            let list = if loads_code(&variable) { &mut self.words } else { &mut self.values };
            list.push(value);
        }
        self
    }
}

/// Whether a program runs another that its words name: it is an interpreter or a launcher.
pub fn runs_another(command: &str, words: &[impl AsRef<str>]) -> bool {
    !words.is_empty() && (runs_files(command) || is_launcher(command))
}

/// The script among the words of a command, if its program is an interpreter and the first word is surely a file: by its folder or its ending.
pub fn script_of<'w>(command: &str, words: &[&'w str]) -> Option<&'w str> {
    let first = words.first().copied().filter(|word| !word.starts_with('-') && !word.contains(char::is_whitespace))?;
    (runs_files(command) && is_code(Path::new(first)) == Some(true)).then_some(first)
}

/// Which subfolders of a folder count, from which code is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None: it is the project's own folder.
    Itself,
    /// Those that Python may take for packages: their names are words of its language.
    Packages,
    /// All.
    All,
}

/// The parts of the project that a command names, as canonical paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MayRun {
    /// Files.
    pub files: BTreeSet<PathBuf>,
    /// Folders.
    pub folders: BTreeSet<PathBuf>,
    /// Paths that do not exist yet.
    pub missing: BTreeSet<PathBuf>,
    /// Folders of scripts, and folders whose names occur in the command: code in them is loaded.
    pub loaded: BTreeMap<PathBuf, Depth>,
    /// Folders that the text of code names, or a program in a sandbox as its data. Code in them is asked about, and steps may write there: much is
    /// named that no program loads.
    pub in_text: BTreeSet<PathBuf>,
    /// The words of the commands.
    pub words: BTreeSet<String>,
    /// Plain files that its environment names. The program may read anything from them, but no step may write them.
    pub kept: BTreeSet<PathBuf>,
    /// Folders that programs of the pipeline may change.
    pub written: BTreeSet<PathBuf>,
    /// Folders that code names and that have too many names to be compared.
    pub too_large: BTreeSet<PathBuf>,
    /// Settings of launchers, which say what runs.
    pub settings: BTreeSet<PathBuf>,
    /// Python may ignore where it was told to keep compiled modules, so it reads those beside the others.
    pub reads_caches: bool,
}

/// Files by path, each with the SHA-256 of its content.
pub type Prints = BTreeMap<PathBuf, [u8; 32]>;

/// Why the contents of the files cannot be determined.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum PrintsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the files that servers may run exceed {} MiB; name the program itself, not a folder", MOST_BYTES >> 20)]
    TooManyBytes,
    #[error("{0} contains more than {MOST_NAMES} names; name a smaller folder, or the program itself")]
    TooManyNames(String),
}

impl MayRun {
    /// Hashes all files that count.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or the limits are exceeded.
    pub fn prints(&self) -> Result<Prints, PrintsError> {
        let (mut prints, mut bytes) = (Prints::new(), 0);
        for file in self.covered()? {
            let print = print(&file, &mut bytes).map_err(cannot("read", &file))?;
            if bytes > MOST_BYTES {
                return Err(PrintsError::TooManyBytes);
            }
            prints.insert(file, print);
        }
        // A folder that is too large is known as such: what makes it so is asked about.
        prints.extend(self.too_large.iter().map(|folder| (folder.clone(), [0; 32])));
        Ok(prints)
    }

    /// All files that count.
    pub(super) fn covered(&self) -> Result<BTreeSet<PathBuf>, PrintsError> {
        let mut files: BTreeSet<PathBuf> = self.files.union(&self.settings).cloned().collect();
        for folder in &self.folders {
            files.extend(self.code_below(folder, true, &|_| false)?);
        }
        let in_text = self.in_text.iter().map(|folder| (folder, &Depth::All));
        for (folder, depth) in self.loaded.iter().chain(in_text) {
            let passes = |path: &Path| is_installed(path) || *depth == Depth::Packages && !is_package(path);
            files.extend(self.code_below(folder, *depth > Depth::Itself, &passes)?);
        }
        Ok(files)
    }

    pub(super) fn names(&self, path: &Path) -> bool {
        self.files.contains(path)
            || is_launched(path)
            || self.missing.contains(path)
            || self.folders.iter().any(|folder| path.starts_with(folder))
            || self.loaded.iter().any(|(folder, depth)| depth.holds(folder, path))
            || self.in_text.iter().any(|folder| path.starts_with(folder))
    }

    /// The folders directly in one from which Python loads packages that have code in them.
    pub fn packages(&self) -> BTreeSet<PathBuf> {
        let starts = self.loaded.iter().filter(|(_, depth)| **depth == Depth::Packages).map(|(folder, _)| folder);
        let inside = |start: &PathBuf| {
            let code = self.code_below(start, true, &|path| is_installed(path) || !is_package(path)).unwrap_or_default();
            let first = |file: PathBuf| Some(start.join(file.strip_prefix(start).ok()?.components().next()?));
            code.into_iter().filter_map(first).filter(|first| first.is_dir()).collect::<Vec<_>>()
        };
        starts.flat_map(inside).collect()
    }

    /// The code in a folder, and if `is_deep`, in its subfolders except those that are skipped.
    fn code_below(&self, folder: &Path, is_deep: bool, passes: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, PrintsError> {
        let (mut found, mut open, mut been, mut count) = (vec![], vec![folder.to_path_buf()], BTreeSet::new(), 0);
        // What flow keeps for Python is its own, also where its folder is in the project: each start adds to it.
        let kept = files::resolved(&compiled_folder());
        while let Some(place) = open.pop() {
            let Ok(place) = place.canonicalize() else { continue };
            if !been.insert(place.clone()) {
                continue;
            }
            let entries = fs::read_dir(&place).map_err(cannot("read the folder", &place))?;
            for entry in entries.flatten() {
                count += 1;
                if count > MOST_NAMES {
                    return Err(PrintsError::TooManyNames(shown_path(folder)));
                }
                let (path, name) = (entry.path(), entry.file_name());
                let is_own = || PASSED.iter().any(|passed| name == *passed) || path == kept;
                let is_passed = || is_own() || name == CACHE && !self.reads_caches || passes(&path);
                match path.is_dir() {
                    true if is_passed() => {}
                    true if !is_deep => found.extend(module_of(&path)),
                    true => open.push(path),
                    false if path.is_file() && is_code_file(&path) => found.push(path),
                    false => {}
                }
            }
        }
        Ok(found)
    }

    /// Adds a folder from which code is loaded.
    pub(super) fn loads(&mut self, folder: PathBuf, depth: Depth) {
        let loaded = self.loaded.entry(folder).or_insert(depth);
        *loaded = depth.max(*loaded);
    }

    /// Whether a folder has too many names to be compared at each start.
    pub(super) fn is_too_large(&self, folder: &Path) -> bool {
        self.code_below(folder, true, &is_installed).is_err()
    }

    /// Adds the parts that another command names.
    pub fn add(&mut self, other: MayRun) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.missing.extend(other.missing);
        self.in_text.extend(other.in_text);
        other.loaded.into_iter().for_each(|(folder, depth)| self.loads(folder, depth));
        self.words.extend(other.words);
        self.kept.extend(other.kept);
        self.too_large.extend(other.too_large);
        self.written.extend(other.written);
        self.settings.extend(other.settings);
        self.reads_caches |= other.reads_caches;
    }
}

/// Whether an existing file is code: by its name, otherwise by its mode or its first two bytes.
pub(crate) fn is_code_file(path: &Path) -> bool {
    is_code(path).unwrap_or_else(|| {
        let begins = || {
            let mut first = [0; 2];
            files::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok_and(|()| first == *b"#!")
        };
        !is_table(path) && (os::is_executable(path) || begins())
    })
}

/// Whether a folder directly contains code.
pub fn holds_code(folder: &Path) -> bool {
    let names = fs::read_dir(files::here(folder)).into_iter().flatten().flatten().take(MOST_NAMES);
    names.map(|entry| entry.path()).any(|path| path.is_file() && is_code_file(&path))
}

/// Whether a folder has installed packages or what a build made: no step writes it, and it is too large to be compared at each start. A package of a
/// program may be called `venv` or `target`, too.
fn is_installed(folder: &Path) -> bool {
    let built = |name: &str| folder.parent().is_some_and(|above| above.join(name).is_file());
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("node_modules") => true,
        Some("venv" | ".venv") => folder.join("pyvenv.cfg").is_file(),
        Some("target") => ["Cargo.toml", "pom.xml", "build.sbt"].into_iter().any(built),
        _ => false,
    }
}

/// Whether the name of a folder may be that of a package of Python.
fn is_package(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Depth {
    /// Whether a file counts that is in a folder of this depth.
    fn holds(self, folder: &Path, path: &Path) -> bool {
        let mut between = path.ancestors().skip(1).take_while(|above| *above != folder);
        match self {
            Depth::Itself => is_loaded_from(folder, path),
            Depth::Packages => path.starts_with(folder) && between.all(is_package),
            Depth::All => path.starts_with(folder),
        }
    }
}

/// The files that make a folder a module, which is loaded by its name: `__init__.py`, `init.lua`.
fn module_of(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES).map(|entry| entry.path());
    names.filter(|path| makes_module(path) && path.is_file() && is_code_file(path)).collect()
}

fn makes_module(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"__init__.") || name == "init.lua")
}

/// Whether a file is in a folder, or makes a folder in it a module.
fn is_loaded_from(folder: &Path, path: &Path) -> bool {
    let above = path.parent();
    above == Some(folder) || makes_module(path) && above.and_then(Path::parent) == Some(folder)
}

fn print(path: &Path, bytes: &mut u64) -> std::io::Result<[u8; 32]> {
    let (mut digest, mut part, mut file) = (Sha256::new(), vec![0; 64 * 1024], files::open(path)?);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(digest.finalize().into()),
            count => {
                *bytes += count as u64;
                digest.update(part.get(..count).unwrap_or_default());
            }
        }
        if *bytes > MOST_BYTES {
            return Ok([0; 32]);
        }
    }
}
