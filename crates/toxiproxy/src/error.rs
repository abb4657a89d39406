//! Why a request was not carried out, as toxiproxy says it.

use sys::error::{LiveError, OsError};

/// An error of the API: its text and its HTTP status are those of toxiproxy, because clients compare them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApiError {
    /// The body is not the JSON that is expected.
    #[error("bad request body: {reason}")]
    BadBody {
        /// What is wrong with it.
        reason: String,
    },
    /// A proxy is described without what it needs.
    #[error("missing required field: {field}")]
    MissingField {
        /// What is missing, and in which proxy of several.
        field: String,
    },
    /// No proxy has this name.
    #[error("proxy not found")]
    ProxyNotFound,
    /// A proxy has this name already.
    #[error("proxy already exists")]
    ProxyExists,
    /// A toxic's direction is neither.
    #[error("stream was invalid, can be either upstream or downstream")]
    InvalidStream,
    /// No toxic is of this type.
    #[error("invalid toxic type")]
    InvalidToxicType,
    /// A toxic of the proxy has this name already.
    #[error("toxic already exists")]
    ToxicExists,
    /// No toxic of the proxy has this name.
    #[error("toxic not found")]
    ToxicNotFound,
    /// There are as many proxies, or toxics of a proxy, as there may be.
    #[error("too many {what}: {most} at most")]
    TooMany {
        /// What there would be too many of.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// The address to listen on is not understood.
    #[error("listen tcp: address {address}: {reason}")]
    BadListen {
        /// As given.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The address to listen on cannot be used.
    #[error("listen tcp {address}: {reason}")]
    Listen {
        /// Resolved.
        address: String,
        /// What the operating system says.
        reason: String,
    },
    /// What a proxy would connect to is a proxy of this API, or leads to one, that is it again.
    #[error(
        "the upstream {upstream} leads back to {listen}, where the proxy itself listens: it would connect to itself"
    )]
    LeadsToItself {
        /// As given.
        upstream: String,
        /// Where the proxy listens.
        listen: String,
    },
    /// The proxy could not be started for another reason.
    #[error("{0}")]
    Start(LiveError),
}

impl ApiError {
    /// The HTTP status it is answered with.
    pub const fn status(&self) -> u16 {
        match self {
            Self::BadBody { .. }
            | Self::MissingField { .. }
            | Self::InvalidStream
            | Self::InvalidToxicType
            | Self::LeadsToItself { .. }
            | Self::TooMany { .. } => 400,
            Self::ProxyNotFound | Self::ToxicNotFound => 404,
            Self::ProxyExists | Self::ToxicExists => 409,
            Self::BadListen { .. } | Self::Listen { .. } | Self::Start(_) => 500,
        }
    }
}

impl From<LiveError> for ApiError {
    fn from(error: LiveError) -> Self {
        let refused = |address: std::net::SocketAddr, reason: &str| Self::Listen {
            address: address.to_string(),
            reason: format!("bind: {reason}"),
        };
        match error {
            LiveError::PortInUse { address } => refused(address, "address already in use"),
            LiveError::NotPermitted { address } => refused(address, "permission denied"),
            LiveError::AddressNotHere { address } => refused(address, "cannot assign requested address"),
            LiveError::ListenFailed {
                address,
                reason: OsError(code),
            } => refused(address, &OsError(code).to_string()),
            error => Self::Start(error),
        }
    }
}
