//! The filter of system calls. It takes away what reaches past files and processes (the kernel, the network, the memory of others), and what Landlock
//! does not see. What is not named here is allowed.
//!
//! Each call is answered in one of three ways. Most are refused with EPERM. `clone3` does not exist (ENOSYS), since its flags cannot be looked at; the
//! C library then uses `clone`. Some seem to succeed and do nothing where Landlock is the sandbox, since programs that lay out files and processes use
//! them in passing: leaving the process group, and changing the mode, the owner or the times of a file.

use std::collections::BTreeMap;

use libc::{
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, F_SETOWN, TIOCSTI, c_int, c_long,
};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    sock_filter,
};

/// Calls whose number is higher are newer than this list, so nobody has looked at what they allow.
const NEWEST: u32 = 462;
/// Calls of the 32-bit interface of x86-64 have this bit; each call of the list would exist a second time.
const X32: u32 = 0x4000_0000;
/// Not in every C library.
const TIOCLINUX: u64 = 0x541C;
const S_ISUID: u64 = 0o4000;
const S_ISGID: u64 = 0o2000;
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;
const CLONE_NEWTIME: u64 = 0x80;
const PRIO_USER: u64 = 2;
const IOPRIO_WHO_USER: u64 = 3;
/// The bits of a socket's kind, and the kinds other than a stream (`linux/net.h`).
const KIND: u64 = 0xf;
const OTHER_KINDS: [u64; 6] = [2, 3, 4, 5, 6, 10];

/// What of the filter depends on the sandbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilterNeeds {
    /// Which sockets it may open, beside pairs among its own processes.
    pub(super) sockets: Sockets,
    /// Whether the process shares its names of processes, users and shared memory with the system.
    pub(super) shares_system: bool,
    /// The id of the process if nothing else keeps its signals from other processes.
    pub(super) signals_of: Option<u32>,
}

/// Sockets that a program may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// None.
    None,
    /// Those of TCP, to connect with: Landlock knows the ports of these, and of no others.
    Outgoing,
    /// All of the internet.
    Internet,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// What an argument must be: its place, the comparison and the value.
type ArgumentCheck = (u8, SeccompCmpOp, u64);

/// The programs to apply, in any order.
///
/// # Errors
/// Fails on a processor that the filter does not know.
pub(super) fn programs(needs: FilterNeeds) -> Result<Vec<BpfProgram>, String> {
    let arch: TargetArch =
        std::env::consts::ARCH.try_into().map_err(|_| format!("no filter for the processor {}", std::env::consts::ARCH))?;
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let mut programs = vec![only_known()];
    let answers = [
        (refused(needs), errno(libc::EPERM)),
        (rules(&MISSING, vec![]), errno(libc::ENOSYS)),
        (rules(if needs.shares_system { PRETENDED } else { &[] }, vec![]), errno(0)),
    ];
    for (rules, answer) in answers {
        let rules = rules.map_err(|e| e.to_string())?;
        if !rules.is_empty() {
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).map_err(|e| e.to_string())?;
            programs.push(filter.try_into().map_err(|e: BackendError| e.to_string())?);
        }
    }
    Ok(programs)
}

/// Answers ENOSYS to all calls that are newer than this list. Codes: `linux/bpf_common.h`, `linux/seccomp.h`.
fn only_known() -> BpfProgram {
    let [load_word, jump_if_more, give_back] = [0x20, 0x25, 0x06];
    let (allow, refuse) = (0x7fff_0000, 0x0005_0000 | libc::ENOSYS.unsigned_abs());
    // The number of the call is the first word of what a filter sees. A number with X32 is higher than all others.
    const { assert!(X32 > NEWEST) };
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![line(load_word, 0, 0, 0), line(jump_if_more, 1, 0, NEWEST), line(give_back, 0, 0, allow), line(give_back, 0, 0, refuse)]
}

/// The rules of calls that are `always` meant, and of those that are meant if their arguments pass all checks of one entry. A check looks at the
/// first four bytes where the kernel reads no more, so that set bits above hide nothing.
fn rules(always: &[c_long], checked: Vec<(c_long, Vec<ArgumentCheck>)>) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for (call, checks) in checked {
        let condition = |(index, is, value)| SeccompCondition::new(index, SeccompCmpArgLen::Dword, is, value);
        let conditions = checks.into_iter().map(condition).collect::<Result<_, _>>()?;
        rules.entry(call).or_default().push(SeccompRule::new(conditions)?);
    }
    rules.extend(always.iter().map(|call| (*call, vec![])));
    Ok(rules)
}

const MISSING: [c_long; 1] = [libc::SYS_clone3];

#[rustfmt::skip]
const PRETENDED: &[c_long] = &[
    libc::SYS_setsid, libc::SYS_setpgid, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchmodat2, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_utimensat, libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr, libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod, #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown, #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes, #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
];

#[rustfmt::skip]
const REFUSED: &[c_long] = &[
    // The memory and the files of other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise, libc::SYS_process_mrelease,
    libc::SYS_kcmp, libc::SYS_pidfd_getfd,
    // Calls that a filter does not see.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    // Another view of the file system, or of the system.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_mount_setattr, libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen,
    libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_unshare, libc::SYS_setns,
    libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at, libc::SYS_fanotify_init, libc::SYS_fanotify_mark,
    // Keys, and the inner parts of the kernel.
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd,
    libc::SYS_kexec_load, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_syslog, libc::SYS_vhangup,
    // The whole machine.
    libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_quotactl_fd,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_lookup_dcookie,
    #[cfg(target_arch = "x86_64")] libc::SYS_iopl, #[cfg(target_arch = "x86_64")] libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")] libc::SYS_modify_ldt, #[cfg(target_arch = "x86_64")] libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")] libc::SYS_uselib, #[cfg(target_arch = "x86_64")] libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")] libc::SYS_sysfs, #[cfg(target_arch = "x86_64")] libc::SYS__sysctl,
    #[cfg(target_arch = "x86_64")] libc::SYS_nfsservctl,
];

/// Memory and messages that all processes of a user share, and watching folders that may not be read.
#[rustfmt::skip]
const SHARED: &[c_long] = &[
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semop, libc::SYS_semctl, libc::SYS_semtimedop,
    libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl, libc::SYS_mq_open, libc::SYS_mq_unlink,
    libc::SYS_inotify_add_watch, libc::SYS_migrate_pages, libc::SYS_move_pages,
];

/// What changes other processes of the same user: only the caller itself (0) may be named.
#[rustfmt::skip]
const OF_CALLER: [c_long; 5] = [
    libc::SYS_prlimit64, libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr,
];

fn refused(needs: FilterNeeds) -> Result<Rules, BackendError> {
    let mut always = REFUSED.to_vec();
    // An asked-for personality changes what the kernel checks; 0xffffffff only asks which one it is.
    let mut checked = vec![(libc::SYS_personality, vec![(0, Ne, 0), (0, Ne, 0xffff_ffff)])];
    let spaces = [CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET];
    let spaces = spaces.map(bits).into_iter().chain([CLONE_NEWTIME]);
    checked.extend(spaces.map(|space| (libc::SYS_clone, vec![has(0, space)])));
    checked.extend([S_ISUID, S_ISGID].into_iter().flat_map(|bit| outliving(bit, needs.shares_system)));
    // Keys pressed for the terminal of another.
    checked.extend([TIOCSTI, TIOCLINUX].map(|request| (libc::SYS_ioctl, vec![(1, Eq, request)])));
    match needs.sockets {
        Sockets::None => always.push(libc::SYS_socket),
        Sockets::Internet => {}
        Sockets::Outgoing => {
            always.push(libc::SYS_listen);
            checked.extend(beside_tcp());
        }
    }
    // Sockets: pairs among its own processes, and the internet where it is allowed. Nothing else: no socket of another program on this machine.
    checked.push((libc::SYS_socketpair, vec![(0, Ne, bits(libc::AF_UNIX))]));
    if needs.sockets != Sockets::None {
        let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        checked.push((libc::SYS_socket, internet.map(|family| (0, Ne, bits(family))).to_vec()));
    }
    if needs.shares_system {
        checked.extend(OF_CALLER.map(|call| (call, vec![(0, Ne, 0)])));
        for (call, user) in [(libc::SYS_setpriority, PRIO_USER), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)] {
            checked.extend([(call, vec![(1, Ne, 0)]), (call, vec![(0, Eq, user)])]);
        }
        always.extend(SHARED);
    }
    if let Some(own) = needs.signals_of {
        always.extend([libc::SYS_pidfd_send_signal, libc::SYS_tkill]);
        // Its group cannot be left, so it has the number of the process: 0 and -own are the group.
        let (own, group) = (u64::from(own), u64::from(own.wrapping_neg()));
        checked.push((libc::SYS_kill, vec![(0, Ne, 0), (0, Ne, own), (0, Ne, group)]));
        let signals = [libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo];
        checked.extend(signals.map(|call| (call, vec![(0, Ne, own)])));
        checked.extend([bits(F_SETOWN), F_SETSIG, F_SETOWN_EX].map(|command| (libc::SYS_fcntl, vec![(1, Eq, command)])));
    }
    rules(&always, checked)
}

/// Files that run as their owner, for anybody: they would outlive the program.
fn outliving(bit: u64, shares_system: bool) -> Vec<(c_long, Vec<ArgumentCheck>)> {
    let mut checked = vec![
        (libc::SYS_mknodat, vec![has(2, bit)]),
        (libc::SYS_openat, vec![has(2, bits(libc::O_CREAT)), has(3, bit)]),
        (libc::SYS_openat, vec![has(2, bits(libc::O_TMPFILE)), has(3, bit)]),
    ];
    #[cfg(target_arch = "x86_64")]
    checked.extend([
        (libc::SYS_mknod, vec![has(1, bit)]),
        (libc::SYS_creat, vec![has(1, bit)]),
        (libc::SYS_open, vec![has(1, bits(libc::O_CREAT)), has(2, bit)]),
    ]);
    // Where changing a mode is only pretended, it sets no such bit either.
    if !shares_system {
        checked.extend(
            [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2)].map(|(call, mode)| (call, vec![has(mode, bit)])),
        );
        #[cfg(target_arch = "x86_64")]
        checked.push((libc::SYS_chmod, vec![has(1, bit)]));
    }
    checked
}

/// What sends past Landlock where it knows the ports of TCP alone.
fn beside_tcp() -> Vec<(c_long, Vec<ArgumentCheck>)> {
    let (netlink, tcp, fast_open) = (bits(libc::AF_NETLINK), bits(libc::IPPROTO_TCP), bits(libc::MSG_FASTOPEN));
    let mut checked = vec![
        (libc::SYS_socket, vec![(0, Ne, netlink), (2, Ne, 0), (2, Ne, tcp)]),
        // Of netlink, which addresses this machine has (protocol 0).
        (libc::SYS_socket, vec![(0, Eq, netlink), (2, Ne, 0)]),
    ];
    checked.extend(OTHER_KINDS.map(|kind| (libc::SYS_socket, vec![(0, Ne, netlink), (1, MaskedEq(KIND), kind)])));
    // Data with the first packet connects past Landlock.
    let sends = [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];
    checked.extend(sends.map(|(call, flags)| (call, vec![has(flags, fast_open)])));
    checked
}

fn has(index: u8, bits: u64) -> ArgumentCheck {
    (index, MaskedEq(bits), bits)
}

fn bits(number: c_int) -> u64 {
    u64::from(number.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filter_is_small_enough_for_the_kernel() {
        let all = [
            (Sockets::None, false, None),
            (Sockets::Internet, true, Some(7)),
            (Sockets::Outgoing, true, Some(7)),
            (Sockets::None, true, None),
        ];
        for (sockets, shares_system, signals_of) in all {
            let programs = programs(FilterNeeds { sockets, shares_system, signals_of }).unwrap();
            assert_eq!(programs.len(), if shares_system { 4 } else { 3 });
            assert!(
                programs.iter().all(|program| (4..4_096).contains(&program.len())),
                "{:?}",
                programs.iter().map(Vec::len).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn no_call_has_two_answers() {
        let refused = refused(FilterNeeds { sockets: Sockets::None, shares_system: true, signals_of: Some(7) }).unwrap();
        let others: Vec<c_long> = MISSING.iter().chain(PRETENDED).copied().collect();
        assert!(others.iter().all(|call| !refused.contains_key(call)), "{others:?}");
        assert!(refused.keys().chain(&others).all(|call| *call <= i64::from(NEWEST)));
    }
}
