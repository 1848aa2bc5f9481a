//! Control groups: where flow may make one, the kernel itself bounds all processes of a program together. See `cgroups(7)`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::random_name;
use crate::port::ProgramBounds;

const ROOT: &str = "/sys/fs/cgroup";
/// Processes of the sandbox itself.
const OWN_PROCESSES: u64 = 4;
/// Memory of the sandbox itself, in bytes.
const OWN_MEMORY: u64 = 32 << 20;

/// The control groups of one program; they are removed when it is dropped.
#[derive(Debug, Default)]
pub(super) struct ControlGroups {
    folders: Vec<PathBuf>,
    /// Whether the kernel bounds processes.
    pub(super) bounds_processes: bool,
    /// Whether the kernel bounds memory.
    pub(super) bounds_memory: bool,
}

impl ControlGroups {
    /// Makes groups below those of this process, or none if that is not allowed.
    pub(super) fn new(bounds: &ProgramBounds) -> ControlGroups {
        let mut groups = ControlGroups::default();
        let name = format!("flow-{}", random_name());
        for (controllers, place) in own_groups(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default()) {
            // The kernel calls the files of both versions alike, but for this one.
            let memory_file = if controllers.is_empty() { "memory.max" } else { "memory.limit_in_bytes" };
            let wants = |which: &str| controllers.is_empty() || controllers.iter().any(|controller| controller == which);
            if !wants("pids") && !wants("memory") {
                continue;
            }
            let folder = place.join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let is_set = |file: &str, value: u64| fs::write(folder.join(file), value.to_string()).is_ok();
            let processes = wants("pids") && is_set("pids.max", bounds.processes.saturating_add(OWN_PROCESSES));
            let memory = wants("memory") && is_set(memory_file, bounds.memory.saturating_add(OWN_MEMORY));
            if processes || memory {
                groups.bounds_processes |= processes;
                groups.bounds_memory |= memory;
                groups.folders.push(folder);
            } else {
                let _ = fs::remove_dir(&folder);
            }
        }
        groups
    }

    /// The files that a process writes itself into.
    pub(super) fn entrances(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join("cgroup.procs")).collect()
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Whether the kernel kept a process from being started.
    pub(super) fn refused_process(&self) -> bool {
        self.folders.iter().any(|folder| counted(&folder.join("pids.events"), "max") > 0)
    }

    /// Whether the kernel ended a process for its memory.
    pub(super) fn ended_for_memory(&self) -> bool {
        self.folders.iter().any(|folder| {
            counted(&folder.join("memory.events"), "oom_kill") > 0 || counted(&folder.join("memory.oom_control"), "oom_kill") > 0
        })
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        self.folders.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// A number of a file of lines `name number`.
fn counted(file: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0)
}

/// The groups of this process, from `/proc/self/cgroup`: the controllers (none: the second version, which has all in one tree), and where a group for a
/// program may be made. In the second version that is beside the own group, since a group with processes has none below it.
fn own_groups(table: &str) -> Vec<(Vec<String>, PathBuf)> {
    let lines = table.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?.trim_start_matches('/')))
    });
    let groups = lines.filter_map(|(controllers, path)| {
        if controllers.is_empty() {
            let unified = Some(Path::new(ROOT)).filter(|root| root.join("cgroup.controllers").exists())?;
            let own = unified.join(path);
            let beside = if own == unified { own } else { own.parent()?.to_path_buf() };
            return Some((vec![], beside));
        }
        let controllers: Vec<String> = controllers.split(',').map(str::to_owned).collect();
        let tree = controllers.iter().find(|name| ["pids", "memory"].contains(&name.as_str()))?;
        Some((controllers.clone(), Path::new(ROOT).join(tree).join(path)))
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_groups_are_read_from_the_table_of_the_first_version() {
        let groups = own_groups("8:pids:/a/b\n7:memory:/\n6:cpu,cpuacct:/\n1:name=systemd:/x\n");
        let expected = [
            (vec!["pids".to_owned()], PathBuf::from("/sys/fs/cgroup/pids/a/b")),
            (vec!["memory".to_owned()], "/sys/fs/cgroup/memory/".into()),
        ];
        assert_eq!(groups, expected);
    }
}
