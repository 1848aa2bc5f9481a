//! `flow init`: creates a first project with tests that runs without a key (files in `starter/`), or the shipped policies (`policies/`).

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::Exit;
use super::arguments::SharedOptions;
use super::refusal::Refusal;
use crate::adapter::files::stays_in;
use crate::diagnostic::shell_path;
use crate::runtime::shown_path;

macro_rules! starter {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../starter/", $name)))),*] };
}

/// The files of a first project: their paths and contents.
pub const STARTER: &[(&str, &str)] = starter![
    "flow.toml",
    "gitattributes",
    "gitignore",
    "pipelines/shop/pipeline.yaml",
    "pipelines/shop/demo.replies.yaml",
    "pipelines/shop/data/hours.csv",
    "channels/sms.yaml",
    "channels/email.yaml",
    "style_guides/friendly.yaml",
    "tests/shop.test.yaml",
    "tests/goldens/shop.test/saturday/sms.txt",
    "tests/goldens/shop.test/saturday/email.md",
];

macro_rules! policies {
    ($($name:literal),* $(,)?) => { &[$((concat!("policies/", $name), include_str!(concat!("../../../policies/", $name)))),*] };
}

/// The shipped policies: their paths and contents.
pub const POLICIES: &[(&str, &str)] = policies!["development_safe.yaml", "production.yaml", "read_only_strict.yaml"];

/// Writes the files of a first project, or the shipped policies. Nothing is written if one of them exists already.
pub(super) fn run(folder: &Path, only_policies: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let files = if only_policies { POLICIES } else { STARTER };
    let folder = folder.strip_prefix(".").unwrap_or(folder);
    // The files for git are stored without the dot, so that they do not affect the repository of flow itself.
    let place = |name: &str| folder.join(if name.starts_with("git") { format!(".{name}") } else { name.to_owned() });
    let there: Vec<_> = files.iter().map(|(name, _)| place(name)).filter(|path| path.symlink_metadata().is_ok()).collect();
    if !there.is_empty() {
        let lines = there.iter().map(|path| format!("  {}", shown_path(path)));
        let head = "nothing was written, because these files already exist:".to_owned();
        return Err(Refusal(Exit::Usage, std::iter::once(head).chain(lines).collect()));
    }
    let mut made = Made::default();
    for (name, text) in files {
        let path = place(name);
        if let Err(problem) = stays_in(folder, &path).and_then(|()| made.write(&path, text)) {
            made.remove();
            return Err(refusal!(Failed, "cannot write {}: {problem}; files written before it were removed", shown_path(&path)));
        }
    }
    if !shared.quiet {
        made.files.iter().for_each(|path| tell!("wrote {}", shown_path(path)));
        tell!();
        if only_policies {
            tell!("Now, in the head of a pipeline, with the path from its own folder:");
            tell!("  imports: [policies/production.yaml]");
            tell!("  policy: production");
            return Ok(Exit::Ok);
        }
        tell!("Now:");
        if !folder.as_os_str().is_empty() {
            tell!("  cd {}", shell_path(&folder.display().to_string()));
        }
        tell!("  flow run pipelines/shop/pipeline.yaml --input message=\"When do you open on Saturday?\"");
        tell!("  flow test");
        tell!("  flow validate");
    }
    Ok(Exit::Ok)
}

/// Created files and folders, to be removed if the rest cannot be written.
#[derive(Default)]
struct Made {
    files: Vec<PathBuf>,
    /// Outer ones first.
    folders: Vec<PathBuf>,
}

impl Made {
    /// Writes a new file with its folders; an existing file is not touched.
    fn write(&mut self, path: &Path, text: &str) -> std::io::Result<()> {
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            std::fs::create_dir(folder)?;
            self.folders.push(folder.to_path_buf());
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        self.files.push(path.to_path_buf());
        file.write_all(text.as_bytes())
    }

    /// Removes the created files and folders; a folder with other content stays.
    fn remove(&self) {
        self.files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        self.folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_taken_away_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let mut made = Made::default();
        made.write(&at("new/deep/a.yaml"), "a").unwrap();
        made.write(&at("b.yaml"), "b").unwrap();
        std::fs::write(at("new/theirs"), "").unwrap();
        assert!(made.write(&at("b.yaml"), "other").is_err());
        made.remove();
        assert!(!at("b.yaml").exists() && !at("new/deep").exists() && at("new/theirs").exists());
    }
}
