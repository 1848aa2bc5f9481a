//! What the program `git` says has changed. It is called with fixed arguments, names come as bytes with a zero after each, and nothing that the
//! repository configures is started: no `core.fsmonitor`, hook, external diff, filter, text conversion, pager or transport.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::environment::text;
use super::files::here;
use super::os;

/// What has changed since a commit.
#[derive(Debug, Clone, Default)]
pub struct GitChanges {
    /// The folder of the repository, links followed.
    pub root: PathBuf,
    /// The commit that is compared with: the newest that the named one and HEAD have in common.
    pub base: String,
    /// The changed, new and deleted files, as whole paths; of a repository inside this one its folder.
    pub paths: Vec<PathBuf>,
}

/// Why `git` cannot say what has changed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It is not installed.
    #[error("git is not installed, and only it knows what has changed; install it, or name the files")]
    Missing,
    /// The folder is in no repository, or in one that `git` does not read.
    #[error("{} is in no Git repository that can be read: {said}", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// What `git` said.
        said: String,
    },
    /// The commit is not known.
    #[error("\"{revision}\" is no commit of this repository{}", hint(*is_shallow))]
    Unknown {
        /// As it was named.
        revision: String,
        /// Whether the repository has only a part of its history.
        is_shallow: bool,
    },
    /// The commit and HEAD have no history in common.
    #[error("\"{revision}\" and HEAD have no commit in common{}", hint(*is_shallow))]
    Apart {
        /// As it was named.
        revision: String,
        /// Whether the repository has only a part of its history.
        is_shallow: bool,
    },
    /// Anything else.
    #[error("git cannot say what has changed: {0}")]
    Failed(String),
}

fn hint(is_shallow: bool) -> &'static str {
    if is_shallow {
        "; this clone has only a part of the history: fetch all of it (fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab, or git fetch --unshallow)"
    } else {
        "; fetch it, or name another commit, branch or tag"
    }
}

/// What differs between a commit and the files on disk: committed, staged, unstaged and untracked changes, and deleted files. What was changed on the
/// side of the commit only, since both parted, does not count. Files that `.gitignore` leaves out do not count either.
///
/// # Errors
/// See [`GitError`].
pub fn changed_since(folder: &Path, revision: &str) -> Result<GitChanges, GitError> {
    let no_repository = |said: GitError| match said {
        GitError::Failed(said) => GitError::NoRepository { folder: folder.to_path_buf(), said },
        other => other,
    };
    let root = ask(folder, &["rev-parse", "--show-toplevel"], &[]).map_err(no_repository)?;
    let root = os::path_of(root.strip_suffix(b"\n").unwrap_or(&root));
    let root = root.canonicalize().unwrap_or(root);
    let is_shallow = || ask(&root, &["rev-parse", "--is-shallow-repository"], &[]).is_ok_and(|said| said.starts_with(b"true"));
    let unknown = || GitError::Unknown { revision: revision.to_owned(), is_shallow: is_shallow() };
    // It would be an option, or mean HEAD.
    if revision.starts_with('-') || revision.is_empty() {
        return Err(unknown());
    }
    let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned();
    let known = ask(&root, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")], &[]);
    let commit = line(known.map_err(|_| unknown())?);
    let base = ask(&root, &["merge-base", &commit, "HEAD"], &[]);
    let base = line(base.map_err(|_| GitError::Apart { revision: revision.to_owned(), is_shallow: is_shallow() })?);
    // To compare a file that changed a moment ago, `git` runs the filters that `.gitattributes` names.
    let filters = ask(&root, &["config", "-z", "--name-only", "--get-regexp", "^filter[.]"], &[]).unwrap_or_default();
    let filters: Vec<&[u8]> = filters.split(|byte| *byte == 0).filter(|key| !key.is_empty()).collect();
    let differing =
        ["diff-index", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty", &base, "--"];
    let mut names = ask(&root, &differing, &filters)?;
    names.extend(ask(&root, &["ls-files", "-z", "--others", "--exclude-standard"], &filters)?);
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut paths: Vec<PathBuf> = names.map(|name| root.join(os::path_of(name.strip_suffix(b"/").unwrap_or(name)))).collect();
    paths.sort();
    paths.dedup();
    Ok(GitChanges { root, base, paths })
}

impl GitChanges {
    /// The text that a file had in the base; `None`: there was none.
    pub fn before(&self, path: &Path) -> Option<String> {
        let inside = path.strip_prefix(&self.root).ok()?.to_str()?;
        let text = ask(&self.root, &["cat-file", "blob", &format!("{}:{inside}", self.base)], &[]).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Asks `git`, without these filters. Errors: it is missing, or says no; then [`GitError::Failed`] has the first line that it said.
fn ask(folder: &Path, arguments: &[&str], filters: &[&[u8]]) -> Result<Vec<u8>, GitError> {
    let mut git = Command::new("git");
    // Where the repository is follows from the folder, also in a hook.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF"] {
        git.env_remove(name);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none").env("GIT_TERMINAL_PROMPT", "0");
    // What the caller's own variables configure stays.
    let own = text("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
    for (number, key) in (own..).zip(filters) {
        let value = if key.ends_with(b".required") { "false" } else { "" };
        git.env(format!("GIT_CONFIG_KEY_{number}"), os::path_of(key)).env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    git.env("GIT_CONFIG_COUNT", (own + filters.len()).to_string());
    git.args(["--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]).args(arguments);
    let output = match git.current_dir(here(folder)).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound && here(folder).is_dir() => return Err(GitError::Missing),
        Err(error) => return Err(GitError::Failed(error.to_string())),
    };
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let words = said.lines().next().unwrap_or("it failed and said nothing");
    Err(GitError::Failed(words.trim_start_matches("fatal: ").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extras::{Extra, has};
    use std::fs;

    /// A repository with a commit, in which each program that a configuration can name leaves a mark.
    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new(files: &[(&str, &str)]) -> Repository {
            let own = Repository(tempfile::tempdir().unwrap());
            own.git(&["init", "-q", "-b", "main"]);
            files.iter().for_each(|(name, text)| own.write(name, text));
            own.commit();
            own
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
            fs::write(self.at(name), text).unwrap();
        }

        fn git(&self, arguments: &[&str]) {
            let own = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
            let mut git = Command::new("git");
            let done = git.args(own).args(arguments).current_dir(self.0.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        }

        fn commit(&self) {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", "a", "--allow-empty"]);
        }

        fn changed(&self, revision: &str) -> Vec<String> {
            let changes = changed_since(self.0.path(), revision).unwrap();
            let inside = |path: &PathBuf| path.strip_prefix(&changes.root).unwrap().to_string_lossy().into_owned();
            changes.paths.iter().map(inside).collect()
        }
    }

    #[test]
    fn every_kind_of_change_counts_whatever_a_file_is_called() {
        if !has(&[Extra::Git]) {
            return;
        }
        let own =
            Repository::new(&[("a", "1"), ("b", "1"), ("c", "1"), ("gone", "1"), ("staged", "1"), ("same", "1"), (".gitignore", "log\n")]);
        own.write("a", "2");
        own.commit();
        own.git(&["branch", "other", "HEAD~1"]);
        own.write("b", "2");
        fs::remove_file(own.at("gone")).unwrap();
        own.write("staged", "2");
        own.git(&["add", "staged"]);
        let hostile = ["-p", "a\nb", "gr\u{f6}\u{df}e \" $(touch x)", ":(glob)*", "in/\t"];
        hostile.iter().for_each(|name| own.write(name, "1"));
        own.write("log", "1");
        let mut wanted: Vec<&str> = ["a", "b", "gone", "staged"].into_iter().chain(hostile).collect();
        wanted.sort_unstable();
        assert_eq!(own.changed("other"), wanted);
        assert_eq!(own.changed("HEAD").len(), wanted.len() - 1);
        assert_eq!(changed_since(&own.at("in"), "other").unwrap().paths.len(), wanted.len(), "from a folder inside");
        let changes = changed_since(self::here(own.0.path()), "other").unwrap();
        assert_eq!((changes.before(&own.at("gone")).as_deref(), changes.before(&own.at("-p"))), (Some("1"), None));
    }

    #[test]
    fn what_only_the_other_side_has_changed_does_not_count() {
        if !has(&[Extra::Git]) {
            return;
        }
        let own = Repository::new(&[("a", "1"), ("b", "1")]);
        own.git(&["checkout", "-q", "-b", "topic"]);
        own.write("b", "2");
        own.commit();
        own.git(&["checkout", "-q", "main"]);
        own.write("a", "2");
        own.commit();
        own.git(&["checkout", "-q", "topic"]);
        assert_eq!(own.changed("main"), ["b"]);
    }

    #[test]
    fn no_program_of_the_repository_is_started() {
        if !has(&[Extra::Git]) {
            return;
        }
        let own = Repository::new(&[("a.txt", "1"), (".gitattributes", "* filter=f diff=d merge=m\n")]);
        let mark = own.at("started");
        fs::write(own.at(".git/hook"), format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", mark.display())).unwrap();
        let hooks = own.at(".git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        for name in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
            fs::copy(own.at(".git/hook"), hooks.join(name)).unwrap();
        }
        for file in ["hook", "hooks/post-index-change", "hooks/fsmonitor-watchman", "hooks/reference-transaction"] {
            fs::set_permissions(own.at(".git").join(file), os::permissions(0o755)).unwrap();
        }
        let program = own.at(".git/hook").display().to_string();
        let named = [
            "core.fsmonitor", "core.pager", "core.sshCommand", "core.askPass", "core.editor", "diff.external", "diff.d.command",
            "diff.d.textconv",
        ];
        let named = named
            .iter()
            .chain(&["filter.f.clean", "filter.f.smudge", "filter.f.process", "merge.m.driver", "gpg.program", "credential.helper"]);
        let text: String = named
            .map(|key| {
                let (section, name) = key.rsplit_once('.').unwrap();
                let section = section.split_once('.').map_or(format!("[{section}]"), |(section, inner)| format!("[{section} \"{inner}\"]"));
                format!("{section}\n\t{name} = \"{program}\"\n")
            })
            .collect();
        let config = fs::read_to_string(own.at(".git/config")).unwrap();
        fs::write(own.at(".git/config"), format!("{config}{text}[pager]\n\tdiff-index = true\n[alias]\n\tdiff-index = \"!{program}\"\n"))
            .unwrap();
        // Same size, another time: to compare it git would have to run the filter.
        own.write("a.txt", "2");
        let before = changed_since(self::here(own.0.path()), "HEAD").unwrap();
        assert!(before.paths.contains(&own.at("a.txt")), "{before:?}");
        assert_eq!(before.before(&own.at("a.txt")).as_deref(), Some("1"));
        assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
        // The same repository does start it when somebody looks at a difference.
        let diff = Command::new("git").args(["diff", "--stat"]).current_dir(own.0.path()).output().unwrap();
        assert!(mark.exists(), "{diff:?}");
    }

    #[test]
    fn what_git_does_not_know_is_told() {
        if !has(&[Extra::Git]) {
            return;
        }
        let own = Repository::new(&[("a", "1")]);
        let says = |folder: &Path, revision: &str| changed_since(folder, revision).unwrap_err().to_string();
        for revision in ["nonsense", "--help", "-", "", "main:a", "--output=x"] {
            assert!(says(own.0.path(), revision).contains("is no commit of this repository; fetch it"), "{revision}");
        }
        let nowhere = tempfile::tempdir().unwrap();
        assert!(says(nowhere.path(), "main").contains("is in no Git repository"));
        own.commit();
        let clone = tempfile::tempdir().unwrap();
        own.git(&[
            "clone",
            "-q",
            "--depth",
            "1",
            &format!("file://{}", own.0.path().display()),
            &clone.path().join("c").display().to_string(),
        ]);
        assert!(says(&clone.path().join("c"), "HEAD~1").contains("fetch-depth: 0"));
        own.git(&["checkout", "-q", "--orphan", "apart"]);
        own.write("b", "1");
        own.commit();
        assert!(says(own.0.path(), "main").contains("have no commit in common"));
    }
}
