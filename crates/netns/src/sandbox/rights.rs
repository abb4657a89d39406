//! What a process of the sandbox may do: user namespace, capabilities, mounts.

use std::io;
use sys::OsError;

/// Whether this process is root, of its user namespace.
pub(super) fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The user and group of this process.
pub(super) fn own_ids() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Lets user and group of a new user namespace be those they are outside, and no other exist in it.
pub(super) fn keep_identity(ids: (libc::uid_t, libc::gid_t)) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", ids.0))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", ids.1))
}

/// Mounts of this namespace stay in it; those that the system makes or takes away still show.
pub(super) fn keep_mounts_here() -> Result<(), OsError> {
    mount(None, c"/", None, libc::MS_REC | libc::MS_SLAVE)
}

/// `/proc` of this pid namespace. Some containers refuse it; the old one then stays and shows the processes of outside.
pub(super) fn mount_proc() -> Result<(), OsError> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(c"proc"), c"/proc", Some(c"proc"), flags)
}

pub(super) fn mount(
    source: Option<&std::ffi::CStr>,
    target: &std::ffi::CStr,
    kind: Option<&std::ffi::CStr>,
    flags: libc::c_ulong,
) -> Result<(), OsError> {
    let pointer = |text: Option<&std::ffi::CStr>| text.map_or(std::ptr::null(), std::ffi::CStr::as_ptr);
    // SAFETY: terminated strings or null, as the call allows.
    let result = unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            std::ptr::null(),
        )
    };
    if result < 0 { Err(OsError::last()) } else { Ok(()) }
}

/// Takes the latest mount on `target` away; what uses it keeps it.
pub(super) fn unmount(target: &std::ffi::CStr) -> Result<(), OsError> {
    // SAFETY: a terminated string and an integer.
    let result = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    if result < 0 { Err(OsError::last()) } else { Ok(()) }
}

/// Capabilities that an inner process of an ordinary user keeps over exec: to make namespaces and mounts, to configure
/// their networks, to answer for addresses and ports that are not its own.
const KEPT: [u32; 4] = [CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN];
const CAP_NET_BIND_SERVICE: u32 = 10;
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;

/// `linux/capability.h`, version 3: two words of 32 bits.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn capabilities() -> Result<[Sets; 2], OsError> {
    let mut header = Header {
        version: CAPABILITY_VERSION,
        pid: 0,
    };
    let mut sets = [Sets::default(); 2];
    // SAFETY: version 3 fills two of these structures.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) };
    if result < 0 {
        Err(OsError::last())
    } else {
        Ok(sets)
    }
}

fn set_capabilities(sets: [Sets; 2]) -> Result<(), OsError> {
    let mut header = Header {
        version: CAPABILITY_VERSION,
        pid: 0,
    };
    // SAFETY: version 3 reads two of these structures.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) };
    if result < 0 { Err(OsError::last()) } else { Ok(()) }
}

/// Lets the capabilities of a new user namespace outlive exec, which takes them from everybody but root.
pub(super) fn keep_rights_over_exec() -> Result<(), OsError> {
    let mut sets = capabilities()?;
    for capability in KEPT {
        sets[0].inheritable |= sets[0].permitted & (1 << capability);
    }
    set_capabilities(sets)?;
    for capability in KEPT {
        // SAFETY: integers only.
        let result = unsafe {
            libc::prctl(
                libc::PR_CAP_AMBIENT,
                libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong,
                libc::c_ulong::from(capability),
                0,
                0,
            )
        };
        if result < 0 {
            return Err(OsError::last());
        }
    }
    Ok(())
}

/// Takes back what [`keep_rights_over_exec`] gave, in a process that is about to become another program: that one gets
/// the rights of its user and no more. Safe between fork and exec: it allocates nothing.
pub(crate) fn give_up_rights() -> io::Result<()> {
    let failed = |reason: OsError| io::Error::from_raw_os_error(reason.0);
    // SAFETY: integers only.
    let cleared = unsafe {
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong,
            0,
            0,
            0,
        )
    };
    if cleared < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut sets = capabilities().map_err(failed)?;
    for set in &mut sets {
        set.inheritable = 0;
    }
    set_capabilities(sets).map_err(failed)
}
