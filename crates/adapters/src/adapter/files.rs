//! Files on the disk of this machine: the one place that opens them. Only regular files are opened, and nothing here waits for somebody at the other
//! end of a pipe; [`read_named`] is for what a person names on the command line.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::os;
use crate::diagnostic::visible;

/// Most bytes of a file that a person writes: pipelines, imports, channels, instructions.
pub(super) const LARGEST: u64 = 1024 * 1024;

/// How deep folders are searched.
const DEEPEST: usize = 16;

/// A file or folder that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {act} {}: {source}", shown(path))]
pub struct FileError {
    act: &'static str,
    path: PathBuf,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// A path as people read it: on one line, without characters that cannot be seen.
pub fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// A path as it can be opened: the current folder has an empty one.
pub(super) fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Where a path really leads; of one that is not there, where it would be. The last part is not followed.
pub(super) fn real(path: &Path) -> PathBuf {
    let path = &std::path::absolute(here(path)).unwrap_or_else(|_| path.to_path_buf());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.clone() };
    for above in folder.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), folder.strip_prefix(above)) {
            return real.join(rest).join(name);
        }
    }
    path.clone()
}

/// The error of what could not be done with a file or folder: `read`, `write`.
pub fn cannot<E: Into<Box<dyn std::error::Error + Send + Sync>>>(act: &'static str, path: &Path) -> impl Fn(E) -> FileError + Copy {
    move |source| FileError { act, path: path.to_path_buf(), source: source.into() }
}

/// Opens a regular file for reading. A pipe, a socket or a device is an error at once, also one that came there a moment ago.
///
/// # Errors
/// There is no such file, it is something else, or it may not be read.
pub fn open(path: &Path) -> std::io::Result<File> {
    open_with(path, false)
}

/// The same, where the last part of the path must not be a link.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_unlinked(path: &Path) -> std::io::Result<File> {
    open_with(path, true)
}

fn open_with(path: &Path, is_own: bool) -> std::io::Result<File> {
    // Looked at before, too: some devices do something when they are opened.
    regular(&fs::metadata(path).map_err(|e| leads_nowhere(path).unwrap_or(e))?)?;
    let file = os::at_once(OpenOptions::new().read(true), is_own).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// The error of a link that leads to nothing. `None`: it is none.
fn leads_nowhere(path: &Path) -> Option<std::io::Error> {
    let is_missing = |what: std::io::Result<_>| what.is_err_and(|e: std::io::Error| e.kind() == ErrorKind::NotFound);
    let is = fs::symlink_metadata(path).is_ok() && is_missing(fs::metadata(path));
    is.then(|| std::io::Error::other(format!("{} is a link that leads nowhere", path.display())))
}

/// Opens a file that need not be there. Only where nothing stands, and no link on the way leads nowhere, there is none.
///
/// # Errors
/// What is there is no regular file, or it may not be read.
pub fn open_if_there(path: &Path) -> std::io::Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Ok(_) => open(path).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => path.ancestors().find_map(leads_nowhere).map_or(Ok(None), Err),
        Err(error) => Err(error),
    }
}

pub(super) fn regular(what: &fs::Metadata) -> std::io::Result<()> {
    match (what.is_file(), what.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(std::io::Error::new(ErrorKind::IsADirectory, "it is a folder, not a file")),
        _ => Err(std::io::Error::new(ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a regular file")),
    }
}

/// A whole regular file of at most so many bytes.
///
/// # Errors
/// As [`open`], or it has more.
pub fn read(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    within(open(path)?, most)
}

/// The same, as text.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> std::io::Result<String> {
    text(read(path, most)?)
}

/// The whole text that stands where a person said so on the command line: a file, or a pipe such as `<(command)`. It waits for whoever writes into it;
/// call it only while signals still end the program.
///
/// # Errors
/// It cannot be read, is not UTF-8, or has more than so many bytes.
pub fn read_named(path: &Path, most: u64) -> std::io::Result<String> {
    text(within(File::open(path)?, most)?)
}

/// The whole text of standard input.
///
/// # Errors
/// As [`read_named`].
pub fn read_input(most: u64) -> std::io::Result<String> {
    text(within(std::io::stdin().lock(), most)?)
}

/// Everything that comes, of at most so many bytes.
///
/// # Errors
/// It cannot be read, or there is more.
pub fn within(from: impl Read, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![];
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let told = if most >= 1 << 20 { format!("{} MiB", most >> 20) } else { format!("{} KiB", most >> 10) };
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {told}")));
    }
    Ok(bytes)
}

pub(super) fn text(bytes: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(bytes).map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Looks whether a file that is about to be written really lies in this folder: no link in its path may lead out of it. What is not there
/// yet leads nowhere.
///
/// # Errors
/// A link leads out.
pub fn stays_in(base: &Path, path: &Path) -> std::io::Result<()> {
    let Ok(base) = fs::canonicalize(here(base)) else { return Ok(()) };
    let Some(folder) = path.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.exists()) else { return Ok(()) };
    let real = fs::canonicalize(here(folder))?;
    if real.starts_with(&base) {
        return Ok(());
    }
    let message = format!("a link leads out of {}, to {}; remove it, or put the files there yourself", base.display(), real.display());
    Err(std::io::Error::new(ErrorKind::InvalidInput, message))
}

/// Opens a file of ours for reading and writing. A new one can be read by its owner only; one that is there stays as it is.
///
/// # Errors
/// It cannot be made, or what is there is no regular file.
pub(crate) fn open_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = os::at_once(os::private(&mut options), false).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens what a person names on the command line to be written: a file, whose text goes if `is_emptied`, or a pipe or device. A new file can be read by
/// its owner only; one that is there keeps who may.
///
/// # Errors
/// It cannot be written.
pub fn open_to_write(path: &Path, is_emptied: bool) -> std::io::Result<File> {
    os::private(OpenOptions::new().write(true).create(true).truncate(is_emptied).append(!is_emptied)).open(path)
}

/// Finds out whether what a person names can be written, before anything is done for it. What is in it stays.
///
/// # Errors
/// It cannot.
pub fn may_write(path: &Path) -> std::io::Result<()> {
    // Whoever reads a pipe would take its first closing for the end.
    let is_pipe = fs::metadata(path).is_ok_and(|what| os::is_pipe(&what));
    if is_pipe { Ok(()) } else { open_to_write(path, false).map(drop) }
}

/// Writes a value as JSON into a file of ours, whole or not at all, also when the machine goes down. The file, and a folder made for it, are
/// for their owner only.
///
/// # Errors
/// The folder cannot be made or written, or the disk is full; then the file is what it was.
pub(crate) fn write_private(path: &Path, value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    put_private(path, &text)
}

/// The same for any bytes.
///
/// # Errors
/// As [`write_private`].
pub(crate) fn put_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().map_or(Path::new("."), here);
    private_folder(folder)?;
    // Made for its owner only.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    File::open(folder)?.sync_all()
}

/// Makes a folder, and those above it, that only its owner can open. One that is there stays as it is.
///
/// # Errors
/// It cannot be made.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    os::private_folders().create(folder)
}

/// Whether a file or folder belongs to neither this user nor root, as words that follow "it".
pub(crate) fn is_anothers(what: &fs::Metadata) -> Option<&'static str> {
    (![os::this_user(), 0].contains(&os::owner(what).0)).then_some("belongs to another user")
}

/// Whether others than its owner may change a file or folder, as words that follow "it". A group with the number of the owner is his alone.
pub(crate) fn open_to_others(what: &fs::Metadata) -> Option<&'static str> {
    let (mode, (user, group)) = (os::mode(what), os::owner(what));
    match () {
        () if mode & 0o002 != 0 => Some("can be changed by every user of this machine"),
        () if mode & 0o020 != 0 && group != user => Some("can be changed by a group of users"),
        () => None,
    }
}

/// The YAML files in and below a folder, sorted. Hidden folders, `target`, `node_modules` and folders that are
/// projects of their own are left out; links are not followed.
pub fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    find(folder, &mut found, 0);
    found.sort();
    found
}

fn find(folder: &Path, found: &mut Vec<PathBuf>, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        if kind.is_dir() && path.join("flow.toml").symlink_metadata().is_ok() {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            find(&path, found, depth + 1);
        } else if kind.is_file() && path.extension().is_some_and(|end| ["yaml", "yml"].iter().any(|own| end.eq_ignore_ascii_case(own))) {
            found.push(path);
        }
    }
}

/// Puts a text in place of a file in one move: whole or not at all, also when the machine goes down. Where a link leads, that file is
/// replaced, and the file keeps its owner and who may read it.
///
/// # Errors
/// The folder cannot be written, the disk is full, or the owner cannot be kept; then the file is what it was.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    replace_where(path, text, |_| Ok(()))
}

/// As [`replace`], only if the file may be written and still holds what `is_known` says: what another program wrote meanwhile stays.
///
/// # Errors
/// As [`replace`], and where the file is not to be replaced; then the file is what it was.
pub fn replace_if(path: &Path, text: &str, is_known: impl Fn(&[u8]) -> bool) -> std::io::Result<()> {
    replace_where(path, text, |path| {
        if fs::metadata(path)?.permissions().readonly() {
            return Err(std::io::Error::new(ErrorKind::PermissionDenied, "the file is read-only"));
        }
        match is_known(&fs::read(path)?) {
            true => Ok(()),
            false => Err(std::io::Error::other("another program changed the file; run the command again")),
        }
    })
}

fn replace_where(path: &Path, text: &str, may: impl Fn(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // The name says what it is, and the lock that it is in use: what a process leaves that is killed goes with the next replacement.
    let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    remove_left(folder, &prefix);
    let mut file = tempfile::Builder::new().prefix(&prefix).suffix(IN_WORK).tempfile_in(folder)?;
    let _ = file.as_file().try_lock();
    file.write_all(text.as_bytes())?;
    keep_owner(file.as_file(), &path)?;
    file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    may(&path)?;
    file.persist(&path)?;
    File::open(folder)?.sync_all()
}

/// How the name of a text ends that is to take a file's place.
const IN_WORK: &str = ".flow-new";

/// Removes the texts that were to take a file's place and whose process is gone.
fn remove_left(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_ours = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(IN_WORK)).is_some_and(|random| random.len() == 6);
        if is_ours && open_unlinked(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Gives a new file the owner and the group of the one that it is to replace.
fn keep_owner(new: &File, path: &Path) -> std::io::Result<()> {
    let (old, own) = (fs::metadata(path)?, new.metadata()?);
    if os::owner(&old) == os::owner(&own) { Ok(()) } else { os::give(new, &old) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::disk_files::DiskFiles;
    use crate::port::Files;

    #[test]
    fn an_error_about_a_file_keeps_its_cause() {
        let file = Path::new("/none/of this");
        let error = crate::adapter::environment::of_file(file).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /none/of this: No such file or directory (os error 2)");
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
        assert_eq!(cause.map(std::io::Error::kind), Some(ErrorKind::NotFound));
    }

    #[test]
    fn a_project_inside_a_project_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["flow.toml", "a.yaml", "inner/flow.toml", "inner/b.yaml", "plain/c.yaml"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names = |at: &Path| yaml_files(at).iter().map(|p| p.strip_prefix(at).unwrap().display().to_string()).collect::<Vec<_>>();
        assert_eq!(names(folder.path()), ["a.yaml", "plain/c.yaml"]);
        assert_eq!(names(&folder.path().join("inner")), ["b.yaml"]);
    }

    #[test]
    fn what_a_killed_process_leaves_of_a_replacement_goes_with_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.yaml", ".a.yaml.abc123.flow-new", ".a.yaml.mine.flow-new", ".a.yaml.inuse1.flow-new", ".b.yaml.abc123.flow-new"] {
            fs::write(at(name), "old").unwrap();
        }
        let used = File::open(at(".a.yaml.inuse1.flow-new")).unwrap();
        used.lock().unwrap();
        replace(&at("a.yaml"), "new").unwrap();
        assert_eq!(fs::read_to_string(at("a.yaml")).unwrap(), "new");
        let left = [".a.yaml.inuse1.flow-new", ".a.yaml.mine.flow-new", ".b.yaml.abc123.flow-new", "a.yaml"];
        assert_eq!(DiskFiles.names(folder.path()), left);
        drop(used);
        replace(&at("a.yaml"), "newer").unwrap();
        assert!(!at(".a.yaml.inuse1.flow-new").exists());
    }
}
