//! Why an end of a tunnel is refused.

use super::keys::KeyFingerprint;
use super::verifier::UnknownKey;
use rustls::{AlertDescription, CertificateError, Error as TlsError};
use std::time::Duration;
use sys::tls::HandshakeFault;

/// Why a peer is refused. The text continues after the peer's name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PeerFault {
    #[error("shows the key {shown}, not one of those named here")]
    UnknownKey { shown: KeyFingerprint },
    #[error("does not accept this end's key {own}")]
    KeyNotAccepted { own: KeyFingerprint },
    #[error("does not hold the same pre-shared key")]
    OtherSharedKey,
    /// The peer does not encrypt, this end has keys.
    #[error("does not encrypt, and this end has keys")]
    Unencrypted,
    /// The peer encrypts, this end has no keys.
    #[error("encrypts, and this end has no keys")]
    Encrypted,
    /// Another protocol, a port scanner, or corrupted bytes.
    #[error("does not speak as an end of a tunnel does")]
    NotATunnel,
    #[error("sent bytes that cannot be decrypted: replayed, or altered on the way")]
    Undecipherable,
    #[error("did not complete the handshake within {} s", after.as_secs())]
    TooSlow { after: Duration },
    #[error("closed the connection before the handshake was complete")]
    Left,
    /// Too many handshakes at the same time.
    #[error("gave way: {most} others at the port had not completed the handshake")]
    Crowded { most: usize },
    #[error("is one lane too many: {most} are up")]
    NoMoreLanes { most: usize },
    /// The other end reports that it is full.
    #[error("has as many lanes as it may")]
    NoRoom,
    #[error("cannot agree on encryption: {0}")]
    Tls(TlsError),
}

impl PeerFault {
    /// Whether retrying may help without a change of configuration.
    pub const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::TooSlow { .. }
                | Self::Left
                | Self::Crowded { .. }
                | Self::NoMoreLanes { .. }
                | Self::NoRoom
        )
    }

    /// The next step for the user of this end; `None` if there is none.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { shown } => Some(format!(
                "if that is the key of the other end, name it: --peer {shown}"
            )),
            Self::KeyNotAccepted { own } => Some(format!("at the other end: --peer {own}")),
            Self::OtherSharedKey => {
                Some("copy the file of --psk-file from one end to the other, and give it to both".to_owned())
            }
            Self::Unencrypted => Some("give the other end --key and --peer, or --psk-file, too".to_owned()),
            Self::Encrypted => Some("give this end --key and --peer, or --psk-file, too".to_owned()),
            Self::NotATunnel => Some("is it the port on which `longwire tunnel far` listens?".to_owned()),
            Self::TooSlow { .. } => Some(
                "is it the port on which `longwire tunnel far` listens, and does it still run?".to_owned(),
            ),
            Self::NoRoom => Some("start fewer near ends there, or with fewer --lanes".to_owned()),
            Self::Undecipherable
            | Self::Left
            | Self::Crowded { .. }
            | Self::NoMoreLanes { .. }
            | Self::Tls(_) => None,
        }
    }
}

pub(super) fn fault(fault: HandshakeFault) -> PeerFault {
    let reason = match fault {
        HandshakeFault::Left => return PeerFault::Left,
        HandshakeFault::Tls(reason) => reason,
    };
    match &reason {
        TlsError::InvalidCertificate(CertificateError::Other(other)) => {
            match other.0.downcast_ref::<UnknownKey>() {
                Some(UnknownKey(shown)) => PeerFault::UnknownKey { shown: *shown },
                None => PeerFault::Tls(reason),
            }
        }
        _ => PeerFault::Tls(reason),
    }
}

/// Refines the fault with this end's keys.
pub(super) fn told(fault: PeerFault, own: KeyFingerprint, shared: bool) -> PeerFault {
    let not_wanted = if shared {
        PeerFault::OtherSharedKey
    } else {
        PeerFault::KeyNotAccepted { own }
    };
    match fault {
        PeerFault::UnknownKey { .. } if shared => PeerFault::OtherSharedKey,
        PeerFault::Tls(reason) => match reason {
            TlsError::AlertReceived(AlertDescription::CertificateUnknown) => not_wanted,
            TlsError::DecryptError | TlsError::InvalidCertificate(CertificateError::BadSignature) => {
                PeerFault::Undecipherable
            }
            TlsError::AlertReceived(_)
            | TlsError::NoCertificatesPresented
            | TlsError::NoApplicationProtocol
            | TlsError::PeerIncompatible(_)
            | TlsError::PeerMisbehaved(_)
            | TlsError::InvalidMessage(_)
            | TlsError::InappropriateMessage { .. }
            | TlsError::InappropriateHandshakeMessage { .. }
            | TlsError::PeerSentOversizedRecord => PeerFault::NotATunnel,
            reason => PeerFault::Tls(reason),
        },
        fault => fault,
    }
}
