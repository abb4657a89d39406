//! Name servers for the processes of the sandbox.

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use sys::{LiveError, OsError};

const FILE: &str = "/etc/resolv.conf";

/// Only if the system's name server could not be reached from inside (127.0.0.1, or IPv6).
pub(super) fn ask_names_of(gateway: Ipv4Addr) -> Result<(), LiveError> {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let reachable = |address: IpAddr| address.is_ipv4() && !address.is_loopback();
    let mut servers = text.lines().filter_map(server);
    if !text.is_empty() && servers.all(reachable) {
        return Ok(());
    }
    let others = text.lines().filter(|line| server(line).is_none());
    let replaced: String = others.map(|line| format!("{line}\n")).collect();
    show_instead(&format!("nameserver {gateway}\n{replaced}")).map_err(|reason| LiveError::System {
        operation: "show the gateway as the name server",
        reason,
    })
}

fn server(line: &str) -> Option<IpAddr> {
    let address = line.trim().strip_prefix("nameserver")?.trim();
    // A link-local address is followed by its interface.
    address.split('%').next()?.parse().ok()
}

/// The file lies in a private memory file system.
fn show_instead(text: &str) -> Result<(), OsError> {
    let os = |error: std::io::Error| OsError::from_io_error(&error);
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"longwire", c"/tmp", c"tmpfs", flags, None)?;
    let made = (|| {
        let mut file = File::create("/tmp/resolv.conf").map_err(os)?;
        file.write_all(text.as_bytes()).map_err(os)?;
        let here = format!("/proc/self/fd/{}", file.as_raw_fd());
        mount_bind(here, c"/etc/resolv.conf").map_err(OsError::from)
    })();
    unmount(c"/tmp", UnmountFlags::DETACH)?;
    made
}
