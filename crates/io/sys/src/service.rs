//! Notifies a service manager by systemd's `sd_notify(3)` protocol.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendto, socket_with};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Does nothing without a service manager.
#[derive(Debug)]
pub struct ServiceManager {
    socket: Option<(OwnedFd, SocketAddrUnix)>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// `NOTIFY_SOCKET` names the socket, `WATCHDOG_USEC` the watchdog interval, `WATCHDOG_PID` its
    /// process.
    pub fn of_environment() -> Self {
        let variable = |name: &str| std::env::var_os(name);
        let for_us =
            variable("WATCHDOG_PID").is_none_or(|pid| pid == OsStr::new(&std::process::id().to_string()));
        let micros = variable("WATCHDOG_USEC").and_then(|text| text.to_str()?.parse().ok());
        let watchdog = micros.filter(|_| for_us).map(Duration::from_micros);
        Self::new(variable("NOTIFY_SOCKET").as_deref(), watchdog)
    }

    /// `watchdog` is the manager's interval.
    pub fn new(socket: Option<&OsStr>, watchdog: Option<Duration>) -> Self {
        Self {
            socket: socket.and_then(open),
            watchdog,
        }
    }

    /// Half of the manager's interval, for [`ServiceManager::alive`]. `None` without a watchdog.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog.map(|patience| patience / 2)
    }

    /// `status` is shown to users.
    pub fn ready(&self, status: &str) {
        self.send_status(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// Ends at [`ServiceManager::ready`].
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
        self.send_status(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    pub fn alive(&self) {
        self.send_status("WATCHDOG=1");
    }

    pub fn stopping(&self) {
        self.send_status("STOPPING=1");
    }

    /// Ignores errors, since a manager that does not listen is no reason to stop.
    fn send_status(&self, text: &str) {
        if let Some((socket, address)) = &self.socket {
            sendto(socket, text.as_bytes(), SendFlags::NOSIGNAL, address).ok();
        }
    }
}

/// A path that begins with `@` is an abstract name.
fn open(path: &OsStr) -> Option<(OwnedFd, SocketAddrUnix)> {
    let address = match path.as_bytes().split_first()? {
        (b'@', name) => SocketAddrUnix::new_abstract_name(name).ok()?,
        _ => SocketAddrUnix::new(path.as_bytes()).ok()?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).ok()?;
    Some((socket, address))
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
