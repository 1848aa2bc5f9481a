//! What interpreters and launchers read without being told: settings in the folder that they start in and above it, and modules
//! beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::model::{Interpreter, bare_name, is_launched};

/// Most names that are looked at in one folder.
const MOST_NAMES: usize = 20_000;
/// Programs that read their settings in the folder that they start in, or in those above it; without a version number.
#[rustfmt::skip]
const LAUNCHERS: [&str; 41] = [
    "ant", "bun", "bunx", "bundle", "cargo", "composer", "corepack", "deno", "docker", "dotnet", "gem", "go", "gradle", "gradlew", "hatch",
    "just", "make", "mise", "mvn", "mvnw", "node", "nodejs", "npm", "npx", "pdm", "pip", "pipenv", "pipx", "pnpm", "pnpx", "poetry", "rake",
    "rscript", "rye", "task", "ts-node", "tsx", "uv", "uvx", "yarn", "podman",
];
/// Characters that may separate paths within a word: of shells, options, lists of paths, and addresses.
pub(super) const SEPARATORS: &[char] =
    &['=', ',', ':', ';', '@', '\'', '"', '`', '(', ')', '{', '}', '[', ']', '<', '>', '|', '&', '$', '!', '\\'];
/// Folders with settings of launchers, and with programs that these settings name.
const SETTINGS: [&str; 4] = [".bundle", ".cargo", ".mvn", ".yarn"];
/// Interpreters that load modules from the folder that they start in, whatever their arguments are.
pub(super) const LOAD_FROM_START: [&str; 6] = ["java", "lua", "luajit", "php", "r", "rscript"];
/// Folders in those with settings that hold what was downloaded.
const DOWNLOADED: [&str; 3] = ["cache", "registry", "unplugged"];

/// Whether a word is the name of a program that runs the file behind it. Some names are rather words of a text.
pub(super) fn runs_files(word: &str) -> bool {
    let is_program = !["command", "exec", "time"].contains(&word);
    is_program && Interpreter::parse(word).is_some_and(Interpreter::runs_files) || word == "sys.executable" || word == ".read"
}

/// Whether a program is a launcher.
pub(super) fn is_launcher(program: &str) -> bool {
    LAUNCHERS.contains(&&*bare_name(program))
}

/// Whether a word is a group of one-letter options of Python with one of these letters: `-um` for `m`.
pub(super) fn has_option(word: &str, letters: &[char]) -> bool {
    let options = word.strip_prefix('-').unwrap_or_default();
    let group = options.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    // What follows `m`, `c`, `W` or `X` is a value.
    let end = group.find(['m', 'c', 'W', 'X']).map_or(group.len(), |at| at + 1);
    group.get(..end).is_some_and(|group| group.contains(letters))
}

/// The settings that a launcher reads: where it starts, beside a script, and above both.
pub(super) fn settings_of<'t>(
    mut tokens: impl Iterator<Item = &'t str>,
    folder: &'t Path,
    project: &Path,
    loaded: impl Iterator<Item = &'t Path>,
) -> BTreeSet<PathBuf> {
    if !tokens.any(is_launcher) {
        return BTreeSet::new();
    }
    let starts = [folder].into_iter().chain(loaded);
    let above = starts.flat_map(|start| start.ancestors().take_while(|above| above.starts_with(project)));
    let places: BTreeSet<&Path> = above.chain([folder]).collect();
    let inside =
        |place: &Path| fs::read_dir(place).into_iter().flatten().flatten().take(MOST_NAMES).map(|entry| entry.path()).collect::<Vec<_>>();
    let (mut found, mut open) = (BTreeSet::new(), vec![]);
    for path in places.into_iter().flat_map(inside) {
        let is_folder = || path.file_name().is_some_and(|name| SETTINGS.iter().any(|own| name == *own));
        match path.is_dir() {
            true if is_folder() => open.push(path),
            false if is_launched(&path) => _ = found.insert(path),
            _ => {}
        }
    }
    while let Some(place) = open.pop().filter(|_| found.len() < MOST_NAMES) {
        for path in inside(&place) {
            if path.is_file() {
                _ = found.insert(path)
            } else if path.is_dir() && !path.is_symlink() && !DOWNLOADED.iter().any(|name| path.ends_with(name)) {
                open.push(path)
            }
        }
    }
    found
}

/// The settings of the git repository that a folder is in, which say what git runs, and its hooks.
pub(super) fn git_settings(folder: &Path) -> Vec<PathBuf> {
    let Some(own) = folder.ancestors().map(|above| above.join(".git")).find(|path| path.exists()) else { return vec![] };
    let to = |file: &Path, start: &str| {
        let text = fs::read_to_string(file).ok()?;
        Some(file.parent()?.join(text.trim().strip_prefix(start)?.trim()))
    };
    // In a further work tree, `.git` is a file that names the folder, which names the one that all share.
    let inner = to(&own, "gitdir:").unwrap_or_else(|| own.clone());
    let shared = to(&inner.join("commondir"), "").unwrap_or_else(|| inner.clone());
    let hooks = fs::read_dir(shared.join("hooks")).into_iter().flatten().flatten().take(MOST_NAMES).map(|entry| entry.path());
    let hooks = hooks.filter(|path| path.extension().is_none_or(|ending| ending != "sample"));
    let settings = [shared.join("config"), inner.join("config.worktree"), shared.join("info/attributes")];
    hooks.chain(settings).filter(|path| path.is_file()).collect()
}
