//! The processes of a program, as `/proc` shows them: how many there are, and how much memory they take.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunningProcess {
    pub(super) id: u32,
    parent: u32,
    group: u32,
    session: u32,
    threads: u64,
    /// In pages. Memory that processes share counts for each of them.
    pages: u64,
    is_dead: bool,
}

impl RunningProcess {
    /// Reads a line of `/proc/ID/stat`; see `proc_pid_stat(5)`.
    fn parse(line: &str) -> Option<RunningProcess> {
        let (id, rest) = line.split_once(" (")?;
        // The name may hold anything, also brackets.
        let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let small = |place: usize| u32::try_from(number(place)?).ok();
        Some(RunningProcess {
            id: id.parse().ok()?,
            parent: small(1)?,
            group: small(2)?,
            session: small(3)?,
            threads: number(17)?,
            pages: number(21)?,
            is_dead: fields.first().is_some_and(|state| ["Z", "X"].contains(state)),
        })
    }

    /// The memory that it takes, with shared pages divided among those that share them.
    fn shared_out(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.id)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.saturating_mul(1 << 10))
    }
}

/// All living processes that descend from a process, or are in its group or session, itself included.
pub(super) fn of_leader(leader: u32) -> Vec<RunningProcess> {
    let all: HashMap<u32, RunningProcess> = all().map(|process| (process.id, process)).collect();
    let mut inside: HashSet<u32> = HashSet::new();
    let belongs = |process: &RunningProcess, inside: &HashSet<u32>| {
        let mut at = process;
        // A chain of parents has no circle, but the table is not read in one moment.
        for _ in 0..all.len() {
            if at.id == leader || at.group == leader || at.session == leader || inside.contains(&at.id) {
                return true;
            }
            match all.get(&at.parent) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    };
    for process in all.values() {
        if belongs(process, &inside) {
            inside.insert(process.id);
        }
    }
    all.into_values().filter(|process| inside.contains(&process.id) && !process.is_dead).collect()
}

fn all() -> impl Iterator<Item = RunningProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| RunningProcess::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?))
}

/// Processes and threads.
pub(super) fn count(processes: &[RunningProcess]) -> u64 {
    processes.iter().map(|process| process.threads.max(1)).sum()
}

/// Bytes of memory of all of them. Only if that may be more than `most`, shared memory is looked at closely, which takes longer.
pub(super) fn memory(processes: &[RunningProcess], most: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    let rough = processes.iter().map(|process| process.pages.saturating_mul(page)).sum();
    if rough <= most {
        return rough;
    }
    processes.iter().map(|process| process.shared_out().unwrap_or_else(|| process.pages.saturating_mul(page))).sum()
}

/// How many processes and threads this user runs.
pub(super) fn of_user(user: u32) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let is_own = |process: &RunningProcess| fs::metadata(format!("/proc/{}", process.id)).is_ok_and(|what| what.uid() == user);
    all().filter(is_own).map(|process| process.threads).sum()
}

/// Bytes of files that have no name any more, but are open in these processes and take space on the disk.
pub(super) fn nameless(processes: &[RunningProcess]) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut seen = HashSet::new();
    let folders = processes.iter().map(|process| format!("/proc/{}/fd", process.id));
    let open = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let files = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    files.filter(|what| what.is_file() && what.nlink() == 0 && seen.insert((what.dev(), what.ino()))).map(|what| what.blocks() * 512).sum()
}

/// Processes with a variable that begins with this path: those of a program that nothing shuts in, also when they left its group and their parent.
pub(super) fn with_variable(value: &Path) -> Vec<u32> {
    let value = format!("={}", value.display());
    let holds =
        |id: u32| fs::read(format!("/proc/{id}/environ")).is_ok_and(|text| text.windows(value.len()).any(|part| part == value.as_bytes()));
    all().filter(|process| !process.is_dead && holds(process.id)).map(|process| process.id).collect()
}

/// Sends a signal to processes.
pub(super) fn signal(ids: impl IntoIterator<Item = u32>, signal: Signal) {
    for id in ids.into_iter().filter_map(|id| Pid::from_raw(id.cast_signed())) {
        let _ = kill_process(id, signal);
    }
}

/// The first process that a process started, and that still runs.
pub(super) fn child_of(parent: u32) -> Option<u32> {
    all().find(|process| process.parent == parent && !process.is_dead).map(|process| process.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_process_is_read_whatever_its_name() {
        let line = "7 (a) S 1 (b) R 3 4 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 10 11 12 13";
        let process = RunningProcess::parse(line).unwrap();
        let expected = RunningProcess { id: 7, parent: 3, group: 4, session: 5, threads: 9, pages: 12, is_dead: false };
        assert_eq!(process, expected);
        assert_eq!(RunningProcess::parse("7 (a"), None);
    }

    #[test]
    fn processes_of_a_leader_are_found_and_counted() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 30 & sleep 30; :"]).spawn().unwrap();
        let found = loop {
            let found = of_leader(child.id());
            if found.len() == 3 {
                break found;
            }
            std::thread::yield_now();
        };
        assert_eq!(count(&found), 3);
        assert!(memory(&found, u64::MAX) > memory(&found, 0) && memory(&found, 0) > 0);
        assert!(child_of(child.id()).is_some());
        signal(found.iter().map(|process| process.id), Signal::KILL);
        child.wait().unwrap();
        assert_eq!(of_leader(child.id()), []);
    }
}
