//! What can go wrong in the world, and who is to blame.

mod security;

pub use security::SecurityFault;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Who is to blame for an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The application.
    Client,
    /// The database server.
    Server,
    /// What lies between.
    Link,
    /// This program, its machine, or how it was called.
    Longwire,
}

impl Blame {
    /// The word for it in messages and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Link => "link",
            Self::Longwire => "longwire",
        }
    }
}

/// An error number of the operating system, shown as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsError(pub i32);

impl OsError {
    /// What the last system call of this thread failed with.
    pub fn last() -> Self {
        Self::from_io_error(&std::io::Error::last_os_error())
    }

    /// The number in an error of the standard library; EIO where it has none.
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

/// An error of the world: who, what and where in its text, what to do next in [`LiveError::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LiveError {
    /// The name of the server cannot be resolved.
    #[error("no such host: '{host}'")]
    NoSuchHost {
        /// As given in the target.
        host: String,
    },
    /// Nothing listens at the server's address.
    #[error("could not connect to the server {server} ({address}): connection refused")]
    Refused {
        /// `host:port` as given.
        server: String,
        /// The last address tried.
        address: SocketAddr,
    },
    /// The server's address does not answer.
    #[error("could not connect to the server {server} ({address}): no answer within {} s", after.as_secs())]
    ConnectTimedOut {
        /// `host:port` as given.
        server: String,
        /// The last address tried.
        address: SocketAddr,
        /// How long was waited.
        after: Duration,
    },
    /// The connection to the server could not be made for another reason.
    #[error("could not connect to the server {server} ({address}): {reason}")]
    ConnectFailed {
        /// `host:port` as given.
        server: String,
        /// The last address tried.
        address: SocketAddr,
        /// What the operating system says.
        reason: OsError,
    },
    /// The target is a Unix-domain socket, and what was asked is about TCP.
    #[error("{socket} is a Unix-domain socket")]
    UnixSocket {
        /// Its path.
        socket: String,
    },
    /// The Unix-domain socket cannot be connected to.
    #[error("could not connect to the socket {socket}: {reason}")]
    SocketFailed {
        /// Its path.
        socket: String,
        /// What the operating system says.
        reason: OsError,
    },
    /// The address to listen on is taken.
    #[error("could not listen on {address}: the port is in use")]
    PortInUse {
        /// Where.
        address: SocketAddr,
    },
    /// The address to listen on needs a privilege.
    #[error("could not listen on {address}: permission denied")]
    NotPermitted {
        /// Where.
        address: SocketAddr,
    },
    /// The address to listen on does not belong to this machine.
    #[error("could not listen on {address}: this machine does not have that address")]
    AddressNotHere {
        /// Where.
        address: SocketAddr,
    },
    /// Listening failed for another reason.
    #[error("could not listen on {address}: {reason}")]
    ListenFailed {
        /// Where.
        address: SocketAddr,
        /// What the operating system says.
        reason: OsError,
    },
    /// Clients on other machines would send in plain text what TLS was to protect.
    #[error(
        "{name} would listen on {address}, beyond loopback: clients would send to it in plain text, and only the way from here to the server is encrypted"
    )]
    PlainClients {
        /// What would listen.
        name: String,
        /// Where.
        address: SocketAddr,
    },
    /// What connects to a server would connect to itself.
    #[error("{server} is {address}, where the relay itself would listen: it would connect to itself")]
    LeadsToItself {
        /// The server, as given.
        server: String,
        /// Where the relay would listen.
        address: SocketAddr,
    },
    /// A system call that should not fail did.
    #[error("longwire could not {operation}: {reason}")]
    System {
        /// What was attempted.
        operation: &'static str,
        /// What the operating system says.
        reason: OsError,
    },
    /// The system does not let this program make namespaces.
    #[error("could not {operation}: {reason}")]
    NamespaceRefused {
        /// What was attempted.
        operation: &'static str,
        /// What the operating system says.
        reason: OsError,
    },
    /// The system does not let this program make network devices.
    #[error("could not open /dev/net/tun, which links are made of: {reason}")]
    TunRefused {
        /// What the operating system says.
        reason: OsError,
    },
    /// This process may not capture packets.
    #[error("could not capture packets of a network interface: {reason}")]
    CaptureRefused {
        /// What the operating system says.
        reason: OsError,
    },
    /// There is no network interface of that name.
    #[error("there is no network interface '{name}': there are {}", known.join(", "))]
    NoSuchInterface {
        /// As given.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The file for a capture cannot be written.
    #[error("could not write the capture {path}: {reason}")]
    CaptureFailed {
        /// The file.
        path: String,
        /// What the operating system says.
        reason: OsError,
    },
    /// The file for a capture is none that may be written over.
    #[error("could not write the capture {path}: {reason}")]
    CaptureFileRefused {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A capture lacks packets.
    #[error("the capture {path} lacks {missing} packets: it could not be written as fast as they came")]
    CaptureIncomplete {
        /// The file.
        path: String,
        /// How many.
        missing: u64,
    },
    /// The network has no room for another link.
    #[error("no addresses are left for another link")]
    NoAddressesLeft,
    /// The target asks for TLS and its scheme has no way to begin it that longwire knows.
    #[error("longwire cannot begin TLS on a {scheme} connection")]
    TlsUnsupported {
        /// The target's scheme.
        scheme: &'static str,
    },
    /// The target asks for TLS, and an emulated link for unencrypted bytes.
    #[error("longwire cannot begin TLS itself on connections through an emulated link")]
    TlsThroughLink,
    /// The target asks for TLS and the server does not offer it.
    #[error("the server {server} does not offer TLS")]
    ServerWithoutTls {
        /// `host:port` as given.
        server: String,
    },
    /// The server's certificate is not valid at this time.
    #[error("the certificate of the server {server} has expired or is not valid yet")]
    CertificateExpired {
        /// `host:port` as given.
        server: String,
    },
    /// No trusted authority has signed the server's certificate.
    #[error("the certificate of the server {server} is signed by an unknown authority")]
    UnknownAuthority {
        /// `host:port` as given.
        server: String,
    },
    /// The server's certificate is signed by itself, and no trusted authority vouches for it.
    #[error("the certificate of the server {server} is signed by itself: no authority vouches for it")]
    SelfSigned {
        /// `host:port` as given.
        server: String,
    },
    /// The server's certificate is signed by an authority that has signed itself and is not among the trusted
    /// ones.
    #[error(
        "the certificate of the server {server} is signed by a self-signed root that is not trusted here"
    )]
    UntrustedRoot {
        /// `host:port` as given.
        server: String,
    },
    /// The TLS settings contradict each other, or ask for what longwire does not have.
    #[error("{fault}")]
    Security {
        /// What is wrong.
        fault: SecurityFault,
    },
    /// A client went when it was offered a login that is not bound to TLS.
    #[error(
        "a client of {server} left when it was offered SCRAM-SHA-256 without channel binding, which ends where TLS ends: at longwire"
    )]
    ClientWantsBinding {
        /// `host:port` as given.
        server: String,
    },
    /// The server's certificate is for another name.
    #[error("the certificate of the server {server} is for another name")]
    NameMismatch {
        /// `host:port` as given.
        server: String,
    },
    /// TLS to the server failed for another reason.
    #[error("TLS with the server {server} failed: {reason}")]
    TlsFailed {
        /// `host:port` as given.
        server: String,
        /// What the TLS library says.
        reason: rustls::Error,
    },
    /// The server went away, or sent something unexpected, before the connection was ready.
    #[error("the server {server} closed the connection while TLS was being agreed")]
    ServerLeft {
        /// `host:port` as given.
        server: String,
    },
    /// The client went away, or did not speak the target's protocol, before the connection was ready.
    #[error("a client of {server} closed the connection, or sent something unexpected, before its login")]
    ClientLeft {
        /// `host:port` as given.
        server: String,
    },
    /// Too many clients are on their way to agreeing on TLS.
    #[error("too many clients of {server} connect at once without logging in")]
    Crowded {
        /// `host:port` as given.
        server: String,
    },
    /// The file of trusted certificates cannot be used.
    #[error("could not read certificates from {path}: {reason}")]
    RootCertificates {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: RootCertificateFault,
    },
    /// The system has no trusted certificates.
    #[error("this system has no trusted certificates")]
    NoSystemCertificates,
}

/// What is wrong with a file of trusted certificates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootCertificateFault {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(OsError),
    /// It is not a file, or too large.
    #[error("{0}")]
    Refused(String),
    /// It holds no certificate, or one that cannot be parsed.
    #[error("no PEM certificate in it")]
    NoCertificate,
}

impl LiveError {
    /// Who is to blame.
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

    /// Whether TLS could not be agreed on with a server that was reached.
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

    /// What to do next, in one line, where there is something.
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

/// Which of the switches that forbid ordinary users their namespaces is set here.
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

/// How this program gets the right to capture, and what goes without.
fn capture_hint() -> String {
    let program =
        std::env::current_exe().map_or_else(|_| "longwire".to_owned(), |path| path.display().to_string());
    format!(
        "give this program the right, once: sudo setcap cap_net_raw+ep {program} (a container: --cap-add NET_RAW); or do without: `longwire watch TARGET` is a relay and \
         needs none"
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
