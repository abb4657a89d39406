//! A host as a network namespace, held by a descriptor.

use super::{device, system};
use crate::sandbox::give_up_rights;
use rustix::process::getegid;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use sys::signals::block_all_signals;
use sys::{LiveError, OsError};

/// Ends with its last descriptor and its last process.
#[derive(Debug, Clone)]
pub(super) struct Namespace(Arc<OwnedFd>);

impl Namespace {
    pub(super) fn make() -> Result<Self, LiveError> {
        std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                block_all_signals();
                // SAFETY: only the network of this thread changes, which ends here; its descriptors stay
                // shared.
                unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| {
                    LiveError::NamespaceRefused {
                        operation: "make a network namespace",
                        reason: error.into(),
                    }
                })?;
                let own = File::open("/proc/thread-self/ns/net")
                    .map_err(|error| system("open a network namespace")(OsError::from_io_error(&error)))?;
                device::raise_loopback()?;
                settle();
                Ok(Self(Arc::new(own.into())))
            });
            made.join().unwrap_or(Err(LiveError::System {
                operation: "make a network namespace",
                reason: OsError(libc::EAGAIN),
            }))
        })
    }

    pub(super) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                block_all_signals();
                if let Err(error) = enter(&self.0) {
                    panic!("longwire could not enter the network namespace of a host: {error}");
                }
                work()
            });
            match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    pub(super) fn make_home_of(&self, command: &mut Command) {
        let namespace = Arc::clone(&self.0);
        let home = move || {
            enter(&namespace)?;
            give_up_rights()
        };
        // SAFETY: between fork and exec it makes system calls only; it neither allocates nor locks.
        unsafe { command.pre_exec(home) };
    }
}

fn enter(namespace: &OwnedFd) -> std::io::Result<()> {
    // Changes the network of this thread only.
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// Skips settings that the kernel lacks or refuses.
fn settle() {
    let group = getegid().as_raw();
    let ping = if group == 0 {
        "0 2147483647".to_owned()
    } else {
        format!("{group} {group}")
    };
    let settings = [
        ("ipv4/ping_group_range", ping.as_str()),
        ("ipv4/ip_unprivileged_port_start", "0"),
        // Links carry IPv4 only. IPv6 would add packets of the kernel, which loss and counts would
        // see; the loopback keeps it.
        ("ipv6/conf/default/disable_ipv6", "1"),
        // Some systems set it for security of real networks; here both directions are known.
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
    ];
    for (name, value) in settings {
        set(name, value).ok();
    }
}

pub(super) fn forward_packets() -> Result<(), LiveError> {
    set("ipv4/ip_forward", "1")
        .map_err(|error| system("let a host forward packets")(OsError::from_io_error(&error)))
}

/// Writes a setting under `/proc/sys/net`.
pub(super) fn set(name: &str, value: &str) -> std::io::Result<()> {
    std::fs::write(format!("/proc/sys/net/{name}"), value)
}

/// Selects processors for received packets of future devices (of the first 32), by connection, in
/// place of the writing thread, which receives if none is given or the kernel lacks it (receive
/// packet steering; since Linux 6.3).
pub(super) fn receive_on(processors: &[usize]) {
    let bits = processors
        .iter()
        .filter_map(|number| 1_u32.checked_shl(u32::try_from(*number).ok()?));
    let mask = bits.fold(0, |mask, bit| mask | bit);
    set("core/rps_default_mask", &format!("{mask:x}")).ok();
}

/// Packets that a device dropped.
pub(super) struct DroppedPackets {
    pub(super) received: u64,
    pub(super) sent: u64,
}

pub(super) fn dropped_packets(device: &str) -> DroppedPackets {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'));
    let figure = |column| {
        let dropped = line.and_then(|figures| figures.split_whitespace().nth(column));
        dropped.and_then(|figure| figure.parse().ok()).unwrap_or(0)
    };
    DroppedPackets {
        received: figure(RECEIVED_DROPPED),
        sent: figure(SENT_DROPPED),
    }
}

/// Columns of `/proc/net/dev` after the device's name.
const RECEIVED_DROPPED: usize = 3;
const SENT_DROPPED: usize = 11;
