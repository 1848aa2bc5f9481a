//! Which files and folders a program gets: the system's that every program needs, its scratch folder, and what its call names, without what belongs to
//! flow. Everything else of the disk is not there for it: no home, no `/etc/passwd`, no other program's files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::ProgramPlaces;
use super::spec::PathRules;
use crate::event::Failure;
use crate::files::{here, real as real_path, shown_path};
use crate::model::{FailureKind, Touch};
use crate::port::ProgramCall;

/// Programs and libraries.
pub(super) const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// What libraries read: where libraries are, certificates, the zone of the clock, kinds of files, fonts. Nothing about users.
const SETTINGS: [&str; 19] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies/back-ends",
    "/etc/default/locale",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];
/// How hosts are found.
const NETWORK: [&str; 6] = ["/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/protocols", "/etc/resolv.conf", "/etc/services"];
/// What programs ask about the machine.
const MACHINE: [&str; 1] = ["/sys/devices/system"];
/// What programs ask about the machine and themselves where the system's processes are hidden from them by rules alone.
const PROCESSES: [&str; 9] = [
    "/proc/self", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/sys", "/proc/uptime",
    "/proc/version",
];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// A file or folder, as the call names it and without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenPlace {
    pub(super) named: PathBuf,
    pub(super) real: PathBuf,
}

/// What a program gets.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenPlaces {
    /// What it may read beside the system's: its folder, and what the call names.
    pub(super) reads: Vec<GivenPlace>,
    /// What it may change beside its scratch folder.
    pub(super) writes: Vec<GivenPlace>,
    /// What in `reads` it may not read.
    pub(super) hidden: Vec<PathBuf>,
    /// Whether it may reach the network.
    network: bool,
}

impl GivenPlaces {
    /// Works out what a call may use. `program` is the file that it starts.
    ///
    /// # Errors
    /// Fails with `denied` for places that belong to flow, and with `unavailable` for those that are missing.
    pub(super) fn for_call(call: &ProgramCall, program: &Path, from: ProgramPlaces<'_>) -> Result<GivenPlaces, Failure> {
        let own = from.own;
        let mut places = GivenPlaces { network: !call.network.is_none(), ..GivenPlaces::default() };
        // What lies in another one was looked at with it.
        let mut wanted: Vec<&Path> = call.folder.iter().chain(&call.reads).map(|folder| here(folder)).collect();
        wanted.sort_by_key(|folder| folder.canonicalize().map_or(0, |real| real.components().count()));
        for folder in wanted {
            let given = given_place(folder)?;
            stays_in(&call.project, &given, Touch::Read)?;
            let is_known = places.reads.iter().any(|other: &GivenPlace| given.real.starts_with(&other.real));
            if !is_known {
                places.hidden.extend(own.hidden_in(folder)?);
            } else {
                own.may_read(folder)?;
            }
            places.reads.push(given);
        }
        for folder in call.writes.iter().map(|folder| here(folder)) {
            if !here(folder).exists() {
                // A link that leads nowhere is not followed.
                let cannot = |e: std::io::Error| {
                    Failure::new(FailureKind::Unavailable, format!("the folder {} cannot be made: {e}", shown_path(folder)))
                };
                fs::create_dir_all(here(folder)).map_err(cannot)?;
            }
            let given = given_place(folder)?;
            stays_in(&call.project, &given, Touch::Write)?;
            // What was decided about is the folder by its name.
            if let (Ok(project), Ok(named)) = (here(&call.project).canonicalize(), std::path::absolute(here(&call.project)))
                && let Ok(inside) = given.named.strip_prefix(&named)
                && !inside.components().any(|part| part == Component::ParentDir)
                && project.join(inside) != given.real
            {
                let message = format!("{} is a link, or lies behind one; name the folder itself in writes", shown_path(&given.named));
                return Err(Failure::new(FailureKind::Denied, message));
            }
            if !given.real.is_dir() {
                return Err(Failure::new(
                    FailureKind::Unavailable,
                    format!("{} is no folder that a program could write in", shown_path(folder)),
                ));
            }
            own.may_change_all_in(folder)?;
            places.writes.push(given);
        }
        places.writes.extend(call.home.as_deref().map(given_place).transpose()?);
        for folder in from.readable.iter().filter(|folder| folder.is_dir()) {
            let given = given_place(folder)?;
            places.hidden.extend(own.hidden_in_installation(folder)?);
            places.reads.push(given);
        }
        let program = given_place(program)?;
        if !is_of_system(&program.real) && !places.reads.iter().chain(&places.writes).any(|given| program.real.starts_with(&given.real)) {
            own.may_read(&program.real)?;
            places.reads.push(program);
        }
        Ok(places)
    }

    /// Whether a place, without links, lies in a folder that it may read.
    pub(super) fn has(&self, place: &Path) -> bool {
        self.reads.iter().chain(&self.writes).any(|given| given.real.is_dir() && place.starts_with(&given.real))
    }

    /// The system's files and folders that it may read.
    pub(super) fn of_system(&self) -> impl Iterator<Item = &'static str> {
        let network: &[&str] = if self.network { &NETWORK } else { &[] };
        SETTINGS.iter().chain(network).chain(&MACHINE).copied()
    }

    /// The same as rules of Landlock, which only give. So of a folder with something hidden in it, all else is given piece by piece.
    pub(super) fn rules(&self, scratch: PathBuf) -> PathRules {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        let mut rules = PathRules { devices: paths(&DEVICES), ..PathRules::default() };
        rules.system = SYSTEM.iter().copied().chain(self.of_system()).chain(PROCESSES).map(PathBuf::from).collect();
        rules.write = self.writes.iter().map(|given| given.real.clone()).chain([scratch]).collect();
        self.reads.iter().for_each(|given| self.give(&given.real, &mut rules));
        rules
    }

    fn give(&self, place: &Path, rules: &mut PathRules) {
        if self.hidden.iter().any(|hidden| place.starts_with(hidden)) {
            return;
        }
        if !self.hidden.iter().any(|hidden| hidden.starts_with(place)) {
            return rules.read.push(place.to_path_buf());
        }
        rules.list.push(place.to_path_buf());
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            // What a link leads to is given by its own place, if it is.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.give(&entry.path(), rules);
            }
        }
    }
}

/// Whether every program may read a place without links.
pub(super) fn is_of_system(place: &Path) -> bool {
    SYSTEM.iter().any(|system| place.starts_with(system) || real(system).is_some_and(|real| place.starts_with(real)))
}

fn real(path: &str) -> Option<PathBuf> {
    Path::new(path).canonicalize().ok()
}

/// A place that exists.
fn given_place(path: &Path) -> Result<GivenPlace, Failure> {
    let cannot =
        |e: std::io::Error| Failure::new(FailureKind::Unavailable, format!("{} cannot be given to a program: {e}", shown_path(path)));
    Ok(GivenPlace { named: std::path::absolute(here(path)).map_err(cannot)?, real: here(path).canonicalize().map_err(cannot)? })
}

/// A place that is named in the project must lie there: an earlier program may have put a link in its way. What is named elsewhere was named by a person.
fn stays_in(project: &Path, given: &GivenPlace, touch: Touch) -> Result<(), Failure> {
    let Ok(real) = here(project).canonicalize() else { return Ok(()) };
    let named = std::path::absolute(here(project)).unwrap_or_else(|_| project.to_path_buf());
    // `PROJECT/../other` is not in the project; a person named it so, since paths of files are tidied.
    let has_steps_up = given.named.components().any(|part| part == Component::ParentDir);
    let named_at = if has_steps_up { real_path(&given.named) } else { given.named.clone() };
    let is_named_inside = touch == Touch::Write || named_at.starts_with(&named) || named_at.starts_with(&real);
    if !is_named_inside || given.real.starts_with(&real) {
        return Ok(());
    }
    let message = format!("{} is a link that leads out of the project; no program may follow it", shown_path(&given.named));
    Err(Failure::new(FailureKind::Denied, message))
}
