//! The folder of a `file` tool. Names are plain names: no path, no leading dot; links are not followed.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use crate::event::{Failure, FailureKind};
use crate::port::{Folder, Pending};

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// `O_NOFOLLOW` on Linux.
const NO_FOLLOW: i32 = 0o400_000;

/// Folders on disk.
#[derive(Debug, Clone)]
pub struct DiskFolder {
    /// Files and folders that are not written.
    own: Vec<PathBuf>,
    /// Whether a text is one of the language: as a file it would be a pipeline, or be brought in by one.
    is_program: fn(&str) -> bool,
}

impl DiskFolder {
    /// Folders in which nothing is written that decides what runs and what is allowed: not these files, nor what lies in these folders, whether
    /// they are there or not; nothing in a folder called `.flow`, where runs are kept; no settings of a project; no file of the language.
    pub fn keeping(own: Vec<PathBuf>, is_program: fn(&str) -> bool) -> DiskFolder {
        // One that is a link counts as what it leads to, too.
        let places = own.iter().flat_map(|path| [Some(real(path)), path.canonicalize().ok()]);
        DiskFolder { own: places.flatten().collect(), is_program }
    }

    /// # Errors
    /// It must not be written (`denied`).
    fn may_write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let place = real(path);
        let is_own = self.own.iter().any(|own| place.starts_with(own));
        let is_kept = place.components().any(|part| part.as_os_str() == ".flow");
        let is_set = place.file_name().is_some_and(|name| name == "flow.toml" || name == "flow.lock");
        let is_yaml = place.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml"));
        let is_program = || (self.is_program)(text) || read(path).is_ok_and(|before| (self.is_program)(&before));
        if is_own || is_kept || is_set || is_yaml && is_program() {
            let shown = crate::diagnostic::visible(&path.display().to_string()).into_owned();
            let message = format!("no step may write {shown}: it decides what flow runs and allows, or is the record of it");
            return Err(Failure::new(FailureKind::Denied, message));
        }
        Ok(())
    }
}

/// Where a path really leads; of one that is not there, where it would be. The last part is no link: a link there is replaced.
fn real(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_path_buf() };
    for above in folder.ancestors() {
        if let (Ok(real), Ok(rest)) = (opened(above).canonicalize(), folder.strip_prefix(above)) {
            return real.join(rest).join(name);
        }
    }
    path.to_path_buf()
}

/// Refuses a path that a link takes elsewhere.
fn held(project: &Path, path: &Path, told: &str, within: bool) -> Result<(), Failure> {
    let place = opened(path).canonicalize().unwrap_or_else(|_| real(path));
    let mut seems = opened(project).canonicalize().unwrap_or_else(|_| project.to_path_buf());
    if within && place.starts_with(&seems) {
        return Ok(());
    }
    for part in Path::new(told).components() {
        match part {
            Component::ParentDir => drop(seems.pop()),
            Component::CurDir => {}
            part => seems.push(part),
        }
    }
    if place == seems {
        return Ok(());
    }
    let shown = |path: &Path| crate::diagnostic::visible(&path.display().to_string()).into_owned();
    let message = format!("{} is not opened: a link leads to {}; name that place itself", shown(path), shown(&place));
    Err(Failure::new(FailureKind::Denied, message))
}

impl Folder for DiskFolder {
    fn held(&self, project: &Path, path: &Path, told: &str, within: bool) -> Pending<()> {
        let held = held(project, path, told, within);
        Box::pin(async move { held })
    }

    fn list(&self, folder: &Path) -> Pending<Vec<String>> {
        let folder = folder.to_path_buf();
        Box::pin(async move { list(&folder) })
    }

    fn read(&self, folder: &Path, name: &str) -> Pending<String> {
        let path = inside(folder, name);
        Box::pin(async move { read(&path?) })
    }

    fn write(&self, folder: &Path, name: &str, text: &str) -> Pending<String> {
        let path = inside(folder, name).and_then(|path| self.may_write(&path, text).map(|()| path));
        let (folder, text) = (folder.to_path_buf(), text.to_string());
        Box::pin(async move {
            let path = path?;
            write(&folder, &path, &text).map_err(|e| failed("write", &path, &e))?;
            Ok(path.display().to_string())
        })
    }
}

/// A name in a folder: 1 to 80 of letters, digits, `.`, `_`, `-`, no leading dot.
fn inside(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let is_plain =
        (1..=80).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if is_plain {
        return Ok(folder.join(name));
    }
    let shown: String = name.chars().take(80).collect();
    let message =
        format!("\"{}\" is no plain file name: letters, digits, \".\", \"_\" and \"-\", at most 80", crate::diagnostic::visible(&shown));
    Err(Failure::new(FailureKind::Denied, message))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(FailureKind::Unavailable, format!("cannot {what} {}: {error}", path.display()))
}

/// A folder as it can be opened: the current one has an empty path.
fn opened(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn list(folder: &Path) -> Result<Vec<String>, Failure> {
    let folder = opened(folder);
    let entries = std::fs::read_dir(folder).map_err(|e| failed("list", folder, &e))?;
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|t| t.is_file());
    let mut names: Vec<String> = entries.flatten().filter(is_file).filter_map(|e| e.file_name().into_string().ok()).collect();
    names.retain(|name| inside(folder, name).is_ok());
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String, Failure> {
    let file = std::fs::OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path).map_err(|e| failed("read", path, &e))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|e| failed("read", path, &e))?;
    if read as u64 > MOST_BYTES {
        return Err(Failure::new(FailureKind::TooLarge, format!("{} is larger than 8 MiB", path.display())));
    }
    Ok(text)
}

/// Whole or not at all: a new file beside it, on disk, then moved over it.
fn write(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let folder = opened(folder);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_denied() {
        for name in ["../x", "/etc/passwd", "a/b", ".hidden", "", "a\0b", "x\n", &"a".repeat(81)] {
            assert_eq!(inside(Path::new("f"), name).unwrap_err().kind, FailureKind::Denied, "{name:?}");
        }
    }

    #[test]
    fn no_step_writes_what_decides_about_steps_also_where_it_is_not_there_yet() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir(at("notes")).unwrap();
        std::fs::create_dir(at(".flow")).unwrap();
        std::os::unix::fs::symlink(at(".flow"), at("linked")).unwrap();
        std::os::unix::fs::symlink(at("state/flow"), at("state_link")).unwrap();
        std::fs::write(at("old.yaml"), "flow: 1\nname: old\n").unwrap();
        std::fs::write(at("notes/led_to.md"), "You write.").unwrap();
        std::os::unix::fs::symlink(at("notes/led_to.md"), at("leads.md")).unwrap();
        let own = vec![at("composer.md"), at("state/flow/trusted"), at("notes/user.toml"), at("leads.md")];
        let folder = DiskFolder::keeping(own, |text| text.contains("flow:"));
        let written = |inner: &str, name: &str, text: &str| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(folder.write(&at(inner), name, text)).map(|_| ()).map_err(|failure| failure.kind)
        };
        for (inner, name, text) in [
            (".flow", "runs.db", "x"),
            ("linked", "runs.db", "x"),
            ("deep/.flow", "new.db", "x"),
            ("", "flow.toml", "x"),
            ("notes", "flow.lock", "x"),
            ("", "composer.md", "x"),
            ("state/flow/trusted", "00ff", "x"),
            ("state/flow", "trusted", "x"),
            ("notes", "user.toml", "x"),
            ("notes", "new.yaml", "flow: 1"),
            ("notes", "NEW.YML", "flow: 1"),
            ("", "old.yaml", "gone: true"),
            ("", "leads.md", "x"),
            ("notes", "led_to.md", "x"),
        ] {
            assert_eq!(written(inner, name, text), Err(FailureKind::Denied), "{inner}/{name}");
        }
        std::fs::create_dir_all(at("state/flow")).unwrap();
        assert_eq!(written("state_link", "trusted", "x"), Err(FailureKind::Denied), "by way of a link");
        for (inner, name, text) in [("notes", "a.txt", "flow: 1"), ("notes", "list.yaml", "a: 1"), ("new", "composer.md", "x")] {
            assert_eq!(written(inner, name, text), Ok(()), "{inner}/{name}");
        }
        assert_eq!(std::fs::read_dir(at(".flow")).unwrap().count(), 0);
    }

    #[test]
    fn a_link_takes_no_path_where_a_rule_does_not_let_it_go() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for folder in ["project/open", "project/closed", "outside"] {
            std::fs::create_dir_all(at(folder)).unwrap();
            std::fs::write(at(folder).join("a.md"), "x").unwrap();
        }
        let link = |from: &str, to: &str| std::os::unix::fs::symlink(at(to), at(from)).unwrap();
        link("project/open/out.md", "outside/a.md");
        link("project/open/side.md", "project/closed/a.md");
        link("project/away", "outside");
        link("linked", "project");
        let ask = |project: &str, path: &str, told: &str, within: bool| held(&at(project), &at(project).join(path), told, within).is_ok();
        for project in ["project", "linked"] {
            assert!(ask(project, "open/a.md", "open/a.md", false));
            assert!(ask(project, "open/../closed/a.md", "closed/a.md", false));
            assert!(ask(project, "open/new.md", "open/new.md", false), "what is not there yet");
            assert!(ask(project, "open/side.md", "open/side.md", true), "inside the project");
            assert!(!ask(project, "open/side.md", "open/side.md", false), "where another rule may hold");
            for (path, told) in [("open/out.md", "open/out.md"), ("away/a.md", "away/a.md"), ("away/new.md", "away/new.md")] {
                assert!(!ask(project, path, told, false) && !ask(project, path, told, true), "{path}");
            }
            // The folder above a link is not where its text says.
            assert!(!ask(project, "away/../open/a.md", "open/a.md", false));
        }
        let outside = at("outside/a.md").canonicalize().unwrap();
        assert!(ask("project", outside.to_str().unwrap(), outside.to_str().unwrap(), false), "a place outside that is named itself");
        let refused = held(&at("project"), &at("project/open/out.md"), "open/out.md", false).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Denied);
        assert!(refused.message.contains("a link leads to"), "{}", refused.message);
    }

    #[test]
    fn a_planted_link_is_not_followed_and_is_replaced_by_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        let inner = folder.path().join("tool");
        std::fs::create_dir(&inner).unwrap();
        std::os::unix::fs::symlink(&outside, inner.join("link")).unwrap();
        assert!(read(&inner.join("link")).is_err());
        write(&inner, &inner.join("link"), "new").unwrap();
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(read(&inner.join("link")).unwrap(), "new");
        assert_eq!(list(&inner).unwrap(), ["link"]);
    }
}
