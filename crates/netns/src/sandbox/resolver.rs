//! Name servers as the processes of the sandbox see them.

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use sys::{LiveError, OsError};

const FILE: &str = "/etc/resolv.conf";

/// Lets names be asked of `gateway`, where the name servers of the system could not be reached from inside:
/// on 127.0.0.1, or by IPv6. The change is in the mount namespace only.
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
    // An address of one link has the link's name behind it.
    address.split('%').next()?.parse().ok()
}

/// Mounts a file with this text over the system's. The file lies in a file system in memory that nothing else
/// shows.
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
