//! Errors of live operation, and their cause.

mod security;

pub use security::SecurityFault;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    Client,
    Server,
    /// The path between them.
    Link,
    /// This program, its machine, or its arguments.
    Longwire,
}

impl Blame {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Link => "link",
            Self::Longwire => "longwire",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsError(pub i32);

impl OsError {
    pub fn last() -> Self {
        Self::from_io_error(&std::io::Error::last_os_error())
    }

    /// Uses EIO if the error has no number.
    pub fn from_io_error(error: &std::io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl From<rustix::io::Errno> for OsError {
    fn from(error: rustix::io::Errno) -> Self {
        Self(error.raw_os_error())
    }
}

impl fmt::Display for OsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        let plain = text.split(" (os error").next().unwrap_or(&text);
        formatter.write_str(&plain.to_lowercase())
    }
}

/// [`LiveError::hint`] returns the next step for the user.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LiveError {
    #[error("no such host: '{host}'")]
    NoSuchHost {
        /// As given in the target.
        host: String,
    },
    #[error("could not connect to the server {server} ({address}): connection refused")]
    Refused {
        /// As given in the target, `host:port`.
        server: String,
        address: SocketAddr,
    },
    #[error("could not connect to the server {server} ({address}): no answer within {} s", after.as_secs())]
    ConnectTimedOut {
        server: String,
        address: SocketAddr,
        after: Duration,
    },
    /// Connecting failed for another reason.
    #[error("could not connect to the server {server} ({address}): {reason}")]
    ConnectFailed {
        server: String,
        address: SocketAddr,
        reason: OsError,
    },
    /// The target is a Unix-domain socket, but TCP is required.
    #[error("{socket} is a Unix-domain socket")]
    UnixSocket { socket: String },
    #[error("could not connect to the socket {socket}: {reason}")]
    SocketFailed { socket: String, reason: OsError },
    #[error("could not listen on {address}: the port is in use")]
    PortInUse { address: SocketAddr },
    #[error("could not listen on {address}: permission denied")]
    NotPermitted { address: SocketAddr },
    #[error("could not listen on {address}: this machine does not have that address")]
    AddressNotHere { address: SocketAddr },
    /// Listening failed for another reason.
    #[error("could not listen on {address}: {reason}")]
    ListenFailed { address: SocketAddr, reason: OsError },
    /// Clients on other machines would send plain text that TLS was to protect.
    #[error(
        "{name} would listen on {address}, beyond loopback, where clients would send in plain text. Only the way from here to the server \
         is encrypted"
    )]
    PlainClients { name: String, address: SocketAddr },
    /// A relay or proxy would connect to itself.
    #[error("{server} is {address}, where the relay itself would listen: it would connect to itself")]
    LeadsToItself { server: String, address: SocketAddr },
    /// A system call failed that should not.
    #[error("longwire could not {operation}: {reason}")]
    System {
        operation: &'static str,
        reason: OsError,
    },
    #[error("could not {operation}: {reason}")]
    NamespaceRefused {
        operation: &'static str,
        reason: OsError,
    },
    #[error("could not open /dev/net/tun, which links are made of: {reason}")]
    TunRefused { reason: OsError },
    #[error("could not capture packets of a network interface: {reason}")]
    CaptureRefused { reason: OsError },
    #[error("there is no network interface '{name}': there are {}", known.join(", "))]
    NoSuchInterface { name: String, known: Vec<String> },
    #[error("could not write the capture {path}: {reason}")]
    CaptureFailed { path: String, reason: OsError },
    #[error("could not write the capture {path}: {reason}")]
    CaptureFileRefused { path: String, reason: String },
    #[error("the capture {path} lacks {missing} packets: it could not be written as fast as they came")]
    CaptureIncomplete { path: String, missing: u64 },
    #[error("no addresses are left for another link")]
    NoAddressesLeft,
    /// The target requests TLS, but longwire has no TLS for its scheme.
    #[error("longwire cannot begin TLS on a {scheme} connection")]
    TlsUnsupported { scheme: &'static str },
    /// The target requests TLS, which an emulated link does not support.
    #[error("longwire cannot begin TLS itself on connections through an emulated link")]
    TlsThroughLink,
    #[error("the server {server} does not offer TLS")]
    ServerWithoutTls { server: String },
    #[error("the certificate of the server {server} has expired or is not valid yet")]
    CertificateExpired { server: String },
    #[error("the certificate of the server {server} is signed by an unknown authority")]
    UnknownAuthority { server: String },
    #[error("the certificate of the server {server} is signed by itself: no authority vouches for it")]
    SelfSigned { server: String },
    #[error(
        "the certificate of the server {server} is signed by a self-signed root that is not trusted here"
    )]
    UntrustedRoot { server: String },
    /// The TLS settings contradict each other, or need an unsupported feature.
    #[error("{fault}")]
    Security { fault: SecurityFault },
    /// A client insists on channel binding, which ends at longwire.
    #[error(
        "a client of {server} left when it was offered SCRAM-SHA-256 without channel binding, which ends where TLS ends: at longwire"
    )]
    ClientWantsBinding { server: String },
    #[error("the certificate of the server {server} is for another name")]
    NameMismatch { server: String },
    /// TLS failed for another reason.
    #[error("TLS with the server {server} failed: {reason}")]
    TlsFailed { server: String, reason: rustls::Error },
    /// The server disconnected or sent something unexpected during setup.
    #[error("the server {server} closed the connection while TLS was being agreed")]
    ServerLeft { server: String },
    /// The client disconnected or violated the protocol during setup.
    #[error("a client of {server} closed the connection, or sent something unexpected, before its login")]
    ClientLeft { server: String },
    #[error("too many clients of {server} connect at once without logging in")]
    Crowded { server: String },
    #[error("could not read certificates from {path}: {reason}")]
    RootCertificates {
        path: String,
        reason: RootCertificateFault,
    },
    #[error("this system has no trusted certificates")]
    NoSystemCertificates,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootCertificateFault {
    #[error("{0}")]
    Unreadable(OsError),
    #[error("{0}")]
    Refused(String),
    #[error("no PEM certificate in it")]
    NoCertificate,
}

impl LiveError {
    pub const fn blame(&self) -> Blame {
        match self {
            Self::NoSuchHost { .. }
            | Self::PortInUse { .. }
            | Self::NotPermitted { .. }
            | Self::AddressNotHere { .. }
            | Self::ListenFailed { .. }
            | Self::PlainClients { .. }
            | Self::LeadsToItself { .. }
            | Self::System { .. }
            | Self::NamespaceRefused { .. }
            | Self::TunRefused { .. }
            | Self::CaptureRefused { .. }
            | Self::NoSuchInterface { .. }
            | Self::CaptureFailed { .. }
            | Self::CaptureFileRefused { .. }
            | Self::CaptureIncomplete { .. }
            | Self::NoAddressesLeft
            | Self::TlsUnsupported { .. }
            | Self::TlsThroughLink
            | Self::RootCertificates { .. }
            | Self::Security { .. }
            | Self::UnixSocket { .. }
            | Self::NoSystemCertificates => Blame::Longwire,
            Self::Refused { .. }
            | Self::SocketFailed { .. }
            | Self::ServerWithoutTls { .. }
            | Self::CertificateExpired { .. }
            | Self::UnknownAuthority { .. }
            | Self::SelfSigned { .. }
            | Self::UntrustedRoot { .. }
            | Self::NameMismatch { .. }
            | Self::TlsFailed { .. }
            | Self::ServerLeft { .. } => Blame::Server,
            Self::ConnectTimedOut { .. } | Self::ConnectFailed { .. } => Blame::Link,
            Self::ClientLeft { .. } | Self::ClientWantsBinding { .. } | Self::Crowded { .. } => Blame::Client,
        }
    }

    /// Whether TLS failed with a reachable server.
    pub const fn is_about_tls(&self) -> bool {
        matches!(
            self,
            Self::ServerWithoutTls { .. }
                | Self::CertificateExpired { .. }
                | Self::UnknownAuthority { .. }
                | Self::SelfSigned { .. }
                | Self::UntrustedRoot { .. }
                | Self::NameMismatch { .. }
                | Self::TlsFailed { .. }
                | Self::ServerLeft { .. }
        )
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSuchHost { .. } => "check the spelling, or use the server's address".to_owned(),
            Self::Refused { address, .. } => {
                format!(
                    "is the server running, and is {} the port it listens on?",
                    address.port()
                )
            }
            Self::UnixSocket { .. } => "name a host such as 127.0.0.1 instead of a socket".to_owned(),
            Self::SocketFailed { .. } => {
                "is the server running, and is that the directory of its socket?".to_owned()
            }
            Self::ConnectTimedOut { .. } => "check the address, and firewalls on the way".to_owned(),
            Self::PortInUse { .. } => {
                "choose another port with --listen, or port 0 for any free one".to_owned()
            }
            Self::NotPermitted { .. } => "ports below 1024 need a privilege: choose a higher one".to_owned(),
            Self::AddressNotHere { .. } => "use 127.0.0.1, or an address of this machine".to_owned(),
            Self::PlainClients { .. } => {
                "listen on 127.0.0.1, leave TLS to the clients, or say --allow-plain-clients where the network between them is trusted".to_owned()
            }
            Self::LeadsToItself { .. } => "name another server, or another address with --listen".to_owned(),
            Self::ServerWithoutTls { .. } => {
                "switch TLS on at the server, or say sslmode=disable in the target".to_owned()
            }
            Self::Security { fault } => fault.hint(),
            Self::SelfSigned { .. } => {
                "name that certificate itself with sslrootcert=FILE in the target (MySQL: ssl-ca=FILE), or say sslmode=require to trust \
                 whoever answers"
                    .to_owned()
            }
            Self::ClientWantsBinding { .. } => {
                "say channel_binding=prefer in the client, or sslmode=disable in longwire's target: the client's own TLS then passes \
                 through, counted but not decoded"
                    .to_owned()
            }
            Self::UnknownAuthority { .. } | Self::UntrustedRoot { .. } => {
                "name the authority's certificate with sslrootcert=FILE in the target".to_owned()
            }
            Self::NameMismatch { .. } => {
                "use the name in the certificate as the host, or sslmode=verify-ca".to_owned()
            }
            Self::TlsUnsupported { .. } => {
                "leave TLS to the client: it is passed through, counted but not decoded".to_owned()
            }
            Self::TlsThroughLink => {
                "say sslmode=disable in the target and let the client ask for TLS: it crosses the link, \
                 counted but not decoded"
                    .to_owned()
            }
            Self::NoSystemCertificates => {
                "install the package ca-certificates, or name a file with sslrootcert=FILE".to_owned()
            }
            Self::System {
                reason: OsError(libc::EMFILE),
                ..
            } => "allow more open files with `ulimit -n`: the relay takes two for each connection".to_owned(),
            Self::NamespaceRefused { reason, .. } => namespace_hint(*reason),
            Self::TunRefused { reason } => tun_hint(*reason),
            Self::CaptureRefused { .. } => capture_hint(),
            Self::NoSuchInterface { .. } => "'any' stands for all of them".to_owned(),
            Self::ConnectFailed { .. }
            | Self::CaptureFailed { .. }
            | Self::CaptureFileRefused { .. }
            | Self::CaptureIncomplete { .. }
            | Self::NoAddressesLeft
            | Self::ListenFailed { .. }
            | Self::System { .. }
            | Self::CertificateExpired { .. }
            | Self::TlsFailed { .. }
            | Self::ServerLeft { .. }
            | Self::ClientLeft { .. }
            | Self::Crowded { .. }
            | Self::RootCertificates { .. } => return None,
        };
        Some(hint)
    }
}

/// Names the setting that forbids namespaces to ordinary users here.
fn namespace_hint(reason: OsError) -> String {
    let is = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let switch = if is("/proc/sys/user/max_user_namespaces", "0") || reason == OsError(libc::ENOSPC) {
        "raise the sysctl user.max_user_namespaces"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "set the sysctl kernel.unprivileged_userns_clone to 1"
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0"
    } else {
        return "this system refuses namespaces to ordinary users, or this container to all: run it as root, in a \
                container with --privileged"
            .to_owned();
    };
    format!("run it as root, or {switch}")
}

fn capture_hint() -> String {
    let program =
        std::env::current_exe().map_or_else(|_| "longwire".to_owned(), |path| path.display().to_string());
    format!(
        "give this program the right, once: sudo setcap cap_net_raw+ep {program} (a container: --cap-add NET_RAW). Or use a relay, which \
         needs no rights: `longwire watch TARGET`"
    )
}

fn tun_hint(reason: OsError) -> String {
    match reason {
        OsError(libc::EACCES | libc::EPERM) => {
            "run it as root, or as root let every user use it: chmod 666 /dev/net/tun".to_owned()
        }
        OsError(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            "as root: modprobe tun; for a container: --device /dev/net/tun".to_owned()
        }
        _ => "is the kernel built with CONFIG_TUN?".to_owned(),
    }
}
