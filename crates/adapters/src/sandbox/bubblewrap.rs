//! The command line of `bwrap`: a root folder of its own that holds what the program gets, and nothing else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::LIBRARIES;
use super::places::{GivenPlace, GivenPlaces, SYSTEM};
use super::scratch::Scratch;
use crate::model::ProgramNetwork;

/// Bytes in `/tmp` and `/dev/shm`, which are in memory. `TMPDIR` is in the scratch folder.
const SMALL: &str = "67108864";

/// The arguments of `bwrap`, up to the program that it starts. `stage`: that program.
pub(super) fn arguments(places: &GivenPlaces, scratch: &Scratch, stage: &Path, network: &ProgramNetwork) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    arguments.add(["--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"]);
    arguments.add(["--cap-drop", "ALL", "--hostname", "sandbox"]);
    match network {
        ProgramNetwork::All => arguments.add(["--share-net"]),
        ProgramNetwork::None | ProgramNetwork::Hosts(_) => {}
    }
    for folder in SYSTEM.map(Path::new) {
        // `/bin` may be a link to `/usr/bin`. Links in folders keep their meaning if it stays one.
        match std::fs::read_link(folder) {
            Ok(target) => arguments.paths("--symlink", [&target, folder]),
            Err(_) => arguments.paths("--ro-bind-try", [folder, folder]),
        }
    }
    places.of_system().map(Path::new).for_each(|file| arguments.paths("--ro-bind-try", [file, file]));
    // Settings of the kernel belong to root, whom a program of root still is there.
    arguments.add([
        "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger", "--dev",
        "/dev", "--size", SMALL, "--tmpfs", "/dev/shm", "--size", SMALL, "--tmpfs", "/tmp",
    ]);
    if cfg!(feature = "duckdb") {
        let folders = std::env::var_os(LIBRARIES).map(|all| std::env::split_paths(&all).collect::<Vec<_>>()).unwrap_or_default();
        folders.iter().filter(|folder| folder.is_absolute()).for_each(|folder| arguments.paths("--ro-bind-try", [folder, folder]));
    }
    // A place in another one comes after it, else it would be covered.
    let reads = places.reads.iter().map(|given| ("--ro-bind", given));
    let mut given: Vec<(&str, &GivenPlace)> = reads.chain(places.writes.iter().map(|given| ("--bind", given))).collect();
    given.sort_by_key(|(_, given)| given.real.components().count());
    let hidden: Vec<(PathBuf, bool)> = places.hidden.iter().map(|path| (path.clone(), path.is_dir())).collect();
    for (bind, place) in &given {
        arguments.paths(bind, [&place.real, &place.real]);
    }
    for (path, is_folder) in &hidden {
        match is_folder {
            true => {
                arguments.add([OsString::from("--perms"), "0000".into(), "--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()])
            }
            false => arguments.paths("--ro-bind", [Path::new("/dev/null"), path]),
        }
    }
    // By the name that the call has for it, where that is a way of its own.
    let is_below =
        |path: &Path| given.iter().any(|(_, other)| path.starts_with(&other.real)) || SYSTEM.iter().any(|system| path.starts_with(system));
    for (bind, place) in given.iter().filter(|(_, given)| given.named != given.real && !is_below(&given.named)) {
        let is_plain = !hidden.iter().any(|(path, _)| path.starts_with(&place.real));
        if is_plain {
            arguments.paths(bind, [&place.real, &place.named]);
        } else if place.named.symlink_metadata().is_ok_and(|what| what.is_symlink()) {
            arguments.paths("--symlink", [&place.real, &place.named]);
        }
    }
    arguments.paths("--ro-bind", [stage, stage]);
    let (work, talk) = (scratch.work(), scratch.stage());
    arguments.paths("--bind", [&work, &work]);
    arguments.paths("--bind", [&talk, &talk]);
    arguments.add(["--remount-ro", "/dev", "--remount-ro", "/", "--"]);
    arguments.0
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<T: Into<OsString>>(&mut self, all: impl IntoIterator<Item = T>) {
        self.0.extend(all.into_iter().map(Into::into));
    }

    fn paths(&mut self, what: &str, paths: [&Path; 2]) {
        self.0.push(what.into());
        self.0.extend(paths.map(OsString::from));
    }
}
