//! Folders that the user made readable for all programs in the sandbox: where programs are installed that lie in a home.

use std::path::{Path, PathBuf};

use crate::environment::{home, user_settings};
use crate::files::shown_path;
use crate::model::{logins, unreadable};

/// One of these folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableFolder {
    /// As it is written in the settings.
    pub written: String,
    /// Where it is, without links; or why no program gets it.
    pub place: Result<PathBuf, String>,
}

impl ReadableFolder {
    /// Looks a folder of the settings up. It is given neither the home nor what holds it, nor a place whose real name is against it.
    pub fn find(written: &str) -> ReadableFolder {
        ReadableFolder { written: written.to_owned(), place: place(written, home().as_deref()) }
    }
}

fn place(written: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    unreadable(written).map_or(Ok(()), Err)?;
    let named = match (written.strip_prefix("~/"), home) {
        (Some(inner), Some(home)) => home.join(inner),
        (Some(_), None) => return Err("HOME is not an absolute path".to_owned()),
        (None, _) => PathBuf::from(written),
    };
    let place = named.canonicalize().map_err(|e| e.to_string())?;
    if !place.is_dir() {
        return Err("it is no folder".to_owned());
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    if home.as_ref().is_some_and(|home| home.starts_with(&place)) {
        return Err("it is the home, or holds it".to_owned());
    }
    if let Some(login) = logins().find(|login| place.join(login).symlink_metadata().is_ok()) {
        return Err(format!("it holds {login}, with logins; name a folder beside that"));
    }
    // A link may lead to a place that could not be written.
    let in_home = home.and_then(|home| place.strip_prefix(home).ok().map(|inner| format!("~/{}", inner.display())));
    match unreadable(&in_home.unwrap_or_else(|| place.display().to_string())) {
        Some(why) => Err(format!("it leads to {}: {why}", shown_path(&place))),
        None => Ok(place),
    }
}

/// What to do for a program that did not start, or ended since it found nothing to run, and lies outside of what every program may read.
pub(super) fn help(program: &Path) -> Option<String> {
    let written = installation(program)?;
    let file = user_settings().ok().flatten().map(|file| format!(" ({})", file.display())).unwrap_or_default();
    Some(format!(
        "it is {}, and what it loads from there is not there for programs in the sandbox; to make it readable for them, write \
         readable = [\"{written}\"] under [sandbox] in your own settings{file}",
        shown_path(program)
    ))
}

/// The same for a program that ran and failed: if it complains of a file of its own installation that is there, and was not there for it.
pub(super) fn help_after(program: &Path, stderr: &[u8], is_given: impl Fn(&Path) -> bool) -> Option<String> {
    let said = String::from_utf8_lossy(stderr);
    if !["EACCES", "ENOENT", "Permission denied", "No such file or directory"].iter().any(|word| said.contains(word)) {
        return None;
    }
    let folder = place(&installation(program)?, home().as_deref()).ok()?;
    let is_missing = |word: &str| {
        let real = Some(Path::new(word)).filter(|path| path.is_absolute()).and_then(|path| path.canonicalize().ok());
        real.is_some_and(|real| real.starts_with(&folder) && !is_given(&real))
    };
    said.split(|c: char| c.is_whitespace() || "'\"`,;:()[]".contains(c)).any(is_missing).then(|| help(program))?
}

fn installation(program: &Path) -> Option<String> {
    proposed(program).or_else(|| proposed(&program.canonicalize().ok()?))
}

/// The folder to make readable for a program, as the user would write it. `None`: no name can be proposed.
fn proposed(program: &Path) -> Option<String> {
    let folder = program.parent()?;
    let Some(inner) = home().and_then(|home| folder.strip_prefix(home).ok().map(Path::to_path_buf)) else {
        let installation = if folder.ends_with("bin") { folder.parent()? } else { folder };
        return Some(installation.display().to_string()).filter(|written| unreadable(written).is_none());
    };
    // The widest folder that may be named: the whole installation is below it.
    let mut wider: Vec<&Path> = inner.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
    wider.reverse();
    wider.into_iter().map(|part| format!("~/{}", part.display())).find(|written| unreadable(written).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_home_nor_its_secrets_can_be_made_readable_also_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for name in [".config/gh", ".fly/bin", "other/.config/gh", ".pyenv/shims", ".ssh/deep", ".local/share/mise", "code"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join("file"), "").unwrap();
        for (to, from) in [(".ssh", "code/a"), ("", "code/b"), ("/etc", "code/c"), (".pyenv", "code/d"), (".config/gh", "code/e")] {
            std::os::unix::fs::symlink(home.join(to), home.join(from)).unwrap();
        }
        let of = |written: &str| place(written, Some(&home));
        assert_eq!(of("~/.pyenv"), Ok(home.join(".pyenv")));
        assert_eq!(of("~/code/d"), Ok(home.join(".pyenv")));
        assert_eq!(of("~/.local/share/mise/"), Ok(home.join(".local/share/mise")));
        assert_eq!(of("~/.fly/bin"), Ok(home.join(".fly/bin")));
        for (written, why) in [
            ("~", "the home"),
            ("~/", "the home"),
            ("~/.ssh", ".ssh holds secrets"),
            ("~/.ssh/deep", ".ssh holds secrets"),
            ("~/code/a", "it leads to"),
            ("~/code/b", "the home, or holds it"),
            ("~/code/c", "folder of the system"),
            ("~/.local/share", "what many programs keep"),
            ("~/../x", "it has .."),
            ("/", "folder of the system"),
            ("/home", "folder of the system"),
            ("/etc/ssl", "folder of the system"),
            (".pyenv", "neither with / nor with ~/"),
            ("~/code/.env", ".env holds secrets"),
            ("~/.config/gh", ".config/gh holds logins"),
            ("~/.config/gcloud/configurations", ".config/gcloud holds logins"),
            ("~/.Config/Google-Chrome", ".config/google-chrome holds logins"),
            ("~/.bitcoin", ".bitcoin holds logins"),
            ("~/.aws", ".aws holds secrets"),
            ("~/.password-store", ".password-store holds secrets"),
            ("~/.fly", "it holds .fly/config.yml"),
            ("~/other", "it holds .config/gh"),
            ("~/code/e", "leads to"),
            ("~/file", "no folder"),
            ("~/none", "No such file"),
        ] {
            assert!(of(written).is_err_and(|told| told.contains(why)), "{written}: {:?}", of(written));
        }
        let above = home.parent().unwrap().display().to_string();
        assert!(of(&above).is_err() && place("~/.pyenv", None).is_err());
        assert!(of(&home.display().to_string()).unwrap_err().contains("the home, or holds it"));
    }
}
