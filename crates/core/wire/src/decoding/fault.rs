//! Faults of undecodable bytes.

use model::TooManyPending;

/// Reason of undecodable bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{protocol} {direction} at stream offset {offset}: expected {expected}, found {found}")]
pub struct DecodeError {
    /// Name of the protocol.
    pub protocol: &'static str,
    /// Either `client-to-server` or `server-to-client`.
    pub direction: &'static str,
    /// Stream offset of the failed message.
    pub offset: u64,
    /// Value that the protocol requires.
    pub expected: &'static str,
    /// Actual number or tag, never payload text.
    pub found: String,
}

/// Fault that the framer turns into a [`DecodeError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderFault {
    /// Value that the protocol requires.
    pub expected: &'static str,
    /// Actual number or tag, never payload text.
    pub found: String,
}

impl From<TooManyPending> for HeaderFault {
    fn from(fault: TooManyPending) -> Self {
        Self {
            expected: "fewer requests without a reply",
            found: fault.limit.to_string(),
        }
    }
}

pub(crate) fn fault(expected: &'static str, found: impl Into<String>) -> HeaderFault {
    HeaderFault {
        expected,
        found: found.into(),
    }
}
