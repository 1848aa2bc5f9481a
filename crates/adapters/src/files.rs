//! Opens, reads and writes files on the disk of this machine. Only regular files are opened, so that nothing here blocks on a pipe. The exceptions
//! are [`read_named`] and [`open_to_write`], for paths that a person names on the command line.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use super::os;
use crate::diagnostic::visible;

/// Maximum size of a file that a person writes (pipelines, imports, channels, instructions), in bytes.
pub(super) const LARGEST: u64 = 1024 * 1024;

/// Maximum depth of a search in folders.
const DEEPEST: usize = 16;

/// A file or folder that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {act} {}: {source}", shown_path(path))]
pub struct FileError {
    act: &'static str,
    path: PathBuf,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// A path for display: on one line, with invisible characters escaped.
pub fn shown_path(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// Where a path that is not whole was looked for: ` in FOLDER`.
pub(super) fn looked_in(path: &Path) -> String {
    let folder = std::env::current_dir().ok().filter(|_| path.is_relative());
    folder.map(|folder| format!(" in {}", shown_path(&folder))).unwrap_or_default()
}

/// A path that can be opened: an empty path refers to the current folder.
pub(super) fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// The path with all links resolved; as it is if it does not exist.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let path = here(path);
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The path with links resolved, except in its last part. If it does not exist, the path that it would have: `..` behind what is not there is taken as it is written.
pub fn real(path: &Path) -> PathBuf {
    let path = &std::path::absolute(here(path)).unwrap_or_else(|_| path.to_path_buf());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.clone() };
    for above in folder.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), folder.strip_prefix(above)) {
            let mut place = real;
            for part in rest.components() {
                _ = match part {
                    Component::ParentDir => place.pop(),
                    part => {
                        place.push(part);
                        true
                    }
                };
            }
            return place.join(name);
        }
    }
    path.clone()
}

/// Creates the error of a failed action (`read`, `write`) on a file or folder.
pub fn cannot<E: Into<Box<dyn std::error::Error + Send + Sync>>>(act: &'static str, path: &Path) -> impl Fn(E) -> FileError + Copy {
    move |source| FileError { act, path: path.to_path_buf(), source: source.into() }
}

/// Opens a regular file for reading. Fails immediately on a pipe, a socket or a device, even if it replaced the file a moment ago.
///
/// # Errors
/// Fails if the file does not exist, is not a regular file, or cannot be read.
pub fn open(path: &Path) -> std::io::Result<File> {
    open_with(path, false)
}

/// Like [`open`], but the last part of the path must not be a link.
///
/// # Errors
/// See [`open`].
pub(crate) fn open_unlinked(path: &Path) -> std::io::Result<File> {
    open_with(path, true)
}

fn open_with(path: &Path, is_own: bool) -> std::io::Result<File> {
    // Also checked before opening, because opening some devices has an effect.
    regular(&fs::metadata(path).map_err(|e| leads_nowhere(path).unwrap_or(e))?)?;
    let file = os::at_once(OpenOptions::new().read(true), is_own).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// The error of a link whose target does not exist. `None` if the path is not such a link.
fn leads_nowhere(path: &Path) -> Option<std::io::Error> {
    let is_missing = |what: std::io::Result<_>| what.is_err_and(|e: std::io::Error| e.kind() == ErrorKind::NotFound);
    let is = fs::symlink_metadata(path).is_ok() && is_missing(fs::metadata(path));
    is.then(|| std::io::Error::other(format!("{} is a link that leads nowhere", path.display())))
}

/// Opens a file if it exists. Returns `None` only if nothing exists at the path and no link in it is broken.
///
/// # Errors
/// Fails if the path is not a regular file, or it cannot be read.
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

/// Reads a whole regular file of at most `most` bytes.
///
/// # Errors
/// See [`open`]. Also fails if the file is larger.
pub fn read(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    within(open(path)?, most)
}

/// Like [`read`], but returns text.
///
/// # Errors
/// See [`read`]. Also fails if the content is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> std::io::Result<String> {
    text(read(path, most)?)
}

/// Like [`read_text`], of a table, which spreadsheets also write in UTF-16 with its mark.
///
/// # Errors
/// See [`read_text`].
pub(super) fn read_table(path: &Path, most: u64) -> std::io::Result<String> {
    marked_text(read(path, most)?)
}

/// Reads the whole text of a file or pipe (such as `<(command)`) that a person named on the command line. It waits until the writer of a pipe has
/// finished; call it only while signals still end the program.
///
/// # Errors
/// Fails if the text cannot be read, is not UTF-8, or has more than `most` bytes.
pub fn read_named(path: &Path, most: u64) -> std::io::Result<String> {
    marked_text(within(File::open(path)?, most)?)
}

/// The same of a file that must be in UTF-8.
///
/// # Errors
/// See [`read_named`].
pub(super) fn read_named_utf8(path: &Path, most: u64) -> std::io::Result<String> {
    text(within(File::open(path)?, most)?)
}

/// Reads the whole text of standard input.
///
/// # Errors
/// See [`read_named`].
pub fn read_input(most: u64) -> std::io::Result<String> {
    marked_text(within(std::io::stdin().lock(), most)?)
}

/// Reads everything from `from`, up to `most` bytes.
///
/// # Errors
/// Fails if it cannot be read, or has more bytes.
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
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let why = if marked { "it is text in UTF-16; save it in UTF-8" } else { "it is not text in UTF-8" };
    String::from_utf8(bytes).map_err(|_| std::io::Error::new(ErrorKind::InvalidData, why))
}

/// Text in UTF-8, or in UTF-16 with a byte order mark.
fn marked_text(bytes: Vec<u8>) -> std::io::Result<String> {
    let order: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some(b"\xff\xfe") => u16::from_le_bytes,
        Some(b"\xfe\xff") => u16::from_be_bytes,
        _ => return text(bytes),
    };
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().skip(1).map(|pair| order(*pair)).collect();
    let broken = || std::io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-16, as its first bytes say");
    if rest.is_empty() { String::from_utf16(&units).map_err(|_| broken()) } else { Err(broken()) }
}

/// Checks that a file to be written is in this folder: no link in its path may lead out of it. Parts of the path that do not exist yet are ignored.
///
/// # Errors
/// Fails if a link leads out of the folder.
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

/// Opens one of flow's own files for reading and writing. A new file is readable by its owner only; an existing one keeps its permissions.
///
/// # Errors
/// Fails if the file cannot be created, or is not a regular file.
pub(crate) fn open_private(path: &Path) -> std::io::Result<File> {
    open_private_with(path, false)
}

/// Like [`open_private`], but the last part of the path must not be a link.
///
/// # Errors
/// See [`open_private`].
pub(super) fn open_private_unlinked(path: &Path) -> std::io::Result<File> {
    open_private_with(path, true)
}

fn open_private_with(path: &Path, is_own: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = os::at_once(os::private(&mut options), is_own).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens what a person names on the command line for writing: a file, which is truncated if `is_emptied`, or a pipe or device. A new file is readable
/// by its owner only; an existing one keeps its permissions.
///
/// # Errors
/// Fails if it cannot be opened for writing.
pub fn open_to_write(path: &Path, is_emptied: bool) -> std::io::Result<File> {
    os::private(OpenOptions::new().write(true).create(true).truncate(is_emptied).append(!is_emptied)).open(path)
}

/// Checks in advance that what a person names can be written. Existing content is kept.
///
/// # Errors
/// Fails if it cannot be written.
pub fn may_write(path: &Path) -> std::io::Result<()> {
    // The reader of a pipe would take its first closing for the end.
    let is_pipe = fs::metadata(path).is_ok_and(|what| os::is_pipe(&what));
    if is_pipe { Ok(()) } else { open_to_write(path, false).map(drop) }
}

/// Writes a value as JSON into one of flow's own files, atomically even if the machine crashes. The file, and a folder created for it, are accessible
/// to their owner only.
///
/// # Errors
/// Fails if the folder cannot be created or written, or the disk is full; the file is then unchanged.
pub(crate) fn write_private(path: &Path, value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    put_private(path, &text)
}

/// Like [`write_private`], for any bytes.
///
/// # Errors
/// See [`write_private`].
pub(crate) fn put_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    put_like(path, bytes, None)
}

/// The same, with the permissions that another file has.
///
/// # Errors
/// See [`write_private`].
pub(crate) fn put_like(path: &Path, bytes: &[u8], like: Option<&fs::Metadata>) -> std::io::Result<()> {
    let folder = path.parent().map_or(Path::new("."), here);
    private_folder(folder)?;
    // Temporary files are created with access for their owner only.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    if let Some(like) = like {
        new.as_file().set_permissions(like.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(path)?;
    File::open(folder)?.sync_all()
}

/// Whether nothing can be written in a folder that is there: there is no right to, or it is mounted to be read only.
pub fn is_closed(folder: &Path) -> bool {
    let closed = [std::io::ErrorKind::PermissionDenied, std::io::ErrorKind::ReadOnlyFilesystem];
    tempfile::tempfile_in(here(folder)).is_err_and(|error| closed.contains(&error.kind()))
}

/// Creates a folder, and its parents, that only its owner can open. An existing folder is unchanged.
///
/// # Errors
/// Fails if the folder cannot be created.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    os::private_folders().create(folder)
}

/// Whether a file or folder belongs to neither this user nor root, as words that follow "it".
pub(crate) fn is_anothers(what: &fs::Metadata) -> Option<&'static str> {
    (![os::this_user(), 0].contains(&os::owner(what).0)).then_some("belongs to another user")
}

/// Whether users other than the owner may change a file or folder, as words that follow "it". A group with the same number as the owner counts as the
/// owner's own.
pub(crate) fn open_to_others(what: &fs::Metadata) -> Option<&'static str> {
    let (mode, (user, group)) = (os::mode(what), os::owner(what));
    match () {
        () if mode & 0o002 != 0 => Some("can be changed by every user of this machine"),
        () if mode & 0o020 != 0 && group != user => Some("can be changed by a group of users"),
        () => None,
    }
}

/// The YAML files in and below a folder, sorted. Hidden folders, `target`, `node_modules` and folders that are separate projects are skipped; links
/// are not followed.
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

/// The files below a folder that fit, as paths from that folder, sorted. Hidden names and `node_modules` are skipped; links are not followed.
/// `None`: there are more than `most`, or more than [`MOST_LOOKED_AT`] were looked at.
pub(crate) fn fitting(folder: &Path, fits: &dyn Fn(&Path) -> bool, most: usize) -> Option<Vec<PathBuf>> {
    let mut found = vec![];
    let mut looked = 0;
    let is_whole = look(here(folder), Path::new(""), fits, most, &mut looked, &mut found, 0);
    found.sort();
    is_whole.then_some(found)
}

/// The most entries of folders that one search looks at.
const MOST_LOOKED_AT: usize = 500_000;

/// Returns false where it broke off.
fn look(
    folder: &Path,
    inside: &Path,
    fits: &dyn Fn(&Path) -> bool,
    most: usize,
    looked: &mut usize,
    found: &mut Vec<PathBuf>,
    depth: usize,
) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    for entry in entries.flatten() {
        *looked += 1;
        if found.len() > most || *looked > MOST_LOOKED_AT {
            return false;
        }
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else { continue };
        if name.as_encoded_bytes().starts_with(b".") || name == "node_modules" {
            continue;
        }
        let path = inside.join(&name);
        if kind.is_dir() && depth < 2 * DEEPEST {
            if !look(&entry.path(), &path, fits, most, looked, found, depth + 1) {
                return false;
            }
        } else if kind.is_file() && fits(&path) {
            found.push(path);
        }
    }
    found.len() <= most
}

/// Replaces the text of a file atomically, even if the machine crashes. If the path is a link, its target is replaced. The file keeps its owner and
/// permissions.
///
/// # Errors
/// Fails if the folder cannot be written, the disk is full, or the owner cannot be kept; the file is then unchanged.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    replace_where(path, text, |_| Ok(()))
}

/// Like [`replace`], but only if the file is not read-only and `is_known` accepts its current content, so that changes of another program are not
/// overwritten.
///
/// # Errors
/// See [`replace`]. Also fails if the file must not be replaced; it is then unchanged.
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
    // The name marks the file as temporary, and the lock marks it as in use. A file that a killed process left is removed at the next replacement.
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

/// The suffix of a temporary file that replaces another file.
const IN_WORK: &str = ".flow-new";

/// Removes temporary files whose process no longer exists.
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

/// Sets the owner and group of a new file to those of the file that it replaces.
fn keep_owner(new: &File, path: &Path) -> std::io::Result<()> {
    let (old, own) = (fs::metadata(path)?, new.metadata()?);
    if os::owner(&old) == os::owner(&own) { Ok(()) } else { os::give(new, &old) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk_files::DiskFiles;
    use crate::port::Files;

    #[test]
    fn an_error_about_a_file_keeps_its_cause() {
        let file = Path::new("/none/of this");
        let error = crate::environment::of_file(file).unwrap_err();
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
