//! Tests whether the target listens and whether TLS can be negotiated.

use crate::negotiation;
use std::time::{Duration, Instant};
use sys::resolve::{addresses, connect};
use sys::{LiveError, Target, TlsSettings, tls};

/// Connects to the target, negotiates TLS if it insists on that, and hangs up. Waits at most
/// `longest` for each address of the host. Returns the time to connect, without TLS. A MySQL server
/// counts one aborted connection.
///
/// # Errors
/// [`LiveError::NoSuchHost`], [`LiveError::Refused`], [`LiveError::ConnectTimedOut`],
/// [`LiveError::ConnectFailed`]; with TLS those about certificates and TLS too.
pub fn probe(target: &Target, longest: Duration) -> Result<Duration, LiveError> {
    let security = TlsSettings::from_target(target)?;
    let tls = match security.mode.insists() {
        true => tls::configure(target, &security)?,
        false => None,
    };
    let addresses = addresses(target)?;
    let started = Instant::now();
    let stream = connect(target, &addresses, longest)?;
    let took = started.elapsed();
    if let Some(config) = tls {
        negotiation::probe(stream, config, target, &security)?;
    }
    Ok(took)
}

/// Whether the target supports TLS at the strictness it requests, at the cost of one connection.
///
/// # Errors
/// As [`probe`], without those about TLS.
pub fn offers_tls(target: &Target, longest: Duration) -> Result<bool, LiveError> {
    let security = TlsSettings::from_target(target)?;
    let Some(config) = tls::configure(target, &security)? else {
        return Ok(false);
    };
    let stream = connect(target, &addresses(target)?, longest)?;
    match negotiation::probe(stream, config, target, &security) {
        Ok(()) => Ok(true),
        Err(error) if error.is_about_tls() => Ok(false),
        Err(error) => Err(error),
    }
}
