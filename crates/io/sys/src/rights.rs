//! Privileges of this process, and dropping them.
//!
//! Packets are untrusted input. Once everything is open that needs root, the process that reads
//! them continues as a user that owns no files, and cannot gain privileges again (`no_new_privs`).

use crate::error::{LiveError, OsError};
use rustix::process::{DumpableBehavior, getegid, geteuid, getgid, getuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, no_new_privs,
    set_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use rustix::{fs::Gid, fs::Uid};
use std::path::Path;
use std::{fs, io};

/// Whether this process runs setuid or setgid.
pub fn is_another_users() -> bool {
    getuid() != geteuid() || getgid() != getegid()
}

/// Whether this process is root of its user namespace.
pub fn is_root() -> bool {
    geteuid().is_root()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnprivilegedUser {
    user: u32,
    group: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightsLeft {
    OfUser(UnprivilegedUser),
    /// This process was not root, or could not become another user.
    OfSameUser,
}

impl UnprivilegedUser {
    /// The user that called sudo, otherwise `nobody`. `None` if this process is not root.
    pub fn instead_of_root() -> Option<Self> {
        let number = |name: &str| {
            std::env::var(name)
                .ok()?
                .parse::<u32>()
                .ok()
                .filter(|id| *id != 0)
        };
        let by_sudo = number("SUDO_UID").zip(number("SUDO_GID"));
        let (user, group) = by_sudo.or_else(nobody).unwrap_or((OVERFLOW, OVERFLOW));
        is_root().then_some(Self { user, group })
    }

    pub fn give(self, folder: &Path) -> std::io::Result<()> {
        std::os::unix::fs::chown(folder, Some(self.user), Some(self.group))
    }

    /// Whether the user exists in this user namespace, and this process may become it.
    fn can_be_taken(self) -> bool {
        let rights = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
        rights.contains(CapabilitySet::SETUID | CapabilitySet::SETGID)
            && is_mapped(self.user, "/proc/self/uid_map")
            && is_mapped(self.group, "/proc/self/gid_map")
    }
}

/// Drops all privileges that this user's programs lack, for all threads and for good; a root
/// process becomes `instead`.
///
/// # Errors
/// If the system refuses: then no packet may be read.
pub fn give_up_all(instead: Option<UnprivilegedUser>) -> Result<RightsLeft, LiveError> {
    let failed = |operation| move |reason| LiveError::System { operation, reason };
    gain_nothing_again().map_err(failed("forbid itself to gain rights"))?;
    let taken = instead.filter(|user| user.can_be_taken());
    if let Some(user) = taken {
        become_user(user).map_err(failed("give up the rights of root"))?;
    }
    clear_ambient_capability_set().ok();
    set_capabilities(None, NO_CAPABILITIES)
        .map_err(|error| failed("give up its capabilities")(OsError::from(error)))?;
    Ok(taken.map_or(RightsLeft::OfSameUser, RightsLeft::OfUser))
}

/// Lets other processes of this user access this one, which file capabilities prevent: they write
/// keys to one of its open files. Only after the right to capture was dropped.
pub fn be_open_to_own_programs() {
    // A failure shows later as keys that cannot be written.
    set_dumpable_behavior(DumpableBehavior::Dumpable).ok();
}

/// Runs `action` on a thread with the rights that [`give_up_all`] leaves, while this process keeps
/// its own.
///
/// # Errors
/// If a thread cannot drop its rights, and those of `action`.
pub fn with_rights_of<T: Send>(
    instead: Option<UnprivilegedUser>,
    action: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let thread = || {
        if let Some(UnprivilegedUser { user, group }) = instead.filter(|user| user.can_be_taken()) {
            match set_thread_groups(&[]) {
                Err(rustix::io::Errno::PERM) if are_groups_denied() => {}
                result => result?,
            }
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
        }
        set_capabilities(None, NO_CAPABILITIES)?;
        action()
    };
    std::thread::scope(|scope| match scope.spawn(thread).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

pub(crate) fn keep_only_looking_at_processes() {
    let needed = CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
    if let Ok(sets) = capabilities(None) {
        let kept = sets.permitted & needed;
        let sets = CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, sets).ok();
    }
    set_no_new_privs(true).ok();
}

/// Programs that any thread starts cannot gain privileges.
fn gain_nothing_again() -> Result<(), OsError> {
    // A service manager may have set it already, for all threads.
    if no_new_privs() == Ok(true) {
        return Ok(());
    }
    set_no_new_privs(true)?;
    let threads = fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if threads == 1 {
        return Ok(());
    }
    // A system-call filter sets it for other threads too; this one allows every call.
    let mut everything = [libc::sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    }];
    let program = libc::sock_fprog {
        len: 1,
        filter: everything.as_mut_ptr(),
    };
    // SAFETY: the program is plain data whose pointer is to its one instruction, which lives until the call
    // is over.
    let set = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    match set {
        0 => Ok(()),
        -1 => match OsError::last() {
            // A kernel without filters: packet-reading threads are started later by this one and
            // inherit its rights.
            OsError(libc::ENOSYS | libc::EINVAL) => Ok(()),
            reason => Err(reason),
        },
        // The number of a thread with its own filter.
        _ => Err(OsError(libc::EBUSY)),
    }
}

fn become_user(user: UnprivilegedUser) -> Result<(), OsError> {
    let UnprivilegedUser { user, group } = user;
    let done = |result: libc::c_int| if result < 0 { Err(OsError::last()) } else { Ok(()) };
    // SAFETY: numbers, and a list of none. libc does it for all threads; the calls of `rustix` are of one.
    unsafe {
        // Where a user namespace forbids the change, the groups are those of its maker, who is not
        // root.
        match done(libc::setgroups(0, std::ptr::null())) {
            Err(OsError(libc::EPERM)) if are_groups_denied() => {}
            result => result?,
        }
        done(libc::setresgid(group, group, group))?;
        done(libc::setresuid(user, user, user))?;
        // A remaining saved user id would allow a return to root.
        match libc::setresuid(u32::MAX, 0, u32::MAX) {
            0 => Err(OsError(libc::EPERM)),
            _ => Ok(()),
        }
    }
}

fn are_groups_denied() -> bool {
    fs::read_to_string("/proc/self/setgroups").is_ok_and(|text| text.trim() == "deny")
}

/// From `/etc/passwd`.
fn nobody() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().find(|line| line.starts_with("nobody:"))?.split(':');
    let user = fields.nth(2)?.parse().ok().filter(|id| *id != 0)?;
    let group = fields.next()?.parse().ok().filter(|id| *id != 0)?;
    Some((user, group))
}

/// Lines of `map` are first id, first id outside, count.
fn is_mapped(number: u32, map: &str) -> bool {
    let text = fs::read_to_string(map).unwrap_or_default();
    text.lines().any(|line| {
        let numbers: Vec<u64> = line
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        matches!(numbers.as_slice(), [first, _, count] if (*first..*first + *count).contains(&number.into()))
    })
}

const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};
/// The kernel's id for unmapped users.
const OVERFLOW: u32 = 65_534;
