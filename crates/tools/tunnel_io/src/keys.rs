//! Identities of tunnel ends: key files, fingerprints, a pre-shared key.
//!
//! Each end has an Ed25519 key and knows the other's fingerprint. There are no certificates, names
//! or expiry dates. With a pre-shared key both ends derive both keys from it.

mod files;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use ring::{digest, hkdf, pbkdf2};
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use sys::error::OsError;

pub use files::{generate_key_files, generate_shared_key_file};

#[derive(Debug, Clone)]
pub enum TunnelSecurity {
    /// Neither encryption nor authentication, for two ends on one machine.
    None,
    Keys {
        own: SecretKey,
        /// Only these peers are admitted.
        peers: Vec<KeyFingerprint>,
    },
    /// TLS 1.3 with keys derived from one secret.
    Shared(SharedKey),
}

/// Identifies a public key: SHA-256 of its SubjectPublicKeyInfo (RFC 5280, DER).
///
/// The text form is `SHA256:` and base64 without padding, as in `ssh-keygen -l`. OpenSSH hashes
/// another encoding, so the digests differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyFingerprint([u8; 32]);

#[derive(Clone)]
pub struct SecretKey {
    certified: Arc<CertifiedKey>,
    fingerprint: KeyFingerprint,
}

/// The keys of both ends, derived from one secret.
#[derive(Clone)]
pub struct SharedKey {
    pub(super) near: SecretKey,
    pub(super) far: SecretKey,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("could not read the key file {path}: {reason}")]
    Unreadable { path: String, reason: OsError },
    /// The path is not a regular file.
    #[error("could not read the key file {path}: {reason}")]
    Refused { path: String, reason: String },
    #[error("{path} exists already, and keys are not overwritten")]
    Exists { path: String },
    #[error("could not write the key file {path}: {reason}")]
    Unwritable { path: String, reason: OsError },
    /// Users besides the owner can read a file with a secret.
    #[error("the key file {path} can be read by others than its owner (mode {mode:04o})")]
    OpenToOthers { path: String, mode: u32 },
    #[error("{path} holds no Ed25519 secret key in PEM")]
    NoSecretKey { path: String },
    #[error("{path} holds no public key in PEM")]
    NoPublicKey { path: String },
    #[error("{path} holds a secret key, which never leaves its own end")]
    SecretOfPeer { path: String },
    /// The pre-shared key is too short, so it can be guessed.
    #[error("the pre-shared key in {path} has {length} characters; it takes at least {MIN_SHARED_KEY_LEN}")]
    TooShort {
        path: String,
        /// In characters, without surrounding white space.
        length: usize,
    },
    /// Without keys an end may only use its own machine.
    #[error("without keys a tunnel stays on one machine, and {address} is beyond loopback")]
    NoKeys {
        /// Address to listen at or connect to.
        address: SocketAddr,
    },
    #[error("not a fingerprint: it is SHA256: and 43 characters of base64")]
    NotAFingerprint,
    #[error("the system gives no random numbers to make a key of")]
    NoRandomness,
}

impl KeyError {
    /// The next step in one line, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable {
                path,
                reason: OsError(libc::ENOENT),
            } => Some(format!("make one with: longwire tunnel keygen {path}")),
            Self::Exists { .. } => Some("choose another name, or remove the old key yourself".to_owned()),
            Self::OpenToOthers { path, .. } => Some(format!("chmod 600 {path}")),
            Self::NoSecretKey { .. } => Some(
                "it wants the file that `longwire tunnel keygen` wrote, not the one ending in .pub"
                    .to_owned(),
            ),
            Self::SecretOfPeer { path } => Some(format!(
                "name the other end's public key ({path}.pub) or its fingerprint"
            )),
            Self::NoPublicKey { .. } => {
                Some("it wants the .pub file of the other end, or its fingerprint SHA256:...".to_owned())
            }
            Self::TooShort { path, .. } => Some(format!(
                "one that cannot be guessed, to be copied to the other end: longwire tunnel keygen --psk {path}.new"
            )),
            Self::NoKeys { .. } => Some(
                "make a key at each end (longwire tunnel keygen FILE) and name them with --key and --peer, \
                 or use --psk-file"
                    .to_owned(),
            ),
            Self::NotAFingerprint => Some(
                "the other end prints it when it starts, and `tunnel keygen` when it makes the key"
                    .to_owned(),
            ),
            Self::Unreadable { .. } | Self::Refused { .. } | Self::Unwritable { .. } | Self::NoRandomness => {
                None
            }
        }
    }
}

impl TunnelSecurity {
    pub(super) fn suits(&self, addresses: &[SocketAddr]) -> Result<(), KeyError> {
        let beyond = addresses.iter().find(|address| !address.ip().is_loopback());
        match (self, beyond) {
            (Self::None, Some(address)) => Err(KeyError::NoKeys { address: *address }),
            (Self::None, None) | (Self::Keys { .. } | Self::Shared(_), _) => Ok(()),
        }
    }
}

impl KeyFingerprint {
    fn from_public_key(public_key_info: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, public_key_info).as_ref());
        Self(bytes)
    }

    pub(super) fn of_shown(key: &CertificateDer<'_>) -> Self {
        Self::from_public_key(key)
    }

    /// The value of `--peer` is a fingerprint, or a file with public keys.
    ///
    /// # Errors
    /// Fails if the text or the file is not valid.
    pub fn of_peers(text: &str) -> Result<Vec<Self>, KeyError> {
        if text.starts_with(FINGERPRINT_PREFIX) {
            return text.parse().map(|one| vec![one]);
        }
        files::read_public_keys(text)
    }
}

impl fmt::Display for KeyFingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{FINGERPRINT_PREFIX}{}",
            STANDARD_NO_PAD.encode(self.0)
        )
    }
}

impl FromStr for KeyFingerprint {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        text.strip_prefix(FINGERPRINT_PREFIX)
            // Some tools pad.
            .and_then(|digits| STANDARD_NO_PAD.decode(digits.trim_end_matches('=')).ok())
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or(KeyError::NotAFingerprint)
    }
}

impl SecretKey {
    /// Reads a key file written by `tunnel keygen` or `openssl genpkey -algorithm ed25519`.
    ///
    /// # Errors
    /// Fails also if other users can read the file.
    pub fn load(path: &str) -> Result<Self, KeyError> {
        files::read_secret_key(path)
    }

    pub const fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// As a TLS certificate.
    pub(super) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }

    fn from_pkcs8(der: PrivatePkcs8KeyDer<'_>) -> Option<Self> {
        let signing = any_eddsa_type(&der).ok()?;
        let public = signing.public_key()?;
        let fingerprint = KeyFingerprint::from_public_key(public.as_ref());
        let shown = CertificateDer::from(public.as_ref().to_vec());
        Some(Self {
            certified: Arc::new(CertifiedKey::new(vec![shown], signing)),
            fingerprint,
        })
    }

    fn public_key_info(&self) -> &[u8] {
        self.certified.cert.first().map_or(&[], |shown| shown.as_ref())
    }

    fn generate() -> Result<Vec<u8>, KeyError> {
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map(|document| document.as_ref().to_vec())
            .map_err(|_| KeyError::NoRandomness)
    }

    /// RFC 8410, section 7: a version 1 PKCS #8 document is 16 fixed bytes and the seed.
    fn from_seed(seed: [u8; 32]) -> Option<Self> {
        let document: Vec<u8> = PKCS8_BEFORE_SEED.into_iter().chain(seed).collect();
        Self::from_pkcs8(document.into())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SecretKey({})", self.fingerprint)
    }
}

impl SharedKey {
    /// Reads a pre-shared key: any text, without surrounding white space.
    ///
    /// Derivation takes a few tenths of a second on purpose, to slow down guessing.
    ///
    /// # Errors
    /// Fails also if other users can read the file, or the key is too short.
    pub fn load(path: &str) -> Result<Self, KeyError> {
        let secret = files::read_shared_key(path)?;
        // Two seeds always yield valid keys.
        Self::derive(&secret, ROUNDS).ok_or_else(|| KeyError::NoSecretKey {
            path: path.to_owned(),
        })
    }

    pub(super) fn derive(secret: &[u8], rounds: NonZeroU32) -> Option<Self> {
        let mut stretched = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, SALT, secret, &mut stretched);
        let root = hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &stretched);
        let key = |role: &[u8]| {
            let mut seed = [0; 32];
            root.expand(&[role], hkdf::HKDF_SHA256)
                .and_then(|material| material.fill(&mut seed))
                .ok()?;
            SecretKey::from_seed(seed)
        };
        Some(Self {
            near: key(b"longwire tunnel near end")?,
            far: key(b"longwire tunnel far end")?,
        })
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedKey")
    }
}

const FINGERPRINT_PREFIX: &str = "SHA256:";
const MIN_SHARED_KEY_LEN: usize = 32;
/// OWASP's value for PBKDF2 with HMAC-SHA-256 (Password Storage Cheat Sheet, 2023). Anyone who
/// reaches the far end's port sees its public key, which is derived from the secret, and may test
/// secrets against it offline.
const ROUNDS: NonZeroU32 = NonZeroU32::new(600_000).unwrap();
/// Constant, because the ends share only the secret.
const SALT: &[u8] = b"longwire tunnel pre-shared key";
const PKCS8_BEFORE_SEED: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

#[cfg(test)]
mod tests;
