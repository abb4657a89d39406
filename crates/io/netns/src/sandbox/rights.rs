//! Rights of a process in the sandbox: user namespace, capabilities, mounts.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    set_capabilities,
};
use std::io;
use sys::OsError;

pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

pub(super) fn own_ids() -> (u32, u32) {
    (geteuid().as_raw(), getegid().as_raw())
}

/// Maps only the current user and group into a new user namespace, unchanged.
pub(super) fn keep_identity(ids: (u32, u32)) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", ids.0))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", ids.1))
}

/// Mounts made here stay private; changes by the system still show.
pub(super) fn keep_mounts_here() -> Result<(), OsError> {
    let flags = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    Ok(mount_change(c"/", flags)?)
}

/// Some containers refuse it; the old one then stays and shows outside processes.
pub(super) fn mount_proc() -> Result<(), OsError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(c"proc", c"/proc", c"proc", flags, None)?)
}

/// To make namespaces and mounts, to configure their networks, to answer for addresses and ports of
/// others.
const KEPT: [CapabilitySet; 4] = [
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::SYS_ADMIN,
];

/// Without this, exec drops the capabilities for every user but root.
pub(super) fn keep_rights_over_exec() -> Result<(), OsError> {
    let mut sets = capabilities(None)?;
    for capability in KEPT {
        sets.inheritable |= sets.permitted & capability;
    }
    set_capabilities(None, sets)?;
    for capability in KEPT {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Reverses [`keep_rights_over_exec`], so that the program has only its user's rights. Safe between
/// fork and exec, without allocation.
pub(crate) fn give_up_rights() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let mut sets = capabilities(None)?;
    sets.inheritable = CapabilitySet::empty();
    Ok(set_capabilities(None, sets)?)
}
