//! What a process of the sandbox may do: user namespace, capabilities, mounts.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    set_capabilities,
};
use std::io;
use sys::OsError;

/// Whether this process is root, of its user namespace.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

/// The user and group of this process.
pub(super) fn own_ids() -> (u32, u32) {
    (geteuid().as_raw(), getegid().as_raw())
}

/// Lets user and group of a new user namespace be those they are outside, and no other exist in it.
pub(super) fn keep_identity(ids: (u32, u32)) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", ids.0))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", ids.1))
}

/// Mounts of this namespace stay in it; those that the system makes or takes away still show.
pub(super) fn keep_mounts_here() -> Result<(), OsError> {
    let flags = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    Ok(mount_change(c"/", flags)?)
}

/// `/proc` of this pid namespace. Some containers refuse it; the old one then stays and shows the processes
/// of outside.
pub(super) fn mount_proc() -> Result<(), OsError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(c"proc", c"/proc", c"proc", flags, None)?)
}

/// Capabilities that an inner process of an ordinary user keeps over exec: to make namespaces and mounts, to
/// configure their networks, to answer for addresses and ports that are not its own.
const KEPT: [CapabilitySet; 4] = [
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::SYS_ADMIN,
];

/// Lets the capabilities of a new user namespace outlive exec, which takes them from every user but root.
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

/// Takes back what [`keep_rights_over_exec`] gave, in a process that is about to become another program: that
/// one gets the rights of its user and no more. Safe between fork and exec: it allocates nothing.
pub(crate) fn give_up_rights() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let mut sets = capabilities(None)?;
    sets.inheritable = CapabilitySet::empty();
    Ok(set_capabilities(None, sets)?)
}
