//! HTTP client for monitoring systems and object stores.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

#[derive(Debug, Clone, Default)]
pub struct PemFiles {
    /// Replace the system's authorities.
    pub authorities: Option<PathBuf>,
    /// Client certificate and key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not use {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error(
        "could not set up TLS: no certificate authority is known: install ca-certificates, or name a file of them"
    )]
    NoAuthorities,
}

/// A client for `url` and its scheme. Every status is returned as an answer; redirects are not
/// followed. `timeout` limits a whole request without its own timeout.
///
/// # Errors
/// Fails if a file of `tls` is unusable, or no authority is known.
pub fn agent(url: &str, tls: &PemFiles, timeout: Duration) -> Result<Agent, Error> {
    let config = Agent::config_builder()
        .tls_config(tls_config(url, tls)?)
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("longwire/", env!("CARGO_PKG_VERSION")))
        .timeout_global(Some(timeout))
        .build();
    Ok(config.new_agent())
}

fn tls_config(url: &str, tls: &PemFiles) -> Result<TlsConfig, Error> {
    let builder = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    if !url.starts_with("https://") {
        return Ok(builder.build());
    }
    let authorities = match &tls.authorities {
        Some(path) => certificates(path)?,
        None => {
            let found = rustls_native_certs::load_native_certs();
            let owned = found
                .certs
                .iter()
                .map(|certificate| Certificate::from_der(certificate).to_owned());
            owned.collect()
        }
    };
    if authorities.is_empty() {
        return Err(Error::NoAuthorities);
    }
    let builder = builder.root_certs(RootCerts::Specific(Arc::new(authorities)));
    let Some((certificate, key)) = &tls.identity else {
        return Ok(builder.build());
    };
    let identity = ClientCert::new_with_certs(&certificates(certificate)?, private_key(key)?);
    Ok(builder.client_cert(Some(identity)).build())
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, Error> {
    let text = read_file(path)?;
    let found = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let found: Vec<_> = found.collect();
    match found.is_empty() {
        true => Err(no_file(path, "there is no certificate in it (PEM)")),
        false => Ok(found),
    }
}

fn private_key(path: &Path) -> Result<PrivateKey<'static>, Error> {
    PrivateKey::from_pem(&read_file(path)?).map_err(|_| no_file(path, "there is no private key in it (PEM)"))
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    crate::files::read_small(path, crate::files::MAX_CERTIFICATES_BYTES)
        .map_err(|error| no_file(path, &error.to_string()))
}

fn no_file(path: &Path, reason: &str) -> Error {
    Error::File {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}
