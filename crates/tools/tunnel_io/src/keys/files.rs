//! Key files in PEM. Only the owner can read secrets.

use super::{KeyError, KeyFingerprint, MIN_SHARED_KEY_LEN, SecretKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use sys::error::OsError;
use sys::files::open_regular;

/// Writes a new secret key to `path` and the public key to `path.pub`. Never overwrites a file.
///
/// # Errors
/// Fails only with [`KeyError::Exists`], [`KeyError::Unwritable`] or [`KeyError::NoRandomness`].
pub fn generate_key_files(path: &str) -> Result<KeyFingerprint, KeyError> {
    let document = SecretKey::generate()?;
    let key = SecretKey::from_pkcs8(document.as_slice().into()).ok_or(KeyError::NoRandomness)?;
    let public_path = format!("{path}.pub");
    // The public part first: a later failure leaves no secret behind.
    write_new(&public_path, 0o644, &pem("PUBLIC KEY", key.public_key_info()))?;
    if let Err(error) = write_new(path, 0o600, &pem("PRIVATE KEY", &document)) {
        fs::remove_file(&public_path).ok();
        return Err(error);
    }
    Ok(key.fingerprint())
}

/// Writes a pre-shared key of 256 random bits. Never overwrites a file.
///
/// # Errors
/// The same as for [`generate_key_files`].
pub fn generate_shared_key_file(path: &str) -> Result<(), KeyError> {
    let mut secret = [0; 32];
    SystemRandom::new()
        .fill(&mut secret)
        .map_err(|_| KeyError::NoRandomness)?;
    write_new(path, 0o600, &format!("{}\n", STANDARD_NO_PAD.encode(secret)))
}

pub(super) fn read_secret_key(path: &str) -> Result<SecretKey, KeyError> {
    let mut file = open(path)?;
    let text = read_file(path, &mut file)?;
    let key = PrivatePkcs8KeyDer::from_pem_slice(&text)
        .ok()
        .and_then(SecretKey::from_pkcs8)
        .ok_or_else(|| KeyError::NoSecretKey {
            path: path.to_owned(),
        })?;
    check_private(path, &file)?;
    Ok(key)
}

pub(super) fn read_shared_key(path: &str) -> Result<Vec<u8>, KeyError> {
    let mut file = open(path)?;
    check_private(path, &file)?;
    let secret = read_file(path, &mut file)?.trim_ascii().to_vec();
    if secret.len() < MIN_SHARED_KEY_LEN {
        return Err(KeyError::TooShort {
            path: path.to_owned(),
            length: secret.len(),
        });
    }
    Ok(secret)
}

pub(super) fn read_public_keys(path: &str) -> Result<Vec<KeyFingerprint>, KeyError> {
    let text = read_file(path, &mut open(path)?)?;
    let keys: Vec<_> = SubjectPublicKeyInfoDer::pem_slice_iter(&text)
        .filter_map(Result::ok)
        .map(|key| KeyFingerprint::from_public_key(key.as_ref()))
        .collect();
    if PrivatePkcs8KeyDer::from_pem_slice(&text).is_ok() {
        return Err(KeyError::SecretOfPeer {
            path: path.to_owned(),
        });
    }
    if keys.is_empty() {
        return Err(KeyError::NoPublicKey {
            path: path.to_owned(),
        });
    }
    Ok(keys)
}

/// Checks the open file, so that no other file can be read instead.
fn check_private(path: &str, file: &File) -> Result<(), KeyError> {
    let mode = file.metadata().map_err(unreadable(path))?.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(KeyError::OpenToOthers {
        path: path.to_owned(),
        mode,
    })
}

fn open(path: &str) -> Result<File, KeyError> {
    open_regular(Path::new(path)).map_err(|error| match error.raw_os_error() {
        Some(_) => unreadable(path)(error),
        None => KeyError::Refused {
            path: path.to_owned(),
            reason: error.to_string(),
        },
    })
}

fn read_file(path: &str, file: &mut File) -> Result<Vec<u8>, KeyError> {
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut text)
        .map_err(unreadable(path))?;
    Ok(text)
}

fn unreadable(path: &str) -> impl Fn(io::Error) -> KeyError + '_ {
    |error| KeyError::Unreadable {
        path: path.to_owned(),
        reason: OsError::from_io_error(&error),
    }
}

fn write_new(path: &str, mode: u32, text: &str) -> Result<(), KeyError> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => KeyError::Exists {
            path: path.to_owned(),
        },
        _ => KeyError::Unwritable {
            path: path.to_owned(),
            reason: OsError::from_io_error(&error),
        },
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(failed)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        fs::remove_file(path).ok();
    }
    written.map_err(failed)
}

/// In the text form of RFC 7468.
fn pem(label: &str, der: &[u8]) -> String {
    // An Ed25519 key fits into two lines of 64.
    let digits = STANDARD.encode(der);
    let (first, second) = digits.split_at(digits.len().min(64));
    let second = if second.is_empty() {
        String::new()
    } else {
        format!("{second}\n")
    };
    format!("-----BEGIN {label}-----\n{first}\n{second}-----END {label}-----\n")
}

/// Far above the size of all near ends' keys.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
