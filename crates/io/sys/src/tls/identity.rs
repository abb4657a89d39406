//! Reads the client certificate and its key.

use crate::error::SecurityFault;
use crate::files::{MAX_CERTIFICATES_BYTES, MAX_CONFIG_BYTES, read_small};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// As in libpq, a key readable by others is refused, but root's may be readable by a group.
pub(super) fn read_identity(
    certificate: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), SecurityFault> {
    let fault = |path: &Path, what| SecurityFault::Identity {
        path: path.to_owned(),
        what,
    };
    let text =
        read_small(certificate, MAX_CERTIFICATES_BYTES).map_err(|_| fault(certificate, "cannot be read"))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|_| fault(certificate, "cannot be read"))?;
    if chain.is_empty() {
        return Err(fault(certificate, "holds no certificate"));
    }
    let metadata = std::fs::metadata(key).map_err(|_| fault(key, "cannot be read"))?;
    let open = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.permissions().mode() & open != 0 {
        return Err(SecurityFault::KeyOpen { key: key.to_owned() });
    }
    let text = read_small(key, MAX_CONFIG_BYTES).map_err(|_| fault(key, "cannot be read"))?;
    let secret = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| fault(key, "holds no key, or one with a password"))?;
    Ok((chain, secret))
}
