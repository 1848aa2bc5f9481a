//! The folder of a `file` tool. Names are plain names: no path, no leading dot; links are not followed. A name whose letters are composed in another way
//! than on the disk (an `ü` of one character or of two) is the same name, and so is one in which is escaped what nobody sees.
//!
//! The work runs on separate threads, which a run abandons after a time limit, because a network disk may never answer.

use std::fs::{DirEntry, File};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use super::files::{self, real, shown_path};
use super::os;
use super::own::OwnFiles;
use crate::diagnostic::visible;
use crate::event::{Failure, FailureKind};
use crate::kept_name::check_kept;
use crate::port::{Folder, Pending, new_name, plain_name};

/// Maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum wait for a disk, if nothing else ends the wait earlier.
const MOST_WAIT: std::time::Duration = std::time::Duration::from_secs(300);

/// Access to folders on disk.
#[derive(Debug, Clone)]
pub struct DiskFolder {
    own: Arc<OwnFiles>,
}

impl DiskFolder {
    /// Creates access to folders, in which the files in `own` are neither read nor written.
    pub fn keeping(own: Arc<OwnFiles>) -> DiskFolder {
        DiskFolder { own }
    }
}

/// Rejects a path that leads elsewhere through a link.
pub(super) fn check_links(project: &Path, path: &Path, told: &str, within: bool) -> Result<(), Failure> {
    let place = files::here(path).canonicalize().unwrap_or_else(|_| real(path));
    let mut seems = files::here(project).canonicalize().unwrap_or_else(|_| project.to_path_buf());
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
    let message = format!("{} was not opened: it is a link to {}; name that path itself", shown(path), shown(&place));
    Err(Failure::new(FailureKind::Denied, message))
}

impl Folder for DiskFolder {
    fn check_links(&self, project: &Path, path: &Path, told: &str, within: bool) -> Pending<()> {
        let (project, path, told) = (project.to_path_buf(), path.to_path_buf(), told.to_owned());
        on_disk(move || check_links(&project, &path, &told, within))
    }

    fn list(&self, folder: &Path) -> Pending<Vec<String>> {
        let (own, folder) = (Arc::clone(&self.own), folder.to_path_buf());
        on_disk(move || list(&own, &folder))
    }

    fn read(&self, folder: &Path, name: &str) -> Pending<String> {
        let (own, folder, name) = (Arc::clone(&self.own), folder.to_path_buf(), name.to_owned());
        on_disk(move || read(&own, &folder, &name))
    }

    fn write(&self, folder: &Path, name: &str, text: &str) -> Pending<String> {
        let (own, folder, name, text) = (Arc::clone(&self.own), folder.to_path_buf(), name.to_owned(), text.to_owned());
        on_disk(move || {
            let path = target(&folder, &name)?;
            own.may_write(&path, &text)?;
            files::put_private(&path, text.as_bytes()).map_err(|e| failed("write", &path, &e))?;
            Ok(path.display().to_string())
        })
    }

    fn append(&self, folder: &Path, name: &str, text: &str, most: u64) -> Pending<String> {
        let (own, folder, name, text) = (Arc::clone(&self.own), folder.to_path_buf(), name.to_owned(), text.to_owned());
        on_disk(move || append(&own, &target(&folder, &name)?, &text, most))
    }

    fn copy(&self, picture: &Path, most: u64, folder: &Path, name: &str) -> Pending<String> {
        let (own, folder, name, picture) = (Arc::clone(&self.own), folder.to_path_buf(), name.to_owned(), picture.to_path_buf());
        on_disk(move || copy(&own, &picture, most, &target(&folder, &name)?))
    }
}

/// Copies a picture. What is written is held to the same rules as a text.
fn copy(own: &OwnFiles, picture: &Path, most: u64, path: &Path) -> Result<String, Failure> {
    let read = own.open(picture, files::open_unlinked)?.and_then(|file| files::within(file, most));
    let bytes = read.map_err(|e| match e.kind() {
        std::io::ErrorKind::FileTooLarge => {
            Failure::new(FailureKind::TooLarge, format!("the picture {} is larger than {most} bytes", shown_path(picture)))
        }
        std::io::ErrorKind::NotFound => {
            let message = format!(
                "the picture {} is gone; pictures of code are kept until flow ends: run the step that made it again",
                shown_path(picture)
            );
            Failure::new(FailureKind::Unavailable, message)
        }
        _ => failed("read", picture, &e),
    })?;
    check_kept(picture, &bytes)?;
    own.may_write(path, &String::from_utf8_lossy(&bytes))?;
    files::put_private(path, &bytes).map_err(|e| failed("write", path, &e))?;
    Ok(path.display().to_string())
}

/// Adds a text to a file. The file is replaced by a longer one in one act, so nobody sees a part of the text, whatever ends the process; and who adds holds
/// the file, so that of two who do so at once each adds to what the other has written.
fn append(own: &OwnFiles, path: &Path, text: &str, most: u64) -> Result<String, Failure> {
    own.may_write(path, text)?;
    let failing = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::FileTooLarge => {
            Failure::new(FailureKind::TooLarge, format!("{} would have more than {most} bytes", shown_path(path)))
        }
        _ => failed("write", path, &e),
    };
    let file = hold(path).map_err(failing)?;
    let (before, kept) = (files::within(&file, most).map_err(failing)?, file.metadata().map_err(failing)?);
    let mut whole = before;
    if whole.last().is_some_and(|last| *last != b'\n') {
        whole.push(b'\n');
    }
    whole.extend_from_slice(text.as_bytes());
    if !text.ends_with('\n') {
        whole.push(b'\n');
    }
    if whole.len() as u64 > most {
        return Err(failing(std::io::ErrorKind::FileTooLarge.into()));
    }
    own.may_write(path, &String::from_utf8_lossy(&whole))?;
    files::put_like(path, &whole, Some(&kept)).map_err(failing)?;
    Ok(path.display().to_string())
}

/// Opens a file, made where it is not there, and holds it until it is closed: alone, and as the file of this name.
fn hold(path: &Path) -> std::io::Result<File> {
    files::private_folder(files::here(path.parent().unwrap_or(path)))?;
    loop {
        let file = files::open_private_unlinked(path)?;
        file.lock()?;
        // Who held it before may have put another in its place.
        let now = path.symlink_metadata();
        if now.is_ok_and(|now| file.metadata().is_ok_and(|held| os::file_id(&held) == os::file_id(&now))) {
            return Ok(file);
        }
    }
}

/// Runs work that may wait for a disk. Dropping the future stops waiting.
fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Pending<T> {
    Box::pin(async move {
        match tokio::time::timeout(MOST_WAIT, tokio::task::spawn_blocking(work)).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => {
                Err(Failure::new(FailureKind::Internal, "an internal error of flow stopped the work on a file; please report it"))
            }
            Err(_) => Err(Failure::new(FailureKind::Timeout, format!("the disk did not respond for {} s", MOST_WAIT.as_secs()))),
        }
    })
}

/// The path of a new file, or of the one that it replaces.
fn target(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    new_name(name)?;
    Ok(same_name(folder, name, own_name).unwrap_or_else(|| folder.join(name)))
}

/// The file whose name, as `named` gives it, is the same but for how its letters are composed, if the name itself is not there and exactly one is.
fn same_name(folder: &Path, name: &str, named: fn(&DirEntry) -> Option<String>) -> Option<PathBuf> {
    if folder.join(name).symlink_metadata().is_ok() {
        return None;
    }
    let mut same = entries(folder).ok()?.filter(|entry| named(entry).is_some_and(|other| other.nfc().eq(name.nfc())));
    let found = same.next()?;
    same.next().is_none().then(|| folder.join(found.file_name()))
}

fn entries(folder: &Path) -> std::io::Result<impl Iterator<Item = DirEntry>> {
    Ok(std::fs::read_dir(files::here(folder))?.flatten())
}

/// The name of an entry, if it is text.
fn own_name(entry: &DirEntry) -> Option<String> {
    entry.file_name().into_string().ok()
}

/// The name of an entry as it is listed, unless it is hidden: what cannot be seen in it is escaped, so is a byte that is no text (`\377`), and a backslash is
/// doubled, so that no two are listed alike.
fn listed_name(entry: &DirEntry) -> Option<String> {
    let (name, mut listed) = (entry.file_name(), String::new());
    for part in name.as_encoded_bytes().utf8_chunks() {
        listed.push_str(&visible(&part.valid().replace('\\', "\\\\")));
        part.invalid().iter().for_each(|byte| listed.push_str(&format!("\\{byte:03o}")));
    }
    (!listed.starts_with('.')).then_some(listed)
}

/// The file that is listed by a name, where that is not its own: a backslash is in all of these, and in no file that flow writes.
fn escaped_name(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = name.contains('\\').then(|| entries(folder).ok()).flatten()?;
    entries.find(|entry| listed_name(entry).as_deref() == Some(name)).map(|entry| folder.join(entry.file_name()))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::FileTooLarge => Failure::new(FailureKind::TooLarge, format!("{} is larger than 8 MiB", path.display())),
        _ => Failure::new(FailureKind::Unavailable, format!("cannot {what} {}: {error}", path.display())),
    }
}

fn list(own: &OwnFiles, folder: &Path) -> Result<Vec<String>, Failure> {
    own.may_read(folder)?;
    let entries = entries(folder).map_err(|e| failed("list", folder, &e))?;
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<String> = files.filter_map(|entry| listed_name(&entry)).collect();
    names.sort();
    Ok(names)
}

fn read(own: &OwnFiles, folder: &Path, name: &str) -> Result<String, Failure> {
    plain_name(name)?;
    let path = escaped_name(folder, name).or_else(|| same_name(folder, name, listed_name)).unwrap_or_else(|| folder.join(name));
    let read = own.open(&path, files::open_unlinked)?.and_then(|file| files::within(file, MOST_BYTES));
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    text.map_err(|e| {
        let mut failure = failed("read", &path, &e);
        if e.kind() == std::io::ErrorKind::NotFound
            && let Some(other) = look_alike(own, folder, name)
        {
            failure.message.push_str(&format!("; there is \"{}\", which is written with other characters", visible(&other)));
        }
        failure
    })
}

/// The one name in a folder that looks like this one.
fn look_alike(own: &OwnFiles, folder: &Path, name: &str) -> Option<String> {
    let names = list(own, folder).ok()?;
    let mut alike = names.into_iter().filter(|other| seems(other) == seems(name));
    alike.next().filter(|_| alike.next().is_none())
}

/// A name as it looks: letters of one form, small, each kind of blank, quote and dash as one.
pub(super) fn seems(name: &str) -> String {
    let plain = |c: char| match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '`' | '\u{b4}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '_' => '-',
        c => c,
    };
    let small: String = name.nfkc().flat_map(char::to_lowercase).map(plain).collect();
    small.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_denied() {
        for name in ["../x", "/etc/passwd", "a/b", ".hidden", "", "a\0b", "x\n", &"a".repeat(256)] {
            assert_eq!(target(Path::new("f"), name).unwrap_err().kind, FailureKind::Denied, "{name:?}");
            assert_eq!(read(&OwnFiles::default(), Path::new("f"), name).unwrap_err().kind, FailureKind::Denied, "{name:?}");
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
        let folder =
            DiskFolder::keeping(Arc::new(OwnFiles { fixed: own, is_program: Some(|text| text.contains("flow:")), ..OwnFiles::default() }));
        let written = |inner: &str, name: &str, text: &str| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
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
        let ask =
            |project: &str, path: &str, told: &str, within: bool| check_links(&at(project), &at(project).join(path), told, within).is_ok();
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
        let refused = check_links(&at("project"), &at("project/open/out.md"), "open/out.md", false).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Denied);
        assert!(refused.message.contains("it is a link to"), "{}", refused.message);
    }

    #[test]
    fn what_is_added_stands_on_lines_of_its_own_below_the_rest() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let own = OwnFiles { is_program: Some(|text| text.contains("flow:")), ..OwnFiles::default() };
        let add = |name: &str, text: &str, most: u64| {
            target(&at("out"), name).and_then(|path| append(&own, &path, text, most)).map(|_| ()).map_err(|failure| failure.kind)
        };
        let text = |name: &str| std::fs::read_to_string(at("out").join(name)).unwrap();
        for (given, whole) in [("one", "one\n"), ("two\n\nlines\n", "one\ntwo\n\nlines\n"), ("", "one\ntwo\n\nlines\n\n")] {
            assert_eq!(add("log.txt", given, 100), Ok(()));
            assert_eq!(text("log.txt"), whole);
        }
        std::fs::write(at("out/mine.txt"), "no line end").unwrap();
        std::fs::set_permissions(at("out/mine.txt"), os::permissions(0o640)).unwrap();
        assert_eq!(add("mine.txt", "added", 100), Ok(()));
        assert_eq!(text("mine.txt"), "no line end\nadded\n");
        assert_eq!(os::mode(&at("out/mine.txt").metadata().unwrap()) & 0o777, 0o640, "others may read it as before");
        assert_eq!(add("mine.txt", "more", 19), Err(FailureKind::TooLarge));
        assert_eq!(text("mine.txt"), "no line end\nadded\n");
        std::os::unix::fs::symlink(at("out/mine.txt"), at("out/link.txt")).unwrap();
        assert_eq!(add("link.txt", "x", 100), Err(FailureKind::Unavailable), "a link is not followed");
        assert_eq!(add("p.yaml", "flow: 1", 100), Err(FailureKind::Denied));
        assert_eq!(add("../x", "x", 100), Err(FailureKind::Denied));
    }

    #[test]
    fn of_many_who_add_at_once_none_is_lost_or_torn() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log.txt");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for turn in 0..20 {
                        let line = format!("{writer}-{turn}-{}", "x".repeat(5_000));
                        append(&OwnFiles::default(), path, &line, 1 << 30).unwrap();
                    }
                });
            }
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.trim_end_matches('x').len() + 5_000 == line.len()));
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 160);
    }

    #[test]
    fn a_picture_is_copied_within_its_bound_and_to_no_place_of_flow() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("chart.png"), b"\x89PNG\r\n\x1a\n\xff\x00").unwrap();
        std::fs::write(at("pipeline.png"), "flow: 1\n").unwrap();
        std::fs::write(at(".env"), "canary").unwrap();
        let own = OwnFiles { is_program: Some(|text| text.contains("flow:")), ..OwnFiles::default() };
        let copied = |from: &str, most: u64, inner: &str, name: &str| {
            target(&at(inner), name).and_then(|path| copy(&own, &at(from), most, &path)).map_err(|failure| failure.kind)
        };
        copied("chart.png", 10, "out", "a.png").unwrap();
        assert_eq!(std::fs::read(at("out/a.png")).unwrap(), std::fs::read(at("chart.png")).unwrap());
        assert_eq!(copied("chart.png", 9, "out", "b.png"), Err(FailureKind::TooLarge));
        assert_eq!(copied("gone.png", 9, "out", "b.png"), Err(FailureKind::Unavailable));
        for (from, inner, name) in [
            (".env", "out", "b.png"),
            ("chart.png", "out", "../b.png"),
            ("chart.png", ".flow", "b.png"),
            ("chart.png", "", "flow.toml"),
            ("pipeline.png", "out", "p.yaml"),
        ] {
            assert_eq!(copied(from, 100, inner, name), Err(FailureKind::Denied), "{from} {inner}/{name}");
        }
        assert_eq!(std::fs::read_dir(at("out")).unwrap().count(), 1);
    }

    #[test]
    fn every_name_is_listed_and_opened_and_one_of_other_letters_is_found_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let own = OwnFiles::default();
        let names = [
            "100%", "-dash", "Gro\u{308}\u{df}e.txt", "UPPER.TXT", "[1].csv", "a b (final).txt", "a'b\".txt", "star*.csv", "{{x}}.csv",
            "\u{62a5}\u{544a}.txt",
        ];
        for name in names {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        std::fs::write(folder.path().join(".hidden"), "x").unwrap();
        let listed = list(&own, folder.path()).unwrap();
        let mut expected = names.to_vec();
        expected.sort();
        assert_eq!(listed, expected);
        for name in &listed {
            assert_eq!(read(&own, folder.path(), name).unwrap(), *name);
        }
        assert_eq!(read(&own, folder.path(), "Gr\u{f6}\u{df}e.txt").unwrap(), "Gro\u{308}\u{df}e.txt");
        for (name, alike) in [("upper.txt", "UPPER.TXT"), ("a\u{a0}b (final).txt", "a b (final).txt"), ("a\u{2019}b\u{201d}.txt", "a'b\"")]
        {
            let told = read(&own, folder.path(), name).unwrap_err().message;
            assert!(told.contains(&format!("there is \"{alike}")), "{told}");
        }
        // What is written replaces the file of that name, however it is composed; of two no other is meant.
        assert_eq!(target(folder.path(), "Gr\u{f6}\u{df}e.txt").unwrap(), folder.path().join("Gro\u{308}\u{df}e.txt"));
        std::fs::write(folder.path().join("Gr\u{f6}\u{df}e.txt"), "one").unwrap();
        assert_eq!(read(&own, folder.path(), "Gr\u{f6}\u{df}e.txt").unwrap(), "one");
    }

    #[test]
    fn no_two_names_are_listed_alike_and_each_opens_the_file_that_it_names() {
        use std::os::unix::ffi::OsStrExt;
        let (folder, own) = (tempfile::tempdir().unwrap(), OwnFiles::default());
        let long: Vec<u8> = [0xff; 255].to_vec();
        let names: [(&[u8], &str); 12] = [
            (b"a\nb", "a\\nb"),
            (b"a\\nb", "a\\\\nb"),
            (b"a\\\\nb", "a\\\\\\\\nb"),
            (b"a\\", "a\\\\"),
            (b"a\xff", "a\\377"),
            (b"a\\377", "a\\\\377"),
            (b"a\x85", "a\\205"),
            ("a\u{85}".as_bytes(), "a\\x85"),
            ("a\u{fffd}".as_bytes(), "a\u{fffd}"),
            ("a\u{202e}".as_bytes(), "a\\u202E"),
            (b"a\\u202E", "a\\\\u202E"),
            (&long, &"\\377".repeat(255)),
        ];
        for (name, _) in names {
            std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), hex::encode(name)).unwrap();
        }
        let listed = list(&own, folder.path()).unwrap();
        let mut expected = names.map(|(_, listed)| listed.to_owned()).to_vec();
        expected.sort();
        assert_eq!(listed, expected);
        for (name, listed) in names {
            assert_eq!(read(&own, folder.path(), listed).unwrap(), hex::encode(name), "{listed}");
        }
        // A name that is written as it is is found, too, unless another is listed by it; and no new file takes the place of one.
        std::fs::remove_file(folder.path().join("a\nb")).unwrap();
        assert_eq!(read(&own, folder.path(), "a\\nb").unwrap(), hex::encode(b"a\\nb"));
        assert_eq!(target(folder.path(), "a\\377").unwrap_err().kind, FailureKind::Denied);
    }

    #[test]
    fn a_planted_link_is_not_followed_and_is_replaced_by_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        let inner = folder.path().join("tool");
        std::fs::create_dir(&inner).unwrap();
        std::os::unix::fs::symlink(&outside, inner.join("link")).unwrap();
        assert!(read(&OwnFiles::default(), &inner, "link").is_err());
        files::put_private(&inner.join("link"), b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(read(&OwnFiles::default(), &inner, "link").unwrap(), "new");
        assert_eq!(list(&OwnFiles::default(), &inner).unwrap(), ["link"]);
    }
}
