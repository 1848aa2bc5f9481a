//! Files that no step of a run may read or write, whatever a file or a model says. [`crate::model::own_by_name`] defines the protected names; this
//! module adds the places that only this run knows. Both are checked against the real target of a path: through links, under another name of the same
//! file (a hard link, another case), and for files that do not exist yet.
//!
//! Every adapter that opens a file for a step calls this module first; there is no other list.

#[cfg(feature = "sandbox")]
use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::files::{self, real, shown_path};
use super::os::{self, FileId, file_id};
use super::started::is_code_file;
#[cfg(feature = "sandbox")]
use super::walked::{HiddenNames, WalkedFolders};
use crate::event::{Failure, FailureKind};
use crate::model::{Touch, is_code, is_data, own_by_name};

/// Maximum number of files in a folder that are compared with a file that has several names.
const MOST_COMPARED: usize = 4_096;
/// Maximum number of files and folders below a folder that is given to a program.
const MOST_GIVEN: usize = 1_000_000;
/// Folders in which the system shows running programs as files. Some files contain keys, and some block when they are read.
const SYSTEM: [&str; 2] = ["/proc", "/sys"];

/// The places that a run protects from its steps.
#[derive(Debug, Clone, Default)]
pub struct OwnFiles {
    /// The project's folder. Names inside it are relative to it.
    pub project: PathBuf,
    /// Files and folders that may be neither read nor written: the record of runs, trusted content, settings, secrets.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that may not be written: those that define the run, and those that its servers run.
    pub fixed: Vec<PathBuf>,
    /// Folders that commands of servers name, whether or not they exist. Data may be written there, but no code.
    pub code_in: Vec<PathBuf>,
    /// Folders in which servers are started. Files that the servers might run may not be written directly in them.
    pub starts: Vec<PathBuf>,
    /// Finds the files that servers of the project's other pipelines run. Called at the first write.
    pub others: Option<fn(&Path) -> OwnFiles>,
    /// The result of `others`, once it was called.
    pub looked: Arc<OnceLock<Box<OwnFiles>>>,
    /// What was read of folders that programs are given.
    #[cfg(feature = "sandbox")]
    pub walked: Arc<WalkedFolders>,
    /// Whether a text is written in the workflow language. As a file it could be a pipeline, or be imported by one.
    pub is_program: Option<fn(&str) -> bool>,
}

impl OwnFiles {
    /// Checks that a step may read a file, or list a folder. A link counts as its target.
    ///
    /// # Errors
    /// Fails with `denied` if it may not be read.
    pub fn may_read(&self, path: &Path) -> Result<(), Failure> {
        self.allowed(&PathTarget::resolve(path), path, Touch::Read)
    }

    /// The same check for many files: what the rules need of this machine is looked up once.
    pub(super) fn for_many(&self) -> ManyReads<'_> {
        ManyReads { own: self, places: OwnPlaces::from_own(self) }
    }

    /// Opens a regular file for a step. The opened file must be the one that was checked. `open` is the function that opens it.
    ///
    /// # Errors
    /// Fails with `denied` if the file may not be read. The inner result is the error of opening it.
    pub fn open(&self, path: &Path, open: fn(&Path) -> std::io::Result<File>) -> Result<std::io::Result<File>, Failure> {
        let spot = PathTarget::resolve(path);
        self.allowed(&spot, path, Touch::Read)?;
        let opened = open(path).and_then(|file| Ok((file_id(&file.metadata()?), file)));
        match opened {
            Ok((found, _)) if spot.ids.first() != Some(&found) => Err(Failure::new(
                FailureKind::Denied,
                format!("{} was not read: it was replaced while it was being opened", shown_path(path)),
            )),
            opened => Ok(opened.map(|(_, file)| file)),
        }
    }

    /// Checks that a step may write this text. A link at the path would be replaced, so its target does not matter.
    ///
    /// # Errors
    /// Fails with `denied` if it may not be written.
    pub fn may_write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let spot = PathTarget::of_entry(path);
        self.allowed(&spot, path, Touch::Write)?;
        // A file without an extension may be run because of its first line, or of the permissions of the file that it replaces.
        let may_be_code = is_data(&spot.path).map_or_else(|| text.starts_with("#!") || is_code_file(&spot.path), |is_data| !is_data);
        if may_be_code && self.code_in.iter().any(|folder| spot.is_in(folder)) {
            return Err(denied(path, Touch::Write, "may be code in a folder that a server's command names"));
        }
        if let Some(others) = self.others {
            self.looked.get_or_init(|| Box::new(others(&self.project))).may_write(path, text)?;
        }
        let is_yaml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml"));
        let is_program = |text: &str| self.is_program.is_some_and(|is_program| is_program(text));
        let was_program = || files::read_text(path, 1 << 20).is_ok_and(|before| is_program(&before));
        if is_yaml && (is_program(text) || was_program()) {
            return Err(denied(path, Touch::Write, "is a file of the workflow"));
        }
        Ok(())
    }

    /// What lies in and below a folder and may not be read by a program that is given the folder: whole paths, without links. Empty for a file.
    ///
    /// # Errors
    /// Fails with `denied` if the folder or file itself may not be read, or the folder holds the system's own, and with `limit` if the folder holds too
    /// much to look at.
    #[cfg(feature = "sandbox")]
    pub(crate) fn hidden_in(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        self.hidden_by(folder, HiddenNames::Own)
    }

    /// The same of a folder that the user made readable for programs: what holds keys stays hidden in it, too.
    ///
    /// # Errors
    /// See [`OwnFiles::hidden_in`].
    #[cfg(feature = "sandbox")]
    pub(crate) fn hidden_in_installation(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        self.hidden_by(folder, HiddenNames::Keys)
    }

    #[cfg(feature = "sandbox")]
    fn hidden_by(&self, folder: &Path, names: HiddenNames) -> Result<Vec<PathBuf>, Failure> {
        self.may_read(folder)?;
        let place = real_place(folder)?;
        if SYSTEM.iter().any(|system| Path::new(system).starts_with(&place)) {
            return Err(denied(folder, Touch::Read, "holds what is no file of a disk; name a folder below it"));
        }
        let mut hidden: Vec<PathBuf> = self.hidden.iter().filter_map(|own| own.canonicalize().ok()).collect();
        let linked = linked(&hidden);
        hidden.retain(|own| own.starts_with(&place));
        if linked.is_empty() {
            let found = self.walked.hidden(&place, names, MOST_GIVEN).ok_or_else(|| too_much(folder))?;
            hidden.extend(found.paths);
        } else {
            // Another name of a hidden file changes no folder that was walked: each file is looked at.
            below(&place, folder, |path, kind| {
                let is_hidden = || linked.contains(&file_id(&fs::symlink_metadata(path).ok()?)).then_some(());
                let is_own = path.file_name().is_some_and(|name| names.has(path.parent().unwrap_or(path), name))
                    || kind.is_file() && is_hidden().is_some();
                if is_own {
                    hidden.push(path.to_path_buf());
                }
                Ok(!is_own)
            })?;
        }
        hidden.sort();
        // A folder comes before what is in it.
        let mut outermost: Vec<PathBuf> = vec![];
        for path in hidden {
            if outermost.last().is_none_or(|last| !path.starts_with(last)) {
                outermost.push(path);
            }
        }
        Ok(outermost)
    }

    /// Checks that a program may change everything in and below a folder.
    ///
    /// # Errors
    /// Fails with `denied` if something in it belongs to flow, decides what runs, or could be run by others, and with `limit` like
    /// [`OwnFiles::hidden_in`].
    #[cfg(feature = "sandbox")]
    pub(crate) fn may_change_all_in(&self, folder: &Path) -> Result<(), Failure> {
        let spot = PathTarget::resolve(folder);
        self.allowed(&spot, folder, Touch::Write)?;
        if self.code_in.iter().any(|code| spot.is_in(code)) {
            return Err(denied(folder, Touch::Write, "is in a folder that a server's command names, and a program could put code there"));
        }
        let place = real_place(folder)?;
        let holds = |own: &Path, why: &str| {
            let why = format!("holds {}, which {why}; name a folder below it", shown_path(own));
            Err(denied(folder, Touch::Write, &why))
        };
        if SYSTEM.iter().any(|system| Path::new(system).starts_with(&place)) {
            return holds(Path::new("/proc"), "is no file of a disk");
        }
        let is_below = |own: &&PathBuf| PathTarget::of_entry(own).is_in(&place) || PathTarget::resolve(own).is_in(&place);
        if let Some(own) = self.hidden.iter().find(is_below) {
            return holds(own, "is private to flow or its user");
        }
        if let Some(own) = self.fixed.iter().find(is_below) {
            return holds(own, "controls what flow or a server of this run does");
        }
        if let Some(own) = self.code_in.iter().chain(&self.starts).find(is_below) {
            return holds(own, "a server of this run takes code from");
        }
        below(&place, folder, |path, kind| {
            let name = path.file_name().unwrap_or_default();
            if let Some(why) = own_by_name(&Path::new("/").join(name), Touch::Write) {
                return holds(path, why).map(|()| false);
            }
            let is_yaml = path.extension().is_some_and(|end| ["yaml", "yml"].iter().any(|own| end.eq_ignore_ascii_case(own)));
            let is_program = || Some(self.is_program?(&files::read_text(path, files::LARGEST).ok()?));
            match kind.is_file() && is_yaml && is_program() == Some(true) {
                true => holds(path, "is a file of the workflow").map(|()| false),
                false => Ok(true),
            }
        })?;
        let Some(others) = self.others else { return Ok(()) };
        self.looked.get_or_init(|| Box::new(others(&self.project))).may_change_all_in(folder)
    }

    fn allowed(&self, spot: &PathTarget, path: &Path, touch: Touch) -> Result<(), Failure> {
        self.allowed_in(&OwnPlaces::from_own(self), spot, path, touch)
    }

    fn allowed_in(&self, own: &OwnPlaces, spot: &PathTarget, path: &Path, touch: Touch) -> Result<(), Failure> {
        let why = own.by_name(&spot.path, touch).or_else(|| self.by_place(own, spot, touch));
        why.or_else(|| self.by_other_name(own, spot, touch)).map_or(Ok(()), |why| Err(denied(path, touch, why)))
    }

    fn by_place(&self, own: &OwnPlaces, spot: &PathTarget, touch: Touch) -> Option<&'static str> {
        if own.system.iter().any(|own| spot.is_in_place(own)) {
            return Some("is no file of a disk");
        }
        if own.hidden.iter().any(|own| spot.is_in_place(own)) {
            return Some("is private to flow or its user");
        }
        if touch == Touch::Read {
            return None;
        }
        if let Some(own) = self.fixed.iter().find(|own| spot.is_in(own)) {
            let is_below = spot.path.strip_prefix(real(own)).is_ok_and(|below| !below.as_os_str().is_empty());
            return Some(match is_below {
                true => "is below a folder from which flow or a program of this run takes code; put that code into a folder of its own",
                false => "controls what flow or a server of this run does",
            });
        }
        let is_run = || is_code(&spot.path) == Some(true) && self.starts.iter().any(|folder| spot.is_right_in(folder));
        is_run().then_some("is in the folder that a server starts in, and might be executed")
    }

    /// A file with several names (hard links) is protected if any of its names in these folders is.
    fn by_other_name(&self, own: &OwnPlaces, spot: &PathTarget, touch: Touch) -> Option<&'static str> {
        let id = spot.ids.first().filter(|_| spot.has_names)?;
        let of_project = [self.project.clone(), self.project.join(".flow")];
        let beside = spot.path.parent().map(Path::to_path_buf);
        for folder in self.hidden.iter().chain(&of_project).chain(&beside) {
            for entry in fs::read_dir(files::here(folder)).into_iter().flatten().flatten().take(MOST_COMPARED) {
                let place = PathTarget::of_entry(&entry.path());
                if place.ids.first() == Some(id)
                    && let Some(why) = own.by_name(&place.path, touch).or_else(|| self.by_place(own, &place, touch))
                {
                    return Some(why);
                }
            }
        }
        None
    }
}

/// Checks files for a step, see [`OwnFiles::for_many`].
pub(super) struct ManyReads<'o> {
    own: &'o OwnFiles,
    places: OwnPlaces,
}

impl ManyReads<'_> {
    /// Like [`OwnFiles::may_read`].
    ///
    /// # Errors
    /// Fails with `denied` if the file may not be read.
    pub(super) fn may_read(&self, path: &Path) -> Result<(), Failure> {
        self.own.allowed_in(&self.places, &PathTarget::resolve(path), path, Touch::Read)
    }
}

/// Where on this machine the places are that no step may read.
struct OwnPlaces {
    project: Option<PathBuf>,
    system: Vec<OwnPlace>,
    hidden: Vec<OwnPlace>,
}

/// A place as it is written, and with links in its last part resolved.
type OwnPlace = [PathTarget; 2];

impl OwnPlaces {
    fn from_own(own: &OwnFiles) -> OwnPlaces {
        OwnPlaces {
            project: files::here(&own.project).canonicalize().ok(),
            system: SYSTEM.iter().map(|folder| own_place(Path::new(folder))).collect(),
            hidden: own.hidden.iter().map(|own| own_place(own)).collect(),
        }
    }

    fn by_name(&self, place: &Path, touch: Touch) -> Option<&'static str> {
        let inside = self.project.as_ref().and_then(|project| place.strip_prefix(project).ok());
        own_by_name(inside.unwrap_or(place), touch)
    }
}

fn own_place(own: &Path) -> OwnPlace {
    [PathTarget::of_entry(own), PathTarget::resolve(own)]
}

/// A folder or file without links in its path.
#[cfg(feature = "sandbox")]
fn real_place(path: &Path) -> Result<PathBuf, Failure> {
    let missing = |e| Failure::new(FailureKind::Unavailable, format!("{} cannot be given to a program: {e}", shown_path(path)));
    files::here(path).canonicalize().map_err(missing)
}

/// The hidden files, and those in hidden folders, that have more than one name.
#[cfg(feature = "sandbox")]
fn linked(hidden: &[PathBuf]) -> HashSet<FileId> {
    let inside = hidden.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_COMPARED));
    let paths = hidden.iter().cloned().chain(inside.map(|entry| entry.path()));
    let found = paths.filter_map(|path| fs::symlink_metadata(path).ok());
    found.filter(|what| what.is_file() && os::has_names(what)).map(|what| file_id(&what)).collect()
}

/// Looks at everything in and below a folder; links are not followed. `look` says whether to go into a folder. `named` is the folder as messages name it.
#[cfg(feature = "sandbox")]
fn below(folder: &Path, named: &Path, mut look: impl FnMut(&Path, &fs::FileType) -> Result<bool, Failure>) -> Result<(), Failure> {
    let (mut left, mut seen) = (vec![folder.to_path_buf()], 0);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if look(&path, &kind)? && kind.is_dir() {
                left.push(path);
            }
            seen += 1;
            if seen > MOST_GIVEN {
                return Err(too_much(named));
            }
        }
    }
    Ok(())
}

#[cfg(feature = "sandbox")]
fn too_much(folder: &Path) -> Failure {
    let message = format!("{} holds more than {MOST_GIVEN} files; name a folder below it", shown_path(folder));
    Failure::new(FailureKind::Limit, message)
}

fn denied(path: &Path, touch: Touch, why: &str) -> Failure {
    let what = match touch {
        Touch::Read => "read",
        Touch::Write => "write",
    };
    Failure::new(FailureKind::Denied, format!("no step may {what} {}: it {why}", shown_path(path)))
}

/// The target of a path, whether or not it exists.
#[derive(Debug)]
struct PathTarget {
    /// The whole path, with links resolved.
    path: PathBuf,
    /// The existing parts: the file itself, if it exists, then the folders above it.
    ids: Vec<FileId>,
    /// The names of the missing parts, in lower case: where `A` and `a` are the same file, both are protected.
    rest: Vec<String>,
    /// Whether the file has several names.
    has_names: bool,
}

impl PathTarget {
    /// The target of a path, with all links resolved.
    fn resolve(path: &Path) -> PathTarget {
        match files::here(path).canonicalize() {
            Ok(place) => PathTarget::at(place),
            Err(_) => PathTarget::of_entry(path),
        }
    }

    /// The target of a path, with links resolved except in its last part.
    fn of_entry(path: &Path) -> PathTarget {
        PathTarget::at(real(path))
    }

    /// The target of a path without links, except possibly its last part.
    fn at(path: PathBuf) -> PathTarget {
        let there: Vec<Option<Metadata>> = path.ancestors().map(|place| fs::symlink_metadata(place).ok()).collect();
        let missing = there.iter().take_while(|found| found.is_none()).count();
        let mut rest: Vec<String> =
            path.ancestors().take(missing).filter_map(|place| Some(place.file_name()?.to_string_lossy().to_lowercase())).collect();
        rest.reverse();
        let has_names = missing == 0 && there.first().and_then(Option::as_ref).is_some_and(|what| what.is_file() && os::has_names(what));
        PathTarget { ids: there.iter().flatten().map(file_id).collect(), rest, has_names, path }
    }

    /// Whether it is this file or folder, or is inside it. If `own` is a link, both the link and its target count.
    fn is_in(&self, own: &Path) -> bool {
        self.is_in_place(&own_place(own))
    }

    fn is_in_place(&self, own: &OwnPlace) -> bool {
        own.iter().any(|own| match own.ids.first() {
            Some(id) if own.rest.is_empty() => self.ids.contains(id),
            Some(id) => self.ids.first() == Some(id) && self.rest.starts_with(&own.rest),
            None => false,
        })
    }

    /// Whether it is directly in this folder, and not in a subfolder.
    fn is_right_in(&self, folder: &Path) -> bool {
        let above = self.path.parent().map(PathTarget::resolve);
        above.is_some_and(|above| above.rest.is_empty() && above.ids.first() == PathTarget::resolve(folder).ids.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, OwnFiles) {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["p/.flow/runs.db", "p/notes/a.md", "p/servers/lib/x.py", "user/trusted/00ff"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), name).unwrap();
        }
        let own = OwnFiles {
            project: at("p"),
            hidden: vec![at("user/trusted"), at("user/Later/config.toml"), at("p/.flow")],
            fixed: vec![at("p/servers"), at("p/p.md")],
            code_in: vec![at("p/data")],
            starts: vec![at("p")],
            ..OwnFiles::default()
        };
        (home, own)
    }

    #[test]
    fn a_place_is_told_by_what_is_there_and_not_by_how_it_is_written() {
        let (home, own) = project();
        let at = |name: &str| home.path().join(name);
        for (to, from) in [("p/.flow", "p/notes/in"), ("user", "p/notes/user"), ("p/servers/lib", "p/notes/lib")] {
            std::os::unix::fs::symlink(at(to), at(from)).unwrap();
        }
        fs::hard_link(at("p/.flow/runs.db"), at("p/notes/b.md")).unwrap();
        fs::hard_link(at("user/trusted/00ff"), at("p/notes/c.md")).unwrap();
        fs::hard_link(at("p/notes/a.md"), at("p/notes/d.md")).unwrap();
        let kinds = |path: &str| (own.may_read(&at(path)).is_ok(), own.may_write(&at(path), "x").is_ok());
        for path in
            ["p/.flow/runs.db", "p/.flow/new", "p/notes/in/runs.db", "p/notes/../.flow/x", "p/notes/user/trusted/00ff", "user/trusted/new"]
        {
            assert_eq!(kinds(path), (false, false), "{path}");
        }
        for path in ["user/Later/config.toml", "user/later/CONFIG.toml", "p/notes/user/LATER/config.toml", "p/notes/b.md", "p/notes/c.md"] {
            assert_eq!(kinds(path), (false, false), "{path}");
        }
        for path in [
            "p/data/deep/x.py", "p/data/__main__.py", "p/data/package.json", "p/servers/new.py", "p/servers/lib/deep/new",
            "p/notes/lib/x.py", "p/p.md", "p/P.md", "p/json.py", "p/.git/config", "p/.new",
        ] {
            assert_eq!(kinds(path), (true, false), "{path}");
        }
        for path in [
            "p/data/a.json", "p/data/deep/a", "p/notes/a.md", "p/notes/d.md", "p/notes/new.py", "p/a.txt", "user/other", "p/servers.md",
            "p/notes/flow",
        ] {
            assert_eq!(kinds(path), (true, true), "{path}");
        }
        assert!(own.may_read(Path::new("/proc/self/environ")).is_err() && own.may_read(Path::new("/proc/self/root/proc/version")).is_err());
    }

    #[test]
    fn the_file_that_is_opened_is_the_one_that_was_looked_at() {
        let (home, own) = project();
        let path = home.path().join("p/notes/a.md");
        assert!(own.open(&path, files::open).unwrap().is_ok());
        let failure = own.open(&path, |path| files::open(&path.with_file_name("../.flow/runs.db"))).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Denied);
        assert!(own.open(&path.with_file_name("none"), files::open).unwrap().is_err());
    }

    #[test]
    fn a_file_that_another_replaces_all_the_time_is_never_read_by_way_of_it() {
        let (home, own) = project();
        let (swapped, spare) = (home.path().join("p/notes/swapped"), home.path().join("p/notes/spare"));
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (secret, is_over) = (home.path().join("p/.flow/runs.db"), stop.clone());
        let (from, to) = (spare, swapped.clone());
        let swaps = std::thread::spawn(move || {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                std::os::unix::fs::symlink(&secret, &from).unwrap();
                fs::rename(&from, &to).unwrap();
                fs::write(&from, "fine").unwrap();
                fs::rename(&from, &to).unwrap();
            }
        });
        for _ in 0..10_000 {
            if let Ok(Ok(file)) = own.open(&swapped, files::open) {
                assert_ne!(files::within(file, 100).unwrap(), b"p/.flow/runs.db");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        swaps.join().unwrap();
    }
}
