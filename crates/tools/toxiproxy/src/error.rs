use sys::error::{LiveError, OsError};

/// Texts and HTTP status equal toxiproxy's, because clients compare them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApiError {
    #[error("bad request body: {reason}")]
    BadBody { reason: String },
    #[error("missing required field: {field}")]
    MissingField {
        /// The missing field, with the proxy's index.
        field: String,
    },
    #[error("proxy not found")]
    ProxyNotFound,
    #[error("proxy already exists")]
    ProxyExists,
    #[error("stream was invalid, can be either upstream or downstream")]
    InvalidStream,
    #[error("invalid toxic type")]
    InvalidToxicType,
    #[error("toxic already exists")]
    ToxicExists,
    #[error("toxic not found")]
    ToxicNotFound,
    #[error("too many {what}: {most} at most")]
    TooMany { what: &'static str, most: usize },
    #[error("listen tcp: address {address}: {reason}")]
    BadListen { address: String, reason: &'static str },
    #[error("listen tcp {address}: {reason}")]
    Listen { address: String, reason: String },
    /// The upstream is this proxy, directly or through other proxies.
    #[error(
        "the upstream {upstream} leads back to {listen}, where the proxy itself listens: it would connect to itself"
    )]
    LeadsToItself { upstream: String, listen: String },
    #[error("{0}")]
    Start(LiveError),
}

impl ApiError {
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
