//! Landlock: what a process and all that it starts may open. In the kernel since Linux 5.13; see `Documentation/userspace-api/landlock.rst` there.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use super::spec::{PathRules, StageNetwork};

/// The first version that also keeps files from being emptied: Linux 6.2.
const LEAST: ABI = ABI::V3;
/// The newest version that this list knows. The kernel is asked for as much of it as it has.
const MOST: ABI = ABI::V9;

/// What the kernel here is able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LandlockSupport {
    /// Nothing, or too little.
    TooOld,
    /// Files, but no signals.
    Files,
    /// Files and signals.
    Signals,
}

/// Asks the kernel.
pub(super) fn support() -> LandlockSupport {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let is = |ruleset: Result<Ruleset, landlock::RulesetError>| ruleset.and_then(Ruleset::create).is_ok();
    match (is(strict().handle_access(AccessFs::from_all(LEAST))), is(strict().scope(Scope::Signal))) {
        (false, _) => LandlockSupport::TooOld,
        (true, false) => LandlockSupport::Files,
        (true, true) => LandlockSupport::Signals,
    }
}

/// Holds this process and all that it starts to the rules. There is no way back.
///
/// # Errors
/// Fails if the kernel does not do what is needed at least, or a file or folder of the rules cannot be opened.
pub(super) fn restrict(rules: &PathRules, network: &StageNetwork) -> Result<(), String> {
    let told = |e: &dyn std::error::Error| e.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .map_err(|e| told(&e))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(MOST))
        .and_then(|ruleset| ruleset.scope(Scope::Signal | Scope::AbstractUnixSocket))
        .map_err(|e| told(&e))?;
    let tcp = AccessNet::BindTcp | AccessNet::ConnectTcp;
    let mut ports = vec![];
    ruleset = match network {
        StageNetwork::None => ruleset.handle_access(tcp).map_err(|e| told(&e))?,
        StageNetwork::Hosts { addresses, handed: _ } => {
            ports.extend(addresses.iter().map(SocketAddr::port));
            let needed = ruleset.set_compatibility(CompatLevel::HardRequirement).handle_access(tcp);
            let cannot = |_| "this kernel cannot hold a program to hosts by Landlock (Linux 6.7); install bubblewrap".to_owned();
            needed.map_err(cannot)?.set_compatibility(CompatLevel::BestEffort)
        }
        StageNetwork::All => ruleset,
    };
    let mut ruleset = ruleset.create().map_err(|e| told(&e))?;
    for port in ports {
        ruleset = ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(|e| told(&e))?;
    }
    let read = AccessFs::from_read(MOST);
    let devices = make_bits(&[AccessFs::ReadFile, AccessFs::WriteFile, AccessFs::IoctlDev]);
    let special = make_bits(&[AccessFs::MakeChar, AccessFs::MakeBlock, AccessFs::IoctlDev]);
    let places = [
        (&rules.system, read, Follow::Links),
        (&rules.devices, devices, Follow::Links),
        (&rules.read, read, Follow::Nothing),
        (&rules.list, AccessFs::ReadDir.into(), Follow::Nothing),
        (&rules.write, AccessFs::from_all(MOST) & !special, Follow::NothingAndBeThere),
    ];
    for (paths, access, follow) in places {
        for path in paths {
            ruleset = added(ruleset, path, access, follow)?;
        }
    }
    let RestrictionStatus { ruleset, no_new_privs, .. } = ruleset.restrict_self().map_err(|e| told(&e))?;
    match ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if no_new_privs => Ok(()),
        _ => Err("the kernel did not apply the rules".to_owned()),
    }
}

fn make_bits(all: &[AccessFs]) -> BitFlags<AccessFs> {
    all.iter().fold(BitFlags::empty(), |bits, one| bits | *one)
}

/// Whether a place may be reached by links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// It may, and need not exist: the system's own.
    Links,
    /// It may not: somebody could have put a link there since the place was looked at. It may be gone since then: of a folder with something hidden in
    /// it all files are listed, and those of other programs come and go.
    Nothing,
    /// The same, but it must be there.
    NothingAndBeThere,
}

fn added(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>, follow: Follow) -> Result<RulesetCreated, String> {
    let resolve = if follow == Follow::Links { ResolveFlags::empty() } else { ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS };
    let opened = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve);
    let cannot = |e: rustix::io::Errno| format!("{} cannot be opened: {e}", path.display());
    let place: OwnedFd = match opened {
        Ok(place) => place,
        Err(_) if follow == Follow::Links => return Ok(ruleset),
        Err(rustix::io::Errno::NOENT) if follow == Follow::Nothing => return Ok(ruleset),
        Err(error) => return Err(cannot(error)),
    };
    let is_folder = FileType::from_raw_mode(fstat(&place).map_err(cannot)?.st_mode) == FileType::Directory;
    let access = if is_folder { access } else { access & AccessFs::from_file(MOST) };
    if access.is_empty() {
        return Ok(ruleset);
    }
    ruleset.add_rule(PathBeneath::new(place, access)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::extras::not_tried;

    /// What a thread may read once it is held to rules; the rules end with it.
    fn held_to(rules: PathRules, looks: impl FnOnce() -> Vec<bool> + Send + 'static) -> Result<Vec<bool>, String> {
        std::thread::spawn(move || restrict(&rules, &StageNetwork::None).map(|()| looks())).join().unwrap()
    }

    /// A folder of a project that holds something hidden is given file by file, and a scratch folder of another program that lay there may be gone
    /// before this one starts.
    #[test]
    fn what_is_gone_since_it_was_listed_is_not_given_and_keeps_no_program_from_its_start() {
        if support() == LandlockSupport::TooOld {
            return not_tried("EXTRAS", "Landlock", "use Linux 6.2 or newer with Landlock");
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        ["kept", "other"].iter().for_each(|name| fs::write(at(name), "").unwrap());
        let rules = PathRules { read: vec![at("gone"), at("kept")], list: vec![at("gone_folder")], ..PathRules::default() };
        let [kept, other] = ["kept", "other"].map(at);
        let seen = held_to(rules.clone(), move || vec![File::open(kept).is_ok(), File::open(other).is_ok()]);
        assert_eq!(seen, Ok(vec![true, false]));
        // A link in its place, or a folder to write in that is gone, is told.
        symlink(at("other"), at("gone")).unwrap();
        assert!(held_to(rules, Vec::new).unwrap_err().contains("gone cannot be opened"));
        let writes = PathRules { write: vec![at("gone_folder")], ..PathRules::default() };
        assert!(held_to(writes, Vec::new).unwrap_err().contains("gone_folder cannot be opened"));
    }
}
